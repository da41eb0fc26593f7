/* Translates operators that move data: shapes, slices, joins, padding. */
#include "kernels/onnx/onnx_impl.h"

#include <string.h>

static bool identity(struct imp *im)
{
    int x;
    const struct value *v = onnx_in_value(im, 0);
    if (!v || !onnx_in_stmt(im, 0, &x))
        return false;
    onnx_set_out(im, 0, x, &v->shape);
    return true;
}

/* Translates Dropout.  In inference it drops nothing, whatever its ratio is. */
static bool dropout(struct imp *im)
{
    const struct value *v = onnx_in_value(im, 0);
    const struct value *training = onnx_has_in(im, 2) ? onnx_in_value(im, 2) : NULL;
    const struct onnx_tensor *mode = training ? training->data : NULL;
    bool inference = !training || (mode && mode->i && mode->elems > 0 && !mode->i[0]);
    double ratio = onnx_attr_float(im, "ratio", 0.5);
    if (!v)
        return false;
    if (!inference && ((onnx_has_in(im, 1) && !onnx_in_float(im, 1, &ratio)) || ratio != 0))
        return onnx_refuse(im,
                           "only inference is supported, and its input %s is not the constant "
                           "false",
                           training->name);
    if (im->m->opset < 7 && !onnx_attr_int(im, "is_test", 0) && onnx_wants_out(im, 1))
        return onnx_refuse(im, "only inference is supported, and the mask belongs to training");
    if (onnx_wants_out(im, 1)) {
        struct shape whole = onnx_at_least_1d(&v->shape);
        im->type = TYPE_BOOL;
        onnx_set_out(im, 1, onnx_emit_expand(im, onnx_emit_number(im, 1), &whole), &v->shape);
        im->type = v->type;
    }
    return identity(im);
}

static bool reshaped(struct imp *im, const struct shape *to)
{
    int x;
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    struct shape whole = *to;
    if (!onnx_emit_reshape(im, x, &whole, &x))
        return false;
    onnx_set_out(im, 0, x, to);
    return true;
}

/* Translates Reshape.  A dim of 0 keeps the size that x has there (unless allowzero is set), a dim
 * of -1 is inferred. */
static bool reshape(struct imp *im)
{
    int64_t dims[ONNX_MAX_RANK];
    int n, open = -1;
    const struct value *v = onnx_in_value(im, 0);
    if (!v || !(im->n->n_in > 1 ? onnx_in_ints(im, 1, dims, ONNX_MAX_RANK, &n)
                                : onnx_attr_ints(im, "shape", dims, ONNX_MAX_RANK, &n)))
        return false;
    struct shape to = { .rank = n };
    for (int d = 0; d < n; d++) {
        bool keep = dims[d] == 0 && !onnx_attr_int(im, "allowzero", 0);
        if (dims[d] < -1 || (keep && d >= v->shape.rank) || (dims[d] == -1 && open >= 0))
            return onnx_refuse(im, "its shape %s is not valid", onnx_list_text(im, dims, n));
        open = dims[d] == -1 ? d : open;
        to.dim[d] = keep ? v->shape.dim[d] : dims[d] == -1 ? 1 : dims[d];
    }
    int64_t known = onnx_shape_elems(&to);
    if (open >= 0)
        to.dim[open] = known > 0 ? onnx_shape_elems(&v->shape) / known : 0;
    for (int d = 0; d < n; d++)
        if (to.dim[d] < 1)
            return onnx_refuse(im, "its shape %s is empty", onnx_list_text(im, dims, n));
    return reshaped(im, &to);
}

static bool flatten(struct imp *im)
{
    const struct value *v = onnx_in_value(im, 0);
    int64_t axis = onnx_attr_int(im, "axis", 1);
    struct shape to = { 2, { 1, 1 } };
    if (!v)
        return false;
    int rank = v->shape.rank;
    if (axis < -rank || axis > rank)
        return onnx_refuse(im, "axis %lld does not exist: the tensor has %d dimensions",
                           (long long)axis,
                           rank);
    axis += axis < 0 ? rank : 0;
    if (onnx_shape_elems(&v->shape) > (int64_t)1 << 40)
        return onnx_refuse(im, "%s is too large", v->name);
    for (int d = 0; d < rank; d++)
        to.dim[d >= axis] *= v->shape.dim[d];
    return reshaped(im, &to);
}

/* Sets *set to the axes that the second input or axes= lists.  They are axes of a tensor of this
 * rank. *given: whether the node has axes at all. */
static bool axes_of(struct imp *im, int rank, unsigned *set, bool *given)
{
    int64_t axes[ONNX_MAX_RANK];
    int n = 0, d;
    *given = onnx_has_in(im, 1) || onnx_attr(im, "axes");
    *set = 0;
    if (onnx_has_in(im, 1) ? !onnx_in_ints(im, 1, axes, ONNX_MAX_RANK, &n)
                      : !onnx_attr_ints(im, "axes", axes, ONNX_MAX_RANK, &n))
        return false;
    for (int i = 0; i < n; i++) {
        if (!onnx_axis_in(im, axes[i], rank, &d))
            return false;
        *set |= 1u << d;
    }
    return true;
}

static int count(unsigned set)
{
    return __builtin_popcount(set);
}

static bool squeeze(struct imp *im)
{
    const struct value *v = onnx_in_value(im, 0);
    struct shape to = { 0 };
    unsigned set;
    bool given;
    if (!v || !axes_of(im, v->shape.rank, &set, &given))
        return false;
    for (int d = 0; d < v->shape.rank; d++)
        if (given ? !(set >> d & 1) : v->shape.dim[d] != 1)
            to.dim[to.rank++] = v->shape.dim[d];
        else if (v->shape.dim[d] != 1)
            return onnx_refuse(im, "dimension %d of %s is not 1", d,
                               onnx_shape_text(im, &v->shape, "x"));
    return reshaped(im, &to);
}

static bool unsqueeze(struct imp *im)
{
    const struct value *v = onnx_in_value(im, 0);
    const struct onnx_attr *a = onnx_attr(im, "axes");
    int from = 0, more = a ? a->n : 0;
    unsigned set;
    bool given;
    if (!v)
        return false;
    if (onnx_has_in(im, 1) && onnx_in_value(im, 1)->data)
        more = (int)(onnx_in_value(im, 1)->data->elems & 0xff);
    struct shape to = { .rank = v->shape.rank + more };
    if (v->shape.rank < 0 || to.rank > ONNX_MAX_RANK)
        return onnx_refuse(im, "its result would have %d dimensions; at most %d are supported",
                           to.rank, ONNX_MAX_RANK);
    if (!axes_of(im, to.rank, &set, &given))
        return false;
    if (count(set) != more)
        return onnx_refuse(im, "axes names one axis twice");
    for (int d = 0; d < to.rank; d++)
        to.dim[d] = set >> d & 1 ? 1 : v->shape.dim[from++];
    return reshaped(im, &to);
}

static bool transpose(struct imp *im)
{
    int64_t perm[ONNX_MAX_RANK];
    int x, p[ONNX_MAX_RANK], n;
    unsigned seen = 0;
    if (!onnx_in_stmt(im, 0, &x) || !onnx_attr_ints(im, "perm", perm, ONNX_MAX_RANK, &n))
        return false;
    int rank = onnx_shape_of(im, x)->rank;
    if (onnx_attr(im, "perm") && n != rank && !(n == 0 && rank == 1))
        return onnx_refuse(im, "attribute perm has %d numbers for %d dimensions", n, rank);
    for (int d = 0; d < rank; d++) {
        int64_t from = n ? perm[d] : rank - 1 - d;
        if (from < 0 || from >= rank || seen >> from & 1)
            return onnx_refuse(im, "attribute perm: %s is not a permutation",
                               onnx_list_text(im, perm, n));
        seen |= 1u << from;
        p[d] = (int)from;
    }
    return onnx_done(im, onnx_emit_transpose(im, x, p));
}

static bool concat(struct imp *im)
{
    int axis, y, n = 0, *x = ARENA_ARRAY(im->a, int, im->n->n_in + 1);
    for (int i = 0; i < im->n->n_in; i++) {
        const struct value *v = onnx_in_value(im, i);
        if (v && v->data && v->data->elems == 0)
            continue;
        if (!onnx_in_stmt(im, i, &x[n++]))
            return false;
    }
    if (n == 0)
        return onnx_refuse(im, "it has no inputs");
    if (!onnx_axis_in(im, onnx_attr_int(im, "axis", 1), onnx_shape_of(im, x[0])->rank, &axis))
        return false;
    return onnx_emit_concat(im, x, n, axis, &y) && onnx_done(im, y);
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* Reads starts, ends, axes or steps: before opset 10 from an attribute, else from input i. */
static bool slice_list(struct imp *im, int i, const char *name, int64_t *v, int *n)
{
    *n = 0;
    if (im->m->opset < 10)
        return onnx_attr_ints(im, name, v, ONNX_MAX_RANK, n);
    return onnx_has_in(im, i) ? onnx_in_ints(im, i, v, ONNX_MAX_RANK, n) : true;
}

static bool slice(struct imp *im)
{
    int64_t start[ONNX_MAX_RANK], end[ONNX_MAX_RANK], axes[ONNX_MAX_RANK], steps[ONNX_MAX_RANK];
    int x, n, n_end, n_axes, n_steps;
    if (!onnx_in_stmt(im, 0, &x) || !slice_list(im, 1, "starts", start, &n) ||
        !slice_list(im, 2, "ends", end, &n_end) || !slice_list(im, 3, "axes", axes, &n_axes) ||
        !slice_list(im, 4, "steps", steps, &n_steps))
        return false;
    if (n != n_end || (n_axes && n_axes != n) || (n_steps && n_steps != n))
        return onnx_refuse(im, "starts, ends, axes and steps differ in number");
    for (int i = 0; i < n; i++) {
        int d;
        if (!onnx_axis_in(im, n_axes ? axes[i] : i, onnx_shape_of(im, x)->rank, &d))
            return false;
        int64_t dim = onnx_shape_of(im, x)->dim[d], step = n_steps ? steps[i] : 1;
        if (step == 0 || step < -(1 << 20) || step > 1 << 20)
            return onnx_refuse(im, "a step of %lld is not supported", (long long)step);
        int64_t from = start[i] < 0 ? clamp(start[i], -dim, 0) + dim : start[i];
        int64_t to = end[i] < 0 ? clamp(end[i], -dim - 1, 0) + dim : end[i];
        from = step > 0 ? clamp(from, 0, dim) : clamp(from, 0, dim - 1);
        to = step > 0 ? clamp(to, 0, dim) : clamp(to, -1, dim - 1);
        int64_t len = step > 0 ? (to - from + step - 1) / step : (to - from + step + 1) / step;
        if (len < 1 || (step > 0 ? to <= from : to >= from))
            return onnx_refuse(im, "the slice of axis %d is empty", d);
        x = onnx_emit_slice(im, x, d, from, step, len);
    }
    if (im->stmt.data[x].n_in == 0)
        x = onnx_emit1(im, "identity", x);
    return onnx_done(im, x);
}

/* Translates Split.  The second input or split= gives the sizes of the parts.  If both are missing,
 * the parts are equal; from opset 18 on, the last part may then be smaller. */
static bool split(struct imp *im)
{
    enum { MAX_PARTS = 256 };
    int64_t part[MAX_PARTS], at = 0;
    int x, axis, n = 0;
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    struct shape s = *onnx_shape_of(im, x);
    if (!onnx_axis_in(im, onnx_attr_int(im, "axis", 0), s.rank, &axis) ||
        !(onnx_has_in(im, 1) ? onnx_in_ints(im, 1, part, MAX_PARTS, &n)
                        : onnx_attr_ints(im, "split", part, MAX_PARTS, &n)))
        return false;
    if (n == 0) {
        n = im->n->n_out;
        int64_t part_of = n > 0 ? (s.dim[axis] + n - 1) / n : 0;
        if (n < 1 || n > MAX_PARTS || (s.dim[axis] % n && im->m->opset < 18) ||
            s.dim[axis] <= part_of * (n - 1))
            return onnx_refuse(im, "%d equal parts of %lld elements are not possible", n,
                               (long long)s.dim[axis]);
        for (int i = 0; i < n; i++)
            part[i] = i < n - 1 ? part_of : s.dim[axis] - part_of * (n - 1);
    }
    if (n != im->n->n_out)
        return onnx_refuse(im, "it has %d parts, but %d outputs", n, im->n->n_out);
    for (int i = 0; i < n; at += part[i++]) {
        if (part[i] < 1 || part[i] > s.dim[axis] - at)
            return onnx_refuse(im, "a part of %lld elements is not possible", (long long)part[i]);
        int y = onnx_emit_slice(im, x, axis, at, 1, part[i]);
        struct shape shape = *onnx_shape_of(im, y);
        onnx_set_out(im, i, y, &shape);
    }
    return at == s.dim[axis] || onnx_refuse(im, "its parts have %lld of %lld elements",
                                            (long long)at, (long long)s.dim[axis]);
}

static bool expand(struct imp *im)
{
    struct shape to = { 0 };
    int x;
    if (!onnx_in_stmt(im, 0, &x) || !onnx_in_ints(im, 1, to.dim, ONNX_MAX_RANK, &to.rank))
        return false;
    struct shape from = *onnx_shape_of(im, x);
    if (from.rank > to.rank) {
        int more = from.rank - to.rank;
        memmove(to.dim + more, to.dim, sizeof *to.dim * (size_t)to.rank);
        for (int d = 0; d < more; d++)
            to.dim[d] = 1;
        to.rank = from.rank;
    }
    for (int d = 0; d < to.rank; d++) {
        int f = d - (to.rank - from.rank);
        int64_t have = f >= 0 ? from.dim[f] : 1;
        if (to.dim[d] < 1 || (have != 1 && to.dim[d] != 1 && to.dim[d] != have))
            return onnx_refuse(im, "%s cannot be expanded to %s", onnx_shape_text(im, &from, "x"),
                               onnx_list_text(im, to.dim, to.rank));
        to.dim[d] = have > to.dim[d] ? have : to.dim[d];
    }
    if (to.rank > MAX_RANK)
        return onnx_refuse(im, "its result would have %d dimensions; at most %d are supported",
                           to.rank, MAX_RANK);
    return onnx_done(im, onnx_emit_expand(im, x, &to));
}

/* Repeats each dim d of x n[d] times.  If n[d] > 1, a dim of s elements is reshaped to 1 x s and
 * expanded to n[d] x s. */
static bool repeat(struct imp *im, int x, const int64_t *n)
{
    struct shape s = *onnx_shape_of(im, x), apart = { 0 }, wide = { 0 }, out = s;
    for (int d = 0; d < s.rank; d++) {
        if (n[d] < 1 || n[d] > 1 << 20)
            return onnx_refuse(im, "%lld repeats of dimension %d are not possible", (long long)n[d],
                               d);
        if (n[d] > 1) {
            apart.dim[apart.rank++] = 1;
            wide.dim[wide.rank++] = n[d];
        }
        apart.dim[apart.rank++] = wide.dim[wide.rank++] = s.dim[d];
        out.dim[d] *= n[d];
    }
    if (apart.rank > MAX_RANK)
        return onnx_refuse(im, "it needs a tensor of %d dimensions; at most %d are supported",
                           apart.rank, MAX_RANK);
    if (!onnx_emit_reshape(im, x, &apart, &x))
        return false;
    x = onnx_emit_expand(im, x, &wide);
    return onnx_emit_reshape(im, x, &out, &x) && onnx_done(im, x);
}

static bool tile(struct imp *im)
{
    int64_t n[ONNX_MAX_RANK];
    int x, count;
    if (!onnx_in_stmt(im, 0, &x) || !onnx_in_ints(im, 1, n, ONNX_MAX_RANK, &count))
        return false;
    if (count != onnx_shape_of(im, x)->rank)
        return onnx_refuse(im, "it has %d repeats for %d dimensions", count,
                           onnx_shape_of(im, x)->rank);
    return repeat(im, x, n);
}

/* Pads one axis: with the elements beside the border in reverse order if `mirror` is set, else with
 * copies of the border element. */
static bool border(struct imp *im, int x, int axis, int64_t before, int64_t after, bool mirror,
                   int *out)
{
    struct shape s = *onnx_shape_of(im, x);
    int64_t n = s.dim[axis];
    int part[3], count = 0;
    if (mirror && (before >= n || after >= n))
        return onnx_refuse(im, "mirrored padding must be less than the %lld elements of dimension "
                           "%d", (long long)n, axis);
    if (before) {
        s.dim[axis] = before;
        part[count++] = mirror ? onnx_emit_slice(im, x, axis, before, -1, before)
                               : onnx_emit_expand(im, onnx_emit_slice(im, x, axis, 0, 1, 1), &s);
    }
    part[count++] = x;
    if (after) {
        s.dim[axis] = after;
        part[count++] = mirror ? onnx_emit_slice(im, x, axis, n - 2, -1, after)
                               : onnx_emit_expand(im, onnx_emit_slice(im, x, axis, n - 1, 1, 1),
                                                  &s);
    }
    return onnx_emit_concat(im, part, count, axis, out);
}

static bool pad(struct imp *im)
{
    int64_t pads[2 * ONNX_MAX_RANK], before[ONNX_MAX_RANK], after[ONNX_MAX_RANK];
    const char *mode = onnx_attr_text(im, "mode"),
               *name = onnx_attr(im, "pads") ? "pads" : "paddings";
    double value = onnx_attr_float(im, "value", 0);
    int64_t axes[ONNX_MAX_RANK], given[2 * ONNX_MAX_RANK] = { 0 };
    int x, n, n_axes = 0, at;
    if (!onnx_in_stmt(im, 0, &x) ||
        (onnx_has_in(im, 3) && !onnx_in_ints(im, 3, axes, ONNX_MAX_RANK, &n_axes)) ||
        !(im->m->opset >= 11 ? onnx_in_ints(im, 1, pads, 2 * ONNX_MAX_RANK, &n)
                             : onnx_attr_ints(im, name, pads, 2 * ONNX_MAX_RANK, &n)) ||
        (im->m->opset >= 11 && onnx_has_in(im, 2) && !onnx_in_float(im, 2, &value)))
        return false;
    int rank = onnx_shape_of(im, x)->rank;
    for (int k = 0; k < n_axes && n == 2 * n_axes; k++) {
        if (!onnx_axis_in(im, axes[k], rank, &at))
            return false;
        given[at] = pads[k];
        given[at + rank] = pads[k + n_axes];
    }
    if (n_axes && n == 2 * n_axes) {
        memcpy(pads, given, sizeof pads);
        n = 2 * rank;
    }
    if (n != 2 * rank)
        return onnx_refuse(im, "pads has %d numbers for %d dimensions", n, rank);
    for (int d = 0; d < rank; d++) {
        int64_t dim = onnx_shape_of(im, x)->dim[d], cut[2] = { 0, 0 };
        int64_t p[2] = { pads[d], pads[d + rank] };
        for (int k = 0; k < 2; k++) {
            if (p[k] < -dim || p[k] > 1 << 20)
                return onnx_refuse(im, "pads of %lld are not possible", (long long)p[k]);
            cut[k] = p[k] < 0 ? -p[k] : 0;
        }
        if (cut[0] + cut[1] >= dim)
            return onnx_refuse(im, "pads remove all of dimension %d", d);
        x = onnx_emit_slice(im, x, d, cut[0], 1, dim - cut[0] - cut[1]);
        before[d] = p[0] > 0 ? p[0] : 0;
        after[d] = p[1] > 0 ? p[1] : 0;
    }
    if (!mode[0] || streq(mode, "constant"))
        return onnx_done(im, onnx_emit_pad(im, x, before, after, value));
    if (!streq(mode, "reflect") && !streq(mode, "edge"))
        return onnx_refuse(im, "attribute mode has the value %.40s, which is not supported", mode);
    for (int d = 0; d < rank; d++)
        if (!border(im, x, d, before[d], after[d], streq(mode, "reflect"), &x))
            return false;
    return onnx_done(im, x);
}

/* Translates SpaceToDepth, which moves blocks of b x b pixels into channels, and DepthToSpace,
 * which moves them back. */
static bool depth(struct imp *im)
{
    int64_t b = onnx_attr_int(im, "blocksize", 0);
    int x;
    bool to_space = streq(im->n->op, "DepthToSpace");
    bool crd = streq(onnx_attr_text(im, "mode"), "CRD");
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    struct shape s = *onnx_shape_of(im, x);
    if (s.rank != 4 || b < 1 || b > 4096 || (to_space ? s.dim[1] % (b * b) : s.dim[2] % b ||
                                             s.dim[3] % b))
        return onnx_refuse(im, "blocks of %lld do not divide %s", (long long)b,
                           onnx_shape_text(im, &s, "x"));
    int64_t n = s.dim[0], c = s.dim[1], h = s.dim[2], w = s.dim[3];
    static const int dcr[] = { 0, 3, 4, 1, 5, 2 }, column[] = { 0, 1, 4, 2, 5, 3 };
    static const int packed[] = { 0, 3, 5, 1, 2, 4 };
    struct shape in = crd ? (struct shape){ 6, { n, c / b / b, b, b, h, w } }
                          : (struct shape){ 6, { n, b, b, c / b / b, h, w } };
    struct shape out = { 4, { n, c / b / b, h * b, w * b } };
    if (!to_space) {
        in = (struct shape){ 6, { n, c, h / b, b, w / b, b } };
        out = (struct shape){ 4, { n, c * b * b, h / b, w / b } };
    }
    if (!onnx_emit_reshape(im, x, &in, &x))
        return false;
    x = onnx_emit_transpose(im, x, !to_space ? packed : crd ? column : dcr);
    return onnx_emit_reshape(im, x, &out, &x) && onnx_done(im, x);
}

const struct handler onnx_move_ops[] = {
    { "Identity", identity }, { "Dropout", dropout },
    { "Reshape", reshape }, { "Flatten", flatten }, { "Squeeze", squeeze },
    { "Unsqueeze", unsqueeze }, { "Transpose", transpose }, { "Concat", concat },
    { "Slice", slice }, { "Split", split }, { "Expand", expand }, { "Tile", tile },
    { "Pad", pad }, { "DepthToSpace", depth }, { "SpaceToDepth", depth },
    { NULL, NULL },
};
