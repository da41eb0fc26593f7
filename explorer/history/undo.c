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

/* --- What a change would lose ----------------------------------------------------------------- */

/* Whether a state from `young` (included) back to `old` (excluded) was measured. */
static bool has_measured(const struct history *h, int young, int old)
{
    for (int id = young; id != old; id = h->states.data[id]->parent)
        if (h->states.data[id]->measured)
            return true;
    return false;
}

/* Returns the number of steps on the way to a state. */
static int depth_of(const struct history *h, int state)
{
    int n = 0;
    for (; state > 0; state = h->states.data[state]->parent)
        n++;
    return n;
}

/* Whether state `twin` has numbers of the same kind as state `old` has, which are as good. */
static bool covers(const struct history *h, int twin, int old)
{
    const struct measurement *t = h->states.data[twin]->measured;
    const struct measurement *m = h->states.data[old]->measured;
    for (int i = 0; i < h->others.len; i++)
        if (h->others.data[i].state == old)
            return false;
    return !m || (t && t->outcome == m->outcome && measurement_same_way(t, m)
                  && (t->latency.runs > 0) == (m->latency.runs > 0)
                  && t->latency.min_ms <= m->latency.min_ms
                  && t->sim.available >= m->sim.available);
}

/* Whether the way to state `twin` has the same steps as the way to `old`, and numbers that cover
 * its numbers. */
static bool is_twin(const struct history *h, int old, int twin)
{
    for (; old != twin; old = h->states.data[old]->parent, twin = h->states.data[twin]->parent)
        if (old == 0 || twin == 0 || !streq(h->states.data[old]->step, h->states.data[twin]->step)
            || !covers(h, twin, old))
            return false;
    return true;
}

/* Whether a branch with this tip leads to `old`, or to a twin of it. */
static bool branch_has(const struct history *h, int tip, int old)
{
    int twin = tip;
    for (int n = depth_of(h, tip) - depth_of(h, old); n > 0; n--)
        twin = h->states.data[twin]->parent;
    return is_twin(h, old, twin);
}

bool history_precious(const struct history *h, int old, int below)
{
    for (int i = 0; i < h->branches.len; i++)
        if (i != h->current && branch_has(h, h->branches.data[i].tip, old))
            return false;
    return has_measured(h, old, below);
}

/* --- One undo or redo ------------------------------------------------------------------------- */

/* Whether b's current state is the one that a change left. Undone steps may follow this state. */
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

/* Undoes the last change of a past step. A redo of the change brings back the undone steps that
 * came after the change. */
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

/* Returns the state after b's current one; -1: the current one is the last. */
static int next_state(const struct history *h, const struct branch *b)
{
    int id = b->tip;
    while (id != b->at && h->states.data[id]->parent != b->at)
        id = h->states.data[id]->parent;
    return id == b->at ? -1 : id;
}

/* Whether a `goto` has moved b back: b's current state lies before x->after.at, the current state
 * right after change x, and x->after.at is still on b. */
static bool is_behind(const struct history *h, const struct branch *b, const struct past_change *x)
{
    return streq(x->branch, b->name) && b->at != x->after.at
        && history_leads(h, b->at, x->after.at) && history_leads(h, x->after.at, b->tip);
}

bool history_is_behind(struct history *h)
{
    return h->n_done > 0 && is_behind(h, history_here(h), &h->changes.data[h->n_done - 1]);
}

/* Undoes one thing on branch b.  If b's current state is the one that the last change left: undoes
 * the change.  If it is an earlier one, because of a `goto`: goes to the state that the change
 * left. Else: goes one step back.  b, done: the current branch and &h->n_done; or copies of both,
 * for a trial that changes nothing in h.  Returns false if there is nothing to undo. */
static bool undo_one(struct history *h, struct branch *b, int *done)
{
    const struct past_change *x = *done ? &h->changes.data[*done - 1] : NULL;
    int parent = h->states.data[b->at]->parent;
    bool change = x && ends_with(h, b, x);
    if (change && b == history_here(h)) {
        take_back(h);
    } else if (change) {
        stand(b, &x->before);
        --*done;
    } else if (x && is_behind(h, b, x)) {
        b->at = x->after.at;
        return true;
    } else if (parent >= 0) {
        b->at = parent;
    }
    return change || parent >= 0;
}

static bool redo_one(struct history *h, struct branch *b, int *done)
{
    const struct past_change *x = *done < h->changes.len ? &h->changes.data[*done] : NULL;
    int next = next_state(h, b);
    bool change = x && begins_with(b, x);
    if (change && b == history_here(h)) {
        repeat(h);
    } else if (change) {
        stand(b, &x->after);
        ++*done;
    } else if (next >= 0) {
        b->at = next;
    }
    return change || next >= 0;
}

/* --- Several ---------------------------------------------------------------------------------- */

typedef bool move_one(struct history *h, struct branch *b, int *done);

/* Returns how many of n undos or redos are possible. */
static int possible(struct history *h, int n, move_one *one)
{
    struct branch b = *history_here(h);
    int done = h->n_done, k = 0;
    while (k < n && one(h, &b, &done))
        k++;
    return k;
}

/* Sets h->said: what n undos or redos did.  done: h->n_done before them.  from: the current state
 * before them. */
static void say_moved(struct history *h, const char *did, int n, int done, int from)
{
    int len, at, changes = abs(h->n_done - done);
    const int *path = history_path(h, h->current, &len, &at);
    int step = did[0] == 'r' ? at : at + 1;
    if (n == 1 && changes == 1)
        return;                           /* take_back or repeat has set h->said */
    h->said_at = 0;
    if (n == 1 && did[0] == 'u' && history_leads(h, from, path[at]))
        h->said = arena_printf(h->arena, "went back to step %d; the next undo reverts: %s", at,
                               h->changes.data[h->n_done - 1].what);
    else if (n == 1)
        h->said = arena_printf(h->arena, "%s step %d: %s", did, step,
                               h->states.data[path[step]]->step);
    else if (changes == 0)
        h->said = arena_printf(h->arena, "%s %d steps; this is step %d", did, n, at);
    else if (changes == n)
        h->said = arena_printf(h->arena, "%s %d changes; this is step %d", did, n, at);
    else
        h->said = arena_printf(h->arena, "%s %d change%s and %d step%s; this is step %d", did,
                               changes, plural(changes), n - changes, plural(n - changes), at);
}

/* Undoes or redoes n times.  Refuses if only `most` < n times are possible. */
static bool move_all(struct history *h, int n, int most, move_one *one, struct err *e)
{
    int done = h->n_done, from = history_here(h)->at;
    bool redo = one == redo_one;
    if (n > most) {
        err_set(e, ERR_RANGE, "only %d step%s can be %s, not %d", most, plural(most),
                redo ? "redone" : "undone", n);
        return err_fix(e, "%s %d", redo ? "redo" : "undo", most);
    }
    for (int i = 0; i < n; i++)
        one(h, history_here(h), &h->n_done);
    say_moved(h, redo ? "redid" : "undid", n, done, from);
    return true;
}

bool history_undo(struct history *h, int n, struct err *e)
{
    int most = possible(h, n, undo_one);
    if (!check_count(n, "undo", e))
        return false;
    if (most > 0)
        return move_all(h, n, most, undo_one, e);
    err_set(e, ERR_RANGE, "there is nothing to undo: no step is applied");
    return err_fix(e, possible(h, 1, redo_one) ? "redo goes forward again"
                                               : "apply a step first, see help");
}

bool history_redo(struct history *h, int n, struct err *e)
{
    int most = possible(h, n, redo_one);
    if (!check_count(n, "redo", e))
        return false;
    if (most > 0)
        return move_all(h, n, most, redo_one, e);
    err_set(e, ERR_RANGE, "there is nothing to redo: this is the last step of branch %s",
            history_here(h)->name);
    return err_fix(e, "undone steps that were measured are on a branch NAME~1 after a new step");
}
