/* The Q-learning walk of FlexTensor (Zheng et al. 2020; SPEC E.3).  Each knob has a network Q that
 * estimates the value of a move in each direction.  It is trained by Q-learning on measured moves.
 *
 *     start     a measured point of time v, with probability exp(-0.5 (v - best) / best); else the
 *               best point
 *     move      in the direction of the largest Q; but in trial t, with probability
 *               max(0.8 exp(-0.01 t), 0.1), in a random direction
 *     reward    tanh(max(v_from - v_to, 0)), with the times v in milliseconds
 *     learning  20 epochs over at most 1000 moves of a knob, drawn at random, in batches of 32; the
 *               loss is the squared difference of Q and reward + 0.9 max Q'(to), where Q' is Q
 *               before the epoch; AdaDelta with step size 0.02
 *
 * The networks have 4 linear layers of width 64 with ReLU between them, no norms, and orthogonal
 * weights.  From one start, every knob moves once, and the caller measures some of the points that
 * these moves reach.  The walk depends only on the seed and the calls. */
#ifndef TS_EXPLORER_AGENT_QWALK_H
#define TS_EXPLORER_AGENT_QWALK_H
#include <stdbool.h>
#include <stdint.h>

struct qwalk;

/* Creates a walk.  n_state: number of floats of a state.  n_directions[k], at least 1: number of
 * directions of knob k. */
struct qwalk *qwalk_new(uint64_t seed, int n_state, const int *n_directions, int n_knobs);
void qwalk_free(struct qwalk *q);

/* Returns the probability of a random move in a trial; the first trial is 0. */
double qwalk_epsilon(int trial);
/* Returns the probability of starting at a point whose time is `value`.  best: the least time. */
double qwalk_acceptance(double value, double best);
/* Returns the reward of a move from a point of time `from` to one of time `to` (milliseconds). */
double qwalk_reward(double from, double to);

/* Draws whether to start at a point of time `value`, rather than at the best point. */
bool qwalk_accept(struct qwalk *q, double value, double best);
/* Returns the direction in which the knob moves in this trial. */
int qwalk_act(struct qwalk *q, int knob, const float *state, int trial);
/* Stores the Q value of every direction in out[n_directions]. */
void qwalk_values(struct qwalk *q, int knob, const float *state, double *out);
/* Adds a measured move.  Its reward is 0 if a time is unknown (from_ms or to_ms INFINITY). */
void qwalk_add(struct qwalk *q, int knob, const float *from, int direction, const float *to,
               double from_ms, double to_ms);
/* Trains the networks of all knobs.  Returns the mean squared error in the last epoch, over the
 * moves of all knobs; 0: there are no moves. */
double qwalk_train(struct qwalk *q);
#endif
