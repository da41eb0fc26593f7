#include "explorer/history/forecast.h"

#include <stdlib.h>
#include <string.h>
#include "explorer/history/command.h"

bool forecast_steps(const struct program *p, const struct predict_opts *o, const struct cancel *c,
                    struct forecast *row, int n, struct forecast *none, struct err *e)
{
    struct history *h;
    struct err refused;
    enum command_effect effect;
    if (!history_new(p->base->spec, &h, e))
        return false;
    bool ok = true;
    for (int i = 0; ok && i < p->n_steps && !cancelled(c); i++)
        ok = history_apply(h, p->steps[i], e);
    none->ok = ok && predict_misses(p, o, c, &none->misses, &refused);
    for (int i = 0; ok && i < n && !cancelled(c); i++) {
        row[i].ok = false;
        if (!command_run(h, row[i].line, &effect, &refused))
            continue;
        bool changed = effect == EFFECT_STATE || effect == EFFECT_REBASED;
        row[i].ok = changed && predict_misses(history_current(h)->program, o, c, &row[i].misses,
                                              &refused);
        ok = !changed || history_undo(h, 1, e);
    }
    history_free(h);
    return ok && (!cancelled(c) || err_set(e, ERR_CANCEL, "cancelled"));
}

static int by_misses(const void *a, const void *b)
{
    const struct forecast *x = a, *y = b;
    if (x->ok != y->ok || !x->ok)
        return y->ok - x->ok;
    int64_t m = x->misses.l1_misses, n = y->misses.l1_misses;
    return m != n ? (m > n ? 1 : -1) : strcmp(x->line, y->line);
}

void forecast_rank(struct forecast *row, int n)
{
    qsort(row, (size_t)n, sizeof *row, by_misses);
}

/* --- Cures ------------------------------------------------------------------------------------ */

struct curing { const struct program *p; struct arena *a; struct forecast *row; int n; };

static void add(struct curing *c, struct str *line)
{
    bool known = c->n == FORECAST_CURES;
    for (int i = 0; i < c->n; i++)
        known = known || streq(c->row[i].line, str_text(line));
    if (!known)
        c->row[c->n++] = (struct forecast){ .line = arena_strdup(c->a, str_text(line)) };
    str_free(line);
}

/* Cures to try: padding the innermost dimension by a cache line, padding other dimensions by one
 * element, and swapping the last two dimensions. */
static void add_layouts(struct curing *c, int tensor, int line_bytes)
{
    const struct layout *l = c->p->layout[tensor];
    const char *name = l->tensor->name;
    for (int i = l->rank - 1; i > 0; i--) {
        struct str s = {0};
        int by = i == l->rank - 1 ? line_bytes / l->tensor->type->bytes : 1;
        str_printf(&s, "layout pad %s %s after=%d", name, l->dim[i], by);
        add(c, &s);
    }
    struct str s = {0};
    str_printf(&s, "layout reorder %s", name);
    for (int i = 0; i < l->rank; i++)
        str_printf(&s, " %s", l->dim[i < l->rank - 2 ? i : 2 * l->rank - 3 - i]);
    if (l->rank >= 2)
        add(c, &s);
    else
        str_free(&s);
}

/* Cures to try at each loop: exchanging it with the neighbouring loop, and a tile for the
 * tensor. */
static void add_loops(struct curing *c, int node, int tensor)
{
    const struct stage *s = c->p->stage[node];
    for (int i = s->n_axes - 1; i > 0; i--) {
        struct str swap = {0}, tile = {0};
        str_printf(&swap, "loop reorder %s %s %s", s->name, s->axis[i].name, s->axis[i - 1].name);
        add(c, &swap);
        str_printf(&tile, "loop cache_read %s %s at=%s", s->name, c->p->graph->tensor[tensor].name,
                   s->axis[i].name);
        add(c, &tile);
    }
}

int forecast_cures(const struct program *p, const struct lens *l, struct arena *a,
                   struct forecast *row)
{
    struct curing c = { p, a, row, 0 };
    for (int i = 0; i < l->n_pairs; i++) {
        const struct lens_pair *pair = &l->pair[i];
        const int site[2] = { pair->by, pair->site };
        for (int k = 0; k < 2; k++) {
            const struct lens_site *s = &l->site[site[k]];
            int tensor = l->buffer[s->buffer].tensor;
            add_layouts(&c, tensor, l->line_bytes);
            if (s->node >= 0)
                add_loops(&c, s->node, tensor);
        }
    }
    return c.n;
}

bool forecast_lens(const struct program *p, const struct lens *l, const struct target *target,
                   const struct cancel *c, struct forecast *row, int *n, struct forecast *now,
                   struct err *e)
{
    const struct predict_opts o = { .cache = l->cache, .target = target, .conflicts = true };
    *n = l->conflicts > 0 ? forecast_cures(p, l, l->arena, row) : 0;
    bool ok = forecast_steps(p, &o, c, row, *n, now, e);
    forecast_rank(row, *n);
    return ok;
}
