/* What verdicts say: of elements that are wrong or cannot be judged, of outputs of networks that
 * differ from the whole graph or from what their author expects; and counts of their kernels. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/measure/measure_network.h"
#include "profile/measure/oracle.h"
#include "sessions/file/expert_file.h"
#include "tests/unit/networks.h"
#include "tests/unit/perm.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* --- Elements --------------------------------------------------------------------------------- */

/* Judges `got` as the output of a program.  Returns the sentence; "": it is right. */
static const char *verdict(const char *spec, const float *got, struct deviation *worst)
{
    static struct err e;
    const struct program *p;
    const struct oracle *o;
    int out = 0;
    e = (struct err){0};
    if (!program_new(perm, spec, &p, &e) || !oracle_acquire(p->base, 1, NULL, &o, &e))
        fail_msg("%s: %s", spec, e.text);
    while (p->graph->tensor[out].role != TENSOR_OUTPUT)
        out++;
    bool ok = oracle_compare(o, p, out, got, NULL, worst, &e);
    assert_int_equal(ok, e.code == ERR_NONE);
    oracle_release(o);
    return e.text;
}

#define TWOS "c = const n=20 m=10 value=3; d = const n=20 m=10 value=1; y = sub(c, d)"

/* All 200 elements are 2 but those named. */
static void wrong_elements_are_counted(void **state)
{
    static const struct { int at[2]; float value[2]; double rel_err; const char *text; } row[] = {
        { { 0, 0 }, { 2, 2 }, 0, "" },
        { { 37, 37 }, { 100, 100 }, 49,
          "y[3][7] is 100, reference 2 (max rel err 49, 1 of 200 elements)" },
        { { 150, 40 }, { 100, 3 }, 49,
          "y[4][0] is 3, reference 2 (max rel err 49, 1 % of elements)" },
        { { 199, 199 }, { -2, -2 }, 2,
          "y[19][9] is -2, reference 2 (max rel err 2, 1 of 200 elements)" },
        { { 0, 0 }, { NAN, NAN }, ORACLE_INFINITE,
          "y[0][0] is nan, reference 2 (1 of 200 elements)" },
        { { 0, 1 }, { INFINITY, 2 }, ORACLE_INFINITE,
          "y[0][0] is inf, reference 2 (1 of 200 elements)" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct deviation worst = { 0 };
        float got[200];
        for (int k = 0; k < 200; k++)
            got[k] = 2;
        for (int k = 0; k < 2; k++)
            got[row[i].at[k]] = row[i].value[k];
        assert_string_equal(verdict(TWOS, got, &worst), row[i].text);
        assert_true(worst.rel_err == row[i].rel_err);
        assert_int_equal(worst.of_bound > 1, i > 0);
        worst.rel_err = 60;               /* of an earlier output */
        verdict(TWOS, got, &worst);
        assert_true(worst.rel_err == fmax(60, row[i].rel_err));
    }
}

static void unwritten_elements_are_told(void **state)
{
    struct deviation worst = { 0 };
    float got[200];
    (void)state;
    oracle_poison(got, sizeof got);
    for (int k = 0; k < 200; k++) {
        const uint32_t poison = BUFFER_POISON;
        assert_memory_equal(&got[k], &poison, sizeof poison);
        if (k != 125)
            got[k] = 2;
    }
    assert_string_equal(verdict(TWOS, got, &worst),
                        "y[12][5] was never written, reference 2 (1 of 200 elements)");
    uint16_t half[4] = { 1, 1, 1, 1 };
    oracle_poison(half, 6);               /* three halves */
    assert_int_equal(half[2], (uint16_t)BUFFER_POISON);
    assert_int_equal(half[3], 1);
}

/* log(exp(200) / 1e38) is 200 - 38 log(10). */
static void what_cannot_be_judged_is_told(void **state)
{
#define NOT_BY " cannot be checked with this data: "
    static const struct { const char *spec; float got; const char *text; } row[] = {
        { "c = const n=9 value=1e30; z = mul(c, c)", INFINITY,
          "z[0]" NOT_BY "its reference 1e+60 is beyond float32 (100 % of elements)" },
        { "c = const n=9 value=-1; w = log(c)", NAN,
          "w[0]" NOT_BY "its reference is no number (100 % of elements)" },
        { "x = const n=9 value=0.2; y = abs(x); a = affine(y) mul=500 add=100; b = exp(a); "
          "c = affine(b) mul=1e-38; d = log(c)", INFINITY,
          "d[0]" NOT_BY "float32 overflows on the way to its reference 112.502 (100 % of "
          "elements)" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct deviation worst = { 0 };
        float got[9];
        for (int k = 0; k < 9; k++)
            got[k] = row[i].got;
        assert_string_equal(verdict(row[i].spec, got, &worst), row[i].text);
    }
}

/* 16 roundoffs of the type or of tf32, but at least 1e-4, and 1e-3 for a chosen algorithm. */
static void tolerances(void **state)
{
    static const struct { const char *spec; bool tf32; int n_algorithms; double want; } row[] = {
        { "gmm m=8 k=8 n=8", false, 0, 1e-4 }, { "gmm m=8 k=8 n=8", false, 1, 1e-3 },
        { "gmm m=8 k=8 n=8 type=f16", false, 0, 0x1p-7 },
        { "gmm m=8 k=8 n=8 type=bf16", false, 1, 0x1p-4 },
        { "gmm m=8 k=8 n=8", true, 1, 16 * TF32_ROUNDOFF },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        const struct program *p;
        struct err e;
        assert_true(program_new(perm, row[i].spec, &p, &e));
        struct program own = *p;
        own.tf32 = row[i].tf32;
        own.n_algorithms = row[i].n_algorithms;
        assert_true(oracle_tolerance(&own) == row[i].want);
    }
}

/* --- Outputs of networks ---------------------------------------------------------------------- */

#define BEYOND "y cannot be compared: its values or intermediate values exceed float32"
#define JUMPS "y cannot be compared: rounding can change a comparison on which it depends"

/* The whole graph gives 1, 2, 3 and nothing that float32 can hold; half of 1 is allowed. */
static void outputs_are_judged(void **state)
{
    static const struct {
        float got[4]; bool jumps; double abs_err, of_allowed; const char *text, *reason;
    } row[] = {
        { { 1, 2, 3, 99 }, false, 0, 0, "", "" },
        { { 1, 2.5f, 3, INFINITY }, false, 0.5, 1, "", "" },
        { { 1, 2.25f, 3.75f, 0 }, false, 0.75, 1.5, "element 2 of output y is 3.75, but evaluating "
          "the whole graph gives 3: 1.5 times what plain float32 explains", "" },
        { { 0, 2, 3, 0 }, false, 1, 2, "element 0 of output y is 0, but evaluating the whole graph "
          "gives 1: 2 times what plain float32 explains", "" },
        { { 1, NAN, 3, 0 }, false, INFINITY, INFINITY, "element 1 of output y is nan, but "
          "evaluating the whole graph gives 2: inf times what plain float32 explains", "" },
        { { 1, 2, 5, 0 }, true, 0, 0, "", JUMPS }, { { 1, 2, 3.5f, 0 }, true, 0.5, 1, "", "" },
    };
    const struct tensor y = { .name = "y", .rank = 2, .shape = { 2, 2 } };
    double exact[] = { 1, 2, 3, NAN };
    struct whole_output output = { .tensor = &y, .exact = exact, .allowed = 0.5 };
    const struct network_whole whole = { 1, &output };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct whole_deviation worst = { 0 };
        struct err e = {0};
        output.jumps = row[i].jumps;
        bool ok = network_whole_compare(&whole, "y", row[i].got, &worst, &e);
        assert_string_equal(e.text, row[i].text);
        assert_string_equal(worst.reason, row[i].reason);
        assert_int_equal(ok, !row[i].text[0]);
        assert_int_equal(e.code, ok ? ERR_NONE : ERR_WRONG);
        assert_true(worst.abs_err == row[i].abs_err && worst.of_allowed == row[i].of_allowed);
    }
}

static void outputs_without_values(void **state)
{
    const struct tensor y = { .name = "y", .rank = 1, .shape = { 2 } };
    double exact[] = { NAN, NAN };
    struct whole_output output = { .tensor = &y, .exact = exact };
    const struct network_whole whole = { 1, &output };
    struct whole_deviation worst = { 7, 8, "" };
    struct err e;
    (void)state;
    assert_true(network_whole_compare(&whole, "y", (float[]){ 1, 2 }, &worst, &e));
    assert_string_equal(worst.reason, BEYOND);
    exact[0] = 1;                         /* nothing is allowed, and nothing is off */
    worst.reason[0] = '\0';
    assert_true(network_whole_compare(&whole, "y", (float[]){ 1, 2 }, &worst, &e));
    assert_true(!worst.reason[0] && worst.abs_err == 7 && worst.of_allowed == 8);
    assert_false(network_whole_compare(&whole, "z", (float[]){ 1, 2 }, &worst, &e));
    assert_int_equal(e.code, ERR_BUG);
    assert_string_equal(e.text, "output z is missing in the whole graph");
}

/* Float32 is exact for relu, so 1e-5 of the largest value is allowed.  exp(100) is beyond it.  What
 * exp rounds may jump where it is compared or an index; an input does not, nor an index into one
 * value. */
static void whole_graphs_are_evaluated(void **state)
{
    static const struct { const char *text; double want[3], allowed; bool jumps; } row[] = {
        { "x = input n=3; y = relu(x)", { 0, 0.5, 100 }, 100e-5, false },
        { "x = input n=3; y = neg(x)", { 2, -0.5, -100 }, 100e-5, false },
        { "x = input n=3; a = exp(x); y = neg(a)", { 0, 0, NAN }, 0, false },
        { "x = input n=3; y = floor(x)", { -2, 0, 100 }, 100e-5, false },
        { "x = input n=3; a = exp(x); y = floor(a)", { 0, 1, NAN }, 0, true },
        { "x = input n=3; a = exp(x); f = floor(a); y = neg(f)", { 0, -1, NAN }, 0, true },
        { "x = input n=3; a = exp(x); y = less(x, a)", { 1, 1, NAN }, 0, true },
        { "x = input n=3; w = affine(x) mul=2; y = less(x, w)", { 0, 1, 1 }, 1e-5, false },
        { "x = input n=3; o = const k=2; a = exp(x); y = gather(o, a)", { 0 }, 0, true },
        { "x = input n=3; o = const k=1; a = exp(x); y = gather(o, a)", { 0 }, 0, false },
        { "x = input n=3; o = const k=1; a = exp(x); f = floor(a); y = gather(o, f)", { 0 }, 0,
          false },
    };
    float x[] = { -2, 0.5f, 100 };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        const struct graph *g = graph_must(perm, row[i].text);
        struct network net = { .graph = g, .whole = g };
        float *value[8] = { NULL };
        const struct network_values v = { g->n_tensors, value };
        struct network_whole whole;
        struct err e;
        value[graph_tensor(g, "x")] = x;
        assert_true(network_whole_make(&net, &v, 1, NULL, NULL, &whole, &e));
        assert_int_equal(whole.n, 1);
        const struct whole_output *y = &whole.output[0];
        assert_string_equal(y->tensor->name, "y");
        for (int k = 0; k < 3; k++) {
            bool inexact = strstr(row[i].text, "exp") != NULL;
            if (!inexact && y->exact[k] != row[i].want[k])
                fail_msg("%s: %g, not %g", row[i].text, y->exact[k], row[i].want[k]);
        }
        if (row[i].allowed > 0)
            assert_true(fabs(y->allowed - row[i].allowed) < 1e-12);
        assert_int_equal(y->jumps, row[i].jumps);
        network_whole_free(&whole);
    }
}

/* --- Runs ------------------------------------------------------------------------------------- */

/* 3 instead of 2 is 1 / (1e-5 + 2e-3) times what is allowed. */
static void authors_expect_values(void **state)
{
    static const float x[] = { 1, -2, 3, 0.5f };
    static const struct { float want[4]; double abs_err, of_bound; const char *text; } row[] = {
        { { 1, 0, 3, 0.5f }, 0, 0, "" }, { { 1, 0, 3.0029f, 0.5f }, 0.0029, 0.9626, "" },
        { { 1, 0, 2, 0.5f }, 1, 497.512, "element 2 of y is 3, but 2 is expected: 498 times what "
          "1e-5 + 1e-3 |expected| allows" },
    };
    const struct network *net =
        network_must(perm, graph_must(perm, "x = input a=2 b=2; y = relu(x)"));
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        const struct network_given in = { "x", x }, out = { "y", row[i].want };
        struct measure_opts mo = { .seed = 7 };
        struct network_values values = { 0 };
        struct network_opts o = { .measure = &mo, .n_inputs = 1, .input = &in, .n_expected = 1,
                                  .expected = &out, .values = &values };
        struct network_measurement m;
        struct err e = {0};
        bool right = !row[i].text[0];
        assert_true(measure_network(perm, net, &o, NULL, NULL, &m, &e));
        assert_string_equal(m.reason, row[i].text);
        assert_int_equal(m.outcome, right ? OUTCOME_OK : OUTCOME_WRONG);
        assert_true(m.verified == right && m.whole_compared == right && m.compared);
        assert_true(fabs(m.author_abs_err - row[i].abs_err) < 1e-6);
        assert_true(fabs(m.author_of_bound - row[i].of_bound) < 1e-3 * row[i].of_bound + 1e-12);
        assert_true(m.wrong_call == -1 && m.threads == 1 && m.seed == 7 && m.isa[0]);
        assert_true(m.compiler[0] && m.latency.runs == 0 && !m.call_s && !m.kernel);
        if (right) {
            int t = graph_tensor(net->graph, "x"), y = graph_tensor(net->graph, "y");
            assert_memory_equal(values.value[t], x, sizeof x);
            assert_true(values.value[y][1] == 0 && values.value[y][2] == 3);
            network_values_free(&values);
        }
    }
}

/* Hears the progress over all kernels, and raises the cancel flag at one of them. */
struct heard { int kernel, of, stop_at; double fraction; struct cancel cancel; };

static void hear(void *ctx, const char *what, double fraction)
{
    struct heard *h = ctx;
    int kernel, of;
    if (sscanf(what, "kernel %d of %d: ", &kernel, &of) != 2)
        return;
    assert_true(of == h->of && (kernel == h->kernel || kernel == h->kernel + 1));
    assert_true(fraction >= (kernel - 1.0) / of && fraction <= (double)kernel / of);
    h->kernel = kernel;
    h->fraction = fraction;
    if (kernel == h->stop_at)
        atomic_store(&h->cancel.raised, 1);
}

/* Each kernel is counted by itself, without a clock. */
static void kernels_are_counted(void **state)
{
    const struct network *net =
        network_must(perm, graph_must(perm, "x = input m=8 k=8; w = const k=8 n=8; "
                                            "y = matmul(x, w); z = softmax(y) axis=1"));
    struct measure_opts mo = { .meters = METER_SIM, .seed = 7 };
    struct network_opts o = { .measure = &mo };
    struct network_measurement m;
    struct err e = {0};
    (void)state;
    for (int stop = 0; stop < 2; stop++) {
        struct heard h = { .of = net->n_tasks, .stop_at = stop ? net->n_tasks : -1 };
        struct progress pr = { hear, &h };
        bool ok = measure_network(perm, net, &o, &pr, &h.cancel, &m, &e);
        assert_int_equal(h.kernel, net->n_tasks);
        assert_int_equal(ok, !stop);
        if (stop) {
            assert_int_equal(e.code, ERR_CANCEL);
            continue;
        }
        assert_true(m.verified && m.latency.runs == 0);
        for (int k = 0; k < net->n_tasks; k++) {
            assert_int_equal(m.kernel[k].outcome, OUTCOME_OK);
            assert_true(m.kernel[k].sim.available && m.kernel[k].sim.loads > 0);
            assert_int_equal(m.kernel[k].latency.runs, 0);
        }
    }
}

static int set_up(void **state)
{
    temp_dir("XDG_CACHE_HOME");
    return perm_setup(state);
}

int main(void)
{
    setenv("TILESCOPE_CFLAGS", "-O0", 0);  /* what is checked does not depend on gcc's work */
    setenv("TILESCOPE_HOME", ".", 0);     /* the experts of the tree */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_elements_are_counted), cmocka_unit_test(unwritten_elements_are_told),
        cmocka_unit_test(what_cannot_be_judged_is_told), cmocka_unit_test(tolerances),
        cmocka_unit_test(outputs_are_judged), cmocka_unit_test(outputs_without_values),
        cmocka_unit_test(whole_graphs_are_evaluated), cmocka_unit_test(authors_expect_values),
        cmocka_unit_test(kernels_are_counted),
    };
    return cmocka_run_group_tests_name("verdicts", tests, set_up, perm_teardown);
}
