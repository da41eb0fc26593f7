/* What agents.c and agents_weights.c share. */
#ifndef TS_EXPLORER_AGENT_AGENTS_IMPL_H
#define TS_EXPLORER_AGENT_AGENTS_IMPL_H
#include "explorer/agent/agents.h"
#include "kernels/base/vec.h"

enum { LAYOUT_KIND = KNOB_KINDS };     /* behind the kinds of loop knobs */

/* One action.  place: number of the action or of the knob.  path: rows of one path are a
 * trajectory.  ends: nothing comes behind this path. */
struct row {
    float state[LOOP_STATE], op[OP_FEATURES];
    int kind, place, path, n_choices;
    struct action action;
    double reward;
    bool ends;
};
typedef VEC(struct row) row_vec;

struct agents {
    struct arena *a, *scratch;          /* networks; what one training needs */
    struct agents_opts o;
    struct rng rng;
    struct actor *actor[KNOB_KINDS + 1];
    struct critic *critic;
    struct mlp_tape *layout_tape, *loop_tape, *critic_tape;
    /* Returns of layouts (at most 1) and of walks (sums of many rewards) differ by orders. */
    struct value_norm layout_norm, loop_norm;

    row_vec layout;                     /* rewarded episodes, then the candidates */
    int rewarded;                       /* rows of the former */
    int layouts;                        /* episodes of the former */
    VEC(int) candidate;                 /* where each starts */
    row_vec loop;
    int last[LOOP_KNOBS];              /* row of each knob's last move in this walk; -1 */
    int walk, walk_from;                /* walks that ended, and the first row of this one */
    struct agent_stats stats;
};

/* GAE along each path; the last row of a path that does not end stands for what would come. */
void agents_advantages(struct agents *g, const struct row *row, int n, const double *value,
                       double *advantage);
/* Optimisers as new, no open episodes. */
void agents_forget(struct agents *g);
#endif
