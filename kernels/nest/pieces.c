/* Cuts loops that a split did not divide.  Splitting an axis of extent E by f gives ceil(E/f) x f
 * iterations, and the stage keeps the limit f * x.0 + x.1 < E.  A loop over an axis v of a limit is
 * cut where the limit stops holding for all iterations inside.  For the limit c*v + inner + k < E
 * with 0 <= inner <= R, let full = (E-1-k-R)/c + 1 and some = (E-1-k)/c + 1.  v has up to three
 * ranges:
 *     v < full          The limit always holds, and is dropped.
 *     full <= v < some  The limit holds for some iterations inside.  If v has one value here, it
 *                       becomes a constant, and the limit an exact extent of the loops inside.
 *                       Otherwise the limit stays, as a condition.
 *     some <= v         The limit never holds: these iterations are not emitted. */
#include "kernels/nest/lower_impl.h"
#include "kernels/base/number.h"

#include <string.h>

#include "kernels/ir/simplify.h"

bool axis_is_fixed(const struct axis *x)
{
    return x->var->kind == EXPR_CONST;
}

/* Returns s with axis i limited to [first, first + extent).  *value replaces the variable of the
 * axis: `first` plus a variable that begins at 0, or the constant `first` when extent is 1. */
static struct stage *narrowed(struct low *w, const struct stage *s, int i, int64_t first,
                              int64_t extent, const struct expr **value)
{
    struct exprs *p = w->in->pool;
    struct stage *t = ARENA_DUP(w->arena, s, 1);
    struct axis *list = ARENA_DUP(w->arena, s->axis, s->n_axes);
    const struct expr *old = s->axis[i].var;
    list[i].extent = extent;
    list[i].var = extent == 1 ? expr_const(p, first) : expr_var(p, old->name, 0, extent - 1);
    *value = extent == 1 ? list[i].var : expr_simplify(p, expr_addc(p, list[i].var, first));
    t->axis = list;
    stage_subst(p, t, &old, value, 1);
    return t;
}

static struct nest_state narrowed_state(struct low *w, const struct nest_state *st, int i,
                                        int64_t first, int64_t extent)
{
    struct exprs *p = w->in->pool;
    struct nest_state out = *st;
    const struct expr *value, *old = st->s->axis[i].var;
    out.s = narrowed(w, st->s, i, first, extent, &value);
    for (int d = 0; d < st->home.rank; d++)
        out.home.idx[d] = expr_simplify(p, expr_subst(p, st->home.idx[d], &old, &value, 1));
    for (int d = 0; d < st->target.rank; d++)
        out.target.idx[d] = expr_simplify(p, expr_subst(p, st->target.idx[d], &old, &value, 1));
    return out;
}

/* Writes the value of a limit as c*v + k + inner with 0 <= inner <= reach.  Returns false when it
 * has another form. */
static bool limit_form(struct low *w, const struct stage *s, int i, const struct limit *l,
                       int64_t *c, int64_t *k, int64_t *reach)
{
    struct expr_linear sum = expr_linear(w->in->pool, l->value);
    *c = 0;
    *k = sum.rest;
    *reach = 0;
    for (int t = 0; t < sum.n; t++) {
        bool inner = false;
        for (int j = i + 1; j < s->n_axes; j++)
            inner = inner || sum.term[t] == s->axis[j].var;
        if (sum.coef[t] <= 0)
            return false;
        if (sum.term[t] == s->axis[i].var)
            *c = sum.coef[t];
        else if (inner)
            *reach += sum.coef[t] * sum.term[t]->hi;
        else
            return false;
    }
    return *c > 0;
}

static int64_t clamp(int64_t x, int64_t hi)
{
    return x < 0 ? 0 : x > hi ? hi : x;
}

static struct stage *without_limit(struct low *w, const struct stage *s, int l)
{
    struct stage *t = ARENA_DUP(w->arena, s, 1);
    memmove(&t->limit[l], &t->limit[l + 1], sizeof *t->limit * (size_t)(t->n_limits - l - 1));
    t->n_limits--;
    return t;
}

/* Cuts the loop of axis i at limit l. Returns the number of pieces. */
static int cut(struct low *w, const struct nest_state *st, int i, int l, struct nest_state *out)
{
    const struct axis *x = &st->s->axis[i];
    const struct limit *lim = &st->s->limit[l];
    int64_t c, k, reach;
    int n = 0;
    if (!limit_form(w, st->s, i, lim, &c, &k, &reach))
        UNREACHABLE();                    /* limit_of has checked the form */
    int64_t full = clamp(floor_div(lim->below - 1 - k - reach, c) + 1, x->extent);
    int64_t some = clamp(floor_div(lim->below - 1 - k, c) + 1, x->extent);
    if (w->overrun && some > full) {
        out[n++] = *st;
        return n;
    }
    if (full > 0) {
        struct nest_state inside = *st;
        inside.s = without_limit(w, st->s, l);
        out[n++] = full == x->extent ? inside : narrowed_state(w, &inside, i, 0, full);
    }
    if (some > full)
        out[n++] = narrowed_state(w, st, i, full, some - full);
    return n;
}

/* Returns the first limit that involves axis i and can cut its loop; or -1. */
static int limit_of(struct low *w, const struct stage *s, int i)
{
    int64_t c, k, reach;
    for (int l = 0; l < s->n_limits; l++)
        if (limit_form(w, s, i, &s->limit[l], &c, &k, &reach))
            return l;
    return -1;
}

int low_pieces(struct low *w, const struct nest_state *st, int i, struct nest_state *out)
{
    /* whole: whether the loop stays whole.  Bound loops do, so that the threads of a block stay
     * together. */
    bool whole = axis_is_fixed(&st->s->axis[i]) || loop_is_bound(st->s->axis[i].ann);
    int l = whole ? -1 : limit_of(w, st->s, i);
    if (l < 0) {
        out[0] = *st;
        return 1;
    }
    return cut(w, st, i, l, out);
}

const struct expr *stage_inside(struct exprs *p, const struct stage *s, bool reductions)
{
    const struct expr *all = expr_const(p, 1);
    for (int l = 0; l < s->n_limits; l++)
        if (reductions || !s->limit[l].reduce)
            all = expr_and(p, all, expr_lt(p, s->limit[l].value, expr_const(p, s->limit[l].below)));
    return expr_simplify(p, all);
}
