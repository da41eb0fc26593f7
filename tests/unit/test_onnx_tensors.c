/* Tensors in files: their bytes written here, all types of elements, and what is wrong with damaged
 * ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include "kernels/base/file.h"
#include "kernels/onnx/onnx.h"
#include "kernels/onnx/weights.h"
#include "kernels/ops/graph.h"
#include "tests/unit/onnx_build.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* Fields of a TensorProto (onnx.proto), with their keys. */
#define DIMS    "\x08\x02"                /* one dim of 2 */
#define TYPE(t) "\x10" t
#define RAW(n)  "\x4a" n
#define NAME    "\x42\x01t"
#define FLOATS(n)  "\x22" n               /* packed lists of n bytes */
#define INT32S(n)  "\x2a" n
#define INT64S(n)  "\x3a" n
#define DOUBLES(n) "\x52" n
#define ROW(bytes, want) { bytes, sizeof(bytes) - 1, want }

static const struct { const char *bytes; size_t n; const char *want; } tensors[] = {
    ROW(DIMS TYPE("\x01") RAW("\x08") "\0\0\x80\x3f\0\0\0\xc0", "float 1 -2"),
    ROW(DIMS TYPE("\x02") RAW("\x02") "\xff\x05", "uint8 255 5"),
    ROW(DIMS TYPE("\x03") RAW("\x02") "\xff\x05", "int8 -1 5"),
    ROW(DIMS TYPE("\x04") RAW("\x04") "\xff\xff\x01\0", "uint16 65535 1"),
    ROW(DIMS TYPE("\x05") RAW("\x04") "\xff\xff\x01\0", "int16 -1 1"),
    ROW(DIMS TYPE("\x06") RAW("\x08") "\xff\xff\xff\xff\x02\0\0\0", "int32 -1 2"),
    ROW(DIMS TYPE("\x07") RAW("\x10") "\xff\xff\xff\xff\xff\xff\xff\xff\x02\0\0\0\0\0\0\0",
        "int64 -1 2"),
    ROW(DIMS TYPE("\x08") RAW("\x02") "ab", "string"),
    ROW(DIMS TYPE("\x09") RAW("\x02") "\x01\0", "bool 1 0"),
    ROW(DIMS TYPE("\x0a") RAW("\x04") "\0\x3c\0\xc0", "float16 1 -2"),
    ROW(DIMS TYPE("\x0b") RAW("\x10") "\0\0\0\0\0\0\xf8\x3f\0\0\0\0\0\0\0\xc0", "double 1.5 -2"),
    ROW(DIMS TYPE("\x0c") RAW("\x08") "\xff\xff\xff\xff\x02\0\0\0", "uint32 4294967295 2"),
    ROW(DIMS TYPE("\x0d") RAW("\x10") "\x03\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0", "uint64 3 2"),
    ROW(DIMS TYPE("\x10") RAW("\x04") "\x80\x3f\0\xc0", "bfloat16 1 -2"),
    /* numbers in lists: 0x3c00 and 0xc000 are 1 and -2 as float16 */
    ROW(DIMS TYPE("\x01") FLOATS("\x08") "\0\0\x80\x3f\0\0\0\xc0", "float 1 -2"),
    ROW(DIMS TYPE("\x0a") INT32S("\x05") "\x80\x78\x80\x80\x03", "float16 1 -2"),
    ROW(DIMS TYPE("\x03") INT32S("\x02") "\x03\x04", "int8 3 4"),
    ROW(DIMS TYPE("\x07") INT64S("\x02") "\x05\x06", "int64 5 6"),
    ROW(DIMS TYPE("\x0b") DOUBLES("\x10") "\0\0\0\0\0\0\xf8\x3f\0\0\0\0\0\0\0\xc0",
        "double 1.5 -2"),
    ROW(TYPE("\x07") INT64S("\x01") "\x05", "int64 5"),                  /* no dims: one number */
    ROW("\x08\0" TYPE("\x01"), "float"),                                 /* no elements */
    /* what is wrong */
    ROW(DIMS TYPE("\x01") RAW("\x07") "\0\0\x80\x3f\0\0\0",
        "tensor ?: raw_data: not as long as dims say"),
    ROW(DIMS TYPE("\x01") RAW("\x09") "\0\0\x80\x3f\0\0\0\0\0" NAME,
        "tensor t: raw_data: not as long as dims say"),
    ROW(DIMS TYPE("\x01") FLOATS("\x04") "\0\0\0\0" NAME,
        "tensor t: float_data: not as many elements as dims say"),
    ROW(DIMS TYPE("\x07") INT64S("\x01") "\x05" NAME,
        "tensor t: data: not as many elements as dims say"),
    ROW(DIMS TYPE("\x0a") INT32S("\x01") "\x05" NAME,
        "tensor t: data: not as many elements as dims say"),
    ROW(DIMS TYPE("\x0b") DOUBLES("\x08") "\0\0\0\0\0\0\0\0" NAME,
        "tensor t: data: not as many elements as dims say"),
    ROW(DIMS NAME, "tensor t: data_type: missing or unknown"),
    ROW(DIMS TYPE("\0") NAME, "tensor t: data_type: missing or unknown"),
    ROW(DIMS TYPE("\x11") NAME, "tensor t: data_type: missing or unknown"),
    ROW("\x1a\0" DIMS TYPE("\x01") NAME, "tensor t: segment: tensors in parts are not read"),
    ROW("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" TYPE("\x01") NAME,
        "tensor t: dims: a negative one"),
    ROW(DIMS TYPE("\x01") NAME "\x70\x01",
        "tensor t: data_location: external data need the file of the model"),
    ROW("\x08\x80\x80\x04\x08\x80\x80\x02" TYPE("\x08"), "string"),      /* 2^16 x 2^15 = 2^31 */
    ROW("\x08\x80\x80\x04\x08\x81\x80\x02" TYPE("\x08") NAME,
        "tensor t: dims: more than 2^31 elements"),
    ROW("\x07", "is not an ONNX tensor"),
};

/* The type and the numbers, or the error without the path. */
static const char *loaded(struct arena *a, const char *path, struct err *e)
{
    const struct onnx_tensor *t;
    if (!onnx_tensor_load(a, path, &t, e))
        return e->text + strlen(path) + (e->text[strlen(path)] == ':') + 1;
    const char *text = onnx_type_name(t->type);
    for (int64_t k = 0; k < t->elems && (t->f || t->i); k++)
        text = t->f ? arena_printf(a, "%s %g", text, (double)t->f[k])
                    : arena_printf(a, "%s %lld", text, (long long)t->i[k]);
    return text;
}

static void all_types_are_read(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct err e = { 0 };
    const char *path = arena_printf(a, "%s/t.pb", temp_dir(NULL));
    for (int i = 0; i < COUNT_OF(tensors); i++) {
        assert_true(file_write_atomic(path, tensors[i].bytes, tensors[i].n, &e));
        const char *got = loaded(a, path, &e);
        if (!streq(got, tensors[i].want))
            fail_msg("row %d: %s, expected %s", i, got, tensors[i].want);
    }
    assert_string_equal(e.fix, "the file is damaged, truncated, or of another kind");
    assert_string_equal(onnx_type_name(17), "unknown");
    assert_string_equal(onnx_type_name(-1), "unknown");
    assert_string_equal(onnx_type_name(0), "undefined");
    arena_free(a);
}

/* The constant w of this text. */
static const struct tensor *constant(struct arena *a, const char *spec)
{
    const struct graph *g;
    struct err e = { 0 };
    if (!graph_from_spec(a, spec, &g, &e))
        fail_msg("%s: %s", spec, e.text);
    return &g->tensor[graph_tensor(g, "w")];
}

static void missing_data_say_what_to_do(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct err e = { 0 };
    f32 data[4];
    const char *dir = temp_dir(NULL), *path = arena_printf(a, "%s/m.onnx", dir);
    const char *fix = "put the model back, write its new place after file=, or import it again";
    assert_true(onnx_build_file(path, 13, "in x:4; const w:4; node Add x w > y; out y"));
    const char *const row[][3] = {
        { arena_printf(a, "%s/none.onnx tensor=w", dir),
          arena_printf(a, "the data of w are in %s/none.onnx: No such file or directory", dir),
          fix },
        { arena_printf(a, "%s tensor=w", dir),
          arena_printf(a, "the data of w are in %s: it is no regular file", dir), fix },
        { arena_printf(a, "%s tensor=v", path),
          arena_printf(a, "the data of w are missing: %s has no float constant v", path), "" },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        const struct tensor *w = constant(a, arena_printf(a, "w = const k=4 file=%s hash=%016d; "
                                                          "y = relu(w)", row[i][0], 1));
        assert_false(weights_tensor_data(w, 1, data, &e));
        assert_string_equal(e.text, row[i][1]);
        assert_string_equal(e.fix, row[i][2]);
    }
    const struct tensor *w = constant(a, arena_printf(a, "w = const k=3 file=%s tensor=w "
                                                      "hash=%016d; y = relu(w)", path, 1));
    assert_false(weights_tensor_data(w, 1, data, &e));
    assert_string_equal(e.text, arena_printf(a, "w has 3 elements, but w of %s has 4", path));
    w = constant(a, arena_printf(a, "w = const k=4 file=%s tensor=w hash=%016d; y = relu(w)",
                                 path, 1));
    assert_false(weights_tensor_data(w, 1, data, &e));
    assert_true(str_starts(e.text, "the data of w have changed: the hash of w of "));
    assert_non_null(strstr(e.text, ", not 0000000000000001"));
    assert_string_equal(e.fix, "put the old model back, or import the new one with tilescope"
                        " import");
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types_are_read),
        cmocka_unit_test(missing_data_say_what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
