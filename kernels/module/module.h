/* A module is what is lowered, generated, loaded and called (SPEC L.1): kernels, buffers with their
 * lifetimes, and the calls that make up one run, in order.  An operator is a module of one kernel.
 *
 * A function with very many nests becomes one kernel per nest, since the time that compilers take
 * for one function grows with the square of its length. */
#ifndef TS_MODULE_MODULE_H
#define TS_MODULE_MODULE_H
#include "kernels/gen/gen.h"

#define MODULE_MOST_NESTS 64              /* most nests of one kernel */

/* name: the C function, "conv2d"; in a module of several kernels, kernel k is conv2d_k. */
struct module_kernel { const char *name; const struct func *func; };

/* A buffer. is: its name, type, shape, and tensor of the graph.  first: the first call that uses
 * it, or -1 if the caller fills it (inputs and constants).  last: the last call that uses it, or
 * n_calls if the caller reads it (outputs). */
struct module_buffer { const struct buffer *is; int first, last; };

/* buffer[i]: the buffer of the module that is parameter i of the kernel. */
struct module_call { int kernel; const int *buffer; };

/* The module's own buffers, which no caller sees, lie in one block of memory. at: per buffer its
 * offset in bytes, a multiple of 64; -1: the buffer is the caller's.  bytes: size of the block.
 * apart: the size without sharing memory.  least: the most bytes alive in one call; no plan can
 * need less. */
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

/* Returns a name in C for the kernel of a function: what its main node does. */
const char *module_kernel_name(const struct func *f);
/* Sets first and last of the buffers b of m.  On entry first is -1 where the caller fills the
 * buffer and n_calls elsewhere; last is n_calls where the caller reads it and -1 elsewhere. */
void module_lifetimes(const struct module *m, struct module_buffer *b);
/* Plans the memory: greedy by size, largest first, each at the lowest offset that fits. */
const struct module_plan *module_plan(struct arena *a, const struct module *m);

/* Generates one translation unit with all kernels, and
 *     void ts_entry(ELEM *const *buffers);
 * which makes the calls of one run.  Without a plan, `buffers` are all buffers of the module.  With
 * a plan, they are the caller's buffers, in order, and then one block of plan->bytes.  The unit
 * then also has
 *     void ts_apart(ELEM *const *buffers);
 *     void ts_timed(ELEM *const *buffers);
 * ts_apart takes all buffers of the module, each with memory of its own, so that a check can look
 * at intermediates.  ts_timed takes the buffers of ts_entry and one more, of n_calls elements: it
 * lowers each of these to the seconds of its call, if the call took less.  o->name is not used.
 * Errors as of gen_c. */
bool module_c(const struct module *m, const struct gen_opts *o, struct str *out, struct err *e);
/* Prints the name of kernel k in the unit of module_c. */
void module_symbol(const struct module *m, int k, struct str *out);
bool module_is_parallel(const struct module *m);         /* whether -fopenmp is needed */

/* Prints kernels, calls and the lifetimes of buffers as text. */
void module_print(const struct module *m, struct str *out);
#endif
