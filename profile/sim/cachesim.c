#include "profile/sim/cachesim.h"
#include "profile/sim/cachesim_level.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SLOTS 4096u

/* The state of the stride prefetcher for one site: the last address, the last step in bytes, and
 * how often this step was repeated. */
struct stride { uint64_t last; int64_t step; int seen; };

struct cachesim {
    struct ts_sim hooks;  /* must be first: the instrumented kernel knows only this part */
    uint64_t *front, mask;  /* front: the slots (struct ts_sim); while watched, &aside */
    struct level level[CACHE_LEVELS];
    int n_levels, n_sites, line_shift;
    struct cache_config config;
    uint8_t *store;                       /* per site: DIRTY if it writes, else 0 */
    struct site_count *count;
    struct stride *stride;
    touch_fn *told;
    place_fn *placed;
    void *told_ctx;
    uint64_t aside;  /* the only slot while watched; the instrumented kernel does not see it */
};

/* --- Below L1 --------------------------------------------------------------------------------- */

static void evict(struct cachesim *s, int k, uint32_t held);

static void clear_slot(struct cachesim *s, uint64_t line)
{
    s->front[line & s->mask] = 0;
}

static inline void fill_slot(struct cachesim *s, uint64_t line, unsigned dirty)
{
    s->front[line & s->mask] = 2 * line + 2 + dirty;
}

/* Handles a line that level k has replaced. victim: the previous value of the way; 0: the way was
 * empty. Evicting a clean line from a non-inclusive level changes nothing. */
static inline void replaced(struct cachesim *s, int k, uint32_t victim)
{
    if (victim && (victim & DIRTY || s->level[k].inclusive))
        evict(s, k, victim);
}

/* Places a line in level k. Returns the previous value of the way; 0: the way was empty. */
static inline uint32_t place(struct cachesim *s, int k, uint64_t line, unsigned flags)
{
    uint32_t victim = level_place(&s->level[k], line, flags);
    if (k == 0 && s->placed)
        s->placed(s->told_ctx, line, victim ? (int64_t)way_line(victim) : -1);
    return victim;
}

static void insert(struct cachesim *s, int k, uint64_t line, unsigned flags)
{
    replaced(s, k, place(s, k, line, flags));
}

static void write_below(struct cachesim *s, int k, uint64_t line)
{
    if (k < s->n_levels && !level_use(&s->level[k], line, DIRTY))
        insert(s, k, line, DIRTY);
}

/* Drops a line from the levels above level k. Returns DIRTY if one of the dropped copies was dirty,
 * else 0. */
static unsigned drop_above(struct cachesim *s, int k, uint64_t line)
{
    unsigned flags = 0;
    while (k-- > 0)
        flags |= cachesim_level_drop(&s->level[k], line) & DIRTY;
    clear_slot(s, line);
    return flags;
}

static void evict(struct cachesim *s, int k, uint32_t held)
{
    struct level *v = &s->level[k];
    uint64_t line = way_line(held);
    unsigned dirty = held & DIRTY;
    if (v->inclusive && k > 0)
        dirty |= drop_above(s, k, line);
    if (!dirty)
        return;
    v->count.writebacks++;
    write_below(s, k + 1, line);
}

/* Fetches a line from level k. site: the site that needs it; < 0: a prefetcher needs it. */
static void fetch(struct cachesim *s, int k, uint64_t line, int site)
{
    if (k == s->n_levels)
        return;
    struct level *v = &s->level[k];
    v->count.accesses += site >= 0;
    if (level_use(v, line, 0))
        return;
    if (site >= 0) {
        v->count.misses++;
        s->count[site].misses[k]++;
    } else {
        v->count.prefetches++;
    }
    fetch(s, k + 1, line, site);
    insert(s, k, line, 0);
}

/* --- L1 --------------------------------------------------------------------------------------- */

static void prefetch(struct cachesim *s, uint64_t line)
{
    if (cachesim_level_has(&s->level[0], line))
        return;
    s->level[0].count.prefetches++;
    fetch(s, 1, line, -1);
    clear_slot(s, line);
    insert(s, 0, line, PREFETCHED);
}

static bool same_page(uint64_t a, uint64_t b)
{
    return a / CACHE_PAGE_BYTES == b / CACHE_PAGE_BYTES;
}

static void prefetch_stride(struct cachesim *s, uint64_t addr, unsigned site)
{
    struct stride *t = &s->stride[site];
    int64_t step = (int64_t)(addr - t->last);
    t->last = addr;
    t->seen = step == t->step && step != 0 ? t->seen + 1 : 0;
    t->step = step;
    for (int i = 1; t->seen >= s->config.confirm && i <= s->config.degree; i++) {
        uint64_t to = addr + (uint64_t)step * (uint64_t)i;
        if (!same_page(addr, to))
            return;
        prefetch(s, to >> s->line_shift);
    }
    if (t->seen > s->config.confirm)
        t->seen = s->config.confirm;
}

/* Prefetches after a miss at addr, or after the first use of a prefetched line. */
static __attribute__((noinline)) void prefetch_after(struct cachesim *s, uint64_t addr,
                                                     unsigned site, bool missed)
{
    if (s->config.prefetch == PREFETCH_STRIDE)
        prefetch_stride(s, addr, site);
    int degree = s->config.prefetch == PREFETCH_STRIDE || !missed ? 0
               : s->config.prefetch == PREFETCH_NEXT ? 2 : s->config.degree;
    uint64_t line = addr >> s->line_shift;
    for (int i = 1; i < degree && same_page(addr, (line + (uint64_t)i) << s->line_shift); i++)
        prefetch(s, line + (uint64_t)i);
}

static __attribute__((noinline)) void miss(struct cachesim *s, uint64_t addr, unsigned site,
                                           unsigned dirty)
{
    uint64_t line = addr >> s->line_shift;
    s->level[0].count.misses++;
    s->count[site].misses[0]++;
    if (s->n_levels > 1)
        fetch(s, 1, line, (int)site);
    uint32_t victim = place(s, 0, line, dirty);
    fill_slot(s, line, dirty);
    replaced(s, 0, victim);
    if (s->config.prefetch != PREFETCH_NONE)
        prefetch_after(s, addr, site, true);
}

/* Touches one line of an access. addr: the first byte of the access in this line. Returns whether
 * the line was absent. */
static inline __attribute__((always_inline)) bool touch_line(struct cachesim *s, uint64_t addr,
                                                             unsigned site)
{
    uint64_t line = addr >> s->line_shift;
    unsigned dirty = s->store[site];
    uint32_t held = level_use(&s->level[0], line, dirty);
    if (!held) {
        miss(s, addr, site, dirty);
        return true;
    }
    fill_slot(s, line, (held | dirty) & DIRTY);
    if (held & PREFETCHED) {
        s->level[0].count.useful++;
        prefetch_after(s, addr, site, false);
    }
    return false;
}

/* Touches the lines of an access one after the other, and reports each to s->told, if it is set. */
static void touch_each(struct ts_sim *hooks, unsigned long long addr, unsigned site,
                       unsigned bytes)
{
    struct cachesim *s = (struct cachesim *)hooks;
    uint64_t line = addr >> s->line_shift, last = (addr + bytes - 1) >> s->line_shift;
    int misses = 0;
    for (uint64_t at = addr;; at = line << s->line_shift) {
        bool missed = touch_line(s, at, site);
        misses += missed;
        if (s->told)
            s->told(s->told_ctx, line, site, missed);
        if (line++ == last)
            break;
    }
    if (misses > 1)
        s->level[0].count.straddled += misses - 1;
}

/* Simulates an access. The case of one line is fast, because nearly all accesses lie in one
 * line. */
static void touch(struct ts_sim *hooks, unsigned long long addr, unsigned site, unsigned bytes)
{
    struct cachesim *s = (struct cachesim *)hooks;
    if ((addr ^ (addr + bytes - 1)) >> s->line_shift == 0)
        touch_line(s, addr, site);
    else
        touch_each(hooks, addr, site, bytes);
}

/* Does what touch does, for an inlined L1 without lower levels and prefetcher. */
static void touch_alone(struct ts_sim *hooks, unsigned long long addr, unsigned site,
                        unsigned bytes)
{
    struct cachesim *s = (struct cachesim *)hooks;
    struct level *v = &s->level[0];
    uint64_t line = addr >> s->line_shift;
    unsigned dirty = s->store[site];
    if ((addr ^ (addr + bytes - 1)) >> s->line_shift) {
        touch_each(hooks, addr, site, bytes);
        return;
    }
    uint32_t held = level_use_inline(v, line, dirty);
    fill_slot(s, line, (held | dirty) & DIRTY);
    if (held)
        return;
    v->count.misses++;
    s->count[site].misses[0]++;
    v->count.writebacks += level_place_inline(v, line, dirty) & DIRTY;
}

/* --- Start and end ---------------------------------------------------------------------------- */

/* Returns the number of slots: the largest power of two that divides the number of sets, at most
 * MOST_SLOTS. */
static uint64_t slots_of(uint64_t sets)
{
    uint64_t slots = sets & -sets;
    return slots < MOST_SLOTS ? slots : MOST_SLOTS;
}

bool cachesim_open(const struct cache_config *c, int n_sites, struct cachesim **out,
                   struct err *e)
{
    if (!cache_config_check(c, e))
        return false;
    if (n_sites < 0)
        return err_set(e, ERR_RANGE, "%d sites", n_sites);
    struct cachesim *s = xcalloc(1, sizeof *s);
    s->config = *c;
    s->n_levels = c->n_levels;
    s->n_sites = n_sites;
    s->line_shift = __builtin_ctz((unsigned)c->level[0].geometry.line_bytes);
    for (int i = 0; i < c->n_levels; i++)
        cachesim_level_open(&s->level[i], &c->level[i], c->seed + (uint64_t)i + 1);
    s->store = xcalloc((size_t)n_sites + 1, sizeof *s->store);
    s->count = xcalloc((size_t)n_sites + 1, sizeof *s->count);
    s->stride = xcalloc((size_t)n_sites + 1, sizeof *s->stride);
    uint64_t slots = slots_of(s->level[0].sets);
    s->mask = slots - 1;
    s->front = xcalloc(slots, sizeof *s->front);
    bool alone = c->n_levels == 1 && c->prefetch == PREFETCH_NONE && s->level[0].is_inline;
    s->hooks = (struct ts_sim){ .front = (unsigned long long *)s->front, .mask = s->mask,
                                .touch = alone ? touch_alone : touch };
    *out = s;
    return true;
}

bool cachesim_reaches(const struct cache_config *c, uint64_t end, struct err *e)
{
    uint64_t line = (uint64_t)c->level[0].geometry.line_bytes, most = MOST_LINES * line;
    if (end <= most)
        return true;
    err_set(e, ERR_RANGE,
            "the buffers end at %llu MiB, but the simulator reaches only %llu MiB with lines of "
            "%llu bytes", (unsigned long long)end >> 20,
            (unsigned long long)most >> 20, (unsigned long long)line);
    return err_fix(e, "use longer lines, or less data");
}

void cachesim_close(struct cachesim *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->n_levels; i++)
        cachesim_level_close(&s->level[i]);
    if (s->front != &s->aside)
        free(s->front);
    free(s->store);
    free(s->count);
    free(s->stride);
    free(s);
}

void cachesim_store_site(struct cachesim *s, int site)
{
    if (site >= 0 && site < s->n_sites)
        s->store[site] = DIRTY;
}

/* Turns the filter off: the instrumented kernel sees a single slot that never holds a line. The
 * lines used last are stored in `aside` instead. */
void cachesim_watch(struct cachesim *s, touch_fn *told, void *ctx)
{
    static unsigned long long never;
    free(s->front);
    s->front = &s->aside;
    s->mask = 0;
    s->hooks.front = &never;
    s->hooks.mask = 0;
    s->hooks.touch = touch_each;
    s->told = told;
    s->told_ctx = ctx;
}

void cachesim_watch_places(struct cachesim *s, place_fn *placed)
{
    s->placed = placed;
}

struct ts_sim *cachesim_hooks(struct cachesim *s)
{
    return &s->hooks;
}

void cachesim_access(struct cachesim *s, uint64_t addr, unsigned site, unsigned bytes)
{
    if (site >= (unsigned)s->n_sites)
        return;
    uint64_t line = addr >> s->line_shift, key = 2 * line + 2 + s->store[site];
    uint64_t differs = s->hooks.front[line & s->hooks.mask] ^ key;
    if (differs > (s->store[site] ? 0 : 1) || (addr + bytes - 1) >> s->line_shift != line)
        s->hooks.touch(&s->hooks, addr, site, bytes);
}

const struct site_count *cachesim_counts(const struct cachesim *s)
{
    return s->count;
}

void cachesim_levels(const struct cachesim *s, struct level_count out[CACHE_LEVELS])
{
    for (int i = 0; i < CACHE_LEVELS; i++)
        out[i] = s->level[i].count;
}

void cachesim_flush(struct cachesim *s)
{
    for (int i = 0; i < s->n_levels; i++)
        cachesim_level_flush(&s->level[i]);
    memset(s->front, 0, (s->mask + 1) * sizeof *s->front);
}
