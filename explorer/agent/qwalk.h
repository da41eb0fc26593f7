/* FlexTensor's walk (Zheng et al. 2020; SPEC E.3): for each knob a network that says what a move in
 * each direction is worth, learnt by Q-learning from the moves that were measured.
 *
 *     start     a measured point, taken with probability exp(-0.5 (v - best) / best), else the best
 *     move      the direction of the largest Q; any, with probability max(0.8 exp(-0.01 t), 0.1) in
 *               trial t
 *     reward    tanh(max(v_from - v_to, 0)), v in milliseconds
 *     learning  20 epochs over at most 1000 moves of a knob, in random order, 32 at a time; squared
 *               error against reward + 0.9 max Q'(to), AdaDelta with step size 0.02; Q' is Q as it
 *               was before the epoch
 *
 * Networks: 4 linear layers of width 64 with ReLU between them, no normalisation, orthogonal
 * weights.  From one start, every knob makes a point of its own; the caller measures those.
 * Deterministic by seed and calls. */
#ifndef TS_EXPLORER_AGENT_QWALK_H
#define TS_EXPLORER_AGENT_QWALK_H
#include <stdbool.h>
#include <stdint.h>

struct qwalk;

/* Knob k has n_directions[k] >= 1; a state is n_state floats. */
struct qwalk *qwalk_new(uint64_t seed, int n_state, const int *n_directions, int n_knobs);
void qwalk_free(struct qwalk *q);

double qwalk_epsilon(int trial);                            /* trial from 0 */
double qwalk_acceptance(double value, double best);         /* a probability; lower is better */
double qwalk_reward(double from, double to);

/* Whether to start at a point of that value (milliseconds) rather than at the best one. */
bool qwalk_accept(struct qwalk *q, double value, double best);
int qwalk_act(struct qwalk *q, int knob, const float *state, int trial);
/* What Q says of every direction: out[n_directions]. */
void qwalk_values(struct qwalk *q, int knob, const float *state, double *out);
/* A move that was measured.  What has no latency is worth no reward: INFINITY is fine for to. */
void qwalk_add(struct qwalk *q, int knob, const float *from, int direction, const float *to,
               double from_ms, double to_ms);
/* The mean squared error of the last epoch, over all knobs that have moves; 0 without any. */
double qwalk_train(struct qwalk *q);
#endif
