/* Generates code from lowered programs: plain readable C, CUDA C, and the instrumented kernel,
 * which reports the memory accesses of that code.
 *
 * The C text (PERF.md) has its own vector typedefs.  It includes no headers, except in the host
 * twin of a GPU's kernels.  Its pointers are restrict.  Unrolled register tiles are named vector
 * accumulators.  A straight line of statements loads each element once, if there are enough
 * registers: a named temporary holds an element that is used more than once.  If the variable of a
 * loop is not named like the loop in the schedule, a comment gives the name in the schedule.  gcc
 * and clang compile the text with -Wall -Wextra and without warnings. */
#ifndef TS_GEN_GEN_H
#define TS_GEN_GEN_H
#include "kernels/gen/target.h"

struct gen_opts {
    const struct target *target;
    const char *name;  /* name of the C function, e.g. "conv2d"; NULL = "kernel" */
    bool openmp;                          /* whether to emit the pragmas of parallel loops */
    const char *header;                   /* a comment at the top of the file; NULL: none */
    bool marks;                           /* whether the text gets marks for gen_take_marks */
    struct gen_work *work;  /* gen_c and walk_open add the work of the code to it; or NULL */
};

/* Cycles of one call without misses.  whole: of a CPU that starts two vector operations in a cycle;
 * halved: of one that starts one, as CPUs do that execute a wide vector in two halves. */
struct gen_cycles { double whole, halved; };

/* An estimate of what one call of a kernel executes, made from the code alone.  A value that is
 * wider than a vector of the target counts as several vectors.  The mean trip count of a loop
 * multiplies the work of its body.  The body of a condition counts as if it always ran. */
struct gen_work {
    double vector, scalar;                /* vector and scalar operations; a multiply-add is one */
    double loads, broadcasts;             /* loads of vectors, and of scalars */
    double stores, scalar_stores;
    double moves;                         /* lanes extracted or inserted, and shuffles */
    double iterations, conditions;
    double spills;                        /* loads and stores of registers that do not fit */
    double cycles;  /* without misses, on a core with two ports for arithmetic and two for loads */
    struct gen_cycles out_of_order;       /* of a CPU that overlaps short chains of updates */
    /* About the straight line that takes most cycles.  pressure: most registers that are live at
     * once; body: number of statements; chain: most updates of one register.  tile: the buffer of
     * the local tile that takes most registers of the line, or 0; tile_registers: the number of
     * registers that this tile takes. */
    double pressure, body, chain;
    int tile;
    double tile_registers;
    /* asked: a local tile of the caller's choice, or 0. asked_registers: the most registers that
     * this tile takes in a straight line. */
    int asked;
    double asked_registers;
    double statements;                    /* number of statements in the text */
};

/* A loop of the C code. node: its node in the graph; axis: its name in steps; trips: the greatest
 * number of iterations; parent: the enclosing loop, or -1; number: the loop in the lowered program
 * (struct tree). */
struct code_loop { int node; const char *axis; int64_t trips; int parent, number; };
/* The loops of a text of n lines (C or machine code), outer loops before inner ones.  of[i]: the
 * innermost loop that contains line i (counted from 0), or -1.  source[i]: for machine code, the
 * source line from which line i was compiled; NULL: it is not known.  `source` itself is NULL if no
 * such line is known. */
struct code_lines {
    int n_loops; const struct code_loop *loop;
    int n; const int *of; const char *const *source;
};
/* Removes the marks from a text. The lines are allocated in arena a. */
void gen_take_marks(struct arena *a, struct str *text, struct code_lines *lines);

/* A place in the code that accesses memory. Simulated misses are attributed to sites. text:
 * "Inp[n][h.0][...]".  The members `into` and `operand` identify the access in every schedule of
 * the operator.  The access is in the statement that computes tensor `into`; `operand` is
 * the number of loads of the same tensor before it in this statement. */
struct site { int buffer; bool is_store; const char *text; int into, operand; };

/* Generates one translation unit, where ELEM is the C type of the elements:
 *     void NAME(const ELEM *restrict Inp, ..., ELEM *restrict Conv);
 *     void ts_entry(ELEM *const *buffers);         calls NAME with the parameters in func order
 * If a buffer has a narrow type, ts_entry takes void pointers.  Fails with ERR_STEP when an
 * unrolled body is too large (*e names the loop to make serial), when the buffers have types that
 * do not go together, or when the target has no code for a loop, a tile or a tensor block of f. */
bool gen_c(const struct func *f, const struct gen_opts *o, struct str *out, struct err *e);
/* A launch of a kernel. extent: the numbers of blocks in x y z, then of threads in x y z. argument:
 * the n arguments in order, each as the number of a parameter of the func.  shared: bytes of
 * dynamic shared memory; 0 unless the kernel needs more than SHARED_BYTES. */
struct gen_launch {
    const char *name;
    int64_t extent[6], shared;
    int n;
    const int *argument;
};
struct gen_launches { int n; const struct gen_launch *launch; };
/* Generates CUDA C for a target that is a GPU: a kernel for every nest with bound loops and for the
 * code between such nests, and a comment that lists the launches in order.  The bound loops of a
 * nest are the blocks and threads of its launch.  The names of the kernels are NAME_0, NAME_1 ...
 * The launches are also stored in *launches, in the arena of f, unless launches is NULL.
 *
 * For a GPU, gen_c makes the host twin: the same kernels as C, in which one thread runs at a time,
 * block after block, and ts_entry makes the launches.  For a GPU, gen_c and gen_cuda also fail with
 * ERR_STEP when several kernels would share a value that is computed outside of all loops. */
bool gen_cuda(const struct func *f, const struct gen_opts *o, struct str *out,
              struct gen_launches *launches, struct err *e);
/* Returns how often gen_c was called, by any thread: for tests and benchmarks. */
long gen_calls(void);

/* Joins n texts from gen_c into one translation unit.  Every function of source[i] gets the
 * number first + i as suffix.  For first = 0, the entry of source[i] is therefore ts_entry_i. */
void gen_join(const char *const *source, int n, int first, struct str *out);

/* Replaces a helper by a macro, for text from gen_c that may be compiled with any flags: gcc and
 * clang warn about the ABI when a function takes or returns a vector type that the CPU lacks.  If a
 * helper that a macro can replace begins at `line`, appends the macro, sets *next to the line after
 * the helper and returns true; otherwise returns false.  A macro can replace the load, the store,
 * the maximum and the minimum of vectors, the last two only where the text does not nest them three
 * deep.  All other helpers stay functions; for these, -Wno-psabi silences the warning. */
bool gen_macro(struct str *out, const char *line, const char **next);

/* Whether every program in this text of gen_c or gen_join is under `set autovectorize on`.  clang
 * is then called without the flags that forbid it to vectorize (target_binds).  For gcc, the text
 * has pragmas. */
bool gen_autovectorizes(const char *source);

/* Whether text from gen_c calls functions of the mathematical library (link with -lm). */
bool gen_calls_libm(const char *source);

/* Generates the instrumented kernel: the loops of gen_c with one simulated access, in program
 * order, for each load and store of memory that the C code makes.  Named registers, prefetches and
 * non-temporal stores cause no simulated access.  A vector access is one access of its width.  The
 * instrumented kernel exports
 *
 *     void ts_trace(const unsigned long long *base, struct ts_sim *ts);
 *
 * base[b] is the address of buffer b (also of a local one), a multiple of the line size.  An
 * access calls ts->touch, unless it lies in one line and front[line & mask] already holds that
 * line (for a store: as a dirty line).  Only ts->touch changes front.  At the head of each
 * iteration of a marked loop (struct trace_mark) the kernel calls ts->mark, and skips the iteration
 * when ts->mark returns non-zero.  After the loop the kernel calls ts->mark with -1.
 *
 * The instrumented kernel also exports
 *
 *     void ts_count(long long *exec);
 *
 * which adds to exec[block] how often each block runs.  A block is the whole code, the body of a
 * loop or condition, or a side of a select.  The number of accesses at each site follows from
 * these counts, before any access is simulated.  Where no condition or bound inside a loop depends
 * on its variable, ts_count multiplies by the number of iterations and does not run them. */
struct ts_sim {
    const unsigned long long *front;      /* entry: 2*line + 2, plus 1 if dirty; 0: no line */
    unsigned long long mask;
    void (*touch)(struct ts_sim *ts, unsigned long long addr, unsigned site, unsigned bytes);
    int (*mark)(struct ts_sim *ts, int mark);
};
/* Every run of `block` makes n accesses at `site`.  streamed: the bytes of one access if the
 * accesses are non-temporal stores, which the instrumented kernel does not report; else 0. */
struct trace_use { int block, site, n, streamed; };
/* A marked loop: the one loop of a nest whose iterations are sampled and shown over time. It is the
 * outermost loop, or a loop further inside whose iterations are still long enough.  block: the body
 * of the loop.  loops: the names of the axes from the outermost loop to this one; most loops of one
 * iteration are left out. */
#define GEN_MAX_MARKS 64
struct trace_mark { int block; const char *loops; };
struct trace_table {
    int n_sites, n_uses, n_blocks, n_marks;
    const struct site *site;
    const struct trace_use *use;
    /* per block: the number of the marked loop that contains it, or -1 */
    const int *block_mark;
    const struct trace_mark *mark;
};
/* Generates the instrumented kernel. line_bytes: size of a cache line, a power of 2. *table is in
 * the arena of f. */
bool gen_trace(const struct func *f, const struct gen_opts *o, int line_bytes, struct str *out,
               struct trace_table *table, struct err *e);

/* Generates a loop of fused multiply-adds on registers, whose speed is the ceiling for every
 * kernel of this type.  Exports ts_entry as gen_c does.  Returns the FLOPs of one call. */
double gen_peak(const struct target *t, const struct elem_type *type, struct str *out);
/* Generate loops that only move memory.  gen_load loads an array of `bytes` bytes as vectors again
 * and again; gen_copy copies one half of such an array to the other half.  Each thread that calls
 * ts_entry has its own array.  Return how many bytes a call moves; a copied byte counts twice, as
 * read and as written. */
double gen_load(const struct target *t, const struct elem_type *type, int64_t bytes,
                struct str *out);
double gen_copy(const struct target *t, const struct elem_type *type, int64_t bytes,
                struct str *out);
/* Prints the unscheduled C of a graph in double precision, for the self-check of an exported
 * file.  Every tensor of the graph is a parameter, in order; inputs and constants are const:
 *
 *     void NAME(const double *Inp, const double *Ker, double *Conv);
 *
 * It defines no name that the text of gen_c defines, so that both can stand in one file. */
void gen_reference(const struct graph *g, const char *name, struct str *out);
#endif
