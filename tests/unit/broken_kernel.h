/* Kernels with shared tiles, broken on purpose: the host twin must refuse each of them. */
#ifndef TS_TESTS_BROKEN_KERNEL_H
#define TS_TESTS_BROKEN_KERNEL_H
#include "kernels/nest/tree.h"

enum breakage {
    NO_BARRIER, SHIFT_STORE, SHIFT_LOAD, SHORT_FILL, NARROW_TILE, APART,
    NO_WAIT, SHIFT_STAGE, FEW_STAGES, BREAKAGES
};
extern const char *const breakage_name[];

/* Returns f with place n of a kind broken, or NULL when it has no such place. */
const struct func *broken_kernel(struct arena *a, const struct func *f, enum breakage what, int n);
#endif
