/* `tilescope run` in two halves: cli_run.c measures, cli_text.c says it to a person. */
#ifndef TS_APP_CLI_RUN_H
#define TS_APP_CLI_RUN_H
#include "app/cli/cli.h"
#include "profile/machine/machine_model.h"

/* The text form of a measurement of the session's current state; model may be NULL. */
void text_measurement(struct str *out, const struct cli *c, const struct session *s,
                      const struct measurement *m, unsigned meters,
                      const struct machine_model *model);
/* One line about the state at this position of the branch: "   4  ok   1.2e-06  loop ...". */
void text_check_line(struct str *out, const struct cli *c, int position, const struct state *st,
                     const struct measurement *m);
/* What --sim-detail adds. */
void text_detail(struct str *out, const struct cli *c, const struct sim_result *s);
#endif
