/* Prints expressions with C precedence and the parentheses that C needs.  For the reader, it also
 * prints those around a / or % before a *, and around a product after a *.  A negative coefficient
 * after the first term is printed as a subtraction.  2 < x is printed as x >= 3. */
#include "kernels/ir/expr.h"

/* Precedences, loosest first, and the precedence of each kind of expression (ORDER EXPR). */
enum prec { PREC_AND, PREC_EQ, PREC_LT, PREC_ADD, PREC_MUL, PREC_UNARY, PREC_ATOM };
static const enum prec precedence[EXPR_KIND_COUNT] = {
    [EXPR_CONST] = PREC_ATOM, [EXPR_VAR] = PREC_ATOM,
    [EXPR_ADD] = PREC_ADD, [EXPR_MUL] = PREC_MUL, [EXPR_DIV] = PREC_MUL, [EXPR_MOD] = PREC_MUL,
    [EXPR_MIN] = PREC_ATOM, [EXPR_MAX] = PREC_ATOM,
    [EXPR_LT] = PREC_LT, [EXPR_EQ] = PREC_EQ, [EXPR_AND] = PREC_AND,
};

static void print(struct str *out, const struct expr *e, enum prec least);

static bool is_const(const struct expr *e)
{
    return e->kind == EXPR_CONST;
}

/* Whether e is a negative constant that can be printed as a subtraction. */
static bool is_negative(const struct expr *e)
{
    return is_const(e) && e->value < 0 && e->value > INT64_MIN;
}

/* Prints coef * e as a person writes it. */
static void print_scaled(struct str *out, const struct expr *e, int64_t coef)
{
    if (coef == -1 && !is_const(e))
        str_add_char(out, '-');
    else if (coef != 1 || is_const(e))
        str_printf(out, "%lld*", (long long)coef);
    print(out, e, PREC_UNARY);
}

static void print_product(struct str *out, const struct expr *e)
{
    if (is_const(e->b)) {
        print_scaled(out, e->a, e->b->value);
        return;
    }
    bool divides = e->a->kind == EXPR_DIV || e->a->kind == EXPR_MOD;
    print(out, e->a, divides ? PREC_UNARY : PREC_MUL);
    str_add_char(out, '*');
    print(out, e->b, PREC_UNARY);
}

static void print_sum(struct str *out, const struct expr *e)
{
    const struct expr *b = e->b;
    print(out, e->a, PREC_ADD);
    if (is_negative(b)) {
        str_printf(out, " - %lld", -(long long)b->value);
    } else if (b->kind == EXPR_MUL && is_negative(b->b)) {
        str_add(out, " - ");
        if (b->b->value == -1)
            print(out, b->a, is_const(b->a) ? PREC_UNARY : PREC_MUL);
        else
            print_scaled(out, b->a, -b->b->value);
    } else {
        str_add(out, " + ");
        print(out, b, PREC_MUL);
    }
}

static void print_call(struct str *out, const char *name, const struct expr *e)
{
    str_printf(out, "%s(", name);
    print(out, e->a, PREC_AND);
    str_add(out, ", ");
    print(out, e->b, PREC_AND);
    str_add_char(out, ')');
}

static void print_infix(struct str *out, const struct expr *a, const char *op, const struct expr *b,
                        enum prec left, enum prec right)
{
    print(out, a, left);
    str_add(out, op);
    print(out, b, right);
}

static void print_less(struct str *out, const struct expr *e)
{
    bool flipped = is_const(e->a) && !is_const(e->b) && e->a->value < INT64_MAX;
    if (!flipped) {
        print_infix(out, e->a, " < ", e->b, PREC_ADD, PREC_ADD);
        return;
    }
    print(out, e->b, PREC_ADD);
    str_printf(out, " >= %lld", (long long)e->a->value + 1);
}

static void print_bare(struct str *out, const struct expr *e)
{
    switch (e->kind) {
    case EXPR_CONST: str_printf(out, "%lld", (long long)e->value); return;
    case EXPR_VAR:   str_add(out, e->name); return;
    case EXPR_ADD:   print_sum(out, e); return;
    case EXPR_MUL:   print_product(out, e); return;
    case EXPR_DIV:   print_infix(out, e->a, " / ", e->b, PREC_MUL, PREC_UNARY); return;
    case EXPR_MOD:   print_infix(out, e->a, " % ", e->b, PREC_MUL, PREC_UNARY); return;
    case EXPR_MIN:   print_call(out, "min", e); return;
    case EXPR_MAX:   print_call(out, "max", e); return;
    case EXPR_LT:    print_less(out, e); return;
    case EXPR_EQ:    print_infix(out, e->a, " == ", e->b, PREC_ADD, PREC_ADD); return;
    case EXPR_AND:   print_infix(out, e->a, " && ", e->b, PREC_AND, PREC_EQ); return;
    case EXPR_KIND_COUNT: break;
    }
    UNREACHABLE();
}

/* Prints e, in parentheses when it binds looser than `least`. */
static void print(struct str *out, const struct expr *e, enum prec least)
{
    bool wrap = precedence[e->kind] < least;
    if (wrap)
        str_add_char(out, '(');
    print_bare(out, e);
    if (wrap)
        str_add_char(out, ')');
}

void expr_print(struct str *out, const struct expr *e)
{
    print(out, e, PREC_AND);
}
