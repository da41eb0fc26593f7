/* Stores two elements of 16 bits that lie side by side as one word:
 *
 *     C[2*i] = x;  C[2*i + 1] = y;     ==>     store_pair(&C[2*i], x, y);
 *
 * A store of a warp takes as long when each thread stores 2 bytes as when each stores 4.  The first
 * store moves down to the second one.  The statements between them must neither read the buffer,
 * nor write the element of the first store, nor change the registers that it stores. */
#include "kernels/gen/gen_impl.h"

/* A store that shall move down. stops: whether a load in the way reads its buffer. */
struct moving { const struct code *store; bool stops; };

static bool uses_register(const struct code_term *t, int reg)
{
    bool found = t->kind == TERM_REG && t->reg == reg;
    found = found || (t->a && uses_register(t->a, reg)) || (t->b && uses_register(t->b, reg));
    for (int i = 0; t->part && i < t->lanes && !found; i++)
        found = uses_register(t->part[i], reg);
    return found;
}

static void note_load(void *ctx, struct code_term *load, bool in_select)
{
    struct moving *m = ctx;
    (void)in_select;
    m->stops |= load->at.buffer == m->store->at.buffer;
}

static void note_stored_load(void *ctx, struct code_term *load, bool in_select)
{
    (void)load;
    (void)in_select;
    *(bool *)ctx = true;
}

/* Whether c stops a store that shall move past it. c: a statement or a note. */
static bool stops(const struct code *store, const struct code *c)
{
    struct moving m = { store, false };
    if (c->kind == CODE_NOTE)
        return false;
    term_each_load(c->value, note_load, &m);
    if (c->reg < 0)
        return m.stops || !place_apart(&store->at, &c->at);
    return m.stops || uses_register(store->value, c->reg);
}

/* Whether c stores one element of 16 bits to global memory, and its value needs no load. */
static bool is_single(const struct unit *u, const struct code *c)
{
    bool loads = false;
    if (c->kind != CODE_SET || c->reg >= 0 || c->how != STORE_SET || c->at.lanes != 1
        || c->value->lanes != 1 || !type_is_narrow(u->func->buffer[c->at.buffer].type)
        || u->func->buffer[c->at.buffer].memory != MEMORY_GLOBAL)
        return false;
    term_each_load(c->value, note_stored_load, &loads);
    return !loads;
}

/* Returns the index of the store with which item i can be paired; -1: there is none, or item i is
 * no store of this kind. */
static int find_second(const struct unit *u, const struct block *b, int i, int end)
{
    const struct code *first = b->item[i];
    struct place both = first->at;
    both.lanes = 2;
    if (!is_single(u, first) || !place_aligned(u, &both))
        return -1;
    for (int k = i + 1; k < end; k++) {
        const struct code *c = b->item[k];
        if (is_single(u, c) && c->at.buffer == both.buffer && c->at.base == both.base
            && c->at.rest == both.rest + 1 && c->site_store == first->site_store)
            return k;
        if (stops(first, c))
            return -1;
    }
    return -1;
}

static void pair_block(struct unit *u, struct block *b)
{
    struct block out = { 0 };
    for (int i = 0; i < b->n; i++) {
        struct code *c = b->item[i];
        int second = find_second(u, b, i, block_line_end(b, i));
        pair_block(u, &c->body);
        if (second < 0) {
            block_add(u, &out, c);
            continue;
        }
        struct code *both = b->item[second];
        struct code_term *value = term_new(u, TERM_GATHER, 2);
        value->part = ARENA_ARRAY(u->arena, struct code_term *, 2);
        value->part[0] = c->value;
        value->part[1] = both->value;
        both->value = value;
        both->at.rest--;
        both->at.lanes = 2;
    }
    *b = out;
}

void code_pair_stores(struct unit *u)
{
    if (u->narrow)
        pair_block(u, &u->body);
}
