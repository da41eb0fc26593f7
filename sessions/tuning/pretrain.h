/* What agents are trained on before they meet an operator (SPEC E.3), as a file:
 *
 *     pretrain: 1
 *     title: ...
 *     note: why these
 *     seed: 1
 *     passes: 3                            # how often the list is gone through; default 1
 *     budget: 200                          # trials for each workload in each pass
 *     measured: 64                         # so many of them on the machine; default: all
 *     entropy: 0.05                        # its weight in the loss; default 0.01 (SPEC E.3)
 *     workloads:
 *     - c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1
 *
 * Trials beyond `measured` have the latency that the cost model expects, which by then has learnt
 * from those that were measured: agents are rewarded by it anyway for what is not measured.
 *
 * and the file of the weights that come of it (agents.h).  Shipped: sessions/pretrain.yaml and,
 * when they help, sessions/agents.weights. */
#ifndef TS_SESSIONS_PRETRAIN_H
#define TS_SESSIONS_PRETRAIN_H
#include "explorer/agent/agents.h"
#include "explorer/tune/view.h"
#include "kernels/base/subprocess.h"

#define PRETRAIN_LEAST_MEASURED 40       /* the model ranks from 32 samples on */
#define PRETRAIN_MAX_WORKLOADS 200

struct pretrain {
    const char *path, *title, *note;
    uint64_t seed;
    int passes, budget, measured;                        /* measured <= budget */
    double entropy;                                      /* 0: the agents' */
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
 * NULL) lives as long as g.  Written as by file_replace; *seen becomes what is there then. */
bool pretrain_weights_read(struct agents *g, const char *path, const char **trained, struct err *e);
bool pretrain_weights_write(const struct agents *g, const char *path, uint64_t *seen,
                            const char *trained, struct err *e);
/* The bytes of such a file, found to be sound; *trained (may be NULL) lives in a.  typed: by the
 * user, so that a pipe is fine. */
bool pretrain_weights_bytes(struct arena *a, const char *path, bool typed, struct str *out,
                            const char **trained, struct err *e);

/* --- Training ------------------------------------------------------------------------------- */

/* One search of one workload. */
struct pretrain_visit {
    const char *workload;
    int number, of, pass;                                /* from 1 */
    int trials, measured, known, expected, failed;       /* known: from the records */
    double start_ms, best_ms, seconds;                   /* INFINITY: none */
    struct tune_agents agents;
};

struct pretrain_opts {
    const char *weights;                 /* where to */
    bool resume;                         /* go on where the file at weights stops */
    bool fresh;                          /* measure what the records know, too */
    const char *records;                 /* file; NULL: records_path */
    int threads;                         /* of kernels; 0: 1 */
    const char *compiler;                /* NULL: the usual one */
    const struct target *target;         /* NULL: this CPU's best */
    void *ctx;
    void (*visited)(void *ctx, const struct pretrain_visit *v);
    void (*view)(void *ctx, const struct pretrain_visit *v, const struct tune_view *t);
    /* Instead of measuring: fills outcome and ms.  No records then. */
    void (*measure)(void *ctx, const char *workload, struct tune_candidate *c);
};
/* resumed: visits before */
struct pretrain_done { int visits, of, resumed; bool finished; };

/* Agents go through the workloads, pass after pass, by the tuner's search with the strategy ppo, no
 * experts; weights are written after every workload.  What they have learnt is the weights alone:
 * every workload starts from the file's bytes with a seed of its own, so that a run that was
 * stopped goes on to the same end.  Every measurement goes into the records, and what is there is
 * not measured again: the same file and seed with the same records give the same bytes.
 * A cancel is no failure.  ERR_NAME: with resume, the file was trained on something else.
 * ERR_CHANGED: somebody else wrote it meanwhile. */
bool pretrain_run(const struct pretrain *p, const struct pretrain_opts *o, struct cancel *cancel,
                  struct pretrain_done *out, struct err *e);
#endif
