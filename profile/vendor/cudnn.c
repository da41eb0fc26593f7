/* cuDNN: convolutions and transposed convolutions, with bias and relu, in f32 without tf32, or of
 * 16-bit floats with f32 sums.  Channels first and channels last are both tried, and the faster one
 * stays. */
#include "profile/vendor/gpu_vendor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "profile/cuda/library.h"

/* The types of cuDNN under their own names. */
typedef unsigned cudnnStatus_t, cudnnDataType_t, cudnnTensorFormat_t, cudnnMathType_t;
typedef unsigned cudnnConvolutionMode_t, cudnnConvolutionFwdAlgo_t, cudnnConvolutionBwdDataAlgo_t;
typedef unsigned cudnnActivationMode_t, cudnnNanPropagation_t;
typedef struct cudnnContext *cudnnHandle_t;
typedef struct cudnnTensorStruct *cudnnTensorDescriptor_t;
typedef struct cudnnFilterStruct *cudnnFilterDescriptor_t;
typedef struct cudnnConvolutionStruct *cudnnConvolutionDescriptor_t;
typedef struct cudnnActivationStruct *cudnnActivationDescriptor_t;
/* The result of a search for an algorithm; times in milliseconds. */
struct cudnn_found {
    unsigned algorithm, status;
    f32 time;
    size_t memory;
    unsigned determinism, math;
    int reserved[3];
};
typedef struct cudnn_found cudnnConvolutionFwdAlgoPerf_t, cudnnConvolutionBwdDataAlgoPerf_t;
_Static_assert(sizeof(struct cudnn_found) == 48, "as in cudnn_cnn_v9.h");
enum {
    DATA_FLOAT = 0, DATA_HALF = 2, DATA_BFLOAT16 = 9, FORMAT_NCHW = 0, FORMAT_NHWC = 1,
    CROSS_CORRELATION = 1, MATH_TENSOR = 1, MATH_FMA = 3, ACTIVATION_RELU = 1, MOST_FOUND = 10
};

struct cudnn {
#define FN(member, name, parameters) cudnnStatus_t (*member) parameters;
#include "profile/vendor/cudnn.def"
    size_t (*version)(void);
    const char *(*error)(cudnnStatus_t);
};

enum part { DATA, WEIGHTS, OUT, PARTS };

/* The operator in one layout. plain: the descriptors of the caller's tensors (channels first); own:
 * the descriptors of the same tensors in this layout. x, y: own[DATA] and own[OUT]. at: the address
 * of each tensor, in `copy`, or in the handle's `data` if this layout has channels first. */
struct conv_form {
    cudnnTensorFormat_t format;
    cudnnTensorDescriptor_t x, y, bias, plain[PARTS], own[PARTS];
    cudnnFilterDescriptor_t w;
    CUdeviceptr at[PARTS], copy[PARTS];   /* copy: memory that the form owns, or 0 */
    struct cudnn_found found;
    CUdeviceptr scratch;
};
struct convolution {
    struct cudnn f;
    cudnnHandle_t handle;
    cudnnConvolutionDescriptor_t conv;
    cudnnActivationDescriptor_t relu;     /* NULL: the operator has no relu */
    int rank, tensor[PARTS], bias;  /* tensor, bias: indices in the problem; bias -1: no bias */
    bool transposed;
    struct conv_form form;
};

static const f32 one = 1, zero = 0;

static bool load(struct cudnn *f, struct err *e)
{
    static const struct cuda_library library = {
        .what = "cuDNN", .variable = "TILESCOPE_CUDNN", .fix = "install cuDNN 9",
        .names = { "libcudnn.so.9", "libcudnn.so" },
    };
    const struct cuda_symbol symbol[] = {
#define FN(member, name, parameters) { #name, &f->member },
#include "profile/vendor/cudnn.def"
        { "cudnnGetVersion", &f->version }, { "cudnnGetErrorString", &f->error },
    };
    return cuda_library_open(&library, symbol, COUNT_OF(symbol), e);
}

bool cudnn_there(char *version, size_t n, const void **function, struct err *e)
{
    struct cudnn f;
    if (!load(&f, e))
        return false;
    size_t v = f.version();               /* 91900 for 9.19.0 */
    snprintf(version, n, "%zu.%zu.%zu", v / 10000, v / 100 % 100, v % 100);
    memcpy(function, &f.version, sizeof *function);
    return true;
}

static bool done(const struct convolution *x, cudnnStatus_t code, const char *call, struct err *e)
{
    const char *text = code ? x->f.error(code) : NULL;
    return !code || err_set(e, ERR_ENV, "%s: %.80s", call, text ? text : "an unknown status");
}

static cudnnDataType_t data_type(const struct vendor_problem *p)
{
    return p->type == TYPE_ROW_f16 ? DATA_HALF : p->type == TYPE_ROW_bf16 ? DATA_BFLOAT16
                                                                          : DATA_FLOAT;
}

/* --- Descriptors ------------------------------------------------------------------------------ */

/* Sets the dims of a part as cuDNN has them, at least 4.  Data and result: N, C, H, W.  Filters: O,
 * I, KH, KW, where O counts the filters of all groups.  For a transposed convolution, cuDNN takes
 * the filters of the convolution that it reverses: I, O, KH, KW. */
static void dims_of(const struct convolution *x, const struct vendor_problem *p, enum part part,
                    int *dim)
{
    const struct vendor_tensor *t = &p->tensor[x->tensor[part]];
    bool grouped = part == WEIGHTS && p->groups > 1;
    int from = grouped, n = 0;
    int64_t first = t->shape[from] * (grouped ? p->groups : 1), second = t->shape[from + 1];
    bool turned = part == WEIGHTS && x->transposed;
    dim[n++] = (int)(turned ? second : first);
    dim[n++] = (int)(turned ? first : second);
    if (p->n_axes == 1)
        dim[n++] = 1;
    for (int i = 0; i < p->n_axes; i++)
        dim[n++] = (int)t->shape[from + 2 + i];
}

static void strides_of(const int *dim, int rank, cudnnTensorFormat_t format, int *stride)
{
    int step = 1;
    if (format == FORMAT_NHWC) {
        stride[1] = 1;
        step = dim[1];
    }
    for (int d = rank - 1; d >= 0; d--)
        if (d != 1 || format == FORMAT_NCHW) {
            stride[d] = step;
            step *= dim[d];
        }
}

static bool make_tensor(struct convolution *x, const struct vendor_problem *p, const int *dim,
                        cudnnTensorFormat_t format, cudnnTensorDescriptor_t *out, struct err *e)
{
    int stride[MAX_RANK];
    strides_of(dim, x->rank, format, stride);
    return done(x, x->f.tensor_new(out), "cudnnCreateTensorDescriptor", e)
        && done(x, x->f.tensor_set(*out, data_type(p), x->rank, dim, stride),
                "cudnnSetTensorNdDescriptor", e);
}

static bool make_descriptors(struct convolution *x, const struct vendor_problem *p,
                             struct conv_form *m, struct err *e)
{
    int dim[PARTS][MAX_RANK], bias[MAX_RANK] = { 1, 1, 1, 1, 1 };
    for (int i = 0; i < PARTS; i++) {
        dims_of(x, p, (enum part)i, dim[i]);
        if (!make_tensor(x, p, dim[i], FORMAT_NCHW, &m->plain[i], e)
            || !make_tensor(x, p, dim[i], m->format, &m->own[i], e))
            return false;
    }
    bias[1] = dim[OUT][1];
    m->x = m->own[DATA];
    m->y = m->own[OUT];
    return make_tensor(x, p, bias, m->format, &m->bias, e)
        && done(x, x->f.filter_new(&m->w), "cudnnCreateFilterDescriptor", e)
        && done(x, x->f.filter_set(m->w, data_type(p), m->format, x->rank, dim[WEIGHTS]),
                "cudnnSetFilterNdDescriptor", e);
}

/* Copies the inputs into the layout of the form, unless that is channels first. */
static bool place(struct convolution *x, struct vendor_handle *h, struct conv_form *m,
                  struct err *e)
{
    int bytes = type_get(h->p.type)->bytes;
    for (int i = 0; i < PARTS; i++) {
        const struct vendor_tensor *t = &h->p.tensor[x->tensor[i]];
        CUdeviceptr plain = h->data[x->tensor[i]] + (CUdeviceptr)(t->offset * bytes);
        m->at[i] = plain;
        if (m->format == FORMAT_NCHW)
            continue;
        m->at[i] = m->copy[i] = gpu_vendor_memory(h, t->elems * bytes, e);
        if (!m->copy[i]
            || (i != OUT && !done(x, x->f.transform(x->handle, &one, m->plain[i],
                                                    gpu_pointer(plain), &zero, m->own[i],
                                                    gpu_pointer(m->copy[i])),
                                  "cudnnTransformTensor", e)))
            return false;
    }
    return true;
}

static void drop_form(struct convolution *x, struct vendor_handle *h, struct conv_form *m)
{
    for (int i = 0; i < PARTS; i++) {
        if (m->plain[i])
            x->f.tensor_free(m->plain[i]);
        if (m->own[i])
            x->f.tensor_free(m->own[i]);
        if (m->copy[i])
            h->driver.cuMemFree_v2(m->copy[i]);
    }
    if (m->bias)
        x->f.tensor_free(m->bias);
    if (m->w)
        x->f.filter_free(m->w);
    if (m->scratch)
        h->driver.cuMemFree_v2(m->scratch);
    *m = (struct conv_form){ .format = m->format };
}

/* --- Algorithms ------------------------------------------------------------------------------- */

/* Lets cuDNN time its algorithms, and takes the first of cuDNN's list that works: the fastest. */
static bool find_algorithm(struct convolution *x, struct vendor_handle *h, struct conv_form *m,
                           struct err *e)
{
    struct cudnn_found found[MOST_FOUND];
    int n = 0;
    cudnnStatus_t code = x->transposed
        ? x->f.find_backward(x->handle, m->w, m->x, x->conv, m->y, MOST_FOUND, &n, found)
        : x->f.find_forward(x->handle, m->x, m->w, x->conv, m->y, MOST_FOUND, &n, found);
    if (!done(x, code, "cudnnFindConvolutionAlgorithm", e))
        return false;
    for (int i = 0; i < n && i < MOST_FOUND; i++)
        if (found[i].status == 0 && found[i].time >= 0) {
            m->found = found[i];
            if (found[i].memory > 0)
                m->scratch = gpu_vendor_memory(h, (int64_t)found[i].memory, e);
            return found[i].memory == 0 || m->scratch;
        }
    return err_set(e, ERR_ENV, "cuDNN has no algorithm for %s", h->p.text);
}

static bool make_form(struct convolution *x, struct vendor_handle *h, cudnnTensorFormat_t format,
                      struct conv_form *out, struct err *e)
{
    *out = (struct conv_form){ .format = format };
    if (make_descriptors(x, &h->p, out, e) && place(x, h, out, e)
        && find_algorithm(x, h, out, e))
        return true;
    drop_form(x, h, out);
    return false;
}

static bool choose_form(struct convolution *x, struct vendor_handle *h, struct err *e)
{
    struct conv_form last;
    struct err ignored;
    bool first = make_form(x, h, FORMAT_NCHW, &x->form, e);
    if (!make_form(x, h, FORMAT_NHWC, &last, first ? &ignored : e))
        return first;
    if (first && x->form.found.time <= last.found.time) {
        drop_form(x, h, &last);
        return true;
    }
    drop_form(x, h, &x->form);
    x->form = last;
    return true;
}

/* --- The operator ----------------------------------------------------------------------------- */

/* Whether the extents of the result are those of a convolution with the padding p->before on both
 * sides. */
static bool pads_alike(const struct convolution *x, const struct vendor_problem *p)
{
    const struct vendor_tensor *in = &p->tensor[x->tensor[x->transposed ? OUT : DATA]];
    const struct vendor_tensor *out = &p->tensor[x->tensor[x->transposed ? DATA : OUT]];
    for (int i = 0; i < p->n_axes; i++) {
        int64_t reach = p->dilation[i] * (p->kernel[i] - 1) + 1;
        int64_t size = in->shape[2 + i] + 2 * p->before[i] - reach;
        if (p->before[i] < 0 || size < 0 || size / p->step[i] + 1 != out->shape[2 + i])
            return false;
    }
    return true;
}

static bool describe(struct convolution *x, const struct vendor_problem *p, struct err *e)
{
    int pad[3] = { 0 }, step[3] = { 1, 1, 1 }, dilation[3] = { 1, 1, 1 };
    bool relu = p->n_posts > 0;
    x->tensor[DATA] = gpu_vendor_find(p, ROLE_DATA);
    x->tensor[WEIGHTS] = gpu_vendor_find(p, ROLE_WEIGHTS);
    x->tensor[OUT] = gpu_vendor_find(p, ROLE_OUT);
    x->bias = gpu_vendor_find(p, ROLE_BIAS);
    x->transposed = p->kind == VENDOR_TCONV;
    x->rank = p->n_axes == 3 ? 5 : 4;
    if (!pads_alike(x, p))
        return err_set(e, ERR_ENV, "cuDNN needs equal padding on both sides; %s has "
                       "different padding on the two sides", p->text);
    for (int i = 0, lead = p->n_axes == 1; i < p->n_axes; i++) {
        pad[lead + i] = (int)p->before[i];
        step[lead + i] = (int)p->step[i];
        dilation[lead + i] = (int)p->dilation[i];
    }
    return done(x, x->f.create(&x->handle), "cudnnCreate", e)
        && done(x, x->f.conv_new(&x->conv), "cudnnCreateConvolutionDescriptor", e)
        && done(x, x->f.conv_set(x->conv, x->rank - 2, pad, step, dilation, CROSS_CORRELATION,
                                 DATA_FLOAT), "cudnnSetConvolutionNdDescriptor", e)
        && done(x, x->f.conv_groups(x->conv, p->groups), "cudnnSetConvolutionGroupCount", e)
        && done(x, x->f.conv_math(x->conv, p->type == TYPE_ROW_f32 ? MATH_FMA : MATH_TENSOR),
                "cudnnSetConvolutionMathType", e)
        && (!relu || (done(x, x->f.act_new(&x->relu), "cudnnCreateActivationDescriptor", e)
                      && done(x, x->f.act_set(x->relu, ACTIVATION_RELU, 0, 0),
                              "cudnnSetActivationDescriptor", e)));
}

static void *bias_of(const struct vendor_handle *h, const struct convolution *x)
{
    return gpu_pointer(h->data[x->bias]);
}

/* If a convolution has both a bias and a relu, and cuDNN can fuse them, there is one call;
 * otherwise bias and relu are separate calls. */
static bool run_convolution(struct vendor_handle *h)
{
    const struct convolution *x = h->own;
    const struct conv_form *m = &x->form;
    void *in = gpu_pointer(m->at[DATA]), *w = gpu_pointer(m->at[WEIGHTS]);
    void *out = gpu_pointer(m->at[OUT]), *scratch = gpu_pointer(m->scratch);
    if (x->bias >= 0 && x->relu && !x->transposed
        && x->f.fused(x->handle, &one, m->x, in, m->w, w, x->conv, m->found.algorithm, scratch,
                      m->found.memory, &zero, m->y, out, m->bias, bias_of(h, x), x->relu, m->y,
                      out) == 0)
        return true;
    cudnnStatus_t code = x->transposed
        ? x->f.backward(x->handle, &one, m->w, w, m->x, in, x->conv, m->found.algorithm, scratch,
                        m->found.memory, &zero, m->y, out)
        : x->f.forward(x->handle, &one, m->x, in, m->w, w, x->conv, m->found.algorithm, scratch,
                       m->found.memory, &zero, m->y, out);
    return code == 0
        && (x->bias < 0
            || x->f.add(x->handle, &one, m->bias, bias_of(h, x), &one, m->y, out) == 0)
        && (!x->relu || x->f.act(x->handle, x->relu, &one, m->y, out, &zero, m->y, out) == 0);
}

/* --- The plugin ------------------------------------------------------------------------------- */

static void close_convolution(struct vendor_handle *h)
{
    struct convolution *x = h->own;
    drop_form(x, h, &x->form);
    if (x->relu)
        x->f.act_free(x->relu);
    if (x->conv)
        x->f.conv_free(x->conv);
    if (x->handle)
        x->f.destroy(x->handle);
    free(x);
}

static bool open_convolution(struct vendor_handle *h, struct err *e)
{
    struct convolution *x = xcalloc(1, sizeof *x);
    char version[32];
    const void *ignored;
    h->own = x;
    if (!load(&x->f, e) || !cudnn_there(version, sizeof version, &ignored, e)
        || !describe(x, &h->p, e) || !choose_form(x, h, e))
        return false;
    if (!run_convolution(h))
        return err_set(e, ERR_ENV, "cuDNN's algorithm %u fails for %s", x->form.found.algorithm,
                       h->p.text);
    snprintf(h->implementation, sizeof h->implementation, "cuDNN %s %s algorithm %u", version,
             type_get(h->p.type)->name, x->form.found.algorithm);
    snprintf(h->layout, sizeof h->layout, "%s",
             x->form.format == FORMAT_NHWC ? "channels last" : "channels first");
    return true;
}

static bool finish_convolution(struct vendor_handle *h)
{
    const struct convolution *x = h->own;
    const struct conv_form *m = &x->form;
    CUdeviceptr plain = h->data[x->tensor[OUT]];
    return !m->copy[OUT]
        || x->f.transform(x->handle, &one, m->own[OUT], gpu_pointer(m->copy[OUT]), &zero,
                          m->plain[OUT], gpu_pointer(plain)) == 0;
}

static const struct gpu_library cudnn = {
    .open = open_convolution, .run = run_convolution, .finish = finish_convolution,
    .close = close_convolution,
};

static struct vendor_handle *open_cudnn(const struct vendor_problem *p,
                                        enum vendor_library library, int threads,
                                        void *const *buffers, char *why, size_t n)
{
    (void)library;
    (void)threads;
    return gpu_vendor_open(p, &cudnn, buffers, why, n);
}

const struct vendor_plugin cudnn_plugin = {
    .abi = VENDOR_PLUGIN_ABI, .problem_bytes = sizeof(struct vendor_problem),
    .open = open_cudnn, .run = gpu_vendor_run, .output = gpu_vendor_output,
    .implementation = gpu_vendor_implementation, .layout = gpu_vendor_layout,
    .close = gpu_vendor_close,
};
