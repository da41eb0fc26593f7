/* Small ONNX models for tests. */
#ifndef TS_TESTS_ONNX_BUILD_H
#define TS_TESTS_ONNX_BUILD_H
#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arena.h"

/* A model from text: "in x:2,3", "const w:4,3", "ints s:1,6", "node Relu x > y axis=1 pads=1,1",
 * "out y", "info a:2,3" (the declared shape of a value inside); separated by ;.
 * A text attribute is mode~edge, a list of floats scales=1.,2.; an open dim is 0, or its name;
 * "in7 x:2" has the type with that number (int64).
 * Element i of a const is i/4; "const w:4,3@w.bin" has its data in that file beside the model,
 * which the caller writes.  opset 0: the file does not say which it has. */
size_t onnx_build(struct arena *a, int opset, const char *text, uint8_t **out);
bool onnx_build_file(const char *path, int opset, const char *text);
#endif
