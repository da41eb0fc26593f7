/* ONNX nodes that slide windows over their input, nodes that are computed during the import, and
 * what whole models are refused for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include "kernels/onnx/onnx.h"
#include "tests/unit/onnx_build.h"
#include "tests/unit/onnx_rows.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define CONV(x, w, attributes) "in x:" x "; in w:" w "; node Conv x w > y " attributes "; out y"
#define TRANSPOSED(x, w, attributes) \
    "in x:" x "; in w:" w "; node ConvTranspose x w > y " attributes "; out y"
#define POOL(op, x, attributes) "in x:" x "; node " op " x > y " attributes "; out y"

static const struct onnx_row convolutions[] = {
    /* pads: one row above, one column to the right */
    { 13, CONV("1,1,2,2", "1,1,2,2", "pads=1,0,0,1"), "1,2,3,4;1,10,100,1000",
      "1x1x2x2: 2100 200 4321 402" },
    { 13, CONV("1,1,3", "1,1,2", "auto_pad~SAME_LOWER"), "1,2,3;1,10", "1x1x3: 10 21 32" },
    { 13, CONV("1,1,3", "1,1,2", "auto_pad~SAME_UPPER"), "1,2,3;1,10", "1x1x3: 21 32 3" },
    { 13, CONV("1,1,3", "1,1,2", "auto_pad~VALID pads=1,1"), "1,2,3;1,10", "1x1x2: 21 32" },
    { 13, CONV("1,1,3", "1,1,2", "auto_pad~NOTSET pads=1,0"), "1,2,3;1,10", "1x1x3: 10 21 32" },
    { 13, CONV("1,1,5", "1,1,3", "auto_pad~SAME_UPPER strides=2,"), "1,2,3,4,5;1,1,1",
      "1x1x3: 3 9 9" },
    { 13, CONV("1,1,4", "1,1,2", "auto_pad~SAME_UPPER strides=4,"), "1,2,3,4;1,10", "1x1x1: 21" },
    { 13, CONV("1,1,4", "1,1,2", "dilations=3,"), "1,2,3,4;1,10", "1x1x1: 41" },
    { 13, "in x:1,1,2; in w:1,1,1; in b:1; node Conv x w b > y; out y", "1,2;3;10",
      "1x1x2: 13 16" },
    { 13, CONV("1,2,3", "2,1,2", "group=2"), "", "1x2x2: 1 2 18 23" },
    { 13, CONV("1,2,2", "4,1,1", "group=2"), ";1,2,3,4", "1x4x2: 0 1 0 2 6 9 8 12" },
    { 13, CONV("1,2,1,1,1", "2,1,1,1,1", "group=2"), "5,7;2,3", "1x2x1x1x1: 10 21" },
    { 13, CONV("1,4,9", "8,3,3", ""), "", "weights 8x3x3 do not fit 1x4x9 in 1 groups" },
    { 13, CONV("1,4,9", "8,4,3", "group=3"), "", "weights 8x4x3 do not fit 1x4x9 in 3 groups" },
    { 13, CONV("1,4,9", "7,2,3", "group=2"), "", "weights 7x2x3 do not fit 1x4x9 in 2 groups" },
    { 13, CONV("1,4,9", "8,4,3,3", ""), "", "weights 8x4x3x3 do not fit 1x4x9 in 1 groups" },
    { 13, CONV("1,4,9", "8,4,3", "group=0"), "", "weights 8x4x3 do not fit 1x4x9 in 0 groups" },
    { 13, CONV("1,4", "8,4", ""), "", "its input has 0 spatial axes; 1 to 3 are possible" },
    { 13, CONV("1,1,1,1,1,1", "1,1,1,1,1,1", ""), "",
      "its input has 4 spatial axes; 1 to 3 are possible" },
    { 13, CONV("1,1,4", "1,1,2", "kernel_shape=3,"), "",
      "attribute kernel_shape differs from the weights" },
    { 13, CONV("1,1,4", "1,1,2", "kernel_shape=2,2"), "",
      "attribute kernel_shape has 2 numbers, not 1" },
    { 13, CONV("1,1,4", "1,1,2", "pads=1,"), "", "attribute pads has 1 numbers, not 2" },
    { 13, CONV("1,1,4", "1,1,2", "pads=-1,0"), "",
      "attribute pads: -1 is not between 0 and 4096" },
    { 13, CONV("1,1,4", "1,1,2", "dilations=4097,"), "",
      "attribute dilations: 4097 is not between 1 and 4096" },
    { 13, CONV("1,1,4", "1,1,2", "auto_pad~SAME"), "",
      "attribute auto_pad has the value SAME, which is not supported" },
    { 13, "in x:1,1,4; in w:2,1,2; in b:1; node Conv x w b > y; out y", "",
      "the bias is not a vector of 2" },
    { 13, "in x:1,1,4; in w:2,1,2; in b:2,1; node Conv x w b > y; out y", "",
      "the bias is not a vector of 2" },
    { 13, CONV("1,130,1,1,1", "130,2,1,1,1", "group=65"), "",
      "65 groups are not possible here; at most 64 are" },
    { 13, TRANSPOSED("1,1,2", "1,1,2", "strides=2,"), "1,2;3,4", "1x1x4: 3 4 6 8" },
    { 13, TRANSPOSED("1,1,2", "1,1,2", "strides=2, pads=1,0"), "1,2;3,4", "1x1x3: 4 6 8" },
    { 13, TRANSPOSED("1,1,2", "1,1,2", "strides=2, pads=2,1"), "1,2;3,4", "1x1x1: 6" },
    { 13, TRANSPOSED("1,1,2", "1,1,2", "strides=2, pads=2,2"), "1,2;3,4",
      "the padding leaves no output, or is too large" },
    { 13, TRANSPOSED("1,1,2", "1,1,2", "strides=2, output_padding=1,"), "1,2;3,4",
      "1x1x5: 3 4 6 8 0" },
    { 13, TRANSPOSED("1,1,2", "1,1,2", "strides=2, output_shape=3,"), "1,2;3,4",
      "1x1x3: 4 6 8" },
    { 13, TRANSPOSED("1,1,2", "1,1,2", "strides=2, output_shape=3, auto_pad~SAME_UPPER"),
      "1,2;3,4", "1x1x3: 3 4 6" },
    { 13, TRANSPOSED("1,1,2", "1,1,2", "strides=2, output_shape=5,"), "1,2;3,4",
      "1x1x5: 3 4 6 8 0" },
    { 13, TRANSPOSED("1,1,2", "1,1,3", "strides=2, auto_pad~SAME_LOWER"), "1,2;3,4,5",
      "1x1x4: 4 11 8 10" },
    { 13, TRANSPOSED("1,1,2", "1,1,2", "dilations=2,"), "1,2;3,4", "1x1x4: 3 6 4 8" },
    { 13, TRANSPOSED("1,2,1", "2,1,1", "group=2"), "5,7;2,3", "1x2x1: 10 21" },
    { 13, TRANSPOSED("1,2,1", "2,2,1", ""), "5,7;1,2,3,4", "1x2x1: 26 38" },
    { 13, "in x:1,1,2; in w:1,1,2; in b:1; node ConvTranspose x w b > y strides=2,; out y",
      "1,2;3,4;10", "1x1x4: 13 14 16 18" },
    { 13, TRANSPOSED("1,2,1", "3,2,1", ""), "", "weights 3x2x1 do not fit 1x2x1 in 1 groups" },
};

static const struct onnx_row pools[] = {
    { 13, POOL("MaxPool", "1,1,5", "kernel_shape=2, strides=2,"), "", "1x1x2: 1 3" },
    { 13, POOL("MaxPool", "1,1,5", "kernel_shape=2,"), "", "1x1x4: 1 2 3 4" },
    { 13, POOL("MaxPool", "1,1,5", "kernel_shape=2, strides=2, ceil_mode=1"), "",
      "1x1x3: 1 3 4" },
    { 13, POOL("MaxPool", "1,1,3", "kernel_shape=1, strides=3, ceil_mode=1"), "", "1x1x1: 0" },
    { 13, POOL("MaxPool", "1,1,5", "kernel_shape=2, dilations=2,"), "", "1x1x3: 2 3 4" },
    { 13, POOL("MaxPool", "1,1,5", "kernel_shape=2, dilations=2, pads=1,1"), "",
      "1x1x5: 1 2 3 4 3" },
    { 13, POOL("MaxPool", "1,1,6", "kernel_shape=2, dilations=2, strides=2,"), "",
      "1x1x2: 2 4" },
    { 13, POOL("MaxPool", "1,1,2,2,2", "kernel_shape=2,2,2"), "", "1x1x1x1x1: 7" },
    { 13, POOL("MaxPool", "1,1,2,3", "kernel_shape=2,2"), "", "1x1x1x2: 4 5" },
    { 13, POOL("MaxPool", "1,2,2", "kernel_shape=1,"), "-1,-2,-3,-4", "1x2x2: -1 -2 -3 -4" },
    { 13, POOL("AveragePool", "1,1,2,2,2", "kernel_shape=2,2,2"), "", "1x1x1x1x1: 3.5" },
    { 13, POOL("AveragePool", "1,1,2", "kernel_shape=2, pads=1,1"), "2,4", "1x1x3: 2 3 4" },
    { 13, POOL("AveragePool", "1,1,2", "kernel_shape=2, pads=1,1 count_include_pad=1"), "2,4",
      "1x1x3: 1 3 2" },
    { 13, POOL("AveragePool", "1,1,5", "kernel_shape=2, strides=2, ceil_mode=1"), "",
      "1x1x3: 0.5 2.5 4" },
    { 13, POOL("AveragePool", "1,1,5", "kernel_shape=2, strides=2, ceil_mode=1 "
               "count_include_pad=1"), "",
      "ceil_mode=1 with count_include_pad=1 is not supported here: a window reaches beyond the "
      "padding" },
    { 13, POOL("AveragePool", "1,1,4", "kernel_shape=2, strides=2, ceil_mode=1 "
               "count_include_pad=1"), "", "1x1x2: 0.5 2.5" },
    { 19, POOL("AveragePool", "1,1,5", "kernel_shape=2, dilations=2,"), "",
      "means of dilated windows are not supported" },
    { 13, POOL("MaxPool", "1,1,5", ""), "", "attribute kernel_shape is missing" },
    { 13, POOL("MaxPool", "1,5", "kernel_shape=2,"), "",
      "its input has 0 spatial axes; 1 to 3 are possible" },
    { 13, POOL("MaxPool", "1,1,5", "kernel_shape=6,"), "",
      "its kernel spans 6, but the padded input has only 5" },
    { 13, POOL("MaxPool", "1,1,5", "kernel_shape=1048577,"), "",
      "attribute kernel_shape: 1048577 is not between 1 and 1048576" },
    { 13, POOL("MaxPool", "1,1,600", "kernel_shape=257, dilations=2,"), "",
      "a dilated window of 257 is not possible; at most 256 is" },
    { 13, "in x:1,1,5; node MaxPool x > y i kernel_shape=2, storage_order=1; out y", "",
      "attribute storage_order has the value 1, which is not supported" },
    { 13, "in x:1,1,3; node MaxPool x > y i kernel_shape=2,; out y", "", "1x1x2: 1 2" },
    { 13, "in x:1,1,3; node MaxPool x > y i kernel_shape=2,; out i", "",
      "output i: node y does not compute it in inference" },
    { 13, "in x:1,1,3; node MaxPool x > y i kernel_shape=2,; node Relu i > z; out z", "",
      "output z: node y does not compute it in inference" },
};

/* Constants are added to an input of zeros. */
#define ADD(nodes, n, zeros, want) \
    { 15, "in x:" n "; in z:2,3,4; " nodes "; node Add x r > y; out y", zeros, want }
#define INT(name, value) "node Constant > " name " value_int=" value "; "
#define FLOAT(name, value) "node Constant > " name " value_float=" value "; "

static const struct onnx_row constants[] = {
    ADD(INT("a", "1") INT("b", "8") INT("c", "3") "node Range a b c > r", "3", "0,0,0",
        "3: 1 4 7"),
    ADD(INT("a", "5") INT("b", "0") INT("c", "-2") "node Range a b c > r", "3", "0,0,0",
        "3: 5 3 1"),
    ADD(FLOAT("a", "0.0") FLOAT("b", "1.0") FLOAT("c", "0.25") "node Range a b c > r", "4",
        "0,0,0,0", "4: 0 0.25 0.5 0.75"),
    { 13, "in x:1; " INT("a", "1") INT("b", "8") INT("c", "0") "node Range a b c > r; out r", "",
      "it would make 0 numbers; 1 to 65536 are possible" },
    { 13, "in x:1; " INT("a", "0") INT("b", "65537") INT("c", "1") "node Range a b c > r; out r",
      "", "it would make 65537 numbers; 1 to 65536 are possible" },
    ADD("node Shape z > r", "3", "0,0,0", "3: 2 3 4"),
    ADD("node Shape z > r start=1", "2", "0,0", "2: 3 4"),
    ADD("node Shape z > r start=-2", "2", "0,0", "2: 3 4"),
    ADD("node Shape z > r start=-9", "3", "0,0,0", "3: 2 3 4"),
    ADD("node Shape z > r end=-1", "2", "0,0", "2: 2 3"),
    ADD("node Shape z > r end=9", "3", "0,0,0", "3: 2 3 4"),
    ADD("node Shape z > r start=1 end=2", "1", "0", "1: 3"),
    ADD("node Size z > r", "1", "0", "1: 24"),
    ADD("ints v:5,6,7,8; ints b:1; ints e:3; node Slice v b e > r", "2", "0,0", "2: 6 7"),
    ADD("ints v:5,6,7,8; ints b:-3; ints e:-1; node Slice v b e > r", "2", "0,0", "2: 6 7"),
    ADD("ints v:5,6,7,8; ints b:-9; ints e:9; node Slice v b e > r", "4", "0,0,0,0",
        "4: 5 6 7 8"),
    ADD("ints v:5,6,7; ints b:0; ints e:3; ints a:0; ints d:2; node Slice v b e a d > r", "2",
        "0,0", "2: 5 7"),
    ADD("ints a:7,-7; ints b:2; node Div a b > r", "2", "0,0", "2: 3 -3"),
    ADD("node Constant > r value_ints=3,4", "2", "0,0", "2: 3 4"),
    ADD("node Constant > r value_floats=0.5,1.5", "2", "0,0", "2: 0.5 1.5"),
    ADD("const w:4; " FLOAT("h", "2.0") "node Mul w h > r", "4", "0,0,0,0", "4: 0 0.5 1 1.5"),
    ADD("ints n:2; node ConstantOfShape n > r", "2", "5,6", "2: 5 6"),
    { 13, "in x:1; node Constant > c; node Add x c > y; out y", "",
      "attribute value is not a tensor of numbers / depends on a result of node c that is not "
      "supported" },
    { 13, "in x:1; ints n:-1; node ConstantOfShape n > c; out c", "",
      "a dimension has -1 elements, which is not possible" },
};

static void windows_slide(void **state)
{
    (void)state;
    onnx_check(convolutions, COUNT_OF(convolutions));
    onnx_check(pools, COUNT_OF(pools));
}

static void constants_are_computed(void **state)
{
    (void)state;
    onnx_check(constants, COUNT_OF(constants));
}

/* Errors of whole models, not reasons of nodes. */
static const struct onnx_row wrong_models[] = {
    { 13, "in x:1; const w:1; const w:1; node Add x w > y; out y", "",
      "initializer w is defined twice" },
    { 13, "in x:1; in x:1; node Relu x > y; out y", "", "input x is defined twice" },
    { 13, "in x:1; node Relu x > y; node Relu x > y; out y", "",
      "node y (Relu): output y is computed twice" },
    { 13, "in x:1; node Relu x > y", "", "the graph has no outputs" },
    { 13, "in x:2,3; node Relu x > y; out y:2,3,1", "",
      "output y: its declared shape is wrong, the nodes compute 2x3" },
    { 13, "in x; node Relu x > y; out y", "", "the shape of x is not known" },
    { 101, "in x:1; node Relu x > y; out y", "",
      "m.onnx: opset_import has version 101, which is not supported" },
    { 100, "in x:1; node Relu x > y; out y", "5", "1: 5" },
    { 13, "in x:1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1; node Relu x > y; out y", "",
      "m.onnx: the shape of x has more than 16 dimensions" },
    { 13, "in x:1; const w:1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1; node Add x w > y; out y", "",
      "m.onnx: tensor w: dims: too many" },
    { 13, "in x:-3; node Relu x > y; out y", "", "m.onnx: the shape of x has a dimension of -3" },
    { 13, "in x:2147483649; node Relu x > y; out y", "",
      "m.onnx: the shape of x has a dimension of 2147483649" },
    /* 2^20 x 2^20 is possible; 2^41 elements are too many */
    { 13, "in x:1048576,2097152; node Relu x > y; out y", "", "x is empty or too large" },
    { 13, "in x:1048576,1; in z:1,2097152; node Add x z > y; out y", "",
      "its result would have the shape 1048576x2097152, which is too large" },
    { 13, "in a1:1; in A1:1; node Add a1 A1 > relu; out relu", "1,;2", "1: 3" },
};

static void whole_models_are_refused(void **state)
{
    (void)state;
    onnx_check(wrong_models, COUNT_OF(wrong_models));
}

/* Imports a model.  The caller frees the results. */
static void import(struct arena *a, const char *text, struct onnx_model **m, struct onnx_graph *g)
{
    uint8_t *data;
    struct err e = { 0 };
    size_t n = onnx_build(a, 13, text, &data);
    if (!onnx_read("m.onnx", data, n, m, &e) || !onnx_import(*m, NULL, 0, g, &e))
        fail_msg("%s: %s", text, e.text);
}

static void the_list_of_nodes_says_what_is_assumed(void **state)
{
    (void)state;
    static const struct { const char *text, *list; } rows[] = {
        { "in7 i:batch,2; in11 d:2; node Add i d > s; node Frob s > f; node Relu f > g; "
          "node Relu f > h; out h",
          "ONNX model small, opset 13, made by test.\n"
          "The first dimension of i (batch) is open: taken as 1.\n"
          "i holds int64. It is computed as float32, which is exact up to 16,777,216.\n"
          "d holds double. It is computed as float32.\n"
          "4 nodes, 1 not supported, and 2 that depend on unsupported results\n\n"
          "     0  Add                   s                           1x2\n"
          "!    1  Frob                  f                           no statement for this"
          " operator\n"
          "!    2  Relu                  g                           depends on a result of node f"
          " that is not supported\n"
          "!    3  Relu                  h                           depends on a result of node f"
          " that is not supported\n" },
        { "in x:2; node Frob x > f; node Relu f > g; out g",
          "ONNX model small, opset 13, made by test.\n"
          "2 nodes, 1 not supported, and 1 that depends on unsupported results\n\n"
          "!    0  Frob                  f                           no statement for this"
          " operator\n"
          "!    1  Relu                  g                           depends on a result of node f"
          " that is not supported\n" },
        { "in x:; node Relu x > y; out y",
          "ONNX model small, opset 13, made by test.\n"
          "1 nodes, 0 not supported\n\n"
          "     0  Relu                  y                           scalar\n" },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct arena *a = arena_new();
        struct onnx_model *m;
        struct onnx_graph g;
        struct str out = { 0 };
        import(a, rows[i].text, &m, &g);
        onnx_print(&out, m, &g);
        assert_string_equal(str_text(&out), rows[i].list);
        str_free(&out);
        onnx_graph_free(&g);
        onnx_free(m);
        arena_free(a);
    }
}

/* Open dims get sizes by name, in outputs as well, and lose them again. */
static void dims_are_set_and_opened(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    uint8_t *data;
    struct onnx_model *m;
    struct err e = { 0 };
    size_t n = onnx_build(a, 13, "in x:b,se,4; in z:s; node Relu x > y; out y:b,se,4", &data);
    assert_true(onnx_read("m.onnx", data, n, &m, &e));
    assert_false(onnx_set_dims(m, "b=1073741825", &e));
    assert_string_equal(e.text, "\"b=1073741825\" is not of the form NAME=SIZE");
    assert_string_equal(e.fix, "--dim batch=1");
    assert_false(onnx_set_dims(m, "b,se=3", &e));
    assert_string_equal(e.text, "\"b\" is not of the form NAME=SIZE");
    assert_true(onnx_set_dims(m, "b=1073741824,s=7,", &e));
    assert_string_equal(m->dims, "b=1073741824,s=7,");
    assert_true(m->in[0].dims[0] == 1 << 30 && m->in[0].dims[1] == -1 && m->in[0].dims[2] == 4);
    assert_true(m->in[1].dims[0] == 7);
    assert_true(m->out[0].dims[0] == 1 << 30 && m->out[0].dims[1] == -1);
    onnx_open_dims(m);
    assert_null(m->dims);
    assert_true(m->in[0].dims[0] == -1 && m->in[0].dims[2] == 4 && m->in[1].dims[0] == -1);
    assert_true(m->out[0].dims[0] == -1 && m->out[0].dims[2] == 4);
    onnx_free(m);
    n = onnx_build(a, 13, "in x:2; node Relu x > y; out y", &data);
    assert_true(onnx_read("m.onnx", data, n, &m, &e));
    assert_false(onnx_set_dims(m, "b=1", &e));
    assert_string_equal(e.text, "the model has no open dimension \"b\"");
    assert_string_equal(e.fix, "all dimensions of its inputs have numbers; leave --dim out");
    onnx_free(m);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_slide),
        cmocka_unit_test(constants_are_computed),
        cmocka_unit_test(whole_models_are_refused),
        cmocka_unit_test(the_list_of_nodes_says_what_is_assumed),
        cmocka_unit_test(dims_are_set_and_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
