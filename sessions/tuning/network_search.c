/* The searches of a network's kernels: all are open at the same time, and rounds alternate between
 * them (task_rounds.h). */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "explorer/tune/tune.h"
#include "kernels/base/arena.h"
#include "kernels/base/vec.h"
#include "sessions/file/kernels_text.h"
#include "sessions/file/session_network.h"
#include "sessions/tuning/network_tuning_impl.h"
#include "sessions/tuning/task_rounds.h"

#define JOINT_SHARE 0.4  /* share of the budget for layouts: 8,000 of 20,000 [ALT] */
#define LEAST_HOPE 2e-5                   /* a round must be able to gain at least this share of the
                                           * network's time */
#define LONGEST_ROUND 64
#define LEAST_ROUNDS 8  /* rounds are so short that a task gets this many on average, if possible */
#define LEAST_TRIALS 32  /* least trials of the first round: seeds and some other schedules */
#define ALONE_LEAST 0.5  /* assumed: a kernel alone takes at least this share of its network time */

/* The search of a task, while it is open. */
struct net_search {
    int task;
    struct session *session;
    struct tuning_opts opts;
    struct inquiry *inquiry;
    int trials;                           /* how many trials its rounds have allowed so far */
    VEC(double) best_s;                   /* the best seconds after each round */
};

struct net_rounds {
    struct net_tuner *t;
    int joint, round;  /* joint: trials for the layouts of one task; round: trials of one round */
    int spent, n_rounds;
    double spent_s;  /* seconds of the joint stage, of opening, and of rounds that measured */
    double shortest_s;  /* seconds of the shortest round that measured; 0: no such round yet */
    int n; struct net_search *search;
    struct task_rounds *task;
};

/* Passes a view on.  The receiver may pause the search, so the time of the call does not count. */
static void pass_view(void *ctx, const struct tune_view *v)
{
    struct net_tuner *t = ctx;
    double began = clock_s();
    t->o->view->view(t->o->view->ctx, v);
    t->paused_s += clock_s() - began;
}

const struct search_sink *network_sink(struct net_tuner *t)
{
    t->sink = (struct search_sink){ .ctx = t, .view = pass_view };
    return t->o->view ? &t->sink : NULL;
}

/* --- Opening ---------------------------------------------------------------------------------- */

static bool loops_only(const struct net_tuner *t)
{
    return t->o->variant == NETWORK_OL || t->o->variant == NETWORK_LOOPS;
}

/* Whether the search must keep a line of the kernel's steps. freely: see network_open_kernel. */
static bool is_fixed(const struct net_tuner *t, const struct graph *g, bool freely,
                     const char *line)
{
    if (str_starts(line, "set "))
        return true;
    int x = program_layout_tensor(g, line);
    if (x < 0 || (g->tensor[x].role == TENSOR_CONST && !loops_only(t)))
        return false;
    return !freely
        || (g->tensor[x].role == TENSOR_INPUT && x != g->node[g->main_node].data_in);
}

bool network_open_kernel(const struct net_tuner *t, const struct network_task *task, bool freely,
                         struct session **out, struct err *e)
{
    const struct graph *g = task->program->base;
    enum command_effect effect;
    if (!session_new(task->spec, out, e))
        return false;
    bool ok = !freely || t->o->variant != NETWORK_WP
           || session_run(*out, "set variant wp", &effect, e);
    for (int i = 0; ok && i < task->n_lines; i++)
        ok = !is_fixed(t, g, freely, task->line[i])
          || session_run(*out, task->line[i], &effect, e);
    if (!ok)
        session_free(*out);
    return ok;
}

enum kernel_space network_space(const struct network_task *task)
{
    const struct graph *g = task->program->base;
    return task->conversion || !g->node[g->main_node].complex ? KERNEL_FIXED
         : task->program->n_algorithms > 0                    ? KERNEL_EXPERTS
                                                              : KERNEL_LOOPS;
}

int network_complex(const struct network *net)
{
    int n = 0;
    for (int i = 0; i < net->n_tasks; i++)
        n += network_space(&net->task[i]) != KERNEL_FIXED;
    return n > 0 ? n : 1;
}

/* Returns the number of calls of all tasks with this operator, because they share one schedule. */
static int calls_of(const struct network *net, const char *spec)
{
    int n = 0;
    for (int i = 0; i < net->n_tasks; i++)
        n += streq(net->task[i].spec, spec) && !net->task[i].conversion ? net->task[i].count : 0;
    return n;
}

static int whole_batches(double trials, int least, int most)
{
    int n = (int)fmin(most, fmax(least, trials));
    return (n + TUNE_TOP - 1) / TUNE_TOP * TUNE_TOP;
}

/* Opens the search of a task. If there is nothing to search, stores why in the kernel's `why`. */
static bool open_search(struct net_rounds *r, int task, struct err *e)
{
    static const char *const pins[] = { "layout" };
    struct net_tuner *t = r->t;
    const struct network_task *x = &t->net->task[task];
    struct net_search *s = &r->search[r->n];
    *s = (struct net_search){ .task = task, .opts = t->o->each };
    s->opts.pin = pins;
    s->opts.no_ledger = true;
    s->opts.resume = !s->opts.fresh;
    s->opts.baselines = 0;
    s->opts.joint = r->joint;
    s->opts.budget = NETWORK_MOST_TRIALS;
    s->opts.loop_only |= loops_only(t);
    if (!network_open_kernel(t, x, false, &s->session, e))
        return false;
    bool experts_only = network_space(x) == KERNEL_EXPERTS;
    if (experts_only) {
        s->opts.experts = TUNING_ALGORITHM_EXPERTS;
        s->session->accuracy = session_network_accuracy(t->session->accuracy);
    }
    s->opts.n_pins = history_current(s->session->history)->program->n_steps > 0;
    if (tuning_open(s->session, &s->opts, network_sink(t), t->cancel, &s->inquiry, e)) {
        const struct graph *g = x->program->base;
        struct tuned_kernel *k = &t->kernel[task];
        r->task[r->n++] = (struct task_rounds){
            .weight = calls_of(t->net, x->spec), .flop = g->flops,
            .bound_s = 1e-3 * k->bound_ms / k->count,
            .kind = experts_only ? "algorithm" : g->node[g->main_node].op,
        };
        return true;
    }
    session_free(s->session);
    if (e->code != ERR_NAME)
        return false;
    /* there is nothing to search in this kernel */
    t->kernel[task].why = arena_strdup(t->a, e->text);
    return true;
}

/* Returns the task whose time exceeds its bound the most, among the tasks that are to be searched
 * and not marked in `asked`; -1: no such task is left. */
static int most_to_gain(const struct net_tuner *t, const bool *asked)
{
    int most = -1;
    for (int i = 0; i < t->net->n_tasks; i++) {
        const struct tuned_kernel *k = t->kernel;
        if (!asked[i] && !k[i].why
            && (most < 0
                || k[i].before_ms - k[i].bound_ms > k[most].before_ms - k[most].bound_ms))
            most = i;
    }
    return most;
}

static bool open_all(struct net_rounds *r, struct err *e)
{
    struct net_tuner *t = r->t;
    int complex = network_complex(t->net);
    double budget = t->o->time_s > 0 || t->o->budget <= 0 ? NETWORK_BUDGET : t->o->budget;
    r->search = ARENA_ARRAY(t->a, struct net_search, t->net->n_tasks + 1);
    r->task = ARENA_ARRAY(t->a, struct task_rounds, t->net->n_tasks + 1);
    double share = loops_only(t) ? 0 : JOINT_SHARE;
    if (share > 0)
        r->joint = whole_batches(share * budget / complex, TUNE_TOP, NETWORK_MOST_TRIALS / 2);
    r->round = whole_batches((1 - share) * budget / complex / LEAST_ROUNDS, TUNE_TOP,
                             LONGEST_ROUND);
    bool *asked = ARENA_ARRAY(t->a, bool, t->net->n_tasks);
    for (int i; !cancelled(t->cancel) && (i = most_to_gain(t, asked)) >= 0; asked[i] = true)
        if (!open_search(r, i, e))
            return false;
    return true;
}

/* --- Rounds ----------------------------------------------------------------------------------- */

static double left_s(const struct net_rounds *r)
{
    return r->t->o->time_s > 0 ? fmax(0.01, r->t->o->time_s - r->spent_s) : 0;
}

/* Returns the budget of all searches together; with a time limit, a number that is never
 * reached. */
static int budget_of(const struct network_tuning_opts *o)
{
    return o->time_s > 0 ? INT_MAX : o->budget > 0 ? o->budget : NETWORK_BUDGET;
}

/* Whether the limit is reached. A time limit counts as reached if another round, as short as the
 * shortest so far, would not end before the limit. */
static bool is_spent(const struct net_rounds *r)
{
    double limit = r->t->o->time_s;
    return limit > 0 ? r->spent_s + r->shortest_s >= limit : r->spent >= budget_of(r->t->o);
}

/* Returns the time that stands for the kernel's present schedule: the best time of the seeds of
 * this search. If the search tries only seeds (seeds_only), only the first two count: the kernel
 * without loop steps, and the experts' first choice. */
static double seeds_ms(const struct tune_view *v, bool seeds_only)
{
    double least = INFINITY;
    for (int i = 0; i < v->n_trials; i++)
        if (v->trial[i]->seed && (!seeds_only || v->trial[i]->trial < 2))
            least = fmin(least, v->trial[i]->ms);
    return least;
}

/* Stores what a round has found. */
static void note_round(struct net_rounds *r, int i, bool seeds_only)
{
    struct net_search *s = &r->search[i];
    struct task_rounds *x = &r->task[i];
    struct tuned_kernel *k = &r->t->kernel[s->task];
    const struct tune_result *now = tuning_now(s->inquiry);
    int before = k->trials;
    x->closed = seeds_only || !now || now->end == SEARCH_EXHAUSTED;
    double ms = now ? now->view->best_ms : INFINITY;
    k->trials = now ? now->view->n_trials : 0;
    x->closed = x->closed || (k->trials == before && now->end != SEARCH_TIME);
    r->spent += k->trials - before;
    vec_push(&s->best_s, isfinite(ms) ? 1e-3 * ms : 1e-3 * k->before_ms / k->count);
    x->best_s = s->best_s.data;
    x->n = s->best_s.len;
    double had = now ? seeds_ms(now->view, seeds_only) : INFINITY;
    /* a kernel alone may be faster than in the network, but hardly by more than this */
    had = fmax(had, ALONE_LEAST * k->before_ms / k->count);
    if (isfinite(ms) && isfinite(had))
        k->gain_ms = k->before_ms * (1 - ms / had);
}

static void show(struct net_rounds *r, int current)
{
    struct net_tuner *t = r->t;
    const struct network_tuning_opts *o = t->o;
    struct network_tuning_view v = {
        .n = t->net->n_tasks, .kernel = t->kernel, .round = r->n_rounds,
        .current = current < 0 ? -1 : r->search[current].task, .spent = r->spent,
        .budget = o->time_s > 0 ? 0 : budget_of(o),
        .spent_s = r->spent_s, .time_s = o->time_s, .before_ms = t->before.latency.min_ms,
    };
    v.now_ms = v.before_ms;
    for (int i = 0; i < r->n; i++) {
        struct tuned_kernel *k = &t->kernel[r->search[i].task];
        k->rounds = r->task[i].n;
        k->expected_ms = r->task[i].closed ? 0 : -1e3 * task_rounds_gain(r->task, r->n, i);
        v.now_ms -= k->gain_ms * r->task[i].weight / k->count;
        v.expected_ms = fmax(v.expected_ms, k->expected_ms);
    }
    if (o->show)
        o->show(o->ctx, &v);
}

/* Gives one round to a search. */
static bool run_round(struct net_rounds *r, int i, struct err *e)
{
    struct net_search *s = &r->search[i];
    const struct tune_result *now = tuning_now(s->inquiry);
    double limit = left_s(r), began = clock_s(), paused = r->t->paused_s;
    bool first = r->task[i].n == 0;
    int replayed = now && now->view ? now->view->replayed : 0;
    if (first && limit > 0)
        limit = fmin(limit, fmax(1, JOINT_SHARE * r->t->o->time_s / r->n));
    int had = r->spent, left = budget_of(r->t->o) - had;
    int trials = !first ? r->round
               : r->joint + r->round > LEAST_TRIALS ? r->joint + r->round : LEAST_TRIALS;
    bool seeds_only = network_space(&r->t->net->task[s->task]) == KERNEL_EXPERTS;
    if (seeds_only)
        trials = 1 + TUNING_ALGORITHM_EXPERTS;
    s->trials += trials < left ? trials : left;
    if (!tuning_go(s->inquiry, s->trials, limit, e))
        return false;
    now = tuning_now(s->inquiry);
    note_round(r, i, seeds_only);
    bool known = now && r->spent > had && r->spent - had == now->view->replayed - replayed;
    double took = clock_s() - began - (r->t->paused_s - paused);
    if (!known) {                         /* a round with only replayed trials does not count */
        r->spent_s += took;
        r->shortest_s = r->shortest_s > 0 ? fmin(r->shortest_s, took) : took;
    }
    r->n_rounds++;
    return true;
}

/* Whether the next round can gain a noticeable amount. */
static bool is_worth(const struct net_rounds *r)
{
    return 1e3 * task_rounds_hope(r->task, r->n) > LEAST_HOPE * r->t->before.latency.min_ms;
}

static bool run_rounds(struct net_rounds *r, struct err *e)
{
    for (int i; !is_spent(r) && !cancelled(r->t->cancel) && is_worth(r)
                && (i = task_rounds_next(r->task, r->n, r->n_rounds)) >= 0; ) {
        show(r, i);
        if (!run_round(r, i, e))
            return false;
    }
    show(r, -1);
    return true;
}

/* --- Closing ---------------------------------------------------------------------------------- */

/* Ends a search and takes its winner. until: the time after which no final begins. */
static bool close_search(struct net_rounds *r, struct net_search *s, double until, struct err *e)
{
    struct net_tuner *t = r->t;
    struct tuned_kernel *k = &t->kernel[s->task];
    const char *spec = t->net->task[s->task].spec;
    struct inquiry *q = s->inquiry;
    struct tuning *found;
    if (s->best_s.len == 0) {
        k->late = !cancelled(t->cancel);
        k->why = k->late ? "the budget was spent before its turn" : "cancelled";
        return true;
    }
    s->inquiry = NULL;
    if (!tuning_close(q, clock_s() < until ? t->time.compare_s : -1, &found, e))
        return e->code == ERR_CANCEL;
    if (isfinite(found->best_ms) && found->n_lines > 0) {
        kernels_put(&t->session->kernels, spec, found->n_lines, found->line);
        k->kept = true;
        k->after_ms = k->before_ms - k->gain_ms;
    }
    tuning_free(found);
    return true;
}

bool network_search(struct net_tuner *t, struct err *e)
{
    struct net_rounds r = { .t = t, .spent = t->spent, .spent_s = t->spent_s };
    double began = clock_s();
    bool ok = open_all(&r, e);
    r.spent_s += clock_s() - began;
    ok = ok && run_rounds(&r, e);
    double until = t->o->time_s > 0 ? clock_s() + t->time.finals_s : INFINITY;
    for (int i = 0; i < r.n; i++) {
        struct net_search *s = &r.search[i];
        ok = ok && close_search(&r, s, until, e);
        tuning_drop(s->inquiry);
        session_free(s->session);
        vec_free(&s->best_s);
    }
    return ok && (!t->o->save || t->o->save(t->o->ctx, t->session, e));
}
