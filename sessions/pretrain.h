/* What agents are trained on before they meet an operator (SPEC E.3), as a file:
 *
 *     pretrain: 1
 *     title: ...
 *     note: why these
 *     seed: 1
 *     passes: 3                            # how often the list is gone through; default 1
 *     budget: 200                          # measurements for each workload in each pass
 *     workloads:
 *     - c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1
 *
 * and the file of the weights that come of it (agents.h).  Shipped: sessions/pretrain.yaml and,
 * when they help, sessions/agents.weights. */
#ifndef TS_SESSIONS_PRETRAIN_H
#define TS_SESSIONS_PRETRAIN_H
#include "explorer/agent/agents.h"

#define PRETRAIN_MAX_WORKLOADS 200

struct pretrain {
    const char *path, *title, *note;
    uint64_t seed;
    int passes, budget;
    int n; const char *const *workload;                  /* operators, as they are written there */
};

/* Strict as sessions are: errors have file, line, column and a caret.  Every workload is an
 * operator with a layout template, and is there once.  All in arena a. */
bool pretrain_parse(struct arena *a, const char *name, const char *text, size_t n,
                    const struct pretrain **out, struct err *e);
/* path NULL: the shipped one. */
bool pretrain_read(struct arena *a, const char *path, const struct pretrain **out, struct err *e);
/* "sessions/pretrain.yaml, 24 workloads, 3 passes of 200, seed 1": for agents_save. */
const char *pretrain_summary(struct arena *a, const struct pretrain *p);

/* Weights of agents; path NULL: the shipped ones, ERR_ENV when there are none.  *trained (may be
 * NULL) lives as long as g.  Writing is atomic. */
bool weights_read(struct agents *g, const char *path, const char **trained, struct err *e);
bool weights_write(const struct agents *g, const char *path, const char *trained, struct err *e);
#endif
