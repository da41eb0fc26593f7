/* Helpers that builders of graphs share: operator families, and calls in statements.  Only
 * kernels/ops includes this.
 *
 * Families and calls build with the same functions, but with different names (g->call).  A family
 * names dims, loops and tensors as its definition does.  A call takes tensors of any rank.  In a
 * call, build_index returns the constant 0 for a dim of extent 1.  The loop of a reduction over dim
 * D is called RD there, and D stays, with extent 1, unless keep=0 is given. */
#ifndef TS_OPS_BUILD_H
#define TS_OPS_BUILD_H
#include "kernels/ops/graph.h"

/* The families; ops.c lists them. */
extern const struct op_family c2d_family, gmm_family, c1d_family, c3d_family, grp_family,
    dep_family, dil_family, t2d_family, t3d_family, bmm_family, act_family, add_family,
    mul_family, bn_family, maxpool_family, avgpool_family, gpool_family, softmax_family, ln_family,
    reduce_family, transpose_family, reshape_family, concat_family, slice_family;

/* Builds the graph of a list of statements (compose.c). */
bool graph_compose(struct arena *a, const char *text, const struct graph **out, struct err *e);

/* Build values of one element. */
static inline const struct val *num(const struct graph *g, double v)
{
    return val_const(exprs_arena(g->pool), v);
}

static inline const struct val *bin(const struct graph *g, enum val_kind k, const struct val *x,
                                    const struct val *y)
{
    return val_bin(exprs_arena(g->pool), k, x, y);
}

static inline const struct val *un(const struct graph *g, enum val_kind k, const struct val *x)
{
    return val_un(exprs_arena(g->pool), k, x);
}

/* Functions of simple.c. */

/* Returns `name`, or name2, name3 and so on if it is taken. */
const char *build_fresh(const struct graph *g, const char *name);
/* Returns the dim name `name`, with _ appended until it differs from others[n].  Loops have the
 * names of dims in lower case, so two dims whose names differ only in case would clash. */
const char *build_unlike(const struct graph *g, const char *name, const char *const *others,
                         int n);
/* Adds a new tensor (INTER) with the dim names of x. shape: of the new tensor; NULL: that of x. */
int build_reshaped(struct graph *g, int x, const char *name, const int64_t *shape);
/* Adds a constant with one element per element of dim `dim` of x. */
int build_channel(struct graph *g, int x, int dim, const char *name);
/* Adds a new tensor with the shape of x, and names it `out` (build_fresh).  Returns a node that
 * computes the new tensor, with a load of x as its body; the caller adds the node. */
struct node build_like(struct graph *g, int x, const char *op, const char *out);
/* Broadcasts the shapes of x and y as numpy does: matches dims from the last one backwards, and
 * repeats a dim of extent 1.  Stores the result in dim[MAX_RANK] and shape[MAX_RANK], and lets *def
 * point to them. */
bool build_broadcast(const struct graph *g, const struct tensor *x, const struct tensor *y,
                     struct tensor_def *def, const char **dim, int64_t *shape, struct err *e);
/* An element of a broadcast result has the index v in some dim.  Returns the index that it reads in
 * an operand, whose matching dim has this extent: 0 if the dim is repeated, else v. */
const struct expr *build_index(const struct graph *g, int64_t extent, const struct expr *v);
/* Node n computes a broadcast result.  Returns the load of operand t for one of its elements. */
const struct val *build_load(const struct graph *g, int t, const struct node *n);
/* Returns the product of an element of x and an element of y. */
const struct val *build_product(const struct graph *g, int x, const struct expr *const *at_x,
                                int y, const struct expr *const *at_y);

/* The builders of nodes.  Each adds nodes that read tensor x, and returns the tensor (INTER) of
 * the result. */

/* out[d..] = x[d - before..] inside x, and `value` outside. before, after: number of elements added
 * on each side, per dim.  The condition of the node names only the dims that are padded. */
int pad_node(struct graph *g, int x, const char *out, const int64_t *before, const int64_t *after,
             double value);
/* BiasAdd = x + Bias[channel dim]; adds the constant Bias. */
int bias_node(struct graph *g, int x, int channel_dim);
/* Adds xy[0] OP xy[1], broadcast.  Returns -1 with *e when the shapes do not fit.  With the kind
 * VAL_LE, `op` says which comparison is meant: "lessequal", "less" or "equal".  The result of a
 * comparison is 1 where it is true, else 0. */
int binary_node(struct graph *g, const int *xy, enum val_kind kind, const char *op,
                const char *out, struct err *e);

/* Functions of one tensor, with up to two numbers as parameters.  Families offer only the functions
 * before ACT_COUNT.  act_words has their names, and NULL at ACT_COUNT (ORDER ACT). */
enum act {
    ACT_NONE, ACT_RELU, ACT_RELU6, ACT_SIGMOID, ACT_TANH, ACT_GELU /* by erf */,
    ACT_GELU_TANH /* by tanh */, ACT_SILU, ACT_HARDSWISH, ACT_SOFTPLUS, ACT_COUNT,
    ACT_EXP, ACT_LOG, ACT_SQRT, ACT_ERF, ACT_NEG, ACT_ABS, ACT_RECIPROCAL, ACT_IDENTITY,
    ACT_FLOOR, ACT_SIN, ACT_COS, ACT_ATAN, ACT_CLIP,
    ACT_LEAKY, ACT_ELU, ACT_AFFINE, ACT_HARDSIGMOID, ACT_ALL
};
extern const char *const act_words[];
/* Adds act(x).  The new tensor is named after the function ("ReLU"), or Out if families do not
 * offer the function. */
int act_node(struct graph *g, int x, enum act act, double alpha, double beta);

/* A matrix product: the last two dims of a are M K, and those of b are K N.  Dims before the last
 * two are batches, which are broadcast to the batches of `out`.  A vector a has no M; a vector b
 * has no N. ta: the last dims of a are K M; tb: the last dims of b are N K. */
struct matmul { int a, b; bool ta, tb; struct tensor_def out; };
int matmul_node(struct graph *g, const struct matmul *m);

/* How elements are reduced: reduce.c has tables with these indices (ORDER REDUCE). */
enum reduce { REDUCE_SUM, REDUCE_MAX, REDUCE_MEAN };
struct reduction {
    unsigned dims;                        /* the dims to reduce; bit d: dim d */
    bool keep;                            /* whether reduced dims stay, with extent 1 */
    enum reduce how;
    const char *out;                      /* name of the new tensor; NULL: that of reduce.c */
    int center;                           /* index of a tensor c: reduce (x - c)^2; 0: reduce x */
};
int reduce_node(struct graph *g, int x, const struct reduction *r);
/* Adds the softmax of x along `dim`, or its logarithm if `log` is set.  Adds the nodes Max, Exp and
 * Sum; if `log` is set, also Log and Shifted; and at the end the node of the result. */
int softmax_node(struct graph *g, int x, int dim, bool log);
/* Returns off / sqrt(var + eps) * scale + shift.  If scale is NULL, it does not multiply; if shift
 * is NULL, it adds nothing. */
const struct val *reduce_norm(const struct graph *g, const struct val *off, const struct val *var,
                              double eps, const struct val *scale, const struct val *shift);

/* Transpose: new dim d is old dim perm[d].  Reshape: the same elements in row-major order.  Concat:
 * joins tensors along `dim`; their other dims must be equal.  Slice: n elements of one dim. */
int transpose_node(struct graph *g, int x, const int *perm);
int reshape_node(struct graph *g, int x, int rank, const char *const *dims, const int64_t *shape);
int concat_node(struct graph *g, const int *x, int n_x, int dim);
struct slice { int dim; int64_t from, step, n; };
int slice_node(struct graph *g, int x, const struct slice *s);
/* Gather: out[..][k..][..] = x[..][at[k..]][..]: the dims of `at` replace dim `dim` of x.
 * val_picked turns an element of `at` into an index.  If `each` is set (gather_elements), `at` must
 * have the rank of x, and out has the dims of `at`: out[k..] is the element of x at the indices
 * k.., except that at[k..] is its index along `dim`. */
int gather_node(struct graph *g, int x, int at, int dim, bool each);
/* Adds c ? x : y, broadcast. cxy: the tensors c, x and y; elements of c are 1 or 0.  Returns -1
 * with *e when the shapes do not fit. */
int where_node(struct graph *g, const int *cxy, struct err *e);
#endif
