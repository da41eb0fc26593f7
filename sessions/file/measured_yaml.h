/* Writes and reads one measurement as YAML, by the tables of measured_fields.h. */
#ifndef TS_SESSIONS_MEASURED_YAML_H
#define TS_SESSIONS_MEASURED_YAML_H
#include "profile/measure/measure.h"
#include "sessions/file/yaml_fields.h"

/* The state that was measured: the state of `branch` after step number `step`. key: measured_key of
 * that state.  If somebody edits the steps in the file, the key no longer matches, and the
 * measurement is dropped. */
struct measured_at { const char *branch; int64_t step; char key[20]; };

/* Sets `out` to the hash of an operator and of the n steps up to a state, in hexadecimal.  The hash
 * does not depend on the paths of weights files. */
void measured_key(char out[20], const char *spec, const char *const *steps, int n);

void measured_write(struct ywriter *w, const struct measured_at *at, const struct measurement *m);
/* Reads node into *at and *m.  at->branch points into the tree of d. */
bool measured_read(const struct ydoc *d, const struct ynode *node, struct measured_at *at,
                   struct measurement *m, struct err *e);
#endif
