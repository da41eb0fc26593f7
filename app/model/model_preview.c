/* The preview: the program after the step on the prompt, which is tried on a copy of the branch. */
#include "app/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include "explorer/history/rebase.h"
#include "kernels/base/subprocess.h"

#define PREVIEW_S 0.05  /* if a preview takes more seconds, its state gets no more previews */
#define MOST_NOTED 3                     /* most later steps that a preview names */
#define MOST_NODES 64  /* programs with more nodes get no previews: lowering them takes too long */

/* Appends the number of the new step, if it is not the last step.  Then appends the first steps
 * that would have no effect, or in which names would mean other loops. */
static void note_later_steps(const struct history *copy, struct str *out)
{
    const struct rebased *did = history_rebased(copy);
    int n, at, listed = 0;
    const int *path = history_path(copy, history_branch_index(copy), &n, &at);
    if (did->from || streq(did->what, "inserted"))
        str_printf(out, "It becomes step %d.", did->at);
    for (int i = 1; i < n; i++) {
        const struct state *s = history_state(copy, path[i]);
        if (!s->held && !s->note)
            continue;
        if (listed++ == MOST_NOTED) {
            str_add(out, " ...");
            break;
        }
        str_printf(out, "%sStep %d%s %s.", out->len ? " " : "", i,
                   s->held ? " would have no effect:" : ":", s->held ? s->held : s->note);
    }
}

/* Appends, as a sentence, that a step would change nothing.  A note that begins with the name of a
 * tensor keeps it as it is. */
static void note_no_change(const struct program *p, const struct program *before,
                           const char *step, struct str *out)
{
    struct str text = {0};
    model_note_no_change(p, before, step, &text);
    bool named = !str_starts(str_text(&text), "so far ")
              && !str_starts(str_text(&text), "the step ");
    if (text.len > 0 && !named)
        text.data[0] = (char)(text.data[0] - 'a' + 'A');
    str_printf(out, "%s%s", str_text(&text), text.len > 0 ? "." : "");
    str_free(&text);
}

/* Copies the branch and runs the line on the copy, as the prompt would run it: later steps are
 * renamed or held, and layout steps go before loop steps.  Returns the copy.  Sets *out to the
 * program after the line, which the copy owns, or to NULL if the line is refused.  NULL: there is
 * no copy. */
static struct history *replay(const struct history *h, const char *line,
                              const struct program **out, struct str *note)
{
    struct history *copy;
    enum command_effect effect;
    struct err ignored;
    int n, at;
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    if (!history_new(history_spec(h), &copy, &ignored))
        return NULL;
    bool ok = true;
    for (int i = 1; ok && i < n; i++) {
        const struct state *s = history_state(h, path[i]);
        ok = history_apply_held(copy, s->step, s->origin, &ignored);
    }
    ok = ok && history_goto(copy, at, &ignored);
    const struct program *before = history_current(copy)->program;
    ok = ok && command_run(copy, line, &effect, &ignored);
    *out = ok ? history_current(copy)->program : NULL;
    if (ok && effect == EFFECT_REBASED)
        note_later_steps(copy, note);
    if (ok && effect == EFFECT_STATE)
        note_no_change(*out, before, history_current(copy)->step, note);
    return copy;
}

/* Whether the line is a complete change of the list of steps: `drop N`, `move N M` or
 * `move N up|down [PLACES]`. */
static bool is_change(const char *line)
{
    int used = 0;
    return (sscanf(line, "drop %*[0-9] %n", &used), used > 0 && !line[used])
        || (used = 0, sscanf(line, "move %*[0-9] %*[a-z0-9] %n%*[0-9] %n", &used, &used),
            used > 0 && !line[used]);
}

/* Whether the line looks like a step or a change of steps, so that it is worth the time to try
 * it. */
static bool is_step(const struct model *m, const char *line)
{
    const char *step = line + model_step_at(line);
    if (is_change(line) || model_lacks_group(m, line))
        return true;
    return str_starts(step, "loop ") || str_starts(step, "layout ")
        || str_starts(step, "algorithm ") || str_starts(step, "set ");
}

void model_preview_update(struct model *m)
{
    struct preview *v = &m->preview;
    const struct program *p = model_program(m);
    const char *line = m->prompt.open && m->prompt.mark == ':' ? str_text(&m->prompt.line) : "";
    line += strspn(line, " ");
    if (!p || !is_step(m, line)) {
        v->program = NULL;
        v->late = false;
        str_clear(&v->line);
        return;
    }
    if (v->stamp == m->stamp && streq(str_text(&v->line), line))
        return;
    bool slow = v->slow && v->stamp == m->stamp;
    struct str whole = {0};
    struct err ignored;
    str_clear(&v->note);
    str_clear(&v->line);
    str_add(&v->line, line);
    v->stamp = m->stamp;
    v->version++;
    v->program = NULL;
    v->late = v->slow = slow || p->graph->n_nodes > MOST_NODES;
    if (v->late)
        return;
    history_free(v->copy);
    double start = clock_s();
    bool lacks = model_with_group(m, line, &whole, &ignored);
    v->copy = replay(m->session->history, lacks ? str_text(&whole) : line, &v->program, &v->note);
    if (v->program)
        model_new_tile(m, history_current(v->copy), history_current(m->session->history),
                       v->note.len > 0 ? " The tile " : "The tile ", &v->note);
    v->slow = clock_s() - start > PREVIEW_S;
    str_free(&whole);
}

void model_preview_free(struct model *m)
{
    history_free(m->preview.copy);
    str_free(&m->preview.line);
    str_free(&m->preview.note);
}
