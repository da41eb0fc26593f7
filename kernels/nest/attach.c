/* When may one node be computed inside a loop of another? (compute_at; fusion-conflict rule of SPEC B, Fig. 6 and 7.) */
#include "kernels/nest/lower.h"

#include <string.h>

static const char *name_of(const struct lowering *in, int node)
{
    return in->graph->tensor[in->graph->node[node].out].name;
}

/* Equal loops: same physical shape and the same inverse map, so position L' means the same element in both. */
static bool aligned(const struct layout *a, const struct layout *b)
{
    if (a->rank != b->rank || a->tensor->rank != b->tensor->rank || a->guard != b->guard)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->shape[d] != b->shape[d] || a->phys[d] != b->phys[d])
            return false;
    for (int d = 0; d < a->tensor->rank; d++)
        if (a->phi[d] != b->phi[d])
            return false;
    return true;
}

static bool reads_chain(const struct lowering *in, int node, int at, const char *axis)
{
    int from = in->graph->tensor[in->graph->node[node].data_in].producer;
    if (from == at)
        return true;
    return from >= 0 && in->stage[from]->attach == at && streq(in->stage[from]->attach_axis, axis);
}

static bool check_consumer(const struct lowering *in, int node, int at, const char *axis, struct err *e)
{
    const struct graph *g = in->graph;
    const struct node *n = &g->node[node];
    const struct stage *host = in->stage[at];
    const char *me = name_of(in, node);
    if (!n->elementwise) {
        err_set(e, ERR_STEP, "cannot compute %s at %s: %s is not element-wise, it needs elements of %s that later "
                "iterations produce", me, host->name, n->op, host->name);
        return err_fix(e, "only element-wise consumers (bias, relu, ...) follow their producer's loops");
    }
    if (!reads_chain(in, node, at, axis)) {
        const char *via = g->tensor[n->data_in].name;
        err_set(e, ERR_STEP, "cannot compute %s at %s: it reads %s", me, host->name, via);
        return err_fix(e, "first: loop compute_at %s %s %s", via, host->name, axis);
    }
    if (!aligned(in->layout[n->out], in->layout[g->node[at].out])) {
        err_set(e, ERR_STEP, "cannot compute %s at %s: their layouts differ, so their loops do not line up",
                me, host->name);
        return err_fix(e, "give %s the layout of %s (set propagate on, or layout set %s ...)", me, host->name, me);
    }
    int pos = stage_axis(host, axis);
    for (int i = 0; i <= pos; i++)
        if (host->axis[i].reduce) {
            err_set(e, ERR_STEP, "cannot compute %s at loop %s of %s: %s is only complete after its reduction loop %s",
                    me, axis, host->name, host->name, host->axis[i].name);
            return i == 0 ? err_fix(e, "move a loop of the output outside of %s first", host->axis[i].name)
                          : err_fix(e, "compute it at %s, or move %s inside of %s", host->axis[i - 1].name,
                                    host->axis[i].name, axis);
        }
    return true;
}

static bool check_producer(const struct lowering *in, int node, int at, struct err *e)
{
    const struct graph *g = in->graph;
    const struct node *n = &g->node[node];
    const char *me = name_of(in, node);
    if (n->complex) {
        err_set(e, ERR_STEP, "cannot compute %s at %s: %s is a reduction of its own", me, name_of(in, at), me);
        return err_fix(e, "only simple producers (pad, convert, ...) are recomputed inside their consumer's loops");
    }
    if (!graph_reads(g, at, n->out))
        return err_set(e, ERR_STEP, "cannot compute %s at %s: %s does not read %s", me, name_of(in, at),
                       name_of(in, at), me);
    for (int c = 0; c < g->n_nodes; c++)
        if (c != at && graph_reads(g, c, n->out))
            return err_set(e, ERR_STEP, "cannot compute %s at %s: %s reads it as well", me, name_of(in, at),
                           name_of(in, c));
    if (g->tensor[n->out].role == TENSOR_OUTPUT)
        return err_set(e, ERR_STEP, "cannot compute %s at %s: it is an output", me, name_of(in, at));
    return true;
}

bool lower_attach_check(const struct lowering *in, int node, int at, const char *axis, struct err *e)
{
    const struct stage *host = in->stage[at], *own = in->stage[node];
    if (node == at)
        return err_set(e, ERR_STEP, "cannot compute %s inside itself", host->name);
    if (stage_axis(host, axis) < 0) {
        struct str axes = { 0 };
        stage_print_axes(&axes, host);
        err_set(e, ERR_NAME, "%s has no loop %s", host->name, axis);
        err_fix(e, "its loops: %s", str_text(&axes));
        str_free(&axes);
        return false;
    }
    if (host->attach >= 0) {
        err_set(e, ERR_STEP, "cannot compute %s at %s: %s is itself computed at %s", own->name, host->name,
                host->name, name_of(in, host->attach));
        return err_fix(e, "loop compute_at %s %s %s", own->name, name_of(in, host->attach), host->attach_axis);
    }
    if (own->n_steps > 0 || own->cache_at) {
        err_set(e, ERR_STEP, "cannot compute %s at %s: %s already has a schedule of its own", own->name, host->name,
                own->name);
        return err_fix(e, "undo the loop steps of %s; computed at %s it follows the loops there", own->name, host->name);
    }
    for (int i = 0; i < in->graph->n_nodes; i++)
        if (in->stage[i]->attach == node)
            return err_set(e, ERR_STEP, "cannot compute %s at %s: %s is computed at %s", own->name, host->name,
                           name_of(in, i), own->name);
    return node > at ? check_consumer(in, node, at, axis, e) : check_producer(in, node, at, e);
}
