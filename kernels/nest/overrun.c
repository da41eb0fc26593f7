/* Tensor blocks that overrun.  A split that does not divide leaves a tensor block whose last rows,
 * columns or steps lie past the end of the operator:
 *
 *     M = 40:  loop split C M 0 16      blocks of rows 0..15, 16..31, 32..47
 *
 * The lanes of a warp multiply all or nothing, so nothing in the block may depend on 16*M.0 + M.1 <
 * 40.  No condition is needed where both operands are in shared tiles, which are 0 past the end of
 * their tensors (tiles.c):
 *
 *     rows and columns past the end add to sums that are not stored: only the store has a condition
 *     steps past the end add 0 * 0
 *
 * For this, each operand must end where the loop of the sum ends, and its tile must hold all that
 * the block reads (tiles.c refuses a tile that does not). */
#include "kernels/nest/lower_impl.h"

#include "kernels/ir/simplify.h"

struct overrun {
    const struct lowering *in;
    const struct stage *s;
    int n_loads, tensor[2];
    bool ok;
};

/* Whether s reads tensor t from a tile that its block shares. */
static bool in_shared_tile(const struct overrun *x, int t)
{
    const struct graph *g = x->in->graph;
    int producer = g->tensor[t].producer;
    const struct stage *p = producer >= 0 ? x->in->stage[producer] : NULL;
    if (p && p->attach == x->s->node)  /* the tile of a maximum has -inf, not 0, past the end */
        return p->attach_form.memory == MEMORY_SHARED && g->node[producer].combine != COMBINE_MAX;
    for (int i = 0; i < x->s->n_reads; i++)
        if (streq(x->s->read[i].tensor, g->tensor[t].name))
            return x->s->read[i].form.memory == MEMORY_SHARED;
    return false;
}

/* Whether the operand that `load` reads has a dim that ends where limit l of a sum ends. */
static bool ends_with(const struct overrun *x, const struct val *load, const struct limit *l)
{
    struct exprs *p = x->in->pool;
    const struct layout *layout = x->in->layout[load->source];
    for (int d = 0; d < load->rank; d++)
        if (expr_is_const(expr_simplify(p, expr_sub(p, load->idx[d], l->value)), 0)
            && layout->shape[d] == l->below)
            return true;
    return false;
}

static void see_load(void *ctx, const struct val *load)
{
    struct overrun *x = ctx;
    bool again = x->n_loads == 1 && x->tensor[0] == load->source;
    x->ok = x->ok && x->n_loads < 2 && !again && in_shared_tile(x, load->source);
    for (int l = 0; l < x->s->n_limits && x->ok; l++)
        x->ok = !x->s->limit[l].reduce || ends_with(x, load, &x->s->limit[l]);
    if (x->n_loads < 2)
        x->tensor[x->n_loads] = load->source;
    x->n_loads++;
}

bool low_overrun(const struct lowering *in, const struct stage *s)
{
    struct overrun x = { .in = in, .s = s, .ok = true };
    const struct expr *guard = NULL;
    if (!s->lane || s->n_limits == 0)
        return false;
    val_each_load(lower_access(in, s->node, s, &guard), see_load, &x);
    return x.ok && x.n_loads == 2 && !guard;
}
