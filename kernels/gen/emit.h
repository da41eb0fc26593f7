/* What the printers of code share: names, index expressions, loops and the types and helpers a
 * unit turns out to need.  Private to gen/. */
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

/* A named pointer to buffer[base + rest]: what the accesses of a line have in common. */
struct pointer {
    int buffer;
    const struct expr *base;
    int64_t rest;
    bool written;                         /* through it; then it is not const */
    const char *name;
    int at;                               /* its position among the names */
};

struct emit {
    struct unit *u;
    struct str *out;
    struct names *names;
    struct needs needs;
    int64_t on_stack;                     /* floats of the arrays that are visible here */
    const char **buffer;                  /* C names; NULL: not visible here */
    bool *touched;                        /* the text uses this buffer */
    const char **again;                   /* names of the copies of pointers */
    VEC(struct pointer) pointers;         /* that are declared here */
    const char *prefix;                   /* of the names of index helpers */
    struct str statics;                   /* functions of the unit's own arrays */
    struct str shared;                    /* "B_tile, C_tile": arrays that all calls share */
    const char **of_thread;               /* their names, by buffer */
    bool *has_memory;                     /* its function is among the statics */
    VEC(const struct term *) shuffles;    /* one of each pattern: shuffle0, shuffle1, ... */
    int depth;                            /* of indentation */
    bool in_parallel;
};

/* Claims the names of the parameters. */
void emit_open(struct emit *m, struct unit *u, struct str *out);
void emit_close(struct emit *m);
/* "void NAME(TYPE Inp, TYPE Conv)": the parameters with these types. */
void emit_signature(struct emit *m, const char *name, const char *const *type);
void emit_line(struct emit *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void emit_indent(struct emit *m);
/* e + plus as C, for use as an operand of min_prec: 0 condition, 4 sum, 5 product, 6 primary. */
void emit_index(struct emit *m, const struct expr *e, int64_t plus, int min_prec);
/* The bounds of a loop as text.  named: what does not fit a line is put into constants before. */
struct bounds { const char *begin, *end; };
struct bounds emit_bounds(struct emit *m, const struct code *c, bool named);
/* "for (long k = 0; k < 8; k++) {": claims the variable; the caller closes the brace. */
void emit_for(struct emit *m, const struct code *c, const struct bounds *b);
/* t as a value of `lanes` lanes. */
void emit_value(struct emit *m, const struct term *t, int lanes);
/* "C[8*n + 3]", "c[3]" and "&C[8*n + 3]", "c + 3".  stored: for writing. */
void emit_place(struct emit *m, const struct place *at, bool stored);
void emit_address(struct emit *m, const struct place *at, bool stored);

/* Pointers (pointers.c).  Declares those that pay in the straight line b[from, to), where they are
 * not yet. */
void pointers_declare(struct emit *m, const struct block *b, int from, int to);
/* The one that `at` can go through, or NULL. */
const struct pointer *pointers_find(const struct emit *m, const struct place *at, bool stored);
/* Makes the pointers to const floats of a buffer unknown to the compiler; false: there is none. */
bool pointers_again(struct emit *m, int buffer);
/* Names from mark on are not visible any more, and neither are pointers. */
void emit_leave(struct emit *m, int mark);
/* Typedefs and helper functions for what m needed, and an empty line. */
void emit_helpers(struct emit *m, struct str *out);
/* Appends C text with lines of more than MAX_COLUMNS broken after an operator or comma. */
#define MAX_COLUMNS 100
void emit_wrapped(struct str *out, const char *text);
/* A comment block; text that is already one is copied. */
void emit_comment(struct str *out, const char *text);
#endif
