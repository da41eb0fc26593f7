/* The code of kernels in exported files, which may be compiled with any flags. */
#ifndef TS_SESSIONS_EXPORT_CODE_H
#define TS_SESSIONS_EXPORT_CODE_H
#include "kernels/gen/target.h"

/* Adds the head of a file: a check that the compiler reads C99, and a pragma that silences a
 * spurious warning. */
void export_language(struct str *out);
/* Adds the -f flags of the target as a pragma for gcc.  They matter: without
 * -fno-predictive-commoning, for example, `gcc -O2` spills accumulators. */
void export_optimize(struct str *out, const struct target *target);
/* Adds code that gen_c has made, without ts_entry, which only tilescope calls.  Helper functions
 * become macros where that is possible (gen_macro).  OpenMP pragmas are put under #ifdef, because
 * they cause warnings without OpenMP. */
void export_kernel(struct str *out, const char *code);
#endif
