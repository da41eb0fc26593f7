/* Makes the statements of the imported graph, and computes the shapes of their results. */
#include "kernels/onnx/onnx_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct shape *onnx_shape_of(const struct imp *im, int s)
{
    return &im->stmt.data[s].shape;
}

int64_t onnx_shape_elems(const struct shape *s)
{
    int64_t n = 1;
    for (int d = 0; d < s->rank; d++)
        if (s->dim[d] > 0 && n > ((int64_t)1 << 40) / s->dim[d])
            return (int64_t)1 << 41;
        else
            n *= s->dim[d];
    return n;
}

struct shape onnx_at_least_1d(const struct shape *s)
{
    return s->rank > 0 ? *s : (struct shape){ 1, { 1 } };
}

const char *onnx_list_text(struct imp *im, const int64_t *v, int n)
{
    struct str out = { 0 };
    for (int i = 0; i < n; i++)
        str_printf(&out, "%s%lld", i ? "," : "", (long long)v[i]);
    const char *text = arena_strdup(im->a, str_text(&out));
    str_free(&out);
    return text;
}

const char *onnx_shape_text(struct imp *im, const struct shape *s, const char *sep)
{
    struct str out = { 0 };
    for (int i = 0; i < s->rank; i++)
        str_printf(&out, "%s%lld", i ? sep : "", (long long)s->dim[i]);
    if (s->rank == 0)
        str_add(&out, "scalar");
    const char *text = arena_strdup(im->a, str_text(&out));
    str_free(&out);
    return text;
}

int onnx_emit(struct imp *im, const char *op, const int *in, int n_in, const struct shape *shape,
              const char *fmt, ...)
{
    struct stmt s = { .op = op, .n_in = n_in, .shape = *shape, .node = im->node };
    va_list ap;
    va_start(ap, fmt);
    s.params = arena_vprintf(im->a, fmt, ap);
    va_end(ap);
    s.in = n_in ? ARENA_DUP(im->a, in, n_in) : NULL;
    vec_push(&im->stmt, s);
    return im->stmt.len - 1;
}

int onnx_emit1(struct imp *im, const char *op, int x)
{
    struct shape shape = *onnx_shape_of(im, x);
    return onnx_emit(im, op, &x, 1, &shape, "%s", "");
}

int onnx_emit_affine(struct imp *im, int x, double mul, double add)
{
    struct shape shape = *onnx_shape_of(im, x);
    return onnx_emit(im, "affine", &x, 1, &shape, "mul=%.9g add=%.9g", mul, add);
}

static bool broadcast(struct imp *im, const struct shape *x, const struct shape *y,
                      struct shape *out)
{
    int rank = x->rank > y->rank ? x->rank : y->rank;
    *out = (struct shape){ .rank = rank };
    for (int d = 0; d < rank; d++) {
        int dx = d - (rank - x->rank), dy = d - (rank - y->rank);
        int64_t nx = dx >= 0 ? x->dim[dx] : 1, ny = dy >= 0 ? y->dim[dy] : 1;
        if (nx != ny && nx != 1 && ny != 1)
            return onnx_refuse(im, "%s cannot be broadcast with %s", onnx_shape_text(im, x, "x"),
                               onnx_shape_text(im, y, "x"));
        out->dim[d] = nx > ny ? nx : ny;
    }
    return true;
}

bool onnx_emit2(struct imp *im, const char *op, int x, int y, int *out)
{
    struct shape shape;
    if (!broadcast(im, onnx_shape_of(im, x), onnx_shape_of(im, y), &shape))
        return false;
    *out = onnx_emit(im, op, (int[]){ x, y }, 2, &shape, "%s", "");
    return true;
}

bool onnx_emit_where(struct imp *im, int c, int x, int y, int *out)
{
    struct shape some, shape;
    if (!broadcast(im, onnx_shape_of(im, c), onnx_shape_of(im, x), &some) ||
        !broadcast(im, &some, onnx_shape_of(im, y), &shape))
        return false;
    *out = onnx_emit(im, "where", (int[]){ c, x, y }, 3, &shape, "%s", "");
    return true;
}

int onnx_emit_trunc(struct imp *im, int x)
{
    int up = onnx_emit1(im, "floor", onnx_emit1(im, "relu", x)), y;
    int down = onnx_emit1(im, "floor", onnx_emit1(im, "relu", onnx_emit1(im, "neg", x)));
    onnx_emit2(im, "sub", up, down, &y);
    return y;
}

int onnx_emit_expand(struct imp *im, int x, const struct shape *to)
{
    struct shape shape = onnx_at_least_1d(to);
    return onnx_emit(im, "expand", &x, 1, &shape, "shape=%s",
                     onnx_list_text(im, shape.dim, shape.rank));
}

static bool same_shape(const struct shape *a, const struct shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof *a->dim * (size_t)a->rank) == 0;
}

/* Reshapes x. For a constant, declares another constant with the same data in the new shape. */
bool onnx_emit_reshape(struct imp *im, int x, const struct shape *to, int *out)
{
    struct shape shape = onnx_at_least_1d(to);
    const struct stmt from = im->stmt.data[x];
    *out = x;
    if (same_shape(&from.shape, &shape))
        return true;
    if (shape.rank > MAX_RANK)
        return onnx_refuse(im, "a tensor has %d dimensions, and at most %d are possible",
                           shape.rank,
                           MAX_RANK);
    if (onnx_shape_elems(&from.shape) != onnx_shape_elems(&shape))
        return onnx_refuse(im, "%s cannot be reshaped to %s", onnx_shape_text(im, &from.shape, "x"),
                           onnx_shape_text(im, &shape, "x"));
    if (streq(from.op, "const")) {
        *out = onnx_emit(im, "const", NULL, 0, &shape, "%s", "");
        struct stmt *s = &im->stmt.data[*out];
        s->want = from.want;
        s->value = from.value;
        s->data = from.data;
        return true;
    }
    *out = onnx_emit(im, "reshape", &x, 1, &shape, "shape=%s",
                     onnx_list_text(im, shape.dim, shape.rank));
    return true;
}

int onnx_emit_slice(struct imp *im, int x, int axis, int64_t from, int64_t step, int64_t n)
{
    struct shape shape = *onnx_shape_of(im, x);
    int64_t to = from + step * (n - 1) + (step > 0 ? 1 : -1);
    if (from == 0 && step == 1 && n == shape.dim[axis])
        return x;
    shape.dim[axis] = n;
    return onnx_emit(im, "slice", &x, 1, &shape, "axis=%d from=%lld to=%lld step=%lld", axis,
                     (long long)from, (long long)to, (long long)step);
}

int onnx_emit_reduce(struct imp *im, const char *op, int x, unsigned dims, bool keep)
{
    struct shape from = *onnx_shape_of(im, x), shape = { 0 };
    int64_t axes[ONNX_MAX_RANK];
    int n = 0;
    for (int d = 0; d < from.rank; d++)
        if (dims >> d & 1)
            axes[n++] = d;
    for (int d = 0; d < from.rank; d++)
        if (keep || !(dims >> d & 1))
            shape.dim[shape.rank++] = dims >> d & 1 ? 1 : from.dim[d];
    shape = onnx_at_least_1d(&shape);
    return onnx_emit(im, op, &x, 1, &shape, "axes=%s keep=%d", onnx_list_text(im, axes, n), keep);
}

int onnx_emit_transpose(struct imp *im, int x, const int *perm)
{
    struct shape from = *onnx_shape_of(im, x), shape = { .rank = from.rank };
    int64_t list[ONNX_MAX_RANK];
    bool moves = false;
    for (int d = 0; d < from.rank; d++) {
        list[d] = perm[d];
        shape.dim[d] = from.dim[perm[d]];
        moves = moves || perm[d] != d;
    }
    if (!moves)
        return x;
    return onnx_emit(im, "transpose", &x, 1, &shape, "perm=%s",
                     onnx_list_text(im, list, from.rank));
}

bool onnx_emit_concat(struct imp *im, const int *x, int n, int axis, int *out)
{
    enum { AT_ONCE = 32 };                /* most tensors that one statement appends to *out */
    *out = x[0];
    for (int i = 1; i < n;) {
        int part[AT_ONCE + 1] = { *out }, count = 1;
        struct shape shape = *onnx_shape_of(im, *out);
        for (; i < n && count <= AT_ONCE; i++) {
            const struct shape *y = onnx_shape_of(im, x[i]);
            for (int d = 0; d < shape.rank; d++)
                if (y->rank != shape.rank || (d != axis && y->dim[d] != shape.dim[d]))
                    return onnx_refuse(im, "%s cannot be joined with %s along axis %d",
                                       onnx_shape_text(im, &shape,
                                                       "x"), onnx_shape_text(im, y, "x"), axis);
            shape.dim[axis] += y->dim[axis];
            part[count++] = x[i];
        }
        *out = onnx_emit(im, "concat", part, count, &shape, "axis=%d", axis);
    }
    return true;
}

int onnx_emit_pad(struct imp *im, int x, const int64_t *before, const int64_t *after, double value)
{
    struct shape shape = *onnx_shape_of(im, x);
    bool any = false;
    for (int d = 0; d < shape.rank; d++) {
        any = any || before[d] || after[d];
        shape.dim[d] += before[d] + after[d];
    }
    if (!any)
        return x;
    return onnx_emit(im, "pad", &x, 1, &shape, "before=%s after=%s value=%.9g",
                     onnx_list_text(im, before, shape.rank),
                     onnx_list_text(im, after, shape.rank), value);
}

int onnx_emit_number(struct imp *im, double v)
{
    struct onnx_tensor *t = ARENA_NEW(im->a, struct onnx_tensor);
    *t = (struct onnx_tensor){ .type = TYPE_FLOAT, .rank = 1, .dims = { 1 }, .elems = 1,
                               .one = true, .f = ARENA_DUP(im->a, &(f32){ (f32)v }, 1) };
    int s = onnx_emit(im, "const", NULL, 0, &(struct shape){ 1, { 1 } }, "%s", "");
    im->stmt.data[s].value = "";
    im->stmt.data[s].data = t;
    return s;
}

int onnx_emit_data(struct imp *im, const char *what, const struct shape *shape, const f32 *data)
{
    struct onnx_tensor *t = ARENA_NEW(im->a, struct onnx_tensor);
    *t = (struct onnx_tensor){ .name = arena_printf(im->a, "%s/%s", im->n->name, what),
                               .type = TYPE_FLOAT, .rank = shape->rank,
                               .elems = onnx_shape_elems(shape), .f = data };
    memcpy(t->dims, shape->dim, sizeof t->dims);
    im->folded += t->elems;
    while (onnx_find_value(im, t->name))
        t->name = arena_printf(im->a, "%s_", t->name);
    onnx_add_constant(im, t);
    int s = onnx_emit(im, "const", NULL, 0, shape, "%s", "");
    im->stmt.data[s].value = t->name;
    im->stmt.data[s].data = t;
    return s;
}

bool onnx_emit_along(struct imp *im, int x, int axis, const f32 *matrix, int64_t to, int *out)
{
    struct shape s = *onnx_shape_of(im, x), m = { 2, { s.dim[axis], to } };
    int perm[ONNX_MAX_RANK] = { 0 }, last = s.rank - 1;
    for (int d = 0; d < s.rank; d++)
        perm[d] = d == axis ? last : d == last ? axis : d;
    x = onnx_emit_transpose(im, x, perm);
    if (s.rank == 1 && !onnx_emit_reshape(im, x, &(struct shape){ 2, { 1, s.dim[0] } }, &x))
        return false;
    struct shape y = *onnx_shape_of(im, x);
    y.dim[y.rank - 1] = to;
    x = onnx_emit(im, "matmul", (int[]){ x, onnx_emit_data(im, "matrix", &m, matrix) }, 2, &y, "%s",
                  "");
    if (s.rank == 1)
        return onnx_emit_reshape(im, x, &(struct shape){ 1, { to } }, out);
    *out = onnx_emit_transpose(im, x, perm);
    return true;
}
