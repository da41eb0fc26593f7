/* Undo and redo of steps, and of changes of past steps (rebase.c). */
#include "explorer/history/history_impl.h"

#include <stdlib.h>

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

static bool check_count(int n, const char *what, struct err *e)
{
    if (n >= 1)
        return true;
    err_set(e, ERR_RANGE, "cannot %s %d steps: the number must be 1 or more", what, n);
    return err_fix(e, "%s 1", what);
}

const char *history_said(const struct history *h)
{
    return h->said ? h->said : "";
}

int history_said_at(const struct history *h)
{
    return h->said_at;
}

/* --- One undo or redo ------------------------------------------------------------------------- */

/* Whether b is as a change left it, or the steps that came after the change are undone. */
static bool ends_with(const struct history *h, const struct branch *b, const struct past_change *x)
{
    return streq(x->branch, b->name) && b->at == x->after.at
        && history_leads(h, x->after.tip, b->tip);
}

/* Whether b is as it was before a change. */
static bool begins_with(const struct branch *b, const struct past_change *x)
{
    return streq(x->branch, b->name) && b->tip == x->before.tip && b->at == x->before.at;
}

static void stand(struct branch *b, const struct branch *as)
{
    b->tip = as->tip;
    b->at = as->at;
}

/* Undoes the last change of a past step. Steps that came after it, and are undone, come back with a
 * redo of the change. */
static void take_back(struct history *h)
{
    struct past_change *x = &h->changes.data[h->n_done - 1];
    struct err ignored;
    x->after.tip = history_here(h)->tip;
    stand(history_here(h), &x->before);
    h->said = arena_printf(h->arena, "undid: %s", x->what);
    h->said_at = x->at;
    int kept = x->kept ? history_branch_find(h, x->kept, &ignored) : -1;
    if (kept >= 0 && h->branches.data[kept].tip == x->before.tip)
        history_branch_delete(h, x->kept, &ignored);
    h->n_done--;
}

/* Repeats the change that was taken back last. */
static void repeat(struct history *h)
{
    struct past_change *x = &h->changes.data[h->n_done];
    if (x->kept)
        x->kept = history_keep(h, x->before.tip, x->before.at);
    stand(history_here(h), &x->after);
    h->said = arena_printf(h->arena, "redid: %s%s%s%s", x->what,
                           x->kept ? "; the measured steps from before are branch " : "",
                           x->kept ? x->kept : "", x->kept ? " again" : "");
    h->said_at = x->to;
    h->n_done++;
}

/* Returns the state after b's current one; -1: that is the last one. */
static int next_state(const struct history *h, const struct branch *b)
{
    int id = b->tip;
    while (id != b->at && h->states.data[id]->parent != b->at)
        id = h->states.data[id]->parent;
    return id == b->at ? -1 : id;
}

/* --- Several ---------------------------------------------------------------------------------- */

/* Moves the copy b of the current branch as n undos would, at most. *done: how many changes are
 * done before and after. Returns how many of the n are possible. */
static int count_undos(const struct history *h, int n, struct branch *b, int *done)
{
    int k = 0;
    for (; k < n; k++) {
        const struct past_change *x = *done ? &h->changes.data[*done - 1] : NULL;
        bool change = x && ends_with(h, b, x);
        if (!change && h->states.data[b->at]->parent < 0)
            break;
        if (change)
            stand(b, &x->before);
        else
            b->at = h->states.data[b->at]->parent;
        *done -= change;
    }
    return k;
}

static int count_redos(const struct history *h, int n, struct branch *b, int *done)
{
    int k = 0;
    for (; k < n; k++) {
        const struct past_change *x = *done < h->changes.len ? &h->changes.data[*done] : NULL;
        bool change = x && begins_with(b, x);
        int next = change ? -1 : next_state(h, b);
        if (!change && next < 0)
            break;
        if (change)
            stand(b, &x->after);
        else
            b->at = next;
        *done += change;
    }
    return k;
}

/* Says what n undos or redos did. done: the number of changes done before. */
static void say_moved(struct history *h, const char *did, int n, int done)
{
    int len, at, changes = abs(h->n_done - done);
    const int *path = history_path(h, h->current, &len, &at);
    bool redo = did[0] == 'r';
    if (n == 1 && changes == 1)
        return;                           /* take_back and repeat say it */
    h->said_at = 0;
    if (n == 1)
        h->said = arena_printf(h->arena, "%s step %d: %s", did, redo ? at : at + 1,
                               h->states.data[path[redo ? at : at + 1]]->step);
    else if (changes == 0)
        h->said = arena_printf(h->arena, "%s %d steps; this is step %d", did, n, at);
    else if (changes == n)
        h->said = arena_printf(h->arena, "%s %d changes; this is step %d", did, n, at);
    else
        h->said = arena_printf(h->arena, "%s %d change%s and %d step%s; this is step %d", did,
                               changes, plural(changes), n - changes, plural(n - changes), at);
}

static void one_undo(struct history *h)
{
    struct branch *b = history_here(h);
    if (h->n_done && ends_with(h, b, &h->changes.data[h->n_done - 1]))
        take_back(h);
    else
        b->at = h->states.data[b->at]->parent;
}

static void one_redo(struct history *h)
{
    struct branch *b = history_here(h);
    if (h->n_done < h->changes.len && begins_with(b, &h->changes.data[h->n_done]))
        repeat(h);
    else
        b->at = next_state(h, b);
}

bool history_undo(struct history *h, int n, struct err *e)
{
    struct branch b = *history_here(h);
    int done = h->n_done;
    if (!check_count(n, "undo", e))
        return false;
    int most = count_undos(h, n, &b, &done);
    if (most == 0) {
        err_set(e, ERR_RANGE, "there is nothing to undo: no step is applied");
        return err_fix(e, b.at != b.tip ? "redo goes forward again"
                                        : "apply a step first, see help");
    }
    if (n > most) {
        err_set(e, ERR_RANGE, "only %d step%s can be undone, not %d", most, plural(most), n);
        return err_fix(e, "undo %d", most);
    }
    done = h->n_done;
    for (int i = 0; i < n; i++)
        one_undo(h);
    say_moved(h, "undid", n, done);
    return true;
}

bool history_redo(struct history *h, int n, struct err *e)
{
    struct branch b = *history_here(h);
    int done = h->n_done;
    if (!check_count(n, "redo", e))
        return false;
    int most = count_redos(h, n, &b, &done);
    if (most == 0) {
        err_set(e, ERR_RANGE, "there is nothing to redo: this is the last step of branch %s",
                b.name);
        return err_fix(e,
                       "undone steps that were measured are on a branch NAME~1 after a new step");
    }
    if (n > most) {
        err_set(e, ERR_RANGE, "only %d step%s can be redone, not %d", most, plural(most), n);
        return err_fix(e, "redo %d", most);
    }
    done = h->n_done;
    for (int i = 0; i < n; i++)
        one_redo(h);
    say_moved(h, "redid", n, done);
    return true;
}
