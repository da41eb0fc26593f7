/* Records from file to file: export and import are each other's inverse, a bad line changes
 * nothing, merging twice is merging once. */
#include <jansson.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "sessions/records/records_impl.h"
#include "tests/unit/records_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static uint64_t seed = 1;
static const char *dir;
static char path[300], other[300];
static struct arena *a;

static int setup(void **state)
{
    (void)state;
    dir = temp_dir(NULL);
    snprintf(path, sizeof path, "%s/records.db", dir);
    snprintf(other, sizeof other, "%s/other.db", dir);
    a = arena_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(a);
    return 0;
}

/* Two runs, one finished, with n records each. */
static struct records *filled(const char *file, int n)
{
    struct records *r = records_must_open(file);
    struct err e;
    for (int run = 0; run < 2; run++) {
        char id[RUN_ID];
        records_must_start(r, run ? UINT64_MAX : 5, id);
        for (int i = 1; i <= n; i++) {
            struct record rec = record_make(a, id, i);
            if (run && i == 1)
                rec.steps = "";
            if (run && i == 2)
                rec.reason = "caf\xc3\xa9 \"quoted\"\n\\ and a tab\t";
            records_must_add(r, &rec);
        }
        assert_true(records_run_end(r, id, run ? RUN_FINISHED : RUN_STOPPED, &e));
    }
    return r;
}

static void import_all(struct records *r, const struct str *text, struct records_added *added)
{
    struct err e = {0};
    if (!records_import(r, "x.jsonl", str_text(text), text->len, NULL, added, &e))
        fail_msg("line %d, column %d: %s", e.at.line, e.at.col, e.text);
}

static void there_and_back(void **state)
{
    (void)state;
    struct records *r = filled(path, 20), *to = records_must_open(other);
    struct str out = {0}, again = {0};
    struct records_added added;
    records_must_export(r, &out);
    import_all(to, &out, &added);
    assert_true(added.runs == 2 && added.records == 40 && added.known == 0);
    records_must_export(to, &again);
    assert_string_equal(str_text(&again), str_text(&out));
    import_all(to, &out, &added);                             /* the same once more */
    assert_true(added.runs == 0 && added.records == 0 && added.known == 40);
    import_all(r, &out, &added);                              /* where it came from */
    assert_true(added.runs == 0 && added.records == 0 && added.known == 40);
    records_close(r);
    records_close(to);
    str_free(&out);
    str_free(&again);
}

static void merging(void **state)
{
    (void)state;
    struct records *from = filled(other, 20), *r = filled(path, 8);
    struct records_added added;
    struct str before = {0}, after = {0};
    struct err e;
    records_must_export(from, &before);
    records_close(from);
    for (int i = 0; i < 2; i++) {
        assert_true(records_merge(r, other, NULL, &added, &e));
        assert_int_equal(added.runs, i ? 0 : 2);
        assert_int_equal(added.records, i ? 0 : 40);
        assert_int_equal(added.known, i ? 40 : 0);
        assert_int_equal(records_count(r), 56);
    }
    from = records_must_open(other);
    records_must_export(from, &after);
    assert_string_equal(str_text(&before), str_text(&after));
    records_close(from);
    assert_true(records_merge(r, path, NULL, &added, &e));          /* itself */
    assert_int_equal(added.known, 56);
    assert_false(records_merge(r, "/none/at/all.db", NULL, &added, &e));
    assert_true(file_write_atomic(other, "garbage in a file", 17, &e));
    assert_false(records_merge(r, other, NULL, &added, &e));
    assert_non_null(strstr(e.text, "damaged"));
    assert_null(strstr(e.fix, "aside"));                       /* it would move the wrong file */
    assert_int_equal(records_count(r), 56);
    records_close(r);
    str_free(&before);
    str_free(&after);
}

/* A cancel comes with the tenth record that is written. */
struct stop { struct cancel cancel; int left; };

static int stop_later(unsigned what, void *ctx, void *statement, void *sql)
{
    struct stop *stop = ctx;
    (void)what, (void)statement;
    if (strstr(sql, "INTO record(") && --stop->left == 0)
        atomic_store(&stop->cancel.raised, 1);
    return 0;
}

/* Stopped half-way, nothing has come in; once more, all of it does. */
static void stopped_half_way(void **state)
{
    (void)state;
    struct records *from = filled(other, 20), *r = filled(path, 8);
    struct records_added added = { .records = 7 };
    struct str text = {0};
    struct err e;
    records_must_export(from, &text);
    records_close(from);
    for (int i = 0; i < 2; i++) {
        struct stop stop = { .left = 10 };
        assert_int_equal(sqlite3_trace_v2(r->db, SQLITE_TRACE_STMT, stop_later, &stop), SQLITE_OK);
        assert_false(i == 0 ? records_merge(r, other, &stop.cancel, &added, &e)
                            : records_import(r, "x", str_text(&text), text.len, &stop.cancel,
                                             &added, &e));
        assert_int_equal(e.code, ERR_CANCEL);
        assert_int_equal(stop.left, 0);
        assert_int_equal(added.records, 7);
        assert_int_equal(records_count(r), 16);
    }
    sqlite3_trace_v2(r->db, 0, NULL, NULL);
    assert_true(records_merge(r, other, NULL, &added, &e));
    assert_int_equal(records_count(r), 56);
    records_close(r);
    str_free(&text);
}

/* When records are asked for, a tuner starts a run in the file that they come from. */
static int late_runs;

static int start_late(unsigned what, void *ctx, void *statement, void *sql)
{
    (void)what, (void)ctx, (void)statement;
    if (!strstr(sql, "SELECT") || !strstr(sql, "FROM record JOIN") || late_runs++ > 0)
        return 0;
    struct records *r = records_must_open(other);
    char id[RUN_ID];
    records_must_start(r, 9, id);
    struct record rec = record_make(a, id, 1);
    records_must_add(r, &rec);
    records_close(r);
    return 0;
}

static int watch(sqlite3 *db, char **why, const void *api)
{
    (void)why, (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, start_late, NULL);
}

/* What begins while a file is merged comes with the next merge. */
static void merged_while_it_grows(void **state)
{
    (void)state;
    struct records *from = filled(other, 20), *r = filled(path, 8);
    struct records_added added;
    struct err e;
    records_close(from);
    sqlite3_auto_extension((void (*)(void))watch);
    bool ok = records_merge(r, other, NULL, &added, &e);
    sqlite3_reset_auto_extension();
    if (!ok)
        fail_msg("%s", e.text);
    assert_true(late_runs > 0);
    assert_int_equal(added.records, 40);
    assert_true(records_merge(r, other, NULL, &added, &e));
    assert_int_equal(added.runs, 1);
    assert_int_equal(added.records, 1);
    records_close(r);
}

/* Of two accounts of a run the more final one counts; another run of that name is refused. */
static void two_accounts(void **state)
{
    (void)state;
    struct records *r = filled(path, 3), *to = records_must_open(other);
    struct records_added added;
    struct str out = {0};
    struct err e;
    records_must_export(r, &out);
    import_all(to, &out, &added);
    const struct record_run *run;
    int n;
    struct record_filter all = { .any_machine = true };
    assert_true(records_runs(r, &all, a, &run, &n, &e));
    assert_int_equal(n, 2);
    const char *open = run[run[0].state == RUN_FINISHED].id;
    assert_true(records_run_end(r, open, RUN_FINISHED, &e));
    records_must_export(r, &out);
    import_all(to, &out, &added);
    assert_true(records_runs(to, &all, a, &run, &n, &e));
    assert_true(run[0].state == RUN_FINISHED && run[1].state == RUN_FINISHED);
    char *at = strstr(str_text(&out), "\"seed\": 5");
    assert_non_null(at);
    at[8] = '6';
    assert_false(records_import(to, "x", str_text(&out), out.len, NULL, &added, &e));
    assert_int_equal(e.code, ERR_NAME);
    assert_non_null(strstr(e.text, "already exists here with another"));
    records_close(r);
    records_close(to);
    str_free(&out);
}

/* --- Lines that are wrong --------------------------------------------------------------------- */

#define RUN "{\"format\": 1, \"kind\": \"run\", \"run\": \"0123456789abcdef\", \"spec\": \"" \
            RECORD_SPEC "\", \"threads\": 1, \"isa\": \"avx2\", \"machine\": \"m\"," \
            " \"strategy\": \"ppo\", \"seed\": 1, \"budget\": 10, \"options\": null," \
            " \"started\": \"2026-11-21T06:19:47Z\", \"ended\": null, \"state\": \"stopped\"}\n"
#define REC "{\"format\": 1, \"kind\": \"record\", \"run\": \"0123456789abcdef\", \"trial\": 1," \
            " \"strategy\": \"ppo\", \"seed\": 1, \"spec\": \"" RECORD_SPEC "\"," \
            " \"threads\": 1, \"isa\": \"avx2\", \"machine\": \"m\"," \
            " \"steps\": [\"loop unroll C M\"], \"outcome\": \"ok\", \"reason\": null," \
            " \"latency_ms\": {\"median\": 2, \"min\": 1.5, \"spread\": 0.1, \"runs\": 9}," \
            " \"gflops\": 1.5, \"verified\": true, \"max_rel_err\": 1e-6, \"compile_s\": null," \
            " \"measure_s\": 0.1, \"features\": null, \"version\": \"0.1.0\"," \
            " \"date\": \"2026-11-21T06:19:47Z\"}\n"

/* from -> to in the record (or, with run, in its run); then the error stands at the text `at`. */
static const struct { bool run; const char *from, *to, *at, *says; } wrong[] = {
    { false, "{\"format\"", "\"format\"", NULL, "not JSON" },
    { false, "1.5,", "1.5.5,", NULL, "not JSON" },
    { false, "\"format\": 1", "\"format\": 2", "\"format\"", "format 2; this version knows 1" },
    { false, "\"format\": 1", "\"format\": \"1\"", "\"format\"", "not a whole number" },
    { false, "\"record\"", "\"recrod\"", "\"kind\"", "neither \"run\" nor \"record\"" },
    { false, "0123456789abcdef", "0123456789abcdeg", "\"run\"", "16 hexadecimal" },
    { false, "0123456789abcdef", "0123456789abcde0", "{", "the line of a run must come before" },
    { false, "\"trial\": 1", "\"trial\": 0", "\"trial\"", "not in 1.." },
    { false, "\"trial\": 1", "\"trial\": 1, \"trial\": 2", NULL, "duplicate object key" },
    { false, "\"trial\": 1", "\"trail\": 1", "{", "\"trial\" is missing" },
    { false, "\"trial\": 1", "\"trial\": 1, \"extra\": 0", "\"extra\"", "unknown key \"extra\"" },
    { false, "\"seed\": 1", "\"seed\": -1", "\"seed\"", "a whole number from 0" },
    { false, "\"seed\": 1", "\"seed\": \"7\"", "\"seed\"", "above 2^63 - 1" },
    { false, "\"seed\": 1", "\"seed\": \"99999999999999999999\"", "\"seed\"", "above 2^63 - 1" },
    { false, "gmm m=32", "gmn m=32", "\"spec\"", "is no operator" },
    { false, "gmm m=32", "gmm  m=32", "\"spec\"", "not as tilescope writes it" },
    { false, "gmm m=32", "gmm m=16", "{", "differ from those of run" },
    { false, "\"threads\": 1", "\"threads\": 2", "{", "differ from those of run" },
    { false, "\"threads\": 1", "\"threads\": 0", "\"threads\"", "not in 1..1024" },
    { false, "\"avx2\"", "\"sse\"", "{", "differ from those of run" },
    { false, "\"machine\": \"m\"", "\"machine\": \"n\"", "{", "differ from those of run" },
    { false, "\"machine\": \"m\"", "\"machine\": \"\"", "\"machine\"", "a text of 1 to" },
    { false, "loop unroll C M", "loop unrol C M", "\"steps\"", "step 1, \"loop unrol C M\"" },
    { false, "loop unroll C M", "loop  unroll C M", "\"steps\"", "not as tilescope writes it" },
    { false, "loop unroll C M", "loop unroll C\\nM", "\"steps\"", "not a text of one line" },
    { false, "[\"loop unroll C M\"]", "[1]", "\"steps\"", "not a text of one line" },
    { false, "[\"loop unroll C M\"]", "{}", "\"steps\"", "not a list" },
    { false, "\"ok\"", "\"fine\"", "\"outcome\"", "which this version does not know" },
    { false, "\"ok\"", "\"none\"", "\"outcome\"", "which this version does not know" },
    { false, "\"min\": 1.5", "\"min\": 2.5", "\"latency_ms\"", "at most the median" },
    { false, "\"min\": 1.5", "\"min\": 0", "\"latency_ms\"", "above 0" },
    { false, "\"min\": 1.5", "\"mini\": 1.5", "\"latency_ms\"", "an object of median" },
    { false, "\"min\": 1.5", "\"min\": \"1.5\"", "\"latency_ms\"", "not a number" },
    { false, "\"runs\": 9", "\"runs\": 0", "\"latency_ms\"", "from 1" },
    { false, "\"verified\": true", "\"verified\": false", "\"verified\"", "only verified kernels" },
    { false, "\"verified\": true", "\"verified\": 1", "\"verified\"", "neither true nor false" },
    { false, "\"gflops\": 1.5", "\"gflops\": -1.5", "\"gflops\"", "below 0" },
    { false, "\"gflops\": 1.5", "\"gflops\": 1e999", NULL, "not JSON" },
    { false, "\"features\": null", "\"features\": \"12\"", "\"features\"", "16 hexadecimal" },
    { false, "06:19:47Z", "06:19:47", "\"date\"", "not a date" },
    { false, "2026-11-21", "2026-13-21", "\"date\"", "not a date" },
    { false, "\"version\": \"0.1.0\"", "\"version\": null", "\"version\"", "a text of 1 to 40" },
    { true, "\"state\": \"stopped\"", "\"state\": \"gone\"", "\"state\"", "none of running" },
    { true, "\"stopped\"", "\"a state of more than forty letters, alas!\"", "\"state\"",
      "a text of 1 to 40" },
    { true, "\"stopped\"", "\"a state that has exactly forty letters!!\"", "\"state\"",
      "none of running" },
    { true, "\"options\": null", "\"options\": []", "\"options\"", "neither an object nor null" },
    { true, "\"budget\": 10", "\"budget\": -1", "\"budget\"", "not in 0.." },
    { true, "\"budget\": 10", "\"budget\": 1.5", "\"budget\"", "not a whole number" },
    { true, "\"ended\": null", "\"ended\": \"now\"", "\"ended\"", "not a date" },
};

/* The first occurrence of from in text becomes to. */
static void replace(struct str *out, const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (!at)
        fail_msg("no %s in %s", from, text);
    str_clear(out);
    str_add_n(out, text, (size_t)(at - text));
    str_add(out, to);
    str_add(out, at + strlen(from));
}

static void wrong_lines(void **state)
{
    (void)state;
    struct records *r = records_must_open(path);
    struct records_added added;
    struct str text = {0}, line = {0};
    struct err e;
    str_add(&text, RUN REC);
    import_all(r, &text, &added);
    assert_true(added.runs == 1 && added.records == 1);
    for (int i = 0; i < COUNT_OF(wrong); i++) {
        replace(&line, wrong[i].run ? RUN : REC, wrong[i].from, wrong[i].to);
        /* Two sound lines before it, which must not stay either. */
        str_clear(&text);
        struct str fresh = {0}, fresh_record = {0};
        replace(&fresh, RUN, "0123456789abcdef", "fedcba9876543210");
        replace(&fresh_record, REC, "0123456789abcdef", "fedcba9876543210");
        str_printf(&text, "%s\n%s%s", str_text(&fresh), str_text(&fresh_record),
                   str_text(&line));
        if (records_import(r, "x.jsonl", str_text(&text), text.len, NULL, &added, &e))
            fail_msg("row %d: %s was taken", i, wrong[i].to);
        const char *at = wrong[i].at ? strstr(str_text(&line), wrong[i].at) : NULL;
        if (!strstr(e.text, wrong[i].says) || e.at.line != 4 || !streq(e.at.file, "x.jsonl")
            || (wrong[i].at && e.at.col != 1 + (int)(at - line.data)) || e.at.col < 1)
            fail_msg("row %d: %s:%d:%d: %s", i, e.at.file, e.at.line, e.at.col, e.text);
        assert_int_equal(records_count(r), 1);
        str_free(&fresh);
        str_free(&fresh_record);
    }
    records_close(r);
    str_free(&text);
    str_free(&line);
}

/* A graph of several operators is a task as well. */
static void task_of_a_graph(void **state)
{
    (void)state;
    char id[RUN_ID];
    struct err e;
    struct arena *s = arena_new();
    const struct program *p;
    struct records *r = records_must_open(path), *to = records_must_open(other);
    static const char graph[] =
        "x = input n=1 i=8 h=7 w=7; c = c2d(x) o=8 k=3 p=1; d = c2d(c) o=4 k=1";
    assert_true(program_new(s, graph, &p, &e));
    struct record_run run = { .spec = p->base->spec, .isa = "avx2", .threads = 2,
                              .strategy = "evo" };
    assert_true(records_run_start(r, &run, id, &e));
    struct record rec = record_make(a, id, 1);
    records_must_add(r, &rec);
    struct str out = {0};
    struct records_added added;
    records_must_export(r, &out);
    import_all(to, &out, &added);
    assert_int_equal(added.records, 1);
    records_close(r);
    records_close(to);
    arena_free(s);
    str_free(&out);
}

/* Random corruptions of an export: taken whole or refused whole, never half, never a crash. */
static void corrupted_exports(void **state)
{
    (void)state;
    static const char piece[] = "{}[]\",:0123456789.e-\\\n\ttruefalsnu \x80";
    struct records *r = filled(path, 6), *to = records_must_open(other);
    struct str out = {0};
    struct rng rng = rng_seed(seed);
    records_must_export(r, &out);
    int taken = 0, count = 0;
    for (int round = 0; round < 1500; round++) {
        struct str bad = {0};
        struct records_added added = {0};
        struct err e = {0};
        str_add_n(&bad, str_text(&out), out.len);
        for (int64_t i = rng_range(&rng, 1, 4); i > 0; i--) {
            size_t at = (size_t)rng_range(&rng, 0, (int64_t)bad.len - 1);
            size_t n = (size_t)rng_range(&rng, 1, 40);
            n = n < bad.len - at ? n : bad.len - at;
            switch (rng_range(&rng, 0, 3)) {
            case 0: bad.data[at] = (char)rng_u64(&rng); break;
            case 1: bad.data[at] = piece[rng_range(&rng, 0, sizeof piece - 2)]; break;
            case 2: memset(bad.data + at, bad.data[at], n); break;
            default: memmove(bad.data + at, bad.data + at + n, bad.len - at - n); bad.len -= n;
            }
        }
        bool ok = records_import(to, "x", str_text(&bad), bad.len, NULL, &added, &e);
        int now = records_count(to);
        if (now != count + (int)added.records || (!ok && (added.records || !e.text[0])))
            fail_msg("round %d: %d records before, %d after, %s", round, count, now, e.text);
        count = now;
        taken += ok;
        str_free(&bad);
    }
    printf("# %d of 1500 were taken, with %d records\n", taken, count);
    assert_true(taken < 1500);
    struct err e;
    assert_true(records_check(to, &e));
    /* And everything that was taken can go out and in again. */
    struct records_added added;
    records_must_export(to, &out);
    import_all(to, &out, &added);
    assert_int_equal(added.known, count);
    records_close(r);
    records_close(to);
    str_free(&out);
}

/* Every key stands in schema.md. */
static void documented(void **state)
{
    (void)state;
    struct records *r = filled(path, 2);
    struct str out = {0}, schema = {0};
    struct err e;
    char quoted[64];
    records_must_export(r, &out);
    assert_true(file_read("sessions/schema.md", 1 << 20, &schema, &e));
    for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *o = json_loads(line, 0, NULL), *v;
        const char *key;
        assert_non_null(o);
        json_object_foreach(o, key, v) {
            snprintf(quoted, sizeof quoted, "`%s`", key);
            if (!strstr(str_text(&schema), quoted))
                fail_msg("sessions/schema.md says nothing about %s", quoted);
        }
        json_decref(o);
    }
    records_close(r);
    str_free(&out);
    str_free(&schema);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(there_and_back), T(merging), T(stopped_half_way), T(merged_while_it_grows),
        T(two_accounts), T(wrong_lines), T(task_of_a_graph), T(corrupted_exports), T(documented),
    };
    if (getenv("TS_SEED"))
        seed = strtoull(getenv("TS_SEED"), NULL, 10);
    printf("# TS_SEED=%llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
