/* Leaving lines out and looking whether anything changed. */
#include "explorer/tune/tidy.h"

#include <string.h>

#include "kernels/gen/gen.h"
#include "kernels/program/program.h"

struct tidy { const char *spec; struct arena *scratch; struct str want, got; };

/* The layouts are part of it: a layout of an input whose memory is the same may be left out, one
 * that is not changes the C. */
static bool generate(struct tidy *t, const char *const *line, int n, struct str *out,
                     struct err *e)
{
    struct gen_opts o = { .target = target_host(), .openmp = true };
    const struct program *p;
    const struct func *f;
    int bad;
    arena_reset(t->scratch);
    str_clear(out);
    return program_replay(t->scratch, t->spec, line, n, &p, &bad, e) &&
           program_lower(p, &f, e) && gen_c(f, &o, out, e);
}

static bool is_same(struct tidy *t, const char *const *line, int n)
{
    struct err e;
    return generate(t, line, n, &t->got, &e) && streq(str_text(&t->got), str_text(&t->want));
}

/* Layout lines and settings to the front, each group in its order. */
static void sort_lines(struct tidy *t, struct arena *a, const char **line, int n)
{
    const char **sorted = ARENA_ARRAY(a, const char *, n + 1);
    int m = 0;
    for (int loops = 0; loops < 2; loops++)
        for (int i = 0; i < n; i++)
            if (str_starts(line[i], "loop ") == (loops == 1))
                sorted[m++] = line[i];
    if (is_same(t, sorted, n))
        memcpy(line, sorted, (size_t)n * sizeof *line);
}

static int drop_lines(struct tidy *t, struct arena *a, const char **line, int n)
{
    const char **rest = ARENA_ARRAY(a, const char *, n + 1);
    for (int i = n - 1; i >= 0; i--) {
        memcpy(rest, line, (size_t)i * sizeof *line);
        memcpy(rest + i, line + i + 1, (size_t)(n - i - 1) * sizeof *line);
        if (!is_same(t, rest, n - 1))
            continue;
        n--;
        memcpy(line, rest, (size_t)n * sizeof *line);
    }
    return n;
}

bool tidy_lines(struct arena *a, const char *spec, const char *const *line, int n,
                const char *const **out, int *n_out, struct err *e)
{
    struct tidy t = { .spec = spec, .scratch = arena_new() };
    bool ok = generate(&t, line, n, &t.want, e);
    if (ok) {
        const char **kept = ARENA_ARRAY(a, const char *, n + 1);
        for (int i = 0; i < n; i++)
            kept[i] = arena_strdup(a, line[i]);
        sort_lines(&t, a, kept, n);
        *n_out = drop_lines(&t, a, kept, n);
        *out = kept;
    }
    str_free(&t.want);
    str_free(&t.got);
    arena_free(t.scratch);
    return ok;
}
