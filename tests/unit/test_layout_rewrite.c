/* Accesses through layouts: formula (1) and its precondition (SPEC A.4), Fig. 3, Fig. 6, the
 * templates of D.2 and D.3 without any / or %. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/ir/simplify.h"
#include "tests/unit/expr_parse.h"
#include "tests/unit/layout_util.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static struct exprs *pool;                /* fresh for each test */

static int setup(void **state)
{
    struct arena *a = arena_new();
    *state = a;
    pool = exprs_new(a);
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

/* Loop variables: spatial first, then reduction variables. */
struct vars { int n, n_reduce; const struct expr *v[16]; int64_t extent[16]; };

/* "h=4 w.1=8 | kh=3" */
static struct vars vars_from(const char *text)
{
    struct vars vars = { .n = 0 };
    char *save, *copy = arena_strdup(exprs_arena(pool), text);
    bool reduce = false;
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        if (!value) {
            reduce = true;
            continue;
        }
        *value = '\0';
        vars.extent[vars.n] = strtoll(value + 1, NULL, 10);
        vars.v[vars.n] = expr_var(pool, word, 0, vars.extent[vars.n] - 1);
        vars.n++;
        vars.n_reduce += reduce;
    }
    return vars;
}

static const struct expr *const *reduce_of(const struct vars *vars)
{
    return vars->v + vars->n - vars->n_reduce;
}

/* "n, i, h + kh" */
static int exprs_from(const char *text, const struct vars *vars, const struct expr **out)
{
    char *save, *copy = arena_strdup(exprs_arena(pool), text);
    int n = 0;
    for (char *part = strtok_r(copy, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
        struct err e;
        part += strspn(part, " ");
        if (!expr_parse(pool, part, vars->v, vars->n, &out[n++], &e))
            fail_msg("%s: %s", part, e.text);
    }
    return n;
}

/* At every point (at most 100 000) the rewritten access finds the element that was asked for. */
static void assert_reads(const struct layout *l, const struct vars *vars,
                         const struct expr *const *idx, const struct expr *const *out)
{
    int64_t point[16] = { 0 }, phys[MAX_DIMS], held[MAX_RANK];
    int64_t *env = xcalloc((size_t)exprs_n_vars(pool), sizeof *env);
    int left = 100000;
    do {
        for (int i = 0; i < vars->n; i++)
            env[vars->v[i]->var] = point[i];
        for (int j = 0; j < l->rank; j++) {
            phys[j] = expr_eval(out[j], env);
            assert_in_range(phys[j], 0, l->shape[j] - 1);
        }
        assert_true(phi_at(pool, l, phys, held));
        for (int k = 0; k < l->tensor->rank; k++)
            assert_int_equal(held[k], expr_eval(idx[k], env));
    } while (step_point(point, vars->extent, vars->n) && --left);
    free(env);
}

/* Rewrites the access and checks it at every point; out has l->rank expressions. */
static void rewrite(const struct layout *l, const struct vars *vars, const char *access,
                    const struct expr **out)
{
    const struct expr *idx[MAX_DIMS];
    struct err e;
    assert_int_equal(exprs_from(access, vars, idx), l->tensor->rank);
    assert_true(layout_covers(l, idx, &e));
    layout_rewrite(pool, l, idx, reduce_of(vars), vars->n_reduce, out);
    assert_reads(l, vars, idx, out);
}

struct row { const char *tensor, *layout, *vars, *access, *expected; };

/* Each row in a pool of its own: equal strides print in the order in which variables were made. */
static void assert_row(const struct row *row)
{
    pool = exprs_new(exprs_arena(pool));
    const struct layout *l = layout_of(pool, row->tensor, row->layout);
    const struct vars vars = vars_from(row->vars);
    const struct expr *out[MAX_DIMS];
    struct str s = {0};
    rewrite(l, &vars, row->access, out);
    for (int j = 0; j < l->rank; j++) {
        str_add(&s, j ? ", " : "");
        expr_print(&s, out[j]);
    }
    assert_string_equal(str_text(&s), row->expected);
    str_free(&s);
}

/* SPEC A.10, B: ALT Fig. 3. */
static void test_fig3(void **state)
{
    (void)state;
    const char *conv_loops = "n=1 oh=2 ow=2 oo=4 ih=4 iw=4 io=4 | i=2 rh=3 rw=3";
    const struct row rows[] = {
        { "Inp N=1 I=2 H=10 W=10",
          "unfold H tile=6 stride=4; unfold W tile=6 stride=4; reorder N H.0 W.0 I H.1 W.1",
          conv_loops, "n, i, 4*oh + ih + rh, 4*ow + iw + rw", "n, oh, ow, i, ih + rh, iw + rw" },
        { "Ker O=16 I=2 KH=3 KW=3", "split O 4 4; reorder O.0 I KH KW O.1", conv_loops,
          "4*oo + io, i, rh, rw", "oo, i, rh, rw, io" },
        { "Conv N=1 O=16 H=8 W=8",
          "split H 2 4; split W 2 4; split O 4 4; reorder N H.0 W.0 O.0 H.1 W.1 O.1", conv_loops,
          "n, 4*oo + io, 4*oh + ih, 4*ow + iw", "n, oh, ow, oo, ih, iw, io" },
    };
    for (int i = 0; i < COUNT_OF(rows); i++)
        assert_row(&rows[i]);
}

/* SPEC D.2 Table 3, and accesses whose loops are not tiled like the layout. */
static void test_table3(void **state)
{
    (void)state;
    const char *inp = "Inp N=1 I=3 H=230 W=230";
    const char *layout = "unfold W tile=37 stride=32 size=229; unfold H tile=13 stride=8 size=229; "
                         "split I 3 1; reorder N H.0 W.0 I.0 H.1 W.1 I.1";
    const struct row rows[] = {
        { inp, layout, "n=1 h.0=28 w.0=7 h.1=4 w.1=16 | i=3 kh=7 kw=7",
          "n, i, 8*h.0 + 2*h.1 + kh, 32*w.0 + 2*w.1 + kw",
          "n, h.0, w.0, i, 2*h.1 + kh, 2*w.1 + kw, 0" },
        { inp, layout, "n=1 h=112 w=112 | i=3 kh=7 kw=7", "n, i, 2*h + kh, 2*w + kw",
          "n, h / 4, w / 16, i, 2*(h % 4) + kh, 2*(w % 16) + kw, 0" },
        { "Ker O=64 I=3 KH=7 KW=7", "split I 3 1; split O 4 16; reorder O.0 I.0 KH KW I.1 O.1",
          "o.0=4 o.1=16 | i=3 kh=7 kw=7", "16*o.0 + o.1, i, kh, kw", "o.0, i, kh, kw, 0, o.1" },
        /* The reduction over I split like the layout, and not split (SPEC B step 6). */
        { "Ker O=64 I=64 KH=3 KW=3", "split I 4 16; split O 4 16; reorder O.0 I.0 KH KW I.1 O.1",
          "o.0=4 o.1=16 | i.0=4 kh=3 kw=3 i.1=16", "16*o.0 + o.1, 16*i.0 + i.1, kh, kw",
          "o.0, i.0, kh, kw, i.1, o.1" },
        { "Ker O=64 I=64 KH=3 KW=3", "split I 4 16; split O 4 16; reorder O.0 I.0 KH KW I.1 O.1",
          "o.0=4 o.1=16 | i=64 kh=3 kw=3", "16*o.0 + o.1, i, kh, kw",
          "o.0, i / 16, kh, kw, i % 16, o.1" },
        { "Ker O=64 I=64 KH=3 KW=3", "split I 4 16", "o=64 | i.0=8 i.1=8 kh=3 kw=3",
          "o, 8*i.0 + i.1, kh, kw", "o, i.0 / 2, 8*(i.0 % 2) + i.1, kh, kw" },
    };
    for (int i = 0; i < COUNT_OF(rows); i++)
        assert_row(&rows[i]);
}

/* SPEC B, the worked example of Fig. 6 and 7. */
static void test_fig6(void **state)
{
    (void)state;
    const struct layout *l = layout_of(pool, "Conv N=1 O=8 H=12 W=6",
                                       "split H 3 4; reorder N H.0 W O H.1");
    struct str s = {0};
    for (int k = 0; k < 4; k++) {
        str_add(&s, k ? ", " : "");
        expr_print(&s, l->phi[k]);
    }
    assert_string_equal(str_text(&s), "n, o, 4*h.0 + h.1, w");
    str_free(&s);
    assert_row(&(struct row){ "Conv N=1 O=8 H=12 W=6", "split H 3 4; reorder N H.0 W O H.1",
                              "n=1 o=8 h=12 w=6", "n, o, h, w", "n, h / 4, w, o, h % 4" });
    assert_row(&(struct row){ "Conv N=1 O=8 H=12 W=6", "split H 3 4; reorder N H.0 W O H.1",
                              "n=1 h.0=3 w=6 o=8 h.1=4", "n, o, 4*h.0 + h.1, w",
                              "n, h.0, w, o, h.1" });
    assert_row(&(struct row){ "Inp N=1 I=4 H=14 W=8", "", "n=1 h.0=3 w=6 h.1=4 | i=4 kh=3 kw=3",
                              "n, i, 4*h.0 + h.1 + kh, w + kw", "n, i, 4*h.0 + h.1 + kh, w + kw" });
}

/* SPEC A.4.  Window-aligned exactly when B >= S - g + M, g = gcd(V, S); always right. */
static void test_formula1(void **state)
{
    (void)state;
    static const struct { int v, m, b, s, n; bool aligned; } rows[] = {
        { 1, 2, 3, 2, 6, true }, { 1, 3, 6, 4, 8, true }, { 1, 1, 3, 3, 9, true },
        { 2, 7, 13, 8, 12, true }, { 2, 3, 9, 8, 8, true }, { 3, 5, 11, 9, 9, true },
        { 2, 7, 9, 3, 12, true },           /* ERR-5: t = i / P_w would be out of bounds here */
        { 1, 1, 3, 2, 8, true },            /* the window of 1: the clamp is not needed */
        { 2, 7, 7, 4, 12, false }, { 1, 3, 5, 4, 8, false }, { 2, 5, 5, 3, 9, false },
        { 1, 4, 3, 2, 6, false },           /* B < M */
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        char tensor[64], layout[64], loops[64], access[64];
        const int size = rows[i].v * (rows[i].n - 1) + rows[i].m;
        snprintf(tensor, sizeof tensor, "X H=%d", size);
        snprintf(layout, sizeof layout, "unfold H tile=%d stride=%d", rows[i].b, rows[i].s);
        snprintf(loops, sizeof loops, "h=%d | r=%d", rows[i].n, rows[i].m);
        snprintf(access, sizeof access, "%d*h + r", rows[i].v);
        const struct layout *l = layout_of(pool, tensor, layout);
        const struct vars vars = vars_from(loops);
        const struct expr *out[MAX_DIMS];
        rewrite(l, &vars, access, out);
        if (rows[i].m > 1 && expr_uses(out[0], vars.v[1]) == rows[i].aligned)
            fail_msg("row %d: the tile does %suse r", i, rows[i].aligned ? "" : "not ");
    }
}

/* SPEC A.4's template B = V*(h_t-1) + M, S = V*h_t, M = d*(K-1) + 1, for every divisor h_t: one
 * tile per output tile, no / or % in the tiled loops. */
static void test_templates(void **state)
{
    (void)state;
    static const struct { int v, d, k; } rows[] = {
        { 1, 1, 3 }, { 2, 1, 3 }, { 2, 1, 7 }, { 1, 2, 3 },
        { 2, 2, 3 }, { 1, 1, 1 }, { 2, 1, 1 }, { 3, 2, 5 },
    };
    for (int i = 0; i < COUNT_OF(rows) * 12; i++) {
        const int v = rows[i / 12].v, d = rows[i / 12].d, k = rows[i / 12].k, tile = i % 12 + 1;
        const int m = d * (k - 1) + 1, used = v * 11 + m;
        char tensor[64], layout[96], loops[64], access[64];
        if (12 % tile)
            continue;
        const int b = v * (tile - 1) + m > v * tile ? v * (tile - 1) + m : v * tile;
        snprintf(tensor, sizeof tensor, "X H=%d", used + i % 3);
        snprintf(layout, sizeof layout, "unfold H tile=%d stride=%d size=%d", b, v * tile, used);
        snprintf(loops, sizeof loops, "h.0=%d h.1=%d | kh=%d", 12 / tile, tile, k);
        snprintf(access, sizeof access, "%d*h.0 + %d*h.1 + %d*kh", v * tile, v, d);
        const struct layout *l = layout_of(pool, tensor, layout);
        const struct vars vars = vars_from(loops);
        const struct expr *out[MAX_DIMS];
        rewrite(l, &vars, access, out);
        assert_int_equal(l->shape[0], 12 / tile);
        assert_false(out[0]->has_divmod || out[1]->has_divmod);
        if (tile > 1 && tile < 12)
            assert_ptr_equal(out[0], vars.v[0]);
    }
}

/* Other shapes of accesses. */
static void test_accesses(void **state)
{
    (void)state;
    const struct row rows[] = {
        /* A start that is not 0: the window starts at h + 1. */
        { "X H=12", "unfold H tile=6 stride=4", "h.0=2 h.1=4 | kh=3", "4*h.0 + h.1 + kh + 1",
          "h.0 + (h.1 + 1) / 4, kh + (h.1 + 1) % 4" },
        /* pad before the unfold shifts windows and tiles alike. */
        { "X H=8", "pad H before=1 after=1; unfold H tile=6 stride=4", "h=7 | kh=2", "h + kh",
          "(h + 1) / 4, kh + (h + 1) % 4" },
        /* The last window starts in a tile that does not exist: the clamp of the canonical map. */
        { "X H=10", "unfold H tile=6 stride=4", "h=10", "h", "min(h / 4, 1), max(h - 4, h % 4)" },
        /* A reversed window (backward data): r counts down. */
        { "X H=10", "unfold H tile=6 stride=4", "h.0=2 h.1=4 | kh=3", "4*h.0 + h.1 - kh + 2",
          "h.0, h.1 - kh + 2" },
        /* No reduction: an element-wise reader. */
        { "X H=10", "unfold H tile=6 stride=4", "h.0=2 h.1=4", "4*h.0 + h.1", "h.0, h.1" },
        /* Two levels: the tile index is split like the loops. */
        { "X H=18", "unfold H tile=6 stride=4; split H.0 2 2", "h.0=2 h.1=2 h.2=4 | kh=3",
          "8*h.0 + 4*h.1 + h.2 + kh", "h.0, h.1, h.2 + kh" },
        /* fold, fuse and unpad in the sequence. */
        { "X H=10 W=4", "unfold H tile=6 stride=4; fold H.0 H.1; fuse H W", "h=8 w=4 | kh=3",
          "h + kh, w", "4*h + 4*kh + w" },
        { "X H=10", "pad H before=2 after=1; unpad H before=1 after=1", "h=8 | kh=3", "h + kh",
          "h + kh + 1" },
        /* Grouped convolution: the channel of the group. */
        { "X N=1 I=32 H=4", "split I 4 8; reorder N I.0 H I.1", "n=1 o.0=4 o.1=8 h=4 | i=8",
          "n, (8*o.0 + o.1) / 8 * 8 + i, h", "n, o.0, h, i" },
        /* GMM templates. */
        { "A M=128 K=64", "split M 8 16; split K 16 4; reorder M.0 K.0 M.1 K.1",
          "m.0=8 n.0=4 m.1=16 n.1=16 | k.0=16 k.1=4", "16*m.0 + m.1, 4*k.0 + k.1",
          "m.0, k.0, m.1, k.1" },
    };
    for (int i = 0; i < COUNT_OF(rows); i++)
        assert_row(&rows[i]);
}

/* A trimmed tensor read beyond what it stores. */
static void test_not_covered(void **state)
{
    (void)state;
    const struct layout *l = layout_of(pool, "X N=2 H=230", "unfold H tile=13 stride=8 size=221");
    const struct vars vars = vars_from("n=2 h=112 | kh=7");
    const struct expr *idx[MAX_DIMS];
    struct err e;
    exprs_from("n, 2*h + kh", &vars, idx);
    assert_false(layout_covers(l, idx, &e));
    assert_string_equal(e.fix, "unfold with size=229 or more");
    l = layout_of(pool, "X N=2 H=228",
                  "pad H before=1 after=1; unfold H tile=13 stride=8 size=221");
    exprs_from("n, 2*h + kh - 1", &vars, idx);
    assert_false(layout_covers(l, idx, &e));
    assert_string_equal(e.fix, "unfold with size=229 or more");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_fig3), TEST(test_table3), TEST(test_fig6), TEST(test_formula1),
        TEST(test_templates), TEST(test_accesses), TEST(test_not_covered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
