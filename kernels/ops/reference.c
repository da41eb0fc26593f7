/* The float64 reference: random data, the slow evaluator, and the loop over the nodes. */
#include "kernels/ops/reference_impl.h"

#include <stdlib.h>
#include <string.h>
#include "kernels/base/rng.h"

void reference_fill(const struct tensor *t, uint64_t seed, f32 *data)
{
    struct rng r = rng_seed(hash_bytes(t->name, strlen(t->name), seed));
    int64_t n = tensor_elems(t);
    for (int64_t i = 0; i < n; i++)
        data[i] = rng_float(&r);
}

/* The slow evaluator: every point of every node, every index by expr_eval, every access checked. */

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
                     const int64_t *env)
{
    switch (v->kind) {
    case VAL_CONST: return v->value;
    case VAL_LOAD: return data[v->source][offset_at(&g->tensor[v->source], v->idx, env)];
    case VAL_SELECT: return val_at(g, expr_eval(v->cond, env) ? v->a : v->b, data, env);
    case VAL_ADD: case VAL_SUB: case VAL_MUL: case VAL_DIV: case VAL_MAX: case VAL_MIN:
        return arith(v->kind, val_at(g, v->a, data, env), val_at(g, v->b, data, env));
    case VAL_EXP: case VAL_LOG: case VAL_TANH: case VAL_ERF: case VAL_SQRT:
        return arith(v->kind, val_at(g, v->a, data, env), 0);
    case VAL_KIND_COUNT: break;
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

static bool eval(const struct graph *g, const struct row_how *how, struct err *e)
{
    for (int i = 0; i < g->n_nodes && !cancelled(how->cancel); i++) {
        struct arena *a = arena_new();
        const struct row_plan *p = row_plan_new(a, g, &g->node[i], how);
        if (how->single || !mac_eval(p))
            row_eval(p);
        arena_free(a);
    }
    return !cancelled(how->cancel)
        || err_set(e, ERR_CANCEL, "cancelled while computing the reference");
}

bool reference_eval(const struct graph *g, double *const *data, const struct cancel *c,
                    struct err *e)
{
    return eval(g, &(struct row_how){ .data = data, .cancel = c }, e);
}

bool reference_eval_single(const struct graph *g, double *const *data, const struct cancel *c,
                           struct err *e)
{
    return eval(g, &(struct row_how){ .data = data, .single = true, .cancel = c }, e);
}
