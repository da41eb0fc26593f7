/* A module is the unit that is generated, loaded and called (SPEC L.1): kernels, buffers with their
 * lifetimes, and the calls of one run, in order.  An operator becomes a module of one kernel.  If
 * its function has more than MODULE_MOST_NESTS nests, each nest becomes a kernel, because the time
 * to compile a function grows with the square of its length. */
#ifndef TS_MODULE_MODULE_H
#define TS_MODULE_MODULE_H
#include "kernels/gen/gen.h"

#define MODULE_MOST_NESTS 64              /* most nests of one kernel */

/* name: the C function, "conv2d".  In a module of several kernels, the function of kernel k gets
 * the suffix _k (module_symbol). */
struct module_kernel { const char *name; const struct func *func; };

/* A buffer and its lifetime. is: its name, type, shape, and tensor of the graph.  first: the first
 * call that uses the buffer; -1: the caller fills it (inputs and constants).  last: the last call
 * that uses the buffer; n_calls: the caller reads it (outputs). */
struct module_buffer { const struct buffer *is; int first, last; };

/* A call of a kernel. buffer[i]: the buffer of the module that is argument i. */
struct module_call { int kernel; const int *buffer; };

/* A plan that puts the module's own buffers, which the caller neither fills nor reads, into one
 * block of memory.  at[b]: the offset of buffer b in bytes, a multiple of 64; -1: the buffer is the
 * caller's.  bytes: the size of the block.  apart: its size if no two buffers shared memory.
 * least: the most bytes of buffers that are alive in one call; no plan can need less. */
struct module_plan { const int64_t *at; int64_t bytes, apart, least; };

struct module {
    int n_kernels; const struct module_kernel *kernel;
    int n_buffers; const struct module_buffer *buffer;
    int n_calls; const struct module_call *call;
    const struct module_plan *plan;       /* NULL: every buffer is the caller's */
};

/* Returns the module of a lowered program, in the arena of f.  Its buffers are the parameters of f,
 * in the same order. */
const struct module *module_of(const struct func *f);

/* Returns a C name for the kernel of a function, named after its main node or its
 * operator: "conv2d". */
const char *module_kernel_name(const struct func *f);
/* Sets the members `first` and `last` of the buffers b of m.  Requires these values before: first =
 * -1 where the caller fills the buffer, else n_calls; last = n_calls where the caller reads it,
 * else -1. */
void module_lifetimes(const struct module *m, struct module_buffer *b);
/* Plans the memory: places the buffers by size, the largest first, each at the lowest offset at
 * which it fits. */
const struct module_plan *module_plan(struct arena *a, const struct module *m);

/* Generates one translation unit with all kernels, and
 *     void ts_entry(ELEM *const *buffers);
 * which makes the calls of one run.  Without a plan, `buffers` has all buffers of the module.  With
 * a plan, it has the caller's buffers, in order, and then one block of plan->bytes.  With a plan,
 * the unit also has
 *     void ts_apart(ELEM *const *buffers);
 *     void ts_timed(ELEM *const *buffers);
 * ts_apart takes all buffers of the module, each with memory of its own, so that a check can look
 * at intermediates.  ts_timed takes the buffers of ts_entry and one more, of n_calls elements.  If
 * call i takes fewer seconds than element i of this last buffer, ts_timed stores them there.
 *
 * o->name is not used.  Fails as gen_c does. */
bool module_c(const struct module *m, const struct gen_opts *o, struct str *out, struct err *e);
/* Prints the name of kernel k in the unit of module_c. */
void module_symbol(const struct module *m, int k, struct str *out);
bool module_is_parallel(const struct module *m);   /* whether it must be compiled with -fopenmp */

/* Prints kernels, calls and the lifetimes of buffers as text. */
void module_print(const struct module *m, struct str *out);
#endif
