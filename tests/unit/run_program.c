#include "tests/unit/run_program.h"

#include <stdlib.h>
#include <string.h>

#include "profile/measure/oracle.h"
#include "tests/unit/interp.h"

/* Buffer b with what its tensor, and the guests of that, hold. */
static void *fill(const struct program *p, const struct buffer *b, float *const *logical)
{
    size_t bytes = (size_t)buffer_bytes(b);
    void *phys = memset(xmalloc(bytes), 0xff, bytes);
    if (p->graph->tensor[b->tensor].producer < 0)
        layout_pack(p->layout[b->tensor], logical[b->tensor], phys);
    for (int guest = 0; guest < p->graph->n_tensors; guest++)
        if (p->held_in[guest] == b->tensor)
            layout_place(p->pool, p->layout[guest], logical[guest], phys);
    return phys;
}

bool program_interpret(const struct program *p, float *const *logical, struct err *e)
{
    const struct func *f;
    if (!program_lower(p, &f, e))
        return false;
    void **phys = xcalloc((size_t)f->n_params, sizeof *phys);
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

double program_interpret_of_bound(const struct program *p, uint64_t seed)
{
    const struct graph *g = p->graph;
    const struct oracle *o;
    const struct func *f;
    struct deviation worst = { 0 };
    struct err e;
    if (!oracle_acquire(p->base, seed, NULL, &o, &e) || !program_lower(p, &f, &e))
        fail("%s", e.text);
    void **data = xcalloc((size_t)f->n_params, sizeof *data);
    for (int b = 0; b < f->n_params; b++) {
        data[b] = xmalloc((size_t)buffer_bytes(&f->buffer[b]));
        if (!oracle_fill(o, p, f->buffer[b].tensor, seed, f->buffer[b].elems, data[b], &e))
            fail("%s", e.text);
    }
    func_interpret(f, data);
    for (int b = 0; b < f->n_params; b++)
        if (g->tensor[f->buffer[b].tensor].role == TENSOR_OUTPUT)
            (void)oracle_compare(o, p, f->buffer[b].tensor, data[b], NULL, &worst, &e);
    for (int b = 0; b < f->n_params; b++)
        free(data[b]);
    free(data);
    oracle_release(o);
    return worst.of_bound;
}
