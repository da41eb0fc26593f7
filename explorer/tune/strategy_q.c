/* The Q-learning walk of FlexTensor (SPEC E.3).  From a measured point, every knob proposes another
 * point, in which only this knob has moved: one step in the direction that its network values most,
 * or sometimes in a random one.  The networks learn from the measurements of these points.  Layouts
 * are drawn at random, since FlexTensor does not search them. */
#include "explorer/tune/strategies.h"
#include "explorer/agent/qwalk.h"
#include "explorer/tune/search_impl.h"

#include <math.h>

enum { ENOUGH = 8, POINTS = 64, ROUNDS_PER_TRAINING = 4 };

/* A move of one knob from a candidate to the candidate whose text has this hash. */
struct move { uint64_t hash; int knob, direction; const struct tune_candidate *from; };

struct q {
    struct qwalk *walk;                  /* the networks of arm `arm` */
    int arm, n_knobs, rounds;
    VEC(struct move) move;               /* moves of this round */
};

static void q_open(struct search *s, void *state)
{
    (void)s;
    ((struct q *)state)->arm = -1;
}

static void q_close(void *state)
{
    struct q *x = state;
    qwalk_free(x->walk);
    vec_free(&x->move);
}

static void enter_arm(struct search *s, struct q *x, int arm)
{
    int n_directions[64];
    if (x->arm == arm)
        return;
    qwalk_free(x->walk);
    x->arm = arm;
    x->n_knobs = s->p->n_knobs(s->p->ctx, arm);
    for (int k = 0; k < x->n_knobs; k++)
        n_directions[k] = s->p->directions(s->p->ctx, arm, k);
    x->walk = qwalk_new(s->o.seed + (uint64_t)arm, TUNE_POINT_STATE, n_directions, x->n_knobs);
}

/* Returns a random measured candidate of the arm if the walk accepts it; else the best one (SPEC
 * E.3).  NULL: no candidate has outcome ok, or the best one has no point. */
static const struct tune_candidate *start_of(struct search *s, struct q *x, int arm)
{
    const struct arm_state *a = &s->arm.data[arm];
    const struct tune_arm *shown = &s->arm_view.data[arm];
    const struct tune_candidate *c = a->tried.data[rng_range(&s->rng, 0, a->tried.len - 1)];
    if (shown->best < 0)
        return NULL;
    if (c->point && isfinite(c->ms) && qwalk_accept(x->walk, c->ms, shown->best_ms))
        return c;
    c = s->trial.data[shown->best];
    return c->point ? c : NULL;
}

static void q_propose(struct search *s, void *state, int arm, int round)
{
    struct q *x = state;
    (void)round;
    enter_arm(s, x, arm);
    vec_clear(&x->move);
    if (s->arm.data[arm].tried.len < ENOUGH) {
        search_add_random(s, arm, TUNE_BATCH);
        return;
    }
    for (int tries = 0; tries < POINTS && s->pool.len < POINTS; tries++) {
        const struct tune_candidate *from = start_of(s, x, arm);
        float seen[TUNE_POINT_STATE];
        if (!from)
            break;
        s->p->point_state(s->p->ctx, arm, from->point, seen);
        for (int k = 0; k < x->n_knobs; k++) {
            int direction = qwalk_act(x->walk, k, seen, s->trial.len);
            memcpy(s->point, from->point, s->p->point_bytes);
            s->p->point_move(s->p->ctx, arm, s->point, k, direction);
            struct tune_candidate *c = search_add(s, arm, s->point);
            if (c && c->trial < 0)
                vec_push(&x->move, (struct move){ c->hash, k, direction, from });
        }
    }
    if (s->pool.len < TUNE_TOP)
        search_add_random(s, arm, TUNE_TOP);
}

static void q_learn(struct search *s, void *state, int arm, struct tune_candidate *const *c, int n)
{
    struct q *x = state;
    for (int i = 0; i < n && x->arm == arm; i++)
        for (int m = 0; m < x->move.len && c[i]->point; m++) {
            const struct move *move = &x->move.data[m];
            float from[TUNE_POINT_STATE], to[TUNE_POINT_STATE];
            if (move->hash != c[i]->hash)
                continue;
            s->p->point_state(s->p->ctx, arm, move->from->point, from);
            s->p->point_state(s->p->ctx, arm, c[i]->point, to);
            qwalk_add(x->walk, move->knob, from, move->direction, to, move->from->ms, c[i]->ms);
        }
    if (x->arm == arm && ++x->rounds % ROUNDS_PER_TRAINING == 0)
        qwalk_train(x->walk);
}

const struct strategy strategy_q = {
    .name = "q", .what = "FlexTensor's walk by Q-learning; layouts at random",
    .state_bytes = sizeof(struct q), .open = q_open, .close = q_close,
    .layout = strategy_random_layout, .propose = q_propose, .learn = q_learn,
};
