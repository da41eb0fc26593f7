/* The program after the step on the prompt, tried on a copy. */
#include "app/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include "kernels/base/subprocess.h"

#define PREVIEW_S 0.05                   /* a program that takes longer has no preview */
#define MOST_NODES 64                    /* nor has one of more nests: lowering takes longer */

/* Returns the number of the step that the line edits, or inserts one before (*insert), and sets
 * *step to the new step; 0: the line is a step itself. */
static int changed_step(const char *line, bool *insert, const char **step)
{
    char word[8];
    int n = 0, used = 0;
    *insert = sscanf(line, "%7s %d %n", word, &n, &used) == 2 && streq(word, "insert");
    bool edit = used > 0 && streq(word, "edit");
    *step = *insert || edit ? line + used : line;
    return *insert || edit ? n : 0;
}

/* Replays the steps up to the current one with one of them changed.  Held steps are numbered, but
 * not applied. */
static bool replay(struct arena *a, const struct history *h, const char *line,
                   const struct program **out)
{
    bool insert;
    const char *step;
    int at = changed_step(line, &insert, &step), n = 0, bad, n_path, last;
    struct err ignored;
    const int *path = history_path(h, history_branch_index(h), &n_path, &last);
    if (at < 0 || at > last || (at == 0 && step != line))
        return false;
    const char **lines = ARENA_ARRAY(a, const char *, last + 1);
    for (int i = 1; i <= last; i++) {
        const struct state *s = history_state(h, path[i]);
        if (i == at)
            lines[n++] = step;
        if ((i != at || insert) && !s->held)
            lines[n++] = s->step;
    }
    if (at == 0)
        lines[n++] = step;
    return program_replay(a, history_spec(h), lines, n, out, &bad, &ignored);
}

/* Whether the line looks like a whole step, so that trying it is worth the time. */
static bool is_step(const char *line)
{
    bool insert;
    const char *step;
    changed_step(line, &insert, &step);
    return str_starts(step, "loop ") || str_starts(step, "layout ");
}

void model_preview_update(struct model *m)
{
    struct preview *v = &m->preview;
    const struct program *p = model_program(m);
    const char *line = m->prompt.open && m->prompt.mark == ':' ? str_text(&m->prompt.line) : "";
    line += strspn(line, " ");
    if (!p || !is_step(line)) {
        v->program = NULL;
        v->late = false;
        str_clear(&v->line);
        return;
    }
    if (v->stamp == m->stamp && streq(str_text(&v->line), line))
        return;
    bool slow = v->slow && v->stamp == m->stamp;
    str_clear(&v->line);
    str_add(&v->line, line);
    v->stamp = m->stamp;
    v->version++;
    v->program = NULL;
    v->late = v->slow = slow || p->graph->n_nodes > MOST_NODES;
    if (v->late)
        return;
    v->arena = v->arena ? v->arena : arena_new();
    arena_reset(v->arena);
    double start = clock_s();
    if (!replay(v->arena, m->session->history, line, &v->program))
        v->program = NULL;
    v->slow = clock_s() - start > PREVIEW_S;
}

void model_preview_free(struct model *m)
{
    if (m->preview.arena)
        arena_free(m->preview.arena);
    str_free(&m->preview.line);
}
