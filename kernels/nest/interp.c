/* The interpreter of lowered trees: slow, obvious, and the oracle for generated code. Floats in
 * program order. */
#include "kernels/nest/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct interp {
    const struct func *f;
    float **data;  /* per buffer */
    int64_t *vals; /* per variable of the pool */
};

static float *element(struct interp *in, int buffer, int rank, const struct expr *const *idx)
{
    const struct buffer *b = &in->f->buffer[buffer];
    int64_t flat = 0;
    for (int d = 0; d < rank; d++) {
        int64_t i = expr_eval(idx[d], in->vals);
        if (i < 0 || i >= b->shape[d])
            fail("interpreter: index %d of %s is %lld of %lld", d, b->name, (long long)i,
                 (long long)b->shape[d]);
        flat = flat * b->shape[d] + i;
    }
    return &in->data[buffer][flat];
}

static float value(struct interp *in, const struct val *v)
{
    switch (v->kind) {
    case VAL_CONST: return (float)v->value;
    case VAL_LOAD: return *element(in, v->source, v->rank, v->idx);
    case VAL_ADD: return value(in, v->a) + value(in, v->b);
    case VAL_SUB: return value(in, v->a) - value(in, v->b);
    case VAL_MUL: return value(in, v->a) * value(in, v->b);
    case VAL_DIV: return value(in, v->a) / value(in, v->b);
    case VAL_MAX: {
        float x = value(in, v->a), y = value(in, v->b);
        return x > y ? x : y;
    }
    case VAL_MIN: {
        float x = value(in, v->a), y = value(in, v->b);
        return x < y ? x : y;
    }
    case VAL_EXP: return expf(value(in, v->a));
    case VAL_LOG: return logf(value(in, v->a));
    case VAL_TANH: return tanhf(value(in, v->a));
    case VAL_ERF: return erff(value(in, v->a));
    case VAL_SQRT: return sqrtf(value(in, v->a));
    case VAL_SELECT: return expr_eval(v->cond, in->vals) ? value(in, v->a) : value(in, v->b);
    case VAL_KIND_COUNT: break;
    }
    UNREACHABLE();
}

static void run_store(struct interp *in, const struct tree *t)
{
    if (t->guard && !expr_eval(t->guard, in->vals))
        return;
    float *to = element(in, t->buffer, t->rank, t->idx), v = value(in, t->value);
    if (t->how == STORE_ADD)
        *to += v;
    else if (t->how == STORE_MAX)
        *to = *to > v ? *to : v;
    else
        *to = v;
}

static void run(struct interp *in, const struct tree *t)
{
    if (t->kind == TREE_STORE) {
        run_store(in, t);
    } else if (t->kind == TREE_SCOPE) {
        in->data[t->buffer] = xcalloc((size_t)in->f->buffer[t->buffer].elems, sizeof(float));
        memset(in->data[t->buffer], 0xff,
               (size_t)in->f->buffer[t->buffer].elems * sizeof(float)); /* NaN: unset */
        for (int i = 0; i < t->n_kids; i++)
            run(in, t->kid[i]);
        free(in->data[t->buffer]);
    } else {
        int64_t begin = t->begin ? expr_eval(t->begin, in->vals) : 0;
        int64_t end = t->end ? expr_eval(t->end, in->vals) : t->extent;
        for (int64_t x = begin; x < end; x++) {
            in->vals[t->var->var] = x;
            for (int i = 0; i < t->n_kids; i++)
                run(in, t->kid[i]);
        }
    }
}

void func_interpret(const struct func *f, float *const *data)
{
    struct interp in = { .f = f };
    in.data = xcalloc((size_t)f->n_buffers, sizeof *in.data);
    in.vals = xcalloc((size_t)exprs_n_vars(f->pool) + 1, sizeof *in.vals);
    memcpy(in.data, data, sizeof *in.data * (size_t)f->n_params);
    for (int i = 0; i < f->n_roots; i++)
        run(&in, f->root[i]);
    free(in.data);
    free(in.vals);
}
