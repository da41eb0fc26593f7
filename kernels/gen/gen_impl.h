/* Code: the last form of a program before text, private to gen/.
 *
 * A lowered tree becomes code by a short list of passes (gen.c): build writes unrolled loops
 * out and turns vector loops into statements on lanes; tidy moves conditions out of loops;
 * promote turns local buffers into named registers; hoist keeps what a loop updates in
 * registers, combine what a straight line updates; share names every load of a line once;
 * prefetch asks for lines ahead of their loads. Two printers then read the result: print_c.c
 * writes it as C, print_trace.c writes down the memory it touches (hints are none of it).  So
 * the trace cannot drift from the code: both are text of the same statements. */
#ifndef TS_GEN_IMPL_H
#define TS_GEN_IMPL_H
#include "kernels/base/vec.h"
#include "kernels/gen/gen.h"
#include "kernels/gen/names.h"

#define GEN_MAX_STATEMENTS 4096           /* of one unrolled body (SPEC D.5) */

/* The floats [base + rest, base + rest + lanes) of a buffer.  base holds the loop variables
 * and is canonical, so two places with the same base differ exactly by their rests.  again:
 * through which copy of the pointer (0: itself). */
struct place { int buffer; const struct expr *base; int64_t rest; int lanes; int again; };

enum term_kind {
    TERM_CONST, TERM_LOAD, TERM_REG, TERM_BIN, TERM_CALL, TERM_SELECT, TERM_GATHER,
    TERM_SHUFFLE
};

/* A value.  lanes == 1 is a scalar; where it meets a vector it stands for that value in every
 * lane. */
struct term {
    enum term_kind kind;
    int lanes;
    double value;                         /* CONST */
    struct place at; int site;            /* LOAD */
    int reg, lane;                        /* REG; lane >= 0: one lane of it */
    enum val_kind op;                     /* BIN, CALL */
    const struct expr *cond;              /* SELECT: cond ? a : b */
    struct term *a, *b;                   /* BIN, SELECT; CALL, SHUFFLE: a */
    struct term **part;                   /* GATHER: `lanes` scalars */
    const int *pick;                      /* SHUFFLE: lane l is lane pick[l] of a */
};

/* A named variable of the C text. */
struct reg {
    const char *stem, *suffix;            /* "acc" "0_1"; suffix NULL: the printer numbers them */
    int lanes;
    const struct code *decl;              /* the statement that declares it; NULL: ... */
    struct block *scope;                  /* ... the top of this block; NULL: not used at all */
    const char *name;                     /* given by the printer */
};

struct block { struct code **item; int n, cap; };

enum code_kind { CODE_NOTE, CODE_FOR, CODE_IF, CODE_SCOPE, CODE_SET, CODE_AGAIN, CODE_AHEAD };

struct code {
    enum code_kind kind;
    const char *note;                     /* NOTE: one line of comment; FOR, SCOPE: what is printed
                                           * at their head, or NULL */
    struct block body;                    /* FOR, IF, SCOPE */
    /* FOR: var in [begin, end) */
    const struct expr *var, *begin, *end;
    enum loop_ann ann;                    /* SERIAL or PARALLEL */
    bool reduce;
    const char *axis;
    int n_prefetch;
    const struct prefetch *prefetch;
    const struct expr *cond;              /* IF */
    int buffer;                           /* SCOPE: the array that lives here; -1: promoted */
    int again;                            /* AGAIN: the number of this copy of buffer's pointer */
    const struct expr *by;                /* AHEAD: the line so many floats behind the place `at` is
                                           * asked for */
    /* SET: a register (reg >= 0, lane >= 0: one lane of it) or the place `at` */
    int reg, lane;
    struct place at;
    enum store_how how;
    struct term *value;
    int site_load, site_store;            /* of the destination in memory; load for += and max= */
};

struct unit {
    struct arena *arena;                  /* of one gen call */
    const struct func *func;
    const struct gen_opts *opts;
    struct block body;
    VEC(struct reg) regs;
    VEC(struct site) sites;
    int n_again;
};

/* The passes, in order. */
bool code_build(struct unit *u, struct err *e);
void code_tidy(struct unit *u);
void code_promote(struct unit *u);
void code_hoist(struct unit *u);
void code_combine(struct unit *u);
void code_drop_dead(struct unit *u);
void code_share(struct unit *u);
void code_prefetch(struct unit *u);
void code_declare(struct unit *u);        /* decides where each register is declared */

/* The printers. */
/* The twin, and its table but for the sites, in arena `a`. */
void code_print_trace(struct unit *u, int line_bytes, struct arena *a, struct str *out,
                      struct trace_table *table);

/* Construction and questions (code.c). */
void block_add(struct unit *u, struct block *b, struct code *c);
/* The end of the straight line (statements and notes) that starts at item i. */
int block_line_end(const struct block *b, int i);
struct code *code_new(struct unit *u, enum code_kind kind);
struct code *code_set_reg(struct unit *u, int reg, enum store_how how, struct term *value);
struct term *term_new(struct unit *u, enum term_kind kind, int lanes);
struct term *term_const(struct unit *u, double value);
struct term *term_reg(struct unit *u, int reg);
struct term *term_load(struct unit *u, const struct place *at, int site);
int reg_new(struct unit *u, const char *stem, const char *suffix, int lanes, struct block *scope);
/* "Conv_acc" -> "acc", "BiasAdd_tile" -> "biasadd", "Inp" -> "inp". */
const char *stem_of(struct unit *u, const char *buffer_name);
bool place_same(const struct place *x, const struct place *y);
bool place_apart(const struct place *x, const struct place *y);      /* provably no common float */
/* Every address of it is a multiple of its size, when the buffer's is one of the line. */
bool place_aligned(const struct unit *u, const struct place *p);
/* Does this statement go past the caches?  A whole aligned vector of a buffer that is streamed. */
bool code_streams(const struct unit *u, const struct code *c);
bool expr_uses_any(const struct expr *e, const struct expr *const *vars, int n);
bool expr_vars_within(const struct expr *e, const struct expr *const *vars, int n);

/* Every access of the code in a block and below, in order.  in_select: it happens only if a
 * value is chosen. */
struct access {
    struct place *at;
    struct term *load;                    /* NULL: the destination of set */
    struct code *set;
    struct block *block;                  /* that holds set */
    bool in_select;
};
typedef void access_fn(void *ctx, const struct access *a);
void code_each_access(struct block *b, access_fn *f, void *ctx);
/* Which buffers the code in b stores to, one flag per buffer. */
bool *code_stored(struct unit *u, struct block *b);
void term_each_load(struct term *t, void (*f)(void *ctx, struct term *load, bool in_select),
                    void *ctx);

/* Addresses (address.c): what of an access is known while loops are written out. */
struct env;
struct env *env_new(struct unit *u);
void env_free(struct env *v);
void env_bind(struct env *v, const struct expr *var, int64_t value);      /* an unrolled variable */
void env_unbind(struct env *v);                                           /* the last bound one */
/* The vector variable of the loop around: lanes [first, first + lanes). */
void env_set_lanes(struct env *v, const struct expr *var, int64_t first, int lanes);
int env_lanes(const struct env *v);       /* 1 outside of vector loops */
const struct expr *env_lane_var(const struct env *v);
int64_t env_lane_first(const struct env *v);
/* Known variables replaced, simplified; *by_lane: the lane still decides. */
const struct expr *env_expr(struct env *v, const struct expr *e, bool *by_lane);
/* The address for lane 0 in *at (lanes 1); *step = floats from lane to lane; false: not linear
 * in the lane. */
bool env_place(struct env *v, int buffer, const struct expr *const *idx, struct place *at,
               int64_t *step);
#endif
