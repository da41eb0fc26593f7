#include "kernels/module/network.h"

#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/vec.h"

/* A buffer that holds a tensor in some layout. */
struct net_place { int tensor, buffer; const struct layout *layout; struct exprs *pool; };
/* The buffer of a constant operand of one task. */
struct packed { int tensor, task, param, buffer; };

/* A kernel whose steps were chosen. given: the n lines that were given to `choose`; task: the task
 * of the chosen steps. */
struct asked { const char *spec; bool conversion; int n; const char *const *given; int task; };

struct linker {
    struct arena *a;
    struct network *net;
    network_choose_fn *choose;
    void *ctx;
    bool *constant;                       /* per tensor of the graph: whether it is constant */
    VEC(struct network_task) tasks;
    VEC(struct network_call) calls;
    VEC(struct module_call) module_calls;
    VEC(struct buffer) shapes;            /* per buffer: its name, type and shape */
    VEC(struct network_buffer) buffers;
    VEC(struct net_place) places;
    VEC(struct packed) constants;
    VEC(struct asked) asked;
    VEC(const char *) lines;              /* lines that are given to `choose` for the next task */
};

/* --- Layouts ---------------------------------------------------------------------------------- */

/* Whether l puts every element where the row-major layout puts it; NULL is row-major. */
static bool is_plain(struct exprs *pool, const struct layout *l)
{
    return !l || l->n_prims == 0
        || layout_memory_equal(pool, l, layout_identity(pool, l->tensor));
}

/* Whether a program that wants its operand in layout `want` can read the tensor in `at` as it is.
 * If at->layout and `want` have different shapes, both must be row-major. */
static bool same_layout(const struct net_place *at, struct exprs *pool, const struct layout *want)
{
    const struct layout *copy;
    struct err ignored;
    if (!at->layout || !tensor_same_shape(at->layout->tensor, want->tensor))
        return is_plain(at->pool, at->layout) && is_plain(pool, want);
    return layout_apply_all(pool, want->tensor, at->layout->prims, at->layout->n_prims, &copy,
                            &ignored)
        && layout_memory_equal(pool, copy, want);
}

/* Appends steps to k->lines.  They set the layout `from` for the tensor `name`, which has the shape
 * of t. */
static bool add_layout_lines(struct linker *k, const char *name, const struct tensor *t,
                             const struct layout *from, struct err *e)
{
    struct exprs *pool = exprs_new(k->a);
    const struct layout *l = layout_identity(pool, t);
    for (int i = 0; i < from->n_prims; i++) {
        struct str text = {0};
        prim_print(&text, l, &from->prims[i]);
        const char *rest = strchr(str_text(&text), ' ');
        vec_push(&k->lines, arena_printf(k->a, "layout %.*s %s%s",
                                         (int)(rest - str_text(&text)), str_text(&text), name,
                                         rest));
        str_free(&text);
        if (!layout_apply(pool, l, &from->prims[i], &l, e))
            return false;
    }
    return true;
}

/* --- Tasks ------------------------------------------------------------------------------------ */

static bool same_lines(int n, const char *const *x, int m, const char *const *y)
{
    bool same = n == m;
    for (int i = 0; same && i < n; i++)
        same = streq(x[i], y[i]);
    return same;
}

/* Returns the task that was chosen before for the same text and the same given lines, or -1. */
static int find_asked(const struct linker *k, const char *spec, bool conversion)
{
    for (int i = 0; i < k->asked.len; i++) {
        const struct asked *x = &k->asked.data[i];
        if (x->conversion == conversion && streq(x->spec, spec)
            && same_lines(x->n, x->given, k->lines.len, k->lines.data))
            return x->task;
    }
    return -1;
}

/* Makes a task, or finds a task with the same text and lines. */
static bool make_task(struct linker *k, struct network_task *t, int *task, struct err *e)
{
    int bad;
    for (int i = 0; i < k->tasks.len; i++) {
        const struct network_task *x = &k->tasks.data[i];
        if (streq(x->spec, t->spec) && same_lines(x->n_lines, x->line, t->n_lines, t->line)) {
            *task = i;
            return true;
        }
    }
    if (!program_replay(k->a, t->spec, t->line, t->n_lines, &t->program, &bad, e)
        || !program_lower(t->program, &t->func, e))
        return false;
    *task = k->tasks.len;
    vec_push(&k->tasks, *t);
    return true;
}

/* Finds or makes the task of a kernel. Its given lines are k->lines. A conversion always keeps the
 * given lines, even if `choose` returns steps that were stored for a kernel with the same text. */
static bool find_task(struct linker *k, const char *spec, bool conversion, int *task,
                      struct err *e)
{
    struct network_task t = { .spec = spec, .conversion = conversion };
    int n = k->lines.len;
    if ((*task = find_asked(k, spec, conversion)) >= 0)
        return true;
    const char *const *given = ARENA_DUP(k->a, k->lines.data, n);
    if (!k->choose(k->ctx, k->a, spec, n, given, &t.n_lines, &t.line, e))
        return false;
    if (conversion && (t.n_lines < n || !same_lines(n, t.line, n, given))) {
        t.n_lines = n;
        t.line = given;
    }
    if (!make_task(k, &t, task, e))
        return false;
    struct asked x = { spec, conversion, n, given, *task };
    vec_push(&k->asked, x);
    return true;
}

/* --- Buffers ---------------------------------------------------------------------------------- */

static int add_buffer(struct linker *k, enum network_role role, int tensor, const char *name,
                      const struct buffer *like, const struct layout *layout)
{
    struct buffer b = *like;
    b.name = name;
    b.tensor = tensor < 0 ? 0 : tensor;
    b.memory = MEMORY_GLOBAL;
    b.written = role == NETWORK_OUTPUT || role == NETWORK_INNER;
    b.read = !b.written;
    b.holds = NULL;
    struct network_buffer n = { role, tensor, layout };
    vec_push(&k->shapes, b);
    vec_push(&k->buffers, n);
    return k->buffers.len - 1;
}

static void add_place(struct linker *k, int tensor, int buffer, const struct layout *l,
                      struct exprs *pool)
{
    struct net_place p = { tensor, buffer, l, pool };
    vec_push(&k->places, p);
}

static const struct net_place *first_place(const struct linker *k, int tensor)
{
    for (int i = 0; i < k->places.len; i++)
        if (k->places.data[i].tensor == tensor)
            return &k->places.data[i];
    UNREACHABLE();
}

/* Returns the buffer of a constant operand: each task has its own, in the layout of its program. */
static int constant_buffer(struct linker *k, int tensor, int task, int param)
{
    for (int i = 0; i < k->constants.len; i++) {
        const struct packed *c = &k->constants.data[i];
        if (c->tensor == tensor && c->task == task && c->param == param)
            return c->buffer;
    }
    const struct network_task *t = &k->tasks.data[task];
    const struct buffer *b = &t->func->buffer[param];
    int buffer = add_buffer(k, NETWORK_CONST, tensor, k->net->graph->tensor[tensor].name, b,
                            t->program->layout[b->tensor]);
    struct packed c = { tensor, task, param, buffer };
    vec_push(&k->constants, c);
    return buffer;
}

/* --- Calls ------------------------------------------------------------------------------------ */

static int input_buffer(struct linker *k, int tensor, const struct layout *want,
                        struct exprs *pool, struct err *e);

/* Adds a call of task `task`. operand: for each operand its name in the task's text and its tensor
 * in the network. result: the name of the result in the text; out: its tensor in the network. part:
 * as in struct network_call. */
static bool add_call(struct linker *k, int task, int part, const struct part_operand *operand,
                     int n_operands, const char *result, int out, struct err *e)
{
    const struct program *p = k->tasks.data[task].program;
    const struct func *f = k->tasks.data[task].func;
    int *buffer = ARENA_ARRAY(k->a, int, f->n_params);
    for (int i = 0; i < f->n_params; i++) {
        const struct buffer *b = &f->buffer[i];
        int base = program_base_tensor(p, b->tensor), tensor = -1;
        const char *name = base < 0 ? "" : p->base->tensor[base].name;
        for (int o = 0; o < n_operands; o++)
            if (streq(operand[o].name, name))
                tensor = operand[o].tensor;
        if (base >= 0 && streq(name, result)) {
            buffer[i] = add_buffer(k, NETWORK_INNER, out, k->net->graph->tensor[out].name, b,
                                   p->layout[b->tensor]);
            add_place(k, out, buffer[i], p->layout[b->tensor], p->pool);
        } else if (tensor < 0) {
            buffer[i] = add_buffer(k, NETWORK_INNER, -1, b->name, b, NULL);
        } else if (k->constant[tensor]) {
            buffer[i] = constant_buffer(k, tensor, task, i);
        } else if ((buffer[i] = input_buffer(k, tensor, p->layout[b->tensor], p->pool, e)) < 0) {
            return false;
        }
    }
    struct network_call c = { task, part };
    struct module_call m = { task, buffer };
    vec_push(&k->calls, c);
    vec_push(&k->module_calls, m);
    k->tasks.data[task].count++;
    return true;
}

/* Adds a call that converts the tensor in `from` to the layout `want`, whose pool is `pool`.  If
 * `want` is NULL, the call converts it to row-major.  Returns the buffer of the result, or -1 with
 * *e. */
static int convert(struct linker *k, struct net_place from, const struct layout *want,
                   struct exprs *pool, struct err *e)
{
    const struct tensor *t = from.layout ? from.layout->tensor
                           : want        ? want->tensor : &k->net->graph->tensor[from.tensor];
    struct str spec = {0};
    str_add(&spec, "X = input");
    for (int d = 0; d < t->rank; d++)
        str_printf(&spec, " d%d=%lld", d, (long long)t->shape[d]);
    str_add(&spec, "; Identity = identity(X)");
    const char *text = arena_strdup(k->a, str_text(&spec));
    str_free(&spec);
    struct tensor as = *t;
    static const char *const dims[] = { "D0", "D1", "D2", "D3", "D4", "D5", "D6", "D7" };
    memcpy(as.dim, dims, sizeof dims);
    vec_clear(&k->lines);
    vec_push(&k->lines, "set input_layout given");
    vec_push(&k->lines, "set propagate off");
    if (from.layout && !add_layout_lines(k, "X", &as, from.layout, e))
        return -1;
    if (want && !add_layout_lines(k, "Identity", &as, want, e))
        return -1;
    int task;
    struct part_operand x = { "X", from.tensor };
    if (!find_task(k, text, true, &task, e)
        || !add_call(k, task, -1, &x, 1, "Identity", from.tensor, e))
        return -1;
    const struct net_place *made = &k->places.data[k->places.len - 1];
    if (!(want ? same_layout(made, pool, want) : is_plain(made->pool, made->layout)))
        return err_set(e, ERR_BUG, "a conversion of %s has another layout than was asked for",
                       k->net->graph->tensor[from.tensor].name), -1;
    k->net->n_conversions++;
    k->net->conversion_bytes += 2 * tensor_bytes(t);
    return k->places.data[k->places.len - 1].buffer;
}

/* Returns the buffer that holds a tensor in the layout `want`. Adds a conversion if there is no
 * such buffer yet. Returns -1 with *e when this fails. */
static int input_buffer(struct linker *k, int tensor, const struct layout *want,
                        struct exprs *pool, struct err *e)
{
    for (int i = 0; i < k->places.len; i++) {
        const struct net_place *at = &k->places.data[i];
        if (at->tensor == tensor && same_layout(at, pool, want))
            return at->buffer;
    }
    struct net_place from = *first_place(k, tensor);
    if (from.layout && !tensor_same_shape(from.layout->tensor, want->tensor)) {
        if (!is_plain(from.pool, from.layout)) {
            if (convert(k, from, NULL, NULL, e) < 0)
                return -1;
            from = k->places.data[k->places.len - 1];
        }
        from.layout = NULL;
        if (is_plain(pool, want))
            return from.buffer;
    }
    return convert(k, from, want, pool, e);
}

/* Adds a view: its result lies in the buffer that holds its operand in the row-major layout. */
static bool add_view(struct linker *k, const struct net_part *p, struct err *e)
{
    int tensor = p->operand[0].tensor;
    struct exprs *pool = exprs_new(k->a);
    const struct layout *plain = layout_identity(pool, &k->net->graph->tensor[tensor]);
    int buffer = input_buffer(k, tensor, plain, pool, e);
    if (buffer < 0)
        return false;
    add_place(k, p->out, buffer, layout_identity(pool, &k->net->graph->tensor[p->out]), pool);
    return true;
}

/* Sets k->lines to the steps that set the layouts in which the operands of a part arrive.  Leaves
 * out constants, and operands that have another shape in the part's text. */
static bool given_lines(struct linker *k, const struct net_part *p, struct err *e)
{
    struct arena *pass = arena_new();
    const struct graph *kernel = NULL;    /* the kernel's graph, if operands are not row-major */
    bool ok = true;
    vec_clear(&k->lines);
    for (int i = 0; ok && i < p->n_operands; i++) {
        if (k->constant[p->operand[i].tensor])
            continue;
        const struct net_place *at = first_place(k, p->operand[i].tensor);
        if (is_plain(at->pool, at->layout))
            continue;
        if (!kernel && !(ok = graph_from_spec(pass, p->spec, &kernel, e)))
            break;
        const struct tensor *own = &kernel->tensor[graph_tensor(kernel, p->operand[i].name)];
        if (!tensor_same_shape(at->layout->tensor, own))
            continue;
        if (k->lines.len == 0)
            vec_push(&k->lines, "set input_layout given");
        ok = add_layout_lines(k, own->name, own, at->layout, e);
    }
    arena_free(pass);
    return ok;
}

static bool add_part(struct linker *k, int i, struct err *e)
{
    const struct net_part *p = &k->net->parts.part[i];
    int task;
    if (p->constant)
        return true;
    if (p->view)
        return add_view(k, p, e);
    if (given_lines(k, p, e) && find_task(k, p->spec, false, &task, e)
        && add_call(k, task, i, p->operand, p->n_operands, p->result, p->out, e))
        return true;
    return err_prefix(e, "kernel %d of the network, %.200s: ", i,
                      k->net->graph->tensor[p->out].name);
}

/* --- The network ------------------------------------------------------------------------------ */

static void find_constants(struct linker *k)
{
    const struct graph *g = k->net->graph;
    k->constant = ARENA_ARRAY(k->a, bool, g->n_tensors);
    for (int t = 0; t < g->n_tensors; t++)
        k->constant[t] = g->tensor[t].role == TENSOR_CONST;
    for (int i = 0; i < k->net->parts.n; i++)
        if (k->net->parts.part[i].constant)
            k->constant[k->net->parts.part[i].out] = true;
}

static void add_inputs(struct linker *k)
{
    const struct graph *g = k->net->graph;
    for (int t = 0; t < g->n_tensors; t++) {
        const struct tensor *x = &g->tensor[t];
        if (x->role != TENSOR_INPUT)
            continue;
        struct exprs *pool = exprs_new(k->a);
        struct buffer like = { .type = x->type, .rank = x->rank, .elems = tensor_elems(x) };
        memcpy(like.shape, x->shape, sizeof x->shape);
        int b = add_buffer(k, NETWORK_INPUT, t, x->name, &like, NULL);
        add_place(k, t, b, layout_identity(pool, x), pool);
    }
}

/* Gives each output of the graph a buffer of its own, row-major. */
static bool add_outputs(struct linker *k, struct err *e)
{
    const struct graph *g = k->net->graph;
    for (int t = 0; t < g->n_tensors; t++) {
        if (g->tensor[t].role != TENSOR_OUTPUT)
            continue;
        if (k->constant[t])
            return err_set(e, ERR_RANGE, "output %s depends on no input", g->tensor[t].name);
        struct exprs *pool = exprs_new(k->a);
        const struct layout *plain = layout_identity(pool, &g->tensor[t]);
        int b = input_buffer(k, t, plain, pool, e);
        if (b >= 0 && k->buffers.data[b].role != NETWORK_INNER)
            b = convert(k, *first_place(k, t), NULL, NULL, e);
        if (b < 0)
            return false;
        k->buffers.data[b] = (struct network_buffer){ NETWORK_OUTPUT, t, NULL };
        k->shapes.data[b].name = g->tensor[t].name;
        k->shapes.data[b].tensor = t;
        k->shapes.data[b].rank = g->tensor[t].rank;
        memcpy(k->shapes.data[b].shape, g->tensor[t].shape, sizeof g->tensor[t].shape);
    }
    return true;
}

/* Puts the buffers in the order of their roles, and makes the module. */
static void make_module(struct linker *k)
{
    int n = k->buffers.len, n_calls = k->calls.len, at = 0;
    int *now = ARENA_ARRAY(k->a, int, n);
    struct network_buffer *buffer = ARENA_ARRAY(k->a, struct network_buffer, n);
    struct module_buffer *mb = ARENA_ARRAY(k->a, struct module_buffer, n);
    for (int role = NETWORK_INPUT; role <= NETWORK_INNER; role++)
        for (int i = 0; i < n; i++) {
            if ((int)k->buffers.data[i].role != role)
                continue;
            bool filled = role <= NETWORK_CONST, read = role == NETWORK_OUTPUT;
            now[i] = at;
            buffer[at] = k->buffers.data[i];
            mb[at++] = (struct module_buffer){ ARENA_DUP(k->a, &k->shapes.data[i], 1),
                                               filled ? -1 : n_calls, read ? n_calls : -1 };
        }
    for (int i = 0; i < n_calls; i++)
        for (int b = 0; b < k->tasks.data[k->calls.data[i].task].func->n_params; b++) {
            int *number = (int *)(uintptr_t)&k->module_calls.data[i].buffer[b];
            *number = now[*number];
        }
    struct module_kernel *kernel = ARENA_ARRAY(k->a, struct module_kernel, k->tasks.len);
    for (int i = 0; i < k->tasks.len; i++) {
        const struct func *f = k->tasks.data[i].func;
        kernel[i] = (struct module_kernel){ module_kernel_name(f), f };
    }
    struct module *m = ARENA_NEW(k->a, struct module);
    *m = (struct module){ k->tasks.len, kernel, n, mb, n_calls,
                          ARENA_DUP(k->a, k->module_calls.data, n_calls), NULL };
    module_lifetimes(m, mb);
    m->plan = module_plan(k->a, m);
    k->net->module = m;
    k->net->buffer = buffer;
}

bool network_build(struct arena *a, const struct graph *g, int n_steps, const char *const *step,
                   network_choose_fn *choose, void *ctx, const struct network **out, struct err *e)
{
    struct network *net = ARENA_NEW(a, struct network);
    struct linker k = { .a = a, .net = net, .choose = choose, .ctx = ctx };
    net->graph = net->whole = g;
    bool ok = partition(a, g, n_steps, step, &net->parts, e);
    if (!ok)
        return false;
    find_constants(&k);
    add_inputs(&k);
    for (int i = 0; ok && i < net->parts.n; i++)
        ok = add_part(&k, i, e);
    ok = ok && add_outputs(&k, e);
    if (ok) {
        make_module(&k);
        net->n_tasks = k.tasks.len;
        net->task = ARENA_DUP(a, k.tasks.data, k.tasks.len);
        net->call = ARENA_DUP(a, k.calls.data, k.calls.len);
        *out = net;
    }
    vec_free(&k.tasks);
    vec_free(&k.calls);
    vec_free(&k.module_calls);
    vec_free(&k.shapes);
    vec_free(&k.buffers);
    vec_free(&k.places);
    vec_free(&k.constants);
    vec_free(&k.asked);
    vec_free(&k.lines);
    return ok;
}

void network_print(const struct network *n, struct str *out)
{
    for (int i = 0; i < n->parts.n_steps; i++)
        str_printf(out, "%s%s", n->parts.step[i], i + 1 < n->parts.n_steps ? "\n" : "\n\n");
    for (int i = 0; i < n->n_tasks; i++) {
        const struct network_task *t = &n->task[i];
        str_printf(out, "kernel %d, %d call%s%s\n    %s\n", i, t->count, t->count == 1 ? "" : "s",
                   t->conversion ? ", conversion" : "", t->spec);
        for (int s = 0; s < t->n_lines; s++)
            str_printf(out, "    - %s\n", t->line[s]);
    }
    str_add(out, "\n");
    module_print(n->module, out);
}
