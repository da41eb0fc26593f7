#include "app/model/network_made.h"

#include <stdlib.h>

#include "sessions/file/session_network.h"

static bool measure(struct arena *a, const struct network *net, const struct network_order *order,
                    const struct progress *pr, const struct cancel *c,
                    const struct network_measurement **out, struct err *e)
{
    struct measure_opts clock = { .meters = METER_CLOCK, .threads = order->threads, .seed = 1 };
    struct network_opts o = { .measure = &clock, .values = order->values };
    struct network_measurement *m = ARENA_NEW(a, struct network_measurement);
    *out = m;
    return measure_network(a, net, &o, pr, c, m, e);
}

struct network_made *network_make(const struct network_order *o, const struct progress *pr,
                                  const struct cancel *c, struct err *e)
{
    struct network_made *n = xcalloc(1, sizeof *n);
    const struct graph *g;
    n->arena = arena_new();
    if (graph_from_spec(n->arena, o->spec, &g, e)
        && network_of_graph(n->arena, g, o->chosen, o->accuracy, NULL, o->threads, &n->net, e)
        && (!o->measure || measure(n->arena, n->net, o, pr, c, &n->measured, e)))
        return n;
    network_made_free(n);
    return NULL;
}

void network_made_free(struct network_made *n)
{
    if (!n)
        return;
    arena_free(n->arena);
    free(n);
}
