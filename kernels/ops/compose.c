/* Builds a graph of several operators from text.  The operator of every statement is built as a
 * graph of its own, which is then copied into the whole graph.  The operator's inputs and constants
 * are bound to the arguments; those without an argument become new tensors.  The operator's
 * expressions are rebuilt in the pool of the whole graph. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/vec.h"
#include "kernels/ir/simplify.h"
#include "kernels/ops/compose_ops.h"
#include "kernels/ops/source.h"

#define MAX_ARGS 64
#define MAX_NODES 4000
#define MAX_DIM_NAME 40

struct compose {
    struct arena *a;
    struct graph *g;
    const char *text; /* the current statement */
    int line;         /* its line number, for errors */
    struct err *e;
    struct str spec;           /* the canonical text so far */
    int n_outputs, output[64]; /* the tensors that `output` statements name */
    const struct elem_type *type;         /* the type that a statement gave; NULL: none so far */
    VEC(struct graph_statement) statements;
};

/* A statement NAME = OP(ARGS) PARAMS. */
struct statement {
    const char *name, *op, *params;
    int name_col, op_col, params_col;
    int n_args, arg[MAX_ARGS]; /* arguments: tensors of the graph */
};

/* A word NAME=VALUE of a declaration. */
struct word {
    const char *name, *value;
    size_t n; /* length of the value */
    int col;
};

bool graph_is_composition(const char *text)
{
    const char *s = text + strspn(text, " \t\r\n");
    size_t word = 0;
    while (*s == '#') {
        s += strcspn(s, "\n");
        s += strspn(s, " \t\r\n");
    }
    while (isalnum((unsigned char)s[word]) || s[word] == '_')
        word++;
    const char *after = s + word + strspn(s + word, " \t");
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)word, s);
    return word > 0 && !ops_find(name) && *after == '=' && after > s + word;
}

static bool at(struct compose *c, int col, int len)
{
    err_where(c->e, NULL, c->line, col, c->text);
    return err_at(c->e, col, len);
}

/* Sets the error and its place in the statement. Returns false. */
#define reject(c, col, len, ...) (err_set((c)->e, __VA_ARGS__), at(c, col, len))

static bool is_name_char(char ch)
{
    return isalnum((unsigned char)ch) || ch == '_';
}

/* Reads the word at *s (letters, digits, _), and skips the blanks before and after it. */
static const char *take_name(struct compose *c, const char **s, int *col)
{
    *s += strspn(*s, " \t");
    const char *start = *s;
    while (is_name_char(**s))
        (*s)++;
    *col = (int)(start - c->text) + 1;
    const char *name = arena_strndup(c->a, start, (size_t)(*s - start));
    *s += strspn(*s, " \t");
    return name;
}

static bool known(struct compose *c, const char *name, int col, int *t)
{
    *t = graph_tensor(c->g, name);
    if (*t >= 0)
        return true;
    const char *names[256];
    int n = 0;
    for (; n < c->g->n_tensors && n < COUNT_OF(names); n++)
        names[n] = c->g->tensor[n].name;
    const char *near = str_nearest(name, names, n);
    reject(c, col, (int)strlen(name), ERR_NAME, "no tensor %s is defined before this statement",
           name);
    return near && err_fix(c->e, "did you mean %s?", near);
}

static bool parse_args(struct compose *c, const char **s, struct statement *st)
{
    if (**s != '(')
        return true;
    do {
        int col;
        (*s)++;
        const char *name = take_name(c, s, &col);
        if (st->n_args == MAX_ARGS)
            return reject(c, col, 1, ERR_RANGE, "an operator takes at most %d tensors", MAX_ARGS);
        if (!known(c, name, col, &st->arg[st->n_args++]))
            return false;
    } while (**s == ',');
    if (**s != ')')
        return reject(c, (int)(*s - c->text) + 1, 1, ERR_SYNTAX,
                      "expected , or ) after the tensor");
    (*s)++;
    return true;
}

static bool new_name(struct compose *c, const struct statement *st)
{
    bool ok = st->name[0] && isalpha((unsigned char)st->name[0]);
    if (ok && graph_tensor(c->g, st->name) < 0)
        return true;
    if (ok)
        err_set(c->e, ERR_NAME, "there is a tensor %s already", st->name);
    else
        err_set(c->e, ERR_SYNTAX, "a statement is NAME = OPERATOR(TENSORS) PARAMETERS");
    return at(c, st->name_col, (int)strlen(st->name));
}

static bool parse_statement(struct compose *c, struct statement *st)
{
    const char *s = c->text;
    *st = (struct statement){ 0 };
    st->name = take_name(c, &s, &st->name_col);
    if (*s != '=') {
        reject(c, (int)(s - c->text) + 1, 1, ERR_SYNTAX, "expected = after %s",
               st->name[0] ? st->name : "a name");
        return err_fix(c->e, "a statement is NAME = OPERATOR(TENSORS) PARAMETERS");
    }
    s++;
    st->op = take_name(c, &s, &st->op_col);
    if (!new_name(c, st) || !parse_args(c, &s, st))
        return false;
    s += strspn(s, " \t");
    st->params = s;
    st->params_col = (int)(s - c->text) + 1;
    return true;
}

/* Checks that tensor t, which the statement calls `name`, has at most TENSOR_MAX_ELEMS elements. */
static bool is_stored(struct compose *c, const struct statement *st, const char *name,
                      const struct tensor *t)
{
    return tensor_check_elems(t, name, ':', c->e) || at(c, st->name_col, (int)strlen(st->name));
}

/* Reads one dimension of a declaration, DIM=SIZE. */
static bool declare_dim(struct compose *c, const struct statement *st, struct tensor_def *def,
                        const char **dims, int64_t *shape, const struct word *w)
{
    char number[32];
    long long v = 0;
    char *dim = (char *)(uintptr_t)w->name;
    snprintf(number, sizeof number, "%.*s", (int)w->n, w->value);
    int len = (int)strlen(dim);
    if (len > MAX_DIM_NAME)
        return reject(c, w->col, len, ERR_NAME,
                      "the name of a dimension has more than %d characters", MAX_DIM_NAME);
    if (!*dim || def->rank == MAX_RANK || !str_to_int64(number, 1, TENSOR_MAX_ELEMS, &v)) {
        reject(c, w->col, len, ERR_SYNTAX, "expected up to %d dimensions, DIM=SIZE", MAX_RANK);
        return err_fix(c->e, "for example n=1 i=64 h=56 w=56");
    }
    for (char *ch = dim; *ch; ch++)
        *ch = (char)toupper((unsigned char)*ch);
    for (int d = 0; d < def->rank; d++)
        if (streq(dims[d], dim))
            return reject(c, w->col, len, ERR_NAME, "%s has two dimensions %s", st->name, dim);
    dims[def->rank] = dim;
    shape[def->rank++] = v;
    return true;
}

/* Reads NAME=VALUE from *s on, and the blanks after it. */
static struct word take_word(struct compose *c, const char **s)
{
    struct word w = { 0 };
    w.name = take_name(c, s, &w.col);
    w.value = *s + (**s == '=');
    w.n = **s == '=' ? strcspn(w.value, " \t") : 0;
    *s = w.value + w.n + strspn(w.value + w.n, " \t");
    return w;
}

/* Takes the graph's type from a statement.  Fails when an earlier statement gave another type. */
static bool take_type(struct compose *c, const struct elem_type *type, int col, int len)
{
    if (c->type && c->type != type) {
        reject(c, col, len, ERR_TYPE, "type=%s contradicts type=%s in an earlier statement",
               type->name, c->type->name);
        return err_fix(c->e, "a graph has one type: say it once, at an input");
    }
    c->type = type;
    return true;
}

static bool declare_type(struct compose *c, const struct word *w)
{
    const char *name = arena_strndup(c->a, w->value, w->n);
    int len = (int)(w->value - c->text) + 1 - w->col + (int)w->n;
    for (int i = 0; i < TYPE_COUNT; i++)
        if (strcaseeq(name, type_words[i]))
            return take_type(c, type_get(i), w->col, len);
    reject(c, w->col, len, ERR_NAME, "there is no element type \"%.40s\"", name);
    return err_near(c->e, name, type_words, TYPE_COUNT, "did you mean type=%s?",
                    "the types are f32, f16 and bf16");
}

/* Reads a declaration, `input n=1 i=64` or `const o=64`: a tensor with these dims, perhaps with
 * type=bf16.  The words of a constant may also give its data. */
static bool declare(struct compose *c, const struct statement *st, enum tensor_role role)
{
    const char *dims[MAX_RANK];
    int64_t shape[MAX_RANK];
    struct tensor_def def = { st->name, 0, dims, shape, role };
    struct source_words data = { 0 };
    struct word last = { 0 };             /* the last word that describes data */
    for (const char *s = st->params; *s;) {
        struct word w = take_word(c, &s);
        if (streq(w.name, "type")) {
            if (!declare_type(c, &w))
                return false;
            continue;
        }
        if (role != TENSOR_CONST || !source_is_word(w.name)) {
            if (!declare_dim(c, st, &def, dims, shape, &w))
                return false;
            continue;
        }
        last = w;
        if (!source_take(c->a, &data, w.name, w.value, w.n, c->e))
            return at(c, w.col, (int)(w.value - c->text) + 1 - w.col + (int)w.n);
    }
    int t = graph_add_tensor(c->g, &def);
    if (!is_stored(c, st, st->name, &c->g->tensor[t]))
        return false;
    struct tensor *made = &c->g->tensor[t];
    if (!source_finish(c->a, &data, made->name, tensor_elems(made), &made->source, c->e))
        return at(c, last.col, (int)(last.value - c->text) + 1 - last.col + (int)last.n);
    return true;
}

void graph_family_spec(struct str *out, const char *op, const char *params,
                       const struct tensor *first)
{
    const struct op_family *f = ops_find(op);
    str_printf(out, "%s %s", op, params);
    for (int d = 0; f && first && d < first->rank && f->data_params[d]; d++) {
        char word[64];
        snprintf(word, sizeof word, "%s=", f->data_params[d]);
        bool found = false;
        for (const char *s = params; (s = strstr(s, word)); s++)
            found = found || s == params || isspace((unsigned char)s[-1]);
        if (!found)
            str_printf(out, " %s%lld", word, (long long)first->shape[d]);
    }
}

struct splice {
    struct compose *c;
    const struct graph *sub;
    const struct statement *st;
    int *tensor; /* per tensor of the operator's graph: its index in the whole graph */
    /* number of the current node's variables that get other names: from[i] becomes to[i] */
    int n_renamed;
    const char *from[MAX_RANK + 1];
    const struct expr *to[MAX_RANK + 1];
};

static const struct expr *splice_index(void *ctx, const struct expr *e)
{
    struct splice *s = ctx;
    struct exprs *p = s->c->g->pool;
    return expr_simplify(p, expr_import(p, e, s->from, s->to, s->n_renamed));
}

static const struct val *splice_load(void *ctx, const struct val *load)
{
    struct splice *s = ctx;
    return val_load(s->c->a, s->tensor[load->source], load->rank, load->idx);
}

static bool bind(struct splice *s, int sub, int arg)
{
    struct compose *c = s->c;
    const struct tensor *want = &s->sub->tensor[sub], *have = &c->g->tensor[s->st->arg[arg]];
    s->tensor[sub] = s->st->arg[arg];
    if (tensor_same_shape(want, have))
        return true;
    struct str w = { 0 }, h = { 0 };
    tensor_print_shape(&w, want, ':');
    tensor_print_shape(&h, have, ':');
    reject(c, s->st->op_col, (int)strlen(s->st->op), ERR_RANGE,
           "%s of %s has the shape %s, but %s has the shape %s", want->name, s->st->op,
           str_text(&w), have->name, str_text(&h));
    str_free(&w);
    str_free(&h);
    return false;
}

/* Returns the name in the whole graph for tensor x of the operator.  If the statement has the name
 * of the operator's result (Conv), x keeps the name that it has in the operator, unless that name
 * is taken.  Schedules of the operator then still apply. */
static const char *spliced_name(const struct splice *s, const struct tensor *x)
{
    const struct tensor *result = &s->sub->tensor[s->sub->node[s->sub->n_nodes - 1].out];
    bool own = streq(result->name, s->st->name) && graph_tensor(s->c->g, x->name) < 0;
    return x->role == TENSOR_OUTPUT ? s->st->name
         : own                      ? arena_strdup(s->c->a, x->name)
                                    : arena_printf(s->c->a, "%s_%s", s->st->name, x->name);
}

/* Binds the tensors of the operator.  Its inputs and constants are bound to the arguments in order.
 * All other tensors are bound to new ones. */
static bool splice_tensors(struct splice *s)
{
    struct compose *c = s->c;
    int arg = 0;
    for (int t = 0; t < s->sub->n_tensors; t++) {
        const struct tensor *x = &s->sub->tensor[t];
        if (x->producer < 0 && arg < s->st->n_args) {
            if (!bind(s, t, arg++))
                return false;
            continue;
        }
        const char *name = spliced_name(s, x);
        if (graph_tensor(c->g, name) >= 0) {
            reject(c, s->st->name_col, (int)strlen(s->st->name), ERR_NAME,
                   "there is a tensor %s already", name);
            return err_fix(c->e, "statement %s creates a tensor of this name: rename one of the "
                           "two", s->st->name);
        }
        if (!is_stored(c, s->st, name, x))
            return false;
        struct tensor_def def = { name, x->rank, x->dim, x->shape,
                                  x->producer < 0 ? x->role : TENSOR_INTER };
        s->tensor[t] = graph_add_tensor(c->g, &def);
    }
    return arg == s->st->n_args
        || reject(c, s->st->op_col, (int)strlen(s->st->op), ERR_RANGE,
                  "%s takes %d tensors, but %d are given", s->st->op, arg, s->st->n_args);
}

/* Gives the dims of an element-wise node the names of its operand's dims, so that layouts can
 * propagate to it. */
static void rename_dims(struct splice *s, const struct node *n)
{
    struct graph *g = s->c->g;
    struct tensor *out = &g->tensor[s->tensor[n->out]];
    s->n_renamed = 0;
    if (!n->elementwise)
        return;
    const struct tensor *in = &g->tensor[s->tensor[n->data_in]];
    if (!tensor_same_shape(out, in))
        return;
    for (int d = 0; d < out->rank; d++) {
        out->dim[d] = in->dim[d];
        s->from[d] = n->spatial[d]->name;
        s->to[d] = expr_dim(g->pool, in->dim[d], out->shape[d]);
        s->n_renamed++;
    }
}

/* Names the variable of a pick (gather) after the statement.  Picks of two statements then have
 * different variables, even if one statement is inlined into the other. */
static void rename_pick(struct splice *s, const struct node *n)
{
    if (n->body->kind != VAL_PICK)
        return;
    s->from[s->n_renamed] = n->body->cond->name;
    s->to[s->n_renamed++] = val_pick_var(s->c->g->pool, s->st->name, n->body->cond->hi + 1);
}

static void splice_node(struct splice *s, const struct node *from)
{
    struct compose *c = s->c;
    struct val_map map = { s, splice_load, splice_index };
    struct node n = *from;
    rename_dims(s, from);
    rename_pick(s, from);
    n.out = s->tensor[from->out];
    n.data_in = from->data_in < 0 ? -1 : s->tensor[from->data_in];
    for (int d = 0; d < n.n_spatial; d++)
        n.spatial[d] = splice_index(s, from->spatial[d]);
    for (int r = 0; r < n.n_reduce; r++) {
        n.reduce[r] = splice_index(s, from->reduce[r]);
        n.reduce_dim[r] = arena_strdup(c->a, from->reduce_dim[r]);
    }
    n.body = val_rebuild(c->a, from->body, &map);
    graph_add_node(c->g, &n);
}

/* Builds an operator on tensors of any rank in a graph of its own.  The inputs of that graph have
 * the shapes of the arguments. */
static bool any_rank_operator(struct compose *c, const struct statement *st,
                              const struct graph **sub)
{
    struct call call = { .op = st->op, .params = st->params, .n_in = st->n_args, .e = c->e };
    struct graph *g = call.g = graph_new(c->a, "call");
    g->call = true;
    for (int i = 0; i < st->n_args; i++) {
        const struct tensor *t = &c->g->tensor[st->arg[i]];
        struct tensor_def def = { arena_printf(c->a, "In%d", i), t->rank, t->dim, t->shape,
                                  TENSOR_INPUT };
        call.in[i] = graph_add_tensor(g, &def);
    }
    int out = compose_op_build(&call);
    if (out < 0)
        return c->e->at.col > 0 ? at(c, st->params_col + c->e->at.col - 1, c->e->at.len)
                                : at(c, st->op_col, (int)strlen(st->op));
    graph_set_output(g, out);
    *sub = g;
    return true;
}

/* Makes random indices of a gather, and random conditions of a where, whole numbers. */
static void note_whole(const struct compose *c, const struct statement *st)
{
    const struct val *body = c->g->node[c->g->n_nodes - 1].body;
    bool indices = str_starts(st->op, "gather");
    if (!indices && !streq(st->op, "where"))
        return;
    struct tensor *t = &c->g->tensor[st->arg[indices]];
    if (t->producer < 0)
        t->whole = !indices ? 2 : body->kind == VAL_PICK ? body->cond->hi + 1 : 1;
}

static bool splice_in(struct compose *c, const struct statement *st, const struct graph *sub)
{
    struct splice s = { .c = c, .sub = sub, .st = st };
    int first = c->g->n_nodes;
    s.tensor = ARENA_ARRAY(c->a, int, sub->n_tensors);
    if (!splice_tensors(&s))
        return false;
    for (int n = 0; n < sub->n_nodes; n++)
        splice_node(&s, &sub->node[n]);
    note_whole(c, st);
    struct graph_statement made = {
        .op = arena_strdup(c->a, st->op), .params = arena_strdup(c->a, st->params),
        .n_args = st->n_args, .arg = ARENA_DUP(c->a, st->arg, st->n_args),
        .out = c->g->node[c->g->n_nodes - 1].out, .node = first, .n_nodes = sub->n_nodes,
    };
    vec_push(&c->statements, made);
    return true;
}

static bool add_operator(struct compose *c, const struct statement *st)
{
    struct str spec = { 0 };
    const struct graph *sub;
    if (st->n_args > 0 && compose_op_known(st->op, st->params))
        return any_rank_operator(c, st, &sub) && splice_in(c, st, sub);
    int typed = (int)(strlen(st->op) + 1 + strlen(st->params));
    graph_family_spec(&spec, st->op, st->params,
                      st->n_args ? &c->g->tensor[st->arg[0]] : NULL);
    bool ok = graph_from_spec(c->a, str_text(&spec), &sub, c->e);
    if (!ok) {
        int col = c->e->at.col, len = c->e->at.len, shift = (int)strlen(st->op) + 1;
        if (col > shift && col <= typed)
            at(c, st->params_col + col - shift - 1, len);
        else
            at(c, st->op_col, (int)strlen(st->op));
    } else {
        ok = (sub->type == type_get(0)
              || take_type(c, sub->type, st->op_col, (int)strlen(st->op))) && splice_in(c, st, sub);
    }
    str_free(&spec);
    return ok;
}

static bool add_outputs(struct compose *c, const char *s)
{
    do {
        int col, t;
        const char *name = take_name(c, &s, &col);
        if (!*name)
            return reject(c, col, 1, ERR_SYNTAX, "output takes tensor names")
                || err_fix(c->e, "name the results, as in `output y`, or leave the statement out");
        if (!known(c, name, col, &t))
            return false;
        if (c->g->tensor[t].producer < 0)
            return reject(c, col, (int)strlen(name), ERR_RANGE,
                          "%s is not computed by this graph", name);
        if (c->n_outputs == COUNT_OF(c->output))
            return reject(c, col, (int)strlen(name), ERR_RANGE, "a graph has at most %d outputs",
                          COUNT_OF(c->output));
        c->output[c->n_outputs++] = t;
        s += *s == ',';
    } while (*s);
    return true;
}

/* Appends the statement to the canonical text, with single blanks. */
static void add_canonical(struct compose *c)
{
    bool blank = false;
    str_add(&c->spec, c->spec.len ? "; " : "");
    for (const char *s = c->text; *s; s++) {
        if (isspace((unsigned char)*s)) {
            blank = true;
            continue;
        }
        if (blank && c->spec.len && str_text(&c->spec)[c->spec.len - 1] != ' ')
            str_add_char(&c->spec, ' ');
        blank = false;
        str_add_char(&c->spec, *s);
    }
}

static bool add_statement(struct compose *c, const char *text)
{
    struct statement st;
    c->text = text + strspn(text, " \t\r");
    if (!*c->text || *c->text == '#')
        return true;
    add_canonical(c);
    if (c->g->n_nodes > MAX_NODES)
        return reject(c, 1, 1, ERR_RANGE, "the graph has more than %d nodes", MAX_NODES);
    if (str_starts(c->text, "output ") || streq(c->text, "output"))
        return add_outputs(c, c->text + 6);
    if (!parse_statement(c, &st))
        return false;
    if (strcaseeq(st.op, "input") || strcaseeq(st.op, "const"))
        return declare(c, &st, strcaseeq(st.op, "input") ? TENSOR_INPUT : TENSOR_CONST);
    return add_operator(c, &st);
}

/* Fails when a graph of a narrow type reads indices from a tensor: the type would round them. */
static bool check_picks(struct compose *c)
{
    for (int n = 0; n < c->g->n_nodes; n++)
        if (c->g->node[n].body->kind == VAL_PICK && type_is_narrow(c->type)) {
            err_set(c->e, ERR_TYPE, "the indices of %s would be rounded to %s",
                    c->g->tensor[c->g->node[n].out].name, c->type->title);
            return err_fix(c->e, "leave out type=%s: float32 holds indices up to 16777216",
                           c->type->name);
        }
    return true;
}

/* Marks the outputs: the tensors that `output` names, or else those that no node reads. */
static bool finish(struct compose *c)
{
    struct graph *g = c->g;
    for (int i = 0; i < c->n_outputs; i++)
        graph_set_output(g, c->output[i]);
    for (int t = 0; t < g->n_tensors && c->n_outputs == 0; t++) {
        bool read = g->tensor[t].producer < 0;
        for (int n = 0; n < g->n_nodes && !read; n++)
            read = graph_reads(g, n, t);
        if (!read)
            graph_set_output(g, t);
    }
    for (int n = g->n_nodes - 1; n >= 0; n--)
        if (g->node[n].complex)
            g->main_node = n;
    if (c->type && !check_picks(c))
        return false;
    graph_set_type(g, c->type ? c->type : g->type);
    g->spec = arena_strdup(c->a, str_text(&c->spec));
    return g->n_nodes > 0 || err_set(c->e, ERR_SYNTAX, "the graph has no operators");
}

bool graph_compose(struct arena *a, const char *text, const struct graph **out, struct err *e)
{
    struct compose c = { .a = a, .e = e, .line = 1, .g = graph_new(a, "graph") };
    char *copy = arena_strdup(a, text);
    bool ok = true;
    for (char *s = copy; s && ok;) {
        char *end = strpbrk(s, ";\n");
        bool line_ends = end && *end == '\n';
        if (end)
            *end = '\0';
        ok = add_statement(&c, s);
        c.line += line_ends;
        s = end ? end + 1 : NULL;
    }
    ok = ok && finish(&c);
    c.g->n_statements = c.statements.len;
    c.g->statement = ARENA_DUP(a, c.statements.data, c.statements.len);
    vec_free(&c.statements);
    str_free(&c.spec);
    if (ok)
        *out = c.g;
    return ok;
}
