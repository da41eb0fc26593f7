/* The agents that explore layouts and loops (ALT 5.2, SPEC E.3): one actor for the splits of a
 * layout, one for each kind of loop knob, and one critic that all of them share.
 *
 *     layout   state[64] + op[12] + one-hot of the action [20]  ->  u, Gaussian; a_s = sigmoid(u)
 *     loop     state[128] + op[12] + one-hot of the knob [32]   ->  a direction of at most 16
 *     critic   state[128] + op[12] + one-hot of the kind        ->  value
 *
 * state: log2(x) / 16 of the factors, followed by zeros (layout_space_state, loop_point_state;
 * for the critic the state of a layout is padded with zeros). op: layout_space.op, logarithms and
 * flags.  Its element 10, the stage of the episode, is set here: action / 8 for layouts, 0 for
 * loops.
 *
 * Every knob is an agent with its own trajectory: the steps in which that knob moved.  All agents
 * get the reward of the step (ALT eq. 3).  Knobs of one kind share the actor of the kind.  Rewards
 * are at most 1 (see agents_reward).
 *
 * The behaviour depends only on the seed and the calls.  Agents belong to one thread. */
#ifndef TS_EXPLORER_AGENT_AGENTS_H
#define TS_EXPLORER_AGENT_AGENTS_H
#include "explorer/agent/ppo.h"
#include "explorer/space/layout_space.h"
#include "explorer/space/loop_space.h"
#include "kernels/base/err.h"
#include "kernels/base/str.h"

/* Raise this number when the meaning of a state, of op, of a kind or of a direction changes.
 * Older weights are then refused. */
#define AGENT_ENCODING 2

#define AGENT_DIRECTIONS 16             /* most directions of a knob */

struct agents_opts {
    struct ppo_opts ppo;
    int layout_batch;                   /* layout episodes per training (default 4) */
};
struct agents_opts agents_defaults(void);

struct agents;
/* o: NULL takes the defaults */
struct agents *agents_new(uint64_t seed, const struct agents_opts *o);
void agents_free(struct agents *g);

/* Returns 1 - latency / reference, within [-4, 1]; -4 for a latency that is INFINITY or NAN.
 * reference: the best latency of the first layout whose rounds were completed. */
double agents_reward(double latency, double reference);
/* Return the factor of a split as a fraction of its extent: a_s in (0, 1) of ALT eq. 2, SPEC D.1.
 * agents_fraction is linear, as in SPEC E.3: a_s = sigmoid(u).  A new actor then draws factors near
 * half of the extent; the factor 4 of extent 112 is five deviations away.  agents_log_fraction is
 * logarithmic: a_s = extent^(sigmoid(u) - 1).  It gives factors near the square root of the
 * extent. */
double agents_fraction(double u);
double agents_log_fraction(double u, double extent);

/* --- Layouts ---------------------------------------------------------------------------------- */

/* agents_layout_act draws the next action of the episode of a layout (action = 0, 1, ..., below
 * LAYOUT_KNOBS) and returns its u.  Several candidate layouts may be drawn before one is chosen:
 * agents_layout_begin starts the next candidate (not needed for the first), and agents_layout_keep
 * drops all candidates but one (counted from 0). */
double agents_layout_act(struct agents *g, const float state[LAYOUT_STATE],
                         const float op[OP_FEATURES], int action);
void agents_layout_begin(struct agents *g);
void agents_layout_keep(struct agents *g, int candidate);
/* Drops all candidates. Call this when another layout was chosen. */
void agents_layout_drop(struct agents *g);
/* Ends the episode with reward r for the last action of the candidate that was kept (or begun
 * last); earlier actions learn through GAE.  Trains after every layout_batch-th episode. */
void agents_layout_reward(struct agents *g, double r);
/* Trains on the episodes that were rewarded since the last training. Call this after the last
 * episode. */
void agents_layout_end(struct agents *g);

/* --- Loops ------------------------------------------------------------------------------------ */

/* Returns a direction, below n_directions (1 to AGENT_DIRECTIONS), for a knob from 0 to
 * LOOP_KNOBS - 1. */
int agents_loop_act(struct agents *g, enum knob_kind kind, int knob, const float state[LOOP_STATE],
                    const float op[OP_FEATURES], int n_directions);
/* Ends a step; r is the reward of the point that the step reached.  Adds r to the last move of
 * every knob, also of the knobs that did not move in this step. */
void agents_loop_step_end(struct agents *g, double r);
/* Ends a walk: the next step starts elsewhere, so its reward must not count for earlier moves. */
void agents_loop_walk_end(struct agents *g);
/* Trains on the steps. If a walk has not ended, the value of a knob's last state stands for its
 * future rewards, as if the walk were infinite. */
void agents_loop_episode_end(struct agents *g);
/* Drops the steps without training. */
void agents_loop_episode_drop(struct agents *g);


/* Statistics of the latest training; NAN before the first.  Entropies are in nats. The entropy of a
 * new layout actor is 1.42 + log_std; that of a new loop actor is log(n_directions). */
struct agent_stats {
    double layout_entropy, loop_entropy, value_loss;
    double clipped;                     /* fraction of ratios beyond 1 +- clip in the last epoch */
    int episodes;                       /* finished episodes of layouts and loops */
    int trainings;
};
struct agent_stats agents_stats(const struct agents *g);

/* Store the probabilities of the directions (loop), and the mean and deviation of u (layout), for
 * display and tests. */
void agents_loop_policy(struct agents *g, enum knob_kind kind, int knob,
                        const float state[LOOP_STATE], const float op[OP_FEATURES],
                        int n_directions, double *probability);
void agents_layout_policy(struct agents *g, const float state[LAYOUT_STATE],
                          const float op[OP_FEATURES], int action, double *mean, double *deviation);

/* --- Weights ---------------------------------------------------------------------------------- */

/* Saves all networks and value norms as bytes: lines of text (format, hash of the encoding, what
 * they were trained on, sizes, checksum), an empty line, and little-endian doubles. trained: one
 * line such as "sessions/pretrain.yaml, 24 workloads, seed 1"; line ends in it become blanks. */
void agents_save(const struct agents *g, const char *trained, struct str *out);
/* Loads weights; open episodes and the state of the optimisers are dropped, and the random
 * numbers continue.  ERR_SYNTAX for bytes that are incomplete or damaged, ERR_TYPE for another
 * encoding or other networks; then nothing changes.  *trained (may be NULL) lives as long as g. */
bool agents_load(struct agents *g, const char *data, size_t n, const char **trained, struct err *e);
uint64_t agents_encoding(const struct agents *g);       /* hash of the encoding */
#endif
