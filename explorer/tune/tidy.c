/* Simplifies a schedule by leaving lines out and comparing the generated code. */
#include "explorer/tune/tidy.h"

#include <ctype.h>
#include <string.h>

#include "kernels/base/vec.h"
#include "kernels/gen/gen.h"
#include "kernels/program/program.h"
#include "profile/measure/program_text.h"

struct tidy {
    const char *spec;
    /* target of the code; NULL: the best CPU target, or a GPU for bound loops */
    const struct target *target;
    struct arena *scratch;
    struct str want, got;
};

/* Generates the C to compare.  Its comments show the layouts, so that two programs that differ only
 * in a layout have different C. */
static bool generate(struct tidy *t, const char *const *line, int n, struct str *out,
                     struct err *e)
{
    struct gen_opts o = { .openmp = true };
    const struct program *p;
    const struct func *f;
    int bad;
    arena_reset(t->scratch);
    str_clear(out);
    if (!program_replay(t->scratch, t->spec, line, n, &p, &bad, e) || !program_lower(p, &f, e))
        return false;
    o.target = program_text_target(p, t->target);
    return gen_c(f, &o, out, e);
}

static bool is_same(struct tidy *t, const char *const *line, int n)
{
    struct err e;
    return generate(t, line, n, &t->got, &e) && streq(str_text(&t->got), str_text(&t->want));
}

/* Moves the lines that are not loop lines to the front, in their order.  Does nothing if this would
 * change the C. */
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

bool tidy_lines(struct arena *a, const char *spec, const struct target *target,
                const char *const *line, int n, const char *const **out, int *n_out, struct err *e)
{
    struct tidy t = { .spec = spec, .target = target, .scratch = arena_new() };
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

/* --- Texts that are equal except for names ----------------------------------------- */

struct tidy_word { const char *text; size_t n; };
struct words { VEC(struct tidy_word) x, y; };    /* x[i] of one text corresponds to y[i] */

static const char *skip_blank(const char *c)
{
    for (;;) {
        if (isspace((unsigned char)*c)) {
            c++;
        } else if (c[0] == '/' && c[1] == '*') {
            const char *end = strstr(c + 2, "*/");
            c = end ? end + 2 : c + strlen(c);
        } else {
            return c;
        }
    }
}

static struct tidy_word word_at(const char *c)
{
    struct tidy_word w = { c, 0 };
    while (isalnum((unsigned char)c[w.n]) || c[w.n] == '_')
        w.n++;
    return w;
}

static bool word_is(struct tidy_word x, struct tidy_word y)
{
    return x.n == y.n && memcmp(x.text, y.text, x.n) == 0;
}

/* Whether names x and y have always stood for each other in the two texts so far.  Notes the pair
 * if both are new. */
static bool stand_for(struct words *w, struct tidy_word x, struct tidy_word y)
{
    for (int i = 0; i < w->x.len; i++) {
        bool known_x = word_is(w->x.data[i], x), known_y = word_is(w->y.data[i], y);
        if (known_x || known_y)
            return known_x && known_y;
    }
    vec_push(&w->x, x);
    vec_push(&w->y, y);
    return true;
}

static bool same_text(struct words *w, const char *x, const char *y)
{
    for (;;) {
        x = skip_blank(x);
        y = skip_blank(y);
        if (!*x || !*y)
            return *x == *y;
        bool name_x = isalpha((unsigned char)*x) || *x == '_';
        bool name_y = isalpha((unsigned char)*y) || *y == '_';
        struct tidy_word of_x = word_at(x), of_y = word_at(y);
        if (name_x != name_y || (of_x.n == 0) != (of_y.n == 0))
            return false;
        if (of_x.n == 0 ? *x != *y : name_x ? !stand_for(w, of_x, of_y) : !word_is(of_x, of_y))
            return false;
        x += of_x.n > 0 ? of_x.n : 1;
        y += of_y.n > 0 ? of_y.n : 1;
    }
}

bool tidy_same(const char *spec, const struct target *target, const char *const *x, int n_x,
               const char *const *y, int n_y)
{
    struct tidy t = { .spec = spec, .target = target, .scratch = arena_new() };
    struct words w = {0};
    struct err e;
    bool same = generate(&t, x, n_x, &t.want, &e) && generate(&t, y, n_y, &t.got, &e) &&
                same_text(&w, str_text(&t.want), str_text(&t.got));
    vec_free(&w.x);
    vec_free(&w.y);
    str_free(&t.want);
    str_free(&t.got);
    arena_free(t.scratch);
    return same;
}
