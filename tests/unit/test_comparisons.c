/* Comparisons in groups, what of a comparison is refused, and baselines that do not fit. */
/* tests/run.sh: takes 6 s */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/measure/measure.h"
#include "profile/measure/network_compare.h"
#include "tests/unit/networks.h"
#include "tests/unit/perm.h"
#include "tests/unit/programs.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define SMALL "gmm m=8 n=8 k=8"
#define SLOW "gmm m=900 k=900 n=900"      /* takes longer than LIMIT_S */
#define LIMIT_S 0.02
#define VAST "gmm m=1000000 k=8 n=1000000"  /* a result of 4 TB */

static struct measure_opts quick(void)
{
    return (struct measure_opts){ .seed = 1, .time_s = 0.01, .min_runs = 3 };
}

/* The progress over all groups: a share of the seven programs beside the first one. */
struct heard { int n; double last, most; };

static void hear(void *ctx, const char *what, double fraction)
{
    struct heard *h = ctx;
    assert_true(what[0] && fraction >= 0 && fraction <= 1);
    h->most = fraction > h->most ? fraction : h->most;
    h->last = fraction;
    h->n++;
}

/* Eight programs are two groups, of five and of two programs beside the first.  Those that are too
 * slow are the third and the last. */
static void programs_are_compared_in_groups(void **state)
{
    const struct program *small = program_bare(perm, SMALL),
                         *slow = program_bare(perm, SLOW);
    const struct program *p[] = { small, small, slow, small, small, small, small, slow };
    static struct compared out[8];
    struct measure_opts o = quick();
    struct comparison how;
    struct heard h = {0};
    struct progress pr = { hear, &h };
    struct err e;
    (void)state;
    o.limit_s = LIMIT_S;
    if (!measure_compare_each(p, 8, &o, &pr, NULL, out, &how, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < 8; i++) {
        bool ok = p[i] == small;
        assert_int_equal(out[i].m.outcome, ok ? OUTCOME_OK : OUTCOME_TIMEOUT);
        assert_int_equal(out[i].ratio.ratio > 0, ok && i > 0);
        assert_int_equal(out[i].same_code, ok && i > 0);
    }
    assert_true(how.rounds >= 3 && h.n > 2 && h.last >= 5.0 / 7 && h.most >= h.last);
}

static void one_program_is_no_group(void **state)
{
    const struct program *p[] = { program_bare(perm, SLOW), program_bare(perm, SMALL) };
    static struct compared out[2];
    struct measure_opts o = quick();
    struct comparison how;
    struct str text = {0};
    struct err e;
    (void)state;
    assert_false(measure_compare_each(p, 1, &o, NULL, NULL, out, &how, &e));
    assert_int_equal(e.code, ERR_RANGE);
    assert_string_equal(e.text, "there is nothing to compare with");
    o.limit_s = LIMIT_S;
    assert_false(measure_compare_each(p, 2, &o, NULL, NULL, out, &how, &e));
    assert_int_equal(e.code, ERR_RANGE);
    assert_int_equal(out[0].m.outcome, OUTCOME_TIMEOUT);
    str_printf(&text, "the first program has no time: %s", out[0].m.reason);
    assert_string_equal(e.text, str_text(&text));
    str_free(&text);
}

static void comparisons_have_a_size(void **state)
{
    const struct program *small = program_bare(perm, SMALL);
    const struct program *p[] = { small, small, small, small, small, small, small };
    static struct compared out[7];
    struct measure_opts o = quick();
    struct comparison how;
    struct err e;
    (void)state;
    assert_false(measure_compare(p, 0, &o, NULL, NULL, out, &how, &e));
    assert_string_equal(e.text, "0 programs: from 1 to 6 can be compared");
    assert_false(measure_compare(p, 7, &o, NULL, NULL, out, &how, &e));
    assert_string_equal(e.text, "7 programs: from 1 to 6 can be compared");
    assert_int_equal(e.code, ERR_RANGE);
    assert_true(measure_compare(p, 6, &o, NULL, NULL, out, &how, &e));
    assert_true(out[5].m.outcome == OUTCOME_OK && out[5].same_code && out[5].m.total_s > 0);
}

/* A program that needs more memory than there is has a reason; the others have times. */
static void one_that_needs_too_much_memory_is_left_out(void **state)
{
    const struct program *small = program_bare(perm, SMALL);
    const struct program *p[] = { small, program_bare(perm, VAST), small };
    static struct compared out[3];
    struct measure_opts o = quick();
    struct comparison how;
    struct err e;
    (void)state;
    if (machine_memory_available() <= 0)
        skip();
    if (!measure_compare(p, 3, &o, NULL, NULL, out, &how, &e))
        fail_msg("%s", e.text);
    assert_int_equal(out[1].m.outcome, OUTCOME_LIMIT);
    assert_non_null(strstr(out[1].m.reason, "GiB of memory, but only"));
    assert_int_equal(out[1].m.latency.runs, 0);
    assert_true(out[0].m.outcome == OUTCOME_OK && out[2].m.outcome == OUTCOME_OK);
    assert_true(out[2].ratio.ratio > 0 && out[2].same_code);
}

/* No clock times a CPU and a GPU. */
static void targets_are_not_mixed(void **state)
{
    static const char *const bound[] = { "loop reorder C M N K", "loop bind C M block.x",
                                         "loop bind C N thread.x" };
    const struct program *p[] = { program_bare(perm, SMALL),
                                  program_with(perm, SMALL, bound, 3) };
    static struct compared out[2];
    struct measure_opts o = quick();
    struct comparison how;
    struct err e;
    (void)state;
    assert_false(measure_compare(p, 2, &o, NULL, NULL, out, &how, &e));
    assert_int_equal(e.code, ERR_RANGE);
    assert_string_equal(e.text, "some of the programs are for a GPU and some for a CPU, and no "
                                "clock times both");
    assert_string_equal(e.fix, "compare schedules for one target");
}

static void networks_have_a_number_and_a_target(void **state)
{
    static const char *const command[] = { "a", "b", "c", "d", "e", "f" };
    const struct network *net[] = { NULL };
    static struct compared out[7];
    struct measure_opts o = quick();
    struct comparison how;
    struct err e;
    (void)state;
    assert_false(measure_compare_networks(net, 0, command, 2, &o, NULL, NULL, out, &how, &e));
    assert_string_equal(e.text, "2 networks: from 1 to 6 can be compared");
    assert_false(measure_compare_networks(net, 1, command, 6, &o, NULL, NULL, out, &how, &e));
    assert_string_equal(e.text, "7 networks: from 1 to 6 can be compared");
    assert_int_equal(e.code, ERR_RANGE);
    o.target = target_named("cuda");
    assert_false(measure_compare_networks(net, 1, NULL, 0, &o, NULL, NULL, out, &how, &e));
    assert_string_equal(e.text, "networks are compared on the CPU");
    assert_string_equal(e.fix, "--kernel K compares one kernel on a GPU");
}

/* Returns the list of CPUs that a process may use, as in its file `status` of /proc. */
static const char *cpus_of(const char *path)
{
    static char list[200];
    char line[300];
    FILE *f = fopen(path, "r");
    list[0] = '\0';
    while (f && fgets(line, sizeof line, f) && sscanf(line, "Cpus_allowed_list: %199s", list) != 1)
        ;
    if (f)
        fclose(f);
    return list;
}

/* With one thread, outside programs have one CPU, and all of them the same; this process keeps
 * what it had. */
static void contenders_share_a_cpu(void **state)
{
    const struct network *net =
        network_must(perm, graph_must(perm, "x = input m=8 k=8; y = relu(x)"));
    const char *folder = temp_dir(NULL);
    char script[2][300], all[200], first[200], path[200];
    struct compared out[3];
    struct comparison how;
    struct err e = {0};
    (void)state;
    snprintf(all, sizeof all, "%s", cpus_of("/proc/self/status"));
    assert_true(all[0]);
    for (int k = 0; k < 2; k++)
        snprintf(script[k], sizeof script[k], "cat /proc/self/status > %s/%d; echo ready;"
                 " while read a s; do echo times 1; done", folder, k);
    const char *const command[] = { script[0], script[1] };
    for (int threads = 1; threads <= 2; threads++) {
        struct measure_opts mo = { .time_s = 0.002, .seed = 3, .threads = threads };
        assert_true(measure_compare_networks(&net, 1, command, 2, &mo, NULL, NULL, out, &how, &e));
        assert_string_equal(cpus_of("/proc/self/status"), all);
        snprintf(path, sizeof path, "%s/0", folder);
        snprintf(first, sizeof first, "%s", cpus_of(path));
        assert_true(first[0]);
        if (threads == 2)
            assert_string_equal(first, all);
        else
            assert_int_equal(first[strspn(first, "0123456789")], '\0');
        snprintf(path, sizeof path, "%s/1", folder);
        assert_string_equal(cpus_of(path), first);
    }
}

static void baselines_run_where_the_kernel_does(void **state)
{
    struct measure_opts o = quick();
    struct measurement m;
    struct err e;
    (void)state;
    o.baselines = 1u << VENDOR_CUBLAS | 1u << VENDOR_CUDNN;
    o.meters = METER_CLOCK;
    assert_true(measure_program(program_bare(perm, SMALL), &o, NULL, NULL, &m, &e));
    assert_int_equal(m.outcome, OUTCOME_OK);
    for (int i = VENDOR_CUBLAS; i <= VENDOR_CUDNN; i++)
        assert_string_equal(m.baseline[i].reason, "it runs on a GPU, but this kernel runs on the "
                                                  "CPU: use --target cuda");
    o.meters = METER_SIM;
    assert_true(measure_program(program_bare(perm, SMALL), &o, NULL, NULL, &m, &e));
    for (int i = VENDOR_CUBLAS; i <= VENDOR_CUDNN; i++)
        assert_string_equal(m.baseline[i].reason,
                            "a baseline needs the meter clock, which was not requested");
    assert_true(!m.baseline[VENDOR_ONEDNN].reason[0] && m.latency.runs == 0);
}

static int set_up(void **state)
{
    temp_dir("XDG_CACHE_HOME");
    setenv("TILESCOPE_HOME", ".", 0);     /* the experts of the tree */
    return perm_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_compared_in_groups),
        cmocka_unit_test(one_program_is_no_group), cmocka_unit_test(comparisons_have_a_size),
        cmocka_unit_test(one_that_needs_too_much_memory_is_left_out),
        cmocka_unit_test(targets_are_not_mixed),
        cmocka_unit_test(networks_have_a_number_and_a_target),
        cmocka_unit_test(contenders_share_a_cpu),
        cmocka_unit_test(baselines_run_where_the_kernel_does),
    };
    return cmocka_run_group_tests_name("comparisons", tests, set_up, perm_teardown);
}
