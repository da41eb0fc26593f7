/* Operator families: what they compute, against definitions written down here once more. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/rng.h"
#include "kernels/ops/reference.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static uint64_t seed;
static struct arena *arena;

/* A graph and its data as the reference sees it. */
struct run { const struct graph *g; double **data; };

static const struct graph *must_build(const char *spec)
{
    const struct graph *g = NULL;
    struct err e;
    if (!graph_from_spec(arena, spec, &g, &e))
        fail_msg("%s: %s", spec, e.text);
    return g;
}

/* Small whole numbers in inputs and constants, the same for equal seeds. */
static struct run run_spec(const char *spec)
{
    struct run r = { must_build(spec), NULL };
    struct rng rng = rng_seed(seed);
    struct err e;
    r.data = ARENA_ARRAY(arena, double *, r.g->n_tensors);
    for (int t = 0; t < r.g->n_tensors; t++) {
        int64_t n = tensor_elems(&r.g->tensor[t]);
        r.data[t] = ARENA_ARRAY(arena, double, n);
        for (int64_t i = 0; i < n && r.g->tensor[t].producer < 0; i++)
            r.data[t][i] = (double)rng_range(&rng, -4, 4);
    }
    assert_true(reference_eval(r.g, r.data, NULL, &e));
    return r;
}

/* The tensor called name (or, with padding, name_in), and how many elements it has. */
static double *data_of(const struct run *r, const char *name, int64_t *n)
{
    int t = graph_tensor(r->g, arena_printf(arena, "%s_in", name));
    t = t < 0 ? graph_tensor(r->g, name) : t;
    if (t < 0)
        fail_msg("%s has no tensor %s", r->g->spec, name);
    if (n)
        *n = tensor_elems(&r->g->tensor[t]);
    return r->data[t];
}

static const double *output_of(const struct run *r, int64_t *n)
{
    for (int t = 0; t < r->g->n_tensors; t++)
        if (r->g->tensor[t].role == TENSOR_OUTPUT) {
            *n = tensor_elems(&r->g->tensor[t]);
            return r->data[t];
        }
    fail_msg("%s has no output", r->g->spec);
    return NULL;
}

static void check_data(const char *what, const double *got, const double *want, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-12 * fmax(1, fabs(want[i]))))
            fail_msg("%s: element %lld is %g, not %g", what, (long long)i, got[i], want[i]);
}

/* --- convolutions ----------------------------------------------------------------------------- */

struct axis { int in, k, s, before, after, d, op, out; };
struct conv { int n, i, o, g; struct axis a[3]; };       /* D H W */

/* Offset of (a, b, x[3]) in a tensor A B D H W with these extents. */
static int64_t at(int a, int n_b, int b, const int *x, int e0, int e1, int e2)
{
    return ((((int64_t)a * n_b + b) * e0 + x[0]) * e1 + x[1]) * e2 + x[2];
}

static bool next_point(int *x, const int *extent, int n)
{
    for (int i = n - 1; i >= 0; i--) {
        if (++x[i] < extent[i])
            return true;
        x[i] = 0;
    }
    return false;
}

/* out[x] += in[s*x + d*k - before] * ker[k] for one image and a pair of channels. */
static void add_taps(const struct conv *c, const double *in, const double *ker, double *out)
{
    const struct axis *a = c->a;
    const int extent[] = { a[0].out, a[1].out, a[2].out, a[0].k, a[1].k, a[2].k };
    int x[6] = { 0 }, y[3];
    do {
        bool inside = true;
        for (int i = 0; i < 3; i++) {
            y[i] = a[i].s * x[i] + a[i].d * x[3 + i] - a[i].before;
            inside = inside && y[i] >= 0 && y[i] < a[i].in;
        }
        if (inside)
            out[at(0, 1, 0, x, a[0].out, a[1].out, a[2].out)] +=
                in[at(0, 1, 0, y, a[0].in, a[1].in, a[2].in)] *
                ker[at(0, 1, 0, x + 3, a[0].k, a[1].k, a[2].k)];
    } while (next_point(x, extent, 6));
}

/* The scatter form: out[s*x + d*k - before] += in[x] * ker[k] (PyTorch's definition). */
static void scatter_taps(const struct conv *c, const double *in, const double *ker, double *out)
{
    const struct axis *a = c->a;
    const int extent[] = { a[0].in, a[1].in, a[2].in, a[0].k, a[1].k, a[2].k };
    int x[6] = { 0 }, y[3];
    do {
        bool inside = true;
        for (int i = 0; i < 3; i++) {
            y[i] = a[i].s * x[i] + a[i].d * x[3 + i] - a[i].before;
            inside = inside && y[i] >= 0 && y[i] < a[i].out;
        }
        if (inside)
            out[at(0, 1, 0, y, a[0].out, a[1].out, a[2].out)] +=
                in[at(0, 1, 0, x, a[0].in, a[1].in, a[2].in)] *
                ker[at(0, 1, 0, x + 3, a[0].k, a[1].k, a[2].k)];
    } while (next_point(x, extent, 6));
}

static int volume(const struct conv *c, size_t member)
{
    int v = 1;
    for (int i = 0; i < 3; i++)
        v *= *(const int *)(const void *)((const char *)&c->a[i] + member);
    return v;
}

static double *conv_by_definition(const struct conv *c, bool transposed, const double *in,
                                  const double *ker)
{
    int v_in = volume(c, offsetof(struct axis, in)), v_k = volume(c, offsetof(struct axis, k));
    int v_out = volume(c, offsetof(struct axis, out)), per = c->i / c->g;
    double *out = ARENA_ARRAY(arena, double, c->n * c->o * v_out);
    for (int n = 0; n < c->n; n++)
        for (int o = 0; o < c->o; o++)
            for (int i = 0; i < per; i++) {
                int from = o / (c->o / c->g) * per + i;
                const double *x = in + (n * c->i + from) * v_in;
                const double *k = ker + (transposed ? i * c->o + o : o * per + i) * v_k;
                (transposed ? scatter_taps : add_taps)(c, x, k, out + (n * c->o + o) * v_out);
            }
    return out;
}

/* "pd0=1": one parameter of each axis. */
static void add_axes(struct str *s, const struct conv *c, int first, const char *name,
                     const char *suffix, size_t member)
{
    for (int i = first; i < 3; i++) {
        int v = *(const int *)(const void *)((const char *)&c->a[i] + member);
        str_printf(s, " %s%c%s=%d", name, "dhw"[i], suffix, v);
    }
}

static const char *conv_spec(const struct conv *c, const char *op, int n_axes)
{
    int first = 3 - n_axes;
    struct str s = {0};
    str_printf(&s, "%s n=%d h=%d w=%d", op, c->n, c->a[1].in, c->a[2].in);
    if (streq(op, "dep"))
        str_printf(&s, " c=%d", c->i);
    else
        str_printf(&s, " i=%d o=%d", c->i, c->o);
    if (streq(op, "grp"))
        str_printf(&s, " g=%d", c->g);
    if (n_axes == 3)
        str_printf(&s, " depth=%d", c->a[0].in);
    add_axes(&s, c, first, "k", "", offsetof(struct axis, k));
    add_axes(&s, c, first, "s", "", offsetof(struct axis, s));
    add_axes(&s, c, first, "d", "", offsetof(struct axis, d));
    add_axes(&s, c, first, "p", "0", offsetof(struct axis, before));
    add_axes(&s, c, first, "p", "1", offsetof(struct axis, after));
    if (op[0] == 't')
        add_axes(&s, c, first, "op", "", offsetof(struct axis, op));
    const char *spec = arena_strdup(arena, str_text(&s));
    str_free(&s);
    return spec;
}

static int any(struct rng *r, int lo, int hi)
{
    return (int)rng_range(r, lo, hi);
}

/* A convolution over the last n_axes axes; false: its kernel does not fit. */
static bool random_conv(struct rng *r, struct conv *c, int n_axes, bool transposed)
{
    *c = (struct conv){ .n = any(r, 1, 2), .i = any(r, 1, 3), .o = any(r, 1, 3), .g = 1 };
    for (int i = 0; i < 3; i++) {
        struct axis *a = &c->a[i];
        *a = (struct axis){ .in = 1, .k = 1, .s = 1, .d = 1, .out = 1 };
        if (i < 3 - n_axes)
            continue;
        *a = (struct axis){ .in = any(r, 1, 5), .k = any(r, 1, 4), .s = any(r, 1, 3),
                            .before = any(r, 0, 3), .after = any(r, 0, 3), .d = any(r, 1, 2) };
        int span = a->d * (a->k - 1) + 1, room = a->in + a->before + a->after;
        a->op = transposed ? any(r, 0, (a->s > a->d ? a->s : a->d) - 1) : 0;
        a->out = transposed ? (a->in - 1) * a->s - a->before - a->after + span + a->op
                            : (room - span) / a->s + 1;
        if (a->out < 1 || (!transposed && span > room))
            return false;
    }
    return true;
}

static void check_conv(struct conv *c, const char *op, int n_axes)
{
    bool transposed = op[0] == 't';
    const char *spec = conv_spec(c, op, n_axes);
    struct run r = run_spec(spec);
    const double *in = data_of(&r, "Inp", NULL), *ker = data_of(&r, "Ker", NULL);
    int64_t n;
    const double *got = output_of(&r, &n);
    assert_int_equal(n, (int64_t)c->n * c->o * volume(c, offsetof(struct axis, out)));
    check_data(spec, got, conv_by_definition(c, transposed, in, ker), n);
}

static void convolutions_by_definition(void **state)
{
    (void)state;
    static const struct { const char *op; int n_axes; } ops[] = {
        { "c2d", 2 }, { "c3d", 3 }, { "t2d", 2 }, { "t3d", 3 }, { "grp", 2 }, { "dep", 2 },
        { "dil", 2 },
    };
    struct rng r = rng_seed(seed);
    int done = 0;
    for (int round = 0; round < 1400; round++) {
        arena_reset(arena);
        const char *op = ops[round % COUNT_OF(ops)].op;
        int n_axes = ops[round % COUNT_OF(ops)].n_axes;
        struct conv c;
        if (!random_conv(&r, &c, n_axes, op[0] == 't'))
            continue;
        c.g = streq(op, "grp") ? any(&r, 1, 3) : 1;
        c.i *= c.g;
        c.o *= c.g;
        if (streq(op, "dep"))
            c.g = c.o = c.i;
        check_conv(&c, op, n_axes);
        done++;
    }
    assert_true(done > 500);
}

/* Fewer axes are more axes of extent 1, and the families that are special cases. */
static void equal_families(void **state)
{
    (void)state;
    static const struct { const char *one, *other; } table[] = {
        { "c1d n=2 i=3 w=9 o=4 k=3 s=2 pw0=2 pw1=1 d=2 bias=1 act=tanh",
          "c2d n=2 i=3 h=1 w=9 o=4 kh=1 kw=3 sw=2 pw0=2 pw1=1 dw=2 bias=1 act=tanh" },
        { "c2d n=2 i=3 h=6 w=5 o=4 k=3 sh=2 p=1 bias=1",
          "c3d n=2 i=3 depth=1 h=6 w=5 o=4 kd=1 kh=3 kw=3 sh=2 pd=0 ph=1 pw=1 bias=1" },
        { "t2d i=3 h=4 w=5 o=2 k=3 s=2 p=1 op=1",
          "t3d i=3 depth=1 h=4 w=5 o=2 kd=1 kh=3 kw=3 sh=2 sw=2 ph=1 pw=1 oph=1 opw=1" },
        { "dil i=3 h=9 o=2 k=3 p=2", "c2d i=3 h=9 o=2 k=3 p=2 d=2" },
        { "grp i=4 h=6 o=6 g=1 k=3", "c2d i=4 h=6 o=6 k=3" },
        { "dep c=4 h=6 k=3 p=1", "grp i=4 h=6 o=4 g=4 k=3 p=1" },
        { "bmm b=1 m=4 k=5 n=6", "gmm m=4 k=5 n=6" },
        { "maxpool c=3 h=9 k=3 s=3", "maxpool c=1 h=27 w=9 k=3 s=3" },
        { "reduce m=6 n=8 f=mean", "gpool n=2 c=3 h=4 w=2" },
        { "avgpool c=3 h=7 k=7 s=1", "gpool c=3 h=7 w=7" },
        { "avgpool c=3 h=7 k=3", "avgpool c=3 h=7 k=3 count_pad=0" },
        { "bn c=3 h=4 w=5", "bn n=1 c=3 h=20 act=none" },
        { "softmax m=3 n=4 k=5", "softmax m=12 n=5" },
        { "ln m=3 n=1 k=2 l=5", "ln m=6 n=5" },
        { "gpool n=2 c=3 h=2 w=2 x=2", "gpool n=2 c=3 h=8" },
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct run x = run_spec(table[i].one), y = run_spec(table[i].other);
        int64_t n, m;
        const double *a = output_of(&x, &n), *b = output_of(&y, &m);
        assert_int_equal(n, m);
        check_data(table[i].one, a, b, n);
    }
}

/* --- simple operators ------------------------------------------------------------------------- */

static double act_by_definition(int f, double x)
{
    switch (f) {
    case 0: return fmax(x, 0);
    case 1: return fmin(fmax(x, 0), 6);
    case 2: return 1 / (1 + exp(-x));
    case 3: return tanh(x);
    case 4: return 0.5 * x * (1 + erf(x / sqrt(2)));
    case 5: return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    case 6: return x / (1 + exp(-x));
    case 7: return x * fmin(fmax(x + 3, 0), 6) / 6;
    default: return log1p(exp(x));
    }
}

static void activations(void **state)
{
    (void)state;
    static const char *const names[] = { "relu", "relu6", "sigmoid", "tanh", "gelu", "gelu_tanh",
                                         "silu", "hardswish", "softplus" };
    struct err e;
    for (int f = 0; f < COUNT_OF(names); f++) {
        struct run r = run_spec(arena_printf(arena, "act c=400 f=%s", names[f]));
        double *in = data_of(&r, "Inp", NULL);
        int64_t n;
        const double *out = output_of(&r, &n);
        for (int i = 0; i < 400; i++)
            in[i] = (i - 200) / 20.0;
        assert_true(reference_eval(r.g, r.data, NULL, &e));
        for (int i = 0; i < 400; i++) {
            double want = act_by_definition(f, in[i]);
            if (fabs(out[i] - want) > 1e-9 * fmax(1, fabs(want)))
                fail_msg("%s(%g) is %.12g, not %.12g", names[f], in[i], out[i], want);
        }
    }
    struct run far = run_spec("act c=3 f=softplus");     /* no overflow */
    data_of(&far, "Inp", NULL)[0] = 1000;
    assert_true(reference_eval(far.g, far.data, NULL, &e));
    int64_t n;
    assert_true(output_of(&far, &n)[0] == 1000);
}

/* One row: softmax adds up to 1 and keeps ratios; layer normalisation has mean 0, variance 1. */
static void rows_by_definition(void **state)
{
    (void)state;
    struct run s = run_spec("softmax m=5 n=7"), l = run_spec("ln m=5 n=40");
    int64_t n;
    const double *in = data_of(&s, "Inp", NULL), *out = output_of(&s, &n);
    for (int m = 0; m < 5; m++) {
        double sum = 0;
        for (int i = 0; i < 7; i++) {
            sum += out[7 * m + i];
            assert_true(fabs(out[7 * m + i] / out[7 * m] - exp(in[7 * m + i] - in[7 * m])) < 1e-9);
        }
        assert_true(fabs(sum - 1) < 1e-12);
    }
    const double *gamma = data_of(&l, "Gamma", NULL), *beta = data_of(&l, "Beta", NULL);
    in = data_of(&l, "Inp", NULL);
    out = output_of(&l, &n);
    for (int m = 0; m < 5; m++) {
        double mean = 0, var = 0;
        for (int i = 0; i < 40; i++)
            mean += in[40 * m + i] / 40;
        for (int i = 0; i < 40; i++)
            var += (in[40 * m + i] - mean) * (in[40 * m + i] - mean) / 40;
        for (int i = 0; i < 40; i++) {
            double want = (in[40 * m + i] - mean) / sqrt(var + 1e-5) * gamma[i] + beta[i];
            assert_true(fabs(out[40 * m + i] - want) < 1e-9);
        }
    }
}

static void pools_by_definition(void **state)
{
    (void)state;
    struct run max = run_spec("maxpool c=2 h=5 k=3 s=2 p=1");
    struct run all = run_spec("avgpool c=2 h=5 k=3 s=2 p=1");
    struct run real = run_spec("avgpool c=2 h=5 k=3 s=2 p=1 count_pad=0");
    const double *in = data_of(&max, "Inp", NULL);
    int64_t n;
    for (int i = 0; i < 18; i++) {
        int c = i / 9, h = i / 3 % 3, w = i % 3, count = 0;
        double most = -INFINITY, sum = 0;
        for (int y = 2 * h - 1; y < 2 * h + 2; y++)
            for (int x = 2 * w - 1; x < 2 * w + 2; x++)
                if (y >= 0 && y < 5 && x >= 0 && x < 5) {
                    most = fmax(most, in[25 * c + 5 * y + x]);
                    sum += in[25 * c + 5 * y + x];
                    count++;
                }
        assert_true(output_of(&max, &n)[i] == most);
        assert_true(fabs(output_of(&all, &n)[i] - sum / 9) < 1e-12);
        assert_true(fabs(output_of(&real, &n)[i] - sum / count) < 1e-12);
    }
}

static void moves_by_definition(void **state)
{
    (void)state;
    struct run t = run_spec("transpose n=2 c=3 h=4 w=5 perm=3142");
    struct run c = run_spec("concat n=2 c=1 h=2 w=3 c2=2 c3=3");
    struct run s = run_spec("slice n=2 c=5 h=2 w=3 from=1 to=4");
    struct run m = run_spec("reshape n=2 c=3 h=4 w=5 m=8");
    const double *in = data_of(&t, "Inp", NULL);
    int64_t n;
    for (int i = 0; i < 120; i++) {       /* Transpose H N W C */
        int h = i / 30, b = i / 15 % 2, w = i / 3 % 5, ch = i % 3;
        assert_true(output_of(&t, &n)[i] == in[((b * 3 + ch) * 4 + h) * 5 + w]);
        assert_true(output_of(&m, &n)[i] == data_of(&m, "Inp", NULL)[i]);
    }
    for (int i = 0; i < 72; i++) {
        int b = i / 36, ch = i / 6 % 6, at = i % 6;
        const double *from = data_of(&c, ch < 1 ? "Inp" : ch < 3 ? "Inp2" : "Inp3", NULL);
        int first = ch < 1 ? 0 : ch < 3 ? 1 : 3, size = ch < 1 ? 1 : ch < 3 ? 2 : 3;
        assert_true(output_of(&c, &n)[i] == from[(b * size + ch - first) * 6 + at]);
    }
    for (int i = 0; i < 36; i++)
        assert_true(output_of(&s, &n)[i] ==
                    data_of(&s, "Inp", NULL)[(i / 18 * 5 + i / 6 % 3 + 1) * 6 + i % 6]);
    static const struct { const char *y; int size, period; } shapes[] = {
        { "full", 1, 48 }, { "channel", 6, 4 }, { "row", 1, 3 }, { "one", 1, 1 },
    };
    for (int k = 0; k < COUNT_OF(shapes); k++) {
        struct run x = run_spec(arena_printf(arena, "mul n=2 c=4 h=2 w=3 y=%s", shapes[k].y));
        for (int i = 0; i < 48; i++)
            assert_true(output_of(&x, &n)[i] == data_of(&x, "Inp", NULL)[i] *
                        data_of(&x, "Inp2", NULL)[i / shapes[k].size % shapes[k].period]);
    }
}

int main(void)
{
    const char *given = getenv("TS_SEED");
    seed = given ? strtoull(given, NULL, 10) : 20261121;
    printf("# seed %llu\n", (unsigned long long)seed);
    arena = arena_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_by_definition), cmocka_unit_test(equal_families),
        cmocka_unit_test(activations),                cmocka_unit_test(rows_by_definition),
        cmocka_unit_test(pools_by_definition),        cmocka_unit_test(moves_by_definition),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_free(arena);
    return failed;
}
