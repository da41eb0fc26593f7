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
/* Returns the app_command whose name is the first word of `name`, n bytes long.  Also accepts other
 * words for the commands e, w and q, such as open, save and exit.  -1: there is no such command. */
int appcmd_find(const char *name, size_t n);

/* Returns the number of rows: the steps and commands of the history (command_row), then the app's
 * own commands. */
int appcmd_rows(void);
struct command_row appcmd_row(int i);
/* Whether the first word of line is the first word of a step or a command. */
bool appcmd_known(const char *line);
/* Returns other words for a command, with blanks between them: "open load read" for "e"; "":
 * none. */
const char *appcmd_synonyms(const char *name);
/* Returns the row of the command for which the first word of line is another word; -1: none. */
int appcmd_by_synonym(const char *line);
/* For a line that begins with no command, appends "did you mean undo?", or where to look. */
void appcmd_nearest(const char *line, struct str *out);
/* If the line begins with a step or a command, appends its syntax and help. */
void appcmd_hint(const char *line, struct str *out);
#endif
