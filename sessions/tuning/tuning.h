/* Tunes a session: calls the tuner (explorer/tune) with expert schedules as seeds and records every
 * trial.  Resumes stopped runs, and answers from finished runs without measuring. */
#ifndef TS_SESSIONS_TUNING_H
#define TS_SESSIONS_TUNING_H
#include "explorer/tune/tune.h"
#include "sessions/records/records.h"
#include "sessions/file/session.h"

enum { TUNING_BUDGET = 1000, TUNING_EXPERTS = 7 };
/* for a kernel with an algorithm: how many expert schedules are tried, the best first */
enum { TUNING_ALGORITHM_EXPERTS = 15 };

struct tuning_opts {
    int budget;                          /* 0: the budget of the resumed run, else TUNING_BUDGET */
    bool seed_given; uint64_t seed;      /* if not given: the seed of the resumed run, else 1 */
    const char *strategy;  /* NULL: the strategy of the resumed run, else see tune_strategy */
    int joint;                           /* trials for layouts; 0: see plan_of */
    double time_s;                       /* time limit of the search in seconds; 0: no limit */
    int levels;                          /* levels of the layout templates: 1 or 2; 0: 1 */
    bool loop_only;
    /* For a GPU: rank by the simulator of measure.gpu.  Times, also in records, are then simulated;
     * only runs with the same objective and device can answer or be resumed. */
    bool simulated;
    bool cold;                           /* see struct search_opts */
    /* Each pin is "layout" (the session's steps except loop steps stay), "all-layouts" (all
     * layouts stay) or a step other than a loop step. */
    int n_pins; const char *const *pin;
    int experts;  /* number of expert schedules as seeds; 0: TUNING_EXPERTS; < 0: none */
    bool resume;                         /* whether to resume the latest unfinished run */
    /* whether to start a new run, instead of refusing, if the stopped run has another budget */
    bool any_budget;
    bool fresh;                          /* whether to search even if a finished run could answer */
    /* whether a study asks.  A finished run then answers only if it has exactly this budget; it
     * also answers when a stopped run could be resumed.  No ledger is measured. */
    bool study;
    struct measure_opts measure;         /* threads, target, compiler, data seed, GPU, ... */
    unsigned baselines;                  /* 1 << enum vendor_library */
    const char *records;                 /* path of the file; NULL: records_path */
    const char *weights; size_t weights_bytes;
    bool no_ledger;                      /* whether not to measure the winner step by step */
    struct follow *follow;               /* a schedule to follow (follow.h), or NULL */
    const struct cancel *stop;           /* ends the search early (struct tune_opts) */
};

struct tuning {
    const char *spec, *isa; int threads;
    const char *simulated;               /* the simulated GPU, "h100"; NULL: times are measured */
    char run[RUN_ID];
    const char *strategy; uint64_t seed; int budget;
    bool answered;                       /* whether a finished run answered; result is then NULL */
    const char *answered_date;
    int resumed;  /* number of records that the run had before; -1: no run was resumed */
    const char *could_resume;            /* the run that o->resume would have resumed, or NULL */
    const char *records_file;
    const char *note;                    /* see struct tune_result */
    struct tune_result *result;
    enum search_end end;
    int trials, replayed;  /* trials: of the run; replayed: those that came from records */
    double start_ms;  /* time of the session's schedule; INFINITY: unknown */
    double best_ms;                      /* time of the winner; INFINITY: no winner */
    /* The session's schedule and the winner, timed in turns in the final or after it; NULL: not
     * timed there. */
    const struct measurement *final_start, *final_best;
    bool is_start;                       /* whether the session's schedule itself is the winner */
    /* Time of the session / time of the winner, timed in turns if that was possible; else 1 if
     * is_start, else start_ms / best_ms; NAN: unknown.  low, high: the 95 % interval; 0: not timed
     * in turns. */
    double speedup, speedup_low, speedup_high;
    int n_lines; const char *const *line;            /* the winner's steps */
    /* how the contract of the winner differs from the session's (contract.h); "": it does not */
    const char *other_contract;
    /* measured: whether the winner was measured alone in this call; m: this measurement */
    bool measured; struct measurement m;
    double gflops, spread;  /* of the winner, measured or recorded; gflops 0, spread NAN: unknown */
    /* The winner after each of its steps; [0] is the operator without steps; NULL: not measured. */
    struct measurement *ledger;
    int failed[TUNE_OUTCOMES];
    struct arena *mem;
};

/* Whether a tuning is for a GPU: its target is one, or a loop of the session is bound. */
bool tuning_for_gpu(const struct session *s, const struct tuning_opts *o);

/* Tunes from the current state of s, which stays unchanged.  view: only its members `view` and
 * `ctx` are used; may be NULL.  A new run enters the records with its first measurement, or when
 * it ends.  A finished run answers only if it seems to have all its records.  If a record cannot be
 * written, raises *cancel and fails.  On failure *out is unchanged; the records keep all earlier
 * trials. */
bool tuning_run(const struct session *s, const struct tuning_opts *o,
                const struct search_sink *view, struct cancel *cancel, struct tuning **out,
                struct err *e);
void tuning_free(struct tuning *t);

/* The parts of tuning_run, for a search that is continued later.  o->budget is the budget of the
 * run in the records, so it must be large if the search may continue for long. The texts of *o must
 * outlive the inquiry.
 *
 * tuning_go searches until the run has `trials` trials, replayed ones included, or for time_s
 * seconds (0: no limit), unless the search ends before.  If a finished run answers, tuning_go does
 * nothing.  After a failure, the caller must call tuning_drop. */
struct inquiry;
bool tuning_open(const struct session *s, const struct tuning_opts *o,
                 const struct search_sink *view, struct cancel *cancel, struct inquiry **out,
                 struct err *e);
bool tuning_go(struct inquiry *q, int trials, double time_s, struct err *e);
/* Returns the state of the search; NULL: there is no search, because a finished run answers. */
const struct tune_result *tuning_now(const struct inquiry *q);
/* Compares the best candidates, and ends the run in the records.  The run is stored as stopped if
 * the winner was not measured alone.  Else it is stored as finished if its space is exhausted or
 * its budget spent, as settled if it settled, and as stopped if the search ended otherwise.  A
 * settled run that was resumed is stored as settled instead of stopped.  compare_s: see struct
 * tune_opts.
 * Frees q in any case. */
bool tuning_close(struct inquiry *q, double compare_s, struct tuning **out, struct err *e);
/* Frees q, and ends a run that was begun or resumed as one that was stopped.  q may be NULL. */
void tuning_drop(struct inquiry *q);

/* Finds the run that o->resume would resume. Returns false when there is none, or on an error.
 * Reads only. */
struct tuning_stopped { int trials, budget; double best_ms; /* 0: no correct trial */ };
bool tuning_stopped(const struct session *s, const struct tuning_opts *o,
                    struct tuning_stopped *out);

/* Restores the last view of the run of t from its records, in arena a.  The times of the search,
 * the cost model and the agents are missing, because the records do not have them. */
bool tuning_past(const struct tuning *t, struct arena *a, struct tune_view *out, struct err *e);

/* Adds the winner's steps and ledger to s. If a branch has exactly these steps, it becomes the
 * current one. Otherwise the steps are added to the current branch if `here` is true and the branch
 * has no steps, else to a new branch "tuned" (or "tuned2", ...). If the session's schedule won,
 * adds only its measurement. If the operator without steps won and `here` is true, goes to state 0,
 * which undoes all steps. */
bool tuning_apply(const struct tuning *t, struct session *s, bool here, struct err *e);
/* Appends ", 1.25x as fast", then `than` (" as before" or ""), then the interval.  A ratio of times
 * that were measured, but not in turns, is printed as "about 1.25x".  Appends nothing if the
 * speedup is unknown. */
void tuning_print_speedup(const struct tuning *t, const char *than, struct str *out);
/* Returns the number of trials that are expert schedules; t->result must not be NULL. */
int tuning_experts(const struct tuning *t);
/* Sets *out to the ratio (time of the session's schedule) / (time of c), with its interval.  If the
 * two were not timed in turns, returns false and leaves *out unchanged. */
bool tuning_gain(const struct tune_result *r, const struct tune_candidate *c, struct ratio *out);
/* A candidate that was timed in turns with others after the search.  trial: its index in the view.
 * ms: its median time; NAN: it failed there.  speedup: ratio of medians, session's schedule over
 * this candidate; NAN: the two were not timed in turns. */
struct tuning_timed { int trial; double ms, speedup; };
enum { TUNING_MOST_TIMED = TUNE_FINALISTS + 2 };
/* Returns how many candidates were timed in turns: the winner comes first, then the others by
 * time, failed ones last. */
int tuning_timed(const struct tune_result *r, struct tuning_timed out[TUNING_MOST_TIMED]);
/* Returns the index of a candidate in the trials of the view; -1: c is NULL or no trial. */
int tuning_trial(const struct tune_result *r, const struct tune_candidate *c);
/* Returns the fastest trial of the search, if it was timed in turns (`timed` has n candidates) and
 * another candidate won; else NULL. */
const struct tuning_timed *tuning_lost(const struct tuning_timed *timed, int n,
                                       const struct tune_view *v);
/* Appends "trial 21 was faster in the search (2.46 ms), 3.12 ms in turns", or that it failed in
 * turns; add_ms appends a time. */
void tuning_print_lost(struct str *out, const struct tuning_timed *lost, const struct tune_view *v,
                       void (*add_ms)(struct str *out, double ms));
/* Prints `tilescope tune --json` (schema.md). */
void tuning_json(struct str *out, const struct tuning *t, const char *machine);
#endif
