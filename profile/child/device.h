/* Which GPU this machine has. */
#ifndef TS_PROFILE_DEVICE_H
#define TS_PROFILE_DEVICE_H
#include "profile/cuda/device.h"

/* Asks the driver in a process of its own, because the driver may hang or crash; waits at most
 * limit_s seconds. runner: as for child_find_runner. ERR_ENV says why there is no device, or no
 * working one. */
bool device_ask(const char *runner, double limit_s, struct cuda_info *out, struct err *e);
/* Like device_ask, but asks only once for each value of $TILESCOPE_CUDA; later calls get the same
 * answer. */
bool device_this(const char *runner, struct cuda_info *out, struct err *e);
#endif
