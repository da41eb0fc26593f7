#include "tests/unit/records_help.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

struct records *records_must_open(const char *path)
{
    struct records *r = NULL;
    struct err e = {0};
    if (!records_open(path, &r, &e))
        fail_msg("%s", e.text);
    return r;
}

void records_must_start(struct records *r, uint64_t seed, char id[RUN_ID])
{
    struct err e = {0};
    struct record_run run = { .spec = RECORD_SPEC, .isa = "avx2", .threads = 1, .seed = seed,
                              .strategy = "random", .options = "{\"joint\": 300}",
                              .budget = 1000 };
    if (!records_run_start(r, &run, id, &e))
        fail_msg("%s", e.text);
}

struct record record_make(struct arena *a, const char *run, int n)
{
    bool bad = n % 4 == 3;
    return (struct record){
        .run = run, .trial = n, .strategy = "random", .seed = 0x8000000000000000u + (unsigned)n,
        .steps = arena_printf(a, "layout split C N 2 %d\nloop unroll C M", n),
        .outcome = bad ? OUTCOME_CRASH : OUTCOME_OK,
        .reason = bad ? "crashed: SIGSEGV at a write \"behind\" C" : "",
        .median_ms = bad ? 0 : 1.1 / n, .min_ms = bad ? 0 : 1.0 / n,
        .spread = bad ? 0 : 0.1 / 3, .runs = bad ? 0 : 11, .gflops = bad ? 0 : 0.7 * n,
        .verified = !bad, .max_rel_err = bad ? (double)NAN : 1e-9 * n,
        .compile_s = 0.05, .measure_s = bad ? (double)NAN : 0.01,
        .features = bad ? 0 : 0xfedcba9876543210u + (unsigned)n,
    };
}

void records_must_add(struct records *r, const struct record *rec)
{
    struct err e = {0};
    if (!records_add(r, rec, &e))
        fail_msg("%s", e.text);
}

void records_must_export(struct records *r, struct str *out)
{
    struct err e = {0};
    struct record_filter all = { .any_machine = true };
    int64_t n;
    str_clear(out);
    if (!records_export(r, &all, out, &n, &e))
        fail_msg("%s", e.text);
}

static bool count_one(void *ctx, const struct record *rec)
{
    (void)rec;
    ++*(int *)ctx;
    return true;
}

int records_count(struct records *r)
{
    struct err e = {0};
    struct record_filter all = { .any_machine = true };
    int n = 0;
    if (!records_each(r, &all, count_one, &n, &e))
        fail_msg("%s", e.text);
    return n;
}
