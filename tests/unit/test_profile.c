/* Building, the measuring child and its fences, with hand-written kernels that behave and
 * misbehave. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/base/vec.h"
#include "profile/build/build.h"
#include "profile/child/child_impl.h"
#include "profile/build/objcache.h"
#include "profile/counters/perfevent.h"
#include "profile/measure/meters.h"
#include "tests/unit/child_floats.h"
#include "tests/unit/fork_child.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define ELEMS 1000                        /* 4000 bytes: 32 of slack to the next 64 */

static struct compiler cc;
static const struct target *host;

/* --- Helpers --------------------------------------------------------------------------------- */

static struct build built(const char *source, bool openmp)
{
    struct build b;
    struct err e;
    if (!build_shared(&cc, source, host, openmp, NULL, &b, &e))
        fail_msg("%s", e.text);
    return b;
}

/* Of the twin below: one block with a load and a store. */
static const struct site twin_site[] = { { 0, false, "A[i]", 1, 0 }, { 1, true, "B[i]", 1, 0 } };
static const struct trace_use twin_use[] = { { 0, 0, 1, 0 }, { 0, 1, 1, 0 } };
static const int twin_mark[] = { -1 };
static const struct trace_table twin_table = {
    .n_sites = 2, .site = twin_site, .n_uses = 2, .use = twin_use, .n_blocks = 1,
    .block_mark = twin_mark,
};

/* A child with the buffers A (read only) and B, A[i] = i and B poisoned. */
static struct runner *opened(double limit_s, const struct cancel *cancel, int threads)
{
    static const struct runner_buffer buffer[] = {
        { "A", &type_f32, 4 * ELEMS, false }, { "B", &type_f32, 4 * ELEMS, true }
    };
    struct runner_opts o = { .threads = threads, .limit_s = limit_s, .n_buffers = 2,
                            .buffer = buffer, .cancel = cancel, .n_trace_buffers = 2,
                            .trace = &twin_table };
    struct runner *c;
    struct err e;
    if (!runner_open(&child_runner, &o, &c, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < ELEMS; i++) {
        child_floats(c, 0)[i] = (float)i;
        child_floats(c, 1)[i] = -1;
    }
    return c;
}

static struct runner *loaded(const char *source, double limit_s)
{
    struct runner *c = opened(limit_s, NULL, 1);
    struct build b = built(source, false);
    struct err e;
    if (!runner_load(c, SLOT_KERNEL, b.so_path, "", &e))
        fail_msg("%s", e.text);
    return c;
}

#define ENTRY(body) \
    "void ts_entry(float *const *buffers)\n{\n    float *a = buffers[0], *b = buffers[1];\n" \
    "    (void)a; (void)b;\n    " body "\n}\n"
#define FOREVER "for (volatile int i = 0; ; ) i = i;"
#define HANG ENTRY(FOREVER)
#define GOOD ENTRY("for (int i = 0; i < 1000; i++) b[i] = 2 * a[i];")

/* Runs a kernel that must fail in the child, and gives the sentence. */
static const char *failure(const char *source, double limit_s, enum err_code code)
{
    static struct err e;
    double seconds;
    struct runner *c = loaded(source, limit_s);
    if (runner_run(c, 0, &seconds, &e))
        fail_msg("nothing happened:\n%s", source);
    if (e.code != code)
        fail_msg("%s, not %s: %s", err_name(e.code), err_name(code), e.text);
    runner_close(c);
    return e.text;
}

#define assert_contains(text, part) \
    do { \
        if (!strstr((text), (part))) \
            fail_msg("\"%s\" is not in \"%s\"", (part), (text)); \
    } while (0)

/* --- Kernels that behave --------------------------------------------------------------------- */

static void good_kernel_runs(void **state)
{
    double seconds = -1;
    struct err e;
    struct runner *c = loaded(GOOD, 10);
    (void)state;
    assert_true(runner_run(c, 0, &seconds, &e));
    assert_true(seconds >= 0);
    for (int i = 0; i < ELEMS; i++) {
        assert_true(child_floats(c, 0)[i] == (float)i);
        assert_true(child_floats(c, 1)[i] == (float)(2 * i));
    }
    runner_close(c);
}

static void buffers_start_on_cache_lines(void **state)
{
    double seconds;
    struct err e;
    struct runner *c = loaded(ENTRY("b[0] = (float)((unsigned long)a % 64);"
                                   " b[1] = (float)((unsigned long)b % 64);"), 10);
    (void)state;
    assert_true(runner_run(c, 0, &seconds, &e));
    assert_true(child_floats(c, 1)[0] == 0 && child_floats(c, 1)[1] == 0);
    assert_true(child_floats(c, 1)[2] == -1);
    runner_close(c);
}

static void sampling_gives_whole_rounds(void **state)
{
    double seconds;
    struct samples s;
    struct err e;
    struct str peak = {0};
    struct runner *c = loaded(GOOD, 10);
    double flops = gen_peak(host, &type_f32, &peak);
    struct build b = built(str_text(&peak), false);
    struct sampled what = { .contenders = 1, .ceiling = true, .time_s = 0.02, .min_runs = 5 };
    (void)state;
    assert_true(flops > 0);
    assert_true(runner_run(c, 0, &seconds, &e));
    assert_true(runner_load_ceiling(c, b.so_path, &e));
    assert_true(runner_time(c, &what, &s, &e));
    assert_true(s.rounds >= 5);
    for (int k = 0; k < SERIES_COUNT; k++) {
        assert_int_equal(s.sample[k] != NULL, k == SERIES_KERNEL || k == SERIES_CEILING);
        for (int i = 0; s.sample[k] && i < s.rounds; i++)
            assert_true(s.sample[k][i] >= s.of[k].min && s.sample[k][i] <= s.of[k].max);
    }
    assert_true(s.of[SERIES_KERNEL].min > 0);
    runner_close(c);
    str_free(&peak);
}

/* Contender i of three writes i + 1 into its own buffer, and nobody else's. */
static void contenders_share_a_child(void **state)
{
    enum { N = 3 };
    static const struct runner_buffer buffer[2 * N] = {
        { "A", &type_f32, 4 * ELEMS, false }, { "B", &type_f32, 4 * ELEMS, true },
        { "A", &type_f32, 4 * ELEMS, false }, { "B", &type_f32, 8 * ELEMS, true },
        { "A", &type_f32, 4 * ELEMS, false }, { "B", &type_f32, 4 * ELEMS, true },
    };
    static const int first[N] = { 0, 2, 4 };
    struct runner_opts o = { .threads = 1, .limit_s = 10, .n_buffers = 2 * N, .buffer = buffer,
                            .n_contenders = N, .first = first };
    struct runner *c;
    struct err e;
    double seconds;
    (void)state;
    if (!runner_open(&child_runner, &o, &c, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < N; i++) {
        struct str text = {0};
        child_floats(c, 2 * i)[7] = (float)(10 * i);
        str_printf(&text, ENTRY("for (int i = 0; i < 1000; i++) b[i] = a[7] + %d;"), i + 1);
        struct build b = built(str_text(&text), false);
        assert_true(runner_load(c, SLOT_KERNEL + i, b.so_path, "", &e));
        str_free(&text);
    }
    for (int i = 0; i < N; i++)
        assert_true(runner_run(c, i, &seconds, &e));
    for (int i = 0; i < N; i++)
        assert_true(child_floats(c, 2 * i + 1)[999] == (float)(11 * i + 1));
    struct sampled what = { .contenders = 5, .time_s = 0.01, .min_runs = 7 };
    struct samples s;
    assert_true(runner_time(c, &what, &s, &e));
    assert_true(s.rounds >= 7 && s.sample[0] && s.sample[2]);
    assert_null(s.sample[1]);
    what.contenders = 1 << N;
    assert_false(runner_time(c, &what, &s, &e));
    assert_int_equal(e.code, ERR_BUG);
    runner_close(c);
    o.n_contenders = PROTOCOL_MAX_CONTENDERS + 1;
    assert_false(runner_open(&child_runner, &o, &c, &e));
    assert_int_equal(e.code, ERR_RANGE);
}

/* A few nanoseconds, but two of the first calls are interrupted for 1 ms. */
static int calls;
static void interrupted(void *const *buffers)
{
    struct timespec pause = { .tv_nsec = 1000000 };
    (void)buffers;
    calls++;
    if (calls == 2 || calls == 6)
        nanosleep(&pause, NULL);
}

static void an_interruption_does_not_end_the_calibration(void **state)
{
    static struct shared sh;
    struct work work[SERIES_COUNT] = { [SERIES_KERNEL] = { .run = interrupted } };
    struct request q = { .time_s = 0.001, .most_s = 1, .min_runs = 3 };
    (void)state;
    sampling_run(work, &q, &(struct sampling_hooks){0}, &sh);
    assert_true(sh.n_samples[SERIES_KERNEL] >= 3);
    assert_true(work[SERIES_KERNEL].batch > 16);
}

/* The limit is over when the calibration is: there is a sample all the same. */
static void no_time_is_one_sample(void **state)
{
    static struct shared sh;
    struct work work[SERIES_COUNT] = { [SERIES_KERNEL] = { .run = interrupted } };
    struct request q = { .time_s = 0.001, .most_s = 1e-9, .min_runs = 3 };
    (void)state;
    sampling_run(work, &q, &(struct sampling_hooks){0}, &sh);
    assert_int_equal(sh.n_samples[SERIES_KERNEL], 1);
}

/* Renewing the buffers' pages keeps what is in them, and what the kernel writes is still seen. */
static void sittings_begin_at_rounds(void **state)
{
    struct runner *c = loaded(ENTRY("if (a[999] != 999) __builtin_trap(); b[0] = a[1];"), 10);
    struct sampled what = { .contenders = 1, .time_s = 0.02, .min_runs = 12, .epochs = 6 };
    struct samples s;
    struct err e;
    (void)state;
    if (!runner_time(c, &what, &s, &e))
        fail_msg("%s", e.text);
    assert_true(s.n_blocks >= 1 && s.n_blocks <= 24 && s.block[0] == 0);
    for (int i = 1; i < s.n_blocks; i++)
        assert_true(s.block[i] > s.block[i - 1] && s.block[i] < s.rounds);
    assert_int_equal(s.room_bytes, 2 * sysconf(_SC_PAGESIZE));     /* too little for a huge page */
    assert_int_equal(s.huge_bytes, 0);
    runner_close(c);
    c = loaded(ENTRY("b[1001] = 1;"), 10);
    assert_false(runner_time(c, &what, &s, &e));
    assert_int_equal(e.code, ERR_WRONG);
    assert_contains(e.text, "4 bytes behind B");
    runner_close(c);
}

/* A check puts buffers at the end of their pages. Samples that are appended after it are of buffers
 * at the start of their pages, as all samples are. */
static void appended_samples_have_buffers_in_place(void **state)
{
    struct runner *c = loaded(ENTRY("static int calls;\n"
                                    "    if (calls++ > 0 && (unsigned long)b % 4096 != 0)\n"
                                    "        __builtin_trap();\n"
                                    "    b[0] = 1;"), 10);
    struct sampled what = { .contenders = 1, .append = true, .as_is = true, .time_s = 0.005,
                            .min_runs = 3 };
    struct samples s;
    struct err e;
    double seconds;
    (void)state;
    assert_true(runner_run(c, 0, &seconds, &e));
    if (!runner_time(c, &what, &s, &e))
        fail_msg("%s", e.text);
    runner_close(c);
}

static void cold_calls_are_timed_one_by_one(void **state)
{
    struct runner *c = loaded(GOOD, 10);
    struct sampled what = { .contenders = 1, .cold = true, .time_s = 0.01, .min_runs = 5,
                            .walk_bytes = 1 << 20 };
    struct samples s;
    struct err e;
    (void)state;
    if (!runner_time(c, &what, &s, &e))
        fail_msg("%s", e.text);
    assert_true(s.rounds >= 5 && s.of[0].median > 0);
    assert_null(s.sample[SERIES_CEILING]);
#if defined __x86_64__
    assert_true(s.flushed);
#endif
    runner_close(c);
}

/* Whether there are any is the kernel's choice; that the buffers still work is ours. */
static void huge_pages_are_asked_for(void **state)
{
    static const struct runner_buffer buffer[] = {
        { "A", &type_f32, 4 * ELEMS, false }, { "B", &type_f32, 5 << 20, true }
    };
    struct runner_opts o = { .threads = 1, .limit_s = 10, .n_buffers = 2, .buffer = buffer,
                            .huge_pages = true };
    struct sampled what = { .contenders = 1, .time_s = 0.01, .min_runs = 5, .epochs = 3 };
    struct build b = built(GOOD, false);
    struct runner *c;
    struct samples s;
    struct err e;
    double seconds;
    (void)state;
    assert_true(runner_open(&child_runner, &o, &c, &e));
    child_floats(c, 0)[999] = 7;
    assert_true(runner_load(c, SLOT_KERNEL, b.so_path, "", &e));
    assert_true(runner_run(c, 0, &seconds, &e));
    assert_true(child_floats(c, 1)[999] == 14);
    assert_true(runner_time(c, &what, &s, &e));
    assert_int_equal(s.room_bytes, 8 << 20);
    assert_true(s.huge_bytes >= 0 && s.huge_bytes <= s.room_bytes);
    print_message("huge pages: %lld of %lld KiB\n", (long long)s.huge_bytes >> 10,
                  (long long)s.room_bytes >> 10);
    runner_close(c);
}

/* A plugin whose primitive adds 1 to a private copy of its input, and writes it on output(). */
static const char plugin_source[] =
    "typedef unsigned u; static float copy[1000], *in, *out; static int ran;\n"
    "static void *p_open(const void *p, int lib, int threads, float *const *b, char *why,\n"
    "                    unsigned long n)\n"
    "{ (void)p; (void)n; in = b[0]; out = b[1];\n"
    "  if (lib != 0) { why[0] = 'N'; why[1] = 'o'; why[2] = 0; return 0; }\n"
    "  for (int i = 0; i < 1000; i++) copy[i] = in[i] + (float)threads;\n"
    "  return &ran; }\n"
    "static _Bool p_run(void *h) { ++*(int *)h; return 1; }\n"
    "static _Bool p_output(void *h)\n"
    "{ for (int i = 0; i < 1000; i++) out[i] = copy[i]; return *(int *)h > 0; }\n"
    "static const char *p_impl(const void *h) { (void)h; return \"plus:plain\"; }\n"
    "static const char *p_layout(const void *h) { (void)h; return \"nc\"; }\n"
    "static void p_close(void *h) { (void)h; }\n"
    "const struct { u abi, bytes; void *(*open)(const void *, int, int, float *const *, char *,\n"
    "    unsigned long); _Bool (*run)(void *), (*output)(void *);\n"
    "    const char *(*impl)(const void *), *(*layout)(const void *); void (*close)(void *); }\n"
    "    tilescope_vendor_plugin = { %d, %zu, p_open,\n"
    "    p_run, p_output, p_impl, p_layout, p_close };";

static void a_library_can_be_a_contender(void **state)
{
    static const int first[] = { 0, 2 };
    static const struct runner_buffer buffer[] = {
        { "A", &type_f32, 4 * ELEMS, false }, { "B", &type_f32, 4 * ELEMS, true },
        { "A", &type_f32, 4 * ELEMS, false }, { "B", &type_f32, 4 * ELEMS, true },
    };
    struct runner_opts o = { .threads = 1, .limit_s = 10, .n_buffers = 4, .buffer = buffer,
                            .n_contenders = 2, .first = first };
    struct vendor_problem problem = { .n_tensors = 2 };
    struct vendor_choice choice;
    struct runner *c;
    struct err e;
    double seconds;
    struct str text = {0}, other = {0};
    (void)state;
    str_printf(&text, plugin_source, VENDOR_PLUGIN_ABI, sizeof(struct vendor_problem));
    str_printf(&other, plugin_source, VENDOR_PLUGIN_ABI, sizeof(struct vendor_problem) + 8);
    struct build b = built(GOOD, false), plugin = built(str_text(&text), false);
    struct build wrong = built(str_text(&other), false);
    assert_true(runner_open(&child_runner, &o, &c, &e));
    for (int i = 0; i < ELEMS; i++)
        child_floats(c, 2)[i] = (float)i;
    assert_true(runner_load(c, SLOT_KERNEL, b.so_path, "", &e));
    assert_false(runner_run(c, 1, &seconds, &e));
    assert_false(runner_load_vendor(c, 1, wrong.so_path, 0, &problem, &choice, &e));
    assert_contains(e.text, "another version");
    assert_false(runner_load_vendor(c, 1, plugin.so_path, 1, &problem, &choice, &e));
    assert_string_equal(e.text, "No");
    assert_int_equal(e.code, ERR_ENV);
    if (!runner_load_vendor(c, 1, plugin.so_path, 0, &problem, &choice, &e))
        fail_msg("%s", e.text);
    assert_string_equal(choice.implementation, "plus:plain");
    assert_string_equal(choice.layout, "nc");
    assert_true(runner_run(c, 0, &seconds, &e) && runner_run(c, 1, &seconds, &e));
    assert_true(child_floats(c, 3)[998] == 999);
    struct sampled what = { .contenders = 3, .time_s = 0.01, .min_runs = 5 };
    struct samples s;
    assert_true(runner_time(c, &what, &s, &e));
    assert_true(s.rounds >= 5 && s.of[0].min > 0 && s.of[1].min > 0);
    problem.n_tensors = 3;
    assert_false(runner_load_vendor(c, 1, plugin.so_path, 0, &problem, &choice, &e));
    assert_int_equal(e.code, ERR_BUG);
    runner_close(c);
    str_free(&text);
    str_free(&other);
}

static void a_busy_team_is_not_the_ceiling(void **state)
{
    (void)state;
    struct summary team = { .min = 2 }, one = { .min = 1 }, none = { 0 };
    assert_float_equal(sampling_ceiling(&team, &none, 1, 4), 0.5, 1e-9);
    assert_float_equal(sampling_ceiling(&team, &one, 2, 4), 2, 1e-9);
    assert_float_equal(sampling_ceiling(&one, &team, 2, 4), 2, 1e-9);
    assert_float_equal(sampling_ceiling(&team, &one, 8, 4), 4, 1e-9);
    assert_float_equal(sampling_ceiling(&one, &one, 2, 1), 1, 1e-9);  /* they take turns */
    assert_float_equal(sampling_ceiling(&none, &none, 2, 4), 0, 1e-9);
    /* In the child: the one-core series is there when there are several threads. */
    for (int threads = 1; threads <= 2; threads++) {
        struct samples s;
        struct err e;
        struct str peak = {0};
        gen_peak(host, &type_f32, &peak);
        struct build b = built(str_text(&peak), false);
        struct runner *c = opened(10, NULL, threads);
        struct sampled what = { .ceiling = true, .time_s = 0.02, .min_runs = 5 };
        assert_true(runner_load_ceiling(c, b.so_path, &e));
        assert_true(runner_time(c, &what, &s, &e));
        assert_true((s.of[SERIES_ONE_CORE].min > 0) == (threads > 1));
        runner_close(c);
        str_free(&peak);
    }
}

static const char team[] =
    "int omp_get_num_threads(void);\n"
    "void ts_entry(float *const *buffers)\n{\n"
    "    float *b = buffers[1];\n"
    "    for (int i = 0; i < 1000; i++) b[i] = 0;\n"
    "#pragma omp parallel for\n"
    "    for (int i = 0; i < 8; i++) b[i] = (float)omp_get_num_threads();\n"
    "}\n";

static void team_size_is_what_was_asked_for(void **state)
{
    struct build b = built(team, true);
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        double seconds;
        struct err e;
        struct runner *c = opened(10, NULL, threads);
        assert_true(runner_load(c, SLOT_KERNEL, b.so_path, "", &e));
        if (!runner_run(c, 0, &seconds, &e))
            fail_msg("%s", e.text);
        assert_true(child_floats(c, 1)[0] == (float)threads);
        assert_true(child_floats(c, 1)[7] == (float)threads);
        runner_close(c);
    }
}

/* Writes where each thread may run: on how many CPUs, and on which first. */
static const char places[] =
    "int omp_get_thread_num(void); int sched_getaffinity(int, unsigned long, void *);\n"
    "void ts_entry(float *const *buffers)\n{\n"
    "    float *b = buffers[1];\n"
    "    for (int i = 0; i < 1000; i++) b[i] = 0;\n"
    "#pragma omp parallel\n"
    "    {\n"
    "        unsigned char set[128] = {0}; int n = 0, first = -1;\n"
    "        sched_getaffinity(0, sizeof set, set);\n"
    "        for (int i = 1023; i >= 0; i--)\n"
    "            if (set[i / 8] >> i % 8 & 1) { n++; first = i; }\n"
    "        b[2 * omp_get_thread_num()] = (float)n;\n"
    "        b[2 * omp_get_thread_num() + 1] = (float)first;\n"
    "    }\n"
    "}\n";

/* The first core has one CPU: where the others are like it, a place is a CPU. */
static bool cores_are_cpus(void)
{
    struct str text = {0};
    struct err e;
    bool one = file_read("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", 4096, &text,
                         &e)
            && !strpbrk(str_text(&text), "-,");
    str_free(&text);
    return one;
}

/* Each on a core of its own; with more threads than CPUs, wherever there is room.  The team is the
 * runner's own library's or another's. */
static void threads_of_a_team_are_pinned(void **state)
{
    static const char *const compilers[] = { "gcc", "clang" };
    cpu_set_t cpus;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    int n = CPU_COUNT(&cpus);
    bool single = cores_are_cpus();
    for (int k = 0; k < COUNT_OF(compilers); k++) {
        struct compiler other;
        struct build b;
        struct err e;
        double seconds;
        if (!compiler_find(compilers[k], &other, &e))
            continue;
        if (!build_shared(&other, places, host, true, NULL, &b, &e))
            fail_msg("%s", e.text);
        for (int threads = 2; threads <= n + 1 && threads <= 4; threads++) {
            struct runner *c = opened(10, NULL, threads);
            if (!runner_load(c, SLOT_KERNEL, b.so_path, "", &e) || !runner_run(c, 0, &seconds, &e))
                fail_msg("%s", e.text);
            const float *got = runner_data(c, 1);
            for (int i = 0; i < threads && threads > n; i++)
                assert_true(got[2 * i] == (float)n);
            for (int i = 0; i < threads && threads <= n && single; i++) {
                assert_true(got[2 * i] == 1);
                for (int j = 0; j < i; j++)
                    assert_true(got[2 * i + 1] != got[2 * j + 1]);
            }
            runner_close(c);
        }
    }
}

/* --- Kernels that misbehave ------------------------------------------------------------------ */

struct mishap { const char *source; enum err_code code; const char *part[2]; };

static void mishaps_become_sentences(void **state)
{
    static const struct mishap table[] = {
        { ENTRY("volatile float *volatile p = 0; *p = 1;"), ERR_CRASH,
          { "SIGSEGV at a write through a null pointer", "0x0" } },
        { ENTRY("volatile float *volatile p = 0; b[0] = p[2];"), ERR_CRASH,
          { "a read through a null pointer", "0x8" } },
        { ENTRY("b[0] = *(volatile char *)65535;"), ERR_CRASH,
          { "a read through a null pointer", "0xffff" } },
        { ENTRY("b[0] = *(volatile char *)65536;"), ERR_CRASH, { "a wild pointer", "" } },
        { ENTRY("for (int i = 0; i < 5000; i++) b[i] = 1;"), ERR_CRASH,
          { "SIGSEGV at a write 32 bytes behind B", "" } },
        { ENTRY("float s = 0; for (int i = 0; i < 5000; i++) s += a[i]; b[0] = s;"), ERR_CRASH,
          { "a read 32 bytes behind A", "" } },
        { ENTRY("b[-5000] = 1;"), ERR_CRASH, { "a write 20000 bytes before B", "" } },
        { ENTRY("a[17] = 1;"), ERR_CRASH, { "a write to element 17 of A", "may only read" } },
        { ENTRY("b[1001] = 1;"), ERR_WRONG, { "a write 4 bytes behind B", "" } },
        { ENTRY("b[1000] = 1;"), ERR_WRONG, { "a write just behind B", "" } },
        { ENTRY("b[-2] = 1;"), ERR_WRONG, { "a write 8 bytes before B", "" } },
        { ENTRY("*(volatile float *)0x123456789abcdef0 = 1;"), ERR_CRASH,
          { "a wild pointer", "" } },
        { ENTRY("volatile int z = 0; b[0] = (float)(100 / z);"), ERR_CRASH,
          { "SIGFPE", "division" } },
        { ENTRY("__builtin_trap();"), ERR_CRASH, { "crashed: SIG", "" } },
        { "void abort(void);\n" ENTRY("abort();"), ERR_CRASH, { "SIGABRT", "abort" } },
        { "int puts(const char *); int fflush(void *); void abort(void);\n"
          ENTRY("puts(\"last words\"); fflush(0); abort();"), ERR_CRASH,
          { "SIGABRT", "last words" } },
        { "void exit(int);\n" ENTRY("exit(7);"), ERR_CRASH,
          { "ended the process", "exit code 7" } },
        { ENTRY("volatile float big[1 << 24]; volatile int at = 0; big[at] = 1;"), ERR_CRASH,
          { "beyond the stack", "" } },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        const char *text = failure(table[i].source, 10, table[i].code);
        assert_contains(text, table[i].part[0]);
        assert_contains(text, table[i].part[1]);
    }
}

static void hang_is_ended(void **state)
{
    (void)state;
    assert_contains(failure(HANG, 0.2, ERR_TIMEOUT), "0.2 s");
}

/* What LLVM's OpenMP library leaves in /dev/shm when its process is killed. */
static void nothing_stays_in_shared_memory(void **state)
{
    static const char note[] =
        "int getpid(void); unsigned getuid(void); int shm_open(const char *, int, unsigned);\n"
        "int snprintf(char *, unsigned long, const char *, ...); void _exit(int);\n"
        ENTRY("char name[64];\n"
              "    snprintf(name, 64, \"/__KMP_REGISTERED_LIB_%d_%u\", getpid(), getuid());\n"
              "    b[0] = (float)shm_open(name, 0102, 0600); if (a[0] > 0) _exit(7);");
    (void)state;
    for (int ends = 0; ends < 2; ends++) {
        char path[80];
        double seconds;
        struct err e;
        struct runner *c = loaded(note, 10);
        child_floats(c, 0)[0] = (float)ends;
        snprintf(path, sizeof path, "/dev/shm/__KMP_REGISTERED_LIB_%d_%u",
                 (int)child_of(c)->pid, getuid());
        assert_int_equal(runner_run(c, 0, &seconds, &e), !ends);
        assert_int_equal(access(path, F_OK), ends ? -1 : 0);
        runner_close(c);
        assert_int_equal(access(path, F_OK), -1);
    }
}

static void dead_child_refuses_politely(void **state)
{
    double seconds;
    struct err e;
    struct runner *c = loaded(ENTRY("volatile float *volatile p = 0; *p = 1;"), 10);
    (void)state;
    assert_false(runner_run(c, 0, &seconds, &e));
    assert_false(runner_run(c, 0, &seconds, &e));
    assert_int_equal(e.code, ERR_BUG);
    runner_close(c);
    runner_close(NULL);
}

/* A read past the end that is used shows as NaN, since the slack reads as one. */
static void slack_reads_as_nan(void **state)
{
    double seconds;
    struct err e;
    struct runner *c = loaded(ENTRY("b[0] = a[1000] + 1;"), 10);
    (void)state;
    assert_true(runner_run(c, 0, &seconds, &e));
    assert_true(child_floats(c, 1)[0] != child_floats(c, 1)[0]);
    runner_close(c);
}

static void memory_is_limited(void **state)
{
    static const struct runner_buffer buffer[] = {
        { "A", &type_f32, 4, false }, { "B", &type_f32, 4, true }
    };
    struct runner_opts o = { .threads = 1, .limit_s = 10, .n_buffers = 2, .buffer = buffer,
                            .memory_bytes = 64 << 20 };
    struct build b = built("void *malloc(unsigned long);\n"
                           ENTRY("void *volatile p = malloc(1ul << 30); b[0] = p ? 1 : 2;"), false);
    struct runner *c;
    double seconds;
    struct err e;
    (void)state;
#if defined __SANITIZE_ADDRESS__
    skip();                                              /* its shadow needs terabytes */
#endif
    assert_true(runner_open(&child_runner, &o, &c, &e));
    assert_true(runner_load(c, SLOT_KERNEL, b.so_path, "", &e));
    assert_true(runner_run(c, 0, &seconds, &e));
    assert_true(child_floats(c, 1)[0] == 2);
    runner_close(c);
}

static void objects_that_are_none_are_refused(void **state)
{
    struct build b = built("int x;\n", false);
    struct build lost = built("void nowhere(void);\n" ENTRY("nowhere();"), false);
    struct runner *c = opened(10, NULL, 1);
    struct err e;
    (void)state;
    assert_false(runner_load(c, SLOT_KERNEL, b.so_path, "", &e));
    assert_int_equal(e.code, ERR_COMPILE);
    assert_contains(e.text, "ts_entry");
    assert_false(runner_load(c, SLOT_KERNEL, lost.so_path, "", &e));
    assert_contains(e.text, "nowhere");
    assert_false(runner_load(c, SLOT_KERNEL, b.c_path, "", &e));
    assert_false(runner_load(c, SLOT_KERNEL, "/nonexistent.so", "", &e));
    runner_close(c);
}

/* --- Cancelling, and who dies with whom ------------------------------------------------------- */

struct raiser { struct cancel *cancel; long after_ms; };

static void *raise_later(void *ctx)
{
    struct raiser *r = ctx;
    struct timespec t = { .tv_nsec = r->after_ms * 1000000 };
    nanosleep(&t, NULL);
    atomic_store(&r->cancel->raised, 1);
    return NULL;
}

static void cancel_ends_a_run(void **state)
{
    struct cancel cancel = {0};
    struct raiser r = { &cancel, 30 };
    struct build b = built(HANG, false);
    struct runner *c = opened(60, &cancel, 1);
    pthread_t thread;
    double seconds;
    struct err e;
    (void)state;
    assert_true(runner_load(c, SLOT_KERNEL, b.so_path, "", &e));
    assert_int_equal(pthread_create(&thread, NULL, raise_later, &r), 0);
    assert_false(runner_run(c, 0, &seconds, &e));
    assert_int_equal(e.code, ERR_CANCEL);
    pthread_join(thread, NULL);
    runner_close(c);
}

/* A compiler that knows its version and then sleeps. */
static void slow_compiler(char *path, size_t n)
{
    const char *dir = getenv("XDG_CACHE_HOME");
    static const char script[] = "#!/bin/sh\n"
                                 "case \"$1\" in --version) echo slowcc 1.0;; *) sleep 60;; esac\n";
    struct err e;
    snprintf(path, n, "%s/slowcc", dir);
    assert_true(file_write_atomic(path, script, strlen(script), &e));
    assert_int_equal(chmod(path, 0755), 0);
}

static void cancel_ends_a_compile(void **state)
{
    struct cancel cancel = {0};
    struct raiser r = { &cancel, 30 };
    struct compiler slow;
    struct build b;
    pthread_t thread;
    char path[300];
    struct err e;
    (void)state;
    slow_compiler(path, sizeof path);
    assert_true(compiler_find(path, &slow, &e));
    assert_string_equal(slow.version, "slowcc 1.0");
    assert_int_equal(pthread_create(&thread, NULL, raise_later, &r), 0);
    assert_false(build_shared(&slow, "int never;\n", host, false, &cancel, &b, &e));
    assert_int_equal(e.code, ERR_CANCEL);
    pthread_join(thread, NULL);
}

/* Gone, or a corpse that nobody has collected yet. */
static bool is_dead(pid_t pid)
{
    char path[64], state = 'Z';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return true;
    bool dead = fscanf(f, "%*d (%*[^)]) %c", &state) != 1 || state == 'Z' || state == 'X';
    fclose(f);
    return dead;
}

/* In a process of its own: starts a kernel that tells its process number, then hangs. */
_Noreturn static void parent_to_be_killed(const char *so_path, int out)
{
    struct runner *c = opened(60, NULL, 1);
    double seconds;
    struct err e;
    float pid = 0;
    if (runner_load(c, SLOT_KERNEL, so_path, "", &e) && runner_run(c, 0, &seconds, &e))
        pid = child_floats(c, 1)[0];
    if (write(out, &pid, sizeof pid) == sizeof pid)
        runner_run(c, 0, &seconds, &e);
    _exit(1);
}

static void child_dies_with_its_parent(void **state)
{
    struct build b = built("int getpid(void);\nstatic int runs;\n"
                           ENTRY("b[0] = (float)getpid(); if (runs++) " FOREVER), false);
    int fd[2];
    float child = 0;
    (void)state;
    assert_int_equal(pipe(fd), 0);
    pid_t parent = fork_child();
    if (parent == 0)
        parent_to_be_killed(b.so_path, fd[1]);
    assert_int_equal(read(fd[0], &child, sizeof child), sizeof child);
    assert_true(child > 1);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    bool dead = false;
    for (int i = 0; i < 500 && !dead; i++) {
        struct timespec t = { .tv_nsec = 10000000 };
        dead = is_dead((pid_t)child);
        if (!dead)
            nanosleep(&t, NULL);
    }
    assert_true(dead);
    close(fd[0]);
    close(fd[1]);
}

static void runner_that_is_none_is_reported(void **state)
{
    static const char *const bad[] = { "/nonexistent/runner", "/bin/true", "/dev/null",
                                       "/etc/passwd" };
    (void)state;
    for (int i = 0; i < COUNT_OF(bad); i++) {
        struct runner_opts o = { .path = bad[i], .limit_s = 1 };
        struct runner *c = NULL;
        struct err e;
        assert_false(runner_open(&child_runner, &o, &c, &e));
        assert_int_equal(e.code, ERR_ENV);
        assert_contains(e.text, bad[i]);
        assert_null(c);
    }
}

/* One that hangs up, and one that answers in another form, as a stale one may: both live on. */
static void runner_that_lives_on_is_ended(void **state)
{
    static const char *const script[] = { "exec 3>&-", "printf x >&3" };
    char path[300];
    (void)state;
    snprintf(path, sizeof path, "%s/runner", temp_dir(NULL));
    for (int i = 0; i < COUNT_OF(script); i++) {
        struct runner_opts o = { .path = path, .limit_s = 1 };
        struct runner *c = NULL;
        struct err e;
        FILE *f = fopen(path, "we");
        assert_non_null(f);
        fprintf(f, "#!/bin/sh\n%s\nexec sleep 1000\n", script[i]);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(chmod(path, 0700), 0);
        assert_false(runner_open(&child_runner, &o, &c, &e));
        assert_int_equal(e.code, ERR_ENV);
        assert_contains(e.text, "does not work");
    }
}

/* --- The simulator in the child --------------------------------------------------------------- */

static const char twin[] =
    "struct ts_sim {\n"
    "    const unsigned long long *front; unsigned long long mask;\n"
    "    void (*touch)(struct ts_sim *, unsigned long long, unsigned, unsigned);\n"
    "    int (*mark)(struct ts_sim *, int);\n};\n"
    "void ts_trace(const unsigned long long *base, struct ts_sim *ts)\n{\n"
    "    for (int i = 0; i < 100000; i++) {\n"
    "        ts->touch(ts, base[0] + 4ull * i, 0, 4);\n"
    "        ts->touch(ts, base[1] + 64ull * (i % 8), 1, 64);\n"
    "    }\n}\n"
    "void ts_count(long long *exec) { exec[0] += 100000; }\n";

static void twin_is_counted(void **state)
{
    static const unsigned long long base[] = { 0x10000000, 0x10100000 };
    struct cache_config cache = { .n_levels = 1, .level[0].geometry = { 32 << 10, 8, 64 } };
    struct site_count count[2];
    int64_t runs[1];
    struct simulation s = { .count = count, .runs = runs };
    struct simulated what = { .cache = &cache, .base = base, .budget = 1e9 };
    struct build b = built(twin, false);
    struct runner *c = opened(10, NULL, 1);
    struct err e;
    (void)state;
    assert_true(runner_load(c, SLOT_TRACE, b.so_path, "", &e));
    if (!runner_simulate(c, &what, &s, &e))
        fail_msg("%s", e.text);
    assert_int_equal(runs[0], 100000);
    assert_int_equal(count[0].misses[0], 6250);
    assert_int_equal(count[1].misses[0], 8);
    assert_int_equal(s.level[0].misses, 6258);
    assert_int_equal(s.level[0].writebacks, 0);
    assert_true(s.fraction == 1);
    cache.level[0].geometry.size_bytes = 1000;
    assert_false(runner_simulate(c, &what, &s, &e));
    assert_int_equal(e.code, ERR_RANGE);
    runner_close(c);
}

/* --- Building --------------------------------------------------------------------------------- */

static void compile_errors_are_quoted(void **state)
{
    struct build b;
    struct err e;
    (void)state;
    assert_false(build_shared(&cc, "int f(void)\n{\n    return undeclared;\n}\nint g = ;\n", host,
                              false, NULL, &b, &e));
    assert_int_equal(e.code, ERR_COMPILE);
    assert_contains(e.text, "line 3: error: ");
    assert_contains(e.text, "undeclared");
    assert_contains(e.text, "line 5: error: ");
    assert_null(strstr(e.text, "/tmp-"));
}

static void extra_flags_count(void **state)
{
    struct build b;
    struct err e;
    (void)state;
    setenv("TILESCOPE_CFLAGS", " -DVALUE=3  -DOTHER ", 1);
    assert_true(build_shared(&cc, "int flags_count = VALUE;\n", host, false, NULL, &b, &e));
    assert_false(b.cached);
    setenv("TILESCOPE_CFLAGS", "-DVALUE=4", 1);
    assert_true(build_shared(&cc, "int flags_count = VALUE;\n", host, false, NULL, &b, &e));
    assert_false(b.cached);
    setenv("TILESCOPE_CFLAGS", "-fno-such-flag-at-all", 1);
    assert_false(build_shared(&cc, "int flags_count = 5;\n", host, false, NULL, &b, &e));
    assert_int_equal(e.code, ERR_ENV);
    unsetenv("TILESCOPE_CFLAGS");
    assert_false(build_shared(&cc, "int flags_count = VALUE;\n", host, false, NULL, &b, &e));
    assert_int_equal(e.code, ERR_COMPILE);
}

/* Every flag and every word of the command reaches the compiler, however many there are. */
static void many_flags_count(void **state)
{
    enum { FLAGS = 200 };
    char text[FLAGS][16];
    const char *flag[FLAGS + 1] = { NULL };
    struct build b;
    struct err e;
    (void)state;
    for (int i = 0; i < FLAGS; i++) {
        snprintf(text[i], sizeof text[i], "-DFLAG_%d=%d", i, i);
        flag[i] = text[i];
    }
    if (!build_shared_with(&cc, "int many_flags = FLAG_0 + FLAG_199;\n", host, false, flag, NULL,
                           &b, &e))
        fail_msg("%s", e.text);
    struct compiler wordy;
    struct str command = {0};
    str_add(&command, "gcc");
    for (int i = 0; i < 20; i++)
        str_printf(&command, " -DWORD_%d", i);
    if (!compiler_find(str_text(&command), &wordy, &e)
        || !build_shared(&wordy, "int many_words = WORD_0 + WORD_19;\n", host, false, NULL, &b, &e))
        fail_msg("%s", e.text);
    str_free(&command);
}

/* Flags that differ in a character which cannot stand in a comment make another object. */
static void odd_flags_tell_objects_apart(void **state)
{
    static const char *const value[] = { "2*3", "2?3:4", "2%2a3", "2%3", "2**3" };
    struct build b[COUNT_OF(value)];
    struct err e;
    (void)state;
    for (int i = 0; i < COUNT_OF(value); i++) {
        char text[40];
        snprintf(text, sizeof text, "-DODD=%s", value[i]);
        const char *const flag[] = { text, NULL };
        assert_true(build_shared_with(&cc, "int odd_flags;\n", host, false, flag, NULL, &b[i], &e));
        assert_false(b[i].cached);
    }
    for (int i = 0; i < COUNT_OF(value); i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(b[i].so_path, b[k].so_path);
}

static void second_build_is_a_hit(void **state)
{
    (void)state;
    struct build first = built("int hit_me;\n", false), second = built("int hit_me;\n", false);
    assert_false(first.cached);
    assert_true(second.cached);
    assert_string_equal(first.so_path, second.so_path);
    assert_false(built("int hit_me;\n", true).cached);
    assert_false(built("int hit_me; \n", false).cached);
}

/* Overwrites `bytes` at `at` (negative: from the end), or cuts the file there when bytes is NULL.
 */
static void damage(const char *path, long at, const char *bytes)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    long where = at < 0 ? st.st_size + at : at;
    if (!bytes) {
        assert_int_equal(truncate(path, where), 0);
        return;
    }
    int fd = open(path, O_WRONLY);
    assert_true(pwrite(fd, bytes, strlen(bytes), where) == (ssize_t)strlen(bytes));
    close(fd);
}

static void damaged_entries_are_rebuilt(void **state)
{
    static const char source[] = "/* damaged */\n" GOOD;
    struct build b = built(source, false);
    (void)state;
    for (int i = 0; i < 6; i++) {
        double seconds;
        struct err e;
        switch (i) {
        case 0: damage(b.so_path, 0, "not an object"); break;
        case 1: damage(b.so_path, 300, "!"); break;
        case 2: damage(b.so_path, -1, "!"); break;
        case 3: damage(b.so_path, 100, NULL); break;
        case 4: damage(b.so_path, 0, NULL); break;
        default: damage(b.c_path, 3, "X"); break;
        }
        assert_false(built(source, false).cached);
        assert_true(built(source, false).cached);
        struct runner *c = loaded(source, 10);
        assert_true(runner_run(c, 0, &seconds, &e));
        runner_close(c);
    }
}

static void *build_the_same(void *ctx)
{
    struct build b;
    struct err e;
    (void)ctx;
    return build_shared(&cc, "/* at once */\n" GOOD, host, false, NULL, &b, &e) ? &cc : NULL;
}

static void building_the_same_at_once_is_fine(void **state)
{
    pthread_t t[4];
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&t[i], NULL, build_the_same, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *ok = NULL;
        pthread_join(t[i], &ok);
        assert_non_null(ok);
    }
    assert_true(built("/* at once */\n" GOOD, false).cached);
}

static int count_files(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    struct dirent *d;
    while (dir && (d = readdir(dir)) != NULL)
        n += d->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

static void trimming_takes_the_oldest(void **state)
{
    char dir[300], path[340];
    struct err e;
    (void)state;
    snprintf(dir, sizeof dir, "%s/trim", getenv("XDG_CACHE_HOME"));
    assert_true(dir_make(dir, &e));
    for (int i = 0; i < 10; i++) {
        struct timespec when[2] = { { .tv_sec = 1000000 + i }, { .tv_sec = 1000000 + i } };
        snprintf(path, sizeof path, "%s/%d.so", dir, i);
        assert_true(file_write_atomic(path, "0123456789", 10, &e));
        assert_int_equal(utimensat(AT_FDCWD, path, when, 0), 0);
    }
    snprintf(path, sizeof path, "%s/keep.txt", dir);
    assert_true(file_write_atomic(path, "x", 1, &e));
    snprintf(path, sizeof path, "%s/tmp-1-1.so", dir);
    assert_true(file_write_atomic(path, "x", 1, &e));
    objcache_trim(dir, 1000);
    assert_int_equal(count_files(dir), 12);
    objcache_trim(dir, 35);
    assert_int_equal(count_files(dir), 5);
    snprintf(path, sizeof path, "%s/9.so", dir);
    assert_true(file_exists(path));
    snprintf(path, sizeof path, "%s/6.so", dir);
    assert_false(file_exists(path));
    objcache_trim("/nonexistent", 0);
}

/* An object that is larger than the limit stays until it is loaded. */
static void a_large_object_outlives_its_trim(void **state)
{
    (void)state;
    setenv("TILESCOPE_CACHE_MIB", "1", 1);
    struct build b = built("char too_large[2 << 20] = { 1 };\n", false);
    unsetenv("TILESCOPE_CACHE_MIB");
    assert_true(file_exists(b.so_path) && file_exists(b.c_path));
}

static void compilers_are_found_by_name(void **state)
{
    struct compiler c = {0};
    struct err e;
    (void)state;
    assert_true(compiler_find(NULL, &c, &e));
    assert_true(c.version[0] && c.path[0]);
    assert_false(compiler_find("no-such-cc", &c, &e));
    assert_int_equal(e.code, ERR_ENV);
    assert_contains(e.text, "no-such-cc");
    if (compiler_find("gcc", &c, &e)) {
        assert_string_equal(c.name, "gcc");
        assert_false(c.is_clang);
    }
    if (compiler_find("clang", &c, &e))
        assert_true(c.is_clang);
}

static void variable_cc_is_honoured(void **state)
{
    const char *old = getenv("CC");
    char *kept = old ? xstrdup(old) : NULL;
    struct compiler c;
    struct build b;
    struct err e;
    (void)state;
    setenv("CC", "/bin/false", 1);
    assert_false(compiler_find(NULL, &c, &e));
    assert_int_equal(e.code, ERR_ENV);
    assert_contains(e.fix, "CC");
    setenv("CC", "env  gcc", 1);
    if (compiler_find(NULL, &c, &e))
        assert_true(build_shared(&c, "int by_env;\n", host, false, NULL, &b, &e));
    unsetenv("CC");
    if (kept)
        setenv("CC", kept, 1);
    free(kept);
}

/* --- Assembly, machine, counters ---------------------------------------------------------------
 */

static void assembly_has_labels_and_no_addresses(void **state)
{
    struct build b = built("void twice(const float *restrict a, float *restrict b, int n)\n{\n"
                           "    for (int i = 0; i < n; i++) b[i] = 2 * a[i * n];\n}\n"
                           "int twice_not(int x) { return x + 77; }\n", false);
    struct str s = {0};
    struct err e;
    (void)state;
    if (!build_disassemble(b.so_path, "twice", NULL, &s, NULL, &e)) {
        assert_int_equal(e.code, ERR_ENV);
        skip();
    }
    const char *text = str_text(&s);
    assert_true(str_starts(text, "twice:\n"));
    assert_contains(text, "\n.L1:\n");
    assert_contains(text, "ret");
    assert_null(strstr(text, "twice_not"));
    assert_null(strchr(text, '<'));
    assert_null(strstr(text, "nop"));
    str_clear(&s);
    assert_false(build_disassemble(b.so_path, "thrice", NULL, &s, NULL, &e));
    assert_int_equal(e.code, ERR_NAME);
    assert_false(build_disassemble(b.c_path, "twice", NULL, &s, NULL, &e));
    assert_int_equal(s.len, 0);
    str_free(&s);
}

/* A function that comes from no C file has none of the lines of its neighbours. */
static void lines_end_with_their_function(void **state)
{
    static const char text[] = "int once(int x) { return 3 * x; }\n#line 1 \"/made.h\"\n"
                               "int twice(int x) { return x + 77; }\n";
    static const char *const line_table[] = { "-g1", NULL };
    struct str s = {0};
    struct c_lines lines = {0};
    struct build b;
    struct err e;
    (void)state;
    assert_true(build_shared_with(&cc, text, host, false, line_table, NULL, &b, &e));
    if (!build_disassemble(b.so_path, "twice", NULL, &s, &lines, &e)) {
        assert_int_equal(e.code, ERR_ENV);
        skip();
    }
    assert_true(lines.len > 1);
    for (int i = 0; i < lines.len; i++)
        assert_int_equal(lines.data[i], 0);
    vec_free(&lines);
    str_free(&s);
}

static void machine_is_sane(void **state)
{
    struct machine m;
    struct str s = {0}, info = {0};
    struct err e;
    (void)state;
    machine_read(&m);
    assert_true(m.cpu[0] && m.os[0] && m.isa[0]);
    if (file_read("/proc/cpuinfo", 1 << 20, &info, &e) && strstr(str_text(&info), "model name"))
        assert_contains(str_text(&info), m.cpu);
    str_free(&info);
    assert_true(m.cores >= 1 && m.cores <= 4096);
    assert_true(m.memory_bytes > 64 << 20);
    assert_true(cache_geometry_check(&m.l1d, &e));
    assert_true(m.l1d.size_bytes >= 4096 && m.l1d.size_bytes <= 4 << 20);
    machine_fingerprint(&s, &m);
    assert_contains(str_text(&s), m.cpu);
    assert_contains(str_text(&s), " | L1d ");
    str_free(&s);
}

static void counters_count_or_say_why_not(void **state)
{
    struct counts r[2];
    struct counts in_child;
    struct runner *c = loaded(GOOD, 10);
    struct err e;
    (void)state;
    perf_probe(true, &r[0]);
    perf_probe(false, &r[1]);
    for (int i = 0; i < 2; i++) {
        if (r[i].available) {
            assert_true(r[i].n > 0 && r[i].count[0].value > 0);
            assert_int_equal(r[i].reason[0], 0);
        } else {
            assert_true(r[i].reason[0]);
            assert_int_equal(r[i].n, 0);
        }
    }
    static const struct event cycles = { "cycles", "cycles" };
    double seconds;
    assert_true(runner_count(c, METER_ID_PERF, &cycles, 1, &in_child, &seconds, &e));
    assert_int_equal(in_child.available, in_child.n > 0);
    assert_int_equal(in_child.available, in_child.reason[0] == 0);
    runner_close(c);
}

static void meters_tell_the_truth(void **state)
{
    struct meter_info m[16];
    struct machine host_machine;
    int n = meters_probe(m, 16);
    (void)state;
    machine_read(&host_machine);
    assert_true(n >= 7);
    for (int i = 0; i < n; i++) {
        assert_true(m[i].name[0] && m[i].what[0]);
        assert_int_equal(m[i].available, m[i].reason[0] == 0);
        if (streq(m[i].name, "clock"))
            assert_true(m[i].available);
        if (streq(m[i].name, "perf") && !host_machine.has_pmu)
            assert_false(m[i].available);
    }
    assert_int_equal(meters_probe(m, 2), 2);
}

/* --- Main ------------------------------------------------------------------------------------- */

/* The cache lives in a folder of its own, which disappears at the end. */

static int set_up(void **state)
{
    struct err e;
    (void)state;
    host = target_host();
    temp_dir("XDG_CACHE_HOME");
    if (!compiler_find(NULL, &cc, &e)) {
        print_error("%s\n", e.text);
        return -1;
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_kernel_runs),
        cmocka_unit_test(buffers_start_on_cache_lines),
        cmocka_unit_test(sampling_gives_whole_rounds),
        cmocka_unit_test(contenders_share_a_child),
        cmocka_unit_test(threads_of_a_team_are_pinned),
        cmocka_unit_test(an_interruption_does_not_end_the_calibration),
        cmocka_unit_test(no_time_is_one_sample),
        cmocka_unit_test(sittings_begin_at_rounds),
        cmocka_unit_test(appended_samples_have_buffers_in_place),
        cmocka_unit_test(cold_calls_are_timed_one_by_one),
        cmocka_unit_test(huge_pages_are_asked_for),
        cmocka_unit_test(a_library_can_be_a_contender),
        cmocka_unit_test(a_busy_team_is_not_the_ceiling),
        cmocka_unit_test(team_size_is_what_was_asked_for),
        cmocka_unit_test(mishaps_become_sentences),
        cmocka_unit_test(hang_is_ended),
        cmocka_unit_test(nothing_stays_in_shared_memory),
        cmocka_unit_test(dead_child_refuses_politely),
        cmocka_unit_test(slack_reads_as_nan),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(objects_that_are_none_are_refused),
        cmocka_unit_test(cancel_ends_a_run),
        cmocka_unit_test(cancel_ends_a_compile),
        cmocka_unit_test(child_dies_with_its_parent),
        cmocka_unit_test(runner_that_is_none_is_reported),
        cmocka_unit_test(runner_that_lives_on_is_ended),
        cmocka_unit_test(twin_is_counted),
        cmocka_unit_test(compile_errors_are_quoted),
        cmocka_unit_test(extra_flags_count),
        cmocka_unit_test(many_flags_count),
        cmocka_unit_test(odd_flags_tell_objects_apart),
        cmocka_unit_test(second_build_is_a_hit),
        cmocka_unit_test(damaged_entries_are_rebuilt),
        cmocka_unit_test(building_the_same_at_once_is_fine),
        cmocka_unit_test(trimming_takes_the_oldest),
        cmocka_unit_test(a_large_object_outlives_its_trim),
        cmocka_unit_test(compilers_are_found_by_name),
        cmocka_unit_test(variable_cc_is_honoured),
        cmocka_unit_test(assembly_has_labels_and_no_addresses),
        cmocka_unit_test(lines_end_with_their_function),
        cmocka_unit_test(machine_is_sane),
        cmocka_unit_test(counters_count_or_say_why_not),
        cmocka_unit_test(meters_tell_the_truth),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
