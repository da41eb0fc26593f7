/* Walks through the accesses of one block of a GPU's kernel.  Every node is run for all threads of
 * the block at once.  A mask says which of the threads take part. */
#include "kernels/gen/walk_impl.h"

#include <stdlib.h>

#define MOST_WARPS (WALK_MOST_THREADS / WALK_WARP)

/* The active threads: bit t of word w is thread 32 * w + t. */
struct mask { uint32_t warp[MOST_WARPS]; };

/* The values of a variable in each thread.  end: where the loop of each thread ends. */
struct lanes { int64_t at[WALK_MOST_THREADS], end[WALK_MOST_THREADS]; };

struct block_walk {
    struct walk *w;
    int n, warps;  /* n: threads of the block; warps: its warps, the last may be incomplete */
    int64_t block[3];
    int64_t thread[3][WALK_MOST_THREADS];
    /* per variable: its value in each thread; NULL: it has not differed between threads so far */
    struct lanes **lanes;
    VEC(int) varying;                     /* the visible variables that differ between threads */
    unsigned long long addr[WALK_MOST_THREADS];
    walk_warp_fn *access;
    void *ctx;
};

static bool takes_part(const struct mask *m, int t)
{
    return m->warp[t / WALK_WARP] >> t % WALK_WARP & 1;
}

static bool is_empty(const struct block_walk *b, const struct mask *m)
{
    for (int i = 0; i < b->warps; i++)
        if (m->warp[i])
            return false;
    return true;
}

static struct lanes *lanes_of(struct block_walk *b, int var)
{
    if (!b->lanes[var])
        b->lanes[var] = xcalloc(1, sizeof *b->lanes[var]);
    return b->lanes[var];
}

/* Returns the value of an expression in thread t. */
static int64_t value_in(struct block_walk *b, const struct expr *e, int t)
{
    for (int i = 0; i < b->varying.len; i++)
        b->w->value[b->varying.data[i]] = b->lanes[b->varying.data[i]]->at[t];
    return expr_eval(e, b->w->value);
}

static void run(struct block_walk *b, const struct walk_node *v, int n, const struct mask *m);

static void run_access(struct block_walk *b, const struct walk_node *v, const struct mask *m)
{
    int64_t same = v->rest;
    for (int i = 0; i < v->n; i++)
        if (!v->product[i].varies)
            same += v->product[i].coef * expr_eval(v->product[i].other, b->w->value);
    for (int t = 0; t < b->n; t++)
        b->addr[t] = b->w->base[v->buffer] + (unsigned long long)same;
    for (int i = 0; i < v->n; i++) {
        const struct product *p = &v->product[i];
        if (p->varies && p->var >= 0) {
            const int64_t *at = b->lanes[p->var]->at;
            for (int t = 0; t < b->n; t++)
                b->addr[t] += (unsigned long long)(p->coef * at[t]);
        } else if (p->varies) {
            for (int t = 0; t < b->n; t++)
                if (takes_part(m, t))
                    b->addr[t] += (unsigned long long)(p->coef * value_in(b, p->other, t));
        }
    }
    for (int t = 0; t < b->n && v->swizzle.mask; t++) {
        int64_t at = (int64_t)(b->addr[t] - b->w->base[v->buffer]);
        at ^= at >> v->swizzle.shift & v->swizzle.mask;
        b->addr[t] = b->w->base[v->buffer] + (unsigned long long)at;
    }
    for (int i = 0; i < b->warps; i++)
        if (m->warp[i])
            b->access(b->ctx, i, m->warp[i], b->addr + WALK_WARP * i, v->site, v->bytes);
}

static void run_if(struct block_walk *b, const struct walk_node *v, const struct mask *m)
{
    struct mask in = *m;
    if (!v->varies) {
        if ((expr_eval(v->cond, b->w->value) != 0) == v->holds)
            run(b, v->body, v->n, m);
        return;
    }
    for (int t = 0; t < b->n; t++)
        if (takes_part(m, t) && (value_in(b, v->cond, t) != 0) != v->holds)
            in.warp[t / WALK_WARP] &= ~(1u << t % WALK_WARP);
    if (!is_empty(b, &in))
        run(b, v->body, v->n, &in);
}

/* Sets *in to the threads of m whose loop has not ended. */
static void keep_inside(const struct block_walk *b, const struct lanes *l, const struct mask *m,
                        struct mask *in)
{
    *in = *m;
    for (int t = 0; t < b->n; t++)
        if (l->at[t] >= l->end[t])
            in->warp[t / WALK_WARP] &= ~(1u << t % WALK_WARP);
}

/* Runs a loop whose bounds differ between threads, or whose iterations are the threads. */
static void run_varying(struct block_walk *b, const struct walk_node *v, const struct mask *m)
{
    struct lanes *l = lanes_of(b, v->var->var);
    bool bound = loop_is_bound(v->ann);
    struct mask in;
    for (int t = 0; t < b->n; t++) {
        l->at[t] = bound ? b->thread[v->ann - LOOP_THREAD_X][t]
                 : takes_part(m, t) ? value_in(b, v->begin, t) : 0;
        l->end[t] = takes_part(m, t) ? value_in(b, v->end, t) : 0;
    }
    vec_push(&b->varying, v->var->var);
    for (keep_inside(b, l, m, &in); !is_empty(b, &in) && !b->w->stopped;
         keep_inside(b, l, m, &in)) {
        walk_look_at_clock(b->w);
        run(b, v->body, v->n, &in);
        if (bound)
            break;
        for (int t = 0; t < b->n; t++)
            l->at[t]++;
    }
    b->varying.len--;
}

static void run_loop(struct block_walk *b, const struct walk_node *v, const struct mask *m)
{
    int64_t *value = &b->w->value[v->var->var];
    int64_t begin = expr_eval(v->begin, b->w->value), end = expr_eval(v->end, b->w->value);
    if (loop_is_bound(v->ann)) {
        *value = b->block[v->ann - LOOP_BLOCK_X];
        if (*value < end)
            run(b, v->body, v->n, m);
        return;
    }
    for (int64_t i = begin; i < end && !b->w->stopped; i++) {
        walk_look_at_clock(b->w);
        *value = i;
        run(b, v->body, v->n, m);
    }
}

/* Draws a pseudo-random index for each thread, because there is no data. */
static void run_pick(struct block_walk *b, const struct walk_node *v)
{
    struct lanes *l = lanes_of(b, v->var->var);
    for (int t = 0; t < b->n; t++) {
        b->w->random = b->w->random * 6364136223846793005u + 1;
        l->at[t] = (int64_t)(b->w->random >> 33) % (v->var->hi + 1);
    }
    vec_push(&b->varying, v->var->var);
}

static void run(struct block_walk *b, const struct walk_node *v, int n, const struct mask *m)
{
    int in_scope = b->varying.len;
    for (; n > 0 && !b->w->stopped; n--, v++) {
        if (v->kind == WALK_ACCESS)
            run_access(b, v, m);
        else if (v->kind == WALK_IF)
            run_if(b, v, m);
        else if (v->kind == WALK_PICK)
            run_pick(b, v);
        else
            (v->varies ? run_varying : run_loop)(b, v, m);
    }
    b->varying.len = in_scope;
}

int walk_n_kernels(const struct walk *w)
{
    return w->kernels.len;
}

const int64_t *walk_launch(const struct walk *w, int kernel)
{
    return w->kernels.data[kernel].extent;
}

void walk_block(struct walk *w, int kernel, int64_t block, const unsigned long long *base,
                walk_warp_fn *access, void *ctx)
{
    const struct walk_kernel *k = &w->kernels.data[kernel];
    const int64_t *x = k->extent;
    int n_vars = exprs_n_vars(w->unit.func->pool);
    struct block_walk *b = xcalloc(1, sizeof *b);
    struct mask all = {0};
    *b = (struct block_walk){ .w = w, .n = (int)(x[3] * x[4] * x[5]), .access = access,
                              .ctx = ctx, .block = { block % x[0], block / x[0] % x[1],
                                                     block / x[0] / x[1] } };
    b->warps = (b->n + WALK_WARP - 1) / WALK_WARP;
    b->lanes = xcalloc((size_t)n_vars + 1, sizeof(struct lanes *));
    for (int t = 0; t < b->n; t++) {
        b->thread[0][t] = t % x[3];
        b->thread[1][t] = t / x[3] % x[4];
        b->thread[2][t] = t / x[3] / x[4];
        lanes_of(b, k->thread->var)->at[t] = t;
        all.warp[t / WALK_WARP] |= 1u << t % WALK_WARP;
    }
    vec_push(&b->varying, k->thread->var);
    w->base = base;
    w->random = 1 + (unsigned long long)block;
    walk_look_at_clock(w);
    run(b, w->root + k->first, k->n, &all);
    for (int i = 0; i < n_vars; i++)
        free(b->lanes[i]);
    free(b->lanes);
    vec_free(&b->varying);
    free(b);
}
