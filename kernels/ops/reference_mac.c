/* The reference for sums of products: Y[y] = init + sum over r of S[s(y, r)] * X[x(y, r)], perhaps
 * only over the r where a test holds.
 *
 * Spatial variables that occur only in S index the rows of a matrix product, and those that occur
 * only in X index its columns.  Each value of the other variables (the batch) has a product of its
 * own.  There is one exception, for an S without a variable of its own: a variable of both factors
 * then indexes the rows if X depends on it only through the index of a group, such as o / 8.  In
 * this case, each block of rows stays in one group.
 *
 * A task evaluates the factors of a block of rows and columns, and multiplies them with mat_mul.
 * Where the offset of a load is f(y) + g(r), g is a table of the node, and f one of the block.  Any
 * other X is evaluated by rows, whatever its indices and tests are.
 *
 * With how.single, every product and every sum is rounded to float32, in the order of the
 * definition, as row_eval does, so the results have the same bits. */
#include "kernels/ops/reference_impl.h"

#include <stdlib.h>
#include <string.h>
#include "kernels/base/mat.h"
#include "kernels/base/number.h"

#define ROWS 128                          /* most rows of a block */
#define COLUMNS 512                       /* most columns of a block */
#define RESULTS (128 * 128)               /* most rows * columns */
#define CHUNK 128                         /* points of the reduction that are multiplied at once */
#define LEAST 8  /* with fewer columns, evaluating the factors costs more than it saves */

/* One factor of the products: S, whose points are the rows of the matrix, or X. */
struct factor {
    const struct val *v;
    unsigned dims;  /* bit d: its points run over spatial variable d */
    struct rows rows;
    int64_t n;                            /* number of points */
    int64_t group;  /* of S: X is the same for this many consecutive points; 0: for all */
    int64_t step;                         /* distance between the loads of neighbouring points */
    int block;                            /* number of points in a block */
    /* offset[r]: the part g(r) of the offset of v at point r of the reduction; NULL: v is not a
     * load, or its offset is not a sum f(y) + g(r) */
    int64_t *offset;
};

/* Factor 0 is S, which has offsets; X may be any expression. */
struct mac {
    const struct row_plan *p;
    struct product_bound bound;
    struct factor of[2];
    struct val tested;  /* a select: the factor where the test holds, else 0; unused without test */
    struct rows batch;
    int chunk;
    int64_t blocks[2];                    /* number of blocks of each factor */
};

/* A block of rows and columns, for up to CHUNK points r of the reduction, and its results.  It has
 * n[k] points of factor k, from point first[k] on.  The values and errors of S are stored row by
 * row, those of X one r after the other.  Values beyond n[k], up to the size of a block, are 0.
 * out: the offset of the batch in the output. */
struct mac_block {
    int64_t out, first[2];
    int n[2];
    int64_t offset[2][COLUMNS];           /* per point y: the part f(y) of the offset */
    bool dense;                           /* whether the elements of X are adjacent */
    double *value[2], *error[2], *sum, *squares;
    /* The values and the sum in single precision; only with how.single. */
    f32 *single[2], *single_sum;
};

/* Returns a c such that e is the same for all var in [i * c, i * c + c), or 0 if e does not use
 * var. */
static int64_t group_of(const struct expr *e, const struct expr *var)
{
    if (e == var)
        return 1;
    if (!e->a)
        return 0;
    if (e->kind == EXPR_DIV && e->a == var)
        return e->b->value;
    return gcd(group_of(e->a, var), group_of(e->b, var));
}

static int64_t val_group_of(const struct val *v, const struct expr *var)
{
    int64_t c = v->cond ? group_of(v->cond, var) : 0;
    c = v->a ? gcd(c, val_group_of(v->a, var)) : c;
    c = v->b ? gcd(c, val_group_of(v->b, var)) : c;
    for (int i = 0; i < v->rank; i++)
        c = gcd(c, group_of(v->idx[i], var));
    return c;
}

/* Returns the spatial dims (bit d: dim d) whose variables v uses. */
static unsigned dims_of(const struct node *n, const struct val *v)
{
    unsigned dims = 0;
    for (int d = 0; d < n->n_spatial; d++)
        dims |= (unsigned)(val_group_of(v, n->spatial[d]) != 0) << d;
    return dims;
}

static int64_t points_of(const struct row_plan *p, unsigned dims)
{
    int64_t n = 1;
    for (int d = 0; d < p->n->n_spatial; d++)
        n *= dims >> d & 1 ? p->g->tensor[p->n->out].shape[d] : 1;
    return n;
}

/* If factor k has no variable of its own, looks for a variable of both factors that only selects a
 * group in factor 1 - k.  Makes it the variable of factor k. */
static void find_groups(struct mac *m, unsigned shared, int k)
{
    const struct node *n = m->p->n;
    for (int d = 0; d < n->n_spatial && !m->of[k].dims; d++) {
        int64_t c = shared >> d & 1 ? val_group_of(m->of[1 - k].v, n->spatial[d]) : 0;
        if (c > 1 && (n->spatial[d]->hi + 1) % c == 0) {
            m->of[k].dims = 1u << d;
            m->of[k].group = c;
        }
    }
}

/* Makes the factors from a product.  If the body has a test, factor k gets it. */
static void split(struct mac *m, const struct val *product, int k)
{
    const struct node *n = m->p->n;
    m->of[0] = (struct factor){ .v = product->a };
    m->of[1] = (struct factor){ .v = product->b };
    if (n->body != product) {
        m->tested = *n->body;
        m->tested.a = m->of[k].v;
        m->of[k].v = &m->tested;
    }
    unsigned a = dims_of(n, m->of[0].v), b = dims_of(n, m->of[1].v);
    m->of[0].dims = a & ~b;
    m->of[1].dims = b & ~a;
    find_groups(m, a & b, 0);
    if (!m->of[0].group)
        find_groups(m, a & b, 1);
    for (int i = 0; i < 2; i++)
        m->of[i].n = points_of(m->p, m->of[i].dims);
}

/* Finds the product in the body, and puts the test on the factor that gives the larger matrices.
 * Returns false if the node is no sum of products, both factors load one tensor, or the matrices
 * are too small. */
static bool find_factors(struct mac *m)
{
    const struct node *n = m->p->n;
    const struct val *v = n->body;
    if (v->kind == VAL_SELECT && val_is_const(v->b, 0))
        v = v->a;
    if (n->combine != COMBINE_SUM || v->kind != VAL_MUL || vals_share_tensor(v->a, v->b))
        return false;
    split(m, v, 0);
    int64_t points = m->of[0].n * m->of[1].n;
    split(m, v, 1);
    if (n->body != v && m->of[0].n * m->of[1].n < points)
        split(m, v, 0);
    return m->of[0].n >= LEAST || m->of[1].n >= LEAST;
}

static bool uses_any(const struct expr *e, const struct expr *const *vars, int n)
{
    bool uses = false;
    for (int i = 0; i < n; i++)
        uses |= expr_uses(e, vars[i]);
    return uses;
}

/* Whether e is a part over spatial variables plus a part over reduction variables. */
static bool splits(const struct node *n, const struct expr *e)
{
    if (!uses_any(e, n->spatial, n->n_spatial) || !uses_any(e, n->reduce, n->n_reduce))
        return true;
    bool is = e->kind == EXPR_ADD || (e->kind == EXPR_MUL && (e->a->kind == EXPR_CONST
                                                              || e->b->kind == EXPR_CONST));
    return is && splits(n, e->a) && splits(n, e->b);
}

/* Sets f->offset and f->step if the factor is a load whose offset is a sum f(y) + g(r). */
static void table_reduction(const struct mac *m, struct factor *f)
{
    const struct node *n = m->p->n;
    bool all = f->v->kind == VAL_LOAD;
    for (int d = 0; d < f->v->rank; d++)
        all = all && splits(n, f->v->idx[d]);
    if (!all)
        return;
    struct row_segment s = { m->p, &f->rows, row_env(m->p), 0, f->rows.len > 1 ? 2 : 1 };
    int64_t at[2] = { 0, 0 }, first = 0;
    f->offset = xmalloc_elems((size_t)m->p->terms, sizeof *f->offset);
    for (int64_t r = 0; r < m->p->terms; r++) {
        row_offsets(&s, f->v, at);
        first = r == 0 ? at[0] : first;
        f->offset[r] = at[0] - first;
        reference_next_point(n->reduce, n->n_reduce, s.env);
    }
    f->step = s.n > 1 ? at[1] - at[0] : 0;
    free(s.env);
}

/* Chooses S and X: S must have offsets; X should have many columns that are neighbours in memory.
 * Returns false when there are no such factors. */
static bool order_factors(struct mac *m)
{
    const struct factor a = m->of[0], b = m->of[1];
    bool better = a.n >= LEAST && b.n >= LEAST ? a.step < b.step : a.n > b.n;
    if (b.group || (!a.group && (!a.offset || (b.offset && better)))) {
        m->of[0] = b;
        m->of[1] = a;
    }
    return m->of[0].offset && m->of[1].n >= LEAST;
}

/* Sets s to the longest part of one row that starts at point i of factor k of the block.  Returns
 * the offset of that point in the output. */
static int64_t seek(const struct mac *m, const struct mac_block *b, int k, int64_t i,
                    struct row_segment *s)
{
    const struct factor *f = &m->of[k];
    int64_t n = b->n[k] - i < ROW_SEGMENT ? b->n[k] - i : ROW_SEGMENT;
    s->rows = &f->rows;
    s->i0 = (b->first[k] + i) % f->rows.len;
    s->n = f->rows.len - s->i0 < n ? f->rows.len - s->i0 : n;
    return rows_point(&f->rows, b->first[k] + i, s->env);
}

/* Computes the part f(y) of the offsets for the points of the block, with all reduction variables
 * at 0.  Leaves the variables of S at one of its points, because X uses them when there are
 * groups. */
static void table_points(const struct mac *m, struct mac_block *b, int64_t *env)
{
    struct row_segment s = { m->p, NULL, env, 0, 0 };
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < b->n[k] && m->of[k].offset; i += s.n) {
            seek(m, b, k, i, &s);
            row_offsets(&s, m->of[k].v, b->offset[k] + i);
        }
    b->dense = m->of[1].offset != NULL;
    for (int i = 1; i < b->n[1] && b->dense; i++)
        b->dense = b->offset[1][i] == b->offset[1][i - 1] + 1;
}

/* Loads S for n points of the reduction, at the offsets `at`.  If `from` is NULL (no errors), loads
 * zeros, as load_columns does. */
static void load_rows(const struct mac *m, const struct mac_block *b, const double *from,
                      const int64_t *at, int n, double *out)
{
    for (int i = 0; i < b->n[0]; i++, out += m->chunk)
        for (int r = 0; r < n; r++)
            out[r] = from ? from[b->offset[0][i] + at[r]] : 0;
}

/* Loads X for one point of the reduction. */
static void load_columns(const struct mac_block *b, const double *from, int64_t at, double *out)
{
    const int64_t *offset = b->offset[1];
    if (!from)
        memset(out, 0, (size_t)b->n[1] * sizeof *out);
    else if (b->dense)
        memcpy(out, from + at + offset[0], (size_t)b->n[1] * sizeof *out);
    else
        for (int i = 0; i < b->n[1]; i++)
            out[i] = from[at + offset[i]];
}

static void evaluate_columns(const struct mac *m, struct mac_block *b, double *value,
                             double *error, int64_t *env)
{
    struct row_segment s = { m->p, NULL, env, 0, 0 };
    for (int64_t i = 0; i < b->n[1]; i += s.n) {
        seek(m, b, 1, i, &s);
        row_values(&s, m->of[1].v, value + i, error ? error + i : NULL);
    }
}

/* Evaluates both factors at n points of the reduction, from point r on.  The variables in env must
 * have their values at point r; afterwards they have their values at point r + n. */
static void evaluate(const struct mac *m, struct mac_block *b, int64_t r, int n, int64_t *env)
{
    const struct row_how *how = &m->p->how;
    const struct factor *s = &m->of[0], *x = &m->of[1];
    double *value = b->value[1], *error = b->error[1];
    load_rows(m, b, how->data[s->v->source], s->offset + r, n, b->value[0]);
    if (how->error)
        load_rows(m, b, how->error[s->v->source], s->offset + r, n, b->error[0]);
    for (int64_t i = r; i < r + n; i++, value += x->block, error += error ? x->block : 0) {
        if (x->offset)
            load_columns(b, how->data[x->v->source], x->offset[i], value);
        if (x->offset && error)
            load_columns(b, how->error[x->v->source], x->offset[i], error);
        if (!x->offset)
            evaluate_columns(m, b, value, error, env);
        reference_next_point(m->p->n->reduce, m->p->n->n_reduce, env);
    }
}

/* Adds n terms to each sum of squares (struct product_bound).  Overwrites values and errors. */
static void add_squares(const struct mac *m, struct mac_block *b, int n)
{
    const int rows = m->of[0].block, columns = m->of[1].block;
    double c = m->bound.per_square, *s = b->value[0], *es = b->error[0];
    double *x = b->value[1], *ex = b->error[1], any = 0;
    for (int64_t i = 0; i < (int64_t)m->chunk * rows; i++) {
        s[i] *= s[i];
        es[i] *= es[i];
        any = es[i] > any ? es[i] : any;
    }
    for (int64_t i = 0; i < (int64_t)n * columns; i++) {
        double xx = x[i] * x[i], ee = ex[i] * ex[i];
        x[i] = c * xx + ee;
        ex[i] = xx + ee;
    }
    mat_mul(b->squares, (struct mat_view){ s, m->chunk, 1 }, x, rows, columns, n, true);
    if (any > 0)
        mat_mul(b->squares, (struct mat_view){ es, m->chunk, 1 }, ex, rows, columns, n, true);
}

static void narrow(const double *from, int64_t n, f32 *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (f32)from[i];
}

/* Adds n terms to each sum, in float32, because how.single asks for float32 rounding.  The values
 * of the factors are float32 numbers already, so narrow() changes none. */
static void add_single(const struct mac *m, const struct mac_block *b, int n)
{
    const int rows = m->of[0].block, columns = m->of[1].block;
    narrow(b->value[0], (int64_t)m->chunk * rows, b->single[0]);
    narrow(b->value[1], (int64_t)n * columns, b->single[1]);
    mat_mul_single(b->single_sum, (struct mat_view_single){ b->single[0], m->chunk, 1 },
                   b->single[1], rows, columns, n, true);
}

static void add_products(const struct mac *m, struct mac_block *b, int n)
{
    if (m->p->how.single)
        add_single(m, b, n);
    else
        mat_mul(b->sum, (struct mat_view){ b->value[0], m->chunk, 1 }, b->value[1],
                m->of[0].block, m->of[1].block, n, true);
    if (m->p->how.error)
        add_squares(m, b, n);
}

static void multiply(const struct mac *m, struct mac_block *b, int64_t *env)
{
    const struct node *n = m->p->n;
    first_point(n->reduce, n->n_reduce, env);
    table_points(m, b, env);
    for (int64_t r = 0; r < m->p->terms && !cancelled(m->p->how.cancel); r += m->chunk) {
        int64_t left = m->p->terms - r;
        int k = left < m->chunk ? (int)left : m->chunk;
        evaluate(m, b, r, k, env);
        add_products(m, b, k);
    }
}

static void store(const struct mac *m, const struct mac_block *b, int64_t *env)
{
    const struct row_plan *p = m->p;
    struct row_segment s = { p, NULL, env, 0, 0 };
    double *data = p->how.data[p->n->out] + b->out;
    double *error = p->how.error ? p->how.error[p->n->out] + b->out : NULL;
    int64_t at[2][COLUMNS];
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < b->n[k]; i += s.n) {
            int64_t first = seek(m, b, k, i, &s);
            for (int64_t j = 0; j < s.n; j++)
                at[k][i + j] = first + j * m->of[k].rows.stride;
        }
    for (int i = 0; i < b->n[0]; i++)
        for (int j = 0; j < b->n[1]; j++) {
            int64_t out = at[0][i] + at[1][j], from = (int64_t)i * m->of[1].block + j;
            data[out] = p->how.single ? (double)b->single_sum[from] : p->n->init + b->sum[from];
            if (error)
                error[out] = error_of_product(p, &m->bound, data[out], b->squares[from]);
            row_stored(p, 1, &data[out], error ? &error[out] : NULL);
        }
}

static void block_task(const void *ctx, int64_t task, int64_t *env)
{
    const struct mac *m = ctx;
    const int64_t rows = m->of[0].block, columns = m->of[1].block;
    const int64_t factors = m->chunk * (rows + columns), results = rows * columns;
    const bool bounds = m->p->how.error != NULL;
    double *x = xcalloc((size_t)(factors + results) * (bounds ? 2 : 1), sizeof *x);
    struct mac_block b;
    b.value[0] = x;
    b.error[1] = NULL;
    b.value[1] = x + m->chunk * rows;
    b.sum = x + factors;
    if (bounds) {
        b.error[0] = b.sum + results;
        b.error[1] = b.error[0] + m->chunk * rows;
        b.squares = b.error[0] + factors;
    }
    f32 *single = m->p->how.single ? xcalloc((size_t)(factors + results), sizeof *single) : NULL;
    if (single) {
        b.single[0] = single;
        b.single[1] = single + m->chunk * rows;
        b.single_sum = single + factors;
    }
    int64_t block[2] = { task / m->blocks[1] % m->blocks[0], task % m->blocks[1] };
    b.out = rows_point(&m->batch, task / (m->blocks[0] * m->blocks[1]), env);
    for (int k = 0; k < 2; k++) {
        const struct factor *f = &m->of[k];
        b.first[k] = block[k] * f->block;
        b.n[k] = (int)(f->n - b.first[k] < f->block ? f->n - b.first[k] : f->block);
    }
    multiply(m, &b, env);
    store(m, &b, env);
    free(single);
    free(x);
}

/* Sets the block sizes, if possible to multiples of 4 rows and 16 columns, which suit mat_mul. */
static void set_blocks(struct factor *s, struct factor *x)
{
    int64_t rows = s->group ? s->group : s->n < 4 ? s->n : (s->n + 3) / 4 * 4;
    s->block = (int)(rows < ROWS ? rows : ROWS);
    while (s->group && s->group % s->block)
        s->block--;
    int64_t columns = (x->n + 15) / 16 * 16, most = RESULTS / s->block / 16 * 16;
    most = most < COLUMNS ? most : COLUMNS;
    x->block = (int)(columns < most ? columns : most);
}

bool mac_eval(const struct row_plan *p)
{
    struct mac m = { .p = p, .bound = product_bound(p) };
    m.chunk = (int)(p->terms < CHUNK ? p->terms : CHUNK);
    if ((p->how.single && (p->type != &type_f32 || p->n->init != 0)) || !find_factors(&m))
        return false;
    for (int k = 0; k < 2; k++) {
        m.of[k].rows = rows_of(p, m.of[k].dims);
        table_reduction(&m, &m.of[k]);
    }
    bool ok = order_factors(&m);
    if (ok) {
        set_blocks(&m.of[0], &m.of[1]);
        m.batch = rows_of(p, ~(m.of[0].dims | m.of[1].dims));
        int64_t products = m.batch.n_points * m.batch.len;
        for (int k = 0; k < 2; k++)
            products *= m.blocks[k] = (m.of[k].n + m.of[k].block - 1) / m.of[k].block;
        each_task(p, products, block_task, &m);
    }
    free(m.of[0].offset);
    free(m.of[1].offset);
    return ok;
}
