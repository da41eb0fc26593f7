/* Finds the object under the cursor, and shows it in other views. */
#include "app/model/model.h"

#include <stdio.h>
#include <string.h>
#include "explorer/history/blame.h"

static enum view focused_view(const struct model *m)
{
    return m->view[m->focus];
}

/* Returns the line under the cursor of the focused view; NULL: there is none. */
static const struct line *focused_line(const struct model *m)
{
    const struct pane_doc *p = &m->pane[focused_view(m)];
    return doc_at(&p->doc, &p->scroll);
}

/* Whether Enter can go to a loop or tensor from the line under the cursor of the focused view.  In
 * a view of code, the line must name a loop; in other views, a tensor is enough. */
static bool line_leads(const struct model *m, enum key_context context)
{
    const struct line *l = focused_line(m);
    return l && l->stage && (l->loop || context != KEYS_CODE);
}

bool model_blame(struct model *m, const char *arg)
{
    char name[64] = "", loop[64] = "";
    const struct program *p = model_program(m);
    const struct stage *s;
    int axis, number;
    bool code = !arg[0] && model_view[focused_view(m)].context == KEYS_CODE;
    if (code && !line_leads(m, KEYS_CODE))
        return model_say_error(m, "this line belongs to no loop of the nest", "");
    if (code) {
        snprintf(name, sizeof name, "%s", focused_line(m)->stage);
        snprintf(loop, sizeof loop, "%s", focused_line(m)->loop);
    }
    if (code || sscanf(arg, "%63s %63s", name, loop) == 2) {
        int node = program_stage(p, name);
        s = node >= 0 ? p->stage[node] : NULL;
        axis = s ? stage_axis(s, loop) : -1;
        if (axis < 0)
            return model_say_error(m, "blame: there is no such loop", "blame STAGE LOOP");
    } else if (arg[0] || !(model_loop(m, &s, &axis) || model_loop_around(m, &s, &axis, &number))) {
        return model_say_error(m, "blame: no loop is named",
                               "blame STAGE LOOP, or a cursor on a line of a loop");
    }
    struct str text = {0};
    blame_loop(&text, m->session->history, s->name, s->axis[axis].name);
    blame_inside(&text, m->session->history, s->name, s->axis[axis].name);
    model_info(m, "%s", str_text(&text));
    str_free(&text);
    return true;
}

/* Shows view `to`, and remembers the jump so that Esc goes back (model_jump_back).  A jump from the
 * steps is not remembered, and of many jumps only the last JUMPS_MOST are. */
static void jump_to(struct model *m, enum view to)
{
    struct jump j = { focused_view(m), to, model_focused(m)->scroll };
    int n = m->jump_stamp == m->stamp ? m->n_jumps : 0;
    bool remembered = m->focus != PANE_LEDGER;
    if (remembered && n == JUMPS_MOST) {
        memmove(m->jump, m->jump + 1, sizeof *m->jump * (size_t)--n);
        m->search_jumps -= m->search_jumps > 0;
    }
    if (remembered)
        m->jump[n++] = j;
    model_show_view(m, to);
    m->n_jumps = n;
    m->jump_stamp = m->stamp;
    if (n > 0)
        model_info(m, "Esc goes back to the view %s", model_view[m->jump[n - 1].from].name);
}

bool model_jump_back(struct model *m)
{
    if (m->n_jumps == 0 || !m->session || m->jump_stamp != m->stamp || m->focus == PANE_LEDGER)
        return false;
    int left = m->n_jumps - 1;
    struct jump j = m->jump[left];
    if (focused_view(m) != j.to)
        return false;
    model_show_view(m, j.from);
    m->n_jumps = left;
    m->pane[j.from].scroll = j.at;
    m->stays = model_code(j.from) >= 0;
    return true;
}

/* Shows a tensor in the layout view: no node computes it, so it has no loop in the nest. */
static bool layout_of(struct model *m, const char *tensor)
{
    snprintf(m->to_tensor, sizeof m->to_tensor, "%s", tensor);
    m->pane[VIEW_LAYOUT].stamp = 0;
    jump_to(m, VIEW_LAYOUT);
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
    m->step_number = model_code_is_current(m, focused_view(m)) ? l->number : 0;
    m->to_loop = true;
    m->pane[VIEW_NEST].stamp = 0;
    jump_to(m, VIEW_NEST);
    return true;
}

const char *model_next_access(const char *text, size_t *name, size_t *all)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    while (*text) {
        size_t n = strspn(text, word);
        if (n > 0 && text[n] == '[') {
            int depth = 0;
            size_t end = n;
            for (; text[end] && (depth > 0 || text[end] == '['); end++)
                depth += (text[end] == '[') - (text[end] == ']');
            *name = n;
            *all = end;
            return text;
        }
        text += n > 0 ? n : 1;
    }
    return NULL;
}

bool model_has_accesses(const struct tree_lines *lines, int i)
{
    return lines->number[i] == 0 && !strstr(lines->text[i], " = tile[");
}

struct cursor_subject model_subject(const struct model *m)
{
    static const enum view with_rows[] = {VIEW_PROFILE, VIEW_LAYOUT};
    const struct pane_doc *p = &m->pane[VIEW_NEST];
    for (int i = 0; i < COUNT_OF(with_rows) && m->focus == PANE_SIDE; i++) {
        const struct pane_doc *side = &m->pane[with_rows[i]];
        const struct line *l = doc_at(&side->doc, &side->scroll);
        if (m->view[PANE_SIDE] == with_rows[i] && l && l->stage)
            return (struct cursor_subject){SUBJECT_TENSOR, l->stage, NULL};
    }
    const struct line *l = doc_at(&p->doc, &p->scroll);
    if (!m->session || !l || l->n_items == 0)
        return (struct cursor_subject){SUBJECT_NONE, NULL, NULL};
    const struct doc_item *it = &l->item[p->scroll.item < l->n_items ? p->scroll.item : 0];
    return (struct cursor_subject){it->access ? SUBJECT_ACCESS : SUBJECT_LOOP, it->name,
                                   it->access};
}

/* Whether the nest has an access that begins with `text`. */
static bool nest_has(const struct model *m, const char *text)
{
    struct err e;
    const struct func *f;
    bool found = false;
    if (!program_lower(model_program(m), &f, &e))
        return false;
    struct arena *a = arena_new();
    struct tree_lines lines = func_lines(a, f);
    for (int i = 0; i < lines.n && !found; i++) {
        const char *at = model_has_accesses(&lines, i) ? lines.text[i] : "";
        for (size_t name, all; !found && (at = model_next_access(at, &name, &all)); at += name + 1)
            found = str_starts(at, text);
    }
    arena_free(a);
    return found;
}

/* Goes from a row of the profile to its access in the nest; if the row is about a whole tensor, to
 * an access of this tensor. */
bool model_access_of(struct model *m)
{
    const struct pane_doc *p = model_focused(m);
    const struct line *l = doc_at(&p->doc, &p->scroll);
    char text[sizeof m->step_access], why[sizeof text + 64];
    if (p != &m->pane[VIEW_PROFILE] || !l || !l->stage)
        return model_say_error(m, "this line is about no tensor and no access",
                               "Enter on a row of the misses in the profile");
    snprintf(text, sizeof text, l->loop ? "%s" : "%s[", l->loop ? l->loop : l->stage);
    if (!nest_has(m, text)) {
        snprintf(why, sizeof why, "the nest has no access %s%s", l->loop ? "" : "to ",
                 l->loop ? l->loop : l->stage);
        return model_say_error(m, why, "");
    }
    m->step_number = 0;
    m->step_stage[0] = 0;                /* the access can be in any stage */
    snprintf(m->step_axis, sizeof m->step_axis, "%s", l->stage);
    snprintf(m->step_access, sizeof m->step_access, "%s", text);
    m->pane[VIEW_NEST].stamp = 0;
    jump_to(m, VIEW_NEST);
    return true;
}

bool model_misses_of(struct model *m)
{
    const struct pane_doc *p = &m->pane[VIEW_NEST];
    const struct line *l = doc_at(&p->doc, &p->scroll);
    bool on = l && p->scroll.item < l->n_items && l->item[p->scroll.item].access;
    if (!on)
        return model_say_error(m, "the cursor of the nest is on no access to memory",
                               "Right goes to the next loop or access");
    m->to_misses = true;
    jump_to(m, VIEW_PROFILE);
    return true;
}

bool model_key_refused(const struct model *m, const struct key_binding *b)
{
    const struct stage *s;
    int axis, tensor = b->context == KEYS_LAYOUT ? model_tensor(m) : -1;
    struct err ignored;
    if (streq(b->line, "loop_of") || streq(b->line, "access_of"))
        return !line_leads(m, b->context);
    if (b->context == KEYS_TUNE && str_starts(b->line, "tune %"))
        return m->tuner.out;              /* `t` starts no search while one runs */
    if (streq(b->line, "tune pause") || streq(b->line, "tune stop"))
        return !m->tuner.out;
    if (streq(b->line, "lens apply"))
        return !model_lens_on_cure(m);
    if (b->context == KEYS_COMPARE)
        return m->marking.state < 0;
    if (b->context == KEYS_NEST && (strstr(b->line, "%T") || b->action == ACTION_MENU))
        return !model_loop(m, &s, &axis)
            || (str_starts(b->line, "loop vectorize") && s->axis[axis].extent > STAGE_MAX_VECTOR);
    return tensor >= 0 && b->action == ACTION_ASK
        && !program_layout_is_free(model_program(m), tensor, &ignored);
}
