/* Shared by the files of operators on tensors of any rank.  Only kernels/ops/compose_*.c include
 * this. */
#ifndef TS_OPS_COMPOSE_OPS_IMPL_H
#define TS_OPS_COMPOSE_OPS_IMPL_H
#include "kernels/ops/compose_ops.h"

/* Each function adds the nodes of its call and returns the tensor of the result, or -1 with an
 * error. */
int compose_unary(struct call *c);
int compose_binary(struct call *c);
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
/* Builds -x of the only argument. */
int compose_negated(struct call *c);

/* Returns the dim that axis= names; a negative axis counts from the last dim. -1: ERR_DIM. */
int compose_axis(const struct call *c, int64_t axis, int rank);
/* Returns `name`, or name2, name3 and so on if it is taken: the tensors of one call have
 * different names. */
const char *compose_fresh(const struct call *c, const char *name);
/* Returns the name of a dim, with _ appended until none of the n others has it.  Loops have the
 * names of dims in lower case, so the names must differ. */
const char *compose_unlike(const struct call *c, const char *name, const char *const *others,
                           int n);

/* Computes the shape of x and y broadcast as in numpy: dims are matched from the last, and an
 * extent of 1 is repeated. dim and shape become those of *def and have room for MAX_RANK. */
bool compose_broadcast(struct call *c, const struct tensor *x, const struct tensor *y,
                       struct tensor_def *def, const char **dim, int64_t *shape);
/* The load of t that node n of a broadcast result makes at its point. */
const struct val *compose_load(struct call *c, int t, const struct node *n);

static inline const struct tensor *arg(const struct call *c, int i)
{
    return &c->g->tensor[c->in[i]];
}

static inline struct arena *arena_of(const struct call *c)
{
    return exprs_arena(c->g->pool);
}

static inline const struct val *num(const struct call *c, double v)
{
    return val_const(arena_of(c), v);
}

static inline const struct val *bin(const struct call *c, enum val_kind k, const struct val *x,
                                    const struct val *y)
{
    return val_bin(arena_of(c), k, x, y);
}

static inline const struct val *un(const struct call *c, enum val_kind k, const struct val *x)
{
    return val_un(arena_of(c), k, x);
}
#endif
