/* Schedules for the kernels of a network without any search: the best expert schedule of each, by
 * the experts' own preference. */
#ifndef TS_EXPLORER_INSTANT_H
#define TS_EXPLORER_INSTANT_H
#include "explorer/expert/expert.h"
#include "kernels/module/network.h"

struct instant { const struct experts *experts; const struct target *target; int threads; };

/* A network_choose_fn; ctx: a struct instant. Keeps the layouts of an expert, even if inputs arrive
 * in others. A kernel without an expert reads its inputs in the layouts in which they arrive. */
bool instant_choose(void *ctx, struct arena *a, const char *spec, int n_given,
                    const char *const *given, int *n, const char *const **line, struct err *e);
#endif
