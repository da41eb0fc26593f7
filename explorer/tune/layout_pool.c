/* Stores drawn layouts with their rewards, and picks among them. */
#include "explorer/tune/layout_pool.h"

#include <string.h>

void layout_pool_draw(struct layout_pool *l, struct search *s, const double *action,
                      int64_t *factor)
{
    struct drawn_layout d = {0};
    memcpy(d.action, action, (size_t)s->p->n_actions * sizeof *action);
    s->p->layout_decode(s->p->ctx, action, s->p->n_actions, d.factor);
    memcpy(factor, d.factor, sizeof d.factor);
    vec_push(&l->all, d);
}

void layout_pool_random(struct layout_pool *l, struct search *s, int64_t *factor)
{
    double action[TUNE_MAX_LAYOUT_KNOBS];
    for (int i = 0; i < s->p->n_actions; i++)
        action[i] = rng_unit(&s->rng);
    layout_pool_draw(l, s, action, factor);
}

/* Draws the index before the new value: C leaves open which side of an assignment is evaluated
 * first, and both sides draw. */
void layout_pool_change(double *action, int n, struct rng *r)
{
    int64_t at = rng_range(r, 0, n - 1);
    action[at] = rng_unit(r);
}

void layout_pool_close(void *state)
{
    vec_free(&((struct layout_pool *)state)->all);
}

void layout_pool_told(struct search *s, void *state, const int64_t *factor, double reward,
                      bool measured)
{
    struct layout_pool *l = state;
    size_t bytes = (size_t)s->p->n_actions * sizeof *factor;
    for (int i = l->all.len - 1; i >= 0; i--) {
        struct drawn_layout *d = &l->all.data[i];
        if (memcmp(d->factor, factor, bytes) != 0)
            continue;
        d->reward = reward;
        d->measured = measured;
        return;
    }
}

int layout_pool_measured(const struct layout_pool *l)
{
    int n = 0;
    for (int i = 0; i < l->all.len; i++)
        n += l->all.data[i].measured;
    return n;
}

static const struct drawn_layout *any_measured(const struct layout_pool *l, struct rng *r)
{
    int64_t which = rng_range(r, 0, layout_pool_measured(l) - 1);
    for (int i = 0;; i++)
        if (l->all.data[i].measured && which-- == 0)
            return &l->all.data[i];
}

const struct drawn_layout *layout_pool_tournament(const struct layout_pool *l, struct rng *r)
{
    const struct drawn_layout *a = any_measured(l, r), *b = any_measured(l, r);
    return a->reward >= b->reward ? a : b;
}
