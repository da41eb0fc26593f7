/* What there is of NVIDIA, and counts by CUPTI, with libraries that the tests build: they answer,
 * lie, hang and die.  Where the CUDA toolkit is, its own CUPTI is asked for the names of the event
 * sets, and our prototypes are compared with its headers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/subprocess.h"
#include "profile/child/nvidia.h"
#include "profile/counters/cupti_count.h"
#include "profile/counters/cupti_metrics.h"
#include "profile/counters/eventset.h"
#include "profile/measure/measure.h"
#include "tests/unit/cuda_bind.h"
#include "tests/unit/perm.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const char *dir;

/* Compiles tests/fake/NAME.c to a shared object. */
static void build(const char *name, const char *flag)
{
    char out[200], source[200];
    snprintf(out, sizeof out, "%s/%s.so", dir, name);
    snprintf(source, sizeof source, "tests/fake/%s.c", name);
    const char *argv[] = { "cc", "-std=c17", "-D_GNU_SOURCE", "-shared", "-fPIC", "-w", "-I.", flag,
                           "-o", out, source, "-lm", NULL };
    struct subprocess_result r;
    struct err e;
    if (!subprocess_run(argv, 60, NULL, &r, &e) || r.exit_code != 0)
        fail_msg("%s: %s", name, str_text(&r.out));
    str_free(&r.out);
}

static void use(const char *variable, const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s.so", dir, name);
    setenv(variable, path, 1);
}

static int prepare(void **state)
{
    if (perm_setup(state) != 0)
        return -1;
    dir = temp_dir(NULL);
    build("cupti", "-DFAKE");
    build("cuda", "-DFAKE");
    build("nvrtc", "-DFAKE");
    build("cublas", "-DFAKE");
    use("TILESCOPE_CUDA", "cuda");
    use("TILESCOPE_CUPTI", "cupti");
    return 0;
}

/* --- What is there ---------------------------------------------------------------------------- */

static void parts_are_asked(void **state)
{
    static const struct {
        enum nvidia_part part;
        const char *cuda, *cupti, *version, *detail, *reason;
    } t[] = {
        { NVIDIA_DRIVER, "", "", "13.0", "Fake GPU 1, sm_90, 4 multiprocessors, 1 GiB", "" },
        { NVIDIA_DRIVER, "cuDeviceGetCount two", "", "13.0", "1 GiB; Fake GPU 1, sm_90", "" },
        { NVIDIA_DRIVER, "cuDeviceGetCount none", "", "13.0", "", "a driver, but no GPU" },
        { NVIDIA_DRIVER, "cuInit code=34", "", "", "", "cuInit: CUDA_ERROR_STUB_LIBRARY" },
        { NVIDIA_DRIVER, "cuInit hang", "", "", "", "it did not answer within 1 s" },
        { NVIDIA_DRIVER, "cuDeviceGetCount abort", "", "", "", "it crashed when it was asked: " },
        { NVIDIA_DRIVER, "cuDeviceGetName exit", "", "", "", "ended the process that asked it" },
        { NVIDIA_DRIVER, "cuDeviceGetName escape", "", "13.0", "Fake[2JGPU, sm_90", "" },
        { NVIDIA_CUPTI, "", "", "13.0", "", "" },
        { NVIDIA_CUPTI, "", "hang", "", "", "it did not answer within 1 s" },
        { NVIDIA_CUPTI, "", "die", "", "", "it crashed when it was asked: " },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        struct nvidia_info x;
        setenv("FAKE_CUDA", t[i].cuda, 1);
        setenv("FAKE_CUPTI", t[i].cupti, 1);
        nvidia_ask(t[i].part, 1, &x);
        if (strcmp(x.version, t[i].version) != 0 || !strstr(x.detail, t[i].detail)
            || !strstr(x.reason, t[i].reason) || x.available == (t[i].reason[0] != '\0'))
            fail_msg("row %d: version '%s', detail '%s', reason '%s'", i, x.version, x.detail,
                     x.reason);
        assert_true(x.available ? strstr(x.path, dir) != NULL : x.reason[0] != '\0');
        assert_string_equal(x.name, t[i].part == NVIDIA_DRIVER ? "driver" : "cupti");
    }
    unsetenv("FAKE_CUDA");
    unsetenv("FAKE_CUPTI");
}

static void missing_ones_say_what_would_help(void **state)
{
    static const struct { enum nvidia_part part; const char *variable, *what; } t[] = {
        { NVIDIA_DRIVER, "TILESCOPE_CUDA", "the CUDA driver" },
        { NVIDIA_NVRTC, "TILESCOPE_NVRTC", "NVRTC" },
        { NVIDIA_CUPTI, "TILESCOPE_CUPTI", "CUPTI" },
        { NVIDIA_CUBLAS, "TILESCOPE_CUBLAS", "cuBLAS" },
        { NVIDIA_CUDNN, "TILESCOPE_CUDNN", "cuDNN" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        struct nvidia_info x;
        const char *before = getenv(t[i].variable);
        char kept[200] = "";
        if (before)
            snprintf(kept, sizeof kept, "%s", before);
        setenv(t[i].variable, "/nowhere/lib.so", 1);
        nvidia_ask(t[i].part, 20, &x);
        assert_false(x.available);
        if (!strstr(x.reason, t[i].what) || !strstr(x.reason, "cannot be loaded")
            || !strstr(x.fix, t[i].variable))
            fail_msg("%s: %s; fix: %s", t[i].what, x.reason, x.fix);
        use(t[i].variable, "cupti");      /* a library that lacks the functions, except of CUPTI */
        nvidia_ask(t[i].part, 20, &x);
        if (t[i].part != NVIDIA_CUPTI && !strstr(x.reason, "has no function"))
            fail_msg("%s: %s", t[i].what, x.reason);
        if (kept[0])
            setenv(t[i].variable, kept, 1);
        else
            unsetenv(t[i].variable);
    }
}

/* --- Counts ----------------------------------------------------------------------------------- */

#define RUN_US 500
static int runs, fault_at;
static enum err_code fault_code = ERR_CRASH;

static bool run(void *arg, struct err *e)
{
    (void)arg;
    usleep(RUN_US);
    return ++runs != fault_at || err_set(e, fault_code, "CUDA_ERROR_ILLEGAL_ADDRESS");
}

static const struct event event[] = {
    { "sectors", "l1tex__t_sectors.sum" }, { "ns", "activity:duration" },
    { "none", "lts__nosuch.sum" },         { "bytes", "dram__bytes.sum" },
    { "launches", "activity:launches" },   { "registers", "activity:registers" },
};

/* Counts under a script; false when the work failed. */
static bool count(const char *script, struct counts *out, double *seconds)
{
    static int context;
    struct cupti_work w = { .context = &context, .run = run };
    struct err e;
    setenv("FAKE_CUPTI", script, 1);
    runs = 0;
    return cupti_count(&w, event, COUNT_OF(event), out, seconds, &e);
}

static double value_of(const struct counts *c, const char *name)
{
    double v = -1;
    return counts_get(c, name, &v) ? v : -1;
}

static void honest_counts_arrive(void **state)
{
    struct counts c;
    double seconds;
    (void)state;
    fault_at = 0;
    for (int again = 0; again < 2; again++) {
        assert_true(count("", &c, &seconds));
        assert_true(c.available);
        assert_int_equal(runs, 4);                   /* one for the records, three passes */
        assert_true(value_of(&c, "sectors") == 1000 && value_of(&c, "bytes") == 2000);
        assert_true(value_of(&c, "ns") == 1500 && value_of(&c, "launches") == 2);
        assert_true(value_of(&c, "registers") == 64 && value_of(&c, "none") == -1);
        assert_true(seconds > 1.4e-6 && seconds < 1.6e-6);
        assert_string_equal(c.missing, "none: this GPU has no metric lts__nosuch.sum");
        assert_string_equal(c.source, "CUPTI, 3 passes");
    }
}

/* Under each script: what is still counted, and what is said of the rest. */
static void lies_are_told_apart(void **state)
{
    static const struct { const char *script, *said; bool metrics, records; } t[] = {
        { "privilege", "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", false, true },
        { "nan", "sectors: CUPTI returned no valid value", false, true },
        { "negative", "bytes: CUPTI returned no valid value", false, true },
        { "endless", "more than 200 passes", false, true },
        { "empty", "in 0 bytes", false, true },
        { "dropped", "CUPTI dropped what it counted", false, true },
        { "chip", "cuptiProfilerHostInitialize: CUPTI_ERROR_UNKNOWN", false, true },
        { "silent", "ns: CUPTI has no record of any kernel", true, false },
        { "backwards", "times that cannot be true", true, false },
        { "unrecorded", "ns: cuptiActivityEnable: CUPTI_ERROR_UNKNOWN", true, false },
    };
    struct counts c;
    double seconds;
    (void)state;
    fault_at = 0;
    for (int i = 0; i < COUNT_OF(t); i++) {
        assert_true(count(t[i].script, &c, &seconds));
        /* without records it is the time of a run, which sleeps, by the clock */
        assert_true(c.available && (t[i].records ? seconds > 0 : seconds > 0.9e-6 * RUN_US));
        if (!strstr(c.missing, t[i].said))
            fail_msg("%s: %s", t[i].script, c.missing);
        assert_int_equal(value_of(&c, "sectors") == 1000, t[i].metrics);
        assert_int_equal(value_of(&c, "sectors") == -1, !t[i].metrics);
        assert_int_equal(value_of(&c, "ns") == 1500, t[i].records);
        assert_int_equal(value_of(&c, "ns") == -1, !t[i].records);
    }
}

static void nothing_counted_has_a_reason(void **state)
{
    static const struct event metric = { "sectors", "l1tex__t_sectors.sum" };
    static int context;
    struct cupti_work w = { .context = &context, .run = run };
    struct counts c;
    struct err e;
    double seconds;
    (void)state;
    fault_at = 0;
    setenv("FAKE_CUPTI", "privilege", 1);
    assert_true(cupti_count(&w, &metric, 1, &c, &seconds, &e));
    assert_false(c.available);
    assert_non_null(strstr(c.reason, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES: run as root"));
    setenv("FAKE_CUPTI", "nan", 1);
    assert_true(cupti_count(&w, &metric, 1, &c, &seconds, &e));
    assert_false(c.available);
    assert_string_equal(c.reason, "sectors: CUPTI returned no valid value");
    setenv("TILESCOPE_CUPTI", "/nowhere/libcupti.so", 1);
    assert_true(cupti_count(&w, &metric, 1, &c, &seconds, &e));
    assert_false(c.available);
    assert_non_null(strstr(c.reason, "CUPTI cannot be loaded"));
    use("TILESCOPE_CUPTI", "cupti");
}

/* A fault of the kernel is no fault of the meter, in any run and with any code. */
static void faults_of_the_work_are_its_own(void **state)
{
    struct counts c;
    double seconds;
    (void)state;
    for (int env = 0; env < 2; env++) {
        fault_code = env ? ERR_ENV : ERR_CRASH;
        for (fault_at = 1; fault_at <= 4; fault_at++) {
            assert_false(count("", &c, &seconds));
            assert_int_equal(runs, fault_at);
        }
    }
    fault_code = ERR_CRASH;
    fault_at = 0;
    assert_true(count("", &c, &seconds) && c.available);
}

/* --- Event sets ------------------------------------------------------------------------------- */

static void names_have_a_form(void **state)
{
    static const struct { const char *name; bool right; } t[] = {
        { "lts__t_sectors.sum", true },
        { "sm__warps_active.avg.pct_of_peak_sustained_active", true },
        { "activity:duration", true },  { "activity:time", false },
        { "lts__t_sectors", false },    { "__sectors.sum", false },
        { "sectors.sum", false },       { "lts__.sum", false },
        { "lts__t_sectors.", false },   { "lts__t-sectors.sum", false },
        { "LTS__sectors.sum", false },  { "", false },
    };
    struct err e;
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++)
        if (cupti_event_form(t[i].name, &e) != t[i].right)
            fail_msg("'%s'", t[i].name);
    const struct event_set *s;
    const char *text = "SHORT s\nMETER cupti\nEVENTSET\na cycles\nLONG\nprose\n";
    assert_false(event_set_parse(perm, "x", "", text, &s, &e));
    assert_int_equal(e.at.line, 4);
    assert_int_equal(e.at.col, 3);
}

/* The metrics of all shipped sets exist on GH100, by CUPTI's host API, which needs no GPU. */
static void sets_are_known_to_the_chip(void **state)
{
    struct event_sets all = event_sets_load(perm, NULL);
    struct cupti_checked c;
    struct err e;
    int n = 0;
    (void)state;
    unsetenv("TILESCOPE_CUPTI");
    for (int i = 0; i < all.n; i++) {
        const struct event_set *s = all.set[i];
        if (!streq(s->meter, "cupti"))
            continue;
        n++;
        if (!cupti_check(s->event, s->n, &c, &e)) {
            printf("# no toolkit here: %s\n", e.text);
            use("TILESCOPE_CUPTI", "cupti");
            skip();
        }
        if (c.n_unknown > 0)
            fail_msg("%s: %s has no %s", s->name, CUPTI_CHIP, c.unknown[0]);
        assert_true(c.passes < 10);
    }
    assert_int_equal(n, 5);
    assert_true(cupti_check(event, COUNT_OF(event), &c, &e));
    assert_int_equal(c.n_unknown, 1);
    assert_string_equal(c.unknown[0], "lts__nosuch.sum");
    use("TILESCOPE_CUPTI", "cupti");
}

/* --- In the runner ---------------------------------------------------------------------------- */

/* A product on the fake device, with counts and the baseline of the fake cuBLAS. */
static void measure(const char *spec, struct measurement *m)
{
    struct arena *a = arena_new();
    struct measure_opts o = { .meters = METER_CLOCK | METER_CUPTI, .seed = 3, .time_s = 0.02,
                              .baselines = 1u << VENDOR_CUBLAS | 1u << VENDOR_ONEDNN };
    const struct program *p;
    struct err e;
    if (!program_new(a, spec, &p, &e))
        fail_msg("%s", e.text);
    for (int n = 0; n < p->graph->n_nodes; n++)
        p = cuda_bind_all(a, p, n, 64);
    if (!measure_program(p, &o, NULL, NULL, m, &e))
        fail_msg("%s", e.text);
    arena_free(a);
}

static void kernels_are_counted_beside_baselines(void **state)
{
    static const char *const spec[] = { "gmm m=33 k=20 n=17", "bmm b=3 m=12 k=16 n=20" };
    struct measurement m;
    (void)state;
    use("TILESCOPE_NVRTC", "nvrtc");
    use("TILESCOPE_CUBLAS", "cublas");
    setenv("FAKE_CUPTI", "", 1);
    for (int i = 0; i < COUNT_OF(spec); i++) {
        measure(spec[i], &m);
        const struct counts *c = &m.counts[METER_ID_CUPTI];
        const struct baseline *b = &m.baseline[VENDOR_CUBLAS];
        if (!m.verified || !c->available || !b->available)
            fail_msg("%s: %s %s; %s; %s", spec[i], m.reason, m.device.reason, c->reason, b->reason);
        assert_true(value_of(c, "load_requests") == 1000 && value_of(c, "sectors_per_load") == 2);
        assert_true(value_of(c, "kernel_ns") == 1500);
        assert_true(b->verified && b->latency.runs > 0 && b->ratio > 0);
        assert_non_null(strstr(b->implementation, "cuBLAS 13.12.11 f32"));
        assert_non_null(strstr(m.baseline[VENDOR_ONEDNN].reason, "it runs on the CPU"));
    }
}

static void baselines_that_fail_leave_the_kernel(void **state)
{
    static const struct { const char *script, *reason; } t[] = {
        { "wrong", "it computes something else" },
        { "fail", "cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED" },
    };
    struct measurement m;
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        setenv("FAKE_CUBLAS", t[i].script, 1);
        measure("gmm m=33 k=20 n=17", &m);
        assert_true(m.verified && m.latency.runs > 0 && m.counts[METER_ID_CUPTI].available);
        assert_false(m.baseline[VENDOR_CUBLAS].available);
        if (!strstr(m.baseline[VENDOR_CUBLAS].reason, t[i].reason))
            fail_msg("%s: %s", t[i].script, m.baseline[VENDOR_CUBLAS].reason);
    }
    unsetenv("FAKE_CUBLAS");
    setenv("FAKE_CUPTI", "die", 1);                  /* in cuptiGetVersion, which no count calls */
    measure("gmm m=33 k=20 n=17", &m);
    assert_true(m.verified && m.latency.runs > 0);
    setenv("FAKE_CUPTI", "crash", 1);
    measure("gmm m=33 k=20 n=17", &m);
    assert_true(m.verified && m.latency.runs > 0);
    assert_false(m.counts[METER_ID_CUPTI].available);
    assert_true(m.counts[METER_ID_CUPTI].reason[0] != 0);
    setenv("FAKE_CUPTI", "", 1);
    setenv("TILESCOPE_CUBLAS", "/nowhere/libcublas.so", 1);
    measure("gmm m=33 k=20 n=17", &m);
    assert_true(m.verified && m.latency.runs > 0);
    assert_non_null(strstr(m.baseline[VENDOR_CUBLAS].reason, "cuBLAS cannot be loaded"));
    use("TILESCOPE_CUBLAS", "cublas");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_asked),
        cmocka_unit_test(missing_ones_say_what_would_help),
        cmocka_unit_test(honest_counts_arrive),
        cmocka_unit_test(lies_are_told_apart),
        cmocka_unit_test(nothing_counted_has_a_reason),
        cmocka_unit_test(faults_of_the_work_are_its_own),
        cmocka_unit_test(kernels_are_counted_beside_baselines),
        cmocka_unit_test(baselines_that_fail_leave_the_kernel),
        cmocka_unit_test(names_have_a_form),
        cmocka_unit_test(sets_are_known_to_the_chip),
    };
    return cmocka_run_group_tests(tests, prepare, perm_teardown);
}
