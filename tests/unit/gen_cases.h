/* What the code generator is tested on: trees written by hand, each for something special, and
 * the scheduled programs of tests/golden/nest. */
#ifndef TS_TESTS_GEN_CASES_H
#define TS_TESTS_GEN_CASES_H
#include "kernels/nest/tree.h"

struct gen_case {
    const char *name;
    const struct func *f;
    const char *golden;                   /* its C is kept in this file; NULL: not */
};

/* All cases, in arena a; *n receives how many. */
const struct gen_case *gen_cases(struct arena *a, int *n);
#endif
