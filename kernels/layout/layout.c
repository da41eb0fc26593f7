/* Makes layouts: the identity, and a layout with one more primitive (SPEC A.0).
 *
 *     rho_s = rho_pk . ... . rho_p1
 *     phi_s = phi_p1 . ... . phi_pk, undefined where any of them is
 *
 * Invariants (I1..I5; property test in tests/unit/test_layout.c):
 *     phi(rho(i)) = i for every stored i,  0 <= rho(i)_k < P_k,  physical >= stored elements. */
#include "kernels/layout/layout_impl.h"
#include "kernels/ir/simplify.h"

#define MAX_NODES 4000

static int64_t product(const int64_t *shape, int rank)
{
    int64_t n = 1;
    for (int k = 0; k < rank; k++)
        n *= shape[k];
    return n;
}

int64_t layout_bytes(const struct layout *l)
{
    return l->tensor->type->bytes * l->elems;
}

/* Computes class, expansion and `advanced`.  Without overlapping tiles phi is injective, so it is
 * a bijection exactly when the sizes agree; its guard is then always true. */
static void classify(struct layout *l)
{
    const int64_t stored = product(l->stored, l->tensor->rank), logical = tensor_elems(l->tensor);
    /* held: layout_store_at put the tensor into another one, so its expansion stays 1 */
    bool held = l->expansion == 1 && l->elems != logical;
    l->elems = product(l->shape, l->rank);
    l->expansion = held ? 1 : (double)l->elems / (double)logical;
    l->klass = l->elems > stored ? LAYOUT_PADDED : LAYOUT_BIJECTIVE;
    if (l->n_overlaps)
        l->klass = LAYOUT_DUPLICATING;
    l->advanced = l->klass != LAYOUT_BIJECTIVE || stored < logical;
    if (l->klass == LAYOUT_BIJECTIVE || (l->guard && l->guard->lo == 1))
        l->guard = NULL;
}

const struct layout *layout_identity(struct exprs *p, const struct tensor *t)
{
    struct arena *a = exprs_arena(p);
    struct layout *l = ARENA_NEW(a, struct layout);
    l->tensor = t;
    l->rank = t->rank;
    for (int k = 0; k < t->rank; k++) {
        const struct expr *var = expr_dim(p, t->dim[k], t->shape[k]);
        l->stored[k] = l->shape[k] = t->shape[k];
        l->dim[k] = t->dim[k];
        l->line[k] = lineage_logical(a, t, k);
        l->logical[k] = l->phys[k] = l->rho[k] = l->phi[k] = var;
    }
    classify(l);
    return l;
}

static bool name_taken(const struct layout *l, int before, const char *name)
{
    for (int j = 0; j < before; j++)
        if (strcaseeq(l->dim[j], name))
            return true;
    return false;
}

/* Gives the new dims their names and phi variables.  A name that is taken gets "_2" and so on. */
static void name_dims(struct exprs *p, const struct reshape *r, struct layout *l)
{
    struct arena *a = exprs_arena(p);
    for (int j = 0; j < r->rank; j++) {
        const char *name = r->line[j]->name;
        for (int n = 2; name_taken(l, j, name); n++)
            name = arena_printf(a, "%s_%d", r->line[j]->name, n);
        l->line[j] = r->line[j];
        if (!streq(name, r->line[j]->name))
            l->line[j] = lineage_rename(a, r->line[j], name);
        l->dim[j] = name;
        l->shape[j] = r->shape[j];
        l->phys[j] = expr_dim(p, name, r->shape[j]);
    }
}

/* If the primitive trims a logical dim, gives the variable of the dim its new extent, also in every
 * rho that uses the variable. */
static void trim(struct exprs *p, const struct reshape *r, const struct layout *l, struct layout *m)
{
    if (r->trimmed < 0)
        return;
    const struct expr *old = l->logical[r->trimmed];
    const struct expr *var = expr_var(p, old->name, 0, r->stored - 1);
    m->stored[r->trimmed] = r->stored;
    m->logical[r->trimmed] = var;
    for (int j = 0; j < l->rank; j++)
        m->rho[j] = expr_simplify(p, expr_subst(p, l->rho[j], &old, &var, 1));
}

/* Computes phi_l . phi_prim, with the conditions of both. */
static void compose_phi(struct exprs *p, const struct prim *pr, const struct layout *l,
                        struct layout *m)
{
    const struct expr *old[MAX_DIMS], *guard;
    prim_phi(p, pr, l, m->phys, old, &guard);
    for (int k = 0; k < l->tensor->rank; k++)
        m->phi[k] = expr_simplify(p, expr_subst(p, l->phi[k], l->phys, old, l->rank));
    if (l->guard) {
        const struct expr *inner = expr_subst(p, l->guard, l->phys, old, l->rank);
        guard = guard ? expr_and(p, inner, guard) : inner;
    }
    m->guard = guard ? expr_simplify(p, guard) : NULL;
}

static void append_prim(struct arena *a, const struct layout *l, const struct prim *prim,
                        struct layout *m)
{
    struct prim *prims = ARENA_ARRAY(a, struct prim, l->n_prims + 1);
    for (int i = 0; i < l->n_prims; i++)
        prims[i] = l->prims[i];
    prims[l->n_prims] = *prim;
    m->prims = prims;
    m->n_prims = l->n_prims + 1;
    m->prev = l;
}

static const struct layout *extend(struct exprs *p, const struct layout *l, const struct reshape *r)
{
    struct layout *m = ARENA_DUP(exprs_arena(p), l, 1);
    append_prim(exprs_arena(p), l, &r->prim, m);
    m->rank = r->rank;
    m->n_overlaps += r->overlaps;
    name_dims(p, r, m);
    trim(p, r, l, m);
    const struct expr *rho[MAX_DIMS];
    for (int j = 0; j < l->rank; j++)
        rho[j] = m->rho[j];
    prim_rho(p, &r->prim, l, rho, m->rho);
    compose_phi(p, &r->prim, l, m);
    classify(m);
    return m;
}

/* Counts the nodes of e as a tree, up to limit. */
static int tree_size(const struct expr *e, int limit)
{
    if (limit <= 0 || !e)
        return 0;
    const int n = 1 + tree_size(e->a, limit - 1);
    return n + tree_size(e->b, limit - n);
}

/* Whether the expressions of l are small enough.  They can double with each primitive of a sequence
 * that splits, reorders and fuses again and again. */
static bool is_manageable(const struct layout *l)
{
    int left = MAX_NODES - tree_size(l->guard, MAX_NODES);
    for (int j = 0; j < l->rank; j++)
        left -= tree_size(l->rho[j], left);
    for (int k = 0; k < l->tensor->rank; k++)
        left -= tree_size(l->phi[k], left);
    return left > 0;
}

bool layout_apply(struct exprs *p, const struct layout *l, const struct prim *prim,
                  const struct layout **out, struct err *e)
{
    struct reshape r;
    if (l->n_prims == LAYOUT_MAX_PRIMS) {
        err_set(e, ERR_RANGE, "a layout cannot have more than %d primitives", LAYOUT_MAX_PRIMS);
        return err_fix(e, "start again from the plain layout");
    }
    if (!prim_check(p, l, prim, &r, e))
        return false;
    const struct layout *m = extend(p, l, &r);
    if (!is_manageable(m)) {
        err_set(e, ERR_RANGE,
                "primitive %d (%s): the index expressions of this sequence grow beyond %d terms",
                m->n_prims, prim_name[prim->kind], MAX_NODES);
        return err_fix(e, "split by factors that divide the dimension, or fuse what was split");
    }
    *out = m;
    return true;
}

bool layout_apply_all(struct exprs *p, const struct tensor *t, const struct prim *prims, int n,
                      const struct layout **out, struct err *e)
{
    const struct layout *l = layout_identity(p, t);
    for (int i = 0; i < n; i++)
        if (!layout_apply(p, l, &prims[i], &l, e))
            return false;
    *out = l;
    return true;
}

const struct layout **layout_chain(const struct layout *l)
{
    const struct layout **chain = xcalloc((size_t)l->n_prims + 1, sizeof *chain);
    for (int i = l->n_prims; i >= 0; i--, l = l->prev)
        chain[i] = l;
    return chain;
}

int layout_dim(const struct layout *l, const char *name)
{
    for (int j = 0; j < l->rank; j++)
        if (strcaseeq(l->dim[j], name))
            return j;
    return -1;
}

void layout_strides(const struct layout *l, int64_t *stride)
{
    int64_t step = 1;
    for (int j = l->rank - 1; j >= 0; j--) {
        stride[j] = step;
        step *= l->shape[j];
    }
}

const struct expr *layout_flat(struct exprs *p, int rank, const int64_t *shape,
                               const struct expr *const *idx)
{
    const struct expr *sum = expr_const(p, 0);
    int64_t stride = 1;
    for (int j = rank - 1; j >= 0; j--) {
        sum = expr_add(p, expr_mulc(p, idx[j], stride), sum);
        stride *= shape[j];
    }
    return expr_simplify(p, sum);
}

void layout_print_dims(struct str *out, const struct layout *l)
{
    for (int j = 0; j < l->rank; j++)
        str_printf(out, "%s%s(%lld)", j ? " " : "", l->dim[j], (long long)l->shape[j]);
}

bool layout_next_point(int64_t *point, const int64_t *shape, int rank)
{
    for (int k = rank - 1; k >= 0; k--) {
        if (++point[k] < shape[k])
            return true;
        point[k] = 0;
    }
    return false;
}
