/* The operators that statements can use, on tensors of any rank.  The operator families are
 * separate. */
#ifndef TS_OPS_COMPOSE_OPS_H
#define TS_OPS_COMPOSE_OPS_H
#include "kernels/ops/compose_params.h"

/* How a kernel of a network can use an operator. A jump is an element-wise operator whose result
 * can change by any amount when its operand changes slightly (floor, less). */
enum compose_kind { COMPOSE_OTHER, COMPOSE_ELEMENTWISE, COMPOSE_JUMP, COMPOSE_MOVE, COMPOSE_VIEW };
enum compose_kind compose_op_kind(const char *name);
bool compose_op_known(const char *name, const char *params);
/* Adds the nodes of the call. Returns the tensor of its result, or -1 and fills *c->e. */
int compose_op_build(struct call *c);
#endif
