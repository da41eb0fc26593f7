#include "app/views/tune_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/ui/plot.h"
#include "app/ui/text.h"

#define FEWEST_X 32                       /* least number of trials on the axis */
#define NAMES_FROM 40                     /* least columns of a plot that names its rules */
#define LINEAR_BELOW 3.0  /* the axis is linear if slowest / fastest is below this, else log */

/* --- Families --------------------------------------------------------------------------------- */

static int by_best(const void *a, const void *b)
{
    const struct tune_family *x = a, *y = b;
    if (x->best_ms != y->best_ms)
        return x->best_ms < y->best_ms ? -1 : 1;
    if (x->trials != y->trials)
        return x->trials > y->trials ? -1 : 1;
    return strcmp(x->text, y->text);
}

static int family_find(const struct tune_family *f, int n, const char *text)
{
    for (int i = 0; i < n; i++)
        if (streq(f[i].text, text))
            return i;
    return -1;
}

struct tune_families tune_plot_families(struct arena *a, const struct tune_view *v)
{
    struct tune_family *f = ARENA_ARRAY(a, struct tune_family, v->n_arms + 1);
    int *of_arm = ARENA_ARRAY(a, int, v->n_arms + 1), n = 0;
    for (int i = 0; i < v->n_arms; i++) {
        const struct tune_arm *arm = &v->arm[i];
        int at = arm->trials > 0 ? family_find(f, n, arm->family) : -1;
        if (arm->trials > 0 && at < 0) {
            at = n++;
            f[at] = (struct tune_family){ .text = arm->family, .best_ms = INFINITY };
        }
        if (at < 0)
            continue;
        f[at].trials += arm->trials;
        f[at].failed += arm->trials - arm->ok;
        f[at].best_ms = fmin(f[at].best_ms, arm->best_ms);
    }
    if (n > 1)
        qsort(f, (size_t)n, sizeof *f, by_best);
    for (int i = 0; i < v->n_arms; i++)
        of_arm[i] = v->arm[i].trials > 0 ? family_find(f, n, v->arm[i].family) : -1;
    return (struct tune_families){ n, f, of_arm };
}

static bool told_apart(int family)
{
    return family >= 0 && family < FAMILIES_TOLD_APART;
}

char tune_plot_letter(int family)
{
    return told_apart(family) ? (char)('a' + family) : '.';
}

enum style tune_plot_style(int family)
{
    return told_apart(family) ? (enum style)(STYLE_SERIES + family) : STYLE_DIM;
}

/* --- Axes ------------------------------------------------------------------------------------- */

struct tune_dots {
    struct plot_area plot;
    const struct tune_view *v;
    const struct tune_families *f;
    const struct tune_plot_look *look;
    double scale;                         /* converts ms to the unit of the axis */
};

/* Returns the end of the axis of trials. After the search (`whole`) this is the number of trials.
 * During it, this is the smallest budget / 2^k with room for the trials so far (and at least
 * FEWEST_X), so that the scale changes rarely. */
static double trials_on_axis(const struct tune_view *v, bool whole)
{
    double n = v->n_trials > 1 ? v->n_trials : 2, end = v->budget > n ? v->budget : n;
    if (whole)
        return n;
    while (end / 2 >= n && end / 2 >= FEWEST_X)
        end /= 2;
    return end;
}

static bool right(const struct tune_candidate *c)
{
    return c->outcome == OUTCOME_OK && isfinite(c->ms) && c->ms > 0;
}

static struct plot_axis latency_axis(const struct tune_view *v, double *scale)
{
    double lo = INFINITY, hi = 0;
    for (int i = 0; i < v->n_trials; i++)
        if (right(v->trial[i])) {
            lo = fmin(lo, v->trial[i]->ms);
            hi = fmax(hi, v->trial[i]->ms);
        }
    if (hi <= 0)
        lo = hi = 1;
    bool us = hi < 1;
    *scale = us ? 1e3 : 1;
    lo *= *scale;
    hi *= *scale;
    struct plot_axis a = { .log = hi > LINEAR_BELOW * lo };
    a.lo = a.log ? lo / 1.1 : lo - 0.05 * hi;
    a.hi = a.log ? hi * 1.1 : hi + 0.1 * hi;
    return a;
}

/* --- Marks ------------------------------------------------------------------------------------ */

static double trial_x(const struct tune_dots *t, int trial)
{
    return plot_x(&t->plot, trial + 1);
}

static double ms_y(const struct tune_dots *t, double ms)
{
    return plot_y(&t->plot, ms * t->scale);
}

/* Whether a trial is the first of the stage of loops, behind the joint stage. */
static bool begins_loops(const struct tune_view *v, int i)
{
    return i > 0 && v->trial[i]->stage == STAGE_LOOPS && v->trial[i - 1]->stage == STAGE_JOINT;
}

/* Draws a level rule at the time of the start, and an upright one where the stage of loops
 * begins. */
static void put_rules(struct tune_dots *t)
{
    const struct tune_view *v = t->v;
    double left = 2 * PLOT_LEFT, right_end = left + 2 * t->plot.cols - 1;
    if (isfinite(v->start_ms))
        canvas_line(t->plot.c, left, ms_y(t, v->start_ms), right_end, ms_y(t, v->start_ms),
                    STYLE_RULE, 4);
    for (int i = 1; i < v->n_trials; i++)
        if (begins_loops(v, i))
            canvas_line(t->plot.c, trial_x(t, i), 0, trial_x(t, i), 4 * t->plot.rows - 1,
                        STYLE_RULE, 4);
}

/* Writes a name from a column on in the first of these rows of the plot that is free there. */
static void put_name(struct tune_dots *t, int col, int row, int last, const char *name)
{
    int w = text_width(name), most = t->plot.rows - 1;
    for (; row <= last && row <= most; row++)
        if (row >= 0 && col + w <= PLOT_LEFT + t->plot.cols
            && canvas_used(t->plot.c, col, row, w) == 0) {
            canvas_text(t->plot.c, col, row, STYLE_DIM, name);
            return;
        }
}

/* Names the rules, after everything else is drawn: a name hides nothing. */
static void put_names(struct tune_dots *t)
{
    const struct tune_view *v = t->v;
    if (t->plot.cols < NAMES_FROM)
        return;
    if (isfinite(v->start_ms)) {
        int level = plot_row(ms_y(t, v->start_ms));
        put_name(t, PLOT_LEFT + t->plot.cols - text_width("start"), level - 1, level + 1, "start");
    }
    for (int i = 1; i < v->n_trials; i++)
        if (begins_loops(v, i))
            put_name(t, plot_col(trial_x(t, i)) + 1, 0, t->plot.rows, stage_name[STAGE_LOOPS]);
}

/* Draws the best time so far as a level line, with a drop at each trial that is better. */
static void put_best(struct tune_dots *t)
{
    const struct tune_view *v = t->v;
    double best = INFINITY;
    for (int i = 0; i < v->n_trials; i++) {
        bool better = right(v->trial[i]) && v->trial[i]->ms < best;
        if (isfinite(best) && i > 0)
            canvas_line(t->plot.c, trial_x(t, i - 1), ms_y(t, best), trial_x(t, i),
                        ms_y(t, best), STYLE_STRONG, 0);
        if (better && isfinite(best))
            canvas_line(t->plot.c, trial_x(t, i), ms_y(t, best), trial_x(t, i),
                        ms_y(t, v->trial[i]->ms), STYLE_STRONG, 0);
        best = better ? v->trial[i]->ms : best;
    }
}

static void put_trial(struct tune_dots *t, const struct tune_candidate *c, int family)
{
    double x = trial_x(t, c->trial), y = right(c) ? ms_y(t, c->ms) : 0;
    enum style s = right(c) ? tune_plot_style(family) : STYLE_BAD;
    char text[2] = { right(c) ? tune_plot_letter(family) : 'x' };
    if (t->look->letters)
        canvas_text(t->plot.c, plot_col(x), plot_row(y), s, text);
    else
        canvas_dot(t->plot.c, (int)lround(x), (int)lround(y), s);
}

/* Draws the trials, those of the best family last, so that they are on top. */
static void put_trials(struct tune_dots *t)
{
    for (int turn = FAMILIES_TOLD_APART; turn >= 0; turn--)
        for (int i = 0; i < t->v->n_trials; i++) {
            const struct tune_candidate *c = t->v->trial[i];
            int family = t->f->of_arm[c->arm];
            int group = told_apart(family) ? family : FAMILIES_TOLD_APART;
            if (group == turn)
                put_trial(t, c, family);
        }
}

static void put_selected(struct tune_dots *t)
{
    int at = t->look->selected;
    if (at < 0 || at >= t->v->n_trials)
        return;
    const struct tune_candidate *c = t->v->trial[at];
    double y = right(c) ? ms_y(t, c->ms) : 0;
    canvas_text(t->plot.c, plot_col(trial_x(t, at)), plot_row(y), STYLE_TITLE, "●");
}

void tune_plot(struct canvas *c, const struct tune_view *v, const struct tune_families *f,
               const struct tune_plot_look *look)
{
    struct tune_dots t = { .v = v, .f = f, .look = look };
    if (c->w < TUNE_PLOT_MIN_W || c->h < TUNE_PLOT_MIN_H)
        return;
    struct plot_axis y = latency_axis(v, &t.scale);
    struct plot_axis x = { 1, trials_on_axis(v, look->whole), false, "trial" };
    plot_open(&t.plot, c, x, y);
    plot_axes(&t.plot);
    canvas_text(c, PLOT_LEFT - 3, t.plot.rows, STYLE_DIM, t.scale > 1 ? "µs" : "ms");
    put_rules(&t);
    put_best(&t);
    put_trials(&t);
    put_selected(&t);
    put_names(&t);
}
