/* Regularised evolution (SPEC G.3): binary tournaments, uniform crossover at rate 0.2, at least one
 * mutation.  Parents are chosen from the 100 most recent candidates of an arm: candidates leave the
 * population by age, not by rank. */
#include "explorer/tune/strategies.h"
#include "explorer/tune/layout_pool.h"

#define CROSSOVER 0.2
enum { POPULATION = 100, ENOUGH = 8, ENOUGH_LAYOUTS = 4 };

static bool evo_layout(struct search *s, void *state, int64_t *factor)
{
    struct layout_pool *layouts = state;
    double action[TUNE_MAX_LAYOUT_KNOBS];
    int n = s->p->n_actions;
    if (layout_pool_measured(layouts) < ENOUGH_LAYOUTS) {
        layout_pool_random(layouts, s, factor);
        return true;
    }
    const struct drawn_layout *a = layout_pool_tournament(layouts, &s->rng),
                              *b = layout_pool_tournament(layouts, &s->rng);
    for (int i = 0; i < n; i++)
        action[i] = rng_unit(&s->rng) < CROSSOVER ? b->action[i] : a->action[i];
    layout_pool_change(action, n, &s->rng);
    layout_pool_draw(layouts, s, action, factor);
    return true;
}

/* Returns the faster of two random candidates of the population; its `point` may be NULL. */
static const struct tune_candidate *tournament(struct search *s, const struct arm_state *arm)
{
    int n = arm->tried.len, from = n > POPULATION ? n - POPULATION : 0;
    const struct tune_candidate *a = arm->tried.data[rng_range(&s->rng, from, n - 1)],
                                *b = arm->tried.data[rng_range(&s->rng, from, n - 1)];
    return a->ms <= b->ms ? a : b;
}

static void evo_propose(struct search *s, void *state, int arm, int round)
{
    (void)state; (void)round;
    if (s->arm.data[arm].tried.len < ENOUGH) {
        search_add_random(s, arm, TUNE_BATCH);
        return;
    }
    for (int tries = 0; tries < 4 * TUNE_BATCH && s->pool.len < TUNE_BATCH; tries++) {
        const struct tune_candidate *a = tournament(s, &s->arm.data[arm]),
                                    *b = tournament(s, &s->arm.data[arm]);
        if (!a->point || !b->point)
            continue;
        if (rng_unit(&s->rng) < CROSSOVER)
            s->p->point_cross(s->p->ctx, arm, &s->rng, a->point, b->point, s->point);
        else
            memcpy(s->point, a->point, s->p->point_bytes);
        s->p->point_mutate(s->p->ctx, arm, &s->rng, s->point);
        search_add(s, arm, s->point);
    }
}

const struct strategy strategy_evo = {
    .name = "evo", .what = "regularised evolution of layouts and points",
    .state_bytes = sizeof(struct layout_pool), .close = layout_pool_close, .layout = evo_layout,
    .layout_learn = layout_pool_told, .propose = evo_propose,
};
