/* kernels/base/subprocess: output, exit, limits, cancelling. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kernels/base/arena.h"
#include "kernels/base/cleanup.h"
#include "kernels/base/deadline.h"
#include "kernels/base/subprocess.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static struct subprocess_result run_sh(const char *script, double limit_s)
{
    const char *const argv[] = { "sh", "-c", script, NULL };
    struct subprocess_result r;
    struct err e = {0};
    assert_true(subprocess_run(argv, limit_s, NULL, &r, &e));
    return r;
}

/* A deadline ends a program at its time or with the user's cancel, and knows which it was. */
static void deadlines(void **state)
{
    (void)state;
    static const struct { double seconds; bool raised, passed; } rows[] = {
        { 0.1, false, true }, { 1000, true, false },
    };
    const char *const argv[] = { "sleep", "100", NULL };
    for (int i = 0; i < 2; i++) {
        struct cancel user = { .raised = rows[i].raised };
        struct deadline *d = deadline_new(&user, rows[i].seconds);
        struct subprocess_result r;
        struct err e = {0};
        assert_false(subprocess_run(argv, 0, deadline_cancel(d), &r, &e));
        assert_int_equal(e.code, ERR_CANCEL);
        assert_true(cancelled(deadline_cancel(d)));
        assert_int_equal(deadline_passed(d), rows[i].passed);
        deadline_free(d);
        str_free(&r.out);
    }
    struct deadline *d = deadline_new(NULL, 1000);        /* ends before its time */
    assert_false(cancelled(deadline_cancel(d)) || deadline_passed(d));
    deadline_free(d);
}

static void output_and_status(void **state)
{
    (void)state;
    struct subprocess_result r = run_sh("echo out; echo err >&2; exit 3", 10);
    assert_string_equal(str_text(&r.out), "out\nerr\n");
    assert_int_equal(r.exit_code, 3);
    assert_int_equal(r.signal, 0);
    assert_false(r.timed_out);
    str_free(&r.out);
    r = run_sh("kill -SEGV $$", 10);
    assert_int_equal(r.exit_code, -1);
    assert_int_equal(r.signal, SIGSEGV);
    str_free(&r.out);
}

static void stdin_is_empty_and_files_are_closed(void **state)
{
    (void)state;
    int fd = open("/dev/null", O_RDONLY);
    assert_true(fd > 2);
    struct subprocess_result r = run_sh("cat; ls /proc/self/fd | wc -l", 10);
    assert_true(atoi(str_text(&r.out)) <= 4);
    assert_int_equal(r.exit_code, 0);
    str_free(&r.out);
    close(fd);
}

/* Where a standard descriptor of this process was closed, a file can have its number. */
static void a_file_is_kept(void **state)
{
    (void)state;
    const char *const argv[] = { "cat", "/dev/fd/3", NULL };
    for (int number = 0; number < 3; number++) {
        int was = fcntl(number, F_DUPFD_CLOEXEC, 10), fd = memfd_create("kept", MFD_CLOEXEC);
        assert_true(was >= 0 && write(fd, "text", 4) == 4 && dup2(fd, number) == number);
        struct subprocess_result r;
        struct err e = {0};
        bool ran = subprocess_run_keeping(number, argv, 10, NULL, &r, &e);
        assert_int_equal(dup2(was, number), number);
        close(was);
        close(fd);
        assert_true(ran);
        assert_string_equal(str_text(&r.out), "text");
        str_free(&r.out);
    }
}

static void failures_are_told(void **state)
{
    (void)state;
    static const struct { const char *script; double limit_s; const char *text; } rows[] = {
        { "exit 0", 10, NULL },
        { "echo one; echo two; exit 3", 10, "sh failed: one" },
        { "exit 3", 10, "sh failed with exit code 3" },
        { "kill -9 $$", 10, "sh was ended by signal 9" },
        { "sleep 30", 0.2, "sh took longer than 0.2 s" },
        { "trap 'exit 0' TERM; sleep 30 & wait", 0.2, "sh took longer than 0.2 s" },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct subprocess_result r = run_sh(rows[i].script, rows[i].limit_s);
        struct err e = {0};
        assert_int_equal(subprocess_failed(&r), rows[i].text != NULL);
        assert_false(subprocess_refuse("sh", &r, rows[i].limit_s, &e));
        assert_int_equal(e.code, ERR_ENV);
        if (rows[i].text)
            assert_string_equal(e.text, rows[i].text);
        str_free(&r.out);
    }
}

static void data_is_a_file(void **state)
{
    (void)state;
    const char *const argv[] = { "sh", "-c", "cat /dev/fd/3; cat <&3", NULL };
    struct subprocess_result r;
    struct err e = {0};
    assert_true(subprocess_run_on("text", 4, argv, 10, NULL, &r, &e));
    assert_string_equal(str_text(&r.out), "texttext");
    str_free(&r.out);
}

static void output_is_capped(void **state)
{
    (void)state;
    struct subprocess_result r = run_sh("head -c 3000000 /dev/zero; exit 5", 10);
    assert_int_equal(r.out.len, 1 << 20);
    assert_int_equal(r.exit_code, 5);
    str_free(&r.out);
}

static void the_limit_kills_the_group(void **state)
{
    (void)state;
    double start = clock_s();
    struct subprocess_result r = run_sh("echo begun; sleep 30 & sleep 30; wait", 0.2);
    assert_true(r.timed_out);
    assert_int_equal(r.exit_code, -1);
    assert_int_equal(r.signal, SIGTERM);
    assert_string_equal(str_text(&r.out), "begun\n");
    assert_true(clock_s() - start < 5);
    str_free(&r.out);
    r = run_sh("yes", 0.2);
    assert_true(r.timed_out);
    str_free(&r.out);
}

/* It may clear up behind itself; one that does not listen is killed all the same. */
static void it_is_asked_first(void **state)
{
    (void)state;
    double start = clock_s();
    struct subprocess_result r = run_sh("trap 'echo cleared; exit 3' TERM; sleep 30 & wait", 0.3);
    assert_true(r.timed_out);
    assert_string_equal(str_text(&r.out), "cleared\n");
    assert_int_equal(r.exit_code, 3);
    str_free(&r.out);
    r = run_sh("trap '' TERM; echo deaf; sleep 30", 0.3);
    assert_true(r.timed_out);
    assert_string_equal(str_text(&r.out), "deaf\n");
    assert_int_equal(r.signal, SIGKILL);
    assert_true(clock_s() - start < 10);
    str_free(&r.out);
}

/* The folder of a process that was killed has no lock any more. It is removed when the first
 * program starts, so this test is the first of all. */
static void abandoned_folders_go(void **state)
{
    (void)state;
    static const struct { const char *name; bool old, locked, stays; } rows[] = {
        { "tilescope-run-left", true, false, false }, { "tilescope-run-used", true, true, true },
        { "tilescope-run-new", false, false, true }, { "another", true, false, true },
    };
    char *was = xstrdup(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    const char *dir = temp_dir("TMPDIR");
    char path[COUNT_OF(rows)][300];
    int lock[COUNT_OF(rows)];
    for (int i = 0; i < COUNT_OF(rows); i++) {
        const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
        char file[320];
        snprintf(path[i], sizeof path[i], "%s/%s", dir, rows[i].name);
        snprintf(file, sizeof file, "%.299s/file", path[i]);
        assert_int_equal(mkdir(path[i], 0700), 0);
        close(open(file, O_CREAT | O_WRONLY, 0600));
        lock[i] = open(path[i], O_RDONLY | O_CLOEXEC);
        assert_true(lock[i] >= 0);
        assert_true(!rows[i].old || utimensat(AT_FDCWD, path[i], times, 0) == 0);
        assert_true(!rows[i].locked || flock(lock[i], LOCK_EX) == 0);
    }
    struct subprocess_result r = run_sh("exit 0", 10);
    str_free(&r.out);
    for (int i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(access(path[i], F_OK) == 0, rows[i].stays);
        close(lock[i]);
    }
    setenv("TMPDIR", was, 1);
    free(was);
}

/* The folder of a program that runs is locked. */
static void folders_are_locked(void **state)
{
    (void)state;
    struct subprocess_result r = run_sh("flock -n $TMPDIR true || echo locked", 10);
    assert_string_equal(str_text(&r.out), "locked\n");
    str_free(&r.out);
}

/* The files that a program leaves in its $TMPDIR are removed when it ends, or is killed. */
static void temporary_files_go(void **state)
{
    (void)state;
    static const struct { const char *script; double limit_s; } rows[] = {
        { "mkdir $TMPDIR/d; echo > $TMPDIR/d/x; echo $TMPDIR", 10 },
        { "echo > $TMPDIR/x; echo $TMPDIR; kill -9 $$", 10 },
        { "echo > $TMPDIR/x; echo $TMPDIR; trap '' TERM; sleep 100", 0.3 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct subprocess_result r = run_sh(rows[i].script, rows[i].limit_s);
        char *path = strtok(r.out.data, "\n");
        assert_non_null(path);
        assert_non_null(strstr(path, "/tilescope-run-"));
        assert_int_equal(access(path, F_OK), -1);
        str_free(&r.out);
    }
}

/* A program that closes its output and lives on, and one whose child keeps the output open. */
static void odd_ends(void **state)
{
    (void)state;
    double start = clock_s();
    struct subprocess_result r = run_sh("echo x; exec >&- 2>&-; sleep 0.1; exit 4", 10);
    assert_int_equal(r.exit_code, 4);
    assert_string_equal(str_text(&r.out), "x\n");
    str_free(&r.out);
    r = run_sh("sleep 3 & echo y; exit 6", 10);
    assert_int_equal(r.exit_code, 6);
    assert_string_equal(str_text(&r.out), "y\n");
    assert_true(clock_s() - start < 2.5);
    str_free(&r.out);
}

static void missing_programs(void **state)
{
    (void)state;
    const char *const argv[] = { "no-such-program-here", NULL };
    const char *const dir[] = { "/tmp", NULL };
    struct subprocess_result r;
    struct err e = {0};
    assert_false(subprocess_run(argv, 1, NULL, &r, &e));
    assert_int_equal(e.code, ERR_ENV);
    assert_string_equal(e.text, "cannot run no-such-program-here: no such program");
    assert_false(subprocess_run(dir, 1, NULL, &r, &e));
    assert_int_equal(e.code, ERR_ENV);
}

static void *raise_soon(void *cancel)
{
    struct cancel *c = cancel;
    struct timespec t = { .tv_nsec = 100 * 1000 * 1000 };
    nanosleep(&t, NULL);
    atomic_store(&c->raised, 1);
    return NULL;
}

static void cancelling(void **state)
{
    (void)state;
    const char *const argv[] = { "sleep", "30", NULL };
    struct cancel c = {0};
    struct subprocess_result r;
    struct err e = {0};
    pthread_t thread;
    double start = clock_s();
    assert_int_equal(pthread_create(&thread, NULL, raise_soon, &c), 0);
    assert_false(subprocess_run(argv, 0, &c, &r, &e));
    assert_int_equal(e.code, ERR_CANCEL);
    assert_true(r.cancelled);
    assert_true(clock_s() - start < 5);
    pthread_join(thread, NULL);
    assert_false(subprocess_run(argv, 0, &c, &r, &e));
    assert_int_equal(e.code, ERR_CANCEL);
}

static void *run_many(void *unused)
{
    (void)unused;
    for (int i = 0; i < 20; i++) {
        const char *const argv[] = { "echo", "hello", NULL };
        struct subprocess_result r;
        struct err e = {0};
        if (!subprocess_run(argv, 10, NULL, &r, &e) || !streq(str_text(&r.out), "hello\n"))
            return "failed";
        str_free(&r.out);
    }
    return NULL;
}

static void from_many_threads(void **state)
{
    (void)state;
    pthread_t threads[8];
    for (int i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_many, NULL), 0);
    for (int i = 0; i < COUNT_OF(threads); i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_null(result);
    }
}

static void starting_is_quick(void **state)
{
    (void)state;
    const char *const argv[] = { "true", NULL };
    double start = clock_s();
    for (int i = 0; i < 50; i++) {
        struct subprocess_result r;
        struct err e = {0};
        assert_true(subprocess_run(argv, 10, NULL, &r, &e));
        str_free(&r.out);
    }
    printf("# %.2f ms a run\n", 20 * (clock_s() - start));
    assert_true(clock_s() - start < 10);
}

static void finding(void **state)
{
    (void)state;
    struct str path = {0};
    assert_true(subprocess_find("sh", &path));
    assert_int_equal(str_text(&path)[0], '/');
    assert_true(subprocess_find("sh", NULL));
    assert_false(subprocess_find("no-such-program-here", &path));
    assert_false(subprocess_find("", &path));
    assert_false(subprocess_find("bin/sh", &path));
    str_free(&path);
}

/* Folders are searched in order, for regular files that can be run; "" is the working directory. */
static void programs_are_found_in_folders(void **state)
{
    static const struct { const char *folders, *path; } rows[] = {
        { "plain:folder:first:second", "first/prog" }, { "second:first", "second/prog" },
        { "first", "first/prog" }, { "plain:folder", "untouched" }, { "", "./prog" },
        { "plain:", "./prog" }, { ":first", "./prog" }, { "firs", "untouched" },
    };
    static const char *const folder[] = { "plain", "folder", "folder/prog", "first", "second" };
    static const struct { const char *path; mode_t mode; } file[] = {
        { "plain/prog", 0600 }, { "first/prog", 0700 }, { "second/prog", 0700 }, { "prog", 0700 },
    };
    char *here = getcwd(NULL, 0);
    (void)state;
    assert_int_equal(chdir(temp_dir(NULL)), 0);
    for (int i = 0; i < COUNT_OF(folder); i++)
        assert_int_equal(mkdir(folder[i], 0700), 0);
    for (int i = 0; i < COUNT_OF(file); i++)
        close(open(file[i].path, O_CREAT | O_WRONLY, file[i].mode));
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct str path = {0};
        str_add(&path, "untouched");
        bool found = !streq(rows[i].path, "untouched");
        assert_int_equal(subprocess_find_in("prog", rows[i].folders, &path), found);
        assert_int_equal(subprocess_find_in("prog", rows[i].folders, NULL), found);
        assert_string_equal(str_text(&path), rows[i].path);
        str_free(&path);
    }
    assert_int_equal(chdir(here), 0);
    free(here);
    char *path = xstrdup(getenv("PATH") ? getenv("PATH") : "");
    unsetenv("PATH");
    assert_true(subprocess_find("sh", NULL));
    setenv("PATH", path, 1);
    free(path);
}

/* Output of 1 MiB is whole; of more, the last line is not. */
static void a_cut_output_ends_with_a_line(void **state)
{
    static const struct { const char *script; bool cut; size_t len; } rows[] = {
        { "head -c 1048576 /dev/zero", false, 1 << 20 },
        { "echo one; head -c 1048573 /dev/zero", true, 4 },
        { "head -c 1048577 /dev/zero", true, 0 },
        { "printf 'one\\ntwo'", false, 7 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct subprocess_result r = run_sh(rows[i].script, 10);
        assert_int_equal(r.cut, rows[i].cut);
        subprocess_drop_half_line(&r);
        assert_int_equal(r.out.len, rows[i].len);
        assert_int_equal(r.out.data[r.out.len], '\0');
        str_free(&r.out);
    }
}

static void cancels_are_told(void **state)
{
    const char *const argv[] = { "sleep", "30", NULL };
    struct cancel c = {0};
    struct subprocess_result r;
    struct err e = {0};
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, raise_soon, &c), 0);
    assert_false(subprocess_run(argv, 0, &c, &r, &e));
    pthread_join(thread, NULL);
    assert_string_equal(e.text, "sleep was cancelled");
    assert_false(subprocess_run(argv, 0, &c, &r, &e));
    assert_string_equal(e.text, "cancelled before sleep was started");
    assert_int_equal(r.exit_code, -1);
}

/* Notes have as many places as there are; a forgotten one is free again. */
static void notes_of_files_are_cleaned_up(void **state)
{
    char path[2][300], *longer = xcalloc(PATH_MAX + 1, 1);
    int slot[CLEANUP_SLOTS], status, n = 0;
    (void)state;
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/file", temp_dir(NULL));
        close(open(path[i], O_CREAT | O_WRONLY, 0600));
    }
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        cleanup_note_file(path[0]);
        cleanup_forget(cleanup_note_file(path[1]));
        cleanup_forget(-1);
        cleanup_set_leader(-1, 1);
        cleanup_now();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(access(path[0], F_OK), -1);
    assert_int_equal(access(path[1], F_OK), 0);
    memset(longer, 'x', PATH_MAX);
    assert_int_equal(cleanup_note_file(longer), -1);
    longer[PATH_MAX - 1] = '\0';
    while (n < CLEANUP_SLOTS && (slot[n] = cleanup_note_file(longer)) >= 0)
        n++;
    assert_int_equal(n, CLEANUP_SLOTS);
    assert_int_equal(cleanup_note_file(path[1]), -1);
    cleanup_forget(slot[n / 2]);
    assert_int_equal(cleanup_note_file(path[1]), slot[n / 2]);
    for (int i = 0; i < n; i++)
        cleanup_forget(slot[i]);
    free(longer);
}

/* A program needs a pipe, for which this process has no descriptors left, or one. */
static void without_descriptors_nothing_runs(void **state)
{
    enum { MOST = 64 };
    const char *const argv[] = { "true", NULL };
    struct rlimit was, low;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    low = was;
    low.rlim_cur = MOST;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    for (int left = 0; left < 2; left++) {
        int fd[MOST], n = 0;
        struct subprocess_result r;
        struct err e = {0};
        while (n < MOST && (fd[n] = open("/dev/null", O_RDONLY)) >= 0)
            n++;
        if (left == 1)
            close(fd[--n]);
        bool ran = subprocess_run(argv, 10, NULL, &r, &e);
        int spare = open("/dev/null", O_RDONLY);          /* none was lost */
        close(spare);
        while (n > 0)
            close(fd[--n]);
        assert_false(ran);
        assert_int_equal(e.code, ERR_ENV);
        assert_string_equal(e.text, "cannot run true: Too many open files");
        assert_int_equal(spare >= 0, left == 1);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    struct subprocess_result r = run_sh("echo again", 10);
    assert_string_equal(str_text(&r.out), "again\n");
    str_free(&r.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(abandoned_folders_go), cmocka_unit_test(folders_are_locked),
        cmocka_unit_test(deadlines), cmocka_unit_test(output_and_status),
        cmocka_unit_test(stdin_is_empty_and_files_are_closed),
        cmocka_unit_test(a_file_is_kept), cmocka_unit_test(output_is_capped),
        cmocka_unit_test(failures_are_told), cmocka_unit_test(data_is_a_file),
        cmocka_unit_test(the_limit_kills_the_group),
        cmocka_unit_test(it_is_asked_first), cmocka_unit_test(temporary_files_go),
        cmocka_unit_test(odd_ends), cmocka_unit_test(missing_programs),
        cmocka_unit_test(cancelling), cmocka_unit_test(from_many_threads),
        cmocka_unit_test(starting_is_quick), cmocka_unit_test(finding),
        cmocka_unit_test(programs_are_found_in_folders),
        cmocka_unit_test(a_cut_output_ends_with_a_line), cmocka_unit_test(cancels_are_told),
        cmocka_unit_test(notes_of_files_are_cleaned_up),
        cmocka_unit_test(without_descriptors_nothing_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
