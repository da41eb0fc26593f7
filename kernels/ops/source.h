/* Where the data of constants come from, as words of a `const` statement:
 *
 *     d = const d0=1 value=8                      every element is 8
 *     b = const o=3 value=0.5,-1,2.25             one value for each element, row-major
 *     w = const o=64 i=3 file=resnet18.onnx tensor=conv1.weight hash=0123456789abcdef
 *
 * Values are float32 with as many digits as read back to the same float, or inf, -inf, nan.  In
 * file= and tensor= every byte but letters, digits and _-./+@:, is written as %XX, so that a word
 * has no blank, quote, ; or #.  hash= is tensor_hash of the data. */
#ifndef TS_OPS_SOURCE_H
#define TS_OPS_SOURCE_H
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include "kernels/base/str.h"

/* The data of a constant that has its own: n values (one stands for all elements), or a tensor of a
 * file. */
struct tensor_source {
    int64_t n;                            /* 0: it is in the file */
    const float *value;
    const char *file, *tensor;            /* the path works from the current directory */
    uint64_t hash;                        /* tensor_hash of the data in the file */
};

/* Constants of at most so many elements stand in the text, and those that are all alike. */
enum { SOURCE_MAX_SHORT = 16 };

/* The words of one statement that were read so far. */
struct source_words { struct tensor_source s; bool has_hash; };

bool source_is_word(const char *name);    /* value, file, tensor, hash */
/* One word: name=value[n].  The error has no place: the caller knows it. */
bool source_take(struct arena *a, struct source_words *w, const char *name, const char *value,
                 size_t n, struct err *e);
/* The source of tensor `name` with so many elements; NULL when there were no words.  They must suit
 * each other and the number of elements. */
bool source_finish(struct arena *a, const struct source_words *w, const char *name, int64_t elems,
                   const struct tensor_source **out, struct err *e);
/* " value=8", " file=... tensor=... hash=...": as it is read. */
void source_print(struct str *out, const struct tensor_source *s);
/* Float data of n elements as values, when they are short enough to stand in the text. */
bool source_short(const float *data, int64_t n, struct tensor_source *out);
uint64_t tensor_hash(const float *data, int64_t n);

/* Copies the text of an operator; every path behind file= becomes what `map` writes to out. */
typedef void source_map_fn(void *ctx, const char *path, struct str *out);
void spec_map_files(struct str *out, const char *spec, source_map_fn *map, void *ctx);
/* The text of an operator for a person: of a long graph the first and last statements, and of data
 * in a file only the file. */
void spec_print_brief(struct str *out, const char *spec);
#endif
