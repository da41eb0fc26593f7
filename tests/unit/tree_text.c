#include "tests/unit/tree_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/vec.h"
#include "kernels/ir/simplify.h"
#include "tests/unit/expr_parse.h"

struct reader {
    struct arena *a;
    struct exprs *p;
    VEC(char *) line;
    int at;                               /* the next line */
    VEC(struct buffer) buffer;
    VEC(const struct expr *) vars;        /* of the loops around */
    const char *s;                        /* in the current line */
};

static const struct val *sum(struct reader *r);

static void blanks(struct reader *r)
{
    r->s += strspn(r->s, " ");
}

static bool eat(struct reader *r, const char *token)
{
    blanks(r);
    if (!str_starts(r->s, token))
        return false;
    r->s += strlen(token);
    return true;
}

static void need(struct reader *r, const char *token)
{
    if (!eat(r, token))
        fail("tree text: %s expected at: %s", token, r->s);
}

static const char *word(struct reader *r)
{
    blanks(r);
    size_t n = 0;
    while (isalnum((unsigned char)r->s[n]) || r->s[n] == '_' || r->s[n] == '.')
        n++;
    r->s += n;
    return arena_strndup(r->a, r->s - n, n);
}

static int64_t number(struct reader *r)
{
    char *end;
    int64_t v = strtoll(r->s, &end, 10);
    if (end == r->s)
        fail("tree text: number expected at: %s", r->s);
    r->s = end;
    return v;
}

/* The index expression up to one of the characters in stop, or a word in stop_word, outside
 * parentheses. */
static const struct expr *index_until(struct reader *r, const char *stop, const char *stop_word)
{
    int depth = 0;
    const char *from = r->s;
    const struct expr *e;
    struct err err;
    for (; *r->s && (depth > 0 || !strchr(stop, *r->s)); r->s++) {
        if (depth == 0 && stop_word && str_starts(r->s, stop_word))
            break;
        depth += (*r->s == '(') - (*r->s == ')');
    }
    const char *text = arena_strndup(r->a, from, (size_t)(r->s - from));
    if (!expr_parse(r->p, text, r->vars.data, r->vars.len, &e, &err))
        fail("tree text: %s in %s", err.text, text);
    return expr_simplify(r->p, e);
}

static int find_buffer(const struct reader *r, const char *name)
{
    for (int i = r->buffer.len - 1; i >= 0; i--)
        if (streq(r->buffer.data[i].name, name))
            return i;
    fail("tree text: no buffer %s", name);
}

static int indices(struct reader *r, const struct expr **idx)
{
    int n = 0;
    while (eat(r, "[")) {
        idx[n++] = index_until(r, "]", NULL);
        need(r, "]");
    }
    return n;
}

/* "exp(x)"; NULL when no function of one float starts here. */
static const struct val *call(struct reader *r)
{
    for (int k = 0; k < VAL_KIND_COUNT; k++) {
        if (!val_is_function((enum val_kind)k) ||
            !eat(r, arena_printf(r->a, "%s(", val_name((enum val_kind)k))))
            continue;
        const struct val *x = sum(r);
        need(r, ")");
        return val_un(r->a, (enum val_kind)k, x);
    }
    return NULL;
}

static const struct val *atom(struct reader *r)
{
    const struct expr *idx[MAX_DIMS];
    blanks(r);
    if (isdigit((unsigned char)*r->s) || *r->s == '-') {
        char *end;
        double v = strtod(r->s, &end);
        r->s = end;
        return val_const(r->a, v);
    }
    if (eat(r, "(")) {
        const struct val *v = sum(r);
        need(r, ")");
        return v;
    }
    bool is_max = eat(r, "max(");
    if (is_max || eat(r, "min(")) {
        const struct val *x = sum(r);
        need(r, ",");
        const struct val *y = sum(r);
        need(r, ")");
        return val_bin(r->a, is_max ? VAL_MAX : VAL_MIN, x, y);
    }
    if (eat(r, "select(")) {
        const struct expr *cond = index_until(r, ",", NULL);
        need(r, ",");
        const struct val *x = sum(r);
        need(r, ",");
        const struct val *y = sum(r);
        need(r, ")");
        return val_select(r->a, cond, x, y);
    }
    const struct val *v = call(r);
    if (v)
        return v;
    int b = find_buffer(r, word(r));
    int n = indices(r, idx);
    return val_load(r->a, b, n, idx);
}

static const struct val *product(struct reader *r)
{
    const struct val *v = atom(r);
    for (;;) {
        if (eat(r, "*"))
            v = val_bin(r->a, VAL_MUL, v, atom(r));
        else if (eat(r, "/"))
            v = val_bin(r->a, VAL_DIV, v, atom(r));
        else
            return v;
    }
}

static const struct val *sum(struct reader *r)
{
    const struct val *v = product(r);
    for (;;) {
        if (eat(r, "+"))
            v = val_bin(r->a, VAL_ADD, v, product(r));
        else if (eat(r, "-"))
            v = val_bin(r->a, VAL_SUB, v, product(r));
        else
            return v;
    }
}

static int indent_of(const char *line)
{
    return (int)strspn(line, " ") / 2;
}

static void read_buffer(struct reader *r, enum memory_scope scope, bool read, bool written)
{
    struct buffer b = {
        .type = &type_f32, .memory = scope, .read = read, .written = written, .elems = 1,
        .name = word(r)
    };
    while (eat(r, "[")) {
        b.shape[b.rank] = number(r);
        b.elems *= b.shape[b.rank++];
        need(r, "]");
    }
    b.tensor = r->buffer.len;
    vec_push(&r->buffer, b);
}

static void read_store(struct reader *r, struct tree *t)
{
    const struct expr *idx[MAX_DIMS];
    t->kind = TREE_STORE;
    if (eat(r, "if ")) {
        t->guard = index_until(r, ":", NULL);
        need(r, ":");
    }
    t->buffer = find_buffer(r, word(r));
    t->rank = indices(r, idx);
    t->idx = ARENA_DUP(r->a, idx, t->rank);
    t->how = eat(r, "+=") ? STORE_ADD : eat(r, "max=") ? STORE_MAX : STORE_SET;
    if (t->how == STORE_SET)
        need(r, "=");
    t->value = sum(r);
}

static void read_loop(struct reader *r, struct tree *t)
{
    t->kind = TREE_LOOP;
    const char *name = word(r);
    blanks(r);
    t->extent = number(r);
    t->var = expr_var(r->p, name, 0, t->extent - 1);
    char *axis = arena_strdup(r->a, name);
    for (char *c = axis; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    t->axis = axis;
    for (blanks(r); *r->s; blanks(r)) {
        if (eat(r, "from ")) {
            t->begin = index_until(r, "", " to ");
            need(r, "to ");
            t->end = index_until(r, "", NULL);
        } else if (eat(r, "reduce")) {
            t->reduce = true;
        } else if (eat(r, "prefetch ")) {
            struct prefetch x = { find_buffer(r, word(r)), (blanks(r), number(r)) };
            t->prefetch = ARENA_DUP(r->a, &x, 1);
            t->n_prefetch = 1;
        } else {
            const char *ann = word(r);
            for (int i = LOOP_PARALLEL; i < LOOP_ANN_COUNT; i++)
                if (streq(ann, loop_ann_name[i]))
                    t->ann = (enum loop_ann)i;
            if (t->ann == LOOP_SERIAL)
                fail("tree text: what is %s%s", ann, r->s);
        }
    }
}

/* The trees at this indentation, appended to *out; the vector is freed by the caller. */
struct kids { const struct tree **data; int len, cap; };

static void read_trees(struct reader *r, int indent, struct kids *out)
{
    while (r->at < r->line.len && indent_of(r->line.data[r->at]) == indent) {
        struct tree *t = ARENA_NEW(r->a, struct tree);
        struct kids kids = { 0 };
        r->s = r->line.data[r->at++];
        if (eat(r, "for ")) {
            read_loop(r, t);
            vec_push(&r->vars, t->var);
            read_trees(r, indent + 1, &kids);
            (void)vec_pop(&r->vars);
        } else if (eat(r, "tile ")) {
            t->kind = TREE_SCOPE;
            read_buffer(r, MEMORY_LOCAL, true, true);
            t->buffer = r->buffer.len - 1;
            read_trees(r, indent + 1, &kids);
        } else {
            read_store(r, t);
        }
        t->n_kids = kids.len;
        t->kid = ARENA_DUP(r->a, kids.data, kids.len);
        vec_free(&kids);
        vec_push(out, t);
    }
}

/* One tensor, one node: enough for names in messages. */
static const struct graph *dummy_graph(struct reader *r)
{
    struct graph *g = ARENA_NEW(r->a, struct graph);
    g->pool = r->p;
    g->spec = g->op = "text";
    g->type = &type_f32;
    g->n_tensors = g->n_nodes = 1;
    g->tensor = ARENA_NEW(r->a, struct tensor);
    g->tensor->name = "Out";
    g->tensor->type = &type_f32;
    g->node = ARENA_NEW(r->a, struct node);
    return g;
}

const struct func *tree_from_text(struct arena *a, const char *text)
{
    struct reader r = { .a = a, .p = exprs_new(a) };
    struct func *f = ARENA_NEW(a, struct func);
    struct kids roots = { 0 };
    char *rest = NULL;
    for (char *l = strtok_r(arena_strdup(a, text), "\n", &rest); l; l = strtok_r(NULL, "\n", &rest))
        vec_push(&r.line, l);
    for (; r.at < r.line.len; r.at++) {
        r.s = r.line.data[r.at];
        bool both = eat(&r, "inout ");
        bool stream = !both && eat(&r, "stream ");
        bool out = stream || (!both && eat(&r, "out "));
        if (!both && !out && !eat(&r, "in "))
            break;
        read_buffer(&r, MEMORY_GLOBAL, !out, both || out);
        r.buffer.data[r.buffer.len - 1].stream = stream;
    }
    f->n_params = r.buffer.len;
    read_trees(&r, 0, &roots);
    if (r.at < r.line.len)
        fail("tree text: indentation of: %s", r.line.data[r.at]);
    f->pool = r.p;
    f->graph = dummy_graph(&r);
    f->n_buffers = r.buffer.len;
    f->buffer = ARENA_DUP(a, r.buffer.data, r.buffer.len);
    f->n_roots = roots.len;
    f->root = ARENA_DUP(a, roots.data, roots.len);
    vec_free(&roots);
    vec_free(&r.line);
    vec_free(&r.buffer);
    vec_free(&r.vars);
    tree_verify(f);
    return f;
}
