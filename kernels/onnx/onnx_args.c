/* Reads the inputs and the attributes of the node that is being translated. */
#include "kernels/onnx/onnx_impl.h"

/* --- Inputs of a node ------------------------------------------------------------------------- */

bool onnx_has_in(const struct imp *im, int i)
{
    return i < im->n->n_in && im->n->in[i][0];
}

struct value *onnx_in_value(struct imp *im, int i)
{
    struct value *v = onnx_has_in(im, i) ? onnx_find_value(im, im->n->in[i]) : NULL;
    if (!v)
        onnx_refuse(im, "input %d is missing", i);
    return v;
}

bool onnx_is_int(int type)
{
    return (type > TYPE_FLOAT && type <= TYPE_BOOL && type != TYPE_STRING) ||
           type == TYPE_UINT32 || type == TYPE_UINT64;
}

bool onnx_is_number(int type)
{
    return type == TYPE_FLOAT || onnx_is_int(type) || type == TYPE_FLOAT16 ||
           type == TYPE_DOUBLE || type == TYPE_BFLOAT16;
}

double onnx_number(const struct onnx_tensor *t, int64_t k)
{
    k = t->one ? 0 : k;
    return t->f ? (double)t->f[k] : (double)t->i[k];
}

const struct onnx_tensor *onnx_as_floats(struct arena *a, const struct onnx_tensor *t, double *bad)
{
    if (t->f)
        return t;
    int64_t n = t->one ? 1 : t->elems;
    f32 *f = ARENA_ARRAY(a, f32, n + 1);
    for (int64_t k = 0; k < n; k++) {
        f[k] = (f32)t->i[k];
        if ((double)f[k] == (double)t->i[k])
            continue;
        *bad = (double)t->i[k];
        return NULL;
    }
    struct onnx_tensor *copy = arena_copy(a, t, sizeof *t);
    copy->f = f;
    copy->i = NULL;
    return copy;
}

bool onnx_shape_unknown(struct imp *im, const struct value *v)
{
    const struct onnx_port *p = v->port >= 0 ? &im->m->in[v->port] : NULL;
    for (int d = 1; p && d < p->rank; d++)
        if (p->dims[d] < 0)
            return onnx_refuse(im, "dimension %d of %s is open; --dim %s=SIZE sets it", d, v->name,
                               p->dim_name[d]);
    return onnx_refuse(im, "the shape of %s is not known", v->name);
}

static bool declare(struct imp *im, const struct value *v, int *out)
{
    struct shape shape = onnx_at_least_1d(&v->shape);
    bool input = v->port >= 0;
    double bad;
    const struct onnx_tensor *data = v->data;
    if (data && !im->folding)
        data = onnx_as_floats(im->a, data, &bad);
    if (v->data && !data)
        return onnx_refuse(im, "%s holds %.17g, which is not exact as float32", v->name, bad);
    if (input && v->type != TYPE_FLOAT && !im->folding)
        str_printf(&im->out->notes, "%.200s holds %s. It is computed as float32%s.\n", v->name,
                   onnx_type_name(v->type),
                   onnx_is_int(v->type) ? ", which is exact up to 16,777,216" : "");
    int s = *out = onnx_emit(im, input ? "input" : "const", NULL, 0, &shape, "%s", "");
    im->stmt.data[s].want = im->stmt.data[s].value = v->name;
    im->stmt.data[s].data = data;
    return true;
}

bool onnx_value_stmt(struct imp *im, struct value *v, int *s)
{
    if (!onnx_is_number(v->type) || (v->data && !v->data->f && !v->data->i))
        return onnx_refuse(im, "%s has type %s, which cannot be computed", v->name,
                           onnx_type_name(v->type));
    if (v->shape.rank < 0)
        return onnx_shape_unknown(im, v);
    if (v->shape.rank > MAX_RANK)
        return onnx_refuse(im, "%s has %d dimensions, and at most %d are possible", v->name,
                           v->shape.rank,
                           MAX_RANK);
    if (onnx_shape_elems(&v->shape) == 0 || onnx_shape_elems(&v->shape) > ONNX_MAX_RESULT)
        return onnx_refuse(im, "%s is empty or too large", v->name);
    if (v->stmt < 0 && !declare(im, v, &v->stmt))
        return false;
    *s = v->stmt;
    return true;
}

bool onnx_in_stmt(struct imp *im, int i, int *s)
{
    struct value *v = onnx_in_value(im, i);
    return v && onnx_value_stmt(im, v, s);
}

bool onnx_in_ints(struct imp *im, int i, int64_t *out, int max, int *n)
{
    const struct value *v = onnx_in_value(im, i);
    if (!v)
        return false;
    if (!v->data || !v->data->i)
        return onnx_refuse(im, "its input %s is not a constant of integers", v->name);
    if (v->data->elems > max)
        return onnx_refuse(im, "its input %s has more than %d numbers", v->name, max);
    *n = (int)v->data->elems;
    for (int k = 0; k < *n; k++)
        out[k] = v->data->i[v->data->one ? 0 : k];
    return true;
}

bool onnx_in_floats(struct imp *im, int i, double *out, int max, int *n)
{
    const struct value *v = onnx_in_value(im, i);
    if (!v)
        return false;
    const struct onnx_tensor *t = v->data ? v->data : v->given;
    if (!t || !(t->f || t->i) || t->elems > max)
        return onnx_refuse(im, "its input %s is not constant, or has more than %d numbers", v->name,
                           max);
    for (*n = 0; *n < t->elems; ++*n)
        out[*n] = onnx_number(t, *n);
    return true;
}

bool onnx_in_float(struct imp *im, int i, double *out)
{
    int n = 0;
    return onnx_in_floats(im, i, out, 1, &n) &&
           (n == 1 || onnx_refuse(im, "its input %d is not one number", i));
}

/* --- Attributes of a node --------------------------------------------------------------------- */

const struct onnx_attr *onnx_attr(const struct imp *im, const char *name)
{
    for (int i = 0; i < im->n->n_attr; i++)
        if (streq(im->n->attr[i].name, name))
            return &im->n->attr[i];
    return NULL;
}

int64_t onnx_attr_int(const struct imp *im, const char *name, int64_t otherwise)
{
    const struct onnx_attr *a = onnx_attr(im, name);
    return a && a->kind == ATTR_INT ? a->i : otherwise;
}

double onnx_attr_float(const struct imp *im, const char *name, double otherwise)
{
    const struct onnx_attr *a = onnx_attr(im, name);
    return a && a->kind == ATTR_FLOAT ? a->f : otherwise;
}

const char *onnx_attr_text(const struct imp *im, const char *name)
{
    const struct onnx_attr *a = onnx_attr(im, name);
    return a ? a->text : "";
}

bool onnx_attr_ints(struct imp *im, const char *name, int64_t *out, int max, int *n)
{
    const struct onnx_attr *a = onnx_attr(im, name);
    *n = 0;
    if (!a)
        return true;
    if (a->kind != ATTR_INTS || a->n > max)
        return onnx_refuse(im, "attribute %s: expected at most %d integers", name, max);
    for (int i = 0; i < a->n; i++)
        out[i] = a->ints[i];
    *n = a->n;
    return true;
}

bool onnx_axis_in(struct imp *im, int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank)
        return onnx_refuse(im, "axis %lld does not exist: the tensor has %d dimensions",
                           (long long)axis,
                           rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}
