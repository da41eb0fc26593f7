/* The manual inside the program.  Its texts are the topics of help.def, the help of the operators,
 * and the help in other tables, such as those of steps, keys and signs. */
#ifndef TS_APP_HELP_H
#define TS_APP_HELP_H
#include <stdbool.h>

#include "kernels/base/str.h"

#define HELP_WIDTH 80                     /* columns of the help texts */

/* Appends the help of a topic, operator or strategy of the tuner.  False: `word` names none. */
bool help_topic(struct str *out, const char *word);
/* A sign in the list of steps, a row of sign.def.  help_sign returns sign i; NULL: after the
 * last. */
struct help_sign { const char *sign, *help, *more; };
const struct help_sign *help_sign(int i);
/* Return the name and the one-line summary of topic i; NULL after the last topic. */
const char *help_topic_name(int i);
const char *help_topic_summary(int i);
#endif
