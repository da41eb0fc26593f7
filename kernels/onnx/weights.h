/* Provides the data of inputs and constants. */
#ifndef TS_ONNX_WEIGHTS_H
#define TS_ONNX_WEIGHTS_H
#include "kernels/ops/graph.h"

struct weights;
struct onnx_model;
/* Reads a model for import.  The caller ends with weights_free or weights_keep.  weights_keep takes
 * ownership, so that weights_tensor_data need not read the file again. */
struct weights *weights_load(const char *path, struct err *e);
struct onnx_model *weights_model(struct weights *w);
void weights_keep(struct weights *w);
void weights_free(struct weights *w);
/* Fills data[tensor_elems(t)] with the numbers in t->source, or with a tensor of the file that
 * t->source names; without a source, with random values from the seed.  Fails when the file
 * cannot be read, lacks the tensor, or has other data than at the import; the error names tensor
 * and file.
 *
 * Any thread may call it.  Files that were used recently are kept in memory. */
bool weights_tensor_data(const struct tensor *t, uint64_t seed, f32 *data, struct err *e);
#endif
