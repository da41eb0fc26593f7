/* The commands of the `:` prompt.  The app's own commands are in appcmd.def.  For help, hints and
 * suggestions there is a list with a row for every step and every command. */
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
/* a row of appcmd.def */
struct appcmd_info { const char *name, *syntax; bool session; const char *help; };
const struct appcmd_info *appcmd_info(enum app_command id);
/* Returns the app_command that the first word of `name` means; n: length of this word.  Also
 * accepts synonyms of the commands e, w and q: open, save, exit and others.  -1: none of these. */
int appcmd_find(const char *name, size_t n);

/* Returns the number of rows: the steps and commands of the history (command_row), then the app's
 * own commands. */
int appcmd_rows(void);
struct command_row appcmd_row(int i);
/* Whether the first word of line is the first word of a step or a command. */
bool appcmd_known(const char *line);
/* Returns the synonyms of a command, with blanks between them: "open load read" for "e"; "": it has
 * none. */
const char *appcmd_synonyms(const char *name);
/* Returns the row of the command of which the first word of line is a synonym; -1: no such row. */
int appcmd_by_synonym(const char *line);
/* For a line that begins with no command, appends "did you mean undo?", or where to look. */
void appcmd_nearest(const char *line, struct str *out);
/* If the line begins with a step or a command, appends its syntax and help. */
void appcmd_hint(const char *line, struct str *out);
#endif
