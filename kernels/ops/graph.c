/* Graphs of tensor expressions: construction, lookup, text. */
#include "kernels/ops/graph.h"

#include <stdlib.h>
#include <string.h>
#include "kernels/ir/simplify.h"

/* The names of roles, by enum tensor_role (ORDER tensor_role). */
const char *const tensor_role_name[] = { "input", "constant", "intermediate", "output" };

static struct arena *arena_of(const struct graph *g)
{
    return exprs_arena(g->pool);
}

bool tensor_same_shape(const struct tensor *a, const struct tensor *b)
{
    return a->rank == b->rank
        && memcmp(a->shape, b->shape, sizeof a->shape[0] * (size_t)a->rank) == 0;
}

int64_t tensor_elems(const struct tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++)
        if (__builtin_mul_overflow(n, t->shape[d], &n))
            return INT64_MAX;
    return n;
}

int64_t tensor_bytes(const struct tensor *t)
{
    return t->type->bytes * tensor_elems(t);
}

void tensor_print_shape(struct str *out, const struct tensor *t, char between)
{
    for (int d = 0; d < t->rank; d++)
        str_printf(out, "%s%s%c%lld", d ? " " : "", t->dim[d], between, (long long)t->shape[d]);
}

bool tensor_check_elems(const struct tensor *t, const char *name, char between, struct err *e)
{
    struct str shape = { 0 };
    if (tensor_elems(t) <= TENSOR_MAX_ELEMS)
        return true;
    tensor_print_shape(&shape, t, between);
    err_set(e, ERR_OVERFLOW, "tensor %s (%s) has more than 2^40 elements", name, str_text(&shape));
    str_free(&shape);
    return err_fix(e, "make one of its dimensions smaller");
}

/* --- Construction ----------------------------------------------------------------------------- */

struct graph *graph_new(struct arena *a, const char *op)
{
    struct graph *g = ARENA_NEW(a, struct graph);
    g->pool = exprs_new(a);
    g->op = op;
    g->type = &type_f32;
    return g;
}

/* Returns the array `old` of n elements, moved if it has no room for one more.  Its capacity is the
 * next power of two. */
static void *grown(struct arena *a, void *old, int n, size_t elem_bytes)
{
    if (n & (n - 1))
        return old;
    void *p = arena_alloc(a, (n ? 2 * (size_t)n : 1) * elem_bytes);
    if (n)
        memcpy(p, old, (size_t)n * elem_bytes);
    return p;
}

static double traffic_bytes(const struct tensor *t)
{
    return t->role == TENSOR_INTER ? 0 : t->type->bytes * (double)tensor_elems(t);
}

int graph_add_tensor(struct graph *g, const struct tensor_def *def)
{
    if (graph_tensor(g, def->name) >= 0 || def->rank > MAX_RANK)
        fail("tensor %s: the name is used already, or %d dims are too many", def->name, def->rank);
    struct arena *a = arena_of(g);
    struct tensor t = { .name = arena_strdup(a, def->name), .type = g->type, .rank = def->rank,
                        .role = def->role, .producer = -1 };
    for (int d = 0; d < def->rank; d++) {
        t.dim[d] = arena_strdup(a, def->dims[d]);
        t.shape[d] = def->shape[d];
    }
    g->tensor = grown(a, g->tensor, g->n_tensors, sizeof *g->tensor);
    g->tensor[g->n_tensors] = t;
    g->bytes += traffic_bytes(&t);
    return g->n_tensors++;
}

void graph_set_type(struct graph *g, const struct elem_type *type)
{
    g->bytes *= (double)type->bytes / g->type->bytes;
    g->type = type;
    for (int t = 0; t < g->n_tensors; t++)
        g->tensor[t].type = type;
}

void graph_set_output(struct graph *g, int t)
{
    if (g->tensor[t].role == TENSOR_OUTPUT)
        return;
    g->tensor[t].role = TENSOR_OUTPUT;
    g->bytes += traffic_bytes(&g->tensor[t]);
}

/* Returns the number of points of the iteration space, as a double: it may exceed 2^63. */
static double node_points(const struct node *n)
{
    double points = 1;
    for (int i = 0; i < n->n_spatial; i++)
        points *= (double)(n->spatial[i]->hi + 1);
    for (int i = 0; i < n->n_reduce; i++)
        points *= (double)(n->reduce[i]->hi + 1);
    return points;
}

int graph_add_node(struct graph *g, const struct node *n)
{
    struct node *node;
    g->node = grown(arena_of(g), g->node, g->n_nodes, sizeof *g->node);
    node = &g->node[g->n_nodes];
    *node = *n;
    if (node->flops == 0)
        node->flops = node_points(n) * (val_flops(n->body) + (n->combine != COMBINE_NONE));
    g->tensor[n->out].producer = g->n_nodes;
    g->flops += node->flops;
    if (n->complex)
        g->main_node = g->n_nodes;
    return g->n_nodes++;
}

void node_spatial(const struct graph *g, struct node *n, int out)
{
    const struct tensor *t = &g->tensor[out];
    n->out = out;
    n->n_spatial = t->rank;
    for (int d = 0; d < t->rank; d++)
        n->spatial[d] = expr_dim(g->pool, t->dim[d], t->shape[d]);
}

const struct expr *node_reduce(const struct graph *g, struct node *n, const char *dim,
                               int64_t extent)
{
    const struct expr *var = expr_dim(g->pool, dim, extent);
    n->reduce_dim[n->n_reduce] = dim;
    n->reduce[n->n_reduce++] = var;
    return var;
}

const struct val *graph_load_at(const struct graph *g, int t, const struct expr *const *idx)
{
    int rank = g->tensor[t].rank;
    const struct expr **own = ARENA_ARRAY(arena_of(g), const struct expr *, rank);
    for (int d = 0; d < rank; d++)
        own[d] = expr_simplify(g->pool, idx[d]);
    return val_load(arena_of(g), t, rank, own);
}

/* --- Lookup ----------------------------------------------------------------------------------- */

int graph_tensor(const struct graph *g, const char *name)
{
    for (int t = 0; t < g->n_tensors; t++)
        if (strcaseeq(g->tensor[t].name, name))
            return t;
    return -1;
}

int graph_node_of(const struct graph *g, const char *tensor_name)
{
    int t = graph_tensor(g, tensor_name);
    return t < 0 ? -1 : g->tensor[t].producer;
}

int node_reduction(const struct node *n, const char *dim)
{
    for (int r = 0; r < n->n_reduce; r++)
        if (strcaseeq(n->reduce_dim[r], dim))
            return r;
    return -1;
}

struct wanted { int tensor; bool found; };

static void note_load(void *ctx, const struct val *load)
{
    struct wanted *w = ctx;
    w->found |= load->source == w->tensor;
}

bool graph_reads(const struct graph *g, int node, int tensor)
{
    struct wanted w = { .tensor = tensor };
    val_each_load(g->node[node].body, note_load, &w);
    return w.found;
}

void node_print(struct str *out, const struct graph *g, int node)
{
    static const char *const how[] = {
        [COMBINE_NONE] = "=", [COMBINE_SUM] = "+=", [COMBINE_MAX] = "max=",
    };
    const struct node *n = &g->node[node];
    const char **names = xcalloc((size_t)g->n_tensors, sizeof *names);
    for (int t = 0; t < g->n_tensors; t++)
        names[t] = g->tensor[t].name;
    str_add(out, names[n->out]);
    for (int i = 0; i < n->n_spatial; i++) {
        str_add_char(out, '[');
        expr_print(out, n->spatial[i]);
        str_add_char(out, ']');
    }
    str_printf(out, " %s ", how[n->combine]);
    val_print(out, n->body, names);
    free(names);
}
