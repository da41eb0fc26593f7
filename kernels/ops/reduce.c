/* Reductions over dims of one tensor, and the operators made of them: softmax, layer
 * normalisation. */
#include "kernels/ops/params.h"

#include <math.h>

/* ORDER REDUCE */
static const char *const reduce_words[] = { "sum", "max", "mean", NULL };
static const char *const reduce_names[] = { "Sum", "Max", "Mean" };

/* Returns x, or x / n for a mean over n elements. */
static const struct val *summand(struct arena *a, enum reduce how, const struct val *x, double n)
{
    return how == REDUCE_MEAN ? val_bin(a, VAL_MUL, x, val_const(a, 1 / n)) : x;
}

int reduce_node(struct graph *g, int x, unsigned dims, enum reduce how, const char *out)
{
    const struct tensor t = g->tensor[x];
    const char *dim[MAX_RANK];
    int64_t shape[MAX_RANK];
    int rank = 0, kept = 0;
    double n_reduced = 1;
    for (int d = 0; d < t.rank; d++)
        if (!(dims >> d & 1)) {
            dim[rank] = t.dim[d];
            shape[rank++] = t.shape[d];
        }
    struct node n = { .op = reduce_words[how], .data_in = x,
                      .combine = how == REDUCE_MAX ? COMBINE_MAX : COMBINE_SUM,
                      .init = how == REDUCE_MAX ? -INFINITY : 0 };
    struct tensor_def def = { out ? out : reduce_names[how], rank, dim, shape, TENSOR_INTER };
    node_spatial(g, &n, graph_add_tensor(g, &def));
    const struct expr *idx[MAX_RANK];
    for (int d = 0; d < t.rank; d++) {
        bool reduced = dims >> d & 1;
        idx[d] = reduced ? node_reduce(g, &n, t.dim[d], t.shape[d]) : n.spatial[kept++];
        n_reduced *= reduced ? (double)t.shape[d] : 1;
    }
    n.body = summand(exprs_arena(g->pool), how, graph_load_at(g, x, idx), n_reduced);
    graph_add_node(g, &n);
    return n.out;
}

/* out[..] = f(x[..], y[.. without the last dim]) */
static int with_rows(struct graph *g, struct node *n, int x, const char *out,
                     const struct val **at_x)
{
    n->data_in = x;
    node_spatial(g, n, tensor_like(g, x, out));
    *at_x = graph_load_at(g, x, n->spatial);
    return n->out;
}

int softmax_node(struct graph *g, int x)
{
    struct arena *a = exprs_arena(g->pool);
    unsigned last = 1u << (g->tensor[x].rank - 1);
    const struct val *at_x;
    int max = reduce_node(g, x, last, REDUCE_MAX, NULL);
    struct node e = { .op = "exp" };
    int exps = with_rows(g, &e, x, "Exp", &at_x);
    e.body = val_un(a, VAL_EXP, val_bin(a, VAL_SUB, at_x, graph_load_at(g, max, e.spatial)));
    graph_add_node(g, &e);
    int sum = reduce_node(g, exps, last, REDUCE_SUM, NULL);
    struct node n = { .op = "softmax" };
    with_rows(g, &n, exps, "Softmax", &at_x);
    n.body = val_bin(a, VAL_DIV, at_x, graph_load_at(g, sum, n.spatial));
    graph_add_node(g, &n);
    return n.out;
}

/* Var = mean of (x - Mean)^2 */
static int variance_node(struct graph *g, int x, int mean)
{
    struct arena *a = exprs_arena(g->pool);
    const struct tensor t = g->tensor[x], m = g->tensor[mean];
    struct node n = { .op = "mean", .combine = COMBINE_SUM, .data_in = x };
    struct tensor_def def = { "Var", m.rank, m.dim, m.shape, TENSOR_INTER };
    node_spatial(g, &n, graph_add_tensor(g, &def));
    const struct expr *idx[MAX_RANK];
    for (int d = 0; d < m.rank; d++)
        idx[d] = n.spatial[d];
    idx[m.rank] = node_reduce(g, &n, t.dim[m.rank], t.shape[m.rank]);
    const struct val *off = val_bin(a, VAL_SUB, graph_load_at(g, x, idx),
                                    graph_load_at(g, mean, n.spatial));
    n.body = summand(a, REDUCE_MEAN, val_bin(a, VAL_MUL, off, off), (double)t.shape[m.rank]);
    graph_add_node(g, &n);
    return n.out;
}

#define EPSILON 1e-5                      /* added to the variance (the usual value) */

int layer_norm_node(struct graph *g, int x)
{
    struct arena *a = exprs_arena(g->pool);
    const struct tensor t = g->tensor[x];
    int last = t.rank - 1;
    struct tensor_def gamma = { "Gamma", 1, &t.dim[last], &t.shape[last], TENSOR_CONST };
    struct tensor_def beta = { "Beta", 1, &t.dim[last], &t.shape[last], TENSOR_CONST };
    int scale = graph_add_tensor(g, &gamma), shift = graph_add_tensor(g, &beta);
    int mean = reduce_node(g, x, 1u << last, REDUCE_MEAN, NULL), var = variance_node(g, x, mean);
    const struct val *at_x;
    struct node n = { .op = "norm", .params.alpha = EPSILON };
    with_rows(g, &n, x, "LayerNorm", &at_x);
    const struct val *off = val_bin(a, VAL_SUB, at_x, graph_load_at(g, mean, n.spatial));
    const struct val *safe = val_bin(a, VAL_ADD, graph_load_at(g, var, n.spatial),
                                     val_const(a, EPSILON));
    const struct val *unit = val_bin(a, VAL_DIV, off, val_un(a, VAL_SQRT, safe));
    n.body = val_bin(a, VAL_ADD,
                     val_bin(a, VAL_MUL, unit, graph_load_at(g, scale, &n.spatial[last])),
                     graph_load_at(g, shift, &n.spatial[last]));
    graph_add_node(g, &n);
    return n.out;
}

/* The families: over the last of two to four dims. */

static bool canonical_reduce(int64_t *v, struct err *e)
{
    return lines_canonical(&reduce_family, v, e);
}

static bool build_reduce(struct graph *g, const int64_t *v, struct err *e)
{
    (void)e;
    int x = lines_input(g, &reduce_family, v);
    enum reduce how = (enum reduce)param_value(&reduce_family, v, "f", REDUCE_SUM);
    graph_set_output(g, reduce_node(g, x, 1u << (g->tensor[x].rank - 1), how, NULL));
    return true;
}

static const struct op_param params_reduce[] = {
    ROWS_LINES, { "f", REDUCE_SUM, 0, REDUCE_MEAN, "what is made of a row", reduce_words },
};

const struct op_family reduce_family = {
    .name = "reduce",
    .title = "reduction of rows",
    .example = "reduce m=512 n=512 f=max",
    .help = "Sum[m] = sum over n of Inp[m][n]; with f=max the largest element (Max), with f=mean "
            "the mean (Mean).  With k= (and l=) there are more dims, and the last one is reduced.",
    .n_params = COUNT_OF(params_reduce),
    .params = params_reduce,
    .build = build_reduce,
    .canonical = canonical_reduce,
    .data_params = lines_params,
};

static bool canonical_softmax(int64_t *v, struct err *e)
{
    return lines_canonical(&softmax_family, v, e);
}

static bool build_softmax(struct graph *g, const int64_t *v, struct err *e)
{
    (void)e;
    graph_set_output(g, softmax_node(g, lines_input(g, &softmax_family, v)));
    return true;
}

static const struct op_param params_rows[] = { ROWS_LINES };

const struct op_family softmax_family = {
    .name = "softmax",
    .title = "softmax of rows",
    .example = "softmax m=1536 n=128",
    .help = "Max[m] = max over n of Inp[m][n]; Exp[m][n] = exp(Inp[m][n] - Max[m]); Sum[m] = sum "
            "over n of Exp[m][n]; Softmax[m][n] = Exp[m][n] / Sum[m].  With Exp inlined, it has no "
            "memory and is computed twice.  With k= (and l=) there are more dims: softmax of the "
            "last one.",
    .n_params = COUNT_OF(params_rows),
    .params = params_rows,
    .build = build_softmax,
    .canonical = canonical_softmax,
    .data_params = lines_params,
};

static bool canonical_ln(int64_t *v, struct err *e)
{
    return lines_canonical(&ln_family, v, e);
}

static bool build_ln(struct graph *g, const int64_t *v, struct err *e)
{
    (void)e;
    graph_set_output(g, layer_norm_node(g, lines_input(g, &ln_family, v)));
    return true;
}

const struct op_family ln_family = {
    .name = "ln",
    .title = "layer normalisation of rows",
    .example = "ln m=128 n=768",
    .help = "Mean[m] = mean over n of Inp[m][n]; Var[m] = mean over n of (Inp[m][n] - Mean[m])^2; "
            "LayerNorm[m][n] = (Inp[m][n] - Mean[m]) / sqrt(Var[m] + 1e-5) * Gamma[n] + Beta[n].  "
            "Gamma and Beta (N) are constants.  With k= (and l=) there are more dims, and the last "
            "one is normalised.",
    .n_params = COUNT_OF(params_rows),
    .params = params_rows,
    .build = build_ln,
    .canonical = canonical_ln,
    .data_params = lines_params,
};
