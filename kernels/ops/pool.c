/* Pooling: the largest element or the mean of windows, or of whole images.  A pad node in front
 * writes Inp from the caller's Inp_in, with -inf around it for maxima and 0 for means. */
#include "kernels/ops/window.h"

#include <math.h>

#include "kernels/ir/simplify.h"

/* Sets up the node over windows of x: its output and reductions. idx gets the indices of x. */
static void window_node(struct graph *g, struct node *n, int x, const char *out, int n_axes,
                        const struct window *w, const struct expr **idx)
{
    const struct tensor t = g->tensor[x];
    int lead = t.rank - n_axes;
    int64_t shape[MAX_RANK];
    for (int d = 0; d < t.rank; d++)
        shape[d] = d < lead ? t.shape[d] : w[d - lead].out;
    n->data_in = x;
    windows_note(n, n_axes, w);
    node_spatial(g, n, graph_add_tensor(g, &(struct tensor_def){ out, t.rank, t.dim, shape,
                                                                 TENSOR_INTER }));
    for (int d = 0; d < t.rank; d++) {
        const struct window *a = &w[d - lead];
        idx[d] = d < lead ? n->spatial[d]
                          : window_at(g, a, n->spatial[d], node_reduce(g, n, a->k_dim, a->k));
    }
}

int max_pool_node(struct graph *g, int x, int n_axes, const struct window *w)
{
    const struct expr *idx[MAX_RANK];
    struct node n = { .op = "maxpool", .combine = COMBINE_MAX, .init = -INFINITY };
    window_node(g, &n, x, "MaxPool", n_axes, w, idx);
    n.body = graph_load_at(g, x, idx);
    g->main_node = graph_add_node(g, &n);
    return n.out;
}

static int sum_node(struct graph *g, int x, const char *out, int n_axes, const struct window *w,
                    double scale)
{
    struct arena *a = exprs_arena(g->pool);
    const struct expr *idx[MAX_RANK];
    struct node n = { .op = "avgpool", .combine = COMBINE_SUM };
    window_node(g, &n, x, out, n_axes, w, idx);
    n.body = graph_load_at(g, x, idx);
    if (scale != 1)
        n.body = val_bin(a, VAL_MUL, n.body, val_const(a, scale));
    g->main_node = graph_add_node(g, &n);
    return n.out;
}

/* Count[h][w]: how many elements of a window are no padding. */
static int count_node(struct graph *g, int n_axes, const struct window *w)
{
    struct exprs *p = g->pool;
    struct arena *a = exprs_arena(p);
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
    n.body = val_select(a, expr_simplify(p, inside), val_const(a, 1), val_const(a, 0));
    graph_add_node(g, &n);
    return n.out;
}

int avg_pool_node(struct graph *g, int x, int n_axes, const struct window *w, bool count_pad)
{
    double elems = 1;
    for (int i = 0; i < n_axes; i++)
        elems *= (double)w[i].k;
    if (count_pad)
        return sum_node(g, x, "AvgPool", n_axes, w, 1 / elems);
    /* created first, so that the division can follow the loops of the sum */
    int count = count_node(g, n_axes, w);
    int sum = sum_node(g, x, "PoolSum", n_axes, w, 1);
    return binary_node(g, sum, count, VAL_DIV, "divide", "AvgPool");
}

/* The families: windows over H and W, or all of H and W. */

#define N_AXES 2

/* Reads the sizes and adds the data. Every window must contain at least one element. */
static bool read_pool(struct graph *g, const struct op_family *f, const int64_t *v, double value,
                      struct window *w, int *x, struct err *e)
{
    int64_t before[N_AXES], after[N_AXES];
    windows_read(f, v, N_AXES, w);
    for (int i = 0; i < N_AXES; i++) {
        int64_t most = w[i].before > w[i].after ? w[i].before : w[i].after;
        before[i] = w[i].before;
        after[i] = w[i].after;
        if (most < w[i].k)
            continue;
        err_set(e, ERR_RANGE, "%s=%lld: some windows of %lld %s would contain only padding",
                f->params[window_row(f, v, "p", &w[i])].name, (long long)most,
                (long long)w[i].k, w[i].what);
        return err_fix(e, "use a padding smaller than the window");
    }
    if (!windows_fit(f, v, N_AXES, w, e))
        return false;
    struct window_data data = { param_value(f, v, "n", 1), param_value(f, v, "c", 1), "C", value };
    *x = window_input(g, &data, N_AXES, w, before, after);
    return true;
}

#define ROWS_POOL \
    ROW_N, ROW_SIZE("c", "channels"), ROWS_HW, ROWS_K2, ROWS_S2(2), ROWS_P2

static const char *const data_params[] = { "n", "c", "h", "w", NULL };
static const struct op_param params_max[] = { ROWS_POOL };

static bool canonical_max(int64_t *v, struct err *e)
{
    return window_canonical(&maxpool_family, v, e);
}

static bool build_max(struct graph *g, const int64_t *v, struct err *e)
{
    struct window w[N_AXES];
    int x;
    if (!read_pool(g, &maxpool_family, v, -INFINITY, w, &x, e))
        return false;
    graph_set_output(g, max_pool_node(g, x, N_AXES, w));
    return true;
}

const struct op_family maxpool_family = {
    .name = "maxpool",
    .title = "largest element of windows",
    .example = "maxpool n=1 c=64 h=112 w=112 k=3 p=1",
    .data_params = data_params,
    .help = "MaxPool[n][c][h][w] = max over kh, kw of Inp[n][c][sh*h + kh][sw*w + kw].  The stride "
            "is 2 unless given.  With padding a pad node writes Inp from the caller's Inp_in, "
            "with -inf around it.",
    .n_params = COUNT_OF(params_max),
    .params = params_max,
    .build = build_max,
    .canonical = canonical_max,
};

static const struct op_param params_avg[] = {
    ROWS_POOL,
    { "count_pad", 1, 0, 1, "1: the zeros around count as elements; 0: they do not", NULL },
};

/* Without padding, count_pad makes no difference. */
static bool canonical_avg(int64_t *v, struct err *e)
{
    const struct op_family *f = &avgpool_family;
    if (!window_canonical(f, v, e))
        return false;
    bool padded = param_value(f, v, "p", 0) != 0;
    static const char *const parts[] = { "ph", "pw", "ph0", "ph1", "pw0", "pw1" };
    for (int i = 0; i < COUNT_OF(parts); i++)
        padded = padded || param_value(f, v, parts[i], 0) != 0;
    if (!padded)
        v[param_row(f, "count_pad")] = 1;
    return true;
}

static bool build_avg(struct graph *g, const int64_t *v, struct err *e)
{
    struct window w[N_AXES];
    int x;
    if (!read_pool(g, &avgpool_family, v, 0, w, &x, e))
        return false;
    bool count_pad = param_value(&avgpool_family, v, "count_pad", 1);
    graph_set_output(g, avg_pool_node(g, x, N_AXES, w, count_pad));
    return true;
}

const struct op_family avgpool_family = {
    .name = "avgpool",
    .title = "mean of windows",
    .example = "avgpool n=1 c=64 h=56 w=56 k=2",
    .data_params = data_params,
    .help = "AvgPool[n][c][h][w] = sum over kh, kw of Inp[n][c][sh*h + kh][sw*w + kw] / (kh*kw).  "
            "The stride is 2 unless given.  With padding a pad node writes Inp from the caller's "
            "Inp_in.  With count_pad=0 padding does not count: PoolSum / Count[h][w], where Count "
            "is the number of elements that a window sees.",
    .n_params = COUNT_OF(params_avg),
    .params = params_avg,
    .build = build_avg,
    .canonical = canonical_avg,
};

static const char *const global_words[] = { "mean", "max", NULL };
static const struct op_param params_global[] = {
    ROWS_DIMS(OP_REQUIRED), { "f", 0, 0, 1, "what is made of an image", global_words },
};

static bool canonical_global(int64_t *v, struct err *e)
{
    return dims_canonical(&gpool_family, v, e);
}

static bool build_global(struct graph *g, const int64_t *v, struct err *e)
{
    (void)e;
    bool max = param_value(&gpool_family, v, "f", 0);
    int x = dims_input(g, &gpool_family, v);
    unsigned image = ~0u << 2;            /* all dims except N and C */
    graph_set_output(g, reduce_node(g, x, image, max ? REDUCE_MAX : REDUCE_MEAN, "Pool"));
    return true;
}

const struct op_family gpool_family = {
    .name = "gpool",
    .title = "global pooling",
    .example = "gpool n=1 c=512 h=7 w=7",
    .data_params = dims_params,
    .help = "Pool[n][c] = mean over h, w of Inp[n][c][h][w] (and any dims that "
            "follow); with f=max the largest element.",
    .n_params = COUNT_OF(params_global),
    .params = params_global,
    .build = build_global,
    .canonical = canonical_global,
};
