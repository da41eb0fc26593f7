/* The code of kernels in exported files, which may be compiled with any flags. */
#ifndef TS_SESSIONS_EXPORT_CODE_H
#define TS_SESSIONS_EXPORT_CODE_H
#include "kernels/gen/target.h"

/* Adds the head of a file: feature macros, and a pragma that silences a spurious warning. */
void export_language(struct str *out);
/* Adds gcc's -f flags as a pragma. Without the first of them, `gcc -O2` spills accumulators. */
void export_optimize(struct str *out, const struct target *target);
/* Adds text of gen_c without ts_entry, which only tilescope calls.  Helpers become macros where
 * that is possible (gen_macro).  OpenMP pragmas are put under #ifdef, because without OpenMP they
 * cause warnings. */
void export_kernel(struct str *out, const char *code);
#endif
