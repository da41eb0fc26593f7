/* The text of CUDA kernels, which the printer of CUDA C and that of the host twin share. */
#ifndef TS_GEN_CUDA_IMPL_H
#define TS_GEN_CUDA_IMPL_H
#include "kernels/gen/emit.h"

/* A kernel: the items [from, to) of the unit's body.  extent: the numbers of blocks in x y z, then
 * of threads in x y z. */
struct cuda_kernel {
    int from, to;
    int64_t extent[6];
    const char *name;
    bool *touched;                        /* per parameter: whether the kernel uses it */
    /* shared_bytes: of the shared arrays; stack_bytes: the most that the own arrays of a thread
     * take at one time */
    int64_t shared_bytes, stack_bytes;
    bool dynamic;                         /* whether the launch asks for the shared memory */
    bool together;                        /* whether its threads share tiles or tensor blocks */
};

/* An array that the threads of a block share.  It holds one or several tiles, one at a time.
 * largest: the largest of these tiles. */
struct shared_array { const char *name; const struct buffer *largest; };

struct cuda_text {
    struct unit *u;
    struct str kernels, helpers;
    VEC(struct cuda_kernel) list;
    VEC(struct shared_array) shared;      /* arrays of all kernels; the twin names them by index */
};

/* Prints the kernels into t->kernels and their helpers into t->helpers.  twin: whether they are for
 * the host twin, where functions watch the accesses to shared arrays. */
void cuda_open(struct cuda_text *t, struct emit *m, struct unit *u, bool twin);
void cuda_close(struct cuda_text *t, struct emit *m);
#endif
