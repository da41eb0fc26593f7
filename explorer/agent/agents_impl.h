/* Shared by agents.c and agents_weights.c. */
#ifndef TS_EXPLORER_AGENT_AGENTS_IMPL_H
#define TS_EXPLORER_AGENT_AGENTS_IMPL_H
#include "explorer/agent/agents.h"
#include "kernels/base/vec.h"

enum { LAYOUT_KIND = KNOB_KINDS };     /* kind of layout actions, after the kinds of loop knobs */

/* An action that an agent took.  place: number of the layout action or of the knob.  path: rows
 * with the same path form a trajectory.  ends: whether the trajectory of this row has ended; if
 * not, the value of its last row stands for the future rewards. */
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

    row_vec layout;  /* rows of rewarded episodes, followed by rows of the candidates */
    int rewarded;                       /* number of rows of rewarded episodes */
    int layouts;                        /* number of rewarded episodes */
    VEC(int) candidate;                 /* first row of each candidate */
    row_vec loop;
    int last[LOOP_KNOBS];  /* row of the last move of each knob in this walk; -1: none */
    int walk, walk_from;  /* number of finished walks, and the first row of the current one */
    struct agent_stats stats;
};

/* Computes GAE along each path.  Where a path has not ended, the value of its last row stands for
 * the future rewards. */
void agents_advantages(struct agents *g, const struct agent_row *row, int n, const double *value,
                       double *advantage);
/* Resets the optimisers and drops open episodes. */
void agents_forget(struct agents *g);
#endif
