/* Exports the current state of a session as one self-contained C file: kernel, reference, and a
 * main() that checks and times the kernel. */
#ifndef TS_SESSIONS_EXPORT_H
#define TS_SESSIONS_EXPORT_H
#include "kernels/gen/target.h"
#include "sessions/file/session.h"

/* `file`: name of the C file; "-" or NULL: kernel.c.  `compiler`: NULL: the one that tilescope
 * measures with.  `target`: NULL: the best of this CPU. */
struct export_opts { const char *file, *compiler; const struct target *target; };

/* Appends the C file, or CUDA C if export_is_cuda.  The C file needs no other file to compile
 * (export_command).  Its program makes the same data as tilescope, or random numbers for weights
 * that are too large or cannot be read.  It checks the kernel against the float64 reference, and
 * prints "max rel err ... ok", latencies and GFLOP/s.  Exit code 1: the results differ. */
bool export_c(const struct session *s, const struct export_opts *o, struct str *out, struct err *e);
/* Whether export_c writes CUDA C, which does not check and time itself: the schedule is for a GPU,
 * and the file's name ends in .cu. */
bool export_is_cuda(const struct session *s, const struct export_opts *o);
/* Appends the shell command that compiles the C file and runs it, with tilescope's compiler, flags
 * and threads, so that the program reaches the same speed.  The program replaces no existing file
 * except a program.  The comment at the top of the C file has the same command, but for a shell in
 * the folder of the file.  For CUDA C, the command only compiles. */
bool export_command(const struct session *s, const struct export_opts *o, struct str *out,
                    struct err *e);
#endif
