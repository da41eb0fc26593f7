/* Decides where each register is declared.  If the first statement that uses a register sets it,
 * and the block of this statement contains all later uses, this statement declares the register.
 * Otherwise the block in reg.scope declares it at its top. */
#include "kernels/gen/gen_impl.h"

/* Where a register is used. first: the statement that uses it first; block: the block of this
 * statement. defines: whether `first` sets the whole register and `block` contains all its uses. */
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

static void use_term(struct declare *d, const struct code_term *t, const struct code *c)
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
        if (code_has_value(c)) {
            use_term(d, c->value, c);
            if (c->reg >= 0)
                use_register(d, c->reg, c, c->how == STORE_SET && c->lane < 0);
        }
        declare_block(d, &c->body);
    }
    (void)vec_pop(&d->path);
}

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
