/* The agents that explore layouts and loops (ALT 5.2, SPEC E.3): one actor for the splits of a
 * layout, one for each kind of loop knob, and one critic that all of them share.
 *
 *     layout   state[64] + op[12] + one-hot of the action [20]  ->  u, Gaussian; a_s = sigmoid(u)
 *     loop     state[128] + op[12] + one-hot of the knob [32]   ->  a direction of at most 16
 *     critic   state[128] + op[12] + one-hot of the kind        ->  value
 *
 * state: log2(x) / 16 of each part x of a dim or loop; for loops, also each choice as a number in
 * [0, 1]; zeros in the remaining elements (layout_space_state, loop_point_state).  For the critic,
 * the state of a layout is padded with zeros.  op: layout_space.op, the logarithms of the
 * operator's sizes.  The agents set its element 10, the stage of the episode: action / 8 for
 * layouts, 0 for loops.
 *
 * Every knob is an agent with its own trajectory: the steps in which that knob moved.  The reward
 * of a step goes to all agents that have moved in the walk so far (ALT eq. 3).  Knobs of one kind
 * share the actor of the kind.  The reward of a step should be at most 1, as that of agents_reward
 * is.
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
/* Creates agents with random weights.  `o` NULL: the defaults. */
struct agents *agents_new(uint64_t seed, const struct agents_opts *o);
void agents_free(struct agents *g);

/* Returns the reward 1 - latency / reference, limited to [-4, 1].  It is -4 for a latency that is
 * INFINITY or NAN.  reference: the best latency of the first layout whose rounds were completed. */
double agents_reward(double latency, double reference);
/* Convert the output u of a layout actor to the factor of a split, as a fraction of its extent: a_s
 * in (0, 1) of ALT eq. 2, SPEC D.1.  agents_fraction is linear, as in SPEC E.3: a_s = sigmoid(u).
 * A new actor then draws factors near half of the extent; the factor 4 of extent 112 is five
 * standard deviations away.  agents_log_fraction is logarithmic: a_s = extent^(sigmoid(u) - 1).  A
 * new actor then draws factors near the square root of the extent. */
double agents_fraction(double u);
double agents_log_fraction(double u, double extent);

/* --- Layouts ---------------------------------------------------------------------------------- */

/* An episode chooses one layout, by one action for each of its factors.  agents_layout_act draws
 * action number `action` (0, 1, ..., below LAYOUT_KNOBS) and returns its u.  Several candidate
 * layouts can be drawn before one is chosen.  agents_layout_begin starts the next candidate (a call
 * before the first candidate is not needed).  agents_layout_keep drops all candidates except number
 * `candidate`, counted from 0. */
double agents_layout_act(struct agents *g, const float state[LAYOUT_STATE],
                         const float op[OP_FEATURES], int action);
void agents_layout_begin(struct agents *g);
void agents_layout_keep(struct agents *g, int candidate);
/* Drops all candidates.  Call this when the chosen layout is none of them. */
void agents_layout_drop(struct agents *g);
/* Ends the episode of the candidate that was kept, or else of the last candidate.  Gives reward r
 * to its last action; earlier actions learn from r through GAE (ppo_gae).  Trains after every
 * layout_batch-th episode. */
void agents_layout_reward(struct agents *g, double r);
/* Trains on the episodes that were rewarded since the last training, if there are any.  Call this
 * after the last episode. */
void agents_layout_end(struct agents *g);

/* --- Loops ------------------------------------------------------------------------------------ */

/* Draws a move of a knob: returns a direction from 0 to n_directions - 1.  `knob` is from 0 to
 * LOOP_KNOBS - 1, `n_directions` from 1 to AGENT_DIRECTIONS. */
int agents_loop_act(struct agents *g, enum knob_kind kind, int knob, const float state[LOOP_STATE],
                    const float op[OP_FEATURES], int n_directions);
/* Ends a step that earned reward r.  Adds r to the last move of every knob that has moved in this
 * walk, even if the knob did not move in this step. */
void agents_loop_step_end(struct agents *g, double r);
/* Ends a walk: the next step starts elsewhere, so its reward must not count for earlier moves. */
void agents_loop_walk_end(struct agents *g);
/* Trains on the steps since the last training, if there are any, then drops them.  If the last walk
 * has not ended, its future rewards are estimated: for each knob, by the critic's value of the
 * knob's last state. */
void agents_loop_episode_end(struct agents *g);
/* Drops the steps without training. */
void agents_loop_episode_drop(struct agents *g);


/* Statistics of the latest training.  layout_entropy, loop_entropy: of the latest training on
 * layouts, and of the latest training on loops.  The doubles are NAN before the first such
 * training.  Entropies are in nats.  The entropy of a new layout actor is 1.42 + log_std; the
 * entropy of a new loop actor is about log(n_directions). */
struct agent_stats {
    double layout_entropy, loop_entropy, value_loss;
    /* fraction of the actions whose probability changed by a factor outside of 1 +- ppo_opts.clip,
     * in the last epoch */
    double clipped;
    int episodes;                       /* number of finished episodes, of layouts and of loops */
    int trainings;                      /* number of trainings */
};
struct agent_stats agents_stats(const struct agents *g);

/* Store the policy at a state, for display and tests.  agents_loop_policy stores the probability of
 * each direction; agents_layout_policy stores mean and standard deviation of u. */
void agents_loop_policy(struct agents *g, enum knob_kind kind, int knob,
                        const float state[LOOP_STATE], const float op[OP_FEATURES],
                        int n_directions, double *probability);
void agents_layout_policy(struct agents *g, const float state[LAYOUT_STATE],
                          const float op[OP_FEATURES], int action, double *mean, double *deviation);

/* --- Weights ---------------------------------------------------------------------------------- */

/* Appends the weights of all networks and the value norms, as bytes: lines of text (format, hash of
 * the encoding, `trained`, number of weights, checksum), an empty line, and little-endian doubles.
 * trained: on what the agents were trained, such as "sessions/pretrain.yaml, 24 workloads, seed 1".
 * Line ends in it become blanks, and only its first 500 bytes are stored. */
void agents_save(const struct agents *g, const char *trained, struct str *out);
/* Loads weights that agents_save wrote.  Drops open episodes and resets the optimisers; the random
 * numbers continue.  *trained gets the text given to agents_save; it lives as long as g.  `trained`
 * can be NULL.  ERR_SYNTAX: the bytes are incomplete or damaged.  ERR_TYPE: the weights are for
 * another encoding or for networks of other sizes.  After an error nothing has changed. */
bool agents_load(struct agents *g, const char *data, size_t n, const char **trained, struct err *e);
uint64_t agents_encoding(const struct agents *g);       /* hash of the encoding */
#endif
