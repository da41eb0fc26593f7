/* The problem that the search solves: layouts, each with a space of loop points (an *arm*), a
 * model that ranks candidates, and a function that measures them.  The search knows nothing else,
 * so that tests can run it on artificial landscapes (tests/unit/tune_landscape.h). kernels.h is
 * the real problem. */
#ifndef TS_EXPLORER_TUNE_PROBLEM_H
#define TS_EXPLORER_TUNE_PROBLEM_H
#include "explorer/tune/follow.h"
#include "kernels/base/arena.h"
#include "kernels/base/rng.h"
#include "kernels/base/subprocess.h"
#include "profile/measure/measure.h"

enum {
    TUNE_MAX_LAYOUT_KNOBS = 24, TUNE_LAYOUT_STATE = 64, TUNE_POINT_STATE = 128,
    TUNE_OUTCOMES = 16                   /* enum outcome has fewer values */
};

/* A candidate: the step lines of a schedule, layouts first.  Its text identifies it: no text is
 * measured twice. */
struct tune_candidate {
    int arm;
    const void *point;  /* NULL: a seed that is not a point of the space of its arm */
    int n_lines;
    const char *const *line;
    const char *text;                    /* the lines, each with a newline */
    uint64_t hash;                       /* hash of the text */
    /* scored: whether it has a score; illegal: whether it is no valid program */
    bool scored, illegal;
    double score;                        /* about best latency / this candidate's latency */
    void *model;                         /* data of the problem, such as features */
    /* whether it is a start point of its arm (point_starts), which is ranked before other points */
    bool start;
    bool explored;                       /* whether it was chosen at random, and not by its score */
    /* seed: whether it is a seed; replayed: whether an earlier run has measured it */
    bool seed, replayed;
    /* The members below are valid after the measurement. */
    int trial;                           /* 0, 1, ... in order of measuring */
    int stage;                           /* enum tune_stage */
    enum outcome outcome;
    double ms, spread;  /* ms: minimum latency; INFINITY unless the outcome is ok */
    double compile_s, measure_s;
    const struct measurement *m;         /* only valid while it is reported (tune_measured_fn) */
    uint64_t features;                   /* hash of the features; 0: none */
    double best_ms;                      /* best latency so far, this one included */
    const char *reason;                  /* why the outcome is not ok, or "" */
};

/* Accuracy of the model on the latest n candidates, each predicted before it was measured (SPEC
 * E.4).  pair_order: the share of pairs in the right order.  recall8: see rank.h.  known: false if
 * there were too few candidates. */
struct tune_accuracy { bool known; double pair_order, recall8; int n; };

/* Called for a candidate as soon as it is measured, or it is clear that it will not be measured
 * (OUTCOME_ENV, OUTCOME_CANCEL).  After a cancel, the call may be missing. */
typedef void (*tune_measured_fn)(void *ctx, struct tune_candidate *c);

struct tune_problem {
    void *ctx;
    size_t point_bytes;                  /* points are copied as bytes */

    /* Layouts.  A layout is decoded from n_actions actions in (0, 1), SPEC D.1; n_actions = 0:
     * layouts are fixed.  layout_decode: decodes the first n_done actions, and sets the other
     * factors to 0. */
    int n_actions;
    void (*layout_decode)(void *ctx, const double *action, int n_done, int64_t *factor);
    /* Moves *factor to the first layout (first = true) or to the next one.  Returns false if there
     * are no more. */
    bool (*layout_next)(void *ctx, int64_t *factor, bool first);
    /* Sets *factor to the start layout number `which`, from 0.  Returns false if it does not exist.
     * May be NULL. */
    bool (*layout_start)(void *ctx, int which, int64_t *factor);
    int n_starts;                        /* number of values of `which` */
    void (*layout_state)(void *ctx, const int64_t *factor, float out[TUNE_LAYOUT_STATE]);
    /* Returns the arm of a layout: the existing arm with a memory-equal layout, or a new one; arms
     * are numbered from 0.  -1: the layout cannot be searched. */
    int (*arm_open)(void *ctx, const int64_t *factor);
    /* Frees the memory of an arm that will not be tried.  arm_open can open it again, with the same
     * number. */
    void (*arm_close)(void *ctx, int arm);
    /* Returns the number of arms. Arms of seeds and of fixed layouts exist from the start. */
    int (*n_arms)(void *ctx);
    const char *(*arm_family)(void *ctx, int arm);       /* "N H/4 W/16 O/16 4h 16w 16o" */
    const float *(*features)(void *ctx);  /* 12 features of the operator (SPEC E.3); may be NULL */

    /* Points of an arm.  point_starts: writes points that a person would try first into `points`,
     * one after the other, the best guess first, and at most `most`; returns their number, at least
     * 1. */
    int (*point_starts)(void *ctx, int arm, void *points, int most);
    void (*point_draw)(void *ctx, int arm, struct rng *r, void *point);
    void (*point_mutate)(void *ctx, int arm, struct rng *r, void *point);
    void (*point_cross)(void *ctx, int arm, struct rng *r, const void *a, const void *b, void *out);
    void (*point_first)(void *ctx, int arm, void *point);
    /* Moves to the next point in order; returns false after the last one. */
    bool (*point_next)(void *ctx, int arm, void *point);
    int (*n_knobs)(void *ctx, int arm);
    int (*knob_kind)(void *ctx, int arm, int knob);
    int (*directions)(void *ctx, int arm, int knob);         /* direction 0 does not move */
    void (*point_move)(void *ctx, int arm, void *point, int knob, int direction);
    void (*point_state)(void *ctx, int arm, const void *point, float out[TUNE_POINT_STATE]);
    /* Writes the lines of a point, layouts included, in arena a.  False: it is not a valid
     * program. */
    bool (*point_lines)(void *ctx, int arm, const void *point, struct arena *a,
                        const char *const **line, int *n);

    /* followed: fills in c->arm, c->point and c->line of the followed schedule; returns false if
     * its layout is not open, or if the schedule is not a point there (f->why).  point_apart:
     * returns the number of knobs in which two points differ.  Both functions may be NULL. */
    bool (*followed)(void *ctx, struct follow *f, struct arena *a, struct tune_candidate *c);
    int (*point_apart)(void *ctx, int arm, const void *x, const void *y);

    /* ranks: returns whether the model, or an estimate, can already rank candidates; NULL:
     * candidates are never ranked.  score: sets the score of valid programs and marks the others as
     * illegal. */
    bool (*ranks)(void *ctx);
    void (*forget)(void *ctx);           /* frees `model` of all candidates; may be NULL */
    void (*score)(void *ctx, struct arena *a, struct tune_candidate **c, int n);
    void (*learn)(void *ctx, struct tune_candidate **c, int n, const struct cancel *cancel);
    /* accuracy on the latest candidates; may be NULL */
    void (*accuracy)(void *ctx, struct tune_accuracy *out);

    /* Measures n candidates and calls done(done_ctx, c) for each.  Returns false after a cancel, or
     * if the environment lacks something; some candidates are then not measured. */
    bool (*measure)(void *ctx, struct tune_candidate **c, int n, tune_measured_fn done,
                    void *done_ctx, const struct cancel *cancel, struct err *e);
    /* Sets the time spent so far on compiling and on running kernels, in seconds of wall clock.
     * Leaves the values as they are if nothing was measured.  May be NULL. */
    void (*walls)(void *ctx, double *compile_s, double *run_s);
};
#endif
