/* Columns of features and scores of the cost model, from numbers that are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <string.h>

#include "explorer/model/cost_model.h"
#include "kernels/program/program.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static struct features features_after(struct arena *a, const char *spec, const char *line,
                                      const struct feature_opts *o)
{
    const struct program *p;
    const struct func *f;
    struct features x = {0};
    struct err e;
    int bad;
    if (!program_replay(a, spec, &line, line ? 1 : 0, &p, &bad, &e) || !program_lower(p, &f, &e)
        || !features_of(a, f, o, &x, &e))
        fail_msg("%s: %s", spec, e.text);
    return x;
}

/* A number is stored as log2(x + 1). */
static void check(const struct features *x, int row, int column, double number)
{
    double got = x->x[row * x->columns + column], want = log2(number + 1);
    if (fabs(got - want) > 1e-5)
        fail_msg("row %d, %s: %g, not %g", row, feature_name[column], got, want);
}

/* Each operation is in the column of its class, and in no other. */
static void operations_have_classes(void **state)
{
    static const struct { const char *body; enum feature column; } table[] = {
        { "add(x, z)", FEATURE_FLOAT_ADDSUB }, { "sub(x, z)", FEATURE_FLOAT_ADDSUB },
        { "mul(x, z)", FEATURE_FLOAT_MUL }, { "div(x, z)", FEATURE_FLOAT_DIVMOD },
        { "max(x, z)", FEATURE_FLOAT_CMP }, { "min(x, z)", FEATURE_FLOAT_CMP },
        { "relu(x)", FEATURE_FLOAT_CMP }, { "tanh(x)", FEATURE_FLOAT_MATHFUNC },
        { "exp(x)", FEATURE_FLOAT_MATHFUNC },
    };
    static const struct feature_opts literal = { .literal = true };
    (void)state;
    for (int i = 0; i < 2 * COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        int k = i / 2;
        const char *inputs = strchr(table[k].body, 'z') ? "x = input n=64; z = input n=64"
                                                        : "x = input n=64";
        struct features x = features_after(a, arena_printf(a, "%s; y = %s", inputs, table[k].body),
                                           NULL, i % 2 ? &literal : NULL);
        assert_int_equal(x.rows, 1);
        for (int c = FEATURE_FLOAT_MAD; c <= FEATURE_FLOAT_OTHERFUNC; c++)
            check(&x, 0, c, c == (int)table[k].column ? 64 : 0);
        arena_free(a);
    }
}

/* A product of 8 x 4 by 4 x 16: the reduction touches 4 floats of A, 4 of B and one of C.  B is
 * stored with as many zeros as data. */
static void columns_of_the_layout(void **state)
{
    static const struct feature_opts small = { .layout = true, .l1_bytes = 1024, .l2_bytes = 4096,
                                               .lanes = 8 };
    static const struct feature_opts plain = { .layout = true };
    (void)state;
    struct arena *a = arena_new();
    for (int i = 0; i < 2; i++) {
        struct features x = features_after(a, "gmm m=8 k=4 n=16", "layout pad B N after=16",
                                           i ? &small : &plain);
        assert_int_equal(x.columns, FEATURES_LAYOUT);
        int row = x.rows - 1;
        check(&x, row, FEATURE_OUT_EXPANSION, 1);
        check(&x, row, FEATURE_OUT_EXPANSION + 1, 1);
        check(&x, row, FEATURE_OUT_EXPANSION + 2, 2);
        check(&x, row, FEATURE_OUT_TILE_BYTES, 4);
        check(&x, row, FEATURE_OUT_TILE_BYTES + 1, 16);
        check(&x, row, FEATURE_OUT_TILE_BYTES + 2, 16);
        check(&x, row, FEATURE_TILE_OF_L1, 36.0 / (i ? 1024 : 32768));
        check(&x, row, FEATURE_TILE_OF_L2, 36.0 / (i ? 4096 : 1048576));
        check(&x, row, FEATURE_LAST_DIM_LANES, i ? 2 : 1);
        check(&x, row, FEATURE_SHARED_LOOPS, 0);
        assert_true(x.x[row * x.columns + FEATURE_DIVMOD_FREE] == 1);
    }
    arena_free(a);
}

/* The work of the code, as 64 times its share of the multiply-adds that the operator needs; other
 * numbers as they are.  They are in the row of the product. */
static void columns_of_the_code(void **state)
{
    static const struct gen_work work = {
        .vector = 1, .scalar = 2, .loads = 3, .broadcasts = 4, .stores = 5, .scalar_stores = 6,
        .moves = 7, .iterations = 8, .conditions = 9, .spills = 10, .cycles = 11, .pressure = 12,
        .body = 13, .chain = 14, .statements = 15,
    };
    static const struct { const char *spec; int lanes; double by; } table[] = {
        { "gmm m=8 k=4 n=16", 0, 1 },     /* 512 multiply-adds: 64 of 8 lanes */
        { "gmm m=8 k=4 n=16", 4, 0.5 },
        { "gmm m=1 k=2 n=2", 8, 64 },     /* half a vector counts as one */
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        struct feature_opts o = { .code = &work, .lanes = table[i].lanes };
        struct features x = features_after(a, table[i].spec, NULL, &o);
        assert_int_equal(x.columns, FEATURES_ALL);
        assert_int_equal(x.rows, 1);
        for (int c = 0; c < 15; c++)
            check(&x, 0, FEATURE_WORK_VECTOR + c, c < 11 ? (c + 1) * table[i].by : c + 1);
        check(&x, 0, FEATURE_TILE_OF_L1, 0);  /* columns of the layout are there, but empty */
        check(&x, 0, FEATURE_OUT_EXPANSION, 0);
        x = features_after(a, "gmm m=8 k=4 n=16 relu=1", NULL, &o);
        assert_int_equal(x.rows, 2);
        for (int c = FEATURE_WORK_VECTOR; c < FEATURES_ALL; c++) {
            assert_true(x.x[c] > 0);
            check(&x, 1, c, 0);
        }
        arena_free(a);
    }
}

static struct features made(struct arena *a, int rows, int columns)
{
    return (struct features){ rows, columns, ARENA_ARRAY(a, float, rows * columns) };
}

/* Before it learns, a program has the share of the peak speed that its cycles give: at peak speed
 * it would need 32 of 64 cycles for a vector of multiply-adds. */
static void cycles_are_a_score(void **state)
{
    struct cost_model_opts o = { .random = true, .seed = 3 };
    struct cost_model *m;
    struct err e;
    double score[3];
    (void)state;
    struct arena *a = arena_new();
    assert_true(cost_model_new(&o, &m, &e));
    struct features f[3] = { made(a, 2, FEATURES_ALL), made(a, 2, FEATURES_ALL),
                             made(a, 2, FEATURES) };
    f[0].x[FEATURE_WORK_CYCLES] = 3;      /* log2 of 8: 7 cycles in one row, 63 in the other */
    f[0].x[FEATURES_ALL + FEATURE_WORK_CYCLES] = 6;
    f[1].x[FEATURE_WORK_CYCLES] = 5;
    cost_model_predict(m, f, 3, score);
    assert_float_equal(score[0], 32.0 / 63, 1e-9);
    assert_float_equal(score[1], 32.0 / 31, 1e-9);
    assert_true(score[2] >= 0 && score[2] < 1);          /* no estimate: random */
    assert_true(cost_model_add(m, &f[0], 2));
    cost_model_predict(m, f, 3, score);
    assert_float_equal(score[0], 32.0 / 63, 1e-9);
    assert_true(score[2] == -INFINITY);   /* it has not the columns of the samples */
    f[1].rows = 0;
    cost_model_predict(m, f, 2, score);
    assert_true(score[1] == -INFINITY);
    assert_int_equal(cost_model_stats(m).samples, 1);
    assert_int_equal(cost_model_stats(m).failed, 0);
    cost_model_free(m);
    cost_model_free(NULL);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_have_classes), cmocka_unit_test(columns_of_the_layout),
        cmocka_unit_test(columns_of_the_code), cmocka_unit_test(cycles_are_a_score),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
