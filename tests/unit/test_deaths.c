/* Ends of a runner and its answers, each with the whole sentence; what the runner gets from the
 * parent: memory, environment and files. The runner is a program of this test. */
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/arena.h"
#include "profile/child/child_impl.h"
#include "tests/unit/own_runner.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static char runner[OWN_RUNNER_PATH];

/* Does at the first request what $TS_DIE says, after $TS_SAY as its first words. */
static const char source[] =
    "#include <dirent.h>\n#include <math.h>\n#include <signal.h>\n#include <stdio.h>\n"
    "#include <stdlib.h>\n#include <string.h>\n#include <sys/mman.h>\n#include <sys/socket.h>\n"
    "#include <sys/stat.h>\n#include <unistd.h>\n#include \"profile/child/protocol.h\"\n"
    "static const char *const name[] = { \"OMP_NUM_THREADS\", \"OPENBLAS_NUM_THREADS\",\n"
    "    \"OMP_DYNAMIC\", \"OMP_PROC_BIND\", \"OMP_PLACES\", \"KMP_BLOCKTIME\",\n"
    "    \"OMP_WAIT_POLICY\", \"GOMP_X\", \"GOTO_X\", \"OPENBLAS_X\", \"OMPI_X\" };\n"
    "static void print_variables(void)\n{\n"
    "    for (int i = 0; i < 11; i++)\n"
    "        printf(\"%s%s\", i ? \" \" : \"\", getenv(name[i]) ? getenv(name[i]) : \"-\");\n}\n"
    "static void print_files(void)\n{\n"
    "    DIR *d = opendir(\"/proc/self/fd\");\n    int open[32] = { 0 };\n"
    "    for (struct dirent *f; (f = readdir(d));)\n"
    "        if (f->d_name[0] != '.' && atoi(f->d_name) != dirfd(d))\n"
    "            open[atoi(f->d_name) % 32]++;\n"
    "    for (int i = 0; i < 32; i++)\n        if (open[i]) printf(\"%d \", i);\n"
    "    printf(\"%d\", (int)read(0, open, 1));\n}\n"
    "int main(int argc, char **argv)\n{\n"
    "    static struct request q;\n    struct reply r = { .version = PROTOCOL_VERSION, .ok = 1 };\n"
    "    struct stat st;\n    struct fault f = { 0 };\n    int n = 0, sig = 0;\n"
    "    const char *die = getenv(\"TS_DIE\"), *say = getenv(\"TS_SAY\");\n"
    "    if (fstat(RUNNER_MEMORY_FD, &st)) return 1;\n"
    "    struct shared *sh = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,\n"
    "                             RUNNER_MEMORY_FD, 0);\n"
    "    if (argc > 1) fprintf(stderr, \"%s: \", argv[1]);\n"
    "    send(RUNNER_SOCKET_FD, &r, sizeof r, 0);\n"
    "    recv(RUNNER_SOCKET_FD, &q, sizeof q, 0);\n"
    "    if (say) fprintf(stderr, \"%s\", say);\n"
    "    if (sscanf(die, \"exit %d\", &n) == 1) return n;\n"
    "    if (sscanf(die, \"signal %d\", &n) == 1) raise(n);\n"
    "    if (!strcmp(die, \"variables\")) return print_variables(), 9;\n"
    "    if (!strcmp(die, \"files\")) return print_files(), 9;\n"
    "    if (sscanf(die, \"fault %d %d %d %d %d\", &sig, &f.where, &f.access, &f.buffer,\n"
    "               &n) == 5) {\n"
    "        f.signal = sig;\n        f.distance = n;\n        f.address = 0x10;\n"
    "        sh->fault = f;\n        if (sig) return 128 + sig;\n"
    "        r.ok = 0;\n        r.code = WRONG;\n"
    "        strcpy(r.text, WROTE_OUTSIDE);\n    }\n"
    "    if (sscanf(die, \"code %d\", &n) == 1) {\n        r.ok = 0;\n        r.code = n;\n"
    "        strcpy(r.text, \"a\\nb\");\n    }\n"
    "    if (sscanf(die, \"seconds %lf\", &r.seconds) == 1 && r.seconds == 99) r.seconds = NAN;\n"
    "    send(RUNNER_SOCKET_FD, &r, sizeof r, 0);\n"
    "    recv(RUNNER_SOCKET_FD, &q, sizeof q, 0);\n    return 0;\n}\n";

static const struct runner_buffer buffers[] = {
    { "A", &type_f32, 100, 0 }, { "B", &type_f32, 4097, 1 },
    { "C", &type_f32, 8192, BUFFER_RESULT },
};

static struct runner *open_with(struct runner_opts o, const char *die, const char *say)
{
    struct runner *c;
    struct err e;
    o.path = runner;
    o.limit_s = 5;
    o.n_buffers = COUNT_OF(buffers);
    o.buffer = buffers;
    setenv("TS_DIE", die, 1);
    if (say)
        setenv("TS_SAY", say, 1);
    else
        unsetenv("TS_SAY");
    if (!runner_open(&child_runner, &o, &c, &e))
        fail_msg("%s", e.text);
    return c;
}

/* How the runner ends, or answers, and what the parent makes of it. */
static bool run_once(const char *die, const char *say, int threads, double *seconds, struct err *e)
{
    struct runner *c = open_with((struct runner_opts){ .threads = threads }, die, say);
    bool ok = runner_run(c, 0, seconds, e);
    runner_close(c);
    return ok;
}

#define FAULT(sig, where, access, buffer, distance) \
    "fault " #sig " " #where " " #access " " #buffer " " #distance
#define DMESG "`dmesg` may say why; free some memory if that was the reason"

/* Numbers of signals: SIGILL 4, SIGTRAP 5, SIGABRT 6, SIGBUS 7, SIGFPE 8, SIGKILL 9, SIGUSR1 10,
 * SIGSEGV 11, SIGTERM 15, SIGXCPU 24, SIGSYS 31.  Places: 0 elsewhere, 1 null, 2 stack, 3 inside,
 * 4 before, 5 behind; accesses: 0 unknown, 1 read, 2 write. */
static const struct { const char *die, *say; int threads; enum err_code code;
                      const char *text, *fix; } ends[] = {
    { FAULT(11, 1, 1, -1, 0), "x", 1, ERR_CRASH,
      "crashed: SIGSEGV at a read through a null pointer (address 0x10)", "" },
    { FAULT(7, 2, 2, -1, 0), NULL, 1, ERR_CRASH,
      "crashed: SIGBUS at a write beyond the stack: the local buffers are too large for it", "" },
    { FAULT(11, 3, 2, 1, 12), NULL, 1, ERR_CRASH,
      "crashed: SIGSEGV at a write to element 3 of B, which the kernel may only read", "" },
    { FAULT(11, 3, 2, 3, 12), NULL, 1, ERR_CRASH,
      "crashed: SIGSEGV at a write to element 12 of ?, which the kernel may only read", "" },
    { FAULT(11, 4, 0, 0, 8), NULL, 1, ERR_CRASH, "crashed: SIGSEGV at an access 8 bytes before A",
      "" },
    { FAULT(11, 4, 1, -1, 8), NULL, 1, ERR_CRASH, "crashed: SIGSEGV at a read 8 bytes before ?",
      "" },
    { FAULT(11, 5, 2, 2, 0), NULL, 1, ERR_CRASH, "crashed: SIGSEGV at a write just behind C", "" },
    { FAULT(11, 5, 2, 2, 4), NULL, 1, ERR_CRASH,
      "crashed: SIGSEGV at a write 4 bytes behind C", "" },
    { FAULT(11, 0, 1, -1, 0), NULL, 1, ERR_CRASH,
      "crashed: SIGSEGV at a read through a wild pointer", "" },
    { FAULT(8, 0, 0, -1, 0), "last\nwords", 1, ERR_CRASH,
      "crashed: SIGFPE (integer division by zero): last", "" },
    { FAULT(4, 0, 0, -1, 0), "tab\there", 1, ERR_CRASH,
      "crashed: SIGILL (an instruction that this CPU does not have): tab?here", "" },
    { FAULT(6, 0, 0, -1, 0), NULL, 1, ERR_CRASH, "crashed: SIGABRT (it called abort)", "" },
    { FAULT(5, 0, 0, -1, 0), NULL, 1, ERR_CRASH, "crashed: SIGTRAP", "" },
    { FAULT(31, 0, 0, -1, 0), NULL, 1, ERR_CRASH, "crashed: SIGSYS", "" },
    { FAULT(0, 4, 2, 0, 4), NULL, 1, ERR_WRONG,
      "wrote outside its buffers: a write 4 bytes before A", "" },
    { "signal 10", "why", 1, ERR_CRASH, "crashed: a signal: why", "" },
    { "signal 24", "why", 1, ERR_TIMEOUT, "the kernel used more CPU time than its limit", "" },
    { "signal 9", "why", 1, ERR_KILLED,
      "the kernel's process was killed (signal 9: out of memory?): why", DMESG },
    { "signal 15", NULL, 1, ERR_KILLED, "the kernel's process was killed (signal 15)", DMESG },
    { "signal 1", NULL, 1, ERR_KILLED, "the kernel's process was killed (signal 1)", DMESG },
    { "signal 2", NULL, 1, ERR_KILLED, "the kernel's process was killed (signal 2)", DMESG },
    { "signal 3", NULL, 1, ERR_KILLED, "the kernel's process was killed (signal 3)", DMESG },
    { "exit 3", NULL, 1, ERR_CRASH, "the kernel ended the process by itself (exit code 3)", "" },
    { "exit 3", "OMP: Error #34: x", 1, ERR_CRASH,
      "the kernel ended the process by itself (exit code 3): OMP: Error #34: x", "" },
    { "exit 3", "OMP: Error #34: x", 2, ERR_ENV,
      "cannot start a team of 2 threads: OMP: Error #34: x",
      "end other processes, raise `ulimit -u`, or use --threads 1" },
    { "exit 3", "libgomp: Thread creation failed: x", 2, ERR_ENV,
      "cannot start a team of 2 threads: libgomp: Thread creation failed: x",
      "end other processes, raise `ulimit -u`, or use --threads 1" },
    { "exit 3", "another error", 2, ERR_CRASH,
      "the kernel ended the process by itself (exit code 3): another error", "" },
    { "code 0", NULL, 1, ERR_BUG, "a?b", "" },
    { "code 1000", NULL, 1, ERR_BUG, "a?b", "" },
    { "seconds 5.5", NULL, 1, ERR_TIMEOUT,
      "the kernel did not end within 5 s; `tilescope run --limit SECONDS` allows more", "" },
};

static void ends_have_reasons(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(ends); i++) {
        struct err e = {0};
        double seconds;
        if (run_once(ends[i].die, ends[i].say, ends[i].threads, &seconds, &e))
            fail_msg("%s: taken", ends[i].die);
        if (e.code != ends[i].code || !streq(e.text, ends[i].text) || !streq(e.fix, ends[i].fix))
            fail_msg("%s, \"%s\": %d: %s; fix: %s", ends[i].die, ends[i].say ? ends[i].say : "",
                     e.code, e.text, e.fix);
    }
}

static void codes_and_times_are_taken(void **state)
{
    static const struct { const char *die; double seconds; } t[] = {
        { "seconds 0.25", 0.25 }, { "seconds 5", 5 }, { "seconds -1", 0 }, { "seconds 99", 0 },
    };
    struct err e;
    char die[32];
    double seconds;
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        assert_true(run_once(t[i].die, NULL, 1, &seconds, &e));
        assert_true(seconds == t[i].seconds);
    }
    const int code[] = { ERR_NONE + 1, ERR_COUNT - 1, ERR_COUNT, -1 };
    for (int i = 0; i < COUNT_OF(code); i++) {
        snprintf(die, sizeof die, "code %d", code[i]);
        assert_false(run_once(die, NULL, 1, &seconds, &e));
        assert_int_equal(e.code, i < 2 ? code[i] : (int)ERR_BUG);
    }
}

/* Later requests: the same reason if another process ended the runner. */
static void the_dead_are_asked_again(void **state)
{
    static const struct { const char *die, *text; enum err_code code; } t[] = {
        { "signal 9", "the kernel's process was killed (signal 9: out of memory?)", ERR_KILLED },
        { "exit 3", "the measuring child is gone", ERR_BUG },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        struct runner *c = open_with((struct runner_opts){ .threads = 1 }, t[i].die, NULL);
        struct err e = {0};
        double seconds;
        assert_false(runner_run(c, 0, &seconds, &e));
        assert_false(runner_run(c, 0, &seconds, &e));
        assert_int_equal(e.code, t[i].code);
        assert_string_equal(e.text, t[i].text);
        runner_close(c);
    }
}

/* --- What the runner gets --------------------------------------------------------------------- */

static void assert_prints(const char *die, int threads, const char *want)
{
    struct err e = {0};
    double seconds;
    char text[400];
    snprintf(text, sizeof text, "the kernel ended the process by itself (exit code 9): %s", want);
    assert_false(run_once(die, NULL, threads, &seconds, &e));
    assert_string_equal(e.text, text);
}

/* A team is bound to cores if there are enough; other variables of OpenMP libraries go. */
static void threads_are_set_by_variables(void **state)
{
    static const char *const given[] = { "OMP_NUM_THREADS", "OMP_PLACES", "OMP_WAIT_POLICY",
                                         "KMP_BLOCKTIME", "GOMP_X", "GOTO_X", "OPENBLAS_X",
                                         "OMPI_X" };
    cpu_set_t cpus;
    char want[200];
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    int n = CPU_COUNT(&cpus);
    for (int i = 0; i < COUNT_OF(given); i++)
        setenv(given[i], "77", 1);
    assert_prints("variables", 0, "1 1 false - - - - - - - 77");
    snprintf(want, sizeof want, "%d %d false - - - - - - - 77", n + 1, n + 1);
    assert_prints("variables", n + 1, want);
    snprintf(want, sizeof want, "%d %d false close cores 0 - - - - 77", n, n);
    if (n > 1)
        assert_prints("variables", n, want);
    for (int i = 0; i < COUNT_OF(given); i++)
        unsetenv(given[i]);
}

/* The standard files, then socket, memory and the ceiling's socket; the input is empty. */
static void only_its_files_are_open(void **state)
{
    (void)state;
    assert_prints("files", 1, "0 1 2 3 4 5 0");
}

static int64_t pages(int64_t bytes)
{
    int64_t page = sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

static void buffers_are_laid_out(void **state)
{
    const int first[] = { 0, 2 };
    struct runner *c = open_with((struct runner_opts){ .threads = 2, .n_contenders = 2,
                                                       .first = first, .huge_pages = true },
                                 "exit 0", NULL);
    struct shared *sh = child_of(c)->shared;
    const struct shared_buffer *b = shared_buffers(sh);
    (void)state;
    assert_true(sh->n_buffers == 3 && sh->n_contenders == 2 && sh->threads == 2);
    assert_true(sh->parent == getpid() && sh->huge_pages == 1);
    assert_true(sh->contender[0].first == 0 && sh->contender[0].n == 2);
    assert_true(sh->contender[1].first == 2 && sh->contender[1].n == 1);
    assert_int_equal(sh->buffer_at, pages((int64_t)sizeof *sh));
    assert_int_equal(sh->sim_at, sh->buffer_at + pages(3 * (int64_t)sizeof *b));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(b[i].bytes, buffers[i].bytes);
        assert_int_equal(b[i].at, i ? b[i - 1].at + pages(b[i - 1].bytes) : sh->sim_at);
        assert_ptr_equal(runner_data(c, i), (char *)sh + b[i].at);
    }
    assert_int_equal(sh->file_bytes, b[2].at + pages(8192));
    assert_int_equal(runner_bytes(c), sh->file_bytes);
    assert_true(!b[0].written && b[1].written == 1 && b[2].written == 1);
    assert_true(!b[0].result && !b[1].result && b[2].result == 1);
    /* 1 GiB and 24 MiB for each thread; 8 calls at the limit of 5 s, a minute, and a copy at
     * 0.3 GB/s, on each thread */
    assert_int_equal(sh->memory_bytes, ((int64_t)1 << 30) + 2 * ((int64_t)24 << 20));
    assert_int_equal(sh->cpu_s, (int64_t)((100 + (double)sh->file_bytes / 0.3e9) * 2));
    runner_close(c);
}

static void the_simulator_has_room(void **state)
{
    const struct trace_table table = { .n_sites = 3, .n_blocks = 2, .n_marks = 5 };
    (void)state;
    for (int detail = 0; detail < 2; detail++) {
        struct runner *c = open_with((struct runner_opts){ .trace = &table, .n_trace_buffers = 7,
                                                           .sim_detail = detail,
                                                           .memory_bytes = 1000 },
                                     "exit 0", NULL);
        struct shared *sh = child_of(c)->shared;
        const struct shared_sim *s = shared_sim(sh);
        int64_t base_end = s->base_at + 7 * (int64_t)sizeof(long long), end = base_end;
        assert_true(s->n_sites == 3 && s->n_blocks == 2 && s->n_marks == 5 && s->n_buffers == 7);
        assert_true(s->site_at >= (int64_t)sizeof *s);
        assert_true(s->block_at >= s->site_at + 3 * (int64_t)sizeof(struct shared_site));
        assert_true(s->mark_at >= s->block_at + 2 * (int64_t)sizeof(struct shared_block));
        assert_true(s->base_at >= s->mark_at + 5 * (int64_t)sizeof(struct shared_mark));
        assert_true((s->site_at | s->block_at | s->mark_at | s->base_at | s->detail_at) % 16 == 0);
        assert_true(detail ? s->detail_at >= base_end : s->detail_at == 0);
        if (detail)
            end = s->detail_at + (int64_t)sizeof(struct shared_detail);
        assert_int_equal(shared_buffers(sh)[0].at, sh->sim_at + pages(end));
        assert_true(sh->n_contenders == 1 && sh->contender[0].first == 0);
        assert_int_equal(sh->contender[0].n, 3);             /* one kernel has all of them */
        assert_int_equal(sh->memory_bytes, 1000 + ((int64_t)24 << 20));
        runner_close(c);
    }
}

static void too_many_contenders_are_refused(void **state)
{
    struct runner_opts o = { .path = runner, .n_contenders = PROTOCOL_MAX_CONTENDERS + 1 };
    struct runner *c;
    struct err e = {0};
    char text[100];
    (void)state;
    snprintf(text, sizeof text, "%d kernels cannot be timed together: at most %d",
             PROTOCOL_MAX_CONTENDERS + 1, PROTOCOL_MAX_CONTENDERS);
    assert_false(runner_open(&child_runner, &o, &c, &e));
    assert_string_equal(e.text, text);
    assert_int_equal(e.code, ERR_RANGE);
}

/* The path that is given, else that of the variable. */
static void runners_are_named(void **state)
{
    static const struct { const char *want, *variable, *says; } t[] = {
        { "/nowhere/a", "/nowhere/b", "/nowhere/a cannot be run: No such file or directory" },
        { NULL, "/nowhere/b", "/nowhere/b cannot be run: No such file or directory" },
        { "", "/nowhere/b", "/nowhere/b cannot be run: No such file or directory" },
        { "/etc/passwd", "", "/etc/passwd cannot be run: Permission denied" },
        { runner, "/nowhere/b", NULL }, { NULL, runner, NULL },
    };
    const char *env = getenv("TILESCOPE_RUNNER");
    char *was = env ? xstrdup(env) : NULL, path[300];
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        struct err e = {0};
        setenv("TILESCOPE_RUNNER", t[i].variable, 1);
        assert_int_equal(child_find_runner(t[i].want, path, sizeof path, &e), !t[i].says);
        assert_string_equal(e.text, t[i].says ? t[i].says : "");
        if (!t[i].says)
            assert_string_equal(path, runner);
    }
    if (was)
        setenv("TILESCOPE_RUNNER", was, 1);
    else
        unsetenv("TILESCOPE_RUNNER");
    free(was);
}

/* A program that is no runner: its first words are told. */
static void another_program_does_not_work(void **state)
{
    static const struct { const char *script, *says; } t[] = {
        { "#!/bin/sh\necho some words >&2\necho more\nexit 1\n", " does not work: some words" },
        { "#!/bin/sh\nexit 0\n", " does not work" },
    };
    char path[300], text[400];
    (void)state;
    snprintf(path, sizeof path, "%s/script", temp_dir(NULL));
    for (int i = 0; i < COUNT_OF(t); i++) {
        struct runner_opts o = { .path = path, .threads = 1, .limit_s = 5 };
        struct runner *c;
        struct err e = {0};
        FILE *f = fopen(path, "w");
        assert_true(f && fputs(t[i].script, f) >= 0 && fclose(f) == 0);
        assert_int_equal(chmod(path, 0700), 0);
        assert_false(runner_open(&child_runner, &o, &c, &e));
        snprintf(text, sizeof text, "%s%s", path, t[i].says);
        assert_string_equal(e.text, text);
        assert_int_equal(e.code, ERR_ENV);
    }
}

static int set_up(void **state)
{
    char wrong[40];
    (void)state;
    snprintf(wrong, sizeof wrong, "-DWRONG=%d", ERR_WRONG);
    return own_runner(source, wrong, runner) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_have_reasons), cmocka_unit_test(codes_and_times_are_taken),
        cmocka_unit_test(the_dead_are_asked_again),
        cmocka_unit_test(threads_are_set_by_variables),
        cmocka_unit_test(only_its_files_are_open), cmocka_unit_test(buffers_are_laid_out),
        cmocka_unit_test(the_simulator_has_room),
        cmocka_unit_test(too_many_contenders_are_refused),
        cmocka_unit_test(runners_are_named), cmocka_unit_test(another_program_does_not_work),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
