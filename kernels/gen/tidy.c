/* Moves conditions out of the loops that do not change them:
 *     for (k) if (c && d(k)) S   ==>   if (c) for (k) if (d(k)) S       when c does not use k
 * A guard of padding is then tested once, and the loops inside it have no branch. */
#include "kernels/gen/gen_impl.h"

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

/* Splits the conjuncts of e into those that use var (*in) and the others (*out); NULL: there are
 * none. */
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

/* Moves the comment of a branch that vanishes to the first statement of the branch, unless this
 * statement has a comment. */
static void hand_down_note(const struct code *branch)
{
    struct code *first = branch->body.n ? branch->body.item[0] : NULL;
    if (first && !first->note)
        first->note = branch->note;
}

/* Moves the invariant part of the condition out of a serial loop c whose body is one branch.
 * Returns the new branch around c, or c. */
static struct code *lift_condition(struct unit *u, struct code *c)
{
    struct code *branch = c->body.item[0];
    const struct expr *in = NULL, *out = NULL;
    split_condition(u->func->pool, branch->cond, c->var, &in, &out);
    if (!out)
        return c;
    if (in) {
        branch->cond = in;
    } else {
        hand_down_note(branch);
        c->body = branch->body;
    }
    return branch_of(u, out, c);
}

static void append_all(struct unit *u, struct block *to, const struct block *from)
{
    for (int i = 0; i < from->n; i++)
        block_add(u, to, from->item[i]);
}

/* Returns the only branch in b; notes beside it are moved into it.  Returns NULL when there are
 * other statements. */
static struct code *only_branch(struct unit *u, struct block *b)
{
    struct code *branch = NULL;
    struct block inside = { 0 };
    for (int i = 0; i < b->n; i++) {
        struct code *c = b->item[i];
        if (c->kind != CODE_NOTE && (c->kind != CODE_IF || branch))
            return NULL;
        if (c->kind == CODE_IF)
            branch = c;
    }
    for (int i = 0; branch && i < b->n; i++) {
        if (b->item[i] == branch)
            append_all(u, &inside, &branch->body);
        else
            block_add(u, &inside, b->item[i]);
    }
    if (branch) {
        branch->body = inside;
        b->n = 0;
        block_add(u, b, branch);
    }
    return branch;
}

/* Appends c. If c is a branch with the condition of the last branch in `out`, merges the two; notes
 * between them move into the branch. */
static void add_tidied(struct unit *u, struct block *out, struct code *c)
{
    int last = out->n - 1;
    while (last >= 0 && out->item[last]->kind == CODE_NOTE)
        last--;
    struct code *before = last >= 0 ? out->item[last] : NULL;
    if (c->kind != CODE_IF || !before || before->kind != CODE_IF || before->cond != c->cond) {
        block_add(u, out, c);
        return;
    }
    for (int i = last + 1; i < out->n; i++)
        block_add(u, &before->body, out->item[i]);
    hand_down_note(c);
    append_all(u, &before->body, &c->body);
    out->n = last + 1;
}

static void tidy_block(struct unit *u, struct block *b)
{
    struct block out = { 0 };
    for (int i = 0; i < b->n; i++) {
        struct code *c = b->item[i];
        tidy_block(u, &c->body);
        if (c->kind == CODE_FOR && c->ann == LOOP_SERIAL && only_branch(u, &c->body))
            c = lift_condition(u, c);
        add_tidied(u, &out, c);
    }
    *b = out;
}

void code_tidy(struct unit *u)
{
    tidy_block(u, &u->body);
}
