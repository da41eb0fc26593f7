/* Notes on the current program: what a step has made of it that its line does not tell. */
#include "app/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/ui/text.h"
#include "kernels/program/contract.h"

static bool has_parallel_loop(const struct program *p)
{
    for (int i = 0; i < p->graph->n_nodes; i++)
        for (int a = 0; a < p->stage[i]->n_axes; a++)
            if (p->stage[i]->axis[a].ann == LOOP_PARALLEL && p->stage[i]->axis[a].extent > 1)
                return true;
    return false;
}

void model_threads_note(const struct model *m, struct str *out)
{
    if (m->threads > m->cores)
        str_printf(out, "; %d threads take turns on %d core%s", m->threads, m->cores,
                   m->cores == 1 ? "" : "s");
    if (m->threads > 1 && m->session && !has_parallel_loop(model_program(m)))
        str_add(out, "; one thread does all the work here, for no loop is parallel (p makes one)");
}

/* Appends notes such as "Ker is stored 4.70 times: tiles overlap", for the tensor of the step and
 * for results that can have taken over its layout; or that the tensor is not stored. */
static void note_copies(const struct program *p, const char *step, struct str *out)
{
    const struct graph *g = p->graph;
    if (!str_starts(step, "layout "))
        return;
    int named = program_layout_tensor(g, step);
    if (named >= 0 && program_is_inlined(p, named))
        str_printf(out, "%s%s is computed where it is read (loop inline), so its layout acts only "
                   "after `loop compute_root %s`", out->len ? "; " : "", g->tensor[named].name,
                   g->tensor[named].name);
    for (int t = 0; t < g->n_tensors; t++) {
        const struct layout *l = p->layout[t];
        bool result = g->tensor[t].producer >= g->main_node;
        if (l->klass == LAYOUT_DUPLICATING && l->expansion > 1 && !program_is_inlined(p, t)
            && (result || t == named))
            str_printf(out, "%s%s is stored %.2f times: tiles overlap", out->len ? "; " : "",
                       l->tensor->name, l->expansion);
    }
}

static bool same_layouts(const struct program *p, const struct program *q)
{
    bool same = p->graph->n_tensors == q->graph->n_tensors;
    for (int t = 0; same && t < p->graph->n_tensors; t++) {
        struct str now = {0}, then = {0};
        same = layout_notation(p->layout[t], &now) && layout_notation(q->layout[t], &then)
            && streq(str_text(&now), str_text(&then));
        str_free(&now);
        str_free(&then);
    }
    return same;
}

/* Whether the loops of s are those of `of`, in the same order, with the same annotations. */
static bool same_loops(const struct stage *s, const struct stage *of)
{
    bool same = s && of && s->n_axes == of->n_axes;
    for (int i = 0; same && i < s->n_axes; i++)
        same = streq(s->axis[i].name, of->axis[i].name) && s->axis[i].ann == of->axis[i].ann;
    return same;
}

static bool same_code(const struct program *p, const struct program *q)
{
    struct str now = {0}, then = {0};
    struct err ignored;
    bool openmp;
    const struct target *t = program_text_target(p, NULL);
    bool same = program_text_code(p, t, &now, &openmp, NULL, &ignored)
             && program_text_code(q, t, &then, &openmp, NULL, &ignored)
             && streq(str_text(&now), str_text(&then));
    str_free(&now);
    str_free(&then);
    return same;
}

/* Appends that a setting has no effect yet.  For `set input_layout given`, also names an input of
 * the caller that needs a layout first; a padded copy of an input is no such input. */
static void note_idle_setting(const struct program *p, const char *step, struct str *out)
{
    const struct graph *g = p->graph;
    str_printf(out, "%sso far the setting changes nothing", out->len ? "; " : "");
    if (!str_starts(step, "set input_layout given"))
        return;
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensor[t].role == TENSOR_INPUT && p->source[t] == LAYOUT_PLAIN) {
            str_printf(out, ": the caller's input %s has no other layout (layout set %s ...)",
                       g->tensor[t].name, g->tensor[t].name);
            return;
        }
}

/* If the step resets the layout of a tensor, and the tensor now takes the layout of another one by
 * propagation, appends a note and returns true. */
static bool note_follower(const struct program *p, const char *step, struct str *out)
{
    int t = str_starts(step, "layout reset ") ? program_layout_tensor(p->graph, step) : -1;
    if (t < 0 || p->source[t] != LAYOUT_PROPAGATED)
        return false;
    const struct tensor *x = &p->graph->tensor[t];
    str_printf(out, "%s%s takes the layout of %s; layout set %s \"", out->len ? "; " : "", x->name,
               p->graph->tensor[p->source_tensor[t]].name, x->name);
    for (int d = 0; d < x->rank; d++)
        str_printf(out, "%s%s", d ? " " : "", x->dim[d]);
    str_add(out, "\" gives it the plain one");
    return true;
}

void model_note_no_change(const struct program *p, const struct program *before, const char *step,
                          struct str *out)
{
    char verb[16], stage[64], loop[64];
    bool marks = history_annotation(step, verb, stage, loop);
    bool reorder = !marks && sscanf(step, "loop reorder %63s", stage) == 1;
    int node = reorder || marks ? program_stage(p, stage) : -1;
    bool layout = str_starts(step, "layout ") && same_layouts(p, before);
    bool loops = node >= 0 && node < before->graph->n_nodes
              && same_loops(p->stage[node], before->stage[node]);
    if (note_follower(p, step, out))
        return;
    if (layout || loops)
        str_printf(out, "%sthe step changes nothing: the %s as before", out->len ? "; " : "",
                   layout ? "layouts are" : marks ? "annotations of the loops are"
                                                  : "order of the loops is");
    else if (str_starts(step, "set ") && same_code(p, before))
        note_idle_setting(p, step, out);
    else if (!marks && !reorder && str_starts(step, "loop ") && same_code(p, before))
        str_printf(out, "%sso far the step changes nothing: the C is as before",
                   out->len ? "; " : "");
}

void model_note_replaced(const struct model *m, int by, struct str *out)
{
    const struct history *h = m->session->history;
    for (int i = 1; i <= history_position(h); i++) {
        int n, at, with = history_replaced_by(h, i);
        const int *path = history_path(h, history_branch_index(h), &n, &at);
        if (with > 0 && (with == by || i == by))
            str_printf(out, "%sstep %d `%s` has no effect, because of step %d",
                       out->len ? "; " : "", i, history_state(h, path[i])->step, with);
    }
}

void model_contract_note(const struct program *p, const struct program *than, struct str *out)
{
    struct str text = {0};
    if (contract_difference(&text, p, than))
        str_printf(out, "%sother contract: %s", out->len ? "; " : "", str_text(&text));
    str_free(&text);
}

/* Appends that lanes of a vector lie apart in memory where they are stored, or with `loads` where
 * they are loaded; unless the same access of `than` did so. */
static void note_lanes(const struct program *p, const struct program *than, bool loads,
                       struct str *out)
{
    struct lanes_apart now, was = {0};
    const struct func *f, *g;
    struct err ignored;
    if (!program_lower(p, &f, &ignored) || !func_lanes_apart(f, loads, &now))
        return;
    bool before = program_lower(than, &g, &ignored) && func_lanes_apart(g, loads, &was);
    if (before && streq(was.axis, now.axis) && streq(was.buffer, now.buffer)
        && was.stride == now.stride)
        return;
    str_printf(out, "%sthe lanes of %s lie %lld elements apart in %s: each is %s by itself",
               out->len ? "; " : "", now.axis, (long long)now.stride, now.buffer,
               loads ? "loaded" : "stored");
    if (loads)
        str_printf(out, ", which another layout of %s would avoid", now.buffer);
    else if (now.adjacent)
        str_printf(out, ", lanes of %s would be adjacent", now.adjacent);
}

void model_change_note(const struct program *p, const struct program *than, struct str *out)
{
    note_lanes(p, than, false, out);
    note_lanes(p, than, true, out);
    model_contract_note(p, than, out);
}

/* Appends that the program is measured with 1 thread, for the first state where that matters. */
static bool note_parallel(struct model *m, struct str *out)
{
    if (m->threads > 1 || m->cores < 2 || !has_parallel_loop(model_program(m)))
        return false;
    if (m->parallel_said == 0)
        m->parallel_said = model_tag(m) + 1;
    bool says = m->parallel_said == model_tag(m) + 1;
    if (says)
        str_printf(out, "%sparallel, but measuring with 1 thread: :threads 2",
                   out->len ? "; " : "");
    return says;
}

void model_rebased_note(struct model *m, struct str *out)
{
    note_copies(model_program(m), history_current(m->session->history)->step, out);
    note_parallel(m, out);
}

bool model_note(struct model *m, struct str *out)
{
    const struct program *p = model_program(m);
    const struct state *s = history_current(m->session->history);
    int than = m->came.to == s->id ? m->came.from : s->parent;
    note_copies(p, s->step, out);
    if (than >= 0)
        model_change_note(p, history_state(m->session->history, than)->program, out);
    if (s->parent >= 0 && str_starts(s->step, "loop "))
        model_new_tile(m, s, history_state(m->session->history, s->parent), out->len ? "; " : "",
                       out);
    return note_parallel(m, out);
}
