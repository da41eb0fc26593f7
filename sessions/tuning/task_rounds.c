#include "sessions/tuning/task_rounds.h"

#include <math.h>

#include "kernels/base/str.h"

#define ALPHA 0.2
#define BETA 2
#define ROUNDS_BACK 3
#define BY_TURNS 20                       /* every 20th round (5 %) goes to the tasks in turn */
#define AT_BOUND 1.03  /* a task is at its bound if its time is at most this multiple of bound_s */

static double latest(const struct task_rounds *t)
{
    return t->best_s[t->n - 1];
}

static double best_speed(const struct task_rounds *t, int n, const char *kind)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        if (streq(t[i].kind, kind) && t[i].n > 0 && latest(&t[i]) > 0)
            most = fmax(most, t[i].flop / latest(&t[i]));
    return most;
}

double task_rounds_gain(const struct task_rounds *t, int n, int i)
{
    const struct task_rounds *x = &t[i];
    if (x->n == 0)
        return 0;
    int back = x->n > ROUNDS_BACK ? ROUNDS_BACK : x->n - 1;
    double now = latest(x), speed = best_speed(t, n, x->kind);
    double slope = back > 0 ? (now - x->best_s[x->n - 1 - back]) / back : 0;
    double hoped = -now / x->n;
    if (speed > 0)
        hoped = fmin(hoped, BETA * x->flop / speed - now);
    return x->weight * (ALPHA * slope + (1 - ALPHA) * hoped);
}

static bool is_open(const struct task_rounds *t)
{
    return !t->closed && (t->n == 0 || latest(t) > AT_BOUND * t->bound_s);
}

double task_rounds_hope(const struct task_rounds *t, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        if (is_open(&t[i]))
            most = fmax(most, t[i].n == 0 ? INFINITY : -task_rounds_gain(t, n, i));
    return most;
}

/* Returns the open task whose turn it is: number `turn` modulo the number of open tasks; -1: no
 * task is open. */
static int by_turns(const struct task_rounds *t, int n, int turn)
{
    int open = 0;
    for (int i = 0; i < n; i++)
        open += is_open(&t[i]);
    for (int i = 0, at = open > 0 ? turn % open : 0; i < n; i++)
        if (is_open(&t[i]) && at-- == 0)
            return i;
    return -1;
}

int task_rounds_next(const struct task_rounds *t, int n, int round)
{
    int best = -1;
    double least = 0;
    for (int i = 0; i < n; i++)
        if (is_open(&t[i]) && t[i].n == 0)
            return i;
    if (round % BY_TURNS == BY_TURNS - 1)
        return by_turns(t, n, round / BY_TURNS);
    for (int i = 0; i < n; i++) {
        double gain = is_open(&t[i]) ? task_rounds_gain(t, n, i) : 0;
        if (is_open(&t[i]) && (best < 0 || gain < least)) {
            best = i;
            least = gain;
        }
    }
    return best;
}
