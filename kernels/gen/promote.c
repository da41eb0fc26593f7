/* Local buffers become named registers if every access to them is at a constant place.  The
 * accesses must fall into disjoint pieces: vectors, or single elements. An access to one element
 * inside of a vector becomes an access to a lane. */
#include "kernels/gen/gen_impl.h"
#include "kernels/base/number.h"

#define MAX_PIECES 256

/* The elements [rest, rest + lanes) of a buffer, which register `reg` replaces. */
struct piece { int64_t rest; int lanes; int reg; };

struct promotion {
    struct unit *u;
    int buffer;
    bool possible;
    int n;
    struct piece piece[MAX_PIECES];
};

static struct piece *piece_around(struct promotion *p, int64_t rest, int lanes)
{
    for (int i = 0; i < p->n; i++)
        if (p->piece[i].rest < rest + lanes && rest < p->piece[i].rest + p->piece[i].lanes)
            return &p->piece[i];
    return NULL;
}

/* Collects the vectors before the single elements, so that an element inside a vector becomes a
 * lane of it and not a piece of its own. */
struct collect { struct promotion *p; bool vectors; };

static void collect_access(void *ctx, const struct access *a)
{
    struct collect *c = ctx;
    struct promotion *p = c->p;
    if (a->at->buffer != p->buffer || c->vectors != (a->at->lanes > 1) || !p->possible)
        return;
    if (a->at->base->kind != EXPR_CONST || a->at->base->value != 0) {
        p->possible = false;
        return;
    }
    struct piece *same = piece_around(p, a->at->rest, a->at->lanes);
    if (same && (a->at->lanes == 1 || (same->rest == a->at->rest && same->lanes == a->at->lanes)))
        return;
    if (same || p->n == MAX_PIECES)
        p->possible = false;
    else
        p->piece[p->n++] = (struct piece){ a->at->rest, a->at->lanes, -1 };
}

/* Returns the indices of a piece in its buffer as text, for example "2_1".  The last index is in
 * units of `unit` elements.  Dims of extent 1 are left out. */
static const char *piece_suffix(struct promotion *p, const struct piece *x, int64_t unit)
{
    const struct buffer *b = &p->u->func->buffer[p->buffer];
    struct str s = { 0 };
    int64_t stride = b->elems, rest = x->rest;
    for (int d = 0; d < b->rank; d++) {
        int64_t extent = b->shape[d];
        stride /= extent;
        int64_t i = rest / stride;
        rest -= i * stride;
        if (d == b->rank - 1) {
            i /= unit;
            extent = (extent + unit - 1) / unit;
        }
        if (extent > 1)
            str_printf(&s, "%s%lld", s.len ? "_" : "", (long long)i);
    }
    const char *suffix = arena_strdup(p->u->arena, str_text(&s));
    str_free(&s);
    return suffix;
}

static void name_pieces(struct promotion *p, struct block *scope)
{
    const struct buffer *b = &p->u->func->buffer[p->buffer];
    int64_t unit = 0, row = b->rank ? b->shape[b->rank - 1] : 1;
    for (int i = 0; i < p->n; i++)
        unit = gcd(gcd(unit, p->piece[i].lanes), p->piece[i].rest % row);
    for (int i = 0; i < p->n; i++) {
        p->piece[i].reg = reg_new(p->u, code_stem(p->u, b->name), piece_suffix(p, &p->piece[i],
                                                                               unit),
                                  p->piece[i].lanes, scope);
        p->u->regs.data[p->piece[i].reg].tile = p->buffer;
    }
}

static void replace_access(void *ctx, const struct access *a)
{
    struct promotion *p = ctx;
    if (a->at->buffer != p->buffer)
        return;
    const struct piece *x = piece_around(p, a->at->rest, a->at->lanes);
    int lane = a->at->lanes < x->lanes ? (int)(a->at->rest - x->rest) : -1;
    if (a->load) {
        a->load->kind = TERM_REG;
        a->load->reg = x->reg;
        a->load->lane = lane;
    } else {
        a->set->reg = x->reg;
        a->set->lane = lane;
    }
}

static void promote_scope(struct unit *u, struct code *scope)
{
    struct promotion p = { .u = u, .buffer = scope->buffer, .possible = true };
    if (u->func->buffer[scope->buffer].memory == MEMORY_SHARED)
        return;
    code_each_access(&scope->body, collect_access, &(struct collect){ &p, true });
    code_each_access(&scope->body, collect_access, &(struct collect){ &p, false });
    if (!p.possible)
        return;
    name_pieces(&p, &scope->body);
    code_each_access(&scope->body, replace_access, &p);
    scope->buffer = -1;
}

/* Moves the statements of a scope that needs no braces to `out`, the new content of the block
 * `around`, which declares the scope's registers from now on.  The first statement gets the scope's
 * note. */
static void dissolve(struct unit *u, struct code *scope, struct block *around, struct block *out)
{
    struct code *first = scope->body.n ? scope->body.item[0] : NULL;
    if (first && scope->note)
        first->note = first->note ? arena_printf(u->arena, "%s: %s", scope->note, first->note)
                                  : scope->note;
    for (int i = 0; i < u->regs.len; i++)
        if (u->regs.data[i].scope == &scope->body)
            u->regs.data[i].scope = around;
    for (int i = 0; i < scope->body.n; i++)
        block_add(u, out, scope->body.item[i]);
}

static bool holds_scope(const struct block *b)
{
    for (int i = 0; i < b->n; i++)
        if (b->item[i]->kind == CODE_SCOPE || holds_scope(&b->item[i]->body))
            return true;
    return false;
}

/* Whether b contains several tiles one after the other, for the pieces of a cut loop.  The scopes
 * then keep their braces, so that the registers of each tile can have the same short names. */
static bool holds_pieces(const struct block *b)
{
    int n = 0;
    for (int i = 0; i < b->n; i++)
        n += b->item[i]->kind == CODE_SCOPE || holds_scope(&b->item[i]->body);
    return n > 1;
}

static void promote_block(struct unit *u, struct block *b, bool in_tile)
{
    struct block out = { 0 };
    bool braces = b == &u->body || (!in_tile && holds_pieces(b));
    for (int i = 0; i < b->n; i++) {
        struct code *c = b->item[i];
        promote_block(u, &c->body, in_tile || c->kind == CODE_SCOPE);
        if (c->kind == CODE_SCOPE)
            promote_scope(u, c);
        if (c->kind == CODE_SCOPE && c->buffer < 0 && !braces)
            dissolve(u, c, b, &out);
        else
            block_add(u, &out, c);
    }
    *b = out;
}

void code_promote(struct unit *u)
{
    promote_block(u, &u->body, false);
}
