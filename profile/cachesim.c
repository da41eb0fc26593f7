/* Each set is a short array of lines, most recently used first: a hit in front costs one
 * comparison, any other access moves the entries before it back by one while it searches, which
 * is LRU with nothing to age. */
#include "profile/cachesim.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINES ((int64_t)1 << 26)
#define MAX_SIZE ((int64_t)1 << 40)
#define DIRTY 1u

/* A way holds (line << 1) + 2, plus DIRTY; 0 is an empty way. */
struct cachesim {
    uint64_t *way;
    uint64_t sets, mask;                 /* mask: sets - 1 when sets is a power of two, else 0 */
    int ways;
    int line_shift;
    int n_sites;
    uint8_t *store;
    struct site_count *count;
    int64_t writebacks;
};

static bool is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

bool cache_geometry_check(const struct cache_geometry *g, struct err *e)
{
    if (!is_power_of_two(g->line_bytes) || g->line_bytes < 4 || g->line_bytes > 4096)
        return err_set(e, ERR_RANGE, "a line of %d bytes: it must be a power of two, 4 to 4096",
                       g->line_bytes);
    if (g->ways < 1)
        return err_set(e, ERR_RANGE, "a cache with %d ways: it needs at least 1", g->ways);
    if (g->size_bytes < 1)
        return err_set(e, ERR_RANGE, "a cache of %lld bytes", (long long)g->size_bytes);
    int64_t set_bytes = (int64_t)g->ways * g->line_bytes;
    if (g->size_bytes % set_bytes != 0) {
        err_set(e, ERR_RANGE,
                "a cache of %lld bytes does not divide into sets of %d ways x %d bytes",
                (long long)g->size_bytes, g->ways, g->line_bytes);
        int64_t near = g->size_bytes / set_bytes * set_bytes;
        return err_fix(e, "a size that is a multiple of %lld, like %lld", (long long)set_bytes,
                       (long long)(near > 0 ? near : set_bytes));
    }
    if (g->size_bytes / g->line_bytes > MAX_LINES)
        return err_set(e, ERR_RANGE, "a cache of %lld lines is more than can be simulated (%lld)",
                       (long long)(g->size_bytes / g->line_bytes), (long long)MAX_LINES);
    return true;
}

bool cachesim_open(const struct cache_geometry *g, int n_sites, struct cachesim **out,
                   struct err *e)
{
    if (!cache_geometry_check(g, e))
        return false;
    if (n_sites < 0)
        return err_set(e, ERR_RANGE, "%d sites", n_sites);
    struct cachesim *s = xcalloc(1, sizeof *s);
    s->ways = g->ways;
    s->sets = (uint64_t)(g->size_bytes / ((int64_t)g->ways * g->line_bytes));
    s->mask = is_power_of_two((int64_t)s->sets) ? s->sets - 1 : 0;
    s->line_shift = __builtin_ctz((unsigned)g->line_bytes);
    s->n_sites = n_sites;
    s->way = xcalloc(s->sets * (uint64_t)s->ways, sizeof *s->way);
    s->store = xcalloc((size_t)n_sites + 1, sizeof *s->store);
    s->count = xcalloc((size_t)n_sites + 1, sizeof *s->count);
    *out = s;
    return true;
}

void cachesim_close(struct cachesim *s)
{
    if (!s)
        return;
    free(s->way);
    free(s->store);
    free(s->count);
    free(s);
}

void cachesim_store_site(struct cachesim *s, int site)
{
    if (site >= 0 && site < s->n_sites)
        s->store[site] = DIRTY;
}

/* Not a power of two: addresses are small, and a 32-bit division is much the cheaper one. */
static inline uint64_t set_of(uint64_t line, uint64_t sets, uint64_t mask, bool masked)
{
    if (masked)
        return line & mask;
    if ((line | sets) >> 32 == 0)
        return (uint32_t)line % (uint32_t)sets;
    return line % sets;
}

static inline uint64_t key_of(uint64_t line)
{
    return (line << 1) + 2;
}

/* Finds a line in its set or replaces the last way.  1 on a miss. */
static int touch(struct cachesim *s, uint64_t line, unsigned dirty)
{
    bool masked = s->mask || s->sets == 1;
    uint64_t *way = s->way + set_of(line, s->sets, s->mask, masked) * (uint64_t)s->ways;
    uint64_t key = key_of(line), before = way[0];
    if ((before & ~(uint64_t)DIRTY) == key) {
        way[0] |= dirty;
        return 0;
    }
    for (int w = 1; w < s->ways; w++) {
        uint64_t here = way[w];
        way[w] = before;
        if ((here & ~(uint64_t)DIRTY) == key) {
            way[0] = here | dirty;
            return 0;
        }
        before = here;
    }
    s->writebacks += (int64_t)(before & DIRTY);
    way[0] = key | dirty;
    return 1;
}

static __attribute__((noinline)) int touch_all(struct cachesim *s, uint64_t line, uint64_t last,
                                               unsigned dirty)
{
    int missed = touch(s, line, dirty);
    while (line < last)
        missed += touch(s, ++line, dirty);
    return missed;
}

/* The common case, one line that is in front of its set, is all there is in this loop: with more
 * in it the compiler runs out of registers, and the whole simulation takes twice the time. */
static inline __attribute__((always_inline)) void run(struct cachesim *s, const struct ts_rec *rec,
                                                      long n, bool masked)
{
    int shift = s->line_shift;
    unsigned n_sites = (unsigned)s->n_sites;
    uint64_t *ways = s->way, n_ways = (uint64_t)s->ways, sets = s->sets, mask = s->mask;
    const uint8_t *store = s->store;
    struct site_count *count = s->count;
    for (const struct ts_rec *r = rec, *end = rec + n; r < end; r++) {
        unsigned site = r->site;
        if (site >= n_sites)
            continue;
        uint64_t line = r->addr >> shift, last = (r->addr + r->bytes - 1) >> shift;
        unsigned dirty = store[site];
        uint64_t *way = ways + set_of(line, sets, mask, masked) * n_ways;
        count[site].accesses++;
        if (line == last && (*way ^ key_of(line)) <= DIRTY)
            *way |= dirty;
        else
            count[site].misses += touch_all(s, line, last, dirty);
    }
}

/* Two copies of the loop: a set is a mask away or a division. */
void cachesim_run(struct cachesim *s, const struct ts_rec *rec, long n)
{
    if (s->mask || s->sets == 1)
        run(s, rec, n, true);
    else
        run(s, rec, n, false);
}

const struct site_count *cachesim_counts(const struct cachesim *s)
{
    return s->count;
}

int64_t cachesim_writebacks(const struct cachesim *s)
{
    return s->writebacks;
}

void cachesim_flush(struct cachesim *s)
{
    memset(s->way, 0, s->sets * (uint64_t)s->ways * sizeof *s->way);
}

/* A number with an optional K, M or G; NULL when there is none or it is too large. */
static const char *take_number(const char *p, bool units, int64_t *out)
{
    static const char letters[] = "kmg";
    int64_t n = 0, most = MAX_SIZE;
    if (!isdigit((unsigned char)*p))
        return NULL;
    for (; isdigit((unsigned char)*p); p++) {
        n = 10 * n + (*p - '0');
        if (n > most)
            return NULL;
    }
    const char *unit = units && *p ? strchr(letters, tolower((unsigned char)*p)) : NULL;
    int shift = unit ? 10 * (int)(unit - letters + 1) : 0;
    if (n > most >> shift)
        return NULL;
    *out = n << shift;
    return p + (unit != NULL);
}

bool cache_geometry_parse(const char *text, struct cache_geometry *out, struct err *e)
{
    int64_t part[3] = {0};
    const char *p = text;
    for (int i = 0; p && i < 3; i++) {
        p = take_number(p, i == 0, &part[i]);
        if (p && i < 2)
            p = *p == '/' ? p + 1 : NULL;
    }
    if (!p || *p || part[1] > INT32_MAX || part[2] > INT32_MAX) {
        err_set(e, ERR_SYNTAX, "\"%.64s\" is no cache geometry", text);
        return err_fix(e, "SIZE/WAYS/LINE, like 32K/8/64");
    }
    struct cache_geometry g = { part[0], (int)part[1], (int)part[2] };
    if (!cache_geometry_check(&g, e))
        return false;
    *out = g;
    return true;
}

void cache_geometry_print(struct str *out, const struct cache_geometry *g)
{
    static const char unit[] = "KMG";
    int64_t size = g->size_bytes;
    int u = -1;
    while (u < 2 && size > 0 && size % 1024 == 0) {
        size /= 1024;
        u++;
    }
    str_printf(out, "%lld", (long long)size);
    if (u >= 0)
        str_add_char(out, unit[u]);
    str_printf(out, "/%d/%d", g->ways, g->line_bytes);
}
