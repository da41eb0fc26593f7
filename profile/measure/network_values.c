#include "profile/measure/network_values.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/onnx/weights.h"
#include "kernels/ops/reference.h"

static bool value_of(const struct network *net, int tensor, uint64_t seed, const struct cancel *c,
                     struct network_values *v, struct err *e);

/* Evaluates g, the graph of a constant part p. *v already has the values of p's operands. */
static bool evaluate(const struct net_part *p, const struct graph *g,
                     const struct network_values *v, double **data, const struct cancel *c,
                     struct err *e)
{
    for (int t = 0; t < g->n_tensors; t++) {
        int64_t n = tensor_elems(&g->tensor[t]);
        data[t] = xmalloc_elems((size_t)n, sizeof **data);
        for (int o = 0; o < p->n_operands; o++)
            if (streq(p->operand[o].name, g->tensor[t].name))
                for (int64_t i = 0; i < n; i++)
                    data[t][i] = (double)v->value[p->operand[o].tensor][i];
    }
    return reference_eval(g, data, c, e);
}

static bool compute(const struct network *net, const struct net_part *p, uint64_t seed,
                    const struct cancel *c, struct network_values *v, struct err *e)
{
    struct arena *a = arena_new();
    const struct graph *g;
    bool ok = graph_from_spec(a, p->spec, &g, e);
    for (int o = 0; ok && o < p->n_operands; o++)
        ok = value_of(net, p->operand[o].tensor, seed, c, v, e);
    if (ok) {
        double **data = xcalloc((size_t)g->n_tensors, sizeof *data);
        int64_t n = tensor_elems(&net->graph->tensor[p->out]);
        ok = evaluate(p, g, v, data, c, e);
        f32 *out = v->value[p->out] = xmalloc_elems((size_t)n, sizeof *out);
        const double *result = data[graph_tensor(g, p->result)];
        for (int64_t i = 0; ok && i < n; i++)
            out[i] = (f32)result[i];
        for (int t = 0; t < g->n_tensors; t++)
            free(data[t]);
        free(data);
    }
    arena_free(a);
    return ok;
}

/* Sets the value of a constant tensor, unless it is known. */
static bool value_of(const struct network *net, int tensor, uint64_t seed, const struct cancel *c,
                     struct network_values *v, struct err *e)
{
    const struct tensor *t = &net->graph->tensor[tensor];
    if (v->value[tensor])
        return true;
    if (cancelled(c))
        return err_set(e, ERR_CANCEL, "cancelled");
    for (int i = 0; i < net->parts.n; i++)
        if (net->parts.part[i].out == tensor)
            return compute(net, &net->parts.part[i], seed, c, v, e);
    v->value[tensor] = xmalloc_elems((size_t)tensor_elems(t), sizeof **v->value);
    return weights_tensor_data(t, seed, v->value[tensor], e);
}

bool network_values_make(const struct network *net, uint64_t seed, const struct cancel *c,
                         struct network_values *out, struct err *e)
{
    bool ok = true;
    *out = (struct network_values){ net->graph->n_tensors,
                                    xcalloc((size_t)net->graph->n_tensors, sizeof *out->value) };
    for (int b = 0; ok && b < net->module->n_buffers; b++)
        if (net->buffer[b].role == NETWORK_CONST)
            ok = value_of(net, net->buffer[b].tensor, seed, c, out, e);
    if (!ok)
        network_values_free(out);
    return ok;
}

void network_values_free(struct network_values *v)
{
    for (int t = 0; t < v->n; t++)
        free(v->value[t]);
    free(v->value);
    *v = (struct network_values){ 0 };
}
