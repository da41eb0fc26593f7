/* Commands of the runner in this process: what is not loaded, counts, and a simulation that a
 * scripted trace drives. */
#include <stdio.h>
#include <string.h>

#include "profile/child/server_impl.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define RUNS 100
#define LINE 64
#define FIRST 4096                        /* the address of the first line */
#define AT(member) ((int64_t)offsetof(struct sim_file, member))

/* The part of the memory file that a simulation uses. */
struct sim_file {
    struct shared_sim sim;
    struct shared_site site[2];
    struct shared_block block[1];
    struct shared_mark mark[1];
    unsigned long long base[2];
    struct shared_detail detail;
};
static struct { struct shared sh; struct shared_buffer buffer; float copy[1000];
                struct sim_file part; } file;
static struct guarded *guarded;
static int calls;

static void kernel(void *const *buffers)
{
    (void)buffers;
    calls++;
}

static int set_up(void **state)
{
    struct err e;
    (void)state;
    file.sh.threads = 2;                  /* a single thread would be pinned */
    file.sh.n_buffers = file.sh.n_contenders = 1;
    file.sh.buffer_at = (char *)&file.buffer - (char *)&file.sh;
    file.sh.sim_at = (char *)&file.part - (char *)&file.sh;
    file.sh.contender[0].n = 1;
    file.buffer = (struct shared_buffer){ (char *)file.copy - (char *)&file.sh, sizeof file.copy,
                                          1, 0 };
    return guarded_open(&file.sh, &guarded, &e) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    guarded_close(guarded);
    return 0;
}

static void what_is_not_loaded_is_refused(void **state)
{
    static struct server r;
    const struct request plain = { .contenders = 1, .slot = 0 }, ceiling = { .ceiling = true };
    const struct request slot = { .slot = 1 }, tensors = { .slot = 0, .problem.n_tensors = 2 };
    struct err e;
    (void)state;
    r = (struct server){ .shared = &file.sh, .guarded = guarded };
    file.sh.differs = 5;
    assert_false(server_time(&r, &plain, &e));
    assert_string_equal(e.text, "nothing is loaded to be timed");
    assert_int_equal(file.sh.differs, -1);
    assert_false(server_time(&r, &ceiling, &e));
    assert_string_equal(e.text, "no ceiling is loaded to be timed");
    assert_false(server_count(&r, &plain, &e));
    assert_string_equal(e.text, "no kernel is loaded");
    assert_false(server_simulate(&r, &plain, &e));
    assert_string_equal(e.text, "no instrumented kernel is loaded");
    assert_int_equal(e.code, ERR_BUG);
    assert_false(server_load_vendor(&r, &slot, &e));
    assert_string_equal(e.text, "contender 1 does not have one buffer for each tensor of the "
                                "problem");
    assert_false(server_load_vendor(&r, &tensors, &e));
    assert_string_equal(e.text, "contender 0 does not have one buffer for each tensor of the "
                                "problem");
}

/* A kernel on the CPU has no counts of a GPU; else its calls are counted, and said. */
static void calls_are_counted_and_said(void **state)
{
    static struct server r;
    struct request q = { .meter = METER_ID_CUPTI };
    struct counts *c = &file.sh.counts;
    struct err e;
    char text[100];
    (void)state;
    r = (struct server){ .shared = &file.sh, .guarded = guarded, .entry = { kernel } };
    assert_true(server_count(&r, &q, &e));
    assert_false(c->available);
    assert_string_equal(c->reason, "CUPTI counts on a GPU, and this kernel ran on the CPU");
    q.meter = METER_ID_PERF_SW;
    q.n_events = 1;
    strcpy(q.event[0].name, "clock");
    strcpy(q.event[0].text, "task_clock_ns");
    calls = 0;
    assert_true(server_count(&r, &q, &e));
    if (!c->available)
        skip();
    assert_int_equal(c->n, 1);
    assert_true(c->count[0].value > 0 && r.reply.seconds > 0);
    snprintf(text, sizeof text, "1 thread, %d calls, ", calls - 1);      /* without the warm-up */
    assert_int_equal(strncmp(c->source, text, strlen(text)), 0);
    const char *where = c->source + strlen(text);
    assert_true(streq(where, "with the system's part") || streq(where, "user space"));
    assert_int_equal(calls & (calls - 1), 0);                /* 1 + (1 + 2 + 4 + ...) */
}

/* --- Simulation ------------------------------------------------------------------------------- */

static int skipped;

/* The body of a loop, of 10 accesses by the table: it loads a line, and stores to another one. */
static void trace(const unsigned long long *base, struct ts_sim *ts)
{
    for (int i = 0; i < RUNS; i++) {
        if (ts->mark(ts, 0)) {
            skipped++;
            continue;
        }
        ts->touch(ts, base[0] + (unsigned long long)(LINE * i), 0, 4);
        ts->touch(ts, base[1] + (unsigned long long)(LINE * i), 1, 4);
    }
    ts->mark(ts, -1);
}

static void count_runs(long long *exec)
{
    exec[0] += RUNS;
}

static bool simulate(double budget, bool detail, unsigned long long lines, struct err *e)
{
    static struct server r;
    const struct request q = { .command = COMMAND_SIMULATE };
    struct sim_file *p = &file.part;
    memset(p, 0, sizeof *p);
    p->sim = (struct shared_sim){
        .cache = { .n_levels = 2, .level = { { .geometry = { 4096, 4, LINE } },
                                             { .geometry = { 65536, 8, LINE } } } },
        .budget = budget, .seed = 1, .n_sites = 2, .n_blocks = 1, .n_marks = 1, .n_buffers = 2,
        .site_at = AT(site), .block_at = AT(block), .mark_at = AT(mark), .base_at = AT(base),
        .detail_at = detail ? AT(detail) : 0,
    };
    p->site[1] = (struct shared_site){ .is_store = 1, .tensor = 1 };
    p->block[0].accesses = 10;
    p->base[0] = p->detail.heat[0] = p->detail.first = FIRST;
    p->base[1] = p->detail.heat[1] = FIRST + LINE * RUNS;
    p->detail.end = FIRST + LINE * lines;
    p->detail.detail = (struct sim_detail){ .n_tensors = 2, .n_loops = 1 };
    p->detail.detail.tensor[0].bytes = p->detail.detail.tensor[1].bytes = LINE * RUNS;
    r = (struct server){ .shared = &file.sh, .trace = trace, .count = count_runs };
    return server_simulate(&r, &q, e);
}

/* Each line is touched once: L1 and L2 miss it.  L1 has 64 lines of 4 ways: the stores fill it with
 * lines of which all but 64 were written back, besides those that loads replaced. */
static void traces_are_simulated(void **state)
{
    const struct sim_file *p = &file.part;
    struct err e = {0};
    (void)state;
    if (!simulate(1000, false, 0, &e))
        fail_msg("%s", e.text);
    assert_true(p->sim.fraction == 1 && p->sim.error == 0 && p->sim.n_levels == 2);
    assert_string_equal(p->sim.how, "");
    assert_int_equal(p->block[0].runs, RUNS);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(p->site[k].count.misses[0], RUNS);
        assert_int_equal(p->site[k].count.misses[1], RUNS);
        assert_int_equal(p->sim.level[k].misses, 2 * RUNS);
    }
    assert_int_equal(p->sim.level[1].accesses, 2 * RUNS);
    assert_in_range(p->sim.level[0].writebacks, RUNS - 64, RUNS);
    assert_int_equal(file.sh.permille, 999);
    assert_int_equal(skipped, 0);
}

static void tables_without_a_kernel_are_not_simulated(void **state)
{
    struct err e = {0};
    (void)state;
    assert_true(simulate(1000, false, 0, &e));
    file.part.sim.cache.level[0].geometry.ways = 0;
    static struct server r;
    const struct request q = { .command = COMMAND_SIMULATE };
    r = (struct server){ .shared = &file.sh, .trace = trace, .count = count_runs };
    assert_false(server_simulate(&r, &q, &e));
    assert_true(e.text[0] != '\0');
}

/* An access with detail counts as 20 in the budget. */
static void details_are_made_or_have_a_reason(void **state)
{
    struct sim_detail *d = &file.part.detail.detail;
    struct err e = {0};
    (void)state;
    assert_true(simulate(20000, true, 2 * RUNS, &e));
    assert_string_equal(d->reason, "");
    assert_true(d->n_loops == 1 && d->loop[0].iterations == RUNS);
    assert_int_equal(d->classes.compulsory, 2 * RUNS);
    assert_int_equal(d->tensor[0].classes.compulsory, RUNS);
    assert_int_equal(d->tensor[1].classes.compulsory, RUNS);
    assert_int_equal(d->reuse.first, 2 * RUNS);
    assert_true(simulate(19999, true, 2 * RUNS, &e));
    assert_string_equal(d->reason, "the kernel makes 1e+03 accesses, too many to record one by one;"
                        " use `:sim_budget 2.1e+04` or `run --sim-budget 2.1e+04`");
    assert_true(d->n_tensors == 2 && d->n_loops == 0 && d->n_moments == 0);
    assert_true(simulate(20000, true, ((uint64_t)1 << 26) + 1, &e));
    assert_string_equal(d->reason, "the detail has room for 16 marked loops and 67108864 lines of"
                        " memory; the kernel has 1 and 67108865");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_loaded_is_refused),
        cmocka_unit_test(calls_are_counted_and_said),
        cmocka_unit_test(traces_are_simulated),
        cmocka_unit_test(tables_without_a_kernel_are_not_simulated),
        cmocka_unit_test(details_are_made_or_have_a_reason),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
