#include "profile/measure/lens.h"

#include "kernels/base/vec.h"
#include "kernels/gen/walk.h"
#include "profile/measure/job.h"
#include "profile/measure/lens_whole.h"
#include "profile/measure/program_text.h"
#include "profile/sim/cachesim.h"
#include "profile/sim/lru.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WARM_TOUCHES 16                   /* accesses per line of L1 that warm it up */
#define MOST_LINES_SEEN (UINT64_C(1) << 24)
#define MOST_TURNS (4 * LENS_TOUCHES)
#define MOST_KINDS 64                     /* most pairs of sites that are counted */
#define MOST_WAITING (CACHE_MAX_DEGREE + 2)

struct placing { int32_t line, evicted; };

struct lens_run {
    struct lens *l;
    struct walk *walk;
    struct cachesim *cache;
    struct lru *lru;
    /* warm_from: the first marked iteration that is simulated; iteration: number of marked
     * iterations so far */
    int64_t first_line, n_lines, warm_from, iteration;
    int most;                             /* number of touches in the window */
    bool recording;
    int64_t *value;                       /* per loop: its value in the latest iteration */
    bool *resident;                       /* per line: whether L1 holds it */
    /* per line X, its latest eviction.  Here the members have other meanings.  line: the line that
     * replaced X; evicted: the site whose access replaced X, -1: a prefetcher or nothing did. */
    struct placing *by;
    struct placing waiting[MOST_WAITING]; /* lines that entered L1 since the last touch */
    int n_waiting;
    VEC(struct lens_touch) touches;
    VEC(struct lens_turn) turns;
    VEC(struct lens_pair) pairs;
};

/* --- Events ----------------------------------------------------------------------------------- */

static void on_access(void *ctx, unsigned long long addr, unsigned site, unsigned bytes)
{
    cachesim_access(((struct lens_run *)ctx)->cache, addr, site, bytes);
}

/* Begins the window. around: the loop whose iteration begins now, or -1. The loops around this loop
 * began their iterations before the window, so their values are stored as turns. */
static void start_recording(struct lens_run *r, int around)
{
    for (int i = around >= 0 ? r->l->loop[around].parent : -1; i >= 0; i = r->l->loop[i].parent)
        vec_push(&r->turns, ((struct lens_turn){ 0, i, r->value[i] }));
    r->recording = true;
    r->l->resident = ARENA_DUP(r->l->arena, r->resident, r->n_lines);
}

static int on_mark(void *ctx, int mark)
{
    struct lens_run *r = ctx;
    if (mark < 0)
        return 0;
    int n, around = -1;
    const struct walk_loop *loop = walk_loops(r->walk, &n);
    for (int i = 0; i < n && !r->recording; i++)
        around = loop[i].mark == mark ? i : around;
    if (!r->recording && r->iteration >= r->l->from)
        start_recording(r, around);
    return r->iteration++ < r->warm_from;
}

static void on_iteration(void *ctx, int loop, int64_t value)
{
    struct lens_run *r = ctx;
    r->value[loop] = value;
    if (r->recording && r->turns.len < MOST_TURNS)
        vec_push(&r->turns, ((struct lens_turn){ r->touches.len, loop, value }));
}

static void on_place(void *ctx, uint64_t line, int64_t evicted)
{
    struct lens_run *r = ctx;
    int32_t in = (int32_t)((int64_t)line - r->first_line);
    int32_t out = evicted < 0 ? -1 : (int32_t)(evicted - r->first_line);
    r->resident[in] = true;
    if (out >= 0)
        r->resident[out] = false;
    if (r->n_waiting < MOST_WAITING)
        r->waiting[r->n_waiting++] = (struct placing){ in, out };
}

static void add_touch(struct lens_run *r, int32_t line, int32_t evicted, unsigned site, bool missed,
                      bool conflict)
{
    struct lens_touch t = { line, evicted, (uint16_t)site, missed, conflict };
    if (evicted >= 0)
        r->by[evicted] = (struct placing){ line, site == LENS_PREFETCH ? -1 : (int32_t)site };
    if (r->recording && r->touches.len < r->most)
        vec_push(&r->touches, t);
}

/* Returns how many ways of the set of `line` hold lines of the same buffer. */
static int ways_held(const struct lens_run *r, int32_t line)
{
    const struct lens_buffer *b = &r->l->buffer[lens_buffer_of(r->l, line)];
    int held = 0;
    for (int32_t i = line % r->l->n_sets; i < r->n_lines; i += r->l->n_sets)
        held += r->resident[i] && i >= b->first && i < b->first + b->lines;
    return held;
}

/* Counts a conflict miss of `site` on `line`, for the pair of `site` and the access that had
 * evicted the line. */
static void count_pair(struct lens_run *r, int32_t line, int site)
{
    struct placing by = r->by[line];
    int i = 0;
    if (by.evicted < 0 || lens_buffer_of(r->l, line) < 0 || lens_buffer_of(r->l, by.line) < 0)
        return;
    while (i < r->pairs.len && (r->pairs.data[i].site != site || r->pairs.data[i].by != by.evicted))
        i++;
    if (i == MOST_KINDS)
        return;
    if (i == r->pairs.len)
        vec_push(&r->pairs, ((struct lens_pair){ .site = site, .by = by.evicted, .loop = -1 }));
    struct lens_pair *pair = &r->pairs.data[i];
    pair->count++;
    pair->line = line;
    pair->other = by.line;
    if ((pair->count & (pair->count - 1)) == 0)           /* slow, so only for counts 1, 2, 4 ... */
        pair->held = ways_held(r, by.line);
}

static void on_touch(void *ctx, uint64_t at, unsigned site, bool missed)
{
    struct lens_run *r = ctx;
    int32_t line = (int32_t)((int64_t)at - r->first_line), evicted = -1;
    bool conflict = lru_touch(r->lru, line) && missed;
    for (int i = 0; i < r->n_waiting; i++)
        if (r->waiting[i].line == line)
            evicted = r->waiting[i].evicted;
    if (conflict && r->recording)
        count_pair(r, line, (int)site);
    add_touch(r, line, evicted, site, missed, conflict);
    for (int i = 0; i < r->n_waiting; i++)
        if (r->waiting[i].line != line)
            add_touch(r, r->waiting[i].line, r->waiting[i].evicted, LENS_PREFETCH, false, false);
    r->n_waiting = 0;
    if (r->touches.len >= r->most)
        walk_stop(r->walk);
}

/* --- The pairs -------------------------------------------------------------------------------- */

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

int64_t lens_sets(const struct lens *l, int64_t stride)
{
    int64_t lines = (stride < 0 ? -stride : stride) / l->line_bytes;
    return lines == 0 || stride % l->line_bytes != 0 ? l->n_sets
         : l->n_sets / gcd(lines, l->n_sets);
}

/* Whether the two lines of a pair lie a whole number of iterations of a part of a loop apart. */
static bool lies_between(const struct lens *l, const struct walk_part *part,
                         const struct lens_pair *p)
{
    int64_t apart = llabs((int64_t)p->line - p->other) * l->line_bytes;
    return apart % part->stride == 0 && apart / llabs(part->stride) < part->trips;
}

/* Whether the iterations of a part of a loop access more lines than the sets that they use can
 * hold, so that the access conflicts with itself.  between: whether the lines of the pair must lie
 * in different iterations; if these fill their sets, the next line of any other access evicts one
 * of them, so full sets are enough.  Stores stride, trips and sets of *p. */
static bool takes_few_sets(const struct lens *l, const struct walk_part *part, bool between,
                           struct lens_pair *p)
{
    int64_t sets = lens_sets(l, part->stride);
    sets = sets < part->trips ? sets : part->trips;
    if (part->stride == 0 || part->stride % l->line_bytes != 0
        || part->trips < sets * l->ways + !between || (between && !lies_between(l, part, p)))
        return false;
    p->stride = part->stride;
    p->trips = part->trips;
    p->sets = (int)sets;
    return true;
}

/* The search of find_stride.  between: as for takes_few_sets. */
static bool find_loop(const struct lens_run *r, bool between, struct lens_pair *p)
{
    int n;
    const struct walk_loop *loop = walk_loops(r->walk, &n);
    const struct lens_site *s = &r->l->site[p->by];
    const struct walk_part lanes = { s->apart, s->pieces };
    bool alone = s->loop >= 0 && lens_steps(r->l, p->by, s->loop).part[0].stride != s->apart;
    p->every = 0;
    if (alone && takes_few_sets(r->l, &lanes, between, p)) {
        p->loop = s->loop;
        return true;
    }
    for (int i = s->loop; i >= 0; i = loop[i].parent) {
        const struct walk_way way = lens_steps(r->l, p->by, i);
        p->every = 1;
        for (int k = 0; k < way.n; k++) {
            if (takes_few_sets(r->l, &way.part[k], between, p)) {
                p->loop = i;
                return true;
            }
            p->every *= lens_way(r->l, p->by, i)->part[k].trips;
        }
    }
    return false;
}

/* Finds the innermost loop, or part of it, that makes the access p->by conflict with itself; first
 * among the loops that lie between the two lines of a pair of one access. */
static void find_stride(const struct lens_run *r, struct lens_pair *p)
{
    if (p->by != p->site || !find_loop(r, true, p))
        find_loop(r, false, p);
}

static int by_count(const void *a, const void *b)
{
    const struct lens_pair *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return x->site != y->site ? x->site - y->site : x->by - y->by;
}

static void take_pairs(struct lens_run *r)
{
    struct lens *l = r->l;
    if (r->pairs.len > 0)
        qsort(r->pairs.data, (size_t)r->pairs.len, sizeof *r->pairs.data, by_count);
    for (int i = 0; i < r->pairs.len && l->n_pairs < LENS_PAIRS; i++) {
        struct lens_pair *p = &l->pair[l->n_pairs++];
        *p = r->pairs.data[i];
        p->set = lens_set_of(l, p->line);
        find_stride(r, p);
    }
}

/* --- One window ------------------------------------------------------------------------------- */

/* Returns the number of cache lines in a row of a buffer's picture. A row spans as many inner
 * dimensions as fill at least one line. 0: a row is not a whole number of lines. */
static int32_t lines_per_row(const struct buffer *b, int line_bytes)
{
    int64_t bytes = b->type->bytes;
    for (int i = b->rank - 1; i >= 0; i--) {
        bytes *= b->shape[i];
        if (bytes >= line_bytes)
            return bytes % line_bytes == 0 && bytes / line_bytes < INT32_MAX
                 ? (int32_t)(bytes / line_bytes) : 0;
    }
    return 0;
}

static void take_buffers(struct lens_run *r, const struct func *f, const unsigned long long *base)
{
    struct lens *l = r->l;
    struct lens_buffer *b = ARENA_ARRAY(l->arena, struct lens_buffer, f->n_buffers);
    for (int i = 0; i < f->n_buffers; i++) {
        const struct buffer *from = &f->buffer[i];
        struct str notation = {0};
        if (from->layout)
            layout_notation(from->layout, &notation);
        int64_t bytes = buffer_bytes(from);
        b[i] = (struct lens_buffer){
            arena_strdup(l->arena, from->name), arena_strdup(l->arena, str_text(&notation)),
            from->tensor,
            (int32_t)((int64_t)(base[i] / (unsigned)l->line_bytes) - r->first_line),
            (int32_t)((bytes + l->line_bytes - 1) / l->line_bytes),
            lines_per_row(from, l->line_bytes), !from->layout,
        };
        str_free(&notation);
    }
    l->n_buffers = f->n_buffers;
    l->buffer = b;
}

static void take_code(struct lens_run *r, const struct func *f)
{
    struct lens *l = r->l;
    const struct site *site = walk_sites(r->walk, &l->n_sites);
    const struct walk_loop *loop = walk_loops(r->walk, &l->n_loops);
    struct lens_site *s = ARENA_ARRAY(l->arena, struct lens_site, l->n_sites + 1);
    struct lens_loop *o = ARENA_ARRAY(l->arena, struct lens_loop, l->n_loops + 1);
    struct walk_way *way = ARENA_ARRAY(l->arena, struct walk_way, l->n_sites * l->n_loops + 1);
    for (int i = 0; i < l->n_sites; i++) {
        int in = walk_site_loop(r->walk, i);
        int64_t bytes, lines;
        walk_site_reach(r->walk, i, l->line_bytes, &bytes, &lines);
        bool joined = lines >= (bytes + l->line_bytes - 1) / l->line_bytes;
        int64_t last = bytes - f->buffer[site[i].buffer].type->bytes, gaps = joined ? 1 : lines - 1;
        s[i] = (struct lens_site){
            .text = arena_strdup(l->arena, site[i].text), .buffer = site[i].buffer,
            .node = in >= 0 ? loop[in].node : -1, .loop = in, .is_store = site[i].is_store,
            .bytes = joined ? bytes : 1, .pieces = joined ? 1 : lines,
            .apart = joined || last % gaps != 0 ? 0 : last / gaps,
        };
        for (int k = 0; k < l->n_loops; k++)
            way[i * l->n_loops + k] = walk_way(r->walk, i, k);
    }
    for (int i = 0; i < l->n_loops; i++)
        o[i] = (struct lens_loop){ arena_strdup(l->arena, loop[i].axis), loop[i].node,
                                   loop[i].parent, loop[i].trips };
    r->value = ARENA_ARRAY(l->arena, int64_t, l->n_loops + 1);
    l->site = s;
    l->loop = o;
    l->way = way;
    l->n_marks = walk_n_marks(r->walk);
    l->along = arena_strdup(l->arena, walk_along(r->walk));
}

static void simulate(struct lens_run *r, const unsigned long long *base)
{
    struct lens *l = r->l;
    struct walk_calls calls = { r, on_access, on_mark, on_iteration };
    for (int i = 0; i < l->n_sites; i++)
        if (l->site[i].is_store)
            cachesim_store_site(r->cache, i);
    cachesim_watch(r->cache, on_touch, r);
    cachesim_watch_places(r->cache, on_place);
    if (walk_n_marks(r->walk) == 0)
        start_recording(r, -1);
    walk_run(r->walk, base, &calls);
    if (!r->recording)
        start_recording(r, -1);  /* an empty window: no marked iteration ran; sets l->resident */
    l->n_lines = r->n_lines;
    l->n_touches = r->touches.len;
    l->touch = ARENA_DUP(l->arena, r->touches.data, r->touches.len);
    l->n_turns = r->turns.len;
    l->turn = ARENA_DUP(l->arena, r->turns.data, r->turns.len);
    for (int i = 0; i < l->n_touches; i++) {
        l->misses += l->touch[i].missed;
        l->conflicts += l->touch[i].conflict;
    }
    take_pairs(r);
}

/* Decides at which iteration the window begins, and at which iteration the warming of the cache
 * begins. False: counting the accesses ended early. */
static bool plan(struct lens_run *r, const struct lens_opts *o, double *iterations,
                 double *accesses)
{
    struct lens *l = r->l;
    double all = 0, inside = 0;
    double most = 0, middle = 0;
    if (!walk_count(r->walk, iterations, accesses, &l->accesses))
        return false;
    for (int i = 0; i < walk_n_marks(r->walk); i++) {
        if (accesses[i] > most)
            middle = all + iterations[i] / 2;
        most = accesses[i] > most ? accesses[i] : most;
        all += iterations[i];
        inside += accesses[i];
    }
    l->iterations = (int64_t)all;
    l->from = o->from < 0 ? (int64_t)middle
            : o->from < l->iterations ? o->from : l->iterations > 0 ? l->iterations - 1 : 0;
    double each = all > 0 && inside > all ? inside / all : 1;
    double warm = WARM_TOUCHES * (double)l->n_sets * l->ways / each + 1;
    r->warm_from = (double)l->from > warm ? l->from - (int64_t)warm : 0;
    return true;
}

void lens_scale_window(const struct lens *l, struct lens_site_count *of)
{
    double scale = l->n_touches > 0 ? fmax(1, l->accesses / l->n_touches) : 0;
    for (int i = 0; i < l->n_touches; i++)
        if (l->touch[i].missed && l->touch[i].site != LENS_PREFETCH) {
            of[l->touch[i].site].misses += scale;
            of[l->touch[i].site].conflict += l->touch[i].conflict ? scale : 0;
        }
}

/* Takes the misses of the whole run; if simulating the run took too long, those of the window. */
static void take_whole(struct lens *l, const struct lens_cells *whole)
{
    struct lens_site_count *of = ARENA_ARRAY(l->arena, struct lens_site_count, l->n_sites + 1);
    l->n_columns = whole->n_columns;
    l->cell = whole->cell;
    l->simulated = whole->simulated;
    lens_scale_window(l, of);
    lens_find_causes(l, whole->n_columns > 0 ? whole->site : of,
                     whole->n_columns > 0 && whole->all);
}

static void close_run(struct lens_run *r)
{
    lru_close(r->lru);
    cachesim_close(r->cache);
    walk_close(r->walk);
    free(r->resident);
    free(r->by);
    vec_free(&r->touches);
    vec_free(&r->turns);
    vec_free(&r->pairs);
}

static void open_lines(struct lens_run *r, const unsigned long long *base, uint64_t end)
{
    const struct cache_geometry *g = &r->l->cache.level[0].geometry;
    r->l->line_bytes = g->line_bytes;
    r->l->ways = g->ways;
    r->l->n_sets = (int)(g->size_bytes / g->line_bytes / g->ways);
    r->first_line = (int64_t)(base[0] / (unsigned)g->line_bytes);
    r->l->first_set = (int)(r->first_line % r->l->n_sets);
    /* a prefetcher may reach beyond the last buffer, within its page */
    r->n_lines = (int64_t)(end + CACHE_PAGE_BYTES) / g->line_bytes - r->first_line + 1;
    r->lru = lru_open(g->size_bytes / g->line_bytes, r->n_lines);
    r->resident = xcalloc((size_t)r->n_lines, sizeof *r->resident);
    r->by = xmalloc(sizeof *r->by * (size_t)r->n_lines);
    for (int64_t i = 0; i < r->n_lines; i++)
        r->by[i] = (struct placing){ -1, -1 };
}

static bool few_lines(const struct cache_config *c, uint64_t first, uint64_t end, struct err *e)
{
    uint64_t line = (uint64_t)c->level[0].geometry.line_bytes;
    return (end - first) / line < MOST_LINES_SEEN
        || err_set(e, ERR_RANGE, "the buffers have %.3g MiB, but the lens shows only %.3g MiB",
                   (double)(end - first) / 1048576, (double)(MOST_LINES_SEEN * line) / 1048576);
}

static bool for_cpu(const struct program *p, const struct target *t, struct err *e)
{
    return !program_text_is_gpu(p, t)
        || err_set(e, ERR_RANGE, "the lens shows the L1 of a CPU, and this kernel is for a GPU");
}

bool lens_open(const struct program *p, const struct lens_opts *o, const struct cancel *c,
               struct lens **out, struct err *e)
{
    const struct func *f;
    const struct gen_opts gen = { .target = target_or_host(o->target) };
    struct arena *a = arena_new();
    struct lens *l = ARENA_NEW(a, struct lens);
    struct lens_run r = { .l = l, .most = o->touches > 0 && o->touches < LENS_TOUCHES
                                           ? o->touches : LENS_TOUCHES };
    struct lens_cells whole = {0};
    int n_sites;
    *l = (struct lens){ .arena = a, .cache = predict_cache(&o->cache) };
    bool ok = for_cpu(p, o->target, e) && program_lower(p, &f, e)
           && walk_open(f, &gen, &r.walk, e);
    unsigned long long *base = ARENA_ARRAY(a, unsigned long long, ok ? f->n_buffers + 1 : 1);
    uint64_t end = ok ? measure_place_buffers(f, base) : 0;
    if (ok)
        walk_sites(r.walk, &n_sites);
    ok = ok && cachesim_open(&l->cache, n_sites, &r.cache, e)
      && cachesim_reaches(&l->cache, end, e) && few_lines(&l->cache, base[0], end, e);
    if (ok) {
        walk_limit(r.walk, 0, c);
        open_lines(&r, base, end);
        take_buffers(&r, f, base);
        take_code(&r, f);
        struct lens_path path = { .walk = r.walk, .base = base, .cache = &l->cache,
                                  .n_sets = l->n_sets, .ways = l->ways,
                                  .first_set = l->first_set, .first_line = r.first_line,
                                  .n_lines = r.n_lines };
        ok = plan(&r, o, path.iterations, path.accesses);
        if (ok)
            simulate(&r, base);
        path.all = l->accesses;
        ok = ok && lens_whole(a, &path, c, &whole, e);
        if (ok)
            take_whole(l, &whole);
        if (cancelled(c))
            ok = err_set(e, ERR_CANCEL, "cancelled");
    }
    close_run(&r);
    if (ok)
        *out = l;
    else
        arena_free(a);
    return ok;
}

void lens_free(struct lens *l)
{
    if (l)
        arena_free(l->arena);
}

/* --- Questions -------------------------------------------------------------------------------- */

int lens_set_of(const struct lens *l, int32_t line)
{
    return (l->first_set + line) % l->n_sets;
}

int lens_buffer_of(const struct lens *l, int32_t line)
{
    for (int i = 0; i < l->n_buffers; i++)
        if (line >= l->buffer[i].first && line < l->buffer[i].first + l->buffer[i].lines)
            return i;
    return -1;
}

void lens_grid(const struct lens *l, bool whole, int rows, int columns, double *cell)
{
    memset(cell, 0, sizeof *cell * (size_t)(rows * columns));
    for (int64_t i = 0; whole && i < (int64_t)l->n_sets * l->n_columns; i++) {
        int64_t set = i / l->n_columns, x = i % l->n_columns;
        cell[set * rows / l->n_sets * columns + x * columns / l->n_columns] += l->cell[i];
    }
    for (int64_t i = 0; !whole && i < l->n_touches; i++) {
        int64_t set = lens_set_of(l, l->touch[i].line);
        if (l->touch[i].missed)
            cell[set * rows / l->n_sets * columns + i * columns / l->n_touches]++;
    }
}

void lens_held(const struct lens *l, int at, bool *held)
{
    memcpy(held, l->resident, sizeof *held * (size_t)l->n_lines);
    for (int i = 0; i <= at && i < l->n_touches; i++) {
        if (l->touch[i].evicted >= 0)
            held[l->touch[i].evicted] = false;
        held[l->touch[i].line] = true;
    }
}

/* Returns the first turn i with turn[i].at >= at; n_turns if there is none. */
static int turn_from(const struct lens *l, int at)
{
    int lo = 0, hi = l->n_turns;
    while (lo < hi) {
        int middle = (lo + hi) / 2;
        if (l->turn[middle].at < at)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

int lens_next(const struct lens *l, int loop, int at, int dir)
{
    int i = dir > 0 ? turn_from(l, at + 1) : turn_from(l, at) - 1;
    while (i >= 0 && i < l->n_turns && l->turn[i].loop != loop)
        i += dir;
    return i >= 0 && i < l->n_turns && l->turn[i].at < l->n_touches ? l->turn[i].at : -1;
}

int lens_first_conflict(const struct lens *l, int at)
{
    for (int i = at; i < l->n_touches; i++)
        if (l->touch[i].conflict)
            return i;
    return -1;
}

/* Whether loop `inner` is loop `outer` or inside it. */
static bool is_inside(const struct lens *l, int inner, int outer)
{
    while (inner >= 0 && inner != outer)
        inner = l->loop[inner].parent;
    return inner >= 0;
}

int lens_around(const struct lens *l, int at, int loop[LENS_DEEPEST])
{
    int i = turn_from(l, at + 1) - 1, n = 0, kept = 0, site = l->touch[at].site;
    int inner = i >= 0 ? l->turn[i].loop : -1;
    while (inner >= 0 && site != LENS_PREFETCH && !is_inside(l, l->site[site].loop, inner))
        inner = l->loop[inner].parent;    /* that loop has ended before the touch */
    for (int k = inner; k >= 0; k = l->loop[k].parent)
        n++;
    for (int k = inner; k >= 0; k = l->loop[k].parent)
        if (--n < LENS_DEEPEST) {
            loop[n] = k;
            kept++;
        }
    return kept;
}

int64_t lens_value(const struct lens *l, int loop, int at)
{
    int i = turn_from(l, at + 1) - 1;
    while (i >= 0 && l->turn[i].loop != loop)
        i--;
    return i >= 0 ? l->turn[i].value : -1;
}
