/* Names the accesses that miss, and finds the loops that make them miss. */
#include "profile/measure/lens.h"

#include "profile/measure/lens_whole.h"

#include <stdlib.h>

const char *const miss_kind_name[3] = { "compulsory", "capacity", "conflict" };

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

int64_t lens_stride(const struct lens *l, int site, int loop)
{
    return l->stride[site * l->n_loops + loop];
}

/* --- Footprints ------------------------------------------------------------------------------- */

struct reach { int64_t stride, trips; };

static int by_stride(const void *a, const void *b)
{
    const struct reach *x = a, *y = b;
    return x->stride != y->stride ? (x->stride > y->stride ? 1 : -1) : 0;
}

/* Lists the loops inside of `around` that move an access, the smallest stride first. Loops with one
 * stride count as one loop, as h and kh do in h + kh. Returns -1 when the access is elsewhere. */
static int list_reaches(const struct lens *l, int site, int around, const int64_t *trips,
                        struct reach *r)
{
    int n = 0, kept = 0, i = l->site[site].loop;
    for (; i >= 0 && i != around; i = l->loop[i].parent)
        if (lens_stride(l, site, i) != 0)
            r[n++] = (struct reach){ magnitude(lens_stride(l, site, i)),
                                     trips ? trips[i] : l->loop[i].trips };
    if (i != around)
        return -1;
    if (n > 0)
        qsort(r, (size_t)n, sizeof *r, by_stride);
    for (int k = 0; k < n; k++)
        if (kept > 0 && r[kept - 1].stride == r[k].stride)
            r[kept - 1].trips += r[k].trips - 1;
        else
            r[kept++] = r[k];
    return kept;
}

int64_t lens_lines(const struct lens *l, int site, int around, const int64_t *trips)
{
    struct reach *r = xcalloc((size_t)l->n_loops + 1, sizeof *r);
    int n = list_reaches(l, site, around, trips, r);
    const struct lens_site *s = &l->site[site];
    int64_t bytes = s->bytes, pieces = s->pieces, most = l->buffer[s->buffer].lines;
    for (int i = 0; i < n; i++) {
        bool joined = r[i].stride <= bytes || r[i].stride <= l->line_bytes;
        bytes += joined ? r[i].stride * (r[i].trips - 1) : 0;
        pieces *= joined ? 1 : r[i].trips;
        pieces = pieces < most ? pieces : most;
    }
    free(r);
    int64_t lines = pieces * ((bytes + l->line_bytes - 1) / l->line_bytes);
    return n < 0 ? 0 : lines < most ? lines : most;
}

int64_t lens_touched(const struct lens *l, int around, const int64_t *trips)
{
    int64_t sum = 0, *most = xcalloc((size_t)l->n_buffers + 1, sizeof *most);
    for (int i = 0; i < l->n_sites; i++) {
        int64_t lines = lens_lines(l, i, around, trips), *of = &most[l->site[i].buffer];
        *of = lines > *of ? lines : *of;
    }
    for (int i = 0; i < l->n_buffers; i++)
        sum += most[i];
    free(most);
    return sum;
}

/* --- Causes ----------------------------------------------------------------------------------- */

/* Finds the loop whose iterations access the same lines again too late, and the loop that moves the
 * access from line to line until then. */
static void find_loops(const struct lens *l, struct lens_cause *c)
{
    int64_t room = (int64_t)l->n_sets * l->ways;
    c->moves = c->again = -1;
    for (int i = l->site[c->site].loop; i >= 0 && c->again < 0; i = l->loop[i].parent) {
        int64_t stride = lens_stride(l, c->site, i);
        if (l->loop[i].trips < 2)
            continue;
        if (magnitude(stride) >= l->line_bytes) {
            c->stride = c->moves < 0 ? stride : c->stride;
            c->moves = c->moves < 0 ? i : c->moves;
        } else if (lens_touched(l, i, NULL) > room) {
            c->again = i;
        }
    }
    c->lines = c->again >= 0 ? lens_lines(l, c->site, c->again, NULL) : 0;
    c->touched = c->again >= 0 ? lens_touched(l, c->again, NULL) : 0;
}

/* Whether code before the nest of the access touches its buffer. */
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

/* A line of a buffer is touched for the first time once, by the first access that can. */
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
