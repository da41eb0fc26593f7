/* Compiles CUDA C for a GPU with NVRTC, which is loaded at run time: nothing links an NVIDIA
 * library, and no GPU or driver is needed.  $TILESCOPE_NVRTC names another library file. */
#ifndef TS_BUILD_NVRTC_H
#define TS_BUILD_NVRTC_H
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include "kernels/gen/gen.h"
#include "profile/sim/gpu_device.h"

/* A compiled kernel. threads: the most threads of a block (its launch bounds). stack: bytes of
 * local memory per thread, for arrays and spilled registers; shared: bytes of shared memory per
 * block. */
struct gpu_kernel { const char *name; int threads, registers; int64_t stack, shared; };
struct gpu_build {
    char version[32], arch[16];           /* "13.0", "sm_90" */
    int n; const struct gpu_kernel *kernel;
    const char *ptx;
    const unsigned char *cubin; size_t bytes;
};
/* Whether NVRTC can be loaded; else ERR_ENV with the reason. */
bool nvrtc_there(struct err *e);
/* Stores the version of NVRTC, "13.0". */
bool nvrtc_version(char version[32], struct err *e);
/* Stores NVRTC's version and the address of one of its functions; cuda_library_file finds the file
 * of the library from this address. */
bool nvrtc_find(char *version, size_t n, const void **function, struct err *e);
/* Compiles source for an architecture such as "sm_90".  The texts, kernels and cubin of *out lie in
 * a.  ERR_COMPILE has the first error of the log, with its line.  ERR_ENV: NVRTC does not work. */
bool nvrtc_build(struct arena *a, const char *source, const char *arch, struct gpu_build *out,
                 struct err *e);
/* Like nvrtc_build, but the cubin also has a line table, which gives the source line of each
 * instruction. */
bool nvrtc_build_lines(struct arena *a, const char *source, const char *arch,
                       struct gpu_build *out, struct err *e);

/* Adds to `shared` of each kernel the dynamic shared memory of the kernel's launch.  A cubin tells
 * only the static shared memory. */
void gpu_build_launches(struct arena *a, struct gpu_build *b, const struct gen_launches *l);

/* The limits of a multiprocessor of an architecture (CUDA C++ Programming Guide, "Compute
 * Capabilities"). shared: bytes of shared memory. A warp gets registers in multiples of
 * register_unit, a block gets shared memory in multiples of shared_unit bytes. */
struct gpu_limits { int warps, blocks, registers, register_unit; int64_t shared, shared_unit; };
extern const struct gpu_limits gpu_sm_90;
/* Returns the limits of a multiprocessor of a device: those of sm_90, but with the shared memory of
 * the device.  This is right for all rows of gpu.def. */
struct gpu_limits gpu_limits_of(const struct gpu_device *d);
/* Returns the occupancy of a kernel: how many of its warps fit on a multiprocessor at a time, as a
 * share (0 to 1) of g->warps. Registers, shared memory, blocks and warps limit it. */
double gpu_occupancy(const struct gpu_limits *g, const struct gpu_kernel *k);
#endif
