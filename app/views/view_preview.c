/* The loop nest as the step on the prompt would make it, shown in the place of a view. Lines that
 * the step changes are in a strong style. */
#include "app/views/view.h"

#include <string.h>
#include "kernels/nest/tree.h"

int view_preview_pane(const struct model *m)
{
    const struct preview *v = &m->preview;
    bool wanted = m->session && m->overlay == OVERLAY_NONE && (v->program || v->late);
    if (!wanted)
        return -1;
    for (int p = PANE_MAIN; p <= PANE_SIDE; p++)
        if (m->frame.pane[p].h > 0)
            return p;
    return -1;
}

static bool has_line(const struct tree_lines *lines, const char *text)
{
    for (int i = 0; i < lines->n; i++)
        if (streq(lines->text[i], text))
            return true;
    return false;
}

void view_preview_build(struct model *m, struct pane_doc *p, int width)
{
    const struct func *now, *then;
    struct err ignored;
    struct doc *d = &p->doc;
    int first = -1;
    doc_clear(d);
    p->scroll = (struct scroll){.cursor = -1};
    if (!m->preview.program || !program_lower(m->preview.program, &then, &ignored)
        || !program_lower(model_program(m), &now, &ignored)) {
        doc_line(d, STYLE_DIM, "…");
        return;
    }
    struct str misses = {0};
    model_forecast_print(m, str_text(&m->preview.line), &misses);
    doc_wrap(d, STYLE_NOTE, str_text(&misses), width - 2, 2);
    str_free(&misses);
    if (m->preview.note.len > 0)
        doc_wrap(d, STYLE_BAD, str_text(&m->preview.note), width - 2, 2);
    d->head = d->lines.len;               /* the prediction stays at the top */
    struct tree_lines old = func_lines(d->arena, now), new = func_lines(d->arena, then);
    for (int i = 0; i < new.n; i++) {
        int state = 0, row = doc_code(d, new.text[i], view_colour_nest, &state, width - 1);
        if (has_line(&old, new.text[i]))
            continue;
        first = first < 0 ? row : first;
        for (; row < d->lines.len; row++) {
            unsigned char *style = (unsigned char *)d->lines.data[row].style;
            for (size_t k = 0; d->lines.data[row].text[k]; k++)
                style[k] = style[k] == STYLE_PLAIN ? STYLE_STRONG : style[k];
        }
    }
    int head = d->head + 2 <= p->height ? d->head : 0, room = p->height - head;
    int above = head + (room / 2 < 3 ? room / 2 : 3);  /* rows above the first changed line */
    int most = d->lines.len > p->height ? d->lines.len - p->height : 0;  /* no rows stay empty */
    p->scroll.top = first <= above ? 0 : first - above < most ? first - above : most;
}
