/* What the nodes of ONNX models compute: numbers that follow from the definitions of the operators,
 * and the reasons why nodes are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/file.h"
#include "tests/unit/onnx_case.h"
#include "tests/unit/onnx_rows.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* Functions of one number. node: operator and attributes. */
static const struct { const char *node; double x, want; } functions[] = {
    { "Relu", -1, 0 }, { "Relu", 3, 3 }, { "Sigmoid", 0.7, 0.6681877721681662 },
    { "Tanh", 0.7, 0.6043677771171636 }, { "Exp", 0.7, 2.0137527074704766 },
    { "Log", 0.7, -0.35667494393873245 }, { "Sqrt", 2.25, 1.5 },
    { "Erf", 0.7, 0.6778011938374184 }, { "Neg", 0.7, -0.7 }, { "Abs", -0.7, 0.7 },
    { "Reciprocal", 4, 0.25 }, { "Softplus", 0.7, 1.103186048885458 },
    { "HardSwish", 0.7, 0.43166666666666664 }, { "Floor", -1.5, -2 },
    { "Sin", 0.7, 0.644217687237691 }, { "Cos", 0.7, 0.7648421872844885 },
    { "Atan", 0.7, 0.6107259643892086 },
    { "LeakyRelu", -2, -0.02 }, { "LeakyRelu alpha=0.5", -2, -1 }, { "LeakyRelu", 3, 3 },
    { "HardSigmoid", 1, 0.7 }, { "HardSigmoid", -3, 0 }, { "HardSigmoid", 4, 1 },
    { "HardSigmoid alpha=0.5 beta=0.25", 1, 0.75 },
    { "Elu", -1, -0.6321205588285577 }, { "Elu alpha=2.0", -1, -1.2642411176571153 },
    { "Selu", 1, 1.05070102214813232 }, { "Selu", -1, -1.1113307412864784 },
    { "Selu alpha=2.0 gamma=3.0", -1, -3.792723352971346 },
    { "Celu", -1, -0.6321205588285577 }, { "Celu alpha=2.0", -1, -0.7869386805747332 },
    { "Celu alpha=2.0", 3, 3 }, { "Softsign", -3, -0.75 },
    { "Clip min=-0.5 max=1.5", -2, -0.5 }, { "Clip min=-0.5 max=1.5", 0.25, 0.25 },
    { "Clip min=-0.5 max=1.5", 2, 1.5 }, { "Clip max=1.5", -2, -2 }, { "Clip min=-0.5", 9, 9 },
    { "Clip", -1e30, -1e30 },
    { "Not", 1, 0 }, { "Not", 0, 1 }, { "IsNaN", NAN, 1 }, { "IsNaN", 1, 0 },
    { "IsInf", INFINITY, 1 }, { "IsInf", -INFINITY, 1 }, { "IsInf", 1, 0 },
    { "IsInf detect_negative=0", INFINITY, 1 }, { "IsInf detect_negative=0", -INFINITY, 0 },
    { "IsInf detect_positive=0", INFINITY, 0 }, { "IsInf detect_positive=0", -INFINITY, 1 },
    { "IsInf detect_negative=0 detect_positive=0", INFINITY, 0 },
    { "Ceil", -1.5, -1 }, { "Ceil", 1.25, 2 }, { "Sign", -2, -1 }, { "Sign", 0, 0 },
    { "Sign", 3, 1 }, { "Tan", 0.7, 0.8422883804630794 }, { "Sinh", 0.7, 0.7585837018395334 },
    { "Cosh", 0.7, 1.255169005630943 }, { "Asinh", 0.7, 0.6526665660823557 },
    { "Acosh", 1.7, 1.123230982587296 }, { "Atanh", 0.7, 0.8673005276940531 },
    { "Asin", 0.7, 0.775397496610753 }, { "Acos", 0.7, 0.7953988301841436 },
    { "Shrink", 0.5, 0 }, { "Shrink", -0.5, 0 }, { "Shrink", 0.75, 0.75 },
    { "Shrink lambd=1.0 bias=0.25", 2, 1.75 }, { "Shrink lambd=1.0 bias=0.25", -2, -1.75 },
    { "Shrink lambd=1.0 bias=0.25", 0.75, 0 },
    { "ThresholdedRelu", 1, 0 }, { "ThresholdedRelu", 1.5, 1.5 },
    { "ThresholdedRelu alpha=0.5", 0.75, 0.75 }, { "ThresholdedRelu alpha=0.5", 0.5, 0 },
    { "Gelu", 0.7, 0.5306254434438489 }, { "Gelu approximate~tanh", 0.7, 0.5305701347051167 },
    { "Mish", 0.7, 0.5611483776438518 },
    { "Cast to=7", -1.75, -1 }, { "Cast to=7", 1.75, 1 }, { "Cast to=9", -0.5, 1 },
    { "Cast to=9", 0, 0 }, { "Cast to=10", 1.75, 1.75 }, { "Cast to=11", 1.75, 1.75 },
};

static void functions_of_one_number(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(functions); i++) {
        struct arena *a = arena_new();
        const char *op = functions[i].node, *rest = strchr(op, ' ');
        int n = rest ? (int)(rest - op) : (int)strlen(op);
        const char *text = arena_printf(a, "in x:1; node %.*s x > y%s; out y", n, op,
                                        rest ? rest : "");
        const char *got = onnx_outputs(a, streq(op, "Clip") || rest ? 10 : 13, text,
                                       arena_printf(a, "%.17g", functions[i].x));
        double want = functions[i].want, y = str_starts(got, "1: ") ? strtod(got + 3, NULL) : NAN;
        if (!(fabs(y - want) <= 1e-5 * fmax(1, fabs(want))))
            fail_msg("%s of %g is %s, expected %.9g", op, functions[i].x, got, want);
        arena_free(a);
    }
}

static const struct onnx_row of_two[] = {
    { 6, "in x:2,3; in z:2; node Add x z > y broadcast=1 axis=0; out y", "0,0,0,0,0,0;1,2",
      "2x3: 1 1 1 2 2 2" },
    { 6, "in x:2,3; in z:3; node Add x z > y broadcast=1 axis=1; out y", "0,0,0,0,0,0;1,2,3",
      "2x3: 1 2 3 1 2 3" },
    { 6, "in x:2,3; in z:3; node Add x z > y axis=0; out y", "0,0,0,0,0,0;1,2,3",
      "2x3: 1 2 3 1 2 3" },
    { 6, "in x:2,3; in z:3; node Add x z > y broadcast=1 axis=2; out y", "",
      "axis 2 does not exist in 2x3" },
    { 7, "in x:2,3; in z:3; node Add x z > y broadcast=1 axis=0; out y", "0,0,0,0,0,0;1,2,3",
      "2x3: 1 2 3 1 2 3" },
    { 13, "in7 x:4; in7 z:1; node Div x z > y; out y", "-7,7,6,-6;2", "4: -3 3 3 -3" },
    { 13, "in x:2; in z:1; node Div x z > y; out y", "-7,6;2", "2: -3.5 3" },
    { 13, "in x:2; in z:2; node Sub x z > y; out y", "5,6;1,4", "2: 4 2" },
    { 13, "in x:2; node Sum x > y; out y", "", "2: 0 1" },
    { 13, "in x:2; in z:2; node Max x z > y; out y", "0,5;2,3", "2: 2 5" },
    { 13, "in x:2; in z:2; node Mean x z > y; out y", "0,1;2,5", "2: 1 3" },
    { 13, "in x:2; in z:2; in w:2; node Add x z w > y; out y", "", "it does not have two inputs" },
    { 13, "in x:2; node Div x > y; out y", "", "it does not have two inputs" },
    { 13, "in x:; node Constant > c value_float=2.0; node Mul x c > y; out y:", "3", "1: 6" },
    { 13, "in x:1; node Constant > c value_float=2.0; node Mul x c > y; out y:1", "3", "1: 6" },
    { 13, "in7 x:3; in7 z:1; node Mod x z > y; out y", "-7,7,-6;3", "3: 2 1 0" },
    { 13, "in7 x:3; in7 z:1; node Mod x z > y fmod=1; out y", "-7,7,-6;3", "3: -1 1 0" },
    { 13, "in12 x:2; in12 z:1; node BitShift x z > y direction~LEFT; out y", "3,5;2", "2: 12 20" },
    { 13, "in12 x:2; in12 z:1; node BitShift x z > y direction~RIGHT; out y", "13,7;2", "2: 3 1" },
    { 13, "in x:3; in z:3; node Equal x z > y; out y", "1,2,3;2,2,2", "3: 0 1 0" },
    { 13, "in x:3; in z:3; node Less x z > y; out y", "1,2,3;2,2,2", "3: 1 0 0" },
    { 13, "in x:3; in z:3; node Greater x z > y; out y", "1,2,3;2,2,2", "3: 0 0 1" },
    { 13, "in x:3; in z:3; node LessOrEqual x z > y; out y", "1,2,3;2,2,2", "3: 1 1 0" },
    { 13, "in x:3; in z:3; node GreaterOrEqual x z > y; out y", "1,2,3;2,2,2", "3: 0 1 1" },
    { 13, "in9 x:4; in9 z:4; node And x z > y; out y", "0,0,1,1;0,1,0,1", "4: 0 0 0 1" },
    { 13, "in9 x:4; in9 z:4; node Or x z > y; out y", "0,0,1,1;0,1,0,1", "4: 0 1 1 1" },
    { 13, "in9 x:4; in9 z:4; node Xor x z > y; out y", "0,0,1,1;0,1,0,1", "4: 0 1 1 0" },
    { 13, "in9 c:2; in x:2; in z:2; node Where c x z > y; out y", "1,0;5,6;7,8", "2: 5 8" },
    { 13, "in7 x:2; node Cast x > y to=9; out y", "5,0", "2: 1 0" },
    { 13, "in x:2; node Cast x > y to=8; out y", "", "rounding to string is not supported" },
    { 13, "in x:2; node Cast x > y; out y", "", "rounding to undefined is not supported" },
    { 15, "in x:2; in7 z:1; node CastLike x z > y; out y", "1.75,-1.75;0", "2: 1 -1" },
    /* bounds as constants and as tensors */
    { 13, "in x:4; node Constant > l value_float=-0.5; node Constant > h value_float=1.0; "
          "node Clip x l h > y; out y", "-2,-0.25,0.5,3", "4: -0.5 -0.25 0.5 1" },
    { 13, "in x:3; in l:1; in h:1; node Clip x l h > y; out y", "-2,0.5,3;-1;2", "3: -1 0.5 2" },
    { 13, "in x:3; in h:1; node Constant > l value_float=-0.5; node Clip x l h > y; out y",
      "-2,0.5,3;2", "3: -0.5 0.5 2" },
    { 13, "in x:3; in h:1; node Clip x _ h > y; out y", "-2,0.5,3;2", "3: -2 0.5 2" },
    { 13, "in x:2,2; in s:2; node PRelu x s > y; out y", "-1,-2,3,-4;0.5,0.25",
      "2x2: -0.5 -0.5 3 -1" },
    { 6, "in x:1,2,2; in s:2; node PRelu x s > y; out y", "-1,-2,-3,4;0.5,2",
      "1x2x2: -0.5 -1 -6 4" },
    { 13, "in x:1; node Celu x > y alpha=0.0; out y", "",
      "attribute alpha is 0, which is not supported" },
    /* powers: products, a square root, and what is left */
    { 13, "in x:3; node Constant > c value_float=3.0; node Pow x c > y; out y", "-2,0.5,2",
      "3: -8 0.125 8" },
    { 13, "in x:3; node Constant > c value_float=0.5; node Pow x c > y; out y", "4,9,2.25",
      "3: 2 3 1.5" },
    { 13, "in x:2; node Constant > c value_float=1.0; node Pow x c > y; out y", "-3,4", "2: -3 4" },
    { 13, "in x:2; node Constant > c value_float=16.0; node Pow x c > y; out y", "2,-2",
      "2: 65536 65536" },
    { 13, "in x:2; node Constant > c value_float=17.0; node Pow x c > y; out y", "2,-2",
      "2: 131072 -131072" },
    { 13, "in x:2; node Constant > c value_float=-1.0; node Pow x c > y; out y", "-2,4",
      "2: -0.5 0.25" },
    { 13, "in x:2; node Constant > c value_float=2.5; node Pow x c > y; out y", "4,-4",
      "2: 32 nan" },
    { 13, "in x:6; in z:6; node Pow x z > y; out y", "2,-2,-2,0,4,-8;3,2,0.5,0,1.5,3",
      "6: 8 4 nan 1 8 -512" },
};

static const struct onnx_row products[] = {
    { 13, "in x:3; in z:3,2; node MatMul x z > y; out y:2", "", "2: 10 13" },
    { 13, "in x:2,3; in z:3; node MatMul x z > y; out y:2", "", "2: 5 14" },
    { 13, "in x:3; in z:3; node MatMul x z > y; out y:", "", "1: 5" },
    { 13, "in x:2,1,1,2; in z:3,2,1; node MatMul x z > y; out y:2,3,1,1", "",
      "2x3x1x1: 1 3 5 3 13 23" },
    { 13, "in x:2,3; in z:4,2; node MatMul x z > y; out y", "", "2x3 cannot be multiplied by 4x2" },
    { 13, "in x:3; in z:4; node MatMul x z > y; out y", "", "1x3 cannot be multiplied by 4x1" },
    /* x' z' / 2 + 2 w: x' = 0 2 4 | 1 3 5, z' = 0 3 | 1 4 | 2 5 */
    { 13, "in x:3,2; in z:2,3; in w:2; node Gemm x z w > y transA=1 transB=1 alpha=0.5 beta=2.0; "
          "out y", "", "2x2: 5 16 6.5 22" },
    { 13, "in x:1,2; in z:2,1; in w:1; node Gemm x z w > y; out y", ";;5", "1x1: 6" },
    { 13, "in x:3,2; in z:2,3; node Gemm x z > y transA=1; out y", "",
      "3x2 and 2x3 cannot be multiplied" },
    { 13, "in x:3; in z:3,2; node Gemm x z > y; out y", "", "3 and 3x2 cannot be multiplied" },
    { 13, "in x:2,2; in z:2,2; node Einsum x z > y equation~ij,jk->ik; out y", "",
      "2x2: 2 3 6 11" },
    { 13, "in x:2,2; in z:2,2; node Einsum x z > y equation~ij,jk; out y", "", "2x2: 2 3 6 11" },
    { 13, "in x:1,2,2; in z:1,2,2; node Einsum x z > y equation~bij,bjk->bki; out y", "",
      "1x2x2: 2 6 3 11" },
    { 13, "in x:1,2; in z:2,2; node Einsum x z > y equation~ij,kj->ikj; out y", "",
      "1x2x2: 0 1 0 3" },
    { 13, "in x:2,2; in z:2; node Einsum x z > y equation~ij,k->i; out y", "", "2: 1 5" },
    { 13, "in x:3; in z:3; node Einsum x z > y equation~i,i->; out y:", "", "1: 5" },
    { 13, "in x:2,3; node Einsum x > y equation~ba; out y", "", "3x2: 0 3 1 4 2 5" },
    { 13, "in x:2,3; node Einsum x > y equation~aB; out y", "", "3x2: 0 3 1 4 2 5" },
    { 13, "in x:2,3; node Einsum x > y equation~ij->i; out y", "", "2: 3 12" },
    { 13, "in x:2,3; node Einsum x > y equation~ij->; out y:", "", "1: 15" },
    { 13, "in x:2,3; node Einsum x > y equation~ij->ij; out y", "", "2x3: 0 1 2 3 4 5" },
    { 13, "in x:2; node Einsum x > y equation~i,i->i; out y", "",
      "attribute equation has more than 1 terms for 1 inputs" },
    { 13, "in x:2; in z:2; node Einsum x z > y equation~i->i; out y", "",
      "attribute equation has 1 terms for 2 inputs" },
    { 13, "in x:2; in z:2; in w:2; node Einsum x z w > y equation~i,i,i->i; out y", "",
      "an equation of 3 tensors is not supported; use one or two" },
    { 13, "in x:2; node Einsum x > y equation~i->k; out y", "", "letter k is in no input" },
    { 13, "in x:2,3; node Einsum x > y equation~i->i; out y", "",
      "input 0 has 2 dimensions, but its term has 1 letters" },
    { 13, "in x:2; in z:2; node Einsum x z > y equation~i,ij->i; out y", "",
      "input 1 has 1 dimensions, but its term has 2 letters" },
};

static const struct onnx_row norms[] = {
    { 13, "in x:1,2,2; in s:2; in b:2; in m:2; in v:2; "
          "node BatchNormalization x s b m v > y epsilon=0.5; out y",
      "1,2,3,4;2,3;10,20;1,2;0.5,3.5", "1x2x2: 10 12 21.5 23" },
    /* x 0.001 / sqrt(1e-5) */
    { 13, "in x:1,2,1; in s:2; in b:2; in m:2; in v:2; node BatchNormalization x s b m v > y; "
          "out y", "1,4;0.001,0.001;0,0;0,0;0,0", "1x2x1: 0.316228 1.26491" },
    { 13, "in x:1,2; in s:2; node BatchNormalization x s s s s > y training_mode=1; out y", "",
      "only inference with one mean per channel is supported" },
    { 6, "in x:1,2; in s:2; node BatchNormalization x s s s s > y spatial=0; out y", "",
      "only inference with one mean per channel is supported" },
    { 13, "in x:1,2; in s:2; node BatchNormalization x s s s s > y a; out y", "",
      "only inference is supported, and output a belongs to training" },
    { 13, "in x:1,2; in s:2; node BatchNormalization x s s s > y; out y", "",
      "input 4 is missing" },
    { 17, "in x:2,2; in s:2; in b:2; node LayerNormalization x s b > y m v axis=1 epsilon=0.75; "
          "out y; out m; out v", ";2,3;10,20", "2x2: 9 21.5 9 21.5; 2x1: 0.5 2.5; 2x1: 1 1" },
    { 17, "in x:2,2; node LayerNormalization x > y m axis=0 epsilon=0.75; out y; out m", "",
      "2x2: -1.06066 -0.353553 0.353553 1.06066; 1x1: 1.5" },
    { 17, "in x:2,2; node LayerNormalization x > y _ v axis=1 epsilon=3.75; out v", "",
      "2x1: 0.5 0.5" },
    /* 0.001 / sqrt(1e-6 + 1e-5) */
    { 17, "in x:1,2; node LayerNormalization x > y; out y", "0,0.002", "1x2: -0.301511 0.301511" },
    { 17, "in x:1,2; node LayerNormalization x > y _ v; out y", "0,0.002",
      "1x2: -0.301511 0.301511" },
    { 17, "in x:2,2; node LayerNormalization x > y axis=2; out y", "",
      "axis 2 does not exist: the tensor has 2 dimensions" },
    { 13, "in x:1,2,2; in s:2; in b:2; node InstanceNormalization x s b > y epsilon=0.75; out y",
      ";2,4;10,20", "1x2x2: 9 11 18 22" },
    { 13, "in x:1,1,2; in s:1; in b:1; node InstanceNormalization x s b > y; out y", "0,0.002;1;0",
      "1x1x2: -0.301511 0.301511" },
    { 13, "in x:1,2; in s:2; in b:2; node InstanceNormalization x s b > y; out y", "",
      "its input has fewer than 3 dimensions" },
    { 18, "in x:1,4,1; in s:2; in b:2; "
          "node GroupNormalization x s b > y num_groups=2 epsilon=0.75; out y", ";2,4;10,20",
      "1x4x1: 9 11 18 22" },
    { 18, "in x:1,4,1; in s:4; in b:4; "
          "node GroupNormalization x s b > y num_groups=2 epsilon=0.75; out y",
      ";1,2,3,4;0,0,0,100", "1x4x1: -0.5 1 -1.5 102" },
    { 18, "in x:1,4,1; in s:4; in b:4; node GroupNormalization x s b > y num_groups=3; out y", "",
      "3 groups of 1x4x1 are not possible" },
    { 18, "in x:1,4,1; in s:4; in b:4; node GroupNormalization x s b > y; out y", "",
      "0 groups of 1x4x1 are not possible" },
    { 18, "in x:1,4; in s:4; in b:4; node GroupNormalization x s b > y num_groups=2; out y", "",
      "2 groups of 1x4 are not possible" },
    { 13, "in x:1,2; node MeanVarianceNormalization x > y axes=1,; out y", "1,3", "1x2: -1 1" },
    { 13, "in x:1,2,1,2; node MeanVarianceNormalization x > y; out y", "1,3,10,14",
      "1x2x1x2: -1 1 -1 1" },
    { 13, "in x:1,2; node MeanVarianceNormalization x > y axes=1,; out y", "5,5", "1x2: 0 0" },
    { 13, "in x:1,2,3; node MeanVarianceNormalization x > y; out y", "",
      "axis 3 does not exist: the tensor has 3 dimensions" },
    { 12, "in x:1,2,2; node Softmax x > y; out y", "0,0,0,0", "1x2x2: 0.25 0.25 0.25 0.25" },
    { 12, "in x:1,2,2; node Softmax x > y axis=2; out y", "0,0,0,0", "1x2x2: 0.5 0.5 0.5 0.5" },
    { 13, "in x:1,2,2; node Softmax x > y; out y", "0,0,0,0", "1x2x2: 0.5 0.5 0.5 0.5" },
    { 12, "in x:1,1,4; node LogSoftmax x > y; out y", "0,0,0,0",
      "1x1x4: -1.38629 -1.38629 -1.38629 -1.38629" },
    /* x / (1 + alpha / size (sum of squares of the neighbours)) ^ beta */
    { 13, "in x:1,3,1; node LRN x > y size=3 alpha=3.0 beta=1.0; out y", "1,2,3",
      "1x3x1: 0.166667 0.133333 0.214286" },
    { 13, "in x:1,3,1; node LRN x > y size=2 alpha=2.0 beta=1.0; out y", "1,2,3",
      "1x3x1: 0.166667 0.142857 0.3" },
    { 13, "in x:1,1,1; node LRN x > y size=1 bias=2.0 alpha=1.0 beta=2.0; out y", "2",
      "1x1x1: 0.0555556" },
    { 13, "in x:1,1,1; node LRN x > y size=1; out y", "100", "1x1x1: 59.4604" },
    { 13, "in x:1,1,1; node LRN x > y; out y", "",
      "attribute size has the value 0, which is not possible" },
    { 13, "in x:1,2; node LRN x > y size=1; out y", "",
      "attribute size has the value 1, which is not possible" },
};

static const struct onnx_row reductions[] = {
    { 13, "in x:2,2; node ReduceL1 x > y axes=1,; out y", "1,-2,3,4", "2x1: 3 7" },
    { 13, "in x:2,2; node ReduceL2 x > y axes=1,; out y", "3,4,-6,8", "2x1: 5 10" },
    { 13, "in x:2,2; node ReduceSumSquare x > y axes=0, keepdims=0; out y", "3,4,-6,8",
      "2: 45 80" },
    { 13, "in x:2,2; node ReduceLogSum x > y axes=1,; out y", "1,3,2,6", "2x1: 1.38629 2.07944" },
    { 13, "in x:2,2; node ReduceLogSumExp x > y axes=-1,; out y", "0,0,1,1",
      "2x1: 0.693147 1.69315" },
    { 13, "in x:2,2; node ReduceMean x > y; out y", "", "1x1: 1.5" },
    { 13, "in x:2,2; node ReduceMean x > y keepdims=0; out y:", "", "1: 1.5" },
    { 13, "in x:2,2; node ReduceMin x > y axes=-2,; out y", "", "1x2: 0 1" },
    { 13, "in x:2,2; ints k:1,; node ReduceSum x k > y; out y", "", "2x1: 1 5" },
    { 13, "in x:2,2; node ReduceSum x > y noop_with_empty_axes=1; out y", "", "2x2: 0 1 2 3" },
    { 13, "in x:2,2; node ReduceMax x > y axes=2,; out y", "",
      "axis 2 does not exist: the tensor has 2 dimensions" },
    { 13, "in x:2,2; node ReduceMax x > y axes=-3,; out y", "",
      "axis -3 does not exist: the tensor has 2 dimensions" },
    { 13, "in x:2,2; node ReduceMax x > y axes=1; out y", "",
      "attribute axes: expected at most 16 integers" },
    { 13, "in x:2,2; node ReduceProd x > y axes=1,; out y", "1,-2,3,4", "2x1: -2 12" },
    { 13, "in x:2,2; node ReduceProd x > y axes=0, keepdims=0; out y", "1,-2,3,4", "2: 3 -8" },
    { 13, "in x:64; node ReduceProd x > y; out y", "", "1: 0" },
    { 13, "in x:65; node ReduceProd x > y; out y", "",
      "a product of 65 factors is not supported" },
    { 13, "in x:3; node ArgMax x > y; out y", "1,5,2", "1: 1" },
    { 13, "in x:3; node ArgMax x > y keepdims=0; out y:", "1,5,2", "1: 1" },
    { 13, "in x:1,4; node ArgMax x > y axis=1; out y:1,1", "1,3,3,2", "1x1: 1" },
    { 13, "in x:1,4; node ArgMax x > y axis=-1 select_last_index=1 keepdims=0; out y:1",
      "1,3,3,2", "1: 2" },
    { 13, "in x:4; node ArgMin x > y; out y", "4,1,1,7", "1: 1" },
    { 13, "in x:4; node ArgMin x > y select_last_index=1; out y", "4,1,1,7", "1: 2" },
    { 13, "in x:2,2; node Hardmax x > y; out y", "3,1,2,2", "2x2: 1 0 1 0" },
    { 13, "in x:2,2; node Hardmax x > y axis=0; out y", "1,5,2,4", "2x2: 0 1 1 0" },
    { 11, "in x:1,2,2; node Hardmax x > y; out y", "1,4,2,4", "1x2x2: 0 1 0 0" },
    { 13, "in x:4; node Constant > k value_int=0; node CumSum x k > y; out y", "1,2,3,4",
      "4: 1 3 6 10" },
    { 13, "in x:4; node Constant > k value_int=0; node CumSum x k > y exclusive=1; out y",
      "1,2,3,4", "4: 0 1 3 6" },
    { 13, "in x:4; node Constant > k value_int=-1; node CumSum x k > y reverse=1; out y",
      "1,2,3,4", "4: 10 9 7 4" },
    { 13, "in x:4; node Constant > k value_int=0; node CumSum x k > y exclusive=1 reverse=1; "
          "out y", "1,2,3,4", "4: 9 7 4 0" },
    { 13, "in x:2,2; node Constant > k value_int=0; node CumSum x k > y; out y", "1,2,3,4",
      "2x2: 1 2 4 6" },
    { 13, "in x:1,1,4; node GlobalAveragePool x > y; out y", "", "1x1x1: 1.5" },
    { 13, "in x:1,1,4; node GlobalMaxPool x > y; out y", "", "1x1x1: 3" },
    { 13, "in x:1,4; node GlobalMaxPool x > y; out y", "", "its input has no spatial axes" },
};

static void nodes_compute_what_onnx_says(void **state)
{
    (void)state;
    onnx_check(of_two, COUNT_OF(of_two));
    onnx_check(products, COUNT_OF(products));
    onnx_check(norms, COUNT_OF(norms));
    onnx_check(reductions, COUNT_OF(reductions));
}

/* The models and data of ONNX itself, where they are installed. */
static void more_cases_that_come_with_onnx(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "argmax_negative_axis_keepdims_random_select_last_index", "averagepool_2d_pads",
        "averagepool_2d_pads_count_include_pad", "averagepool_2d_same_lower", "batchnorm_epsilon",
        "concat_3d_axis_negative_2", "conv_with_strides_and_asymmetric_padding",
        "convtranspose_1d", "convtranspose_dilations",
        "depthtospace_crd_mode_example", "gather_elements_1",
        "gathernd_example_float32", "gemm_default_vector_bias", "hardmax_axis_1",
        "instancenorm_epsilon", "layer_normalization_4d_axis2", "logsoftmax_axis_1", "lrn",
        "maxpool_2d_dilations", "maxpool_2d_same_lower", "nllloss_NCd1_ii",
        "nllloss_NCd1d2_with_weight_reduction_mean", "pow_bcast_array",
        "prelu_broadcast",
        "resize_downsample_scales_cubic", "resize_upsample_scales_linear_align_corners",
        "resize_upsample_sizes_nearest_ceil_half_pixel", "sce_mean_weight_ii",
        "slice_negative_axes", "spacetodepth", "split_variable_parts_2d", "sum_example",
        "transpose_all_permutations_4", "where_example",
    };
    if (!file_exists(ONNX_DATA))
        skip();
    for (int i = 0; i < COUNT_OF(cases); i++) {
        char path[256];
        struct onnx_case c = { .seed = 3, .most_work = 1e6 };
        snprintf(path, sizeof path, "%s/node/test_%s", ONNX_DATA, cases[i]);
        if (onnx_case_run(path, &c) != ONNX_PASSED)
            fail_msg("%s: %s", cases[i], str_text(&c.why));
        str_free(&c.why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_one_number),
        cmocka_unit_test(nodes_compute_what_onnx_says),
        cmocka_unit_test(more_cases_that_come_with_onnx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
