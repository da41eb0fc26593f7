/* Prefetches in each iteration of a loop the elements that a later iteration reads.
 *
 *     for (h) for (i)                              for (h) for (i) {
 *         a0 += inp[0] * k[i];                         prefetch(inp, 13440 + 959*(i % 14));
 *         ...                             ==>          a0 += inp[0] * k[i];
 *         a13 += inp[12480] * k[i];                    ...
 *
 * Each straight line that loads from the buffer prefetches the places that it loads (not those in a
 * select or at picked indices), for a later value of the loop's variable.  Where each iteration of
 * the innermost loop moves a place by s elements, the place reaches a new cache line only every
 * LINE / s iterations.  Then up to LINE / s places take turns.  For the g places r0 + d*j, j < g,
 * iteration i prefetches only place number j = i % g, at the address that this place has in
 * iteration i - j.
 *
 *     r0 + d*j of all j < g in every iteration   ==>   r0 + (d - s) * (i % g) in iteration i
 *
 * The last iterations prefetch addresses behind the data.  This is harmless: a prefetch never
 * faults. */
#include "kernels/gen/gen_impl.h"

#include <stdlib.h>

#include "kernels/ir/simplify.h"

#define LINE_BYTES 64                     /* bytes of a cache line, on most machines */
#define MAX_PLACES 256                    /* most places that one straight line prefetches */

struct ahead {
    struct unit *u;
    int buffer;
    const struct expr *var, *next;        /* var: of the loop; next: the value var + by */
    const struct code *inner;  /* the innermost enclosing loop: the loop of var, or one inside it */
    int64_t by;                           /* how many iterations later the elements are read */
    bool said;                            /* whether the current line has its comment */
    int line;                             /* elements per cache line */
    int n;
    struct place at[MAX_PLACES];          /* places that the straight line reads */
};

static void note_place(void *ctx, struct code_term *load, bool in_select)
{
    struct ahead *a = ctx;
    if (load->at.buffer != a->buffer || in_select || a->n == MAX_PLACES ||
        val_picks(load->at.base))
        return;
    for (int i = 0; i < a->n; i++)
        if (place_same(&a->at[i], &load->at))
            return;
    a->at[a->n++] = load->at;
}

static int by_place(const void *x, const void *y)
{
    const struct place *a = x, *b = y;
    if (a->base != b->base)
        return a->base->id < b->base->id ? -1 : 1;
    return a->rest < b->rest ? -1 : a->rest > b->rest;
}

/* Sorts the places, and keeps one for each cache line. */
static void thin_out(struct ahead *a)
{
    int n = 0;
    qsort(a->at, (size_t)a->n, sizeof *a->at, by_place);
    for (int i = 0; i < a->n; i++) {
        const struct place *x = &a->at[i], *last = n ? &a->at[n - 1] : NULL;
        if (!last || x->base != last->base || x->rest >= last->rest + a->line)
            a->at[n++] = *x;
    }
    a->n = n;
}

/* Returns in how many iterations of the innermost loop the place at[i] stays in one cache line.
 * Sets *step to the number of elements by which an iteration moves the place. */
static int64_t turns_of(const struct ahead *a, int i, int64_t *step)
{
    const struct code *c = a->inner;
    int64_t trips = c->end->hi - c->begin->lo, turns;
    if (!expr_coef(a->u->func->pool, a->at[i].base, c->var, step))
        return 1;
    turns = *step == 0 ? trips : a->line / llabs(*step);
    return turns < 1 || trips < 1 ? 1 : turns < trips ? turns : trips;
}

/* Returns how many of at[i], at[i + 1], ... have the same base and equal distances; at[i] counts.
 * Sets *apart to the distance; 0 if at[i] is the only one. */
static int count_even(const struct ahead *a, int i, int64_t *apart)
{
    int n = 1;
    *apart = 0;
    while (i + n < a->n && a->at[i + n].base == a->at[i].base) {
        int64_t d = a->at[i + n].rest - a->at[i + n - 1].rest;
        if (n > 1 && d != *apart)
            break;
        *apart = d;
        n++;
    }
    return n;
}

/* Adds the comment "prefetch Inp of h + 1". */
static void say(struct ahead *a, struct block *out)
{
    struct code *c = code_new(a->u, CODE_NOTE);
    c->note = arena_printf(a->u->arena, "prefetch %s of %s + %lld",
                           a->u->func->buffer[a->buffer].name, a->var->name, (long long)a->by);
    block_add(a->u, out, c);
    a->said = true;
}

/* Adds one prefetch, for the n places at[i], at[i] + apart, ... in turns: one in each iteration. */
static void ask(struct ahead *a, int i, int64_t n, int64_t apart, int64_t step, struct block *out)
{
    struct exprs *p = a->u->func->pool;
    const struct expr *base = a->at[i].base;
    struct code *c = code_new(a->u, CODE_AHEAD);
    c->at = a->at[i];
    c->at.again = 0;
    c->by = expr_sub(p, expr_subst(p, base, &a->var, &a->next, 1), base);
    if (n > 1)
        c->by = expr_add(p, c->by, expr_mulc(p, expr_modc(p, a->inner->var, n), apart - step));
    c->by = expr_simplify(p, c->by);
    if (expr_is_const(c->by, 0))
        return;
    if (!a->said)
        say(a, out);
    block_add(a->u, out, c);
}

static void ask_for_line(struct ahead *a, const struct block *b, int from, int to,
                         struct block *out)
{
    a->n = 0;
    a->said = false;
    for (int i = from; i < to; i++)
        if (b->item[i]->kind == CODE_SET)
            term_each_load(b->item[i]->value, note_place, a);
    thin_out(a);
    for (int i = 0; i < a->n;) {
        int64_t apart, step = 0, turns = turns_of(a, i, &step);
        int n = count_even(a, i, &apart), end = i + n;
        int64_t hints = (n + turns - 1) / turns, group = (n + hints - 1) / hints;
        for (; i < end; i += (int)group)
            ask(a, i, group < end - i ? group : end - i, apart, step, out);
        i = end;
    }
}

static int line_end(const struct block *b, int i)
{
    while (i < b->n && (b->item[i]->kind == CODE_AGAIN || block_line_end(b, i) > i))
        i++;
    return i;
}

/* Adds prefetches before the first statement of each straight line in b, and in the blocks inside
 * b. */
static void ask_in(struct ahead *a, struct block *b)
{
    struct block out = { 0 };
    for (int i = 0; i < b->n;) {
        int end = line_end(b, i);
        for (; i < end && b->item[i]->kind == CODE_NOTE; i++)
            block_add(a->u, &out, b->item[i]);
        ask_for_line(a, b, i, end, &out);
        for (; i < end; i++)
            block_add(a->u, &out, b->item[i]);
        if (i == b->n)
            break;
        struct code *c = b->item[i++];
        const struct code *around = a->inner;
        a->inner = c->kind == CODE_FOR ? c : around;
        ask_in(a, &c->body);
        a->inner = around;
        block_add(a->u, &out, c);
    }
    *b = out;
}

static void prefetch_block(struct unit *u, struct block *b)
{
    for (int i = 0; i < b->n; i++) {
        struct code *c = b->item[i];
        prefetch_block(u, &c->body);
        for (int k = 0; k < c->n_prefetch; k++) {
            struct ahead *a = ARENA_NEW(u->arena, struct ahead);
            a->u = u;
            a->buffer = c->prefetch[k].buffer;
            a->line = LINE_BYTES / u->func->buffer[a->buffer].type->bytes;
            a->var = c->var;
            a->by = c->prefetch[k].ahead;
            a->next = expr_addc(u->func->pool, c->var, a->by);
            a->inner = c;
            ask_in(a, &c->body);
        }
    }
}

void code_prefetch(struct unit *u)
{
    prefetch_block(u, &u->body);
}
