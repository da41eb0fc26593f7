/* A second element type: a row that only this program has, and everything that it goes through:
 * tensors, layouts, generated C, the interpreter, the child, the reference and the simulator. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/rng.h"
#include "kernels/gen/gen.h"
#include "kernels/ir/type_impl.h"
#include "kernels/program/program.h"
#include "profile/measure/measure.h"
#include "profile/measure/oracle.h"
#include "profile/vendor/vendor.h"
#include "tests/unit/interp.h"
#include "tests/unit/kernel_run.h"
#include "tests/unit/perm.h"
#include "tests/unit/unit_check.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

extern const struct elem_type type_f64;
TYPE(f64, "float64", double, , long, "pd", DBL, f64)

static uint64_t seed = 1;

/* The operator in f64, then step lines up to NULL. */
static const struct program *in_f64(const char *spec, const char *const *steps)
{
    const struct graph *g;
    const struct program *p;
    struct err e;
    if (!graph_from_spec(perm, spec, &g, &e)
        || !program_from_graph(perm, graph_with_type(perm, g, &type_f64), &p, &e))
        fail_msg("%s: %s", spec, e.text);
    for (; steps && *steps; steps++)
        if (!program_apply_line(p, *steps, &p, &e))
            fail_msg("%s: %s: %s", spec, *steps, e.text);
    return p;
}

static const struct func *lowered(const struct program *p)
{
    const struct func *f;
    struct err e;
    if (!program_lower(p, &f, &e))
        fail_msg("%s: %s", p->base->spec, e.text);
    return f;
}

static const char *const tiled[] = {
    "layout split B N 2 16", "layout reorder B N.0 K N.1", "loop split C M 4 4",
    "loop split C N 2 16", "loop reorder C M.0 N.0 K M.1 N.1", "loop cache_write C at=N.0",
    "loop unroll C M.1", "loop vectorize C N.1", "loop prefetch C B at=K ahead=2", NULL
};

/* --- The row ---------------------------------------------------------------------------------- */

static void rows_know_their_arithmetic(void **state)
{
    const double x[] = { 1.0 / 3, -2, 0 };
    double back[3], y = 1.0 / 3;
    float single[3];
    double twice[3];
    (void)state;
    assert_int_equal(type_f32.bytes, 4);
    assert_int_equal(type_f64.bytes, 8);
    assert_true(type_f32.roundoff == 0x1p-24 && type_f64.roundoff == 0x1p-53);
    assert_true(type_f32.tiny == 0x1p-149 && type_f64.tiny == 0x1p-1074);
    assert_true(type_f32.sum == &type_f32 && type_f64.sum == &type_f64);
    type_f32.write(x, 3, single);
    type_convert(&type_f32, single, &type_f64, twice, 3);
    type_f64.read(twice, 3, back);
    assert_true(back[0] == (double)(float)x[0] && back[1] == -2 && back[2] == 0);
    type_f64.round(&y, 1);
    assert_true(y == x[0]);
    type_f32.round(&y, 1);
    assert_true(y == back[0]);
    assert_true(type_f64.call(VAL_EXP, 1) == exp(1));
    assert_true(type_f32.call(VAL_EXP, 1) == (double)expf(1));
}

static void sizes_follow_the_type(void **state)
{
    const struct program *p = in_f64("gmm m=16 n=32 k=8", tiled);
    const struct func *f = lowered(p);
    (void)state;
    for (int t = 0; t < p->graph->n_tensors; t++) {
        const struct tensor *x = &p->graph->tensor[t];
        assert_int_equal(tensor_bytes(x), 8 * tensor_elems(x));
    }
    for (int b = 0; b < f->n_buffers; b++) {
        assert_ptr_equal(f->buffer[b].type, &type_f64);
        assert_int_equal(buffer_bytes(&f->buffer[b]), 8 * f->buffer[b].elems);
    }
    assert_true(p->base->bytes == 8 * (16 * 8 + 8 * 32 + 16 * 32));
    assert_int_equal(target_lanes(target_named("avx512"), &type_f64), 8);
    assert_int_equal(target_lanes(target_named("plain"), &type_f64), 1);
}

/* --- Layouts ---------------------------------------------------------------------------------- */

/* A permutation of dims, a gather of rows and one of single elements, there and back. */
static void layouts_move_whole_elements(void **state)
{
    static const char *const steps[][3] = {
        { "layout reorder B N K", NULL }, { "layout pad B K after=3", NULL },
        { "layout pad B N before=1 after=2", NULL }, { "layout unfold B N tile=8 stride=4", NULL },
        { "layout split B N 2 16", "layout reorder B N.0 K N.1", NULL },
    };
    (void)state;
    for (int k = 0; k < COUNT_OF(steps); k++) {
        const struct program *p = in_f64("gmm m=16 n=32 k=24", steps[k]);
        int t = graph_tensor(p->graph, "B");
        const struct layout *l = p->layout[t];
        int64_t n = tensor_elems(l->tensor);
        double *logical = xmalloc_elems((size_t)n, sizeof *logical), sum = 0;
        double *back = xmalloc_elems((size_t)n, sizeof *back);
        double *phys = xmalloc_elems((size_t)l->elems, sizeof *phys);
        for (int64_t i = 0; i < n; i++)
            logical[i] = (double)i + 1e-12;
        layout_pack(l, logical, phys);
        layout_unpack(l, phys, back);
        assert_memory_equal(logical, back, (size_t)n * sizeof *back);
        for (int64_t i = 0; i < l->elems; i++)
            sum += phys[i];
        assert_true(l->expansion > 1 ? sum >= (double)n * (double)(n - 1) / 2
                                     : fabs(sum - (double)n * (double)(n - 1) / 2) < 1);
        free(logical);
        free(back);
        free(phys);
    }
}

/* --- Code ------------------------------------------------------------------------------------- */

static void code_is_in_double(void **state)
{
    struct gen_opts o = { .target = target_host() };
    struct str c = { 0 }, peak = { 0 };
    struct err e;
    (void)state;
    assert_true(gen_c(lowered(in_f64("gmm m=16 n=32 k=24", tiled)), &o, &c, &e));
    assert_non_null(strstr(str_text(&c), "void ts_entry(double *const *buffers)"));
    assert_null(strstr(str_text(&c), "float"));
    gen_peak(o.target, &type_f64, &peak);
    assert_null(strstr(str_text(&peak), "float"));
    str_free(&c);
    str_free(&peak);
}

/* Maxima, minima, literals, functions, tiles, streamed stores: as the interpreter has them. */
static void code_computes_what_it_should(void **state)
{
    static const char *const streamed[] = { "loop cache_write C at=M", "loop reorder C M K N",
                                            "loop vectorize C N", "loop stream C", NULL };
    const struct { const char *spec; const char *const *steps; } row[] = {
        { "gmm m=16 n=32 k=24", tiled },
        { "gmm m=8 n=32 k=4", streamed },
        { "c2d n=1 i=3 h=6 w=6 o=8 k=3 p=1 bias=1 relu=1", NULL },
        { "maxpool n=1 c=8 h=8 w=8 k=2", NULL },
        { "softmax m=4 n=16", NULL },
    };
    struct unit u[2 * COUNT_OF(row)];
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++)
        for (int k = 0; k < 2; k++)
            u[2 * i + k] = (struct unit){ lowered(in_f64(row[i].spec, row[i].steps)),
                                          k ? 1 : target_lanes(target_host(), &type_f32),
                                          row[i].spec };
    unit_check_values(perm, "gcc", u, COUNT_OF(u), seed);
    if (kernel_compiler("clang"))
        unit_check_values(perm, "clang", u, COUNT_OF(u), seed);
}

static void one_kernel_has_one_type(void **state)
{
    const struct func *f = lowered(in_f64("gmm m=8 n=8 k=8", NULL));
    struct buffer *b = ARENA_DUP(perm, f->buffer, f->n_buffers);
    struct func mixed = *f;
    struct gen_opts o = { .target = target_host() };
    struct str c = { 0 };
    struct err e;
    (void)state;
    b[1].type = &type_f32;
    mixed.buffer = b;
    assert_false(gen_c(&mixed, &o, &c, &e));
    assert_string_equal(e.text, "A has elements of type f64, but B has type f32: a kernel computes "
                        "in one type");
}

/* --- Whole programs --------------------------------------------------------------------------- */

static void must_be_right(const char *spec, const char *const *steps, const char *isa)
{
    struct measure_opts o = { .meters = METER_CLOCK | METER_SIM, .seed = seed, .time_s = 0.01,
                              .min_runs = 3, .target = target_named(isa),
                              .baselines = 1u << VENDOR_ONEDNN };
    struct measurement m;
    struct err e;
    o.cache.n_levels = 1;
    o.cache.level[0].geometry = (struct cache_geometry){ 32 << 10, 8, 64 };
    if (!measure_program(in_f64(spec, steps), &o, NULL, NULL, &m, &e))
        fail_msg("%s: %s", spec, e.text);
    if (m.outcome != OUTCOME_OK)
        fail_msg("%s: %s: %s", spec, outcome_name[m.outcome], m.reason);
    assert_true(m.verified && m.max_rel_err < 1e-13);
    assert_true(m.gflops > 0 && m.peak_gflops > 0 && m.latency.runs >= 3);
    assert_true(m.sim.available);
    for (int i = 0; i < m.sim.n; i++) {       /* of C there is a local tile as well */
        const struct tensor_count *c = &m.sim.by_tensor[i];
        int64_t elems = streq(c->tensor, "A") ? 16 * 24 : 24 * 32;
        if (!streq(c->tensor, "C"))
            assert_int_equal(c->cost.l1_misses, elems * 8 / 64);
    }
    assert_false(m.baseline[VENDOR_ONEDNN].available);
    assert_string_equal(m.baseline[VENDOR_ONEDNN].reason,
                        "there are no baselines for tensors of float64");
}

static void a_gmm_is_measured_and_verified(void **state)
{
    (void)state;
    must_be_right("gmm m=16 n=32 k=24", NULL, NULL);
    must_be_right("gmm m=16 n=32 k=24", tiled, NULL);
    must_be_right("gmm m=16 n=32 k=24", tiled, "plain");
}

/* What float32 would be content with is wrong in float64, and so is what nobody wrote. */
static void float32_is_not_enough(void **state)
{
    const struct program *p = in_f64("gmm m=16 n=32 k=24", tiled);
    const struct func *f = lowered(p);
    const struct oracle *o;
    struct deviation worst = { 0 };
    struct err e;
    void *data[8] = { 0 };
    int out = 0;
    (void)state;
    assert_true(oracle_acquire(p->base, seed, NULL, &o, &e));
    for (int b = 0; b < f->n_params; b++) {
        data[b] = xmalloc((size_t)buffer_bytes(&f->buffer[b]));
        assert_true(oracle_fill(o, p, f->buffer[b].tensor, seed, f->buffer[b].elems, data[b], &e));
        out = p->graph->tensor[f->buffer[b].tensor].role == TENSOR_OUTPUT ? b : out;
    }
    int t = f->buffer[out].tensor;
    assert_false(oracle_compare(o, p, t, data[out], NULL, &worst, &e));
    assert_non_null(strstr(e.text, "C[0][0] was never written"));
    func_interpret(f, data);
    worst = (struct deviation){ 0 };
    assert_true(oracle_compare(o, p, t, data[out], NULL, &worst, &e));
    assert_true(worst.rel_err < 1e-14 && worst.of_bound < 1);
    type_f32.round(data[out], f->buffer[out].elems);
    assert_false(oracle_compare(o, p, t, data[out], NULL, &worst, &e));
    assert_int_equal(e.code, ERR_WRONG);
    for (int b = 0; b < f->n_params; b++)
        free(data[b]);
    oracle_release(o);
}

/* The same operator and seed in another type is another oracle. */
static void oracles_are_told_apart_by_type(void **state)
{
    const struct oracle *o;
    struct err e;
    const struct graph *g;
    (void)state;
    assert_true(graph_from_spec(perm, "gmm m=3 n=5 k=7", &g, &e));
    assert_true(oracle_acquire(g, seed, NULL, &o, &e));
    assert_null(oracle_kept(graph_with_type(perm, g, &type_f64), seed));
    oracle_release(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_know_their_arithmetic),
        cmocka_unit_test(sizes_follow_the_type),
        cmocka_unit_test(layouts_move_whole_elements),
        cmocka_unit_test(code_is_in_double),
        cmocka_unit_test(code_computes_what_it_should),
        cmocka_unit_test(one_kernel_has_one_type),
        cmocka_unit_test(a_gmm_is_measured_and_verified),
        cmocka_unit_test(float32_is_not_enough),
        cmocka_unit_test(oracles_are_told_apart_by_type),
    };
    return cmocka_run_group_tests(tests, perm_setup, perm_teardown);
}
