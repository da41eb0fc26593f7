/* The network of a graph: its kernels with the schedules that somebody chose for them, and instant
 * ones for the rest (explorer/expert/instant.h).
 *
 * Chosen schedules are a text: for each kernel its own text, its steps a line each, and an empty
 * line.  Equal kernels share one.  A session file has them under `kernels:`. */
#ifndef TS_SESSIONS_SESSION_NETWORK_H
#define TS_SESSIONS_SESSION_NETWORK_H
#include "kernels/gen/target.h"
#include "kernels/module/network.h"
#include "sessions/file/session.h"

/* Reads the steps chosen for a kernel; false when there are none.  *line lives in a. */
bool kernels_find(const char *kernels, struct arena *a, const char *spec, int *n,
                  const char *const **line);
/* Sets the steps of a kernel; n < 0: none are chosen. */
void kernels_put(struct str *kernels, const char *spec, int n, const char *const *line);
/* Moves *at to the next kernel, and stores its text and steps in a.  False at the end. */
bool kernels_next(const char **at, struct arena *a, const char **spec, int *n,
                  const char *const **line);

/* Simplifies a graph and builds its network.  target NULL: the best of this CPU.  Fails when chosen
 * steps do not fit their kernel, which the error names. */
bool network_of_graph(struct arena *a, const struct graph *g, const char *kernels,
                      const struct target *target, int threads, const struct network **out,
                      struct err *e);
/* Whether a session is a graph of several kernels that has no steps of its own. */
bool session_is_network(const struct session *s);
#endif
