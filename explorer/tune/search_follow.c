/* Watches one schedule: scores it together with the candidates of every round in which its layout
 * is open, but does not measure it. The choices of the search are not affected. */
#include "explorer/tune/search_impl.h"

#include <math.h>

/* Returns the number of knobs in which the nearest measured point of the arm differs from this
 * point; -1: no point of the arm was measured. */
static int nearest(const struct search *s, int arm, const void *point)
{
    const struct arm_state *a = &s->arm.data[arm];
    int best = -1;
    for (int i = 0; i < a->tried.len; i++) {
        if (!a->tried.data[i]->point)
            continue;
        int d = s->p->point_apart(s->p->ctx, arm, point, a->tried.data[i]->point);
        best = best < 0 || d < best ? d : best;
    }
    return best;
}

/* Whether candidate c is the followed schedule x.  Several points may give the same nest, because
 * adjacent loops of one axis count as one loop.  Therefore the lines of c are converted back to a
 * point, as those of x were, and these two points are compared. */
static bool is_it(const struct search *s, const struct tune_candidate *x,
                  const struct tune_candidate *c)
{
    struct follow f = { .line = c->line, .n_lines = c->n_lines };
    struct tune_candidate back = {0};
    if (c->arm != x->arm || !c->line)
        return false;
    if (c->features && c->features == x->features)
        return true;
    struct arena *a = arena_new();
    bool same = s->p->followed(s->p->ctx, &f, a, &back) && back.arm == x->arm
             && s->p->point_apart(s->p->ctx, back.arm, back.point, x->point) == 0;
    arena_free(a);
    return same;
}

/* Notes whether the pool contains the schedule, and its rank there. */
static void note_pool(struct search *s, const struct tune_candidate *x, struct follow_round *r)
{
    struct follow *f = s->o.follow;
    for (int i = 0; i < s->pool.len; i++) {
        const struct tune_candidate *c = s->pool.data[i];
        r->pool += c->scored && !c->illegal;
        r->better += c->scored && !c->illegal && c->score > x->score;
        if (f->proposed < 0 && is_it(s, x, c))
            f->proposed = s->trial.len;
    }
}

int search_follow(struct search *s, struct tune_candidate *const *picked, int n)
{
    struct follow *f = s->o.follow;
    int found = -1;
    struct tune_candidate c = { .trial = -1, .ms = INFINITY, .reason = "" };
    struct follow_round r = { .trials = s->trial.len, .apart = -1 };
    if (!f || !s->p->followed)
        return -1;
    r.learned = s->p->ranks && s->p->ranks(s->p->ctx);
    if (s->p->followed(s->p->ctx, f, s->round, &c)) {
        struct tune_candidate *x = &c;
        f->opened = f->opened < 0 ? s->trial.len : f->opened;
        search_score(s, &x, 1);
        s->illegal -= c.illegal;
        r.open = true;
        r.refused = c.illegal;
        r.score = c.score;
        r.apart = c.point ? nearest(s, c.arm, c.point) : -1;
        note_pool(s, &c, &r);
        for (int i = 0; i < n; i++)
            if (f->trial < 0 && found < 0 && is_it(s, &c, picked[i]))
                found = i;
    }
    vec_push(&f->round, r);
    return found;
}

void search_follow_measured(struct search *s, const struct tune_candidate *picked)
{
    struct follow *f = s->o.follow;
    const struct tune_candidate *c = text_set_find(&s->measured, picked->text, picked->hash);
    if (!c)
        return;
    f->trial = c->trial;
    f->ms = c->ms;
}
