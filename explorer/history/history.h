/* Exploring: a tree of immutable program states with named branches, undo and redo, and the
 * ledger of what each step bought.  State 0 is the bare operator; every other state is its parent
 * plus one step. */
#ifndef TS_EXPLORER_HISTORY_H
#define TS_EXPLORER_HISTORY_H
#include "profile/measure/measure.h"

struct state {
    int id, parent;                     /* parent -1 for state 0 */
    const char *step;                   /* canonical text; "" for state 0 */
    const struct program *program;
    const struct measurement *measured; /* NULL = not yet */
};
/* at: the state the branch stands at; after an undo its tip is ahead of that. */
struct branch { const char *name; int tip; int at; };

struct history;
bool history_new(const char *spec, struct history **out, struct err *e);
void history_free(struct history *h);

const char *history_spec(const struct history *h);
int history_n_states(const struct history *h);
const struct state *history_state(const struct history *h, int id);
const struct state *history_current(const struct history *h);
int history_n_branches(const struct history *h);
const struct branch *history_branch(const struct history *h, int i);
int history_branch_index(const struct history *h);      /* the current branch */
/* State ids from state 0 to the tip of branch b; *n of them, *at = position of where it stands.
 * Valid until the next change. */
const int *history_path(const struct history *h, int b, int *n, int *at);

/* One step on the current state.  A step typed after an undo starts anew from there; the steps
 * that were undone stay in the tree under an automatic branch "NAME~1" when any of them was
 * measured, else they are dropped.  A refused step changes nothing. */
bool history_apply(struct history *h, const char *line, struct err *e);
bool history_undo(struct history *h, int n, struct err *e);
bool history_redo(struct history *h, int n, struct err *e);
/* position: step number on the current branch, 0 = bare */
bool history_goto(struct history *h, int position, struct err *e);
/* From here, and switches to it.  Names: 1 to 40 letters, digits and _ . ~ - */
bool history_branch_new(struct history *h, const char *name, struct err *e);
bool history_branch_switch(struct history *h, const char *name, struct err *e);
bool history_branch_delete(struct history *h, const char *name, struct err *e);
/* Copies *m, and what m->sim.detail points to. */
void history_set_measured(struct history *h, int state, const struct measurement *m);
void history_forget_measured(struct history *h, int state);

/* The ledger: one row per state on the current branch. */
struct ledger_row {
    int state; const char *step;
    bool here;                          /* the current state */
    bool ahead;                         /* undone: ahead of the current state */
    const struct measurement *m;        /* may be NULL */
    /* minimum latency / that of the nearest row before with as many threads - 1 */
    bool has_change; double change;
    bool has_misses_change; int64_t misses_change;   /* simulated L1 misses, against the same row */
};
/* Fills up to max rows; returns how many there are. */
int history_ledger(const struct history *h, struct ledger_row *out, int max);
#endif
