/* The tree of states: names and saved places of branches, and which measurement a state has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include "explorer/history/rebase.h"
#include "tests/unit/history_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define FORTY "abcdefghijklmnopqrstuvwxyz0123456789_.-Z"

static struct measurement timed(double ms, const char *isa, const char *compiler, int threads)
{
    struct measurement m = { .outcome = OUTCOME_OK, .threads = threads,
                             .latency = { .min_ms = ms, .median_ms = ms, .runs = 5 } };
    strcpy(m.isa, isa);
    strcpy(m.compiler, compiler);
    return m;
}

static void measure(struct history *h, double ms)
{
    struct measurement m = timed(ms, "avx2", "gcc", 1);
    history_set_measured(h, history_current(h)->id, &m);
}

static double ms_of(const struct history *h, int state)
{
    return history_state(h, state)->measured->latency.min_ms;
}

/* A name has at most 40 letters; an automatic one is cut so that its number fits into them. */
static void names_have_forty_letters(void **state)
{
    (void)state;
    struct history *h = history_after("gmm m=32 k=16 n=32", "");
    struct err e;
    assert_int_equal(strlen(FORTY), 40);
    assert_false(history_branch_new(h, FORTY "a", &e));
    assert_string_equal(e.text, "\"" FORTY "a\" is not a legal name for a branch");
    assert_false(history_branch_new(h, "a:b", &e));
    assert_int_equal(history_n_branches(h), 1);
    assert_true(history_branch_new(h, FORTY, &e));
    for (int i = 0; i < 11; i++) {
        char pad[40];                     /* another one each time: twins are not kept */
        snprintf(pad, sizeof pad, "layout pad C N after=%d", i + 1);
        history_run(h, pad);
        measure(h, 1);
        assert_true(history_undo(h, 1, &e));
    }
    assert_int_equal(history_n_branches(h), 2 + 10);
    assert_string_equal(history_branch(h, 2)->name, "abcdefghijklmnopqrstuvwxyz0123456789_.~1");
    assert_string_equal(history_branch(h, 10)->name, "abcdefghijklmnopqrstuvwxyz0123456789_.~9");
    assert_string_equal(history_branch(h, 11)->name, "abcdefghijklmnopqrstuvwxyz0123456789_~10");
    assert_int_equal(history_branch_find(h, FORTY, &e), 1);
    assert_int_equal(history_branch_find(h, "zebra", &e), -1);
    assert_string_equal(e.text, "there is no branch \"zebra\"");
    history_free(h);
}

/* The fix depends on whether there is another branch. */
static void the_current_branch_stays(void **state)
{
    (void)state;
    struct history *h = history_after("gmm m=32 k=16 n=32", "");
    struct err e;
    assert_false(history_branch_delete(h, "main", &e));
    assert_string_equal(e.fix, "it is the only branch; `goto 0` goes back to its start");
    history_run(h, "branch x");
    assert_false(history_branch_delete(h, "x", &e));
    assert_string_equal(e.fix, "switch to another branch first");
    history_free(h);
}

/* Saved: the same branches at the same states.  One more undone step without a measurement does
 * not count. */
static void changes_are_not_saved(void **state)
{
    static const struct { const char *lines; bool saved; } table[] = {
        { "undo; redo", true }, { "undo", false }, { "loop unroll C K", false },
        { "loop unroll C K; undo", true }, { "loop unroll C K; loop vectorize C N; undo 2", false },
        { "branch y", false }, { "switch main", false }, { "switch main; switch x", true },
        { "switch main; undo; switch x", false }, { "delete main", false },
        { "delete main; branch main", false },
        { "switch main; delete x; branch x", true }, { "switch main; delete x; branch y", false },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct history *h = history_after("gmm m=32 k=16 n=32", "");
        assert_false(history_is_saved(h));
        history_run(h, "loop parallel C M; branch x");
        history_saved(h);
        assert_true(history_is_saved(h));
        history_run(h, table[i].lines);
        if (history_is_saved(h) != table[i].saved)
            fail_msg("%s: saved is %d", table[i].lines, !table[i].saved);
        history_free(h);
    }
    struct history *h = history_after("gmm m=32 k=16 n=32", "");
    struct measurement m = timed(1, "", "", 1);
    history_saved(h);
    history_run(h, "loop parallel C M; undo");
    assert_true(history_is_saved(h));
    history_set_measured(h, 1, &m);
    assert_false(history_is_saved(h));
    history_forget_measured(h, 1);
    assert_null(history_state(h, 1)->measured);
    assert_true(history_is_saved(h));
    history_free(h);
}

/* Of several branches with the same steps, the current one; else the first. */
static void branches_are_found_by_their_steps(void **state)
{
    static const char *const steps[] = { "loop parallel C M", "loop unroll C K" };
    (void)state;
    struct history *h = history_after("gmm m=32 k=16 n=32", "");
    history_run(h, "loop parallel C M; branch a; branch b");
    assert_int_equal(history_branch_with(h, steps, 1), 2);
    history_run(h, "switch a");
    assert_int_equal(history_branch_with(h, steps, 1), 1);
    history_run(h, "branch c; loop unroll C K");
    assert_int_equal(history_branch_with(h, steps, 1), 0);
    assert_int_equal(history_branch_with(h, steps, 2), 3);
    assert_int_equal(history_branch_with(h, steps + 1, 1), -1);
    assert_int_equal(history_branch_with(h, steps, 0), -1);
    history_run(h, "undo 2");                /* the tip counts */
    assert_int_equal(history_branch_with(h, steps, 2), 3);
    assert_int_equal(history_position(h), 0);
    history_run(h, "redo 2");
    assert_int_equal(history_position(h), 2);
    history_free(h);
}

static void states_lead_to_their_children(void **state)
{
    (void)state;
    struct history *h = history_after("gmm m=32 k=16 n=32", "");
    history_run(h, "loop parallel C M; loop unroll C K; branch x; undo; loop unroll C N");
    assert_int_equal(history_n_states(h), 4);    /* 0 - 1 - 2, and 3 after 1 */
    assert_true(history_leads(h, 0, 3) && history_leads(h, 1, 3) && history_leads(h, 3, 3));
    assert_false(history_leads(h, 2, 3));
    assert_false(history_leads(h, 3, 2));
    assert_int_equal(history_state(h, 3)->parent, 1);
    history_free(h);
}

/* Of older states with the same steps, a replayed one has the measurement of the newest. */
static void the_newest_measurement_is_recalled(void **state)
{
    (void)state;
    struct history *h = history_after("gmm m=32 k=16 n=32", "");
    history_run(h, "loop unroll C K");
    measure(h, 1);
    history_run(h, "undo; loop unroll C K");
    measure(h, 2);
    history_run(h, "insert 1 loop parallel C M");
    assert_null(history_current(h)->measured);
    history_run(h, "drop 1");
    assert_string_equal(history_current(h)->step, "loop unroll C K");
    assert_non_null(history_current(h)->measured);
    assert_true(history_current(h)->measured->latency.min_ms == 2);
    history_free(h);
}

/* The history keeps its own copy of the detail. */
static void details_are_copied(void **state)
{
    static struct sim_detail one, two;
    (void)state;
    struct history *h = history_after("gmm m=32 k=16 n=32", "");
    struct measurement m = timed(1, "", "", 1);
    one.n_sets = 64;
    two.n_sets = 32;
    m.sim.detail = &one;
    history_set_measured(h, 0, &m);
    const struct measurement *got = history_current(h)->measured;
    assert_ptr_not_equal(got->sim.detail, &one);
    assert_int_equal(got->sim.detail->n_sets, 64);
    one.n_sets = 1;
    assert_int_equal(got->sim.detail->n_sets, 64);
    m.sim.detail = &two;
    history_set_measured(h, 0, &m);
    got = history_current(h)->measured;
    assert_ptr_not_equal(got->sim.detail, &two);
    assert_int_equal(got->sim.detail->n_sets, 32);
    m = *got;                             /* which points to the copy */
    history_set_measured(h, 0, &m);
    assert_int_equal(history_current(h)->measured->sim.detail->n_sets, 32);
    m.sim.detail = NULL;
    history_set_measured(h, 0, &m);
    assert_null(history_current(h)->measured->sim.detail);
    history_free(h);
}

/* A state keeps what was measured in other ways, and shows the one that is preferred. */
static void older_measurements_come_back(void **state)
{
    (void)state;
    struct history *h = history_after("gmm m=32 k=16 n=32", "");
    struct measurement wide = timed(3, "avx512", "gcc", 0), narrow = timed(5, "avx2", "clang", 2);
    struct measurement clang = timed(4, "avx512", "clang", 1);
    assert_false(history_add_measured(h, 0, &wide, false));
    assert_false(history_add_measured(h, 0, &narrow, false));
    assert_false(history_add_measured(h, 0, &clang, false));
    assert_true(ms_of(h, 0) == 4);
    history_prefer(h, 0, "avx512", "", 1);               /* it is one of these already */
    assert_true(ms_of(h, 0) == 4);
    history_prefer(h, 0, "avx512", "gcc", 1);            /* 0 threads are 1 */
    assert_true(ms_of(h, 0) == 3);
    history_prefer(h, 0, "avx2", "clang", 1);            /* not with one thread */
    history_prefer(h, 0, "avx2", "gcc", 2);
    history_prefer(h, 0, "avx", "", 2);
    assert_true(ms_of(h, 0) == 3);
    history_prefer(h, 0, "avx2", "clang", 2);
    assert_true(ms_of(h, 0) == 5);
    history_prefer(h, 0, "avx512", "clang", 1);
    assert_true(ms_of(h, 0) == 4);
    history_run(h, "loop parallel C M");     /* another state has others */
    narrow.latency.min_ms = 7;
    wide.latency.min_ms = 9;
    assert_false(history_add_measured(h, 1, &narrow, false));
    history_prefer(h, 1, "avx512", "", 1);
    assert_true(ms_of(h, 1) == 7);
    assert_false(history_add_measured(h, 1, &wide, false));
    assert_true(ms_of(h, 1) == 9);
    narrow.latency.min_ms = 8;            /* slower than its own 7, not than the 5 of state 0 */
    assert_true(history_add_measured(h, 1, &narrow, false));
    assert_true(ms_of(h, 1) == 7);
    history_free(h);
}

/* Without a time, a measurement of the same isa replaces a time only if it is wanted or failed. */
static void times_are_not_lost(void **state)
{
    (void)state;
    struct history *h = history_after("gmm m=32 k=16 n=32", "");
    struct measurement m = timed(3, "avx2", "gcc", 1), other = m;
    strcpy(other.code, "new");
    other.latency = (struct latency){0};
    history_add_measured(h, 0, &m, false);
    assert_false(history_add_measured(h, 0, &other, false));
    assert_true(ms_of(h, 0) == 3);
    assert_false(history_add_measured(h, 0, &other, true));
    assert_int_equal(history_state(h, 0)->measured->latency.runs, 0);
    history_prefer(h, 0, "avx2", "gcc", 1);
    assert_true(ms_of(h, 0) == 3);
    other.outcome = OUTCOME_CRASH;
    strcpy(other.code, "newer");
    assert_false(history_add_measured(h, 0, &other, false));
    assert_int_equal(history_state(h, 0)->measured->outcome, OUTCOME_CRASH);
    m.latency.min_ms = 2;                 /* the way of the first: it has two measurements now */
    assert_false(history_add_measured(h, 0, &m, false));
    assert_true(ms_of(h, 0) == 2);
    assert_int_equal(history_state(h, 0)->measured->measurements, 2);
    history_free(h);
}

/* Only times made in the same way are compared, and only misses of the same L1. */
static void changes_are_of_one_way(void **state)
{
    (void)state;
    struct history *h = history_after("gmm m=32 k=16 n=32", "");
    struct ledger_row row[4];
    struct measurement m = timed(2, "avx2", "gcc", 1);
    struct err e;
    m.sim.available = true;
    m.sim.l1_misses = 100;
    assert_true(cache_config_parse("4K/4/64", &m.sim.cache, &e));
    history_set_measured(h, 0, &m);
    history_run(h, "loop unroll C K");
    struct measurement wide = timed(1, "avx512", "gcc", 1);
    history_set_measured(h, 1, &wide);
    history_run(h, "loop parallel C M");
    m.latency.min_ms = 3;
    m.sim.l1_misses = 130;
    history_set_measured(h, 2, &m);
    history_run(h, "loop vectorize C N");
    m.latency.min_ms = 6;
    assert_true(cache_config_parse("8K/4/64", &m.sim.cache, &e));
    history_set_measured(h, 3, &m);
    assert_int_equal(history_ledger(h, row, 4), 4);
    assert_false(row[1].has_change);
    assert_true(row[2].has_change && row[2].change == 0.5);
    assert_true(row[2].has_misses_change && row[2].misses_change == 30);
    assert_true(row[3].has_change && row[3].change == 1);
    assert_false(row[3].has_misses_change);
    m.latency.runs = 0;                   /* it was not timed */
    history_set_measured(h, 2, &m);
    row[3].state = 77;
    assert_int_equal(history_ledger(h, row, 3), 4);
    assert_false(row[2].has_change);
    assert_int_equal(row[3].state, 77);   /* there was room for three */
    history_ledger(h, row, 4);
    assert_true(row[3].change == 2);      /* 6 instead of 2 */
    m.latency = (struct latency){ .min_ms = 0, .runs = 5 };
    history_set_measured(h, 0, &m);
    history_ledger(h, row, 4);
    assert_false(row[3].has_change);
    history_free(h);
}

static void annotations_are_read(void **state)
{
    static const struct { const char *step, *want; } table[] = {
        { "loop vectorize C N.1", "vectorize C N.1" }, { "loop unroll C K", "unroll C K" },
        { "loop parallel C M", "parallel C M" }, { "loop serial C M", NULL },
        { "loop split C M", NULL }, { "loop unroll C", NULL }, { "loop unroll C K N", NULL },
        { "layout unroll C K", NULL }, { "", NULL },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        char verb[16], stage[64], loop[64];
        struct str got = {0};
        bool is = history_annotation(table[i].step, verb, stage, loop);
        assert_int_equal(is, table[i].want != NULL);
        if (is)
            str_printf(&got, "%s %s %s", verb, stage, loop);
        assert_string_equal(str_text(&got), is ? table[i].want : "");
        str_free(&got);
    }
}

/* The last annotation of a loop counts; undone and held steps do not. */
static void replaced_annotations_are_known(void **state)
{
    (void)state;
    struct history *h = history_after("gmm m=32 k=16 n=32", "");
    struct err e;
    history_run(h, "loop unroll C N; loop unroll C K; loop unroll c n; loop vectorize C N;"
                "loop parallel C M; loop unroll C N");
    static const int want[] = { 0, 0, 0, 4, 6, 0, 0 };
    for (int i = 0; i < COUNT_OF(want); i++)
        assert_int_equal(history_replaced_by(h, i), want[i]);
    history_run(h, "undo");
    assert_int_equal(history_replaced_by(h, 4), 0);
    assert_int_equal(history_replaced_by(h, 3), 4);
    history_free(h);
    h = history_after("gmm m=32 k=16 n=32", "");
    history_run(h, "loop unroll C N");
    assert_true(history_apply_held(h, "loop vectorize C N", NULL, &e));
    assert_non_null(history_current(h)->held);           /* K runs inside of N */
    assert_true(history_apply(h, "loop unroll C N", &e));
    assert_int_equal(history_replaced_by(h, 1), 0);
    assert_int_equal(history_replaced_by(h, 2), 0);
    history_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_forty_letters), cmocka_unit_test(the_current_branch_stays),
        cmocka_unit_test(changes_are_not_saved),
        cmocka_unit_test(branches_are_found_by_their_steps),
        cmocka_unit_test(states_lead_to_their_children),
        cmocka_unit_test(the_newest_measurement_is_recalled),
        cmocka_unit_test(details_are_copied), cmocka_unit_test(older_measurements_come_back),
        cmocka_unit_test(times_are_not_lost), cmocka_unit_test(changes_are_of_one_way),
        cmocka_unit_test(annotations_are_read),
        cmocka_unit_test(replaced_annotations_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
