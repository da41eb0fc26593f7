#include "app/views/tune_doc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/ui/text.h"
#include "app/views/tune_plot.h"
#include "app/views/tune_trials.h"

#define LABEL 8                          /* columns of the labels */
#define MOST_PLOT_ROWS 24
#define TRIALS_IN_SIGHT 3                /* least rows of trials below the plot */
/* Least columns of a pane that shows the progress bar (BAR_FROM), words beside all numbers
 * (WORDS_FROM), and the progress of the stage (STAGE_FROM). */
#define BAR_FROM 60
#define WORDS_FROM 70
#define STAGE_FROM 92
/* If the start's time before the search and its time in the search differ by more than this
 * fraction, both are shown. */
#define OTHER_TIME 0.1
/* columns of "best    2.46 ms", " in this search)" and ", trial 1000" together */
#define AROUND_START 44
#define WRAP_FROM 14                     /* in a pane of at least so many rows, lines are wrapped */

/* --- State of the search ---------------------------------------------------------------------- */

static void put_label(struct doc *d, const char *label)
{
    doc_put(d, STYLE_DIM, label);
    doc_pad(d, LABEL);
}

static void put_text(struct doc *d, enum style s, struct str *text)
{
    doc_put(d, s, str_text(text));
    str_free(text);
}

/* Adds the text behind a label and ends the line. Wraps a text that is too long, if the pane has at
 * least WRAP_FROM rows and TUNE_PLOT_MIN_W columns. */
static void put_rest(struct doc *d, enum style s, struct str *text, const struct tune_look *look)
{
    const char *p = str_text(text);
    bool may = look->height >= WRAP_FROM && look->width >= TUNE_PLOT_MIN_W;
    while (may && text_width(p) > look->width - 2 - doc_col(d)) {
        int room = look->width - 2 - doc_col(d);
        size_t n = text_break(p, room > 1 ? room : 1);
        size_t end = n;
        while (end > 0 && p[end - 1] == ' ')
            end--;
        doc_printf(d, s, "%.*s", (int)end, p);
        doc_end(d);
        doc_pad(d, LABEL);
        p += n + strspn(p + n, " ");
    }
    doc_put(d, s, p);
    doc_end(d);
    str_free(text);
}

static const char *phase_text(const struct tune_view *v, const struct tune_look *look)
{
    static const char *const text[] = {
        [TUNE_PREPARING] = "preparing", [TUNE_PAUSING] = "pausing after this batch",
        [TUNE_PAUSED] = "paused", [TUNE_STOPPING] = "stopping",
        [TUNE_LENDING] = "letting a step be measured",
    };
    bool replays = v->replayed > 0 && v->replayed == v->done;
    return look->phase == TUNE_ENDED ? look->end
         : look->phase == TUNE_FINISHING ? v->doing
         : look->phase != TUNE_RUNNING ? text[look->phase]
         : replays ? "reading the stored trials" : v->doing;
}

/* Adds "joint  ████▌·····  184 of 1000 trials, measuring, 5:38 min left". */
static void put_state(struct doc *d, const struct tune_view *v, const struct tune_look *look)
{
    struct str left = {0};
    bool runs = look->phase == TUNE_RUNNING;
    put_label(d, look->phase == TUNE_ENDED ? "ended"
               : look->phase == TUNE_FINISHING ? stage_name[STAGE_FINAL] : stage_name[v->stage]);
    if (look->width >= BAR_FROM) {
        doc_bar(d, STYLE_GOOD, v->budget > 0 ? (double)v->done / v->budget : 0, 10);
        doc_put(d, STYLE_GOOD, " ");
    }
    doc_printf(d, STYLE_STRONG, "%d of %d", v->done, v->budget);
    str_printf(&left, "%s, %s", look->width < WORDS_FROM ? "" : " trials", phase_text(v, look));
    if (runs && isfinite(v->left_s)) {
        str_add(&left, ", ");
        text_duration(&left, v->left_s);
        str_add(&left, " left");
    }
    if (runs && look->width >= STAGE_FROM && (v->stage == STAGE_JOINT || v->stage == STAGE_LOOPS))
        str_printf(&left, " (stage %s: %d of %d)", stage_name[v->stage], v->stage_done,
                   v->stage_budget);
    put_rest(d, runs ? STYLE_PLAIN : STYLE_NOTE, &left, look);
}

/* Appends ", about 2.12x as fast as the start"; in a narrow pane ", about 2.12x the start". */
static void add_speedup(struct str *s, double speedup, bool about, const struct tune_look *look)
{
    str_printf(s, ", %s%.2fx%s the start", about ? "about " : "", speedup,
               look->width < WORDS_FROM ? "" : " as fast as");
}

/* Appends the time of the start in the search: " (5.20 ms in this search; measured before: 2.56
 * ms)". Leaves out "in this search" if that saves a row; the heading of the trials says it, too. */
static void add_start(struct str *s, const struct tune_view *v, const struct tune_look *look)
{
    double before = look->start_before_ms;
    bool other = before > 0 && fabs(v->start_ms / before - 1) > OTHER_TIME;
    if (!isfinite(v->start_ms))
        return;
    str_add(s, " (");
    text_ms(s, v->start_ms);
    bool fits = text_width(str_text(s)) + AROUND_START <= look->width - 2;
    if (!v->simulated[0])
        str_add(s, other || fits ? " in this search" : "");
    if (!v->simulated[0] && other) {
        str_add(s, "; measured before: ");
        text_ms(s, before);
    }
    str_add(s, ")");
}

/* Appends that the start has won, and why. */
static void add_start_won(struct str *s, const struct tune_view *v, const struct tune_winner *w)
{
    str_add(s, ", the start: no trial was shown to be faster");
    if (v->best < 0)
        return;
    str_printf(s, " (trial %d: ", v->best + 1);
    text_ms(s, v->best_ms);
    str_add(s, " in the search");
    if (w->in_turns)
        str_printf(s, ", %.2fx as fast as the start when both were timed in turns", w->speedup);
    str_add(s, ")");
}

/* Adds the winner with the same time as its row below. If the winner was timed in turns, the time
 * (a median) and the ratio are those of that timing. (The list of steps shows another time: the
 * best one when the winner was measured by itself.) */
static void put_winner(struct doc *d, const struct tune_view *v, const struct tune_look *look)
{
    const struct tune_winner *w = &look->winner;
    struct str s = {0};
    put_label(d, "best");
    const struct tuning_timed *timed = tune_winner_timed(w, w->trial);
    doc_ms(d, STYLE_STRONG, timed && isfinite(timed->ms) ? timed->ms : w->ms);
    if (v->simulated[0])
        str_printf(&s, " simulated on %s", v->simulated);
    else if (timed)
        str_add(&s, " in turns");
    if (w->is_start) {
        add_start_won(&s, v, w);
    } else if (isfinite(w->speedup)) {
        bool about = !w->in_turns && !v->simulated[0];
        add_speedup(&s, w->speedup, about, look);
        if (w->low > 0)
            str_printf(&s, " (%.2f to %.2f)", w->low, w->high);
        if (about)
            add_start(&s, v, look);
    }
    if (!w->is_start && w->trial >= 0)
        str_printf(&s, ", trial %d", w->trial + 1);
    put_rest(d, STYLE_PLAIN, &s, look);
}

/* If the best trial of the search has lost the final, says so, because the screen has shown the
 * time of this trial before the final. */
static void put_lost(struct doc *d, const struct tune_view *v, const struct tune_look *look)
{
    const struct tune_winner *w = &look->winner;
    const struct tuning_timed *lost = tuning_lost(w->timed, w->n_timed, v);
    struct str s = {0};
    if (!w->known || w->is_start || !lost)
        return;
    put_label(d, stage_name[STAGE_FINAL]);
    tuning_print_lost(&s, lost, v, text_ms);
    put_rest(d, STYLE_PLAIN, &s, look);
}

static void put_best(struct doc *d, const struct tune_view *v, const struct tune_look *look)
{
    struct str s = {0};
    if (look->phase == TUNE_ENDED && look->winner.known) {
        put_winner(d, v, look);
        put_lost(d, v, look);
        return;
    }
    put_label(d, "best");
    if (v->best < 0) {
        doc_put(d, STYLE_DIM, v->n_trials > 0 ? "nothing is right so far" : "nothing measured yet");
        doc_end(d);
        return;
    }
    doc_ms(d, STYLE_STRONG, v->best_ms);
    if (v->simulated[0])
        str_printf(&s, " simulated on %s", v->simulated);
    if (isfinite(v->start_ms)) {
        add_speedup(&s, v->start_ms / v->best_ms, !v->simulated[0], look);
        add_start(&s, v, look);
    }
    str_printf(&s, ", trial %d", v->best + 1);
    put_rest(d, STYLE_PLAIN, &s, look);
}

static void put_note(struct doc *d, const struct tune_look *look)
{
    if (!look->note || !look->note[0])
        return;
    struct str s = {0};
    str_printf(&s, "%-*s%s", LABEL, "note", look->note);
    doc_wrap(d, STYLE_DIM, str_text(&s), look->width - 2, LABEL);
    str_free(&s);
}

static void put_failed(struct doc *d, const struct tune_view *v, const struct tune_look *look)
{
    struct str s = {0};
    int all = 0, kinds = 0;
    for (int i = 0; i < OUTCOME_COUNT; i++)
        all += v->failed[i];
    if (all + v->illegal == 0)
        return;
    put_label(d, "failed");
    if (all > 0)
        str_printf(&s, "%d of %d", all, v->n_trials);
    else
        str_printf(&s, "none of %d", v->n_trials);
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (v->failed[i] > 0)
            str_printf(&s, "%s%d %s", kinds++ ? ", " : ": ", v->failed[i], outcome_name[i]);
    if (v->illegal > 0)
        str_printf(&s, "; %lld more refused before compiling", (long long)v->illegal);
    put_rest(d, STYLE_PLAIN, &s, look);
}

/* Appends the accuracy of the model. A model that guesses orders half of the pairs correctly. */
static void add_accuracy(struct str *s, const struct tune_accuracy *a)
{
    if (!a->known)
        str_add(s, "no forecast to judge yet");
    else if (a->pair_order < 0.5)
        str_add(s, "no better than chance yet");
    else
        str_printf(s, "%.0f %% of pairs in order, recall at 8 %.0f %%", 100 * a->pair_order,
                   100 * a->recall8);
}

static void put_model(struct doc *d, const struct tune_view *v, const struct tune_look *look)
{
    struct str s = {0};
    put_label(d, "model");
    add_accuracy(&s, &v->accuracy);
    put_rest(d, v->accuracy.known ? STYLE_PLAIN : STYLE_DIM, &s, look);
}

static void put_agents(struct doc *d, const struct tune_view *v, const struct tune_look *look)
{
    struct str s = {0};
    if (!v->agents.known)
        return;
    put_label(d, "agents");
    bool layouts = isfinite(v->agents.layout_entropy), loops = isfinite(v->agents.loop_entropy);
    str_add(&s, layouts || loops ? "entropy " : "");
    if (layouts)
        str_printf(&s, "%.2f of layouts%s", v->agents.layout_entropy, loops ? ", " : "; ");
    if (loops)
        str_printf(&s, "%.2f of loops; ", v->agents.loop_entropy);
    str_printf(&s, "%d episode%s", v->agents.episodes, v->agents.episodes == 1 ? "" : "s");
    put_rest(d, STYLE_PLAIN, &s, look);
}

/* Adds the times and the accuracy in one line, for panes without room for a line each. */
static void put_brief(struct doc *d, const struct tune_view *v, const struct tune_look *look)
{
    const struct tune_times *t = &v->times;
    struct str s = {0};
    if (!(t->elapsed > 0))
        return;
    put_label(d, "time");
    str_printf(&s, "compiling %.0f %%, measuring %.0f %%", 100 * t->compile / t->elapsed,
               100 * t->measure / t->elapsed);
    if (v->accuracy.known && v->accuracy.pair_order >= 0.5)
        str_printf(&s, "; model: pairs %.0f %%, recall %.0f %%", 100 * v->accuracy.pair_order,
                   100 * v->accuracy.recall8);
    else if (v->accuracy.known)
        str_add(&s, "; model: no better than chance yet");
    put_rest(d, STYLE_PLAIN, &s, look);
}

static void put_times(struct doc *d, const struct tune_view *v, const struct tune_look *look)
{
    const struct tune_times *t = &v->times;
    struct str s = {0};
    if (!(t->elapsed > 0))
        return;
    put_label(d, "time");
    text_duration(&s, t->elapsed);
    if (v->time_limit_s > 0) {
        str_add(&s, " of ");
        text_duration(&s, v->time_limit_s);
    }
    str_printf(&s, ": compiling %.0f %%, measuring %.0f, model %.0f, search %.0f",
               100 * t->compile / t->elapsed, 100 * t->measure / t->elapsed,
               100 * t->model / t->elapsed, 100 * t->search / t->elapsed);
    put_rest(d, STYLE_PLAIN, &s, look);
}

/* --- The plot and what its colours mean ------------------------------------------------------- */

/* Adds "a  2.40 ms best of  25 trials  N H W O" for each of the first `rows` families.  samples:
 * whether the times get the mark ~ of times from the search, as in the list of trials. */
static void put_legend(struct doc *d, const struct tune_families *f, int rows, int width,
                       bool samples)
{
    for (int i = 0; i < f->n && i < rows; i++) {
        struct str s = {0}, cell = {0};
        const struct tune_family *one = &f->family[i];
        bool last = i == rows - 1 && f->n > rows, narrow = width < TUNE_HEADING_FROM;
        doc_printf(d, tune_plot_style(i), "%c ", tune_plot_letter(i));
        str_add(&s, samples && isfinite(one->best_ms) ? "~" : "");
        if (isfinite(one->best_ms))
            text_ms(&s, one->best_ms);
        else
            str_add(&s, "-");
        text_right(&cell, str_text(&s), 8);
        str_printf(&cell, "%s of %3d trial%s  %s", narrow ? "" : " best", one->trials,
                   one->trials == 1 ? " " : "s", one->text);
        str_clear(&s);
        if (last)
            str_printf(&s, "  (and %d more%s)", f->n - rows,
                       width < WORDS_FROM ? "" : f->n - rows == 1 ? " layout" : " layouts");
        int room = width - 3 - text_width(str_text(&s));
        struct str fit = {0};
        text_fit(&fit, str_text(&cell), room < 10 ? 10 : room);
        while (fit.len > 0 && fit.data[fit.len - 1] == ' ')
            fit.data[--fit.len] = 0;
        put_text(d, STYLE_PLAIN, &fit);
        put_text(d, STYLE_DIM, &s);
        doc_end(d);
        str_free(&cell);
    }
}

/* Divides the rows below the first `used` ones: *legend rows for the legend, *plot rows for the
 * plot. Both are 0 if there is no room for a plot. */
static void share_room(const struct tune_look *look, int used, int families, int *legend, int *plot)
{
    int left = look->height - used - 1 - TRIALS_IN_SIGHT;
    *legend = look->height >= 24 ? FAMILIES_TOLD_APART : look->height >= 14 ? 3 : 0;
    *legend = families < *legend ? families : *legend;
    *plot = left - *legend;
    if (*plot < TUNE_PLOT_MIN_H && left >= TUNE_PLOT_MIN_H) {
        *legend = left - TUNE_PLOT_MIN_H;
        *plot = TUNE_PLOT_MIN_H;
    }
    if (*plot < TUNE_PLOT_MIN_H || look->width < TUNE_PLOT_MIN_W + 2)
        *plot = *legend = 0;
    *plot = *plot < MOST_PLOT_ROWS ? *plot : MOST_PLOT_ROWS;
}

static void put_plot(struct doc *d, const struct tune_view *v, const struct tune_families *f,
                     const struct tune_look *look)
{
    struct canvas c;
    int legend, rows;
    struct tune_plot_look how = {
        .letters = look->letters, .whole = look->phase == TUNE_ENDED, .selected = look->selected,
    };
    share_room(look, d->lines.len, f->n, &legend, &rows);
    if (rows == 0 || v->n_trials == 0)
        return;
    canvas_open(&c, look->width - 2, rows);
    tune_plot(&c, v, f, &how);
    canvas_doc(&c, d);
    canvas_close(&c);
    put_legend(d, f, legend, look->width, tune_trials_are_samples(v, &look->winner));
}

void tune_doc_write(struct doc *d, const struct tune_view *v, const struct tune_look *look)
{
    struct arena *a = arena_new();
    struct tune_families f = tune_plot_families(a, v);
    put_state(d, v, look);
    put_best(d, v, look);
    put_note(d, look);
    put_failed(d, v, look);
    if (look->height >= 18) {
        put_model(d, v, look);
        put_agents(d, v, look);
    } else if (look->height >= 15) {
        put_brief(d, v, look);
    }
    if (look->height >= 20)
        put_times(d, v, look);
    put_plot(d, v, &f, look);
    tune_trials_write(d, a, v, &f, &look->winner, look->width);
    arena_free(a);
}

/* Appends both times of a trial, "3.12 ms in turns, 2.46 ms in the search", or its only time. */
static void add_times(struct str *out, const struct tune_view *v, const struct tune_winner *won,
                      const struct tune_candidate *c)
{
    const struct tuning_timed *timed = tune_winner_timed(won, c->trial);
    if (timed && isfinite(timed->ms)) {
        text_ms(out, timed->ms);
        str_add(out, " in turns, ");
    }
    text_ms(out, c->ms);
    str_add(out, tune_trials_are_samples(v, won) ? " in the search" : "");
}

void tune_doc_hint(struct str *out, const struct tune_view *v, const struct tune_winner *won,
                   int trial)
{
    if (trial < 0 || trial >= v->n_trials)
        return;
    const struct tune_candidate *c = v->trial[trial];
    str_printf(out, "trial %d: ", trial + 1);
    if (c->outcome == OUTCOME_OK) {
        add_times(out, v, won, c);
        str_printf(out, ", spread %.0f %%", 100 * c->spread);
        if (tune_trials_not_faster(won, trial)) {
            str_add(out, "; a tie: not shown to be faster than the best");
            return;
        }
    } else {
        str_printf(out, "%s%s%s", outcome_name[c->outcome], c->reason[0] ? ": " : "", c->reason);
    }
    str_add(out, c->replayed ? ", from the records" : c->explored ? ", drawn at random" : "");
    str_add(out, "; Enter opens it as a branch");
}

void tune_doc_status(struct str *out, const struct tune_view *v, enum tune_phase phase)
{
    static const char *const word[] = {
        [TUNE_PREPARING] = "preparing", [TUNE_PAUSING] = "pausing", [TUNE_PAUSED] = "paused",
        [TUNE_FINISHING] = "final", [TUNE_STOPPING] = "stopping", [TUNE_ENDED] = "ended",
        [TUNE_LENDING] = "waiting",
    };
    str_printf(out, "%s %d/%d", phase == TUNE_RUNNING ? stage_name[v->stage] : word[phase], v->done,
               v->budget);
    if (v->best >= 0) {
        str_add(out, ", best ");
        text_ms(out, v->best_ms);
        str_add(out, v->simulated[0] ? " simulated" : "");
    }
}
