/* Vectorized loops whose lanes do not lie side by side in memory. */
#include "kernels/nest/tree.h"

/* The loops around a tree, the outermost first. */
struct loops_around { int n; const struct tree *loop[MAX_DIMS * 2]; };

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
    const struct expr *offset = buffer_offset(f->pool, &f->buffer[t->buffer], t->idx);
    *out = (struct lanes_apart){ .buffer = f->buffer[t->buffer].name };
    for (int i = 0; i < a.n; i++) {
        int64_t stride = 0;  /* stays 0 if iterations move the store by different distances */
        expr_coef(f->pool, offset, a.loop[i]->var, &stride);
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
