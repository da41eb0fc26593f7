/* Steps left out one by one, and the step that a bisection finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "explorer/history/ablation.h"
#include "explorer/history/rebase.h"
#include "kernels/base/arena.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define SPEC "gmm m=128 k=128 n=128"

static const char *const steps[] = {
    "loop split C M 32 4", "loop reorder C M.0 K M.1 N", "loop unroll C M.1",
    "loop vectorize C N",
};

static const struct program *whole(struct arena *a)
{
    const struct program *p;
    struct err e;
    int bad;
    if (!program_replay(a, SPEC, steps, COUNT_OF(steps), &p, &bad, &e))
        fail_msg("%d: %s", bad, e.text);
    return p;
}

static void check_plan(void **state)
{
    static const struct { const char *note; int n_steps; } want[] = {
        { "step 2 is then `loop reorder C K M N`; step 3 is then `loop unroll C M`", 3 },
        { "step 4 is dropped: ", 2 },
        { "", 3 },
        { "", 3 },
    };
    (void)state;
    struct arena *arena = arena_new();
    struct ablation *a;
    struct err e;
    const struct program *bare;
    assert_true(ablation_plan(whole(arena), &a, &e));
    assert_int_equal(a->n, COUNT_OF(want));
    for (int i = 0; i < a->n; i++) {
        assert_int_equal(a->row[i].step, i + 1);
        assert_string_equal(a->row[i].text, steps[i]);
        assert_int_equal(strncmp(a->row[i].note, want[i].note, strlen(want[i].note)), 0);
        assert_int_equal(want[i].note[0] == '\0', a->row[i].note[0] == '\0');
        assert_int_equal(a->row[i].program->n_steps, want[i].n_steps);
    }
    assert_int_equal(a->whole->n_steps, COUNT_OF(steps));
    ablation_free(a);
    assert_true(program_new(arena, SPEC, &bare, &e));
    assert_false(ablation_plan(bare, &a, &e));
    assert_string_equal(e.text, "there is no step to leave out");
    arena_free(arena);
}

static void check_print(void **state)
{
    static const struct { struct ratio r; enum outcome outcome; const char *text; } rows[] = {
        { { 1.32, 1.30, 1.34, 0 }, OUTCOME_OK, "1.32x slower (1.30 to 1.34)" },
        { { 0.5, 0.48, 0.52, 0 }, OUTCOME_OK, "2.00x faster (1.92 to 2.08)" },
        { { 64.49, 47.2, 81.8, 0 }, OUTCOME_OK, "64.5x slower (47.2 to 81.8)" },
        { { 0.001, 0.0005, 0.002, 0 }, OUTCOME_OK, "1000x faster (500 to 2000)" },
        { { 1.0, 0.98, 1.02, 0 }, OUTCOME_OK, "no difference (0.98 to 1.02)" },
        { { 1.0, 0.61, 1.82, 0 }, OUTCOME_OK, "undecided (0.61 to 1.82)" },
        { { 1.0, 0.94, 1.03, 0 }, OUTCOME_OK, "no difference (0.94 to 1.03)" },
        { { 1.04, 0.9996, 1.081, 0 }, OUTCOME_OK, "no difference (0.9996 to 1.0810)" },
        { { 1.0, 1.0, 1.0, 1.0 }, OUTCOME_OK, "no difference (1.00 to 1.00)" },
        { { 0.86, 0.812, 0.904, 1.18 }, OUTCOME_OK, "undecided (0.81 to 0.90)" },
        { { 0.86, 0.812, 0.904, 1.02 }, OUTCOME_OK, "1.16x faster (1.11 to 1.23)" },
        { { 0, 0, 0, 0 }, OUTCOME_TIMEOUT, "timeout" },
        { { 0, 0, 0, 0 }, OUTCOME_OK, "too few samples" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct ablated row = { .result = { .ratio = rows[i].r } };
        struct str out = {0};
        row.result.m.outcome = rows[i].outcome;
        row.result.verdict = rows[i].r.ratio > 0 ? stats_verdict(&rows[i].r) : VERDICT_NONE;
        ablation_print(&out, &row);
        assert_string_equal(str_text(&out), rows[i].text);
        str_free(&out);
    }
    struct ablated row = { .result = { .ratio = { 1, 0.82, 1.31, 0 }, .verdict = VERDICT_SAME },
                           .idle = true };
    struct str out = {0};
    ablation_print(&out, &row);
    assert_string_equal(str_text(&out), "cannot act with one thread");
    str_free(&out);
}

/* A bisection prints which way the step goes only if its best times do not contradict. */
static void check_print_bisection(void **state)
{
    static const struct { struct ratio r; const char *text; } rows[] = {
        { { 0.5, 0.48, 0.52, 0.5 }, "step 7 `unroll` makes it 2.00x faster (1.92 to 2.08)" },
        { { 1.0, 0.998, 1.02, 1.0 }, "step 7 `unroll` changes the time most, but by less than these"
                                    " runs can show (time x 0.998 to 1.020)" },
        { { 0.86, 0.812, 0.904, 1.18 }, "step 7 `unroll` changes the time most, but whether it is "
          "faster is undecided (time x 0.81 to 0.90; the best times say the opposite: 1.18)" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct bisection b = { .step = 7, .text = "unroll", .ratio = rows[i].r };
        struct str out = {0};
        bisect_print(&out, &b);
        assert_string_equal(str_text(&out), rows[i].text);
        str_free(&out);
    }
}

/* Held steps keep their numbers, and are not counted. */
static void check_numbers(void **state)
{
    (void)state;
    struct history *h;
    struct err e;
    assert_true(history_new(SPEC, &h, &e));
    assert_true(history_apply(h, steps[0], &e));
    assert_true(history_apply_held(h, "loop vectorize C Q", NULL, &e));
    assert_true(history_apply(h, steps[1], &e));
    assert_true(history_apply_held(h, "loop vectorize C Q", NULL, &e));
    int state_id = history_current(h)->id;
    assert_int_equal(ablation_step_number(h, state_id, 1), 1);
    assert_int_equal(ablation_step_number(h, state_id, 2), 3);
    history_free(h);
}

/* More rows than one child takes: all have their ratio to the whole schedule. */
static void check_measure(void **state)
{
    (void)state;
    struct measure_opts o = { .time_s = 0.02, .seed = 1 };
    struct arena *arena = arena_new();
    struct ablation *a;
    struct err e;
    const struct program *p = whole(arena);
    for (int i = 0; i < 3; i++)
        if (!program_apply_line(p, "set propagate on", &p, &e))
            fail_msg("%s", e.text);
    assert_true(ablation_plan(p, &a, &e));
    assert_true(a->n + 1 > MEASURE_MAX_COMPARED);
    if (!ablation_measure(a, &o, NULL, NULL, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < a->n; i++) {
        bool dead = str_starts(a->row[i].text, "set propagate");
        assert_true(a->row[i].result.ratio.ratio > 0);
        assert_int_equal(a->row[i].same, dead);
        assert_true(!dead || a->row[i].result.ratio.ratio == 1);
    }
    struct str out = {0};
    ablation_print(&out, &a->row[a->n - 1]);
    assert_string_equal(str_text(&out), "nothing: the same code");
    str_free(&out);
    assert_true(a->row[3].result.ratio.ratio > 1.5);      /* without vectorize */
    assert_int_equal(a->threads, 1);
    for (int i = 0; i < a->n; i++)
        assert_int_equal(a->row[i].idle, str_starts(a->row[i].text, "loop parallel "));
    ablation_free(a);
    arena_free(arena);
}

static void check_bisect(void **state)
{
    (void)state;
    struct measure_opts o = { .time_s = 0.02, .seed = 1 };
    struct arena *arena = arena_new();
    struct bisection b;
    struct err e;
    struct str out = {0};
    const struct program *p = whole(arena);
    if (!bisect_steps(p, 2, 4, &o, NULL, NULL, &b, &e))
        fail_msg("%s", e.text);
    assert_int_equal(b.step, 4);
    assert_int_equal(b.timings, 2);
    bisect_print(&out, &b);
    assert_int_equal(strncmp(str_text(&out), "step 4 `loop vectorize C N` makes it ", 37), 0);
    assert_non_null(strstr(str_text(&out), "x faster ("));
    assert_false(bisect_steps(p, 4, 4, &o, NULL, NULL, &b, &e));
    assert_false(bisect_steps(p, 0, 5, &o, NULL, NULL, &b, &e));
    str_free(&out);
    arena_free(arena);
}

int main(void)
{
    setenv("TILESCOPE_CFLAGS", "-O0", 0);  /* what is checked does not depend on gcc's work */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_plan), cmocka_unit_test(check_numbers),
        cmocka_unit_test(check_print), cmocka_unit_test(check_print_bisection),
        cmocka_unit_test(check_measure), cmocka_unit_test(check_bisect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
