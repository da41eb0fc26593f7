/* Derives from the steps: the graph with its conversions and factored reductions, layouts with
 * propagation to element-wise consumers, constants stored inside others, fresh stages. */
#include "kernels/program/program_impl.h"

#include <string.h>

int program_operand_node(const struct graph *g, const char *name)
{
    const char *dot = strchr(name, '.');
    char node[128];
    if (!dot || dot == name || (size_t)(dot - name) >= sizeof node || !strcaseeq(dot + 1, "Inp"))
        return -1;
    memcpy(node, name, (size_t)(dot - name));
    node[dot - name] = '\0';
    int n = graph_node_of(g, node);
    return n >= 0 && g->node[n].data_in >= 0 ? n : -1;
}

static bool is_complex(const struct graph *g, int node)
{
    return node >= 0 && g->node[node].complex;
}

static bool other_complex_reader(const struct graph *g, int t, int node)
{
    for (int n = 0; n < g->n_nodes; n++)
        if (n != node && g->node[n].complex && graph_reads(g, n, t))
            return true;
    return false;
}

/* Returns the tensor to which a layout of a data operand applies (SPEC C.3, C.5).  `operand` is a
 * name such as "c2.Inp", for the data operand of node c2.
 *     NULL:             no such operand exists, or under FP: a complex node computes the operand
 *     a new tensor:     a complex node computes the operand (not under BP), or another complex node
 *                       reads it; a conversion computes the new tensor from the operand
 *     the operand:      otherwise */
static const char *operand_tensor(struct program *draft, const char *operand)
{
    const struct graph *g = draft->graph;
    int node = program_operand_node(g, operand);
    if (node < 0)
        return NULL;
    int t = g->node[node].data_in;
    bool shared = is_complex(g, g->tensor[t].producer);
    if (shared && draft->variant == VARIANT_FP)
        return NULL;
    if ((shared && draft->variant != VARIANT_BP) || other_complex_reader(g, t, node)) {
        draft->graph = graph_with_edge_conversion(draft->arena, g, t, node);
        draft->n_conversions++;
        return draft->graph->tensor[t + 1].name;
    }
    return g->tensor[t].name;
}

/* Adds a conversion of the tensor if the caller determines its layout. */
static void convert_if_owned(struct program *draft, const char *tensor)
{
    const struct graph *g = draft->graph;
    int t = graph_tensor(g, tensor);
    if (t < 0)
        return;
    enum tensor_role role = g->tensor[t].role;
    if ((role == TENSOR_INPUT && !draft->input_given) ||
        (role == TENSOR_OUTPUT && draft->output_original)) {
        draft->graph = graph_with_conversion(draft->arena, g, t);
        draft->n_conversions++;
    }
}

/* Derives the graph with factored reductions and conversions (SPEC A.8). Operands between complex
 * nodes are converted (operand_tensor). An input whose layout was set is converted, unless
 * input_given says that it arrives in this layout. An output whose layout was set is converted if
 * output_original is set. Sets target[i] to the tensor that choice i applies to, or NULL. */
static void derive_graph(struct program *draft, const char **target)
{
    draft->graph = draft->form;
    draft->n_conversions = 0;
    for (int i = 0; i < draft->n_rfactors; i++) {
        const struct rfactor *f = &draft->rfactor[i];
        int node = graph_node_of(draft->graph, f->tensor);
        int r = node_reduction(&draft->graph->node[node], f->dim);
        draft->graph = graph_with_rfactor(draft->arena, draft->graph, node, r, f->factor);
    }
    for (int i = 0; i < draft->n_choices; i++) {
        const char *name = draft->choice[i].tensor;
        target[i] = draft->variant == VARIANT_OL ? NULL
                    : strchr(name, '.')          ? operand_tensor(draft, name)
                                                 : name;
        if (target[i] && draft->choice[i].n > 0)
            convert_if_owned(draft, target[i]);
    }
}

static bool same_dims(const struct tensor *a, const struct tensor *b)
{
    bool same = a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++)
        same = a->shape[d] == b->shape[d] && streq(a->dim[d], b->dim[d]);
    return same;
}

/* Decides by SPEC C.2 whether a node's output takes the layout `from` of its data input.  Returns
 * NULL if it does, else the reason why not. */
static const char *stops(const struct program *draft, int node, const struct layout *from)
{
    const struct graph *g = draft->graph;
    const struct node *n = &g->node[node];
    const struct tensor *t = &g->tensor[n->out];
    if (!n->elementwise)
        return n->complex ? "it is a complex operator, which does not take over layouts"
                          : "it is not element-wise";
    if (!draft->propagate)
        return "propagate is off";
    if (draft->variant == VARIANT_WP)
        return "variant wp does not propagate downstream";
    if (from->advanced)
        return "the layout has holes or copies";
    if (!same_dims(t, from->tensor))
        return "its output has another shape";
    if (t->role == TENSOR_OUTPUT && draft->output_original)
        return "the output keeps the caller's layout";
    for (int c = 0; c < g->n_nodes; c++)
        if (g->node[c].complex && graph_reads(g, c, n->out))
            return "a complex operator reads it and determines its layout";
    return NULL;
}

/* The state of a check of layouts that an unfold may have trimmed: they must store all elements
 * that nodes read, and all elements of an output (layout_covers). */
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

/* Checks that the enclosing tensor `holder` still stores all of the tensor inside it, whose layout
 * is `held`: an unfold can trim the slice. */
static bool held_is_stored(const struct layout *held, const struct tensor *holder, struct err *e)
{
    for (int d = 0; d < held->rank; d++)
        if (held->rho[d]->hi >= held->shape[d]) {
            err_set(e, ERR_ATTACH,
                    "%s would not be stored any more: it lies at %lld in %s, which has only %lld",
                    held->tensor->name, (long long)held->rho[d]->hi, held->dim[d],
                    (long long)held->shape[d]);
            return err_fix(e, "layout decouple_at %s first, or keep all of %s",
                           held->tensor->name, holder->name);
        }
    return true;
}

/* Applies the layout that steps gave tensor t. A constant that is stored in a slice of t also gets
 * the primitives that come after the one that adds the slice. */
static bool apply_choice(struct program *draft, int t, const struct layout_choice *c,
                         const struct layout **layout, int *held_in, struct err *e)
{
    const struct graph *g = draft->graph;
    const struct layout *l = layout_identity(draft->pool, &g->tensor[t]);
    for (int i = 0; i < c->n; i++) {
        if (!layout_apply(draft->pool, l, &c->prims[i], &l, e))
            return false;
        for (int k = 0; k < draft->n_attached; k++) {
            const struct attached *x = &draft->attached[k];
            int src = graph_tensor(g, x->src);
            if (!streq(x->dst, g->tensor[t].name) || i < x->at)
                continue;
            held_in[src] = t;
            if (i == x->at ? !layout_store_at(draft->pool, l, c->prims[i].dim, &g->tensor[src],
                                              &layout[src], e)
                           : !layout_apply(draft->pool, layout[src], &c->prims[i], &layout[src], e)
                                 || !held_is_stored(layout[src], &g->tensor[t], e))
                return false;
        }
    }
    layout[t] = l;
    return true;
}

/* Variant OL: puts the channels of tensor t, an operand or result of a convolution, last: N H W O
 * (SPEC C.5: NHWO, NDHWO).  Does not change an input of the graph. */
static bool channels_last(struct program *draft, int t, const struct layout **layout, struct err *e)
{
    const struct tensor *x = &draft->graph->tensor[t];
    struct prim p = { .kind = PRIM_REORDER, .n = x->rank };
    p.perm[x->rank - 1] = 1;
    for (int d = 1; d < x->rank - 1; d++)
        p.perm[d] = d + 1;
    return x->rank < 3 || x->producer < 0 ||
           layout_apply(draft->pool, layout_identity(draft->pool, x), &p, &layout[t], e);
}

static bool is_convolution(const struct node *n)
{
    return n->complex && n->params.stride[0] > 0;
}

/* Variant OL: sets the layouts of the data operands and the results of convolutions. */
static bool fixed_layouts(struct program *draft, const struct layout **layout,
                          enum layout_source *source, struct err *e)
{
    const struct graph *g = draft->graph;
    for (int n = 0; n < g->n_nodes; n++)
        for (int side = 0; side < 2 && is_convolution(&g->node[n]); side++) {
            int t = side ? g->node[n].out : g->node[n].data_in;
            if (!channels_last(draft, t, layout, e))
                return false;
            if (layout[t]->n_prims > 0)
                source[t] = LAYOUT_EXPLICIT;
        }
    return true;
}

/* Computes the layouts of all tensors before propagation. */
static bool chosen_layouts(struct program *draft, const char *const *target,
                           const struct layout **layout, enum layout_source *source, int *held_in,
                           struct err *e)
{
    const struct graph *g = draft->graph;
    for (int t = 0; t < g->n_tensors; t++) {
        layout[t] = layout_identity(draft->pool, &g->tensor[t]);
        source[t] = LAYOUT_PLAIN;
        held_in[t] = -1;
    }
    for (int i = 0; i < draft->n_choices; i++) {
        int t = target[i] ? graph_tensor(g, target[i]) : -1;
        if (t >= 0 && !apply_choice(draft, t, &draft->choice[i], layout, held_in, e))
            return false;
        if (t >= 0)
            source[t] = LAYOUT_EXPLICIT;
    }
    return draft->variant != VARIANT_OL || fixed_layouts(draft, layout, source, e);
}

bool program_derive(struct program *draft, struct err *e)
{
    struct arena *a = draft->arena;
    const char **target = ARENA_ARRAY(a, const char *, draft->n_choices + 1);
    derive_graph(draft, target);
    const struct graph *g = draft->graph;
    const struct layout **layout = ARENA_ARRAY(a, const struct layout *, g->n_tensors);
    enum layout_source *source = ARENA_ARRAY(a, enum layout_source, g->n_tensors);
    int *from = ARENA_ARRAY(a, int, g->n_tensors);
    int *held_in = ARENA_ARRAY(a, int, g->n_tensors);
    const char **stop = ARENA_ARRAY(a, const char *, g->n_nodes);
    const struct stage **stage = ARENA_ARRAY(a, const struct stage *, g->n_nodes);
    if (!chosen_layouts(draft, target, layout, source, held_in, e))
        return false;
    for (int t = 0; t < g->n_tensors; t++)
        from[t] = -1;
    for (int n = 0; n < g->n_nodes; n++) {
        int t = g->node[n].out, s = g->node[n].data_in;
        if (s >= 0 && layout[s]->n_prims > 0)
            stop[n] = source[t] == LAYOUT_EXPLICIT ? "it has a layout of its own"
                                                   : stops(draft, n, layout[s]);
        if (s >= 0 && layout[s]->n_prims > 0 && !stop[n]) {
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
    draft->stop = stop;
    draft->stage = stage;
    draft->held_in = held_in;
    return true;
}
