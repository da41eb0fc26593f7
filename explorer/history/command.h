/* The commands of the `:` prompt that act on a history: steps, and the commands of command.def.
 * The prompt, --steps scripts and keys run them here. */
#ifndef TS_EXPLORER_COMMAND_H
#define TS_EXPLORER_COMMAND_H
#include "explorer/history/history.h"

/* The effect of a command.  Commands are in command.def, steps in step.def. */
enum command_effect {
    EFFECT_NONE,
    EFFECT_STATE,                         /* the current state or the branches may have changed */
    EFFECT_REBASED,  /* a past step may have changed, and with it the current state (rebase.h) */
    EFFECT_MEASURE,                       /* the caller should measure the current state */
    EFFECT_APP,  /* nothing was run: the line is a command of app/ (save, quit, ...) or unknown */
};

/* Runs one line: a step, or a command of command.def.  A layout, algorithm or set step that earlier
 * steps make illegal is inserted before those steps, if it is legal there.  Blank lines and
 * # comments do nothing (EFFECT_NONE).  *effect is set only on success. */
bool command_run(struct history *h, const char *line, enum command_effect *effect, struct err *e);

/* Whether the first word of the line is edit, drop, move or insert. */
bool command_rebases(const char *line);

/* Returns the word that a misspelt first word probably means: the group of a step ("layout",
 * "loop") or a command; NULL: nothing is similar. */
const char *command_meant(const char *word);

/* One completion at the end of a partial line: a full word that is possible there, with a short
 * help. */
struct completion { const char *word, *help; };
/* replace_from: byte offset in line where the word starts. */
struct completions { int n; struct completion *item; int replace_from; };
/* Finds all completions and allocates them in arena a. extra: names of the commands of app/
 * (NULL-terminated); may be NULL. */
void command_complete(struct arena *a, const struct history *h, const char *line,
                      const char *const *extra, struct completions *out);
/* A row of the list of steps and commands: "layout split", "T D F1 ...", "split dimension ...". */
struct command_row { char name[64]; const char *syntax, *help; };
int command_rows(void);
struct command_row command_row(int i);
/* Appends name and syntax. */
void command_row_print(struct str *out, const struct command_row *row);
#endif
