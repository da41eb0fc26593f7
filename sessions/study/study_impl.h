/* What the files of studies share. */
#ifndef TS_SESSIONS_STUDY_IMPL_H
#define TS_SESSIONS_STUDY_IMPL_H
#include <jansson.h>

#include "sessions/study/study.h"

#define STUDY_VERSION 1
#define STUDY_MAX_BYTES (1u << 20)
#define STUDY_MAX_CELLS 4096
#define STUDY_MAX_COMBINATIONS 100000

const char *study_param_get(const struct study_set *s, const char *name);
/* a, then b; both stay as they are. */
struct study_set study_join(struct arena *a, const struct study_set *x, const struct study_set *y);
/* Combinations of a grid: the first axis varies slowest. */
int64_t study_grid_size(const struct study_grid *g);
struct study_set study_grid_at(struct arena *a, const struct study_grid *g, int64_t i);
/* "a=1, b=2" */
const char *study_set_text(struct arena *a, const struct study_set *s);

/* The text with every {...} replaced.  ERR_NAME, ERR_SYNTAX with the column in the template. */
bool study_expand(struct arena *a, const char *text, const struct study_set *params,
                  const char **out, struct err *e);
/* The parameters as a JSON object: numbers where they look like one. */
void study_set_json(struct str *out, const struct study_set *s);

/* Operator and step lines of a cell, filled in with `more` as well. On failure *bad is the step,
 * -1: the operator, -2: the cache. */
struct study_code { const char *spec, *cache; int n; const char **step; };
bool study_code(struct arena *a, const struct study *s, int c, int v, const struct study_set *more,
                struct study_code *out, int *bad, struct err *e);
/* The same, applied. */
bool study_program(struct arena *a, const struct study_code *code, const struct program **out,
                   int *bad, struct err *e);

/* The simulated cache of o from its text. */
bool study_cache(const char *text, struct measure_opts *o, struct err *e);

/* keep[case]: named in "A,B*", by id or title.  ERR_NAME with what there is. */
bool study_pick_cases(const struct study *s, const char *names, bool *keep, struct err *e);
/* Metrics of a cell from its run JSON. */
void study_cell_values(struct study_report *r, struct study_cell *cell);
void study_findings(struct study_report *r);
/* Takes the cell of an earlier report with the same key, when it was measured there. */
bool study_reuse(const json_t *report, struct arena *a, struct study_cell *cell);
#endif
