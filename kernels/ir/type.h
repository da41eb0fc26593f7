/* Element types of tensors and buffers.  A type is a row of type.def: whoever depends on the size
 * of an element, on its name in C or on its arithmetic asks the row.  The type travels as a
 * pointer, so a test can have a row of its own (type_impl.h). */
#ifndef TS_IR_TYPE_H
#define TS_IR_TYPE_H
#include "kernels/ir/val.h"

/* An element of data that is float32 whatever type a program computes in: values in the text of a
 * graph, weights of ONNX files, random data.  They become elements of the tensor's type when its
 * buffer is filled. */
typedef float f32;

struct elem_type {
    const char *name, *title;             /* "f32"; "float32", as messages say it */
    int bytes;
    const struct elem_type *sum;          /* what reductions of it are summed up in */
    /* In C: the type's own name; what literals and functions end in (1.0f, expf); the integer of
     * the same size, which masks are made of; what x86 calls a vector of it; the significant digits
     * that read back to the same value. */
    const char *c, *suffix, *mask, *packed;
    int digits;
    /* One rounding of x is off by at most roundoff * |x|; below the smallest normal number by
     * `tiny`. */
    double roundoff, tiny, normal, largest;
    /* Whole arrays of elements from and to double; what does not fit an element is rounded. */
    void (*read)(const void *from, int64_t n, double *to);
    void (*write)(const double *from, int64_t n, void *to);
    void (*round)(double *x, int64_t n);
    double (*call)(enum val_kind function, double x);      /* as the type's own function computes */
};

#define TYPE(id, title, c, suffix, mask, packed, limits, sum) \
    extern const struct elem_type type_##id;
#include "kernels/ir/type.def"
#undef TYPE

/* n elements of one type as elements of another. */
void type_convert(const struct elem_type *from, const void *src, const struct elem_type *to,
                  void *dst, int64_t n);
#endif
