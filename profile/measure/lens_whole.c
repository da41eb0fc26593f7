/* Simulates a run. Of a long run with short marked iterations, only samples of each column (one of
 * 64 equal parts of the run) are simulated; any other run is simulated whole. A sample is one or
 * more iterations of the marked loops, after other iterations that warm the cache. The length of a
 * column may be a multiple of the period of a loop. Samples at the same place of every column would
 * then see the same sets again and again. Therefore the places of the samples follow the golden
 * ratio, and a column has several samples if they fit. */
#include "profile/measure/lens_whole.h"

#include <math.h>
#include <stdlib.h>

#include "profile/sim/cachesim.h"
#include "profile/sim/lru.h"

#define COLUMNS 64
#define ALL_OF 2e6  /* a run of at most this many accesses is simulated whole */
#define SAMPLES 4                         /* most samples per column */
#define SAMPLE 4096.0                     /* least number of counted accesses per sample */
#define GOLDEN 0.6180339887498949
#define WARM_TOUCHES 128                  /* accesses per line of L1 that warm it up */
#define LIMIT_S 4.0

struct run_columns {
    const struct lens_path *path;
    struct cachesim *cache;
    struct lru *lru;
    bool *seen;                           /* per line: whether it was touched */
    struct lens_site_count *site;         /* counts by column: site[column * n_sites + site] */
    int n_sites;
    bool all, counts;  /* all: everything is simulated; counts: the current access is counted */
    double each[GEN_MAX_MARKS];           /* per marked loop: accesses of one iteration */
    double at, width;                     /* accesses so far; accesses per column */
    int samples;                          /* samples per column */
    double counted[COLUMNS];              /* counted accesses of each column */
    double *cell;
    int column;
};

static int column_of(const struct run_columns *w)
{
    double column = w->at / w->width;
    return column < COLUMNS ? (int)column : COLUMNS - 1;
}

static void on_access(void *ctx, unsigned long long addr, unsigned site, unsigned bytes)
{
    struct run_columns *w = ctx;
    if (w->all)
        w->column = column_of(w);
    w->at += w->all;
    w->counted[w->column] += w->counts;
    cachesim_access(w->cache, addr, site, bytes);
}

/* Returns the number of the access at which the k-th sample of the run ends. sample: its length in
 * accesses. The sample lies in the k-th part of the run, at a place that the golden ratio gives. */
static double sample_end(const struct run_columns *w, int k, double sample)
{
    double part = w->width / w->samples, place = GOLDEN * (k + 1);
    return part * k + sample + (place - floor(place)) * fmax(0, part - sample);
}

/* Returns whether the iteration is skipped. */
static int on_mark(void *ctx, int mark)
{
    struct run_columns *w = ctx;
    if (w->all || mark < 0)
        return 0;
    const struct lens_path *p = w->path;
    double each = w->each[mark], sample = fmax(SAMPLE, each);
    double warm = fmax(WARM_TOUCHES * (double)p->n_sets * p->ways, each);
    int k = (int)(w->at * w->samples / w->width);
    if (w->at >= sample_end(w, k, sample))
        k++;
    double left = sample_end(w, k, sample) - w->at;
    w->column = k / w->samples < COLUMNS ? k / w->samples : COLUMNS - 1;
    w->at += each;
    w->counts = left <= sample;
    return left > sample + warm;
}

static void on_touch(void *ctx, uint64_t line, unsigned site, bool missed)
{
    struct run_columns *w = ctx;
    const struct lens_path *p = w->path;
    int64_t at = (int64_t)line - p->first_line, set = (at + p->first_set) % p->n_sets;
    bool held = lru_touch(w->lru, at), first = !w->seen[at];
    w->seen[at] = true;
    if (!missed || !w->counts)
        return;
    struct lens_site_count *of = &w->site[w->column * w->n_sites + (int)site];
    w->cell[set * COLUMNS + w->column]++;
    of->misses++;
    of->conflict += held;
    of->first += first;
}

/* Adds the counts of a column, multiplied by `scale`, to those of the run. */
static void add_sites(const struct run_columns *w, int column, double scale,
                      struct lens_site_count *to)
{
    for (int i = 0; i < w->n_sites; i++) {
        const struct lens_site_count *of = &w->site[column * w->n_sites + i];
        to[i].misses += scale * of->misses;
        to[i].conflict += scale * of->conflict;
        to[i].first += scale * of->first;
    }
}

/* Stores the counts, scaled from the counted accesses to all accesses of each column. */
static void take(struct run_columns *w, struct arena *a, struct lens_cells *out)
{
    struct lens_site_count *site = ARENA_ARRAY(a, struct lens_site_count, w->n_sites + 1);
    *out = (struct lens_cells){ .n_columns = COLUMNS, .cell = w->cell, .simulated = w->all,
                                .site = site, .all = w->all };
    for (int x = 0; x < COLUMNS; x++) {
        double scale = w->all ? 1 : w->counted[x] > 0 ? fmax(1, w->width / w->counted[x]) : 0;
        add_sites(w, x, scale, site);
        out->simulated += w->all ? 0 : w->counted[x] / w->path->all;
        for (int set = 0; set < w->path->n_sets; set++)
            w->cell[set * COLUMNS + x] *= scale;
    }
}

bool lens_whole(struct arena *a, const struct lens_path *path, const struct cancel *c,
                struct lens_cells *out, struct err *e)
{
    struct run_columns w = { .path = path, .width = fmax(1, path->all / COLUMNS) };
    const struct walk_calls calls = { &w, on_access, on_mark, NULL };
    const struct site *site = walk_sites(path->walk, &w.n_sites);
    double longest = 0;
    for (int i = 0; i < walk_n_marks(path->walk); i++) {
        w.each[i] = path->accesses[i] / fmax(1, path->iterations[i]);
        longest = fmax(longest, w.each[i]);
    }
    w.samples = 2 * longest * SAMPLES <= w.width ? SAMPLES : 1;
    w.all = w.counts = path->all <= ALL_OF || longest == 0 || 2 * longest > w.width;
    if (!cachesim_open(path->cache, w.n_sites, &w.cache, e))
        return false;
    w.lru = lru_open((int64_t)path->n_sets * path->ways, path->n_lines);
    w.seen = xcalloc((size_t)path->n_lines + 1, sizeof *w.seen);
    w.site = xcalloc((size_t)(COLUMNS * w.n_sites) + 1, sizeof *w.site);
    for (int i = 0; i < w.n_sites; i++)
        if (site[i].is_store)
            cachesim_store_site(w.cache, i);
    w.cell = ARENA_ARRAY(a, double, path->n_sets * COLUMNS);
    cachesim_watch(w.cache, on_touch, &w);
    walk_limit(path->walk, clock_s() + LIMIT_S, c);
    walk_run(path->walk, path->base, &calls);
    if (!walk_ended_early(path->walk) && path->all > 0)
        take(&w, a, out);
    lru_close(w.lru);
    free(w.seen);
    free(w.site);
    cachesim_close(w.cache);
    return true;
}
