#include "app/views/view_marks.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool is_lit(const void *marks, int i)
{
    const struct view_marks *x = marks;
    return model_lit(x->m, x->v, i);
}

/* Whether line i of machine code was made from a line of C that names the marked tensor or its
 * pointer. */
static bool is_of_tensor(const void *marks, int i)
{
    const struct view_marks *x = marks;
    const struct code_lines *lines = &x->m->code[model_code(x->v)].lines;
    const char *c = lines->source && i < lines->n ? lines->source[i] : NULL;
    size_t n;
    return c && (str_find_name(c, x->word, "", &n)
                 || (x->local[0] && str_find_name(c, x->local, "", &n)));
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
    for (char *p = own->word; model_code(own->v) >= 0 && *p; p++)
        *p = *p == '.' ? '_' : *p;
}

/* Stores in own->local the name that the C code gives to the pointer to the tensor; "" if a loop
 * has that name. */
static void mark_local(struct view_marks *own)
{
    for (int i = 0; own->word[i]; i++)
        own->local[i] = (char)tolower((unsigned char)own->word[i]);
    if (is_variable(model_program(own->m), own->local))
        own->local[0] = 0;
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
        mark_local(own);
        look->local = v == VIEW_C && own->local[0] ? own->local : NULL;
        look->marked = v == VIEW_ASM || v == VIEW_SASS ? is_of_tensor : NULL;
    } else if (shows && model_loop(m, &s, &axis)) {
        mark_name(own, s->axis[axis].var->name);
        look->stage = v == VIEW_NEST ? s->name : NULL;
    }
    look->word = own->word[0] ? own->word : NULL;
}
