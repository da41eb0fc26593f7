/* Background jobs: whatever takes longer than a redraw.
 *
 * A program belongs to one thread (program.h), so a job gets text, the operator and its steps, and
 * rebuilds the program in an arena of its own.  There are three threads: one measures, one
 * generates code, so that looking at the C does not wait for a measurement, and one tunes.
 * Results are queued and announced through a descriptor that the UI's poll() watches; nothing here
 * touches the UI's data. */
#ifndef TS_APP_JOB_H
#define TS_APP_JOB_H
#include "kernels/base/subprocess.h"
#include "profile/machine/machine_model.h"
#include "profile/measure/measure.h"
#include "sessions/tuning/tuning.h"

/* MACHINE: the machine model, which it also stores. */
enum job_kind { JOB_MEASURE, JOB_C, JOB_ASM, JOB_MACHINE, JOB_TUNE };
enum job_lane { LANE_MEASURE, LANE_TEXT, LANE_TUNE, LANE_COUNT };

struct tune_board;
struct job {
    enum job_kind kind;
    char *recipe;                /* the operator's spec, then one step per line */
    int tag;                     /* the caller's, handed back */
    int threads;
    unsigned baselines;          /* MEASURE: of struct measure_opts; 0 unless set after job_new */
    struct tuning_opts tune;     /* TUNE, set after job_new; its texts live for ever */
    struct tune_board *board;    /* TUNE, set after job_new: a share that is the job's */
    /* The result. */
    bool ok;
    struct err e;                /* when not ok; ERR_CANCEL after a cancel */
    struct measurement m;        /* MEASURE; its sim.detail is the job's, too */
    struct sim_detail *detail;
    struct str text;             /* C, ASM */
    struct machine_model *model; /* MACHINE */
    struct tuning *tuning;       /* TUNE; stopped by a cancel too, with what it had by then */
};
struct job *job_new(enum job_kind kind, const char *recipe, int tag, int threads);
void job_free(struct job *j);
enum job_lane job_lane(enum job_kind kind);
/* Does the work of j on the calling thread. */
void job_run(struct job *j, struct cancel *c, const struct progress *pr);

struct jobs;
bool jobs_open(struct jobs **out, struct err *e);
void jobs_close(struct jobs *q);                 /* cancels and waits */
int jobs_fd(const struct jobs *q);              /* readable when something finished or progressed */
/* Takes j.  What the lane is doing is cancelled; its result still comes back, as cancelled. */
void jobs_start(struct jobs *q, struct job *j);
void jobs_cancel(struct jobs *q, enum job_lane lane);
/* the next finished job, to job_free; NULL when there is none */
struct job *jobs_take(struct jobs *q);
void jobs_drain_fd(struct jobs *q);

/* running: at work on (kind, tag) and not cancelled, or done with it and not taken yet, so that
 * nobody starts it again; busy: its thread is not free, or a result has not been taken yet. */
struct job_progress {
    bool running, busy;
    enum job_kind kind;
    int tag;
    char what[32];
    double fraction;
};
void jobs_progress(struct jobs *q, enum job_lane lane, struct job_progress *out);
#endif
