/* A measurement of one program, the options of measuring, and the callback for progress. */
#ifndef TS_PROFILE_MEASUREMENT_H
#define TS_PROFILE_MEASUREMENT_H
#include <math.h>
#include "kernels/base/subprocess.h"
#include "kernels/program/program.h"
#include "profile/child/stats.h"
#include "profile/counters/counts.h"
#include "profile/host/busy.h"
#include "profile/host/machine.h"
#include "profile/sim/gpu_device.h"
#include "profile/sim/sim_result.h"
#include "profile/vendor/vendor.h"

enum outcome {
    OUTCOME_NONE, OUTCOME_OK, OUTCOME_COMPILE, OUTCOME_CRASH, OUTCOME_TIMEOUT, OUTCOME_WRONG,
    OUTCOME_CANCEL, OUTCOME_ENV, OUTCOME_LIMIT,
    OUTCOME_ILL,                         /* neither right nor wrong: the data is ill-conditioned */
    OUTCOME_COUNT
};
extern const char *const outcome_name[]; /* "none" "ok" "compile error" "crash" "timeout" ... */

/* Times of one call, in milliseconds. runs: number of samples, each the mean of enough calls to
 * fill 50 us (on a GPU: 1 ms; cold: one call). spread: (p75 - p25) / median. noisy: the spread is
 * above STATS_NOISY. disturbed: share of the samples in whose round the ceiling was slow
 * (stats_disturbed); NAN when no ceiling was sampled. others: share of the CPUs that other work
 * took meanwhile (host/busy.h); NAN: unknown. */
struct latency {
    double median_ms, min_ms, max_ms, p10_ms, p25_ms, p75_ms, p90_ms, spread;
    int runs;
    bool noisy;
    double disturbed, others;
};

struct event_set;                        /* profile/counters/eventset.h */
struct runner_kind;                      /* profile/child/runner.h */

/* The same operator by a vendor library, sampled in turns with the kernel. If the library is not
 * available, reason says why ("" when it was not asked for). ratio: least time of the library /
 * least time of the kernel; above 1 the kernel is faster. The library is timed only when its result
 * is right. */
struct baseline {
    bool available, verified;
    char reason[256];
    double max_rel_err, ratio;
    struct latency latency;
    char implementation[96], layout[80];     /* "oneDNN 2.6.3 brgconv:avx512_core"; "nhwc" */
};

/* The GPU on which a kernel for a GPU ran. name: "" when it ran on no GPU; reason: why it ran on
 * none. driver: as in struct cuda_info. nvrtc: the version of NVRTC, which compiled the kernel.
 * clock_mhz, memory_mhz: the highest clock rates; 0 = unknown. */
struct measured_device {
    char name[96], driver[16], nvrtc[32], reason[256];
    int clock_mhz, memory_mhz;
};

struct measurement {
    enum outcome outcome;
    /* If the outcome is not OK, one sentence: "crashed: SIGSEGV at a write 4 bytes behind Conv". */
    char reason[512];
    /* true: the outcome is OK, and the result is as near to the reference as float32 allows */
    bool verified;
    /* max_rel_err: |got - ref| / max(|ref|, rms(ref)) of the worst element; tolerance: its limit
     * (oracle_tolerance) */
    double max_rel_err, tolerance;
    /* |got - ref| / bound of the worst element. The bound is the largest error that arithmetic in
     * the type can cause, at most tolerance (oracle.h). Values above 1 are accepted only if the
     * second opinion of oracle_compare explains them. */
    double error_of_bound;
    struct latency latency;              /* times with hot caches; runs == 0: not timed */
    struct latency cold_latency;         /* with cold caches (opts.cold); runs == 0: none */
    char cold_method[48];                /* how the caches were emptied */
    /* huge_asked: opts.huge_pages. huge_of_bytes: bytes of the pages of the buffers; huge_bytes:
     * how many of them are in huge pages; both are 0 if huge_asked is false. */
    bool huge_asked;
    int64_t huge_bytes, huge_of_bytes;
    char threads_note[96];               /* a note when there are more threads than cores */
    /* Speeds of all threads together in GFLOP/s; 0 = unknown. gflops, executed_gflops: those of the
     * kernel at its minimum latency. peak_gflops: the best ceiling sample of the same run.
     * peak_fraction: executed_gflops / peak_gflops. */
    double gflops;                       /* counting the FLOPs of the definition of the operator */
    double executed_gflops;  /* excludes FLOPs that the kernel skips, such as taps in the padding */
    double peak_gflops, peak_fraction;
    char peak_reason[160];  /* why the ceiling is missing although the kernel was timed */
    /* measurements: how often this program was timed in the same way. measurement_merge chooses
     * which of these times `latency` has. load: the mean number of running processes in the minute
     * before this time was measured (0 = unknown). measured_at: when it was measured, in UTC. */
    double load;
    int measurements;
    char measured_at[24];
    struct baseline baseline[VENDOR_COUNT];
    struct measured_device device;
    struct sim_result sim;
    struct counts counts[METER_COUNT];   /* by meter, except the clock and the simulator */
    /* code: target_code in hexadecimal, which differs where the generated code or its flags differ;
     * "" = unknown */
    char compiler[128], code[20], isa[16]; int threads; double build_s, total_s; uint64_t seed;
};

/* Whether a result was compared with the reference. The errors have a meaning only in that case.  A
 * kernel that writes outside its buffers is wrong without a comparison. */
static inline bool measurement_compared(const struct measurement *m)
{
    return !isnan(m->max_rel_err) && (m->outcome == OUTCOME_OK || m->outcome == OUTCOME_WRONG
                                      || m->outcome == OUTCOME_ILL);
}

static inline bool latency_spreads(const struct latency *l)
{
    return l->noisy || l->spread > STATS_NOISY;
}

/* Whether the best time is far below the median, although the middle half may be narrow. */
static inline bool latency_best_is_rare(const struct latency *l)
{
    return l->median_ms > l->min_ms * (1 + STATS_NOISY);
}

/* Whether the samples spread so much that the best time is doubtful. */
static inline bool latency_noisy(const struct latency *l)
{
    return l->runs > 0 && (latency_spreads(l) || latency_best_is_rare(l));
}

/* Whether other work took so much of the CPUs meanwhile that it may have slowed the kernel. */
static inline bool latency_beside_others(const struct latency *l)
{
    return l->runs > 0 && l->others >= BUSY_MUCH;
}

/* Whether a quiet machine would probably give other times. */
static inline bool latency_doubtful(const struct latency *l)
{
    return latency_noisy(l) || latency_beside_others(l);
}

static inline bool measurement_noisy(const struct measurement *m)
{
    return latency_doubtful(&m->latency);
}
/* Whether both kernels were built and run in the same way, so that their times can be compared. */
bool measurement_same_way(const struct measurement *a, const struct measurement *b);
/* Completes the new measurement *m from an older one of the same program. Takes the older values
 * that *m did not measure. Unless `newest` is true, also takes the older time if it is faster, and
 * the older baselines if *m has none. Together with an older time, takes the older baselines if
 * there are any, because a ratio compares times that were sampled in turns. Does nothing when `old`
 * is NULL, when either measurement is not OK, or when they were measured in different ways. Returns
 * whether *m had a time and the older one replaced it. */
bool measurement_merge(struct measurement *m, const struct measurement *old, bool newest);

struct measure_opts {
    unsigned meters;                     /* METER_ bits; checking always happens */
    unsigned baselines;                  /* 1 << enum vendor_library; baselines need the clock */
    int threads;                         /* threads of the kernel; 0 = 1 */
    uint64_t seed;                       /* seed of the random data */
    double time_s;                       /* how long to sample (0 = 0.3) */
    int min_runs;                        /* least number of samples; 0 = 10 */
    double limit_s;                      /* time limit of one kernel call (0 = 20) */
    bool cold;                           /* whether to time the kernel with cold caches too */
    bool huge_pages;                     /* ask for huge pages for the buffers */
    /* For a search on a GPU: the kernel is checked and timed on the GPU at once, without its host
     * twin. The search later checks only the best kernels for races by their host twins, in a
     * measurement without the clock. No effect without a GPU. */
    bool twin_later;
    int64_t memory_bytes;                /* limit of the child beyond the buffers (0 = 1 GiB) */
    struct cache_config cache;           /* simulated cache; all 0 = the caches of `machine` */
    /* the GPU to simulate when the target is a GPU; NULL = the default one */
    const struct gpu_device *gpu;
    double sim_budget;  /* number of accesses above which a sample is simulated (0 = 5e8) */
    /* where to store the simulator's detail (owned by the caller); NULL = not wanted */
    struct sim_detail *detail;
    /* event sets of the meters; NULL = the default set */
    const struct event_set *set[METER_COUNT];
    const char *compiler;                /* command of the compiler; NULL = the default one */
    /* target of the code; NULL = CUDA for loops bound to a GPU, else the best of `machine` */
    const struct target *target;
    const struct runner_kind *runner;    /* where kernels run; NULL = in a child process here */
    /* path of tilescope-runner; NULL = $TILESCOPE_RUNNER, else the file beside this program */
    const char *runner_path;
    const struct machine *machine;       /* where the runner runs; NULL = this machine */
};
/* Called from the measuring thread with the current phase ("compiling", "checking", "timing",
 * "timing again", "simulating", "checking, 3 s") and how much of it is done, 0..1, or below 0 when
 * that is unknown. The fraction never decreases within a phase, except that each repetition of
 * "timing again" starts at 0. */
struct progress { void (*report)(void *ctx, const char *what, double fraction); void *ctx; };
#endif
