/* Where a kernel stands under the roofs of its machine (Williams, Waterman and Patterson, CACM
 * 2009): FLOPs per byte against FLOPs per second, of the FLOPs that it executes.
 *
 * A byte is counted where it crosses from one level of memory into the next inner one; every such
 * edge is a roof of its own, bandwidth of the outer level times FLOPs over bytes.  Kernels are
 * timed with hot caches, so nothing comes from beyond the innermost level that holds the whole data
 * set (inputs and outputs once), the kernel's home, and from each level up to there at least the
 * data set less what the caches inside of that level can keep.  What crosses between L1 and L2 the
 * simulator says, if it simulated this machine's L1.  Its word on outer levels is not taken: they
 * are indexed by physical addresses, which nobody knows, so conflicts that it finds there need not
 * happen here, and a roof must not be too low. */
#ifndef TS_PROFILE_ROOFLINE_H
#define TS_PROFILE_ROOFLINE_H
#include "profile/machine/machine_model.h"
#include "profile/measure/measure.h"

#define ROOF_FMA (-1)                    /* of struct roofline.by: the floating point units */

/* from: the outer level of the edge. */
struct roof { enum model_level from; double bytes, intensity, gflops; };

struct roofline {
    double compulsory;                   /* FLOPs per compulsory byte */
    /* FLOPs per byte between L1 and what is behind it when that was simulated, else compulsory. */
    double intensity;
    bool simulated;
    double gflops;                       /* attained at the minimum latency; 0 = not timed */
    /* The rest is 0 without a machine model. */
    enum model_level home;
    double peak;                         /* GFLOP/s of the threads' FMA units */
    int n;
    struct roof roof[MODEL_LEVELS];      /* inwards first */
    double bound;                        /* GFLOP/s: the lowest of peak and roofs; 0 = unknown */
    int by;                              /* ROOF_FMA, or the enum model_level of that roof */
    double fraction;                     /* attained / bound; 0 = unknown */
};

/* model and m may be NULL (unknown).  m is of a graph with that many FLOPs and compulsory bytes
 * (struct graph). */
void roofline_of(const struct machine_model *model, double flops, double bytes,
                 const struct measurement *m, struct roofline *out);
/* Why the model's roofs may be too low: machine_model_doubts of it alone, and an FMA ceiling beside
 * the kernel above its peak.  Empty: nothing known. */
void roofline_doubts(const struct machine_model *model, const struct measurement *m,
                     struct str *out);
const char *roofline_by_name(int by);                    /* "FMA", "L2", ... */
#endif
