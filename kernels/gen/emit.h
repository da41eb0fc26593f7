/* Shared by the printers of code: names, index expressions, loops, and the types and helpers that
 * a unit needs.  Private to gen/. */
#ifndef TS_GEN_EMIT_H
#define TS_GEN_EMIT_H
#include "kernels/gen/gen_impl.h"

/* Per number of lanes: vector types and helper functions that the text uses. */
struct needs {
    bool floor_div, floor_mod, min_index, max_index, rolled, again, prefetch;
    bool type[GEN_MAX_LANES + 1], load[GEN_MAX_LANES + 1], store[GEN_MAX_LANES + 1];
    bool stream[GEN_MAX_LANES + 1];
    bool call[VAL_KIND_COUNT][GEN_MAX_LANES + 1];
    bool splat[GEN_MAX_LANES + 1], max[GEN_MAX_LANES + 1], min[GEN_MAX_LANES + 1];   /* 1: scalar */
};

/* A named pointer to buffer[base + rest], the common part of the addresses in a straight line. */
struct pointer {
    int buffer;
    const struct expr *base;
    int64_t rest;
    bool written;                         /* the code writes through it, so it is not const */
    const char *name;
    int at;                               /* its position among the claimed names */
};

struct emit {
    struct unit *u;
    struct str *out;
    struct names *names;
    struct needs needs;
    int64_t on_stack;  /* bytes of the local arrays that are visible here */
    const char **buffer;                  /* C names; NULL: not visible here */
    bool *touched;                        /* whether the text uses this buffer */
    const char **again;                   /* names of the copies of pointers */
    VEC(struct pointer) pointers;         /* pointers declared at this point */
    const char *prefix;                   /* prefix of the names of index helpers */
    struct str statics;                   /* functions that return the unit's own arrays */
    struct str shared;                    /* "B_tile, C_tile": arrays that all calls share */
    const char **of_thread;               /* names of these arrays, by buffer */
    bool *has_memory;                     /* whether its function is already in statics */
    VEC(const struct code_term *) shuffles;  /* one for each pattern: shuffle0, shuffle1, ... */
    int depth;                            /* depth of indentation */
    bool in_parallel;
};

/* Claims the names of the parameters. */
void emit_open(struct emit *m, struct unit *u, struct str *out);
void emit_close(struct emit *m);
/* Prints "void NAME(TYPE Inp, TYPE Conv)" with these types of the parameters. */
void emit_signature(struct emit *m, const char *name, const char *const *type);
void emit_line(struct emit *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void emit_indent(struct emit *m);
/* Prints e + plus as C, as an operand of precedence min_prec: 0 condition, 4 sum, 5 product, 6
 * primary. */
void emit_index(struct emit *m, const struct expr *e, int64_t plus, int min_prec);
/* Returns the bounds of a loop as text. named: a bound that does not fit on the line is first
 * assigned to a constant. */
struct bounds { const char *begin, *end; };
struct bounds emit_bounds(struct emit *m, const struct code *c, bool named);
/* Prints "for (long k = 0; k < 8; k++) {" and claims the variable. The caller closes the brace. */
void emit_for(struct emit *m, const struct code *c, const struct bounds *b);
/* Prints t as a value of `lanes` lanes. */
void emit_value(struct emit *m, const struct code_term *t, int lanes);
/* Print a place, "C[8*n + 3]" or "c[3]", and its address, "&C[8*n + 3]" or "c + 3". stored: it is
 * written. */
void emit_place(struct emit *m, const struct place *at, bool stored);
void emit_address(struct emit *m, const struct place *at, bool stored);

/* Pointers (pointers.c).  Declares those that are worth it for the straight line b[from, to),
 * unless they are declared already. */
void pointers_declare(struct emit *m, const struct block *b, int from, int to);
/* Returns the pointer that can address `at`, or NULL. */
const struct pointer *pointers_find(const struct emit *m, const struct place *at, bool stored);
/* Hides from the compiler what it knows of the pointers to const floats of a buffer.  False when
 * there is none. */
bool pointers_again(struct emit *m, int buffer);
/* Ends the scope that began at mark: its names and its pointers are no longer visible. */
void emit_leave(struct emit *m, int mark);
/* Typedefs and helper functions for what m needed, and an empty line. */
void emit_helpers(struct emit *m, struct str *out);
/* Appends C text with lines of more than MAX_COLUMNS broken after an operator or comma. */
#define MAX_COLUMNS 100
void emit_wrapped(struct str *out, const char *text);
/* A comment block; text that is already one is copied. */
void emit_comment(struct str *out, const char *text);
#endif
