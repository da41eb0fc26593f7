/* Simplifications of networks: what they write, and that the values stay. */
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "kernels/module/simplify.h"
#include "kernels/ops/reference.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static uint64_t seed = 1;

static const struct graph *compose(struct arena *a, const char *text)
{
    const struct graph *g = NULL;
    struct err e;
    if (!graph_from_spec(a, text, &g, &e))
        fail_msg("%s: %s", text, e.text);
    return g;
}

/* Data by the names of tensors; those called var... are positive. */
static double **evaluate(struct arena *a, const struct graph *g)
{
    double **data = ARENA_ARRAY(a, double *, g->n_tensors);
    struct err e;
    for (int t = 0; t < g->n_tensors; t++) {
        const struct tensor *is = &g->tensor[t];
        int64_t n = tensor_elems(is);
        f32 *random = ARENA_ARRAY(a, f32, n);
        data[t] = ARENA_ARRAY(a, double, n);
        if (is->producer >= 0)
            continue;
        reference_fill(is, seed, random);
        for (int64_t i = 0; i < n; i++)
            data[t][i] = is->source ? (double)is->source->value[is->source->n > 1 ? i : 0] :
                         str_starts(is->name, "var") ? fabs((double)random[i]) + 0.5 :
                                                       (double)random[i];
    }
    assert_true(reference_eval(g, data, NULL, &e));
    return data;
}

/* Checks that g and `simple` have the same inputs, and outputs with the same values. */
static void check_values(struct arena *a, const struct graph *g, const struct graph *simple)
{
    double **want = evaluate(a, g), **got = evaluate(a, simple);
    for (int t = 0; t < g->n_tensors; t++) {
        const struct tensor *x = &g->tensor[t];
        if (x->role != TENSOR_OUTPUT && x->role != TENSOR_INPUT)
            continue;
        int s = graph_tensor(simple, x->name);
        if (s < 0 || simple->tensor[s].role != x->role)
            fail_msg("%s\nlost %s:\n%s", g->spec, x->name, simple->spec);
        int64_t n = tensor_elems(x);
        assert_int_equal(n, tensor_elems(&simple->tensor[s]));
        double most = 1e-3;
        for (int64_t i = 0; i < n; i++)
            most = fmax(most, fabs(want[t][i]));
        for (int64_t i = 0; i < n; i++)
            if (!(fabs(want[t][i] - got[s][i]) <= 1e-6 * most) && !isnan(want[t][i]))
                fail_msg("%s\nbecame\n%s\n%s[%lld] is %.9g, not %.9g (seed %llu)", g->spec,
                         simple->spec, x->name, (long long)i, got[s][i], want[t][i],
                         (unsigned long long)seed);
    }
}

static const struct graph *simplify(struct arena *a, const struct graph *g, unsigned passes,
                                    int *counts)
{
    const struct graph *simple = NULL;
    struct err e;
    if (!simplify_graph(a, g, passes, &simple, counts, &e))
        fail_msg("%s: %s", g->spec, e.text);
    return simple;
}

static int pass_named(const char *name)
{
    for (int i = 0; i < simplify_n_passes(); i++)
        if (streq(simplify_pass(i)->name, name))
            return i;
    fail_msg("no pass %s", name);
    return -1;
}

/* pass: the one that has to change something; only it and those before it run.  after: the text
 * without the declarations of inputs and constants. */
struct row { const char *pass, *before, *after; };

#define IMAGE "x = input n=1 c=4 h=6 w=6; k = const o=3 i=4 kh=3 kw=3; "
#define ROWS "x = input b=2 m=3 k=8; "
static const struct row rows[] = {
    { "numbers", ROWS "c = const d=1 value=4; y = div(x, c)", "y = affine(x) mul=0.25 add=0" },
    { "numbers", ROWS "c = const d=1 value=4; d = const e=8 value=0.5; y = sub(c, x); "
      "z = mul(y, d)", "z = affine(x) mul=-0.5 add=2" },
    { "numbers", ROWS "c = const d=1 value=4; d = const d=1 value=-2; y = min(x, c); "
      "z = max(d, y)", "z = clip(x) min=-2 max=4" },
    { "numbers", ROWS "c = const d=1 value=4; y = add(x, c); z = neg(y); u = mul(z, y); output u",
      "y = affine(x) mul=1 add=4; z = neg(y); u = mul(z, y); output u" },
    { "identity", ROWS "y = identity(x); z = relu(y)", "z = relu(x)" },
    { "identity", ROWS "a = relu(x); y = identity(a)", "y = relu(x)" },
    { "identity", ROWS "y = reshape(x) shape=6,8; z = reshape(y) shape=3,16",
      "z = reshape(x) shape=3,16" },
    { "identity", ROWS "y = transpose(x) perm=1,0,2; z = transpose(y) perm=2,0,1",
      "z = transpose(x) perm=2,1,0" },
    { "identity", ROWS "a = exp(x); y = transpose(a) perm=1,0,2; z = transpose(y) perm=1,0,2; "
      "u = relu(z)", "a = exp(x); u = relu(a)" },
    { "identity", ROWS "y = slice(x) axis=2 from=0 to=8 step=1; z = concat(y) axis=0; "
      "u = pad(z) before=0,0,0 after=0,0,0; v = expand(u) shape=2,3,8; w = exp(v)",
      "w = exp(x)" },
    { "functions", ROWS "c = const d=1 value=1.4142135; o = const d=1 value=1; "
      "h = const d=1 value=0.5; d = div(x, c); e = erf(d); p = add(e, o); m = mul(x, p); "
      "y = mul(m, h)", "y = gelu(x)" },
    { "functions", ROWS "c = const d=1 value=0.70710677; o = const d=1 value=1; "
      "h = const d=1 value=0.5; d = mul(x, c); e = erf(d); p = add(o, e); m = mul(x, h); "
      "y = mul(m, p)", "y = gelu(x)" },
    { "functions", ROWS "a = const d=1 value=0.044715; o = const d=1 value=1; "
      "h = const d=1 value=0.5; s = const d=1 value=0.7978845; q = mul(x, x); r = mul(q, x); "
      "u = mul(r, a); v = add(x, u); w = mul(v, s); t = tanh(w); p = add(t, o); m = mul(x, h); "
      "y = mul(m, p)", "y = gelu_tanh(x)" },
    { "functions", ROWS "s = sigmoid(x); y = mul(x, s)", "y = silu(x)" },
    { "functions", ROWS "n = neg(x); e = exp(n); o = const d=1 value=1; p = add(e, o); "
      "y = div(x, p)", "y = silu(x)" },
    { "functions", ROWS "n = neg(x); e = exp(n); o = const d=1 value=1; p = add(e, o); "
      "y = div(o, p)", "y = sigmoid(x)" },
    { "functions", ROWS "s = hardsigmoid(x) alpha=0.166666667 beta=0.5; y = mul(s, x)",
      "y = hardswish(x)" },
    { "functions", ROWS "t = const d=1 value=3; s = const d=1 value=6; a = add(x, t); "
      "b = clip(a) min=0 max=6; c = mul(x, b); y = div(c, s)", "y = hardswish(x)" },
    { "functions", ROWS "y = clip(x) min=0 max=6", "y = relu6(x)" },
    { "functions", ROWS "z = const d=1 value=0; y = max(x, z)", "y = relu(x)" },
    { "softmax", ROWS "m = reduce_max(x) axes=2 keep=1; d = sub(x, m); e = exp(d); "
      "s = reduce_sum(e) axes=2 keep=1; y = div(e, s)", "y = softmax(x) axis=2" },
    { "softmax", ROWS "e = exp(x); s = reduce_sum(e) axes=-2 keep=1; i = reciprocal(s); "
      "y = mul(i, e)", "y = softmax(x) axis=1" },
    { "layernorm", ROWS "w = const n=8; b = const n=8; eps = const d=1 value=1e-5; "
      "m = reduce_mean(x) axes=2 keep=1; d = sub(x, m); q = mul(d, d); "
      "v = reduce_mean(q) axes=-1 keep=1; u = add(v, eps); s = sqrt(u); n = div(d, s); "
      "t = mul(n, w); y = add(t, b)", "y = layernorm(x, w, b) axis=2 eps=1e-05" },
    { "layernorm", ROWS "b = const n=8; m = reduce_mean(x) axes=1,2 keep=1; d = sub(x, m); "
      "d2 = sub(x, m); q = mul(d2, d2); v = reduce_mean(q) axes=1,2 keep=1; s = sqrt(v); "
      "i = reciprocal(s); n = mul(i, d); y = add(b, n)",
      "y_ones = const d0=8 value=1; y = layernorm(x, y_ones, b) axis=1 eps=0" },
    { "channels", IMAGE "g = const c=3; b = const c=3; m = const c=3; var = const c=3; "
      "c = c2d(x, k) o=3 k=3; y = batchnorm(c, g, b, m, var) eps=0.001",
      "y_Var = affine(var) mul=1 add=0.001; y_Dev = sqrt(y_Var); y_Scale = div(g, y_Dev); "
      "y_Factor = reshape(y_Scale) shape=3,1,1,1; y_Ker = mul(k, y_Factor); "
      "y_Mean = mul(m, y_Scale); y_Shift = sub(b, y_Mean); "
      "y = c2d(x, y_Ker, y_Shift) o=3 k=3 bias=1" },
    { "channels", "x = input n=1 c=4 h=3; g = const c=4; b = const c=4; m = const c=4; "
      "var = const c=4; y = batchnorm(x, g, b, m, var) eps=0.001; z = relu(y)",
      "y_Var = affine(var) mul=1 add=0.001; y_Dev = sqrt(y_Var); y_Scale = div(g, y_Dev); "
      "y_Factor = reshape(y_Scale) shape=4,1; y_Scaled = mul(x, y_Factor); "
      "y_Mean = mul(m, y_Scale); y_Shift = sub(b, y_Mean); "
      "y_Summand = reshape(y_Shift) shape=4,1; y = add(y_Scaled, y_Summand); z = relu(y)" },
    { "channels", IMAGE "f = const c=3 h=1 w=1; c = c2d(x, k) o=3 k=3; y = mul(c, f)",
      "y_Vector = reshape(f) shape=3; y_Factor = reshape(y_Vector) shape=3,1,1,1; "
      "y_Ker = mul(k, y_Factor); y = c2d(x, y_Ker) o=3 k=3" },
    { "channels", IMAGE "f = const n=1 c=3 h=1 w=1; c = c2d(x, k) o=3 k=3; y = sub(c, f)",
      "y_Vector = reshape(f) shape=3; y_Minus = neg(y_Vector); "
      "y = c2d(x, k, y_Minus) o=3 k=3 bias=1" },
    { "channels", IMAGE "b = const c=3; c = c2d(x, k, b) o=3 k=3 bias=1; "
      "y = affine(c) mul=2 add=1",
      "y_Scale = const d0=3 value=2; y_Factor = reshape(y_Scale) shape=3,1,1,1; "
      "y_Ker = mul(k, y_Factor); y_Scaled = mul(b, y_Scale); y_Shift = const d0=3 value=1; "
      "y_Bias = add(y_Scaled, y_Shift); y = c2d(x, y_Ker, y_Bias) o=3 k=3 bias=1" },
    { "scale", ROWS "y = input b=2 k=8 n=3; c = const d=1 value=0.25; s = mul(x, c); "
      "t = mul(c, y); p = matmul(s, t); z = softmax(p) axis=2",
      "p_Product_Product = matmul(x, y); p = affine(p_Product_Product) mul=0.0625 add=0; "
      "z = softmax(p) axis=2" },
    { "scale", ROWS "w = const k=8 n=3; b = const n=3; c = const d=1 value=0.25; s = mul(x, c); "
      "y = matmul(s, w, b) act=relu",
      "y_Weights = affine(w) mul=0.25 add=0; y = matmul(x, y_Weights, b) act=relu" },
    { "pad", IMAGE "p = pad(x) before=0,0,1,2 after=0,0,0,1 value=0; y = c2d(p, k) o=3 k=3 s=2",
      "y = c2d(x, k) o=3 k=3 s=2 ph0=1 ph1=0 pw0=2 pw1=1" },
    { "gemm", "x = input m=2 k=3; w = const n=5 k=3; b = const n=5; "
      "y = gemm(x, w, b) transb=1 alpha=2 beta=0.5",
      "y_W = transpose(w) perm=1,0; y_Scaled = affine(y_W) mul=2 add=0; "
      "y_Bias = affine(b) mul=0.5 add=0; y = matmul(x, y_Scaled, y_Bias)" },
    { "channels", ROWS "w = const k=8 n=5; b = const n=5; p = matmul(x, w); y = add(b, p)",
      "y = matmul(x, w, b)" },
    { "channels", "x = input m=3 k=8; w = const k=8 n=5; g = const n=5; b = const n=5; "
      "m = const n=5; var = const n=5; p = matmul(x, w); y = batchnorm(p, g, b, m, var) eps=0.001",
      "y_Var = affine(var) mul=1 add=0.001; y_Dev = sqrt(y_Var); y_Scale = div(g, y_Dev); "
      "y_Factor = reshape(y_Scale) shape=1,5; y_Ker = mul(w, y_Factor); "
      "y_Mean = mul(m, y_Scale); y_Shift = sub(b, y_Mean); y = matmul(x, y_Ker, y_Shift)" },
    { "channels", ROWS "w = const k=8 n=5; c = const d=1 value=0.5; p = matmul(x, w); "
      "y = mul(p, c)", "y_Scale = const d0=5 value=0.5; y_Factor = reshape(y_Scale) shape=1,5; "
      "y_Ker = mul(w, y_Factor); y = matmul(x, y_Ker)" },
    { "act", ROWS "w = const k=8 n=5; b = const a=1 n=5; p = matmul(x, w); q = add(p, b); "
      "y = gelu(q)", "q_Vector = reshape(b) shape=5; y = matmul(x, w, q_Vector) act=gelu" },
    { "act", "x = input m=3 k=8; w = const k=8 n=5; b = const n=5; p = gmm(x, w) n=5; "
      "q = add(p, b); y = tanh(q)", "y = gmm(x, w, b) n=5 bias=1 act=tanh" },
    { "act", IMAGE "c = c2d(x, k) o=3 k=3; y = relu(c); y_relu = tanh(y); d = c2d(x, k) o=3 k=3; "
      "z = relu(d); z_Conv = exp(z)",
      "y = c2d(x, k) o=3 k=3 act=relu; y_relu = tanh(y); d = c2d(x, k) o=3 k=3; z = relu(d); "
      "z_Conv = exp(z); output y_relu, z_Conv" },
    { "act", IMAGE "c = c2d(x, k) o=3 k=3; y = clip(c) min=0 max=6",
      "y = c2d(x, k) o=3 k=3 act=relu6" },
    { "projections", ROWS "w = const k=8 n=5; u = const k=8 n=2; b = const n=5; c = const n=2; "
      "p = matmul(x, w, b); q = matmul(x, u, c); y = sqrt(p); z = softmax(q) axis=2; output y, z",
      "p_Ws = concat(w, u) axis=1; p_Bs = concat(b, c) axis=0; p_All = matmul(x, p_Ws, p_Bs); "
      "p = slice(p_All) axis=2 from=0 to=5 step=1; q = slice(p_All) axis=2 from=5 to=7 step=1; "
      "y = sqrt(p); z = softmax(q) axis=2; output y, z" },
    { "numbers", ROWS "c = const d=1 value=4; y = add(c, x)", "y = affine(x) mul=1 add=4" },
    { "numbers", ROWS "c = const d=1 value=4; y = sub(x, c)", "y = affine(x) mul=1 add=-4" },
    { "numbers", ROWS "c = const d=1 value=3; y = max(x, c)", "y = clip(x) min=3" },
    { "numbers", ROWS "c = const d=1 value=3; y = min(c, x)", "y = clip(x) max=3" },
    { "numbers", ROWS "a = affine(x) mul=3 add=5; y = affine(a) mul=2 add=7",
      "y = affine(x) mul=6 add=17" },
    { "numbers", ROWS "a = neg(x); y = affine(a) mul=2 add=3", "y = affine(x) mul=-2 add=3" },
    { "numbers", ROWS "a = clip(x) min=-3 max=2; y = clip(a) min=-1 max=5",
      "y = clip(x) min=-1 max=2" },
    { "identity", ROWS "y = affine(x) mul=1 add=0; z = exp(y)", "z = exp(x)" },
    { "identity", ROWS "y = transpose(x) perm=0,1,2; z = exp(y)", "z = exp(x)" },
    { "identity", ROWS "y = reshape(x) shape=6,8; z = reshape(y) shape=3,16; u = exp(y); "
      "output z, u", "y = reshape(x) shape=6,8; z = reshape(x) shape=3,16; u = exp(y); "
      "output z, u" },
    { "softmax", ROWS "m = reduce_max(x) axes=1 keep=1; d = sub(x, m); e = exp(d); "
      "s = reduce_sum(e) axes=2 keep=1; y = div(e, s)",
      "m = reduce_max(x) axes=1 keep=1; d = sub(x, m); y = softmax(d) axis=2" },
    { "channels", IMAGE "c = c2d(x, k) o=3 k=3; y = affine(c) mul=2 add=0",
      "y_Scale = const d0=3 value=2; y_Factor = reshape(y_Scale) shape=3,1,1,1; "
      "y_Ker = mul(k, y_Factor); y = c2d(x, y_Ker) o=3 k=3" },
    { "channels", IMAGE "c = c2d(x, k) o=3 k=3; y = affine(c) mul=1 add=3",
      "y_Shift = const d0=3 value=3; y = c2d(x, k, y_Shift) o=3 k=3 bias=1" },
    { "pad", "x = input n=1 c=2 h=3; k = const o=3 i=2 kw=3; "
      "p = pad(x) before=0,0,2 after=0,0,1 value=0; y = c1d(p, k) o=3 k=3",
      "y = c1d(x, k) o=3 k=3 pw0=2 pw1=1" },
    { "gemm", "x = input m=2 k=3; w = const k=3 n=5; "
      "y = gemm(x, w) transa=0 transb=0 alpha=1 beta=1", "y = matmul(x, w)" },
    { "gemm", "x = input m=2 k=3; w = const k=3 n=5; b = const m=1 n=5; "
      "y = gemm(x, w, b) transa=0 transb=0 alpha=1 beta=1",
      "y_Vector = reshape(b) shape=5; y = matmul(x, w, y_Vector)" },
    { "numbers", ROWS "a = clip(x) min=-3; y = clip(a) max=5", "y = clip(x) min=-3 max=5" },
    { "numbers", ROWS "a = clip(x) min=1 max=3; y = clip(a) min=3 max=4",
      "y = clip(x) min=3 max=3" },
    { "numbers", ROWS "c = const d=1 value=0; y = sub(x, c)", "y = affine(x) mul=1 add=0" },
    { "softmax", ROWS "e = exp(x); s = reduce_sum(e) axes=2 keep=1; i = reciprocal(s); "
      "y = mul(e, i)", "y = softmax(x) axis=2" },
    { "projections", ROWS "u = const k=8 n=2; w = const k=8 n=5; b = const n=5; v = const k=8 n=3; "
      "c = const n=3; p = matmul(x, w, b); q = matmul(x, u); r = matmul(x, v, c); y = sqrt(p); "
      "z = sqrt(q); t = sqrt(r); output y, z, t",
      "p_Ws = concat(w, v) axis=1; p_Bs = concat(b, c) axis=0; p_All = matmul(x, p_Ws, p_Bs); "
      "p = slice(p_All) axis=2 from=0 to=5 step=1; q = matmul(x, u); "
      "r = slice(p_All) axis=2 from=5 to=8 step=1; y = sqrt(p); z = sqrt(q); t = sqrt(r); "
      "output y, z, t" },
};

/* Statements that have to stay as they are. */
static const char *const kept[] = {
    ROWS "c = const a=1 b=1 m=1 k=1 value=4; y = add(x, c)",
    ROWS "a = affine(x) mul=2 add=0; y = exp(a)",
    "x = input m=4 k=4; y = transpose(x) perm=1,0; z = exp(y)",
    IMAGE "c = c2d(x, k) o=3 k=3 relu=1; y = affine(c) mul=2 add=0",
    IMAGE "c = c2d(x, k) o=3 k=3 act=tanh; y = affine(c) mul=2 add=0",
    IMAGE "p = pad(x) before=0,0,1,1 after=0,0,1,1 value=0; y = c2d(p, k) p=1 o=3 k=3",
    IMAGE "p = pad(x) before=1,0,1,1 after=0,0,1,1 value=0; y = c2d(p, k) o=3 k=3",
    "x = input n=1 c=2 h=3; k = const o=3 i=3 kw=3; p = pad(x) before=0,0,1 after=0,1,1 value=0; "
      "y = c1d(p, k) o=3 k=3",
    ROWS "y = input b=2 k=8 n=3; b = const n=3; s = affine(x) mul=2 add=0; z = matmul(s, y, b)",
    ROWS "y = input b=2 k=8 n=3; s = affine(x) mul=2 add=0; z = matmul(s, y) act=relu",
    ROWS "c = const d=1 value=4; y = div(c, x)",
    ROWS "a = affine(x) mul=3 add=5; y = affine(a) mul=2 add=7; output a, y",
    ROWS "a = clip(x) min=3 max=4; y = clip(a) min=0 max=1",
    ROWS "a = affine(x) mul=1 add=2; y = exp(a)",
    ROWS "e = exp(x); s = reduce_sum(e) axes=0 keep=0; y = div(e, s)",
    ROWS "e = exp(x); s = reduce_sum(e) axes=1,2 keep=1; y = div(e, s)",
    ROWS "e = exp(x); f = tanh(x); s = reduce_sum(f) axes=2 keep=1; y = div(e, s)",
    ROWS "m = reduce_mean(x) axes=2 keep=1; d = sub(x, m); q = mul(d, d); "
         "v = reduce_mean(q) axes=2 keep=1; u = affine(v) mul=2 add=0.001; s = sqrt(u); "
         "y = div(d, s)",
    ROWS "m = reduce_mean(x) axes=2 keep=1; d = sub(x, m); q = mul(d, d); "
         "v = reduce_mean(q) axes=1,2 keep=1; s = sqrt(v); y = div(d, s)",
    IMAGE "f = const c=3 h=1 w=1; c = c2d(x, k) o=3 k=3; y = sub(f, c)",
    "x = input n=1 c=4 h=6 w=6; k = const o=3 i=5 kh=3 kw=3; "
      "p = pad(x) before=0,1,0,0 after=0,0,0,0 value=0; y = c2d(p, k) o=3 k=3",
    IMAGE "p = pad(x) before=0,0,1,1 after=0,0,1,1 value=0; y = c2d(p, k) o=3 k=3 p=1",
    "x = input m=2 k=3; w = const k=3 n=5; b = const m=2 n=5; "
      "y = gemm(x, w, b) transa=0 transb=0 alpha=1 beta=1",
    "x = input m=2 k=3; w = input k=3 n=5; y = gemm(x, w) transa=0 transb=0 alpha=1 beta=1",
    ROWS "w = const k=8 n=3; s = affine(x) mul=0.25 add=1; p = matmul(s, w)",
    "x = input m=4; y = identity(x); output y",
    "x = input m=4; a = exp(x); b = tanh(a); y = identity(a); output b, y",
    ROWS "c = const d=1 value=2; d = const m=3 k=8; y = div(c, d); z = add(x, y)",
    ROWS "s = sigmoid(x); t = tanh(x); y = mul(t, s)",
    ROWS "y = clip(x) min=0 max=6.00002",
    ROWS "e = exp(x); s = reduce_sum(e) axes=1 keep=1; t = reduce_max(x) axes=2 keep=1; "
         "y = div(e, t); z = add(y, s)",
    ROWS "m = reduce_mean(x) axes=1 keep=1; d = sub(x, m); q = mul(d, d); "
         "v = reduce_mean(q) axes=1 keep=1; s = sqrt(v); y = div(d, s)",
    IMAGE "c = c2d(x, k) o=3 k=3; y = relu(c); z = add(y, c)",
    IMAGE "c = c2d(x, k) o=3 k=3; y = relu(c); output c, y",
    IMAGE "c = c2d(x, k) o=3 k=3 bias=1; y = relu(c); z = exp(c_Conv); output y, z",
    IMAGE "c = c2d(x, k) o=3 k=3; y = relu(c); y_conv = exp(y)",
    IMAGE "y_conv = exp(x); c = c2d(y_conv, k) o=3 k=3; y = relu(c)",
    IMAGE "b = const c=3 h=1 w=1; c = c2d(x, k) o=3 k=3 bias=0; y = add(c, b)",
    IMAGE "c = c2d(x, k) o=3 k=3; f = input c=3 h=1 w=1; y = mul(c, f)",
    IMAGE "c = c2d(x, k) o=3 k=3; f = const h=4 w=1; y = mul(c, f)",
    IMAGE "p = pad(x) before=0,0,1,1 after=0,0,1,1 value=1; y = c2d(p, k) o=3 k=3",
    IMAGE "p = pad(x) before=0,0,1,1 after=0,0,1,1 value=0; y = maxpool(p) k=3",
    "x = input n=1 c=2 h=3; k = const o=3 i=2 kw=3; p = pad(x) before=0,0,5000 after=0,0,0 "
      "value=0; y = c1d(p, k) o=3 k=3",
    "x = input n=1 c=2 h=3; k = const o=3 i=2 kw=3; c = c1d(x, k) o=3 k=3; "
      "y = affine(c) mul=1e300 add=0",
    ROWS "w = input k=8 n=5; b = const n=5; p = matmul(x, w); y = add(p, b)",
    ROWS "w = const k=8 n=5; b = const m=3 n=5; p = matmul(x, w); y = add(p, b)",
    "x = input k=3 m=2; w = const k=3 n=5; y = gemm(x, w) transa=1 transb=0 alpha=1 beta=1",
    "x = input m=4 n=6; y = transpose(x) perm=21; z = transpose(y) perm=1,0",
};

/* Appends the statements of a text except declarations; `output` only if more than the default. */
static void strip(const char *text, struct str *out)
{
    while (*text) {
        size_t n = strcspn(text, ";");
        const char *op = strstr(text, " = ");
        bool declared = op && op < text + n && (str_starts(op, " = input") ||
                                                (str_starts(op, " = const") &&
                                                 !memmem(text, n, "_", 1)));
        if (!declared)
            str_printf(out, "%s%.*s", out->len ? "; " : "", (int)n, text);
        text += n;
        text += strspn(text, "; ");
    }
}

static void passes_write_what_the_table_says(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct arena *a = arena_new();
        struct str got = { 0 };
        int counts[SIMPLIFY_MAX_PASSES], p = pass_named(rows[i].pass);
        const struct graph *g = compose(a, rows[i].before);
        const struct graph *simple = simplify(a, g, (2u << p) - 1, counts);
        strip(simple->spec, &got);
        const char *want = rows[i].after;
        if (!strstr(want, "output"))      /* the text has always an output */
            want = arena_printf(a, "%s; output %s", want,
                                strrchr(str_text(&got), ' ') ? strrchr(str_text(&got), ' ') + 1
                                                             : "");
        if (!streq(str_text(&got), want) || counts[p] == 0)
            fail_msg("%s: %s\nbecame %s\n   not %s", rows[i].pass, rows[i].before,
                     str_text(&got), want);
        check_values(a, g, simple);
        str_free(&got);
        arena_free(a);
    }
}

static void what_does_not_match_stays(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(kept); i++) {
        struct arena *a = arena_new();
        int counts[SIMPLIFY_MAX_PASSES];
        const struct graph *g = compose(a, kept[i]);
        const struct graph *simple = simplify(a, g, simplify_default(), counts);
        for (int p = 0; p < simplify_n_passes(); p++)
            if (counts[p])
                fail_msg("%s: %s\nbecame %s", simplify_pass(p)->name, kept[i], simple->spec);
        assert_int_equal(simple->n_nodes, g->n_nodes);
        check_values(a, g, simple);
        arena_free(a);
    }
}

/* Without passes, only what no output needs goes; what statements made themselves is declared. */
static void unread_statements_go_and_inputs_stay(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const struct graph *g = compose(a, "x = input m=4; u = input m=2; d = const n=3; "
                                       "dead = exp(u); c = gmm m=2 k=3 n=4; y = relu(c); "
                                       "z = tanh(c_A); e = relu(x); output y, z");
    const struct graph *simple = simplify(a, g, 0, NULL);
    assert_string_equal(simple->spec,
                        "x = input m=4; u = input m=2; c_A = input m=2 k=3; c_B = const k=3 n=4; "
                        "c = gmm(c_A, c_B) m=2 k=3 n=4; y = relu(c); z = tanh(c_A); output y, z");
    check_values(a, g, simple);
    const struct graph *one = compose(a, "c2d n=1 i=4 h=6 w=6 o=4 k=3");
    assert_ptr_equal(simplify(a, one, simplify_default(), NULL), one);
    int counts[SIMPLIFY_MAX_PASSES];
    for (int i = 0; i < SIMPLIFY_MAX_PASSES; i++)
        counts[i] = 7;
    simplify(a, one, simplify_default(), counts);
    for (int i = 0; i < simplify_n_passes(); i++)
        assert_int_equal(counts[i], 0);
    struct err e;
    assert_false(simplify_graph(a, compose(a, "gmm m=4 k=4 n=4 type=f16"), 0, &simple, NULL, &e));
    assert_int_equal(e.code, ERR_TYPE);
    assert_non_null(strstr(e.fix, "leave out type=f16"));
    arena_free(a);
}

/* Networks as exporters write them. */

#define LINEAR(y, x, i, o) \
    "W" y " = const d0=" i " d1=" o "; M" y " = matmul(" x ", W" y "); B" y " = const d0=" o "; " \
    y " = add(B" y ", M" y "); "
#define NORM(y, x) \
    "RM" y " = reduce_mean(" x ") axes=2 keep=1; " \
    "SB" y " = sub(" x ", RM" y "); " \
    "PW" y " = mul(SB" y ", SB" y "); RN" y " = reduce_mean(PW" y ") axes=2 keep=1; " \
    "EP" y " = const d0=1 value=1e-12; AD" y " = add(RN" y ", EP" y "); SQ" y " = sqrt(AD" y "); " \
    "DV" y " = div(SB" y ", SQ" y "); WE" y " = const d0=8; ML" y " = mul(DV" y ", WE" y "); " \
    "BI" y " = const d0=8; " y " = add(ML" y ", BI" y "); "
#define GELU(y, x) \
    "C1" y " = const d0=1 value=1.4142135; DI" y " = div(" x ", C1" y "); " \
    "ER" y " = erf(DI" y "); C2" y " = const d0=1 value=1; AE" y " = add(ER" y ", C2" y "); " \
    "MU" y " = mul(" x ", AE" y "); " \
    "C3" y " = const d0=1 value=0.5; " y " = mul(MU" y ", C3" y "); "
#define HEADS(y, x, order) \
    "RS" y " = reshape(" x ") shape=1,6,2,4; " y " = transpose(RS" y ") perm=" order "; "

/* A layer of BERT by torch 2.0, opset 13. */
static const char bert[] =
    "hidden = input d0=1 d1=6 d2=8; "
    LINEAR("q", "hidden", "8", "8") LINEAR("k", "hidden", "8", "8") LINEAR("v", "hidden", "8", "8")
    HEADS("qh", "q", "0,2,1,3") HEADS("kh", "k", "0,2,3,1") HEADS("vh", "v", "0,2,1,3")
    "s = matmul(qh, kh); eight = const d0=1 value=8; sd = div(s, eight); p = softmax(sd) axis=3; "
    "c = matmul(p, vh); ct = transpose(c) perm=0,2,1,3; cr = reshape(ct) shape=1,6,8; "
    LINEAR("ao", "cr", "8", "8") "ar = add(ao, hidden); " NORM("an", "ar")
    LINEAR("up", "an", "8", "16") GELU("ge", "up") LINEAR("dn", "ge", "16", "8")
    "or = add(dn, an); " NORM("y", "or") "output y";

#define NORMED(y, x, k, i, s, p) \
    "W" y " = const d0=4 d1=" i " d2=" k " d3=" k "; C" y " = c2d(" x ", W" y ") o=4 k=" k \
    " s=" s p "; G" y " = const d0=4; B" y " = const d0=4; M" y " = const d0=4; var" y \
    " = const d0=4; " y " = batchnorm(C" y ", G" y ", B" y ", M" y ", var" y \
    ") eps=9.99999975e-06; "

/* A block of ResNet by torch 2.0 in training mode. */
static const char resnet[] =
    "image = input d0=1 d1=3 d2=8 d3=8; "
    NORMED("a", "image", "3", "3", "2", " p=1") "ar = relu(a); m = maxpool(ar) k=3 s=1 p=1; "
    NORMED("b", "m", "3", "4", "2", " p=1") "br = relu(b); "
    NORMED("c", "br", "3", "4", "1", " p=1") NORMED("d", "m", "1", "4", "2", "")
    "e = add(c, d); er = relu(e); f = reduce_mean(er) axes=2,3 keep=1; g = reshape(f) shape=1,4; "
    "fw = const d0=5 d1=4; fb = const d0=5; "
    "y = gemm(g, fw, fb) transa=0 transb=1 alpha=1 beta=1; output y";

/* The operators over what is not constant, in order. */
static void operators(const struct graph *g, struct str *out)
{
    bool *constant = xcalloc((size_t)g->n_tensors, sizeof *constant);
    for (int t = 0; t < g->n_tensors; t++)
        constant[t] = g->tensor[t].role == TENSOR_CONST;
    for (int i = 0; i < g->n_statements; i++) {
        const struct graph_statement *s = &g->statement[i];
        bool all = true;
        for (int k = 0; k < s->n_args; k++)
            all = all && constant[s->arg[k]];
        constant[s->out] = all;
        const char *act = strstr(s->params, "act=");
        if (!all)
            str_printf(out, "%s%s%s%s", out->len ? " " : "", s->op, act ? "+" : "",
                       act ? act + 4 : "");
    }
    free(constant);
}

static void check_network(const char *text, const char *want)
{
    struct arena *a = arena_new();
    struct str got = { 0 };
    const struct graph *g = compose(a, text);
    const struct graph *simple = simplify(a, g, simplify_default(), NULL);
    operators(simple, &got);
    assert_string_equal(str_text(&got), want);
    check_values(a, g, simple);
    str_free(&got);
    arena_free(a);
}

static void exported_networks_become_few_statements(void **state)
{
    (void)state;
    check_network(bert, "matmul matmul matmul reshape transpose reshape transpose reshape "
                        "transpose matmul affine softmax matmul transpose reshape matmul add "
                        "layernorm matmul+gelu matmul add layernorm");
    check_network(resnet, "c2d+relu maxpool c2d+relu c2d c2d add relu reduce_mean reshape matmul");
}

/* Random graphs. */

/* Statements over tensors X and Y of one shape, with the same shape; N: a name of its own. */
static const char *const images[] = {
    "N = relu(X)", "N = clip(X) min=0 max=6", "N = identity(X)", "N = add(X, Y)", "N = mul(X, Y)",
    "NS = sigmoid(X); N = mul(X, NS)", "NC = const d=1 value=0.5; N = mul(X, NC)",
    "NC = const d=1 value=-1.5; N = sub(NC, X)", "NC = const c=4 h=1 w=1; N = add(NC, X)",
    "NC = const n=1 c=4 h=1 w=1; N = mul(X, NC)", "NC = const w=6; N = add(X, NC)",
    "NK = const o=4 i=4 kh=3 kw=3; N = c2d(X, NK) o=4 k=3 p=1",
    "NK = const o=4 i=4 kh=1 kw=1; NB = const o=4; N = c2d(X, NK, NB) o=4 k=1 bias=1",
    "N = c2d(X) o=4 k=3 p=1 bias=1", "N = dep(X) k=3 p=1", "N = grp(X) o=4 g=2 k=3 p=1 act=silu",
    "N = t2d(X) o=4 k=3 p=1",
    "NP = pad(X) before=0,0,0,2 after=0,0,2,0 value=0; N = c2d(NP) o=4 k=3",
    "NG = const c=4; NB = const c=4; NM = const c=4; varN = const c=4; "
    "N = batchnorm(X, NG, NB, NM, varN) eps=0.01",
    "NG = const c=4; NB = input c=4; NM = const c=4; varN = const c=4; "
    "N = batchnorm(X, NG, NB, NM, varN) eps=0.01",
    "NR = reshape(X) shape=8,18; NT = reshape(NR) shape=1,4,6,6; N = tanh(NT)",
    "N = maxpool(X) k=3 s=1 p=1", "N = affine(X) mul=0.5 add=-1", "N = neg(X)", "N = tanh(X)",
};
static const char *const matrices[] = {
    "N = relu(X)", "N = add(X, Y)", "N = gelu(X)", "N = mul(X, Y)",
    "NW = const k=8 n=8; N = matmul(X, NW)", "NW = const k=8 n=8; NB = const n=8; "
    "NM = matmul(X, NW); N = add(NB, NM)", "NB = const n=8; N = add(X, NB)",
    "NB = const m=3 n=8; N = add(X, NB)", "NB = const n=8; N = mul(X, NB)",
    "NB = const n=8 value=1; N = mul(X, NB)", "NB = const m=1 n=8 value=0; N = add(X, NB)",
    "NT = transpose(X) perm=0,2,1; NU = transpose(NT) perm=1,0,2; N = transpose(NU) perm=1,2,0",
    "NT = transpose(Y) perm=0,2,1; NS = matmul(X, NT); N = matmul(NS, Y)",
    "NR = reshape(X) shape=6,8; NW = const n=8 k=8; NB = const n=8; "
    "NG = gemm(NR, NW, NB) transb=1 alpha=0.5; N = reshape(NG) shape=2,3,8",
    "NM = reduce_mean(X) axes=2 keep=1; ND = sub(X, NM); NQ = mul(ND, ND); "
    "NV = reduce_mean(NQ) axes=2 keep=1; NE = const d=1 value=0.001; NA = add(NV, NE); "
    "NS = sqrt(NA); N = div(ND, NS)",
    "NM = reduce_max(X) axes=1 keep=1; ND = sub(X, NM); NE = exp(ND); "
    "NS = reduce_sum(NE) axes=1 keep=1; N = div(NE, NS)",
    "NC = const d=1 value=0.70710677; NO = const d=1 value=1; NH = const d=1 value=0.5; "
    "ND = mul(X, NC); NE = erf(ND); NP = add(NE, NO); NM = mul(X, NP); N = mul(NM, NH)",
    "NC = const d=1 value=0.5; NX = mul(X, NC); NT = transpose(Y) perm=0,2,1; "
    "NS = matmul(NX, NT); N = matmul(NS, X)", "N = affine(X) mul=2",
    "N = softmax(X) axis=2", "N = layernorm(X) axis=2 eps=0.01",
    "NW = const k=8 n=8; NB = const n=8; N = matmul(X, NW, NB) act=tanh",
};

static void add_template(struct str *out, const char *text, int name, int x, int y)
{
    for (const char *s = text; *s; s++) {
        bool word = s > text && (isalnum((unsigned char)s[-1]) || s[-1] == '_');
        if (*s == 'N' && (!word || (s - text >= 3 && strncmp(s - 3, "var", 3) == 0)))
            str_printf(out, "t%d", name);
        else if ((*s == 'X' || *s == 'Y') && !word)
            str_printf(out, "t%d", *s == 'X' ? x : y);
        else
            str_add_char(out, *s);
    }
    str_add(out, "\n");
}

static void random_graphs_keep_their_values(void **state)
{
    (void)state;
    for (int i = 0; i < 400; i++) {
        struct arena *a = arena_new();
        struct rng rng = rng_seed(seed + (uint64_t)i);
        struct str text = { 0 };
        bool image = rng_range(&rng, 0, 1);
        int n = (int)rng_range(&rng, 1, 9);
        str_add(&text, image ? "t0 = input n=1 c=4 h=6 w=6\n" : "t0 = input b=2 m=3 k=8\n");
        for (int k = 1; k <= n; k++) {
            int from = rng_range(&rng, 0, 3) ? k - 1 : (int)rng_range(&rng, 0, k - 1);
            const char *t = image ? images[rng_range(&rng, 0, COUNT_OF(images) - 1)]
                                  : matrices[rng_range(&rng, 0, COUNT_OF(matrices) - 1)];
            add_template(&text, t, k, from, (int)rng_range(&rng, 0, k - 1));
        }
        if (rng_range(&rng, 0, 1))
            str_printf(&text, "output t%d, t%d\n", (int)rng_range(&rng, 1, n), n);
        unsigned all = (1u << simplify_n_passes()) - 1;
        unsigned passes = rng_range(&rng, 0, 1) ? all : (unsigned)rng_range(&rng, 0, (int)all);
        const struct graph *g = compose(a, str_text(&text));
        const struct graph *simple = simplify(a, g, passes, NULL);
        check_values(a, g, simple);
        const struct graph *again = simplify(a, simple, passes, NULL);
        assert_true(again->n_statements <= simple->n_statements);
        check_values(a, g, again);
        str_free(&text);
        arena_free(a);
    }
}

int main(void)
{
    const char *given = getenv("TS_SEED");
    seed = given ? strtoull(given, NULL, 10) : seed;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_write_what_the_table_says),
        cmocka_unit_test(what_does_not_match_stays),
        cmocka_unit_test(unread_statements_go_and_inputs_stay),
        cmocka_unit_test(exported_networks_become_few_statements),
        cmocka_unit_test(random_graphs_keep_their_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
