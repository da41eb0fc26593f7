#include "profile/roofline.h"

#include <string.h>

/* Bytes that cross from level `from` inwards, by the simulator: lines fetched and lines written
 * back.  False when it says nothing of that edge, or simulated other caches than this machine's. */
static bool simulated_bytes(const struct machine_model *model, const struct measurement *m,
                            enum model_level from, double *bytes)
{
    const struct sim_result *s = m ? &m->sim : NULL;
    int inner = (int)from - 1;
    if (!s || !s->available || inner < 0 || inner >= s->cache.n_levels)
        return false;
    for (int i = 0; model && i <= inner; i++)
        if (model->level[i].capacity != s->cache.level[i].geometry.size_bytes)
            return false;
    *bytes = (double)sim_bytes_below(s, inner);
    return *bytes > 0;
}

static enum model_level home_of(const struct machine_model *model, double bytes)
{
    for (int i = 0; i < MODEL_DRAM; i++)
        if ((double)model->level[i].capacity >= bytes)
            return (enum model_level)i;
    return MODEL_DRAM;
}

static void add_roof(const struct machine_model *model, int threads, enum model_level from,
                     double flops, double bytes, struct roofline *r)
{
    double rate = rates_of(&model->level[from].load, threads, model->cores);
    if (rate > 0 && bytes > 0)
        r->roof[r->n++] = (struct roof){ from, bytes, flops / bytes, rate * flops / bytes };
}

static void add_roofs(const struct machine_model *model, int threads, double flops, double bytes,
                      const struct measurement *m, struct roofline *r)
{
    r->home = home_of(model, bytes);
    for (int i = MODEL_L1; i <= (int)r->home; i++) {
        double crossing = 0;
        bool known = simulated_bytes(model, m, (enum model_level)i, &crossing);
        if (!known && i == (int)r->home)
            crossing = bytes;
        add_roof(model, threads, (enum model_level)i, flops, crossing, r);
    }
}

/* The peak of the instruction set it was built for; the run's own ceiling when that was higher. */
static double peak_of(const struct machine_model *model, int threads, const struct measurement *m)
{
    double peak = machine_model_peak(model, threads);
    for (int i = 0; m && m->isa[0] && i < model->n_isa; i++)
        if (strcmp(model->isa[i].isa, m->isa) == 0)
            peak = rates_of(&model->isa[i].gflops, threads, model->cores);
    return m && m->peak_gflops > peak ? m->peak_gflops : peak;
}

void roofline_of(const struct machine_model *model, double flops, double bytes,
                 const struct measurement *m, struct roofline *out)
{
    struct roofline r = { .by = ROOF_FMA };
    double crossing;
    if (m && m->gflops > 0 && m->executed_gflops > 0)
        flops *= m->executed_gflops / m->gflops;
    int threads = m && m->threads > 1 ? m->threads : 1;
    r.compulsory = bytes > 0 ? flops / bytes : 0;
    r.simulated = simulated_bytes(model, m, MODEL_L2, &crossing);
    r.intensity = r.simulated ? flops / crossing : r.compulsory;
    if (m && m->latency.runs > 0)
        r.gflops = m->executed_gflops > 0 ? m->executed_gflops : m->gflops;
    if (model && flops > 0) {
        r.peak = r.bound = peak_of(model, threads, m);
        add_roofs(model, threads, flops, bytes, m, &r);
    }
    for (int i = 0; i < r.n; i++)
        if (r.roof[i].gflops < r.bound) {
            r.bound = r.roof[i].gflops;
            r.by = (int)r.roof[i].from;
        }
    r.fraction = r.bound > 0 ? r.gflops / r.bound : 0;
    *out = r;
}

const char *roofline_by_name(int by)
{
    return by == ROOF_FMA ? "FMA" : model_level_name[by];
}
