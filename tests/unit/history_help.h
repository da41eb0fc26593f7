/* Histories for tests. */
#ifndef TS_TESTS_HISTORY_HELP_H
#define TS_TESTS_HISTORY_HELP_H
#include "explorer/history/command.h"

/* Runs lines with ';' between them; "!" measures the current state.  The test fails at a line that
 * is refused. */
void history_run(struct history *h, const char *lines);
/* Returns a new history after these lines. */
struct history *history_after(const char *spec, const char *lines);
#endif
