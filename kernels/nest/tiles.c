/* Tiles of the tensors that a stage reads: copies of operands (cache_read), and producers that are
 * computed inside a loop of their reader (compute_at). */
#include "kernels/nest/lower_impl.h"

#include <string.h>

#include "kernels/base/number.h"
#include "kernels/ir/simplify.h"

#define MAX_TILE 262144 /* most elements of a tile: 1 MiB of stack */
#define MAX_VARS 64

/* The box of physical indices of a tensor that stage s reads inside its first pos loops:
 *     origin[d] = access with the inner variables at 0,   extent[d] = 1 + max of (access - origin)
 * The box is the whole dim where access - origin depends on outer loops, where origin or access -
 * origin may be negative, and where the access depends on data.  It is the whole tensor if several
 * loads read the tensor.  A tile that a block shares holds what all threads of the block read: for
 * such a tile, the loops over threads count as inner loops, though they enclose it. */
struct region {
    struct low *w;
    const struct stage *s;
    int tensor, pos, n_loads;
    bool shared;
    bool too_short;  /* whether s reads past the end of a dim that is in the box as a whole */
    const struct expr *origin[MAX_DIMS];
    int64_t extent[MAX_DIMS];
};

/* Whether the loop of axis i counts as an inner loop for the region. */
static bool is_inner(const struct region *r, int i)
{
    return i >= r->pos || (r->shared && r->s->axis[i].ann >= LOOP_THREAD_X);
}

static void region_dim(struct exprs *p, struct region *r, const struct layout *l, int d,
                       const struct expr *access)
{
    const struct expr *inner[MAX_VARS], *zero[MAX_VARS];
    int n = 0;
    for (int i = 0; i < r->s->n_axes; i++)
        if (is_inner(r, i) && !axis_is_fixed(&r->s->axis[i])) {
            inner[n] = r->s->axis[i].var;
            zero[n++] = expr_const(p, 0);
        }
    const struct expr *origin = expr_simplify(p, expr_subst(p, access, inner, zero, n));
    const struct expr *reach = expr_simplify(p, expr_sub(p, access, origin));
    bool exact = r->n_loads == 0 && reach->lo >= 0 && origin->lo >= 0 && !val_picks(access);
    for (int i = 0; i < r->pos; i++)
        exact = exact && (is_inner(r, i) || axis_is_fixed(&r->s->axis[i]) ||
                          !expr_uses(reach, r->s->axis[i].var));
    r->origin[d] = exact ? origin : expr_const(p, 0);
    r->extent[d] = exact ? reach->hi + 1 : l->shape[d];
    r->too_short |= !exact && access->hi >= l->shape[d];
}

static void region_note(void *ctx, const struct expr *const *idx)
{
    struct region *r = ctx;
    const struct layout *l = r->w->in->layout[r->tensor];
    for (int d = 0; d < l->rank; d++)
        region_dim(r->w->in->pool, r, l, d, idx[d]);
    r->n_loads++;
}

/* Returns a variable called `name`, or TENSOR.name when an enclosing loop has that name, because
 * variables on one path must be distinct. */
static const struct expr *own_var(struct low *w, const struct tensor *t, const char *name,
                                  int64_t extent, const struct stage *outer)
{
    if (stage_axis(outer, name) >= 0)
        name = arena_printf(w->arena, "%s.%s", t->name, name);
    return expr_dim(w->in->pool, name, extent);
}

static struct tree *own_loop(struct low *w, int node, const char *axis,
                             const struct expr *var, bool reduce, const struct tree *const *kid,
                             int n_kids)
{
    struct tree *t = ARENA_NEW(w->arena, struct tree);
    t->kind = TREE_LOOP;
    t->node = node;
    t->axis = axis;
    t->var = var;
    t->extent = var->hi + 1;
    t->reduce = reduce;
    t->n_kids = n_kids;
    t->kid = ARENA_DUP(w->arena, kid, n_kids);
    return t;
}

/* A tile for the region r of a tensor. */
struct tile {
    struct region r;
    const struct layout *l;
    int buffer;
    const struct expr *var[MAX_DIMS], *index[MAX_DIMS];  /* var: of loops; index: physical */
    const struct expr *inside;  /* the condition that `index` is inside the tensor */
};

/* Checks that the shared tiles of the nest fit. Tiles with the same name, from pieces of a cut
 * loop, use one array. */
static bool check_shared(struct low *w, const struct stage *s, const char *axis)
{
    int64_t all = 0;
    for (int i = w->first_shared; i < w->buffers.len; i++) {
        const struct buffer *b = &w->buffers.data[i];
        int64_t most = b->memory == MEMORY_SHARED ? buffer_bytes(b) : 0;
        for (int k = w->first_shared; k < w->buffers.len && most > 0; k++)
            if (streq(w->buffers.data[k].name, b->name)) {
                int64_t other = buffer_bytes(&w->buffers.data[k]);
                most = k < i ? 0 : other > most ? other : most;
            }
        all += shared_room(most);
    }
    if (all <= SHARED_MOST)
        return true;
    err_set(w->e, ERR_STEP, "the shared tiles of %s need %lld bytes with the one at loop %s, and a"
            " block has at most %d", s->name, (long long)all, axis, SHARED_MOST);
    w->ok = err_fix(w->e, "put a tile at a deeper loop, or make the tiles of the block smaller");
    return false;
}

/* Checks that a shared tile is inside of all loops over blocks and threads. */
static bool check_inside_bound(struct low *w, const struct layout *l, const struct stage *s,
                               int pos, const char *axis)
{
    for (int i = s->n_axes - 1; i >= pos; i--) {
        if (!loop_is_bound(s->axis[i].ann))
            continue;
        err_set(w->e, ERR_STEP, "the shared tile of %s at loop %s of %s would be outside of loop"
                " %s, which is bound to %s", l->tensor->name, axis, s->name, s->axis[i].name,
                loop_ann_name[s->axis[i].ann]);
        w->ok = err_fix(w->e, "put the tile at %s or deeper", s->axis[i].name);
        return false;
    }
    return true;
}

/* Sets the swizzle of tile b: the number of a group of `keep` elements in a row is XORed with the
 * number of the row.  Short rows that fill the banks only together count as one row. */
static bool set_swizzle(struct low *w, struct buffer *b, int64_t keep, const struct stage *s,
                        const char *axis)
{
    int64_t row = b->shape[b->rank - 1], all = BANKS_BYTES / b->type->bytes;
    int64_t field = row < all ? row : all, above = row < all ? all : row;
    if (!is_power_of_two(row)) {
        err_set(w->e, ERR_STEP, "the tile %s at loop %s of %s has rows of %lld elements, and only a"
                " power of two can be swizzled", b->name, axis, s->name, (long long)row);
        w->ok = err_fix(w->e, "split the loops so that rows have 8, 16, 32 or 64 elements, or give"
                        " the tile pad=1 instead");
        return false;
    }
    if (keep >= field) {
        err_set(w->e, ERR_STEP, "the tile %s at loop %s of %s has rows of %lld elements: groups of"
                " %lld fill a row or all banks, so the swizzle would move nothing", b->name, axis,
                s->name, (long long)row, (long long)keep);
        w->ok = err_fix(w->e, "keep fewer together (by=), or make the rows longer");
        return false;
    }
    b->swizzle.mask = field - keep;
    while (keep << b->swizzle.shift < above)
        b->swizzle.shift++;
    return true;
}

static bool tile_open(struct low *w, struct tile *x, int t, struct tile_form form,
                      const struct stage *s, int pos, const char *axis)
{
    struct exprs *p = w->in->pool;
    *x = (struct tile){ .l = w->in->layout[t], .inside = expr_const(p, 1) };
    x->r = (struct region){ .w = w, .s = s, .tensor = t, .pos = pos,
                            .shared = form.memory == MEMORY_SHARED };
    low_each_read(w, &(struct low_reading){ s, t, region_note, &x->r });
    int producer = w->in->graph->tensor[t].producer;
    bool computed = producer >= 0 && w->in->stage[producer]->attach == s->node;
    bool sums = computed && w->in->graph->node[producer].combine == COMBINE_SUM;
    struct buffer b = { .name = arena_printf(w->arena, "%s_tile", x->l->tensor->name),
                        .tensor = t,
                        .type = sums ? x->l->tensor->type->sum : x->l->tensor->type,
                        .memory = form.memory,
                        .read = true,
                        .written = true,
                        .rank = x->l->rank,
                        .elems = 1 };
    for (int d = 0; d < b.rank; d++) {
        int64_t extent = x->r.extent[d];
        b.shape[d] = extent + (d == b.rank - 1 ? form.pad : 0);
        if (__builtin_mul_overflow(b.elems, b.shape[d], &b.elems))
            b.elems = INT64_MAX;
        x->var[d] =
            extent > 1 ? own_var(w, x->l->tensor, x->l->dim[d], extent, s) : expr_const(p, 0);
        x->index[d] = expr_simplify(p, expr_add(p, x->r.origin[d], x->var[d]));
        if (x->index[d]->hi >= x->l->shape[d])
            x->inside =
                expr_and(p, x->inside, expr_lt(p, x->index[d], expr_const(p, x->l->shape[d])));
    }
    x->inside = expr_simplify(p, x->inside);
    if (b.elems > MAX_TILE) {
        err_set(w->e, ERR_STEP, "%s %s inside loop %s of %s needs a tile of %lld elements, more "
                "than %d", computed ? "computing" : "copying", x->l->tensor->name, axis, s->name,
                (long long)b.elems, MAX_TILE);
        w->ok = err_fix(w->e, "%s it at a deeper loop", computed ? "compute" : "copy");
        return false;
    }
    if (w->overrun && x->r.too_short) {
        err_set(w->e, ERR_STEP, "the tensor block of %s reads past the end of %s, and the tile of "
                "%s at loop %s ends there", s->name, x->l->tensor->name, x->l->tensor->name, axis);
        w->ok = err_fix(w->e, "split loops by factors that divide them");
        return false;
    }
    if (form.keep > 0 && !set_swizzle(w, &b, form.keep, s, axis))
        return false;
    x->buffer = low_buffer(w, &b);
    if (b.memory == MEMORY_SHARED && !check_inside_bound(w, x->l, s, pos, axis))
        return false;
    return b.memory != MEMORY_SHARED || check_shared(w, s, axis);
}

/* Puts the loops of the tile around the stores in body, and appends the result to kids.  A shared
 * tile gets at least one loop.  From now on, loads of the tensor read the tile. */
static void tile_close(struct low *w, const struct tile *x, int node, struct kids *body,
                       struct kids *kids)
{
    bool shared = x->r.shared, any = false;
    for (int d = x->l->rank - 1; d >= 0; d--)
        if (x->r.extent[d] > 1 || (shared && d == 0 && !any)) {
            const struct expr *var = x->r.extent[d] > 1 ? x->var[d] : expr_var(w->in->pool, "once",
                                                                               0, 0);
            struct tree *t = own_loop(w, node, x->l->dim[d], var, false, body->data, body->len);
            t->ann = shared ? LOOP_THREADS : LOOP_SERIAL;
            any = true;
            vec_clear(body);
            vec_push(body, t);
        }
    for (int i = 0; i < body->len; i++)
        vec_push(kids, body->data[i]);
    vec_free(body);
    struct binding b = { .tile = x->buffer, .one_copy = x->r.s->n_limits > 0 };
    memcpy(b.origin, x->r.origin, sizeof b.origin);
    low_bind_tile(w, x->r.tensor, &b);
}

/* Returns the producer's stage `own` with new names for the variables of its reductions (a pooling
 * window, for example), so that they differ from those of enclosing loops. */
static const struct stage *own_reductions(struct low *w, const struct stage *own,
                                          const struct stage *outer)
{
    struct stage *s = ARENA_DUP(w->arena, own, 1);
    struct axis *list = ARENA_DUP(w->arena, own->axis, own->n_axes);
    const struct tensor *t = w->in->layout[w->in->graph->node[own->node].out]->tensor;
    s->axis = list;
    for (int i = 0; i < s->n_axes; i++)
        if (list[i].reduce) {
            const struct expr *old = list[i].var;
            list[i].var = own_var(w, t, list[i].name, list[i].extent, outer);
            stage_subst(w->in->pool, s, &old, &list[i].var, 1);
        }
    return s;
}

/* Adds the stores of a producer: an initialisation and an update inside its reductions, or a single
 * store if it has none. */
static void producer_stores(struct low *w, const struct tile *x, const struct stage *own,
                            struct kids *body)
{
    const struct node *n = &w->in->graph->node[own->node];
    const struct expr *guard = NULL;
    const struct val *v = low_body_past_tiles(w, own->node, x->index, own, &guard);
    int rank = x->l->rank;
    if (n->combine == COMBINE_NONE) {
        v = low_guarded(w, low_guarded(w, v, guard), x->inside);
        vec_push(body, low_store(w, own->node, x->buffer, x->var, rank, STORE_SET, v, NULL));
        return;
    }
    struct exprs *p = w->in->pool;
    if (n->combine == COMBINE_SUM)
        v = low_summand(w, v, own, &guard);
    guard = guard ? expr_simplify(p, expr_and(p, guard, x->inside)) : x->inside;
    const struct tree *t = low_store(w, own->node, x->buffer, x->var, rank,
                                     n->combine == COMBINE_SUM ? STORE_ADD : STORE_MAX, v, guard);
    for (int i = own->n_axes - 1; i >= 0; i--)
        if (own->axis[i].reduce)
            t = own_loop(w, own->node, own->axis[i].name, own->axis[i].var, true, &t, 1);
    vec_push(body, low_store(w, own->node, x->buffer, x->var, rank, STORE_SET,
                             low_init(w, own->node, x->index), NULL));
    if (n->combine != COMBINE_SUM || !val_is_const(v, 0))
        vec_push(body, t);
}

int low_producer(struct low *w, int node, const struct stage *s, int pos, struct kids *kids)
{
    struct tile x;
    struct kids body = { 0 };
    const struct stage *own = own_reductions(w, w->in->stage[node], s);
    if (!tile_open(w, &x, w->in->graph->node[node].out, own->attach_form, s, pos,
                   own->attach_axis))
        return -1;
    producer_stores(w, &x, own, &body);
    tile_close(w, &x, node, &body, kids);
    return x.buffer;
}

int low_cached_read(struct low *w, const struct cached_read *read, const struct stage *s, int pos,
                    struct kids *kids)
{
    int tensor = graph_tensor(w->in->graph, read->tensor);
    struct tile x;
    struct kids body = { 0 };
    if (!tile_open(w, &x, tensor, read->form, s, pos, read->axis))
        return -1;
    const struct val *v =
        val_load(w->arena, w->param[tensor], x.l->rank, ARENA_DUP(w->arena, x.index, x.l->rank));
    vec_push(&body, low_store(w, s->node, x.buffer, x.var, x.l->rank, STORE_SET,
                              low_guarded(w, v, x.inside), NULL));
    tile_close(w, &x, s->node, &body, kids);
    return x.buffer;
}
