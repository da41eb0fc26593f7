/* Winograd's algorithm: the same results as the direct convolution, its bounds, where it applies,
 * and networks that take it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>

#include "explorer/space/loop_space.h"
#include "kernels/ops/reference.h"
#include "kernels/ops/winograd.h"
#include "profile/measure/measure_network.h"
#include "profile/measure/oracle.h"
#include "sessions/file/expert_file.h"
#include "sessions/file/session_network.h"
#include "tests/unit/interp.h"
#include "tests/unit/perm.h"
#include "tests/unit/random_steps.h"
#include "tests/unit/run_program.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static const struct program *program_with(const char *spec, const char *const *line, int n)
{
    const struct program *p;
    struct err e;
    int bad;
    if (!program_replay(perm, spec, line, n, &p, &bad, &e))
        fail_msg("%s, step %d: %s", spec, bad, e.text);
    return p;
}

static const struct program *winograd_of(const char *spec, int m)
{
    const char *line = m == 2 ? "algorithm Conv winograd m=2" : "algorithm Conv winograd m=4";
    return program_with(spec, &line, 1);
}

/* --- The same results ------------------------------------------------------------------------- */

/* Evaluates the outputs of a form in float64 from random data of the base graph. */
static double *outputs_of(const struct graph *base, const struct graph *g, int64_t *n)
{
    double **data = xcalloc((size_t)g->n_tensors, sizeof *data), *out = NULL;
    struct err e;
    for (int t = 0; t < g->n_tensors; t++) {
        const struct tensor *x = &g->tensor[t];
        data[t] = xmalloc_elems((size_t)tensor_elems(x), sizeof **data);
        if (x->producer >= 0)
            continue;
        const struct tensor *from = &base->tensor[program_given_tensor(base, g, t)];
        int64_t elems = tensor_elems(from);
        f32 *f = xmalloc_elems((size_t)elems, sizeof *f);
        double *d = xmalloc_elems((size_t)elems, sizeof *d);
        reference_fill(from, 3, f);
        for (int64_t i = 0; i < elems; i++)
            d[i] = (double)f[i];
        if (x->winograd)
            winograd_transform(x, d, data[t]);
        else
            memcpy(data[t], d, sizeof *d * (size_t)elems);
        free(f);
        free(d);
    }
    assert_true(reference_eval(g, data, NULL, &e));
    for (int t = 0; t < g->n_tensors; t++) {
        if (g->tensor[t].role == TENSOR_OUTPUT) {
            *n = tensor_elems(&g->tensor[t]);
            out = data[t];
        } else {
            free(data[t]);
        }
    }
    free(data);
    return out;
}

/* In float64 the matrices must give the direct result up to its own rounding. */
static void check_exact(const char *spec, const struct program *p)
{
    int64_t n, n_direct;
    double *form = outputs_of(p->base, p->form, &n);
    double *direct = outputs_of(p->base, p->base, &n_direct), largest = 0, off = 0;
    assert_int_equal(n, n_direct);
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(direct[i]));
        off = fmax(off, fabs(form[i] - direct[i]));
    }
    if (!(off <= 1e-13 * largest))
        fail_msg("%s: off by %g of %g", spec, off, largest);
    free(form);
    free(direct);
}

static void check_spec(const char *spec)
{
    for (int m = 2; m <= 4; m += 2) {
        const struct program *p = winograd_of(spec, m);
        check_exact(spec, p);
        double of_bound = program_interpret_of_bound(p, 7);
        if (!(of_bound <= 1))
            fail_msg("%s, m=%d: %g of its bound", spec, m, of_bound);
    }
}

static void results_are_the_direct_ones(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "c1d n=2 i=3 w=11 o=4 k=3 p=1 bias=1", "c1d n=1 i=2 w=3 o=2 k=3",
        "c2d n=2 i=3 h=9 w=6 o=4 k=3 ph0=1 ph1=0 pw0=0 pw1=2 bias=1 relu=1",
        "c2d n=1 i=2 h=3 w=17 o=2 k=3", "c3d n=1 i=2 depth=4 h=5 w=7 o=3 k=3 p=1 bias=1",
        "c3d n=1 i=2 depth=5 h=5 w=5 o=2 kd=2 kh=3 kw=3 sd=2 sh=1 sw=1 dd=2 dh=1 dw=1 pd=1 ph=1 "
        "pw=0",
        "c3d n=1 i=3 depth=2 h=6 w=6 o=2 kd=1 kh=3 kw=3 relu=1",
    };
    for (int i = 0; i < COUNT_OF(specs); i++)
        check_spec(specs[i]);
}

/* Every size from one tile to three, with every padding: partial tiles on both axes. */
static void every_small_size_is_right(void **state)
{
    (void)state;
    for (int h = 3; h <= 12; h += 1 + (h > 7))
        for (int p = 0; p <= 2; p++) {
            char spec[100];
            snprintf(spec, sizeof spec, "c2d n=1 i=2 h=%d w=%d o=2 k=3 p=%d", h, 15 - h, p);
            check_spec(spec);
        }
}

/* --- What a wrong matrix would do ------------------------------------------------------------- */

/* Returns the worst error of p by its bound, when one row of products is `by` times what it should
 * be, as with a wrong entry of a matrix. */
static double of_bound_when(const struct program *p, double by)
{
    const struct oracle *o;
    const struct func *f = NULL;
    struct deviation worst = { 0 };
    struct err e;
    assert_true(oracle_acquire(p->base, 7, NULL, &o, &e) && program_lower(p, &f, &e));
    void **data = xcalloc((size_t)f->n_params, sizeof *data);
    for (int b = 0; b < f->n_params; b++) {
        const struct tensor *t = &p->graph->tensor[f->buffer[b].tensor];
        data[b] = xmalloc((size_t)buffer_bytes(&f->buffer[b]));
        assert_true(oracle_fill(o, p, f->buffer[b].tensor, 7, f->buffer[b].elems, data[b], &e));
        int64_t row = tensor_elems(t) / t->shape[0];
        for (int64_t i = row; t->winograd && i < 2 * row; i++)
            ((f32 *)data[b])[i] = (f32)(by * (double)((f32 *)data[b])[i]);
    }
    func_interpret(f, data);
    for (int b = 0; b < f->n_params; b++) {
        int t = f->buffer[b].tensor;
        if (p->graph->tensor[t].role == TENSOR_OUTPUT)
            assert_int_equal(oracle_compare(o, p, t, data[b], NULL, &worst, &e), by == 1);
        free(data[b]);
    }
    free(data);
    oracle_release(o);
    return worst.of_bound;
}

static void wrong_entries_are_found(void **state)
{
    (void)state;
    for (int m = 2; m <= 4; m += 2) {
        const struct program *p = winograd_of("c2d n=1 i=16 h=8 w=8 o=8 k=3 p=1", m);
        assert_true(of_bound_when(p, 1) < 0.5);
        assert_true(of_bound_when(p, 1.01) > 1);
        assert_true(of_bound_when(p, -1) > 100);
    }
}

/* The bound of a direct program is the same beside one with an algorithm. */
static void direct_bounds_stay(void **state)
{
    (void)state;
    const char *spec = "c2d n=1 i=8 h=6 w=6 o=8 k=3 p=1";
    double before = program_interpret_of_bound(program_with(spec, NULL, 0), 7);
    double other = program_interpret_of_bound(winograd_of(spec, 4), 7);
    assert_true(other > 0 && before > 0);
    assert_true(program_interpret_of_bound(program_with(spec, NULL, 0), 7) == before);
}

/* --- The step --------------------------------------------------------------------------------- */

struct refusal { const char *spec, *line[3], *why; };

static const struct refusal refused[] = {
    { "c2d n=1 i=4 h=8 w=8 o=4 k=3 s=2", { "algorithm Conv winograd m=4" }, "stride 2" },
    { "c2d n=1 i=4 h=8 w=8 o=4 k=5", { "algorithm Conv winograd m=4" }, "5 taps along H" },
    { "dil n=1 i=4 h=8 w=8 o=4 k=3 d=2", { "algorithm Conv winograd m=4" }, "dilation 2" },
    { "grp n=1 i=4 h=8 w=8 o=4 k=3 g=2", { "algorithm Conv winograd m=4" }, "and Conv has 2" },
    { "dep n=1 c=4 h=8 w=8 k=3", { "algorithm Conv winograd m=4" }, "Conv is a dwconv2d" },
    { "gmm m=4 k=4 n=4", { "algorithm C winograd m=4" }, "C is a matmul" },
    { "c2d n=1 i=4 h=8 w=8 o=4 k=3", { "algorithm Conv winograd m=3" }, "tiles of 2 or 4" },
    { "c2d n=1 i=4 h=8 w=8 o=4 k=3", { "algorithm Conv fft m=2" }, "no algorithm fft" },
    { "c2d n=1 i=4 h=8 w=8 o=4 k=3", { "algorithm Ker winograd m=2" }, "no node computes" },
    { "c2d n=1 i=4 h=8 w=8 o=4 k=3", { "algorithm Conv winograd" }, "m= is missing" },
    { "c2d n=1 i=4 h=8 w=8 o=4 k=3",
      { "algorithm Conv winograd m=2", "algorithm Conv winograd m=2" }, "Conv is a transform" },
    { "c2d n=1 i=4 h=8 w=8 o=4 k=3",
      { "layout set Ker \"I O KH KW\"", "algorithm Conv winograd m=2" }, "already has a layout" },
    { "c2d n=1 i=4 h=8 w=8 o=4 k=3", { "loop rfactor Conv I 2", "algorithm Conv winograd m=2" },
      "factored" },
    { "c2d n=1 i=4 h=8 w=8 o=4 k=3", { "loop split Conv KH 3", "algorithm Conv winograd m=2" },
      "would no longer apply" },
    { "c2d n=1 i=4 h=8 w=8 o=4 k=3", { "set accuracy 1e-6", "algorithm Conv winograd m=4" },
      "relative error" },
    { "c2d n=1 i=4 h=8 w=8 o=4 k=3", { "algorithm Conv winograd m=2", "set accuracy 1e-8" },
      "relative error" },
    { "c2d n=1 i=4 h=8 w=8 o=4 k=3", { "set accuracy 0", "algorithm Conv winograd m=2" },
      "relative error" },
    { "c2d n=1 i=4 h=8 w=8 o=4 k=3", { "set accuracy much" }, "between 0 and 1" },
    { "x = input n=1 i=4 h=8 w=8; w = input o=4 i=4 kh=3 kw=3; y = c2d(x, w) o=4 k=3",
      { "algorithm y winograd m=2" }, "no constant" },
    { "x = input n=1 i=4 h=8 w=8; w = const o=4 i=4 kh=3 kw=3; y = c2d(x, w) o=4 k=3; "
      "z = c2d(x, w) o=4 k=3", { "algorithm y winograd m=2" }, "another node reads" },
};

static void refusals_say_why(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(refused); i++) {
        const struct refusal *r = &refused[i];
        const struct program *p;
        struct err e = {0};
        int n = 0, bad;
        while (n < 3 && r->line[n])
            n++;
        assert_false(program_replay(perm, r->spec, r->line, n, &p, &bad, &e));
        assert_int_equal(bad, n - 1);
        if (!strstr(e.text, r->why) || !e.fix[0] || e.at.col == 0)
            fail_msg("%s: \"%s\", fix \"%s\", column %d", r->line[n - 1], e.text, e.fix, e.at.col);
    }
}

/* Two convolutions of a graph, each by its own algorithm; the rest of the step's life. */
static void steps_combine(void **state)
{
    (void)state;
    const char *spec = "x = input n=1 i=4 h=9 w=9; a = c2d(x) o=5 k=3 p=1 relu=1; "
                       "b = c2d(a) o=6 k=3 p=1; y = relu(b)";
    const char *const line[] = {
        "set accuracy 1e-5", "algorithm a_Conv winograd m=4", "algorithm b winograd m=2",
        "layout set b \"N H W O\"", "layout set b_Ker_wino \"PH PW I O\"", "loop inline b_half",
        "loop split b H 5 2", "loop unroll b H.1",
    };
    const struct program *p = program_with(spec, line, COUNT_OF(line));
    struct str text = {0};
    program_print_algorithms(&text, p);
    assert_string_equal(str_text(&text), "a_Conv: winograd m=4, b: winograd m=2");
    str_free(&text);
    for (int i = 0; i < COUNT_OF(line); i++)
        assert_string_equal(p->steps[i], line[i]);
    for (int t = 0; t < p->graph->n_tensors; t++)        /* the caller's tensors stay in order */
        if (p->graph->tensor[t].role == TENSOR_CONST)
            assert_memory_equal(p->graph->tensor[t].name,
                                p->base->tensor[program_base_tensor(p, t)].name, 5);
    assert_true(program_interpret_of_bound(p, 7) <= 1);
}

/* Any layouts and loops on the nodes of the form leave the results right. */
static void random_schedules_are_right(void **state)
{
    (void)state;
    struct rng r = rng_seed(11);
    for (int i = 0; i < 40; i++) {
        const struct program *p = winograd_of(i % 2 ? "c2d n=1 i=4 h=7 w=6 o=4 k=3 p=1 bias=1"
                                                    : "c1d n=2 i=4 w=9 o=4 k=3 p=1 relu=1",
                                              i % 3 ? 2 : 4);
        struct err e;
        for (int k = 0; k < 24; k++)
            (void)program_apply_line(p, k < 8 ? random_layout_step(perm, &r, p)
                                              : random_loop_step(perm, &r, p), &p, &e);
        double of_bound = program_interpret_of_bound(p, 7);
        for (int s = 0; s < p->n_steps && !(of_bound <= 1); s++)
            print_message("%s\n", p->steps[s]);
        assert_true(of_bound <= 1);
    }
}

/* The loop space is one of direct forms, and says so. */
static void the_search_says_no(void **state)
{
    (void)state;
    static const char *const line[] = { "algorithm Conv winograd m=4" };
    const struct loop_space *space;
    struct err e = {0};
    assert_false(loop_space_new(perm, "c2d n=1 i=16 h=8 w=8 o=16 k=3 p=1", line, 1, NULL, &space,
                                &e));
    assert_non_null(strstr(e.text, "does not know its algorithm"));
}

/* --- Experts and networks --------------------------------------------------------------------- */

static void experts_keep_to_the_accuracy(void **state)
{
    (void)state;
    static const struct { const char *spec; double accuracy; const char *want; } ask[] = {
        { "c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1", 0, "" },
        { "c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1", 1e-6, "Conv: winograd m=2" },
        { "c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1 bias=1 relu=1", 1e-5, "Conv: winograd m=4" },
        { "c2d n=1 i=32 h=9 w=7 o=32 k=3 p=1", 1e-5, "Conv: winograd m=2" },
        { "c2d n=1 i=64 h=56 w=56 o=64 k=3 s=2 p=1", 1e-5, "" },
        { "c1d n=1 i=64 w=256 o=64 k=3 p=1 bias=1", 1e-5, "Conv: winograd m=4" },
        { "c3d n=1 i=32 depth=3 h=14 w=14 o=32 k=3 p=1 bias=1", 1e-5, "Conv: winograd m=4" },
    };
    struct experts all;
    struct err e;
    assert_true(expert_file_all(perm, &all, &e));
    for (int i = 0; i < COUNT_OF(ask); i++) {
        struct expert_schedule s;
        struct str text = {0};
        int n;
        all.accuracy = ask[i].accuracy;
        assert_true(expert_schedules(perm, &all, ask[i].spec, NULL, 2, 1, &s, &n, &e) && n == 1);
        program_print_algorithms(&text, program_with(ask[i].spec, s.step, s.n));
        if (!streq(str_text(&text), ask[i].want))
            fail_msg("%s, accuracy %g: %s", ask[i].spec, ask[i].accuracy, str_text(&text));
        str_free(&text);
    }
}

static const char block[] =
    "x = input n=1 i=32 h=13 w=13; a = c2d(x) o=32 k=3 p=1 bias=1 relu=1; "
    "b = c2d(a) o=32 k=3 p=1 bias=1; c = add(b, x); y = relu(c)";

/* Measures the block with this accuracy.  Returns how many kernels have an algorithm. */
static int measured_block(double accuracy, int threads)
{
    const struct graph *g;
    const struct network *net = NULL;
    struct network_measurement m;
    struct measure_opts mo = { .seed = 7, .threads = threads, .meters = METER_CLOCK,
                               .time_s = 0.001, .min_runs = 2 };
    struct network_opts o = { .measure = &mo };
    struct err e = {0};
    int n = 0;
    if (!graph_from_spec(perm, block, &g, &e)
        || !network_of_graph(perm, g, "", accuracy, NULL, threads, &net, &e)
        || !measure_network(perm, net, &o, NULL, NULL, &m, &e))
        fail_msg("%s", e.text);
    if (m.outcome != OUTCOME_OK || !m.verified)
        fail_msg("accuracy %g: %s", accuracy, m.reason);
    for (int i = 0; i < net->n_tasks; i++)
        n += net->task[i].program->n_algorithms;
    return n;
}

static void networks_take_it(void **state)
{
    (void)state;
    assert_int_equal(measured_block(-1, 1), 0);
    assert_int_equal(measured_block(0, 1), 2);           /* not said: the default of networks */
    assert_int_equal(measured_block(1e-6, 2), 2);
}

int main(void)
{
    setenv("TILESCOPE_HOME", ".", 0);     /* the experts of the tree */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_the_direct_ones),
        cmocka_unit_test(every_small_size_is_right),
        cmocka_unit_test(wrong_entries_are_found),
        cmocka_unit_test(direct_bounds_stay),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(steps_combine),
        cmocka_unit_test(random_schedules_are_right),
        cmocka_unit_test(the_search_says_no),
        cmocka_unit_test(experts_keep_to_the_accuracy),
        cmocka_unit_test(networks_take_it),
    };
    return cmocka_run_group_tests(tests, perm_setup, perm_teardown);
}
