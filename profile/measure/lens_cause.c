/* Names the accesses that miss, and finds the loops that make them miss. */
#include "profile/measure/lens.h"

#include "profile/measure/lens_whole.h"

#include <stdlib.h>

const char *const miss_kind_name[3] = { "compulsory", "capacity", "conflict" };

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

const struct walk_way *lens_way(const struct lens *l, int site, int loop)
{
    return &l->way[site * l->n_loops + loop];
}

struct walk_way lens_steps(const struct lens *l, int site, int loop)
{
    const struct lens_site *s = &l->site[site];
    struct walk_way way = *lens_way(l, site, loop);
    if (loop == s->loop && s->apart > 0 && way.part[0].stride == s->apart * s->pieces) {
        way.part[0].stride = s->apart;
        way.part[0].trips *= s->pieces;
    }
    return way;
}

int64_t lens_stride(const struct lens *l, int site, int loop)
{
    return lens_way(l, site, loop)->part[0].stride;
}

/* --- Footprints ------------------------------------------------------------------------------- */

struct reach { int64_t stride, trips; };

static int by_stride(const void *a, const void *b)
{
    const struct reach *x = a, *y = b;
    return x->stride != y->stride ? (x->stride > y->stride ? 1 : -1) : 0;
}

/* A way says how a loop moves an access, as nested parts (struct walk_way). Stores in r the parts
 * that the first `iterations` iterations of the loop step through, and how many trips of each part
 * they make. Returns the number of stored parts. */
static int add_reaches(const struct walk_way *way, int64_t iterations, struct reach *r)
{
    int n = 0;
    for (int i = 0; i < way->n && iterations > 1; i++) {
        const struct walk_part *part = &way->part[i];
        bool last = i == way->n - 1 || part->trips > iterations;
        if (part->stride != 0)
            r[n++] = (struct reach){ magnitude(part->stride), last ? iterations : part->trips };
        iterations = last ? 1 : (iterations + part->trips - 1) / part->trips;
    }
    return n;
}

/* Stores in r the parts of loops that move an access during `iterations` iterations of the loop
 * `around`, the smallest stride first. Parts with the same stride become one part, such as the
 * parts of the loops h and kh in an access to h + kh. Returns the number of parts; -1: the access
 * is not inside `around`. */
static int list_reaches(const struct lens *l, int site, int around, int64_t iterations,
                        const int64_t *trips, struct reach *r)
{
    int n = 0, kept = 0, i = l->site[site].loop;
    for (; i >= 0 && i != around; i = l->loop[i].parent)
        n += add_reaches(lens_way(l, site, i), trips ? trips[i] : l->loop[i].trips, r + n);
    if (i != around)
        return -1;
    if (around >= 0)
        n += add_reaches(lens_way(l, site, around), iterations, r + n);
    if (n > 0)
        qsort(r, (size_t)n, sizeof *r, by_stride);
    for (int k = 0; k < n; k++)
        if (kept > 0 && r[kept - 1].stride == r[k].stride)
            r[kept - 1].trips += r[k].trips - 1;
        else
            r[kept++] = r[k];
    return kept;
}

int64_t lens_lines(const struct lens *l, int site, int around, int64_t n, const int64_t *trips)
{
    struct reach *r = xcalloc((size_t)l->n_loops * WALK_MOST_PARTS + 1, sizeof *r);
    int reaches = list_reaches(l, site, around, n, trips, r);
    const struct lens_site *s = &l->site[site];
    int64_t bytes = s->bytes, pieces = s->pieces, most = l->buffer[s->buffer].lines;
    for (int i = 0; i < reaches; i++) {
        bool joined = r[i].stride <= bytes || r[i].stride <= l->line_bytes;
        bytes += joined ? r[i].stride * (r[i].trips - 1) : 0;
        pieces *= joined ? 1 : r[i].trips;
        pieces = pieces < most ? pieces : most;
    }
    free(r);
    int64_t lines = pieces * ((bytes + l->line_bytes - 1) / l->line_bytes);
    return reaches < 0 ? 0 : lines < most ? lines : most;
}

int64_t lens_touched(const struct lens *l, int around, int64_t n, const int64_t *trips)
{
    int64_t sum = 0, *most = xcalloc((size_t)l->n_buffers + 1, sizeof *most);
    for (int i = 0; i < l->n_sites; i++) {
        int64_t lines = lens_lines(l, i, around, n, trips), *of = &most[l->site[i].buffer];
        *of = lines > *of ? lines : *of;
    }
    for (int i = 0; i < l->n_buffers; i++)
        sum += most[i];
    free(most);
    return sum;
}

/* --- Causes ----------------------------------------------------------------------------------- */

/* Looks at one loop around the access of a cause. A loop that moves the access to another line may
 * become c->moves. A loop that accesses the same lines again too late becomes c->again. */
static void look_at_loop(const struct lens *l, int loop, struct lens_cause *c)
{
    const struct walk_way *way = lens_way(l, c->site, loop);
    int64_t room = (int64_t)l->n_sets * l->ways, every = 1;
    for (int i = 0; i < way->n && c->again < 0; every *= way->part[i++].trips) {
        int64_t stride = way->part[i].stride;
        if (way->part[i].trips < 2)
            continue;
        if (magnitude(stride) < l->line_bytes) {
            c->again = lens_touched(l, loop, every, NULL) > room ? loop : -1;
            c->again_after = every;
        } else if (c->moves < 0) {
            c->moves = loop;
            c->stride = lens_steps(l, c->site, loop).part[i].stride;
            c->moves_every = every;
        }
    }
}

/* Finds the loop c->again, whose iterations access the same lines again too late, and the loop
 * c->moves, which moves the access from line to line. */
static void find_loops(const struct lens *l, struct lens_cause *c)
{
    c->moves = c->again = -1;
    for (int i = l->site[c->site].loop; i >= 0 && c->again < 0; i = l->loop[i].parent)
        look_at_loop(l, i, c);
    if (c->again < 0)
        return;
    c->lines = lens_lines(l, c->site, c->again, c->again_after, NULL);
    c->touched = lens_touched(l, c->again, c->again_after, NULL);
}

/* Whether code before the nest of an access touches the same buffer as the access. */
static bool is_touched_before(const struct lens *l, int site)
{
    for (int i = 0; i < site; i++)
        if (l->site[i].buffer == l->site[site].buffer && l->site[i].node != l->site[site].node)
            return true;
    return false;
}

static int by_misses(const void *a, const void *b)
{
    const struct lens_cause *x = a, *y = b;
    return x->misses != y->misses ? (x->misses < y->misses ? 1 : -1) : x->site - y->site;
}

/* Estimates the compulsory misses. Each line of a buffer has one first touch. These touches are
 * given to the accesses in the order of the code. Each access gets at most as many as it has misses
 * that are no conflict misses. */
static void share_first_touches(const struct lens *l, struct lens_cause *c)
{
    double *left = xcalloc((size_t)l->n_buffers + 1, sizeof *left);
    for (int i = 0; i < l->n_buffers; i++)
        left[i] = l->buffer[i].lines;
    for (int i = 0; i < l->n_sites; i++) {
        double other = c[i].misses - c[i].conflict, *of = &left[l->site[i].buffer];
        c[i].compulsory = other < *of ? other : *of;
        *of -= c[i].compulsory;
    }
    free(left);
}

void lens_find_causes(struct lens *l, const struct lens_site_count *count, bool exact)
{
    struct lens_cause *c = ARENA_ARRAY(l->arena, struct lens_cause, l->n_sites + 1);
    for (int i = 0; i < l->n_sites; i++)
        c[i] = (struct lens_cause){ .site = i, .misses = count[i].misses,
                                    .compulsory = count[i].first, .conflict = count[i].conflict };
    if (!exact)
        share_first_touches(l, c);
    for (int i = 0; i < l->n_sites; i++) {
        find_loops(l, &c[i]);
        c[i].before = is_touched_before(l, i);
        l->all.misses += c[i].misses;
        l->all.compulsory += c[i].compulsory;
        l->all.conflict += c[i].conflict;
    }
    if (l->n_sites > 0)
        qsort(c, (size_t)l->n_sites, sizeof *c, by_misses);
    l->cause = c;
}

enum miss_kind lens_kind(const struct lens_cause *c)
{
    double capacity = c->misses - c->compulsory - c->conflict;
    return c->conflict > capacity && c->conflict > c->compulsory ? MISS_CONFLICT
         : capacity > c->compulsory ? MISS_CAPACITY : MISS_COMPULSORY;
}

int lens_n_culprits(const struct lens *l)
{
    int n = 0;
    while (n < l->n_sites && n < LENS_CULPRITS && l->cause[n].misses > 0
           && l->cause[n].misses >= LENS_SHARE * l->all.misses)
        n++;
    return n;
}
