/* Transposed convolutions as gathers (conv.h): every output element sums the inputs that reach
 * it, so that the loops are those of an ordinary convolution.  Only taps that pass the test (x +
 * d*k + b) % s == 0 contribute. */
#include "kernels/ops/conv.h"
#include "kernels/ir/simplify.h"

/* Zeros around the input, and the offset b. */
struct gather { int64_t before, after, shift; };

static int64_t ceil_div(int64_t x, int64_t y)
{
    return x / y + (x % y > 0);
}

/* Returns the zeros for q = d*(K - 1) - p: none when the padding removes more than the kernel
 * reaches. */
static int64_t zeros(int64_t q, int64_t stride)
{
    int64_t n = ceil_div(q, stride);
    return n > 0 ? n : 0;
}

static bool side_of(const struct conv *c, const int64_t *v, struct window *w, struct gather *s,
                    struct err *e)
{
    int64_t reach = w->dilation * (w->k - 1), more, most;
    int op = window_row(c->family, v, "op", w), pad = window_row(c->family, v, "p", w);
    more = param_is_set(v[op]) ? v[op] : 0;
    most = w->stride > w->dilation ? w->stride : w->dilation;
    if (more >= most) {
        err_set(e, ERR_RANGE, "%s=%lld is not below the stride or the dilation (%lld) of the %s",
                c->family->params[op].name, (long long)more, (long long)most, w->what);
        return err_fix(e, "use at most %s=%lld", c->family->params[op].name, (long long)most - 1);
    }
    w->out = (w->in - 1) * w->stride - w->before - w->after + reach + 1 + more;
    if (w->out < 1) {
        err_set(e, ERR_RANGE, "%s=%lld removes all %s of the output",
                c->family->params[pad].name, (long long)w->before, w->what);
        return err_fix(e, "pad less: at most %lld %s in all",
                       (long long)(w->out - 1 + w->before + w->after), w->what);
    }
    int64_t last = (reach - w->after + more) / w->stride;
    s->before = zeros(reach - w->before, w->stride);
    s->after = zeros(reach - w->after, w->stride);
    s->after = last > s->after ? last : s->after;
    s->shift = s->before * w->stride - (reach - w->before);
    return true;
}

static void add_tensors(struct graph *g, const struct conv *c, const int64_t *v, int inp,
                        const struct window *w, int *ker, int *out)
{
    const char *dims_ker[MAX_RANK] = { "I", "O" }, *dims_out[MAX_RANK] = { "N", "O" };
    int64_t o = param_value(c->family, v, "o", 1);
    int64_t shape_ker[MAX_RANK] = { g->tensor[inp].shape[1], o };
    int64_t shape_out[MAX_RANK] = { g->tensor[inp].shape[0], o };
    for (int i = 0; i < c->n_axes; i++) {
        dims_ker[2 + i] = w[i].k_dim;
        shape_ker[2 + i] = w[i].k;
        dims_out[2 + i] = w[i].dim;
        shape_out[2 + i] = w[i].out;
    }
    *ker = graph_add_tensor(g, &(struct tensor_def){ "Ker", 2 + c->n_axes, dims_ker, shape_ker,
                                                     TENSOR_CONST });
    *out = graph_add_tensor(g, &(struct tensor_def){ "Conv", 2 + c->n_axes, dims_out, shape_out,
                                                     TENSOR_INTER });
}

/* Counts a multiply-add for every input element and tap, as in the scatter form, including those
 * that padding cuts off. */
static double count_flops(const struct graph *g, int inp, int ker, const struct window *w, int n)
{
    double macs = (double)g->tensor[inp].shape[0] * (double)tensor_elems(&g->tensor[ker]);
    for (int i = 0; i < n; i++)
        macs *= (double)w[i].in;
    return 2 * macs;
}

static void gather_node(struct graph *g, const struct conv *c, const struct window *w,
                        const struct gather *s, int inp, int ker, int out)
{
    struct exprs *p = g->pool;
    struct arena *a = exprs_arena(p);
    struct node n = { .op = c->op, .combine = COMBINE_SUM, .complex = true, .data_in = inp };
    const struct expr *at_inp[MAX_RANK], *at_ker[MAX_RANK], *cond = expr_const(p, 1);
    node_spatial(g, &n, out);
    windows_note(&n, c->n_axes, w);
    at_inp[0] = n.spatial[0];
    at_inp[1] = at_ker[0] = node_reduce(g, &n, "I", g->tensor[inp].shape[1]);
    at_ker[1] = n.spatial[1];
    for (int i = 0; i < c->n_axes; i++) {
        const struct expr *k = node_reduce(g, &n, w[i].k_dim, w[i].k);
        const struct expr *x = expr_add(p, n.spatial[2 + i], expr_mulc(p, k, w[i].dilation));
        x = expr_addc(p, x, s[i].shift);
        n.params.before[i] = w[i].before;
        at_inp[2 + i] = expr_divc(p, x, w[i].stride);
        at_ker[2 + i] = expr_sub(p, expr_const(p, w[i].k - 1), k);
        cond = expr_and(p, cond, expr_eq(p, expr_modc(p, x, w[i].stride), expr_const(p, 0)));
    }
    n.body = val_bin(a, VAL_MUL, graph_load_at(g, inp, at_inp), graph_load_at(g, ker, at_ker));
    cond = expr_simplify(p, cond);
    if (!expr_is_const(cond, 1))
        n.body = val_select(a, cond, n.body, val_const(a, 0));
    n.flops = count_flops(g, inp, ker, w, c->n_axes);
    graph_add_node(g, &n);
}

bool transposed_build(struct graph *g, const struct conv *c, const int64_t *v, struct err *e)
{
    struct window w[MAX_AXES];
    struct gather s[MAX_AXES];
    int64_t before[MAX_AXES], after[MAX_AXES];
    int ker, out;
    windows_read(c->family, v, c->n_axes, w);
    for (int i = 0; i < c->n_axes; i++) {
        if (!side_of(c, v, &w[i], &s[i], e))
            return false;
        before[i] = s[i].before;
        after[i] = s[i].after;
    }
    struct window_data data = { param_value(c->family, v, "n", 1),
                                param_value(c->family, v, "i", 1), "I", 0 };
    int inp = window_input(g, &data, c->n_axes, w, before, after);
    add_tensors(g, c, v, inp, w, &ker, &out);
    gather_node(g, c, w, s, inp, ker, out);
    finish_with(g, out, 1, c->family, v);
    return true;
}
