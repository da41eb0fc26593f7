/* Which GPU this machine has. */
#ifndef TS_PROFILE_DEVICE_H
#define TS_PROFILE_DEVICE_H
#include "profile/cuda/device.h"

/* Asks the driver in a process of its own, which may hang or crash: for at most limit_s seconds.
 * runner: as child_find_runner takes it.  ERR_ENV says why there is no device, or none that works.
 */
bool device_ask(const char *runner, double limit_s, struct cuda_info *out, struct err *e);
/* The same, asked once for each value of $TILESCOPE_CUDA; later calls get the same answer. */
bool device_this(const char *runner, struct cuda_info *out, struct err *e);
#endif
