/* The shell command that compiles and runs an exported C file. */
#ifndef TS_SESSIONS_EXPORT_COMMAND_H
#define TS_SESSIONS_EXPORT_COMMAND_H
#include "kernels/gen/target.h"

/* `file`, `compiler`: as in struct export_opts.  `threads`: number of threads; 0: without OpenMP.
 * `beside`: whether the command is for a shell in the folder of the file, and not in the current
 * folder. */
struct export_command {
    const char *file, *compiler;
    const struct target *target;
    bool autovectorize;
    int threads;
    bool beside;
};
/* Appends the command.  Fails if how->compiler names a compiler that is not found.  If none is
 * named and none is found, writes gcc and its flags, because the file may be compiled elsewhere. */
bool export_put_command(struct str *out, const struct export_command *how, struct err *e);
/* Appends a path as a word of a shell command.  Quotes it only if necessary.  Writes "./" before a
 * path that begins with "-", so that no command takes the path for an option. */
void export_put_word(struct str *out, const char *text);
#endif
