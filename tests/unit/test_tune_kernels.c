/* The tuner on real operators: what it draws are programs, pins stay, a replay goes the same way,
 * and the result is tidy, verified and no slower than the start. */
/* tests/run.sh: takes 25 s */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/tune/tidy.h"
#include "explorer/tune/tune.h"
#include "kernels/base/vec.h"
#include "kernels/gen/gen.h"
#include "kernels/nest/lower.h"
#include "tests/unit/miscompile.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define COUNT(a) ((int)(sizeof (a) / sizeof *(a)))

static uint64_t seed = 20261121;

static const char *const operators[] = {
    "c1d n=1 i=4 w=12 o=8 k=3 p=1", "c2d n=1 i=4 h=8 w=8 o=16 k=3 p=1 relu=1",
    "c3d n=1 i=2 depth=4 h=4 w=4 o=8 k=3 p=1", "grp n=1 i=8 h=6 w=6 o=8 k=3 g=2",
    "dep n=1 c=16 h=8 w=8 k=3 p=1", "dil n=1 i=4 h=9 w=9 o=8 k=3 d=2",
    "t2d n=1 i=4 h=4 w=4 o=8 k=4 s=2 p=1", "t3d n=1 i=2 depth=2 h=4 w=4 o=8 k=4 s=2 p=1",
    "gmm m=12 k=8 n=32",
};

static struct kernels *open_kernels(const struct kernels_opts *o)
{
    struct kernels *k;
    struct err e = {0};
    if (!kernels_new(o, &k, NULL, &e))
        fail_msg("%s: %s", o->spec, e.text);
    return k;
}

/* Of a candidate: no layout behind a loop. */
static void assert_program(const char *spec, const char *const *line, int n)
{
    struct arena *a = arena_new();
    const struct program *p;
    struct err e = {0};
    int bad;
    if (!program_replay(a, spec, line, n, &p, &bad, &e))
        fail_msg("%s: %s: %s", spec, bad >= 0 ? line[bad] : "", e.text);
    for (int i = 1; i < n; i++)
        assert_true(str_starts(line[i], "loop ") || !str_starts(line[i - 1], "loop "));
    arena_free(a);
}

static void ignore_measured(void *ctx, struct tune_candidate *c)
{
    (void)ctx;
    (void)c;
}

/* Every operator has layouts and loops, and what is drawn can be replayed, layouts first. */
static void what_is_drawn_is_a_program(void **state)
{
    struct tune_lines bare = { "session", 0, NULL };
    (void)state;
    for (int i = 0; i < COUNT(operators); i++) {
        struct kernels_opts o = { .spec = operators[i], .n_seeds = 1, .schedule = &bare };
        struct kernels *k = open_kernels(&o);
        const struct tune_problem *p = kernels_problem(k);
        struct arena *a = arena_new();
        struct rng r = rng_seed(seed + (uint64_t)i);
        char *point = xcalloc(1, p->point_bytes);
        assert_true(p->n_actions >= 3 && kernels_layouts(k) > 1);
        int64_t usual[TUNE_MAX_LAYOUT_KNOBS] = {0};
        assert_non_null(p->layout_start);                 /* what the search tries first */
        assert_true(p->layout_start(p->ctx, 0, usual));
        assert_true(p->arm_open(p->ctx, usual) >= 0);
        for (int draw = 0; draw < 6; draw++) {
            double action[TUNE_MAX_LAYOUT_KNOBS];
            int64_t factor[TUNE_MAX_LAYOUT_KNOBS];
            const char *const *line;
            int n;
            for (int j = 0; j < p->n_actions; j++)
                action[j] = rng_unit(&r);
            p->layout_decode(p->ctx, action, p->n_actions, factor);
            int arm = p->arm_open(p->ctx, factor);
            assert_true(arm >= 0 && p->arm_open(p->ctx, factor) == arm);
            assert_true(kernels_points(k, arm) > 1);
            p->point_draw(p->ctx, arm, &r, point);
            if (p->point_lines(p->ctx, arm, point, a, &line, &n))
                assert_program(operators[i], line, n);
            p->point_first(p->ctx, arm, point);
            for (int step = 0; step < 50 && p->point_next(p->ctx, arm, point); step++)
                if (p->point_lines(p->ctx, arm, point, a, &line, &n) && step % 10 == 0)
                    assert_program(operators[i], line, n);
            p->arm_close(p->ctx, arm);
            assert_int_equal(p->arm_open(p->ctx, factor), arm);
        }
        free(point);
        arena_free(a);
        kernels_free(k);
    }
}

/* Before anything is measured, scores are estimates from the code and not random: they do not
 * depend on the seed, and the best of 64 points is a vectorized one. */
static void the_code_ranks_before_anything_is_measured(void **state)
{
    struct tune_lines bare = { "session", 0, NULL };
    double best[2] = {0};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct kernels_opts o = { .spec = "gmm m=24 k=32 n=64", .n_seeds = 1, .schedule = &bare,
                                  .seed = (uint64_t)i };
        struct kernels *k = open_kernels(&o);
        const struct tune_problem *p = kernels_problem(k);
        struct arena *a = arena_new();
        char *point = xcalloc(1, p->point_bytes);
        struct rng r = rng_seed(seed);
        bool vectors = false;
        assert_true(p->ranks(p->ctx));
        for (int draw = 0; draw < 64; draw++) {
            struct tune_candidate c = { .ms = INFINITY }, *one = &c;
            p->point_draw(p->ctx, 0, &r, point);
            if (!p->point_lines(p->ctx, 0, point, a, &c.line, &c.n_lines))
                continue;
            p->score(p->ctx, a, &one, 1);
            if (c.illegal || c.score <= best[i])
                continue;
            assert_true(c.score <= 1);
            best[i] = c.score;
            vectors = strstr(search_text(a, c.line, c.n_lines), "vectorize") != NULL;
        }
        assert_true(best[i] > 0 && (vectors || target_host()->vector_bytes == 0));
        free(point);
        arena_free(a);
        kernels_free(k);
    }
    assert_true(best[0] == best[1]);
}

/* What is scored is what is measured, and in the end it is forgotten. */
static void lowered_and_generated_once(void **state)
{
    struct tune_lines bare = { "session", 0, NULL };
    (void)state;
    for (int i = 0; i < COUNT(operators); i += 4) {
        struct kernels_opts o = { .spec = operators[i], .n_seeds = 1, .schedule = &bare };
        struct kernels *k = open_kernels(&o);
        const struct tune_problem *p = kernels_problem(k);
        struct arena *a = arena_new();
        char *point = xcalloc(1, p->point_bytes);
        struct tune_candidate c = { .illegal = true }, *one = &c;
        struct rng r = rng_seed(seed);
        struct err e;
        long lowered = 0, generated = 0;
        for (int draw = 0; draw < 1000 && c.illegal; draw++) {
            c = (struct tune_candidate){ .ms = INFINITY, .illegal = true };
            p->point_draw(p->ctx, 0, &r, point);
            if (!p->point_lines(p->ctx, 0, point, a, &c.line, &c.n_lines))
                continue;
            lowered = lower_calls();
            generated = gen_calls();
            p->score(p->ctx, a, &one, 1);
        }
        assert_false(c.illegal);
        assert_true(p->measure(p->ctx, &one, 1, ignore_measured, NULL, NULL, &e));
        assert_int_equal(c.outcome, OUTCOME_OK);
        p->learn(p->ctx, &one, 1, NULL);
        assert_int_equal(lower_calls() - lowered, 1);
        assert_int_equal(gen_calls() - generated, 1);
        p->forget(p->ctx);
        free(point);
        arena_free(a);
        kernels_free(k);
    }
}

static bool has_line(const char *const *line, int n, const char *want)
{
    for (int i = 0; i < n; i++)
        if (streq(line[i], want))
            return true;
    return false;
}

static void pins_are_in_every_candidate(void **state)
{
    static const char *const mine[] = { "layout set A \"K M\"", "loop parallel C M" };
    static const char *const other[] = { "layout set A \"M K\"", "layout set B \"N K\"",
                                         "loop reorder C M K N", "loop vectorize C N" };
    const struct tune_lines seeds[] = { { "session", 2, mine }, { "expert", 4, other } };
    const char *spec = "gmm m=12 k=8 n=32";
    (void)state;
    for (int fixed = 0; fixed < 2; fixed++) {
        struct kernels_opts o = { .spec = spec, .n_seeds = 2, .schedule = seeds, .n_pins = 1,
                                  .pin = mine, .fixed = fixed, .measure = { .threads = 2 } };
        struct kernels *k = open_kernels(&o);
        const struct tune_problem *p = kernels_problem(k);
        struct arena *a = arena_new();
        struct rng r = rng_seed(seed);
        char *point = xcalloc(1, p->point_bytes);
        int n_seeds, n;
        const struct tune_seed *s = kernels_seeds(k, &n_seeds);
        assert_int_equal(n_seeds, 2);
        for (int i = 0; i < n_seeds; i++) {
            assert_true(has_line(s[i].line, s[i].n_lines, mine[0]));
            assert_false(has_line(s[i].line, s[i].n_lines, other[0]));
        }
        assert_int_equal(has_line(s[1].line, s[1].n_lines, other[1]), !fixed);
        assert_int_equal(p->n_actions == 0, fixed);
        for (int arm = 0; arm < p->n_arms(p->ctx); arm++) {
            const char *const *line;
            p->point_draw(p->ctx, arm, &r, point);
            if (p->point_lines(p->ctx, arm, point, a, &line, &n))
                assert_true(has_line(line, n, mine[0]));
        }
        free(point);
        arena_free(a);
        kernels_free(k);
    }
}

/* The session is only what the result is compared with then: every layout that is searched has the
 * pins, also where the template draws the one that the session has but for them. */
static void pins_that_the_session_lacks(void **state)
{
    static const char *const pin[] = { "layout set A \"K M\"", "layout set B \"N K\"",
                                       "layout set C \"N M\"" };
    static const char *const mine[] = { "loop parallel C M" };
    const struct tune_lines seeds[] = { { "session", 0, NULL }, { "expert", 1, mine } };
    (void)state;
    for (int n_pins = 1; n_pins <= COUNT(pin); n_pins++)
        for (int n_seeds = 1; n_seeds <= COUNT(seeds); n_seeds++) {
            struct kernels_opts o = { .spec = "gmm m=4 k=4 n=8", .n_seeds = n_seeds,
                                      .schedule = seeds, .n_pins = n_pins, .pin = pin };
            struct kernels *k = open_kernels(&o);
            const struct tune_problem *p = kernels_problem(k);
            struct arena *a = arena_new();
            char *point = xcalloc(1, p->point_bytes);
            int64_t factor[TUNE_MAX_LAYOUT_KNOBS];
            int n, n_searched = 0;
            if (p->n_actions > 0) {
                p->layout_next(p->ctx, factor, true);
                do
                    p->arm_open(p->ctx, factor);
                while (p->layout_next(p->ctx, factor, false));
            }
            for (int arm = 0; arm < p->n_arms(p->ctx); arm++) {
                const char *const *line;
                if (p->n_knobs(p->ctx, arm) == 0)
                    continue;
                n_searched++;
                p->point_starts(p->ctx, arm, point, 1);
                assert_true(p->point_lines(p->ctx, arm, point, a, &line, &n));
                for (int i = 0; i < n_pins; i++)
                    assert_true(has_line(line, n, pin[i]));
            }
            assert_true(n_searched > 0);
            free(point);
            arena_free(a);
            kernels_free(k);
        }
}

/* The same memory; without the setting the input is converted at run time: another program, for
 * which the template's candidates are no neighbours. */
static void a_conversion_is_another_layout(void **state)
{
    static const char *const with[] = { "set input_layout given", "layout set A \"M/8 K 8m\"" };
    static const char *const nothing[] = { "layout set A \"M K\"" };
    static const struct { struct tune_lines session, expert; bool same; } row[] = {
        { { "session", 2, with }, { "expert", 2, with }, true },
        { { "session", 1, with + 1 }, { "expert", 2, with }, false },
        { { "session", 2, with }, { "expert", 1, with + 1 }, false },
        { { "session", 0, NULL }, { "expert", 1, nothing }, true },
    };
    (void)state;
    for (int i = 0; i < COUNT(row); i++) {
        const struct tune_lines both[] = { row[i].session, row[i].expert };
        struct kernels_opts o = { .spec = "gmm m=16 k=8 n=32", .n_seeds = 2, .schedule = both };
        struct kernels *k = open_kernels(&o);
        int n;
        const struct tune_seed *s = kernels_seeds(k, &n);
        assert_int_equal(n, 2);
        if ((s[0].arm == s[1].arm) != row[i].same)
            fail_msg("row %d: layouts %d and %d", i, s[0].arm, s[1].arm);
        kernels_free(k);
    }
}

static void idle_lines_are_left_out(void **state)
{
    static const char *const line[] = {
        "loop split C M 3 4", "layout set B \"K N\"", "layout set C \"M N\"", "set propagate on",
        "loop reorder C M.0 K M.1 N", "layout set A \"M K\"", "loop vectorize C N",
    };
    const char *const want[] = { "loop split C M 3 4", "loop reorder C M.0 K M.1 N",
                                 "loop vectorize C N" };
    struct arena *a = arena_new();
    const char *const *out;
    struct err e = {0};
    int n;
    (void)state;
    assert_true(tidy_lines(a, "gmm m=12 k=8 n=32", NULL, line, COUNT(line), &out, &n, &e));
    assert_int_equal(n, COUNT(want));
    for (int i = 0; i < n; i++)
        assert_string_equal(out[i], want[i]);
    arena_free(a);
}

static void the_same_but_for_names(void **state)
{
    static const char *const ones[] = { "loop split C M 1 12", "loop split C N 2 16",
                                        "loop reorder C M.0 N.0 K M.1 N.1",
                                        "loop cache_write C at=N.0", "loop vectorize C N.1" };
    static const char *const typed[] = { "loop split C N 2 16", "loop reorder C N.0 K M N.1",
                                         "loop cache_write C at=N.0", "loop vectorize C N.1" };
    static const char *const other[] = { "loop split C N 4 8", "loop reorder C N.0 K M N.1",
                                         "loop cache_write C at=N.0", "loop vectorize C N.1" };
    const char *spec = "gmm m=12 k=8 n=32";
    (void)state;
    assert_true(tidy_same(spec, NULL, ones, COUNT(ones), typed, COUNT(typed)));
    assert_false(tidy_same(spec, NULL, ones, COUNT(ones), other, COUNT(other)));
    assert_false(tidy_same(spec, NULL, ones, COUNT(ones), typed, COUNT(typed) - 1));
}

/* --- A run, and its replay -------------------------------------------------------------------- */

struct tape { VEC(char *) text; VEC(struct tune_candidate) c; int replayed; };

static void tape_measured(void *ctx, const struct tune_candidate *c)
{
    struct tape *t = ctx;
    t->replayed += c->replayed;
    if (c->replayed)
        return;
    assert_true(c->outcome != OUTCOME_OK || (c->m && c->m->verified && c->ms > 0));
    vec_push(&t->text, xstrdup(c->text));
    vec_push(&t->c, *c);
}

static bool tape_known(void *ctx, struct tune_candidate *c)
{
    struct tape *t = ctx;
    for (int i = 0; i < t->text.len; i++)
        if (streq(t->text.data[i], c->text)) {
            c->outcome = t->c.data[i].outcome;
            c->ms = t->c.data[i].ms;
            return true;
        }
    return false;
}

/* Lets the next run follow the last candidate of this one. */
static void follow_last(struct arena *a, const struct tune_result *r, struct tune_opts *o,
                        struct follow *f)
{
    const struct tune_candidate *c = r->view->trial[47];
    const char **line = ARENA_ARRAY(a, const char *, c->n_lines);
    for (int i = 0; i < c->n_lines; i++)
        line[i] = arena_strdup(a, c->line[i]);
    f->line = line;
    f->n_lines = c->n_lines;
    o->follow = f;
}

static void run_and_replay(const char *strategy)
{
    static const char *const slow[] = { "loop reorder C K M N" };
    struct tune_lines start = { "session", 1, slow };
    struct tape tape = {0};
    struct tune_opts o = {
        .kernels = { .spec = "gmm m=12 k=8 n=32", .n_seeds = 1, .schedule = &start,
                     .measure = { .seed = 1 }, .seed = 3 },
        .budget = 48, .seed = 3, .strategy = strategy, .ledger = true,
    };
    char *text[48];
    struct arena *a = arena_new();
    struct follow last = { .opened = -1, .proposed = -1, .trial = -1 };
    for (int run = 0; run < 2; run++) {
        struct search_sink sink = { &tape, tape_measured, tape_known, NULL };
        struct tune_result *r;
        struct err e = {0};
        if (!tune_run(&o, &sink, NULL, &r, &e)) {
            print_message("# SKIP: %s\n", e.text);
            skip();
        }
        assert_int_equal(r->view->n_trials, 48);
        assert_int_equal(tape.replayed, 48 * run);
        for (int i = 0; i < 48; i++) {
            if (run == 1)
                assert_string_equal(text[i], r->view->trial[i]->text);
            else
                text[i] = xstrdup(r->view->trial[i]->text);
        }
        if (run == 0)
            follow_last(a, r, &o, &last);
        assert_non_null(r->best);
        assert_true(r->best->ms <= r->start->ms);
        assert_true(r->measured && r->m.verified && r->m.outcome == OUTCOME_OK);
        assert_program(o.kernels.spec, r->line, r->n_lines);
        assert_non_null(r->ledger);
        assert_true(r->ledger[r->n_lines].verified && r->ledger[0].verified);
        tune_free(r);
    }
    if (last.trial < 0) {
        for (int i = 0; i < last.n_lines; i++)
            print_message("# %s\n", last.line[i]);
        fail_msg("not found: opened %d, proposed %d, step '%s': %s", last.opened, last.proposed,
                 last.why.step, last.why.text);
    }
    assert_in_range(last.trial, last.opened, 47);
    assert_in_range(last.proposed, last.opened, last.trial);
    assert_in_range(last.round.len, 6, 12);
    assert_string_equal(last.why.step, "");
    assert_in_range(last.round.data[last.round.len - 1].trials, 40, 47);
    vec_free(&last.round);
    arena_free(a);
    for (int i = 0; i < 48; i++)
        free(text[i]);
    for (int i = 0; i < tape.text.len; i++)
        free(tape.text.data[i]);
    vec_free(&tape.text);
    vec_free(&tape.c);
}

static void a_run_is_right_and_can_be_replayed(void **state)
{
    (void)state;
    run_and_replay("evo");
    run_and_replay("ppo");
}

/* The search has each candidate's buffers in two places, the comparison moves them often. */
static void who_is_found_out_in_the_final_does_not_win(void **state)
{
    char path[300];
    struct tune_lines bare = { "session", 0, NULL };
    struct tune_result *r;
    struct err e = {0};
    (void)state;
    miscompiler("moved", "", path, sizeof path);
    struct tune_opts o = {
        .kernels = { .spec = "gmm m=12 k=8 n=32", .n_seeds = 1, .schedule = &bare,
                     .measure = { .seed = 1, .compiler = path }, .seed = 3 },
        .budget = 5, .seed = 3, .ledger = true,
    };
    struct search_sink none = { 0 };
    if (!tune_run(&o, &none, NULL, &r, &e))
        fail_msg("%s", e.text);
    assert_true(r->compared && r->n_finalists >= 2);
    for (int i = 0; i < r->n_finalists; i++) {
        assert_int_equal(r->finalist[i].compared.m.outcome, OUTCOME_WRONG);
        assert_true(r->best != r->finalist[i].c);
    }
    assert_true(!r->measured || r->m.outcome == OUTCOME_OK);
    tune_free(r);
}

int main(void)
{
    setenv("TILESCOPE_CFLAGS", "-O0", 0);  /* what is checked does not depend on gcc's work */
    const char *given = getenv("TS_SEED");
    if (given)
        seed = strtoull(given, NULL, 10);
    printf("# seed %llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_drawn_is_a_program),
        cmocka_unit_test(the_code_ranks_before_anything_is_measured),
        cmocka_unit_test(lowered_and_generated_once),
        cmocka_unit_test(pins_are_in_every_candidate),
        cmocka_unit_test(pins_that_the_session_lacks),
        cmocka_unit_test(a_conversion_is_another_layout),
        cmocka_unit_test(idle_lines_are_left_out),
        cmocka_unit_test(the_same_but_for_names),
        cmocka_unit_test(a_run_is_right_and_can_be_replayed),
        cmocka_unit_test(who_is_found_out_in_the_final_does_not_win),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
