/* Transposed convolutions as gathers (conv.h): every output element sums the inputs that reach it,
 * so that the loops are those of an ordinary convolution.  A tap k contributes only where
 * (x + d*k + b) % s == 0. */
#include "kernels/ops/conv.h"
#include "kernels/ir/simplify.h"

static int64_t ceil_div(int64_t x, int64_t y)
{
    return x / y + (x % y > 0);
}

/* Returns the number of zeros that the input needs on one side, where q = d*(K - 1) - p.  It is 0
 * when the padding removes more than the kernel reaches. */
static int64_t zeros(int64_t q, int64_t stride)
{
    int64_t n = ceil_div(q, stride);
    return n > 0 ? n : 0;
}

/* Sets the error that two different paddings remove all of the output.  The larger padding comes
 * first in the text, so that the error points at its parameter. */
static void removed_by_sides(const struct window *w, struct err *e)
{
    int large = w->after > w->before;
    err_set(e, ERR_RANGE, "p%s%d=%lld and p%s%d=%lld remove all %s of the output", w->letter, large,
            (long long)(large ? w->after : w->before), w->letter, !large,
            (long long)(large ? w->before : w->after), w->what);
}

/* Computes the output size of one axis and the zeros around its input, and sets *shift to the b of
 * conv.h. */
static bool side_of(const struct op_family *f, const int64_t *v, struct window *w, int64_t *shift,
                    struct err *e)
{
    int64_t reach = w->dilation * (w->k - 1), more, most;
    int op = window_row(f, v, "op", w), pad = window_row(f, v, "p", w);
    more = param_is_set(v[op]) ? v[op] : 0;
    most = w->stride > w->dilation ? w->stride : w->dilation;
    if (more >= most) {
        err_set(e, ERR_RANGE, "%s=%lld is not below %lld, the larger of the stride and the "
                "dilation of the %s", f->params[op].name, (long long)more, (long long)most,
                w->what);
        return err_fix(e, "use at most %s=%lld", f->params[op].name, (long long)most - 1);
    }
    w->out = (w->in - 1) * w->stride - w->before - w->after + reach + 1 + more;
    if (w->out < 1) {
        if (w->before == w->after)
            err_set(e, ERR_RANGE, "%s=%lld removes all %s of the output", f->params[pad].name,
                    (long long)w->before, w->what);
        else
            removed_by_sides(w, e);
        return err_fix(e, "pad less: at most %lld %s in all",
                       (long long)(w->out - 1 + w->before + w->after), w->what);
    }
    int64_t last = (reach - w->after + more) / w->stride;
    int64_t after = zeros(reach - w->after, w->stride);
    w->zeros[0] = zeros(reach - w->before, w->stride);
    w->zeros[1] = last > after ? last : after;
    *shift = w->zeros[0] * w->stride - (reach - w->before);
    return true;
}

/* Counts a multiply-add for every input element and tap, as in the scatter form.  Taps whose
 * results the padding removes are counted, too. */
static double count_flops(const struct graph *g, const struct conv *c)
{
    double macs = (double)g->tensor[c->inp].shape[0] * (double)tensor_elems(&g->tensor[c->ker]);
    for (int i = 0; i < c->n_axes; i++)
        macs *= (double)c->w[i].in;
    return 2 * macs;
}

/* Sets the body of the node to the gather form. */
static void gather(struct graph *g, const struct conv *c, const int64_t *shift, struct node *n)
{
    struct exprs *p = g->pool;
    const struct expr *at_inp[MAX_RANK], *at_ker[MAX_RANK], *cond = expr_const(p, 1);
    at_inp[0] = n->spatial[0];
    at_inp[1] = at_ker[0] = node_reduce(g, n, "I", g->tensor[c->inp].shape[1]);
    at_ker[1] = n->spatial[1];
    for (int i = 0; i < c->n_axes; i++) {
        const struct window *w = &c->w[i];
        const struct expr *k = node_reduce(g, n, w->k_dim, w->k);
        const struct expr *x = expr_add(p, n->spatial[2 + i], expr_mulc(p, k, w->dilation));
        x = expr_addc(p, x, shift[i]);
        n->params.before[i] = w->before;
        at_inp[2 + i] = expr_divc(p, x, w->stride);
        at_ker[2 + i] = expr_sub(p, expr_const(p, w->k - 1), k);
        cond = expr_and(p, cond, expr_eq(p, expr_modc(p, x, w->stride), expr_const(p, 0)));
    }
    n->body = build_product(g, c->inp, at_inp, c->ker, at_ker);
    cond = expr_simplify(p, cond);
    if (!expr_is_const(cond, 1))
        n->body = val_select(exprs_arena(p), cond, n->body, num(g, 0));
}

bool transposed_build(struct graph *g, const struct op_family *f, const int64_t *v, struct err *e)
{
    static const char *const dims[] = { "I", "O" };
    const int64_t shape[] = { param_value(f, v, "i", 1), param_value(f, v, "o", 1) };
    struct conv c = { .f = f };
    int64_t shift[MAX_AXES];
    c.n_axes = windows_read(f, v, c.w);
    for (int i = 0; i < c.n_axes; i++)
        if (!side_of(f, v, &c.w[i], &shift[i], e))
            return false;
    struct node n = conv_node(g, &c, v, "t",
                              &(struct tensor_def){ .rank = 2, .dims = dims, .shape = shape });
    gather(g, &c, shift, &n);
    n.flops = count_flops(g, &c);
    graph_add_node(g, &n);
    finish_with(g, n.out, 1, f, v);
    return true;
}
