/* A cancel (subprocess.h) with a time limit: it is raised when its time is up, or when another
 * cancel is raised. */
#ifndef TS_BASE_DEADLINE_H
#define TS_BASE_DEADLINE_H
#include "kernels/base/subprocess.h"

struct deadline;
/* Makes a cancel that is raised after `seconds`, or when `other` (may be NULL) is raised. */
struct deadline *deadline_new(const struct cancel *other, double seconds);
struct cancel *deadline_cancel(struct deadline *d);
/* Whether the time was up before the other cancel was raised. */
bool deadline_passed(const struct deadline *d);
void deadline_free(struct deadline *d);
#endif
