/* A cuBLAS for the driver of cuda.c, whose memory is the host's: products of f32, f16 and bf16,
 * column by column as cuBLAS has them.  $FAKE_CUBLAS: "wrong" adds to one element, "fail" refuses
 * to start, "refuse" refuses every product. */
#include <stdlib.h>
#include <string.h>

#include "tests/fake/elements.h"

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

/* The number of an element in its matrix. */
static long at(int transposed, int ld, int row, int column)
{
    return transposed ? row * (long)ld + column : column * (long)ld + row;
}

int cublasGemmStridedBatchedEx(void *handle, unsigned ta, unsigned tb, int m, int n, int k,
                               const void *alpha, const void *a, unsigned type, int lda,
                               long long sa, const void *b, unsigned type_b, int ldb,
                               long long sb, const void *beta, void *c, unsigned type_c, int ldc,
                               long long sc, int batches, unsigned compute, int algorithm)
{
    if (!handle || (type != 0 && type != 2 && type != 14) || type_b != type || type_c != type
        || compute != 68 || algorithm != -1 || *(const float *)alpha != 1
        || *(const float *)beta != 0 || lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m
        || is("refuse"))
        return 7;
    for (int i = 0; i < batches; i++)
        for (int x = 0; x < m; x++)
            for (int y = 0; y < n; y++) {
                double sum = 0;
                for (int z = 0; z < k; z++)
                    sum += get(a, type, i * sa + at((int)ta, lda, x, z))
                         * get(b, type, i * sb + at((int)tb, ldb, z, y));
                put(c, type, i * sc + at(0, ldc, x, y), sum);
            }
    if (is("wrong"))
        put(c, type, 0, get(c, type, 0) + 1);
    return 0;
}
