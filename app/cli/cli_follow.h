/* `tune --follow FILE`. */
#ifndef TS_APP_CLI_FOLLOW_H
#define TS_APP_CLI_FOLLOW_H
#include "app/cli/cli.h"
#include "explorer/tune/follow.h"

/* Reads the schedule of --follow into *f, and stores its session in *of. *of owns the step lines of
 * *f. ERR_SYNTAX: the schedule is of another operator than `tuned`. Without the option *of keeps
 * its value. The caller calls cli_follow_close, even after an error. */
bool cli_follow_open(const struct args *a, const struct session *tuned, struct follow *f,
                     struct session **of, struct err *e);
void cli_follow_close(struct follow *f, struct session *of);
void cli_follow_text(struct str *out, const struct follow *f);
#endif
