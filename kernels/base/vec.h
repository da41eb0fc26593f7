/* A growable array.  VEC(int) v = {0}; vec_push(&v, 3); v.data[i]; v.len; vec_free(&v); */
#ifndef TS_BASE_VEC_H
#define TS_BASE_VEC_H
#include <stdlib.h>
#include <string.h>
#include "kernels/base/arena.h"

#define VEC(type) struct { type *data; int len, cap; }
#define vec_push(v, ...) \
    do { \
        if ((v)->len == (v)->cap) { \
            (v)->cap = (v)->cap ? 2 * (v)->cap : 8; \
            (v)->data = xrealloc((v)->data, (size_t)(v)->cap * sizeof *(v)->data); \
        } \
        (v)->data[(v)->len++] = (__VA_ARGS__); \
    } while (0)
#define vec_pop(v) ((v)->data[--(v)->len])
#define vec_clear(v) ((v)->len = 0)
#define vec_free(v) (free((v)->data), (v)->data = NULL, (v)->len = (v)->cap = 0)
#endif
