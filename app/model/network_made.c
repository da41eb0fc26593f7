#include "app/model/network_made.h"

#include <stdlib.h>
#include <string.h>

#include "explorer/expert/instant.h"
#include "kernels/base/vec.h"
#include "sessions/file/expert_file.h"

struct chooser { struct instant instant; const char *chosen; };

/* Reads the steps of the kernel `spec` from the chosen ones; false when it is not among them. */
static bool find_chosen(const char *chosen, struct arena *a, const char *spec, int *n,
                        const char *const **line)
{
    VEC(const char *) lines = {0};
    bool found = false, mine = false, first = true;
    char *rest = arena_strdup(a, chosen);
    for (char *text = strsep(&rest, "\n"); text; text = strsep(&rest, "\n")) {
        mine = first ? streq(text, spec) : mine;
        if (first && mine)
            vec_clear(&lines);
        else if (mine && *text)
            vec_push(&lines, text);
        found = found || mine;
        first = !*text;
    }
    *n = lines.len;
    *line = ARENA_DUP(a, lines.data, lines.len);
    vec_free(&lines);
    return found;
}

static bool choose(void *ctx, struct arena *a, const char *spec, int n_given,
                   const char *const *given, int *n, const char *const **line, struct err *e)
{
    struct chooser *c = ctx;
    return find_chosen(c->chosen, a, spec, n, line)
        || instant_choose(&c->instant, a, spec, n_given, given, n, line, e);
}

static bool measure(struct arena *a, const struct network *net, int threads,
                    const struct progress *pr, const struct cancel *c,
                    const struct network_measurement **out, struct err *e)
{
    struct measure_opts clock = { .meters = METER_CLOCK, .threads = threads, .seed = 1 };
    struct network_opts o = { .measure = &clock };
    struct network_measurement *m = ARENA_NEW(a, struct network_measurement);
    *out = m;
    return measure_network(a, net, &o, pr, c, m, e);
}

struct network_made *network_make(const struct network_order *o, const struct progress *pr,
                                  const struct cancel *c, struct err *e)
{
    struct network_made *n = xcalloc(1, sizeof *n);
    struct experts all;
    const struct graph *g;
    n->arena = arena_new();
    struct chooser ch = { { &all, NULL, o->threads }, o->chosen };
    if (expert_file_all(n->arena, &all, e) && graph_from_spec(n->arena, o->spec, &g, e)
        && network_build(n->arena, g, choose, &ch, &n->net, e)
        && (!o->measure || measure(n->arena, n->net, o->threads, pr, c, &n->measured, e)))
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
