#include "explorer/model/features_impl.h"

#include <math.h>
#include <string.h>

#include "kernels/base/rng.h"

const char *const feature_name[FEATURES_ALL] = {
#define FEATURE(id, text) text,
#include "explorer/model/features.def"
#undef FEATURE
};

/* --- The statements -------------------------------------------------------------------------- */

struct feature_walk {
    struct nest n;
    /* indices in n.level of the loops around the present place: `path` has those with more than one
     * iteration, `all` has all */
    VEC(int) path, all;
    double prod;                          /* number of executions of the present place */
    double *scope_prod;                   /* per local buffer: number of executions of its scope */
};

static void add_site(struct feature_walk *w, const struct tree *t)
{
    struct feature_site s = { .store = t, .n_loops = w->path.len, .n_all = w->all.len,
                              .prod = w->prod };
    s.loop = ARENA_DUP(w->n.a, w->path.data, w->path.len);
    s.all = ARENA_DUP(w->n.a, w->all.data, w->all.len);
    s.alloc_prod = w->scope_prod[t->buffer];
    feature_count_ops(&w->n, t, &s.ops);
    feature_accesses(&w->n, &s);
    s.work = s.prod * (feature_ops_of(&s.ops) + s.n_accesses);
    vec_push(&w->n.site, s);
}

static void walk(struct feature_walk *w, const struct tree *t);

static void walk_kids(struct feature_walk *w, const struct tree *t)
{
    for (int i = 0; i < t->n_kids; i++)
        walk(w, t->kid[i]);
}

static void walk_loop(struct feature_walk *w, const struct tree *t)
{
    double outside = w->prod;
    int id = w->n.level.len;
    struct feature_level l = { .loop = t, .depth = -1, .site = w->n.site.len };
    span_bind(&w->n, t);
    struct span s = w->n.span[t->var->var];
    l.trips = feature_mean_trips(&w->n, t, w->all.data, w->all.len);
    if (s.hi > s.lo) {
        l.depth = w->path.len;
        vec_push(&w->path, id);
    }
    vec_push(&w->n.level, l);
    vec_push(&w->all, id);
    w->prod *= l.trips;
    walk_kids(w, t);
    w->prod = outside;
    w->n.level.data[id].end = w->n.site.len;
    (void)vec_pop(&w->all);
    if (l.depth >= 0)
        (void)vec_pop(&w->path);
}

static void walk(struct feature_walk *w, const struct tree *t)
{
    if (t->kind == TREE_STORE) {
        add_site(w, t);
    } else if (t->kind == TREE_LOOP) {
        walk_loop(w, t);
    } else {
        w->scope_prod[t->buffer] = w->prod;
        walk_kids(w, t);
    }
}

/* --- Columns --------------------------------------------------------------------------------- */

static void op_columns(const struct nest *n, int buffer, float *row)
{
    double real[OP_CLASSES] = { 0 }, integer[OP_CLASSES] = { 0 }, bools = 0, selects = 0;
    for (int i = 0; i < n->site.len; i++) {
        const struct feature_site *s = &n->site.data[i];
        if (s->store->buffer != buffer)
            continue;
        for (int k = 0; k < OP_CLASSES; k++) {
            real[k] += s->prod * s->ops.real[k];
            integer[k] += s->prod * s->ops.integer[k];
        }
        bools += s->prod * s->ops.bools;
        selects += s->prod * s->ops.selects;
    }
    for (int k = 0; k < OP_CLASSES; k++) {
        row[FEATURE_FLOAT_MAD + k] = feature_scale(real[k]);
        row[FEATURE_INT_MAD + k] = feature_scale(integer[k]);
    }
    row[FEATURE_BOOL_OP] = feature_scale(bools);
    row[FEATURE_SELECT_OP] = feature_scale(selects);
}

/* Returns the type of an annotation (features.h), as an offset from the column "none":
 *     0: none
 *     1 to 3: inner, middle, outer spatial loop
 *     4 to 6: inner, middle, outer reduction loop
 *     7: mixed */
static int annotation_type(const struct nest *n, const struct feature_site *s, enum loop_ann ann)
{
    int last = -1, inside = 0, outside = 0;
    bool kind[2] = { false, false };
    for (int i = 0; i < s->n_loops; i++) {
        const struct tree *loop = n->level.data[s->loop[i]].loop;
        if (loop->ann == ann) {
            last = i;
            kind[loop->reduce] = true;
        }
    }
    if (last < 0)
        return 0;
    if (n->literal || (kind[0] && kind[1]))
        return 7;
    for (int i = 0; i < s->n_loops; i++) {
        bool same = n->level.data[s->loop[i]].loop->reduce == kind[1];
        outside += same && i < last;
        inside += same && i > last;
    }
    return 3 * kind[1] + (inside == 0 ? 1 : outside > 0 ? 2 : 3);
}

static void annotation_columns(const struct nest *n, const struct feature_site *s,
                               enum loop_ann ann, float *column)
{
    int num = 0;
    double prod = 1, len = 0;
    for (int i = 0; i < s->n_loops; i++) {
        const struct feature_level *l = &n->level.data[s->loop[i]];
        if (l->loop->ann == ann) {
            num++;
            prod *= l->trips;
            len = l->trips;
        }
    }
    column[0] = feature_scale(num);
    column[1] = feature_scale(num ? prod : 0);
    column[2] = feature_scale(len);
    column[3 + annotation_type(n, s, ann)] = 1;
}

/* Whether a column of a buffer is a one-hot column (type of access, type of reuse).  These are not
 * log-scaled. */
static bool is_flag(int column)
{
    return column < 3 || (column >= FEATURE_B0_LOOP_REUSE - FEATURE_B0_READ &&
                          column <= FEATURE_B0_NO_REUSE - FEATURE_B0_READ);
}

static void access_columns(struct nest *n, const struct feature_site *s, float *row)
{
    struct buffer_columns *c = ARENA_ARRAY(n->a, struct buffer_columns, s->n_accesses);
    for (int i = 0; i < s->n_accesses; i++)
        feature_buffer_columns(n, s, &s->access[i], &c[i]);
    for (int i = 1; i < s->n_accesses; i++)  /* stable sort: by lines, then bytes, descending */
        for (int k = i; k > 0 && (c[k].lines > c[k - 1].lines ||
                                  (c[k].lines == c[k - 1].lines && c[k].bytes > c[k - 1].bytes));
             k--) {
            struct buffer_columns swap = c[k];
            c[k] = c[k - 1];
            c[k - 1] = swap;
        }
    for (int i = 0; i < s->n_accesses && i < FEATURE_BUFFERS; i++)
        for (int k = 0; k < FEATURES_PER_BUFFER; k++)
            row[FEATURE_B0_READ + i * FEATURES_PER_BUFFER + k] =
                is_flag(k) ? c[i].x[k] : feature_scale(c[i].x[k]);
}

/* Fills the columns of arithmetic intensity.  Each loop, from the innermost outwards, is a point:
 * the number of operations inside of it, and their number per byte that it touches.  Straight lines
 * between the points make a function, which is sampled at tenths of all operations. */
static void intensity_columns(const struct nest *n, const struct feature_site *s, float *row)
{
    double *ops = ARENA_ARRAY(n->a, double, s->n_loops + 1), *per_byte;
    double all = feature_ops_of(&s->ops);
    int at = 0;
    per_byte = ARENA_ARRAY(n->a, double, s->n_loops + 1);
    if (all <= 0 || s->n_loops == 0)
        return;
    for (int i = 0; i < s->n_loops; i++) {
        int d = s->n_loops - 1 - i;
        double bytes = 0;
        for (int k = 0; k < s->n_accesses; k++)
            bytes += s->access[k].touched[d] * s->access[k].bytes;
        all *= fmax(n->level.data[s->loop[d]].trips, 1);
        ops[i] = all;
        per_byte[i] = all / fmax(bytes, s->access[0].bytes);
    }
    for (int i = 0; i < 10; i++) {
        double x = all * (i + 1) / 10, y;
        while (at < s->n_loops - 1 && ops[at] < x - 1e-4)
            at++;
        y = per_byte[at];
        if (at > 0 && ops[at] > ops[at - 1])
            y = per_byte[at - 1] + (x - ops[at - 1]) * (per_byte[at] - per_byte[at - 1]) /
                                       (ops[at] - ops[at - 1]);
        row[FEATURE_INTENSITY_0 + i] = feature_scale(y);
    }
}

static void loop_columns(const struct nest *n, const struct feature_site *s, float *row)
{
    const struct buffer *b = &n->f->buffer[s->store->buffer];
    double elems = (double)b->elems;
    if (s->alloc_prod > 0) {
        row[FEATURE_ALLOC_SIZE] = feature_scale((double)buffer_bytes(b));
        row[FEATURE_ALLOC_PROD] = feature_scale(elems * s->alloc_prod);
        row[FEATURE_ALLOC_OUTER_PROD] = feature_scale(s->alloc_prod);
        row[FEATURE_ALLOC_INNER_PROD] = feature_scale(s->prod / s->alloc_prod);
    }
    row[FEATURE_OUTER_PROD] = feature_scale(s->total);
    row[FEATURE_NUM_LOOPS] = feature_scale(s->n_loops);
}

/* --- Columns of the layout ------------------------------------------------------------------- */

/* Returns the number of stored elements per logical element.  It is more than 1 if the layout of
 * the buffer has padding or overlapping tiles. */
static double expansion(const struct func *f, int buffer)
{
    const struct buffer *b = &f->buffer[buffer];
    double logical = (double)tensor_elems(&f->graph->tensor[b->tensor]);
    return b->memory == MEMORY_GLOBAL ? (double)b->elems / fmax(logical, 1) : 1;
}

/* Returns the access of operand k of a statement (0: its result); NULL: no such operand. */
static const struct feature_access *operand(const struct feature_site *s, int k)
{
    return k < s->n_accesses ? &s->access[k] : NULL;
}

static bool divmod_free(const struct nest *n, const struct feature_site *s)
{
    for (int i = 0; i < s->n_accesses; i++)
        for (int k = 0; k < s->access[i].n; k++)
            for (int d = 0; d < n->f->buffer[s->access[i].buffer].rank; d++)
                if (s->access[i].idx[k][d]->has_divmod)
                    return false;
    return true;
}

/* Considers all other statements that read the result of statement s.  Returns the largest number
 * of outer loops that s shares with one of them. */
static int shared_loops(const struct nest *n, const struct feature_site *s)
{
    int best = 0;
    for (int i = 0; i < n->site.len; i++) {
        const struct feature_site *t = &n->site.data[i];
        bool reads = false;
        int common = 0;
        for (int k = 1; k < t->n_accesses; k++)
            reads = reads || t->access[k].buffer == s->store->buffer;
        while (common < s->n_loops && common < t->n_loops && s->loop[common] == t->loop[common])
            common++;
        if (reads && t != s && common > best)
            best = common;
    }
    return best;
}

static void layout_columns(const struct nest *n, const struct feature_site *s,
                           const struct feature_opts *o, float *row)
{
    const struct func *f = n->f;
    const struct buffer *out = &f->buffer[s->store->buffer];
    int tile = 0, conversions = 0;        /* tile: the first loop of the tile */
    double all = 0;
    while (tile < s->n_loops && !n->level.data[s->loop[tile]].loop->reduce)
        tile++;
    for (int i = 0; i < f->graph->n_nodes; i++)
        conversions += strcmp(f->graph->node[i].op, "convert") == 0;
    for (int k = 0; k < 3; k++) {
        const struct feature_access *x = operand(s, k);
        double bytes = x ? x->touched[tile] * x->bytes : 0;
        row[FEATURE_OUT_EXPANSION + k] = feature_scale(x ? expansion(f, x->buffer) : 0);
        row[FEATURE_OUT_TILE_BYTES + k] = feature_scale(bytes);
        all += bytes;
    }
    row[FEATURE_CONVERSIONS] = feature_scale(conversions);
    double l1 = (double)(o->l1_bytes > 0 ? o->l1_bytes : 32 << 10);
    double l2 = (double)(o->l2_bytes > 0 ? o->l2_bytes : 1 << 20);
    row[FEATURE_TILE_OF_L1] = feature_scale(all / l1);
    row[FEATURE_TILE_OF_L2] = feature_scale(all / l2);
    if (out->rank > 0)
        row[FEATURE_LAST_DIM_LANES] =
            feature_scale((double)out->shape[out->rank - 1] / (o->lanes > 0 ? o->lanes : 16));
    row[FEATURE_DIVMOD_FREE] = divmod_free(n, s);
    row[FEATURE_SHARED_LOOPS] = feature_scale(shared_loops(n, s));
}

/* --- Rows ------------------------------------------------------------------------------------ */

/* Returns the statement that represents all statements that write a buffer: the one with the most
 * work.  In literal mode it is the last one, as in TVM. */
static const struct feature_site *chief(const struct nest *n, int buffer)
{
    const struct feature_site *best = NULL;
    for (int i = 0; i < n->site.len; i++) {
        const struct feature_site *s = &n->site.data[i];
        if (s->store->buffer == buffer && (!best || n->literal || s->work >= best->work))
            best = s;
    }
    return best;
}

/* Returns the buffer that the statement with the most work writes. */
static int main_buffer(const struct nest *n)
{
    const struct feature_site *best = &n->site.data[0];
    for (int i = 1; i < n->site.len; i++)
        best = n->site.data[i].work > best->work ? &n->site.data[i] : best;
    return best->store->buffer;
}

static int columns_of(const struct feature_opts *o)
{
    return o->code ? FEATURES_ALL : o->layout ? FEATURES_LAYOUT : FEATURES;
}

static void fill_row(struct nest *n, int buffer, const struct feature_opts *o, float *row)
{
    const struct feature_site *s = chief(n, buffer);
    op_columns(n, buffer, row);
    annotation_columns(n, s, LOOP_VECTORIZE, row + FEATURE_VEC_NUM);
    annotation_columns(n, s, LOOP_UNROLL, row + FEATURE_UNROLL_NUM);
    annotation_columns(n, s, LOOP_PARALLEL, row + FEATURE_PARALLEL_NUM);
    for (int i = FEATURE_BLOCK_X_LEN; i <= FEATURE_VTHREAD_LEN; i++)
        row[i] = feature_scale(1);
    access_columns(n, s, row);
    intensity_columns(n, s, row);
    loop_columns(n, s, row);
    if (o->layout)
        layout_columns(n, s, o, row);
    if (o->code && buffer == main_buffer(n))
        feature_work_columns(n->f, o, row);
}

static bool fill_rows(struct arena *a, struct nest *n, const struct feature_opts *o,
                      struct features *out, struct err *e)
{
    VEC(int) buffers = { 0 };
    bool *done = ARENA_ARRAY(n->a, bool, n->f->n_buffers);
    for (int i = 0; i < n->site.len; i++) {
        int b = n->site.data[i].store->buffer;
        if (!done[b])
            vec_push(&buffers, b);
        done[b] = true;
    }
    struct features f = { .rows = buffers.len, .columns = columns_of(o) };
    f.x = ARENA_ARRAY(a, float, f.rows * f.columns);
    for (int i = 0; i < f.rows; i++)
        fill_row(n, buffers.data[i], o, f.x + i * f.columns);
    vec_free(&buffers);
    for (int i = 0; i < f.rows * f.columns; i++)
        if (!isfinite(f.x[i]))
            return err_set(e, ERR_BUG, "feature %s is not a finite number",
                           feature_name[i % f.columns]);
    *out = f;
    return true;
}

bool features_of(struct arena *a, const struct func *f, const struct feature_opts *o,
                 struct features *out, struct err *e)
{
    static const struct feature_opts ours;
    struct arena *scratch = arena_new();
    struct feature_walk w = { .n = { .a = scratch, .f = f }, .prod = 1 };
    o = o ? o : &ours;
    w.n.literal = o->literal;
    w.n.span = ARENA_ARRAY(scratch, struct span, exprs_n_vars(f->pool) + 1);
    w.n.value = ARENA_ARRAY(scratch, int64_t, exprs_n_vars(f->pool) + 1);
    w.scope_prod = ARENA_ARRAY(scratch, double, f->n_buffers);
    for (int i = 0; i < f->n_roots; i++)
        walk(&w, f->root[i]);
    for (int i = 0; i < w.n.site.len; i++)
        feature_touched(&w.n, &w.n.site.data[i]);
    feature_level_bytes(&w.n);
    feature_group_pieces(&w.n);
    bool ok = w.n.site.len > 0 ? fill_rows(a, &w.n, o, out, e)
                               : err_set(e, ERR_STEP, "the program stores nothing");
    vec_free(&w.path);
    vec_free(&w.all);
    vec_free(&w.n.level);
    vec_free(&w.n.site);
    arena_free(scratch);
    return ok;
}

uint64_t features_hash(const struct features *f)
{
    return hash_bytes(f->x, (uint64_t)f->rows * (uint64_t)f->columns * sizeof *f->x,
                      (uint64_t)f->columns);
}
