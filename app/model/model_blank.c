#include "app/model/model_blank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/ui/text.h"
#include "explorer/history/rename.h"
#include "sessions/file/shipped.h"

static bool put_neighbour(struct model *m, struct str *out, const struct stage *s, int axis,
                          const char *where)
{
    if (axis >= 0 && axis < s->n_axes) {
        str_add(out, s->axis[axis].name);
        return true;
    }
    struct str text = {0};
    str_printf(&text, "this is the %s loop of %s already", where, s->name);
    model_say_error(m, str_text(&text), s->n_axes == 1 ? "it is the only one: split it first"
                    : axis < 0 ? "move it inwards instead, or go to a loop further inside"
                               : "move it outwards instead, or go to a loop further outside");
    str_free(&text);
    return false;
}

/* Returns the name of the stage to compute inside a loop of s: the producer of its data, if s is
 * element-wise; else an element-wise consumer of s; "": neither exists. */
static const char *neighbour_stage(const struct program *p, const struct stage *s)
{
    const struct graph *g = p->graph;
    const struct node *n = &g->node[s->node];
    if (n->elementwise && n->data_in >= 0 && g->tensor[n->data_in].producer >= 0)
        return g->tensor[n->data_in].name;
    for (int i = 0; i < g->n_nodes; i++)
        if (i != s->node && g->node[i].elementwise && g->node[i].data_in == n->out)
            return g->tensor[g->node[i].out].name;
    return "";
}

const struct program *model_try_on(struct arena *a, const struct program *p)
{
    const struct program *copy;
    struct err e;
    int bad;
    if (!program_replay(a, p->base->spec, p->steps, p->n_steps, &copy, &bad, &e))
        fail("%s", e.text);
    return copy;
}

/* Returns the name of a tensor with which the step `begin TENSOR at=loop` is legal: preferably the
 * data operand of s, else the first one.  If no tensor is legal, returns the data operand, whose
 * error message is the clearest; "": s has no data operand either. */
static const char *operand_for(const struct program *p, const struct stage *s, const char *begin,
                               const char *loop)
{
    const struct graph *g = p->graph;
    int data = g->node[s->node].data_in;
    const char *best = data >= 0 ? g->tensor[data].name : "";
    struct arena *a = arena_new();
    const struct program *copy = model_try_on(a, p), *ignored;
    struct err e;
    bool fits = false;
    for (int i = data < 0 ? 0 : -1; i < g->n_tensors && !fits; i++) {
        const char *name = g->tensor[i < 0 ? data : i].name;
        const char *line = arena_printf(a, "%s%s at=%s", begin, name, loop);
        fits = program_apply_line(copy, line, &ignored, &e);
        best = fits ? name : best;
    }
    arena_free(a);
    return best;
}

/* Fills in %C (the stage to compute inside a loop of s) or %R (the operand to copy).  out: the line
 * so far. */
static bool put_other(struct model *m, struct str *out, const struct stage *s, const char *loop,
                      char what)
{
    const struct program *p = model_program(m);
    const char *name = what == 'C' ? neighbour_stage(p, s)
                                   : operand_for(p, s, str_text(out), loop);
    if (!name[0])
        return what == 'C'
             ? model_say_error(m, "no other stage can be computed inside this loop",
                               "that needs an element-wise stage (bias, relu, a padding) that this "
                               "one reads, or that reads this one")
             : model_say_error(m, "this stage reads nothing that can be copied",
                               "go to a loop of a stage that reads a tensor");
    str_add(out, name);
    return true;
}

static bool put_loop(struct model *m, struct str *out, char what)
{
    const struct stage *s;
    int axis;
    if (!model_loop(m, &s, &axis))
        return model_say_error(m, "the cursor is not on a loop",
                               "move it to a line that starts with `for`");
    if (what == 'X')
        return put_neighbour(m, out, s, axis + 1, "innermost");
    if (what == 'P')
        return put_neighbour(m, out, s, axis - 1, "outermost");
    if (what == 'T')
        str_add(out, s->name);
    if (what == 'D')
        str_add(out, s->axis[axis].name);
    if (what == 'C' || what == 'R')
        return put_other(m, out, s, s->axis[axis].name, what);
    for (int i = 0; what == 'A' && i < s->n_axes; i++)
        str_printf(out, "%s%s", i ? " " : "", s->axis[i].name);
    return true;
}

static bool put_layout(struct model *m, struct str *out, char what)
{
    int t = model_tensor(m);
    if (t < 0)
        return model_say_error(m, "the cursor is not on a tensor",
                               "move it to a row of the layouts");
    const struct layout *l = model_program(m)->layout[t];
    if (what == 'Y' && l->n_prims == 0) {
        struct str why = {0};
        str_printf(&why, "%s is plain row-major already", l->tensor->name);
        model_say_error(m, str_text(&why), "it has no layout to take away; e gives it one");
        str_free(&why);
        return false;
    }
    if (what == 'L' || what == 'Y')
        str_add(out, l->tensor->name);
    for (int i = 0; what == 'O' && i < l->rank; i++)
        str_printf(out, "%s%s", i ? " " : "", l->dim[i]);
    if (what == 'Q' && !layout_notation(l, out))
        for (int i = 0; i < l->tensor->rank; i++)
            str_printf(out, "%s%s", i ? " " : "", l->tensor->dim[i]);
    return true;
}

static bool put_row(struct model *m, struct str *out, char what)
{
    const struct line *l = doc_at(&m->pane[DOC_LEDGER].doc, &m->pane[DOC_LEDGER].scroll);
    int n;
    struct ledger_row *rows = model_ledger(m, &n);
    bool valid = l && l->id >= 0 && l->id < n;
    if (valid && what == 'E' && l->id == 0) {
        free(rows);
        return model_say_error(m, "step 0 is the operator as given: it cannot be changed",
                               "i inserts a step before step 1");
    }
    if (valid && what == 'F')
        str_printf(out, "%d", l->id > 0 ? l->id : 1);
    else if (valid && what != 'I')
        str_printf(out, "%d", l->id);
    else if (valid)
        str_add(out, rows[l->id].step);
    free(rows);
    return valid || model_say_error(m, "the cursor is not on a step", "");
}

/* Whether the held step of s applies again when `step` is inserted before it. */
static bool step_repairs(const struct state *s, const char *step)
{
    struct arena *a = arena_new();
    const struct program *p = model_try_on(a, s->program);
    struct err ignored;
    bool ok = program_apply_line(p, step, &p, &ignored)
           && program_apply_line(p, s->step, &p, &ignored);
    arena_free(a);
    return ok;
}

bool model_held_is_made(const struct state *s)
{
    char stage[64], axis[64], part[80];
    int n = 0, node = -1, parts = 0;
    if (s->held && sscanf(s->step, "loop split %63s %63s%n", stage, axis, &n) == 2)
        node = program_stage(s->program, stage);
    const char *at = s->step + n;
    for (char *end; node >= 0 && *at; at = end, parts++) {
        long long size = strtoll(at, &end, 10);
        snprintf(part, sizeof part, "%s.%d", axis, parts);
        int i = stage_axis(s->program->stage[node], part);
        if (end == at || i < 0 || s->program->stage[node]->axis[i].extent != size)
            return false;
    }
    return parts > 1;
}

#define LISTED "; it could be `"  /* what stands before the first line that a reason lists */

/* Appends a line that repairs the held step under the cursor.  If it splits a loop that is divided
 * already, drops the step.  Else inserts the step that the reason proposes in parentheses,
 * as "(loop reorder C M K N)", if the held step then applies.  Otherwise edits the held step, and
 * fills in the first of the lines that the reason lists (why_held in rebase.c), or its own. */
static bool put_repair(struct model *m, struct str *out)
{
    const struct state *s = model_held_step(m);
    const char *from = s ? strstr(s->held, "(loop ") : NULL;
    struct str step = {0};
    if (s && strstr(s->held, RENAME_DIVIDED))
        return model_fill_in(m, "drop %E", out);
    if (from)
        str_add_n(&step, from + 1, strcspn(from + 1, ")"));
    bool repairs = from && step_repairs(s, str_text(&step));
    const char *could = s ? strstr(s->held, LISTED) : NULL;
    if (repairs && model_fill_in(m, "insert %S ", out))
        str_add(out, str_text(&step));
    else if (!repairs && could && model_fill_in(m, "edit %E ", out))
        str_add_n(out, could + strlen(LISTED), strcspn(could + strlen(LISTED), "`"));
    str_free(&step);
    return repairs || could || model_fill_in(m, "edit %E %I", out);
}

/* Appends the name of a model without its ending.  Characters that would need quotes become -. */
static void put_model_name(struct str *out, const char *title)
{
    const char *dot = strrchr(title, '.');
    size_t n = dot && dot > title ? (size_t)(dot - title) : strlen(title);
    for (size_t i = 0; i < n; i++)
        str_add_char(out, strchr(" /\\\"'", title[i]) ? '-' : title[i]);
}

void model_put_file(const struct model *m, struct str *out)
{
    const struct session *s = model_document(m);
    const char *spec = history_spec(s->history);
    const char *slash = strrchr(s->path, '/');
    if (s->path[0])
        str_add(out, slash && shipped_file(s->path) ? slash + 1 : s->path);
    else if (s->of_model && s->title[0])
        put_model_name(out, s->title);
    else if (graph_is_composition(spec))
        str_add(out, "graph");
    else
        str_printf(out, "%.*s", (int)strcspn(spec, " "), spec);
    str_add(out, s->path[0] ? "" : ".yaml");
}

/* Appends the number of the trial under the cursor. */
static bool put_trial(struct model *m, struct str *out)
{
    int trial = model_tune_selected(m);
    if (trial >= 0) {
        str_printf(out, "%d", trial + 1);
        return true;
    }
    const struct tune_view *v = NULL;
    bool some = false;
    if (m->tuner.snapshot) {
        v = tune_snapshot_lock(m->tuner.snapshot);
        some = v && v->n_trials > 0;
        tune_snapshot_unlock(m->tuner.snapshot);
    }
    return model_say_error(m, "the cursor is not on a trial", some
                           ? "G goes to the list of trials below the chart" : m->tuner.out
                           ? "trials come as soon as they are measured" : "t starts the tuner");
}

static bool put_blank(struct model *m, struct str *out, char what)
{
    if (!m->session && what != 'N')
        return model_say_error(m, "this key needs an operator that is open", "");
    switch (what) {
    case 'T': case 'D': case 'X': case 'P': case 'A': case 'C': case 'R':
        return put_loop(m, out, what);
    case 'L': case 'O': case 'Q': case 'Y':
        return put_layout(m, out, what);
    case 'S': case 'I': case 'E': case 'F':
        return put_row(m, out, what);
    case 'H':
        return put_repair(m, out);
    case 'K':
        return put_trial(m, out);
    case 'N':
        if (m->count > 0)
            str_printf(out, "%ld", m->count);
        return true;
    case 'B':
        if (!model_branch(m))
            return model_say_error(m, "there is no branch here", "");
        str_add(out, model_branch(m));
        return true;
    default:
        UNREACHABLE();
    }
}

bool model_fill_in(struct model *m, const char *line, struct str *out)
{
    for (const char *p = line; *p; p++) {
        if (*p != '%')
            str_add_char(out, *p);
        else if (!put_blank(m, out, *++p))
            return false;
    }
    return true;
}

const char *model_toggled(const struct model *m, const char *line)
{
    const struct stage *s;
    int axis;
    if (model_loop(m, &s, &axis)) {
        enum loop_ann ann = s->axis[axis].ann;
        if (ann != LOOP_SERIAL && strstr(line, loop_ann_name[ann]))
            line = "loop serial %T %D";
    }
    return line;
}

/* Returns the name that is shown for a placeholder when nothing under the cursor fits it. */
static const char *name_of_blank(char what)
{
    static const char *const names[] = {
        ['T'] = "STAGE", ['D'] = "LOOP", ['X'] = "LOOP", ['P'] = "LOOP", ['A'] = "LOOPS",
        ['C'] = "STAGE", ['R'] = "TENSOR", ['L'] = "TENSOR", ['Y'] = "TENSOR",
        ['O'] = "DIMS", ['Q'] = "NOTATION", ['S'] = "STEP", ['E'] = "STEP", ['F'] = "STEP",
        ['H'] = "edit STEP LINE",
        ['I'] = "LINE", ['K'] = "TRIAL", ['B'] = "BRANCH", ['N'] = "[COUNT]",
    };
    return names[(unsigned char)what];
}

void model_key_line(const struct model *m, const struct key_binding *b, bool here, struct str *out)
{
    struct model quiet = *m;              /* a copy, for the messages of model_fill_in */
    struct str line = {0};
    quiet.message = (struct message){0};
    const char *pattern = b->action == ACTION_TOGGLE ? model_toggled(m, b->line) : b->line;
    if (here && model_fill_in(&quiet, pattern, &line)) {
        str_add(out, str_text(&line));
    } else {
        for (const char *p = b->line; *p; p++) {
            if (*p == '%')
                str_add(out, name_of_blank(*++p));
            else
                str_add_char(out, *p);
        }
    }
    struct str *said[] = { &line, &quiet.message.echo, &quiet.message.text, &quiet.message.fix };
    for (int i = 0; i < COUNT_OF(said); i++)
        str_free(said[i]);
}
