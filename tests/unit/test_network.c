/* Networks: their kernels, the layouts between them, the memory plan, and runs against the float64
 * reference of the whole graph, in which a wrong connection of right kernels shows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/module/network.h"
#include "kernels/module/simplify.h"
#include "kernels/onnx/weights.h"
#include "kernels/ops/reference.h"
#include "profile/measure/measure_network.h"
#include "profile/measure/network_compare.h"
#include "sessions/file/expert_file.h"
#include "sessions/file/session_network.h"
#include "tests/unit/networks.h"
#include "tests/unit/perm.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* --- Partition -------------------------------------------------------------------------------- */

struct cut { const char *text, *want; };  /* want: "RESULT = SPEC [OPERAND...]" in lines */

static const struct cut cuts[] = {
    { "x = input n=1 i=4 h=8 w=8; y = c2d(x) o=8 k=3 p=1 bias=1",
      "y = c2d n=1 i=4 h=8 w=8 o=8 k=3 p=1 bias=1 [Inp_in=x Ker=y_Ker Bias=y_Bias]\n" },
    /* the residual is added by the later of its producers, and comes second in the text */
    { "x = input n=1 i=4 h=8 w=8; a = c2d(x) o=4 k=1; b = c2d(a) o=4 k=1; c = add(a, b); "
      "d = relu(c)",
      "a = c2d n=1 i=4 h=8 w=8 o=4 k=1 [Inp=x Ker=a_Ker]\n"
      "d = Inp = input n=1 i=4 h=8 w=8; Ker = const o=4 i=4 kh=1 kw=1; "
      "Conv = c2d(Inp, Ker) o=4 k=1; Add = add(Conv, Inp); Relu = relu(Add) "
      "[Inp=a Ker=b_Ker]\n" },
    { "x = input n=1 i=4 h=8 w=8; r = input n=1 o=8 h=8 w=8; b = c2d(x) o=8 k=1; c = mul(r, b)",
      "c = Inp = input n=1 i=4 h=8 w=8; Ker = const o=8 i=4 kh=1 kw=1; "
      "Conv = c2d(Inp, Ker) o=8 k=1; Res = input n=1 o=8 h=8 w=8; Mul = mul(Conv, Res) "
      "[Inp=x Ker=b_Ker Res=r]\n" },
    /* what two statements read stays */
    { "x = input n=1 i=4 h=8 w=8; a = c2d(x) o=4 k=1; b = relu(a); c = exp(a); output b, c",
      "a = c2d n=1 i=4 h=8 w=8 o=4 k=1 [Inp=x Ker=a_Ker]\n"
      "b = X = input d0=1 d1=4 d2=8 d3=8; Relu = relu(X) [X=a]\n"
      "c = X = input d0=1 d1=4 d2=8 d3=8; Exp = exp(X) [X=a]\n" },
    /* and so does an output of the graph */
    { "x = input n=1 i=4 h=8 w=8; a = c2d(x) o=4 k=1; b = relu(a); output a, b",
      "a = c2d n=1 i=4 h=8 w=8 o=4 k=1 [Inp=x Ker=a_Ker]\n"
      "b = X = input d0=1 d1=4 d2=8 d3=8; Relu = relu(X) [X=a]\n" },
    /* rows of any rank are one matrix; what is added by row as well */
    { "x = input a=2 b=3 k=8; w = const k=8 n=16; v = const n=16; r = input a=2 b=3 n=16; "
      "y = matmul(x, w, v) act=gelu; z = add(r, y)",
      "z = A = input m=6 k=8; B = const k=8 n=16; Bias = const n=16; "
      "GELU = gmm(A, B, Bias) n=16 bias=1 act=gelu; Res = input m=6 n=16; Add = add(GELU, Res) "
      "[A=x B=w Bias=v Res=r]\n" },
    { "q = input b=2 h=3 m=4 k=8; t = input b=2 h=3 k=8 n=4; s = matmul(q, t)",
      "s = bmm b=6 m=4 k=8 n=4 [A=q B=t]\n" },
    /* reshapes of what arrives are views, sums over constants are computed once */
    { "x = input a=4 b=6; y = reshape(x) shape=2,12; w = const d0=2 d1=12; "
      "v = exp(w); z = add(y, v)",
      "y = X = input d0=4 d1=6; Reshape = reshape(X) shape=2,12 [X=x] view\n"
      "v = W = const d0=2 d1=12; Exp = exp(W) [W=w] constant\n"
      "z = X = input d0=2 d1=12; X2 = const d0=2 d1=12; Add = add(X, X2) [X=y X2=v]\n" },
    /* functions and choices join what computes their operand; what jumps begins a kernel */
    { "x = input a=4 b=6; m = input a=4 b=6; s = input a=4 b=6; y = softmax(x) axis=1; "
      "z = sin(y); w = where(m, z, s)",
      "w = X = input d0=4 d1=6; Softmax = softmax(X) axis=1; Sin = sin(Softmax); "
      "Res = input d0=4 d1=6; Res2 = input d0=4 d1=6; Where = where(Res, Sin, Res2) "
      "[X=x Res=m Res2=s]\n" },
    /* a function may be called like an inner tensor of what it joins */
    { "x = input a=4 b=6; y = softmax(x) axis=1; z = exp(y)",
      "z = X = input d0=4 d1=6; Softmax = softmax(X) axis=1; Exp2 = exp(Softmax) [X=x]\n" },
    { "x = input a=4 b=6; y = softmax(x) axis=1; f = floor(y); z = mul(f, x)",
      "y = X = input d0=4 d1=6; Softmax = softmax(X) axis=1 [X=x]\n"
      "z = X = input d0=4 d1=6; Floor = floor(X); Res = input d0=4 d1=6; Mul = mul(Floor, Res) "
      "[X=y Res=x]\n" },
    { "x = input a=4 b=6; y = exp(x); l = less(y, x); w = where(l, x, y)",
      "y = X = input d0=4 d1=6; Exp = exp(X) [X=x]\n"
      "w = X = input d0=4 d1=6; X2 = input d0=4 d1=6; Less = less(X, X2); "
      "Where = where(Less, X2, X) [X=y X2=x]\n" },
    { "x = input a=4 b=6; y = mul(x, x)", "y = X = input d0=4 d1=6; Mul = mul(X, X) [X=x]\n" },
};

static void networks_are_cut_into_kernels(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(cuts); i++) {
        const struct graph *g = graph_must(perm, cuts[i].text), *own;
        struct partition p;
        struct str got = {0};
        struct err e = {0};
        assert_true(partition(perm, g, 0, NULL, &p, &e));
        for (int k = 0; k < p.n; k++) {
            const struct net_part *x = &p.part[k];
            str_printf(&got, "%s = %s [", g->tensor[x->out].name, x->spec);
            for (int o = 0; o < x->n_operands; o++)
                str_printf(&got, "%s%s=%s", o ? " " : "", x->operand[o].name,
                           g->tensor[x->operand[o].tensor].name);
            str_printf(&got, "]%s%s\n", x->view ? " view" : "", x->constant ? " constant" : "");
            if (!graph_from_spec(perm, x->spec, &own, &e))
                fail_msg("%s: %s", x->spec, e.text);
            assert_true(graph_tensor(own, x->result) >= 0);
        }
        assert_string_equal(str_text(&got), cuts[i].want);
        str_free(&got);
    }
}

struct stepped { const char *text, *step[3], *want; };   /* want: the results of kernels, or part
                                                           * of the error */

#define BLOCK "x = input n=1 i=4 h=6 w=6; a = c2d(x) o=4 k=3 p=1 bias=1; r = relu(a); " \
              "b = c2d(r) o=4 k=1; s = add(b, x); t = exp(s)"

static const struct stepped steps[] = {
    { BLOCK, { NULL }, "r t" },
    { BLOCK, { "module cut a" }, "a r t" },
    { BLOCK, { "module cut b", "module cut s" }, "r b s t" },
    { BLOCK, { "module join r b" }, "t" },
    { BLOCK, { "module join a t" }, "t" },           /* any tensors of the two */
    { BLOCK, { "module join r b", "module cut s" }, "s t" },
    { BLOCK, { "module cut b", "module join b s" }, "r t" },     /* the last one counts */
    { BLOCK, { "module join r b", "module cut r" }, "r t" },
    { BLOCK, { "module cut t" }, "t is the result of a kernel already" },
    { BLOCK, { "module cut x" }, "no kernel computes x" },
    { BLOCK, { "module cut nothing" }, "no tensor nothing" },
    { BLOCK, { "module join b r" }, "does not read t" },
    { BLOCK, { "module join b s" }, "already computed by one kernel" },
    { BLOCK, { "module join r" }, "a step of a network is" },
    { BLOCK, { "loop split a W 2 3" }, "a step of a network is" },
    { "x = input a=4 b=6; y = softmax(x) axis=1; z = exp(y); w = softmax(y) axis=0; v = add(z, w)",
      { "module join y z" }, "y has to be stored, because w reads it as well" },
    /* both readers are in the kernel by then */
    { "x = input a=4 b=6; y = softmax(x) axis=1; z = exp(y); w = softmax(y) axis=0; v = add(w, z)",
      { "module join z v", "module join y v" }, "v" },
    { "x = input a=4 b=6; y = softmax(x) axis=1; z = exp(y); w = softmax(z) axis=0; output y, w",
      { "module join y z" }, "y is an output" },
    { "x = input a=4 b=6; c = const a=4 b=6; y = exp(c); z = add(x, y)",
      { "module join y z" }, "depends on constants only" },
    /* of two kernels that a third one joins, the results become inner tensors */
    { "x = input a=4 b=6; y = softmax(x) axis=1; z = softmax(x) axis=0; w = add(y, z)",
      { "module join y w" }, "w" },
};

/* Cuts g by the steps; false with *e. */
static bool cut_by(const struct graph *g, const char *const *step, struct partition *p,
                   struct err *e)
{
    int n = 0;
    while (n < 3 && step[n])
        n++;
    return partition(perm, g, n, step, p, e);
}

static void steps_cut_and_join(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(steps); i++) {
        const struct graph *g = graph_must(perm, steps[i].text), *own;
        struct partition p;
        struct str got = {0};
        struct err e = {0}, bad;
        bool ok = cut_by(g, steps[i].step, &p, &e);
        for (int k = 0; ok && k < p.n; k++) {
            if (!p.part[k].constant)
                str_printf(&got, "%s%s", got.len ? " " : "", g->tensor[p.part[k].out].name);
            if (!graph_from_spec(perm, p.part[k].spec, &own, &bad))
                fail_msg("%s: %s", p.part[k].spec, bad.text);
        }
        if (ok ? !streq(str_text(&got), steps[i].want) : !strstr(e.text, steps[i].want))
            fail_msg("row %d: %s, not %s", i, ok ? str_text(&got) : e.text, steps[i].want);
        str_free(&got);
    }
}

static bool choose_none(void *ctx, struct arena *a, const char *spec, int n_given,
                        const char *const *given, int *n, const char *const **line, struct err *e)
{
    (void)ctx;
    (void)a;
    (void)spec;
    (void)n_given;
    (void)given;
    (void)n;
    (void)line;
    err_set(e, ERR_NAME, "no expert knows it");
    return err_fix(e, "write an expert for it");
}

static void an_error_of_a_kernel_keeps_its_fix(void **state)
{
    (void)state;
    const struct network *net;
    struct err e = {0};
    assert_false(network_build(perm, graph_must(perm, "x = input m=4 k=4; y = gmm(x) n=4"), 0, NULL,
                               choose_none, NULL, &net, &e));
    assert_int_equal(e.code, ERR_NAME);
    assert_string_equal(e.text, "kernel 0 of the network, y: no expert knows it");
    assert_string_equal(e.fix, "write an expert for it");
}

/* --- Networks that are run -------------------------------------------------------------------- */

struct example {
    const char *text;
    int tasks, calls, conversions;        /* -1: any */
};

static const struct example example[] = {
    /* a residual block between images in the caller's layout: both ends are converted */
    { "x = input n=1 i=16 h=10 w=10; a = c2d(x) o=32 k=3 p=1 bias=1 relu=1; "
      "b = c2d(a) o=32 k=3 p=1 bias=1; s = add(a, b); r = relu(s); m = maxpool(r) k=2; "
      "c = c2d(m) o=64 k=1 s=2; t = sigmoid(c)", -1, -1, -1 },
    /* equal kernels are one task */
    { "x = input m=32 k=64; a = gmm(x) n=64 bias=1; b = gmm(a) n=64 bias=1; c = gmm(b) n=64 bias=1",
      1, 3, 0 },
    /* one head of attention */
    { "x = input b=1 m=24 k=32; wq = const k=32 n=32; wk = const k=32 n=32; wv = const k=32 n=32; "
      "q = matmul(x, wq); k = matmul(x, wk); v = matmul(x, wv); "
      "q4 = reshape(q) shape=1,24,2,16; k4 = reshape(k) shape=1,24,2,16; "
      "v4 = reshape(v) shape=1,24,2,16; qt = transpose(q4) perm=0,2,1,3; "
      "kt = transpose(k4) perm=0,2,3,1; vt = transpose(v4) perm=0,2,1,3; s = matmul(qt, kt); "
      "d = affine(s) mul=0.25 add=0; p = softmax(d) axis=3; o = matmul(p, vt); "
      "ot = transpose(o) perm=0,2,1,3; y = reshape(ot) shape=1,24,32; z = add(y, x); "
      "g = const k=32; h = const k=32; n = layernorm(z, g, h) axis=2 eps=1e-5", -1, -1, 0 },
    /* flattening an image that lies channels last */
    { "x = input n=1 i=16 h=6 w=6; a = c2d(x) o=32 k=3 p=1; f = reshape(a) shape=1,1152; "
      "w = const k=1152 n=10; y = matmul(f, w); z = softmax(y) axis=1", -1, -1, -1 },
    /* several outputs, one of which another kernel reads, and an input that is one */
    { "x = input n=2 c=8 h=6 w=6; a = relu(x); b = exp(a); i = identity(x); output a, b, i", -1, -1,
      -1 },
    /* a normalisation by dim 1, which rows of one matrix do not have */
    { "x = input b=2 c=3 k=4; w = const k=4 l=3; y = matmul(x, w); g = const c=3; h = const c=3; "
      "m = const c=3; v = const c=3 value=0.5,1,2; n = batchnorm(y, g, h, m, v) eps=1e-5", -1, -1,
      -1 },
    /* branches that are joined */
    { "x = input n=1 i=16 h=8 w=8; a = c2d(x) o=16 k=1; b = c2d(x) o=16 k=3 p=1; "
      "c = concat(a, b) axis=1; s = slice(c) axis=1 from=8 to=24; d = c2d(s) o=16 k=1; "
      "e = reduce_mean(d) axes=2,3 keep=1", -1, -1, -1 },
};

/* Evaluates g on the seed's data, and returns its outputs as a list of given arrays. */
static int expected(const struct graph *g, uint64_t seed, struct network_given *out)
{
    double **data = xcalloc((size_t)g->n_tensors, sizeof *data);
    struct err e = {0};
    int n = 0;
    for (int t = 0; t < g->n_tensors; t++) {
        const struct tensor *x = &g->tensor[t];
        int64_t elems = tensor_elems(x);
        data[t] = xmalloc_elems((size_t)elems, sizeof **data);
        if (x->producer >= 0)
            continue;
        f32 *f = xmalloc_elems((size_t)elems, sizeof *f);
        assert_true(weights_tensor_data(x, seed, f, &e));
        for (int64_t i = 0; i < elems; i++)
            data[t][i] = (double)f[i];
        free(f);
    }
    assert_true(reference_eval(g, data, NULL, &e));
    for (int t = 0; t < g->n_tensors; t++) {
        if (g->tensor[t].role == TENSOR_OUTPUT) {
            int64_t elems = tensor_elems(&g->tensor[t]);
            f32 *f = arena_alloc(perm, sizeof *f * (size_t)elems);
            for (int64_t i = 0; i < elems; i++)
                f[i] = (f32)data[t][i];
            out[n++] = (struct network_given){ g->tensor[t].name, f };
        }
        free(data[t]);
    }
    free(data);
    return n;
}

/* Measures a network and compares with the reference of graph g, as its author's data; NULL: there
 * are none. */
static void measure(const struct network *net, const struct graph *g, unsigned meters,
                    struct network_measurement *m)
{
    struct network_given want[8];
    struct measure_opts mo = { .seed = 7, .meters = meters, .time_s = 0.001, .min_runs = 2 };
    struct network_opts o = { .measure = &mo, .expected = want };
    struct err e = {0};
    o.n_expected = g ? expected(g, mo.seed, want) : 0;
    if (!measure_network(perm, net, &o, NULL, NULL, m, &e))
        fail_msg("%s", e.text);
}

static void networks_are_right(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(example); i++) {
        const struct graph *g = graph_must(perm, example[i].text), *simple;
        struct network_measurement m;
        struct err e = {0};
        assert_true(simplify_graph(perm, g, simplify_default(), &simple, NULL, &e));
        for (int as = 0; as < 2; as++) {  /* as it is, and simplified */
            const struct network *net = network_must(perm, as ? simple : g);
            measure(net, g, i == 0 ? METER_CLOCK : 0, &m);
            if (m.outcome != OUTCOME_OK || !m.verified || !m.compared || !m.whole_compared
                || m.whole.reason[0])
                fail_msg("%s: %s", example[i].text, m.reason);
            if (example[i].tasks >= 0)
                assert_int_equal(net->n_tasks, example[i].tasks);
            if (example[i].calls >= 0)
                assert_int_equal(net->module->n_calls, example[i].calls);
            if (example[i].conversions >= 0)
                assert_int_equal(net->n_conversions, example[i].conversions);
            assert_true(i > 0 || (m.latency.runs >= 2 && m.call_s && m.call_s[0] > 0));
        }
    }
}

/* Networks are right under any steps: convolutions with own weights, heads of attention. */
static void joined_networks_are_right(void **state)
{
    static const struct { const char *text, *kernels; int tasks; } row[] = {
        { BLOCK, "module\nmodule join r b\n\n", 1 },
        { BLOCK, "module\nmodule cut b\nmodule cut s\n\n", -1 },
        { "x = input n=1 i=4 h=6 w=6; Conv = c2d(x) o=4 k=3 p=1 bias=1; y = c2d(Conv) o=4 k=1",
          "module\nmodule join Conv y\n\n", 1 },
        { "q = input b=2 m=8 k=16; k = input b=2 k=16 m=8; v = input b=2 m=8 k=16; "
          "s = matmul(q, k); d = affine(s) mul=0.25 add=0; p = softmax(d) axis=2; o = matmul(p, v)",
          "module\nmodule join d p\nmodule join p o\n\n", 1 },
        { "x = input m=6 k=8; y = gmm(x) n=8; z = reshape(y) shape=3,2,8; w = softmax(z) axis=2",
          "module\nmodule join y z\nmodule join z w\n\n", 1 },
        { "x = input m=6 k=8; y = gmm(x) n=8; b = reduce_max(y) axes=1 keep=1; c = sub(x, b)",
          "module\nmodule join b c\nmodule join y b\n\n", 1 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        const struct graph *g = graph_must(perm, row[i].text);
        const struct network *net;
        struct network_measurement m;
        struct err e = {0};
        if (!network_of_graph(perm, g, row[i].kernels, 0, NULL, 1, &net, &e))
            fail_msg("%s: %s", row[i].text, e.text);
        measure(net, g, 0, &m);
        if (!m.verified || !m.whole_compared || (row[i].tasks > 0 && net->n_tasks != row[i].tasks))
            fail_msg("%s: %d tasks, %s", row[i].text, net->n_tasks, m.reason);
    }
}

/* Schedules that were chosen for kernels: a kernel that wants another layout of what several
 * kernels read in another shape, and one that has the text of a conversion. */
static void chosen_schedules_are_right(void **state)
{
    (void)state;
    static const struct { const char *text, *kernels; int conversions; } chosen[] = {
        { "x = input a=2 b=3 k=8; w = const k=8 n=8; v = const k=8 n=8; p = matmul(x, w); "
          "q = matmul(x, v); output p, q",
          "gmm m=6 k=8 n=8\nset input_layout given\nlayout set A \"K M\"\n\n", 1 },
        { "x = input n=1 i=16 h=10 w=10; a = c2d(x) o=32 k=3 p=1; b = relu(a); c = exp(a); "
          "output b, c", "X = input d0=1 d1=16 d2=10 d3=10; Identity = identity(X)\n\n", 3 },
    };
    for (int i = 0; i < COUNT_OF(chosen); i++) {
        const struct graph *g = graph_must(perm, chosen[i].text);
        const struct network *net;
        struct network_measurement m;
        struct err e = {0};
        if (!network_of_graph(perm, g, chosen[i].kernels, 0, NULL, 1, &net, &e))
            fail_msg("%s", e.text);
        assert_int_equal(net->n_conversions, chosen[i].conversions);
        measure(net, g, 0, &m);
        if (m.outcome != OUTCOME_OK || !m.verified)
            fail_msg("%s: %s", chosen[i].text, m.reason);
    }
}

/* Returns the network with parameters x and y of a call exchanged. */
static struct network swapped(const struct network *net, int call, int x, int y)
{
    struct network out = *net;
    struct module *m = ARENA_DUP(perm, net->module, 1);
    struct module_call *calls = ARENA_DUP(perm, m->call, m->n_calls);
    int n = net->task[net->call[call].task].func->n_params;
    int *buffer = ARENA_DUP(perm, calls[call].buffer, n);
    buffer[x] = calls[call].buffer[y];
    buffer[y] = calls[call].buffer[x];
    calls[call].buffer = buffer;
    m->call = calls;
    out.module = m;
    return out;
}

/* A kernel whose calls are given the operands of another one is right by itself: only the whole
 * shows it. */
static void a_wrong_connection_is_found(void **state)
{
    (void)state;
    const struct graph *g =
        graph_must(perm, "x = input m=16 k=16; y = input m=16 k=16; a = sub(x, y)");
    const struct network net = swapped(network_must(perm, g), 0, 0, 1);
    struct network_measurement m;
    measure(&net, g, 0, &m);
    assert_int_equal(m.outcome, OUTCOME_WRONG);
    assert_false(m.verified);
    assert_non_null(strstr(m.reason, "is expected"));
    measure(&net, NULL, 0, &m);           /* and without data of its author */
    assert_int_equal(m.outcome, OUTCOME_WRONG);
    assert_false(m.verified);
    assert_non_null(strstr(m.reason, "reads or writes the wrong tensor"));
    assert_true(m.whole.of_allowed > 1);
}

/* Two products of one shape in the middle of a network, each other's operand. */
static void tensors_of_one_shape_are_told_apart(void **state)
{
    (void)state;
    const struct graph *g = graph_must(perm,
        "x = input b=2 m=8 k=8; w = const k=8 n=8; v = const k=8 n=8; p = matmul(x, w); "
        "q = matmul(x, v); s = matmul(p, q); y = softmax(s) axis=2");
    const struct network *net = network_must(perm, g);
    struct network_measurement m;
    int product = -1;
    for (int i = 0; i < net->module->n_calls; i++)
        if (str_starts(net->task[net->call[i].task].spec, "bmm"))
            product = i;
    assert_true(product >= 0);
    const struct network wrong = swapped(net, product, 0, 1);
    measure(net, NULL, 0, &m);
    assert_true(m.verified && m.whole_compared);
    measure(&wrong, NULL, 0, &m);
    assert_int_equal(m.outcome, OUTCOME_WRONG);
    assert_int_equal(m.wrong_call, -1);
}

/* Buffers that live at the same time and share memory all the same. */
static struct network with_a_wrong_plan(void)
{
    const struct graph *g =
        graph_must(perm, "x = input m=16 k=16; a = gmm(x) n=16; b = gmm(a) n=16; "
                         "c = gmm(b) n=16; s = sub(a, c); y = softmax(s) axis=1");
    struct network net = *network_must(perm, g);
    struct module *module = ARENA_DUP(perm, net.module, 1);
    struct module_plan *plan = ARENA_DUP(perm, module->plan, 1);
    int64_t *at = ARENA_DUP(perm, plan->at, module->n_buffers);
    for (int b = 0; b < module->n_buffers; b++)
        at[b] = at[b] < 0 ? at[b] : 0;
    plan->at = at;
    module->plan = plan;
    net.module = module;
    return net;
}

static void a_wrong_plan_is_found(void **state)
{
    (void)state;
    struct network net = with_a_wrong_plan();
    struct network_measurement m;
    measure(&net, NULL, METER_CLOCK, &m);
    assert_int_equal(m.outcome, OUTCOME_WRONG);
    assert_non_null(strstr(m.reason, "share memory"));
}

/* Outputs with other bits are judged also in a network that was not checked, if the whole graph
 * fits into memory. */
static void an_unchecked_network_is_judged_within_the_memory(void **state)
{
    (void)state;
    struct network net = with_a_wrong_plan();
    struct measure_opts mo = { .meters = METER_CLOCK, .time_s = 0.001, .min_runs = 2 };
    struct network_opts o = { .measure = &mo, .unchecked = true };
    struct network_measurement m;
    struct err e = {0};
    assert_true(measure_network(perm, &net, &o, NULL, NULL, &m, &e));
    assert_int_equal(m.outcome, OUTCOME_WRONG);
    assert_non_null(strstr(m.reason, "share memory"));
    net.whole = graph_must(perm, "x = input a=262144 b=262144; y = relu(x); z = softmax(y) axis=1");
    assert_true(measure_network(perm, &net, &o, NULL, NULL, &m, &e));
    assert_int_equal(m.outcome, OUTCOME_LIMIT);
    assert_non_null(strstr(m.reason, "GiB of memory, but only"));
}

/* Where rounded values are compared, right results may differ: that is said, and is no failure. */
static void jumps_are_not_judged(void **state)
{
    static const struct { const char *text; bool judged; } row[] = {
        { "x = input m=16 k=16; y = input m=16 k=16; a = gmm(x) n=16; f = floor(a); "
          "b = sub(f, y); c = sub(y, b); z = sub(b, c)", false },
        /* inputs are exact, and so is what is compared */
        { "x = input m=16 k=16; y = input m=16 k=16; l = less(x, y); i = identity(l); "
          "w = where(i, x, y); b = sub(w, y); "
          "c = sub(y, b); z = sub(b, c)", true },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        const struct network *net = network_must(perm, graph_must(perm, row[i].text));
        struct network_measurement m;
        measure(net, NULL, 0, &m);
        assert_true(m.verified && m.whole_compared && !m.whole.reason[0]);
        const struct network wrong = swapped(net, net->module->n_calls - 1, 0, 1);
        measure(&wrong, NULL, 0, &m);
        assert_int_equal(m.outcome, row[i].judged ? OUTCOME_WRONG : OUTCOME_OK);
        assert_int_equal(m.whole.reason[0] != 0, !row[i].judged);
    }
}

/* Simplifications are checked as well: what must come out is the graph before them. */
static void the_whole_is_the_graph_before_simplifications(void **state)
{
    (void)state;
    const struct graph *g = graph_must(perm, "x = input n=1 i=4 h=6 w=6; a = c2d(x) o=8 k=3; "
                                             "b = affine(a) mul=2 add=1");
    const struct graph *other = graph_must(perm, "x = input n=1 i=4 h=6 w=6; a = c2d(x) o=8 k=3; "
                                                 "b = affine(a) mul=2 add=1.5");
    struct network_measurement m;
    const struct network *net;
    struct err e = {0};
    assert_true(network_of_graph(perm, g, "", 0, NULL, 1, &net, &e));
    assert_ptr_equal(net->whole, g);
    measure(net, NULL, 0, &m);
    assert_true(m.verified && m.whole_compared);
    struct network wrong = *net;
    wrong.whole = other;
    measure(&wrong, NULL, 0, &m);
    assert_int_equal(m.outcome, OUTCOME_WRONG);
}

/* Values are freed after their last reader: a long chain needs no more than a short one. */
static void the_whole_needs_little_memory(void **state)
{
    (void)state;
    struct network net = { 0 };
    const double bytes = 64 * 64 * sizeof(double);
    net.whole =
        graph_must(perm, "x = input m=64 k=64; a = relu(x); b = exp(a); c = relu(b); d = exp(c)");
    assert_true(network_whole_bytes(&net) == 4 * bytes);
    net.whole = graph_must(perm, "x = input m=64 k=64; v = const k=64 n=64; w = const k=64 n=64; "
                                 "a = matmul(x, v); b = matmul(a, w)");
    assert_true(network_whole_bytes(&net) == 5 * bytes);
    /* what two read lives until the second; nobody reads `e` */
    net.whole =
        graph_must(perm, "x = input m=64 k=64; a = relu(x); b = exp(a); c = add(a, b); e = exp(x); "
                         "output c");
    assert_true(network_whole_bytes(&net) == 6 * bytes);
}

/* A network that does in a microsecond what takes a core milliseconds left work out. */
static void impossible_times_are_refused(void **state)
{
    (void)state;
    const struct network *small =
        network_must(perm, graph_must(perm, "x = input m=8 k=8; y = gmm(x) n=8"));
    const struct network *large =
        network_must(perm, graph_must(perm, "x = input m=512 k=512; y = gmm(x) n=512"));
    struct measure_opts mo = { .meters = METER_CLOCK, .time_s = 0.001, .min_runs = 2 };
    struct network_opts o = { .measure = &mo, .unchecked = true };
    struct network_measurement m;
    struct err e = {0};
    struct network lie = *small;
    assert_true(measure_network(perm, small, &o, NULL, NULL, &m, &e));
    assert_int_equal(m.outcome, OUTCOME_OK);
    assert_false(m.verified || m.whole_compared);
    struct network_task *task = ARENA_DUP(perm, small->task, small->n_tasks), *of = task;
    const struct network_task *big = large->task;
    while (of->conversion)
        of++;
    while (big->conversion)
        big++;
    of->program = big->program;
    of->func = big->func;
    lie.task = task;
    assert_true(measure_network(perm, &lie, &o, NULL, NULL, &m, &e));
    assert_int_equal(m.outcome, OUTCOME_WRONG);
    assert_non_null(strstr(m.reason, "the kernel skips work"));
}

/* A program that exceeds the time limit of a run is ended before the next contender is timed. */
static void a_slow_program_is_ended(void **state)
{
    (void)state;
    const struct network *net =
        network_must(perm, graph_must(perm, "x = input m=8 k=8; y = relu(x)"));
    struct measure_opts mo = { .time_s = 0.002, .seed = 3, .limit_s = 1 };
    struct comparison how;
    struct compared out[3];
    struct err e = {0};
    char spins[300], looks[300];
    const char *dir = temp_dir(NULL);
    snprintf(spins, sizeof spins, "echo $$ > %s/pid; echo ready; read a s; echo times 1;"
             " while :; do :; done", dir);
    snprintf(looks, sizeof looks, "echo ready; while read a s; do"
             " kill -0 $(cat %s/pid) 2> /dev/null && echo times 2 || echo times 1; done",
             dir);
    const char *const command[] = { spins, looks };
    assert_true(measure_compare_networks(&net, 1, command, 2, &mo, NULL, NULL, out, &how, &e));
    assert_int_equal(out[1].m.outcome, OUTCOME_TIMEOUT);
    assert_int_equal(out[2].m.outcome, OUTCOME_OK);
    assert_true(out[2].m.latency.min_ms == 1 && out[2].m.latency.median_ms == 1);
}

/* A wrong network is a result, and the others are timed and compared without it. */
static void networks_are_compared(void **state)
{
    (void)state;
    const struct network *good =
        network_must(perm, graph_must(perm, "x = input m=8 k=8; y = relu(x)"));
    const struct network *other =
        network_must(perm, graph_must(perm, "x = input m=8 k=8; y = exp(x)"));
    struct network lie = *good;
    struct network_task *task = ARENA_DUP(perm, good->task, good->n_tasks);
    for (int i = 0; i < good->n_tasks; i++)
        if (!task[i].conversion)
            task[i].program = other->task[i].program;
    lie.task = task;
    struct measure_opts mo = { .time_s = 0.002, .seed = 3 };
    struct comparison how;
    struct compared out[3];
    struct err e = {0};
    struct cancel stop = {0};
    const struct network *all[] = { good, &lie, good };
    assert_true(measure_compare_networks(all, 3, NULL, 0, &mo, NULL, NULL, out, &how, &e));
    assert_int_equal(out[0].m.outcome, OUTCOME_OK);
    assert_int_equal(out[1].m.outcome, OUTCOME_WRONG);
    assert_int_equal(out[2].m.outcome, OUTCOME_OK);
    assert_true(out[0].m.verified && !out[1].m.verified && out[2].m.verified);
    assert_int_equal(out[1].m.latency.runs, 0);
    assert_true(how.rounds > 5 && out[0].m.latency.runs >= how.rounds);
    assert_true(out[0].ratio.ratio == 0 && out[1].ratio.ratio == 0);
    assert_true(out[2].ratio.low < out[2].ratio.ratio && out[2].ratio.ratio < out[2].ratio.high);
    assert_true(isfinite(out[2].ratio.high) && out[2].verdict != VERDICT_NONE);
    /* the first that is right has no ratio */
    assert_true(measure_compare_networks(all + 1, 2, NULL, 0, &mo, NULL, NULL, out, &how, &e));
    assert_int_equal(out[0].m.outcome, OUTCOME_WRONG);
    assert_true(out[1].m.verified && out[1].verdict == VERDICT_NONE);
    /* programs of others: one that serves, one that ends after its third round */
    static const char *const command[] = {
        "echo ready; while read a s; do echo times 7 5 6; done",
        "echo ready; for i in 1 2 3; do read a s; echo times 4 4; done; echo enough",
    };
    assert_true(measure_compare_networks(all, 1, command, 2, &mo, NULL, NULL, out, &how, &e));
    assert_int_equal(out[1].m.outcome, OUTCOME_OK);
    assert_int_equal(out[1].m.latency.runs, 3 * how.rounds);
    assert_true(out[1].m.latency.min_ms == 5 && out[1].m.latency.median_ms == 6);
    assert_true(fabs(out[1].ratio.ratio / (6 / out[0].m.latency.median_ms) - 1) < 0.5);
    assert_int_equal(out[1].verdict, VERDICT_SLOWER);
    assert_int_equal(out[2].m.outcome, OUTCOME_CRASH);
    assert_string_equal(out[2].m.reason, "it ended with exit code 0: enough");
    assert_int_equal(out[2].m.latency.runs, 0);
    /* one whose run is longer than a turn: the first run of a turn does not count here either */
    static const char *const longer = "echo ready; while read a s; do echo times 9e9; read a s;"
                                      " echo times 5; done";
    assert_true(measure_compare_networks(all, 1, &longer, 1, &mo, NULL, NULL, out, &how, &e));
    assert_int_equal(out[1].m.latency.runs, 2 * how.rounds);
    assert_true(out[1].ratio.high < 1e9);
    atomic_store(&stop.raised, 1);
    assert_false(measure_compare_networks(all, 2, NULL, 0, &mo, NULL, &stop, out, &how, &e));
    assert_int_equal(e.code, ERR_CANCEL);
}

static void the_whole_can_be_cancelled(void **state)
{
    (void)state;
    const struct network *net =
        network_must(perm, graph_must(perm, "x = input m=8 k=8; y = gmm(x) n=8"));
    struct network_values v = { net->graph->n_tensors,
                                xcalloc((size_t)net->graph->n_tensors, sizeof *v.value) };
    struct network_whole w;
    struct cancel c = {0};
    struct err e = {0};
    assert_true(network_whole_make(net, &v, 1, NULL, &c, &w, &e));
    assert_int_equal(w.n, 1);
    network_whole_free(&w);
    atomic_store(&c.raised, 1);
    assert_false(network_whole_make(net, &v, 1, NULL, &c, &w, &e));
    assert_int_equal(e.code, ERR_CANCEL);
    network_values_free(&v);
}

/* Refused before anything is allocated. */
static void networks_beyond_the_memory_are_refused(void **state)
{
    (void)state;
    const struct graph *g = graph_must(perm, "x = input a=262144 b=262144; y = relu(x); "
                                             "z = softmax(y) axis=1");
    struct network_measurement m;
    measure(network_must(perm, g), NULL, 0, &m);
    assert_int_equal(m.outcome, OUTCOME_LIMIT);
    assert_non_null(strstr(m.reason, "GiB of memory, but only"));
}

/* --- The memory plan -------------------------------------------------------------------------- */

static void living_buffers_do_not_share(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(example); i++) {
        const struct module *m = network_must(perm, graph_must(perm, example[i].text))->module;
        const struct module_plan *p = m->plan;
        assert_true(p->least <= p->bytes && p->bytes <= p->apart);
        for (int b = 0; b < m->n_buffers; b++) {
            const struct module_buffer *x = &m->buffer[b];
            bool own = x->first >= 0 && x->last < m->n_calls;
            assert_int_equal(p->at[b] >= 0, own);
            assert_true(!own || (p->at[b] % 64 == 0 && p->at[b] + buffer_bytes(x->is) <= p->bytes));
            for (int c = 0; c < b && own; c++) {
                const struct module_buffer *y = &m->buffer[c];
                bool together = x->first <= y->last && y->first <= x->last;
                assert_true(p->at[c] < 0 || !together
                            || p->at[b] + buffer_bytes(x->is) <= p->at[c]
                            || p->at[c] + buffer_bytes(y->is) <= p->at[b]);
            }
        }
    }
}

int main(void)
{
    setenv("TILESCOPE_CFLAGS", "-O0", 0);  /* what is checked does not depend on gcc's work */
    setenv("TILESCOPE_HOME", ".", 0);     /* the experts of the tree */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_are_cut_into_kernels),
        cmocka_unit_test(steps_cut_and_join),
        cmocka_unit_test(an_error_of_a_kernel_keeps_its_fix),
        cmocka_unit_test(networks_are_right),
        cmocka_unit_test(joined_networks_are_right),
        cmocka_unit_test(chosen_schedules_are_right),
        cmocka_unit_test(a_wrong_connection_is_found),
        cmocka_unit_test(tensors_of_one_shape_are_told_apart),
        cmocka_unit_test(a_wrong_plan_is_found),
        cmocka_unit_test(an_unchecked_network_is_judged_within_the_memory),
        cmocka_unit_test(jumps_are_not_judged),
        cmocka_unit_test(the_whole_is_the_graph_before_simplifications),
        cmocka_unit_test(the_whole_needs_little_memory),
        cmocka_unit_test(impossible_times_are_refused),
        cmocka_unit_test(networks_are_compared),
        cmocka_unit_test(a_slow_program_is_ended),
        cmocka_unit_test(the_whole_can_be_cancelled),
        cmocka_unit_test(networks_beyond_the_memory_are_refused),
        cmocka_unit_test(living_buffers_do_not_share),
    };
    return cmocka_run_group_tests(tests, perm_setup, perm_teardown);
}
