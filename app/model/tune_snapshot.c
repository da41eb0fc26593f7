#include "app/model/tune_snapshot.h"

#include <pthread.h>
#include <stdlib.h>

#include "app/model/gate.h"
#include "kernels/base/vec.h"

const struct tuning_timed *tune_winner_timed(const struct tune_winner *w, int trial)
{
    for (int i = 0; w->known && i < w->n_timed; i++)
        if (w->timed[i].trial == trial)
            return &w->timed[i];
    return NULL;
}

struct tune_snapshot {
    struct gate gate;
    struct cancel stop;
    pthread_mutex_t lock;                /* guards all members below */
    int owners;
    bool any;                            /* whether `view` has a copy */
    unsigned version;
    struct arena *mem;  /* owns the copies; it only grows, like the arena of the search */
    struct tune_view view;
    VEC(const struct tune_candidate *) trial;
    VEC(struct tune_arm) arm;
};

struct tune_snapshot *tune_snapshot_new(void)
{
    struct tune_snapshot *s = xcalloc(1, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    gate_init(&s->gate);
    s->owners = 1;
    s->mem = arena_new();
    return s;
}

struct cancel *tune_snapshot_stop(struct tune_snapshot *s)
{
    return &s->stop;
}

struct tune_snapshot *tune_snapshot_share(struct tune_snapshot *s)
{
    pthread_mutex_lock(&s->lock);
    s->owners++;
    pthread_mutex_unlock(&s->lock);
    return s;
}

void tune_snapshot_drop(struct tune_snapshot *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    bool last = --s->owners == 0;
    pthread_mutex_unlock(&s->lock);
    if (!last)
        return;
    vec_free(&s->trial);
    vec_free(&s->arm);
    arena_free(s->mem);
    gate_end(&s->gate);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* --- The search's side ------------------------------------------------------------------------ */

/* Copies a trial.  Sets c->trial of the copy to its index `place`, because after a cancel the
 * numbers of the trials can have gaps. */
static const struct tune_candidate *copy_trial(struct arena *a, const struct tune_candidate *from,
                                               int place)
{
    struct tune_candidate *c = arena_copy(a, from, sizeof *c);
    c->trial = place;
    const char **line = ARENA_ARRAY(a, const char *, c->n_lines + 1);
    for (int i = 0; i < c->n_lines; i++)
        line[i] = arena_strdup(a, from->line[i]);
    c->line = line;
    c->text = arena_strdup(a, from->text);
    c->reason = arena_strdup(a, from->reason);
    c->point = c->model = NULL;
    c->m = NULL;
    return c;
}

/* Copies the new trials; earlier ones never change.  Copies all arms; but `family` of an arm never
 * changes, so it is copied only once. */
static void copy(struct tune_snapshot *s, const struct tune_view *v)
{
    for (int i = s->trial.len; i < v->n_trials; i++)
        vec_push(&s->trial, copy_trial(s->mem, v->trial[i], i));
    for (int i = 0; i < v->n_arms; i++) {
        bool old = i < s->arm.len;
        struct tune_arm arm = v->arm[i];
        arm.family = old ? s->arm.data[i].family : arena_strdup(s->mem, arm.family);
        if (old)
            s->arm.data[i] = arm;
        else
            vec_push(&s->arm, arm);
    }
    s->view = *v;
    s->view.trial = s->trial.data;
    s->view.arm = s->arm.data;
    s->any = true;
    s->version++;
}

void tune_snapshot_put(struct tune_snapshot *s, const struct tune_view *v,
                       const struct cancel *cancel,
                       void (*told)(void *ctx, const struct tune_view *v), void *ctx)
{
    pthread_mutex_lock(&s->lock);
    copy(s, v);
    pthread_mutex_unlock(&s->lock);
    bool waits = v->stage != STAGE_DONE && gate_reach(&s->gate, cancel);
    if (told)
        told(ctx, v);
    if (!waits)
        return;
    gate_wait(&s->gate, cancel);
    pthread_mutex_lock(&s->lock);
    s->version++;
    pthread_mutex_unlock(&s->lock);
    if (told)
        told(ctx, v);
}

/* --- The screen's side ------------------------------------------------------------------------ */

const struct tune_view *tune_snapshot_lock(struct tune_snapshot *s)
{
    pthread_mutex_lock(&s->lock);
    return s->any ? &s->view : NULL;
}

void tune_snapshot_unlock(struct tune_snapshot *s)
{
    pthread_mutex_unlock(&s->lock);
}

void tune_snapshot_hold(struct tune_snapshot *s, bool hold)
{
    gate_hold(&s->gate, hold);
}

bool tune_snapshot_waits(struct tune_snapshot *s)
{
    return gate_waits(&s->gate);
}

unsigned tune_snapshot_version(struct tune_snapshot *s)
{
    pthread_mutex_lock(&s->lock);
    unsigned version = s->version;
    pthread_mutex_unlock(&s->lock);
    return version;
}
