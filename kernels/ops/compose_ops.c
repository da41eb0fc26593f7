/* The table of operators on tensors of any rank, for graphs from statements, and helpers that these
 * operators share. */
#include "kernels/ops/compose_ops_impl.h"

#include <string.h>

int compose_axis(const struct call *c, int64_t axis, int rank)
{
    int64_t d = axis < 0 ? axis + rank : axis;
    if (d >= 0 && d < rank)
        return (int)d;
    return refuse(c, ERR_DIM, "axis %lld does not exist: the tensor has %d dimensions",
                  (long long)axis, rank);
}

bool compose_repeats(const struct tensor *y, const struct tensor *z)
{
    for (int d = 1; d <= y->rank && d <= z->rank; d++)
        if (y->shape[y->rank - d] != 1 && y->shape[y->rank - d] != z->shape[z->rank - d])
            return false;
    return y->rank <= z->rank;
}

/* The operators and their parameters. min, max: the least and the greatest number of tensors in a
 * call. */
static const struct row {
    const char *names, *params;
    int min, max;
    enum compose_kind kind;
    int (*build)(struct call *c);
} table[] = {
    { "relu relu6 sigmoid tanh gelu gelu_tanh silu hardswish softplus exp log sqrt erf neg abs "
      "reciprocal sin cos atan",
      "", 1, 1, COMPOSE_ELEMENTWISE, compose_unary },
    { "floor", "", 1, 1, COMPOSE_JUMP, compose_unary },
    { "identity", "", 1, 1, COMPOSE_VIEW, compose_unary },
    { "clip", "min max", 1, 1, COMPOSE_ELEMENTWISE, compose_unary },
    { "leaky elu", "alpha", 1, 1, COMPOSE_ELEMENTWISE, compose_unary },
    { "hardsigmoid", "alpha beta", 1, 1, COMPOSE_ELEMENTWISE, compose_unary },
    { "affine", "mul add", 1, 1, COMPOSE_ELEMENTWISE, compose_unary },
    { "add sub mul div max min", "", 2, 2, COMPOSE_ELEMENTWISE, compose_binary },
    { "equal less lessequal", "", 2, 2, COMPOSE_JUMP, compose_binary },
    { "where", "", 3, 3, COMPOSE_ELEMENTWISE, compose_where },
    { "matmul", "act", 2, 3, COMPOSE_OTHER, compose_matmul },
    { "gemm", "transa transb alpha beta", 2, 3, COMPOSE_OTHER, compose_gemm },
    { "batchnorm", "eps", 5, 5, COMPOSE_ELEMENTWISE, compose_batchnorm },
    { "layernorm", "axis eps", 1, 3, COMPOSE_OTHER, compose_layernorm },
    { "softmax logsoftmax", "axis", 1, 1, COMPOSE_OTHER, compose_softmax },
    { "reduce_sum reduce_max reduce_min reduce_mean", "axes keep", 1, 1, COMPOSE_OTHER,
      compose_reduce },
    { "transpose", "perm", 1, 1, COMPOSE_MOVE, compose_transpose },
    { "reshape", "shape", 1, 1, COMPOSE_VIEW, compose_reshape },
    { "concat", "axis", 1, 64, COMPOSE_MOVE, compose_concat },
    { "slice", "axis from to step", 1, 1, COMPOSE_MOVE, compose_slice },
    { "gather gather_elements", "axis", 2, 2, COMPOSE_OTHER, compose_gather },
    { "pad", "before after value", 1, 1, COMPOSE_MOVE, compose_pad },
    { "expand", "shape", 1, 1, COMPOSE_MOVE, compose_expand },
};

static const struct row *find(const char *name)
{
    for (int i = 0; i < COUNT_OF(table); i++)
        if (name[0] && words_have(table[i].names, name, strlen(name)))
            return &table[i];
    return NULL;
}

enum compose_kind compose_op_kind(const char *name)
{
    const struct row *r = find(name);
    return r ? r->kind : COMPOSE_OTHER;
}

/* Whether a call with these parameters means an operator `name` of this table.  An operator family
 * can have the same name; then the parameters tell which of the two is meant: concat(x, y) c2=2 and
 * transpose(x) perm=213 are calls of families. */
bool compose_op_known(const char *name, const char *params)
{
    const struct row *r = find(name);
    bool digits = str_starts(params, "perm=") && !strchr(params, ',');
    return r && (!ops_find(name) || !(digits || params_unknown(r->params, params)));
}

int compose_op_build(struct call *c)
{
    const struct row *r = find(c->op);
    if (!params_check(c, r->params))
        return -1;
    if (c->n_in >= r->min && c->n_in <= r->max)
        return r->build(c);
    const char *most = r->max > r->min ? arena_printf(exprs_arena(c->g->pool), " to %d", r->max)
                                       : "";
    return refuse(c, ERR_RANGE, "%s takes %d%s tensor%s, but %d %s given", c->op, r->min, most,
                  r->max == 1 ? "" : "s", c->n_in, c->n_in == 1 ? "is" : "are");
}
