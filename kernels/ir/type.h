/* Element types of tensors and buffers.  A type is a row of type.def with the size of an element,
 * its name in C and its arithmetic.  Code refers to a type by a pointer, so a test can have its own
 * type (type_impl.h). */
#ifndef TS_IR_TYPE_H
#define TS_IR_TYPE_H
#include "kernels/ir/val.h"

/* An element of data that are always float32, whatever the type of the tensor: values in the text
 * of a graph, weights of ONNX files, random data.  Filling a buffer converts them to its type. */
typedef float f32;

struct elem_type {
    const char *name, *title;             /* "f32"; the name in messages, "float32" */
    int bytes;
    const struct elem_type *sum;          /* the type in which its reductions are summed up */
    /* Spellings in C.  c: the name; suffix: of literals and functions (1.0f, expf); mask: the
     * integer type of the same size; packed: the suffix of x86 vectors.  digits: how many
     * significant decimal digits a printed value needs to be read back exactly. */
    const char *c, *suffix, *mask, *packed;
    int digits;
    /* The error of one rounding of x is at most roundoff * |x|, or `tiny` if |x| < normal, the
     * smallest normal number.  largest: a little above the largest number of the type; a value
     * between the two is rounded to the largest number. */
    double roundoff, tiny, normal, largest;
    /* For arrays of n: read converts elements to doubles, write rounds doubles to elements, and
     * round replaces each double by the nearest number of the type. */
    void (*read)(const void *from, int64_t n, double *to);
    void (*write)(const double *from, int64_t n, void *to);
    void (*round)(double *x, int64_t n);
    double (*call)(enum val_kind function, double x);      /* computes a function in this type */
};

#define TYPE(id, title, c, suffix, mask, packed, limits, sum) \
    extern const struct elem_type type_##id;
#define NARROW(id, title, digits, normal, sum) extern const struct elem_type type_##id;
#include "kernels/ir/type.def"
#undef TYPE
#undef NARROW

/* Whether elements are only stored in this type: their values are computed in type->sum, and
 * rounded when they are stored.  Such a type has no suffix, mask, packed and call. */
static inline bool type_is_narrow(const struct elem_type *type)
{
    return type->sum != type;
}
/* The names of the rows of type.def in their order, f32 first; NULL ends the list. */
extern const char *const type_words[];
enum type_row {
#define TYPE(id, title, c, suffix, mask, packed, limits, sum) TYPE_ROW_##id,
#define NARROW(id, title, digits, normal, sum) TYPE_ROW_##id,
#include "kernels/ir/type.def"
    TYPE_COUNT
};
#undef TYPE
#undef NARROW
const struct elem_type *type_get(int64_t row);

/* Converts n elements of one type to elements of another. */
void type_convert(const struct elem_type *from, const void *src, const struct elem_type *to,
                  void *dst, int64_t n);
#endif
