/* What follows from the steps: the graph with its conversions and factored reductions, layouts with
 * propagation to element-wise consumers, constants stored inside others, fresh stages. */
#include "kernels/program/program_impl.h"

#include <string.h>

/* SPEC A.8: inputs with a layout of their own get a conversion in front, unless they arrive that
 * way; an output with one gets a conversion behind it when the caller wants the original. */
static const struct graph *with_conversions(struct program *draft)
{
    const struct graph *g = draft->base;
    draft->n_conversions = 0;
    for (int i = 0; i < draft->n_rfactors; i++) {
        const struct rfactor *f = &draft->rfactor[i];
        int node = graph_node_of(g, f->tensor);
        g = graph_with_rfactor(draft->arena, g, node, node_reduction(&g->node[node], f->dim),
                               f->factor);
    }
    for (int i = 0; i < draft->n_choices; i++) {
        int t = graph_tensor(g, draft->choice[i].tensor);
        if (t < 0)
            continue;
        enum tensor_role role = g->tensor[t].role;
        if ((role == TENSOR_INPUT && !draft->input_given) ||
            (role == TENSOR_OUTPUT && draft->output_original)) {
            g = graph_with_conversion(draft->arena, g, t);
            draft->n_conversions++;
        }
    }
    return g;
}

/* SPEC C.2 for one tensor: an element-wise node's output takes the sequence of its data input, when
 * that has no non-trivial advanced primitive and no consumer is complex. */
static bool takes_layout(const struct program *draft, const struct graph *g, int node,
                         const struct layout *from)
{
    const struct node *n = &g->node[node];
    const struct tensor *t = &g->tensor[n->out], *src = from->tensor;
    if (!draft->propagate || !n->elementwise || from->n_prims == 0 || from->advanced ||
        t->rank != src->rank)
        return false;
    if (t->role == TENSOR_OUTPUT && draft->output_original)
        return false;
    for (int d = 0; d < t->rank; d++)
        if (t->shape[d] != src->shape[d] || !streq(t->dim[d], src->dim[d]))
            return false;
    for (int c = 0; c < g->n_nodes; c++)
        if (g->node[c].complex && graph_reads(g, c, n->out))
            return false;
    return true;
}

/* A trimmed layout must still hold everything that is read, and all of an output (layout_covers).
 */
struct coverage {
    const struct layout *const *layout;
    bool ok;
    struct err *e;
};

static void check_load(void *ctx, const struct val *load)
{
    struct coverage *c = ctx;
    c->ok = c->ok && layout_covers(c->layout[load->source], load->idx, c->e);
}

static bool all_covered(const struct graph *g, const struct layout *const *layout, struct err *e)
{
    struct coverage c = { layout, true, e };
    for (int n = 0; n < g->n_nodes && c.ok; n++) {
        val_each_load(g->node[n].body, check_load, &c);
        int out = g->node[n].out;
        if (c.ok && g->tensor[out].role == TENSOR_OUTPUT)
            c.ok = layout_covers(layout[out], g->node[n].spatial, e);
    }
    return c.ok;
}

/* The layout that steps gave tensor t, and of the constants stored inside it: the primitives behind
 * their slice move them along. */
static bool apply_choice(struct program *draft, int t, const struct layout **layout, int *host,
                         struct err *e)
{
    const struct graph *g = draft->graph;
    const struct layout_choice *c = program_choice(draft, g->tensor[t].name);
    const struct layout *l = layout_identity(draft->pool, &g->tensor[t]);
    for (int i = 0; c && i < c->n; i++) {
        if (!layout_apply(draft->pool, l, &c->prims[i], &l, e))
            return false;
        for (int k = 0; k < draft->n_attached; k++) {
            const struct attached *x = &draft->attached[k];
            int src = graph_tensor(g, x->src);
            if (!streq(x->dst, g->tensor[t].name) || i < x->at)
                continue;
            host[src] = t;
            if (i == x->at ? !layout_store_at(draft->pool, l, c->prims[i].dim, &g->tensor[src],
                                              &layout[src], e)
                           : !layout_apply(draft->pool, layout[src], &c->prims[i], &layout[src], e))
                return false;
        }
    }
    layout[t] = l;
    return true;
}

/* Layouts of all tensors before propagation. */
static bool chosen_layouts(struct program *draft, const struct layout **layout,
                           enum layout_source *source, int *host, struct err *e)
{
    const struct graph *g = draft->graph;
    for (int t = 0; t < g->n_tensors; t++) {
        layout[t] = layout_identity(draft->pool, &g->tensor[t]);
        source[t] = program_choice(draft, g->tensor[t].name) ? LAYOUT_EXPLICIT : LAYOUT_PLAIN;
        host[t] = -1;
    }
    for (int t = 0; t < g->n_tensors; t++)
        if (source[t] == LAYOUT_EXPLICIT && !apply_choice(draft, t, layout, host, e))
            return false;
    return true;
}

bool program_derive(struct program *draft, struct err *e)
{
    const struct graph *g = draft->graph = with_conversions(draft);
    struct arena *a = draft->arena;
    const struct layout **layout = ARENA_ARRAY(a, const struct layout *, g->n_tensors);
    enum layout_source *source = ARENA_ARRAY(a, enum layout_source, g->n_tensors);
    int *from = ARENA_ARRAY(a, int, g->n_tensors);
    int *host = ARENA_ARRAY(a, int, g->n_tensors);
    const struct stage **stage = ARENA_ARRAY(a, const struct stage *, g->n_nodes);
    if (!chosen_layouts(draft, layout, source, host, e))
        return false;
    for (int t = 0; t < g->n_tensors; t++)
        from[t] = -1;
    for (int n = 0; n < g->n_nodes; n++) {
        int t = g->node[n].out, s = g->node[n].data_in;
        if (source[t] == LAYOUT_PLAIN && s >= 0 && takes_layout(draft, g, n, layout[s])) {
            if (!layout_apply_all(draft->pool, &g->tensor[t], layout[s]->prims, layout[s]->n_prims,
                                  &layout[t], e))
                return false;
            source[t] = LAYOUT_PROPAGATED;
            from[t] = s;
        }
        stage[n] = stage_new(draft->pool, g, n, layout[t]);
    }
    if (!all_covered(g, layout, e))
        return false;
    draft->layout = layout;
    draft->source = source;
    draft->source_tensor = from;
    draft->stage = stage;
    draft->host = host;
    return true;
}
