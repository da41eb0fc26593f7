/* Which GPU this machine has. */
#ifndef TS_PROFILE_DEVICE_H
#define TS_PROFILE_DEVICE_H
#include "profile/cuda/device.h"

/* Asks the driver for the GPU's properties.  Runs in a process of its own, because the driver may
 * hang or crash; waits at most limit_s seconds. runner: the path of tilescope-runner; NULL: finds
 * it (child_find_runner). ERR_ENV says why there is no device, or why it does not work. */
bool device_ask(const char *runner, double limit_s, struct cuda_info *out, struct err *e);
/* Like device_ask, but keeps the answer, and asks again only when $TILESCOPE_CUDA has changed. */
bool device_this(const char *runner, struct cuda_info *out, struct err *e);
#endif
