/* store_at: stores a small constant as one more slice of a larger constant (SPEC A.7), so that a
 * column of weights and its bias share cache lines.  The layout of the enclosing tensor is padded
 * by one position, which holds the elements of the stored tensor. */
#include "kernels/layout/layout_impl.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/ir/simplify.h"

static bool misfit(const struct layout *holder, int dim, const struct tensor *src, struct err *e)
{
    struct str want = { 0 }, have = { 0 };
    for (int d = 0; d < holder->rank; d++)
        if (d != dim)
            str_printf(&want, "%s%lld", want.len ? " x " : "", (long long)holder->shape[d]);
    for (int d = 0; d < src->rank; d++)
        str_printf(&have, "%s%lld", d ? " x " : "", (long long)src->shape[d]);
    err_set(e, ERR_ATTACH, "%s (%s) does not have the shape of a slice of %s along %s, which is %s",
            src->name, str_text(&have), holder->tensor->name, holder->dim[dim], str_text(&want));
    str_free(&want);
    str_free(&have);
    return err_fix(e, "store it along the dimension that it does not have, before that tensor "
                      "is split");
}

bool layout_store_at(struct exprs *p, const struct layout *with_slice, int dim,
                     const struct tensor *src, const struct layout **out, struct err *e)
{
    const struct layout *h = with_slice;
    const struct layout *own = layout_identity(p, src);
    struct layout *l = ARENA_DUP(exprs_arena(p), h, 1);
    int next = 0;
    l->prev = NULL;
    l->n_prims = 0;
    l->prims = NULL;
    l->tensor = src;
    for (int k = 0; k < src->rank; k++) {
        l->stored[k] = src->shape[k];
        l->logical[k] = own->logical[k];
    }
    for (int d = 0; d < h->rank; d++) {
        bool mine = d != dim && next < src->rank && src->shape[next] == h->shape[d];
        if (d == dim)
            l->rho[d] = expr_const(p, h->shape[d] - 1);
        else if (mine) {
            l->phi[next] = h->phys[d];
            l->rho[d] = l->logical[next++];
        } else if (h->shape[d] == 1)
            l->rho[d] = expr_const(p, 0);
        else
            return misfit(h, dim, src, e);
    }
    if (next < src->rank)
        return misfit(h, dim, src, e);
    l->guard = expr_simplify(p, expr_eq(p, h->phys[dim], expr_const(p, h->shape[dim] - 1)));
    l->klass = LAYOUT_PADDED;
    l->advanced = true;
    l->expansion = 1;
    *out = l;
    return true;
}

/* Prints the indices that all stored elements share. Later steps may have split the dim of the
 * slice, so there may be several. */
void layout_say_stored(struct str *out, const struct layout *l)
{
    size_t start = out->len;
    for (int d = 0; d < l->rank; d++)
        if (l->rho[d]->kind == EXPR_CONST && l->shape[d] > 1)
            str_printf(out, "%s%s=%lld", out->len > start ? " " : "", l->dim[d],
                       (long long)l->rho[d]->value);
    str_printf(out, "%s holds %s", out->len > start ? "" : "a part", l->tensor->name);
}

void layout_place(struct exprs *p, const struct layout *l, const void *logical, void *phys)
{
    int64_t *vals = xcalloc((size_t)exprs_n_vars(p) + 1, sizeof *vals);
    int64_t point[MAX_RANK] = { 0 };
    const size_t bytes = (size_t)l->tensor->type->bytes;
    const char *from = logical;
    do {
        int64_t flat = 0;
        for (int k = 0; k < l->tensor->rank; k++)
            vals[l->logical[k]->var] = point[k];
        for (int d = 0; d < l->rank; d++)
            flat = flat * l->shape[d] + expr_eval(l->rho[d], vals);
        memcpy((char *)phys + flat * (int64_t)bytes, from, bytes);
        from += bytes;
    } while (layout_next_point(point, l->tensor->shape, l->tensor->rank));
    free(vals);
}
