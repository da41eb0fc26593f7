#include "app/views/lens_doc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "app/ui/text.h"

#define MOST_CURES 6
#define FEW 50  /* pairs with less than 1/50 of the first one's misses are left out */
#define HELPS 0.95  /* a step is a cure if it leaves at most this share of the misses */
#define MOST_COLUMNS 100
#define LABEL 13                          /* columns before a picture */

struct lens_pane { struct doc *d; const struct lens *l; const struct lens_look *k; };

static void end(struct lens_pane *v)
{
    struct line *line = doc_end(v->d);
    line->id = LENS_OTHER_LINES + v->d->lines.len;
}

static void put_title(struct lens_pane *v, const char *title, const char *remark)
{
    doc_line(v->d, STYLE_PLAIN, "");
    doc_put(v->d, STYLE_STRONG, title);
    if (doc_col(v->d) + 2 + text_width(remark) <= v->k->width)
        doc_printf(v->d, STYLE_DIM, "  %s", remark);
    doc_end(v->d);
}

static void put_text(struct lens_pane *v, enum style style, struct str *text)
{
    doc_pad(v->d, 2);
    doc_wrap(v->d, style, str_text(text), v->k->width, 4);
    str_free(text);
}

static void put_prose(struct lens_pane *v, const char *text)
{
    struct str s = {0};
    str_add(&s, text);
    put_text(v, STYLE_DIM, &s);
}

/* --- Conflicts and cures ---------------------------------------------------------------------- */

static void add_line(struct str *out, const struct lens *l, int32_t line)
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
    add_line(out, l, p->line);
    str_add(out, " and ");
    add_line(out, l, p->other);
    str_printf(out, " share set %d", p->set);
    if (p->held > 0)
        str_printf(out, ", where %s has %d of %d ways",
                   l->buffer[lens_buffer_of(l, p->other)].name, p->held, l->ways);
}

void lens_stride_print(struct str *out, const struct lens *l, const struct lens_pair *p)
{
    if (p->loop < 0)
        return;
    str_printf(out, "%s moves by ", l->site[p->by].text);
    str_count(out, p->stride);
    str_printf(out, " bytes with each %s: ", l->loop[p->loop].axis);
    str_count(out, p->trips);
    str_printf(out, " iterations use %d of %d sets, which hold ", p->sets, l->n_sets);
    str_count(out, p->sets * l->ways);
    str_add(out, " lines");
}

/* Adds the reason why the access of pair i uses few sets, unless an earlier pair has it too. */
static void put_stride(struct lens_pane *v, int i)
{
    const struct lens_pair *p = v->l->pair;
    struct str why = {0};
    for (int k = 0; k < i; k++)
        if (p[k].by == p[i].by)
            return;
    lens_stride_print(&why, v->l, &p[i]);
    if (why.len > 0)
        put_text(v, STYLE_NOTE, &why);
    else
        str_free(&why);
}

static void put_pairs(struct lens_pane *v)
{
    const struct lens *l = v->l;
    put_title(v, "Who evicts whom", "misses that more ways would have avoided");
    for (int i = 0; i < l->n_pairs && l->pair[i].count * FEW >= l->pair[0].count; i++) {
        const struct lens_pair *p = &l->pair[i];
        struct str text = {0};
        text_count(&text, p->count);
        str_printf(&text, " misses of %s %s on lines evicted by %s: ",
                   l->site[p->site].is_store ? "store" : "load", l->site[p->site].text,
                   p->by == p->site ? "itself" : l->site[p->by].text);
        lens_pair_print(&text, l, p);
        put_text(v, STYLE_PLAIN, &text);
        put_stride(v, i);
    }
    if (l->n_pairs == 0)
        put_prose(v, "None in this window: no line was evicted for want of ways.");
}

int lens_cures_that_help(const struct lens_look *k)
{
    int n = 0;
    while (k->now && k->now->ok && n < k->n_cures && k->cure[n].ok
           && (double)k->cure[n].misses.l1_misses
                  < HELPS * (double)k->now->misses.l1_misses)
        n++;
    return n;
}

static void add_change(struct str *out, const char *what, int64_t from, int64_t to)
{
    str_printf(out, "%s ", what);
    text_count(out, from);
    str_add(out, " to ");
    text_count(out, to);
}

static void put_cures(struct lens_pane *v)
{
    const struct lens_look *k = v->k;
    int n = lens_cures_that_help(k), widest = 0;
    n = n < MOST_CURES ? n : MOST_CURES;
    put_title(v, "Cures, as predicted", k->keys ? "Enter applies the selected one" : "");
    for (int i = 0; i < n; i++)
        widest = text_width(k->cure[i].line) > widest ? text_width(k->cure[i].line) : widest;
    for (int i = 0; i < n; i++) {
        const struct prediction *to = &k->cure[i].misses, *from = &k->now->misses;
        struct str text = {0};
        doc_printf(v->d, STYLE_KEY, "  %s", k->cure[i].line);
        doc_pad(v->d, 2 + widest + 2);
        add_change(&text, "conflict misses", from->conflicts, to->conflicts);
        add_change(&text, ", all", from->l1_misses, to->l1_misses);
        if (to->fraction < 1)
            str_printf(&text, " (%.2g %% simulated)", 100 * to->fraction);
        bool fits = doc_col(v->d) + text_width(str_text(&text)) <= k->width;
        if (!fits) {
            doc_end(v->d)->id = i;
            doc_pad(v->d, 6);
        }
        if (fits)
            doc_line(v->d, STYLE_GOOD, str_text(&text))->id = i;
        else
            doc_wrap(v->d, STYLE_GOOD, str_text(&text), k->width, 8);
        str_free(&text);
    }
    if (n == 0)
        put_prose(v, k->n_cures == 0 ? "There is nothing to cure."
                                     : "No step that was tried has fewer misses.");
}

/* --- Playback --------------------------------------------------------------------------------- */

/* Returns the line of buffer b that was touched last, up to touch `at`; -1: none. */
static int32_t last_line(const struct lens *l, int b, int at)
{
    const struct lens_buffer *of = &l->buffer[b];
    for (int i = at; i >= 0; i--)
        if (l->touch[i].line >= of->first && l->touch[i].line < of->first + of->lines)
            return l->touch[i].line;
    return -1;
}

static void put_cell(struct lens_pane *v, const struct lens_touch *t, const bool *held,
                     int32_t line)
{
    bool here = line == t->line;
    if (here)
        doc_put(v->d, t->missed ? STYLE_BAD | STYLE_REVERSE : STYLE_GOOD | STYLE_REVERSE,
                t->missed ? "M" : t->site == LENS_PREFETCH ? "P" : "H");
    else if (line == t->evicted)
        doc_put(v->d, STYLE_NOTE, "X");
    else
        doc_put(v->d, held[line] ? STYLE_PLAIN : STYLE_DIM, held[line] ? "o" : ".");
}

/* Draws up to `rows` rows of a buffer around a line, as its physical rows lie in memory. */
static void put_buffer(struct lens_pane *v, const struct lens_touch *t, const bool *held, int b,
                       int rows)
{
    const struct lens_buffer *of = &v->l->buffer[b];
    int room = v->k->width - LABEL < MOST_COLUMNS ? v->k->width - LABEL : MOST_COLUMNS;
    int32_t near = last_line(v->l, b, v->k->at), row = of->per_row;
    if (near < 0)
        return;
    near -= of->first;
    room = room < 8 ? 8 : room;
    if (row == 0 || row > room || row == of->lines)
        row = of->lines < room ? of->lines : room;
    int32_t all = (of->lines + row - 1) / row, top = near / row - rows / 2;
    top = top > all - rows ? all - rows : top;
    top = top < 0 ? 0 : top;
    doc_printf(v->d, STYLE_STRONG, "  %s", of->name);
    struct str text = {0};
    str_printf(&text, "%s%s  ", of->notation[0] ? "  " : "", of->notation);
    str_count(&text, of->lines);
    str_printf(&text, " lines, %d a row", row);
    doc_put(v->d, STYLE_DIM, str_text(&text));
    str_free(&text);
    end(v);
    for (int32_t y = top; y < top + rows && y < all; y++) {
        doc_printf(v->d, STYLE_DIM, "%*d ", LABEL - 1, y * row);
        for (int32_t x = y * row; x < (y + 1) * row && x < of->lines; x++)
            put_cell(v, t, held, of->first + x);
        end(v);
    }
}

static void put_touch(struct lens_pane *v, const struct lens_touch *t)
{
    const struct lens *l = v->l;
    struct str text = {0};
    str_add(&text, "touch ");
    str_count(&text, v->k->at + 1);
    str_add(&text, " of ");
    str_count(&text, l->n_touches);
    str_add(&text, ": ");
    if (t->site == LENS_PREFETCH)
        str_add(&text, "the prefetcher brings ");
    else
        str_printf(&text, "%s %s %s ", l->site[t->site].is_store ? "store" : "load",
                   l->site[t->site].text, t->conflict ? "misses for want of ways, on"
                                          : t->missed ? "misses" : "hits");
    add_line(&text, l, t->line);
    str_printf(&text, " in set %d", lens_set_of(l, t->line));
    if (t->evicted >= 0) {
        str_add(&text, ", evicting ");
        add_line(&text, l, t->evicted);
    }
    put_text(v, t->conflict ? STYLE_BAD : STYLE_PLAIN, &text);
}

static void put_loops(struct lens_pane *v)
{
    const struct lens *l = v->l;
    doc_put(v->d, STYLE_DIM, "  loops:");
    for (int i = 0; i < l->n_loops; i++) {
        int64_t value = lens_value(l, i, v->k->at);
        if (value >= 0)
            doc_printf(v->d, i == v->k->loop && v->k->keys ? STYLE_TAB : STYLE_PLAIN, " %s=%lld",
                       l->loop[i].axis, (long long)value);
    }
    end(v);
}

static void put_playback(struct lens_pane *v)
{
    const struct lens *l = v->l;
    bool *held = xcalloc((size_t)l->n_lines + 1, sizeof *held);
    const struct lens_touch *t = &l->touch[v->k->at];
    int here = lens_buffer_of(l, t->line);
    put_title(v, "Playback",
              v->k->keys ? "l h: touch; . ,: iteration; o: of which loop; z: conflict"
                         : "the first conflict miss, or the first touch");
    put_touch(v, t);
    put_loops(v);
    put_prose(v, ". not in L1   o in L1   H hit   M missed   X evicted");
    lens_held(l, v->k->at, held);
    for (int i = 0; i < l->n_buffers; i++)
        put_buffer(v, t, held, i, i == here ? v->k->rows / 2 : v->k->rows / 6 + 1);
    free(held);
}

/* --- Sets over time --------------------------------------------------------------------------- */

static void put_sets(struct lens_pane *v)
{
    static const char *const shade[] = { "·", "░", "▒", "▓", "█" };
    const struct lens *l = v->l;
    bool whole = l->n_columns > 0;
    int rows = l->n_sets < v->k->rows ? l->n_sets : v->k->rows;
    double most = 0;
    int columns = v->k->width - LABEL < MOST_COLUMNS ? v->k->width - LABEL : MOST_COLUMNS;
    columns = columns < 8 ? 8 : columns;
    int limit = whole ? l->n_columns : l->n_touches;
    columns = columns < limit ? columns : limit;
    double *cell = xcalloc((size_t)(rows * columns), sizeof *cell);
    lens_grid(l, whole, rows, columns, cell);
    for (int i = 0; i < rows * columns; i++)
        most = fmax(most, cell[i]);
    struct str title = {0};
    str_add(&title, whole ? "L1 misses of the whole run" : "L1 misses; time goes to the right");
    if (whole && l->simulated < 0.999)
        str_printf(&title, ", from %.2g %% of it", 100 * l->simulated);
    put_title(v, "Sets over time", str_text(&title));
    str_free(&title);
    for (int y = 0; y < rows; y++) {
        /* as lens_grid: set s is in row s * rows / n_sets */
        int from = (y * l->n_sets + rows - 1) / rows;
        int to = ((y + 1) * l->n_sets + rows - 1) / rows - 1;
        struct str label = {0};
        str_printf(&label, from == to ? "set %d" : "sets %d-%d", from, to);
        doc_printf(v->d, STYLE_DIM, "%*s ", LABEL - 1, str_text(&label));
        str_free(&label);
        for (int x = 0; x < columns; x++) {
            double n = cell[y * columns + x];
            int dark = (int)ceil(4 * n / fmax(most, 1));
            doc_put(v->d, dark == 4 ? STYLE_BAD : dark >= 2 ? STYLE_NOTE : STYLE_DIM, shade[dark]);
        }
        end(v);
    }
    struct str legend = {0};
    str_add(&legend, "a column is ");
    str_count(&legend, llround((whole ? l->accesses : l->n_touches) / columns));
    str_printf(&legend, " %s; the darkest cell has ", whole ? "accesses" : "touches");
    str_count(&legend, llround(most));
    str_add(&legend, " misses");
    doc_pad(v->d, v->k->width > 2 * LABEL ? LABEL : 2);
    doc_wrap(v->d, STYLE_DIM, str_text(&legend), v->k->width, LABEL);
    str_free(&legend);
    free(cell);
}


static void put_head(struct lens_pane *v)
{
    const struct lens *l = v->l;
    struct str text = {0};
    cache_config_print(&text, &l->cache);
    str_printf(&text, ": %d sets of %d ways; ", l->n_sets, l->ways);
    str_count(&text, l->n_touches);
    str_add(&text, " touches of lines");
    if (l->iterations > 0) {
        str_add(&text, " from iteration ");
        str_count(&text, l->from);
        str_add(&text, " of ");
        str_count(&text, l->iterations);
        str_printf(&text, " (%s)", l->along);
    }
    str_add(&text, "; ");
    str_count(&text, l->misses);
    str_add(&text, " miss, ");
    str_count(&text, l->conflicts);
    str_add(&text, " of them for want of ways");
    doc_wrap(v->d, STYLE_PLAIN, str_text(&text), v->k->width, 2);
    str_free(&text);
}

void lens_doc(struct doc *d, const struct lens *l, const struct lens_look *k)
{
    struct lens_pane v = { d, l, k };
    put_head(&v);
    if (l->n_touches == 0)
        return;
    put_pairs(&v);
    if (k->now)
        put_cures(&v);
    put_playback(&v);
    put_sets(&v);
}
