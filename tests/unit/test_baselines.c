/* Baselines of a measurement: real libraries beside the kernel, and libraries that misbehave. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/arena.h"
#include "profile/build/build.h"
#include "profile/child/child.h"
#include "profile/measure/measure.h"
#include "profile/vendor/vendor.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define GMM "gmm m=24 k=16 n=32"
#define BIT(library) (1u << VENDOR_##library)
#define ALL ((1u << VENDOR_COUNT) - 1)

static struct arena *perm;
static bool built[VENDOR_COUNT];
static const char *folder;                /* of a runner beside plugins of our own */

#define assert_contains(text, part) \
    do { \
        if (!strstr((text), (part))) \
            fail_msg("\"%s\" is not in \"%s\"", (part), (text)); \
    } while (0)

static struct measurement measured(const char *spec, unsigned baselines, unsigned meters,
                                   const char *runner)
{
    struct measure_opts o = { .meters = meters, .baselines = baselines, .seed = 1, .time_s = 0.01,
                              .min_runs = 3, .runner_path = runner };
    const struct program *p;
    struct measurement m;
    struct err e;
    if (!program_new(perm, spec, &p, &e) || !measure_program(p, &o, NULL, NULL, &m, &e))
        fail_msg("%s: %s", spec, e.text);
    if (m.outcome != OUTCOME_OK)
        fail_msg("%s: %s", spec, m.reason);
    assert_true(m.verified);
    return m;
}

static void check_timed(const struct measurement *m, enum vendor_library library)
{
    const struct baseline *b = &m->baseline[library];
    if (!b->available)
        fail_msg("%s: %s", vendor_name[library], b->reason);
    assert_true(b->verified && b->max_rel_err <= 1e-4);
    assert_int_equal(b->latency.runs, m->latency.runs);
    assert_true(b->latency.min_ms > 0 && b->latency.min_ms <= b->latency.median_ms);
    double ratio = b->latency.min_ms / m->latency.min_ms;
    assert_true(b->ratio > 0.999 * ratio && b->ratio < 1.001 * ratio);
    assert_true(b->implementation[0] && b->layout[0] && !b->reason[0]);
}

static void libraries_run_beside_the_kernel(void **state)
{
    (void)state;
    struct measurement m = measured(GMM, ALL, METER_CLOCK, NULL);
    for (int i = 0; i < VENDOR_COUNT; i++) {
        if (vendor_on_gpu((enum vendor_library)i))       /* not among all of a CPU's */
            assert_string_equal(m.baseline[i].reason, "");
        else if (built[i])
            check_timed(&m, (enum vendor_library)i);
        else
            assert_contains(m.baseline[i].reason, "was not built");
    }
    m = measured("c2d n=1 i=4 h=8 w=8 o=8 k=3 p=1 relu=1", ALL, METER_CLOCK, NULL);
    assert_int_equal(m.baseline[VENDOR_ONEDNN].available, built[VENDOR_ONEDNN]);
    assert_false(m.baseline[VENDOR_OPENBLAS].available);
    assert_string_equal(m.baseline[VENDOR_OPENBLAS].reason,
                        "OpenBLAS has no operator for convolution 3x3, relu");
}

static void what_was_not_asked_for_is_not_there(void **state)
{
    (void)state;
    struct measurement m = measured(GMM, BIT(OPENBLAS), METER_CLOCK, NULL);
    assert_int_equal(m.baseline[VENDOR_OPENBLAS].available, built[VENDOR_OPENBLAS]);
    assert_false(m.baseline[VENDOR_ONEDNN].available || m.baseline[VENDOR_ONEDNN].reason[0]);
    m = measured(GMM, BIT(OPENBLAS), METER_SIM, NULL);
    assert_contains(m.baseline[VENDOR_OPENBLAS].reason,
                    "needs the meter clock, which was not requested");
    m = measured("x = input n=1 c=8; a = relu(x); b = exp(x); y = add(a, b)", ALL, METER_CLOCK,
                 NULL);
    for (int i = 0; i < VENDOR_COUNT; i++)
        assert_string_equal(m.baseline[i].reason, vendor_on_gpu((enum vendor_library)i) ? ""
                            : "exp cannot be a post-operation of the operator");
}

/* --- Libraries that misbehave ----------------------------------------------------------------- */

/* The body of open, and of output, over the plain buffers a and b of `relu`. */
static void plant(const char *open, const char *output)
{
    static const char source[] =
        "static float *a, *b; static char why_not[] = \"h\";\n"
        "static void *p_open(const void *p, int lib, int threads, float *const *x, char *why,\n"
        "                    unsigned long n)\n"
        "{ (void)p; (void)lib; (void)threads; (void)why; (void)n; a = x[0]; b = x[1];\n  %s\n"
        "  return why_not; }\n"
        "static _Bool p_run(void *h) { (void)h; return 1; }\n"
        "static _Bool p_output(void *h)\n"
        "{ (void)h; for (int i = 0; i < 9; i++) { %s } return 1; }\n"
        "static const char *p_text(const void *h) { (void)h; return \"fake\"; }\n"
        "static void p_close(void *h) { (void)h; }\n"
        "const struct { unsigned abi, bytes; void *(*open)(const void *, int, int,\n"
        "    float *const *, char *, unsigned long); _Bool (*run)(void *), (*output)(void *);\n"
        "    const char *(*impl)(const void *), *(*layout)(const void *);\n"
        "    void (*close)(void *); }\n"
        "    tilescope_vendor_plugin = { %d, %zu, p_open, p_run, p_output, p_text, p_text, p_close"
        " };\n";
    struct str text = {0}, link = {0};
    const struct target *host = target_host();
    struct compiler cc;
    struct build b;
    struct err e;
    str_printf(&text, source, open, output, VENDOR_PLUGIN_ABI, sizeof(struct vendor_problem));
    if (!compiler_find(NULL, &cc, &e)
        || !build_shared(&cc, str_text(&text), host, false, NULL, &b, &e))
        fail_msg("%s", e.text);
    str_printf(&link, "%s/tilescope-onednn.so", folder);
    unlink(str_text(&link));
    assert_int_equal(symlink(b.so_path, str_text(&link)), 0);
    str_free(&text);
    str_free(&link);
}

static struct baseline planted(void)
{
    struct str runner = {0};
    str_printf(&runner, "%s/tilescope-runner", folder);
    struct measurement m = measured("act n=1 c=9 f=relu", BIT(ONEDNN), METER_CLOCK,
                                    str_text(&runner));
    assert_true(m.latency.runs >= 3);
    str_free(&runner);
    return m.baseline[VENDOR_ONEDNN];
}

/* Whatever a library does, the kernel is measured. */
static void bad_libraries_are_left_out(void **state)
{
    static const char right[] = "b[i] = a[i] > 0 ? a[i] : 0;";
    (void)state;
    plant("", right);
    struct baseline b = planted();
    assert_true(b.available && b.verified);
    assert_string_equal(b.implementation, "fake");
    plant("", "b[i] = a[i];");
    b = planted();
    assert_false(b.available || b.verified);
    assert_contains(b.reason, "it computes something else: ");
    assert_int_equal(b.latency.runs, 0);
    plant("why[0] = 'n'; why[1] = 'o'; why[2] = 0; return 0;", right);
    b = planted();
    assert_false(b.available);
    assert_string_equal(b.reason, "no");
    plant("*(volatile int *)0 = 1;", right);
    b = planted();
    assert_false(b.available);
    assert_contains(b.reason, "crashed: SIGSEGV");
    plant("", "b[i + 9] = 1;");
    b = planted();
    assert_false(b.available);
    assert_contains(b.reason, "wrote outside its buffers");
}

static int setup(void **state)
{
    (void)state;
    char path[600], runner[600];
    struct str link = {0};
    struct err e;
    perm = arena_new();
    for (int i = 0; i < VENDOR_COUNT; i++)
        built[i] = vendor_find(NULL, (enum vendor_library)i, path, sizeof path, &e);
    if (!child_find_runner(NULL, runner, sizeof runner, &e))
        return -1;
    folder = temp_dir(NULL);
    str_printf(&link, "%s/tilescope-runner", folder);
    int rc = symlink(runner, str_text(&link));
    str_free(&link);
    return rc;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(perm);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libraries_run_beside_the_kernel),
        cmocka_unit_test(what_was_not_asked_for_is_not_there),
        cmocka_unit_test(bad_libraries_are_left_out),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
