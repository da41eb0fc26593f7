#include "kernels/module/module.h"

#include "kernels/base/arena.h"
#include "kernels/ops/graph.h"

#include <string.h>

/* Returns the C name of an operator. An operator with the name of a C function gets another name,
 * because the compiler, the C library or a file into which the text is pasted may define that
 * function. */
static const char *c_name(const char *op)
{
    bool of_c = streq(op, "abs") || streq(op, "div");
    for (int k = 0; k < VAL_KIND_COUNT; k++)
        of_c |= val_is_function((enum val_kind)k) && streq(op, val_name((enum val_kind)k));
    return of_c ? "kernel" : op;
}

const char *module_kernel_name(const struct func *f)
{
    const struct graph *g = f->graph;
    const struct node *main = &g->node[g->main_node];
    return c_name(main->complex || g->n_nodes == 1 ? main->op : g->op);
}

/* --- One kernel for each nest ----------------------------------------------------------------- */

/* State of copying one nest of a function into a function of its own. */
struct cut {
    const struct func *from;
    struct arena *arena;
    int *number;                          /* per buffer of `from`: its number in `to`, or -1 */
    struct func *to;
    struct buffer *buffer;
    int *source;                          /* per buffer of `to`: its number in `from` */
};

static void note_load(void *ctx, const struct val *load)
{
    ((struct cut *)ctx)->number[load->source] = 0;
}

static void note_buffers(struct cut *c, const struct tree *t)
{
    if (t->kind != TREE_LOOP)
        c->number[t->buffer] = 0;
    if (t->kind == TREE_STORE)
        val_each_load(t->value, note_load, c);
    for (int i = 0; i < t->n_kids; i++)
        note_buffers(c, t->kid[i]);
}

static void number_buffers(struct cut *c)
{
    const struct func *from = c->from;
    for (int b = 0; b < from->n_buffers; b++) {
        if (c->number[b] < 0)
            continue;
        c->number[b] = c->to->n_buffers++;
        c->to->n_params += b < from->n_params;
        c->buffer[c->number[b]] = from->buffer[b];
        c->buffer[c->number[b]].read = c->buffer[c->number[b]].written = false;
        c->source[c->number[b]] = b;
    }
}

static const struct val *renumber_load(void *ctx, const struct val *load)
{
    struct cut *c = ctx;
    int b = c->number[load->source];
    c->buffer[b].read = true;
    return val_load(c->arena, b, load->rank, load->idx);
}

static const struct tree *copy_tree(struct cut *c, const struct tree *t)
{
    struct tree *out = ARENA_DUP(c->arena, t, 1);
    const struct val_map map = { .ctx = c, .load = renumber_load };
    struct prefetch *fetch = ARENA_ARRAY(c->arena, struct prefetch, t->n_prefetch);
    int n = 0;
    for (int i = 0; i < t->n_prefetch; i++) {
        fetch[n] = t->prefetch[i];
        fetch[n].buffer = c->number[t->prefetch[i].buffer];
        n += fetch[n].buffer >= 0;
    }
    out->prefetch = fetch;
    out->n_prefetch = n;
    if (t->kind != TREE_LOOP)
        out->buffer = c->number[t->buffer];
    if (t->kind == TREE_STORE) {
        c->buffer[out->buffer].written = true;
        c->buffer[out->buffer].read |= t->how != STORE_SET;
        out->value = val_rebuild(c->arena, t->value, &map);
    }
    const struct tree **kid = ARENA_ARRAY(c->arena, const struct tree *, t->n_kids);
    for (int i = 0; i < t->n_kids; i++)
        kid[i] = copy_tree(c, t->kid[i]);
    out->kid = kid;
    return out;
}

/* Returns a function that has only nest number `root` of f. *source: for each parameter of the new
 * function, the number of its buffer in f. */
static const struct func *cut_nest(const struct func *f, int root, const int **source)
{
    struct arena *a = exprs_arena(f->pool);
    struct cut c = { .from = f, .arena = a, .to = ARENA_DUP(a, f, 1),
                     .number = ARENA_ARRAY(a, int, f->n_buffers) };
    const struct tree **only = ARENA_ARRAY(a, const struct tree *, 1);
    for (int b = 0; b < f->n_buffers; b++)
        c.number[b] = -1;
    note_buffers(&c, f->root[root]);
    c.to->n_buffers = c.to->n_params = 0;
    int n = 0;
    for (int b = 0; b < f->n_buffers; b++)
        n += c.number[b] >= 0;
    c.buffer = ARENA_ARRAY(a, struct buffer, n);
    c.source = ARENA_ARRAY(a, int, n);
    number_buffers(&c);
    only[0] = copy_tree(&c, f->root[root]);
    c.to->buffer = c.buffer;
    c.to->root = only;
    c.to->n_roots = 1;
    *source = c.source;
    return c.to;
}

/* --- The module ------------------------------------------------------------------------------- */

void module_lifetimes(const struct module *m, struct module_buffer *b)
{
    for (int i = 0; i < m->n_calls; i++)
        for (int p = 0; p < m->kernel[m->call[i].kernel].func->n_params; p++) {
            struct module_buffer *at = &b[m->call[i].buffer[p]];
            at->first = at->first < i ? at->first : i;
            at->last = at->last > i ? at->last : i;
        }
}

static void add_lifetimes(struct module *m, const struct func *f)
{
    struct module_buffer *b = ARENA_ARRAY(exprs_arena(f->pool), struct module_buffer, f->n_params);
    for (int i = 0; i < f->n_params; i++) {
        enum tensor_role role = f->graph->tensor[f->buffer[i].tensor].role;
        bool filled = role == TENSOR_INPUT || role == TENSOR_CONST;
        b[i] = (struct module_buffer){ &f->buffer[i], filled ? -1 : m->n_calls,
                                       role == TENSOR_OUTPUT ? m->n_calls : -1 };
    }
    m->n_buffers = f->n_params;
    m->buffer = b;
    module_lifetimes(m, b);
}

const struct module *module_of(const struct func *f)
{
    struct arena *a = exprs_arena(f->pool);
    bool split = f->n_roots > MODULE_MOST_NESTS;
    int n = split ? f->n_roots : 1;
    struct module *m = ARENA_NEW(a, struct module);
    struct module_kernel *kernel = ARENA_ARRAY(a, struct module_kernel, n);
    struct module_call *call = ARENA_ARRAY(a, struct module_call, n);
    for (int i = 0; i < n && split; i++) {
        const char *op = f->graph->node[f->root[i]->node].op;
        kernel[i] = (struct module_kernel){ c_name(op), cut_nest(f, i, &call[i].buffer) };
        call[i].kernel = i;
    }
    if (!split) {
        int *all = ARENA_ARRAY(a, int, f->n_params);
        for (int i = 0; i < f->n_params; i++)
            all[i] = i;
        kernel[0] = (struct module_kernel){ module_kernel_name(f), f };
        call[0] = (struct module_call){ 0, all };
    }
    *m = (struct module){ .n_kernels = n, .kernel = kernel, .n_calls = n, .call = call };
    add_lifetimes(m, f);
    return m;
}

static bool has_parallel(int n, const struct tree *const *t)
{
    for (int i = 0; i < n; i++)
        if ((t[i]->kind == TREE_LOOP && t[i]->ann == LOOP_PARALLEL)
            || has_parallel(t[i]->n_kids, t[i]->kid))
            return true;
    return false;
}

bool module_is_parallel(const struct module *m)
{
    bool any = false;
    for (int k = 0; k < m->n_kernels && !any; k++)
        any = has_parallel(m->kernel[k].func->n_roots, m->kernel[k].func->root);
    return any;
}

void module_print(const struct module *m, struct str *out)
{
    str_printf(out, "%d kernel%s, %d call%s, %d buffer%s\n\n", m->n_kernels,
               m->n_kernels == 1 ? "" : "s", m->n_calls, m->n_calls == 1 ? "" : "s", m->n_buffers,
               m->n_buffers == 1 ? "" : "s");
    for (int i = 0; i < m->n_calls; i++) {
        const struct module_kernel *k = &m->kernel[m->call[i].kernel];
        str_printf(out, "%5d  %s(", i, k->name);
        for (int p = 0; p < k->func->n_params; p++)
            str_printf(out, "%s%s%s", p ? ", " : "", k->func->buffer[p].written ? "&" : "",
                       m->buffer[m->call[i].buffer[p]].is->name);
        str_add(out, ")\n");
    }
    if (m->plan)
        str_printf(out, "\nmemory of intermediates: %lld bytes in one block, %lld without sharing, "
                   "%lld at least\n", (long long)m->plan->bytes, (long long)m->plan->apart,
                   (long long)m->plan->least);
    str_printf(out, "\n%-20s %14s  %s\n", "buffer", "bytes", "alive");
    for (int i = 0; i < m->n_buffers; i++) {
        const struct module_buffer *b = &m->buffer[i];
        str_printf(out, "%-20s %14lld  ", b->is->name, (long long)buffer_bytes(b->is));
        if (b->first < 0)
            str_add(out, "caller");
        else
            str_printf(out, "%d", b->first);
        if (b->last >= m->n_calls)
            str_add(out, " .. caller\n");
        else
            str_printf(out, " .. %d\n", b->last);
    }
}
