/* Networks on the command line: ONNX models as modules of many kernels. */
#ifndef TS_APP_CLI_NETWORK_H
#define TS_APP_CLI_NETWORK_H
#include "app/cli/cli.h"
#include "kernels/module/network.h"

/* Whether a session is a network for every command: a model of several kernels, or a file that says
 * so.  Other graphs of several products only open as one (session_opens_as_network). */
bool cli_is_network(const struct session *s);
/* Replaces a network by the session of the kernel of --kernel, if that was given. */
bool cli_network_kernel(const struct cli *c, struct session **s, struct err *e);
/* Refuses options that this command takes for networks only, or for what is none only. */
bool cli_network_takes(const struct cli *c, const struct session *s, struct err *e);
/* Checks and times it, and prints the result.  Returns the exit code. */
int cli_network_run(const struct cli *c, const struct opened *o, const struct measure_opts *m);
/* Writes it as a C library into the folder of -o.  Returns the exit code. */
int cli_network_export(const struct cli *c, const struct opened *o);
/* Tunes its kernels, saves the session at `to` after each (path NULL: not), and prints what was
 * gained.  Returns the exit code. */
struct tuning_opts;
struct search_sink;
int cli_network_tune(const struct cli *c, struct opened *o, const struct tuning_opts *each,
                     const struct search_sink *view, struct goal *to);
/* Builds the network with instant schedules for this target (NULL: the best here). */
bool cli_network_open(struct arena *a, const struct opened *o, const struct target *target,
                      int threads, const struct network **out, struct err *e);
#endif
