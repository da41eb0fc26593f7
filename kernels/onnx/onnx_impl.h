/* Declarations that the parts of the ONNX importer share.  Only files of kernels/onnx include
 * this.
 *
 * Handlers turn a node into statements.  A statement is first known by its index.  At the end,
 * statements that no output needs are dropped, and the others get names.  A tensor of rank 0
 * becomes a statement of shape 1, while values keep the rank that they have in the model. */
#ifndef TS_ONNX_IMPL_H
#define TS_ONNX_IMPL_H
#include "kernels/ops/graph.h"
#include "kernels/onnx/onnx.h"

/* The numbers of element types in ONNX files; those from 2 to 6 are integer types without a
 * name here.  onnx_is_int compares the numbers (ORDER TYPE). */
enum { TYPE_FLOAT = 1, TYPE_INT64 = 7, TYPE_STRING, TYPE_BOOL, TYPE_FLOAT16, TYPE_DOUBLE,
       TYPE_UINT32, TYPE_UINT64, TYPE_COMPLEX64, TYPE_COMPLEX128, TYPE_BFLOAT16 };
enum {
    MAX_FOLD = 1 << 16,                   /* most elements of a folded constant of integers */
    /* most elements of a folded constant of floats; larger results are computed by statements */
    MAX_FOLD_FLOATS = 64,
    /* if all computed constants together have more elements, further nodes are refused */
    MAX_FOLDED = 1 << 24,
    MAX_STATEMENTS = 8000
};

#define ONNX_MAX_RESULT ((int64_t)1 << 40)       /* most elements of a tensor */

struct shape { int rank; int64_t dim[ONNX_MAX_RANK]; };

struct stmt {
    const char *op, *params;              /* the ops "input" and "const" have no arguments */
    int n_in;
    const int *in;                        /* arguments: indices of statements */
    struct shape shape;
    /* want: the model's name for the result, or NULL; name: the name that the statement gets */
    const char *want, *name;
    const char *value;  /* of op "input" or "const": name of the value in the model, or "" */
    /* data of a constant, or the integers given for an input; else NULL.  They are converted to
     * floats, except while im->folding is set. */
    const struct onnx_tensor *data;
    int node;                             /* index of the node that this statement translates */
    bool live;                            /* whether an output of the model needs it */
};

struct value {
    const char *name;
    int type;
    struct shape shape;
    const struct onnx_tensor *data;  /* of a constant, or integers given for an input; else NULL */
    /* all data given for an input (onnx_import), which onnx_in_floats may read; else NULL */
    const struct onnx_tensor *given;
    int stmt;                             /* index of its statement; -1: none yet */
    int port;                             /* index in m->in if it is an input of the model, or -1 */
    int blocked;                          /* index of an unsupported node it depends on, or -1 */
    int next;                             /* index of the next value in the same bucket; -1: none */
};

struct imp {
    const struct onnx_model *m;
    struct arena *a;
    struct onnx_graph *out;
    VEC(struct stmt) stmt;
    VEC(struct value *) value;            /* each is allocated by itself and never moves */
    int *bucket, n_buckets;               /* hash table of the values by name */
    int64_t folded;  /* elements stored for computed constants; one repeated value counts 0 */
    bool folding;  /* new statements serve to evaluate a constant (onnx_fold) */
    const struct onnx_node *n;            /* the node that is being translated, */
    int node;                             /* and its index */
    /* type of the node's results: that of input 0, or float if input 0 is not numeric; a handler
     * may set another type */
    int type;
    const char *reason;                   /* why the node is not supported; NULL: no reason yet */
};

/* Sets the reason why the node is not supported.  Returns false, so that
 * `return onnx_refuse(...)` is one line. */
bool onnx_refuse(struct imp *im, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

struct value *onnx_find_value(struct imp *im, const char *name);  /* NULL: no value has this name */

/* Whether tensors of this type hold whole numbers (bool: 0 and 1).  Tensors of all numeric types
 * are computed as float32: whole numbers up to 2^24 are exact, and integer constants that float32
 * cannot hold are refused. */
bool onnx_is_int(int type);
bool onnx_is_number(int type);
double onnx_number(const struct onnx_tensor *t, int64_t k);      /* element k */
/* Returns t with its data as floats.  If t has an integer that float32 cannot hold exactly, sets
 * *bad to this integer and returns NULL. */
const struct onnx_tensor *onnx_as_floats(struct arena *a, const struct onnx_tensor *t,
                                         double *bad);

/* Sets the reason: the shape of v is not known.  Returns false. */
bool onnx_shape_unknown(struct imp *im, const struct value *v);

/* Inputs of the node.  If input i is missing, onnx_in_value returns NULL and sets a reason. */
bool onnx_has_in(const struct imp *im, int i);
struct value *onnx_in_value(struct imp *im, int i);
/* Set *s to the statement of input i, or of value v; its result is a tensor of floats. */
bool onnx_in_stmt(struct imp *im, int i, int *s);
bool onnx_value_stmt(struct imp *im, struct value *v, int *s);
/* Reads input i, a constant tensor of integers, into out[max].  Sets *n to their number. */
bool onnx_in_ints(struct imp *im, int i, int64_t *out, int max, int *n);
/* onnx_in_float reads input i, a single constant number; onnx_in_floats reads up to max numbers. */
bool onnx_in_float(struct imp *im, int i, double *out);
bool onnx_in_floats(struct imp *im, int i, double *out, int max, int *n);

/* Attributes. */
const struct onnx_attr *onnx_attr(const struct imp *im, const char *name);
int64_t onnx_attr_int(const struct imp *im, const char *name, int64_t otherwise);
double onnx_attr_float(const struct imp *im, const char *name, double otherwise);
const char *onnx_attr_text(const struct imp *im, const char *name);  /* "" when the node has none */
bool onnx_attr_ints(struct imp *im, const char *name, int64_t *out, int max, int *n);
/* Converts an axis of a tensor of this rank; a negative axis counts from the end. */
bool onnx_axis_in(struct imp *im, int64_t axis, int rank, int *out);

/* Statements.  onnx_emit and its variants append the statements that are needed, and return (or set
 * *out to) the index of the statement that computes the result. fmt: the parameters of that
 * statement, like "axis=%d". */
int onnx_emit(struct imp *im, const char *op, const int *in, int n_in, const struct shape *shape,
              const char *fmt, ...) __attribute__((format(printf, 6, 7)));
int onnx_emit1(struct imp *im, const char *op, int x);  /* the result has the shape of x */
bool onnx_emit2(struct imp *im, const char *op, int x, int y, int *out);/* x and y are broadcast */
/* Reshapes *y for a broadcast with x, if the node has the attributes broadcast=1 and axis= (before
 * opset 7): axis= is the dim of x that the first dim of *y matches. */
bool onnx_old_broadcast(struct imp *im, int x, int *y);
bool onnx_emit_where(struct imp *im, int c, int x, int y, int *out);
int onnx_emit_trunc(struct imp *im, int x);                              /* rounds towards 0 */
int onnx_emit_affine(struct imp *im, int x, double mul, double add);
bool onnx_emit_reshape(struct imp *im, int x, const struct shape *to, int *out);
int onnx_emit_slice(struct imp *im, int x, int axis, int64_t from, int64_t step, int64_t n);
int onnx_emit_reduce(struct imp *im, const char *op, int x, unsigned dims, bool keep);
int onnx_emit_transpose(struct imp *im, int x, const int *perm);
int onnx_emit_expand(struct imp *im, int x, const struct shape *to);
bool onnx_emit_concat(struct imp *im, const int *x, int n, int axis, int *out);
int onnx_emit_pad(struct imp *im, int x, const int64_t *before, const int64_t *after, double value);
void onnx_add_constant(struct imp *im, const struct onnx_tensor *t);
/* onnx_emit_number declares one number as a constant.  onnx_emit_data declares an array that the
 * importer has computed as a constant with the name NODE/what. */
int onnx_emit_number(struct imp *im, double v);
int onnx_emit_data(struct imp *im, const char *what, const struct shape *shape, const f32 *data);
/* Multiplies x by a matrix along one axis.  The matrix has n rows, where n is the extent of the
 * axis in x, and `to` columns; in the result the axis has the extent `to`. */
bool onnx_emit_along(struct imp *im, int x, int axis, const f32 *matrix, int64_t to, int *out);
const struct shape *onnx_shape_of(const struct imp *im, int s);
const char *onnx_shape_text(struct imp *im, const struct shape *s, const char *sep);
int64_t onnx_shape_elems(const struct shape *s);  /* 2^41 if there are more than 2^40 */
struct shape onnx_at_least_1d(const struct shape *s);
/* Returns a list of numbers as text: "1,2,3". */
const char *onnx_list_text(struct imp *im, const int64_t *v, int n);

/* Makes statement s compute output k of the node.  `shape` is the output's shape in the model. */
void onnx_set_out(struct imp *im, int k, int s, const struct shape *shape);
bool onnx_done(struct imp *im, int s);  /* sets output 0 to s; returns true */
void onnx_set_const(struct imp *im, int k, const struct onnx_tensor *t);
bool onnx_wants_out(const struct imp *im, int k);

/* Translates the nodes of one operator.  If a node is not supported, `run` sets a reason; it may
 * return true or false then. */
struct handler { const char *op; bool (*run)(struct imp *im); };
/* Folds a node with constant inputs, or a Shape or Size of any input.  Returns true when it was
 * folded.  Returns false with a reason when the node is not supported, and without a reason when h
 * must translate it. */
bool onnx_fold(struct imp *im, const struct handler *h);

/* Prints statement i with the names t0, t1, ..., and without the data of constants. */
void onnx_print_plain(struct imp *im, struct str *out, int i);
/* Prints the live statements into im->out->text, and sets the bindings of im->out. plain: the
 * tensors are named t0, t1, ..., instead of after the names in the model. */
void onnx_print_text(struct imp *im, bool plain);

/* The handlers of each file.  Each list ends with a row of NULLs. */
extern const struct handler onnx_window_ops[], onnx_math_ops[], onnx_move_ops[],
    onnx_logic_ops[], onnx_index_ops[], onnx_resize_ops[], onnx_einsum_ops[];
#endif
