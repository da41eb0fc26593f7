#include "kernels/module/partition_impl.h"

#include <stdio.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/module/simplify.h"
#include "kernels/ops/compose_ops.h"

/* --- The text of a kernel --------------------------------------------------------------------- */

struct writer {
    struct cutter *c;
    struct str text;
    VEC(struct part_operand) operands;
    const struct graph *family;           /* the graph of the main statement's family, or NULL */
    const struct tensor *shape;           /* the shape of the last result in the kernel's text */
    VEC(const char *) names;              /* all names in the text */
    VEC(const char *) name_of;            /* per member: the name of its result */
};

static bool is_taken(const struct writer *w, const char *name)
{
    for (int i = 0; i < w->names.len; i++)
        if (strcaseeq(w->names.data[i], name))
            return true;
    return w->family && graph_tensor(w->family, name) >= 0;
}

/* Returns a name that is not in the text yet: the first free one of want, want2, want3, ... */
static const char *fresh_name(struct writer *w, const char *want)
{
    const char *name = want;
    for (int i = 2; is_taken(w, name); i++)
        name = arena_printf(w->c->a, "%s%d", want, i);
    vec_push(&w->names, name);
    return name;
}

static void add_operand(struct writer *w, const char *name, int tensor)
{
    struct part_operand o = { name, tensor };
    vec_push(&w->operands, o);
}

/* Declares an operand.  as: its dims and shape in the kernel's text. own_dims: whether the dims
 * have the names that they have in *as; if not, their names are d0, d1, ... */
static void declare(struct writer *w, const char *name, int tensor, const struct tensor *as,
                    bool own_dims)
{
    const struct tensor *t = &w->c->g->tensor[tensor];
    int m = w->c->maker[tensor];
    bool constant = m < 0 ? t->role == TENSOR_CONST
                          : w->c->groups.data[w->c->group_of[m]].constant;
    str_printf(&w->text, "%s = %s", name, constant ? "const" : "input");
    for (int d = 0; d < as->rank; d++) {
        char dim[48], *s = dim;
        for (const char *from = as->dim[d]; *from && s < dim + sizeof dim - 1; from++)
            *s++ = *from >= 'A' && *from <= 'Z' ? (char)(*from - 'A' + 'a') : *from;
        *s = '\0';
        if (own_dims)
            str_printf(&w->text, " %s=%lld", dim, (long long)as->shape[d]);
        else
            str_printf(&w->text, " d%d=%lld", d, (long long)as->shape[d]);
    }
    if (m < 0 && t->source && t->source->n == 1)
        source_print(&w->text, t->source);
    str_add(&w->text, "; ");
    add_operand(w, name, tensor);
}

/* Returns the name of tensor t in the text if a member already written computes t, else NULL. */
static const char *member_name(const struct writer *w, const struct cut_group *g, int t)
{
    for (int i = 0; i < w->name_of.len; i++)
        if (w->c->g->statement[g->member[i]].out == t)
            return w->name_of.data[i];
    return NULL;
}

/* Returns the name of tensor t in the text if a member already written computes t, or if t is
 * declared as an operand; else NULL. */
static const char *known_name(const struct writer *w, const struct cut_group *g, int t)
{
    const char *name = member_name(w, g, t);
    if (name)
        return name;
    for (int i = 0; i < w->operands.len; i++)
        if (w->operands.data[i].tensor == t)
            return w->operands.data[i].name;
    return NULL;
}

static void write_call(struct writer *w, const char *name, const struct graph_statement *s,
                       const char *const *args, const char *op, const char *params)
{
    str_printf(&w->text, "%s = %s(", name, op);
    for (int i = 0; i < s->n_args; i++)
        str_printf(&w->text, "%s%s", i ? ", " : "", args[i]);
    str_printf(&w->text, ")%s%s", params[0] ? " " : "", params);
}

/* Writes the spec of the family that computes a matrix product of tensors of any rank. The leading
 * dims become rows of one matrix (gmm) or batches (bmm). Returns false if no family fits. */
static bool product_family(const struct graph *g, const struct graph_statement *s, struct str *out)
{
    if (!streq(s->op, "matmul"))
        return false;
    const struct tensor *x = &g->tensor[s->arg[0]], *y = &g->tensor[s->arg[1]];
    const struct tensor *z = &g->tensor[s->out];
    int64_t k = x->shape[x->rank - 1], rows = 1;
    bool bias = s->n_args == 3;
    if (x->rank < 2 || y->rank < 2 || z->rank < 2 || (bias && g->tensor[s->arg[2]].rank != 1))
        return false;
    for (int d = 0; d < x->rank - 1; d++)
        rows *= x->shape[d];
    if (y->rank == 2) {
        str_printf(out, "gmm m=%lld k=%lld n=%lld bias=%d %s", (long long)rows, (long long)k,
                   (long long)y->shape[1], bias, s->params);
        return true;
    }
    if (bias)
        return false;
    for (int d = 0; d < y->rank - 2; d++)
        if (x->rank != y->rank || x->shape[d] != y->shape[d])
            return false;
    int64_t m = x->shape[x->rank - 2];
    str_printf(out, "bmm b=%lld m=%lld k=%lld n=%lld %s", (long long)(rows / m), (long long)m,
               (long long)k, (long long)y->shape[y->rank - 1], s->params);
    return true;
}

/* Sets w->family to the graph of the family that computes statement s, the main one of the part. If
 * no family does, w->family stays NULL. */
static void find_family(struct writer *w, const struct graph_statement *s)
{
    const struct graph *g = w->c->g, *family;
    bool any_rank = s->n_args > 0 && compose_op_known(s->op, s->params);
    struct str spec = {0};
    struct err ignored;
    int given = 0;
    if (!product_family(g, s, &spec) && ops_find(s->op) && !any_rank)
        graph_family_spec(&spec, s->op, s->params, s->n_args ? &g->tensor[s->arg[0]] : NULL);
    if (spec.len && graph_from_spec(w->c->a, str_text(&spec), &family, &ignored)) {
        for (int t = 0; t < family->n_tensors; t++)
            given += family->tensor[t].producer < 0;
        w->family = given >= s->n_args ? family : NULL;
    }
    str_free(&spec);
}

/* Returns the parameters in the spec of family graph f, except those that follow from its first
 * tensor. */
static const char *own_params(struct arena *a, const struct graph *f)
{
    const struct op_family *family = ops_find(f->op);
    struct str out = {0};
    for (const char *s = strchr(f->spec, ' '); s; s = strchr(s + 1, ' ')) {
        size_t n = strcspn(s + 1, " ");
        bool given = false;
        for (int d = 0; d < MAX_RANK && family->data_params[d]; d++) {
            size_t m = strlen(family->data_params[d]);
            given |= m < n && strncmp(s + 1, family->data_params[d], m) == 0 && s[1 + m] == '=';
        }
        if (!given)
            str_printf(&out, "%s%.*s", out.len ? " " : "", (int)n, s + 1);
    }
    const char *text = arena_strdup(a, str_text(&out));
    str_free(&out);
    return text;
}

/* Tensor x of a family is operand i of statement s. Returns the tensor of the network that is this
 * operand. If the statement does not list the operand, its name in the network is RESULT_X, or X
 * itself (graph.h). */
static int family_operand(const struct writer *w, const struct graph_statement *s, int i,
                          const struct tensor *x)
{
    const struct graph *g = w->c->g;
    const char *name = arena_printf(w->c->a, "%s_%s", g->tensor[s->out].name, x->name);
    if (i < s->n_args)
        return s->arg[i];
    return graph_tensor(g, name) >= 0 ? graph_tensor(g, name) : graph_tensor(g, x->name);
}

/* Writes the operands and the call of the main statement s, which w->family computes. */
static void write_family_main(struct writer *w, const struct graph_statement *s)
{
    const struct graph *f = w->family;
    const char *args[64];
    int n = 0;
    for (int t = 0; t < f->n_tensors; t++) {
        const struct tensor *x = &f->tensor[t];
        if (x->producer >= 0)
            continue;
        vec_push(&w->names, x->name);
        declare(w, x->name, family_operand(w, s, n, x), x, true);
        args[n++] = x->name;
    }
    const char *result = f->tensor[f->node[f->n_nodes - 1].out].name;
    struct graph_statement all = *s;
    all.n_args = n;
    write_call(w, result, &all, args, f->op, own_params(w->c->a, f));
    vec_push(&w->names, result);
    vec_push(&w->name_of, result);
    w->shape = &f->tensor[f->node[f->n_nodes - 1].out];
}

/* Returns operand t of an element-wise statement with the shape that the operand gets in the text.
 * The result of the statement has shape w->shape in the text and shape `whole` in the network. */
static struct tensor operand_shape(const struct writer *w, const struct tensor *t,
                                   const struct tensor *whole)
{
    struct tensor as = *t;
    if (tensor_same_shape(t, whole)) {
        as = *w->shape;
    } else if (w->shape->rank < whole->rank) {
        int drop = whole->rank - w->shape->rank;
        for (; drop > 0 && as.rank > 1 && as.shape[0] == 1; drop--) {
            as.rank--;
            memmove(as.shape, as.shape + 1, sizeof as.shape[0] * (size_t)as.rank);
        }
    }
    return as;
}

/* Whether to swap the operands of a sum, product, maximum or minimum, so that the operand that this
 * kernel computes comes first. Equal kernels then have equal texts. */
static bool swapped(const struct writer *w, const struct cut_group *g,
                    const struct graph_statement *s)
{
    return s->n_args == 2 && words_have("add mul max min", s->op, strlen(s->op))
        && !member_name(w, g, s->arg[0]) && member_name(w, g, s->arg[1]);
}

/* Returns a copy of statement s that also lists the operands of its family that s leaves out. arg:
 * room for the arguments of the copy. */
static struct graph_statement with_own_operands(const struct writer *w,
                                                const struct graph_statement *s, int *arg)
{
    struct writer as = *w;
    struct graph_statement all = *s;
    as.family = NULL;
    find_family(&as, s);
    memcpy(arg, s->arg, sizeof *arg * (size_t)s->n_args);
    all.arg = arg;
    for (int t = 0, i = 0; as.family && t < as.family->n_tensors; t++) {
        const struct tensor *x = &as.family->tensor[t];
        if (x->producer < 0 && i++ >= s->n_args)
            arg[all.n_args++] = family_operand(w, s, i, x);
    }
    return all;
}

/* Adds the names of the inner tensors of statement s to w->names: softmax has an Exp, for example.
 * In the text, the result is named after the operator, and its inner tensors have no prefix. */
static void take_inner_names(struct writer *w, const struct graph_statement *s)
{
    const struct graph *g = w->c->g;
    const char *result = g->tensor[s->out].name;
    size_t n = strlen(result);
    for (int i = s->node; i + 1 < s->node + s->n_nodes; i++) {
        const char *name = g->tensor[g->node[i].out].name;
        bool prefixed = str_starts(name, result) && name[n] == '_';
        vec_push(&w->names, prefixed ? name + n + 1 : name);
    }
}

/* Writes statement `own` after the declarations of its operands. main: whether the operands have
 * the same shapes in the text as in the network; if not, they have shapes that fit w->shape. */
static void write_statement(struct writer *w, const struct cut_group *g,
                            const struct graph_statement *own, bool main)
{
    const struct tensor *whole = &w->c->g->tensor[own->out];
    const char *args[64];
    int arg[64];
    static const char *const role[] = { "X", "Res" };
    const struct graph_statement all = with_own_operands(w, own, arg), *s = &all;
    for (int i = 0; i < s->n_args; i++) {
        int operand = s->arg[swapped(w, g, s) ? 1 - i : i];
        const struct tensor *t = &w->c->g->tensor[operand];
        args[i] = known_name(w, g, operand);
        if (args[i])
            continue;
        struct tensor as = main ? *t : operand_shape(w, t, whole);
        args[i] = fresh_name(w, t->role == TENSOR_CONST ? "W" : role[!main]);
        declare(w, args[i], operand, &as, !main && tensor_same_shape(t, whole) && w->family);
    }
    char name[64];
    snprintf(name, sizeof name, "%c%s", s->op[0] >= 'a' ? s->op[0] - 'a' + 'A' : s->op[0],
             s->op + 1);
    const char *result = fresh_name(w, arena_strdup(w->c->a, name));
    write_call(w, result, s, args, s->op, s->params);
    take_inner_names(w, own);
    vec_push(&w->name_of, result);
    if (main)
        w->shape = whole;
}

/* Whether the main result can have the family's shape in the text: the other operands of the
 * element-wise statements must then still fit. */
static bool fits_family(const struct writer *w, const struct cut_group *g)
{
    const struct graph *net = w->c->g;
    const struct tensor *whole = &net->tensor[net->statement[g->member[0]].out];
    struct writer as = *w;
    as.shape = &w->family->tensor[w->family->node[w->family->n_nodes - 1].out];
    if (as.shape->rank >= whole->rank)
        return true;
    for (int i = 1; i < g->n; i++) {
        const struct graph_statement *s = &net->statement[g->member[i]];
        if (streq(s->op, "batchnorm"))  /* it works on dim 1, which is another dim in the family */
            return false;
        for (int k = 0; k < s->n_args; k++) {
            const struct tensor *t = &net->tensor[s->arg[k]];
            if (!tensor_same_shape(t, whole) && operand_shape(&as, t, whole).rank > 1)
                return false;
        }
    }
    return true;
}

/* Whether all statements after the first are element-wise in the shape of the first one's result.
 * Groups made by the rule are such chains. */
static bool is_chain(const struct graph *net, const struct cut_group *g)
{
    const struct tensor *whole = &net->tensor[net->statement[g->member[0]].out];
    for (int i = 1; i < g->n; i++) {
        const struct graph_statement *s = &net->statement[g->member[i]];
        if (compose_op_kind(s->op) != COMPOSE_ELEMENTWISE
            || !tensor_same_shape(&net->tensor[s->out], whole))
            return false;
    }
    return true;
}

static void write_part(struct cutter *c, const struct cut_group *g, struct net_part *part)
{
    const struct graph_statement *main = &c->g->statement[g->member[0]];
    struct writer w = { .c = c };
    bool chain = is_chain(c->g, g);
    if (chain)
        find_family(&w, main);
    if (w.family && !fits_family(&w, g))
        w.family = NULL;
    if (w.family)
        write_family_main(&w, main);
    else
        write_statement(&w, g, main, true);
    for (int i = 1; i < g->n; i++) {
        str_add(&w.text, "; ");
        write_statement(&w, g, &c->g->statement[g->member[i]], !chain);
    }
    int *inner = ARENA_ARRAY(c->a, int, g->n);
    for (int i = 0; i < g->n - 1; i++)
        inner[i] = c->g->statement[g->member[i]].out;
    *part = (struct net_part){
        .spec = g->n == 1 && w.family ? w.family->spec : arena_strdup(c->a, str_text(&w.text)),
        .result = w.name_of.data[g->n - 1], .out = g->out, .constant = g->constant,
        .n_operands = w.operands.len,
        .operand = ARENA_DUP(c->a, w.operands.data, w.operands.len),
        .n_inner = g->n - 1, .inner = inner,
        .first = g->member[0], .last = g->member[g->n - 1],
        .view = cutter_is_view(c, g),
    };
    str_free(&w.text);
    vec_free(&w.operands);
    vec_free(&w.names);
    vec_free(&w.name_of);
}

static int by_last(const void *p, const void *q)
{
    return ((const struct net_part *)p)->last - ((const struct net_part *)q)->last;
}

bool partition(struct arena *a, const struct graph *g, int n_steps, const char *const *step,
               struct partition *out, struct err *e)
{
    struct cutter c;
    bool ok = cutter_make(&c, a, g, n_steps, step, e);
    if (ok) {
        struct net_part *part = ARENA_ARRAY(a, struct net_part, c.groups.len);
        int n = 0;
        for (int i = 0; i < c.groups.len; i++)
            if (c.groups.data[i].n > 0)
                write_part(&c, &c.groups.data[i], &part[n++]);
        qsort(part, (size_t)n, sizeof *part, by_last);
        *out = (struct partition){ n, part, n_steps, step };
    }
    vec_free(&c.groups);
    return ok;
}

bool partition_check(const struct graph *g, int n_steps, const char *const *step, struct err *e)
{
    struct arena *a = arena_new();
    struct cutter c = { .a = a };
    const struct graph *simple;
    bool ok = simplify_graph(a, g, simplify_default(), &simple, NULL, e)
           && cutter_make(&c, a, simple, n_steps, step, e);
    vec_free(&c.groups);
    arena_free(a);
    return ok;
}

int partition_count(const struct graph *g)
{
    struct arena *a = arena_new();
    struct err ignored;
    struct cutter c;
    int n = 0;
    cutter_make(&c, a, g, 0, NULL, &ignored);
    for (int i = 0; i < c.groups.len; i++)
        n += !c.groups.data[i].constant && !cutter_is_view(&c, &c.groups.data[i]);
    vec_free(&c.groups);
    arena_free(a);
    return n;
}
