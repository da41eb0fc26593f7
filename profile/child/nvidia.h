/* The NVIDIA software on this machine: driver and devices, NVRTC, CUPTI, cuBLAS, cuDNN. Each is
 * queried in a process of its own, `tilescope-runner --nvidia NAME`, since a library can hang or
 * crash while it is loaded. */
#ifndef TS_CHILD_NVIDIA_H
#define TS_CHILD_NVIDIA_H
#include "kernels/base/err.h"

enum nvidia_part {
#define NVIDIA(id, name, what) NVIDIA_##id,
#include "profile/child/nvidia.def"
    NVIDIA_COUNT
};

/* version, path: version and path of the library. detail: for the driver, its devices ("NVIDIA
 * H200, sm_90, 132 multiprocessors, 139 GiB"); for the libraries, "". reason: why the part is not
 * available; fix: how to get it. */
struct nvidia_info {
    const char *name, *what;
    bool available;
    char version[32], path[256], detail[256], reason[400], fix[256];
};

/* Queries one part; waits at most limit_s seconds.  *out is always complete: it has an answer, or
 * the reason why there is no answer. */
#define NVIDIA_LIMIT_S 30.0               /* the first use of a driver can take seconds */
void nvidia_ask(enum nvidia_part part, double limit_s, struct nvidia_info *out);
/* The body of `tilescope-runner --nvidia NAME`.  Returns the exit code. */
int nvidia_answer(int argc, char **argv);
#endif
