/* Counters: grouping, extrapolation and refusals with a scripted source, and what this machine can
 * count for real, which is what its system counts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/str.h"
#include "profile/build/build.h"
#include "profile/child/child.h"
#include "profile/counters/perfevent.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define assert_contains(text, part) \
    do { \
        if (!strstr((text), (part))) \
            fail_msg("\"%s\" is not in \"%s\"", (part), (text)); \
    } while (0)

/* --- A scripted source ------------------------------------------------------------------------ */

enum { FAKE_FULL = -28, FAKE_UNKNOWN = -2, FAKE_NO_START = -5, MS = 1000000 };

/* An event: open's answer below 0 (from thread `fails_from` on), what a thread counts, and for how
 * long of 10 ms it did when its group leads. */
struct part { const char *text; int refuses, fails_from; uint64_t value, running_ms; bool always; };

struct script {
    const struct part *part;
    int n, counters;                     /* counters: of the machine, in one group */
    bool starves;                        /* a group of more than one never runs */
    int idle_from;                       /* threads from this one on do not run; 0 = all do */
    int no_start;                        /* start of the k-th group (from 1) fails */
    int most_running;                    /* groups of a thread at once; 0 = any */
    struct { int thread, part, leader, members; bool started, running; } open[256];
    int n_open, n_closed, n_groups, n_running;
};

static const struct part *find_part(const struct script *s, const struct event *ev)
{
    for (int i = 0; i < s->n; i++)
        if (streq(s->part[i].text, ev->text))
            return &s->part[i];
    return NULL;
}

static int fake_open(void *ctx, int thread, const struct event *ev, int leader)
{
    struct script *s = ctx;
    const struct part *p = find_part(s, ev);
    if (!p)
        return FAKE_UNKNOWN;
    if (p->refuses && thread >= p->fails_from)
        return p->refuses;
    if (leader >= 0 && s->open[leader].members == s->counters)
        return FAKE_FULL;
    int h = s->n_open++;
    assert_in_range(h, 0, COUNT_OF(s->open) - 1);
    s->open[h].thread = thread;
    s->open[h].part = (int)(p - s->part);
    s->open[h].leader = leader < 0 ? h : leader;
    s->open[s->open[h].leader].members++;
    s->n_groups += leader < 0 && thread == 0;
    return h;
}

static int fake_start(void *ctx, int leader)
{
    struct script *s = ctx;
    int before = 0;
    for (int i = 0; i < leader; i++)
        before += s->open[i].leader == i && s->open[i].thread == s->open[leader].thread;
    if (s->no_start == before + 1)
        return FAKE_NO_START;
    for (int i = 0; i < s->n_open; i++)
        if (s->most_running && s->open[i].running
            && s->open[i].thread == s->open[leader].thread)
            return FAKE_NO_START;
    s->open[leader].running = s->open[leader].started = true;
    return 0;
}

static int fake_stop(void *ctx, int leader)
{
    struct script *s = ctx;
    s->open[leader].running = false;
    return 0;
}

static int fake_read(void *ctx, int leader, int n, struct reading *out)
{
    struct script *s = ctx;
    bool idle = s->idle_from && s->open[leader].thread >= s->idle_from;
    int k = 0;
    assert_true(s->open[leader].started);
    assert_int_equal(s->open[leader].members, n);
    const struct part *first = &s->part[s->open[leader].part];
    *out = (struct reading){ .enabled_ns = idle ? 0 : 10 * MS,
                             .running_ns = idle ? 0 : first->running_ms * MS };
    if (s->starves && n > 1)
        out->running_ns = 0;
    for (int i = 0; i < s->n_open; i++)
        if (s->open[i].leader == leader)
            out->value[k++] = idle || !out->running_ns ? 0 : s->part[s->open[i].part].value;
    return 0;
}

static void fake_close(void *ctx, int handle)
{
    struct script *s = ctx;
    assert_in_range(handle, 0, s->n_open - 1);
    s->n_closed++;
}

static void fake_explain(void *ctx, const struct event *ev, int code, char *out, size_t n)
{
    (void)ctx;
    snprintf(out, n, "code %d for %s", code, ev->text);
}

static bool fake_always(void *ctx, const struct event *ev)
{
    const struct part *p = find_part(ctx, ev);
    return p && p->always;
}

static const struct counter_source fake = {
    .open = fake_open, .start = fake_start, .stop = fake_stop, .read = fake_read,
    .close = fake_close, .explain = fake_explain, .always = fake_always,
};
static struct counter_source fake_in_turns;

/* Counts every part of s on `threads` threads, 10 calls; true when a second try may help. */
static bool count(struct script *s, const struct counter_source *source, int threads,
                  int group_max, struct counts *out)
{
    struct event ev[EVENTS_MAX];
    for (int i = 0; i < s->n; i++) {
        snprintf(ev[i].name, sizeof ev[i].name, "n_%s", s->part[i].text);
        snprintf(ev[i].text, sizeof ev[i].text, "%s", s->part[i].text);
    }
    struct counting *c = counting_open(source, s, threads, ev, s->n, group_max, out);
    if (!c) {
        assert_int_equal(s->n_open, s->n_closed);
        return false;
    }
    for (int pass = 0; pass < counting_passes(c); pass++) {
        counting_start(c, pass);
        counting_stop(c, pass, 10);
    }
    bool starved = counting_starved(c);
    counting_result(c, out);
    counting_close(c);
    assert_int_equal(s->n_open, s->n_closed);
    return starved;
}

static double value(const struct counts *c, const char *name)
{
    double v = -1;
    assert_int_equal(c->available, c->reason[0] == 0);
    return counts_get(c, name, &v) ? v : -1;
}

#define SCRIPT(...) { .part = (const struct part[]){ __VA_ARGS__ }, \
                      .n = COUNT_OF(((const struct part[]){ __VA_ARGS__ })), .counters = 4 }

static void values_are_per_call_and_summed_over_threads(void **state)
{
    struct script s = SCRIPT({ "cyc", .value = 1000, .running_ms = 10, .always = true },
                             { "miss", .value = 0, .running_ms = 10 });
    struct counts c;
    (void)state;
    assert_false(count(&s, &fake, 3, 8, &c));
    assert_true(value(&c, "n_cyc") == 300);
    assert_true(value(&c, "n_miss") == 0);           /* it counted, and there were none */
    assert_false(c.count[0].scaled);
    assert_true(c.count[0].running == 1);
    assert_string_equal(c.source, "3 threads");
    assert_string_equal(c.missing, "");
    assert_int_equal(s.n_groups, 1);
}

static void idle_threads_add_nothing(void **state)
{
    struct script s = SCRIPT({ "cyc", .value = 1000, .running_ms = 10, .always = true });
    struct counts c;
    (void)state;
    s.idle_from = 2;
    count(&s, &fake, 4, 8, &c);
    assert_true(value(&c, "n_cyc") == 200);
    assert_false(c.count[0].scaled);
    assert_string_equal(c.source, "2 threads");
}

static void groups_take_turns_and_are_scaled(void **state)
{
    struct script s = SCRIPT({ "a", .value = 100, .running_ms = 4 },
                             { "b", .value = 200, .running_ms = 4 },
                             { "c", .value = 300, .running_ms = 6 });
    struct counts c;
    (void)state;
    s.counters = 2;
    count(&s, &fake, 2, 8, &c);
    assert_int_equal(s.n_groups, 2);
    assert_true(value(&c, "n_a") == 2 * 100 * 2.5 / 10);
    assert_true(value(&c, "n_b") == 2 * 200 * 2.5 / 10);
    assert_true(fabs(value(&c, "n_c") - 2 * 300 * (10.0 / 6) / 10) < 1e-9);
    assert_true(c.count[0].scaled && c.count[2].scaled);
    assert_true(c.count[0].running == 0.4 && c.count[2].running == 0.6);
}

static void large_values_do_not_overflow(void **state)
{
    struct script s = SCRIPT({ "big", .value = INT64_MAX, .running_ms = 5 },
                             { "over", .value = UINT64_MAX - 5, .running_ms = 10 });
    struct counts c;
    (void)state;
    count(&s, &fake, 2, 1, &c);
    assert_true(value(&c, "n_big") > 3.6e18 && value(&c, "n_big") < 3.7e18);
    assert_true(value(&c, "n_over") == -1);
    assert_contains(c.missing, "n_over: the counter overflowed");
}

static void what_never_ran_is_absent(void **state)
{
    struct script s = SCRIPT({ "a", .value = 100, .running_ms = 10 },
                             { "b", .value = 200, .running_ms = 0 });
    struct counts c;
    (void)state;
    assert_false(count(&s, &fake, 2, 1, &c));        /* alone already: no second try */
    assert_true(value(&c, "n_a") == 20);
    assert_true(value(&c, "n_b") == -1);
    assert_contains(c.missing, "n_b: its counter never ran");
    struct script all = SCRIPT({ "b", .value = 200, .running_ms = 0 });
    count(&all, &fake, 2, 8, &c);
    assert_false(c.available);
    assert_contains(c.reason, "its counter never ran");
}

static void starved_groups_count_one_by_one(void **state)
{
    struct script s = SCRIPT({ "a", .value = 100, .running_ms = 10 },
                             { "b", .value = 200, .running_ms = 5 });
    struct script again = s;
    struct counts c;
    (void)state;
    s.starves = again.starves = true;
    assert_true(count(&s, &fake, 1, 8, &c));
    assert_false(c.available);
    assert_false(count(&again, &fake, 1, 1, &c));
    assert_true(value(&c, "n_a") == 10 && value(&c, "n_b") == 40);
}

static void refused_events_are_missing_with_a_reason(void **state)
{
    struct script s = SCRIPT({ "a", .value = 100, .running_ms = 10 },
                             { "no", .refuses = FAKE_UNKNOWN },
                             { "late", .refuses = -24, .fails_from = 2, .value = 5,
                               .running_ms = 10 },
                             { "b", .value = 200, .running_ms = 10 });
    struct counts c;
    (void)state;
    count(&s, &fake, 3, 8, &c);
    assert_true(value(&c, "n_a") == 30 && value(&c, "n_b") == 60);
    assert_true(value(&c, "n_no") == -1 && value(&c, "n_late") == -1);
    assert_contains(c.missing, "n_no: code -2 for no");
    assert_contains(c.missing, "n_late: code -24 for late");
    struct script two = SCRIPT({ "a", .refuses = COUNTER_NOT_OPEN },
                               { "b", .value = 200, .running_ms = 10 },
                               { "c", .refuses = COUNTER_NOT_OPEN },
                               { "d", .refuses = FAKE_UNKNOWN });
    count(&two, &fake, 1, 8, &c);
    assert_string_equal(c.missing, "n_a, n_c: a thread of the team could not be reached;"
                                   " n_d: code -2 for d");
    struct script none = SCRIPT({ "no", .refuses = FAKE_UNKNOWN });
    count(&none, &fake, 1, 8, &c);
    assert_false(c.available);
    assert_string_equal(c.reason, "code -2 for no");
}

static void threads_that_ended_are_not_missed(void **state)
{
    struct script s = SCRIPT({ "a", .refuses = COUNTER_GONE, .fails_from = 2, .value = 100,
                               .running_ms = 10 });
    struct counts c;
    (void)state;
    count(&s, &fake, 4, 8, &c);
    assert_true(value(&c, "n_a") == 20);
}

static void counters_that_stand_still_are_refused(void **state)
{
    struct script s = SCRIPT({ "cyc", .value = 0, .running_ms = 10, .always = true },
                             { "miss", .value = 7, .running_ms = 10 });
    struct counts c;
    (void)state;
    count(&s, &fake, 2, 8, &c);
    assert_false(c.available);
    assert_int_equal(c.n, 0);
    assert_contains(c.reason, "do not count (n_cyc is 0)");
}

static void groups_that_do_not_start_are_missing(void **state)
{
    struct script s = SCRIPT({ "a", .value = 100, .running_ms = 10 },
                             { "b", .value = 200, .running_ms = 10 });
    struct counts c;
    (void)state;
    s.no_start = 2;
    count(&s, &fake, 1, 1, &c);
    assert_true(value(&c, "n_a") == 10 && value(&c, "n_b") == -1);
    assert_contains(c.missing, "n_b: code -5");
}

static void sources_of_one_group_are_passed_through(void **state)
{
    struct script s = SCRIPT({ "a", .value = 100, .running_ms = 10 },
                             { "b", .value = 200, .running_ms = 10 },
                             { "c", .value = 300, .running_ms = 10 });
    struct counts c;
    (void)state;
    s.counters = 2;
    s.most_running = 1;
    fake_in_turns = fake;
    fake_in_turns.one_group = true;
    count(&s, &fake_in_turns, 2, 8, &c);
    assert_int_equal(s.n_groups, 2);
    assert_true(value(&c, "n_a") == 20 && value(&c, "n_b") == 40 && value(&c, "n_c") == 60);
    assert_false(c.count[0].scaled || c.count[2].scaled);
    assert_string_equal(c.missing, "");
}

/* --- For real --------------------------------------------------------------------------------- */

enum { PAGES = 512 };

/* Every thread of a team touches PAGES pages that nobody has touched before. */
#define TOUCH(team) \
    "void *mmap(void *, unsigned long, int, int, int, long);\n" \
    "int munmap(void *, unsigned long);\n" \
    "int madvise(void *, unsigned long, int);\n" \
    "void ts_entry(float *const *buffers)\n{\n    (void)buffers;\n" \
    team "    {\n" \
    "        char *p = mmap(0, 512 * 4096, 3, 0x22, -1, 0);\n" \
    "        madvise(p, 512 * 4096, 15);\n" \
    "        for (int i = 0; i < 512; i++)\n            p[i * 4096] = 1;\n" \
    "        munmap(p, 512 * 4096);\n    }\n}\n"

static struct runner *loaded_by(const char *compiler, const char *source, bool openmp, int threads)
{
    static const struct runner_buffer buffer[] = { { "A", &type_f32, 4096, true } };
    struct runner_opts o = { .threads = threads, .limit_s = 10, .n_buffers = 1, .buffer = buffer };
    struct compiler cc;
    const struct target *host = target_host();
    struct build b;
    struct runner *c = NULL;
    struct err e;
    double seconds;
    if (!compiler_find(compiler, &cc, &e) || !build_shared(&cc, source, host, openmp, NULL, &b, &e)
        || !runner_open(&child_runner, &o, &c, &e)
        || !runner_load(c, SLOT_KERNEL, b.so_path, "", &e)
        || !runner_run(c, 0, &seconds, &e))
        fail_msg("%s", e.text);
    return c;
}

static struct runner *loaded(const char *source, bool openmp, int threads)
{
    return loaded_by(NULL, source, openmp, threads);
}

/* libpfm4 does not know this CPU: PAPI then counts nothing, the system's events neither. */
static bool papi_is_disabled(enum meter_id meter, const struct counts *out)
{
    return meter == METER_ID_PAPI && !out->available
        && strstr(out->reason, "its perf_event component is disabled: ");
}

/* False: PAPI is disabled, with its reason. */
static bool count_faults(const char *compiler, enum meter_id meter, const struct event *ev,
                         int n, bool openmp, int threads, const char *source)
{
    struct runner *c = loaded_by(compiler, source, openmp, threads);
    struct counts out;
    struct err e;
    double seconds = 0;
    if (!runner_count(c, (int)meter, ev, n, &out, &seconds, &e))
        fail_msg("%s", e.text);
    runner_close(c);
    if (papi_is_disabled(meter, &out))
        return false;
    if (!out.available)
        fail_msg("%s", out.reason);
    double faults = value(&out, "page_faults"), want = PAGES * threads;
    if (faults < want || faults > want + 16 + 0.02 * want)
        fail_msg("%g page faults on %d threads, not %g", faults, threads, want);
    assert_true(value(&out, "task_clock_ns") > 0 && seconds > 0);
    assert_false(out.count[0].scaled);
    char text[32];
    snprintf(text, sizeof text, "%d thread", threads);
    assert_contains(out.source, text);
    return true;
}

static const struct event perf_soft[] = { { "task_clock_ns", "task_clock_ns" },
                                          { "page_faults", "page_faults" } };
static const struct event papi_soft[] = { { "task_clock_ns", "perf::TASK-CLOCK" },
                                          { "page_faults", "perf::PAGE-FAULTS" } };
#define TEAM "#pragma omp parallel\n"

static void page_faults_are_the_pages_touched(void **state)
{
    (void)state;
    count_faults(NULL, METER_ID_PERF_SW, perf_soft, 2, false, 1, TOUCH(""));
    count_faults(NULL, METER_ID_PERF_SW, perf_soft, 2, true, 3, TOUCH(TEAM));
}

/* Each compiler has an OpenMP library of its own, and the runner yet another. */
static void every_compilers_threads_are_counted(void **state)
{
    static const char *const name[] = { "gcc", "clang" };
    int n = 0;
    (void)state;
    for (int i = 0; i < COUNT_OF(name); i++) {
        struct compiler cc;
        struct err e;
        if (!compiler_find(name[i], &cc, &e))
            continue;
        count_faults(name[i], METER_ID_PERF_SW, perf_soft, 2, true, 2, TOUCH(TEAM));
        count_faults(name[i], METER_ID_PAPI, papi_soft, 2, true, 2, TOUCH(TEAM));
        n++;
    }
    assert_true(n > 0);
}

static void papi_counts_page_faults(void **state)
{
    (void)state;
    if (!count_faults(NULL, METER_ID_PAPI, papi_soft, 2, false, 1, TOUCH("")))
        skip();
    count_faults(NULL, METER_ID_PAPI, papi_soft, 2, true, 3, TOUCH(TEAM));
}

/* Without a PMU a preset is refused; with one it counts.  It is never 0 for no reason. */
static void papi_presets_count_or_give_a_reason(void **state)
{
    static const struct event ev[] = { { "papi_tot_ins", "PAPI_TOT_INS" },
                                       { "papi_l1_dcm", "PAPI_L1_DCM" },
                                       { "cycles", "perf::CYCLES" },
                                       { "loads", "perf::L1-DCACHE-LOADS" } };
    static const struct event mixed[] = { { "page_faults", "perf::PAGE-FAULTS" },
                                          { "papi_l1_dcm", "PAPI_L1_DCM" },
                                          { "nothing", "PAPI_NO_SUCH_EVENT" } };
    struct runner *c = loaded(TOUCH(""), false, 1);
    struct counts out;
    struct err e;
    double seconds;
    (void)state;
    if (!runner_count(c, METER_ID_PAPI, ev, COUNT_OF(ev), &out, &seconds, &e))
        fail_msg("%s", e.text);
    if (out.available) {
        assert_true(value(&out, "papi_tot_ins") != 0 && value(&out, "cycles") != 0);
    } else {
        assert_int_equal(out.n, 0);
        assert_contains(out.reason, "PAPI cannot count PAPI_TOT_INS: ");
        if (!papi_is_disabled(METER_ID_PAPI, &out))
            assert_contains(out.reason, "Event does not exist");
    }
    if (!runner_count(c, METER_ID_PAPI, mixed, COUNT_OF(mixed), &out, &seconds, &e))
        fail_msg("%s", e.text);
    runner_close(c);
    if (papi_is_disabled(METER_ID_PAPI, &out))
        skip();
    assert_true(out.available && value(&out, "page_faults") >= PAGES);
    assert_true(value(&out, "nothing") == -1);
    assert_contains(out.missing, "nothing: PAPI cannot count PAPI_NO_SUCH_EVENT");
}

/* Threads that begin after the counters were opened are inherited. */
static void late_threads_are_counted(void **state)
{
    static const char source[] =
        "#include <pthread.h>\n"
        "void *mmap(void *, unsigned long, int, int, int, long);\n"
        "int munmap(void *, unsigned long);\n"
        "static void *touch(void *x)\n{\n"
        "    volatile char *p = mmap(0, 512 * 4096, 3, 0x22, -1, 0);\n"
        "    for (int i = 0; i < 512; i++)\n        p[i * 4096] = 1;\n"
        "    munmap((void *)p, 512 * 4096);\n    return x;\n}\n"
        "void ts_entry(float *const *buffers)\n{\n    pthread_t t;\n    (void)buffers;\n"
        "    if (pthread_create(&t, 0, touch, 0) == 0)\n        pthread_join(t, 0);\n}\n";
    struct runner *c = loaded(source, true, 1);
    struct counts out;
    struct err e;
    double seconds;
    (void)state;
    if (!runner_count(c, METER_ID_PERF_SW, perf_soft, 2, &out, &seconds, &e))
        fail_msg("%s", e.text);
    runner_close(c);
    assert_true(out.available);
    if (value(&out, "page_faults") < PAGES)
        fail_msg("%g page faults", value(&out, "page_faults"));
}

static void switches_count_or_say_which_right_is_missing(void **state)
{
    static const struct event ev[] = { { "context_switches", "context_switches" },
                                       { "page_faults", "page_faults" } };
    static const char sleeps[] = "int usleep(unsigned);\n"
                                 "void ts_entry(float *const *b) { (void)b; usleep(100); }\n";
    struct runner *c = loaded(sleeps, false, 1);
    struct counts out;
    struct err e;
    double seconds;
    (void)state;
    if (!runner_count(c, METER_ID_PERF_SW, ev, 2, &out, &seconds, &e))
        fail_msg("%s", e.text);
    runner_close(c);
    assert_true(out.available);
    if (value(&out, "context_switches") >= 0)
        assert_true(value(&out, "context_switches") >= 0.9);     /* each call sleeps once */
    else
        assert_contains(out.missing, "kernel.perf_event_paranoid");
}

static void hardware_counts_or_gives_a_reason(void **state)
{
    static const struct event ev[] = { { "cycles", "cycles" }, { "instructions", "instructions" },
                                       { "lines_in", "raw:0x151" } };
    struct runner *c = loaded(TOUCH(""), false, 1);
    struct counts out;
    struct err e;
    double seconds;
    (void)state;
    if (!runner_count(c, METER_ID_PERF, ev, 3, &out, &seconds, &e))
        fail_msg("%s", e.text);
    runner_close(c);
    if (out.available) {
        assert_true(value(&out, "instructions") > PAGES);
    } else {
        assert_int_equal(out.n, 0);
        assert_true(strstr(out.reason, "PMU") || strstr(out.reason, "paranoid")
                    || strstr(out.reason, "CAP_PERFMON") || strstr(out.reason, "do not count"));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_per_call_and_summed_over_threads),
        cmocka_unit_test(idle_threads_add_nothing),
        cmocka_unit_test(groups_take_turns_and_are_scaled),
        cmocka_unit_test(large_values_do_not_overflow),
        cmocka_unit_test(what_never_ran_is_absent),
        cmocka_unit_test(starved_groups_count_one_by_one),
        cmocka_unit_test(refused_events_are_missing_with_a_reason),
        cmocka_unit_test(threads_that_ended_are_not_missed),
        cmocka_unit_test(counters_that_stand_still_are_refused),
        cmocka_unit_test(groups_that_do_not_start_are_missing),
        cmocka_unit_test(sources_of_one_group_are_passed_through),
        cmocka_unit_test(page_faults_are_the_pages_touched),
        cmocka_unit_test(late_threads_are_counted),
        cmocka_unit_test(every_compilers_threads_are_counted),
        cmocka_unit_test(papi_counts_page_faults),
        cmocka_unit_test(papi_presets_count_or_give_a_reason),
        cmocka_unit_test(switches_count_or_say_which_right_is_missing),
        cmocka_unit_test(hardware_counts_or_gives_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
