/* From the tree to code: unrolled loops are written out, vector loops become statements on
 * lanes.
 *
 * A vector loop of extent E is cut into chunks of at most the machine's lanes, powers of two,
 * widest first (24 = 16 + 8).  Where one statement cannot do all lanes (for example, because its
 * condition depends on the lane), the chunk is cut further (build_store); one lane is plain scalar
 * code. */
#include "kernels/gen/build_impl.h"

static void build_kids(struct unit_build *b, const struct tree *t, struct block *out);

/* Returns the most lanes that a statement in the vector loop t can have.  A GPU has no vectors, but
 * a thread copies 16 aligned bytes at once to a shared tile (nest/copies.c). */
static int lanes_of(const struct unit_build *b, const struct tree *t)
{
    const struct tree *store = t->n_kids == 1 ? t->kid[0] : NULL;
    bool copies = b->u->opts->target->gpu && store && store->kind == TREE_STORE
               && store->how == STORE_SET && store->value->kind == VAL_LOAD
               && b->u->func->buffer[store->buffer].memory == MEMORY_SHARED;
    return copies ? (int)t->extent : b->u->lanes;
}

static void build_lanes(struct unit_build *b, const struct tree *t, struct block *out)
{
    int64_t first = 0;
    while (first < t->extent && !b->failed) {
        int lanes = lanes_of(b, t);
        while (lanes > t->extent - first)
            lanes /= 2;
        if (lanes > 1) {
            env_set_lanes(b->env, t->var, first, lanes);
            build_kids(b, t, out);
            env_set_lanes(b->env, NULL, 0, 1);
        } else {
            env_bind(b->env, t->var, first);
            build_kids(b, t, out);
            env_unbind(b->env);
        }
        first += lanes;
    }
}

/* Appends " W.1(2..13)", the range of a loop that was cut, if its bounds are constant. */
static void add_range(struct str *out, const struct tree *t)
{
    if (t->begin->kind == EXPR_CONST && t->end->kind == EXPR_CONST)
        str_printf(out, " %s(%lld..%lld)", t->axis, (long long)t->begin->value,
                   (long long)t->end->value - 1);
}

/* Adds a note about the nested loops that begin at t: "unrolled m.1(8) n.1.0(2), lanes
 * n.1.1(16)". */
static void add_note(struct unit_build *b, const struct tree *t, struct block *out)
{
    struct str unrolled = { 0 }, lanes = { 0 };
    for (; t && t->kind == TREE_LOOP; t = t->n_kids ? t->kid[0] : NULL) {
        if (t->extent == 1)
            continue;
        if (t->ann == LOOP_VECTORIZE && b->u->lanes > 1)
            str_printf(&lanes, " %s(%lld)", t->axis, (long long)t->extent);
        if (t->ann == LOOP_UNROLL && t->begin)
            add_range(&unrolled, t);
        else if (t->ann == LOOP_UNROLL)
            str_printf(&unrolled, " %s(%lld)", t->axis, (long long)t->extent);
    }
    if (unrolled.len + lanes.len > 0) {
        struct code *c = code_new(b->u, CODE_NOTE);
        c->note = arena_printf(b->u->arena, "%s%s%s%s%s", unrolled.len ? "unrolled" : "",
                               str_text(&unrolled), unrolled.len && lanes.len ? ", " : "",
                               lanes.len ? "lanes" : "", str_text(&lanes));
        block_add(b->u, out, c);
    }
    str_free(&unrolled);
    str_free(&lanes);
}

/* Adds the note "W.0 = 27" for a piece of a cut loop that has only one iteration. */
static void add_piece_note(struct unit_build *b, const struct tree *t, int64_t begin, int64_t end,
                           struct block *out)
{
    if (end - begin != 1 || (!t->begin && !t->end) || t->ann == LOOP_UNROLL || b->open.len > 0)
        return;
    struct code *c = code_new(b->u, CODE_NOTE);
    c->note = arena_printf(b->u->arena, "%s = %lld", t->axis, (long long)begin);
    block_add(b->u, out, c);
}

static bool only_notes(const struct block *b)
{
    for (int i = 0; i < b->n; i++)
        if (b->item[i]->kind != CODE_NOTE)
            return false;
    return true;
}

static void build_for(struct unit_build *b, const struct tree *t, struct block *out)
{
    bool by_lane;
    struct code *c = code_new(b->u, CODE_FOR);
    c->var = t->var;
    c->axis = t->axis;
    c->node = t->node;
    c->number = t->number;
    c->reduce = t->reduce;
    c->n_prefetch = t->n_prefetch;
    c->prefetch = t->prefetch;
    c->ann = t->ann == LOOP_PARALLEL || loop_is_bound(t->ann) ? t->ann : LOOP_SERIAL;
    c->begin = t->begin ? env_expr(b->env, t->begin, &by_lane) : expr_const(b->u->func->pool, 0);
    c->end = t->end ? env_expr(b->env, t->end, &by_lane) : expr_const(b->u->func->pool, t->extent);
    b->lane = t->ann == LOOP_THREAD_X ? t->var : b->lane;
    bool in_bound = b->in_bound;
    b->in_bound = in_bound || loop_is_bound(t->ann);
    build_kids(b, t, &c->body);
    b->in_bound = in_bound;
    if (!only_notes(&c->body))
        block_add(b->u, out, c);
}

/* Stores the bounds of loop t.  Returns false if they are not constant; t can then not be
 * unrolled. */
static bool constant_bounds(struct unit_build *b, const struct tree *t, int64_t *begin,
                            int64_t *end)
{
    bool by_lane;
    const struct expr *lo = env_expr(b->env, t->begin, &by_lane),
                      *hi = env_expr(b->env, t->end, &by_lane);
    *begin = lo ? lo->value : 0;
    *end = hi ? hi->value : t->extent;
    return (!lo || lo->kind == EXPR_CONST) && (!hi || hi->kind == EXPR_CONST);
}

/* Whether t can be vectorized. It may contain only stores and unrolled loops: a tile or another
 * loop inside would have to exist once per lane. */
static bool fits_lanes(const struct tree *t)
{
    for (int i = 0; i < t->n_kids; i++) {
        const struct tree *k = t->kid[i];
        if (k->kind == TREE_SCOPE || (k->kind == TREE_LOOP && k->ann != LOOP_UNROLL) ||
            !fits_lanes(k))
            return false;
    }
    return true;
}

static void build_tensor(struct unit_build *b, const struct tree *t, struct block *out)
{
    const struct tree *store = t;
    while (store->kind != TREE_STORE)
        store = store->kid[0];
    const struct val *x = store->value->a, *y = store->value->b;
    b->statement = store;
    struct tensor_sites sites = {
        .a = build_site(b, x->source, x->rank, x->idx, false),
        .b = build_site(b, y->source, y->rank, y->idx, false),
        .result = build_site(b, store->buffer, store->rank, store->idx, false),
    };
    code_build_tensor(b->u, b->env, t, b->lane, &sites, out);
}

/* Whether t has a bound loop of more than one iteration. */
static bool has_bound(const struct tree *t)
{
    bool found = t->kind == TREE_LOOP && loop_is_bound(t->ann) && t->extent > 1;
    for (int i = 0; t->kind != TREE_STORE && i < t->n_kids && !found; i++)
        found = has_bound(t->kid[i]);
    return found;
}

/* Whether t is a bound loop of one iteration that stays a loop, because its nest has no other bound
 * loop: bound loops make the nest a kernel of its own. */
static bool makes_kernel(const struct unit_build *b, const struct tree *t)
{
    return loop_is_bound(t->ann) && !b->in_bound && !has_bound(t);
}

static void build_loop(struct unit_build *b, const struct tree *t, struct block *out)
{
    int64_t begin, end;
    if (t->ann == LOOP_TENSOR) {
        build_tensor(b, t, out);
        return;
    }
    bool constant = constant_bounds(b, t, &begin, &end);
    bool lanes = t->ann == LOOP_VECTORIZE && !t->begin && !t->end && t->extent > 1 &&
                 lanes_of(b, t) > 1 && fits_lanes(t);
    bool unroll = constant && (t->ann == LOOP_UNROLL || end - begin <= 1) && !makes_kernel(b, t);
    if (!lanes && !unroll) {
        build_for(b, t, out);
        return;
    }
    bool written_out = end - begin > 1;
    if (written_out && b->open.len == 0) {
        b->n_statements = 0;
        add_note(b, t, out);
    }
    if (constant && !lanes)
        add_piece_note(b, t, begin, end, out);
    if (written_out)
        vec_push(&b->open, t);
    if (lanes)
        build_lanes(b, t, out);
    for (int64_t i = begin; !lanes && i < end && !b->failed; i++) {
        env_bind(b->env, t->var, i);
        build_kids(b, t, out);
        env_unbind(b->env);
    }
    if (written_out)
        (void)vec_pop(&b->open);
}

static void build_tree(struct unit_build *b, const struct tree *t, struct block *out)
{
    switch (t->kind) {
    case TREE_LOOP:
        build_loop(b, t, out);
        return;
    case TREE_STORE:
        build_store(b, t, out);
        return;
    case TREE_SCOPE: {
        struct code *c = code_new(b->u, CODE_SCOPE);
        c->buffer = t->buffer;
        build_kids(b, t, &c->body);
        block_add(b->u, out, c);
        return;
    }
    }
    UNREACHABLE();
}

static void add_sync(struct unit_build *b, int sync, int left, struct block *out)
{
    struct code *c = code_new(b->u, CODE_BARRIER);
    c->sync = sync;
    c->left = left;
    block_add(b->u, out, c);
}

/* Builds one of n adjacent trees. If t is a piece of a cut loop, its note becomes the member `note`
 * of the first item that t adds: a CODE_NOTE before this item would hinder the later passes. */
static void build_sibling(struct unit_build *b, const struct tree *t, int n, struct block *out)
{
    if (t->wait)
        add_sync(b, SYNC_WAIT, t->wait - 1, out);
    if (t->barrier)
        add_sync(b, SYNC_BARRIER, 0, out);
    int first = out->n;
    build_tree(b, t, out);
    if (t->commit)
        add_sync(b, SYNC_COMMIT, 0, out);
    if (!t->piece || n < 2 || b->open.len > 0 || out->n == first)
        return;
    struct code *c = out->item[first];
    if (c->kind == CODE_NOTE)
        c->note = arena_printf(b->u->arena, "%s: %s", t->piece, c->note);
    else
        c->note = t->piece;
}

static void build_kids(struct unit_build *b, const struct tree *t, struct block *out)
{
    for (int i = 0; i < t->n_kids && !b->failed; i++)
        build_sibling(b, t->kid[i], t->n_kids, out);
}

bool code_build(struct unit *u, struct err *e)
{
    struct unit_build b = { .u = u, .env = env_new(u), .e = e };
    const struct func *f = u->func;
    int node = -1;
    for (int i = 0; i < f->n_roots && !b.failed; i++) {
        if (f->root[i]->node != node && f->n_roots > 1) {
            struct code *c = code_new(u, CODE_NOTE);
            node = f->root[i]->node;
            c->note = f->graph->tensor[f->graph->node[node].out].name;
            block_add(u, &u->body, c);
        }
        build_sibling(&b, f->root[i], f->n_roots, &u->body);
    }
    env_free(b.env);
    vec_free(&b.open);
    vec_free(&b.picks);
    vec_free(&b.had);
    vec_free(&b.sides);
    return !b.failed;
}
