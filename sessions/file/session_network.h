/* The network of a graph: its kernels with the schedules that somebody chose for them
 * (kernels_text.h), and instant ones for the rest (explorer/expert/instant.h). */
#ifndef TS_SESSIONS_SESSION_NETWORK_H
#define TS_SESSIONS_SESSION_NETWORK_H
#include "kernels/gen/target.h"
#include "kernels/module/network.h"
#include "sessions/file/session.h"

/* Returns the largest relative error of an algorithm that experts may choose in a network whose
 * session has this `accuracy`. */
double session_network_accuracy(double accuracy);
/* Returns the accuracy that experts get for s: the one that its steps set; else the accuracy of the
 * network whose kernel s is; else, if `network` is NULL, the accuracy of s. */
double session_expert_accuracy(const struct session *s, const struct session *network);
/* Simplifies a graph and builds its network.  accuracy: as in struct session.  target NULL: the
 * best of this CPU.  Fails when chosen steps do not fit their kernel, which the error names. */
bool network_of_graph(struct arena *a, const struct graph *g, const char *kernels,
                      double accuracy, const struct target *target, int threads,
                      const struct network **out, struct err *e);
/* Appends a step of the network itself, such as "module cut T", if it is legal. */
bool session_network_step(struct session *s, const char *line, struct err *e);
/* Removes the last step of the network and returns it, for the caller to free; NULL: there is
 * none. */
char *session_network_undo(struct session *s);
/* Returns the number of kernels in `kernels` that the network does not have: their steps are
 * unused. */
int session_network_idle(const struct network *net, const char *kernels);
/* Whether a session is a graph of several kernels that has no steps of its own. */
bool session_is_network(const struct session *s);
/* Whether a session that session_is_network opens as a network by default: it is a model, its file
 * says so, or its graph has more than one convolution or product. */
bool session_opens_as_network(const struct session *s);
#endif
