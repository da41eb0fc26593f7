/* The operators on tensors of any rank that a statement NAME = OP(ARGS) of a graph can call.  A
 * statement can also call an operator family (ops.c), which is not in this table. */
#ifndef TS_OPS_COMPOSE_OPS_H
#define TS_OPS_COMPOSE_OPS_H
#include "kernels/ops/compose_params.h"

/* How a network is cut into kernels around an operator (kernels/module/partition_group.c).  An
 * element-wise operator may join the kernel of its operand.  The result of a jump can change by any
 * amount when its operand changes slightly (floor, less).  A move only copies elements; a view
 * (reshape) need not even copy them. */
enum compose_kind { COMPOSE_OTHER, COMPOSE_ELEMENTWISE, COMPOSE_JUMP, COMPOSE_MOVE, COMPOSE_VIEW };
enum compose_kind compose_op_kind(const char *name);
bool compose_op_known(const char *name, const char *params);
/* Adds the nodes of the call to c->g.  Returns the tensor of the result, or -1 with *c->e. */
int compose_op_build(struct call *c);
#endif
