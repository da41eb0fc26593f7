#include "app/views/lens_doc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "app/ui/text.h"

#define SOME 0.05                         /* a smaller share of conflict misses is not shown */
#define MOST_CURES 5                      /* most cures in each of the two lists of cures */
#define FEW 50  /* pairs with less than 1/50 of the misses of the first pair are left out */
#define MOST_COLUMNS 100
#define LABEL 13                          /* columns before a picture */

struct lens_pane { struct doc *d; const struct lens *l; const struct lens_look *k; };

static void end(struct lens_pane *v)
{
    struct line *line = doc_end(v->d);
    line->id = LENS_OTHER_LINES + v->d->lines.len;
}

/* Adds a title with a remark behind it, or below if there is no room. Returns the title's line. */
static struct line *put_title(struct lens_pane *v, const char *title, const char *remark)
{
    doc_line(v->d, STYLE_PLAIN, "");
    doc_put(v->d, STYLE_STRONG, title);
    int at = v->d->lines.len;
    if (doc_col(v->d) + 2 + text_width(remark) > v->k->width) {
        doc_end(v->d);
        doc_pad(v->d, 2);
        doc_fit(v->d, STYLE_DIM, remark, v->k->width - 2);
    } else {
        doc_printf(v->d, STYLE_DIM, "  %s", remark);
    }
    doc_end(v->d);
    return &v->d->lines.data[at];
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

/* --- Misses, conflicts and cures -------------------------------------------------------------- */

static void put_causes(struct lens_pane *v)
{
    const struct lens *l = v->l;
    int n = lens_n_culprits(l);
    struct str title = {0};
    str_add(&title, "L1 misses of the whole run");
    if (l->n_columns == 0)
        str_add(&title, ", estimated from the window");
    else if (l->simulated < 0.999)
        str_printf(&title, ", estimated from %.2g %% of it", 100 * l->simulated);
    put_title(v, "What misses", str_text(&title));
    str_free(&title);
    for (int i = 0; i < n; i++) {
        struct str what = {0}, why = {0};
        lens_cause_print(&what, l, &l->cause[i]);
        lens_reason_print(&why, l, &l->cause[i]);
        put_text(v, STYLE_PLAIN, &what);
        if (why.len > 0) {
            doc_pad(v->d, 4);
            doc_wrap(v->d, STYLE_NOTE, str_text(&why), v->k->width, 4);
        }
        str_free(&why);
    }
    if (n == 0)
        put_prose(v, "Nothing misses.");
    if (l->simulated < 0.999 && v->k->counted >= 0) {
        struct str exact = {0};
        str_add(&exact, "The measurement of this step has simulated the whole run: ");
        text_count(&exact, v->k->counted);
        str_add(&exact, v->k->counted == 1 ? " miss." : " misses.");
        str_add(&exact, " Numbers of the lens are estimates of it.");
        put_text(v, STYLE_DIM, &exact);
    }
}

/* Adds why the evicting access of pair i uses few sets, unless an earlier text has said so. */
static void put_stride(struct lens_pane *v, int i)
{
    const struct lens_pair *p = v->l->pair;
    struct str why = {0};
    for (int k = 0; k < lens_n_culprits(v->l); k++)
        if (lens_kind(&v->l->cause[k]) == MISS_CONFLICT && v->l->cause[k].site == p[i].site)
            return;
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
    put_title(v, "Who evicts whom", "conflict misses: more ways would have avoided them");
    for (int i = 0; i < l->n_pairs && l->pair[i].count * FEW >= l->pair[0].count; i++) {
        const struct lens_pair *p = &l->pair[i];
        struct str text = {0};
        text_count(&text, p->count);
        str_printf(&text, " %s of %s %s on lines evicted by %s: ",
                   p->count == 1 ? "miss" : "misses",
                   l->site[p->site].is_store ? "store" : "load", l->site[p->site].text,
                   p->by == p->site ? "itself" : l->site[p->by].text);
        lens_pair_print(&text, l, p);
        put_text(v, STYLE_PLAIN, &text);
        put_stride(v, i);
    }
    if (l->n_pairs == 0)
        put_prose(v, "There are no conflict misses in this window.");
}

static void add_change(struct str *out, const char *what, int64_t from, int64_t to)
{
    str_printf(out, "%s ", what);
    text_count(out, from);
    str_add(out, " to ");
    text_count(out, to);
}

/* Adds "time about -78 %, ", if it can be predicted (forecast_ms).  A step that takes away most
 * conflict misses may gain more, because these often miss L2 as well, which is not predicted, and
 * less if something else bounds the time.  No cure gains more than what the state lacks of the FMA
 * ceiling. */
static void add_time(const struct lens_look *k, const struct forecast *cure, struct str *out)
{
    double ms = k->model ? forecast_ms(k->now, k->model, k->target) : 0;
    double after = k->model ? forecast_ms(cure, k->model, k->target) : 0;
    if (ms <= 0 || after <= 0)
        return;
    double predicted = after / ms - 1, change = forecast_bounded(predicted, k->timed, k->target);
    text_about_time(out, change);
    bool beyond = change == predicted && predicted <= 0
             && cure->misses.conflicts < k->now->misses.conflicts / 2;
    str_add(out, beyond ? " (L2 not counted), " : ", ");
}

/* Adds the predicted effect of cure i behind the last line of the cure, from `column` on. If there
 * is no room, or column is 0, adds the effect on a new line. */
static void put_effect(struct lens_pane *v, int i, int column)
{
    static const char *const cost[TILE_FATE_COUNT] = {
        "", ", but the tile spills: usually slower",
        ", but the tile leaves the registers: usually slower",
    };
    const struct lens_look *k = v->k;
    const struct prediction *to = &k->cure[i].misses, *from = &k->now->misses;
    struct str text = {0};
    add_time(k, &k->cure[i], &text);
    add_change(&text, "misses", from->l1_misses, to->l1_misses);
    if ((double)(from->conflicts + to->conflicts) > SOME * (double)from->l1_misses)
        add_change(&text, ", conflict misses", from->conflicts, to->conflicts);
    if (to->fraction < 1)
        str_printf(&text, " (of L1, from %.2g %% of the run)", 100 * to->fraction);
    str_add(&text, k->cure[i].other_contract ? ", other contract" : "");
    str_add(&text, cost[k->cure[i].tile]);
    doc_pad(v->d, column);
    bool fits = column > 0 && doc_col(v->d) + text_width(str_text(&text)) <= k->width;
    if (!fits) {
        doc_end(v->d);
        doc_pad(v->d, 6);
    }
    doc_wrap(v->d, k->cure[i].tile == TILE_STAYS ? STYLE_GOOD : STYLE_BAD, str_text(&text),
             k->width, 8);
    str_free(&text);
}

/* Adds the cures that help. If `several` is set, adds those of several steps, else those of one
 * step. Returns the number of added cures, at most MOST_CURES. */
static int put_cures_of(struct lens_pane *v, bool several, const char *title)
{
    const struct lens_look *k = v->k;
    int n = 0, chosen[MOST_CURES], widest = 0;
    for (int i = 0; i < k->n_cures && n < MOST_CURES; i++)
        if (forecast_helps(&k->cure[i], k->now) && forecast_is_long(&k->cure[i]) == several)
            chosen[n++] = i;
    for (int i = 0; i < n && !several; i++) {
        int width = text_width(k->cure[chosen[i]].line);
        widest = width > widest ? width : widest;
    }
    if (n > 0)
        put_title(v, title, k->keys ? "predicted effect; Enter applies one"
                                     : "predicted effect");
    for (int i = 0; i < n; i++) {
        const char *line = k->cure[chosen[i]].line;
        int first = v->d->lines.len;
        for (size_t len; line[len = strcspn(line, "\n")]; line += len + 1) {
            doc_printf(v->d, STYLE_KEY, "  %.*s", (int)len, line);
            doc_end(v->d);
        }
        doc_printf(v->d, STYLE_KEY, "  %s", line);
        put_effect(v, chosen[i], several ? 0 : 2 + widest + 2);
        for (int at = first; at < v->d->lines.len; at++) {
            v->d->lines.data[at].id = chosen[i];
            v->d->lines.data[at].more = at > first;      /* the cursor goes from cure to cure */
        }
    }
    return n;
}

static void put_cures(struct lens_pane *v)
{
    const struct lens_look *k = v->k;
    struct str text = {0};
    if (k->predicted) {
        int n = put_cures_of(v, false, "Cures of one step");
        n += put_cures_of(v, true, "Cures of several steps");
        if (n > 0)
            return;
        lens_no_cure_print(&text, v->l, k);
    } else if (k->stopped) {
        str_add(&text, "The predictions were cancelled; :lens starts them again.");
    } else {
        str_printf(&text, "Predicting the misses after each of %d candidates; Esc cancels.",
                   k->n_cures);
    }
    put_title(v, "Cures", "");
    put_text(v, STYLE_DIM, &text);
}

/* --- Playback --------------------------------------------------------------------------------- */

/* Finds the last touch of buffer b among the touches 0 to `at`. Returns the line that it touched;
 * -1: there is no such touch. */
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

/* Draws buffer b with a cell for each cache line: at most `rows` rows, around the line that was
 * touched last. Draws nothing if no line of b was touched yet. If the layout has several rows of
 * whole lines, and one of them fits into the pane, each row of cells is a row of the layout. */
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
    str_printf(&text, " line%s, %d a row", of->lines == 1 ? "" : "s", row);
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
                   l->site[t->site].text, t->conflict ? "has a conflict miss on"
                                          : t->missed ? "misses" : "hits");
    lens_line_print(&text, l, t->line);
    str_printf(&text, " in set %d", lens_set_of(l, t->line));
    if (t->evicted >= 0) {
        str_add(&text, ", evicting ");
        lens_line_print(&text, l, t->evicted);
    }
    put_text(v, t->conflict ? STYLE_BAD : STYLE_PLAIN, &text);
}

static void put_loops(struct lens_pane *v)
{
    const struct lens *l = v->l;
    int around[LENS_DEEPEST], n = lens_around(l, v->k->at, around);
    doc_put(v->d, STYLE_DIM, "  loops:");
    for (int i = 0; i < n; i++) {
        doc_put(v->d, STYLE_PLAIN, " ");
        doc_printf(v->d, around[i] == v->k->loop && v->k->keys ? STYLE_TAB : STYLE_PLAIN, "%s=%lld",
                   l->loop[around[i]].axis, (long long)lens_value(l, around[i], v->k->at));
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
                         : "the first conflict miss, or the first touch")->id = LENS_PLAYBACK;
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
        /* lens_grid puts set s into row s * rows / n_sets */
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
    long long width = llround((whole ? l->accesses : l->n_touches) / columns);
    str_add(&legend, "a column is ");
    str_count(&legend, width);
    str_printf(&legend, " %s; the darkest cell has ", whole ? width == 1 ? "access" : "accesses"
                                                      : width == 1 ? "touch" : "touches");
    str_count(&legend, llround(most));
    str_add(&legend, llround(most) == 1 ? " miss" : " misses");
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
    str_printf(&text, ": %d set%s of %d way%s. The playback has ", l->n_sets,
               l->n_sets == 1 ? "" : "s", l->ways, l->ways == 1 ? "" : "s");
    str_count(&text, l->n_touches);
    str_add(&text, l->n_touches == 1 ? " touch of lines" : " touches of lines");
    if (l->iterations > 0) {
        str_add(&text, " from iteration ");
        str_count(&text, l->from);
        str_add(&text, " of ");
        str_count(&text, l->iterations);
        if (l->n_marks == 1)
            str_printf(&text, " (%s)", l->along);
        else
            str_add(&text, " of all nests");
    }
    str_add(&text, "; ");
    str_count(&text, l->misses);
    str_add(&text, l->misses == 1 ? " of these misses, " : " of these miss, ");
    str_count(&text, l->conflicts);
    str_add(&text, " by conflicts.");
    doc_wrap(v->d, STYLE_PLAIN, str_text(&text), v->k->width, 2);
    v->d->lines.data[0].id = LENS_OTHER_LINES;
    str_free(&text);
    if (v->k->keys && l->n_touches > 0)
        doc_wrap(v->d, STYLE_NOTE, "Right or l goes to the playback and plays it, touch by touch.",
                 v->k->width, 2);
}

void lens_doc(struct doc *d, const struct lens *l, const struct lens_look *k)
{
    struct lens_pane v = { d, l, k };
    put_head(&v);
    if (l->n_touches == 0)
        return;
    put_causes(&v);
    if (k->now)
        put_cures(&v);
    put_pairs(&v);
    put_playback(&v);
    put_sets(&v);
}
