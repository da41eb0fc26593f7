/* The machine model as JSON, for its file and for `machine --json`. */
#ifndef TS_SESSIONS_MACHINE_JSON_H
#define TS_SESSIONS_MACHINE_JSON_H
#include <jansson.h>
#include "profile/machine/machine_model.h"

json_t *machine_model_json(const struct machine_model *m);              /* a new reference */
#endif
