/* The interpreter of lowered trees: slow and simple.  Tests compare generated code with it. */
#ifndef TS_TESTS_INTERP_H
#define TS_TESTS_INTERP_H
#include "kernels/nest/tree.h"

/* Interprets f on physical buffers data[buffer]. The caller gives the parameters; local buffers
 * are allocated inside.  Floats are computed in program order. */
void func_interpret(const struct func *f, void *const *data);
#endif
