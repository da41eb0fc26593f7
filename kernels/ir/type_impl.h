/* Makes a struct elem_type of a row of type.def, and the functions that it needs. */
#ifndef TS_IR_TYPE_IMPL_H
#define TS_IR_TYPE_IMPL_H
#include "kernels/ir/type.h"

#include <float.h>
#include <math.h>

#define TYPE(id, title, c, suffix, mask, packed, limits, sum)                                   \
    static void id##_read(const void *from, int64_t n, double *to)                              \
    {                                                                                           \
        for (int64_t i = 0; i < n; i++)                                                         \
            to[i] = (double)((const c *)from)[i];                                               \
    }                                                                                           \
    static void id##_write(const double *from, int64_t n, void *to)                             \
    {                                                                                           \
        for (int64_t i = 0; i < n; i++)                                                         \
            ((c *)to)[i] = (c)from[i];                                                          \
    }                                                                                           \
    static void id##_round(double *x, int64_t n)                                                \
    {                                                                                           \
        for (int64_t i = 0; i < n; i++)                                                         \
            x[i] = (double)(c)x[i];                                                             \
    }                                                                                           \
    static double id##_call(enum val_kind function, double x)                                   \
    {                                                                                           \
        switch (function) {                                                                     \
        case VAL_EXP: return (double)exp##suffix((c)x);                                         \
        case VAL_LOG: return (double)log##suffix((c)x);                                         \
        case VAL_TANH: return (double)tanh##suffix((c)x);                                       \
        case VAL_ERF: return (double)erf##suffix((c)x);                                         \
        case VAL_SQRT: return (double)sqrt##suffix((c)x);                                       \
        case VAL_FLOOR: return (double)floor##suffix((c)x);                                     \
        case VAL_SIN: return (double)sin##suffix((c)x);                                         \
        case VAL_COS: return (double)cos##suffix((c)x);                                         \
        case VAL_ATAN: return (double)atan##suffix((c)x);                                       \
        case VAL_CONST: case VAL_LOAD: case VAL_ADD: case VAL_SUB: case VAL_MUL: case VAL_DIV:  \
        case VAL_MAX: case VAL_MIN: case VAL_LE: case VAL_KEEP: case VAL_SELECT:                \
        case VAL_PICK: case VAL_KIND_COUNT: break;                                              \
        }                                                                                       \
        UNREACHABLE();                                                                          \
    }                                                                                           \
    const struct elem_type type_##id = {                                                        \
        #id, title, sizeof(c), &type_##sum, #c, #suffix, #mask, packed, limits##_DECIMAL_DIG,   \
        limits##_EPSILON / 2, limits##_TRUE_MIN, limits##_MIN,                                  \
        limits##_MAX * (1 + (double)limits##_EPSILON / 8), id##_read,                           \
        id##_write, id##_round, id##_call                                                       \
    };

#define NARROW(id, text, n_digits, least, wide)                                                 \
    static void id##_read(const void *from, int64_t n, double *to)                              \
    {                                                                                           \
        for (int64_t i = 0; i < n; i++)                                                         \
            to[i] = narrow_value(((const uint16_t *)from)[i], n_digits, ilogb(least));          \
    }                                                                                           \
    static void id##_write(const double *from, int64_t n, void *to)                             \
    {                                                                                           \
        for (int64_t i = 0; i < n; i++)                                                         \
            ((uint16_t *)to)[i] = narrow_bits(from[i], n_digits, ilogb(least));                 \
    }                                                                                           \
    static void id##_round(double *x, int64_t n)                                                \
    {                                                                                           \
        uint16_t bits;                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                       \
            id##_write(&x[i], 1, &bits);                                                        \
            id##_read(&bits, 1, &x[i]);                                                         \
        }                                                                                       \
    }                                                                                           \
    const struct elem_type type_##id = {                                                        \
        .name = #id, .title = text, .bytes = 2, .sum = &type_##wide, .c = #id,                  \
        .digits = 2 + (n_digits) * 3 / 10, .roundoff = 1.0 / (1 << (n_digits)),                 \
        .tiny = (least) / (1 << ((n_digits) - 1)), .normal = least,                             \
        .largest = 2 / (least) * (2 - 1.5 / (1 << (n_digits))),                                 \
        .read = id##_read, .write = id##_write, .round = id##_round                             \
    };

/* Rounds x to a narrow type, ties to even, and returns its bits.  Let q be the distance between
 * numbers of the type near x, and n = |x| / q, rounded.  The bits of a normal or subnormal number,
 * without the sign, are (exponent - low) * 2^(digits - 1) + n.  If rounding carries n to the next
 * power of two, the sum becomes the next exponent, or infinity. */
static inline uint16_t narrow_bits(double x, int digits, int low)
{
    const unsigned sign = signbit(x) ? 0x8000 : 0;
    const unsigned inf = (unsigned)(3 - 2 * low) << (digits - 1);
    int exponent;
    if (isnan(x))
        return (uint16_t)(sign | inf | 1u << (digits - 2));
    if (x == 0 || isinf(x))
        return (uint16_t)(x == 0 ? sign : sign | inf);
    (void)frexp(x, &exponent);
    exponent = exponent - 1 > low ? exponent - 1 : low;
    if (exponent > 1 - low)
        return (uint16_t)(sign | inf);
    unsigned n = (unsigned)nearbyint(ldexp(fabs(x), digits - 1 - exponent));
    return (uint16_t)(sign | (((unsigned)(exponent - low) << (digits - 1)) + n));
}

static inline double narrow_value(uint16_t bits, int digits, int low)
{
    const double sign = bits & 0x8000 ? -1 : 1;
    const int hidden = 1 << (digits - 1), field = (bits & 0x7fff) / hidden;
    const int rest = bits % hidden;
    if (field == 3 - 2 * low)
        return rest ? (double)NAN : sign * (double)INFINITY;
    return sign * (field ? ldexp(hidden + rest, field + low - digits)
                         : ldexp(rest, low + 1 - digits));
}
#endif
