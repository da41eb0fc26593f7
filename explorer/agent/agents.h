/* The agents that explore layouts and loops (ALT 5.2, SPEC E.3): one actor for every split of a
 * layout, one for each kind of loop knob, and one critic that all of them share.
 *
 *     layout   state[64] + op[12] + one-hot of the action [20]  ->  u, Gaussian; a_s = sigmoid(u)
 *     loop     state[128] + op[12] + one-hot of the knob [32]   ->  a direction of at most 16
 *     critic   state[128] + op[12] + one-hot of the kind        ->  value
 *
 * state: log2(x) / 16 of the factors, 0 behind them (layout_space_state, loop_point_state; the
 * critic reads a layout's with zeros behind it).  op: layout_space.op, logarithms and flags; its
 * element 10, the stage of the episode, is set here: action / 8 for layouts, 0 for loops.
 *
 * Every knob is an agent with a trajectory of its own, of the steps in which it moved; all get the
 * reward of the step (ALT eq. 3).  Knobs of a kind share its actor.  Rewards at most 1 (see
 * agents_reward).
 *
 * What agents do depends on the seed and the calls alone.  One thread. */
#ifndef TS_EXPLORER_AGENT_AGENTS_H
#define TS_EXPLORER_AGENT_AGENTS_H
#include "explorer/agent/ppo.h"
#include "explorer/space/layout_space.h"
#include "explorer/space/loop_space.h"
#include "kernels/base/err.h"
#include "kernels/base/str.h"

/* Raise it when the meaning of a state, of op, of a kind or of a direction changes: weights from
 * before are then refused. */
#define AGENT_ENCODING 2

#define AGENT_DIRECTIONS 16             /* of a knob, at most */

struct agents_opts {
    struct ppo_opts ppo;
    int layout_batch;                   /* layout episodes per training: 4 */
};
struct agents_opts agents_defaults(void);

struct agents;
struct agents *agents_new(uint64_t seed, const struct agents_opts *o);      /* o may be NULL */
void agents_free(struct agents *g);

/* 1 - latency / reference, within [-4, 1]; -4 for what has no latency (INFINITY, NAN).  reference:
 * the best latency of the first layout that had its rounds. */
double agents_reward(double latency, double reference);
/* What u says a split's factor is of its extent: a_s in (0, 1) of ALT eq. 2, SPEC D.1.  Linear,
 * a_s = sigmoid(u) as SPEC E.3 has it: a new actor then draws factors near half of the extent, and
 * 4 of 112 is five deviations away.  In the logarithm, a_s = extent^(sigmoid(u) - 1): factors near
 * the root of the extent. */
double agents_fraction(double u);
double agents_log_fraction(double u, double extent);

/* --- Layouts ---------------------------------------------------------------------------------- */

/* An episode is the actions of one layout, action = 0, 1, ... (below LAYOUT_KNOBS); returns u.
 * Several layouts may be drawn before one is chosen: _begin starts the next candidate (the first
 * needs none), _keep drops all but one (counted from 0). */
double agents_layout_act(struct agents *g, const float state[LAYOUT_STATE],
                         const float op[OP_FEATURES], int action);
void agents_layout_begin(struct agents *g);
void agents_layout_keep(struct agents *g, int candidate);
/* Forgets all candidates: another layout was chosen. */
void agents_layout_drop(struct agents *g);
/* Ends the episode: r for the last action of the candidate that was kept (or begun last), what
 * comes before learns through GAE.  Trains at the end of every layout_batch-th episode. */
void agents_layout_reward(struct agents *g, double r);
/* Trains on what was rewarded since: no more episodes follow. */
void agents_layout_end(struct agents *g);

/* --- Loops ------------------------------------------------------------------------------------ */

/* The direction for knob 0 to LOOP_KNOBS - 1, below n_directions (1 to AGENT_DIRECTIONS). */
int agents_loop_act(struct agents *g, enum knob_kind kind, int knob, const float state[LOOP_STATE],
                    const float op[OP_FEATURES], int n_directions);
/* r: of the point that the step arrived at.  A knob that did not move in it gets r for its last
 * move. */
void agents_loop_step_end(struct agents *g, double r);
/* The next step starts somewhere else: no reward of it is for a move before. */
void agents_loop_walk_end(struct agents *g);
/* Trains on the steps.  Those of a walk that did not end are a piece of an endless one: the value
 * of a knob's last state stands for what would come. */
void agents_loop_episode_end(struct agents *g);
/* Forgets the steps instead. */
void agents_loop_episode_drop(struct agents *g);

/* --- What they are like ----------------------------------------------------------------------- */

/* Of the latest training; NAN before the first.  Entropies in nats: a new layout actor has
 * 1.42 + log_std, a new loop actor log(n_directions). */
struct agent_stats {
    double layout_entropy, loop_entropy, value_loss;
    double clipped;                     /* fraction of ratios beyond 1 +- clip in the last epoch */
    int episodes;                       /* that ended, of layouts and loops */
    int trainings;
};
struct agent_stats agents_stats(const struct agents *g);

/* Probabilities of the directions, and mean and deviation of u: for display and tests. */
void agents_loop_policy(struct agents *g, enum knob_kind kind, int knob,
                        const float state[LOOP_STATE], const float op[OP_FEATURES],
                        int n_directions, double *probability);
void agents_layout_policy(struct agents *g, const float state[LAYOUT_STATE],
                          const float op[OP_FEATURES], int action, double *mean, double *deviation);

/* --- Weights ---------------------------------------------------------------------------------- */

/* All networks and the norms of values as bytes: lines of text (format, hash of the encoding, what
 * they were trained on, sizes, checksum), an empty line, little-endian doubles.  trained: one line,
 * e.g. "sessions/pretrain.yaml, 24 workloads, seed 1"; line ends in it become blanks. */
void agents_save(const struct agents *g, const char *trained, struct str *out);
/* Takes the weights over, and forgets open episodes and the state of the optimisers; random numbers
 * go on.  ERR_SYNTAX for bytes that are not whole and sound, ERR_TYPE for another encoding or other
 * networks; then nothing changes.  *trained (may be NULL) lives as long as g. */
bool agents_load(struct agents *g, const char *data, size_t n, const char **trained, struct err *e);
uint64_t agents_encoding(const struct agents *g);       /* the hash */
#endif
