/* Shared by kernels*.c. */
#ifndef TS_EXPLORER_TUNE_KERNELS_IMPL_H
#define TS_EXPLORER_TUNE_KERNELS_IMPL_H
#include <pthread.h>
#include <stdatomic.h>

#include "explorer/model/cost_model.h"
#include "explorer/space/loop_space.h"
#include "explorer/tune/kernels.h"
#include "kernels/base/vec.h"

/* An arm: a layout and its space of loop schedules.  The lines live as long as the problem, the
 * loop space only while the arm is open. */
struct kernels_arm {
    int n; const char *const *line;
    uint64_t key;                        /* equal for memory-equal layouts; 0: unknown */
    const char *family;
    struct arena *mem;                   /* memory of `space`; NULL: closed */
    const struct loop_space *space;      /* NULL: closed, or the layout has no loop space */
};

/* The lowered form of a candidate: tune_candidate.model. */
struct lowered {
    const struct program *p;
    const char *code; bool openmp;       /* the C code to be measured; NULL: not generated */
    /* bytes of the code; SIZE_MAX: there is none, since generating failed or the code would be too
     * large; 0: code for a GPU, which is generated later */
    size_t bytes;
    struct gen_work work;                /* what the code executes; 0: unknown */
    struct features x;
};

struct kernels {
    struct kernels_opts o;
    struct arena *keep;
    struct tune_problem problem;
    const struct layout_space *layouts;  /* NULL: layouts are fixed */
    VEC(struct kernels_arm) arm;
    VEC(struct tune_seed) seed;
    struct cost_model *model;
    double best_ms;  /* best latency of all candidates that the model has learned */
    size_t best_bytes;                   /* bytes of the C of the candidate with best_ms */
    int n_threads;                       /* number of ranking threads */
    int lanes;                           /* elements of a vector register */
    int64_t last_cache;                  /* bytes of the outermost cache */
    int64_t shared;                      /* for a GPU: as in struct loop_opts */
    struct arena *scratch[16];           /* memory of each ranking thread; forget() resets it */
    struct batch *batch;                 /* created when the first candidate is measured */
    struct batch_item *item;             /* items of the current batch */
    struct tune_candidate **measured;
    tune_measured_fn done;
    void *done_ctx;
};

/* kernels.c: the options of every loop space. */
struct loop_opts kernels_loop_opts(const struct kernels *k);
/* Adds an arm for new layout lines and returns its index; -1: the lines have no loop space, for
 * example because they do not make a valid program.  key: as in struct kernels_arm. */
int kernels_add_arm(struct kernels *k, const char *const *line, int n, uint64_t key,
                    const char *family);
/* Adds an arm without a loop space, for a seed. */
int kernels_add_closed(struct kernels *k, const char *const *line, int n, const char *family);
bool kernels_is_layout(const char *line);            /* whether the line is not a loop step */
/* kernels_seed.c: adds the seeds of the options.  Fails on errors in the first seed or the pins. */
bool kernels_add_seeds(struct kernels *k, struct err *e);
/* kernels_gpu.c: kernels_gpu_ready returns whether candidates can be measured, and sets k->shared
 * to the bytes of shared memory that a block may have; kernels_gpu_measure is tune_problem.measure
 * for a GPU. */
bool kernels_gpu_ready(struct kernels *k, struct err *e);
bool kernels_gpu_measure(void *ctx, struct tune_candidate **c, int n, tune_measured_fn done,
                         void *done_ctx, const struct cancel *cancel, struct err *e);
/* kernels_point.c, kernels_measure.c: each fills in its functions of k->problem. */
void kernels_point_problem(struct tune_problem *p);
void kernels_measure_problem(struct tune_problem *p);
static inline bool kernels_for_gpu(const struct kernels *k)
{
    return k->o.measure.target && k->o.measure.target->gpu;
}
#endif
