/* Graphs of several operators: their text, layouts that move along them (SPEC C.5), variants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "kernels/ops/reference.h"
#include "sessions/report/graph_report.h"
#include "tests/unit/graph_print.h"
#include "tests/unit/run_program.h"
#undef fail /* ours; cmocka has its own */
#include <cmocka.h>

static uint64_t seed = 20261121;

static const struct program *load(struct arena *a, const char *spec, const char *steps)
{
    const struct program *p;
    struct err e;
    if (!program_new(a, spec, &p, &e))
        fail_msg("%s: %s", spec, e.text);
    char *copy = arena_strdup(a, steps), *rest = NULL;
    for (char *s = strtok_r(copy, ";", &rest); s; s = strtok_r(NULL, ";", &rest))
        if (!program_apply_line(p, s, &p, &e))
            fail_msg("%s: %s", s, e.text);
    return p;
}

/* Two convolutions in a row, as in alt.fig12, with a layout for every tensor. */
#define FIG12 "x = input n=1 i=8 h=7 w=7; c1 = c2d(x) o=8 k=3 p=1; c2 = c2d(c1) o=16 k=1"
#define FIG12_LAYOUTS \
    "layout set c1_Inp \"N H/1 W/1 I 3h 3w\";layout set c1 \"N O/4 H W 4o\";" \
    "layout set c2.Inp \"N O/2 H W 2o\";layout set c2 NHWO"
#define RESIDUAL "x = input n=1 i=4 h=5 w=5; c1 = c2d(x) o=4 k=1 relu=1; c2 = c2d(c1) o=4 k=1"

struct row {
    const char *name, *spec, *steps;
    int conversions;
    const char *tensor, *layout;
};
static const struct row rows[] = {
    { "alt converts between two complex operators", FIG12, FIG12_LAYOUTS, 1, "c2_Inp",
      "N O/2 H W 2o" },
    { "wp does as well", FIG12, "set variant wp;" FIG12_LAYOUTS, 1, "c1", "N O/4 H W 4o" },
    { "ol has one fixed layout", FIG12, "set variant ol;" FIG12_LAYOUTS, 0, "c1", "N H W O" },
    { "ol: transposed as well", "t2d i=2 h=3 w=4 o=5 k=3 s=2", "set variant ol", 0, "Conv",
      "N H W O" },
    { "ol: one axis", "c1d i=2 w=9 o=5 k=3", "set variant ol", 0, "Conv", "N W O" },
    { "ol leaves matrix products", "bmm b=4 m=8 k=6 n=5", "set variant ol", 0, "C", "B M N" },
    { "ol leaves those of any rank",
      "x = input b=2 m=3 k=4; y = input b=2 k=4 n=5; z = matmul(x, y)", "set variant ol", 0, "z",
      "B0 M N" },
    { "fp takes the first one's output", FIG12, "set variant fp;" FIG12_LAYOUTS, 0, "c1",
      "N O/4 H W 4o" },
    { "bp takes the second one's input", FIG12, "set variant bp;" FIG12_LAYOUTS, 0, "c1",
      "N O/2 H W 2o" },
    { "relu between absorbs (C.5 iii)", RESIDUAL,
      "layout set c1_Conv \"N O/2 H W 2o\";layout set c2.Inp NHWO", 0, "c1", "N H W O" },
    { "the layout of the first stops at relu", RESIDUAL, "layout set c1_Conv NHWO", 0, "c1",
      "N O H W" },
    { "pad absorbs overlapping tiles (C.5 iv)", "c2d i=2 h=8 w=8 o=4 k=3 p=1",
      "layout set Inp \"N H/4 W/4 I 6h 6w\"", 0, "Inp", "N H/4 W/4 I 6h 6w" },
    { "bias and relu follow (C.5 i)", "c2d i=2 h=8 w=8 o=4 k=3 bias=1 relu=1",
      "layout set Conv NHWO", 0, "ReLU", "N H W O" },
    { "unless relu has one of its own", "c2d i=2 h=8 w=8 o=4 k=3 bias=1 relu=1",
      "layout set ReLU \"N H O W\";layout set Conv NHWO", 0, "ReLU", "N H O W" },
    { "which may be the plain one", "c2d i=2 h=8 w=8 o=4 k=3 bias=1 relu=1",
      "layout set ReLU NOHW;layout set Conv NHWO", 0, "ReLU", "N O H W" },
    { "set before or after, with the caller's output as well", "c2d i=2 h=8 w=8 o=4 k=3 relu=1",
      "layout set Conv NHWO;layout set ReLU NOHW;set output_layout original", 0, "ReLU",
      "N O H W" },
    { "reset lets it follow again", "c2d i=2 h=8 w=8 o=4 k=3 bias=1 relu=1",
      "layout set Conv NHWO;layout set ReLU NOHW;layout reset ReLU", 0, "ReLU", "N H W O" },
    { "the plain order of an input is no conversion", "c2d i=2 h=8 w=8 o=4 k=3",
      "layout set Inp NIHW", 0, "Inp", "N I H W" },
    { "wp: relu keeps its own (C.5 vi)", "c2d i=2 h=8 w=8 o=4 k=3 bias=1 relu=1",
      "set variant wp;layout set Conv NHWO", 0, "ReLU", "N O H W" },
    { "names of conversions are free ones", "x_in = const k=2; x = input m=8 k=4; c = gmm(x) n=4",
      "layout set x \"M/4 K 4m\"", 1, "x_in_", "M K" },
    { "the operand of a bias, though another is called so",
      "x = input n=1 i=2 h=6 w=7; c = c2d(x) o=6 k=2 p=1 bias=1", "layout set c.Inp NHWO", 1,
      "c_Inp_", "N H W O" },
    { "a new layout ends what is stored inside it", "x = const m=6 k=6; c = gmm(x) n=6 bias=1",
      "layout store_at c_Bias x M;layout set c_C.Inp \"K M\"", 0, "c_Bias", "N" },
    { "and stop at the pool (C.5 i)",
      "x = input n=1 i=2 h=8 w=8; c = c2d(x) o=4 k=3 bias=1 relu=1; p = maxpool(c) k=2 s=2",
      "layout set c_Conv NHWO", 0, "p", "N C H W" },
    { "they reach relu before it",
      "x = input n=1 i=2 h=8 w=8; c = c2d(x) o=4 k=3 bias=1 relu=1; p = maxpool(c) k=2 s=2",
      "layout set c_Conv NHWO", 0, "c", "N H W O" },
    { "a residual add takes the first one's (C.5 v)",
      "x = input n=1 i=4 h=6 w=6; a = c2d(x) o=4 k=1; b = c2d(x) o=4 k=1; y = add(a, b)",
      "layout set a NHWO;layout set b \"N O/2 H W 2o\"", 0, "y", "N H W O" },
    { "an input is converted", "gmm m=8 k=4 n=8", "layout set A \"M/4 K 4m\"", 1, "A", "M/4 K 4m" },
};

static void layouts_move_as_the_paper_says(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(rows); i++) {
        const struct row *r = &rows[i];
        struct arena *a = arena_new();
        const struct program *p = load(a, r->spec, r->steps);
        struct str got = { 0 };
        int t = graph_tensor(p->graph, r->tensor);
        if (t < 0 || !layout_notation(p->layout[t], &got) || !streq(str_text(&got), r->layout) ||
            p->n_conversions != r->conversions)
            fail_msg("%s: %d conversions, %s is %s", r->name, p->n_conversions, r->tensor,
                     str_text(&got));
        double d = program_interpret_of_bound(p, seed);
        if (!(d <= 1))
            fail_msg("%s: error %g of the bound", r->name, d);
        str_free(&got);
        arena_free(a);
    }
}

struct bad {
    const char *text, *says;
    int col;
};
static const struct bad bads[] = {
    { "x = input n=1 i=4 h=6 w=6; c = c2d(y) o=8 k=3", "no tensor y is defined", 9 },
    { "x = input n=1 i=4 h=6 w=6; c = c2d(x o=8 k=3", "expected , or )", 11 },
    { "x = input n=1 i=4 h=6 w=6; c = c2d(x) o=8 q=3", "no parameter \"q\"", 16 },
    { "x = input n=1 i=4 h=6 w=6; c = cd2(x) o=8", "unknown operator \"cd2\"", 5 },
    { "x = input n=1 i=4 h=6 w=6; x = c2d(x) o=8 k=1", "a tensor x already", 1 },
    { "x = input n=1 i=4 h=6 w=6; c = gmm(x) n=4",
    "A of gmm has the shape M:1 K:4, but x has the shape N:1 I:4 H:6 W:6",
      5 },
    { "x = input n=0", "DIM=SIZE", 11 },
    { "x = input m=4 m=4; c = gmm(x) n=4", "x has two dimensions M", 15 },
    { "x = input m=1048576 n=1048577; c = gmm m=2 k=2 n=2", "more than 2^40", 1 },
    { "c_B = const m=4; c = gmm m=2 k=2 n=2", "there is a tensor c_B already", 1 },
    { "x = input n=4", "the graph has no operators", 0 },
    { "a = gmm m=2 k=2 n=2; output b", "no tensor b", 8 },
    { "a = gmm m=2 k=2 n=2; output a_A", "not computed", 8 },
    { "a = gmm m=2 k=2 n=2; b gmm", "expected = after b", 3 },
    { "x = input m=2 k=2; a = relu(x) slope=3", "relu has no parameter \"slope\"", 13 },
    { "x = input m=2 k=2; a = clip(x) max=1 min=zero", "min=zero is not a number", 19 },
    { "x = input m=2 k=2; a = clip(x) min=1e0x", "min=1e0x is not a number", 13 },
    { "x = input m=2 k=2; a = clip(x) min=nan", "min=nan is not a number", 13 },
    { "x = input m=2 k=2; a = leaky(x) alpha=", "alpha= has no value", 14 },
    { "x = input m=2 k=2; a = leaky(x) alpha=0x1p3", "alpha=0x1p3 is not a number", 14 },
    { "x = input m=2 k=2; a = leaky(x) alpha=1e999", "alpha=1e999 is not a number", 14 },
    { "x = input m=2 k=2; a = leaky(x) alpha=nan", "alpha=nan is not a number", 14 },
    { "x = input m=2 k=2; a = clip(x) min", "min= has no value", 13 },
    { "x = input m=2 k=2; a = clip(x) min=1 min=2", "min= is given twice", 19 },
    { "x = input m=2 k=2; a = concat(x, x) axis=k", "axis=k is not a whole number", 18 },
    { "x = input m=2 k=2; a = slice(x) axis=1.5 from=0", "axis=1.5 is not a whole number", 14 },
    { "x = input m=2 k=2; a = slice(x) axis=1 from=0 to=9223372036854775807",
      "to=9223372036854775807 is not between", 28 },
    { "x = input m=3 k=4; a = reshape(x) shape=2,6x", "shape=6x is not a whole number", 16 },
    { "x = input m=3 k=4; a = reshape(x) shape=1,1,1,1,1,1,1,3,4", "9 numbers, more than 8", 16 },
    { "x = input m=2 k=2; a = reduce_sum(x) axes=1,0,foo", "axes=foo is not a whole", 19 },
    { "x = input m=2 k=2; a = reduce_sum(x) axes=1,", "axes= is not a whole number", 19 },
    { "x = input m=2 k=2; a = reduce_sum(x) axes=1,-1", "names dimension 1 twice", 5 },
    { "x = input m=2 k=2; g = input k=3; a = layernorm(x, g)",
      "In1 cannot be repeated to the shape of In0", 5 },
    { "x = input k=2; g = input m=1 k=2; a = layernorm(x, g)", "cannot be repeated", 5 },
    { "x = input m=2 k=2; a = pad(x) before=0,0 after=0,0 value=abc", "value=abc is not", 33 },
    { "x = input m=2 k=2; a = expand(x) shape=-3,0", "cannot expand dimension 0 to -3", 5 },
    { "x = input n=1; a = expand(x) shape=4294967296,4294967296",
      "tensor a (D0:4294967296 D1:4294967296) has more than 2^40 elements", 1 },
    { "x = input n=1099511627776; a = concat(x, x) axis=0; b = relu(a)",
      "tensor a (N:2199023255552) has more than 2^40", 1 },
    { "x = input m=1048576 k=1; y = input k=1 n=1048577; a = matmul(x, y); b = relu(a)",
      "tensor a (M:1048576 N:1048577) has more", 1 },
    { "x = input abcdefghijabcdefghijabcdefghijabcdefghijk=4", "more than 40 characters", 11 },
    { "x = input m=2 k=2; a = softmax(x) axis=2",
    "axis 2 does not exist: the tensor has 2 dimensions", 5 },
    { "c = const value=1; x = input m=2; a = matmul(c, x)", "In0 has no dimensions", 5 },
    { "c = const value=1; x = input m=2; a = matmul(x, c)", "In1 has no dimensions", 5 },
    { "x = input m=2 k=3; w = const k=3 n=4; a = matmul(x, w) act=rleu", "no function rleu", 18 },
    { "x = input m=2 k=3; w = const k=3 n=4; b = const n=3; a = matmul(x, w, b)",
      "In2 cannot be repeated to the shape of the product", 5 },
    { "c = const k=2 value=1,zwei; a = relu(c)", "\"zwei\" is not a number", 15 },
    { "c = const k=2 value=; a = relu(c)", "\"\" is not a number", 15 },
    { "c = const k=2 value; a = relu(c)", "\"\" is not a number", 15 },
    { "c = const k=2 value=1,; a = relu(c)", "\"\" is not a number", 15 },
    { "c = const k=2 value=0x10; a = relu(c)", "\"0x10\" is not a number", 15 },
    { "c = const k=2 value=infinity; a = relu(c)", "\"infinity\" is not a number", 15 },
    { "c = const k=2 value=-nan; a = relu(c)", "\"-nan\" is not a number", 15 },
    { "c = const k=2 value=1e39; a = relu(c)", "1e39 is too large for a float32", 15 },
    { "c = const value=1,2,3 k=2; a = relu(c)", "c has 2 elements, but value= has 3 numbers", 11 },
    { "c = const k=2 value=1 value=2; a = relu(c)", "value= is given twice", 23 },
    { "c = const k=2 file=m.onnx tensor=w; a = relu(c)", "go together; hash= is missing", 27 },
    { "c = const k=2 hash=0123456789abcdef; a = relu(c)", "go together; file= is missing", 15 },
    { "c = const k=2 hash=0123456789abcde; a = relu(c)", "takes 16 hexadecimal digits", 15 },
    { "c = const k=2 hash=0123456789abcdeg; a = relu(c)", "takes 16 hexadecimal digits", 15 },
    { "c = const k=2 file= tensor=w hash=0123456789abcdef; a = relu(c)", "file= is empty", 15 },
    { "c = const k=2 file=m%2; a = relu(c)", "without two hexadecimal digits", 15 },
    { "c = const k=2 file=m%00; a = relu(c)", "without two hexadecimal digits", 15 },
    { "c = const k=2 tensor=%g0; a = relu(c)", "tensor= is empty, or has a %", 15 },
    { "c = const k=2 value=1 file=m tensor=w hash=0123456789abcdef; a = relu(c)",
      "c has both value= and file=", 39 },
    { "c = input k=2 value=1,2; a = relu(c)", "DIM=SIZE", 15 },
    { "x = input m=2 k=2; y = input m=2 k=2; a = gmm(x, y, x, x) n=2",
      "takes 2 tensors, but 4 are given", 5 },
    { "x = input m=2 k=2; a = matmul(x, x, x, x)", "matmul takes 2 to 3 tensors, but 4 are given",
      5 },
    { "x = input m=2 k=2; a = relu(x, x)", "relu takes 1 tensor, but 2 are given", 5 },
    { "x = input m=2 k=2; a = where(x)", "where takes 3 tensors, but 1 is given", 5 },
    { "x = input m=4 k=2; a = slice(x) axis=0 from=1 to=9",
      "from=1 to=9 step=1 selects elements outside of a dimension of 4", 5 },
    { "x = input m=4 k=2; a = slice(x) axis=0 from=3 to=3",
      "selects no elements of a dimension of 4", 5 },
    { "x = input m=2 k=2; a = pad(x) before=0,1048577 after=0,0",
      "take 2 numbers, each between 0 and 1048576", 5 },
    { "x = input m=2 k=2; y = input m=2; a = concat(x, y) axis=0", " has 2 dimensions, and ", 5 },
    { "x = input m=2 k=2; i = input k=3; a = gather_elements(x, i) axis=0",
      "has another number of dimensions than", 5 },
    { "x = input m=2 k=2; i = input m=2 k=3; a = gather_elements(x, i) axis=0",
      "has a larger dimension beside axis= than", 5 },
};

/* The first of two convolutions is the main node, also after conversions and rfactor. */
static void main_node_stays(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const struct graph *g = load(a, FIG12, "")->base;
    for (int i = 0; i < 2; i++) {
        assert_string_equal(g->tensor[g->node[g->main_node].out].name, "c1");
        g = graph_with_conversion(a, g, graph_tensor(g, i ? "c2" : "x"));
    }
    assert_string_equal(g->tensor[g->node[g->main_node].out].name, "c1");
    g = load(a, FIG12, "loop rfactor c1 I 4")->graph;
    assert_true(str_starts(g->tensor[g->node[g->main_node].out].name, "c1"));
    arena_free(a);
}

/* The operand of a node is called NODE.Inp, and nothing else. */
static void operands_have_one_name(void **state)
{
    static const struct { const char *step; bool ok; } row[] = {
        { "layout set c2.Inp \"N H W O\"", true }, { "layout set C2.inp \"N H W O\"", true },
        { "layout set c2.Foo \"N H W O\"", false }, { "layout set c2.Ker \"N H W O\"", false },
        { "layout set c2. \"N H W O\"", false },
    };
    (void)state;
    struct arena *a = arena_new();
    for (int i = 0; i < COUNT_OF(row); i++) {
        const struct program *p = load(a, FIG12, "");
        struct err e;
        if (program_apply_line(p, row[i].step, &p, &e) != row[i].ok)
            fail_msg("%s", row[i].step);
        assert_true(row[i].ok || e.code == ERR_NAME);
    }
    arena_free(a);
}

/* Steps on B after store_at: B is padded, and Bias is stored in it once. */
static void held_tensors_are_stored_once(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const struct program *p = load(a, "gmm m=16 k=16 n=16 bias=1", "layout store_at Bias B K;"
                                   "layout split B N 4;layout reorder B N.0 K N.1");
    const struct layout *bias = p->layout[graph_tensor(p->graph, "Bias")];
    const struct layout *b = p->layout[graph_tensor(p->graph, "B")];
    assert_int_equal(bias->elems, 17 * 16);
    assert_true(bias->expansion == 1 && b->expansion == 17.0 / 16);
    arena_free(a);
}

/* Under ol a step has no layout to go on from. */
static void fixed_layouts_stay(void **state)
{
    (void)state;
    static const char *const refused[] = { "layout reorder B N K", "layout decouple_at Bias",
                                           "layout store_at Bias B K" };
    struct arena *a = arena_new();
    const struct program *p =
        load(a, "gmm m=4 k=6 n=6 bias=1", "layout store_at Bias B K;set variant ol");
    for (int i = 0; i < COUNT_OF(refused); i++) {
        struct err e;
        assert_false(program_apply_line(p, refused[i], &p, &e));
        assert_non_null(strstr(e.text, "variant ol fixes every layout"));
        assert_string_equal(e.fix, "apply `set variant alt` first");
        assert_int_not_equal(e.at.col, 0);
    }
    struct err e;
    const struct program *set;            /* is for later: ol still fixes the layout */
    assert_true(program_apply_line(p, "layout set C \"N M\"", &set, &e));
    assert_int_equal(set->layout[graph_tensor(set->graph, "C")]->n_prims, 0);
    assert_true(program_apply_line(set, "set variant alt", &set, &e));
    assert_int_equal(set->layout[graph_tensor(set->graph, "C")]->n_prims, 1);
    assert_true(program_apply_line(p, "set variant alt", &p, &e));
    assert_true(program_interpret_of_bound(p, seed) <= 1);
    arena_free(a);
}

static void bad_graphs_say_where(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(bads); i++) {
        struct arena *a = arena_new();
        const struct graph *g = NULL;
        struct err e = { 0 };
        if (graph_from_spec(a, bads[i].text, &g, &e))
            fail_msg("accepted: %s", bads[i].text);
        if (g || !strstr(e.text, bads[i].says) || e.at.col != bads[i].col)
            fail_msg("%s: \"%s\" col %d", bads[i].text, e.text, e.at.col);
        arena_free(a);
    }
}

static void canonical_text_is_the_same_graph(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const struct graph *g, *again;
    struct err e;
    struct str x = { 0 }, y = { 0 };
    assert_true(graph_from_spec(a,
                                "# a comment\nx = input n=1   i=4 h=6 w=6\n\n  c1=c2d( x )  o=8 "
                                "k=3;c2 = c2d(c1) o=2 k=1\noutput c2",
                                &g, &e));
    assert_true(graph_from_spec(a, g->spec, &again, &e));
    assert_string_equal(g->spec, again->spec);
    graph_print(&x, g);
    graph_print(&y, again);
    assert_string_equal(str_text(&x), str_text(&y));
    str_free(&x);
    str_free(&y);
    arena_free(a);
}

/* Random layouts on every tensor and operand of small graphs, under every variant. */
static void random_layouts_of_graphs(void **state)
{
    (void)state;
    static const char *const specs[] = {
        FIG12,
        RESIDUAL,
        "x = input m=4 k=8; a = gmm(x) n=8 relu=1; b = gmm(a) n=4; c = gmm(a) n=4; output b c",
    };
    static const char *const variants[] = { "alt", "wp", "ol", "fp", "bp" };
    static const char *const notations[] = { "NHWO", "NHWI",      "N O/2 H W 2o", "N I/2 H W 2i",
                                             "N K",  "M/2 N 2m",  "N M",          "M K/4 4k",
                                             "K M",  "O I KH KW", "I O KH KW",    "K N/4 4n" };
    struct rng r = rng_seed(seed);
    int applied = 0;
    for (int round = 0; round < 300; round++) {
        struct arena *a = arena_new();
        const struct program *p =
            load(a, specs[round % COUNT_OF(specs)],
                 arena_printf(a, "set variant %s", variants[rng_range(&r, 0, 4)]));
        for (int i = 0; i < 8; i++) {
            struct err e;
            const char *name = p->graph->tensor[rng_range(&r, 0, p->graph->n_tensors - 1)].name;
            const char *line =
                arena_printf(a, "layout set %s%s \"%s\"", name, rng_range(&r, 0, 2) ? "" : ".Inp",
                             notations[rng_range(&r, 0, COUNT_OF(notations) - 1)]);
            applied += program_apply_line(p, line, &p, &e);
        }
        double d = program_interpret_of_bound(p, seed + (uint64_t)round);
        if (!(d <= 1)) {
            for (int i = 0; i < p->n_steps; i++)
                print_message("%s\n", p->steps[i]);
            fail_msg("%s: error %g of the bound", p->base->spec, d);
        }
        arena_free(a);
    }
    print_message("random layouts of graphs: %d steps applied\n", applied);
    assert_true(applied > 300);
}

/* Statement operators on a small input, against values worked out by hand (numpy's semantics). */
struct value {
    const char *statement;
    int at;
    double want;
};
static const struct value values[] = {
    /* x[m][k] = m*3 + k - 2 over 2 x 3: -2 -1 0 | 1 2 3 */
    { "relu(x)", 0, 0 },
    { "relu(x)", 5, 3 },
    { "abs(x)", 0, 2 },
    { "neg(x)", 5, -3 },
    { "exp(x)", 2, 1 },
    { "exp(x)", 3, 2.718281828 },
    { "reciprocal(x)", 4, 0.5 },
    { "identity(x)", 1, -1 },
    { "clip(x) min=-1 max=2", 0, -1 },
    { "clip(x) min=-1 max=2", 5, 2 },
    { "leaky(x) alpha=0.1", 0, -0.2 },
    { "elu(x) alpha=2", 0, 2 * (0.1353352832 - 1) },
    { "hardsigmoid(x)", 3, 0.7 },
    { "hardsigmoid(x)", 5, 1 },
    { "hardsigmoid(x) alpha=0.5", 0, 0 },
    { "sigmoid(x)", 2, 0.5 },
    { "tanh(x)", 3, 0.761594156 },
    { "erf(x)", 3, 0.8427007929 },
    { "softplus(x)", 2, 0.6931471806 },
    { "silu(x)", 4, 1.761594156 },
    { "hardswish(x)", 5, 3 },
    { "gelu(x)", 3, 0.8413447461 },
    { "relu6(x)", 5, 3 },
    { "add(x, x)", 5, 6 },
    { "sub(x, v)", 5, 1 },
    { "mul(v, x)", 3, 0 },
    { "div(x, x)", 0, 1 },
    { "max(x, v)", 0, 0 },
    { "min(x, v)", 5, 2 },
    { "add(v, w)", 7, 2 },
    { "matmul(x, w)", 0, -2 },
    { "matmul(x, w)", 3, 7 },
    { "matmul(x, v)", 1, 8 },
    { "gemm(x, x) transb=1 alpha=2", 3, 28 },
    { "gemm(x, w, b) beta=3", 3, 7 + 3 },
    { "softmax(x) axis=1", 2, 0.6652409558 },
    { "softmax(x) axis=0", 0, 0.0474258732 },
    { "logsoftmax(x)", 2, -0.4076059644 },
    { "reduce_sum(x) axes=0 keep=0", 2, 3 },
    { "reduce_sum(x)", 0, 3 },
    { "reduce_mean(x) axes=1", 1, 2 },
    { "reduce_max(x) axes=1 keep=0", 0, 0 },
    { "reduce_min(x) axes=-1", 1, 1 },
    { "transpose(x)", 1, 1 },
    { "transpose(x) perm=1,0", 4, 0 },
    { "reshape(x) shape=3,2", 3, 1 },
    { "concat(x, x) axis=1", 3, -2 },
    { "concat(x, x, x) axis=0", 17, 3 },
    { "slice(x) axis=1 from=1", 1, 0 },
    { "slice(x) axis=1 from=2 to=-1 step=-2", 0, 0 },
    { "slice(x) axis=1 from=2 to=-1 step=-2", 1, -2 },
    { "pad(x) before=1,0 after=0,1 value=7", 0, 7 },
    { "pad(x) before=1,0 after=0,1 value=7", 4, -2 },
    { "expand(v) shape=4,3", 10, 1 },
    { "reduce_sum(x) axes=1,0 keep=0", 0, 3 },
    { "clip(x) min=-1e0 max=+2", 0, -1 },
    { "floor(x)", 0, -2 },
    { "sin(x)", 3, 0.8414709848 },
    { "cos(x)", 2, 1 },
    { "atan(x)", 1, -0.7853981634 },
    { "equal(x, v)", 0, 0 },
    { "equal(x, x)", 4, 1 },
    { "less(x, v)", 4, 0 },
    { "less(v, x)", 5, 1 },
    { "lessequal(x, x)", 5, 1 },
    { "where(v, x, u)", 0, 1 },            /* v: 0 1 2 */
    { "where(v, x, u)", 4, 2 },
    { "gather(x, v) axis=1", 5, 3 },
    { "gather(x, w)", 5, 3 },              /* w: 0 1 2 0 1 2, and x has two rows */
    { "gather(w, x)", 0, 2 },              /* -2 counts from the end of 3 rows */
    { "gather(x, x) axis=1", 0, -1 },
    { "gather(x, x) axis=1", 5, 0 },       /* 3 is beyond the end: 2 */
    { "gather(x, one) axis=1", 1, 2 },     /* one: without dims, 1 */
    { "gather(e, z)", 4, 1 },              /* e has one row, and z is NaN: 0 */
    { "gather_elements(x, x) axis=0", 5, 3 },
    { "gather_elements(x, x) axis=1", 3, 2 },
    { "layernorm(x)", 0, -1.2247356859 },
    { "batchnorm(x, v, v, v, u)", 5, (3 - 2) / 1.000005 * 2 + 2 },
};

static double given_value(const char *name, int i)
{
    return streq(name, "x") ? i - 2 : streq(name, "v") ? i : streq(name, "w") ? i % 3
           : streq(name, "z") ? (double)NAN : 1;
}

static void statement_operators_compute_what_numpy_does(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(values); i++) {
        struct arena *a = arena_new();
        const struct graph *g;
        struct err e;
        const char *spec = arena_printf(a,
                                        "x = input m=2 k=3; v = input k=3; w = input k=3 n=2; "
                                        "b = input n=2; u = input k=3; one = input ; "
                                        "e = input r=1 k=3; z = input s=2; y = %s; "
                                        "output y",
                                        values[i].statement);
        /* w is read as 3 x 2 by matmul; for add(v, w) it has to be 2 x 3 */
        if (strstr(values[i].statement, "(v, w)"))
            spec = arena_printf(a, "v = input k=3; w = input m=3 k=3; y = %s", values[i].statement);
        if (!graph_from_spec(a, spec, &g, &e))
            fail_msg("%s: %s", values[i].statement, e.text);
        double **data = ARENA_ARRAY(a, double *, g->n_tensors);
        for (int t = 0; t < g->n_tensors; t++) {
            int n = (int)tensor_elems(&g->tensor[t]);
            data[t] = ARENA_ARRAY(a, double, n);
            for (int k = 0; k < n && g->tensor[t].producer < 0; k++)
                data[t][k] = given_value(g->tensor[t].name, k);
        }
        assert_true(reference_eval(g, data, NULL, &e));
        double got = data[graph_tensor(g, "y")][values[i].at];
        if (!(fabs(got - values[i].want) < 1e-4))
            fail_msg("%s [%d] is %.9g, expected %.9g", values[i].statement, values[i].at, got,
                     values[i].want);
        arena_free(a);
    }
}

/* Random data of indices are rows of the table, and those of conditions are 0 and 1. */
static void indices_and_conditions_have_fitting_data(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const struct graph *g;
    struct err e;
    f32 i[400], c[400], x[400];
    int seen = 0, low = 0;
    assert_true(graph_from_spec(a, "t = const v=9 k=4; i = input n=100; e = gather(t, i); "
                                   "c = input n=100 k=4; x = input n=100 k=4; y = where(c, e, x)",
                                &g, &e));
    reference_fill(&g->tensor[graph_tensor(g, "i")], 1, i);
    reference_fill(&g->tensor[graph_tensor(g, "c")], 1, c);
    reference_fill(&g->tensor[graph_tensor(g, "x")], 1, x);
    for (int k = 0; k < 100; k++) {
        assert_true(i[k] >= 0 && i[k] <= 8 && i[k] == floorf(i[k]));
        assert_true(c[k] == 0 || c[k] == 1);
        seen |= 1 << (int)i[k];
        low += x[k] < 0;
    }
    assert_int_equal(seen, 511);
    assert_in_range(low, 20, 80);
    arena_free(a);
}

/* Inputs, constants and outputs count, whoever marks the outputs; intermediates do not. */
static void outputs_count_in_the_bytes(void **state)
{
    (void)state;
    static const struct { const char *spec; double elems; } sizes[] = {
        { "x = input m=8 k=4; y = gmm(x) n=16", 8 * 4 + 4 * 16 + 8 * 16 },
        { "x = input m=8 k=4; y = relu(x); z = exp(x)", 3 * 8 * 4 },
        { "x = input m=8 k=4; y = relu(x); z = exp(y); output z", 2 * 8 * 4 },
        { "x = input m=8 k=4; y = relu(x); z = exp(y); output y z", 3 * 8 * 4 },
        { "x = input m=8 k=4; y = relu(x); z = exp(y); output z z", 2 * 8 * 4 },
        { "x = input m=8 k=4 type=f16; y = relu(x)", 2 * 8 * 4 / 2.0 },
    };
    struct arena *a = arena_new();
    for (int i = 0; i < COUNT_OF(sizes); i++) {
        const struct graph *g = load(a, sizes[i].spec, "")->base;
        if (g->bytes != 4 * sizes[i].elems)
            fail_msg("%s: %.0f bytes", sizes[i].spec, g->bytes);
    }
    arena_free(a);
}

/* Returns what the row of a tensor says has changed between two schedules of a graph. */
static enum graph_change changed(struct arena *a, const char *spec, const char *steps,
                                 const char *before, const char *tensor)
{
    const struct program *p = load(a, spec, steps), *was = load(a, spec, before);
    struct graph_rows all = graph_rows(a, p, was, NULL, NULL);
    for (int i = 0; i < all.n; i++)
        if (streq(p->graph->tensor[all.row[i].tensor].name, tensor))
            return all.row[i].change;
    fail_msg("%s: no row", tensor);
    return GRAPH_SAME;
}

/* A node that moves from the loops of one node to those of another is changed, also when the loops
 * have the same name. */
static void a_nest_in_another_one_is_changed(void **state)
{
    (void)state;
    static const char chain[] = "x = input m=8 k=4; a = gmm(x) n=6; b = relu(a); c = exp(b)";
    static const char in_a[] = "loop compute_at b a M", in_c[] = "loop compute_at b c M";
    struct arena *a = arena_new();
    assert_int_equal(changed(a, chain, in_a, in_a, "b"), GRAPH_SAME);
    assert_int_equal(changed(a, chain, in_c, in_a, "b"), GRAPH_LOOPS);
    assert_int_equal(changed(a, chain, in_a, "", "b"), GRAPH_LOOPS);
    assert_int_equal(changed(a, chain, "loop compute_at b a N", in_a, "b"), GRAPH_LOOPS);
    assert_int_equal(changed(a, chain, in_c, in_a, "c"), GRAPH_SAME);
    arena_free(a);
}

int main(void)
{
    const char *given = getenv("TS_SEED");
    seed = given ? strtoull(given, NULL, 10) : seed;
    printf("# seed %llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_move_as_the_paper_says),
        cmocka_unit_test(main_node_stays), cmocka_unit_test(operands_have_one_name),
        cmocka_unit_test(held_tensors_are_stored_once),
        cmocka_unit_test(fixed_layouts_stay),
        cmocka_unit_test(bad_graphs_say_where),
        cmocka_unit_test(outputs_count_in_the_bytes),
        cmocka_unit_test(a_nest_in_another_one_is_changed),
        cmocka_unit_test(canonical_text_is_the_same_graph),
        cmocka_unit_test(random_layouts_of_graphs),
        cmocka_unit_test(statement_operators_compute_what_numpy_does),
        cmocka_unit_test(indices_and_conditions_have_fitting_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
