/* The table of strategies, and the two simplest ones: random and exhaustive. */
#include "explorer/tune/strategies.h"
#include "explorer/tune/search_impl.h"

static const struct strategy *const strategies[] = {
    &strategy_evo, &strategy_ppo, &strategy_sa, &strategy_q, &strategy_random,
    &strategy_exhaustive,
};

int strategy_count(void)
{
    return COUNT_OF(strategies);
}

const struct strategy *strategy_get(int i)
{
    return strategies[i];
}

const struct strategy *strategy_find(const char *name, struct err *e)
{
    const char *all[COUNT_OF(strategies)];
    struct str list = {0};
    for (int i = 0; i < COUNT_OF(strategies); i++) {
        all[i] = strategies[i]->name;
        if (streq(name, all[i])) {
            str_free(&list);
            return strategies[i];
        }
        str_printf(&list, "%s%s", i > 0 ? ", " : "", all[i]);
    }
    err_set(e, ERR_NAME, "there is no strategy \"%.60s\"", name);
    err_near(e, name, all, COUNT_OF(all), "%s", "the strategies are %s", str_text(&list));
    str_free(&list);
    return NULL;
}

/* --- Random ----------------------------------------------------------------------------------- */

bool strategy_random_layout(struct search *s, void *state, int64_t *factor)
{
    double action[TUNE_MAX_LAYOUT_KNOBS];
    (void)state;
    for (int i = 0; i < s->p->n_actions; i++)
        action[i] = rng_unit(&s->rng);
    s->p->layout_decode(s->p->ctx, action, s->p->n_actions, factor);
    return true;
}

static void propose_random(struct search *s, void *state, int arm, int round)
{
    (void)state; (void)round;
    search_add_random(s, arm, TUNE_BATCH);
}

const struct strategy strategy_random = {
    .name = "random", .what = "random layouts and points; the model picks",
    .layout = strategy_random_layout, .propose = propose_random,
};

/* --- Exhaustive ------------------------------------------------------------------------------- */

struct cursor {
    bool layouts_begun;
    int64_t factor[TUNE_MAX_LAYOUT_KNOBS];
    int begun;                           /* 1 + the arm of s->point; 0: no arm was begun */
    bool at_end;
};

static bool layout_in_order(struct search *s, void *state, int64_t *factor)
{
    struct cursor *c = state;
    bool more = s->p->layout_next(s->p->ctx, c->factor, !c->layouts_begun);
    c->layouts_begun = true;
    memcpy(factor, c->factor, sizeof c->factor);
    return more;
}

/* Proposes the next points of an arm, in order.  Points that were measured as seeds are skipped,
 * since search_add does not add them to the pool. */
static void propose_in_order(struct search *s, void *state, int arm, int round)
{
    struct cursor *c = state;
    (void)round;
    if (c->begun != arm + 1) {
        c->begun = arm + 1;
        s->p->point_first(s->p->ctx, arm, s->point);
        c->at_end = false;
    }
    while (!c->at_end && s->pool.len < TUNE_TOP && !search_should_stop(s)) {
        search_add(s, arm, s->point);
        c->at_end = !s->p->point_next(s->p->ctx, arm, s->point);
    }
}

const struct strategy strategy_exhaustive = {
    .name = "exhaustive", .what = "everything in order, for spaces that are small", .ordered = true,
    .state_bytes = sizeof(struct cursor), .layout = layout_in_order, .propose = propose_in_order,
};
