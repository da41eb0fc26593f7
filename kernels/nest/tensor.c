#include "kernels/nest/tensor.h"

#include "kernels/ir/simplify.h"
#include "kernels/nest/stage.h"

/* Returns the condition of the first store or select in t that has one, or NULL.  If a loop of a
 * tensor block in t leaves out iterations, sets *cut to this loop. */
static const struct expr *find_condition(const struct tree *t, const struct tree **cut)
{
    if (t->kind == TREE_STORE) {
        const struct val *v = t->value;
        while (v && v->kind == VAL_MUL && v->a->kind != VAL_SELECT)
            v = v->b;
        return t->guard ? t->guard : v && v->kind == VAL_MUL ? v->a->cond
             : v && v->kind == VAL_SELECT ? v->cond : NULL;
    }
    if (t->kind == TREE_LOOP && t->ann == LOOP_TENSOR
        && (t->begin || t->end || (t->reduce ? t->extent != 16 && t->extent != 8
                                             : t->extent != 2)))
        *cut = t;
    for (int i = 0; i < t->n_kids; i++) {
        const struct expr *found = find_condition(t->kid[i], cut);
        if (found)
            return found;
    }
    return NULL;
}

/* first: the first operand of a block that is not in a shared tile, or NULL. all: the buffers. */
struct not_shared { const struct buffer *all, *first; };

static void see_operand(void *ctx, const struct val *load)
{
    struct not_shared *x = ctx;
    if (!x->first && x->all[load->source].memory != MEMORY_SHARED)
        x->first = &x->all[load->source];
}

static void see_operands(const struct tree *t, struct not_shared *x)
{
    for (int i = 0; t->kind != TREE_STORE && i < t->n_kids; i++)
        see_operands(t->kid[i], x);
    if (t->kind == TREE_STORE)
        val_each_load(t->value, see_operand, x);
}

/* Refuses a block that is not four whole loops around one store. short_sum: whether the loop of the
 * sum has a number of steps that tensor cores cannot execute. */
static bool refuse_shape(const struct buffer *buffer, const struct tree *t, bool short_sum,
                         const char *of, struct err *e)
{
    struct not_shared from = { .all = buffer };
    const struct tree *cut = t->reduce && !short_sum ? NULL : t;  /* the loop that is not whole */
    const struct expr *condition = find_condition(t, &cut);
    struct str text = { 0 };
    if (condition)
        expr_print(&text, condition);
    if (condition)
        err_set(e, ERR_STEP, "the tensor block of %s depends on the condition %s, and the lanes of"
                " a warp multiply all or nothing", of, str_text(&text));
    else if (cut)
        err_set(e, ERR_STEP, "loop %s in the tensor block of %s leaves out iterations, and the"
                " lanes of a warp multiply all or nothing", cut->axis, of);
    else
        err_set(e, ERR_STEP, "the tensor block of %s is not the sum of a product of two operands"
                " that are stored: something else is computed inside of it", of);
    str_free(&text);
    see_operands(t, &from);
    if (!condition && !cut)
        return err_fix(e, "put tiles and other tensors at a loop outside of the block");
    if (!from.first)
        return err_fix(e, "split loops by factors that divide them");
    return err_fix(e, "read %s from a shared tile, which is 0 past the end (loop cache_read or"
                   " compute_at, scope=shared), or split loops by factors that divide them",
                   from.first->name);
}

static const struct tree *next_loop(const struct tree *t)
{
    bool whole = t && t->kind == TREE_LOOP && t->ann == LOOP_TENSOR && !t->begin && !t->end
              && (t->reduce || t->extent == 2) && t->n_kids == 1;
    return whole ? t->kid[0] : NULL;
}

/* Finds the four loops and the store of a block that begins at t.  Returns whether it has them. */
static bool find_loops(const struct tree *t, struct tensor_block *out)
{
    out->sum = t;
    out->rows = next_loop(t);
    out->columns = next_loop(out->rows);
    out->pair = next_loop(out->columns);
    out->store = next_loop(out->pair);
    const struct tree *s = out->store;
    return s && s->kind == TREE_STORE && s->how == STORE_ADD && !s->guard
        && s->value->kind == VAL_MUL && s->value->a->kind == VAL_LOAD
        && s->value->b->kind == VAL_LOAD;
}

/* Sets idx to the indices of a load, with 4 * row + column in place of lane. */
static void find_indices(struct exprs *p, const struct tensor_block *b, const struct val *load,
                         const struct expr *lane, const struct expr **idx)
{
    const struct expr *with = expr_add(p, expr_mulc(p, b->row, 4), b->column);
    for (int d = 0; d < load->rank; d++)
        idx[d] = expr_simplify(p, expr_subst(p, load->idx[d], &lane, &with, 1));
}

static bool any_uses(const struct expr *const *idx, int rank, const struct expr *const *var, int n)
{
    for (int d = 0; d < rank; d++)
        for (int i = 0; i < n; i++)
            if (expr_uses(idx[d], var[i]))
                return true;
    return false;
}

/* Makes x the operand a of the block and y its operand b.  Returns whether the indices of x do not
 * depend on the columns, and those of y not on the rows. */
static bool are_factors(struct exprs *p, struct tensor_block *b, const struct val *x,
                        const struct val *y, const struct expr *lane)
{
    const struct expr *columns[] = { b->columns->var, b->column, b->pair->var };
    const struct expr *rows[] = { b->rows->var, b->row };
    b->a = x;
    b->b = y;
    find_indices(p, b, x, lane, b->a_idx);
    find_indices(p, b, y, lane, b->b_idx);
    return !any_uses(b->a_idx, x->rank, columns, COUNT_OF(columns))
        && !any_uses(b->b_idx, y->rank, rows, COUNT_OF(rows));
}

/* Checks that the memory of an operand is visible to all lanes. */
static bool check_operand(const struct buffer *x, struct err *e)
{
    if (x->memory != MEMORY_LOCAL)
        return true;
    err_set(e, ERR_STEP, "%s is a tile of one thread, and the lanes of a warp share what they"
            " multiply", x->name);
    return err_fix(e, "give that tile scope=shared, or leave it out");
}

static bool refuse_types(const struct buffer *x, const struct buffer *y, struct err *e)
{
    err_set(e, ERR_STEP, "%s has elements of type %s, and %s of type %s: tensor cores multiply"
            " elements of one type", x->name, x->type->name, y->name, y->type->name);
    return err_fix(e, "a tile of sums has the type of the sums: compute that operand in memory"
                   " (loop compute_root), then copy it with loop cache_read");
}

bool tensor_block_read(struct exprs *p, const struct buffer *buffer, const struct tree *t,
                       const struct expr *lane, const char *of, struct tensor_block *out,
                       struct err *e)
{
    *out = (struct tensor_block){ .row = expr_var(p, "lane.row", 0, 7),
                                  .column = expr_var(p, "lane.column", 0, 3) };
    if (!find_loops(t, out))
        return refuse_shape(buffer, t, false, of, e);
    const struct val *x = out->store->value->a, *y = out->store->value->b;
    const struct buffer *left = &buffer[x->source], *right = &buffer[y->source];
    if (left->type != right->type)
        return refuse_types(left, right, e);
    if (t->extent != tensor_steps(left->type))
        return refuse_shape(buffer, t, true, of, e);
    if (!check_operand(left, e) || !check_operand(right, e))
        return false;
    if (are_factors(p, out, x, y, lane) || are_factors(p, out, y, x, lane))
        return true;
    err_set(e, ERR_STEP, "the tensor block of %s is no matrix product: the index of %s or %s "
            "depends on both its rows and its columns", of, buffer[x->source].name,
            buffer[y->source].name);
    return err_fix(e, "for the rows choose a loop that indexes only one operand, for the columns a"
                   " loop that indexes only the other operand");
}
