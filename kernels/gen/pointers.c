/* Pointers: the common part of the addresses in a straight line is written once,
 *
 *     acc0 += a[0] * load16(b);
 *     acc1 += a[0] * load16(b + 16);      with   const float *b = &B[32768*n_0 + 64*k];
 *
 * A pointer starts at the least address that the line certainly accesses.  So it never points
 * outside of the buffer.  C11 6.5.6 forbids pointers outside of the buffer even if nothing is
 * accessed through them. */
#include "kernels/gen/emit.h"

#define LEAST_USES 2

/* The accesses of a line that have the same base. certain: whether some of the accesses are outside
 * of selects. least: the place of the one outside of selects that has the least rest. again:
 * whether some of the accesses go through a copy of the pointer (CODE_AGAIN). */
struct pointer_group { struct place least; int uses; bool certain, stored, again; };

struct groups { struct emit *m; VEC(struct pointer_group) list; };

static void note_place(struct groups *g, const struct place *at, bool stored, bool in_select)
{
    int i = 0;
    if (g->m->u->func->buffer[at->buffer].memory == MEMORY_SHARED)
        return;  /* shared arrays have a fixed place, and the twin watches each access */
    while (i < g->list.len && (g->list.data[i].least.buffer != at->buffer
                               || g->list.data[i].least.base != at->base))
        i++;
    if (i == g->list.len)
        vec_push(&g->list, (struct pointer_group){ .least = *at });
    struct pointer_group *x = &g->list.data[i];
    if (!in_select && (!x->certain || at->rest < x->least.rest))
        x->least = *at;
    x->certain |= !in_select;
    x->stored |= stored;
    x->again |= at->again > 0;
    x->uses++;
}

static void note_load(void *ctx, struct code_term *load, bool in_select)
{
    note_place(ctx, &load->at, false, in_select);
}

static void declare(struct emit *m, const struct pointer_group *x)
{
    const char *stem = code_stem(m->u, m->u->func->buffer[x->least.buffer].name);
    struct place least = x->least;
    least.again = 0;
    emit_indent(m);
    size_t start = m->out->len;
    struct str to = { 0 }, *out = m->out;
    m->out = &to;
    emit_address(m, &least, x->stored);
    m->out = out;
    m->out->len = start;
    const char *name = names_claim(m->names, stem);
    str_printf(m->out, "%s%s *%s = %s;\n", x->stored ? "" : "const ",
               m->u->func->buffer[least.buffer].type->c, name, str_text(&to));
    str_free(&to);
    vec_push(&m->pointers, (struct pointer){ least.buffer, least.base, least.rest, x->stored, name,
                                             names_mark(m->names) - 1 });
}

void pointers_declare(struct emit *m, const struct block *b, int from, int to)
{
    struct groups g = { .m = m };
    for (int i = from; i < to; i++) {
        const struct code *c = b->item[i];
        if (c->kind == CODE_AHEAD)
            note_place(&g, &c->at, false, false);
        if (c->kind != CODE_SET)
            continue;
        term_each_load(c->value, note_load, &g);
        if (c->reg < 0)
            note_place(&g, &c->at, true, false);
    }
    for (int i = 0; i < g.list.len; i++) {
        const struct pointer_group *x = &g.list.data[i];
        bool pays = x->again || (x->uses >= LEAST_USES && x->least.base->kind != EXPR_CONST);
        bool possible = x->certain && !(x->again && x->stored);
        if (possible && pays && !pointers_find(m, &x->least, x->stored))
            declare(m, x);
    }
    vec_free(&g.list);
}

const struct pointer *pointers_find(const struct emit *m, const struct place *at, bool stored)
{
    for (int i = m->pointers.len - 1; i >= 0; i--) {
        const struct pointer *p = &m->pointers.data[i];
        if (p->buffer == at->buffer && p->base == at->base && (p->written || !stored)
            && !(p->written && at->again))
            return p;
    }
    return NULL;
}

bool pointers_again(struct emit *m, int buffer)
{
    bool any = false;
    for (int i = 0; i < m->pointers.len; i++) {
        const struct pointer *p = &m->pointers.data[i];
        if (p->buffer != buffer || p->written)
            continue;
        emit_line(m, "%s = %sagain(%s);", p->name, narrow_prefix(m, buffer), p->name);
        any = true;
    }
    return any;
}

void emit_leave(struct emit *m, int mark)
{
    while (m->pointers.len > 0 && m->pointers.data[m->pointers.len - 1].at >= mark)
        (void)vec_pop(&m->pointers);
    names_reset(m->names, mark);
}
