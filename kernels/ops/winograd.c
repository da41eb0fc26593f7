#include "kernels/ops/winograd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ir/simplify.h"
#include "kernels/ops/build.h"
#include "kernels/ops/graph_rewrite.h"

#define TAPS 3                            /* taps of the window along a transformed axis */
#define MOST_M 4
#define MOST_POSITIONS (MOST_M + TAPS - 1)

/* The matrices of F(m, 3), row by row. */
struct matrices {
    double bt[MOST_POSITIONS][MOST_POSITIONS], g[MOST_POSITIONS][TAPS],
        at[MOST_M][MOST_POSITIONS];
};

static const struct matrices f2 = {
    .bt = { { 1, 0, -1, 0 }, { 0, 1, 1, 0 }, { 0, -1, 1, 0 }, { 0, 1, 0, -1 } },
    .g = { { 1, 0, 0 }, { 0.5, 0.5, 0.5 }, { 0.5, -0.5, 0.5 }, { 0, 0, 1 } },
    .at = { { 1, 1, 1, 0 }, { 0, 1, -1, -1 } },
};

static const struct matrices f4 = {
    .bt = { { 4, 0, -5, 0, 1, 0 }, { 0, -4, -4, 1, 1, 0 }, { 0, 4, -4, -1, 1, 0 },
            { 0, -2, -1, 2, 1, 0 }, { 0, 2, -1, -2, 1, 0 }, { 0, 4, 0, -5, 0, 1 } },
    .g = { { 1. / 4, 0, 0 }, { -1. / 6, -1. / 6, -1. / 6 }, { -1. / 6, 1. / 6, -1. / 6 },
           { 1. / 24, 1. / 12, 1. / 6 }, { 1. / 24, -1. / 12, 1. / 6 }, { 0, 0, 1 } },
    .at = { { 1, 1, 1, 1, 1, 0 }, { 0, 1, -1, 2, -2, 0 }, { 0, 1, 1, 4, 4, 0 },
            { 0, 1, -1, 8, -8, 1 } },
};

static const struct matrices *matrices_of(int m)
{
    return m == 2 ? &f2 : &f4;
}

/* --- Whether it applies ----------------------------------------------------------------------- */

/* Returns the tensor of the weights of a convolution, the constant operand of its product; -1 if
 * there is none. */
static int weights_of(const struct graph *g, const struct node *n)
{
    const struct val *v = n->body;
    bool product = v->kind == VAL_MUL && v->a->kind == VAL_LOAD && v->b->kind == VAL_LOAD
                && v->a->source == n->data_in;
    return product && g->tensor[v->b->source].role == TENSOR_CONST ? v->b->source : -1;
}

static int axes_of(const struct node *n)
{
    return n->n_spatial - 2;
}

static int transformed_axes(const struct node *n)
{
    return axes_of(n) < 2 ? axes_of(n) : 2;
}

static bool only_reader(const struct graph *g, int node, int t)
{
    for (int i = 0; i < g->n_nodes; i++)
        if (i != node && graph_reads(g, i, t))
            return false;
    return true;
}

/* Checks the windows along the axes that are transformed. */
static bool check_windows(const struct graph *g, const struct node *n, struct err *e)
{
    const char *name = g->tensor[n->out].name;
    for (int i = axes_of(n) - transformed_axes(n); i < axes_of(n); i++) {
        int r = n->n_reduce - axes_of(n) + i;
        int64_t taps = n->reduce[r]->hi + 1, stride = n->params.stride[i];
        int64_t dilation = n->params.dilation[i];
        const char *dim = g->tensor[n->out].dim[2 + i];
        if (taps == TAPS && stride == 1 && dilation <= 1)
            continue;
        err_set(e, ERR_STEP, "winograd needs windows of 3 with stride 1 and dilation 1, but %s has "
                "%lld taps along %s, stride %lld, dilation %lld", name, (long long)taps, dim,
                (long long)stride, (long long)dilation);
        return err_fix(e, "compute %s directly", name);
    }
    return true;
}

bool winograd_check(const struct graph *g, int node, int64_t m, struct err *e)
{
    const struct node *n = &g->node[node];
    const struct tensor *out = &g->tensor[n->out];
    char op[16] = "";
    if (n->n_spatial > 2)
        op[0] = (char)('0' + axes_of(n));
    if (!n->complex || strncmp(n->op, "conv", 4) != 0 || n->op[4] != op[0]) {
        err_set(e, ERR_STEP, "winograd is an algorithm for convolutions, and %s is a %s",
                out->name, n->op);
        return err_fix(e, "name the result of a c1d, c2d or c3d");
    }
    if (type_is_narrow(out->type)) {
        err_set(e, ERR_STEP, "winograd would round its transformed tiles to %s", out->type->title);
        return err_fix(e, "leave out type=%s, or compute %s directly", out->type->name, out->name);
    }
    if (m != 2 && m != 4) {
        err_set(e, ERR_RANGE, "m=%lld: winograd has tiles of 2 or 4", (long long)m);
        return err_fix(e, "m=2 or m=4");
    }
    int ker = weights_of(g, n);
    if (ker < 0) {
        err_set(e, ERR_STEP, "the weights of %s are no constant: they would be transformed in "
                "every call", out->name);
        return err_fix(e, "compute %s directly", out->name);
    }
    if (g->tensor[ker].winograd || !only_reader(g, node, ker)) {
        err_set(e, ERR_STEP, "another node reads the weights %s as they are",
                g->tensor[ker].name);
        return err_fix(e, "compute %s directly", out->name);
    }
    if (g->tensor[n->data_in].shape[1] != g->tensor[ker].shape[1]) {
        err_set(e, ERR_STEP, "winograd is for one group of channels, and %s has %lld", out->name,
                (long long)(g->tensor[n->data_in].shape[1] / g->tensor[ker].shape[1]));
        return err_fix(e, "compute %s directly", out->name);
    }
    return check_windows(g, n, e);
}

/* --- Rows as expressions ---------------------------------------------------------------------- */

/* The product of one row of a matrix and the values x.  Its terms are summed in groups, because
 * rows share groups: rows 1 and 2 of Bt for m = 4 are (x4 - 4 x2) +- (x3 - 4 x1). */
struct matrix_row {
    const struct graph *g;
    const double *coef;
    const struct val *const *x;
    int n;
    bool back;                            /* true: a row of At; false: a row of Bt */
};

/* Returns the group of term j.  The terms of a row of Bt are in two groups: even and odd j.  Those
 * of a row of At are in the groups {0}, {1, 2}, {3, 4} and {5}. */
static int group_of(const struct matrix_row *r, int j)
{
    return r->back ? (j + 1) / 2 : j % 2;
}

/* Returns the factor of a group: the least |coefficient| of its terms, with the sign of the last
 * coefficient (of the first in a row of At).  Returns 0 if all coefficients are 0. */
static double factor_of(const struct matrix_row *r, int group)
{
    double least = 0, sign = 0;
    for (int j = 0; j < r->n; j++) {
        double c = r->coef[j];
        if (group_of(r, j) != group || c == 0)
            continue;
        least = least == 0 || fabs(c) < least ? fabs(c) : least;
        sign = r->back && sign != 0 ? sign : c < 0 ? -1 : 1;
    }
    return sign * least;
}

/* Returns sum + c * x, without a multiplication by 1 or -1.  If sum is NULL, returns c * x; c must
 * be positive then. */
static const struct val *plus(const struct graph *g, const struct val *sum, double c,
                              const struct val *x)
{
    double size = fabs(c);
    const struct val *t = size == 1 ? x : bin(g, VAL_MUL, num(g, size), x);
    return !sum ? t : bin(g, c < 0 ? VAL_SUB : VAL_ADD, sum, t);
}

/* Returns the sum of a group's terms divided by f.  Its first term is positive. */
static const struct val *group_sum(const struct matrix_row *r, int group, double f)
{
    const struct val *sum = NULL;
    for (int negative = 0; negative < 2; negative++)
        for (int j = 0; j < r->n; j++)
            if (group_of(r, j) == group && r->coef[j] != 0 && (r->coef[j] / f < 0) == negative)
                sum = plus(r->g, sum, r->coef[j] / f, r->x[j]);
    return sum;
}

static const struct val *row_value(const struct matrix_row *r)
{
    const struct val *sum = NULL;
    double f[MOST_POSITIONS];
    bool any = false;
    for (int k = 0; k < MOST_POSITIONS; k++) {
        f[k] = factor_of(r, k);
        any |= f[k] > 0;
    }
    for (int negative = 0; negative < 2; negative++)
        for (int k = 0; k < MOST_POSITIONS; k++) {
            if (f[k] == 0 || (f[k] < 0) != negative)
                continue;
            /* if the factors of all groups are negative, the first factor changes its sign */
            double sign = any || sum ? 1 : -1;
            sum = plus(r->g, sum, sign * f[k], group_sum(r, k, sign * f[k]));
        }
    return sum;
}

/* Returns value[at] for an expression `at` in [0, n): a chain of selects. */
static const struct val *chosen(const struct graph *g, const struct expr *at,
                                const struct val *const *value, int n)
{
    const struct val *v = value[n - 1];
    for (int k = n - 2; k >= 0; k--)
        v = val_select(exprs_arena(g->pool),
                       expr_simplify(g->pool, expr_eq(g->pool, at, expr_const(g->pool, k))),
                       value[k], v);
    return v;
}

/* --- Nodes ------------------------------------------------------------------------------------ */

/* The state of one rewriting. */
struct winograd {
    struct graph *g;
    int m, positions;
    const struct matrices *mat;
    const struct graph *from;
};

static int tiles(const struct winograd *w, int64_t outputs)
{
    return (int)((outputs + w->m - 1) / w->m);
}

static struct node transform_node(struct winograd *w, int x, int out)
{
    struct node n = { .op = "transform", .data_in = x };
    node_spatial(w->g, &n, out);
    return n;
}

/* Adds a node that applies Bt along dim d of tensor x, in n_tiles tiles.  In the result, dim `at`
 * is that of the positions, and the dim of the tiles replaces dim d.  Beyond the end of x, the node
 * reads zeros. */
static int input_transform(struct winograd *w, int x, int d, int at, int n_tiles,
                           const char *name)
{
    struct graph *g = w->g;
    struct arena *a = exprs_arena(g->pool);
    const struct tensor t = g->tensor[x];
    const char *dims[MAX_RANK];
    int64_t shape[MAX_RANK];
    const struct expr *idx[MAX_RANK];
    const struct val *value[MOST_POSITIONS], *load[MOST_POSITIONS];
    for (int k = 0; k <= t.rank; k++) {
        int old = k > at ? k - 1 : k;
        dims[k] = k == at ? arena_printf(a, "P%s", t.dim[d]) : t.dim[old];
        shape[k] = k == at ? w->positions : t.shape[old];
        if (k != at && old == d) {
            dims[k] = arena_printf(a, "T%s", t.dim[d]);
            shape[k] = n_tiles;
        }
    }
    int out = graph_add_tensor(g, &(struct tensor_def){ name, t.rank + 1, dims, shape,
                                                        TENSOR_INTER });
    struct node n = transform_node(w, x, out);
    for (int k = 0; k < t.rank; k++)
        idx[k] = n.spatial[k >= at ? k + 1 : k];
    const struct expr *first = expr_mulc(g->pool, idx[d], w->m);
    for (int j = 0; j < w->positions; j++) {
        idx[d] = expr_simplify(g->pool, expr_addc(g->pool, first, j));
        load[j] = graph_load_at(g, x, idx);
        if (idx[d]->hi >= t.shape[d])
            load[j] = val_select(a, expr_simplify(g->pool, expr_lt(g->pool, idx[d],
                                                          expr_const(g->pool, t.shape[d]))),
                                 load[j], num(g, 0));
    }
    for (int p = 0; p < w->positions; p++)
        value[p] = row_value(&(struct matrix_row){ g, w->mat->bt[p], load, w->positions, false });
    n.body = chosen(g, n.spatial[at], value, w->positions);
    graph_add_node(g, &n);
    return out;
}

/* Adds the node that computes tensor `out` from x.  Dim 0 of x has the positions, and dim d + 1 of
 * x has the tiles.  The node applies At to the positions of each tile; the results of all tiles
 * form dim d of `out`. */
static void output_transform(struct winograd *w, int x, int out, int d)
{
    struct graph *g = w->g;
    const struct expr *idx[MAX_RANK];
    const struct val *value[MOST_M], *load[MOST_POSITIONS];
    struct node n = transform_node(w, x, out);
    for (int k = 0; k < n.n_spatial; k++)
        idx[k + 1] = n.spatial[k];
    idx[d + 1] = expr_divc(g->pool, n.spatial[d], w->m);
    for (int j = 0; j < w->positions; j++) {
        idx[0] = expr_const(g->pool, j);
        load[j] = graph_load_at(g, x, idx);
    }
    for (int y = 0; y < w->m; y++)
        value[y] = row_value(&(struct matrix_row){ g, w->mat->at[y], load, w->positions, true });
    n.body = chosen(g, expr_modc(g->pool, n.spatial[d], w->m), value, w->m);
    graph_add_node(g, &n);
}

/* Adds the products: for each position a convolution without the transformed axes. */
static int products(struct winograd *w, const struct node *conv, int inp, int ker)
{
    struct graph *g = w->g;
    struct arena *a = exprs_arena(g->pool);
    const struct tensor *out = &w->from->tensor[conv->out];
    int n_t = transformed_axes(conv), others = axes_of(conv) - n_t, rank = n_t + out->rank;
    const char *dims[MAX_RANK];
    int64_t shape[MAX_RANK];
    const struct expr *at_inp[MAX_RANK], *at_ker[MAX_RANK];
    for (int k = 0; k < rank; k++) {
        const struct tensor *x = &g->tensor[inp];
        bool own = k < n_t || k >= rank - n_t;  /* k is a dim of positions or of tiles */
        dims[k] = own ? x->dim[k] : out->dim[k - n_t];
        shape[k] = own ? x->shape[k] : out->shape[k - n_t];
    }
    struct node n = { .op = "winograd", .combine = COMBINE_SUM, .complex = true, .data_in = inp };
    node_spatial(g, &n, graph_add_tensor(g, &(struct tensor_def){
        graph_free_name(a, w->from, out->name, "_wino"), rank, dims, shape, TENSOR_INTER }));
    for (int k = 0; k < rank; k++)
        at_inp[k] = n.spatial[k];
    for (int k = 0; k < n_t + 2; k++)
        at_ker[k] = k < n_t ? n.spatial[k] : n.spatial[n_t + 1];
    at_inp[n_t + 1] = at_ker[n_t + 1] = node_reduce(g, &n, "I", g->tensor[inp].shape[n_t + 1]);
    for (int i = 0; i < others; i++) {
        const struct expr *tap = node_reduce(g, &n, conv->reduce_dim[1 + i],
                                             conv->reduce[1 + i]->hi + 1);
        int64_t dilation = conv->params.dilation[i] > 0 ? conv->params.dilation[i] : 1;
        at_inp[n_t + 2 + i] = expr_add(g->pool,
            expr_mulc(g->pool, n.spatial[n_t + 2 + i], conv->params.stride[i]),
            expr_mulc(g->pool, tap, dilation));
        at_ker[n_t + 2 + i] = tap;
    }
    at_ker[n_t] = n.spatial[n_t + 1];
    n.body = build_product(g, inp, at_inp, ker, at_ker);
    graph_add_node(g, &n);
    return n.out;
}

/* Adds the transformed weights. Their dims are the positions, then the remaining dims. */
static int add_weights(struct winograd *w, const struct node *conv, const struct tensor *ker)
{
    struct arena *a = exprs_arena(w->g->pool);
    int n_t = transformed_axes(conv);
    const char *dims[MAX_RANK];
    int64_t shape[MAX_RANK];
    for (int k = 0; k < ker->rank; k++) {
        const char *axis = w->from->tensor[conv->out].dim[conv->n_spatial - n_t + k % n_t];
        dims[k] = k < n_t ? arena_printf(a, "P%s", axis) : ker->dim[k - n_t];
        shape[k] = k < n_t ? w->positions : ker->shape[k - n_t];
    }
    int t = graph_add_tensor(w->g, &(struct tensor_def){
        graph_free_name(a, w->from, ker->name, "_wino"), ker->rank, dims, shape, TENSOR_CONST });
    struct winograd_weights *how = ARENA_NEW(a, struct winograd_weights);
    *how = (struct winograd_weights){ w->m, n_t };
    w->g->tensor[t].winograd = how;
    return t;
}

/* Adds the input transforms and the products.  If two axes are transformed, also adds the tensor
 * Conv_half, without its node.  Returns the tensor that the last output transform reads. */
static int add_parts(struct winograd *w, const struct node *conv, int ker)
{
    struct arena *a = exprs_arena(w->g->pool);
    const struct tensor *out = &w->from->tensor[conv->out];
    const char *inp = w->from->tensor[conv->data_in].name;
    int n_t = transformed_axes(conv), d = out->rank - n_t, x = conv->data_in;
    for (int i = 0; i < n_t; i++)
        x = input_transform(w, x, d + i + i, i, tiles(w, out->shape[d + i]),
                            graph_free_name(a, w->from, inp, i == n_t - 1 ? "_wino" : "_half"));
    x = products(w, conv, x, ker);
    if (n_t == 1)
        return x;
    const struct tensor t = w->g->tensor[x];
    const char *dims[MAX_RANK];
    int64_t shape[MAX_RANK];
    for (int k = 0; k < t.rank - 1; k++) {
        dims[k] = k == d + 1 ? out->dim[d] : t.dim[k + 1];
        shape[k] = k == d + 1 ? out->shape[d] : t.shape[k + 1];
    }
    int half = graph_add_tensor(w->g, &(struct tensor_def){
        graph_free_name(a, w->from, out->name, "_half"), t.rank - 1, dims, shape, TENSOR_INTER });
    return half;
}

const struct graph *graph_with_winograd(struct arena *a, const struct graph *g, int node, int m)
{
    const struct node *conv = &g->node[node];
    int ker = weights_of(g, conv), n_t = transformed_axes(conv);
    struct winograd w = { graph_like(a, g), m, m + TAPS - 1, matrices_of(m), g };
    struct remap map = { w.g, conv->out, 0 };
    for (int t = 0; t < conv->out; t++) {
        if (t == ker)
            add_weights(&w, conv, &g->tensor[t]);
        else
            graph_copy_tensor(w.g, &g->tensor[t], g->tensor[t].role);
    }
    map.by = 2 * n_t;
    for (int i = 0; i < node; i++)
        graph_copy_node(&map, &g->node[i]);
    int last = add_parts(&w, conv, ker);
    for (int t = conv->out; t < g->n_tensors; t++)
        graph_copy_tensor(w.g, &g->tensor[t], g->tensor[t].role);
    int out = conv->out + map.by, d = g->tensor[conv->out].rank - n_t;
    if (n_t == 2)
        output_transform(&w, last - 1, last, d + 1);
    output_transform(&w, last, out, d + n_t - 1);
    for (int i = node + 1; i < g->n_nodes; i++)
        graph_copy_node(&map, &g->node[i]);
    graph_keep_main(w.g, g);
    return w.g;
}

/* --- Weights ---------------------------------------------------------------------------------- */

/* Computes out[p][o][i] = sum over k of G[p][k] * x[o][k][i]: x is [outer][TAPS][inner], out is
 * [positions][outer][inner]. */
static void transform_axis(const struct matrices *mat, int positions, int64_t outer,
                           int64_t inner, const double *x, double *out)
{
    for (int p = 0; p < positions; p++)
        for (int64_t o = 0; o < outer; o++)
            for (int64_t i = 0; i < inner; i++) {
                double sum = 0;
                for (int k = 0; k < TAPS; k++)
                    sum += mat->g[p][k] * x[(o * TAPS + k) * inner + i];
                out[(p * outer + o) * inner + i] = sum;
            }
}

/* Returns how many windows (taps along each transformed axis) the weights consist of: one for each
 * pair of channels and each tap of the other axes. */
static int64_t n_pairs(const struct tensor *to)
{
    int64_t n = tensor_elems(to);
    for (int i = 0; i < to->winograd->n_axes; i++)
        n /= to->winograd->m + TAPS - 1;
    return n;
}

int64_t winograd_n_weights(const struct tensor *to)
{
    int64_t n = n_pairs(to);
    for (int i = 0; i < to->winograd->n_axes; i++)
        n *= TAPS;
    return n;
}

void winograd_transform(const struct tensor *to, const double *weights, double *out)
{
    const struct winograd_weights *w = to->winograd;
    int positions = w->m + TAPS - 1;
    int64_t rest = n_pairs(to);
    if (w->n_axes == 1) {
        transform_axis(matrices_of(w->m), positions, rest, 1, weights, out);
        return;
    }
    double *half = xmalloc_elems((size_t)(positions * rest * TAPS), sizeof *half);
    transform_axis(matrices_of(w->m), positions, rest * TAPS, 1, weights, half);
    /* half is [PW][rest][KH]: each PW has `rest` rows, to which G is applied along KH */
    for (int p = 0; p < positions; p++) {
        double *one = xmalloc_elems((size_t)(positions * rest), sizeof *one);
        transform_axis(matrices_of(w->m), positions, rest, 1, half + p * rest * TAPS, one);
        for (int q = 0; q < positions; q++)
            memcpy(out + (q * positions + p) * rest, one + q * rest,
                   (size_t)rest * sizeof *one);
        free(one);
    }
    free(half);
}

void winograd_print_c(struct str *out, const struct tensor *to)
{
    const struct matrices *mat = matrices_of(to->winograd->m);
    int positions = to->winograd->m + TAPS - 1, two = to->winograd->n_axes == 2;
    long long rest = n_pairs(to);
    str_printf(out, "static void transform_%s(const double *weights, double *out)\n{\n"
               "    static const double g[%d][%d] = {\n", to->name, positions, TAPS);
    for (int p = 0; p < positions; p++)
        str_printf(out, "        { %.17g, %.17g, %.17g },\n", mat->g[p][0], mat->g[p][1],
                   mat->g[p][2]);
    str_printf(out, "    };\n"
               "    for (long p = 0; p < %d; p++)\n"
               "        for (long r = 0; r < %lld; r++) {\n"
               "            double sum = 0;\n"
               "            for (int k = 0; k < %d; k++)\n",
               two ? positions * positions : positions, rest, two ? TAPS * TAPS : TAPS);
    if (two)
        str_printf(out, "                sum += g[p / %d][k / 3] * g[p %% %d][k %% 3] * "
                   "weights[r * 9 + k];\n", positions, positions);
    else
        str_add(out, "                sum += g[p][k] * weights[r * 3 + k];\n");
    str_printf(out, "            out[p * %lld + r] = sum;\n        }\n}\n\n", rest);
}
