/* Matrix products, norms, softmax, reductions, and operators that only move data. */
#include "profile/vendor/match_impl.h"

#include <stdlib.h>

/* --- Matrix multiplication -------------------------------------------------------------------- */

static bool is_spatial(const struct node *n, const struct expr *e)
{
    for (int d = 0; d < n->n_spatial; d++)
        if (n->spatial[d] == e)
            return true;
    return false;
}

/* Adds an operand with the dims B... rows columns.  An operand that is a vector gets a dim of
 * extent 1 for its missing rows or columns.  The graph may have the columns before the rows. */
static bool add_matrix(struct match *m, const struct node *n, const struct val *load,
                       enum vendor_role role, int rank)
{
    const struct tensor *x = &m->g->tensor[load->source];
    const struct expr *k = n->reduce[0];
    bool left = role == ROLE_DATA, vector = x->rank == 1, swapped = false;
    struct vendor_tensor *t = match_tensor(m, role, load->source);
    if (!t)
        return false;
    struct vendor_tensor own = *t;
    if (!vector) {
        const struct expr *first = load->idx[x->rank - 2], *last = load->idx[x->rank - 1];
        swapped = left ? first == k || is_spatial(n, last) : is_spatial(n, first) || last == k;
    }
    t->rank = rank;
    for (int d = 0; d < rank; d++)
        t->shape[d] = t->stride[d] = 1;
    for (int d = 0; d < own.rank; d++) {
        int to = rank - own.rank + d;
        if (vector)
            to = left ? rank - 1 : rank - 2;
        else if (swapped && d >= own.rank - 2)
            to = d == own.rank - 1 ? rank - 2 : rank - 1;
        t->shape[to] = own.shape[d];
        t->stride[to] = own.stride[d];
    }
    return true;
}

bool match_matmul(struct match *m, int node, struct vendor_tensor *out)
{
    const struct node *n = &m->g->node[node];
    struct loads l = match_loads(n);
    if (!streq(n->op, "matmul") || l.n != 2 || n->n_reduce != 1)
        return false;
    const struct tensor *a = &m->g->tensor[l.at[0]->source], *b = &m->g->tensor[l.at[1]->source];
    const struct tensor *c = &m->g->tensor[n->out];
    int rank = c->rank + (a->rank == 1) + (b->rank == 1), at = 0;
    int64_t shape[MAX_RANK];
    if (rank < 2 || rank > MAX_RANK)
        return err_set(m->why, ERR_RANK, "libraries have no matrix product of %d dimensions", rank);
    for (int d = 0; d < rank; d++)
        shape[d] = (d == rank - 2 && a->rank == 1) || (d == rank - 1 && b->rank == 1)
                       ? 1 : c->shape[at++];
    m->p->kind = VENDOR_MATMUL;
    match_plain(out, rank, shape);
    match_say(m, "matrix multiplication");
    return add_matrix(m, n, l.at[0], ROLE_DATA, rank)
        && add_matrix(m, n, l.at[1], ROLE_WEIGHTS, rank);
}

/* --- Norms and softmax ------------------------------------------------------------------------ */

static const struct node *producer(const struct match *m, const struct val *load)
{
    int i = m->g->tensor[load->source].producer;
    return i >= 0 ? &m->g->node[i] : NULL;
}

static void use(struct match *m, const struct val *load)
{
    int i = m->g->tensor[load->source].producer;
    m->used |= i >= 0 ? 1u << i : 0;
}

/* Matches the four nodes of softmax: maximum, exp, sum, and the quotient. */
bool match_softmax(struct match *m, int node, struct vendor_tensor *out)
{
    const struct node *n = &m->g->node[node];
    struct loads l = match_loads(n), le;
    const struct node *e = l.n == 2 ? producer(m, l.at[0]) : NULL;
    const struct node *sum = l.n == 2 ? producer(m, l.at[1]) : NULL;
    if (!streq(n->op, "softmax") || !e || !sum || !streq(e->op, "exp"))
        return false;
    le = match_loads(e);
    const struct node *max = le.n == 2 ? producer(m, le.at[1]) : NULL;
    if (!max || max->combine != COMBINE_MAX || sum->n_reduce != 1)
        return false;
    use(m, l.at[0]);
    use(m, l.at[1]);
    use(m, le.at[1]);
    const struct val *x = match_loads(sum).at[0];
    for (m->p->axis = 0; m->p->axis < x->rank - 1; m->p->axis++)
        if (x->idx[m->p->axis] == sum->reduce[0])
            break;
    m->p->kind = VENDOR_SOFTMAX;
    match_say(m, "softmax");
    match_plain(out, n->n_spatial, m->g->tensor[n->out].shape);
    return match_tensor(m, ROLE_DATA, e->data_in);
}

/* Matches layer normalisation: nodes for the mean, the variance and the norm of rows. Statements
 * with layernorm have two more nodes, for the centered elements and their squares. */
static bool match_layer_norm(struct match *m, int node, struct vendor_tensor *out)
{
    const struct node *n = &m->g->node[node];
    struct loads l = match_loads(n);
    bool composed = streq(n->op, "layernorm");
    int vectors = l.n - (composed ? 2 : 3), first = l.n - vectors;
    if ((!composed && (!streq(n->op, "norm") || n->elementwise)) || vectors < 0 || vectors > 2)
        return false;
    const struct node *off = composed ? producer(m, l.at[0]) : n;
    const struct node *var = producer(m, l.at[composed ? 1 : 2]);
    const struct node *square = composed && var ? producer(m, match_loads(var).at[0]) : n;
    if (!off || !square || !var || var->n_reduce != 1)
        return false;
    const struct val *mean = match_loads(off).at[1];
    use(m, mean);
    use(m, l.at[composed ? 1 : 2]);
    if (composed) {
        use(m, l.at[0]);
        use(m, match_loads(var).at[0]);
    }
    m->p->kind = VENDOR_LAYER_NORM;
    m->p->alpha = n->params.alpha;
    match_say(m, "layer normalisation");
    match_plain(out, n->n_spatial, m->g->tensor[n->out].shape);
    if (!match_tensor(m, ROLE_DATA, off->data_in))
        return false;
    for (int i = 0; i < vectors; i++) {
        const struct val *v = l.at[first + i];
        if (v->rank != 1 || m->g->tensor[v->source].shape[0] != out->shape[out->rank - 1])
            return err_set(m->why, ERR_NAME, "libraries normalise only the last dimension");
        if (!match_tensor(m, i ? ROLE_SHIFT : ROLE_SCALE, v->source))
            return false;
    }
    return true;
}

/* Matches batch normalisation as inference computes it, folded into scale and shift or with mean
 * and variance; else layer normalisation. */
bool match_norm(struct match *m, int node, struct vendor_tensor *out)
{
    static const enum vendor_role folded[] = { ROLE_DATA, ROLE_SCALE, ROLE_SHIFT };
    static const enum vendor_role whole[] = { ROLE_DATA, ROLE_MEAN, ROLE_VARIANCE, ROLE_SCALE,
                                              ROLE_SHIFT };
    const struct node *n = &m->g->node[node];
    struct loads l = match_loads(n);
    bool is_folded = n->elementwise && streq(n->op, "norm") && l.n == COUNT_OF(folded);
    if (!is_folded && !(streq(n->op, "batchnorm") && l.n == COUNT_OF(whole)))
        return match_layer_norm(m, node, out);
    m->p->kind = VENDOR_BATCH_NORM;
    m->p->alpha = is_folded ? 0 : n->params.alpha;
    match_say(m, "batch normalisation");
    match_plain(out, n->n_spatial, m->g->tensor[n->out].shape);
    for (int i = 0; i < l.n; i++)
        if (!match_tensor(m, is_folded ? folded[i] : whole[i], l.at[i]->source))
            return false;
    return true;
}

/* --- Reductions ------------------------------------------------------------------------------- */

/* Whether a reduction is a global pool: a mean or maximum over all dims except N and C. dims: bit
 * d: dim d is reduced. */
static bool is_global_pool(const struct vendor_problem *p, const struct vendor_tensor *in,
                           unsigned dims)
{
    return in->rank >= 3 && in->rank <= 2 + VENDOR_MAX_AXES && p->function != VENDOR_REDUCE_SUM
        && dims == ((1u << in->rank) - 1) - 3;
}

static void note_window(struct vendor_problem *p, const struct vendor_tensor *in)
{
    p->n_axes = in->rank - 2;
    p->groups = 1;
    for (int i = 0; i < p->n_axes; i++) {
        p->kernel[i] = in->shape[2 + i];
        p->step[i] = p->dilation[i] = 1;
    }
}

bool match_reduce(struct match *m, int node, struct vendor_tensor *out)
{
    const struct node *n = &m->g->node[node];
    struct loads l = match_loads(n);
    const struct val *x = l.at[0], *body = n->body;
    bool scaled = body->kind == VAL_MUL && body->a == x && body->b->kind == VAL_CONST;
    if (n->combine == COMBINE_NONE || l.n != 1 || (body != x && !scaled))
        return false;
    struct vendor_tensor *in = match_tensor(m, ROLE_DATA, x->source);
    if (!in)
        return false;
    double count = 1;
    unsigned dims = 0;
    int64_t shape[MAX_RANK];
    for (int d = 0; d < in->rank; d++) {
        bool kept = is_spatial(n, x->idx[d]);
        dims |= kept ? 0 : 1u << d;
        count *= kept ? 1 : (double)in->shape[d];
        shape[d] = kept ? in->shape[d] : 1;
    }
    double factor = scaled ? body->b->value * count : 1;
    if (factor < 1 - 1e-9 || factor > 1 + 1e-9)
        return err_set(m->why, ERR_NAME,
                       "no library multiplies a sum by this factor: only 1 (a sum) and 1 / count "
                       "(a mean) are supported");
    m->p->kind = VENDOR_REDUCE;
    m->p->function = n->combine == COMBINE_MAX ? VENDOR_REDUCE_MAX
                   : scaled ? VENDOR_REDUCE_MEAN : VENDOR_REDUCE_SUM;
    if (is_global_pool(m->p, in, dims))
        note_window(m->p, in);
    match_say(m, "reduction");
    match_plain(out, in->rank, shape);
    return true;
}

/* --- Moving data ------------------------------------------------------------------------------ */

/* Returns the row-major offset of the element of x that the load reads. vals: the values of the
 * variables. */
static int64_t address(const struct tensor *x, const struct val *load, const int64_t *vals)
{
    int64_t at = 0;
    for (int d = 0; d < x->rank; d++)
        at = at * x->shape[d] + expr_eval(load->idx[d], vals);
    return at;
}

static bool match_concat(struct match *m, const struct node *n, struct vendor_tensor *out)
{
    struct loads l = match_loads(n);
    const struct tensor *x = &m->g->tensor[l.at[0]->source];
    match_plain(out, n->n_spatial, m->g->tensor[n->out].shape);
    if (l.n > MATCH_MAX_LOADS - 2)
        return err_set(m->why, ERR_RANGE, "more than %d tensors", MATCH_MAX_LOADS - 2);
    for (m->p->axis = 0; m->p->axis < out->rank - 1; m->p->axis++)
        if (x->shape[m->p->axis] != out->shape[m->p->axis])
            break;
    m->p->kind = VENDOR_CONCAT;
    match_say(m, "concatenation");
    for (int i = 0; i < l.n; i++)
        if (!match_tensor(m, ROLE_DATA, l.at[i]->source))
            return false;
    return true;
}

/* Matches concat, transpose, reshape and slice. The result of the last three is a copy of elements
 * of the input, and each dim of the result has a constant stride in the input. */
bool match_move(struct match *m, int node, struct vendor_tensor *out)
{
    static const char *const ops[] = { "transpose", "reshape", "slice" };
    const struct node *n = &m->g->node[node];
    bool known = false;
    for (int i = 0; i < COUNT_OF(ops); i++)
        known = known || streq(n->op, ops[i]);
    if (streq(n->op, "concat"))
        return match_concat(m, n, out);
    if (!known || n->body->kind != VAL_LOAD)
        return false;
    const struct tensor *x = &m->g->tensor[n->body->source];
    match_plain(out, n->n_spatial, m->g->tensor[n->out].shape);
    struct vendor_tensor *in = match_tensor(m, ROLE_DATA, n->body->source);
    if (!in)
        return false;
    int64_t *vals = xcalloc((size_t)exprs_n_vars(m->g->pool), sizeof *vals), elems = in->elems;
    *in = (struct vendor_tensor){ .role = ROLE_DATA, .tensor = in->tensor, .rank = out->rank };
    in->elems = elems;
    in->offset = address(x, n->body, vals);
    bool forward = true;
    for (int d = 0; d < in->rank; d++) {
        in->shape[d] = out->shape[d];
        in->stride[d] = 1;
        if (in->shape[d] > 1) {
            vals[n->spatial[d]->var] = 1;
            in->stride[d] = address(x, n->body, vals) - in->offset;
            vals[n->spatial[d]->var] = 0;
        }
        forward = forward && in->stride[d] > 0;
    }
    free(vals);
    if (!forward)
        return err_set(m->why, ERR_NAME, "libraries do not copy with negative strides");
    m->p->kind = VENDOR_MOVE;
    match_say(m, "%s", n->op);
    return true;
}
