/* A folder with model.onnx and test_data_set_*: imported, run and compared. */
#ifndef TS_TESTS_ONNX_CASE_H
#define TS_TESTS_ONNX_CASE_H
#include <stdint.h>

#include "kernels/base/str.h"

/* ORDER RESULT */
enum onnx_result { ONNX_PASSED, ONNX_FAILED, ONNX_SKIPPED };

struct onnx_case {
    int random;                           /* how many random schedules, besides the plain one */
    uint64_t seed;
    double most_work;                     /* points of the graph's loops; more is skipped */
    struct str why;                       /* of a failure, or why it is skipped */
    int steps;                            /* random ones that were legal */
};
#define ONNX_DATA "/usr/share/libonnx-testdata/data"
enum onnx_result onnx_case_run(const char *folder, struct onnx_case *c);
#endif
