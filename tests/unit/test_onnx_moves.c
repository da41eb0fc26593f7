/* ONNX nodes that move data, index, resize and slide windows: numbers that follow from the
 * definitions of the operators, and the reasons why nodes are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include "kernels/base/str.h"
#include "tests/unit/onnx_case.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* in: the data of inputs (onnx_outputs). */
struct row { int opset; const char *model, *in, *want; };

static void check(const struct row *rows, int n)
{
    for (int i = 0; i < n; i++) {
        struct arena *a = arena_new();
        const char *got = onnx_outputs(a, rows[i].opset, rows[i].model, rows[i].in);
        if (!streq(got, rows[i].want))
            fail_msg("%s (%s):\n%s, expected\n%s", rows[i].model, rows[i].in, got, rows[i].want);
        arena_free(a);
    }
}

static const struct row shapes[] = {
    { 13, "in x:2,3; ints s:0,-1; node Reshape x s > y; out y:2,3", "", "2x3: 0 1 2 3 4 5" },
    { 4, "in x:2,3; node Reshape x > y shape=3,2; out y", "", "3x2: 0 1 2 3 4 5" },
    { 13, "in x:2,3; ints s:0,0,0; node Reshape x s > y; out y", "",
      "its shape 0,0,0 is not valid" },
    { 13, "in x:2,3; ints s:-1,-1; node Reshape x s > y; out y", "",
      "its shape -1,-1 is not valid" },
    { 13, "in x:2,3; ints s:-2,3; node Reshape x s > y; out y", "",
      "its shape -2,3 is not valid" },
    { 14, "in x:2,3; ints s:0,3; node Reshape x s > y allowzero=1; out y", "",
      "its shape 0,3 is empty" },
    { 13, "in x:2,3; ints s:-1,7; node Reshape x s > y; out y", "", "its shape -1,7 is empty" },
    { 13, "in x:2,3; ints s:4,-1; node Reshape x s > y; out y", "",
      "2x3 cannot be reshaped to 4x1" },
    { 13, "in x:2,3,1; node Flatten x > y; out y", "", "2x3: 0 1 2 3 4 5" },
    { 13, "in x:2,3,1; node Flatten x > y axis=0; out y", "", "1x6: 0 1 2 3 4 5" },
    { 13, "in x:2,3,1; node Flatten x > y axis=3; out y", "", "6x1: 0 1 2 3 4 5" },
    { 13, "in x:2,3,1; node Flatten x > y axis=-2; out y", "", "2x3: 0 1 2 3 4 5" },
    { 13, "in x:2,3,1; node Flatten x > y axis=-3; out y", "", "1x6: 0 1 2 3 4 5" },
    { 13, "in x:2,3,1; node Flatten x > y axis=4; out y", "",
      "axis 4 does not exist: the tensor has 3 dimensions" },
    { 13, "in x:2,3,1; node Flatten x > y axis=-4; out y", "",
      "axis -4 does not exist: the tensor has 3 dimensions" },
    { 13, "in x:1,2,1; node Squeeze x > y; out y", "", "2: 0 1" },
    { 11, "in x:1,2,1; node Squeeze x > y axes=0,; out y", "", "2x1: 0 1" },
    { 13, "in x:1,2,1; ints a:-1,; node Squeeze x a > y; out y", "", "1x2: 0 1" },
    { 11, "in x:1,2,1; node Squeeze x > y axes=1,; out y", "", "dimension 1 of 1x2x1 is not 1" },
    { 11, "in x:2,3; node Unsqueeze x > y axes=0,3; out y", "", "1x2x3x1: 0 1 2 3 4 5" },
    { 13, "in x:2,3; ints a:-1,; node Unsqueeze x a > y; out y", "", "2x3x1: 0 1 2 3 4 5" },
    { 11, "in x:2,3; node Unsqueeze x > y axes=0,0; out y", "", "axes names one axis twice" },
    { 11, "in x:2,3; node Unsqueeze x > y axes=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14; out y", "",
      "its result would have 17 dimensions; at most 16 are supported" },
    { 11, "in x:2,3; node Unsqueeze x > y axes=0,1,2,3,4,5,6,7,8,9,10,11,12,13; out y", "",
      "a tensor has 16 dimensions, and at most 8 are possible" },
    { 13, "in x:2,3; node Transpose x > y; out y", "", "3x2: 0 3 1 4 2 5" },
    { 13, "in x:1,2,2; node Transpose x > y perm=2,0,1; out y", "", "2x1x2: 0 2 1 3" },
    { 13, "in x:2,3; node Transpose x > y perm=0,; out y", "",
      "attribute perm has 1 numbers for 2 dimensions" },
    { 13, "in x:2,3; node Transpose x > y perm=0,2; out y", "",
      "attribute perm: 0,2 is not a permutation" },
    { 13, "in x:2,3; node Transpose x > y perm=-1,0; out y", "",
      "attribute perm: -1,0 is not a permutation" },
    { 13, "in x:2,1; ints s:3; node Expand x s > y; out y", "", "2x3: 0 0 0 1 1 1" },
    { 13, "in x:2,1,2; ints s:2,1; node Expand x s > y; out y", "", "2x2x2: 0 1 0 1 2 3 2 3" },
    { 13, "in x:1,2; ints s:2,1,1; node Expand x s > y; out y", "", "2x1x2: 0 1 0 1" },
    { 13, "in x:2; ints s:3; node Expand x s > y; out y", "", "2 cannot be expanded to 3" },
    { 13, "in x:1; ints s:0; node Expand x s > y; out y", "", "1 cannot be expanded to 0" },
    { 13, "in x:1; ints s:1,1,1,1,1,1,1,1,1; node Expand x s > y; out y", "",
      "its result would have 9 dimensions; at most 8 are supported" },
    { 13, "in x:2; ints n:3; node Tile x n > y; out y", "", "6: 0 1 0 1 0 1" },
    { 13, "in x:1,2; ints n:2,2; node Tile x n > y; out y", "", "2x4: 0 1 0 1 0 1 0 1" },
    { 13, "in x:2,1; ints n:1,2; node Tile x n > y; out y", "", "2x2: 0 0 1 1" },
    { 13, "in x:1,2; ints n:2; node Tile x n > y; out y", "",
      "it has 1 repeats for 2 dimensions" },
    { 13, "in x:2; ints n:0; node Tile x n > y; out y", "",
      "0 repeats of dimension 0 are not possible" },
    { 13, "in x:1,1,1,1,2; ints n:2,2,2,2,1; node Tile x n > y; out y", "",
      "it needs a tensor of 9 dimensions; at most 8 are supported" },
    { 13, "in x:1,8,1,1; node DepthToSpace x > y blocksize=2; out y", "",
      "1x2x2x2: 0 2 4 6 1 3 5 7" },
    { 13, "in x:1,8,1,1; node DepthToSpace x > y blocksize=2 mode~CRD; out y", "",
      "1x2x2x2: 0 1 2 3 4 5 6 7" },
    { 13, "in x:1,4,1,2; node DepthToSpace x > y blocksize=2; out y", "",
      "1x1x2x4: 0 2 1 3 4 6 5 7" },
    { 13, "in x:1,2,2,2; node SpaceToDepth x > y blocksize=2; out y", "",
      "1x8x1x1: 0 4 1 5 2 6 3 7" },
    { 13, "in x:1,4,1,1; node DepthToSpace x > y blocksize=3; out y", "",
      "blocks of 3 do not divide 1x4x1x1" },
    { 13, "in x:1,4,2,3; node SpaceToDepth x > y blocksize=2; out y", "",
      "blocks of 2 do not divide 1x4x2x3" },
    { 13, "in x:1,4,1,1; node DepthToSpace x > y; out y", "",
      "blocks of 0 do not divide 1x4x1x1" },
    { 13, "in x:1,1,1,1,1,1,1,1,1; node Relu x > y; out y", "",
      "x has 9 dimensions, and at most 8 are possible" },
};

static const struct row parts[] = {
    { 13, "in x:1,2; in z:1,1; node Concat x z > y axis=1; out y", ";7", "1x3: 0 1 7" },
    { 13, "in x:1,2; in z:1,2; node Concat x z > y axis=-2; out y", ";7,8", "2x2: 0 1 7 8" },
    { 3, "in x:1,2; in z:1,1; node Concat x z > y; out y", ";7", "1x3: 0 1 7" },
    { 13, "in x:1,2; in z:1,1; node Concat x z > y axis=0; out y", "",
      "1x2 cannot be joined with 1x1 along axis 0" },
    { 13, "in x:1,2; in z:2; node Concat x z > y axis=1; out y", "",
      "1x2 cannot be joined with 2 along axis 1" },
    { 13, "node Concat > y axis=0; out y", "", "it has no inputs" },
    { 9, "in x:2,4; node Slice x > y starts=1, ends=3,4 axes=1,; out y", "",
      "starts, ends, axes and steps differ in number" },
    { 9, "in x:2,4; node Slice x > y starts=1, ends=3, axes=1,; out y", "", "2x2: 1 2 5 6" },
    { 13, "in x:7; ints a:1; ints b:6; ints c:0; ints d:2; node Slice x a b c d > y; out y", "",
      "3: 1 3 5" },
    { 13, "in x:7; ints a:1; ints b:5; ints c:0; ints d:2; node Slice x a b c d > y; out y", "",
      "2: 1 3" },
    { 13, "in x:7; ints a:5; ints b:0; ints c:-1; ints d:-2; node Slice x a b c d > y; out y", "",
      "3: 5 3 1" },
    { 13, "in x:3; ints a:-1; ints b:-100; ints c:0; ints d:-1; node Slice x a b c d > y; out y",
      "", "3: 2 1 0" },
    { 13, "in x:3; ints a:100; ints b:-3; ints c:0; ints d:-1; node Slice x a b c d > y; out y",
      "", "2: 2 1" },
    { 13, "in x:3; ints a:-100; ints b:100; node Slice x a b > y; out y", "", "3: 0 1 2" },
    { 13, "in x:3; ints a:1; ints b:-1; node Slice x a b > y; out y", "", "1: 1" },
    { 13, "in x:3; ints a:1; ints b:1; node Slice x a b > y; out y", "",
      "the slice of axis 0 is empty" },
    { 13, "in x:3; ints a:1; ints b:1; ints c:0; ints d:-1; node Slice x a b c d > y; out y", "",
      "the slice of axis 0 is empty" },
    { 13, "in x:3; ints a:0; ints b:3; ints c:0; ints d:0; node Slice x a b c d > y; out y", "",
      "a step of 0 is not supported" },
    { 13, "in x:3,3; ints a:0,1; ints b:3; node Slice x a b > y; out y", "",
      "starts, ends, axes and steps differ in number" },
    { 13, "in x:3,3; ints a:0,1; ints b:3,3; ints c:1; node Slice x a b c > y; out y", "",
      "starts, ends, axes and steps differ in number" },
    { 13, "in x:3,3; ints a:0,1; ints b:3,3; ints d:1; node Slice x a b _ d > y; out y", "",
      "starts, ends, axes and steps differ in number" },
    { 13, "in x:3; ints a:0; ints b:3; ints c:1; node Slice x a b c > y; out y", "",
      "axis 1 does not exist: the tensor has 1 dimensions" },
    { 13, "in x:4; node Split x > a b; out a; out b", "", "2: 0 1; 2: 2 3" },
    { 13, "in x:1,3; ints p:1,2; node Split x p > a b axis=1; out a; out b", "",
      "1x1: 0; 1x2: 1 2" },
    { 11, "in x:3; node Split x > a b split=2,1; out a; out b", "", "2: 0 1; 1: 2" },
    { 13, "in x:5; node Split x > a b; out a; out b", "",
      "2 equal parts of 5 elements are not possible" },
    { 18, "in x:5; node Split x > a b; out a; out b", "", "3: 0 1 2; 2: 3 4" },
    { 18, "in x:7; node Split x > a b c d; out a; out d", "", "2: 0 1; 1: 6" },
    { 18, "in x:5; node Split x > a b c d; out a", "",
      "4 equal parts of 5 elements are not possible" },
    { 18, "in x:6; node Split x > a b c d; out a", "",
      "4 equal parts of 6 elements are not possible" },
    { 13, "in x:3; ints p:1,2; node Split x p > a; out a", "", "it has 2 parts, but 1 outputs" },
    { 13, "in x:3; ints p:0,3; node Split x p > a b; out b", "",
      "a part of 0 elements is not possible" },
    { 13, "in x:3; ints p:1,3; node Split x p > a b; out a", "",
      "a part of 3 elements is not possible" },
    { 11, "in x:4; ints p:2,1; node Pad x p > y mode~reflect; out y", "", "7: 2 1 0 1 2 3 2" },
    { 11, "in x:4; ints p:2,1; node Pad x p > y mode~edge; out y", "", "7: 0 0 0 1 2 3 3" },
    { 11, "in x:2,2; ints p:0,1,1,0; node Pad x p > y mode~edge; out y", "",
      "3x3: 0 0 1 2 2 3 2 2 3" },
    { 11, "in x:4; ints p:3,0; node Pad x p > y mode~reflect; out y", "", "7: 3 2 1 0 1 2 3" },
    { 11, "in x:4; ints p:4,0; node Pad x p > y mode~reflect; out y", "",
      "mirrored padding must be less than the 4 elements of dimension 0" },
    { 11, "in x:4; ints p:0,4; node Pad x p > y mode~reflect; out y", "",
      "mirrored padding must be less than the 4 elements of dimension 0" },
    { 11, "in x:4; ints p:-1,-1; node Pad x p > y; out y", "", "2: 1 2" },
    { 11, "in x:4; ints p:-3,1; node Pad x p > y; out y", "", "2: 3 0" },
    { 11, "in x:1; ints p:1,2; node Constant > v value_float=9.0; node Pad x p v > y; out y", "5",
      "4: 9 5 9 9" },
    { 10, "in x:2; node Pad x > y pads=1,0 value=5.0; out y", "", "3: 5 0 1" },
    { 1, "in x:2; node Pad x > y paddings=0,1; out y", "", "3: 0 1 0" },
    { 18, "in x:1,2; ints p:1,2; ints c:-1; node Pad x p _ c > y; out y", "", "1x5: 0 0 1 0 0" },
    { 11, "in x:4; ints p:-2,-2; node Pad x p > y; out y", "", "pads remove all of dimension 0" },
    { 11, "in x:4; ints p:-5,0; node Pad x p > y; out y", "", "pads of -5 are not possible" },
    { 11, "in x:4; ints p:0,1048577; node Pad x p > y; out y", "",
      "pads of 1048577 are not possible" },
    { 11, "in x:4,2; ints p:1,1; node Pad x p > y; out y", "",
      "pads has 2 numbers for 2 dimensions" },
    { 11, "in x:4; ints p:1,1; node Pad x p > y mode~wrap; out y", "",
      "attribute mode has the value wrap, which is not supported" },
    { 6, "in x:2; node Dropout x > y m; out y; out m", "",
      "only inference is supported, and the mask belongs to training" },
    { 6, "in x:2; node Dropout x > y m is_test=1; out y; out m", "", "2: 0 1; 2: 1 1" },
    { 13, "in x:2; node Dropout x > y m; out y; out m", "", "2: 0 1; 2: 1 1" },
};

static const struct row indices[] = {
    { 13, "in x:3,2; ints i:0,2; node Gather x i > y; out y", "", "2x2: 0 1 4 5" },
    { 13, "in x:3,2; ints i:-1,0; node Gather x i > y; out y", "", "2x2: 4 5 0 1" },
    { 13, "in x:3,2; ints i:1; node Gather x i > y axis=1; out y", "", "3x1: 1 3 5" },
    { 13, "in x:3,2; node Constant > i value_int=1; node Gather x i > y; out y:2", "", "2: 2 3" },
    { 13, "in x:3,2; in7 i:2; node Gather x i > y; out y", ";2,0", "2x2: 4 5 0 1" },
    { 13, "in x:3,2; in7 i:1,2; node Gather x i > y axis=-1; out y", ";1,0",
      "3x1x2: 1 0 3 2 5 4" },
    { 13, "in x:3,2; in7 i:; node Gather x i > y; out y:2", ";1", "2: 2 3" },
    { 13, "in x:3,2; ints i:-3; node Gather x i > y; out y", "", "1x2: 0 1" },
    { 13, "in x:3,2; ints i:-4; node Gather x i > y; out y", "",
      "index -4 is outside of the 3 elements" },
    { 13, "in x:3,2; ints i:3; node Gather x i > y; out y", "",
      "index 3 is outside of the 3 elements" },
    { 13, "in x:16777217,1; in7 i:1; node Gather x i > y; out y", "",
      "it indexes 16777217 elements, but float32 holds indices only up to 16777216" },
    { 13, "in x:2,2; in7 i:2,1; node GatherElements x i > y axis=1; out y", ";1,0", "2x1: 1 2" },
    { 13, "in x:2,2; in7 i:1,2; node GatherElements x i > y; out y", ";1,0", "1x2: 2 1" },
    { 13, "in x:2,2; in7 i:2; node GatherElements x i > y; out y", "",
      "its indices have 1 dimensions, not 2" },
    { 13, "in x:2,3; in7 i:2,2; node GatherND x i > y; out y", ";0,1,1,-1", "2: 1 5" },
    { 13, "in x:2,3; in7 i:2,1; node GatherND x i > y; out y", ";1,-2", "2x3: 3 4 5 0 1 2" },
    { 13, "in x:2,3; in7 i:2,2; node GatherND x i > y batch_dims=1; out y", "",
      "indices 2x2 into 2x3 with 1 batch dimensions are not supported" },
    { 13, "in x:2,3; in7 i:1,3; node GatherND x i > y; out y", "",
      "indices 1x3 into 2x3 with 0 batch dimensions are not supported" },
    { 13, "in7 i:2; node Constant > d value_int=3; const v:2; node OneHot i d v > y; out y",
      "1,-1", "2x3: 0 0.25 0 0 0 0.25" },
    { 13, "in7 i:2; node Constant > d value_int=3; in v:2; node OneHot i d v > y axis=0; out y",
      "1,-1;5,7", "3x2: 5 5 7 5 5 7" },
    { 13, "in7 i:2; node Constant > d value_int=0; const v:2; node OneHot i d v > y; out y", "",
      "a depth of 0 is not possible" },
    { 13, "in7 i:; node Constant > d value_int=3; const v:2; node OneHot i d v > y; out y", "",
      "its indices have 0 dimensions; 1 to 7 are possible" },
    { 13, "in7 i:2; node Constant > d value_int=3; const v:2; node OneHot i d v > y axis=2; out y",
      "", "axis 2 does not exist: the tensor has 2 dimensions" },
    { 14, "in x:2,3; node Trilu x > y; out y", "1,2,3,4,5,6", "2x3: 1 2 3 0 5 6" },
    { 14, "in x:2,3; node Trilu x > y upper=0; out y", "1,2,3,4,5,6", "2x3: 1 0 0 4 5 0" },
    { 14, "in x:2,3; node Constant > k value_int=1; node Trilu x k > y; out y", "1,2,3,4,5,6",
      "2x3: 0 2 3 0 0 6" },
    { 14, "in x:2,3; node Constant > k value_int=-1; node Trilu x k > y upper=0; out y",
      "1,2,3,4,5,6", "2x3: 0 0 0 4 0 0" },
    { 14, "in x:3; node Trilu x > y; out y", "", "a diagonal 0 of 3 does not exist" },
    { 14, "in x:2,3; node EyeLike x > y; out y", "", "2x3: 1 0 0 0 1 0" },
    { 14, "in x:2,3; node EyeLike x > y k=1; out y", "", "2x3: 0 1 0 0 0 1" },
    { 14, "in x:2,3; node EyeLike x > y k=-1; out y", "", "2x3: 0 0 0 1 0 0" },
    { 13, "in x:4; ints i:1,-4; in u:2; node ScatterElements x i u > y; out y", ";10,20",
      "4: 20 10 2 3" },
    { 13, "in x:2,3; ints i:1,2; ints s:2,1; in u:2,1; node Reshape i s > j; "
          "node ScatterElements x j u > y axis=1; out y", ";10,20", "2x3: 0 10 2 3 4 20" },
    { 13, "in x:4; ints i:4; in u:1; node ScatterElements x i u > y; out y", "",
      "an index is outside of dimension 0" },
    { 13, "in x:4; ints i:-5; in u:1; node ScatterElements x i u > y; out y", "",
      "an index is outside of dimension 0" },
    { 13, "in x:3,2; ints i:1,-1; ints s:2,1; in u:2,2; node Reshape i s > j; "
          "node ScatterND x j u > y; out y", ";10,11,20,21", "3x2: 0 1 10 11 20 21" },
    { 13, "in x:3,2; ints i:0,1,2,0; ints s:2,2; in u:2; node Reshape i s > j; "
          "node ScatterND x j u > y; out y", ";10,20", "3x2: 0 10 2 3 20 5" },
    { 13, "in x:3,2; ints i:0,2; ints s:1,2; in u:1; node Reshape i s > j; "
          "node ScatterND x j u > y; out y", "", "an index is outside of dimension 1" },
    { 13, "in x:4; in7 i:1; in u:1; node ScatterElements x i u > y; out y", "",
      "its indices i are not constant" },
    { 16, "in x:4; ints i:1; in u:1; node ScatterElements x i u > y reduction~add; out y", "",
      "reduction add is not supported" },
    { 16, "in x:4; ints i:1; in u:1; node ScatterElements x i u > y reduction~none; out y", ";9",
      "4: 0 9 2 3" },
    /* losses of the classes 0 and 1 */
    { 13, "in x:2,2; in7 t:2; node NegativeLogLikelihoodLoss x t > y; out y:", "-1,-2,-3,-4;0,1",
      "1: 2.5" },
    { 13, "in x:2,2; in7 t:2; node NegativeLogLikelihoodLoss x t > y reduction~sum; out y:",
      "-1,-2,-3,-4;0,1", "1: 5" },
    { 13, "in x:2,2; in7 t:2; node NegativeLogLikelihoodLoss x t > y reduction~none; out y:2",
      "-1,-2,-3,-4;0,1", "2: 1 4" },
    { 13, "in x:2,2; in7 t:2; in w:2; node NegativeLogLikelihoodLoss x t w > y; out y",
      "-1,-2,-3,-4;0,1;1,3", "1: 3.25" },
    { 13, "in x:2,2; in7 t:2; node NegativeLogLikelihoodLoss x t > y ignore_index=1; out y",
      "-1,-2,-3,-4;0,1", "1: 1" },
    { 13, "in x:1,2,2; in7 t:1,2; node NegativeLogLikelihoodLoss x t > y reduction~none; out y",
      "-1,-2,-3,-4;0,1", "1x2: 1 4" },
    { 13, "in x:2,2; in7 t:2; node SoftmaxCrossEntropyLoss x t > y p; out y; out p",
      "0,0,0,0;0,1", "1: 0.693147; 2x2: -0.693147 -0.693147 -0.693147 -0.693147" },
    { 13, "in x:2,2; in7 t:2,1; node NegativeLogLikelihoodLoss x t > y; out y", "",
      "its classes 2x1 do not fit 2x2" },
    { 13, "in x:2; in7 t:2; node NegativeLogLikelihoodLoss x t > y; out y", "",
      "its weights are not a vector, or it has no classes" },
};

static void parts_are_moved(void **state)
{
    (void)state;
    check(shapes, COUNT_OF(shapes));
    check(parts, COUNT_OF(parts));
    check(indices, COUNT_OF(indices));
}

/* x is 0 1 4 9. */
#define SCALED(list, attributes, want) \
    { 18, "in x:4; node Constant > s value_floats=" list "; node Resize x _ s > y " attributes \
      "; out y", "0,1,4,9", want }
#define CUT(roi, list, want) \
    { 13, "in x:4; node Constant > r value_floats=" roi "; node Constant > s value_floats=" list \
      "; node Resize x r s > y mode~linear coordinate_transformation_mode~tf_crop_and_resize" \
      "; out y", "0,1,4,9", want }
#define PLACE "coordinate_transformation_mode~"

static const struct row sizes[] = {
    SCALED("2.,", "mode~linear", "8: 0 0.25 0.75 1.75 3.25 5.25 7.75 9"),
    SCALED("2.,", "mode~linear " PLACE "align_corners",
           "8: 0 0.428571 0.857143 1.85714 3.14286 4.71429 6.85714 9"),
    SCALED("2.,", "mode~linear " PLACE "asymmetric", "8: 0 0.5 1 2.5 4 6.5 9 9"),
    SCALED("0.25,", "mode~linear", "1: 2.5"),
    SCALED("0.25,", "mode~linear " PLACE "align_corners", "1: 0"),
    SCALED("0.25,", "mode~linear " PLACE "pytorch_half_pixel", "1: 0"),
    SCALED("0.75,", "mode~linear " PLACE "pytorch_half_pixel", "3: 0.166667 2.5 8.16667"),
    SCALED("0.6,", "mode~linear " PLACE "half_pixel_symmetric", "2: 0.666667 5.66667"),
    SCALED("1.25,", "mode~linear", "5: 0 0.7 2.5 5.5 9"),
    SCALED("0.5,", "mode~linear", "2: 0.5 6.5"),
    SCALED("0.5,", "mode~linear antialias=1", "2: 0.875 6.125"),
    SCALED("2.,", "", "8: 0 0 1 1 4 4 9 9"),
    SCALED("1.5,", "", "6: 0 0 1 4 4 9"),
    SCALED("1.5,", "nearest_mode~floor", "6: 0 0 1 1 4 9"),
    SCALED("1.5,", "nearest_mode~ceil", "6: 0 1 4 4 9 9"),
    SCALED("1.5,", "nearest_mode~round_prefer_ceil", "6: 0 1 1 4 9 9"),
    SCALED("2.,", "nearest_mode~round_prefer_ceil " PLACE "asymmetric", "8: 0 1 1 4 4 9 9 9"),
    SCALED("2.,", PLACE "asymmetric", "8: 0 0 1 1 4 4 9 9"),
    SCALED("0.5,", "nearest_mode~round_prefer_ceil", "2: 1 9"),
    SCALED("0.5,", "", "2: 0 4"),
    SCALED("1.5,", "nearest_mode~floor " PLACE "tf_half_pixel_for_nn", "6: 0 1 1 4 9 9"),
    SCALED("2.,", "mode~cubic",
           "8: -0.105469 0.121094 0.457031 1.60938 2.82812 5.44922 7.97266 9.52734"),
    SCALED("2.,", "mode~cubic cubic_coeff_a=-0.5 exclude_outside=1",
           "8: -0.0882353 0.124088 0.572519 1.5625 3.0625 5.31298 8.11679 9.44118"),
    SCALED("0.5,", "mode~cubic antialias=1", "2: 0.330078 6.38867"),
    SCALED("1.,", "", "4: 0 1 4 9"),
    SCALED("1.,2.", "", "it has 2 scales for 1 axes"),
    SCALED("0.1,", "", "an axis of 4 cannot become one of 0"),
    SCALED("2.,", "axes=1,", "axis 1 does not exist: the tensor has 1 dimensions"),
    CUT("0.2,0.8", "1.5,", "6: 0.6 0.96 1.96 3.04 4.2 6"),
    CUT("0.2,0.7", "0.25,", "1: 2.05"),
    CUT("0.5,1.", "1.,", "4: 2.5 4 6.5 9"),
    CUT("-0.5,1.", "1.,", "a region beyond the tensor is not supported"),
    CUT("0.5,1.5", "1.,", "a region beyond the tensor is not supported"),
    { 13, "in x:4; ints z:8; node Resize x _ _ z > y; out y", "0,1,4,9", "8: 0 0 1 1 4 4 9 9" },
    { 18, "in x:1,2; ints z:3,4; "
          "node Resize x _ _ z > y keep_aspect_ratio_policy~not_larger; out y", "",
      "2x4: 0 0 1 1 0 0 1 1" },
    { 18, "in x:1,2; ints z:3,4; "
          "node Resize x _ _ z > y keep_aspect_ratio_policy~not_smaller; out y", "",
      "3x6: 0 0 0 1 1 1 0 0 0 1 1 1 0 0 0 1 1 1" },
    { 18, "in x:2,2; node Constant > s value_floats=2.,; node Resize x _ s > y axes=-1,; out y",
      "", "2x4: 0 0 1 1 2 2 3 3" },
    { 10, "in x:4; node Constant > s value_floats=1.5,; node Resize x s > y; out y", "0,1,4,9",
      "6: 0 0 1 4 4 9" },
    { 7, "in x:1,4; node Upsample x > y scales=1.,2.; out y", "0,1,4,9",
      "1x8: 0 0 1 1 4 4 9 9" },
};

static void axes_get_other_sizes(void **state)
{
    (void)state;
    check(sizes, COUNT_OF(sizes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_moved),
        cmocka_unit_test(axes_get_other_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
