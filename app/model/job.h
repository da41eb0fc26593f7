/* Background jobs: whatever takes longer than a redraw.
 *
 * A program belongs to one thread (program.h), so a job gets the operator and its steps as text and
 * rebuilds the program in its own arena.  There are three threads: one measures, one generates
 * code, one tunes, so that the C is there before a measurement ends.  Results are queued and
 * announced through a descriptor that poll() can watch.  Jobs never touch the model. */
#ifndef TS_APP_JOB_H
#define TS_APP_JOB_H
#include "kernels/base/subprocess.h"
#include "profile/machine/machine_model.h"
#include "profile/measure/measure.h"
#include "sessions/tuning/tuning.h"

/* MACHINE: the machine model, which it also stores. */
enum job_kind { JOB_MEASURE, JOB_C, JOB_ASM, JOB_MACHINE, JOB_TUNE };
enum job_lane { LANE_MEASURE, LANE_TEXT, LANE_TUNE, LANE_COUNT };

struct tune_snapshot;
struct app_job {
    enum job_kind kind;
    char *recipe;                /* the operator's spec, then one step per line */
    int tag;                     /* the caller's, handed back */
    int threads;
    unsigned baselines;          /* MEASURE: of struct measure_opts; 0 unless set after job_new */
    struct tuning_opts tune;     /* TUNE, set after job_new; its texts are never freed */
    struct tune_snapshot *snapshot;      /* TUNE, set after job_new: the job owns a share */
    /* The result. */
    bool ok;
    struct err e;                /* when not ok; ERR_CANCEL after a cancel */
    struct measurement m;        /* MEASURE; its sim.detail is the job's, too */
    struct sim_detail *detail;
    struct str text;             /* C, ASM */
    struct machine_model *model; /* MACHINE */
    struct tuning *tuning;       /* TUNE; stopped by a cancel too, with what it had by then */
};
struct app_job *job_new(enum job_kind kind, const char *recipe, int tag, int threads);
void job_free(struct app_job *j);
/* Does the work of j on the calling thread. */
void job_run(struct app_job *j, struct cancel *c, const struct progress *pr);

struct job_queue;
bool job_queue_open(struct job_queue **out, struct err *e);
void job_queue_close(struct job_queue *q);               /* cancels and waits */
int job_queue_fd(const struct job_queue *q);             /* readable: a job ended or progressed */
/* Takes j.  Cancels the job of its lane, which still comes back, as cancelled. */
void job_queue_start(struct job_queue *q, struct app_job *j);
void job_queue_cancel(struct job_queue *q, enum job_lane lane);
/* The next finished job, to job_free; NULL when there is none. */
struct app_job *job_queue_take(struct job_queue *q);
void job_queue_drain_fd(struct job_queue *q);

/* running: the job (kind, tag) is at work and not cancelled, or finished and not taken yet: nobody
 * needs to start it.  busy: the thread is at work, or a result has not been taken yet. */
struct job_progress {
    bool running, busy;
    enum job_kind kind;
    int tag;
    char what[32];
    double fraction;
};
void job_queue_progress(struct job_queue *q, enum job_lane lane, struct job_progress *out);
#endif
