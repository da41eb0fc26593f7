/* What is searched, as the search sees it: layouts, each with a space of loop points (an *arm*), a
 * model that ranks candidates and a way to measure them.  The search knows nothing else, so that it
 * can be tested on made-up landscapes (tests/unit/tune_landscape.h); kernels.c is the real one. */
#ifndef TS_EXPLORER_TUNE_PROBLEM_H
#define TS_EXPLORER_TUNE_PROBLEM_H
#include "kernels/base/arena.h"
#include "kernels/base/rng.h"
#include "kernels/base/subprocess.h"
#include "profile/measure/measure.h"

enum {
    TUNE_MAX_LAYOUT_KNOBS = 24, TUNE_LAYOUT_STATE = 64, TUNE_POINT_STATE = 128,
    TUNE_OUTCOMES = 16                   /* enum outcome has fewer */
};

/* A schedule: its step lines, layouts first.  The text is its identity: no text is measured
 * twice. */
struct tune_candidate {
    int arm;
    const void *point;                   /* NULL: a seed that is no point of its arm's space */
    int n_lines;
    const char *const *line;
    const char *text;                    /* the lines, each with a newline */
    uint64_t hash;                       /* of the text */
    bool scored, illegal;                /* by the model; found to be no program */
    double score;                        /* higher is faster; about best / its own latency */
    void *model;                         /* the problem's, until `forget`: features, code */
    bool usual;                          /* point_start: measured whatever its score */
    bool explored;                       /* chosen at random, not by its score */
    bool seed, replayed;                 /* replayed: known from an earlier run */
    /* Once measured: */
    int trial;                           /* 0, 1, ... in order of measuring */
    int stage;                           /* enum tune_stage */
    enum outcome outcome;
    double ms, spread;                   /* minimum latency; INFINITY unless outcome is ok */
    double compile_s, measure_s;
    const struct measurement *m;         /* while it is reported (tune_measured_fn); else NULL */
    uint64_t features;                   /* hash; 0: none */
    double best_ms;                      /* the best of all up to here */
    const char *reason;                  /* why not ok, or "" */
};

/* Of the latest n measured, each predicted before it was (SPEC E.4): the share of pairs in the
 * right order, and recall at 8.  known false: no number yet. */
struct tune_accuracy { bool known; double pair_order, recall8; int n; };

/* Called for each candidate as soon as it has been measured, or could not be (OUTCOME_ENV). */
typedef void (*tune_measured_fn)(void *ctx, struct tune_candidate *c);

struct tune_problem {
    void *ctx;
    size_t point_bytes;                  /* points are copied as bytes */

    /* Layouts.  n_actions 0: fixed.  A layout is what n actions in (0, 1) decode to, SPEC D.1. */
    int n_actions;
    void (*layout_decode)(void *ctx, const double *action, int n_done, int64_t *factor);
    /* The next one of all layouts, in order; first: the first one.  False: there are no more. */
    bool (*layout_next)(void *ctx, int64_t *factor, bool first);
    void (*layout_start)(void *ctx, int64_t *factor);        /* a usual one; may be NULL */
    void (*layout_state)(void *ctx, const int64_t *factor, float out[TUNE_LAYOUT_STATE]);
    /* The arm of a layout: a new one (arms are counted from 0), or the one with the same memory;
     * -1: no program has it. */
    int (*arm_open)(void *ctx, const int64_t *factor);
    void (*arm_close)(void *ctx, int arm);       /* not to be tried: free what it holds; may be
                                                  * opened again under the same number */
    int (*n_arms)(void *ctx);                    /* > 0: seeds and fixed layouts are there first */
    const char *(*arm_family)(void *ctx, int arm);       /* "N H/4 W/16 O/16 4h 16w 16o" */
    const float *(*features)(void *ctx);         /* of the operator, 12 (SPEC E.3); may be NULL */

    /* Points of an arm.  point_start: what a person would try first. */
    void (*point_start)(void *ctx, int arm, void *point);
    void (*point_draw)(void *ctx, int arm, struct rng *r, void *point);
    void (*point_mutate)(void *ctx, int arm, struct rng *r, void *point);
    void (*point_cross)(void *ctx, int arm, struct rng *r, const void *a, const void *b, void *out);
    void (*point_first)(void *ctx, int arm, void *point);
    bool (*point_next)(void *ctx, int arm, void *point);     /* in order; false: that was all */
    int (*n_knobs)(void *ctx, int arm);
    int (*knob_kind)(void *ctx, int arm, int knob);
    int (*directions)(void *ctx, int arm, int knob);         /* 0 stays */
    void (*point_move)(void *ctx, int arm, void *point, int knob, int direction);
    void (*point_state)(void *ctx, int arm, const void *point, float out[TUNE_POINT_STATE]);
    /* The lines of a point, layouts included, in arena a; false: it is no program. */
    bool (*point_lines)(void *ctx, int arm, const void *point, struct arena *a,
                        const char *const **line, int *n);

    /* The model.  NULL, or ranks() false: it knows nothing yet.  Scores are set for those that are
     * programs, the others are marked. */
    bool (*ranks)(void *ctx);
    void (*forget)(void *ctx);           /* frees `model` of all candidates; may be NULL */
    void (*score)(void *ctx, struct arena *a, struct tune_candidate **c, int n);
    void (*learn)(void *ctx, struct tune_candidate **c, int n, const struct cancel *cancel);
    void (*accuracy)(void *ctx, struct tune_accuracy *out);  /* of the latest batch; may be NULL */

    /* Measures n candidates; done(done_ctx, c) for each.  False when the environment lacks
     * something, or on a cancel; those not done are then not measured. */
    bool (*measure)(void *ctx, struct tune_candidate **c, int n, tune_measured_fn done,
                    void *done_ctx, const struct cancel *cancel, struct err *e);
    /* Wall clock spent so far on compiling and on running kernels, s; may be NULL. */
    void (*walls)(void *ctx, double *compile_s, double *run_s);
};
#endif
