/* The float64 reference: makes random data, and evaluates the nodes in order. */
#include "kernels/ops/reference_impl.h"

#include <string.h>
#include "kernels/base/rng.h"

void reference_fill(const struct tensor *t, uint64_t seed, f32 *data)
{
    struct rng r = rng_seed(hash_bytes(t->name, strlen(t->name), seed));
    int64_t n = tensor_elems(t);
    for (int64_t i = 0; i < n; i++)
        data[i] = t->whole ? (f32)rng_range(&r, 0, t->whole - 1) : rng_float(&r);
}

/* Evaluates the nodes from `first` up to `end`. */
static bool eval_nodes(const struct graph *g, int first, int end, const struct row_how *how,
                       struct err *e)
{
    for (int i = first; i < end && !cancelled(how->cancel); i++) {
        struct row_plan p = row_plan_of(g, &g->node[i], how);
        if (!mac_eval(&p))
            row_eval(&p);
    }
    return !cancelled(how->cancel)
        || err_set(e, ERR_CANCEL, "cancelled while computing the reference");
}

static bool eval(const struct graph *g, const struct row_how *how, struct err *e)
{
    return eval_nodes(g, 0, g->n_nodes, how, e);
}

bool reference_eval_node(const struct graph *g, int node, double *const *data, bool single,
                         const struct cancel *c, struct err *e)
{
    const struct row_how how = { .data = data, .single = single, .cancel = c };
    return eval_nodes(g, node, node + 1, &how, e);
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

bool reference_error(const struct graph *g, double *const *data, double *const *error,
                     const struct cancel *c, struct err *e)
{
    return eval(g, &(struct row_how){ .data = data, .error = error, .cancel = c }, e);
}
