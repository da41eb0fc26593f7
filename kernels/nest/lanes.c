/* Vectorized loops whose lanes do not lie side by side in memory. */
#include "kernels/nest/tree.h"

/* The loops around a tree, the outermost first. */
struct loops_around { int n; const struct tree *loop[MAX_DIMS * 2]; };

/* Returns by how many elements of the stored buffer an iteration of the loop moves the store; 0: by
 * none, or not by the same number in each iteration. */
static int64_t stride_of(const struct func *f, const struct tree *store, const struct tree *loop)
{
    int64_t coef = 0;
    const struct expr *at = buffer_offset(f->pool, &f->buffer[store->buffer], store->idx);
    return expr_coef(f->pool, at, loop->var, &coef) ? coef : 0;
}

static bool find(const struct func *f, const struct tree *t, struct loops_around a,
                 struct lanes_apart *out)
{
    bool found = false;
    if (t->kind == TREE_LOOP && a.n < COUNT_OF(a.loop))
        a.loop[a.n++] = t;
    for (int i = 0; i < t->n_kids && t->kind != TREE_STORE && !found; i++)
        found = find(f, t->kid[i], a, out);
    if (t->kind != TREE_STORE || t->buffer >= f->n_params)
        return found;
    *out = (struct lanes_apart){ .buffer = f->buffer[t->buffer].name };
    for (int i = 0; i < a.n; i++) {
        int64_t stride = stride_of(f, t, a.loop[i]);
        if (stride == 1)
            out->adjacent = a.loop[i]->axis;
        if (a.loop[i]->ann == LOOP_VECTORIZE && stride != 0 && stride != 1) {
            out->axis = a.loop[i]->axis;
            out->stride = stride;
        }
    }
    return out->axis != NULL;
}

bool func_lanes_apart(const struct func *f, struct lanes_apart *out)
{
    for (int i = 0; i < f->n_roots; i++)
        if (find(f, f->root[i], (struct loops_around){ 0 }, out))
            return true;
    return false;
}
