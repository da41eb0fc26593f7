#include "profile/machine/network_profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/nest/tree.h"

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
        m->executed_gflops = func_bounding(t->func, needed);
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
