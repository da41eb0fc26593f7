/* Declarations that only the files of sessions/study/ share. */
#ifndef TS_SESSIONS_STUDY_IMPL_H
#define TS_SESSIONS_STUDY_IMPL_H
#include <jansson.h>

#include "sessions/study/study.h"

#define STUDY_VERSION 1
#define STUDY_MAX_BYTES (1u << 20)
#define STUDY_MAX_CELLS 4096

/* Substitutes the parameters of case c, variant v and *more in the texts of a cell.  On failure
 * *bad says which text is wrong: the index of a step, -1 for the operator, -2 for the cache. */
struct study_code { const char *spec, *cache; int n; const char **step; };
bool study_code(struct arena *a, const struct study *s, int c, int v, const struct param_set *more,
                struct study_code *out, int *bad, struct err *e);
/* Sets the state of a cell, and a copy of the reason. */
void study_cell_ends(struct study_report *r, struct study_cell *cell, enum cell_state state,
                     const char *reason);
/* Sets keep[case] for each case whose id or title `names` ("A,B*") selects.  Fails with ERR_NAME
 * when a name has no case. */
bool study_pick_cases(const struct study *s, const char *names, bool *keep, struct err *e);
/* Computes the metrics of a cell from cell->json. */
void study_cell_values(struct study_report *r, struct study_cell *cell);
void study_findings(struct study_report *r);
/* Evaluates f->each for the chosen case c of r.  Sets *holds for OVER_ALL, else *number.  If r is
 * NULL, c is the index of a case of s, and every metric has the value 1. */
bool study_each(const struct study *s, const struct study_report *r, int c,
                const struct study_finding *f, bool *holds, double *number, struct err *e);
/* Copies to *cell the measured cell with the same key from an earlier report, as CELL_REUSED.
 * Returns false if the report has no such cell. */
bool study_reuse(const json_t *report, struct arena *a, struct study_cell *cell);
#endif
