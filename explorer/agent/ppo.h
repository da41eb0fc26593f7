/* Proximal policy optimisation (Schulman et al. 2017) as MAPPO uses it (Yu et al. 2022), SPEC E.3:
 * an actor for a real action (Gaussian head) or for one of a few directions (categorical head), a
 * critic, and their objectives and training.
 *
 * An actor maximises, over a batch of transitions,
 *     mean of min(rho A, clip(rho, 1 - eps, 1 + eps) A) + entropy_coef * mean entropy,
 *     rho = pi(action | x) / pi_old(action | x),    A: GAE advantages, standardised.
 * A critic minimises, in units of its value_norm, over targets R = A + V_old,
 *     value_coef * mean of max(huber(R - V), huber(R - clip(V, V_old - eps, V_old + eps))).
 * All rows of a batch are one mini-batch; each epoch is one step of Adam. */
#ifndef TS_EXPLORER_AGENT_PPO_H
#define TS_EXPLORER_AGENT_PPO_H
#include "explorer/agent/nn.h"

#define PPO_CHUNK 128  /* rows of a tape; so few that their activations stay in cache */
#define PPO_LOG_STD_LEAST (-3.0)
#define PPO_LOG_STD_MOST 0.5

struct ppo_opts {
    double lr, adam_epsilon;            /* 5e-4, 1e-5 */
    double clip;                        /* eps above: 0.2 */
    double entropy_coef, value_coef;    /* 0.01, 1 */
    double huber;                       /* 10: the loss is quadratic up to here */
    double max_grad_norm;               /* 10 */
    double gamma, lambda;               /* 0.99, 0.95 */
    int epochs;                         /* 10 */
    double log_std;                     /* -0.5: log-std of a new Gaussian head, in [-3, 0.5] */
    double head_gain;                   /* 0.01: gain of the last layer of new networks */
    int width, hidden;                  /* 64 units, 2 layers */
};
struct ppo_opts ppo_defaults(void);

/* --- Formulas --------------------------------------------------------------------------------- */

/* Returns min(ratio A, clip(ratio, 1 - clip, 1 + clip) A), where A is the advantage. */
double ppo_objective(double ratio, double advantage, double clip);
/* Returns e^2 / 2 if |e| <= delta, else delta (|e| - delta / 2). */
double ppo_huber(double e, double delta);
/* Returns the clipped Huber loss of one value; *slope is the derivative by this value. */
double ppo_value_loss(double value, double old, double target, const struct ppo_opts *o,
                      double *slope);
/* Computes advantage[t] = delta_t + gamma lambda advantage[t + 1],
 * delta_t = reward[t] + gamma value[t + 1] - value[t], value[n] = value_end. */
void ppo_gae(const double *reward, const double *value, int n, double value_end,
             const struct ppo_opts *o, double *advantage);
/* Replaces each x by (x - mean) / (deviation + 1e-5). */
void ppo_standardise(double *x, int n);

/* Running mean and deviation of returns.  All batches have the same weight, except for a slow decay
 * (0.99999 per batch, unbiased).  While all three are 0, the norm is the identity. */
struct value_norm { double mean, square, weight; };
void value_norm_add(struct value_norm *v, const double *x, int n);
double value_norm_in(const struct value_norm *v, double x);  /* converts to normalised units */
double value_norm_out(const struct value_norm *v, double x);  /* converts from normalised units */

/* --- Actors ----------------------------------------------------------------------------------- */

enum actor_head { HEAD_GAUSSIAN, HEAD_CATEGORICAL };

/* An actor.  Gaussian: net has one output, the mean; log-std is param[extra] of net.  Categorical:
 * net has an output for each possible choice. */
struct actor { enum actor_head head; struct mlp *net; struct adam adam; };

/* value: the real action, or the index of the choice. */
struct action { double value, log_prob; };

/* Rows of transitions. n_choices: number of valid choices of each row; NULL for a Gaussian head. */
struct actor_batch {
    int rows;
    const double *x;                    /* [rows][in] */
    const struct action *action;        /* log_prob: under the policy that took the action */
    const int *n_choices;
    const double *advantage;
};

/* Statistics of the batch before the step. */
struct actor_report { double loss, entropy, clipped; };     /* clipped: fraction outside 1 +- eps */

/* Creates an actor in arena a with networks of the shape in o.  Its tape must have PPO_CHUNK
 * rows. */
struct actor *actor_new(struct arena *a, enum actor_head head, int in, int out,
                        const struct ppo_opts *o, struct rng *r);
struct action actor_act(const struct actor *p, struct mlp_tape *t, const double *x, int n_choices,
                        struct rng *r);
/* Returns the log-probability of a value; *entropy (may be NULL) is the policy's entropy at x. */
double actor_log_prob(const struct actor *p, struct mlp_tape *t, const double *x, int n_choices,
                      double value, double *entropy);
/* Returns the loss (the negated objective above) and adds its gradient to p->net->grad. */
struct actor_report actor_loss(struct actor *p, struct mlp_tape *t, const struct actor_batch *b,
                               const struct ppo_opts *o);
/* Makes o->epochs steps; returns the report of the last one. */
struct actor_report actor_train(struct actor *p, struct mlp_tape *t, const struct actor_batch *b,
                                const struct ppo_opts *o);

/* --- The critic ------------------------------------------------------------------------------- */

struct critic { struct mlp *net; struct adam adam; };

/* A batch of the critic; values are in normalised units. */
struct critic_batch { int rows; const double *x, *old, *target; };

struct critic *critic_new(struct arena *a, int in, const struct ppo_opts *o, struct rng *r);
void critic_values(const struct critic *c, struct mlp_tape *t, const double *x, int rows,
                   double *value);
double critic_loss(struct critic *c, struct mlp_tape *t, const struct critic_batch *b,
                   const struct ppo_opts *o);
double critic_train(struct critic *c, struct mlp_tape *t, const struct critic_batch *b,
                    const struct ppo_opts *o);
#endif
