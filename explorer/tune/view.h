/* A read-only view of a running search. The view is valid until the callback that receives it
 * returns, so a screen copies what it needs. */
#ifndef TS_EXPLORER_TUNE_VIEW_H
#define TS_EXPLORER_TUNE_VIEW_H
#include "explorer/tune/plan.h"
#include "explorer/tune/problem.h"

/* Wall clock times in seconds.  `search`: drawing points and training agents; it is `elapsed` minus
 * the times of measuring and of the model. */
struct tune_times { double elapsed, compile, measure, model, search; };

/* Statistics of the agents.  known: false if the strategy has no agents, or if they were not
 * trained yet. */
struct tune_agents { bool known; double layout_entropy, loop_entropy, value_loss; int episodes; };

struct tune_arm {
    const char *family;                  /* layout of the output, for colouring */
    int trials, ok, best;                /* best: index of a trial; -1: none is ok */
    double best_ms;                      /* INFINITY when no trial is ok */
    bool seed;  /* whether the layout comes from a seed and not from the template */
};

struct tune_view {
    const char *strategy;
    uint64_t seed;
    /* the GPU for which times are simulated; "": times are measured.  The search leaves it empty;
     * sessions/tuning fills it in. */
    char simulated[64];
    enum tune_stage stage;
    const char *doing;                   /* "measuring", "training", ... */
    int budget, done;                    /* numbers of measurements: allowed, and done so far */
    int stage_budget, stage_done;
    struct tune_times times;
    double time_limit_s;                 /* 0: no time limit */
    double left_s;  /* estimate at the present rate, within the time limit; NAN: unknown */
    int n_trials;
    const struct tune_candidate *const *trial;           /* trials in order of measuring */
    int n_arms;
    const struct tune_arm *arm;          /* indexed by tune_candidate.arm; trials 0: never tried */
    int layouts_tried;
    int best;                            /* index of the best trial; -1: none is ok */
    /* start_ms: latency of the first seed; INFINITY: not measured, or not ok */
    double best_ms, start_ms;
    int failed[TUNE_OUTCOMES];           /* number of failed candidates by enum outcome */
    int replayed;
    int64_t illegal;  /* number of points that are no valid programs or have too much code */
    struct tune_accuracy accuracy;
    struct tune_agents agents;
};
#endif
