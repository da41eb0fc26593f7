#include "sessions/file/kernels_text.h"

#include <string.h>

#include "kernels/base/vec.h"

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
    *n = 0;
    *line = NULL;
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

bool kernels_same_lines(int n, const char *const *x, int n_y, const char *const *y)
{
    bool same = n == n_y;
    for (int i = 0; same && i < n; i++)
        same = streq(x[i], y[i]);
    return same;
}
