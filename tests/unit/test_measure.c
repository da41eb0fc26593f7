/* Whole programs through the compiler, the child, the reference and the simulator. */
/* tests/run.sh: takes 15 s */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/base/arena.h"
#include "kernels/base/file.h"
#include "kernels/ops/reference.h"
#include "profile/measure/job.h"
#include "profile/measure/measure.h"
#include "profile/measure/program_text.h"
#include "profile/measure/oracle.h"
#include "tests/unit/reference_slow.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static uint64_t seed = 1;
static struct arena *perm;

#define assert_contains(text, part) \
    do { \
        if (!strstr((text), (part))) \
            fail_msg("\"%s\" is not in \"%s\"", (part), (text)); \
    } while (0)

/* spec, then step lines up to NULL. */
static const struct program *program_of(const char *spec, const char *const *steps)
{
    const struct program *p;
    int n = 0, bad;
    struct err e;
    while (steps && steps[n])
        n++;
    if (!program_replay(perm, spec, steps, n, &p, &bad, &e))
        fail_msg("%s, step %d: %s", spec, bad, e.text);
    return p;
}

static struct measure_opts quick(unsigned meters)
{
    return (struct measure_opts){ .meters = meters, .seed = seed, .time_s = 0.01, .min_runs = 3 };
}

static void must_be_right(const char *spec, const char *const *steps, int threads)
{
    struct measure_opts o = quick(METER_CLOCK | METER_SIM | METER_PERF);
    struct measurement m;
    struct err e;
    o.threads = threads;
    if (!measure_program(program_of(spec, steps), &o, NULL, NULL, &m, &e))
        fail_msg("%s: %s", spec, e.text);
    if (m.outcome != OUTCOME_OK)
        fail_msg("%s: %s: %s", spec, outcome_name[m.outcome], m.reason);
    assert_true(m.verified && m.max_rel_err >= 0 && m.max_rel_err <= m.tolerance);
    assert_true(m.latency.runs >= 3 && m.latency.min_ms > 0);
    assert_true(m.latency.min_ms <= m.latency.median_ms && m.latency.median_ms <= m.latency.max_ms);
    assert_true(m.gflops > 0 && m.peak_gflops > 0 && m.peak_fraction > 0 && !m.peak_reason[0]);
    if (!m.sim.available)
        fail_msg("%s: %s", spec, m.sim.reason);
    assert_true(m.sim.loads > 0 && m.sim.stores > 0 && m.sim.l1_misses > 0);
    int64_t loads = 0, misses = 0;
    for (int i = 0; i < m.sim.n; i++) {
        loads += m.sim.by_tensor[i].loads;
        misses += m.sim.by_tensor[i].cost.l1_misses;
    }
    assert_int_equal(loads, m.sim.loads);
    assert_int_equal(misses, m.sim.l1_misses);
    assert_int_equal(m.counts[METER_ID_PERF].available, m.counts[METER_ID_PERF].reason[0] == 0);
    assert_true(m.compiler[0] && m.threads == threads && m.seed == seed && m.total_s >= m.build_s);
}

static void operators_are_right(void **state)
{
    static const char *const blocked[] = { "layout set Conv \"N O/4 H W 4o\"", NULL };
    static const char *const given[] = { "layout set Inp \"N H W I\"",
                                         "layout set Ker \"O KH KW I\"", NULL };
    static const char *const parallel[] = { "loop parallel C M", NULL };
    /* a large tile of each thread's own, in copies of its loop for the borders */
    static const char *const tiles[] = { "layout set Conv \"N H W O\"", "loop split Conv H 2 3",
                                         "loop split Conv W 2 3",
                                         "loop reorder Conv W.0 H.0 N KH KW I H.1 W.1 O",
                                         "loop cache_write Conv at=N",
                                         "loop cache_read Conv Ker at=N", "loop vectorize Conv O",
                                         "loop compute_at Inp Conv H.0", NULL };
    (void)state;
    must_be_right("dil n=16 i=16 h=7 w=7 o=16 k=5 s=2 p=6 d=3", tiles, 1);
    must_be_right("c2d n=1 i=3 h=12 w=12 o=8 k=3 p=1 bias=1 relu=1", NULL, 1);
    must_be_right("c2d n=1 i=3 h=12 w=12 o=8 k=3 p=1 bias=1 relu=1", blocked, 1);
    must_be_right("c2d n=1 i=4 h=10 w=10 o=8 k=3 s=2", given, 1);
    must_be_right("gmm m=24 n=20 k=32", NULL, 1);
    must_be_right("gmm m=24 n=20 k=32", parallel, 1);
    must_be_right("gmm m=24 n=20 k=32", parallel, 2);
}

/* C += A * B in a plain triple loop; whatever of it the generator keeps in registers, the lines
 * touched first are a matter of the shapes: every tensor fits the cache, so each line misses
 * once. */
static void misses_of_a_small_kernel(void **state)
{
    struct measure_opts o = quick(METER_SIM);
    struct measurement m;
    struct err e;
    (void)state;
    o.cache.n_levels = 1;
    o.cache.level[0].geometry = (struct cache_geometry){ 32 << 10, 8, 64 };
    assert_true(measure_program(program_of("gmm m=16 n=32 k=8", NULL), &o, NULL, NULL, &m, &e));
    assert_int_equal(m.outcome, OUTCOME_OK);
    assert_int_equal(m.latency.runs, 0);
    assert_true(m.sim.available);
    assert_int_equal(m.sim.n, 3);
    for (int i = 0; i < 3; i++) {
        const struct tensor_count *c = &m.sim.by_tensor[i];
        int64_t lines = streq(c->tensor, "A") ? 16 * 8 / 16 : streq(c->tensor, "B") ? 8 * 32 / 16
                                                                                    : 16 * 32 / 16;
        assert_int_equal(c->cost.l1_misses, lines);
        if (streq(c->tensor, "A") || streq(c->tensor, "B"))
            assert_int_equal(c->stores, 0);
    }
    assert_int_equal(m.sim.l1_misses, 8 + 16 + 32);
}

static void impossible_cache_is_a_reason(void **state)
{
    struct measure_opts o = quick(METER_SIM);
    struct measurement m;
    struct err e;
    (void)state;
    o.cache.n_levels = 1;
    o.cache.level[0].geometry = (struct cache_geometry){ 1000, 8, 64 };
    assert_true(measure_program(program_of("gmm m=8 n=8 k=8", NULL), &o, NULL, NULL, &m, &e));
    assert_int_equal(m.outcome, OUTCOME_OK);
    assert_false(m.sim.available);
    assert_contains(m.sim.reason, "1000");
}

static void missing_environment_is_an_error(void **state)
{
    struct measure_opts o = quick(METER_CLOCK);
    struct measurement m;
    struct err e;
    (void)state;
    o.runner_path = "/nonexistent/runner";
    assert_false(measure_program(program_of("gmm m=8 n=8 k=8", NULL), &o, NULL, NULL, &m, &e));
    assert_int_equal(m.outcome, OUTCOME_ENV);
    assert_int_equal(e.code, ERR_ENV);
    o.runner_path = NULL;
    o.compiler = "no-such-cc";
    assert_false(measure_program(program_of("gmm m=8 n=8 k=8", NULL), &o, NULL, NULL, &m, &e));
    assert_int_equal(m.outcome, OUTCOME_ENV);
    assert_contains(m.reason, "no-such-cc");
}

static void too_large_is_said_so(void **state)
{
    struct measure_opts o = quick(METER_CLOCK);
    struct measurement m;
    struct err e;
    (void)state;
    const struct program *p = program_of("gmm m=1000000 n=1000000 k=8", NULL);
    assert_true(measure_program(p, &o, NULL, NULL, &m, &e));
    assert_int_equal(m.outcome, OUTCOME_LIMIT);
    assert_contains(m.reason, "GiB");
    assert_false(m.verified);
}

static void cancelled_at_once(void **state)
{
    struct measure_opts o = quick(METER_CLOCK);
    struct cancel c = { .raised = 1 };
    struct measurement m;
    struct err e;
    (void)state;
    assert_false(measure_program(program_of("gmm m=8 n=8 k=8", NULL), &o, NULL, &c, &m, &e));
    assert_int_equal(m.outcome, OUTCOME_CANCEL);
    assert_int_equal(e.code, ERR_CANCEL);
}

/* Raises the cancel flag the first time a stage reports. */
struct spy { struct cancel cancel; const char *at; int seen; char what[32]; double done; };

static void spy_report(void *ctx, const char *what, double fraction)
{
    struct spy *s = ctx;
    assert_true(fraction <= 1);            /* below 0: unknown */
    if (fraction >= 0 && streq(what, s->what))
        assert_true(fraction >= s->done);
    snprintf(s->what, sizeof s->what, "%s", what);
    s->done = fraction;
    s->seen += streq(what, s->at);
    if (streq(what, s->at))
        atomic_store(&s->cancel.raised, 1);
}

static void cancelled_in_every_stage(void **state)
{
    static const char *const stage[] = { "compiling", "checking", "timing", "simulating" };
    const struct program *p = program_of("gmm m=64 n=64 k=64", NULL);
    (void)state;
    for (int i = 0; i < COUNT_OF(stage); i++) {
        struct measure_opts o = quick(METER_CLOCK | METER_SIM);
        struct spy s = { .at = stage[i] };
        struct progress pr = { spy_report, &s };
        struct measurement m;
        struct err e;
        o.time_s = streq(stage[i], "timing") ? 20 : 0.01;
        assert_false(measure_program(p, &o, &pr, &s.cancel, &m, &e));
        if (m.outcome != OUTCOME_CANCEL)
            fail_msg("%s: %s: %s", stage[i], outcome_name[m.outcome], m.reason);
        assert_true(s.seen > 0);
    }
}

/* --- Kernels spoilt by a compiler that edits what it compiles --------------------------------- */

struct spoilt { const char *edit; enum outcome outcome; const char *part; };

static void spoiling_compiler(const char *edit, char *path, size_t n)
{
    struct str script = {0};
    struct err e;
    snprintf(path, n, "%s/spoiler", getenv("XDG_CACHE_HOME"));
    str_printf(&script, "#!/bin/sh\ncase \"$1\" in --version) echo spoiler 1.0; exit;; esac\n"
                        "for a; do case \"$a\" in *.c) sed -i '%s' \"$a\";; esac; done\n"
                        "exec cc \"$@\"\n", edit);
    assert_true(file_write_atomic(path, str_text(&script), script.len, &e));
    assert_int_equal(chmod(path, 0755), 0);
    str_free(&script);
}

static void wrong_kernels_are_never_timed(void **state)
{
    static const struct spoilt table[] = {
        { "s/ += / -= /", OUTCOME_WRONG, "% of elements" },
        { "s/long m = 0/long m = 1/", OUTCOME_WRONG, "C[0][0] was never written, reference " },
        { "s/C\\[8\\*m + n\\]/C[9*m + n]/", OUTCOME_CRASH, "a write just behind C" },
        { "s/C\\[8\\*m + n\\]/C[8*m + n + 500000]/", OUTCOME_CRASH, "behind C" },
        { "s/C\\[8\\*m + n\\]/C[8*m + n - 70]/", OUTCOME_WRONG, "before C" },
        { "s/B\\[8\\*k + n\\]/((float *)B)[0]++/", OUTCOME_CRASH,
          "of B, which the kernel may only read" },
        { "s/ += .*;/ +;/", OUTCOME_COMPILE, "refused the generated code: line " },
        { "s/c0 = 0.0f;/c0; for (;;) ((volatile float *)C)[0] = 1;/", OUTCOME_TIMEOUT, "0.3 s" },
    };
    const struct program *p = program_of("gmm m=8 n=8 k=8", NULL);
    char path[300];
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct measure_opts o = quick(METER_CLOCK | METER_SIM);
        struct measurement m;
        struct err e;
        spoiling_compiler(table[i].edit, path, sizeof path);
        o.compiler = path;
        o.limit_s = table[i].outcome == OUTCOME_TIMEOUT ? 0.3 : 20;
        assert_true(measure_program(p, &o, NULL, NULL, &m, &e));
        if (m.outcome != table[i].outcome)
            fail_msg("%s: %s: %s", table[i].edit, outcome_name[m.outcome], m.reason);
        assert_contains(m.reason, table[i].part);
        assert_int_equal(measurement_compared(&m), i < 2);
        assert_false(m.verified);
        assert_int_equal(m.latency.runs, 0);
        assert_true(m.gflops == 0);
        assert_false(m.sim.available);
        assert_true(m.sim.reason[0]);
    }
}

/* --- The verdict, on outputs spoilt by hand
 * ----------------------------------------------------- */

struct opinion { int at; float value; const char *part; };

static void first_wrong_element_is_named(void **state)
{
    static const struct opinion table[] = {
        { 37, 100.0f, "C[1][5] is 100, reference " },
        { 0, __builtin_nanf(""), "C[0][0] is nan, reference " },
        { 511, __builtin_inff(), "C[15][31] is inf, reference " },
        { 64, 0, "C[2][0] " },
    };
    const struct program *p = program_of("gmm m=16 n=32 k=8", NULL);
    const struct oracle *o;
    int c = graph_tensor(p->graph, "C");
    double *data[3];
    struct deviation worst;
    struct err e;
    (void)state;
    for (int t = 0; t < 3; t++) {
        float f[512];
        data[t] = xcalloc(512, sizeof *data[t]);
        reference_fill(&p->base->tensor[t], seed, f);
        for (int i = 0; i < tensor_elems(&p->base->tensor[t]); i++)
            data[t][i] = f[i];
    }
    reference_eval_slow(p->base, data);
    assert_true(oracle_acquire(p->base, seed, NULL, &o, &e));
    for (int i = -1; i < COUNT_OF(table); i++) {
        float got[512];
        for (int k = 0; k < 512; k++)
            got[k] = (float)data[c][k];
        worst = (struct deviation){ 0 };
        if (i >= 0)
            got[table[i].at] = table[i].value;
        bool right = oracle_compare(o, p, c, got, NULL, &worst, &e);
        assert_int_equal(right, i < 0);
        if (i >= 0) {
            assert_contains(e.text, table[i].part);
            assert_contains(e.text, "1 of 512 elements");
        }
    }
    assert_true(oracle_fill(NULL, p, c, seed, 512, (float *)data[0], &e));
    assert_false(oracle_compare(o, p, c, (float *)data[0], NULL, &worst, &e));
    assert_contains(e.text, "C[0][0] was never written");
    assert_contains(e.text, "100 % of elements");
    assert_true(worst.rel_err == ORACLE_INFINITE);
    oracle_release(o);
    for (int t = 0; t < 3; t++)
        free(data[t]);
}

static void references_are_kept(void **state)
{
    static const char *const spec[] = { "gmm m=8 n=8 k=8", "gmm m=8 n=8 k=9", "gmm m=8 n=8 k=10",
                                        "gmm m=8 n=8 k=11", "gmm m=8 n=8 k=12" };
    const struct oracle *first, *again, *other;
    struct err e;
    (void)state;
    assert_true(oracle_acquire(program_of(spec[0], NULL)->base, 7, NULL, &first, &e));
    assert_true(oracle_acquire(program_of(spec[0], NULL)->base, 7, NULL, &again, &e));
    assert_true(oracle_acquire(program_of(spec[0], NULL)->base, 8, NULL, &other, &e));
    assert_ptr_equal(first, again);
    assert_ptr_not_equal(first, other);
    oracle_release(again);
    oracle_release(other);
    for (int i = 1; i < COUNT_OF(spec); i++) {
        assert_true(oracle_acquire(program_of(spec[i], NULL)->base, 7, NULL, &other, &e));
        oracle_release(other);
    }
    assert_true(oracle_acquire(program_of(spec[0], NULL)->base, 7, NULL, &again, &e));
    oracle_release(again);
    oracle_release(first);
    oracle_release(NULL);
}

static void *measure_in_a_thread(void *ctx)
{
    struct arena *a = arena_new();
    struct measure_opts o = quick(METER_CLOCK | METER_SIM);
    const struct program *p;
    struct measurement m;
    struct err e;
    bool ok = program_new(a, ctx, &p, &e) && measure_program(p, &o, NULL, NULL, &m, &e)
           && m.outcome == OUTCOME_OK && m.sim.available;
    arena_free(a);
    return ok ? ctx : NULL;
}

static void measuring_in_threads_is_fine(void **state)
{
    static char spec[3][32] = { "gmm m=8 n=8 k=8", "gmm m=16 n=8 k=8", "gmm m=8 n=8 k=8" };
    pthread_t t[3];
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&t[i], NULL, measure_in_a_thread, spec[i]), 0);
    for (int i = 0; i < 3; i++) {
        void *ok;
        pthread_join(t[i], &ok);
        assert_non_null(ok);
    }
}

static void texts_are_of_the_measured_code(void **state)
{
    static const char *const steps[] = { "loop reorder C M K N", "loop vectorize C N", NULL };
    const struct program *p = program_of("gmm m=32 n=64 k=32", steps);
    struct str c = {0}, assembly = {0};
    struct err e;
    (void)state;
    assert_true(program_text_c(p, NULL, &c, &e));
    assert_contains(str_text(&c), "gmm ");
    assert_contains(str_text(&c), "loop vectorize C N");
    assert_contains(str_text(&c), "void matmul(");
    if (!program_text_asm(p, NULL, NULL, NULL, &assembly, &e))
        assert_int_equal(e.code, ERR_ENV);
    else
        assert_contains(str_text(&assembly), "matmul:\n");
    str_free(&c);
    str_free(&assembly);
}

static int count_lines(const struct str *s)
{
    int n = 0;
    for (const char *p = str_text(s); *p; p++)
        n += *p == '\n';
    return n;
}

/* Every FMA of the product is in the loop over K, in the C and in the machine code. */
static void lines_belong_to_loops(void **state)
{
    static const char *const steps[] = { "loop reorder C M K N", "loop vectorize C N", NULL };
    const struct program *p = program_of("gmm m=32 n=64 k=32 relu=1", steps);
    struct str c = {0}, plain = {0}, assembly = {0};
    struct code_lines lines;
    struct arena *a = arena_new();
    struct err e;
    int found = 0;
    (void)state;
    assert_true(program_text_source(a, p, NULL, &c, &lines, &e));
    assert_true(program_text_c(p, NULL, &plain, &e));
    assert_string_equal(str_text(&c), str_text(&plain));
    assert_int_equal(lines.n, count_lines(&c));
    bool has = program_text_asm_lines(a, p, NULL, NULL, NULL, &assembly, &lines, &e);
    if (has)
        assert_int_equal(lines.n, count_lines(&assembly));
    const char *line = str_text(&assembly);
    for (int i = 0; has && *line; i++, line += strcspn(line, "\n"), line += *line == '\n') {
        if (!str_starts(line, "    vfmadd"))
            continue;
        found++;
        assert_true(lines.of[i] >= 0);
        assert_string_equal(lines.loop[lines.of[i]].axis, "K");
        assert_int_equal(lines.loop[lines.of[i]].trips, 32);
        assert_string_equal(lines.loop[lines.loop[lines.of[i]].parent].axis, "M");
    }
    assert_true(!has || found > 0);
    str_free(&c);
    str_free(&plain);
    str_free(&assembly);
    arena_free(a);
}

static void no_kernel_is_named_like_a_function_of_c(void **state)
{
    static const char *const none[] = { NULL };
    struct str c = {0};
    struct err e;
    (void)state;
    assert_true(program_text_c(program_of("x = input m=4 n=8; y = exp(x)", none), NULL, &c, &e));
    assert_contains(str_text(&c), "void kernel(");
    str_free(&c);
}

static const char *home;

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

/* --- Comparisons ----------------------------------------------------------------------------- */

static const char *const vectorized[] = { "loop reorder C M K N", "loop vectorize C N", NULL };

static void programs_are_compared_in_one_child(void **state)
{
    const struct program *p[] = {
        program_of("gmm m=32 k=32 n=32", NULL), program_of("gmm m=32 k=32 n=32", vectorized),
        program_of("c1d n=1 i=4 w=16 o=8 k=3", NULL),
    };
    struct measure_opts o = quick(0);
    static struct compared out[3];
    struct comparison how;
    struct err e;
    (void)state;
    o.cold = true;
    if (!measure_compare(p, 3, &o, NULL, NULL, out, &how, &e))
        fail_msg("%s", e.text);
    assert_true(how.rounds >= 3 && how.epochs >= 1 && how.disturbed >= 0);
    for (int i = 0; i < 3; i++) {
        const struct measurement *m = &out[i].m;
        assert_int_equal(m->outcome, OUTCOME_OK);
        assert_true(m->verified && m->latency.runs == how.rounds && m->latency.min_ms > 0);
        assert_true(m->latency.p10_ms <= m->latency.p25_ms);
        assert_true(m->latency.p75_ms <= m->latency.p90_ms);
        assert_true(m->cold_latency.runs >= 3 && m->cold_latency.median_ms > 0);
        assert_true(m->cold_method[0] != '\0');
        assert_true((out[i].ratio.ratio > 0) == (i > 0));
    }
    assert_int_equal(out[0].verdict, VERDICT_NONE);
    assert_false(out[1].same_code || out[2].same_code);
    struct progress silent = { 0 };
    o.cold = false;
    const struct program *twice[] = { p[1], program_of("gmm m=32 k=32 n=32", vectorized) };
    assert_true(measure_compare(twice, 2, &o, NULL, NULL, out, &how, &e));
    assert_true(out[1].same_code && !out[0].same_code);
    assert_true(out[1].verdict == VERDICT_SAME || out[1].verdict == VERDICT_NONE);
    assert_true(measure_compare_each(p, 2, &o, &silent, NULL, out, &how, &e));
    assert_false(measure_compare(p, 0, &o, NULL, NULL, out, &how, &e));
    assert_int_equal(e.code, ERR_RANGE);
}

/* Joins the C of both programs, as networks and batches do, and returns the object. */
static struct build joined_object(const struct program *const p[2], const char *compiler)
{
    struct str text[2] = { 0 }, joined = { 0 };
    struct compiler cc;
    struct build b = { .cached = false };
    struct err e;
    bool openmp;
    for (int i = 0; i < 2; i++)
        assert_true(program_text_code(p[i], target_named("avx2"), &text[i], &openmp, NULL, &e));
    gen_join((const char *const[]){ str_text(&text[0]), str_text(&text[1]) }, 2, 0, &joined);
    if (!compiler_find(compiler, &cc, &e)
        || !build_shared(&cc, str_text(&joined), target_named("avx2"), false, NULL, &b, &e))
        fail_msg("%s", e.text);
    str_free(&joined);
    str_free(&text[0]);
    str_free(&text[1]);
    return b;
}

/* Loops of one program that the compiler may vectorize do not free those of its neighbours; clang
 * frees all or none. */
static void each_kernel_has_its_own_flags(void **state)
{
    static const char *const on[] = { "loop reorder C M K N", "set autovectorize on", NULL },
                            *const off[] = { "loop reorder C M K N", NULL };
    static const struct { const char *compiler, *const *other; bool vectors[2]; } row[] = {
        { "gcc", off, { false, true } }, { "gcc", on, { true, true } },
        { "clang", off, { false, false } }, { "clang", on, { true, true } },
    };
    (void)state;
    if (!target_named("avx2")->runs_here() || !subprocess_find("objdump", NULL))
        skip();
    for (int i = 0; i < COUNT_OF(row); i++) {
        const struct program *p[] = { program_of("gmm m=64 k=96 n=48", row[i].other),
                                      program_of("gmm m=64 k=96 n=80", on) };
        if (!subprocess_find(row[i].compiler, NULL))
            continue;
        struct build b = joined_object(p, row[i].compiler);
        for (int k = 0; k < 2; k++) {
            struct str text = { 0 };
            struct err e;
            if (!build_disassemble(b.so_path, k ? "matmul_1" : "matmul_0", NULL, &text, NULL, &e))
                fail_msg("%s", e.text);
            bool packed = strstr(str_text(&text), "213ps") || strstr(str_text(&text), "231ps")
                       || strstr(str_text(&text), "132ps");
            if (packed != row[i].vectors[k])
                fail_msg("%s, row %d, kernel %d: %s", row[i].compiler, i, k, str_text(&text));
            str_free(&text);
        }
    }
}

static double need_of(const struct program *const *p, int n)
{
    struct measure_job job[2], *list[2];
    struct measurement m[2];
    struct measure_opts o = quick(METER_CLOCK);
    struct err e;
    for (int i = 0; i < n; i++) {
        list[i] = &job[i];
        assert_true(measure_start(&job[i], p[i], &o, &m[i], &e) && measure_lower(&job[i], &e));
    }
    return measure_need(list, n);
}

/* Schedules of one operator share its reference, but not the bounds of other algorithms. */
static void memory_counts_what_algorithms_need(void **state)
{
    static const char spec[] = "c2d n=1 i=64 h=16 w=16 o=64 k=3 p=1";
    static const char *const winograd[] = { "algorithm Conv winograd m=4", NULL };
    const struct program *bare = program_of(spec, NULL), *other = program_of(spec, winograd);
    const struct program *two[] = { bare, other }, *turned[] = { other, bare };
    double form = (double)oracle_form_bytes(other), own = (double)oracle_bytes(bare);
    (void)state;
    assert_true(form > 1e6 && oracle_form_bytes(bare) == 0);
    assert_true(need_of(&bare, 1) + need_of(&other, 1) - own == need_of(two, 2));
    assert_true(need_of(two, 2) == need_of(turned, 2));
}

/* The message has the memory that a measurement may take, not all that is free. */
static void what_a_measurement_may_take_is_told(void **state)
{
    double have = (double)machine_memory_available(), needs = 0, may_take = 0;
    struct err e = {0};
    (void)state;
    if (have <= 0)
        skip();
    assert_true(measure_memory(0.1 * have, &e));
    assert_false(measure_memory(0.99 * have, &e));
    if (sscanf(e.text, "measuring needs %lf GiB of memory, but only %lf GiB are free for it",
               &needs, &may_take) != 2 || may_take > 0.9 * have / (1 << 30) + 0.05)
        fail_msg("%s, of %.3g bytes", e.text, have);
}

/* One that takes too long is a result; the others are timed without it. */
static void one_that_fails_does_not_end_a_comparison(void **state)
{
    const struct program *p[] = {
        program_of("gmm m=900 k=900 n=900", NULL), program_of("gmm m=16 k=16 n=16", NULL),
        program_of("gmm m=16 k=16 n=16", NULL),
    };
    struct measure_opts o = quick(0);
    static struct compared out[3];
    struct comparison how;
    struct err e;
    (void)state;
    o.limit_s = 0.02;
    if (!measure_compare(p, 3, &o, NULL, NULL, out, &how, &e))
        fail_msg("%s", e.text);
    assert_int_equal(out[0].m.outcome, OUTCOME_TIMEOUT);
    assert_int_equal(out[0].m.latency.runs, 0);
    assert_int_equal(out[1].m.outcome, OUTCOME_OK);
    assert_true(out[1].ratio.ratio == 0 && out[2].ratio.ratio > 0);
}

/* A comparison of nothing but failures is one too. */
static void a_comparison_can_be_of_nothing(void **state)
{
    const struct program *p[] = { program_of("gmm m=900 k=900 n=900", NULL) };
    struct measure_opts o = quick(0);
    static struct compared out[1];
    struct comparison how;
    struct err e;
    (void)state;
    o.limit_s = 0.02;
    assert_true(measure_compare(p, 1, &o, NULL, NULL, out, &how, &e));
    assert_int_equal(out[0].m.outcome, OUTCOME_TIMEOUT);
    assert_int_equal(how.rounds, 0);
}

static void options_of_the_clock_are_told(void **state)
{
    struct measure_opts o = quick(METER_CLOCK);
    struct measurement m;
    struct err e;
    (void)state;
    o.huge_pages = true;
    o.threads = 64;
    assert_true(measure_program(program_of("gmm m=16 k=16 n=16", NULL), &o, NULL, NULL, &m, &e));
    assert_int_equal(m.outcome, OUTCOME_OK);
    assert_true(m.huge_asked && m.huge_of_bytes == 3 << 21 && m.huge_bytes <= m.huge_of_bytes);
    struct machine machine;
    machine_read(&machine);
    assert_int_equal(m.threads_note[0] != '\0', machine.cores < 64);
    assert_int_equal(m.cold_latency.runs, 0);
}

/* As many buffers as there are: each is a parameter of the kernel. */
static void a_program_of_many_tensors(void **state)
{
    enum { N = 300 };
    struct measure_opts o = { .meters = METER_CLOCK | METER_SIM, .time_s = 0.01, .seed = 7 };
    struct str spec = {0};
    struct arena *a = arena_new();
    const struct program *p;
    struct measurement m;
    struct err e = {0};
    int bad;
    (void)state;
    str_add(&spec, "x0 = input n=24");
    for (int i = 1; i <= N; i++)
        str_printf(&spec, "; x%d = %s(x%d%s)", i, i % 2 ? "add" : "relu", i - 1,
                   i % 2 ? ", x0" : "");
    if (!program_replay(a, str_text(&spec), NULL, 0, &p, &bad, &e)
        || !measure_program(p, &o, NULL, NULL, &m, &e))
        fail_msg("%s", e.text);
    if (m.outcome != OUTCOME_OK)
        fail_msg("%s", m.reason);
    assert_true(m.verified && m.sim.available);
    str_free(&spec);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_are_right),
        cmocka_unit_test(misses_of_a_small_kernel),
        cmocka_unit_test(impossible_cache_is_a_reason),
        cmocka_unit_test(missing_environment_is_an_error),
        cmocka_unit_test(too_large_is_said_so),
        cmocka_unit_test(cancelled_at_once),
        cmocka_unit_test(cancelled_in_every_stage),
        cmocka_unit_test(wrong_kernels_are_never_timed),
        cmocka_unit_test(first_wrong_element_is_named),
        cmocka_unit_test(references_are_kept),
        cmocka_unit_test(measuring_in_threads_is_fine),
        cmocka_unit_test(texts_are_of_the_measured_code),
        cmocka_unit_test(lines_belong_to_loops),
        cmocka_unit_test(programs_are_compared_in_one_child),
        cmocka_unit_test(each_kernel_has_its_own_flags),
        cmocka_unit_test(memory_counts_what_algorithms_need),
        cmocka_unit_test(what_a_measurement_may_take_is_told),
        cmocka_unit_test(one_that_fails_does_not_end_a_comparison),
        cmocka_unit_test(a_comparison_can_be_of_nothing),
        cmocka_unit_test(options_of_the_clock_are_told),
        cmocka_unit_test(no_kernel_is_named_like_a_function_of_c),
        cmocka_unit_test(a_program_of_many_tensors),
    };
    const char *s = getenv("TS_SEED");
    seed = s ? strtoull(s, NULL, 10) : seed;
    printf("# seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
