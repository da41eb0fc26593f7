/* A folder with model.onnx and test_data_set_*: imported, run and compared. */
#ifndef TS_TESTS_ONNX_CASE_H
#define TS_TESTS_ONNX_CASE_H
#include <stdint.h>

#include "kernels/base/arena.h"
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

/* Returns the outputs of a model from text (onnx_build) as "2x3: 0 1 2 3 4 5; 1: 7", computed by
 * the reference from lists like "1,2;3": one list per input of the model.  Element k of an input
 * without a list is k.  Returns the error, or the reasons why nodes are not supported, separated by
 * " / ", when there are no outputs. */
const char *onnx_outputs(struct arena *a, int opset, const char *text, const char *lists);
#endif
