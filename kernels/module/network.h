/* A network as a module of many kernels (SPEC L.1).
 *
 * Each part of the partition, unless it is a view or depends on constants only, is a program of its
 * own, given by its text and step lines.  Equal programs are one task, which is generated once and
 * called several times.  A tensor between kernels has the layout in which a kernel writes it.  If
 * the program of a kernel that reads the tensor wants another layout, a conversion kernel is added.
 * A reshape of a row-major tensor needs no kernel: it is a view. */
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
    bool conversion;                      /* whether it only changes the layout of a tensor */
};

/* A call of a task. part: the part of the partition that it computes; -1: it is a conversion. */
struct network_call { int task, part; };

enum network_role { NETWORK_INPUT, NETWORK_CONST, NETWORK_OUTPUT, NETWORK_INNER };
/* A buffer of the module. tensor: the tensor of the graph; -1: the buffer is private to one call.
 * layout: the layout of the tensor in the buffer; NULL: row-major. layout->tensor has the same
 * number of elements as the tensor of the graph, but can have another shape. */
struct network_buffer { enum network_role role; int tensor; const struct layout *layout; };

struct network {
    const struct graph *graph;
    const struct graph *whole;  /* the graph before simplification, if any; else `graph` */
    struct partition parts;
    int n_tasks; const struct network_task *task;
    const struct module *module;          /* kernel k is task k; buffers are sorted by role */
    const struct network_call *call;      /* per call of the module */
    const struct network_buffer *buffer;  /* per buffer of the module */
    int n_conversions;
    /* bytes that conversions read and write in a run, without the padding of layouts */
    int64_t conversion_bytes;
};

/* Chooses the step lines of a kernel. given: lines that set the layouts in which its inputs arrive.
 * The chosen lines can set other layouts, but that costs conversions. The function must allocate
 * *line and its texts in a. */
typedef bool network_choose_fn(void *ctx, struct arena *a, const char *spec, int n_given,
                               const char *const *given, int *n, const char *const **line,
                               struct err *e);

/* Builds the network of a graph of statements in arena a.  The steps cut the graph into kernels
 * (partition.h); their texts must live as long as a.  If a kernel cannot be built, *e names the
 * kernel. */
bool network_build(struct arena *a, const struct graph *g, int n_steps, const char *const *step,
                   network_choose_fn *choose, void *ctx, const struct network **out,
                   struct err *e);

/* Prints steps, kernels, calls, conversions and the memory plan. */
void network_print(const struct network *n, struct str *out);
#endif
