/* The network of a graph.  A kernel has the schedule that somebody chose for it (kernels_text.h),
 * else an instant schedule (explorer/expert/instant.h). */
#ifndef TS_SESSIONS_SESSION_NETWORK_H
#define TS_SESSIONS_SESSION_NETWORK_H
#include "kernels/gen/target.h"
#include "kernels/module/network.h"
#include "sessions/file/session.h"

/* Returns the largest relative error that an algorithm chosen by an expert may have in a network;
 * 0: experts must not choose algorithms such as Winograd's. accuracy: as in struct session. */
double session_network_accuracy(double accuracy);
/* Returns the largest relative error that an algorithm chosen by an expert may have for the
 * operator of s.  A step of s can set this error.  Otherwise it is that of the network, or, if
 * `network` is NULL, that of s. network: the network of which s is a kernel, or NULL. */
double session_expert_accuracy(const struct session *s, const struct session *network);
/* Simplifies a graph and builds its network. kernels: the chosen steps (kernels_text.h); accuracy:
 * as in struct session; target NULL: the best of this CPU.  Fails when chosen steps do not fit
 * their kernel; the error names the kernel. */
bool network_of_graph(struct arena *a, const struct graph *g, const char *kernels,
                      double accuracy, const struct target *target, int threads,
                      const struct network **out, struct err *e);
/* Appends a step of the network itself, such as "module cut T", if it is legal. */
bool session_network_step(struct session *s, const char *line, struct err *e);
/* Removes the last step of the network itself.  Returns the step, which the caller frees, or NULL
 * if there is none. */
char *session_network_undo(struct session *s);
/* Returns how many schedules in `kernels` are unused, because the network has no such kernel. */
int session_network_idle(const struct network *net, const char *kernels);
/* Whether a session is a graph of several kernels that has no steps of its own and no narrow
 * type. */
bool session_is_network(const struct session *s);
/* Whether a session opens as a network by default: session_is_network is true, and it is a model,
 * its file says so, or its graph has more than one convolution or product. */
bool session_opens_as_network(const struct session *s);
#endif
