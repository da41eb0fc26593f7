/* A network as a module of many kernels (SPEC L.1).
 *
 * Each part of the partition is a program of its own, given by its text and step lines.  Equal
 * programs are one task, which is generated once and called several times.  Between kernels, a
 * tensor has the layout in which its kernel writes it.  If the program of a reader wants another
 * layout, a further kernel converts the tensor.  Reshapes of row-major tensors are views and no
 * kernels. */
#ifndef TS_MODULE_NETWORK_H
#define TS_MODULE_NETWORK_H
#include "kernels/module/module.h"
#include "kernels/module/partition.h"
#include "kernels/program/program.h"

struct network_task {
    const char *spec;
    int n_lines;
    const char *const *line;
    const struct program *program;
    const struct func *func;
    int count;                            /* number of calls */
    bool conversion;
};

/* A call of a task. part: the part of the partition that it computes; -1: it is a conversion. */
struct network_call { int task, part; };

enum network_role { NETWORK_INPUT, NETWORK_CONST, NETWORK_OUTPUT, NETWORK_INNER };
/* tensor: the tensor of the graph; -1: the buffer is private to one call. layout: the layout in the
 * buffer; NULL: row-major. The layout's own tensor may have another shape with the same number of
 * elements. */
struct network_buffer { enum network_role role; int tensor; const struct layout *layout; };

struct network {
    const struct graph *graph;
    const struct graph *whole;  /* the definition of the network: graph before simplifications */
    struct partition parts;
    int n_tasks; const struct network_task *task;
    const struct module *module;          /* kernel k is task k; buffers by role, inputs first */
    const struct network_call *call;      /* per call of the module */
    const struct network_buffer *buffer;  /* per buffer of the module */
    int n_conversions;
    int64_t conversion_bytes;             /* bytes that conversions read and write in a run */
};

/* Chooses the step lines of a kernel. given: lines that state the layouts in which its inputs
 * arrive. The chosen lines may set other layouts, which costs a conversion. *line and its texts are
 * allocated in a. */
typedef bool network_choose_fn(void *ctx, struct arena *a, const char *spec, int n_given,
                               const char *const *given, int *n, const char *const **line,
                               struct err *e);

/* Builds the network of a graph of statements in arena a.  The graph is cut into kernels by the
 * given steps (partition.h), which must live as long as a.  An error of a kernel names the
 * kernel. */
bool network_build(struct arena *a, const struct graph *g, int n_steps, const char *const *step,
                   network_choose_fn *choose, void *ctx, const struct network **out,
                   struct err *e);

/* Prints steps, kernels, calls, conversions and the memory plan. */
void network_print(const struct network *n, struct str *out);
#endif
