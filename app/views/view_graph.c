/* The graph: a row for each tensor. The operands and consumers of the tensor under the cursor have
 * a bar (model_lit). */
#include "app/views/graph_doc.h"
#include "app/views/view.h"

#include <stdio.h>

void view_graph_build(struct model *m, struct pane_doc *p, int width)
{
    const struct state *s = history_current(m->session->history);
    const struct program *before = s->parent < 0 ? NULL
                                 : history_state(m->session->history, s->parent)->program;
    bool first = p->doc.lines.len == 0;
    char name[64] = "";
    const struct line *l = doc_at(&p->doc, &p->scroll);
    if (l && l->n_items > 0)
        snprintf(name, sizeof name, "%s", l->item[0].name);
    doc_clear(&p->doc);
    model_find_roofs(m);
    struct graph_rows rows = graph_rows(p->doc.arena, s->program, before, m->roofs.model,
                                        s->measured);
    graph_doc(&p->doc, s->program, &rows, s->measured, width - 2);
    int tensor = first ? s->program->graph->node[s->program->graph->main_node].out
                       : graph_tensor(s->program->graph, name);
    int line = tensor >= 0 ? doc_find_id(&p->doc, tensor) : -1;
    if (line >= 0)
        p->scroll.cursor = line;
}

void view_graph_hint(const struct model *m, struct str *out)
{
    const struct pane_doc *p = &m->pane[VIEW_GRAPH];
    const struct line *l = doc_at(&p->doc, &p->scroll);
    if (l && l->id >= 0)
        graph_doc_hint(out, model_program(m), l->id);
}
