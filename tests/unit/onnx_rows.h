/* Tables of ONNX models in text and what they compute. */
#ifndef TS_TESTS_ONNX_ROWS_H
#define TS_TESTS_ONNX_ROWS_H

/* lists, outputs: as onnx_outputs (onnx_case.h) takes and returns them. */
struct onnx_row { int opset; const char *model, *lists, *outputs; };
/* The test fails at the first of n rows whose outputs are others. */
void onnx_check(const struct onnx_row *rows, int n);
#endif
