/* The history of a session: a tree of immutable program states with named branches, undo and
 * redo.  The ledger lists the measurements of the states on a branch.  State 0 is the operator
 * without steps; every other state is its parent plus one step. */
#ifndef TS_EXPLORER_HISTORY_H
#define TS_EXPLORER_HISTORY_H
#include "profile/measure/measure.h"

struct state {
    int id, parent;                     /* parent: -1 for state 0 */
    const char *step;                   /* canonical text; "" for state 0 */
    /* Why the step does not apply here: it is held, and the program is the parent's (rebase.h).
     * NULL: the step is applied. */
    const char *held;
    const char *origin;  /* the step as it was before it was renamed (rebase.h), or NULL */
    /* which names in the step now mean other loops, or that its split divides nothing now
     * (rebase.h); or NULL */
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

/* Applies a step to the current state, from which the branch then continues: it loses its undone
 * states.  If one of these was measured, and no other branch has the last of them, they are kept on
 * an automatic branch "NAME~1".  A refused step changes nothing. */
bool history_apply(struct history *h, const char *line, struct err *e);
/* Whether a new step would keep the undone steps on a branch "NAME~1". */
bool history_keeps_undone(const struct history *h);
/* Undo and redo n times, or refuse (undo.c).  Right after a change of a past step (rebase.h), an
 * undo reverts that change, and a redo then repeats it.  If a goto has led back from there, the
 * next undo first returns to the state after the change.  Else they go one step back or forward. */
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
/* The same for a goto that the user types.  If the user starts a branch there, history_fork moves
 * this branch back to the state before the goto. */
bool history_visit(struct history *h, int position, struct err *e);
/* Starts a branch at the current state and switches to it.  A name has 1 to 40 letters, digits
 * and _ . ~ - */
bool history_branch_new(struct history *h, const char *name, struct err *e);
/* The same.  If history_visit has just led back to the current state, the old branch returns to the
 * state before that visit, because the user went back only to start the new branch: lists and
 * comparisons then show the old one with all its steps.  Sets history_said. */
bool history_fork(struct history *h, const char *name, struct err *e);
/* Returns the index of a branch; -1, with *e, when no branch has that name. */
int history_branch_find(const struct history *h, const char *name, struct err *e);
/* Notes that the branches, as they are now, are saved in a file. */
void history_saved(struct history *h);
/* Whether the branches and the current one are those of the last history_saved, each at the same
 * state.  One more undone step at the end of a branch is allowed if it is not measured. */
bool history_is_saved(const struct history *h);
/* Returns the index of a branch whose tip has exactly these n applied steps; the current branch if
 * it is one of several.  -1: no branch has them. */
int history_branch_with(const struct history *h, const char *const *step, int n);
bool history_branch_switch(struct history *h, const char *name, struct err *e);
/* Deletes a branch.  "main~*" means all branches whose names begin with "main~". Refuses to delete
 * the current one: it stays if others are deleted. */
bool history_branch_delete(struct history *h, const char *name, struct err *e);
/* Stores a copy of *m, including *m->sim.detail. */
void history_set_measured(struct history *h, int state, const struct measurement *m);
/* Merges a new measurement into the state's measurement that was made in the same way
 * (measurement_same_way); if one of the two failed, the new one replaces the other.  If there is
 * none, the new one becomes the current one, and history_prefer can bring an older time back.  But
 * a successful one without a time is dropped if it would replace a time of the same isa.
 * newest: a slower new time is stored too, and nothing is dropped.  Returns whether the older,
 * faster time was kept. */
bool history_add_measured(struct history *h, int state, const struct measurement *m, bool newest);
/* Makes the state's measurement with this isa, compiler and number of threads the current one
 * again, if a measurement made in another way has replaced it.  compiler: as in struct measurement;
 * "": any. */
void history_prefer(struct history *h, int state, const char *isa, const char *compiler,
                    int threads);
void history_forget_measured(struct history *h, int state);

/* The effect of the last change of a past step (rebase.h). `what`: "changed", "dropped", "moved" or
 * "inserted"; "": the step stayed as it was, and there is nothing to undo.  `at`: the number of the
 * step after the change; of a dropped step, the number that it had.  `from`: the number that an
 * edited step had before it moved up; 0: it did not move.  `replayed`: how many other steps were
 * replayed; `renamed`, `held`: how many of these were renamed or held.
 * `held_at`: the numbers of the first of these that are held.  `kept`: the branch that keeps
 * the measured steps as they were before the change; NULL: none. */
#define REBASED_LISTED 8                  /* most steps that a message lists */
struct rebased {
    const char *what;
    int at, from, replayed, renamed, held, held_at[REBASED_LISTED];
    /* how many steps got a new note (struct state), and the numbers of the first of them */
    int other, other_at[REBASED_LISTED];
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
    /* change: minimum latency / minimum latency of the nearest earlier row that was timed in the
     * same way (measurement_same_way), - 1 */
    bool has_change; double change;
    /* id of the state of that earlier row, if its contract with the caller differs (contract.h);
     * else -1 */
    int other_contract;
    /* simulated L1 misses minus those of that earlier row */
    bool has_misses_change; int64_t misses_change;
};
/* Fills at most max rows; returns how many rows the ledger has, which may be more. */
int history_ledger(const struct history *h, struct ledger_row *out, int max);
/* If step i vectorizes, unrolls or parallelizes a loop, and the next applied step of the current
 * branch that does so to the same loop gives it another annotation ("loop vectorize C N" after
 * "loop unroll C N"): returns the number of that later step.  Else 0. */
int history_replaced_by(const struct history *h, int i);
/* Reads a step that vectorizes, unrolls or parallelizes a loop, such as "loop vectorize C N.1".
 * False: it is another step, and the texts are undefined. */
bool history_annotation(const char *step, char verb[16], char stage[64], char loop[64]);
#endif
