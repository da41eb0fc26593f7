/* The lowered program: a tree of loops and stores over physical buffers.  It is built from a
 * program (lower.h) and never edited; the printers, the code generators and the interpreter of
 * the tests all read it.
 *
 * Requirements (tree_verify checks them, but not the indices under a guard, in a select or in a
 * loop with bounds): loop variables on one path are distinct; every index expression is in bounds
 * of its buffer wherever its guard holds; loops annotated VECTORIZE
 * contain only stores and UNROLL loops; the buffers of a SCOPE are used only inside it. */
#ifndef TS_NEST_TREE_H
#define TS_NEST_TREE_H
#include "kernels/layout/layout.h"

/* How a loop runs.  THREADS: the threads of a block share the iterations.  The interpreter, which
 * runs the tree in order, may execute all iterations for every thread: it then stores the same
 * values several times.  TENSOR: one of four loops around one store, whose iterations a warp
 * executes all together (tensor.h).  BLOCK_X .. THREAD_Z: each iteration is a block of a GPU's
 * grid, or a thread of a block, with this index (SPEC N). */
enum loop_ann { LOOP_SERIAL, LOOP_PARALLEL, LOOP_VECTORIZE, LOOP_UNROLL, LOOP_THREADS,
                LOOP_TENSOR,
                LOOP_BLOCK_X, LOOP_BLOCK_Y, LOOP_BLOCK_Z,
                LOOP_THREAD_X, LOOP_THREAD_Y, LOOP_THREAD_Z, LOOP_ANN_COUNT };
extern const char *const loop_ann_name[];  /* "range" "parallel" "vectorize" "unroll" "threads"
                                            * "tensor" "block.x" ... "thread.z" */
/* Whether the iterations of a loop with this annotation are blocks or threads of a GPU. */
static inline bool loop_is_bound(enum loop_ann ann)
{
    return ann >= LOOP_BLOCK_X;
}

#define BLOCK_THREADS 1024                /* most threads of a block, on every GPU (SPEC N) */

/* Returns the most iterations that a bound loop may have. */
static inline int64_t loop_bound_limit(enum loop_ann ann)
{
    return ann == LOOP_BLOCK_X ? INT32_MAX : ann <= LOOP_BLOCK_Z ? 65535
         : ann == LOOP_THREAD_Z ? 64 : BLOCK_THREADS;
}

/* The memory of a buffer. A parameter of the function is in global memory. A buffer that exists in
 * one SCOPE is local (stack and registers), or shared by the threads of a GPU block. */
enum memory_scope { MEMORY_GLOBAL, MEMORY_LOCAL, MEMORY_SHARED };
/* Bytes of shared memory of a block.  A kernel declares up to SHARED_BYTES.  More, up to
 * SHARED_MOST on a GPU of compute capability 9.0, is dynamic: the launch asks for it.  Other GPUs
 * have less (8.0: 163 KiB, 8.6 and 8.9: 99 KiB).  A device, or its simulator, refuses more than it
 * has. */
#define SHARED_BYTES (48 << 10)
#define SHARED_MOST (227 << 10)
#define SHARED_ALIGN 16                   /* bytes, of each tile */
/* Returns the bytes that a tile takes in shared memory, with a gap that aligns the next tile. */
static inline int64_t shared_room(int64_t bytes)
{
    return (bytes + SHARED_ALIGN - 1) / SHARED_ALIGN * SHARED_ALIGN;
}

/* A swizzle (struct swizzle) puts element i of a shared tile at place i ^ (i >> shift & mask).
 * Bits of the row are XORed into those of the column, so that the elements of a column lie in
 * different banks.  With mask 0, element i is at place i. */
#define BANKS_BYTES 128                   /* one word of each bank of shared memory */
struct swizzle { int shift; int64_t mask; };

struct buffer {
    const char *name;                /* "Conv"; the accumulator tile of Conv is "Conv_acc", the tile
                                      * of Inp is "Inp_tile" */
    int tensor;                      /* graph tensor of the buffer or tile: the misses of the buffer
                                      * are attributed to this tensor */
    const struct elem_type *type;
    enum memory_scope memory;
    struct swizzle swizzle;
    int64_t stages;                  /* number of stages of a pipelined tile, which is the extent of
                                      * its outermost dim; 0: not pipelined */
    bool written, read;              /* whether the function writes or reads it */
    bool stream;                     /* whether to store around the caches where the code can */
    int rank;
    int64_t shape[MAX_DIMS];
    int64_t elems;                   /* product of shape */
    const struct layout *layout;     /* layout of a parameter, for its notation; NULL for locals */
    /* the constants stored inside this parameter, one line each: "K=64 holds Bias"; or NULL */
    const char *holds;
};

/* A prefetch of a loop: each iteration fetches the cache lines of a buffer that the loop reads
 * `ahead` iterations later.  A prefetch changes no value. */
struct prefetch { int buffer; int64_t ahead; };

enum tree_kind { TREE_LOOP, TREE_SCOPE, TREE_STORE };
enum store_how { STORE_SET, STORE_ADD, STORE_MAX };    /* = , += , = max(old, new) */

struct tree {
    enum tree_kind kind;
    /* LOOP: for var in [begin, end). Both are NULL, which means 0 and extent, or none is. */
    const struct expr *var;
    int64_t extent;
    const struct expr *begin, *end;
    enum loop_ann ann;
    bool reduce;
    const char *axis;  /* "O.1": the name of this loop in the schedule and in commands */
    /* The place of this loop in the order in which the loops of the function are printed, from 1.
     * The pieces of a cut loop have the same axis and different numbers. */
    int number;
    int n_prefetch;
    const struct prefetch *prefetch;
    /* "N.0 = 2" if this tree begins a piece, of one iteration, of the cut loop N.0; or NULL */
    const char *piece;
    bool barrier;  /* whether all threads of the block wait for each other before this tree */
    /* Asynchronous copies to shared tiles (pipeline.c). wait: before the barrier, each thread waits
     * until at most its last wait - 1 groups of copies are under way; 0: it does not wait.  commit:
     * whether, after this tree, the copies since the last commit become a group.  pipelined:
     * whether this is a loop whose tiles have stages, or the loop before such a loop that makes its
     * first copies. */
    int wait;
    bool commit, pipelined;
    /* LOOP, SCOPE, STORE: the node (stage) that it belongs to. */
    int node;
    /* SCOPE: the tile that exists only inside. */
    /* STORE: the buffer written. */
    int buffer;
    /* LOOP, SCOPE: children in order. */
    int n_kids;
    const struct tree *const *kid;
    /* STORE: buffer[idx] =, += or max= value (how), where guard is 1; NULL: everywhere. */
    int rank;
    const struct expr *const *idx;
    enum store_how how;
    const struct val *value;  /* its loads have buffer indices and physical index expressions */
    const struct expr *guard;
    bool async;                      /* STORE: whether it is an asynchronous copy, which is complete
                                      * only after a later wait */
};

struct func {
    struct exprs *pool;
    const struct graph *graph;
    int n_buffers;
    const struct buffer *buffer;     /* parameters, in tensor order, then locals */
    int n_params;
    int n_roots;
    const struct tree *const *root;  /* trees of the top level, in order */
    bool autovectorize;              /* whether the compiler may vectorize and reorder the loops */
};

int64_t buffer_bytes(const struct buffer *b);
/* Returns the row-major flat offset of an access to buffer b, simplified. */
const struct expr *buffer_offset(struct exprs *p, const struct buffer *b,
                                 const struct expr *const *idx);

/* Prints the loop nest as the paper does.  Directly nested loops of one node that begin at 0 and
 * have the same annotation share a line, if all or none are reductions and no barrier or commit is
 * between them:
 *
 *       for n, h.0 in range(1, 28):  # prefetch Inp of h.0 + 1
 *           for o.1 in vectorize(16):
 *               Conv[n][h.0][o.1] += Inp[...] * Ker[...]
 *
 * func_lines returns for each printed line its node and the number of its first loop (0 for a line
 * without a loop; the next loops of the line have the next numbers); cursors use them.  Its arrays
 * have n entries and live in a. */
struct tree_lines { int n; const char **text; int *node, *number; };
void func_print(struct str *out, const struct func *f);
struct tree_lines func_lines(struct arena *a, const struct func *f);

/* Returns the bytes of shared memory of a block that runs t.  Each piece of a cut loop (pieces.c)
 * has its own copy of a tile, with the same name; the copies share one array, which counts once. */
int64_t tree_shared_bytes(const struct func *f, const struct tree *t);
bool func_is_narrow(const struct func *f);        /* whether a buffer has a narrow type */
bool func_prefetches(const struct func *f);       /* whether a loop has a prefetch */
int64_t func_shared_bytes(const struct func *f);  /* the most that one of its trees needs */

void tree_verify(const struct func *f);  /* calls fail() when a requirement does not hold */

/* Returns the number of float operations in one call of f; a multiply-add counts 2.  If f skips
 * taps in the padding, the number is less than in the definition of the operator; if f recomputes
 * values, it is more.  0: f is too irregular to be counted in reasonable time. */
double func_flops(const struct func *f);
/* Returns how many of the operations of func_flops are in tensor blocks. */
double func_tensor_flops(const struct func *f);

/* Returns the number of products of two elements in one call of f, and with `constants` also of an
 * element and a constant.  Each takes a turn of a unit for multiply-adds.  Many CPUs have further
 * units for other additions.  0: there are none, or f is too irregular to be counted. */
double func_products(const struct func *f, bool constants);

/* Returns the number of float operations that the result of f needs: the smaller of func_flops and
 * `asked`, or `asked` if func_flops is 0.  asked: the number of operations in the definition of the
 * result.  Work that f skips or repeats therefore does not count. */
double func_needed(const struct func *f, double asked);

/* Returns how many of the `needed` operations bound the time, if a CPU has as many units for
 * additions alone as for multiply-adds, as Zen cores have.  The p products of elements take p turns
 * of the FMA units.  All q products, also those with constants, may each take one addition along;
 * with the other additions, for example in Winograd's transforms, they take needed - q turns of all
 * units.  At the peak, two operations count for each turn of an FMA unit.  At least 1, so that a
 * kernel without arithmetic gets a bound, from its bytes. */
double func_bounding(const struct func *f, double needed);

/* Returns the number of additions or maxima by which `node` accumulates in one call of f.  A value
 * with a condition (select) does not count.  However f is compiled, it executes at least this
 * number.  0: f is too irregular to be counted. */
double func_sums(const struct func *f, int node);

/* Returns the number of stores in the code of f after the marked loops are unrolled; a vector of
 * `lanes` elements is one store.  This measures the amount of code that a compiler must read. */
double func_statements(const struct func *f, int lanes);

/* An access to a parameter in a vectorized loop, whose lanes lie `stride` elements apart, so that a
 * vector is stored or loaded element by element.  axis: the loop; adjacent: the innermost enclosing
 * loop that moves the access to the next element, or NULL. */
struct lanes_apart { const char *axis, *buffer, *adjacent; int64_t stride; };
/* Finds the first such store; or with `loads` the first such load, except those of stores that only
 * copy.  Returns false when there is none. */
bool func_lanes_apart(const struct func *f, bool loads, struct lanes_apart *out);
#endif
