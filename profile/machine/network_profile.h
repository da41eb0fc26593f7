/* The rooflines of a network's kernels. As in roofline.h, a kernel reads its data from the
 * innermost memory that holds all the data: the kernels that produced the data, or the previous
 * call of this kernel, may have left them there. Kernels that run in between can only make this
 * kernel slower. Therefore no schedules can make the network faster than the sum of the bounds over
 * all calls. */
#ifndef TS_PROFILE_NETWORK_PROFILE_H
#define TS_PROFILE_NETWORK_PROFILE_H
#include "kernels/module/network.h"
#include "profile/machine/roofline.h"

/* The profile of all calls of one task.  flops: operations of the definition; executed: `flops`
 * without those that the task's code does not need (func_needed); bytes: inputs, constants and
 * results, once per call; bound_s: least seconds, 0 = unknown; by: as in struct roofline. */
struct kernel_profile { double flops, executed, bytes, bound_s; int by; };

/* Stores the profile of each task in out[].  Without a model (NULL) the bounds are unknown.  isa:
 * the instruction set of the code; "" = the one with the highest peak. */
void network_profile(const struct machine_model *model, const struct network *net, int threads,
                     const char *isa, struct kernel_profile *out);
/* Returns the sum of the known bounds in seconds; 0 = all are unknown. */
double network_profile_bound(const struct network *net, const struct kernel_profile *p);
#endif
