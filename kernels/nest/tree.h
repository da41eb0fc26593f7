/* The lowered program: a tree of loops and stores over physical buffers.  Built fresh from a
 * program (lower.h), never edited; the printers, the code generators and the interpreter all read
 * this.
 *
 * Requirements (tree_verify checks them): loop variables on one path are distinct; every index
 * expression is in bounds of its buffer wherever its guard holds; loops annotated VECTORIZE contain
 * only stores and UNROLL loops; the buffers of a SCOPE are used only inside it. */
#ifndef TS_NEST_TREE_H
#define TS_NEST_TREE_H
#include "kernels/layout/layout.h"

enum loop_ann { LOOP_SERIAL, LOOP_PARALLEL, LOOP_VECTORIZE, LOOP_UNROLL };
extern const char *const loop_ann_name[];              /* "range" "parallel" "vectorize" "unroll" */

/* Where a buffer lies: a parameter of the function is in global memory, what lives inside one SCOPE
 * is local (the stack and registers). */
enum memory_scope { MEMORY_GLOBAL, MEMORY_LOCAL };

struct buffer {
    const char *name;                /* "Conv"; the accumulator tile of Conv is "Conv_acc", a tile
                                      * of Inp "Inp_tile" */
    int tensor;                      /* graph tensor it holds (also for tiles: misses are attributed
                                      * to it) */
    enum memory_scope memory;
    bool written, read;              /* by the function */
    bool stream;                     /* stored past the caches, where the code can */
    int rank;
    int64_t shape[MAX_DIMS];
    int64_t elems;                   /* row-major product of shape; f32 */
    const struct layout *layout;     /* of a parameter, for its notation; else NULL */
    const char *holds;               /* of a parameter with others stored inside: "K=64 holds Bias",
                                      * a line each; else NULL */
};

/* Of a loop: while an iteration runs, the lines that the one `ahead` further on reads of a buffer
 * are asked for.  It changes no value. */
struct prefetch { int buffer; int64_t ahead; };

enum tree_kind { TREE_LOOP, TREE_SCOPE, TREE_STORE };
enum store_how { STORE_SET, STORE_ADD, STORE_MAX };    /* = , += , = max(old, new) */

struct tree {
    enum tree_kind kind;
    /* LOOP: for var in [begin, end); NULL bounds mean 0 and extent. */
    const struct expr *var;
    int64_t extent;
    const struct expr *begin, *end;
    enum loop_ann ann;
    bool reduce;
    const char *axis;                /* "O.1": the schedule's name of this loop (":" commands use
                                      * it) */
    int n_prefetch;
    const struct prefetch *prefetch;
    const char *piece;               /* "N.0 = 2": with this tree begins the one iteration that is
                                      * left of loops that were cut; or NULL.  For readers */
    /* LOOP, SCOPE, STORE: which node (stage) it belongs to. */
    int node;
    /* SCOPE: the local buffer that lives here. */
    /* STORE: the buffer written. */
    int buffer;
    /* LOOP, SCOPE: children in order. */
    int n_kids;
    const struct tree *const *kid;
    /* STORE: buffer[idx] how value, only where guard is 1 (NULL = always). */
    int rank;
    const struct expr *const *idx;
    enum store_how how;
    const struct val *value;         /* loads carry buffer indices and physical index expressions */
    const struct expr *guard;
};

struct func {
    struct exprs *pool;
    const struct graph *graph;
    int n_buffers;
    const struct buffer *buffer;     /* parameters first, in tensor order, then locals */
    int n_params;
    int n_roots;
    const struct tree *const *root;  /* top-level trees, in order */
};

/* Row-major flat offset of an access to buffer b, simplified. */
const struct expr *buffer_offset(struct exprs *p, const struct buffer *b,
                                 const struct expr *const *idx);

/* The loop nest as the paper prints it: consecutive perfect loops of one annotation share a line
 *   for n, h.0 in range(1, 28):  # prefetch Inp of h.0 + 1
 *       for o.1 in vectorize(16):
 *           Conv[n][h.0][o.1] += Inp[...] * Ker[...]
 * line_node and line_axis (may be NULL) receive, per printed line, the node and the axis name of
 * the line's first loop (NULL on store lines), for cursors; they are arena arrays of *n_lines. */
struct tree_lines { int n; const char **text; int *node; const char **axis; };
void func_print(struct str *out, const struct func *f);
struct tree_lines func_lines(struct arena *a, const struct func *f);

void tree_verify(const struct func *f);                /* fail()s on a broken requirement */

/* Float operations that one call of f executes (a multiply-add counts 2): fewer than the operator's
 * when taps in the padding are skipped, more when values are computed again.  0: too irregular to
 * be counted in reasonable time. */
double func_flops(const struct func *f);

/* Additions and maxima by which one node accumulates in one call of f, but for those of values that
 * a condition selects: no right compilation does fewer.  0: as above. */
double func_sums(const struct func *f, int node);

/* How many stores of scalars or of vectors of so many lanes the code of f has once its loops are
 * written out as they are marked: what a compiler will have to read. */
double func_statements(const struct func *f, int lanes);

/* Interprets f on physical buffers data[buffer] (params given; locals are made inside); the oracle
 * for generated code. */
void func_interpret(const struct func *f, float *const *data);
#endif
