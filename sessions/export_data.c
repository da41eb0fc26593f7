#include "sessions/export_data.h"

#include <math.h>
#include <string.h>
#include "kernels/ir/simplify.h"
#include "kernels/nest/tree.h"

/* index expressions as C */

/* ORDER PREC: how tightly C binds, loosest first. */
enum { PREC_AND, PREC_EQ, PREC_LT, PREC_SUM, PREC_PRODUCT, PREC_ATOM };

struct op { const char *text, *helper; int prec; };
static const struct op ops[EXPR_KIND_COUNT] = {
    [EXPR_ADD] = { " + ", NULL, PREC_SUM },
    [EXPR_MUL] = { "*", NULL, PREC_PRODUCT },
    [EXPR_DIV] = { "/", "floor_quotient", PREC_PRODUCT },
    [EXPR_MOD] = { "%", "floor_remainder", PREC_PRODUCT },
    [EXPR_MIN] = { NULL, "smaller", PREC_ATOM },
    [EXPR_MAX] = { NULL, "larger", PREC_ATOM },
    [EXPR_LT]  = { " < ", NULL, PREC_LT },
    [EXPR_EQ]  = { " == ", NULL, PREC_EQ },
    [EXPR_AND] = { " && ", NULL, PREC_AND },
};

/* "o.1" -> "o_1" */
static void print_name(struct str *out, const char *name)
{
    for (const char *c = name; *c; c++)
        str_add_char(out, *c == '.' ? '_' : *c);
}

/* C's / and % are the floor ones only where the dividend cannot be negative. */
static bool needs_helper(const struct expr *e)
{
    const struct op *op = &ops[e->kind];
    return op->helper && (!op->text || e->a->lo < 0);
}

static void print_expr(struct str *out, const struct expr *e, int prec)
{
    const struct op *op = &ops[e->kind];
    if (e->kind == EXPR_VAR) {
        print_name(out, e->name);
        return;
    }
    if (e->kind == EXPR_CONST) {
        str_printf(out, e->value < 0 && prec > PREC_SUM ? "(%lld)" : "%lld", (long long)e->value);
        return;
    }
    if (needs_helper(e)) {
        str_printf(out, "%s(", op->helper);
        print_expr(out, e->a, PREC_AND);
        str_add(out, ", ");
        print_expr(out, e->b, PREC_AND);
        str_add_char(out, ')');
        return;
    }
    bool minus = e->kind == EXPR_ADD && e->b->kind == EXPR_CONST && e->b->value < 0;
    str_add(out, op->prec < prec ? "(" : "");
    print_expr(out, e->a, op->prec);
    if (minus)
        str_printf(out, " - %lld", -(long long)e->b->value);
    else {
        str_add(out, op->text);
        print_expr(out, e->b, op->prec + 1);
    }
    str_add(out, op->prec < prec ? ")" : "");
}

void export_index_helpers(struct str *out, const char *text)
{
    static const struct { const char *name, *value; } helpers[] = {
        { "floor_quotient", "(a >= 0 ? a : a - b + 1) / b" },
        { "floor_remainder", "(a % b + b) % b" },
        { "smaller", "a < b ? a : b" },
        { "larger", "a > b ? a : b" },
    };
    for (int i = 0; i < COUNT_OF(helpers); i++)
        if (strstr(text, helpers[i].name))
            str_printf(out, "static long %s(long a, long b) { return %s; }\n", helpers[i].name,
                       helpers[i].value);
}

/* the functions */

static void open_loop(struct str *out, int depth, const struct expr *var)
{
    str_repeat(out, ' ', 4 * depth);
    str_add(out, "for (long ");
    print_name(out, var->name);
    str_add(out, " = 0; ");
    print_name(out, var->name);
    str_printf(out, " < %lld; ", (long long)var->hi + 1);
    print_name(out, var->name);
    str_add(out, "++)\n");
}

/* Row-major over the tensor as it is without a layout. */
static const struct expr *logical_offset(struct exprs *p, const struct layout *l)
{
    struct buffer b = { .rank = l->tensor->rank };
    memcpy(b.shape, l->tensor->shape, sizeof l->tensor->shape);
    return buffer_offset(p, &b, l->phi);
}

static const struct expr *stored_offset(struct exprs *p, const struct layout *l)
{
    struct buffer b = { .rank = l->rank };
    memcpy(b.shape, l->shape, sizeof l->shape);
    return buffer_offset(p, &b, l->rho);
}

static void print_float(struct str *out, float v)
{
    if (isnan(v))
        str_add(out, "NAN");
    else if (isinf(v))
        str_add(out, v < 0 ? "-INFINITY" : "INFINITY");
    else
        str_printf(out, "%.9g", (double)v);
}

void export_values(struct str *out, const char *name, const float *data, int64_t n)
{
    str_printf(out, "static const double values_%s[%lld] = {", name, (long long)n);
    for (int64_t i = 0; i < n; i++) {
        str_add(out, i % 6 ? ", " : i ? ",\n    " : n > 6 ? "\n    " : "");
        print_float(out, data[i]);
    }
    str_add(out, n > 6 ? "\n};\n" : "};\n");
}

void export_pack(struct str *out, struct exprs *p, const struct layout *l)
{
    str_printf(out, "static void pack_%s(const double *logical, float *stored)\n{\n"
                    "    long at = 0;\n", l->tensor->name);
    for (int d = 0; d < l->rank; d++)
        open_loop(out, d + 1, l->phys[d]);
    str_repeat(out, ' ', 4 * (l->rank + 1));
    str_add(out, "stored[at++] = ");
    if (l->guard) {
        print_expr(out, l->guard, PREC_EQ);
        str_add(out, " ? ");
    }
    str_add(out, "(float)logical[");
    print_expr(out, logical_offset(p, l), PREC_AND);
    str_add(out, l->guard ? "] : 0;\n}\n\n" : "];\n}\n\n");
}

void export_place(struct str *out, struct exprs *p, const struct layout *l)
{
    int rank = l->tensor->rank;
    str_printf(out, "static void place_%s(const double *logical, float *stored)\n{\n"
                    "    long at = 0;\n", l->tensor->name);
    for (int d = 0; d < rank; d++)
        open_loop(out, d + 1, l->logical[d]);
    str_repeat(out, ' ', 4 * (rank + 1));
    str_add(out, "stored[");
    print_expr(out, stored_offset(p, l), PREC_AND);
    str_add(out, "] = (float)logical[at++];\n}\n\n");
}

void export_unpack(struct str *out, struct exprs *p, const struct layout *l)
{
    int rank = l->tensor->rank;
    str_printf(out, "static void unpack_%s(const float *stored, double *logical)\n{\n"
                    "    long at = 0;\n", l->tensor->name);
    for (int d = 0; d < rank; d++)
        open_loop(out, d + 1, l->logical[d]);
    str_repeat(out, ' ', 4 * (rank + 1));
    str_add(out, "logical[at++] = stored[");
    print_expr(out, stored_offset(p, l), PREC_AND);
    str_add(out, "];\n}\n\n");
}
