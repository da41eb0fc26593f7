/* ONNX models: reads and checks them, translates their graphs to statements (kernels/ops/graph.h),
 * and gives the data of their tensors.
 *
 * Reading is strict: an error in a file names the node or tensor and the field.  An operator
 * without a corresponding statement is not an error of the file: its node, and the nodes that read
 * its results, get a reason why they are not supported. */
#ifndef TS_ONNX_H
#define TS_ONNX_H
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include "kernels/base/str.h"
#include "kernels/base/vec.h"
#include "kernels/ir/type.h"

#define ONNX_DEPENDS "depends on a result of node "
enum { ONNX_MAX_RANK = 16, ONNX_MAX_BYTES = INT32_MAX /* protobuf's limit */ };

/* A tensor with its data.  Floats of any width are in f, as float32; integers and bools are in i.
 * Both are NULL for other types. */
struct onnx_tensor {
    const char *name;
    int type;                             /* ONNX number of the type (onnx_type_name) */
    int rank;
    int64_t dims[ONNX_MAX_RANK];
    int64_t elems;
    const f32 *f;
    const int64_t *i;
    bool one;  /* whether f or i holds a single number, which is the value of every element */
};

enum onnx_attr_kind { ATTR_INT, ATTR_FLOAT, ATTR_TEXT, ATTR_INTS, ATTR_FLOATS, ATTR_TENSOR,
                      ATTR_OTHER };
struct onnx_attr {
    const char *name, *text;
    enum onnx_attr_kind kind;
    int64_t i;
    double f;
    int n;                                /* number of elements of `ints` or `floats` */
    const int64_t *ints;
    const f32 *floats;
    const struct onnx_tensor *tensor;
};

struct onnx_node {
    /* name: the node's own name, else the name of its first output, else "#" and its index;
     * domain: "" for the default domain, "ai.onnx" */
    const char *name, *op, *domain;
    int n_in, n_out, n_attr;
    const char *const *in, *const *out;   /* "" for an optional input or output that is left out */
    const struct onnx_attr *attr;
};

/* An input or output of the graph.  A dim is open if the model leaves its size free: dims[d] is -1
 * until onnx_set_dims sets it.  dim_name[d] is the model's name for an open dim ("P.1" for a
 * nameless dim 1 of port P), and NULL for other dims.  rank -1: the shape is unknown. */
struct onnx_port {
    const char *name;
    int type, rank;
    int64_t dims[ONNX_MAX_RANK];
    const char *dim_name[ONNX_MAX_RANK];
};

/* The shape that a model declares for a value inside its graph (value_info).  A dim
 * that is open or 0 is -1. */
struct onnx_declared { const char *name; int rank; const int64_t *dims; };

struct onnx_file;
struct onnx_model {
    struct arena *arena;
    void *data;                           /* the bytes of the file; large f32 tensors lie in them */
    const char *file;                     /* path of the file; NULL: read from memory */
    const struct onnx_file *external;     /* files beside the model, with data of tensors */
    const char *name, *producer;  /* names of the graph, and of the program that wrote it or "" */
    int64_t opset, ir;                    /* versions of the operators and of the file format */
    int n_nodes, n_init, n_in, n_out, n_declared;
    const struct onnx_node *node;
    const struct onnx_tensor *init;
    const struct onnx_declared *declared; /* sorted by name */
    struct onnx_port *in, *out;           /* in: the inputs that are not initializers */
    const char *dims;                     /* the text given to onnx_set_dims; NULL: none */
};

const char *onnx_type_name(int type);     /* "float", "int64", ...; "unknown" */
/* Read a model from memory (errors call it `what`) or from a file.  The caller frees *out with
 * onnx_free. */
bool onnx_read(const char *what, const void *data, size_t n, struct onnx_model **out,
               struct err *e);
bool onnx_load(const char *path, struct onnx_model **out, struct err *e);
void onnx_free(struct onnx_model *m);
/* Sets open dims from a text like "batch=1,sequence=128".  Fails when the text has another form,
 * when a size is too large or not positive, or when no open dim of an input has one of the
 * names. */
bool onnx_set_dims(struct onnx_model *m, const char *dims, struct err *e);
void onnx_open_dims(struct onnx_model *m);  /* opens the dims that onnx_set_dims has set */
/* Reads a file with a single tensor, such as test data. */
bool onnx_tensor_load(struct arena *a, const char *path, const struct onnx_tensor **out,
                      struct err *e);

/* A tensor of the imported graph, and the value of the model that it stands for. */
struct onnx_binding {
    const char *tensor, *value;  /* name of the tensor; name of the value ("": not in the model) */
    const struct onnx_tensor *data;  /* of a constant or of given integers, as floats; else NULL */
};
struct onnx_graph {
    struct str text;                      /* the statements; "" when a node is not supported */
    struct str notes;                     /* model, producer, and the assumptions of the import */
    VEC(struct onnx_binding) input, output;  /* input: the inputs and the constants */
    /* n_unsupported does not count nodes whose reason begins with ONNX_DEPENDS */
    int n_nodes, n_unsupported;
    /* per node: why it is not supported; NULL: it is supported.  The reason begins with
     * ONNX_DEPENDS if the node reads a missing result of another node. */
    const char **reason;
    const char **shape;                   /* per node: the shape of its first output, or NULL */
    struct arena *arena;
};
/* Translates a model to statements. given: data of some inputs, for operators whose translation
 * depends on the values of an input (the shape of a Reshape).  An unsupported node is not a
 * failure: it gets an entry in out->reason. */
bool onnx_import(const struct onnx_model *m, const struct onnx_tensor *const *given, int n_given,
                 struct onnx_graph *out, struct err *e);
void onnx_graph_free(struct onnx_graph *g);
/* Returns the data, as floats, of the initializer `name`, or of the value `name` that nodes compute
 * from constants.  Returns NULL when the model has no such constant, when one number (`one`) stands
 * for all elements of a computed value, or when float32 cannot hold one of its integers exactly.
 * The result lives as long as the model.  For a name that ends in ?DIMS, the value is computed with
 * these sizes of open dims (onnx_set_dims). */
const struct onnx_tensor *onnx_constant(struct onnx_model *m, const char *name);
/* Prints a line per node: operator, name, and the shape or why the node is not supported. */
void onnx_print(struct str *out, const struct onnx_model *m, const struct onnx_graph *g);
#endif
