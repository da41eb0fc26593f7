#include "app/model/network_live.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/model/gate.h"
#include "kernels/base/arena.h"
#include "sessions/tuning/network_tuning.h"

struct network_live {
    struct gate gate;
    pthread_mutex_t lock;                 /* guards the members below */
    int refs;
    unsigned version;
    struct str text;
};

struct network_live *network_live_new(void)
{
    struct network_live *l = xcalloc(1, sizeof *l);
    pthread_mutex_init(&l->lock, NULL);
    gate_init(&l->gate);
    l->refs = 1;
    return l;
}

struct network_live *network_live_keep(struct network_live *l)
{
    pthread_mutex_lock(&l->lock);
    l->refs++;
    pthread_mutex_unlock(&l->lock);
    return l;
}

void network_live_drop(struct network_live *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    int left = --l->refs;
    pthread_mutex_unlock(&l->lock);
    if (left > 0)
        return;
    gate_end(&l->gate);
    pthread_mutex_destroy(&l->lock);
    str_free(&l->text);
    free(l);
}

unsigned network_live_version(struct network_live *l)
{
    pthread_mutex_lock(&l->lock);
    unsigned version = l->version;
    pthread_mutex_unlock(&l->lock);
    return version;
}

void network_live_text(struct network_live *l, struct str *out)
{
    pthread_mutex_lock(&l->lock);
    str_add(out, str_text(&l->text));
    pthread_mutex_unlock(&l->lock);
}

void network_live_hold(struct network_live *l, bool hold)
{
    gate_hold(&l->gate, hold);
}

bool network_live_waits(struct network_live *l)
{
    return gate_waits(&l->gate);
}

/* --- The thread that tunes -------------------------------------------------------------------- */

struct live_task {
    struct network_live *live; const struct progress *pr; const struct cancel *cancel;
    char what[64]; double fraction;  /* last report: its text; share of the time spent, or -1 */
};

static void report(const struct live_task *t, const char *what)
{
    if (t->pr)
        t->pr->report(t->pr->ctx, what, t->fraction);
}

/* Waits while the search is held (network_live_hold). */
static void pass(void *ctx, const struct tune_view *v)
{
    const struct live_task *t = ctx;
    (void)v;
    if (!gate_reach(&t->live->gate, t->cancel))
        return;
    report(t, "waits for a measurement");
    gate_wait(&t->live->gate, t->cancel);
    report(t, t->what);
}

/* Appends a table of the kernels that are searched, sorted by their share of the time.  A > marks
 * the kernel that is tuned in this round. */
static void put_table(const struct network_tuning_view *v, struct str *out)
{
    int *order = xcalloc((size_t)v->n, sizeof *order);
    for (int i = 0; i < v->n; i++) {
        int k = i;
        for (; k > 0 && v->kernel[order[k - 1]].before_ms < v->kernel[i].before_ms; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    str_printf(out, "tuning: round %d, %.0f of %.0f s of search, %.2fx so far\n", v->round + 1,
               v->spent_s, v->time_s, v->now_ms > 0 ? v->before_ms / v->now_ms : 1);
    str_printf(out, "  share       ms  gain  hoped  trials  kernel\n");
    for (int i = 0; i < v->n; i++) {
        const struct tuned_kernel *k = &v->kernel[order[i]];
        if (k->why)
            continue;
        str_printf(out, "%c %4.1f%% %8.4f %4.2fx %4.1f%% %7d  %s\n",
                   order[i] == v->current ? '>' : ' ', 100 * k->before_ms / v->before_ms,
                   k->before_ms - k->gain_ms, k->before_ms / (k->before_ms - k->gain_ms),
                   100 * k->expected_ms / v->before_ms, k->trials, k->brief);
    }
    free(order);
}

static void show(void *ctx, const struct network_tuning_view *v)
{
    struct live_task *t = ctx;
    struct str text = {0};
    put_table(v, &text);
    pthread_mutex_lock(&t->live->lock);
    str_free(&t->live->text);
    t->live->text = text;
    t->live->version++;
    pthread_mutex_unlock(&t->live->lock);
    snprintf(t->what, sizeof t->what, "round %d, %.2fx", v->round + 1,
             v->now_ms > 0 ? v->before_ms / v->now_ms : 1);
    t->fraction = v->time_s > 0 ? v->spent_s / v->time_s : -1;
    report(t, t->what);
    pass(t, NULL);
}

static void take_result(const struct network_tuning *t, struct network_live_result *out)
{
    *out = (struct network_live_result){ .unchecked_s = t->unchecked_s, .n_calls = t->n_calls,
                                         .first = t->first };
    out->call_s = xcalloc((size_t)t->n_calls, sizeof *out->call_s);
    memcpy(out->call_s, t->first.call_s, (size_t)t->n_calls * sizeof *out->call_s);
    out->first.call_s = out->call_s;
}

bool network_live_tune(struct network_live *l, struct session *s,
                       const struct network_live_order *o, const struct progress *pr,
                       struct cancel *c, struct str *said, struct network_live_result *out,
                       struct err *e)
{
    struct live_task task = { .live = l, .pr = pr, .cancel = c };
    const struct search_sink sink = { .ctx = &task, .view = pass };
    struct network_tuning_opts opts = {
        .each = { .measure = { .meters = METER_CLOCK, .threads = o->threads, .seed = 1 } },
        .time_s = o->seconds, .show = show, .ctx = &task, .view = &sink,
    };
    struct arena *a = arena_new();
    struct network_tuning t;
    int kept = 0;
    bool ok = network_tuning_run(a, s, &opts, c, &t, e);
    for (int i = 0; ok && i < t.n; i++)
        kept += t.kernel[i].kept;
    if (ok && kept > 0 && t.cancelled)
        str_printf(said, "%d kernels are clearly faster by themselves; T goes on", kept);
    else if (ok && kept > 0)
        str_printf(said, "%d kernels are faster: %.2fx for the network", kept,
                   t.before_ms / t.after_ms);
    else if (ok)
        str_printf(said, "no kernel became faster in the network%s",
                   t.cancelled ? "; T goes on" : "; 0600T searches for 600 s");
    if (ok)
        take_result(&t, out);
    if (ok && t.unchecked_s > 0)
        str_printf(said, "; m checks the whole network, which takes about %.0f s",
                   ceil(t.unchecked_s));
    arena_free(a);
    return ok;
}
