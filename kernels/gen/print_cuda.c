/* Code as CUDA C, and its host twin (SPEC N).
 *
 * Every nest is a kernel.  Its bound loops are no loops in the text: their variables are indices of
 * the block and the thread, and their extents are the size of the launch.  What is outside of all
 * bound loops runs as a kernel of one thread.
 *
 * The twin is the same text of the kernels, compiled as C for the CPU: blockIdx and threadIdx are
 * variables there, and a launch is a loop over all blocks and threads.  So it checks the text that
 * a GPU gets, on any machine. */
#include <stdlib.h>
#include <string.h>

#include "kernels/gen/emit.h"

/* A kernel: the items [from, to) of the unit's body.  extent: of blocks x y z and threads x y z. */
struct cuda_kernel {
    int from, to;
    int64_t extent[6];
    const char *name;
    bool *touched;                        /* per parameter: whether the kernel uses it */
};

struct cuda_text {
    struct unit *u;
    struct str kernels, helpers;
    VEC(struct cuda_kernel) list;
};

static bool is_bound(const struct code *c)
{
    return c->kind == CODE_FOR && loop_is_bound(c->ann);
}

bool code_has_kernels(const struct unit *u, struct err *e)
{
    bool values = false, bound = false;
    for (int i = 0; i < u->regs.len; i++)
        values |= u->regs.data[i].scope == &u->body;
    for (int i = 0; i < u->body.n; i++) {
        values |= code_has_value(u->body.item[i]);
        bound |= is_bound(u->body.item[i]);
    }
    if (!values || !bound)
        return true;
    err_set(e, ERR_STEP, "a value that is computed outside of all loops would be shared by several"
            " kernels");
    return err_fix(e, "bind a loop of each nest, or none");
}

void code_find_launch(const struct block *b, int64_t *extent)
{
    for (int i = 0; i < b->n; i++)
        if (is_bound(b->item[i])) {
            int64_t *x = &extent[b->item[i]->ann - LOOP_BLOCK_X], n = b->item[i]->end->value;
            *x = *x > n ? *x : n;
            code_find_launch(&b->item[i]->body, extent);
        }
}

int code_kernel_end(const struct block *b, int i)
{
    while (i < b->n && b->item[i]->kind == CODE_NOTE)
        i++;
    if (i < b->n && is_bound(b->item[i]))
        return i + 1;
    while (i < b->n && !is_bound(b->item[i]))
        i++;
    while (i < b->n && i > 0 && b->item[i - 1]->kind == CODE_NOTE)
        i--;
    return i;
}

static void print_parameters(struct emit *m, struct str *out, const struct cuda_kernel *k,
                             bool types)
{
    const struct func *f = m->u->func;
    int n = 0;
    for (int i = 0; i < f->n_params; i++)
        if (k->touched[i])
            str_printf(out, "%s%s%s%s%s", n++ ? ", " : "",
                       types && !f->buffer[i].written ? "const " : "",
                       types ? f->buffer[i].type->c : "", types ? " *__restrict__ " : "",
                       m->buffer[i]);
}

static void print_kernel(struct emit *m, struct cuda_kernel *k, struct str *out)
{
    struct block part = { .item = m->u->body.item + k->from, .n = k->to - k->from };
    const struct func *f = m->u->func;
    int64_t threads = 1;
    struct str body = { 0 };
    memset(m->touched, 0, sizeof *m->touched * (size_t)f->n_buffers);
    code_find_launch(&part, k->extent);
    m->out = &body;
    m->depth = 1;
    code_print_block(m, &part);
    k->touched = ARENA_DUP(m->u->arena, m->touched, f->n_buffers + 1);
    for (int i = 3; i < 6; i++)
        threads *= k->extent[i];
    str_printf(out, "extern_C __global__ void __launch_bounds__(%lld)\n%s(", (long long)threads,
               k->name);
    print_parameters(m, out, k, true);
    str_add(out, ")\n{\n");
    emit_wrapped(out, str_text(&body));
    str_add(out, "}\n\n");
    str_free(&body);
}

/* Whether all offsets fit into 32 bits, with which a GPU computes faster. */
static bool fits_int(const struct func *f)
{
    for (int i = 0; i < f->n_buffers; i++)
        if (f->buffer[i].elems > INT32_MAX / 2)
            return false;
    return true;
}

static void print_kernels(struct emit *m, struct cuda_text *t)
{
    const char *name = m->u->opts->name ? m->u->opts->name : "kernel";
    const struct block *b = &m->u->body;
    for (int i = 0; i < b->n;) {
        struct cuda_kernel k = { .from = i, .to = code_kernel_end(b, i),
                                 .extent = { 1, 1, 1, 1, 1, 1 } };
        k.name = arena_printf(m->u->arena, "%s_%d", name, t->list.len);
        print_kernel(m, &k, &t->kernels);
        vec_push(&t->list, k);
        i = k.to;
    }
    emit_helpers(m, &t->helpers);
}

static void print_launches(struct emit *m, const struct cuda_text *t, struct str *out)
{
    str_add(out, "/* The launches, in order:\n");
    for (int i = 0; i < t->list.len; i++) {
        const struct cuda_kernel *k = &t->list.data[i];
        const int64_t *x = k->extent;
        str_printf(out, " *   %s<<<dim3(%lld, %lld, %lld), dim3(%lld, %lld, %lld)>>>(", k->name,
                   (long long)x[0], (long long)x[1], (long long)x[2], (long long)x[3],
                   (long long)x[4], (long long)x[5]);
        print_parameters(m, out, k, false);
        str_add(out, ")\n");
    }
    str_add(out, " */\n");
}

static void open_text(struct cuda_text *t, struct emit *m, struct unit *u)
{
    *t = (struct cuda_text){ .u = u };
    emit_open(m, u, NULL);
    m->gpu = true;
    m->index = fits_int(u->func) ? "int" : "long long";
    print_kernels(m, t);
}

static void close_text(struct cuda_text *t, struct emit *m)
{
    vec_free(&t->list);
    str_free(&t->kernels);
    str_free(&t->helpers);
    str_free(&m->statics);
    emit_close(m);
}

/* Appends text with every `from` replaced. */
static void add_replaced(struct str *out, const char *text, const char *from, const char *with)
{
    for (const char *at; (at = strstr(text, from)) != NULL; text = at + strlen(from)) {
        str_add_n(out, text, (size_t)(at - text));
        str_add(out, with);
    }
    str_add(out, text);
}

void code_print_cuda(struct unit *u, struct str *out)
{
    struct cuda_text t;
    struct emit m;
    open_text(&t, &m, u);
    if (u->opts->header)
        emit_comment(out, u->opts->header);
    print_launches(&m, &t, out);
    add_replaced(out, str_text(&t.helpers), "static inline", "static __device__ inline");
    add_replaced(out, str_text(&t.kernels), "extern_C", "extern \"C\"");
    close_text(&t, &m);
}

/* --- The twin --------------------------------------------------------------------------------- */

static const char twin_head[] =
    "/* The host twin: blocks and threads run one after the other. */\n"
    "#define extern_C static\n#define __global__\n#define __launch_bounds__(n)\n"
    "struct ts_index { int x, y, z; };\n"
    "static struct ts_index blockIdx, threadIdx;\n\n";

static void print_launch(struct emit *m, const struct cuda_kernel *k, struct str *out)
{
    static const struct { const char *name; int at; } loop[] = {
        { "blockIdx.z", 2 }, { "blockIdx.y", 1 }, { "blockIdx.x", 0 },
        { "threadIdx.z", 5 }, { "threadIdx.y", 4 }, { "threadIdx.x", 3 },
    };
    int n = 0;
    for (int i = 0; i < COUNT_OF(loop); i++) {
        str_repeat(out, ' ', 4 * (i + 1));
        str_printf(out, "for (%s = 0; %s < %lld; %s++)\n", loop[i].name, loop[i].name,
                   (long long)k->extent[loop[i].at], loop[i].name);
    }
    str_repeat(out, ' ', 28);
    str_printf(out, "%s(", k->name);
    for (int i = 0; i < m->u->func->n_params; i++)
        if (k->touched[i])
            str_printf(out, "%sbuffers[%d]", n++ ? ", " : "", i);
    str_add(out, ");\n");
}

void code_print_twin(struct unit *u, struct str *out)
{
    struct cuda_text t;
    struct emit m;
    open_text(&t, &m, u);
    str_add(out, twin_head);
    str_add(out, str_text(&t.helpers));
    str_add(out, str_text(&t.kernels));
    str_printf(out, "void ts_entry(%s *const *buffers)\n{\n", emit_entry_type(u));
    for (int i = 0; i < t.list.len; i++)
        print_launch(&m, &t.list.data[i], out);
    str_add(out, "    (void)buffers;\n}\n");
    close_text(&t, &m);
}
