#include "profile/sim/gpusim.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "profile/sim/cachesim_level.h"

#define MOST_SECTOR_BYTES ((uint64_t)1 << 36)     /* most bytes of sector tables; few are touched */
#define MOST_WARPS 64                     /* of a multiprocessor */
#define MOST_BLOCKS 32
#define LEAST_L1 (28 * 1024)              /* bytes of a larger L1 that shared memory cannot take */
#define LOCAL_WORD 4                      /* bytes by which the local arrays of a warp interleave */
#define GPU_MOST_LINES (GPU_WARP * (GPU_MOST_BYTES / 32 + 1))

/* --- One access of a warp --------------------------------------------------------------------- */

/* A set of numbers; most: the largest one.  The fast case: threads mostly access ascending
 * addresses, so a new number is larger than all others, and a repeated number is the last one. */
struct distinct { int n; uint64_t most, *list; };

/* Adds v. Returns false if the set has it already. */
static bool add_once(struct distinct *s, uint64_t v)
{
    for (int i = s->n; i > 0 && v <= s->most; i--)
        if (s->list[i - 1] == v)
            return false;
    s->most = s->n == 0 || v > s->most ? v : s->most;
    s->list[s->n++] = v;
    return true;
}

void gpu_count_sectors(const struct gpu_device *d, uint32_t active, const unsigned long long *addr,
                       int bytes, struct gpu_sectors *out)
{
    uint64_t place[GPU_WARP];
    struct distinct places = { .list = place }, sectors = { .list = out->sector };
    int shift = __builtin_ctzll((unsigned long long)d->sector);
    for (int t = 0; t < GPU_WARP; t++) {
        if (!(active >> t & 1))
            continue;
        uint64_t last = (addr[t] + (unsigned)bytes - 1) >> shift;
        add_once(&places, addr[t]);
        for (uint64_t k = addr[t] >> shift; k <= last; k++)
            add_once(&sectors, k);
    }
    out->n = sectors.n;
    out->ideal = (int)(((int64_t)places.n * bytes + d->sector - 1) / d->sector);
}

/* Returns the most different words that the threads of a phase need from one bank. */
static int phase_degree(const struct gpu_device *d, uint32_t active, const unsigned long long *addr,
                        int bytes)
{
    uint64_t word[GPU_WARP * (GPU_MOST_BYTES + 1)];
    struct distinct words = { .list = word };
    int in_bank[64] = {0}, most = 0;
    for (int t = 0; t < GPU_WARP; t++) {
        if (!(active >> t & 1))
            continue;
        uint64_t last = (addr[t] + (unsigned)bytes - 1) / (uint64_t)d->bank;
        for (uint64_t k = addr[t] / (uint64_t)d->bank; k <= last; k++) {
            int *count = &in_bank[k % (uint64_t)d->banks];
            *count += add_once(&words, k);
            most = *count > most ? *count : most;
        }
    }
    return most;
}

struct gpu_banks gpu_count_banks(const struct gpu_device *d, uint32_t active,
                                 const unsigned long long *addr, int bytes)
{
    struct gpu_banks b = {0};
    int phases = bytes <= d->bank ? 1 : (int)(bytes / d->bank), each;
    phases = phases > GPU_WARP ? GPU_WARP : phases;
    each = GPU_WARP / phases;
    for (int from = 0; from < GPU_WARP; from += each) {
        uint32_t in = active & (uint32_t)(((UINT64_C(1) << each) - 1) << from);
        int degree = in ? phase_degree(d, in, addr, bytes) : 0;
        b.degree = degree > b.degree ? degree : b.degree;
        b.turns += degree;
        b.phases += in != 0;
    }
    return b;
}

/* --- Caches ----------------------------------------------------------------------------------- */

/* A cache with sectors.  sector[line] has a meaning if the level has the line.  Bits 0 to 3: the
 * sectors that are present; bits 4 to 7: the sectors that must be written back. */
struct sectored { struct level level; uint8_t *sector; };

/* The last access of a site and its counts.  An access by the same threads with the same offsets
 * and bytes has the same counts, so most accesses need not be counted again.  Addresses and lines
 * are relative to the least address, rounded down to a multiple of a period.  The period is a line,
 * or for shared memory one word of all banks.  offset: the relative address of each thread; line:
 * the relative number of each line, with a mask of the touched sectors. */
struct pattern {
    uint32_t active;                      /* 0: no access yet */
    unsigned bytes;
    unsigned long long offset[GPU_WARP];
    struct gpu_banks banks;               /* of shared memory */
    int sectors, ideal, n_lines;          /* of other memory */
    struct { uint64_t line; unsigned mask; } line[GPU_MOST_LINES];
    int run;  /* as in struct gpu_count; 0: no two neighbouring threads are active */
    int64_t stride;
};

struct gpusim {
    struct gpu_device device;
    int n_sites, warps;
    struct gpu_site *site;
    struct pattern *pattern;              /* per site */
    struct gpu_count *count;
    struct gpu_traffic all;
    uint64_t first_line;
    struct sectored *l1, l2;
    struct sectored *here;                /* the L1 of the current block */
    uint64_t slot;  /* number of the block's first warp; blocks of one multiprocessor share it */
    double weight;
};

static struct cache_level geometry(const struct gpu_device *d, int64_t bytes, int64_t ways)
{
    int64_t set = ways * d->line, sets = bytes / set;
    return (struct cache_level){ .geometry = { (sets > 0 ? sets : 1) * set, (int)ways,
                                               (int)d->line } };
}

bool gpusim_open(const struct gpu_device *d, int n_sites, const struct gpu_site *site,
                 uint64_t first, uint64_t end, struct gpusim **out, struct err *e)
{
    uint64_t lines = (end - first) / (uint64_t)d->line + 2;
    if (lines >= MOST_LINES || lines * (uint64_t)(d->sms + 1) > MOST_SECTOR_BYTES)
        return err_set(e, ERR_RANGE, "the buffers have %.3g GiB, too much for the simulated caches"
                       " of a GPU", (double)(end - first) / (1 << 30));
    struct gpusim *s = xcalloc(1, sizeof *s);
    *s = (struct gpusim){ .device = *d, .n_sites = n_sites, .weight = 1,
                          .first_line = first / (uint64_t)d->line };
    s->site = xcalloc((size_t)n_sites + 1, sizeof *s->site);
    s->count = xcalloc((size_t)n_sites + 1, sizeof *s->count);
    s->pattern = xcalloc((size_t)n_sites + 1, sizeof *s->pattern);
    s->l1 = xcalloc((size_t)d->sms, sizeof *s->l1);
    for (int i = 0; i < n_sites; i++)
        s->site[i] = site[i];
    for (int i = 0; i < d->sms; i++)
        s->l1[i].sector = xcalloc(lines, 1);
    struct cache_level l2 = geometry(d, d->l2 * 1024, d->l2_ways);
    cachesim_level_open(&s->l2.level, &l2, 0);
    s->l2.sector = xcalloc(lines, 1);
    s->here = s->l1;
    *out = s;
    return true;
}

static void close_cache(struct sectored *c)
{
    cachesim_level_close(&c->level);
    free(c->sector);
}

void gpusim_close(struct gpusim *s)
{
    for (int i = 0; s && i < s->device.sms; i++)
        close_cache(&s->l1[i]);
    if (s) {
        close_cache(&s->l2);
        free(s->l1);
        free(s->site);
        free(s->count);
        free(s->pattern);
    }
    free(s);
}

/* Returns how many blocks of a kernel a multiprocessor holds at once. Only warps, shared memory and
 * MOST_BLOCKS limit them here; registers are not known. */
static int64_t resident(const struct gpu_device *d, int warps, int64_t shared)
{
    int64_t n = MOST_WARPS / warps, room = d->shared * 1024 / (shared + GPU_SYSTEM_SHARED);
    n = n < MOST_BLOCKS ? n : MOST_BLOCKS;
    n = n < room ? n : room;
    return n > 0 ? n : 1;
}

void gpusim_kernel(struct gpusim *s, int warps, int64_t shared_bytes)
{
    const struct gpu_device *d = &s->device;
    int64_t l1 = d->l1 * 1024, least = l1 < LEAST_L1 ? l1 : LEAST_L1;
    if (shared_bytes > 0)
        l1 -= resident(d, warps, shared_bytes) * (shared_bytes + GPU_SYSTEM_SHARED);
    if (l1 < least)
        l1 = least;
    struct cache_level level = geometry(d, l1, d->l1_ways);
    s->warps = warps;
    for (int i = 0; i < d->sms; i++) {
        cachesim_level_close(&s->l1[i].level);
        cachesim_level_open(&s->l1[i].level, &level, 0);
    }
}

void gpusim_block(struct gpusim *s, int64_t block, double weight)
{
    int64_t sm = block % s->device.sms;
    s->here = &s->l1[sm];
    s->slot = (uint64_t)(sm * s->warps);
    s->weight = weight;
}

static int bits(unsigned m)
{
    return __builtin_popcount(m);
}

/* Uses a line; places it if it is absent.  Returns the line's entry of c->sector.  If the line
 * replaced a line *victim, *left is a mask of those sectors of *victim that must be written back.
 * *left = 0: there are no such sectors. */
static uint8_t *take_line(struct sectored *c, uint64_t line, uint64_t *victim, unsigned *left)
{
    *left = 0;
    if (level_use(&c->level, line, 0))
        return &c->sector[line];
    uint32_t way = level_place(&c->level, line, 0);
    if (way) {
        *victim = way_line(way);
        *left = c->sector[*victim] >> 4;
    }
    c->sector[line] = 0;
    return &c->sector[line];
}

/* Accesses some sectors of a line in L2. Returns how many of them L2 has to fetch. */
static int use_l2(struct gpusim *s, uint64_t line, unsigned mask, bool store)
{
    uint64_t victim = 0;
    unsigned left;
    uint8_t *have = take_line(&s->l2, line, &victim, &left);
    int missing = store ? 0 : bits(mask & ~*have);
    *have |= (uint8_t)(store ? mask | mask << 4 : mask);
    s->all.back += s->weight * bits(left);
    s->all.l2_asked += s->weight * bits(mask);
    s->all.l2_misses += s->weight * missing;
    return missing;
}

static void write_l2(struct gpusim *s, uint64_t line, unsigned mask)
{
    if (mask == 0)
        return;
    s->all.written += s->weight * bits(mask);
    use_l2(s, line, mask, true);
}

/* Makes the access of a warp to some sectors of a line. */
static void use_line(struct gpusim *s, struct gpu_count *c, const struct gpu_site *site,
                     uint64_t line, unsigned mask)
{
    uint64_t victim = 0;
    unsigned left;
    s->all.l1_asked += s->weight * bits(mask);
    if (site->is_store && site->memory == MEMORY_GLOBAL) {
        write_l2(s, line, mask);
        return;
    }
    uint8_t *have = take_line(s->here, line, &victim, &left);
    unsigned missing = site->is_store ? 0 : mask & ~*have & 15;
    *have |= (uint8_t)(site->is_store ? mask | mask << 4 : mask);
    write_l2(s, victim, left);
    c->l1_misses += s->weight * bits(missing);
    s->all.l1_misses += s->weight * bits(missing);
    if (missing)
        c->l2_misses += s->weight * use_l2(s, line, missing, false);
}

/* --- Accesses --------------------------------------------------------------------------------- */

/* Finds by how many bytes the address moves from thread to thread, and for how many threads. */
static void find_stride(struct pattern *p)
{
    const unsigned long long *at = p->offset;
    int t = 0, n = 2;
    while (t + 1 < GPU_WARP && (p->active >> t & 3) != 3)
        t++;
    p->run = 0;
    if (t + 1 == GPU_WARP)
        return;
    p->stride = (int64_t)(at[t + 1] - at[t]);
    while (t + n < GPU_WARP && p->active >> (t + n) & 1
           && (int64_t)(at[t + n] - at[t + n - 1]) == p->stride)
        n++;
    p->run = t + n < GPU_WARP && p->active >> (t + n) & 1 ? n : GPU_WARP;
}

static void find_lines(const struct gpu_device *d, struct pattern *p)
{
    struct gpu_sectors s;
    uint64_t of_line = (uint64_t)(d->line / d->sector);
    gpu_count_sectors(d, p->active, p->offset, (int)p->bytes, &s);
    p->sectors = s.n;
    p->ideal = s.ideal;
    p->n_lines = 0;
    for (int i = 0; i < s.n; i++) {
        int k = 0;
        while (k < p->n_lines && p->line[k].line != s.sector[i] / of_line)
            k++;
        if (k == p->n_lines) {
            p->line[p->n_lines].line = s.sector[i] / of_line;
            p->line[p->n_lines++].mask = 0;
        }
        p->line[k].mask |= 1u << s.sector[i] % of_line;
    }
}

/* Returns the pattern of an access of a site. *from: the address to which the pattern is
 * relative. */
static const struct pattern *pattern_of(struct gpusim *s, unsigned site, uint32_t active,
                                        const unsigned long long *addr, unsigned bytes,
                                        uint64_t *from)
{
    struct pattern *p = &s->pattern[site];
    const struct gpu_device *d = &s->device;
    bool shared = s->site[site].memory == MEMORY_SHARED;
    uint64_t period = (uint64_t)(shared ? d->banks * d->bank : d->line);
    unsigned long long offset[GPU_WARP], least = UINT64_MAX;
    for (int t = 0; t < GPU_WARP; t++)
        least = active >> t & 1 && addr[t] < least ? addr[t] : least;
    *from = least - least % period;
    for (int t = 0; t < GPU_WARP; t++)
        offset[t] = active >> t & 1 ? addr[t] - *from : 0;
    if (p->active == active && p->bytes == bytes && !memcmp(p->offset, offset, sizeof offset))
        return p;
    p->active = active;
    p->bytes = bytes;
    memcpy(p->offset, offset, sizeof offset);
    find_stride(p);
    if (shared)
        p->banks = gpu_count_banks(d, active, addr, (int)bytes);
    else
        find_lines(d, p);
    return p;
}

/* Stores in out[t] where byte addr[t] + from of the local array of thread t lies. The arrays of the
 * threads of a warp are interleaved by words of 4 bytes. */
static void spread(const struct gpusim *s, const struct gpu_site *site, int warp,
                   const unsigned long long *addr, unsigned from, unsigned long long *out)
{
    const uint64_t word = LOCAL_WORD, words = (site->thread_bytes + word - 1) / word;
    for (int t = 0; t < GPU_WARP; t++) {
        uint64_t off = addr[t] + from - site->base;
        uint64_t row = (s->slot + (uint64_t)warp) * words + off / word;
        out[t] = site->base + (row * GPU_WARP + (unsigned)t) * word + off % word;
    }
}

static void use_shared(struct gpusim *s, struct gpu_count *c, const struct gpu_banks *b)
{
    c->degree = b->degree > c->degree ? b->degree : c->degree;
    c->turns += s->weight * b->turns;
    c->conflicts += s->weight * (b->turns - b->phases);
    s->all.cycles += s->weight * b->turns;
}

static void use_lines(struct gpusim *s, struct gpu_count *c, const struct gpu_site *site,
                      const struct pattern *p, uint64_t from)
{
    int of_line = (int)(s->device.line / s->device.sector);
    uint64_t first = from / (uint64_t)s->device.line - s->first_line;
    c->sectors += s->weight * p->sectors;
    c->ideal += s->weight * p->ideal;
    s->all.cycles += s->weight * ((p->sectors + of_line - 1) / of_line);
    for (int i = 0; i < p->n_lines; i++)
        use_line(s, c, site, first + p->line[i].line, p->line[i].mask);
}

/* Makes the access of a warp, or a part of it, to these addresses. */
static void use(struct gpusim *s, uint32_t active, const unsigned long long *addr, unsigned site,
                unsigned bytes)
{
    const struct gpu_site *at = &s->site[site];
    struct gpu_count *c = &s->count[site];
    uint64_t from;
    const struct pattern *p = pattern_of(s, site, active, addr, bytes, &from);
    if (p->run > 0) {
        c->run = !c->seen || (c->run == p->run && c->stride == p->stride) ? p->run : 0;
        c->stride = p->stride;
        c->seen = true;
    }
    if (at->memory == MEMORY_SHARED)
        use_shared(s, c, &p->banks);
    else
        use_lines(s, c, at, p, from);
}

/* The words of an access to a local array lie in different lines, so each word is accessed on its
 * own. */
void gpusim_access(struct gpusim *s, int warp, uint32_t active, const unsigned long long *addr,
                   unsigned site, unsigned bytes)
{
    unsigned long long moved[GPU_WARP];
    s->count[site].requests += s->weight;
    if (s->site[site].memory != MEMORY_LOCAL) {
        use(s, active, addr, site, bytes);
        return;
    }
    unsigned part = bytes < LOCAL_WORD ? bytes : LOCAL_WORD;
    for (unsigned from = 0; from < bytes; from += part) {
        spread(s, &s->site[site], warp, addr, from, moved);
        use(s, active, moved, site, part);
    }
}

const struct gpu_count *gpusim_counts(const struct gpusim *s)
{
    return s->count;
}

const struct gpu_traffic *gpusim_traffic(const struct gpusim *s)
{
    return &s->all;
}
