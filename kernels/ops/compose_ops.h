/* The operators that statements can use, on tensors of any rank.  The operator families are
 * separate. */
#ifndef TS_OPS_COMPOSE_OPS_H
#define TS_OPS_COMPOSE_OPS_H
#include "kernels/ops/compose_params.h"

bool compose_op_known(const char *name, const char *params);
/* Adds the nodes of the call. Returns the tensor of its result, or -1 and fills *c->e. */
int compose_op_build(struct call *c);
#endif
