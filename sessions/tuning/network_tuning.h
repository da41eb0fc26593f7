/* Tunes a network: one search for each kind of kernel that can still gain (SPEC L.3). */
#ifndef TS_SESSIONS_NETWORK_TUNING_H
#define TS_SESSIONS_NETWORK_TUNING_H
#include "profile/measure/measure_network.h"
#include "sessions/tuning/tuning.h"

/* budget: measurements of all searches together (0: NETWORK_BUDGET), or with time_s: seconds of
 * searching, in which the budget has no part.  each: options of every search, of which budget,
 * time_s and the pins are set here. */
enum { NETWORK_BUDGET = 20000 };
struct network_tuning_opts {
    struct tuning_opts each;
    int budget;
    double time_s;
    /* Called after each search with the session's new schedules, to save them. */
    bool (*save)(void *ctx, struct session *s, struct err *e);
    void *ctx;
    const struct progress *progress;
    const struct search_sink *view;       /* may be NULL */
};

/* A kernel, by its number in the network before, and what its search did.  ms: of all its calls in
 * one run. */
struct tuned_kernel {
    const char *spec, *brief;             /* its text; the same in brief (network_report.h) */
    int count, trials, budget;
    double before_ms, after_ms, bound_ms;
    const char *why;                      /* why it was not searched; NULL: it was */
    bool kept;                            /* whether the searched schedule is the new one */
};
struct network_tuning {
    int n; const struct tuned_kernel *kernel;
    double before_ms, after_ms;           /* of the network */
    bool verified, cancelled;
};

/* Tunes the kernels of the session's network, and puts the schedules that are faster inside the
 * network into s->kernels.  Layouts between kernels stay as they are.  Every search is in the
 * records, so the same call again goes on where a killed one was.  *out lives in a. */
bool network_tuning_run(struct arena *a, struct session *s, const struct network_tuning_opts *o,
                        struct cancel *cancel, struct network_tuning *out, struct err *e);
#endif
