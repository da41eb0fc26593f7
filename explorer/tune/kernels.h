/* The tuning problem for kernels: schedules of one operator.  Layouts are points of the templates
 * (explorer/space/layout_space.h) and the layouts of seeds; loop schedules are points
 * (loop_space.h).  The cost model (explorer/model) ranks them, and batches measure them
 * (profile/measure/batch.h). */
#ifndef TS_EXPLORER_TUNE_KERNELS_H
#define TS_EXPLORER_TUNE_KERNELS_H
#include "explorer/space/layout_space.h"
#include "explorer/tune/search.h"
#include "profile/measure/batch.h"

/* A given schedule.  name: "session", or "expert". */
struct tune_lines { const char *name; int n; const char *const *line; };

struct kernels_opts {
    const char *spec;
    /* seed schedules, at least one; the first is the user's schedule */
    int n_seeds; const struct tune_lines *schedule;
    /* pin: layout steps that every candidate begins with.  fixed: whether all layouts stay those of
     * the first seed, so that only loops are searched. */
    int n_pins; const char *const *pin;
    bool fixed;
    struct layout_opts layouts;
    struct measure_opts measure;  /* options of every candidate (batch.h says which apply) */
    /* For a GPU: whether the simulator (measure.gpu) rates the candidates, and no device times
     * them. If so, tune_candidate.ms is a simulated time. */
    bool simulated;
    int jobs;  /* number of compilers, and (at most 16) ranking threads; 0: one for each core */
    uint64_t seed;                       /* seed of the model */
};

#define TUNE_TWIN_LIMIT_S 600.0  /* most seconds of a call of a host twin, which runs the threads of
                                  * the GPU one after the other */

struct kernels;
/* Makes the problem.  If a seed other than the first changes a pinned layout, the pins replace its
 * lines for this layout; a seed that is then not valid is left out.  Fails on errors in the spec,
 * the pins or the first seed; and with ERR_ENV for a GPU's target if there is no GPU, unless
 * o->simulated is set.  *note (may be NULL): why no new layouts are searched, or why there is no
 * cost model; unchanged if neither is the case. */
bool kernels_new(const struct kernels_opts *o, struct kernels **out, const char **note,
                 struct err *e);
void kernels_free(struct kernels *k);
const struct tune_problem *kernels_problem(const struct kernels *k);
/* Returns the seeds, for search_new. */
const struct tune_seed *kernels_seeds(const struct kernels *k, int *n);
/* Measures the program after 0 to n lines: out[i] is the measurement after i lines.  Slow
 * programs are measured as long as fast ones; only a hopelessly slow one counts as a timeout.
 * Nothing is simulated.  Fails like tune_problem.measure, and on errors in the lines. */
bool kernels_measure_steps(struct kernels *k, const char *const *line, int n,
                           struct measurement *out, const struct cancel *cancel, struct err *e);
double kernels_layouts(const struct kernels *k);     /* number of layouts; 1 if they are fixed */
/* Returns the number of points in the loop space of an arm; 0: the arm is closed, or has no loop
 * space. */
double kernels_points(struct kernels *k, int arm);
#endif
