/* Prints the text views of a program: loop nest, access expressions, layouts. */
#include <string.h>

#include "kernels/ir/simplify.h"
#include "kernels/program/program_impl.h"

void program_print_nest(struct str *out, const struct program *p)
{
    const struct func *f;
    struct err e;
    if (program_lower(p, &f, &e))
        func_print(out, f);
    else
        err_print(out, &e);
}

static void print_store(struct str *out, const char *target, const struct expr *const *idx,
                        int rank, enum combine how, const struct val *v, const char *const *names)
{
    str_add(out, target);
    for (int d = 0; d < rank; d++) {
        str_add_char(out, '[');
        expr_print(out, idx[d]);
        str_add_char(out, ']');
    }
    str_add(out, how == COMBINE_SUM ? " += " : how == COMBINE_MAX ? " max= " : " = ");
    val_print_brief(out, v, names);
    str_add_char(out, '\n');
}

static void mark_divmod(void *ctx, const struct val *load)
{
    for (int d = 0; d < load->rank; d++)
        *(bool *)ctx = *(bool *)ctx || load->idx[d]->has_divmod;
}

/* Prints the accesses of a node with the loop variables of stage `loops`. Returns whether a / or %
 * is left in the indices of its loads. */
static bool print_access(struct str *out, const struct program *p, int node,
                         const struct stage *loops, const char *const *names, const char *label)
{
    const struct node *n = &p->graph->node[node];
    struct lowering in = program_lowering(p);
    const struct expr *guard = NULL;
    const struct val *after = lower_access(&in, node, loops, &guard);
    bool divmod = false;
    str_printf(out, "  %-10s", label);
    print_store(out, names[n->out], loops->index, loops->rank, n->combine, after, names);
    if (guard && !expr_is_const(guard, 1)) {
        str_add(out, "  where     ");
        expr_print(out, guard);
        str_add(out, ", else 0\n");
    }
    val_each_load(after, mark_divmod, &divmod);
    return divmod;
}

static void print_node(struct str *out, const struct program *p, int node, const char *const *names)
{
    const struct node *n = &p->graph->node[node];
    const struct stage *own = p->stage[node];
    const struct stage *loops = own->attach >= 0 ? p->stage[own->attach] : own;
    const struct stage *fresh = stage_new(p->pool, p->graph, node, p->layout[n->out]);
    str_printf(out, "%s  (%s)\n  logical   ", names[n->out], n->op);
    print_store(out, names[n->out], n->spatial, n->n_spatial, n->combine, n->body, names);
    bool divmod = print_access(out, p, node, fresh, names, "physical");
    if (own->n_steps > 0 || (own->attach >= 0 && own->attach < node))
        divmod = print_access(out, p, node, loops, names, "in loops");
    if (divmod)
        str_add(out, "  note      a / or % is left; splitting the loops by the factors of the "
                     "layouts removes it\n");
    str_add_char(out, '\n');
}

static const char *const class_name[] = { "bijective", "padded", "duplicating" };

static void print_shape(struct str *out, int rank, const char *const *dim, const int64_t *shape)
{
    for (int d = 0; d < rank; d++)
        str_printf(out, "%s%s:%lld", d ? " " : "", dim[d], (long long)shape[d]);
}

static void print_tensor(struct str *out, const struct program *p, int t)
{
    const struct tensor *x = &p->graph->tensor[t];
    const struct layout *l = p->layout[t];
    str_printf(out, "  %-10s %-12s ", x->name, tensor_role_name[x->role]);
    print_shape(out, l->rank, l->dim, l->shape);
    if (p->source[t] == LAYOUT_PLAIN) {
        if (p->held_in[t] >= 0)
            str_printf(out, "  stored inside %s\n", p->graph->tensor[p->held_in[t]].name);
        else
            str_add(out, "  plain\n");
        return;
    }
    str_printf(out, "  %s", class_name[l->klass]);
    if (l->expansion != 1)
        str_printf(out, " x%.3f", l->expansion);
    if (p->source[t] == LAYOUT_PROPAGATED)
        str_printf(out, ", from %s", p->graph->tensor[p->source_tensor[t]].name);
    str_add_char(out, '\n');
}

/* Overlapping tiles are meant for tensors that are read.  In an output, the elements that tiles
 * share are computed and stored several times. */
void program_print_notes(struct str *out, const struct program *p)
{
    for (int t = 0; t < p->graph->n_tensors; t++) {
        const struct layout *l = p->layout[t];
        if (p->graph->tensor[t].role != TENSOR_OUTPUT || l->klass != LAYOUT_DUPLICATING)
            continue;
        str_printf(out, "the tiles of the output %s overlap: it is stored as ", l->tensor->name);
        print_shape(out, l->rank, l->dim, l->shape);
        str_printf(out, ", %.2f times its %lld elements\n", l->expansion,
                   (long long)tensor_elems(l->tensor));
    }
}

void program_print_access(struct str *out, const struct program *p)
{
    const struct graph *g = p->graph;
    const char **names = ARENA_ARRAY(p->arena, const char *, g->n_tensors);
    for (int t = 0; t < g->n_tensors; t++)
        names[t] = g->tensor[t].name;
    for (int n = 0; n < g->n_nodes; n++)
        print_node(out, p, n, names);
    str_add(out, "tensors\n");
    for (int t = 0; t < g->n_tensors; t++)
        print_tensor(out, p, t);
    for (int n = 0; n < g->n_nodes; n++)
        if (streq(g->node[n].op, "convert")) {
            const struct layout *l = p->layout[g->node[n].out];
            str_printf(out, "conversion %s -> %s: %lld bytes read, %lld written at every call\n",
                       names[g->node[n].data_in], names[g->node[n].out],
                       (long long)tensor_bytes(&g->tensor[g->node[n].data_in]),
                       (long long)layout_bytes(l));
        }
}

void program_print_layouts(struct str *out, const struct program *p, const char *tensor, int width)
{
    bool first = true;
    for (int t = 0; t < p->graph->n_tensors; t++) {
        if (tensor && !strcaseeq(tensor, p->graph->tensor[t].name))
            continue;
        if (!first)
            str_add_char(out, '\n');
        first = false;
        layout_draw(out, p->pool, p->layout[t], width, tensor ? 64 : 6);
        if (p->layout[t]->n_prims > 0 && p->layout[t]->klass == LAYOUT_BIJECTIVE)
            str_add(out, layout_memory_equal(p->pool, p->layout[t],
                                             layout_identity(p->pool, &p->graph->tensor[t]))
                             ? "memory-equal to the plain layout\n"
                             : "not memory-equal to the plain layout\n");
    }
}
