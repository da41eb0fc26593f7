/* A cancel flag (subprocess.h) with a time limit: it is raised when its time is up, or when another
 * cancel flag is raised. */
#ifndef TS_BASE_DEADLINE_H
#define TS_BASE_DEADLINE_H
#include "kernels/base/subprocess.h"

struct deadline;
/* Makes a cancel flag that is raised after `seconds`, or when `other` (NULL: none) is raised.  If
 * no thread can be started, there is no time limit. */
struct deadline *deadline_new(const struct cancel *other, double seconds);
struct cancel *deadline_cancel(struct deadline *d);
/* Whether the flag was raised because its time was up, not because `other` was raised. */
bool deadline_passed(const struct deadline *d);
void deadline_free(struct deadline *d);
#endif
