/* Builds, checks and times a network (kernels/module/network.h).
 *
 * Check: one run in which every tensor has a buffer of its own between guard pages.  Then the
 * result of each call is compared with the float64 reference of that kernel alone, on the data that
 * the call really read, within the bounds of oracle.h.  So errors do not add up from kernel to
 * kernel, and a wrong kernel is named (SPEC L.2).  Then the outputs are compared with those of the
 * whole graph (network_whole.h).
 *
 * Time: the network is timed as one call, with intermediates in one block as planned.  If its
 * outputs have other bits than those of the check, they are compared with the whole graph again.
 * Finally, the least time of each single call is found. */
#ifndef TS_PROFILE_MEASURE_NETWORK_H
#define TS_PROFILE_MEASURE_NETWORK_H
#include "kernels/module/network.h"
#include "profile/measure/network_whole.h"

/* The author's data of an input or output: elements of the tensor of this name, row-major. */
struct network_given { const char *name; const f32 *data; };

struct network_opts {
    const struct measure_opts *measure;   /* meters, seed, threads, target ... */
    /* Whether to skip the comparisons of each kernel and of the whole graph. The whole graph is
     * still evaluated when outputs of a later run have other bits than those of the first run. */
    bool unchecked;
    /* input: data of some inputs; all other inputs get random data from the seed. expected: outputs
     * that the author of the network expects */
    int n_inputs; const struct network_given *input;
    int n_expected; const struct network_given *expected;
    /* NULL, or where to store the data of constants, inputs and outputs if all results are right
     * (even if other meters were cancelled later).  The caller frees them (network_values_free). */
    struct network_values *values;
};

/* reason: if the outcome is not OK, one sentence, which names the kernel.  call_s: least seconds of
 * each call of the module, in the given arena; NULL: not timed.  kernel: for each task, its
 * measurement by the meters other than the clock (network_meters.h); NULL: none of them was
 * requested. */
struct network_measurement {
    enum outcome outcome;
    char reason[512];
    /* every kernel is right, and no output that was compared differs from the whole graph or from
     * the author's */
    bool verified;
    int wrong_call;                       /* number of the wrong call; -1: no call is wrong */
    /* the largest deviation of any kernel (struct deviation) */
    double max_rel_err, error_of_bound;
    /* whether outputs were compared with the whole graph; whole.reason: why some were not */
    bool whole_compared;
    struct whole_deviation whole;
    bool compared;                        /* whether outputs were compared with the author's */
    /* the worst |got - want|, and the worst |got - want| / (1e-5 + 1e-3 |want|) */
    double author_abs_err, author_of_bound;
    struct latency latency;
    double load;                          /* load of the machine (machine_load); 0: unknown */
    double first_call_ms;  /* the first run in which intermediates share memory */
    double flops, gflops, peak_gflops, peak_fraction;
    const double *call_s;
    const struct measurement *kernel;
    /* Seconds. build_s: compiling; prepare_s: making the data of constants and inputs; check_s:
     * checking each kernel; whole_s: checking the outputs by the whole graph. */
    double build_s, prepare_s, check_s, whole_s;
    char compiler[128]; char isa[16]; int threads; uint64_t seed;
};

/* False, with *e, only on a cancel or when the environment lacks something. */
bool measure_network(struct arena *a, const struct network *net, const struct network_opts *o,
                     const struct progress *pr, const struct cancel *c,
                     struct network_measurement *m, struct err *e);
#endif
