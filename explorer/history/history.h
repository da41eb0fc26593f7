/* The history of a session: a tree of immutable program states with named branches, undo and
 * redo.  The ledger lists the measurements of the states on a branch.  State 0 is the operator
 * without steps; every other state is its parent plus one step. */
#ifndef TS_EXPLORER_HISTORY_H
#define TS_EXPLORER_HISTORY_H
#include "profile/measure/measure.h"

struct state {
    int id, parent;                     /* parent: -1 for state 0 */
    const char *step;                   /* canonical text; "" for state 0 */
    /* If the step does not apply here: the reason.  The step is then held, and the program is the
     * parent's (rebase.h).  NULL: the step is applied. */
    const char *held;
    const char *origin;  /* the step before it was renamed (rebase.h); NULL: it was not renamed */
    /* tells that names in the step now mean other loops, or that its split divides nothing now
     * (rebase.h); NULL: there is nothing to tell */
    const char *note;
    const struct program *program;
    const struct measurement *measured; /* NULL: not measured */
};
/* at: the current state; tip: the last state, which comes after `at` if steps are undone.
 * went: 1 + the state to which the last history_visit led; 0: there was none, or a history_goto
 * came later.  left: the current state before that visit, or before the first of several visits in
 * a row. */
struct branch { const char *name; int tip, at, went, left; };

struct history;
bool history_new(const char *spec, struct history **out, struct err *e);
void history_free(struct history *h);

const char *history_spec(const struct history *h);
int history_n_states(const struct history *h);
const struct state *history_state(const struct history *h, int id);
const struct state *history_current(const struct history *h);
/* Whether state `old` is on the way from state 0 to state `young`, or is `young` itself. */
bool history_leads(const struct history *h, int old, int young);
int history_n_branches(const struct history *h);
const struct branch *history_branch(const struct history *h, int i);
int history_branch_index(const struct history *h);      /* index of the current branch */
/* Returns the state ids from state 0 to the tip of branch b, *n of them; *at is the position of
 * the current state of the branch.  Valid until the next change or the next history_path, which
 * other functions call too (history_ledger, ...). */
const int *history_path(const struct history *h, int b, int *n, int *at);
/* Returns the position of the current state on the current branch: how many steps lead to it. */
int history_position(const struct history *h);

/* Applies a step to the current state.  The branch then continues from there, and loses its undone
 * states.  If one of the undone states was measured, and no other branch has the last of them, an
 * automatic branch "NAME~1" keeps them.  If the first undone state has just this step, it becomes
 * the current state instead, with its measurement, and the others stay undone.  A refused step
 * changes nothing. */
bool history_apply(struct history *h, const char *line, struct err *e);
/* Whether a new step would keep the undone steps on a branch "NAME~1". */
bool history_keeps_undone(const struct history *h);
/* Undo and redo n times, or refuse (undo.c).  Right after a change of a past step (rebase.h), an
 * undo reverts that change, and a redo then repeats it.  If a goto has led back from the state
 * after the change, the next undo first returns to this state.  In all other cases, an undo goes
 * one step back, and a redo one step forward. */
bool history_undo(struct history *h, int n, struct err *e);
bool history_redo(struct history *h, int n, struct err *e);
/* Describes the last undo, redo, goto or fork: "undid: edit 3 loop split C N 8",
 * "undid step 7: ...", or "left step 12; `goto 12` goes back there".  "": there is nothing to
 * say. */
const char *history_said(const struct history *h);
/* Returns the number of the past step if history_said is about the undo or redo of exactly one
 * change of a past step; else 0. */
int history_said_at(const struct history *h);
/* Goes to a step of the current branch by its number; 0 = the operator without steps. */
bool history_goto(struct history *h, int position, struct err *e);
/* Does the same for a goto that the user types.  If the user then starts a branch, history_fork
 * moves the old branch back to the state before the goto. */
bool history_visit(struct history *h, int position, struct err *e);
/* Starts a branch at the current state and switches to it.  A name has 1 to 40 letters, digits
 * and _ . ~ - */
bool history_branch_new(struct history *h, const char *name, struct err *e);
/* Starts a branch at the operator without steps, and switches to it. */
bool history_branch_plain(struct history *h, const char *name, struct err *e);
/* Starts a branch as history_branch_new does, and sets history_said.  name NULL: the first free
 * name of "b1", "b2"...  If history_visit has just led back to the current state, the old branch
 * returns to the state before that visit, because the user went back only to start the new branch:
 * lists and comparisons then show the old branch with all its steps. */
bool history_fork(struct history *h, const char *name, struct err *e);
/* Returns the index of a branch; -1, with *e, when no branch has that name. */
int history_branch_find(const struct history *h, const char *name, struct err *e);
/* Notes that the branches, as they are now, are saved in a file. */
void history_saved(struct history *h);
/* Whether all branches, their current states and the choice of the current branch are as in the
 * last history_saved.  A branch may have one more undone step at its end, if this step is not
 * measured. */
bool history_is_saved(const struct history *h);
/* Returns the index of a branch whose tip has exactly these n applied steps; the current branch if
 * it is one of several.  -1: no branch has them. */
int history_branch_with(const struct history *h, const char *const *step, int n);
bool history_branch_switch(struct history *h, const char *name, struct err *e);
/* Deletes a branch.  "main~*" means all branches whose names begin with "main~".  The current
 * branch is never deleted; fails if no other branch has such a name. */
bool history_branch_delete(struct history *h, const char *name, struct err *e);
/* Stores a copy of *m, including *m->sim.detail. */
void history_set_measured(struct history *h, int state, const struct measurement *m);
/* Stores a new measurement of a state.  If the state has a measurement made in the same way
 * (measurement_same_way), merges both; if one of the two failed, the new one replaces the old one.
 * If the state has none made in the same way, the new one becomes the current one, and
 * history_prefer can bring an older time back.  But a successful measurement without a time is
 * dropped if it would replace a time of the same isa.  newest: a slower new time is stored too, and
 * nothing is dropped.  If the step of the state is held, the state before it gets the measurement
 * as well.  Returns whether the older, faster time was kept. */
bool history_add_measured(struct history *h, int state, const struct measurement *m, bool newest);
/* Makes another measurement of the state current, if it has this isa, compiler and number of
 * threads and the current one does not.  compiler: as in struct measurement; "": any.  Returns
 * whether the current one then has them. */
bool history_prefer(struct history *h, int state, const char *isa, const char *compiler,
                    int threads);
void history_forget_measured(struct history *h, int state);

/* The effect of the last change of a past step (rebase.h).  `what`: "changed", "dropped", "moved"
 * or "inserted"; "": the step stayed as it was, and there is nothing to undo.  `at`: the number of
 * the step after the change; for a dropped step, the number that it had.  `from`: for an edited
 * step that moved up, the number that it had before; else 0.  `replayed`: how many other steps were
 * replayed.  `renamed`, `held`: how many of the replayed steps were renamed or held.  `held_at`:
 * the numbers of the first held steps.  `kept`: the branch that keeps the measured steps as they
 * were before the change; NULL: no branch does.  `again`: how many steps were held and apply now;
 * `again_at`: the numbers of the first of them. */
#define REBASED_LISTED 8                  /* most steps that a message lists */
struct rebased {
    const char *what;
    int at, from, replayed, renamed, held, held_at[REBASED_LISTED];
    /* other: how many steps got a new note (struct state); other_at: the numbers of the first of
     * them */
    int other, other_at[REBASED_LISTED];
    int again, again_at[REBASED_LISTED];
    const char *kept;
};
const struct rebased *history_rebased(const struct history *h);

/* The ledger: one row per state on the current branch. */
struct ledger_row {
    int state; const char *step;
    const char *held;                   /* why its step is held (struct state) */
    bool here;                          /* whether this is the current state */
    const char *note;                   /* as in struct state */
    bool ahead;  /* whether this state is undone: it comes after the current state */
    const struct measurement *m;        /* NULL: not measured */
    /* change: minimum latency of this row / minimum latency of the nearest earlier row that was
     * timed in the same way (measurement_same_way), - 1 */
    bool has_change; double change;
    /* id of the state of that earlier row, if its contract with the caller differs (contract.h);
     * else -1 */
    int other_contract;
    /* simulated L1 misses minus those of that earlier row */
    bool has_misses_change; int64_t misses_change;
};
/* Fills at most max rows; returns how many rows the ledger has, which may be more. */
int history_ledger(const struct history *h, struct ledger_row *out, int max);
/* Returns the number of the later step that replaces the annotation of step i, as "loop vectorize C
 * N" replaces "loop unroll C N"; else 0.  Step i vectorizes, unrolls or parallelizes a loop, and
 * the next applied step of the current branch that annotates this loop gives it another
 * annotation. */
int history_replaced_by(const struct history *h, int i);
/* Reads a step that vectorizes, unrolls or parallelizes a loop, such as "loop vectorize C N.1".
 * False: it is another step, and the texts are undefined. */
bool history_annotation(const char *step, char verb[16], char stage[64], char loop[64]);
#endif
