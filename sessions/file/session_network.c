#include "sessions/file/session_network.h"

#include "explorer/expert/instant.h"
#include "kernels/module/simplify.h"
#include "sessions/file/expert_file.h"
#include "sessions/file/kernels_text.h"

struct chooser { struct instant instant; const char *kernels; };

static bool choose(void *ctx, struct arena *a, const char *spec, int n_given,
                   const char *const *given, int *n, const char *const **line, struct err *e)
{
    struct chooser *c = ctx;
    return kernels_find(c->kernels, a, spec, n, line)
        || instant_choose(&c->instant, a, spec, n_given, given, n, line, e);
}

bool network_of_graph(struct arena *a, const struct graph *g, const char *kernels,
                      const struct target *target, int threads, const struct network **out,
                      struct err *e)
{
    struct experts all;
    struct chooser c = { { &all, target, threads }, kernels };
    const struct graph *simple;
    const struct network *built;
    if (!expert_file_all(a, &all, e)
        || !simplify_graph(a, g, simplify_default(), &simple, NULL, e)
        || !network_build(a, simple, choose, &c, &built, e))
        return false;
    struct network *net = ARENA_DUP(a, built, 1);
    net->whole = g;
    *out = net;
    return true;
}

bool session_is_network(const struct session *s)
{
    const struct program *p = history_current(s->history)->program;
    struct arena *a = arena_new();
    int kernels = 0;
    if (history_n_states(s->history) == 1 && p->base->n_statements > 1) {
        struct partition all = partition(a, p->base);
        for (int i = 0; i < all.n; i++)
            kernels += !all.part[i].view && !all.part[i].constant;
    }
    arena_free(a);
    return kernels > 1;
}
