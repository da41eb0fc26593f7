/* Declarations shared by the files of operators on tensors of any rank.  Only
 * kernels/ops/compose_*.c include this. */
#ifndef TS_OPS_COMPOSE_OPS_IMPL_H
#define TS_OPS_COMPOSE_OPS_IMPL_H
#include "kernels/ops/compose_ops.h"

/* Each function adds the nodes of the call, and returns the tensor of the result, or -1 with
 * *c->e. */
int compose_unary(struct call *c);
int compose_binary(struct call *c);
int compose_where(struct call *c);
int compose_gather(struct call *c);
int compose_matmul(struct call *c);
int compose_gemm(struct call *c);
int compose_batchnorm(struct call *c);
int compose_softmax(struct call *c);
int compose_layernorm(struct call *c);
int compose_reduce(struct call *c);
int compose_transpose(struct call *c);
int compose_reshape(struct call *c);
int compose_concat(struct call *c);
int compose_slice(struct call *c);
int compose_pad(struct call *c);
int compose_expand(struct call *c);
/* Returns the dim that axis= names; a negative axis counts from the end.  Returns -1 with ERR_DIM
 * when there is no such dim. */
int compose_axis(const struct call *c, int64_t axis, int rank);
/* Whether y can be broadcast to the shape of z. */
bool compose_repeats(const struct tensor *y, const struct tensor *z);

static inline const struct tensor *arg(const struct call *c, int i)
{
    return &c->g->tensor[c->in[i]];
}

/* Sets the error of the call. Returns -1. */
#define refuse(c, ...) (err_set((c)->e, __VA_ARGS__) ? 0 : -1)
#endif
