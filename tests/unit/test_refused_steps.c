/* Refused loop steps: the whole message and what it proposes, and the largest case that is still
 * accepted beside each limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/unit/programs.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* steps: separated by ';', the last one is refused. text: NULL where it is accepted. */
struct row { const char *spec, *steps, *text, *fix; };

#define GEMM "gmm m=8 k=8 n=8"
#define F16  "gmm m=32 k=32 n=32 type=f16"
#define CONV "c2d n=1 i=4 h=10 w=10 o=8 k=3 bias=1 relu=1"
#define PAD  "c2d n=1 i=4 h=8 w=8 o=8 k=3 p=1"
#define ONES "1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
#define THREE(m, k, n) "gmm m=" #m " k=" #k " n=" #n
#define MANY "c2d n=5 i=3 o=5 h=5 w=5 k=3"
#define EIGHT_RESTS \
    "loop split Conv N 2;loop split Conv O 2;loop split Conv H 2;loop split Conv W 2;" \
    "loop split Conv I 2;loop split Conv KH 2;loop split Conv KW 2;loop split Conv N.0 2"
#define NORM \
    "x = input n=2 c=4; s = const c=4; b = const c=4; m = const c=4; v = const c=4; " \
    "y = batchnorm(x, s, b, m, v)"

static const struct row annotations[] = {
    { THREE(8, 8, 256), "loop reorder C M K N;loop vectorize C N", NULL, NULL },
    { THREE(8, 8, 257), "loop reorder C M K N;loop vectorize C N",
      "cannot vectorize loop N of C: extent 257 is more than 256",
      "loop split C N 16, then vectorize N.1" },
    { GEMM, "loop reorder C K M N;loop vectorize C N;loop vectorize C M",
      "C would have two vectorized loops: M and N",
      "drop or edit the step that vectorizes one of them" },
    { THREE(2, 32, 128), "loop vectorize C M",
      "cannot vectorize loop M of C: loops N, K run inside it",
      "make M the innermost loop (loop reorder C N K M) or unroll N, K" },
    { THREE(2, 32, 129), "loop vectorize C M",
      "cannot vectorize loop M of C: loops N, K run inside it",
      "make M the innermost loop (loop reorder C N K M)" },
    { GEMM, "loop reorder C K M N;loop vectorize C M",
      "cannot vectorize loop M of C: loop N runs inside it",
      "make M the innermost loop (loop reorder C K N M) or unroll N" },
    { GEMM, "loop unroll C N;loop vectorize C M",
      "cannot vectorize loop M of C: loop K runs inside it",
      "make M the innermost loop (loop reorder C N K M) or unroll K" },
    { GEMM, "loop reorder C K M N;loop unroll C N;loop vectorize C M", NULL, NULL },
    { GEMM, "loop parallel C K",
      "cannot run loop K of C in parallel: it is a reduction, and the threads would race on C",
      "run a loop of the output's dimensions in parallel" },
    { GEMM, "loop reorder C K M N;loop parallel C M",
      "cannot run loop M of C in parallel inside the reduction loop K",
      "move M outside of K: loop reorder C M K" },
    { CONV, "loop parallel Conv N;loop parallel Conv H",
      "parallel loops N and H of Conv are not adjacent",
      "fuse or reorder so that one adjacent group of loops is parallel" },
    { CONV, "loop parallel Conv N;loop parallel Conv O;loop parallel Conv H", NULL, NULL },
    { GEMM, "loop cache_write C at=M;loop parallel C N",
      "cannot run loop N of C in parallel: it is inside the tile of cache_write at M",
      "run a loop outside of M in parallel" },
    { GEMM, "loop cache_write C at=M;loop parallel C M", NULL, NULL },
    { GEMM, "loop bind C K thread.x",
      "cannot bind loop K of C to thread.x: it is a reduction, and the threads would race on C",
      "bind a loop of the output's dimensions" },
    { THREE(1024, 8, 8), "loop bind C M thread.x", NULL, NULL },
    { THREE(1025, 8, 8), "loop bind C M thread.x",
      "cannot bind loop M of C to thread.x: 1025 iterations, and at most 1024 are possible",
      "split it first and bind the inner part" },
    { THREE(64, 8, 8), "loop bind C M thread.z", NULL, NULL },
    { THREE(65, 8, 8), "loop bind C M thread.z",
      "cannot bind loop M of C to thread.z: 65 iterations, and at most 64 are possible",
      "split it first and bind the inner part" },
    { THREE(65535, 8, 8), "loop bind C M block.y", NULL, NULL },
    { THREE(65536, 8, 8), "loop bind C M block.z",
      "cannot bind loop M of C to block.z: 65536 iterations, and at most 65535 are possible",
      "split it first and bind the inner part" },
    { THREE(65536, 8, 8), "loop bind C M block.x", NULL, NULL },
    { THREE(32, 8, 32), "loop bind C M thread.y;loop bind C N thread.x", NULL, NULL },
    { THREE(33, 8, 32), "loop bind C M thread.y;loop bind C N thread.x",
      "cannot bind loop N of C to thread.x: 1056 threads in a block, and at most 1024 are possible",
      "split it first and bind the inner part" },
    { THREE(64, 8, 1024), "loop bind C M block.x;loop bind C N thread.x", NULL, NULL },
    { GEMM, "loop cache_write C at=M;loop bind C N thread.x",
      "cannot bind loop N of C to thread.x: it is inside of a tile at loop M",
      "put the tile at N or deeper" },
    { GEMM, "loop bind C N thread.x",
      "cannot bind loop N of C to thread.x: loop M around it is not bound",
      "move N outside of it: loop reorder C N M" },
    { GEMM, "loop bind C M thread.x;loop bind C N thread.x",
      "loops M and N of C are both bound to thread.x",
      "fuse them, or bind one of them to another index" },
    { THREE(64, 8, 64), "loop unroll C M;loop unroll C N", NULL, NULL },
    { THREE(64, 8, 65), "loop unroll C M;loop unroll C N",
      "the unrolled loops of C make more than 4096 statements: M(64) N(65)",
      "unroll fewer loops, or split one and unroll only its inner part" },
    /* 32 lanes are two statements */
    { THREE(64, 32, 32), "loop reorder C M K N;loop vectorize C N;loop unroll C M;loop unroll C K",
      NULL, NULL },
    { THREE(64, 33, 32), "loop reorder C M K N;loop vectorize C N;loop unroll C M;loop unroll C K",
      "the unrolled loops of C make more than 4096 statements: M(64) K(33)",
      "unroll fewer loops, or split one and unroll only its inner part" },
    { THREE(513, 4, 512), "loop reorder C K M N;loop cache_write C at=K",
      "the tile of C inside loop K has 262656 elements, more than 262144",
      "cache_write at a deeper loop" },
    { GEMM, "loop reorder C K M N;loop vectorize C N;loop cache_write C at=N",
      "the tile of cache_write at loop N of C would be inside the vectorized loop N: the"
      " lanes of a vectorized loop cannot share a tile",
      "undo the cache_write: no reduction is inside of N, so its tile keeps no partial sums" },
    { GEMM, "loop unroll C K;loop unroll C N;loop vectorize C M;loop cache_write C at=M",
      "the tile of cache_write at loop M of C would be inside the vectorized loop M: the"
      " lanes of a vectorized loop cannot share a tile", "loop serial C M" },
    { GEMM, "loop unroll C K;loop unroll C N;loop vectorize C M;loop cache_read C A at=M",
      "the tile of A at loop M of C would be inside the vectorized loop M: the lanes of a"
      " vectorized loop cannot share a tile", "loop serial C M" },
    { GEMM, "loop prefetch C B at=N ahead=7", NULL, NULL },
    { GEMM, "loop prefetch C B at=N ahead=8",
      "cannot prefetch B 8 iterations of loop N of C ahead: the loop has only 8",
      "prefetch it at a plain loop of more iterations" },
    { THREE(16, 8, 8), "loop prefetch C B at=N ahead=8",
      "cannot prefetch B 8 iterations of loop N of C ahead: the loop has only 8",
      "prefetch it at M" },
    { GEMM, "loop unroll C K;loop prefetch C B at=K",
      "cannot prefetch B at loop K of C: the loop is marked unroll, so the code has no loop to"
      " prefetch in", "prefetch it at N" },
};

static const struct row splits[] = {
    { GEMM, "loop split C M 9", "factor 9 is not between 1 and 8, the extent of loop M",
      "M splits into ceil(8 / F) x F" },
    { GEMM, "loop split C M 9 1", "factor 9 is not between 1 and 8, the extent of loop M",
      "use factors in that range; one may be 0 (it is inferred)" },
    { GEMM, "loop split C M 0 0", "factor 0 is not between 1 and 8, the extent of loop M",
      "use factors in that range; one may be 0 (it is inferred)" },
    { GEMM, "loop split C M 8", NULL, NULL },
    { GEMM, "loop reorder C M K N;loop vectorize C N;loop split C N 2",
      "cannot split loop N of C: the loop is marked vectorize",
      "split first, or remove the mark: loop serial C N" },
    { GEMM, "loop parallel C M;loop fuse C M N",
      "cannot fuse loop M of C: the loop is marked parallel",
      "fuse first, or remove the mark: loop serial C M" },
    { GEMM, "loop fuse C N K", "cannot fuse loop N with K: one is a reduction, the other is not",
      "" },
    { GEMM, "loop cache_write C at=M;loop fuse C M N",
      "cannot fuse across loop M: a tile of cache_write or cache_read is allocated there", "" },
    { GEMM, "loop cache_read C B at=M;loop fuse C M N",
      "cannot fuse across loop M: a tile of cache_write or cache_read is allocated there", "" },
    { GEMM, "loop cache_write C at=N;loop fuse C M N", NULL, NULL },
    { GEMM, "loop prefetch C A at=M;loop fuse C M N",
      "cannot fuse loop M with N: an operand is prefetched by iterations of M", "" },
    { GEMM, "loop prefetch C B at=N;loop fuse C M N", NULL, NULL },
    /* each of these splits leaves a rest */
    { MANY, EIGHT_RESTS, NULL, NULL },
    { MANY, EIGHT_RESTS ";loop split Conv O.0 2",
      "Conv already has 8 splits whose factors do not divide", "" },
    { GEMM, "loop split C N 8 " ONES ONES "1;loop split C M 8 " ONES "1 1 1",
      "C would have more than 48 loops", "" },
    { NORM, "loop cache_read y x at=N;loop cache_read y s at=N;loop cache_read y b at=N;"
      "loop cache_read y m at=N;loop cache_read y v at=N", "y already has 4 cached operands", "" },
    { NORM, "loop prefetch y x at=C;loop prefetch y s at=C;loop prefetch y b at=C;"
      "loop prefetch y m at=C;loop prefetch y v at=C", "y already has 4 prefetched operands", "" },
    { NORM, "loop prefetch y x at=C;loop prefetch y s at=C;loop prefetch y b at=C;"
      "loop prefetch y m at=C;loop prefetch y b at=C ahead=2", NULL, NULL },
};

static const struct row blocks[] = {
    { F16, "loop tensorize C M N K",
      "loop M of C has 32 iterations, and a tensor block has 16 on each side",
      "first: loop split C M 16" },
    { "gmm m=40 k=32 n=32 type=f16", "loop tensorize C M N K",
      "loop M of C has 40 iterations, and a tensor block has 16 on each side",
      "choose a loop of which 16 divides the extent" },
    { "gmm m=16 k=16 n=16", "set multiply tf32;loop tensorize C M N K",
      "loop K of C has 16 iterations, and a tensor block has 8 steps of a sum of f32",
      "first: loop split C K 8" },
    { "gmm m=16 k=12 n=16", "set multiply tf32;loop tensorize C M N K",
      "loop K of C has 12 iterations, and a tensor block has 8 steps of a sum of f32",
      "choose a loop of which 8 divides the extent" },
    { F16, "loop split C M 16;loop tensorize C M.1 K N",
      "loop K of C is a reduction, but the first two loops of a tensor block must be of the"
      " output's dimensions",
      "name two loops of the output's dimensions, then one of a reduction" },
    { F16, "loop split C M 16;loop split C N 16;loop tensorize C M.1 N.1 M.0",
      "loop M.0 of C is no reduction, but the third loop of a tensor block must be one",
      "name two loops of the output's dimensions, then one of a reduction" },
    { F16, "loop bind C M thread.x;loop tensorize C M N K",
      "loop M of C is bound to thread.x, which counts the 32 lanes of a warp under tensorize",
      "bind it to thread.y or thread.z: each index there is a warp" },
    { F16, "loop split C M 16;loop split C N 16;loop split C K 16;"
      "loop prefetch C B at=N.1;loop tensorize C M.1 N.1 K.1",
      "loop N.1 of C cannot be in a tensor block: a tile or a prefetch is there", "" },
    { F16, "loop split C M 16;loop split C N 16;loop split C K 16;loop unroll C M.1;"
      "loop tensorize C M.1 N.1 K.1", "cannot tensorize loop M.1 of C: the loop is marked unroll",
      "tensorize first, or remove the mark: loop serial C M.1" },
    { F16, "loop split C M 16;loop split C N 16;loop split C K 16;loop tensorize C M.1 N.1 K.1;"
      "loop tensorize C M.0 N.0 K.0", "C already has a tensor block", "" },
    { F16, "loop split C M 16;loop split C N 16;loop split C K 16;loop tensorize C M.1 N.1 K.1;"
      "loop serial C lane",
      "loop lane of C counts the lanes of its tensor block, and must be bound to thread.x",
      "first: loop serial C N.1.1" },
    { F16, "loop split C M 16;loop split C N 16;loop split C K 16;loop tensorize C M.1 N.1 K.1;"
      "loop serial C K.1;loop serial C lane", NULL, NULL },
    { F16, "loop split C M 16;loop split C N 16;loop split C K 16;loop tensorize C M.1 N.1 K.1;"
      "loop unroll C K.1",
      "the loops of the tensor block of C stay its innermost loops, in their order and with their"
      " mark", "leave these loops where they are, or undo the tensor block: loop serial C LOOP,"
      " where LOOP is one of them" },
    { GEMM, "loop pipeline C M stages=2",
      "loop M of C is no reduction loop, and only a reduction loop can be pipelined",
      "name the reduction at whose loop the shared tiles are" },
    { GEMM, "loop split C K 2 4;loop pipeline C K.0 stages=3",
      "loop K.0 of C has 2 iterations, fewer than 3 stages",
      "use fewer stages, or split the reduction into more iterations" },
    { GEMM, "loop split C K 2 4;loop pipeline C K.0 stages=2",
      "loop K.0 of C cannot be pipelined: no shared tile is filled there",
      "loop cache_read at this loop, scope=shared" },
    { GEMM, "loop swizzle C A", "C has no shared tile of A",
      "first: loop cache_read C A at=LOOP scope=shared" },
    { "gmm m=128 k=512 n=128", "loop cache_read C A at=M scope=shared;loop swizzle C A;"
      "loop swizzle C A", "the shared tile of A is already swizzled by 1", "" },
    { "gmm m=128 k=512 n=128", "loop cache_read C A at=M scope=shared pad=1;loop swizzle C A",
      "the tile A_tile at loop M of C has rows of 513 elements, and only a power of two can be"
      " swizzled", "split the loops so that rows have 8, 16, 32 or 64 elements, or give the tile"
      " pad=1 instead" },
    { "gmm m=128 k=2 n=128", "loop cache_read C A at=M scope=shared;loop swizzle C A by=2",
      "the tile A_tile at loop M of C has rows of 2 elements: groups of 2 fill a row or all banks,"
      " so the swizzle would move nothing", "keep fewer together (by=), or make the rows longer" },
    { "gmm m=128 k=2 n=128", "loop cache_read C A at=M scope=shared;loop swizzle C A by=1", NULL,
      NULL },
};

static const struct row nodes[] = {
    { CONV, "loop compute_at Conv Conv W", "cannot compute Conv inside itself", "" },
    { CONV, "loop compute_at BiasAdd Conv Q", "Conv has no loop Q",
      "its loops: N(1) O(8) H(8) W(8) I(4) KH(3) KW(3)" },
    { CONV, "loop compute_at BiasAdd Conv W;loop compute_at ReLU BiasAdd W",
      "cannot compute ReLU at BiasAdd: BiasAdd is itself computed at Conv",
      "loop compute_at ReLU Conv W" },
    { CONV, "loop inline BiasAdd;loop compute_at ReLU BiasAdd W",
      "BiasAdd is inlined: it has no loops", "" },
    { CONV, "loop split BiasAdd O 2;loop compute_at BiasAdd Conv W",
      "cannot compute BiasAdd at Conv: BiasAdd already has a schedule of its own",
      "undo the loop steps of BiasAdd; computed at Conv it follows the loops there" },
    { CONV, "loop compute_at ReLU BiasAdd W;loop compute_at BiasAdd Conv W",
      "cannot compute BiasAdd at Conv: ReLU is computed at BiasAdd", "" },
    { CONV, "loop compute_at ReLU Conv W",
      "cannot compute ReLU at Conv: ReLU reads BiasAdd, which is not computed there",
      "first: loop compute_at BiasAdd Conv W" },
    { CONV, "loop compute_at BiasAdd Conv KH",
      "cannot compute BiasAdd at loop KH of Conv: Conv is only complete after its reduction loop I",
      "compute it at W, or move I inside of KH" },
    { CONV, "loop reorder Conv I N O H W KH KW;loop compute_at BiasAdd Conv W",
      "cannot compute BiasAdd at loop W of Conv: Conv is only complete after its reduction loop I",
      "move a loop of the output outside of I first" },
    { "x = input m=4 k=4; a = gmm(x) n=4; b = gmm(a) n=4", "loop compute_at a b M",
      "cannot compute a at b: a is a reduction of its own",
      "only simple producers (pad, convert, ...) are recomputed inside their consumer's loops" },
    { "x = input m=4 k=4; a = relu(x); b = gmm(x) n=4; y = add(a, b)", "loop compute_at a b M",
      "cannot compute a at b: b does not read a", "" },
    { "x = input m=4 k=4; a = relu(x); b = gmm(a) n=4; y = add(a, b)", "loop compute_at a b M",
      "cannot compute a at b: y reads it as well", "" },
    { "x = input m=4 k=4; a = relu(x); b = gmm(a) n=4; output a, b", "loop compute_at a b M",
      "cannot compute a at b: it is an output", "" },
    { "x = input m=4 k=4; a = gmm(x) n=4; b = gmm(x) n=4; y = add(a, b)", "loop compute_at y a N",
      "cannot compute y at a: it reads b, which is computed after a", "y needs all of b first" },
    { CONV, "loop compute_at ReLU BiasAdd W;loop inline BiasAdd",
      "cannot inline BiasAdd: ReLU is computed inside its loops", "first: loop compute_root ReLU" },
    { CONV, "loop cache_read ReLU BiasAdd at=W;loop inline BiasAdd",
      "cannot inline BiasAdd: ReLU copies it by cache_read", "" },
    { CONV, "loop split BiasAdd O 2;loop inline BiasAdd",
      "cannot inline BiasAdd: it already has a schedule of its own",
      "undo the loop steps of BiasAdd" },
    { CONV, "loop inline Conv",
      "cannot inline Conv: it is a reduction, and every reader would repeat it",
      "only nodes without a reduction (pad, bias, relu, ...) can be inlined" },
    { CONV, "loop inline ReLU", "cannot inline ReLU: it is an output",
      "only a stage that another one reads can be inlined" },
    { CONV, "loop stream Conv",
      "cannot stream Conv: its partial sums are stored in memory and read again",
      "keep the partial sums in a tile first: loop cache_write Conv" },
    { CONV, "loop inline BiasAdd;loop stream BiasAdd",
      "cannot stream BiasAdd: it is not stored in memory, because its reader computes it", "" },
    { GEMM, "loop split C K 2;loop reorder C M K.0 N K.1;loop cache_write C at=K.0;loop stream C",
      "cannot stream C: its partial sums are stored in memory across loop K.0 and read again",
      "keep the partial sums in a tile outside of loop K.0: loop cache_write C" },
    { CONV, "loop cache_read Conv Bias", "Conv does not read Bias", "it reads Inp, Ker" },
    { "gmm m=4 k=4 n=3 bias=1", "layout store_at Bias B K;loop cache_read C B at=M",
      "B is stored in one buffer with Bias and cannot be cached alone", "" },
    { CONV, "loop inline BiasAdd;loop cache_read ReLU BiasAdd at=W",
      "BiasAdd is not stored in memory and cannot be copied: it is inlined",
      "first: loop compute_root BiasAdd" },
    { PAD, "loop compute_at Inp Conv H;loop cache_read Conv Inp at=W",
      "Inp is not stored in memory and cannot be copied: it is computed inside these loops",
      "first: loop compute_root Inp" },
    { PAD, "loop compute_at Inp Conv H;loop prefetch Conv Inp at=W",
      "Inp cannot be prefetched: it is computed inside these loops",
      "first: loop compute_root Inp" },
    { CONV, "loop prefetch Conv Inp at=O",
      "there is nothing to prefetch: Inp is read at the same places in every iteration of loop O of"
      " Conv", "prefetch it at KW" },
    { CONV, "loop cache_read Conv Inp at=N;loop prefetch Conv Inp at=H",
      "loop H of Conv reads Inp from the tile of a cache_read at N, not from memory, so there is"
      " nothing to prefetch", "prefetch it at N" },
    { CONV, "loop inline BiasAdd;loop prefetch ReLU BiasAdd at=H",
      "BiasAdd is not stored in memory and cannot be prefetched: it is inlined", "" },
};

#define THREES "c2d n=1 i=4 h=8 w=8 o=4 k=3"
static const struct row algorithms[] = {
    { THREES " s=2", "algorithm Conv winograd m=4",
      "winograd needs windows of 3 with stride 1 and dilation 1, but Conv has 3 taps along H,"
      " stride 2, dilation 1", "compute Conv directly" },
    { "c2d n=1 i=4 h=8 w=8 o=4 kh=3 kw=2", "algorithm Conv winograd m=2",
      "winograd needs windows of 3 with stride 1 and dilation 1, but Conv has 2 taps along W,"
      " stride 1, dilation 1", "compute Conv directly" },
    { "gmm m=4 k=4 n=4", "algorithm C winograd m=4",
      "winograd is an algorithm for convolutions, and C is a matmul",
      "name the result of a c1d, c2d or c3d" },
    { THREES, "algorithm Conv winograd m=3", "m=3: winograd has tiles of 2 or 4", "m=2 or m=4" },
    { THREES, "algorithm Conv winograd m=2", NULL, NULL },
    { THREES " type=f16", "algorithm Conv winograd m=2",
      "winograd would round its transformed tiles to float16",
      "leave out type=f16, or compute Conv directly" },
    { "grp n=1 i=4 h=8 w=8 o=4 k=3 g=2", "algorithm Conv winograd m=4",
      "winograd is for one group of channels, and Conv has 2", "compute Conv directly" },
    { "x = input n=1 i=4 h=8 w=8; w = input o=4 i=4 kh=3 kw=3; y = c2d(x, w) o=4 k=3",
      "algorithm y winograd m=2",
      "the weights of y are no constant: they would be transformed in every call",
      "compute y directly" },
    { "x = input n=1 i=4 h=8 w=8; w = const o=4 i=4 kh=3 kw=3; y = c2d(x, w) o=4 k=3; "
      "z = c2d(x, w) o=4 k=3", "algorithm y winograd m=2",
      "another node reads the weights w as they are", "compute y directly" },
};

static void check(const struct row *rows, int n)
{
    for (int i = 0; i < n; i++) {
        struct arena *a = arena_new();
        const struct program *p = program_bare(a, rows[i].spec);
        struct err e = { 0 };
        char *rest = NULL, *steps = arena_strdup(a, rows[i].steps);
        bool ok = true;
        const char *last = "";
        for (char *s = strtok_r(steps, ";", &rest); s && ok; s = strtok_r(NULL, ";", &rest)) {
            last = s;
            ok = program_apply_line(p, s, &p, &e);
        }
        if (ok && rows[i].text)
            fail_msg("%s: %s: accepted", rows[i].spec, rows[i].steps);
        if (!ok && (!rows[i].text || !streq(last, strrchr(rows[i].steps, ';')
                                            ? strrchr(rows[i].steps, ';') + 1 : rows[i].steps)))
            fail_msg("%s: %s: refused: %s", rows[i].spec, last, e.text);
        if (!ok && (!streq(e.text, rows[i].text) || !streq(e.fix, rows[i].fix)))
            fail_msg("%s: %s: %s (fix: %s)", rows[i].spec, last, e.text, e.fix);
        arena_free(a);
    }
}

static void annotations_have_rules(void **state)
{
    (void)state;
    check(annotations, COUNT_OF(annotations));
}

static void splits_and_fuses_have_rules(void **state)
{
    (void)state;
    check(splits, COUNT_OF(splits));
}

static void blocks_and_tiles_have_rules(void **state)
{
    (void)state;
    check(blocks, COUNT_OF(blocks));
}

static void nodes_in_each_other_have_rules(void **state)
{
    (void)state;
    check(nodes, COUNT_OF(nodes));
}

static void algorithms_have_rules(void **state)
{
    (void)state;
    check(algorithms, COUNT_OF(algorithms));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(annotations_have_rules),
        cmocka_unit_test(splits_and_fuses_have_rules),
        cmocka_unit_test(blocks_and_tiles_have_rules),
        cmocka_unit_test(nodes_in_each_other_have_rules),
        cmocka_unit_test(algorithms_have_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
