/* Products of matrices with elements of type REAL, for each length of vectors that a processor may
 * have.  Only mat.c includes this, once for each type: PRODUCT is the struct of the operands, and
 * TYPED(name) the variant of a function. */
#define BYTES 16
#define FOR_TARGET
#define OF(name) TYPED(name##_16)
#include "kernels/base/mat_product.h"

#if defined(__x86_64__)
#define BYTES 32
#define FOR_TARGET __attribute__((target("avx2")))
#define OF(name) TYPED(name##_32)
#include "kernels/base/mat_product.h"

#define BYTES 64
#define FOR_TARGET __attribute__((target("avx512f")))
#define OF(name) TYPED(name##_64)
#include "kernels/base/mat_product.h"
#endif

static void TYPED(widest)(const struct PRODUCT *p, int m)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        TYPED(product_64)(p, m);
        return;
    }
    if (__builtin_cpu_supports("avx2")) {
        TYPED(product_32)(p, m);
        return;
    }
#endif
    TYPED(product_16)(p, m);
}

#undef REAL
#undef PRODUCT
#undef TYPED
