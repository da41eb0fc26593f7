/* Finds the layouts that a variant starts from: the joint stage along the graph (SPEC L.3, C.5). */
#include <math.h>

#include "explorer/expert/instant.h"
#include "kernels/base/arena.h"
#include "kernels/base/subprocess.h"
#include "sessions/file/kernels_text.h"
#include "sessions/file/session_network.h"
#include "sessions/tuning/network_tuning_impl.h"

#define FREE_SHARE 0.2  /* share of the budget or time for searches of the joint stage */
#define JOINT_MOST 0.4  /* largest share of the time limit for the whole joint stage */
#define FREE_JOINT 0.75  /* in a search of the joint stage: share of the trials that vary layouts */
#define LEAST_FREE 32
#define TURNS 2
#define CHEAPER 0.99  /* new layouts must take at most this share of the time with the old ones */

/* --- Row-major -------------------------------------------------------------------------------- */

bool network_row_major(struct net_tuner *t, struct err *e)
{
    static const struct experts none = {0};
    const struct measure_opts *mo = &t->o->each.measure;
    struct instant plain = { &none, mo->target, mo->threads };
    const char *const *line;
    int n;
    str_clear(&t->session->kernels);
    for (int i = 0; i < t->net->n_tasks; i++) {
        const char *spec = t->net->task[i].spec;
        if (t->net->task[i].conversion)
            continue;
        if (!instant_choose(&plain, t->a, spec, 0, NULL, &n, &line, e))
            return false;
        kernels_put(&t->session->kernels, spec, n, line);
    }
    return true;
}

/* --- The joint stage -------------------------------------------------------------------------- */

/* Searches layouts and loops of a kernel; inputs other than the main one keep the layouts in which
 * they arrive.  Stores the n lines of the winner; *n = 0: nothing was found. */
static bool search_freely(struct net_tuner *t, const struct network_task *task, int trials,
                          double time_s, int *n, const char *const **line, struct err *e)
{
    static const char *const pins[] = { "layout" };
    struct tuning_opts o = t->o->each;
    struct session *s;
    struct inquiry *q = NULL;
    struct tuning *found;
    o.pin = pins;
    o.no_ledger = true;
    o.resume = !o.fresh;
    o.baselines = 0;
    o.budget = NETWORK_MOST_TRIALS;
    o.joint = (int)(FREE_JOINT * trials);
    *n = 0;
    if (!network_open_kernel(t, task, true, &s, e))
        return false;
    o.n_pins = history_current(s->history)->program->n_steps > 0;
    bool ok = tuning_open(s, &o, network_sink(t), t->cancel, &q, e);
    if (ok && !tuning_go(q, trials, time_s, e)) {
        tuning_drop(q);
        ok = false;
    }
    ok = ok && tuning_close(q, t->time.compare_s, &found, e);
    session_free(s);
    if (!ok)
        return e->code == ERR_NAME || e->code == ERR_CANCEL;  /* ERR_NAME: nothing to search */
    t->spent += found->trials;
    if (isfinite(found->best_ms) && found->n_lines > 0) {
        const char **copy = ARENA_ARRAY(t->a, const char *, found->n_lines);
        for (int i = 0; i < found->n_lines; i++)
            copy[i] = arena_strdup(t->a, found->line[i]);
        *line = copy;
        *n = found->n_lines;
    }
    tuning_free(found);
    return true;
}

/* Keeps new layouts of a kernel if the network is faster with them. The measurement includes the
 * conversions that the new layouts need, because the kernel's neighbours keep their layouts. */
static bool try_layouts(struct net_tuner *t, const char *spec, int n, const char *const *line,
                        struct err *e)
{
    const char *before = arena_strdup(t->a, str_text(&t->session->kernels));
    const struct network *now;
    struct err refused;
    double old_ms, new_ms;
    kernels_put(&t->session->kernels, spec, n, line);
    bool fits = network_now(t, &now, &refused);
    bool ok = !fits || network_in_turns(t, t->net, now, TURNS, &old_ms, &new_ms, e);
    if (ok && fits && new_ms < CHEAPER * old_ms) {
        t->net = now;
        t->layouts_changed = true;
        return true;
    }
    network_restore(t, before);
    return ok || e->code == ERR_WRONG || e->code == ERR_CANCEL;
}

static const struct network_task *task_of(const struct network *net, const char *spec)
{
    for (int i = 0; i < net->n_tasks; i++)
        if (!net->task[i].conversion && streq(net->task[i].spec, spec))
            return &net->task[i];
    UNREACHABLE();
}

bool network_joint(struct net_tuner *t, struct err *e)
{
    const struct network_tuning_opts *o = t->o;
    const struct network *first = t->net;
    int searched = 0;
    double budget = o->time_s > 0 || o->budget <= 0 ? NETWORK_BUDGET : o->budget;
    for (int i = 0; i < first->n_tasks; i++)
        searched += !t->kernel[i].why;
    int trials = (int)fmax(LEAST_FREE, FREE_SHARE * budget / network_complex(first));
    double time_s = searched > 0 && o->time_s > 0 ? FREE_SHARE * o->time_s / searched : 0;
    double until = o->time_s > 0 ? clock_s() + JOINT_MOST * o->time_s : INFINITY;
    for (int i = 0; i < first->n_tasks && !cancelled(t->cancel) && clock_s() < until; i++) {
        const char *spec = first->task[i].spec;
        const char *const *line;
        int n;
        if (t->kernel[i].why)
            continue;
        if (!search_freely(t, task_of(t->net, spec), trials / TUNE_TOP * TUNE_TOP, time_s, &n,
                           &line, e)
            || (n > 0 && !cancelled(t->cancel) && !try_layouts(t, spec, n, line, e)))
            return false;
        t->spent_s += time_s;
    }
    return true;
}
