/* Construction of code, and walks over it. */
#include "kernels/gen/gen_impl.h"

#include <ctype.h>
#include <string.h>

void block_add(struct unit *u, struct block *b, struct code *c)
{
    if (b->n == b->cap) {
        int cap = b->cap ? 2 * b->cap : 4;
        struct code **item = ARENA_ARRAY(u->arena, struct code *, cap);
        if (b->n)
            memcpy(item, b->item, sizeof *item * (size_t)b->n);
        b->item = item;
        b->cap = cap;
    }
    b->item[b->n++] = c;
}

int block_line_end(const struct block *b, int i)
{
    while (i < b->n && (b->item[i]->kind == CODE_SET || b->item[i]->kind == CODE_NOTE))
        i++;
    return i;
}

double code_trips(const struct code *c)
{
    double n = (double)(c->end->hi - c->begin->lo);
    return n > 1 ? n : 1;
}

struct code *code_new(struct unit *u, enum code_kind kind)
{
    struct code *c = ARENA_NEW(u->arena, struct code);
    c->kind = kind;
    c->reg = c->lane = c->buffer = c->site_load = c->site_store = -1;
    return c;
}

struct code *code_set_reg(struct unit *u, int reg, enum store_how how, struct code_term *value)
{
    struct code *c = code_new(u, CODE_SET);
    c->reg = reg;
    c->how = how;
    c->value = value;
    return c;
}

struct code_term *term_new(struct unit *u, enum term_kind kind, int lanes)
{
    struct code_term *t = ARENA_NEW(u->arena, struct code_term);
    t->kind = kind;
    t->lanes = lanes;
    t->reg = t->lane = t->site = -1;
    return t;
}

struct code_term *term_const(struct unit *u, double value)
{
    struct code_term *t = term_new(u, TERM_CONST, 1);
    t->value = value;
    return t;
}

struct code_term *term_reg(struct unit *u, int reg)
{
    struct code_term *t = term_new(u, TERM_REG, u->regs.data[reg].lanes);
    t->reg = reg;
    return t;
}

struct code_term *term_load(struct unit *u, const struct place *at, int site)
{
    struct code_term *t = term_new(u, TERM_LOAD, at->lanes);
    t->at = *at;
    t->site = site;
    return t;
}

int reg_new(struct unit *u, const char *stem, const char *suffix, int lanes, struct block *scope)
{
    struct reg r = { .stem = stem, .suffix = suffix, .lanes = lanes, .scope = scope };
    vec_push(&u->regs, r);
    return u->regs.len - 1;
}

const char *code_stem(struct unit *u, const char *buffer_name)
{
    char *s = arena_strdup(u->arena, buffer_name);
    if (str_ends(s, "_acc"))
        return "acc";
    if (str_ends(s, "_tile"))
        s[strlen(s) - strlen("_tile")] = '\0';
    for (char *c = s; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    size_t n = strlen(s);
    return n && isdigit((unsigned char)s[n - 1]) ? arena_printf(u->arena, "%s_", s) : s;
}

bool place_same(const struct place *x, const struct place *y)
{
    return x->buffer == y->buffer && x->base == y->base && x->rest == y->rest &&
           x->lanes == y->lanes;
}

bool place_apart(const struct place *x, const struct place *y)
{
    if (x->buffer != y->buffer)
        return true;
    return x->base == y->base && (x->rest + x->lanes <= y->rest || y->rest + y->lanes <= x->rest);
}

bool expr_uses_any(const struct expr *e, const struct expr *const *vars, int n)
{
    for (int i = 0; i < n; i++)
        if (expr_uses(e, vars[i]))
            return true;
    return false;
}

bool expr_vars_within(const struct expr *e, const struct expr *const *vars, int n)
{
    if (e->kind == EXPR_CONST)
        return true;
    if (e->kind != EXPR_VAR)
        return expr_vars_within(e->a, vars, n) && expr_vars_within(e->b, vars, n);
    for (int i = 0; i < n; i++)
        if (vars[i] == e)
            return true;
    return false;
}

static void each_load(struct code_term *t, bool in_select, void (*f)(void *, struct code_term *,
                                                                     bool),
                      void *ctx)
{
    switch (t->kind) {
    case TERM_CONST: case TERM_REG:
        return;
    case TERM_LOAD:
        f(ctx, t, in_select);
        return;
    case TERM_BIN:
        each_load(t->a, in_select, f, ctx);
        each_load(t->b, in_select, f, ctx);
        return;
    case TERM_CALL: case TERM_SHUFFLE:
        each_load(t->a, in_select, f, ctx);
        return;
    case TERM_SELECT:
        each_load(t->a, true, f, ctx);
        each_load(t->b, true, f, ctx);
        return;
    case TERM_GATHER:
        for (int i = 0; i < t->lanes; i++)
            each_load(t->part[i], in_select, f, ctx);
        return;
    }
    UNREACHABLE();
}

void term_each_load(struct code_term *t, void (*f)(void *ctx, struct code_term *load,
                                                   bool in_select),
                    void *ctx)
{
    each_load(t, false, f, ctx);
}

struct code_walk { access_fn *f; void *ctx; struct access a; };

static void walk_load(void *ctx, struct code_term *load, bool in_select)
{
    struct code_walk *w = ctx;
    w->a.load = load;
    w->a.at = &load->at;
    w->a.in_select = in_select;
    w->f(w->ctx, &w->a);
}

void code_each_access(struct block *b, access_fn *f, void *ctx)
{
    for (int i = 0; i < b->n; i++) {
        struct code *c = b->item[i];
        code_each_access(&c->body, f, ctx);
        if (!code_has_value(c))
            continue;
        struct code_walk w = { f, ctx, { .set = c, .block = b } };
        term_each_load(c->value, walk_load, &w);
        if (c->reg >= 0 || c->kind != CODE_SET)
            continue;
        w.a.load = NULL;
        w.a.at = &c->at;
        w.a.in_select = false;
        f(ctx, &w.a);
    }
}

bool place_aligned(const struct unit *u, const struct place *p)
{
    struct expr_linear sum = expr_linear(u->func->pool, p->base);
    bool aligned = (sum.rest + p->rest) % p->lanes == 0;
    for (int i = 0; i < sum.n && aligned; i++)
        aligned = sum.coef[i] % p->lanes == 0;
    return aligned;
}

int place_bytes(const struct unit *u, const struct place *p)
{
    return u->func->buffer[p->buffer].type->bytes * p->lanes;
}

bool code_streams(const struct unit *u, const struct code *c)
{
    return c->kind == CODE_SET && c->reg < 0 && c->how == STORE_SET
        && u->func->buffer[c->at.buffer].stream && place_bytes(u, &c->at) >= 16
        && c->at.lanes == u->lanes && place_aligned(u, &c->at);
}

static void note_stored(void *ctx, const struct access *a)
{
    bool *stored = ctx;
    if (!a->load)
        stored[a->at->buffer] = true;
}

bool *code_stored(struct unit *u, struct block *b)
{
    bool *stored = ARENA_ARRAY(u->arena, bool, u->func->n_buffers + 1);
    code_each_access(b, note_stored, stored);
    return stored;
}
