/* The tuner's view of made-up searches: what it says, the plot and its dots, sizes, ASCII. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/ui/plot.h"
#include "app/ui/text.h"
#include "app/views/tune_plot.h"
#include "app/views/tune_doc.h"
#include "tests/unit/golden.h"
#include "tests/unit/tune_script.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

enum { SEED = 7 };

/* A pane of that size; the text lives until the next call. */
static const char *pane(const struct tune_view *v, struct tune_look look, bool unicode)
{
    static struct str text;
    struct grid g;
    struct doc d;
    struct scroll at = {0};
    doc_open(&d);
    d.is_list = true;
    grid_open(&g, look.width, look.height, unicode);
    tune_doc_write(&d, v, &look);
    at.cursor = look.selected >= 0 ? doc_find_id(&d, look.selected) : 0;
    doc_draw(&d, &at, &g, (struct rect){ 0, 0, look.width, look.height },
             (struct doc_look){ .focused = true });
    str_clear(&text);
    grid_dump(&g, &text);
    grid_close(&g);
    doc_close(&d);
    return str_text(&text);
}

static void assert_has(const char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("\"%s\" is not in:\n%s", what, text);
}

static void golden_panes(void **state)
{
    (void)state;
    static const struct {
        const char *name; int w, h, n, budget; bool unicode; enum tune_phase phase; int selected;
    } row[] = {
        { "80x20", 80, 20, 184, 1000, true, TUNE_RUNNING, -1 },
        { "wide", 158, 44, 700, 1000, true, TUNE_PAUSED, 42 },
        { "side", 50, 44, 400, 1000, true, TUNE_RUNNING, -1 },
        { "40x8", 40, 8, 184, 1000, true, TUNE_PAUSING, -1 },
        { "ascii", 80, 20, 184, 1000, false, TUNE_RUNNING, -1 },
        { "letters", 80, 24, 64, 64, true, TUNE_ENDED, 3 },
        { "nothing", 80, 20, 0, 1000, true, TUNE_PREPARING, -1 },
        { "first", 80, 20, 1, 1000, true, TUNE_RUNNING, 0 },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct tune_script *s = script_new(SEED, row[i].n, row[i].budget);
        char path[96];
        snprintf(path, sizeof path, "tests/golden/screen/tune-%s.txt", row[i].name);
        struct tune_look look = {
            .phase = row[i].phase, .end = "budget spent", .width = row[i].w, .height = row[i].h,
            .letters = !row[i].unicode || streq(row[i].name, "letters"),
            .selected = row[i].selected,
        };
        golden_check(path, pane(&s->view, look, row[i].unicode));
        script_free(s);
    }
}

/* Whatever the size, every trial has its line, no line of the plot is wider than the pane, and
 * fast ones come before slow ones. */
static void any_size(void **state)
{
    (void)state;
    struct tune_script *s = script_new(SEED, 90, 100);
    for (int w = 20; w <= 170; w += 7)
        for (int h = 1; h <= 50; h += 3) {
            struct tune_look look = {
                .width = w, .height = h, .selected = h, .phase = TUNE_PAUSED,
            };
            struct doc d;
            double last = 0;
            int rows = 0;
            doc_open(&d);
            tune_doc_write(&d, &s->view, &look);
            for (int i = 0; i < d.lines.len; i++) {
                const struct line *l = &d.lines.data[i];
                if (l->id < 0)
                    continue;
                assert_true(s->view.trial[l->id]->ms >= last);
                last = s->view.trial[l->id]->ms;
                rows++;
                assert_int_equal(doc_find_id(&d, l->id), i);
            }
            assert_int_equal(rows, 90);
            assert_int_equal(doc_find_id(&d, 90), -1);
            for (int i = 3; i < d.lines.len && d.lines.data[i].id < 0; i++)
                if (strstr(d.lines.data[i].text, "│"))
                    assert_true(text_width(d.lines.data[i].text) <= w - 2);
            doc_close(&d);
        }
    script_free(s);
}

/* Where there are rows enough, no line above the plot is cut off: it goes on in the next row. */
static void long_lines_go_on(void **state)
{
    (void)state;
    struct tune_script *s = script_new(SEED, 400, 1000);
    s->view.doing = "comparing the best in turns";
    for (int w = 40; w <= 100; w += 5) {
        struct tune_look look = {
            .width = w, .height = 40, .selected = -1, .phase = TUNE_FINISHING,
            .note = "the best is on branch tuned",
        };
        struct str text = {0};
        struct doc d;
        doc_open(&d);
        tune_doc_write(&d, &s->view, &look);
        for (int i = 0; i < d.lines.len && !strstr(d.lines.data[i].text, "│"); i++) {
            assert_true(text_width(d.lines.data[i].text) <= w - 2);
            str_printf(&text, " %s", d.lines.data[i].text + strspn(d.lines.data[i].text, " "));
        }
        assert_has(str_text(&text), "comparing the best in turns");
        assert_has(str_text(&text), "; 44 more refused before compiling");
        assert_has(str_text(&text), "0.81 of loops; 25 episodes");
        str_free(&text);
        doc_close(&d);
    }
    script_free(s);
}

static void families_are_layouts(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct tune_script *s = script_new(SEED, 200, 400);
    struct tune_families f = tune_plot_families(a, &s->view);
    int trials = 0, failed = 0;
    assert_int_equal(f.n, SCRIPT_ARMS - 1);
    assert_int_equal(f.of_arm[2], f.of_arm[6]);
    for (int i = 0; i < f.n; i++) {
        double best = INFINITY;
        for (int t = 0; t < s->view.n_trials; t++)
            if (streq(s->arm[s->view.trial[t]->arm].family, f.family[i].text))
                best = fmin(best, s->view.trial[t]->ms);
        assert_true(best == f.family[i].best_ms);
        assert_true(i == 0 || best >= f.family[i - 1].best_ms);
        trials += f.family[i].trials;
        failed += f.family[i].failed;
    }
    assert_int_equal(trials, 200);
    assert_int_equal(failed, s->view.failed[OUTCOME_WRONG] + s->view.failed[OUTCOME_TIMEOUT] +
                             s->view.failed[OUTCOME_COMPILE]);
    assert_int_equal(tune_plot_letter(0), 'a');
    assert_int_equal(tune_plot_letter(FAMILIES_TOLD_APART), '.');
    assert_int_equal(tune_plot_style(-1), STYLE_DIM);
    script_free(s);
    arena_free(a);
}

/* The letter of every trial's family, or of a better one that hides it, is where the frame of the
 * plot says: decoded from its numbers by hand. */
static void dots_are_where_they_belong(void **state)
{
    (void)state;
    enum { W = 90, H = 30 };
    struct arena *a = arena_new();
    struct tune_script *s = script_new(SEED, 60, 60);
    struct tune_families f = tune_plot_families(a, &s->view);
    struct tune_plot_look look = { .letters = true, .whole = true, .selected = -1 };
    struct canvas c;
    double lo = INFINITY, hi = 0;
    for (int i = 0; i < 60; i++)
        if (s->view.trial[i]->outcome == OUTCOME_OK) {
            lo = fmin(lo, s->view.trial[i]->ms);
            hi = fmax(hi, s->view.trial[i]->ms);
        }
    canvas_open(&c, W, H);
    tune_plot(&c, &s->view, &f, &look);
    for (int i = 0; i < 60; i++) {
        const struct tune_candidate *t = s->view.trial[i];
        bool ok = t->outcome == OUTCOME_OK;
        double part = ok ? log(t->ms / (lo / 1.1)) / log(hi * 1.1 / (lo / 1.1)) : 1;
        int row = (int)lround((1 - part) * (4 * (H - 2) - 1)) / 4;
        int col = (int)lround(12 + i / 59.0 * (2 * (W - 6) - 1)) / 2;
        uint32_t got = c.cell[row * W + col].ch;
        uint32_t want = ok ? (unsigned char)tune_plot_letter(f.of_arm[t->arm]) : 'x';
        bool hidden = (got >= 'a' && got <= 'e' && (got < want || want == '.')) || got == 'x';
        if (got != want && !hidden)
            fail_msg("trial %d: '%c' at %d, %d, not '%c'", i, (int)got, col, row, (int)want);
    }
    canvas_close(&c);
    script_free(s);
    arena_free(a);
}

static void says_what_it_knows(void **state)
{
    (void)state;
    struct tune_script *s = script_new(SEED, 30, 100);
    struct tune_look look = { .width = 100, .height = 40, .selected = -1, .phase = TUNE_RUNNING };
    const char *text = pane(&s->view, look, true);
    assert_has(text, "loops   ███·······");
    assert_has(text, "30 of 100 trials, measuring, 28 s left (stage loops: 0 of 70)");
    assert_has(text, " a   622 µs best of ");      /* numbers of layouts have words */
    assert_has(text, "no forecast to judge yet");
    assert_null(strstr(text, "agents"));
    s->view.accuracy = (struct tune_accuracy){ true, 0.5, 1, 8 };
    s->view.agents = (struct tune_agents){ true, 0.25, 2, 0, 1 };
    look.phase = TUNE_FINISHING;
    s->view.doing = "comparing the best in turns";
    text = pane(&s->view, look, true);
    assert_has(text, "final   ");
    assert_has(text, "comparing the best in turns");
    assert_null(strstr(text, "left"));
    assert_has(text, "50 % of pairs in order, recall at 8 100 %");
    assert_has(text, "entropy 0.25 of layouts, 2.00 of loops; 1 episode\n");
    look.height = 16;
    assert_has(pane(&s->view, look, true), "time    compiling 40 %, measuring 45 %; model: pairs "
               "50 %, recall 100 %\n");
    s->view.accuracy.pair_order = 0.49;
    assert_has(pane(&s->view, look, true), "measuring 45 %; model: no better than chance yet\n");
    look.height = 40;
    assert_has(pane(&s->view, look, true), "model   no better than chance yet\n");
    look.height = 16;
    s->view.accuracy.known = s->view.agents.known = false;
    assert_has(pane(&s->view, look, true), "time    compiling 40 %, measuring 45 %\n");
    struct str out = {0};
    const struct tune_winner none = {0};
    tune_doc_hint(&out, &s->view, &none, 0);
    assert_string_equal(str_text(&out), "trial 1: 5.04 ms, spread 0 %; Enter opens it as "
                        "a branch");
    str_clear(&out);
    tune_doc_hint(&out, &s->view, &none, 30);
    assert_int_equal(out.len, 0);
    tune_doc_status(&out, &s->view, TUNE_PAUSED);
    assert_has(str_text(&out), "paused 30/100, best ");
    str_free(&out);
    script_free(s);
}

/* The number of the line with that text; -1: none has it. */
static int line_with(const char *text, const char *what)
{
    const char *at = strstr(text, what);
    int n = 0;
    for (const char *p = text; at && p < at; p++)
        n += *p == '\n';
    return at ? n : -1;
}

/* After the final the table has the times in turns, the winner first; the times of the search, one
 * sample each, are marked, and a line says what became of their best. */
static void after_the_final(void **state)
{
    (void)state;
    struct tune_script *s = script_new(SEED, 64, 64);
    struct tune_look look = {
        .width = 80, .height = 50, .selected = 55, .phase = TUNE_ENDED, .end = "budget spent",
        .winner = {
            .known = true, .in_turns = true, .ms = 2.01, .speedup = 1.95, .low = 1.9, .high = 2,
            .trial = 55, .n_timed = 4,
            .timed = { { 55, 2.05, 1.95 }, { 0, 4, 1 }, { 16, 4.12, 0.97 }, { 44, NAN, NAN } },
        },
    };
    struct str out = {0};
    assert_int_equal(s->view.best, 16);
    const char *text = pane(&s->view, look, true);
    golden_check("tests/golden/screen/tune-final.txt", text);
    assert_null(strstr(text, "not shown to be faster"));
    assert_has(text, "2.05 ms in turns, 1.95x as fast as the start (1.90 to 2.00), trial 56");
    assert_has(text, "final   trial 17 was faster in the search (1.26 ms), 4.12 ms in turns");
    assert_has(text, "(medians, timed in turns)");
    int at = line_with(text, "   56  2.05 ms    1.95x best ");
    assert_true(at > 0);
    assert_int_equal(line_with(text, "     1  4.00 ms    1.00x start "), at + 1);
    assert_int_equal(line_with(text, "    17  4.12 ms    0.97x final "), at + 2);
    assert_int_equal(line_with(text, "    45        -       -  final "), at + 3);
    assert_int_equal(line_with(text, " ~ one sample each, in the search:"), at + 4);
    assert_true(line_with(text, " ~1.56 ms          loops ") > at + 4);
    tune_doc_hint(&out, &s->view, &look.winner, 16);
    assert_has(str_text(&out), "trial 17: 4.12 ms in turns, 1.26 ms in the search, spread");
    look.winner.timed[2].ms = 2.04;       /* a smaller median is not enough to win */
    look.width = 100;
    text = pane(&s->view, look, true);
    assert_has(text, "(medians, timed in turns; tie: not shown to be faster)");
    assert_true(line_with(text, "    17  2.04 ms    0.97x tie    ") > 0);
    look.width = 80;
    assert_has(pane(&s->view, look, true), "    17  2.04 ms    0.97x tie    ");
    look.winner.timed[2].ms = NAN;
    assert_has(pane(&s->view, look, true), "(1.26 ms) and failed when it was");
    look.winner.is_start = true;
    look.winner.trial = 0;
    assert_null(strstr(pane(&s->view, look, true), "final   "));
    look.winner.n_timed = 0;              /* the records have only the winner's time */
    assert_has(pane(&s->view, look, true), "    17 ~1.26 ms          joint ");
    str_free(&out);
    script_free(s);
}

/* The start's time in the search is one sample; the session may know a better one. */
static void the_start_is_a_sample(void **state)
{
    (void)state;
    struct tune_script *s = script_new(SEED, 64, 64);
    struct tune_look look = { .width = 120, .height = 40, .selected = -1, .phase = TUNE_RUNNING };
    assert_has(pane(&s->view, look, true),
               "about 4.01x as fast as the start (5.04 ms in this search), trial 17");
    look.start_before_ms = 4.7;
    assert_null(strstr(pane(&s->view, look, true), "measured before"));
    look.start_before_ms = 2.56;
    assert_has(pane(&s->view, look, true), "(5.04 ms in this search; measured before: 2.56 ms)");
    script_free(s);
}

static void axes_have_numbers(void **state)
{
    (void)state;
    static const struct plot_axis y[] = {
        { 1, 10, true, "ms" }, { 0.3, 0.4, false, "ms" }, { 0, 7, false, "ms" },
        { 20, 90000, true, "µs" },
    };
    struct str out = {0};
    for (int i = 0; i < COUNT_OF(y); i++) {
        struct canvas c;
        struct plot_area p;
        canvas_open(&c, 50, 9);
        plot_open(&p, &c, (struct plot_axis){ 1, 250 << i, false, "trial" }, y[i]);
        plot_axes(&p);
        assert_int_equal(plot_row(plot_y(&p, y[i].hi)), 0);
        assert_int_equal(plot_row(plot_y(&p, y[i].lo)), p.rows - 1);
        assert_int_equal(plot_col(plot_x(&p, 1)), PLOT_LEFT);
        assert_int_equal(plot_col(plot_x(&p, 250 << i)), 49);
        canvas_print(&c, &out, true);
        canvas_close(&c);
    }
    golden_check("tests/golden/screen/plot-axes.txt", str_text(&out));
    str_free(&out);
}

static void durations(void **state)
{
    (void)state;
    static const struct { double s; const char *text; } row[] = {
        { 0, "0 s" }, { 89.4, "89 s" }, { 89.6, "1:30 min" }, { 338, "5:38 min" },
        { 5399, "89:59 min" }, { 5400, "1:30 h" }, { 7500, "2:05 h" },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str s = {0};
        text_duration(&s, row[i].s);
        assert_string_equal(str_text(&s), row[i].text);
        str_free(&s);
    }
}

/* The title row, and the bottom line of a trial, whatever became of it. */
static void states_in_words(void **state)
{
    (void)state;
    static const struct { enum tune_phase phase; const char *says; } row[] = {
        { TUNE_RUNNING, "joint 30/100" }, { TUNE_PREPARING, "preparing 30/100" },
        { TUNE_PAUSING, "pausing 30/100" }, { TUNE_FINISHING, "final 30/100" },
        { TUNE_STOPPING, "stopping 30/100" }, { TUNE_ENDED, "ended 30/100" },
        { TUNE_LENDING, "waiting 30/100" },
    };
    static const struct { enum outcome outcome; bool replayed, explored; const char *why, *says; }
    trial[] = {
        { OUTCOME_OK, true, true, "", "2.46 ms, spread 3 %, from the records" },
        { OUTCOME_OK, false, true, "", "2.46 ms, spread 3 %, drawn at random" },
        { OUTCOME_WRONG, false, false, "C differs", "wrong result: C differs" },
        { OUTCOME_WRONG, true, false, "", "wrong result, from the records" },
    };
    struct tune_script *s = script_new(SEED, 30, 100);
    struct tune_candidate c = *s->view.trial[3];
    const struct tune_candidate *one[] = { &c };
    struct tune_view v = s->view;
    const struct tune_winner none = {0};
    struct str out = {0}, want = {0};
    v.trial = one;
    v.n_trials = 1;
    v.stage = STAGE_JOINT;
    v.best = -1;
    c.ms = 2.46;
    c.spread = 0.031;
    for (int i = 0; i < COUNT_OF(trial); i++, str_clear(&out), str_clear(&want)) {
        c.outcome = trial[i].outcome;
        c.reason = trial[i].why;
        c.replayed = trial[i].replayed;
        c.explored = trial[i].explored;
        tune_doc_hint(&out, &v, &none, 0);
        str_printf(&want, "trial 1: %s; Enter opens it as a branch", trial[i].says);
        assert_string_equal(str_text(&out), str_text(&want));
    }
    for (int i = 0; i < COUNT_OF(row); i++, str_clear(&out)) {
        tune_doc_status(&out, &v, row[i].phase);
        assert_string_equal(str_text(&out), row[i].says);
    }
    v.best = 0;
    v.best_ms = 2.46;
    snprintf(v.simulated, sizeof v.simulated, "h100");
    tune_doc_status(&out, &v, TUNE_RUNNING);
    assert_string_equal(str_text(&out), "joint 30/100, best 2.46 ms simulated");
    str_free(&out);
    str_free(&want);
    script_free(s);
}

static void limits_and_failures(void **state)
{
    (void)state;
    struct tune_script *s = script_new(SEED, 30, 100);
    struct tune_look look = { .width = 100, .height = 40, .selected = -1, .phase = TUNE_RUNNING };
    s->view.times = (struct tune_times){ 100, 40, 30, 20, 10 };
    s->view.time_limit_s = 300;
    s->view.replayed = 30;
    s->view.best = -1;
    memset(s->view.failed, 0, sizeof s->view.failed);
    const char *text = pane(&s->view, look, true);
    assert_has(text, "30 of 100 trials, reading the stored trials, 28 s left");
    assert_has(text, "best    nothing is right so far\n");
    assert_has(text, "failed  none of 30; 3 more refused before compiling\n");
    assert_has(text, "time    1:40 min of 5:00 min: compiling 40 %, measuring 30, model 20, search "
               "10\n");
    s->view.failed[OUTCOME_WRONG] = 2;
    s->view.failed[OUTCOME_CRASH] = 5;
    s->view.illegal = 0;
    s->view.time_limit_s = 0;
    text = pane(&s->view, look, true);
    assert_has(text, "failed  7 of 30: 5 crash, 2 wrong result\n");
    assert_has(text, "time    1:40 min: compiling 40 %");
    script_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_panes), cmocka_unit_test(any_size),
        cmocka_unit_test(long_lines_go_on),
        cmocka_unit_test(families_are_layouts), cmocka_unit_test(dots_are_where_they_belong),
        cmocka_unit_test(says_what_it_knows), cmocka_unit_test(axes_have_numbers),
        cmocka_unit_test(durations), cmocka_unit_test(after_the_final),
        cmocka_unit_test(the_start_is_a_sample), cmocka_unit_test(states_in_words),
        cmocka_unit_test(limits_and_failures),
    };
    return cmocka_run_group_tests_name("tuneview", tests, NULL, NULL);
}
