/* Vectorized loops whose lanes do not lie side by side in memory. */
#include "kernels/nest/tree.h"

/* The loops around a tree, the outermost first. */
struct loops_around { int n; const struct tree *loop[MAX_DIMS * 2]; };

/* Whether lanes of a vectorized loop of `a` lie apart in an access to a parameter; fills *out. */
static bool access_apart(const struct func *f, int buffer, const struct expr *const *idx, bool load,
                         const struct loops_around *a, struct lanes_apart *out)
{
    if (buffer >= f->n_params)
        return false;
    const struct expr *offset = buffer_offset(f->pool, &f->buffer[buffer], idx);
    *out = (struct lanes_apart){ .buffer = f->buffer[buffer].name };
    for (int i = 0; i < a->n; i++) {
        int64_t stride = 0;  /* stays 0 if iterations move the access by different distances */
        expr_coef(f->pool, offset, a->loop[i]->var, &stride);
        if (stride == 1)
            out->adjacent = a->loop[i]->axis;
        bool turned = load && stride == -1;  /* may be one vector, whose lanes change places */
        if (a->loop[i]->ann == LOOP_VECTORIZE && stride != 0 && stride != 1 && !turned) {
            out->axis = a->loop[i]->axis;
            out->stride = stride;
        }
    }
    return out->axis != NULL;
}

static bool load_apart(const struct func *f, const struct val *v, const struct loops_around *a,
                       struct lanes_apart *out)
{
    if (v == NULL)
        return false;
    if (v->kind == VAL_LOAD && access_apart(f, v->source, v->idx, true, a, out))
        return true;
    return load_apart(f, v->a, a, out) || load_apart(f, v->b, a, out);
}

static bool find(const struct func *f, const struct tree *t, struct loops_around a, bool loads,
                 struct lanes_apart *out)
{
    /* A copy that reorders has either its loads or its stores apart. */
    if (t->kind == TREE_STORE && loads)
        return (t->how != STORE_SET || t->value->kind != VAL_LOAD)
            && load_apart(f, t->value, &a, out);
    if (t->kind == TREE_STORE)
        return access_apart(f, t->buffer, t->idx, false, &a, out);
    if (t->kind == TREE_LOOP && a.n < COUNT_OF(a.loop))
        a.loop[a.n++] = t;
    bool found = false;
    for (int i = 0; i < t->n_kids && !found; i++)
        found = find(f, t->kid[i], a, loads, out);
    return found;
}

bool func_lanes_apart(const struct func *f, bool loads, struct lanes_apart *out)
{
    for (int i = 0; i < f->n_roots; i++)
        if (find(f, f->root[i], (struct loops_around){ 0 }, loads, out))
            return true;
    return false;
}
