/* ONNX import: models built here, the statements that they become, what is refused and why, cases
 * that come with ONNX, and damaged files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <onnx.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/onnx/onnx.h"
#include "tests/unit/onnx_case.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* A model from text: "in x:2,3", "const w:4,3", "ints s:1,6", "node Relu x > y axis=1 pads=1,1",
 * "out y"; separated by ;.  A text attribute is mode~edge; an open dim is 0. */

struct builder { struct arena *a; Onnx__GraphProto g; };

#define PUSH(b, list, n, type, value) \
    do { \
        type *more_ = ARENA_ARRAY((b)->a, type, (n) + 1); \
        for (size_t i_ = 0; i_ < (n); i_++) \
            more_[i_] = (list)[i_]; \
        more_[(n)++] = (value); \
        (list) = more_; \
    } while (0)

static size_t numbers(struct arena *a, const char *text, int64_t **out)
{
    size_t n = 0;
    *out = ARENA_ARRAY(a, int64_t, strlen(text) + 1);
    while (*text) {
        char *end;
        (*out)[n++] = strtoll(text, &end, 10);
        text = *end ? end + 1 : end;
    }
    return n;
}

static Onnx__ValueInfoProto *port(struct builder *b, char *spec)
{
    char *dims = strchr(spec, ':');
    Onnx__ValueInfoProto *v = ARENA_NEW(b->a, Onnx__ValueInfoProto);
    onnx__value_info_proto__init(v);
    v->name = spec;
    if (!dims)
        return v;
    *dims++ = '\0';
    int64_t *dim;
    size_t n = numbers(b->a, dims, &dim);
    Onnx__TypeProto *type = v->type = ARENA_NEW(b->a, Onnx__TypeProto);
    onnx__type_proto__init(type);
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = ARENA_NEW(b->a, Onnx__TypeProto__Tensor);
    onnx__type_proto__tensor__init(type->tensor_type);
    type->tensor_type->has_elem_type = true;
    type->tensor_type->elem_type = 1;
    Onnx__TensorShapeProto *shape = type->tensor_type->shape =
        ARENA_NEW(b->a, Onnx__TensorShapeProto);
    onnx__tensor_shape_proto__init(shape);
    for (size_t d = 0; d < n; d++) {
        Onnx__TensorShapeProto__Dimension *x = ARENA_NEW(b->a, Onnx__TensorShapeProto__Dimension);
        onnx__tensor_shape_proto__dimension__init(x);
        x->value_case = dim[d] == 0 ? ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM
                                    : ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        if (dim[d] == 0)
            x->dim_param = arena_strdup(b->a, "N");
        else
            x->dim_value = dim[d];
        PUSH(b, shape->dim, shape->n_dim, Onnx__TensorShapeProto__Dimension *, x);
    }
    return v;
}

/* floats: dims; integers: the values of a vector */
static Onnx__TensorProto *tensor(struct builder *b, char *spec, bool ints)
{
    char *list = strchr(spec, ':');
    *list++ = '\0';
    Onnx__TensorProto *t = ARENA_NEW(b->a, Onnx__TensorProto);
    onnx__tensor_proto__init(t);
    t->name = spec;
    t->has_data_type = true;
    t->data_type = ints ? 7 : 1;
    int64_t *v, elems = 1;
    size_t n = numbers(b->a, list, &v);
    if (ints) {
        t->int64_data = v;
        t->n_int64_data = n;
        PUSH(b, t->dims, t->n_dims, int64_t, (int64_t)n);
        return t;
    }
    t->dims = v;
    t->n_dims = n;
    for (size_t d = 0; d < n; d++)
        elems *= v[d];
    t->n_float_data = (size_t)elems;
    t->float_data = ARENA_ARRAY(b->a, float, elems);
    for (int64_t i = 0; i < elems; i++)
        t->float_data[i] = (float)i / 4;
    return t;
}

static Onnx__AttributeProto *attribute(struct builder *b, char *word)
{
    Onnx__AttributeProto *x = ARENA_NEW(b->a, Onnx__AttributeProto);
    onnx__attribute_proto__init(x);
    char *value = strpbrk(word, "=~");
    bool text = *value == '~';
    *value++ = '\0';
    x->name = word;
    x->has_type = true;
    if (text) {
        x->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
        x->has_s = true;
        x->s = (ProtobufCBinaryData){ strlen(value), (uint8_t *)value };
    } else if (strchr(value, '.')) {
        x->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
        x->has_f = true;
        x->f = strtof(value, NULL);
    } else if (strchr(value, ',')) {
        x->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
        x->n_ints = numbers(b->a, value, &x->ints);
    } else {
        x->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        x->has_i = true;
        x->i = strtoll(value, NULL, 10);
    }
    return x;
}

static void add_node(struct builder *b, char *rest)
{
    Onnx__NodeProto *n = ARENA_NEW(b->a, Onnx__NodeProto);
    onnx__node_proto__init(n);
    char *save, *word = strtok_r(rest, " ", &save);
    bool out = false;
    n->op_type = word;
    while ((word = strtok_r(NULL, " ", &save)))
        if (streq(word, ">"))
            out = true;
        else if (strpbrk(word, "=~"))
            PUSH(b, n->attribute, n->n_attribute, Onnx__AttributeProto *, attribute(b, word));
        else if (out)
            PUSH(b, n->output, n->n_output, char *, word);
        else
            PUSH(b, n->input, n->n_input, char *, streq(word, "_") ? word + 1 : word);
    PUSH(b, b->g.node, b->g.n_node, Onnx__NodeProto *, n);
}

static void add_statement(struct builder *b, char *s)
{
    s += strspn(s, " ");
    char *rest = s + strcspn(s, " ");
    if (!*s)
        return;
    *rest++ = '\0';
    if (streq(s, "in"))
        PUSH(b, b->g.input, b->g.n_input, Onnx__ValueInfoProto *, port(b, rest));
    else if (streq(s, "out"))
        PUSH(b, b->g.output, b->g.n_output, Onnx__ValueInfoProto *, port(b, rest));
    else if (streq(s, "node"))
        add_node(b, rest);
    else
        PUSH(b, b->g.initializer, b->g.n_initializer, Onnx__TensorProto *,
             tensor(b, rest, streq(s, "ints")));
}

static size_t build(struct arena *a, int opset, const char *text, uint8_t **out)
{
    struct builder b = { .a = a };
    onnx__graph_proto__init(&b.g);
    b.g.name = arena_strdup(a, "small");
    char *copy = arena_strdup(a, text), *save;
    for (char *s = strtok_r(copy, ";", &save); s; s = strtok_r(NULL, ";", &save))
        add_statement(&b, s);
    Onnx__OperatorSetIdProto set, *sets[] = { &set };
    Onnx__ModelProto m;
    onnx__operator_set_id_proto__init(&set);
    onnx__model_proto__init(&m);
    set.has_version = true;
    set.version = opset;
    m.has_ir_version = true;
    m.ir_version = 7;
    m.n_opset_import = 1;
    m.opset_import = sets;
    m.producer_name = arena_strdup(a, "test");
    m.graph = &b.g;
    size_t n = onnx__model_proto__get_packed_size(&m);
    *out = arena_alloc(a, n);
    return onnx__model_proto__pack(&m, *out);
}

/* The statements of a model, the reason of its first unsupported node, or the error. */
static const char *imported(struct arena *a, int opset, const char *text)
{
    uint8_t *data;
    size_t n = build(a, opset, text, &data);
    struct onnx_model *m;
    struct onnx_graph g;
    struct err e;
    if (!onnx_read("m.onnx", data, n, &m, &e))
        return arena_strdup(a, e.text);
    const char *result = NULL;
    if (!onnx_import(m, NULL, 0, &g, &e)) {
        result = arena_strdup(a, e.text);
    } else {
        for (int i = 0; i < m->n_nodes && !result; i++)
            if (g.reason[i])
                result = arena_strdup(a, g.reason[i]);
        if (!result)
            result = arena_strdup(a, str_text(&g.text));
        onnx_graph_free(&g);
    }
    onnx_free(m);
    return result;
}

static const struct { int opset; const char *model, *expect; } models[] = {
    { 13, "in x:2,3; node Relu x > y; out y:2,3", "x = input d0=2 d1=3\ny = relu(x)\noutput y\n" },
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
    { 13, "in x:0,6; node Identity x > y; out y", "x = input d0=1 d1=6\ny = identity(x)\n" },
    { 13, "in x:4,6; node Shape x > s; node Reshape x s > u; node Relu u > y; out y",
      "y = relu(x)\n" },
    { 13, "in add:4; node Relu add > input; out input", "add_2 = input d0=4\ninput_2 = relu(" },
    { 13, "in x:4; in x.Conv:1,1,3,3; const w:1,1,2,2; node Conv x.Conv w > x_Conv; out x_Conv",
      "x_Conv_2 = c2d(x_Conv, w)" },
    { 13, "in x:1,1,3,3; const y_Conv:1,1,2,2; const b:1; node Conv x y_Conv b > y; out y",
      " = c2d(" },
    { 11, "in x:2,2; ints p:0,1,0,1; node Pad x p > y; out y:2,4",
      "y = pad(x) before=0,1 after=0,1 value=0\n" },
    /* refused, by name */
    { 13, "in x:2,3; node Frob x > y; out y", "no statement for this operator" },
    { 13, "in x:2,3; in s:2; node Reshape x s > y; out y", "its input s has to be a constant" },
    { 13, "in x:2,3; node Relu z > y; out y", "node y (Relu): input z is nothing that" },
    { 13, "in x:2; node Add x b > a; node Relu a > b; out b", "node a (Add): input b is nothing" },
    { 13, "in x:2; node Relu x > x; out x", "output x is computed twice" },
    { 13, "in x:2,3; node Relu x > y; out y:3,2", "the nodes compute 2x3" },
    { 13, "in x:2,3; node Relu x > y; out z", "output z is computed by no node" },
    { 13, "in x:2,3; in z:4; node Add x z > y; out y", "2x3 cannot be broadcast with 4" },
    { 13, "in x:2,3; node Transpose x > y perm=0,0; out y", "no permutation" },
    { 13, "in x:2,3; node Concat x x > y axis=7; out y", "axis 7 of a tensor with 2" },
    { 13, "in x:1,1,2,2; const w:1,1,3,3; node Conv x w > y; out y", "its kernel spans 3" },
    { 13, "in x:1,1,2,2; const w:1,1,1,1; node Conv x w > y strides=0,1; out y",
      "attribute strides: 0 is not in 1" },
    { 13, "in x:9000000000000; node Relu x > y; out y", "a dimension of 9000000000000" },
    { 13, "in x:2,-3; node Relu x > y; out y", "a dimension of -3" },
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
    size_t n = build(a, 13, "in x:2; const w:2; node Add x w > y; out y", &data);
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
    size_t n = build(a, 13, model, &data);
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
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(damaged_files_are_errors_or_models),
        cmocka_unit_test(cases_that_come_with_onnx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
