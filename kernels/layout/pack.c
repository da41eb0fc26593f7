/* Moves data into and out of a layout (SPEC A.0, I3), primitive by primitive.
 *
 * Fuses, and splits that divide, move nothing.  A reorder transposes.  The other primitives see
 * the tensor as (outer, dims, inner), where dims are the dims that they change, and gather along
 * dims: element q of the result is element map[q] of the source, or 0 when map[q] < 0.  Unpacking
 * reads the canonical copy of an element.
 * This file uses the primitives only, not rho and phi, so that tests can compare the two. */
#include "kernels/layout/layout_impl.h"
#include "kernels/ops/winograd.h"
#include <stdlib.h>
#include <string.h>

#define TILE 16
#define INLINE static inline __attribute__((always_inline))

struct pack_gather { int64_t n_outer, n_src, n_dst, n_inner; int64_t *map; };

/* Gathers rows of `row` bytes. */
INLINE void gather_rows(const struct pack_gather *g, int64_t row, const char *src, char *dst)
{
    for (int64_t o = 0; o < g->n_outer; o++, src += g->n_src * row) {
        for (int64_t q = 0; q < g->n_dst; q++, dst += row) {
            if (g->map[q] < 0)
                memset(dst, 0, (size_t)row);
            else
                memcpy(dst, src + g->map[q] * row, (size_t)row);
        }
    }
}

/* Gathers rows. A row of 4 or 8 bytes becomes one load and one store. */
static void run_gather(const struct pack_gather *g, int bytes, const char *src, char *dst)
{
    const int64_t row = g->n_inner * bytes;
    if (row == 4)
        gather_rows(g, 4, src, dst);
    else if (row == 8)
        gather_rows(g, 8, src, dst);
    else
        gather_rows(g, row, src, dst);
}

static int64_t count(const int64_t *shape, int from, int to)
{
    int64_t n = 1;
    for (int k = from; k < to; k++)
        n *= shape[k];
    return n;
}

/* Maps the positions in n tiles of a dim of `size` elements to the elements that they hold, or to
 * -1 beyond the end of the dim. */
static void map_to_tiles(int64_t *map, int64_t n, int64_t tile, int64_t stride, int64_t size)
{
    for (int64_t q = 0; q < n * tile; q++) {
        const int64_t at = q / tile * stride + q % tile;
        map[q] = at < size ? at : -1;
    }
}

/* Maps position i of the dim to its canonical copy among n tiles, or to -1 when it was trimmed. */
static void map_from_tiles(int64_t *map, int64_t n, int64_t tile, int64_t stride, int64_t size)
{
    for (int64_t i = 0; i < size; i++) {
        const int64_t t = i / stride < n - 1 ? i / stride : n - 1, offset = i - stride * t;
        map[i] = offset < tile ? t * tile + offset : -1;
    }
}

/* Maps dst position q to src position q + shift, or to -1 if src has no such position. */
static void map_shift(int64_t *map, int64_t n_dst, int64_t n_src, int64_t shift)
{
    for (int64_t q = 0; q < n_dst; q++)
        map[q] = q + shift >= 0 && q + shift < n_src ? q + shift : -1;
}

static void fill_map(const struct prim *pr, const struct layout *before, const struct layout *after,
                     bool back, const struct pack_gather *g)
{
    const int k = pr->dim;
    const bool fold = pr->kind == PRIM_FOLD;
    const struct layout *tiles = fold ? before : after, *whole = fold ? after : before;
    switch (pr->kind) {
    case PRIM_SPLIT: map_shift(g->map, g->n_dst, g->n_src, 0); return;
    case PRIM_PAD: map_shift(g->map, g->n_dst, g->n_src, back ? pr->before : -pr->before); return;
    case PRIM_UNPAD: map_shift(g->map, g->n_dst, g->n_src, back ? -pr->before : pr->before); return;
    case PRIM_UNFOLD:
    case PRIM_FOLD:
        if (back == fold)
            map_to_tiles(g->map, tiles->shape[k], tiles->shape[k + 1], pr->stride, whole->shape[k]);
        else
            map_from_tiles(g->map, tiles->shape[k], tiles->shape[k + 1], pr->stride,
                           whole->shape[k]);
        return;
    case PRIM_REORDER:
    case PRIM_FUSE:
    default: UNREACHABLE();
    }
}

static void move_along_dim(const struct prim *pr, const struct layout *before,
                           const struct layout *after, bool back, const char *src, char *dst)
{
    const int k = pr->dim;
    const struct layout *from = back ? after : before, *to = back ? before : after;
    struct pack_gather g = {
        .n_outer = count(from->shape, 0, k),
        .n_src = count(from->shape, k, k + prim_dims(pr, back)),
        .n_dst = count(to->shape, k, k + prim_dims(pr, !back)),
        .n_inner = count(from->shape, k + prim_dims(pr, back), from->rank),
    };
    g.map = xmalloc((size_t)g.n_dst * sizeof *g.map);
    fill_map(pr, before, after, back, &g);
    run_gather(&g, from->tensor->type->bytes, src, dst);
    free(g.map);
}

/* A transposition of a matrix.  In src, each column is contiguous, and columns are src_by_col
 * elements apart.  In dst, each row is contiguous, and rows are dst_by_row elements apart.  The
 * matrix is copied in blocks, so that src and dst are accessed by whole cache lines. */
struct turned { int64_t n_rows, n_cols, src_by_col, dst_by_row; };

INLINE void turn_elements(const struct turned *t, int64_t bytes, const char *src, char *dst)
{
    for (int64_t r = 0; r < t->n_rows; r += TILE)
        for (int64_t c = 0; c < t->n_cols; c += TILE) {
            const int64_t r_end = r + TILE < t->n_rows ? r + TILE : t->n_rows;
            const int64_t c_end = c + TILE < t->n_cols ? c + TILE : t->n_cols;
            for (int64_t i = r; i < r_end; i++)
                for (int64_t j = c; j < c_end; j++)
                    memcpy(dst + (i * t->dst_by_row + j) * bytes,
                           src + (j * t->src_by_col + i) * bytes, (size_t)bytes);
        }
}

static void turn(const struct turned *t, int bytes, const char *src, char *dst)
{
    if (bytes == 4)
        turn_elements(t, 4, src, dst);
    else if (bytes == 8)
        turn_elements(t, 8, src, dst);
    else
        turn_elements(t, bytes, src, dst);
}

/* Copies src so that dim j of dst is dim perm[j] of src.  The innermost dim of src and that of dst
 * span a matrix (or a row, if they are the same dim).  Each point of the other dims copies one such
 * matrix. */
static void transpose(const int64_t *src_shape, const int *perm, int rank, int bytes,
                      const char *src, char *dst)
{
    int64_t src_stride[MAX_DIMS], outer[MAX_DIMS], by_src[MAX_DIMS], by_dst[MAX_DIMS];
    int64_t point[MAX_DIMS] = { 0 }, n_src = 1, n_dst = 1;
    int row = 0, col = 0;  /* positions in dst.  row: innermost dim of src; col: that of dst */
    for (int j = rank - 1; j >= 0; j--) {
        src_stride[j] = n_src;
        n_src *= src_shape[j];
    }
    for (int j = rank - 1; j >= 0; j--) {
        outer[j] = src_shape[perm[j]];
        by_src[j] = src_stride[perm[j]];
        by_dst[j] = n_dst;
        if (outer[j] > 1 && by_src[j] == 1)
            row = j;
        if (outer[j] > 1 && n_dst == 1)
            col = j;
        n_dst *= outer[j];
    }
    const struct turned t = { outer[row], outer[col], by_src[col], by_dst[row] };
    outer[row] = outer[col] = 1;
    do {
        const char *from = src;
        char *to = dst;
        for (int j = 0; j < rank; j++) {
            from += point[j] * by_src[j] * bytes;
            to += point[j] * by_dst[j] * bytes;
        }
        if (row == col)
            memcpy(to, from, (size_t)(t.n_cols * bytes));
        else
            turn(&t, bytes, from, to);
    } while (layout_next_point(point, outer, rank));
}

static void move_reorder(const struct prim *pr, const struct layout *before,
                         const struct layout *after, bool back, const char *src, char *dst)
{
    int inverse[MAX_DIMS] = { 0 };
    for (int j = 0; j < pr->n; j++)
        inverse[pr->perm[j]] = j;
    transpose(back ? after->shape : before->shape, back ? inverse : pr->perm, pr->n,
              after->tensor->type->bytes, src, dst);
}

/* Whether the primitive moves no bytes. */
static bool is_still(const struct prim *pr, const struct layout *before, const struct layout *after)
{
    if (pr->kind == PRIM_SPLIT)
        return before->elems == after->elems;
    return pr->kind == PRIM_FUSE;
}

/* Runs the moves of all primitives forwards (pack) or backwards. The last move writes to dst. */
static void move_all(const struct layout *l, bool back, const char *src, char *dst)
{
    const struct layout **chain = layout_chain(l);
    const int n = l->n_prims;
    const size_t bytes = (size_t)l->tensor->type->bytes;
    int left = 0;
    for (int i = 0; i < n; i++)
        left += !is_still(&l->prims[i], chain[i], chain[i + 1]);
    if (left == 0)
        memcpy(dst, src, (size_t)l->elems * bytes);
    char *mine = NULL;
    for (int step = 0; step < n; step++) {
        const int i = back ? n - 1 - step : step;
        const struct prim *pr = &l->prims[i];
        const struct layout *before = chain[i], *after = chain[i + 1];
        if (is_still(pr, before, after))
            continue;
        const int64_t n_to = (back ? before : after)->elems;
        char *to = --left ? xmalloc_elems((size_t)n_to, bytes) : dst;
        if (pr->kind == PRIM_REORDER)
            move_reorder(pr, before, after, back, src, to);
        else
            move_along_dim(pr, before, after, back, src, to);
        free(mine);
        src = mine = to;
    }
    free(chain);
}

void layout_pack(const struct layout *l, const void *logical, void *phys)
{
    move_all(l, false, logical, phys);
}

void layout_pack_given(const struct layout *l, const void *given, void *phys)
{
    const struct tensor *t = l->tensor;
    if (!t->winograd) {
        layout_pack(l, given, phys);
        return;
    }
    int64_t n = tensor_elems(t), n_given = winograd_n_weights(t);
    double *weights = xmalloc_elems((size_t)n_given, sizeof *weights);
    double *value = xmalloc_elems((size_t)n, sizeof *value);
    void *logical = xmalloc_elems((size_t)n, (size_t)t->type->bytes);
    t->type->read(given, n_given, weights);
    winograd_transform(t, weights, value);
    t->type->write(value, n, logical);
    layout_pack(l, logical, phys);
    free(weights);
    free(value);
    free(logical);
}

void layout_unpack(const struct layout *l, const void *phys, void *logical)
{
    move_all(l, true, phys, logical);
}
