#include "tests/unit/run_program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ops/reference.h"

static double *reference_of(const struct graph *g, uint64_t seed, double **data, float **logical)
{
    struct err e;
    for (int t = 0; t < g->n_tensors; t++) {
        int64_t n = tensor_elems(&g->tensor[t]);
        data[t] = xcalloc((size_t)n, sizeof(double));
        logical[t] = xcalloc((size_t)n, sizeof(float));
        if (g->tensor[t].producer < 0) {
            reference_fill(&g->tensor[t], seed, logical[t]);
            for (int64_t i = 0; i < n; i++)
                data[t][i] = logical[t][i];
        }
    }
    if (!reference_eval(g, data, NULL, &e))
        fail("reference: %s", e.text);
    return data[0];
}

static double worst(const double *ref, const float *got, int64_t n)
{
    double rms = 0, max = 0;
    for (int64_t i = 0; i < n; i++)
        rms += ref[i] * ref[i];
    rms = sqrt(rms / (double)n);
    for (int64_t i = 0; i < n; i++) {
        double d = fabs(got[i] - ref[i]) / fmax(fmax(fabs(ref[i]), rms), 1e-30);
        if (isnan(d))
            return NAN;
        max = fmax(max, d);
    }
    return max;
}

double program_interpret_error(const struct program *p, uint64_t seed)
{
    const struct graph *g = p->graph;
    const struct func *f;
    struct err e;
    double **data = xcalloc((size_t)g->n_tensors, sizeof *data), max = 0;
    float **logical = xcalloc((size_t)g->n_tensors, sizeof *logical);
    float *phys[64] = { 0 };
    if (!program_lower(p, &f, &e))
        fail("lower: %s", e.text);
    reference_of(g, seed, data, logical);
    for (int b = 0; b < f->n_params; b++) {
        phys[b] = xmalloc((size_t)f->buffer[b].elems * sizeof(float));
        memset(phys[b], 0xff, (size_t)f->buffer[b].elems * sizeof(float));
        int t = f->buffer[b].tensor;
        if (g->tensor[t].producer < 0)
            layout_pack(p->layout[t], logical[t], phys[b]);
        for (int guest = 0; guest < g->n_tensors; guest++)
            if (p->host[guest] == t)
                layout_place(p->pool, p->layout[guest], logical[guest], phys[b]);
    }
    func_interpret(f, phys);
    for (int b = 0; b < f->n_params; b++) {
        int t = f->buffer[b].tensor;
        if (g->tensor[t].role == TENSOR_OUTPUT) {
            layout_unpack(p->layout[t], phys[b], logical[t]);
            double d = worst(data[t], logical[t], tensor_elems(&g->tensor[t]));
            max = isnan(d) || isnan(max) ? NAN : fmax(max, d);
        }
        free(phys[b]);
    }
    for (int t = 0; t < g->n_tensors; t++) {
        free(data[t]);
        free(logical[t]);
    }
    free(data);
    free(logical);
    return max;
}
