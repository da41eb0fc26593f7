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

/* Shows the layout of a tensor that no node computes. */
static bool layout_of(struct model *m, const char *tensor)
{
    snprintf(m->to_tensor, sizeof m->to_tensor, "%s", tensor);
    m->pane[VIEW_LAYOUT].stamp = 0;
    model_show_view(m, VIEW_LAYOUT);
    return true;
}

bool model_loop_of(struct model *m)
{
    const struct pane_doc *p = model_focused(m);
    const struct line *l = doc_at(&p->doc, &p->scroll);
    bool graph = p == &m->pane[VIEW_GRAPH];
    if (!l || !l->stage || (!l->loop && !graph))
        return model_say_error(m, "this line belongs to no loop of the nest", "");
    if (program_stage(model_program(m), l->stage) < 0)
        return layout_of(m, l->stage);
    snprintf(m->step_stage, sizeof m->step_stage, "%s", l->stage);
    snprintf(m->step_axis, sizeof m->step_axis, "%s", l->loop ? l->loop : "");
    m->to_loop = true;
    m->pane[VIEW_NEST].stamp = 0;
    model_show_view(m, VIEW_NEST);
    return true;
}
