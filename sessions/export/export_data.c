#include "sessions/export/export_data.h"

#include <math.h>
#include <string.h>
#include "kernels/gen/names.h"
#include "kernels/ir/simplify.h"
#include "kernels/nest/tree.h"

/* --- Index expressions as C ------------------------------------------------------------------- */

/* The precedences of C's operators, lowest first (ORDER PREC). */
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

/* Whether e needs a helper function.  C's / and % equal floor division only if the dividend is not
 * negative. */
static bool needs_helper(const struct expr *e)
{
    const struct op *op = &ops[e->kind];
    return op->helper && (!op->text || e->a->lo < 0);
}

/* The state of writing one function. */
struct export_writer {
    struct str *out;
    struct arena *arena;
    struct names *names;
    unsigned *helpers;                    /* bit k: whether the helper of expr_kind k is called */
};

static void print_expr(struct export_writer *w, const struct expr *e, int prec)
{
    const struct op *op = &ops[e->kind];
    if (e->kind == EXPR_VAR) {
        str_add(w->out, names_var(w->names, e));
        return;
    }
    if (e->kind == EXPR_CONST) {
        str_printf(w->out, e->value < 0 && prec > PREC_SUM ? "(%lld)" : "%lld",
                   (long long)e->value);
        return;
    }
    if (needs_helper(e)) {
        *w->helpers |= 1u << e->kind;
        str_printf(w->out, "%s(", op->helper);
        print_expr(w, e->a, PREC_AND);
        str_add(w->out, ", ");
        print_expr(w, e->b, PREC_AND);
        str_add_char(w->out, ')');
        return;
    }
    bool minus = e->kind == EXPR_ADD && e->b->kind == EXPR_CONST && e->b->value < 0;
    str_add(w->out, op->prec < prec ? "(" : "");
    print_expr(w, e->a, op->prec);
    if (minus)
        str_printf(w->out, " - %lld", -(long long)e->b->value);
    else {
        str_add(w->out, op->text);
        print_expr(w, e->b, op->prec + 1);
    }
    str_add(w->out, op->prec < prec ? ")" : "");
}

void export_index_helpers(struct str *out, unsigned helpers)
{
    static const char *const value[EXPR_KIND_COUNT] = {
        [EXPR_DIV] = "(a >= 0 ? a : a - b + 1) / b",
        [EXPR_MOD] = "(a % b + b) % b",
        [EXPR_MIN] = "a < b ? a : b",
        [EXPR_MAX] = "a > b ? a : b",
    };
    for (int k = 0; k < EXPR_KIND_COUNT; k++)
        if (helpers >> k & 1)
            str_printf(out, "static long %s(long a, long b) { return %s; }\n", ops[k].helper,
                       value[k]);
}

/* --- The functions ---------------------------------------------------------------------------- */

static void open_function(struct export_writer *w, struct str *out, unsigned *helpers)
{
    static const char *const words[] = { "logical", "stored", "at" };
    struct arena *a = arena_new();
    *w = (struct export_writer){ out, a, names_new(a), helpers };
    for (int i = 0; i < COUNT_OF(words); i++)
        names_claim(w->names, words[i]);
    for (int k = 0; k < EXPR_KIND_COUNT; k++)
        if (ops[k].helper)
            names_claim(w->names, ops[k].helper);
}

static void open_loops(struct export_writer *w, const struct expr *const *var, int rank)
{
    for (int d = 0; d < rank; d++) {
        names_claim_var(w->names, var[d]);
        const char *v = names_var(w->names, var[d]);
        str_repeat(w->out, ' ', 4 * (d + 1));
        str_printf(w->out, "for (long %s = 0; %s < %lld; %s++)\n", v, v,
                   (long long)var[d]->hi + 1, v);
    }
    str_repeat(w->out, ' ', 4 * (rank + 1));
}

static void close_function(struct export_writer *w)
{
    names_free(w->names);
    arena_free(w->arena);
}

/* Returns the row-major offset in the logical tensor, which has no layout. */
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

static void print_value(struct str *out, f32 v)
{
    if (isnan(v))
        str_add(out, "NAN");
    else if (isinf(v))
        str_add(out, v < 0 ? "-INFINITY" : "INFINITY");
    else
        str_printf(out, "%.9g", (double)v);
}

void export_values(struct str *out, const char *name, const f32 *data, int64_t n)
{
    str_printf(out, "static const double values_%s[%lld] = {", name, (long long)n);
    for (int64_t i = 0; i < n; i++) {
        str_add(out, i % 6 ? ", " : i ? ",\n    " : n > 6 ? "\n    " : "");
        print_value(out, data[i]);
    }
    str_add(out, n > 6 ? "\n};\n" : "};\n");
}

void export_pack(struct str *out, struct exprs *p, const struct layout *l, unsigned *helpers)
{
    struct export_writer w;
    open_function(&w, out, helpers);
    const char *c = l->tensor->type->c;
    str_printf(out, "static void pack_%s(const double *logical, %s *stored)\n{\n"
                    "    long at = 0;\n", l->tensor->name, c);
    open_loops(&w, l->phys, l->rank);
    str_add(out, "stored[at++] = ");
    if (l->guard) {
        print_expr(&w, l->guard, PREC_EQ);
        str_add(out, " ? ");
    }
    str_printf(out, "(%s)logical[", c);
    print_expr(&w, logical_offset(p, l), PREC_AND);
    str_add(out, l->guard ? "] : 0;\n}\n\n" : "];\n}\n\n");
    close_function(&w);
}

void export_place(struct str *out, struct exprs *p, const struct layout *l, unsigned *helpers)
{
    struct export_writer w;
    open_function(&w, out, helpers);
    const char *c = l->tensor->type->c;
    str_printf(out, "static void place_%s(const double *logical, %s *stored)\n{\n"
                    "    long at = 0;\n", l->tensor->name, c);
    open_loops(&w, l->logical, l->tensor->rank);
    str_add(out, "stored[");
    print_expr(&w, stored_offset(p, l), PREC_AND);
    str_printf(out, "] = (%s)logical[at++];\n}\n\n", c);
    close_function(&w);
}

void export_unpack(struct str *out, struct exprs *p, const struct layout *l, unsigned *helpers)
{
    struct export_writer w;
    open_function(&w, out, helpers);
    str_printf(out, "static void unpack_%s(const %s *stored, double *logical)\n{\n"
                    "    long at = 0;\n", l->tensor->name, l->tensor->type->c);
    open_loops(&w, l->logical, l->tensor->rank);
    str_add(out, "logical[at++] = stored[");
    print_expr(&w, stored_offset(p, l), PREC_AND);
    str_add(out, "];\n}\n\n");
    close_function(&w);
}
