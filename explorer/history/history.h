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
    const struct measurement *measured; /* NULL = not measured yet */
};
/* at: the current state of the branch; tip: its last state.  After an undo, the tip comes after
 * `at`.  went: 1 + the state to which the last history_visit led; left: the state before it, or
 * before the first of several. */
struct branch { const char *name; int tip, at, went, left; };

struct history;
bool history_new(const char *spec, struct history **out, struct err *e);
void history_free(struct history *h);

const char *history_spec(const struct history *h);
int history_n_states(const struct history *h);
const struct state *history_state(const struct history *h, int id);
const struct state *history_current(const struct history *h);
/* Whether state `old` is on the way from state 0 to state `young`, or is that state. */
bool history_leads(const struct history *h, int old, int young);
int history_n_branches(const struct history *h);
const struct branch *history_branch(const struct history *h, int i);
int history_branch_index(const struct history *h);      /* index of the current branch */
/* Returns the state ids from state 0 to the tip of branch b, *n of them; *at is the position of
 * the current state of the branch.  Valid until the next call of history_path or change. */
const int *history_path(const struct history *h, int b, int *n, int *at);
/* Returns the position of the current state on the current branch: how many steps lead to it. */
int history_position(const struct history *h);

/* Applies a step to the current state. After an undo, the branch continues from the current state.
 * The undone states are kept on an automatic branch "NAME~1" if any of them was measured; otherwise
 * they are dropped. A refused step changes nothing. */
bool history_apply(struct history *h, const char *line, struct err *e);
/* Whether a new step would keep the undone steps on a branch "NAME~1". */
bool history_keeps_undone(const struct history *h);
/* Undo and redo n times, or refuse (undo.c). Right after a change of a past step, an undo reverts
 * that change, and a redo repeats it (rebase.h); else they go one step back or forward. */
bool history_undo(struct history *h, int n, struct err *e);
bool history_redo(struct history *h, int n, struct err *e);
/* Describes the last undo, redo, goto or fork: "undid: edit 3 loop split C N 8",
 * "undid step 7: ...", or "left step 12; `goto 12` goes back there". */
const char *history_said(const struct history *h);
/* Returns the number of the past step whose change the last undo reverted or the last redo
 * repeated; 0: the last undo, redo or goto only moved between states. */
int history_said_at(const struct history *h);
/* Goes to a step of the current branch by its number; 0 = the operator without steps. */
bool history_goto(struct history *h, int position, struct err *e);
/* The same for a goto of the user, who looks at the step or starts a branch there: history_fork
 * then puts this branch back. */
bool history_visit(struct history *h, int position, struct err *e);
/* Starts a branch at the current state and switches to it.  A name has 1 to 40 letters, digits
 * and _ . ~ - */
bool history_branch_new(struct history *h, const char *name, struct err *e);
/* The same; if history_visit has led back to the current state, the branch that is left returns to
 * the step before: the user went back only to start the new one, and in lists and comparisons the
 * old one keeps its steps.  Sets history_said. */
bool history_fork(struct history *h, const char *name, struct err *e);
/* Returns the index of a branch; -1, with *e, when no branch has that name. */
int history_branch_find(const struct history *h, const char *name, struct err *e);
/* Notes that the branches, as they are now, are saved in a file. */
void history_saved(struct history *h);
/* Whether the branches are those of the last history_saved, each at the same state.  One more
 * undone step at the end of a branch is allowed if it is not measured. */
bool history_is_saved(const struct history *h);
/* Returns the index of a branch whose tip has exactly these n applied steps; the current branch if
 * it is one of several.  -1: no branch has them. */
int history_branch_with(const struct history *h, const char *const *step, int n);
bool history_branch_switch(struct history *h, const char *name, struct err *e);
bool history_branch_delete(struct history *h, const char *name, struct err *e);
/* Stores a copy of *m, including *m->sim.detail. */
void history_set_measured(struct history *h, int state, const struct measurement *m);
/* Merges a new measurement into the state's measurement that was made in the same way
 * (measurement_same_way).  If there is none, the new one becomes the current one, and
 * history_prefer can bring an older time back.  But a new one without a time does not replace a
 * time of the same isa.  newest: the new measurement is stored even if the older time is faster or
 * the new one has no time.  Returns whether the older, faster time was kept. */
bool history_add_measured(struct history *h, int state, const struct measurement *m, bool newest);
/* Makes the state's measurement with this isa, compiler and number of threads the current one
 * again, if a measurement made in another way has replaced it.  compiler: as in struct measurement;
 * "": any. */
void history_prefer(struct history *h, int state, const char *isa, const char *compiler,
                    int threads);
void history_forget_measured(struct history *h, int state);

/* The effect of the last change of a past step (rebase.h). `what`: "changed", "dropped", "moved" or
 * "inserted"; "": the step stayed as it was, and there is nothing to undo.  `at`: the number of the
 * step after the change.  `from`: the number that an edited step had before it moved up; 0: it did
 * not move.  `replayed`: how many later steps were replayed; `renamed`, `held`: how many of these
 * were renamed or held.  `first_held`: number of the first held step; 0: none.  `kept`: the branch
 * that keeps the measured steps as they were before the change; NULL: none. */
struct rebased {
    const char *what;
    int at, from, replayed, renamed, held, first_held;
    /* how many steps got a new note (struct state), and the number of the first of them */
    int other, first_other;
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
/* Returns the number of the next applied step on the current branch that annotates the same loop as
 * step i, if it gives the loop another annotation, as "loop vectorize C N" after "loop unroll C N".
 * Step i then has no effect.  0: there is none. */
int history_replaced_by(const struct history *h, int i);
#endif
