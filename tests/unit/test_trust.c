/* Kernels that are right at first: what later calls leave behind is compared as well, and what no
 * kernel can do is refused. */
/* tests/run.sh: takes 16 s */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels/base/arena.h"
#include "profile/build/build.h"
#include "profile/measure/batch.h"
#include "profile/child/child_impl.h"
#include "tests/unit/child_floats.h"
#include "tests/unit/miscompile.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define SPEC "gmm m=64 n=64 k=256"
#define SMALL "gmm m=16 n=16 k=16"        /* called often enough for what is rare */

static struct arena *perm;
static const char *home;

#define assert_contains(text, part) \
    do { \
        if (!strstr((text), (part))) \
            fail_msg("\"%s\" is not in \"%s\"", (part), (text)); \
    } while (0)

static const struct program *program_of(const char *spec, const char *step)
{
    const struct program *p;
    struct err e;
    int bad;
    if (!program_replay(perm, spec, &step, step != NULL, &p, &bad, &e))
        fail_msg("%s: %s", spec, e.text);
    return p;
}

/* --- Through miscompiling compilers ----------------------------------------------------------- */

struct late { const char *name, *spec; enum outcome outcome; const char *says; };
static const struct late late[] = {
    { "none", SPEC, OUTCOME_OK, "" },
    /* Which call is found out depends on how busy the machine is. */
    { "lazy", SPEC, OUTCOME_WRONG, "was never written, reference " },
    { "lazy-late", SMALL, OUTCOME_WRONG, "was never written, reference " },
    { "lazy-in-turns", SPEC, OUTCOME_WRONG, "was never written, reference " },
    { "lazy-when-right", SPEC, OUTCOME_WRONG, "was never written, reference " },
    { "corrupt", SPEC, OUTCOME_WRONG, "calls C[0][5] is " },
    { "corrupt-late", SMALL, OUTCOME_WRONG, "calls C[0][5] is " },
    { "race", SMALL, OUTCOME_WRONG, "calls C[0][3] is 0, reference " },
    { "input", SPEC, OUTCOME_CRASH,
      "a write to element 0 of A, which the kernel may only read" },
    { "input-unlocked", SPEC, OUTCOME_WRONG, "calls C[0][0] is " },
    { "memo", SPEC, OUTCOME_WRONG, "the kernel skips work" },
    { "unsteady", SPEC, OUTCOME_OK, "" },
    { "busy", SPEC, OUTCOME_OK, "" },
};

static void check_late(const struct late *l, const struct measurement *m)
{
    bool ok = l->outcome == OUTCOME_OK;
    if (m->outcome != l->outcome)
        fail_msg("%s: %s: %s", l->name, outcome_name[m->outcome], m->reason);
    assert_contains(m->reason, l->says);
    if (!ok && l->outcome == OUTCOME_WRONG && strcmp(l->name, "memo") != 0)
        assert_true(strncmp(m->reason, "after ", 6) == 0);
    assert_int_equal(m->verified, ok);
    assert_int_equal(m->latency.runs > 0, ok);
    assert_int_equal(m->latency.min_ms > 0, ok);
    assert_int_equal(m->gflops > 0, ok);
    assert_int_equal(m->cold_latency.runs, 0);
}

static void later_calls_are_compared(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(late); i++) {
        char path[300];
        struct measurement m;
        struct err e;
        miscompiler(late[i].name, "", path, sizeof path);
        struct measure_opts o = { .meters = METER_CLOCK, .seed = 1, .time_s = 0.2,
                                  .compiler = path };
        assert_true(measure_program(program_of(late[i].spec, NULL), &o, NULL, NULL, &m, &e));
        check_late(&late[i], &m);
    }
}

/* Nobody asked for a time. */
static void later_calls_without_the_clock_are_compared(void **state)
{
    static const struct { const char *name; enum outcome outcome; } table[] = {
        { "none", OUTCOME_OK }, { "lazy", OUTCOME_WRONG }, { "corrupt", OUTCOME_WRONG },
        { "input", OUTCOME_CRASH }, { "unsteady", OUTCOME_OK },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        char path[300];
        struct measurement m;
        struct err e;
        miscompiler(table[i].name, "", path, sizeof path);
        struct measure_opts o = { .seed = 1, .compiler = path };
        assert_true(measure_program(program_of(SMALL, NULL), &o, NULL, NULL, &m, &e));
        if (m.outcome != table[i].outcome)
            fail_msg("%s: %s: %s", table[i].name, outcome_name[m.outcome], m.reason);
        assert_int_equal(m.verified, m.outcome == OUTCOME_OK);
        assert_int_equal(m.latency.runs, 0);
    }
}

/* Less time and no ceiling: what is rare may pass, to be found by the final. */
static void later_calls_of_batches_are_compared(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(late); i++) {
        char path[300];
        struct batch *b;
        struct err e;
        if (strcmp(late[i].spec, SMALL) == 0)
            continue;
        miscompiler(late[i].name, "", path, sizeof path);
        struct batch_opts o = { .measure = { .seed = 1, .compiler = path } };
        struct batch_item item[2] = { { .p = program_of(SPEC, NULL) },
                                      { .p = program_of(SPEC, "loop split C M 32 2") } };
        assert_true(batch_new(item[0].p, &o, NULL, &b, &e));
        assert_true(batch_run(b, item, 2, NULL, NULL, &e));
        for (int k = 0; k < 2; k++)
            check_late(&late[i], &item[k].m);
        batch_free(b);
    }
}

/* The second of three goes, and the others are compared. */
static void a_comparison_goes_on_without_who_is_found_out(void **state)
{
    static const char *const name[] = { "corrupt", "memo", "input" };
    const struct program *p[] = { program_of(SPEC, NULL), program_of(SPEC, "loop split C M 32 2"),
                                  program_of(SPEC, NULL) };
    (void)state;
    for (int i = 0; i < COUNT_OF(name); i++) {
        static struct compared out[3];
        struct comparison how;
        char path[300];
        struct err e;
        miscompiler(name[i], "m_0", path, sizeof path);
        struct measure_opts o = { .seed = 1, .time_s = 0.1, .cold = true, .compiler = path };
        if (!measure_compare(p, 3, &o, NULL, NULL, out, &how, &e))
            fail_msg("%s: %s", name[i], e.text);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(out[k].m.outcome, k != 1 ? OUTCOME_OK
                                               : i == 2 ? OUTCOME_CRASH : OUTCOME_WRONG);
            assert_int_equal(out[k].m.verified, k != 1);
            assert_int_equal(out[k].m.latency.runs > 0, k != 1);
            assert_int_equal(out[k].m.cold_latency.runs > 0, k != 1);
        }
        assert_true(out[1].ratio.ratio == 0 && out[2].ratio.ratio > 0);
    }
}

static void an_ill_conditioned_contender_goes_alone(void **state)
{
    static const char *const name[] = { "tired-ill" };
    const char *spec = "x = input m=4096; c = const m=4096 value=1000000; z = add(x, c);"
                       " y = sub(z, c)";
    const struct program *p[] = { program_of(spec, NULL), program_of(spec, "loop split y M 64"),
                                  program_of(spec, NULL) };
    static struct compared out[3];
    struct comparison how;
    char path[300];
    struct err e = {0};
    (void)state;
    miscompiler(name[0], "m_0", path, sizeof path);
    struct measure_opts o = { .seed = 1, .time_s = 1.0, .compiler = path };
    bool ok = measure_compare(p, 3, &o, NULL, NULL, out, &how, &e);
    printf("ok %d %s\n", ok, e.text);
    for (int k = 0; k < 3; k++)
        printf("%d: %s: %s\n", k, outcome_name[out[k].m.outcome], out[k].m.reason);
}

/* --- Compilers that print the same version ---------------------------------------------------- */

static enum outcome outcome_by(const char *compiler)
{
    struct measure_opts o = { .meters = METER_CLOCK, .seed = 1, .time_s = 0.005, .min_runs = 3,
                              .compiler = compiler };
    struct measurement m;
    struct err e;
    assert_true(measure_program(program_of("gmm m=24 n=24 k=24", NULL), &o, NULL, NULL, &m, &e));
    return m.outcome;
}

static void put_first(const char *dir, const char *path)
{
    char text[4096];
    snprintf(text, sizeof text, "%s%s%s", dir, *dir ? ":" : "", path);
    assert_int_equal(setenv("PATH", text, 1), 0);
}

/* The same name, version and text: a broken one leaves nothing for the other, nor the other way. */
static void a_broken_compiler_leaves_no_objects(void **state)
{
    char minus[300], none[300], *path = strdup(getenv("PATH"));
    struct compiler broken, right, named;
    struct err e;
    (void)state;
    miscompiler("minus", "", minus, sizeof minus);
    miscompiler("none", "", none, sizeof none);
    *strrchr(minus, '/') = *strrchr(none, '/') = '\0';
    for (int i = 0; i < 2; i++) {
        put_first(minus, path);
        assert_true(compiler_find(NULL, &broken, &e));
        assert_int_equal(outcome_by(NULL), OUTCOME_WRONG);
        assert_int_equal(outcome_by("gcc"), OUTCOME_WRONG);
        assert_int_equal(outcome_by("env gcc"), OUTCOME_WRONG);
        put_first(none, path);
        assert_true(compiler_find(NULL, &right, &e));
        assert_int_equal(outcome_by(NULL), OUTCOME_OK);
        assert_int_equal(outcome_by("env gcc"), OUTCOME_OK);
        put_first("", path);
        assert_int_equal(outcome_by(NULL), OUTCOME_OK);
        assert_string_equal(broken.version, right.version);
        assert_true(broken.files != right.files);
    }
    /* Another one in the place of a file that was there. */
    strcat(none, "/gcc");
    assert_int_equal(outcome_by(none), OUTCOME_OK);
    assert_true(compiler_find(none, &named, &e));
    assert_int_equal(named.files, right.files);
    strcat(minus, "/gcc");
    assert_int_equal(rename(minus, none), 0);
    assert_int_equal(outcome_by(none), OUTCOME_WRONG);
    free(path);
}

static void write_script(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

/* A driver that stays the same, and the compiler behind it that changes. */
static void the_compiler_behind_the_driver_counts(void **state)
{
    char driver[300], cc1[300], text[1000];
    struct compiler before, again, after;
    struct err e;
    (void)state;
    snprintf(driver, sizeof driver, "%s/driver", home);
    snprintf(cc1, sizeof cc1, "%s/cc1", home);
    snprintf(text, sizeof text, "#!/bin/sh\necho asked >> %s/asked\ncase $1 in --version)"
             " echo driver 1.0 ;; -print-prog-name=cc1) echo %s ;; esac\n", home, cc1);
    write_script(driver, text);
    write_script(cc1, "one");
    assert_true(compiler_find(driver, &before, &e) && compiler_find(driver, &again, &e));
    assert_true(before.files == again.files);
    write_script(cc1, "two, longer");
    assert_true(compiler_find(driver, &after, &e));
    assert_true(before.files != after.files);
    assert_string_equal(before.version, after.version);
    /* Two questions when it was new, two when it had changed, none in between. */
    snprintf(text, sizeof text, "test $(wc -l < %s/asked) = 4", home);
    assert_int_equal(system(text), 0);
}

/* --- In the child ----------------------------------------------------------------------------- */

#define ELEMS 1000

static struct build built(const char *source)
{
    struct compiler cc;
    const struct target *host = target_host();
    struct build b = {0};
    struct err e;
    if (!compiler_find(NULL, &cc, &e) || !build_shared(&cc, source, host, false, NULL, &b, &e))
        fail_msg("%s", e.text);
    return b;
}

/* Buffers: an input (A[i] = i), an intermediate, a result; checked. */
static struct runner *checked(const char *source, double limit_s)
{
    static const struct runner_buffer buffer[] = {
        { "A", &type_f32, 4 * ELEMS, false }, { "Mid", &type_f32, 4 * ELEMS, true },
        { "B", &type_f32, 4 * ELEMS, BUFFER_RESULT },
    };
    struct runner_opts o = { .threads = 1, .limit_s = limit_s, .n_buffers = 3, .buffer = buffer };
    struct build b = built(source);
    struct runner *c;
    struct err e;
    double seconds;
    if (!runner_open(&child_runner, &o, &c, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < ELEMS; i++) {
        child_floats(c, 0)[i] = (float)i;
        child_floats(c, 1)[i] = child_floats(c, 2)[i] = -1;
    }
    if (!runner_load(c, SLOT_KERNEL, b.so_path, "", &e) || !runner_run(c, 0, &seconds, &e))
        fail_msg("%s", e.text);
    return c;
}

#define ENTRY(body) \
    "int usleep(unsigned n);\nstatic long calls;\n" \
    "void ts_entry(float *const *buffers)\n{\n" \
    "    float *a = buffers[0], *mid = buffers[1], *b = buffers[2];\n    calls++;\n" \
    "    (void)a; (void)mid; (void)b;\n    " body "\n}\n"
#define COPY "for (int i = 0; i < 1000; i++) b[i] = a[i];"

/* differs: its least and most calls, 0 = it must not. */
struct phase { const char *what, *source; struct sampled how; int least, most; };

static void every_phase_looks_again(void **state)
{
    static const char spoilt[] = ENTRY(COPY " if (calls > 4) b[999] = 7;");
    static const char slow[] = ENTRY("usleep(21000); " COPY " if (calls > 4) b[999] = 7;");
    static const char first_only[] = ENTRY("if (calls < 3) for (int i = 0; i < 1000; i++)"
                                           " mid[i] = a[i]; for (int i = 0; i < 1000; i++)"
                                           " b[i] = mid[i];");
    static const char part[] = ENTRY("for (int i = calls > 2; i < 1000; i++) b[i] = a[i];");
    static const struct phase table[] = {
        { "hot", spoilt, { .time_s = 0.01, .min_runs = 3 }, 5, 5 },
        { "hot, no time", spoilt, { .min_runs = 9 }, 5, 1000000 },
        { "cold", spoilt, { .cold = true, .time_s = 0.001, .min_runs = 9, .walk_bytes = 1 << 20 },
          5, 5 },
        { "long", slow, { .time_s = 0.01, .min_runs = 9 }, 5, 5 },
        { "given up", spoilt, { .time_s = 0.01, .min_runs = 3, .give_up_s = 1e-9 }, 5, 5 },
        { "long, given up", slow, { .time_s = 0.01, .min_runs = 3, .give_up_s = 1e-3 }, 0, 0 },
        { "an intermediate", first_only, { .time_s = 0.01, .min_runs = 3 }, 3, 3 },
        { "one element", part, { .time_s = 0.01, .min_runs = 3 }, 3, 20 },
        { "right", ENTRY(COPY), { .time_s = 0.01, .min_runs = 3 }, 0, 0 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct runner *c = checked(table[i].source, 10);
        struct sampled how = table[i].how;
        struct samples s;
        struct err e;
        how.contenders = how.steady = 1;
        if (!runner_time(c, &how, &s, &e))
            fail_msg("%s: %s", table[i].what, e.text);
        if (table[i].least == 0 && s.differs < 0) {
            runner_close(c);
            continue;
        }
        if (s.differs != 0 || s.differs_after < table[i].least || s.differs_after > table[i].most)
            fail_msg("%s: contender %d after %lld calls", table[i].what, s.differs,
                     (long long)s.differs_after);
        runner_close(c);
    }
}

/* What is not known to be right is only timed. */
static void only_the_steady_are_looked_at(void **state)
{
    struct runner *c = checked(ENTRY("b[0] = (float)calls;"), 10);
    struct sampled how = { .contenders = 1, .time_s = 0.005, .min_runs = 3 };
    struct samples s;
    struct err e;
    (void)state;
    assert_true(runner_time(c, &how, &s, &e));
    assert_int_equal(s.differs, -1);
    assert_true(s.rounds >= 3);
    runner_close(c);
}

/* --- The ceiling ------------------------------------------------------------------------------ */

static const char ceiling_text[] =
    "int getpid(void), open(const char *, int, ...), close(int);\n"
    "long write(int, const void *, unsigned long);\n"
    "void ts_entry(float *const *buffers)\n{\n    static int done;\n    (void)buffers;\n"
    "    if (!done++) {\n"
    "        int pid = getpid(), fd = open(\"%s/ceiling-pid\", 0101, 0600);\n"
    "        if (write(fd, &pid, sizeof pid) > 0) close(fd);\n    }\n"
    "    for (volatile int i = 0; i < 1000; i++) ;\n}\n";

/* A child whose ceiling has told who it is. */
static struct runner *with_ceiling(int *ceiling_pid, int *kernel_pid)
{
    char text[1000], path[200];
    struct samples s;
    struct sampled how = { .contenders = 1, .ceiling = true, .time_s = 0.005, .min_runs = 3 };
    struct err e;
    struct runner *c = checked("int getpid(void);\n"
                              ENTRY("*(int *)b = getpid(); *((int *)b + 1) = 0;"), 10);
    snprintf(text, sizeof text, ceiling_text, home);
    struct build b = built(text);
    if (!runner_load_ceiling(c, b.so_path, &e) || !runner_time(c, &how, &s, &e))
        fail_msg("%s", e.text);
    assert_true(s.of[SERIES_CEILING].min > 0);
    snprintf(path, sizeof path, "%s/ceiling-pid", home);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(ceiling_pid, sizeof *ceiling_pid, 1, f), 1);
    fclose(f);
    memcpy(kernel_pid, runner_data(c, 2), sizeof *kernel_pid);
    return c;
}

static void the_ceiling_has_a_process_of_its_own(void **state)
{
    int ceiling, kernel;
    struct err e;
    (void)state;
    struct runner *c = with_ceiling(&ceiling, &kernel);
    assert_true(ceiling > 0 && kernel > 0 && ceiling != kernel);
    assert_int_equal(kernel, child_of(c)->pid);
    assert_int_equal(ceiling, child_of(c)->ceiling_pid);
    assert_false(runner_load_ceiling(c, "any", &e));
    assert_int_equal(e.code, ERR_BUG);
    runner_close(c);
    assert_int_equal(kill(ceiling, 0), -1);
    assert_int_equal(kill(kernel, 0), -1);
}

/* Killed from outside, it is an error of the environment, and nobody waits for it. */
static void a_ceiling_that_ends_is_reported(void **state)
{
    int ceiling, kernel;
    struct samples s;
    struct sampled how = { .contenders = 1, .ceiling = true, .time_s = 0.005, .min_runs = 3 };
    struct err e;
    (void)state;
    struct runner *c = with_ceiling(&ceiling, &kernel);
    kill(ceiling, SIGKILL);
    assert_false(runner_time(c, &how, &s, &e));
    assert_int_equal(e.code, ERR_KILLED);            /* which is tried again */
    assert_contains(e.text, "the process that samples the FMA ceiling");
    runner_close(c);
}

static void a_ceiling_that_cannot_be_loaded_is_none(void **state)
{
    struct sampled how = { .contenders = 1, .ceiling = true, .time_s = 0.005, .min_runs = 3 };
    struct samples s;
    struct err e;
    (void)state;
    struct runner *c = checked(ENTRY(COPY), 10);
    assert_false(runner_load_ceiling(c, "/nonexistent/ceiling.so", &e));
    assert_int_equal(e.code, ERR_COMPILE);
    assert_contains(e.text, "/nonexistent/ceiling.so");
    assert_false(runner_time(c, &how, &s, &e));
    how.ceiling = false;
    runner_close(c);
}

static void it_dies_with_its_parent(void **state)
{
    int fd[2], pid[2] = { 0, 0 };
    (void)state;
    assert_int_equal(pipe(fd), 0);
    pid_t parent = fork();
    if (parent == 0) {
        with_ceiling(&pid[0], &pid[1]);
        (void)!write(fd[1], pid, sizeof pid);
        pause();
        _exit(1);
    }
    assert_int_equal(read(fd[0], pid, sizeof pid), sizeof pid);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    bool gone = false;
    for (int i = 0; i < 500 && !gone; i++) {
        char path[64], letter = 'Z';
        snprintf(path, sizeof path, "/proc/%d/stat", pid[0]);
        FILE *f = fopen(path, "re");
        gone = !f || fscanf(f, "%*d (%*[^)]) %c", &letter) != 1 || letter == 'Z';
        if (f)
            fclose(f);
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    assert_true(gone);
    close(fd[0]);
    close(fd[1]);
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
        cmocka_unit_test(an_ill_conditioned_contender_goes_alone),
        cmocka_unit_test(later_calls_are_compared),
        cmocka_unit_test(later_calls_without_the_clock_are_compared),
        cmocka_unit_test(later_calls_of_batches_are_compared),
        cmocka_unit_test(a_comparison_goes_on_without_who_is_found_out),
        cmocka_unit_test(a_broken_compiler_leaves_no_objects),
        cmocka_unit_test(the_compiler_behind_the_driver_counts),
        cmocka_unit_test(every_phase_looks_again),
        cmocka_unit_test(only_the_steady_are_looked_at),
        cmocka_unit_test(the_ceiling_has_a_process_of_its_own),
        cmocka_unit_test(a_ceiling_that_ends_is_reported),
        cmocka_unit_test(a_ceiling_that_cannot_be_loaded_is_none),
        cmocka_unit_test(it_dies_with_its_parent),
    };
    return cmocka_run_group_tests_name("trust", tests, set_up, tear_down);
}
