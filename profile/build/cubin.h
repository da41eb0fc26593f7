/* Compiles CUDA C to a file that a runner on a GPU loads (profile/cuda/object.h), and caches it by
 * content. */
#ifndef TS_BUILD_CUBIN_H
#define TS_BUILD_CUBIN_H
#include "profile/build/build.h"
#include "profile/cuda/object.h"

/* Compiles source by NVRTC for an architecture such as "sm_90", or takes the file from the cache
 * that build_shared uses too.  Stores NVRTC's version in `version`.  ERR_ENV: there is no NVRTC.
 * ERR_COMPILE: NVRTC refused the source. */
bool cubin_build(const char *source, const struct gen_launches *launches, const char *arch,
                 const struct cancel *c, struct build *out, char version[32], struct err *e);
#endif
