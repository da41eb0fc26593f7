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
#endif
