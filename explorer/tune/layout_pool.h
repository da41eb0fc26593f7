/* The layouts that a strategy has drawn, as action vectors in (0, 1)^n with their rewards, for
 * strategies that breed from them or walk among them. */
#ifndef TS_EXPLORER_TUNE_LAYOUT_POOL_H
#define TS_EXPLORER_TUNE_LAYOUT_POOL_H
#include "explorer/tune/search_impl.h"

struct drawn_layout {
    double action[TUNE_MAX_LAYOUT_KNOBS];
    int64_t factor[TUNE_MAX_LAYOUT_KNOBS];
    double reward;
    bool measured;
};
/* The state of a strategy that uses a pool must be the pool, or begin with it. */
struct layout_pool { VEC(struct drawn_layout) all; };

/* Picks one of the n actions at random, and draws it anew from (0, 1). */
void layout_pool_change(double *action, int n, struct rng *r);
/* Draws uniform actions, decodes them into *factor and stores them. */
void layout_pool_random(struct layout_pool *l, struct search *s, int64_t *factor);
/* Decodes the given actions into *factor and stores them. */
void layout_pool_draw(struct layout_pool *l, struct search *s, const double *action,
                      int64_t *factor);
/* Stores a reward with the latest drawn layout that has these factors.  state: begins with a struct
 * layout_pool. */
void layout_pool_told(struct search *s, void *state, const int64_t *factor, double reward,
                      bool measured);
void layout_pool_close(void *state);
/* Returns the number of layouts with a measured reward. */
int layout_pool_measured(const struct layout_pool *l);
/* Picks two measured layouts at random and returns the better one.  At least one layout must have
 * been measured. */
const struct drawn_layout *layout_pool_tournament(const struct layout_pool *l, struct rng *r);
#endif
