/* Background jobs, for work that takes longer than a redraw.
 *
 * A program belongs to one thread (program.h).  So a job gets the operator and its steps as text,
 * and rebuilds the program in its own arena.  Jobs run on three threads, called lanes: one
 * measures, one tunes, and one does all other work, so that code appears while something is
 * measured.  A search pauses while something else is measured (gate.h).  Finished jobs are queued,
 * and announced on a descriptor that poll() can watch.  Jobs never touch the model. */
#ifndef TS_APP_JOB_H
#define TS_APP_JOB_H
#include "app/model/network_live.h"
#include "app/model/network_made.h"
#include "explorer/history/ablation.h"
#include "explorer/history/forecast.h"
#include "profile/machine/machine_model.h"
#include "profile/measure/measure.h"
#include "profile/measure/port_pressure.h"
#include "profile/measure/program_text.h"
#include "sessions/tuning/tuning.h"

/* X(id, lane, group, doing): the kinds of jobs.  doing: what the title says while the job runs; "":
 * nothing.  Jobs of the group MARK compare several states, those of NETWORK are about the network,
 * all others are in STATE.  C, ASM and SASS have the order of enum code_kind in model_parts.h
 * (ORDER CODE).
 *
 * MACHINE measures the machine model and stores it.  NETWORK builds a network; NETWORK_RUN also
 * measures it, and can export it; NETWORK_TUNE tunes all its kernels.  OPEN reads an ONNX file.
 * LENS makes the cache lens.  CURES and FORECAST predict the misses after each row of app_job.text.
 * STOPPED looks for a stopped search in the records. */
#define JOB_KINDS(X) \
    X(MEASURE, MEASURE, STATE, "measuring") \
    X(C, TEXT, STATE, "writing C") \
    X(ASM, TEXT, STATE, "disassembling") \
    X(SASS, TEXT, STATE, "disassembling") \
    X(MACHINE, MEASURE, STATE, "roofs") \
    X(TUNE, TUNE, STATE, "") \
    X(COMPARE, MEASURE, MARK, "comparing") \
    X(BISECT, MEASURE, MARK, "bisecting") \
    X(ABLATE, MEASURE, MARK, "ablating") \
    X(NETWORK, TEXT, NETWORK, "scheduling") \
    X(NETWORK_RUN, MEASURE, NETWORK, "measuring") \
    X(NETWORK_TUNE, TUNE, NETWORK, "tuning all") \
    X(OPEN, TEXT, STATE, "reading the model") \
    X(LENS, TEXT, STATE, "simulating") \
    X(CURES, TEXT, STATE, "cures") \
    X(STOPPED, TEXT, STATE, "looking for searches") \
    X(FORECAST, TEXT, STATE, "")
enum job_kind {
#define KIND(id, lane, group, doing) JOB_##id,
    JOB_KINDS(KIND)
#undef KIND
    JOB_COUNT
};
enum job_lane { LANE_MEASURE, LANE_TEXT, LANE_TUNE, LANE_COUNT };
enum job_group { JOBS_STATE, JOBS_MARK, JOBS_NETWORK };
struct job_info { enum job_lane lane; enum job_group group; const char *doing; };
extern const struct job_info job_info[JOB_COUNT];        /* the rows of JOB_KINDS */

/* How to measure.  A member that is 0, NULL or "" stands for its default. */
struct job_settings {
    double sim_budget;
    struct cache_config cache;
    char compiler[200];
    const struct target *target;
    double forecast_s;                   /* time limit of one forecast, in seconds (0: 0.05) */
};
/* The texts, simulated misses and times of both sides of a comparison: [0] is A, [1] is B. */
struct job_pair {
    struct str c[2], assembly[2];
    struct sim_result sim[2];
    struct compared time[2];
};
void job_pair_free(struct job_pair *pair);
/* Returns the recipe of a program (app_job.recipe), which the caller frees. */
char *job_recipe(const struct program *p);

/* A job, with its inputs and its result.  IN marks an input: after job_new, the caller sets it if
 * the job is of one of the kinds behind IN.  The job owns what its members point to, except targets
 * and the texts of `tune`. */
struct tune_snapshot;
struct app_job {
    enum job_kind kind;
    char *recipe;                /* the operator's spec, then one step per line; OPEN: the path */
    /* as in struct network_order.  chosen: IN: NETWORK, NETWORK_RUN, NETWORK_TUNE; accuracy: IN:
     * the same kinds, TUNE and STOPPED */
    char *chosen; double accuracy;
    int tag;                     /* chosen by the caller; the job does not change it */
    int threads;
    unsigned baselines;          /* IN: MEASURE (other jobs ignore it): see struct measure_opts */
    struct job_settings set;     /* IN: jobs that compile, measure or simulate a program */
    struct tuning_opts tune;     /* IN: TUNE, STOPPED; its texts are constants */
    /* IN: COMPARE: recipe of A; FORECAST: recipe of the preview; NULL: no preview; NETWORK_RUN: the
     * folder to export to, or NULL */
    char *other;
    int from;                    /* IN: BISECT: number of steps of the earlier state */
    double patience;             /* IN: FORECAST: its time limit is multiplied by this (0: by 1) */
    int64_t lens_from;           /* IN: LENS: see struct lens_opts */
    struct tune_snapshot *snapshot;      /* IN: TUNE: a reference */
    /* The result, and more inputs. */
    bool ok;
    struct err e;                /* if not ok; ERR_CANCEL after a cancel */
    struct measurement m;        /* MEASURE; m.sim.detail is `detail` */
    struct sim_detail *detail;
    /* C, ASM, SASS: the code; BISECT, NETWORK_TUNE: a sentence on the result, as in a NETWORK_RUN
     * that has exported (if it has not, `e` says why).  IN: CURES, FORECAST: the rows to predict,
     * each ended by JOB_END_ROW */
    struct str text;
    struct arena *mem;           /* owns `lines`; CURES, FORECAST: also each cure[].line */
    struct code_lines lines;     /* the loops to which the lines of `text` belong */
    struct port_pressure ports;  /* ASM: port pressure of the hottest loop */
    struct machine_model *model; /* MACHINE: the model */
    struct network_made *network;        /* NETWORK, NETWORK_RUN: the network */
    /* OPEN: the session; NETWORK_TUNE: a session of the network with its new schedules; IN:
     * NETWORK_RUN that exports: no more than the names of the model's inputs and outputs */
    struct session *session;
    struct network_live *live;   /* IN: NETWORK_TUNE: a reference */
    double seconds;              /* IN: NETWORK_TUNE: time of the search */
    struct network_live_result tuned;    /* NETWORK_TUNE: the result */
    struct job_pair *pair;       /* COMPARE: both sides */
    struct lens *lens;           /* LENS: the lens; its arena owns each cure[].line */
    /* cure[n_cures]: LENS: possible cures, not predicted; CURES, FORECAST: the prediction of each
     * row of `text`.  now: CURES, FORECAST: the prediction for the program before the rows */
    struct forecast *cure, now;
    int n_cures;
    unsigned stamp;              /* IN: CURES, FORECAST: chosen by the caller, as `tag` */
    struct bisection bisection;  /* BISECT: the result; its text is in `text` */
    struct ablation *ablation;   /* ABLATE: the result */
    struct tuning_stopped stopped;       /* STOPPED: the search that was found, if ok */
    struct tuning *tuning;       /* TUNE: the result; after a cancel, the result so far or NULL */
};
struct app_job *job_new(enum job_kind kind, const char *recipe, int tag, int threads);
void job_free(struct app_job *j);
/* Does the work of j on the calling thread.  The result is in j. */
void job_run(struct app_job *j, struct cancel *c, const struct progress *pr);

/* Returns options of a measurement with the settings of j, without meters. */
struct measure_opts job_measure_opts(const struct app_job *j);
/* job_compare.c: does the work of COMPARE, BISECT and ABLATE.  p: the program of j->recipe; other:
 * the program of j->other, or NULL. */
bool job_run_compare(struct app_job *j, const struct program *p, const struct program *other,
                     const struct progress *pr, const struct cancel *c);

/* job_lens.c: the work of LENS, CURES and FORECAST on the program p of j->recipe. */
#define JOB_END_ROW "\f"                  /* ends a row, which can have several lines */
/* Sets the rows that CURES predicts: the lines of cure[n]. */
void job_want_cures(struct app_job *j, const struct forecast *cure, int n);
bool job_run_lens(struct app_job *j, const struct program *p, const struct cancel *c);
bool job_run_cures(struct app_job *j, const struct program *p, const struct progress *pr,
                   const struct cancel *c);
/* Predicts the misses of p, and of p after each row of steps in j->text.  other: p after the only
 * row, if the caller has applied it; NULL: the job applies the rows. */
bool job_run_forecast(struct app_job *j, const struct program *p, const struct program *other,
                      const struct cancel *c);

struct job_queue;
bool job_queue_open(struct job_queue **out, struct err *e);
void job_queue_close(struct job_queue *q);               /* cancels the jobs and waits for them */
/* Returns a descriptor that becomes readable when a job has ended or progressed. */
int job_queue_fd(const struct job_queue *q);
/* Starts j and takes ownership.  Cancels the job that runs in the same lane; that job still ends
 * and is queued, usually with ERR_CANCEL.  Frees a job that waits in this lane. */
void job_queue_start(struct job_queue *q, struct app_job *j);
void job_queue_cancel(struct job_queue *q, enum job_lane lane);
/* Returns the next finished job, which the caller frees (job_free); NULL: none has finished. */
struct app_job *job_queue_take(struct job_queue *q);
void job_queue_drain_fd(struct job_queue *q);

/* The progress of a lane.  running: whether the lane has a job (kind, tag) that need not be started
 * again: it waits, or runs and is not cancelled, or has ended and was not taken yet.  busy: whether
 * the lane has any job, or an ended job of any lane was not taken yet.  what, fraction: what the
 * running job reports. */
struct job_progress {
    bool running, busy;
    enum job_kind kind;
    int tag;
    char what[32];
    double fraction;
};
void job_queue_progress(struct job_queue *q, enum job_lane lane, struct job_progress *out);
#endif
