/* Translates convolutions, transposed convolutions and pools. */
#include "kernels/onnx/onnx_impl.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

enum { MAX_AXES = 3, MAX_STRIDE = 4096 };

/* One spatial axis: sizes of the input and output (`in`, `out`), size k of the kernel, stride s,
 * dilation d, padding before (p[0]) and after (p[1]). */
struct window_span { int64_t in, k, s, d, p[2], out; };
struct windows { int n; struct window_span axis[MAX_AXES]; bool ceil; };

static bool list_for(struct imp *im, const char *name, int n, int64_t lo, int64_t hi,
                     int64_t otherwise, int64_t *out)
{
    int have;
    if (!onnx_attr_ints(im, name, out, 2 * MAX_AXES, &have))
        return false;
    if (have && have != n)
        return onnx_refuse(im, "attribute %s has %d numbers, not %d", name, have, n);
    for (int i = 0; i < n; i++) {
        out[i] = have ? out[i] : otherwise;
        if (out[i] < lo || out[i] > hi)
            return onnx_refuse(im, "attribute %s: %lld is not between %lld and %lld", name,
                               (long long)out[i], (long long)lo, (long long)hi);
    }
    return true;
}

/* Sets *w from the attributes, the kernel's sizes k[] and the shape of x, except for the padding of
 * auto_pad and the output sizes, which fit() or fit_transposed() computes. */
static bool read_windows(struct imp *im, const struct shape *x, const int64_t *k,
                         struct windows *w)
{
    int64_t s[2 * MAX_AXES], d[2 * MAX_AXES], p[2 * MAX_AXES];
    *w = (struct windows){ .n = x->rank - 2, .ceil = onnx_attr_int(im, "ceil_mode", 0) != 0 };
    if (!list_for(im, "strides", w->n, 1, MAX_STRIDE, 1, s) ||
        !list_for(im, "dilations", w->n, 1, MAX_STRIDE, 1, d) ||
        !list_for(im, "pads", 2 * w->n, 0, MAX_STRIDE, 0, p))
        return false;
    for (int i = 0; i < w->n; i++) {
        w->axis[i] = (struct window_span){ x->dim[2 + i], k[i], s[i], d[i],
                                           { p[i], p[i + w->n] }, 0 };
        if (k[i] < 1 || k[i] > 1 << 20)
            return onnx_refuse(im, "a kernel of %lld is not possible", (long long)k[i]);
    }
    return true;
}

static bool rank_fits(struct imp *im, const struct shape *x)
{
    if (x->rank >= 3 && x->rank <= 2 + MAX_AXES)
        return true;
    return onnx_refuse(im, "its input has %d spatial axes; 1 to %d are possible", x->rank - 2,
                       MAX_AXES);
}

/* Computes the padding of auto_pad, then the output sizes.  If the last window reaches beyond the
 * padded input (ceil_mode), the padding grows. */
static bool fit(struct imp *im, struct windows *w)
{
    const char *mode = onnx_attr_text(im, "auto_pad");
    bool upper = streq(mode, "SAME_UPPER"), same = upper || streq(mode, "SAME_LOWER");
    if (mode[0] && !same && !streq(mode, "NOTSET") && !streq(mode, "VALID"))
        return onnx_refuse(im, "attribute auto_pad has the value %.40s, which is not supported",
                           mode);
    for (int i = 0; i < w->n; i++) {
        struct window_span *a = &w->axis[i];
        int64_t span = a->d * (a->k - 1) + 1;
        if (same) {
            int64_t total = ((a->in + a->s - 1) / a->s - 1) * a->s + span - a->in;
            total = total > 0 ? total : 0;
            a->p[upper] = total - total / 2;
            a->p[!upper] = total / 2;
        } else if (streq(mode, "VALID")) {
            a->p[0] = a->p[1] = 0;
        }
        int64_t room = a->in + a->p[0] + a->p[1] - span;
        if (room < 0)
            return onnx_refuse(im, "its kernel spans %lld, but the padded input has only %lld",
                               (long long)span, (long long)(room + span));
        a->out = (w->ceil ? room + a->s - 1 : room) / a->s + 1;
        if (w->ceil && (a->out - 1) * a->s >= a->in + a->p[0])
            a->out--;                     /* the last window would begin after the input's end */
        int64_t more = (a->out - 1) * a->s + span - (a->in + a->p[0] + a->p[1]);
        a->p[1] += more > 0 ? more : 0;
    }
    return true;
}

/* Prints a parameter of an operator family for the last w->n of the axes D H W, like k=3, or kh=3
 * kw=5 if the axes differ.  Prints nothing if all axes have the value `otherwise`. */
static void param(struct str *out, const char *name, const struct windows *w, size_t field,
                  int64_t otherwise)
{
    int64_t v[MAX_AXES] = { 0 };
    bool equal = true;
    for (int i = 0; i < w->n; i++) {
        memcpy(&v[i], (const char *)&w->axis[i] + field, sizeof v[i]);
        equal = equal && v[i] == v[0];
    }
    if (equal && v[0] != otherwise)
        str_printf(out, " %s=%lld", name, (long long)v[0]);
    for (int i = 0; i < w->n && !equal; i++)
        str_printf(out, " %s%c=%lld", name, "dhw"[MAX_AXES - w->n + i], (long long)v[i]);
}

static void pad_params(struct str *out, const struct windows *w)
{
    bool equal = true;
    for (int i = 0; i < w->n; i++)
        equal = equal && w->axis[i].p[0] == w->axis[0].p[0] && w->axis[i].p[1] == w->axis[0].p[0];
    if (equal && w->axis[0].p[0])
        str_printf(out, " p=%lld", (long long)w->axis[0].p[0]);
    for (int i = 0; i < w->n && !equal; i++) {
        char c = "dhw"[MAX_AXES - w->n + i];
        str_printf(out, " p%c0=%lld p%c1=%lld", c, (long long)w->axis[i].p[0], c,
                   (long long)w->axis[i].p[1]);
    }
}

#define FIELD(name) offsetof(struct window_span, name)

static const char *window_text(struct imp *im, const struct windows *w, bool dilation)
{
    struct str out = { 0 };
    param(&out, "k", w, FIELD(k), 0);
    param(&out, "s", w, FIELD(s), 0);
    pad_params(&out, w);
    if (dilation)
        param(&out, "d", w, FIELD(d), 1);
    const char *text = arena_strdup(im->a, str_text(&out));
    str_free(&out);
    return text;
}

static struct shape window_shape(int64_t n, int64_t c, const struct windows *w)
{
    struct shape s = { 2 + w->n, { n, c } };
    for (int i = 0; i < w->n; i++)
        s.dim[2 + i] = w->axis[i].out;
    return s;
}

/* Makes windows over one axis two-dimensional: adds a first axis of size 1. */
static void lift(struct windows *w)
{
    w->axis[1] = w->axis[0];
    w->axis[0] = (struct window_span){ 1, 1, 1, 1, { 0, 0 }, 1 };
    w->n = 2;
}

static bool lift_stmt(struct imp *im, int x, int *out)
{
    struct shape s = *onnx_shape_of(im, x);
    s.dim[s.rank] = s.dim[s.rank - 1];
    s.dim[s.rank - 1] = 1;
    s.rank++;
    return onnx_emit_reshape(im, x, &s, out);
}

/* A convolution. in: statements of the data, the weights, and perhaps a bias. c, o: input and
 * output channels. */
struct onnx_conv { int in[3], n_in; int64_t c, o, groups; struct windows w; };

static bool read_conv(struct imp *im, struct onnx_conv *c, bool transposed)
{
    *c = (struct onnx_conv){ .n_in = onnx_has_in(im, 2) ? 3 : 2,
                       .groups = onnx_attr_int(im, "group", 1) };
    for (int i = 0; i < c->n_in; i++)
        if (!onnx_in_stmt(im, i, &c->in[i]))
            return false;
    const struct shape *x = onnx_shape_of(im, c->in[0]), *k = onnx_shape_of(im, c->in[1]);
    if (!rank_fits(im, x))
        return false;
    if (k->rank != x->rank || c->groups < 1 || x->dim[1] % c->groups)
        return onnx_refuse(im, "weights %s do not fit %s in %lld groups",
                           onnx_shape_text(im, k, "x"),
                           onnx_shape_text(im, x, "x"), (long long)c->groups);
    c->c = x->dim[1];
    c->o = transposed ? k->dim[1] * c->groups : k->dim[0];
    if (c->o % c->groups || (transposed ? k->dim[0] != c->c : k->dim[1] != c->c / c->groups))
        return onnx_refuse(im, "weights %s do not fit %s in %lld groups",
                           onnx_shape_text(im, k, "x"),
                           onnx_shape_text(im, x, "x"), (long long)c->groups);
    int64_t given[2 * MAX_AXES];
    if (!list_for(im, "kernel_shape", x->rank - 2, 1, 1 << 20, 1, given))
        return false;
    for (int i = 0; onnx_attr(im, "kernel_shape") && i < x->rank - 2; i++)
        if (given[i] != k->dim[2 + i])
            return onnx_refuse(im, "attribute kernel_shape differs from the weights");
    if (c->n_in == 3 && (onnx_shape_of(im, c->in[2])->rank != 1 ||
                         onnx_shape_of(im, c->in[2])->dim[0] != c->o))
        return onnx_refuse(im, "the bias is not a vector of %lld", (long long)c->o);
    return read_windows(im, x, k->dim + 2, &c->w);
}

/* Emits one statement of a convolution family. */
static int conv_stmt(struct imp *im, const char *family, const int *in, int n_in, int64_t o,
                     const char *more, const struct windows *w)
{
    struct shape out = window_shape(onnx_shape_of(im, in[0])->dim[0], o, w);
    const char *channels = streq(family, "dep") ? "" : arena_printf(im->a, "o=%lld", (long long)o);
    const char *window = window_text(im, w, true);
    return onnx_emit(im, family, in, n_in, &out, "%s%s%s%s", channels, more, window + !*channels,
                     n_in == 3 ? " bias=1" : "");
}

/* Emits one convolution per group and joins them, for a family whose operators have no groups. */
static bool conv_by_groups(struct imp *im, const char *family, const struct onnx_conv *c,
                           const char *more, bool transposed, int *out)
{
    enum { MAX_GROUPS = 64 };
    int part[MAX_GROUPS];
    if (c->groups > MAX_GROUPS)
        return onnx_refuse(im, "%lld groups are not possible here; at most %d are",
                           (long long)c->groups,
                           MAX_GROUPS);
    int64_t i = c->c / c->groups, o = c->o / c->groups, k = transposed ? i : o;
    for (int g = 0; g < c->groups; g++) {
        int in[3] = { onnx_emit_slice(im, c->in[0], 1, g * i, 1, i),
                      onnx_emit_slice(im, c->in[1], 0, g * k, 1, k), 0 };
        if (c->n_in == 3)
            in[2] = onnx_emit_slice(im, c->in[2], 0, g * o, 1, o);
        part[g] = conv_stmt(im, family, in, c->n_in, o, more, &c->w);
    }
    return onnx_emit_concat(im, part, (int)c->groups, 1, out);
}

static bool conv(struct imp *im)
{
    static const char *const family[] = { "c1d", "c2d", "c3d" };
    struct onnx_conv c;
    int y;
    if (!read_conv(im, &c, false) || !fit(im, &c.w))
        return false;
    struct shape to = window_shape(onnx_shape_of(im, c.in[0])->dim[0], c.o, &c.w);
    if (c.groups == 1) {
        return onnx_done(im, conv_stmt(im, family[c.w.n - 1], c.in, c.n_in, c.o, "", &c.w));
    } else if (c.w.n == 3) {
        if (!conv_by_groups(im, "c3d", &c, "", false, &y))
            return false;
        return onnx_done(im, y);
    }
    if (c.w.n == 1 && (!lift_stmt(im, c.in[0], &c.in[0]) || !lift_stmt(im, c.in[1], &c.in[1])))
        return false;
    if (c.w.n == 1)
        lift(&c.w);
    if (c.groups == c.c && c.c == c.o) {
        const struct shape *k = onnx_shape_of(im, c.in[1]);
        struct shape three = { 3, { k->dim[0], k->dim[2], k->dim[3] } };
        if (!onnx_emit_reshape(im, c.in[1], &three, &c.in[1]))
            return false;
        y = conv_stmt(im, "dep", c.in, c.n_in, c.o, "", &c.w);
    } else {
        y = conv_stmt(im, "grp", c.in, c.n_in, c.o,
                      arena_printf(im->a, " g=%lld", (long long)c.groups), &c.w);
    }
    return onnx_emit_reshape(im, y, &to, &y) && onnx_done(im, y);
}

/* Computes padding, output padding op[] and output sizes from output_shape, output_padding and
 * auto_pad. */
static bool fit_transposed(struct imp *im, struct windows *w, int64_t *op)
{
    int64_t shape[2 * MAX_AXES];
    const char *mode = onnx_attr_text(im, "auto_pad");
    bool upper = streq(mode, "SAME_UPPER"), same = upper || streq(mode, "SAME_LOWER");
    bool wanted = onnx_attr(im, "output_shape") != NULL;
    if (!list_for(im, "output_padding", w->n, 0, MAX_STRIDE, 0, op) ||
        !list_for(im, "output_shape", w->n, 1, 1 << 20, 1, shape))
        return false;
    for (int i = 0; i < w->n; i++) {
        struct window_span *a = &w->axis[i];
        int64_t full = (a->in - 1) * a->s + a->d * (a->k - 1) + 1 + op[i];
        if (same || wanted) {
            int64_t total = full - (wanted ? shape[i] : a->in * a->s);
            if (total < 0) {
                op[i] -= total;
                full -= total;
                total = 0;
            }
            a->p[0] = upper ? total / 2 : total - total / 2;
            a->p[1] = total - a->p[0];
        }
        a->out = full - a->p[0] - a->p[1];
        if (a->out < 1 || a->p[0] > MAX_STRIDE || a->p[1] > MAX_STRIDE)
            return onnx_refuse(im, "the padding leaves no output, or is too large");
    }
    return true;
}

static bool conv_transpose(struct imp *im)
{
    struct onnx_conv c;
    int64_t op[2 * MAX_AXES];
    struct str more = { 0 };
    int y;
    if (!read_conv(im, &c, true) || !fit_transposed(im, &c.w, op))
        return false;
    struct shape to = window_shape(onnx_shape_of(im, c.in[0])->dim[0], c.o, &c.w);
    if (c.w.n == 1) {
        if (!lift_stmt(im, c.in[0], &c.in[0]) || !lift_stmt(im, c.in[1], &c.in[1]))
            return false;
        lift(&c.w);
        op[1] = op[0];
        op[0] = 0;
    }
    for (int i = 0; i < c.w.n; i++)
        if (op[i])
            str_printf(&more, " op%c=%lld", "dhw"[MAX_AXES - c.w.n + i], (long long)op[i]);
    const char *text = arena_strdup(im->a, str_text(&more));
    str_free(&more);
    if (!conv_by_groups(im, c.w.n == 3 ? "t3d" : "t2d", &c, text, true, &y))
        return false;
    return onnx_emit_reshape(im, y, &to, &y) && onnx_done(im, y);
}

/* Pools.  A pool over two axes without dilation is one statement.  Other pools are computed axis by
 * axis. */

/* Pools x, a 4-D tensor, over its last two dims. */
static bool pool_two(struct imp *im, const char *family, int x, const struct window_span *rows,
                     const struct window_span *columns, const char *more, int *out)
{
    struct windows w = { .n = 2, .axis = { *rows, *columns } };
    struct shape s = *onnx_shape_of(im, x);
    s.dim[2] = rows->out;
    s.dim[3] = columns->out;
    *out = onnx_emit(im, family, &x, 1, &s, "%s%s", window_text(im, &w, false) + 1, more);
    return true;
}

/* Emits a dilated max pool along axis 2 of a 4-D tensor: maxima of shifted slices. */
static bool dilated_max(struct imp *im, int x, const struct window_span *a, int *out)
{
    enum { MAX_TAPS = 256 };
    int64_t before[4] = { 0, 0, a->p[0], 0 }, after[4] = { 0, 0, a->p[1], 0 };
    if (a->k > MAX_TAPS)
        return onnx_refuse(im, "a dilated window of %lld is not possible; at most %d is",
                           (long long)a->k,
                           MAX_TAPS);
    x = onnx_emit_pad(im, x, before, after, -FLT_MAX);
    *out = onnx_emit_slice(im, x, 2, 0, a->s, a->out);
    for (int k = 1; k < a->k; k++)
        if (!onnx_emit2(im, "max", *out, onnx_emit_slice(im, x, 2, k * a->d, a->s, a->out), out))
            return false;
    return true;
}

/* Pools along axis d only.  x becomes a 4-D tensor: axis 0, axes 1 to d - 1 merged, axis d, and the
 * axes after d merged. */
static bool pool_one(struct imp *im, const char *family, int x, int d, const struct window_span *a,
                     const char *more, int *out)
{
    static const struct window_span whole = { 1, 1, 1, 1, { 0, 0 }, 1 };
    struct shape s = *onnx_shape_of(im, x), flat = { 4, { 1, 1, s.dim[d], 1 } }, to = s;
    struct window_span columns = whole;
    to.dim[d] = a->out;
    for (int k = 0; k < s.rank; k++)
        if (k != d)
            flat.dim[k < d ? (k > 0) : 3] *= s.dim[k];
    columns.in = columns.out = flat.dim[3];
    if (!onnx_emit_reshape(im, x, &flat, &x))
        return false;
    if (a->d > 1 ? !dilated_max(im, x, a, &x)
                 : !pool_two(im, family, x, a, &columns, more, &x))
        return false;
    return onnx_emit_reshape(im, x, &to, out);
}

static bool pool_axes(struct imp *im, const char *family, int x, const struct windows *w,
                      const char *more, int *out)
{
    bool two = w->n == 2 && w->axis[0].d == 1 && w->axis[1].d == 1;
    if (two)
        return pool_two(im, family, x, &w->axis[0], &w->axis[1], more, out);
    *out = x;
    for (int i = 0; i < w->n; i++)
        if (!pool_one(im, family, *out, 2 + i, &w->axis[i], more, out))
            return false;
    return true;
}

static bool pool(struct imp *im)
{
    int64_t k[2 * MAX_AXES];
    bool max = streq(im->n->op, "MaxPool"), counts = onnx_attr_int(im, "count_include_pad", 0) != 0;
    struct windows w;
    int x;
    if (!onnx_in_stmt(im, 0, &x) || !rank_fits(im, onnx_shape_of(im, x)))
        return false;
    struct shape s = *onnx_shape_of(im, x);
    if (!onnx_attr(im, "kernel_shape"))
        return onnx_refuse(im, "attribute kernel_shape is missing");
    if (!list_for(im, "kernel_shape", s.rank - 2, 1, 1 << 20, 1, k) ||
        !read_windows(im, &s, k, &w))
        return false;
    int64_t end[MAX_AXES];
    for (int i = 0; i < w.n; i++)
        end[i] = w.axis[i].p[1];
    if (!fit(im, &w))
        return false;
    for (int i = 0; i < w.n; i++) {
        if (!max && counts && w.ceil && w.axis[i].p[1] > end[i])
            return onnx_refuse(im,
                               "ceil_mode=1 with count_include_pad=1 is not supported here: a "
                               "window reaches beyond the padding");
        if (!max && w.axis[i].d > 1)
            return onnx_refuse(im, "means of dilated windows are not supported");
    }
    if (max && onnx_wants_out(im, 1) && onnx_attr_int(im, "storage_order", 0))
        return onnx_refuse(im, "attribute storage_order has the value 1, which is not supported");
    return pool_axes(im, max ? "maxpool" : "avgpool", x, &w,
                     max || counts ? "" : " count_pad=0", &x) && onnx_done(im, x);
}

static bool global_pool(struct imp *im)
{
    int x;
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    int rank = onnx_shape_of(im, x)->rank;
    if (rank < 3)
        return onnx_refuse(im, "its input has no spatial axes");
    unsigned dims = ((1u << rank) - 1) & ~3u;
    bool max = streq(im->n->op, "GlobalMaxPool");
    return onnx_done(im, onnx_emit_reduce(im, max ? "reduce_max" : "reduce_mean", x, dims, true));
}

/* Translates LRN: x / (bias + alpha / size * (sum of squares over `size` channels)) ^ beta. */
static bool lrn(struct imp *im)
{
    int64_t size = onnx_attr_int(im, "size", 0);
    double alpha = onnx_attr_float(im, "alpha", 1e-4), beta = onnx_attr_float(im, "beta", 0.75);
    int x, y;
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    struct shape s = *onnx_shape_of(im, x);
    if (s.rank < 3 || size < 1 || size > MAX_STRIDE)
        return onnx_refuse(im, "attribute size has the value %lld, which is not possible",
                           (long long)size);
    struct window_span a = { s.dim[1], size, 1, 1, { (size - 1) / 2, size / 2 }, s.dim[1] };
    if (!onnx_emit2(im, "mul", x, x, &y) || !pool_one(im, "avgpool", y, 1, &a, "", &y))
        return false;
    y = onnx_emit1(im, "log", onnx_emit_affine(im, y, alpha, onnx_attr_float(im, "bias", 1)));
    y = onnx_emit1(im, "exp", onnx_emit_affine(im, y, -beta, 0));
    return onnx_emit2(im, "mul", x, y, &y) && onnx_done(im, y);
}

const struct handler onnx_window_ops[] = {
    { "Conv", conv }, { "ConvTranspose", conv_transpose }, { "MaxPool", pool },
    { "AveragePool", pool }, { "GlobalAveragePool", global_pool },
    { "GlobalMaxPool", global_pool }, { "LRN", lrn }, { NULL, NULL },
};
