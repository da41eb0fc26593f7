#include "kernels/gen/walk_impl.h"

#include <stdlib.h>
#include <string.h>

#define MOST_COMPARED (1 << 16)           /* most iterations of a part of a way that are checked */

/* --- From code to nodes ----------------------------------------------------------------------- */

typedef VEC(struct walk_node) nodes;

/* Whether an expression has different values in the threads of a block. */
static bool varies(const struct walk *w, const struct expr *e)
{
    for (int i = 0; i < w->varying.len; i++)
        if (expr_uses(e, w->varying.data[i]))
            return true;
    return false;
}

/* Notes in w->use an access that is directly inside of `loop`. */
static void note_use(struct walk *w, const struct walk_node *v, int loop)
{
    struct site_use *use = &w->use[v->site];
    double times = 1;
    for (int i = loop; i >= 0; i = w->loops.data[i].parent)
        times *= (double)w->loops.data[i].trips;
    if (!use->access || times > use->times) {
        use->loop = loop;
        use->times = times;
        use->access = ARENA_DUP(w->arena, v, 1);
        use->span.len = 0;
    }
    if (use->loop == loop)
        vec_push(&use->span, ((struct site_span){ v->rest, v->bytes }));
}

static void add_access(struct walk *w, nodes *out, const struct place *at, int site, int loop)
{
    struct expr_linear l = expr_linear(w->unit.func->pool, at->base);
    int64_t bytes = w->unit.func->buffer[at->buffer].type->bytes;
    struct product *product = ARENA_ARRAY(w->arena, struct product, l.n + 1);
    for (int i = 0; i < l.n; i++)
        product[i] = (struct product){ l.term[i]->var, bytes * l.coef[i], l.term[i],
                                       varies(w, l.term[i]) };
    struct walk_node v = { .kind = WALK_ACCESS, .n = l.n, .product = product,
                           .rest = bytes * (l.rest + at->rest), .buffer = at->buffer,
                           .site = (unsigned)site, .bytes = (unsigned)place_bytes(&w->unit, at) };
    v.swizzle = w->unit.func->buffer[at->buffer].swizzle;
    v.swizzle.mask *= bytes;
    vec_push(out, v);
    note_use(w, &v, loop);
}

static void set_body(struct walk *w, struct walk_node *v, nodes *body)
{
    v->n = body->len;
    v->body = body->len > 0 ? ARENA_DUP(w->arena, body->data, body->len) : NULL;
    vec_free(body);
}

static void add_reads(struct walk *w, nodes *out, const struct code_term *t, int loop)
{
    if (t->kind == TERM_LOAD)
        add_access(w, out, &t->at, t->site, loop);
    if (t->kind == TERM_SELECT) {
        const struct code_term *side[2] = { t->a, t->b };
        for (int i = 0; i < 2; i++) {
            struct walk_node v = { .kind = WALK_IF, .cond = t->cond, .holds = i == 0,
                                   .varies = varies(w, t->cond) };
            nodes body = {0};
            add_reads(w, &body, side[i], loop);
            set_body(w, &v, &body);
            if (v.n > 0)
                vec_push(out, v);
        }
        return;
    }
    if (t->a)
        add_reads(w, out, t->a, loop);
    if (t->b)
        add_reads(w, out, t->b, loop);
    for (int i = 0; t->part && i < t->lanes; i++)
        add_reads(w, out, t->part[i], loop);
}

static void add_set(struct walk *w, nodes *out, const struct code *c, int loop)
{
    add_reads(w, out, c->value, loop);
    if (c->reg >= 0)
        return;
    if (c->how != STORE_SET)
        add_access(w, out, &c->at, c->site_load, loop);
    if (code_streams(&w->unit, c))
        vec_push(out, (struct walk_node){ .kind = WALK_STREAM });
    else
        add_access(w, out, &c->at, c->site_store, loop);
}

static void add_block(struct walk *w, nodes *out, const struct block *b, int loop);

static void add_loop(struct walk *w, nodes *out, const struct code *c, int parent)
{
    struct walk_node v = { .kind = WALK_LOOP, .loop = w->loops.len, .var = c->var,
                           .begin = c->begin, .end = c->end,
                           .asks = block_asks(&c->body, c->var), .ann = c->ann,
                           .varies = varies(w, c->begin) || varies(w, c->end)
                                     || c->ann >= LOOP_THREAD_X };
    struct walk_loop l = { c->axis ? c->axis : c->var->name, c->node, (int64_t)code_trips(c),
                           parent, code_mark_of(&w->marked, c) };
    nodes body = {0};
    vec_push(&w->loops, l);
    if (v.varies)
        vec_push(&w->varying, c->var);
    add_block(w, &body, &c->body, v.loop);
    w->varying.len -= v.varies;
    set_body(w, &v, &body);
    vec_push(out, v);
}

static void add_block(struct walk *w, nodes *out, const struct block *b, int loop)
{
    int in_scope = w->varying.len;
    for (int i = 0; i < b->n; i++) {
        const struct code *c = b->item[i];
        struct walk_node v = { .kind = WALK_IF, .cond = c->cond, .holds = true, .var = c->var };
        nodes body = {0};
        if (c->kind == CODE_SET) {
            add_set(w, out, c, loop);
        } else if (c->kind == CODE_FRAGMENT) {
            add_reads(w, out, c->value, loop);
        } else if (c->kind == CODE_PICK) {
            add_reads(w, out, c->value, loop);
            v.kind = WALK_PICK;
            vec_push(out, v);
            vec_push(&w->varying, c->var);
        } else if (c->kind == CODE_NOTE || c->kind == CODE_AGAIN || c->kind == CODE_AHEAD
                   || !block_touches(&c->body)) {
            continue;
        } else if (c->kind == CODE_FOR) {
            add_loop(w, out, c, loop);
        } else if (c->kind == CODE_IF) {
            v.varies = varies(w, c->cond);
            add_block(w, &body, &c->body, loop);
            set_body(w, &v, &body);
            vec_push(out, v);
        } else {
            add_block(w, out, &c->body, loop);
        }
    }
    w->varying.len = in_scope;
}

/* Adds the nodes of every kernel of a GPU. */
static void add_kernels(struct walk *w, nodes *root)
{
    const struct block *b = &w->unit.body;
    for (int from = 0, to; from < b->n; from = to) {
        to = code_kernel_end(b, from);
        struct block part = { .item = b->item + from, .n = to - from };
        struct walk_kernel k = { .first = root->len, .extent = { 1, 1, 1, 1, 1, 1 } };
        code_find_launch(&part, k.extent);
        k.thread = code_thread_var(&w->unit, k.extent[3] * k.extent[4] * k.extent[5]);
        vec_push(&w->varying, k.thread);
        add_block(w, root, &part, -1);
        w->varying.len--;
        k.n = root->len - k.first;
        vec_push(&w->kernels, k);
    }
}

bool walk_open(const struct func *f, const struct gen_opts *o, struct walk **out, struct err *e)
{
    struct walk *w = xcalloc(1, sizeof *w);
    w->opts = *o;
    if (!unit_open(&w->unit, f, &w->opts, e)) {
        unit_close(&w->unit);
        free(w);
        return false;
    }
    if (o->work)
        code_count_work(&w->unit, o->work);
    w->arena = arena_new();
    nodes root = {0};
    w->use = ARENA_ARRAY(w->arena, struct site_use, w->unit.sites.len + 1);
    code_find_marks(&w->unit.body, w->arena, &w->marked);
    if (o->target->gpu)
        add_kernels(w, &root);
    else
        add_block(w, &root, &w->unit.body, -1);
    struct walk_node all = {0};
    set_body(w, &all, &root);
    w->root = all.body;
    w->n_root = all.n;
    w->value = ARENA_ARRAY(w->arena, int64_t, exprs_n_vars(f->pool) + 1);
    *out = w;
    return true;
}

void walk_close(struct walk *w)
{
    if (!w)
        return;
    for (int i = 0; i < w->unit.sites.len; i++)
        vec_free(&w->use[i].span);
    unit_close(&w->unit);
    vec_free(&w->loops);
    vec_free(&w->varying);
    vec_free(&w->kernels);
    arena_free(w->arena);
    free(w);
}

/* --- Questions -------------------------------------------------------------------------------- */

const struct site *walk_sites(const struct walk *w, int *n)
{
    *n = w->unit.sites.len;
    return w->unit.sites.data;
}

const struct walk_loop *walk_loops(const struct walk *w, int *n)
{
    *n = w->loops.len;
    return w->loops.data;
}

int walk_n_marks(const struct walk *w)
{
    return w->marked.n;
}

const char *walk_along(const struct walk *w)
{
    return w->marked.n > 0 ? w->marked.axes[0] : "";
}

int walk_site_loop(const struct walk *w, int site)
{
    return w->use[site].access ? w->use[site].loop : -1;
}

static int by_rest(const void *a, const void *b)
{
    const struct site_span *x = a, *y = b;
    return x->rest < y->rest ? -1 : x->rest > y->rest;
}

void walk_site_reach(const struct walk *w, int site, int line_bytes, int64_t *bytes,
                     int64_t *lines)
{
    const struct site_use *use = &w->use[site];
    int64_t next = INT64_MIN;
    int n = use->access ? use->span.len : 0;
    struct site_span *span = xcalloc((size_t)n + 1, sizeof *span);
    *bytes = *lines = 0;
    for (int i = 0; i < n; i++)
        span[i] = use->span.data[i];
    qsort(span, (size_t)n, sizeof *span, by_rest);
    for (int i = 0; i < n; i++) {
        int64_t from = span[i].rest - span[0].rest, to = from + span[i].bytes;
        *bytes = to > *bytes ? to : *bytes;
        from = from / line_bytes > next ? from / line_bytes : next;
        to = (to + line_bytes - 1) / line_bytes;
        *lines += to > from ? to - from : 0;
        next = to > next ? to : next;
    }
    free(span);
}

/* Returns the node of a loop among n nodes and inside of them; NULL: there is none. */
static const struct walk_node *find_loop(const struct walk_node *v, int n, int loop)
{
    const struct walk_node *found = NULL;
    for (int i = 0; i < n && !found; i++)
        found = v[i].kind == WALK_LOOP && v[i].loop == loop ? &v[i]
              : v[i].kind <= WALK_IF ? find_loop(v[i].body, v[i].n, loop) : NULL;
    return found;
}

/* Whether each iteration of the loop over `var` moves an access by the same number of bytes,
 * *stride. */
static bool moves_evenly(const struct walk_node *v, const struct expr *var, int64_t *stride)
{
    *stride = 0;
    for (int i = 0; i < v->n; i++) {
        if (v->product[i].var == var->var)
            *stride += v->product[i].coef;
        else if (v->product[i].var < 0 && expr_uses(v->product[i].other, var))
            return false;
    }
    return true;
}

/* Returns the offset of an access in its buffer, in bytes. */
static inline int64_t offset(const struct walk *w, const struct walk_node *v)
{
    int64_t at = v->rest;
    for (int i = 0; i < v->n; i++) {
        const struct product *p = &v->product[i];
        at += p->coef * (p->var >= 0 ? w->value[p->var] : expr_eval(p->other, w->value));
    }
    return at;
}

/* Returns how many bytes the access v in iteration i of `loop` lies behind the same access in the
 * first iteration.  The variables of other loops have their current values. */
static int64_t way_to(const struct walk *w, const struct walk_node *v, const struct walk_node *loop,
                      int64_t i)
{
    int64_t *value = &w->value[loop->var->var], was = *value;
    *value = expr_eval(loop->begin, w->value);
    int64_t first = offset(w, v);
    *value += i;
    int64_t to = offset(w, v);
    *value = was;
    return to - first;
}

/* Adds the next part of a way.  One iteration of the part is `period` iterations of the loop.  The
 * part has at most `left` iterations, and ends where the stride changes.  Returns its number of
 * iterations. */
static int64_t add_part(const struct walk *w, const struct walk_node *v,
                        const struct walk_node *loop, int64_t period, int64_t left,
                        struct walk_way *out)
{
    int64_t stride = way_to(w, v, loop, period), n = 2;
    while (n < left && n < MOST_COMPARED && way_to(w, v, loop, n * period) == n * stride)
        n++;
    if (n == MOST_COMPARED || out->n == WALK_MOST_PARTS - 1)
        n = left;
    out->part[out->n++] = (struct walk_part){ stride, n };
    return n;
}

/* Returns the first access of a site among n nodes and inside of them; NULL: there is none. */
static const struct walk_node *find_access(const struct walk_node *v, int n, int site)
{
    const struct walk_node *found = NULL;
    for (int i = 0; i < n && !found; i++)
        found = v[i].kind == WALK_ACCESS && v[i].site == (unsigned)site ? &v[i]
              : v[i].kind <= WALK_IF ? find_access(v[i].body, v[i].n, site) : NULL;
    return found;
}

/* Returns the access of a site that a loop moves: that of walk_site_loop if it is inside of the
 * loop, or else the first one inside; NULL: none is.  Loops of other kernels can have the same
 * variable. */
static const struct walk_node *access_in(const struct walk *w, int site, const struct walk_node *l)
{
    int i = walk_site_loop(w, site);
    while (i >= 0 && i != l->loop)
        i = w->loops.data[i].parent;
    return i >= 0 ? w->use[site].access : find_access(l->body, l->n, site);
}

struct walk_way walk_way(const struct walk *w, int site, int loop)
{
    const struct walk_node *l = find_loop(w->root, w->n_root, loop);
    const struct walk_node *v = l ? access_in(w, site, l) : NULL;
    struct walk_way out = { 1, { { 0, w->loops.data[loop].trips } } };
    if (!v || moves_evenly(v, l->var, &out.part[0].stride) || out.part[0].trips < 2)
        return out;
    int64_t left = out.part[0].trips;
    out.n = 0;
    for (int64_t period = 1; left > 1;) {
        int64_t n = add_part(w, v, l, period, left, &out);
        period *= n;
        left = (left + n - 1) / n;
    }
    return out;
}

/* --- Counting --------------------------------------------------------------------------------- */

void walk_limit(struct walk *w, double deadline, const struct cancel *c)
{
    w->deadline = deadline;
    w->cancel = c;
}

void walk_stop(struct walk *w)
{
    w->stopped = true;
}

bool walk_ended_early(const struct walk *w)
{
    return w->stopped;
}

struct walk_counts { double *iterations, *accesses; };

/* Returns how many accesses n nodes make when they run `times` times. */
static double count(struct walk *w, const struct walk_node *v, int n, double times,
                    const struct walk_counts *c)
{
    double sum = 0;
    for (; n > 0 && !w->stopped; n--, v++) {
        walk_look_at_clock(w);
        if (v->kind == WALK_ACCESS || v->kind == WALK_STREAM) {
            sum += times;
        } else if (v->kind == WALK_PICK) {
            w->value[v->var->var] = 0;
        } else if (v->kind == WALK_IF) {
            if ((expr_eval(v->cond, w->value) != 0) == v->holds)
                sum += count(w, v->body, v->n, times, c);
        } else {
            int64_t begin = expr_eval(v->begin, w->value), end = expr_eval(v->end, w->value);
            double trips = end > begin ? (double)(end - begin) : 0, inside = 0;
            int64_t step = v->asks || trips == 0 ? 1 : end - begin;
            for (int64_t i = begin; i < end && !w->stopped; i += step) {
                w->value[v->var->var] = i;
                inside += count(w, v->body, v->n, times * (double)step, c);
            }
            int mark = w->loops.data[v->loop].mark;
            if (mark >= 0) {
                c->iterations[mark] += times * trips;
                c->accesses[mark] += inside;
            }
            sum += inside;
        }
    }
    return sum;
}

static void start(struct walk *w)
{
    w->stopped = false;
    w->until_clock = CLOCK_EVERY;
    w->random = 1;
}

bool walk_count(struct walk *w, double *iterations, double *accesses, double *all)
{
    struct walk_counts c = { iterations, accesses };
    memset(iterations, 0, sizeof *iterations * (size_t)w->marked.n);
    memset(accesses, 0, sizeof *accesses * (size_t)w->marked.n);
    start(w);
    *all = count(w, w->root, w->n_root, 1, &c);
    return !w->stopped;
}

/* --- Walking ---------------------------------------------------------------------------------- */

static inline unsigned long long address(const struct walk *w, const struct walk_node *v)
{
    return w->base[v->buffer] + (unsigned long long)offset(w, v);
}

static void run(struct walk *w, const struct walk_node *v, int n);

static void run_loop(struct walk *w, const struct walk_node *v)
{
    int64_t begin = expr_eval(v->begin, w->value), end = expr_eval(v->end, w->value);
    int mark = w->loops.data[v->loop].mark;
    for (int64_t i = begin; i < end && !w->stopped; i++) {
        walk_look_at_clock(w);
        w->value[v->var->var] = i;
        if (mark >= 0 && w->calls->mark(w->calls->ctx, mark))
            continue;
        if (w->calls->iteration)
            w->calls->iteration(w->calls->ctx, v->loop, i);
        run(w, v->body, v->n);
    }
    if (mark >= 0)
        w->calls->mark(w->calls->ctx, -1);
}

static void run(struct walk *w, const struct walk_node *v, int n)
{
    for (; n > 0 && !w->stopped; n--, v++) {
        if (v->kind == WALK_ACCESS) {
            w->calls->access(w->calls->ctx, address(w, v), v->site, v->bytes);
        } else if (v->kind == WALK_LOOP) {
            run_loop(w, v);
        } else if (v->kind == WALK_IF) {
            if ((expr_eval(v->cond, w->value) != 0) == v->holds)
                run(w, v->body, v->n);
        } else if (v->kind == WALK_PICK) {
            /* There is no data, so the index is pseudo-random, as in the instrumented kernel. */
            w->random = w->random * 6364136223846793005u + 1;
            w->value[v->var->var] = (int64_t)(w->random >> 33) % (v->var->hi + 1);
        }
    }
}

void walk_run(struct walk *w, const unsigned long long *base, const struct walk_calls *calls)
{
    w->base = base;
    w->calls = calls;
    start(w);
    run(w, w->root, w->n_root);
}
