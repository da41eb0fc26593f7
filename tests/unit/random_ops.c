#include "tests/unit/random_ops.h"

#include <string.h>

/* NAME = times * [lo, hi]; a word of the parameter when it has words. */
struct range { const char *name; int lo, hi, times; };

#define MAX_RANGES 20
#define PADS_W { "pw0", 0, 2, 1 }, { "pw1", 0, 2, 1 }
#define WINDOW_2D \
    { "kh", 1, 3, 1 }, { "kw", 1, 3, 1 }, { "sh", 1, 2, 1 }, { "sw", 1, 3, 1 }, { "ph", 0, 2, 1 }
#define NCHW { "n", 1, 2, 1 }, { "c", 1, 6, 1 }, { "h", 1, 6, 1 }, { "w", 1, 9, 1 }
#define FINISH { "bias", 0, 1, 1 }, { "act", 0, 9, 1 }

/* Several rows of one family take turns. */
static const struct { const char *family; struct range range[MAX_RANGES]; } rows[] = {
    { "c1d", { { "n", 1, 2, 1 }, { "i", 1, 6, 1 }, { "w", 1, 16, 1 }, { "o", 1, 8, 1 },
               { "k", 1, 4, 1 }, { "s", 1, 3, 1 }, PADS_W, { "d", 1, 2, 1 }, FINISH } },
    { "c2d", { { "n", 1, 2, 1 }, { "i", 1, 4, 1 }, { "h", 6, 9, 1 }, { "w", 6, 10, 1 },
               { "o", 1, 4, 2 }, { "k", 1, 3, 1 }, { "s", 1, 2, 1 }, { "d", 1, 2, 1 },
               { "p", 0, 2, 1 }, { "bias", 0, 1, 1 }, { "relu", 0, 1, 1 } } },
    { "c2d", { { "n", 1, 2, 1 }, { "i", 1, 5, 1 }, { "h", 1, 9, 1 }, { "w", 1, 12, 1 },
               { "o", 1, 5, 1 }, WINDOW_2D, PADS_W, { "dh", 1, 2, 1 }, { "dw", 1, 2, 1 },
               FINISH } },
    { "c3d", { { "n", 1, 2, 1 }, { "i", 1, 3, 1 }, { "depth", 2, 4, 1 }, { "h", 2, 5, 1 },
               { "w", 2, 6, 1 }, { "o", 1, 4, 1 }, { "kd", 1, 2, 1 }, { "kh", 1, 3, 1 },
               { "kw", 1, 2, 1 }, { "sd", 1, 2, 1 }, { "sw", 1, 2, 1 }, { "pd", 0, 1, 1 },
               { "ph", 0, 1, 1 }, PADS_W, { "d", 1, 2, 1 }, FINISH } },
    { "grp", { { "g", 2, 2, 1 }, { "i", 1, 3, 2 }, { "o", 1, 4, 2 }, { "h", 3, 8, 1 },
               { "w", 3, 8, 1 }, WINDOW_2D, PADS_W, FINISH } },
    { "grp", { { "n", 1, 2, 1 }, { "g", 3, 3, 1 }, { "i", 1, 2, 3 }, { "o", 1, 4, 3 },
               { "h", 5, 6, 1 }, { "k", 1, 3, 1 }, { "p", 0, 1, 1 }, FINISH } },
    { "dep", { { "n", 1, 2, 1 }, { "c", 1, 8, 1 }, { "h", 3, 8, 1 }, { "w", 3, 9, 1 }, WINDOW_2D,
               PADS_W, { "d", 1, 2, 1 }, FINISH } },
    { "dil", { { "n", 1, 2, 1 }, { "i", 1, 4, 1 }, { "h", 6, 9, 1 }, { "o", 1, 6, 1 },
               { "k", 1, 3, 1 }, { "s", 1, 2, 1 }, { "p", 0, 3, 1 }, { "dw", 1, 3, 1 }, FINISH } },
    { "t2d", { { "n", 1, 2, 1 }, { "i", 1, 4, 1 }, { "h", 1, 5, 1 }, { "w", 1, 5, 1 },
               { "o", 1, 6, 1 }, WINDOW_2D, PADS_W, { "dh", 1, 2, 1 }, { "oph", 0, 1, 1 },
               FINISH } },
    { "t2d", { { "n", 1, 2, 1 }, { "i", 1, 4, 1 }, { "h", 2, 4, 1 }, { "o", 1, 4, 2 },
               { "k", 2, 4, 1 }, { "s", 2, 2, 1 }, { "p", 0, 2, 1 }, { "op", 0, 1, 1 }, FINISH } },
    { "t3d", { { "i", 1, 3, 1 }, { "depth", 1, 3, 1 }, { "h", 1, 3, 1 }, { "w", 1, 4, 1 },
               { "o", 1, 4, 1 }, { "kd", 1, 3, 1 }, { "kh", 1, 2, 1 }, { "kw", 1, 3, 1 },
               { "s", 1, 2, 1 }, { "pd", 0, 1, 1 }, { "ph", 0, 1, 1 }, PADS_W,
               { "opw", 0, 1, 1 } } },
    { "gmm", { { "m", 1, 3, 4 }, { "k", 1, 16, 1 }, { "n", 1, 8, 2 }, { "bias", 0, 1, 1 },
               { "relu", 0, 1, 1 } } },
    { "gmm", { { "m", 1, 20, 1 }, { "k", 1, 40, 1 }, { "n", 1, 20, 1 }, FINISH } },
    { "bmm", { { "b", 1, 4, 1 }, { "m", 1, 8, 1 }, { "k", 1, 12, 1 }, { "n", 1, 12, 1 },
               { "act", 0, 9, 1 } } },
    { "act", { NCHW, { "f", 0, 8, 1 } } },
    { "act", { { "n", 1, 8, 1 }, { "c", 1, 12, 1 }, { "f", 0, 8, 1 } } },
    { "add", { { "n", 1, 2, 1 }, { "c", 1, 3, 1 }, { "h", 1, 4, 1 }, { "y", 0, 3, 1 } } },
    { "add", { NCHW, { "x", 1, 3, 1 }, { "y", 0, 3, 1 } } },
    { "mul", { NCHW, { "y", 0, 3, 1 } } },
    { "bn", { NCHW, { "act", 0, 9, 1 } } },
    { "maxpool", { { "n", 1, 2, 1 }, { "c", 1, 4, 1 }, { "h", 2, 8, 1 }, { "w", 2, 9, 1 },
                   { "k", 1, 3, 1 }, { "s", 1, 3, 1 }, { "ph0", 0, 1, 1 }, { "ph1", 0, 1, 1 } } },
    { "avgpool", { { "n", 1, 2, 1 }, { "c", 1, 4, 1 }, { "h", 2, 8, 1 }, { "w", 2, 9, 1 },
                   { "kh", 2, 3, 1 }, { "kw", 2, 3, 1 }, { "s", 1, 3, 1 }, { "ph", 0, 1, 1 },
                   PADS_W, { "count_pad", 0, 1, 1 } } },
    { "gpool", { NCHW, { "f", 0, 1, 1 } } },
    { "softmax", { { "m", 1, 8, 1 }, { "n", 1, 24, 1 } } },
    { "softmax", { { "m", 1, 3, 1 }, { "n", 1, 4, 1 }, { "k", 1, 8, 1 } } },
    { "ln", { { "m", 1, 8, 1 }, { "n", 1, 24, 1 } } },
    { "reduce", { { "m", 1, 12, 1 }, { "n", 1, 24, 1 }, { "f", 0, 2, 1 } } },
    { "transpose", { NCHW, { "perm", 0, 0, 1 } } },
    { "reshape", { { "n", 1, 2, 6 }, { "c", 1, 4, 1 }, { "m", 1, 2, 3 }, { "k", 1, 2, 1 } } },
    { "reshape", { { "n", 1, 3, 2 }, { "c", 1, 4, 1 }, { "h", 1, 4, 1 }, { "w", 1, 6, 1 },
                   { "m", 1, 2, 1 } } },
    { "concat", { NCHW, { "c2", 1, 4, 1 }, { "c3", 0, 2, 1 }, { "c4", 0, 2, 1 } } },
    { "slice", { { "n", 1, 2, 1 }, { "c", 4, 8, 1 }, { "h", 1, 4, 1 }, { "w", 1, 8, 1 },
                 { "from", 0, 2, 1 }, { "to", 3, 4, 1 } } },
};

static int random_order(struct rng *r)
{
    int digit[] = { 1, 2, 3, 4 };
    for (int i = 3; i > 0; i--) {
        int j = (int)rng_range(r, 0, i), old = digit[i];
        digit[i] = digit[j];
        digit[j] = old;
    }
    return ((digit[0] * 10 + digit[1]) * 10 + digit[2]) * 10 + digit[3];
}

static void add_param(struct str *s, struct rng *r, const struct op_family *f,
                      const struct range *range)
{
    const struct op_param *p = f->params;
    int v = (int)rng_range(r, range->lo, range->hi) * range->times;
    while (!streq(p->name, range->name))
        p++;
    str_printf(s, " %s=", range->name);
    op_param_print(s, p, streq(range->name, "perm") ? random_order(r) : v);
}

const char *random_operator(struct arena *a, struct rng *r, const struct op_family *f)
{
    int mine[COUNT_OF(rows)], n = 0;
    for (int i = 0; i < COUNT_OF(rows); i++)
        if (streq(rows[i].family, f->name))
            mine[n++] = i;
    if (n == 0)
        fail("no random %s: give it a row in tests/unit/random_ops.c", f->name);
    const struct range *range = rows[mine[rng_range(r, 0, n - 1)]].range;
    struct str s = { 0 };
    str_add(&s, f->name);
    for (int i = 0; i < MAX_RANGES && range[i].name; i++)
        add_param(&s, r, f, &range[i]);
    const char *spec = arena_strdup(a, str_text(&s));
    str_free(&s);
    return spec;
}

const struct op_family *random_family(struct rng *r)
{
    return ops_get((int)rng_range(r, 0, ops_count() - 1));
}
