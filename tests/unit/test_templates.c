/* SPEC D.2, D.3, K.2: random points of every operator's layout template compute what the operator
 * does, and with loops that line up no / and no % is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/rng.h"
#include "kernels/gen/gen.h"
#include "tests/unit/run_program.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define POINTS 200                        /* of every operator in the table */

static uint64_t seed;

/* An operator whose extents have many divisors. */
struct op { const char *name, *spec; int n_axes; };

static const struct op ops[] = {
    { "c1d", "c1d n=2 i=8 w=18 o=16 k=3", 1 },
    { "c1d", "c1d i=4 w=15 o=8 k=3 s=2 p=1 bias=1 relu=1", 1 },
    { "c2d", "c2d i=4 h=10 w=6 o=8 k=3", 2 },
    { "c2d", "c2d i=4 h=9 w=17 o=8 kh=3 kw=5 s=2 ph=1 pw=2 act=relu6", 2 },
    { "c3d", "c3d i=4 depth=5 h=6 w=6 o=4 kd=2 kh=3 kw=3", 3 },
    { "grp", "grp i=8 h=6 o=16 g=4 k=3", 2 },
    { "grp", "grp i=8 h=8 o=16 g=2 k=3 s=2 p=1", 2 },
    { "dep", "dep c=16 h=10 w=6 k=3", 2 },
    { "dil", "dil i=4 h=12 w=8 o=8 k=3", 2 },
    { "t2d", "t2d i=4 h=4 w=4 o=8 k=4 s=2 p=1", 2 },
    { "t3d", "t3d i=2 depth=2 h=4 w=2 o=4 k=2 s=2", 3 },
    { "gmm", "gmm m=16 k=32 n=16", 0 },
};

/* The loops of one dim after splits, outermost first. */
struct parts { int n; struct { char name[24]; int extent; } part[6]; };

static int divisor(struct rng *r, int64_t n, int multiple_of)
{
    int f;
    do
        f = (int)rng_range(r, 1, n);
    while (n % f || f % multiple_of);
    return f;
}

static struct parts dim_parts(const char *name, int64_t outer, int64_t inner)
{
    struct parts p = { 2, { { "", (int)outer }, { "", (int)inner } } };
    snprintf(p.part[0].name, sizeof p.part[0].name, "%s.0", name);
    snprintf(p.part[1].name, sizeof p.part[1].name, "%s.1", name);
    return p;
}

static struct parts whole_dim(const char *name, int64_t extent)
{
    struct parts p = { 1, { { "", (int)extent } } };
    snprintf(p.part[0].name, sizeof p.part[0].name, "%s", name);
    return p;
}

/* Splits the loop across which `size` iterations of the dim end, so that they end between loops. */
static void cut_at(struct str *steps, struct parts *p, int size)
{
    int inner = 1, i = p->n - 1;
    while (i >= 0 && inner * p->part[i].extent <= size)
        inner *= p->part[i--].extent;
    if (i < 0 || inner == size || size % inner)
        return;
    int factor = size / inner;
    char name[24];
    snprintf(name, sizeof name, "%s", p->part[i].name);
    str_printf(steps, "loop split Conv %s %d\n", name, factor);
    memmove(&p->part[i + 1], &p->part[i], sizeof p->part[0] * (size_t)(p->n - i));
    p->n++;
    p->part[i].extent /= factor;
    p->part[i + 1].extent = factor;
    snprintf(p->part[i].name, sizeof p->part[i].name, "%.20s.0", name);
    snprintf(p->part[i + 1].name, sizeof p->part[i].name, "%.20s.1", name);
}

/* One point: tiles of the output axes, of the channels of output, input and weights. */
struct point { int t[3], o, i, ker_o, ker_i; };

static int param(const struct graph *g, const char *tensor, const char *dim)
{
    const struct tensor *t = &g->tensor[graph_tensor(g, tensor)];
    for (int d = 0; d < t->rank; d++)
        if (streq(t->dim[d], dim))
            return (int)t->shape[d];
    return 1;
}

/* Stride, span and transposition of an axis, read off the spec. */
struct side { int k, s, d, b0; bool transposed; };

static int word(const char *spec, const char *name, const char *axis, int otherwise)
{
    char text[16];
    snprintf(text, sizeof text, " %s%s=", name, axis);
    const char *at = strstr(spec, text);
    if (!at) {
        snprintf(text, sizeof text, " %s=", name);
        at = strstr(spec, text);
    }
    return at ? atoi(strchr(at, '=') + 1) : otherwise;
}

static struct side side_of(const struct op *op, int axis)
{
    static const char *const letter[] = { "d", "h", "w" };
    struct side s = { word(op->spec, "k", letter[axis], 1), word(op->spec, "s", letter[axis], 1),
                      word(op->spec, "d", letter[axis], streq(op->name, "dil") ? 2 : 1), 0,
                      op->name[0] == 't' };
    int reach = s.k - 1 - word(op->spec, "p", letter[axis], 0);
    s.b0 = s.transposed ? (s.s - reach % s.s) % s.s : 0;
    return s;
}

/* B and S of SPEC A.4 and D.3 for a tile of t outputs. */
static void window_of(const struct side *s, int t, int *tile, int *stride)
{
    *stride = s->transposed ? t / s->s : s->s * t;
    *tile = s->transposed ? (t + s->k - 2 + s->b0) / s->s + 1
                          : s->s * (t - 1) + s->d * (s->k - 1) + 1;
}

static const char axis_name[] = "DHW";

/* "N D/2 H/4 I/2 2d 4h 2i" with per axis stride[] and tile[]. */
static void add_layout(struct str *steps, const char *tensor, const struct op *op, char channel,
                       const int *stride, const int *tile, int block)
{
    str_printf(steps, "layout set %s \"N", tensor);
    for (int a = 3 - op->n_axes; a < 3; a++)
        str_printf(steps, " %c/%d", axis_name[a], stride[a]);
    str_printf(steps, " %c/%d", channel, block);
    for (int a = 3 - op->n_axes; a < 3; a++)
        str_printf(steps, " %d%c", tile[a], axis_name[a]);
    str_printf(steps, " %d%c\"\n", block, channel);
}

static void weight_layout(struct str *steps, const struct op *op, const struct point *t, bool dep)
{
    if (dep)
        str_printf(steps, "layout set Ker \"C/%d", t->ker_o);
    else
        str_printf(steps, "layout set Ker \"O/%d I/%d", t->ker_o, t->ker_i);
    for (int a = 3 - op->n_axes; a < 3; a++)
        str_printf(steps, " K%c", axis_name[a]);
    if (dep)
        str_printf(steps, " %dc\"\n", t->ker_o);
    else
        str_printf(steps, " %di %do\"\n", t->ker_i, t->ker_o);
}

static void gmm_steps(struct str *steps, struct rng *r)
{
    int m = divisor(r, 16, 1), k = divisor(r, 32, 1), n = divisor(r, 16, 1);
    str_printf(steps, "layout set C \"M/%d N/%d %dm %dn\"\nlayout set A \"M/%d K/%d %dm %dk\"\n"
               "layout set B \"K/%d N/%d %dk %dn\"\nloop split C K %d\n",
               m, n, m, n, m, k, m, k, k, n, k, n, k);
}

static void conv_steps(struct str *steps, struct rng *r, const struct op *op,
                       const struct graph *g)
{
    bool dep = streq(op->name, "dep");
    char co = dep ? 'C' : 'O', ci = dep ? 'C' : 'I';
    int out_channels = param(g, "Conv", dep ? "C" : "O");
    int reduced = dep ? 1 : param(g, "Ker", "I"), groups = param(g, "Inp", "I") / reduced;
    int per_group = dep ? out_channels : out_channels / groups;
    int stride[3], tile[3], step[3];
    struct point t = { .o = divisor(r, out_channels, 1), .ker_o = divisor(r, out_channels, 1),
                       .i = divisor(r, reduced, 1), .ker_i = divisor(r, reduced, 1) };
    for (int a = 3 - op->n_axes; a < 3; a++) {
        struct side s = side_of(op, a);
        char dim[] = { axis_name[a], 0 };
        t.t[a] = divisor(r, param(g, "Conv", dim), s.transposed ? s.s : 1);
        window_of(&s, t.t[a], &tile[a], &step[a]);
        stride[a] = t.t[a];
    }
    add_layout(steps, "Conv", op, co, stride, t.t, t.o);
    add_layout(steps, "Inp", op, ci, step, tile, dep ? t.o : t.i);
    weight_layout(steps, op, &t, dep);
    struct parts o = dim_parts(dep ? "C" : "O", out_channels / t.o, t.o);
    struct parts i = whole_dim("I", reduced);
    cut_at(steps, &o, t.ker_o);
    cut_at(steps, &o, per_group);
    if (!dep) {
        cut_at(steps, &i, t.i);
        cut_at(steps, &i, t.ker_i);
    }
}

static const struct program *apply_all(struct arena *a, const char *spec, const char *steps)
{
    const struct program *p;
    struct err e;
    char *rest = NULL;
    if (!program_new(a, spec, &p, &e))
        fail_msg("%s: %s", spec, e.text);
    for (char *s = strtok_r(arena_strdup(a, steps), "\n", &rest); s; s = strtok_r(NULL, "\n",
                                                                                  &rest))
        if (!program_apply_line(p, s, &p, &e))
            fail_msg("%s\n%s\n%s: %s", spec, steps, s, e.text);
    return p;
}

/* Of a transposed convolution the tests are left, between what is split by the stride. */
static void add_parity_splits(struct str *steps, const struct op *op, const struct program *p)
{
    const struct stage *s = p->stage[p->graph->main_node];
    for (int a = 3 - op->n_axes; a < 3; a++) {
        struct side side = side_of(op, a);
        int h = stage_axis(s, (char[]){ axis_name[a], '.', '1', 0 });
        const char *inner = ".0";
        str_printf(steps, "loop split Conv K%c %d\nloop unroll Conv K%c.1\n", axis_name[a], side.s,
                   axis_name[a]);
        if (s->axis[h].extent > side.s) {
            str_printf(steps, "loop split Conv %c.1 %d\n", axis_name[a], side.s);
            inner = ".1";
        }
        str_printf(steps, "loop unroll Conv %c.1%s\n", axis_name[a],
                   s->axis[h].extent > side.s ? inner : "");
    }
}

static void check_affine(const struct program *p, const struct op *op, const char *steps)
{
    struct str text = {0};
    if (op->name[0] == 't') {
        const struct gen_opts o = { .target = target_named("plain") };
        const struct func *f;
        struct err e;
        assert_true(program_lower(p, &f, &e));
        if (!gen_c(f, &o, &text, &e))
            fail_msg("%s", e.text);
    } else {
        program_print_nest(&text, p);
    }
    if (strpbrk(str_text(&text), op->name[0] == 't' ? "%" : "/%"))
        fail_msg("%s\n%s: a / or %% is left in\n%s", op->spec, steps, str_text(&text));
    str_free(&text);
}

static void check_point(struct rng *r, const struct op *op)
{
    struct arena *a = arena_new();
    const struct graph *g;
    struct err e;
    struct str steps = {0};
    assert_true(graph_from_spec(a, op->spec, &g, &e));
    if (graph_tensor(g, "Inp_in") < 0)
        str_add(&steps, "set input_layout given\n");
    if (op->n_axes == 0)
        gmm_steps(&steps, r);
    else
        conv_steps(&steps, r, op, g);
    const struct program *p = apply_all(a, op->spec, str_text(&steps));
    if (op->name[0] == 't') {
        add_parity_splits(&steps, op, p);
        p = apply_all(a, op->spec, str_text(&steps));
    }
    check_affine(p, op, str_text(&steps));
    double d = program_interpret_error(p, seed);
    if (!(d < 1e-5))
        fail_msg("%s\n%s: max rel err %g", op->spec, str_text(&steps), d);
    str_free(&steps);
    arena_free(a);
}

static void template_points(void **state)
{
    (void)state;
    struct rng r = rng_seed(seed);
    for (int i = 0; i < POINTS * COUNT_OF(ops); i++)
        check_point(&r, &ops[i % COUNT_OF(ops)]);
    print_message("%d points of %d operators\n", POINTS * COUNT_OF(ops), COUNT_OF(ops));
}

int main(void)
{
    const char *given = getenv("TS_SEED");
    seed = given ? strtoull(given, NULL, 10) : 20261122;
    printf("# seed %llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = { cmocka_unit_test(template_points) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
