/* SPEC A.0's invariants on random sequences of primitives, against brute force on every element. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/ir/simplify.h"
#include "tests/unit/expr_verify.h"
#include "tests/unit/layout_gen.h"
#include "tests/unit/layout_inverse.h"
#include "tests/unit/layout_util.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

enum { N_CASES = 10000, MAX_LOGICAL = 4096, MAX_PHYSICAL = 20000 };

static uint64_t seed = 1;
static struct { long n, padded, duplicating, trimmed, noted; } seen;

/* --- checking one ------------------------------------------------------------------------------
 * */

struct facts { const struct layout *l; int64_t *env, n_held, n_copies; };

static void read_phi(const struct facts *f, const int64_t *point, int64_t *idx)
{
    for (int j = 0; j < f->l->rank; j++)
        f->env[f->l->phys[j]->var] = point[j];
    for (int k = 0; k < f->l->tensor->rank; k++)
        idx[k] = expr_eval(f->l->phi[k], f->env);
}

static bool is_held(const struct facts *f, const int64_t *point)
{
    for (int j = 0; j < f->l->rank; j++)
        f->env[f->l->phys[j]->var] = point[j];
    return !f->l->guard || expr_eval(f->l->guard, f->env) == 1;
}

/* I1, I2 at every stored element. */
static const char *check_rho(const struct facts *f)
{
    const struct layout *l = f->l;
    int64_t idx[MAX_DIMS] = { 0 }, point[MAX_DIMS], back[MAX_RANK];
    do {
        for (int k = 0; k < l->tensor->rank; k++)
            f->env[l->logical[k]->var] = idx[k];
        for (int j = 0; j < l->rank; j++) {
            point[j] = expr_eval(l->rho[j], f->env);
            if (point[j] < 0 || point[j] >= l->shape[j])
                return "I2: rho is out of range";
            if (point[j] < l->rho[j]->lo || point[j] > l->rho[j]->hi)
                return "rho is outside its bounds";
        }
        if (!is_held(f, point))
            return "I1: rho points at padding";
        read_phi(f, point, back);
        if (memcmp(back, idx, (size_t)l->tensor->rank * sizeof *idx))
            return "I1: phi(rho(i)) is not i";
    } while (step_point(idx, l->stored, l->tensor->rank));
    return NULL;
}

static int64_t flat(const int64_t *idx, const int64_t *shape, int rank)
{
    int64_t n = 0;
    for (int k = 0; k < rank; k++)
        n = n * shape[k] + idx[k];
    return n;
}

/* I3: what layout_pack wrote is what phi says; counts elements and their copies. */
static const char *check_phi(struct facts *f, const float *phys)
{
    const struct layout *l = f->l;
    const struct tensor *t = l->tensor;
    int64_t point[MAX_DIMS] = { 0 }, idx[MAX_RANK], at = 0;
    char *met = xcalloc((size_t)tensor_elems(t), 1);
    const char *wrong = NULL;
    do {
        float expected = 0;
        if (is_held(f, point)) {
            read_phi(f, point, idx);
            for (int k = 0; k < t->rank; k++)
                if (idx[k] < 0 || idx[k] >= l->stored[k])
                    wrong = "phi is out of range";
            if (wrong)
                break;
            const int64_t from = flat(idx, t->shape, t->rank);
            expected = (float)(from + 1);
            f->n_held++;
            f->n_copies += met[from];
            met[from] = 1;
        }
        if (phys[at++] != expected)
            wrong = "I3: pack and phi disagree";
    } while (!wrong && step_point(point, l->shape, l->rank));
    free(met);
    return wrong;
}

/* I4 */
static const char *check_class(const struct facts *f)
{
    const struct layout *l = f->l;
    int64_t stored = 1;
    for (int k = 0; k < l->tensor->rank; k++)
        stored *= l->stored[k];
    const enum layout_class klass = f->n_copies ? LAYOUT_DUPLICATING
                                    : f->n_held < l->elems ? LAYOUT_PADDED : LAYOUT_BIJECTIVE;
    seen.padded += klass == LAYOUT_PADDED;
    seen.duplicating += klass == LAYOUT_DUPLICATING;
    seen.trimmed += stored < tensor_elems(l->tensor);
    if (f->n_held - f->n_copies != stored)
        return "the stored elements are not the box `stored`";
    if (l->klass != klass)
        return "I4: wrong class";
    if (l->elems < stored || (l->klass == LAYOUT_BIJECTIVE && (l->elems != stored || l->guard)))
        return "I4: wrong size for the class";
    if (l->advanced != (klass != LAYOUT_BIJECTIVE || stored < tensor_elems(l->tensor)))
        return "advanced is wrong";
    return NULL;
}

static const char *check_data(struct facts *f)
{
    const struct layout *l = f->l;
    const int64_t n = tensor_elems(l->tensor);
    float *logical = xcalloc((size_t)n, sizeof *logical), *back = xcalloc((size_t)n, sizeof *back);
    float *phys = xcalloc((size_t)l->elems, sizeof *phys);
    int64_t idx[MAX_DIMS] = { 0 };
    for (int64_t i = 0; i < n; i++)
        logical[i] = (float)(i + 1);
    layout_pack(l, logical, phys);
    layout_unpack(l, phys, back);
    const char *wrong = check_phi(f, phys);
    for (int64_t i = 0; i < n && !wrong; i++, step_point(idx, l->tensor->shape, l->tensor->rank)) {
        bool stored = true;
        for (int k = 0; k < l->tensor->rank; k++)
            stored = stored && idx[k] < l->stored[k];
        if (back[i] != (stored ? logical[i] : 0))
            wrong = "unpack(pack(x)) is not x";
    }
    free(logical);
    free(back);
    free(phys);
    return wrong;
}

/* I5, by value and by name. */
static const char *check_inverse(const struct trial *c, const struct layout *l)
{
    const struct layout *identity = layout_identity(c->p, c->t);
    struct prim inverse[2 * TRIAL_STEPS];
    struct err e;
    int n;
    bool trimmed = false;
    for (int k = 0; k < c->t->rank; k++)
        trimmed = trimmed || l->stored[k] < c->t->shape[k];
    if (layout_inverse(l, inverse, &n, &e) == trimmed)
        return trimmed ? "an inverse of a trimmed layout" : "no inverse";
    for (int i = 0; !trimmed && i < n; i++)
        if (!layout_apply(c->p, l, &inverse[i], &l, &e))
            return "I5: the inverse is refused";
    if (trimmed)
        return NULL;
    if (l->rank != c->t->rank || l->klass != LAYOUT_BIJECTIVE)
        return "I5: wrong rank or class after the inverse";
    for (int k = 0; k < l->rank; k++)
        if (l->shape[k] != c->t->shape[k] || !streq(l->dim[k], c->t->dim[k]))
            return "I5: wrong shape or name after the inverse";
    return layout_memory_equal(c->p, l, identity) ? NULL : "I5: not the identity";
}

/* Every primitive printed, read and printed again. */
static const char *check_prim_text(const struct layout *l)
{
    struct str s = {0}, again = {0};
    bool same = true;
    for (const struct layout *m = l; m->prev; m = m->prev) {
        str_clear(&s);
        str_clear(&again);
        prim_print(&s, m->prev, &m->prims[m->n_prims - 1]);
        const struct prim read = prim_from(m->prev, str_text(&s));
        prim_print(&again, m->prev, &read);
        same = same && streq(str_text(&s), str_text(&again));
    }
    str_free(&s);
    str_free(&again);
    return same ? NULL : "a primitive does not survive printing";
}

/* Reads a notation of l.  Returns what is wrong, or NULL. */
static const char *read_again(const struct trial *c, const struct layout *l, const char *text)
{
    struct prim prims[MAX_NOTATION_PRIMS];
    const struct layout *again;
    struct err e;
    int n;
    if (!layout_from_notation(c->p, c->t, text, prims, &n, &e))
        return "a notation that is not understood";
    bool same = layout_apply_all(c->p, c->t, prims, n, &again, &e)
             && layout_memory_equal(c->p, l, again);
    return same ? NULL : "a notation of another layout";
}

/* Writes a notation without its blanks, except between two numbers. */
static void join(struct str *out, const char *text)
{
    for (const char *at = text; *at; at++)
        if (*at != ' ' || (isdigit((unsigned char)at[-1]) && isdigit((unsigned char)at[1])))
            str_add_char(out, *at);
}

/* The notation, where there is one, read again, also without its blanks. */
static const char *check_notation(const struct trial *c, const struct layout *l)
{
    struct str s = {0}, joined = {0};
    const char *wrong = NULL;
    if (layout_notation(l, &s)) {
        seen.noted++;
        join(&joined, str_text(&s));
        wrong = read_again(c, l, str_text(&s));
        wrong = wrong ? wrong : read_again(c, l, str_text(&joined));
    }
    str_free(&s);
    str_free(&joined);
    return wrong;
}

/* A random affine access through the layout: at every point the element that was asked for. */
static const char *check_rewrite(const struct trial *c, const struct layout *l, struct rng *r)
{
    const int rank = c->t->rank;
    const struct access at = random_access(r, c->p, l);
    const struct expr *out[MAX_DIMS];
    int64_t point[2 * MAX_RANK] = { 0 }, idx[MAX_RANK], phys[MAX_DIMS];
    layout_rewrite(c->p, l, at.idx, at.var + rank, rank, out);
    struct facts f = { .l = l, .env = xcalloc((size_t)exprs_n_vars(c->p), sizeof *f.env) };
    const char *wrong = NULL;
    int points = 0;
    do {
        int64_t want[MAX_RANK];
        for (int k = 0; k < at.n; k++)
            f.env[at.var[k]->var] = point[k];
        for (int k = 0; k < rank; k++)
            want[k] = expr_eval(at.idx[k], f.env);
        for (int j = 0; j < l->rank; j++) {
            phys[j] = expr_eval(out[j], f.env);
            if (phys[j] < 0 || phys[j] >= l->shape[j])
                wrong = "a rewritten access is out of range";
        }
        if (!wrong && is_held(&f, phys))
            read_phi(&f, phys, idx);
        else
            wrong = wrong ? wrong : "a rewritten access reads padding";
        if (!wrong && memcmp(idx, want, (size_t)rank * sizeof *idx))
            wrong = "a rewritten access reads another element";
    } while (!wrong && ++points < 500 && step_point(point, at.extent, at.n));
    free(f.env);
    return wrong;
}

/* NULL, or what is wrong. */
static const char *check(const struct trial *c)
{
    const struct layout *l;
    struct err e;
    if (!layout_apply_all(c->p, c->t, c->prim, c->n, &l, &e))
        return NULL;
    for (int j = 0; j < l->rank; j++)
        expr_verify(c->p, l->rho[j]);
    struct facts f = { .l = l, .env = xcalloc((size_t)exprs_n_vars(c->p), sizeof *f.env) };
    const char *wrong = check_rho(&f);
    wrong = wrong ? wrong : check_data(&f);
    wrong = wrong ? wrong : check_class(&f);
    free(f.env);
    struct rng r = rng_seed(seed + (uint64_t)l->elems);
    wrong = wrong ? wrong : check_inverse(c, l);
    wrong = wrong ? wrong : check_prim_text(l);
    wrong = wrong ? wrong : check_notation(c, l);
    return wrong ? wrong : check_rewrite(c, l, &r);
}

/* --- driver ------------------------------------------------------------------------------------
 * */

/* Drops primitives as long as what is left fails too. */
static const char *shrink(struct trial *c, const char *wrong)
{
    for (int i = 0; i < c->n;) {
        struct trial less = *c;
        less.n--;
        memmove(less.prim + i, less.prim + i + 1, (size_t)(less.n - i) * sizeof *less.prim);
        const char *still = check(&less);
        if (still) {
            *c = less;
            wrong = still;
            i = 0;
        } else {
            i++;
        }
    }
    return wrong;
}

static void report(struct trial *c, const char *wrong)
{
    struct str s = {0};
    const struct layout *l;
    struct err e;
    wrong = shrink(c, wrong);
    str_printf(&s, "%s: layout_of(pool, ", wrong);
    if (layout_apply_all(c->p, c->t, c->prim, c->n, &l, &e))
        layout_text(&s, l);
    str_add(&s, ")");
    fail_msg("%s", str_text(&s));
}

static void test_invariants(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    for (uint64_t i = 0; i < N_CASES; i++) {
        struct rng r = rng_seed(seed * N_CASES + i);
        arena_reset(a);
        struct trial c = { .p = exprs_new(a) };
        trial_make(&r, &c, MAX_LOGICAL, MAX_PHYSICAL);
        const char *wrong = check(&c);
        if (wrong)
            report(&c, wrong);
        seen.n++;
    }
    arena_free(a);
    print_message("%ld layouts: %ld padded, %ld duplicating, %ld trimmed, %ld with a notation\n",
                  seen.n, seen.padded, seen.duplicating, seen.trimmed, seen.noted);
    assert_true(seen.padded > N_CASES / 20 && seen.duplicating > N_CASES / 20);
    assert_true(seen.trimmed > N_CASES / 100 && seen.noted > N_CASES / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_invariants) };
    const char *text = getenv("TS_SEED");
    seed = text ? strtoull(text, NULL, 10) : 1;
    print_message("seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
