/* Exports the current state of a session as one self-contained C file: kernel, reference, and a
 * main() that checks and times the kernel. */
#ifndef TS_SESSIONS_EXPORT_H
#define TS_SESSIONS_EXPORT_H
#include "kernels/gen/target.h"
#include "sessions/file/session.h"

/* file: name of the C file ("-" or NULL: kernel.c); compiler: NULL for the one that tilescope
 * measures with; target: NULL for the best of this CPU. */
struct export_opts { const char *file, *compiler; const struct target *target; };

/* Appends the C file. It compiles alone (export_command), makes the same data as tilescope, checks
 * the kernel against the float64 reference and prints "max rel err ... ok", latencies and GFLOP/s.
 * The exit code of the program is 1 when the results differ. */
bool export_c(const struct session *s, const struct export_opts *o, struct str *out, struct err *e);
/* Whether export_c writes CUDA C instead, which does not check and time itself: the schedule is for
 * a GPU and the file's name ends in .cu. */
bool export_is_cuda(const struct session *s, const struct export_opts *o);
/* Appends the shell command that compiles and runs the file with tilescope's compiler, flags and
 * threads, and so reaches the same speed.  The made program never gets the name of an existing file
 * that is not a program.  The comment at the top of the file has the same command, but for a shell
 * in the folder of the file. */
bool export_command(const struct session *s, const struct export_opts *o, struct str *out,
                    struct err *e);
#endif
