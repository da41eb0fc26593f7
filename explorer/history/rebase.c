#include "explorer/history/rebase.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "explorer/history/history_impl.h"
#include "explorer/history/rename.h"


/* A step of the branch after the change.  `was`: the state that the step made before the change;
 * -1: the step is new. */
struct rebase_item { const char *text; int was; };

struct replay {
    struct history *h;
    const struct rebase *change;
    VEC(struct rebase_item) items;
    int first;                            /* number of the first changed item, from 1 */
    /* at: the current state before the change; last: the state that gets the next step */
    int at, last;
    int new_at;                           /* the state that replaces `at`; -1: not made yet */
    int number;                           /* number of the step that is replayed now */
    struct rebased did;
    struct err *e;
};

const struct rebased *history_rebased(const struct history *h)
{
    return &h->rebased;
}

/* --- The list of steps ------------------------------------------------------------------------ */

static bool check_number(const struct history *h, int number, int most, struct err *e)
{
    if (number >= 1 && number <= most)
        return true;
    const char *branch = h->branches.data[h->current].name;
    if (number == 0)
        err_set(e, ERR_RANGE, "step 0 is the operator as given: it cannot be changed");
    else
        err_set(e, ERR_RANGE, "branch %s has no step %d", branch, number);
    return most > 0 ? err_fix(e, "use 1 to %d", most) : err_fix(e, "apply a step first");
}

/* Refuses a move of an applied step to the undone ones, or of an undone step to the applied ones,
 * because the set of applied steps would change.  at: the number of applied steps. */
static bool check_move(const struct rebase *c, int at, struct err *e)
{
    if (c->kind != REBASE_MOVE || (c->at <= at) == (c->to <= at))
        return true;
    err_set(e, ERR_STEP, "step %d is %s, and the move would %s", c->at,
            c->at <= at ? "applied" : "undone",
            c->at <= at ? "undo it: the steps after it are undone" : "apply it");
    return err_fix(e, "redo the undone steps first, or apply another step, which drops them");
}

/* Fills r->items with the steps in their order after the change.  Sets `first`, `at` and `last`. */
static bool list_items(struct replay *r, struct err *e)
{
    const struct rebase *c = r->change;
    int n, at;
    const int *path = history_path(r->h, r->h->current, &n, &at);
    bool inserts = c->kind == REBASE_INSERT, edits = c->kind == REBASE_EDIT;
    int place = edits && c->to ? c->to : c->at;           /* number of the new step */
    if (!check_number(r->h, c->at, n - 1 + inserts, e)
        || (c->kind == REBASE_MOVE && !check_number(r->h, c->to, n - 1, e))
        || !check_move(c, at, e))
        return false;
    for (int i = 1; i < n; i++) {
        struct rebase_item x = { r->h->states.data[path[i]]->step, path[i] };
        if (i == place && (inserts || edits))
            vec_push(&r->items, (struct rebase_item){ c->line, -1 });
        if (i != c->at || inserts)
            vec_push(&r->items, x);
    }
    if (c->at == n)
        vec_push(&r->items, (struct rebase_item){ c->line, -1 });
    if (c->kind == REBASE_MOVE) {
        struct rebase_item moved = { r->h->states.data[path[c->at]]->step, path[c->at] };
        vec_push(&r->items, moved);
        memmove(r->items.data + c->to, r->items.data + c->to - 1,
                (size_t)(r->items.len - c->to) * sizeof *r->items.data);
        r->items.data[c->to - 1] = moved;
    }
    r->first = c->kind == REBASE_MOVE && c->to < c->at ? c->to : place;
    r->at = path[at];
    r->last = path[r->first - 1];
    return true;
}

/* --- Replaying -------------------------------------------------------------------------------- */

/* Returns the inner loop of a split step s that divides nothing: its outer loop has only one
 * iteration.  NULL: the split divides its loop, or s is another step. */
static const struct axis *whole_loop(const struct program *p, const struct step *s)
{
    char outer[64];
    int node = s->kind == STEP_LOOP_SPLIT ? program_stage(p, s->target) : -1;
    if (node < 0 || s->n_args < 2)
        return NULL;
    snprintf(outer, sizeof outer, "%s.0", s->arg[0].text);
    int at = stage_axis(p->stage[node], outer);
    bool one = at >= 0 && p->stage[node]->axis[at].extent == 1;
    return one && at + 1 < p->stage[node]->n_axes ? &p->stage[node]->axis[at + 1] : NULL;
}

/* If a split divided its loop before the change, but no longer does: appends a note and returns
 * true. */
static bool note_idle_split(const struct state *s, const struct state *old, const struct step *step,
                            struct arena *a, struct str *out)
{
    const struct step *was;
    struct err ignored;
    const struct axis *whole = whole_loop(s->program, step);
    if (!whole || !step_parse(a, old->step, &was, &ignored) || whole_loop(old->program, was))
        return false;
    str_printf(out, "it divides nothing now: %s has %lld iterations", step->arg[0].text,
               (long long)whole->extent);
    return true;
}

static void count_step(int *n, int at[REBASED_LISTED], int number)
{
    if (*n < REBASED_LISTED)
        at[*n] = number;
    (*n)++;
}

/* Sets the note of the last state if names in its step now mean other loops, or if its split no
 * longer divides anything.  Otherwise the state takes the note of `old`, which it replaces. */
static void note_other_loops(struct replay *r, const struct state *old, const char *text)
{
    struct state *s = r->h->states.data[r->last];
    const struct step *step;
    struct str note = {0};
    struct err ignored;
    struct arena *a = r->h->arena;
    s->note = old->note;
    if (!s->held && !old->held && step_parse(a, text, &step, &ignored)
        && ((streq(text, old->step)
             && rename_other_loops(a, r->h->states.data[old->parent]->program,
                                   r->h->states.data[s->parent]->program, step, &note))
            || note_idle_split(s, old, step, a, &note))) {
        s->note = arena_strdup(a, str_text(&note));
        count_step(&r->did.other, r->did.other_at, r->number);
    }
    str_free(&note);
}

static void add_state(struct replay *r, const char *text, const struct program *p,
                      const char *held, int was)
{
    const struct state *old = r->h->states.data[was];
    const char *origin = old->origin ? old->origin : old->step;
    r->last = history_add(r->h, r->last, text, p, held);
    r->h->states.data[r->last]->origin = streq(origin, text) ? NULL : origin;
    note_other_loops(r, old, text);
    if (old->held && !held)
        count_step(&r->did.again, r->did.again_at, r->number);
    history_recall(r->h, r->last);
    if (was == r->at)
        r->new_at = r->last;
}

/* Returns the reason why a step is held: that a loop is gone, or *own, the error of its own text.
 * If several renamed lines apply (n > 1), the reason goes on with the first few of them; else with
 * *renamed, the error of a renamed line, or with the fix of *own in parentheses (read by the key
 * that repairs the step, app/model). */
static const char *why_held(struct arena *a, const struct program *p, const struct step *step,
                            const struct err *own, const struct err *renamed, int n,
                            const char *const *line)
{
    const char *gone = n == 0 ? rename_why_gone(a, p, step, own) : NULL;
    struct str s = {0};
    if (gone)
        return gone;
    str_add(&s, own->text);
    if (n > 1)
        str_add(&s, "; it could be ");
    for (int i = 0; n > 1 && i < n && i < 4; i++)
        str_printf(&s, "%s`%s`", i ? " or " : "", line[i]);
    if (n <= 1 && !str_ends(renamed->text, own->text))
        str_printf(&s, "; %s", renamed->text);
    else if (n == 0 && (own->code == ERR_STEP || own->code == ERR_NAME) && own->fix[0])
        str_printf(&s, " (%s)", own->fix);
    const char *why = arena_strdup(a, str_text(&s));
    str_free(&s);
    return why;
}

/* Refuses a move after which a step (the moved one or a later one) does not apply.  why: the error
 * of that step. */
static bool refuse_move(struct replay *r, const char *text, const struct err *why)
{
    err_set(r->e, ERR_STEP, "`%.200s`, which would then be step %d, would not apply: %.400s",
            text, r->number, why->text);
    return err_fix(r->e, "%s%sa move must leave every other step legal; use e (edit) or d (drop) "
                   "instead", why->fix, why->fix[0] ? "; " : "");
}

/* Applies a step that the branch already had: its text, or the text that it had before it was
 * renamed, or a renamed text if exactly one applies.  Holds the step if none of these applies.
 * In a move, tries no renamed text, and fails if the text of an applied step does not apply. */
static bool replay_step(struct replay *r, const struct rebase_item *x)
{
    struct arena *a = r->h->arena;
    const struct program *p = r->h->states.data[r->last]->program, *next;
    const struct step *s;
    struct err own, why, ignored;
    const char *line[RENAMES_MAX];
    bool was_held = r->h->states.data[x->was]->held != NULL;
    if (!step_parse(a, x->text, &s, r->e))
        return false;
    bool moved = r->change->kind == REBASE_MOVE && r->number == r->change->to;
    r->did.replayed += !moved;
    if (program_apply(p, s, &next, &own)) {
        add_state(r, s->text, next, NULL, x->was);
        return true;
    }
    if (r->change->kind == REBASE_MOVE && !was_held)
        return refuse_move(r, x->text, &own);
    const char *origin = r->h->states.data[x->was]->origin;
    why = own;
    int n = r->change->kind == REBASE_MOVE ? 0 : rename_step(a, p, s, line, &why);
    if (origin && program_apply_line(p, origin, &next, &ignored)) {
        r->did.renamed++;                 /* back to its own name */
        add_state(r, origin, next, NULL, x->was);
        return true;
    }
    if (n == 1 && program_apply_line(p, line[0], &next, &ignored)) {
        r->did.renamed++;
        add_state(r, line[0], next, NULL, x->was);
        return true;
    }
    count_step(&r->did.held, r->did.held_at, r->number);
    add_state(r, s->text, p, why_held(a, p, s, &own, &why, n, line), x->was);
    return true;
}

/* Applies the new step, which must be legal. */
static bool apply_new(struct replay *r, const struct rebase_item *x)
{
    const struct step *s;
    const struct program *next;
    const struct state *before = r->h->states.data[r->last];
    if (!step_parse(r->h->arena, x->text, &s, r->e))
        return false;
    if (!program_apply(before->program, s, &next, r->e)) {
        if (!r->e->source[0])
            err_where(r->e, NULL, 0, r->e->at.col, x->text);
        return false;
    }
    r->last = history_add(r->h, r->last, s->text, next, NULL);
    history_recall(r->h, r->last);
    return true;
}

static bool replay_all(struct replay *r)
{
    for (int i = r->first - 1; i < r->items.len; i++) {
        const struct rebase_item *x = &r->items.data[i];
        r->number = i + 1;
        if (x->was < 0 ? !apply_new(r, x) : !replay_step(r, x))
            return false;
    }
    return true;
}

/* --- The branch ------------------------------------------------------------------------------- */

/* Whether the change is a move right after another move.  Only the first move of such a series
 * keeps the old steps on a branch. */
static bool moves_on(const struct history *h, enum rebase_kind kind, const struct branch *before)
{
    const struct past_change *last = h->n_done ? &h->changes.data[h->n_done - 1] : NULL;
    return kind == REBASE_MOVE && last && last->move && streq(last->branch, before->name)
        && last->after.tip == before->tip;
}

/* Returns the branch's new current state, which replaces the old one.  Without undone steps, it is
 * the last state.  After a move, as many steps are applied as before. */
static int new_place(const struct replay *r, const struct branch *before)
{
    bool move = r->change->kind == REBASE_MOVE;
    if (before->at == before->tip)
        return r->last;
    if (r->new_at >= 0 && !move)
        return r->new_at;
    int n, at;
    history_path(r->h, r->h->current, &n, &at);           /* the branch is still the old one */
    int id = r->last;
    for (int i = r->items.len; i > at - (r->change->kind == REBASE_DROP); i--)
        id = r->h->states.data[id]->parent;
    return at < r->first ? before->at : id;
}

/* Returns the change as a command line. */
static const char *line_of(struct arena *a, const struct rebase *c)
{
    if (c->kind == REBASE_MOVE)
        return arena_printf(a, "move %d %d", c->at, c->to);
    return c->kind == REBASE_DROP ? arena_printf(a, "drop %d", c->at)
         : arena_printf(a, "%s %d %s", c->kind == REBASE_EDIT ? "edit" : "insert", c->at, c->line);
}

static const char *what_of(enum rebase_kind kind)
{
    return kind == REBASE_DROP ? "dropped" : kind == REBASE_MOVE ? "moved"
         : kind == REBASE_INSERT ? "inserted" : "changed";
}

static void settle(struct replay *r)
{
    struct history *h = r->h;
    struct branch before = *history_here(h);
    int below = r->h->states.data[r->last]->id;
    for (int i = r->items.len; i >= r->first; i--)
        below = h->states.data[below]->parent;
    int at = new_place(r, &before);
    bool on = moves_on(h, r->change->kind, &before);
    const char *kept = !on && history_precious(h, before.tip, below)
                     ? history_keep(h, before.tip, before.at) : NULL;
    history_here(h)->tip = r->last;
    history_here(h)->at = at;
    r->did.kept = kept;
    r->did.at = r->change->to ? r->change->to : r->change->at;
    r->did.from = r->change->kind == REBASE_EDIT && r->change->to ? r->change->at : 0;
    r->did.what = what_of(r->change->kind);
    h->rebased = r->did;
    h->changes.len = h->n_done;
    vec_push(&h->changes, (struct past_change){ line_of(h->arena, r->change), before.name, before,
                                             *history_here(h), kept,
                                             r->change->kind == REBASE_MOVE, r->change->at,
                                             r->did.at });
    h->n_done++;
}

/* Whether an applied step is edited to the same text, or a step moved to its own place. */
static bool changes_nothing(const struct replay *r)
{
    const struct rebase *c = r->change;
    int n, at;
    const int *path = history_path(r->h, r->h->current, &n, &at);
    const struct state *s = c->at < n ? r->h->states.data[path[c->at]] : NULL;
    return c->kind == REBASE_MOVE ? c->to == c->at
         : c->kind == REBASE_EDIT && !s->held && streq(s->step, c->line);
}

static bool rebase(struct history *h, const struct rebase *change, struct err *e)
{
    struct replay r = { .h = h, .change = change, .e = e, .new_at = -1 };
    int n_states = h->states.len;
    bool ok = list_items(&r, e);
    if (ok && changes_nothing(&r)) {
        h->rebased = (struct rebased){ .at = change->at, .what = "" };
    } else if (ok) {
        ok = replay_all(&r);
        if (ok)
            settle(&r);
        else
            h->states.len = n_states;
    }
    vec_free(&r.items);
    return ok;
}

/* Returns the latest place on the current branch, at most `last` and after `set accuracy`, where
 * the step applies; 0: there is no such place.  A step that is illegal after `set accuracy` must
 * not come before it, because `set accuracy` itself would then be held. */
static int latest_place(const struct history *h, int last, const char *line)
{
    int n, at;
    struct err ignored;
    const struct step *s;
    const struct program *next;
    const int *path = history_path(h, h->current, &n, &at);
    if (!step_parse(h->arena, line, &s, &ignored) || str_starts(s->text, "set accuracy"))
        return 0;
    for (int i = last; i >= 1 && !str_starts(h->states.data[path[i]]->step, "set accuracy"); i--)
        if (program_apply(h->states.data[path[i - 1]]->program, s, &next, &ignored))
            return i;
    return 0;
}

bool history_rebase(struct history *h, const struct rebase *change, struct err *e)
{
    struct rebase c = *change;
    struct err ignored;
    if (rebase(h, &c, e))
        return true;
    /* A layout step below loop steps may apply only above them. */
    if (c.kind == REBASE_EDIT && e->code == ERR_STEP && str_starts(c.line, "layout "))
        c.to = latest_place(h, c.at - 1, c.line);
    return c.kind == REBASE_EDIT && c.to > 0 && rebase(h, &c, &ignored);
}

bool history_insert_earlier(struct history *h, const char *line, struct err *e)
{
    int n, at;
    history_path(h, h->current, &n, &at);
    int place = latest_place(h, at, line);
    if (place == 0)
        return false;
    /* like any other new step, it ends what was undone */
    int tip = history_here(h)->tip;
    bool keeps = history_keeps_undone(h);
    history_here(h)->tip = history_here(h)->at;
    if (!history_rebase(h, &(struct rebase){ REBASE_INSERT, place, 0, line }, e)) {
        history_here(h)->tip = tip;       /* looked up again: a branch may have been added */
        return false;
    }
    if (keeps)
        history_keep(h, tip, tip);
    return true;
}

bool history_apply_held(struct history *h, const char *line, const char *origin, struct err *e)
{
    const struct step *s;
    struct err own;
    if (!step_parse(h->arena, line, &s, e))
        return false;
    bool applies = history_apply(h, line, &own);
    struct branch *b = history_here(h);
    if (!applies) {
        const struct program *p = history_current(h)->program;
        const char *renamed[RENAMES_MAX];
        struct err why = own;
        int n = rename_step(h->arena, p, s, renamed, &why);
        const char *held = why_held(h->arena, p, s, &own, &why, n, renamed);
        b->at = b->tip = history_add(h, b->at, s->text, p, held);
    }
    if (origin)
        h->states.data[b->at]->origin = arena_strdup(h->arena, origin);
    return true;
}

/* Appends "6, 8)": the numbers at[from], ..., at[n - 1] of steps.  Only the first REBASED_LISTED
 * are known. */
static void print_steps(const int at[REBASED_LISTED], int from, int n, struct str *out)
{
    for (int i = from; i < n && i < REBASED_LISTED; i++)
        str_printf(out, "%s%d", i > from ? ", " : "", at[i]);
    str_add(out, n > REBASED_LISTED ? ", ...)" : ")");
}

/* Appends "; step 4: N.1 is now another loop (extent 4, was 24), and 2 later steps have another
 * effect now, too (6, 8)". */
static void print_other(const struct history *h, struct str *out)
{
    const struct rebased *did = &h->rebased;
    int n, at;
    const int *path = history_path(h, h->current, &n, &at);
    const char *note = did->other_at[0] < n ? h->states.data[path[did->other_at[0]]]->note : NULL;
    str_printf(out, "; step %d: %s", did->other_at[0], note ? note : "");
    if (did->other == 1)
        return;
    str_printf(out, ", and %d later step%s another effect now, too (", did->other - 1,
               did->other > 2 ? "s have" : " has");
    print_steps(did->other_at, 1, did->other, out);
}

/* Appends "; step 6 applies again", or "; 2 steps apply again (6, 8)". */
static void print_again(const struct rebased *did, struct str *out)
{
    if (did->again == 1) {
        str_printf(out, "; step %d applies again", did->again_at[0]);
        return;
    }
    str_printf(out, "; %d steps apply again (", did->again);
    print_steps(did->again_at, 0, did->again, out);
}

/* Appends "; 2 no longer apply and are kept for repair (steps 6, 8)". */
static void print_held(const struct rebased *did, struct str *out)
{
    str_printf(out, "; %d no longer appl%s and %s kept for repair (step%s ", did->held,
               did->held == 1 ? "ies" : "y", did->held == 1 ? "is" : "are",
               did->held == 1 ? "" : "s");
    print_steps(did->held_at, 0, did->held, out);
}

void history_rebased_print(const struct history *h, struct str *out)
{
    const struct rebased *did = &h->rebased;
    if (!did->what[0]) {
        str_printf(out, "step %d is unchanged", did->at);
        return;
    }
    /* whether to say the step's number: the user may not have chosen it */
    bool elsewhere = did->from || streq(did->what, "inserted");
    if (did->from)
        str_printf(out, "step %d is changed and now step %d", did->from, did->at);
    else if (elsewhere || did->replayed == 0)
        str_printf(out, "step %d is %s", did->at, did->what);
    if (did->replayed)
        str_printf(out, "%s%d %s step%s replayed", elsewhere ? ", " : "", did->replayed,
                   streq(did->what, "moved") ? "other" : "later", did->replayed == 1 ? "" : "s");
    if (did->renamed)
        str_printf(out, ", %d renamed", did->renamed);
    if (did->again)
        print_again(did, out);
    if (did->held)
        print_held(did, out);
    if (did->other)
        print_other(h, out);
    if (did->kept)
        str_printf(out, "; the measured steps from before are branch %s", did->kept);
    str_add(out, "; u undoes this change");
}
