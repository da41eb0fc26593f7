/* SPEC D.2, D.3, K.2: random points of every operator's layout template compute what the operator
 * does, and with loops that line up no / and no % is left. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "explorer/space/layout_space.h"
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

static int param(const struct graph *g, const char *tensor, const char *dim)
{
    const struct tensor *t = &g->tensor[graph_tensor(g, tensor)];
    for (int d = 0; d < t->rank; d++)
        if (streq(t->dim[d], dim))
            return (int)t->shape[d];
    return 1;
}

/* The number of a word of the spec: " sh=" or " s=". */
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

static const char axis_name[] = "DHW";

static int64_t factor_of(const struct layout_space *l, const char *knob, const int64_t *factor)
{
    for (int k = 0; k < l->n; k++)
        if (streq(l->knob[k].name, knob))
            return factor[k];
    return 0;
}

/* Whether the layout of a tensor has a dim in two parts: adjacent ones are joined. */
static bool in_blocks(const char *steps, const char *tensor, char dim)
{
    char set[40];
    snprintf(set, sizeof set, "layout set %s ", tensor);
    const char *line = strstr(steps, set);
    const char part[] = { dim, '/', 0 };
    const char *at = line ? strstr(line, part) : NULL;
    return at && (size_t)(at - line) < strcspn(line, "\n");
}

/* Splits the loop of a dim whose parts are joined in the result, where blocks of operands end. */
static void split_joined(struct str *steps, const struct graph *g, const char *tensor, char dim,
                         const struct layout_space *l, const int64_t *factor)
{
    const char name[] = { dim, 0 }, knob[] = { (char)tolower(dim), '_', 't', 0 };
    int extent = param(g, tensor, name), tile = (int)factor_of(l, knob, factor);
    if (tile > 1 && tile < extent && !in_blocks(str_text(steps), tensor, dim))
        str_printf(steps, "loop split %s %s %d %d\n", tensor, name, extent / tile, tile);
}

/* Loops of channels end where blocks of the tensors and groups do. */
static void conv_loops(struct str *steps, const struct op *op, const struct graph *g,
                       const struct layout_space *l, const int64_t *factor)
{
    bool dep = streq(op->name, "dep");
    int channels = param(g, "Conv", dep ? "C" : "O");
    int reduced = dep ? 1 : param(g, "Ker", "I"), groups = param(g, "Inp", "I") / reduced;
    int block = (int)factor_of(l, dep ? "c_t" : "o_t", factor);
    struct parts o = in_blocks(str_text(steps), "Conv", dep ? 'C' : 'O')
                   ? dim_parts(dep ? "C" : "O", channels / block, block)
                   : whole_dim(dep ? "C" : "O", channels);
    struct parts i = whole_dim("I", reduced);
    if (block > 1 && block < channels && !in_blocks(str_text(steps), "Conv", dep ? 'C' : 'O'))
        cut_at(steps, &o, block);
    for (int a = 3 - op->n_axes; a < 3; a++)      /* where tiles of the input end */
        split_joined(steps, g, "Conv", axis_name[a], l, factor);
    cut_at(steps, &o, (int)factor_of(l, dep ? "c_t'" : "o_t'", factor));
    cut_at(steps, &o, dep ? channels : channels / groups);
    if (!dep) {
        int in = (int)factor_of(l, "i_t", factor);
        if (in > reduced)                 /* a block of several groups */
            cut_at(steps, &o, in / reduced * (channels / groups));
        cut_at(steps, &i, in);
        cut_at(steps, &i, (int)factor_of(l, "i_t'", factor));
    }
}

static void add_point(struct str *steps, struct rng *r, struct arena *a, const struct op *op,
                      const struct graph *g)
{
    const struct layout_space *l;
    const char *const *line;
    int64_t factor[LAYOUT_KNOBS];
    struct err e;
    int n;
    if (!layout_space_new(a, op->spec, NULL, 0, NULL, &l, &e))
        fail_msg("%s: %s", op->spec, e.text);
    for (int k = 0; k < l->n; k++)        /* divisors, all as likely: R() prefers large ones */
        factor[k] = l->knob[k].divisor[rng_range(r, 0, l->knob[k].n_divisors - 1)];
    assert_true(layout_space_lines(l, a, factor, &line, &n, NULL, &e));
    for (int i = 0; i < n; i++)
        str_printf(steps, "%s\n", line[i]);
    if (op->n_axes > 0)
        conv_loops(steps, op, g, l, factor);
    for (const char *dim = op->n_axes > 0 ? "" : "MN"; *dim; dim++)
        split_joined(steps, g, "C", *dim, l, factor);
    if (op->n_axes == 0 && factor_of(l, "k_t", factor) > 1)
        str_printf(steps, "loop split C K %lld\n", (long long)factor_of(l, "k_t", factor));
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
        int stride = word(op->spec, "s", (char[]){ "dhw"[a], 0 }, 1);
        char tile[] = { axis_name[a], '.', '1', 0 };
        if (stage_axis(s, tile) < 0)      /* not tiled */
            tile[1] = '\0';
        int64_t extent = s->axis[stage_axis(s, tile)].extent;
        str_printf(steps, "loop split Conv K%c %d\nloop unroll Conv K%c.1\n", axis_name[a], stride,
                   axis_name[a]);
        if (extent > stride)
            str_printf(steps, "loop split Conv %s %d\n", tile, stride);
        str_printf(steps, "loop unroll Conv %s%s\n", tile, extent > stride ? ".1" : "");
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
    add_point(&steps, r, a, op, g);
    const struct program *p = apply_all(a, op->spec, str_text(&steps));
    if (op->name[0] == 't') {
        add_parity_splits(&steps, op, p);
        p = apply_all(a, op->spec, str_text(&steps));
    }
    check_affine(p, op, str_text(&steps));
    double d = program_interpret_of_bound(p, seed);
    if (!(d <= 1))
        fail_msg("%s\n%s: error %g of the bound", op->spec, str_text(&steps), d);
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
