/* Skipping: iterations for which a guard is false are left out instead of tested, as a person
 * writes a convolution that reads its unpadded input.  With the padding inlined, a tap
 * (h + kh, w + kw) outside the image adds nothing, so
 *
 *     for kh in range(3):
 *         if h + kh >= 1 && h + kh < 57: S
 * ==>
 *     for kh in range(max(0, 1 - h), min(3, 57 - h)):
 *         S
 *
 * There are four rewrites, for conjuncts 0 <= c*v + rest of the guards below the loop of v:
 *   tighten  If every store below has the conjunct, and no variable of an inner loop occurs in it,
 *            it becomes a bound of v.  In a short loop, a condition on v alone that holds in one
 *            range also becomes a bound, for example (1 + v) % 2 == 0 for the taps of one phase of
 *            a transposed convolution.
 *   cut      If the conjunct has variables of unrolled inner loops, it always holds outside of
 *            known border iterations.  The loop is cut into border, middle and border, and only the
 *            borders test the conjunct.  A narrow border is cut into single iterations.  A wide
 *            border stays a loop, because the code of single iterations of two nested loops would
 *            be too long.
 *   range    In the border, a short reduction around an unrolled tile is cut where another part of
 *            the tile becomes valid.  Each range computes the valid part of the tile.
 *   unroll   For less simple conditions, such a reduction is unrolled.  The numbers of the tap and
 *            of the tile's element are then constants, and the test disappears. */
#include "kernels/nest/lower_impl.h"

#include "kernels/ir/simplify.h"

#define MAX_SINGLE 4  /* most iterations of a loop that is cut into single iterations */
#define MAX_BORDER 4  /* most iterations of a border that is cut into single iterations */
#define MAX_TAPS 8  /* most iterations of a short loop (tighten, range and unroll) */
#define MAX_WRITTEN 256                   /* unroll: most elements of the tile times taps */

static bool has(const struct expr *guard, const struct expr *c)
{
    if (guard && guard->kind == EXPR_AND)
        return has(guard->a, c) || has(guard->b, c);
    return guard == c;
}

static const struct expr *without(struct exprs *p, const struct expr *guard, const struct expr *c)
{
    if (!guard || guard == c)
        return NULL;
    if (guard->kind != EXPR_AND)
        return guard;
    const struct expr *a = without(p, guard->a, c), *b = without(p, guard->b, c);
    return !a ? b : !b ? a : expr_and(p, a, b);
}

/* Returns t with conjunct c removed from every guard. */
static const struct tree *drop(struct exprs *p, const struct tree *t, const struct expr *c)
{
    struct arena *a = exprs_arena(p);
    struct tree *copy = ARENA_DUP(a, t, 1);
    if (t->kind == TREE_STORE) {
        copy->guard = without(p, t->guard, c);
        return copy;
    }
    const struct tree **kid = ARENA_ARRAY(a, const struct tree *, t->n_kids + 1);
    for (int i = 0; i < t->n_kids; i++)
        kid[i] = drop(p, t->kid[i], c);
    copy->kid = kid;
    return copy;
}

static bool all_have(const struct tree *t, const struct expr *c)
{
    if (t->kind == TREE_STORE)
        return has(t->guard, c);
    for (int i = 0; i < t->n_kids; i++)
        if (!all_have(t->kid[i], c))
            return false;
    return t->n_kids > 0;
}

/* Collects the conjuncts that use v from every guard below t, each once. */
static void gather(const struct tree *t, const struct expr *v, struct conjuncts *out)
{
    struct conjuncts here = { 0 };
    for (int i = 0; t->kind != TREE_STORE && i < t->n_kids; i++)
        gather(t->kid[i], v, out);
    if (t->kind == TREE_STORE && t->guard)
        low_conjuncts(t->guard, &here);
    for (int i = 0; i < here.n && out->n < MAX_CONJUNCTS; i++) {
        bool known = !expr_uses(here.c[i], v);
        for (int k = 0; k < out->n; k++)
            known = known || out->c[k] == here.c[i];
        if (!known)
            out->c[out->n++] = here.c[i];
    }
}

/* Returns the loop of variable v below t; NULL: that loop encloses t. */
static const struct tree *loop_of(const struct tree *t, const struct expr *v)
{
    for (int i = 0; t->kind != TREE_STORE && i < t->n_kids; i++) {
        const struct tree *k = t->kid[i];
        if (k->kind == TREE_LOOP && k->var == v)
            return k;
        if ((k = loop_of(k, v)))
            return k;
    }
    return NULL;
}

/* A condition x < y in the form 0 <= c*v + reach + rest.  reach, in [lo, hi], has the terms of
 * loops inside the loop of v; rest has the terms of loops around it, and the constant.  inner:
 * whether a loop inside has a term; unrolled: whether an unrolled loop inside has a term. */
struct form {
    int64_t c, lo, hi;
    const struct expr *rest;
    bool inner, unrolled;
    const struct tree *only;  /* the only loop inside that has a term; NULL: none, or several */
    int64_t step;                         /* increment per iteration of `only` */
};

/* The state of skipping.  var[i]: the variable of an enclosing loop of one iteration; value[i]: the
 * value of that variable. */
struct skip {
    struct exprs *p;
    VEC(const struct expr *) var;
    VEC(const struct expr *) value;
    bool shares;                          /* whether the tree has shared tiles (tree_shares) */
};

static bool form_of(const struct skip *s, const struct tree *loop, const struct expr *cond,
                    struct form *out)
{
    struct exprs *p = s->p;
    if (cond->kind != EXPR_LT)
        return false;
    const struct expr *room = expr_addc(p, expr_sub(p, cond->b, cond->a), -1);
    if (s->var.len > 0)
        room = expr_subst(p, room, s->var.data, s->value.data, s->var.len);
    struct expr_linear sum = expr_linear(p, expr_simplify(p, room));
    *out = (struct form){ .rest = expr_const(p, sum.rest) };
    for (int i = 0; i < sum.n; i++) {
        const struct expr *v = sum.term[i];
        int64_t c = sum.coef[i];
        const struct tree *inside = v->kind == EXPR_VAR ? loop_of(loop, v) : NULL;
        if (v == loop->var) {
            out->c = c;
        } else if (v->kind != EXPR_VAR) {
            return false;
        } else if (inside) {
            *(c > 0 ? &out->hi : &out->lo) += c * (inside->extent - 1);
            out->only = out->inner ? NULL : inside;
            out->step = c;
            out->inner = true;
            out->unrolled = out->unrolled || inside->ann == LOOP_UNROLL;
        } else {
            out->rest = expr_add(p, out->rest, expr_mulc(p, v, c));
        }
    }
    return out->c != 0;
}

/* Turns 0 <= c*v + rest into a bound of v: raises *lo or lowers *hi. */
static void bound(struct exprs *p, const struct form *f, const struct expr **lo,
                  const struct expr **hi)
{
    if (f->c > 0)
        *lo = expr_max(p, *lo,
                       expr_divc(p, expr_addc(p, expr_mulc(p, f->rest, -1), f->c - 1), f->c));
    else
        *hi = expr_min(p, *hi, expr_addc(p, expr_divc(p, f->rest, -f->c), 1));
}

static bool is_empty(struct exprs *p, const struct tree *t)
{
    const struct expr *first = low_begin(p, t), *behind = low_end(p, t);
    return first->kind == EXPR_CONST && behind->kind == EXPR_CONST
        && behind->value <= first->value;
}

static bool is_single(struct exprs *p, const struct tree *t)
{
    const struct expr *first = low_begin(p, t), *behind = low_end(p, t);
    return t->kind == TREE_LOOP && first->kind == EXPR_CONST && behind->kind == EXPR_CONST
        && behind->value - first->value == 1;
}

/* Whether t is a short loop with constant bounds, and cond depends only on its variable and is true
 * in one range of iterations or in none.  If so, narrows [*lo, *hi) to these iterations. */
static bool holds_in(const struct skip *s, const struct tree *t, const struct expr *cond,
                     const struct expr **lo, const struct expr **hi)
{
    struct exprs *p = s->p;
    int64_t from = 0, to = 0, first = low_begin(p, t)->value;
    if (low_begin(p, t)->kind != EXPR_CONST || low_end(p, t)->kind != EXPR_CONST
        || low_end(p, t)->value - first > MAX_TAPS)
        return false;
    if (s->var.len > 0)
        cond = expr_subst(p, cond, s->var.data, s->value.data, s->var.len);
    for (int64_t v = first; v < low_end(p, t)->value; v++) {
        const struct expr *value = expr_const(p, v);
        const struct expr *at = expr_simplify(p, expr_subst(p, cond, &t->var, &value, 1));
        if (at->kind != EXPR_CONST || (at->value && to > from && to < v))
            return false;
        if (at->value) {
            from = to > from ? from : v;
            to = v + 1;
        }
    }
    *lo = expr_max(p, *lo, expr_const(p, from));
    *hi = expr_min(p, *hi, expr_const(p, to));
    return true;
}

static const struct tree *tighten(struct skip *s, const struct tree *t)
{
    struct exprs *p = s->p;
    struct conjuncts all = { 0 };
    const struct expr *lo = low_begin(p, t), *hi = low_end(p, t);
    bool any = false;
    gather(t, t->var, &all);
    for (int i = 0; i < all.n; i++) {
        struct form f;
        if (!all_have(t, all.c[i]))
            continue;
        if (form_of(s, t, all.c[i], &f) && !f.inner)
            bound(p, &f, &lo, &hi);
        else if (!holds_in(s, t, all.c[i], &lo, &hi))
            continue;
        t = drop(p, t, all.c[i]);
        any = true;
    }
    return any ? low_ranged(p, t, expr_simplify(p, lo), expr_simplify(p, hi)) : t;
}

/* Narrows [*lo, *hi) to the iterations in which conjunct f holds for all iterations of the inner
 * loops.  Returns false when these iterations depend on the enclosing loops. */
static bool middle_of(const struct form *f, int64_t *lo, int64_t *hi)
{
    if (f->rest->kind != EXPR_CONST)
        return false;
    int64_t least = f->rest->value + f->lo, c = f->c > 0 ? f->c : -f->c;
    if (f->c > 0) {
        int64_t first = least >= 0 ? 0 : (-least + c - 1) / c;
        *lo = first > *lo ? first : *lo;
    } else {
        int64_t behind = least < 0 ? 0 : least / c + 1;
        *hi = behind < *hi ? behind : *hi;
    }
    return true;
}

/* Cuts t into border, middle and border.  Returns false when the bounds of t or of its middle are
 * not constant, or when cutting t would gain nothing. */
static bool cut(struct skip *s, const struct tree *t, struct kids *out)
{
    struct exprs *p = s->p;
    struct conjuncts all = { 0 }, cleared = { 0 };
    const struct expr *first = low_begin(p, t), *behind = low_end(p, t);
    if (first->kind != EXPR_CONST || behind->kind != EXPR_CONST)
        return false;
    int64_t lo = first->value, hi = behind->value;
    gather(t, t->var, &all);
    for (int i = 0; i < all.n; i++) {
        struct form f;
        if (form_of(s, t, all.c[i], &f) && f.unrolled && middle_of(&f, &lo, &hi))
            cleared.c[cleared.n++] = all.c[i];
    }
    if (cleared.n == 0 || (lo >= hi && behind->value - first->value > MAX_SINGLE)
        || behind->value - first->value == 1)
        return false;
    if (lo >= hi)
        lo = hi = behind->value;
    const struct tree *middle = t;
    for (int i = 0; i < cleared.n; i++)
        middle = drop(p, middle, cleared.c[i]);
    for (int64_t v = first->value; v < behind->value;) {
        bool inside = v >= lo && v < hi;
        int64_t from = v < lo ? first->value : hi, to = v < lo ? lo : behind->value;
        int64_t end = inside ? hi : to - from > MAX_BORDER ? to : v + 1;
        vec_push(out, low_ranged(p, inside ? middle : t, expr_const(p, v), expr_const(p, end)));
        v = end;
    }
    return true;
}

static int64_t written_below(const struct tree *t)
{
    int64_t most = 1;
    for (int i = 0; t->kind != TREE_STORE && i < t->n_kids; i++) {
        int64_t n = written_below(t->kid[i]);
        most = n > most ? n : most;
    }
    return t->kind == TREE_LOOP && t->ann == LOOP_UNROLL ? most * t->extent : most;
}

/* Whether t is a short reduction whose conjuncts use variables of an unrolled tile inside. */
static bool worth_writing_out(struct skip *s, const struct tree *t)
{
    struct conjuncts all = { 0 };
    if (!t->reduce || t->extent > MAX_TAPS || t->extent * written_below(t) > MAX_WRITTEN)
        return false;
    gather(t, t->var, &all);
    for (int i = 0; i < all.n; i++) {
        struct form f;
        if (form_of(s, t, all.c[i], &f) && f.unrolled)
            return true;
    }
    return false;
}

/* --- A reduction around an unrolled tile, in ranges ------------------------------------------ */

struct ranges {
    int n_at, n;
    int64_t at[MAX_TAPS + 1];  /* cuts, ascending: where the valid part of the tile changes */
    struct form form[MAX_CONJUNCTS];
    const struct expr *conjunct[MAX_CONJUNCTS];
};

static void add_cut(struct ranges *r, int64_t at)
{
    int i = r->n_at;
    for (int k = 0; k < r->n_at; k++)
        if (r->at[k] == at)
            return;
    for (; i > 0 && r->at[i - 1] > at; i--)
        r->at[i] = r->at[i - 1];
    r->at[i] = at;
    r->n_at++;
}

static int64_t form_at(const struct form *f, int64_t v, int64_t inner)
{
    return f->c * v + f->step * inner + f->rest->value;
}

/* Finds where to cut t.  Returns true only if t is a short reduction with constant bounds, and the
 * following holds for each condition on its variable: the condition uses one loop inside t and no
 * loop around t, the loop inside is unrolled, and all stores in that loop have the condition. */
static bool find_ranges(struct skip *s, const struct tree *t, struct ranges *r)
{
    struct exprs *p = s->p;
    struct conjuncts all = { 0 };
    *r = (struct ranges){ 0 };
    if (!t->reduce || t->extent > MAX_TAPS || low_begin(p, t)->kind != EXPR_CONST
        || low_end(p, t)->kind != EXPR_CONST)
        return false;
    int64_t first = low_begin(p, t)->value, behind = low_end(p, t)->value;
    gather(t, t->var, &all);
    for (int i = 0; i < all.n; i++) {
        struct form f;
        if (!form_of(s, t, all.c[i], &f) || !f.only || !f.unrolled || f.rest->kind != EXPR_CONST
            || f.only->begin || f.only->end || !all_have(f.only, all.c[i]))
            return false;
        r->conjunct[r->n] = all.c[i];
        r->form[r->n++] = f;
        for (int64_t v = first + 1; v < behind; v++)
            for (int64_t u = 0; u < f.only->extent; u++)
                if ((form_at(&f, v, u) >= 0) != (form_at(&f, v - 1, u) >= 0))
                    add_cut(r, v);
    }
    add_cut(r, first);
    add_cut(r, behind);
    return r->n > 0;
}

/* Returns t with the loop of variable u below it limited to [lo, hi). */
static const struct tree *narrow(struct exprs *p, const struct tree *t, const struct expr *u,
                                 int64_t lo, int64_t hi)
{
    struct arena *a = exprs_arena(p);
    if (t->kind == TREE_STORE)
        return t;
    if (t->kind == TREE_LOOP && t->var == u) {
        int64_t from = low_begin(p, t)->value, to = low_end(p, t)->value;
        from = lo > from ? lo : from;
        to = hi < to ? hi : to;
        return low_ranged(p, t, expr_const(p, from), expr_const(p, to > from ? to : from));
    }
    struct tree *copy = ARENA_DUP(a, t, 1);
    const struct tree **kid = ARENA_ARRAY(a, const struct tree *, t->n_kids + 1);
    for (int i = 0; i < t->n_kids; i++)
        kid[i] = narrow(p, t->kid[i], u, lo, hi);
    copy->kid = kid;
    return copy;
}

/* Returns t limited to iterations [first, behind), in which the same part of the tile is valid, and
 * the tile limited to that part. */
static const struct tree *range_of(struct exprs *p, const struct tree *t, const struct ranges *r,
                                   int64_t first, int64_t behind)
{
    t = low_ranged(p, t, expr_const(p, first), expr_const(p, behind));
    for (int i = 0; i < r->n; i++) {
        const struct form *f = &r->form[i];
        int64_t lo = 0, hi = f->only->extent;
        while (lo < hi && form_at(f, first, lo) < 0)
            lo++;
        while (hi > lo && form_at(f, first, hi - 1) < 0)
            hi--;
        t = narrow(p, drop(p, t, r->conjunct[i]), f->only->var, lo, hi);
    }
    return t;
}

static void skip_tree(struct skip *s, const struct tree *t, struct kids *out);

static void skip_kids(struct skip *s, const struct tree *t, struct kids *out)
{
    struct kids inner = { 0 };
    bool known = is_single(s->p, t);
    if (known) {
        vec_push(&s->var, t->var);
        vec_push(&s->value, low_begin(s->p, t));
    }
    for (int i = 0; i < t->n_kids; i++)
        skip_tree(s, t->kid[i], &inner);
    if (known) {
        (void)vec_pop(&s->var);
        (void)vec_pop(&s->value);
    }
    if (inner.len > 0 || t->n_kids == 0)
        vec_push(out, low_with_kids(s->p, t, &inner));
    vec_free(&inner);
}

static void skip_tree(struct skip *s, const struct tree *t, struct kids *out)
{
    struct exprs *p = s->p;
    struct kids piece = { 0 };
    struct ranges r;
    if (t->kind == TREE_STORE) {
        vec_push(out, t);
        return;
    }
    if (s->shares && tree_shares(t)) {
        skip_kids(s, t, out);
        return;
    }
    if (t->kind == TREE_LOOP && (t->ann == LOOP_SERIAL || t->ann == LOOP_PARALLEL))
        t = tighten(s, t);
    bool serial = t->kind == TREE_LOOP && t->ann == LOOP_SERIAL;
    if (t->kind == TREE_LOOP && is_empty(p, t))
        return;
    if (serial && find_ranges(s, t, &r)) {
        for (int i = 0; i + 1 < r.n_at; i++)
            skip_kids(s, range_of(p, t, &r, r.at[i], r.at[i + 1]), out);
    } else if (serial && cut(s, t, &piece)) {
        for (int i = 0; i < piece.len; i++)
            skip_kids(s, piece.data[i], out);
    } else if (serial && worth_writing_out(s, t)) {
        struct tree *copy = ARENA_DUP(exprs_arena(p), t, 1);
        copy->ann = LOOP_UNROLL;
        skip_kids(s, copy, out);
    } else {
        skip_kids(s, t, out);
    }
    vec_free(&piece);
}

void tree_skip(struct exprs *p, const struct tree *t, struct kids *out)
{
    struct skip s = { .p = p, .shares = tree_shares(t) };
    skip_tree(&s, t, out);
    vec_free(&s.var);
    vec_free(&s.value);
}
