/* Computes, during the import, nodes whose inputs are constant.  Shapes, axes and other integer
 * inputs must be known to translate the nodes that read them. */
#include "kernels/onnx/onnx_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ops/reference.h"

static struct onnx_tensor *constant_like(struct imp *im, const char *name,
                                         const struct shape *shape, int type, const int64_t *i,
                                         const f32 *f)
{
    struct onnx_tensor *t = ARENA_NEW(im->a, struct onnx_tensor);
    *t = (struct onnx_tensor){ .name = name, .type = type, .rank = shape->rank,
                               .elems = onnx_shape_elems(shape), .i = i, .f = f };
    memcpy(t->dims, shape->dim, sizeof t->dims);
    im->folded += t->elems;
    return t;
}

static bool give(struct imp *im, const struct shape *shape, int type, const int64_t *i,
                 const f32 *f)
{
    onnx_set_const(im, 0, constant_like(im, im->n->out[0], shape, type, i, f));
    return true;
}

static bool constant(struct imp *im)
{
    const struct onnx_attr *a = onnx_attr(im, "value"), *f = onnx_attr(im, "value_float");
    const struct onnx_attr *i = onnx_attr(im, "value_int"), *list = onnx_attr(im, "value_ints");
    const struct onnx_attr *floats = onnx_attr(im, "value_floats");
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
    if (floats && floats->kind == ATTR_FLOATS && floats->n > 0)
        return give(im, &(struct shape){ 1, { floats->n } }, TYPE_FLOAT, NULL, floats->floats);
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
    if (v && (v->elems != 1 || (!v->f && !v->i)))
        return onnx_refuse(im, "attribute value is not one number");
    struct onnx_tensor *t = constant_like(im, im->n->out[0], &to, v ? v->type : TYPE_FLOAT,
                                          v ? v->i : NULL, NULL);
    im->folded -= t->elems;
    if (!t->i)
        t->f = ARENA_DUP(im->a, v ? v->f : &(f32){ 0 }, 1);
    t->one = true;
    onnx_set_const(im, 0, t);
    return true;
}

/* Translates Range: makes the numbers start, start + delta, ... before limit. */
static bool range(struct imp *im)
{
    double from, to, step;
    const struct value *v = onnx_in_value(im, 0);
    if (!v || !onnx_in_float(im, 0, &from) || !onnx_in_float(im, 1, &to) ||
        !onnx_in_float(im, 2, &step))
        return false;
    double n = step == 0 ? 0 : ceil((to - from) / step);
    if (!(n >= 1 && n <= MAX_FOLD))
        return onnx_refuse(im, "it would make %g numbers; 1 to %d are possible", n, MAX_FOLD);
    bool whole = onnx_is_int(v->type);
    int64_t *i = whole ? ARENA_ARRAY(im->a, int64_t, (int64_t)n) : NULL;
    f32 *f = whole ? NULL : ARENA_ARRAY(im->a, f32, (int64_t)n);
    for (int64_t k = 0; k < (int64_t)n; k++)
        if (whole)
            i[k] = (int64_t)(from + (double)k * step);
        else
            f[k] = (f32)(from + (double)k * step);
    return give(im, &(struct shape){ 1, { (int64_t)n } }, v->type, i, f);
}

static bool shape_or_size(struct imp *im)
{
    const struct value *v = onnx_in_value(im, 0);
    if (!v)
        return false;
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

static const struct onnx_tensor *data_in(struct imp *im, int i)
{
    const struct value *v = onnx_has_in(im, i) ? onnx_in_value(im, i) : NULL;
    return v && v->data && (v->data->i || v->data->f) ? v->data : NULL;
}

/* Sets got[] to the elements of value v, computed by the float64 reference.  The statements of v
 * must depend on constants only. */
static bool evaluate(struct imp *im, struct value *v, double *got)
{
    struct arena *a = arena_new();
    struct str text = { 0 };
    struct err e;
    const struct graph *g;
    bool *need = ARENA_ARRAY(a, bool, v->stmt + 1);
    need[v->stmt] = true;
    for (int i = v->stmt; i >= 0; i--)
        for (int k = 0; need[i] && k < im->stmt.data[i].n_in; k++)
            need[im->stmt.data[i].in[k]] = true;
    for (int i = 0; i <= v->stmt; i++)
        if (need[i])
            onnx_print_plain(im, &text, i);
    bool ok = graph_from_spec(a, str_text(&text), &g, &e);
    double **data = ok ? ARENA_ARRAY(a, double *, g->n_tensors) : NULL;
    for (int t = 0; ok && t < g->n_tensors; t++) {
        int64_t n = tensor_elems(&g->tensor[t]);
        data[t] = ARENA_ARRAY(a, double, n);
        const struct onnx_tensor *from =
            g->tensor[t].producer < 0 ? im->stmt.data[atoi(g->tensor[t].name + 1)].data : NULL;
        for (int64_t k = 0; from && k < n; k++)
            data[t][k] = onnx_number(from, k);
    }
    ok = ok && reference_eval(g, data, NULL, &e);
    if (ok)
        memcpy(got, data[graph_tensor(g, arena_printf(a, "t%d", v->stmt))],
               sizeof *got * (size_t)onnx_shape_elems(&v->shape));
    str_free(&text);
    arena_free(a);
    return ok;
}

static bool fold_value(struct imp *im, struct value *v)
{
    struct shape shape = v->shape;
    int64_t n = onnx_shape_elems(&shape);
    bool whole = onnx_is_int(v->type);
    const struct stmt *s = &im->stmt.data[v->stmt];
    double *got = xmalloc_elems((size_t)n, sizeof *got);
    for (int64_t k = 0; k < n && s->data; k++)
        got[k] = onnx_number(s->data, k);
    if (!s->data && !evaluate(im, v, got)) {
        free(got);
        return false;
    }
    int64_t *i = whole ? ARENA_ARRAY(im->a, int64_t, n) : NULL;
    f32 *f = whole ? NULL : ARENA_ARRAY(im->a, f32, n);
    for (int64_t k = 0; k < n; k++)
        if (whole)
            i[k] = got[k] >= 0x1p63 ? INT64_MAX : got[k] > -0x1p63 ? llrint(got[k]) : INT64_MIN;
        else
            f[k] = (f32)got[k];
    free(got);
    v->data = constant_like(im, v->name, &shape, v->type, i, f);
    return true;
}

/* Removes the statements from index `first` on.  Inputs and outputs of the node that refer to them
 * have no statement afterwards. */
static void take_back(struct imp *im, int first)
{
    for (int i = 0; i < im->n->n_in + im->n->n_out; i++) {
        const char *name = i < im->n->n_in ? im->n->in[i] : im->n->out[i - im->n->n_in];
        struct value *v = name[0] ? onnx_find_value(im, name) : NULL;
        if (v && v->stmt >= first)
            v->stmt = -1;
    }
    im->stmt.len = first;
    im->reason = NULL;
}

/* Computes a node on constants: adds its statements, evaluates them, and removes them.  Fails if
 * the statements do not evaluate, or a result is too large to be folded. */
static bool fold_statements(struct imp *im, const struct handler *h)
{
    int first = im->stmt.len;
    bool small = true;
    im->folding = true;
    bool ok = h->run(im) && !im->reason;
    im->folding = false;
    if (!ok) {
        take_back(im, first);
        return false;
    }
    for (int k = 0; k < im->n->n_out; k++) {
        const struct value *v = im->n->out[k][0] ? onnx_find_value(im, im->n->out[k]) : NULL;
        if (v && v->stmt >= 0)
            small &= onnx_shape_elems(&v->shape) <= (onnx_is_int(v->type) ? MAX_FOLD
                                                                          : MAX_FOLD_FLOATS);
    }
    bool stay = false;  /* a result is a float constant in another shape: the statements stay */
    for (int k = 0; k < im->n->n_out && small; k++) {
        struct value *v = im->n->out[k][0] ? onnx_find_value(im, im->n->out[k]) : NULL;
        if (!v || v->stmt < 0 || v->data)
            continue;
        bool view = im->stmt.data[v->stmt].n_in == 0 && im->stmt.data[v->stmt].data->f;
        small = fold_value(im, v);
        v->stmt = view || v->stmt < first ? v->stmt : -1;
        stay |= view;
    }
    if (!small || !stay)
        take_back(im, first);
    return small;
}

static bool fold_slice(struct imp *im)
{
    const struct onnx_tensor *t = data_in(im, 0);
    int64_t from, to, step = 1;
    int n;
    if (!t || !t->i || t->rank != 1 || t->one)
        return false;
    if (im->m->opset < 10
            ? !onnx_attr_ints(im, "starts", &from, 1, &n) || n != 1 ||
                  !onnx_attr_ints(im, "ends", &to, 1, &n) || n != 1
            : !onnx_in_ints(im, 1, &from, 1, &n) || n != 1 ||
              !onnx_in_ints(im, 2, &to, 1, &n) || n != 1 ||
                  (onnx_has_in(im, 4) && (!onnx_in_ints(im, 4, &step, 1, &n) || n != 1)))
        return false;
    if (step != 1)
        return false;
    from = from < -t->elems ? 0 : from < 0 ? from + t->elems : from;
    to = to < -t->elems ? 0 : to < 0 ? to + t->elems : to > t->elems ? t->elems : to;
    struct shape s = { 1, { to > from ? to - from : 0 } };
    return give(im, &s, t->type, s.dim[0] ? t->i + from : t->i, NULL);
}

bool onnx_fold(struct imp *im, const struct handler *h)
{
    static const struct handler always[] = {
        { "Constant", constant }, { "ConstantOfShape", constant_of_shape },
        { "Shape", shape_or_size }, { "Size", shape_or_size }, { "Range", range },
    };
    if (!onnx_wants_out(im, 0) || im->n->domain[0])
        return false;
    if (im->folded > MAX_FOLDED)
        return onnx_refuse(im, "the constants of the model are too large");
    for (int i = 0; i < COUNT_OF(always); i++)
        if (streq(always[i].op, im->n->op))
            return always[i].run(im);
    for (int i = 0; i < im->n->n_in; i++) {
        const struct onnx_tensor *t = data_in(im, i);
        if (im->n->in[i][0] && (!t || t->elems > (t->i ? MAX_FOLD : MAX_FOLD_FLOATS)))
            return false;
    }
    if (!h || im->n->n_in == 0)
        return false;
    if (streq(im->n->op, "Slice") && fold_slice(im))
        return true;
    im->reason = NULL;
    return fold_statements(im, h);
}
