/* One measurement as YAML: the tables of its fields serve both directions. */
#ifndef TS_SESSIONS_MEASURED_YAML_H
#define TS_SESSIONS_MEASURED_YAML_H
#include "profile/measure/measure.h"
#include "sessions/file/yaml_fields.h"

/* What it was measured on: step number `step` of a branch.  key is measured_key of that state: when
 * the steps were edited by hand it does not match any more and the measurement is stale. */
struct measured_at { const char *branch; int64_t step; char key[20]; };

/* The operator and the steps up to a state, as one number in hex.  It depends on the hashes of
 * weights and not on where their file is. */
void measured_key(char out[20], const char *spec, const char *const *steps, int n);

void measured_write(struct ywriter *w, const struct measured_at *at, const struct measurement *m);
/* at->branch points into the tree of d. */
bool measured_read(const struct ydoc *d, const struct ynode *node, struct measured_at *at,
                   struct measurement *m, struct err *e);
#endif
