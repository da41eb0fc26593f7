#include "sessions/tuning/network_tuning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/space/loop_space.h"
#include "kernels/base/arena.h"
#include "kernels/base/vec.h"
#include "sessions/file/kernels_text.h"
#include "sessions/file/session_network.h"
#include "sessions/report/network_report.h"

#define LEAST_SHARE 0.005                 /* of the network's time: below it nothing is searched */
#define LEAST_GAIN 0.03                   /* share above the bound that is worth a search */
#define LEAST_TRIALS 32
#define FINAL_TURNS 3
#define KEPT_BELOW 0.99                   /* of the time before: above it nothing is shown */

struct net_tuner {
    struct arena *a;
    struct session *session;
    const struct network_tuning_opts *o;
    struct cancel *cancel;
    const struct graph *graph;
    const struct network *net;            /* before */
    struct network_measurement before;
    struct tuned_kernel *kernel;          /* per task */
    double potential;                     /* milliseconds above the bounds, of all searches */
};

static bool measure(struct net_tuner *t, const struct network *net, bool check,
                    struct network_measurement *m, struct err *e)
{
    struct measure_opts mo = t->o->each.measure;
    mo.meters = METER_CLOCK;
    mo.seed = 1;
    struct network_opts o = { .measure = &mo, .unchecked = !check };
    if (!measure_network(t->a, net, &o, t->o->progress, t->cancel, m, e))
        return false;
    return m->outcome == OUTCOME_OK
        || err_set(e, ERR_WRONG, "the network is not right: %.400s", m->reason);
}

/* Lowers least[task] to the milliseconds that all calls of each task took. */
static void take_times(const struct network *net, const struct network_measurement *m,
                       double *least)
{
    for (int k = 0; k < net->n_tasks; k++) {
        double ms = 0;
        for (int i = 0; i < net->module->n_calls; i++)
            ms += net->call[i].task == k ? 1e3 * m->call_s[i] : 0;
        least[k] = least[k] > 0 && least[k] < ms ? least[k] : ms;
    }
}

/* Why the kernel of a task is not searched; NULL: it is. */
static const char *reason(const struct net_tuner *t, const struct network_task *task,
                          const struct tuned_kernel *k)
{
    const struct node *main = &task->program->base->node[task->program->base->main_node];
    if (task->conversion)
        return "a conversion";
    if (task->program->n_algorithms > 0)
        return "the search does not know its algorithm";
    if (!main->complex)
        return "it has no loop space";
    for (const struct network_task *x = t->net->task; x < task; x++)
        if (streq(x->spec, task->spec) && !x->conversion)
            return "its inputs arrive otherwise, and one of the same text is searched";
    if (k->before_ms < LEAST_SHARE * t->before.latency.min_ms)
        return "too small a share of the time";
    if (k->before_ms - k->bound_ms < LEAST_GAIN * k->before_ms)
        return "at its bound already";
    return NULL;
}

static void find_potential(struct net_tuner *t)
{
    double *ms = ARENA_ARRAY(t->a, double, t->net->n_tasks);
    take_times(t->net, &t->before, ms);
    t->kernel = ARENA_ARRAY(t->a, struct tuned_kernel, t->net->n_tasks);
    for (int i = 0; i < t->net->n_tasks; i++) {
        const struct network_task *task = &t->net->task[i];
        struct tuned_kernel *k = &t->kernel[i];
        double flops = task->program->form->flops * task->count;
        struct str brief = {0};
        network_report_brief(&brief, task);
        *k = (struct tuned_kernel){ .spec = task->spec, .count = task->count, .before_ms = ms[i],
                                    .brief = arena_strdup(t->a, str_text(&brief)),
                                    .after_ms = ms[i] };
        str_free(&brief);
        if (t->before.peak_gflops > 0)
            k->bound_ms = 1e-6 * flops / t->before.peak_gflops;
        k->why = reason(t, task, k);
        if (!k->why)
            t->potential += k->before_ms - k->bound_ms;
    }
}

/* --- One search ------------------------------------------------------------------------------- */

/* Opens the kernel as a session with the steps that fix the layouts between kernels. */
static bool open_kernel(const struct network_task *task, struct session **out, struct err *e)
{
    const struct graph *g = task->program->base;
    enum command_effect effect;
    if (!session_new(task->spec, out, e))
        return false;
    for (int i = 0; i < task->n_lines; i++) {
        char tensor[128];
        bool given = str_starts(task->line[i], "set input_layout");
        int t = sscanf(task->line[i], "layout %*s %127s", tensor) == 1 ? graph_tensor(g, tensor)
                                                                        : -1;
        if (!given && (t < 0 || g->tensor[t].role == TENSOR_CONST))
            continue;
        if (!session_run(*out, task->line[i], &effect, e)) {
            session_free(*out);
            return false;
        }
    }
    return true;
}

static bool search(struct net_tuner *t, int task, struct err *e)
{
    static const char *const pins[] = { "layout" };
    const struct network_task *x = &t->net->task[task];
    struct tuned_kernel *k = &t->kernel[task];
    struct tuning_opts o = t->o->each;
    struct session *s;
    struct tuning *found;
    double share = (k->before_ms - k->bound_ms) / t->potential;
    o.pin = pins;
    o.no_ledger = true;
    o.baselines = 0;
    o.time_s = t->o->time_s > 0 ? fmax(1, share * t->o->time_s) : 0;
    int budget = t->o->budget > 0 ? t->o->budget : NETWORK_BUDGET;
    o.budget = (int)fmax(LEAST_TRIALS, t->o->time_s > 0 ? TUNING_BUDGET : share * budget);
    o.resume = !o.fresh;
    if (!open_kernel(x, &s, e))
        return false;
    o.n_pins = history_current(s->history)->program->n_steps > 0;
    k->budget = o.budget;
    bool ok = tuning_run(s, &o, t->o->view, t->cancel, &found, e);
    if (ok) {
        k->trials = found->trials;
        if (isfinite(found->best_ms) && found->n_lines > 0)
            kernels_put(&t->session->kernels, x->spec, found->n_lines, found->line);
        tuning_free(found);
        ok = !t->o->save || t->o->save(t->o->ctx, t->session, e);
    } else if (e->code == ERR_NAME) {     /* nothing to search in this kernel */
        k->why = arena_strdup(t->a, e->text);
        ok = true;
    }
    session_free(s);
    return ok;
}

/* Searches the kernels, those first that can gain most. */
static bool search_all(struct net_tuner *t, struct err *e)
{
    bool *done = ARENA_ARRAY(t->a, bool, t->net->n_tasks);
    for (int n = 0; n < t->net->n_tasks; n++) {
        int next = -1;
        for (int i = 0; i < t->net->n_tasks; i++) {
            const struct tuned_kernel *k = &t->kernel[i];
            if (!done[i] && !k->why
                && (next < 0 || k->before_ms - k->bound_ms
                                    > t->kernel[next].before_ms - t->kernel[next].bound_ms))
                next = i;
        }
        if (next < 0)
            break;
        done[next] = true;
        if (cancelled(t->cancel)) {
            t->kernel[next].why = "cancelled";
            continue;
        }
        if (!search(t, next, e) && e->code != ERR_CANCEL)
            return false;
    }
    return true;
}

/* --- Which schedules stay --------------------------------------------------------------------- */

/* Returns the time of all kernels of this text: one schedule is for all of them. */
static double time_of(const struct network *net, const double *ms, const char *spec)
{
    double sum = 0;
    for (int i = 0; i < net->n_tasks; i++)
        sum += streq(net->task[i].spec, spec) && !net->task[i].conversion ? ms[i] : 0;
    return sum;
}

/* Measures both networks in turns, and drops the schedules that are no faster in the network. */
static bool keep_faster(struct net_tuner *t, const char *kernels_before, struct err *e)
{
    const struct network *now;
    struct network_measurement m;
    if (!network_of_graph(t->a, t->graph, str_text(&t->session->kernels), t->session->accuracy,
                          t->o->each.measure.target, t->o->each.measure.threads, &now, e))
        return false;
    double *before = ARENA_ARRAY(t->a, double, t->net->n_tasks);
    double *after = ARENA_ARRAY(t->a, double, now->n_tasks);
    for (int i = 0; i < 3; i++) {
        if (!measure(t, t->net, false, &m, e))
            return false;
        take_times(t->net, &m, before);
        if (!measure(t, now, i == 0, &m, e))
            return false;
        take_times(now, &m, after);
    }
    for (int i = 0; i < t->net->n_tasks; i++) {
        struct tuned_kernel *k = &t->kernel[i];
        const char *const *line;
        int n;
        k->before_ms = k->after_ms = before[i];
        if (!k->why) {
            k->before_ms = time_of(t->net, before, k->spec);
            k->after_ms = time_of(now, after, k->spec);
        }
        k->kept = k->after_ms < KEPT_BELOW * k->before_ms;
        if (k->kept || k->why)
            continue;
        k->after_ms = k->before_ms;
        bool had = kernels_find(kernels_before, t->a, k->spec, &n, &line);
        kernels_put(&t->session->kernels, k->spec, had ? n : -1, had ? line : NULL);
    }
    return true;
}

/* Measures the networks before and after in turns.  When all kernels together are slower than
 * before, which kernels that are faster by themselves can be, the old schedules stay. */
static bool compare(struct net_tuner *t, const char *kernels_before, struct network_tuning *out,
                    struct err *e)
{
    const struct measure_opts *mo = &t->o->each.measure;
    const struct network *now;
    if (!network_of_graph(t->a, t->graph, str_text(&t->session->kernels), t->session->accuracy,
                          mo->target, mo->threads, &now, e))
        return false;
    out->before_ms = out->after_ms = INFINITY;
    for (int i = 0; i < FINAL_TURNS; i++) {
        struct network_measurement old, new;
        if (!measure(t, t->net, false, &old, e) || !measure(t, now, i == 0, &new, e))
            return false;
        out->before_ms = fmin(out->before_ms, old.latency.min_ms);
        out->after_ms = fmin(out->after_ms, new.latency.min_ms);
        out->verified |= new.verified;
    }
    if (out->after_ms > out->before_ms) {
        str_clear(&t->session->kernels);
        str_add(&t->session->kernels, kernels_before);
        out->after_ms = out->before_ms;
        for (int i = 0; i < t->net->n_tasks; i++) {
            t->kernel[i].kept = false;
            t->kernel[i].after_ms = t->kernel[i].before_ms;
        }
    }
    return true;
}

bool network_tuning_run(struct arena *a, struct session *s, const struct network_tuning_opts *o,
                        struct cancel *cancel, struct network_tuning *out, struct err *e)
{
    struct net_tuner t = { .a = a, .session = s, .o = o, .cancel = cancel,
                           .graph = history_current(s->history)->program->base };
    const struct measure_opts *mo = &o->each.measure;
    const char *kernels_before = arena_strdup(a, str_text(&s->kernels));
    s->network = true;
    if (!network_of_graph(a, t.graph, kernels_before, s->accuracy, mo->target, mo->threads,
                          &t.net, e)
        || !measure(&t, t.net, true, &t.before, e))
        return false;
    find_potential(&t);
    if (!search_all(&t, e))
        return false;
    *out = (struct network_tuning){ .n = t.net->n_tasks, .kernel = t.kernel,
                                    .before_ms = t.before.latency.min_ms,
                                    .after_ms = t.before.latency.min_ms,
                                    .verified = t.before.verified,
                                    .cancelled = cancelled(cancel) };
    if (out->cancelled)
        return true;
    if (keep_faster(&t, kernels_before, e) && compare(&t, kernels_before, out, e))
        return !o->save || o->save(o->ctx, s, e);
    struct err why = *e, ignored;         /* what was not compared does not stay */
    str_clear(&s->kernels);
    str_add(&s->kernels, kernels_before);
    if (o->save)
        o->save(o->ctx, s, &ignored);
    *e = why;
    out->cancelled = why.code == ERR_CANCEL;
    return out->cancelled;
}
