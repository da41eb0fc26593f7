/* Passes that merge the neighbours of a convolution, or of a product with a constant matrix, into
 * it: factors and summands per output channel, zeros around the input, and the function applied to
 * the result. */
#include "kernels/module/simplify_impl.h"

#include <float.h>
#include <math.h>

/* Whether a later operation can be merged into i: i is a convolution or product with constant
 * weights and bias, has no function, and rewrite_is_inner holds. */
static bool is_weighted(const struct rewrite *r, int i)
{
    const struct rewrite_stmt *s = rewrite_at(r, i);
    for (int k = 1; k < s->n_args; k++)
        if (!rewrite_at(r, s->arg[k])->constant)
            return false;
    bool conv = rewrite_is_any(r, i, "c1d c2d c3d grp dep dil t2d t3d");
    bool product = rewrite_is_any(r, i, "matmul gmm") &&
                   rewrite_at(r, s->arg[1])->shape.rank == 2;
    return (conv || product) && s->n_args >= 2 && rewrite_is_inner(r, i) &&
           (s->n_args > 2 || !rewrite_has(r, i, "bias")) &&
           !rewrite_int(r, i, "relu", 0) && !rewrite_has(r, i, "act");
}

/* channel_dim returns the dim of the output channels in the result of i; weights_dim returns the
 * dim of the output channels in the weights of i. */
static int channel_dim(const struct rewrite *r, int i)
{
    return rewrite_is_any(r, i, "matmul gmm") ? rewrite_at(r, i)->shape.rank - 1 : 1;
}

static int weights_dim(const struct rewrite *r, int i)
{
    return rewrite_is_any(r, i, "t2d t3d matmul gmm") ? 1 : 0;
}

static int64_t n_channels(const struct rewrite *r, int i)
{
    return rewrite_at(r, i)->shape.shape[channel_dim(r, i)];
}

/* Returns a shape with n elements along dim d; the other dims have extent 1. */
static struct tensor along(int rank, int d, int64_t n)
{
    struct tensor t = { .rank = rank };
    for (int k = 0; k < rank; k++)
        t.shape[k] = k == d ? n : 1;
    return t;
}

static int add_reshape(struct rewrite *r, int by, const char *suffix, int x,
                       const struct tensor *shape)
{
    struct str list = { 0 };
    for (int d = 0; d < shape->rank; d++)
        str_printf(&list, "%s%lld", d ? "," : "", (long long)shape->shape[d]);
    int i = rewrite_add(r, by, suffix, shape, "reshape", &x, 1, "shape=%s", str_text(&list));
    str_free(&list);
    return i;
}

static int add_binary(struct rewrite *r, int by, const char *suffix, const char *op, int x, int y)
{
    const struct tensor shape = rewrite_at(r, x)->shape;
    return rewrite_add(r, by, suffix, &shape, op, (int[]){ x, y }, 2, "%s", "");
}

/* The operation scale * x + shift with a factor and a summand for each channel.  scale, shift:
 * statements that are constant vectors; -1: the factors are 1, the summands 0. */
struct channel_terms { int scale, shift; };

/* Makes statement i the convolution or product w with scaled weights and a new bias. */
static void merge_terms(struct rewrite *r, int i, int w, struct channel_terms by)
{
    const struct rewrite_stmt s = *rewrite_at(r, w);
    const struct tensor ker = rewrite_at(r, s.arg[1])->shape;
    int arg[3] = { s.arg[0], s.arg[1], s.n_args > 2 ? s.arg[2] : -1 };
    if (by.scale >= 0) {
        struct tensor across = along(ker.rank, weights_dim(r, w), n_channels(r, w));
        int factor = add_reshape(r, i, "Factor", by.scale, &across);
        arg[1] = add_binary(r, i, "Ker", "mul", arg[1], factor);
        if (arg[2] >= 0)
            arg[2] = add_binary(r, i, "Scaled", "mul", arg[2], by.scale);
    }
    if (by.shift >= 0)
        arg[2] = arg[2] >= 0 ? add_binary(r, i, "Bias", "add", arg[2], by.shift) : by.shift;
    bool word = arg[2] >= 0 && s.n_args == 2 && !rewrite_is(r, w, "matmul");
    rewrite_set(r, i, s.op, arg, arg[2] >= 0 ? 3 : 2, "%s%s", s.params, word ? " bias=1" : "");
}

/* Makes statement i compute scale * x + shift, for an x into which this cannot be merged. */
static void set_terms(struct rewrite *r, int i, int x, struct channel_terms by)
{
    const struct tensor shape = rewrite_at(r, x)->shape;
    struct tensor across = along(shape.rank - 1, 0, shape.shape[1]);
    int scale = add_reshape(r, i, "Factor", by.scale, &across);
    int shift = add_reshape(r, i, "Summand", by.shift, &across);
    int arg[2] = { add_binary(r, i, "Scaled", "mul", x, scale), shift };
    rewrite_set(r, i, "add", arg, 2, "%s", "");
}

/* Rewrites batchnorm(x, g, b, m, v) as scale * x + shift, where scale = g / sqrt(v + eps) and shift
 * = b - m * scale. Merges it into x if x has weights and its channels are dim 1. */
static bool merge_batchnorm(struct rewrite *r, int i)
{
    const struct rewrite_stmt s = *rewrite_at(r, i);
    if (!rewrite_is(r, i, "batchnorm"))
        return false;
    for (int k = 1; k < 5; k++)
        if (!rewrite_at(r, s.arg[k])->constant)
            return false;
    const struct tensor v = rewrite_at(r, s.arg[1])->shape;
    const char *eps = rewrite_text(r, rewrite_float(r, i, "eps", 1e-5));
    struct channel_terms by;
    int var = rewrite_add(r, i, "Var", &v, "affine", &s.arg[4], 1, "mul=1 add=%s", eps);
    int dev = rewrite_add(r, i, "Dev", &v, "sqrt", &var, 1, "%s", "");
    by.scale = add_binary(r, i, "Scale", "div", s.arg[1], dev);
    by.shift = add_binary(r, i, "Shift", "sub", s.arg[2],
                          add_binary(r, i, "Mean", "mul", s.arg[3], by.scale));
    if (is_weighted(r, s.arg[0]) && channel_dim(r, s.arg[0]) == 1)
        merge_terms(r, i, s.arg[0], by);
    else
        set_terms(r, i, s.arg[0], by);
    return true;
}

/* Whether c is a constant with one element for each channel of i, and broadcasting c to the shape
 * of i puts its elements along the channel dim. */
static bool is_per_channel(const struct rewrite *r, int i, int c)
{
    const struct tensor *x = &rewrite_at(r, i)->shape, *y = &rewrite_at(r, c)->shape;
    for (int d = 0; d < y->rank; d++)
        if (y->shape[d] != 1 && d + x->rank - y->rank != channel_dim(r, i))
            return false;
    return rewrite_at(r, c)->constant && tensor_elems(y) == n_channels(r, i);
}

/* Merges x * c, x + c or x - c into x, where c has a constant for each channel. */
static bool merge_operand(struct rewrite *r, int i)
{
    if (!rewrite_is_any(r, i, "add mul sub"))
        return false;
    for (int k = 0; k < 1 + !rewrite_is(r, i, "sub"); k++) {
        int w = rewrite_at(r, i)->arg[k], c = rewrite_at(r, i)->arg[!k];
        if (!is_weighted(r, w) || !rewrite_same_shape(r, i, w) || !is_per_channel(r, w, c))
            continue;
        struct tensor v = along(1, 0, n_channels(r, w));
        int vector = rewrite_at(r, c)->shape.rank == 1 ? c : add_reshape(r, i, "Vector", c, &v);
        if (rewrite_is(r, i, "sub"))
            vector = rewrite_add(r, i, "Minus", &v, "neg", &vector, 1, "%s", "");
        bool mul = rewrite_is(r, i, "mul");
        merge_terms(r, i, w, (struct channel_terms){ mul ? vector : -1, mul ? -1 : vector });
        return true;
    }
    return false;
}

static int add_filled(struct rewrite *r, int by, const char *suffix, const struct tensor *v,
                      double value)
{
    return rewrite_add(r, by, suffix, v, "const", &by, 0, "d0=%lld value=%s",
                       (long long)v->shape[0], rewrite_text(r, value));
}

/* Merges mul * x + add into x, where the two numbers are the same for all channels. */
static bool merge_affine(struct rewrite *r, int i)
{
    if (!rewrite_is(r, i, "affine") || !is_weighted(r, rewrite_at(r, i)->arg[0]))
        return false;
    int w = rewrite_at(r, i)->arg[0];
    struct tensor v = along(1, 0, n_channels(r, w));
    double mul = rewrite_float(r, i, "mul", 1), add = rewrite_float(r, i, "add", 0);
    struct channel_terms by = { -1, -1 };
    if (!(fabs(mul) < FLT_MAX && fabs(add) < FLT_MAX))    /* constants are floats */
        return false;
    if (mul != 1)
        by.scale = add_filled(r, i, "Scale", &v, mul);
    if (add != 0)
        by.shift = add_filled(r, i, "Shift", &v, add);
    merge_terms(r, i, w, by);
    return true;
}

bool pass_channels(struct rewrite *r, int i)
{
    return merge_batchnorm(r, i) || merge_operand(r, i) || merge_affine(r, i);
}

static const struct op_param *family_param(const char *family, const char *name)
{
    const struct op_family *f = ops_find(family);
    for (int p = 0; p < f->n_params; p++)
        if (streq(f->params[p].name, name))
            return &f->params[p];
    UNREACHABLE();
}

/* Whether the parameters of convolution i give neither padding nor the sizes of its input. */
static bool is_unpadded(const struct rewrite *r, int i)
{
    static const char *const sizes[] = { "n", "i", "c", "depth", "h", "w" };
    const char *params = rewrite_at(r, i)->params;
    for (int k = 0; k < COUNT_OF(sizes); k++)
        if (rewrite_has(r, i, sizes[k]))
            return false;
    return !str_starts(params, "p") && !strstr(params, " p");        /* p= ph= pw1= ... */
}

/* Whether statement `pad` adds zeros: at most `most` before and after each spatial dim, and none
 * elsewhere. Stores the numbers of zeros per dim in before[] and after[]. */
static bool pads_space(const struct rewrite *r, int pad, int64_t most, int64_t *before,
                       int64_t *after)
{
    int rank = rewrite_at(r, pad)->shape.rank;
    if (!rewrite_is(r, pad, "pad") || rewrite_float(r, pad, "value", 0) != 0 ||
        rewrite_list(r, pad, "before", before) != rank ||
        rewrite_list(r, pad, "after", after) != rank)
        return false;
    for (int d = 0; d < rank; d++)
        if (before[d] > (d < 2 ? 0 : most) || after[d] > (d < 2 ? 0 : most))
            return false;
    return true;
}

/* Merges a pad into the convolution i that reads it and has no padding of its own. */
bool pass_pad(struct rewrite *r, int i)
{
    static const char *const letters[] = { "d", "h", "w" };
    int64_t before[MAX_RANK], after[MAX_RANK];
    const struct rewrite_stmt s = *rewrite_at(r, i);
    if (!rewrite_is_any(r, i, "c1d c2d c3d grp dep dil") || !is_unpadded(r, i) ||
        !rewrite_is_inner(r, s.arg[0]) ||
        !pads_space(r, s.arg[0], family_param(s.op, "pw0")->max, before, after))
        return false;
    struct str words = { 0 };
    int rank = rewrite_at(r, s.arg[0])->shape.rank;
    for (int d = 2; d < rank; d++) {
        const char *letter = letters[3 - rank + d];
        str_printf(&words, " p%s0=%lld p%s1=%lld", letter, (long long)before[d], letter,
                   (long long)after[d]);
    }
    s.arg[0] = rewrite_at(r, s.arg[0])->arg[0];
    rewrite_set(r, i, s.op, s.arg, s.n_args, "%s%s", s.params, str_text(&words));
    str_free(&words);
    return true;
}

/* Merges statement i, a function that families take as act=, into the statement that it reads. */
bool pass_act(struct rewrite *r, int i)
{
    const struct rewrite_stmt s = *rewrite_at(r, i);
    if (s.n_args != 1 || s.params[0] || s.family || !is_weighted(r, s.arg[0]))
        return false;
    const struct rewrite_stmt to = *rewrite_at(r, s.arg[0]);
    for (const char *const *word = family_param("gmm", "act")->words; *word; word++)
        if (streq(*word, s.op)) {
            rewrite_set(r, i, to.op, to.arg, to.n_args, "%s%sact=%s", to.params,
                        to.params[0] ? " " : "", s.op);
            return true;
        }
    return false;
}
