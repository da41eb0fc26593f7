/* A measurement of one program, what can be asked for, and how progress is told. */
#ifndef TS_PROFILE_MEASUREMENT_H
#define TS_PROFILE_MEASUREMENT_H
#include "kernels/base/subprocess.h"
#include "kernels/program/program.h"
#include "profile/child/stats.h"
#include "profile/counters/counts.h"
#include "profile/host/machine.h"
#include "profile/sim/sim_result.h"
#include "profile/vendor/vendor.h"

enum outcome {
    OUTCOME_NONE, OUTCOME_OK, OUTCOME_COMPILE, OUTCOME_CRASH, OUTCOME_TIMEOUT, OUTCOME_WRONG,
    OUTCOME_CANCEL, OUTCOME_ENV, OUTCOME_LIMIT,
    OUTCOME_ILL,                         /* neither right nor wrong: the data does not tell */
    OUTCOME_COUNT
};
extern const char *const outcome_name[]; /* "none" "ok" "compile error" "crash" "timeout" ... */

/* Of one call.  runs: samples, each the mean of enough calls to fill 50 us (cold: of one call).
 * spread: (p75 - p25) / median.  noisy: it was above STATS_NOISY, however often samples were taken
 * again.  disturbed: share of the samples in whose round the ceiling was slow (stats_disturbed);
 * NAN: no ceiling was sampled beside them. */
struct latency {
    double median_ms, min_ms, max_ms, p10_ms, p25_ms, p75_ms, p90_ms, spread;
    int runs;
    bool noisy;
    double disturbed;
};

struct event_set;                        /* profile/counters/eventset.h */

/* The same operator by a vendor library, sampled in turns with the kernel.  Not available: reason
 * says why, "" when it was not asked for.  ratio: its minimum over the kernel's, above 1 where the
 * kernel is faster.  It is only timed when its result is the reference's too. */
struct baseline {
    bool available, verified;
    char reason[256];
    double max_rel_err, ratio;
    struct latency latency;
    char implementation[96], layout[80];     /* "oneDNN 2.6.3 brgconv:avx512_core"; "nhwc" */
};

struct measurement {
    enum outcome outcome;
    /* When not OK, one sentence: "crashed: SIGSEGV at a write 4 bytes behind Conv". */
    char reason[512];
    bool verified;                       /* OK, and as near to the reference as float32 can be */
    double max_rel_err, tolerance;       /* |got - ref| / max(|ref|, rms(ref)), worst element */
    double error_of_bound;               /* |got - ref| / what is allowed there, worst element: what
                                          * float32 explains, and at most tolerance (oracle.h);
                                          * above 1 only where plain float32 is off as well */
    struct latency latency;              /* runs == 0: not timed; in hot caches */
    struct latency cold_latency;         /* opts.cold; runs == 0: not timed */
    char cold_method[48];                /* how the caches were emptied */
    /* opts.huge_pages: bytes of the buffers' pages, and how many of them became huge. */
    bool huge_asked;
    int64_t huge_bytes, huge_of_bytes;
    char threads_note[96];               /* more threads than cores */
    /* Minimum latency against the best ceiling sample of the same run, of all threads together;
     * 0 = unknown. */
    double gflops;                       /* of the operator's definition */
    double executed_gflops;              /* without what the kernel skips: taps in the padding */
    double peak_gflops, peak_fraction;
    char peak_reason[160];               /* timed, and still no ceiling to compare with */
    struct baseline baseline[VENDOR_COUNT];
    struct sim_result sim;
    struct counts counts[METER_COUNT];   /* of every meter but the clock and the simulator */
    char compiler[128]; char isa[16]; int threads; double build_s, total_s; uint64_t seed;
};

/* Was a result compared with the reference?  Only then the errors say anything. */
static inline bool measurement_compared(const struct measurement *m)
{
    return m->outcome == OUTCOME_OK || m->outcome == OUTCOME_WRONG || m->outcome == OUTCOME_ILL;
}

struct measure_opts {
    unsigned meters;                     /* METER_ bits; checking always happens */
    unsigned baselines;                  /* 1 << enum vendor_library; they need the clock */
    int threads;                         /* 0 = 1 */
    uint64_t seed;                       /* data */
    double time_s;                       /* how long to sample (0 = 0.3) */
    int min_runs;                        /* 0 = 10 */
    double limit_s;                      /* of one kernel call (0 = 20) */
    bool cold;                           /* time it in cold caches too */
    bool huge_pages;                     /* ask for them for the buffers */
    int64_t memory_bytes;                /* limit of the child beyond the buffers (0 = 1 GiB) */
    struct cache_config cache;           /* all 0 = this host's */
    double sim_budget;                   /* accesses to simulate before sampling (0 = 5e8) */
    struct sim_detail *detail;           /* where to put it (the caller's); NULL = not wanted */
    const struct event_set *set[METER_COUNT];    /* of meters that count events; NULL = their own */
    const char *compiler;                /* NULL = default */
    const struct target *target;         /* what to generate code for; NULL = this CPU's best */
    const char *runner;                  /* NULL = $TILESCOPE_RUNNER, else beside this executable */
};
/* Called from the measuring thread with what is going on ("compiling", "checking", "timing",
 * "timing again", "counting", "simulating, 3 s") and how much of it is done, 0..1; below 0: nobody
 * knows.  Within a phase it never goes back. */
struct progress { void (*report)(void *ctx, const char *what, double fraction); void *ctx; };
#endif
