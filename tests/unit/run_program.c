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

/* Buffer b with what its tensor, and the guests of that, hold. */
static float *fill(const struct program *p, const struct buffer *b, float *const *logical)
{
    size_t bytes = (size_t)b->elems * sizeof(float);
    float *phys = memset(xmalloc(bytes), 0xff, bytes);
    if (p->graph->tensor[b->tensor].producer < 0)
        layout_pack(p->layout[b->tensor], logical[b->tensor], phys);
    for (int guest = 0; guest < p->graph->n_tensors; guest++)
        if (p->host[guest] == b->tensor)
            layout_place(p->pool, p->layout[guest], logical[guest], phys);
    return phys;
}

bool program_interpret(const struct program *p, float *const *logical, struct err *e)
{
    const struct func *f;
    if (!program_lower(p, &f, e))
        return false;
    float **phys = xcalloc((size_t)f->n_params, sizeof *phys);
    for (int b = 0; b < f->n_params; b++)
        phys[b] = fill(p, &f->buffer[b], logical);
    func_interpret(f, phys);
    for (int b = 0; b < f->n_params; b++) {
        int t = f->buffer[b].tensor;
        if (p->graph->tensor[t].role == TENSOR_OUTPUT)
            layout_unpack(p->layout[t], phys[b], logical[t]);
        free(phys[b]);
    }
    free(phys);
    return true;
}

double program_interpret_error(const struct program *p, uint64_t seed)
{
    const struct graph *g = p->graph;
    struct err e;
    double **data = xcalloc((size_t)g->n_tensors, sizeof *data), max = 0;
    float **logical = xcalloc((size_t)g->n_tensors, sizeof *logical);
    reference_of(g, seed, data, logical);
    if (!program_interpret(p, logical, &e))
        fail("lower: %s", e.text);
    for (int t = 0; t < g->n_tensors; t++) {
        if (g->tensor[t].role == TENSOR_OUTPUT) {
            double d = worst(data[t], logical[t], tensor_elems(&g->tensor[t]));
            max = isnan(d) || isnan(max) ? NAN : fmax(max, d);
        }
        free(data[t]);
        free(logical[t]);
    }
    free(data);
    free(logical);
    return max;
}
