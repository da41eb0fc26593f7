/* The command `expert`: applies the steps of a shipped schedule. */
#include "app/model/model.h"

#include <stdio.h>
#include "sessions/file/expert_file.h"
#include "sessions/file/session_network.h"

bool model_has_expert(const struct model *m, const char *family)
{
    struct arena *a = arena_new();
    struct experts all;
    struct err ignored;
    bool has = expert_file_all(a, &all, &ignored) && experts_for(&all, family, m->set.target);
    arena_free(a);
    return has;
}

bool model_experts(const struct model *m, struct arena *a, int max, struct expert_schedule *out,
                   int *n, struct err *e)
{
    struct experts all;
    if (!expert_file_all(a, &all, e))
        return false;
    all.accuracy = session_expert_accuracy(m->session, m->network ? m->network->session : NULL);
    return expert_schedules(a, &all, history_spec(m->session->history), m->set.target, m->threads,
                            max, out, n, e);
}

static bool has_branch(const struct history *h, const char *name)
{
    for (int i = 0; i < history_n_branches(h); i++)
        if (streq(history_branch(h, i)->name, name))
            return true;
    return false;
}

/* Makes a branch from the operator without steps.  If a branch has the name `base`, appends -2,
 * -3... to the name. */
static bool new_branch(struct history *h, const char *base, struct err *e)
{
    char name[48];
    snprintf(name, sizeof name, "%s", base);
    for (int k = 2; has_branch(h, name); k++)
        snprintf(name, sizeof name, "%.30s-%d", base, k);
    return history_branch_plain(h, name, e);
}

bool model_enter(struct model *m, const struct program *p, const char *name, bool here,
                 struct err *e)
{
    struct history *h = m->session->history;
    int b = history_branch_with(h, p->steps, p->n_steps);
    if (b >= 0)
        return history_branch_switch(h, history_branch(h, b)->name, e)
            && history_goto(h, p->n_steps, e);
    bool branch = !here || history_current(h)->id != 0;
    if (!session_room(m->session, p->n_steps, branch, e) || (branch && !new_branch(h, name, e)))
        return false;
    for (int i = 0; i < p->n_steps; i++)
        if (!history_apply(h, p->steps[i], e))
            return false;
    return true;
}

/* If p has steps `set accuracy`, puts the last of them before the steps of a schedule, so that it
 * stays in force. */
static void keep_accuracy(struct arena *a, const struct program *p, struct expert_schedule *s)
{
    const char *set = NULL;
    for (int i = 0; i < p->n_steps; i++)
        set = str_starts(p->steps[i], "set accuracy") ? p->steps[i] : set;
    if (!set)
        return;
    const char **step = ARENA_ARRAY(a, const char *, s->n + 1);
    step[0] = set;
    for (int i = 0; i < s->n; i++)
        step[i + 1] = s->step[i];
    s->step = step;
    s->n++;
}

/* Applies the schedule with this number; 1 is the best. */
static bool choose(struct model *m, struct arena *a, int number, struct err *e)
{
    struct history *h = m->session->history;
    struct expert_schedule list[EXPERTS_MOST];
    const struct program *p, *before = model_program(m);
    int n, bad;
    if (!model_experts(m, a, number, list, &n, e))
        return false;
    if (n < number) {
        err_set(e, ERR_RANGE, "there %s only %d expert schedule%s for this operator",
                n == 1 ? "is" : "are", n, n == 1 ? "" : "s");
        return err_fix(e, n == 1 ? "expert" : "expert 1 to %d", n);
    }
    struct expert_schedule *s = &list[number - 1];
    keep_accuracy(a, before, s);
    if (!program_replay(a, history_spec(h), s->step, s->n, &p, &bad, e))
        return false;
    bool ok = model_enter(m, p, "expert", true, e);
    model_edited(m);
    struct str note = {0};
    model_contract_note(p, before, &note);
    const char *chosen = expert_chosen_text(a, s);
    if (ok && m->message.kind != MESSAGE_ERROR)
        model_info(m, "%s%s%s: %d steps on branch %s; u undoes one%s%s", s->expert->id,
                   chosen[0] ? ", " : "", chosen, s->n,
                   history_branch(h, history_branch_index(h))->name, note.len ? "; " : "",
                   str_text(&note));
    str_free(&note);
    return ok;
}

bool model_expert(struct model *m, const char *arg)
{
    long long number = 1;
    struct err e;
    if (arg[0] && !str_to_int64(arg, 1, EXPERTS_MOST, &number))
        return model_say_error(m, "an expert schedule has a number, 1 is the best",
                               str_starts(arg, "target=") ? "isa cuda, then expert" : "expert 2");
    struct arena *a = arena_new();
    bool ok = choose(m, a, (int)number, &e);
    if (!ok)
        model_error(m, &e);
    arena_free(a);
    return ok;
}
