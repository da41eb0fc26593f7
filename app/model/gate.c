#include "app/model/gate.h"

#include <time.h>

#define LOOK_MS 50                       /* milliseconds between checks for a cancel */

void gate_init(struct gate *g)
{
    *g = (struct gate){ .hold = false };
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->opens, NULL);
}

void gate_end(struct gate *g)
{
    pthread_cond_destroy(&g->opens);
    pthread_mutex_destroy(&g->lock);
}

bool gate_reach(struct gate *g, const struct cancel *c)
{
    pthread_mutex_lock(&g->lock);
    bool waits = g->waits = g->hold && !cancelled(c);
    pthread_mutex_unlock(&g->lock);
    return waits;
}

static void wait_a_little(struct gate *g)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&g->opens, &g->lock, &until);
}

void gate_wait(struct gate *g, const struct cancel *c)
{
    pthread_mutex_lock(&g->lock);
    while (g->hold && !cancelled(c))
        wait_a_little(g);
    g->waits = false;
    pthread_mutex_unlock(&g->lock);
}

void gate_hold(struct gate *g, bool hold)
{
    pthread_mutex_lock(&g->lock);
    g->hold = hold;
    pthread_cond_broadcast(&g->opens);
    pthread_mutex_unlock(&g->lock);
}

bool gate_waits(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    bool waits = g->waits;
    pthread_mutex_unlock(&g->lock);
    return waits;
}
