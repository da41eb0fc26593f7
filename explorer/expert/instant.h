/* Schedules for the kernels of a network, without search or measurement: a kernel gets the expert
 * schedule with the largest score (expert.h), or without an expert a plain one (draft.h). */
#ifndef TS_EXPLORER_INSTANT_H
#define TS_EXPLORER_INSTANT_H
#include "explorer/expert/expert.h"
#include "kernels/module/network.h"

struct instant { const struct experts *experts; const struct target *target; int threads; };

/* A network_choose_fn; ctx: a struct instant.  given[n_given]: step lines with the layouts in which
 * the kernel's inputs arrive.  A kernel with an expert ignores them: the expert chooses the
 * layouts.  A kernel without an expert keeps them. */
bool instant_choose(void *ctx, struct arena *a, const char *spec, int n_given,
                    const char *const *given, int *n, const char *const **line, struct err *e);
#endif
