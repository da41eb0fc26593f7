/* Conditions move out of the loops that do not change them:
 *     for (k) if (c && d(k)) S   ==>   if (c) for (k) if (d(k)) S       when c does not use k
 * so that a guard of padding is tested once, and the loops inside stay straight. */
#include "kernels/gen/code.h"

static struct code *branch_of(struct unit *u, const struct expr *cond, struct code *c)
{
    struct code *branch = code_new(u, CODE_IF);
    branch->cond = cond;
    block_add(u, &branch->body, c);
    return branch;
}

static const struct expr *both(struct exprs *p, const struct expr *x, const struct expr *y)
{
    return !x ? y : !y ? x : expr_and(p, x, y);
}

/* The conjuncts of e that use var (*in) and the others (*out); NULL = none. */
static void split_condition(struct exprs *p, const struct expr *e, const struct expr *var,
                            const struct expr **in, const struct expr **out)
{
    if (e->kind == EXPR_AND) {
        split_condition(p, e->a, var, in, out);
        split_condition(p, e->b, var, in, out);
    } else if (expr_uses(e, var)) {
        *in = both(p, *in, e);
    } else {
        *out = both(p, *out, e);
    }
}

/* c is a serial loop around one branch: takes the invariant part of the condition out. */
static struct code *lift_condition(struct unit *u, struct code *c)
{
    struct code *branch = c->body.item[0];
    const struct expr *in = NULL, *out = NULL;
    split_condition(u->func->pool, branch->cond, c->var, &in, &out);
    if (!out)
        return c;
    if (in)
        branch->cond = in;
    else
        c->body = branch->body;
    return branch_of(u, out, c);
}

static void append_all(struct unit *u, struct block *to, const struct block *from)
{
    for (int i = 0; i < from->n; i++)
        block_add(u, to, from->item[i]);
}

static void tidy_block(struct unit *u, struct block *b)
{
    struct block out = { 0 };
    for (int i = 0; i < b->n; i++) {
        struct code *c = b->item[i];
        tidy_block(u, &c->body);
        if (c->kind == CODE_FOR && c->ann == LOOP_SERIAL && c->body.n == 1 &&
            c->body.item[0]->kind == CODE_IF)
            c = lift_condition(u, c);
        struct code *last = out.n ? out.item[out.n - 1] : NULL;
        if (c->kind == CODE_IF && last && last->kind == CODE_IF && last->cond == c->cond)
            append_all(u, &last->body, &c->body);
        else
            block_add(u, &out, c);
    }
    *b = out;
}

void code_tidy(struct unit *u)
{
    tidy_block(u, &u->body);
}
