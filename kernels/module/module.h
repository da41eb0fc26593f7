/* A module is what is lowered, generated, loaded and called (SPEC L.1): kernels, buffers with their
 * lifetimes, and the calls that make up one run, in order.  An operator is a module of one kernel.
 *
 * A function of very many nests becomes a kernel for each nest, since the time that compilers take
 * for one function grows with the square of its length. */
#ifndef TS_MODULE_MODULE_H
#define TS_MODULE_MODULE_H
#include "kernels/gen/gen.h"

#define MODULE_MOST_NESTS 64              /* most nests of one kernel */

/* name: the C function, "conv2d"; in a module of several kernels, kernel k is conv2d_k. */
struct module_kernel { const char *name; const struct func *func; };

/* is: name, type, shape, and the tensor of the graph.  Call `first` is the first to write the
 * buffer; -1: the caller fills it (inputs and constants).  Call `last` is the last to use it;
 * n_calls: the caller reads it (outputs). */
struct module_buffer { const struct buffer *is; int first, last; };

/* buffer[i]: the buffer of the module that is parameter i of the kernel. */
struct module_call { int kernel; const int *buffer; };

struct module {
    int n_kernels; const struct module_kernel *kernel;
    int n_buffers; const struct module_buffer *buffer;
    int n_calls; const struct module_call *call;
};

/* Returns the module of a lowered program, in the arena of f.  Its buffers are the parameters of f,
 * in the same order. */
const struct module *module_of(const struct func *f);

/* One translation unit with all kernels, and
 *     void ts_entry(ELEM *const *buffers);         makes the calls
 * o->name is not used.  Errors as of gen_c. */
bool module_c(const struct module *m, const struct gen_opts *o, struct str *out, struct err *e);
/* Prints the name of kernel k in that unit. */
void module_symbol(const struct module *m, int k, struct str *out);
bool module_is_parallel(const struct module *m);         /* whether -fopenmp is needed */

/* Prints kernels, calls and the lifetimes of buffers as text. */
void module_print(const struct module *m, struct str *out);
#endif
