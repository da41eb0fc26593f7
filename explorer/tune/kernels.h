/* The real problem of the tuner: schedules of one operator.  Layouts are points of the templates
 * (explorer/space/layout_space.h) and those that seeds bring along; under each, loop points
 * (loop_space.h); ranked by the cost model (explorer/model) and measured in batches
 * (profile/measure/batch.h). */
#ifndef TS_EXPLORER_TUNE_KERNELS_H
#define TS_EXPLORER_TUNE_KERNELS_H
#include "explorer/space/layout_space.h"
#include "explorer/tune/search.h"
#include "profile/measure/batch.h"

/* A schedule as somebody gave it: the "session", an "expert". */
struct tune_lines { const char *name; int n; const char *const *line; };

struct kernels_opts {
    const char *spec;
    /* At least one; the first is what the user has. */
    int n_seeds; const struct tune_lines *schedule;
    /* Layout steps that stay, in front of every candidate's.  fixed: all layouts of the first seed
     * stay, there is nothing to search but loops. */
    int n_pins; const char *const *pin;
    bool fixed;
    struct layout_opts layouts;
    struct measure_opts measure;         /* of every candidate (batch.h says which count) */
    int jobs;                            /* compilers, and threads that rank; 0: all cores */
    uint64_t seed;                       /* of the model */
};

struct kernels;
/* Seeds that change what is pinned are rebuilt over the pins or left out.  Errors: of the spec, the
 * pins and the first seed; ERR_NAME when the operator has no template and layouts are not fixed:
 * then they are, and *note says so (NULL is fine). */
bool kernels_new(const struct kernels_opts *o, struct kernels **out, const char **note,
                 struct err *e);
void kernels_free(struct kernels *k);
const struct tune_problem *kernels_problem(const struct kernels *k);
/* What search_new takes. */
const struct tune_seed *kernels_seeds(const struct kernels *k, int *n);
/* The program after each of n lines, out[0] the bare operator, as candidates are measured, but slow
 * ones as long as fast ones: only what is slow beyond all hope is a timeout.  Copies no detail.  As
 * tune_problem.measure. */
bool kernels_measure_steps(struct kernels *k, const char *const *line, int n,
                           struct measurement *out, const struct cancel *cancel, struct err *e);
double kernels_layouts(const struct kernels *k);     /* how many there are; 1: fixed */
double kernels_points(struct kernels *k, int arm);   /* how many its loop space has; 0: no space */
#endif
