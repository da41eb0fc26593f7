/* Builds pooling: the largest element or the mean of windows, or of whole images.  With padding, a
 * pad node writes Inp: it surrounds the caller's Inp_in with -inf for maxima, with 0 for means. */
#include "kernels/ops/window.h"

#include <math.h>

#include "kernels/ir/simplify.h"

/* Pooling by windows over the last n_axes dims of x, which is already padded. */
struct pool { int x, n_axes; const struct window *w; };

/* Builds the sum of x * scale over each window, or the maximum of x * scale. */
static int window_node(struct graph *g, const struct pool *p, bool max, const char *out,
                       double scale)
{
    const struct tensor t = g->tensor[p->x];
    const struct expr *idx[MAX_RANK];
    int lead = t.rank - p->n_axes;
    int64_t shape[MAX_RANK];
    for (int d = 0; d < t.rank; d++)
        shape[d] = d < lead ? t.shape[d] : p->w[d - lead].out;
    struct node n = { .op = max ? "maxpool" : "avgpool", .data_in = p->x,
                      .combine = max ? COMBINE_MAX : COMBINE_SUM, .init = max ? -INFINITY : 0 };
    windows_note(&n, p->n_axes, p->w);
    node_spatial(g, &n, build_reshaped(g, p->x, out, shape));
    for (int d = 0; d < t.rank; d++) {
        const struct window *w = &p->w[d - lead];
        idx[d] = d < lead ? n.spatial[d]
                          : window_at(g, w, n.spatial[d], node_reduce(g, &n, w->k_dim, w->k));
    }
    n.body = graph_load_at(g, p->x, idx);
    if (scale != 1)
        n.body = bin(g, VAL_MUL, n.body, num(g, scale));
    g->main_node = graph_add_node(g, &n);
    return n.out;
}

/* Builds Count[h][w]: how many elements of a window are not padding. */
static int count_node(struct graph *g, int n_axes, const struct window *w)
{
    struct exprs *p = g->pool;
    const char *dims[MAX_RANK];
    int64_t shape[MAX_RANK];
    struct node n = { .op = "count", .combine = COMBINE_SUM, .data_in = -1 };
    for (int d = 0; d < n_axes; d++) {
        dims[d] = w[d].dim;
        shape[d] = w[d].out;
    }
    node_spatial(g, &n, graph_add_tensor(g, &(struct tensor_def){ "Count", n_axes, dims, shape,
                                                                  TENSOR_INTER }));
    const struct expr *inside = expr_const(p, 1);
    for (int d = 0; d < n_axes; d++) {
        const struct expr *k = node_reduce(g, &n, w[d].k_dim, w[d].k);
        const struct expr *at = window_at(g, &w[d], n.spatial[d], k);
        inside = expr_and(p, inside, expr_ge(p, at, expr_const(p, w[d].before)));
        inside = expr_and(p, inside, expr_lt(p, at, expr_const(p, w[d].before + w[d].in)));
    }
    n.body = val_select(exprs_arena(p), expr_simplify(p, inside), num(g, 1), num(g, 0));
    graph_add_node(g, &n);
    return n.out;
}

/* Builds the mean of windows.  Without count_pad it is PoolSum / Count. */
static int mean_node(struct graph *g, const struct pool *p, bool count_pad, struct err *e)
{
    double elems = 1;
    for (int i = 0; i < p->n_axes; i++)
        elems *= (double)p->w[i].k;
    if (count_pad)
        return window_node(g, p, false, "AvgPool", 1 / elems);
    /* Count is computed first: nothing then stands between PoolSum and the division, so that the
     * division can join the loops of PoolSum */
    int count = count_node(g, p->n_axes, p->w);
    const int xy[] = { window_node(g, p, false, "PoolSum", 1), count };
    return binary_node(g, xy, VAL_DIV, "divide", "AvgPool", e);
}

/* The families: windows over H and W, or all of H and W. */

/* Checks that every window contains at least one element of the input. */
static bool no_padding_alone(const struct op_family *f, const int64_t *v, const struct pool *p,
                             struct err *e)
{
    for (int i = 0; i < p->n_axes; i++) {
        const struct window *w = &p->w[i];
        int64_t most = w->before > w->after ? w->before : w->after;
        if (most < w->k)
            continue;
        err_set(e, ERR_RANGE, "%s=%lld: some windows of %lld %s would contain only padding",
                f->params[window_row(f, v, "p", w)].name, (long long)most, (long long)w->k,
                w->what);
        return err_fix(e, "use a padding smaller than the window");
    }
    return true;
}

static bool build_pool(struct graph *g, const struct op_family *f, const int64_t *v, struct err *e)
{
    struct window w[MAX_AXES];
    struct pool p = { .n_axes = windows_read(f, v, w), .w = w };
    bool max = f == &maxpool_family;
    if (!no_padding_alone(f, v, &p, e) || !windows_fit(f, v, p.n_axes, w, e))
        return false;
    p.x = window_input(g, f, v, p.n_axes, w, max ? -INFINITY : 0);
    graph_set_output(g, max ? window_node(g, &p, true, "MaxPool", 1)
                            : mean_node(g, &p, param_value(f, v, "count_pad", 1), e));
    return true;
}

#define ROWS_POOL \
    ROW_N, ROW_SIZE("c", "channels"), ROWS_HW, ROWS_K2, ROWS_S2(2), ROWS_P2

const struct op_family maxpool_family = {
    .name = "maxpool",
    .title = "largest element of windows",
    .example = "maxpool n=1 c=64 h=112 w=112 k=3 p=1",
    .help = "MaxPool[n][c][h][w] = max over kh, kw of Inp[n][c][sh*h + kh][sw*w + kw].  The stride "
            "is 2 unless given.  With padding a pad node writes Inp from the caller's Inp_in, "
            "with -inf around it.",
    .data_params = { "n", "c", "h", "w" },
    PARAMS(ROWS_POOL),
    .build = build_pool,
};

/* Sets count_pad to 1 where there is no padding, since it then makes no difference. */
static bool canonical_avg(const struct op_family *f, int64_t *v, struct err *e)
{
    (void)e;
    bool padded = param_value(f, v, "p", 0) != 0;
    static const char *const parts[] = { "ph", "pw", "ph0", "ph1", "pw0", "pw1" };
    for (int i = 0; i < COUNT_OF(parts); i++)
        padded = padded || param_value(f, v, parts[i], 0) != 0;
    if (!padded)
        v[param_row(f, "count_pad")] = 1;
    return true;
}

const struct op_family avgpool_family = {
    .name = "avgpool",
    .title = "mean of windows",
    .example = "avgpool n=1 c=64 h=56 w=56 k=2",
    .help = "AvgPool[n][c][h][w] = sum over kh, kw of Inp[n][c][sh*h + kh][sw*w + kw] / (kh*kw).  "
            "The stride is 2 unless given.  With padding a pad node writes Inp from the caller's "
            "Inp_in.  With count_pad=0 padding does not count: PoolSum / Count[h][w], where Count "
            "is the number of elements that a window sees.",
    .data_params = { "n", "c", "h", "w" },
    PARAMS(ROWS_POOL, { "count_pad", 1, 0, 1,
                        "1: the zeros around count as elements; 0: they do not", NULL }),
    .build = build_pool,
    .canonical = canonical_avg,
};

static const char *const global_words[] = { "mean", "max", NULL };

static bool build_global(struct graph *g, const struct op_family *f, const int64_t *v,
                         struct err *e)
{
    (void)e;
    struct reduction r = { .dims = ~0u << 2 /* all except N and C */, .out = "Pool",
                           .how = param_value(f, v, "f", 0) ? REDUCE_MAX : REDUCE_MEAN };
    graph_set_output(g, reduce_node(g, family_input(g, f, v), &r));
    return true;
}

const struct op_family gpool_family = {
    .name = "gpool",
    .title = "global pooling",
    .example = "gpool n=1 c=512 h=7 w=7",
    .help = "Pool[n][c] = mean over h, w of Inp[n][c][h][w] (and any dims that "
            "follow); with f=max the largest element.",
    .data_params = DATA_DIMS,
    PARAMS(ROWS_DIMS(OP_REQUIRED), { "f", 0, 0, 1, "how an image is reduced", global_words }),
    .build = build_global,
};
