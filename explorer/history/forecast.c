#include "explorer/history/forecast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "explorer/history/command.h"
#include "kernels/gen/tile_registers.h"
#include "kernels/program/contract.h"

#define SAME 1.05  /* predictions up to this ratio apart count as equal */
#define MANY_MORE 1.5  /* times as many cycles without misses */
#define HELPS 0.9  /* a cure helps if it leaves less than this share of the misses */
#define NEARLY_ALL 0.9  /* compulsory misses with this share or more are why no cure helps */

const char *const cure_result_name[CURE_RESULT_COUNT] = {
#define RESULT(id, name) [CURE_##id] = name,
    CURE_RESULTS(RESULT)
#undef RESULT
};

const char *const tile_fate_name[TILE_FATE_COUNT] = {
#define FATE(id, name) [TILE_##id] = name,
    TILE_FATES(FATE)
#undef FATE
};

/* Runs the lines of a row on history h, until one is refused.  Adds the number of lines that ran to
 * *changes; the caller must undo them. */
static bool run_lines(struct history *h, struct forecast *row, int *changes)
{
    struct str text = {0};
    struct err refused;
    str_add(&text, row->line);
    char *rest = text.data;
    bool ok = rest != NULL;
    for (char *line = strsep(&rest, "\n"); ok && line; line = strsep(&rest, "\n")) {
        enum command_effect effect = EFFECT_NONE;
        ok = command_run(h, line, &effect, &refused)
          && (effect == EFFECT_STATE || effect == EFFECT_REBASED);
        /* an edit that leaves the step as it was gives nothing to undo */
        *changes += ok && (effect == EFFECT_STATE || history_rebased(h)->what[0]);
        row->held += ok && effect == EFFECT_REBASED ? history_rebased(h)->held : 0;
    }
    str_free(&text);
    return ok;
}

static void report(const struct progress *pr, int i, int n)
{
    struct str text = {0};
    str_printf(&text, "predicting %d of %d", i, n);
    if (pr)
        pr->report(pr->ctx, str_text(&text), (i - 1.0) / n);
    str_free(&text);
}

static bool has_other_contract(const struct program *p, const struct program *than)
{
    struct str ignored = {0};
    bool other = contract_difference(&ignored, p, than);
    str_free(&ignored);
    return other;
}

/* The tiles of the program before the steps.  func: the lowered program; NULL: it cannot be
 * lowered. spills: whether one of its tiles spills. */
struct tiles_before { const struct target *target; const struct func *func; bool spills; };

static struct tiles_before tiles_of(const struct program *p, const struct target *target)
{
    struct tiles_before b = { .target = target_or_host(target) };
    struct tile_spill ignored;
    struct err e;
    b.spills = program_lower(p, &b.func, &e) && tile_that_spills(b.func, b.target, &ignored);
    return b;
}

static enum tile_fate fate_of(const struct program *p, const struct tiles_before *b)
{
    const struct func *f;
    struct tile_spill ignored;
    struct err e;
    if (!b->func || !program_lower(p, &f, &e))
        return TILE_STAYS;
    return !b->spills && tile_that_spills(f, b->target, &ignored) ? TILE_SPILLS
         : tile_that_leaves(f, b->func, b->target) ? TILE_LEAVES : TILE_STAYS;
}

double forecast_ms(const struct forecast *row, const struct machine_model *model,
                   const struct target *target)
{
    const struct prediction *p = &row->misses;
    if (p->cycles.whole <= 0 || row->tile == TILE_SPILLS)
        return 0;
    return roofline_predict_ms(model, target_or_host(target)->isa, p->cycles, p->miss_bytes);
}

double forecast_bounded(double change, const struct measurement *timed,
                        const struct target *target)
{
    bool fits = timed && timed->threads <= 1 && timed->peak_fraction > 0
             && streq(timed->isa, target_or_host(target)->isa);
    double most = fits ? fmin(timed->peak_fraction, 1) - 1 : -1;
    return change < most ? most : change;
}

/* Sets ok, misses and why. */
static void predict(const struct program *p, const struct predict_opts *o, const struct cancel *c,
                    struct forecast *row)
{
    struct err refused;
    row->why[0] = '\0';
    row->ok = predict_misses(p, o, c, &row->misses, &refused);
    if (!row->ok && refused.code != ERR_TIMEOUT && refused.code != ERR_CANCEL)
        snprintf(row->why, sizeof row->why, "%.159s", refused.text);
}

/* Fills a row whose steps make program `after` of p, but not its line and `held`. */
static void foresee(const struct program *p, const struct tiles_before *before,
                    const struct program *after, const struct predict_opts *o,
                    const struct cancel *c, struct forecast *row)
{
    row->other_contract = has_other_contract(after, p);
    row->tile = fate_of(after, before);
    predict(after, o, c, row);
}

void forecast_program(const struct program *p, const struct program *after,
                      const struct predict_opts *o, const struct cancel *c, struct forecast *row,
                      struct forecast *none)
{
    struct tiles_before before = tiles_of(p, o->target);
    foresee(p, &before, after, o, c, row);
    predict(p, o, c, none);
}

bool forecast_steps(const struct program *p, const struct predict_opts *o,
                    const struct progress *pr, const struct cancel *c, struct forecast *row, int n,
                    struct forecast *none, struct err *e)
{
    struct history *h;
    if (!history_new(p->base->spec, &h, e))
        return false;
    bool ok = true;
    for (int i = 0; ok && i < p->n_steps && !cancelled(c); i++)
        ok = history_apply(h, p->steps[i], e);
    none->ok = false;
    if (ok)
        predict(p, o, c, none);
    struct tiles_before before = tiles_of(p, o->target);
    for (int i = 0; ok && i < n && !cancelled(c); i++) {
        int changes = 0;
        report(pr, i + 1, n);
        row[i] = (struct forecast){ .line = row[i].line };
        row[i].ok = run_lines(h, &row[i], &changes);
        if (row[i].ok)
            foresee(p, &before, history_current(h)->program, o, c, &row[i]);
        for (; ok && changes > 0; changes--)
            ok = history_undo(h, 1, e);
    }
    history_free(h);
    return ok && (!cancelled(c) || err_set(e, ERR_CANCEL, "cancelled"));
}

/* --- Ranking ---------------------------------------------------------------------------------- */

enum group { ONE_STEP, SEVERAL_STEPS, COSTS_TIME, UNKNOWN_MISSES };

/* now: the forecast without a step.  COSTS_TIME: a tile goes to memory, or the code takes so many
 * more cycles that fewer misses will hardly make up for them. */
static enum group group_of(const struct forecast *row, const struct forecast *now)
{
    double from = now->ok ? now->misses.cycles.whole : 0;
    bool slow = from > 0 && row->misses.cycles.whole > MANY_MORE * from;
    return !row->ok ? UNKNOWN_MISSES : row->tile != TILE_STAYS || slow ? COSTS_TIME
         : forecast_is_long(row) ? SEVERAL_STEPS : ONE_STEP;
}

/* Whether a takes clearly fewer cycles than b.  Unknown cycles (0) are more than any others. */
static bool takes_fewer(const struct prediction *a, const struct prediction *b)
{
    double from = b->cycles.whole, to = a->cycles.whole;
    return to > 0 && (from <= 0 || SAME * to < from);
}

/* Returns the index of the best of n rows.  Finds the fewest misses in the best group.  The rows of
 * that group with at most SAME times as many count as equal.  Of these rows, takes those that keep
 * the contract; if none does, all; and returns the first of them, unless a later one takes
 * fewer cycles. */
static int best_of(const struct forecast *row, int n, const struct forecast *now)
{
    int least = 0;
    for (int i = 1; i < n; i++) {
        enum group a = group_of(&row[i], now), b = group_of(&row[least], now);
        if (a < b || (a == b && a != UNKNOWN_MISSES
                      && row[i].misses.l1_misses < row[least].misses.l1_misses))
            least = i;
    }
    double most = SAME * (double)row[least].misses.l1_misses;
    int best = least;
    bool found = false;
    for (int other = 0; other <= 1 && row[least].ok && !found; other++)
        for (int i = 0; i < n; i++) {
            if (group_of(&row[i], now) != group_of(&row[least], now)
                || row[i].other_contract != other || (double)row[i].misses.l1_misses > most)
                continue;
            if (!found || takes_fewer(&row[i].misses, &row[best].misses))
                best = i;
            found = true;
        }
    return best;
}

void forecast_rank(struct forecast *row, int n, const struct forecast *now)
{
    for (int i = 0; i < n; i++) {
        int best = i + best_of(row + i, n - i, now);
        struct forecast it = row[best];
        memmove(&row[i + 1], &row[i], sizeof *row * (size_t)(best - i));
        row[i] = it;
    }
}

bool forecast_is_long(const struct forecast *row)
{
    return strchr(row->line, '\n') != NULL;
}

bool forecast_helps(const struct forecast *row, const struct forecast *now)
{
    return row->ok && now->ok
        && (double)row->misses.l1_misses < HELPS * (double)now->misses.l1_misses;
}

const struct forecast *forecast_least(const struct forecast *row, int n)
{
    const struct forecast *least = NULL;
    for (int i = 0; i < n; i++)
        if (row[i].ok && (!least || row[i].misses.l1_misses < least->misses.l1_misses))
            least = &row[i];
    return least;
}

enum cure_result forecast_result(const struct lens *l, const struct forecast *now,
                                 const struct forecast *row, int n)
{
    const struct forecast *least = forecast_least(row, n);
    return least && forecast_helps(least, now) ? CURE_HELPS
         : l->all.misses < 1 ? CURE_NO_MISSES
         : l->all.compulsory >= NEARLY_ALL * l->all.misses ? CURE_COMPULSORY
         : n == 0 ? CURE_NO_CANDIDATE
         : !least ? CURE_NONE_LEGAL : CURE_NONE_BETTER;
}

bool forecast_lens(const struct program *p, const struct cache_config *cache,
                   const struct target *target, const struct progress *pr, const struct cancel *c,
                   struct forecast *row, int n, struct forecast *now, struct err *e)
{
    const struct predict_opts o = { .cache = *cache, .target = target, .conflicts = true };
    bool ok = forecast_steps(p, &o, pr, c, row, n, now, e);
    for (int i = 0; i < n; i++)
        row[i].ok = row[i].ok && row[i].held == 0;
    forecast_rank(row, n, now);
    return ok;
}
