/* The sentences of the cache lens. */
#include "app/views/lens_doc.h"

#include <math.h>
#include "app/ui/text.h"

#define NAMED 0.05  /* a kind of misses with a smaller share of all misses is not named */

/* Appends "1 line" or "17 lines", for the noun "line". */
static void add_count(struct str *out, int64_t n, const char *noun)
{
    str_count(out, n);
    str_printf(out, " %s%s", noun, n == 1 ? "" : "s");
}

void lens_line_print(struct str *out, const struct lens *l, int32_t line)
{
    int b = lens_buffer_of(l, line);
    if (b < 0)
        str_add(out, "line ");
    else
        str_printf(out, "%s line ", l->buffer[b].name);
    str_count(out, b < 0 ? line : line - l->buffer[b].first);
    str_add(out, b < 0 ? " beyond the buffers" : "");
}

void lens_pair_print(struct str *out, const struct lens *l, const struct lens_pair *p)
{
    lens_line_print(out, l, p->line);
    str_add(out, " and ");
    lens_line_print(out, l, p->other);
    str_printf(out, " share set %d", p->set);
    if (p->held > 0)
        str_printf(out, ", where %s has %d of %d ways",
                   l->buffer[lens_buffer_of(l, p->other)].name, p->held, l->ways);
}

void lens_stride_print(struct str *out, const struct lens *l, const struct lens_pair *p)
{
    if (p->loop < 0)
        return;
    if (p->every == 0) {
        str_printf(out, "In each iteration of %s, %s touches ", l->loop[p->loop].axis,
                   l->site[p->by].text);
        add_count(out, p->trips, "line");
        str_add(out, " that are ");
        add_count(out, p->stride, "byte");
        str_printf(out, " apart: they lie in %d of %d sets, which hold%s ", p->sets, l->n_sets,
                   p->sets == 1 ? "s" : "");
        add_count(out, p->sets * l->ways, "line");
        return;
    }
    str_printf(out, "%s moves by ", l->site[p->by].text);
    add_count(out, p->stride, "byte");
    if (p->every > 1)
        str_printf(out, " every %lld iterations of %s: ", (long long)p->every,
                   l->loop[p->loop].axis);
    else
        str_printf(out, " with each %s: ", l->loop[p->loop].axis);
    str_count(out, p->trips);
    str_printf(out, " %s use %d of %d sets, which hold%s ",
               p->every > 1 ? "such moves" : "iterations", p->sets, l->n_sets,
               p->sets == 1 ? "s" : "");
    add_count(out, p->sets * l->ways, "line");
}

/* --- What misses ------------------------------------------------------------------------------ */

/* Appends the kinds of the misses: ", nearly all of them capacity misses", or ": 15.8M conflict and
 * 1.05M capacity misses". */
static void add_kinds(struct str *out, const struct lens_cause *c)
{
    const enum miss_kind kind[] = { MISS_CONFLICT, MISS_CAPACITY, MISS_COMPULSORY };
    const double n[] = { c->conflict, c->misses - c->compulsory - c->conflict, c->compulsory };
    int named[3], n_named = 0;
    for (int i = 0; i < 3; i++)
        if (n[i] >= NAMED * c->misses)
            named[n_named++] = i;
    if (n_named == 1) {
        bool all = n[named[0]] == c->misses;
        if (llround(c->misses) == 1) {
            str_printf(out, ", a %s miss", miss_kind_name[kind[named[0]]]);
            return;
        }
        str_printf(out, ", %s of them %s misses", all ? "all" : "nearly all",
                   miss_kind_name[kind[named[0]]]);
        return;
    }
    for (int i = 0; i < n_named; i++) {
        str_add(out, i == 0 ? ": " : i < n_named - 1 ? ", " : " and ");
        text_count(out, llround(n[named[i]]));
        str_printf(out, " %s", miss_kind_name[kind[named[i]]]);
    }
    str_add(out, " misses");
}

void lens_cause_print(struct str *out, const struct lens *l, const struct lens_cause *c)
{
    str_printf(out, "%s %s has ", l->site[c->site].is_store ? "Store" : "Load",
               l->site[c->site].text);
    if (llround(l->all.misses) == 1) {
        str_add(out, "the only miss in L1");
    } else {
        text_count(out, llround(c->misses));
        str_add(out, " of the ");
        text_count(out, llround(l->all.misses));
        str_add(out, " misses in L1");
    }
    add_kinds(out, c);
    str_add(out, ".");
}

static bool holds_loops(const struct lens *l, int loop)
{
    for (int i = 0; i < l->n_loops; i++)
        if (l->loop[i].parent == loop)
            return true;
    return false;
}

/* Appends "K, the innermost loop, moves it by 2 048 bytes: every iteration needs another line." or
 * "MN moves it by 2 048 bytes every 512 iterations." */
static void add_move(struct str *out, const struct lens *l, const struct lens_cause *c)
{
    if (c->moves < 0 || c->again < 0)
        return;
    bool innermost = c->moves == l->site[c->site].loop;
    str_printf(out, "%s%s moves it by ", l->loop[c->moves].axis,
               !innermost ? "" : holds_loops(l, c->moves) ? ", the innermost loop around it,"
                                                          : ", the innermost loop,");
    add_count(out, c->stride, "byte");
    if (c->moves_every == 1) {
        str_printf(out, ": every iteration needs %s. ",
                   innermost ? "another line" : "other lines");
        return;
    }
    str_add(out, " every ");
    str_count(out, c->moves_every);
    str_add(out, " iterations. ");
}

/* Appends "The next iteration of N needs" or "After 512 iterations, MN needs". */
static void add_needs(struct str *out, const struct lens *l, const struct lens_cause *c)
{
    const char *loop = l->loop[c->again].axis;
    if (c->again_after == 1) {
        str_printf(out, "The next iteration of %s needs", loop);
        return;
    }
    str_add(out, "After ");
    str_count(out, c->again_after);
    str_printf(out, " iterations, %s needs", loop);
}

/* Appends "The next iteration of N needs its 512 lines again, but by then 545 lines were touched,
 * and L1 holds 512." */
static void add_again(struct str *out, const struct lens *l, const struct lens_cause *c)
{
    bool loop = c->again >= 0;
    int64_t lines = loop ? c->lines : l->buffer[l->site[c->site].buffer].lines;
    if (!loop && !c->before) {
        str_add(out, "Its lines are evicted before they are touched again.");
        return;
    }
    if (loop)
        add_needs(out, l, c);
    else
        str_add(out, "An earlier nest has touched");
    str_add(out, " its ");
    add_count(out, lines, "line");
    str_add(out, loop ? " again, but by then " : ", but L1 holds ");
    if (loop) {
        add_count(out, c->touched, "line");
        str_add(out, " were touched, and L1 holds ");
    }
    str_count(out, (int64_t)l->n_sets * l->ways);
    str_add(out, ".");
}

static void add_conflict(struct str *out, const struct lens *l, int site)
{
    for (int i = 0; i < l->n_pairs; i++)
        if (l->pair[i].site == site && l->pair[i].loop >= 0) {
            lens_stride_print(out, l, &l->pair[i]);
            str_add(out, ".");
            return;
        }
    str_add(out, "More lines share a set than it has ways.");
}

/* If the moves reach few sets, appends " Moves of 2 048 bytes reach only 2 of 64 sets, which hold
 * 16 lines: one more would conflict even in an otherwise empty L1." */
static void add_few_sets(struct str *out, const struct lens *l, const struct lens_cause *c)
{
    int64_t sets = c->moves >= 0 && c->again >= 0 ? lens_sets(l, c->stride) : l->n_sets;
    /* The loops inside of the loop `moves` reach the neighbouring sets, too.  Lanes that count as
     * its iterations (lens_steps) do not. */
    if (c->moves >= 0 && c->stride != l->site[c->site].apart)
        sets *= lens_lines(l, c->site, c->moves, 1, NULL);
    if (4 * sets > l->n_sets || sets * l->ways >= c->lines)
        return;
    str_add(out, " Moves of ");
    add_count(out, c->stride, "byte");
    str_printf(out, " reach only %d of %d sets, which hold ", (int)sets, l->n_sets);
    add_count(out, sets * l->ways, "line");
    str_add(out, ": one more would conflict even in an otherwise empty L1.");
}

void lens_reason_print(struct str *out, const struct lens *l, const struct lens_cause *c)
{
    switch (lens_kind(c)) {
    case MISS_COMPULSORY:
        str_printf(out, "%s has ", l->buffer[l->site[c->site].buffer].name);
        add_count(out, l->buffer[l->site[c->site].buffer].lines, "line");
        str_add(out, ", and the first touch of each one misses.");
        break;
    case MISS_CAPACITY:
        add_move(out, l, c);
        add_again(out, l, c);
        add_few_sets(out, l, c);
        break;
    case MISS_CONFLICT:
        add_conflict(out, l, c->site);
        break;
    }
}

/* --- No cure ---------------------------------------------------------------------------------- */

static void add_not_better(struct str *out, const struct lens *l, const struct lens_look *k)
{
    const struct forecast *best = forecast_least(k->cure, k->n_cures);
    str_printf(out, "No candidate leaves clearly fewer misses: the best of %d, ", k->n_cures);
    for (const char *c = best->line; *c; c++)
        str_add(out, *c == '\n' ? "; " : (char[2]){ *c, 0 });
    str_printf(out, ", leaves %.0f %%. ", 100 * (double)best->misses.l1_misses
                                          / fmax(1, (double)k->now->misses.l1_misses));
    text_count(out, llround(l->all.compulsory));
    str_add(out, " of the ");
    text_count(out, llround(l->all.misses));
    str_add(out, " misses are compulsory. Steps that the lens does not try may avoid others.");
}

void lens_no_cure_print(struct str *out, const struct lens *l, const struct lens_look *k)
{
    switch (forecast_result(l, k->now, k->cure, k->n_cures)) {
    case CURE_HELPS:
    case CURE_RESULT_COUNT:
        break;
    case CURE_NO_MISSES:
        str_add(out, "There is nothing to cure.");
        break;
    case CURE_COMPULSORY:
        str_add(out, "Nearly all misses are compulsory: each line is touched for the first time, "
                     "once. No order of loops or dimensions avoids that.");
        break;
    case CURE_NO_CANDIDATE:
        str_add(out, "There is no candidate: no loop can be moved or split so that its lines come "
                     "back sooner.");
        break;
    case CURE_NONE_LEGAL:
        str_printf(out, "No candidate is legal here; %d were tried.", k->n_cures);
        break;
    case CURE_NONE_BETTER:
        add_not_better(out, l, k);
        break;
    }
}
