/* The C of a kernel, run with pointers that write down every access: what really happens, to
 * compare the trace with.  The text is compiled as C++, with classes for its pointers. */
#ifndef TS_TESTS_TOUCH_H
#define TS_TESTS_TOUCH_H
#include "kernels/gen/gen.h"

/* For a GPU also: the place in the code, the launch and its block, the thread of the block, and a
 * number for the iterations of the loops around, counted from 0 in each.  is_store has TOUCH_SHARED
 * as well where the place is in shared memory; `at` is then its offset, TOUCH_TILE a buffer. */
#define TOUCH_SHARED 2u
#define TOUCH_TILE 65536
struct touch {
    const float *at; unsigned is_store, bytes;
    const void *site; unsigned launch, block, thread; unsigned long long turn;
};

/* Appends unit number i of a C++ source (touch_prologue stands first). */
extern const char touch_prologue[];
void touch_unit(struct str *out, const struct func *f, const char *c_text, int i);

/* Appends CUDA C, whose launches run thread by thread.  touch_half_prologue, for elements of 16
 * bits and tensor blocks, stands after the first one. */
extern const char touch_half_prologue[];
void touch_cuda(struct str *out, const struct func *f, const char *cuda_text, int i);

/* Compiles the source and finds the n functions touch_<i>(buffers, to): they run a kernel on
 * buffers (one per buffer of the function, locals too), write the accesses to `to` and return
 * their number. */
typedef long touch_fn(void *const *buffers, struct touch *to);
void touch_compile(const char *cxx, const char *source, int n, touch_fn **fn);
#endif
