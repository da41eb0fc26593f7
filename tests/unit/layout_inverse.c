#include "tests/unit/layout_inverse.h"

#include "kernels/layout/layout_impl.h"

/* Stores the primitives that undo `pr`, in the order of application; 0 when it dropped elements. */
static int inverse_of(const struct prim *pr, const struct layout *before, struct prim *out)
{
    const int k = pr->dim;
    const int64_t size = before->shape[k];
    int64_t covered = size;
    out[0] = (struct prim){ .dim = k };
    switch (pr->kind) {
    case PRIM_SPLIT:
        out[0].kind = PRIM_FUSE;
        out[0].n = pr->n;
        out[1] = (struct prim){ .kind = PRIM_UNPAD, .dim = k };
        covered = 1;
        for (int j = 0; j < pr->n; j++)
            covered *= pr->factor[j];
        out[1].after = covered - size;
        return out[1].after ? 2 : 1;
    case PRIM_REORDER:
        out[0].kind = PRIM_REORDER;
        out[0].n = pr->n;
        for (int j = 0; j < pr->n; j++)
            out[0].perm[pr->perm[j]] = j;
        return 1;
    case PRIM_FUSE:
        out[0].kind = PRIM_SPLIT;
        out[0].n = pr->n;
        for (int j = 0; j < pr->n; j++)
            out[0].factor[j] = before->shape[k + j];
        return 1;
    case PRIM_UNFOLD:
        if (pr->size)
            covered = pr->stride * (prim_tiles(pr->size, pr->tile, pr->stride) - 1) + pr->tile;
        out[0].kind = PRIM_FOLD;
        out[0].size = covered;
        out[0].stride = pr->stride;
        out[1] = (struct prim){ .kind = PRIM_PAD, .dim = k, .after = size - covered };
        return covered < size ? 2 : 1;
    case PRIM_FOLD:
        out[0].kind = PRIM_UNFOLD;
        out[0].tile = before->shape[k + 1];
        out[0].stride = pr->stride;
        return 1;
    case PRIM_PAD:
    case PRIM_UNPAD:
        out[0].kind = pr->kind == PRIM_PAD ? PRIM_UNPAD : PRIM_PAD;
        out[0].before = pr->before;
        out[0].after = pr->after;
        return 1;
    default: UNREACHABLE();
    }
}

static bool drops_elements(const struct layout *before, const struct layout *after)
{
    for (int k = 0; k < before->tensor->rank; k++)
        if (after->stored[k] < before->stored[k])
            return true;
    return false;
}

bool layout_inverse(const struct layout *l, struct prim *out, int *n, struct err *e)
{
    int count = 0;
    for (const struct layout *m = l; m->prev; m = m->prev) {
        const struct prim *pr = &m->prims[m->n_prims - 1];
        if (drops_elements(m->prev, m)) {
            err_set(e, ERR_NOINV,
                    "primitive %d (unfold %s) with size=%lld dropped elements: it has no inverse",
                    m->n_prims, m->prev->dim[pr->dim], (long long)pr->size);
            return err_fix(e, "start again from the plain layout");
        }
        count += inverse_of(pr, m->prev, out + count);
    }
    *n = count;
    return true;
}
