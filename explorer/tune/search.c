/* Stages and rounds. */
#include "explorer/tune/search_impl.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    EMPTY_ROUNDS = 3,  /* after so many rounds without a new point, the space counts as exhausted */
    STARTS = TUNE_TOP - 2,  /* most start points of a layout; its first batch has room for others */
};

struct search *search_new(const struct tune_problem *p, const struct search_opts *o,
                          const struct tune_seed *seed, int n_seeds,
                          const struct search_sink *sink, const struct cancel *cancel)
{
    struct search *s = xcalloc(1, sizeof *s);
    s->p = p;
    s->o = *o;
    s->o.rounds = o->rounds > 0 ? o->rounds : TUNE_ROUNDS;
    s->o.prefilter = o->prefilter > 0 ? o->prefilter : TUNE_PREFILTER;
    if (s->o.prefilter > TUNE_PREFILTER)
        s->o.prefilter = TUNE_PREFILTER;
    s->o.epsilon = o->epsilon < 0 ? 0 : o->epsilon > 0 ? o->epsilon : 0.05;
    if (sink)
        s->sink = *sink;
    s->cancel = o->stop ? o->stop : cancel;
    s->strategy = o->strategy;
    s->rng = rng_seed(o->seed);
    s->plan = plan_of(o->budget, p->n_actions == 0);
    if (o->joint > 0 && p->n_actions > 0)
        s->plan = plan_with(o->budget, o->joint);
    if (o->strategy->ordered && p->n_actions > 0)
        s->plan = plan_with(o->budget, o->budget);
    s->at = STAGE_SEEDS;
    s->seed = seed;
    s->n_seeds = n_seeds;
    s->keep = arena_new();
    s->round = arena_new();
    s->best = -1;
    s->best_ms = INFINITY;
    s->began_s = s->limit_from_s = clock_s();
    search_arms_grow(s);
    s->n_seed_arms = s->arm.len;
    for (int i = 0; i < s->arm_view.len; i++)
        s->arm_view.data[i].seed = true;
    s->state = arena_alloc(s->keep, s->strategy->state_bytes);
    s->point = arena_alloc(s->keep, p->point_bytes);
    s->next = arena_alloc(s->keep, p->point_bytes);
    if (s->strategy->open)
        s->strategy->open(s, s->state);
    return s;
}

void search_free(struct search *s)
{
    if (!s)
        return;
    if (s->strategy->close)
        s->strategy->close(s->state);
    for (int i = 0; i < s->arm.len; i++)
        vec_free(&s->arm.data[i].tried);
    vec_free(&s->arm);
    vec_free(&s->arm_view);
    vec_free(&s->pool);
    vec_free(&s->trial);
    text_set_free(&s->in_pool);
    text_set_free(&s->measured);
    arena_free(s->keep);
    arena_free(s->round);
    free(s);
}

/* Measures the next batch of the pool and returns its size; 0: the pool has nothing new; -1: the
 * search must stop. */
static int measure_pool(struct search *s, int want, struct err *e)
{
    struct tune_candidate *c[TUNE_TOP];
    int n = search_pick(s, want, c);
    if (n == 0)
        return 0;
    int followed = search_follow(s, c, n);
    bool go_on = search_measure(s, c, n, e);
    if (followed >= 0)
        search_follow_measured(s, c[followed]);
    return go_on ? n : -1;
}

static int stage_left(const struct search *s)
{
    return s->stage_budget - s->stage_done;
}

/* Adds the start points of an arm, once.  A layout is judged by a few points, and the points that a
 * person would try first should be among them. */
static void add_usual(struct search *s, int arm)
{
    if (s->strategy->ordered || s->o.cold || s->arm.data[arm].begun)
        return;
    s->arm.data[arm].begun = true;
    char *point = arena_alloc(s->round, STARTS * s->p->point_bytes);
    int n = s->p->point_starts(s->p->ctx, arm, point, STARTS);
    for (int i = 0; i < n; i++) {
        struct tune_candidate *c = search_add(s, arm, point + (size_t)i * s->p->point_bytes);
        if (c && c->trial < 0)
            c->start = true;
    }
}

/* Runs one round in an arm. Returns false if the search must stop. */
static bool run_round(struct search *s, int arm, int round, struct err *e)
{
    int want = plan_batch(stage_left(s)), got = 0;
    bool ordered = s->strategy->ordered;
    for (int tries = 0; got == 0 && (tries < EMPTY_ROUNDS || ordered); tries++) {
        search_pool_reset(s);
        search_show(s, "searching");
        add_usual(s, arm);
        s->strategy->propose(s, s->state, arm, round);
        if (search_should_stop(s))
            return false;
        if (ordered && s->pool.len == 0)
            break;                               /* the space has ended */
        if (s->pool.len < want && !ordered)
            search_add_random(s, arm, want);
        got = measure_pool(s, want, e);
    }
    if (got == 0)
        s->arm.data[arm].exhausted = true;
    return got >= 0;
}

static void set_reference(struct search *s, int arm)
{
    if (s->l_ref <= 0 && !isinf(s->arm_view.data[arm].best_ms))
        s->l_ref = s->arm_view.data[arm].best_ms;
}

/* Runs the rounds of one layout. Returns false if the search must stop. */
static bool visit(struct search *s, int arm, struct err *e)
{
    struct arm_state *state = &s->arm.data[arm];
    int rounds = s->strategy->ordered ? INT_MAX : s->o.rounds;
    bool first = !state->visited;
    for (int r = 0; r < rounds && stage_left(s) > 0 && !s->arm.data[arm].exhausted; r++)
        if (!run_round(s, arm, r, e))
            return false;
    state = &s->arm.data[arm];
    state->visited = true;
    s->layouts_tried += first;
    set_reference(s, arm);
    if (first && state->factor)
        search_tell_layout(s, state->factor, search_reward(s, s->arm_view.data[arm].best_ms),
                           true);
    return true;
}

/* Enters a stage.  from: the number of trials before the stage. */
static void enter(struct search *s, enum tune_stage stage, int budget, int from)
{
    s->stage = stage;
    s->stage_budget = budget;
    s->stage_done = s->trial.len - from;
    search_show(s, "searching");
}

/* Stores in c the next batch of seeds that were not measured yet, of seeds *at to n - 1.  Returns
 * their number, and sets *at to the seed after them. */
static int seed_batch(struct search *s, int *at, int n, struct tune_candidate **c)
{
    int m = 0;
    search_pool_reset(s);
    for (; *at < n && m < TUNE_TOP; (*at)++) {
        const struct tune_seed *from = &s->seed[*at];
        struct tune_candidate seed = {
            .arm = from->arm, .point = from->point, .line = from->line, .n_lines = from->n_lines,
            .seed = true, .ms = INFINITY, .reason = "", .trial = -1,
        };
        seed.text = search_text(s->round, seed.line, seed.n_lines);
        seed.hash = hash_text(seed.text);
        if (text_set_find(&s->measured, seed.text, seed.hash) ||
            text_set_find(&s->in_pool, seed.text, seed.hash))
            continue;
        c[m] = ARENA_DUP(s->round, &seed, 1);
        text_set_add(&s->in_pool, c[m++]);
    }
    return m;
}

static bool run_seeds(struct search *s, int budget, struct err *e)
{
    int n = s->n_seeds < budget ? s->n_seeds : budget;
    struct tune_candidate *c[TUNE_TOP];
    while (s->seed_at < n) {
        int m = seed_batch(s, &s->seed_at, n, c);
        search_score(s, c, m);
        if (m > 0 && !search_measure(s, c, m, e))
            return false;
    }
    return true;
}

static bool run_joint(struct search *s, struct err *e)
{
    while (stage_left(s) > 0) {
        int arm = search_next_arm(s);
        if (arm < 0)
            return !search_should_stop(s);
        if (!visit(s, arm, e))
            return false;
    }
    return true;
}

/* Returns the arm of the next round of the loop stage.  The few points of the joint stage say
 * little about a layout.  Therefore the best three layouts first get two rounds each, then the best
 * two get two more each.  The best layout gets the rounds of layouts whose times are not near the
 * best, and all later rounds. */
static int loop_arm(const struct search *s)
{
    static const struct { int n, rounds; double near; } turn[] = { { 3, 6, 2 }, { 2, 4, 1.3 } };
    int round = s->loop_round;
    for (int i = 0; i < COUNT_OF(turn) && !s->strategy->ordered; i++) {
        if (round < turn[i].rounds)
            return search_good_arm(s, round % turn[i].n, turn[i].near);
        round -= turn[i].rounds;
    }
    return search_best_arm(s);
}

static bool run_loops(struct search *s, struct err *e)
{
    for (; stage_left(s) > 0; s->loop_round++) {
        int arm = loop_arm(s);
        if (arm < 0)
            return !search_should_stop(s);
        if (!run_round(s, arm, s->loop_round, e))
            return false;
        set_reference(s, arm);
    }
    return true;
}

static bool run_stages(struct search *s, struct err *e)
{
    int first = s->plan.joint > 0 ? s->plan.joint : s->plan.loops;
    if (s->at == STAGE_SEEDS) {
        enter(s, STAGE_SEEDS, first, 0);
        if (!run_seeds(s, first, e))
            return false;
        s->at = s->plan.joint > 0 ? STAGE_JOINT : STAGE_LOOPS;
    }
    if (s->at == STAGE_JOINT) {
        s->at = STAGE_LOOPS;
        enter(s, STAGE_JOINT, s->plan.joint, 0);
        bool ok = run_joint(s, e);
        s->loops_from = s->trial.len;
        if (!ok)
            return false;
    }
    enter(s, STAGE_LOOPS, s->plan.total - s->loops_from, s->loops_from);
    return run_loops(s, e);
}

bool search_extend(struct search *s, int budget, double time_s)
{
    bool ordered = s->strategy->ordered && s->p->n_actions > 0;
    if (ordered && s->trial.len > 0)
        return false;
    s->plan = plan_with(budget, ordered ? budget : s->plan.joint);
    s->o.time_s = time_s;
    s->limit_from_s = clock_s();
    s->began_s += s->ended_s > 0 ? s->limit_from_s - s->ended_s : 0;
    return true;
}

enum search_end search_run(struct search *s, struct err *e)
{
    bool ok = run_stages(s, e);
    enum search_end end =
        cancelled(s->cancel) ? SEARCH_CANCELLED :
        s->stop_env ? SEARCH_FAILED :
        s->trial.len >= s->plan.total ? SEARCH_BUDGET :
        search_settled(s) ? SEARCH_SETTLED :
        !ok ? SEARCH_TIME : SEARCH_EXHAUSTED;
    s->stage = STAGE_DONE;
    search_show(s, "done");
    s->ended_s = clock_s();
    return end;
}

static int by_latency(const void *a, const void *b)
{
    const struct tune_candidate *x = *(struct tune_candidate *const *)a,
                                *y = *(struct tune_candidate *const *)b;
    if (x->ms != y->ms)
        return x->ms < y->ms ? -1 : 1;
    return (x->trial > y->trial) - (x->trial < y->trial);
}

int search_best(const struct search *s, const struct tune_candidate **out, int max)
{
    VEC(const struct tune_candidate *) all = {0};
    for (int i = 0; i < s->trial.len; i++)
        if (s->trial.data[i]->outcome == OUTCOME_OK)
            vec_push(&all, s->trial.data[i]);
    if (all.len > 0)
        qsort(all.data, (size_t)all.len, sizeof *all.data, by_latency);
    int n = all.len < max ? all.len : max;
    for (int i = 0; i < n; i++)
        out[i] = all.data[i];
    vec_free(&all);
    return n;
}

/* Returns the time of the first seed, from which the user started. */
static double start_ms(const struct search *s)
{
    return s->trial.len > 0 && s->trial.data[0]->seed && s->trial.data[0]->trial == 0 ?
           s->trial.data[0]->ms : INFINITY;
}

static double seconds_left(const struct search *s, double elapsed)
{
    int fresh = s->trial.len - s->replayed;
    double left = fresh > 0 ? elapsed / fresh * (s->plan.total - s->trial.len) : NAN;
    double limit = s->o.time_s > 0 ? s->o.time_s - (clock_s() - s->limit_from_s) : INFINITY;
    return isnan(left) || left < limit ? left : fmax(0, limit);
}

const struct tune_view *search_view(struct search *s)
{
    double elapsed = clock_s() - s->began_s;
    struct tune_view *v = &s->view;
    *v = (struct tune_view){
        .strategy = s->strategy->name, .seed = s->o.seed, .stage = s->stage, .doing = s->doing,
        .budget = s->plan.total, .done = s->trial.len, .stage_budget = s->stage_budget,
        .stage_done = s->stage_done, .time_limit_s = s->o.time_s,
        .left_s = seconds_left(s, elapsed), .n_trials = s->trial.len,
        .trial = (const struct tune_candidate *const *)s->trial.data,
        .n_arms = s->arm_view.len, .arm = s->arm_view.data, .layouts_tried = s->layouts_tried,
        .best = s->best, .best_ms = s->best_ms, .start_ms = start_ms(s),
        .replayed = s->replayed, .illegal = s->illegal, .accuracy = s->accuracy,
    };
    memcpy(v->failed, s->failed, sizeof v->failed);
    v->times.elapsed = elapsed;
    v->times.model = s->model_s;
    v->times.measure = s->measure_wall_s;
    if (s->p->walls)
        s->p->walls(s->p->ctx, &v->times.compile, &v->times.measure);
    v->times.search = elapsed - v->times.model - s->measure_wall_s;
    if (s->strategy->stats)
        s->strategy->stats(s->state, &v->agents);
    return v;
}

void search_show(struct search *s, const char *doing)
{
    s->doing = doing;
    double began = clock_s();
    if (s->sink.view)
        s->sink.view(s->sink.ctx, search_view(s));
    double paused = clock_s() - began;           /* does not count for the time limit */
    s->began_s += paused;
    s->limit_from_s += paused;
}
