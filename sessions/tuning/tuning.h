/* Tuning a session: the tuner (explorer/tune) with expert schedules as seeds and everything that it
 * measures in the records; stopped runs that go on, finished ones that are answered at once. */
#ifndef TS_SESSIONS_TUNING_H
#define TS_SESSIONS_TUNING_H
#include "explorer/tune/tune.h"
#include "sessions/records/records.h"
#include "sessions/file/session.h"

enum { TUNING_BUDGET = 1000, TUNING_EXPERTS = 7 };

struct tuning_opts {
    int budget;                          /* 0: of the run that goes on, else TUNING_BUDGET */
    bool seed_given; uint64_t seed;      /* else of the run that goes on, else 1 */
    const char *strategy;                /* NULL: likewise, else tune_default_strategy() */
    double time_s;                       /* of the search; 0: no limit */
    int levels;                          /* of the templates: 1 (0 too) or 2 */
    bool loop_only;
    bool cold;                           /* struct search_opts */
    /* "layout": the layouts that the session sets; "all-layouts"; or a layout step. */
    int n_pins; const char *const *pin;
    int experts;                         /* seeds; 0: TUNING_EXPERTS; < 0: none */
    bool resume;                         /* go on with the latest run that was stopped or killed */
    bool fresh;                          /* measure even if the records have the answer */
    bool study;                          /* only a run of this very budget answers, and goes before
                                          * a stopped one; no ledger */
    struct measure_opts measure;         /* threads, target, compiler, data seed */
    unsigned baselines;
    const char *records;                 /* file; NULL: records_path */
    const char *weights; size_t weights_bytes;
    bool no_ledger;                      /* what each step bought is not wanted */
};

struct tuning {
    const char *spec, *isa; int threads;
    char run[RUN_ID];
    const char *strategy; uint64_t seed; int budget;
    bool answered;                       /* by the records: result is NULL */
    const char *answered_date;
    int resumed;                         /* records that the run had; -1: it is a new one */
    const char *could_resume;            /* a stopped run of this task, or NULL */
    const char *records_file;
    const char *note;                    /* struct tune_result */
    struct tune_result *result;
    enum search_end end;
    int trials, replayed;                /* measurements of the run; known from before */
    double start_ms;                     /* of the session as it was; INFINITY: not known */
    double best_ms;                      /* of the winner; INFINITY: there is none */
    /* Of the session and the winner in the final, in turns with each other; NULL: not in it. */
    const struct measurement *final_start, *final_best;
    bool is_start;                       /* nothing is faster than the session */
    /* Times as fast as the session: in turns, where both were in the final, else start_ms /
     * best_ms; NAN: not known. */
    double speedup;
    int n_lines; const char *const *line;            /* the winner's */
    bool measured; struct measurement m; /* the winner's, in this call */
    double gflops, spread;               /* of it, now or in the records; 0, NAN: not known */
    /* Of every step of the winner, [0] the bare operator: the ledger; NULL: not measured. */
    struct measurement *ledger;
    int failed[TUNE_OUTCOMES];
    struct arena *mem;
};

/* The current state of s is the start; s is not changed.  view: only its view callback and ctx are
 * used; may be NULL.  A new run is in the records from its first measurement on: what is refused
 * before leaves none.  A finished run answers as long as its records are all there.  Raises cancel
 * itself when the records cannot be written.  False with *e, and *out untouched; what was measured
 * by then is in the records. */
bool tuning_run(const struct session *s, const struct tuning_opts *o,
                const struct search_sink *view, struct cancel *cancel, struct tuning **out,
                struct err *e);
void tuning_free(struct tuning *t);

/* The run that o->resume goes on with; false: there is none, or nobody knows.  Only reads. */
struct tuning_stopped { int trials, budget; double best_ms; /* 0: none is right */ };
bool tuning_stopped(const struct session *s, const struct tuning_opts *o,
                    struct tuning_stopped *out);

/* What the run of t measured, out of the records, as it was shown at its end, in arena a.  How long
 * it took, the model and the agents are not known any more. */
bool tuning_past(const struct tuning *t, struct arena *a, struct tune_view *out, struct err *e);

/* Puts the result into s: where `here` is set and the current branch has no steps, on that, else on
 * a new one, "tuned".  With its ledger.  Where the session is the fastest, only its measurement;
 * where no steps at all are, `here` undoes them. */
bool tuning_apply(const struct tuning *t, struct session *s, bool here, struct err *e);
/* Expert schedules among the seeds; t->result is there. */
int tuning_experts(const struct tuning *t);
/* `tilescope tune --json` (schema.md). */
void tuning_json(struct str *out, const struct tuning *t, const char *machine);
#endif
