#include "tests/unit/layout_gen.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "tests/unit/layout_util.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static const struct tensor *random_tensor(struct rng *r, struct arena *a, int64_t max_elems)
{
    static const char *const names[] = { "N", "O", "H", "W", "KH" };
    struct tensor *t = ARENA_NEW(a, struct tensor);
    int64_t left = rng_range(r, 1, 4) == 1 || max_elems < 200 ? max_elems : 200;
    t->name = "T";
    t->rank = (int)rng_range(r, 1, 5);
    t->type = &type_f32;
    t->producer = -1;
    for (int k = 0; k < t->rank; k++) {
        t->dim[k] = names[k];
        t->shape[k] = rng_range(r, 1, left < 16 ? left : 16);
        left /= t->shape[k];
    }
    return t;
}

int64_t random_divisor(struct rng *r, int64_t n)
{
    int64_t d;
    do
        d = rng_range(r, 1, n);
    while (n % d);
    return d;
}

static void random_split(struct rng *r, int64_t size, struct prim *pr)
{
    pr->n = (int)rng_range(r, 2, 3);
    pr->allow_pad = rng_range(r, 0, 3) == 0;
    int64_t rest = size;
    for (int j = pr->n - 1; j > 0; j--) {
        pr->factor[j] = pr->allow_pad ? rng_range(r, 1, 5) : random_divisor(r, rest);
        rest = rest / pr->factor[j] ? rest / pr->factor[j] : 1;
    }
}

static struct prim random_prim(struct rng *r, const struct layout *l)
{
    struct prim pr = { .kind = (enum prim_kind)rng_range(r, PRIM_SPLIT, PRIM_UNPAD) };
    pr.dim = (int)rng_range(r, 0, l->rank - 1);
    const int64_t size = l->shape[pr.dim];
    if (pr.kind == PRIM_SPLIT)
        random_split(r, size, &pr);
    if (pr.kind == PRIM_FUSE)
        pr.n = (int)rng_range(r, 2, 3);
    if (pr.kind == PRIM_REORDER) {
        pr.n = l->rank;
        for (int j = 0; j < l->rank; j++) {
            const int at = (int)rng_range(r, 0, j);
            pr.perm[j] = pr.perm[at];
            pr.perm[at] = j;
        }
    }
    if (pr.kind == PRIM_UNFOLD) {
        pr.tile = rng_range(r, 1, size + 2 < 8 ? size + 2 : 8);
        pr.stride = rng_range(r, 1, pr.tile);
        pr.size = rng_range(r, 0, 3) ? 0 : rng_range(r, 1, size);
    }
    if (pr.kind == PRIM_PAD || pr.kind == PRIM_UNPAD) {
        pr.before = rng_range(r, 0, 2);
        pr.after = rng_range(r, 0, 3);
    }
    return pr;
}

void trial_make(struct rng *r, struct trial *c, int64_t max_logical, int64_t max_physical)
{
    c->t = random_tensor(r, exprs_arena(c->p), max_logical);
    c->n = 0;
    const struct layout *l = layout_identity(c->p, c->t), *next;
    const int n = (int)rng_range(r, 1, TRIAL_STEPS);
    struct err e;
    for (int tries = 0; c->n < n && tries < 4 * TRIAL_STEPS; tries++) {
        const struct prim pr = random_prim(r, l);
        if (!layout_apply(c->p, l, &pr, &next, &e)) {
            if (strncmp(e.text, "primitive ", 10) != 0 || e.code == ERR_NONE)
                fail_msg("an error without a place: %s", e.text);
            continue;
        }
        if (next->elems > max_physical)
            continue;
        c->prim[c->n++] = pr;
        l = next;
    }
}

struct access random_access(struct rng *r, struct exprs *p, const struct layout *l)
{
    const int rank = l->tensor->rank;
    struct access at = { .n = 2 * rank };
    for (int k = 0; k < rank; k++) {
        const int64_t window = rng_range(r, 1, l->stored[k] < 4 ? l->stored[k] : 4);
        const int64_t step = rng_range(r, 1, 3), n = (l->stored[k] - window) / step + 1;
        const int64_t start = rng_range(r, 0, l->stored[k] - window - step * (n - 1));
        char name[2][16];
        snprintf(name[0], sizeof name[0], "i%d", k);
        snprintf(name[1], sizeof name[1], "r%d", k);
        at.var[k] = expr_var(p, name[0], 0, n - 1);
        at.var[rank + k] = expr_var(p, name[1], 0, window - 1);
        at.extent[k] = n;
        at.extent[rank + k] = window;
        at.idx[k] = expr_addc(p, expr_add(p, expr_mulc(p, at.var[k], step), at.var[rank + k]),
                              start);
    }
    return at;
}
