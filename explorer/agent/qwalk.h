/* The Q-learning walk of FlexTensor (Zheng et al. 2020; SPEC E.3): each knob has a network that
 * estimates the value of a move in each direction, trained by Q-learning on measured moves.
 *
 *     start     a measured point, with probability exp(-0.5 (v - best) / best); else the best
 *     move      the direction of the largest Q; a random one with probability
 *               max(0.8 exp(-0.01 t), 0.1) in trial t
 *     reward    tanh(max(v_from - v_to, 0)), v in milliseconds
 *     learning  20 epochs over at most 1000 moves of a knob, in random order, 32 at a time; squared
 *               error against reward + 0.9 max Q'(to), AdaDelta with step size 0.02; Q' is Q as it
 *               was before the epoch
 *
 * Networks: 4 linear layers of width 64 with ReLU between them, no normalisation, orthogonal
 * weights.  From one start, every knob moves once, and the caller measures the points that these
 * moves reach. The walk depends only on the seed and the calls. */
#ifndef TS_EXPLORER_AGENT_QWALK_H
#define TS_EXPLORER_AGENT_QWALK_H
#include <stdbool.h>
#include <stdint.h>

struct qwalk;

/* Creates a walk. n_directions[k] >= 1: directions of knob k; n_state: floats of a state. */
struct qwalk *qwalk_new(uint64_t seed, int n_state, const int *n_directions, int n_knobs);
void qwalk_free(struct qwalk *q);

double qwalk_epsilon(int trial);                            /* trials count from 0 */
/* Returns the probability of starting at a point with time `value`. */
double qwalk_acceptance(double value, double best);
double qwalk_reward(double from, double to);

/* Whether to start at a point with this value (milliseconds) rather than at the best one. */
bool qwalk_accept(struct qwalk *q, double value, double best);
int qwalk_act(struct qwalk *q, int knob, const float *state, int trial);
/* Stores the Q value of every direction in out[n_directions]. */
void qwalk_values(struct qwalk *q, int knob, const float *state, double *out);
/* Adds a measured move. A move to a point without a latency (to_ms INFINITY) has reward 0. */
void qwalk_add(struct qwalk *q, int knob, const float *from, int direction, const float *to,
               double from_ms, double to_ms);
/* Trains the networks.  Returns the mean squared error of the last epoch over all knobs that have
 * moves; 0 when no knob has moves. */
double qwalk_train(struct qwalk *q);
#endif
