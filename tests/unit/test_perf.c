/* The names of perf events, and why one cannot be counted. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/str.h"
#include "profile/counters/perfevent.h"
#include "profile/host/machine.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* Why an event cannot be counted: by the error of perf_event_open. */
static void errors_of_perf_are_explained(void **state)
{
    static const struct event hard = { "n", "cycles" }, soft = { "n", "page_faults" },
                              raw = { "n", "raw:0x1" };
    static const struct { const struct event *event; int code; const char *begins, *ends; } t[] = {
        { &hard, EACCES, "kernel.perf_event_paranoid is ",
          ": run as root or `sysctl kernel.perf_event_paranoid=2`" },
        { &soft, EACCES, "kernel.perf_event_paranoid is ",
          ": run as root or `sysctl kernel.perf_event_paranoid=1`" },
        { &hard, EPERM, "perf_event_open is forbidden here (container or seccomp policy):",
          " allow CAP_PERFMON" },
        { &hard, EMFILE, "too many open files: one for each thread and event; `ulimit -n` ", "" },
        { &hard, ENFILE, "too many open files: one for each thread and event; `ulimit -n` ", "" },
        { &hard, ENOSYS, "this kernel was built without perf events, or is not Linux", "" },
        { &soft, ENOENT, "the CPU's PMU does not offer this event (No such file", "directory)" },
        { &soft, ENODEV, "the CPU's PMU does not offer this event (No such device)", "" },
        { &soft, EOPNOTSUPP, "the CPU's PMU does not offer this event (Operation not ", ")" },
        { &raw, EBUSY, "another tool holds the PMU for itself (Device or resource busy)", "" },
        { &soft, EINVAL, "perf_event_open: Invalid argument", "" },
    };
    char text[200];
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        perf_source.explain(NULL, t[i].event, -t[i].code, text, sizeof text);
        size_t n = strlen(text), end = strlen(t[i].ends);
        if (!str_starts(text, t[i].begins) || n < end || strcmp(text + n - end, t[i].ends) != 0)
            fail_msg("row %d: %s", i, text);
    }
    perf_source.explain(NULL, &hard, -ENOENT, text, sizeof text);
    assert_true(str_starts(text, machine_has_pmu() ? "the CPU's PMU does not offer this event ("
                                                   : "no hardware events: this VM exposes no PMU"));
    assert_true(perf_source.always(NULL, &hard));
    assert_false(perf_source.always(NULL, &soft) || perf_source.always(NULL, &raw));
}

/* The list of names has every cache event once, and ends. */
static void names_are_listed(void **state)
{
    char name[PERF_NAME_BYTES], other[PERF_NAME_BYTES];
    struct perf_name is;
    int n = 0, caches = 0;
    (void)state;
    for (; perf_name_at(n, name); n++) {
        assert_true(perf_find(name, &is));
        caches += is.type == PERF_CACHE;
        for (int i = 0; i < n; i++)
            assert_true(perf_name_at(i, other) && strcmp(name, other) != 0);
    }
    assert_int_equal(caches, 7 * 3 * 2);  /* caches, accesses, outcomes */
    assert_string_equal(name, "node_prefetch_misses");
    assert_false(perf_name_at(-1, name) || perf_name_at(n + 1, name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_perf_are_explained),
        cmocka_unit_test(names_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
