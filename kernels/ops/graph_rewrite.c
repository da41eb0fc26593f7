/* Derives graphs from others: with conversions, factored reductions, or another element type. */
#include "kernels/ops/graph_rewrite.h"

#include "kernels/ir/simplify.h"

static struct arena *arena_of(const struct graph *g)
{
    return exprs_arena(g->pool);
}

/* Copying tensors and nodes.  A rewrite inserts tensors, so later tensors have other indices in the
 * new graph (struct remap). */

static int moved(const struct remap *m, int t)
{
    return t >= m->from ? t + m->by : t;
}

static const struct val *move_load(void *ctx, const struct val *load)
{
    const struct remap *m = ctx;
    return val_load(arena_of(m->g), moved(m, load->source), load->rank, load->idx);
}

int graph_copy_tensor(struct graph *to, const struct tensor *t, enum tensor_role role)
{
    int copy = graph_add_tensor(to, &(struct tensor_def){ t->name, t->rank, t->dim, t->shape,
                                                          role });
    to->tensor[copy].type = t->type;
    to->tensor[copy].source = t->source;
    to->tensor[copy].winograd = t->winograd;
    to->tensor[copy].whole = t->whole;
    return copy;
}

/* Copies the tensors of g to `to`, and inserts *more before tensor `at` (more NULL: inserts none).
 * The copy of tensor `inter` becomes an intermediate tensor (-1: none does). */
static void copy_tensors(struct graph *to, const struct graph *g, int at,
                         const struct tensor_def *more, int inter)
{
    for (int i = 0; i <= g->n_tensors; i++) {
        const struct tensor *t = &g->tensor[i];
        if (more && i == at)
            graph_add_tensor(to, more);
        if (i == g->n_tensors)
            return;
        graph_copy_tensor(to, t, i == inter ? TENSOR_INTER : t->role);
    }
}

static struct node moved_node(const struct remap *m, const struct node *from)
{
    struct val_map map = { .ctx = (void *)(uintptr_t)m, .load = move_load };
    struct node n = *from;
    n.out = moved(m, n.out);
    n.data_in = moved(m, n.data_in);
    n.body = val_rebuild(arena_of(m->g), n.body, &map);
    return n;
}

void graph_copy_node(const struct remap *m, const struct node *from)
{
    struct node n = moved_node(m, from);
    graph_add_node(m->g, &n);
}

void graph_keep_main(struct graph *to, const struct graph *g)
{
    const struct node *n = &g->node[g->main_node];
    int same = graph_node_of(to, g->tensor[n->out].name);
    while (n->complex && same >= 0 && !to->node[same].complex)
        same--;
    if (!n->complex || same >= 0)
        to->main_node = same;
}

static void convert_node(struct graph *g, int from, int to)
{
    struct node n = { .op = "convert", .data_in = from };
    node_spatial(g, &n, to);
    n.body = graph_load_at(g, from, n.spatial);
    graph_add_node(g, &n);
}

static struct tensor_def like(const struct tensor *t, const char *name, enum tensor_role role)
{
    return (struct tensor_def){ name, t->rank, t->dim, t->shape, role };
}

const char *graph_free_name(struct arena *a, const struct graph *g, const char *base,
                            const char *suffix)
{
    const char *name = arena_printf(a, "%s%s", base, suffix);
    while (graph_tensor(g, name) >= 0)
        name = arena_printf(a, "%s_", name);
    return name;
}

struct graph *graph_like(struct arena *a, const struct graph *g)
{
    struct graph *to = ARENA_NEW(a, struct graph);
    to->pool = g->pool;
    to->spec = g->spec;
    to->op = g->op;
    to->type = g->type;
    return to;
}

static int first_reader(const struct graph *g, int t)
{
    int i = 0;
    while (i < g->n_nodes && !graph_reads(g, i, t))
        i++;
    return i;
}

const struct graph *graph_with_conversion(struct arena *a, const struct graph *g, int t)
{
    bool input = g->tensor[t].role == TENSOR_INPUT;
    if (!input && g->tensor[t].role != TENSOR_OUTPUT)
        fail("no conversion of %s: neither input nor output", g->tensor[t].name);
    struct graph *to = graph_like(a, g);
    const char *caller = graph_free_name(a, g, g->tensor[t].name, input ? "_in" : "_out");
    struct remap m = { to, input ? t : t + 1, 1 };
    struct tensor_def more = like(&g->tensor[t], caller, g->tensor[t].role);
    copy_tensors(to, g, m.from, &more, t);
    int at = input ? first_reader(g, t) : g->n_nodes;
    for (int i = 0; i <= g->n_nodes; i++) {
        if (i == at)
            convert_node(to, t, t + 1);
        if (i < g->n_nodes)
            graph_copy_node(&m, &g->node[i]);
    }
    graph_keep_main(to, g);
    return to;
}

const struct graph *graph_with_type(struct arena *a, const struct graph *g,
                                    const struct elem_type *type)
{
    struct graph *to = graph_like(a, g);
    struct remap same = { to, g->n_tensors, 0 };
    copy_tensors(to, g, 0, NULL, -1);
    graph_set_type(to, type);
    for (int i = 0; i < g->n_nodes; i++)
        graph_copy_node(&same, &g->node[i]);
    graph_keep_main(to, g);
    return to;
}

const struct graph *graph_with_factors(struct arena *a, const struct graph *g, double roundoff)
{
    struct graph *to = ARENA_DUP(a, g, 1);
    to->node = ARENA_DUP(a, g->node, g->n_nodes);
    for (int i = 0; i < g->n_nodes; i++)
        to->node[i].factor_roundoff = g->node[i].complex ? roundoff : 0;
    return to;
}

const struct graph *graph_with_edge_conversion(struct arena *a, const struct graph *g, int t,
                                               int node)
{
    struct graph *to = graph_like(a, g);
    const char *name = graph_free_name(a, g, g->tensor[g->node[node].out].name, "_Inp");
    struct tensor_def more = like(&g->tensor[t], name, TENSOR_INTER);
    copy_tensors(to, g, t + 1, &more, -1);
    to->tensor[t + 1].type = g->tensor[t].type;
    for (int i = 0; i < g->n_nodes; i++) {
        struct remap m = { to, i == node ? t : t + 1, 1 };
        if (i == node)
            convert_node(to, t, t + 1);
        graph_copy_node(&m, &g->node[i]);
    }
    graph_keep_main(to, g);
    return to;
}

/* Adds the node that computes the factored tensor T from T_rf (tensor `partial`).  The node
 * combines the partial results along the first dim of T_rf, whose variable is `part`. */
static void rfactor_sum(struct graph *g, const struct node *n, int partial, const struct expr *part,
                        const char *dim)
{
    const struct expr *idx[MAX_RANK] = { part };
    struct node sum = { .op = "rfactor",
                        .out = partial + 1,
                        .n_spatial = n->n_spatial,
                        .combine = n->combine,
                        .init = n->init,
                        .n_reduce = 1,
                        .data_in = partial };
    for (int d = 0; d < n->n_spatial; d++)
        sum.spatial[d] = idx[d + 1] = n->spatial[d];
    sum.reduce[0] = part;
    sum.reduce_dim[0] = dim;
    sum.body = graph_load_at(g, partial, idx);
    graph_add_node(g, &sum);
}

/* Adds the node T_rf[k.0][..] += body.  In the body, extent * k.0 + k.1 replaces k, the variable of
 * reduction r. part: the variable k.0; extent: the extent of k.1. */
static void rfactor_node(struct remap *m, const struct node *n, int r, int partial,
                         const struct expr *part, const char *inner_dim, int64_t extent)
{
    struct graph *g = m->g;
    struct node to = moved_node(m, n);
    const struct expr *inner = expr_dim(g->pool, inner_dim, extent);
    const struct expr *k = expr_add(g->pool, expr_mulc(g->pool, part, extent), inner);
    to.out = partial;
    to.n_spatial = n->n_spatial + 1;
    to.spatial[0] = part;
    for (int d = 0; d < n->n_spatial; d++)
        to.spatial[d + 1] = n->spatial[d];
    to.reduce[r] = inner;
    to.reduce_dim[r] = inner_dim;
    to.elementwise = false;
    to.body = val_subst(g->pool, to.body, n->reduce[r], k);
    graph_add_node(g, &to);
}

const struct graph *graph_with_rfactor(struct arena *a, const struct graph *g, int node, int r,
                                       int64_t factor)
{
    const struct node *n = &g->node[node];
    const struct tensor *t = &g->tensor[n->out];
    struct graph *to = graph_like(a, g);
    struct remap m = { to, n->out, 1 };
    const char *outer = arena_printf(a, "%s.0", n->reduce_dim[r]);
    const char *inner = arena_printf(a, "%s.1", n->reduce_dim[r]);
    const char *dims[MAX_RANK] = { outer };
    int64_t shape[MAX_RANK] = { factor };
    for (int d = 0; d < t->rank; d++) {
        dims[d + 1] = t->dim[d];
        shape[d + 1] = t->shape[d];
    }
    copy_tensors(to, g, n->out, &(struct tensor_def){ arena_printf(a, "%s_rf", t->name),
                                                      t->rank + 1, dims, shape, TENSOR_INTER }, -1);
    to->tensor[n->out].type = t->type->sum;
    for (int i = 0; i < g->n_nodes; i++) {
        if (i != node) {
            graph_copy_node(&m, &g->node[i]);
            continue;
        }
        const struct expr *part = expr_dim(to->pool, outer, factor);
        rfactor_node(&m, n, r, n->out, part, inner, (n->reduce[r]->hi + 1) / factor);
        rfactor_sum(to, n, n->out, part, outer);
    }
    graph_keep_main(to, g);
    return to;
}
