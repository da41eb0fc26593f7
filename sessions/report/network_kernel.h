/* Finds a kernel of a network by its name, and opens it as a session of its own. */
#ifndef TS_SESSIONS_NETWORK_KERNEL_H
#define TS_SESSIONS_NETWORK_KERNEL_H
#include "kernels/module/network.h"
#include "sessions/file/session.h"

/* Finds a task by its number, its text, its short text (network_report.h), or a tensor of the graph
 * that one of its calls computes. ERR_NAME: no task matches, or several do; *task is then -1. */
bool network_kernel_find(const struct network *net, const char *name, int *task, struct err *e);
/* Opens a task as a session with the steps of the task.  The title of the session is `network`, if
 * that is not "", then a short description of the kernel. */
bool network_kernel_open(const struct network_task *t, const char *network, struct session **out,
                         struct err *e);
#endif
