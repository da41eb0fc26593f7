/* Inside tuning*.c. */
#ifndef TS_SESSIONS_TUNING_IMPL_H
#define TS_SESSIONS_TUNING_IMPL_H
#include "explorer/tune/strategies.h"
#include "sessions/tuning/tuning.h"

enum { TUNING_MOST_EXPERTS = 64 };

/* A question to the tuner, and what it needs until it is answered. */
struct inquiry {
    struct tuning *t;
    struct arena *mem, *scratch;         /* mem is t's */
    const char *spec; const struct target *target; int threads;
    uint64_t data_seed;
    int n_schedules; struct tune_lines schedule[1 + TUNING_MOST_EXPERTS];    /* [0]: the session */
    int n_pins; const char **pin;
    bool fixed;
    const char *options;                 /* JSON: what else makes it the same question */
    struct records *records;
    const struct record_run *finished, *stopped;
    const struct record_run *other_budget;           /* stopped, too */
    struct record_run fresh;             /* of a new run, until it is in the records */
    int n_known; const struct record *known;         /* of the run that goes on */
    uint64_t *known_hash;
    const struct search_sink *view;
    struct cancel *cancel;
    bool lost; struct err why_lost;      /* a record could not be written */
};
#endif
