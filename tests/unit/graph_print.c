#include "tests/unit/graph_print.h"

#include <stdlib.h>
#include <string.h>

static const char *const role_name[] = {
    [TENSOR_INPUT] = "input",
    [TENSOR_CONST] = "const",
    [TENSOR_INTER] = "inter",
    [TENSOR_OUTPUT] = "output",
};

static void tensor_print(struct str *out, const struct tensor *t, int width)
{
    str_printf(out, "  %-*s %-6s", width, t->name, role_name[t->role]);
    for (int d = 0; d < t->rank; d++)
        str_printf(out, " %s(%lld)", t->dim[d], (long long)t->shape[d]);
    if (t->source)
        source_print(out, t->source);
    str_add_char(out, '\n');
}

static int wider(int width, const char *name)
{
    int n = (int)strlen(name);
    return n > width ? n : width;
}

void graph_print(struct str *out, const struct graph *g)
{
    int width = 8;
    for (int t = 0; t < g->n_tensors; t++)
        width = wider(width, g->tensor[t].name);
    for (int i = 0; i < g->n_nodes; i++)
        width = wider(width, g->node[i].op);
    str_printf(out, "%s\n", g->spec);
    for (int t = 0; t < g->n_tensors; t++)
        tensor_print(out, &g->tensor[t], width);
    for (int i = 0; i < g->n_nodes; i++) {
        str_printf(out, "  %-*s ", width, g->node[i].op);
        node_print(out, g, i);
        for (int r = 0; r < g->node[i].n_reduce; r++)
            str_printf(out, "%s %s(%lld)", r ? "" : "  over", g->node[i].reduce_dim[r],
                       (long long)g->node[i].reduce[r]->hi + 1);
        str_add_char(out, '\n');
    }
    str_printf(out, "  %.0f flops, %.0f bytes\n", g->flops, g->bytes);
}
