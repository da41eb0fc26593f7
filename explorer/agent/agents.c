#include "explorer/agent/agents_impl.h"

#include <math.h>
#include <string.h>

#define LAYOUT_IN (LAYOUT_STATE + OP_FEATURES + LAYOUT_KNOBS)
#define LOOP_IN (LOOP_STATE + OP_FEATURES + LOOP_KNOBS)
#define CRITIC_IN (LOOP_STATE + OP_FEATURES + KNOB_KINDS + 1)
#define OP_STAGE 10                     /* index in `op` of the stage of the episode */
#define LEAST_REWARD (-4.0)

struct agents_opts agents_defaults(void)
{
    return (struct agents_opts){ .ppo = ppo_defaults(), .layout_batch = 4 };
}

struct agents *agents_new(uint64_t seed, const struct agents_opts *o)
{
    struct arena *a = arena_new();
    struct agents *g = ARENA_NEW(a, struct agents);
    g->a = a;
    g->scratch = arena_new();
    g->o = o ? *o : agents_defaults();
    g->rng = rng_seed(seed);
    struct rng weights = rng_seed(seed ^ 0x77656967687473u);
    const struct ppo_opts *p = &g->o.ppo;
    for (int k = 0; k < KNOB_KINDS; k++)
        g->actor[k] = actor_new(a, HEAD_CATEGORICAL, LOOP_IN, AGENT_DIRECTIONS, p, &weights);
    g->actor[LAYOUT_KIND] = actor_new(a, HEAD_GAUSSIAN, LAYOUT_IN, 1, p, &weights);
    g->critic = critic_new(a, CRITIC_IN, p, &weights);
    g->layout_tape = mlp_tape_new(a, &g->actor[LAYOUT_KIND]->net->shape, PPO_CHUNK);
    g->loop_tape = mlp_tape_new(a, &g->actor[0]->net->shape, PPO_CHUNK);
    g->critic_tape = mlp_tape_new(a, &g->critic->net->shape, PPO_CHUNK);
    g->stats.layout_entropy = g->stats.loop_entropy = NAN;
    g->stats.value_loss = g->stats.clipped = NAN;
    agents_forget(g);
    return g;
}

void agents_free(struct agents *g)
{
    if (!g)
        return;
    vec_free(&g->layout);
    vec_free(&g->loop);
    vec_free(&g->candidate);
    arena_free(g->scratch);
    arena_free(g->a);
}

double agents_reward(double latency, double reference)
{
    double r = 1 - latency / reference;
    return r >= LEAST_REWARD ? fmin(r, 1) : LEAST_REWARD;      /* LEAST_REWARD also if r is NAN */
}

double agents_fraction(double u)
{
    return 1 / (1 + exp(-u));
}

double agents_log_fraction(double u, double extent)
{
    return pow(extent, agents_fraction(u) - 1);
}

struct agent_stats agents_stats(const struct agents *g)
{
    return g->stats;
}

static void adam_reset(struct adam *o)
{
    memset(o->m, 0, (size_t)o->n * sizeof *o->m);
    memset(o->v, 0, (size_t)o->n * sizeof *o->v);
    o->t = 0;
}

void agents_forget(struct agents *g)
{
    for (int k = 0; k <= LAYOUT_KIND; k++)
        adam_reset(&g->actor[k]->adam);
    adam_reset(&g->critic->adam);
    vec_clear(&g->layout);
    vec_clear(&g->candidate);
    vec_push(&g->candidate, 0);
    g->rewarded = g->layouts = 0;
    agents_loop_episode_drop(g);
}


static double *put(double *to, const float *x, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = (double)x[i];
    return to + n;
}

static double *put_one_hot(double *to, int which, int n)
{
    memset(to, 0, (size_t)n * sizeof *to);
    to[which] = 1;
    return to + n;
}

static void actor_input(const struct agent_row *r, double *x)
{
    bool layout = r->kind == LAYOUT_KIND;
    x = put(x, r->state, layout ? LAYOUT_STATE : LOOP_STATE);
    x = put(x, r->op, OP_FEATURES);
    put_one_hot(x, r->place, layout ? LAYOUT_KNOBS : LOOP_KNOBS);
}

static void critic_input(const struct agent_row *r, double *x)
{
    x = put(x, r->state, LOOP_STATE);
    x = put(x, r->op, OP_FEATURES);
    put_one_hot(x, r->kind, KNOB_KINDS + 1);
}

static struct agent_row row_new(int kind, int place, const float *state, int n_state,
                                const float *op)
{
    struct agent_row r = { .kind = kind, .place = place, .ends = kind == LAYOUT_KIND };
    memcpy(r.state, state, (size_t)n_state * sizeof *state);
    memcpy(r.op, op, OP_FEATURES * sizeof *op);
    r.op[OP_STAGE] = kind == LAYOUT_KIND ? (float)place / 8 : 0;
    return r;
}

static struct mlp_tape *tape_of(struct agents *g, int kind)
{
    return kind == LAYOUT_KIND ? g->layout_tape : g->loop_tape;
}

static void decide(struct agents *g, struct agent_row *r)
{
    double x[LOOP_IN + LAYOUT_IN];
    actor_input(r, x);
    r->action = actor_act(g->actor[r->kind], tape_of(g, r->kind), x, r->n_choices, &g->rng);
}

/* --- Training --------------------------------------------------------------------------------- */

/* The n rows of one path in the order of time: row[t] is the index of a row; the other arrays have
 * its reward, value and advantage. */
struct path { int n; int *row; double *reward, *value, *advantage; };

static void path_advantages(const struct agents *g, const struct agent_row *row, int n, int path,
                            struct path *p, const double *value, double *advantage)
{
    p->n = 0;
    for (int i = 0; i < n; i++)
        if (row[i].path == path) {
            p->row[p->n] = i;
            p->reward[p->n] = row[i].reward;
            p->value[p->n++] = value[i];
        }
    if (p->n == 0)
        return;
    bool ends = row[p->row[0]].ends;
    ppo_gae(p->reward, p->value, p->n, ends ? 0 : p->value[p->n - 1], &g->o.ppo, p->advantage);
    for (int t = 0; t < p->n; t++)
        advantage[p->row[t]] = p->advantage[t];
}

void agents_advantages(struct agents *g, const struct agent_row *row, int n, const double *value,
                       double *advantage)
{
    struct arena *a = g->scratch;
    struct path p = { 0, ARENA_ARRAY(a, int, n), ARENA_ARRAY(a, double, n),
                      ARENA_ARRAY(a, double, n), ARENA_ARRAY(a, double, n) };
    int paths = 0;
    for (int i = 0; i < n; i++)
        paths = row[i].path >= paths ? row[i].path + 1 : paths;
    for (int path = 0; path < paths; path++)
        path_advantages(g, row, n, path, &p, value, advantage);
}

/* Trains the actor of one kind on the rows of this kind.  Adds the report of the training to *sum,
 * weighted by the share of these rows in all n rows. */
static void train_actor(struct agents *g, const struct agent_row *row, int n, int kind,
                        const double *advantage, struct actor_report *sum)
{
    struct arena *a = g->scratch;
    struct actor *p = g->actor[kind];
    int in = p->net->shape.in, rows = 0;
    for (int i = 0; i < n; i++)
        rows += row[i].kind == kind;
    if (rows == 0)
        return;
    double *x = ARENA_ARRAY(a, double, rows * in), *adv = ARENA_ARRAY(a, double, rows);
    struct action *action = ARENA_ARRAY(a, struct action, rows);
    int *n_choices = ARENA_ARRAY(a, int, rows), at = 0;
    for (int i = 0; i < n; i++)
        if (row[i].kind == kind) {
            actor_input(&row[i], x + (int64_t)at * in);
            action[at] = row[i].action;
            n_choices[at] = row[i].n_choices;
            adv[at++] = advantage[i];
        }
    struct actor_batch b = { rows, x, action, n_choices, adv };
    struct actor_report report = actor_train(p, tape_of(g, kind), &b, &g->o.ppo);
    sum->entropy += report.entropy * rows / n;
    sum->clipped += report.clipped * rows / n;
}

/* Trains every actor on its rows, and the critic on all rows.  All values are computed with the old
 * critic and the old value norm.  The new returns are added to the norm before the critic learns
 * them.  Returns the sum of the actors' reports. */
static struct actor_report train(struct agents *g, const struct agent_row *row, int n,
                                 struct value_norm *norm)
{
    struct arena *a = g->scratch;
    double *x = ARENA_ARRAY(a, double, n * CRITIC_IN), *old = ARENA_ARRAY(a, double, n);
    double *value = ARENA_ARRAY(a, double, n), *advantage = ARENA_ARRAY(a, double, n);
    double *target = ARENA_ARRAY(a, double, n);
    struct actor_report sum = {0};
    for (int i = 0; i < n; i++)
        critic_input(&row[i], x + (int64_t)i * CRITIC_IN);
    critic_values(g->critic, g->critic_tape, x, n, old);
    for (int i = 0; i < n; i++)
        value[i] = value_norm_out(norm, old[i]);
    agents_advantages(g, row, n, value, advantage);
    for (int i = 0; i < n; i++)
        target[i] = value[i] + advantage[i];
    value_norm_add(norm, target, n);
    for (int i = 0; i < n; i++)
        target[i] = value_norm_in(norm, target[i]);
    ppo_standardise(advantage, n);
    for (int kind = 0; kind <= LAYOUT_KIND; kind++)
        train_actor(g, row, n, kind, advantage, &sum);
    struct critic_batch b = { n, x, old, target };
    g->stats.value_loss = critic_train(g->critic, g->critic_tape, &b, &g->o.ppo);
    g->stats.clipped = sum.clipped;
    g->stats.trainings++;
    arena_reset(a);
    return sum;
}

/* --- Layouts ---------------------------------------------------------------------------------- */

double agents_layout_act(struct agents *g, const float state[LAYOUT_STATE],
                         const float op[OP_FEATURES], int action)
{
    if (action < 0 || action >= LAYOUT_KNOBS)
        fail("layout action %d", action);
    struct agent_row r = row_new(LAYOUT_KIND, action, state, LAYOUT_STATE, op);
    r.path = g->layouts;
    decide(g, &r);
    vec_push(&g->layout, r);
    return r.action.value;
}

void agents_layout_begin(struct agents *g)
{
    if (g->layout.len > g->candidate.data[g->candidate.len - 1])
        vec_push(&g->candidate, g->layout.len);
}

void agents_layout_keep(struct agents *g, int candidate)
{
    if (candidate < 0 || candidate >= g->candidate.len)
        fail("candidate %d of %d", candidate, g->candidate.len);
    int from = g->candidate.data[candidate];
    int to = candidate + 1 < g->candidate.len ? g->candidate.data[candidate + 1] : g->layout.len;
    memmove(g->layout.data + g->rewarded, g->layout.data + from,
            (size_t)(to - from) * sizeof *g->layout.data);
    g->layout.len = g->rewarded + to - from;
    g->candidate.len = 1;
}

void agents_layout_drop(struct agents *g)
{
    g->layout.len = g->rewarded;
    g->candidate.len = 1;
    g->candidate.data[0] = g->rewarded;
}

void agents_layout_end(struct agents *g)
{
    if (g->rewarded > 0)
        g->stats.layout_entropy = train(g, g->layout.data, g->rewarded, &g->layout_norm).entropy;
    g->rewarded = g->layouts = 0;
    agents_layout_drop(g);
}

void agents_layout_reward(struct agents *g, double r)
{
    agents_layout_keep(g, g->candidate.len - 1);
    if (g->layout.len == g->rewarded)
        return;
    g->layout.data[g->layout.len - 1].reward = r;
    g->rewarded = g->layout.len;
    g->layouts++;
    g->stats.episodes++;
    if (g->layouts == g->o.layout_batch)
        agents_layout_end(g);
    g->candidate.data[0] = g->layout.len;
}

/* --- Loops ------------------------------------------------------------------------------------ */

int agents_loop_act(struct agents *g, enum knob_kind kind, int knob, const float state[LOOP_STATE],
                    const float op[OP_FEATURES], int n_directions)
{
    if (kind >= KNOB_KINDS || knob < 0 || knob >= LOOP_KNOBS || n_directions < 1
        || n_directions > AGENT_DIRECTIONS)
        fail("knob %d of kind %d with %d directions", knob, kind, n_directions);
    struct agent_row r = row_new((int)kind, knob, state, LOOP_STATE, op);
    r.path = g->walk * LOOP_KNOBS + knob;
    r.n_choices = n_directions;
    decide(g, &r);
    g->last[knob] = g->loop.len;
    vec_push(&g->loop, r);
    return (int)r.action.value;
}

void agents_loop_step_end(struct agents *g, double r)
{
    for (int k = 0; k < LOOP_KNOBS; k++)
        if (g->last[k] >= 0)
            g->loop.data[g->last[k]].reward += r;
}

void agents_loop_walk_end(struct agents *g)
{
    for (int i = g->walk_from; i < g->loop.len; i++)
        g->loop.data[i].ends = true;
    g->walk += g->loop.len > g->walk_from;
    g->walk_from = g->loop.len;
    for (int k = 0; k < LOOP_KNOBS; k++)
        g->last[k] = -1;
}

void agents_loop_episode_end(struct agents *g)
{
    if (g->loop.len > 0) {
        g->stats.loop_entropy = train(g, g->loop.data, g->loop.len, &g->loop_norm).entropy;
        g->stats.episodes++;
    }
    agents_loop_episode_drop(g);
}

void agents_loop_episode_drop(struct agents *g)
{
    vec_clear(&g->loop);
    agents_loop_walk_end(g);
    g->walk = 0;
}

/* --- Policies --------------------------------------------------------------------------------- */

void agents_loop_policy(struct agents *g, enum knob_kind kind, int knob,
                        const float state[LOOP_STATE], const float op[OP_FEATURES],
                        int n_directions, double *probability)
{
    struct agent_row r = row_new((int)kind, knob, state, LOOP_STATE, op);
    double x[LOOP_IN];
    actor_input(&r, x);
    for (int i = 0; i < n_directions; i++)
        probability[i] = exp(actor_log_prob(g->actor[kind], g->loop_tape, x, n_directions, i,
                                            NULL));
}

void agents_layout_policy(struct agents *g, const float state[LAYOUT_STATE],
                          const float op[OP_FEATURES], int action, double *mean, double *deviation)
{
    struct agent_row r = row_new(LAYOUT_KIND, action, state, LAYOUT_STATE, op);
    const struct mlp *net = g->actor[LAYOUT_KIND]->net;
    double x[LAYOUT_IN];
    actor_input(&r, x);
    *mean = mlp_forward(net, g->layout_tape, x, 1)[0];
    *deviation = exp(net->param[net->extra]);
}
