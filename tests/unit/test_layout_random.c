/* SPEC A.0's invariants on random sequences of primitives, against brute force on every element. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/rng.h"
#include "kernels/ir/simplify.h"
#include "tests/unit/layout_util.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

enum { N_CASES = 10000, MAX_STEPS = 6, MAX_LOGICAL = 4096, MAX_PHYSICAL = 20000 };

static uint64_t seed = 1;
static struct { long n, padded, duplicating, trimmed, noted; } seen;

struct trial {
    struct arena *a;
    struct exprs *p;
    const struct tensor *t;
    int n;
    struct prim prim[MAX_STEPS];
};

/* --- making cases ---------------------------------------------------------------------------- */

static const struct tensor *random_tensor(struct rng *r, struct arena *a)
{
    static const char *const names[] = { "N", "O", "H", "W", "KH" };
    struct tensor *t = ARENA_NEW(a, struct tensor);
    int64_t left = rng_range(r, 1, 4) == 1 ? MAX_LOGICAL : 200;
    t->name = "T";
    t->rank = (int)rng_range(r, 1, 5);
    t->producer = -1;
    for (int k = 0; k < t->rank; k++) {
        t->dim[k] = names[k];
        t->shape[k] = rng_range(r, 1, left < 16 ? left : 16);
        left /= t->shape[k];
    }
    return t;
}

static int64_t random_divisor(struct rng *r, int64_t n)
{
    int64_t d;
    do
        d = rng_range(r, 1, n);
    while (n % d);
    return d;
}

static void random_split(struct rng *r, int64_t size, struct prim *pr)
{
    pr->n = (int)rng_range(r, 2, 3);
    pr->allow_pad = rng_range(r, 0, 3) == 0;
    int64_t rest = size;
    for (int j = pr->n - 1; j > 0; j--) {
        pr->factor[j] = pr->allow_pad ? rng_range(r, 1, 5) : random_divisor(r, rest);
        rest = rest / pr->factor[j] ? rest / pr->factor[j] : 1;
    }
}

static struct prim random_prim(struct rng *r, const struct layout *l)
{
    struct prim pr = { .kind = (enum prim_kind)rng_range(r, PRIM_SPLIT, PRIM_UNPAD) };
    pr.dim = (int)rng_range(r, 0, l->rank - 1);
    const int64_t size = l->shape[pr.dim];
    if (pr.kind == PRIM_SPLIT)
        random_split(r, size, &pr);
    if (pr.kind == PRIM_FUSE)
        pr.n = (int)rng_range(r, 2, 3);
    if (pr.kind == PRIM_REORDER) {
        pr.n = l->rank;
        for (int j = 0; j < l->rank; j++) {
            const int at = (int)rng_range(r, 0, j);
            pr.perm[j] = pr.perm[at];
            pr.perm[at] = j;
        }
    }
    if (pr.kind == PRIM_UNFOLD) {
        pr.tile = rng_range(r, 1, size + 2 < 8 ? size + 2 : 8);
        pr.stride = rng_range(r, 1, pr.tile);
        pr.size = rng_range(r, 0, 3) ? 0 : rng_range(r, 1, size);
    }
    if (pr.kind == PRIM_PAD || pr.kind == PRIM_UNPAD) {
        pr.before = rng_range(r, 0, 2);
        pr.after = rng_range(r, 0, 3);
    }
    return pr;
}

static void random_trial(struct rng *r, struct trial *c)
{
    const struct layout *l = layout_identity(c->p, c->t), *next;
    const int n = (int)rng_range(r, 1, MAX_STEPS);
    struct err e;
    for (int tries = 0; c->n < n && tries < 4 * MAX_STEPS; tries++) {
        const struct prim pr = random_prim(r, l);
        if (!layout_apply(c->p, l, &pr, &next, &e)) {
            if (strncmp(e.text, "primitive ", 10) != 0 || e.code == ERR_NONE)
                fail_msg("an error without a place: %s", e.text);
            continue;
        }
        if (next->elems > MAX_PHYSICAL)
            continue;
        c->prim[c->n++] = pr;
        l = next;
    }
}

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
    struct prim inverse[2 * MAX_STEPS];
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

/* The notation, where there is one, read again. */
static const char *check_notation(const struct trial *c, const struct layout *l)
{
    struct str s = {0};
    struct prim prims[MAX_NOTATION_PRIMS];
    const struct layout *again;
    struct err e;
    const char *wrong = NULL;
    if (layout_notation(l, &s)) {
        int n;
        seen.noted++;
        if (!layout_from_notation(c->p, c->t, str_text(&s), prims, &n, &e))
            wrong = "a notation that is not understood";
        else if (!layout_apply_all(c->p, c->t, prims, n, &again, &e)
                 || !layout_memory_equal(c->p, l, again))
            wrong = "a notation of another layout";
    }
    str_free(&s);
    return wrong;
}

/* A random affine access through the layout: at every point the element that was asked for. */
static const char *check_rewrite(const struct trial *c, const struct layout *l, struct rng *r)
{
    const int rank = c->t->rank;
    const struct expr *at[MAX_RANK], *reduce[MAX_RANK], *out[MAX_DIMS], *var[2 * MAX_RANK];
    int64_t extent[2 * MAX_RANK], point[2 * MAX_RANK] = { 0 }, idx[MAX_RANK], phys[MAX_DIMS];
    for (int k = 0; k < rank; k++) {
        const int64_t window = rng_range(r, 1, l->stored[k] < 4 ? l->stored[k] : 4);
        const int64_t step = rng_range(r, 1, 3), n = (l->stored[k] - window) / step + 1;
        const int64_t start = rng_range(r, 0, l->stored[k] - window - step * (n - 1));
        char name[2][16];
        snprintf(name[0], sizeof name[0], "i%d", k);
        snprintf(name[1], sizeof name[1], "r%d", k);
        var[k] = expr_var(c->p, name[0], 0, n - 1);
        var[rank + k] = reduce[k] = expr_var(c->p, name[1], 0, window - 1);
        extent[k] = n;
        extent[rank + k] = window;
        at[k] = expr_addc(c->p, expr_add(c->p, expr_mulc(c->p, var[k], step), reduce[k]), start);
    }
    layout_rewrite(c->p, l, at, reduce, rank, out);
    struct facts f = { .l = l, .env = xcalloc((size_t)exprs_n_vars(c->p), sizeof *f.env) };
    const char *wrong = NULL;
    int points = 0;
    do {
        int64_t want[MAX_RANK];
        for (int k = 0; k < 2 * rank; k++)
            f.env[var[k]->var] = point[k];
        for (int k = 0; k < rank; k++)
            want[k] = expr_eval(at[k], f.env);
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
    } while (!wrong && ++points < 500 && step_point(point, extent, 2 * rank));
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
    struct err e;
    wrong = shrink(c, wrong);
    str_printf(&s, "%s: layout_of(pool, \"%s", wrong, c->t->name);
    for (int k = 0; k < c->t->rank; k++)
        str_printf(&s, " %s=%lld", c->t->dim[k], (long long)c->t->shape[k]);
    str_add(&s, "\", \"");
    const struct layout *l = layout_identity(c->p, c->t);
    for (int i = 0; i < c->n; i++) {
        str_add(&s, i ? "; " : "");
        prim_print(&s, l, &c->prim[i]);
        if (!layout_apply(c->p, l, &c->prim[i], &l, &e))
            break;
    }
    str_add(&s, "\")");
    fail_msg("%s", str_text(&s));
}

static void test_invariants(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    for (uint64_t i = 0; i < N_CASES; i++) {
        struct rng r = rng_seed(seed * N_CASES + i);
        arena_reset(a);
        struct trial c = { .a = a, .p = exprs_new(a) };
        c.t = random_tensor(&r, a);
        random_trial(&r, &c);
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
