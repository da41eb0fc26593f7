/* The command table, shared by running (command.c) and completing (complete.c). */
#ifndef TS_EXPLORER_COMMAND_IMPL_H
#define TS_EXPLORER_COMMAND_IMPL_H
#include "explorer/history/command.h"

enum command_id {
#define COMMAND(id, name, syntax, help) COMMAND_##id,
#include "explorer/history/command.def"
#undef COMMAND
    COMMAND_COUNT
};
struct command_info { const char *name, *syntax, *help; };
const struct command_info *command_info(enum command_id id);
int command_find(const char *name);                      /* returns an enum command_id, or -1 */
#endif
