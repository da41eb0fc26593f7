/* Shared by agents.c and agents_weights.c. */
#ifndef TS_EXPLORER_AGENT_AGENTS_IMPL_H
#define TS_EXPLORER_AGENT_AGENTS_IMPL_H
#include "explorer/agent/agents.h"
#include "kernels/base/vec.h"

enum { LAYOUT_KIND = KNOB_KINDS };     /* kind of layout actions, after the kinds of loop knobs */

/* An action that an agent took.  kind: an enum knob_kind, or LAYOUT_KIND.  place: number of the
 * layout action, or of the knob.  path: rows with the same number `path` form a trajectory.  ends:
 * whether the trajectory of this row has ended; if not, the critic's value of its last row replaces
 * the rewards that are still to come. */
struct agent_row {
    float state[LOOP_STATE], op[OP_FEATURES];
    int kind, place, path, n_choices;
    struct action action;
    double reward;
    bool ends;
};
typedef VEC(struct agent_row) row_vec;

struct agents {
    struct arena *a, *scratch;          /* a: networks; scratch: data of one training */
    struct agents_opts o;
    struct rng rng;
    struct actor *actor[KNOB_KINDS + 1];
    struct critic *critic;
    struct mlp_tape *layout_tape, *loop_tape, *critic_tape;
    /* Two norms, because returns of layouts (at most 1) and of walks (sums of many rewards) differ
     * in magnitude. */
    struct value_norm layout_norm, loop_norm;

    row_vec layout;  /* layout actions: rows of rewarded episodes, then rows of the candidates */
    int rewarded;                       /* number of rows of rewarded episodes */
    int layouts;                        /* number of rewarded episodes since the last training */
    VEC(int) candidate;                 /* per candidate: its first row in `layout` */
    row_vec loop;                       /* moves of loop knobs since the last training */
    /* per knob: the row in `loop` of its last move in the current walk; -1: it has not moved */
    int last[LOOP_KNOBS];
    /* walk: number of finished walks since the last training.  walk_from: first row in `loop` of
     * the current walk. */
    int walk, walk_from;
    struct agent_stats stats;
};

/* Computes the GAE advantage of each row, along its path.  value[n]: the critic's values of the
 * rows.  Where a path has not ended, the value of its last row replaces the rewards that are still
 * to come. */
void agents_advantages(struct agents *g, const struct agent_row *row, int n, const double *value,
                       double *advantage);
/* Resets the optimisers and drops open episodes. */
void agents_forget(struct agents *g);
#endif
