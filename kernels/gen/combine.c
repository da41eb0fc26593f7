/* Keeps a place in memory in a register while a straight line of statements writes and uses it
 * again:
 *
 *     C[i] += a * b;                     float c0 = C[i];
 *     C[i] += c * d;           ==>       c0 += a * b;  c0 += c * d;
 *     R[i] = max(C[i], 0);               C[i] = c0;
 *                                        R[i] = max(c0, 0);
 *
 * Compilers do the same (store forwarding, dead stores).  Doing it in the text makes the trace show
 * the accesses that the compiled code makes. */
#include "kernels/gen/gen_impl.h"

#define N_BUCKETS 256

/* A place, and how the straight line uses it. */
struct spot {
    struct place at;
    int n_uses, n_stores;
    int first, last, last_store;          /* indices of statements */
    bool starts_conditional;              /* whether the first use is a load inside of a select */
    bool starts_set;                      /* whether the first use overwrites the place */
    int site_load, site_store;
    int reg;                              /* register that replaces the place; -1: none */
    /* whether `reg` is the register that the only store of the place stores: this store stays */
    bool keep_store;
    struct spot *next, *next_first;
};

struct combiner {
    struct unit *u;
    const struct block *line;
    int from, to;
    const bool *stored;                   /* per buffer: whether the line stores to it */
    struct spot *bucket[N_BUCKETS];
    VEC(struct spot *) spots;
    int now;
};

static struct spot *spot_find(struct combiner *c, const struct place *at)
{
    uint64_t key = at->base->id * 31u + (uint64_t)at->rest * 7u + (uint64_t)at->buffer;
    struct spot **slot = &c->bucket[key % N_BUCKETS], *s = *slot;
    while (s && !place_same(&s->at, at))
        s = s->next;
    if (s)
        return s;
    s = ARENA_NEW(c->u->arena, struct spot);
    *s = (struct spot){ .at = *at, .first = c->now, .last_store = -1, .reg = -1, .next = *slot };
    s->site_load = s->site_store = -1;
    *slot = s;
    vec_push(&c->spots, s);
    return s;
}

static void note_load(void *ctx, struct code_term *load, bool in_select)
{
    struct combiner *c = ctx;
    if (!c->stored[load->at.buffer])
        return;
    struct spot *s = spot_find(c, &load->at);
    if (s->n_uses++ == 0)
        s->starts_conditional = in_select;
    s->site_load = load->site;
    s->last = c->now;
}

static void note_line(struct combiner *c)
{
    for (c->now = c->from; c->now < c->to; c->now++) {
        const struct code *set = c->line->item[c->now];
        if (set->kind != CODE_SET)
            continue;
        term_each_load(set->value, note_load, c);
        if (set->reg >= 0)
            continue;
        struct spot *s = spot_find(c, &set->at);
        if (s->n_uses++ == 0)
            s->starts_set = set->how == STORE_SET;
        s->n_stores++;
        s->last = s->last_store = c->now;
        s->site_store = set->site_store;
        if (set->site_load >= 0)
            s->site_load = set->site_load;
    }
}

static bool alone(const struct combiner *c, const struct spot *s)
{
    for (int i = 0; i < c->spots.len; i++)
        if (c->spots.data[i] != s && !place_apart(&c->spots.data[i]->at, &s->at))
            return false;
    return true;
}

/* Returns the register that the only store of s stores.  Returns -1 if there are other stores, if
 * this store is not the first use of s or stores no whole register, or if the register changes
 * before the last use of s. */
static int stored_register(const struct combiner *c, const struct spot *s)
{
    const struct code *set = c->line->item[s->first];
    const struct code_term *t = set->value;
    if (s->n_stores > 1 || !s->starts_set || t->kind != TERM_REG || t->lane >= 0 ||
        t->lanes != s->at.lanes)
        return -1;
    for (int i = s->first; i <= s->last; i++)
        if (c->line->item[i]->kind == CODE_SET && c->line->item[i]->reg == t->reg)
            return -1;
    return t->reg;
}

static void choose_register(struct combiner *c, struct spot *s)
{
    struct unit *u = c->u;
    if (s->n_uses < 2 || s->n_stores == 0 || s->starts_conditional || !alone(c, s))
        return;
    s->reg = stored_register(c, s);
    s->keep_store = s->reg >= 0;
    if (!s->keep_store)
        s->reg =
            reg_new(u, code_stem(u, u->func->buffer[s->at.buffer].name), NULL, s->at.lanes, NULL);
}

static void use_load(void *ctx, struct code_term *load, bool in_select)
{
    struct combiner *c = ctx;
    (void)in_select;
    if (!c->stored[load->at.buffer])
        return;
    const struct spot *s = spot_find(c, &load->at);
    if (s->reg >= 0) {
        load->kind = TERM_REG;
        load->reg = s->reg;
    }
}

static void use_registers(struct combiner *c, struct code *set)
{
    term_each_load(set->value, use_load, c);
    if (set->reg >= 0)
        return;
    const struct spot *s = spot_find(c, &set->at);
    if (s->reg >= 0 && !s->keep_store)
        set->reg = s->reg;
}

static struct code *store_back(struct unit *u, const struct spot *s)
{
    struct code *c = code_new(u, CODE_SET);
    c->at = s->at;
    c->value = term_reg(u, s->reg);
    c->site_store = s->site_store;
    return c;
}

static void rewrite_line(struct combiner *c, struct block *out)
{
    struct unit *u = c->u;
    struct spot **first = ARENA_ARRAY(u->arena, struct spot *, c->to - c->from);
    struct spot **last = ARENA_ARRAY(u->arena, struct spot *, c->to - c->from);
    for (int i = c->spots.len - 1; i >= 0; i--) {
        struct spot *s = c->spots.data[i];
        if (s->reg < 0 || s->keep_store)
            continue;
        s->next_first = first[s->first - c->from];
        first[s->first - c->from] = s;
        last[s->last_store - c->from] = s;
    }
    for (int i = c->from; i < c->to; i++) {
        struct code *code = c->line->item[i];
        for (struct spot *s = first[i - c->from]; s; s = s->next_first)
            if (!s->starts_set)
                block_add(u, out, code_set_reg(u, s->reg, STORE_SET,
                                               term_load(u, &s->at, s->site_load)));
        if (code->kind == CODE_SET)
            use_registers(c, code);
        block_add(u, out, code);
        if (last[i - c->from])            /* a statement stores to one place */
            block_add(u, out, store_back(u, last[i - c->from]));
    }
}

static void combine_line(struct unit *u, const struct block *b, int from, int to,
                         struct block *out)
{
    struct block line = { b->item + from, to - from, to - from };
    struct combiner c = { .u = u, .line = b, .from = from, .to = to };
    c.stored = code_stored(u, &line);
    note_line(&c);
    for (int i = 0; i < c.spots.len; i++)
        choose_register(&c, c.spots.data[i]);
    rewrite_line(&c, out);
    vec_free(&c.spots);
}

static void combine_block(struct unit *u, struct block *b)
{
    struct block out = { 0 };
    for (int i = 0, end; i < b->n; i = end) {
        end = block_line_end(b, i);
        combine_line(u, b, i, end, &out);
        if (end < b->n) {
            combine_block(u, &b->item[end]->body);
            block_add(u, &out, b->item[end++]);
        }
    }
    *b = out;
}

void code_combine(struct unit *u)
{
    combine_block(u, &u->body);
}
