/* A straight line of statements loads every distinct element once: a load that is used again sets a
 * named register, right before its first use.  After a store to a place, the registers of places
 * that it may overwrite are not used any more.
 *
 * Vector registers are few.  A line needs more than there are, for example, when it has the
 * accumulators of a large tile and inputs that its taps share.  Then the value whose next use is
 * farthest is given up (Belady 1966), and loaded again at this use.  Compilers would merge the two
 * loads, and then spill accumulators to keep the value: 0.78 of the speed.  To prevent this, the
 * second load goes through a copy of the pointer (CODE_AGAIN), and the compiler does not know where
 * the copy points. */
#include "kernels/gen/gen_impl.h"

#include <limits.h>

#define N_BUCKETS 256

/* A load whose value can be used again. reg: the register that holds the value; -1: the value has
 * not been used a second time so far. */
struct loaded { struct code_term *first; int reg; struct loaded *next_here; };

/* A value of a place in memory, from one store to the next. time: the numbers of those reads of the
 * line that use the value. */
struct read_value {
    struct place at;
    VEC(int) time;
    int n_past;                           /* how many of these reads are done */
    struct loaded *now;                   /* the load that has it now; NULL: to be loaded again */
    int again;  /* the copy of the pointer through which it was last loaded; -1: no load yet */
    struct read_value *next;
};

/* The copy number `again` of the pointer to a buffer, made right before the statement `before`. */
struct copy { int buffer, again, before; };

struct share {
    struct unit *u;
    const bool *stored;  /* per buffer: whether the enclosing loop nest stores to it */
    struct read_value *bucket[N_BUCKETS];
    VEC(struct read_value *) all;
    /* the value of each read, in order; NULL: only conditional loads have read the place so far */
    VEC(struct read_value *) read;
    int time;                             /* index of the next read */
    VEC(struct read_value *) at_hand;     /* values in registers now */
    int capacity;
    int statement;
    struct loaded **here;                 /* the end of the list of this statement's loads */
    VEC(struct copy) copies;
};

static struct read_value **bucket_of(struct share *s, const struct place *at)
{
    uint64_t key = at->base->id * 31u + (uint64_t)at->rest * 7u + (uint64_t)at->buffer;
    return &s->bucket[key % N_BUCKETS];
}

static struct read_value *value_new(struct share *s, const struct place *at)
{
    struct read_value *v = ARENA_NEW(s->u->arena, struct read_value), **slot = bucket_of(s, at);
    v->at = *at;
    v->again = -1;
    v->next = *slot;
    *slot = v;
    vec_push(&s->all, v);
    return v;
}

/* First pass: notes a read.  A conditional load can use a value that an unconditional load before
 * it put in a register.  A conditional load does not create a value itself, because the load into
 * the register would be unconditional. */
static void note_read(void *ctx, struct code_term *load, bool in_select)
{
    struct share *s = ctx;
    struct read_value **slot = bucket_of(s, &load->at), *v = *slot;
    while (v && !place_same(&v->at, &load->at))
        v = v->next;
    if (!v && !in_select)
        v = value_new(s, &load->at);
    if (v)
        vec_push(&v->time, s->time);
    vec_push(&s->read, v);
    s->time++;
}

/* Notes a store. The next read of a place that it may overwrite gets a new value. */
static void note_store(struct share *s, const struct place *stored)
{
    for (int i = 0; i < N_BUCKETS; i++)
        for (struct read_value **v = &s->bucket[i]; *v;) {
            if (place_apart(&(*v)->at, stored))
                v = &(*v)->next;
            else
                *v = (*v)->next;
        }
}

static void note_line(struct share *s, const struct block *b, int from, int to)
{
    for (int i = from; i < to; i++) {
        struct code *c = b->item[i];
        if (c->kind != CODE_SET || c->async)
            continue;
        term_each_load(c->value, note_read, s);
        if (c->reg < 0)
            note_store(s, &c->at);
    }
    s->time = 0;
}

static int next_use(const struct read_value *v)
{
    return v->n_past < v->time.len ? v->time.data[v->n_past] : INT_MAX;
}

static void drop(struct share *s, int i)
{
    s->at_hand.data[i]->now = NULL;
    s->at_hand.data[i] = vec_pop(&s->at_hand);
}

/* Whether the value can be loaded again through a copy of the pointer. This is illegal if the code
 * stores through the pointer itself, which is restrict. */
static bool may_load_again(const struct share *s, const struct read_value *v)
{
    int b = v->at.buffer;
    return s->u->func->buffer[b].memory == MEMORY_LOCAL || !s->stored[b];
}

/* Frees the registers of values without further use. If there are still too many values, frees the
 * register of the value whose next use is farthest. */
static void make_room(struct share *s)
{
    int farthest = -1;
    for (int i = s->at_hand.len - 1; i >= 0; i--)
        if (next_use(s->at_hand.data[i]) == INT_MAX)
            drop(s, i);
    if (s->at_hand.len <= s->capacity)
        return;
    for (int i = 0; i < s->at_hand.len; i++)
        if (may_load_again(s, s->at_hand.data[i]) &&
            (farthest < 0 || next_use(s->at_hand.data[i]) > next_use(s->at_hand.data[farthest])))
            farthest = i;
    if (farthest >= 0)
        drop(s, farthest);
}

static int latest_copy(const struct share *s, int buffer)
{
    for (int i = s->copies.len - 1; i >= 0; i--)
        if (s->copies.data[i].buffer == buffer)
            return s->copies.data[i].again;
    return 0;
}

static void to_register(struct code_term *load, int reg)
{
    load->kind = TERM_REG;
    load->reg = reg;
}

static void load_value(struct share *s, struct read_value *v, struct code_term *load)
{
    if (v->again >= 0 && latest_copy(s, v->at.buffer) == v->again)
        vec_push(&s->copies, (struct copy){ v->at.buffer, ++s->u->n_again, s->statement });
    v->again = load->at.again = latest_copy(s, v->at.buffer);
    v->now = ARENA_NEW(s->u->arena, struct loaded);
    *v->now = (struct loaded){ load, -1, NULL };
    *s->here = v->now;
    s->here = &v->now->next_here;
    vec_push(&s->at_hand, v);
}

/* Second pass: lets a load use the register of an earlier load of the same value. */
static void share_read(void *ctx, struct code_term *load, bool in_select)
{
    struct share *s = ctx;
    struct read_value *v = s->read.data[s->time++];
    if (!v)
        return;
    v->n_past++;
    if (v->now) {
        struct loaded *l = v->now;
        if (l->reg < 0) {
            const char *name = s->u->func->buffer[load->at.buffer].name;
            l->reg = reg_new(s->u, code_stem(s->u, name), NULL, load->at.lanes, NULL);
        }
        if (l->first != load)
            to_register(load, l->reg);
    } else if (!in_select) {
        load_value(s, v, load);
    }
    make_room(s);
}

/* The first and last use of a register in the order of all statements. */
struct life { int first, last; };

/* A pass over all statements. at: the number of statements passed so far. life: the life of each
 * register; n_regs: the number of registers before this file adds its own. */
struct share_walk { struct unit *u; int at, n_regs; struct life *life; };

static void note_name(struct share_walk *w, int reg)
{
    struct life *l = &w->life[reg];
    l->first = l->first ? l->first : w->at;
    l->last = w->at;
}

static void note_names(struct share_walk *w, const struct code_term *t)
{
    if (t->kind == TERM_REG)
        note_name(w, t->reg);
    if (t->a)
        note_names(w, t->a);
    if (t->b)
        note_names(w, t->b);
    for (int i = 0; t->part && i < t->lanes; i++)
        note_names(w, t->part[i]);
}

static void find_lives(struct share_walk *w, const struct block *b)
{
    for (int i = 0; i < b->n; i++) {
        const struct code *c = b->item[i];
        w->at += c->kind == CODE_SET;
        if (code_has_value(c))
            note_names(w, c->value);
        if (c->kind == CODE_SET && c->reg >= 0)
            note_name(w, c->reg);
        find_lives(w, &c->body);
    }
}

static void mark_read(const struct code_term *t, char *seen)
{
    if (t->kind == TERM_REG && !seen[t->reg])
        seen[t->reg] = 'r';
    if (t->a)
        mark_read(t->a, seen);
    if (t->b)
        mark_read(t->b, seen);
    for (int i = 0; t->part && i < t->lanes; i++)
        mark_read(t->part[i], seen);
}

/* Counts the registers that are live throughout the statements b[from, to). w->at: the number of
 * statements before these. Such registers are read or updated before the statements set them, or
 * they are used before and after the statements but not by them (for example, pixels of a tile for
 * which a tap lies in the padding). */
static int count_resident(const struct share_walk *w, const struct block *b, int from, int to)
{
    struct unit *u = w->u;
    char *seen = ARENA_ARRAY(u->arena, char, u->regs.len + 1);
    int n = 0, end = w->at;
    for (int i = from; i < to; i++) {
        const struct code *c = b->item[i];
        if (c->kind != CODE_SET)
            continue;
        end++;
        mark_read(c->value, seen);
        if (c->reg >= 0 && !seen[c->reg])
            seen[c->reg] = c->how == STORE_SET && c->lane < 0 ? 's' : 'r';
    }
    for (int i = 0; i < w->n_regs; i++)
        n += seen[i] == 'r'
          || (!seen[i] && w->life[i].first && w->life[i].first <= w->at && w->life[i].last > end);
    return n;
}

static bool holds_loop(const struct block *b)
{
    for (int i = 0; i < b->n; i++)
        if (b->item[i]->kind == CODE_FOR)
            return true;
    return false;
}

/* Returns how many loads the line can keep in registers: the vector registers of the target, minus
 * the live ones and one for temporary values.  Returns INT_MAX (no limit) where a limit would not
 * help: outside of innermost loops, in scalar code, and when the tile alone is too large. */
static int capacity(const struct share_walk *w, const struct block *b, int from, int to)
{
    if (w->u->lanes == 1 || holds_loop(b))
        return INT_MAX;
    int left = w->u->opts->target->registers - count_resident(w, b, from, to) - 1;
    return left < 2 ? INT_MAX : left;
}

/* Appends the statements b[from, to) to `out`, and before each of them the copies of pointers and
 * the loads into registers that it needs. first: the loads of each statement. */
static void rewrite_line(struct share *s, const struct block *b, int from, int to,
                         struct loaded **first, struct block *out)
{
    struct unit *u = s->u;
    int copy = 0;
    for (int i = from; i < to; i++) {
        for (; copy < s->copies.len && s->copies.data[copy].before == i; copy++) {
            struct code *c = code_new(u, CODE_AGAIN);
            c->buffer = s->copies.data[copy].buffer;
            c->again = s->copies.data[copy].again;
            block_add(u, out, c);
        }
        for (struct loaded *l = first[i - from]; l; l = l->next_here) {
            if (l->reg < 0)
                continue;
            struct code_term *load = term_load(u, &l->first->at, l->first->site);
            block_add(u, out, code_set_reg(u, l->reg, STORE_SET, load));
            to_register(l->first, l->reg);
        }
        block_add(u, out, b->item[i]);
    }
}

/* Shares the loads of one straight line: statements and notes b[from, to). */
static void share_line(struct share_walk *w, const struct block *b, int from, int to,
                       const bool *stored, struct block *out)
{
    struct unit *u = w->u;
    struct share s = { .u = u, .stored = stored, .capacity = capacity(w, b, from, to) };
    struct loaded **first = ARENA_ARRAY(u->arena, struct loaded *, to - from + 1);
    note_line(&s, b, from, to);
    for (int i = from; i < to; i++) {
        s.statement = i;
        s.here = &first[i - from];
        w->at += b->item[i]->kind == CODE_SET;
        if (b->item[i]->kind == CODE_SET && !b->item[i]->async)
            term_each_load(b->item[i]->value, share_read, &s);
    }
    rewrite_line(&s, b, from, to, first, out);
    for (int i = 0; i < s.all.len; i++)
        vec_free(&s.all.data[i]->time);
    vec_free(&s.all);
    vec_free(&s.read);
    vec_free(&s.at_hand);
    vec_free(&s.copies);
}

static void share_block(struct share_walk *w, struct block *b, const bool *stored)
{
    struct unit *u = w->u;
    struct block out = { 0 };
    for (int i = 0, end; i < b->n; i = end) {
        end = block_line_end(b, i);
        share_line(w, b, i, end, stored, &out);
        if (end < b->n) {
            struct code *c = b->item[end++];
            share_block(w, &c->body, b == &u->body ? code_stored(u, &c->body) : stored);
            block_add(u, &out, c);
        }
    }
    *b = out;
}

void code_share(struct unit *u)
{
    struct share_walk w = { .u = u, .n_regs = u->regs.len };
    w.life = ARENA_ARRAY(u->arena, struct life, w.n_regs + 1);
    find_lives(&w, &u->body);
    w.at = 0;
    share_block(&w, &u->body, code_stored(u, &u->body));
}
