#include "profile/machine/roofline.h"

#include <math.h>
#include <string.h>

#define ABOVE_MODEL 1.05  /* ceiling / peak of the model; above it the model is doubtful */
#define FLOPS_A_LANE 4.0  /* FLOPs of a lane and cycle at the peak: two multiply-adds */

/* Stores in *bytes what moved between L2 and L1 in the simulation. False when nothing was
 * simulated or nothing moved, or when the simulated L1 is not as large as that of this machine. */
static bool simulated_bytes(const struct machine_model *model, const struct measurement *m,
                            double *bytes)
{
    const struct sim_result *s = m ? &m->sim : NULL;
    if (!s || !s->available || s->cache.n_levels < 1)
        return false;
    if (model && model->level[MODEL_L1].capacity != s->cache.level[0].geometry.size_bytes)
        return false;
    *bytes = (double)sim_bytes_below(s, 0);
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
    double rate = machine_model_rates(&model->level[from].load, threads, model->cores);
    if (rate > 0 && bytes > 0)
        r->roof[r->n++] = (struct roof){ from, bytes, flops / bytes, rate * flops / bytes };
}

/* Returns the least number of bytes that a hot call fetches from level `from`: the data set, minus
 * the capacity of the caches inside of that level. Each core has its own L1 and L2. */
static double least_bytes(const struct machine_model *model, int threads, int from, double bytes)
{
    int cores = threads < model->cores ? threads : model->cores;
    double kept = 0;
    for (int i = 0; i < from; i++) {
        double capacity = (double)model->level[i].capacity * (i < MODEL_L3 ? cores : 1);
        kept = capacity > kept ? capacity : kept;
    }
    return bytes - kept;
}

static void add_roofs(const struct machine_model *model, int threads, double flops, double bytes,
                      const struct measurement *m, struct roofline *r)
{
    r->home = home_of(model, bytes);
    for (int i = r->home == MODEL_L1 ? MODEL_L1 : MODEL_L2; i <= (int)r->home; i++) {
        double crossing, least = least_bytes(model, threads, i, bytes);
        if (i != MODEL_L2 || !simulated_bytes(model, m, &crossing))
            crossing = least;
        add_roof(model, threads, (enum model_level)i, flops, crossing, r);
    }
}

/* Returns the peak of the instruction set of the kernel, or the ceiling of the run when that was
 * higher. */
static double peak_of(const struct machine_model *model, int threads, const struct measurement *m)
{
    double peak = machine_model_peak(model, threads);
    for (int i = 0; m && m->isa[0] && i < model->n_isa; i++)
        if (strcmp(model->isa[i].isa, m->isa) == 0)
            peak = machine_model_rates(&model->isa[i].gflops, threads, model->cores);
    return m && m->peak_gflops > peak ? m->peak_gflops : peak;
}

void roofline_of(const struct machine_model *model, double flops, double bytes,
                 const struct measurement *m, struct roofline *out)
{
    struct roofline r = { .by = ROOF_FMA };
    double crossing;
    if (m && m->device.name[0])           /* the model describes the CPU, not a GPU */
        model = NULL;
    if (m && m->gflops > 0 && m->executed_gflops > 0)
        flops *= m->executed_gflops / m->gflops;
    int threads = m && m->threads > 1 ? m->threads : 1;
    r.compulsory = bytes > 0 ? flops / bytes : 0;
    r.simulated = simulated_bytes(model, m, &crossing);
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

void roofline_doubts(const struct machine_model *model, const struct measurement *m,
                     struct str *out)
{
    machine_model_doubts(model, NULL, out);
    double peak = machine_model_peak(model, m->threads);
    if (peak > 0 && m->peak_gflops > ABOVE_MODEL * peak)
        str_printf(out, "%sFMA peak of %.4g GFLOP/s, and this run's ceiling was %.4g",
                   out->len ? "; " : "", peak, m->peak_gflops);
}

double roofline_predict_ms(const struct machine_model *model, const char *isa,
                           struct gen_cycles cycles, double miss_bytes)
{
    double gbytes = model->level[MODEL_L2].load.one.best, ghz = 0, own = 0;
    for (int i = 0; i < model->n_isa; i++) {
        double g = model->isa[i].gflops.one.best
                 / (FLOPS_A_LANE * fmax(1, model->isa[i].vector_floats));
        ghz = fmax(ghz, g);
        own = streq(model->isa[i].isa, isa) ? g : own;
    }
    if (gbytes <= 0 || own <= 0)
        return 0;
    double halves = fmin(ghz / own - 1, 1);
    double n = cycles.whole + halves * (cycles.halved - cycles.whole);
    return 1e-6 * hypot(n / ghz, miss_bytes / gbytes);
}
