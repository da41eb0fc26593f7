/* Networks on the command line: ONNX models as modules of many kernels. */
#ifndef TS_APP_CLI_NETWORK_H
#define TS_APP_CLI_NETWORK_H
#include "app/cli/cli.h"
#include "kernels/module/network.h"
#include "profile/machine/machine_model.h"

/* Checks and times a network, and prints the result. If the network is verified, saves its session
 * at `to` (path NULL: does not save). model: the model of this machine; NULL: unknown. Returns the
 * exit code. */
int cli_network_run(const struct cli *c, struct opened *o, const struct measure_opts *m,
                    const struct machine_model *model, const struct goal *to);
/* Writes a network as a C library into the folder of -o.  Returns the exit code. */
int cli_network_export(const struct cli *c, const struct opened *o);
struct tuning_opts;
struct search_sink;
/* Tunes the kernels of a network, each search with the options `each`, and prints what was gained.
 * At the end saves the session at `to` (path NULL: does not save).  view: gets the progress of each
 * search.  Returns the exit code. */
int cli_network_tune(const struct cli *c, struct opened *o, const struct tuning_opts *each,
                     const struct search_sink *view, struct goal *to);
/* Builds the network of a session for a target (NULL: the best one of this CPU). Kernels for which
 * the session has no schedule get an instant one (explorer/expert/instant.h). */
bool cli_network_open(struct arena *a, const struct opened *o, const struct target *target,
                      int threads, const struct network **out, struct err *e);
#endif
