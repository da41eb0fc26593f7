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
    int at, to;  /* the step's number before and after the change; equal for a drop or an insert */
};

/* Another measurement of a state, made in another way than its `measured`, which has replaced it or
 * was preferred to it. */
struct other_measured { int state; const struct measurement *m; };

struct history {
    struct arena *arena;                  /* owns programs, steps and names */
    VEC(struct state *) states;
    VEC(struct branch) branches;
    int current;                          /* index of the current branch */
    VEC(struct branch) saved;             /* a copy of `branches`, made by history_saved */
    int saved_current;                    /* `current` when history_saved was called */
    VEC(struct other_measured) others;
    VEC(int) path;                        /* the last result of history_path */
    VEC(struct past_change) changes;      /* oldest first; those from index n_done on are undone */
    int n_done;
    struct rebased rebased;               /* the result of the last history_rebase */
    const char *said;                     /* history_said; NULL: nothing to say */
    int said_at;                          /* history_said_at */
};

struct branch *history_here(struct history *h);
/* Adds a state and returns its id.  held: as in struct state. */
int history_add(struct history *h, int parent, const char *step, const struct program *p,
                const char *held);
/* If a state is neither held nor measured, and an older state has the same steps and is measured:
 * copies that measurement to the state. */
void history_recall(struct history *h, int state);
/* Whether a measurement may be lost if the current branch drops the states from `old` back to
 * `below` (excluded): one of these states is measured, and no other branch contains `old`, or
 * states with the same steps whose numbers are as good. */
bool history_precious(const struct history *h, int old, int below);
/* Whether a goto has led back from the state after the last change of a past step: the next undo
 * returns there. */
bool history_is_behind(struct history *h);
/* Makes a branch "NAME~1" ("NAME~2", ... if that exists) that ends at state tip, with current state
 * `at`.  Returns its name. */
const char *history_keep(struct history *h, int tip, int at);
#endif
