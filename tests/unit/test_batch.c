/* Batches of candidates: what becomes of good and bad ones, beside each other in one compiler call
 * and one after the other in one child. */
/* tests/run.sh: takes 18 s */
#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/arena.h"
#include "kernels/base/file.h"
#include "profile/measure/batch.h"
#include "profile/build/objcache.h"
#include "tests/unit/random_ops.h"
#include "tests/unit/random_steps.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define SPEC "gmm m=8 n=8 k=8"
#define MOST_STEPS 6

static struct arena *perm;
static const char *home;

#define assert_contains(text, part) \
    do { \
        if (!strstr((text), (part))) \
            fail_msg("\"%s\" is not in \"%s\"", (part), (text)); \
    } while (0)

static const struct program *program_of(const char *spec, const char *const *steps)
{
    const struct program *p;
    struct err e;
    int n = 0, bad;
    while (n < MOST_STEPS && steps[n])
        n++;
    if (!program_replay(perm, spec, steps, n, &p, &bad, &e))
        fail_msg("%s, step %d: %s", spec, bad, e.text);
    return p;
}

static struct batch_opts quick(void)
{
    return (struct batch_opts){ .measure = { .seed = 1, .time_s = 1e-3, .min_runs = 2 },
                                .jobs = 2 };
}

static struct batch *batch_of(const struct program *p, const struct batch_opts *o)
{
    struct batch *b;
    struct err e;
    if (!batch_new(p, o, NULL, &b, &e))
        fail_msg("%s", e.text);
    return b;
}

/* --- Good and bad ones ------------------------------------------------------------------------ */

/* Each is a schedule whose code an edit can tell from the others'. */
struct part { const char *step; const char *edit; enum outcome outcome; const char *says; };
static const struct part part[] = {
    { "loop split C M 2 4", NULL, OUTCOME_OK, "" },
    { "loop split C N 2 4", "s/C\\[8\\*m + 4\\*n_0 + n_1\\]/C[8*m + 4*n_0 + n_1 + 500000]/",
      OUTCOME_CRASH, "a write" },
    { "loop split C M 4 2", "s/c0 += A\\[16\\*m_0/c0 -= A[16*m_0/", OUTCOME_WRONG,
      "% of elements" },
    { "loop split C K 4 2", NULL, OUTCOME_OK, "" },
    { "loop split C N 4 2", "s/B\\[8\\*k + 2\\*n_0 + n_1\\];/B[;/", OUTCOME_COMPILE,
      "refused the generated code: line " },
    { "loop split C K 2 4",
      "s/c0 += A\\[8\\*m + 4\\*k_0 + k_1\\].*/for (;;) ((volatile float *)C)[0] = 1;/",
      OUTCOME_TIMEOUT, "did not end within 0.3 s" },
    { "loop reorder C N M K", NULL, OUTCOME_OK, "" },
};

/* A compiler that edits what it compiles. */
static const char *spoiling_compiler(void)
{
    static char path[200];
    struct str script = {0};
    struct err e;
    snprintf(path, sizeof path, "%s/spoiler", home);
    str_add(&script, "#!/bin/sh\ncase \"$1\" in --version) echo spoiler 1.0; exit;; esac\n"
                     "for a; do case \"$a\" in *.c) sed -i");
    for (int i = 0; i < COUNT_OF(part); i++)
        if (part[i].edit)
            str_printf(&script, " -e '%s'", part[i].edit);
    str_add(&script, " \"$a\";; esac; done\nexec cc \"$@\"\n");
    assert_true(file_write_atomic(path, str_text(&script), script.len, &e));
    assert_int_equal(chmod(path, 0755), 0);
    str_free(&script);
    return path;
}

static void list_parts(struct batch_item *item)
{
    for (int i = 0; i < COUNT_OF(part); i++)
        item[i] = (struct batch_item){ .p = program_of(SPEC, (const char *[]){ part[i].step,
                                                                               NULL }) };
}

static void check_part(int i, const struct batch_item *item)
{
    const struct measurement *m = &item->m;
    bool ok = part[i].outcome == OUTCOME_OK;
    if (m->outcome != part[i].outcome)
        fail_msg("%s: %s: %s", part[i].step, outcome_name[m->outcome], m->reason);
    assert_contains(m->reason, part[i].says);
    assert_int_equal(m->verified, ok);
    assert_int_equal(m->latency.runs > 0, ok);
    assert_int_equal(m->latency.min_ms > 0, ok);
    assert_int_equal(m->gflops > 0, ok);
    assert_true(m->compiler[0] && m->isa[0] && m->total_s >= item->compile_s);
}

/* As measure_program sees it. */
static void check_alone(const struct batch_item *item, const struct measure_opts *o)
{
    struct measurement m;
    struct measure_opts alone = *o;
    struct err e;
    alone.meters = METER_CLOCK;
    assert_true(measure_program(item->p, &alone, NULL, NULL, &m, &e));
    assert_int_equal(m.outcome, item->m.outcome);
    assert_int_equal(m.verified, item->m.verified);
    assert_int_equal(measurement_compared(&m), measurement_compared(&item->m));
    assert_true(!measurement_compared(&m) || m.max_rel_err == item->m.max_rel_err);
    assert_string_equal(m.reason, item->m.reason);
    assert_string_equal(m.compiler, item->m.compiler);
}

/* All in one call; then, that being refused, each in one of its own.  Once more: the three that
 * were not edited are in the cache, the other four are tried together and then alone. */
static void bad_ones_spoil_no_other(void **state)
{
    static struct batch_item item[COUNT_OF(part)];
    struct batch_opts o = quick();
    struct err e;
    (void)state;
    o.measure.compiler = spoiling_compiler();
    o.measure.limit_s = 0.3;
    o.jobs = 1;
    list_parts(item);
    struct batch *b = batch_of(item[0].p, &o);
    for (int round = 0; round < 2; round++) {
        if (!batch_run(b, item, COUNT_OF(part), NULL, NULL, &e))
            fail_msg("%s", e.text);
        for (int i = 0; i < COUNT_OF(part); i++)
            check_part(i, &item[i]);
    }
    struct batch_stats s = batch_stats(b);
    assert_int_equal(s.compiler_calls, 1 + 7 + 1 + 4);
    assert_int_equal(s.cached, 3);
    for (int i = 0; i < COUNT_OF(part); i++)
        s.of[part[i].outcome] -= 2;
    for (int i = 0; i < COUNT_OF(s.of); i++)
        assert_int_equal(s.of[i], 0);
    for (int i = 0; i < COUNT_OF(part); i++)
        check_alone(&item[i], &o.measure);
    batch_free(b);
}

/* Times the fastest, when that is less than what a caller allows. */
static void endless_ones_end_soon(void **state)
{
    static struct batch_item item[COUNT_OF(part)];
    struct batch_opts o = quick();
    struct err e;
    (void)state;
    o.measure.compiler = spoiling_compiler();
    list_parts(item);
    struct batch *b = batch_of(item[0].p, &o);
    batch_expect(b, 1);
    assert_true(batch_run(b, item + 5, 2, NULL, NULL, &e));
    assert_int_equal(item[5].m.outcome, OUTCOME_TIMEOUT);
    assert_contains(item[5].m.reason, "one call did not end within 2 s, the limit here");
    assert_int_equal(item[6].m.outcome, OUTCOME_OK);
    batch_free(b);
}

/* --- One child for many ----------------------------------------------------------------------- */

static void layouts_change_in_one_child(void **state)
{
    static const char *const steps[][MOST_STEPS] = {
        { NULL },
        { "layout set Conv \"N O/4 H W 4o\"" },
        { "layout pad Inp I after=400" },
        { "set input_layout given", "layout set Inp_in \"N H W I\"", "loop inline Inp" },
        { "layout unfold Inp H tile=4 stride=2" },
        { "loop parallel Conv O" },
        { NULL },
    };
    static struct batch_item item[COUNT_OF(steps)];
    struct err e;
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        struct batch_opts o = quick();
        o.measure.threads = threads;
        for (int i = 0; i < COUNT_OF(steps); i++)
            item[i].p = program_of("c2d n=1 i=3 h=12 w=12 o=8 k=3 p=1 relu=1", steps[i]);
        struct batch *b = batch_of(item[0].p, &o);
        if (!batch_run(b, item, COUNT_OF(steps), NULL, NULL, &e))
            fail_msg("%s", e.text);
        for (int i = 0; i < COUNT_OF(steps); i++)
            if (item[i].m.outcome != OUTCOME_OK || item[i].m.threads != threads)
                fail_msg("%d: %s: %s", i, outcome_name[item[i].m.outcome], item[i].m.reason);
        assert_int_equal(batch_stats(b).children, 1);
        batch_free(b);
    }
}

/* Buffers of whole pages keep their place from one candidate to the next, and get what that one
 * needs. */
static void pages_are_filled_anew(void **state)
{
    static const char *const steps[][MOST_STEPS] = {
        { "set input_layout given" },
        { "set input_layout given", "layout set A \"K M\"" },
        { "set input_layout given", "layout set B \"N K\"" },
        { "set input_layout given", "layout set A \"K M\"", "layout set B \"N K\"" },
        { "set input_layout given" },
    };
    static struct batch_item item[COUNT_OF(steps)];
    struct batch_opts o = quick();
    struct err e;
    (void)state;
    for (int i = 0; i < COUNT_OF(steps); i++)
        item[i].p = program_of("gmm m=64 n=64 k=64", steps[i]);
    struct batch *b = batch_of(item[0].p, &o);
    assert_true(batch_run(b, item, COUNT_OF(steps), NULL, NULL, &e));
    for (int i = 0; i < COUNT_OF(steps); i++)
        if (item[i].m.outcome != OUTCOME_OK)
            fail_msg("%d: %s: %s", i, outcome_name[item[i].m.outcome], item[i].m.reason);
    assert_int_equal(batch_stats(b).children, 1);         /* none was tried again in another */
    batch_free(b);
}

/* Returns whether the candidate has the outcome of a right program. On a busy machine, a call with
 * many parallel loops may pass the limit of 2 s: such a candidate is measured alone, with 20 s. */
static bool is_right(struct batch_item *x, const struct measure_opts *o)
{
    struct measure_opts alone = *o;
    struct err e;
    alone.limit_s = 20;
    if (x->m.outcome == OUTCOME_TIMEOUT && !measure_program(x->p, &alone, NULL, NULL, &x->m, &e))
        fail_msg("%s", e.text);
    return x->m.outcome == OUTCOME_OK || x->m.outcome == OUTCOME_LIMIT;
}

/* Steps that happen to be legal, on operators of every family: layouts of all kinds, parallel
 * loops, helpers of the same names in one translation unit. Every other run is in parts, with one
 * thread, so that a part is compiled while another one is timed, if there is a core for it. */
static void random_schedules_are_right(void **state)
{
    enum { OPERATORS = 6, CANDIDATES = 10, STEPS = 12 };
    const char *given = getenv("TS_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : 20261121;
    struct rng r = rng_seed(seed);
    struct err e;
    (void)state;
    printf("# seed %llu\n", (unsigned long long)seed);
    for (int done = 0; done < OPERATORS;) {
        static struct batch_item item[CANDIDATES];
        const char *spec = random_operator(perm, &r, random_family(&r));
        const struct program *p;
        struct batch_opts o = quick();
        o.soon = done % 2 == 1;
        o.measure.threads = o.soon ? 1 : 2;
        for (int i = 0; i < CANDIDATES && program_new(perm, spec, &p, &e); i++, item[i - 1].p = p)
            for (int k = 0; k < STEPS; k++)
                program_apply_line(p, k < STEPS / 3 ? random_layout_step(perm, &r, p)
                                                    : random_loop_step(perm, &r, p), &p, &e);
        if (!program_new(perm, spec, &p, &e))
            continue;
        struct batch *b = batch_of(item[0].p, &o);
        if (!batch_run(b, item, CANDIDATES, NULL, NULL, &e))
            fail_msg("%s: %s", spec, e.text);
        for (int i = 0; i < CANDIDATES; i++)
            if (!is_right(&item[i], &o.measure))
                fail_msg("%s, candidate %d: %s: %s", spec, i, outcome_name[item[i].m.outcome],
                         item[i].m.reason);
        assert_true(batch_stats(b).of[OUTCOME_OK] > 0);
        assert_true(batch_stats(b).compiler_calls <= (o.soon ? CANDIDATES : 4));   /* none twice */
        batch_free(b);
        done++;
    }
}

/* More than a child serves. */
static void children_are_replaced(void **state)
{
    enum { N = 70 };
    static struct batch_item item[N];
    struct batch_opts o = quick();
    struct err e;
    (void)state;
    const struct program *p = program_of(SPEC, (const char *[]){ NULL });
    struct batch *b = batch_of(p, &o);
    for (int i = 0; i < N; i++)
        item[i].p = p;
    assert_true(batch_run(b, item, N, NULL, NULL, &e));
    assert_int_equal(batch_stats(b).of[OUTCOME_OK], N);
    assert_int_equal(batch_stats(b).children, 2);
    batch_free(b);
}

/* The second candidate adds 1 to its results where the first was before it: it is right in a child
 * of its own, and nothing that the used one said of it stays. */
static void what_fails_in_a_used_child_is_tried_anew(void **state)
{
    static const char script[] =
        "#!/bin/sh\ncase \"$1\" in --version) echo spoiler 2.0; exit;; esac\n"
        "for a; do case \"$a\" in *.c) sed -i"
        " -e '1s/^/int setenv(const char *, const char *, int); char *getenv(const char *); /'"
        " -e 's/\\(C\\[32[^=]*\\) = .*/& setenv(\"TS_USED\", \"\", 1);/'"
        " -e 's/\\(C\\[[^=]*n_1\\] = \\)\\(.*\\);/\\1\\2 + (getenv(\"TS_USED\") ? 1 : 0);/'"
        " \"$a\";; esac; done\nexec cc \"$@\"\n";
    struct batch_item item[] = {
        { .p = program_of(SPEC, (const char *[]){ "loop split C M 2 4", NULL }) },
        { .p = program_of(SPEC, (const char *[]){ "loop split C N 2 4", NULL }) },
    };
    struct batch_opts o = quick();
    char path[200];
    struct err e;
    (void)state;
    snprintf(path, sizeof path, "%s/spoiler2", home);
    assert_true(file_write_atomic(path, script, sizeof script - 1, &e));
    assert_int_equal(chmod(path, 0755), 0);
    o.measure.compiler = path;
    o.jobs = 1;
    struct batch *b = batch_of(item[0].p, &o);
    assert_true(batch_run(b, item, 2, NULL, NULL, &e));
    assert_int_equal(batch_stats(b).children, 2);
    for (int i = 0; i < 2; i++)
        if (item[i].m.outcome != OUTCOME_OK || item[i].m.max_rel_err > 1e-5
            || item[i].m.error_of_bound > 1)
            fail_msg("%d: %s, %g: %s", i, outcome_name[item[i].m.outcome], item[i].m.max_rel_err,
                     item[i].m.reason);
    batch_free(b);
}

/* A child is bound to one core while it samples, and to none when its next candidate is checked:
 * the first call of each says whether it is. */
static void cores_are_given_back(void **state)
{
    static const char script[] =
        "#!/bin/sh\ncase \"$1\" in --version) echo spoiler 3.0; exit;; esac\n"
        "for a; do case \"$a\" in *.c) sed -i"
        " -e '1s/^/int sched_getaffinity(int, unsigned long, void *); static int bound(void) {"
        " static int calls; unsigned long set[16] = {0}; int n = 0; if (calls++) return 0;"
        " sched_getaffinity(0, sizeof set, set);"
        " for (int i = 0; i < 16; i++) n += __builtin_popcountl(set[i]); return n == 1; } /'"
        " -e 's/\\(C\\[[^=]*\\] = \\)\\(.*\\);/\\1\\2 + bound();/'"
        " \"$a\";; esac; done\nexec cc \"$@\"\n";
    static const char *const step[] = { "loop split C M 2 4", "loop split C N 2 4",
                                        "loop reorder C N M K" };
    struct batch_opts o = quick();
    char path[200];
    struct err e;
    (void)state;
    cpu_set_t ours;
    if (sched_getaffinity(0, sizeof ours, &ours) != 0 || CPU_COUNT(&ours) < 2)
        skip();                           /* this process is bound to one core as well */
    snprintf(path, sizeof path, "%s/spoiler3", home);
    assert_true(file_write_atomic(path, script, sizeof script - 1, &e));
    assert_int_equal(chmod(path, 0755), 0);
    o.measure.compiler = path;
    struct batch *b = batch_of(program_of(SPEC, (const char *[]){ NULL }), &o);
    for (int i = 0; i < COUNT_OF(step); i++) {            /* each an object of its own */
        struct batch_item item = { .p = program_of(SPEC, (const char *[]){ step[i], NULL }) };
        assert_true(batch_run(b, &item, 1, NULL, NULL, &e));
        if (item.m.outcome != OUTCOME_OK)
            fail_msg("%d: %s", i, item.m.reason);
    }
    assert_int_equal(batch_stats(b).children, 1);         /* none was tried again in another */
    batch_free(b);
}

/* --- Giving up -------------------------------------------------------------------------------- */

static void slow_ones_are_given_up(void **state)
{
    struct batch_opts o = quick();
    struct batch_item small = { .p = program_of(SPEC, (const char *[]){ NULL }) };
    struct batch_item large = { .p = program_of("gmm m=512 n=512 k=1024",
                                                (const char *[]){ NULL }) };
    struct err e;
    (void)state;
    o.measure.min_runs = 20;
    o.kill_ratio = 1e11;                                  /* of what is expected below */
    struct batch *b = batch_of(small.p, &o);
    assert_true(batch_run(b, &small, 1, NULL, NULL, &e));
    assert_false(small.given_up);
    assert_true(small.m.latency.runs >= 20);
    batch_expect(b, 1e-6);
    assert_true(batch_run(b, &small, 1, NULL, NULL, &e));
    assert_int_equal(small.m.outcome, OUTCOME_OK);
    assert_true(small.given_up && small.m.verified);
    assert_true(small.m.latency.runs <= 2);
    assert_int_equal(batch_stats(b).given_up, 1);
    batch_free(b);

    b = batch_of(large.p, &o);                            /* its first call says enough */
    batch_expect(b, 1e-6);
    assert_true(batch_run(b, &large, 1, NULL, NULL, &e));
    assert_int_equal(large.m.outcome, OUTCOME_OK);
    assert_true(large.given_up && large.m.verified);
    assert_int_equal(large.m.latency.runs, 1);
    assert_true(large.m.latency.min_ms > 0 && large.m.gflops > 0);
    batch_free(b);
}

/* Neither hopeless nor near the fastest: long calls are sampled once, not min_runs times. */
static void long_calls_are_sampled_once(void **state)
{
    struct batch_opts o = quick();
    struct batch_item item = { .p = program_of("gmm m=256 n=512 k=512",
                                               (const char *[]){ NULL }) };
    struct err e;
    (void)state;
    o.measure.min_runs = 5;
    struct batch *b = batch_of(item.p, &o);
    assert_true(batch_run(b, &item, 1, NULL, NULL, &e));
    assert_int_equal(item.m.outcome, OUTCOME_OK);
    assert_true(item.m.latency.runs >= 5);
    assert_true(item.m.latency.min_ms > 20);              /* that is long */
    batch_expect(b, item.m.latency.min_ms / 2);
    assert_true(batch_run(b, &item, 1, NULL, NULL, &e));
    assert_int_equal(item.m.outcome, OUTCOME_OK);
    assert_true(item.m.verified);
    assert_int_equal(item.m.latency.runs, 1);
    batch_free(b);
}

/* Written out, 1536 sums of scalars take a compiler seconds; their neighbour is not kept from
 * it. */
static void compilers_have_little_time(void **state)
{
    static const char *const large[] = {
        "loop split C K 1 64", "loop reorder C K.0 K.1 M N", "loop cache_write C at=K.0",
        "loop unroll C M", "loop unroll C N", NULL
    };
    struct batch_item item[2] = { { .p = program_of("gmm m=48 n=32 k=64", large) },
                                  { .p = program_of("gmm m=48 n=32 k=64",
                                                    (const char *[]){ NULL }) } };
    struct batch_opts o = quick();
    struct err e;
    (void)state;
    o.compile_cpu_s = 1;
    o.jobs = 1;
    struct batch *b = batch_of(item[0].p, &o);
    if (!batch_run(b, item, 2, NULL, NULL, &e))
        fail_msg("%s", e.text);
    assert_int_equal(item[1].m.outcome, OUTCOME_OK);
    assert_int_equal(item[0].m.outcome, OUTCOME_COMPILE);
    assert_contains(item[0].m.reason, "did not finish within 1 s of CPU time");
    assert_int_equal(batch_stats(b).compiler_calls, 3);
    batch_free(b);
}

/* --- Cancelling ------------------------------------------------------------------------------- */

struct spy { struct cancel cancel; const char *at; int measured; };

static void spy_report(void *ctx, const char *what, double fraction)
{
    struct spy *s = ctx;
    assert_true(streq(what, "compiling") || streq(what, "measuring"));
    assert_true(fraction >= 0 && fraction <= 1);
    if (s->at && streq(what, s->at))
        atomic_store(&s->cancel.raised, 1);
}

static void spy_measured(void *ctx, struct batch_item *item)
{
    struct spy *s = ctx;
    assert_int_equal(item->m.outcome, OUTCOME_OK);
    if (++s->measured == 2)
        atomic_store(&s->cancel.raised, 1);
}

static void cancelled_at_any_time(void **state)
{
    static const char *const at[] = { "compiling", "measuring", NULL };
    enum { N = 4 };
    (void)state;
    for (int run = 0; run < 2 * COUNT_OF(at); run++) {
        int i = run / 2;
        struct batch_item item[N];
        struct spy s = { .at = at[i] };
        struct progress pr = { spy_report, &s };
        struct batch_opts o = quick();
        struct err e;
        o.soon = run % 2 == 1;            /* the next part is being compiled at the cancel */
        o.measured = spy_measured;
        o.ctx = &s;
        for (int k = 0; k < N; k++)
            item[k] = (struct batch_item){ .p = program_of(SPEC, (const char *[]){ part[k].step,
                                                                                   NULL }) };
        struct batch *b = batch_of(item[0].p, &o);
        assert_false(batch_run(b, item, N, &pr, &s.cancel, &e));
        assert_int_equal(e.code, ERR_CANCEL);
        assert_int_equal(s.measured, at[i] ? 0 : 2);
        for (int k = 0; k < N; k++)
            assert_int_equal(item[k].m.outcome, k < s.measured ? OUTCOME_OK : OUTCOME_CANCEL);
        s = (struct spy){ .measured = 2 };                /* and again */
        assert_true(batch_run(b, item, N, &pr, &s.cancel, &e));
        assert_int_equal(s.measured, 2 + N);
        batch_free(b);
    }
}

/* --- What is missing -------------------------------------------------------------------------- */

static void what_is_missing_is_an_error(void **state)
{
    struct batch_item item[2] = { { .p = program_of(SPEC, (const char *[]){ NULL }) },
                                  { .p = program_of(SPEC, (const char *[]){ NULL }) } };
    struct batch_opts o = quick();
    struct err e;
    (void)state;
    o.measure.compiler = "no-such-cc";
    struct batch *b = batch_of(item[0].p, &o);
    assert_false(batch_run(b, item, 2, NULL, NULL, &e));
    assert_int_equal(e.code, ERR_ENV);
    assert_int_equal(item[1].m.outcome, OUTCOME_ENV);
    assert_contains(item[0].m.reason, "no-such-cc");
    batch_free(b);
    o = quick();
    o.measure.runner_path = "/nonexistent/runner";
    b = batch_of(item[0].p, &o);
    assert_false(batch_run(b, item, 2, NULL, NULL, &e));
    assert_contains(e.text, "/nonexistent/runner");
    assert_true(batch_run(b, item, 0, NULL, NULL, &e));
    batch_free(b);
    o = quick();
    b = batch_of(item[0].p, &o);
    item[1].p = program_of("gmm m=8 n=8 k=9", (const char *[]){ NULL });
    assert_false(batch_run(b, item, 2, NULL, NULL, &e));
    assert_int_equal(e.code, ERR_BUG);
    batch_free(b);
}

/* The batch's own compilers are no other work: of candidates beside which they run, here those of
 * the second part, the share of other work is unknown. */
static void own_compilers_are_no_other_work(void **state)
{
    static const char *const step[] = {
        "loop split C M 2 4", "loop split C M 4 2", "loop split C N 2 4", "loop split C N 4 2",
        "loop split C K 2 4", "loop split C K 4 2", "loop reorder C N M K",
    };
    struct batch_item item[COUNT_OF(step)];
    struct batch_opts o = quick();
    struct machine idle = *machine_this();
    struct err e;
    (void)state;
    idle.cores = 8;
    idle.core_threads = 1;
    o.soon = true;
    o.give_up_ratio = -1;
    o.measure.machine = &idle;
    o.measure.time_s = 0.12;              /* long enough for a share */
    for (int i = 0; i < COUNT_OF(step); i++)
        item[i] = (struct batch_item){ .p = program_of(SPEC, (const char *[]){ step[i], NULL }) };
    struct batch *b = batch_of(item[0].p, &o);
    if (!batch_run(b, item, COUNT_OF(step), NULL, NULL, &e))
        fail_msg("%s", e.text);
    batch_free(b);
    if (isnan(item[0].m.latency.others) || isnan(item[1].m.latency.others)
        || isnan(item[6].m.latency.others))
        skip();                           /* no share from /proc/stat here */
    for (int i = 0; i < COUNT_OF(step); i++) {
        assert_int_equal(item[i].m.outcome, OUTCOME_OK);
        assert_int_equal(isnan(item[i].m.latency.others) != 0, i >= 2 && i < 6);
    }
}

/* --- The cache -------------------------------------------------------------------------------- */

static int64_t folder_bytes(const char *path)
{
    int64_t sum = 0;
    struct dirent *d;
    struct stat st;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    while ((d = readdir(dir)) != NULL)
        if (fstatat(dirfd(dir), d->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
            sum += st.st_size;
    closedir(dir);
    return sum;
}

/* Four times what it may hold, by one process; the newest is always there. */
static void cache_stays_bounded(void **state)
{
    enum { N = 64, BYTES = 64 << 10, MAX = 1 << 20 };
    static char object[BYTES];
    char folder[300];
    (void)state;
    assert_int_equal(setenv("TILESCOPE_CACHE_MIB", "1", 1), 0);
    snprintf(folder, sizeof folder, "%s/tilescope/objects", home);
    for (int i = 0; i < N; i++) {
        struct objcache_slot slot;
        struct str text = {0};
        struct err e;
        str_printf(&text, "/* object %d */", i);
        assert_true(objcache_slot(&text, &slot, &e) && objcache_write(&slot, &text, &e));
        assert_true(file_write_atomic(slot.temp_so, object, BYTES, &e));
        assert_true(objcache_store(&slot, &e));
        assert_true(objcache_hit(&slot, &text));
        if (i > MAX / BYTES)
            assert_true(folder_bytes(folder) <= MAX + MAX / 8 + BYTES + 1024);
        str_free(&text);
    }
    assert_true(folder_bytes(folder) > MAX / 2);
    unsetenv("TILESCOPE_CACHE_MIB");
    assert_true(objcache_max_bytes() == OBJCACHE_MAX_BYTES);
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
        cmocka_unit_test(bad_ones_spoil_no_other),
        cmocka_unit_test(endless_ones_end_soon),
        cmocka_unit_test(layouts_change_in_one_child),
        cmocka_unit_test(pages_are_filled_anew),
        cmocka_unit_test(random_schedules_are_right),
        cmocka_unit_test(children_are_replaced),
        cmocka_unit_test(what_fails_in_a_used_child_is_tried_anew),
        cmocka_unit_test(cores_are_given_back),
        cmocka_unit_test(slow_ones_are_given_up),
        cmocka_unit_test(long_calls_are_sampled_once),
        cmocka_unit_test(compilers_have_little_time),
        cmocka_unit_test(cancelled_at_any_time),
        cmocka_unit_test(what_is_missing_is_an_error),
        cmocka_unit_test(own_compilers_are_no_other_work),
        cmocka_unit_test(cache_stays_bounded),
    };
    return cmocka_run_group_tests_name("batch", tests, set_up, tear_down);
}
