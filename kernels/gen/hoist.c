/* A place that a loop only updates stays in a register while the loop runs:
 *
 *     C[i] = 0;                                  float c0 = 0;
 *     for (k) C[i] += A[k] * B[k];     ==>       for (k) c0 += A[k] * B[k];
 *                                                C[i] = c0;
 *
 * Compilers do the same only where they can prove that it is legal.  Doing it in the text makes it
 * certain, and makes the trace show the accesses that the compiled code makes.
 *
 * A buffer qualifies in a loop if the loop stores to the buffer, and accesses it only at a few
 * places that stay the same while the loop runs.  The new code around the loop accesses these
 * places even if the loop runs no iteration.  This is legal for a place if a store before the loop
 * initialises it, or if every statement of the loop certainly runs.
 *
 * Loads that read the same place in every iteration of an innermost loop also move before the loop,
 * if the loop certainly runs, contains no condition, and does not store to the buffer. */
#include "kernels/gen/gen_impl.h"

#define MAX_KEPT 32  /* per loop: most places kept of a buffer; most loads moved before the loop */

/* A place that is kept in register `reg`. stored: whether the loop stores to it. */
struct kept { struct place at; int reg; int site_load, site_store; bool stored; };

struct hoist {
    struct unit *u;
    VEC(const struct expr *) vars;        /* variables of the loop, and of loops and PICKs inside */
    int buffer;
    bool possible;
    int n;
    struct kept kept[MAX_KEPT];
};

static void find_vars(struct hoist *h, const struct code *loop)
{
    if (loop->kind == CODE_FOR || loop->kind == CODE_PICK)
        vec_push(&h->vars, loop->var);
    for (int i = 0; i < loop->body.n; i++)
        find_vars(h, loop->body.item[i]);
}

static bool holds(const struct block *b, enum code_kind kind, enum loop_ann ann)
{
    for (int i = 0; i < b->n; i++)
        if ((b->item[i]->kind == kind && (kind != CODE_FOR || b->item[i]->ann == ann)) ||
            holds(&b->item[i]->body, kind, ann))
            return true;
    return false;
}

static void keep_access(void *ctx, const struct access *a)
{
    struct hoist *h = ctx;
    if (a->at->buffer != h->buffer || !h->possible)
        return;
    int i = 0;
    while (i < h->n && !place_same(&h->kept[i].at, a->at))
        i++;
    if (i == h->n) {
        for (int j = 0; j < h->n; j++)
            h->possible &= place_apart(&h->kept[j].at, a->at);
        h->possible &= a->set->kind != CODE_FRAGMENT && !a->set->async && !a->in_select &&
                       h->n < MAX_KEPT && !expr_uses_any(a->at->base, h->vars.data, h->vars.len);
        if (!h->possible)
            return;
        h->kept[h->n++] = (struct kept){ *a->at, -1, -1, -1, false };
    }
    struct kept *k = &h->kept[i];
    if (a->load) {
        k->site_load = a->load->site;
    } else {
        k->stored = true;
        k->site_store = a->set->site_store;
        if (a->set->site_load >= 0)
            k->site_load = a->set->site_load;
    }
}

static void use_register(void *ctx, const struct access *a)
{
    struct hoist *h = ctx;
    for (int i = 0; i < h->n; i++)
        if (place_same(&h->kept[i].at, a->at)) {
            if (a->load) {
                a->load->kind = TERM_REG;
                a->load->reg = h->kept[i].reg;
            } else {
                a->set->reg = h->kept[i].reg;
            }
            return;
        }
}

/* Whether every statement of the loop runs at least once whenever the loop is reached. */
static bool surely_runs(const struct code *c)
{
    if (c->kind == CODE_IF || (c->kind == CODE_FOR && c->begin->hi >= c->end->lo))
        return false;
    for (int i = 0; i < c->body.n; i++)
        if (!surely_runs(c->body.item[i]))
            return false;
    return true;
}

/* Returns the store before the loop that initialises k, or NULL.  Unless the place is read between
 * this store and the loop, the store then sets the register instead. */
static struct code *initial_store(struct block *before, const struct kept *k)
{
    for (int i = before->n - 1; i >= 0 && before->item[i]->kind == CODE_SET; i--) {
        struct code *c = before->item[i];
        if (c->reg < 0 && place_same(&c->at, &k->at))
            return c->how == STORE_SET ? c : NULL;
        if (c->reg < 0 && !place_apart(&c->at, &k->at))
            return NULL;
    }
    return NULL;
}

struct reads { const struct place *at; bool found; };

static void note_read(void *ctx, const struct access *a)
{
    struct reads *r = ctx;
    if (a->load && !place_apart(a->at, r->at))
        r->found = true;
}

/* Whether the statements between `from` and the loop read the place of k. */
static bool read_between(struct block *before, const struct code *from, const struct kept *k)
{
    struct reads r = { &k->at, false };
    int i = before->n - 1;
    for (; i >= 0 && before->item[i] != from; i--) {
        struct block one = { &before->item[i], 1, 1 };
        code_each_access(&one, note_read, &r);
    }
    return r.found;
}

/* Rewrites the loop so that it uses registers. Appends the loads that must run before the loop to
 * `out`, and the stores that must run after it to `after`. */
static void keep_in_registers(struct hoist *h, struct code *loop, struct block *out,
                              struct block *after)
{
    struct unit *u = h->u;
    const char *stem = code_stem(u, u->func->buffer[h->buffer].name);
    for (int i = 0; i < h->n; i++) {
        struct kept *k = &h->kept[i];
        k->reg = reg_new(u, stem, NULL, k->at.lanes, NULL);
        if (k->stored && u->func->buffer[h->buffer].memory == MEMORY_LOCAL)
            u->regs.data[k->reg].tile = h->buffer;
        struct code *init = k->stored ? initial_store(out, k) : NULL;
        if (init && !read_between(out, init, k))
            init->reg = k->reg;
        else
            block_add(u, out,
                      code_set_reg(u, k->reg, STORE_SET, term_load(u, &k->at, k->site_load)));
        if (!k->stored)
            continue;
        struct code *back = code_new(u, CODE_SET);
        back->at = k->at;
        back->value = term_reg(u, k->reg);
        back->site_store = k->site_store;
        block_add(u, after, back);
    }
    code_each_access(&loop->body, use_register, h);
}

/* Sets stored[] to false for the local arrays that scopes in b declare: these arrays do not exist
 * outside of b. */
static void forget_scopes(const struct block *b, bool *stored)
{
    for (int i = 0; i < b->n; i++) {
        if (b->item[i]->kind == CODE_SCOPE && b->item[i]->buffer >= 0)
            stored[b->item[i]->buffer] = false;
        forget_scopes(&b->item[i]->body, stored);
    }
}

/* For each buffer that the loop stores to: keeps its places in registers, if the loop also loads
 * every one of them (as += and max= do). */
static void hoist_stores(struct hoist *h, struct code *loop, struct block *out, struct block *after)
{
    int n = h->u->func->n_buffers;
    bool *stored = code_stored(h->u, &loop->body);
    forget_scopes(&loop->body, stored);
    if (holds(&loop->body, CODE_FOR, LOOP_PARALLEL))
        return;
    bool meets = holds(&loop->body, CODE_BARRIER, LOOP_SERIAL);
    for (int b = 0; b < n; b++) {
        if (!stored[b] || (meets && h->u->func->buffer[b].memory == MEMORY_SHARED))
            continue;  /* after a barrier, other threads read what this thread stored earlier */
        h->buffer = b;
        h->possible = true;
        h->n = 0;
        code_each_access(&loop->body, keep_access, h);
        bool runs = surely_runs(loop);
        for (int i = 0; i < h->n; i++)
            h->possible &= h->kept[i].site_load >= 0 && (runs || initial_store(out, &h->kept[i]));
        if (h->possible && h->n > 0)
            keep_in_registers(h, loop, out, after);
    }
}

struct invariant { struct hoist *h; const bool *stored; int n; struct kept kept[MAX_KEPT]; };

static void note_invariant(void *ctx, const struct access *a)
{
    struct invariant *v = ctx;
    if (!a->load || a->in_select || a->set->kind == CODE_FRAGMENT || a->set->async ||
        v->stored[a->at->buffer] ||
        expr_uses_any(a->at->base, v->h->vars.data, v->h->vars.len))
        return;
    for (int i = 0; i < v->n; i++)
        if (place_same(&v->kept[i].at, a->at))
            return;
    if (v->n < MAX_KEPT)
        v->kept[v->n++] = (struct kept){ *a->at, -1, a->load->site, -1, false };
}

/* Hoists loads of an innermost loop whose place is the same in every iteration. */
static void hoist_loads(struct hoist *h, struct code *loop, struct block *out, struct block *after)
{
    struct unit *u = h->u;
    if (holds(&loop->body, CODE_FOR, LOOP_SERIAL) || holds(&loop->body, CODE_FOR, LOOP_PARALLEL) ||
        holds(&loop->body, CODE_IF, LOOP_SERIAL) || loop->begin->hi >= loop->end->lo)
        return;
    bool *stored = code_stored(u, &loop->body);
    struct invariant *v = ARENA_NEW(u->arena, struct invariant);
    v->h = h;
    v->stored = stored;
    code_each_access(&loop->body, note_invariant, v);
    for (int i = 0; i < v->n; i++) {
        h->buffer = v->kept[i].at.buffer;
        h->n = 1;
        h->kept[0] = v->kept[i];
        keep_in_registers(h, loop, out, after);
    }
}

static void hoist_block(struct unit *u, struct block *b);

static void hoist_loop(struct unit *u, struct code *loop, struct block *out)
{
    struct hoist h = { .u = u };
    struct block after = { 0 };
    find_vars(&h, loop);
    if (loop->ann == LOOP_SERIAL) {
        hoist_stores(&h, loop, out, &after);
        hoist_loads(&h, loop, out, &after);
    }
    vec_free(&h.vars);
    hoist_block(u, &loop->body);
    block_add(u, out, loop);
    for (int i = 0; i < after.n; i++)
        block_add(u, out, after.item[i]);
}

static void hoist_block(struct unit *u, struct block *b)
{
    struct block out = { 0 };
    for (int i = 0; i < b->n; i++) {
        struct code *c = b->item[i];
        if (c->kind == CODE_FOR) {
            hoist_loop(u, c, &out);
        } else {
            hoist_block(u, &c->body);
            block_add(u, &out, c);
        }
    }
    *b = out;
}

void code_hoist(struct unit *u)
{
    hoist_block(u, &u->body);
}
