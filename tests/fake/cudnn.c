/* A cuDNN for the driver of cuda.c, whose memory is the host's: convolutions by their definition,
 * on tensors of any strides.  It refuses arguments that do not fit together.  $FAKE_CUDNN: "last"
 * makes channels last the faster layout, "same" makes both equally fast, "one" has no algorithm for
 * channels last, "none" has no algorithm at all, "search" fails to look for one, "apart" refuses
 * the fused call, "broken" finds algorithms that fail, "fail" refuses to start. */
#include <stdlib.h>
#include <string.h>

#include "tests/fake/elements.h"

enum { AXES = 3, RANK = 2 + AXES, BAD = 3, UNSUPPORTED = 9, SCRATCH = 4096 };
enum { FIRST_WORKS = 3, LAST_WORKS = 4 };  /* the algorithm of channels first; of channels last */

/* N C D H W; a filter: O I D H W.  D has extent 1 where there are two spatial axes. */
struct tensor { unsigned type; int dim[RANK], stride[RANK]; };
struct conv { int pad[AXES], step[AXES], dilation[AXES], groups; unsigned math; };
struct found {
    unsigned algorithm, status;
    float time;
    size_t memory;
    unsigned determinism, math;
    int reserved[3];
};

int fake_cudnn_live;                      /* handles and descriptors that exist */
int fake_cudnn_fused;                     /* number of fused calls that succeeded */

static int is(const char *script)
{
    const char *own = getenv("FAKE_CUDNN");
    return own && strcmp(own, script) == 0;
}

static int make(void **out, size_t bytes)
{
    fake_cudnn_live++;
    *out = calloc(1, bytes);
    return *out ? 0 : 1;
}

static int drop(void *x)
{
    fake_cudnn_live -= x != NULL;
    free(x);
    return x ? 0 : BAD;
}

/* --- Descriptors ------------------------------------------------------------------------------ */

size_t cudnnGetVersion(void) { return 91203; }
const char *cudnnGetErrorString(int status)
{
    return status == 1 ? "CUDNN_STATUS_NOT_INITIALIZED" : status == BAD ? "CUDNN_STATUS_BAD_PARAM"
                                                                        : NULL;
}
int cudnnCreate(void **handle) { return is("fail") ? 1 : make(handle, 1); }
int cudnnDestroy(void *handle) { return drop(handle); }
int cudnnCreateTensorDescriptor(void **out) { return make(out, sizeof(struct tensor)); }
int cudnnDestroyTensorDescriptor(void *x) { return drop(x); }
int cudnnCreateFilterDescriptor(void **out) { return make(out, sizeof(struct tensor)); }
int cudnnDestroyFilterDescriptor(void *x) { return drop(x); }
int cudnnCreateConvolutionDescriptor(void **out) { return make(out, sizeof(struct conv)); }
int cudnnDestroyConvolutionDescriptor(void *x) { return drop(x); }
int cudnnCreateActivationDescriptor(void **out) { return make(out, sizeof(int)); }
int cudnnDestroyActivationDescriptor(void *x) { return drop(x); }

int cudnnSetTensorNdDescriptor(struct tensor *t, int type, int rank, const int *dim,
                               const int *stride)
{
    if ((type != 0 && type != 2 && type != 9) || rank < 4 || rank > RANK)
        return BAD;
    t->type = type;
    for (int i = 0; i < RANK; i++) {
        int from = i < 2 ? i : i - (RANK - rank), there = i < 2 || from >= 2;
        t->dim[i] = there ? dim[from] : 1;
        t->stride[i] = there ? stride[from] : 0;
        if (t->dim[i] < 1 || t->stride[i] < 0)
            return BAD;
    }
    return 0;
}

/* format: 0 = O I D H W, 1 = O D H W I. */
int cudnnSetFilterNdDescriptor(struct tensor *t, int type, int format, int rank, const int *dim)
{
    int stride[RANK] = { 0 }, step = format == 1 ? dim[1] : 1;
    for (int d = rank - 1; d >= 0; d--)
        if (d != 1 || format == 0) {
            stride[d] = step;
            step *= dim[d];
        }
    if (format == 1)
        stride[1] = 1;
    return cudnnSetTensorNdDescriptor(t, type, rank, dim, stride);
}

int cudnnSetConvolutionNdDescriptor(struct conv *c, int axes, const int *pad, const int *step,
                                    const int *dilation, unsigned mode, unsigned type)
{
    if (axes < 2 || axes > AXES || mode != 1 || type != 0)
        return BAD;
    for (int i = 0; i < AXES; i++) {
        int from = i - (AXES - axes);
        c->pad[i] = from < 0 ? 0 : pad[from];
        c->step[i] = from < 0 ? 1 : step[from];
        c->dilation[i] = from < 0 ? 1 : dilation[from];
        if (c->pad[i] < 0 || c->step[i] < 1 || c->dilation[i] < 1)
            return BAD;
    }
    return 0;
}

int cudnnSetConvolutionGroupCount(struct conv *c, int n) { c->groups = n; return n < 1 ? BAD : 0; }
int cudnnSetConvolutionMathType(struct conv *c, unsigned math) { c->math = math; return 0; }
int cudnnSetActivationDescriptor(int *relu, unsigned mode, unsigned nan, double limit)
{
    *relu = 1;
    return mode == 1 && nan == 0 && limit == 0 ? 0 : BAD;
}

/* --- Elements --------------------------------------------------------------------------------- */

static long count(const struct tensor *t)
{
    return (long)t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3] * t->dim[4];
}

/* The index of element i, counted row by row. */
static void index_of(const struct tensor *t, long i, int *index)
{
    for (int d = RANK - 1; d >= 0; d--) {
        index[d] = (int)(i % t->dim[d]);
        i /= t->dim[d];
    }
}

static long at(const struct tensor *t, const int *index)
{
    long sum = 0;
    for (int d = 0; d < RANK; d++)
        sum += (long)index[d] * t->stride[d];
    return sum;
}

static int scales(const void *alpha, const void *beta, float b)
{
    return *(const float *)alpha == 1 && *(const float *)beta == b;
}

int cudnnTransformTensor(void *handle, const void *alpha, const struct tensor *x, const void *xp,
                         const void *beta, const struct tensor *y, void *yp)
{
    int index[RANK];
    if (!handle || !scales(alpha, beta, 0) || x->type != y->type
        || memcmp(x->dim, y->dim, sizeof x->dim) != 0)
        return BAD;
    for (long i = 0; i < count(x); i++) {
        index_of(x, i, index);
        put(yp, y->type, at(y, index), get(xp, x->type, at(x, index)));
    }
    return 0;
}

/* Adds the bias of each channel to y. */
int cudnnAddTensor(void *handle, const void *alpha, const struct tensor *b, const void *bp,
                   const void *beta, const struct tensor *y, void *yp)
{
    int index[RANK];
    if (!handle || !scales(alpha, beta, 1) || b->type != y->type || b->dim[1] != y->dim[1]
        || count(b) != b->dim[1])
        return BAD;
    for (long i = 0; i < count(y); i++) {
        index_of(y, i, index);
        int channel[RANK] = { 0, index[1] };
        put(yp, y->type, at(y, index),
            get(yp, y->type, at(y, index)) + get(bp, b->type, at(b, channel)));
    }
    return 0;
}

int cudnnActivationForward(void *handle, const int *relu, const void *alpha,
                           const struct tensor *x, const void *xp, const void *beta,
                           const struct tensor *y, void *yp)
{
    int index[RANK];
    if (!handle || !*relu || !scales(alpha, beta, 0) || x != y || xp != yp)
        return BAD;
    for (long i = 0; i < count(y); i++) {
        index_of(y, i, index);
        double v = get(xp, y->type, at(y, index));
        put(yp, y->type, at(y, index), v > 0 ? v : 0);
    }
    return 0;
}

/* --- Convolutions ----------------------------------------------------------------------------- */

/* One call: y from x and the filters w.  back: a transposed convolution. */
struct call {
    const struct tensor *x, *w, *y;
    const struct conv *c;
    int back;
};

static int fits(const struct call *k)
{
    const struct tensor *large = k->back ? k->y : k->x, *small = k->back ? k->x : k->y;
    const struct tensor *w = k->w;
    for (int i = 0; i < AXES; i++) {
        int reach = k->c->dilation[i] * (w->dim[2 + i] - 1) + 1;
        int size = large->dim[2 + i] + 2 * k->c->pad[i] - reach;
        if (size < 0 || size / k->c->step[i] + 1 != small->dim[2 + i])
            return 0;
    }
    return k->x->dim[0] == k->y->dim[0] && k->x->type == k->y->type && k->x->type == w->type
        && large->dim[1] == w->dim[1] * k->c->groups && small->dim[1] == w->dim[0]
        && w->dim[0] % k->c->groups == 0 && (!k->back || k->c->groups == 1)
        && k->c->math == (k->x->type == 0 ? 3u : 1u);
}

/* The position that tap r of position p of the result reads along an axis; -1: none. */
static int reads(const struct call *k, int axis, int p, int r)
{
    const struct conv *c = k->c;
    int q = k->back ? p + c->pad[axis] - r * c->dilation[axis]
                    : p * c->step[axis] + r * c->dilation[axis] - c->pad[axis];
    if (q < 0 || (k->back && q % c->step[axis] != 0))
        return -1;
    q = k->back ? q / c->step[axis] : q;
    return q < k->x->dim[2 + axis] ? q : -1;
}

/* The product of one tap and the element that it reads.  channel: of x, counted in its group. */
static double product(const struct call *k, const void *xp, const void *wp, const int *to,
                      int channel, int tap)
{
    const struct tensor *w = k->w;
    int group = k->back ? 0 : to[1] / (w->dim[0] / k->c->groups);
    int in[RANK] = { to[0], group * w->dim[1] + channel };
    int filter[RANK] = { k->back ? channel : to[1], k->back ? to[1] : channel,
                         tap / w->dim[4] / w->dim[3], tap / w->dim[4] % w->dim[3],
                         tap % w->dim[4] };
    for (int i = 0; i < AXES; i++)
        if ((in[2 + i] = reads(k, i, to[2 + i], filter[2 + i])) < 0)
            return 0;
    return get(xp, k->x->type, at(k->x, in)) * get(wp, w->type, at(w, filter));
}

/* bias, relu: NULL where there is none. */
static void compute(const struct call *k, const void *xp, const void *wp, const void *bias,
                    const int *relu, void *yp)
{
    int channels = k->back ? k->w->dim[0] : k->w->dim[1], to[RANK];
    int taps = k->w->dim[2] * k->w->dim[3] * k->w->dim[4];
    for (long i = 0; i < count(k->y); i++) {
        index_of(k->y, i, to);
        double sum = bias ? get(bias, k->y->type, to[1]) : 0;
        for (int c = 0; c < channels; c++)
            for (int tap = 0; tap < taps; tap++)
                sum += product(k, xp, wp, to, c, tap);
        put(yp, k->y->type, at(k->y, to), relu && sum < 0 ? 0 : sum);
    }
}

static int is_last(const struct tensor *x) { return x->stride[1] == 1; }

static int find(const struct call *k, int most, int *n, struct found *f)
{
    int last = is_last(k->x);
    if (!fits(k) || most < 3 || is("search"))
        return BAD;
    f[0] = (struct found){ .algorithm = 7, .status = UNSUPPORTED, .time = -1 };
    f[1] = (struct found){ .algorithm = last ? LAST_WORKS : FIRST_WORKS,
                           .time = is("same") || is("last") == last ? 1 : 2,
                           .memory = last ? 0 : SCRATCH };
    f[2] = (struct found){ .algorithm = 1, .time = 5 };
    *n = is("none") || (is("one") && last) ? 1 : 3;
    return 0;
}

int cudnnFindConvolutionForwardAlgorithm(void *handle, const struct tensor *x,
                                         const struct tensor *w, const struct conv *c,
                                         const struct tensor *y, int most, int *n,
                                         struct found *f)
{
    return handle ? find(&(struct call){ x, w, y, c, 0 }, most, n, f) : BAD;
}

int cudnnFindConvolutionBackwardDataAlgorithm(void *handle, const struct tensor *w,
                                              const struct tensor *x, const struct conv *c,
                                              const struct tensor *y, int most, int *n,
                                              struct found *f)
{
    return handle ? find(&(struct call){ x, w, y, c, 1 }, most, n, f) : BAD;
}

/* Whether a call has the algorithm and the scratch memory that the search found. */
static int can_run(const struct call *k, unsigned algorithm, void *scratch, size_t bytes)
{
    int last = is_last(k->x);
    if (is("broken") || !fits(k) || algorithm != (last ? LAST_WORKS : FIRST_WORKS)
        || bytes != (last ? 0 : SCRATCH) || !scratch != !bytes)
        return 0;
    if (bytes)
        memset(scratch, 0x55, bytes);
    return 1;
}

int cudnnConvolutionForward(void *handle, const void *alpha, const struct tensor *x,
                            const void *xp, const struct tensor *w, const void *wp,
                            const struct conv *c, unsigned algorithm, void *scratch,
                            size_t bytes, const void *beta, const struct tensor *y, void *yp)
{
    struct call k = { x, w, y, c, 0 };
    if (!handle || !scales(alpha, beta, 0) || !can_run(&k, algorithm, scratch, bytes))
        return BAD;
    compute(&k, xp, wp, NULL, NULL, yp);
    return 0;
}

int cudnnConvolutionBackwardData(void *handle, const void *alpha, const struct tensor *w,
                                 const void *wp, const struct tensor *x, const void *xp,
                                 const struct conv *c, unsigned algorithm, void *scratch,
                                 size_t bytes, const void *beta, const struct tensor *y, void *yp)
{
    struct call k = { x, w, y, c, 1 };
    if (!handle || !scales(alpha, beta, 0) || !can_run(&k, algorithm, scratch, bytes))
        return BAD;
    compute(&k, xp, wp, NULL, NULL, yp);
    return 0;
}

int cudnnConvolutionBiasActivationForward(
    void *handle, const void *alpha, const struct tensor *x, const void *xp,
    const struct tensor *w, const void *wp, const struct conv *c, unsigned algorithm,
    void *scratch, size_t bytes, const void *beta, const struct tensor *z, const void *zp,
    const struct tensor *bias, const void *bp, const int *relu, const struct tensor *y, void *yp)
{
    struct call k = { x, w, y, c, 0 };
    if (is("apart"))
        return UNSUPPORTED;
    if (!handle || !scales(alpha, beta, 0) || !can_run(&k, algorithm, scratch, bytes) || z != y
        || zp != yp || !*relu || bias->dim[1] != y->dim[1] || count(bias) != bias->dim[1])
        return BAD;
    compute(&k, xp, wp, bp, relu, yp);
    fake_cudnn_fused++;
    return 0;
}
