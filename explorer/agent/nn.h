/* Small networks for the agents: a multilayer perceptron, its gradient, and two optimisers.
 * Numbers are doubles, so that a numerical gradient can verify the analytic one.  Functions take
 * batches, so that training is a few matrix products (mat.h).
 *
 *     x -> [norm] -> (linear -> ReLU -> [norm with gain and shift]) x hidden -> linear -> out
 *
 * The agents use the defaults of MAPPO (SPEC E.3): width 64, two hidden layers, LayerNorm,
 * orthogonal weights with gain sqrt(2), and a small gain of the last layer.  The norm of the input
 * needs no gain and shift: the weights and the bias of the next layer can do the same.
 *
 * Batches are stored by rows: x[rows][in], out[rows][out]. Everything is deterministic. */
#ifndef TS_EXPLORER_AGENT_NN_H
#define TS_EXPLORER_AGENT_NN_H
#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/rng.h"

#define NN_NORM_EPSILON 1e-5
#define NN_MAX_HIDDEN 4

struct mlp_shape {
    int in, out;                        /* both at least 1 */
    int width, hidden;  /* hidden: hidden layers, 1 to NN_MAX_HIDDEN; width: units of each */
    bool norm;                          /* LayerNorm of the network's input and after every ReLU */
    int extra;                          /* number of further parameters, such as log-std */
};

/* A linear layer, and the norm after it.  in, out: number of its inputs and outputs.  The other
 * members are indices in mlp.param, where its parameters start: weight[in][out], bias[out],
 * gain[out], shift[out]. */
struct mlp_layer { int in, out, weight, bias, gain, shift; };

struct mlp {
    struct mlp_shape shape;
    int n_layers;                       /* hidden + 1; the last one has no gain and shift */
    struct mlp_layer layer[NN_MAX_HIDDEN + 1];
    int extra;                          /* index in `param` of the first extra parameter */
    int n; double *param, *grad;  /* n parameters; their gradients, summed since the last clear */
};

/* The values that a forward pass keeps for the backward pass, for at most `max_rows` rows. */
struct mlp_tape;

/* Create a network, and a tape for networks of this shape, in arena a.  All parameters and
 * gradients are 0. */
struct mlp *mlp_new(struct arena *a, const struct mlp_shape *shape);
struct mlp_tape *mlp_tape_new(struct arena *a, const struct mlp_shape *shape, int max_rows);

/* Sets the weights of each layer to a random orthogonal matrix times sqrt(2); in the last layer,
 * times head_gain.  Sets the gains of norms to 1, and biases, shifts and extra parameters to 0. */
void mlp_init(struct mlp *m, struct rng *r, double head_gain);
/* Fills weight[rows][cols] with `gain` times a random matrix.  The columns of the matrix are
 * orthonormal; if it has fewer rows than columns, its rows are.  It is made from Gaussian numbers
 * (Saxe, McClelland, Ganguli 2014). */
void nn_orthogonal(double *weight, int rows, int cols, double gain, struct rng *r);
double nn_gaussian(struct rng *r);      /* draws a number; mean 0, standard deviation 1 */

/* Returns the outputs, [rows][out].  They belong to the tape, and are valid until its next forward
 * pass.  `rows` must be from 1 to the tape's max_rows. */
const double *mlp_forward(const struct mlp *m, struct mlp_tape *t, const double *x, int rows);
/* Adds d loss / d param to m->grad.  t: the tape of the last forward pass.  d_out[rows][out]:
 * d loss / d out, for the outputs of that pass. */
void mlp_backward(struct mlp *m, struct mlp_tape *t, const double *d_out);
void mlp_clear_grad(struct mlp *m);

/* Scales grad down to the Euclidean norm max_norm if its norm is larger; returns its norm before
 * scaling. */
double nn_clip(double *grad, int n, double max_norm);

/* Adam (Kingma and Ba 2015, algorithm 1): p -= lr m^ / (sqrt(v^) + epsilon). */
struct adam { double lr, beta1, beta2, epsilon; int n; int64_t t; double *m, *v; };
struct adam adam_new(struct arena *a, int n, double lr, double epsilon);    /* betas 0.9, 0.999 */
void adam_step(struct adam *o, double *param, const double *grad);

/* AdaDelta (Zeiler 2012) with a step size lr, as in PyTorch: p -= lr d, where
 * d = g sqrt(E[d^2] + epsilon) / sqrt(E[g^2] + epsilon).  square: E[g^2]; delta: E[d^2]. */
struct adadelta { double lr, rho, epsilon; int n; double *square, *delta; };
struct adadelta adadelta_new(struct arena *a, int n, double lr);  /* rho 0.9, epsilon 1e-6 */
void adadelta_step(struct adadelta *o, double *param, const double *grad);
#endif
