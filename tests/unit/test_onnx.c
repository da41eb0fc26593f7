/* ONNX import: models built here, the statements that they become, what is refused and why, cases
 * that come with ONNX, and damaged files. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <onnx.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/onnx/onnx.h"
#include "kernels/onnx/weights.h"
#include "tests/unit/onnx_build.h"
#include "tests/unit/onnx_case.h"
#include "tests/unit/run_program.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* The statements of a model, the reasons of its unsupported nodes, or the error. */
static const char *imported(struct arena *a, int opset, const char *text)
{
    uint8_t *data;
    size_t n = onnx_build(a, opset, text, &data);
    struct onnx_model *m;
    struct onnx_graph g;
    struct err e;
    if (!onnx_read("m.onnx", data, n, &m, &e))
        return arena_strdup(a, e.text);
    const char *result = NULL;
    if (!onnx_import(m, NULL, 0, &g, &e)) {
        result = arena_strdup(a, e.text);
    } else {
        for (int i = 0; i < m->n_nodes; i++)
            if (g.reason[i])
                result = arena_printf(a, "%s%s; ", result ? result : "", g.reason[i]);
        assert_true(!result == (g.text.len > 0));
        if (!result)
            result = arena_strdup(a, str_text(&g.text));
        onnx_graph_free(&g);
    }
    onnx_free(m);
    return result;
}

static const struct { int opset; const char *model, *expect; } models[] = {
    { 13, "in x:2,3; node Relu x > y; out y:2,3", "x = input d0=2 d1=3\ny = relu(x)\noutput y\n" },
    { 0, "in x:2; node Relu x > y; out y", "y = relu(x)\n" },
    { 13, "in x:2; node Selu x > y; out y", "mul=1.05070102 add=0\n" },
    { 13, "in x:1,4,9,9; const w:8,4,3,3; const b:8; node Conv x w b > y pads=1,1,1,1 "
          "strides=2,2; out y:1,8,5,5", "y = c2d(x, w, b) o=8 k=3 s=2 p=1 bias=1\n" },
    { 13, "in x:1,4,9,9; const w:4,1,3,3; node Conv x w > y group=4 auto_pad~SAME_UPPER; out y",
      "y = dep(x, w) k=3 s=1 p=1\n" },
    { 13, "in x:1,4,9,9; const w:8,2,3,5; node Conv x w > y group=2 pads=0,1,1,2; out y",
      "y = grp(x, w) o=8 g=2 kh=3 kw=5 s=1 ph0=0 ph1=1 pw0=1 pw1=2\n" },
    { 13, "in x:1,4,9; const w:8,4,3; node Conv x w > y dilations=2; out y:1,8,5", "expected" },
    { 13, "in x:1,4,9; const w:8,4,3; node Conv x w > y dilations=2,; out y:1,8,5",
      "y = c1d(x, w) o=8 k=3 s=1 d=2\n" },
    { 12, "in x:2,3,4; node Softmax x > y; out y:2,3,4", "softmax(" },
    { 13, "in x:2,3,4; node Softmax x > y axis=1; out y", "y = softmax(x) axis=1\n" },
    { 5, "in x:2,6; ints s:3,-1; node Reshape x s > y; out y:3,4", "y = reshape(x) shape=3,4\n" },
    { 13, "in x:2097152,2; ints s:-1,2097152; node Reshape x s > y; out y",
      "y = reshape(x) shape=2,2097152\n" },
    { 13, "in x:0,6; node Identity x > y; out y", "x = input d0=1 d1=6\ny = identity(x)\n" },
    { 13, "in x:4; const c:4; node Dropout c > d m; node Add x d > u; node Mul u c > v; "
          "node Cast m > k to=1; node Mul v k > y; out y",
      "x = input d0=4\nu = add(x, c)\nv = mul(u, c)\nk = const d0=4 value=1\ny = mul(v, k)\n" },
    { 13, "in x:4,6; node Shape x > s; node Reshape x s > u; node Relu u > y; out y",
      "y = relu(x)\n" },
    { 13, "in x:1,6; ints a:-1,; ints b:9,; node Shape x > s; node Slice s a b > t; "
          "node Reshape x t > y; out y:6", "y = reshape(x) shape=6\n" },
    { 13, "in add:4; node Relu add > input; out input", "add_2 = input d0=4\ninput_2 = relu(" },
    { 13, "in x:4; in x.Conv:1,1,3,3; const w:1,1,2,2; node Conv x.Conv w > x_Conv; out x_Conv",
      "x_Conv_2 = c2d(x_Conv, w)" },
    { 13, "in x:1,1,3,3; const y_Conv:1,1,2,2; const b:1; node Conv x y_Conv b > y; out y",
      " = c2d(" },
    { 11, "in x:2,2; ints p:0,1,0,1; node Pad x p > y; out y:2,4",
      "y = pad(x) before=0,1 after=0,1 value=0\n" },
    { 13, "in x:2,3; const s:1; node Div x s > y; out y", "\ns = const d0=1 value=0\n" },
    { 13, "in x:2,2; const w:2,2; node Add x w > y; out y", "d0=2 d1=2 value=0,0.25,0.5,0.75\n" },
    { 13, "in x:4; const w:2,2; ints s:4,; node Reshape w s > v; node Add x v > y; out y",
      "w = const d0=4 value=0,0.25,0.5,0.75\n" },
    { 13, "in x:17; const w:17; node Add x w > y; out y", "w = const d0=17\n" },
    { 13, "in x:20; ints n:20; node ConstantOfShape n > w; node Add x w > y; out y",
      "w = const d0=20 value=0\n" },
    { 13, "in x:3; node Constant > c value_float=0.5; node Mul x c > y; out y",
      "c = const d0=1 value=0.5\n" },
    /* whole numbers and masks; indices */
    { 13, "in7 i:2,3; const t:5,4; node Gather t i > y; out y:2,3,4", "y = gather(t, i) axis=0\n" },
    { 13, "in x:5,4; ints i:1,2,3; node Gather x i > y; out y:3,4",
      "y = slice(x) axis=0 from=1 to=4 step=1\n" },
    { 13, "in x:5,4; ints i:1,5; node Gather x i > y; out y", "index 5 is outside of the 5" },
    { 13, "in7 i:1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1; in x:5,4,3; node Gather x i > y; out y",
      "its result would have 18 dimensions; at most 8 are possible" },
    { 13, "in x:4; ints i:1,1; in u:8; node ScatterND x i u > y; out y",
      "its indices and updates differ in shape" },
    { 13, "in9 m:2; in x:2; in z:2; node Where m x z > y; out y", "y = where(m, x, z)\n" },
    { 13, "in7 x:2; node Cast x > y to=1; out y", "y = identity(x)\n" },
    { 13, "in x:2; node Cast x > y to=16; out y", "rounding to bfloat16 is not supported" },
    { 13, "in8 x:2; node Identity x > y; out y", "x has type string, which cannot be computed" },
    { 13, "in7 x:1; ints b:16777217,; node Add x b > y; out y",
      "b holds 16777217, which is not exact as float32" },
    { 13, "in x:1,3; ints s:-1,3; ints m:-1,; ints two:2,; node Equal s m > e; "
          "node Where e two s > t; node Expand x t > y; out y:2,3", "y = expand(x) shape=2,3\n" },
    { 13, "in x:64,4096; ints n:4096,4096; node ConstantOfShape n > w; node MatMul x w > y; out y",
      "w = const d0=4096 d1=4096 value=0\n" },
    { 9, "in x:1,1,2,2; const s:32; node Upsample x s > y scales=1.,1.,2.,2.; out y",
      "it has 32 scales for 4 axes" },
    { 13, "in x:1,1,2,2; const r:0,; const s:4; node Resize x r s > y mode~linear; out y",
      "the scale 0 is not possible" },
    { 18, "in x:2,5; ints k:1,; node ReduceMax x k > y keepdims=0; out y:2",
      "y = reduce_max(x) axes=1 keep=0\n" },
    { 13, "in x:2,3,4; in z:2,5,4; node Einsum x z > y equation~abc,adc->dab; out y:5,2,3",
      "matmul(" },
    { 13, "in x:2,3; node Einsum x > y equation~ii->i; out y", "\"i->i\" is not supported" },
    { 13, "in x:2,3; in z:3,4; node Einsum x z > y equation~ij,jk-ik; out y",
      "equation: \"-ik\" is not valid here" },
    { 13, "in x:2,3; in z:3,4; node Einsum x z > y equation~ij,jk->ik->; out y",
      "equation: \"->\" is not valid here" },
    { 13, "in7 i:1,1,1,1,1,1,1,1; ints d:3,; const v:2; node OneHot i d v > y; out y",
      "its indices have 8 dimensions; 1 to 7 are possible" },
    { 13, "in x:2000000; ints i:0,; in u:1; node ScatterElements x i u > y; out y",
      "its data and updates have 2000001 elements; at most 1048576 are possible" },
    { 13, "in x:2; node Dropout > y m; out y", "input 0 is missing" },
    { 13, "in x:2; in r:1; node Dropout x r > y; out y", "y = identity(x)\n" },
    { 13, "in x:2; in r:1; ints t:1,; node Dropout x r t > y; out y",
      "only inference is supported, and its input t is not the constant false" },
    { 13, "in x:2; ints t:; node Dropout x _ t > y; out y",
      "only inference is supported, and its input t is not the constant false" },
    { 13, "in x:2,3; in z:4,3; node Einsum x z > y equation~ab,bc; out y", "b has two sizes" },
    { 13, "in x:2,4000000; node ArgMax x > y axis=1; out y", "4000000 x 1 is too large" },
    { 13, "ints a:0,; ints b:1,; node Slice _ a b > y; out y", "input 0 is missing" },
    { 13, "in x:2,3; in7 t:2; in w:1,3; node SoftmaxCrossEntropyLoss x t w > y; out y",
      "its weights are not a vector" },
    { 13, "in x:batch,4; node Relu x > y; out y", "x = input d0=1 d1=4\n" },
    { 13, "in x:2,seq; node Relu x > y; out y",
      "dimension 1 of x is open; --dim seq=SIZE sets it" },
    /* names of any bytes */
    { 13, "in x\x1b[2J\xff:2; node Relu x\x1b[2J\xff > y; out y", "x_x1b_2J_xff = input d0=2" },
    { 13, "in \n:2; node Relu \n > \t; out \t", "v_x09 = relu(v_x0a)" },
    { 13, "in \\x0a:2; in \n:2; node Add \n \\x0a > y; out y", "= add(v_x0a, " },
    { 13, "in \xc2\x9b:2; node Frob \xc2\x9b > y mode~\x07; out y", "no statement for" },
    { 13, "in x:2; node Relu z\x1b > y; out y", "initializer gives its input z\\x1b" },
    /* refused, by name */
    { 13, "in a:2; in b:2; in c:2; in d:2; node Mean a b c d > y; out y",
      "y = affine(add_4) mul=0.25 " },
    { 13, "in a:2; in b:2; in c:2; node Sum a b c > y; out y", "y = add(add_2, c)\n" },
    { 13, "in a:2; in b:2; in c:2; node Min a b c > y; out y", "y = min(min, c)\n" },
    { 13, "in x:2,3; node Frob x > y; out y", "no statement for this operator" },
    { 13, "in x:2; in s:2; node Frob x > y; node Reshape x s > z; out z", "operator; its input s" },
    { 13, "in x:2,3; in s:2; node Reshape x s > y; out y", "its input s is not a constant" },
    { 13, "in x:2,3; node Relu z > y; out y", "node y (Relu): no earlier node, input" },
    { 13, "in x:2; node Add x b > a; node Relu a > b; out b", "initializer gives its input b" },
    { 13, "in x:2; node Relu x > x; out x", "output x is computed twice" },
    { 13, "in x:2,3; node Relu x > y; out y:3,2", "the nodes compute 2x3" },
    { 13, "in x:2,3; node Relu x > a; node Relu a > y; info a:3,2; out y",
      "node a (Relu): its result a is declared as 3x2, but the node computes 2x3" },
    { 13, "in x:2,3; node Relu x > a; node Relu a > y; info a:2,3,1; info z:7; out y",
      "a is declared as 2x3x1" },
    { 13, "in x:2,3; ints s:3,2; node Reshape x s > a; node Relu a > y; info s:1; info a:6,1; "
          "out y", "declared as 6x1, but the node computes 3x2" },
    { 13, "in x:2,3; node Relu x > a; node Relu a > y; info a:batch,3; info x:9; out y",
      "y = relu(a)" },
    { 13, "in x:2,3; node Relu x > y; out z", "no node computes output z" },
    { 13, "in x:2,3; in z:4; node Add x z > y; out y", "2x3 cannot be broadcast with 4" },
    { 13, "in x:2,3,4; in z:3,4,5; node MatMul x z > y; out y", "batches of 2 and of 3" },
    { 13, "in x:1,3,2,2; const s:2; const b:3; const m:3; const v:3; "
          "node BatchNormalization x s b m v > y; out y", "is not a vector of 3 channels" },
    { 13, "in x:2,3; node Transpose x > y perm=0,0; out y", "is not a permutation" },
    { 13, "in x:2,3; node Concat x x > y axis=7; out y",
    "axis 7 does not exist: the tensor has 2" },
    { 13, "in x:3,2; ints p:1,1; node Split x p > a b axis=0; node Add a b > y; out y",
      "its parts have 2 of 3 elements" },
    { 13, "in x:2,3; node GlobalAveragePool x > y; out y", "no spatial axes" },
    { 13, "in x:2,3,4; node GlobalMaxPool x > y; out y", "y = reduce_max(x) axes=2 keep=1\n" },
    { 13, "in x:1,1,2,2; const w:1,1,3,3; node Conv x w > y; out y", "its kernel spans 3" },
    { 13, "in x:1,1,2,2; const w:1,1,1,1; node Conv x w > y strides=0,1; out y",
      "attribute strides: 0 is not between 1" },
    { 13, "in x:9000000000000; node Relu x > y; out y", "a dimension of 9000000000000" },
    { 13, "in x:2,-3; node Relu x > y; out y", "has a dimension of -3" },
    { 13, "in x:2", "0 nodes" },
};

static void models_become_statements(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(models); i++) {
        struct arena *a = arena_new();
        const char *got = imported(a, models[i].opset, models[i].model);
        if (!strstr(got, models[i].expect))
            fail_msg("%s:\n%s\nwithout %s", models[i].model, got, models[i].expect);
        arena_free(a);
    }
}

static void tensors_have_as_many_elements_as_they_say(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    uint8_t *data;
    size_t n = onnx_build(a, 13, "in x:2; const w:2; node Add x w > y; out y", &data);
    Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, n, data);
    m->graph->initializer[0]->dims[0] = (int64_t)1 << 40;
    uint8_t *bad = arena_alloc(a, onnx__model_proto__get_packed_size(m));
    n = onnx__model_proto__pack(m, bad);
    onnx__model_proto__free_unpacked(m, NULL);
    struct onnx_model *out;
    struct err e;
    assert_false(onnx_read("m.onnx", bad, n, &out, &e));
    assert_non_null(strstr(e.text, "tensor w: dims: more than 2^31 elements"));
    arena_free(a);
}

/* Returns the statements of a model in which integers are unsigned of this type (0: as they are),
 * and nodes have this domain (NULL: as they are). */
static const char *imported_as(struct arena *a, const char *text, int type, const char *domain)
{
    uint8_t *data;
    size_t n = onnx_build(a, 13, text, &data);
    Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, n, data);
    for (size_t i = 0; i < m->graph->n_initializer && type; i++) {
        Onnx__TensorProto *t = m->graph->initializer[i];
        t->data_type = type;
        t->n_uint64_data = t->n_int64_data;
        t->uint64_data = (uint64_t *)t->int64_data;
        t->n_int64_data = 0;
        t->int64_data = NULL;
    }
    for (size_t i = 0; i < m->graph->n_node && domain; i++)
        m->graph->node[i]->domain = xstrdup(domain);
    uint8_t *packed = arena_alloc(a, onnx__model_proto__get_packed_size(m));
    n = onnx__model_proto__pack(m, packed);
    onnx__model_proto__free_unpacked(m, NULL);
    struct onnx_model *out;
    struct onnx_graph g;
    struct err e;
    if (!onnx_read("m.onnx", packed, n, &out, &e) || !onnx_import(out, NULL, 0, &g, &e))
        fail_msg("%s: %s", text, e.text);
    const char *result = arena_strdup(a, g.reason[0] ? g.reason[0] : str_text(&g.text));
    onnx_graph_free(&g);
    onnx_free(out);
    return result;
}

static void unsigned_integers_are_read(void **state)
{
    (void)state;
    static const int type[] = { ONNX__TENSOR_PROTO__DATA_TYPE__UINT32,
                                ONNX__TENSOR_PROTO__DATA_TYPE__UINT64 };
    struct arena *a = arena_new();
    for (int i = 0; i < COUNT_OF(type); i++) {
        const char *got = imported_as(a, "in x:2; ints b:1,2; node Add x b > y; out y", type[i],
                                      NULL);
        if (!strstr(got, "b = const d0=2 value=1,2\n"))
            fail_msg("%s", got);
    }
    arena_free(a);
}

/* Constants are computed in nodes of the default domain under both of its names. */
static void the_default_domain_has_two_names(void **state)
{
    (void)state;
    static const char *const domain[] = { "", "ai.onnx" };
    struct arena *a = arena_new();
    for (int i = 0; i < COUNT_OF(domain); i++)
        assert_non_null(strstr(imported_as(a, "in x:4,6; node Shape x > s; node Reshape x s > u; "
                                           "node Relu u > y; out y", 0, domain[i]),
                               "y = relu(x)\n"));
    assert_string_equal(imported_as(a, "in x:4; node Relu x > y; out y", 0, "com.microsoft"),
                        "operators of other domains are not supported");
    arena_free(a);
}

/* Halves go to the even neighbour.  In float32, 0.50000006 + 0.5 is 1; from 2^23 on, x + 0.5 is
 * rounded too, and x is whole. */
static void round_is_exact(void **state)
{
    (void)state;
    static const struct { float x, want; } rows[] = {
        { 0.5f, 0 }, { 1.5f, 2 }, { 2.5f, 2 }, { -1.5f, -2 }, { 0.49999997f, 0 },
        { 0.50000006f, 1 }, { -0.5f, 0 }, { -0.49999997f, 0 }, { -0.50000006f, -1 },
        { 2.4999998f, 2 }, { -2.4999998f, -2 }, { -1e-9f, 0 }, { 1.5000001f, 2 },
        { 8388607.5f, 8388608 }, { 8388609, 8388609 }, { -8388609, -8388609 },
        { 16777215, 16777215 }, { 3e9f, 3e9f }, { INFINITY, INFINITY },
    };
    struct arena *a = arena_new();
    const char *text = arena_printf(a, "in x:%d; node Round x > y; out y", COUNT_OF(rows));
    const struct program *p;
    struct err e;
    if (!program_new(a, imported(a, 13, text), &p, &e))
        fail_msg("%s", e.text);
    const struct graph *g = p->graph;
    float **data = ARENA_ARRAY(a, float *, g->n_tensors);
    for (int t = 0; t < g->n_tensors; t++) {
        data[t] = ARENA_ARRAY(a, float, tensor_elems(&g->tensor[t]));
        if (g->tensor[t].role == TENSOR_CONST)
            assert_true(weights_tensor_data(&g->tensor[t], 1, data[t], &e));
    }
    for (int i = 0; i < COUNT_OF(rows); i++)
        data[graph_tensor(g, "x")][i] = rows[i].x;
    assert_true(program_interpret(p, data, &e));
    for (int i = 0; i < COUNT_OF(rows); i++)
        if (data[graph_tensor(g, "y")][i] != rows[i].want)
            fail_msg("round(%.9g) is %.9g", (double)rows[i].x,
                     (double)data[graph_tensor(g, "y")][i]);
    arena_free(a);
}

static void open_dims_get_sizes(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    uint8_t *data;
    const char *text = "in x:batch,seq,4; in7 i:batch,seq; node Relu x > y; out y";
    size_t n = onnx_build(a, 13, text, &data);
    struct onnx_model *m;
    struct onnx_graph g;
    struct err e = { 0 };
    assert_true(onnx_read("m.onnx", data, n, &m, &e));
    assert_false(onnx_set_dims(m, "sequence=3", &e));
    assert_non_null(strstr(e.text, "no open dimension \"sequence\""));
    assert_string_equal(e.fix, "its open dimensions: batch, seq, batch, seq");
    assert_false(onnx_set_dims(m, "batch", &e) || onnx_set_dims(m, "batch=0", &e) ||
                 onnx_set_dims(m, "=3", &e) || onnx_set_dims(m, "batch=x", &e));
    assert_true(onnx_set_dims(m, "seq=3,batch=2", &e));
    assert_true(onnx_import(m, NULL, 0, &g, &e));
    assert_non_null(strstr(str_text(&g.text), "x = input d0=2 d1=3 d2=4\n"));
    onnx_graph_free(&g);
    onnx_free(m);
    arena_free(a);
}

/* Values up to 2^63 - 1 are read; larger ones are refused, and do not become negative. */
static void large_unsigned_integers_are_refused(void **state)
{
    (void)state;
    for (int large = 0; large < 2; large++) {
        struct arena *a = arena_new();
        struct onnx_model *m;
        struct err e = { 0 };
        uint8_t *data;
        size_t n = onnx_build(a, 13, "in x:1; ints b:0,; node Add x b > y; out y", &data);
        Onnx__ModelProto *proto = onnx__model_proto__unpack(NULL, n, data);
        Onnx__TensorProto *b = proto->graph->initializer[0];
        b->data_type = ONNX__TENSOR_PROTO__DATA_TYPE__UINT64;
        b->int64_data[0] = large ? INT64_MIN : INT64_MAX;     /* 2^63 or 2^63 - 1 */
        b->n_uint64_data = b->n_int64_data;
        b->uint64_data = (uint64_t *)b->int64_data;
        b->n_int64_data = 0;
        b->int64_data = NULL;
        uint8_t *packed = arena_alloc(a, onnx__model_proto__get_packed_size(proto));
        n = onnx__model_proto__pack(proto, packed);
        onnx__model_proto__free_unpacked(proto, NULL);
        bool ok = onnx_read("m.onnx", packed, n, &m, &e);
        if (ok == large || (large && !strstr(e.text, "tensor b: data: a uint64 of 2^63 or more")))
            fail_msg("%d: %s", large, e.text);
        if (ok)
            onnx_free(m);
        arena_free(a);
    }
}

/* A constant is computed with the dims in its name, whatever was asked of the model before.  Names
 * of values and of dims may contain a '?'. */
static void constants_have_the_dims_of_their_names(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    uint8_t *data;
    size_t n = onnx_build(a, 13, "in x:batch,4; in z:b?c,7; node Shape x > s; node Shape z > t; "
                          "node Cast s > f to=1; node Cast s > f?g to=1; node Cast t > h to=1; "
                          "out f; out f?g; out h", &data);
    static const struct { const char *name; float batch, second; } rows[] = {  /* 0: none */
        { "f?batch=3", 3, 4 }, { "f", 1, 4 }, { "f?batch=5", 5, 4 }, { "f?g", 1, 4 },
        { "f?g?batch=6", 6, 4 }, { "h?b?c=8", 8, 7 }, { "f?", 0, 0 }, { "f:batch=3", 0, 0 },
        { "f?batch=0", 0, 0 }, { "f?depth=3", 0, 0 }, { "fbatch=3", 0, 0 }, { "?batch=3", 0, 0 },
    };
    struct onnx_model *m;
    struct err e = { 0 };
    assert_true(onnx_read("m.onnx", data, n, &m, &e));
    for (int i = 0; i < COUNT_OF(rows); i++) {
        const struct onnx_tensor *t = onnx_constant(m, rows[i].name);
        assert_int_equal(t != NULL, rows[i].batch > 0);
        assert_true(!t || (t->elems == 2 && t->f[0] == rows[i].batch
                           && t->f[1] == rows[i].second));
    }
    onnx_free(m);
    arena_free(a);
}

static void cycles_are_called_so(void **state)
{
    (void)state;
    static const struct { const char *model, *fix; } rows[] = {
        { "in x:2; node Add x b > a; node Relu c > b; node Relu a > c; out c",
          "the nodes form a cycle: b depends on the result of a" },
        { "in x:2; node Add x b > a; node Relu x > b; out a", "order the nodes so that" },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct arena *a = arena_new();
        uint8_t *data;
        size_t n = onnx_build(a, 13, rows[i].model, &data);
        struct onnx_model *m;
        struct onnx_graph g;
        struct err e = { 0 };
        assert_true(onnx_read("m.onnx", data, n, &m, &e));
        assert_false(onnx_import(m, NULL, 0, &g, &e));
        if (!strstr(e.fix, rows[i].fix))
            fail_msg("%s: %s", rows[i].model, e.fix);
        onnx_free(m);
        arena_free(a);
    }
}

/* Writes "in x:40; const w:40; ..." with the data of w in a file of their own. */
static void build_external(struct arena *a, const char *path, char *location, char *offset,
                           char *length)
{
    uint8_t *data;
    struct err e;
    size_t n = onnx_build(a, 13, "in x:40; const w:40; node Add x w > y; out y", &data);
    Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, n, data);
    Onnx__TensorProto *w = m->graph->initializer[0];
    Onnx__StringStringEntryProto entry[3], *list[3];
    char *const key[] = { "location", "offset", "length" };
    char *const value[] = { location, offset, length };
    size_t floats = w->n_float_data;
    w->n_external_data = 0;
    for (int i = 0; i < 3; i++) {
        onnx__string_string_entry_proto__init(&entry[i]);
        entry[i].key = key[i];
        entry[i].value = value[i];
        if (value[i])
            list[w->n_external_data++] = &entry[i];
    }
    w->external_data = list;
    w->has_data_location = true;
    w->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    w->n_float_data = 0;
    uint8_t *packed = arena_alloc(a, onnx__model_proto__get_packed_size(m));
    n = onnx__model_proto__pack(m, packed);
    assert_true(file_write_atomic(path, (const char *)packed, n, &e));
    w->n_float_data = floats;
    w->external_data = NULL;
    w->n_external_data = 0;
    onnx__model_proto__free_unpacked(m, NULL);
}

static void external_data_lie_beside_the_model(void **state)
{
    (void)state;
    static const struct { const char *location, *offset, *length, *expect; } rows[] = {
        { "w.bin", "4", "160", NULL },
        { "./w.bin", "4", NULL, NULL },
        { "../out.bin", NULL, NULL, "lies outside of the model's folder" },
        { "link.bin", NULL, NULL, "lies outside of the model's folder" },
        { "/etc/hostname", NULL, NULL, "lies outside of the model's folder" },
        { "none.bin", NULL, NULL, "cannot open none.bin" },
        { ".", NULL, NULL, "outside of the model's folder" },
        { "w.bin", "8", NULL, "ends before offset 8 + 160 bytes" },
        { "w.bin", "9223372036854775807", NULL, "ends before offset" },
        { "w.bin", "-1", NULL, "offset or length is no number" },
        { "w.bin", NULL, "16", "length is not what dims say" },
        { NULL, NULL, NULL, "no location" },
    };
    const char *dir = temp_dir(NULL);
    struct arena *a = arena_new();
    struct err e;
    const char *in = arena_printf(a, "%s/in", dir), *file = arena_printf(a, "%s/w.bin", in);
    const char *out = arena_printf(a, "%s/out.bin", dir);
    const char *link = arena_printf(a, "%s/link.bin", in);
    const char *path = arena_printf(a, "%s/m.onnx", in);
    f32 w[41] = { 0 };
    int free_before = open("/dev/null", O_RDONLY), free_after;
    close(free_before);                   /* the lowest descriptor that is not in use */
    for (int i = 0; i < 41; i++)
        w[i] = (f32)i - 1;
    assert_true(dir_make(in, &e) && file_write_atomic(file, (char *)w, sizeof w, &e) &&
                file_write_atomic(out, (char *)w, sizeof w, &e) && symlink(out, link) == 0);
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct onnx_model *m = NULL;
        build_external(a, path, (char *)(uintptr_t)rows[i].location,
                       (char *)(uintptr_t)rows[i].offset, (char *)(uintptr_t)rows[i].length);
        bool ok = onnx_load(path, &m, &e);
        if (ok != !rows[i].expect || (!ok && !strstr(e.text, rows[i].expect)))
            fail_msg("row %d: %s", i, ok ? "taken" : e.text);
        if (ok)
            assert_true(m->init[0].f[0] == 0 && m->init[0].f[39] == 39);
        onnx_free(m);
        free_after = open("/dev/null", O_RDONLY);
        close(free_after);
        assert_int_equal(free_after, free_before);
    }
    arena_free(a);
}

/* The error comes before the file of the data is opened. */
static void more_data_than_memory_are_refused(void **state)
{
    (void)state;
    enum { TENSORS = 3000 };
    struct arena *a = arena_new();
    struct str text = { 0 };
    struct onnx_model *got;
    struct err e;
    uint8_t *data;
    str_add(&text, "in x:2; node Relu x > y; out y");
    for (int i = 0; i < TENSORS; i++)
        str_printf(&text, "; const w%d:1", i);
    size_t n = onnx_build(a, 13, str_text(&text), &data);
    Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, n, data);
    for (int i = 0; i < TENSORS; i++) {
        Onnx__TensorProto *w = m->graph->initializer[i];
        w->dims[0] = (int64_t)1 << 30;    /* 4 GiB each */
        w->has_data_location = true;
        w->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    }
    uint8_t *packed = arena_alloc(a, onnx__model_proto__get_packed_size(m));
    n = onnx__model_proto__pack(m, packed);
    onnx__model_proto__free_unpacked(m, NULL);
    assert_false(onnx_read("m.onnx", packed, n, &got, &e));
    assert_non_null(strstr(e.text, "its tensors need 12000.0 GiB of memory, but this machine has"));
    str_free(&text);
    arena_free(a);
}

/* A tensor with raw data is not copied: its elements are aligned in the bytes of the file. */
static void raw_data_are_read_where_they_lie(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct err e;
    for (int shift = 0; shift < 8; shift++) {
        const char *text = arena_printf(a, "in x:40; const w%.*s:40; node Add x w%.*s > y; out y",
                                        shift, "xxxxxxx", shift, "xxxxxxx");
        uint8_t *data;
        size_t n = onnx_build(a, 13, text, &data);
        Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, n, data);
        Onnx__TensorProto *w = m->graph->initializer[0];
        size_t count = w->n_float_data;
        w->has_raw_data = true;
        w->raw_data = (ProtobufCBinaryData){ count * 4, (uint8_t *)w->float_data };
        w->n_float_data = 0;
        uint8_t *packed = arena_alloc(a, onnx__model_proto__get_packed_size(m));
        n = onnx__model_proto__pack(m, packed);
        w->raw_data = (ProtobufCBinaryData){ 0, NULL };
        w->has_raw_data = false;
        w->n_float_data = count;
        onnx__model_proto__free_unpacked(m, NULL);
        struct onnx_model *got;
        assert_true(onnx_read("m.onnx", packed, n, &got, &e));
        for (int i = 0; i < 40; i++)
            assert_true(got->init[0].f[i] == (f32)i / 4);
        assert_string_equal(got->node[0].op, "Add");
        onnx_free(got);
    }
    arena_free(a);
}

/* Names longer than any buffer here. */
static void names_have_any_length(void **state)
{
    (void)state;
    enum { LONG = 100000 };
    struct arena *a = arena_new();
    char *name = memset(arena_alloc(a, LONG + 1), 'n', LONG);
    name[LONG] = '\0';
    const char *text = arena_printf(a, "in %s:2; node Frob %s > q%s; node Relu q%s > y; out y",
                                    name, name, name, name);
    uint8_t *data;
    size_t n = onnx_build(a, 13, text, &data);
    struct onnx_model *m;
    struct onnx_graph g;
    struct str out = { 0 };
    struct err e;
    assert_true(onnx_read("m.onnx", data, n, &m, &e));
    assert_string_equal(m->in[0].name, name);
    assert_true(onnx_import(m, NULL, 0, &g, &e));
    assert_true(strlen(g.reason[1]) < 1000);
    onnx_print(&out, m, &g);
    assert_true(out.len < 2000);
    str_free(&out);
    onnx_graph_free(&g);
    onnx_free(m);
    text = arena_printf(a, "in %s:2; node Relu %s > y; out y", name, name);
    assert_non_null(strstr(imported(a, 13, text), "y = relu(nnnn"));
    arena_free(a);
}

/* count fields `tag` of n bytes each in a graph in a model. */
static uint8_t *many_fields(const char *tag, size_t tag_len, size_t count, size_t *size)
{
    size_t len = count * tag_len, n = 0;
    uint8_t *data = malloc(len + 16);
    data[n++] = 7 << 3 | 2;               /* ModelProto.graph */
    for (size_t v = len; n == 1 || v; v >>= 7)
        data[n++] = (uint8_t)((v & 0x7f) | (v >> 7 ? 0x80 : 0));
    for (size_t i = 0; i < count; i++, n += tag_len)
        memcpy(data + n, tag, tag_len);
    *size = n;
    return data;
}

static long peak_mib(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss >> 10;
}

/* A small file must not take much memory: as it was, the first one took 5.1 GB. */
static void small_files_take_little_memory(void **state)
{
    (void)state;
    static const struct {
        const char *what, *tag;
        size_t len, count;
        const char *expect;
    } files[] = {
        { "empty initializers", "\x2a\0", 2, 20000000, "more than 1048576 nodes, tensors" },
        { "empty nodes", "\x0a\0", 2, 20000000, "more than 1048576 nodes, tensors" },
        { "value_info", "\x6a\0", 2, 20000000, "more than 1048576 nodes, tensors" },
        { "doc_string", "\x52\0", 2, 20000000, "more than 1048576 nodes, tensors" },
        { "unknown fields", "\xf8\x07\0", 3, 10000000, "more than 1048576 nodes, tensors" },
        /* initializer { int32_data: 0 ... }, not packed */
        { "numbers, each by itself", "\x2a\x40" /* 32 of */
          "\x28\0\x28\0\x28\0\x28\0\x28\0\x28\0\x28\0\x28\0"
          "\x28\0\x28\0\x28\0\x28\0\x28\0\x28\0\x28\0\x28\0"
          "\x28\0\x28\0\x28\0\x28\0\x28\0\x28\0\x28\0\x28\0"
          "\x28\0\x28\0\x28\0\x28\0\x28\0\x28\0\x28\0\x28\0", 66, 300000,
          "1 to 4000 nodes are possible" },
        { "a million empty nodes", "\x0a\0", 2, 1000000, "MiB of memory to unpack" },
    };
    for (int i = 0; i < COUNT_OF(files); i++) {
        struct onnx_model *m;
        struct err e;
        size_t n;
        uint8_t *data = many_fields(files[i].tag, files[i].len, files[i].count, &n);
        long before = peak_mib(), most = (long)(16 * n >> 20) + 200;
        assert_false(onnx_read("many.onnx", data, n, &m, &e));
        if (!strstr(e.text, files[i].expect) || peak_mib() - before > most)
            fail_msg("%s: %ld MiB, %s", files[i].what, peak_mib() - before, e.text);
        free(data);
    }
}

/* Messages in messages, deeper than the stack. */
static void nesting_is_limited(void **state)
{
    (void)state;
    enum { DEEP = 1 << 20 };
    static const uint8_t tag[] = { 7 << 3 | 2, 1 << 3 | 2, 5 << 3 | 2, 6 << 3 | 2 };
    uint8_t *data = malloc(8 * DEEP), *at = data + 8 * DEEP;
    size_t len = 0;
    for (int level = 0; level < DEEP; level++) {
        uint8_t head[8];
        int n = 0;
        head[n++] = tag[level % 4];
        for (size_t v = len; n == 1 || v; v >>= 7)
            head[n++] = (uint8_t)((v & 0x7f) | (v >> 7 ? 0x80 : 0));
        at -= n;
        memcpy(at, head, (size_t)n);
        len += (size_t)n;
    }
    struct onnx_model *m;
    struct err e;
    assert_false(onnx_read("deep.onnx", at, len, &m, &e));
    free(data);
}

static int survives(const uint8_t *data, size_t n)
{
    struct onnx_model *m;
    struct onnx_graph g;
    struct err e;
    int supported = 0;
    uint8_t *exact = memcpy(malloc(n ? n : 1), data, n);      /* a read past the end shows */
    if (onnx_read("m.onnx", exact, n, &m, &e)) {
        struct str out = { 0 };
        if (onnx_import(m, NULL, 0, &g, &e)) {
            onnx_print(&out, m, &g);
            supported = g.n_unsupported == 0;
            onnx_graph_free(&g);
        }
        str_free(&out);
        onnx_free(m);
    }
    free(exact);
    return supported;
}

static void damaged_files_are_errors_or_models(void **state)
{
    (void)state;
    static const char *const model =
        "in x:2,4,8,8; const w:8,4,3,3; const b:8; ints s:2,-1; ints s0:0,1; "
        "ints s1:1,9; const k:128,5; "
        "node Conv x w b > c pads=1,1,1,1; node Relu c > r; "
        "node MaxPool r > p kernel_shape=2,2 strides=2,2 pads=0,0,1,1; "
        "node ConvTranspose p w > t strides=2,2 group=2; node Transpose t > u perm=0,2,3,1; "
        "node Slice u s0 s1 > v; node Split c > a1 a2 axis=1; node Softmax a1 > q axis=1; "
        "node ReduceMean q > m axes=2,3 keepdims=0; node Shape p > sh; node Cast sh > f to=1; "
        "node Reshape p s > z; node Gemm z k > y transB=0; out c; out m; out q";
    struct arena *a = arena_new();
    uint8_t *data;
    size_t n = onnx_build(a, 13, model, &data);
    struct rng r = rng_seed(7);
    const char *rounds = getenv("TS_ROUNDS");
    int fine = 0, all = rounds ? atoi(rounds) : 1500;
    const char *whole = imported(a, 13, model);
    if (!survives(data, n))
        fail_msg("%s", whole);
    for (size_t cut = 0; cut < n; cut += 1 + n / 400)
        survives(data, cut);
    uint8_t *bad = arena_alloc(a, n);
    for (int i = 0; i < all; i++) {
        memcpy(bad, data, n);
        for (int k = (int)rng_range(&r, 1, 6); k > 0; k--) {
            size_t at = (size_t)rng_range(&r, 0, (int64_t)n - 1);
            if (n > 2000 && rng_range(&r, 0, 3))                   /* what is no data, mostly */
                at = (size_t)rng_range(&r, 0, 900);
            bool flip = rng_range(&r, 0, 1);
            bad[at] = (uint8_t)(flip ? bad[at] ^ 1u << rng_range(&r, 0, 7) : rng_u64(&r));
        }
        fine += survives(bad, n);
    }
    assert_true(fine > 0);
    print_message("%d of %d damaged models could still be imported\n", fine, all);
    arena_free(a);
}

static void cases_that_come_with_onnx(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "node/test_add_bcast", "node/test_averagepool_2d_same_upper", "node/test_clip",
        "node/test_conv_with_autopad_same", "node/test_convtranspose_pads",
        "node/test_gemm_all_attributes", "node/test_matmul_3d",
        "node/test_layer_normalization_3d_axis1_epsilon", "node/test_slice_neg_steps",
        "node/test_softmax_axis_1_expanded", "pytorch-converted/test_Conv2d_groups",
        "pytorch-converted/test_ReflectionPad2d", "pytorch-operator/test_operator_flatten",
    };
    if (!file_exists(ONNX_DATA))
        skip();
    for (int i = 0; i < COUNT_OF(cases); i++) {
        char path[256];
        struct onnx_case c = { .random = 2, .seed = 3, .most_work = 1e6 };
        snprintf(path, sizeof path, "%s/%s", ONNX_DATA, cases[i]);
        if (onnx_case_run(path, &c) != ONNX_PASSED)
            fail_msg("%s: %s", cases[i], str_text(&c.why));
        str_free(&c.why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_become_statements),
        cmocka_unit_test(tensors_have_as_many_elements_as_they_say),
        cmocka_unit_test(unsigned_integers_are_read),
        cmocka_unit_test(large_unsigned_integers_are_refused),
        cmocka_unit_test(the_default_domain_has_two_names),
        cmocka_unit_test(round_is_exact),
        cmocka_unit_test(open_dims_get_sizes), cmocka_unit_test(cycles_are_called_so),
        cmocka_unit_test(constants_have_the_dims_of_their_names),
        cmocka_unit_test(external_data_lie_beside_the_model),
        cmocka_unit_test(raw_data_are_read_where_they_lie),
        cmocka_unit_test(more_data_than_memory_are_refused),
        cmocka_unit_test(names_have_any_length),
        cmocka_unit_test(small_files_take_little_memory),
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(damaged_files_are_errors_or_models),
        cmocka_unit_test(cases_that_come_with_onnx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
