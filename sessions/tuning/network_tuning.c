#include <math.h>

#include "kernels/base/arena.h"
#include "kernels/base/deadline.h"
#include "kernels/base/subprocess.h"
#include "profile/machine/network_profile.h"
#include "sessions/file/kernels_text.h"
#include "sessions/file/machine_file.h"
#include "sessions/file/session_network.h"
#include "sessions/report/network_report.h"
#include "sessions/tuning/network_tuning_impl.h"

#define LEAST_SHARE 0.005  /* a kernel below this share of the network's time is not searched */
#define LEAST_GAIN 0.03  /* a kernel must be above its bound by this share to be searched */
#define CLEARLY_LESS 0.97  /* after a cancel, a schedule that was not compared is kept if it takes
                            * less than this share of the time before */
#define KEPT_BELOW 0.99  /* a new schedule is kept if its time is below this share of the old */
#define GRACE_S 20  /* work that cannot be left out may end this many seconds after the limit */
#define CHECK_SHARE 0.4  /* a check that takes more than this share of the time limit is left out */

bool network_variant_find(const char *name, enum network_variant *out, struct err *e)
{
    static const char *const all[] = {
        [NETWORK_PACKED] = "packed", [NETWORK_ALT] = "alt", [NETWORK_WP] = "wp",
        [NETWORK_OL] = "ol", [NETWORK_LOOPS] = "loops",
    };
    for (int i = 0; i < COUNT_OF(all); i++)
        if (streq(name, all[i])) {
            *out = (enum network_variant)i;
            return true;
        }
    err_set(e, ERR_SYNTAX, "there is no variant \"%.40s\"", name);
    return err_fix(e, "packed, alt, wp, ol or loops");
}

bool network_measure(struct net_tuner *t, const struct network *net, bool check,
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

bool network_now(struct net_tuner *t, const struct network **out, struct err *e)
{
    const struct measure_opts *mo = &t->o->each.measure;
    return network_of_graph(t->a, t->graph, str_text(&t->session->kernels), t->session->accuracy,
                            mo->target, mo->threads, out, e);
}

void network_restore(struct net_tuner *t, const char *kernels)
{
    str_clear(&t->session->kernels);
    str_add(&t->session->kernels, kernels);
}

bool network_in_turns(struct net_tuner *t, const struct network *old, const struct network *now,
                      int turns, double *old_ms, double *now_ms, struct err *e)
{
    *old_ms = *now_ms = INFINITY;
    for (int i = 0; i < turns; i++) {
        struct network_measurement x, y;
        bool check = i == 0 && t->checks;
        if (!network_measure(t, old, false, &x, e) || !network_measure(t, now, check, &y, e))
            return false;
        *old_ms = fmin(*old_ms, x.latency.min_ms);
        *now_ms = fmin(*now_ms, y.latency.min_ms);
    }
    return true;
}

/* For every task k: lowers least[k] to the milliseconds that all calls of the task took together. 0
 * in least[k]: no time yet. */
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

/* Returns why the kernel of a task is not searched; NULL: it is searched. */
static const char *reason(const struct net_tuner *t, const struct network_task *task,
                          const struct tuned_kernel *k)
{
    if (network_space(task) == KERNEL_FIXED)
        return task->conversion ? "a conversion" : "it has no loop space";
    for (const struct network_task *x = t->net->task; x < task; x++)
        if (streq(x->spec, task->spec) && !x->conversion && !t->kernel[x - t->net->task].why)
            return "the same operator with other input layouts is searched already";
    if (k->before_ms < LEAST_SHARE * t->before.latency.min_ms)
        return "its share of the time is too small";
    if (k->before_ms - k->bound_ms < LEAST_GAIN * k->before_ms)
        return "at its bound already";
    return NULL;
}

/* Computes the bounds of all kernels, as `tilescope run` does.  Without a machine model, the
 * bandwidths are unknown; the only bound is then arithmetic at the FMA ceiling of this run. */
static void take_bounds(const struct net_tuner *t, struct kernel_profile *out)
{
    struct machine here;
    struct machine_model model;
    struct err ignored;
    machine_read(&here);
    bool known = machine_file_load(&here, &model, &ignored);
    network_profile(known ? &model : NULL, t->net, t->before.threads, t->before.isa, out);
    for (int i = 0; !known && i < t->net->n_tasks && t->before.peak_gflops > 0; i++)
        out[i].bound_s = 1e-9 * t->net->task[i].program->form->flops * t->net->task[i].count
                       / t->before.peak_gflops;
}

static void open_kernels(struct net_tuner *t)
{
    struct kernel_profile *is = ARENA_ARRAY(t->a, struct kernel_profile, t->net->n_tasks);
    double *ms = ARENA_ARRAY(t->a, double, t->net->n_tasks);
    take_times(t->net, &t->before, ms);
    take_bounds(t, is);
    t->kernel = ARENA_ARRAY(t->a, struct tuned_kernel, t->net->n_tasks);
    for (int i = 0; i < t->net->n_tasks; i++) {
        const struct network_task *task = &t->net->task[i];
        struct tuned_kernel *k = &t->kernel[i];
        struct str brief = {0};
        network_report_brief(&brief, task);
        *k = (struct tuned_kernel){ .spec = task->spec, .count = task->count, .before_ms = ms[i],
                                    .brief = arena_strdup(t->a, str_text(&brief)),
                                    .after_ms = ms[i], .bound_ms = 1e3 * is[i].bound_s };
        str_free(&brief);
        k->why = reason(t, task, k);
    }
}

/* For each kernel that was not searched and has no loop space: replaces the schedule by the instant
 * one (instant.h), so that the two schedules are compared. */
static void propose_instant(struct net_tuner *t, const char *kernels_before)
{
    const char *const *line;
    int n;
    if (t->o->variant == NETWORK_OL || t->o->variant == NETWORK_LOOPS)
        return;                           /* the layouts stay, so there is nothing to propose */
    for (int i = 0; i < t->net->n_tasks; i++) {
        struct tuned_kernel *k = &t->kernel[i];
        const struct network_task *task = &t->net->task[i];
        k->instant = k->why && !task->conversion && network_space(task) < KERNEL_LOOPS
                  && kernels_find(kernels_before, t->a, k->spec, &n, &line);
        if (k->instant)
            kernels_put(&t->session->kernels, k->spec, -1, NULL);
    }
}

/* --- Which schedules stay --------------------------------------------------------------------- */

/* Returns the sum of the times of all tasks with this operator, because they share one schedule. */
static double time_of(const struct network *net, const double *ms, const char *spec)
{
    double sum = 0;
    for (int i = 0; i < net->n_tasks; i++)
        sum += streq(net->task[i].spec, spec) && !net->task[i].conversion ? ms[i] : 0;
    return sum;
}

static void put_back(struct net_tuner *t, const struct tuned_kernel *k, const char *kernels_before)
{
    const char *const *line;
    int n;
    bool had = kernels_find(kernels_before, t->a, k->spec, &n, &line);
    kernels_put(&t->session->kernels, k->spec, had ? n : -1, had ? line : NULL);
}

/* Drops the schedules that were not clearly faster in the search. This is for a cancel before the
 * schedules were compared in the network. */
static void keep_clear(struct net_tuner *t, const char *kernels_before)
{
    for (int i = 0; i < t->net->n_tasks; i++) {
        struct tuned_kernel *k = &t->kernel[i];
        bool clear = k->gain_ms > (1 - CLEARLY_LESS) * k->before_ms;
        if (k->instant || (k->kept && !clear))
            put_back(t, k, kernels_before);
        k->kept = k->kept && clear;
        k->after_ms = k->kept ? k->after_ms : k->before_ms;
    }
}

/* Measures t->net and the network with the new schedules in turns.  Drops the new schedules that
 * are no faster inside the network; compare() later checks the others. */
static bool keep_faster(struct net_tuner *t, const char *kernels_before, struct err *e)
{
    const struct network *now;
    struct network_measurement m;
    if (!network_now(t, &now, e))
        return false;
    double *before = ARENA_ARRAY(t->a, double, t->net->n_tasks);
    double *after = ARENA_ARRAY(t->a, double, now->n_tasks);
    for (int i = 0; i < t->time.turns; i++) {
        if (!network_measure(t, t->net, false, &m, e))
            return false;
        take_times(t->net, &m, before);
        if (!network_measure(t, now, false, &m, e))
            return false;
        take_times(now, &m, after);
    }
    for (int i = 0; i < t->net->n_tasks; i++) {
        struct tuned_kernel *k = &t->kernel[i];
        k->before_ms = k->after_ms = before[i];
        if (!k->why || k->instant) {
            k->before_ms = time_of(t->net, before, k->spec);
            k->after_ms = time_of(now, after, k->spec);
        }
        k->kept = k->after_ms < KEPT_BELOW * k->before_ms;
        if (k->kept || (k->why && !k->instant))
            continue;
        k->after_ms = k->before_ms;
        put_back(t, k, kernels_before);
    }
    return true;
}

/* Says of the kernels that stay with the instant schedule why they were not searched. */
static void note_instant(struct net_tuner *t)
{
    for (int i = 0; i < t->net->n_tasks; i++)
        if (t->kernel[i].kept && t->kernel[i].instant)
            t->kernel[i].why = "the experts' schedule is faster, and is taken";
}

static void nothing_kept(struct net_tuner *t)
{
    for (int i = 0; i < t->net->n_tasks; i++) {
        t->kernel[i].kept = false;
        t->kernel[i].after_ms = t->kernel[i].before_ms;
    }
}

/* Checks the network as it was before, unless it is already checked or t->checks is not set. */
static bool check_first(struct net_tuner *t, struct network_tuning *out, struct err *e)
{
    struct network_measurement m;
    if (out->verified || !t->checks)
        return true;
    out->verified = network_measure(t, t->first, true, &m, e);
    return out->verified;
}

/* Measures the networks before and after in turns.  Kernels that are faster alone can be slower
 * together; the old schedules then stay. */
static bool compare(struct net_tuner *t, const char *kernels_before, struct network_tuning *out,
                    struct err *e)
{
    const struct network *now;
    double old_ms, now_ms;
    if (!network_now(t, &now, e)
        || !network_in_turns(t, t->first, now, t->time.turns, &old_ms, &now_ms, e))
        return false;
    out->before_ms = old_ms;
    out->after_ms = now_ms;
    out->verified = t->checks;            /* the first turn has checked `now` */
    if (out->after_ms > out->before_ms) {
        network_restore(t, kernels_before);
        out->after_ms = out->before_ms;
        out->verified = t->before.verified;
        nothing_kept(t);
        return check_first(t, out, e);
    }
    return true;
}

/* Decides which schedules stay. */
static bool choose(struct net_tuner *t, const char *frozen, const char *kernels_before,
                   struct network_tuning *out, struct err *e)
{
    const struct str *kernels = &t->session->kernels;
    propose_instant(t, frozen);
    if (!streq(str_text(kernels), kernels_before) && !keep_faster(t, frozen, e))
        return false;
    t->chosen = true;
    if (!streq(str_text(kernels), kernels_before))
        return compare(t, kernels_before, out, e);
    nothing_kept(t);                      /* no new schedule is left */
    return check_first(t, out, e);
}

/* Measures t->net before any search. ERR_RANGE: the measurement takes longer than the time limit
 * and GRACE_S together. */
static bool measure_first(struct net_tuner *t, bool check, struct err *e)
{
    double limit = t->o->time_s;
    if (limit <= 0)
        return network_measure(t, t->net, check, &t->before, e);
    struct cancel *asked = t->cancel;
    struct deadline *d = deadline_new(asked, limit + GRACE_S);
    t->cancel = deadline_cancel(d);
    bool ok = network_measure(t, t->net, check, &t->before, e);
    t->cancel = asked;
    if (!ok && deadline_passed(d)) {
        err_set(e, ERR_RANGE, "nothing was searched: compiling and timing this network once takes "
                "longer than the time limit of %.3g s", limit);
        err_fix(e, "raise the limit to %.0f s (--time, or `tune_all` on the screen)",
                ceil(5 * (limit + GRACE_S)));
    }
    deadline_free(d);
    return ok;
}

/* Builds the network of the session's kernels as t->net, and measures it.  Also checks it
 * unless there is a time limit. */
static bool open_network(struct net_tuner *t, struct err *e)
{
    bool limited = t->o->time_s > 0;
    if (!network_now(t, &t->net, e))
        return false;
    double began = clock_s();
    if (!measure_first(t, !limited, e))
        return false;
    const struct network_measurement *m = &t->before;
    t->plain_s = clock_s() - began - m->build_s - m->check_s - m->whole_s;
    t->check_s = limited ? network_check_estimate(t->net) : m->check_s + m->whole_s;
    t->checks = !limited || t->check_s <= CHECK_SHARE * t->o->time_s;
    t->checked_s = t->plain_s + (t->checks ? t->check_s : 0);
    open_kernels(t);
    return true;
}

/* Opens the network with the layouts of the variant. */
static bool open_variant(struct net_tuner *t, struct err *e)
{
    enum network_variant v = t->o->variant;
    if (!open_network(t, e))
        return false;
    if (v == NETWORK_LOOPS && (!network_row_major(t, e) || !open_network(t, e)))
        return false;
    t->first = t->net;
    if (v != NETWORK_ALT && v != NETWORK_WP)
        return true;
    const char *before = arena_strdup(t->a, str_text(&t->session->kernels));
    if (!network_joint(t, e))
        return false;
    if (!cancelled(t->cancel))
        return !t->layouts_changed || open_network(t, e);
    t->net = t->first;                    /* the network to which t->kernel belongs */
    network_restore(t, before);
    return true;
}

/* Returns the costs that are known when the searches begin. */
static struct network_costs costs(const struct net_tuner *t, double began)
{
    return (struct network_costs){
        .limit_s = t->o->time_s, .spent_s = clock_s() - began - t->spent_s - t->paused_s,
        .checked_s = t->checked_s, .plain_s = t->plain_s, .build_s = t->before.build_s,
        .n_kernels = network_complex(t->net),
    };
}

/* Whether measuring the networks takes clearly more than the time limit, even without a search. If
 * so, stores this as the reason why no kernel is searched. */
static bool is_hopeless(struct net_tuner *t, const struct network_costs *c)
{
    bool is = c->limit_s > 0 && c->spent_s + network_time_end(c, 1) > c->limit_s + GRACE_S;
    for (int i = 0; is && i < t->net->n_tasks; i++) {
        struct tuned_kernel *k = &t->kernel[i];
        k->late = !k->why;
        k->why = k->why ? k->why : "measuring the network takes all of the time";
    }
    return is;
}

bool network_tuning_run(struct arena *a, struct session *s, const struct network_tuning_opts *o,
                        struct cancel *cancel, struct network_tuning *out, struct err *e)
{
    struct net_tuner t = { .a = a, .session = s, .o = o, .cancel = cancel,
                           .graph = history_current(s->history)->program->base };
    const char *given = arena_strdup(a, str_text(&s->kernels)), *kernels_before = given;
    double began = clock_s();
    s->network = true;
    if (!open_variant(&t, e)) {
        network_restore(&t, kernels_before);
        return false;
    }
    if (o->variant == NETWORK_LOOPS)  /* the result is compared with the row-major network */
        kernels_before = arena_strdup(a, str_text(&s->kernels));
    const char *frozen = arena_strdup(a, str_text(&s->kernels));
    struct network_tuning_opts rest = *o;
    struct network_costs cost = costs(&t, began);
    t.time = network_time_of(&cost);
    rest.time_s = t.time.search_s;
    t.o = &rest;
    bool hopeless = is_hopeless(&t, &cost);
    if (!hopeless && !network_search(&t, e)) {
        network_restore(&t, given);
        return false;
    }
    *out = (struct network_tuning){ .n = t.net->n_tasks, .kernel = t.kernel, .first = t.before,
                                    .n_calls = t.net->module->n_calls,
                                    .before_ms = t.before.latency.min_ms,
                                    .after_ms = t.before.latency.min_ms,
                                    .verified = t.before.verified,
                                    .measuring_s = fmax(0, cost.spent_s)
                                                 + network_time_end(&cost, 1),
                                    .cancelled = cancelled(cancel) };
    bool ok = out->cancelled || hopeless || choose(&t, frozen, kernels_before, out, e);
    out->unchecked_s = out->verified || t.checks ? 0 : t.check_s;
    struct err why = *e;
    out->cancelled = out->cancelled || (!ok && why.code == ERR_CANCEL);
    if (out->cancelled && !t.chosen)
        keep_clear(&t, frozen);
    note_instant(&t);
    if (!ok && !out->cancelled)           /* schedules that were not compared do not stay */
        network_restore(&t, given);
    bool saved = !o->save || o->save(o->ctx, s, e);
    if (!ok)
        *e = why;
    return saved && (ok || out->cancelled);
}
