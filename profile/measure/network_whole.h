/* Checks whether a network is right from end to end (SPEC L.2).  Its outputs y are compared with
 * the float64 evaluation y64 of the whole graph.  The error of a plain float32 evaluation y32 of
 * that graph says how much y and y64 may differ:
 *
 *     max|y - y64| <= 8 max|y32 - y64| + 1e-5 max|y64|
 *
 * Both evaluations are independent of simplifications, kernels, layouts and calls, so a wrong
 * connection of right kernels shows. */
#ifndef TS_PROFILE_NETWORK_WHOLE_H
#define TS_PROFILE_NETWORK_WHOLE_H
#include "profile/measure/measurement.h"
#include "profile/measure/network_values.h"

/* An expected output. allowed: the largest allowed difference. jumps: the output depends on a
 * comparison or floor of inexact values, so that right results may differ by any amount. */
struct whole_output {
    const struct tensor *tensor;
    double *exact;                        /* y64; NAN where y64 or y32 is beyond the type */
    double allowed;
    bool jumps;
};
struct network_whole { int n; struct whole_output *output; };

/* The worst of the outputs so far. abs_err: the largest difference; of_allowed: the largest
 * difference / allowed difference. reason: why an output could not be compared; "" when all were
 * compared. */
struct whole_deviation { double abs_err, of_allowed; char reason[200]; };

/* Returns the most bytes that network_whole_make needs at one time. */
double network_whole_bytes(const struct network *net);
/* Estimates the seconds for checking every call and the whole graph, from the times of the same
 * evaluations of a small matrix product. */
double network_check_estimate(const struct network *net);
/* Evaluates net->whole on the inputs in v and on the constants, which are read or made from the
 * seed.  The values of a tensor that is no output are freed after its last reader, so that large
 * graphs fit into memory. */
bool network_whole_make(const struct network *net, const struct network_values *v, uint64_t seed,
                        const struct progress *pr, const struct cancel *c,
                        struct network_whole *out, struct err *e);
void network_whole_free(struct network_whole *w);

/* Compares an output, and merges its difference into *worst.  ERR_WRONG with the element that
 * differs most.  An output that the data cannot judge counts as right; *worst has the reason. */
bool network_whole_compare(const struct network_whole *w, const char *output, const f32 *got,
                           struct whole_deviation *worst, struct err *e);
#endif
