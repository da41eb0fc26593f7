/* Refused texts of operators and graphs: the whole message, what it proposes, and the part of the
 * text that it marks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/ops/graph.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* col, len: the marked part of the statement, or of the operator; text: NULL where it is fine. */
struct row { const char *spec; int col, len; const char *text, *fix; };

#define X   "x = input m=2 k=3; "
#define XX  "x = input m=2 k=2; "

static const struct row statements[] = {
    { XX "= relu(x)", 0, 0, "a statement is NAME = OPERATOR(TENSORS) PARAMETERS", "" },
    { XX "a relu(x)", 3, 1, "expected = after a",
      "a statement is NAME = OPERATOR(TENSORS) PARAMETERS" },
    { XX "(x)", 1, 1, "expected = after a name",
      "a statement is NAME = OPERATOR(TENSORS) PARAMETERS" },
    { "image = input m=2; a = relu(imag)", 10, 4, "no tensor imag is defined before this statement",
      "did you mean image?" },
    { "x = input m=2 type=f16; y = input m=2 type=bf16; z = add(x, y)", 15, 9,
      "type=bf16 contradicts type=f16 in an earlier statement",
      "a graph has one type: say it once, at an input" },
    { "x = input m=2 type=whatever; y = relu(x)", 15, 13,
      "there is no element type \"whatever\"", "the types are f32, f16 and bf16" },
    { "x = input m=2 k; y = relu(x)", 15, 1, "expected up to 8 dimensions, DIM=SIZE",
      "for example n=1 i=64 h=56 w=56" },
    { "x = input a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1; y = relu(x)", 43, 1,
      "expected up to 8 dimensions, DIM=SIZE", "for example n=1 i=64 h=56 w=56" },
    { "x = input a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1; y = relu(x)", 0, 0, NULL, NULL },
    { "x = input abcdefghijabcdefghijabcdefghijabcdefghij=4; y = relu(x)", 0, 0, NULL, NULL },
    { X "y = input k=4 n=2; a = matmul(x, y)", 5, 6, "In0 has 3 columns, but In1 has 4 rows", "" },
    { "c = const value=1; x = input m=2; a = matmul(c, x)", 5, 6,
      "In0 has no dimensions: matmul multiplies vectors and matrices", "" },
    { X "y = input k=4 n=2; a = gemm(x, y)", 5, 4,
      "In0 and In1 are not matrices that can be multiplied", "" },
    { X "y = input k=3; a = gemm(x, y)", 5, 4,
      "In0 and In1 are not matrices that can be multiplied", "" },
    { X "y = input k=3 n=2; b = input n=3; a = gemm(x, y, b)", 5, 4,
      "In2 cannot be added to a matrix of 2 x 2", "" },
    { "x = input m=2 k=2; y = input m=2 k=3; a = concat(x, y) axis=0", 5, 6,
      "In0 and In1 differ in a dimension that is not joined", "" },
    { "x = input m=2 k=2; y = input m=2 k=3; a = concat(x, y) axis=1", 0, 0, NULL, NULL },
    { "x = input m=2; a = expand(x)", 5, 6, "shape= is missing", "" },
    { "x = input m=2; a = expand(x) shape=0,2", 5, 6,
      "shape= cannot expand dimension 0 to 0 elements",
      "use 1 to keep a dimension; only a dimension of 1 can become larger" },
    { "x = input m=3 k=4; a = reshape(x) shape=5,2", 5, 7,
      "shape= does not hold the 12 elements of In0", "" },
    { "x = input m=3 k=4; a = reshape(x) shape=2,6x", 16, 10, "shape=6x is not a whole number",
      "shape= takes whole numbers separated by commas" },
    { "x = input m=3 k=4; a = reshape(x) shape=1,1,1,1,1,1,3,4", 0, 0, NULL, NULL },
    { XX "a = transpose(x) perm=0,0", 5, 9, "perm= is not a permutation of 2 dimensions", "" },
    { XX "a = relu(x) slope=3", 13, 7, "relu has no parameter \"slope\"", "it has none" },
    { XX "a = clip(x) low=3", 13, 5, "clip has no parameter \"low\"", "its parameters: min max" },
    { XX "a = concat(x, x) axis=k", 18, 6, "axis=k is not a whole number",
      "axis=1 is dimension K" },
    { XX "a = concat(x, x) axis=z", 18, 6, "axis=z is not a whole number", "0 for M, 1 for K" },
    { XX "a = softmax(x) axis=1099511627777", 16, 18,
      "axis=1099511627777 is not between -2^40 and 2^40", "" },
    { XX "a = softmax(x) axis=1099511627776", 5, 7,
      "axis 1099511627776 does not exist: the tensor has 2 dimensions", "" },
    { XX "a = softmax(x) axis=-3", 5, 7, "axis -3 does not exist: the tensor has 2 dimensions",
      "" },
    { XX "a = reduce_sum(x) axes=1,-1", 5, 10, "axes= names dimension 1 twice", "" },
    { "x = input c=2; s = const c=2; a = batchnorm(x, s, s, s, s)", 5, 9,
      "batchnorm needs a tensor with a channel dimension", "" },
    { "x = input n=1 c=2; s = const c=3; a = batchnorm(x, s, s, s, s)", 5, 9,
      "In1 is not a vector of 2 channels", "" },
    { "x = input m=2 k=3; w = const k=3 n=4; a = matmul(x, w) act=rleu", 18, 8,
      "there is no function rleu", NULL },
    { XX "a = leaky(x) alpha=", 14, 6, "alpha= has no value", "alpha=0.5" },
    { XX "a = softmax(x) axis=", 16, 5, "axis= has no value", "axis=1" },
    { XX "a = transpose(x) perm", 18, 4, "perm= has no value", "perm=0,1" },
    { "x = input m=2 k=3; w = const k=3 n=4; a = matmul(x, w) act=", 18, 4, "act= has no value",
      "act=relu" },
    { "c = const k=2 value=1,zwei; a = relu(c)", 15, 12, "\"zwei\" is not a number",
      "value= takes numbers separated by commas: value=8, value=0.5,-1e-5,inf" },
    { "c = const k=2 value=1e39; a = relu(c)", 15, 10,
      "1e39 is too large for a float32 (at most 3.40282347e+38)", "" },
    { "c = const k=2 hash=0123; a = relu(c)", 15, 9, "hash= takes 16 hexadecimal digits",
      "let tilescope import write the constants of a model" },
    { "c = const k=2 file=m tensor=w; a = relu(c)", 22, 8,
      "c: file=, tensor= and hash= go together; hash= is missing",
      "let tilescope import write the constants of a model" },
    { "c = const k=2 file=m hash=0123456789abcdef; a = relu(c)", 22, 21,
      "c: file=, tensor= and hash= go together; tensor= is missing",
      "let tilescope import write the constants of a model" },
    { "c = const k=2 file=m%2; a = relu(c)", 15, 8,
      "file= is empty, or has a % without two hexadecimal digits after it",
      "write %25 for % itself, and %20 for a blank" },
    { "c = const k=3 value=1,2; a = relu(c)", 15, 9, "c has 3 elements, but value= has 2 numbers",
      "give one number for all elements, or one for each" },
    { "a = gmm m=2 k=2 n=2; output ,", 8, 1, "output takes tensor names",
      "name the results, as in `output y`, or leave the statement out" },
    { "a = gmm m=2 k=2 n=2; output", 7, 1, "output takes tensor names",
      "name the results, as in `output y`, or leave the statement out" },
    { "a = gmm m=2 k=2 n=2; output a_A", 8, 3, "a_A is not computed by this graph", "" },
    { "t = const v=4 k=2 type=f16; i = input n=3; y = gather(t, i)", 0, 0,
      "the indices of y would be rounded to float16",
      "leave out type=f16: float32 holds indices up to 16777216" },
    { "x = input n=4", 0, 0, "the graph has no operators", "" },
};

static const struct row operators[] = {
    { "c2d i=1 h=6 o=1 k=3 k=5", 21, 3, "k= is given twice", "leave out one of k=3 and k=5" },
    { "c2d i= h=6 o=1 k=3", 5, 2, "i= has no value", "write i=NUMBER, with no blank around the =" },
    { "c2d i=1 h=6 o=1 k=3 act=", 21, 4, "act= has no value",
      "write act=none, with no blank around the =" },
    { "c2d h=6 k=3", 1, 3, "c2d needs i= and o=", NULL },
    { "gmm", 1, 3, "gmm needs m=, k= and n=", NULL },
    { "slice c=8 h=2 to=9", 15, 4, "to=9: channels 0 to 8 are not a part of the 8",
      "use from= below to=, and to= at most 8" },
    { "slice c=8 h=2 to=8 from=7", 0, 0, NULL, NULL },
    { "slice c=8 h=2 to=4 from=4", 20, 6, "from=4: channels 4 to 3 are not a part of the 8",
      "use from= below to=, and to= at most 8" },
    { "reshape c=8 k=2", 13, 3, "k= needs m= too",
      "give the dimensions of the result from the first on" },
    { "reshape c=3 h=5 m=2", 17, 3, "m=2 does not divide the 15 elements that are left",
      "choose dimensions that multiply to 15" },
    { "transpose c=1 h=8 perm=1244", 19, 9, "perm=1244 is not an order of 3 dimensions",
      "write each of 1 to 3 once: for four dimensions, 1342 makes N H W C" },
    { "transpose c=1 h=8 perm=3321", 19, 9, "perm=3321 is not an order of 3 dimensions",
      "write each of 1 to 3 once: for four dimensions, 1342 makes N H W C" },
    { "softmax m=1 n=8 l=3", 17, 3, "l= needs k= too", "give k=, or leave out l=" },
    { "c2d i=1 h=6 o=1 k=3 p=1 ph0=2", 25, 5, "ph0= sets what p=1 already sets",
      "give either p= or the sides one by one" },
    { "c2d i=1 h=6 o=1 k=3 ph=1 ph1=2", 26, 5, "ph1= sets what ph=1 already sets",
      "give either ph= or ph0= and ph1=" },
    { "c2d i=1 h=6 o=1 kh=3", 17, 4, "kh= needs kw= too", "give both, or k= for equal ones" },
    { "c3d i=1 depth=4 h=4 o=1 kd=3 kh=3", 25, 4, "kd= needs kw= too",
      "give all of them, or k= for equal ones" },
    { "maxpool c=1 h=8 k=2 p=2", 21, 3, "p=2: some windows of 2 rows would contain only padding",
      "use a padding smaller than the window" },
    { "maxpool c=1 h=8 k=2 p=1", 0, 0, NULL, NULL },
    { "c2d i=1 h=6 w=9 o=1 k=3 d=3", 25, 3,
      "d=3 makes the kernel span 7 rows, but the padded input has 6 (h=6 + 2*0)",
      "use at most d=2, or a larger padding: p=1" },
    { "c2d i=1 h=7 w=9 o=1 k=3 d=3", 0, 0, NULL, NULL },
    { "t2d i=1 h=4 o=1 k=3 s=2 op=2", 25, 4,
      "op=2 is not below 2, the larger of the stride and the dilation of the rows",
      "use at most op=1" },
    { "t2d i=1 h=1 w=9 o=1 k=3 p=2", 25, 3, "p=2 removes all rows of the output",
      "pad less: at most 2 rows in all" },
    { "t2d i=1 h=1 w=9 o=1 k=3 ph0=2 ph1=1", 25, 5,
      "ph0=2 and ph1=1 remove all rows of the output", "pad less: at most 2 rows in all" },
    { "t2d i=1 h=1 w=9 o=1 k=3 p=1", 0, 0, NULL, NULL },
};

/* fix NULL: any. */
static void check(const struct row *rows, int n)
{
    for (int i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        struct arena *a = arena_new();
        const struct graph *g;
        struct err e = { 0 };
        bool ok = graph_from_spec(a, r->spec, &g, &e);
        if (ok != !r->text)
            fail_msg("%s: %s", r->spec, ok ? "accepted" : e.text);
        if (!ok && (!streq(e.text, r->text) || (r->fix && !streq(e.fix, r->fix))))
            fail_msg("%s: %s (fix: %s)", r->spec, e.text, e.fix);
        if (!ok && r->len && (e.at.col != r->col || e.at.len != r->len))
            fail_msg("%s: %s marks %d bytes at %d", r->spec, e.text, e.at.len, e.at.col);
        arena_free(a);
    }
}

static void statements_are_checked(void **state)
{
    (void)state;
    check(statements, COUNT_OF(statements));
}

static void operators_are_checked(void **state)
{
    (void)state;
    check(operators, COUNT_OF(operators));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_are_checked),
        cmocka_unit_test(operators_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
