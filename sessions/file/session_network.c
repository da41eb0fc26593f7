#include "sessions/file/session_network.h"

#include <string.h>

#include "explorer/expert/instant.h"
#include "kernels/base/vec.h"
#include "kernels/module/simplify.h"
#include "sessions/file/expert_file.h"

bool kernels_next(const char **at, struct arena *a, const char **spec, int *n,
                  const char *const **line)
{
    VEC(const char *) lines = {0};
    if (!**at)
        return false;
    *spec = NULL;
    while (**at && (!*spec || **at != '\n')) {
        size_t len = strcspn(*at, "\n");
        const char *text = arena_strndup(a, *at, len);
        if (*spec)
            vec_push(&lines, text);
        else
            *spec = text;
        *at += len + ((*at)[len] == '\n');
    }
    *at += **at == '\n';
    *n = lines.len;
    *line = ARENA_DUP(a, lines.data, lines.len);
    vec_free(&lines);
    return true;
}

bool kernels_find(const char *kernels, struct arena *a, const char *spec, int *n,
                  const char *const **line)
{
    const char *name;
    while (kernels_next(&kernels, a, &name, n, line))
        if (streq(name, spec))
            return true;
    return false;
}

static void add(struct str *out, const char *spec, int n, const char *const *line)
{
    str_printf(out, "%s\n", spec);
    for (int i = 0; i < n; i++)
        str_printf(out, "%s\n", line[i]);
    str_add(out, "\n");
}

void kernels_put(struct str *kernels, const char *spec, int n, const char *const *line)
{
    struct arena *a = arena_new();
    struct str out = {0};
    const char *at = str_text(kernels), *name;
    const char *const *old;
    int n_old;
    while (kernels_next(&at, a, &name, &n_old, &old))
        if (!streq(name, spec))
            add(&out, name, n_old, old);
    if (n >= 0)
        add(&out, spec, n, line);
    str_free(kernels);
    *kernels = out;
    arena_free(a);
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
                      const struct target *target, int threads, const struct network **out,
                      struct err *e)
{
    struct experts all;
    struct chooser c = { { &all, target, threads }, kernels };
    return expert_file_all(a, &all, e)
        && simplify_graph(a, g, simplify_default(), &g, NULL, e)
        && network_build(a, g, choose, &c, out, e);
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
