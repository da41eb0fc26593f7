/* Folds constants of the model, which shapes and integer inputs depend on. */
#include "kernels/onnx/onnx_impl.h"

#include <string.h>

static bool give(struct imp *im, const struct shape *shape, int type, const int64_t *i,
                 const f32 *f)
{
    struct onnx_tensor *t = ARENA_NEW(im->a, struct onnx_tensor);
    *t = (struct onnx_tensor){ .name = im->n->out[0], .type = type, .rank = shape->rank,
                               .elems = onnx_shape_elems(shape), .i = i, .f = f };
    memcpy(t->dims, shape->dim, sizeof t->dims);
    im->folded += t->elems;
    onnx_set_const(im, 0, t);
    return true;
}

static bool constant(struct imp *im)
{
    const struct onnx_attr *a = onnx_attr(im, "value"), *f = onnx_attr(im, "value_float");
    const struct onnx_attr *i = onnx_attr(im, "value_int"), *list = onnx_attr(im, "value_ints");
    struct shape scalar = { 0 };
    if (a && a->kind == ATTR_TENSOR) {
        onnx_set_const(im, 0, a->tensor);
        return true;
    }
    if (f && f->kind == ATTR_FLOAT) {
        f32 v = (f32)f->f;
        return give(im, &scalar, TYPE_FLOAT, NULL, ARENA_DUP(im->a, &v, 1));
    }
    if (i && i->kind == ATTR_INT)
        return give(im, &scalar, TYPE_INT64, &i->i, NULL);
    if (list && list->kind == ATTR_INTS && list->n > 0)
        return give(im, &(struct shape){ 1, { list->n } }, TYPE_INT64, list->ints, NULL);
    return onnx_refuse(im, "attribute value is not a tensor of numbers");
}

static bool constant_of_shape(struct imp *im)
{
    struct shape to = { 0 };
    const struct onnx_attr *a = onnx_attr(im, "value");
    const struct onnx_tensor *v = a ? a->tensor : NULL;
    if (!onnx_in_ints(im, 0, to.dim, ONNX_MAX_RANK, &to.rank))
        return false;
    for (int d = 0; d < to.rank; d++)
        if (to.dim[d] < 0)
            return onnx_refuse(im, "a dimension has %lld elements, which is not possible",
                               (long long)to.dim[d]);
    int64_t n = onnx_shape_elems(&to);
    if (n > MAX_FOLD || (v && (v->elems != 1 || (!v->f && !v->i))))
        return onnx_refuse(im, "a constant has %lld elements, or does not have one value",
                           (long long)n);
    f32 *f = !v || v->f ? ARENA_ARRAY(im->a, f32, n + 1) : NULL;
    int64_t *i = f ? NULL : ARENA_ARRAY(im->a, int64_t, n + 1);
    for (int64_t k = 0; k < n; k++)
        if (f)
            f[k] = v ? v->f[0] : 0;
        else
            i[k] = v->i[0];
    return give(im, &to, v ? v->type : TYPE_FLOAT, i, f);
}

static bool shape_or_size(struct imp *im)
{
    const struct value *v = onnx_in_value(im, 0);
    if (!v || v->shape.rank < 0)
        return v ? onnx_refuse(im, "the shape of %s is not known", v->name) : false;
    int rank = v->shape.rank;
    int64_t from = onnx_attr_int(im, "start", 0), to = onnx_attr_int(im, "end", rank);
    int64_t *out = ARENA_ARRAY(im->a, int64_t, rank + 1);
    if (streq(im->n->op, "Size")) {
        out[0] = onnx_shape_elems(&v->shape);
        return give(im, &(struct shape){ 0 }, TYPE_INT64, out, NULL);
    }
    from = from < -rank ? 0 : from < 0 ? from + rank : from;
    to = to < -rank ? 0 : to < 0 ? to + rank : to > rank ? rank : to;
    for (int64_t d = from; d < to; d++)
        out[d - from] = v->shape.dim[d];
    return give(im, &(struct shape){ 1, { to > from ? to - from : 0 } }, TYPE_INT64, out, NULL);
}

/* Integer arithmetic on small constants. */

static const struct onnx_tensor *data_in(struct imp *im, int i)
{
    const struct value *v = onnx_has_in(im, i) ? onnx_in_value(im, i) : NULL;
    return v && v->data && (v->data->i || v->data->f) ? v->data : NULL;
}

static struct shape shape_in(const struct onnx_tensor *t)
{
    struct shape s = { .rank = t->rank };
    memcpy(s.dim, t->dims, sizeof t->dims);
    return s;
}

static bool fold_cast(struct imp *im)
{
    const struct onnx_tensor *t = data_in(im, 0);
    int64_t to = onnx_attr_int(im, "to", 0);
    struct shape s = shape_in(t);
    if (t->elems > MAX_FOLD || (to != TYPE_FLOAT && to != TYPE_INT32 && to != TYPE_INT64))
        return onnx_refuse(im, "to %s", onnx_type_name((int)(to & 0xff)));
    f32 *f = ARENA_ARRAY(im->a, f32, t->elems + 1);
    int64_t *i = ARENA_ARRAY(im->a, int64_t, t->elems + 1);
    for (int64_t k = 0; k < t->elems; k++) {
        f[k] = t->f ? t->f[k] : (f32)t->i[k];
        i[k] = t->i ? t->i[k] : f[k] > -1e15f && f[k] < 1e15f ? (int64_t)f[k] : 0;
    }
    return give(im, &s, (int)to, to == TYPE_FLOAT ? NULL : i, to == TYPE_FLOAT ? f : NULL);
}

static bool fold_gather(struct imp *im)
{
    const struct onnx_tensor *x = data_in(im, 0), *at = data_in(im, 1);
    if (!at || !x->i || x->rank != 1 || !at->i || at->elems > MAX_FOLD)
        return false;
    struct shape s = shape_in(at);
    int64_t *out = ARENA_ARRAY(im->a, int64_t, at->elems + 1);
    for (int64_t k = 0; k < at->elems; k++) {
        int64_t i = at->i[k] < 0 ? at->i[k] + x->elems : at->i[k];
        if (i < 0 || i >= x->elems)
            return onnx_refuse(im, "index %lld is outside of the %lld elements",
                               (long long)at->i[k],
                               (long long)x->elems);
        out[k] = x->i[i];
    }
    return give(im, &s, x->type, out, NULL);
}

static bool fold_concat(struct imp *im)
{
    int64_t n = 0;
    for (int i = 0; i < im->n->n_in; i++) {
        const struct onnx_tensor *t = data_in(im, i);
        if (!t->i || t->rank != 1)
            return false;
        n += t->elems;
    }
    if (n > MAX_FOLD)
        return false;
    int64_t *out = ARENA_ARRAY(im->a, int64_t, n + 1), at = 0;
    for (int i = 0; i < im->n->n_in; i++) {
        const struct onnx_tensor *t = data_in(im, i);
        memcpy(out + at, t->i, sizeof *out * (size_t)t->elems);
        at += t->elems;
    }
    return give(im, &(struct shape){ 1, { n } }, data_in(im, 0)->type, out, NULL);
}

/* Folds arithmetic on scalars and vectors, of equal length or with one of them repeated. */
static bool fold_arithmetic(struct imp *im)
{
    const struct onnx_tensor *x = data_in(im, 0), *y = data_in(im, 1);
    char op = im->n->op[0];
    if (!y || !x->i || !y->i || (x->elems != y->elems && x->elems != 1 && y->elems != 1) ||
        x->rank > 1 || y->rank > 1 || x->elems > MAX_FOLD || y->elems > MAX_FOLD)
        return false;
    const struct onnx_tensor *longer = y->elems > x->elems || y->rank > x->rank ? y : x;
    struct shape s = shape_in(longer);
    int64_t *out = ARENA_ARRAY(im->a, int64_t, longer->elems + 1);
    for (int64_t k = 0; k < longer->elems; k++) {
        int64_t a = x->i[x->elems == 1 ? 0 : k], b = y->i[y->elems == 1 ? 0 : k];
        bool bad = op == 'A' ? __builtin_add_overflow(a, b, &out[k])
                   : op == 'S' ? __builtin_sub_overflow(a, b, &out[k])
                   : op == 'M' ? __builtin_mul_overflow(a, b, &out[k])
                               : b == 0 || b == -1;
        if (bad)
            return onnx_refuse(im, "the result for %lld and %lld is not a number", (long long)a,
                               (long long)b);
        if (op == 'D')
            out[k] = a / b;
    }
    return give(im, &s, x->type, out, NULL);
}

static bool fold_neg(struct imp *im)
{
    const struct onnx_tensor *t = data_in(im, 0);
    struct shape s = shape_in(t);
    if (!t->i || t->elems > MAX_FOLD)
        return false;
    int64_t *out = ARENA_ARRAY(im->a, int64_t, t->elems + 1);
    for (int64_t k = 0; k < t->elems; k++)
        out[k] = t->i[k] == INT64_MIN ? INT64_MAX : -t->i[k];
    return give(im, &s, t->type, out, NULL);
}

/* Folds operators that only change the shape of vectors and scalars. */
static bool fold_view(struct imp *im)
{
    const struct onnx_tensor *t = data_in(im, 0);
    int64_t axes[ONNX_MAX_RANK];
    int n = 0;
    struct shape s = { 1, { t->elems } };
    if (!t->i || t->rank > 1)
        return false;
    if (streq(im->n->op, "Identity"))
        s = shape_in(t);
    if (streq(im->n->op, "Squeeze") && t->elems == 1)
        s.rank = 0;
    if (streq(im->n->op, "Unsqueeze") &&
        (!(onnx_has_in(im, 1) ? onnx_in_ints(im, 1, axes, ONNX_MAX_RANK, &n)
                         : onnx_attr_ints(im, "axes", axes, ONNX_MAX_RANK,
                                          &n)) || n != 1 || t->rank))
        return false;
    if (streq(im->n->op, "Reshape") && (!onnx_in_ints(im, 1, axes, ONNX_MAX_RANK, &n) || n > 1))
        return false;
    return give(im, &s, t->type, t->i, NULL);
}

static bool fold_slice(struct imp *im)
{
    const struct onnx_tensor *t = data_in(im, 0);
    int64_t from, to, step = 1;
    int n;
    if (!t->i || t->rank != 1)
        return false;
    if (im->m->opset < 10
            ? !onnx_attr_ints(im, "starts", &from, 1, &n) || n != 1 ||
                  !onnx_attr_ints(im, "ends", &to, 1, &n) || n != 1
            : !onnx_in_ints(im, 1, &from, 1, &n) || n != 1 ||
              !onnx_in_ints(im, 2, &to, 1, &n) || n != 1 ||
                  (onnx_has_in(im, 4) && (!onnx_in_ints(im, 4, &step, 1, &n) || n != 1)))
        return false;
    if (step != 1)
        return onnx_refuse(im, "a constant is sliced with a step of %lld, which is not possible",
                           (long long)step);
    from = from < -t->elems ? 0 : from < 0 ? from + t->elems : from;
    to = to < -t->elems ? 0 : to < 0 ? to + t->elems : to > t->elems ? t->elems : to;
    struct shape s = { 1, { to > from ? to - from : 0 } };
    return give(im, &s, t->type, s.dim[0] ? t->i + from : t->i, NULL);
}

bool onnx_fold(struct imp *im)
{
    static const struct handler always[] = {
        { "Constant", constant }, { "ConstantOfShape", constant_of_shape },
        { "Shape", shape_or_size }, { "Size", shape_or_size },
    };
    static const struct handler known[] = {
        { "Cast", fold_cast }, { "Gather", fold_gather }, { "Concat", fold_concat },
        { "Add", fold_arithmetic }, { "Sub", fold_arithmetic }, { "Mul", fold_arithmetic },
        { "Div", fold_arithmetic }, { "Neg", fold_neg }, { "Squeeze", fold_view },
        { "Unsqueeze", fold_view },
        { "Reshape", fold_view }, { "Identity", fold_view }, { "Slice", fold_slice },
    };
    if (!onnx_wants_out(im, 0) || im->n->domain[0])
        return false;
    if (im->folded > MAX_FOLDED)
        return onnx_refuse(im, "the constants of the model are too large");
    for (int i = 0; i < COUNT_OF(always); i++)
        if (streq(always[i].op, im->n->op))
            return always[i].run(im);
    for (int i = 0; i < im->n->n_in; i++)
        if (!data_in(im, i))
            return false;
    for (int i = 0; i < COUNT_OF(known) && im->n->n_in > 0; i++)
        if (streq(known[i].op, im->n->op))
            return known[i].run(im) || (im->reason = NULL, false);
    return false;
}
