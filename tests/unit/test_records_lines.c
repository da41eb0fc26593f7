/* Lines of records: what is printed is read back to the same text, limits and one beyond them;
 * which of two states of a run counts; and filters, each for itself. */
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/tune/problem.h"
#include "sessions/records/records_impl.h"
#include "tests/unit/records_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static const char *dir;
static char path[300];
static struct arena *a;

static int setup(void **state)
{
    (void)state;
    dir = temp_dir(NULL);
    snprintf(path, sizeof path, "%s/records.db", dir);
    a = arena_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(a);
    return 0;
}

/* --- Lines ------------------------------------------------------------------------------------ */

#define ID "0123456789abcdef"
#define TASK "\"spec\": \"" RECORD_SPEC "\", \"threads\": 1, \"isa\": \"avx2\", \"machine\": \"m\""
#define RUN "{\"format\": 1, \"kind\": \"run\", \"run\": \"" ID "\", " TASK "," \
            " \"strategy\": \"ppo\", \"seed\": 1, \"budget\": 10, \"options\": null," \
            " \"started\": \"2026-11-21T06:19:47Z\", \"ended\": null, \"state\": \"stopped\"}"
#define TIMES "{\"median\": 2, \"min\": 1.5, \"spread\": 0.1, \"runs\": 9}"
#define RECORD(times, verified) \
            "{\"format\": 1, \"kind\": \"record\", \"run\": \"" ID "\", \"trial\": 1," \
            " \"strategy\": \"ppo\", \"seed\": 1, " TASK "," \
            " \"steps\": [\"loop unroll C M\"], \"outcome\": \"ok\", \"reason\": null," \
            " \"latency_ms\": " times ", \"gflops\": 1.5, \"verified\": " verified "," \
            " \"max_rel_err\": 1e-06, \"compile_s\": null, \"measure_s\": 0.1," \
            " \"features\": null, \"version\": \"0.1.0\", \"date\": \"2026-11-21T06:19:47Z\"}"
#define TIMED RECORD(TIMES, "true")
#define UNTIMED RECORD("null", "false")
#define X10 "xxxxxxxxxx"

/* Returns text with the first occurrence of from replaced by to. */
static const char *edited(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (!at)
        fail_msg("no %s in %s", from, text);
    return arena_printf(a, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static bool read_line(const char *line, bool *is_run, struct record *rec, struct record_run *run,
                      struct err *e)
{
    struct line_reader *lr = records_line_reader_new();
    bool ok = records_line_read(lr, a, "x.jsonl", 7, line, strlen(line), is_run, rec, run, e);
    records_line_reader_free(lr);
    return ok;
}

/* base with from -> to is read, and printed as it was. */
static const struct { const char *base, *from, *to; } taken[] = {
    { TIMED, "", "" }, { UNTIMED, "", "" }, { RUN, "", "" },
    { TIMED, "\"trial\": 1", "\"trial\": 2147483647" },
    { TIMED, "\"seed\": 1", "\"seed\": 0" },
    { TIMED, "\"seed\": 1", "\"seed\": 9223372036854775807" },
    { TIMED, "\"seed\": 1", "\"seed\": \"9223372036854775808\"" },
    { TIMED, "\"seed\": 1", "\"seed\": \"18446744073709551615\"" },
    { TIMED, "\"threads\": 1", "\"threads\": 1024" },
    { TIMED, "\"ppo\"", "\"" X10 X10 X10 X10 "\"" },
    { TIMED, "\"avx2\"", "\"" X10 X10 X10 "x\"" },
    { TIMED, "\"0.1.0\"", "\"" X10 X10 X10 X10 "\"" },
    { TIMED, "[\"loop unroll C M\"]", "[]" },
    { TIMED, "[\"loop unroll C M\"]", "[\"loop unroll C M\", \"loop unroll C N\"]" },
    { TIMED, "\"reason\": null", "\"reason\": \"é \\\"x\\\"\"" },
    { TIMED, "\"min\": 1.5", "\"min\": 2" }, { TIMED, "\"spread\": 0.1", "\"spread\": 0" },
    { TIMED, "\"runs\": 9", "\"runs\": 1" }, { TIMED, "\"runs\": 9", "\"runs\": 2147483647" },
    { TIMED, "\"gflops\": 1.5", "\"gflops\": null" },
    { TIMED, "1e-06", "0" }, { TIMED, "1e-06", "null" },
    { TIMED, "\"compile_s\": null", "\"compile_s\": 0" },
    { TIMED, "\"measure_s\": 0.1", "\"measure_s\": null" },
    { TIMED, "\"features\": null", "\"features\": \"ffffffffffffffff\"" },
    { TIMED, "\"features\": null", "\"features\": \"0000000000000001\"" },
    { TIMED, "2026-11-21T06:19:47Z", "2026-12-31T23:59:60Z" },
    { TIMED, "2026-11-21T06:19:47Z", "2026-01-01T00:00:00Z" },
    { UNTIMED, "\"verified\": false", "\"verified\": true" },
    { UNTIMED, "\"ok\"", "\"compile error\"" }, { UNTIMED, "\"ok\"", "\"ill-conditioned\"" },
    { UNTIMED, "\"features\": null", "\"features\": null, \"simulated_ms\": 0.25" },
    { RUN, "\"budget\": 10", "\"budget\": 0" },
    { RUN, "\"budget\": 10", "\"budget\": 9223372036854775807" },
    { RUN, "\"options\": null", "\"options\": {\"joint\": 300}" },
    { RUN, "\"ended\": null", "\"ended\": \"2026-11-22T06:19:47Z\"" },
    { RUN, "\"stopped\"", "\"running\"" }, { RUN, "\"stopped\"", "\"finished\"" },
    { RUN, "\"stopped\"", "\"settled\"" }, { RUN, "\"stopped\"", "\"killed\"" },
};

static void lines_are_printed_as_they_were(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(taken); i++) {
        const char *line = edited(taken[i].base, taken[i].from, taken[i].to);
        struct str out = {0};
        struct record rec;
        struct record_run run;
        struct err e = {0};
        bool is_run;
        if (!read_line(line, &is_run, &rec, &run, &e))
            fail_msg("row %d, %s: %s", i, taken[i].to, e.text);
        assert_int_equal(is_run, streq(taken[i].base, RUN));
        if (is_run)
            records_run_json(&out, &run);
        else
            records_json(&out, &rec);
        assert_string_equal(str_text(&out), line);
        str_free(&out);
    }
}

/* One beyond each limit, with the whole sentence and its fix.  key: where the error stands; NULL:
 * at the beginning. */
static const struct { const char *base, *from, *to, *key, *text, *fix; } refused[] = {
    { TIMED, "\"trial\": 1", "\"trial\": 2147483648", "trial",
      "\"trial\" is not in 1..2147483647", "" },
    { TIMED, "\"threads\": 1", "\"threads\": 1025", "threads",
      "\"threads\" is not in 1..1024", "" },
    { TIMED, "\"seed\": 1", "\"seed\": \"9223372036854775807\"", "seed",
      "\"seed\" is neither a whole number from 0, nor the digits of one above 2^63 - 1", "" },
    { TIMED, "\"ppo\"", "\"" X10 X10 X10 X10 "x\"", "strategy",
      "\"strategy\" is not a text of 1 to 40 bytes", "" },
    { TIMED, "\"avx2\"", "\"" X10 X10 X10 "xx\"", "isa",
      "\"isa\" is not a text of 1 to 31 bytes", "" },
    { TIMED, "\"0.1.0\"", "\"" X10 X10 X10 X10 "x\"", "version",
      "\"version\" is not a text of 1 to 40 bytes", "" },
    { TIMED, "\"reason\": null", "\"reason\": \"\"", "reason",
      "\"reason\" is not a text of 1 to 4000 bytes, or null", "" },
    { TIMED, "\"reason\": null", "\"reason\": 1", "reason",
      "\"reason\" is not a text of 1 to 4000 bytes, or null", "" },
    { TIMED, ID, "0123456789abcde", "run", "\"run\" is not 16 hexadecimal digits", "" },
    { TIMED, "gmm m", "gmm  m", "spec", "\"spec\" is not as tilescope writes it", RECORD_SPEC },
    { TIMED, "loop unroll", "loop  unroll", "steps",
      "step 1, \"loop  unroll C M\", is not as tilescope writes it", "loop unroll C M" },
    { TIMED, "\"format\": 1", "\"format\": 2", "format",
      "the line is of format 2; this version knows 1", "update tilescope" },
    { TIMED, "\"format\": 1", "\"format\": 0", "format",
      "\"format\" is not in 1..9223372036854775807", "" },
    { TIMED, "\"date\"", "\"verfied\": 1, \"date\"", "verfied", "unknown key \"verfied\"",
      "did you mean \"verified\"?" },
    { TIMED, "\"runs\": 9", "\"runs\": 2147483648", "latency_ms",
      "runs in \"latency_ms\" is not a whole number from 1", "" },
    { TIMED, "\"runs\": 9", "\"runs\": 9, \"more\": 1", "latency_ms",
      "\"latency_ms\" is neither null nor an object of median, min, spread and runs", "" },
    { TIMED, "\"spread\": 0.1", "\"spread\": -0.1", "latency_ms",
      "\"latency_ms\" is below 0", "" },
    { TIMED, "\"min\": 1.5", "\"min\": 2.001", "latency_ms",
      "min in \"latency_ms\" is not above 0 and at most the median", "" },
    { TIMED, "\"max_rel_err\": 1e-06", "\"max_rel_err\": true", "max_rel_err",
      "\"max_rel_err\" is not a number or null", "" },
    { TIMED, "\"features\": null", "\"features\": \"0000000000000000\"", "features",
      "\"features\" is not 16 hexadecimal digits, or null", "" },
    { TIMED, "\"features\": null", "\"features\": \"FFFFFFFFFFFFFFFF\"", "features",
      "\"features\" is not 16 hexadecimal digits, or null", "" },
    { TIMED, "\"features\": null", "\"features\": null, \"simulated_ms\": 1", "simulated_ms",
      "it has a simulated time and a measured one", "" },
    { UNTIMED, "\"features\": null", "\"features\": null, \"simulated_ms\": -1", "simulated_ms",
      "\"simulated_ms\" is below 0", "" },
    { TIMED, "\"verified\": true", "\"verified\": false", "verified",
      "the record has a time, but `verified` is false; only verified kernels are timed", "" },
    { RUN, "\"" RECORD_SPEC "\"", "1", "spec", "\"spec\" is not a text of 1 to 1048576 bytes", "" },
    { RUN, "\"started\": \"2026-11-21T06:19:47Z\", ", "", NULL,
      "the key \"started\" is missing", "" },
};

static void one_beyond_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(refused); i++) {
        const char *line = edited(refused[i].base, refused[i].from, refused[i].to);
        const char *key = refused[i].key;
        const char *quoted = key ? arena_printf(a, "\"%s\":", key) : NULL;
        struct record rec;
        struct record_run run;
        struct err e = {0};
        bool is_run;
        if (read_line(line, &is_run, &rec, &run, &e))
            fail_msg("row %d, %s is taken", i, refused[i].to);
        assert_string_equal(e.text, refused[i].text);
        assert_string_equal(e.fix, refused[i].fix);
        assert_int_equal(e.at.line, 7);
        assert_int_equal(e.at.col, key ? 1 + (int)(strstr(line, quoted) - line) : 1);
        assert_int_equal(e.at.len, key ? (int)strlen(key) + 2 : 1);
    }
}

/* Each part of a date beyond its end. */
static void dates_exist(void **state)
{
    static const char *const bad[] = {
        "2026-00-21T06:19:47Z", "2026-13-21T06:19:47Z", "2026-11-00T06:19:47Z",
        "2026-11-32T06:19:47Z", "2026-11-21T24:19:47Z", "2026-11-21T06:60:47Z",
        "2026-11-21T06:19:61Z", "2026-11-21 06:19:47Z", "2026-11-21T06:19:4:Z",
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(bad); i++) {
        const char *line = edited(RUN, "2026-11-21T06:19:47Z", bad[i]);
        struct record rec;
        struct record_run run;
        struct err e = {0};
        bool is_run;
        if (read_line(line, &is_run, &rec, &run, &e))
            fail_msg("%s is taken", bad[i]);
        assert_string_equal(e.text, "\"started\" is not a date as 2026-11-21T06:19:47Z");
    }
}

/* The error stands at the key of the line itself, and not at a text or a deeper key like it. */
static void keys_are_found(void **state)
{
    const char *line = edited(RUN, "\"ppo\"", "\"a \\\"state\\\": b\"");
    struct record rec;
    struct record_run run;
    struct err e = {0};
    bool is_run;
    (void)state;
    line = edited(line, "\"avx2\"", "\"state\"");
    line = edited(line, "\"options\": null", "\"options\": {\"state\": [{\"state\": 1}]}");
    line = edited(line, "\"stopped\"", "\"gone\"");
    assert_false(read_line(line, &is_run, &rec, &run, &e));
    assert_string_equal(e.text,
                        "\"state\" is none of running, finished, stopped, settled, killed");
    assert_int_equal(e.at.col, 1 + (int)(strstr(line, "\"state\": \"gone\"") - line));
    assert_false(read_line("[]", &is_run, &rec, &run, &e));
    assert_string_equal(e.text, "the line is not an object");
    assert_int_equal(e.at.col, 1);
}

/* --- Two copies of a run ---------------------------------------------------------------------- */

static bool import(struct records *r, const char *line, struct records_added *added, struct err *e)
{
    return records_import(r, "x.jsonl", line, strlen(line), NULL, added, e);
}

static struct record_run run_of(struct records *r, const char *id)
{
    struct record_filter f = { .run = id, .any_machine = true };
    const struct record_run *run;
    struct err e;
    int n;
    assert_true(records_runs(r, &f, a, &run, &n, &e));
    assert_int_equal(n, 1);
    return *run;
}

/* Finished counts more than settled, settled more than stopped, stopped more than no end. */
static void the_later_state_counts(void **state)
{
    static const struct { const char *here, *comes; enum run_state then; bool ends; } row[] = {
        { "stopped", "settled", RUN_SETTLED, true }, { "settled", "stopped", RUN_SETTLED, false },
        { "settled", "finished", RUN_FINISHED, true },
        { "finished", "settled", RUN_FINISHED, false },
        { "stopped", "finished", RUN_FINISHED, true }, { "killed", "stopped", RUN_STOPPED, true },
        { "running", "settled", RUN_SETTLED, true }, { "stopped", "running", RUN_STOPPED, false },
        { "finished", "killed", RUN_FINISHED, false }, { "killed", "running", RUN_KILLED, false },
        { "stopped", "stopped", RUN_STOPPED, false },
    };
    struct records *r = records_must_open(path);
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        const char *id = arena_printf(a, "0123456789abcd%02x", (unsigned)i);
        const char *line = edited(RUN, ID, id);
        const char *later = edited(line, "\"ended\": null", "\"ended\": \"2026-11-22T06:19:47Z\"");
        struct records_added added;
        struct err e;
        assert_true(import(r, edited(line, "stopped", row[i].here), &added, &e));
        assert_int_equal(added.runs, 1);
        assert_true(import(r, edited(later, "stopped", row[i].comes), &added, &e));
        assert_int_equal(added.runs, 0);
        struct record_run run = run_of(r, id);
        if (run.state != row[i].then)
            fail_msg("%s, then %s: %s", row[i].here, row[i].comes, records_state_name[run.state]);
        assert_string_equal(run.ended, row[i].ends ? "2026-11-22T06:19:47Z" : "");
    }
    records_close(r);
}

static void another_run_of_the_name(void **state)
{
    static const struct { const char *from, *to; bool same; } row[] = {
        { "m=32", "m=33", false }, { "avx2", "sse", false },
        { "\"threads\": 1", "\"threads\": 2", false },
        { "\"machine\": \"m\"", "\"machine\": \"n\"", false },
        { "06:19:47Z", "06:19:48Z", false }, { "\"seed\": 1", "\"seed\": 2", false },
        { "ppo", "evo", true }, { "\"budget\": 10", "\"budget\": 11", true },
    };
    struct records *r = records_must_open(path);
    struct records_added added;
    struct err e = {0};
    (void)state;
    assert_true(import(r, RUN, &added, &e));
    for (int i = 0; i < COUNT_OF(row); i++) {
        bool same = import(r, edited(RUN, row[i].from, row[i].to), &added, &e);
        if (same != row[i].same)
            fail_msg("%s: %s", row[i].to, same ? "" : e.text);
        if (!same)
            assert_string_equal(e.text, "run " ID " already exists here with another task, "
                                        "machine, seed or start");
    }
    assert_string_equal(run_of(r, ID).strategy, "ppo");
    records_close(r);
}

/* --- Filters ---------------------------------------------------------------------------------- */

/* Two runs: six trials of RECORD_SPEC, of which the third failed and two are of another strategy;
 * and two trials of another operator, by two threads. */
static struct records *two_tasks(char id[2][RUN_ID])
{
    struct records *r = records_must_open(path);
    struct record_run run = { .spec = "gmm m=8 k=8 n=8", .isa = "sse", .threads = 2,
                              .strategy = "ppo" };
    struct err e;
    records_must_start(r, 1, id[0]);
    if (!records_run_start(r, &run, id[1], &e))
        fail_msg("%s", e.text);
    for (int i = 6; i >= 1; i--) {
        struct record rec = record_make(a, id[0], i);
        rec.strategy = i <= 2 ? "evo" : rec.strategy;
        records_must_add(r, &rec);
    }
    for (int i = 1; i <= 2; i++) {
        struct record rec = record_make(a, id[1], i);
        records_must_add(r, &rec);
    }
    return r;
}

static void each_filter_for_itself(void **state)
{
    char id[2][RUN_ID];
    struct records *r = two_tasks(id);
    const struct record_filter any = { .any_machine = true };
    const struct record_task *task;
    struct err e;
    int n;
    (void)state;
    assert_true(records_tasks(r, &any, a, &task, &n, &e) && n == 2);
    const struct { struct record_filter f; int records, runs; } row[] = {
        { any, 8, 2 }, { { .limit = 3 }, 3, 2 }, { { .limit = 1 }, 1, 1 },
        { { .spec = RECORD_SPEC }, 6, 1 }, { { .isa = "sse" }, 2, 1 }, { { .threads = 2 }, 2, 1 },
        { { .threads = 3 }, 0, 0 }, { { .task = task[0].task }, 6, 1 },
        { { .task = task[1].task }, 2, 1 }, { { .run = id[1] }, 2, 1 },
        { { .strategy = "evo" }, 2, 0 }, { { .strategy = "random" }, 6, 1 },
        { { .strategy = "ppo" }, 0, 1 }, { { .outcome = "crash" }, 1, 2 },
        { { .good = true }, 7, 2 }, { { .failed = true }, 1, 2 },
        { { .before = "2000-01-01" }, 0, 0 }, { { .before = "9000-01-01" }, 8, 2 },
        { { .machine = "another" }, 0, 0 },
        { { .machine = "another", .any_machine = true }, 8, 2 },
        { { .machine = records_machine(r) }, 8, 2 },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        const struct record *rec;
        const struct record_run *run;
        assert_true(records_list(r, &row[i].f, a, &rec, &n, &e));
        if (n != row[i].records)
            fail_msg("row %d: %d records", i, n);
        assert_true(records_runs(r, &row[i].f, a, &run, &n, &e));
        if (n != row[i].runs)
            fail_msg("row %d: %d runs", i, n);
    }
    records_close(r);
}

static void tasks_are_summed_up(void **state)
{
    char id[2][RUN_ID];
    struct records *r = two_tasks(id);
    const struct record_filter any = { .any_machine = true };
    const struct record_task *task;
    struct err e;
    int n;
    (void)state;
    assert_true(records_tasks(r, &any, a, &task, &n, &e) && n == 2);
    assert_string_equal(task[0].spec, RECORD_SPEC);
    assert_string_equal(task[0].isa, "avx2");
    assert_string_equal(task[0].machine, records_machine(r));
    assert_true(task[0].threads == 1 && task[0].n_records == 6 && task[0].n_good == 5);
    assert_int_equal(task[0].n_runs, 1);
    assert_true(task[0].best_ms == 1.0 / 6 && task[0].best_gflops == 0.7 * 6);
    assert_int_equal(strlen(task[0].last), 20);
    assert_true(task[1].threads == 2 && task[1].n_records == 2 && task[1].best_ms == 1.0 / 2);
    records_close(r);
}

static void records_have_an_order(void **state)
{
    static const struct { bool fastest, good; int n, trial[6]; } row[] = {
        { false, false, 6, { 1, 2, 3, 4, 5, 6 } }, { false, true, 5, { 1, 2, 4, 5, 6 } },
        { true, true, 5, { 6, 5, 4, 2, 1 } }, { true, false, 6, { 6, 5, 4, 2, 1, 3 } },
    };
    char id[2][RUN_ID];
    struct records *r = two_tasks(id);
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct record_filter f = { .run = id[0], .fastest = row[i].fastest, .good = row[i].good };
        const struct record *rec;
        struct err e;
        int n;
        assert_true(records_list(r, &f, a, &rec, &n, &e));
        assert_int_equal(n, row[i].n);
        for (int k = 0; k < n; k++)
            assert_int_equal(rec[k].trial, row[i].trial[k]);
    }
    records_close(r);
}

/* A candidate that was measured has its numbers; any candidate has its lines and its reason. */
static void of_a_candidate(void **state)
{
    static const char *const line[] = { "loop unroll C M", "loop unroll C N" };
    struct measurement m = { .outcome = OUTCOME_OK, .verified = true, .max_rel_err = 0.5,
                             .gflops = 2, .latency = { .min_ms = 1, .median_ms = 2, .runs = 3 } };
    struct tune_candidate c = { .n_lines = 2, .line = line, .trial = 4, .outcome = OUTCOME_TIMEOUT,
                                .reason = "slow", .features = 9, .compile_s = 0.25,
                                .measure_s = 0.5 };
    struct record rec;
    (void)state;
    for (int measured = 0; measured < 2; measured++) {
        c.m = measured ? &m : NULL;
        records_of_candidate(a, &rec, &c);
        assert_int_equal(rec.trial, 5);
        assert_string_equal(rec.steps, "loop unroll C M\nloop unroll C N");
        assert_int_equal(rec.outcome, OUTCOME_TIMEOUT);
        assert_string_equal(rec.reason, "slow");
        assert_true(rec.features == 9 && rec.compile_s == 0.25 && rec.measure_s == 0.5);
        assert_int_equal(rec.runs, measured ? 3 : 0);
        assert_true(rec.min_ms == measured && rec.median_ms == 2 * measured);
        assert_true(rec.gflops == 2 * measured && rec.verified == measured);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(lines_are_printed_as_they_were), T(one_beyond_is_refused), T(dates_exist),
        T(keys_are_found), T(the_later_state_counts), T(another_run_of_the_name),
        T(each_filter_for_itself), T(tasks_are_summed_up), T(records_have_an_order),
        T(of_a_candidate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
