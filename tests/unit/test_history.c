/* The explorer: history against a naive model, branches, the ledger, commands and completion. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "explorer/history/blame.h"
#include "explorer/history/command.h"
#include "kernels/base/rng.h"
#include "kernels/base/vec.h"
#include "tests/unit/history_help.h"
#include "tests/unit/golden.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define GMM "gmm m=32 k=16 n=32"

static uint64_t seed = 1;

static struct history *must_open(const char *spec)
{
    struct history *h = NULL;
    struct err e;
    if (!history_new(spec, &h, &e))
        fail_msg("%s: %s", spec, e.text);
    return h;
}

static void must_run(struct history *h, const char *line)
{
    enum command_effect effect;
    struct err e;
    if (!command_run(h, line, &effect, &e))
        fail_msg("%s: %s", line, e.text);
}

static void measure_as(struct history *h, double min_ms, int64_t misses)
{
    struct measurement m = {
        .outcome = OUTCOME_OK, .latency = { .min_ms = min_ms, .median_ms = min_ms, .runs = 5 },
        .sim = { .available = misses >= 0, .l1_misses = misses },
    };
    history_set_measured(h, history_current(h)->id, &m);
}

/* "main: a b [c] | *x: d": every branch with its steps, undone ones in brackets, * at the current
 * one. Steps are shown by their last word. */
static void show(const struct history *h, struct str *out)
{
    str_clear(out);
    for (int b = 0; b < history_n_branches(h); b++) {
        int n, at;
        const int *path = history_path(h, b, &n, &at);
        str_printf(out, "%s%s%s:", b ? " | " : "", b == history_branch_index(h) ? "*" : "",
                   history_branch(h, b)->name);
        for (int i = 1; i < n; i++) {
            const char *step = history_state(h, path[i])->step, *last = strrchr(step, ' ');
            str_printf(out, i > at ? " [%s]" : " %s", last ? last + 1 : step);
        }
    }
}

/* Each row: lines (";" apart), then what the history looks like.  "!" measures the current state.
 */
static void test_moves(void **state)
{
    (void)state;
    static const struct { const char *lines, *want; } table[] = {
        { "", "*main:" },
        { "loop parallel C M", "*main: M" },
        { "loop parallel C M; undo", "*main: [M]" },
        { "loop parallel C M; undo; redo", "*main: M" },
        { "loop parallel C M; loop unroll C K; undo 2; redo 1", "*main: M [K]" },
        { "loop parallel C M; loop unroll C K; goto 0; goto 2", "*main: M K" },
        { "loop parallel C M; undo; loop unroll C K", "*main: K" },
        { "loop parallel C M; !; undo; loop unroll C K", "*main: K | main~1: M" },
        { "loop parallel C M; !; undo; loop parallel C M", "*main: M" },
        /* a layout step that is inserted ends what was undone, as any other does */
        { "loop split C N 4; loop unroll C K; undo; layout split C N 8", "*main: 8 4" },
        { "loop split C N 4; loop unroll C K; !; undo; layout split C N 8",
          "*main: 8 4 | main~1: 4 K" },
        /* not when the next undo would go to the state after an edit */
        { "loop parallel C M; loop unroll C K; edit 1 loop unroll C N; goto 0; loop unroll C N; "
          "undo", "*main: [N]" },
        { "loop parallel C M; loop unroll C K; !; undo 2; loop parallel C M", "*main: M [K]" },
        { "loop parallel C M; loop unroll C K; !; undo 2; loop unroll C N",
          "*main: N | main~1: M K" },
        { "loop parallel C M; !; undo; loop unroll C K; !; undo; loop unroll C N",
          "*main: N | main~1: M | main~2: K" },
        { "loop parallel C M; !; undo; loop unroll C K; switch main~1; loop unroll C N; !; undo; "
          "loop unroll C K",
          "main: K | *main~1: M K | main~2: M N" },
        { "loop parallel C M; !; branch keep; switch main; undo; loop unroll C K",
          "*main: K | keep: M" },
        { "!; loop parallel C M; undo; loop unroll C K", "*main: K" },
        { "loop parallel C M; loop unroll C K; undo; branch x; loop unroll C N",
          "main: M [K] | *x: M N" },
        { "loop parallel C M; loop unroll C K; goto 1; branch x; loop unroll C N",
          "main: M K | *x: M N" },
        { "loop parallel C M; loop unroll C K; undo; goto 0; goto 1; goto 0; branch x",
          "main: M [K] | *x:" },
        { "loop parallel C M; loop unroll C K; goto 0; redo; branch x", "main: M [K] | *x: M" },
        { "loop parallel C M; goto 0; loop unroll C K; goto 0; branch x", "main: K | *x:" },
        { "loop parallel C M; branch x; switch main; loop unroll C K; switch x",
        "main: M K | *x: M" },
        { "branch x; branch y; switch main; delete x", "*main: | y:" },
        { "branch x; delete main", "*x:" },
        { "branch x; branch xy; branch y; switch main; delete x*", "*main: | y:" },
        { "branch x~1; branch x~2; branch x; switch x~1; delete x~*", "main: | *x~1: | x:" },
        { "branch x; branch y; delete *", "*y:" },
        { "branch x; loop parallel C M; undo; switch main; switch x; redo", "main: | *x: M" },
        { "branch a-b.c_d~9; # comment;  ", "main: | *a-b.c_d~9:" },
        { "branch; branch b3; branch; branch", "main: | b1: | b3: | b2: | *b4:" },
        { "loop parallel C M; loop unroll C K; branch at 1 x; switch main; branch at 0",
          "main: M K | x: M | *b1:" },
        { "branch at", "main: | *at:" },
    };
    struct str got = {0};
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct history *h = must_open(GMM);
        char *lines = xstrdup(table[i].lines), *rest = NULL;
        for (char *line = strtok_r(lines, ";", &rest); line; line = strtok_r(NULL, ";", &rest)) {
            if (strchr(line, '!'))
                measure_as(h, 1, -1);
            else
                must_run(h, line);
        }
        show(h, &got);
        if (!streq(str_text(&got), table[i].want))
            fail_msg("%s\n  gives %s\n  not   %s", table[i].lines, str_text(&got), table[i].want);
        free(lines);
        history_free(h);
    }
    str_free(&got);
}

/* Refusals: what they say, and that nothing changed. */
static void test_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "undo 3", "undo 2", "undo 0", "undo -1", "undo x", "undo 1 2", "undo 99999999999", "redo",
        "goto 5", "goto", "goto -1", "goto one", "branch main", "branch a/b",
        "branch \"\"",
        "branch at 2", "branch at x", "branch at 1 main", "branch at 1 y z",
        "branch this-name-is-much-too-long-to-be-the-name-of-a-branch", "branch a b", "switch",
        "switch mian", "switch nowhere", "delete nowhere", "delete other", "measure now",
        "loop parallel C Q", "loop parallel Q M", "layout splt C M 4",
        "split C M 4",
        "layout set C \"N M", "set propagate maybe", "set output_layout given",
        "set nothing on", "\"", "undo \x01",
    };
    struct history *h = must_open(GMM);
    struct str before = {0}, after = {0}, errors = {0};
    must_run(h, "loop parallel C M");
    must_run(h, "branch other");
    show(h, &before);
    for (int i = 0; i < COUNT_OF(lines); i++) {
        enum command_effect effect = EFFECT_APP;
        int n = history_n_states(h);
        struct err e;
        if (command_run(h, lines[i], &effect, &e))
            fail_msg("\"%s\" is accepted", lines[i]);
        assert_int_equal(effect, EFFECT_APP);
        assert_int_equal(history_n_states(h), n);
        show(h, &after);
        assert_string_equal(str_text(&after), str_text(&before));
        err_print(&errors, &e);
    }
    struct history *one = must_open(GMM);
    enum command_effect effect;
    struct err e;
    for (int n = 1; n <= 9; n++) {                       /* of branches; 8 are listed */
        char line[] = "branch b0";
        assert_false(command_run(one, "switch nowhere", &effect, &e));
        if (n == 1 || n >= 8)
            err_print(&errors, &e);
        line[8] += (char)n;
        must_run(one, line);
    }
    history_free(one);
    golden_check("tests/golden/err/command.txt", str_text(&errors));
    str_free(&before);
    str_free(&after);
    str_free(&errors);
    history_free(h);
}

static void test_undo_of_nothing(void **state)
{
    (void)state;
    struct history *h = must_open(GMM);
    struct err e;
    assert_false(history_undo(h, 1, &e));
    assert_string_equal(e.text, "there is nothing to undo: no step is applied");
    assert_false(history_redo(h, 1, &e));
    assert_false(history_branch_delete(h, "main", &e));
    assert_false(history_branch_delete(h, "ma*", &e));
    assert_string_equal(e.text, "branch \"main\" is the current one and cannot be deleted");
    assert_false(history_branch_delete(h, "main~*", &e));
    assert_string_equal(e.text, "there is no branch \"main~*\"");
    assert_false(history_new("gmm m=32 k=16 n=zero", &h, &e));
    history_free(h);
    history_free(NULL);
}

static void test_effects(void **state)
{
    (void)state;
    static const struct { const char *line; enum command_effect want; } table[] = {
        { "", EFFECT_NONE }, { "  # comment", EFFECT_NONE }, { "\t", EFFECT_NONE },
        { "measure", EFFECT_MEASURE }, { "loop parallel C M", EFFECT_STATE }, { "undo",
        EFFECT_STATE },
        { "redo 1", EFFECT_STATE }, { "branch x", EFFECT_STATE }, { "switch main", EFFECT_STATE },
        { "delete x", EFFECT_STATE }, { "goto 0", EFFECT_STATE }, { "set propagate off",
        EFFECT_STATE },
        { "save x.yaml", EFFECT_APP }, { "quit", EFFECT_APP }, { "branches", EFFECT_APP },
        { "help \"loop split\"", EFFECT_APP },
    };
    struct history *h = must_open(GMM);
    for (int i = 0; i < COUNT_OF(table); i++) {
        enum command_effect effect;
        struct err e;
        if (!command_run(h, table[i].line, &effect, &e))
            fail_msg("%s: %s", table[i].line, e.text);
        if (effect != table[i].want)
            fail_msg("\"%s\" has effect %d, not %d", table[i].line, effect, table[i].want);
    }
    history_free(h);
}

static void test_ledger(void **state)
{
    (void)state;
    struct history *h = must_open(GMM);
    struct ledger_row row[8];
    measure_as(h, 2, 100);
    must_run(h, "loop parallel C M");
    must_run(h, "loop unroll C K");
    measure_as(h, 1, 40);
    must_run(h, "loop vectorize C N");
    measure_as(h, 1.5, -1);
    must_run(h, "undo");
    assert_int_equal(history_ledger(h, row, 8), 4);
    assert_int_equal(history_ledger(h, NULL, 0), 4);
    assert_string_equal(row[0].step, "");
    assert_false(row[0].has_change);
    assert_null(row[1].m);
    assert_false(row[1].has_change);
    assert_true(row[2].has_change && row[2].here && !row[2].ahead);
    assert_true(row[2].change > -0.501 && row[2].change < -0.499);
    assert_true(row[2].has_misses_change);
    assert_int_equal(row[2].misses_change, -60);
    assert_true(row[3].has_change && row[3].ahead && !row[3].here);
    assert_true(row[3].change > 0.499 && row[3].change < 0.501);
    assert_false(row[3].has_misses_change);
    struct measurement wrong = { .outcome = OUTCOME_WRONG, .latency = { .min_ms = 1, .runs = 3 } };
    history_set_measured(h, row[2].state, &wrong);
    history_ledger(h, row, 8);
    assert_false(row[2].has_change);
    assert_true(row[3].change < -0.249 && row[3].change > -0.251);
    history_free(h);
}

/* the naive model: every branch keeps its own full list of steps */

#define MODEL_STEPS 64
struct model_branch { char name[48]; int step[MODEL_STEPS]; int n, at; };
struct model { VEC(struct model_branch) branches; int current; };

static void model_show(const struct model *m, const char *const *steps, struct str *out)
{
    str_clear(out);
    for (int b = 0; b < m->branches.len; b++) {
        const struct model_branch *br = &m->branches.data[b];
        str_printf(out, "%s%s%s:", b ? " | " : "", b == m->current ? "*" : "", br->name);
        for (int i = 0; i < br->n; i++)
            str_printf(out, i >= br->at ? " [%s]" : " %s", strrchr(steps[br->step[i]], ' ') + 1);
    }
}

/* The walk measures nothing: steps that are typed over just go. */
static bool model_move(struct model *m, struct history *h, struct rng *r, int n_names,
    struct err *e)
{
    static const char *const names[] = { "a", "b", "c", "main", "d.e" };
    struct model_branch *br = &m->branches.data[m->current];
    const char *name = names[rng_range(r, 0, n_names - 1)];
    int found = -1, n = (int)rng_range(r, 0, 3);
    for (int b = 0; b < m->branches.len; b++)
        if (streq(m->branches.data[b].name, name))
            found = b;
    switch (rng_range(r, 0, 5)) {
    case 0:
        if (history_undo(h, n, e) != (n >= 1 && n <= br->at))
            return false;
        br->at -= n >= 1 && n <= br->at ? n : 0;
        return true;
    case 1:
        if (history_redo(h, n, e) != (n >= 1 && n <= br->n - br->at))
            return false;
        br->at += n >= 1 && n <= br->n - br->at ? n : 0;
        return true;
    case 2:
        if (history_goto(h, n, e) != (n <= br->n))
            return false;
        br->at = n <= br->n ? n : br->at;
        return true;
    case 3:
        if (history_branch_new(h, name, e) != (found < 0))
            return false;
        if (found < 0) {
            struct model_branch fresh = *br;
            fresh.n = fresh.at;
            snprintf(fresh.name, sizeof fresh.name, "%s", name);
            vec_push(&m->branches, fresh);
            m->current = m->branches.len - 1;
        }
        return true;
    case 4:
        if (history_branch_switch(h, name, e) != (found >= 0))
            return false;
        m->current = found >= 0 ? found : m->current;
        return true;
    default:
        if (history_branch_delete(h, name, e) != (found >= 0 && found != m->current))
            return false;
        if (found >= 0 && found != m->current) {
            memmove(&m->branches.data[found], &m->branches.data[found + 1],
                    sizeof *br * (size_t)(m->branches.len - found - 1));
            m->branches.len--;
            m->current -= m->current > found;
        }
        return true;
    }
}

static void test_random_walk(void **state)
{
    (void)state;
    static const char *const steps[] = {
        "loop parallel C M", "loop unroll C K", "loop vectorize C N", "loop serial C M",
        "loop serial C K",
    };
    struct rng r = rng_seed(seed);
    for (int walk = 0; walk < 20; walk++) {
        struct history *h = must_open(GMM);
        struct model m = {0};
        struct str got = {0}, want = {0};
        vec_push(&m.branches, (struct model_branch){ .name = "main" });
        for (int i = 0; i < 60; i++) {
            struct err e = {0};
            int s = (int)rng_range(&r, 0, COUNT_OF(steps) - 1);
            struct model_branch *br = &m.branches.data[m.current];
            if (rng_range(&r, 0, 1) == 0) {
                if (br->at < MODEL_STEPS && history_apply(h, steps[s], &e)) {
                    bool again = br->at < br->n && br->step[br->at] == s;
                    br->step[br->at++] = s;
                    br->n = again ? br->n : br->at;
                }
            } else if (!model_move(&m, h, &r, 5, &e)) {
                fail_msg("walk %d, move %d: the model disagrees (%s)", walk, i, e.text);
            }
            show(h, &got);
            model_show(&m, steps, &want);
            assert_string_equal(str_text(&got), str_text(&want));
        }
        vec_free(&m.branches);
        str_free(&got);
        str_free(&want);
        history_free(h);
    }
}

/* completion */

static void test_completion(void **state)
{
    (void)state;
    static const struct { const char *line, *want; } table[] = {
        { "", "layout loop algorithm set undo redo goto edit drop move insert branch switch "
              "delete pick measure save quit @0" },
        { "l", "layout loop @0" },
        { "  lo", "loop @2" },
        { "s", "set switch save split serial swizzle stream store_at @0" },
        { "unr", "unroll @0" },
        { "edit 1 unr", "unroll @7" },
        { "layout ", "split reorder fuse unfold fold pad unpad store_at decouple_at set reset @7" },
        { "layout un", "unfold unpad @7" },
        { "layout split ", "Inp_in Inp Ker Conv Bias BiasAdd ReLU @13" },
        { "layout split b", "Bias BiasAdd @13" },
        { "layout split Conv ", "N O H W @18" },
        { "layout split conv ", "N O H W @18" },
        { "layout split Conv H ", "2 4 7 8 14 16 28 56 allow_pad=1 @20" },
        { "layout split Conv H 2", "2 28 @20" },
        { "layout split Conv H 4 ", "2 4 7 14 28 allow_pad=1 @22" },
        { "layout split Conv H 5 ", "allow_pad=1 @22" },
        { "layout split Conv H 4 28 ", "allow_pad=1 @25" },
        { "layout split Conv H 4 allow_pad=1 ", "2 4 7 14 28 @34" },
        { "layout split Conv N ", "allow_pad=1 @20" },
        { "layout split Conv Q ", "allow_pad=1 @20" },
        { "layout reorder Conv O ", "N H W @22" },
        { "layout reorder Conv O H W N ", "@28" },
        { "layout pad Ker I ", "before= after= @17" },
        { "layout pad Ker I a", "after= @17" },
        { "layout pad Ker I after=3 ", "before= @25" },
        { "layout set Conv ", "\"N O H W\" @16" },
        { "layout set Conv \"", "\"N O H W\" @16" },
        { "layout reset Conv ", "@18" },
        { "layout nothing Conv ", "@20" },
        { "layout split Nothing ", "@21" },
        { "loop split ", "Inp Conv BiasAdd ReLU @11" },
        { "loop vectorize Conv ", "N O H W I KH KW @20" },
        { "loop vectorize Conv k", "KH KW @20" },
        { "loop split Conv I ", "2 4 8 @18" },
        { "loop fuse Conv H ", "N O W I KH KW @17" },
        { "loop cache_write Conv ", "at=N at=O at=H at=W at=I at=KH at=KW @22" },
        { "loop cache_write Conv at=k", "at=KH at=KW @22" },
        { "loop cache_write Conv at=N ", "@27" },
        { "loop compute_at ReLU ", "Inp Conv BiasAdd @21" },
        { "loop compute_at ReLU Conv ", "N O H W I KH KW @26" },
        { "loop compute_at ReLU Conv H ", "scope=local scope=shared pad= @28" },
        { "loop cache_read Conv Inp at=H scope=s", "scope=shared @30" },
        { "set ", "propagate output_layout input_layout autovectorize variant "
                  "multiply accuracy @4" },
        { "set multiply ", "f32 tf32 @13" },
        { "loop pipeline Conv O st", "stages= @21" },
        { "set propagate ", "on off @14" },
        { "set output_layout o", "original @18" },
        { "set propagate on ", "@17" },
        { "set accuracy ", "0 1e-6 1e-5 @13" },
        { "algorithm ", "Conv @10" },
        { "algorithm Conv ", "winograd @15" },
        { "algorithm Conv winograd ", "m=2 m=4 @24" },
        { "switch ", "tiled @7" },
        { "switch x", "@7" },
        { "delete t", "tiled @7" },
        { "switch tiled ", "@13" },
        { "goto ", "0 1 @5" },
        { "drop ", "1 @5" },
        { "edit 1 loop unroll Conv K", "KH KW @24" },
        { "insert 1 l", "layout loop @9" },
        { "insert 1 algorithm Conv ", "winograd @24" },
        { "move 1 ", "up down @7" },
        { "undo ", "@5" },
        { "measure ", "@8" },
        { "save ", "@5" },
        { "layout # ", "@9" },
        { "layout set Conv \"N\" ", "@20" },
    };
    static const char *const extra[] = { "save", "quit", NULL };
    struct history *h = must_open("c2d n=2 i=16 h=112 w=56 o=32 k=3 p=1 bias=1 relu=1");
    must_run(h, "branch tiled");
    must_run(h, "switch main");
    must_run(h, "loop parallel Conv N");
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        struct completions c;
        struct str got = {0};
        command_complete(a, h, table[i].line, extra, &c);
        for (int k = 0; k < c.n; k++)
            str_printf(&got, "%s ", c.item[k].word);
        str_printf(&got, "@%d", c.replace_from);
        if (!streq(str_text(&got), table[i].want))
            fail_msg("\"%s\"\n  gives %s\n  not   %s", table[i].line, str_text(&got),
                table[i].want);
        str_free(&got);
        arena_free(a);
    }
    history_free(h);
}

/* What completion offers for a dimension's factors is taken by the step. */
static void test_offered_factors_apply(void **state)
{
    (void)state;
    struct history *h = must_open(GMM);
    struct arena *a = arena_new();
    struct completions c;
    struct err e;
    command_complete(a, h, "loop split C M ", NULL, &c);
    assert_int_equal(c.n, 4);
    for (int i = 0; i < c.n; i++) {
        const char *line = arena_printf(a, "loop split C M %s", c.item[i].word);
        assert_true(history_apply(h, line, &e));
        assert_true(history_undo(h, 1, &e));
    }
    arena_free(a);
    history_free(h);
}

static void test_help(void **state)
{
    (void)state;
    struct str out = {0};
    for (int i = 0; i < command_rows(); i++) {
        struct command_row row = command_row(i);
        str_add(&out, "\n");
        command_row_print(&out, &row);
        str_printf(&out, "  %s", row.help);
    }
    for (int k = 0; k < STEP_KIND_COUNT; k++)
        assert_non_null(strstr(str_text(&out), step_info((enum step_kind)k)->help));
    assert_non_null(strstr(str_text(&out), "\nundo [N] "));
    str_free(&out);
}

/* A loop is what the steps on its parents and on itself made it; steps on other loops are left
 * out. */
static void test_blame(void **state)
{
    (void)state;
    struct str out = {0};
    struct history *h = must_open(GMM);
    must_run(h, "loop split C N 8 4");
    must_run(h, "loop split C M 16");
    must_run(h, "loop split C N.1 2");
    must_run(h, "loop reorder C K N.1.1");
    must_run(h, "loop vectorize C N.1.1");
    must_run(h, "loop unroll C N.1.1");
    history_undo(h, 1, &(struct err){0});
    blame_loop(&out, h, "C", "K");
    str_add_char(&out, '\n');
    blame_loop(&out, h, "C", "m.1");
    str_add_char(&out, '\n');
    blame_loop(&out, h, "C", "N.1.1");
    assert_string_equal(str_text(&out),
        "K of C: step 4 (loop reorder C K N.1.1) moved K\n"
        "m.1 of C: step 2 (loop split C M 16) made M.1\n"
        "N.1.1 of C: step 1 (loop split C N 8 4) made N.1; step 3 (loop split C N.1 2) made "
        "N.1.1; step 4 (loop reorder C K N.1.1) moved N.1.1; step 5 (loop vectorize C N.1.1) set "
        "N.1.1 to vectorize");
    str_free(&out);
    history_free(h);
}

/* The steps that annotated the loops inside are listed; an annotation that was removed is not. */
static void test_blame_inside(void **state)
{
    (void)state;
    struct history *h = history_after(GMM, "loop split C M 4; loop reorder C M.0 K M.1 N; "
                                      "loop unroll C M.1; loop vectorize C N");
    struct str out = {0};
    blame_inside(&out, h, "C", "K");
    assert_string_equal(str_text(&out), "; inside it, step 3 (loop unroll C M.1) set M.1 to unroll"
                        "; step 4 (loop vectorize C N) set N to vectorize"
                        "; step 1 (loop split C M 4) made M.1");
    str_clear(&out);
    blame_inside(&out, h, "C", "N");
    assert_string_equal(str_text(&out), "");
    history_run(h, "loop serial C M.1");
    blame_inside(&out, h, "C", "M.0");
    assert_string_equal(str_text(&out), "; inside it, step 4 (loop vectorize C N) set N to "
                        "vectorize");
    str_free(&out);
    history_free(h);
}

/* So are the steps that put tiles and other stages into the loops of the stage, once each: a step
 * that names the loop itself has been listed before. */
static void test_blame_of_tiles(void **state)
{
    (void)state;
    struct history *h = history_after("C = gmm m=4 k=8 n=8; "
                                      "R = relu(C); S = relu(R); T = relu(S)",
                                      "loop split C N 4; loop cache_write C at=N.0; "
                                      "loop compute_at R C M; loop inline S; loop stream T");
    struct str out = {0};
    blame_inside(&out, h, "C", "K");
    assert_string_equal(str_text(&out), "; in the same stage, step 2 (loop cache_write C at=N.0), "
                                        "step 3 (loop compute_at R C M)");
    str_clear(&out);
    blame_inside(&out, h, "C", "N.0");
    assert_string_equal(str_text(&out), "; in the same stage, step 3 (loop compute_at R C M)");
    str_clear(&out);
    must_run(h, "loop split C N.0 2");                   /* still listed once: it names N.0 */
    blame_loop(&out, h, "C", "N.0.1");
    assert_non_null(strstr(str_text(&out), "step 2 (loop cache_write C at=N.0) uses N.0"));
    str_clear(&out);
    blame_inside(&out, h, "C", "N.0.1");
    assert_string_equal(str_text(&out), "; in the same stage, step 3 (loop compute_at R C M)");
    str_clear(&out);
    blame_inside(&out, h, "T", "M");
    assert_string_equal(str_text(&out), "; in the same stage, step 4 (loop inline S), step 5 "
                                        "(loop stream T)");
    str_free(&out);
    history_free(h);
}

/* A layout step replaces the loops H and KH at once: KH.0 comes from KH, but not from H. */
static void test_blame_of_similar_names(void **state)
{
    (void)state;
    struct str out = {0};
    struct history *h = must_open("x = input h=8 kh=6; y = relu(x)");
    must_run(h, "layout pad y H after=1");
    must_run(h, "layout set y \"H/4 KH/2 4h 2kh\"");
    blame_loop(&out, h, "y", "KH.0");
    assert_string_equal(str_text(&out), "KH.0 of y: step 2 (layout set y \"H/4 KH/2 4h 2kh\") "
                                        "made KH.0");
    str_clear(&out);
    blame_loop(&out, h, "y", "H.0");
    assert_non_null(strstr(str_text(&out), "changed H from 8 to 9 iterations"));
    str_free(&out);
    history_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_undo_of_nothing),
        cmocka_unit_test(test_effects),
        cmocka_unit_test(test_ledger),
        cmocka_unit_test(test_random_walk),
        cmocka_unit_test(test_completion),
        cmocka_unit_test(test_offered_factors_apply),
        cmocka_unit_test(test_blame), cmocka_unit_test(test_blame_inside),
        cmocka_unit_test(test_blame_of_tiles),
        cmocka_unit_test(test_blame_of_similar_names),
        cmocka_unit_test(test_help),
    };
    if (getenv("TS_SEED"))
        seed = strtoull(getenv("TS_SEED"), NULL, 10);
    printf("# TS_SEED=%llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
