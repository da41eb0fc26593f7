/* Simulated annealing (SPEC G.3).  The walk makes one mutation at a time, sometimes several.  It
 * accepts a worse point with probability exp(-D / T), where D is the relative change of the
 * latency; T falls from 0.05 to 0.001 over the budget.  In each round, the model ranks 128
 * neighbours of the present point.  The best 8 are measured, and the walk accepts or rejects them
 * one after the other. */
#include "explorer/tune/strategies.h"
#include "explorer/tune/layout_pool.h"

#include <math.h>

#define HOT 0.05
#define COLD 0.001
enum { ENOUGH = 8 };

struct sa {
    struct layout_pool layouts;
    int layout;                          /* where the walk over layouts is; -1: not begun */
    int arm;                             /* arm of `at` */
    const struct tune_candidate *at;     /* where the walk over points is; NULL: not begun */
};

static void sa_open(struct search *s, void *state)
{
    struct sa *x = state;
    (void)s;
    x->layout = x->arm = -1;
}

static double temperature(const struct search *s)
{
    return HOT * pow(COLD / HOT, (double)s->trial.len / s->plan.total);
}

static bool accepts(struct search *s, double relative)
{
    return relative <= 0 || rng_unit(&s->rng) < exp(-relative / temperature(s));
}

/* Draws whether to make one more change after the first one (SPEC G.3).  n: number of knobs. */
static bool another(struct search *s, int n)
{
    double p = 0.02 * temperature(s) / HOT;
    return rng_unit(&s->rng) < (p > 1.0 / n ? p : 1.0 / n);
}

static bool sa_layout(struct search *s, void *state, int64_t *factor)
{
    struct sa *x = state;
    double action[TUNE_MAX_LAYOUT_KNOBS];
    int n = s->p->n_actions;
    if (x->layout < 0) {
        layout_pool_random(&x->layouts, s, factor);
        return true;
    }
    memcpy(action, x->layouts.all.data[x->layout].action, sizeof action);
    do
        layout_pool_change(action, n, &s->rng);
    while (another(s, n));
    layout_pool_draw(&x->layouts, s, action, factor);
    return true;
}

static void sa_layout_learn(struct search *s, void *state, const int64_t *factor, double reward,
                            bool measured)
{
    struct sa *x = state;
    layout_pool_told(s, &x->layouts, factor, reward, measured);
    if (!measured || reward <= -4)
        return;
    for (int i = x->layouts.all.len - 1; i >= 0; i--) {
        const struct drawn_layout *d = &x->layouts.all.data[i];
        if (memcmp(d->factor, factor, (size_t)s->p->n_actions * sizeof *factor) != 0)
            continue;
        /* 1 - reward is the latency / the reference latency */
        if (x->layout < 0 || accepts(s, x->layouts.all.data[x->layout].reward - reward))
            x->layout = i;
        return;
    }
}

static void sa_propose(struct search *s, void *state, int arm, int round)
{
    struct sa *x = state;
    (void)round;
    if (x->arm != arm)
        x->at = NULL;
    x->arm = arm;
    if (!x->at && s->arm.data[arm].tried.len >= ENOUGH) {
        int best = s->arm_view.data[arm].best;
        x->at = best >= 0 && s->trial.data[best]->point ? s->trial.data[best] : NULL;
    }
    if (!x->at) {
        search_add_random(s, arm, TUNE_BATCH);
        return;
    }
    int n = s->p->n_knobs(s->p->ctx, arm);
    for (int tries = 0; tries < 4 * TUNE_BATCH && s->pool.len < TUNE_BATCH; tries++) {
        memcpy(s->point, x->at->point, s->p->point_bytes);
        int changes = 1 + tries / TUNE_BATCH;    /* more changes after many known neighbours */
        do
            s->p->point_mutate(s->p->ctx, arm, &s->rng, s->point);
        while (--changes > 0 || another(s, n));
        search_add(s, arm, s->point);
    }
}

static void sa_learn(struct search *s, void *state, int arm, struct tune_candidate *const *c, int n)
{
    struct sa *x = state;
    for (int i = 0; i < n; i++) {
        if (!c[i]->point || isinf(c[i]->ms))
            continue;
        if (x->arm != arm || !x->at || accepts(s, (c[i]->ms - x->at->ms) / x->at->ms)) {
            x->arm = arm;
            x->at = c[i];
        }
    }
}

const struct strategy strategy_sa = {
    .name = "sa", .what = "simulated annealing over layouts, then over points",
    .state_bytes = sizeof(struct sa), .open = sa_open, .close = layout_pool_close,
    .layout = sa_layout, .layout_learn = sa_layout_learn, .propose = sa_propose, .learn = sa_learn,
};
