/* Cross-exploration by agents (ALT 5.2, SPEC E.2, E.3).  The layout actor draws the splits of a
 * layout one after the other.  A round of a layout is an episode of 128 steps; in each step, one
 * actor moves its knob.  (If all knobs moved at once, the second point of a walk would have nothing
 * in common with the first.)  Points are drawn at random instead in the first round of a layout in
 * the joint stage, while points cannot be ranked, and while the layout has no point with a latency.
 * To stay near good points, an episode consists of walks of 8 steps, which start alternately at one
 * of the best points and at a random point.  The reward of a point that was not measured uses the
 * latency that the model predicts.
 *
 * With ALT's reward U - l and walks that start at good points, agents learn to stay at these
 * points, and soon propose nothing new.  Here no agent can stay, and the reward of a step is the
 * change that the step makes: (U - l_new) - (U - l_old).  Unless they are clipped, these rewards
 * add up over a walk to ALT's reward minus a constant, so that the same moves are best.  A move
 * gets the rewards of its own step and of the later steps in its walk.  Returning to a known point
 * has the same reward as becoming slower by the reference latency l_ref. */
#include "explorer/tune/strategies.h"
#include "explorer/agent/agents.h"
#include "explorer/tune/search_impl.h"

#include <math.h>

_Static_assert((int)LAYOUT_STATE == TUNE_LAYOUT_STATE, "the layout actor's state");
_Static_assert((int)LOOP_STATE == TUNE_POINT_STATE, "the loop actors' state");

enum { WALK = 8, ELITE = 8 };

struct ppo {
    struct agents *agents;
    VEC(int64_t *) drawn;  /* layouts that the actor drew since the last measured reward */
    int draws;  /* number of layouts drawn so far, by the actor or at random */
    double at;                           /* reward U - l of s->point, where the walk is now */
    struct str *out;                     /* receives the weights at the end, or NULL */
    int order[LOOP_KNOBS];               /* the order in which the knobs take turns now */
};

static const float no_features[OP_FEATURES];

static const float *op_of(const struct search *s)
{
    const float *op = s->p->features ? s->p->features(s->p->ctx) : NULL;
    return op ? op : no_features;
}

static void ppo_open(struct search *s, void *state)
{
    struct ppo *x = state;
    struct agents_opts o = agents_defaults();
    if (s->o.entropy > 0)
        o.ppo.entropy_coef = s->o.entropy;
    x->agents = agents_new(s->o.seed, &o);
    if (s->o.weights) {
        struct err e;
        agents_load(x->agents, s->o.weights, s->o.weights_bytes, NULL, &e);
    }
    x->out = s->o.weights_out;
}

static void ppo_close(void *state)
{
    struct ppo *x = state;
    if (x->out) {
        agents_layout_end(x->agents);
        agents_save(x->agents, "", x->out);
    }
    agents_free(x->agents);
    vec_free(&x->drawn);
}

/* --- Layouts -------------------------------------------------------------------------------- */

/* Draws a layout.  The factors that a new actor draws are near half of the extent (sigmoid(u), SPEC
 * E.3), and a search tries only a dozen layouts.  Therefore every second layout is drawn at
 * random. */
static bool ppo_layout(struct search *s, void *state, int64_t *factor)
{
    struct ppo *x = state;
    if (x->draws++ % 2)
        return strategy_random_layout(s, NULL, factor);
    double action[TUNE_MAX_LAYOUT_KNOBS];
    float seen[LAYOUT_STATE];
    if (x->drawn.len > 0)
        agents_layout_begin(x->agents);
    for (int i = 0; i < s->p->n_actions; i++) {
        s->p->layout_decode(s->p->ctx, action, i, factor);
        s->p->layout_state(s->p->ctx, factor, seen);
        action[i] = agents_fraction(agents_layout_act(x->agents, seen, op_of(s), i));
    }
    s->p->layout_decode(s->p->ctx, action, s->p->n_actions, factor);
    vec_push(&x->drawn, ARENA_DUP(s->keep, factor, TUNE_MAX_LAYOUT_KNOBS));
    return true;
}

static void ppo_layout_learn(struct search *s, void *state, const int64_t *factor, double reward,
                             bool measured)
{
    struct ppo *x = state;
    size_t bytes = (size_t)s->p->n_actions * sizeof *factor;
    int i = 0;
    if (!measured)
        return;
    while (i < x->drawn.len && memcmp(x->drawn.data[i], factor, bytes) != 0)
        i++;
    if (i < x->drawn.len) {
        agents_layout_keep(x->agents, i);
        agents_layout_reward(x->agents, reward);
    } else {
        agents_layout_drop(x->agents);
    }
    vec_clear(&x->drawn);
}

/* --- Loops ---------------------------------------------------------------------------------- */

static double reward_of(struct search *s, struct tune_candidate *c)
{
    if (c && c->trial >= 0)
        return search_reward(s, c->ms);
    if (c)
        search_score(s, &c, 1);
    return c && !c->illegal ? search_reward(s, search_latency(s, c->score)) : -4;
}

/* Returns the reward of a step from a point with reward `at` to a point with reward `now`.  It is
 * limited to [-1, 1], because large negative rewards would make the agents learn only to avoid
 * failures.  is_new: whether the second point was neither measured before nor proposed in this
 * round; an invalid point counts as new. */
static double earned(double at, double now, bool is_new)
{
    return is_new ? fmax(-1, fmin(now - at, 1)) : -1;
}

/* Sets s->next to s->point with one knob moved, if it can move, in the direction that its actor
 * chooses.  The knobs take turns; after all had a turn, their order is drawn anew. */
static void take_step(struct search *s, struct ppo *x, int arm, int step)
{
    float seen[LOOP_STATE];
    int n = s->p->n_knobs(s->p->ctx, arm), k = step % n;
    if (k == 0)
        for (int i = 0; i < n; i++) {
            int j = (int)rng_range(&s->rng, 0, i);
            x->order[i] = x->order[j];
            x->order[j] = i;
        }
    k = x->order[k];
    /* direction 0 does not move, and is no choice */
    int choices = s->p->directions(s->p->ctx, arm, k) - 1;
    memcpy(s->next, s->point, s->p->point_bytes);
    if (choices < 1)
        return;
    s->p->point_state(s->p->ctx, arm, s->next, seen);
    int direction = agents_loop_act(x->agents, s->p->knob_kind(s->p->ctx, arm, k), k, seen,
                                    op_of(s), choices);
    s->p->point_move(s->p->ctx, arm, s->next, k, 1 + direction);
}

/* Finds the fastest points of an arm; returns how many, at most ELITE. */
static int find_elite(struct search *s, int arm, const struct tune_candidate **out)
{
    const struct arm_state *a = &s->arm.data[arm];
    int n = 0;
    for (int i = 0; i < a->tried.len; i++) {
        const struct tune_candidate *c = a->tried.data[i];
        int at = n;
        if (!c->point || isinf(c->ms))
            continue;
        while (at > 0 && out[at - 1]->ms > c->ms)
            at--;
        if (at == ELITE)
            continue;
        n += n < ELITE;
        memmove(out + at + 1, out + at, (size_t)(n - at - 1) * sizeof *out);
        out[at] = c;
    }
    return n;
}

/* Starts a walk at a random point (anywhere = true) or at one of the n best points; better ones are
 * more probable.  If the random point is not valid, takes one of the best points. */
static void start_walk(struct search *s, struct ppo *x, int arm, bool anywhere,
                       const struct tune_candidate *const *elite, int n)
{
    int64_t a = rng_range(&s->rng, 0, n - 1), b = rng_range(&s->rng, 0, n - 1);
    const struct tune_candidate *c = elite[a < b ? a : b];
    agents_loop_walk_end(x->agents);
    if (anywhere) {
        s->p->point_draw(s->p->ctx, arm, &s->rng, s->next);
        struct tune_candidate *drawn = search_add(s, arm, s->next);
        x->at = reward_of(s, drawn);
        if (drawn && !drawn->illegal) {
            memcpy(s->point, s->next, s->p->point_bytes);
            return;
        }
    }
    memcpy(s->point, c->point, s->p->point_bytes);
    x->at = search_reward(s, c->ms);
}

static void ppo_propose(struct search *s, void *state, int arm, int round)
{
    struct ppo *x = state;
    const struct tune_candidate *elite[ELITE];
    bool ranks = s->p->ranks && s->p->ranks(s->p->ctx);
    int n = find_elite(s, arm, elite);
    if ((round == 0 && s->stage == STAGE_JOINT) || !ranks || n == 0) {
        search_add_random(s, arm, TUNE_BATCH);
        return;
    }
    for (int step = 0; step < TUNE_BATCH; step++) {
        if (step % WALK == 0)
            start_walk(s, x, arm, step / WALK % 2 == 1, elite, n);
        take_step(s, x, arm, step);
        int known = s->pool.len;
        struct tune_candidate *c = search_add(s, arm, s->next);
        double r = reward_of(s, c);
        agents_loop_step_end(x->agents, earned(x->at, r, s->pool.len > known || !c));
        if (c && !c->illegal) {  /* else the walk stays at its point */
            memcpy(s->point, s->next, s->p->point_bytes);
            x->at = r;
        }
        if (cancelled(s->cancel)) {
            agents_loop_episode_drop(x->agents);
            return;
        }
    }
    search_show(s, "training");
    agents_loop_walk_end(x->agents);
    agents_loop_episode_end(x->agents);
}

static void ppo_stats(void *state, struct tune_agents *out)
{
    struct agent_stats a = agents_stats(((struct ppo *)state)->agents);
    *out = (struct tune_agents){
        a.trainings > 0, a.layout_entropy, a.loop_entropy, a.value_loss, a.episodes,
    };
}

const struct strategy strategy_ppo = {
    .name = "ppo", .what = "agents that learn by proximal policy optimisation (ALT)",
    .state_bytes = sizeof(struct ppo), .open = ppo_open, .close = ppo_close, .layout = ppo_layout,
    .layout_learn = ppo_layout_learn, .propose = ppo_propose, .stats = ppo_stats,
};
