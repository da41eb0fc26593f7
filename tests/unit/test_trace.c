/* The way of each search through made-up landscapes, trial by trial: a search of today must go the
 * way of yesterday's, so that stored runs can be continued. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/tune/strategies.h"
#include "tests/unit/golden.h"
#include "tests/unit/tune_landscape.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* A search: its landscape, and its options. */
struct way { const char *what; bool fixed, model, failures, starts, seeds; struct search_opts o; };

/* Start layouts: one that is no layout, and two others. */
static bool layout_start(void *ctx, int which, int64_t *factor)
{
    (void)ctx;
    for (int i = 0; i < LAND_LAYOUT; i++)
        factor[i] = which == 2 ? 2 : 4;
    return which > 0;
}

/* A trial as its arm, its knobs and its time in microseconds; * is a start point, ? was drawn, !
 * has failed, and = is a seed.  Eight stand in a line, and a stage begins a line. */
static void print_trials(struct str *out, const struct tune_view *v)
{
    int stage = -1, column = 0;
    for (int i = 0; i < v->n_trials; i++) {
        const struct tune_candidate *c = v->trial[i];
        const struct land_point *p = c->point;
        if (c->stage != stage || column == TUNE_TOP) {
            str_printf(out, "\n  %-5s", c->stage != stage ? stage_name[c->stage] : "");
            column = 0;
        }
        stage = c->stage;
        column++;
        str_printf(out, " %d:", c->arm);
        for (int k = 0; p && k < LAND_KNOBS; k++)
            str_printf(out, "%d", p->v[k]);
        if (c->outcome == OUTCOME_OK)
            str_printf(out, "=%.0f", 1000 * c->ms);
        str_printf(out, "%s%s%s%s", c->start ? "*" : "", c->explored ? "?" : "",
                   c->outcome != OUTCOME_OK ? "!" : "", c->seed ? "=" : "");
    }
    str_add(out, "\n");
}

static void print_end(struct str *out, const struct search *s, const struct tune_view *v,
                      enum search_end end)
{
    const struct tune_candidate *best[3];
    int n = search_best(s, best, 3);
    str_printf(out, "  end %d, %d trials, %d layouts tried, %d arms, %lld illegal, %d wrong, "
               "%d crashed; best", (int)end, v->done, v->layouts_tried, v->n_arms,
               (long long)v->illegal, v->failed[OUTCOME_WRONG], v->failed[OUTCOME_CRASH]);
    for (int i = 0; i < n; i++)
        str_printf(out, " %d", best[i]->trial);
    str_printf(out, "; start %.0f\n", isfinite(v->start_ms) ? v->start_ms : -1.0);
    for (int i = 0; i < v->n_arms; i++)
        if (v->arm[i].trials > 0)
            str_printf(out, "  arm %d%s: %d trials, %d ok, best %d\n", i,
                       v->arm[i].seed ? " of a seed" : "", v->arm[i].trials, v->arm[i].ok,
                       v->arm[i].best);
}

static void go(struct str *out, const struct way *w)
{
    static const char *const line[] = { "as it is" }, *const good_line[] = { "a good one" };
    struct landscape *l = xcalloc(1, sizeof *l);
    struct land_point good = {{ 1, 2, 3, 4, 5 }};
    struct tune_seed seeds[] = { { 0, NULL, 0, line }, { 0, &good, 1, good_line } };
    struct err e = {0};
    *l = (struct landscape){ .seed = 5, .values = 8, .extent = 96, .fixed = w->fixed,
                             .model = w->model, .failures = w->failures, .learn_after = 16,
                             .noise = 0.3 };
    for (int k = 0; k < LAND_LAYOUT; k++)
        l->arm[0].factor[k] = 8;
    l->n_arms = w->seeds || w->fixed;
    landscape_open(l);
    l->problem.layout_start = w->starts ? layout_start : NULL;
    l->problem.n_starts = w->starts ? 3 : 0;
    str_printf(out, "%s, %s:", w->o.strategy->name, w->what);
    struct search *s = search_new(&l->problem, &w->o, seeds, w->seeds ? 2 : 0, NULL, NULL);
    enum search_end end = search_run(s, &e);
    const struct tune_view *v = search_view(s);
    print_trials(out, v);
    print_end(out, s, v, end);
    search_free(s);
    free(l);
}

static void every_trial(void **state)
{
    static const struct way ways[] = {
        { "layouts", false, true, true, false, false, { .budget = 160, .seed = 3 } },
        { "start layouts and seeds", false, true, true, true, true, { .budget = 120, .seed = 4 } },
        { "no model", false, false, true, false, false, { .budget = 80, .seed = 5 } },
        { "one layout", true, true, true, false, true, { .budget = 80, .seed = 6 } },
        { "cold, three rounds", false, true, false, true, false,
          { .budget = 120, .seed = 7, .cold = true, .rounds = 3, .prefilter = 3, .epsilon = 0.1 } },
        { "much for layouts", false, true, false, false, false,
          { .budget = 100, .joint = 90, .seed = 8, .epsilon = -1 } },
    };
    struct str out = {0};
    (void)state;
    for (int i = 0; i < strategy_count(); i++) {
        bool slow = streq(strategy_get(i)->name, "ppo") || streq(strategy_get(i)->name, "q");
        for (int k = 0; k < COUNT_OF(ways); k++) {
            struct way w = ways[k];
            w.o.strategy = strategy_get(i);
            if (slow && k != 0 && k != 3)        /* networks take time */
                continue;
            w.o.budget = slow ? 64 + 16 * (k == 0) : w.o.budget;
            go(&out, &w);
        }
    }
    golden_check("tests/golden/search.txt", str_text(&out));
    str_free(&out);
}

/* A run that is extended goes on as if it had had the whole budget from the start. */
static void extended_searches_go_on(void **state)
{
    struct str text[2] = {{0}};
    (void)state;
    for (int parts = 1; parts <= 2; parts++) {
        struct landscape *l = xcalloc(1, sizeof *l);
        struct search_opts o = { .budget = parts == 1 ? 160 : 80, .joint = 48, .seed = 3,
                                 .strategy = &strategy_evo };
        struct err e = {0};
        *l = (struct landscape){ .seed = 5, .values = 8, .extent = 96, .model = true,
                                 .learn_after = 16, .noise = 0.3 };
        landscape_open(l);
        struct search *s = search_new(&l->problem, &o, NULL, 0, NULL, NULL);
        assert_int_equal(search_run(s, &e), SEARCH_BUDGET);
        if (parts == 2) {
            assert_int_equal(search_view(s)->done, 80);
            assert_true(search_extend(s, 160, 0));
            assert_int_equal(search_run(s, &e), SEARCH_BUDGET);
        }
        assert_int_equal(search_view(s)->done, 160);
        print_trials(&text[parts - 1], search_view(s));
        search_free(s);
        free(l);
    }
    assert_string_equal(str_text(&text[0]), str_text(&text[1]));
    for (int i = 0; i < 2; i++)
        str_free(&text[i]);
}

/* Numbers of plan.h by its definitions: three tenths, batches of 8, and layouts of two rounds. */
static void plans_divide_budgets(void **state)
{
    int rest;
    (void)state;
    struct plan p = plan_with(100, 30);
    assert_true(p.total == 100 && p.joint == 30 && p.loops == 70);
    p = plan_with(100, 200);
    assert_true(p.joint == 100 && p.loops == 0);
    p = plan_of(5, false);                /* 1.5 is rounded up */
    assert_true(p.total == 5 && p.joint == 2 && p.loops == 3);
    assert_int_equal(plan_batch(9), 8);
    assert_int_equal(plan_batch(8), 8);
    assert_int_equal(plan_batch(7), 7);
    assert_int_equal(plan_batches(8), 1);
    assert_int_equal(plan_batches(9), 2);
    assert_int_equal(plan_batches(0), 0);
    assert_int_equal(plan_layouts(47, 2, &rest), 2);
    assert_int_equal(rest, 15);
    assert_int_equal(plan_layouts(48, 2, &rest), 3);
    assert_int_equal(rest, 0);
    assert_int_equal(plan_layouts(50, 3, &rest), 2);
    assert_int_equal(rest, 2);
    assert_int_equal(plan_layouts_from(), 159);   /* (3 * 159 + 5) / 10 is 48, for 158 it is 47 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_trial), cmocka_unit_test(extended_searches_go_on),
        cmocka_unit_test(plans_divide_budgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
