/* The data of inputs and constants. */
#ifndef TS_ONNX_WEIGHTS_H
#define TS_ONNX_WEIGHTS_H
#include "kernels/ops/graph.h"

/* Fills data[tensor_elems(t)]: with the tensor's own values, those of its file, or the random ones
 * of the seed.  False names tensor and file when the file is missing or holds something else.
 *
 * Any thread may call it.  Files are read once: the last few are kept. */
bool tensor_data(const struct tensor *t, uint64_t seed, float *data, struct err *e);
#endif
