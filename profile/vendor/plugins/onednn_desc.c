/* A vendor problem as a oneDNN operation: memory descriptors, attributes, operation descriptors. */
#include "profile/vendor/plugins/onednn_impl.h"

#include <stdio.h>
#include <string.h>

static const dnnl_alg_kind_t unary_alg[] = {
    [UNARY_RELU] = dnnl_eltwise_relu, [UNARY_SIGMOID] = dnnl_eltwise_logistic,
    [UNARY_TANH] = dnnl_eltwise_tanh, [UNARY_GELU] = dnnl_eltwise_gelu_erf,
    [UNARY_GELU_TANH] = dnnl_eltwise_gelu_tanh, [UNARY_SILU] = dnnl_eltwise_swish,
    [UNARY_HARDSWISH] = dnnl_eltwise_hardswish, [UNARY_SOFTPLUS] = dnnl_eltwise_soft_relu,
    [UNARY_EXP] = dnnl_eltwise_exp, [UNARY_LOG] = dnnl_eltwise_log,
    [UNARY_SQRT] = dnnl_eltwise_sqrt, [UNARY_ABS] = dnnl_eltwise_abs,
    [UNARY_CLIP] = dnnl_eltwise_clip, [UNARY_LEAKY] = dnnl_eltwise_relu,
    [UNARY_ELU] = dnnl_eltwise_elu, [UNARY_LINEAR] = dnnl_eltwise_linear,
};
static const dnnl_alg_kind_t binary_alg[] = {
    [BINARY_ADD] = dnnl_binary_add, [BINARY_SUB] = dnnl_binary_sub,
    [BINARY_MUL] = dnnl_binary_mul, [BINARY_DIV] = dnnl_binary_div,
    [BINARY_MAX] = dnnl_binary_max, [BINARY_MIN] = dnnl_binary_min,
};
static const dnnl_alg_kind_t reduce_alg[] = {
    [VENDOR_REDUCE_SUM] = dnnl_reduction_sum, [VENDOR_REDUCE_MAX] = dnnl_reduction_max,
    [VENDOR_REDUCE_MEAN] = dnnl_reduction_mean,
};

/* --- Memory ----------------------------------------------------------------------------------- */

const struct vendor_tensor *onednn_find(const struct vendor_problem *p, enum vendor_role role)
{
    for (int i = 0; i < p->n_tensors; i++)
        if (p->tensor[i].role == (int32_t)role)
            return &p->tensor[i];
    return NULL;
}

static dnnl_status_t by_strides(dnnl_memory_desc_t *md, int rank, const int64_t *shape,
                                const int64_t *stride)
{
    dnnl_dims_t dims, strides;
    for (int d = 0; d < rank; d++) {
        dims[d] = shape[d];
        strides[d] = stride[d];
    }
    return dnnl_memory_desc_init_by_strides(md, rank, dims, dnnl_f32, strides);
}

dnnl_status_t onednn_plain(const struct vendor_tensor *t, dnnl_memory_desc_t *md)
{
    return by_strides(md, t->rank, t->shape, t->stride);
}

static dnnl_status_t by_tag(const struct vendor_tensor *t, dnnl_format_tag_t tag,
                            dnnl_memory_desc_t *md)
{
    dnnl_dims_t dims;
    for (int d = 0; d < t->rank; d++)
        dims[d] = t->shape[d];
    return dnnl_memory_desc_init_by_tag(md, t->rank, dims, dnnl_f32, tag);
}

/* Describes a dense tensor. order: its dims from the outermost to the innermost. */
static dnnl_status_t dense(const struct vendor_tensor *t, const int *order, dnnl_memory_desc_t *md)
{
    int64_t stride[MAX_RANK], elems = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        stride[order[i]] = elems;
        elems *= t->shape[order[i]];
    }
    return by_strides(md, t->rank, t->shape, stride);
}

/* Describes a dense tensor with dim `from` moved to place `to`. */
static dnnl_status_t dense_moved(const struct vendor_tensor *t, int from, int to,
                                 dnnl_memory_desc_t *md)
{
    int order[MAX_RANK], at = 0;
    for (int i = 0; i < t->rank; i++) {
        at += at == from;
        order[i] = i == to ? from : at++;
    }
    return dense(t, order, md);
}

static dnnl_status_t blocked(const struct vendor_tensor *t, dnnl_memory_desc_t *md)
{
    static const dnnl_format_tag_t tag[] = { [3] = dnnl_nCw16c, [4] = dnnl_nChw16c,
                                             [5] = dnnl_nCdhw16c };
    return t->rank >= 3 && t->rank <= 5 ? by_tag(t, tag[t->rank], md) : dnnl_unimplemented;
}

static bool has_filters(const struct vendor_problem *p)
{
    return p->kind == VENDOR_CONV || p->kind == VENDOR_TCONV;
}

/* Makes the descriptor to request for one tensor.  For weights of convolutions the library always
 * chooses the layout: weights are constant, so they are packed only once. */
static dnnl_status_t wish_one(const struct wish *w, const struct vendor_tensor *t,
                              dnnl_memory_desc_t *md)
{
    bool chosen = w->how.form == FORM_ANY || w->how.form == FORM_AUTO;
    bool is_matmul = w->p->kind == VENDOR_MATMUL;
    bool data = t->role == ROLE_DATA || t->role == ROLE_OUT || t->role == ROLE_POST
             || (t->role == ROLE_WEIGHTS && w->p->kind == VENDOR_BINARY);
    if (w->p->kind == VENDOR_MOVE)
        return onednn_plain(t, md);
    if (t->role == ROLE_WEIGHTS && (has_filters(w->p) || (is_matmul && chosen)))
        return by_tag(t, dnnl_format_tag_any, md);
    if (t->role == ROLE_BIAS && is_matmul) {
        const struct vendor_tensor *out = onednn_find(w->p, ROLE_OUT);
        struct vendor_tensor row = { .rank = out->rank };
        for (int d = 0; d < row.rank; d++)
            row.shape[d] = d == row.rank - 1 ? t->shape[0] : 1;
        return dense_moved(&row, 0, 0, md);
    }
    if (t->role == ROLE_WEIGHTS && w->how.form == FORM_B_TRANSPOSED)
        return dense_moved(t, t->rank - 1, t->rank - 2, md);
    if (!data && !(t->role == ROLE_WEIGHTS))
        return onednn_plain(t, md);
    if (chosen && t->role != ROLE_POST)
        return by_tag(t, dnnl_format_tag_any, md);
    if (w->how.form == FORM_BLOCKED)
        return blocked(t, md);
    bool last = w->how.form == FORM_LAST && t->rank > 2;
    return dense_moved(t, last ? 1 : 0, last ? t->rank - 1 : 0, md);
}

dnnl_status_t onednn_wish(struct wish *w)
{
    dnnl_status_t s = dnnl_success;
    for (int i = 0; i < w->p->n_tensors && s == dnnl_success; i++)
        s = wish_one(w, &w->p->tensor[i], &w->md[i]);
    return s;
}

static const dnnl_memory_desc_t *wished(const struct wish *w, enum vendor_role role)
{
    const struct vendor_tensor *t = onednn_find(w->p, role);
    return t ? &w->md[t - w->p->tensor] : NULL;
}

/* --- Post-ops --------------------------------------------------------------------------------- */

static float alpha_of(int function, double alpha)
{
    return function == UNARY_SILU ? 1 : function == UNARY_RELU ? 0 : (float)alpha;
}

static dnnl_status_t post_ops(const struct wish *w, dnnl_primitive_attr_t attr)
{
    dnnl_post_ops_t ops;
    dnnl_status_t s = dnnl_post_ops_create(&ops);
    for (int i = 0; i < w->p->n_posts && s == dnnl_success; i++) {
        const struct vendor_post *f = &w->p->post[i];
        if (i == 0 && w->how.sum)
            s = dnnl_post_ops_append_sum(ops, 1);
        else if (f->tensor < 0)
            s = dnnl_post_ops_append_eltwise(ops, 1, unary_alg[f->function],
                                             alpha_of(f->function, f->alpha), (float)f->beta);
        else
            s = dnnl_post_ops_append_binary(ops, binary_alg[f->function], &w->md[f->tensor]);
    }
    if (s == dnnl_success)
        s = dnnl_primitive_attr_set_post_ops(attr, ops);
    dnnl_post_ops_destroy(ops);
    return s;
}

/* --- Operations ------------------------------------------------------------------------------- */

union operation {
    dnnl_convolution_desc_t conv;
    dnnl_deconvolution_desc_t deconv;
    dnnl_matmul_desc_t matmul;
    dnnl_pooling_v2_desc_t pool;
    dnnl_eltwise_desc_t eltwise;
    dnnl_binary_desc_t binary;
    dnnl_batch_normalization_desc_t batch_norm;
    dnnl_layer_normalization_desc_t layer_norm;
    dnnl_softmax_v2_desc_t softmax;
    dnnl_reduction_desc_t reduction;
};

struct axes { dnnl_dims_t kernel, step, dilation, before, after; };

/* Returns the axes as oneDNN has them. Its dilation is one less than ours. */
static struct axes axes_of(const struct vendor_problem *p)
{
    struct axes a;
    memset(&a, 0, sizeof a);
    for (int i = 0; i < p->n_axes; i++) {
        a.kernel[i] = p->kernel[i];
        a.step[i] = p->step[i];
        a.dilation[i] = p->dilation[i] - 1;
        a.before[i] = p->before[i];
        a.after[i] = p->after[i];
    }
    return a;
}

static dnnl_status_t init_filter(const struct wish *w, union operation *op)
{
    struct axes a = axes_of(w->p);
    const dnnl_memory_desc_t *x = wished(w, ROLE_DATA), *k = wished(w, ROLE_WEIGHTS);
    const dnnl_memory_desc_t *b = wished(w, ROLE_BIAS), *y = wished(w, ROLE_OUT);
    dnnl_alg_kind_t conv = w->how.form == FORM_AUTO ? dnnl_convolution_auto
                                                    : dnnl_convolution_direct;
    if (w->p->kind == VENDOR_CONV)
        return dnnl_dilated_convolution_forward_desc_init(
            &op->conv, dnnl_forward_inference, conv, x, k, b, y, a.step, a.dilation, a.before,
            a.after);
    return dnnl_dilated_deconvolution_forward_desc_init(
        &op->deconv, dnnl_forward_inference, dnnl_deconvolution_direct, x, k, b, y, a.step,
        a.dilation, a.before, a.after);
}

static dnnl_status_t init_pool(const struct wish *w, union operation *op)
{
    struct axes a = axes_of(w->p);
    bool max = w->how.pool ? w->p->function == VENDOR_REDUCE_MAX : w->p->kind == VENDOR_POOL_MAX;
    dnnl_alg_kind_t alg = max ? dnnl_pooling_max
                        : w->p->kind == VENDOR_POOL_INSIDE ? dnnl_pooling_avg_exclude_padding
                                                           : dnnl_pooling_avg_include_padding;
    return dnnl_pooling_v2_forward_desc_init(&op->pool, dnnl_forward_inference, alg,
                                             wished(w, ROLE_DATA), wished(w, ROLE_OUT), a.step,
                                             a.kernel, a.dilation, a.before, a.after);
}

static dnnl_status_t init_layer_norm(const struct wish *w, union operation *op)
{
    unsigned flags = (wished(w, ROLE_SCALE) ? dnnl_use_scale : 0u)
                   | (wished(w, ROLE_SHIFT) ? dnnl_use_shift : 0u);
    struct vendor_tensor rows = *onednn_find(w->p, ROLE_DATA);
    dnnl_memory_desc_t stat;
    rows.rank--;
    dnnl_status_t s = dense_moved(&rows, 0, 0, &stat);
    return s != dnnl_success ? s
         : dnnl_layer_normalization_forward_desc_init(&op->layer_norm, dnnl_forward_inference,
                                                      wished(w, ROLE_DATA), &stat,
                                                      (float)w->p->alpha, flags);
}

/* Mean and variance are always arguments. If the operator has them folded into scale and shift,
 * they are 0 and 1. */
#define BATCH_NORM_FLAGS (dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift)

static dnnl_status_t init(const struct wish *w, union operation *op)
{
    const struct vendor_problem *p = w->p;
    const dnnl_memory_desc_t *x = wished(w, ROLE_DATA), *y = wished(w, ROLE_OUT);
    switch ((enum vendor_kind)p->kind) {
    case VENDOR_CONV: case VENDOR_TCONV:
        return init_filter(w, op);
    case VENDOR_POOL_MAX: case VENDOR_POOL_AVG: case VENDOR_POOL_INSIDE:
        return init_pool(w, op);
    case VENDOR_MATMUL:
        return dnnl_matmul_desc_init(&op->matmul, x, wished(w, ROLE_WEIGHTS),
                                     wished(w, ROLE_BIAS), y);
    case VENDOR_UNARY:
        return dnnl_eltwise_forward_desc_init(&op->eltwise, dnnl_forward_inference,
                                              unary_alg[p->function], x,
                                              alpha_of(p->function, p->alpha), (float)p->beta);
    case VENDOR_BINARY:
        return dnnl_binary_desc_init(&op->binary, binary_alg[p->function], x,
                                     wished(w, ROLE_WEIGHTS), y);
    case VENDOR_BATCH_NORM:
        return dnnl_batch_normalization_forward_desc_init(&op->batch_norm, dnnl_forward_inference,
                                                          x, (float)p->alpha, BATCH_NORM_FLAGS);
    case VENDOR_LAYER_NORM:
        return init_layer_norm(w, op);
    case VENDOR_SOFTMAX:
        return dnnl_softmax_v2_forward_desc_init(&op->softmax, dnnl_forward_inference,
                                                 dnnl_softmax_accurate, x, y, p->axis);
    case VENDOR_REDUCE:
        return w->how.pool ? init_pool(w, op)
             : dnnl_reduction_desc_init(&op->reduction, reduce_alg[p->function], x, y, 0, 0);
    case VENDOR_MOVE: case VENDOR_CONCAT: case VENDOR_KIND_COUNT:
        break;
    }
    return dnnl_unimplemented;
}

static dnnl_status_t describe_concat(const struct wish *w, dnnl_primitive_attr_t attr,
                                     dnnl_primitive_desc_t *out)
{
    return dnnl_concat_primitive_desc_create(out, wished(w, ROLE_OUT), w->p->n_tensors - 1,
                                             w->p->axis, w->md, attr, w->engine);
}

/* Looks which layout the library chose for the result. Requests the same layout for each operand of
 * a post-operation that has the shape of the result. */
static void follow_result(struct wish *w, dnnl_primitive_desc_t pd)
{
    const dnnl_memory_desc_t *y = dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
    for (int i = 0; i < w->p->n_posts; i++) {
        int t = w->p->post[i].tensor;
        bool same = t >= 0;
        for (int d = 0; same && d < y->ndims; d++)
            same = y->dims[d] == w->p->tensor[t].shape[d];
        if (same)
            w->md[t] = *y;
    }
}

dnnl_status_t onednn_describe(struct wish *w, dnnl_primitive_desc_t *out)
{
    union operation op;
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t bare;
    dnnl_status_t s = dnnl_primitive_attr_create(&attr);
    memset(&op, 0, sizeof op);
    bool moves = w->p->kind == VENDOR_MOVE || w->p->kind == VENDOR_CONCAT;
    if (s != dnnl_success)
        return s;
    if (moves && w->p->n_posts) {
        s = dnnl_unimplemented;
    } else if (w->p->kind == VENDOR_MOVE) {
        s = dnnl_reorder_primitive_desc_create(out, wished(w, ROLE_DATA), w->engine,
                                               wished(w, ROLE_OUT), w->engine, attr);
    } else if (moves) {
        s = describe_concat(w, attr, out);
    } else if ((s = init(w, &op)) == dnnl_success) {
        if (w->p->n_posts
            && dnnl_primitive_desc_create(&bare, &op, attr, w->engine, NULL) == dnnl_success) {
            follow_result(w, bare);
            dnnl_primitive_desc_destroy(bare);
        }
        s = post_ops(w, attr);
        if (s == dnnl_success)
            s = dnnl_primitive_desc_create(out, &op, attr, w->engine, NULL);
    }
    dnnl_primitive_attr_destroy(attr);
    return s;
}

/* --- Arguments -------------------------------------------------------------------------------- */

const dnnl_memory_desc_t *onednn_wants(const struct wish *w, dnnl_primitive_desc_t pd, int tensor,
                                       int *arg)
{
    const struct vendor_tensor *t = &w->p->tensor[tensor];
    bool concat = w->p->kind == VENDOR_CONCAT;
    switch ((enum vendor_role)t->role) {
    case ROLE_DATA:
        *arg = concat ? DNNL_ARG_MULTIPLE_SRC + tensor : DNNL_ARG_SRC;
        return dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, concat ? tensor : 0);
    case ROLE_WEIGHTS:
        *arg = w->p->kind == VENDOR_BINARY ? DNNL_ARG_SRC_1 : DNNL_ARG_WEIGHTS;
        return w->p->kind == VENDOR_BINARY
             ? dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 1)
             : dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    case ROLE_OUT:
        *arg = DNNL_ARG_DST;
        return dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
    case ROLE_BIAS: *arg = DNNL_ARG_BIAS; return NULL;
    case ROLE_SCALE: *arg = DNNL_ARG_SCALE; return NULL;
    case ROLE_SHIFT: *arg = DNNL_ARG_SHIFT; return NULL;
    case ROLE_MEAN: *arg = DNNL_ARG_MEAN; return NULL;
    case ROLE_VARIANCE: *arg = DNNL_ARG_VARIANCE; return NULL;
    case ROLE_POST: break;
    }
    for (int i = 0; i < w->p->n_posts; i++)
        if (w->p->post[i].tensor == tensor)
            *arg = DNNL_ARG_ATTR_MULTIPLE_POST_OP(i) | DNNL_ARG_SRC_1;
    return NULL;
}

/* --- Names of layouts ------------------------------------------------------------------------- */

const char *onednn_letters(const struct vendor_problem *p, const struct vendor_tensor *t)
{
    static const char *const data[] = { "", "c", "nc", "ncw", "nchw", "ncdhw" };
    static const char *const filter[] = { "", "", "", "oiw", "oihw", "oidhw" };
    static const char *const group[] = { "", "", "", "", "goiw", "goihw", "goidhw" };
    static const char *const rows[] = { "", "", "mk", "bmk", "abmk" };
    static const char *const columns[] = { "", "", "kn", "bkn", "abkn" };
    static const char *const result[] = { "", "", "mn", "bmn", "abmn" };
    if (p->kind == VENDOR_MATMUL && t->rank < COUNT_OF(rows))
        return t->role == ROLE_DATA ? rows[t->rank] : t->role == ROLE_OUT ? result[t->rank]
             : columns[t->rank];
    if (has_filters(p) && t->role == ROLE_WEIGHTS)
        return p->groups > 1 ? group[t->rank] : filter[t->rank];
    bool rowwise = p->kind == VENDOR_SOFTMAX || p->kind == VENDOR_LAYER_NORM
                || p->kind == VENDOR_REDUCE || p->kind == VENDOR_MOVE;
    return rowwise || t->rank >= COUNT_OF(data) ? "abcdefgh" : data[t->rank];
}

void onednn_layout_name(const dnnl_memory_desc_t *md, const char *letters, char *out, size_t n)
{
    const dnnl_blocking_desc_t *b = &md->format_desc.blocking;
    int order[DNNL_MAX_NDIMS];
    char text[96] = "";
    size_t at = 0;
    if (md->format_kind != dnnl_blocked) {
        snprintf(out, n, "%s", md->format_kind == dnnl_format_kind_wino ? "winograd" : "opaque");
        return;
    }
    for (int i = 0; i < md->ndims; i++) {              /* insertion sort, outermost first */
        int j = i;
        for (; j > 0 && b->strides[order[j - 1]] < b->strides[i]; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
    for (int i = 0; i < md->ndims; i++) {
        char c = letters[order[i]];
        for (int k = 0; k < b->inner_nblks; k++)
            if (b->inner_idxs[k] == order[i])
                c = (char)(letters[order[i]] - 'a' + 'A');
        text[at++] = c;
    }
    for (int k = 0; k < b->inner_nblks && at + 24 < sizeof text; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%d%c", (int)b->inner_blks[k],
                               letters[b->inner_idxs[k]]);
    snprintf(out, n, "%s", text);
}
