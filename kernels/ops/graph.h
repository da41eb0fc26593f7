/* Operators as tensor expressions with named dimensions.  A program is always a graph of nodes in
 * topological order; a single convolution, say, is one complex node plus the simple ones around
 * it. */
#ifndef TS_OPS_GRAPH_H
#define TS_OPS_GRAPH_H
#include "kernels/ir/type.h"
#include "kernels/ops/source.h"

#define MAX_RANK 8                        /* logical dimensions of a tensor */
#define MAX_SPATIAL 3                     /* spatial dimensions of convolutions and pools: D H W */

enum tensor_role { TENSOR_INPUT, TENSOR_CONST, TENSOR_INTER, TENSOR_OUTPUT };
extern const char *const tensor_role_name[];             /* "input" "constant" ... */

struct tensor {
    const char *name;                     /* unique, a C identifier: "Inp", "Ker", "ReLU", "A" */
    const struct elem_type *type;
    int rank;
    const char *dim[MAX_RANK];            /* dimension names, upper case: "N" "I" "H" "W" */
    int64_t shape[MAX_RANK];
    enum tensor_role role;
    int producer;  /* index of the node that computes the tensor; -1 for inputs and constants */
    /* where the data of a constant come from; NULL, as for inputs: they are random
     * (reference_fill) */
    const struct tensor_source *source;
    /* NULL: this is an ordinary constant.  Else the constant is computed from a constant of the
     * base graph when its buffer is filled, and this says how (winograd.h).  The two constants have
     * the same position in their graphs, if intermediate tensors are not counted. */
    const struct winograd_weights *winograd;
    int64_t whole;  /* random data are whole numbers from 0 to whole - 1; 0: they are floats */
};

enum combine { COMBINE_NONE, COMBINE_SUM, COMBINE_MAX };

/* Parameters of the operator, from which vendor_match finds the primitive of a library.  Parameters
 * that an operator does not have are 0. */
struct node_params {
    int64_t stride[MAX_SPATIAL], dilation[MAX_SPATIAL];     /* of a window, per spatial axis */
    /* of pad: elements added before each dim; of transposed convolutions: elements that padding
     * removes before each spatial axis */
    int64_t before[MAX_RANK];
    const char *function;  /* name of an element-wise function of one tensor: "relu" "gelu_tanh" */
    /* of pad: alpha is the value; of norms: alpha is epsilon; of clip: min and max; of affine: mul
     * and add; of leaky and elu: alpha; of hardsigmoid: alpha and beta */
    double alpha, beta;
};

/* Computes one tensor: out[spatial...] = init combined with the body at all values of the reduction
 * variables, or just the body if combine is NONE.  Each dim of the output tensor has one spatial
 * variable, in the order of the dims. */
struct node {
    const char *op;  /* operator: "conv2d", "matmul", "pad", "bias", "relu", "convert" */
    int out;                              /* the tensor that the node computes */
    int n_spatial;
    const struct expr *spatial[MAX_RANK]; /* variables, named like the dims: n o h w */
    int n_reduce;
    const struct expr *reduce[MAX_RANK];  /* variables in definition order: i kh kw */
    const char *reduce_dim[MAX_RANK];     /* names of their loops: I KH KW */
    enum combine combine;
    double init;
    const struct val *body;               /* its loads have a tensor and logical indices */
    /* relative error of rounding each factor of a product before the multiplication (tf32); 0:
     * factors are not rounded */
    double factor_roundoff;
    bool complex;                         /* convolution or matmul (SPEC C.1): stops propagation */
    /* whether out[i] = F(data_in[i], other tensors), where out and data_in have the same shape
     * (SPEC C.1) */
    bool elementwise;
    int data_in;                          /* index of the main operand; -1: none */
    double flops;                         /* float operations; a multiply-add counts 2 */
    struct node_params params;
};

/* A statement of the text of a graph: out = op(arg, ...) params.  It made n_nodes nodes from `node`
 * on; the last of them computes out. */
struct graph_statement {
    const char *op, *params;
    int n_args; const int *arg;           /* the arguments, as tensors */
    int out, node, n_nodes;
};

struct graph {
    struct exprs *pool;                   /* owns all expressions */
    const char *spec;                     /* canonical text: "c2d n=1 i=3 ... relu=1" */
    const char *op;                       /* operator: "c2d"; "graph" for statements */
    const struct elem_type *type;         /* type of the tensors that builders add */
    bool call;  /* whether the graph is built for one call in a statement (build.h) */
    int n_tensors;
    struct tensor *tensor;
    int n_nodes;
    struct node *node;                    /* in topological order */
    int main_node;  /* index of a complex node; without one, a node that builders choose */
    /* The statements that made the nodes, in order, without declarations.  None if the graph is a
     * single operator, or was derived from another graph. */
    int n_statements;
    const struct graph_statement *statement;
    double flops;                         /* floating point operations of the whole graph */
    double bytes;  /* bytes of inputs and constants (read once) and outputs (written once) */
};

/* An operator family is data: a row in the table of ops.c, its parameters and a builder. */
struct op_param {
    const char *name;
    /* def: the default; min, max: the range of the value.  With `words`, the value is an index: min
     * is 0, and max is the last index. */
    int64_t def, min, max;
    const char *help;
    /* NULL: the value is a number; else the value is an index into this list of words, which ends
     * with a NULL */
    const char *const *words;
};
void op_param_print(struct str *out, const struct op_param *p, int64_t v);      /* "3", "gelu" */
#define OP_REQUIRED INT64_MIN             /* value of def: the parameter must be given */
#define OP_UNSET (INT64_MIN + 1)          /* value of def: optional; the builder derives it */

struct op_family {
    const char *name, *title;             /* "c2d", "2-D convolution" */
    const char *example;                  /* "c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1" */
    const char *help;                     /* a paragraph: formula, tensors and dims */
    const char *data_params[MAX_RANK];  /* the parameters that give the shape of the first tensor */
    int n_params;
    const struct op_param *params;
    /* Adds tensors and nodes to *g; values[i] belongs to params[i]. Fails with ERR_RANGE when the
     * shapes do not fit together.  An error whose text starts with "NAME=" gets the position of
     * that word in the spec. */
    bool (*build)(struct graph *g, const struct op_family *f, const int64_t *values,
                  struct err *e);
    /* Brings the values to canonical form, after the rules that all families share (ops.c); NULL:
     * those rules suffice.  Fails with ERR_SYNTAX when values contradict each other; an error that
     * starts with "NAME=" gets a position as above. */
    bool (*canonical)(const struct op_family *f, int64_t *values, struct err *e);
};
int ops_count(void);
const struct op_family *ops_get(int i);
const struct op_family *ops_find(const char *name);

/* Makes a graph in arena a from a text such as "c2d n=1 i=3 h=224 w=224 o=64 k=7 s=2 p=3 bias=1
 * relu=1". An error (unknown operator or parameter, duplicate, missing or out-of-range value)
 * points at the word and suggests the nearest name. */
/* Several operators make a graph: statements separated by ; or line ends,
 *
 *     x  = input n=1 i=64 h=56 w=56
 *     c1 = c2d(x) o=64 k=3 p=1 relu=1
 *     c2 = c2d(c1) o=64 k=1
 *     y  = add(c2, x)
 *     output y
 *
 * In NAME = OPERATOR(TENSORS) PARAMETERS, the tensors stand for the operator's inputs and
 * constants, in order.  Its other inputs and constants become NAME_Inp, NAME_Ker, ...; its
 * intermediate tensors become NAME_Conv, ...; its result becomes NAME.  If NAME is the operator's
 * own name for its result (Conv = c2d(x, w)), its other tensors also keep the names that they have
 * in the operator (Inp, Ker), where these are free.  Parameters that follow from the shape of the
 * first tensor may be left out.
 *
 * compose_ops.c has operators on tensors of any rank: relu(x), add(x, y), matmul(x, y), softmax(x)
 * axis=1, transpose(x) perm=0,2,1. `NAME = const o=64 i=64` is a constant of its own, perhaps with
 * its data: `value=8`, `value=1,2,3` or `file=F tensor=T hash=H` (source.h). Without `output`, the
 * results that no node reads are outputs. */
bool graph_from_spec(struct arena *a, const char *spec, const struct graph **out, struct err *e);
/* Prints the operator of a statement as a spec: "c2d o=64 k=3 p=1 n=1 i=64 h=56 w=56". first: the
 * statement's first tensor, whose shape gives the parameters that `params` lacks; NULL: prints only
 * `params`. */
void graph_family_spec(struct str *out, const char *op, const char *params,
                       const struct tensor *first);
/* Whether the text starts like a statement, NAME = ... */
bool graph_is_composition(const char *text);

int graph_tensor(const struct graph *g, const char *name);       /* index or -1; case-insensitive */
/* Returns the index of the node that computes this tensor, or -1. */
int graph_node_of(const struct graph *g, const char *tensor_name);
bool graph_reads(const struct graph *g, int node, int tensor);
int node_reduction(const struct node *n, const char *dim);  /* index of the reduction, or -1 */
bool tensor_same_shape(const struct tensor *a, const struct tensor *b);
int64_t tensor_elems(const struct tensor *t);                    /* INT64_MAX on overflow */
int64_t tensor_bytes(const struct tensor *t);
/* Prints "N:1 I:64"; `between` is the character between dim and size. */
void tensor_print_shape(struct str *out, const struct tensor *t, char between);
#define TENSOR_MAX_ELEMS ((int64_t)1 << 40)
/* Fails with ERR_OVERFLOW when t has more than TENSOR_MAX_ELEMS elements; the message calls it
 * `name`. */
bool tensor_check_elems(const struct tensor *t, const char *name, char between, struct err *e);

/* Construction of graphs by builders (only in ops/). */
struct tensor_def {
    const char *name;
    int rank;
    const char *const *dims;
    const int64_t *shape;
    enum tensor_role role;
};
int graph_add_tensor(struct graph *g, const struct tensor_def *def);
/* Copies *n into the graph, and sets the producer of n->out.  A complex node becomes the main node.
 * Adds n->flops to the flops of the graph; if n->flops is 0, counts them from the body and the
 * extents. */
int graph_add_node(struct graph *g, const struct node *n);

/* Returns an empty graph over a new pool in a. */
struct graph *graph_new(struct arena *a, const char *op);

/* Makes tensor t, which a node computes, an output of the graph. */
void graph_set_output(struct graph *g, int t);

/* Fills in the spatial variables of *n: one per dim of tensor `out`, with the name of the dim in
 * lower case. */
void node_spatial(const struct graph *g, struct node *n, int out);
/* Appends a reduction over dim (upper case) with this extent. Returns its variable. */
const struct expr *node_reduce(const struct graph *g, struct node *n, const char *dim,
                               int64_t extent);
/* Returns a load of tensor t at idx[rank], with simplified indices. */
const struct val *graph_load_at(const struct graph *g, int t, const struct expr *const *idx);

#define TF32_ROUNDOFF 0x1p-11             /* tf32 has 10 bits after the binary point */
/* Returns a copy of g in which factor_roundoff is `roundoff` in complex nodes, 0 in others. */
const struct graph *graph_with_factors(struct arena *a, const struct graph *g, double roundoff);

/* Returns the same graph with a "convert" node (an identity copy) between the caller and tensor t
 * (SPEC A.8, C.2), so that the caller's tensor keeps its layout.  The result lies in arena a, but
 * shares the pool of g.
 *
 * Input t: the caller's tensor is renamed NAME_in; NAME becomes the intermediate that the consumers
 * read.  NAME_in stands just before NAME.  Output t: the convert node comes last; NAME becomes an
 * intermediate, and NAME_out, just after it, is the new output.  The indices of later tensors and
 * nodes grow by one, so look them up by name. */
const struct graph *graph_with_conversion(struct arena *a, const struct graph *g, int t);

/* Returns the same graph with a "convert" node between tensor t and its reader `node`.  The node
 * writes a new tensor just after t; if NAME is the output of `node`, the new tensor is called
 * NAME_Inp (SPEC C.2). */
const struct graph *graph_with_edge_conversion(struct arena *a, const struct graph *g, int t,
                                               int node);

/* Returns the same graph after rfactor of reduction r of `node`.  Let D be the loop of r, and NAME
 * the tensor of `node`.  A new tensor NAME_rf has `factor` partial results for each element of
 * NAME, along the new first dim D.0.  Each partial result is a reduction over a loop D.1, which has
 * the extent of D / factor.  The node of NAME combines the partial results.  The caller must check
 * that factor divides the extent, and that the rank of NAME is below MAX_RANK. */
const struct graph *graph_with_rfactor(struct arena *a, const struct graph *g, int node, int r,
                                       int64_t factor);

/* Sets the type of all tensors.  Call it only for a graph whose tensors have one common type. */
void graph_set_type(struct graph *g, const struct elem_type *type);
/* Returns a copy of g in which all tensors have this type. */
const struct graph *graph_with_type(struct arena *a, const struct graph *g,
                                    const struct elem_type *type);

/* Prints one node as a tensor expression, without a newline:
 *   Conv[n][o][h][w] += Inp[n][i][2*h + kh][2*w + kw] * Ker[o][i][kh][kw] */
void node_print(struct str *out, const struct graph *g, int node);
#endif
