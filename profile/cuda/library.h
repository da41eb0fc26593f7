/* Libraries of NVIDIA, loaded at run time: this program links none of them, and runs where they are
 * missing. */
#ifndef TS_CUDA_LIBRARY_H
#define TS_CUDA_LIBRARY_H
#include <stddef.h>

#include "kernels/base/err.h"

/* A library. what: its name in messages, such as "NVRTC". variable: name of the environment
 * variable with which the user can choose another file. names: the usual files, the preferred one
 * first, NULL-terminated. fix: how to get the library. */
struct cuda_library {
    const char *what, *variable, *fix;
    const char *names[4];
};
/* A function of a library. to: points to the pointer that receives its address. */
struct cuda_symbol { const char *name; void *to; };

/* Opens a library and looks up n functions.  The library is never unloaded.  ERR_ENV says why it
 * cannot be opened, or which function it lacks. */
bool cuda_library_open(const struct cuda_library *l, const struct cuda_symbol *symbol, int n,
                       struct err *e);
/* Stores the path of the library that contains a function; "" when it is unknown. */
void cuda_library_file(const void *function, char *path, size_t n);
#endif
