/* The data of inputs and constants. */
#ifndef TS_ONNX_WEIGHTS_H
#define TS_ONNX_WEIGHTS_H
#include "kernels/ops/graph.h"

/* Fills data[tensor_elems(t)] with the values of the tensor, with those of its file, or with
 * random ones from the seed.  On failure the error names tensor and file: the file is missing or
 * holds something else.
 *
 * Any thread may call it.  The last few files are kept in memory. */
bool weights_tensor_data(const struct tensor *t, uint64_t seed, f32 *data, struct err *e);
#endif
