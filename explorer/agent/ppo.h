/* Proximal policy optimisation (Schulman et al. 2017) as MAPPO uses it (Yu et al. 2022), SPEC E.3.
 * The action of an actor is a real number (Gaussian head) or one of a few directions (categorical
 * head).  A critic estimates values.
 *
 * An actor maximises, over a batch of transitions,
 *     mean of min(rho A, clip(rho, 1 - eps, 1 + eps) A) + entropy_coef * mean entropy,
 *     rho = pi(action | x) / pi_old(action | x),    A: GAE advantages, standardised.
 * A critic minimises, over targets R = A + V_old,
 *     value_coef * mean of max(huber(R - V), huber(R - clip(V, V_old - eps, V_old + eps))).
 * Its values and targets are in the units of a value_norm.  All rows of a batch are one mini-batch;
 * each epoch is one step of Adam. */
#ifndef TS_EXPLORER_AGENT_PPO_H
#define TS_EXPLORER_AGENT_PPO_H
#include "explorer/agent/nn.h"

#define PPO_CHUNK 128  /* rows of a tape: so few that the activations of the rows stay in cache */
#define PPO_LOG_STD_LEAST (-3.0)
#define PPO_LOG_STD_MOST 0.5

/* The numbers in the comments are the defaults. */
struct ppo_opts {
    double lr, adam_epsilon;            /* 5e-4, 1e-5: step size and epsilon of Adam */
    double clip;                        /* 0.2: eps in the formulas above */
    double entropy_coef, value_coef;    /* 0.01, 1 */
    double huber;                       /* 10: the largest error whose loss is quadratic */
    double max_grad_norm;               /* 10: a longer gradient is scaled down to this norm */
    double gamma, lambda;               /* 0.99, 0.95: of GAE (ppo_gae) */
    int epochs;                         /* 10: epochs of a training */
    double log_std;                     /* -0.5: log-std of a new Gaussian head, in [-3, 0.5] */
    double head_gain;                   /* 0.01: gain of the last layer of new networks */
    int width, hidden;                  /* 64 units in each of 2 hidden layers */
};
struct ppo_opts ppo_defaults(void);

/* --- Formulas --------------------------------------------------------------------------------- */

/* Returns min(ratio A, clip(ratio, 1 - clip, 1 + clip) A), where A is the advantage. */
double ppo_objective(double ratio, double advantage, double clip);
/* Returns e^2 / 2 if |e| <= delta, else delta (|e| - delta / 2). */
double ppo_huber(double e, double delta);
/* Returns the clipped Huber loss of one value (the max above), without value_coef.  *slope gets its
 * derivative with respect to the value. */
double ppo_value_loss(double value, double old, double target, const struct ppo_opts *o,
                      double *slope);
/* Computes the advantages of a trajectory of n steps (generalised advantage estimation, GAE):
 *     advantage[t] = delta_t + gamma lambda advantage[t + 1],    advantage[n] = 0,
 *     delta_t = reward[t] + gamma value[t + 1] - value[t],       value[n] = value_end. */
void ppo_gae(const double *reward, const double *value, int n, double value_end,
             const struct ppo_opts *o, double *advantage);
/* Replaces each x by (x - mean) / (standard deviation + 1e-5). */
void ppo_standardise(double *x, int n);

/* Running mean and standard deviation of returns, by which returns are normalised.  Each batch has
 * the same weight, but the weight of a batch decays by 0.99999 with every later batch.  mean,
 * square: weighted sums over the batches of the mean of x and of x^2.  weight: the sum of the
 * weights; 0: no batch was added yet, and value_norm_in and value_norm_out return x. */
struct value_norm { double mean, square, weight; };
void value_norm_add(struct value_norm *v, const double *x, int n);
double value_norm_in(const struct value_norm *v, double x);  /* converts to normalised units */
double value_norm_out(const struct value_norm *v, double x);  /* converts from normalised units */

/* --- Actors ----------------------------------------------------------------------------------- */

enum actor_head { HEAD_GAUSSIAN, HEAD_CATEGORICAL };

/* An actor.  Gaussian head: the network has one output, the mean; the log-std is
 * net->param[net->extra].  Categorical head: the network has an output for each choice. */
struct actor { enum actor_head head; struct mlp *net; struct adam adam; };

/* value: the real action, or the index of the choice.  log_prob: the logarithm of its probability
 * (Gaussian head: of its density) under the policy that took the action. */
struct action { double value, log_prob; };

/* Transitions, one a row. */
struct actor_batch {
    int rows;
    const double *x;                    /* [rows][in]: inputs of the network */
    const struct action *action;        /* [rows] */
    const int *n_choices;               /* [rows]: valid choices; a Gaussian head ignores them */
    const double *advantage;            /* [rows] */
};

/* Statistics of a batch, with the weights before a step of Adam.  clipped: the fraction of the rows
 * whose rho is outside of 1 +- eps. */
struct actor_report { double loss, entropy, clipped; };

/* Creates an actor in arena a; `o` has the shape of its network.  A tape that is used with the
 * actor must have PPO_CHUNK rows. */
struct actor *actor_new(struct arena *a, enum actor_head head, int in, int out,
                        const struct ppo_opts *o, struct rng *r);
/* Draws an action at input x.  n_choices: number of valid choices; ignored by a Gaussian head. */
struct action actor_act(const struct actor *p, struct mlp_tape *t, const double *x, int n_choices,
                        struct rng *r);
/* Returns the log-probability of the action `value` at input x.  Stores the entropy of the policy
 * at x in *entropy, unless `entropy` is NULL. */
double actor_log_prob(const struct actor *p, struct mlp_tape *t, const double *x, int n_choices,
                      double value, double *entropy);
/* Returns the loss, which is the objective above times -1, with other statistics.  Adds the
 * gradient of the loss to p->net->grad. */
struct actor_report actor_loss(struct actor *p, struct mlp_tape *t, const struct actor_batch *b,
                               const struct ppo_opts *o);
/* Makes o->epochs steps of Adam.  Returns the report of the last step. */
struct actor_report actor_train(struct actor *p, struct mlp_tape *t, const struct actor_batch *b,
                                const struct ppo_opts *o);

/* --- The critic ------------------------------------------------------------------------------- */

struct critic { struct mlp *net; struct adam adam; };

/* A batch of the critic.  old: its values before the training (V_old); target: R.  Both are in
 * units of the value_norm. */
struct critic_batch { int rows; const double *x, *old, *target; };

struct critic *critic_new(struct arena *a, int in, const struct ppo_opts *o, struct rng *r);
/* Stores the critic's value of each row, in units of the value_norm. */
void critic_values(const struct critic *c, struct mlp_tape *t, const double *x, int rows,
                   double *value);
/* critic_loss returns the loss above and adds its gradient to c->net->grad.  critic_train makes
 * o->epochs steps of Adam and returns the loss before the last step. */
double critic_loss(struct critic *c, struct mlp_tape *t, const struct critic_batch *b,
                   const struct ppo_opts *o);
double critic_train(struct critic *c, struct mlp_tape *t, const struct critic_batch *b,
                    const struct ppo_opts *o);
#endif
