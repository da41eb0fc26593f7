/* Operators of composed graphs that work on tensors of any rank, beside the families. */
#ifndef TS_OPS_COMPOSE_OPS_H
#define TS_OPS_COMPOSE_OPS_H
#include "kernels/ops/build.h"

/* A call in a graph of its own: the arguments are its inputs, params its text "axis=1 eps=1e-5". */
struct call {
    struct graph *g;
    const char *op, *params;
    int n_in, in[64];
    struct err *e;
};

bool compose_op_known(const char *name, const char *params);
/* Adds the nodes of the call; returns the tensor of its result, or -1 with *c->e. */
int compose_op_build(struct call *c);
#endif
