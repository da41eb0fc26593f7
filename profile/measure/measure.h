/* Build, check, time and count one program: the only way a number gets into tilescope.
 *
 * The kernel runs in a child process (tilescope-runner) with time and memory limits on buffers
 * fenced by guard pages.  It is compared with the float64 reference on random data before it is
 * timed, and so is what later calls leave: a wrong kernel has no time.  Kernel and FMA ceiling are
 * sampled alternately, the ceiling in a process of its own, so peak_fraction is a ratio of one run
 * (PERF.md, noise). */
#ifndef TS_PROFILE_MEASURE_H
#define TS_PROFILE_MEASURE_H
#include "kernels/program/program.h"
#include "profile/counters/counts.h"
#include "profile/host/machine.h"
#include "profile/sim/sim_result.h"
#include "profile/child/stats.h"
#include "profile/vendor/vendor.h"

enum outcome {
    OUTCOME_NONE, OUTCOME_OK, OUTCOME_COMPILE, OUTCOME_CRASH, OUTCOME_TIMEOUT, OUTCOME_WRONG,
    OUTCOME_CANCEL, OUTCOME_ENV, OUTCOME_LIMIT,
    OUTCOME_ILL,                         /* neither right nor wrong: the data does not tell */
    OUTCOME_COUNT
};
extern const char *const outcome_name[]; /* "none" "ok" "compile error" "crash" "timeout" ... */

enum meter_id {
#define METER(id, name, on, what) METER_ID_##id,
#include "profile/measure/meters.def"
    METER_COUNT
};
enum meter_mask {
#define METER(id, name, on, what) METER_##id = 1 << METER_ID_##id,
#include "profile/measure/meters.def"
};

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
    const char *isa;                     /* "avx2": build for it; NULL = this CPU's best */
    const char *runner;                  /* NULL = $TILESCOPE_RUNNER, else beside this executable */
};
/* Called from the measuring thread with what is going on ("compiling", "checking", "timing",
 * "timing again", "counting", "simulating, 3 s") and how much of it is done, 0..1; below 0: nobody
 * knows.  Within a phase it never goes back. */
struct progress { void (*report)(void *ctx, const char *what, double fraction); void *ctx; };

/* Fills *m in every case (outcome and reason say how it went).  False only when the environment
 * lacks something or on a cancel, with *e; a bad candidate is a result, not an error. */
bool measure_program(const struct program *p, const struct measure_opts *o,
                     const struct progress *pr, const struct cancel *c, struct measurement *m,
                     struct err *e);

/* Programs against each other: each is built and checked as above, then all that are right are
 * timed in one child, in shuffled rounds, each against the first of them.  The clock is the only
 * meter; time_s 0 = 1.  Up to MEASURE_MAX_COMPARED; the same program may be there twice.  A program
 * that fails is a result, and the others are timed without it.  ratio 0 and VERDICT_NONE: the
 * first, or not timed. */
#define MEASURE_MAX_COMPARED 6
struct compared {
    struct measurement m;
    struct ratio ratio;                  /* of its time over the first one's */
    enum verdict verdict;
};
/* Rounds that were sampled, and the sittings that they were drawn in (stats_ratio's blocks). */
struct comparison { int rounds, sittings; double disturbed; };
bool measure_compare(const struct program *const *p, int n, const struct measure_opts *o,
                     const struct progress *pr, const struct cancel *c, struct compared *out,
                     struct comparison *how, struct err *e);

/* The generated C and its assembly, as measured (same target, same flags).  The comment at the head
 * of the C says which; its vector helpers are macros, so that other flags bring no warning. */
bool program_c_text(const struct program *p, struct str *out, struct err *e);
bool program_asm_text(const struct program *p, const char *compiler, const struct cancel *c,
                      struct str *out, struct err *e);

/* The meters, each with an honest probe: `tilescope meters`. */
struct meter_info { const char *name, *what; bool available; char reason[256]; };
int meters_probe(struct meter_info *out, int max);

extern const char *const meter_name[METER_COUNT];
unsigned meters_default(void);                 /* METER_ bits of those asked for by default */
/* "l1,papi-sw": the event sets of o->set, whose meters are then asked for.  They live in a.  As
 * event_set_find, and ERR_RANGE when two are of one meter. */
bool meters_events(struct arena *a, const char *text, struct measure_opts *o, struct err *e);
/* "clock,sim" or "none" -> bits.  ERR_NAME with the nearest one. */
bool meters_parse(const char *text, unsigned *bits, struct err *e);

/* The body of the tilescope-runner executable: serves one parent over the inherited descriptor.
 * Returns its exit code. */
int runner_main(int argc, char **argv);
#endif
