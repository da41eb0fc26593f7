/* Shared by the files of a batch. Private to batch*.c. */
#ifndef TS_PROFILE_BATCH_IMPL_H
#define TS_PROFILE_BATCH_IMPL_H
#include "profile/measure/batch.h"
#include "profile/measure/job.h"

struct batch {
    struct batch_opts opts;              /* options with defaults filled in */
    char *spec;
    const struct oracle *oracle;
    struct runner *runner;                 /* the idle child; NULL = none */
    int used;                            /* number of candidates that the child has run */
    int compilers_killed, children_killed;  /* candidates in a row whose process was killed */
    int part;  /* with opts.soon: number of candidates planned for the last part; 0 = no part yet */
    int parts;                           /* number of parts so far */
    double best_s;                       /* least seconds per call so far; INFINITY = none yet */
    struct batch_stats stats;
};

/* A candidate of the current run. */
struct candidate {
    struct batch_item *item;
    struct measure_job job;
    struct str text;                     /* C source of the candidate */
    bool openmp, final;                  /* final: its measurement is filled in */
    bool refused;                        /* no kernel could be built; `why` has the reason */
    struct err why;
};

/* A run, or a part of one, with n candidates. before: number of candidates in the parts before this
 * one; all: number of candidates of the whole run; beside: whether compilers of the batch may run
 * while the candidates are measured. */
struct batch_run {
    struct batch *batch;
    struct candidate *candidate;
    int n, before, all;
    bool beside;
    const struct progress *progress;
    const struct cancel *cancel;
};

/* Updates the number of consecutive candidates whose compiler (or child) was killed. killed:
 * whether this happened to the present candidate; false resets the number. Returns false with
 * ERR_ENV when the number is too high to be an accident. */
bool batch_killed(int *in_a_row, bool killed, struct err *e);
/* Finishes a candidate with its outcome. */
void batch_end(struct batch_run *r, struct candidate *x, bool ok, const struct err *e);
/* batch_build.c.  Returns the number of compilers that run at a time. */
int batch_jobs(const struct batch_run *r);
/* Returns the number of compilers that may run while a kernel is timed: those that have a core to
 * themselves. */
int batch_jobs_beside(const struct batch_run *r);
/* Writes the C of each candidate, or notes why the candidate is refused.  False: cancelled, or the
 * environment failed. */
bool batch_write(struct batch_run *r, struct err *e);
/* Begins to compile the kernels of all candidates of r, with `jobs` compilers.  r must live until
 * batch_build_end. */
struct shop;
struct shop *batch_build_begin(struct batch_run *r, int jobs);
/* Waits until all candidates of s are compiled or refused with a reason, and frees s; uses
 * batch_jobs compilers. wanted: false if the candidates are not needed any more, because of the
 * error *e; no further compiler call begins then. Returns false with *e if the candidates are not
 * wanted, after a cancel, or when the environment failed. */
bool batch_build_end(struct shop *s, bool wanted, struct err *e);
/* batch_time.c: checks and times one compiled candidate. False: cancelled, or the environment
 * failed. */
bool batch_measure(struct batch_run *r, struct candidate *x, struct err *e);
/* Whether a candidate with these samples is near the fastest time, best_s. The checked call of a
 * long kernel counts too, because it is disturbed as rarely as a single sample. */
bool batch_is_near(double best_s, double first_call_s, const struct summary *s);
#endif
