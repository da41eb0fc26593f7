/* The comparisons: the marked state and the current one, timed in turns (compare); the step between
 * these two that changes the time most (bisect); and the current schedule with each of its steps
 * left out in turn (ablate). */
#include "app/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void model_compare_forget(struct model *m)
{
    struct marking *k = &m->marking;
    job_pair_free(k->pair);
    ablation_free(k->ablation);
    str_free(&k->found);
    /* The number is kept, so that the result of a job that still runs is not mistaken for a new
     * one. */
    *k = (struct marking){ .state = -1, .number = k->number };
}

void model_compare_outdate(struct model *m)
{
    struct marking *k = &m->marking;
    int state = k->state, what = k->what == MARKING_ABLATION ? COMPARE_NEST : k->what;
    const char *branch = k->branch;
    model_compare_forget(m);
    k->state = state;
    k->branch = branch;
    k->what = what;
}

/* --- The mark --------------------------------------------------------------------------------- */

/* Returns the state that an argument BRANCH@STEP names, and sets *branch to the name of the branch.
 * -1: there is no such state. */
static int state_of_branch(const struct history *h, const char *arg, const char **branch)
{
    const char *step = strrchr(arg, '@');
    long long number;
    int n, at;
    for (int b = 0; step && b < history_n_branches(h); b++) {
        const char *name = history_branch(h, b)->name;
        const int *path = history_path(h, b, &n, &at);
        if (strlen(name) == (size_t)(step - arg) && str_starts(arg, name)
            && str_to_int64(step + 1, 0, n - 1, &number)) {
            *branch = name;
            return path[number];
        }
    }
    return -1;
}

/* Returns the state that `arg` names: the number of a step of this branch, a branch, a step of a
 * branch (main@3), or the current state (""); -1 with a message.  Sets *branch to the name of the
 * branch in arg, or to NULL. */
static int named_state(struct model *m, const char *arg, const char **branch)
{
    const struct history *h = m->session->history;
    long long number;
    struct err e;
    int n, at;
    *branch = NULL;
    int of_branch = state_of_branch(h, arg, branch);
    if (of_branch >= 0)
        return of_branch;
    if (!arg[0])
        return history_current(h)->id;
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    if (str_to_int64(arg, 0, n - 1, &number))
        return path[number];
    int b = history_branch_find(h, arg, &e);
    if (b >= 0) {
        *branch = history_branch(h, b)->name;
        return history_branch(h, b)->at;
    }
    if (strspn(arg, "0123456789") == strlen(arg)) {
        err_set(&e, ERR_NAME, "this branch has no step %.20s", arg);
        err_fix(&e, n > 1 ? "its last one is %d" : "it has no steps yet", n - 1);
    }
    model_error(m, &e);
    return -1;
}

/* Appends "tiled, step 3 of 7".  Returns false if branch b does not have this state. */
static bool name_on_branch(const struct history *h, int b, int state, struct str *out)
{
    int n, at;
    const int *path = history_path(h, b, &n, &at);
    for (int i = 0; i < n; i++)
        if (path[i] == state) {
            str_printf(out, "%s, step %d of %d", history_branch(h, b)->name, i, n - 1);
            return true;
        }
    return false;
}

void model_state_name(const struct model *m, int state, bool marked, struct str *out)
{
    const struct history *h = m->session->history;
    struct err ignored;
    const char *name = marked ? m->marking.branch : NULL;
    int b = name ? history_branch_find(h, name, &ignored) : -1, n = history_n_branches(h);
    bool named = b >= 0 && name_on_branch(h, b, state, out);
    for (int k = 0; k < n && !named; k++)
        named = name_on_branch(h, (history_branch_index(h) + k) % n, state, out);
    if (!named)
        str_add(out, "a state that no branch has any more");
}

/* If a branch is marked and its current step is not its last one, appends " (last: main@9)". */
static void add_last_step(const struct history *h, const char *branch, int state, struct str *out)
{
    struct err ignored;
    int b = branch ? history_branch_find(h, branch, &ignored) : -1, n = 0, at;
    const int *path = b >= 0 ? history_path(h, b, &n, &at) : NULL;
    if (path && state == history_branch(h, b)->at && path[n - 1] != state)
        str_printf(out, " (last: %s@%d)", branch, n - 1);
}

bool model_mark(struct model *m, const char *arg)
{
    struct marking *k = &m->marking;
    const char *branch = NULL;
    int state = streq(arg, "off") ? -1 : named_state(m, arg, &branch);
    if (state < 0 && !streq(arg, "off"))
        return false;
    bool off = state < 0 || state == k->state;
    model_compare_forget(m);
    m->data_stamp++;
    if (off) {
        model_info(m, "nothing is marked");
        return true;
    }
    k->state = state;
    k->branch = branch;
    int now = history_current(m->session->history)->id;
    bool one = history_leads(m->session->history, state, now)
            || history_leads(m->session->history, now, state);
    struct str name = {0};
    model_state_name(m, state, true, &name);
    add_last_step(m->session->history, branch, state, &name);
    if (state == now)
        model_info(m, "marked %s, where you are; go to another step or branch, then = compares it "
                   "with this one", str_text(&name));
    else
        model_info(m, "marked %s; = compares it with the current %s", str_text(&name),
                   one ? "step, :bisect finds the step in between that matters most" : "branch");
    str_free(&name);
    return true;
}

/* --- Commands --------------------------------------------------------------------------------- */

static void want(struct model *m, enum job_kind kind)
{
    struct marking *k = &m->marking;
    k->wanted = true;
    k->job = kind;
    k->number++;
    k->from = k->state;
    k->to = history_current(m->session->history)->id;
    m->data_stamp++;
}

bool model_pair_fits(const struct model *m)
{
    const struct marking *k = &m->marking;
    return k->pair && k->pair_of[0] == k->state
        && k->pair_of[1] == history_current(m->session->history)->id;
}

/* Marks the branch or state `name`, to compare it with the current state.  If this state is
 * marked already, keeps the mark.  False with a message. */
static bool compare_branch(struct model *m, const char *name)
{
    const struct history *h = m->session->history;
    for (int i = 0; i < history_n_branches(h); i++) {
        if (!streq(history_branch(h, i)->name, name))
            continue;
        if (i == history_branch_index(h))
            return model_say_error(m, "this is the current branch", "compare takes another one");
        if (history_branch(h, i)->at != m->marking.state)
            return model_mark(m, name);
        m->marking.branch = history_branch(h, i)->name;
        return true;
    }
    const char *branch = NULL;
    if (!strchr(name, '@') && name[strspn(name, "0123456789")])
        return model_say_error(m, "there is nothing of that name to compare",
                               "a step (3), a branch, a step of one (main@3), or nest, c, asm or "
                               "ablation");
    int state = named_state(m, name, &branch);
    if (state < 0 || state != m->marking.state)
        return state >= 0 && model_mark(m, name);
    m->marking.branch = branch;           /* model_mark would take the mark away */
    return true;
}

bool model_compare_shown(const struct model *m)
{
    return m->session && m->focus == PANE_SIDE && m->view[PANE_SIDE] == VIEW_COMPARE;
}

#define DIFFERENCE_BELOW 3                /* rows above a difference that was gone to */

/* Moves the cursor to the next difference in this direction. */
static bool go_to_difference(struct model *m, int direction)
{
    struct pane_doc *p = &m->pane[VIEW_COMPARE];
    bool texts = model_compare_shown(m) && m->marking.what != MARKING_ABLATION
              && m->marking.state >= 0;
    int n = p->doc.lines.len, i = p->scroll.cursor + direction;
    while (texts && i >= 0 && i < n && p->doc.lines.data[i].id < 0)
        i += direction;
    if (!texts || i < 0 || i >= n)
        return model_say_error(m, texts ? direction > 0 ? "there is no difference below"
                               : "there is no difference above" : "no texts are compared here",
                               texts ? "" : "Space marks a state, = compares with it");
    p->scroll.cursor = i;
    p->scroll.top = i > DIFFERENCE_BELOW ? i - DIFFERENCE_BELOW : 0;
    return true;
}

bool model_compare(struct model *m, const char *arg)
{
    struct marking *k = &m->marking;
    if (streq(arg, "difference") || streq(arg, "back"))
        return go_to_difference(m, arg[0] == 'd' ? 1 : -1);
    int found = strcaseeq(arg, "ablation") ? MARKING_ABLATION : -1;
    for (int i = 0; i < COMPARE_OF_COUNT; i++)
        if (strcaseeq(arg, compare_of_name[i]))
            found = i;
    if (streq(arg, "next") && k->state < 0)
        return model_say_error(m, "no state is marked to compare with",
                               "Space on a step marks it; in B, on a branch");
    if (streq(arg, "next"))
        found = (k->what + 1) % (k->ablation ? MARKING_ABLATION + 1 : MARKING_ABLATION);
    if (arg[0] && found < 0) {
        if (!compare_branch(m, arg))
            return false;
        model_clear_message(m);           /* the message of model_mark about the key = */
    }
    bool old = k->ablation && k->ablated != history_current(m->session->history)->id;
    if (found >= 0)
        k->what = found;
    else if (k->what == MARKING_ABLATION && (k->state >= 0 || old))
        k->what = COMPARE_NEST;           /* the comparison is asked for, not the ablation */
    bool shown = model_compare_shown(m), fits = model_pair_fits(m);
    bool again = shown && !arg[0] && fits;
    if (!shown || found >= 0 || !fits)
        m->pane[VIEW_COMPARE].scroll = (struct scroll){0};
    model_show_view(m, VIEW_COMPARE);
    m->data_stamp++;
    bool same = k->state == history_current(m->session->history)->id;
    if (k->what != MARKING_ABLATION && k->state >= 0 && !same && !k->wanted
        && (again || !fits))
        want(m, JOB_COMPARE);
    return true;
}

/* Finds the two states of `bisect [STEP [STEP]]`, unless `arg` names them: the first is the marked
 * state, or the operator without steps if none is marked, and the second is the current state. */
static bool two_states(struct model *m, const char *arg, int state[2])
{
    const char *branch, *second = arg + strcspn(arg, " ");
    char first[64];
    snprintf(first, sizeof first, "%.*s", (int)(second - arg), arg);
    second += strspn(second, " ");
    state[0] = arg[0] ? named_state(m, first, &branch)
             : m->marking.state >= 0 ? m->marking.state : 0;
    state[1] = named_state(m, second, &branch);
    return state[0] >= 0 && state[1] >= 0;
}

/* Refuses to bisect between two states, because neither leads to the other.  If state[1] is the
 * current state, the fix is to bisect the steps of this branch that state[0] does not have. */
static bool refuse_other_branch(struct model *m, const char *what, const int state[2])
{
    const struct history *h = m->session->history;
    if (state[1] != history_current(h)->id)
        return model_say_error(m, "bisect takes two steps of one branch, and neither of these "
                               "leads to the other", "bisect 2 7 takes two steps of this branch");
    struct str s = {0}, fix = {0};
    int n, at, shared = 0;
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    while (shared + 1 < n && history_leads(h, path[shared + 1], state[0]))
        shared++;
    str_printf(&s, "bisect takes two steps of one branch, and the %s one is not on this branch",
               what);
    str_printf(&fix, "bisect %d %d takes this branch's steps since it left the other one; = "
               "compares the two states", shared, at);
    model_say_error(m, str_text(&s), str_text(&fix));
    str_free(&s);
    str_free(&fix);
    return false;
}

bool model_bisect(struct model *m, const char *arg)
{
    const struct history *h = m->session->history;
    struct marking *k = &m->marking;
    const char *what = arg[0] ? "first" : "marked";
    int state[2];
    if (!two_states(m, arg, state))
        return false;
    bool before = history_leads(h, state[0], state[1]);
    if (state[0] == state[1])
        return model_say_error(m, arg[0] || k->state < 0
                               ? "bisect takes two steps, and these are the same"
                               : "bisect takes two steps of one branch, and the current step is "
                               "the marked one", "go to another step of this branch, or "
                               "bisect 2 7");
    if (!before && !history_leads(h, state[1], state[0]))
        return refuse_other_branch(m, what, state);
    want(m, JOB_BISECT);
    k->from = state[!before];
    k->to = state[before];
    model_info(m, "bisecting the steps between them; Esc cancels");
    return true;
}

bool model_ablate(struct model *m)
{
    if (model_program(m)->n_steps == 0)
        return model_say_error(m, "there is no step to leave out", "apply steps first");
    m->marking.what = MARKING_ABLATION;
    model_show_view(m, VIEW_COMPARE);
    want(m, JOB_ABLATE);
    model_info(m, "timing the schedule without each step; Esc cancels");
    return true;
}

bool model_compare_cancel(struct model *m)
{
    struct marking *k = &m->marking;
    if (!k->wanted)
        return false;
    k->wanted = false;
    m->data_stamp++;
    model_info(m, "cancelled; nothing was compared");
    return true;
}

/* --- Jobs ------------------------------------------------------------------------------------- */

static const struct program *program_of(const struct model *m, int state)
{
    return history_state(m->session->history, state)->program;
}

void model_compare_job(const struct model *m, struct app_job *j)
{
    const struct marking *k = &m->marking;
    if (j->kind == JOB_COMPARE)
        j->other = job_recipe(program_of(m, k->from));
    if (j->kind == JOB_BISECT)
        j->from = program_of(m, k->from)->n_steps;
}

void model_compared(struct model *m, struct app_job *j, int number)
{
    struct marking *k = &m->marking;
    if (!k->wanted || number != k->number || (!j->ok && j->e.code == ERR_CANCEL))
        return;
    k->wanted = false;
    if (!j->ok) {
        model_error(m, &j->e);
    } else if (j->kind == JOB_COMPARE) {
        job_pair_free(k->pair);
        k->pair = j->pair;
        j->pair = NULL;
        k->pair_of[0] = k->from;
        k->pair_of[1] = k->to;
    } else if (j->kind == JOB_BISECT) {
        str_clear(&k->found);
        j->bisection.step = ablation_step_number(m->session->history, k->to,
                                                 j->bisection.step);
        bisect_print(&k->found, &j->bisection);
        k->found_of[0] = k->from;
        k->found_of[1] = k->to;
        /* a refused line stays: the comparison shows what was found, too */
        if (!m->prompt.open || m->message.kind != MESSAGE_ERROR) {
            model_echo(m, "bisect");
            model_info(m, "%s", str_text(&k->found));
        }
    } else {
        ablation_free(k->ablation);
        k->ablation = j->ablation;
        k->ablated = k->to;
        j->ablation = NULL;
        for (int i = 0; i < k->ablation->n; i++)
            k->ablation->row[i].step = ablation_step_number(m->session->history, k->to,
                                                           i + 1);
        model_info(m, "every step was left out once");
    }
}
