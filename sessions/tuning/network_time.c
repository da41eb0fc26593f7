#include "sessions/tuning/network_time.h"

#include <math.h>

#define MOST_TURNS 3
#define END_SHARE 0.4  /* the end gets several turns only if it takes at most this share */
#define FINALS_SHARE 0.1
#define LEAST_SEARCHED 0.25               /* least share of the limit for searches, however long
                                           * measuring takes */
#define COMPARE_MOST_S 2.0
#define COMPARE_LEAST_S 0.1               /* a shorter comparison shows nothing */
#define LEAST_FINALS 16                   /* a final takes up to 15 times its sampling time */

/* At the end, the old and the new network are compiled, and measured in turns to find which kernels
 * are faster (two measurements a turn). Then both are measured in turns again, to compare their
 * whole times; one of these measurements also checks the new network. */
double network_time_end(const struct network_costs *c, int turns)
{
    return (4 * turns - 1) * c->plain_s + c->checked_s + 2 * fmax(c->build_s, c->plain_s);
}

struct network_time network_time_of(const struct network_costs *c)
{
    struct network_time t = { .turns = MOST_TURNS };
    if (c->limit_s <= 0)
        return t;
    while (t.turns > 1 && network_time_end(c, t.turns) > END_SHARE * c->limit_s)
        t.turns--;
    double share = FINALS_SHARE * c->limit_s;
    t.compare_s = fmin(COMPARE_MOST_S, share / fmax(c->n_kernels, LEAST_FINALS));
    if (t.compare_s < COMPARE_LEAST_S)
        t.compare_s = -1;
    t.finals_s = t.compare_s < 0 ? 0 : share;
    t.search_s = c->limit_s - c->spent_s - t.finals_s - network_time_end(c, t.turns);
    t.search_s = fmax(t.search_s, LEAST_SEARCHED * c->limit_s);
    return t;
}
