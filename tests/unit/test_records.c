/* The records' file: what is written is found again, by several processes, after kill -9, in files
 * that are damaged, newer, read-only or of somebody else. */
#include <math.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/base/version.h"
#include "sessions/records/records_impl.h"
#include "tests/unit/fork_child.h"
#include "tests/unit/records_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static uint64_t seed = 1;
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

/* --- Records ---------------------------------------------------------------------------------- */

static bool same_number(double x, double y)
{
    return isnan(x) ? isnan(y) : x == y;
}

static void check_same(const struct record *got, const struct record *want)
{
    assert_string_equal(got->run, want->run);
    assert_int_equal(got->trial, want->trial);
    assert_string_equal(got->strategy, want->strategy);
    assert_true(got->seed == want->seed);
    assert_string_equal(got->steps, want->steps);
    assert_int_equal(got->outcome, want->outcome);
    assert_string_equal(got->reason, want->reason);
    assert_true(same_number(got->median_ms, want->median_ms));
    assert_true(same_number(got->min_ms, want->min_ms));
    assert_true(same_number(got->spread, want->spread));
    assert_int_equal(got->runs, want->runs);
    assert_true(same_number(got->gflops, want->gflops));
    assert_true(got->verified == want->verified);
    assert_true(same_number(got->max_rel_err, want->max_rel_err));
    assert_true(same_number(got->compile_s, want->compile_s));
    assert_true(same_number(got->measure_s, want->measure_s));
    assert_true(got->features == want->features);
    assert_string_equal(got->spec, RECORD_SPEC);
    assert_string_equal(got->isa, "avx2");
    assert_int_equal(got->threads, 1);
    char version[RECORDS_VERSION];
    records_version(version);
    assert_string_equal(got->version, version);
    assert_true(str_starts(version, TILESCOPE_VERSION " code "));
    assert_int_equal(strlen(got->date), 20);
}

static void kept_as_it_was(void **state)
{
    (void)state;
    char id[RUN_ID];
    struct err e;
    struct records *r = records_must_open(path);
    records_must_start(r, 7, id);
    for (int i = 9; i >= 1; i--) {
        struct record rec = record_make(a, id, i);
        records_must_add(r, &rec);
    }
    records_close(r);
    r = records_must_open(path);
    const struct record *list;
    int n;
    struct record_filter f = { .run = id };
    assert_true(records_list(r, &f, a, &list, &n, &e));
    assert_int_equal(n, 9);
    for (int i = 0; i < n; i++) {
        struct record want = record_make(a, id, i + 1);
        check_same(&list[i], &want);
        assert_string_equal(list[i].machine, records_machine(r));
    }
    records_close(r);
}

static void run_sql(const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

/* Another machine, other threads, another instruction set, the code of another version: never
 * answered as this task's. */
static void found_by_steps(void **state)
{
    (void)state;
    char id[RUN_ID];
    struct err e;
    struct records *r = records_must_open(path);
    records_must_start(r, 7, id);
    struct record rec = record_make(a, id, 1), later = record_make(a, id, 2);
    later.steps = rec.steps;
    records_must_add(r, &rec);
    records_must_add(r, &later);
    static const struct { const char *spec; int threads; const char *isa; bool want; } row[] = {
        { RECORD_SPEC, 1, "avx2", true }, { RECORD_SPEC, 2, "avx2", false },
        { RECORD_SPEC, 1, "sse", false }, { "gmm m=32 k=16 n=33", 1, "avx2", false },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        const struct record *got = &rec;
        assert_true(records_find(r, row[i].spec, row[i].threads, row[i].isa, rec.steps, a, &got,
                                 &e));
        assert_true(row[i].want == (got != NULL));
        if (got)
            check_same(got, &later);                          /* the latest one */
    }
    const struct record *got = &rec;
    assert_true(records_find(r, RECORD_SPEC, 1, "avx2", "loop unroll C M", a, &got, &e));
    assert_null(got);
    struct record vain = record_make(a, id, 4);
    vain.outcome = OUTCOME_CANCEL;
    vain.runs = 0;
    records_must_add(r, &vain);
    assert_true(records_find(r, RECORD_SPEC, 1, "avx2", vain.steps, a, &got, &e));
    assert_null(got);
    char now[RECORDS_VERSION], sql[120];
    run_sql("UPDATE record SET version = '0.1.0'");
    assert_true(records_find(r, RECORD_SPEC, 1, "avx2", rec.steps, a, &got, &e));
    assert_null(got);
    records_version(now);
    snprintf(sql, sizeof sql, "UPDATE record SET version = '%s'", now);
    run_sql(sql);
    assert_true(records_find(r, RECORD_SPEC, 1, "avx2", rec.steps, a, &got, &e));
    assert_non_null(got);
    records_set_machine(r, "another | machine");
    got = &rec;
    assert_true(records_find(r, RECORD_SPEC, 1, "avx2", rec.steps, a, &got, &e));
    assert_null(got);
    const struct record_task *task;
    int n;
    struct record_filter any = { .any_machine = true }, here = {0};
    assert_true(records_tasks(r, &any, a, &task, &n, &e));
    assert_int_equal(n, 1);
    assert_int_equal(task->n_records, 3);
    assert_int_equal(task->n_good, 2);
    assert_true(records_tasks(r, &here, a, &task, &n, &e));
    assert_int_equal(n, 0);
    records_close(r);
}

static void best_first(void **state)
{
    (void)state;
    char id[RUN_ID];
    struct err e;
    struct records *r = records_must_open(path);
    records_must_start(r, 7, id);
    for (int i = 1; i <= 40; i++) {
        struct record rec = record_make(a, id, i);
        rec.steps = arena_printf(a, "loop unroll C M.%d", i / 2);    /* each twice */
        if (i == 38)
            rec.verified = false, rec.outcome = OUTCOME_WRONG, rec.runs = 0;
        records_must_add(r, &rec);
    }
    const struct record *best;
    int n;
    struct record_filter f = { .spec = RECORD_SPEC, .threads = 1, .isa = "avx2" };
    assert_true(records_best(r, &f, 5, a, &best, &n, &e));
    assert_int_equal(n, 5);
    static const int want[] = { 40, 37, 34, 33, 30 };     /* 39, 35, 31: crashes; 38: wrong */
    for (int i = 0; i < n; i++)
        assert_int_equal(best[i].trial, want[i]);
    for (int i = 41; i <= 400; i++) {
        struct record rec = record_make(a, id, i);
        rec.steps = arena_printf(a, "loop unroll C M.%d", i % 150);
        records_must_add(r, &rec);
    }
    assert_true(records_best(r, &f, INT32_MAX, a, &best, &n, &e));
    assert_int_equal(n, 150);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            assert_true(!streq(best[i].steps, best[j].steps) && best[i].min_ms >= best[j].min_ms);
    records_close(r);
}

/* Whatever a text holds, it goes in and comes out. */
static void hostile_texts(void **state)
{
    (void)state;
    static const char *const text[] = {
        "'); DROP TABLE record; --", "\"quoted\" 'too'", "two\nlines\tand\\slashes", "%s %n ?1 :x",
        "\xff\xfe not UTF-8 \x80", "e\xcc\x81\xe2\x82\xac", "\x01\x02\x1f",
    };
    char id[RUN_ID];
    struct err e;
    struct records *r = records_must_open(path);
    records_must_start(r, 7, id);
    for (int i = 0; i < COUNT_OF(text); i++) {
        struct record rec = record_make(a, id, i + 1);
        const struct record *got = NULL;
        rec.reason = rec.strategy = rec.steps = text[i];
        records_must_add(r, &rec);
        assert_true(records_find(r, RECORD_SPEC, 1, "avx2", text[i], a, &got, &e));
        assert_non_null(got);
        assert_string_equal(got->steps, text[i]);
        assert_string_equal(got->reason, text[i]);
        assert_string_equal(got->strategy, text[i]);
    }
    assert_int_equal(records_count(r), COUNT_OF(text));
    records_close(r);
}

static void of_a_measurement(void **state)
{
    (void)state;
    struct measurement m = { .outcome = OUTCOME_OK, .verified = true, .max_rel_err = 1e-6,
                             .gflops = 12.5, .seed = 3,
                             .latency = { .median_ms = 2, .min_ms = 1, .spread = 0.5, .runs = 9 } };
    struct record rec;
    records_of_measurement(&rec, &m);
    assert_true(rec.min_ms == 1 && rec.median_ms == 2 && rec.spread == 0.5 && rec.runs == 9);
    assert_true(rec.gflops == 12.5 && rec.verified && rec.max_rel_err == 1e-6 && rec.seed == 3);
    m = (struct measurement){ .outcome = OUTCOME_TIMEOUT, .reason = "a time limit" };
    records_of_measurement(&rec, &m);
    assert_string_equal(rec.reason, "a time limit");
    assert_true(rec.runs == 0 && isnan(rec.max_rel_err));
}

static void lines_and_text(void **state)
{
    (void)state;
    static const char *const line[] = { "layout set C \"N M\"", "loop unroll C M", "x" };
    for (int k = 0; k <= COUNT_OF(line); k++) {
        int n;
        const char *const *back = records_lines(a, records_steps(a, line, k), &n);
        assert_int_equal(n, k);
        for (int i = 0; i < n; i++)
            assert_string_equal(back[i], line[i]);
    }
}

/* --- Runs ------------------------------------------------------------------------------------- */

static struct record_run one_run(struct records *r, const char *id)
{
    const struct record_run *run;
    int n;
    struct err e;
    struct record_filter f = { .run = id, .any_machine = true };
    assert_true(records_runs(r, &f, a, &run, &n, &e));
    assert_int_equal(n, 1);
    return *run;
}

static void runs_and_states(void **state)
{
    (void)state;
    char first[RUN_ID], second[RUN_ID];
    struct err e;
    struct records *r = records_must_open(path);
    records_must_start(r, 0xffffffffffffffffu, first);
    struct record_run run = one_run(r, first);
    assert_int_equal(run.state, RUN_RUNNING);
    assert_string_equal(run.options, "{\"joint\": 300}");
    assert_true(run.seed == 0xffffffffffffffffu && run.budget == 1000 && run.n_records == 0);
    assert_string_equal(run.ended, "");
    assert_false(records_run_resume(r, first, &e));           /* we are at it */
    assert_int_equal(e.code, ERR_STEP);
    assert_true(records_run_end(r, first, RUN_STOPPED, &e));
    assert_int_equal(one_run(r, first).state, RUN_STOPPED);
    assert_int_equal(strlen(one_run(r, first).ended), 20);
    assert_true(records_run_resume(r, first, &e));
    struct record rec = record_make(a, first, 1);
    records_must_add(r, &rec);
    assert_true(records_run_end(r, first, RUN_FINISHED, &e));
    run = one_run(r, first);
    assert_int_equal(run.state, RUN_FINISHED);
    assert_true(run.n_records == 1 && run.best_ms == rec.min_ms);
    records_must_start(r, 2, second);
    const struct record_run *list;
    int n;
    struct record_filter f = { .spec = RECORD_SPEC };
    assert_true(records_runs(r, &f, a, &list, &n, &e));
    assert_int_equal(n, 2);
    assert_string_equal(list[0].id, second);                  /* newest first */
    assert_false(records_run_resume(r, "0123456789abcdef", &e));
    assert_int_equal(e.code, ERR_NAME);
    assert_false(records_run_end(r, "0123456789abcdef", RUN_STOPPED, &e));
    assert_int_equal(e.code, ERR_NAME);
    rec.run = "0123456789abcdef";
    assert_false(records_add(r, &rec, &e));
    assert_int_equal(e.code, ERR_NAME);
    records_set_machine(r, "another | machine");
    assert_false(records_run_resume(r, first, &e));
    assert_int_equal(e.code, ERR_STEP);
    records_close(r);
}

/* Runs body in a child, with the records open there; its pid. */
static pid_t in_child(void (*body)(struct records *r, int fd), int fd)
{
    pid_t pid = fork_child();
    if (pid == 0) {
        struct records *r = NULL;
        struct err e;
        if (!records_open(path, &r, &e)) {
            fprintf(stderr, "child: %s\n", e.text);
            _exit(9);
        }
        body(r, fd);
        records_close(r);
        _exit(0);
    }
    return pid;
}

static void start_and_wait(struct records *r, int fd)
{
    char id[RUN_ID];
    records_must_start(r, 1, id);
    if (write(fd, id, RUN_ID) != RUN_ID)
        _exit(8);
    pause();
}

static void killed_runs(void **state)
{
    (void)state;
    char id[RUN_ID];
    int fd[2], status;
    struct err e;
    assert_int_equal(pipe(fd), 0);
    pid_t pid = in_child(start_and_wait, fd[1]);
    assert_int_equal(read(fd[0], id, RUN_ID), RUN_ID);
    struct records *r = records_must_open(path);
    assert_int_equal(one_run(r, id).state, RUN_RUNNING);
    assert_false(records_run_resume(r, id, &e));
    assert_int_equal(e.code, ERR_STEP);
    assert_non_null(strstr(e.fix, "without --resume"));
    kill(pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
    assert_int_equal(one_run(r, id).state, RUN_KILLED);  /* before and after it is buried */
    waitpid(pid, &status, 0);
    assert_int_equal(one_run(r, id).state, RUN_KILLED);
    assert_true(records_run_resume(r, id, &e));
    assert_int_equal(one_run(r, id).state, RUN_RUNNING);
    records_close(r);
    close(fd[0]);
    close(fd[1]);
}

/* --- Several processes, and kill -9 ----------------------------------------------------------- */

enum { WRITERS = 3, EACH = 150 };

static void add_many(struct records *r, int fd)
{
    char id[RUN_ID];
    (void)fd;
    records_must_start(r, 1, id);
    for (int i = 1; i <= EACH; i++) {
        struct record rec = record_make(a, id, i);
        struct err e;
        if (!records_add(r, &rec, &e)) {
            fprintf(stderr, "child: %s\n", e.text);
            _exit(7);
        }
    }
}

/* The file does not exist when they start: they also make it at the same time. */
static void several_writers(void **state)
{
    (void)state;
    pid_t pid[WRITERS];
    int status;
    for (int i = 0; i < WRITERS; i++)
        pid[i] = in_child(add_many, -1);
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    struct records *r = records_must_open(path);
    struct err e;
    assert_int_equal(records_count(r), WRITERS * EACH);
    assert_true(records_check(r, &e));
    records_close(r);
}

/* A tuner waits while another process imports many records in one transaction, and loses none. */
static void waits_for_long_writers(void **state)
{
    (void)state;
    struct records *r = records_must_open(path);
    sqlite3_stmt *s;
    assert_int_equal(sqlite3_prepare_v2(r->db, "PRAGMA busy_timeout", -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    assert_true(sqlite3_column_int(s, 0) >= 60000);
    sqlite3_finalize(s);
    records_close(r);
}

/* A connection that is about to ask for the version lets the other process make the file first: for
 * 0.2 s, since that one may have to wait for this one. */
static int go[2], made[2];

static int let_it_be_made(unsigned what, void *ctx, void *statement, void *sql)
{
    char byte = 0;
    struct pollfd p = { .fd = made[0], .events = POLLIN };
    (void)what, (void)ctx, (void)statement;
    if (!strstr(sql, "user_version") || go[1] < 0)
        return 0;
    assert_int_equal(write(go[1], &byte, 1), 1);
    close(go[1]);
    go[1] = -1;
    poll(&p, 1, 200);
    return 0;
}

static int watch(sqlite3 *db, char **why, const void *api)
{
    (void)why, (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, let_it_be_made, NULL);
}

static void made_while_it_is_opened(void **state)
{
    (void)state;
    char byte = 0;
    int status;
    struct records *r;
    struct err e;
    assert_int_equal(pipe(go) + pipe(made), 0);
    pid_t pid = fork_child();
    if (pid == 0) {
        close(go[1]);
        bool ok = read(go[0], &byte, 1) == 1 && records_open(path, &r, &e);
        _exit(ok && write(made[1], &byte, 1) == 1 ? 0 : 9);
    }
    sqlite3_auto_extension((void (*)(void))watch);
    bool ok = records_open(path, &r, &e);
    sqlite3_reset_auto_extension();
    if (!ok)
        fail_msg("%s", e.text);
    records_close(r);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(go[0]);
    close(made[0]);
    close(made[1]);
}

/* Says every trial that records_add returned from. */
static void add_forever(struct records *r, int fd)
{
    char id[RUN_ID];
    records_must_start(r, 1, id);
    if (write(fd, id, RUN_ID) != RUN_ID)
        _exit(8);
    for (int i = 1;; i++) {
        struct record rec = record_make(a, id, i);
        struct err e;
        if (!records_add(r, &rec, &e) || write(fd, &i, sizeof i) != sizeof i)
            _exit(7);
    }
}

static void kill_9_loses_nothing(void **state)
{
    (void)state;
    struct rng rng = rng_seed(seed);
    int total = 0;
    for (int round = 0; round < 12; round++) {
        char id[RUN_ID];
        int fd[2], trial, said = 0, status;
        assert_int_equal(pipe(fd), 0);
        pid_t pid = in_child(add_forever, fd[1]);
        close(fd[1]);
        assert_int_equal(read(fd[0], id, RUN_ID), RUN_ID);
        usleep((useconds_t)rng_range(&rng, 0, 40000));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        while (read(fd[0], &trial, sizeof trial) == sizeof trial)
            said = trial;
        close(fd[0]);
        struct records *r = records_must_open(path);
        struct err e;
        const struct record *list;
        int n;
        struct record_filter f = { .run = id };
        assert_true(records_check(r, &e));
        assert_true(records_list(r, &f, a, &list, &n, &e));
        if (n != said && n != said + 1)                        /* committed, not yet said */
            fail_msg("round %d: %d were committed, %d are there", round, said, n);
        for (int i = 0; i < n; i++) {
            struct record want = record_make(a, id, i + 1);
            check_same(&list[i], &want);
        }
        assert_int_equal(one_run(r, id).state, RUN_KILLED);
        records_close(r);
        total += n;
    }
    printf("# %d records in 12 killed processes\n", total);
}

/* --- Files in every state --------------------------------------------------------------------- */

static void write_text(const char *file, const char *text, size_t n)
{
    FILE *f = fopen(file, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
}

/* Both ways of opening refuse path with these words and a fix, and leave it as it is. */
static void check_refused(const char *words, const char *fix)
{
    struct str before = {0}, after = {0};
    struct err e;
    bool is_file = file_read(path, 1 << 24, &before, &e);
    for (int reading = 0; reading < 2; reading++) {
        struct records *r = NULL;
        bool ok = reading ? records_open_reading(path, &r, &e) : records_open(path, &r, &e);
        if (ok || !strstr(e.text, words) || !strstr(e.fix, fix))
            fail_msg("%s (%s), expected %s (%s)", ok ? "opened" : e.text, ok ? "" : e.fix, words,
                     fix);
        assert_int_equal(e.code, ERR_IO);
    }
    if (is_file) {
        assert_true(file_read(path, 1 << 24, &after, &e));
        assert_int_equal(before.len, after.len);
        assert_memory_equal(before.data, after.data, before.len);
    }
    str_free(&before);
    str_free(&after);
}

static void refused_files(void **state)
{
    (void)state;
    char garbage[5000];
    struct str moved = {0};
    struct err e;
    for (size_t i = 0; i < sizeof garbage; i++)
        garbage[i] = (char)(i * 7);
    write_text(path, garbage, sizeof garbage);
    check_refused("are damaged: file is not a database", "tilescope records aside");
    assert_true(records_set_aside(path, &moved, &e));
    struct records *r = records_must_open(path);              /* there is room for a new one */
    records_close(r);
    assert_true(file_exists(str_text(&moved)));
    assert_true(records_set_aside(path, &moved, &e));
    assert_non_null(strstr(str_text(&moved), ".aside-2"));
    assert_false(records_set_aside(path, &moved, &e));
    run_sql("CREATE TABLE mine(x)");
    check_refused("is a database of another program", "TILESCOPE_RECORDS");
    assert_true(records_set_aside(path, &moved, &e));
    records_close(records_must_open(path));
    run_sql("PRAGMA user_version = 99");
    check_refused("by a newer tilescope (format 99", "update tilescope");
    run_sql("PRAGMA user_version = -1");
    check_refused("are damaged: their format number is negative", "records aside");
    /* A file of the first format, which had no simulated times, gets them. */
    run_sql("PRAGMA user_version = 1; ALTER TABLE record DROP COLUMN simulated_ms");
    records_close(records_must_open(path));
    run_sql("SELECT simulated_ms FROM record; CREATE INDEX mine ON record(date); ANALYZE");
    records_close(records_must_open(path));
    static const char *const program[][2] = {
        { "CREATE VIEW mine2 AS SELECT 1", "DROP VIEW mine2" },
        { "CREATE TRIGGER mine2 AFTER INSERT ON record BEGIN DELETE FROM record; END",
          "DROP TRIGGER mine2" },
        { "CREATE VIRTUAL TABLE mine2 USING fts5(x)", "DROP TABLE mine2" },
    };
    bool fts = sqlite3_compileoption_used("ENABLE_FTS5");
    for (int i = 0; i < COUNT_OF(program) - !fts; i++) {
        run_sql(program[i][0]);
        check_refused("has views or triggers (mine2), which no records have", "records export");
        run_sql(program[i][1]);
        records_close(records_must_open(path));
    }
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    check_refused("is a folder", "records.db");
    assert_int_equal(rmdir(path), 0);
    str_free(&moved);
}

/* A folder is in the way of a log: the next free name is taken, and log and database go there. */
static void a_log_stays_with_its_database(void **state)
{
    (void)state;
    static const char *const part[] = { "", "-wal", "-shm" };
    char of[320], name[340];
    struct str moved = {0}, text = {0};
    struct err e;
    snprintf(of, sizeof of, "%s.log.db", path);
    for (int i = 0; i < COUNT_OF(part); i++) {
        snprintf(name, sizeof name, "%s%s", of, part[i]);
        write_text(name, part[i], strlen(part[i]));
    }
    snprintf(name, sizeof name, "%s.aside-1-shm", of);
    assert_int_equal(mkdir(name, 0700), 0);
    if (!records_set_aside(of, &moved, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < COUNT_OF(part); i++) {
        snprintf(name, sizeof name, "%s.aside-2%s", of, part[i]);
        str_clear(&text);
        if (!file_read(name, 100, &text, &e))
            fail_msg("%s", e.text);
        assert_string_equal(str_text(&text), part[i]);
    }
    assert_true(str_ends(str_text(&moved), ".aside-2"));
    str_free(&moved);
    str_free(&text);
}

/* Taken away by somebody else while it is open. */
static void a_table_that_is_gone(void **state)
{
    struct records *r = records_must_open(path);
    struct record_filter all = { .any_machine = true };
    const struct record *list;
    const struct record_run *runs;
    int n;
    struct err e = {0};
    (void)state;
    run_sql("DROP TABLE record");
    assert_false(records_list(r, &all, a, &list, &n, &e));
    assert_non_null(strstr(e.text, "cannot read the records"));
    e = (struct err){0};
    run_sql("DROP TABLE run");
    assert_false(records_runs(r, &all, a, &runs, &n, &e));
    assert_non_null(strstr(e.text, "cannot read the records"));
    records_close(r);
    unlink(path);
}

/* No file is like an empty one for who only looks, and is not made. */
static void no_file(void **state)
{
    (void)state;
    struct records *r = NULL;
    struct err e;
    write_text(path, "", 0);                                   /* as a full disk may leave it */
    for (int i = 0; i < 2; i++) {
        assert_true(records_open_reading(path, &r, &e));
        assert_int_equal(records_count(r), 0);
        assert_true(records_exists(r) == (i == 0));
        records_close(r);
        unlink(path);
    }
    assert_false(file_exists(path));
    snprintf(path, sizeof path, "%s/none/records.db", dir);
    assert_false(records_open(path, &r, &e));
    assert_non_null(strstr(e.fix, "TILESCOPE_RECORDS"));
}

/* Bytes of the file change: what can be said is said, nothing crashes, nothing loops. */
static void random_damage(void **state)
{
    (void)state;
    char id[RUN_ID];
    struct str sound = {0};
    struct err e = {0};
    struct rng rng = rng_seed(seed);
    struct records *r = records_must_open(path);
    records_must_start(r, 1, id);
    for (int i = 1; i <= 200; i++) {
        struct record rec = record_make(a, id, i);
        records_must_add(r, &rec);
    }
    records_close(r);
    assert_true(file_read(path, 1 << 24, &sound, &e));
    int refused = 0;
    for (int round = 0; round < 150; round++) {
        struct str bad = {0};
        size_t n = sound.len;
        str_add_n(&bad, sound.data, n);
        if (round % 10 == 9)
            n = (size_t)rng_range(&rng, 1, (int64_t)n - 1);
        for (int i = 0; i < 1 << round % 8; i++)
            bad.data[rng_range(&rng, 0, (int64_t)n - 1)] = (char)rng_u64(&rng);
        write_text(path, bad.data, n);
        struct record rec = record_make(a, id, 1000 + round);
        const struct record *list;
        const struct record_run *runs;
        int count;
        struct record_filter all = { .any_machine = true };
        e = (struct err){0};
        bool ok = records_open(path, &r, &e);
        if (ok) {
            ok = records_list(r, &all, a, &list, &count, &e) && ok;
            ok = records_runs(r, &all, a, &runs, &count, &e) && ok;
            ok = records_add(r, &rec, &e) && ok;
            ok = records_check(r, &e) && ok;
            records_close(r);
        }
        refused += !ok;
        assert_true(ok || e.text[0]);
        str_free(&bad);
        char log[310];
        snprintf(log, sizeof log, "%s-wal", path);
        unlink(log);
        snprintf(log, sizeof log, "%s-shm", path);
        unlink(log);
    }
    printf("# %d of 150 damaged files were refused\n", refused);
    assert_true(refused > 50);
    str_free(&sound);
}

/* As a user who may not write there; root may, so this needs to become somebody else. */
static int look_around(bool log_left)
{
    struct records *r = NULL;
    struct err e = {0};
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return 2;
    if (records_open(path, &r, &e) || !strstr(e.text, "cannot be written to")
        || !strstr(e.fix, "TILESCOPE_RECORDS"))
        return 3;
    bool ok = records_open_reading(path, &r, &e);
    if (log_left)
        return ok ? 5 : strstr(e.fix, "copy it together") ? 0 : 6;
    if (!ok)
        return 4;
    int n = records_count(r);
    records_close(r);
    return n == 5 ? 0 : 7;
}

static void read_only_folder(void **state)
{
    (void)state;
    char id[RUN_ID], log[310];
    struct records *r = records_must_open(path);
    records_must_start(r, 1, id);
    for (int i = 1; i <= 5; i++) {
        struct record rec = record_make(a, id, i);
        records_must_add(r, &rec);
    }
    records_close(r);
    snprintf(log, sizeof log, "%s-wal", path);
    for (int log_left = 0; log_left < 2; log_left++) {
        int status;
        if (log_left)
            write_text(log, "a log that was left", 19);
        chmod(path, 0444);
        chmod(dir, 0555);
        pid_t pid = fork_child();
        if (pid == 0)
            _exit(look_around(log_left));
        waitpid(pid, &status, 0);
        chmod(dir, 0700);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("log left %d: %d", log_left, WEXITSTATUS(status));
    }
}

static void where_it_lies(void **state)
{
    (void)state;
    struct str out = {0};
    struct err e;
    setenv("XDG_DATA_HOME", dir, 1);
    assert_true(records_path(&out, &e));
    char want[64];
    snprintf(want, sizeof want, "%s/tilescope/records.db", dir);
    assert_string_equal(str_text(&out), want);
    setenv("TILESCOPE_RECORDS", "/some/where.db", 1);
    assert_true(records_path(&out, &e));
    assert_string_equal(str_text(&out), "/some/where.db");
    unsetenv("TILESCOPE_RECORDS");
    snprintf(want, sizeof want, "%s/tilescope", dir);
    rmdir(want);
    str_free(&out);
}

/* --- Housekeeping ----------------------------------------------------------------------------- */

static void pruning(void **state)
{
    (void)state;
    char done[RUN_ID], live[RUN_ID];
    struct records_pruned gone;
    struct err e;
    struct records *r = records_must_open(path);
    records_must_start(r, 1, done);
    records_must_start(r, 2, live);
    for (int i = 1; i <= 40; i++) {
        struct record rec = record_make(a, i <= 20 ? done : live, i);
        records_must_add(r, &rec);
    }
    assert_true(records_run_end(r, done, RUN_FINISHED, &e));
    struct record_filter failed = { .failed = true }, all = {0};
    assert_true(records_prune(r, &failed, 0, true, &gone, &e));
    assert_int_equal(gone.records, 5);                        /* of the live run: none */
    assert_int_equal(records_count(r), 40);
    assert_true(records_prune(r, &failed, 0, false, &gone, &e));
    assert_int_equal(gone.records, 5);
    assert_int_equal(records_count(r), 35);
    assert_true(records_run_end(r, live, RUN_STOPPED, &e));
    assert_true(records_prune(r, &all, 3, false, &gone, &e));
    assert_int_equal(gone.records, 32);
    assert_int_equal(gone.runs, 1);                           /* the best are all of the other */
    const struct record *list;
    int n;
    assert_true(records_list(r, &all, a, &list, &n, &e));
    assert_int_equal(n, 3);
    assert_int_equal(list[0].trial, 37);
    assert_true(records_prune(r, &all, 0, false, &gone, &e));
    assert_int_equal(gone.runs, 1);
    assert_int_equal(records_count(r), 0);
    assert_true(records_check(r, &e));
    records_close(r);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(kept_as_it_was), T(found_by_steps), T(best_first), T(hostile_texts),
        T(of_a_measurement), T(lines_and_text), T(runs_and_states), T(killed_runs),
        T(several_writers), T(waits_for_long_writers), T(made_while_it_is_opened),
        T(kill_9_loses_nothing), T(refused_files), T(a_log_stays_with_its_database),
        T(a_table_that_is_gone), T(no_file),
        T(random_damage), T(read_only_folder), T(where_it_lies), T(pruning),
    };
    if (getenv("TS_SEED"))
        seed = strtoull(getenv("TS_SEED"), NULL, 10);
    printf("# TS_SEED=%llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
