/* In a straight line of statements every distinct load happens once: a load that is used again gets a name, right before
 * its first use.  A store ends the life of the names it may overwrite. */
#include "kernels/gen/code.h"

#include <string.h>

#define N_LIVE 256

/* A load that is alive: its first occurrence, and the register it gets with the second (-1 before). */
struct live { struct term *first; int reg; struct live *next, *next_here; };

struct share {
    struct unit *u;
    struct live *bucket[N_LIVE];
    struct live **here;                   /* where the list of the current statement's loads ends */
};

static struct live **bucket_of(struct share *s, const struct place *at)
{
    uint64_t key = (uint64_t)((uintptr_t)at->base >> 4) * 31 + (uint64_t)at->rest * 7 + (uint64_t)at->buffer;
    return &s->bucket[key % N_LIVE];
}

static void to_register(struct term *load, int reg)
{
    load->kind = TERM_REG;
    load->reg = reg;
}

/* A conditional load may use a name but never makes one: alone it must stay conditional. */
static void share_load(void *ctx, struct term *load, bool in_select)
{
    struct share *s = ctx;
    struct live **slot = bucket_of(s, &load->at);
    for (struct live *l = *slot; l; l = l->next) {
        if (!place_same(&l->first->at, &load->at))
            continue;
        if (l->reg < 0) {
            const char *name = s->u->func->buffer[load->at.buffer].name;
            l->reg = reg_new(s->u, stem_of(s->u, name), NULL, load->at.lanes, NULL);
        }
        if (l->first != load)
            to_register(load, l->reg);
        return;
    }
    if (in_select)
        return;
    struct live *l = ARENA_NEW(s->u->arena, struct live);
    *l = (struct live){ load, -1, *slot, NULL };
    *slot = l;
    *s->here = l;
    s->here = &l->next_here;
}

static void forget(struct share *s, const struct place *stored)
{
    for (int i = 0; i < N_LIVE; i++)
        for (struct live **l = &s->bucket[i]; *l;) {
            if (place_apart(&(*l)->first->at, stored))
                l = &(*l)->next;
            else
                *l = (*l)->next;
        }
}

/* One straight line: statements and notes b[from, to).  Appends them with the definitions to out. */
static void share_line(struct unit *u, const struct block *b, int from, int to, struct block *out)
{
    struct share s = { .u = u };
    struct live **first = ARENA_ARRAY(u->arena, struct live *, to - from + 1);
    bool *read = ARENA_ARRAY(u->arena, bool, u->func->n_buffers);
    for (int i = from; i < to; i++) {
        struct code *c = b->item[i];
        if (c->kind != CODE_SET)
            continue;
        s.here = &first[i - from];
        term_each_load(c->value, share_load, &s);
        for (struct live *l = first[i - from]; l; l = l->next_here)
            read[l->first->at.buffer] = true;
        if (c->reg < 0 && read[c->at.buffer])
            forget(&s, &c->at);
    }
    for (int i = from; i < to; i++) {
        for (struct live *l = first[i - from]; l; l = l->next_here) {
            if (l->reg < 0)
                continue;
            struct term *load = term_load(u, &l->first->at, l->first->site);
            block_add(u, out, code_set_reg(u, l->reg, STORE_SET, load));
            to_register(l->first, l->reg);
        }
        block_add(u, out, b->item[i]);
    }
}

static void share_block(struct unit *u, struct block *b)
{
    struct block out = { 0 };
    int i = 0;
    while (i < b->n) {
        int end = i;
        while (end < b->n && (b->item[end]->kind == CODE_SET || b->item[end]->kind == CODE_NOTE))
            end++;
        share_line(u, b, i, end, &out);
        if (end < b->n) {
            share_block(u, &b->item[end]->body);
            block_add(u, &out, b->item[end++]);
        }
        i = end;
    }
    *b = out;
}

void code_share(struct unit *u)
{
    share_block(u, &u->body);
}

/* Where a register is used: the innermost block that holds every use, and its first use. */
struct home { const struct block *block; const struct code *first; bool defines; };

struct declare { struct unit *u; struct home *home; VEC(const struct block *) path; };

static void use_register(struct declare *d, int reg, const struct code *c, bool defines)
{
    struct home *h = &d->home[reg];
    const struct block *here = d->path.data[d->path.len - 1];
    if (!h->block) {
        *h = (struct home){ here, c, defines };
        return;
    }
    for (int i = 0; i < d->path.len; i++)
        if (d->path.data[i] == h->block)
            return;
    h->defines = false;
}

static void use_term(struct declare *d, const struct term *t, const struct code *c)
{
    if (t->kind == TERM_REG)
        use_register(d, t->reg, c, false);
    if (t->a)
        use_term(d, t->a, c);
    if (t->b)
        use_term(d, t->b, c);
    for (int i = 0; t->part && i < t->lanes; i++)
        use_term(d, t->part[i], c);
}

static void declare_block(struct declare *d, const struct block *b)
{
    vec_push(&d->path, b);
    for (int i = 0; i < b->n; i++) {
        const struct code *c = b->item[i];
        if (c->kind == CODE_SET) {
            use_term(d, c->value, c);
            if (c->reg >= 0)
                use_register(d, c->reg, c, c->how == STORE_SET && c->lane < 0);
        }
        declare_block(d, &c->body);
    }
    (void)vec_pop(&d->path);
}

/* A register is declared by its first statement when that sets it and its block holds every other use. */
void code_declare(struct unit *u)
{
    struct declare d = { .u = u, .home = ARENA_ARRAY(u->arena, struct home, u->regs.len) };
    declare_block(&d, &u->body);
    for (int i = 0; i < u->regs.len; i++) {
        u->regs.data[i].decl = d.home[i].defines ? d.home[i].first : NULL;
        if (d.home[i].defines || !d.home[i].block)
            u->regs.data[i].scope = NULL;
    }
    vec_free(&d.path);
}
