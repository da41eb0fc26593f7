#include "tests/unit/onnx_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/unit/onnx_case.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

void onnx_check(const struct onnx_row *rows, int n)
{
    for (int i = 0; i < n; i++) {
        const struct onnx_row *r = &rows[i];
        struct arena *a = arena_new();
        const char *got = onnx_outputs(a, r->opset, r->model, r->lists);
        if (!streq(got, r->outputs))
            fail_msg("%s (%s):\n%s, expected\n%s", r->model, r->lists, got, r->outputs);
        arena_free(a);
    }
}
