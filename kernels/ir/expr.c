#include "kernels/ir/expr_impl.h"

#include <ctype.h>
#include <string.h>

/* --- Intervals -------------------------------------------------------------------------------- */

__extension__ typedef __int128 wide;

static int64_t clamp(wide x)
{
    return x >= INT64_MAX ? INT64_MAX : x <= INT64_MIN ? INT64_MIN : (int64_t)x;
}

/* Converts to 128 bits.  Infinity (INT64_MAX) becomes 2^63, so that -1 times infinity is -infinity
 * (INT64_MIN) again. */
static wide widen(int64_t x)
{
    return x == INT64_MAX ? (wide)INT64_MAX + 1 : (wide)x;
}

struct range range_add(struct range a, struct range b)
{
    bool no_lo = a.lo == INT64_MIN || b.lo == INT64_MIN;
    bool no_hi = a.hi == INT64_MAX || b.hi == INT64_MAX;
    return (struct range){ no_lo ? INT64_MIN : clamp((wide)a.lo + b.lo),
                           no_hi ? INT64_MAX : clamp((wide)a.hi + b.hi) };
}

struct range range_mul(struct range a, struct range b)
{
    wide corner[4] = { widen(a.lo) * widen(b.lo), widen(a.lo) * widen(b.hi),
                       widen(a.hi) * widen(b.lo), widen(a.hi) * widen(b.hi) };
    wide lo = corner[0], hi = corner[0];
    for (int i = 1; i < 4; i++) {
        lo = corner[i] < lo ? corner[i] : lo;
        hi = corner[i] > hi ? corner[i] : hi;
    }
    return (struct range){ clamp(lo), clamp(hi) };
}

static bool is_bounded(struct range r)
{
    return r.lo != INT64_MIN && r.hi != INT64_MAX;
}

static struct range range_div(struct range a, int64_t c)
{
    return (struct range){ a.lo == INT64_MIN ? INT64_MIN : floor_div(a.lo, c),
                           a.hi == INT64_MAX ? INT64_MAX : floor_div(a.hi, c) };
}

/* Returns the range of a % c: exact if a stays within one period, else [0, c). */
static struct range range_mod(struct range a, int64_t c)
{
    if (is_bounded(a) && floor_div(a.lo, c) == floor_div(a.hi, c))
        return (struct range){ floor_mod(a.lo, c), floor_mod(a.hi, c) };
    return (struct range){ 0, c - 1 };
}

static struct range range_truth(bool surely, bool never)
{
    return (struct range){ surely, !never };
}

static bool is_zero(struct range r)
{
    return r.lo == 0 && r.hi == 0;
}

static bool is_nonzero(struct range r)
{
    return r.lo > 0 || r.hi < 0;
}

struct range range_of(enum expr_kind kind, struct range a, struct range b)
{
    switch (kind) {
    case EXPR_ADD: return range_add(a, b);
    case EXPR_MUL: return range_mul(a, b);
    case EXPR_DIV: return range_div(a, b.lo);
    case EXPR_MOD: return range_mod(a, b.lo);
    case EXPR_MIN: return (struct range){ a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi };
    case EXPR_MAX: return (struct range){ a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi };
    case EXPR_LT:  return range_truth(a.hi < b.lo, a.lo >= b.hi && is_bounded(a) && is_bounded(b));
    case EXPR_EQ:  return range_truth(a.lo == a.hi && b.lo == b.hi && a.lo == b.lo,
                                      a.hi < b.lo || b.hi < a.lo);
    case EXPR_AND: return range_truth(is_nonzero(a) && is_nonzero(b), is_zero(a) || is_zero(b));
    case EXPR_CONST: case EXPR_VAR: case EXPR_KIND_COUNT: break;
    }
    UNREACHABLE();
}

/* --- The pool --------------------------------------------------------------------------------- */

#define SCRATCH_BYTES ((size_t)16 * 1024)
#define FIRST_TABLE 256u

struct exprs *exprs_new(struct arena *a)
{
    struct exprs *p = ARENA_NEW(a, struct exprs);
    p->arena = a;
    p->cap = FIRST_TABLE;
    p->table = ARENA_ARRAY(a, struct expr_node *, p->cap);
    return p;
}

struct arena *exprs_arena(struct exprs *p)
{
    return p->arena;
}

int exprs_n_vars(const struct exprs *p)
{
    return p->n_vars;
}

struct scratch_mark scratch_mark(struct exprs *p)
{
    return (struct scratch_mark){ p->scratch, p->scratch ? p->scratch->used : 0 };
}

static struct scratch_block *scratch_block_new(struct exprs *p, size_t cap)
{
    struct scratch_block *b = ARENA_NEW(p->arena, struct scratch_block);
    b->cap = cap;
    b->data = arena_alloc(p->arena, cap);
    return b;
}

/* Allocates scratch memory in the pool's blocks, which are reused.  If the next block is too small
 * for a request, a larger one replaces it. */
void *scratch_alloc(struct exprs *p, size_t size_bytes)
{
    size_t need = (size_bytes + 15) & ~(size_t)15;
    if (!p->scratch || need > p->scratch->cap - p->scratch->used) {
        struct scratch_block **next = p->scratch ? &p->scratch->next : &p->scratch_first;
        if (!*next || (*next)->cap < need) {
            size_t cap = need > SCRATCH_BYTES ? need : SCRATCH_BYTES;
            struct scratch_block *b = scratch_block_new(p, cap);
            b->next = *next ? (*next)->next : NULL;
            *next = b;
        }
        p->scratch = *next;
        p->scratch->used = 0;
    }
    void *at = p->scratch->data + p->scratch->used;
    p->scratch->used += need;
    return at;
}

void scratch_release(struct exprs *p, struct scratch_mark m)
{
    p->scratch = m.block;
    if (m.block)
        m.block->used = m.used;
}

static uint32_t mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(x >> 32);
}

static uint32_t hash_of(const struct expr *e)
{
    uint64_t h = (uint64_t)e->kind * 0x51ed2701u;
    switch (e->kind) {
    case EXPR_CONST:
        return mix(h ^ (uint64_t)e->value * 0x2545f4914f6cdd1du);
    case EXPR_VAR:
        for (const char *c = e->name; *c; c++)
            h = (h ^ (unsigned char)*c) * 0x100000001b3u;
        return mix(h ^ (uint64_t)e->lo << 20 ^ (uint64_t)e->hi);
    case EXPR_ADD: case EXPR_MUL: case EXPR_DIV: case EXPR_MOD: case EXPR_MIN: case EXPR_MAX:
    case EXPR_LT: case EXPR_EQ: case EXPR_AND:
        return mix(h ^ ((uint64_t)e->a->id << 32 | e->b->id) * 0x2545f4914f6cdd1du);
    case EXPR_KIND_COUNT:
        break;
    }
    UNREACHABLE();
}

static bool same(const struct expr *x, const struct expr *y)
{
    if (x->kind != y->kind || x->value != y->value || x->a != y->a || x->b != y->b)
        return false;
    return x->kind != EXPR_VAR || (x->lo == y->lo && x->hi == y->hi && streq(x->name, y->name));
}

static void rehash(struct exprs *p)
{
    uint32_t cap = 2 * p->cap;
    struct expr_node **table = ARENA_ARRAY(p->arena, struct expr_node *, cap);
    for (uint32_t i = 0; i < p->cap; i++) {
        if (!p->table[i])
            continue;
        uint32_t at = p->table[i]->hash & (cap - 1);
        while (table[at])
            at = (at + 1) & (cap - 1);
        table[at] = p->table[i];
    }
    p->table = table;
    p->cap = cap;
}

static uint32_t sat_sum(uint32_t a, uint32_t b, uint32_t c)
{
    uint64_t sum = (uint64_t)a + b + c;
    return sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

static void measure(struct expr_node *n)
{
    const struct expr *e = &n->e;
    const struct expr_node none = {0};
    const struct expr_node *a = e->a ? node_of(e->a) : &none, *b = e->b ? node_of(e->b) : &none;
    uint32_t is_divmod = e->kind == EXPR_DIV || e->kind == EXPR_MOD;
    n->n_divmod = sat_sum(a->n_divmod, b->n_divmod, is_divmod);
    n->var_mask = a->var_mask | b->var_mask;
    if (e->kind == EXPR_VAR)
        n->var_mask = (uint64_t)1 << (e->var % 64);
}

/* Returns the interned expression that equals key.  All expressions are created here. */
static const struct expr *intern(struct exprs *p, const struct expr *key)
{
    uint32_t hash = hash_of(key), at = hash & (p->cap - 1);
    for (; p->table[at]; at = (at + 1) & (p->cap - 1))
        if (p->table[at]->hash == hash && same(&p->table[at]->e, key))
            return &p->table[at]->e;
    struct expr_node *n = ARENA_NEW(p->arena, struct expr_node);
    n->e = *key;
    n->hash = hash;
    n->e.id = p->n++;
    n->e.var = -1;
    if (key->kind == EXPR_VAR) {
        n->e.name = arena_strdup(p->arena, key->name);
        n->e.var = p->n_vars++;
    }
    measure(n);
    n->e.has_divmod = n->n_divmod > 0;
    p->table[at] = n;
    if (p->n > p->cap / 2)
        rehash(p);
    return &n->e;
}

/* --- Constructors ----------------------------------------------------------------------------- */

const struct expr *expr_const(struct exprs *p, int64_t v)
{
    return intern(p, &(struct expr){ .kind = EXPR_CONST, .value = v, .lo = v, .hi = v });
}

const struct expr *expr_var(struct exprs *p, const char *name, int64_t lo, int64_t hi)
{
    if (lo > hi)
        fail("variable %s with the empty range %lld..%lld", name, (long long)lo, (long long)hi);
    return intern(p, &(struct expr){ .kind = EXPR_VAR, .name = name, .lo = lo, .hi = hi });
}

const struct expr *expr_dim(struct exprs *p, const char *dim, int64_t extent)
{
    char *name = arena_strdup(p->arena, dim);
    for (char *c = name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return expr_var(p, name, 0, extent - 1);
}

const struct expr *expr_bin(struct exprs *p, enum expr_kind kind, const struct expr *a,
                            const struct expr *b)
{
    if ((kind == EXPR_DIV || kind == EXPR_MOD) && (b->kind != EXPR_CONST || b->value <= 0))
        fail("a divisor that is no positive constant");
    struct range r = range_of(kind, range_expr(a), range_expr(b));
    return intern(p, &(struct expr){ .kind = kind, .a = a, .b = b, .lo = r.lo, .hi = r.hi });
}

#define BIN(name, KIND) \
    const struct expr *expr_##name(struct exprs *p, const struct expr *a, const struct expr *b) \
    { \
        return expr_bin(p, EXPR_##KIND, a, b); \
    }
BIN(add, ADD)
BIN(mul, MUL)
BIN(div, DIV)
BIN(mod, MOD)
BIN(min, MIN)
BIN(max, MAX)
BIN(lt, LT)
BIN(eq, EQ)
BIN(and, AND)
#undef BIN

const struct expr *expr_sub(struct exprs *p, const struct expr *a, const struct expr *b)
{
    return expr_add(p, a, expr_mulc(p, b, -1));
}

const struct expr *expr_ge(struct exprs *p, const struct expr *a, const struct expr *b)
{
    if (b->kind == EXPR_CONST && b->value > INT64_MIN)
        return expr_lt(p, expr_const(p, b->value - 1), a);
    return expr_lt(p, expr_addc(p, b, -1), a);
}

const struct expr *expr_addc(struct exprs *p, const struct expr *a, int64_t c)
{
    return expr_add(p, a, expr_const(p, c));
}

const struct expr *expr_mulc(struct exprs *p, const struct expr *a, int64_t c)
{
    return expr_mul(p, a, expr_const(p, c));
}

const struct expr *expr_divc(struct exprs *p, const struct expr *a, int64_t c)
{
    return expr_div(p, a, expr_const(p, c));
}

const struct expr *expr_modc(struct exprs *p, const struct expr *a, int64_t c)
{
    return expr_mod(p, a, expr_const(p, c));
}

/* --- Queries ---------------------------------------------------------------------------------- */

bool expr_uses(const struct expr *e, const struct expr *var)
{
    if (e == var)
        return true;
    if (!e->a || !(node_of(e)->var_mask & node_of(var)->var_mask))
        return false;
    return expr_uses(e->a, var) || expr_uses(e->b, var);
}

static const struct expr *replacement(const struct expr *e, const struct expr *const *vars,
                                      const struct expr *const *with, int n)
{
    for (int i = 0; i < n; i++)
        if (vars[i] == e)
            return with[i];
    return e;
}

static const struct expr *subst(struct exprs *p, const struct expr *e,
                                const struct expr *const *vars,
                                const struct expr *const *with, int n)
{
    struct expr_node *self = node_of(e);
    if (!e->a)
        return replacement(e, vars, with, n);
    if (self->stamp == p->epoch)
        return self->with;
    const struct expr *a = subst(p, e->a, vars, with, n), *b = subst(p, e->b, vars, with, n);
    self->with = a == e->a && b == e->b ? e : expr_bin(p, e->kind, a, b);
    self->stamp = p->epoch;
    return self->with;
}

const struct expr *expr_subst(struct exprs *p, const struct expr *e,
                              const struct expr *const *vars,
                              const struct expr *const *with, int n)
{
    p->epoch++;
    return subst(p, e, vars, with, n);
}

int64_t expr_eval(const struct expr *e, const int64_t *vals)
{
    if (e->kind == EXPR_CONST)
        return e->value;
    if (e->kind == EXPR_VAR)
        return vals[e->var];
    int64_t a = expr_eval(e->a, vals), b = expr_eval(e->b, vals);
    switch (e->kind) {
    case EXPR_ADD: return wrap_add(a, b);
    case EXPR_MUL: return wrap_mul(a, b);
    case EXPR_DIV: return floor_div(a, b);
    case EXPR_MOD: return floor_mod(a, b);
    case EXPR_MIN: return a < b ? a : b;
    case EXPR_MAX: return a > b ? a : b;
    case EXPR_LT:  return a < b;
    case EXPR_EQ:  return a == b;
    case EXPR_AND: return a && b;
    case EXPR_CONST: case EXPR_VAR: case EXPR_KIND_COUNT: break;
    }
    UNREACHABLE();
}

const struct expr *expr_import(struct exprs *p, const struct expr *e, const char *const *from,
                               const struct expr *const *to, int n)
{
    if (e->kind == EXPR_CONST)
        return expr_const(p, e->value);
    if (e->kind == EXPR_VAR) {
        for (int i = 0; i < n; i++)
            if (streq(from[i], e->name))
                return to[i];
        return expr_var(p, e->name, e->lo, e->hi);
    }
    const struct expr *a = expr_import(p, e->a, from, to, n);
    return expr_bin(p, e->kind, a, expr_import(p, e->b, from, to, n));
}
