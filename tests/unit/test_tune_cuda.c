/* The tuner for a GPU: ranked by simulation and said so, timed on a device (the driver and NVRTC of
 * tests/fake), refused without either; comparisons of GPU programs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/tune/kernels_impl.h"
#include "kernels/base/file.h"
#include "sessions/report/report.h"
#include "sessions/tuning/tuning.h"
#include "tests/unit/broken_kernel.h"
#include "tests/unit/fake_libs.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static const char *folder;
static char records[80], fake_cuda[120], fake_nvrtc[120];

static int open_folder(void **state)
{
    (void)state;
    folder = temp_dir(NULL);
    snprintf(records, sizeof records, "%s/records.db", folder);
    fake_lib_build(folder, "cuda", fake_cuda);
    fake_lib_build(folder, "nvrtc", fake_nvrtc);
    return 0;
}

/* With a device, or as on a machine without NVIDIA's libraries. */
static void with_device(bool there)
{
    setenv("TILESCOPE_CUDA", there ? fake_cuda : "/nowhere/libcuda.so", 1);
    setenv("TILESCOPE_NVRTC", there ? fake_nvrtc : "/nowhere/libnvrtc.so", 1);
}

static const char spec[] = "gmm m=32 k=16 n=32";

static struct tuning_opts options(int budget, bool simulated)
{
    return (struct tuning_opts){
        .budget = budget, .simulated = simulated, .strategy = "evo", .experts = 2,
        .no_ledger = true,
        .measure = { .threads = 1, .seed = 1, .target = target_named("cuda"), .time_s = 0.01 },
        .records = records,
    };
}

/* A schedule without shared memory, which the NVRTC of tests/fake cannot compile. */
static const char *const bound[] = { "loop bind C M block.x", "loop bind C N thread.x" };

static bool run(const struct tuning_opts *o, struct cancel *c, struct tuning **t, struct err *e)
{
    struct session *s;
    struct cancel none = {0};
    assert_true(session_new(spec, &s, e));
    for (int i = 0; i < COUNT_OF(bound) && !o->simulated; i++)
        assert_true(history_apply(s->history, bound[i], e));
    bool ok = tuning_run(s, o, NULL, c ? c : &none, t, e);
    session_free(s);
    return ok;
}

static void list(const char *id, struct arena *a, const struct record **rec, int *n)
{
    struct records *r;
    struct record_filter f = { .run = id };
    struct err e;
    assert_true(records_open_reading(records, &r, &e));
    assert_true(records_list(r, &f, a, rec, n, &e));
    records_close(r);
}

static void simulated_times_are_said_and_kept_apart(void **state)
{
    struct tuning_opts o = options(20, true);
    struct arena *a = arena_new();
    const struct record *rec;
    struct record_filter good = { .good = true, .any_machine = true };
    struct records *r;
    struct tuning *t;
    struct err e = {0};
    int n;
    (void)state;
    with_device(false);
    if (!run(&o, NULL, &t, &e))
        fail_msg("%s", e.text);
    assert_string_equal(t->simulated, "h100");
    assert_true(isfinite(t->best_ms) && t->best_ms > 0 && t->measured && t->m.verified);
    assert_true(t->m.latency.runs == 0 && isinf(t->start_ms) && t->n_lines > 0);
    assert_true(isnan(t->speedup));       /* the session's schedule is for no GPU */
    list(t->run, a, &rec, &n);
    assert_int_equal(n, 21);
    for (int i = 0; i < n; i++) {
        assert_true(rec[i].runs == 0 && !(rec[i].min_ms > 0));
        assert_true((rec[i].simulated_ms > 0) == (rec[i].outcome == OUTCOME_OK));
    }
    /* A question for times has no simulated answer. */
    assert_true(records_open_reading(records, &r, &e));
    assert_true(records_list(r, &good, a, &rec, &n, &e));
    assert_int_equal(n, 0);
    records_close(r);
    struct str json = {0};
    tuning_json(&json, t, "here");
    assert_non_null(strstr(str_text(&json), "\"objective\": \"simulated\""));
    str_free(&json);
    double best = t->best_ms;
    tuning_free(t);
    /* A finished run answers with the same number; another device is another question. */
    assert_true(run(&o, NULL, &t, &e));
    assert_true(t->answered && t->best_ms == best);
    tuning_free(t);
    struct gpu_device other;
    assert_true(gpu_device_parse("a100", &other, &e));
    o.measure.gpu = &other;
    o.budget = 4;
    assert_true(run(&o, NULL, &t, &e));
    assert_true(!t->answered);
    assert_string_equal(t->simulated, "a100");
    tuning_free(t);
    arena_free(a);
}

/* Simulated times are not taken in turns.  A finished run answers with the same numbers. */
static void simulated_times_have_a_ratio(void **state)
{
    struct tuning_opts o = options(16, true);
    struct cancel none = {0};
    struct session *s;
    struct err e = {0};
    (void)state;
    with_device(false);
    o.seed_given = true;
    o.seed = 9;
    assert_true(session_new(spec, &s, &e));
    assert_true(history_apply(s->history, "loop bind C M thread.x", &e));
    for (int k = 0; k < 2; k++) {
        struct tuning *t;
        if (!tuning_run(s, &o, NULL, &none, &t, &e))
            fail_msg("%s", e.text);
        assert_int_equal(t->answered, k == 1);
        assert_true(isfinite(t->start_ms) && t->best_ms < t->start_ms && !t->is_start);
        assert_true(t->speedup == t->start_ms / t->best_ms);
        assert_true(t->speedup_low == 0 && t->speedup_high == 0);
        tuning_free(t);
    }
    session_free(s);
}

static int stop_after;
static struct cancel stopper;
static void stop(void *ctx, const struct tune_view *v)
{
    (void)ctx;
    assert_string_equal(v->simulated, "h100");
    if (v->done >= stop_after)
        atomic_store(&stopper.raised, 1);
}

static void a_stopped_run_goes_on(void **state)
{
    struct tuning_opts o = options(24, true);
    struct search_sink view = { .view = stop };
    struct session *s;
    struct tuning *t;
    struct inquiry *q;
    struct err e = {0};
    (void)state;
    with_device(false);
    o.seed_given = true;
    o.seed = 5;
    stop_after = 8;
    atomic_store(&stopper.raised, 0);
    assert_true(session_new(spec, &s, &e));
    if (!tuning_run(s, &o, &view, &stopper, &t, &e))
        fail_msg("%s", e.text);
    int had = t->trials;
    assert_true(had >= 8 && had < 24 && t->end == SEARCH_CANCELLED);
    tuning_free(t);
    o.resume = true;
    /* One that was opened for it and then dropped leaves it stopped. */
    assert_true(tuning_open(s, &o, NULL, &stopper, &q, &e));
    tuning_drop(q);
    session_free(s);
    assert_true(run(&o, NULL, &t, &e));
    assert_int_equal(t->resumed, had);
    assert_int_equal(t->trials, 24);
    double best = t->best_ms;
    tuning_free(t);
    /* The same as in one go. */
    o.resume = false;
    o.fresh = true;
    assert_true(run(&o, NULL, &t, &e));
    assert_true(t->best_ms == best);
    tuning_free(t);
}

static void candidates_are_timed_on_the_device(void **state)
{
    struct tuning_opts o = options(6, false);
    struct arena *a = arena_new();
    const struct record *rec;
    struct tuning *t;
    struct err e = {0};
    int n;
    (void)state;
    with_device(true);
    if (!run(&o, NULL, &t, &e))
        fail_msg("%s", e.text);
    assert_null(t->simulated);
    assert_true(isfinite(t->best_ms) && t->measured && t->m.verified && t->m.latency.runs > 0);
    assert_string_equal(t->m.device.name, "Fake GPU 1");
    assert_true(isfinite(t->start_ms));
    list(t->run, a, &rec, &n);
    for (int i = 0; i < n; i++)
        assert_true(rec[i].simulated_ms == 0
                    && (rec[i].runs > 0) == (rec[i].outcome == OUTCOME_OK));
    tuning_free(t);
    arena_free(a);
}

/* The space has the shared memory that the device gives to a block. */
static void the_device_limits_shared_memory(void **state)
{
    static const struct { const char *script, *path; int64_t shared; } row[] = {
        { "", "", 227 << 10 }, { "cuDeviceGetAttribute small", "/.", 99 << 10 },
    };
    const struct tune_lines start = { "session", COUNT_OF(bound), bound };
    struct kernels_opts o = { .spec = spec, .n_seeds = 1, .schedule = &start,
                              .measure = { .seed = 1, .target = target_named("cuda") } };
    (void)state;
    with_device(true);
    for (int i = 0; i < COUNT_OF(row); i++) {
        char path[140];
        struct kernels *k;
        struct err e = {0};
        snprintf(path, sizeof path, "%s%s/libcuda.so", folder, row[i].path);  /* asked again */
        setenv("TILESCOPE_CUDA", path, 1);
        setenv("FAKE_CUDA", row[i].script, 1);
        bool ok = kernels_new(&o, &k, NULL, &e);
        unsetenv("FAKE_CUDA");
        if (!ok)
            fail_msg("%s", e.text);
        assert_int_equal(kernels_loop_opts(k).shared, row[i].shared);
        kernels_free(k);
    }
}

static void refusals_say_what_to_do(void **state)
{
    struct tuning_opts o = options(6, false);
    struct tuning *t;
    struct err e = {0};
    (void)state;
    with_device(false);
    o.seed_given = true;
    o.seed = 77;
    assert_false(run(&o, NULL, &t, &e));
    assert_int_equal(e.code, ERR_ENV);
    assert_non_null(strstr(e.text, "no GPU"));
    assert_non_null(strstr(e.fix, "--objective simulated"));
    o.simulated = true;          /* a session without bound loops, for no target: a CPU's */
    o.measure.target = NULL;
    assert_false(run(&o, NULL, &t, &e));
    assert_non_null(strstr(e.text, "for a GPU"));
}

/* Tiles that 64 threads share, and one thread for each result: right, but slower. */
static const char *const shared[] = {
    "loop split C M 4 8", "loop split C N 4 8", "loop split C K 2 8",
    "loop reorder C M.0 N.0 M.1 N.1 K.0 K.1", "loop bind C M.0 block.y", "loop bind C N.0 block.x",
    "loop bind C M.1 thread.y", "loop bind C N.1 thread.x", "loop cache_write C at=N.1",
    "loop cache_read C A at=K.0 scope=shared", "loop cache_read C B at=K.0 scope=shared",
};
static const char *const slow[] = { "loop reorder C N M K", "loop bind C N block.x" };

/* What the twin said of a candidate, which lives only while that is reported. */
struct said { bool verified; char reason[200]; };

static void note_said(void *ctx, struct tune_candidate *c)
{
    struct said *said = (struct said *)ctx + c->trial;
    said->verified = c->m->verified;
    snprintf(said->reason, sizeof said->reason, "%.199s", c->reason ? c->reason : "");
}

/* Has the tuner measure a batch of two: the shared tiles, whose barrier number n is left out (-1:
 * none), and the slow program. */
static void measure_two(struct arena *a, struct kernels *k, int n, struct tune_candidate *c,
                        struct said *said)
{
    const struct program *p[2];
    const struct func *f;
    struct err e = {0};
    int bad;
    if (!program_replay(a, spec, shared, COUNT_OF(shared), &p[0], &bad, &e)
        || !program_replay(a, spec, slow, COUNT_OF(slow), &p[1], &bad, &e)
        || !program_lower(p[0], &f, &e))
        fail_msg("%s", e.text);
    if (n >= 0)
        *p[0]->lowered = broken_kernel(p[0]->arena, f, NO_BARRIER, n);
    assert_non_null(*p[0]->lowered);
    struct lowered x[2] = { { .p = p[0] }, { .p = p[1] } };
    struct tune_candidate *both[2] = { &c[0], &c[1] };
    for (int i = 0; i < 2; i++) {
        c[i] = (struct tune_candidate){ .model = &x[i], .trial = i, .ms = INFINITY };
        said[i] = (struct said){ 0 };
    }
    const struct tune_problem *problem = kernels_problem(k);
    if (!problem->measure(problem->ctx, both, 2, note_said, said, NULL, &e))
        fail_msg("%s", e.text);
}

/* The fastest of a batch has a race: it is no winner, and the next one is checked in its place. */
static void a_winner_with_a_race_is_refused(void **state)
{
    const struct tune_lines start = { "session", COUNT_OF(slow), slow };
    struct kernels_opts o = { .spec = spec, .n_seeds = 1, .schedule = &start, .simulated = true,
                              .measure = { .seed = 1, .target = target_named("cuda") } };
    struct kernels *k;
    struct tune_candidate c[2];
    struct err e = {0};
    struct said said[2];
    (void)state;
    with_device(false);
    if (!kernels_new(&o, &k, NULL, &e))
        fail_msg("%s", e.text);
    struct arena *a = arena_new();
    measure_two(a, k, -1, c, said);
    assert_true(c[0].outcome == OUTCOME_OK && c[0].ms < c[1].ms && isfinite(c[1].ms));
    assert_true(said[0].verified && !said[1].verified);
    for (int n = 0; n < 2; n++) {
        measure_two(a, k, n, c, said);
        assert_int_equal(c[0].outcome, OUTCOME_WRONG);
        assert_true(isinf(c[0].ms) && !said[0].verified);
        assert_non_null(strstr(said[0].reason, "race on element"));
        assert_true(c[1].outcome == OUTCOME_OK && isfinite(c[1].ms)
                    && said[1].verified);
    }
    arena_free(a);
    kernels_free(k);
}

/* Two products of 32 by 32, on blocks of other sizes. */
static void make_two(struct arena *a, const struct program *p[2])
{
    static const char *const line[2][3] = {
        { "loop bind C M block.x", "loop bind C N thread.x", "loop cache_write C at=N" },
        { "loop split C N 2 16", "loop bind C M block.x", "loop bind C N.1 thread.x" },
    };
    struct err e = {0};
    int bad;
    for (int i = 0; i < 2; i++) {
        const char *step[4] = { line[i][0], line[i][1], line[i][2] };
        if (i == 1) {
            step[1] = "loop reorder C M N.1 N.0 K";
            step[2] = line[1][1];
            step[3] = line[1][2];
        }
        if (!program_replay(a, spec, step, 3 + i, &p[i], &bad, &e))
            fail_msg("%s", e.text);
    }
}

static void programs_are_compared_on_the_device_only(void **state)
{
    struct measure_opts o = { .seed = 1, .time_s = 0.05 };
    struct arena *a = arena_new();
    const struct program *p[3];
    struct compared out[3];
    struct comparison how;
    struct err e = {0};
    int bad;
    (void)state;
    make_two(a, p);
    with_device(true);
    if (!measure_compare(p, 2, &o, NULL, NULL, out, &how, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < 2; i++) {
        if (out[i].m.outcome != OUTCOME_OK || out[i].m.latency.runs == 0)
            fail_msg("%s %s", out[i].m.reason, out[i].m.device.reason);
        assert_string_equal(out[i].m.device.name, "Fake GPU 1");
    }
    assert_true(how.rounds > 0 && out[1].ratio.ratio > 0);
    /* Without a device they are checked; the twin's time is nobody's. */
    with_device(false);
    assert_true(measure_compare(p, 2, &o, NULL, NULL, out, &how, &e));
    for (int i = 0; i < 2; i++) {
        assert_true(out[i].m.verified && out[i].m.latency.runs == 0 && out[i].m.device.reason[0]);
        assert_int_equal(out[i].verdict, VERDICT_NONE);
    }
    assert_int_equal(how.rounds, 0);
    assert_true(program_replay(a, spec, NULL, 0, &p[2], &bad, &e));
    assert_false(measure_compare(p, 3, &o, NULL, NULL, out, &how, &e));
    assert_int_equal(e.code, ERR_RANGE);
    arena_free(a);
}

int main(void)
{
    setenv("TILESCOPE_HOME", ".", 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simulated_times_are_said_and_kept_apart),
        cmocka_unit_test(simulated_times_have_a_ratio),
        cmocka_unit_test(a_stopped_run_goes_on),
        cmocka_unit_test(candidates_are_timed_on_the_device),
        cmocka_unit_test(the_device_limits_shared_memory),
        cmocka_unit_test(refusals_say_what_to_do),
        cmocka_unit_test(a_winner_with_a_race_is_refused),
        cmocka_unit_test(programs_are_compared_on_the_device_only),
    };
    return cmocka_run_group_tests(tests, open_folder, NULL);
}
