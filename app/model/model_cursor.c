/* Questions about the object under the cursor. */
#include "app/model/model.h"

#include <stdio.h>
#include "explorer/history/blame.h"

bool model_blame(struct model *m, const char *arg)
{
    char name[64] = "", loop[64] = "";
    const struct program *p = model_program(m);
    const struct stage *s;
    int axis;
    if (sscanf(arg, "%63s %63s", name, loop) == 2) {
        int node = program_stage(p, name);
        s = node >= 0 ? p->stage[node] : NULL;
        axis = s ? stage_axis(s, loop) : -1;
        if (axis < 0)
            return model_say_error(m, "blame: there is no such loop", "blame STAGE LOOP");
    } else if (arg[0] || !model_loop(m, &s, &axis)) {
        return model_say_error(m, "blame: it is not said which loop",
                               "blame STAGE LOOP, or a cursor on a line that starts with `for`");
    }
    struct str text = {0};
    blame_loop(&text, m->session->history, s->name, s->axis[axis].name);
    model_info(m, "%s", str_text(&text));
    str_free(&text);
    return true;
}

bool model_loop_of(struct model *m)
{
    const struct pane_doc *p = model_focused(m);
    const struct line *l = doc_at(&p->doc, &p->scroll);
    if (!l || !l->stage || !l->loop)
        return model_say_error(m, "this line belongs to no loop of the nest", "");
    snprintf(m->step_stage, sizeof m->step_stage, "%s", l->stage);
    snprintf(m->step_axis, sizeof m->step_axis, "%s", l->loop);
    m->to_loop = true;
    m->pane[VIEW_NEST].stamp = 0;
    model_show_view(m, VIEW_NEST);
    return true;
}

struct subject model_subject(const struct model *m)
{
    static const enum view with_rows[] = {VIEW_PROFILE, VIEW_LAYOUT};
    const struct pane_doc *p = &m->pane[VIEW_NEST];
    for (int i = 0; i < COUNT_OF(with_rows) && m->focus == PANE_SIDE; i++) {
        const struct pane_doc *side = &m->pane[with_rows[i]];
        const struct line *l = doc_at(&side->doc, &side->scroll);
        if (m->view[PANE_SIDE] == with_rows[i] && l && l->stage)
            return (struct subject){SUBJECT_TENSOR, l->stage, NULL};
    }
    const struct line *l = doc_at(&p->doc, &p->scroll);
    if (!m->session || !l || l->n_items == 0)
        return (struct subject){SUBJECT_NONE, NULL, NULL};
    const struct doc_item *it = &l->item[p->scroll.item < l->n_items ? p->scroll.item : 0];
    return (struct subject){it->access ? SUBJECT_ACCESS : SUBJECT_LOOP, it->name, it->access};
}

bool model_access_of(struct model *m)
{
    const struct pane_doc *p = model_focused(m);
    const struct line *l = doc_at(&p->doc, &p->scroll);
    if (p != &m->pane[VIEW_PROFILE] || !l || !l->stage)
        return model_say_error(m, "this line belongs to no tensor and no access",
                               "a cursor on a row of the misses in the profile");
    m->step_stage[0] = 0;                /* an access can be in any stage */
    snprintf(m->step_axis, sizeof m->step_axis, "%s", l->stage);
    snprintf(m->step_access, sizeof m->step_access, "%s", l->loop ? l->loop : l->stage);
    m->pane[VIEW_NEST].stamp = 0;
    model_show_view(m, VIEW_NEST);
    return true;
}
