/* A job between its options and its outcome, without a child: defaults, progress, what scripted
 * samples become, the reasons for what is missing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/measure/batch_impl.h"
#include "profile/measure/job.h"
#include "tests/unit/perm.h"
#include "tests/unit/programs.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define GMM "gmm m=64 n=64 k=64"          /* 524288 FLOPs, 262144 sums, tensors of 16384 bytes */
#define SLOW_KERNEL 1e-5
#define CEILING_FLOPS 1e6                 /* of one call of the scripted ceiling */

static struct machine machine;            /* four cores, plain code */

static void job_start_program(struct measure_job *j, struct measurement *m,
                              const struct program *p, const struct measure_opts *o)
{
    struct measure_opts here = *o;
    struct err e;
    here.machine = here.machine ? here.machine : &machine;
    if (!measure_start(j, p, &here, m, &e) || !measure_lower(j, &e))
        fail_msg("%s", e.text);
    j->ceiling_flops = CEILING_FLOPS;
}

static void job_start(struct measure_job *j, struct measurement *m, const char *spec,
                      const struct measure_opts *o)
{
    job_start_program(j, m, program_bare(perm, spec), o);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

/* --- Options ---------------------------------------------------------------------------------- */

static void options_have_defaults(void **state)
{
    struct measure_opts o = { .meters = METER_CLOCK, .seed = 9 };
    struct measurement m;
    struct measure_job j;
    (void)state;
    job_start(&j, &m, GMM, &o);
    assert_true(j.opts.time_s == 0.3 && j.opts.min_runs == 10 && j.opts.limit_s == 20);
    assert_true(j.opts.sim_budget == 5e8 && j.opts.threads == 1 && j.opts.runner != NULL);
    assert_string_equal(j.target->isa, "plain");
    assert_true(m.threads == 1 && m.seed == 9 && m.outcome == OUTCOME_NONE);
    assert_string_equal(m.compiler, j.cc.version);
    assert_int_equal(strspn(m.code, "0123456789abcdef"), 8);
    assert_int_equal(m.code[8], '\0');
    o = (struct measure_opts){ .meters = METER_CLOCK, .time_s = 0.5, .min_runs = 4, .limit_s = 6,
                               .sim_budget = 1e3, .threads = 3 };
    job_start(&j, &m, GMM, &o);
    assert_true(j.opts.time_s == 0.5 && j.opts.min_runs == 4 && j.opts.limit_s == 6);
    assert_true(j.opts.sim_budget == 1e3 && j.opts.threads == 3 && m.threads == 3);
    o.threads = 1024;
    job_start(&j, &m, GMM, &o);
    assert_int_equal(m.threads, 1024);
    o.threads = 1025;
    job_start(&j, &m, GMM, &o);
    assert_int_equal(m.threads, 1024);
}

#define BIT(library) (1u << VENDOR_##library)

/* "all" means those where the kernel runs; the host twin of a GPU's kernel has none. */
static void libraries_are_those_of_the_target(void **state)
{
    static const struct { const char *target; unsigned asked, all, now; } row[] = {
        { "plain", VENDOR_ALL, BIT(ONEDNN) | BIT(ONEDNN_PLAIN) | BIT(OPENBLAS),
          BIT(ONEDNN) | BIT(ONEDNN_PLAIN) | BIT(OPENBLAS) },
        { "plain", BIT(CUDNN) | BIT(ONEDNN), BIT(CUDNN) | BIT(ONEDNN),
          BIT(CUDNN) | BIT(ONEDNN) },
        { "cuda", VENDOR_ALL, BIT(CUBLAS) | BIT(CUDNN), 0 },
        { "cuda", BIT(CUBLAS), BIT(CUBLAS), 0 },
    };
    const unsigned meters = METER_CLOCK | METER_SIM | METER_PERF;
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct measure_opts o = { .meters = meters, .baselines = row[i].asked,
                                  .target = target_named(row[i].target), .machine = &machine };
        struct measurement m;
        struct measure_job j;
        struct err e;
        assert_true(measure_start(&j, program_bare(perm, GMM), &o, &m, &e));
        assert_int_equal(j.asked_baselines, row[i].all);
        assert_int_equal(j.opts.baselines, row[i].now);
        assert_int_equal(j.asked, meters);
        assert_int_equal(j.opts.meters, o.target->gpu ? METER_SIM : meters);
    }
}

/* --- Errors ----------------------------------------------------------------------------------- */

static void errors_have_an_outcome(void **state)
{
    static const struct { enum err_code code; enum outcome outcome; bool result; } row[] = {
        { ERR_COMPILE, OUTCOME_COMPILE, true }, { ERR_CRASH, OUTCOME_CRASH, true },
        { ERR_TIMEOUT, OUTCOME_TIMEOUT, true }, { ERR_WRONG, OUTCOME_WRONG, true },
        { ERR_ILL, OUTCOME_ILL, true },         { ERR_CANCEL, OUTCOME_CANCEL, false },
        { ERR_STEP, OUTCOME_LIMIT, true },      { ERR_RANGE, OUTCOME_LIMIT, true },
        { ERR_OVERFLOW, OUTCOME_LIMIT, true },  { ERR_RANK, OUTCOME_LIMIT, true },
        { ERR_FACTOR, OUTCOME_LIMIT, true },    { ERR_NAME, OUTCOME_LIMIT, true },
        { ERR_ENV, OUTCOME_ENV, false },        { ERR_BUG, OUTCOME_ENV, false },
        { ERR_IO, OUTCOME_ENV, false },         { ERR_KILLED, OUTCOME_ENV, false },
        { ERR_NAME, OUTCOME_LIMIT, true },
    };
    struct err e = {0};
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        err_set(&e, row[i].code, "text");
        assert_int_equal(measure_outcome(e.code), row[i].outcome);
        assert_int_equal(measure_is_result(&e), row[i].result);
        measure_blame(&e);
        bool killed = row[i].code == ERR_KILLED;
        assert_int_equal(e.code, killed ? ERR_CRASH : row[i].code);
        assert_string_equal(e.text, killed ? "crashed: text; a second try ended in the same way"
                                           : "text");
    }
}

/* Three in a row are no accident; one that was not killed begins anew. */
static void killed_ones_in_a_row(void **state)
{
    static const struct { bool killed, goes_on; } row[] = {
        { true, true }, { true, true }, { false, true }, { true, true }, { true, true },
        { true, false }, { true, false },
    };
    struct err e;
    int n = 0;
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        err_set(&e, ERR_KILLED, "killed");
        err_fix(&e, "add memory");
        assert_int_equal(batch_killed(&n, row[i].killed, &e), row[i].goes_on);
        assert_int_equal(e.code, row[i].goes_on ? ERR_KILLED : ERR_ENV);
        assert_string_equal(e.fix, "add memory");
    }
    assert_string_equal(e.text, "the last 4 candidates all ended like this: killed");
}

/* --- Progress --------------------------------------------------------------------------------- */

struct said { char what[80]; double fraction; };

static void hear(void *ctx, const char *what, double fraction)
{
    struct said *s = ctx;
    snprintf(s->what, sizeof s->what, "%s", what);
    s->fraction = fraction;
}

static void phases_are_told(void **state)
{
    static const struct { const char *doing; double done; const char *what; double fraction; }
    row[] = {
        { "simulating", 0.5, "simulating", 0.5 }, { "timing", 0.25, "timing", 0.25 },
        { "timing", 1.5, "timing again", 0.5 },   { "timing", 1, "timing again", 0 },
    };
    struct said s = { "", 7 };
    struct progress pr = { hear, &s };
    struct measure_job j = { .progress = &pr };
    double seconds = 0;
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        measure_begin(&j, row[i].doing);
        assert_string_equal(s.what, row[i].doing);
        assert_true(s.fraction == -1 && fabs(clock_s() - j.since) < 60);
        measure_tick(&j, row[i].done);
        assert_string_equal(s.what, row[i].what);
        assert_true(s.fraction == row[i].fraction);
    }
    measure_begin(&j, "checking");
    j.since = clock_s() + 60;             /* so that less than a second has passed */
    measure_tick(&j, 0.5);
    assert_string_equal(s.what, "checking");
    assert_true(s.fraction == -1);
    j.since = clock_s() - 100;
    measure_tick(&j, 0.5);
    assert_true(sscanf(s.what, "checking, %lf s", &seconds) == 1 && seconds >= 100);
    j.progress = NULL;
    measure_tick(&j, 0.5);
}

/* --- Times ------------------------------------------------------------------------------------ */

static void summaries_become_latencies(void **state)
{
    static const double ceiling[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 2 };
    struct samples s = { .rounds = 10, .others = 0.25 };
    (void)state;
    s.of[1] = (struct summary){ .min = 1, .p10 = 2, .p25 = 3, .median = 4, .p75 = 5, .p90 = 6,
                                .max = 7, .spread = 0.1 };
    struct latency l = measure_latency(&s, 1);
    assert_true(l.min_ms == 1e3 && l.p10_ms == 2e3 && l.p25_ms == 3e3 && l.median_ms == 4e3);
    assert_true(l.p75_ms == 5e3 && l.p90_ms == 6e3 && l.max_ms == 7e3 && l.spread == 0.1);
    assert_true(l.runs == 10 && !l.noisy && isnan(l.disturbed) && l.others == 0.25);
    s.sample[SERIES_CEILING] = ceiling;
    s.of[1].spread = 0.11;
    l = measure_latency(&s, 1);
    assert_true(l.noisy && near(l.disturbed, 0.1));
    l = measure_latency_of(&s.of[1], 3);
    assert_true(l.runs == 3 && isnan(l.disturbed) && isnan(l.others));
}

static struct samples scripted(double kernel_s, double ceiling_s, int rounds)
{
    struct samples s = { .rounds = rounds, .others = 0.5, .huge_bytes = 3, .room_bytes = 5 };
    s.of[SERIES_KERNEL] = (struct summary){ .min = kernel_s, .median = 2 * kernel_s };
    s.of[SERIES_CEILING] = s.of[SERIES_ONE_CORE] = (struct summary){ .min = ceiling_s };
    return s;
}

/* The ceiling makes 1e6 FLOPs in ceiling_s: 100 GFLOP/s in 1e-5 s.  The kernel has 52.4 GFLOP/s. */
static void peaks_are_believed_or_not(void **state)
{
    static const struct {
        double ceiling_s; int threads; double peak; const char *reason;
    } row[] = {
        { 1e-5, 1, 100, "" }, { 2e-5, 1, 50, "" }, { 1e-5, 2, 200, "" }, { 1e-5, 4, 400, "" },
        { 1e-5, 9, 400, "" },                             /* four cores, not nine */
        { 0, 1, 0, "the FMA ceiling could not be sampled" },
        { 2.5e-5, 1, 0, "the sampled FMA ceiling (40.0) is below the kernel: something else keeps "
                        "the cores busy" },
        { 1e-3 / 1150, 1, 1150, "" },
        { 1e-3 / 1160, 1, 0, "the sampled FMA ceiling (1.16e+03 GFLOP/s) is beyond any machine's" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct measure_opts o = { .meters = METER_CLOCK, .threads = row[i].threads };
        struct samples s = scripted(SLOW_KERNEL, row[i].ceiling_s, 10);
        struct measurement m;
        struct measure_job j;
        struct err e;
        job_start(&j, &m, GMM, &o);
        assert_true(measure_take(&j, &s, &e) && !j.refused);
        assert_string_equal(m.peak_reason, row[i].reason);
        assert_true(near(m.gflops, 52.4288) && near(m.executed_gflops, 52.4288));
        assert_true(near(m.peak_gflops, row[i].peak));
        assert_true(near(m.peak_fraction, row[i].peak > 0 ? 52.4288 / row[i].peak : 0));
        assert_true(m.latency.runs == 10 && near(m.latency.min_ms, 1e-2));
        assert_true(m.latency.others == 0.5 && m.measurements == 1 && m.load >= 0);
        assert_true(!m.huge_asked && m.huge_bytes == 0 && m.huge_of_bytes == 0);
        assert_int_equal(strlen(m.measured_at), 20);
        assert_string_equal(m.threads_note, row[i].threads < 9 ? ""
                            : "9 threads take turns on 4 cores: not pinned");
    }
}

/* Additions of Winograd's transforms run beside its products: it may pass the ceiling by those that
 * do not bound its time, and by no more. */
static void additions_may_pass_the_ceiling(void **state)
{
    static const char *const step[] = { "algorithm Conv winograd m=4" };
    const struct program *p;
    (void)state;
    for (int above = 0; above < 2; above++) {
        struct measure_opts o = { .meters = METER_CLOCK, .threads = 1 };
        struct measurement m;
        struct measure_job j;
        struct err e;
        int bad;
        assert_true(program_replay(perm, "c2d n=1 i=8 h=56 w=56 o=32 k=3 p=1", step, 1, &p, &bad,
                                   &e));
        job_start_program(&j, &m, p, &o);
        double needed = func_needed(j.func, p->base->flops), bound = func_bounding(j.func, needed);
        assert_true(needed > 1.1 * bound);
        double ceiling_s = CEILING_FLOPS / (1e9 * (above ? 0.9 : 1) * bound / 1e4);
        struct samples s = scripted(1e-5, ceiling_s, 10);
        assert_true(measure_take(&j, &s, &e));
        assert_true(above ? m.peak_fraction == 0 : near(m.peak_fraction, needed / bound));
        assert_int_equal(m.peak_reason[0] != '\0', above);
    }
}

static double half_of_them(const struct measure_job *j)
{
    return 0.5 * j->many->needed_flops;
}

static double no_sums(const struct measure_job *j)
{
    return 0 * j->many->needed_flops;
}

/* The same for a network: 100 GFLOP/s against a ceiling of 50, which half of them must not pass. */
static void additions_of_networks_may_pass_the_ceiling(void **state)
{
    static const struct { double ceiling; bool known; } row[] = {
        { 50, true }, { 48, true }, { 47, false }, { 100, true },
    };
    const struct measure_many many = { .asked_flops = 1e6, .needed_flops = 1e6, .result_bytes = 4,
                                       .bounding = half_of_them, .sums = no_sums };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct measure_opts o = { .meters = METER_CLOCK, .threads = 1 };
        struct samples s = scripted(1e-5, CEILING_FLOPS / (1e9 * row[i].ceiling), 10);
        struct measurement m;
        struct measure_job j;
        struct err e;
        job_start(&j, &m, GMM, &o);
        j.many = &many;
        assert_true(measure_take(&j, &s, &e));
        assert_true(near(m.peak_fraction, row[i].known ? 100 / row[i].ceiling : 0));
    }
}

static void options_of_the_clock_are_stored(void **state)
{
    struct machine one = machine;
    struct measure_opts o = { .meters = METER_CLOCK, .threads = 2, .huge_pages = true,
                              .machine = &one };
    struct samples s = scripted(SLOW_KERNEL, 1e-5, 10);
    struct measurement m;
    struct measure_job j;
    struct err e;
    (void)state;
    one.cores = 1;
    job_start(&j, &m, GMM, &o);
    assert_true(measure_take(&j, &s, &e));
    assert_true(m.huge_asked && m.huge_bytes == 3 && m.huge_of_bytes == 5);
    assert_string_equal(m.threads_note, "2 threads take turns on 1 core: not pinned");
}

/* The sums of GMM are 524288 FLOPs, each with a multiplication; a kernel cannot be three times as
 * fast.  100 GFLOP/s make them in 5.24e-6 s, 384 in 1.37e-6 s.  RELU, which has no sums, stores
 * 4000 bytes, at 768 GB/s in 5.2e-9 s. */
#define RELU "act n=1 c=1000 f=relu"
#define SKIPS " ms: the kernel skips work"
static const struct {
    const char *spec, *isa; double kernel_s; int rounds, threads; bool device; const char *text;
} times[] = {
    { GMM, "plain", 1.8e-6, 10, 1, false, "" },
    { GMM, "plain", 1.7e-6, 10, 1, false, "a call took 0.0017 ms, but its arithmetic at 100 GFLOP/s"
      " takes at least 0.00524" SKIPS },
    /* too few rounds for trusting the ceiling, and code that may be narrower than the ceiling's */
    { GMM, "plain", 4.6e-7, 9, 1, false, "" },
    { GMM, "plain", 4.5e-7, 9, 1, false, "a call took 0.00045 ms, but its arithmetic at 384 "
      "GFLOP/s takes at least 0.00137" SKIPS },
    { GMM, "avx512", 4.6e-7, 10, 1, false, "" },
    { GMM, "avx512", 4.5e-7, 10, 1, false, "a call took 0.00045 ms, but its arithmetic at 384 "
      "GFLOP/s takes at least 0.00137" SKIPS },
    { GMM, "plain", 2.3e-7, 9, 2, false, "" },
    { GMM, "plain", 1.1e-7, 9, 9, false, "a call took 0.00011 ms, but its arithmetic at 1536 "
      "GFLOP/s takes at least 0.000341" SKIPS },
    { RELU, "plain", 1.8e-9, 10, 1, false, "" },
    { RELU, "plain", 1.7e-9, 10, 1, false, "a call took 1.7e-06 ms, but storing the results at 768 "
      "GB/s takes at least 5.21e-06" SKIPS },
    { RELU, "plain", 9e-10, 10, 2, false, "" },
    { RELU, "plain", 8e-10, 10, 2, false, "a call took 8e-07 ms, but storing the results at 1536 "
      "GB/s takes at least 2.6e-06" SKIPS },
    /* a GPU of 4 multiprocessors at 1 GHz: 1024 GFLOP/s */
    { GMM, "plain", 1.75e-7, 10, 1, true, "" },
    { GMM, "plain", 1.65e-7, 10, 1, true, "a call took 0.000165 ms, but its arithmetic at 1024 "
      "GFLOP/s takes at least 0.000512" SKIPS },
    { RELU, "plain", 7e-11, 10, 1, true, "" },
    { RELU, "plain", 6e-11, 10, 1, true, "a call took 6e-08 ms, but storing the results at 2e+04 "
      "GB/s takes at least 2e-07" SKIPS },
};

static void impossible_times_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(times); i++) {
        struct machine here = machine;
        struct measure_opts o = { .meters = METER_CLOCK, .threads = times[i].threads,
                                  .target = target_named("plain"), .machine = &here };
        struct samples s = scripted(times[i].kernel_s, 1e-5, times[i].rounds);
        struct measurement m;
        struct measure_job j;
        struct err e = {0};
        snprintf(here.isa, sizeof here.isa, "%s", times[i].isa);
        job_start(&j, &m, times[i].spec, &o);
        j.device_info = (struct cuda_info){ .clock_mhz = 1000, .multiprocessors = 4 };
        j.device = times[i].device ? &j.device_info : NULL;
        j.on_device = times[i].device;
        bool ok = measure_take(&j, &s, &e);
        if (ok != !times[i].text[0] || !streq(ok ? "" : e.text, times[i].text))
            fail_msg("row %d: %d, %s", i, ok, e.text);
        assert_int_equal(j.refused, !ok);
        assert_int_equal(m.latency.runs, ok ? times[i].rounds : 0);
        if (ok && times[i].device) {
            assert_string_equal(m.peak_reason, "no ceiling of the GPU was sampled");
            assert_true(isnan(m.latency.others) && m.peak_gflops == 0);
        }
        if (!ok)
            assert_int_equal(e.code, ERR_WRONG);
    }
}

/* 256 FLOPs a clock and multiprocessor; a driver that reports no clock is taken for 3 GHz. */
static void devices_have_a_peak(void **state)
{
    struct measure_opts o = { .meters = METER_CLOCK };
    struct measurement m;
    struct measure_job j;
    (void)state;
    job_start(&j, &m, GMM, &o);
    j.device_info = (struct cuda_info){ .clock_mhz = 1500, .multiprocessors = 2 };
    j.device = &j.device_info;
    assert_true(near(measure_device_peak(&j), 1500e6 * 256 * 2));
    j.device_info.clock_mhz = 0;
    assert_true(near(measure_device_peak(&j), 3000e6 * 256 * 2));
}

/* Baselines are the contenders after the kernel. */
static void baselines_are_timed_in_turns(void **state)
{
    struct measurement m = { .baseline[VENDOR_OPENBLAS].available = true };
    struct measure_job j = { .m = &m, .libraries = { .n = 2, .contender = 1,
                             .library = { VENDOR_ONEDNN, VENDOR_OPENBLAS } } };
    struct samples s = scripted(1e-3, 0, 4);
    (void)state;
    s.of[2] = (struct summary){ .min = 3e-3, .median = 4e-3 };
    assert_int_equal(measure_vendor_contenders(&j), 1 << 2);
    measure_vendor_take(&j, &s);
    assert_true(near(m.baseline[VENDOR_OPENBLAS].ratio, 3));
    assert_true(near(m.baseline[VENDOR_OPENBLAS].latency.min_ms, 3));
    assert_int_equal(m.baseline[VENDOR_OPENBLAS].latency.runs, 4);
    assert_int_equal(m.baseline[VENDOR_ONEDNN].latency.runs, 0);
    m.baseline[VENDOR_ONEDNN].available = true;
    assert_int_equal(measure_vendor_contenders(&j), 1 << 1 | 1 << 2);
    assert_true(measure_vendor_bytes(&j) == 2 * vendor_bytes(&j.libraries.problem, 0));
    j.libraries.n = 0;
    assert_true(measure_vendor_bytes(&j) == 0 && measure_vendor_contenders(&j) == 0);
}

/* --- The end ---------------------------------------------------------------------------------- */

#define ENDED "the measurement ended before this part of it ran"

static void what_is_missing_has_a_reason(void **state)
{
    static const struct {
        const char *target, *gpu; unsigned meters; const char *sim, *perf;
    } row[] = {
        { "plain", "", METER_CLOCK, "not asked for", "" },
        { "plain", "", METER_SIM | METER_PERF, ENDED, ENDED },
        { "cuda", "", METER_SIM | METER_PERF,
          "the kernel is for a GPU, and it was only checked, by its host twin",
          "the kernel is for a GPU, and it was only checked, by its host twin" },
        { "cuda", "GPU", METER_PERF, "not asked for",
          "the kernel is for a GPU, which this meter does not count" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct measurement m = { .verified = true };
        struct measure_job j = { .m = &m, .target = target_named(row[i].target),
                                 .asked = row[i].meters, .asked_baselines = BIT(ONEDNN) };
        snprintf(m.device.name, sizeof m.device.name, "%s", row[i].gpu);
        snprintf(m.baseline[VENDOR_CUDNN].reason, sizeof m.baseline[0].reason, "own");
        measure_end(&j, true, NULL);
        assert_true(m.outcome == OUTCOME_OK && m.verified && !m.reason[0]);
        assert_string_equal(m.isa, row[i].target);
        assert_string_equal(m.sim.reason, row[i].sim);
        assert_string_equal(m.counts[METER_ID_PERF].reason, row[i].perf);
        assert_string_equal(m.counts[METER_ID_PAPI].reason, "");
        assert_true(m.baseline[VENDOR_ONEDNN].reason[0] && !m.baseline[VENDOR_OPENBLAS].reason[0]);
        assert_string_equal(m.baseline[VENDOR_CUDNN].reason, "own");
    }
}

/* A kernel that turns out to be wrong has no times; what has a reason keeps it. */
static void times_are_taken_back(void **state)
{
    struct measurement m = {
        .verified = true, .latency.runs = 3, .cold_latency.runs = 3, .cold_method = "method",
        .peak_reason = "why", .gflops = 1, .executed_gflops = 1, .peak_gflops = 1,
        .peak_fraction = 1, .baseline[VENDOR_ONEDNN] = { .available = true, .ratio = 2 },
        .load = 1, .measurements = 1, .measured_at = "now", .threads_note = "8 threads",
        .huge_asked = true, .huge_bytes = 1, .huge_of_bytes = 2,
        .sim = { .available = true }, .counts[METER_ID_PERF] = { .reason = "no counter" },
    };
    struct measure_job j = { .m = &m, .target = target_named("plain"),
                             .asked = METER_SIM | METER_PERF, .asked_baselines = BIT(ONEDNN) };
    struct err e = {0};
    (void)state;
    err_set(&e, ERR_WRONG, "C[0] is 1");
    measure_end(&j, false, &e);
    assert_true(m.outcome == OUTCOME_WRONG && !m.verified);
    assert_string_equal(m.reason, "C[0] is 1");
    assert_true(m.latency.runs == 0 && m.cold_latency.runs == 0 && !m.cold_method[0]);
    assert_true(m.gflops == 0 && m.executed_gflops == 0 && m.peak_gflops == 0);
    assert_true(m.peak_fraction == 0 && !m.peak_reason[0]);
    assert_true(m.load == 0 && m.measurements == 0 && !m.measured_at[0] && !m.threads_note[0]);
    assert_true(!m.huge_asked && m.huge_bytes == 0 && m.huge_of_bytes == 0);
    assert_true(m.baseline[VENDOR_ONEDNN].ratio == 0 && !m.baseline[VENDOR_ONEDNN].reason[0]);
    assert_true(m.sim.available && !m.sim.reason[0]);
    assert_string_equal(m.counts[METER_ID_PERF].reason, "no counter");
}

/* --- Memory ----------------------------------------------------------------------------------- */

/* Buffers begin on pages.  A page holds 32 x 32 floats. */
static void buffers_lie_on_pages(void **state)
{
    static const struct { const char *spec; unsigned pages[3]; } row[] = {
        { GMM, { 4, 4, 4 } }, { "gmm m=32 n=33 k=32", { 1, 2, 2 } },
        { "gmm m=3 n=5 k=7", { 1, 1, 1 } },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct measure_opts o = { .meters = METER_SIM };
        unsigned long long base[8], at;
        struct measurement m;
        struct measure_job j;
        job_start(&j, &m, row[i].spec, &o);
        assert_int_equal(j.func->n_params, 3);
        unsigned long long end = measure_place_buffers(j.func, base);
        at = base[0];
        assert_true(at % 4096 == 0 && at > 0);
        for (int k = 0; k < 3; k++) {
            assert_true(base[k] == at);
            at += 4096 * row[i].pages[k];
        }
        assert_true(end >= at && end % 4096 == 0 && (j.func->n_buffers > 3 || end == at));
    }
}

/* Values and errors in float64 of each tensor, and each parameter three times. */
static void memory_is_counted(void **state)
{
    const double reference = 3 * 2 * 8 * 4096, buffers = 3 * 3 * 16384;
    struct measure_opts o = { .meters = METER_CLOCK };
    struct measurement m[2];
    struct measure_job job[2], *j[] = { &job[0], &job[1] };
    (void)state;
    job_start(j[0], &m[0], GMM, &o);
    job_start(j[1], &m[1], GMM, &o);
    assert_true(measure_need(j, 1) == reference + buffers);
    assert_true(measure_need(j, 2) == reference + 2 * buffers);
    job_start(j[1], &m[1], "gmm m=64 k=64 n=64 relu=1", &o);
    assert_true(measure_need(j, 2) >= 2 * reference + 2 * buffers);
    job_start(j[1], &m[1], GMM, &o);
    const struct oracle *oracle = (const struct oracle *)(const void *)&o;  /* only asked for */
    job[0].oracle = job[1].oracle = oracle;
    assert_true(measure_need(j, 2) == 2 * buffers);
}

/* --- Compilers of a batch --------------------------------------------------------------------- */

static void compilers_are_as_many_as_cpus(void **state)
{
    static const struct { int cores, core_threads, threads, asked, jobs, beside; } row[] = {
        { 8, 1, 1, 0, 8, 7 }, { 8, 2, 1, 0, 8, 3 }, { 8, 2, 0, 0, 8, 3 }, { 8, 2, 4, 0, 8, 0 },
        { 8, 2, 9, 0, 8, 0 }, { 8, 1, 1, 2, 2, 2 }, { 100, 1, 1, 0, 64, 64 },
        { 2, 1, 1, 1, 1, 1 }, { 1, 1, 1, 0, 1, 0 }, { 2, 1, 1, 90, 64, 1 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct machine here = { .cores = row[i].cores, .core_threads = row[i].core_threads };
        struct candidate x = { .job.machine = &here };
        struct batch b = { .opts = { .jobs = row[i].asked,
                                     .measure.threads = row[i].threads } };
        struct batch_run r = { .batch = &b, .candidate = &x, .n = 1 };
        if (batch_jobs(&r) != row[i].jobs || batch_jobs_beside(&r) != row[i].beside)
            fail_msg("row %d: %d, and %d beside", i, batch_jobs(&r), batch_jobs_beside(&r));
    }
}

/* Only a time that is known and less counts. */
static void the_fastest_is_expected(void **state)
{
    struct batch b = { .best_s = INFINITY };
    (void)state;
    batch_expect(&b, 0);
    batch_expect(&b, -1);
    assert_true(isinf(b.best_s));
    batch_expect(&b, 3);
    assert_true(near(b.best_s, 3e-3));
    batch_expect(&b, 4);
    assert_true(near(b.best_s, 3e-3));
    batch_expect(&b, 2);
    assert_true(near(b.best_s, 2e-3));
}

static int set_up(void **state)
{
    temp_dir("XDG_CACHE_HOME");
    machine = *machine_this();
    machine.cores = 4;
    snprintf(machine.isa, sizeof machine.isa, "plain");
    return perm_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_have_defaults),
        cmocka_unit_test(libraries_are_those_of_the_target),
        cmocka_unit_test(errors_have_an_outcome), cmocka_unit_test(killed_ones_in_a_row),
        cmocka_unit_test(phases_are_told), cmocka_unit_test(summaries_become_latencies),
        cmocka_unit_test(peaks_are_believed_or_not),
        cmocka_unit_test(additions_may_pass_the_ceiling),
        cmocka_unit_test(additions_of_networks_may_pass_the_ceiling),
        cmocka_unit_test(options_of_the_clock_are_stored),
        cmocka_unit_test(impossible_times_are_refused), cmocka_unit_test(devices_have_a_peak),
        cmocka_unit_test(baselines_are_timed_in_turns),
        cmocka_unit_test(what_is_missing_has_a_reason), cmocka_unit_test(times_are_taken_back),
        cmocka_unit_test(buffers_lie_on_pages), cmocka_unit_test(memory_is_counted),
        cmocka_unit_test(compilers_are_as_many_as_cpus),
        cmocka_unit_test(the_fastest_is_expected),
    };
    return cmocka_run_group_tests_name("job", tests, set_up, perm_teardown);
}
