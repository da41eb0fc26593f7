/* The outer loop of the joint stage: chooses the next layout (SPEC E.2).  First come some layouts
 * of the seeds, fastest first; then start layouts of the template; then layouts from the strategy.
 * The strategy draws several layouts (one if nothing ranks them), and the search takes the one of
 * which some random point has the best score.  When no layout is left, or the rest of the budget is
 * too small for another one, the best layout gets this rest. */
#include "explorer/tune/search_impl.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { SEED_SHARE = 6, MAX_SEED_ARMS = 4, MAX_DRAWS = 64 };

void search_arms_grow(struct search *s)
{
    while (s->arm.len < s->p->n_arms(s->p->ctx)) {
        struct tune_arm shown = { .best = -1, .best_ms = INFINITY };
        shown.family = s->p->arm_family(s->p->ctx, s->arm.len);
        vec_push(&s->arm, (struct arm_state){0});
        vec_push(&s->arm_view, shown);
    }
}

double search_reward(const struct search *s, double ms)
{
    double ref = s->l_ref > 0 ? s->l_ref : s->best_ms;
    double r = isinf(ms) || isinf(ref) ? -4 : 1 - ms / ref;
    return r < -4 ? -4 : r;
}

double search_latency(const struct search *s, double score)
{
    return score > 0 && s->best >= 0 ? s->best_ms / score : INFINITY;
}

static bool has_points(const struct search *s, int arm)
{
    return s->p->n_knobs(s->p->ctx, arm) > 0 && !s->arm.data[arm].exhausted;
}

int search_best_arm(const struct search *s)
{
    int best = -1;
    for (int i = 0; i < s->arm.len; i++)
        if (has_points(s, i) && (best < 0 ? s->arm.data[i].tried.len > 0 || i < s->n_seed_arms
                                 : s->arm_view.data[i].best_ms < s->arm_view.data[best].best_ms))
            best = i;
    return best;
}

int search_good_arm(const struct search *s, int rank, double near)
{
    int best = search_best_arm(s);
    for (int i = 0; best >= 0 && i < s->arm.len; i++) {
        double ms = s->arm_view.data[i].best_ms;
        int better = 0;
        for (int j = 0; j < s->arm.len; j++) {
            double other = s->arm_view.data[j].best_ms;
            better += has_points(s, j) && (other < ms || (other == ms && j < i));
        }
        if (has_points(s, i) && better == rank && ms <= near * s->arm_view.data[best].best_ms)
            return i;
    }
    return best;
}

/* Returns how many layouts of seeds are visited at most.  Most visits go to new layouts, because a
 * measured seed already says something about its layout.  If at most two layouts can be visited,
 * they are new ones.  If layouts are fixed, there is no limit. */
static int most_seed_arms(const struct search *s)
{
    int rest, room = plan_layouts(s->plan.joint - s->n_seeds, s->o.rounds, &rest);
    int n = room < 3 ? 0 : (room + SEED_SHARE - 1) / SEED_SHARE;
    return s->p->n_actions == 0 ? INT_MAX : n > MAX_SEED_ARMS ? MAX_SEED_ARMS : n;
}

/* Whether the layout of an arm is only a default, so that start layouts are tried instead: the arm
 * has no seed, or only the bare operator. */
static bool is_bare(const struct search *s, int arm)
{
    bool bare = s->p->n_actions > 0 && s->p->layout_start && !s->o.cold;
    for (int i = 0; i < s->n_seeds; i++)
        bare = bare && (s->seed[i].arm != arm || s->seed[i].n_lines == 0);
    return bare;
}

/* Returns the arm of the fastest seed whose layout had no rounds yet; -1: there is none, or enough
 * layouts of seeds were visited. */
static int next_seed_arm(const struct search *s)
{
    int best = -1, n_visited = 0;
    for (int i = 0; i < s->n_seed_arms; i++)
        n_visited += s->arm.data[i].visited;
    if (n_visited >= most_seed_arms(s))
        return -1;
    for (int i = 0; i < s->n_seed_arms; i++)
        if (!s->arm.data[i].visited && has_points(s, i) && !is_bare(s, i) &&
            (best < 0 || s->arm_view.data[i].best_ms < s->arm_view.data[best].best_ms))
            best = i;
    return best;
}

static double arm_reward(const struct search *s, int arm)
{
    return search_reward(s, s->arm_view.data[arm].best_ms);
}

void search_tell_layout(struct search *s, const int64_t *factor, double reward, bool measured)
{
    if (s->strategy->layout_learn)
        s->strategy->layout_learn(s, s->state, factor, reward, measured);
}

/* Returns the best score of some random points of an arm; -1: none of them is a valid program. */
static double promise(struct search *s, int arm)
{
    double best = -1;
    search_pool_reset(s);
    search_add_random(s, arm, TUNE_PREFILTER_POINTS);
    search_score(s, s->pool.data, s->pool.len);
    for (int i = 0; i < s->pool.len; i++)
        if (!s->pool.data[i]->illegal && s->pool.data[i]->score > best)
            best = s->pool.data[i]->score;
    return best;
}

struct draw { int arm; int64_t *factor; double score; };

/* Draws a layout that was not tried yet and is not one of the n others.  Returns false if the
 * search must stop, the strategy has no layout left, or MAX_DRAWS draws give no such layout.  *out
 * is then the last drawn layout that was already tried; it is unchanged if none was. */
static bool draw_new(struct search *s, const struct draw *other, int n, struct draw *out)
{
    int64_t factor[TUNE_MAX_LAYOUT_KNOBS] = {0};
    /* an ordered strategy draws until its last layout */
    int most = s->strategy->ordered ? INT_MAX : MAX_DRAWS;
    for (int tries = 0; tries < most && s->strategy->layout(s, s->state, factor); tries++) {
        if (search_should_stop(s))
            return false;
        int arm = s->p->arm_open(s->p->ctx, factor);
        search_arms_grow(s);
        bool again = false;
        for (int i = 0; i < n; i++)
            again = again || other[i].arm == arm;
        bool old = arm >= 0 && s->arm.data[arm].visited;
        if (arm >= 0 && !old && !again && s->p->n_knobs(s->p->ctx, arm) > 0) {
            *out = (struct draw){ arm, ARENA_DUP(s->keep, factor, TUNE_MAX_LAYOUT_KNOBS), 0 };
            return true;
        }
        if (old)
            *out = (struct draw){ arm, ARENA_DUP(s->keep, factor, TUNE_MAX_LAYOUT_KNOBS), 0 };
        double r = old ? arm_reward(s, arm) : again ? search_reward(s, s->l_ref) : -4;
        search_tell_layout(s, factor, r, false);
    }
    return false;
}

static int draw_layout(struct search *s)
{
    struct draw draw[TUNE_PREFILTER] = {0};
    bool ranks = !s->strategy->ordered && s->p->ranks && s->p->ranks(s->p->ctx);
    int want = ranks ? s->o.prefilter : 1, n = 0, best = 0;
    search_show(s, "choosing a layout");
    while (n < want && !cancelled(s->cancel) && draw_new(s, draw, n, &draw[n])) {
        struct draw *d = &draw[n++];
        d->score = want > 1 ? promise(s, d->arm) : 0;
        search_tell_layout(s, d->factor, search_reward(s, want > 1 ? search_latency(s, d->score)
                                                                   : s->l_ref), false);
        if (d->score > draw[best].score)
            best = n - 1;
    }
    if (n == 0 && draw[0].factor)  /* only known layouts: repeats the reward of one (SPEC E.2) */
        search_tell_layout(s, draw[0].factor, arm_reward(s, draw[0].arm), true);
    if (n == 0)
        return -1;
    for (int i = 0; i < n; i++)                  /* arms of seeds stay open: one may be the best */
        if (i != best && draw[i].arm >= s->n_seed_arms)
            s->p->arm_close(s->p->ctx, draw[i].arm);
    s->arm.data[draw[best].arm].factor = draw[best].factor;
    return draw[best].arm;
}

/* Returns the arm of the next start layout; -1: there is none, or no budget for it.  The search
 * tries several start layouts, because only measuring tells which one suits an operator.  The
 * second and later ones must leave budget for one layout of the strategy. */
static int start_arm(struct search *s)
{
    int64_t factor[TUNE_MAX_LAYOUT_KNOBS] = {0};
    int rest, room = plan_layouts(s->stage_budget - s->stage_done, s->o.rounds, &rest);
    if (s->o.cold || s->p->n_actions == 0 || !s->p->layout_start || s->strategy->ordered)
        return -1;
    while (s->starts < s->p->n_starts && room >= (s->starts == 0 ? 1 : 2)) {
        if (!s->p->layout_start(s->p->ctx, s->starts++, factor))
            continue;
        int arm = s->p->arm_open(s->p->ctx, factor);
        search_arms_grow(s);
        if (arm >= 0 && !s->arm.data[arm].visited && has_points(s, arm))
            return arm;
    }
    return -1;
}

int search_next_arm(struct search *s)
{
    int arm = next_seed_arm(s);
    if (arm < 0)
        arm = start_arm(s);
    if (arm < 0 && s->p->n_actions > 0 && s->stage_budget - s->stage_done >= TUNE_TOP *
        (s->strategy->ordered ? 1 : s->o.rounds))
        arm = draw_layout(s);
    return arm >= 0 ? arm : search_best_arm(s);
}
