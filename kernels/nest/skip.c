/* Skipping: what is guarded is not tested but left out, as a person writes a convolution that
 * reads its unpadded input.  With the padding inlined, a tap (h + kh, w + kw) outside the image
 * adds nothing, so
 *
 *     for kh in range(3):
 *         if h + kh >= 1 && h + kh < 57: S
 * ==>
 *     for kh in range(max(0, 1 - h), min(3, 57 - h)):
 *         S
 *
 * Three rewrites, each of one conjunct 0 <= c*v + rest of the guards below the loop of v:
 *   tighten  every store below has the conjunct, and it speaks of no loop inside: it becomes a
 *            bound
 *   cut      it speaks of unrolled loops inside, with a known reach: outside the border iterations
 *            it always holds, so the loop is cut into border, middle, border; only the border
 *            still tests.  A narrow border is cut into its iterations; a wide one stays a loop,
 *            since the code of two such loops is that of their pieces multiplied
 *   unroll   a short reduction around an unrolled tile, in the border: written out, each tap and
 *            each element of the tile is a number, and the test disappears
 */
#include "kernels/nest/lower_parts.h"

#include "kernels/ir/simplify.h"

#define MAX_CONJUNCTS 32
#define MAX_SINGLE 4                      /* iterations that are cut one by one without a middle */
#define MAX_BORDER 4                      /* iterations before or behind a middle, one by one */
#define MAX_TAPS 8                        /* of a reduction that is written out */
#define MAX_WRITTEN 256                   /* elements of the tile times taps */

struct conjuncts { int n; const struct expr *c[MAX_CONJUNCTS]; };

static void collect(const struct expr *e, struct conjuncts *out)
{
    if (e && e->kind == EXPR_AND) {
        collect(e->a, out);
        collect(e->b, out);
    } else if (e && out->n < MAX_CONJUNCTS) {
        out->c[out->n++] = e;
    }
}

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

/* t with conjunct c taken out of every guard. */
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

/* The conjuncts that use v, of every guard below t, each once. */
static void gather(const struct tree *t, const struct expr *v, struct conjuncts *out)
{
    struct conjuncts here = { 0 };
    for (int i = 0; t->kind != TREE_STORE && i < t->n_kids; i++)
        gather(t->kid[i], v, out);
    if (t->kind == TREE_STORE)
        collect(t->guard, &here);
    for (int i = 0; i < here.n && out->n < MAX_CONJUNCTS; i++) {
        bool known = !expr_uses(here.c[i], v);
        for (int k = 0; k < out->n; k++)
            known = known || out->c[k] == here.c[i];
        if (!known)
            out->c[out->n++] = here.c[i];
    }
}

/* The loop of variable v below t; NULL: v is of a loop around it. */
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

/* A condition x < y as 0 <= c*v + reach + rest: reach is what the loops inside add, [lo, hi] of it;
 * rest is of the loops around. */
struct form { int64_t c, lo, hi; const struct expr *rest; bool inner, unrolled; };

static bool form_of(struct exprs *p, const struct tree *loop, const struct expr *cond,
                    struct form *out)
{
    if (cond->kind != EXPR_LT)
        return false;
    struct expr_linear sum =
        expr_linear(p, expr_simplify(p, expr_addc(p, expr_sub(p, cond->b, cond->a), -1)));
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
            out->inner = true;
            out->unrolled = out->unrolled || inside->ann == LOOP_UNROLL;
        } else {
            out->rest = expr_add(p, out->rest, expr_mulc(p, v, c));
        }
    }
    return out->c != 0;
}

/* 0 <= c*v + rest as a bound of v. */
static void bound(struct exprs *p, const struct form *f, const struct expr **lo,
                  const struct expr **hi)
{
    if (f->c > 0)
        *lo = expr_max(p, *lo,
                       expr_divc(p, expr_addc(p, expr_mulc(p, f->rest, -1), f->c - 1), f->c));
    else
        *hi = expr_min(p, *hi, expr_addc(p, expr_divc(p, f->rest, -f->c), 1));
}

static const struct expr *begin_of(struct exprs *p, const struct tree *t)
{
    return t->begin ? t->begin : expr_const(p, 0);
}

static const struct expr *end_of(struct exprs *p, const struct tree *t)
{
    return t->end ? t->end : expr_const(p, t->extent);
}

static const struct tree *ranged(struct exprs *p, const struct tree *t, const struct expr *lo,
                                 const struct expr *hi)
{
    struct tree *copy = ARENA_DUP(exprs_arena(p), t, 1);
    bool whole = expr_is_const(lo, 0) && expr_is_const(hi, t->extent);
    copy->begin = whole ? NULL : lo;
    copy->end = whole ? NULL : hi;
    return copy;
}

static const struct tree *tighten(struct exprs *p, const struct tree *t)
{
    struct conjuncts all = { 0 };
    const struct expr *lo = begin_of(p, t), *hi = end_of(p, t);
    bool any = false;
    gather(t, t->var, &all);
    for (int i = 0; i < all.n; i++) {
        struct form f;
        if (!form_of(p, t, all.c[i], &f) || f.inner || !all_have(t, all.c[i]))
            continue;
        bound(p, &f, &lo, &hi);
        t = drop(p, t, all.c[i]);
        any = true;
    }
    return any ? ranged(p, t, expr_simplify(p, lo), expr_simplify(p, hi)) : t;
}

/* The iterations [*lo, *hi) of t in which conjunct f holds whatever the loops inside do; false when
 * that depends on the loops around. */
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

/* Cuts t into border, middle and border; false when there is nothing to gain. */
static bool cut(struct exprs *p, const struct tree *t, struct kids *out)
{
    struct conjuncts all = { 0 }, cleared = { 0 };
    const struct expr *first = begin_of(p, t), *behind = end_of(p, t);
    if (first->kind != EXPR_CONST || behind->kind != EXPR_CONST)
        return false;
    int64_t lo = first->value, hi = behind->value;
    gather(t, t->var, &all);
    for (int i = 0; i < all.n; i++) {
        struct form f;
        if (form_of(p, t, all.c[i], &f) && f.unrolled && middle_of(&f, &lo, &hi))
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
        vec_push(out, ranged(p, inside ? middle : t, expr_const(p, v), expr_const(p, end)));
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

/* A short reduction whose conjuncts speak of an unrolled tile inside. */
static bool worth_writing_out(struct exprs *p, const struct tree *t)
{
    struct conjuncts all = { 0 };
    if (!t->reduce || t->extent > MAX_TAPS || t->extent * written_below(t) > MAX_WRITTEN)
        return false;
    gather(t, t->var, &all);
    for (int i = 0; i < all.n; i++) {
        struct form f;
        if (form_of(p, t, all.c[i], &f) && f.unrolled)
            return true;
    }
    return false;
}

static void skip_kids(struct exprs *p, const struct tree *t, struct kids *out)
{
    struct tree *copy = ARENA_DUP(exprs_arena(p), t, 1);
    struct kids inner = { 0 };
    for (int i = 0; i < t->n_kids; i++)
        tree_skip(p, t->kid[i], &inner);
    copy->n_kids = inner.len;
    copy->kid = ARENA_DUP(exprs_arena(p), inner.data, inner.len);
    vec_push(out, copy);
    vec_free(&inner);
}

void tree_skip(struct exprs *p, const struct tree *t, struct kids *out)
{
    struct kids piece = { 0 };
    if (t->kind == TREE_STORE) {
        vec_push(out, t);
        return;
    }
    if (t->kind == TREE_LOOP && (t->ann == LOOP_SERIAL || t->ann == LOOP_PARALLEL))
        t = tighten(p, t);
    if (t->kind == TREE_LOOP && t->ann == LOOP_SERIAL && cut(p, t, &piece)) {
        for (int i = 0; i < piece.len; i++)
            skip_kids(p, piece.data[i], out);
    } else if (t->kind == TREE_LOOP && t->ann == LOOP_SERIAL && worth_writing_out(p, t)) {
        struct tree *copy = ARENA_DUP(exprs_arena(p), t, 1);
        copy->ann = LOOP_UNROLL;
        skip_kids(p, copy, out);
    } else {
        skip_kids(p, t, out);
    }
    vec_free(&piece);
}
