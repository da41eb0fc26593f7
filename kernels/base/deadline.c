#include "kernels/base/deadline.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include "kernels/base/arena.h"

#define LOOK_S 0.05  /* seconds between two looks at the clock and at `other` */

struct deadline {
    struct cancel raised;
    atomic_int passed, over;
    const struct cancel *other;
    double until_s;
    pthread_t thread;
    bool threaded;
};

static void *watch(void *arg)
{
    struct deadline *d = arg;
    const struct timespec look = { 0, (long)(1e9 * LOOK_S) };
    while (!atomic_load(&d->over)) {
        bool passed = clock_s() >= d->until_s;
        if (cancelled(d->other) || passed) {
            atomic_store(&d->passed, !cancelled(d->other));
            atomic_store(&d->raised.raised, 1);
            break;
        }
        nanosleep(&look, NULL);
    }
    return NULL;
}

struct deadline *deadline_new(const struct cancel *other, double seconds)
{
    struct deadline *d = xcalloc(1, sizeof *d);
    d->other = other;
    d->until_s = clock_s() + seconds;
    d->threaded = pthread_create(&d->thread, NULL, watch, d) == 0;
    if (!d->threaded)
        d->raised.whole = other;          /* `other` still cancels, but there is no time limit */
    return d;
}

struct cancel *deadline_cancel(struct deadline *d)
{
    return &d->raised;
}

bool deadline_passed(const struct deadline *d)
{
    return atomic_load(&d->passed) != 0;
}

void deadline_free(struct deadline *d)
{
    if (!d)
        return;
    atomic_store(&d->over, 1);
    if (d->threaded)
        pthread_join(d->thread, NULL);
    free(d);
}
