#include "app/views/view_marks.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool is_lit(const void *marks, int i)
{
    const struct view_marks *x = marks;
    return model_lit(x->m, x->v, i);
}

static bool is_variable(const struct program *p, const char *name)
{
    for (int n = 0; n < p->graph->n_nodes; n++)
        if (stage_axis(p->stage[n], name) >= 0)
            return true;
    return false;
}

static void mark_name(struct view_marks *own, const char *name)
{
    snprintf(own->word, sizeof own->word, "%s", name);
    for (char *p = own->word; own->v == VIEW_C && *p; p++)
        *p = *p == '.' ? '_' : *p;
}

void view_marks(const struct model *m, enum view v, struct view_marks *own, struct doc_look *look)
{
    const struct stage *s;
    int axis;
    struct cursor_subject on = model_subject(m);
    bool named = on.kind == SUBJECT_ACCESS || on.kind == SUBJECT_TENSOR;
    bool shows = v == VIEW_NEST || v == VIEW_ACCESS || v == VIEW_C;
    *own = (struct view_marks){ .m = m, .v = v };
    look->lit = v == VIEW_GRAPH || model_code(v) >= 0 ? is_lit : NULL;
    look->ctx = own;
    if (named) {
        mark_name(own, on.tensor);
        for (int i = 0; own->word[i]; i++)
            own->local[i] = (char)tolower((unsigned char)own->word[i]);
        look->local = v == VIEW_C && !is_variable(model_program(m), own->local) ? own->local
                                                                                : NULL;
    } else if (shows && model_loop(m, &s, &axis)) {
        mark_name(own, s->axis[axis].var->name);
        look->stage = v == VIEW_NEST ? s->name : NULL;
    }
    look->word = own->word[0] ? own->word : NULL;
}
