/* The part of the profile that the cache simulator tells: levels, causes of misses, places in the
 * code, reuse distances, and where and when misses happen. */
#include "app/views/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "app/ui/canvas.h"
#include "app/ui/text.h"

#define NAME_WIDTH 10
#define MOST_BAR 40
#define MOST_SITES 6
#define REUSE_ROWS 5

static void heading(struct doc *d, const char *title, const char *remark, int width)
{
    doc_line(d, STYLE_PLAIN, "");
    doc_put(d, STYLE_STRONG, title);
    if (remark[0] && doc_col(d) + 2 + text_width(remark) <= width - 2)
        doc_printf(d, STYLE_DIM, "  %s", remark);
    doc_end(d);
}

static void put_name(struct doc *d, const char *name)
{
    doc_fit(d, STYLE_PLAIN, name, NAME_WIDTH - 1);
    doc_put(d, STYLE_PLAIN, " ");
}

static int clamp(int v, int lo, int hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* --- Levels ----------------------------------------------------------------------------------- */

static void put_levels(struct doc *d, const struct sim_result *s, int width)
{
    int bar = clamp(width - 50, 0, 24);
    heading(d, "Levels", "share of the accesses that miss", width);
    doc_printf(d, STYLE_DIM, "%-*s%10s%9s%9s%8s", NAME_WIDTH, "level", "accesses", "written",
               "misses", "rate");
    doc_end(d);
    for (int i = 0; i < s->cache.n_levels; i++) {
        const struct sim_level *l = &s->level[i];
        struct str name = {0};
        double rate = share(l->misses, l->accesses);
        int64_t kib = s->cache.level[i].geometry.size_bytes >> 10;
        str_printf(&name, "L%d %lld%c", i + 1, (long long)(kib % 1024 ? kib : kib / 1024),
                   kib % 1024 ? 'K' : 'M');
        put_name(d, str_text(&name));
        doc_count(d, STYLE_DIM, l->accesses, 10);
        doc_count(d, STYLE_DIM, l->writebacks, 9);
        doc_count(d, STYLE_PLAIN, l->misses, 9);
        doc_printf(d, STYLE_PLAIN, "%6.1f %% ", 100 * rate);
        doc_bar(d, STYLE_NOTE, rate, bar);
        doc_end(d);
        str_free(&name);
    }
}

/* --- Causes ----------------------------------------------------------------------------------- */

static const struct { const char *glyph; enum style style; const char *name; } cause[] = {
    { "░", STYLE_DIM, "compulsory" }, { "█", STYLE_NOTE, "capacity" },
    { "▒", STYLE_BAD, "conflict" },
};

/* Cells by the largest remainder that is left from above: they add up to the whole bar. */
static void put_stack(struct doc *d, const struct sim_classes *c, int64_t most, int width)
{
    const int64_t part[] = { c->compulsory, c->capacity, c->conflict };
    int64_t sum = 0;
    int drawn = 0;
    for (int k = 0; k < COUNT_OF(cause); k++) {
        sum += part[k];
        int to = (int)lround(share(sum, most) * width);
        if (to == drawn && part[k] > 0 && drawn < width)
            to++;                         /* what is there is seen */
        for (; drawn < to; drawn++)
            doc_put(d, cause[k].style, cause[k].glyph);
    }
}

static int64_t total_of(const struct sim_classes *c)
{
    return c->compulsory + c->capacity + c->conflict;
}

static void put_cause_row(struct doc *d, const char *name, const struct sim_classes *c,
                          int64_t most, int width)
{
    const int64_t part[] = { c->compulsory, c->capacity, c->conflict };
    int columns = width >= 60 ? 9 : 0;
    put_name(d, name);
    for (int k = 0; columns > 0 && k < COUNT_OF(cause); k++)
        doc_count(d, cause[k].style, part[k], k ? columns : columns + 2);
    if (columns == 0)
        doc_count(d, STYLE_PLAIN, total_of(c), 8);
    doc_put(d, STYLE_PLAIN, "  ");
    put_stack(d, c, most, clamp(width - 2 - doc_col(d), 4, MOST_BAR));
    doc_end(d);
}

static void put_causes(struct doc *d, const struct sim_result *s, int width)
{
    const struct sim_detail *detail = s->detail;
    int n = detail->n_tensors < s->n ? detail->n_tensors : s->n;
    int64_t most = 0;
    heading(d, "Why L1 missed", "first touches, too small, too few ways", width);
    doc_pad(d, NAME_WIDTH);
    for (int k = 0; k < COUNT_OF(cause); k++)
        doc_printf(d, cause[k].style, width >= 60 ? "%*s%s" : "%*s%s ",
                   width >= 60 ? (k ? 9 : 11) - (int)strlen(cause[k].name) : 0, "", cause[k].name);
    doc_put(d, STYLE_DIM, "  ");
    for (int k = 0; width >= 60 && k < COUNT_OF(cause); k++)
        doc_put(d, cause[k].style, cause[k].glyph);
    doc_end(d);
    for (int i = 0; i < n; i++) {
        int64_t sum = total_of(&detail->tensor[i].classes);
        most = sum > most ? sum : most;
    }
    for (int i = 0; i < n; i++)
        put_cause_row(d, s->by_tensor[i].tensor, &detail->tensor[i].classes, most, width);
    if (n > 1)
        put_cause_row(d, "all", &detail->classes, total_of(&detail->classes), width);
}

/* --- Places in the code ----------------------------------------------------------------------- */

static void put_sites(struct doc *d, const struct sim_result *s, int width)
{
    int shown = 0;
    heading(d, "Where in the code", "accesses, L1 misses", width);
    for (int i = 0; i < s->n_sites && shown < MOST_SITES; i++) {
        const struct sim_site *site = &s->site[i];
        if (site->l1_misses == 0)
            continue;
        doc_count(d, STYLE_DIM, site->accesses, 7);
        doc_count(d, STYLE_PLAIN, site->l1_misses, 8);
        doc_printf(d, STYLE_DIM, " %4.0f %%  %-5s ", 100 * share(site->l1_misses, s->l1_misses),
                   site->is_store ? "store" : "load");
        doc_fit(d, STYLE_PLAIN, site->text, clamp(width - 2 - doc_col(d), 4, 200));
        doc_end(d);
        shown++;
    }
    if (shown == 0)
        doc_line(d, STYLE_DIM, "no place in the code missed");
}

/* --- Reuse distance --------------------------------------------------------------------------- */

static int64_t lines_of(const struct cache_geometry *g)
{
    return g->line_bytes > 0 ? g->size_bytes / g->line_bytes : 0;
}

/* Bucket b holds distances from 2^(b-1): where 2^b is the capacity, b + 1 is beyond it. */
static int first_beyond(int64_t lines)
{
    int b = 0;
    while (b < SIM_REUSE_BUCKETS && (b == 0 || (int64_t)1 << (b - 1) < lines))
        b++;
    return b;
}

/* Columns of `step` cells, one a bucket; the last one, after a gap, is what was never touched
 * before. */
static void draw_reuse(struct canvas *c, const struct sim_reuse *r, int last, int64_t most,
                       int step)
{
    int height = 4 * REUSE_ROWS;
    for (int b = 0; b <= last + 1; b++) {
        int64_t n = b <= last ? r->bucket[b] : r->first;
        int h = (int)lround(share(n, most) * height), at = b <= last ? b : b + 1;
        h = n > 0 && h == 0 ? 1 : h;
        for (int x = 0; x < 2 * step - 1; x++)
            for (int y = 0; y < h; y++)
                canvas_dot(c, 2 * step * at + x, height - 1 - y,
                           b <= last ? STYLE_NOTE : STYLE_DIM);
    }
}

static void label_reuse(struct canvas *c, const struct sim_result *s, int last, int step)
{
    for (int b = 0; b <= last; b += 4) {
        struct str t = {0};
        text_count(&t, b ? (int64_t)1 << (b - 1) : 0);
        if (!canvas_written(c, step * b - 1, REUSE_ROWS, (int)t.len + 1))
            canvas_text(c, step * b, REUSE_ROWS, STYLE_DIM, str_text(&t));
        str_free(&t);
    }
    canvas_text(c, step * (last + 2), REUSE_ROWS, STYLE_DIM, "never");
    for (int i = 0; i < s->cache.n_levels; i++) {
        int at = step * first_beyond(lines_of(&s->cache.level[i].geometry));
        char name[24];
        if (at > step * (last + 1))
            continue;
        snprintf(name, sizeof name, "│L%d", i + 1);
        for (int y = 0; y < REUSE_ROWS; y++)
            if (canvas_used(c, at - 1, y, 1) == 0)
                canvas_text(c, at - 1, y, STYLE_RULE, "┆");
        if (canvas_used(c, at - 1, 0, 3) <= 1 || !canvas_written(c, at, 0, 2))
            canvas_text(c, at - 1, 0, STYLE_KEY, name);
    }
}

static void put_reuse(struct doc *d, const struct sim_result *s, int width)
{
    const struct sim_reuse *r = &s->detail->reuse;
    struct canvas c;
    char remark[96];
    int64_t most = r->first, sum = r->first, within = 0;
    int last = 0, edge = first_beyond(lines_of(&s->cache.level[0].geometry));
    for (int b = 0; b < SIM_REUSE_BUCKETS; b++) {
        most = r->bucket[b] > most ? r->bucket[b] : most;
        sum += r->bucket[b];
        within += b < edge ? r->bucket[b] : 0;
        last = r->bucket[b] > 0 ? b : last;
    }
    int step = (width - 8) / (last + 3) >= 3 ? 3 : (width - 8) / (last + 3) >= 2 ? 2 : 1;
    snprintf(remark, sizeof remark, "lines touched since the same one; %.1f %% below L1's size",
             100 * share(within, sum));
    heading(d, "Reuse distance", remark, width);
    canvas_open(&c, step * (last + 2) + 6, REUSE_ROWS + 1);
    draw_reuse(&c, r, last, most, step);
    label_reuse(&c, s, last, step);
    canvas_doc(&c, d);
    canvas_close(&c);
}

/* --- Strips: one row of cells, darker where there are more ------------------------------------ */

/* Cell i of `cells` is the sum of its part of the n values, as a share of the largest sum. */
static void put_strip(struct doc *d, const int64_t *value, int n, int cells)
{
    static const char *const shade[] = { "·", "░", "▒", "▓", "█" };
    int64_t most = 0;
    cells = n < cells ? n : cells;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < cells; i++) {
            int from = (int)((int64_t)i * n / cells), to = (int)((int64_t)(i + 1) * n / cells);
            int64_t sum = 0;
            for (int k = from; k < to; k++)
                sum += value[k];
            /* parts of one value more or less are compared by their mean */
            sum = sum * 1024 / (to - from);
            if (pass == 0) {
                most = sum > most ? sum : most;
                continue;
            }
            int dark = sum == 0 ? 0 : clamp((int)ceil(4 * share(sum, most)), 1, 4);
            doc_put(d, dark == 4 ? STYLE_BAD : dark >= 2 ? STYLE_NOTE : STYLE_DIM, shade[dark]);
        }
}

static int strip_cells(const struct doc *d, int width)
{
    return clamp(width - 2 - doc_col(d), 8, 100);
}

static void put_heat(struct doc *d, const struct sim_result *s, int width)
{
    const struct sim_detail *detail = s->detail;
    int64_t misses[SIM_CELLS];
    int n = detail->n_tensors < s->n ? detail->n_tensors : s->n;
    heading(d, "Where in memory", "L1 misses from the first line of a tensor to the last", width);
    for (int i = 0; i < n; i++) {
        const struct sim_tensor_detail *t = &detail->tensor[i];
        for (int k = 0; k < t->n_cells; k++)
            misses[k] = t->cell[k].misses;
        if (t->n_cells == 0)
            continue;
        put_name(d, s->by_tensor[i].tensor);
        put_strip(d, misses, t->n_cells, strip_cells(d, width));
        doc_end(d);
    }
    char remark[80];
    int64_t most = 0, sum = 0;
    for (int k = 0; k < detail->n_set_cells; k++) {
        misses[k] = detail->set[k].misses;
        most = misses[k] > most ? misses[k] : most;
        sum += misses[k];
    }
    if (detail->n_set_cells == 0)
        return;
    double times = share(most * detail->n_set_cells, sum);
    snprintf(remark, sizeof remark, "L1 misses of %lld sets; the worst %.1f times the mean",
             (long long)detail->n_sets, times);
    heading(d, "Sets", remark, width);
    doc_pad(d, NAME_WIDTH);
    put_strip(d, misses, detail->n_set_cells, strip_cells(d, width));
    doc_end(d);
}

/* A strip for the moments of each loop, in program order. */
static void put_times(struct doc *d, const struct sim_detail *detail, int width)
{
    int64_t misses[SIM_CELLS];
    if (detail->n_moments == 0)
        return;
    heading(d, "When", "L1 misses along the outer loops, in the order they run", width);
    for (int i = 0; i < detail->n_moments;) {
        int loop = detail->moment[i].loop, n = 0;
        int64_t sum = 0;
        for (; i < detail->n_moments && detail->moment[i].loop == loop; i++) {
            misses[n++] = detail->moment[i].misses;
            sum += detail->moment[i].misses;
        }
        put_name(d, detail->loop[loop].axes);
        doc_count(d, STYLE_PLAIN, sum, 7);
        doc_put(d, STYLE_PLAIN, "  ");
        put_strip(d, misses, n, strip_cells(d, width));
        doc_end(d);
    }
}

void view_sim_put(struct doc *d, const struct sim_result *s, int width)
{
    if (!s->available)
        return;
    if (s->fraction > 0 && s->fraction < 1) {
        doc_printf(d, STYLE_DIM, "estimated from %.2g %% of the accesses, standard error %.1f %%",
                   100 * s->fraction, 100 * s->error);
        doc_end(d);
    }
    if (s->cache.n_levels > 1)
        put_levels(d, s, width);
    if (s->n_sites > 0)
        put_sites(d, s, width);
    if (!s->detail)
        return;
    if (s->detail->reason[0]) {
        heading(d, "No detail", "", width);
        doc_wrap(d, STYLE_DIM, s->detail->reason, width - 2, 0);
        return;
    }
    put_causes(d, s, width);
    put_reuse(d, s, width);
    put_heat(d, s, width);
    put_times(d, s->detail, width);
}
