/* Prints an imported model as a list of nodes. */
#include <stdio.h>
#include <string.h>

#include "kernels/onnx/onnx.h"

/* Prints one column of a row, padded to `width`.  Names may have any length, so a long text is
 * cut. */
static void put_row(struct str *out, int width, const char *text)
{
    enum { MOST = 200 };
    int n = (int)utf8_fit(text, MOST);
    str_printf(out, "%.*s%s", n, text, text[n] ? "..." : "");
    str_repeat(out, ' ', width - n > 1 ? width - n : 1);
}

void onnx_print(struct str *out, const struct onnx_model *m, const struct onnx_graph *g)
{
    char head[64];
    int blocked = 0;
    for (int i = 0; i < m->n_nodes; i++)
        blocked += g->reason[i] != NULL;
    str_add(out, str_text(&g->notes));
    str_printf(out, "%d nodes, %d not supported", m->n_nodes, g->n_unsupported);
    if (blocked > g->n_unsupported)
        str_printf(out, ", and %d that depend%s on unsupported results", blocked - g->n_unsupported,
                   blocked - g->n_unsupported == 1 ? "s" : "");
    str_add(out, "\n\n");
    for (int i = 0; i < m->n_nodes; i++) {
        const struct onnx_node *n = &m->node[i];
        snprintf(head, sizeof head, "%c %4d", g->reason[i] ? '!' : ' ', i);
        put_row(out, 8, head);
        put_row(out, 22, n->op);
        put_row(out, 28, n->name);
        str_add(out, g->reason[i] ? g->reason[i] : g->shape[i] ? g->shape[i] : "");
        while (out->len > 0 && out->data[out->len - 1] == ' ')
            out->data[--out->len] = '\0';
        str_add(out, "\n");
    }
}
