/* The trials of a search as rows of a document. After the final, the trials that were timed in
 * turns come first, with the times of the final; all other trials have their single sample of the
 * search. */
#include "app/views/tune_trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/ui/text.h"

/* The heading of the column of layouts, where there is little room and where there is more. */
static const char short_name[] = "output", long_name[] = "layout of the output";
#define RATIO 10                         /* columns of the ratio to the start */

/* How the rows are written.  won: the winner; won->known is false during the search. */
struct trial_rows {
    const struct tune_view *v;
    const struct tune_families *f;
    const struct tune_winner *won;
    int width;
};

bool tune_trials_are_samples(const struct tune_view *v, const struct tune_winner *won)
{
    return won->known && !v->simulated[0] && (won->n_timed > 0 || won->ms != v->best_ms);
}

static int by_latency(const void *a, const void *b)
{
    const struct tune_candidate *x = *(const struct tune_candidate *const *)a,
                                *y = *(const struct tune_candidate *const *)b;
    if (x->ms != y->ms)
        return x->ms < y->ms ? -1 : 1;
    return (x->trial > y->trial) - (x->trial < y->trial);
}

/* Appends the time "3.05 ms" and the ratio to the start " 1.39x " in their columns. A single sample
 * of the search gets a "~" and no ratio, because the start's time is only a sample there, too. */
static void add_time(struct str *row, const struct trial_rows *t, const struct tune_candidate *c)
{
    const struct tuning_timed *timed = tune_winner_timed(t->won, c->trial);
    bool sample = !timed && tune_trials_are_samples(t->v, t->won);
    double ms = timed ? timed->ms : c->outcome == OUTCOME_OK ? c->ms : NAN;
    double ratio = timed ? timed->speedup : !sample ? t->v->start_ms / ms : NAN;
    struct str text = {0};
    str_add(&text, sample && isfinite(ms) ? "~" : "");
    if (isfinite(ms))
        text_ms(&text, ms);
    else
        str_add(&text, "-");
    text_right(row, str_text(&text), 9);
    if (isfinite(ratio))
        str_printf(row, " %7.2fx ", ratio);
    else if (sample && isfinite(ms))
        str_repeat(row, ' ', RATIO);
    else
        str_add(row, "       -  ");
    str_free(&text);
}

/* Returns the word in the column of the stage: "best", "tie", "start", "seed", or the name of a
 * stage. */
static const char *stage_word(const struct trial_rows *t, const struct tune_candidate *c)
{
    bool timed = tune_winner_timed(t->won, c->trial) != NULL;
    return timed && c->trial == t->won->trial ? "best"
         : tune_trials_not_faster(t->won, c->trial) ? "tie"
         : timed && c->trial == 0 && c->seed ? "start"
         : timed ? stage_name[STAGE_FINAL] : c->seed ? "seed" : stage_name[c->stage];
}

bool tune_trials_not_faster(const struct tune_winner *won, int trial)
{
    const struct tuning_timed *timed = tune_winner_timed(won, trial);
    const struct tuning_timed *best = tune_winner_timed(won, won->trial);
    return timed && best && timed != best && timed->ms <= best->ms;
}

/* Appends the layout of a trial, or why it has no time. */
static void add_what(struct str *out, const struct trial_rows *t, const struct tune_candidate *c)
{
    const struct tuning_timed *timed = tune_winner_timed(t->won, c->trial);
    if (c->outcome != OUTCOME_OK)
        str_printf(out, "%s%s%s", outcome_name[c->outcome], c->reason[0] ? ": " : "", c->reason);
    else if (timed && isnan(timed->ms))
        str_add(out, "failed when it was timed again");
    else
        str_add(out, t->v->arm[c->arm].family);
}

static void put_trial(struct doc *d, const struct trial_rows *t, const struct tune_candidate *c)
{
    struct str row = {0}, what = {0};
    const struct tuning_timed *timed = tune_winner_timed(t->won, c->trial);
    int family = t->f->of_arm[c->arm];
    bool ok = c->outcome == OUTCOME_OK && !(timed && isnan(timed->ms));
    int best = t->won->known && t->won->trial >= 0 ? t->won->trial : t->v->best;
    enum style s = c->trial == best ? STYLE_STRONG
                 : !timed && tune_trials_are_samples(t->v, t->won) ? STYLE_DIM : STYLE_PLAIN;
    str_printf(&row, "%5d", c->trial + 1);
    add_time(&row, t, c);
    str_printf(&row, "%-6s", stage_word(t, c));
    doc_put(d, s, str_text(&row));
    doc_printf(d, tune_plot_style(family), " %c ", tune_plot_letter(family));
    str_clear(&row);
    add_what(&what, t, c);
    text_fit(&row, str_text(&what), t->width - 2 - doc_col(d));
    while (row.len > 0 && row.data[row.len - 1] == ' ')
        row.data[--row.len] = 0;
    doc_put(d, !ok ? STYLE_BAD : s == STYLE_DIM ? s : STYLE_PLAIN, str_text(&row));
    doc_end(d)->id = c->trial;
    str_free(&row);
    str_free(&what);
}

/* Adds the name of the column of layouts, which are those of the output, to the heading of the
 * trials, and if there is room a remark: the time of the start, to which the column `x start`
 * refers; or after the final, how the trials were timed. */
static void put_what_start(struct doc *d, const struct trial_rows *t)
{
    struct str text = {0};
    bool tie = false;
    for (int i = 0; i < t->won->n_timed; i++)
        tie = tie || tune_trials_not_faster(t->won, t->won->timed[i].trial);
    if (tune_trials_are_samples(t->v, t->won)) {
        str_add(&text, t->won->n_timed == 0 ? ""
                     : tie ? "  (medians, timed in turns; tie: not shown to be faster)"
                           : "  (medians, timed in turns)");
    } else if (isfinite(t->v->start_ms)) {
        str_add(&text, "  (start in this search: ");
        text_ms(&text, t->v->start_ms);
        str_add_char(&text, ')');
    }
    int room = t->width - 2 - doc_col(d) - (int)strlen(short_name) - text_width(str_text(&text));
    if (room < 0 && tune_trials_are_samples(t->v, t->won) && text.len > 0) {
        str_clear(&text);
        str_add(&text, " in turns");
        room = t->width - 2 - doc_col(d) - (int)strlen(short_name) - text_width(str_text(&text));
    }
    bool whole = room >= (int)(strlen(long_name) - strlen(short_name))
              || (t->width >= TUNE_HEADING_FROM && (room < 0 || text.len == 0));
    doc_put(d, STYLE_DIM, whole ? long_name : short_name);
    if (room >= 0)
        doc_put(d, STYLE_DIM, str_text(&text));
    str_free(&text);
}

void tune_trials_write(struct doc *d, struct arena *a, const struct tune_view *v,
                       const struct tune_families *f, const struct tune_winner *won, int width)
{
    struct trial_rows t = { v, f, won, width };
    const struct tune_candidate **c = ARENA_ARRAY(a, const struct tune_candidate *,
                                                  v->n_trials + 1);
    if (v->n_trials == 0)
        return;
    memcpy(c, v->trial, (size_t)v->n_trials * sizeof *c);
    qsort(c, (size_t)v->n_trials, sizeof *c, by_latency);
    doc_printf(d, STYLE_DIM, "trial %s   x start stage    ",
               v->simulated[0] ? "sim.time" : "    time");
    put_what_start(d, &t);
    doc_end(d);
    for (int i = 0; won->known && i < won->n_timed; i++)
        put_trial(d, &t, v->trial[won->timed[i].trial]);
    if (tune_trials_are_samples(v, won) && won->n_timed < v->n_trials)
        doc_line(d, STYLE_DIM, "~ one sample each, in the search:")->heading = true;
    for (int i = 0; i < v->n_trials; i++)
        if (!tune_winner_timed(won, c[i]->trial))
            put_trial(d, &t, c[i]);
}
