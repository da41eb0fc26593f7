#include "explorer/agent/nn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/mat.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF            /* gcc never contracts with -std=c17 */
#endif

#define TWO_PI 6.283185307179586

/* Activations of one hidden layer, [max_rows][width] each.  relu: outputs of the ReLU.  unit: relu
 * normalised, NULL without norms.  out: unit times gain plus shift; without norms, `relu` itself.
 * scale[max_rows]: 1 / standard deviation of each row of relu. */
struct layer_tape { double *relu, *unit, *out; double *scale; };

struct mlp_tape {
    int rows, max_rows;
    double *x;                          /* the normalised input */
    struct layer_tape layer[NN_MAX_HIDDEN];
    double *out;
    /* For the backward pass through one layer.  d, d_in: the gradients with respect to its outputs
     * and its inputs.  transposed: its weights, transposed. */
    double *d, *d_in, *transposed;
};

/* --- Parameters ------------------------------------------------------------------------------- */

struct mlp *mlp_new(struct arena *a, const struct mlp_shape *shape)
{
    struct mlp *m = ARENA_NEW(a, struct mlp);
    int at = 0;
    m->shape = *shape;
    m->n_layers = shape->hidden + 1;
    if (shape->hidden < 1 || shape->hidden > NN_MAX_HIDDEN || shape->in < 1 || shape->out < 1)
        fail("a network of %d hidden layers, %d to %d", shape->hidden, shape->in, shape->out);
    for (int i = 0; i < m->n_layers; i++) {
        bool last = i == shape->hidden, norm = shape->norm && !last;
        struct mlp_layer *l = &m->layer[i];
        l->in = i == 0 ? shape->in : shape->width;
        l->out = last ? shape->out : shape->width;
        l->weight = at;
        l->bias = l->weight + l->in * l->out;
        l->gain = l->bias + l->out;
        l->shift = l->gain + (norm ? l->out : 0);
        at = l->shift + (norm ? l->out : 0);
    }
    m->extra = at;
    m->n = at + shape->extra;
    m->param = ARENA_ARRAY(a, double, m->n);
    m->grad = ARENA_ARRAY(a, double, m->n);
    return m;
}

struct mlp_tape *mlp_tape_new(struct arena *a, const struct mlp_shape *shape, int max_rows)
{
    struct mlp_tape *t = ARENA_NEW(a, struct mlp_tape);
    int width = shape->width, wide = width > shape->out ? width : shape->out;
    int most = shape->in > wide ? shape->in : wide;
    t->max_rows = max_rows;
    t->x = ARENA_ARRAY(a, double, max_rows * shape->in);
    for (int i = 0; i < shape->hidden; i++) {
        struct layer_tape *l = &t->layer[i];
        l->relu = ARENA_ARRAY(a, double, max_rows * width);
        l->unit = shape->norm ? ARENA_ARRAY(a, double, max_rows * width) : NULL;
        l->out = shape->norm ? ARENA_ARRAY(a, double, max_rows * width) : l->relu;
        l->scale = ARENA_ARRAY(a, double, max_rows);
    }
    t->out = ARENA_ARRAY(a, double, max_rows * shape->out);
    t->d = ARENA_ARRAY(a, double, max_rows * wide);
    t->d_in = ARENA_ARRAY(a, double, max_rows * wide);
    t->transposed = ARENA_ARRAY(a, double, most * wide);
    return t;
}

/* Uses the method of Box and Muller (1958), without the sine. */
double nn_gaussian(struct rng *r)
{
    double u = 1 - rng_unit(r), v = rng_unit(r);
    return sqrt(-2 * log(u)) * cos(TWO_PI * v);
}

/* Makes n vectors of length len orthonormal, by Gram-Schmidt.  A second pass over each vector
 * removes what rounding left. */
static void orthonormalise(double *x, int n, int len)
{
    for (int i = 0; i < n; i++) {
        double *v = x + (int64_t)i * len;
        for (int pass = 0; pass < 2; pass++)
            for (int j = 0; j < i; j++) {
                const double *u = x + (int64_t)j * len;
                double along = mat_dot(u, v, len);
                for (int k = 0; k < len; k++)
                    v[k] -= along * u[k];
            }
        double norm = sqrt(mat_dot(v, v, len));
        for (int k = 0; k < len; k++)
            v[k] /= norm;
    }
}

void nn_orthogonal(double *weight, int rows, int cols, double gain, struct rng *r)
{
    bool tall = rows >= cols;
    int n = tall ? cols : rows, len = tall ? rows : cols;
    double *x = xcalloc((size_t)n * (size_t)len, sizeof *x);
    for (int i = 0; i < n * len; i++)
        x[i] = nn_gaussian(r);
    orthonormalise(x, n, len);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            weight[i * cols + j] = gain * (tall ? x[j * len + i] : x[i * len + j]);
    free(x);
}

void mlp_init(struct mlp *m, struct rng *r, double head_gain)
{
    memset(m->param, 0, (size_t)m->n * sizeof *m->param);
    for (int i = 0; i < m->n_layers; i++) {
        const struct mlp_layer *l = &m->layer[i];
        double gain = i < m->shape.hidden ? sqrt(2) : head_gain;
        nn_orthogonal(m->param + l->weight, l->in, l->out, gain, r);
        for (int j = l->gain; j < l->shift; j++)
            m->param[j] = 1;
    }
}

void mlp_clear_grad(struct mlp *m)
{
    memset(m->grad, 0, (size_t)m->n * sizeof *m->grad);
}

/* --- Forward ---------------------------------------------------------------------------------- */

/* Stores unit = (x - mean) / standard deviation.  Returns 1 / standard deviation. */
static double normalise(double *unit, const double *x, int n)
{
    double mean = mat_sum(x, n) / n;
    for (int i = 0; i < n; i++)
        unit[i] = x[i] - mean;
    double scale = 1 / sqrt(mat_dot(unit, unit, n) / n + NN_NORM_EPSILON);
    for (int i = 0; i < n; i++)
        unit[i] *= scale;
    return scale;
}

/* Computes out = x weight + bias. */
static void linear(const struct mlp *m, const struct mlp_layer *l, double *out, const double *x,
                   int rows)
{
    for (int r = 0; r < rows; r++)
        memcpy(out + (int64_t)r * l->out, m->param + l->bias, (size_t)l->out * sizeof *out);
    mat_mul(out, (struct mat_view){ x, l->in, 1 }, m->param + l->weight, rows, l->out, l->in, true);
}

static void layer_forward(const struct mlp *m, int i, struct layer_tape *t, const double *x,
                          int rows)
{
    const struct mlp_layer *l = &m->layer[i];
    const double *gain = m->param + l->gain, *shift = m->param + l->shift;
    linear(m, l, t->relu, x, rows);
    for (int64_t k = 0; k < (int64_t)rows * l->out; k++)
        t->relu[k] = t->relu[k] > 0 ? t->relu[k] : 0;
    for (int r = 0; r < rows && m->shape.norm; r++) {
        double *unit = t->unit + (int64_t)r * l->out, *out = t->out + (int64_t)r * l->out;
        t->scale[r] = normalise(unit, t->relu + (int64_t)r * l->out, l->out);
        for (int k = 0; k < l->out; k++)
            out[k] = unit[k] * gain[k] + shift[k];
    }
}

const double *mlp_forward(const struct mlp *m, struct mlp_tape *t, const double *x, int rows)
{
    int in = m->shape.in;
    if (rows < 1 || rows > t->max_rows)
        fail("a batch of %d rows on a tape of %d", rows, t->max_rows);
    t->rows = rows;
    for (int r = 0; r < rows && m->shape.norm; r++)
        normalise(t->x + (int64_t)r * in, x + (int64_t)r * in, in);
    if (!m->shape.norm)
        memcpy(t->x, x, (size_t)rows * (size_t)in * sizeof *x);
    const double *from = t->x;
    for (int i = 0; i < m->shape.hidden; i++) {
        layer_forward(m, i, &t->layer[i], from, rows);
        from = t->layer[i].out;
    }
    linear(m, &m->layer[m->shape.hidden], t->out, from, rows);
    return t->out;
}

/* --- Backward --------------------------------------------------------------------------------- */

/* The backward pass through a norm.  d is the gradient with respect to the output of the norm; it
 * becomes the gradient with respect to its input x, the output of the ReLU.  Adds the gradients of
 * gain and shift to m->grad.
 *     u = (x - mean) / dev,   dx = (du - mean(du) - u mean(du u)) / dev. */
static void norm_backward(struct mlp *m, const struct mlp_layer *l, const struct layer_tape *t,
                          double *d, int rows)
{
    const double *gain = m->param + l->gain;
    double *d_gain = m->grad + l->gain, *d_shift = m->grad + l->shift;
    int n = l->out;
    for (int r = 0; r < rows; r++, d += n) {
        const double *unit = t->unit + (int64_t)r * n;
        for (int k = 0; k < n; k++) {
            d_gain[k] += d[k] * unit[k];
            d_shift[k] += d[k];
            d[k] *= gain[k];
        }
        double mean = mat_sum(d, n) / n, along = mat_dot(d, unit, n) / n;
        for (int k = 0; k < n; k++)
            d[k] = t->scale[r] * (d[k] - mean - unit[k] * along);
    }
}

/* The backward pass through a linear layer with inputs x.  d: the gradient with respect to its
 * outputs.  Adds the gradients of weight and bias to m->grad.  Stores the gradient with respect to
 * x in d_in, unless d_in is NULL. */
static void linear_backward(struct mlp *m, const struct mlp_layer *l, struct mlp_tape *t,
                            const double *x, const double *d, double *d_in)
{
    double *d_bias = m->grad + l->bias;
    for (int r = 0; r < t->rows; r++)
        for (int k = 0; k < l->out; k++)
            d_bias[k] += d[(int64_t)r * l->out + k];
    mat_mul(m->grad + l->weight, (struct mat_view){ x, 1, l->in }, d, l->in, l->out, t->rows, true);
    if (!d_in)
        return;
    mat_transpose(t->transposed, m->param + l->weight, l->in, l->out);
    mat_mul(d_in, (struct mat_view){ d, l->out, 1 }, t->transposed, t->rows, l->in, l->out, false);
}

void mlp_backward(struct mlp *m, struct mlp_tape *t, const double *d_out)
{
    int hidden = m->shape.hidden;
    linear_backward(m, &m->layer[hidden], t, t->layer[hidden - 1].out, d_out, t->d);
    for (int i = hidden - 1; i >= 0; i--) {
        const struct mlp_layer *l = &m->layer[i];
        const struct layer_tape *lt = &t->layer[i];
        if (m->shape.norm)
            norm_backward(m, l, lt, t->d, t->rows);
        for (int64_t k = 0; k < (int64_t)t->rows * l->out; k++)
            t->d[k] = lt->relu[k] > 0 ? t->d[k] : 0;
        linear_backward(m, l, t, i > 0 ? t->layer[i - 1].out : t->x, t->d, i > 0 ? t->d_in : NULL);
        double *swap = t->d;
        t->d = t->d_in;
        t->d_in = swap;
    }
}

/* --- Optimisers ------------------------------------------------------------------------------- */

double nn_clip(double *grad, int n, double max_norm)
{
    double norm = sqrt(mat_dot(grad, grad, n));
    for (int i = 0; i < n && norm > max_norm; i++)
        grad[i] *= max_norm / norm;
    return norm;
}

struct adam adam_new(struct arena *a, int n, double lr, double epsilon)
{
    return (struct adam){ .lr = lr, .beta1 = 0.9, .beta2 = 0.999, .epsilon = epsilon, .n = n,
                          .m = ARENA_ARRAY(a, double, n), .v = ARENA_ARRAY(a, double, n) };
}

void adam_step(struct adam *o, double *param, const double *grad)
{
    o->t++;
    double unbias1 = 1 / (1 - pow(o->beta1, (double)o->t));
    double unbias2 = 1 / (1 - pow(o->beta2, (double)o->t));
    for (int i = 0; i < o->n; i++) {
        o->m[i] = o->beta1 * o->m[i] + (1 - o->beta1) * grad[i];
        o->v[i] = o->beta2 * o->v[i] + (1 - o->beta2) * grad[i] * grad[i];
        param[i] -= o->lr * o->m[i] * unbias1 / (sqrt(o->v[i] * unbias2) + o->epsilon);
    }
}

struct adadelta adadelta_new(struct arena *a, int n, double lr)
{
    return (struct adadelta){ .lr = lr, .rho = 0.9, .epsilon = 1e-6, .n = n,
                              .square = ARENA_ARRAY(a, double, n),
                              .delta = ARENA_ARRAY(a, double, n) };
}

void adadelta_step(struct adadelta *o, double *param, const double *grad)
{
    for (int i = 0; i < o->n; i++) {
        o->square[i] = o->rho * o->square[i] + (1 - o->rho) * grad[i] * grad[i];
        double d = grad[i] * sqrt(o->delta[i] + o->epsilon) / sqrt(o->square[i] + o->epsilon);
        o->delta[i] = o->rho * o->delta[i] + (1 - o->rho) * d * d;
        param[i] -= o->lr * d;
    }
}
