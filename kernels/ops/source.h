/* The data of a constant, as words of a `const` statement:
 *
 *     d = const d0=1 value=8                      every element is 8
 *     b = const o=3 value=0.5,-1,2.25             one value for each element, row-major
 *     w = const o=64 i=3 file=resnet18.onnx tensor=conv1.weight hash=0123456789abcdef
 *
 * Values are float32: inf, -inf, nan, or enough digits to read back the same float.  In
 * file= and tensor= a byte other than letters, digits and _-./+@:, is written as %XX, so that a
 * word has no blank, quote, ; or #.  hash= is tensor_hash of the data. */
#ifndef TS_OPS_SOURCE_H
#define TS_OPS_SOURCE_H
#include <stdint.h>

#include "kernels/ir/type.h"
#include "kernels/base/err.h"
#include "kernels/base/str.h"

/* The data of a constant that is not random: n values (n = 1: one value for every element), or a
 * tensor of a file. */
struct tensor_source {
    int64_t n;                            /* number of values; 0: the data are in the file */
    const f32 *value;
    const char *file, *tensor;            /* the path is relative to the current directory */
    uint64_t hash;                        /* tensor_hash of the tensor's data in the file */
};

/* A constant of at most this many elements, or of equal elements, has its values in the text. */
enum { SOURCE_MAX_SHORT = 16 };

/* The words of one `const` statement read so far. */
struct source_words { struct tensor_source s; bool has_hash; };

bool source_is_word(const char *name);    /* true for value, file, tensor, hash */
/* Reads one word, name=value[n]. The error has no position; the caller adds one. */
bool source_take(struct arena *a, struct source_words *w, const char *name, const char *value,
                 size_t n, struct err *e);
/* Sets *out to the source of tensor `name`, which has `elems` elements, or to NULL when no words
 * were read.  Fails when the words contradict each other or the number of elements. */
bool source_finish(struct arena *a, const struct source_words *w, const char *name, int64_t elems,
                   const struct tensor_source **out, struct err *e);
/* Prints the words that source_take reads: " value=8", " file=... tensor=... hash=...". */
void source_print(struct str *out, const struct tensor_source *s);
/* Sets *out to a source with the values data[n]; the source points into data[].  Returns false when
 * the values are too many for the text. */
bool source_short(const f32 *data, int64_t n, struct tensor_source *out);
uint64_t tensor_hash(const f32 *data, int64_t n);

/* Copies the text of an operator.  In its `const` statements, replaces every path after file= by
 * the one that map(ctx, path, &text) appends to text. */
typedef void source_map_fn(void *ctx, const char *path, struct str *out);
void spec_map_files(struct str *out, const char *spec, source_map_fn *map, void *ctx);
/* Prints the text of an operator for people: of a long graph only the first and last statements, of
 * many values only the first, of data in a file only file=. */
void spec_print_brief(struct str *out, const char *spec);
#endif
