/* Accesses through a layout: rho applied to arbitrary index expressions (SPEC B step 3).
 *
 * For unfolded dims, this generalises formula (1) of ALT 4.1.2.  An access e = P + R reads a
 * window: P has no reduction variables and says where the window is; R >= r_min moves inside the
 * window.  The whole window is in the tile of its first element W = P + r_min when
 *
 *     t = W / S,   b = (W mod S) + (R - r_min)        (S*t + b = e)
 *
 * are in range at all points: 0 <= b <= B-1 and 0 <= t <= n-1.  (b >= 0 always holds.)  Let g be
 * the common divisor of S and the coefficients of W, and W_0 the constant of W: then W mod S is at
 * most S - g + (W_0 mod g).  So an access V*i + r with a window of M elements fits whenever
 * B >= S - gcd(V, S) + M.  In the paper's case, S = V*P_w (SPEC ERR-5), W / S is i / P_w.  If the
 * window does not fit, the canonical map is used: t = min(e / S, n-1), b = e - S*t. */
#include "kernels/layout/layout_impl.h"
#include "kernels/ir/simplify.h"
#include <stdlib.h>

struct rewrite_window {
    const struct expr *start;             /* W, the first element */
    const struct expr *inside;            /* R - r_min, the position inside the window */
    int64_t divisor, rest;                /* divisor: gcd of the coefficients of W; rest: W_0 */
};

static bool uses_any(const struct expr *e, const struct expr *const *vars, int n)
{
    for (int i = 0; i < n; i++)
        if (expr_uses(e, vars[i]))
            return true;
    return false;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

static struct rewrite_window find_window(struct exprs *p, const struct expr *e,
                                         const struct expr *const *reduce, int n_reduce)
{
    const struct expr_linear sum = expr_linear(p, e);
    struct rewrite_window w = { .divisor = 0 };
    const struct expr *inside = expr_const(p, 0), *start = expr_const(p, 0);
    for (int i = 0; i < sum.n; i++) {
        const struct expr *term = expr_mulc(p, sum.term[i], sum.coef[i]);
        if (uses_any(sum.term[i], reduce, n_reduce)) {
            inside = expr_add(p, inside, term);
        } else {
            start = expr_add(p, start, term);
            w.divisor = common_divisor(w.divisor, sum.coef[i]);
        }
    }
    inside = expr_simplify(p, inside);
    w.rest = sum.rest + inside->lo;
    w.start = expr_simplify(p, expr_addc(p, start, w.rest));
    w.inside = expr_simplify(p, expr_addc(p, inside, -inside->lo));
    return w;
}

/* Returns an upper bound of W mod S, from the common divisor of S and the coefficients of W. */
static int64_t max_residue(const struct rewrite_window *w, int64_t stride)
{
    const int64_t g = common_divisor(w->divisor, stride);
    const int64_t rest = w->rest % g;
    return stride - g + (rest < 0 ? rest + g : rest);
}

/* Computes tile and offset by formula (1).  Returns false, and leaves `out` alone, when the bounds
 * do not prove that both are in range. */
static bool aligned_tile(struct exprs *p, const struct rewrite_window *w, int64_t tile,
                         int64_t stride, int64_t n, const struct expr **out)
{
    const struct expr *t = expr_simplify(p, expr_divc(p, w->start, stride));
    const struct expr *residue = expr_simplify(p, expr_modc(p, w->start, stride));
    const int64_t by_divisor = max_residue(w, stride);
    const int64_t most = residue->hi < by_divisor ? residue->hi : by_divisor;
    if (t->lo < 0 || t->hi >= n || most + w->inside->hi >= tile)
        return false;
    out[0] = t;
    out[1] = expr_simplify(p, expr_add(p, residue, w->inside));
    return true;
}

static void rewrite_prim(struct exprs *p, const struct layout *before, const struct layout *after,
                         const struct expr *const *reduce, int n_reduce,
                         const struct expr *const *in, const struct expr **out)
{
    const struct prim *pr = &after->prims[after->n_prims - 1];
    prim_rho(p, pr, before, in, out);
    if (pr->kind != PRIM_UNFOLD)
        return;
    const struct rewrite_window w = find_window(p, in[pr->dim], reduce, n_reduce);
    aligned_tile(p, &w, pr->tile, pr->stride, after->shape[pr->dim], out + pr->dim);
}

void layout_rewrite(struct exprs *p, const struct layout *l, const struct expr *const *idx,
                    const struct expr *const *reduce, int n_reduce, const struct expr **out)
{
    const struct layout **chain = layout_chain(l);
    const struct expr *at[2][MAX_DIMS] = { { NULL } };
    int now = 0;
    for (int k = 0; k < l->tensor->rank; k++)
        at[0][k] = expr_simplify(p, idx[k]);
    for (int i = 0; i < l->n_prims; i++, now = 1 - now)
        rewrite_prim(p, chain[i], chain[i + 1], reduce, n_reduce, at[now], at[1 - now]);
    for (int j = 0; j < l->rank; j++)
        out[j] = at[now][j];
    free(chain);
}

/* Refuses an access of logical dim k up to index `most`.  The error names the unfold that trimmed
 * the dim, and the size that the access needs. */
static bool refuse_trimmed(const struct layout *l, int k, int64_t most, struct err *e)
{
    const struct layout *m = l;
    while (m->prev && m->prev->stored[k] == l->stored[k])
        m = m->prev;
    const struct prim *pr = &m->prims[m->n_prims - 1];
    err_set(e, ERR_UNFOLD, "%s is read at %s = %lld, but primitive %d (unfold %s) with size=%lld "
            "stores only %lld of %lld",
            l->tensor->name, l->tensor->dim[k], (long long)most, m->n_prims, m->prev->dim[pr->dim],
            (long long)pr->size, (long long)l->stored[k], (long long)l->tensor->shape[k]);
    const int64_t shift = m->prev->rho[pr->dim]->lo;
    return err_fix(e, "unfold with size=%lld or more", (long long)(most + shift + 1));
}

bool layout_covers(const struct layout *l, const struct expr *const *idx, struct err *e)
{
    for (int k = 0; k < l->tensor->rank; k++)
        if (l->stored[k] < l->tensor->shape[k] && idx[k]->hi >= l->stored[k])
            return refuse_trimmed(l, k, idx[k]->hi, e);
    return true;
}
