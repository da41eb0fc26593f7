/* The shell command that compiles and runs an exported C file. */
#ifndef TS_SESSIONS_EXPORT_COMMAND_H
#define TS_SESSIONS_EXPORT_COMMAND_H
#include "kernels/gen/target.h"

/* file, compiler: as in struct export_opts.  threads: 0 without OpenMP.  beside: the command is for
 * the folder of the file, else for the current one. */
struct export_command {
    const char *file, *compiler;
    const struct target *target;
    bool autovectorize;
    int threads;
    bool beside;
};
/* Appends the command.  When no compiler is found here and none was named, writes gcc and its
 * flags, since the file may be compiled elsewhere. */
bool export_put_command(struct str *out, const struct export_command *how, struct err *e);
/* Appends a word of a shell command, quoted only when it must be. */
void export_put_word(struct str *out, const char *text);
#endif
