/* Compares whole networks, such as a model as it opens and its tuned session, and the same network
 * in programs of others. */
#ifndef TS_PROFILE_NETWORK_COMPARE_H
#define TS_PROFILE_NETWORK_COMPARE_H
#include "kernels/module/network.h"
#include "profile/measure/measure.h"

/* Builds and checks up to MEASURE_MAX_COMPARED networks (measure_network.h), and times those that
 * are right in turns.  Each network has a process of its own; with one thread, all of them run on
 * one CPU.  The commands are programs of others (outside.h) that run the same network on the same
 * CPUs; whether their results are right is not known here.  A round is a short sampling of each
 * contender; their order changes from round to round.  The ratios are of the rounds' medians
 * without their first calls, with the 95 % interval of stats_ratio; each round is an epoch.
 *
 * Outcomes, ratios and verdicts are as in measure_compare: a network that fails is a result, and
 * the others are timed without it.  out[i].m has the times of contender i, the networks first and
 * then the commands.  False, with *e, on a cancel or when the environment lacks something. */
bool measure_compare_networks(const struct network *const *net, int n, const char *const *command,
                              int n_commands, const struct measure_opts *o,
                              const struct progress *pr,
                              const struct cancel *c, struct compared *out,
                              struct comparison *how, struct err *e);
#endif
