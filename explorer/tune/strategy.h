/* How the next layout and the next points are chosen: one table per strategy.  A strategy sees the
 * search through search_impl.h and keeps a state of its own. */
#ifndef TS_EXPLORER_TUNE_STRATEGY_H
#define TS_EXPLORER_TUNE_STRATEGY_H
#include "explorer/tune/view.h"

struct search;

struct strategy {
    const char *name, *what;
    /* Takes everything in order, one layout to its end before the next, and asks no model. */
    bool ordered;
    void *(*open)(struct search *s);
    void (*close)(void *state);
    /* The next layout; false: there is none left. */
    bool (*layout)(struct search *s, void *state, int64_t *factor);
    /* What the layout drawn last is worth, 1 - best / l_ref clipped to [-4, 1] (SPEC E.3).  Called
     * once for each, before the next is drawn, with what the model expects (measured false), and
     * again when it has been tried. */
    void (*layout_told)(struct search *s, void *state, const int64_t *factor, double reward,
                        bool measured);
    /* Puts points of an arm into the pool (search_add).  round: 0, 1, ... of this visit. */
    void (*propose)(struct search *s, void *state, int arm, int round);
    /* What came of those that were measured; may be NULL. */
    void (*told)(struct search *s, void *state, int arm, struct tune_candidate *const *c, int n);
    void (*stats)(void *state, struct tune_agents *out);     /* may be NULL */
};
#endif
