/* Strategies choose the next layout and the next points.  Each strategy is a table of functions
 * (struct strategy).  A strategy sees the search through search_impl.h and has its own state. */
#ifndef TS_EXPLORER_TUNE_STRATEGY_H
#define TS_EXPLORER_TUNE_STRATEGY_H
#include "explorer/tune/view.h"

struct search;

struct strategy {
    const char *name, *what;
    /* Whether it takes all points in order, one layout after the other, without the model. */
    bool ordered;
    size_t state_bytes;                  /* size of its state, which the search zero-initialises */
    void (*open)(struct search *s, void *state);             /* may be NULL */
    void (*close)(void *state);                              /* may be NULL */
    /* Draws the next layout; false: none is left. */
    bool (*layout)(struct search *s, void *state, int64_t *factor);
    /* Receives the reward of a drawn layout: 1 - its best latency / l_ref, clipped to [-4, 1] (SPEC
     * E.3).  Called for each layout before the next one is drawn, with a predicted, known or
     * assumed reward (measured = false); and again after the layout was tried (measured = true).
     * If only known layouts were drawn, called once more for the last of them (measured = true).
     * May be NULL. */
    void (*layout_learn)(struct search *s, void *state, const int64_t *factor, double reward,
                         bool measured);
    /* Adds points of an arm to the pool (search_add). round: number of the round in this visit,
     * from 0. */
    void (*propose)(struct search *s, void *state, int arm, int round);
    /* Receives n measured candidates of an arm; may be NULL. */
    void (*learn)(struct search *s, void *state, int arm, struct tune_candidate *const *c, int n);
    void (*stats)(void *state, struct tune_agents *out);     /* may be NULL */
};
#endif
