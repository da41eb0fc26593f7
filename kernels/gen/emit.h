/* Declarations that the printers of code share: names, index expressions, loops, and the types and
 * helpers that a unit needs.  Private to gen/. */
#ifndef TS_GEN_EMIT_H
#define TS_GEN_EMIT_H
#include "kernels/gen/gen_impl.h"

/* Helpers of tensor blocks (print_tensor.c). */
struct tensor_needs { bool rows, columns, pair, both, mma; };

/* The vector types and helper functions that the text uses.  Arrays of GEN_MAX_LANES + 1 elements
 * have an element for each number of lanes; 1: the helper of scalars. */
struct needs {
    bool floor_div, floor_mod, min_index, max_index, rolled, rolled_pair, pick, swizzle;
    bool again[2], prefetch[2];           /* [0]: for the type of registers; [1]: the narrow type */
    bool copy[2][GEN_MAX_LANES + 1];      /* for a GPU; [0] and [1] as above */
    bool type[GEN_MAX_LANES + 1], load[GEN_MAX_LANES + 1], store[GEN_MAX_LANES + 1];
    bool stream[GEN_MAX_LANES + 1];
    bool call[VAL_KIND_COUNT][GEN_MAX_LANES + 1];
    bool splat[GEN_MAX_LANES + 1], max[GEN_MAX_LANES + 1], min[GEN_MAX_LANES + 1];
    bool le[GEN_MAX_LANES + 1], keep[GEN_MAX_LANES + 1];
    struct tensor_needs tensor;
    bool copy_async[17];                  /* per number of bytes that a call copies */
    bool store_pair;                      /* for a GPU: a store of two narrow elements */
    struct {                              /* conversions of the narrow type (narrow.c) */
        bool get, put, load[GEN_MAX_LANES + 1], store[GEN_MAX_LANES + 1];
        bool stream[GEN_MAX_LANES + 1];
    } narrow;
};

/* A named pointer to buffer[base + rest], for accesses of a straight line with the same base. */
struct pointer {
    int buffer;
    const struct expr *base;
    int64_t rest;
    bool written;  /* whether the code writes through it; if not, it is const */
    const char *name;
    int at;                               /* the index of `name` among the claimed names */
};

struct emit {
    struct unit *u;
    struct str *out;
    struct names *names;
    struct needs needs;
    int64_t on_stack;                     /* bytes of the visible arrays that are on the stack */
    const char **buffer;                  /* per buffer that is visible here: its C name */
    bool *touched;                        /* per buffer: whether the text uses its name */
    bool *streamed;                       /* per buffer: whether the text stores past the caches */
    const char **again;  /* names of the copies of pointers (CODE_AGAIN), by number of the copy */
    VEC(struct pointer) pointers;         /* pointers that are visible here */
    const char *prefix;                   /* prefix of the names of index helpers */
    struct str statics;                   /* text of functions that return large local arrays */
    const char **of_thread;      /* per buffer: the name reserved for its function in `statics` */
    bool *has_memory;                     /* per buffer: whether `statics` has its function */
    VEC(const struct code_term *) shuffles;  /* helper shuffle<k> makes element k */
    int depth;                            /* levels of indentation */
    bool in_parallel;                     /* whether an enclosing loop has an OpenMP pragma */
    bool gpu;  /* the code is for a GPU: bound loops are indices, nothing is prefetched */
    bool twin;                            /* whether accesses of shared arrays are watched */
    bool async;                           /* whether the store printed now is a copy_async */
    int *shared;                          /* per buffer: the number of its shared array */
    int64_t most_on_stack;                /* the greatest on_stack so far */
    const char *index;                    /* the C type of indices: "long" */
};

/* Whether the elements of a buffer are converted when they are loaded and stored. */
static inline bool emit_converts(const struct emit *m, int buffer)
{
    return type_is_narrow(m->u->func->buffer[buffer].type);
}

/* Returns the C type of the elements behind the pointers of ts_entry. */
static inline const char *emit_entry_type(const struct unit *u)
{
    return u->narrow ? "void" : u->type->c;
}

/* Begins the text: claims the names of the parameters. */
void emit_open(struct emit *m, struct unit *u, struct str *out);
void emit_close(struct emit *m);
/* Prints "void NAME(TYPE Inp, TYPE Conv)"; type[i] is the type of parameter i. */
void emit_signature(struct emit *m, const char *name, const char *const *type);
void emit_line(struct emit *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void emit_indent(struct emit *m);
/* Prints e + plus as C, in parentheses if this expression binds looser than min_prec: 0 condition,
 * 4 sum, 5 product, 6 primary. */
void emit_index(struct emit *m, const struct expr *e, int64_t plus, int min_prec);
/* Returns the bounds of a loop as text.  If `named` is true and the bounds are too long for the
 * line of the loop, first prints variables for the bounds that are not constant, and returns the
 * names of these variables. */
struct bounds { const char *begin, *end; };
struct bounds emit_bounds(struct emit *m, const struct code *c, bool named);
/* Prints "for (long k = 0; k < 8; k++) {" and claims the name of the variable.  The caller must
 * close the brace. */
void emit_for(struct emit *m, const struct code *c, const struct bounds *b);
/* Prints t as a value of `lanes` lanes. */
void emit_value(struct emit *m, const struct code_term *t, int lanes);
/* emit_place prints a place as "C[8*n + 3]" or "c[3]"; emit_address prints the address of a place
 * as "&C[8*n + 3]" or "c + 3". stored: whether the code writes to the place. */
void emit_place(struct emit *m, const struct place *at, bool stored);
void emit_address(struct emit *m, const struct place *at, bool stored);

/* Pointers (pointers.c).  Declares a pointer for each place.base that b[from, to) uses often enough
 * to pay, unless a visible pointer can address it. */
void pointers_declare(struct emit *m, const struct block *b, int from, int to);
/* Returns the pointer that can address `at`, or NULL. */
const struct pointer *pointers_find(const struct emit *m, const struct place *at, bool stored);
/* Makes the compiler forget what it knows about the read-only pointers to this buffer. Returns
 * false when there are none. */
bool pointers_again(struct emit *m, int buffer);
/* Ends the scope that began at mark: its names and its pointers are no longer visible. */
void emit_leave(struct emit *m, int mark);
/* The body of the helper that picks an index (val_picked). */
#define PICK_BODY \
    "{\n    x = x < 0 ? x + hi + 1 : x;\n    return x >= hi ? hi : x > 0 ? (long)x : 0;\n}\n"
/* code_print_shape prints the shape of a buffer, "[2][8]"; code_print_block prints the statements
 * of a block (print_c.c). */
void code_print_shape(struct str *out, const struct buffer *b);
void code_print_block(struct emit *m, const struct block *b);
/* Appends the typedefs and helper functions that m->needs lists, and an empty line. */
void emit_helpers(struct emit *m, struct str *out);
/* Helpers that load and store buffers of a narrow type (narrow.c).  They convert, because the code
 * computes in the type of its registers.  narrow_prefix returns the prefix of the names of these
 * helpers for a buffer: "bf16_", or "" if the buffer is not narrow.  narrow_type_prefix returns the
 * prefix for a type.  narrow_helpers appends the typedef and the helpers that m->needs lists. */
const char *narrow_prefix(const struct emit *m, int buffer);
const char *narrow_type_prefix(const struct emit *m, const struct elem_type *type);
void narrow_helpers(struct emit *m, struct str *out);
/* Tensor blocks (print_tensor.c): print their statements and the helpers that m->needs lists. */
void code_print_fragment(struct emit *m, const struct code *c);
void code_print_tensor(struct emit *m, const struct code *c);
void tensor_helpers(const struct emit *m, struct str *out);
/* code_print_async prints an asynchronous copy; code_print_sync prints a barrier, wait or commit;
 * async_helpers appends the helpers that m->needs lists (print_async.c). */
void code_print_async(struct emit *m, const struct code *c);
void code_print_sync(struct emit *m, const struct code *c);
void async_helpers(const struct emit *m, struct str *out);
/* Appends the mathematical functions that *n lists for vectors with this number of lanes
 * (functions.c).  functions_need_masks: whether these functions need the type of masks, "i8" for 8
 * lanes. */
void functions_emit(struct str *out, const struct elem_type *type, const struct needs *n,
                    int lanes);
bool functions_need_masks(const struct elem_type *type, const struct needs *n, int lanes);
/* Appends C text.  Breaks indented statements of more than MAX_COLUMNS after an operator or comma;
 * comments and directives stay as they are. */
#define MAX_COLUMNS 100
void emit_wrapped(struct str *out, const char *text);
/* Appends text as a comment block, or as it is when it already is a comment. */
void emit_comment(struct str *out, const char *text);
#endif
