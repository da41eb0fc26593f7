/* OpenBLAS: matrix multiplication on plain matrices, with a call of sgemm for each matrix of a
 * batch. */
#include "profile/vendor/vendor.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vendor_handle {
    struct vendor_problem p;
    const struct vendor_tensor *t_a, *t_b, *t_c;           /* tensors of p, and their data */
    const float *a, *b;
    float *c;
    CBLAS_TRANSPOSE ta, tb;
    blasint m, n, k, lda, ldb, ldc;
    int64_t batches;
    char implementation[128], layout[64];
};

static struct vendor_tensor *find(struct vendor_problem *p, enum vendor_role role)
{
    for (int i = 0; i < p->n_tensors; i++)
        if (p->tensor[i].role == (int32_t)role)
            return &p->tensor[i];
    return NULL;
}

/* Finds the leading dimension of a matrix. *trans: CblasNoTrans if each row is consecutive in
 * memory, CblasTrans if each column is. Returns false if neither rows nor columns are. */
static bool leading(const struct vendor_tensor *t, CBLAS_TRANSPOSE *trans, blasint *ld)
{
    int64_t rows = t->shape[t->rank - 2], columns = t->shape[t->rank - 1];
    int64_t down = t->stride[t->rank - 2], right = t->stride[t->rank - 1];
    bool by_rows = (right == 1 || columns == 1) && (down >= columns || rows == 1);
    bool by_columns = (down == 1 || rows == 1) && (right >= rows || columns == 1);
    *trans = by_rows ? CblasNoTrans : CblasTrans;
    *ld = (blasint)(by_rows ? (rows == 1 ? columns : down) : (columns == 1 ? rows : right));
    return by_rows || by_columns;
}

/* Returns the offset of the matrix of this batch; dims of extent 1 are broadcast. */
static int64_t offset_of(const struct vendor_tensor *t, const struct vendor_tensor *out,
                         int64_t batch)
{
    int64_t at = t->offset;
    for (int d = out->rank - 3; d >= 0; d--) {
        int64_t i = batch % out->shape[d];
        batch /= out->shape[d];
        at += t->shape[d] > 1 ? i * t->stride[d] : 0;
    }
    return at;
}

static struct vendor_handle *refuse(struct vendor_handle *h, char *why, size_t n, const char *text)
{
    free(h);
    snprintf(why, n, "%s", text);
    return NULL;
}

static bool run(struct vendor_handle *h)
{
    for (int64_t i = 0; i < h->batches; i++)
        cblas_sgemm(CblasRowMajor, h->ta, h->tb, h->m, h->n, h->k, 1,
                    h->a + offset_of(h->t_a, h->t_c, i), h->lda,
                    h->b + offset_of(h->t_b, h->t_c, i), h->ldb, 0,
                    h->c + offset_of(h->t_c, h->t_c, i), h->ldc);
    return true;
}

static struct vendor_handle *open_product(const struct vendor_problem *p,
                                          enum vendor_library library, int threads,
                                          void *const *buffers, char *why, size_t n)
{
    struct vendor_handle *h = calloc(1, sizeof *h);
    if (!h)
        return refuse(h, why, n, "there is not enough memory");
    h->p = *p;
    struct vendor_tensor *a = find(&h->p, ROLE_DATA), *b = find(&h->p, ROLE_WEIGHTS);
    struct vendor_tensor *c = find(&h->p, ROLE_OUT);
    CBLAS_TRANSPOSE plain;
    if (library != VENDOR_OPENBLAS || p->kind != VENDOR_MATMUL || p->n_posts || !a || !b || !c
        || p->n_tensors != 3)
        return refuse(h, why, n, "OpenBLAS only multiplies matrices");
    if (!leading(a, &h->ta, &h->lda) || !leading(b, &h->tb, &h->ldb)
        || !leading(c, &plain, &h->ldc) || plain != CblasNoTrans)
        return refuse(h, why, n, "OpenBLAS needs matrices with consecutive rows or columns");
    h->m = (blasint)c->shape[c->rank - 2];
    h->n = (blasint)c->shape[c->rank - 1];
    h->k = (blasint)a->shape[a->rank - 1];
    h->t_a = a;
    h->t_b = b;
    h->t_c = c;
    h->a = buffers[a - h->p.tensor];
    h->b = buffers[b - h->p.tensor];
    h->c = buffers[c - h->p.tensor];
    h->batches = 1;
    for (int d = 0; d < c->rank - 2; d++)
        h->batches *= c->shape[d];
    openblas_set_num_threads(threads);
    char calls[32] = "";
    if (h->batches > 1)
        snprintf(calls, sizeof calls, ", %lld calls", (long long)h->batches);
    /* the configuration begins with the version: "OpenBLAS 0.3.21 ..." */
    snprintf(h->implementation, sizeof h->implementation, "%.15s sgemm:%.24s%s",
             openblas_get_config(), openblas_get_corename(), calls);
    snprintf(h->layout, sizeof h->layout, "%s", h->tb == CblasTrans ? "row-major, B transposed"
                                                                    : "row-major");
    return run(h) ? h : refuse(h, why, n, "sgemm failed");
}

/* Does nothing: the library writes to the buffer directly. */
static bool output(struct vendor_handle *h)
{
    return h != NULL;
}

static const char *implementation(const struct vendor_handle *h)
{
    return h->implementation;
}

static const char *layout(const struct vendor_handle *h)
{
    return h->layout;
}

static void close_product(struct vendor_handle *h)
{
    free(h);
}

extern const struct vendor_plugin tilescope_vendor_plugin;
const struct vendor_plugin tilescope_vendor_plugin = {
    .abi = VENDOR_PLUGIN_ABI, .problem_bytes = sizeof(struct vendor_problem),
    .open = open_product, .run = run, .output = output,
    .implementation = implementation, .layout = layout, .close = close_product,
};
