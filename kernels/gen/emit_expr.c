/* Prints index expressions and values as C. */
#include "kernels/gen/emit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Precedences of operators in C, loosest first (ORDER PREC). */
enum { PREC_AND, PREC_EQ, PREC_LT, PREC_SUM = 4, PREC_PRODUCT, PREC_PRIMARY };

static void open_paren(struct emit *m, bool yes)
{
    if (yes)
        str_add_char(m->out, '(');
}

static void close_paren(struct emit *m, bool yes)
{
    if (yes)
        str_add_char(m->out, ')');
}

static void emit_call(struct emit *m, const char *name, bool *need, const struct expr *e)
{
    *need = true;
    str_printf(m->out, "%s%s(", m->prefix, name);
    emit_index(m, e->a, 0, PREC_SUM);
    str_add(m->out, ", ");
    emit_index(m, e->b, 0, PREC_SUM);
    str_add_char(m->out, ')');
}

static void emit_binary(struct emit *m, const struct expr *e, const char *op, int prec,
                        int min_prec)
{
    open_paren(m, prec < min_prec);
    emit_index(m, e->a, 0, prec);
    str_add(m->out, op);
    emit_index(m, e->b, 0, prec + 1);
    close_paren(m, prec < min_prec);
}

/* Emits a product with its constant first: "8*x". */
static void emit_product(struct emit *m, const struct expr *e, int min_prec)
{
    const struct expr *x = e->a, *y = e->b;
    if (y->kind == EXPR_CONST) {
        x = e->b;
        y = e->a;
    }
    open_paren(m, PREC_PRODUCT < min_prec);
    emit_index(m, x, 0, PREC_PRODUCT);
    str_add_char(m->out, '*');
    emit_index(m, y, 0, PREC_PRIMARY);
    close_paren(m, PREC_PRODUCT < min_prec);
}

/* Emits a term that is not the first one of a sum: " + x", or " - 3*x" for a negative factor. */
static void emit_addend(struct emit *m, const struct expr *e)
{
    struct exprs *p = m->u->func->pool;
    if (e->kind == EXPR_ADD) {
        emit_addend(m, e->a);
        emit_addend(m, e->b);
        return;
    }
    const struct expr *c = e->kind == EXPR_CONST ? e : e->kind != EXPR_MUL ? NULL :
                           e->b->kind == EXPR_CONST ? e->b : e->a->kind == EXPR_CONST ? e->a : NULL;
    if (!c || c->value >= 0) {
        str_add(m->out, " + ");
        emit_index(m, e, 0, PREC_PRODUCT);
    } else if (c == e) {
        str_printf(m->out, " - %lld", -(long long)c->value);
    } else {
        const struct expr *x = c == e->a ? e->b : e->a;
        str_add(m->out, " - ");
        emit_index(m, c->value == -1 ? x : expr_mulc(p, x, -c->value), 0, PREC_PRODUCT);
    }
}

static void emit_sum(struct emit *m, const struct expr *e, int64_t plus, int min_prec)
{
    if (e->kind == EXPR_CONST) {
        long long v = (long long)(e->value + plus);
        open_paren(m, v < 0 && min_prec > PREC_SUM);
        str_printf(m->out, "%lld", v);
        close_paren(m, v < 0 && min_prec > PREC_SUM);
        return;
    }
    open_paren(m, PREC_SUM < min_prec);
    emit_index(m, e->kind == EXPR_ADD ? e->a : e, 0, PREC_SUM);
    if (e->kind == EXPR_ADD)
        emit_addend(m, e->b);
    if (plus)
        str_printf(m->out, plus > 0 ? " + %lld" : " - %lld",
                   plus > 0 ? (long long)plus : -(long long)plus);
    close_paren(m, PREC_SUM < min_prec);
}

/* Emits a < b. If a is a constant, the constant comes last: "x >= 8" for 7 < x. */
static void emit_less(struct emit *m, const struct expr *e, int min_prec)
{
    open_paren(m, PREC_LT < min_prec);
    if (e->a->kind == EXPR_CONST) {
        emit_index(m, e->b, 0, PREC_SUM);
        str_printf(m->out, " >= %lld", (long long)e->a->value + 1);
    } else {
        emit_index(m, e->a, 0, PREC_SUM);
        str_add(m->out, " < ");
        emit_index(m, e->b, 0, PREC_SUM);
    }
    close_paren(m, PREC_LT < min_prec);
}

void emit_index(struct emit *m, const struct expr *e, int64_t plus, int min_prec)
{
    if (plus || e->kind == EXPR_CONST || e->kind == EXPR_ADD) {
        emit_sum(m, e, plus, min_prec);
        return;
    }
    switch (e->kind) {
    case EXPR_VAR:
        str_add(m->out, names_var(m->names, e));
        return;
    case EXPR_MUL:
        emit_product(m, e, min_prec);
        return;
    case EXPR_DIV:
        if (e->a->lo < 0)
            emit_call(m, "floor_div", &m->needs.floor_div, e);
        else
            emit_binary(m, e, " / ", PREC_PRODUCT, min_prec);
        return;
    case EXPR_MOD:
        if (e->a->lo < 0)
            emit_call(m, "floor_mod", &m->needs.floor_mod, e);
        else
            emit_binary(m, e, " % ", PREC_PRODUCT, min_prec);
        return;
    case EXPR_MIN:
        emit_call(m, "min_index", &m->needs.min_index, e);
        return;
    case EXPR_MAX:
        emit_call(m, "max_index", &m->needs.max_index, e);
        return;
    case EXPR_LT:
        emit_less(m, e, min_prec);
        return;
    case EXPR_EQ:
        emit_binary(m, e, " == ", PREC_EQ, min_prec);
        return;
    case EXPR_AND:
        open_paren(m, min_prec > PREC_AND);
        emit_index(m, e->a, 0, PREC_AND);
        str_add(m->out, " && ");
        emit_index(m, e->b, 0, PREC_AND);
        close_paren(m, min_prec > PREC_AND);
        return;
    case EXPR_CONST: case EXPR_ADD: case EXPR_KIND_COUNT: default:
        UNREACHABLE();
    }
}

/* Whether the twin watches the accesses of a buffer. */
static bool is_watched(const struct emit *m, int buffer)
{
    return m->twin && m->u->func->buffer[buffer].memory == MEMORY_SHARED;
}

void emit_place(struct emit *m, const struct place *at, bool stored)
{
    const struct pointer *p = pointers_find(m, at, stored);
    if (p) {
        str_printf(m->out, "%s[%lld]", p->name, (long long)(at->rest - p->rest));
        return;
    }
    bool watched = is_watched(m, at->buffer);
    m->touched[at->buffer] = true;
    str_printf(m->out, "%s[", at->again && m->again[at->again] ? m->again[at->again]
                                                               : m->buffer[at->buffer]);
    if (watched)
        str_printf(m->out, "ts_%s(%d, %d, ", !stored ? "read" : m->async ? "copy" : "write",
                   m->shared[at->buffer], at->lanes);
    const struct swizzle *x = &m->u->func->buffer[at->buffer].swizzle;
    if (x->mask) {
        m->needs.swizzle = true;
        str_add(m->out, "swizzle(");
    }
    emit_index(m, at->base, at->rest, x->mask ? 0 : PREC_AND);
    if (x->mask)
        str_printf(m->out, ", %d, %lld)", x->shift, (long long)x->mask);
    str_add(m->out, watched ? ")]" : "]");
}

/* Emits " + 16", " - 3" or "". */
static void emit_offset(struct emit *m, int64_t elems)
{
    if (elems != 0)
        str_printf(m->out, " %c %lld", elems > 0 ? '+' : '-', llabs((long long)elems));
}

void emit_address(struct emit *m, const struct place *at, bool stored)
{
    const struct pointer *p = pointers_find(m, at, stored);
    if (p) {
        str_add(m->out, p->name);
        emit_offset(m, at->rest - p->rest);
    } else if (at->base->kind == EXPR_CONST && !at->again && !is_watched(m, at->buffer)
               && !m->u->func->buffer[at->buffer].swizzle.mask) {
        m->touched[at->buffer] = true;
        str_add(m->out, m->buffer[at->buffer]);
        emit_offset(m, at->base->value + at->rest);
    } else {
        str_add_char(m->out, '&');
        emit_place(m, at, stored);
    }
}

/* Whether the text is for NVRTC, which has CUDA's functions and none of gcc's. */
static bool for_nvrtc(const struct emit *m)
{
    return m->gpu && !m->twin;
}

/* Emits an infinity or a NaN by its bits, because CUDA C without headers has no name for it. */
static void emit_bits(struct emit *m, double value)
{
    float narrow = (float)value;
    uint64_t wide_bits;
    uint32_t bits;
    memcpy(&wide_bits, &value, sizeof value);
    memcpy(&bits, &narrow, sizeof narrow);
    if (m->u->type->bytes == sizeof value)
        str_printf(m->out, "__longlong_as_double(0x%llx)", (unsigned long long)wide_bits);
    else
        str_printf(m->out, "__int_as_float(0x%x)", bits);
}

static void emit_const(struct emit *m, double value, int min_prec)
{
    const struct elem_type *type = m->u->type;
    type->round(&value, 1);
    if (for_nvrtc(m) && !isfinite(value)) {
        emit_bits(m, value);
    } else if (isnan(value)) {
        str_printf(m->out, "__builtin_nan%s(\"\")", type->suffix);
    } else if (isinf(value)) {
        str_printf(m->out, "%s__builtin_inf%s()", value > 0 ? "" : "-", type->suffix);
    } else {
        char text[64];
        snprintf(text, sizeof text, "%.*g", type->digits, value);
        open_paren(m, signbit(value) && min_prec > 0);
        str_printf(m->out, "%s%s%s", text, strpbrk(text, ".e") ? "" : ".0", type->suffix);
        close_paren(m, signbit(value) && min_prec > 0);
    }
}

static void emit_term(struct emit *m, const struct code_term *t, int min_prec);

static void emit_load(struct emit *m, const struct code_term *t)
{
    bool converts = emit_converts(m, t->at.buffer);
    if (t->lanes == 1 && converts) {
        m->needs.narrow.get = true;
        str_printf(m->out, "from_%s(", m->u->narrow->name);
        emit_place(m, &t->at, false);
        str_add_char(m->out, ')');
        return;
    }
    if (t->lanes == 1) {
        emit_place(m, &t->at, false);
        return;
    }
    (converts ? m->needs.narrow.load : m->needs.load)[t->lanes] = true;
    m->needs.type[t->lanes] |= converts;
    str_printf(m->out, "%sload%d(", narrow_prefix(m, t->at.buffer), t->lanes);
    emit_address(m, &t->at, false);
    str_add_char(m->out, ')');
}

/* Emits max, min, le or keep of two values: maxf(a, b), or max16(a, b). */
static void emit_extremum(struct emit *m, const struct code_term *t)
{
    (t->op == VAL_MAX   ? m->needs.max
     : t->op == VAL_MIN ? m->needs.min
     : t->op == VAL_LE  ? m->needs.le : m->needs.keep)[t->lanes] = true;
    if (t->lanes == 1)
        str_printf(m->out, "%sf(", val_name(t->op));
    else
        str_printf(m->out, "%s%d(", val_name(t->op), t->lanes);
    emit_value(m, t->a, t->lanes);
    str_add(m->out, ", ");
    emit_value(m, t->b, t->lanes);
    str_add_char(m->out, ')');
}

static void emit_arithmetic(struct emit *m, const struct code_term *t, int min_prec)
{
    bool product = t->op == VAL_MUL || t->op == VAL_DIV;
    int prec = product ? PREC_PRODUCT : PREC_SUM;
    static const char *const text[] = {
        [VAL_MUL] = " * ", [VAL_DIV] = " / ", [VAL_ADD] = " + ", [VAL_SUB] = " - ",
    };
    open_paren(m, prec < min_prec);
    emit_term(m, t->a, prec);
    str_add(m->out, text[t->op]);
    emit_term(m, t->b, prec + 1);
    close_paren(m, prec < min_prec);
}

/* Emits a call.  For a scalar, it is __builtin_expf(x), or expf(x) in CUDA C.  For a vector, it is
 * the helper exp_v16(x); without the "_v", the name for 2 lanes would be that of C's exp2.  To
 * combine lanes, it is the helper sum_lanes16(x). */
static void emit_call_of_value(struct emit *m, const struct code_term *t)
{
    if (!val_is_function(t->op)) {
        bool sum = t->op == VAL_ADD;
        m->needs.call[t->op][t->a->lanes] = true;
        m->needs.max[t->a->lanes] |= !sum;
        str_printf(m->out, "%s_lanes%d(", sum ? "sum" : "max", t->a->lanes);
    } else if (t->lanes == 1) {
        str_printf(m->out, "%s%s%s(", for_nvrtc(m) ? "" : "__builtin_", val_name(t->op),
                   m->u->type->suffix);
    } else {
        m->needs.call[t->op][t->lanes] = true;
        str_printf(m->out, "%s_v%d(", val_name(t->op), t->lanes);
    }
    emit_term(m, t->a, 0);
    str_add_char(m->out, ')');
}

/* Emits a gather, in parentheses: load, store, max and min may be macros (gen_macro), and the
 * commas of the gather would otherwise separate their arguments. */
static void emit_gather(struct emit *m, const struct code_term *t)
{
    m->needs.type[t->lanes] = true;
    str_printf(m->out, "((v%d){ ", t->lanes);
    for (int l = 0; l < t->lanes; l++) {
        str_add(m->out, l ? ", " : "");
        emit_value(m, t->part[l], 1);
    }
    str_add(m->out, " })");
}

/* Emits shuffle3(x), a call of the helper for this shuffle. */
static void emit_shuffle(struct emit *m, const struct code_term *t)
{
    int k = 0;
    while (k < m->shuffles.len
           && (m->shuffles.data[k]->lanes != t->lanes
               || memcmp(m->shuffles.data[k]->pick, t->pick, sizeof *t->pick * (size_t)t->lanes)))
        k++;
    if (k == m->shuffles.len)
        vec_push(&m->shuffles, t);
    m->needs.type[t->lanes] = true;
    str_printf(m->out, "shuffle%d(", k);
    emit_term(m, t->a, 0);
    str_add_char(m->out, ')');
}

/* Emits t, which has t->lanes lanes, in parentheses if it binds looser than min_prec. */
static void emit_term(struct emit *m, const struct code_term *t, int min_prec)
{
    switch (t->kind) {
    case TERM_CONST:
        emit_const(m, t->value, min_prec);
        return;
    case TERM_LOAD:
        emit_load(m, t);
        return;
    case TERM_REG:
        str_add(m->out, m->u->regs.data[t->reg].name);
        if (t->lane >= 0)
            str_printf(m->out, "[%d]", t->lane);
        return;
    case TERM_BIN:
        if (t->op == VAL_MAX || t->op == VAL_MIN || t->op == VAL_LE ||
            t->op == VAL_KEEP)
            emit_extremum(m, t);
        else
            emit_arithmetic(m, t, min_prec);
        return;
    case TERM_CALL:
        emit_call_of_value(m, t);
        return;
    case TERM_SELECT:
        open_paren(m, min_prec > 0);
        emit_index(m, t->cond, 0, PREC_AND);
        str_add(m->out, " ? ");
        emit_value(m, t->a, t->lanes);
        str_add(m->out, " : ");
        emit_value(m, t->b, t->lanes);
        close_paren(m, min_prec > 0);
        return;
    case TERM_GATHER:
        emit_gather(m, t);
        return;
    case TERM_SHUFFLE:
        emit_shuffle(m, t);
        return;
    }
    UNREACHABLE();
}

void emit_value(struct emit *m, const struct code_term *t, int lanes)
{
    if (t->lanes == lanes) {
        emit_term(m, t, 0);
        return;
    }
    m->needs.type[lanes] = true;
    if (t->kind == TERM_CONST && t->value == 0 && !signbit(t->value)) {
        str_printf(m->out, "(v%d){0}", lanes);
        return;
    }
    m->needs.splat[lanes] = true;
    str_printf(m->out, "splat%d(", lanes);
    emit_term(m, t, 0);
    str_add_char(m->out, ')');
}
