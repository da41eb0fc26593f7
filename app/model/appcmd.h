/* The table of the app's own commands (appcmd.def). */
#ifndef TS_APP_APPCMD_H
#define TS_APP_APPCMD_H

enum app_command {
#define APP_COMMAND(id, name, syntax, help) APP_##id,
#include "app/model/appcmd.def"
#undef APP_COMMAND
    APP_COUNT
};
struct app_info { const char *name, *syntax, *help; };
const struct app_info *app_info(enum app_command id);
#endif
