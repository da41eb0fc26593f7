/* Translates operators with indices or positions: Gather and its relatives, ArgMax, Hardmax,
 * OneHot, Trilu, EyeLike, CumSum, losses of classes, and scatters whose indices are constant. */
#include "kernels/onnx/onnx_impl.h"

#include <string.h>

enum { MAX_MATRIX = 1 << 20, MAX_PICKS = 64 };
enum { MAX_INDEX = 1 << 24 };             /* float32 holds all integers up to this one */

/* Reads input i, a constant tensor of indices, into at[max]; negative ones count from the end, n.
 * Returns their number, or 0 when they are not constant, too many, or outside of [-n, n). */
static int known_indices(struct imp *im, int i, int64_t n, int64_t *at, int max)
{
    int count;
    if (!onnx_in_ints(im, i, at, max, &count)) {
        im->reason = NULL;
        return 0;
    }
    for (int k = 0; k < count; k++) {
        at[k] += at[k] < 0 ? n : 0;
        if (at[k] < 0 || at[k] >= n)
            return 0;
    }
    return count;
}

static bool refuse_indices(struct imp *im, int64_t n)
{
    return onnx_refuse(im, "it indexes %lld elements, but float32 holds indices only up to %d",
                       (long long)n, MAX_INDEX);
}

/* Checks that the constant indices of input i are in [-n, n), and that float32 holds all indices
 * below n exactly. */
static bool indices_fit(struct imp *im, int i, int64_t n)
{
    if (n > MAX_INDEX)
        return refuse_indices(im, n);
    const struct onnx_tensor *t = onnx_in_value(im, i)->data;
    for (int64_t k = 0; t && (t->i || t->f) && k < (t->one ? 1 : t->elems); k++) {
        double at = onnx_number(t, k);
        if (at < (double)-n || at >= (double)n)
            return onnx_refuse(im, "index %g is outside of the %lld elements", at, (long long)n);
    }
    return true;
}

/* Translates Gather.  Constant indices become slices if they form a range or are few. */
static bool gather(struct imp *im)
{
    int64_t at[1 << 12];
    int x, ids, axis;
    const struct value *v = onnx_in_value(im, 1), *table = onnx_in_value(im, 0);
    if (!v || !onnx_in_stmt(im, 0, &x))
        return false;
    struct shape s = *onnx_shape_of(im, x), out = { 0 };
    if (!onnx_axis_in(im, onnx_attr_int(im, "axis", 0), s.rank, &axis) ||
        !indices_fit(im, 1, s.dim[axis]))
        return false;
    int rank = table->shape.rank - 1 + v->shape.rank;
    if (rank > MAX_RANK)
        return onnx_refuse(im, "its result would have %d dimensions; at most %d are possible", rank,
                           MAX_RANK);
    for (int d = 0; d < table->shape.rank; d++)
        if (d != axis)
            out.dim[out.rank++] = s.dim[d];
        else
            for (int k = 0; k < v->shape.rank; k++)
                out.dim[out.rank++] = v->shape.dim[k];
    int n = known_indices(im, 1, s.dim[axis], at, COUNT_OF(at)), run = 1, part[MAX_PICKS];
    while (run < n && at[run] == at[0] + run)
        run++;
    if (n > 0 && run == n) {
        x = onnx_emit_slice(im, x, axis, at[0], 1, n);
    } else if (n > 0 && n <= MAX_PICKS) {
        for (int i = 0; i < n; i++)
            part[i] = onnx_emit_slice(im, x, axis, at[i], 1, 1);
        if (!onnx_emit_concat(im, part, n, axis, &x))
            return false;
    } else {
        if (!onnx_in_stmt(im, 1, &ids))
            return false;
        struct shape all = onnx_at_least_1d(&out);
        /* a scalar index is used as a list of one index; the reshape below removes its dim */
        if (v->shape.rank == 0) {
            all = s;
            all.dim[axis] = 1;
        }
        x = onnx_emit(im, "gather", (int[]){ x, ids }, 2, &all, "axis=%d", axis);
    }
    if (!onnx_emit_reshape(im, x, &out, &x))
        return false;
    onnx_set_out(im, 0, x, &out);
    return true;
}

static bool gather_elements(struct imp *im)
{
    int x, ids, axis;
    if (!onnx_in_stmt(im, 0, &x) || !onnx_in_stmt(im, 1, &ids))
        return false;
    struct shape s = *onnx_shape_of(im, x), to = *onnx_shape_of(im, ids);
    if (!onnx_axis_in(im, onnx_attr_int(im, "axis", 0), s.rank, &axis) ||
        !indices_fit(im, 1, s.dim[axis]))
        return false;
    if (to.rank != s.rank)
        return onnx_refuse(im, "its indices have %d dimensions, not %d", to.rank, s.rank);
    return onnx_done(im, onnx_emit(im, "gather_elements", (int[]){ x, ids }, 2, &to, "axis=%d",
                                   axis));
}

/* Translates GatherND: merges the indexed dims into one.  The index into the merged dim is the sum
 * of the given indices, each times the stride of its dim. */
static bool gather_nd(struct imp *im)
{
    int64_t batch = onnx_attr_int(im, "batch_dims", 0), stride = 1, rows = 1;
    int x, ids, flat = -1, part, below, last;
    if (!onnx_in_stmt(im, 0, &x) || !onnx_in_stmt(im, 1, &ids))
        return false;
    struct shape s = *onnx_shape_of(im, x), i = *onnx_shape_of(im, ids), out = { 0 };
    int64_t r = i.dim[i.rank - 1];
    last = i.rank - 1;
    if (batch || r < 1 || r > s.rank)
        return onnx_refuse(im, "indices %s into %s with %lld batch dimensions are not supported",
                           onnx_shape_text(im, &i, "x"), onnx_shape_text(im, &s, "x"),
                           (long long)batch);
    struct shape to = { .rank = 1 };
    for (int d = 0; d < last; d++)
        out.dim[out.rank++] = i.dim[d];
    for (int64_t k = r - 1; k >= 0; k--, stride *= s.dim[k + 1]) {
        part = onnx_emit_slice(im, ids, last, k, 1, 1);
        if (!onnx_emit2(im, "less", part, onnx_emit_number(im, 0), &below) ||
            !onnx_emit2(im, "add", part, onnx_emit_affine(im, below, (double)s.dim[k], 0), &part))
            return false;
        part = onnx_emit_affine(im, part, (double)stride, 0);
        if (flat >= 0 && !onnx_emit2(im, "add", flat, part, &part))
            return false;
        flat = part;
        rows *= s.dim[k];
    }
    to.dim[0] = rows;
    for (int d = (int)r; d < s.rank; d++)
        to.dim[to.rank++] = out.dim[out.rank++] = s.dim[d];
    struct shape flat_shape = { 1, { onnx_shape_elems(&i) / r } }, got = to;
    got.dim[0] = flat_shape.dim[0];
    if (rows > MAX_INDEX)
        return refuse_indices(im, rows);
    if (!onnx_emit_reshape(im, x, &to, &x) || !onnx_emit_reshape(im, flat, &flat_shape, &flat))
        return false;
    x = onnx_emit(im, "gather", (int[]){ x, flat }, 2, &got, "axis=0");
    if (!onnx_emit_reshape(im, x, &out, &x))
        return false;
    onnx_set_out(im, 0, x, &out);
    return true;
}

static bool too_large(struct imp *im, int64_t n, int64_t m)
{
    return n > MAX_MATRIX / m &&
           !onnx_refuse(im, "a matrix of %lld x %lld is too large", (long long)n, (long long)m);
}

/* Emits a constant tensor of this rank.  Its n elements lie along one axis, and are first,
 * first + step, ...; the other dims are 1. */
static int numbers_along(struct imp *im, int rank, int axis, int64_t n, double first, double step)
{
    struct shape s = { .rank = rank };
    f32 *f = ARENA_ARRAY(im->a, f32, n);
    for (int d = 0; d < rank; d++)
        s.dim[d] = d == axis ? n : 1;
    for (int64_t k = 0; k < n; k++)
        f[k] = (f32)(first + step * (double)k);
    return onnx_emit_data(im, "numbers", &s, f);
}

/* Emits the index along `axis` of the largest element of x.  Among equal elements it takes the last
 * one if `last` is set, else the first.  Each element equal to the maximum gets a weight from 1 to
 * n, which rises towards the wanted end.  The largest weight gives the index. */
static bool emit_argmax(struct imp *im, int x, int axis, bool last, bool keep, int *out)
{
    struct shape s = *onnx_shape_of(im, x);
    int64_t n = s.dim[axis];
    if (too_large(im, n, 1))
        return false;
    int most = onnx_emit_reduce(im, "reduce_max", x, 1u << axis, true), is;
    int order = numbers_along(im, s.rank, axis, n, last ? 1 : (double)n, last ? 1 : -1);
    if (!onnx_emit2(im, "equal", x, most, &is) || !onnx_emit2(im, "mul", is, order, &is))
        return false;
    is = onnx_emit_reduce(im, "reduce_max", is, 1u << axis, keep);
    *out = onnx_emit_affine(im, is, last ? 1 : -1, last ? -1 : (double)n);
    return true;
}

static bool arg_max(struct imp *im)
{
    bool keep = onnx_attr_int(im, "keepdims", 1) != 0;
    bool last = onnx_attr_int(im, "select_last_index", 0) != 0;
    int x, axis, y;
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    struct shape s = onnx_in_value(im, 0)->shape, out = { 0 };
    if (!onnx_axis_in(im, onnx_attr_int(im, "axis", 0), s.rank, &axis))
        return false;
    if (streq(im->n->op, "ArgMin"))
        x = onnx_emit1(im, "neg", x);
    if (!emit_argmax(im, x, axis, last, keep, &y))
        return false;
    for (int d = 0; d < s.rank; d++)
        if (keep || d != axis)
            out.dim[out.rank++] = d == axis ? 1 : s.dim[d];
    im->type = TYPE_INT64;
    onnx_set_out(im, 0, y, &out);
    return true;
}

/* Translates Hardmax: 1 at the first largest element.  Before opset 13, all dims from axis on are
 * treated as one dim. */
static bool hardmax(struct imp *im)
{
    bool old = im->m->opset < 13;
    int x, axis, first, y;
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    struct shape s = *onnx_shape_of(im, x), flat = s;
    if (!onnx_axis_in(im, onnx_attr_int(im, "axis", old ? 1 : -1), s.rank, &axis))
        return false;
    if (old) {
        flat = (struct shape){ 2, { 1, 1 } };
        for (int d = 0; d < s.rank; d++)
            flat.dim[d >= axis] *= s.dim[d];
        axis = 1;
    }
    if (!onnx_emit_reshape(im, x, &flat, &x) || !emit_argmax(im, x, axis, false, true, &first))
        return false;
    int at = numbers_along(im, flat.rank, axis, flat.dim[axis], 0, 1);
    return onnx_emit2(im, "equal", at, first, &y) && onnx_emit_reshape(im, y, &s, &y) &&
           onnx_done(im, y);
}

static bool one_hot(struct imp *im)
{
    double depth;
    int ids, values, axis, y, below, span;
    const struct value *v = onnx_in_value(im, 2), *at = onnx_in_value(im, 0);
    if (!at || !v || !onnx_in_stmt(im, 0, &ids) || !onnx_in_float(im, 1, &depth) ||
        !onnx_in_stmt(im, 2, &values))
        return false;
    struct shape s = *onnx_shape_of(im, ids), out = { .rank = s.rank + 1 }, wide = out;
    if (!(depth >= 1 && depth <= 1 << 20))
        return onnx_refuse(im, "a depth of %g is not possible", depth);
    if (out.rank > MAX_RANK || at->shape.rank == 0)
        return onnx_refuse(im, "its indices have %d dimensions; 1 to %d are possible",
                           at->shape.rank, MAX_RANK - 1);
    if (!onnx_axis_in(im, onnx_attr_int(im, "axis", -1), out.rank, &axis))
        return false;
    for (int d = 0, k = 0; d < out.rank; d++)
        wide.dim[d] = d == axis ? 1 : s.dim[k++];
    int number = numbers_along(im, out.rank, axis, (int64_t)depth, 0, 1);
    if (!onnx_emit2(im, "less", ids, onnx_emit_number(im, 0), &below) ||
        !onnx_emit2(im, "add", ids, onnx_emit_affine(im, below, depth, 0), &ids) ||
        !onnx_emit_reshape(im, ids, &wide, &ids) || !onnx_emit2(im, "equal", ids, number, &y))
        return false;
    int off = onnx_emit_slice(im, values, 0, 0, 1, 1), on = onnx_emit_slice(im, values, 0, 1, 1, 1);
    im->type = v->type;
    return onnx_emit2(im, "sub", on, off, &span) && onnx_emit2(im, "mul", y, span, &y) &&
           onnx_emit2(im, "add", y, off, &y) && onnx_done(im, y);
}

/* Returns a matrix of n x m: 1 where row - column is in [lo, hi], else 0. */
static const f32 *band(struct imp *im, int64_t n, int64_t m, int64_t lo, int64_t hi)
{
    f32 *f = ARENA_ARRAY(im->a, f32, n * m);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < m; k++)
            f[i * m + k] = i - k >= lo && i - k <= hi;
    return f;
}

/* Translates Trilu: x where a constant mask is 1, else 0.  Translates EyeLike: a constant. */
static bool triangle(struct imp *im)
{
    int x, y;
    double k = 0;
    bool eye = streq(im->n->op, "EyeLike");
    if (!onnx_in_stmt(im, 0, &x) || (!eye && onnx_has_in(im, 1) && !onnx_in_float(im, 1, &k)))
        return false;
    struct shape s = *onnx_shape_of(im, x);
    int64_t d = eye ? onnx_attr_int(im, "k", 0) : (int64_t)k, far = INT32_MAX;
    if (s.rank < 2 || d < -far || d > far)
        return onnx_refuse(im, "a diagonal %lld of %s does not exist", (long long)d,
                           onnx_shape_text(im, &s, "x"));
    struct shape m = { 2, { s.dim[s.rank - 2], s.dim[s.rank - 1] } };
    bool upper = onnx_attr_int(im, "upper", 1) != 0;
    if (too_large(im, m.dim[0], m.dim[1]))
        return false;
    const f32 *ones = band(im, m.dim[0], m.dim[1], eye || !upper ? -d : -far,
                           eye || upper ? -d : far);
    int mask = onnx_emit_data(im, "mask", &m, ones);
    if (eye) {
        im->type = (int)onnx_attr_int(im, "dtype", im->type);
        return onnx_done(im, onnx_emit1(im, "identity", mask));
    }
    return onnx_emit_where(im, mask, x, onnx_emit_number(im, 0), &y) && onnx_done(im, y);
}

/* Translates CumSum to a product with a triangular matrix of ones. */
static bool cumsum(struct imp *im)
{
    double at;
    int x, axis, far = INT32_MAX;
    bool reverse = onnx_attr_int(im, "reverse", 0) != 0;
    int first = onnx_attr_int(im, "exclusive", 0) != 0;
    if (!onnx_in_stmt(im, 0, &x) || !onnx_in_float(im, 1, &at) ||
        !onnx_axis_in(im, (int64_t)at, onnx_shape_of(im, x)->rank, &axis))
        return false;
    int64_t n = onnx_shape_of(im, x)->dim[axis];
    if (too_large(im, n, n))
        return false;
    const f32 *sum = reverse ? band(im, n, n, first, far) : band(im, n, n, -far, -first);
    return onnx_emit_along(im, x, axis, sum, n, &x) && onnx_done(im, x);
}

/* Sets map[k] to the place from which element k of the result of a scatter comes: an index into the
 * concatenation of data (shape s) and updates (shape u). */
static bool scatter_map(struct imp *im, const struct shape *s, const struct shape *u,
                        const struct onnx_tensor *ids, int axis, f32 *map)
{
    bool nd = streq(im->n->op, "ScatterND");
    int64_t n = onnx_shape_elems(s), stride[ONNX_MAX_RANK], r = nd ? ids->dims[ids->rank - 1] : 0;
    for (int d = s->rank - 1, q = 1; d >= 0; q *= (int)s->dim[d--])
        stride[d] = q;
    for (int64_t k = 0; k < n; k++)
        map[k] = (f32)k;
    int64_t each = nd ? stride[r - 1] : 1;
    for (int64_t k = 0; k < onnx_shape_elems(u); k++) {
        int64_t to = k % each, left = k;
        for (int64_t c = 0; c < r; c++) {
            int64_t i = (int64_t)onnx_number(ids, k / each * r + c);
            i += i < 0 ? s->dim[c] : 0;
            if (i < 0 || i >= s->dim[c])
                return onnx_refuse(im, "an index is outside of dimension %d", (int)c);
            to += i * stride[c];
        }
        for (int d = s->rank - 1; !nd && d >= 0; left /= u->dim[d--]) {
            int64_t i = d == axis ? (int64_t)onnx_number(ids, k) : left % u->dim[d];
            i += i < 0 ? s->dim[d] : 0;
            if (i < 0 || i >= s->dim[d])
                return onnx_refuse(im, "an index is outside of dimension %d", d);
            to += i * stride[d];
        }
        map[to] = (f32)(n + k);
    }
    return true;
}

/* Whether the indices of a ScatterND into a tensor of shape s fit m updates.  Each list of r
 * indices places one update for each position in the dims after the first r. */
static bool fits_nd(const struct onnx_tensor *ids, const struct shape *s, int64_t m)
{
    int64_t r = ids->rank > 0 ? ids->dims[ids->rank - 1] : 0, each = 1;
    if (r < 1 || r > s->rank)
        return false;
    for (int d = (int)r; d < s->rank; d++)
        each *= s->dim[d];
    return ids->elems / r * each == m;
}

/* Translates scatters with constant indices to a gather: every element of the result comes from a
 * known place in the data or the updates. */
static bool scatter(struct imp *im)
{
    int x, u, axis = 0, both[2], y;
    const char *how = onnx_attr_text(im, "reduction");
    const struct value *v = onnx_in_value(im, 1);
    if (!v || !onnx_in_stmt(im, 0, &x) || !onnx_in_stmt(im, 2, &u))
        return false;
    struct shape s = *onnx_shape_of(im, x), us = *onnx_shape_of(im, u);
    int64_t n = onnx_shape_elems(&s), m = onnx_shape_elems(&us);
    if (!v->data || !(v->data->i || v->data->f))
        return onnx_refuse(im, "its indices %s are not constant", v->name);
    if (how[0] && !streq(how, "none"))
        return onnx_refuse(im, "reduction %s is not supported", how);
    if (n + m > MAX_MATRIX)
        return onnx_refuse(im, "its data and updates have %lld elements; at most %d are possible",
                           (long long)(n + m), MAX_MATRIX);
    if (!streq(im->n->op, "ScatterND") &&
        !onnx_axis_in(im, onnx_attr_int(im, "axis", 0), s.rank, &axis))
        return false;
    bool nd = streq(im->n->op, "ScatterND");
    if (nd ? !fits_nd(v->data, &s, m) : v->data->elems != m || us.rank != s.rank)
        return onnx_refuse(im, "its indices and updates differ in shape");
    f32 *map = ARENA_ARRAY(im->a, f32, n);
    if (!scatter_map(im, &s, &us, v->data, axis, map))
        return false;
    struct shape one = { 1, { n } }, two = { 1, { m } };
    if (!onnx_emit_reshape(im, x, &one, &both[0]) || !onnx_emit_reshape(im, u, &two, &both[1]) ||
        !onnx_emit_concat(im, both, 2, 0, &y))
        return false;
    int ids = onnx_emit_data(im, "map", &one, map);
    y = onnx_emit(im, "gather", (int[]){ y, ids }, 2, &one, "axis=0");
    return onnx_emit_reshape(im, y, &s, &y) && onnx_done(im, y);
}

/* Emits the loss of log probabilities x (N C ...) for the classes `at` (N ...), as output 0.
 * weight: the statement of one weight per class, or -1. */
static bool emit_loss(struct imp *im, int x, int at, int weight, int *out)
{
    struct shape s = *onnx_shape_of(im, at), wide = s;
    const char *how = onnx_attr_text(im, "reduction");
    int loss, w, skip, lost;
    if (s.rank + 1 != onnx_shape_of(im, x)->rank)
        return onnx_refuse(im, "the shape %s of its classes does not fit the shape %s of its "
                           "scores", onnx_shape_text(im, &s, "x"),
                           onnx_shape_text(im, onnx_shape_of(im, x), "x"));
    memmove(wide.dim + 2, wide.dim + 1, sizeof *wide.dim * (size_t)(wide.rank - 1));
    wide.dim[1] = 1;
    wide.rank++;
    if (!onnx_emit_reshape(im, at, &wide, &loss))
        return false;
    loss = onnx_emit(im, "gather_elements", (int[]){ x, loss }, 2, &wide, "axis=1");
    if (!onnx_emit_reshape(im, loss, &s, &loss))
        return false;
    w = weight >= 0 ? onnx_emit(im, "gather", (int[]){ weight, at }, 2, &s, "axis=0")
                    : onnx_emit_expand(im, onnx_emit_number(im, 1), &s);
    if (onnx_attr(im, "ignore_index")) {
        double ignore = (double)onnx_attr_int(im, "ignore_index", 0);
        if (!onnx_emit2(im, "equal", at, onnx_emit_number(im, ignore), &skip) ||
            !onnx_emit_where(im, skip, onnx_emit_number(im, 0), w, &w))
            return false;
    }
    if (!onnx_emit2(im, "mul", loss, w, &lost))
        return false;
    lost = onnx_emit_affine(im, lost, -1, 0);
    unsigned all = (1u << s.rank) - 1;
    if (!streq(how, "none"))
        lost = onnx_emit_reduce(im, "reduce_sum", lost, all, false);
    if (!streq(how, "none") && !streq(how, "sum") &&
        !onnx_emit2(im, "div", lost, onnx_emit_reduce(im, "reduce_sum", w, all, false), &lost))
        return false;
    struct shape result = streq(how, "none") ? s : (struct shape){ 0 };
    onnx_set_out(im, 0, lost, &result);
    *out = lost;
    return true;
}

/* Translates NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.  SoftmaxCrossEntropyLoss is
 * NegativeLogLikelihoodLoss of logsoftmax(x); logsoftmax(x) itself can be output 1. */
static bool loss(struct imp *im)
{
    int x, at, weight = -1, y;
    if (!onnx_in_stmt(im, 0, &x) || !onnx_in_stmt(im, 1, &at) ||
        (onnx_has_in(im, 2) && !onnx_in_stmt(im, 2, &weight)))
        return false;
    struct shape s = *onnx_shape_of(im, x);
    if (s.rank < 2 || (weight >= 0 && onnx_shape_of(im, weight)->rank != 1))
        return onnx_refuse(im, "its weights are not a vector, or it has no classes");
    if (im->n->op[0] == 'S') {
        x = onnx_emit(im, "logsoftmax", &x, 1, &s, "axis=1");
        onnx_set_out(im, 1, x, &s);
    }
    return emit_loss(im, x, at, weight, &y);
}

const struct handler onnx_index_ops[] = {
    { "Gather", gather }, { "GatherElements", gather_elements }, { "GatherND", gather_nd },
    { "ArgMax", arg_max }, { "ArgMin", arg_max }, { "Hardmax", hardmax }, { "OneHot", one_hot },
    { "Trilu", triangle }, { "EyeLike", triangle }, { "CumSum", cumsum },
    { "NegativeLogLikelihoodLoss", loss }, { "SoftmaxCrossEntropyLoss", loss },
    { "ScatterElements", scatter }, { "Scatter", scatter }, { "ScatterND", scatter },
    { NULL, NULL },
};
