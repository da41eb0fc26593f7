/* What the parts of a batch share.  Private to batch*.c. */
#ifndef TS_PROFILE_BATCH_IMPL_H
#define TS_PROFILE_BATCH_IMPL_H
#include "profile/measure/batch.h"
#include "profile/measure/job.h"

struct batch {
    struct batch_opts opts;              /* with defaults */
    char *spec;
    const struct oracle *oracle;
    struct child *child;                 /* idle, or NULL */
    int used;                            /* candidates that it has had */
    int compilers_killed, children_killed;               /* of candidates in a row */
    int part;                            /* opts.soon: candidates of the last part; 0 = none yet */
    double best_s;                       /* INFINITY = none yet */
    struct batch_stats stats;
};

/* A candidate of the run at work. */
struct candidate {
    struct batch_item *item;
    struct measure_job job;
    struct str text;                     /* its C */
    bool openmp, final;                  /* final: its measurement is filled in */
    bool refused;                        /* there is no kernel, and why */
    struct err why;
};

/* A whole run, or a part of one: before: candidates of the parts that are done, all: of the run. */
struct run {
    struct batch *batch;
    struct candidate *candidate;
    int n, before, all;
    const struct progress *progress;
    const struct cancel *cancel;
};

/* Counts one whose compiler (whose child) was killed, or ends their row; false: too many in a row
 * to be an accident. */
bool batch_killed(int *in_a_row, bool killed, struct err *e);
/* Ends a candidate with what became of it. */
void batch_end(struct run *r, struct candidate *x, bool ok, const struct err *e);
/* batch_build.c: how many compilers at a time; the kernels of all, or why they are refused.  False:
 * cancelled, no compiler, no disk. */
int batch_jobs(const struct run *r);
bool batch_build(struct run *r, struct err *e);
/* batch_time.c: one that was built, checked and timed; false as above. */
bool batch_measure(struct run *r, struct candidate *x, struct err *e);
#endif
