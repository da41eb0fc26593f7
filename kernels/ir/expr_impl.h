/* Declarations that the files of kernels/ir share: the body of the pool, the cost of an expression,
 * scratch memory, and integer arithmetic that wraps around or saturates.  Apart from tests, only
 * this folder includes it. */
#ifndef TS_IR_EXPR_IMPL_H
#define TS_IR_EXPR_IMPL_H
#include "kernels/base/number.h"
#include "kernels/ir/expr.h"

#define MAX_RULES 64

/* An expression together with data that only kernels/ir uses. */
struct expr_node {
    struct expr e;                    /* first: a struct expr * is a struct expr_node * */
    uint32_t hash;
    uint32_t n_divmod;  /* number of DIV and MOD nodes, counting every occurrence (saturates) */
    uint64_t var_mask;                /* has bit (var % 64) for every variable in the expression */
    const struct expr *simple;        /* the simplified form; NULL: not computed yet */
    uint32_t stamp;                   /* number of the expr_subst call that set `with` (memo) */
    const struct expr *with;
};

struct scratch_block { struct scratch_block *next; size_t cap, used; unsigned char *data; };
struct scratch_mark { struct scratch_block *block; size_t used; };

struct exprs {
    struct arena *arena;
    struct expr_node **table;              /* hash table: open addressing, size a power of two */
    uint32_t n, cap;
    int n_vars;
    uint32_t epoch;
    struct scratch_block *scratch, *scratch_first;
    long fired[MAX_RULES];
    void (*trace)(void *ctx, const char *rule, const struct expr *before, const struct expr *after);
    void *trace_ctx;
};

static inline struct expr_node *node_of(const struct expr *e)
{
    return (struct expr_node *)e;
}

/* Scratch memory of one function: scratch_release frees all allocations after scratch_mark. */
struct scratch_mark scratch_mark(struct exprs *p);
void *scratch_alloc(struct exprs *p, size_t size_bytes);
void scratch_release(struct exprs *p, struct scratch_mark m);

/* Arithmetic that wraps around in two's complement. expr_eval wraps around, so the arithmetic on
 * coefficients must do so, too. */
static inline int64_t wrap_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t wrap_sub(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int64_t wrap_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Intervals. INT64_MIN and INT64_MAX mean infinity: a bound that leaves 64 bits becomes infinite,
 * and never wraps around. */
struct range { int64_t lo, hi; };
struct range range_add(struct range a, struct range b);
struct range range_mul(struct range a, struct range b);
struct range range_of(enum expr_kind kind, struct range a, struct range b);

/* Whether the sum of two numbers in r cannot overflow.  A rule must check this for every operand
 * before it uses the operand's bounds. */
static inline bool is_tame(struct range r)
{
    return r.lo > -((int64_t)1 << 62) && r.hi < ((int64_t)1 << 62);
}

#define MAX_DIVISOR ((int64_t)1 << 40)    /* beyond it, the operand of / or % counts as unbounded */

static inline struct range range_expr(const struct expr *e)
{
    return (struct range){ e->lo, e->hi };
}
#endif
