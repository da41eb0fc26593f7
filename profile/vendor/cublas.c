/* cuBLAS: matrix products, also of batches, in f32 without tf32, or of 16-bit floats with f32
 * sums. */
#include "profile/vendor/gpu_vendor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "profile/cuda/library.h"

/* The types of cuBLAS under their own names. Its enums without negative values are unsigned. */
typedef unsigned cublasStatus_t, cublasOperation_t, cudaDataType, cublasComputeType_t;
typedef unsigned libraryPropertyType;
typedef int cublasGemmAlgo_t;
typedef struct cublasContext *cublasHandle_t;
enum {
    OP_N = 0, OP_T = 1, COMPUTE_32F = 68, ALGO_DEFAULT = -1, R_32F = 0, R_16F = 2, R_16BF = 14
};

struct cublas {
#define FN(member, name, parameters) cublasStatus_t (*member) parameters;
#include "profile/vendor/cublas.def"
    const char *(*status)(cublasStatus_t);
};

/* A product A * B in row-major order.  cuBLAS takes matrices column by column: it sees each of ours
 * transposed, and must multiply B by A. stride_a, ...: distance between consecutive matrices of a
 * batch, in elements. */
struct gemm_call {
    struct cublas f;
    cublasHandle_t handle;
    cublasOperation_t op_a, op_b;
    cudaDataType type;
    int m, n, k, batches, lda, ldb, ldc;
    long long stride_a, stride_b, stride_c;
    const void *a, *b;
    void *c;
};

static bool load(struct cublas *f, struct err *e)
{
    static const struct cuda_library library = {
        .what = "cuBLAS", .variable = "TILESCOPE_CUBLAS", .fix = "install the CUDA toolkit",
        .names = { "libcublas.so.13", "libcublas.so.12", "libcublas.so" },
    };
    const struct cuda_symbol symbol[] = {
#define FN(member, name, parameters) { #name, &f->member },
#include "profile/vendor/cublas.def"
        { "cublasGetStatusName", &f->status },
    };
    return cuda_library_open(&library, symbol, COUNT_OF(symbol), e);
}

bool cublas_there(char *version, size_t n, const void **function, struct err *e)
{
    struct cublas f;
    int part[3] = { 0 };
    if (!load(&f, e))
        return false;
    for (unsigned i = 0; i < 3; i++)
        if (f.property(i, &part[i]) != 0)
            return err_set(e, ERR_ENV, "cuBLAS does not tell its version");
    snprintf(version, n, "%d.%d.%d", part[0], part[1], part[2]);
    memcpy(function, &f.gemm, sizeof *function);
    return true;
}

static bool fails(const struct gemm_call *x, cublasStatus_t code, const char *call, struct err *e)
{
    const char *name = code ? x->f.status(code) : NULL;
    return code && !err_set(e, ERR_ENV, "%s: %.80s", call, name ? name : "a status without a name");
}

/* --- Matrices --------------------------------------------------------------------------------- */

/* Finds the leading dimension of a matrix. *op: OP_N if each row is consecutive in memory, OP_T if
 * each column is. Returns false if neither rows nor columns are. */
static bool leading(const struct vendor_tensor *t, cublasOperation_t *op, int *ld)
{
    int64_t rows = t->shape[t->rank - 2], columns = t->shape[t->rank - 1];
    int64_t down = t->stride[t->rank - 2], right = t->stride[t->rank - 1];
    bool by_rows = (right == 1 || columns == 1) && (down >= columns || rows == 1);
    bool by_columns = (down == 1 || rows == 1) && (right >= rows || columns == 1);
    int64_t n = by_rows ? (rows == 1 ? columns : down) : (columns == 1 ? rows : right);
    *op = by_rows ? OP_N : OP_T;
    *ld = (int)n;
    return (by_rows || by_columns) && n > 0 && n <= INT32_MAX;
}

/* Each matrix of the result needs a matrix of t. Finds the distance in elements between the
 * matrices of t for consecutive matrices of the result. A dim of t with extent 1 is broadcast, so
 * its distance is 0. Returns false if the distance varies. */
static bool batch_stride(const struct vendor_tensor *t, const struct vendor_tensor *out,
                         long long *stride)
{
    int64_t inner = 1;                    /* number of batches in the dims after d */
    bool known = false;
    *stride = 0;
    for (int d = out->rank - 3; d >= 0; inner *= out->shape[d], d--) {
        int64_t step = t->shape[d] > 1 ? t->stride[d] : 0;
        if (out->shape[d] == 1)
            continue;
        if (known && step != *stride * inner)
            return false;
        if (!known)
            *stride = step;
        known = true;
    }
    return true;
}

static bool describe(struct vendor_handle *h, struct gemm_call *x, struct err *e)
{
    const struct vendor_problem *p = &h->p;
    int a = gpu_vendor_find(p, ROLE_DATA), b = gpu_vendor_find(p, ROLE_WEIGHTS);
    int c = gpu_vendor_find(p, ROLE_OUT), bytes = type_get(p->type)->bytes;
    cublasOperation_t plain;
    if (a < 0 || b < 0 || c < 0 || p->kind != VENDOR_MATMUL || p->n_posts || p->n_tensors != 3)
        return err_set(e, ERR_ENV, "cuBLAS only multiplies matrices");
    const struct vendor_tensor *ta = &p->tensor[a], *tb = &p->tensor[b], *tc = &p->tensor[c];
    if (!leading(ta, &x->op_a, &x->lda) || !leading(tb, &x->op_b, &x->ldb)
        || !leading(tc, &plain, &x->ldc) || plain != OP_N)
        return err_set(e, ERR_ENV, "cuBLAS needs matrices with consecutive rows or columns");
    if (!batch_stride(ta, tc, &x->stride_a) || !batch_stride(tb, tc, &x->stride_b)
        || !batch_stride(tc, tc, &x->stride_c))
        return err_set(e, ERR_ENV, "cuBLAS needs the matrices of a batch at equal distances");
    x->m = (int)tc->shape[tc->rank - 2];
    x->n = (int)tc->shape[tc->rank - 1];
    x->k = (int)ta->shape[ta->rank - 1];
    x->batches = 1;
    for (int d = 0; d < tc->rank - 2; d++)
        x->batches *= (int)tc->shape[d];
    x->type = p->type == TYPE_ROW_f16 ? R_16F : p->type == TYPE_ROW_bf16 ? R_16BF : R_32F;
    x->a = gpu_pointer(h->data[a] + (CUdeviceptr)(ta->offset * bytes));
    x->b = gpu_pointer(h->data[b] + (CUdeviceptr)(tb->offset * bytes));
    x->c = gpu_pointer(h->data[c] + (CUdeviceptr)(tc->offset * bytes));
    return true;
}

static cublasStatus_t multiply(const struct gemm_call *x)
{
    static const f32 one = 1, zero = 0;
    return x->f.gemm(x->handle, x->op_b, x->op_a, x->n, x->m, x->k, &one, x->b, x->type, x->ldb,
                     x->stride_b, x->a, x->type, x->lda, x->stride_a, &zero, x->c, x->type, x->ldc,
                     x->stride_c, x->batches, COMPUTE_32F, ALGO_DEFAULT);
}

/* --- The plugin ------------------------------------------------------------------------------- */

static void close_product(struct vendor_handle *h)
{
    struct gemm_call *x = h->own;
    if (x->handle)
        x->f.destroy(x->handle);
    free(x);
}

static bool open_product(struct vendor_handle *h, struct err *e)
{
    struct gemm_call *x = xcalloc(1, sizeof *x);
    char version[32];
    const void *ignored;
    h->own = x;
    if (!load(&x->f, e) || !cublas_there(version, sizeof version, &ignored, e)
        || !describe(h, x, e) || fails(x, x->f.create(&x->handle), "cublasCreate", e)
        || fails(x, multiply(x), "cublasGemmStridedBatchedEx", e))
        return false;
    snprintf(h->implementation, sizeof h->implementation, "cuBLAS %s %s%s", version,
             type_get(h->p.type)->name, x->batches > 1 ? ", batched" : "");
    snprintf(h->layout, sizeof h->layout, "row-major%s", x->op_b == OP_T ? ", B transposed" : "");
    return true;
}

static bool run_product(struct vendor_handle *h)
{
    return multiply(h->own) == 0;
}

static const struct gpu_library cublas = {
    .open = open_product, .run = run_product, .close = close_product,
};

static struct vendor_handle *open_cublas(const struct vendor_problem *p,
                                         enum vendor_library library, int threads,
                                         void *const *buffers, char *why, size_t n)
{
    (void)library;
    (void)threads;
    return gpu_vendor_open(p, &cublas, buffers, why, n);
}

const struct vendor_plugin cublas_plugin = {
    .abi = VENDOR_PLUGIN_ABI, .problem_bytes = sizeof(struct vendor_problem),
    .open = open_cublas, .run = gpu_vendor_run, .output = gpu_vendor_output,
    .implementation = gpu_vendor_implementation, .layout = gpu_vendor_layout,
    .close = gpu_vendor_close,
};
