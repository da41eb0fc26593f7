/* A cuBLAS for the driver of cuda.c, whose memory is the host's: products of f32, column by column
 * as cuBLAS has them.  $FAKE_CUBLAS: "wrong" adds to one element, "fail" refuses to start. */
#include <stdlib.h>
#include <string.h>

static int is(const char *script)
{
    const char *own = getenv("FAKE_CUBLAS");
    return own && strcmp(own, script) == 0;
}

int cublasCreate_v2(void **handle)
{
    *handle = &*handle;
    return is("fail") ? 1 : 0;
}
int cublasDestroy_v2(void *handle) { return handle ? 0 : 1; }
int cublasGetProperty(int type, int *value) { *value = 13 - type; return 0; }
const char *cublasGetStatusName(int status)
{
    return status == 1 ? "CUBLAS_STATUS_NOT_INITIALIZED" : "CUBLAS_STATUS_INVALID_VALUE";
}

static double at(const float *m, int transposed, int ld, int row, int column)
{
    return transposed ? m[row * (long)ld + column] : m[column * (long)ld + row];
}

int cublasGemmStridedBatchedEx(void *handle, unsigned ta, unsigned tb, int m, int n, int k,
                               const void *alpha, const void *pa, unsigned type_a, int lda,
                               long long sa, const void *pb, unsigned type_b, int ldb,
                               long long sb, const void *beta, void *pc, unsigned type_c, int ldc,
                               long long sc, int batches, unsigned compute, int algorithm)
{
    const float *a = pa, *b = pb;
    float *c = pc;
    if (!handle || type_a || type_b || type_c || compute != 68 || algorithm != -1
        || *(const float *)alpha != 1 || *(const float *)beta != 0
        || lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m)
        return 7;
    for (int i = 0; i < batches; i++)
        for (int x = 0; x < m; x++)
            for (int y = 0; y < n; y++) {
                double sum = 0;
                for (int z = 0; z < k; z++)
                    sum += at(a + i * sa, (int)ta, lda, x, z) * at(b + i * sb, (int)tb, ldb, z, y);
                c[i * sc + y * (long)ldc + x] = (float)sum;
            }
    if (is("wrong"))
        c[0] += 1;
    return 0;
}
