/* Computes addresses while loops are being unrolled: the values of unrolled variables are known,
 * and the vector variable stands for a lane.
 *
 * The offset of an access is split once into a constant rest and terms coef * variable.  For each
 * copy of an unrolled statement, the terms with known variables are added to the rest.  The sum of
 * the terms without known variables is the base; it is built again only when the set of known
 * variables has changed since the last copy.
 *
 * A term can also be a div or mod of a layout.  If it contains a known variable, place_by_subst
 * substitutes and simplifies the whole offset. */
#include "kernels/gen/gen_impl.h"
#include "kernels/ir/simplify.h"

#define N_BUCKETS 256
#define LANE "<lane>"                     /* no loop has this name */

struct site_address {
    const struct expr *const *idx;        /* the key: the pointer idx, and buffer */
    int buffer;
    const struct expr *offset;
    struct expr_linear sum;
    bool cached;                          /* whether mask and base are set */
    uint64_t mask;                        /* base is the sum of the terms that are not in mask */
    const struct expr *base;
    struct site_address *next;
};

struct env {
    struct unit *u;
    struct exprs *pool;
    bool *known;                          /* per variable (expr.var): whether its value is known */
    int64_t *value;                       /* per variable: this value */
    VEC(const struct expr *) vars;        /* known and renamed variables, in order of binding */
    VEC(const struct expr *) with;        /* the expression that replaces each of these variables */
    const struct expr *lane_var, *lane_with;
    int64_t lane_first;
    int lanes;
    struct site_address *bucket[N_BUCKETS];
};

struct env *env_new(struct unit *u)
{
    struct env *v = ARENA_NEW(u->arena, struct env);
    v->u = u;
    v->pool = u->func->pool;
    for (int lanes = 2; lanes <= GEN_MAX_LANES; lanes *= 2)
        expr_var(v->pool, LANE, 0, lanes - 1);
    v->known = ARENA_ARRAY(u->arena, bool, exprs_n_vars(v->pool));
    v->value = ARENA_ARRAY(u->arena, int64_t, exprs_n_vars(v->pool));
    v->lanes = 1;
    return v;
}

void env_free(struct env *v)
{
    vec_free(&v->vars);
    vec_free(&v->with);
}

void env_bind(struct env *v, const struct expr *var, int64_t value)
{
    v->known[var->var] = true;
    v->value[var->var] = value;
    vec_push(&v->vars, var);
    vec_push(&v->with, expr_const(v->pool, value));
}

void env_rename(struct env *v, const struct expr *var, const struct expr *with)
{
    vec_push(&v->vars, var);
    vec_push(&v->with, with);
}

void env_unbind(struct env *v)
{
    v->known[vec_pop(&v->vars)->var] = false;
    (void)vec_pop(&v->with);
}

void env_set_lanes(struct env *v, const struct expr *var, int64_t first, int lanes)
{
    v->lane_var = var;
    v->lane_first = first;
    v->lanes = lanes;
    v->lane_with = NULL;
    if (var)
        v->lane_with = expr_addc(v->pool, expr_var(v->pool, LANE, 0, lanes - 1), first);
}

int env_lanes(const struct env *v)
{
    return v->lanes;
}

const struct expr *env_lane_var(const struct env *v)
{
    return v->lane_var;
}

int64_t env_lane_first(const struct env *v)
{
    return v->lane_first;
}

static const struct expr *lane_of(struct env *v)
{
    return expr_var(v->pool, LANE, 0, v->lanes - 1);
}

const struct expr *env_expr(struct env *v, const struct expr *e, bool *by_lane)
{
    int n = v->vars.len;
    *by_lane = false;
    if (!e || e->kind == EXPR_CONST)
        return e;
    if (n > 0)
        e = expr_subst(v->pool, e, v->vars.data, v->with.data, n);
    if (v->lane_var)
        e = expr_subst(v->pool, e, &v->lane_var, &v->lane_with, 1);
    e = expr_simplify(v->pool, e);
    *by_lane = v->lane_var && expr_uses(e, lane_of(v));
    return e;
}

static struct site_address *site_address(struct env *v, int buffer, const struct expr *const *idx)
{
    struct site_address **slot = &v->bucket[((uintptr_t)idx >> 4) % N_BUCKETS];
    for (struct site_address *s = *slot; s; s = s->next)
        if (s->idx == idx && s->buffer == buffer)
            return s;
    struct site_address *s = ARENA_NEW(v->u->arena, struct site_address);
    s->idx = idx;
    s->buffer = buffer;
    s->offset = expr_simplify(v->pool, buffer_offset(v->pool, &v->u->func->buffer[buffer], idx));
    s->sum = expr_linear(v->pool, s->offset);
    s->next = *slot;
    *slot = s;
    return s;
}

/* Whether e depends on a known or renamed variable, or on the lane. */
static bool depends_on_known(const struct env *v, const struct expr *e)
{
    return expr_uses_any(e, v->vars.data, v->vars.len) ||
           (v->lane_var && expr_uses(e, v->lane_var));
}

/* Returns the sum of the terms of s that are not in mask, as one canonical expression. */
static const struct expr *base_of(struct env *v, struct site_address *s, uint64_t mask)
{
    if (s->cached && s->mask == mask)
        return s->base;
    const struct expr *term[64];
    int64_t coef[64];
    struct expr_linear rest = { .term = term, .coef = coef };
    for (int i = 0; i < s->sum.n; i++)
        if (!(mask >> i & 1)) {
            term[rest.n] = s->sum.term[i];
            coef[rest.n++] = s->sum.coef[i];
        }
    s->cached = true;
    s->mask = mask;
    s->base = expr_simplify(v->pool, expr_from_linear(v->pool, &rest));
    return s->base;
}

/* Computes a place by substitution and simplification, for an access that is not linear in the
 * known variables.  Returns false when the access is not linear in the lane. */
static bool place_by_subst(struct env *v, const struct site_address *s, struct place *at,
                           int64_t *step)
{
    bool by_lane;
    const struct expr *e = env_expr(v, s->offset, &by_lane);
    *step = 0;
    if (by_lane && !expr_coef(v->pool, e, lane_of(v), step))
        return false;
    if (by_lane) {
        const struct expr *zero = expr_const(v->pool, 0), *lane = lane_of(v);
        e = expr_simplify(v->pool, expr_subst(v->pool, e, &lane, &zero, 1));
    }
    struct expr_linear sum = expr_linear(v->pool, e);
    at->rest = sum.rest;
    sum.rest = 0;
    at->base = expr_simplify(v->pool, expr_from_linear(v->pool, &sum));
    return true;
}

bool env_place(struct env *v, int buffer, const struct expr *const *idx, struct place *at,
               int64_t *step)
{
    struct site_address *s = site_address(v, buffer, idx);
    uint64_t mask = 0;
    *at = (struct place){ .buffer = buffer, .rest = s->sum.rest, .lanes = 1 };
    *step = 0;
    if (s->sum.n > 64)
        return place_by_subst(v, s, at, step);
    for (int i = 0; i < s->sum.n; i++) {
        const struct expr *t = s->sum.term[i];
        if (t->kind != EXPR_VAR || val_picks(t)) {
            if (depends_on_known(v, t))
                return place_by_subst(v, s, at, step);
        } else if (t == v->lane_var) {
            *step = s->sum.coef[i];
            at->rest += *step * v->lane_first;
            mask |= UINT64_C(1) << i;
        } else if (v->known[t->var]) {
            at->rest += s->sum.coef[i] * v->value[t->var];
            mask |= UINT64_C(1) << i;
        }
    }
    at->base = base_of(v, s, mask);
    return true;
}
