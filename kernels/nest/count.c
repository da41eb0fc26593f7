/* Counts the operations that a lowered program executes.  A loop multiplies the operations of its
 * body by its number of iterations.  If a bound or a guard inside depends on the loop variable, the
 * operations of each iteration are counted instead. */
#include "kernels/nest/tree.h"

#include <math.h>
#include <stdlib.h>

#define MOST_STEPS 20000000  /* most visits of loops, scopes and stores; they take about 0.2 s */

/* Selects the operations to count.  sums_of: only the accumulations of this node; -1: all
 * operations.  blocks: whether to count only inside tensor blocks.  products: count only products,
 * of two elements or of any two values.  vals: the values of the loop variables. */
enum products { NO_PRODUCTS, OF_ELEMENTS, ALL_PRODUCTS };
struct counter { int64_t *vals; int64_t steps; int sums_of; bool blocks, in_block;
                 enum products products; };

static bool decides(const struct tree *t, const struct expr *v)
{
    if (t->kind == TREE_STORE)
        return t->guard && expr_uses(t->guard, v);
    if ((t->begin && expr_uses(t->begin, v)) || (t->end && expr_uses(t->end, v)))
        return true;
    for (int i = 0; i < t->n_kids; i++)
        if (decides(t->kid[i], v))
            return true;
    return false;
}

static bool has_select(const struct val *v)
{
    return v->kind == VAL_SELECT || (v->a && has_select(v->a)) || (v->b && has_select(v->b));
}

/* Returns the number of products in v; of a select, that of the larger side. */
static int products(const struct val *v, enum products which)
{
    if (!v->a)
        return 0;
    int a = products(v->a, which), b = v->b ? products(v->b, which) : 0;
    if (v->kind == VAL_SELECT)
        return a > b ? a : b;
    bool constant = v->a->kind == VAL_CONST || (v->b && v->b->kind == VAL_CONST);
    return a + b + (v->kind == VAL_MUL && (which == ALL_PRODUCTS || !constant));
}

static double count(struct counter *c, const struct tree *t);

static double count_kids(struct counter *c, const struct tree *t)
{
    double sum = 0;
    for (int i = 0; i < t->n_kids; i++)
        sum += count(c, t->kid[i]);
    return sum;
}

static double count_loop(struct counter *c, const struct tree *t)
{
    int64_t begin = t->begin ? expr_eval(t->begin, c->vals) : 0;
    int64_t end = t->end ? expr_eval(t->end, c->vals) : t->extent;
    bool alike = true;
    for (int i = 0; i < t->n_kids; i++)
        alike = alike && !decides(t->kid[i], t->var);
    if (begin >= end)
        return 0;
    if (alike)
        return (double)(end - begin) * count_kids(c, t);
    double sum = 0;
    for (int64_t x = begin; x < end && c->steps < MOST_STEPS; x++) {
        c->vals[t->var->var] = x;
        sum += count_kids(c, t);
    }
    return sum;
}

static double count(struct counter *c, const struct tree *t)
{
    c->steps++;
    if (t->kind == TREE_LOOP) {
        bool outside = !c->in_block;
        c->in_block |= t->ann == LOOP_TENSOR;
        double sum = count_loop(c, t);
        c->in_block &= !outside;
        return sum;
    }
    if (t->kind == TREE_SCOPE)
        return count_kids(c, t);
    if (t->guard && !expr_eval(t->guard, c->vals))
        return 0;
    if (c->blocks && !c->in_block)
        return 0;
    if (c->sums_of >= 0)
        return t->node == c->sums_of && t->how != STORE_SET && !has_select(t->value);
    return c->products ? products(t->value, c->products)
                       : val_flops(t->value) + (t->how != STORE_SET);
}

/* Sets bytes[i], where i is the first shared buffer with its name, to the size of the largest tile
 * in t with that name. */
static void find_shared(const struct func *f, const struct tree *t, int64_t *bytes)
{
    if (t->kind == TREE_SCOPE && f->buffer[t->buffer].memory == MEMORY_SHARED) {
        const struct buffer *b = &f->buffer[t->buffer];
        int first = 0;
        while (f->buffer[first].memory != MEMORY_SHARED || !streq(f->buffer[first].name, b->name))
            first++;
        bytes[first] = bytes[first] > buffer_bytes(b) ? bytes[first] : buffer_bytes(b);
    }
    for (int i = 0; i < t->n_kids; i++)
        find_shared(f, t->kid[i], bytes);
}

int64_t tree_shared_bytes(const struct func *f, const struct tree *t)
{
    int64_t *bytes = xcalloc((size_t)f->n_buffers + 1, sizeof *bytes), all = 0;
    find_shared(f, t, bytes);
    for (int i = 0; i < f->n_buffers; i++)
        all += shared_room(bytes[i]);
    free(bytes);
    return all;
}

bool func_is_narrow(const struct func *f)
{
    for (int i = 0; i < f->n_buffers; i++)
        if (type_is_narrow(f->buffer[i].type))
            return true;
    return false;
}

static bool tree_prefetches(const struct tree *t)
{
    bool any = t->n_prefetch > 0;
    for (int i = 0; i < t->n_kids && !any; i++)
        any = tree_prefetches(t->kid[i]);
    return any;
}

bool func_prefetches(const struct func *f)
{
    bool any = false;
    for (int i = 0; i < f->n_roots && !any; i++)
        any = tree_prefetches(f->root[i]);
    return any;
}

int64_t func_shared_bytes(const struct func *f)
{
    int64_t most = 0;
    for (int i = 0; i < f->n_roots; i++) {
        int64_t n = tree_shared_bytes(f, f->root[i]);
        most = n > most ? n : most;
    }
    return most;
}

static double count_func(const struct func *f, struct counter c)
{
    double sum = 0;
    c.vals = xcalloc((size_t)exprs_n_vars(f->pool) + 1, sizeof *c.vals);
    for (int i = 0; i < f->n_roots; i++)
        sum += count(&c, f->root[i]);
    free(c.vals);
    return c.steps < MOST_STEPS ? sum : 0;
}

double func_flops(const struct func *f)
{
    return count_func(f, (struct counter){ .sums_of = -1 });
}

double func_tensor_flops(const struct func *f)
{
    return count_func(f, (struct counter){ .sums_of = -1, .blocks = true });
}

double func_products(const struct func *f, bool constants)
{
    return count_func(f, (struct counter){ .sums_of = -1,
                                           .products = constants ? ALL_PRODUCTS : OF_ELEMENTS });
}

double func_needed(const struct func *f, double asked)
{
    double executed = func_flops(f);
    return executed > 0 && executed < asked ? executed : asked;
}

double func_bounding(const struct func *f, double needed)
{
    double p = fmin(func_products(f, false), needed / 2);
    double q = fmin(func_products(f, true), needed / 2);
    return fmax(1, fmax(2 * p, needed - q));
}

double func_sums(const struct func *f, int node)
{
    return count_func(f, (struct counter){ .sums_of = node });
}

static double statements(const struct tree *t, int lanes)
{
    double sum = 0, times = 1;
    if (t->kind == TREE_STORE)
        return 1;
    for (int i = 0; i < t->n_kids; i++)
        sum += statements(t->kid[i], lanes);
    if (t->kind == TREE_LOOP && t->ann == LOOP_UNROLL)
        times = (double)t->extent;
    if (t->kind == TREE_LOOP && t->ann == LOOP_VECTORIZE)
        times = (double)((t->extent + lanes - 1) / lanes);
    return times * sum;
}

double func_statements(const struct func *f, int lanes)
{
    double sum = 0;
    for (int i = 0; i < f->n_roots; i++)
        sum += statements(f->root[i], lanes);
    return sum;
}
