/* Random tensors, sequences of layout primitives and accesses, for tests of layouts. */
#ifndef TS_TEST_LAYOUT_GEN_H
#define TS_TEST_LAYOUT_GEN_H
#include "kernels/base/rng.h"
#include "kernels/layout/layout.h"

enum { TRIAL_STEPS = 6 };

struct trial {
    struct exprs *p;
    const struct tensor *t;
    int n;
    struct prim prim[TRIAL_STEPS];
};

/* A tensor of at most max_logical elements in the arena of c->p, and primitives that are legal on
 * it one after the other and store at most max_physical elements. */
void trial_make(struct rng *r, struct trial *c, int64_t max_logical, int64_t max_physical);

int64_t random_divisor(struct rng *r, int64_t n);

/* An affine access: a window that steps over each stored dim. */
struct access {
    int n;                                /* loops: one per dim, then one reduction per dim */
    const struct expr *var[2 * MAX_RANK];
    int64_t extent[2 * MAX_RANK];
    const struct expr *idx[MAX_RANK];
};
struct access random_access(struct rng *r, struct exprs *p, const struct layout *l);
#endif
