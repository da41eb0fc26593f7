/* The roofline model (Williams, Waterman and Patterson, CACM 2009): FLOPs per byte against FLOPs
 * per second, counting the FLOPs that the kernel executes.
 *
 * Bytes are counted where they move from one level of memory into the next inner level. The
 * bandwidth of the outer level times FLOPs over bytes is a roof. The home of a kernel is the
 * innermost level that holds its whole data set (inputs and outputs once). Kernels are timed with
 * hot caches, so nothing comes from outside of the home. From the home, and from each level inside
 * of it, a call fetches at least the data set minus what the caches inside of that level hold.
 *
 * The bytes between L1 and L2 come from the simulator, if it simulated the L1 of this machine. The
 * simulator's results for outer levels could make a roof too low, and are not used: outer caches
 * are indexed by physical addresses, which are unknown, so a simulated conflict need not occur. */
#ifndef TS_PROFILE_ROOFLINE_H
#define TS_PROFILE_ROOFLINE_H
#include "kernels/gen/gen.h"
#include "profile/machine/machine_model.h"
#include "profile/measure/measure.h"

#define ROOF_FMA (-1)                    /* value of struct roofline.by: the floating point units */

/* A roof. from: the outer level, from which the bytes come; bytes: number of bytes per call;
 * intensity: FLOPs per byte; gflops: the height of the roof. */
struct roof { enum model_level from; double bytes, intensity, gflops; };

struct roofline {
    double compulsory;                   /* FLOPs per compulsory byte */
    /* FLOPs per byte between L1 and the level below, if that was simulated; else `compulsory`. */
    double intensity;
    bool simulated;
    double gflops;  /* GFLOP/s at the minimum latency; 0 = not timed */
    /* Without a machine model or FLOPs, and for a GPU, the following members are 0, and `by` is
     * ROOF_FMA. */
    enum model_level home;
    double peak;                         /* GFLOP/s of the FMA units of the threads */
    int n;
    struct roof roof[MODEL_LEVELS];      /* innermost first */
    double bound;                        /* GFLOP/s: the lowest of peak and roofs; 0 = unknown */
    int by;                              /* ROOF_FMA, or the enum model_level of the lowest roof */
    double fraction;                     /* gflops / bound; 0 = unknown */
};

/* Computes the roofline of measurement m. `model` and m may be NULL (unknown). flops, bytes: the
 * members of struct graph. */
void roofline_of(const struct machine_model *model, double flops, double bytes,
                 const struct measurement *m, struct roofline *out);
/* Predicts the milliseconds of one thread before anything is compiled: the time of `cycles` (struct
 * gen_work, out_of_order), and that of loading `miss_bytes` from L2, which partly overlap: the root
 * of the sum of their squares.  0: the model lacks the peak of this instruction set, or the
 * bandwidth of L2.  The clock is that of the instruction set with the fastest lanes.  One whose
 * lanes are half as fast executes its vectors in two halves.
 *
 * For 80 nests of a gmm and c2d with a few random steps on a Zen 4, the rank correlation with
 * measured times was 0.78, and eight in ten took 0.77 to 2 times as long as predicted. */
double roofline_predict_ms(const struct machine_model *model, const char *isa,
                           struct gen_cycles cycles, double miss_bytes);
/* Appends the reasons why the roofs of the model may be too low: the findings of
 * machine_model_doubts, and an FMA ceiling of m that was faster than the peak of the model. Appends
 * nothing when there is no reason. */
void roofline_doubts(const struct machine_model *model, const struct measurement *m,
                     struct str *out);
const char *roofline_by_name(int by);                    /* "FMA", "L2", ... */
#endif
