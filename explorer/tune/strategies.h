/* The list of strategies (strategy.h). */
#ifndef TS_EXPLORER_TUNE_STRATEGIES_H
#define TS_EXPLORER_TUNE_STRATEGIES_H
#include "explorer/tune/strategy.h"

int strategy_count(void);
const struct strategy *strategy_get(int i);
/* Finds a strategy.  NULL: there is no such strategy (ERR_NAME). */
const struct strategy *strategy_find(const char *name, struct err *e);

extern const struct strategy strategy_ppo, strategy_evo, strategy_sa, strategy_q,
    strategy_random, strategy_exhaustive;
/* Draws a uniform layout.  `state` is not used. */
bool strategy_random_layout(struct search *s, void *state, int64_t *factor);
#endif
