/* The runners of this machine: a child process, tilescope-runner.  Its kernels run on buffers
 * between guard pages (on a GPU: between guards), with limits of time and memory.  One measurement
 * has one runner; a batch uses the same one for many candidates. */
#ifndef TS_PROFILE_CHILD_H
#define TS_PROFILE_CHILD_H
#include "profile/child/runner.h"

extern const struct runner_kind child_runner;
/* A runner whose kernels run on the GPU (profile/cuda/device.h): runner_load takes files of
 * cuda_object_write. It cannot simulate or sample the FMA ceiling, and runner_renew opens a new
 * runner. It has no memory limit, because drivers map large address ranges. */
extern const struct runner_kind device_runner;

/* Finds tilescope-runner: `want` unless it is NULL or empty, else $TILESCOPE_RUNNER, else the file
 * beside this executable or one folder up.  ERR_ENV when it is not there. */
bool child_find_runner(const char *want, char *path, size_t n, struct err *e);
#endif
