/* What the files of studies share. */
#ifndef TS_SESSIONS_STUDY_IMPL_H
#define TS_SESSIONS_STUDY_IMPL_H
#include <jansson.h>

#include "sessions/study/study.h"

#define STUDY_VERSION 1
#define STUDY_MAX_BYTES (1u << 20)
#define STUDY_MAX_CELLS 4096

/* Operator and step lines of a cell, filled in with `more` as well. On failure *bad is the step,
 * -1: the operator, -2: the cache. */
struct study_code { const char *spec, *cache; int n; const char **step; };
bool study_code(struct arena *a, const struct study *s, int c, int v, const struct param_set *more,
                struct study_code *out, int *bad, struct err *e);
/* keep[case]: named in "A,B*", by id or title.  ERR_NAME with what there is. */
bool study_pick_cases(const struct study *s, const char *names, bool *keep, struct err *e);
/* Metrics of a cell from its run JSON. */
void study_cell_values(struct study_report *r, struct study_cell *cell);
void study_findings(struct study_report *r);
/* What a finding says of a case: *holds where all must, else *number.  r NULL: of a case of s, as
 * if every metric were 1. */
bool study_each(const struct study *s, const struct study_report *r, int c,
                const struct study_finding *f, bool *holds, double *number, struct err *e);
/* Takes the cell of an earlier report with the same key, when it was measured there. */
bool study_reuse(const json_t *report, struct arena *a, struct study_cell *cell);
#endif
