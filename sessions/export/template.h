/* The texts of exported libraries (sessions/export/library), built into the program.  A word
 * between @ signs is a slot. */
#ifndef TS_SESSIONS_TEMPLATE_H
#define TS_SESSIONS_TEMPLATE_H
#include <stddef.h>

struct export_template { const char *name, *text; };     /* name: "network.c"; NULL ends the list */
extern const struct export_template export_template[];
#endif
