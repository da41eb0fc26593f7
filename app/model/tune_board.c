#include "app/model/tune_board.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "kernels/base/vec.h"

#define LOOK_MS 50                       /* how long a cancel may go unnoticed while held */

struct tune_board {
    pthread_mutex_t lock;                /* guards everything below */
    pthread_cond_t let_go;
    int owners;
    bool hold, waits, any;
    unsigned version;
    struct arena *mem;                   /* of the copies; it only grows, as the search's own */
    struct tune_view view;
    VEC(const struct tune_candidate *) trial;
    VEC(struct tune_arm) arm;
};

struct tune_board *board_new(void)
{
    struct tune_board *b = xcalloc(1, sizeof *b);
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->let_go, NULL);
    b->owners = 1;
    b->mem = arena_new();
    return b;
}

struct tune_board *board_share(struct tune_board *b)
{
    pthread_mutex_lock(&b->lock);
    b->owners++;
    pthread_mutex_unlock(&b->lock);
    return b;
}

void board_drop(struct tune_board *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    bool last = --b->owners == 0;
    pthread_mutex_unlock(&b->lock);
    if (!last)
        return;
    vec_free(&b->trial);
    vec_free(&b->arm);
    arena_free(b->mem);
    pthread_cond_destroy(&b->let_go);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

/* --- The search's side ------------------------------------------------------------------------ */

/* Its number is its place: after a cancel some may be missing. */
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

/* What is listed of trials never changes, and an arm keeps its layout. */
static void copy(struct tune_board *b, const struct tune_view *v)
{
    for (int i = b->trial.len; i < v->n_trials; i++)
        vec_push(&b->trial, copy_trial(b->mem, v->trial[i], i));
    for (int i = 0; i < v->n_arms; i++) {
        bool old = i < b->arm.len;
        struct tune_arm arm = v->arm[i];
        arm.family = old ? b->arm.data[i].family : arena_strdup(b->mem, arm.family);
        if (old)
            b->arm.data[i] = arm;
        else
            vec_push(&b->arm, arm);
    }
    b->view = *v;
    b->view.trial = b->trial.data;
    b->view.arm = b->arm.data;
    b->any = true;
    b->version++;
}

static void wait_a_little(struct tune_board *b)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&b->let_go, &b->lock, &until);
}

static void tell(struct tune_board *b, void (*told)(void *, const struct tune_view *), void *ctx,
                 const struct tune_view *v)
{
    pthread_mutex_unlock(&b->lock);
    if (told)
        told(ctx, v);
    pthread_mutex_lock(&b->lock);
}

void board_put(struct tune_board *b, const struct tune_view *v, const struct cancel *cancel,
               void (*told)(void *ctx, const struct tune_view *v), void *ctx)
{
    pthread_mutex_lock(&b->lock);
    copy(b, v);
    b->waits = b->hold && v->stage != STAGE_DONE && !cancelled(cancel);
    bool waited = b->waits;
    tell(b, told, ctx, v);
    while (waited && b->hold && !cancelled(cancel))
        wait_a_little(b);
    b->waits = false;
    if (waited) {
        b->version++;
        tell(b, told, ctx, v);
    }
    pthread_mutex_unlock(&b->lock);
}

/* --- The screen's side ------------------------------------------------------------------------ */

const struct tune_view *board_lock(struct tune_board *b)
{
    pthread_mutex_lock(&b->lock);
    return b->any ? &b->view : NULL;
}

void board_unlock(struct tune_board *b)
{
    pthread_mutex_unlock(&b->lock);
}

void board_hold(struct tune_board *b, bool hold)
{
    pthread_mutex_lock(&b->lock);
    b->hold = hold;
    pthread_cond_broadcast(&b->let_go);
    pthread_mutex_unlock(&b->lock);
}

bool board_waits(struct tune_board *b)
{
    pthread_mutex_lock(&b->lock);
    bool waits = b->waits;
    pthread_mutex_unlock(&b->lock);
    return waits;
}

unsigned board_version(struct tune_board *b)
{
    pthread_mutex_lock(&b->lock);
    unsigned version = b->version;
    pthread_mutex_unlock(&b->lock);
    return version;
}
