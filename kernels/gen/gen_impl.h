/* Code: the last form of a program before text, private to gen/.
 *
 * A lowered tree becomes code by a short list of passes (gen.c). `build` unrolls loops and turns
 * vector loops into statements on lanes.  `tidy` moves conditions out of loops.  `promote` turns
 * local buffers into named registers.  `hoist` keeps elements in registers that a loop updates.
 * `combine` does the same for a straight line of statements.  `dead` drops what nothing reads.
 * `share` lets a straight line load every element once, if there are enough registers.  `prefetch`
 * adds prefetches, but not for a GPU.  For a GPU there are three more: the copies of a block are
 * divided among its threads, tensor blocks are checked, and stores are paired.
 *
 * Printers then read the result: print_c.c writes it as C, print_cuda.c as CUDA C.  print_trace.c
 * writes the instrumented kernel, which reports the memory accesses of the same statements, without
 * the prefetches.  The trace can therefore not differ from the code. */
#ifndef TS_GEN_IMPL_H
#define TS_GEN_IMPL_H
#include "kernels/base/vec.h"
#include "kernels/gen/gen.h"
#include "kernels/gen/names.h"

/* Pragmas before and after the functions of a program under `set autovectorize on`.  They are for
 * gcc only: clang has no options for single functions. */
#define GEN_FREE \
    "/* The compiler may vectorize and reorder these loops. */\n" \
    "#if defined __GNUC__ && !defined __clang__\n#pragma GCC push_options\n" \
    "#pragma GCC optimize (\"tree-loop-vectorize\", \"tree-loop-distribute-patterns\")\n" \
    "#endif\n"
#define GEN_BOUND \
    "\n#if defined __GNUC__ && !defined __clang__\n#pragma GCC pop_options\n#endif\n"
#define GEN_MARK '\001'                   /* begins a line of gen_opts.marks (marks.c) */
#define GEN_MAX_STATEMENTS 4096           /* most statements of one unrolled body (SPEC D.5) */

/* The elements [base + rest, base + rest + lanes) of a buffer. base contains the loop variables and
 * is canonical, so that two places with the same base differ by their rests. again: the number of
 * the copy of the pointer (CODE_AGAIN) through which the access goes; 0: the pointer itself. */
struct place { int buffer; const struct expr *base; int64_t rest; int lanes; int again; };

enum term_kind {
    TERM_CONST, TERM_LOAD, TERM_REG, TERM_BIN, TERM_CALL, TERM_SELECT, TERM_GATHER,
    TERM_SHUFFLE
};

/* A value.  With lanes == 1 it is a scalar.  A scalar that is combined with a vector stands for a
 * vector with this scalar in every lane. */
struct code_term {
    enum term_kind kind;
    int lanes;
    double value;                         /* CONST: the value */
    struct place at; int site;            /* LOAD: the place, and its site */
    int reg, lane;                        /* REG: the register; lane >= 0: only this lane */
    /* BIN, CALL: the operation.  A call of + or max combines the lanes of its operand to one */
    enum val_kind op;
    const struct expr *cond;              /* SELECT: cond ? a : b */
    struct code_term *a, *b;              /* operands of BIN and SELECT; CALL, SHUFFLE: only a */
    struct code_term **part;              /* GATHER: a scalar for each lane */
    const int *pick;                      /* SHUFFLE: lane l is lane pick[l] of a */
};

/* A named variable of the C text. */
struct reg {
    const char *stem, *suffix;  /* "acc" "0_1"; suffix NULL: the printer chooses a number */
    int lanes;
    const struct code *decl;              /* the statement that declares it, or NULL */
    struct block *scope;  /* the block that declares it at its top, or NULL (code_declare) */
    const char *name;                     /* C name, chosen by the printer */
    int tile;                             /* the local buffer whose piece it holds; 0: none */
};

struct block { struct code **item; int n, cap; };

enum code_kind { CODE_NOTE, CODE_FOR, CODE_IF, CODE_SCOPE, CODE_SET, CODE_AGAIN, CODE_AHEAD,
                 CODE_PICK, CODE_BARRIER, CODE_FRAGMENT, CODE_TENSOR };

struct code {
    enum code_kind kind;
    /* NOTE: the text of the comment. Others: a comment printed at the head, or NULL */
    const char *note;
    struct block body;                    /* FOR, IF, SCOPE: the statements inside */
    /* FOR: var in [begin, end). PICK: var is the index that `value` selects (VAL_PICK). A PICK ends
     * a straight line of code; its variable is visible in the rest of the block. */
    const struct expr *var, *begin, *end;
    enum loop_ann ann;                    /* FOR: SERIAL, PARALLEL or bound */
    bool reduce;
    const char *axis;
    int node;                             /* FOR: the node that the loop belongs to */
    int number;                           /* FOR: the loop in the tree (struct tree) */
    int n_prefetch;
    const struct prefetch *prefetch;
    const struct expr *cond;              /* IF: the condition */
    /* SCOPE: the array declared here; -1: registers have replaced it, or it is never read. AGAIN:
     * the buffer whose pointer is copied */
    int buffer;
    int again;                            /* AGAIN: the number of the copy */
    /* AHEAD: prefetches the cache line of the element that lies `by` elements after `at` */
    const struct expr *by;
    /* SET: the destination, a register (reg >= 0; lane >= 0: one lane of it) or the place `at` */
    int reg, lane;
    struct place at;
    enum store_how how;
    struct code_term *value;              /* SET: the value stored; PICK: a scalar */
    bool async;                           /* SET: an asynchronous copy to a shared tile */
    /* BARRIER: its kind; left: how many groups of copies may be under way after SYNC_WAIT */
    enum { SYNC_BARRIER, SYNC_COMMIT, SYNC_WAIT } sync;
    int left;
    /* FRAGMENT: loads fragment[0] from the places that value gathers.  TENSOR: adds the product of
     * fragment[0] and fragment[1] to the results that value gathers (tensor.c). */
    int fragment[2];
    /* SET in memory: the sites of the store, and of the load that += and max= make before it */
    int site_load, site_store;
};

/* The part of an operand of a tensor block that one lane loads into 4 registers (tensor.c).  way:
 * how the lane loads.  ROWS, COLUMNS: by ldmatrix, which for COLUMNS transposes.  PAIRS: two
 * elements of 16 bits at once.  ELEMENTS: elements of 16 bits one by one.  WORDS: one element of 32
 * bits for each register.  n: the number of places that the lane loads from. */
enum fragment_way { FRAGMENT_ROWS, FRAGMENT_COLUMNS, FRAGMENT_PAIRS, FRAGMENT_ELEMENTS,
                    FRAGMENT_WORDS };
#define FRAGMENT_LOADS 8
#define TENSOR_RESULTS 8                  /* results of a tensor block in one lane */
struct fragment {
    enum fragment_way way;
    int n, buffer;
    bool is_a;
    const char *name;                     /* C name, chosen by the printer */
};

struct unit {
    struct arena *arena;                  /* lives until unit_close */
    const struct func *func;
    const struct gen_opts *opts;
    const struct elem_type *type;         /* the type of all registers */
    const struct elem_type *narrow;  /* the type of the narrow buffers (type_is_narrow); or NULL */
    int lanes;                            /* lanes of the target's vectors of this type */
    struct block body;
    VEC(struct reg) regs;
    VEC(struct fragment) fragments;
    VEC(struct site) sites;
    int n_again;                          /* number of copies of pointers (CODE_AGAIN) */
};

/* Runs the passes on a lowered program. Call unit_close after it, even if it fails. */
bool unit_open(struct unit *u, const struct func *f, const struct gen_opts *o, struct err *e);
void unit_close(struct unit *u);
/* The passes, in order.  code_share_threads: for a GPU only. */
void code_share_threads(struct unit *u);
/* Returns the variable of a kernel that holds the number of a thread in its block of n threads; x
 * varies fastest. */
const struct expr *code_thread_var(struct unit *u, int64_t n);
bool code_build(struct unit *u, struct err *e);
void code_tidy(struct unit *u);
void code_promote(struct unit *u);
void code_hoist(struct unit *u);
void code_combine(struct unit *u);
void code_drop_dead(struct unit *u);
void code_share(struct unit *u);
void code_prefetch(struct unit *u);       /* for CPUs only */
void code_pair_stores(struct unit *u);    /* for a GPU only */
void code_declare(struct unit *u);        /* decides where each register is declared */

/* Appends the OpenMP pragma of a parallel loop.  The pragma may also cover the parallel loops
 * directly inside (team.c). */
void code_team(const struct code *c, struct str *out);
/* Adds what the code executes to *out (work.c). */
void code_count_work(struct unit *u, struct gen_work *out);

/* Whether every kernel of a GPU can be a function of its own: no two of them share registers that
 * are set outside of all loops (print_cuda.c). */
bool code_has_kernels(const struct unit *u, struct err *e);
/* Prints CUDA C.  Stores the launches in *launches, in arena a, unless launches is NULL. */
void code_print_cuda(struct unit *u, struct arena *a, struct str *out,
                     struct gen_launches *launches);
/* Returns the end of the kernel that begins at item i.  A bound nest is a kernel of its own; all
 * items before the next bound nest are one kernel. */
int code_kernel_end(const struct block *b, int i);
/* Raises extent (of blocks x y z, threads x y z) to the extents of the bound loops in a block. */
void code_find_launch(const struct block *b, int64_t *extent);

/* Adds the code of the tensor block that begins at t.  lane: the variable of the lane.  sites: the
 * sites of the two factors, in the order of the tree, and of the result. */
struct env;
struct tensor_sites { int a, b, result; };
void code_build_tensor(struct unit *u, struct env *env, const struct tree *t,
                       const struct expr *lane, const struct tensor_sites *sites,
                       struct block *out);
/* Whether the results of all tensor blocks are in registers. Requires that code_promote has run. */
bool code_tensors_in_registers(const struct unit *u, struct err *e);

/* Prints the instrumented kernel. Fills in its table, except for the sites, in arena `a`. */
void code_print_trace(struct unit *u, int line_bytes, struct arena *a, struct str *out,
                      struct trace_table *table);

/* Declares the vector type of the ceilings' loops: "typedef float vec ...;" (peak.c). */
void gen_vector(const struct target *t, const struct elem_type *type, struct str *out);

/* Construction and queries (code.c). */
/* Returns the largest possible number of iterations of a FOR, at least 1. */
double code_trips(const struct code *c);
void block_add(struct unit *u, struct block *b, struct code *c);
static inline bool code_has_value(const struct code *c)
{
    return c->kind == CODE_SET || c->kind == CODE_PICK || c->kind == CODE_FRAGMENT
        || c->kind == CODE_TENSOR;
}
/* Returns the index after the straight line (SET and NOTE) that starts at item i. */
int block_line_end(const struct block *b, int i);
struct code *code_new(struct unit *u, enum code_kind kind);
struct code *code_set_reg(struct unit *u, int reg, enum store_how how, struct code_term *value);
struct code_term *term_new(struct unit *u, enum term_kind kind, int lanes);
struct code_term *term_const(struct unit *u, double value);
struct code_term *term_reg(struct unit *u, int reg);
struct code_term *term_load(struct unit *u, const struct place *at, int site);
int reg_new(struct unit *u, const char *stem, const char *suffix, int lanes, struct block *scope);
/* Returns a short name for registers: "Conv_acc" -> "acc", "BiasAdd_tile" -> "biasadd". */
const char *code_stem(struct unit *u, const char *buffer_name);
bool place_same(const struct place *x, const struct place *y);
/* Whether x and y provably share no element. */
bool place_apart(const struct place *x, const struct place *y);
/* Whether every address of p is a multiple of the size of p, given that the buffer starts at a
 * cache line. */
bool place_aligned(const struct unit *u, const struct place *p);
int place_bytes(const struct unit *u, const struct place *p);
/* Whether this statement is a non-temporal store: it sets a whole aligned vector, of 16 bytes or
 * more, of a buffer that is streamed. */
bool code_streams(const struct unit *u, const struct code *c);
bool expr_uses_any(const struct expr *e, const struct expr *const *vars, int n);
bool expr_vars_within(const struct expr *e, const struct expr *const *vars, int n);

/* A memory access of statement `set`. in_select: the access happens only if a select chooses its
 * value. */
struct access {
    struct place *at;
    struct code_term *load;               /* NULL: the access is the destination of set */
    struct code *set;
    struct block *block;                  /* the block that contains set */
    bool in_select;
};
typedef void access_fn(void *ctx, const struct access *a);
/* Calls f for every access of the code in b, and in the blocks inside b.  An update (+=, max=) is
 * one access to its destination.  Prefetches are no accesses. */
void code_each_access(struct block *b, access_fn *f, void *ctx);
/* Returns one flag per buffer: whether the code in b stores to it. */
bool *code_stored(struct unit *u, struct block *b);
void term_each_load(struct code_term *t, void (*f)(void *ctx, struct code_term *load,
                                                   bool in_select),
                    void *ctx);

/* Accesses (accesses.c).  code_reads returns the number of loads in a value, including both sides
 * of every select.  block_touches: whether the code accesses memory.  block_accesses returns the
 * largest number of accesses that the code can make.  block_asks: whether a condition or the bound
 * of a loop depends on var. */
int code_reads(const struct code_term *t);
bool block_touches(const struct block *b);
double block_accesses(const struct block *b);
bool block_asks(const struct block *b, const struct expr *var);
/* The marked loops of a kernel, and the axes down to each (struct trace_mark). */
struct marked { int n; const struct code *loop[GEN_MAX_MARKS]; const char *axes[GEN_MAX_MARKS]; };
/* Chooses the loop to mark in each nest of b, and adds it to *m, which begins empty. */
void code_find_marks(const struct block *b, struct arena *a, struct marked *m);
/* Returns the number of loop c among the marked loops, or -1. */
int code_mark_of(const struct marked *m, const struct code *c);

/* Addresses (address.c).  A struct env has the values of the variables of the loops that are being
 * unrolled, and the lanes of the enclosing vector loop. */
struct env;
struct env *env_new(struct unit *u);
void env_free(struct env *v);
void env_bind(struct env *v, const struct expr *var, int64_t value);      /* an unrolled variable */
void env_rename(struct env *v, const struct expr *var, const struct expr *with);
void env_unbind(struct env *v);  /* removes the variable bound last */
/* Sets the vector loop around the next statements: `var` has the values first .. first + lanes - 1.
 * NULL, 0, 1: there is no vector loop. */
void env_set_lanes(struct env *v, const struct expr *var, int64_t first, int lanes);
int env_lanes(const struct env *v);       /* lanes of the vector loop; 1 outside of vector loops */
const struct expr *env_lane_var(const struct env *v);
int64_t env_lane_first(const struct env *v);
/* Replaces known variables in e and simplifies. *by_lane: the result still depends on the lane. */
const struct expr *env_expr(struct env *v, const struct expr *e, bool *by_lane);
/* Sets *at to the element that lane 0 accesses (at->lanes = 1), and *step to the number of elements
 * from one lane to the next. Returns false when the address is not linear in the lane. */
bool env_place(struct env *v, int buffer, const struct expr *const *idx, struct place *at,
               int64_t *step);
#endif
