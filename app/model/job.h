/* Background jobs, for all work that takes longer than a redraw.
 *
 * A program belongs to one thread (program.h), so a job gets the operator and its steps as text and
 * rebuilds the program in its own arena.  There are three threads (lanes): one measures, one
 * generates code, one tunes; so code appears during a measurement.  A search pauses while something
 * is measured (gate.h).  Results are queued, and a descriptor that poll() can watch announces them.
 * Jobs never touch the model. */
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

/* X(id, lane, group, what the title says while the job runs; "": nothing).  Jobs of the group STATE
 * are about a state of the session, MARK about several states, NETWORK about the network.  C, ASM
 * and SASS have the order of enum code_kind (ORDER CODE).
 *
 * MACHINE measures the machine model and stores it.  NETWORK builds a network; NETWORK_RUN also
 * measures it.  OPEN reads an ONNX file.  LENS simulates a window of the run.  CURES and FORECAST
 * predict the misses after each row of `text`.  STOPPED looks for a stopped search in the
 * records. */
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

/* How to measure.  All 0: the defaults of struct measure_opts. */
struct job_settings {
    double sim_budget;
    struct cache_config cache;
    char compiler[200];
    const struct target *target;
    double forecast_s;                   /* most seconds for one forecast (0: 0.05) */
};
/* The texts, simulated misses and times of both sides of a comparison, A and B. */
struct job_pair {
    struct str c[2], assembly[2];
    struct sim_result sim[2];
    struct compared time[2];
};
void job_pair_free(struct job_pair *pair);
/* Returns the recipe of a program, which the caller frees. */
char *job_recipe(const struct program *p);

struct tune_snapshot;
struct app_job {
    enum job_kind kind;
    char *recipe;                /* the operator's spec, then one step per line; OPEN: the path */
    /* Set after job_new: chosen (jobs of the group NETWORK) and accuracy (also TUNE, STOPPED), both
     * as in struct network_order. */
    char *chosen; double accuracy;
    int tag;                     /* set by the caller, and not changed */
    int threads;
    unsigned baselines;          /* MEASURE: see struct measure_opts; 0 unless set after job_new */
    struct job_settings set;     /* MEASURE, C, ASM, SASS: set after job_new */
    struct tuning_opts tune;     /* TUNE, STOPPED: set after job_new; its texts are never freed */
    char *other;  /* COMPARE: the recipe of A; FORECAST: the recipe of the preview; or NULL */
    int from;  /* BISECT: number of steps of the earlier state; set after job_new */
    double patience;             /* FORECAST: factor for its time limit, set after job_new; or 0 */
    int64_t lens_from;           /* LENS: see struct lens_opts; set after job_new */
    struct tune_snapshot *snapshot;      /* TUNE, set after job_new; the job owns a reference */
    /* The members below are the result, except those that are set by the caller or after
     * job_new. */
    bool ok;
    struct err e;                /* when not ok; ERR_CANCEL after a cancel */
    struct measurement m;        /* MEASURE; m.sim.detail is `detail`, which the job owns */
    struct sim_detail *detail;
    /* C, ASM, SASS: the code; BISECT, NETWORK_TUNE: a sentence on the result; CURES, FORECAST: the
     * rows to predict, set after job_new */
    struct str text;
    struct arena *mem;           /* memory of lines */
    struct code_lines lines;     /* the loops to which the lines of text belong */
    struct port_pressure ports;  /* ASM: port pressure of the hottest loop */
    struct machine_model *model; /* MACHINE: the model */
    struct network_made *network;        /* NETWORK: the network */
    /* OPEN: the session; NETWORK_TUNE: the session with its new schedules */
    struct session *session;
    struct network_live *live;   /* NETWORK_TUNE, set after job_new; the job owns a reference */
    double seconds;              /* NETWORK_TUNE, set after job_new */
    struct network_live_result tuned;    /* NETWORK_TUNE: the result */
    struct job_pair *pair;       /* COMPARE: both sides */
    struct lens *lens;           /* LENS: the lens; the lines of cure are in its arena */
    struct forecast *cure, now;
    int n_cures;  /* number of rows of cure; of CURES, FORECAST: the rows of text, copied to mem */
    unsigned stamp;              /* CURES, FORECAST: set by the caller, and not changed */
    struct bisection bisection;  /* BISECT: the result; its text is in `text` */
    struct ablation *ablation;   /* ABLATE: the result */
    struct tuning_stopped stopped;       /* STOPPED: the search that was found, if ok */
    struct tuning *tuning;       /* TUNE: the result; after a cancel the result so far */
};
struct app_job *job_new(enum job_kind kind, const char *recipe, int tag, int threads);
void job_free(struct app_job *j);
/* Does the work of j on the calling thread. */
void job_run(struct app_job *j, struct cancel *c, const struct progress *pr);

/* Returns the options of a measurement with the settings of j; the caller sets the meters. */
struct measure_opts job_measure_opts(const struct app_job *j);
/* job_compare.c: does the work of COMPARE, BISECT and ABLATE on the program of the recipe. */
bool job_run_compare(struct app_job *j, const struct program *p, const struct program *other,
                     const struct progress *pr, const struct cancel *c);

/* job_lens.c: does the work of LENS, CURES and FORECAST. */
#define JOB_END_ROW "\f"                  /* ends a row of text, which may have several lines */
/* Sets the rows that CURES is to predict. */
void job_want_cures(struct app_job *j, const struct forecast *cure, int n);
bool job_run_lens(struct app_job *j, const struct program *p, const struct cancel *c);
bool job_run_cures(struct app_job *j, const struct program *p, const struct progress *pr,
                   const struct cancel *c);
/* Runs FORECAST. other: the program after the only line; NULL: the lines must be run. */
bool job_run_forecast(struct app_job *j, const struct program *p, const struct program *other,
                      const struct cancel *c);

struct job_queue;
bool job_queue_open(struct job_queue **out, struct err *e);
void job_queue_close(struct job_queue *q);               /* cancels the jobs and waits for them */
/* Returns a descriptor that becomes readable when a job has ended or progressed. */
int job_queue_fd(const struct job_queue *q);
/* Starts j and takes ownership. Cancels the job that runs in the same lane; that job still reports
 * its end, as cancelled. */
void job_queue_start(struct job_queue *q, struct app_job *j);
void job_queue_cancel(struct job_queue *q, enum job_lane lane);
/* Returns the next finished job, which the caller frees (job_free); NULL: none has finished. */
struct app_job *job_queue_take(struct job_queue *q);
void job_queue_drain_fd(struct job_queue *q);

/* running: whether the job (kind, tag) runs and is not cancelled, or its result was not taken yet.
 * Such a job need not be started again. busy: whether the thread runs any job, or a result was not
 * taken yet. */
struct job_progress {
    bool running, busy;
    enum job_kind kind;
    int tag;
    char what[32];
    double fraction;
};
void job_queue_progress(struct job_queue *q, enum job_lane lane, struct job_progress *out);
#endif
