/* Lists the steps that forecast_cures proposes.  Smaller changes are listed first: forecast_rank
 * keeps the order of equally good cures. */
#include "explorer/history/forecast.h"

#include <ctype.h>
#include <string.h>

#define MOST_TILE 64  /* most iterations of a tile's loop, for a tile that splits two loops */
#define MOST_AGAIN 2                      /* most loops that are tried as the loop around a tile */
#define ROOM 0.75                         /* share of L1 that a tile may take */
#define LANES (-1)                        /* in the place of a loop of the lens: see add_lanes */

struct curing {
    const struct program *p;
    const struct lens *l;
    struct arena *a;
    struct forecast *row;
    int n;
};

/* The n loops of stage s around an access, outermost first.  The i-th of them is s->axis[axis[i]],
 * and loop[i] is its index in the lens. */
struct around { const struct stage *s; int site, n, axis[MAX_DIMS], loop[MAX_DIMS]; };

static void add(struct curing *c, struct str *lines)
{
    bool known = c->n == FORECAST_CURES;
    for (int i = 0; i < c->n; i++)
        known = known || streq(c->row[i].line, str_text(lines));
    if (!known)
        c->row[c->n++] = (struct forecast){ .line = arena_strdup(c->a, str_text(lines)) };
    str_free(lines);
}

static int64_t distance(const struct lens *l, int site, int loop)
{
    int64_t stride = lens_stride(l, site, loop);
    return stride < 0 ? -stride : stride;
}

/* Finds the loops around a site that belong to the site's own stage.  A loop that became straight
 * code is not one of them.  Returns whether there are at least two. */
static bool find_around(const struct curing *c, int site, struct around *out)
{
    const struct lens_site *of = &c->l->site[site];
    *out = (struct around){ .site = site };
    if (of->node < 0)
        return false;
    out->s = c->p->stage[of->node];
    for (int i = 0; i < out->s->n_axes && out->n < MAX_DIMS; i++)
        for (int k = of->loop; k >= 0; k = c->l->loop[k].parent)
            if (c->l->loop[k].node == of->node && streq(c->l->loop[k].axis, out->s->axis[i].name)) {
                out->axis[out->n] = i;
                out->loop[out->n++] = k;
                break;
            }
    return out->n > 1;
}

static const char *name_of(const struct around *r, int i)
{
    return r->s->axis[r->axis[i]].name;
}

/* --- Layouts ---------------------------------------------------------------------------------- */

/* Returns the layout of the tensor at a site; NULL: the site accesses a tile, or the tensor has
 * only one dimension. */
static const struct layout *layout_at(const struct curing *c, int site)
{
    const struct lens_buffer *b = &c->l->buffer[c->l->site[site].buffer];
    const struct layout *l = b->is_tile ? NULL : c->p->layout[b->tensor];
    return l && l->rank > 1 ? l : NULL;
}

/* Adds steps that each pad one dimension.  The innermost dimension is padded by 1 line, by 2 lines,
 * or by half as many lines as L1 has sets; every other one, except the outermost, by one
 * element. */
static void add_pads(struct curing *c, int site)
{
    const struct layout *l = layout_at(c, site);
    for (int i = l ? l->rank - 1 : 0; i > 0; i--) {
        int64_t line = i == l->rank - 1 ? c->l->line_bytes / l->tensor->type->bytes : 1;
        const int64_t by[3] = { line, 2 * line, c->l->n_sets / 2 * line };
        for (int k = 0; k < (i == l->rank - 1 ? 3 : 1); k++) {
            struct str s = {0};
            str_printf(&s, "layout pad %s %s after=%lld", l->tensor->name, l->dim[i],
                       (long long)by[k]);
            add(c, &s);
        }
    }
}

/* Returns the dimension along which a loop moves an access by `bytes` per iteration: the outermost
 * dimension, of extent 2 or more, whose stride is at most `bytes`.  -1: there is no such
 * dimension. */
static int dim_moved(const struct layout *l, int64_t bytes)
{
    int64_t stride[MAX_DIMS], elements = bytes / l->tensor->type->bytes;
    layout_strides(l, stride);
    for (int i = 0; i < l->rank; i++)
        if (l->shape[i] > 1 && stride[i] <= elements)
            return i;
    return -1;
}

/* For each loop that moves the access to another line in every iteration: makes the dimension along
 * which this loop moves the access the innermost one of the layout, so that the access stays in a
 * line. */
static void add_layout_orders(struct curing *c, int site)
{
    const struct layout *l = layout_at(c, site);
    for (int i = l ? c->l->site[site].loop : -1; i >= 0; i = c->l->loop[i].parent) {
        int64_t bytes = distance(c->l, site, i);
        int dim = bytes >= c->l->line_bytes ? dim_moved(l, bytes) : -1;
        if (dim < 0 || dim == l->rank - 1)
            continue;
        struct str s = {0};
        str_printf(&s, "layout reorder %s", l->tensor->name);
        for (int k = 0; k < l->rank; k++)
            if (k != dim)
                str_printf(&s, " %s", l->dim[k]);
        str_printf(&s, " %s", l->dim[dim]);
        add(c, &s);
    }
}

/* Adds the layout that splits dimension `dim` into tiles of `by` elements.  The dimensions have the
 * given order, and a tile is innermost. */
static void add_block(struct curing *c, const struct layout *l, const int *order, int dim,
                      int64_t by)
{
    struct str s = {0};
    str_printf(&s, "layout set %s \"", l->tensor->name);
    for (int i = 0; i < l->rank; i++) {
        str_printf(&s, "%s%s", i ? " " : "", l->dim[order[i]]);
        if (order[i] == dim)
            str_printf(&s, "/%lld", (long long)by);
    }
    str_printf(&s, " %lld", (long long)by);
    for (const char *name = l->dim[dim]; *name; name++)
        str_add_char(&s, (char)tolower((unsigned char)*name));
    str_add_char(&s, '"');
    add(c, &s);
}

/* Fills `order` with the dimensions, outermost first: dimension `first`; then those along which no
 * loop moves the access; then the others, in the order of the loops that move the access along
 * them. */
static void order_of_loops(const struct curing *c, const struct layout *l, int site, int first,
                           int *order)
{
    bool placed[MAX_DIMS] = {0};
    int at = l->rank;
    placed[first] = true;
    order[0] = first;
    for (int i = c->l->site[site].loop; i >= 0; i = c->l->loop[i].parent) {
        int64_t bytes = distance(c->l, site, i);
        int dim = bytes > 0 ? dim_moved(l, bytes) : -1;
        if (dim >= 0 && !placed[dim]) {
            placed[dim] = true;
            order[--at] = dim;
        }
    }
    for (int i = l->rank - 1; i >= 0; i--)
        if (!placed[i])
            order[--at] = i;
}

/* If the tensor is a constant without layout steps: adds layouts with tiles of one line or half a
 * line, if they divide it, in each dimension along which a loop moves the access to another line.
 * A constant is packed once, so that the operator's caller sees no change. */
static void add_blocks(struct curing *c, int site)
{
    const struct layout *l = layout_at(c, site);
    int order[2][MAX_DIMS];
    struct err e;
    if (!l || l->n_prims > 0
        || !program_is_constant(c->p, c->l->buffer[c->l->site[site].buffer].tensor, &e))
        return;
    for (int i = 0; i < l->rank; i++)
        order[0][i] = i;
    for (int i = c->l->site[site].loop; i >= 0; i = c->l->loop[i].parent) {
        int64_t bytes = distance(c->l, site, i), line = c->l->line_bytes / l->tensor->type->bytes;
        int dim = bytes >= c->l->line_bytes ? dim_moved(l, bytes) : -1;
        if (dim >= 0)
            order_of_loops(c, l, site, dim, order[1]);
        for (int64_t by = line; dim >= 0 && by >= line / 2 && by > 1; by /= 2)
            for (int k = 0; k < 2 && l->shape[dim] > by && l->shape[dim] % by == 0; k++)
                add_block(c, l, order[k], dim, by);
    }
}

/* --- Orders of loops -------------------------------------------------------------------------- */

/* Adds the step that reorders the loops around a site: position k gets the loop that is now
 * order[k].  The step names only the loops between the first and the last one that move. */
static void add_order(struct curing *c, const struct around *r, const int *order)
{
    int from = 0, to = r->n - 1;
    while (from < r->n && order[from] == from)
        from++;
    while (to > from && order[to] == to)
        to--;
    if (from >= to)
        return;
    struct str s = {0};
    str_printf(&s, "loop reorder %s", r->s->name);
    for (int i = from; i <= to; i++)
        str_printf(&s, " %s", name_of(r, order[i]));
    add(c, &s);
}

/* Returns how many new cache lines one iteration of a loop would touch if the loop were innermost,
 * summed over all accesses. */
static double lines_if_innermost(const struct lens *l, int loop)
{
    double sum = 0;
    for (int i = 0; i < l->n_sites; i++) {
        double lines = (double)distance(l, i, loop) / l->line_bytes;
        sum += lines < 1 ? lines : 1;
    }
    return sum;
}

/* Adds McKinley's memory order: the fewer new lines a loop would touch if it were innermost, the
 * further inside it is. */
static void add_memory_order(struct curing *c, const struct around *r)
{
    int order[MAX_DIMS];
    for (int i = 0; i < r->n; i++) {
        int at = i;
        double lines = lines_if_innermost(c->l, r->loop[i]);
        for (; at > 0 && lines_if_innermost(c->l, r->loop[order[at - 1]]) < lines; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    add_order(c, r, order);
}

/* Adds the order in which the loop at place i is moved to place `to`. */
static void add_moved(struct curing *c, const struct around *r, int i, int to)
{
    int order[MAX_DIMS], n = 0;
    for (int k = 0; k < r->n; k++) {
        n += n == to;
        if (k != i)
            order[n++] = k;
    }
    order[to] = i;
    add_order(c, r, order);
}

/* For each loop that does not move the access to another line in one iteration: adds the order in
 * which this loop is innermost.  Adds the memory order, too. */
static void add_orders(struct curing *c, int site)
{
    struct around r;
    if (!find_around(c, site, &r))
        return;
    for (int i = r.n - 2; i >= 0; i--)
        if (distance(c->l, site, r.loop[i]) < c->l->line_bytes)
            add_moved(c, &r, i, r.n - 1);
    add_memory_order(c, &r);
}

/* For each loop that moves the access to another line in one iteration: adds the order in which
 * this loop is outermost, so that the loops inside touch fewer lines. */
static void add_outermost(struct curing *c, int site)
{
    struct around r;
    if (!find_around(c, site, &r))
        return;
    for (int i = r.n - 1; i > 0; i--)
        if (distance(c->l, site, r.loop[i]) >= c->l->line_bytes)
            add_moved(c, &r, i, 0);
}

static void add_copies(struct curing *c, int site)
{
    struct around r;
    const struct layout *l = layout_at(c, site);
    if (!l || c->l->site[site].is_store || !find_around(c, site, &r))
        return;
    for (int i = r.n - 1; i > 0; i--) {
        struct str s = {0};
        str_printf(&s, "loop cache_read %s %s at=%s", r.s->name, l->tensor->name, name_of(&r, i));
        add(c, &s);
    }
}

/* --- Tiles ------------------------------------------------------------------------------------ */

/* Returns the largest divisor of n that is at most `most`. */
static int64_t divisor(int64_t n, int64_t most)
{
    int64_t d = most < n ? most : n;
    while (d > 1 && n % d != 0)
        d--;
    return d;
}

/* Whether the lines that one iteration of loop `around` touches fit into the share ROOM of L1, if
 * loops i and k of r have a and b iterations. */
static bool fits(const struct curing *c, const struct around *r, int around, int i, int64_t a,
                 int k, int64_t b)
{
    int64_t *trips = ARENA_ARRAY(c->a, int64_t, c->l->n_loops);
    for (int j = 0; j < c->l->n_loops; j++)
        trips[j] = c->l->loop[j].trips;
    trips[r->loop[i]] = a;
    trips[r->loop[k]] = b;
    return (double)lens_touched(c->l, r->loop[around], 1, trips)
        <= ROOM * c->l->n_sets * c->l->ways;
}

/* Splits loops i and k of r (i = k: one loop) into parts of a and b iterations, and puts the outer
 * parts around loop `around`. */
static void add_tile(struct curing *c, const struct around *r, int around, int i, int64_t a, int k,
                     int64_t b)
{
    struct str s = {0};
    const char *name = r->s->name;
    str_printf(&s, "loop split %s %s %lld\n", name, name_of(r, i), (long long)a);
    if (k != i)
        str_printf(&s, "loop split %s %s %lld\n", name, name_of(r, k), (long long)b);
    str_printf(&s, "loop reorder %s %s.0", name, name_of(r, i));
    if (k != i)
        str_printf(&s, " %s.0", name_of(r, k));
    for (int j = around; j <= (k > i ? k : i); j++)
        str_printf(&s, j == i || j == k ? " %s.1" : " %s", name_of(r, j));
    add(c, &s);
}

static int64_t extent_of(const struct around *r, int i)
{
    return r->s->axis[r->axis[i]].extent;
}

/* The steps of an access along a loop, or along its lanes (loop LANES). */
static struct walk_way steps_of(const struct lens *l, int site, int loop)
{
    const struct lens_site *s = &l->site[site];
    return loop == LANES ? (struct walk_way){ 1, { { s->apart, s->pieces } } }
                         : lens_steps(l, site, loop);
}

/* Returns the most iterations of loop i whose lines fit into the share ROOM of the L1 sets that the
 * loop reaches. */
static int64_t most_of(const struct curing *c, const struct around *r, int i)
{
    const struct walk_way way = steps_of(c->l, r->site, r->loop[i]);
    int64_t most = 1;
    for (int k = 0; k < way.n; k++) {
        int64_t sets = lens_sets(c->l, way.part[k].stride);
        int64_t room = (int64_t)(ROOM * (double)(sets * c->l->ways));
        if (room < way.part[k].trips)
            return most * room;
        most *= way.part[k].trips;
    }
    return most;
}

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void tile_one(struct curing *c, const struct around *r, int around, int i)
{
    int64_t n = extent_of(r, i), a = divisor(n, least_of(n - 1, most_of(c, r, i)));
    while (a > 1 && !fits(c, r, around, i, a, i, a))
        a = divisor(n, a - 1);
    if (a > 1)
        add_tile(c, r, around, i, a, i, a);
}

/* Adds at most two tiles: the largest ones that fit, of at most MOST_TILE iterations a loop. */
static void tile_two(struct curing *c, const struct around *r, int around, int i, int k)
{
    int64_t n = extent_of(r, i), m = extent_of(r, k);
    int tried = 0;
    for (int64_t most = MOST_TILE; most > 1 && tried < 2; most /= 2) {
        int64_t a = divisor(n, least_of(most, most_of(c, r, i)));
        int64_t b = divisor(m, least_of(most, most_of(c, r, k)));
        if (a > 1 && b > 1 && a < n && b < m && fits(c, r, around, i, a, k, b)) {
            add_tile(c, r, around, i, a, k, b);
            tried++;
        }
    }
}

/* Splits loop `around`, whose iterations move an access along its line, into parts of one line, and
 * loop i inside it into as many iterations as the sets of the access hold: the next iteration then
 * finds all lines, as in a transposition. */
static void tile_square(struct curing *c, const struct around *r, int around, int i)
{
    int64_t step = distance(c->l, r->site, r->loop[around]), n = extent_of(r, i);
    if (step == 0)
        return;
    int64_t a = divisor(extent_of(r, around), c->l->line_bytes / step);
    int64_t b = divisor(n, least_of(MOST_TILE, most_of(c, r, i)));
    if (a > 1 && b > 1 && a < extent_of(r, around) && b < n)
        add_tile(c, r, around, around, a, i, b);
}

/* Adds the innermost loop of the stage if it became the lanes of the access, which are far apart
 * (its index in the lens is then LANES).  Returns whether there are at least two loops. */
static bool add_lanes(const struct curing *c, struct around *r)
{
    const struct lens_site *of = &c->l->site[r->site];
    int last = r->s ? r->s->n_axes - 1 : 0;
    if (r->s && of->apart > 0 && r->n < MAX_DIMS && r->s->axis[last].extent == of->pieces
        && (r->n == 0 || r->axis[r->n - 1] != last)) {
        r->axis[r->n] = last;
        r->loop[r->n++] = LANES;
    }
    return r->n > 1;
}

/* Whether one iteration of loop `around` touches lines that L1 does not hold: they are too many, or
 * those of the access lie in too few sets. */
static bool overflows(const struct curing *c, const struct around *r, int around)
{
    int64_t n = extent_of(r, around);
    bool few = false;
    for (int i = around + 1; i < r->n; i++)
        few = few || most_of(c, r, i) < steps_of(c->l, r->site, r->loop[i]).part[0].trips;
    return few || !fits(c, r, around, around, n, around, n);
}

/* Finds the loops whose next iteration accesses the same lines again, but whose lines of one
 * iteration do not fit into L1.  For the innermost MOST_AGAIN of them, adds tiles of the loops
 * inside. */
static void add_tiles(struct curing *c, int site)
{
    struct around r;
    int tried = 0;
    find_around(c, site, &r);
    if (!add_lanes(c, &r))
        return;
    for (int around = r.n - 2; around >= 0 && tried < MOST_AGAIN; around--) {
        if (extent_of(&r, around) < 2 || distance(c->l, site, r.loop[around]) >= c->l->line_bytes
            || !overflows(c, &r, around))
            continue;
        tried++;
        for (int i = around + 1; i < r.n; i++)
            if (r.loop[i] == LANES || distance(c->l, site, r.loop[i]) > 0) {
                if (r.loop[i] != LANES)
                    tile_one(c, &r, around, i);
                tile_square(c, &r, around, i);
            }
        for (int i = around + 1; i < r.n; i++)
            for (int k = i + 1; k < r.n && r.loop[k] != LANES; k++)
                if (distance(c->l, site, r.loop[i]) > 0 && distance(c->l, site, r.loop[k]) > 0)
                    tile_two(c, &r, around, i, k);
    }
}

/* --- Nests joined ----------------------------------------------------------------------------- */

#define MOST_JOINED 3                     /* most loops of a stage at which another one is tried */

static void add_inside(struct curing *c, const char *inner, const struct stage *outer)
{
    for (int i = 0, n = 0; i < outer->n_axes - 1 && n < MOST_JOINED; i++) {
        struct str s = {0};
        if (outer->axis[i].extent < 2)
            continue;
        str_printf(&s, "loop compute_at %s %s %s", inner, outer->name, outer->axis[i].name);
        add(c, &s);
        n++;
    }
}

/* Adds steps that compute a tensor inside the nest that reads it, or the reader inside the nest
 * that computes the tensor, so that its lines can be read before they are evicted. */
static void add_joined(struct curing *c, int site)
{
    const struct lens_site *of = &c->l->site[site];
    const struct graph *g = c->p->graph;
    int tensor = c->l->buffer[of->buffer].tensor, node = g->tensor[tensor].producer;
    if (node < 0 || of->node < 0 || node == of->node)
        return;
    struct str s = {0};
    str_printf(&s, "loop inline %s", g->tensor[tensor].name);
    add(c, &s);
    add_inside(c, g->tensor[tensor].name, c->p->stage[of->node]);
    add_inside(c, c->p->stage[of->node]->name, c->p->stage[node]);
}

/* --- All -------------------------------------------------------------------------------------- */

typedef void add_fn(struct curing *c, int site);

/* Adds cures for each culprit of the lens (an access with many misses), if enough of its misses are
 * not compulsory. */
static void for_culprits(struct curing *c, add_fn *add_cures)
{
    for (int i = 0; i < lens_n_culprits(c->l); i++) {
        const struct lens_cause *cause = &c->l->cause[i];
        if (cause->misses - cause->compulsory > LENS_SHARE * cause->misses)
            add_cures(c, cause->site);
    }
}

/* Adds cures for both accesses of each pair in conflict. */
static void for_pairs(struct curing *c, add_fn *add_cures)
{
    for (int i = 0; i < c->l->n_pairs; i++) {
        add_cures(c, c->l->pair[i].by);
        add_cures(c, c->l->pair[i].site);
    }
}

/* Pads a tensor whose lines lie in only some of the sets, even if its misses do not count as
 * conflicts.  A cycle of lines that is a little longer than L1 misses always in a fully associative
 * LRU cache, so these misses count as capacity misses.  If padding spreads the cycle over all sets,
 * only the overfull sets miss. */
static void add_pads_of_few_sets(struct curing *c, int site)
{
    for (int i = c->l->site[site].loop; i >= 0; i = c->l->loop[i].parent) {
        const struct walk_way *way = lens_way(c->l, site, i);
        for (int k = 0; k < way->n; k++)
            if (lens_sets(c->l, way->part[k].stride) < c->l->n_sets) {
                add_pads(c, site);
                return;
            }
    }
}

int forecast_cures(const struct program *p, const struct lens *l, struct arena *a,
                   struct forecast *row)
{
    struct curing c = { p, l, a, row, 0 };
    if (l->all.conflict > LENS_SHARE * l->all.misses)
        for_pairs(&c, add_pads);
    for_culprits(&c, add_pads_of_few_sets);
    for_culprits(&c, add_orders);
    for_culprits(&c, add_layout_orders);
    for_culprits(&c, add_blocks);
    if (l->all.conflict > LENS_SHARE * l->all.misses)
        for_pairs(&c, add_copies);
    for_culprits(&c, add_joined);
    for_culprits(&c, add_tiles);
    for_culprits(&c, add_outermost);
    return c.n;
}
