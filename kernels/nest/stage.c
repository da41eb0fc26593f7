/* The loop primitives.  Those that replace axes (split, fuse, tensorize) rewrite the index
 * expressions of the output dims, the reduction variables and the limits by substituting the old
 * axis variables:
 *     split a into a.0 x a.1 (extent f):   a = f * a.0 + a.1
 *     fuse a, b (extent e of b) into f:    a = f / e,  b = f % e */
#include "kernels/nest/stage.h"
#include "kernels/ir/simplify.h"

#include <stdio.h>
#include <string.h>

#define MAX_AXES 48
#define MAX_EXCESS 65536
#define MAX_FUSED ((int64_t)1 << 48)      /* most iterations of one loop */

static struct axis axis_make(struct exprs *p, const char *name, int64_t extent, bool reduce)
{
    return (struct axis){ .name = name,
                          .extent = extent,
                          .reduce = reduce,
                          .ann = LOOP_SERIAL,
                          .var = expr_dim(p, name, extent) };
}

const struct stage *stage_new(struct exprs *p, const struct graph *g, int node,
                              const struct layout *out)
{
    struct arena *a = exprs_arena(p);
    const struct node *n = &g->node[node];
    struct stage *s = ARENA_NEW(a, struct stage);
    struct axis *axis = ARENA_ARRAY(a, struct axis, out->rank + n->n_reduce);
    s->node = node;
    s->name = g->tensor[n->out].name;
    s->attach = -1;
    s->narrow_sum = n->combine == COMBINE_SUM && type_is_narrow(g->tensor[n->out].type);
    s->rank = out->rank;
    s->n_axes = out->rank + n->n_reduce;
    s->axis = axis;
    for (int d = 0; d < out->rank; d++) {
        axis[d] = axis_make(p, out->dim[d], out->shape[d], false);
        s->index[d] = axis[d].var;
    }
    for (int r = 0; r < n->n_reduce; r++) {
        int64_t extent = n->reduce[r]->hi + 1;
        axis[out->rank + r] = axis_make(p, n->reduce_dim[r], extent, true);
        s->reduce[r] = axis[out->rank + r].var;
    }
    return s;
}

int stage_axis(const struct stage *s, const char *name)
{
    for (int i = 0; i < s->n_axes; i++)
        if (strcaseeq(s->axis[i].name, name))
            return i;
    return -1;
}

void stage_print_axes(struct str *out, const struct stage *s)
{
    for (int i = 0; i < s->n_axes; i++)
        str_printf(out, "%s%s(%lld)", i ? " " : "", s->axis[i].name, (long long)s->axis[i].extent);
}

void stage_subst(struct exprs *p, struct stage *s, const struct expr *const *from,
                 const struct expr *const *with, int n)
{
    for (int d = 0; d < s->rank; d++)
        s->index[d] = expr_simplify(p, expr_subst(p, s->index[d], from, with, n));
    for (int r = 0; r < MAX_RANK && s->reduce[r]; r++)
        s->reduce[r] = expr_simplify(p, expr_subst(p, s->reduce[r], from, with, n));
    for (int l = 0; l < s->n_limits; l++)
        s->limit[l].value = expr_simplify(p, expr_subst(p, s->limit[l].value, from, with, n));
}

/* Returns a copy of s in which with[i] replaces axis variable from[i] in all expressions. */
static struct stage *stage_replace(struct exprs *p, const struct stage *s,
                                   const struct expr *const *from, const struct expr *const *with,
                                   int n)
{
    struct stage *t = ARENA_DUP(exprs_arena(p), s, 1);
    stage_subst(p, t, from, with, n);
    return t;
}

/* Sets *out to t, the result of a step. Fails when t breaks a rule (stage_check). */
static bool accept(struct stage *t, const struct stage **out, struct err *e)
{
    t->n_steps++;
    if (!stage_check(t, e))
        return false;
    *out = t;
    return true;
}

/* Appends the small divisors of extent, "1 2 4 8 16 32", for messages.  A search for all divisors
 * would take too long for a prime of 10^12. */
static void list_divisors(struct str *out, int64_t extent)
{
    int shown = 0;
    for (int64_t f = 1; f <= extent && f <= 1 << 20 && shown < 24; f++)
        if (extent % f == 0)
            str_printf(out, "%s%lld", shown++ ? " " : "", (long long)f);
}

/* Returns x * y for x, y >= 0; INT64_MAX on overflow. */
static int64_t times(int64_t x, int64_t y)
{
    int64_t z;
    return __builtin_mul_overflow(x, y, &z) ? INT64_MAX : z;
}

static int64_t product_of(const int64_t *f, int n)
{
    int64_t product = 1;
    for (int i = 0; i < n; i++)
        product = times(product, f[i]);
    return product;
}

/* Refuses factors whose product covers too few or too many iterations. */
static bool bad_factors(const struct axis *x, const int64_t *f, int n, struct err *e)
{
    struct str product = { 0 }, divisors = { 0 };
    int64_t inner = product_of(f + 1, n - 1);
    for (int i = 0; i < n; i++)
        str_printf(&product, "%s%lld", i ? " x " : "", (long long)f[i]);
    list_divisors(&divisors, x->extent);
    if (inner >= x->extent || product_of(f, n) < x->extent)
        err_set(e, ERR_FACTOR, "%s = %lld iterations, and loop %s has %lld", str_text(&product),
                (long long)product_of(f, n), x->name, (long long)x->extent);
    else
        err_set(e, ERR_FACTOR, "%s = %lld iterations, and loop %s has %lld: an outermost factor of "
                "%lld is enough", str_text(&product), (long long)product_of(f, n), x->name,
                (long long)x->extent, (long long)((x->extent - 1) / inner + 1));
    err_fix(e, "the divisors of %lld are %s", (long long)x->extent, str_text(&divisors));
    str_free(&product);
    str_free(&divisors);
    return false;
}

/* Sets f to the factors.  A factor 0 is inferred as ceil(extent / product of the others); only one
 * factor can be 0.  Fails if the product is below the extent, or if the outermost factor could be
 * smaller by one. */
static bool split_factors(const struct axis *x, const int64_t *factor, int n, int64_t *f,
                          struct err *e)
{
    int inferred = -1, parts = n == 1 ? 2 : n;
    for (int i = 0; i < parts; i++) {
        f[i] = n == 1 ? (i ? factor[0] : 0) : factor[i];
        if (f[i] == 0 && inferred < 0) {
            inferred = i;
            f[i] = 1;
        } else if (f[i] < 1 || f[i] > x->extent) {
            err_set(e, ERR_FACTOR, "factor %lld is not between 1 and %lld, the extent of loop %s",
                    (long long)f[i], (long long)x->extent, x->name);
            return x->extent == 1 ? err_fix(e, "a loop of one iteration needs no split")
                 : n == 1 ? err_fix(e, "%s splits into ceil(%lld / F) x F", x->name,
                                    (long long)x->extent)
                 : err_fix(e, "use factors in that range; one may be 0 (it is inferred)");
        }
    }
    if (inferred >= 0)
        f[inferred] = (x->extent - 1) / product_of(f, parts) + 1;
    bool enough = product_of(f, parts) >= x->extent;
    bool needed = times(f[0] - 1, product_of(f + 1, parts - 1)) < x->extent;
    return (enough && needed) || bad_factors(x, f, parts, e);
}

/* Checks how far the loops run past the extent, because indices there could overflow. All splits of
 * a dim together must make fewer iterations than MAX_EXCESS times its extent. */
static bool check_excess(const struct stage *s, const struct axis *x, int64_t product,
                         struct err *e)
{
    int64_t rounds = (product - 1) / x->extent + 1;
    bool ok = rounds <= MAX_EXCESS;
    for (int l = 0; l < s->n_limits && ok && rounds > 1; l++)
        ok = !expr_uses(s->limit[l].value, x->var) ||
             times(s->limit[l].value->hi, rounds) / s->limit[l].below < MAX_EXCESS;
    if (ok)
        return true;
    err_set(e, ERR_FACTOR, "loop %s of %s has %lld iterations; with these factors and the earlier "
            "splits it would have more than %d times as many", x->name, s->name,
            (long long)x->extent, MAX_EXCESS);
    return err_fix(e, "leave out factors that are not needed to cover %lld", (long long)x->extent);
}

/* Moves the tiles and prefetches at loop `was` to loop `now`. */
static void rename_tiles(struct stage *t, const char *was, const char *now)
{
    if (t->cache_at && streq(t->cache_at, was))
        t->cache_at = now;
    if (t->pipe_at && streq(t->pipe_at, was))
        t->pipe_at = now;
    for (int i = 0; i < t->n_reads; i++)
        if (streq(t->read[i].axis, was))
            t->read[i].axis = now;
    for (int i = 0; i < t->n_ahead; i++)
        if (streq(t->ahead[i].axis, was))
            t->ahead[i].axis = now;
}

static bool has_tile(const struct stage *s, const char *axis)
{
    bool here = s->cache_at && streq(s->cache_at, axis);
    for (int i = 0; i < s->n_reads; i++)
        here = here || streq(s->read[i].axis, axis);
    return here;
}

static bool looks_ahead(const struct stage *s, const char *axis)
{
    for (int i = 0; i < s->n_ahead; i++)
        if (streq(s->ahead[i].axis, axis))
            return true;
    return false;
}

static bool refuse_annotated(const struct stage *s, int axis, const char *verb, struct err *e)
{
    const struct axis *x = &s->axis[axis];
    if (x->ann == LOOP_SERIAL)
        return true;
    err_set(e, ERR_STEP, "cannot %s loop %s of %s: the loop is marked %s", verb, x->name, s->name,
            loop_ann_name[x->ann]);
    return err_fix(e, "%s first, or remove the mark: loop serial %s %s", verb, s->name, x->name);
}

static bool add_limit(struct stage *s, struct limit l, struct err *e)
{
    if (s->n_limits == MAX_LIMITS)
        return err_set(e, ERR_STEP, "%s already has %d splits whose factors do not divide", s->name,
                       MAX_LIMITS);
    s->limit[s->n_limits++] = l;
    return true;
}

static bool in_range(int i, int first, int n)
{
    return first <= i && i < first + n;
}

/* Returns name, or NAME_2 and so on when another loop of s has this name. */
static const char *free_name(struct arena *a, const struct stage *s, int first, int n,
                             const char *name)
{
    const char *free = name;
    for (int k = 2; stage_axis(s, free) >= 0 && !in_range(stage_axis(s, free), first, n); k++)
        free = arena_printf(a, "%s_%d", name, k);
    return free;
}

bool stage_split(struct exprs *p, const struct stage *s, int axis, const int64_t *factor, int n,
                 const struct stage **out, struct err *e)
{
    struct arena *a = exprs_arena(p);
    const struct axis *x = &s->axis[axis];
    int64_t f[MAX_AXES] = { 0 };
    int parts = n == 1 ? 2 : n;
    if (!refuse_annotated(s, axis, "split", e) || !split_factors(x, factor, n, f, e) ||
        !check_excess(s, x, product_of(f, parts), e))
        return false;
    if (s->n_axes + parts - 1 > MAX_AXES)
        return err_set(e, ERR_RANK, "%s would have more than %d loops", s->name, MAX_AXES);

    struct axis *list = ARENA_ARRAY(a, struct axis, s->n_axes + parts - 1);
    const struct expr *value = NULL;
    memcpy(list, s->axis, sizeof *list * (size_t)axis);
    for (int i = 0; i < parts; i++) {
        const char *name = free_name(a, s, axis, 1, arena_printf(a, "%s.%d", x->name, i));
        list[axis + i] = axis_make(p, name, f[i], x->reduce);
        value = i ? expr_add(p, expr_mulc(p, value, f[i]), list[axis + i].var) : list[axis].var;
    }
    value = expr_simplify(p, value);
    memcpy(list + axis + parts, x + 1, sizeof *list * (size_t)(s->n_axes - axis - 1));

    struct stage *t = stage_replace(p, s, &x->var, &value, 1);
    t->axis = list;
    t->n_axes = s->n_axes + parts - 1;
    if (value->hi >= x->extent && !add_limit(t, (struct limit){ value, x->extent, x->reduce }, e))
        return false;
    rename_tiles(t, x->name, list[axis + parts - 1].name);
    return accept(t, out, e);
}

/* Returns the name of a fused loop: "N_H.0", or "O" again when all parts O.0 O.1 of O are fused. */
static const char *fused_name(struct arena *a, const struct stage *s, int first, int n)
{
    const char *dot = strrchr(s->axis[first].name, '.');
    if (dot && streq(dot, ".0")) {
        char *base = arena_strndup(a, s->axis[first].name, (size_t)(dot - s->axis[first].name));
        const char *part = arena_printf(a, "%s.", base);
        bool whole = true;
        for (int i = 0; i < n; i++)
            whole = whole && streq(s->axis[first + i].name, arena_printf(a, "%s%d", part, i));
        for (int i = 0; i < s->n_axes; i++)
            whole = whole && (in_range(i, first, n) || !str_starts(s->axis[i].name, part));
        if (whole)
            return base;
    }
    struct str name = { 0 };
    for (int i = 0; i < n; i++)
        str_printf(&name, "%s%s", i ? "_" : "", s->axis[first + i].name);
    const char *kept = arena_strdup(a, str_text(&name));
    str_free(&name);
    return kept;
}

bool stage_fuse(struct exprs *p, const struct stage *s, int first, int n, const struct stage **out,
                struct err *e)
{
    struct arena *a = exprs_arena(p);
    const struct axis *x = &s->axis[first];
    const struct expr *from[MAX_AXES], *with[MAX_AXES];
    int64_t extent = 1;
    for (int i = n - 1; i >= 0; i--) {
        if (!refuse_annotated(s, first + i, "fuse", e))
            return false;
        if (x[i].reduce != x->reduce)
            return err_set(e, ERR_STEP, "cannot fuse loop %s with %s: one is a reduction, the "
                           "other is not", x->name, x[i].name);
        if (i < n - 1 && has_tile(s, x[i].name))
            return err_set(e, ERR_STEP, "cannot fuse across loop %s: a tile of cache_write or "
                           "cache_read is allocated there", x[i].name);
        if (i < n - 1 && looks_ahead(s, x[i].name))
            return err_set(e, ERR_STEP,
                           "cannot fuse loop %s with %s: an operand is prefetched by iterations of "
                           "%s", x[i].name, x[i + 1].name, x[i].name);
        extent = times(extent, x[i].extent);
    }
    if (extent > MAX_FUSED)
        return err_set(e, ERR_OVERFLOW, "loops %s to %s of %s have more than 2^48 iterations "
                       "together", x->name, x[n - 1].name, s->name);
    const char *name = free_name(a, s, first, n, fused_name(a, s, first, n));
    struct axis fused = axis_make(p, name, extent, x->reduce);
    int64_t inner = 1;
    for (int i = n - 1; i >= 0; i--) {
        from[i] = x[i].var;
        with[i] = expr_modc(p, expr_divc(p, fused.var, inner), x[i].extent);
        inner *= x[i].extent;
    }
    struct stage *t = stage_replace(p, s, from, with, n);
    struct axis *list = ARENA_ARRAY(a, struct axis, s->n_axes - n + 1);
    memcpy(list, s->axis, sizeof *list * (size_t)first);
    list[first] = fused;
    memcpy(list + first + 1, x + n, sizeof *list * (size_t)(s->n_axes - first - n));
    t->axis = list;
    t->n_axes = s->n_axes - n + 1;
    rename_tiles(t, x[n - 1].name, fused.name);
    return accept(t, out, e);
}

bool stage_reorder(struct exprs *p, const struct stage *s, const int *perm,
                   const struct stage **out, struct err *e)
{
    struct arena *a = exprs_arena(p);
    struct stage *t = ARENA_DUP(a, s, 1);
    struct axis *list = ARENA_ARRAY(a, struct axis, s->n_axes);
    for (int i = 0; i < s->n_axes; i++)
        list[i] = s->axis[perm[i]];
    t->axis = list;
    return accept(t, out, e);
}

bool stage_annotate(struct exprs *p, const struct stage *s, int axis, enum loop_ann ann,
                    const struct stage **out, struct err *e)
{
    struct stage *t = ARENA_DUP(exprs_arena(p), s, 1);
    struct axis *list = ARENA_DUP(exprs_arena(p), s->axis, s->n_axes);
    if (list[axis].ann == LOOP_TENSOR && ann == LOOP_SERIAL) {
        t->lane = NULL;  /* the step covers the whole tensor block: it becomes a plain nest again */
        for (int i = 0; i < s->n_axes; i++)
            list[i].ann = list[i].ann == LOOP_TENSOR ? LOOP_SERIAL : list[i].ann;
    }
    list[axis].ann = ann;
    t->axis = list;
    return accept(t, out, e);
}

/* Checks one of the three loops of a tensor block. */
static bool check_tensor_axis(const struct stage *s, int axis, int64_t extent, bool reduce,
                              struct err *e)
{
    const struct axis *x = &s->axis[axis];
    if (x->reduce != reduce) {
        err_set(e, ERR_STEP, x->reduce ? "loop %s of %s is a reduction, but the first two loops of "
                                         "a tensor block must be of the output's dimensions"
                                       : "loop %s of %s is no reduction, but the third loop of a "
                                         "tensor block must be one", x->name, s->name);
        return err_fix(e, "name two loops of the output's dimensions, then one of a reduction");
    }
    if (x->extent != extent) {
        err_set(e, ERR_STEP, "loop %s of %s has %lld iterations, and a tensor block has %lld%s",
                x->name, s->name, (long long)x->extent, (long long)extent,
                extent == TENSOR_SIDE ? " on each side" : " steps of a sum of f32");
        return x->extent % extent
                 ? err_fix(e, "choose a loop of which %lld divides the extent", (long long)extent)
                 : err_fix(e, "first: loop split %s %s %lld", s->name, x->name, (long long)extent);
    }
    if (has_tile(s, x->name) || looks_ahead(s, x->name))
        return err_set(e, ERR_STEP, "loop %s of %s cannot be in a tensor block: a tile or a"
                       " prefetch is there", x->name, s->name);
    return refuse_annotated(s, axis, "tensorize", e);
}

static bool check_tensor_axes(const struct stage *s, struct tensor_axes at, struct err *e)
{
    if (s->lane)
        return err_set(e, ERR_STEP, "%s already has a tensor block", s->name);
    for (int i = 0; i < s->n_axes; i++)
        if (s->axis[i].ann == LOOP_THREAD_X) {
            err_set(e, ERR_STEP, "loop %s of %s is bound to thread.x, which counts the %d lanes of"
                    " a warp under tensorize", s->axis[i].name, s->name, TENSOR_LANES);
            return err_fix(e, "bind it to thread.y or thread.z: each index there is a warp");
        }
    return check_tensor_axis(s, at.rows, TENSOR_SIDE, false, e)
        && check_tensor_axis(s, at.columns, TENSOR_SIDE, false, e)
        && check_tensor_axis(s, at.sum, at.steps, true, e);
}

bool stage_tensorize(struct exprs *p, const struct stage *s, struct tensor_axes at,
                     const struct stage **out, struct err *e)
{
    struct arena *a = exprs_arena(p);
    if (!check_tensor_axes(s, at, e))
        return false;
    const struct axis *rows = &s->axis[at.rows], *columns = &s->axis[at.columns];
    struct axis *list = ARENA_ARRAY(a, struct axis, s->n_axes + 2);
    struct axis inner[] = {
        s->axis[at.sum],
        axis_make(p, arena_printf(a, "%s.0", rows->name), 2, false),
        axis_make(p, arena_printf(a, "%s.0", columns->name), 2, false),
        axis_make(p, arena_printf(a, "%s.1", columns->name), 2, false),
    };
    struct axis lane = axis_make(p, free_name(a, s, 0, 0, "lane"), TENSOR_LANES, false);
    lane.ann = LOOP_THREAD_X;
    int n = 0, bound = 0;
    while (bound < s->n_axes && loop_is_bound(s->axis[bound].ann))
        list[n++] = s->axis[bound++];
    list[n++] = lane;
    for (int i = bound; i < s->n_axes; i++)
        if (i != at.rows && i != at.columns && i != at.sum)
            list[n++] = s->axis[i];
    for (int i = 0; i < COUNT_OF(inner); i++) {
        inner[i].ann = LOOP_TENSOR;
        list[n++] = inner[i];
    }
    const struct expr *from[] = { rows->var, columns->var }, *with[] = {
        expr_add(p, expr_mulc(p, inner[1].var, 8), expr_divc(p, lane.var, 4)),
        expr_add(p, expr_add(p, expr_mulc(p, inner[2].var, 8),
                             expr_mulc(p, expr_modc(p, lane.var, 4), 2)), inner[3].var),
    };
    struct stage *t = stage_replace(p, s, from, with, COUNT_OF(from));
    t->axis = list;
    t->n_axes = n;
    t->lane = lane.name;
    if (bound > 0)                        /* tiles stay inside of all bound loops */
        rename_tiles(t, s->axis[bound - 1].name, lane.name);
    return accept(t, out, e);
}

bool stage_tile_sums(const struct stage *s)
{
    for (int i = stage_axis(s, s->cache_at) + 1; i < s->n_axes; i++)
        if (s->axis[i].reduce)
            return true;
    return false;
}

int stage_above_sums(const struct stage *s)
{
    int axis = -1;
    while (axis + 1 < s->n_axes && !s->axis[axis + 1].reduce)
        axis++;
    return axis;
}

int stage_tile_depth(const struct stage *s)
{
    int depth = s->cache_at ? stage_axis(s, s->cache_at) + 1 : -1, most = stage_above_sums(s) + 1;
    return (s->narrow_sum || s->lane) && (depth < 0 || depth > most) ? most : depth;
}

bool stage_cache_write(struct exprs *p, const struct stage *s, int axis, const struct stage **out,
                       struct err *e)
{
    struct stage *t = ARENA_DUP(exprs_arena(p), s, 1);
    t->cache_at = s->axis[axis].name;
    return accept(t, out, e);
}

bool stage_cache_read(struct exprs *p, const struct stage *s, const char *tensor, int axis,
                      struct tile_form form, const struct stage **out, struct err *e)
{
    struct stage *t = ARENA_DUP(exprs_arena(p), s, 1);
    int i = 0;
    while (i < t->n_reads && !streq(t->read[i].tensor, tensor))
        i++;
    if (i == MAX_READS)
        return err_set(e, ERR_STEP, "%s already has %d cached operands", s->name, MAX_READS);
    t->read[i] = (struct cached_read){ tensor, s->axis[axis].name, form };
    t->n_reads = i == t->n_reads ? i + 1 : t->n_reads;
    return accept(t, out, e);
}

bool stage_swizzle(struct exprs *p, const struct stage *s, const char *tensor, int64_t keep,
                   const struct stage **out, struct err *e)
{
    struct stage *t = ARENA_DUP(exprs_arena(p), s, 1);
    int i = 0;
    while (i < s->n_reads && !streq(s->read[i].tensor, tensor))
        i++;
    if (i == s->n_reads || s->read[i].form.memory != MEMORY_SHARED) {
        err_set(e, ERR_STEP, "%s has no shared tile of %s", s->name, tensor);
        return err_fix(e, "first: loop cache_read %s %s at=LOOP scope=shared", s->name, tensor);
    }
    if (s->read[i].form.keep == keep)
        return err_set(e, ERR_STEP, "the shared tile of %s is already swizzled by %lld", tensor,
                       (long long)keep);
    t->read[i].form.keep = keep;
    return accept(t, out, e);
}

bool stage_pipeline(struct exprs *p, const struct stage *s, int axis, int64_t stages,
                    const struct stage **out, struct err *e)
{
    const struct axis *x = &s->axis[axis];
    struct stage *t = ARENA_DUP(exprs_arena(p), s, 1);
    if (!x->reduce) {
        err_set(e, ERR_STEP, "loop %s of %s is no reduction loop, and only a reduction loop can be"
                " pipelined", x->name, s->name);
        return err_fix(e, "name the reduction at whose loop the shared tiles are");
    }
    if (stages > 1 && stages > x->extent) {
        err_set(e, ERR_STEP, "loop %s of %s has %lld iterations, fewer than %lld stages", x->name,
                s->name, (long long)x->extent, (long long)stages);
        return err_fix(e, "use fewer stages, or split the reduction into more iterations");
    }
    t->pipe_at = stages > 1 ? x->name : NULL;
    t->pipe_stages = stages;
    return accept(t, out, e);
}

bool stage_prefetch(struct exprs *p, const struct stage *s, const char *tensor, int axis,
                    int64_t by, const struct stage **out, struct err *e)
{
    struct stage *t = ARENA_DUP(exprs_arena(p), s, 1);
    int i = 0;
    while (i < t->n_ahead && !streq(t->ahead[i].tensor, tensor))
        i++;
    if (i == MAX_READS)
        return err_set(e, ERR_STEP, "%s already has %d prefetched operands", s->name, MAX_READS);
    if (i < t->n_ahead && streq(t->ahead[i].axis, s->axis[axis].name) && t->ahead[i].by == by)
        return err_set(e, ERR_STEP, "%s is already prefetched at loop %s of %s", tensor,
                       s->axis[axis].name, s->name);
    t->ahead[i] = (struct read_ahead){ tensor, s->axis[axis].name, by };
    t->n_ahead = i == t->n_ahead ? i + 1 : t->n_ahead;
    return accept(t, out, e);
}
