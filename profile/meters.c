#include "profile/child.h"

#include <stdio.h>

static void add(struct meter_info *out, int max, int *n, const struct meter_info *row)
{
    if (*n < max)
        out[(*n)++] = *row;
}

static struct meter_info planned(const char *name, const char *what, const char *reason)
{
    struct meter_info m = { .name = name, .what = what };
    snprintf(m.reason, sizeof m.reason, "%s", reason);
    return m;
}

static struct meter_info counted(const char *name, const char *what, const struct perf_result *r)
{
    struct meter_info m = { .name = name, .what = what, .available = r->available };
    if (!r->available)
        snprintf(m.reason, sizeof m.reason, "%s", r->reason);
    return m;
}

/* What runs kernels needs a compiler and the runner, and nothing else. */
static struct meter_info built_in(const char *name, const char *what)
{
    struct meter_info m = { .name = name, .what = what };
    struct compiler cc;
    struct err e;
    char runner[600];
    m.available = compiler_find(NULL, &cc, &e)
               && child_find_runner(NULL, runner, sizeof runner, &e);
    if (!m.available)
        snprintf(m.reason, sizeof m.reason, "%.255s", e.text);
    return m;
}

int meters_probe(struct meter_info *out, int max)
{
    struct perf_result hardware, software;
    int n = 0;
    perf_probe(&hardware, &software);
    const struct meter_info rows[] = {
        built_in("clock", "latency, GFLOP/s and share of the FMA ceiling"),
        built_in("sim", "L1 loads, stores and misses per tensor, simulated from the address trace"),
        counted("perf", "cycles, instructions, L1d loads and misses (hardware)", &hardware),
        counted("perf-sw", "task clock, page faults, context switches (kernel)", &software),
        planned("papi", "hardware counters through PAPI", "not implemented yet: use perf"),
        planned("cachegrind", "valgrind's cache simulation as a second opinion",
                "not implemented yet: use sim"),
        planned("cupti", "GPU counters", "not implemented yet: kernels run on the CPU only"),
    };
    for (int i = 0; i < COUNT_OF(rows); i++)
        add(out, max, &n, &rows[i]);
    return n;
}
