/* Decides which task of a network gets the next round of tuning (SPEC L.3, the gradient of
 * Ansor). */
#ifndef TS_SESSIONS_TASK_ROUNDS_H
#define TS_SESSIONS_TASK_ROUNDS_H
#include <stdbool.h>

/* A task and its rounds so far.  n: number of rounds; best_s[i]: least seconds of one call after
 * i + 1 rounds. */
struct task_rounds {
    double weight;                        /* number of calls in the network */
    double flop;                          /* FLOPs of one call */
    double bound_s;                       /* least seconds by the roofline; 0: unknown */
    const char *kind;                     /* tasks of one kind are similar: "conv2d" */
    bool closed;                          /* whether it gets no more rounds */
    int n; const double *best_s;
};

/* Returns by how many seconds the next round of task i is expected to change a run of the network:
 * at most 0, and 0 for a task without rounds.
 *
 *     w [ alpha (g(t) - g(t-D))/D + (1-alpha) min(-g(t)/t, beta C/V - g(t)) ]
 *
 * with alpha 0.2, beta 2 and D = min(3, t - 1); if D is 0, so is the first term.  t is the number
 * of rounds so far, g(t) the least time after round t, w the weight, C the task's FLOPs, V the
 * greatest FLOP/s that a task of its kind has reached. */
double task_rounds_gain(const struct task_rounds *t, int n, int i);
/* Returns how many seconds of a run of the network the next round may gain at most, whichever open
 * task gets it; INFINITY while an open task has had no round. */
double task_rounds_hope(const struct task_rounds *t, int n);
/* Returns the task of the next round: first a task without rounds, then the task with the greatest
 * gain. Of the later rounds, every 20th goes to the open tasks in turn, whatever their gain.  A
 * task is open unless it is closed or, after a round, at its bound.  -1: no task is open. round:
 * the number of rounds of all tasks so far. */
int task_rounds_next(const struct task_rounds *t, int n, int round);
#endif
