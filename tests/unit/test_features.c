/* Features of lowered programs: SPEC E.4.1's golden, counts against the tree's own, and what they
 * must not depend on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/model/features.h"
#include "kernels/base/rng.h"
#include "kernels/program/program.h"
#include "sessions/file/expert_file.h"
#include "tests/unit/golden.h"
#include "tests/unit/random_ops.h"
#include "tests/unit/random_steps.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static const struct feature_opts literal = { .literal = true }, with_layout = { .layout = true };

static const struct program *replay(struct arena *a, const char *spec, const char *const *line,
                                    int n)
{
    const struct program *p;
    struct err e;
    int bad;
    if (!program_replay(a, spec, line, n, &p, &bad, &e))
        fail_msg("%s: line %d: %s (fix: %s)", spec, bad, e.text, e.fix);
    return p;
}

static const struct func *lowered(const struct program *p)
{
    const struct func *f;
    struct err e;
    if (!program_lower(p, &f, &e))
        fail_msg("%s", e.text);
    return f;
}

static struct features features(struct arena *a, const struct func *f,
                                const struct feature_opts *o)
{
    struct features x;
    struct err e;
    if (!features_of(a, f, o, &x, &e))
        fail_msg("%s", e.text);
    return x;
}

static struct features of_lines(struct arena *a, const char *spec, const char *const *line, int n,
                                const struct feature_opts *o)
{
    return features(a, lowered(replay(a, spec, line, n)), o);
}

static void names_are_columns(void **state)
{
    (void)state;
    assert_int_equal(FEATURES, 164);
    assert_int_equal(FEATURES_LAYOUT, 176);
    assert_int_equal(FEATURES_ALL, 191);
    assert_int_equal(FEATURE_B0_READ, 57);
    assert_int_equal(FEATURE_B1_READ - FEATURE_B0_READ, FEATURES_PER_BUFFER);
    assert_int_equal(FEATURE_INTENSITY_0, 57 + 5 * 18);
    assert_string_equal(feature_name[FEATURE_B4_STRIDE], "b4.stride");
    for (int i = 0; i < FEATURES_ALL; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(feature_name[i], feature_name[k]);
}

/* --- The golden of 64^3 ---------------------------------------------------------------------- */

/* t without statements that initialise. */
static const struct tree *without_init(struct arena *a, const struct tree *t)
{
    struct tree *copy = ARENA_DUP(a, t, 1);
    const struct tree **kid = ARENA_ARRAY(a, const struct tree *, t->n_kids + 1);
    copy->n_kids = 0;
    copy->kid = kid;
    for (int i = 0; i < t->n_kids; i++)
        if (t->kid[i]->kind != TREE_STORE || t->kid[i]->how != STORE_SET)
            kid[copy->n_kids++] = without_init(a, t->kid[i]);
    return copy;
}

static const struct func *cube(struct arena *a, bool init)
{
    const struct func *f = lowered(replay(a, "gmm m=64 n=64 k=64", NULL, 0));
    struct func *g = ARENA_DUP(a, f, 1);
    assert_int_equal(f->n_roots, 1);
    const struct tree *root = init ? f->root[0] : without_init(a, f->root[0]);
    g->root = ARENA_DUP(a, &root, 1);
    return g;
}

struct golden { enum feature id; double raw; bool flag; };

static void check_golden(const struct features *x, const struct golden *want, int n)
{
    for (int i = 0; i < n; i++) {
        double expect = want[i].flag ? want[i].raw : log2(want[i].raw + 1);
        if (fabs(x->x[want[i].id] - expect) > 1e-4)
            fail_msg("%s: %.6f, not %.6f", feature_name[want[i].id], x->x[want[i].id], expect);
    }
}

#define BUFFER(b, kind, bytes, unique, lines, unique_lines, iter, dis, ct, stride) \
    { FEATURE_B##b##_##kind, 1, true }, { FEATURE_B##b##_BYTES, bytes, false }, \
    { FEATURE_B##b##_UNIQUE_BYTES, unique, false }, { FEATURE_B##b##_LINES, lines, false }, \
    { FEATURE_B##b##_UNIQUE_LINES, unique_lines, false }, \
    { FEATURE_B##b##_LOOP_REUSE, 1, true }, { FEATURE_B##b##_DIS_ITER, iter, false }, \
    { FEATURE_B##b##_DIS_BYTES, dis, false }, { FEATURE_B##b##_CT, ct, false }, \
    { FEATURE_B##b##_BYTES_CT, (double)(bytes) / (ct), false }, \
    { FEATURE_B##b##_UNIQUE_BYTES_CT, (double)(unique) / (ct), false }, \
    { FEATURE_B##b##_LINES_CT, (double)(lines) / (ct), false }, \
    { FEATURE_B##b##_UNIQUE_LINES_CT, (double)(unique_lines) / (ct), false }, \
    { FEATURE_B##b##_STRIDE, stride, false }

static const struct golden of_cube[] = {
    BUFFER(0, READ, 1 << 20, 16384, 262144, 256, 4096, 16896, 64, 64),
    BUFFER(1, READ, 1 << 20, 16384, 16384, 256, 64, 516, 64, 1),
    BUFFER(2, READWRITE, 1 << 20, 16384, 256, 256, 1, 12, 64, 0),
    { FEATURE_B3_READ, 0, true }, { FEATURE_B3_BYTES, 0, false }, { FEATURE_B4_NO_REUSE, 0, true },
    { FEATURE_INTENSITY_0, 1.35758, false }, { FEATURE_INTENSITY_1, 2.39192, false },
    { FEATURE_INTENSITY_2, 3.42626, false }, { FEATURE_INTENSITY_3, 4.46061, false },
    { FEATURE_INTENSITY_4, 5.49495, false }, { FEATURE_INTENSITY_5, 6.52929, false },
    { FEATURE_INTENSITY_6, 7.56364, false }, { FEATURE_INTENSITY_7, 8.59798, false },
    { FEATURE_INTENSITY_8, 9.63232, false }, { FEATURE_INTENSITY_9, 10.66667, false },
    { FEATURE_OUTER_PROD, 262144, false }, { FEATURE_NUM_LOOPS, 3, false },
    { FEATURE_VEC_TYPE_NONE, 1, true }, { FEATURE_UNROLL_TYPE_NONE, 1, true },
    { FEATURE_PARALLEL_TYPE_NONE, 1, true }, { FEATURE_VEC_NUM, 0, false },
    { FEATURE_IS_GPU, 0, true }, { FEATURE_BLOCK_X_LEN, 1, false },
    { FEATURE_VTHREAD_LEN, 1, false }, { FEATURE_ALLOC_SIZE, 0, false },
    { FEATURE_INT_ADDSUB, 0, false }, { FEATURE_SELECT_OP, 0, false },
    { FEATURE_AUTO_UNROLL_MAX_STEP, 0, false },
};

static void golden_of_64_cubed(void **state)
{
    (void)state;
    static const struct golden two_ops[] = { { FEATURE_FLOAT_ADDSUB, 262144, false },
                                             { FEATURE_FLOAT_MUL, 262144, false },
                                             { FEATURE_FLOAT_MAD, 0, false } };
    static const struct golden mad[] = { { FEATURE_FLOAT_ADDSUB, 0, false },
                                         { FEATURE_FLOAT_MUL, 0, false },
                                         { FEATURE_FLOAT_MAD, 262144, false } };
    static const struct golden pushed_twice[] = { { FEATURE_B0_DIS_BYTES, 17152, false } };
    struct arena *a = arena_new();
    struct features x = features(a, cube(a, false), &literal);
    assert_int_equal(x.rows, 1);
    assert_int_equal(x.columns, FEATURES);
    check_golden(&x, of_cube, COUNT_OF(of_cube));
    check_golden(&x, two_ops, COUNT_OF(two_ops));
    assert_float_equal(x.x[FEATURE_FLOAT_MUL], 18.000006, 2e-6);
    assert_float_equal(x.x[FEATURE_B0_BYTES], 20.000001, 2e-6);
    assert_float_equal(x.x[FEATURE_B0_UNIQUE_BYTES], 14.000088, 2e-6);
    /* With the initialisation TVM has C twice in the outer loops, and one row all the same. */
    x = features(a, cube(a, true), &literal);
    assert_int_equal(x.rows, 1);
    check_golden(&x, pushed_twice, 1);
    /* Ours: the same numbers with or without it, but for the mad. */
    x = features(a, cube(a, true), NULL);
    check_golden(&x, of_cube, COUNT_OF(of_cube));
    check_golden(&x, mad, COUNT_OF(mad));
    x = features(a, cube(a, false), NULL);
    check_golden(&x, of_cube, COUNT_OF(of_cube));
    arena_free(a);
}

/* --- A scheduled convolution, column by column ----------------------------------------------- */

static const char conv_spec[] = "c2d n=1 i=64 h=28 w=28 o=128 k=3 p=1 bias=1 relu=1";
static const char *const conv_lines[] = {
    "set input_layout given", "layout set Inp_in \"N H W I\"",
    "layout set Ker \"O/32 KH KW I 32o\"", "layout set Conv \"N O/32 H W 32o\"",
    "loop inline Inp", "loop split Conv W 4 7",
    "loop reorder Conv N O.0 H W.0 KH KW I W.1 O.1", "loop cache_write Conv at=W.0",
    "loop unroll Conv W.1", "loop vectorize Conv O.1", "loop compute_at BiasAdd Conv W.0",
    "loop compute_at ReLU Conv W.0", "loop parallel Conv O.0",
};

static void a_convolution_column_by_column(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct str out = { 0 };
    const struct program *p = replay(a, conv_spec, conv_lines, COUNT_OF(conv_lines));
    program_print_nest(&out, p);
    const struct func *f = lowered(p);
    for (int mode = 0; mode < 2; mode++) {
        struct features x = features(a, f, mode ? &literal : &with_layout);
        for (int r = 0; r < x.rows; r++) {
            str_printf(&out, "\n%s, row %d:\n", mode ? "literal" : "ours", r);
            for (int c = 0; c < x.columns; c++)
                if (x.x[r * x.columns + c] != 0)
                    str_printf(&out, "  %-26s %.4f\n", feature_name[c],
                               (double)x.x[r * x.columns + c]);
        }
    }
    golden_check("tests/golden/features.txt", str_text(&out));
    str_free(&out);
    arena_free(a);
}

/* --- One annotation at a time ---------------------------------------------------------------- */

static void changed_columns(const struct features *x, const struct features *y, int from, int to)
{
    bool some = false;
    assert_int_equal(x->rows, y->rows);
    for (int i = 0; i < x->rows * x->columns; i++) {
        int c = i % x->columns;
        bool differs = x->x[i] != y->x[i];
        some = some || differs;
        if (differs && (c < from || c > to))
            fail_msg("%s changed from %g to %g", feature_name[c], (double)x->x[i],
                     (double)y->x[i]);
    }
    assert_true(some);
}

static void annotations_change_their_columns(void **state)
{
    (void)state;
    static const char *const line[] = { "loop split C N 8 8", "loop split C M 16 4",
                                        "loop reorder C M.0 N.0 K M.1 N.1",
                                        "loop cache_write C at=N.0" };
    static const struct { const char *line; int from, to, type; } one[] = {
        { "loop vectorize C N.1", FEATURE_VEC_NUM, FEATURE_VEC_TYPE_MIXED,
          FEATURE_VEC_TYPE_INNER_SPATIAL },
        { "loop unroll C M.1", FEATURE_UNROLL_NUM, FEATURE_UNROLL_TYPE_MIXED,
          FEATURE_UNROLL_TYPE_MIDDLE_SPATIAL },
        { "loop unroll C K", FEATURE_UNROLL_NUM, FEATURE_UNROLL_TYPE_MIXED,
          FEATURE_UNROLL_TYPE_INNER_REDUCE },
        { "loop parallel C M.0", FEATURE_PARALLEL_NUM, FEATURE_PARALLEL_TYPE_MIXED,
          FEATURE_PARALLEL_TYPE_OUTER_SPATIAL },
    };
    struct arena *a = arena_new();
    const struct program *p = replay(a, "gmm m=64 n=64 k=32", line, COUNT_OF(line)), *q;
    struct features plain = features(a, lowered(p), NULL);
    for (int i = 0; i < COUNT_OF(one); i++) {
        struct err e;
        if (!program_apply_line(p, one[i].line, &q, &e))
            fail_msg("%s", e.text);
        struct features x = features(a, lowered(q), NULL);
        changed_columns(&plain, &x, one[i].from, one[i].to);
        assert_int_not_equal(features_hash(&plain), features_hash(&x));
        assert_float_equal(x.x[one[i].type], 1, 0);
        assert_float_equal(plain.x[one[i].type], 0, 0);
        /* The tile's rows: 4 x 8 floats, made 128 times. */
        assert_float_equal(x.x[FEATURE_ALLOC_SIZE], log2(4 * 32 + 1), 1e-5);
        assert_float_equal(x.x[FEATURE_ALLOC_OUTER_PROD], log2(128 + 1), 1e-5);
    }
    arena_free(a);
}

/* A layout that leaves / and % in the accesses shows them, as does a fused loop. */
static void div_and_mod_show(void **state)
{
    (void)state;
    static const char *const odd[] = { "layout split A K 5 7 allow_pad=1" };
    struct arena *a = arena_new();
    struct features x = of_lines(a, "gmm m=8 n=8 k=32", NULL, 0, &with_layout);
    assert_float_equal(x.x[FEATURE_INT_DIVMOD], 0, 0);
    assert_float_equal(x.x[FEATURE_DIVMOD_FREE], 1, 0);
    x = of_lines(a, "gmm m=8 n=8 k=32", odd, COUNT_OF(odd), &with_layout);
    int last = (x.rows - 1) * x.columns;
    assert_true(x.x[last + FEATURE_INT_DIVMOD] > 0);
    assert_float_equal(x.x[last + FEATURE_DIVMOD_FREE], 0, 0);
    arena_free(a);
}

/* A buffer that is read at two places: what is touched is the box around both. */
static void both_halves_are_touched(void **state)
{
    (void)state;
    static const char *const line[] = { "loop inline Lo", "loop inline Hi" };
    struct arena *a = arena_new();
    struct features x = of_lines(a, "x = input n=64 m=8; lo = slice(x) axis=0 from=0 to=32; "
                                    "hi = slice(x) axis=0 from=32 to=64; y = add(lo, hi)",
                                 line, COUNT_OF(line), NULL);
    assert_int_equal(x.rows, 1);
    for (int b = 0; b < 2; b++) {
        const float *column = x.x + b * FEATURES_PER_BUFFER;
        double elems = column[FEATURE_B0_READ] > 0 ? 64 * 8 : 32 * 8;
        assert_true(column[FEATURE_B0_READ] > 0 || column[FEATURE_B0_WRITE] > 0);
        assert_float_equal(column[FEATURE_B0_UNIQUE_BYTES], log2(4 * elems + 1), 1e-4);
    }
    arena_free(a);
}

/* --- Random programs ------------------------------------------------------------------------- */

static uint64_t seed;

/* f in a pool of its own with other names of everything. */
struct renamer { struct arena *a; struct exprs *to; const char **name;
                 const struct expr **var; int n, made; };

static const struct expr *renamed_expr(void *ctx, const struct expr *e)
{
    struct renamer *r = ctx;
    return e ? expr_import(r->to, e, r->name, r->var, r->n) : NULL;
}

static const struct expr *const *renamed_idx(struct renamer *r, const struct expr *const *idx,
                                             int n)
{
    const struct expr **out = ARENA_ARRAY(r->a, const struct expr *, n + 1);
    for (int i = 0; i < n; i++)
        out[i] = renamed_expr(r, idx[i]);
    return out;
}

static const struct tree *renamed_tree(struct renamer *r, const struct tree *t)
{
    struct tree *out = ARENA_DUP(r->a, t, 1);
    struct val_map map = { .ctx = r, .index = renamed_expr };
    const struct tree **kid = ARENA_ARRAY(r->a, const struct tree *, t->n_kids + 1);
    if (t->kind == TREE_LOOP) {           /* two loops may have variables of one name */
        out->begin = renamed_expr(r, t->begin);
        out->end = renamed_expr(r, t->end);
        r->name[r->n] = t->var->name;
        r->var[r->n++] = out->var = expr_var(r->to, arena_printf(r->a, "zz%d", 997 - r->made++),
                                             t->var->lo, t->var->hi);
        out->axis = "?";
    }
    if (t->kind == TREE_STORE) {
        out->idx = renamed_idx(r, t->idx, t->rank);
        out->value = val_rebuild(r->a, t->value, &map);
        out->guard = renamed_expr(r, t->guard);
    }
    for (int i = 0; i < t->n_kids; i++)
        kid[i] = renamed_tree(r, t->kid[i]);
    out->kid = kid;
    r->n -= t->kind == TREE_LOOP;
    return out;
}

static const struct func *renamed(struct arena *a, const struct func *f)
{
    struct renamer r = { .a = a, .to = exprs_new(a) };
    struct func *out = ARENA_DUP(a, f, 1);
    struct buffer *buffer = ARENA_DUP(a, f->buffer, f->n_buffers);
    const struct tree **root = ARENA_ARRAY(a, const struct tree *, f->n_roots + 1);
    r.name = ARENA_ARRAY(a, const char *, exprs_n_vars(f->pool) + 1);
    r.var = ARENA_ARRAY(a, const struct expr *, exprs_n_vars(f->pool) + 1);
    expr_var(r.to, "unused", 0, 3);       /* so that no dense index is the same */
    for (int i = 0; i < f->n_buffers; i++)
        buffer[i].name = arena_printf(a, "B%d", 50 - i);
    for (int i = 0; i < f->n_roots; i++)
        root[i] = renamed_tree(&r, f->root[i]);
    out->pool = r.to;
    out->buffer = buffer;
    out->root = root;
    return out;
}

static void same(const struct features *x, const struct features *y, const char *what,
                 const struct program *p)
{
    assert_int_equal(x->rows, y->rows);
    for (int i = 0; i < x->rows * x->columns; i++)
        if (x->x[i] != y->x[i]) {
            struct str s = { 0 };
            program_print_nest(&s, p);
            fail_msg("seed %llu, %s: %s is %g and %g\n%s", (unsigned long long)seed, what,
                     feature_name[i % x->columns], (double)x->x[i], (double)y->x[i],
                     str_text(&s));
        }
    assert_int_equal(features_hash(x), features_hash(y));
}

static bool val_has_select(const struct val *v)
{
    return v && (v->kind == VAL_SELECT || val_has_select(v->a) || val_has_select(v->b));
}

/* Something in t depends on a condition. */
static bool conditional(const struct tree *t)
{
    bool yes = t->kind == TREE_STORE && (t->guard || val_has_select(t->value));
    for (int i = 0; i < t->n_kids && !yes; i++)
        yes = conditional(t->kid[i]);
    return yes;
}

/* What the features say is computed, against the tree's own count, which walks every iteration. */
static bool check_flops(const struct func *f, const struct features *x, const struct program *p)
{
    double sum = 0, flops = func_flops(f);
    bool exact = true;
    for (int r = 0; r < x->rows; r++)
        for (int c = FEATURE_FLOAT_MAD; c <= FEATURE_FLOAT_OTHERFUNC; c++)
            sum += (exp2(x->x[r * x->columns + c]) - 1) * (c == FEATURE_FLOAT_MAD ? 2 : 1);
    for (int i = 0; i < f->n_roots; i++)
        exact = exact && !conditional(f->root[i]);
    if (sum < flops * (1 - 1e-4) || (exact && sum > flops * (1 + 1e-4))) {
        struct str s = { 0 };
        program_print_nest(&s, p);
        fail_msg("seed %llu: %g operations by the features, %g by the tree\n%s",
                 (unsigned long long)seed, sum, flops, str_text(&s));
    }
    return exact;
}

static void check_program(struct arena *a, const struct program *p, int *exact)
{
    struct arena *b = arena_new();
    const struct func *f, *again;
    struct err e;
    if (program_lower(p, &f, &e)) {
        struct features x = features(a, f, &with_layout), y = features(a, f, &with_layout);
        same(&x, &y, "made again", p);
        y = features(a, lowered(replay(b, p->base->spec, p->steps, p->n_steps)), &with_layout);
        same(&x, &y, "replayed", p);
        y = features(a, again = renamed(b, f), &with_layout);
        same(&x, &y, "renamed", p);
        *exact += check_flops(f, &x, p);
        x = features(a, f, &literal);
        y = features(a, again, &literal);
        same(&x, &y, "literal, renamed", p);
    }
    arena_free(b);
}

static void random_programs(void **state)
{
    (void)state;
    int exact = 0, rounds = 400;
    for (int round = 0; round < rounds; round++) {
        struct arena *a = arena_new();
        struct rng r = rng_seed(++seed);
        const struct op_family *family = ops_get(round % ops_count());
        const struct program *p, *next;
        struct err e;
        if (program_new(a, random_operator(a, &r, family), &p, &e)) {
            for (int k = (int)rng_range(&r, 0, 10); k > 0; k--) {
                const char *line = rng_range(&r, 0, 3) ? random_loop_step(a, &r, p)
                                                       : random_layout_step(a, &r, p);
                if (program_apply_line(p, line, &next, &e))
                    p = next;
            }
            check_program(a, p, &exact);
        }
        arena_free(a);
    }
    print_message("%d of %d programs counted exactly\n", exact, rounds);
    assert_true(exact > rounds / 4);
}

/* Border pixels of a padded convolution: kh and kw run 2 times there and 3 times elsewhere. */
static void borders_have_mean_trips(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    int exact = 0;
    const struct program *p = replay(a, conv_spec, conv_lines, COUNT_OF(conv_lines));
    check_program(a, p, &exact);
    struct features x = features(a, lowered(p), NULL);
    double trips = (3.0 * 26 + 2 * 2) / 28, mads = 0;
    for (int r = 0; r < x.rows; r++)
        mads += exp2(x.x[r * x.columns + FEATURE_FLOAT_MAD]) - 1;
    assert_true(fabs(mads / (128.0 * 64 * 28 * 28 * trips * trips) - 1) < 1e-4);
    arena_free(a);
}

static void experts_of_all_classes(void **state)
{
    (void)state;
    static const char *const spec[] = {
        "c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1 bias=1 relu=1",
        "c2d n=1 i=3 h=32 w=32 o=64 k=7 s=2 p=3",
        "grp n=1 i=32 h=14 w=14 o=32 g=2 k=3 p=1", "dep n=1 c=32 h=28 w=28 k=3 p=1",
        "dil n=1 i=16 h=20 w=20 o=32 k=3 d=2 p=2", "c3d n=1 i=8 depth=6 h=12 w=12 o=32 k=3 p=1",
        "c1d n=1 i=32 w=64 o=32 k=3 p=1", "gmm m=64 n=64 k=64",
        "t2d n=1 i=16 h=8 w=8 o=32 k=4 s=2 p=1",
        "t3d n=1 i=8 depth=4 h=4 w=4 o=16 k=3 s=2 p=1",
    };
    struct arena *a = arena_new();
    struct experts all;
    struct err e;
    int exact = 0;
    assert_true(expert_file_all(a, &all, &e));
    for (int i = 0; i < COUNT_OF(spec); i++) {
        struct expert_schedule s[3];
        int n;
        if (!expert_schedules(a, &all, spec[i], NULL, 2, COUNT_OF(s), s, &n, &e))
            fail_msg("%s: %s", spec[i], e.text);
        assert_true(n > 0);
        for (int k = 0; k < n; k++)
            check_program(a, replay(a, spec[i], s[k].step, s[k].n), &exact);
    }
    arena_free(a);
}

int main(void)
{
    setenv("TILESCOPE_HOME", ".", 0);
    const char *given = getenv("TS_SEED");
    seed = given ? strtoull(given, NULL, 10) : 20261121;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_columns),
        cmocka_unit_test(golden_of_64_cubed),
        cmocka_unit_test(a_convolution_column_by_column),
        cmocka_unit_test(annotations_change_their_columns),
        cmocka_unit_test(div_and_mod_show),
        cmocka_unit_test(both_halves_are_touched),
        cmocka_unit_test(borders_have_mean_trips),
        cmocka_unit_test(random_programs),
        cmocka_unit_test(experts_of_all_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
