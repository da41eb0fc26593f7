#include "tests/unit/interp.h"

#include <stdlib.h>
#include <string.h>

struct interp {
    const struct func *f;
    char **data;   /* one array per buffer */
    int64_t *vals; /* one value per variable of the pool */
};

static void *element(struct interp *in, int buffer, int rank, const struct expr *const *idx)
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
    return in->data[buffer] + flat * b->type->bytes;
}

static double get(struct interp *in, int buffer, int rank, const struct expr *const *idx)
{
    double x;
    in->f->buffer[buffer].type->read(element(in, buffer, rank, idx), 1, &x);
    return x;
}

static double rounded(const struct elem_type *type, double x)
{
    type->round(&x, 1);
    return x;
}

/* v in arithmetic of this type. */
static double value(struct interp *in, const struct elem_type *type, const struct val *v)
{
    double x = v->a && v->kind != VAL_SELECT ? value(in, type, v->a) : 0;
    if (v->kind == VAL_PICK && v->cond->kind == EXPR_VAR)
        in->vals[v->cond->var] = val_picked(x, v->cond->hi);
    double y = v->b && v->kind != VAL_SELECT ? value(in, type, v->b) : 0;
    switch (v->kind) {
    case VAL_CONST: return rounded(type, v->value);
    case VAL_LOAD: return get(in, v->source, v->rank, v->idx);
    case VAL_ADD: return rounded(type, x + y);
    case VAL_SUB: return rounded(type, x - y);
    case VAL_MUL: return rounded(type, x * y);
    case VAL_DIV: return rounded(type, x / y);
    case VAL_MAX: return x > y ? x : y;
    case VAL_MIN: return x < y ? x : y;
    case VAL_LE: return x <= y;
    case VAL_KEEP: return x >= 1 ? y : 0;
    case VAL_PICK: return y;
    case VAL_FUNCTIONS:
        return type->call(v->kind, x);
    case VAL_SELECT: return value(in, type, expr_eval(v->cond, in->vals) ? v->a : v->b);
    case VAL_KIND_COUNT: break;
    }
    UNREACHABLE();
}

static void run_store(struct interp *in, const struct tree *t)
{
    if (t->guard && !expr_eval(t->guard, in->vals))
        return;
    const struct elem_type *type = in->f->buffer[t->buffer].type;
    void *to = element(in, t->buffer, t->rank, t->idx);
    double v = value(in, type->sum, t->value), old = v;
    if (t->how != STORE_SET)
        type->read(to, 1, &old);
    if (t->how == STORE_ADD)
        v = old + v;
    else if (t->how == STORE_MAX)
        v = old > v ? old : v;
    type->write(&v, 1, to);
}

static void run(struct interp *in, const struct tree *t)
{
    if (t->kind == TREE_STORE) {
        run_store(in, t);
    } else if (t->kind == TREE_SCOPE) {
        size_t bytes = (size_t)buffer_bytes(&in->f->buffer[t->buffer]);
        in->data[t->buffer] = memset(xmalloc(bytes), 0xff, bytes);       /* NaN: not set */
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

void func_interpret(const struct func *f, void *const *data)
{
    struct interp in = { .f = f };
    in.data = xcalloc((size_t)f->n_buffers, sizeof *in.data);
    in.vals = xcalloc((size_t)exprs_n_vars(f->pool) + 1, sizeof *in.vals);
    for (int i = 0; i < f->n_params; i++)
        in.data[i] = data[i];
    for (int i = 0; i < f->n_roots; i++)
        run(&in, f->root[i]);
    free(in.data);
    free(in.vals);
}
