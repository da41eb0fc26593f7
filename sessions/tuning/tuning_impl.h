/* Private to tuning*.c. */
#ifndef TS_SESSIONS_TUNING_IMPL_H
#define TS_SESSIONS_TUNING_IMPL_H
#include "explorer/tune/strategies.h"
#include "sessions/tuning/tuning.h"

enum { TUNING_MOST_EXPERTS = 64 };

/* The state of a tuning, from open to close. */
struct inquiry {
    struct tuning_opts opts;
    struct tune_opts search;             /* the options of the search t->result */
    struct tuning *t;
    struct arena *mem, *scratch;         /* mem becomes t's arena */
    const char *spec; const struct target *target; int threads;
    uint64_t data_seed;
    double accuracy;  /* largest error that an expert's algorithm may have; 0: no algorithms */
    /* schedule[0] is the session's */
    int n_schedules; struct tune_lines schedule[1 + TUNING_MOST_EXPERTS];
    int n_pins; const char **pin;
    bool fixed;                          /* whether the search must keep all layouts */
    const char *options;                 /* the options as JSON (options_text) */
    struct records *records;
    /* finished: a run that can answer; stopped: a run that can be resumed; NULL: no such run */
    const struct record_run *finished, *stopped;
    const struct record_run *other_budget;  /* a stopped run with another budget, or NULL */
    struct record_run fresh;             /* a new run, to be added at its first measurement */
    int n_known; const struct record *known;         /* records of the resumed run */
    uint64_t *known_hash;
    const struct search_sink *view;
    struct cancel *cancel;
    bool lost; struct err why_lost;  /* lost: a record could not be written; why_lost: the reason */
};
/* tuning_ask.c: fills in q from the session and *o: target, schedules, pins, text of options. */
bool tuning_ask(struct inquiry *q, const struct session *s, const struct tuning_opts *o,
                struct err *e);
/* Returns the GPU of the options, else the default one. */
const struct gpu_device *tuning_gpu(const struct tuning_opts *o);
#endif
