/* The manual inside the program: topics from help.def, the operators, and what the tables of steps,
 * commands, keys and meters say. */
#ifndef TS_APP_HELP_H
#define TS_APP_HELP_H
#include <stdbool.h>

#include "kernels/base/str.h"

#define HELP_WIDTH 80                     /* columns of its texts */

/* Appends the text of a topic, an operator, or a strategy of the tuner; false when word is none. */
bool help_topic(struct str *out, const char *word);
/* Topic i as (name, one-line summary) for menus; NULL past the last. */
const char *help_topic_name(int i);
const char *help_topic_summary(int i);
#endif
