/* The manual inside the program: topics from help.def, the rest from the tables it describes. */
#ifndef TS_APP_HELP_H
#define TS_APP_HELP_H
#include <stdbool.h>

#include "app/cli/opts.h"
#include "kernels/base/err.h"
#include "kernels/base/str.h"

/* The first screen of help: commands and how to go on. */
void help_usage(struct str *out);
/* What `CMD --help` prints: synopsis, what it does, its options. */
void help_command(struct str *out, enum cmd cmd);
/* A topic, a command or an operator; NULL = the list of them.  ERR_NAME suggests the nearest. */
bool help_topic(struct str *out, const char *topic, struct err *e);
/* Topic i as (name, one-line summary) for menus; NULL past the last. */
const char *help_topic_name(int i);
const char *help_topic_summary(int i);
#endif
