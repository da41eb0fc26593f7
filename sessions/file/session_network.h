/* The network of a graph.  A kernel has the schedule that somebody chose for it (kernels_text.h),
 * else an instant schedule (explorer/expert/instant.h). */
#ifndef TS_SESSIONS_SESSION_NETWORK_H
#define TS_SESSIONS_SESSION_NETWORK_H
#include "kernels/gen/target.h"
#include "kernels/module/network.h"
#include "sessions/file/session.h"

/* Returns the largest relative error of an algorithm that experts are allowed to choose in a
 * network; 0: they must choose no algorithm with such errors. accuracy: as in struct session. */
double session_network_accuracy(double accuracy);
/* Returns the largest such error for the operator of s. network: the network whose kernel s is, or
 * NULL.  If a step of s sets the accuracy, returns that; else the accuracy of the network, or of s
 * if `network` is NULL. */
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
/* Returns the number of entries of `kernels` whose kernel the network does not have, so that their
 * steps are unused. */
int session_network_idle(const struct network *net, const char *kernels);
/* Whether a session is a graph of several kernels, not in a narrow type, without steps of its
 * own. */
bool session_is_network(const struct session *s);
/* Whether a session opens as a network by default: session_is_network is true, and it is a model,
 * its file says so, or its graph has more than one convolution or product. */
bool session_opens_as_network(const struct session *s);
#endif
