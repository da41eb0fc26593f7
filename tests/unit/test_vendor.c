/* Vendor baselines: what graphs are to libraries, and that these compute what the reference
 * computes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/ops/reference.h"
#include "profile/measure/oracle.h"
#include "profile/vendor/vendor.h"
#include "tests/unit/programs.h"
#include "tests/unit/random_ops.h"

#include "tests/unit/perm.h"
#include "tests/unit/temp_dir.h"
#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static uint64_t seed = 1;
static const struct vendor_plugin *plugin[VENDOR_COUNT];

/* Runs it twice: a second run must not see what the first one left. */
static void must_compute(const struct program *p, const struct vendor_problem *v,
                         enum vendor_library library, bool needed)
{
    const struct oracle *o;
    struct err e;
    char why[256] = "";
    void *buffer[VENDOR_MAX_TENSORS];
    const char *spec = p->base->spec;
    struct deviation worst = { 0 };
    int out = v->n_tensors - 1;
    for (int i = 0; i < v->n_tensors; i++) {
        buffer[i] = xmalloc((size_t)(v->tensor[i].elems * type_f32.bytes));
        assert_true(oracle_fill(NULL, p, v->tensor[i].tensor, seed, v->tensor[i].elems, buffer[i],
                                &e));
    }
    assert_int_equal(v->tensor[out].role, ROLE_OUT);
    assert_true(vendor_bytes(v, 1) > 5 * 4 * (v->tensor[0].elems + v->tensor[out].elems));
    assert_true(vendor_bytes(v, 2) > vendor_bytes(v, 1));
    struct vendor_handle *h = plugin[library]->open(v, library, 1, buffer, why, sizeof why);
    if (!h && needed)
        fail_msg("%s, %s: %s", spec, vendor_name[library], why);
    if (h) {
        if (!oracle_acquire(p->base, seed, NULL, &o, &e))
            fail_msg("%s: %s", spec, e.text);
        assert_true(plugin[library]->run(h) && plugin[library]->run(h)
                    && plugin[library]->output(h));
        if (!oracle_compare(o, p, v->tensor[out].tensor, buffer[out], NULL, &worst, &e))
            fail_msg("%s, %s (%s, %s): %s", spec, vendor_name[library],
                     plugin[library]->implementation(h), plugin[library]->layout(h), e.text);
        assert_true(plugin[library]->implementation(h)[0] && plugin[library]->layout(h)[0]);
        if (getenv("TS_VERBOSE"))
            printf("%-48s %-13s %-32s %s\n", spec, vendor_name[library],
                   plugin[library]->implementation(h), plugin[library]->layout(h));
        oracle_release(o);
    } else {
        assert_true(why[0]);
        if (getenv("TS_VERBOSE"))
            printf("%-48s %-13s %s\n", spec, vendor_name[library], why);
    }
    plugin[library]->close(h);
    for (int i = 0; i < v->n_tensors; i++)
        free(buffer[i]);
}

/* How many libraries it was given to. */
static int check(const char *spec, bool needed)
{
    const struct program *p = program_bare(perm, spec);
    struct vendor_problem v;
    struct err e;
    int n = 0;
    if (!vendor_match(p->base, &v, &e))
        fail_msg("%s: %s", spec, e.text);
    for (int i = 0; i < VENDOR_COUNT; i++)
        if (plugin[i] && !vendor_on_gpu((enum vendor_library)i)
            && vendor_offers((enum vendor_library)i, &v, &e)) {
            must_compute(p, &v, (enum vendor_library)i, needed);
            n++;
        }
    return n;
}

static const struct { const char *spec, *text; } operators[] = {
    { "c1d n=1 i=8 w=40 o=16 k=3 s=2 p=1", "convolution 3, stride 2" },
    { "c1d n=2 i=3 w=17 o=5 k=4 pw0=1 pw1=2 bias=1 relu=1", "convolution 4, bias, relu" },
    { "c2d n=1 i=16 h=14 w=14 o=32 k=3 p=1", "convolution 3x3" },
    { "c2d n=1 i=3 h=20 w=22 o=16 k=7 s=2 p=3 bias=1 relu=1",
      "convolution 7x7, stride 2, bias, relu" },
    { "c2d n=2 i=5 h=9 w=11 o=7 kh=3 kw=2 sh=2 sw=3 ph0=1 pw1=1 bias=1 act=gelu",
      "convolution 3x2, stride 2x3, bias, gelu" },
    { "c2d n=1 i=16 h=8 w=8 o=16 k=1", "convolution 1x1" },
    { "c3d n=1 i=4 depth=5 h=8 w=8 o=16 k=3 p=1", "convolution 3x3x3" },
    { "c3d n=1 i=3 depth=4 h=8 w=9 o=4 kd=2 kh=3 kw=3 sd=2 ph=1 pw=1 dw=2 act=relu",
      "convolution 2x3x3, stride 2x1x1, dilation 1x1x2, relu" },
    { "grp n=1 i=16 h=10 w=10 o=32 g=4 k=3 p=1", "convolution 3x3, 4 groups" },
    { "grp n=2 i=6 h=7 w=7 o=9 g=3 k=3 s=2 bias=1 relu=1",
      "convolution 3x3, stride 2, 3 groups, bias, relu" },
    { "dep n=1 c=32 h=12 w=12 k=3 p=1", "convolution 3x3, 32 groups" },
    { "dep n=2 c=5 h=9 w=9 k=3 s=2 p=1 bias=1 act=hardswish",
      "convolution 3x3, stride 2, 5 groups, bias, hardswish" },
    { "dil n=1 i=8 h=14 w=14 o=16 k=3 p=2", "convolution 3x3, dilation 2" },
    { "dil n=1 i=3 h=15 w=13 o=6 k=3 dh=2 dw=3 s=2 bias=1",
      "convolution 3x3, stride 2, dilation 2x3, bias" },
    { "t2d n=1 i=16 h=7 w=7 o=8 k=4 s=2 p=1", "transposed convolution 4x4, stride 2" },
    { "t2d n=2 i=3 h=5 w=4 o=6 k=3 s=2 p=1 op=1 bias=1 relu=1",
      "transposed convolution 3x3, stride 2, bias, relu" },
    { "t2d n=1 i=2 h=4 w=4 o=3 k=3", "transposed convolution 3x3" },
    { "t2d n=1 i=2 h=4 w=4 o=3 k=2 s=3 p=0", "transposed convolution 2x2, stride 3" },
    { "t3d n=1 i=4 depth=3 h=4 w=4 o=8 k=3 s=2 p=1", "transposed convolution 3x3x3, stride 2" },
    { "t3d n=1 i=2 depth=2 h=3 w=4 o=3 k=2 s=2 bias=1",
      "transposed convolution 2x2x2, stride 2, bias" },
    { "gmm m=33 k=40 n=24", "matrix multiplication" },
    { "gmm m=1 k=64 n=50", "matrix multiplication" },
    { "gmm m=16 k=24 n=32 bias=1 relu=1", "matrix multiplication, bias, relu" },
    { "bmm b=3 m=12 k=16 n=20", "matrix multiplication" },
    { "bmm b=2 m=5 k=7 n=9 act=tanh", "matrix multiplication, tanh" },
    { "act n=2 c=5 h=6 w=7 f=relu", "relu" },
    { "act n=2 c=5 h=6 w=7 f=relu6", "relu6" },
    { "act n=2 c=16 h=6 w=7 f=gelu", "gelu" },
    { "act n=2 c=5 f=gelu_tanh", "gelu_tanh" },
    { "act n=2 c=5 h=6 f=silu", "silu" },
    { "act n=2 c=5 h=6 f=sigmoid", "sigmoid" },
    { "act n=2 c=5 h=6 f=softplus", "softplus" },
    { "act n=2 c=5 h=6 f=hardswish", "hardswish" },
    { "act n=1 c=2 h=3 w=4 x=5 f=tanh", "tanh" },
    { "add n=1 c=16 h=6 w=7", "add" },
    { "add n=2 c=5 h=6 w=7 y=channel", "add" },
    { "mul n=2 c=5 h=6 w=7 y=row", "mul" },
    { "mul n=2 c=5 h=6 y=one", "mul" },
    { "bn n=2 c=16 h=6 w=7", "batch normalisation" },
    { "bn n=1 c=5 h=6 w=7 relu=1", "batch normalisation, relu" },
    { "maxpool n=1 c=16 h=12 w=12 k=3 p=1", "max pooling 3x3, stride 2" },
    { "maxpool n=2 c=5 h=9 w=10 kh=2 kw=3 s=1 ph0=1", "max pooling 2x3" },
    { "avgpool n=1 c=16 h=12 w=12 k=2", "average pooling 2x2, stride 2" },
    { "avgpool n=1 c=5 h=9 w=9 k=3 p=1", "average pooling 3x3, stride 2" },
    { "avgpool n=1 c=5 h=9 w=9 k=3 p=1 count_pad=0",
      "average pooling without padding 3x3, stride 2" },
    { "gpool n=2 c=16 h=7 w=7", "reduction" },
    { "gpool n=1 c=5 h=3 w=4 x=2 f=max", "reduction" },
    { "softmax m=12 n=40", "softmax" },
    { "softmax m=3 n=4 k=9", "softmax" },
    { "ln m=6 n=40", "layer normalisation" },
    { "ln m=3 n=4 k=17", "layer normalisation" },
    { "reduce m=12 n=30 f=sum", "reduction" },
    { "reduce m=12 n=30 f=max", "reduction" },
    { "reduce m=3 n=5 k=7 f=mean", "reduction" },
    { "transpose n=2 c=5 h=6 w=7 perm=1342", "transpose" },
    { "transpose n=9 c=13 perm=21", "transpose" },
    { "reshape n=2 c=6 h=7 w=7", "reshape" },
    { "slice n=2 c=9 h=5 w=4 from=2 to=7", "slice" },
    { "concat n=2 c=3 h=4 w=5 c2=5 c3=8", "concatenation" },
    { "x = input n=1 i=16 h=8 w=8; c = c2d(x) o=16 k=3 p=1 bias=1; y = add(c, x); z = relu(y)",
      "convolution 3x3, bias, add, relu" },
    { "x = input n=1 i=8 h=8 w=8; r = input n=1 o=16 h=8 w=8; c = c2d(x) o=16 k=3 p=1; "
      "y = add(r, c)", "convolution 3x3, add" },
    { "x = input n=1 i=8 h=8 w=8; c = c2d(x) o=16 k=3 p=1; b = bn(c) relu=1",
      "convolution 3x3, mul, add, relu" },
    { "x = input n=1 i=8 h=8 w=8; c = grp(x) g=2 o=16 k=3; y = clip(c) min=-0.25 max=0.5",
      "convolution 3x3, 2 groups, clip" },
    { "x = input m=4 k=6; w = const n=5 k=6; y = gemm(x, w) transb=1", "matrix multiplication" },
    { "x = input m=6 k=4; w = const n=5 k=6; y = gemm(x, w) transa=1 transb=1",
      "matrix multiplication" },
    { "x = input a=2 b=3 m=4 k=6; w = input b=3 k=6 n=5; y = matmul(x, w)",
      "matrix multiplication" },
    { "x = input m=4 k=6; w = input k=6 n=5; r = input m=4 n=5; y = matmul(x, w, r)",
      "matrix multiplication, add" },
    { "x = input b=2 m=5 k=6; w = input b=2 k=6 n=5; r = input m=5 n=5; y = matmul(x, w, r)",
      "matrix multiplication, add" },
    { "x = input n=2 c=5 h=6; y = leaky(x) alpha=0.1", "leaky" },
    { "x = input n=2 c=5 h=6; y = elu(x) alpha=0.7", "elu" },
    { "x = input n=2 c=5 h=6; y = affine(x) mul=0.7 add=2", "affine" },
    { "x = input n=2 c=5 h=6; y = abs(x)", "abs" },
    { "x = input n=2 c=5 h=6; y = exp(x)", "exp" },
    { "x = input n=2 c=5 h=6; w = input c=5 h=1; y = sub(x, w)", "sub" },
    { "x = input n=2 c=5 h=6; w = input n=2 c=5 h=6; y = max(x, w)", "max" },
    { "x = input m=5 n=24; y = layernorm(x)", "layer normalisation" },
    { "x = input n=2 c=5 h=6; y = softmax(x) axis=1", "softmax" },
    { "x = input n=2 c=5 h=6 w=3; y = reduce_mean(x) axes=1,2 keep=0", "reduction" },
};

static void libraries_compute_operators(void **state)
{
    int runs = 0;
    (void)state;
    for (int i = 0; i < COUNT_OF(operators); i++)
        runs += check(operators[i].spec, true);
    print_message("%d operators, %d runs of libraries\n", COUNT_OF(operators), runs);
}

static void operators_are_named(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(operators); i++) {
        struct vendor_problem v;
        struct err e;
        const struct program *p = program_bare(perm, operators[i].spec);
        assert_true(vendor_match(p->base, &v, &e));
        assert_string_equal(v.text, operators[i].text);
    }
}

static void libraries_compute_random_operators(void **state)
{
    struct rng r = rng_seed(seed);
    int runs = 0;
    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < 150; i++) {
        const struct graph *g;
        struct err e;
        const char *spec = random_operator(perm, &r, random_family(&r));
        if (graph_from_spec(perm, spec, &g, &e))       /* else its kernel does not fit */
            runs += check(spec, false);
    }
    print_message("%d runs\n", runs);
}

/* What is no single operator of a library says why. */
static void graphs_have_reasons(void **state)
{
    static const struct { const char *spec, *why; } rows[] = {
        { "x = input n=1 i=4 h=8 w=8; a = c2d(x) o=4 k=3 p=1; b = c2d(a) o=4 k=1",
          "no library can compute convolution 3x3 and then conv2d in one call" },
        { "x = input n=1 c=4; y = reciprocal(x)", "no library has an operator for reciprocal" },
        { "x = input n=1 c=4 h=5 w=5; p = pad(x) before=0,0,1,1 after=0,0,1,1 value=2; "
          "y = maxpool(p) k=2", "libraries pad with -inf here, but the graph pads with 2" },
        { "x = input n=1 c=4 h=5 w=5; a = relu(x); b = exp(x); y = add(a, b)",
          "exp cannot be a post-operation of the operator" },
        { "x = input n=1 c=4; y = slice(x) from=3 to=0 step=-1",
        "libraries do not copy with negative strides" },
        /* Seven of the eight functions that may follow; scale and shift are two more. */
        { "x = input n=1 i=4 h=8 w=8; c = c2d(x) o=4 k=3 p=1; r1 = relu(c); r2 = relu(r1); "
          "r3 = relu(r2); r4 = relu(r3); r5 = relu(r4); r6 = relu(r5); r7 = relu(r6); y = bn(r7)",
          "no library can compute convolution 3x3, relu, relu, relu, relu, relu, relu, relu, mul "
          "and then norm in one call" },
        { "x = input n=1 c=4 h=5 w=5; p = pad(x) before=0,1,0,0 after=0,0,0,0; "
          "y = c2d(p) o=2 k=2", "libraries do not pad batches and channels" },
        { "x = input a=4 b=1; w = input a=1 b=5; y = add(x, w)",
          "both operands are broadcast, which no library supports" },
        { "x = input n=1 c=4; a = reciprocal(x); y = reciprocal(a)",
          "libraries take one operator at a time; this graph has 2 (reciprocal, reciprocal)" },
        { "x = input n=4; a = reciprocal(x); b = reciprocal(a); c = reciprocal(b); "
          "d = reciprocal(c); f = reciprocal(d); y = reciprocal(f)",
          "libraries take one operator at a time; this graph has 6 (reciprocal, reciprocal, "
          "reciprocal, reciprocal, reciprocal, reciprocal)" },
        { "x = input n=4; a = reciprocal(x); b = reciprocal(a); c = reciprocal(b); "
          "d = reciprocal(c); f = reciprocal(d); g = reciprocal(f); y = reciprocal(g)",
          "libraries take one operator at a time; this graph has 7 (reciprocal, reciprocal, "
          "reciprocal, reciprocal, reciprocal, reciprocal, ...)" },
    };
    struct err e;
    struct vendor_problem v;
    (void)state;
    for (int i = 0; i < COUNT_OF(rows); i++) {
        if (vendor_match(program_bare(perm, rows[i].spec)->base, &v, &e))
            fail_msg("%s is %s", rows[i].spec, v.text);
        assert_string_equal(e.text, rows[i].why);
    }
    assert_true(vendor_match(program_bare(perm, "c2d n=1 i=4 h=8 w=8 o=4 k=3")->base, &v, &e));
    assert_true(vendor_offers(VENDOR_ONEDNN, &v, &e));
    assert_false(vendor_offers(VENDOR_OPENBLAS, &v, &e));
    assert_string_equal(e.text, "OpenBLAS has no operator for convolution 3x3");
    assert_true(vendor_match(program_bare(perm, "gmm m=4 k=4 n=4 bias=1")->base, &v, &e));
    assert_false(vendor_offers(VENDOR_OPENBLAS, &v, &e));
    assert_true(strstr(e.text, "without post-operations (matrix multiplication, bias)"));
}

/* oneDNN takes every operator, OpenBLAS and cuBLAS products, cuDNN convolutions with relu. */
static void libraries_offer_operators(void **state)
{
    static const struct {
        const char *spec; enum vendor_library library; const char *why;
    } row[] = {
        { "gmm m=4 k=4 n=4", VENDOR_CUBLAS, "" },
        { "gmm m=4 k=4 n=4 relu=1", VENDOR_CUBLAS,
          "cuBLAS multiplies matrices without post-operations (matrix multiplication, relu)" },
        { "gmm m=4 k=4 n=4 bias=1", VENDOR_CUBLAS,
          "cuBLAS multiplies matrices without post-operations (matrix multiplication, bias)" },
        { "c2d n=1 i=4 h=8 w=8 o=4 k=3", VENDOR_CUBLAS,
          "cuBLAS has no operator for convolution 3x3" },
        { "gmm m=4 k=4 n=4", VENDOR_CUDNN, "cuDNN has no operator for matrix multiplication" },
        { "c2d n=1 i=4 h=8 w=8 o=4 k=3 bias=1 relu=1", VENDOR_CUDNN, "" },
        { "t2d n=1 i=2 h=4 w=4 o=3 k=3 relu=1", VENDOR_CUDNN, "" },
        { "c2d n=1 i=4 h=8 w=8 o=4 k=3 act=gelu", VENDOR_CUDNN,
          "cuDNN has no operator for convolution 3x3, gelu" },
        { "x = input n=1 i=4 h=8 w=8; c = c2d(x) o=4 k=3 p=1; y = add(c, x)", VENDOR_CUDNN,
          "cuDNN has no operator for convolution 3x3, add" },
        { "maxpool n=1 c=16 h=12 w=12 k=3 p=1", VENDOR_CUDNN,
          "cuDNN has no operator for max pooling 3x3, stride 2" },
        { "maxpool n=1 c=16 h=12 w=12 k=3 p=1", VENDOR_ONEDNN_PLAIN, "" },
        { "gmm m=4 k=4 n=4", VENDOR_OPENBLAS, "" },
    };
    struct vendor_problem v;
    struct err e;
    char why[200];
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        assert_true(vendor_match(program_bare(perm, row[i].spec)->base, &v, &e));
        bool ok = vendor_offers(row[i].library, &v, &e);
        if (ok != !row[i].why[0] || (!ok && !streq(e.text, row[i].why)))
            fail_msg("%s, %s: %d, %s", row[i].spec, vendor_name[row[i].library], ok, e.text);
    }
    assert_true(vendor_match(program_bare(perm, "gmm m=4 k=4 n=4 type=f16")->base, &v, &e));
    assert_true(vendor_offers(VENDOR_CUBLAS, &v, &e));
    assert_false(vendor_offers(VENDOR_OPENBLAS, &v, &e));
    snprintf(why, sizeof why, "OpenBLAS is timed only for %s, and the tensors here are %s",
             type_f32.title, type_f16.title);
    assert_string_equal(e.text, why);
}

/* Padding of its own node is the operator's. */
static void padding_is_part_of_the_operator(void **state)
{
    const struct program *p =
        program_bare(perm, "c2d n=1 i=4 h=8 w=9 o=6 kh=3 kw=2 sw=2 ph0=2 pw1=1");
    struct vendor_problem v;
    struct err e;
    (void)state;
    assert_true(vendor_match(p->base, &v, &e));
    assert_int_equal(v.kind, VENDOR_CONV);
    assert_int_equal(v.n_tensors, 3);
    assert_int_equal(v.tensor[0].shape[2], 8);
    assert_int_equal(v.before[0], 2);
    assert_int_equal(v.after[0], 0);
    assert_int_equal(v.before[1], 0);
    assert_int_equal(v.after[1], 1);
    assert_int_equal(v.step[1], 2);
    assert_int_equal(v.kernel[1], 2);
    assert_true(vendor_match(program_bare(perm, "t2d n=1 i=2 h=4 w=4 o=3 k=3 s=2 p=1 op=1")->base,
                             &v, &e));
    assert_int_equal(v.tensor[0].shape[2], 4);
    assert_int_equal(v.before[0], 1);
    assert_int_equal(v.after[0], 0);
}

static void names_are_parsed(void **state)
{
    unsigned bits = 77;
    struct err e;
    (void)state;
    assert_true(vendor_parse("onednn,openblas", &bits, &e));
    assert_int_equal(bits, 1 << VENDOR_ONEDNN | 1 << VENDOR_OPENBLAS);
    assert_true(vendor_parse("all", &bits, &e) && bits == (1u << VENDOR_COUNT) - 1);
    assert_true(vendor_parse("none", &bits, &e) && bits == 0);
    assert_true(vendor_parse("none,openblas,openblas", &bits, &e));
    assert_int_equal(bits, 1 << VENDOR_OPENBLAS);
    assert_false(vendor_parse("onednn_plian", &bits, &e));
    assert_string_equal(e.text, "no baseline named 'onednn_plian'");
    assert_string_equal(e.fix, "--baselines onednn_plain");
    assert_false(vendor_parse("blis", &bits, &e));
    assert_string_equal(e.fix,
                        "any of onednn, onednn_plain, openblas, cublas, cudnn, or all, or none");
    assert_int_equal(bits, 1 << VENDOR_OPENBLAS);
}

/* A plugin lies beside the runner, or in the folder above. */
static void plugins_are_found(void **state)
{
    static const struct { const char *runner; bool found; } row[] = {
        { "runner", true }, { "a/runner", true }, { "a/b/runner", false },
    };
    const char *dir = temp_dir(NULL);
    char file[300], runner[600], path[600];
    struct err e;
    (void)state;
    snprintf(file, sizeof file, "%s/tilescope-openblas.so", dir);
    assert_true(file_write_atomic(file, "x", 1, &e));
    for (int i = 0; i < COUNT_OF(row); i++) {
        snprintf(runner, sizeof runner, "%s/%s", dir, row[i].runner);
        bool found = vendor_find(runner, VENDOR_OPENBLAS, path, sizeof path, &e);
        assert_int_equal(found, row[i].found);
        if (found)
            assert_string_equal(path, file);
    }
    assert_false(vendor_find("runner", VENDOR_OPENBLAS, path, sizeof path, &e));
    assert_string_equal(e.text, "tilescope-openblas.so was not built, because its library was "
                                "missing");
    assert_string_equal(e.fix, "apt-get install libdnnl-dev libopenblas-dev, then make");
    assert_true(vendor_find(runner, VENDOR_CUDNN, path, sizeof path, &e));
    assert_string_equal(path, "cudnn");
}

static void missing_plugins_have_reasons(void **state)
{
    const struct vendor_plugin *p = NULL;
    char path[300];
    struct err e;
    (void)state;
    assert_false(vendor_load("/nonexistent/tilescope-onednn.so", &p, &e));
    assert_true(strstr(e.text, "the plugin cannot be loaded: /nonexistent"));
    assert_false(vendor_load("libm.so.6", &p, &e));       /* a library, but no plugin */
    assert_string_equal(e.text, "libm.so.6 belongs to another version of tilescope");
    assert_true(e.code == ERR_ENV && !p);
    assert_false(vendor_find("/nonexistent/bin/runner", VENDOR_OPENBLAS, path, sizeof path, &e));
    assert_int_equal(e.code, ERR_ENV);
    assert_true(strstr(e.text, "tilescope-openblas.so was not built") && strstr(e.fix, "apt-get"));
}

static int setup(void **state)
{
    (void)state;
    perm_setup(state);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    for (int i = 0; i < VENDOR_COUNT; i++) {
        struct err e;
        char path[600];
        if (!vendor_find(NULL, (enum vendor_library)i, path, sizeof path, &e)
            || !vendor_load(path, &plugin[i], &e))
            print_message("%s: %s\n", vendor_name[i], e.text);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_are_named),
        cmocka_unit_test(graphs_have_reasons),
        cmocka_unit_test(padding_is_part_of_the_operator),
        cmocka_unit_test(libraries_offer_operators),
        cmocka_unit_test(names_are_parsed), cmocka_unit_test(plugins_are_found),
        cmocka_unit_test(missing_plugins_have_reasons),
        cmocka_unit_test(libraries_compute_operators),
        cmocka_unit_test(libraries_compute_random_operators),
    };
    const char *s = getenv("TS_SEED");
    seed = s ? strtoull(s, NULL, 10) : 1;
    return cmocka_run_group_tests(tests, setup, perm_teardown);
}
