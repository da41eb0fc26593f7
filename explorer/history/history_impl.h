/* The tree of states, shared by history.c, undo.c and rebase.c. */
#ifndef TS_EXPLORER_HISTORY_IMPL_H
#define TS_EXPLORER_HISTORY_IMPL_H
#include "explorer/history/history.h"
#include "kernels/base/vec.h"

/* A change of a past step, stored for undo. */
struct past_change {
    const char *what;                     /* as a command: "edit 3 loop split C N 8" */
    const char *branch;
    struct branch before, after;          /* the branch before and after the change */
    const char *kept;                     /* the branch that keeps the old steps; NULL: none */
    bool move;                            /* whether the change is a `move` */
    int at, to;                           /* number of the step before and after the change */
};

/* A measurement of a state; another one, made in another way, has replaced it there. */
struct other_measured { int state; const struct measurement *m; };

struct history {
    struct arena *arena;                  /* owns programs, steps and names */
    VEC(struct state *) states;
    VEC(struct branch) branches;
    int current;                          /* index of the current branch */
    VEC(struct branch) saved;             /* branches and current at history_saved */
    int saved_current;
    VEC(struct other_measured) others;
    VEC(int) path;                        /* the last result of history_path */
    VEC(struct past_change) changes;  /* changes of the past; those from n_done on are taken back */
    int n_done;
    struct rebased rebased;               /* the result of the last history_rebase */
    const char *said;                     /* history_said; NULL: nothing to say */
    int said_at;                          /* history_said_at */
};

struct branch *history_here(struct history *h);
/* Adds a state and returns its id.  held: as in struct state. */
int history_add(struct history *h, int parent, const char *step, const struct program *p,
                const char *held);
/* Copies to a state the measurement of an older state with the same steps, if there is one. */
void history_recall(struct history *h, int state);
/* Whether a state from old (included) back to below (excluded) has a measurement that would be
 * lost: no other branch contains `old`. */
bool history_precious(const struct history *h, int old, int below);
/* Makes a branch "NAME~1" that ends at state tip, with current state `at`.  Returns its name. */
const char *history_keep(struct history *h, int tip, int at);
#endif
