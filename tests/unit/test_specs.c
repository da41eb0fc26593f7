/* Specs of the operator families: canonical forms, errors, texts, and the counts of SPEC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/file.h"
#include "kernels/gen/gen.h"
#include "kernels/program/program.h"
#include "tests/unit/golden.h"
#include "tests/unit/graph_print.h"
#include "tests/unit/run_program.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static struct arena *arena;

static const struct graph *must_build(const char *spec)
{
    const struct graph *g = NULL;
    struct err e;
    if (!graph_from_spec(arena, spec, &g, &e))
        fail_msg("%s: %s", spec, e.text);
    return g;
}

static void canonical_specs(void **state)
{
    (void)state;
    static const struct { const char *given, *canonical; } table[] = {
        { "c2d i=1 h=9 o=1 k=3 ph0=1 ph1=1 pw0=1 pw1=1", "c2d n=1 i=1 h=9 w=9 o=1 k=3 p=1" },
        { "c2d i=1 h=9 o=1 k=3 ph0=1 ph1=1", "c2d n=1 i=1 h=9 w=9 o=1 k=3 ph=1" },
        { "c2d i=1 h=9 o=1 k=3 ph0=2 ph1=1 pw=3", "c2d n=1 i=1 h=9 w=9 o=1 k=3 pw=3 ph0=2 ph1=1" },
        { "c2d i=1 h=9 o=1 k=3 pw1=1", "c2d n=1 i=1 h=9 w=9 o=1 k=3 pw1=1" },
        { "c2d i=1 h=9 o=1 k=3 pw0=0 pw1=0", "c2d n=1 i=1 h=9 w=9 o=1 k=3" },
        { "c2d i=1 h=9 o=1 k=3 act=relu", "c2d n=1 i=1 h=9 w=9 o=1 k=3 relu=1" },
        { "c2d i=1 h=9 o=1 k=3 act=RELU relu=1", "c2d n=1 i=1 h=9 w=9 o=1 k=3 relu=1" },
        { "c2d i=1 h=9 o=1 k=3 act=none", "c2d n=1 i=1 h=9 w=9 o=1 k=3" },
        { "gmm m=1 k=2 n=3 bias=1 act=gelu_tanh", "gmm m=1 k=2 n=3 bias=1 act=gelu_tanh" },
        { "c1d w=9 i=2 o=3 k=3 pw0=1 pw1=1", "c1d n=1 i=2 w=9 o=3 k=3 p=1" },
        { "c1d w=9 i=2 o=3 k=3 pw0=1", "c1d n=1 i=2 w=9 o=3 k=3 pw0=1" },
        { "c3d i=2 depth=4 h=5 o=3 kd=3 kh=3 kw=3 sd=2 sh=2 sw=2 pd0=1 pd1=1 ph=1 pw=1",
          "c3d n=1 i=2 depth=4 h=5 w=5 o=3 k=3 s=2 p=1" },
        { "c3d i=2 depth=4 h=5 o=3 kd=1 kh=3 kw=3 dd=2 pd0=1",
          "c3d n=1 i=2 depth=4 h=5 w=5 o=3 kd=1 kh=3 kw=3 pd0=1 dd=2" },
        { "dil i=2 h=9 o=3 k=3", "dil n=1 i=2 h=9 w=9 o=3 k=3" },
        { "dil i=2 h=9 o=3 k=3 d=2", "dil n=1 i=2 h=9 w=9 o=3 k=3" },
        { "dil i=2 h=9 o=3 k=3 dw=1", "dil n=1 i=2 h=9 w=9 o=3 k=3 dw=1" },
        { "dil i=2 h=9 o=3 k=3 d=1", "dil n=1 i=2 h=9 w=9 o=3 k=3 d=1" },
        { "t2d i=2 h=3 o=4 k=3 s=2 oph=1 opw=1", "t2d n=1 i=2 h=3 w=3 o=4 k=3 s=2 op=1" },
        { "maxpool c=4 h=8 k=2 s=2", "maxpool n=1 c=4 h=8 w=8 k=2" },
        { "maxpool c=4 h=8 k=2 sh=1 sw=2", "maxpool n=1 c=4 h=8 w=8 k=2 sh=1" },
        { "avgpool c=4 h=8 k=2 count_pad=0", "avgpool n=1 c=4 h=8 w=8 k=2" },
        { "avgpool c=4 h=8 k=2 pw0=1 count_pad=0",
          "avgpool n=1 c=4 h=8 w=8 k=2 pw0=1 count_pad=0" },
        { "act c=7 f=silu", "act n=1 c=7 f=silu" },
        { "reduce m=3 n=4 f=sum", "reduce m=3 n=4" },
        { "add c=3 h=4 y=full", "add n=1 c=3 h=4" },
        { "slice c=8 h=2 to=8", "slice n=1 c=8 h=2" },
        { "reshape n=2 c=8 h=2 m=2", "reshape n=2 c=8 h=2" },
        { "reshape n=2 c=8 h=2 m=2 k=4", "reshape n=2 c=8 h=2 m=2 k=4" },
        { "softmax k=4 n=3 m=2", "softmax m=2 n=3 k=4" },
        { "bn x=2 w=3 h=4 c=5 n=6 relu=1", "bn n=6 c=5 h=4 w=3 x=2 relu=1" },
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        const struct graph *g = must_build(table[i].given), *again = must_build(g->spec);
        struct str one = {0}, two = {0};
        graph_print(&one, g);
        graph_print(&two, again);
        assert_string_equal(g->spec, table[i].canonical);
        assert_string_equal(str_text(&one), str_text(&two));
        str_free(&one);
        str_free(&two);
    }
}

static const struct bad_spec {
    const char *spec;
    enum err_code code;
    int col, len;
    const char *text, *fix;
} bad_specs[] = {
    { "c2d i=1 h=6 o=1 k=3 act=gely", ERR_NAME, 25, 4, "\"gely\" is not a value of act=",
      "did you mean act=gelu?" },
    { "c2d i=1 h=6 o=1 k=3 act=3", ERR_NAME, 25, 1, "\"3\" is not a value of act=",
      "one of none relu relu6 sigmoid" },
    { "c2d i=1 h=6 o=1 k=3 act=", ERR_SYNTAX, 21, 4, "act= has no value", "write act=none" },
    { "c2d i=1 h=6 o=1 k=3 act=gelu relu=1", ERR_SYNTAX, 21, 8,
      "act= sets what relu=1 already sets", "leave out relu=1, or act=gelu" },
    { "act c=3", ERR_SYNTAX, 1, 3, "act needs f=", "try `act" },
    { "act c=3 f=none", ERR_NAME, 11, 4, "\"none\" is not a value of f=", "relu6" },
    { "c2d i=1 h=6 o=1 k=3 p=1 ph0=2", ERR_SYNTAX, 25, 5, "ph0= sets what p=1 already sets",
      "either p= or the sides" },
    { "c2d i=1 h=6 o=1 k=3 ph=1 ph1=2", ERR_SYNTAX, 26, 5, "ph1= sets what ph=1 already sets",
      "either ph= or ph0= and ph1=" },
    { "c1d i=1 w=6 o=1 k=3 p=1 pw1=2", ERR_SYNTAX, 25, 5, "pw1= sets what p=1 already sets",
      "either p= or pw0= and pw1=" },
    { "c1d i=1 w=6 o=1 kw=3", ERR_NAME, 17, 2, "c1d has no parameter \"kw\"",
      "did you mean" },
    { "c1d i=1 w=4 o=1 k=6 p=0", ERR_RANGE, 17, 3,
      "k=6 makes the kernel span 6 columns, but the padded input has 4 (w=4 + 2*0)",
      "use at most k=4, or a larger padding: p=1" },
    { "c2d i=1 h=4 o=1 k=7 ph0=2", ERR_RANGE, 17, 3,
      "k=7 makes the kernel span 7 rows, but the padded input has 6 (h=4 + 2 + 0)",
      "use at most k=6, or a larger padding: ph1=1" },
    { "c3d i=1 depth=4 h=4 o=1 kd=5 kh=3 kw=3", ERR_RANGE, 25, 4,
      "kd=5 makes the kernel span 5 planes", "kd=4" },
    { "c3d i=1 depth=4 h=4 o=1 kh=3 kw=3", ERR_SYNTAX, 25, 4, "kh= needs kd= too",
      "give all of them, or k= for equal ones" },
    { "grp i=6 h=4 o=8 g=4 k=3", ERR_RANGE, 17, 3,
      "g=4 groups do not divide the 6 input channels", "make i= a multiple of 4" },
    { "grp i=8 h=4 o=6 g=4 k=3", ERR_RANGE, 17, 3,
      "g=4 groups do not divide the 6 output channels", "make o= a multiple of 4" },
    { "grp i=8 h=4 o=6 k=3", ERR_SYNTAX, 1, 3, "grp needs g=", "" },
    { "dep i=8 h=4 k=3", ERR_NAME, 5, 1, "dep has no parameter \"i\"", "" },
    { "t2d i=1 h=4 o=1 k=3 s=2 op=2", ERR_RANGE, 25, 4,
      "op=2 is not below 2, the larger of the stride and the dilation of the rows",
      "use at most op=1" },
    { "t2d i=1 h=4 o=1 k=3 s=2 d=4 op=4", ERR_RANGE, 29, 4, "op=4 is not below 4, the larger of",
      "use at most op=3" },
    { "t2d i=1 h=1 w=9 o=1 k=3 ph0=1 ph1=2", ERR_RANGE, 31, 5,
      "ph1=2 and ph0=1 remove all rows of the output", "pad less: at most 2 rows in all" },
    { "t2d i=1 h=1 w=9 o=1 k=3 p=2", ERR_RANGE, 25, 3, "p=2 removes all rows of the output",
      "pad less: at most 2 rows in all" },
    { "maxpool c=1 h=8 k=2 p=2", ERR_RANGE, 21, 3,
      "p=2: some windows of 2 rows would contain only padding", "use a padding smaller" },
    { "maxpool c=1 h=8 k=9", ERR_RANGE, 17, 3, "k=9 makes the kernel span 9 rows", "k=8" },
    { "transpose c=1 h=8 perm=1244", ERR_RANGE, 19, 9, "perm=1244 is not an order of 3 dimensions",
      "1342 makes N H W C" },
    { "transpose c=1 h=8 perm=5", ERR_RANGE, 24, 1, "perm=5 is out of range", "" },
    { "transpose c=1 h=8 perm=12", ERR_RANGE, 19, 7, "perm=12 is not an order of 3 dimensions",
    "" },
    { "act c=1 w=8 f=relu", ERR_SYNTAX, 9, 3, "w= needs h= too", "leave out w=" },
    { "softmax m=1 n=8 l=3", ERR_SYNTAX, 17, 3, "l= needs k= too", "" },
    { "gpool c=3", ERR_SYNTAX, 1, 5, "gpool needs h=", "" },
    { "reshape c=8 k=2", ERR_SYNTAX, 13, 3, "k= needs m= too", "from the first on" },
    { "reshape c=8 m=4 k=3", ERR_RANGE, 17, 3, "k=3 does not divide the 2 elements", "" },
    { "reshape c=3 h=5 m=2", ERR_RANGE, 17, 3, "m=2 does not divide the 15 elements",
      "multiply to 15" },
    { "slice c=8 to=9", ERR_RANGE, 11, 4, "to=9: channels 0 to 8 are not a part of the 8", "" },
    { "slice c=8 from=3 to=3", ERR_RANGE, 11, 6, "from=3: channels 3 to 2", "" },
    { "concat c=8 h=2", ERR_SYNTAX, 1, 6, "concat needs c2=", "" },
    { "softmax m=8", ERR_SYNTAX, 1, 7, "softmax needs n=", "" },
    { "bmm b=1048576 m=1048576 k=1 n=1", ERR_NONE, 0, 0, "", "" },
    { "bmm b=1048576 m=1048576 k=2 n=1", ERR_OVERFLOW, 1, 3, "tensor A (B=1048576", "" },
};

static void spec_errors(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(bad_specs); i++) {
        const struct graph *g = NULL;
        struct err e = {0};
        bool ok = graph_from_spec(arena, bad_specs[i].spec, &g, &e);
        bool same = e.code == bad_specs[i].code && e.at.col == bad_specs[i].col &&
                    e.at.len == bad_specs[i].len && strstr(e.text, bad_specs[i].text) &&
                    strstr(e.fix, bad_specs[i].fix);
        if (ok != (bad_specs[i].code == ERR_NONE) || !same)
            fail_msg("\"%s\": %s at %d+%d: %s (fix: %s)", bad_specs[i].spec, err_name(e.code),
                     e.at.col, e.at.len, e.text, e.fix);
    }
}

/* Every family's example, and what options add. */
static void printed_graphs(void **state)
{
    (void)state;
    static const char *const more[] = {
        "c1d i=2 w=8 o=3 k=3 pw0=1 bias=1 act=sigmoid",
        "c3d n=2 i=3 depth=4 h=8 w=9 o=4 kd=2 kh=3 kw=3 sd=2 ph=1 pw=1 dw=2",
        "grp i=6 h=5 o=9 g=3 k=1 bias=1 relu=1",
        "dep c=4 h=6 k=3 ph1=2 act=hardswish",
        "t2d i=2 h=4 o=3 k=3 s=2 p=1 op=1 bias=1",
        "t2d i=2 h=4 o=3 k=2 s=3 p=2",
        "t2d i=2 h=4 o=3 k=3",
        "avgpool c=2 h=5 k=3 p=1 count_pad=0",
        "act c=9 f=gelu", "act c=9 f=gelu_tanh", "act c=9 f=softplus", "act c=9 f=silu",
        "add c=2 h=3 y=row", "gpool c=2 h=3 w=4 x=5 f=max", "reduce m=3 n=4 f=mean",
        "concat c=1 c2=2 c3=3 h=2", "softmax m=2 n=3 k=4", "reshape n=6 c=8 m=2 k=3",
        "transpose n=2 c=3 perm=21", "mul n=2 c=3 y=one",
        "c = c1d n=1 i=2 w=5 o=3 k=3; s = const c=3; y = batchnorm(c, s, s, s, s)",
    };
    struct str out = {0};
    for (int i = 0; i < ops_count() + COUNT_OF(more); i++) {
        graph_print(&out, must_build(i < ops_count() ? ops_get(i)->example
                                                     : more[i - ops_count()]));
        str_add_char(&out, '\n');
    }
    golden_check("tests/golden/ops.txt", str_text(&out));
    str_free(&out);
}

/* --- counts ----------------------------------------------------------------------------------- */

static double macs(const char *spec)
{
    const struct graph *g = must_build(spec);
    return g->node[g->main_node].flops / 2;
}

/* SPEC Appendix 1: the configurations of alt.fig9, their outputs and MACs. */
static const struct { const char *spec, *out; double macs; } fig9[] = {
{ "c2d n=16 i=960 h=7 w=7 o=1280 k=3 s=2 p=1", "4x4", 2831155200 },
{ "c2d n=7 i=16 h=7 w=7 o=16 k=7 s=1 p=3", "7x7", 4302592 },
{ "c2d n=16 i=3 h=28 w=28 o=960 k=7 s=2 p=3", "14x14", 442552320 },
{ "c2d n=11 i=64 h=7 w=7 o=32 k=7 s=2 p=3", "4x4", 17661952 },
{ "c2d n=1 i=16 h=7 w=7 o=512 k=3 s=2 p=1", "4x4", 1179648 },
{ "grp n=16 i=32 h=112 w=112 o=64 g=2 k=1 s=2 p=0", "56x56", 51380224 },
{ "grp n=7 i=16 h=28 w=28 o=512 g=16 k=7 s=2 p=3", "14x14", 34420736 },
{ "grp n=1 i=512 h=28 w=28 o=1280 g=4 k=5 s=2 p=2", "14x14", 802816000 },
{ "grp n=5 i=512 h=7 w=7 o=960 g=16 k=3 s=1 p=1", "7x7", 67737600 },
{ "grp n=8 i=1280 h=28 w=28 o=64 g=2 k=1 s=2 p=0", "14x14", 64225280 },
{ "dep n=1 c=1280 h=224 w=224 k=5 s=1 p=2", "224x224", 1605632000 },
{ "dep n=1 c=1280 h=56 w=56 k=1 s=2 p=0", "28x28", 1003520 },
{ "dep n=16 c=32 h=112 w=112 k=1 s=1 p=0", "112x112", 6422528 },
{ "dep n=3 c=512 h=112 w=112 k=1 s=1 p=0", "112x112", 19267584 },
{ "dep n=12 c=1280 h=56 w=56 k=1 s=2 p=0", "28x28", 12042240 },
{ "dil n=12 i=3 h=112 w=112 o=960 k=3 s=2 p=2 d=2", "56x56", 975421440 },
{ "dil n=16 i=16 h=7 w=7 o=16 k=5 s=2 p=6 d=3", "4x4", 1638400 },
{ "dil n=15 i=512 h=7 w=7 o=512 k=5 s=2 p=4 d=2", "4x4", 1572864000 },
{ "dil n=15 i=960 h=7 w=7 o=64 k=3 s=2 p=2 d=2", "4x4", 132710400 },
{ "dil n=1 i=960 h=56 w=56 o=32 k=3 s=2 p=2 d=2", "28x28", 216760320 },
{ "c3d n=3 i=960 depth=8 h=14 w=14 o=32 k=1 s=2 p=0", "4x7x7", 18063360 },
{ "c3d n=8 i=64 depth=8 h=28 w=28 o=64 k=5 s=2 p=2", "4x14x14", 3211264000 },
{ "c3d n=1 i=32 depth=8 h=14 w=14 o=512 k=5 s=1 p=2", "8x14x14", 3211264000 },
{ "c3d n=16 i=960 depth=4 h=14 w=14 o=16 k=1 s=1 p=0", "4x14x14", 192675840 },
{ "c3d n=1 i=32 depth=8 h=112 w=112 o=32 k=3 s=2 p=1", "4x56x56", 346816512 },
{ "c1d n=1 i=960 w=128 o=512 k=3 s=1 p=1", "128", 188743680 },
{ "c1d n=1 i=960 w=32 o=64 k=5 s=1 p=2", "32", 9830400 },
{ "c1d n=1 i=16 w=128 o=512 k=3 s=2 p=1", "64", 1572864 },
{ "c1d n=16 i=16 w=32 o=960 k=1 s=1 p=0", "32", 7864320 },
{ "c1d n=1 i=64 w=256 o=1280 k=7 s=2 p=3", "128", 73400320 },
{ "gmm m=512 k=32 n=1024", "", 16777216 },
{ "gmm m=512 k=256 n=256", "", 33554432 },
{ "gmm m=512 k=512 n=64", "", 16777216 },
{ "gmm m=768 k=768 n=1024", "", 603979776 },
{ "gmm m=3072 k=16 n=1024", "", 50331648 },
{ "t2d n=8 i=16 h=28 w=28 o=16 k=3 s=2 p=1", "55x55", 14450688 },
{ "t2d n=1 i=512 h=224 w=224 o=32 k=2 s=2 p=0", "448x448", 3288334336 },
{ "t2d n=7 i=64 h=7 w=7 o=1280 k=3 s=2 p=1", "13x13", 252887040 },
{ "t2d n=1 i=960 h=56 w=56 o=64 k=3 s=2 p=1", "111x111", 1734082560 },
{ "t2d n=1 i=16 h=7 w=7 o=512 k=4 s=2 p=1", "14x14", 6422528 },
{ "t3d n=1 i=512 depth=16 h=14 w=14 o=16 k=3 s=2 p=1", "31x27x27", 693633024 },
{ "t3d n=8 i=16 depth=8 h=28 w=28 o=32 k=4 s=2 p=1", "16x56x56", 1644167168 },
{ "t3d n=1 i=32 depth=8 h=7 w=7 o=16 k=3 s=2 p=1", "15x13x13", 5419008 },
{ "t3d n=10 i=64 depth=16 h=7 w=7 o=64 k=3 s=2 p=1", "31x13x13", 867041280 },
{ "t3d n=13 i=32 depth=8 h=7 w=7 o=16 k=2 s=2 p=0", "16x14x14", 20873216 },
};

static void appendix_1(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(fig9); i++) {
        const struct graph *g = must_build(fig9[i].spec);
        const struct tensor *t = &g->tensor[g->node[g->main_node].out];
        struct str out = {0};
        for (int d = 2; d < t->rank; d++)
            str_printf(&out, "%s%lld", d > 2 ? "x" : "", (long long)t->shape[d]);
        if (macs(fig9[i].spec) != fig9[i].macs || !streq(str_text(&out), fig9[i].out))
            fail_msg("%s: %.0f MACs, output %s", fig9[i].spec, macs(fig9[i].spec),
                     str_text(&out));
        str_free(&out);
    }
}

struct layer { int count; const char *spec; };

static double macs_of(const struct layer *layer, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += layer[i].count * macs(layer[i].spec);
    return sum;
}

/* SPEC I.2: MobileNet-V2, one BERT-base layer, R3D-18. */
static void network_macs(void **state)
{
    (void)state;
    static const struct layer mv2[] = {
        { 1, "c2d i=3 h=224 o=32 k=3 s=2 p=1" }, { 1, "dep c=32 h=112 k=3 p=1" },
        { 1, "c2d i=32 h=112 o=16 k=1" }, { 1, "c2d i=16 h=112 o=96 k=1" },
        { 1, "dep c=96 h=112 k=3 s=2 p=1" }, { 1, "c2d i=96 h=56 o=24 k=1" },
        { 2, "c2d i=24 h=56 o=144 k=1" }, { 1, "dep c=144 h=56 k=3 p=1" },
        { 1, "c2d i=144 h=56 o=24 k=1" }, { 1, "dep c=144 h=56 k=3 s=2 p=1" },
        { 1, "c2d i=144 h=28 o=32 k=1" }, { 3, "c2d i=32 h=28 o=192 k=1" },
        { 2, "dep c=192 h=28 k=3 p=1" }, { 2, "c2d i=192 h=28 o=32 k=1" },
        { 1, "dep c=192 h=28 k=3 s=2 p=1" }, { 1, "c2d i=192 h=14 o=64 k=1" },
        { 4, "c2d i=64 h=14 o=384 k=1" }, { 4, "dep c=384 h=14 k=3 p=1" },
        { 3, "c2d i=384 h=14 o=64 k=1" }, { 1, "c2d i=384 h=14 o=96 k=1" },
        { 3, "c2d i=96 h=14 o=576 k=1" }, { 2, "dep c=576 h=14 k=3 p=1" },
        { 2, "c2d i=576 h=14 o=96 k=1" }, { 1, "dep c=576 h=14 k=3 s=2 p=1" },
        { 1, "c2d i=576 h=7 o=160 k=1" }, { 3, "c2d i=160 h=7 o=960 k=1" },
        { 3, "dep c=960 h=7 k=3 p=1" }, { 2, "c2d i=960 h=7 o=160 k=1" },
        { 1, "c2d i=960 h=7 o=320 k=1" }, { 1, "c2d i=320 h=7 o=1280 k=1" },
        { 1, "gmm m=1 k=1280 n=1000" },
    };
    static const struct layer bert[] = {
        { 4, "gmm m=128 k=768 n=768" }, { 1, "gmm m=128 k=768 n=3072" },
        { 1, "gmm m=128 k=3072 n=768" }, { 1, "bmm b=12 m=128 k=64 n=128" },
        { 1, "bmm b=12 m=128 k=128 n=64" },
    };
    static const struct layer r3d[] = {
        { 1, "c3d i=3 depth=16 h=112 o=64 kd=3 kh=7 kw=7 sh=2 sw=2 pd=1 ph=3 pw=3" },
        { 4, "c3d i=64 depth=16 h=56 o=64 k=3 p=1" },
        { 1, "c3d i=64 depth=16 h=56 o=128 k=3 s=2 p=1" },
        { 1, "c3d i=64 depth=16 h=56 o=128 k=1 s=2" },
        { 3, "c3d i=128 depth=8 h=28 o=128 k=3 p=1" },
        { 1, "c3d i=128 depth=8 h=28 o=256 k=3 s=2 p=1" },
        { 1, "c3d i=128 depth=8 h=28 o=256 k=1 s=2" },
        { 3, "c3d i=256 depth=4 h=14 o=256 k=3 p=1" },
        { 1, "c3d i=256 depth=4 h=14 o=512 k=3 s=2 p=1" },
        { 1, "c3d i=256 depth=4 h=14 o=512 k=1 s=2" },
        { 3, "c3d i=512 depth=2 h=7 o=512 k=3 p=1" },
    };
    assert_true(macs_of(mv2, COUNT_OF(mv2)) == 300774272);
    assert_true(macs_of(bert, COUNT_OF(bert)) == 931135488);
    if (macs_of(r3d, COUNT_OF(r3d)) != 40696348672)
        fail_msg("R3D-18: %.0f", macs_of(r3d, COUNT_OF(r3d)));
}

/* Flops and bytes beside multiply-adds: what a graph of several nodes does and touches. */
static void flops_and_bytes(void **state)
{
    (void)state;
    static const struct { const char *spec; double flops, bytes; } table[] = {
        { "grp i=4 h=4 o=6 g=2 k=3", 2 * 24 * 18, 4 * (64 + 108 + 24) },
        { "dep c=4 h=4 k=3 bias=1", 2 * 16 * 9 + 16, 4 * (64 + 36 + 4 + 16) },
        { "t2d i=4 h=4 o=3 k=2 s=2", 2 * 4 * 3 * 16 * 4, 4 * (64 + 48 + 192) },
        { "bmm b=2 m=3 k=4 n=5", 2 * 120, 4 * (24 + 40 + 30) },
        { "act c=10 f=sigmoid", 4 * 10, 80 },
        { "act c=10 f=relu6", 2 * 10, 80 },
        { "add c=10 h=2 y=channel", 20, 4 * (20 + 10 + 20) },
        { "bn c=10 h=2", 2 * 20, 4 * (20 + 20 + 20) },
        { "maxpool c=2 h=4 k=2", 8 * 4, 4 * (32 + 8) },
        { "avgpool c=2 h=4 k=2", 8 * 4 * 2, 4 * (32 + 8) },
        { "reduce m=3 n=5", 15, 4 * (15 + 3) },
        { "softmax m=3 n=5", 15 + 30 + 15 + 15, 4 * 30 },
        { "ln m=3 n=5", 30 + 15 * 5 + 15 * 6, 4 * (15 + 10 + 15) },
        { "transpose c=4 h=2 perm=132", 0, 4 * 16 },
        { "concat c=1 c2=2 h=2", 0, 4 * 12 },
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        const struct graph *g = must_build(table[i].spec);
        if (g->flops != table[i].flops || g->bytes != table[i].bytes)
            fail_msg("%s: %.0f flops, %.0f bytes", table[i].spec, g->flops, g->bytes);
    }
}

/* --- transposed convolutions, SPEC D.3 -------------------------------------------------------- */

static const struct program *program_of(const char *spec, const char *steps)
{
    const struct program *p;
    struct err e;
    char *rest = NULL;
    if (!program_new(arena, spec, &p, &e))
        fail_msg("%s: %s", spec, e.text);
    for (char *s = strtok_r(arena_strdup(arena, steps), ";", &rest); s;
         s = strtok_r(NULL, ";", &rest))
        if (!program_apply_line(p, s, &p, &e))
            fail_msg("%s: %s", s, e.text);
    return p;
}

/* H_out, b0, and the tiles of Inp under one tile of the output. */
static void t2d_vectors(void **state)
{
    (void)state;
    static const struct { int h, k, h_out, b0, h_t, b, s, n; } table[] = {
        { 4, 4, 8, 0, 4, 4, 2, 2 }, { 8, 3, 15, 1, 2, 3, 1, 8 }, { 16, 4, 32, 0, 8, 6, 4, 4 },
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        const char *spec = arena_printf(arena, "t2d i=2 h=%d w=1 o=2 kh=%d kw=1 sh=2 ph=1",
                                        table[i].h, table[i].k);
        const char *steps = arena_printf(arena, "layout split Conv H 0 %d%s;"
                                         "layout unfold Inp H tile=%d stride=%d;"
                                         "set input_layout given",
                                         table[i].h_t, table[i].h_out % table[i].h_t ?
                                         " allow_pad=1" : "", table[i].b, table[i].s);
        const struct program *p = program_of(spec, steps);
        const struct layout *conv = p->layout[graph_tensor(p->graph, "Conv")];
        const struct layout *inp = p->layout[graph_tensor(p->graph, "Inp")];
        struct str nest = {0};
        program_print_nest(&nest, p);
        assert_int_equal(conv->tensor->shape[2], table[i].h_out);
        assert_int_equal(inp->shape[2], table[i].n);
        assert_int_equal(conv->shape[2], table[i].n);
        const char *update = strstr(str_text(&nest), "for i, kh, kw");
        if (!update || strstr(update, "min(") ||
            !strstr(update, table[i].b0 ? "(h.1 + kh + 1) % 2 == 0" : "(h.1 + kh) % 2 == 0"))
            fail_msg("%s\n%s", spec, str_text(&nest));
        assert_true(program_interpret_of_bound(p, 5) <= 1);
        str_free(&nest);
    }
}

/* Split by the stride and written out, the tests are constants: no remainder, no condition. */
static void t2d_without_tests(void **state)
{
    (void)state;
    static const char steps[] =
        "layout set Conv NHWO;layout set Inp NHWI;loop split Conv H 2;loop split Conv W 2;"
        "loop split Conv KH 2;loop split Conv KW 2;"
        "loop reorder Conv H.1 W.1 KH.1 KW.1 N H.0 W.0 I KH.0 KW.0 O;loop unroll Conv H.1;"
        "loop unroll Conv W.1;loop unroll Conv KH.1;loop unroll Conv KW.1;loop vectorize Conv O";
    static const char *const specs[] = {
        "t2d i=4 h=4 o=16 k=4 s=2 p=1", "t2d i=4 h=5 o=16 k=3 s=2 p=1 op=1",
        "t2d i=4 h=5 w=4 o=16 k=3 s=2 p=1",        /* splits that do not divide */
    };
    for (int i = 0; i < COUNT_OF(specs); i++) {
        const struct program *p = program_of(specs[i], steps);
        const struct gen_opts o = { .target = target_named("avx2") };
        const struct func *f;
        struct str c = {0};
        struct err e;
        assert_true(program_lower(p, &f, &e) && gen_c(f, &o, &c, &e));
        const char *body = strstr(str_text(&c), "/* Conv */");
        if (!body || strchr(body, '%') || strstr(body, "if (") || strchr(body, '?'))
            fail_msg("%s: %s", specs[i], str_text(&c));
        assert_true(program_interpret_of_bound(p, 5) <= 1);
        str_free(&c);
    }
}

/* Every kind of operator in graphs: an inverted residual, a block of dense convolutions, attention,
 * an upsampling path, a 3-D stem. */
static void families_in_graphs(void **state)
{
    (void)state;
    static const char *const graphs[] = {
        "x = input n=1 i=4 h=6 w=6; a = c2d(x) o=8 k=1 act=relu6; b = dep(a) k=3 p=1; s = bn(b);"
        "t = act(s) f=hardswish; c = c2d(t) o=4 k=1; y = add(c, x); p = avgpool(y) k=3 p=1 "
        "count_pad=0; g = gpool(p)",
        "x = input n=1 i=4 h=8 w=8; a = grp(x) o=6 g=2 k=3 p=1; m = maxpool(a) k=3 p=1;"
        "b = dil(m) o=2 k=3 p=2 act=tanh; c = concat(m, b) c2=2; d = slice(c) from=2 to=7",
        "x = input m=6 n=8; q = gmm(x) n=8; k = gmm(x) n=8; v = gmm(x) n=8 bias=1;"
        "q1 = reshape(q) m=6 k=2 l=4; k1 = reshape(k) m=6 k=2 l=4; v1 = reshape(v) m=6 k=2 l=4;"
        "q2 = transpose(q1) perm=213; k2 = transpose(k1) perm=231; v2 = transpose(v1) perm=213;"
        "s = bmm(q2, k2) n=6; p = softmax(s); o = bmm(p, v2) n=4; o1 = transpose(o) perm=213;"
        "o2 = reshape(o1) m=6; r = add(o2, x); y = ln(r); z = gmm(y) n=12 act=gelu",
        "x = input n=1 i=3 h=3 w=3; a = t2d(x) o=4 k=4 s=2 p=1 act=silu; b = mul(a) y=channel",
        "x = input n=1 i=2 d=4 h=4 w=4; a = c3d(x) o=3 k=3 p=1 s=2; b = t3d(a) o=2 k=2 s=2;"
        "g = gpool(b) f=max; r = reduce(g) f=mean",
        "x = input n=1 i=4 w=9; a = c1d(x) o=4 k=3 d=2; b = act(a) f=softplus",
    };
    for (int i = 0; i < COUNT_OF(graphs); i++) {
        double d = program_interpret_of_bound(program_of(graphs[i], ""), 7);
        if (!(d <= 1))
            fail_msg("%s: error %g of the bound", graphs[i], d);
    }
}

static int setup(void **state)
{
    (void)state;
    arena = arena_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(canonical_specs), TEST(spec_errors),     TEST(printed_graphs), TEST(appendix_1),
        TEST(network_macs),    TEST(flops_and_bytes), TEST(t2d_vectors),    TEST(t2d_without_tests),
        TEST(families_in_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
