/* Builds reductions over dims of one tensor, and the operators made of them: softmax, layer
 * normalisation. */
#include "kernels/ops/params.h"

#include <math.h>

/* reduce_words: the words for reductions.  names[0]: the names of operators and results in
 * families; names[1]: those in calls, where a mean is named like a sum (ORDER REDUCE). */
static const char *const reduce_words[] = { "sum", "max", "mean", NULL };
static const struct { const char *op, *out; } names[2][3] = {
    { { "sum", "Sum" }, { "max", "Max" }, { "mean", "Mean" } },
    { { "reduce_sum", "Sum" }, { "reduce_max", "Max" }, { "reduce_sum", "Sum" } },
};

/* Adds the output tensor of n, a reduction of t.  Sets dim[] to the names of the output's dims, and
 * returns their number. */
static int reduced_dims(struct graph *g, const struct tensor *t, const struct reduction *r,
                        const char **dim, struct node *n)
{
    int64_t shape[MAX_RANK];
    const char *name = r->out ? r->out : names[g->call][r->how].out;
    int rank = 0;
    for (int d = 0; d < t->rank; d++) {
        bool gone = r->dims >> d & 1;
        if (gone && !r->keep)
            continue;
        dim[rank] = t->dim[d];
        shape[rank++] = gone ? 1 : t->shape[d];
    }
    if (rank == 0) {
        dim[rank] = "ALL";
        shape[rank++] = 1;
    }
    node_spatial(g, n, graph_add_tensor(g, &(struct tensor_def){ build_fresh(g, name), rank, dim,
                                                                 shape, TENSOR_INTER }));
    return rank;
}

int reduce_node(struct graph *g, int x, const struct reduction *r)
{
    const struct tensor t = g->tensor[x];
    const char *loop[2 * MAX_RANK];
    const struct expr *idx[MAX_RANK];
    bool max = r->how == REDUCE_MAX;
    struct node n = { .op = names[g->call][r->how].op, .data_in = x,
                      .combine = max ? COMBINE_MAX : COMBINE_SUM, .init = max ? -INFINITY : 0 };
    int n_loops = reduced_dims(g, &t, r, loop, &n), at = 0;
    double count = 1;
    for (int d = 0; d < t.rank; d++) {
        bool gone = r->dims >> d & 1;
        if (gone) {
            const char *name = g->call ? arena_printf(exprs_arena(g->pool), "R%s", t.dim[d])
                                       : t.dim[d];
            loop[n_loops] = build_unlike(g, name, loop, n_loops);
            idx[d] = node_reduce(g, &n, loop[n_loops++], t.shape[d]);
            count *= (double)t.shape[d];
        } else {
            idx[d] = n.spatial[at];
        }
        at += r->keep || !gone;
    }
    n.body = graph_load_at(g, x, idx);
    if (r->center) {
        n.body = bin(g, VAL_SUB, n.body, graph_load_at(g, r->center, n.spatial));
        n.body = bin(g, VAL_MUL, n.body, n.body);
    }
    if (r->how == REDUCE_MEAN && !(g->call && count == 1))
        n.body = bin(g, VAL_MUL, n.body, num(g, 1 / count));
    graph_add_node(g, &n);
    return n.out;
}

/* Returns the load of t for an element of n.  t has the dims of n without the last one, or all dims
 * of n, of which some have extent 1. */
static const struct val *load_reduced(const struct graph *g, int t, const struct node *n)
{
    return g->tensor[t].rank < n->n_spatial ? graph_load_at(g, t, n->spatial)
                                            : build_load(g, t, n);
}

/* Adds node n, which computes x OP y, or exp(x OP y) if `exp` is set.  x is the present body of n;
 * y is a reduction of x, or a tensor with the shape of x. */
static int with_reduced(struct graph *g, struct node n, enum val_kind kind, int y, bool exp)
{
    n.body = bin(g, kind, n.body, load_reduced(g, y, &n));
    if (exp)
        n.body = un(g, VAL_EXP, n.body);
    graph_add_node(g, &n);
    return n.out;
}

/* Computes e / sum e with e = exp(x - max x), or the logarithm (x - max x) - log sum e. */
int softmax_node(struct graph *g, int x, int dim, bool log)
{
    struct reduction r = { .dims = 1u << dim, .keep = g->call, .how = REDUCE_MAX };
    int max = reduce_node(g, x, &r);
    int e = with_reduced(g, build_like(g, x, "exp", "Exp"), VAL_SUB, max, true);
    r.how = REDUCE_SUM;
    int sum = reduce_node(g, e, &r);
    if (!log)
        return with_reduced(g, build_like(g, e, "softmax", "Softmax"), VAL_DIV, sum, false);
    struct node l = build_like(g, sum, "log", "Log");
    l.body = un(g, VAL_LOG, l.body);
    graph_add_node(g, &l);
    int off = with_reduced(g, build_like(g, x, "shift", "Shifted"), VAL_SUB, max, false);
    return with_reduced(g, build_like(g, off, "logsoftmax", "LogSoftmax"), VAL_SUB, l.out, false);
}

const struct val *reduce_norm(const struct graph *g, const struct val *off, const struct val *var,
                              double eps, const struct val *scale, const struct val *shift)
{
    const struct val *root = un(g, VAL_SQRT, bin(g, VAL_ADD, var, num(g, eps)));
    const struct val *unit = bin(g, VAL_DIV, off, root);
    if (scale)
        unit = bin(g, VAL_MUL, unit, scale);
    return shift ? bin(g, VAL_ADD, unit, shift) : unit;
}

/* The families: reductions, softmax and norms along the last of two to four dims. */

static bool build_reduce(struct graph *g, const struct op_family *f, const int64_t *v,
                         struct err *e)
{
    (void)e;
    int x = family_input(g, f, v);
    struct reduction r = { .dims = 1u << (g->tensor[x].rank - 1),
                           .how = (enum reduce)param_value(f, v, "f", REDUCE_SUM) };
    graph_set_output(g, reduce_node(g, x, &r));
    return true;
}

const struct op_family reduce_family = {
    .name = "reduce",
    .title = "reduction of rows",
    .example = "reduce m=512 n=512 f=max",
    .help = "Sum[m] = sum over n of Inp[m][n]; with f=max the largest element (Max), with f=mean "
            "the mean (Mean).  With k= (and l=) there are more dims, and the last one is reduced.",
    .data_params = DATA_LINES,
    PARAMS(ROWS_LINES,
           { "f", REDUCE_SUM, 0, REDUCE_MEAN, "how a row is reduced", reduce_words }),
    .build = build_reduce,
};

static bool build_softmax(struct graph *g, const struct op_family *f, const int64_t *v,
                          struct err *e)
{
    (void)e;
    int x = family_input(g, f, v);
    graph_set_output(g, softmax_node(g, x, g->tensor[x].rank - 1, false));
    return true;
}

const struct op_family softmax_family = {
    .name = "softmax",
    .title = "softmax of rows",
    .example = "softmax m=1536 n=128",
    .help = "Max[m] = max over n of Inp[m][n]; Exp[m][n] = exp(Inp[m][n] - Max[m]); Sum[m] = sum "
            "over n of Exp[m][n]; Softmax[m][n] = Exp[m][n] / Sum[m].  If Exp is inlined, it is "
            "not stored, but computed twice.  With k= (and l=) there are more dims: softmax of the "
            "last one.",
    .data_params = DATA_LINES,
    PARAMS(ROWS_LINES),
    .build = build_softmax,
};

#define EPSILON 1e-5                      /* added to the variance (the usual value) */

static bool build_ln(struct graph *g, const struct op_family *f, const int64_t *v, struct err *e)
{
    (void)e;
    int x = family_input(g, f, v), last = g->tensor[x].rank - 1;
    int gamma = build_channel(g, x, last, "Gamma"), beta = build_channel(g, x, last, "Beta");
    struct reduction r = { .dims = 1u << last, .how = REDUCE_MEAN };
    int mean = r.center = reduce_node(g, x, &r);
    r.out = "Var";
    int var = reduce_node(g, x, &r);
    struct node n = build_like(g, x, "norm", "LayerNorm");
    n.params.alpha = EPSILON;
    const struct val *off = bin(g, VAL_SUB, n.body, graph_load_at(g, mean, n.spatial));
    n.body = reduce_norm(g, off, graph_load_at(g, var, n.spatial), EPSILON,
                         graph_load_at(g, gamma, &n.spatial[last]),
                         graph_load_at(g, beta, &n.spatial[last]));
    graph_add_node(g, &n);
    graph_set_output(g, n.out);
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
    .data_params = DATA_LINES,
    PARAMS(ROWS_LINES),
    .build = build_ln,
};
