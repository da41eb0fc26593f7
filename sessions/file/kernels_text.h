/* The schedules that somebody chose for kernels of a network, as one text.  An entry is the text
 * of a kernel, then the steps of its schedule (one per line), then an empty line.  Equal kernels
 * share one entry.  A session file stores these entries under `kernels:`.
 *
 * One more entry can have the steps of the network itself (kernels/module/partition.h), with
 * KERNELS_MODULE in the place of a kernel's text.  A session file stores it under `module:`. */
#ifndef TS_SESSIONS_KERNELS_TEXT_H
#define TS_SESSIONS_KERNELS_TEXT_H
#include "kernels/base/arena.h"
#include "kernels/base/str.h"

#define KERNELS_MODULE "module"

/* Reads the steps that were chosen for a kernel into arena a.  Returns false, with no steps, if the
 * kernel has no entry. */
bool kernels_find(const char *kernels, struct arena *a, const char *spec, int *n,
                  const char *const **line);
/* Sets the steps of a kernel.  If n is negative, removes the kernel's entry. */
void kernels_put(struct str *kernels, const char *spec, int n, const char *const *line);
/* Reads the entry at *at into arena a, and moves *at to the next entry.  Returns false at the end
 * of the text. */
bool kernels_next(const char **at, struct arena *a, const char **spec, int *n,
                  const char *const **line);
/* Whether both lists have the same lines. */
bool kernels_same_lines(int n, const char *const *x, int n_y, const char *const *y);
#endif
