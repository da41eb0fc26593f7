#include "profile/machine/network_profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/nest/tree.h"

/* Returns how many of `needed` operations bound the time, if a CPU has as many units for additions
 * alone as for multiply-adds, as Zen cores have.  The p products of elements take p turns of the
 * FMA units.  All q products, also those with constants, may each take one addition along; with the
 * other additions, for example in Winograd's transforms, they take needed - q turns of all units.
 * At the peak, two operations count for each turn of an FMA unit.  At least 1, so that a kernel
 * without arithmetic gets a bound, from its bytes. */
static double bounding_flops(const struct func *f, double needed)
{
    double p = fmin(func_products(f, false), needed / 2);
    double q = fmin(func_products(f, true), needed / 2);
    return fmax(1, fmax(2 * p, needed - q));
}

void network_profile(const struct machine_model *model, const struct network *net, int threads,
                     const char *isa, struct kernel_profile *out)
{
    struct measurement *m = xcalloc(1, sizeof *m);
    struct roofline r;
    m->threads = threads;
    snprintf(m->isa, sizeof m->isa, "%s", isa);
    for (int i = 0; i < net->n_tasks; i++) {
        const struct network_task *t = &net->task[i];
        const struct graph *g = t->program->base;
        double flops = fmax(g->flops, 1);
        m->gflops = flops;                /* only executed_gflops / gflops matters */
        double needed = func_needed(t->func, flops);
        m->executed_gflops = bounding_flops(t->func, needed);
        roofline_of(model, flops, g->bytes, m, &r);
        out[i] = (struct kernel_profile){ .flops = t->count * g->flops,
                                          .executed = t->count * fmin(g->flops, needed),
                                          .bytes = t->count * g->bytes, .by = r.by };
        if (r.bound > 0)
            out[i].bound_s = t->count * 1e-9 * m->executed_gflops / r.bound;
    }
    free(m);
}

double network_profile_bound(const struct network *net, const struct kernel_profile *p)
{
    double sum = 0;
    for (int i = 0; i < net->n_tasks; i++)
        sum += p[i].bound_s;
    return sum;
}
