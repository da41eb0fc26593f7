/* Tunes a network: one search for each distinct kernel that can still become faster (SPEC L.3). */
#ifndef TS_SESSIONS_NETWORK_TUNING_H
#define TS_SESSIONS_NETWORK_TUNING_H
#include "profile/measure/measure_network.h"
#include "sessions/tuning/tuning.h"

enum { NETWORK_BUDGET = 20000 };
/* The parts of schedules that may change (SPEC C.5).  PACKED: layouts of constants, and loops;
 * activations keep their layouts, which the experts chose at first.  ALT, WP: also layouts of
 * activations, in a joint stage along the graph; WP does not propagate a layout downstream.  OL:
 * only loops.  LOOPS: only loops, with row-major activations. */
enum network_variant { NETWORK_PACKED, NETWORK_ALT, NETWORK_WP, NETWORK_OL, NETWORK_LOOPS };
/* Finds a variant by its name: packed, alt, wp, ol or loops. */
bool network_variant_find(const char *name, enum network_variant *out, struct err *e);
struct network_tuning_view;
/* budget: measurements of all searches together (0: NETWORK_BUDGET). time_s: if set, a limit in
 * seconds for everything (network_time.h); the budget is then ignored.  each: options of every
 * search; its members budget, joint, time_s, pin, resume, no_ledger and baselines are ignored. */
struct network_tuning_opts {
    struct tuning_opts each;
    enum network_variant variant;
    int budget;
    double time_s;
    /* Called to save the session with its new schedules; may be NULL. */
    bool (*save)(void *ctx, struct session *s, struct err *e);
    /* Called when a round begins, and after the last one; may be NULL. */
    void (*show)(void *ctx, const struct network_tuning_view *v);
    void *ctx;
    const struct progress *progress;
    const struct search_sink *view;       /* may be NULL */
};

/* A kernel and the result of its search.  Kernel i of a list belongs to task i of the network.
 * Times are milliseconds of all its calls in one run of the network. bound_ms: the least time by
 * the roofline. */
struct tuned_kernel {
    const char *spec, *brief;             /* the operator as text, and shorter (network_report.h) */
    int count, trials, rounds;
    double before_ms, after_ms, bound_ms;
    double gain_ms, expected_ms;  /* the time gained so far, and what the next round may gain */
    const char *why;                      /* why it was not searched; NULL: it was searched */
    bool late;                   /* whether time or budget was lacking for its search */
    /* whether it was not searched, but its schedule compared with the instant one (instant.h) */
    bool instant;
    bool kept;                            /* whether it got a new schedule */
};
/* The state of the tuning.  current: the task whose round begins; -1: no round begins.  now_ms:
 * before_ms minus the time gained so far.  expected_ms: the most that the next round of any task
 * may gain. */
struct network_tuning_view {
    int n; const struct tuned_kernel *kernel;
    int round, current;
    int spent, budget;  /* numbers of trials; budget 0: only the time is limited */
    double spent_s, time_s;
    double before_ms, now_ms, expected_ms;
};
struct network_tuning {
    int n; const struct tuned_kernel *kernel;
    /* the measurement of the network with the variant's layouts, before the kernels are searched;
     * first.call_s has n_calls elements */
    struct network_measurement first;
    int n_calls;
    double before_ms, after_ms;           /* times of the network */
    bool verified, cancelled;
    double measuring_s;  /* the part of the time limit that measuring the network takes */
    double unchecked_s;  /* estimated time of a check that was left out; 0: no check was left out */
};

/* Tunes the kernels of the session's network, and puts the schedules that are faster inside the
 * network into s->kernels.  After a first round for each kernel, the next round goes to the kernel
 * whose gain counts most (task_rounds.h).  Every search is in the records, so the same call
 * continues where a killed one ended, unless each.fresh is set.
 *
 * With a time limit, the network is checked only at the end, and not at all if the check would
 * take too much of the time.  If a cancel comes before the comparison inside the network, the
 * schedules that were clearly faster in the search stay.  The data of *out are in arena a. */
bool network_tuning_run(struct arena *a, struct session *s, const struct network_tuning_opts *o,
                        struct cancel *cancel, struct network_tuning *out, struct err *e);
#endif
