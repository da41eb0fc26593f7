/* Checks the rules for schedules.  An error names the loop that breaks a rule, and mostly a legal
 * alternative. */
#include "kernels/nest/stage.h"

#include <string.h>

#define MAX_UNROLLED 4096 /* most statements of one unrolled body (SPEC D.5, validity filter) */
#define MAX_ORDER 160     /* an order of loops with as many letters is not written out, */
#define MAX_NAMES 100     /* and neither is a list of loops to unroll with more letters */
#define MAX_TILE 262144   /* most elements of an accumulator tile: 1 MiB */

/* Checks the extent of a vectorized loop.  Any extent up to STAGE_MAX_VECTOR is legal: 13 lanes are
 * written as 8 + 4 + 1. */
static bool check_vector_extent(const struct stage *s, const struct axis *x, struct err *e)
{
    if (x->extent <= STAGE_MAX_VECTOR)
        return true;
    err_set(e, ERR_STEP, "cannot vectorize loop %s of %s: extent %lld is more than %d", x->name,
            s->name, (long long)x->extent, STAGE_MAX_VECTOR);
    return err_fix(e, "loop split %s %s 16, then vectorize %s.1", s->name, x->name, x->name);
}

/* Refuses the vectorized axis `at`, inside of which other loops run.  The fix proposes to unroll
 * them only if the unrolled body is not too large. */
static bool refuse_inside(const struct stage *s, int at, struct err *e)
{
    const struct axis *x = &s->axis[at];
    struct str names = {0}, order = {0};
    int64_t body = 1;
    int n = 0;
    for (int i = 0; i < s->n_axes; i++)
        str_printf(&order, "%s%s", i == at ? "" : " ", i == at ? "" : s->axis[i].name);
    for (int i = at + 1; i < s->n_axes; i++) {
        const struct axis *y = &s->axis[i];
        if (__builtin_mul_overflow(body, y->extent, &body))
            body = INT64_MAX;
        if (y->ann != LOOP_UNROLL)
            str_printf(&names, "%s%s", n++ > 0 ? ", " : "", y->name);
    }
    err_set(e, ERR_STEP, "cannot vectorize loop %s of %s: loop%s %.300s run%s inside it", x->name,
            s->name, n > 1 ? "s" : "", str_text(&names), n > 1 ? "" : "s");
    err_fix(e, body > MAX_UNROLLED || names.len > MAX_NAMES
               ? "make %s the innermost loop (loop reorder %s%s %s)"
               : "make %s the innermost loop (loop reorder %s%s %s) or unroll %s",
            x->name, s->name, order.len < MAX_ORDER ? str_text(&order) : " ...", x->name,
            str_text(&names));
    str_free(&names);
    str_free(&order);
    return false;
}

static bool check_vector(const struct stage *s, int at, struct err *e)
{
    const struct axis *x = &s->axis[at];
    bool inside = false;
    for (int i = at + 1; i < s->n_axes; i++) {
        if (s->axis[i].ann == LOOP_VECTORIZE) {
            err_set(e, ERR_STEP, "%s would have two vectorized loops: %s and %s", s->name, x->name,
                    s->axis[i].name);
            return err_fix(e, "drop or edit the step that vectorizes one of them");
        }
        inside = inside || s->axis[i].ann != LOOP_UNROLL;
    }
    return inside ? refuse_inside(s, at, e) : check_vector_extent(s, x, e);
}

static bool check_parallel(const struct stage *s, int at, struct err *e)
{
    const struct axis *x = &s->axis[at];
    if (x->reduce) {
        err_set(e, ERR_STEP,
                "cannot run loop %s of %s in parallel: it is a reduction, and the threads would "
                "race on %s",
                x->name, s->name, s->name);
        return err_fix(e, "run a loop of the output's dimensions in parallel");
    }
    for (int i = 0; i < at; i++) {
        const struct axis *y = &s->axis[i];
        if (y->reduce) {
            err_set(e, ERR_STEP,
                    "cannot run loop %s of %s in parallel inside the reduction loop %s", x->name,
                    s->name, y->name);
            return err_fix(e, "move %s outside of %s: loop reorder %s %s %s", x->name, y->name,
                           s->name, x->name, y->name);
        }
        if (y->ann == LOOP_PARALLEL && s->axis[at - 1].ann != LOOP_PARALLEL) {
            err_set(e, ERR_STEP, "parallel loops %s and %s of %s are not adjacent", y->name,
                    x->name, s->name);
            return err_fix(e, "fuse or reorder so that one adjacent group of loops is parallel");
        }
        if (s->cache_at && streq(s->cache_at, y->name)) {
            err_set(
                e, ERR_STEP,
                "cannot run loop %s of %s in parallel: it is inside the tile of cache_write at %s",
                x->name, s->name, y->name);
            return err_fix(e, "run a loop outside of %s in parallel", y->name);
        }
    }
    return true;
}

/* Checks the place of a bound loop: bound loops must be the outermost ones, outside of every tile,
 * and no two of them may be bound to the same index. */
static bool check_bound_place(const struct stage *s, int at, struct err *e)
{
    const struct axis *x = &s->axis[at];
    for (int i = 0; i < at; i++) {
        const struct axis *y = &s->axis[i];
        bool tile = s->cache_at && streq(s->cache_at, y->name);
        for (int r = 0; r < s->n_reads; r++)
            tile = tile || streq(s->read[r].axis, y->name);
        if (tile) {
            err_set(e, ERR_STEP, "cannot bind loop %s of %s to %s: it is inside of a tile at loop"
                    " %s", x->name, s->name, loop_ann_name[x->ann], y->name);
            return err_fix(e, "put the tile at %s or deeper", x->name);
        }
        if (!loop_is_bound(y->ann)) {
            err_set(e, ERR_STEP, "cannot bind loop %s of %s to %s: loop %s around it is not bound",
                    x->name, s->name, loop_ann_name[x->ann], y->name);
            return err_fix(e, "move %s outside of it: loop reorder %s %s %s", x->name, s->name,
                           x->name, y->name);
        }
        if (y->ann == x->ann) {
            err_set(e, ERR_STEP, "loops %s and %s of %s are both bound to %s", y->name, x->name,
                    s->name, loop_ann_name[x->ann]);
            return err_fix(e, "fuse them, or bind one of them to another index");
        }
    }
    return true;
}

static bool check_bound(const struct stage *s, int at, struct err *e)
{
    const struct axis *x = &s->axis[at];
    int64_t threads = 1;
    if (x->reduce) {
        err_set(e, ERR_STEP, "cannot bind loop %s of %s to %s: it is a reduction, and the threads"
                " would race on %s", x->name, s->name, loop_ann_name[x->ann], s->name);
        return err_fix(e, "bind a loop of the output's dimensions");
    }
    for (int i = 0; i <= at; i++)
        threads *= s->axis[i].ann >= LOOP_THREAD_X ? s->axis[i].extent : 1;
    if (x->extent > loop_bound_limit(x->ann) || threads > BLOCK_THREADS) {
        bool block = x->extent <= loop_bound_limit(x->ann);
        err_set(e, ERR_STEP, "cannot bind loop %s of %s to %s: %lld %s, and at most %lld are"
                " possible", x->name, s->name, loop_ann_name[x->ann],
                (long long)(block ? threads : x->extent),
                block ? "threads in a block" : "iterations",
                (long long)(block ? BLOCK_THREADS : loop_bound_limit(x->ann)));
        return err_fix(e, "split it first and bind the inner part");
    }
    return check_bound_place(s, at, e);
}

static bool check_unrolled(const struct stage *s, struct err *e)
{
    int64_t body = 1;
    struct str loops = {0};
    for (int i = 0; i < s->n_axes && body <= MAX_UNROLLED; i++) {
        const struct axis *x = &s->axis[i];
        if (x->ann == LOOP_UNROLL)
            body *= x->extent;
        if (x->ann == LOOP_VECTORIZE)
            body *= (x->extent + 15) / 16;
    }
    for (int i = 0; i < s->n_axes && body > MAX_UNROLLED; i++)
        if (s->axis[i].ann == LOOP_UNROLL)
            str_printf(&loops, " %s(%lld)", s->axis[i].name, (long long)s->axis[i].extent);
    if (body > MAX_UNROLLED) {
        err_set(e, ERR_STEP, "the unrolled loops of %s make more than %d statements:%.300s",
                s->name, MAX_UNROLLED, str_text(&loops));
        err_fix(e, "unroll fewer loops, or split one and unroll only its inner part");
    }
    str_free(&loops);
    return body <= MAX_UNROLLED;
}

/* Refuses the accumulator tile inside the outermost `depth` loops: elems is more than MAX_TILE, or
 * else rank is more than MAX_DIMS. */
static bool refuse_tile(const struct stage *s, int depth, int64_t elems, int rank, struct err *e)
{
    bool large = elems > MAX_TILE;
    bool needed = (s->narrow_sum || s->lane) && depth == stage_above_sums(s) + 1;
    if (!needed) {
        if (large)
            err_set(e, ERR_STEP, "the tile of %s inside loop %s has %lld elements, more than %d",
                    s->name, s->cache_at, (long long)elems, MAX_TILE);
        else
            err_set(e, ERR_RANK, "the tile of %s inside loop %s has %d dimensions, one for each "
                    "loop; at most %d", s->name, s->cache_at, rank, MAX_DIMS);
        return err_fix(e, "%scache_write at a deeper loop", large ? "" : "fuse some of them, or ");
    }
    const char *why = s->lane ? "tensor cores add to registers"
                              : "memory of its narrow type would round every addition";
    const char *at = s->axis[depth].name;
    if (large)
        err_set(e, ERR_STEP, "the sums of %s need a tile around loop %s, because %s, and this tile "
                "would have %lld elements, more than %d", s->name, at, why, (long long)elems,
                MAX_TILE);
    else
        err_set(e, ERR_RANK, "the sums of %s need a tile around loop %s, because %s, and this tile "
                "would have %d dimensions, one for each loop; at most %d", s->name, at, why, rank,
                MAX_DIMS);
    return err_fix(e, "keep more loops of the output's dimensions outside of %s%s", at,
                   large ? "" : ", or fuse some of those inside");
}

/* Checks the size of the accumulator tile.  cache_write makes one; sums of a narrow type or of a
 * tensor block need one anyway. */
static bool check_tile(const struct stage *s, struct err *e)
{
    int depth = stage_tile_depth(s), rank = 0;
    int64_t elems = 1;
    for (int i = depth; depth >= 0 && i < s->n_axes; i++) {
        rank += !s->axis[i].reduce;
        if (!s->axis[i].reduce && __builtin_mul_overflow(elems, s->axis[i].extent, &elems))
            elems = INT64_MAX;
    }
    return (elems <= MAX_TILE && rank <= MAX_DIMS) || refuse_tile(s, depth, elems, rank, e);
}

/* Sets a fix that puts the tile of cache_write outside of the vectorized axis `lanes`.  If no
 * reduction is inside of the tile's loop, the tile must also move outside of the reductions,
 * because otherwise it keeps no sums. */
static bool fix_tile(const struct stage *s, int lanes, struct err *e)
{
    int outer = stage_above_sums(s), at = lanes - 1;
    bool sums = stage_tile_sums(s);
    if (!sums && outer < 0)
        return err_fix(e, "undo the cache_write: no reduction is inside of %s, so its tile keeps "
                       "no partial sums", s->cache_at);
    at = !sums && outer < at ? outer : at;
    return at < 0 ? err_fix(e, "loop serial %s %s", s->name, s->axis[lanes].name)
                  : err_fix(e, STAGE_PUT_TILE "%s", s->axis[at].name);
}

/* Checks that no tile lies inside the vectorized loop, because all lanes would share the tile. */
static bool check_lanes(const struct stage *s, const char *tile, const char *axis, struct err *e)
{
    for (int i = 0; i <= stage_axis(s, axis); i++) {
        const struct axis *x = &s->axis[i];
        if (x->ann != LOOP_VECTORIZE)
            continue;
        err_set(e, ERR_STEP, "the tile of %s at loop %s of %s would be inside the vectorized loop "
                "%s: the lanes of a vectorized loop cannot share a tile", tile, axis, s->name,
                x->name);
        return streq(tile, "cache_write") ? fix_tile(s, i, e)
             : i == 0 ? err_fix(e, "loop serial %s %s", s->name, x->name)
                      : err_fix(e, STAGE_PUT_TILE "%s", s->axis[i - 1].name);
    }
    return true;
}

static bool check_tiles_outside_lanes(const struct stage *s, struct err *e)
{
    if (s->cache_at && !check_lanes(s, "cache_write", s->cache_at, e))
        return false;
    for (int r = 0; r < s->n_reads; r++)
        if (!check_lanes(s, s->read[r].tensor, s->read[r].axis, e))
            return false;
    return true;
}

/* Checks a prefetch: its loop must have more than r->by iterations, and must still be a loop in the
 * generated code. */
static bool check_ahead(const struct stage *s, const struct read_ahead *r, struct err *e)
{
    int at = stage_axis(s, r->axis);
    const struct axis *x = &s->axis[at];
    int outer = at - 1;
    if (x->extent > r->by && x->ann != LOOP_VECTORIZE && x->ann != LOOP_UNROLL)
        return true;
    while (outer >= 0 && (s->axis[outer].ann != LOOP_SERIAL || s->axis[outer].extent <= r->by))
        outer--;
    if (x->extent <= r->by)
        err_set(e, ERR_STEP,
                "cannot prefetch %s %lld iteration%s of loop %s of %s ahead: the loop has only "
                "%lld",
                r->tensor, (long long)r->by, r->by == 1 ? "" : "s", x->name, s->name,
                (long long)x->extent);
    else
        err_set(e, ERR_STEP, "cannot prefetch %s at loop %s of %s: the loop is marked %s, so the "
                "code has no loop to prefetch in", r->tensor, x->name, s->name,
                loop_ann_name[x->ann]);
    return outer >= 0 ? err_fix(e, "prefetch it at %s", s->axis[outer].name)
                      : err_fix(e, "prefetch it at a plain loop of more iterations");
}

/* Checks that a tensor block is whole: its lanes are bound to thread.x, and its four loops are the
 * innermost ones, the loop of the sum first. */
static bool check_tensor(const struct stage *s, struct err *e)
{
    int n = s->n_axes, lane = s->lane ? stage_axis(s, s->lane) : -1, marked = 0;
    if (!s->lane)
        return true;
    for (int i = 0; i < n; i++)
        marked += s->axis[i].ann == LOOP_TENSOR;
    if (lane < 0 || s->axis[lane].ann != LOOP_THREAD_X) {
        err_set(e, ERR_STEP, "loop %s of %s counts the lanes of its tensor block, and must be bound"
                " to thread.x", s->lane, s->name);
        return err_fix(e, "first: loop serial %s %s", s->name, s->axis[n - 1].name);
    }
    for (int i = n - 4; i < n; i++)
        if (marked != 4 || s->axis[i].ann != LOOP_TENSOR || s->axis[i].reduce != (i == n - 4)) {
            err_set(e, ERR_STEP, "the loops of the tensor block of %s stay its innermost loops, in"
                    " their order and with their mark", s->name);
            return err_fix(e, "leave these loops where they are, or undo the tensor block: loop "
                           "serial %s LOOP, where LOOP is one of them", s->name);
        }
    return true;
}

bool stage_check(const struct stage *s, struct err *e)
{
    for (int i = 0; i < s->n_axes; i++) {
        if (s->axis[i].ann == LOOP_VECTORIZE && !check_vector(s, i, e))
            return false;
        if (s->axis[i].ann == LOOP_PARALLEL && !check_parallel(s, i, e))
            return false;
        if (loop_is_bound(s->axis[i].ann) && !check_bound(s, i, e))
            return false;
    }
    for (int i = 0; i < s->n_ahead; i++)
        if (!check_ahead(s, &s->ahead[i], e))
            return false;
    return check_tensor(s, e) && check_unrolled(s, e) && check_tile(s, e)
        && check_tiles_outside_lanes(s, e);
}
