/* The schedules that somebody chose for kernels of a network, as one text. A kernel has its own
 * text, its steps a line each, and an empty line; equal kernels share one entry. A session file
 * stores them under `kernels:`. The steps of the network itself (kernels/module/partition.h) are in
 * the text under the name KERNELS_MODULE; a session file stores them under `module:`. */
#ifndef TS_SESSIONS_KERNELS_TEXT_H
#define TS_SESSIONS_KERNELS_TEXT_H
#include "kernels/base/arena.h"
#include "kernels/base/str.h"

#define KERNELS_MODULE "module"

/* Reads the steps chosen for a kernel; false, and none, when there are none.  *line lives in a. */
bool kernels_find(const char *kernels, struct arena *a, const char *spec, int *n,
                  const char *const **line);
/* Sets the steps of a kernel; n < 0: none are chosen. */
void kernels_put(struct str *kernels, const char *spec, int n, const char *const *line);
/* Moves *at to the next kernel, and stores its text and steps in a.  False at the end. */
bool kernels_next(const char **at, struct arena *a, const char **spec, int *n,
                  const char *const **line);
/* Whether both lists have the same lines. */
bool kernels_same_lines(int n, const char *const *x, int n_y, const char *const *y);
#endif
