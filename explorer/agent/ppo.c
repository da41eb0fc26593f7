#include "explorer/agent/ppo.h"

#include <math.h>
#include <string.h>

#define HALF_LOG_TWO_PI 0.9189385332046727
#define VALUE_DECAY 0.99999
#define LEAST_VARIANCE 1e-2             /* least variance of a value_norm, as in MAPPO */
#define MOST_CHOICES 64

struct ppo_opts ppo_defaults(void)
{
    return (struct ppo_opts){
        .lr = 5e-4, .adam_epsilon = 1e-5, .clip = 0.2, .entropy_coef = 0.01, .value_coef = 1,
        .huber = 10, .max_grad_norm = 10, .gamma = 0.99, .lambda = 0.95, .epochs = 10,
        .log_std = -0.5, .head_gain = 0.01, .width = 64, .hidden = 2,
    };
}

/* --- Formulas --------------------------------------------------------------------------------- */

static double clamp(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

double ppo_objective(double ratio, double advantage, double clip)
{
    return fmin(ratio * advantage, clamp(ratio, 1 - clip, 1 + clip) * advantage);
}

double ppo_huber(double e, double delta)
{
    double size = fabs(e);
    return size <= delta ? e * e / 2 : delta * (size - delta / 2);
}

double ppo_value_loss(double value, double old, double target, const struct ppo_opts *o,
                      double *slope)
{
    double near = clamp(value, old - o->clip, old + o->clip);
    double free_loss = ppo_huber(target - value, o->huber);
    double near_loss = ppo_huber(target - near, o->huber);
    /* moves: whether the loss depends on the value; the clipped loss, if larger, does not */
    bool moves = free_loss >= near_loss;
    *slope = moves ? -clamp(target - value, -o->huber, o->huber) : 0;
    return moves ? free_loss : near_loss;
}

void ppo_gae(const double *reward, const double *value, int n, double value_end,
             const struct ppo_opts *o, double *advantage)
{
    double next_value = value_end, next = 0;
    for (int t = n - 1; t >= 0; t--) {
        double delta = reward[t] + o->gamma * next_value - value[t];
        next = advantage[t] = delta + o->gamma * o->lambda * next;
        next_value = value[t];
    }
}

void ppo_standardise(double *x, int n)
{
    double mean = 0, square = 0;
    for (int i = 0; i < n; i++)
        mean += x[i] / n;
    for (int i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean) / n;
    for (int i = 0; i < n; i++)
        x[i] = (x[i] - mean) / (sqrt(square) + 1e-5);
}

void value_norm_add(struct value_norm *v, const double *x, int n)
{
    double mean = 0, square = 0;
    for (int i = 0; i < n; i++) {
        mean += x[i] / n;
        square += x[i] * x[i] / n;
    }
    v->mean = VALUE_DECAY * v->mean + (1 - VALUE_DECAY) * mean;
    v->square = VALUE_DECAY * v->square + (1 - VALUE_DECAY) * square;
    v->weight = VALUE_DECAY * v->weight + (1 - VALUE_DECAY);
}

static void value_norm_scale(const struct value_norm *v, double *mean, double *deviation)
{
    *mean = 0;
    *deviation = 1;
    if (v->weight > 0) {
        *mean = v->mean / v->weight;
        *deviation = sqrt(fmax(v->square / v->weight - *mean * *mean, LEAST_VARIANCE));
    }
}

double value_norm_in(const struct value_norm *v, double x)
{
    double mean, deviation;
    value_norm_scale(v, &mean, &deviation);
    return (x - mean) / deviation;
}

double value_norm_out(const struct value_norm *v, double x)
{
    double mean, deviation;
    value_norm_scale(v, &mean, &deviation);
    return x * deviation + mean;
}

/* --- Heads ------------------------------------------------------------------------------------ */

/* What the policy says of one row: the log-probability of its action, and the policy's entropy. */
struct opinion { double log_prob, entropy; };

/* Computes log_p[n] = log softmax(logit). */
static void log_softmax(const double *logit, int n, double *log_p)
{
    double most = logit[0], sum = 0;
    for (int i = 1; i < n; i++)
        most = fmax(most, logit[i]);
    for (int i = 0; i < n; i++)
        sum += exp(logit[i] - most);
    for (int i = 0; i < n; i++)
        log_p[i] = logit[i] - most - log(sum);
}

static double entropy_of(const double *log_p, int n)
{
    double h = 0;
    for (int i = 0; i < n; i++)
        h -= exp(log_p[i]) * log_p[i];
    return h;
}

static struct opinion gaussian_at(double mean, double log_std, double u)
{
    double z = (u - mean) / exp(log_std);
    return (struct opinion){ -z * z / 2 - log_std - HALF_LOG_TWO_PI,
                             0.5 + HALF_LOG_TWO_PI + log_std };
}

static struct opinion opinion_at(const struct actor *p, const double *out, int n_choices, double u)
{
    double log_p[MOST_CHOICES];
    if (p->head == HEAD_GAUSSIAN)
        return gaussian_at(out[0], p->net->param[p->net->extra], u);
    log_softmax(out, n_choices, log_p);
    return (struct opinion){ log_p[(int)u], entropy_of(log_p, n_choices) };
}

/* Stores d_out[] = by_log_prob * d log_prob / d out + by_entropy * d entropy / d out.  For a
 * Gaussian head, also adds the same sum of derivatives with respect to the log-std to *d_log_std.
 *     d log p_a / d logit_i = [i = a] - p_i        d H / d logit_i = -p_i (log p_i + H)
 *     d log p / d mean = z / std                   d log p / d log-std = z^2 - 1
 *                                                  d H / d log-std = 1 */
static void opinion_backward(const struct actor *p, const double *out, int n_choices, double u,
                             double by_log_prob, double by_entropy, double *d_out,
                             double *d_log_std)
{
    if (p->head == HEAD_GAUSSIAN) {
        double std = exp(p->net->param[p->net->extra]), z = (u - out[0]) / std;
        d_out[0] = by_log_prob * z / std;
        *d_log_std += by_log_prob * (z * z - 1) + by_entropy;
        return;
    }
    double log_p[MOST_CHOICES];
    log_softmax(out, n_choices, log_p);
    double h = entropy_of(log_p, n_choices);
    for (int i = 0; i < p->net->shape.out; i++) {
        double prob = i < n_choices ? exp(log_p[i]) : 0;
        d_out[i] = i < n_choices ? by_log_prob * ((i == (int)u) - prob)
                                   - by_entropy * prob * (log_p[i] + h) : 0;
    }
}

/* --- Actors ----------------------------------------------------------------------------------- */

struct actor *actor_new(struct arena *a, enum actor_head head, int in, int out,
                        const struct ppo_opts *o, struct rng *r)
{
    struct mlp_shape shape = { .in = in, .out = out, .width = o->width, .hidden = o->hidden,
                               .norm = true, .extra = head == HEAD_GAUSSIAN };
    struct actor *p = ARENA_NEW(a, struct actor);
    if (out > MOST_CHOICES)
        fail("an actor with %d choices", out);
    p->head = head;
    p->net = mlp_new(a, &shape);
    mlp_init(p->net, r, o->head_gain);
    if (head == HEAD_GAUSSIAN)
        p->net->param[p->net->extra] = clamp(o->log_std, PPO_LOG_STD_LEAST, PPO_LOG_STD_MOST);
    p->adam = adam_new(a, p->net->n, o->lr, o->adam_epsilon);
    return p;
}

static int draw(const double *logit, int n, struct rng *r)
{
    double log_p[MOST_CHOICES], left = rng_unit(r);
    log_softmax(logit, n, log_p);
    for (int i = 0; i < n - 1; i++) {
        left -= exp(log_p[i]);
        if (left < 0)
            return i;
    }
    return n - 1;
}

struct action actor_act(const struct actor *p, struct mlp_tape *t, const double *x, int n_choices,
                        struct rng *r)
{
    const double *out = mlp_forward(p->net, t, x, 1);
    struct action act;
    if (p->head == HEAD_GAUSSIAN)
        act.value = out[0] + exp(p->net->param[p->net->extra]) * nn_gaussian(r);
    else
        act.value = draw(out, n_choices, r);
    act.log_prob = opinion_at(p, out, n_choices, act.value).log_prob;
    return act;
}

double actor_log_prob(const struct actor *p, struct mlp_tape *t, const double *x, int n_choices,
                      double value, double *entropy)
{
    struct opinion say = opinion_at(p, mlp_forward(p->net, t, x, 1), n_choices, value);
    if (entropy)
        *entropy = say.entropy;
    return say.log_prob;
}

/* Adds the loss and entropy of row k to *sum, counts the row if its ratio is clipped, and stores
 * d loss / d out of this row in d_out. */
static void row_loss(struct actor *p, const struct actor_batch *b, int k, const double *out,
                     const struct ppo_opts *o, struct actor_report *sum, double *d_out)
{
    int n_choices = b->n_choices ? b->n_choices[k] : 0;
    double u = b->action[k].value, adv = b->advantage[k];
    struct opinion say = opinion_at(p, out, n_choices, u);
    double ratio = exp(say.log_prob - b->action[k].log_prob);
    double objective = ppo_objective(ratio, adv, o->clip);
    /* moves: whether the objective depends on the ratio; the clipped ratio is a constant */
    bool moves = ratio * adv <= objective;
    sum->loss -= objective + o->entropy_coef * say.entropy;
    sum->entropy += say.entropy;
    sum->clipped += fabs(ratio - 1) > o->clip;
    opinion_backward(p, out, n_choices, u, moves ? -ratio * adv / b->rows : 0,
                     -o->entropy_coef / b->rows, d_out, &p->net->grad[p->net->extra]);
}

struct actor_report actor_loss(struct actor *p, struct mlp_tape *t, const struct actor_batch *b,
                               const struct ppo_opts *o)
{
    struct actor_report sum = {0};
    int in = p->net->shape.in, n_out = p->net->shape.out;
    double d_out[PPO_CHUNK * MOST_CHOICES];
    for (int from = 0; from < b->rows; from += PPO_CHUNK) {
        int rows = b->rows - from < PPO_CHUNK ? b->rows - from : PPO_CHUNK;
        const double *out = mlp_forward(p->net, t, b->x + (int64_t)from * in, rows);
        for (int r = 0; r < rows; r++)
            row_loss(p, b, from + r, out + r * n_out, o, &sum, d_out + r * n_out);
        mlp_backward(p->net, t, d_out);
    }
    return (struct actor_report){ sum.loss / b->rows, sum.entropy / b->rows,
                                  sum.clipped / b->rows };
}

static void net_step(struct mlp *net, struct adam *adam, const struct ppo_opts *o)
{
    nn_clip(net->grad, net->n, o->max_grad_norm);
    adam_step(adam, net->param, net->grad);
}

struct actor_report actor_train(struct actor *p, struct mlp_tape *t, const struct actor_batch *b,
                                const struct ppo_opts *o)
{
    struct actor_report report = {0};
    for (int epoch = 0; epoch < o->epochs && b->rows > 0; epoch++) {
        mlp_clear_grad(p->net);
        report = actor_loss(p, t, b, o);
        net_step(p->net, &p->adam, o);
        if (p->head == HEAD_GAUSSIAN) {
            double *log_std = &p->net->param[p->net->extra];
            *log_std = clamp(*log_std, PPO_LOG_STD_LEAST, PPO_LOG_STD_MOST);
        }
    }
    return report;
}

/* --- The critic ------------------------------------------------------------------------------- */

struct critic *critic_new(struct arena *a, int in, const struct ppo_opts *o, struct rng *r)
{
    struct mlp_shape shape = { .in = in, .out = 1, .width = o->width, .hidden = o->hidden,
                               .norm = true };
    struct critic *c = ARENA_NEW(a, struct critic);
    c->net = mlp_new(a, &shape);
    mlp_init(c->net, r, o->head_gain);
    c->adam = adam_new(a, c->net->n, o->lr, o->adam_epsilon);
    return c;
}

void critic_values(const struct critic *c, struct mlp_tape *t, const double *x, int rows,
                   double *value)
{
    for (int from = 0; from < rows; from += PPO_CHUNK) {
        int n = rows - from < PPO_CHUNK ? rows - from : PPO_CHUNK;
        const double *out = mlp_forward(c->net, t, x + (int64_t)from * c->net->shape.in, n);
        memcpy(value + from, out, (size_t)n * sizeof *value);
    }
}

double critic_loss(struct critic *c, struct mlp_tape *t, const struct critic_batch *b,
                   const struct ppo_opts *o)
{
    double sum = 0, d_out[PPO_CHUNK];
    for (int from = 0; from < b->rows; from += PPO_CHUNK) {
        int rows = b->rows - from < PPO_CHUNK ? b->rows - from : PPO_CHUNK;
        const double *out = mlp_forward(c->net, t, b->x + (int64_t)from * c->net->shape.in, rows);
        for (int r = 0; r < rows; r++) {
            sum += ppo_value_loss(out[r], b->old[from + r], b->target[from + r], o, &d_out[r]);
            d_out[r] *= o->value_coef / b->rows;
        }
        mlp_backward(c->net, t, d_out);
    }
    return o->value_coef * sum / b->rows;
}

double critic_train(struct critic *c, struct mlp_tape *t, const struct critic_batch *b,
                    const struct ppo_opts *o)
{
    double loss = 0;
    for (int epoch = 0; epoch < o->epochs && b->rows > 0; epoch++) {
        mlp_clear_grad(c->net);
        loss = critic_loss(c, t, b, o);
        net_step(c->net, &c->adam, o);
    }
    return loss;
}
