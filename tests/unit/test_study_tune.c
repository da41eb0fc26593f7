/* Variants that the tuner finishes: what they read, ask, report and leave out; on scripted
 * searches. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "kernels/base/file.h"
#include "sessions/tuning/pretrain.h"
#include "sessions/study/study_tune.h"
#include "tests/unit/golden.h"
#include "tests/unit/svg_check.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const char demo[] =
    "study: 1\n"
    "id: demo\n"
    "title: three searches\n"
    "paper: {title: A Paper, item: Figure 9}\n"
    "operator: gmm m={M} k=8 n=16\n"
    "cases:\n"
    "- {id: small, for: {M: 8, kind: low}}\n"
    "- {id: large, for: {M: 32, kind: high}, tune: {budget: 40, seeds: [9]}}\n"
    "- {id: other, for: {M: 16, kind: low}}\n"
    "variants:\n"
    "- {id: plain}\n"
    "- {id: joint, title: jointly, tune: {}}\n"
    "- {id: loops, steps: ['layout set C \"N M\"'],\n"
    "   tune: {strategy: evo, loop_only: true, cold: true, seeds: [5]}}\n"
    "tune: {budget: 80, experts: 0, seeds: [1, 2, 3]}\n"
    "metrics:\n"
    "- {id: best, unit: ms, value: tune.best_ms, base: loops}\n"
    "- {id: half, unit: ms, value: tune.half_ms}\n"
    "findings:\n"
    "- {text: gain, each: loops.best / joint.best, combine: geomean, unit: x, paper: 2, by: kind}\n"
    "- {text: never slower, each: joint.best <= loops.best, by: kind}\n"
    "measure: {meters: clock}\n";

static struct study *must_parse(const char *text)
{
    struct study *s = NULL;
    struct err e = {0};
    if (!study_parse("demo.yaml", text, strlen(text), &s, &e)) {
        struct str out = {0};
        err_print(&out, &e);
        fail_msg("%s", str_text(&out));
    }
    return s;
}

/* --- Reading -------------------------------------------------------------------------------- */

static void clauses_are_joined(void **state)
{
    struct study *s = must_parse(demo);
    (void)state;
    assert_false(study_tune_of(s, 0, 0).on);
    struct study_tune t = study_tune_of(s, 0, 1);
    assert_true(t.on && !t.loop_only && !t.cold && !t.strategy);
    assert_int_equal(t.budget, 80);
    assert_int_equal(t.experts, 0);
    assert_int_equal(t.n_seeds, 3);
    t = study_tune_of(s, 1, 2);
    assert_true(t.on && t.loop_only && t.cold);
    assert_string_equal(t.strategy, "evo");
    assert_int_equal(t.budget, 40);                      /* of the case */
    assert_int_equal(t.n_seeds, 1);
    assert_int_equal(t.seed[0], 9);
    assert_int_equal(study_tune_of(s, 0, 2).seed[0], 5);
    study_free(s);
}

static void try_edit(struct str *out, const char *from, const char *to)
{
    const char *at = strstr(demo, from);
    struct str edited = {0};
    struct study *s;
    struct err e = {0};
    if (!at)
        fail_msg("the study has no \"%s\"", from);
    str_add_n(&edited, demo, (size_t)(at - demo));
    str_add(&edited, to);
    str_add(&edited, at + strlen(from));
    if (study_parse("bad.yaml", str_text(&edited), edited.len, &s, &e)) {
        str_printf(out, "accepted: %s -> %s\n", from, to);
        study_free(s);
    } else {
        err_print(out, &e);
    }
    str_add(out, "\n");
    str_free(&edited);
}

static void nonsense_is_refused_at_its_place(void **state)
{
    static const struct { const char *from, *to; } edits[] = {
        { "strategy: evo", "strategy: eva" }, { "loop_only: true", "loop_only: 3" },
        { "loop_only: true", "loops_only: true" }, { "cold: true", "cold: ice" },
        { "seeds: [5]", "seeds: []" },
        { "seeds: [5]", "seeds: 5" }, { "seeds: [1, 2, 3]", "seeds: [1, 2, 1]" },
        { "budget: 80", "budget: 0" }, { "budget: 80", "budget: many" },
        { "experts: 0", "experts: -1" }, { "experts: 0", "levels: 3" },
        { "tune: {}", "tune: yes" }, { "tune: {}", "tune: {}, search: {a: [1, 2]}" },
        { "{budget: 40,", "{strategy: evo," }, { "tune.best_ms", "tune.bets_ms" },
        { "by: kind}\n- {text: never", "by: kin}\n- {text: never" },
        { "measure: {meters: clock}", "measure: {baselines: onedn}" },
        { "measure: {meters: clock}", "scale: {budgets: 3}" },
    };
    struct str out = {0};
    (void)state;
    for (int i = 0; i < COUNT_OF(edits); i++)
        try_edit(&out, edits[i].from, edits[i].to);
    if (strstr(str_text(&out), "accepted"))
        fail_msg("%s", strstr(str_text(&out), "accepted"));
    golden_check("tests/golden/study-tune-errors.txt", str_text(&out));
    str_free(&out);
}

/* --- Scripted searches ------------------------------------------------------------------------ */

struct script {
    int searches, measured;
    int cancel_at, none_at, lack_at;                     /* search number, from 1; 0: never */
    struct cancel cancel;
    struct tuning_opts last;
    int last_steps;
};

static bool measured_so(void *ctx, const struct program *p, const struct measure_opts *o,
                        const struct cancel *c, struct measurement *m, struct err *e)
{
    (void)c;
    (void)e;
    ((struct script *)ctx)->measured++;
    *m = (struct measurement){ .outcome = OUTCOME_OK, .verified = true, .threads = o->threads,
                               .compiler = "scripted 1.0" };
    m->latency = (struct latency){ .median_ms = 9, .min_ms = 8.0 / (1 + p->n_steps),
                                   .max_ms = 10, .spread = 0.03, .runs = 11 };
    return true;
}

/* 8 ms at once, a quarter of it over the seed after a quarter of the trials, then half of that at
 * the end. */
static bool searched_so(void *ctx, struct arena *a, const char *spec, const char *const *step,
                        int n, const struct tuning_opts *o, const struct search_sink *view,
                        struct cancel *c, struct study_search *out, struct err *e)
{
    static const char *const line[] = { "loop split C N 8", "loop unroll C N.1" };
    struct script *x = ctx;
    double found = 2.0 / (double)o->seed;
    (void)step;
    assert_true(str_starts(spec, "gmm m="));
    assert_non_null(view->view);
    assert_ptr_equal(c, &x->cancel);
    assert_true(o->study && o->seed_given && o->experts == -1);
    x->last = *o;
    x->last_steps = n;
    x->searches++;
    if (x->searches == x->lack_at)
        return err_set(e, ERR_ENV, "no compiler");
    struct study_point point[] = { { 1, 8 }, { o->budget / 4, found }, { o->budget, found / 2 } };
    bool none = x->searches == x->none_at;
    *out = (struct study_search){
        .run = "00112233", .stopped = x->searches == x->cancel_at, .trials = o->budget,
        .failed = none ? o->budget : 2, .start_ms = 8, .seconds = 1.5, .n_curve = none ? 0 : 3,
        .curve = ARENA_DUP(a, point, 3), .n_lines = none ? -1 : 2, .line = line,
    };
    if (out->stopped)
        atomic_store(&x->cancel.raised, 1);
    return true;
}

static struct study_report *run_script(const struct study *s, struct script *x, double scale,
                                       const char *reuse)
{
    struct study_opts o = { .scale = scale, .ctx = x, .measure = measured_so, .tune = searched_so,
                            .date = "2026-01-02T03:04:05Z", .host = "an Abacus", .seed = 1,
                            .reuse_json = reuse };
    struct study_report *r = NULL;
    struct err e = {0};
    if (!study_run(s, &o, NULL, &x->cancel, &r, &e))
        fail_msg("%s", e.text);
    r->seconds = 1.5;
    r->n_meters = 0;
    return r;
}

static void numbers_follow_from_the_curves(void **state)
{
    struct study *s = must_parse(demo);
    struct script x = {0};
    struct study_report *r = run_script(s, &x, 1, NULL);
    struct str out = {0}, json = {0};
    (void)state;
    assert_int_equal(x.searches, 3 + 1 + 1 + 1 + 3 + 1);
    assert_true(isnan(study_cell(r, 0, 0)->value[0]));   /* plain was not tuned */
    double mean = 1 / cbrt(2 * 3);                       /* of 1, 1/2 and 1/3 */
    assert_true(fabs(study_cell(r, 0, 1)->value[0] - mean) < 1e-7);
    assert_true(fabs(study_cell(r, 0, 1)->value[1] - 2 * mean) < 1e-7);
    assert_true(fabs(study_cell(r, 1, 1)->value[0] - 1.0 / 9) < 1e-7);
    assert_true(fabs(study_cell(r, 0, 2)->value[0] - 1.0 / 5) < 1e-7);
    assert_int_equal(study_cell(r, 0, 2)->n_steps, 2);   /* the winner's, not the start's */
    const struct study_result *gain = &r->result[0], *never = &r->result[1];
    assert_int_equal(gain->n_groups, 2);
    assert_string_equal(gain->group[0].value, "low");
    assert_int_equal(gain->group[0].n_cases, 2);
    assert_true(fabs(gain->group[0].number - 0.2 / mean) < 1e-6);
    assert_true(fabs(gain->group[1].number - 1) < 1e-6);
    assert_false(never->holds);
    assert_true(never->group[1].holds && !never->group[0].holds);
    study_text(&out, r);
    golden_check("tests/golden/study-tune.txt", str_text(&out));
    study_json(&json, r);
    struct str masked = {0};                             /* keys hang on the compiler */
    str_add(&masked, str_text(&json));
    for (char *key = masked.data; (key = strstr(key, "\"key\": \"")) != NULL; key += 8)
        memset(key + 8, '0', 16);
    golden_check("tests/golden/study-tune.json", str_text(&masked));
    str_free(&masked);
    study_report_free(r);

    /* The same again from that report: nothing is searched. */
    struct script again = {0};
    r = run_script(s, &again, 1, str_text(&json));
    assert_int_equal(again.searches + again.measured, 0);
    assert_true(fabs(study_cell(r, 0, 1)->value[0] - mean) < 1e-7);
    str_clear(&json);
    study_text(&json, r);
    assert_non_null(strstr(str_text(&json), "auto-tuner: the best so far"));
    study_report_free(r);
    str_free(&out);
    str_free(&json);
    study_free(s);
}

/* The last of the searches is that of loops in the case that is chosen. */
static void scale_shrinks_budgets_and_seeds(void **state)
{
    struct study *s = must_parse(demo);
    struct script x = {0};
    struct study_report *r = run_script(s, &x, 0.1, NULL);
    (void)state;
    assert_int_equal(x.searches, 2);                     /* one case, one seed of each */
    assert_int_equal(x.last.budget, 8);
    assert_true(x.last.loop_only && streq(x.last.strategy, "evo"));
    assert_int_equal(x.last_steps, 1);
    assert_int_equal(x.last.measure.threads, 1);
    assert_true(x.last.cold);
    study_report_free(r);
    study_free(s);
}

static void a_budget_of_the_reader_goes_before_all(void **state)
{
    static const double scale[] = { 1, 0.1 };
    static const int searches[] = { 3 + 1 + 1 + 1 + 3 + 1, 2 };
    struct study *s = must_parse(demo);
    struct err e = {0};
    (void)state;
    for (int i = 0; i < COUNT_OF(scale); i++) {
        struct script x = {0};
        struct study_opts o = { .scale = scale[i], .budget = 33, .ctx = &x, .seed = 1,
                                .measure = measured_so, .tune = searched_so };
        struct study_report *r = NULL;
        if (!study_run(s, &o, NULL, &x.cancel, &r, &e))
            fail_msg("%s", e.text);
        assert_int_equal(x.searches, searches[i]);
        assert_int_equal(x.last.budget, 33);
        study_report_free(r);
    }
    study_free(s);
}

static void what_has_no_result_says_why(void **state)
{
    struct study *s = must_parse(demo);
    struct str out = {0};
    (void)state;
    struct script none = { .none_at = 4 };               /* small, loops: its only search */
    struct study_report *r = run_script(s, &none, 1, NULL);
    assert_int_equal(study_cell(r, 0, 2)->state, CELL_FAILED);
    assert_non_null(strstr(study_cell(r, 0, 2)->reason, "is right"));
    assert_false(r->partial);
    study_report_free(r);

    struct script stop = { .cancel_at = 5 };             /* large, jointly */
    r = run_script(s, &stop, 1, NULL);
    assert_true(r->partial);
    assert_int_equal(study_cell(r, 0, 2)->state, CELL_MEASURED);
    assert_int_equal(study_cell(r, 1, 1)->state, CELL_LEFT);
    assert_int_equal(study_cell(r, 2, 1)->state, CELL_LEFT);
    assert_int_equal(stop.searches, 5);
    study_report_free(r);

    struct script lack = { .lack_at = 5 };
    r = run_script(s, &lack, 1, NULL);                   /* something was measured before */
    assert_int_equal(study_cell(r, 1, 1)->state, CELL_FAILED);
    assert_string_equal(study_cell(r, 1, 1)->reason, "no compiler");
    study_text(&out, r);
    assert_non_null(strstr(str_text(&out), "large, jointly: failed: no compiler"));
    study_report_free(r);
    str_free(&out);
    study_free(s);
}

static void weights_reach_the_search(void **state)
{
    char path[300];
    uint64_t seen = FILE_ANYTHING;
    struct agents *g = agents_new(1, NULL);
    struct str text = {0};
    struct err e;
    (void)state;
    const char *at = strstr(demo, "tune: {}");
    str_add_n(&text, demo, (size_t)(at - demo));
    str_printf(&text, "tune: {weights: nowhere.weights}%s", at + strlen("tune: {}"));
    struct study *s = must_parse(str_text(&text));
    struct script x = {0};
    struct study_report *r = run_script(s, &x, 0.1, NULL);
    assert_int_equal(study_cell(r, 0, 1)->state, CELL_FAILED);
    assert_non_null(strstr(study_cell(r, 0, 1)->reason, "nowhere.weights"));
    assert_int_equal(x.searches, 1);
    study_report_free(r);

    snprintf(path, sizeof path, "%s/w", temp_dir(NULL));
    assert_true(pretrain_weights_write(g, path, &seen, "some operators", &e));
    struct study_opts o = { .scale = 0.1, .ctx = &x, .measure = measured_so, .tune = searched_so,
                            .weights = path };
    assert_true(study_run(s, &o, NULL, &x.cancel, &r, &e));
    assert_int_equal(study_cell(r, 0, 1)->state, CELL_MEASURED);
    assert_non_null(strstr(study_cell(r, 0, 1)->json, "\"trained\":\"some operators\""));
    assert_null(strstr(study_cell(r, 0, 2)->json, "some operators"));
    study_report_free(r);
    study_free(s);
    str_free(&text);
    agents_free(g);
}

/* Stores in *ctx the largest number of steps from which a part is searched. */
static bool part_searched(void *ctx, struct arena *a, const char *spec, const char *const *step,
                          int n, const struct tuning_opts *o, const struct search_sink *view,
                          struct cancel *c, struct study_search *out, struct err *e)
{
    int *most = ctx;
    (void)a, (void)spec, (void)o, (void)view, (void)c, (void)e;
    for (int i = 0; i < n; i++)
        assert_true(str_starts(step[i], "layout set C ")
                    || streq(step[i], "set input_layout given"));
    *most = n > *most ? n : *most;
    *out = (struct study_search){ .run = "" };
    return true;
}

/* With bp, each of 12 products that read Y twice fixes its layout twice.  AddressSanitizer sees
 * whether there is room for all these steps. */
static void many_readers_fix_a_layout(void **state)
{
    enum { READERS = 12 };
    static const char *const step[] = { "set variant bp" };
    struct arena *a = arena_new();
    struct str spec = {0};
    int most = 0;
    struct tuning_opts o = { .budget = 1 };
    struct study_part_search how = { .tune = part_searched, .ctx = &most, .opts = &o,
                                     .n_steps = 1, .step = step };
    struct study_search found;
    struct err e;
    (void)state;
    str_add(&spec, "X = input m=4 k=4; W = const k=4 n=4; Y = matmul(X, W)");
    for (int i = 0; i < READERS; i++)
        str_printf(&spec, "; P%d = matmul(Y, Y)", i);
    if (!study_search_parts(a, str_text(&spec), &how, &found, &e))
        fail_msg("%s", e.text);
    assert_int_equal(most, 2 * READERS);
    str_free(&spec);
    arena_free(a);
}

static void curves_are_drawn(void **state)
{
    struct study *s = must_parse(demo);
    struct script x = {0};
    struct study_report *r = run_script(s, &x, 1, NULL);
    struct str svg = {0}, text = {0};
    struct err e = {0};
    (void)state;
    assert_true(study_curve_chart(&text, r, 0, CHART_SCRIPT, &e));
    golden_check("tests/golden/chart/study-curves.gp", str_text(&text));
    str_free(&text);
    assert_true(study_curve_chart(&svg, r, 0, CHART_SVG, &e));
    svg_check(str_text(&svg));
    assert_non_null(strstr(str_text(&svg), "jointly"));
    assert_null(strstr(str_text(&svg), "plain"));
    study_report_free(r);
    str_free(&svg);
    study_free(s);
}

static void every_key_is_documented(void **state)
{
    static const char *const keys[] = {
        "tune", "strategy", "budget", "loop_only", "cold", "experts", "levels", "seeds", "weights",
        "trained", "eighth_ms", "quarter_ms", "half_ms", "best_ms", "fastest_ms", "slowest_ms",
        "start_ms", "trials", "failed", "seconds", "searches", "seed", "run", "answered", "curve",
        "by", "groups", "baselines",
    };
    struct str schema = {0};
    struct err e;
    char quoted[40];
    (void)state;
    assert_true(file_read("sessions/schema.md", 1 << 20, &schema, &e));
    const char *from = strstr(str_text(&schema), "## `tilescope study --json`");
    const char *to = strstr(str_text(&schema), "## The pretrain file");
    assert_true(from && to && from < to);
    for (int i = 0; i < COUNT_OF(keys); i++) {
        snprintf(quoted, sizeof quoted, "`%s`", keys[i]);
        const char *at = strstr(from, quoted);
        if (!at || at > to)
            fail_msg("the study's part of sessions/schema.md says nothing about %s", quoted);
    }
    str_free(&schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clauses_are_joined),
        cmocka_unit_test(nonsense_is_refused_at_its_place),
        cmocka_unit_test(numbers_follow_from_the_curves),
        cmocka_unit_test(scale_shrinks_budgets_and_seeds),
        cmocka_unit_test(a_budget_of_the_reader_goes_before_all),
        cmocka_unit_test(what_has_no_result_says_why),
        cmocka_unit_test(weights_reach_the_search),
        cmocka_unit_test(many_readers_fix_a_layout),
        cmocka_unit_test(curves_are_drawn),
        cmocka_unit_test(every_key_is_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
