/* Variants of a study for which the auto-tuner completes the schedule. */
#ifndef TS_SESSIONS_STUDY_TUNE_H
#define TS_SESSIONS_STUDY_TUNE_H
#include "sessions/study/study_impl.h"

/* Whether the study has a tuned variant. */
bool study_is_tuned(const struct study *s);
/* Return the tuner's options for a cell; their member `on` says whether the cell is tuned.
 * study_tune_of returns what the study says, study_tune_scaled also applies --scale and *o. */
struct study_tune study_tune_of(const struct study *s, int c, int v);
struct study_tune study_tune_scaled(const struct study_report *r, const struct study_opts *o,
                                    int c, int v);
/* Searches from cell->step with each seed, and sets cell->step, or cell->kernels of a network, to
 * the fastest schedule.  The cell is then CELL_READY, or CELL_FAILED or CELL_LEFT with a reason.
 * Returns false with *e when a search cannot run, or is cancelled without a result. */
bool study_tune_cell(struct study_report *r, const struct study_opts *o, struct study_cell *cell,
                     const struct study_tune *t, const struct search_sink *view, struct cancel *c,
                     struct err *e);
/* Whether the operator is a graph with several convolutions or products. */
bool study_has_parts(struct arena *a, const char *spec);
/* How to search a graph of several operators, or a network. */
struct study_part_search {
    study_tune_fn *tune; void *ctx;                      /* runs the search of a part */
    const struct tuning_opts *opts;
    int n_steps; const char *const *step;                /* the steps to start from */
    const struct search_sink *view;
    struct cancel *cancel;
};
/* Searches a graph of several operators part by part (study_parts.c).  The parts share the budget
 * in how->opts.  *out gets the steps of the graph, and a curve with one point: the sum of the
 * parts' times. */
bool study_search_parts(struct arena *a, const char *spec, const struct study_part_search *how,
                        struct study_search *out, struct err *e);

/* --- Networks (study_network.c) --- */

/* Returns the path of the model `file` of a study: in `folder`, or if that is NULL, relative to the
 * study's own folder. */
const char *study_model_path(struct arena *a, const struct study *s, const char *folder,
                             const char *file);
/* Tunes the network of the model file `path`.  *out gets the schedules of its kernels, its time
 * before tuning as start_ms, and a curve with one point: its time after tuning. */
bool study_network_search(struct arena *a, const char *path, enum network_variant variant,
                          const struct study_part_search *how, struct study_search *out,
                          struct err *e);
/* Checks the ready cells of one case, times them in turns, and stores the output of `run NETWORK
 * --json` in each. cell: the cells of the case, one per variant.  A cell with a wrong result
 * becomes CELL_FAILED with the reason.  Returns false when cancelled, or when a network cannot be
 * opened or measured. */
bool study_network_measure(struct study_report *r, struct study_cell *cell,
                           const struct measure_opts *mo, const struct progress *pr,
                           const struct cancel *c, struct err *e);
/* Appends the JSON of an example network, to check the paths in the metrics of a study. */
bool study_network_example(struct str *json, unsigned meters, struct err *e);

/* Returns the best time in ms up to trial number `trial`, or NAN when no trial up to it was
 * correct. */
double study_search_at(const struct study_search *s, int trial);

/* Appends the searches of a cell, one per seed, as a JSON object. trained: a text about the
 * training of the weights, or "". */
void study_tune_json(struct str *out, const struct study_tune *t, const char *trained,
                     const struct study_search *search);
/* Adds the object of study_tune_json to the JSON of `run --json` as its member `tune`. */
void study_tune_join(struct str *json, const char *tuned);
/* Adds a member `tune` with invented numbers, to check the paths in the metrics of a study. */
void study_tune_example(struct str *json);
/* Appends a table of the tuned cells, if there are any. */
void study_tune_text(struct str *out, const struct study_report *r);
#endif
