/* Prints and checks lowered trees. */
#include "kernels/nest/tree.h"

#include <ctype.h>
#include <string.h>

#include "kernels/base/vec.h"
#include "kernels/ir/simplify.h"

const char *const loop_ann_name[] = {
    "range", "parallel", "vectorize", "unroll", "threads", "tensor",
    "block.x", "block.y", "block.z", "thread.x", "thread.y", "thread.z",
};

int64_t buffer_bytes(const struct buffer *b)
{
    return b->type->bytes * b->elems;
}

const struct expr *buffer_offset(struct exprs *p, const struct buffer *b,
                                 const struct expr *const *idx)
{
    const struct expr *flat = expr_const(p, 0);
    for (int d = 0; d < b->rank; d++)
        flat = expr_add(p, expr_mulc(p, flat, b->shape[d]), idx[d]);
    return expr_simplify(p, flat);
}

struct printer {
    int64_t dynamic;  /* bytes of dynamic shared memory, to be printed after the next shared tile;
                       * 0: nothing to print */
    struct arena *a;
    const struct func *f;
    const char **names; /* per buffer: its name */
    VEC(const char *) text;
    VEC(int) node, number;
};

/* Adds a line of a node. loop: the first loop of the line, or NULL. */
static void add_line(struct printer *pr, int depth, struct str *line, int node,
                     const struct tree *loop)
{
    const char *text = arena_printf(pr->a, "%*s%s", 4 * depth, "", str_text(line));
    vec_push(&pr->text, text);
    vec_push(&pr->node, node);
    vec_push(&pr->number, loop ? loop->number : 0);
    str_free(line);
}

static void print_store(struct printer *pr, const struct tree *t, int depth)
{
    struct str s = { 0 };
    if (t->guard) {
        str_add(&s, "if ");
        expr_print(&s, t->guard);
        str_add(&s, ": ");
    }
    size_t start = s.len;
    str_add(&s, pr->names[t->buffer]);
    for (int d = 0; d < t->rank; d++) {
        str_add_char(&s, '[');
        expr_print(&s, t->idx[d]);
        str_add_char(&s, ']');
    }
    if (t->how == STORE_MAX) {
        char *target = arena_strdup(pr->a, str_text(&s) + start);
        str_printf(&s, " = max(%s, ", target);
        val_print_brief(&s, t->value, pr->names);
        str_add_char(&s, ')');
    } else {
        str_add(&s, t->how == STORE_ADD ? " += " : " = ");
        val_print_brief(&s, t->value, pr->names);
    }
    if (t->async)
        str_add(&s, "  # asynchronous");
    add_line(pr, depth, &s, t->node, NULL);
}

static void print_tree(struct printer *pr, const struct tree *t, int depth);

static bool bounded(const struct tree *t)
{
    return t->begin || t->end;
}

/* Whether the only child of t continues the printed line of t. */
static bool same_line(const struct tree *t)
{
    const struct tree *k = t->n_kids == 1 ? t->kid[0] : NULL;
    return k && k->kind == TREE_LOOP && k->ann == t->ann && k->reduce == t->reduce && !bounded(t) &&
           !bounded(k) && k->node == t->node && !k->barrier && !k->commit;
}

/* Whether the generated code has no loop for t, because t has one iteration or is unrolled. Such a
 * loop has no prefetches (gen/build.c). */
static bool no_loop_left(const struct tree *t)
{
    bool known = (!t->begin || t->begin->kind == EXPR_CONST) &&
                 (!t->end || t->end->kind == EXPR_CONST);
    int64_t begin = known && t->begin ? t->begin->value : 0;
    return known && (t->ann == LOOP_UNROLL || (t->end ? t->end->value : t->extent) - begin <= 1);
}

/* Prints the loops that share a line. Returns the innermost of them. */
static const struct tree *print_loops(struct printer *pr, const struct tree *t, int depth)
{
    struct str vars = { 0 }, extents = { 0 }, ahead = { 0 };
    const struct tree *first = t;
    for (;; t = t->kid[0]) {
        str_printf(&vars, "%s%s", vars.len ? ", " : "", t->var->name);
        if (t->begin) {
            expr_print(&extents, t->begin);
            str_add(&extents, ", ");
            expr_print(&extents, t->end);
        } else {
            str_printf(&extents, "%s%lld", extents.len ? ", " : "", (long long)t->extent);
        }
        for (int i = 0; i < t->n_prefetch && !no_loop_left(t); i++)
            str_printf(&ahead, "%s%s of %s + %lld", ahead.len ? ", " : "  # prefetch ",
                       pr->names[t->prefetch[i].buffer], t->var->name,
                       (long long)t->prefetch[i].ahead);
        if (!same_line(t))
            break;
    }
    struct str line = { 0 };
    str_printf(&line, "for %s in %s(%s):%s", str_text(&vars), loop_ann_name[first->ann],
               str_text(&extents), str_text(&ahead));
    str_free(&ahead);
    str_free(&vars);
    str_free(&extents);
    add_line(pr, depth, &line, first->node, first);
    return t;
}

/* Appends a comment to the line: the values that the variables of cut loops have in this piece. */
static void print_piece(struct printer *pr, int line, const char *piece)
{
    if (!piece)
        return;
    char *lower = arena_strdup(pr->a, piece);
    for (char *c = lower; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    pr->text.data[line] = arena_printf(pr->a, "%s  # %s", pr->text.data[line], lower);
}

static void print_one(struct printer *pr, const struct tree *t, int depth)
{
    struct str barrier = { 0 }, wait = { 0 };
    if (t->wait) {
        str_add(&wait, "wait for all copies");
        if (t->wait > 1)
            str_printf(&wait, " but the last %d", t->wait - 1);
        add_line(pr, depth, &wait, t->node, NULL);
    }
    if (t->barrier) {
        str_add(&barrier, "barrier");
        add_line(pr, depth, &barrier, t->node, NULL);
    }
    int first = pr->text.len;
    const char *piece = t->piece;
    if (t->kind == TREE_STORE) {
        print_store(pr, t, depth);
        print_piece(pr, first, piece);
        return;
    }
    if (t->kind == TREE_SCOPE) {
        const struct buffer *b = &pr->f->buffer[t->buffer];
        struct str line = { 0 };
        str_printf(&line, "%s = %s", b->name, b->memory == MEMORY_SHARED ? "shared" : "tile");
        for (int d = 0; d < b->rank; d++)
            str_printf(&line, "[%lld]", (long long)b->shape[d]);
        if (b->swizzle.mask)
            str_printf(&line, " swizzled by %lld", (long long)(b->swizzle.mask & -b->swizzle.mask));
        if (b->memory == MEMORY_SHARED && pr->dynamic > 0) {
            str_printf(&line, "  # %lld bytes of shared memory, dynamic", (long long)pr->dynamic);
            pr->dynamic = 0;
        }
        add_line(pr, depth, &line, t->node, NULL);
        depth--;
    } else {
        t = print_loops(pr, t, depth);
    }
    print_piece(pr, first, piece);
    for (int i = 0; i < t->n_kids; i++)
        print_tree(pr, t->kid[i], depth + 1);
}

static void print_tree(struct printer *pr, const struct tree *t, int depth)
{
    struct str commit = { 0 };
    print_one(pr, t, depth);
    if (!t->commit)
        return;
    str_add(&commit, "commit copies");
    add_line(pr, depth, &commit, t->node, NULL);
}

struct tree_lines func_lines(struct arena *a, const struct func *f)
{
    struct printer pr = { .a = a, .f = f };
    pr.names = ARENA_ARRAY(a, const char *, f->n_buffers);
    for (int i = 0; i < f->n_buffers; i++)
        pr.names[i] = f->buffer[i].name;
    for (int i = 0; i < f->n_roots; i++) {
        int64_t shared = tree_shared_bytes(f, f->root[i]);
        pr.dynamic = shared > SHARED_BYTES ? shared : 0;
        print_tree(&pr, f->root[i], 0);
    }
    struct tree_lines out = { .n = pr.text.len };
    out.text = ARENA_DUP(a, pr.text.data, pr.text.len);
    out.node = ARENA_DUP(a, pr.node.data, pr.node.len);
    out.number = ARENA_DUP(a, pr.number.data, pr.number.len);
    vec_free(&pr.text);
    vec_free(&pr.node);
    vec_free(&pr.number);
    return out;
}

void func_print(struct str *out, const struct func *f)
{
    struct arena *a = arena_new();
    struct tree_lines lines = func_lines(a, f);
    for (int i = 0; i < lines.n; i++)
        str_printf(out, "%s\n", lines.text[i]);
    arena_free(a);
}

struct verifier {
    const struct func *f;
    VEC(const struct tree *) path;
    bool *in_scope;                       /* per buffer: whether it is in scope here */
    bool guarded;
};

static void verify_index(struct verifier *v, int buffer, int rank, const struct expr *const *idx,
                         bool guarded)
{
    const struct buffer *b = &v->f->buffer[buffer];
    if (b->memory != MEMORY_GLOBAL && !v->in_scope[buffer])
        fail("buffer %s is used outside its scope", b->name);
    if (rank != b->rank)
        fail("buffer %s has rank %d, accessed with %d", b->name, b->rank, rank);
    for (int d = 0; d < rank && !guarded; d++)
        if (idx[d]->lo < 0 || idx[d]->hi >= b->shape[d])
            fail("index %d of %s ranges over [%lld, %lld], outside [0, %lld)", d, b->name,
                 (long long)idx[d]->lo, (long long)idx[d]->hi, (long long)b->shape[d]);
}

static void verify_val(struct verifier *v, const struct val *x, bool guarded)
{
    if (x->kind == VAL_LOAD)
        verify_index(v, x->source, x->rank, x->idx, guarded || v->guarded);
    if (x->a)
        verify_val(v, x->a, guarded || x->kind == VAL_SELECT);
    if (x->b)
        verify_val(v, x->b, guarded || x->kind == VAL_SELECT);
}

static void verify_loop(struct verifier *v, const struct tree *t)
{
    for (int i = 0; i < t->n_prefetch; i++)
        if (t->prefetch[i].buffer < 0 || t->prefetch[i].buffer >= v->f->n_params)
            fail("loop %s prefetches what is not in memory", t->var->name);
    for (int i = 0; i < v->path.len; i++)
        if (v->path.data[i]->kind == TREE_LOOP && v->path.data[i]->var == t->var)
            fail("loop variable %s is bound twice on one path", t->var->name);
    for (int i = 0; i < t->n_kids; i++)
        if (t->ann == LOOP_VECTORIZE && t->kid[i]->kind == TREE_LOOP &&
            t->kid[i]->ann != LOOP_UNROLL)
            fail("loop %s inside vectorized loop %s", t->kid[i]->var->name, t->var->name);
}

static void verify(struct verifier *v, const struct tree *t)
{
    if (t->kind == TREE_STORE) {
        verify_index(v, t->buffer, t->rank, t->idx, t->guard || v->guarded);
        verify_val(v, t->value, t->guard != NULL);
        return;
    }
    bool guarded = v->guarded;
    if (t->kind == TREE_SCOPE)
        v->in_scope[t->buffer] = true;
    else
        verify_loop(v, t);
    v->guarded = guarded || t->begin; /* bounds can keep an index with a wider range inside */
    vec_push(&v->path, t);
    for (int i = 0; i < t->n_kids; i++)
        verify(v, t->kid[i]);
    (void)vec_pop(&v->path);
    v->guarded = guarded;
    if (t->kind == TREE_SCOPE)
        v->in_scope[t->buffer] = false;
}

void tree_verify(const struct func *f)
{
    struct verifier v = { .f = f };
    v.in_scope = xcalloc((size_t)f->n_buffers, sizeof *v.in_scope);
    for (int i = 0; i < f->n_roots; i++)
        verify(&v, f->root[i]);
    vec_free(&v.path);
    free(v.in_scope);
}
