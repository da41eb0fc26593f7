/* Properties of the simplifier on random expressions over small ranges, by brute force.  The
 * seed is the first line of output; TS_SEED repeats a run, TS_COUNT makes it longer.  A
 * failure is shrunk and printed as a row for the table in test_simplify.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "kernels/base/rng.h"
#include "tests/unit/expr_gen.h"
#include "tests/unit/expr_parse.h"
#include "tests/unit/expr_verify.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static uint64_t seed;
static long count = 24000;

/* ---- checking them ---- */

struct traced { const struct space *s; const char *rule, *where; };

static void check_rewrite(void *ctx, const char *rule, const struct expr *before,
                          const struct expr *after)
{
    struct traced *t = ctx;
    if (t->rule)
        return;
    t->where = space_differ(t->s, before, after);
    if (t->where)
        t->rule = rule;
}

static bool dearer(const struct expr *x, const struct expr *y)
{
    int dx = expr_n_divmod(x), dy = expr_n_divmod(y);
    return dx != dy ? dx > dy : expr_n_leaves(x) > expr_n_leaves(y);
}

static const char *reparsed(const struct space *s, const struct expr *e)
{
    const struct expr *again;
    struct err err = {0};
    if (!expr_parse(s->p, expr_text(s, e), s->var, s->n, &again, &err))
        return arena_printf(exprs_arena(s->p), "parsing the print: %s", err.text);
    return again == e ? NULL : "parse(print(e)) is another expression";
}

/* The first broken property of e, or NULL.  In a fresh pool, so that nothing is memoised. */
static const char *broken(const struct space *from, const struct expr *in, struct arena *a)
{
    struct str ranges = {0}, text = {0};
    space_print(&ranges, from);
    expr_print(&text, in);
    struct space s = space_parse(a, str_text(&ranges));
    const struct expr *e = space_expr(&s, str_text(&text));
    str_free(&ranges);
    str_free(&text);
    struct traced t = { .s = &s };
    simplify_trace(s.p, check_rewrite, &t);
    const struct expr *x = expr_simplify(s.p, e);
    simplify_trace(s.p, NULL, NULL);
    if (t.rule)
        return arena_printf(a, "rule %s changes the value: %s", t.rule, t.where);
    expr_verify(s.p, x);
    const char *where = space_differ(&s, e, x);
    if (where)
        return arena_printf(a, "another value: %s", where);
    where = space_outside(&s, x);
    if (where)
        return arena_printf(a, "bounds: %s", where);
    where = space_outside(&s, e);
    if (where)
        return arena_printf(a, "bounds before: %s", where);
    if (dearer(x, e))
        return arena_printf(a, "dearer: %s", expr_text(&s, x));
    const struct expr *again = expr_simplify(s.p, expr_subst(s.p, x, NULL, NULL, 0));
    if (again != x)
        return arena_printf(a, "not idempotent: %s", expr_text(&s, again));
    return reparsed(&s, x);
}

/* How often each byte occurs, the ones aside that change when terms trade places. */
static void count_bytes(const char *text, int *n)
{
    for (; *text; text++)
        if (!strchr(" +-()", *text))
            n[(unsigned char)*text]++;
}

/* Simplified expressions are memoised as their own simple form: to see whether simplifying
 * again changes anything, it is done from text in a pool that has never seen them.  There the
 * ids differ, and with them the order of like terms, so only what is written is compared. */
static const char *unstable(const struct space *from, const struct expr *in, struct arena *a)
{
    struct str ranges = {0};
    space_print(&ranges, from);
    struct space s = space_parse(a, str_text(&ranges)), t = space_parse(a, str_text(&ranges));
    str_free(&ranges);
    const char *once = expr_text(&s, expr_simplify(s.p, space_expr(&s, expr_text(from, in))));
    const char *twice = expr_text(&t, expr_simplify(t.p, space_expr(&t, once)));
    int n[2][256] = {0};
    count_bytes(once, n[0]);
    count_bytes(twice, n[1]);
    if (memcmp(n[0], n[1], sizeof n[0]) != 0)
        return arena_printf(a, "not idempotent: %s, then %s", once, twice);
    return NULL;
}

static const char *failing(const struct space *s, const struct expr *e, struct arena *a)
{
    arena_reset(a);
    const char *why = broken(s, e, a);
    return why ? why : unstable(s, e, a);
}

/* A smaller expression that still fails: one of its parts, or it with one of its parts made
 * smaller. */
struct hole;
static const struct expr *smaller(const struct space *s, const struct expr *e, struct arena *a,
                                  const struct hole *around);

/* The place of an operand of e, which may itself stand in a hole of something larger. */
struct hole { const struct space *s; const struct expr *e; bool left; const struct hole *around; };

static const struct expr *fill(const struct hole *h, const struct expr *part)
{
    if (!h)
        return part;
    const struct expr *a = h->left ? part : h->e->a, *b = h->left ? h->e->b : part;
    bool divides = h->e->kind == EXPR_DIV || h->e->kind == EXPR_MOD;
    if (divides && (b->kind != EXPR_CONST || b->value <= 0))
        return NULL;
    return fill(h->around, expr_bin(h->s->p, h->e->kind, a, b));
}

static const struct expr *smaller(const struct space *s, const struct expr *e, struct arena *a,
                                  const struct hole *around)
{
    const struct expr *try[] = { e->a, e->b, expr_const(s->p, 0), expr_const(s->p, 1) };
    if (e->kind == EXPR_CONST)
        return NULL;
    for (int i = 0; i < COUNT_OF(try); i++) {
        const struct expr *x = try[i] ? fill(around, try[i]) : NULL;
        if (x && failing(s, x, a))
            return x;
    }
    for (int i = 0; i < 2 && e->a; i++) {
        struct hole h = { s, e, i == 0, around };
        const struct expr *x = smaller(s, i == 0 ? e->a : e->b, a, &h);
        if (x)
            return x;
    }
    return NULL;
}

static void report(const struct space *s, const struct expr *e, struct arena *a)
{
    const struct expr *less;
    while ((less = smaller(s, e, a, NULL)) != NULL)
        e = less;
    struct str ranges = {0};
    space_print(&ranges, s);
    const char *why = failing(s, e, a);
    struct space again = space_parse(a, str_text(&ranges));
    const struct expr *x = expr_simplify(again.p, space_expr(&again, expr_text(s, e)));
    print_error("%s\n    { \"%s\", \"%s\", \"%s\", %lld, %lld },\n", why, expr_text(s, e),
                str_text(&ranges), expr_text(&again, x), (long long)x->lo, (long long)x->hi);
    str_free(&ranges);
    arena_free(a);
    fail_msg("seed %llu", (unsigned long long)seed);
}

static void check_many(const struct expr *(*make)(struct rng *, const struct space *, int),
                       int depth, uint64_t salt, long n)
{
    struct rng r = rng_seed(seed ^ salt);
    struct arena *a = arena_new(), *work = arena_new();
    for (long i = 0; i < n; i++) {
        arena_reset(a);
        struct space s = random_space(&r, a);
        const struct expr *e = make(&r, &s, depth);
        if (failing(&s, e, work))
            report(&s, e, work);
    }
    arena_free(a);
    arena_free(work);
}

static void shallow(void **state)
{
    (void)state;
    check_many(random_expr, 3, 1, count / 3);
}

static void deep(void **state)
{
    (void)state;
    check_many(random_expr, 5, 2, count / 3);
}

static void digits(void **state)
{
    (void)state;
    check_many(random_digits, 2, 3, count / 3);
}

/* Printed expressions with a few bytes changed: read, or refused at a place inside the text. */
static void damaged_text(void **state)
{
    static const char bytes[] = "ijk0129 +-*/%()<=>&,.minax\t\x7f\xc3";
    struct rng r = rng_seed(seed ^ 4);
    struct arena *a = arena_new();
    (void)state;
    for (long i = 0; i < count / 3; i++) {
        arena_reset(a);
        struct space s = random_space(&r, a);
        char *text = arena_strdup(a, expr_text(&s, random_expr(&r, &s, 4)));
        int n = (int)strlen(text);
        for (int k = 0; k < 3; k++)
            text[rng_range(&r, 0, n - 1)] = bytes[rng_range(&r, 0, COUNT_OF(bytes) - 1)];
        const struct expr *e = NULL;
        struct err err = {0};
        if (expr_parse(s.p, text, s.var, s.n, &e, &err))
            expr_verify(s.p, expr_simplify(s.p, e));
        else if (err.at.col < 1 || err.at.col > (int)strlen(text) + 1 || !err.text[0])
            fail_msg("seed %llu: \"%s\"", (unsigned long long)seed, text);
    }
    arena_free(a);
}

int main(void)
{
    const char *given = getenv("TS_SEED"), *length = getenv("TS_COUNT");
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    count = length ? strtol(length, NULL, 10) : count;
    printf("# seed %llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shallow), cmocka_unit_test(deep), cmocka_unit_test(digits),
        cmocka_unit_test(damaged_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
