/* The schedules that somebody chose for kernels of a network, as one text. Each entry has the text
 * of a kernel, its steps (one per line), and an empty line; equal kernels share one entry. A
 * session file stores the entries under `kernels:`. The steps of the network itself
 * (kernels/module/partition.h) are an entry under the name KERNELS_MODULE; a session file stores
 * them under `module:`. */
#ifndef TS_SESSIONS_KERNELS_TEXT_H
#define TS_SESSIONS_KERNELS_TEXT_H
#include "kernels/base/arena.h"
#include "kernels/base/str.h"

#define KERNELS_MODULE "module"

/* Reads the steps that were chosen for a kernel into arena a.  Returns false, with no steps, if the
 * kernel has no entry. */
bool kernels_find(const char *kernels, struct arena *a, const char *spec, int *n,
                  const char *const **line);
/* Sets the steps of a kernel. n < 0: removes its entry. */
void kernels_put(struct str *kernels, const char *spec, int n, const char *const *line);
/* Reads the entry at *at into a, and moves *at to the next entry.  Returns false at the end. */
bool kernels_next(const char **at, struct arena *a, const char **spec, int *n,
                  const char *const **line);
/* Whether both lists have the same lines. */
bool kernels_same_lines(int n, const char *const *x, int n_y, const char *const *y);
#endif
