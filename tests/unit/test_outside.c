/* What others do to compilers, to kernels' processes and to the cache folder while we need them. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels/base/arena.h"
#include "kernels/base/file.h"
#include "profile/measure/batch.h"
#include "profile/build/build.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define SPEC "gmm m=8 n=8 k=8"

static struct arena *perm;
static const char *home;

#define assert_contains(text, part) \
    do { \
        if (!strstr((text), (part))) \
            fail_msg("\"%s\" is not in \"%s\"", (part), (text)); \
    } while (0)

static const char *in_home(const char *name)
{
    return arena_printf(perm, "%s/%s", home, name);
}

/* A compiler of this name: runs the text of a shell, in which "$c" is the source, before the real
 * one; each call is a line of the file "calls". */
static const char *compiler(const char *name, const char *before)
{
    const char *path = in_home(name);
    struct str s = {0};
    struct err e;
    str_printf(&s, "#!/bin/sh\n"
                   "case \"$1\" in --version) echo %s 1.0; exit;; -print-*) exit 1;; esac\n"
                   "cd %s\necho >> calls\nfor a; do case \"$a\" in *.c) c=$a;; esac; done\n%s\n"
                   "exec cc \"$@\"\n", name, home, before);
    unlink(in_home("calls"));
    assert_true(file_write_atomic(path, str_text(&s), s.len, &e));
    assert_int_equal(chmod(path, 0755), 0);
    str_free(&s);
    return path;
}

static int calls(void)
{
    struct stat st;
    return stat(in_home("calls"), &st) == 0 ? (int)st.st_size : 0;
}

static bool build_with(const char *cc_path, const char *source, struct build *b, struct err *e)
{
    struct compiler cc;
    const struct target *host = target_host();
    assert_true(compiler_find(cc_path, &cc, e));
    return build_shared(&cc, source, host, false, NULL, b, e);
}

/* --- Compilers -------------------------------------------------------------------------------- */

static void killed_compiler_is_tried_again(void **state)
{
    struct build b;
    struct err e;
    (void)state;
    const char *cc = compiler("once", "[ $(wc -l < calls) = 1 ] && kill -9 $$");
    if (!build_with(cc, "int once;\n", &b, &e))
        fail_msg("%s", e.text);
    assert_int_equal(calls(), 2);
    cc = compiler("never", "kill -9 $$");
    assert_false(build_with(cc, "int never;\n", &b, &e));
    assert_int_equal(e.code, ERR_KILLED);
    assert_contains(e.text, "the compiler never was killed (signal 9");
    assert_int_equal(calls(), 2);
    cc = compiler("ended", "kill -TERM $$");
    assert_false(build_with(cc, "int ended;\n", &b, &e));
    assert_int_equal(e.code, ERR_KILLED);
    assert_contains(e.text, "was killed (signal 15)");
}

/* The driver of other programs lives, and tells what became of one of them. */
static void so_is_what_a_compiler_starts(void **state)
{
    static const struct { const char *says, *text; enum err_code code; } said[] = {
        { "gcc: fatal error: Killed signal terminated program cc1", "was killed (signal 9",
          ERR_KILLED },
        { "collect2: fatal error: ld terminated with signal 9 [Killed]", "was killed (signal 9",
          ERR_KILLED },
        { "clang: error: unable to execute command: Killed", "was killed (signal 9", ERR_KILLED },
        { "cc1: out of memory allocating 65536 bytes after a total of 1 bytes", "ran out of memory",
          ERR_KILLED },
        { "virtual memory exhausted: Cannot allocate memory", "ran out of memory", ERR_KILLED },
        { "gcc: fatal error: File size limit exceeded signal terminated program as",
          "may not write a file", ERR_ENV },
        { "gcc: internal compiler error: Segmentation fault signal terminated program cc1",
          "internal compiler error", ERR_COMPILE },
    };
    struct build b;
    struct err e;
    (void)state;
    for (int i = 0; i < COUNT_OF(said); i++) {
        const char *cc = compiler(arena_printf(perm, "says%d", i),
                                  arena_printf(perm, "echo '%s' >&2; exit 1", said[i].says));
        assert_false(build_with(cc, "int said;\n", &b, &e));
        if (e.code != said[i].code)
            fail_msg("%s: %s: %s", said[i].says, err_name(e.code), e.text);
        assert_contains(e.text, said[i].text);
        assert_int_equal(calls(), e.code == ERR_KILLED ? 2 : 1);
    }
    assert_int_equal(mkdir(in_home("bin"), 0755), 0);
    assert_true(file_write_atomic(in_home("bin/as"), "#!/bin/sh\nkill -9 $$\n", 21, &e));
    assert_int_equal(chmod(in_home("bin/as"), 0755), 0);
    struct compiler gcc;
    if (!compiler_find("gcc", &gcc, &e))
        skip();
    setenv("TILESCOPE_CFLAGS", arena_printf(perm, "-B%s/bin/", home), 1);
    bool ok = build_with("gcc", "int real;\n", &b, &e);
    unsetenv("TILESCOPE_CFLAGS");
    assert_false(ok);
    assert_int_equal(e.code, ERR_KILLED);
}

/* --- The cache folder ------------------------------------------------------------------------- */

static void removed_folder_is_made_again(void **state)
{
    struct build b;
    struct err e;
    (void)state;
    const char *cc = compiler("remover",
                              "[ $(wc -l < calls) = 1 ] && rm -r \"$(dirname \"$c\")\"");
    if (!build_with(cc, "int removed;\n", &b, &e))
        fail_msg("%s", e.text);
    assert_true(file_exists(b.so_path));
    assert_int_equal(calls(), 2);
}

/* In a process of its own, which is killed while the compiler works. */
_Noreturn static void build_and_be_killed(const char *cc)
{
    struct build b;
    struct err e;
    build_with(cc, "int orphan;\n", &b, &e);
    _exit(1);
}

static void wait_for(const char *name)
{
    const struct timespec nap = { .tv_nsec = 10000000 };
    for (int i = 0; i < 1000 && !file_exists(in_home(name)); i++)
        nanosleep(&nap, NULL);
    assert_true(file_exists(in_home(name)));
}

/* Once killed while it compiles; go: the compiler may end now. */
static void kill_while_it_compiles(const char *cc)
{
    pid_t pid = fork();
    if (pid == 0)
        build_and_be_killed(cc);
    wait_for("calls");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void what_an_orphan_compiled_is_found(void **state)
{
    struct build b;
    struct err e;
    (void)state;
    const char *cc = compiler("slow", "while ! [ -e go ]; do sleep 0.01; done");
    unlink(in_home("go"));
    kill_while_it_compiles(cc);
    assert_true(file_write_atomic(in_home("go"), "", 0, &e));
    if (!build_with(cc, "int orphan;\n", &b, &e))
        fail_msg("%s", e.text);
    assert_int_equal(calls(), 1);
    assert_true(b.cached && file_exists(b.so_path));
}

/* One that was killed as well leaves half an object. */
static void what_it_did_not_end_is_made_again(void **state)
{
    struct build b;
    struct err e;
    (void)state;
    const char *cc = compiler("broken", "[ $(wc -l < calls) = 1 ] && { while ! [ -e go ]; do"
                                        " sleep 0.01; done; echo half > \"${c%.c}.so\"; kill -9 $$;"
                                        " }");
    unlink(in_home("go"));
    kill_while_it_compiles(cc);
    assert_true(file_write_atomic(in_home("go"), "", 0, &e));
    if (!build_with(cc, "int orphan;\n", &b, &e))
        fail_msg("%s", e.text);
    assert_int_equal(calls(), 2);
    assert_false(b.cached);
}

static void waiting_can_be_cancelled(void **state)
{
    struct compiler cc;
    const struct target *host = target_host();
    struct cancel raised = { 1 };
    struct build b;
    struct err e;
    (void)state;
    const char *path = compiler("endless", "while ! [ -e go ]; do sleep 0.01; done");
    unlink(in_home("go"));
    kill_while_it_compiles(path);
    assert_true(compiler_find(path, &cc, &e));
    assert_false(build_shared(&cc, "int orphan;\n", host, false, &raised, &b, &e));
    assert_int_equal(e.code, ERR_CANCEL);
    assert_true(file_write_atomic(in_home("go"), "", 0, &e));
}

/* --- Kernels' processes ----------------------------------------------------------------------- */

/* "PID (NAME) STATE PPID" of a process that is our runner. */
static bool is_our_runner(const char *pid)
{
    char path[300], name[64] = "";
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *f = fopen(path, "re");
    bool ours = f && fscanf(f, "%*d (%63[^)]) %*c %d", name, &parent) == 2
             && parent == (int)getpid() && str_starts(name, "tilescope-runn");
    if (f)
        fclose(f);
    return ours;
}

static int kill_runner(void)
{
    DIR *dir = opendir("/proc");
    struct dirent *d;
    int n = 0;
    assert_non_null(dir);
    while ((d = readdir(dir)) != NULL)
        if (d->d_name[0] >= '1' && d->d_name[0] <= '9' && is_our_runner(d->d_name))
            n += kill((pid_t)atoi(d->d_name), SIGKILL) == 0;
    closedir(dir);
    return n;
}

/* Kills the runner when something is reported, so many times. */
struct killer { const char *when; int left, done; };

static void kill_when(void *ctx, const char *what, double fraction)
{
    struct killer *k = ctx;
    (void)fraction;
    if (k->left > 0 && str_starts(what, k->when) && kill_runner() > 0) {
        k->left--;
        k->done++;
    }
}

static const struct program *program_of(const char *step)
{
    const struct program *p;
    struct err e;
    int bad;
    if (!program_replay(perm, SPEC, &step, step ? 1 : 0, &p, &bad, &e))
        fail_msg("%s: %s", step, e.text);
    return p;
}

static const struct measure_opts brief = { .meters = METER_CLOCK, .time_s = 1e-3, .min_runs = 2 };

static void killed_runner_is_tried_again(void **state)
{
    static const char *const when[] = { "checking", "timing" };
    (void)state;
    for (int i = 0; i < COUNT_OF(when); i++) {
        struct killer k = { .when = when[i], .left = 1 };
        struct progress pr = { kill_when, &k };
        struct measurement m;
        struct err e;
        if (!measure_program(program_of(NULL), &brief, &pr, NULL, &m, &e))
            fail_msg("%s: %s", when[i], m.reason);
        assert_int_equal(k.done, 1);
        assert_int_equal(m.outcome, OUTCOME_OK);
        k = (struct killer){ .when = when[i], .left = 9 };
        assert_true(measure_program(program_of(NULL), &brief, &pr, NULL, &m, &e));
        assert_int_equal(k.done, 2);
        assert_int_equal(m.outcome, OUTCOME_CRASH);
        assert_contains(m.reason, "was killed (signal 9");
        assert_contains(m.reason, "and so was another one");
    }
}

/* What OpenMP does where there may be no more threads. */
static void no_threads_are_no_crash(void **state)
{
    struct measure_opts o = brief;
    struct measurement m;
    struct err e;
    (void)state;
    o.compiler = compiler("single", "sed -i 's/^\\( *\\)for (long m .*/int dprintf(int,"
                                    " const char *, ...); void _exit(int); dprintf(2,"
                                    " \"libgomp: Thread creation failed: no more\");"
                                    " _exit(1);\\n&/' \"$c\"");
    o.threads = 2;
    assert_false(measure_program(program_of(NULL), &o, NULL, NULL, &m, &e));
    assert_int_equal(m.outcome, OUTCOME_ENV);
    assert_contains(m.reason, "cannot start a team of 2 threads: libgomp: Thread creation");
    assert_contains(e.fix, "ulimit -u");
    o.threads = 1;
    assert_true(measure_program(program_of(NULL), &o, NULL, NULL, &m, &e));
    assert_int_equal(m.outcome, OUTCOME_CRASH);
}

static void so_are_those_that_are_compared(void **state)
{
    static const char *const when[] = { "checking", "timing" };
    const struct program *p[] = { program_of(NULL), program_of("loop reorder C N M K") };
    (void)state;
    for (int i = 0; i < COUNT_OF(when); i++) {
        struct killer k = { .when = when[i], .left = 1 };
        struct progress pr = { kill_when, &k };
        struct compared out[2];
        struct comparison how;
        struct err e;
        if (!measure_compare(p, 2, &brief, &pr, NULL, out, &how, &e))
            fail_msg("%s: %s", when[i], e.text);
        assert_int_equal(k.done, 1);
        assert_int_equal(out[0].m.outcome, OUTCOME_OK);
        assert_int_equal(out[1].m.outcome, OUTCOME_OK);
    }
}

/* --- Candidates ------------------------------------------------------------------------------- */

static const char *const step[] = { NULL, "loop split C M 2 4", "loop split C N 2 4",
                                    "loop split C K 4 2", "loop reorder C N M K" };
static int n_measured;
static bool soon;

static void count_measured(void *ctx, struct batch_item *item)
{
    (void)ctx;
    n_measured += item->m.outcome != OUTCOME_ENV;
}

static struct batch_stats run_all(const char *cc, const struct progress *pr,
                                  struct batch_item *item, bool *ok, struct err *e)
{
    struct batch_opts o = { .measure = { .time_s = 1e-3, .min_runs = 2, .compiler = cc },
                            .jobs = 1, .soon = soon, .measured = count_measured };
    struct batch *b;
    n_measured = 0;
    for (int i = 0; i < COUNT_OF(step); i++)
        item[i] = (struct batch_item){ .p = program_of(step[i]) };
    if (!batch_new(item[0].p, &o, NULL, &b, e))
        fail_msg("%s", e->text);
    *ok = batch_run(b, item, COUNT_OF(step), pr, NULL, e);
    struct batch_stats s = batch_stats(b);
    batch_free(b);
    return s;
}

static void candidates_are_compiled_alone(void **state)
{
    static struct batch_item item[COUNT_OF(step)];
    struct err e;
    bool ok;
    (void)state;
    const char *cc = compiler("lonely", "grep -q ts_entry_1 \"$c\" && kill -9 $$");
    struct batch_stats s = run_all(cc, NULL, item, &ok, &e);
    assert_true(ok);
    assert_int_equal(s.of[OUTCOME_OK], COUNT_OF(step));
    assert_int_equal(calls(), 1 + COUNT_OF(step));
}

static void one_that_cannot_be_compiled_is_not_measured(void **state)
{
    static struct batch_item item[COUNT_OF(step)];
    struct err e;
    bool ok;
    (void)state;
    const char *cc = compiler("picky", "grep -q n_1 \"$c\" && kill -9 $$");
    struct batch_stats s = run_all(cc, NULL, item, &ok, &e);
    assert_true(ok);
    assert_int_equal(s.of[OUTCOME_OK], COUNT_OF(step) - 1);
    assert_int_equal(item[2].m.outcome, OUTCOME_ENV);
    assert_contains(item[2].m.reason, "the compiler picky was killed (signal 9");
    assert_int_equal(n_measured, COUNT_OF(step) - 1);
}

static void many_in_a_row_are_no_accident(void **state)
{
    static struct batch_item item[COUNT_OF(step)];
    struct err e;
    bool ok;
    (void)state;
    run_all(compiler("hated", "kill -9 $$"), NULL, item, &ok, &e);
    assert_false(ok);
    assert_int_equal(e.code, ERR_ENV);
    assert_contains(e.text, "3 candidates in a row: the compiler hated was killed (signal 9");
    assert_contains(e.fix, "memory");
    assert_int_equal(n_measured, 0);
}

static void killed_runner_is_no_crash_of_a_candidate(void **state)
{
    static struct batch_item item[COUNT_OF(step)];
    struct killer k = { .when = "measuring", .left = 3 };
    struct progress pr = { kill_when, &k };
    struct err e;
    bool ok;
    (void)state;
    struct batch_stats s = run_all(NULL, &pr, item, &ok, &e);
    assert_true(ok);
    assert_int_equal(k.done, 3);
    assert_int_equal(s.of[OUTCOME_OK], COUNT_OF(step));
}

/* The second and the third candidate take their processes with them. */
static void kernels_that_kill_themselves_crash(void **state)
{
    static struct batch_item item[COUNT_OF(step)];
    struct err e;
    bool ok;
    (void)state;
    const char *cc = compiler("suicide",
        "sed -i -e 's/^\\( *\\)for (long m_0.*/int getpid(void), kill(int, int);"
        " kill(getpid(), 9);\\n&/' -e 's/^\\( *\\)for (long n_0.*/int getpid(void),"
        " kill(int, int); kill(getpid(), 9);\\n&/' \"$c\"");
    struct batch_stats s = run_all(cc, NULL, item, &ok, &e);
    if (!ok)
        fail_msg("%s", e.text);
    assert_int_equal(s.of[OUTCOME_CRASH], 2);
    assert_int_equal(s.of[OUTCOME_OK], COUNT_OF(step) - 2);
    assert_contains(item[1].m.reason, "and so was another one");
    assert_int_equal(n_measured, COUNT_OF(step));
    cc = compiler("suicide2", "sed -i -e 's/^\\( *\\)for (long [mn].*/int getpid(void),"
                              " kill(int, int); kill(getpid(), 9);\\n&/' \"$c\"");
    for (int i = 0; i < 2; i++) {
        soon = i == 1;                   /* compilers that live in between change nothing */
        run_all(cc, NULL, item, &ok, &e);
        assert_false(ok);
        assert_int_equal(e.code, ERR_ENV);
        assert_contains(e.text, "3 candidates in a row: the kernel's process was killed (signal 9");
    }
    soon = false;
}

static void empty_the_cache(void *ctx, const char *what, double fraction)
{
    (void)ctx;
    (void)fraction;
    if (str_starts(what, "measuring"))
        temp_dir_remove(in_home("tilescope/objects"));
}

static void emptied_cache_is_filled_again(void **state)
{
    static struct batch_item item[COUNT_OF(step)];
    struct progress pr = { empty_the_cache, NULL };
    struct err e;
    bool ok;
    (void)state;
    struct batch_stats s = run_all(NULL, &pr, item, &ok, &e);
    assert_true(ok);
    assert_int_equal(s.of[OUTCOME_OK], COUNT_OF(step));
}

static void rises(void *ctx, const char *what, double done)
{
    double *last = ctx;
    if (streq(what, "measuring")) {
        assert_true(done > *last && done < 1);
        *last = done;
    }
}

/* One at a time, then twice as many, then the rest: the sooner something is measured. */
static void parts_grow(void **state)
{
    static struct batch_item item[COUNT_OF(step)];
    struct err e;
    (void)state;
    const char *cc = compiler("counted", ":");
    struct batch_opts o = { .measure = { .time_s = 1e-3, .min_runs = 2, .compiler = cc },
                            .jobs = 1, .soon = true };
    double last = -1;
    struct progress pr = { rises, &last };
    struct batch *b;
    for (int i = 0; i < COUNT_OF(step); i++)
        item[i] = (struct batch_item){ .p = program_of(step[i]) };
    assert_true(batch_new(item[0].p, &o, NULL, &b, &e));
    assert_true(batch_run(b, item, COUNT_OF(step), &pr, NULL, &e));
    assert_int_equal(batch_stats(b).of[OUTCOME_OK], COUNT_OF(step));
    assert_int_equal(calls(), 3);
    batch_free(b);
}

static int set_up(void **state)
{
    (void)state;
    perm = arena_new();
    home = temp_dir("XDG_CACHE_HOME");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(perm);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_compiler_is_tried_again),
        cmocka_unit_test(so_is_what_a_compiler_starts),
        cmocka_unit_test(removed_folder_is_made_again),
        cmocka_unit_test(what_an_orphan_compiled_is_found),
        cmocka_unit_test(what_it_did_not_end_is_made_again),
        cmocka_unit_test(waiting_can_be_cancelled),
        cmocka_unit_test(killed_runner_is_tried_again),
        cmocka_unit_test(no_threads_are_no_crash),
        cmocka_unit_test(so_are_those_that_are_compared),
        cmocka_unit_test(candidates_are_compiled_alone),
        cmocka_unit_test(one_that_cannot_be_compiled_is_not_measured),
        cmocka_unit_test(many_in_a_row_are_no_accident),
        cmocka_unit_test(killed_runner_is_no_crash_of_a_candidate),
        cmocka_unit_test(kernels_that_kill_themselves_crash),
        cmocka_unit_test(emptied_cache_is_filled_again),
        cmocka_unit_test(parts_grow),
    };
    return cmocka_run_group_tests_name("outside", tests, set_up, tear_down);
}
