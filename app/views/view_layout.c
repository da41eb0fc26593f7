/* The view `layout`: how each tensor lies in memory.  Keys act on the tensor under the cursor. */
#include "app/views/view.h"

#include <stdio.h>
#include <string.h>

#define PICTURE_LINES 16                 /* cache lines drawn per tensor: 1 KiB shows the pattern */

/* The tensor under the cursor, and how many lines the cursor is below the tensor's heading. */
struct tensor_place { char tensor[64]; int below; };

static struct tensor_place place_of(const struct pane_doc *p)
{
    struct tensor_place at = {.tensor = ""};
    const struct line *l = doc_at(&p->doc, &p->scroll);
    if (!l || !l->stage)
        return at;
    snprintf(at.tensor, sizeof at.tensor, "%s", l->stage);
    for (int i = p->scroll.cursor - 1; i >= 0; i--, at.below++)
        if (!p->doc.lines.data[i].stage || !streq(p->doc.lines.data[i].stage, at.tensor))
            break;
    return at;
}

static void add_tensor(struct doc *d, const struct program *prog, int t, int width)
{
    const char *name = prog->graph->tensor[t].name;
    struct str text = {0};
    if (t > 0)
        doc_line(d, STYLE_PLAIN, "")->stage = prog->graph->tensor[t - 1].name;
    layout_draw(&text, prog->pool, prog->layout[t], width - 1, PICTURE_LINES);
    int first = d->lines.len;
    doc_source(d, str_text(&text), NULL, 0);
    str_free(&text);
    for (int i = first; i < d->lines.len; i++) {
        struct line *l = &d->lines.data[i];
        l->stage = name;
        if (i > first)
            continue;
        const char *at = strstr(l->text, name);
        struct doc_item item = {name, at ? (int)(at - l->text) : 0, (int)strlen(name), NULL, 0};
        memset((unsigned char *)l->style, STYLE_STRONG, strlen(l->text));
        l->item = ARENA_DUP(d->arena, &item, 1);
        l->n_items = 1;
        l->heading = true;
    }
}

void view_layout_build(struct model *m, struct pane_doc *p, int width)
{
    const struct program *prog = model_program(m);
    bool first_look = p->doc.lines.len == 0;
    struct tensor_place at = place_of(p);
    doc_clear(&p->doc);
    if (m->to_tensor[0]) {
        at = (struct tensor_place){ .below = 0 };
        snprintf(at.tensor, sizeof at.tensor, "%s", m->to_tensor);
        first_look = true;
        m->to_tensor[0] = 0;
    } else if (first_look)
        snprintf(at.tensor, sizeof at.tensor, "%s", prog->stage[prog->graph->main_node]->name);
    for (int t = 0; t < prog->graph->n_tensors; t++) {
        int first = p->doc.lines.len + (t > 0);
        add_tensor(&p->doc, prog, t, width);
        int last = p->doc.lines.len - 1;
        if (streq(prog->graph->tensor[t].name, at.tensor))
            p->scroll.cursor = first + at.below < last ? first + at.below : last;
        if (first_look)
            p->scroll.top = p->scroll.cursor;
    }
}

void view_layout_hint(const struct model *m, struct str *out)
{
    int t = model_tensor(m);
    struct str notation = {0};
    if (t < 0)
        return;
    const struct layout *l = model_program(m)->layout[t];
    if (layout_notation(l, &notation))
        str_printf(out, "tensor %s, stored as %s. ", l->tensor->name, str_text(&notation));
    else
        str_printf(out, "tensor %s. ", l->tensor->name);
    str_add(out, "Enter lists what can be done.");
    str_free(&notation);
}
