/* Cross-exploration by agents (ALT 5.2, SPEC E.2, E.3): the layout actor draws the splits of a
 * layout one after the other; in its space the first round is random, every later one an episode of
 * 128 steps from the best point, in which each knob's actor gives a direction.  What was not
 * measured is rewarded by the latency that the model expects. */
#include "explorer/agent/agents.h"
#include "explorer/tune/search_impl.h"

#include <math.h>

_Static_assert((int)LAYOUT_STATE == TUNE_LAYOUT_STATE, "the layout actor's state");
_Static_assert((int)LOOP_STATE == TUNE_POINT_STATE, "the loop actors' state");

struct ppo {
    struct agents *agents;
    VEC(int64_t *) drawn;                /* candidates since the last reward */
    void *point, *next;
    struct str *out;                     /* of the weights in the end, or NULL */
};

static const float no_features[OP_FEATURES];

static const float *op_of(const struct search *s)
{
    const float *op = s->p->features ? s->p->features(s->p->ctx) : NULL;
    return op ? op : no_features;
}

static void *ppo_open(struct search *s)
{
    struct ppo *x = xcalloc(1, sizeof *x);
    x->agents = agents_new(s->o.seed, NULL);
    if (s->o.weights) {
        struct err e;
        agents_load(x->agents, s->o.weights, s->o.weights_bytes, NULL, &e);
    }
    x->out = s->o.weights_out;
    x->point = xcalloc(1, s->p->point_bytes);
    x->next = xcalloc(1, s->p->point_bytes);
    return x;
}

static void ppo_close(void *state)
{
    struct ppo *x = state;
    if (x->out)
        agents_save(x->agents, "", x->out);
    agents_free(x->agents);
    vec_free(&x->drawn);
    free(x->point);
    free(x->next);
    free(x);
}

/* --- Layouts -------------------------------------------------------------------------------- */

static bool ppo_layout(struct search *s, void *state, int64_t *factor)
{
    struct ppo *x = state;
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

static void ppo_layout_told(struct search *s, void *state, const int64_t *factor, double reward,
                            bool measured)
{
    struct ppo *x = state;
    size_t bytes = (size_t)s->p->n_actions * sizeof *factor;
    for (int i = 0; measured && i < x->drawn.len; i++)
        if (memcmp(x->drawn.data[i], factor, bytes) == 0) {
            agents_layout_keep(x->agents, i);
            agents_layout_reward(x->agents, reward);
            vec_clear(&x->drawn);
        }
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

/* Every actor moves its knob once, seeing what those before it did. */
static void take_step(struct search *s, struct ppo *x, int arm)
{
    float seen[LOOP_STATE];
    int n = s->p->n_knobs(s->p->ctx, arm);
    memcpy(x->next, x->point, s->p->point_bytes);
    for (int k = 0; k < n; k++) {
        int choices = s->p->directions(s->p->ctx, arm, k);
        if (choices < 2)
            continue;
        s->p->point_state(s->p->ctx, arm, x->next, seen);
        int direction = agents_loop_act(x->agents, s->p->knob_kind(s->p->ctx, arm, k), k, seen,
                                        op_of(s), choices);
        s->p->point_move(s->p->ctx, arm, x->next, k, direction);
    }
}

static void ppo_propose(struct search *s, void *state, int arm, int round)
{
    struct ppo *x = state;
    int best = s->arm_view.data[arm].best;
    bool ranks = s->p->ranks && s->p->ranks(s->p->ctx);
    if (round == 0 || !ranks || best < 0) {
        search_add_random(s, arm, TUNE_BATCH);
        return;
    }
    if (s->trial.data[best]->point)
        memcpy(x->point, s->trial.data[best]->point, s->p->point_bytes);
    else
        s->p->point_start(s->p->ctx, arm, x->point);
    for (int step = 0; step < TUNE_BATCH; step++) {
        take_step(s, x, arm);
        struct tune_candidate *c = search_add(s, arm, x->next);
        double r = reward_of(s, c);
        agents_loop_step_end(x->agents, r);
        if (c && !c->illegal)                    /* from what is no program it goes back */
            memcpy(x->point, x->next, s->p->point_bytes);
        if (cancelled(s->cancel)) {
            agents_loop_episode_drop(x->agents);
            return;
        }
    }
    search_show(s, "training");
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
    .open = ppo_open, .close = ppo_close, .layout = ppo_layout, .layout_told = ppo_layout_told,
    .propose = ppo_propose, .stats = ppo_stats,
};
