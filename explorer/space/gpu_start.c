/* The point of a GPU's space that a person would try first. */
#include "explorer/space/gpu_space.h"

#include <math.h>

#define DRAWS 600
#define SEED 1
#define MULTIPROCESSORS 132.0  /* number of multiprocessors of an H100, as in the experts */
#define ENOUGH_THREADS 128.0              /* threads of a block that suffice to hide latencies */
#define ENOUGH_RESIDENT 256.0  /* threads of a multiprocessor that suffice (EXPERT_WARPS) */

/* Scores a point as the expert schedules do: by the share of multiprocessors that work, the
 * multiply-adds per element read, the share of multiply-adds that lie inside the extents, and
 * whether there are enough threads and sums per thread to hide latencies. */
static double score(const struct loop_space *s, const struct loop_point *p)
{
    const struct gpu_nest *g = s->gpu;
    struct gpu_need n = gpu_need_of(g, p);
    double waves = ceil((double)n.blocks / MULTIPROCESSORS), used = 1, part[OPERANDS] = { 1, 1 };
    double reads = 0, tile = 1;
    for (int a = 0; a < g->n_axes; a++) {
        struct gpu_sizes x = gpu_sizes_of(g, p, a);
        double inner = (double)(x.vthread * x.thread * x.tile);
        used *= (double)g->axis[a].extent / ((double)x.outer * inner);
        if (a >= g->n_output)
            continue;
        tile *= inner;
        for (int o = 0; o < OPERANDS; o++)
            part[o] *= g->operand[o].axes >> a & 1 ? inner : 1;
    }
    for (int o = 0; o < OPERANDS; o++)
        if (g->operand[o].name)
            reads += gpu_from_of(&g->operand[o], p) == FROM_GLOBAL ? 2 * part[o] : part[o];
    double sums = (double)n.sums;
    double together = n.shared > 0 ? floor((double)s->opts.shared / (double)n.shared)
                                   : ENOUGH_RESIDENT;
    return (double)n.blocks / (MULTIPROCESSORS * waves) * tile / (tile + 16 * reads)
         * used * fmin(1, (double)n.threads / ENOUGH_THREADS) * sums / (sums + 4)
         * fmin(1, together * (double)n.threads / ENOUGH_RESIDENT);
}

void gpu_point_start(const struct loop_space *s, struct loop_point *p)
{
    struct rng r = rng_seed(SEED);
    double best = -1;
    for (int i = 0; i < DRAWS; i++) {
        struct loop_point q = { 0 };
        for (int k = 0; k < s->n; k++)
            q.v[k][0] = rng_range(&r, 0, s->knob[k].n_choices - 1);
        gpu_point_fit(s, &q);
        double x = gpu_point_sound(s, &q, NULL) ? score(s, &q) : -1;
        if (x > best) {
            best = x;
            *p = q;
        }
    }
    if (best < 0)
        *p = (struct loop_point){ 0 };
}
