/* The `:` commands: steps plus what moves around in the history.  The prompt, --steps scripts and
 * single keys all come here. */
#ifndef TS_EXPLORER_COMMAND_H
#define TS_EXPLORER_COMMAND_H
#include "explorer/history/history.h"

/* COMMAND(id, name, syntax, help) rows are in command.def; step rows are step.def's. */
enum command_effect {
    EFFECT_NONE,
    EFFECT_STATE,                         /* the current state, or the set of branches, changed */
    EFFECT_MEASURE,                       /* the caller should measure the current state */
    EFFECT_APP,                           /* the app's own (save, quit, view, help...) */
};

/* Runs one line: a step, undo [N], redo [N], goto N, branch NAME, switch NAME, delete NAME,
 * measure.  Blank lines and # comments are fine (EFFECT_NONE).  EFFECT_APP leaves everything
 * alone. */
bool command_run(struct history *h, const char *line, enum command_effect *effect, struct err *e);

/* The room of steps or the command that a misspelt first word was meant to be, or NULL. */
const char *command_meant(const char *word);

/* Completion at the end of a partial line: full words that may stand there, with a short help. */
struct completion { const char *word, *help; };
/* replace_from: byte offset in line where the word starts. */
struct completions { int n; struct completion *item; int replace_from; };
/* extra: the app's own command names (NULL-terminated), may be NULL. All in arena a. */
void command_complete(struct arena *a, const struct history *h, const char *line,
                      const char *const *extra, struct completions *out);
/* "layout split T D F1 F2 ...   split dimension D into ..." for every step and command, for help
 * screens. */
void command_help(struct str *out);
#endif
