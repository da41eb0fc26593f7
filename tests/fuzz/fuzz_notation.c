#include <stdlib.h>
#include <string.h>
#include "kernels/base/rng.h"
#include "kernels/ir/simplify.h"
#include "kernels/layout/layout.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/expr_parse.h"
#include "tests/unit/expr_verify.h"

#define LINES_MAX 20
#define N_VARS 5
#define TAME ((int64_t)1 << 30)

static const struct tensor tensors[] = {
    { .name = "A", .type = &type_f32, .rank = 2, .dim = { "M", "K" }, .shape = { 12, 16 } },
    { .name = "Inp", .type = &type_f32, .rank = 4, .dim = { "N", "I", "H", "W" },
      .shape = { 2, 6, 13, 8 } },
    { .name = "Ker", .type = &type_f32, .rank = 4, .dim = { "O", "I", "KH", "KW" },
      .shape = { 16, 3, 3, 1 } },
    { .name = "B", .type = &type_f32, .rank = 1, .dim = { "N" }, .shape = { 24 } },
};

static bool layout_read(struct exprs *p, const struct tensor *t, const char *text,
                        const struct layout **out, struct err *e)
{
    struct prim prims[MAX_NOTATION_PRIMS];
    int n;
    return layout_from_notation(p, t, text, prims, &n, e)
        && layout_apply_all(p, t, prims, n, out, e);
}

static void check_notation(struct exprs *p, const struct tensor *t, const char *text)
{
    const struct layout *l, *again;
    struct str printed = {0}, twice = {0}, picture = {0};
    struct err e = {0};
    if (!layout_read(p, t, text, &l, &e)) {
        fuzz_error(&e);
        return;
    }
    layout_draw(&picture, p, l, 80, 20);
    fuzz_say(str_text(&picture));
    if (layout_notation(l, &printed)) {
        const char *s = str_text(&printed);
        if (!layout_read(p, t, s, &again, &e))
            fail("\"%s\" is printed as \"%s\", which is refused: %s", text, s, e.text);
        FUZZ_CHECK(again->rank == l->rank
                   && memcmp(again->shape, l->shape, sizeof *l->shape * (size_t)l->rank) == 0,
                   "\"%s\" and \"%s\" have different shapes", text, s);
        FUZZ_CHECK(l->elems > 1000000 || layout_memory_equal(p, l, again),
                   "\"%s\" and \"%s\" are different layouts", text, s);
        FUZZ_CHECK(layout_notation(again, &twice) && streq(s, str_text(&twice)),
                   "\"%s\" is printed as \"%s\"", s, str_text(&twice));
    }
    str_free(&printed);
    str_free(&twice);
    str_free(&picture);
}

static bool is_tame(const struct expr *e)
{
    return e->lo > -TAME && e->hi < TAME && (!e->a || (is_tame(e->a) && is_tame(e->b)));
}

/* Simplifying keeps the value and the bounds, at some points. */
static void check_values(struct exprs *p, const struct expr *e, const struct expr *x,
                         const struct expr *const *var, uint64_t seed)
{
    struct rng r = rng_seed(seed);
    int64_t *vals = xcalloc((size_t)exprs_n_vars(p), sizeof *vals);
    for (int k = 0; k < 20; k++) {
        for (int i = 0; i < N_VARS; i++)
            vals[var[i]->var] = rng_range(&r, var[i]->lo, var[i]->hi);
        int64_t before = expr_eval(e, vals), after = expr_eval(x, vals);
        FUZZ_CHECK(before == after, "%lld became %lld", (long long)before, (long long)after);
        FUZZ_CHECK(x->lo <= after && after <= x->hi, "%lld is out of bounds", (long long)after);
    }
    free(vals);
}

static void check_expr(struct exprs *p, const struct expr *const *var, const char *text)
{
    const struct expr *e, *again;
    struct str printed = {0};
    struct err err = {0};
    if (!expr_parse(p, text, var, N_VARS, &e, &err)) {
        fuzz_error(&err);
        return;
    }
    const struct expr *x = expr_simplify(p, e);
    expr_verify(p, x);
    expr_print(&printed, x);
    fuzz_say(str_text(&printed));
    if (!expr_parse(p, str_text(&printed), var, N_VARS, &again, &err))
        fail("\"%s\" is printed as \"%s\": %s", text, str_text(&printed), err.text);
    FUZZ_CHECK(again == x, "\"%s\" is printed as \"%s\"", text, str_text(&printed));
    FUZZ_CHECK(expr_simplify(p, x) == x, "\"%s\" is simplified twice", text);
    if (is_tame(e))
        check_values(p, e, x, var, hash_text(text));
    str_free(&printed);
}

int fuzz_notation(const uint8_t *data, size_t n)
{
    if (n < 1)
        return 0;
    const struct tensor *t = &tensors[((unsigned)(data[0] - 'a') & 0xffu) % COUNT_OF(tensors)];
    struct arena *a = arena_new();
    struct exprs *p = exprs_new(a);
    const struct expr *var[N_VARS] = {
        expr_var(p, "i", 0, 15), expr_var(p, "h.0", 0, 6), expr_var(p, "h.1", 0, 3),
        expr_var(p, "j", -5, 9), expr_var(p, "one", 0, 0),
    };
    char *line;
    data++;
    n--;
    for (int i = 0; i < LINES_MAX && (line = fuzz_line(&data, &n)) != NULL; i++) {
        check_notation(p, t, line);
        check_expr(p, var, line);
        free(line);
    }
    arena_free(a);
    return 0;
}
