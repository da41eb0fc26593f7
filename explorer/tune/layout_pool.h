/* Layouts that a strategy drew and what they were worth: action vectors in (0, 1)^n with their
 * rewards, for strategies that breed or walk in them. */
#ifndef TS_EXPLORER_TUNE_LAYOUT_POOL_H
#define TS_EXPLORER_TUNE_LAYOUT_POOL_H
#include "explorer/tune/search_impl.h"

struct drawn_layout {
    double action[TUNE_MAX_LAYOUT_KNOBS];
    int64_t factor[TUNE_MAX_LAYOUT_KNOBS];
    double reward;
    bool measured;
};
struct layout_pool { VEC(struct drawn_layout) all; };

/* Every action uniform: decoded into *factor and remembered. */
void layout_pool_random(struct layout_pool *l, struct search *s, int64_t *factor);
/* From those actions. */
void layout_pool_draw(struct layout_pool *l, struct search *s, const double *action,
                      int64_t *factor);
/* The reward of the latest one that was decoded to this factor. */
void layout_pool_told(struct layout_pool *l, const struct search *s, const int64_t *factor,
                      double reward, bool measured);
int layout_pool_measured(const struct layout_pool *l);       /* how many have a measured reward */
/* The better of two measured ones, drawn at random. */
const struct drawn_layout *layout_pool_tournament(const struct layout_pool *l, struct rng *r);
#endif
