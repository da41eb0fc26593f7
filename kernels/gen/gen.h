/* Code from lowered programs: plain readable C, and its tracing twin.
 *
 * Form (PERF.md): own vector typedefs and no headers; restrict pointers; fully unrolled
 * register tiles as named vector accumulators; every load of a straight-line block in a named
 * temporary, once; a comment on each loop with its schedule name.  Warning-free under gcc and
 * clang -Wall -Wextra. */
#ifndef TS_GEN_GEN_H
#define TS_GEN_GEN_H
#include "kernels/gen/target.h"

struct gen_opts {
    const struct target *target;
    const char *name;                     /* the C function, e.g. "conv2d"; NULL = "kernel" */
    bool openmp;                          /* emit the pragmas of parallel loops */
    const char *header;                   /* for the top of the file, as a comment; or NULL */
};

/* A place in the code that touches memory: what misses are attributed to. */
struct site { int buffer; bool is_store; const char *text; };       /* "Inp[n][h.0][...]" */

/* One translation unit:
 *     void NAME(const float *restrict Inp, ..., float *restrict Conv);
 *     void ts_entry(float *const *buffers);        calls NAME with the parameters in func order
 * ERR_STEP when the unrolled body is too large (the text says which unroll to drop). */
bool gen_c(const struct func *f, const struct gen_opts *o, struct str *out, struct err *e);
/* How often it was called, by any thread: for tests and benchmarks. */
long gen_calls(void);

/* n texts from gen_c as one translation unit: every function of source[i] has the suffix _i, so
 * ts_entry_i is its entry. */
void gen_join(const char *const *source, int n, struct str *out);

/* For text from gen_c that is compiled by any flags.  Where line begins a helper that takes
 * vectors, and a macro does the same, writes the macro, sets *next to the line behind the helper
 * and is true: a vector that the CPU lacks must not cross a call, or gcc and clang have a word to
 * say about its ABI.  Shuffles, streamed stores and functions stay: for them there is
 * -Wno-psabi. */
bool gen_macro(struct str *out, const char *line, const char **next);

/* Does text from gen_c call functions of the mathematical library (link with -lm)? */
bool gen_calls_libm(const char *source);

/* The tracing twin: the same loops; for every load and store that gen_c's code does to memory
 * (named registers do none) one access, in program order.  A vector access is one access of its
 * width.  Exports
 *     void ts_trace(const unsigned long long *base, struct ts_sim *ts);
 * base[b] is the address given to buffer b (locals too), a multiple of the line.  An access calls
 * ts->touch unless it lies in one line, and front[line & mask] holds that line (for a store: as a
 * dirty one); front is kept by touch alone.  At the head of each iteration of a marked loop
 * (struct trace_mark) it calls ts->mark, and leaves the iteration out when that is not 0; behind
 * the loop it calls ts->mark with -1.
 *     void ts_count(long long *exec);
 * adds to exec[block] how often each block of the twin is run, without walking the loops that no
 * condition or bound depends on.  So how many accesses a kernel makes, and where, is known before
 * any of them is simulated, and exactly. */
struct ts_sim {
    const unsigned long long *front;      /* 2 * line + 2, plus 1: dirty; 0: unknown */
    unsigned long long mask;
    void (*touch)(struct ts_sim *ts, unsigned long long addr, unsigned site, unsigned bytes);
    int (*mark)(struct ts_sim *ts, int mark);
};
/* Every run of block makes n accesses of site; streamed: each stores so many bytes past the caches,
 * and the twin does not show them; 0: they go through them. */
struct trace_use { int block, site, n, streamed; };
/* The loop of one nest that is fit to be cut into samples and drawn along time: outermost, or as
 * far inside as iterations stay long.  Its body is block; loops are the axes down to it. */
struct trace_mark { int block; const char *loops; };
struct trace_table {
    int n_sites, n_uses, n_blocks, n_marks;
    const struct site *site;
    const struct trace_use *use;
    const int *block_mark;                /* per block: the mark that it runs under; -1 */
    const struct trace_mark *mark;
};
/* For lines of line_bytes (a power of two); *table lives in f's arena. */
bool gen_trace(const struct func *f, const struct gen_opts *o, int line_bytes, struct str *out,
               struct trace_table *table, struct err *e);

/* A loop that does nothing but fused multiply-adds on registers: the ceiling every kernel is
 * compared with. Exports void ts_entry(float *const *buffers); returns its FLOP count per
 * call. */
double gen_peak(const struct target *t, struct str *out);
/* Loops that only move memory: vector loads of `bytes` over and over, and copies of one half of
 * them to the other.  Each thread that calls ts_entry has memory of its own.  They return how many
 * bytes a call moves; a copied byte counts twice, as read and as written. */
double gen_load(const struct target *t, int64_t bytes, struct str *out);
double gen_copy(const struct target *t, int64_t bytes, struct str *out);
/* The plain, unscheduled C of a graph in double precision (for export's self-check).  Every
 * tensor of the graph is a parameter, in order, inputs and constants const:
 *     void NAME(const double *Inp, const double *Ker, double *Conv);
 * Defines no name that gen_c's text defines, so both can stand in one file. */
void gen_reference(const struct graph *g, const char *name, struct str *out);
#endif
