/* Family trees of physical dims.  They give dims their names, and tell what an inverse primitive
 * restores.
 *
 *     split, unfold   O      ->  O.0 O.1 ...        parts of one division
 *     fuse            O.0 O.1 -> O                  all parts of one split, in order
 *                     H W    ->  H_W                otherwise
 *     split           H_W    ->  H W                by the extents that were fused
 *     fold            H.0 H.1 -> H                  the two parts of one unfold
 *     pad, unpad      H      ->  H                  amounts that add up to 0 cancel out */
#include "kernels/layout/layout_impl.h"
#include <string.h>

#define MAX_NAME 40

static struct lineage *new_line(struct arena *a, enum lineage_kind kind, const char *name,
                                int64_t size)
{
    struct lineage *l = ARENA_NEW(a, struct lineage);
    l->kind = kind;
    l->name = name;
    l->size = size;
    return l;
}

const struct lineage *lineage_logical(struct arena *a, const struct tensor *t, int dim)
{
    struct lineage *l = new_line(a, LINE_LOGICAL, t->dim[dim], t->shape[dim]);
    l->logical = dim;
    return l;
}

const struct lineage *lineage_part(struct arena *a, const struct division *d, int j)
{
    struct lineage *l =
        new_line(a, LINE_PART, arena_printf(a, "%s.%d", d->of->name, j), d->size[j]);
    l->division = d;
    l->part = j;
    return l;
}

/* Returns the dim whose split made exactly these n dims, in this order; NULL: there is none. */
static const struct lineage *common_origin(const struct lineage *const *kid, int n)
{
    const struct division *d = kid[0]->kind == LINE_PART ? kid[0]->division : NULL;
    if (!d || d->unfold || d->n != n)
        return NULL;
    for (int j = 0; j < n; j++)
        if (kid[j]->kind != LINE_PART || kid[j]->division != d || kid[j]->part != j)
            return NULL;
    return d->of;
}

/* Returns the name "H_W", or "fused" when that would be too long. */
static const char *fused_name(struct arena *a, const struct lineage *const *kid, int n)
{
    const char *name = kid[0]->name;
    for (int j = 1; j < n && strlen(name) <= MAX_NAME; j++)
        name = arena_printf(a, "%s_%s", name, kid[j]->name);
    return strlen(name) <= MAX_NAME ? name : "fused";
}

const struct lineage *lineage_fuse(struct arena *a, const struct lineage *const *kid, int n,
                                   int64_t size)
{
    const struct lineage *origin = common_origin(kid, n);
    if (origin)
        return lineage_resize(a, origin, 0, size - origin->size);
    struct lineage *l = new_line(a, LINE_FUSED, fused_name(a, kid, n), size);
    l->n_kids = n;
    l->kid = ARENA_DUP(a, kid, n);
    return l;
}

const struct lineage *lineage_resize(struct arena *a, const struct lineage *of, int64_t before,
                                     int64_t after)
{
    const struct lineage *base = of;
    if (of->kind == LINE_RESIZED) {
        base = of->base;
        before += of->before;
        after += of->after;
    }
    if (before == 0 && after == 0)
        return base;
    struct lineage *l = new_line(a, LINE_RESIZED, of->name, base->size + before + after);
    l->base = base;
    l->before = before;
    l->after = after;
    return l;
}

const struct lineage *lineage_rename(struct arena *a, const struct lineage *of, const char *name)
{
    struct lineage *l = ARENA_DUP(a, of, 1);
    l->name = name;
    return l;
}

const struct division *lineage_unfold(const struct layout *l, int k)
{
    const struct lineage *tile = l->line[k], *offset = l->line[k + 1];
    if (tile->kind != LINE_PART || offset->kind != LINE_PART || tile->division != offset->division)
        return NULL;
    if (!tile->division->unfold || tile->part != 0 || offset->part != 1)
        return NULL;
    return tile->division;
}
