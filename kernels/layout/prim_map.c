/* The algebra of the primitives: rho (logical to physical) and phi (physical to logical)
 * (SPEC A.1 to A.6; ALT Table 1 with ERR-1 and ERR-2 corrected).
 *
 * k is the primitive's dim, N_k its extent, F_{a->b} = F_a * ... * F_b.
 *
 *     split    rho  i_k -> (i_k / F_{2->m}, ..., i_k / F_m mod F_{m-1}, i_k mod F_m)
 *              phi  sum_j f_j * F_{j+1->m}                                where < N_k
 *     reorder  rho  j-th index = i_perm(j)            phi  i_perm(j) = q_j
 *     fuse     rho  sum_j i_{k+j} * N_{k+j+1->k+m}    phi  the mixed-radix digits
 *     unfold   rho  t = min(i / S, n-1), b = i - S*t  phi  S*t + b           where < D
 *     fold     rho  S*t + b                           phi  unfold's rho
 *     pad      rho  i + before                        phi  q - before        where 0 <= . < N_k
 *     unpad    rho  i - before                        phi  q + before */
#include "kernels/layout/layout_impl.h"
#include "kernels/ir/simplify.h"

/* Builds (e / by) % size, without the / if by is 1, and without the % if size is 0. */
static const struct expr *digit(struct exprs *p, const struct expr *e, int64_t by, int64_t size)
{
    if (by > 1)
        e = expr_divc(p, e, by);
    return size ? expr_modc(p, e, size) : e;
}

/* Computes the digits of e in the mixed radix size[0..n), outermost first; the outermost digit is
 * the rest. */
static void digits(struct exprs *p, const struct expr *e, const int64_t *size, int n,
                   const struct expr **out)
{
    int64_t by = 1;
    for (int j = n - 1; j >= 0; j--) {
        out[j] = digit(p, e, by, j ? size[j] : 0);
        by *= size[j];
    }
}

/* Builds the number that has these digits: the sum of in[j] * size[j+1] * ... */
static const struct expr *from_digits(struct exprs *p, const struct expr *const *in,
                                      const int64_t *size, int n)
{
    const struct expr *sum = in[n - 1];
    int64_t by = size[n - 1];
    for (int j = n - 2; j >= 0; j--) {
        sum = expr_add(p, expr_mulc(p, in[j], by), sum);
        by *= size[j];
    }
    return sum;
}

/* Computes the canonical place of position e in n tiles that begin every S positions:
 * t = min(e / S, n-1), b = e - S*t. */
static void tile_of(struct exprs *p, const struct expr *e, int64_t stride, int64_t n,
                    const struct expr **out)
{
    const struct expr *t = expr_divc(p, e, stride);
    if (e->hi < stride * n) {
        out[0] = t;
        out[1] = expr_modc(p, e, stride);
        return;
    }
    out[0] = expr_min(p, t, expr_const(p, n - 1));
    out[1] = expr_sub(p, e, expr_mulc(p, out[0], stride));
}

/* Does the same as tile_of, but with b = max(e % S, e - S*(n-1)), whose bounds are tighter. */
static void sharp_tile_of(struct exprs *p, const struct expr *e, int64_t stride, int64_t n,
                          const struct expr **out)
{
    tile_of(p, e, stride, n, out);
    if (e->hi >= stride * n) {
        const struct expr *inner = expr_modc(p, e, stride);
        out[1] = expr_max(p, inner, expr_addc(p, e, -stride * (n - 1)));
    }
    out[0] = expr_simplify(p, out[0]);
    out[1] = expr_simplify(p, out[1]);
}

static const struct expr *tile_position(struct exprs *p, const struct expr *const *in,
                                        int64_t stride)
{
    return expr_add(p, expr_mulc(p, in[0], stride), in[1]);
}

/* Builds S*t + b, where t and b are in[0] and in[1].  If sharp_tile_of made them from some position
 * e, and b is a max, returns e itself. */
static const struct expr *untile(struct exprs *p, const struct expr *const *in, int64_t stride,
                                 int64_t n)
{
    const struct expr *last[2] = { in[1]->a, in[1]->b }, *pair[2];
    for (int j = 0; in[1]->kind == EXPR_MAX && j < 2; j++) {
        const struct expr *e = expr_simplify(p, expr_addc(p, last[j], stride * (n - 1)));
        sharp_tile_of(p, e, stride, n, pair);
        if (pair[0] == in[0] && pair[1] == in[1])
            return e;
    }
    return tile_position(p, in, stride);
}

static int64_t used_tiles(const struct prim *pr, const struct layout *before)
{
    return prim_tiles(pr->size ? pr->size : before->shape[pr->dim], pr->tile, pr->stride);
}

/* Returns how many dims, from its dim on, a primitive replaces.  The other dims are copied. */
static int dims_in(const struct prim *pr)
{
    return pr->kind == PRIM_FUSE ? pr->n : pr->kind == PRIM_FOLD ? 2 : 1;
}

static int dims_out(const struct prim *pr)
{
    return pr->kind == PRIM_SPLIT ? pr->n : pr->kind == PRIM_UNFOLD ? 2 : 1;
}

static void copy_exprs(const struct expr **to, const struct expr *const *from, int n)
{
    for (int j = 0; j < n; j++)
        to[j] = from[j];
}

void prim_rho(struct exprs *p, const struct prim *pr, const struct layout *before,
              const struct expr *const *in, const struct expr **out)
{
    const int k = pr->dim, n_in = dims_in(pr), n_out = dims_out(pr), rank = before->rank;
    if (pr->kind == PRIM_REORDER) {
        for (int j = 0; j < rank; j++)
            out[j] = expr_simplify(p, in[pr->perm[j]]);
        return;
    }
    copy_exprs(out, in, k);
    copy_exprs(out + k + n_out, in + k + n_in, rank - k - n_in);
    switch (pr->kind) {
    case PRIM_SPLIT: digits(p, in[k], pr->factor, pr->n, out + k); break;
    case PRIM_FUSE: out[k] = from_digits(p, in + k, before->shape + k, pr->n); break;
    case PRIM_UNFOLD: sharp_tile_of(p, in[k], pr->stride, used_tiles(pr, before), out + k); break;
    case PRIM_FOLD: out[k] = untile(p, in + k, pr->stride, before->shape[k]); break;
    case PRIM_PAD: out[k] = expr_addc(p, in[k], pr->before); break;
    case PRIM_UNPAD: out[k] = expr_addc(p, in[k], -pr->before); break;
    case PRIM_REORDER:
    default: UNREACHABLE();
    }
    for (int j = k; j < k + n_out; j++)
        out[j] = expr_simplify(p, out[j]);
}

/* Builds lo <= e < hi without the parts that the bounds of e imply. NULL: they imply both. */
static const struct expr *inside(struct exprs *p, const struct expr *e, int64_t lo, int64_t hi)
{
    const struct expr *above = e->lo < lo ? expr_ge(p, e, expr_const(p, lo)) : NULL;
    const struct expr *below = e->hi >= hi ? expr_lt(p, e, expr_const(p, hi)) : NULL;
    return above && below ? expr_and(p, above, below) : above ? above : below;
}

void prim_phi(struct exprs *p, const struct prim *pr, const struct layout *before,
              const struct expr *const *in, const struct expr **out, const struct expr **guard)
{
    const int k = pr->dim, n_in = dims_in(pr), n_out = dims_out(pr), rank = before->rank;
    *guard = NULL;
    if (pr->kind == PRIM_REORDER) {
        for (int j = 0; j < rank; j++)
            out[pr->perm[j]] = in[j];
        return;
    }
    copy_exprs(out, in, k);
    copy_exprs(out + k + n_in, in + k + n_out, rank - k - n_in);
    switch (pr->kind) {
    case PRIM_SPLIT: out[k] = from_digits(p, in + k, pr->factor, pr->n); break;
    case PRIM_FUSE: digits(p, in[k], before->shape + k, pr->n, out + k); break;
    case PRIM_UNFOLD: out[k] = tile_position(p, in + k, pr->stride); break;
    case PRIM_FOLD: tile_of(p, in[k], pr->stride, before->shape[k], out + k); break;
    case PRIM_PAD: out[k] = expr_addc(p, in[k], -pr->before); break;
    case PRIM_UNPAD: out[k] = expr_addc(p, in[k], pr->before); break;
    case PRIM_REORDER:
    default: UNREACHABLE();
    }
    if (pr->kind == PRIM_SPLIT || pr->kind == PRIM_UNFOLD || pr->kind == PRIM_PAD)
        *guard = inside(p, out[k], 0, before->shape[k]);
}
