/* Vendor baselines: describe the operator of a graph as a problem for a library, and load the
 * libraries.  A baseline runs in the child process beside the kernel, under the same clock.  Its
 * result is compared with the reference before it is timed, as for any kernel.
 *
 *     vendor_match(graph) -> problem | reason         the measuring process
 *     vendor_load(path) -> plugin | reason            tilescope-runner
 *     plugin->open(problem, buffers) -> handle        untimed: converts to the library's layouts
 *     plugin->run(handle)                             timed
 *     plugin->output(handle)                          untimed: the result in row-major order
 *
 * A problem is plain data without pointers, because it is passed in shared memory. */
#ifndef TS_PROFILE_VENDOR_H
#define TS_PROFILE_VENDOR_H
#include "kernels/ops/graph.h"

enum vendor_library {
#define VENDOR(id, name, title, plugin) VENDOR_##id,
#include "profile/vendor/vendor.def"
#undef VENDOR
    VENDOR_COUNT
};
extern const char *const vendor_name[VENDOR_COUNT];

enum vendor_kind {
#define VENDOR_KIND(id, name) VENDOR_##id,
#include "profile/vendor/problem.def"
#undef VENDOR_KIND
    VENDOR_KIND_COUNT
};
enum vendor_unary {
#define VENDOR_UNARY(id, name) UNARY_##id,
#include "profile/vendor/problem.def"
#undef VENDOR_UNARY
    UNARY_COUNT
};
enum vendor_binary {
#define VENDOR_BINARY(id, name) BINARY_##id,
#include "profile/vendor/problem.def"
#undef VENDOR_BINARY
    BINARY_COUNT
};
enum vendor_reduce {
#define VENDOR_REDUCE(id, name) VENDOR_REDUCE_##id,
#include "profile/vendor/problem.def"
#undef VENDOR_REDUCE
    VENDOR_REDUCE_COUNT
};

/* The role of a tensor in the operator.  WEIGHTS is also the second operand of a matrix
 * multiplication and of a function of two tensors; POST is an operand of a post-operation. */
enum vendor_role {
    ROLE_DATA, ROLE_WEIGHTS, ROLE_BIAS, ROLE_SCALE, ROLE_SHIFT, ROLE_MEAN, ROLE_VARIANCE,
    ROLE_POST, ROLE_OUT
};

#define VENDOR_MAX_TENSORS 16
#define VENDOR_MAX_POSTS 8
#define VENDOR_MAX_AXES 3

/* An input, constant or output of the graph.  Its buffer holds the tensor of the graph, `elems`
 * elements in row-major order.  `shape` and `stride` are how the problem sees the tensor: the
 * element with the indices i[0], i[1], ... is buffer[offset + stride[0]*i[0] + stride[1]*i[1] +
 * ...].
 *
 * The dims of `shape`:
 *     data and result of a convolution, pool or batch normalisation: N, C, X...
 *     weights: [G], O, I, K... (G only when groups > 1); O and I are the channels of one group,
 *         also for transposed convolutions
 *     biases and the vectors of norms: one dim
 *     matrices of a product: B..., M, K times B..., K, N gives B..., M, N
 *     operands of functions: the rank of the data, with extent 1 where they are broadcast */
struct vendor_tensor {
    int32_t role, tensor;                 /* tensor: index in the graph */
    int64_t elems;                        /* number of elements in the buffer */
    int32_t rank, reserved;
    int64_t shape[MAX_RANK], stride[MAX_RANK], offset;
};

/* A post-operation: a function of one float, or of two. tensor: the second operand, as an index
 * into the tensors of the problem; -1: a function of one float. */
struct vendor_post {
    int32_t function, tensor;             /* enum vendor_unary, or enum vendor_binary */
    double alpha, beta;
};

struct vendor_problem {
    /* kind: enum vendor_kind; function: enum vendor_unary, vendor_binary or vendor_reduce */
    int32_t kind, function;
    /* n_axes: number of spatial axes of a convolution or pool. A reduction that a pool can compute
     * has the axes of that pool; other operators have 0. */
    int32_t n_axes, groups;
    int64_t kernel[VENDOR_MAX_AXES], step[VENDOR_MAX_AXES], dilation[VENDOR_MAX_AXES];
    int64_t before[VENDOR_MAX_AXES], after[VENDOR_MAX_AXES];    /* padding; after may be < 0 */
    int32_t axis, n_posts;                /* axis: of softmax and concatenation */
    double alpha, beta;                   /* parameters of functions; alpha: epsilon of norms */
    struct vendor_post post[VENDOR_MAX_POSTS];
    int32_t n_tensors, type;              /* type: of all elements (enum type_row) */
    struct vendor_tensor tensor[VENDOR_MAX_TENSORS];
    char text[128];                       /* "convolution 3x3, bias, relu" */
};

/* Matches a graph: one operator with its padding, a bias and post-operations after the operator
 * (functions of one float or of two).  False: *why says what does not match. */
bool vendor_match(const struct graph *g, struct vendor_problem *out, struct err *why);
/* Whether the library runs on a GPU. It is then timed beside kernels for a GPU, else beside kernels
 * for the CPU. */
bool vendor_on_gpu(enum vendor_library library);
/* Whether this library may have the operator of the problem; if not, *why has the reason.  The
 * plugin can still refuse the problem. */
bool vendor_offers(enum vendor_library library, const struct vendor_problem *p, struct err *why);
/* Returns the bytes of address space that a library may need for the problem, including the code of
 * the library. The caller must raise the memory limit of the child by this much. */
int64_t vendor_bytes(const struct vendor_problem *p, int threads);

/* Parses "onednn,openblas", "all" or "none" to bits 1 << enum vendor_library.  "all" gives
 * VENDOR_ALL, which stands for every library that runs where the kernel runs.  ERR_NAME with the
 * nearest name, or with all names. */
#define VENDOR_ALL ((1u << VENDOR_COUNT) - 1)
bool vendor_parse(const char *text, unsigned *bits, struct err *e);

/* Finds the shared object of a plugin in the folder of `runner` (NULL: of this executable) or in
 * the folder above.  For a built-in plugin, the path is the name of the library.  ERR_ENV: the
 * plugin is not there, because it was not built. */
bool vendor_find(const char *runner, enum vendor_library library, char *path, size_t n,
                 struct err *e);
/* The functions of a plugin (below). */
struct vendor_plugin;
/* Loads a plugin for good. ERR_ENV: its library is missing, or the plugin has another ABI
 * version. */
bool vendor_load(const char *path, const struct vendor_plugin **out, struct err *e);

/* A vendor plugin is built in (gpu_vendor.h), or a shared object that links one library and exports
 * one struct vendor_plugin as VENDOR_PLUGIN_SYMBOL; tilescope-runner runs without that library. */
#define VENDOR_PLUGIN_ABI 1
#define VENDOR_PLUGIN_SYMBOL "tilescope_vendor_plugin"

struct vendor_handle;
struct vendor_plugin {
    uint32_t abi, problem_bytes;          /* VENDOR_PLUGIN_ABI; sizeof(struct vendor_problem) */
    /* Opens a problem: copies inputs if the library needs another layout, creates the primitive and
     * warms it up. If several layouts are tried, times each briefly and keeps the fastest.
     * buffers[i]: the data of p->tensor[i] in row-major order; the buffers must outlive the handle.
     * Returns NULL with a sentence in `why` if the library cannot compute the problem. */
    struct vendor_handle *(*open)(const struct vendor_problem *p, enum vendor_library library,
                                  int threads, void *const *buffers, char *why, size_t why_bytes);
    /* Runs once, without allocating.  Call it on the thread that called open. */
    bool (*run)(struct vendor_handle *h);
    /* Writes the result of a run into the row-major buffer of the output.  Runs once more if runs
     * accumulate into the result. */
    bool (*output)(struct vendor_handle *h);
    /* Return texts such as "oneDNN 2.6.3 brgconv:avx512_core" and "nhwc", valid until close. */
    const char *(*implementation)(const struct vendor_handle *h);
    const char *(*layout)(const struct vendor_handle *h);
    void (*close)(struct vendor_handle *h);                          /* NULL is allowed */
};
#endif
