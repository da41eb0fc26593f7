/* Provides the data of inputs and constants. */
#ifndef TS_ONNX_WEIGHTS_H
#define TS_ONNX_WEIGHTS_H
#include "kernels/ops/graph.h"

struct weights;
struct onnx_model;
/* Reads a model for import. Either the caller frees it, or weights_keep takes ownership so that its
 * data are not read again. */
struct weights *weights_load(const char *path, struct err *e);
struct onnx_model *weights_model(struct weights *w);
void weights_keep(struct weights *w);
void weights_free(struct weights *w);
/* Fills data[tensor_elems(t)] with the values in t->source, or with the data of its file; without a
 * source, with random values from the seed.  Fails when the file is missing or has other data; the
 * error names tensor and file.
 *
 * Any thread may call it.  The last few files are kept in memory. */
bool weights_tensor_data(const struct tensor *t, uint64_t seed, f32 *data, struct err *e);
#endif
