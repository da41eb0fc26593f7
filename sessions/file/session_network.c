#include "sessions/file/session_network.h"

#include <math.h>

#include "explorer/expert/instant.h"
#include "kernels/module/simplify.h"
#include "sessions/file/expert_file.h"
#include "sessions/file/kernels_text.h"

double session_network_accuracy(double accuracy)
{
    return accuracy == 0 ? EXPERT_ACCURACY : fmax(accuracy, 0);
}

double session_expert_accuracy(const struct session *s, const struct session *network)
{
    double set = history_current(s->history)->program->accuracy;
    return isfinite(set) ? set
         : network ? session_network_accuracy(network->accuracy) : fmax(s->accuracy, 0);
}

struct chooser { struct instant instant; const char *kernels; };

static bool choose(void *ctx, struct arena *a, const char *spec, int n_given,
                   const char *const *given, int *n, const char *const **line, struct err *e)
{
    struct chooser *c = ctx;
    return kernels_find(c->kernels, a, spec, n, line)
        || instant_choose(&c->instant, a, spec, n_given, given, n, line, e);
}

bool network_of_graph(struct arena *a, const struct graph *g, const char *kernels,
                      double accuracy, const struct target *target, int threads,
                      const struct network **out, struct err *e)
{
    struct experts all;
    struct chooser c = { { &all, target, threads }, kernels };
    const struct graph *simple;
    const struct network *built;
    const char *const *step;
    int n_steps;
    kernels_find(kernels, a, KERNELS_MODULE, &n_steps, &step);
    if (!expert_file_all(a, &all, e))
        return false;
    all.accuracy = session_network_accuracy(accuracy);
    if (!simplify_graph(a, g, simplify_default(), &simple, NULL, e)
        || !network_build(a, simple, n_steps, step, choose, &c, &built, e))
        return false;
    struct network *net = ARENA_DUP(a, built, 1);
    net->whole = g;
    *out = net;
    return true;
}

bool session_network_step(struct session *s, const char *line, struct err *e)
{
    struct arena *a = arena_new();
    const char *const *old;
    int n;
    bool ok = session_is_network(s)
           || err_set(e, ERR_STEP, "%.100s is a step of a network: it needs a graph of several "
                      "kernels, without a narrow type and without other steps", line);
    if (ok) {
        kernels_find(str_text(&s->kernels), a, KERNELS_MODULE, &n, &old);
        const char **all = ARENA_ARRAY(a, const char *, n + 1);
        for (int i = 0; i < n; i++)
            all[i] = old[i];
        all[n] = line;
        ok = partition_check(history_current(s->history)->program->base, n + 1, all, e);
        if (ok)
            kernels_put(&s->kernels, KERNELS_MODULE, n + 1, all);
        s->network |= ok;
        s->dirty |= ok;
    }
    arena_free(a);
    return ok;
}

char *session_network_undo(struct session *s)
{
    struct arena *a = arena_new();
    const char *const *line;
    int n;
    char *last = NULL;
    if (kernels_find(str_text(&s->kernels), a, KERNELS_MODULE, &n, &line) && n > 0) {
        last = xstrdup(line[n - 1]);
        kernels_put(&s->kernels, KERNELS_MODULE, n > 1 ? n - 1 : -1, line);
        s->dirty = true;
    }
    arena_free(a);
    return last;
}

static bool has_kernel(const struct network *net, const char *spec)
{
    for (int i = 0; i < net->n_tasks; i++)
        if (!net->task[i].conversion && streq(net->task[i].spec, spec))
            return true;
    return false;
}

int session_network_idle(const struct network *net, const char *kernels)
{
    struct arena *a = arena_new();
    const char *spec;
    const char *const *line;
    int n, idle = 0;
    for (const char *at = kernels; kernels_next(&at, a, &spec, &n, &line);)
        idle += !streq(spec, KERNELS_MODULE) && !has_kernel(net, spec);
    arena_free(a);
    return idle;
}

bool session_is_network(const struct session *s)
{
    const struct program *p = history_current(s->history)->program;
    return history_n_states(s->history) == 1 && p->base->n_statements > 1
        && !type_is_narrow(p->base->type) && partition_count(p->base) > 1;
}

bool session_opens_as_network(const struct session *s)
{
    const struct graph *g = history_current(s->history)->program->base;
    int complex = 0;
    for (int i = 0; i < g->n_nodes; i++)
        complex += g->node[i].complex;
    return (s->of_model || s->network || complex > 1) && session_is_network(s);
}
