/* The memory that statements touch: regions, cache lines and reuse (SPEC E.4.1, G2). */
#include "explorer/model/features_impl.h"

#include <math.h>
#include <string.h>

/* --- Accesses -------------------------------------------------------------------------------- */

struct access_finder { struct nest *n; VEC(struct feature_access) found; };

static struct feature_access *access_to(struct access_finder *f, int buffer)
{
    for (int i = 0; i < f->found.len; i++)
        if (f->found.data[i].buffer == buffer)
            return &f->found.data[i];
    vec_push(&f->found, (struct feature_access){ .buffer = buffer });
    return &f->found.data[f->found.len - 1];
}

static void add_index(struct access_finder *f, struct feature_access *x,
                      const struct expr *const *idx, int rank)
{
    for (int i = 0; i < x->n; i++)
        if (rank == 0 || memcmp(x->idx[i], idx, (size_t)rank * sizeof *idx) == 0)
            return;
    const struct expr *const **more = ARENA_ARRAY(f->n->a, const struct expr *const *, x->n + 1);
    if (x->n)
        memcpy(more, x->idx, (size_t)x->n * sizeof *more);
    more[x->n++] = idx;
    x->idx = more;
}

static void on_load(void *ctx, const struct val *load)
{
    struct access_finder *f = ctx;
    struct feature_access *x = access_to(f, load->source);
    x->reads = true;
    add_index(f, x, load->idx, load->rank);
}

void feature_accesses(struct nest *n, struct feature_site *s)
{
    struct access_finder f = { .n = n };
    struct feature_access *own = access_to(&f, s->store->buffer);
    own->writes = true;
    own->reads = s->store->how != STORE_SET;
    add_index(&f, own, s->store->idx, s->store->rank);
    val_each_load(s->store->value, on_load, &f);
    s->n_accesses = f.found.len;
    s->access = ARENA_DUP(n->a, f.found.data, f.found.len);
    vec_free(&f.found);
}

static bool uses(const struct nest *n, const struct feature_access *x, const struct expr *var)
{
    int rank = n->f->buffer[x->buffer].rank;
    for (int i = 0; i < x->n; i++)
        for (int d = 0; d < rank; d++)
            if (expr_uses(x->idx[i][d], var))
                return true;
    return false;
}

/* --- Regions --------------------------------------------------------------------------------- */

/* Returns the number of elements of the smallest box that contains all accesses.  Stores the
 * extents of the box in box[], unless `box` is NULL.  An extent is at most the extent of the
 * buffer, because guards skip accesses outside of the buffer. */
static double region(const struct nest *n, const struct feature_access *x, int64_t *box)
{
    const struct buffer *b = &n->f->buffer[x->buffer];
    double elems = 1;
    for (int d = 0; d < b->rank; d++) {
        struct span all = span_of(n, x->idx[0][d]);
        for (int i = 1; i < x->n; i++) {
            struct span s = span_of(n, x->idx[i][d]);
            all.lo = s.lo < all.lo ? s.lo : all.lo;
            all.hi = s.hi > all.hi ? s.hi : all.hi;
        }
        int64_t extent = all.hi - all.lo + 1;
        if (extent > b->shape[d])
            extent = b->shape[d];
        if (box)
            box[d] = extent;
        elems *= (double)extent;
    }
    return elems;
}

/* Gives the variable of a loop one value: its first one in literal mode, as TVM does; else the
 * middle one, which is not at a border. */
static void span_fix(struct nest *n, const struct tree *loop)
{
    span_bind(n, loop);
    struct span *s = &n->span[loop->var->var];
    int64_t at = n->literal ? s->lo : s->lo + (s->hi - s->lo) / 2;
    *s = (struct span){ at, at };
}

void feature_touched(struct nest *n, struct feature_site *s)
{
    for (int i = 0; i < s->n_accesses; i++) {
        s->access[i].bytes = n->f->buffer[s->access[i].buffer].type->bytes;
        s->access[i].touched = ARENA_ARRAY(n->a, double, s->n_loops + 1);
        s->access[i].box = ARENA_ARRAY(n->a, int64_t, MAX_DIMS);
    }
    for (int d = s->n_loops; d >= 0; d--) {
        bool inside = false;              /* whether loop i is the d-th loop or inside it */
        for (int i = 0; i < s->n_all; i++) {
            const struct feature_level *l = &n->level.data[s->all[i]];
            inside = inside || (d < s->n_loops && s->all[i] == s->loop[d]);
            (inside ? span_bind : span_fix)(n, l->loop);
        }
        for (int i = 0; i < s->n_accesses; i++)
            s->access[i].touched[d] = region(n, &s->access[i], d == 0 ? s->access[i].box : NULL);
    }
}

/* --- Levels ---------------------------------------------------------------------------------- */

/* Sets `bytes` and `once` of a level.  In literal mode every access of every statement counts; else
 * every buffer counts once, with its largest region.  largest[n_buffers] must be 0; it is 0 again
 * afterwards. */
static void level_bytes(struct nest *n, struct feature_level *l, double *largest)
{
    for (int s = l->site; s < l->end; s++)
        for (int i = 0; i < n->site.data[s].n_accesses; i++) {
            const struct feature_access *x = &n->site.data[s].access[i];
            if (n->literal) {
                l->bytes += x->touched[l->depth] * x->bytes;
                l->once += x->bytes;
            } else if (x->touched[l->depth] > largest[x->buffer]) {
                l->once += largest[x->buffer] > 0 ? 0 : x->bytes;
                l->bytes += (x->touched[l->depth] - largest[x->buffer]) * x->bytes;
                largest[x->buffer] = x->touched[l->depth];
            }
        }
    memset(largest, 0, (size_t)n->f->n_buffers * sizeof *largest);
}

void feature_level_bytes(struct nest *n)
{
    double *largest = ARENA_ARRAY(n->a, double, n->f->n_buffers);
    for (int i = 0; i < n->level.len; i++)
        if (n->level.data[i].depth >= 0)
            level_bytes(n, &n->level.data[i], largest);
}

/* --- Strides and lines ----------------------------------------------------------------------- */

/* Returns by how much e changes (without the sign) when var advances by one.  If that is not
 * constant, returns the mean over the range of var, with other variables in the middle of their
 * ranges; if this mean is 0, returns 1. */
static double slope(struct nest *n, const struct feature_site *s, const struct expr *e,
                    const struct expr *var)
{
    int64_t exact;
    if (expr_coef(n->f->pool, e, var, &exact))
        return fabs((double)exact);
    if (n->literal)
        return 2;                         /* TVM uses 2 when it finds no coefficient */
    for (int i = 0; i < s->n_all; i++) {
        const struct tree *loop = n->level.data[s->all[i]].loop;
        span_bind(n, loop);
        struct span v = n->span[loop->var->var];
        n->value[loop->var->var] = v.lo + (v.hi - v.lo) / 2;
    }
    struct span v = n->span[var->var];
    n->value[var->var] = v.lo;
    int64_t first = expr_eval(e, n->value);
    n->value[var->var] = v.hi;
    int64_t last = expr_eval(e, n->value);
    double step = v.hi > v.lo ? fabs((double)(last - first)) / (double)(v.hi - v.lo) : 0;
    return step > 0 ? step : 1;
}

/* Returns the least stride of the accesses along the loop with variable `var`, in elements.  The
 * stride of an access is the one along the last dim that `var` indexes.  0: `var` indexes no
 * dim. */
static double stride_along(struct nest *n, const struct feature_site *s,
                           const struct feature_access *x, const struct expr *var)
{
    const struct buffer *b = &n->f->buffer[x->buffer];
    double best = 0;
    for (int i = 0; i < x->n; i++) {
        double below = 1;
        for (int d = b->rank - 1; d >= 0; d--) {
            if (expr_uses(x->idx[i][d], var)) {
                double stride = slope(n, s, x->idx[i][d], var) * below;
                best = best > 0 && best < stride ? best : stride;
                break;
            }
            below *= (double)b->shape[d];
        }
    }
    return best;
}

/* Returns the length in bytes of a contiguous run in the region that all loops touch.  In literal
 * mode, returns the bytes of the innermost dim that is touched as a whole, as TVM does. */
static double run_bytes(const struct nest *n, const struct feature_access *x)
{
    const struct buffer *b = &n->f->buffer[x->buffer];
    double run = x->bytes;
    for (int d = b->rank - 1; d >= 0; d--) {
        bool whole = x->box[d] == b->shape[d];
        if (whole || !n->literal)
            run *= (double)x->box[d];
        if (whole == n->literal)
            break;
    }
    return run;
}

struct lines { double lines, unique_bytes, unique_lines, stride; };

static struct lines lines_of(struct nest *n, const struct feature_site *s,
                             const struct feature_access *x)
{
    struct lines l = { 1, x->bytes, 1, 0 };
    double ratio = 1, stride = 0;
    int i = s->n_loops - 1;
    if (s->n_loops == 0)
        return l;
    for (; i >= 0; i--) {
        stride = stride_along(n, s, x, n->level.data[s->loop[i]].loop->var);
        if (stride > 0)
            break;
        ratio *= n->level.data[s->loop[n->literal ? s->n_loops - 1 : i]].trips;
    }
    l.unique_bytes = x->touched[0] * x->bytes;
    l.lines = fmax(1, s->total / fmax(ratio, 1) * fmin(1, stride * x->bytes / LINE_BYTES));
    l.unique_lines = fmax(1, l.unique_bytes / fmin(run_bytes(n, x), LINE_BYTES));
    l.stride = i == s->n_loops - 1 ? stride : 0;
    return l;
}

/* --- Reuse ----------------------------------------------------------------------------------- */

enum reuse_type { REUSE_LOOP, REUSE_SERIAL, REUSE_NONE };
struct access_reuse { enum reuse_type type; double iter, bytes, count; };

void feature_group_pieces(struct nest *n)
{
    n->seen = ARENA_ARRAY(n->a, int, n->site.len);
    for (int i = 0; i < n->site.len; i++) {
        struct feature_site *s = &n->site.data[i];
        s->group = i;
        for (int k = 0; k < i && !n->literal && s->group == i; k++) {
            const struct feature_site *t = &n->site.data[k];
            if (t->store->buffer == s->store->buffer && t->store->how == s->store->how &&
                feature_ops_of(&t->ops) == feature_ops_of(&s->ops))
                s->group = t->group;
        }
        n->site.data[s->group].total += s->prod;
    }
    for (int i = 0; i < n->site.len; i++)
        n->site.data[i].total = n->site.data[n->site.data[i].group].total;
}

/* Returns the number of statements in a loop that access a buffer; the pieces of a statement count
 * as one.  For each of these statements, considers the number of elements that the loop touches;
 * sets *touched to the least of these numbers. */
static int sharers(struct nest *n, const struct feature_level *l, int buffer, double *touched)
{
    int count = 0;
    n->mark++;
    *touched = INFINITY;
    for (int s = l->site; s < l->end; s++) {
        const struct feature_site *site = &n->site.data[s];
        for (int i = 0; i < site->n_accesses; i++) {
            if (site->access[i].buffer != buffer)
                continue;
            *touched = fmin(*touched, site->access[i].touched[l->depth]);
            count += n->seen[site->group] != n->mark;
            n->seen[site->group] = n->mark;
        }
    }
    return count;
}

static struct access_reuse reuse_of(struct nest *n, const struct feature_site *s,
                                    const struct feature_access *x)
{
    double iter = 1, bytes = -1, touched;
    for (int i = s->n_loops - 1; i >= 0; i--) {
        const struct feature_level *l = &n->level.data[s->loop[i]];
        bool found = uses(n, x, l->loop->var);
        if (n->literal && !found)
            return (struct access_reuse){ REUSE_LOOP, iter, bytes < 0 ? l->once : bytes, l->trips };
        int others = sharers(n, l, x->buffer, &touched) - 1;
        if (others > 0)
            return (struct access_reuse){ REUSE_SERIAL, touched / fmax(l->trips, 1),
                                          l->bytes / fmax(l->trips, 1), others };
        if (!found)
            return (struct access_reuse){ REUSE_LOOP, iter, bytes < 0 ? l->once : bytes, l->trips };
        iter *= l->trips;
        bytes = l->bytes;
    }
    return (struct access_reuse){ .type = REUSE_NONE };
}

void feature_buffer_columns(struct nest *n, const struct feature_site *s,
                            const struct feature_access *x, struct buffer_columns *out)
{
    struct lines l = lines_of(n, s, x);
    struct access_reuse r = reuse_of(n, s, x);
    double bytes = s->total * x->bytes, share = r.count > 0.5 ? 1 / r.count : 2;
    double column[FEATURES_PER_BUFFER] = {
        x->reads && !x->writes, x->writes && !x->reads, x->reads && x->writes,
        bytes, l.unique_bytes, l.lines, l.unique_lines,
        r.type == REUSE_LOOP, r.type == REUSE_SERIAL, r.type == REUSE_NONE,
        r.iter, r.bytes, r.count,
        bytes * share, l.unique_bytes * share, l.lines * share, l.unique_lines * share, l.stride,
    };
    out->lines = l.lines;
    out->bytes = bytes;
    for (int i = 0; i < FEATURES_PER_BUFFER; i++)
        out->x[i] = (float)column[i];
}
