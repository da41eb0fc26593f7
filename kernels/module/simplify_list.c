/* The list of statements that passes rewrite: read from a graph, looked up, changed, printed. */
#include "kernels/module/simplify_impl.h"

#include <ctype.h>
#include <stdio.h>

#include "kernels/ops/compose_ops.h"

/* Reading a graph.  Some statements do not list all their operands, and make the missing inputs and
 * constants themselves.  In r->stmt, such an input or constant has a declaration, and is an
 * argument of its statement. */

struct graph_reading {
    struct rewrite *r;
    const struct graph *g;
    int *owner;                           /* per tensor: the statement of g that made it, or -1 */
    int *stmt;                            /* per tensor: its number in r->stmt, or -1 */
    int *made;                            /* per statement of g: its number in r->stmt, or -1 */
    int now;                              /* the statement whose loads are being visited */
};

static bool has_arg(const struct graph_statement *s, int t)
{
    for (int i = 0; i < s->n_args; i++)
        if (s->arg[i] == t)
            return true;
    return false;
}

static void note_owner(void *ctx, const struct val *load)
{
    const struct graph_reading *in = ctx;
    int t = load->source;
    if (in->g->tensor[t].producer < 0 && in->owner[t] < 0 &&
        !has_arg(&in->g->statement[in->now], t))
        in->owner[t] = in->now;
}

static void find_owners(struct graph_reading *in)
{
    for (in->now = 0; in->now < in->g->n_statements; in->now++) {
        const struct graph_statement *s = &in->g->statement[in->now];
        for (int n = s->node; n < s->node + s->n_nodes; n++) {
            in->owner[in->g->node[n].out] = in->now;
            val_each_load(in->g->node[n].body, note_owner, in);
        }
    }
}

static int push(struct graph_reading *in, int t, const char *op, const char *params)
{
    const struct tensor *x = &in->g->tensor[t];
    struct rewrite_stmt s = { .name = x->name, .op = op, .params = params, .shape = *x };
    vec_push(&in->r->stmt, s);
    return in->stmt[t] = in->r->stmt.len - 1;
}

static void read_declaration(struct graph_reading *in, int t)
{
    const struct tensor *x = &in->g->tensor[t];
    struct str params = { 0 };
    for (int d = 0; d < x->rank; d++) {
        str_add(&params, d ? " " : "");
        for (const char *c = x->dim[d]; *c; c++)
            str_add_char(&params, (char)tolower((unsigned char)*c));
        str_printf(&params, "=%lld", (long long)x->shape[d]);
    }
    if (x->source)
        source_print(&params, x->source);
    bool constant = x->role == TENSOR_CONST;
    const char *op = constant ? "const" : "input";
    int i = push(in, t, op, arena_strdup(in->r->a, str_text(&params)));
    in->r->stmt.data[i].constant = constant;
    str_free(&params);
}

/* Returns the number in r->stmt of tensor t, which is an argument or an output.  If t is an inner
 * tensor of a statement, adds it to r->stmt first. */
static int number_of(struct graph_reading *in, int t)
{
    if (in->stmt[t] >= 0)
        return in->stmt[t];
    int around = in->made[in->owner[t]], i = push(in, t, "", "");
    struct rewrite_stmt *s = &in->r->stmt.data[i];
    s->n_args = 1;
    s->arg = ARENA_DUP(in->r->a, &around, 1);
    s->fixed = in->r->stmt.data[around].fixed = true;
    return i;
}

static bool all_constant(const struct rewrite *r, const int *arg, int n)
{
    bool all = n > 0;
    for (int i = 0; i < n; i++)
        all = all && rewrite_at(r, arg[i])->constant;
    return all;
}

static void read_statement(struct graph_reading *in, int k)
{
    const struct graph_statement *s = &in->g->statement[k];
    VEC(int) arg = { 0 };
    for (int i = 0; i < s->n_args; i++)
        vec_push(&arg, number_of(in, s->arg[i]));
    for (int t = 0; t < in->g->n_tensors; t++)
        if (in->owner[t] == k && in->g->tensor[t].producer < 0) {
            read_declaration(in, t);
            vec_push(&arg, in->stmt[t]);
        }
    int i = in->made[k] = push(in, s->out, s->op, s->params);
    struct rewrite_stmt *made = &in->r->stmt.data[i];
    made->n_args = arg.len;
    made->arg = ARENA_DUP(in->r->a, arg.data, arg.len);
    made->constant = all_constant(in->r, made->arg, arg.len);
    made->family = compose_op_known(s->op, "") &&
                   (s->n_args == 0 || !compose_op_known(s->op, s->params));
    vec_free(&arg);
}

void rewrite_read(struct rewrite *r, struct arena *a, const struct graph *g)
{
    *r = (struct rewrite){ .a = a, .g = g };
    struct graph_reading in = { .r = r, .g = g, .owner = ARENA_ARRAY(a, int, g->n_tensors),
                          .stmt = ARENA_ARRAY(a, int, g->n_tensors),
                          .made = ARENA_ARRAY(a, int, g->n_statements) };
    for (int t = 0; t < g->n_tensors; t++)
        in.owner[t] = in.stmt[t] = -1;
    for (int k = 0; k < g->n_statements; k++)
        in.made[k] = -1;
    find_owners(&in);
    for (int t = 0; t < g->n_tensors; t++)
        if (in.owner[t] < 0)
            read_declaration(&in, t);
        else if (in.made[in.owner[t]] < 0)
            read_statement(&in, in.owner[t]);
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensor[t].role == TENSOR_OUTPUT)
            r->stmt.data[number_of(&in, t)].output = true;
    rewrite_refresh(r);
}

void rewrite_free(struct rewrite *r)
{
    vec_free(&r->stmt);
}

/* Marks the statements that an output needs. */

static void mark(struct rewrite *r, int i)
{
    struct rewrite_stmt *s = &r->stmt.data[i];
    if (s->live)
        return;
    s->live = true;
    for (int k = 0; k < s->n_args; k++)
        mark(r, s->arg[k]);
}

void rewrite_refresh(struct rewrite *r)
{
    for (int i = 0; i < r->stmt.len; i++) {
        r->stmt.data[i].live = rewrite_is(r, i, "input");
        r->stmt.data[i].n_readers = 0;
    }
    for (int i = r->stmt.len - 1; i >= 0; i--)
        if (r->stmt.data[i].output)
            mark(r, i);
    for (int i = 0; i < r->stmt.len; i++)
        for (int k = 0; rewrite_at(r, i)->live && k < rewrite_at(r, i)->n_args; k++)
            r->stmt.data[rewrite_at(r, i)->arg[k]].n_readers++;
}

/* --- Printing --------------------------------------------------------------------------------- */

/* Prints statement i after its arguments. Clears `live` of the statements that it prints. */
static void print_stmt(struct rewrite *r, int i, struct str *out)
{
    struct rewrite_stmt *s = &r->stmt.data[i];
    if (!s->live)
        return;
    s->live = false;
    for (int k = 0; k < s->n_args; k++)
        print_stmt(r, s->arg[k], out);
    if (!s->op[0])
        return;
    str_printf(out, "%s = %s", s->name, s->op);
    for (int k = 0; k < s->n_args; k++)
        str_printf(out, "%s%s", k ? ", " : "(", rewrite_at(r, s->arg[k])->name);
    str_printf(out, "%s%s%s\n", s->n_args ? ")" : "", s->params[0] ? " " : "", s->params);
}

void rewrite_print(struct rewrite *r, struct str *out)
{
    for (int i = 0; i < r->stmt.len; i++)
        print_stmt(r, i, out);
    const char *between = "output ";
    for (int i = 0; i < r->stmt.len; i++)
        if (rewrite_at(r, i)->output) {
            str_printf(out, "%s%s", between, rewrite_at(r, i)->name);
            between = ", ";
        }
    rewrite_refresh(r);
}

/* --- Questions about statements --------------------------------------------------------------- */

bool rewrite_is(const struct rewrite *r, int i, const char *op)
{
    return !rewrite_at(r, i)->family && streq(rewrite_at(r, i)->op, op);
}

bool rewrite_is_any(const struct rewrite *r, int i, const char *ops)
{
    const struct rewrite_stmt *s = rewrite_at(r, i);
    return s->op[0] && !s->family && words_have(ops, s->op, strlen(s->op));
}

bool rewrite_is_inner(const struct rewrite *r, int i)
{
    const struct rewrite_stmt *s = rewrite_at(r, i);
    return s->n_args > 0 && s->n_readers == 1 && !s->output && !s->fixed;
}

bool rewrite_same_shape(const struct rewrite *r, int i, int j)
{
    return tensor_same_shape(&rewrite_at(r, i)->shape, &rewrite_at(r, j)->shape);
}

bool rewrite_number(const struct rewrite *r, int i, double *v)
{
    const struct rewrite_stmt *s = rewrite_at(r, i);
    if (!streq(s->op, "const") || !s->shape.source || s->shape.source->n != 1)
        return false;
    *v = (double)s->shape.source->value[0];
    return true;
}

/* Returns a struct call that has only the params of statement i, for param_float and the like. */
static struct call call_of(const struct rewrite *r, int i)
{
    return (struct call){ .g = (struct graph *)(uintptr_t)r->g,
                          .params = rewrite_at(r, i)->params };
}

bool rewrite_has(const struct rewrite *r, int i, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = rewrite_at(r, i)->params; *s; s += strspn(s, " \t")) {
        if (strncmp(s, name, n) == 0 && s[n] == '=')
            return true;
        s += strcspn(s, " \t");
    }
    return false;
}

double rewrite_float(const struct rewrite *r, int i, const char *name, double otherwise)
{
    struct call c = call_of(r, i);
    return param_float(&c, name, otherwise);
}

int64_t rewrite_int(const struct rewrite *r, int i, const char *name, int64_t otherwise)
{
    struct call c = call_of(r, i);
    return param_int(&c, name, otherwise);
}

int rewrite_list(const struct rewrite *r, int i, const char *name, int64_t *out)
{
    struct call c = call_of(r, i);
    return param_list(&c, name, out);
}

/* --- Changes of statements -------------------------------------------------------------------- */

void rewrite_set(struct rewrite *r, int i, const char *op, const int *arg, int n_args,
                 const char *fmt, ...)
{
    struct rewrite_stmt *s = &r->stmt.data[i];
    va_list ap;
    va_start(ap, fmt);
    s->params = arena_vprintf(r->a, fmt, ap);
    va_end(ap);
    s->op = op;
    s->arg = ARENA_DUP(r->a, arg, n_args);
    s->n_args = n_args;
    s->constant = all_constant(r, arg, n_args);
}

static bool name_taken(const struct rewrite *r, const char *name)
{
    if (graph_tensor(r->g, name) >= 0)
        return true;
    for (int i = 0; i < r->stmt.len; i++)
        if (strcaseeq(rewrite_at(r, i)->name, name))
            return true;
    return false;
}

int rewrite_add(struct rewrite *r, int by, const char *suffix, const struct tensor *shape,
                const char *op, const int *arg, int n_args, const char *fmt, ...)
{
    struct rewrite_stmt s = { .op = op, .n_args = n_args, .shape = *shape };
    va_list ap;
    va_start(ap, fmt);
    s.params = arena_vprintf(r->a, fmt, ap);
    va_end(ap);
    s.arg = ARENA_DUP(r->a, arg, n_args);
    s.constant = streq(op, "const") || all_constant(r, arg, n_args);
    s.name = arena_printf(r->a, "%s_%s", rewrite_at(r, by)->name, suffix);
    while (name_taken(r, s.name))
        s.name = arena_printf(r->a, "%s_", s.name);
    vec_push(&r->stmt, s);
    return r->stmt.len - 1;
}

bool rewrite_fix(struct rewrite *r, const char *name)
{
    bool fixed = false;
    for (int i = 0; i < r->stmt.len; i++) {
        struct rewrite_stmt *s = &r->stmt.data[i];
        size_t n = strlen(s->name);
        bool inside = strncasecmp(s->name, name, n) == 0 && (name[n] == '_' || !name[n]);
        fixed = fixed || (inside && !s->fixed && s->n_args > 0);
        s->fixed = s->fixed || inside;
    }
    return fixed;
}

/* Whether statement j can take over the name and the role of output i without changing the order of
 * the outputs. */
static bool can_take_name(const struct rewrite *r, int i, int j)
{
    const struct rewrite_stmt *s = rewrite_at(r, j);
    for (int k = (i < j ? i : j) + 1; k < i || k < j; k++)
        if (rewrite_at(r, k)->output)
            return false;
    return s->n_args > 0 && !s->output && !s->fixed && !s->constant;
}

bool rewrite_replace(struct rewrite *r, int i, int j)
{
    struct rewrite_stmt *s = &r->stmt.data[i], *to = &r->stmt.data[j];
    if (s->fixed || (s->output && !can_take_name(r, i, j)))
        return false;
    if (s->output) {
        const char *name = s->name;
        s->name = to->name;
        to->name = name;
        s->output = false;
        to->output = true;
    }
    for (int k = 0; k < r->stmt.len; k++) {
        const struct rewrite_stmt *reader = rewrite_at(r, k);
        for (int n = 0; n < reader->n_args; n++)
            if (reader->arg[n] == i)
                reader->arg[n] = j;
    }
    return true;
}

const char *rewrite_text(struct rewrite *r, double v)
{
    char text[40];
    bool is_float = (double)(f32)v == v;
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v || (is_float && (double)strtof(text, NULL) == v))
            break;
    }
    return arena_strdup(r->a, text);
}
