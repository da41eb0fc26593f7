/* Prints code as CUDA C (SPEC N).
 *
 * Every nest with bound loops is a kernel.  Bound loops do not stand as loops in the text: their
 * variables are indices of the block and the thread, and their extents are the size of the launch.
 * The code before, after or between such nests is a kernel of one thread. */
#include <stdlib.h>
#include <string.h>

#include "kernels/gen/cuda_impl.h"

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
    for (int i = 0; i < b->n; i++) {
        if (is_bound(b->item[i])) {
            int64_t *x = &extent[b->item[i]->ann - LOOP_BLOCK_X], n = b->item[i]->end->value;
            *x = *x > n ? *x : n;
        }
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

/* Adds the arrays of the shared tiles in b to t->shared.  The tiles of the pieces of a cut loop
 * have one name, and share an array that is as large as the largest of them. first: the index of
 * this kernel's first array. */
static void find_shared(struct cuda_text *t, struct emit *m, const struct block *b, int first)
{
    for (int i = 0; i < b->n; i++) {
        const struct code *c = b->item[i];
        const struct buffer *tile = c->kind == CODE_SCOPE && c->buffer >= 0
                                  ? &t->u->func->buffer[c->buffer] : NULL;
        int k = first;
        if (tile && tile->memory == MEMORY_SHARED) {
            while (k < t->shared.len && !streq(t->shared.data[k].largest->name, tile->name))
                k++;
            if (k == t->shared.len)
                vec_push(&t->shared, (struct shared_array){
                    .name = names_claim(m->names, tile->name), .largest = tile });
            struct shared_array *array = &t->shared.data[k];
            array->largest = tile->elems > array->largest->elems ? tile : array->largest;
            m->buffer[c->buffer] = array->name;
            m->shared[c->buffer] = k;
        }
        find_shared(t, m, &c->body, first);
    }
}

static int64_t shared_size(const struct shared_array *a)
{
    return shared_room(buffer_bytes(a->largest));
}

/* Prints "const int thread = threadIdx.x + 8*threadIdx.y;". extent: threads in x y z; n: their
 * product. */
static void print_thread_number(struct emit *m, const int64_t *extent, int64_t n)
{
    const struct expr *thread = code_thread_var(m->u, n);
    int64_t stride = 1;
    names_claim_var(m->names, thread);
    emit_indent(m);
    str_printf(m->out, "const %s %s =", m->index, names_var(m->names, thread));
    for (int i = 0; i < 3; stride *= extent[i++])
        if (extent[i] > 1 && stride > 1)
            str_printf(m->out, " + %lld*threadIdx.%c", (long long)stride, "xyz"[i]);
        else if (extent[i] > 1)
            str_printf(m->out, " threadIdx.%c", "xyz"[i]);
    str_add(m->out, ";\n");
}

/* Prints the shared arrays of a kernel, each aligned to SHARED_ALIGN bytes. If they take more bytes
 * than a kernel can declare, they lie in one dynamic array, whose size the launch sets. */
static void print_shared(struct cuda_text *t, struct emit *m, struct cuda_kernel *k, int first)
{
    int64_t at = 0;
    for (int i = first; i < t->shared.len; i++)
        k->shared_bytes += shared_size(&t->shared.data[i]);
    k->dynamic = k->shared_bytes > SHARED_BYTES;
    const char *all = k->dynamic ? names_claim(m->names, "shared") : NULL;
    if (k->dynamic && m->twin)
        str_printf(m->out, "    __shared__ __align__(%d) unsigned char %s[%lld];\n", SHARED_ALIGN,
                   all, (long long)k->shared_bytes);
    else if (k->dynamic)
        str_printf(m->out, "    extern __shared__ __align__(%d) unsigned char %s[];    /* %lld */"
                   "\n", SHARED_ALIGN, all, (long long)k->shared_bytes);
    for (int i = first; i < t->shared.len; i++) {
        const struct shared_array *a = &t->shared.data[i];
        const char *type = a->largest->type->c;
        if (k->dynamic)
            str_printf(m->out, "    %s *const %s = (%s *)(%s + %lld);    /* ", type, a->name, type,
                       all, (long long)at);
        else
            str_printf(m->out, "    __shared__ __align__(%d) %s %s[%lld];    /* ", SHARED_ALIGN,
                       type, a->name, (long long)a->largest->elems);
        code_print_shape(m->out, a->largest);
        str_add(m->out, " */\n");
        at += shared_size(a);
    }
}

static bool has_tensor(const struct block *b)
{
    bool found = false;
    for (int i = 0; i < b->n && !found; i++)
        found = b->item[i]->kind == CODE_TENSOR || has_tensor(&b->item[i]->body);
    return found;
}

static void print_kernel(struct cuda_text *t, struct emit *m, struct cuda_kernel *k,
                         struct str *out)
{
    int mark = names_mark(m->names), first = t->shared.len;
    struct block part = { .item = m->u->body.item + k->from, .n = k->to - k->from };
    const struct func *f = m->u->func;
    int64_t threads = 1;
    struct str body = { 0 };
    memset(m->touched, 0, sizeof *m->touched * (size_t)f->n_buffers);
    code_find_launch(&part, k->extent);
    find_shared(t, m, &part, first);
    m->out = &body;
    m->depth = 1;
    m->most_on_stack = 0;
    for (int i = 3; i < 6; i++)
        threads *= k->extent[i];
    if (first < t->shared.len && threads > 1)
        print_thread_number(m, k->extent + 3, threads);
    print_shared(t, m, k, first);
    k->together = k->shared_bytes > 0 || has_tensor(&part);
    code_print_block(m, &part);
    emit_leave(m, mark);
    k->stack_bytes = m->most_on_stack;
    k->touched = ARENA_DUP(m->u->arena, m->touched, f->n_buffers + 1);
    str_printf(out, "extern_C __global__ void __launch_bounds__(%lld)\n%s(", (long long)threads,
               k->name);
    print_parameters(m, out, k, true);
    str_add(out, ")\n{\n");
    emit_wrapped(out, str_text(&body));
    str_add(out, "}\n\n");
    str_free(&body);
}

/* Whether all offsets fit into an int of 32 bits; a GPU computes faster with these. */
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
        print_kernel(t, m, &k, &t->kernels);
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
        str_printf(out, " *   %s<<<dim3(%lld, %lld, %lld), dim3(%lld, %lld, %lld)", k->name,
                   (long long)x[0], (long long)x[1], (long long)x[2], (long long)x[3],
                   (long long)x[4], (long long)x[5]);
        if (k->dynamic)
            str_printf(out, ", %lld", (long long)k->shared_bytes);
        str_add(out, ">>>(");
        print_parameters(m, out, k, false);
        str_add(out, ")\n");
        if (k->shared_bytes > 0)
            str_printf(out, " *       %lld of %d bytes of shared memory\n",
                       (long long)k->shared_bytes, k->dynamic ? SHARED_MOST : SHARED_BYTES);
        if (k->dynamic)
            str_printf(out, " *       after cudaFuncSetAttribute(%s,"
                       " cudaFuncAttributeMaxDynamicSharedMemorySize, %lld)\n", k->name,
                       (long long)k->shared_bytes);
    }
    str_add(out, " */\n");
}

void cuda_open(struct cuda_text *t, struct emit *m, struct unit *u, bool twin)
{
    *t = (struct cuda_text){ .u = u };
    emit_open(m, u, NULL);
    m->gpu = true;
    m->twin = twin;
    m->shared = ARENA_ARRAY(u->arena, int, u->func->n_buffers + 1);
    m->index = fits_int(u->func) ? "int" : "long long";
    print_kernels(m, t);
}

void cuda_close(struct cuda_text *t, struct emit *m)
{
    vec_free(&t->list);
    vec_free(&t->shared);
    str_free(&t->kernels);
    str_free(&t->helpers);
    str_free(&m->statics);
    emit_close(m);
}

/* Appends `text` with every `from` in it replaced by `with`. */
static void add_replaced(struct str *out, const char *text, const char *from, const char *with)
{
    for (const char *at; (at = strstr(text, from)) != NULL; text = at + strlen(from)) {
        str_add_n(out, text, (size_t)(at - text));
        str_add(out, with);
    }
    str_add(out, text);
}

static struct gen_launch take_launch(struct arena *a, const struct func *f,
                                     const struct cuda_kernel *k)
{
    struct gen_launch l = { .name = arena_strdup(a, k->name),
                            .shared = k->dynamic ? k->shared_bytes : 0 };
    int *argument = ARENA_ARRAY(a, int, f->n_params + 1);
    memcpy(l.extent, k->extent, sizeof l.extent);
    for (int i = 0; i < f->n_params; i++)
        if (k->touched[i])
            argument[l.n++] = i;
    l.argument = argument;
    return l;
}

static void take_launches(struct arena *a, const struct cuda_text *t, struct gen_launches *out)
{
    struct gen_launch *launch = ARENA_ARRAY(a, struct gen_launch, t->list.len + 1);
    for (int i = 0; i < t->list.len; i++)
        launch[i] = take_launch(a, t->u->func, &t->list.data[i]);
    *out = (struct gen_launches){ .n = t->list.len, .launch = launch };
}

void code_print_cuda(struct unit *u, struct arena *a, struct str *out,
                     struct gen_launches *launches)
{
    struct cuda_text t;
    struct emit m;
    cuda_open(&t, &m, u, false);
    if (u->opts->header)
        emit_comment(out, u->opts->header);
    print_launches(&m, &t, out);
    add_replaced(out, str_text(&t.helpers), "static inline", "static __device__ inline");
    add_replaced(out, str_text(&t.kernels), "extern_C", "extern \"C\"");
    if (launches)
        take_launches(a, &t, launches);
    cuda_close(&t, &m);
}
