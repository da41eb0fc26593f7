/* Which task of a network the next round of tuning goes to (SPEC L.3, the gradient of Ansor). */
#ifndef TS_SESSIONS_TASK_ROUNDS_H
#define TS_SESSIONS_TASK_ROUNDS_H
#include <stdbool.h>

/* A task and its rounds so far.  best_s: least seconds of one call after each round. */
struct task_rounds {
    double weight;                        /* number of calls */
    double flop;                          /* of one call */
    double bound_s;                       /* of the roofline: nothing more is gained; 0: none */
    const char *kind;                     /* tasks of one kind are similar: "conv2d" */
    bool closed;                          /* gets no more rounds */
    int n; const double *best_s;
};

/* Returns the seconds that a round of task i changes a run of the network by, as far as one can
 * tell; at most 0, and 0 for a task without rounds.
 *
 *     w [ alpha (g(t) - g(t-D))/D + (1-alpha) min(-g(t)/t, beta C/V - g(t)) ]
 *
 * with alpha 0.2, beta 2 and D 3 rounds, or as many as there were.  C is its FLOP, V the greatest
 * FLOP/s of a task of its kind. */
double task_rounds_gain(const struct task_rounds *t, int n, int i);
/* Returns the seconds of a run that any next round may gain: the most of all open tasks; INFINITY
 * while one of them has had no round. */
double task_rounds_hope(const struct task_rounds *t, int n);
/* Returns the task of the next round: one without rounds first, then the one with the greatest
 * gain; every 20th round goes to the tasks by turns.  -1: all are closed or at their bounds.
 * round: the rounds of all tasks so far. */
int task_rounds_next(const struct task_rounds *t, int n, int round);
#endif
