/* Compares whole networks, such as an ONNX model as first opened and a tuned session of it. Outside
 * programs that run the same network can take part. */
#ifndef TS_PROFILE_NETWORK_COMPARE_H
#define TS_PROFILE_NETWORK_COMPARE_H
#include "kernels/module/network.h"
#include "profile/measure/measure.h"

/* Builds and checks networks for the CPU (measure_network.h), and times the right ones in turns.
 * Each network has a process of its own; with one thread, all of them run on one CPU. The commands
 * are outside programs (outside.h) that run the same network on the same CPUs; their results are
 * not checked. There may be at most MEASURE_MAX_COMPARED networks and commands together.
 *
 * A round is a short sampling of each contender; their order changes from round to round. A ratio
 * compares the contenders by their medians in each round, usually without the first call of each
 * turn. It has the 95 % interval of stats_ratio; each round is an epoch.
 *
 * Outcomes, ratios and verdicts are as in measure_compare, but same_code is not set. A network that
 * fails is a result, and the others are timed without it. out[i].m has the times of contender i;
 * the networks come first, then the commands. False, with *e, on a cancel, when the
 * environment lacks something, or when the contenders cannot be compared (ERR_RANGE). */
bool measure_compare_networks(const struct network *const *net, int n, const char *const *command,
                              int n_commands, const struct measure_opts *o,
                              const struct progress *pr,
                              const struct cancel *c, struct compared *out,
                              struct comparison *how, struct err *e);
#endif
