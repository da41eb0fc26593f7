/* Translates Resize and Upsample.  Resizing an axis repeats its elements where that is enough.
 * Else it is a product with a matrix, whose element in row k and column i is the weight of old
 * element k in new element i. */
#include "kernels/onnx/onnx_impl.h"

#include <math.h>
#include <string.h>

enum { MAX_MATRIX = 1 << 22 };

struct resize {
    /* the attributes mode, coordinate_transformation_mode, nearest_mode */
    const char *mode, *place, *nearest;
    double cubic, outside;
    bool antialias, exclude;
    int64_t n, to;                        /* elements of one axis before and after resizing */
    double scale, start, end;             /* start, end: from the input roi, for this axis */
};

/* Returns the position in the old axis that corresponds to new element i. */
static double place_of(const struct resize *r, double i)
{
    double length = r->scale * (double)r->n;
    if (streq(r->place, "asymmetric"))
        return i / r->scale;
    if (streq(r->place, "tf_half_pixel_for_nn"))
        return (i + 0.5) / r->scale;
    if (streq(r->place, "align_corners"))
        return length == 1 ? 0 : i * (double)(r->n - 1) / (length - 1);
    if (streq(r->place, "pytorch_half_pixel"))
        return length > 1 ? (i + 0.5) / r->scale - 0.5 : 0;
    if (streq(r->place, "tf_crop_and_resize"))
        return length > 1 ? r->start * (double)(r->n - 1) +
                                i * (r->end - r->start) * (double)(r->n - 1) / (length - 1)
                          : 0.5 * (r->start + r->end) * (double)(r->n - 1);
    double off = streq(r->place, "half_pixel_symmetric")
                     ? (double)r->n / 2 * (1 - (double)r->to / length) : 0;
    return off + (i + 0.5) / r->scale - 0.5;
}

static double nearest(const struct resize *r, double x)
{
    if (streq(r->nearest, "floor"))
        return floor(x);
    if (streq(r->nearest, "ceil"))
        return ceil(x);
    return streq(r->nearest, "round_prefer_ceil") ? floor(x + 0.5) : ceil(x - 0.5);
}

/* Returns the weight of an old element at distance d from the position of a new element. */
static double weight(const struct resize *r, double d)
{
    double a = r->cubic;
    d = fabs(d);
    if (streq(r->mode, "linear"))
        return d < 1 ? 1 - d : 0;
    if (d <= 1)
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? (((d - 5) * d + 8) * d - 4) * a : 0;
}

/* Fills column i of the matrix: the weights of the old elements in new element i. */
static void fill_column(const struct resize *r, int64_t i, f32 *matrix)
{
    double x = place_of(r, (double)i), sum = 0;
    double squeeze = r->antialias && r->scale < 1 ? r->scale : 1;
    double reach = (streq(r->mode, "linear") ? 1 : 2) / squeeze;
    if (streq(r->mode, "nearest")) {
        double at = fmin(fmax(nearest(r, x), 0), (double)(r->n - 1));
        matrix[(int64_t)at * r->to + i] = 1;
        return;
    }
    for (int pass = 0; pass < 2; pass++)
        for (double k = floor(x - reach); k <= ceil(x + reach); k++) {
            double w = weight(r, (k - x) * squeeze);
            bool inside = k >= 0 && k < (double)r->n;
            if (r->exclude && !inside)
                continue;
            if (pass == 0)
                sum += w;
            else
                matrix[(int64_t)fmin(fmax(k, 0), (double)(r->n - 1)) * r->to + i] +=
                    (f32)(w / sum);
        }
}

static bool resize_axis(struct imp *im, const struct resize *r, int x, int axis, int *out)
{
    if (r->to < 1 || r->n > MAX_MATRIX / r->to)
        return onnx_refuse(im, "an axis of %lld cannot become one of %lld", (long long)r->n,
                           (long long)r->to);
    f32 *matrix = ARENA_ARRAY(im->a, f32, r->n * r->to);
    for (int64_t i = 0; i < r->to; i++) {
        double at = place_of(r, (double)i);
        if (streq(r->place, "tf_crop_and_resize") && (at < 0 || at > (double)(r->n - 1)))
            return onnx_refuse(im, "a region beyond the tensor is not supported");
        fill_column(r, i, matrix);
    }
    return onnx_emit_along(im, x, axis, matrix, r->to, out);
}

/* Whether resizing the axis only repeats each element a whole number of times, so that repeat()
 * can do it. */
static bool repeats(const struct resize *r)
{
    bool by_whole = r->to % r->n == 0 && r->scale == (double)(r->to / r->n);
    return streq(r->mode, "nearest") && by_whole && r->to / r->n <= 4096 &&
           ((streq(r->place, "asymmetric") && streq(r->nearest, "floor")) ||
            (streq(r->place, "half_pixel") && str_starts(r->nearest, "round")));
}

/* Repeats each element along an axis. */
static bool repeat(struct imp *im, int x, int axis, int64_t times, int *out)
{
    struct shape s = *onnx_shape_of(im, x), apart = { 0 }, wide;
    for (int d = 0; d < s.rank; d++) {
        apart.dim[apart.rank++] = s.dim[d];
        if (d == axis)
            apart.dim[apart.rank++] = 1;
    }
    wide = apart;
    wide.dim[axis + 1] = times;
    s.dim[axis] *= times;
    return onnx_emit_reshape(im, x, &apart, &x) &&
           onnx_emit_reshape(im, onnx_emit_expand(im, x, &wide), &s, out);
}

/* Reads input i, a list of numbers, into `out`.  Sets *n to their number, 0 when the input is
 * missing. */
static bool numbers(struct imp *im, int i, double *out, int *n)
{
    *n = 0;
    return !onnx_has_in(im, i) || onnx_in_floats(im, i, out, 2 * ONNX_MAX_RANK, n);
}

/* Computes r->to and r->scale of the k-th axis in the list.  They follow from its new size,
 * size[k], or from scale[k] if `size` is NULL. common: the result of common_scale(). */
static void fit(struct imp *im, struct resize *r, const double *scale, const double *size, int k,
                double common)
{
    if (!size) {
        r->scale = scale[k];
        r->to = (int64_t)floor((double)r->n * r->scale + 1e-9);
        return;
    }
    const char *keep = onnx_attr_text(im, "keep_aspect_ratio_policy");
    bool stretch = !keep[0] || streq(keep, "stretch");
    r->scale = stretch ? size[k] / (double)r->n : common;
    r->to = stretch ? (int64_t)size[k] : (int64_t)floor((double)r->n * common + 0.5);
}

/* Returns the scale that all axes get if keep_aspect_ratio_policy keeps their proportions: the
 * largest of their own scales for not_smaller, else the smallest. */
static double common_scale(struct imp *im, const struct shape *s, const int64_t *axes, int n,
                           const double *size)
{
    bool larger = streq(onnx_attr_text(im, "keep_aspect_ratio_policy"), "not_smaller");
    double common = larger ? 0 : INFINITY;
    for (int k = 0; size && k < n; k++) {
        double f = size[k] / (double)s->dim[axes[k]];
        common = larger ? fmax(common, f) : fmin(common, f);
    }
    return common;
}

static const char *text_or(struct imp *im, const char *name, const char *otherwise)
{
    const char *text = onnx_attr_text(im, name);
    return text[0] ? text : otherwise;
}

static bool resize(struct imp *im)
{
    bool old = streq(im->n->op, "Upsample") || im->m->opset < 11;
    double scale[2 * ONNX_MAX_RANK], size[2 * ONNX_MAX_RANK], roi[2 * ONNX_MAX_RANK];
    int64_t axes[ONNX_MAX_RANK];
    int x, n_scale = 0, n_size = 0, n_roi = 0, n;
    struct resize r = { .mode = text_or(im, "mode", "nearest"),
                        .place = text_or(im, "coordinate_transformation_mode",
                                         old ? "asymmetric" : "half_pixel"),
                        .nearest = text_or(im, "nearest_mode", old ? "floor"
                                                                   : "round_prefer_floor"),
                        .cubic = onnx_attr_float(im, "cubic_coeff_a", -0.75),
                        .antialias = onnx_attr_int(im, "antialias", 0) != 0,
                        .exclude = onnx_attr_int(im, "exclude_outside", 0) != 0 };
    if (!onnx_in_stmt(im, 0, &x) || !numbers(im, old ? 1 : 2, scale, &n_scale) ||
        (!old && (!numbers(im, 3, size, &n_size) || !numbers(im, 1, roi, &n_roi))) ||
        !onnx_attr_ints(im, "axes", axes, ONNX_MAX_RANK, &n))
        return false;
    const struct onnx_attr *list = onnx_attr(im, "scales");
    bool more = list && list->kind == ATTR_FLOATS;
    for (int k = 0; more && k < list->n && n_scale < COUNT_OF(scale); k++)
        scale[n_scale++] = (double)list->floats[k];
    struct shape s = *onnx_shape_of(im, x);
    for (int d = 0; n == 0 && d < s.rank; d++)
        axes[d] = d;
    n = n ? n : s.rank;
    if ((n_size ? n_size : n_scale) != n)
        return onnx_refuse(im, "it has %d scales for %d axes", n_size ? n_size : n_scale, n);
    if (streq(r.mode, "bilinear") || streq(r.mode, "trilinear"))
        r.mode = "linear";
    for (int k = 0; k < n; k++) {
        int d;
        if (!onnx_axis_in(im, axes[k], s.rank, &d))
            return false;
        axes[k] = d;
    }
    double common = common_scale(im, &s, axes, n, n_size ? size : NULL);
    for (int k = 0; k < n; k++) {
        int d = (int)axes[k];
        r.n = s.dim[d];
        fit(im, &r, scale, n_size ? size : NULL, k, common);
        r.start = n_roi == 2 * n ? roi[k] : 0;
        r.end = n_roi == 2 * n ? roi[n + k] : 1;
        bool crop = streq(r.place, "tf_crop_and_resize") && (r.start != 0 || r.end != 1);
        if (!(r.scale > 0 && r.scale < 1e6))
            return onnx_refuse(im, "the scale %g is not possible", r.scale);
        if (r.to == r.n && r.scale == 1 && !crop)
            continue;
        if (repeats(&r) ? !repeat(im, x, d, r.to / r.n, &x) : !resize_axis(im, &r, x, d, &x))
            return false;
    }
    return onnx_done(im, im->stmt.data[x].n_in ? x : onnx_emit1(im, "identity", x));
}

const struct handler onnx_resize_ops[] = {
    { "Resize", resize }, { "Upsample", resize }, { NULL, NULL },
};
