/* What the files share that let the tuner finish variants of a study. */
#ifndef TS_SESSIONS_STUDY_TUNE_H
#define TS_SESSIONS_STUDY_TUNE_H
#include "sessions/study/study_impl.h"

/* Some variant of it is. */
bool study_is_tuned(const struct study *s);
/* What the tuner has to do with a cell; not on: nothing.  scaled: what --scale leaves of it. */
struct study_tune study_tune_of(const struct study *s, int c, int v);
struct study_tune study_tune_scaled(const struct study_report *r, const struct study_opts *o,
                                    int c, int v);
/* Searches with every seed: cell->step is the start before, the fastest schedule after, READY then;
 * else the cell has its reason.  False: the environment lacks something, or a cancel, with *e. */
bool study_tune_cell(struct study_report *r, const struct study_opts *o, struct study_cell *cell,
                     const struct study_tune *t, const struct search_sink *view, struct cancel *c,
                     struct err *e);
/* The best at or before a trial; NAN: nothing was right by then. */
double study_search_at(const struct study_search *s, int trial);

/* The searches of a cell, one for each seed, as an object; trained: of the weights, or "". */
void study_tune_json(struct str *out, const struct study_tune *t, const char *trained,
                     const struct study_search *search);
/* `run --json` with that object as its member `tune`. */
void study_tune_join(struct str *json, const char *tuned);
/* The same with an object whose numbers nobody measured: what a metric may say. */
void study_tune_example(struct str *json);
/* The table of what was tuned; nothing when nothing was. */
void study_tune_text(struct str *out, const struct study_report *r);
#endif
