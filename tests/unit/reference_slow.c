#include "tests/unit/reference_slow.h"

#include <stdlib.h>

#include "kernels/ops/reference_impl.h"

static int64_t offset_at(const struct tensor *t, const struct expr *const *idx, const int64_t *env)
{
    int64_t flat = 0;
    for (int d = 0; d < t->rank; d++) {
        int64_t i = expr_eval(idx[d], env);
        if (i < 0 || i >= t->shape[d])
            fail("%s: index %lld of dimension %s is outside 0..%lld", t->name, (long long)i,
                 t->dim[d], (long long)t->shape[d] - 1);
        flat = flat * t->shape[d] + i;
    }
    return flat;
}

static double val_at(const struct graph *g, const struct val *v, double *const *data,
                     int64_t *env)
{
    switch (v->kind) {
    case VAL_CONST: return v->value;
    case VAL_LOAD: return data[v->source][offset_at(&g->tensor[v->source], v->idx, env)];
    case VAL_SELECT: return val_at(g, expr_eval(v->cond, env) ? v->a : v->b, data, env);
    case VAL_PICK: {
        int64_t at = val_picked(val_at(g, v->a, data, env), v->cond->hi), *slot = NULL;
        slot = v->cond->kind == EXPR_VAR ? &env[v->cond->var] : NULL;
        if (slot)
            *slot = at;
        return val_at(g, v->b, data, env);
    }
    case VAL_ADD: case VAL_SUB: case VAL_MUL: case VAL_DIV: case VAL_MAX: case VAL_MIN:
    case VAL_LE: case VAL_KEEP:
        return arith(v->kind, val_at(g, v->a, data, env), val_at(g, v->b, data, env));
    case VAL_FUNCTIONS:
        return arith(v->kind, val_at(g, v->a, data, env), 0);
    case VAL_KIND_COUNT: break;
    }
    UNREACHABLE();
}

static double combined(enum combine how, double old, double value)
{
    switch (how) {
    case COMBINE_NONE: return value;
    case COMBINE_SUM: return old + value;
    case COMBINE_MAX: return old > value ? old : value;
    }
    UNREACHABLE();
}

static void node_eval_slow(const struct graph *g, const struct node *n, double *const *data,
                           int64_t *env)
{
    first_point(n->spatial, n->n_spatial, env);
    do {
        double acc = n->init;
        first_point(n->reduce, n->n_reduce, env);
        do
            acc = combined(n->combine, acc, val_at(g, n->body, data, env));
        while (reference_next_point(n->reduce, n->n_reduce, env));
        data[n->out][offset_at(&g->tensor[n->out], n->spatial, env)] = acc;
    } while (reference_next_point(n->spatial, n->n_spatial, env));
}

void reference_eval_slow(const struct graph *g, double *const *data)
{
    int64_t *env = xcalloc((size_t)exprs_n_vars(g->pool) + 1, sizeof *env);
    for (int i = 0; i < g->n_nodes; i++)
        node_eval_slow(g, &g->node[i], data, env);
    free(env);
}
