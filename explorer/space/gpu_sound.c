/* The threads, registers and memory that a point of a GPU's space takes, and whether the point is
 * worth compiling. */
#include "explorer/space/gpu_space.h"

#include "kernels/base/number.h"
#include "kernels/nest/tree.h"

#define WARP 32
#define MOST_REGISTERS 255
#define OTHER_REGISTERS 24                /* an estimate for addresses and counters */
#define MOST_BODY 512                     /* most unrolled statements */
#define MOST_WASTE 2  /* blocks of an axis may cover at most this multiple of its extent */

static bool refuse(struct err *e, const char *why, int64_t n)
{
    return e ? err_set(e, ERR_RANGE, why, (long long)n) : false;
}

static int64_t part_of(const struct loop_point *p, struct gpu_part x)
{
    return x.knob >= 0 ? x.value[p->v[x.knob][0]] : 1;
}

struct gpu_sizes gpu_sizes_of(const struct gpu_nest *g, const struct loop_point *p, int axis)
{
    const struct gpu_axis *x = &g->axis[axis];
    struct gpu_sizes s = { 1, part_of(p, x->vthread), part_of(p, x->thread), part_of(p, x->tile) };
    int64_t inner = s.vthread * s.thread * s.tile;
    s.outer = (x->extent + inner - 1) / inner;
    return s;
}

/* Returns how many elements a block of threads reads along a dim of an operand between two copies,
 * including elements past the end of the dim.  Returns the extent of the dim if the index decreases
 * along an axis. */
static int64_t span_of(const struct gpu_nest *g, const struct loop_point *p,
                       const struct gpu_operand *o, int dim)
{
    int64_t span = 1;
    for (int a = 0; a < g->n_axes; a++) {
        struct gpu_sizes s = gpu_sizes_of(g, p, a);
        if (o->coef[dim][a] < 0)
            return o->shape[dim];
        span += o->coef[dim][a] * (s.vthread * s.thread * s.tile - 1);
    }
    return span;
}

/* Returns the bytes of an operand's tile. */
static int64_t tile_bytes(const struct gpu_nest *g, const struct loop_point *p,
                          const struct gpu_operand *o)
{
    int64_t n = o->bytes;
    for (int d = 0; d < o->rank; d++) {
        bool padded = d == o->rank - 1 && gpu_from_of(o, p) == FROM_SHARED_PAD;
        n *= span_of(g, p, o, d) + (padded ? 16 / o->bytes : 0);
    }
    return n;
}

/* Whether every swizzled tile has several rows, and each row has a power of two elements and more
 * than the 16 bytes that the swizzle keeps together. */
static bool swizzle_sound(const struct gpu_nest *g, const struct loop_point *p, struct err *e)
{
    for (int i = 0; i < OPERANDS; i++) {
        const struct gpu_operand *o = &g->operand[i];
        if (!o->name || !o->known || gpu_from_of(o, p) != FROM_SHARED_SWIZZLE)
            continue;
        int64_t rows = 1, row = span_of(g, p, o, o->rank - 1);
        for (int d = 0; d + 1 < o->rank; d++)
            rows *= span_of(g, p, o, d);
        if (!is_power_of_two(row) || row * o->bytes <= 16 || rows == 1)
            return refuse(e, "rows of %lld elements, which cannot be swizzled", row);
    }
    return true;
}

bool gpu_is_stored(const struct gpu_nest *g, const struct gpu_operand *o)
{
    return o->name && o->known && !o->padding && o->bytes == g->bytes;
}

int64_t gpu_stages(const struct gpu_nest *g, const struct loop_point *p)
{
    return 1 + knob_choice(p, g->k_stages, 0);
}

int gpu_copies_at(const struct gpu_nest *g, const struct loop_point *p)
{
    int at = -1;
    for (int a = g->n_output; a < g->n_axes; a++)
        at = gpu_sizes_of(g, p, a).outer > 1 ? a : at;
    return at;
}

/* Whether asynchronous copies can fill the tile of an operand: the tile lies within the operand,
 * and each copy has at least 4 bytes. */
static bool copied_async(const struct gpu_nest *g, const struct loop_point *p,
                         const struct gpu_operand *o)
{
    if (!gpu_is_stored(g, o) || gpu_from_of(o, p) == FROM_GLOBAL)
        return false;
    int last = o->rank - 1;
    int64_t wide = g->bytes < 4 ? 16 / g->bytes : 1;     /* elements of the smallest copy */
    bool ok = o->shape[last] % wide == 0 && span_of(g, p, o, last) % wide == 0;
    for (int a = 0; a < g->n_axes; a++) {
        struct gpu_sizes s = gpu_sizes_of(g, p, a);
        int64_t inner = s.vthread * s.thread * s.tile;
        if (o->axes >> a & 1)
            ok = ok && s.outer * inner == g->axis[a].extent
              && (s.outer == 1 || o->coef[last][a] * inner % wide == 0);
    }
    return ok;
}

/* Whether the pipeline of a point is legal: the inner parts divide their reductions, some tile is
 * copied asynchronously, and the pipelined loop has at least one iteration per stage.  A point with
 * one stage has no pipeline and is legal. */
static bool stages_sound(const struct gpu_nest *g, const struct loop_point *p, struct err *e)
{
    int64_t stages = gpu_stages(g, p);
    int at = gpu_copies_at(g, p);
    bool copied = false, whole = true;
    for (int a = g->n_output; a < g->n_axes; a++) {
        struct gpu_sizes s = gpu_sizes_of(g, p, a);
        whole = whole && s.outer * s.tile == g->axis[a].extent;
    }
    for (int i = 0; i < OPERANDS; i++)
        copied = copied || copied_async(g, p, &g->operand[i]);
    return stages == 1 || (at >= 0 && whole && copied && gpu_sizes_of(g, p, at).outer >= stages)
        || refuse(e, "%lld stages, and no loop that can be pipelined with them", stages);
}

void gpu_point_fit(const struct loop_space *s, struct loop_point *p)
{
    while (gpu_stages(s->gpu, p) > 1 && !stages_sound(s->gpu, p, NULL))
        p->v[s->gpu->k_stages][0]--;
}

struct gpu_need gpu_need_of(const struct gpu_nest *g, const struct loop_point *p)
{
    struct gpu_need n = { .threads = 1, .sums = 1, .registers = OTHER_REGISTERS, .blocks = 1 };
    int64_t read[OPERANDS] = { 1, 1 };
    for (int a = 0; a < g->n_output; a++) {
        struct gpu_sizes s = gpu_sizes_of(g, p, a);
        n.threads *= s.thread;
        n.blocks *= s.outer;
        n.sums *= s.vthread * s.tile;
        for (int o = 0; o < OPERANDS; o++)
            read[o] *= g->operand[o].axes >> a & 1 ? s.vthread * s.tile : 1;
    }
    n.registers += n.sums;
    for (int o = 0; o < OPERANDS; o++) {
        const struct gpu_operand *x = &g->operand[o];
        n.registers += x->name ? read[o] : 0;
        if (x->name && x->known && gpu_from_of(x, p) != FROM_GLOBAL)
            n.shared += shared_room(tile_bytes(g, p, x)
                                    * (copied_async(g, p, x) ? gpu_stages(g, p) : 1));
    }
    return n;
}

int gpu_index_of(const struct gpu_nest *g, int axis)
{
    int index = 0;
    for (int a = axis + 1; a < g->n_output; a++)
        index += g->axis[a].extent > 1;
    return index < 2 ? index : 2;
}

int gpu_innermost(const struct gpu_nest *g, const struct loop_point *p)
{
    for (int a = g->n_output; a < g->n_axes; a++)
        if (gpu_sizes_of(g, p, a).tile > 1)
            return a;
    return -1;
}

static bool indices_sound(const struct gpu_nest *g, const struct loop_point *p, struct err *e)
{
    int64_t blocks[3] = { 1, 1, 1 }, threads_z = 1;
    for (int a = 0; a < g->n_output; a++) {
        struct gpu_sizes s = gpu_sizes_of(g, p, a);
        int index = gpu_index_of(g, a);
        blocks[index] *= s.outer;
        threads_z *= index == 2 ? s.thread : 1;
    }
    for (int i = 1; i < 3; i++)
        if (blocks[i] > loop_bound_limit(LOOP_BLOCK_X + (enum loop_ann)i))
            return refuse(e, "%lld blocks along y or z, more than 65535", blocks[i]);
    return threads_z <= loop_bound_limit(LOOP_THREAD_Z)
        || refuse(e, "%lld threads along z, more than 64", threads_z);
}

/* Whether the blocks of every axis cover at most MOST_WASTE times its extent. */
static bool extents_sound(const struct gpu_nest *g, const struct loop_point *p, struct err *e)
{
    for (int a = 0; a < g->n_axes; a++) {
        struct gpu_sizes s = gpu_sizes_of(g, p, a);
        int64_t inner = s.vthread * s.thread * s.tile;
        if (inner > 1 && s.outer * inner > MOST_WASTE * g->axis[a].extent)
            return refuse(e, "blocks of %lld elements cover more than twice the extent of their "
                          "axis", inner);
    }
    return true;
}

bool gpu_point_sound(const struct loop_space *s, const struct loop_point *p, struct err *e)
{
    const struct gpu_nest *g = s->gpu;
    struct gpu_need n = gpu_need_of(g, p);
    int64_t elems = 1;
    int last = knob_choice(p, g->k_unroll, 0) ? gpu_innermost(g, p) : -1;
    for (int a = 0; a < g->n_output; a++)
        elems *= g->axis[a].extent;
    if (n.threads > BLOCK_THREADS)
        return refuse(e, "%lld threads in a block, more than 1024", n.threads);
    if (n.threads < WARP && n.threads < elems)
        return refuse(e, "%lld threads in a block, less than a warp", n.threads);
    if (n.registers > MOST_REGISTERS)
        return refuse(e, "about %lld registers, more than 255", n.registers);
    if (n.shared > s->opts.shared)
        return refuse(e, "%lld bytes of shared memory, more than a block has", n.shared);
    if (n.sums * (last >= 0 ? gpu_sizes_of(g, p, last).tile : 1) > MOST_BODY)
        return refuse(e, "a body of more than %lld statements", MOST_BODY);
    return extents_sound(g, p, e) && swizzle_sound(g, p, e) && indices_sound(g, p, e)
        && stages_sound(g, p, e);
}
