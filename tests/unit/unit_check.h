/* Checks of generated units against what they must do; used by several test programs. */
#ifndef TS_TESTS_UNIT_CHECK_H
#define TS_TESTS_UNIT_CHECK_H
#include "kernels/gen/gen.h"

/* A function in code for a number of lanes; what: named in failures. */
struct unit { const struct func *f; int lanes; const char *what; };

struct gen_opts unit_options(int lanes);
const char *unit_c(struct arena *a, const struct unit *u);

/* Each unit computes what the interpreter computes.  cc (skips without it) compiles all of them as
 * one text, in which their functions have the same names. */
void unit_check_values(struct arena *a, const char *cc, const struct unit *u, int n,
                       uint64_t seed);
/* The records of each unit's trace are the accesses of its C text.  Units with indices from data
 * are left out: their traces have pseudo-random ones. */
void unit_check_traces(struct arena *a, const struct unit *u, int n, uint64_t seed);
#endif
