/* Reads arrays that other programs wrote: inputs of a network, or the outputs expected of it.
 *
 *     FILE.npz    numpy.savez: any number of named arrays, row-major
 *     FILE.npy    numpy.save: one array without a name
 *     FILE.pb     an ONNX TensorProto
 *     FOLDER      of ONNX test data: input_0.pb, input_1.pb, ... or output_0.pb, ... */
#ifndef TS_SESSIONS_ARRAYS_H
#define TS_SESSIONS_ARRAYS_H
#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include "kernels/ir/type.h"

/* An array, converted to float32. name: "" if the file has no names. */
struct named_array {
    const char *name;
    int rank;
    int64_t shape[16], elems;
    const f32 *data;
};
struct arrays { int n; const struct named_array *array; };

/* Reads arrays into arena a.  stem: the beginning of the file names in a folder, "input" or
 * "output".  Fails when a file cannot be read, or an array in it has an unsupported type or is
 * stored by columns. */
bool arrays_read(struct arena *a, const char *path, const char *stem, struct arrays *out,
                 struct err *e);
/* Returns NULL if no array has this name. */
const struct named_array *arrays_find(const struct arrays *all, const char *name);
#endif
