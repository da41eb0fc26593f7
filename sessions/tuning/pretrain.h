/* Pretraining of agents (SPEC E.3).  A file lists the workloads:
 *
 *     pretrain: 1
 *     title: ...
 *     note: why these
 *     seed: 1
 *     passes: 3                            # how often each workload is searched; default 1
 *     budget: 200                          # trials for each workload in each pass
 *     measured: 64                         # trials that are measured; default: all
 *     entropy: 0.05                        # weight of entropy in the loss; default 0.01 (SPEC E.3)
 *     workloads:
 *     - c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1
 *
 * The cost model learns from the measured trials.  After the first `measured` trials, the model's
 * prediction replaces the measurement of a trial, where the model can predict.  In every search,
 * predictions of the model also reward the agents for schedules that are no trials.
 *
 * Training writes the weights to a file (agents.h).  sessions/pretrain.yaml is shipped;
 * sessions/agents.weights may be. */
#ifndef TS_SESSIONS_PRETRAIN_H
#define TS_SESSIONS_PRETRAIN_H
#include "explorer/agent/agents.h"
#include "explorer/tune/view.h"
#include "kernels/base/subprocess.h"

#define PRETRAIN_LEAST_MEASURED 40       /* the cost model needs 32 samples to rank */
#define PRETRAIN_MAX_WORKLOADS 200

struct pretrain {
    const char *path, *title, *note;
    uint64_t seed;
    int passes, budget, measured;                        /* measured: at most budget */
    double entropy;                                      /* 0: the agents' default */
    int n; const char *const *workload;                  /* operators, as in the file */
};

/* Parses a file as strictly as a session.  A workload must be an operator with a layout template,
 * and must not occur twice.  Results are in arena a. */
bool pretrain_parse(struct arena *a, const char *name, const char *text, size_t n,
                    const struct pretrain **out, struct err *e);
/* Like pretrain_parse, for a file; path NULL: the shipped one. */
bool pretrain_read(struct arena *a, const char *path, const struct pretrain **out, struct err *e);
/* Returns "pretrain.yaml, 24 workloads, 3 passes of 200 (64 measured), seed 1, content 1f2e3d4c",
 * for agents_save. */
const char *pretrain_summary(struct arena *a, const struct pretrain *p);

/* Read and write weights.  Reading with path NULL takes the shipped ones (ERR_ENV: none are
 * shipped).  `trained` is the description of the training; when reading, it may be NULL, and
 * *trained lives as long as g.  *seen: the state of the file that may be replaced (file_replace);
 * writing sets it to the new state. */
bool pretrain_weights_read(struct agents *g, const char *path, const char **trained, struct err *e);
bool pretrain_weights_write(const struct agents *g, const char *path, uint64_t *seen,
                            const char *trained, struct err *e);
/* Reads and checks the bytes of a weights file.  trained: NULL, or where to store the description
 * of the training, in arena a. typed: whether the user named the file; it may then be a pipe. */
bool pretrain_weights_bytes(struct arena *a, const char *path, bool typed, struct str *out,
                            const char **trained, struct err *e);

/* --- Training ------------------------------------------------------------------------------- */

/* One search of one workload. */
struct pretrain_visit {
    const char *workload;
    int number, of, pass;  /* number of the visit, from 1; how many there are; its pass, from 1 */
    /* known: trials whose times came from the records; expected: those with predicted times */
    int trials, measured, known, expected, failed;
    double start_ms, best_ms, seconds;        /* start_ms, best_ms: INFINITY: not measured */
    struct tune_agents agents;
};

struct pretrain_opts {
    const char *weights;                 /* path of the file to write */
    bool resume;                         /* whether to continue the training of that file */
    bool fresh;                          /* whether to measure again what the records have */
    const char *records;                 /* path of the file; NULL: records_path */
    int threads;                         /* threads of kernels; 0: 1 */
    const char *compiler;                /* NULL: the default one */
    const struct target *target;         /* NULL: this CPU's best */
    void *ctx;
    /* Called after each visit, and for each view of a search; may be NULL. */
    void (*visited)(void *ctx, const struct pretrain_visit *v);
    void (*view)(void *ctx, const struct pretrain_visit *v, const struct tune_view *t);
    /* For tests: fills outcome and ms instead of measuring; no records are then used. */
    void (*measure)(void *ctx, const char *workload, struct tune_candidate *c);
};
/* visits: number of visits done; resumed: how many of them were done before this call */
struct pretrain_done { int visits, of, resumed; bool finished; };

/* Trains agents: searches each workload in each pass with the strategy ppo and without experts, and
 * writes the weights after each search.  A search depends only on the weights, the seed of the
 * visit and the times of the trials.
 *
 * Measurements are recorded, and recorded schedules are not measured again unless o->fresh is set.
 * So a stopped training can be resumed as if it had not stopped. Returns true also after a cancel.
 * ERR_NAME: o->resume is set, but the weights come from another training. ERR_CHANGED: another
 * process wrote the weights file during the training. */
bool pretrain_run(const struct pretrain *p, const struct pretrain_opts *o, struct cancel *cancel,
                  struct pretrain_done *out, struct err *e);
#endif
