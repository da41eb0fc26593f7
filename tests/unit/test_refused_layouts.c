/* Refused layout steps, settings and algorithms, and loop steps that program_loop.c refuses: the
 * whole message, its fix, and the words of the line that it marks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/unit/programs.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* steps: separated by ';', the last one is refused. text: NULL where it is accepted. marked: what
 * the message marks in the last step. */
struct row { const char *spec, *steps, *text, *fix, *marked; };

#define GEMM  "gmm m=8 k=8 n=8"
#define CONV  "c2d n=1 i=4 h=10 w=10 o=8 k=3 bias=1 relu=1"
#define BIAS  "gmm m=4 k=4 n=4 bias=1"
#define RELU  "x = input m=4 k=4; a = relu(x); b = gmm(a) n=4"
#define ADDS  "x = input m=4 k=4; w = const k=4 n=4; b = const n=4; c = const n=4; " \
              "y = gmm(x, w) n=4; z = add(y, b); t = add(z, c)"

#define ONES22 "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
#define PAD4   "layout pad C M after=1;layout unpad C M after=1;" \
               "layout pad C M after=1;layout unpad C M after=1;"
#define PAD16  PAD4 PAD4 PAD4 PAD4
#define RANK8  "x = input a=1 b=1 c=1 d=1 e=1 f=1 m=2 k=4; " \
               "y = input a=1 b=1 c=1 d=1 e=1 f=1 k=4 n=2; z = matmul(x, y)"

static const struct row settings[] = {
    { GEMM, "set propagate maybe", "the setting propagate takes one of off, on", "", "maybe" },
    { GEMM, "set autovectorize 1", "the setting autovectorize takes one of off, on", "", "1" },
    { GEMM, "set output_layout x", "the setting output_layout takes one of propagated, original",
      "original: in the caller's order; propagated: as the steps lay it out", "x" },
    { GEMM, "set input_layout x", "the setting input_layout takes one of original, given",
      "original: in the caller's order; given: as the steps lay it out", "x" },
    { GEMM, "set variant x", "the setting variant takes one of alt, wp, ol, fp, bp", "", "x" },
    { GEMM, "set multiply f16", "the setting multiply takes one of f32, tf32", "", "f16" },
    { GEMM, "set accuracy 1.01", "the accuracy is a relative error between 0 and 1",
      "for example: set accuracy 1e-6. With 0, every convolution is computed directly", "1.01" },
    { GEMM, "set accuracy -0.01", "the accuracy is a relative error between 0 and 1",
      "for example: set accuracy 1e-6. With 0, every convolution is computed directly", "-0.01" },
    { GEMM, "set accuracy high", "the accuracy is a relative error between 0 and 1",
      "for example: set accuracy 1e-6. With 0, every convolution is computed directly", "high" },
    { GEMM, "set accuracy 0;set accuracy 1", NULL, NULL, NULL },
    { GEMM, "set variants alt", "there is no setting variants", "did you mean variant?",
      "variants" },
    { GEMM, "set speed 1", "there is no setting speed",
      "the settings are propagate, output_layout, input_layout, autovectorize, variant, multiply "
      "and accuracy", "speed" },
    { GEMM, "set C MN", "there is no setting C", "a layout is set by: layout set C \"MN\"", "C" },
    { GEMM, "set C M N", "one word too many: \"N\"",
      "there is no setting C; a layout is set by: layout set C \"M N\"", "N" },
    { GEMM, "set threads 4", "there is no setting threads",
      "the number of threads belongs to a measurement: `:threads 4` on the screen, or run "
      "--threads 4", "threads" },
};

/* Products in tf32 are off by 2^-10 at most (two factors, 2^-11 each). */
#define THREES "c2d n=1 i=4 h=8 w=8 o=4 k=3 bias=1"
static const struct row algorithms[] = {
    { GEMM, "set multiply tf32;set accuracy 1e-4",
      "products in tf32 have a relative error of about 1e-03, more than the accuracy of 0.0001 "
      "that was set", "set multiply f32, or set accuracy 1e-03", "1e-4" },
    { GEMM, "set accuracy 1e-4;set multiply tf32",
      "products in tf32 have a relative error of about 1e-03, more than the accuracy of 0.0001 "
      "that was set", "set multiply f32, or set accuracy 1e-03", "tf32" },
    { GEMM, "set multiply tf32;set accuracy 0.0009765625", NULL, NULL, NULL },
    { THREES, "algorithm Conv winograd m=4;set accuracy 1e-6",
      "winograd with m=4 has a relative error of about 6e-06, more than the accuracy of 1e-06 that"
      " was set", "use m=2, or apply: set accuracy 6e-06", "1e-6" },
    { THREES, "set accuracy 2e-7;algorithm Conv winograd m=4",
      "winograd with m=4 has a relative error of about 6e-06, more than the accuracy of 2e-07 that"
      " was set", "use m=2, or apply: set accuracy 6e-06", "Conv" },
    { THREES, "algorithm Conv winograd m=2;set accuracy 1e-7",
      "winograd with m=2 has a relative error of about 2e-07, more than the accuracy of 1e-07 that"
      " was set", "compute Conv directly, or apply: set accuracy 2e-07", "1e-7" },
    { THREES, "algorithm Conv winograd m=2;set accuracy 2e-7", NULL, NULL, NULL },
    { THREES, "algorithm Conv winograd m=4;set accuracy 6e-6", NULL, NULL, NULL },
    { THREES, "layout reorder Ker I O KH KW;algorithm Conv winograd m=2",
      "Ker already has a layout, and winograd replaces it by transformed weights",
      "apply the algorithm before the layouts: undo, or layout reset Ker", "Conv" },
    { THREES, "layout split Bias O 2;algorithm Conv winograd m=2", NULL, NULL, NULL },
    { THREES, "layout reorder Inp N H W I;algorithm Conv winograd m=2", NULL, NULL, NULL },
    { THREES, "loop rfactor Conv I 2;algorithm Conv winograd m=2",
      "a reduction of Conv is factored already", "undo to before the rfactor, then apply this",
      "Conv" },
    { THREES, "algorithm Q winograd m=2", "no node computes a tensor Q",
      "name the result of a convolution: Conv", "Q" },
    { THREES, "algorithm Conv fft m=2", "there is no algorithm fft",
      "the algorithms are: winograd", "fft" },
};

#define PACKED "only constants can share a buffer, because they are packed before the kernel runs"
static const struct row constants[] = {
    { BIAS, "layout store_at Q B K", "there is no tensor Q", "", "Q" },
    { BIAS, "layout store_at A B K", "A is not a constant", PACKED, "A" },
    { BIAS, "layout store_at Bias A K", "A is not a constant", PACKED, "A" },
    { BIAS, "layout store_at B B K", "B cannot be stored inside itself",
      "store it in the buffer of another constant", "B" },
    { BIAS, "layout split Bias N 2;layout store_at Bias B K", "Bias has a layout of its own",
      "layout reset Bias", "Bias" },
    { ADDS, "layout store_at b w K;layout store_at c b N",
      "c: b is itself stored inside another tensor", "layout decouple_at b", "c" },
    { BIAS, "layout store_at Bias B K;layout store_at Bias B K",
      "Bias is already stored inside B", "first: layout decouple_at Bias", "Bias" },
    { BIAS, "layout store_at Bias B Q", "B has no dimension Q", "", "Q" },
    { BIAS, "layout decouple_at Bias", "Bias is not stored inside another tensor", "", "Bias" },
    { BIAS, "layout store_at Bias B K;layout split B K 5 1;layout decouple_at Bias",
      "without Bias, the layout of B would not apply: primitive 1 (split K): 5 x 1 is not 4, the"
      " extent of the dimension",
      "undo, or layout reset B", "Bias" },
    { BIAS, "set variant ol;layout store_at Bias B K",
      "variant ol fixes every layout, so this step cannot change any",
      "apply `set variant alt` first", "Bias" },
    { BIAS, "layout store_at Bias B K;layout unfold B K tile=2 stride=2 size=4",
      "Bias would not be stored any more: it lies at 2 in K.1, which has only 2",
      "layout decouple_at Bias first, or keep all of B", "B" },
    { BIAS, "layout store_at Bias B K;layout split Bias N 2",
      "Bias is stored inside B and has no layout of its own",
      "set the layout of B, or apply: layout decouple_at Bias", "Bias" },
};

#define LONG "gmm m=4 k=2 n=600000"        /* two rows have more elements than are searched */
static const struct row layouts[] = {
    { LONG, "layout pad C M after=1;layout unpad C M after=2",
      "primitive 2 (unpad M): before=0 after=2 would remove data, not only padding",
      "the padding of M is before=0 after=1", "M" },
    { LONG, "layout pad C M before=1 after=0;layout unpad C M before=2 after=0",
      "primitive 2 (unpad M): before=2 after=0 would remove data, not only padding",
      "the padding of M is before=1 after=0", "M" },
    { LONG, "layout pad C M after=2;layout unpad C M after=2", NULL, NULL, NULL },
    { GEMM, "layout split Q N 2", "there is no tensor Q", "the tensors are A, B, C", "Q" },
    { CONV, "layout split Conf O 2", "there is no tensor Conf",
      "did you mean Conv? The tensors are Inp, Ker, Conv, Bias, BiasAdd, ReLU", "Conf" },
    { CONV, "layout split Conv.Out O 2", "there is no operand Conv.Out",
      "NODE.Inp means the first operand of a node, for example Conv.Inp", "Conv.Out" },
    { CONV, "layout split Q.Inp O 2", "there is no operand Q.Inp",
      "NODE.Inp means the first operand of a node, for example Conv.Inp", "Q.Inp" },
    { CONV, "layout split .Inp O 2", "there is no operand .Inp",
      "NODE.Inp means the first operand of a node, for example Conv.Inp", ".Inp" },
    { RELU, "layout split x M 2", "x belongs to the caller, who chooses its layout",
      "set the layout of a, which is computed from it, or apply: set input_layout given, then "
      "this again", "x" },
    { RELU, "set input_layout given;layout split x M 2", NULL, NULL, NULL },
    { CONV, "layout split Conv Q 2", "Conv has no dimension Q",
      "its dimensions are N(1) O(8) H(8) W(8)", "Q" },
    { CONV, "layout split Conv O x", "a factor is a whole number, not x", "", "x" },
    { CONV, "layout split Conv O 99999999999999999999",
      "factor 99999999999999999999 is too large", "", "99999999999999999999" },
    { CONV, "layout split Conv O 4 2 allow_pad=2", "allow_pad is 0 or 1, not 2", "",
      "allow_pad=2" },
    { CONV, "layout split Conv O 4 2 allow_pad=-1", "allow_pad is 0 or 1, not -1", "",
      "allow_pad=-1" },
    { CONV, "layout reorder Conv N O H", "Conv has 4 dimensions, but the new order names 3",
      "name each of N O H W once", "Conv" },
    { CONV, "layout reorder Conv N O H H", "dimension H is named twice", "", "H" },
    { CONV, "layout fuse Conv N H", "dimensions N and H are not adjacent in this order",
      "reorder first: layout reorder Conv ...", "H" },
    { CONV, "layout fold Conv O N", "dimensions O and N are not adjacent in this order",
      "reorder first: layout reorder Conv ...", "N" },
    { GEMM, "layout split C M " ONES22 "8", NULL, NULL, NULL },
    { GEMM, "layout split C M " ONES22 "1 8", "the split has too many factors", "", "C" },
    { GEMM, PAD16 PAD16 PAD16 PAD16 "layout fuse C M N",
      "C already has 64 layout primitives, which is the most", "", "C" },
    { CONV, "set variant ol;layout split Conv O 2",
      "variant ol fixes every layout, so this step cannot change any",
      "apply `set variant alt` first", "Conv" },
};

static const struct row loops[] = {
    { CONV, "loop split Inp H 2", "Inp is an input: nothing computes it, so it has no loops",
      "the tensors that have loops are Conv, BiasAdd, ReLU", "Inp" },
    { CONV, "loop split Ker O 2", "Ker is a constant: nothing computes it, so it has no loops",
      "the tensors that have loops are Conv, BiasAdd, ReLU", "Ker" },
    { GEMM, "loop split Q M 2", "no node computes a tensor Q",
      "the tensors that have loops are C", "Q" },
    { GEMM, "loop split C Q 2", "C has no loop Q", "its loops are M(8) N(8) K(8)", "Q" },
    { GEMM, "loop split C M x", "a factor is a whole number, not x", "", "x" },
    { GEMM, "loop split C M -1", "a factor is a whole number, not -1", "", "-1" },
    { GEMM, "loop split C M 1099511627777", "factor 1099511627777 is too large", "",
      "1099511627777" },
    { GEMM, "loop split C M " ONES22 "1 1 1 1 1 1 1 1 8", NULL, NULL, NULL },
    { GEMM, "loop split C M " ONES22 "1 1 1 1 1 1 1 1 1 8", "the split has too many factors", "",
      "C" },
    { GEMM, "loop reorder C M K M", "loop M is named twice", "", "M" },
    { GEMM, "loop fuse C M K", "loops M and K are not adjacent in this order",
      "reorder first: loop reorder C M K N", "K" },
    { CONV, "loop fuse Conv H O W", "loops H and O are not adjacent in this order",
      "reorder first: loop reorder Conv N H O W I KH KW", "O" },
    { CONV, "loop cache_write ReLU", "ReLU has no reduction, so that a tile would only copy it",
      "", "ReLU" },
    { GEMM, "loop reorder C K M N;loop cache_write C",
      "the outermost loop of C is a reduction, so the tile cannot be placed there",
      "name the loop: loop cache_write C at=K", "C" },
    { GEMM, "loop reorder C K M N;loop cache_read C A",
      "the outermost loop of C is a reduction, so the tile cannot be placed there",
      "name the loop: loop cache_read C A at=K", "C" },
    { GEMM, "loop cache_read C A at=M scope=shared pad=65",
      "pad=65 is not between 0 and 64 elements", "", "pad=65" },
    { GEMM, "loop cache_read C A at=M scope=shared pad=-1",
      "pad=-1 is not between 0 and 64 elements", "", "pad=-1" },
    { GEMM, "loop cache_read C A at=M scope=shared pad=64", NULL, NULL, NULL },
    { GEMM, "loop cache_read C A at=M scope=shared;loop swizzle C A by=3",
      "by=3 is not 1, 2, 4, 8 or 16 elements", "", "by=3" },
    { GEMM, "loop cache_read C A at=M scope=shared;loop swizzle C A by=0",
      "by=0 is not 1, 2, 4, 8 or 16 elements", "", "by=0" },
    { GEMM, "loop cache_read C A at=M scope=shared;loop swizzle C A by=32",
      "by=32 is not 1, 2, 4, 8 or 16 elements", "", "by=32" },
    { "gmm m=128 k=512 n=128", "loop cache_read C A at=M scope=shared;loop swizzle C A by=16",
      NULL, NULL, NULL },
    { GEMM, "loop prefetch C A at=K ahead=0", "ahead=0 is not between 1 and 65536 iterations", "",
      "ahead=0" },
    { GEMM, "loop prefetch C A at=K ahead=65537",
      "ahead=65537 is not between 1 and 65536 iterations", "", "ahead=65537" },
    { "gmm m=1 k=65537 n=1", "loop prefetch C A at=K ahead=65536", NULL, NULL, NULL },
    { GEMM, "loop pipeline C K stages=0", "stages=0 is not between 1 and 8", "", "stages=0" },
    { GEMM, "loop pipeline C K stages=9", "stages=9 is not between 1 and 8", "", "stages=9" },
    { CONV, "loop compute_at ReLU BiasAdd W scope=shared",
      "ReLU reads BiasAdd, so compute_at makes no tile for scope= and pad=",
      "leave out scope= and pad=", "ReLU" },
    { GEMM, "loop serial C M", "loop M of C is already a plain loop",
      "only a loop that is vectorized, unrolled, parallel or bound can be made plain", "M" },
    { GEMM, "loop bind C M thread.q", "there is no index thread.q", "did you mean thread.x?",
      "thread.q" },
    { GEMM, "loop vthread C K", "loop K of C cannot be virtual threads: it is a reduction",
      "name a loop of the output's dimensions", "K" },
    { GEMM, "loop unroll C M;loop vthread C M",
      "loop M of C cannot be virtual threads: it is marked unroll", "loop serial C M", "M" },
    { GEMM, "loop tensorize C M N K",
      "C has elements of type f32: tensor cores multiply f16, bf16, or f32 as tf32",
      "set multiply tf32, or open the operator with type=f16 or type=bf16", "C" },
};

static const struct row nodes[] = {
    { CONV, "loop compute_root Conv",
      "Conv is neither computed at another node's loop nor inlined",
      "it already has loops of its own; compute_root only undoes compute_at and inline", "Conv" },
    { CONV, "loop compute_at BiasAdd Conv W;loop split BiasAdd O 2",
      "BiasAdd is computed at loop W of Conv and follows its loops",
      "schedule Conv, or: loop compute_root BiasAdd", "BiasAdd" },
    { CONV, "loop inline BiasAdd;loop split BiasAdd O 2", "BiasAdd is inlined: it has no loops",
      "loop compute_root BiasAdd brings them back", "BiasAdd" },
    { CONV, "loop compute_at BiasAdd Conv W;loop fuse Conv H W",
      "BiasAdd is computed at loop W, which this step removes",
      "first: loop compute_root BiasAdd", "Conv" },
    { CONV, "loop compute_at BiasAdd Conv W;loop reorder Conv N O H I W",
      "BiasAdd is computed at loop W of Conv and could not stay there: cannot compute BiasAdd at"
      " loop W of Conv: Conv is only complete after its reduction loop I",
      "first: loop compute_root BiasAdd", "Conv" },
    { CONV, "loop rfactor Conv Q 2", "Conv has no reduction Q",
      "its reductions are I(4) KH(3) KW(3)", "Q" },
    { CONV, "loop rfactor ReLU O 2", "ReLU has no reduction O", "it reduces nothing", "O" },
    { GEMM, "loop rfactor C K 1", "factor 1 does not divide the 8 iterations of reduction K",
      "use a divisor of 8 that is at least 2", "1" },
    { GEMM, "loop rfactor C K 3", "factor 3 does not divide the 8 iterations of reduction K",
      "use a divisor of 8 that is at least 2", "3" },
    { GEMM, "loop rfactor C K 16", "factor 16 does not divide the 8 iterations of reduction K",
      "use a divisor of 8 that is at least 2", "16" },
    { GEMM, "loop rfactor C K 8", NULL, NULL, NULL },
    { GEMM, "loop rfactor C K 2;loop rfactor C K.0 2",
      "C already has partial results: C_rf", "apply rfactor to a reduction of C_rf", "C" },
    { RANK8, "loop rfactor z K 2", "z_rf would have more than 8 dimensions", "", "z" },
    { GEMM, "loop unroll C M;loop split C K 2 4;loop rfactor C K 2",
      "after `loop rfactor C K 2`, step 2 `loop split C K 2 4` would no longer apply: C has no "
      "loop K",
      "set layouts before loops: undo to step 1, apply the new step, then apply the loop steps "
      "again",
      "C" },
};

static int wrong(const struct row *r)
{
    struct arena *a = arena_new();
    const struct program *p = program_bare(a, r->spec);
    struct err e = { 0 };
    char *rest = NULL, *steps = arena_strdup(a, r->steps);
    const char *last = strrchr(r->steps, ';') ? strrchr(r->steps, ';') + 1 : r->steps;
    const char *s = strtok_r(steps, ";", &rest);
    while (s && program_apply_line(p, s, &p, &e))
        s = strtok_r(NULL, ";", &rest);
    const char *marked = s && e.at.col ? arena_strndup(a, s + e.at.col - 1, (size_t)e.at.len) : "";
    bool ok = s ? r->text && streq(s, last) && streq(e.text, r->text) && streq(e.fix, r->fix)
                  && streq(marked, r->marked)
                : !r->text;
    if (!ok)
        print_error("%s: %s: %s (fix: %s), at %s\n", r->spec, r->steps, s ? e.text : "accepted",
                    s ? e.fix : "", marked);
    arena_free(a);
    return !ok;
}

static void check(const struct row *rows, int n)
{
    int n_wrong = 0;
    for (int i = 0; i < n; i++)
        n_wrong += wrong(&rows[i]);
    assert_int_equal(n_wrong, 0);
}

static void settings_have_words(void **state)
{
    (void)state;
    check(settings, COUNT_OF(settings));
}

static void algorithms_are_accurate(void **state)
{
    (void)state;
    check(algorithms, COUNT_OF(algorithms));
}

static void constants_share_buffers(void **state)
{
    (void)state;
    check(constants, COUNT_OF(constants));
}

static void layout_steps_name_dimensions(void **state)
{
    (void)state;
    check(layouts, COUNT_OF(layouts));
}

static void loop_steps_name_loops(void **state)
{
    (void)state;
    check(loops, COUNT_OF(loops));
}

static void nodes_follow_others(void **state)
{
    (void)state;
    check(nodes, COUNT_OF(nodes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_have_words),
        cmocka_unit_test(algorithms_are_accurate),
        cmocka_unit_test(constants_share_buffers),
        cmocka_unit_test(layout_steps_name_dimensions),
        cmocka_unit_test(loop_steps_name_loops),
        cmocka_unit_test(nodes_follow_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
