/* What is reported of a tuning: gains in words, candidates that were timed in turns, JSON; and to
 * which branch the winner's steps go. */
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/tune/plan.h"
#include "sessions/tuning/network_time.h"
#include "sessions/tuning/network_tuning.h"
#include "sessions/tuning/tuning.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define SPEC "gmm m=8 k=8 n=8"

static void gains_in_words(void **state)
{
    static const struct {
        double speedup, low, high; const char *simulated, *want;
    } row[] = {
        { 1.25, 1.2, 1.3, NULL, ", 1.25x as fast as before (1.20 to 1.30)" },
        { 1.25, 0, 0, NULL, ", about 1.25x as fast as before" },
        { 1.25, 0, 0, "h100", ", 1.25x as fast as before" },
        { 99.5, 0, 0, NULL, ", about 99.50x as fast as before" },
        { 100, 0, 0, NULL, ", about 100x as fast as before" },
        { NAN, 0, 0, NULL, "" }, { INFINITY, 0, 0, NULL, "" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct tuning t = { .speedup = row[i].speedup, .speedup_low = row[i].low,
                            .speedup_high = row[i].high, .simulated = row[i].simulated };
        struct str out = {0};
        tuning_print_speedup(&t, " as before", &out);
        assert_string_equal(str_text(&out), row[i].want);
        str_free(&out);
    }
}

/* --- Timed in turns --------------------------------------------------------------------------- */

/* Five trials: the session, two experts, and two points; the fourth is of the joint stage. */
static const struct tune_candidate candidate[] = {
    { .trial = 0, .ms = 4, .best_ms = 4, .seed = true, .stage = STAGE_SEEDS },
    { .trial = 1, .ms = INFINITY, .best_ms = 4, .seed = true, .stage = STAGE_SEEDS },
    { .trial = 2, .ms = 2, .best_ms = 2, .seed = true, .stage = STAGE_SEEDS },
    { .trial = 3, .ms = 2.5, .best_ms = 2, .stage = STAGE_JOINT },
    { .trial = 4, .ms = 3, .best_ms = 2, .stage = STAGE_LOOPS },
};
static const struct tune_candidate *const trials[] = {
    &candidate[0], &candidate[1], &candidate[2], &candidate[3], &candidate[4],
};

static struct compared timed(double median, double least, double ratio, enum verdict verdict)
{
    struct compared c = { .ratio = { ratio, ratio / 2, 1.5 * ratio, ratio }, .verdict = verdict };
    c.m.outcome = OUTCOME_OK;
    c.m.latency = (struct latency){ .median_ms = median, .min_ms = least, .runs = 3 };
    return c;
}

/* A final of all five, of which the second failed.  The third won, the fourth was faster. */
static struct tune_result *result_of(struct tune_view *v)
{
    static const int order[] = { 0, 2, 3, 4, 1 };
    struct tune_result *r = xcalloc(1, sizeof *r);
    *v = (struct tune_view){ .n_trials = COUNT_OF(trials), .trial = trials, .best = 3,
                             .best_ms = 0.5 };
    r->view = v;
    r->start = trials[0];
    r->best = trials[2];
    r->compared = true;
    r->n_finalists = COUNT_OF(order);
    for (int i = 0; i < COUNT_OF(order); i++)
        r->finalist[i].c = trials[order[i]];
    r->finalist[0].compared = timed(4, 3.5, 0, VERDICT_NONE);
    r->finalist[1].compared = timed(2, 1.5, 0.5, VERDICT_FASTER);
    r->finalist[2].compared = timed(1, 0.5, 0.25, VERDICT_NONE);
    r->finalist[3].compared = timed(4, 3, 1, VERDICT_SAME);
    r->finalist[4].compared.m.outcome = OUTCOME_CRASH;
    return r;
}

static void assert_timed(const struct tune_result *r, const struct tuning_timed *want, int n)
{
    struct tuning_timed got[TUNING_MOST_TIMED];
    assert_int_equal(tuning_timed(r, got), n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(got[i].trial, want[i].trial);
        assert_true(isnan(want[i].ms) ? isnan(got[i].ms) : got[i].ms == want[i].ms);
        assert_true(isnan(want[i].speedup) ? isnan(got[i].speedup)
                                           : got[i].speedup == want[i].speedup);
    }
}

/* The winner first, then by time; of equal times the earlier trial; failures last. */
static void the_winner_is_first(void **state)
{
    static const struct tuning_timed all[] = { { 2, 2, 2 }, { 3, 1, 4 }, { 0, 4, 1 }, { 4, 4, 1 },
                                               { 1, NAN, NAN } };
    static const struct tuning_timed later[] = { { 2, 1.5, 4 }, { 0, 6, 1 } };
    struct tune_view v;
    struct tune_result *r = result_of(&v);
    (void)state;
    assert_timed(r, all, COUNT_OF(all));
    r->compared = false;
    assert_timed(r, NULL, 0);
    r->gained = true;                      /* the start was too slow for the final */
    r->gain[0] = timed(6, 6, 0, VERDICT_NONE);
    r->gain[1] = timed(1.5, 1.5, 0.25, VERDICT_FASTER);
    assert_timed(r, later, COUNT_OF(later));
    assert_int_equal(tuning_trial(r, NULL), -1);
    assert_int_equal(tuning_trial(r, &(struct tune_candidate){ .trial = 0 }), -1);
    assert_int_equal(tuning_trial(r, trials[4]), 4);
    free(r);
}

static void add_ms(struct str *out, double ms)
{
    str_printf(out, "%g ms", ms);
}

static void the_loser_is_named(void **state)
{
    struct tuning_timed list[TUNING_MOST_TIMED];
    struct tune_view v;
    struct tune_result *r = result_of(&v);
    struct str out = {0};
    int n = tuning_timed(r, list);
    (void)state;
    const struct tuning_timed *lost = tuning_lost(list, n, &v);
    assert_ptr_equal(lost, &list[1]);
    tuning_print_lost(&out, lost, &v, add_ms);
    assert_string_equal(str_text(&out), "trial 4 was faster in the search (0.5 ms), 1 ms in turns");
    v.best = 1;
    str_clear(&out);
    tuning_print_lost(&out, tuning_lost(list, n, &v), &v, add_ms);
    assert_string_equal(str_text(&out), "trial 2 was faster in the search (0.5 ms) and failed when "
                                        "it was timed again");
    v.best = 2;                           /* the winner itself */
    assert_null(tuning_lost(list, n, &v));
    v.best = -1;
    assert_null(tuning_lost(list, n, &v));
    str_free(&out);
    free(r);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void assert_json(struct str *text, const char *want)
{
    json_error_t why;
    json_t *root = json_loads(str_text(text), JSON_REJECT_DUPLICATES, &why);
    if (!root)
        fail_msg("%s: %s", why.text, str_text(text));
    char *got = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(6));
    assert_string_equal(got, want);
    free(got);
    json_decref(root);
    str_free(text);
}

static void a_search_as_json(void **state)
{
    static const char *const line[] = { "loop unroll C K" };
    static struct tuning t;
    struct tune_view v;
    struct tune_result *r = result_of(&v);
    struct str out = {0}, want = {0};
    (void)state;
    v.times = (struct tune_times){ 8, 1, 2, 3, 4 };
    v.layouts_tried = 3;
    v.illegal = 4;
    v.accuracy = (struct tune_accuracy){ .known = true, .pair_order = 0.75, .recall8 = 0.5 };
    v.agents = (struct tune_agents){ true, 0.25, 0.5, 0.125, 6 };
    r->final_s = 0.5;
    r->layouts = 8;
    r->points = 16;
    t = (struct tuning){
        .spec = SPEC, .isa = "avx2", .threads = 2, .run = "0123456789abcdef", .strategy = "evo",
        .seed = 7, .budget = 9, .resumed = 3, .records_file = "r.db", .note = "", .result = r,
        .end = SEARCH_TIME, .trials = 5, .replayed = 1, .start_ms = 4, .best_ms = 2,
        .speedup = 2, .speedup_low = 1.5, .speedup_high = 2.5, .n_lines = 1, .line = line,
        .other_contract = "", .measured = true, .gflops = 3, .spread = 0.25,
    };
    t.m.verified = true;
    t.m.peak_fraction = 0.5;
    t.m.baseline[VENDOR_ONEDNN] = (struct baseline){ .available = true, .ratio = 0.25,
                                                     .latency.min_ms = 0.5 };
    snprintf(t.m.baseline[VENDOR_OPENBLAS].reason, sizeof t.m.baseline[0].reason, "none");
    t.failed[OUTCOME_CRASH] = 2;
    tuning_json(&out, &t, "a machine");
    str_printf(&want,
        "{\"format\":1,\"spec\":\"" SPEC "\",\"isa\":\"avx2\",\"objective\":\"measured\","
        "\"gpu\":null,\"run\":\"0123456789abcdef\",\"threads\":2,\"strategy\":\"evo\",\"seed\":7,"
        "\"budget\":9,\"trials\":5,\"replayed\":1,\"answered\":false,\"end\":\"time is up\","
        "\"note\":null,\"resumed\":3,\"start_ms\":4.0,"
        "\"best\":{\"steps\":[\"loop unroll C K\"],\"ms\":2.0,\"is_start\":false,"
        "\"other_contract\":null,\"verified\":true,\"gflops\":3.0,\"peak_fraction\":0.5,"
        "\"spread\":0.25},"
        "\"speedup\":2.0,\"speedup_low\":1.5,\"speedup_high\":2.5,"
        "\"baselines\":{\"onednn\":{\"available\":true,\"min\":0.5,\"ratio\":0.25},"
        "\"openblas\":{\"available\":false,\"reason\":\"none\"}},"
        "\"failures\":{\"crash\":2},\"experts\":2,"
        "\"seconds\":{\"total\":8.5,\"compile\":1.0,\"measure\":2.0,\"model\":3.0,\"search\":4.0,"
        "\"final\":0.5},\"joint_trials\":1,"
        "\"layouts\":{\"size\":8.0,\"tried\":3,\"from\":%d},\"loops\":{\"size\":16.0},"
        "\"illegal\":4,\"model\":{\"pair_order\":0.75,\"recall8\":0.5},"
        "\"agents\":{\"layout_entropy\":0.25,\"loop_entropy\":0.5,\"value_loss\":0.125,"
        "\"episodes\":6},\"curve\":[[1,4.0],[3,2.0]],\"finalists\":["
        "{\"trial\":1,\"start\":true,\"winner\":false,\"search_ms\":4.0,\"ms\":3.5,"
        "\"ratio\":null,\"low\":null,\"high\":null},"
        "{\"trial\":3,\"start\":false,\"winner\":true,\"search_ms\":2.0,\"ms\":1.5,"
        "\"ratio\":0.5,\"low\":0.25,\"high\":0.75},"
        "{\"trial\":4,\"start\":false,\"winner\":false,\"search_ms\":2.5,\"ms\":0.5,"
        "\"ratio\":0.25,\"low\":null,\"high\":null},"
        "{\"trial\":5,\"start\":false,\"winner\":false,\"search_ms\":3.0,\"ms\":3.0,"
        "\"ratio\":1.0,\"low\":0.5,\"high\":1.5},"
        "{\"trial\":2,\"start\":false,\"winner\":false,\"search_ms\":null,\"ms\":null,"
        "\"ratio\":null,\"low\":null,\"high\":null}],"
        "\"machine\":\"a machine\",\"records\":\"r.db\"}", plan_layouts_from());
    assert_json(&out, str_text(&want));
    str_free(&want);
    free(r);
}

/* Nothing was searched and nothing found: null, and not 0. */
static void an_answer_as_json(void **state)
{
    struct tuning t = {
        .spec = SPEC, .isa = "cuda", .threads = 1, .simulated = "h100", .strategy = "random",
        .seed = 1, .budget = 9, .answered = true, .resumed = -1, .end = SEARCH_BUDGET,
        .start_ms = INFINITY, .best_ms = INFINITY, .speedup = NAN, .spread = NAN,
        .note = "layouts stay", .trials = 9,
    };
    struct str out = {0};
    (void)state;
    t.m.baseline[VENDOR_ONEDNN].available = true;        /* t.m is of no measurement */
    tuning_json(&out, &t, NULL);
    assert_json(&out,
        "{\"format\":1,\"spec\":\"" SPEC "\",\"isa\":\"cuda\",\"objective\":\"simulated\","
        "\"gpu\":\"h100\",\"run\":\"\",\"threads\":1,\"strategy\":\"random\",\"seed\":1,"
        "\"budget\":9,\"trials\":9,\"replayed\":0,\"answered\":true,\"end\":\"budget spent\","
        "\"note\":\"layouts stay\",\"resumed\":null,\"start_ms\":null,\"best\":null,"
        "\"speedup\":null,\"speedup_low\":null,\"speedup_high\":null,\"baselines\":{},"
        "\"failures\":{},\"experts\":null,\"machine\":null,\"records\":null}");
}

/* --- The session ------------------------------------------------------------------------------ */

static struct session *session_with(const char *step)
{
    struct session *s = NULL;
    struct err e;
    assert_true(session_new(SPEC, &s, &e));
    if (step)
        assert_true(history_apply(s->history, step, &e));
    s->dirty = false;
    return s;
}

static const char *branch_of(const struct session *s)
{
    return history_branch(s->history, history_branch_index(s->history))->name;
}

static void apply(const struct tuning *t, struct session *s, bool here)
{
    struct err e = {0};
    if (!tuning_apply(t, s, here, &e))
        fail_msg("%s", e.text);
    assert_true(s->dirty);
}

/* Into a branch without steps, else into a new one; where a branch has the steps, it is used. */
static void the_winner_gets_a_branch(void **state)
{
    static const char *const a[] = { "loop reorder C M K N", "loop vectorize C N" };
    static const char *const b[] = { "loop parallel C M" };
    static const struct {
        const char *step; bool here; const char *branch; int n;
    } row[] = {
        { NULL, true, "main", 1 }, { NULL, false, "tuned", 2 },
        { "loop split C M 2 4", true, "tuned", 2 }, { "loop split C M 2 4", false, "tuned", 2 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct session *s = session_with(row[i].step);
        struct tuning t = { .n_lines = 2, .line = a };
        apply(&t, s, row[i].here);
        assert_string_equal(branch_of(s), row[i].branch);
        assert_int_equal(history_n_branches(s->history), row[i].n);
        assert_int_equal(history_current(s->history)->program->n_steps, 2);
        apply(&t, s, false);              /* the branch that has the steps */
        assert_string_equal(branch_of(s), row[i].branch);
        assert_int_equal(history_n_branches(s->history), row[i].n);
        t.n_lines = 1;
        t.line = b;
        apply(&t, s, true);
        assert_string_equal(branch_of(s), row[i].n == 1 ? "tuned" : "tuned2");
        assert_int_equal(history_n_branches(s->history), row[i].n + 1);
        assert_int_equal(history_current(s->history)->program->n_steps, 1);
        session_free(s);
    }
}

/* The ledger's measurements go to the states before the winner, its own to the last one; wrong ones
 * go nowhere. */
static void the_winner_brings_its_numbers(void **state)
{
    static const char *const line[] = { "loop reorder C M K N", "loop vectorize C N",
                                        "loop parallel C M" };
    static struct measurement ledger[3];
    static struct tuning t;
    struct session *s = session_with(NULL);
    int n, at;
    (void)state;
    for (int i = 0; i < 3; i++) {
        ledger[i].outcome = i == 1 ? OUTCOME_WRONG : OUTCOME_OK;
        ledger[i].verified = i != 1;
        ledger[i].latency = (struct latency){ .median_ms = 2, .min_ms = 2, .runs = 3 };
    }
    t = (struct tuning){ .n_lines = 3, .line = line, .ledger = ledger, .measured = true };
    t.m = ledger[0];
    apply(&t, s, true);
    const int *path = history_path(s->history, history_branch_index(s->history), &n, &at);
    assert_true(n == 4 && at == 3);
    for (int i = 0; i < n; i++)
        assert_int_equal(history_state(s->history, path[i])->measured != NULL, i != 1);
    session_free(s);
}

/* If the session itself won, it gets a measurement and no step.  If the operator without steps won,
 * the steps are undone here, and stay elsewhere. */
static void the_session_or_the_operator_wins(void **state)
{
    static const struct { bool is_start, here; int steps; bool root; } row[] = {
        { true, true, 1, false }, { true, false, 1, false },
        { false, true, 0, true }, { false, false, 1, true },
    };
    static struct tuning t;
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct session *s = session_with("loop parallel C M");
        t = (struct tuning){ .is_start = row[i].is_start, .measured = true };
        t.m.outcome = OUTCOME_OK;
        t.m.verified = true;
        t.m.latency = (struct latency){ .median_ms = 2, .min_ms = 2, .runs = 3 };
        apply(&t, s, row[i].here);
        assert_int_equal(history_n_branches(s->history), 1);
        assert_int_equal(history_current(s->history)->program->n_steps, row[i].steps);
        assert_int_equal(history_state(s->history, 0)->measured != NULL, row[i].root);
        session_free(s);
    }
}

/* --- Networks --------------------------------------------------------------------------------- */

static void variants_have_names(void **state)
{
    static const struct { const char *name; enum network_variant want; } row[] = {
        { "packed", NETWORK_PACKED }, { "alt", NETWORK_ALT }, { "wp", NETWORK_WP },
        { "ol", NETWORK_OL }, { "loops", NETWORK_LOOPS },
    };
    enum network_variant got;
    struct err e = {0};
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        assert_true(network_variant_find(row[i].name, &got, &e));
        assert_int_equal(got, row[i].want);
    }
    assert_false(network_variant_find("nhwc", &got, &e));
    assert_string_equal(e.text, "there is no variant \"nhwc\"");
    assert_string_equal(e.fix, "packed, alt, wp, ol or loops");
}

/* The end: twice as many measurements as turns to find the faster kernels, then as many again, one
 * of which is checked; and two compilations, or two measurements if these take longer. */
static void the_end_has_its_time(void **state)
{
    struct network_costs c = { .limit_s = 1000, .spent_s = 10, .plain_s = 1, .checked_s = 5,
                               .build_s = 2, .n_kernels = 10 };
    (void)state;
    assert_true(network_time_end(&c, 1) == 3 * 1 + 5 + 2 * 2);
    assert_true(network_time_end(&c, 3) == 11 * 1 + 5 + 2 * 2);
    c.build_s = 0.5;
    assert_true(network_time_end(&c, 1) == 3 * 1 + 5 + 2 * 1);
    c.build_s = 2;
    struct network_time t = network_time_of(&c);
    assert_int_equal(t.turns, 3);
    assert_true(t.compare_s == 2);                       /* at most 2 s a final */
    assert_true(fabs(t.finals_s - 100) < 1e-9);          /* a tenth of the limit */
    assert_true(fabs(t.search_s - (1000 - 10 - 100 - 20)) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gains_in_words), cmocka_unit_test(the_winner_is_first),
        cmocka_unit_test(the_loser_is_named), cmocka_unit_test(a_search_as_json),
        cmocka_unit_test(an_answer_as_json), cmocka_unit_test(the_winner_gets_a_branch),
        cmocka_unit_test(the_winner_brings_its_numbers),
        cmocka_unit_test(the_session_or_the_operator_wins),
        cmocka_unit_test(variants_have_names), cmocka_unit_test(the_end_has_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
