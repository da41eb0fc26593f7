/* The views that show a text: access expressions, the graph, generated C, machine code.  The last
 * two come from background jobs. */
#include <string.h>
#include "app/views/view.h"

void view_access_build(struct model *m, struct pane_doc *p, int width)
{
    struct str text = {0};
    doc_clear(&p->doc);
    program_print_access(&text, model_program(m));
    doc_source(&p->doc, str_text(&text), colour_nest, width - 1);
    str_free(&text);
}

void view_graph_build(struct model *m, struct pane_doc *p, int width)
{
    struct str text = {0};
    doc_clear(&p->doc);
    program_print_graph(&text, model_program(m));
    doc_source(&p->doc, str_text(&text), NULL, width - 1);
    str_free(&text);
}

static void build_code(struct model *m, struct pane_doc *p, int which, doc_colour *colour,
                       int width)
{
    const struct code_text *c = &m->code[which];
    if (!c->have) {
        doc_clear(&p->doc);
        doc_line(&p->doc, STYLE_DIM, which == 0 ? "writing the C code ..." : "compiling ...");
        return;
    }
    doc_clear(&p->doc);
    if (c->failed)
        doc_wrap(&p->doc, STYLE_BAD, str_text(&c->text), width - 1, 0);
    else
        doc_source(&p->doc, str_text(&c->text), colour, 0);
}

void view_c_build(struct model *m, struct pane_doc *p, int width)
{
    build_code(m, p, 0, colour_c, width);
}

void view_asm_build(struct model *m, struct pane_doc *p, int width)
{
    build_code(m, p, 1, colour_asm, width);
}
