/* A compiled module of a GPU as a file: the launches of one run, then the cubin.  The measuring
 * process writes the file, and the process that may call the driver reads it.
 *
 *     tilescope cuda 2
 *     launch NAME BLOCKS_X BLOCKS_Y BLOCKS_Z THREADS_X THREADS_Y THREADS_Z SHARED N BUFFER...
 *     cubin BYTES
 *
 * and then the bytes of the cubin.  SHARED: bytes of dynamic shared memory.  N: how many
 * BUFFERs follow; each is the number of a buffer of the contender. */
#ifndef TS_CUDA_OBJECT_H
#define TS_CUDA_OBJECT_H
#include <stddef.h>

#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include "kernels/base/str.h"
#include "kernels/gen/gen.h"

#define CUDA_MAX_ARGUMENTS 128
struct cuda_object { struct gen_launches launches; const void *cubin; size_t bytes; };

void cuda_object_write(struct str *out, const struct cuda_object *o);
/* Parses n bytes of data, the content of such a file.  The launches are allocated in a; out->cubin
 * points into data.  Bytes after the cubin are ignored.  ERR_COMPILE when the file has another
 * form, or a BUFFER is not below n_buffers. */
bool cuda_object_read(struct arena *a, const char *data, size_t n, int n_buffers,
                      struct cuda_object *out, struct err *e);
#endif
