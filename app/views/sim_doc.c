/* The counts of the cache simulator as tables and strips: misses of the tensors and of the levels,
 * their causes, places in the code, reuse distances, and where and when the misses happen. */
#include "app/views/measurement_doc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "app/ui/text.h"

#define INDENT 2
#define CHANGE_WIDTH 9                    /* columns of " -100.0 %" */
#define RATE_WIDTH 10
#define MOST_BAR 40
#define MOST_SITES 8
#define MOST_CELLS 100
#define CONFLICTS 0.1  /* a smaller share of conflict misses is not mentioned */
/* The misses are even over the sets if the worst sets, which together have half of the misses, are
 * at least this share of all sets. */
#define EVEN 0.4

/* A simulated result, and the widths of the columns of its tables; 0: the column is not shown. */
struct sim_tables {
    struct doc *d;
    const struct sim_result *s;
    const struct measurement_look *k;
    int name, count, change, rate, bar;
    /* indices of the tensors, the one with the most misses first */
    int n, order[MEASURE_MAX_TENSORS];
};

static int clamp(int v, int lo, int hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static void sort_tensors(struct sim_tables *t)
{
    const struct tensor_count *c = t->s->by_tensor;
    for (int i = 0; i < t->s->n; i++) {
        int at = t->n++;
        for (; at > 0 && c[t->order[at - 1]].cost.l1_misses < c[i].cost.l1_misses; at--)
            t->order[at] = t->order[at - 1];
        t->order[at] = i;
    }
}

static void open_tables(struct sim_tables *t)
{
    t->name = 12;
    t->count = t->k->exact ? 16 : 10;
    for (int i = 0; i < t->s->n; i++) {
        int w = text_width(t->s->by_tensor[i].tensor) + 1;
        t->name = w > t->name ? w : t->name;
    }
    int left = t->k->width - INDENT - t->name - 3 * t->count;
    if (t->k->exact) {
        t->rate = RATE_WIDTH;
        return;
    }
    if (left < 0)
        t->name = clamp(t->name + left, 10, t->name);
    t->change = t->k->before && left >= CHANGE_WIDTH ? CHANGE_WIDTH : 0;
    left -= t->change;
    t->rate = left >= RATE_WIDTH ? RATE_WIDTH : 0;
    left -= t->rate;
    t->bar = left > 5 ? clamp(left - 1, 0, MOST_BAR) : 0;
}

static void add_count(struct str *out, const struct sim_tables *t, int64_t n)
{
    if (t->k->exact)
        str_count(out, n);
    else
        text_count(out, n);
}

static void put_count(const struct sim_tables *t, enum style style, int64_t n, int width)
{
    struct str text = {0};
    add_count(&text, t, n);
    doc_right(t->d, style, &text, width);
}

static void put_name(const struct sim_tables *t, const char *name)
{
    doc_pad(t->d, INDENT);
    if (t->k->exact)
        doc_put(t->d, STYLE_PLAIN, name);
    else
        doc_fit(t->d, STYLE_PLAIN, name, t->name - 1);
    doc_put(t->d, STYLE_PLAIN, " ");
    doc_pad(t->d, INDENT + t->name);
}

static void put_head(const struct sim_tables *t, const char *name, const char *a, const char *b,
                     const char *misses)
{
    doc_printf(t->d, STYLE_DIM, "%*s%-*s%*s%*s%*s%*s%*s", INDENT, "", t->name, name, t->count, a,
               t->count, b, t->count, misses, t->change, t->change ? "change" : "", t->rate,
               t->rate ? "rate" : "");
    doc_end(t->d)->stays = t->k->exact ? 0 : INDENT + t->name;
}

static void put_title(const struct sim_tables *t, const char *title, const char *remark)
{
    doc_line(t->d, STYLE_PLAIN, "");
    doc_put(t->d, STYLE_STRONG, title);
    if (doc_col(t->d) + 2 + text_width(remark) <= t->k->width)
        doc_printf(t->d, STYLE_DIM, "  %s", remark);
    doc_end(t->d);
}

static void put_change(const struct sim_tables *t, int64_t now, int64_t then)
{
    struct str text = {0};
    enum style s = now < then ? STYLE_GOOD : now > then ? STYLE_BAD : STYLE_DIM;
    if (then > 0)
        text_change(&text, share(now, then) - 1);
    else
        str_add(&text, now > 0 ? "new" : "");
    doc_right(t->d, streq(str_text(&text), "same") ? STYLE_DIM : s, &text, t->change);
}

/* --- Tensors and levels ----------------------------------------------------------------------- */

/* A row of the tables. a, b: the numbers in the first two columns. of: the number of accesses, of
 * which `misses` missed. then: the misses of the state with which this one is compared
 * (measurement_before); -1: unknown. */
struct sim_row { const char *name; int64_t a, b, misses, of, then; };

static struct line *put_row(const struct sim_tables *t, struct sim_row r, double bar)
{
    put_name(t, r.name);
    put_count(t, STYLE_DIM, r.a, t->count);
    put_count(t, STYLE_DIM, r.b, t->count);
    put_count(t, STYLE_PLAIN, r.misses, t->count);
    if (t->change && r.then >= 0)
        put_change(t, r.misses, r.then);
    doc_pad(t->d, INDENT + t->name + 3 * t->count + t->change);
    if (t->rate && r.of > 0)
        doc_printf(t->d, STYLE_PLAIN, "%*.2f %%", t->rate - 2, 100 * share(r.misses, r.of));
    if (t->bar > 0 && bar >= 0) {
        doc_pad(t->d, INDENT + t->name + 3 * t->count + t->change + t->rate + 1);
        doc_bar(t->d, STYLE_NOTE, bar, t->bar);
    }
    struct line *l = doc_end(t->d);
    l->stays = t->k->exact ? 0 : INDENT + t->name;
    return l;
}

static void put_tensors(const struct sim_tables *t)
{
    const struct sim_result *s = t->s, *old = t->k->before;
    put_head(t, "tensor", "loads", "stores", "L1 misses");
    for (int i = 0; i < t->n; i++) {
        const struct tensor_count *c = &s->by_tensor[t->order[i]];
        int64_t then = 0, most = s->by_tensor[t->order[0]].cost.l1_misses;
        for (int o = 0; old && o < old->n; o++)
            if (streq(old->by_tensor[o].tensor, c->tensor))
                then = old->by_tensor[o].cost.l1_misses;
        put_row(t, (struct sim_row){ c->tensor, c->loads, c->stores, c->cost.l1_misses,
                                     c->loads + c->stores, then },
                share(c->cost.l1_misses, most))->stage = arena_strdup(t->d->arena, c->tensor);
    }
    put_row(t, (struct sim_row){ "total", s->loads, s->stores, s->l1_misses, s->loads + s->stores,
                                 old ? old->l1_misses : -1 }, -1);
}

static void put_levels(const struct sim_tables *t)
{
    put_head(t, "level", "accesses", t->k->exact ? "written back" : "written", "misses");
    for (int i = 0; i < t->s->cache.n_levels; i++) {
        const struct sim_level *l = &t->s->level[i];
        struct str text = {0};
        char name[16];
        snprintf(name, sizeof name, "L%d", i + 1);
        put_row(t, (struct sim_row){ name, l->accesses, l->writebacks, l->misses, l->accesses, -1 },
                share(l->misses, l->accesses));
        if (l->prefetches == 0)
            continue;
        put_name(t, "");
        put_count(t, STYLE_PLAIN, l->prefetches, t->count);
        str_add(&text, i == 0 ? " lines prefetched, used " : " lines prefetched");
        if (i == 0)
            add_count(&text, t, l->useful);
        doc_line(t->d, STYLE_PLAIN, str_text(&text));
        str_free(&text);
    }
}

/* --- Causes ----------------------------------------------------------------------------------- */

static const struct { const char *glyph; enum style style; const char *name; } cause[] = {
    { "░", STYLE_DIM, "compulsory" }, { "█", STYLE_NOTE, "capacity" },
    { "▒", STYLE_BAD, "conflict" },
};

/* Returns the width of a stacked bar; 0: there is no room for a bar. */
static int stack_width(const struct sim_tables *t)
{
    int left = t->k->width - INDENT - t->name - 3 * t->count - 1;
    return left < 8 ? 0 : clamp(left, 0, MOST_BAR);
}

/* Draws a stacked bar with a part for each cause. Rounds the place where each part ends, not the
 * length of each part, so that the cells of all parts add up to the right length. */
static void put_stack(struct doc *d, const int64_t *part, int64_t most, int width)
{
    int64_t sum = 0;
    int drawn = 0;
    for (int i = 0; i < COUNT_OF(cause); i++) {
        sum += part[i];
        int to = (int)lround(share(sum, most) * width);
        if (to == drawn && part[i] > 0 && drawn < width)
            to++;                         /* a part above 0 has at least one cell */
        for (; drawn < to; drawn++)
            doc_put(d, cause[i].style, cause[i].glyph);
    }
}

static int64_t total_of(const struct sim_classes *c)
{
    return c->compulsory + c->capacity + c->conflict;
}

static struct line *put_cause_row(const struct sim_tables *t, const char *name,
                                  const struct sim_classes *c, int64_t most)
{
    const int64_t part[] = { c->compulsory, c->capacity, c->conflict };
    put_name(t, name);
    for (int i = 0; i < COUNT_OF(cause); i++)
        put_count(t, cause[i].style, part[i], t->count);
    doc_put(t->d, STYLE_PLAIN, " ");
    put_stack(t->d, part, most, stack_width(t));
    return doc_end(t->d);
}

static void put_causes(const struct sim_tables *t)
{
    const struct sim_detail *detail = t->s->detail;
    int64_t most = 0;
    put_title(t, "Why L1 missed", "first touches, too small, too few ways");
    doc_pad(t->d, INDENT + t->name);
    for (int i = 0; i < COUNT_OF(cause); i++)
        doc_printf(t->d, cause[i].style, "%*s", t->count, cause[i].name);
    doc_put(t->d, STYLE_PLAIN, " ");
    for (int i = 0; i < COUNT_OF(cause) && stack_width(t) > 0; i++)
        doc_put(t->d, cause[i].style, cause[i].glyph);
    doc_end(t->d);
    for (int i = 0; i < detail->n_tensors; i++) {
        int64_t sum = total_of(&detail->tensor[i].classes);
        most = sum > most ? sum : most;
    }
    for (int i = 0; i < t->n; i++) {
        const char *name = t->s->by_tensor[t->order[i]].tensor;
        if (t->order[i] < detail->n_tensors)
            put_cause_row(t, name, &detail->tensor[t->order[i]].classes, most)->stage
                = arena_strdup(t->d->arena, name);
    }
    put_cause_row(t, "total", &detail->classes, total_of(&detail->classes));
}

/* --- Places in the code ----------------------------------------------------------------------- */

static void put_sites(const struct sim_tables *t)
{
    int column = t->k->exact ? 15 : 8;
    put_title(t, "Where in the code", "accesses, L1 misses, their share");
    for (int i = 0; i < t->s->n_sites && i < MOST_SITES; i++) {
        const struct sim_site *site = &t->s->site[i];
        put_count(t, STYLE_DIM, site->accesses, column);
        put_count(t, STYLE_PLAIN, site->cost.l1_misses, column);
        doc_printf(t->d, STYLE_DIM, " %4.0f %%  %-5s ",
                   100 * share(site->cost.l1_misses, t->s->l1_misses),
                   site->is_store ? "store" : "load");
        int first = t->d->lines.len;
        doc_wrap(t->d, STYLE_PLAIN, site->text, t->k->width, doc_col(t->d));
        for (int k = first; k < t->d->lines.len && site->tensor < t->s->n; k++) {
            t->d->lines.data[k].stage = arena_strdup(t->d->arena,
                                                     t->s->by_tensor[site->tensor].tensor);
            t->d->lines.data[k].loop = arena_strdup(t->d->arena, site->text);
        }
    }
}

/* --- Reuse distance --------------------------------------------------------------------------- */

/* Adds " L1: 93.0 %" to bucket b for each cache level that ends in it. `part`: the share of the
 * accesses in the buckets up to b. Bucket b has the accesses at distances from 2^(b-1) to 2^b - 1,
 * and a cache of n lines holds a line that is touched again at a distance below n. So a level ends
 * in bucket b if it has more than 2^(b-1) and at most 2^b lines. The last bucket also gets the
 * first level that is larger. */
static void put_reach(const struct sim_tables *t, int b, int last, double part)
{
    int64_t from = b ? (int64_t)1 << (b - 1) : 0, to = (int64_t)1 << b;
    for (int i = 0; i < t->s->cache.n_levels; i++) {
        const struct cache_geometry *g = &t->s->cache.level[i].geometry;
        int64_t lines = g->line_bytes > 0 ? g->size_bytes / g->line_bytes : 0;
        if (from < lines && (lines <= to || b == last))
            doc_printf(t->d, STYLE_KEY, " L%d: %.1f %%", i + 1, 100 * part);
        if (lines > to)
            break;
    }
}

static void put_reuse(const struct sim_tables *t)
{
    const struct sim_reuse *r = &t->s->detail->reuse;
    int64_t most = r->first, sum = r->first, within = 0;
    int last = 0, bar = clamp(t->k->width - INDENT - 12 - t->count - 14, 4, MOST_BAR);
    for (int b = 0; b < SIM_REUSE_BUCKETS; b++) {
        most = r->bucket[b] > most ? r->bucket[b] : most;
        sum += r->bucket[b];
        last = r->bucket[b] > 0 ? b : last;
    }
    put_title(t, "Reuse distance", "lines touched in between; L1: the share it can hold");
    for (int b = 0; b <= last + 1; b++) {
        int64_t n = b <= last ? r->bucket[b] : r->first;
        within += n;
        doc_pad(t->d, INDENT);
        if (b <= last)
            put_count(t, STYLE_DIM, b ? (int64_t)1 << (b - 1) : 0, 12);
        else
            doc_put(t->d, STYLE_DIM, "never before");
        put_count(t, STYLE_PLAIN, n, t->count);
        doc_put(t->d, STYLE_PLAIN, " ");
        doc_bar(t->d, STYLE_NOTE, share(n, most), n > 0 ? bar : 0);
        doc_pad(t->d, INDENT + 12 + t->count + 1 + bar);
        if (b <= last)
            put_reach(t, b, last, share(within, sum));
        doc_end(t->d);
    }
}

/* --- Strips: one row of cells; a cell with more is darker ------------------------------------- */

/* Draws n values behind the text of the open line, in as many cells as fit. Each value is the sum
 * over `each` units: lines, sets or iterations. If there is room, adds the value of the darkest
 * cell: "most 900 in 2 lines". */
static struct line *put_strip(const struct sim_tables *t, const int64_t *value, int n,
                              int64_t each, const char *unit)
{
    static const char *const shade[] = { "·", "░", "▒", "▓", "█" };
    struct str tail = {0};
    int64_t densest = 0, most = 0, size = 0;
    int room = clamp(t->k->width - doc_col(t->d) - (t->k->exact ? 38 : 28), 8, MOST_CELLS);
    int cells = n < room ? n : room;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < cells; i++) {
            int from = (int)((int64_t)i * n / cells), to = (int)((int64_t)(i + 1) * n / cells);
            int64_t sum = 0;
            for (int k = from; k < to; k++)
                sum += value[k];
            /* some cells have one value more than others, so the means are compared */
            int64_t mean = sum * 1024 / (to - from);
            if (pass == 0 && mean > densest) {
                densest = mean;
                most = sum;
                size = (to - from) * each;
            }
            int dark = mean == 0 ? 0 : clamp((int)ceil(4 * share(mean, densest)), 1, 4);
            if (pass == 1)
                doc_put(t->d, dark == 4 ? STYLE_BAD : dark >= 2 ? STYLE_NOTE : STYLE_DIM,
                        shade[dark]);
        }
    if (most > 0) {
        str_add(&tail, "  most ");
        add_count(&tail, t, most);
        str_printf(&tail, " in %lld %s%s", (long long)size, unit, size == 1 ? "" : "s");
    }
    bool fits = t->k->exact || doc_col(t->d) + (int)tail.len <= t->k->width;
    struct line *l = doc_line(t->d, STYLE_DIM, fits ? str_text(&tail) : "");
    str_free(&tail);
    return l;
}

static struct line *put_heat(const struct sim_tables *t, const char *name,
                             const struct sim_heat *cell, int n, int64_t each, const char *unit)
{
    int64_t misses[SIM_CELLS];
    for (int i = 0; i < n; i++)
        misses[i] = cell[i].misses;
    put_name(t, name);
    return put_strip(t, misses, n, each, unit);
}

/* Returns the least share of the sets that together have half of all misses. */
static double half_of_sets(const struct sim_detail *d)
{
    int64_t misses[SIM_CELLS], sum = 0, part = 0;
    int n = d->n_set_cells, used = 0;
    for (int i = 0; i < n; i++) {
        misses[i] = d->set[i].misses;
        sum += misses[i];
    }
    for (; used < n && 2 * part < sum; used++) {
        int most = used;
        for (int i = used; i < n; i++)
            most = misses[i] > misses[most] ? i : most;
        part += misses[most];
        misses[most] = misses[used];
    }
    return share(used, n);
}

/* Adds which tensor has most conflict misses, and whether few sets or all sets have the misses.
 * Even misses do not mean that there are no conflicts: each set can overflow in its turn. */
static void put_conflicts(const struct sim_tables *t)
{
    const struct sim_detail *d = t->s->detail;
    struct str text = {0};
    int worst = 0;
    double part = share(d->classes.conflict, total_of(&d->classes));
    if (d->n_set_cells == 0 || d->n_tensors == 0 || part < CONFLICTS)
        return;
    for (int i = 0; i < d->n_tensors; i++)
        if (d->tensor[i].classes.conflict > d->tensor[worst].classes.conflict)
            worst = i;
    double half = half_of_sets(d);
    add_count(&text, t, d->classes.conflict);
    str_add(&text, " conflict misses, ");
    add_count(&text, t, d->tensor[worst].classes.conflict);
    str_printf(&text, " of %s; ", t->s->by_tensor[worst].tensor);
    if (half >= EVEN)
        str_add(&text, "all sets miss alike, so each of them overflows in its turn");
    else
        str_printf(&text, "%.0f %% of the sets have half of all misses", 100 * half);
    doc_pad(t->d, INDENT);
    doc_wrap(t->d, STYLE_NOTE, str_text(&text), t->k->width, INDENT);
    str_free(&text);
}

static void put_places(const struct sim_tables *t)
{
    const struct sim_detail *detail = t->s->detail;
    put_title(t, "Where in memory", "L1 misses along each tensor, and in the sets of L1");
    for (int i = 0; i < t->n; i++) {
        const struct sim_tensor_detail *of = &detail->tensor[t->order[i]];
        const char *name = t->s->by_tensor[t->order[i]].tensor;
        if (t->order[i] < detail->n_tensors && of->n_cells > 0)
            put_heat(t, name, of->cell, of->n_cells, of->cell_lines, "line")->stage
                = arena_strdup(t->d->arena, name);
    }
    if (detail->n_set_cells > 0)
        put_heat(t, "(sets)", detail->set, detail->n_set_cells,
                 detail->n_sets / detail->n_set_cells, "set");
    put_conflicts(t);
}

/* Adds a row for each outer loop, in program order: its misses, and a strip of them over time. */
static void put_times(const struct sim_tables *t)
{
    const struct sim_detail *detail = t->s->detail;
    int64_t misses[SIM_CELLS];
    if (detail->n_moments > 0)
        put_title(t, "When", "L1 misses along the outer loops, in the order they run");
    for (int i = 0; i < detail->n_moments;) {
        const struct sim_moment *first = &detail->moment[i];
        int n = 0;
        int64_t sum = 0;
        for (; i < detail->n_moments && detail->moment[i].loop == first->loop; i++) {
            misses[n++] = detail->moment[i].misses;
            sum += detail->moment[i].misses;
        }
        put_name(t, detail->loop[first->loop].axes);
        put_count(t, STYLE_PLAIN, sum, t->count);
        doc_put(t->d, STYLE_PLAIN, "  ");
        put_strip(t, misses, n, first->n, "iteration");
    }
}


static void put_summary(struct doc *d, const struct sim_result *s,
                        const struct measurement_look *k)
{
    struct str text = {0};
    if (s->available) {
        if (s->gpu[0])
            str_printf(&text, "%s as in its data sheet; accesses are counted per warp, misses"
                       " per sector of %d bytes; ", s->gpu, s->sector_bytes);
        cache_config_print(&text, &s->cache);
        str_printf(&text, "; %.2f s", s->seconds);
        if (s->fraction < 1)
            str_printf(&text, "; %.2g %% simulated, misses within %.2g %%", 100 * s->fraction,
                       100 * s->error);
        if (s->how[0])
            str_printf(&text, "; %s", s->how);
        if (s->of_source)
            str_add(&text, "; of the source: the compiler may run other loops (autovectorize on)");
        if (s->skips_prefetches)
            str_add(&text, "; prefetches of the schedule are not simulated");
    } else {
        str_printf(&text, "not available: %s", s->reason);
        str_add(&text, k->simulates && streq(s->reason, SIM_NOT_ASKED) ? k->simulates : "");
    }
    measurement_doc_row(d, "sim:", STYLE_PLAIN, 0, &text, k->width);
}

void sim_doc(struct doc *d, const struct sim_result *s, const struct measurement_look *k)
{
    struct sim_tables t = { .d = d, .s = s, .k = k };
    if (!s->available && !s->reason[0])
        return;
    put_summary(d, s, k);
    if (!s->available)
        return;
    if (s->gpu[0]) {
        gpu_sim_doc(d, s, k);
    } else {
        sort_tensors(&t);
        open_tables(&t);
        put_tensors(&t);
        put_levels(&t);
        if (s->n_sites > 0)
            put_sites(&t);
    }
    if (s->detail && s->detail->reason[0]) {
        struct str text = {0};
        str_printf(&text, "no detail: %s", s->detail->reason);
        measurement_doc_row(d, "", STYLE_PLAIN, 0, &text, k->width);
    } else if (s->detail) {
        put_causes(&t);
        put_reuse(&t);
        put_places(&t);
        put_times(&t);
    }
}
