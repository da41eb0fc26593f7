/* The order in which counters are opened, started, read and closed, and values at their limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/str.h"
#include "profile/counters/counting.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* A source that notes each call: o EVENT THREAD LEADER, s LEADER (start), e LEADER (stop),
 * r LEADER N, c HANDLE.  Handles count from 0. */
struct script {
    struct str log;
    int n;                                /* handles that were opened */
    /* the codes of the calls with this text; "" and NULL: none */
    struct { const char *call; int code; } fails[3];
    struct reading reading;               /* of every group */
    int n_on_threads;                     /* calls of on_threads */
};

/* Notes a call. Returns its code: 0, or one of s->fails. */
static int note(struct script *s, const char *call)
{
    str_printf(&s->log, "%s, ", call);
    for (int i = 0; i < COUNT_OF(s->fails); i++)
        if (s->fails[i].call && streq(s->fails[i].call, call))
            return s->fails[i].code;
    return 0;
}

static int note_open(void *ctx, int thread, const struct event *ev, int leader)
{
    struct script *s = ctx;
    char call[100];
    snprintf(call, sizeof call, "o %s %d %d", ev->text, thread, leader);
    int code = note(s, call);
    return code < 0 ? code : s->n++;
}

static int note_one(void *ctx, const char *what, int handle)
{
    char call[40];
    snprintf(call, sizeof call, "%s %d", what, handle);
    return note(ctx, call);
}

static int note_start(void *ctx, int leader)
{
    return note_one(ctx, "s", leader);
}

static int note_stop(void *ctx, int leader)
{
    return note_one(ctx, "e", leader);
}

static int note_read(void *ctx, int leader, int n, struct reading *out)
{
    char call[40];
    snprintf(call, sizeof call, "r %d %d", leader, n);
    *out = ((struct script *)ctx)->reading;
    return note(ctx, call);
}

static void note_close(void *ctx, int handle)
{
    note_one(ctx, "c", handle);
}

static void explain(void *ctx, const struct event *ev, int code, char *out, size_t n)
{
    (void)ctx;
    snprintf(out, n, "code %d of %s", code, ev->text);
}

static bool always(void *ctx, const struct event *ev)
{
    (void)ctx;
    return ev->text[0] == 'z';
}

/* Runs a part on 2 threads, the second one first. */
static void on_threads(void *ctx, void (*part)(void *arg, int thread), void *arg)
{
    ((struct script *)ctx)->n_on_threads++;
    part(arg, 1);
    part(arg, 0);
}

static const struct counter_source plain = {
    .open = note_open, .start = note_start, .stop = note_stop, .read = note_read,
    .close = note_close, .explain = explain, .always = always,
};

static const struct event events[] = { { "n_a", "a" }, { "n_b", "b" }, { "n_c", "c" },
                                       { "n_z", "z" } };

/* Counts the first n events, 4 calls in each pass. */
static void count(const struct counter_source *source, struct script *s, int threads, int n,
                  int group_max, struct counts *out)
{
    struct counting *c = counting_open(source, s, threads, events, n, group_max, out);
    if (!c)
        return;
    for (int pass = 0; pass < counting_passes(c); pass++) {
        str_add(&s->log, "| ");
        counting_start(c, pass);
        counting_stop(c, pass, 4);
    }
    counting_result(c, out);
    str_add(&s->log, "| ");
    counting_close(c);
}

static void assert_log(struct script *s, const char *want)
{
    assert_string_equal(str_text(&s->log), want);
    str_free(&s->log);
}

#define READING { .enabled_ns = 10, .running_ns = 10, .value = { 8, 16 } }

static void groups_are_opened_and_closed_in_order(void **state)
{
    struct script s = { .reading = READING };
    struct counts c;
    (void)state;
    count(&plain, &s, 2, 3, 2, &c);
    assert_log(&s, "o a 0 -1, o b 0 0, o c 0 -1, o a 1 -1, o b 1 3, o c 1 -1, "
                   "| s 0, s 2, s 3, s 5, e 0, e 2, e 3, e 5, r 0 2, r 2 1, r 3 2, r 5 1, "
                   "| c 1, c 0, c 2, c 4, c 3, c 5, ");
    assert_true(c.available && c.n == 3);
    assert_true(c.count[0].value == 4 && c.count[1].value == 8 && c.count[2].value == 4);
    assert_string_equal(c.source, "2 threads");
}

/* A group that takes no more: the event begins another one. */
static void a_refused_event_begins_a_group(void **state)
{
    struct script s = { .reading = READING, .fails = { { "o b 0 0", -5 } } };
    struct counts c;
    (void)state;
    count(&plain, &s, 1, 3, 8, &c);
    assert_log(&s, "o a 0 -1, o b 0 0, o b 0 -1, o c 0 1, "
                   "| s 0, s 1, e 0, e 1, r 0 1, r 1 2, | c 0, c 2, c 1, ");
    assert_true(c.n == 3 && c.count[2].value == 4);
    assert_string_equal(c.source, "1 thread");
}

/* Without its leader, a group of a thread has no member there. */
static void a_thread_without_a_leader_has_no_group(void **state)
{
    struct script s = { .reading = READING, .fails = { { "o a 1 -1", COUNTER_GONE } } };
    struct counts c;
    (void)state;
    count(&plain, &s, 2, 2, 8, &c);
    assert_log(&s, "o a 0 -1, o b 0 0, o a 1 -1, | s 0, e 0, r 0 2, | c 1, c 0, ");
    assert_true(c.n == 2 && c.count[1].value == 4);
    struct script t = { .reading = READING, .fails = { { "o a 1 -1", -7 } } };
    count(&plain, &t, 2, 2, 8, &c);
    assert_false(c.available);
    assert_string_equal(c.reason, "code -7 of a");
    str_free(&t.log);
}

/* A member that a thread lacks: the values of the others keep their places. */
static void values_belong_to_their_events(void **state)
{
    struct script s = { .reading = { 10, 10, { 8, 16, 32 } },
                        .fails = { { "o b 1 3", COUNTER_GONE } } };
    struct counts c;
    (void)state;
    count(&plain, &s, 2, 3, 8, &c);
    assert_log(&s, "o a 0 -1, o b 0 0, o c 0 0, o a 1 -1, o b 1 3, o c 1 3, "
                   "| s 0, s 3, e 0, e 3, r 0 3, r 3 2, | c 2, c 1, c 0, c 4, c 3, ");
    assert_true(c.count[0].value == 4 && c.count[1].value == 4);
    assert_true(c.count[2].value == 32 / 4.0 + 16 / 4.0);
}

/* A group that failed is not asked further, and keeps its reason. */
static void failures_end_a_group(void **state)
{
    static const struct { const char *call, *log, *missing; } t[] = {
        { "s 1", "| s 0, s 1, e 0, r 0 1, | ", "n_b: code -9 of b" },
        { "e 0", "| s 0, s 1, e 0, e 1, r 1 1, | ", "n_a: code -9 of a" },
        { "r 1 1", "| s 0, s 1, e 0, e 1, r 0 1, r 1 1, | ", "n_b: code -9 of b" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        struct script s = { .reading = READING, .fails = { { t[i].call, -9 } } };
        struct counts c;
        char log[200];
        count(&plain, &s, 1, 2, 1, &c);
        snprintf(log, sizeof log, "o a 0 -1, o b 0 -1, %sc 0, c 1, ", t[i].log);
        assert_log(&s, log);
        assert_true(c.n == 1 && c.count[0].value == 2);
        assert_string_equal(c.missing, t[i].missing);
    }
}

/* One group at a time, on the threads of the source. */
static void passes_take_one_group(void **state)
{
    struct counter_source source = plain;
    struct script s = { .reading = READING };
    struct counts c;
    (void)state;
    source.one_group = true;
    source.on_threads = on_threads;
    count(&source, &s, 2, 3, 2, &c);
    assert_log(&s, "o a 0 -1, o b 0 0, o c 0 -1, o a 1 -1, o b 1 3, o c 1 -1, "
                   "| s 3, s 0, e 3, e 0, r 0 2, r 3 2, | s 5, s 2, e 5, e 2, r 2 1, r 5 1, "
                   "| c 1, c 0, c 2, c 4, c 3, c 5, ");
    assert_int_equal(s.n_on_threads, 5);  /* to open, and to start and stop in two passes */
    assert_true(c.n == 3 && c.count[2].value == 4);
}

static void nothing_has_a_reason(void **state)
{
    struct script s = { .reading = READING }, never = { .n = 0 };
    struct counts c;
    (void)state;
    count(&plain, &s, 1, 0, 8, &c);
    assert_log(&s, "");
    assert_false(c.available);
    assert_string_equal(c.reason, "no events to count");
    count(&plain, &never, 1, 1, 8, &c);
    str_free(&never.log);
    assert_false(c.available);
    assert_string_equal(c.reason, "its counter was never enabled");
    counting_close(NULL);
}

/* Times at their limits. A value of 8 in 4 calls is 2. */
static void times_scale_values(void **state)
{
    static const struct { uint64_t enabled, running, value; double is, share; bool scaled; } t[] = {
        { 10, 5, 8, 4, 0.5, true }, { 10, 10, 8, 2, 1, false }, { 10, 12, 8, 2, 1, false },
        { 10, 10, INT64_MAX, (double)INT64_MAX / 4, 1, false },
    };
    struct counts c;
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        struct script s = { .reading = { t[i].enabled, t[i].running, { t[i].value } } };
        count(&plain, &s, 1, 1, 8, &c);
        str_free(&s.log);
        assert_true(c.n == 1 && c.count[0].value == t[i].is && c.count[0].running == t[i].share);
        assert_int_equal(c.count[0].scaled, t[i].scaled);
    }
    struct script s = { .reading = { 10, 10, { (uint64_t)INT64_MAX + 1 } } };
    count(&plain, &s, 1, 1, 8, &c);
    str_free(&s.log);
    assert_string_equal(c.reason, "the counter overflowed");
}

static void what_stands_still_is_no_zero(void **state)
{
    struct script s = { .reading = { 10, 10, { 0 } } };
    struct counts c;
    (void)state;
    count(&plain, &s, 1, 4, 8, &c);
    str_free(&s.log);
    assert_string_equal(c.reason, "the counters of this machine can be opened but do not count "
                                  "(n_z is 0)");
    assert_true(!c.available && c.n == 0);
    struct script three = { .reading = { 10, 10, { 0 } } };
    count(&plain, &three, 1, 3, 8, &c);
    str_free(&three.log);
    assert_true(c.available && c.n == 3 && c.count[0].value == 0);
}

static void counts_have_room(void **state)
{
    struct counts c = { .n = 0 };
    double v = 7;
    char name[60];
    (void)state;
    for (int i = 0; i <= COUNTS_MAX; i++) {
        snprintf(name, sizeof name, "n%d", i);
        assert_int_equal(counts_add(&c, name, i), i < COUNTS_MAX);
    }
    assert_int_equal(c.n, COUNTS_MAX);
    assert_true(counts_get(&c, "n0", &v) && v == 0);
    assert_true(counts_get(&c, "n31", &v) && v == 31);
    assert_false(counts_get(&c, "n32", &v) || v != 31);
    counts_refuse(&c, "%d of %s", 3, "them");
    assert_true(c.n == 0 && !c.available);
    assert_string_equal(c.reason, "3 of them");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_opened_and_closed_in_order),
        cmocka_unit_test(a_refused_event_begins_a_group),
        cmocka_unit_test(a_thread_without_a_leader_has_no_group),
        cmocka_unit_test(values_belong_to_their_events),
        cmocka_unit_test(failures_end_a_group),
        cmocka_unit_test(passes_take_one_group),
        cmocka_unit_test(nothing_has_a_reason),
        cmocka_unit_test(times_scale_values),
        cmocka_unit_test(what_stands_still_is_no_zero),
        cmocka_unit_test(counts_have_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
