/* Prints the unscheduled C of a graph in double precision, as the reference of an exported kernel:
 * loops in the order of the definition, row-major logical tensors, no vectors. */
#include "kernels/gen/emit.h"
#include "kernels/ir/simplify.h"

#include <math.h>

struct reference {
    struct emit m;
    const struct graph *g;
    const char *sum;                      /* C name of the accumulator */
    bool max, min, pick;
};

static void print_value(struct reference *r, const struct val *v, bool operand);

static void print_load(struct reference *r, int tensor, const struct expr *const *idx)
{
    struct exprs *p = r->g->pool;
    struct place at = { .buffer = tensor, .lanes = 1 };
    at.base = buffer_offset(p, &r->m.u->func->buffer[tensor], idx);
    emit_place(&r->m, &at, false);
}

/* Prints "a + b", in parentheses when it is an operand. */
static void print_pair(struct reference *r, const struct val *v, const char *op, bool operand)
{
    str_add(r->m.out, operand ? "(" : "");
    print_value(r, v->a, true);
    str_add(r->m.out, op);
    print_value(r, v->b, true);
    str_add(r->m.out, operand ? ")" : "");
}

static void print_extremum(struct reference *r, const struct val *v)
{
    *(v->kind == VAL_MAX ? &r->max : &r->min) = true;
    str_add(r->m.out, v->kind == VAL_MAX ? "ref_max(" : "ref_min(");
    print_value(r, v->a, false);
    str_add(r->m.out, ", ");
    print_value(r, v->b, false);
    str_add_char(r->m.out, ')');
}

static void print_call(struct reference *r, const struct val *v)
{
    str_printf(r->m.out, "__builtin_%s(", val_name(v->kind));
    print_value(r, v->a, false);
    str_add_char(r->m.out, ')');
}

static void print_select(struct reference *r, const struct val *v, bool operand)
{
    str_add(r->m.out, operand ? "(" : "");
    emit_index(&r->m, v->cond, 0, 0);
    str_add(r->m.out, " ? ");
    print_value(r, v->a, true);
    str_add(r->m.out, " : ");
    print_value(r, v->b, true);
    str_add(r->m.out, operand ? ")" : "");
}

static void print_number(struct str *out, double v)
{
    if (isinf(v) || isnan(v))
        str_add(out, isnan(v) ? "__builtin_nan(\"\")" :
                     v > 0    ? "__builtin_inf()" :
                                "-__builtin_inf()");
    else
        str_printf(out, v < 0 ? "(%.17g)" : "%.17g", v);
}

static void print_value(struct reference *r, const struct val *v, bool operand)
{
    switch (v->kind) {
    case VAL_CONST: print_number(r->m.out, v->value); return;
    case VAL_LOAD: print_load(r, v->source, v->idx); return;
    case VAL_ADD: print_pair(r, v, " + ", operand); return;
    case VAL_SUB: print_pair(r, v, " - ", operand); return;
    case VAL_MUL: print_pair(r, v, " * ", operand); return;
    case VAL_DIV: print_pair(r, v, " / ", operand); return;
    case VAL_MAX: case VAL_MIN: print_extremum(r, v); return;
    case VAL_LE: print_pair(r, v, " <= ", operand); return;
    case VAL_KEEP:
        str_add(r->m.out, "(");
        print_value(r, v->a, true);
        str_add(r->m.out, " >= 1 ? ");
        print_value(r, v->b, true);
        str_add(r->m.out, " : 0)");
        return;
    case VAL_FUNCTIONS: print_call(r, v); return;
    case VAL_SELECT: print_select(r, v, operand); return;
    case VAL_PICK: case VAL_KIND_COUNT: default:      /* print_picks has removed the picks */
        UNREACHABLE();
    }
}

static void open_loops(struct reference *r, const struct expr *const *var, int n)
{
    for (int i = 0; i < n; i++) {
        names_claim_var(r->m.names, var[i]);
        const char *v = names_var(r->m.names, var[i]);
        emit_line(&r->m, "for (long %s = 0; %s < %lld; %s++) {", v, v, (long long)var[i]->hi + 1,
                  v);
        r->m.depth++;
    }
}

static void close_loops(struct reference *r, int n)
{
    for (int i = 0; i < n; i++) {
        r->m.depth--;
        emit_line(&r->m, "}");
    }
}

/* Prints "const long at = ref_pick(..);" for each pick around the value v.  Returns the value
 * inside of these picks.  It has no picks itself: builders of operators put picks outermost. */
static const struct val *print_picks(struct reference *r, const struct val *v)
{
    for (; v->kind == VAL_PICK; v = v->b) {
        r->pick = true;
        emit_indent(&r->m);
        names_claim_var(r->m.names, v->cond);
        str_printf(r->m.out, "const long %s = ref_pick(", names_var(r->m.names, v->cond));
        print_value(r, v->a, false);
        str_printf(r->m.out, ", %lld);\n", (long long)v->cond->hi);
    }
    return v;
}

/* Prints the body of a node's spatial loops: "Conv[..] = " and the value.  For a reduction, first
 * prints the loops that accumulate the value in `sum`. */
static void print_body(struct reference *r, const struct node *n)
{
    struct emit *m = &r->m;
    const struct val *body = n->body;
    if (n->combine == COMBINE_NONE)
        body = print_picks(r, body);
    if (n->combine != COMBINE_NONE) {
        emit_indent(m);
        str_printf(m->out, "double %s = ", r->sum);
        print_number(m->out, n->init);
        str_add(m->out, ";\n");
        open_loops(r, n->reduce, n->n_reduce);
        body = print_picks(r, body);
        emit_indent(m);
        if (n->combine == COMBINE_SUM)
            str_printf(m->out, "%s += ", r->sum);
        else
            str_printf(m->out, "%s = ref_max(%s, ", r->sum, r->sum);
        r->max |= n->combine == COMBINE_MAX;
        print_value(r, body, false);
        str_add(m->out, n->combine == COMBINE_SUM ? ";\n" : ");\n");
        close_loops(r, n->n_reduce);
    }
    emit_indent(m);
    print_load(r, n->out, n->spatial);
    str_add(m->out, " = ");
    if (n->combine != COMBINE_NONE)
        str_add(m->out, r->sum);
    else
        print_value(r, body, false);
    str_add(m->out, ";\n");
}

static void print_node(struct reference *r, int node)
{
    const struct node *n = &r->g->node[node];
    struct str text = { 0 };
    node_print(&text, r->g, node);
    while (text.len && text.data[text.len - 1] == '\n')
        text.data[--text.len] = '\0';
    emit_indent(&r->m);
    emit_comment(r->m.out, str_text(&text));
    str_free(&text);
    int mark = names_mark(r->m.names);
    open_loops(r, n->spatial, n->n_spatial);
    if (n->n_spatial == 0)
        emit_line(&r->m, "{");
    print_body(r, n);
    close_loops(r, n->n_spatial);
    if (n->n_spatial == 0)
        emit_line(&r->m, "}");
    names_reset(r->m.names, mark);
}

static void print_helper(struct str *out, const char *name, char op)
{
    str_printf(out, "static inline double ref_%s(double a, double b) ", name);
    str_printf(out, "{ return a %c b ? a : b; }\n", op);
}

static void print_all(struct reference *r, const char *name, struct str *out)
{
    struct str body = { 0 };
    const char **type = ARENA_ARRAY(r->m.u->arena, const char *, r->g->n_tensors + 1);
    r->m.out = &body;
    r->m.depth = 1;
    r->m.prefix = "ref_";
    r->sum = names_claim(r->m.names, "sum");
    for (int i = 0; i < r->g->n_nodes; i++)
        print_node(r, i);
    emit_helpers(&r->m, out);
    if (r->max)
        print_helper(out, "max", '>');
    if (r->min)
        print_helper(out, "min", '<');
    if (r->pick)
        str_add(out, "static inline long ref_pick(double x, long hi)\n" PICK_BODY);
    if (r->max || r->min || r->pick)
        str_add_char(out, '\n');
    for (int t = 0; t < r->g->n_tensors; t++)
        type[t] = r->g->tensor[t].producer < 0 ? "const double *" : "double *";
    r->m.out = out;
    emit_signature(&r->m, name, type);
    str_add(out, "{\n");
    for (int t = 0; t < r->g->n_tensors; t++)
        if (!r->m.touched[t])
            str_printf(out, "    (void)%s;\n", r->m.buffer[t]);
    emit_wrapped(out, str_text(&body));
    str_add(out, "}\n");
    str_free(&body);
}

void gen_reference(const struct graph *g, const char *name, struct str *out)
{
    struct arena *a = arena_new();
    struct buffer *b = ARENA_ARRAY(a, struct buffer, g->n_tensors);
    for (int t = 0; t < g->n_tensors; t++) {
        const struct tensor *x = &g->tensor[t];
        b[t] = (struct buffer){ .name = x->name, .type = x->type, .rank = x->rank,
                             .elems = tensor_elems(x) };
        for (int d = 0; d < x->rank; d++)
            b[t].shape[d] = x->shape[d];
    }
    struct func f = { .pool = g->pool, .graph = g, .buffer = b };
    f.n_buffers = f.n_params = g->n_tensors;
    struct unit u = { .arena = a, .func = &f, .type = g->type };
    struct reference r = { .g = g };
    emit_open(&r.m, &u, out);
    print_all(&r, name, out);
    emit_close(&r.m);
    arena_free(a);
}
