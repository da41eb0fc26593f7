/* Drops statements whose result no statement reads: a register, or an element of a local or shared
 * array.  Then drops the loops, conditions and scopes that are empty. */
#include "kernels/gen/gen_impl.h"

struct dead { struct unit *u; bool *reg_read, *buffer_read; };

static void note_term(struct dead *d, const struct code_term *t)
{
    if (t->kind == TERM_REG)
        d->reg_read[t->reg] = true;
    if (t->kind == TERM_LOAD)
        d->buffer_read[t->at.buffer] = true;
    if (t->a)
        note_term(d, t->a);
    if (t->b)
        note_term(d, t->b);
    for (int i = 0; t->part && i < t->lanes; i++)
        note_term(d, t->part[i]);
}

static void note_block(struct dead *d, const struct block *b)
{
    for (int i = 0; i < b->n; i++) {
        note_block(d, &b->item[i]->body);
        if (code_has_value(b->item[i]))
            note_term(d, b->item[i]->value);
    }
}

static bool is_dead(const struct dead *d, const struct code *c)
{
    if (c->kind == CODE_NOTE || c->kind == CODE_BARRIER || (c->kind != CODE_SET
                                                            && code_has_value(c)))
        return false;
    if (c->kind != CODE_SET)
        return c->body.n == 0;
    if (c->reg >= 0)
        return !d->reg_read[c->reg];
    int b = c->at.buffer;
    return d->u->func->buffer[b].memory != MEMORY_GLOBAL && !d->buffer_read[b];
}

static void note_load(void *ctx, const struct access *a)
{
    struct dead *d = ctx;
    if (a->load)
        d->buffer_read[a->at->buffer] = true;
}

static bool drop(struct dead *d, struct block *b);

/* Drops dead stores of a scope.  Copies of a scope, for example in an unrolled loop, have the same
 * buffer number, but each copy is an array of its own.  So only the reads inside of c keep its
 * stores. */
static bool drop_in_scope(struct dead *d, struct code *c)
{
    bool read = d->buffer_read[c->buffer];
    d->buffer_read[c->buffer] = false;
    code_each_access(&c->body, note_load, d);
    bool dropped = drop(d, &c->body);
    if (!d->buffer_read[c->buffer])
        c->buffer = -1;
    else
        d->buffer_read[c->buffer] = read;
    return dropped;
}

/* Drops the dead code in b.  Returns whether there was any. */
static bool drop(struct dead *d, struct block *b)
{
    struct block out = { 0 };
    bool dropped = false;
    for (int i = 0; i < b->n; i++) {
        struct code *c = b->item[i];
        bool scope = c->kind == CODE_SCOPE && c->buffer >= 0;
        dropped |= scope ? drop_in_scope(d, c) : drop(d, &c->body);
        if (is_dead(d, c))
            dropped = true;
        else
            block_add(d->u, &out, c);
    }
    *b = out;
    return dropped;
}

void code_drop_dead(struct unit *u)
{
    struct dead d = { .u = u };
    do {
        d.reg_read = ARENA_ARRAY(u->arena, bool, u->regs.len);
        d.buffer_read = ARENA_ARRAY(u->arena, bool, u->func->n_buffers);
        note_block(&d, &u->body);
    } while (drop(&d, &u->body));
}
