/* The commands of the `:` prompt: the app's own (appcmd.def), and a row for every step and command,
 * for help, hints and suggestions. */
#ifndef TS_APP_APPCMD_H
#define TS_APP_APPCMD_H
#include <stdbool.h>
#include "explorer/history/command.h"

enum app_command {
#define APP_COMMAND(id, name, syntax, session, help) APP_##id,
#include "app/model/appcmd.def"
#undef APP_COMMAND
    APP_COUNT
};
struct appcmd_info { const char *name, *syntax; bool session; const char *help; };
const struct appcmd_info *appcmd_info(enum app_command id);
/* Returns the app_command whose name is the n bytes at name, or which is called so in other
 * programs (open, save, quit); -1 if none exists. */
int appcmd_find(const char *name, size_t n);

/* Returns the number of rows: first the list of steps and commands (command_row), then the commands
 * of the prompt. */
int appcmd_rows(void);
struct command_row appcmd_row(int i);
/* Whether the first word of line begins a step or a command. */
bool appcmd_known(const char *line);
/* Other words for a command, with blanks between them: "open load read" for "e"; or "". */
const char *appcmd_synonyms(const char *name);
/* Returns the row whose command has the first word of line as a synonym; -1: none. */
int appcmd_by_synonym(const char *line);
/* Appends "did you mean undo?", or where to look, for a line that does not begin with a command. */
void appcmd_nearest(const char *line, struct str *out);
/* Appends syntax and help of the command with which the line begins, if there is one. */
void appcmd_hint(const char *line, struct str *out);
#endif
