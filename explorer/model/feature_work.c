/* The columns of the generated code: what the code executes, most of it divided by the least work
 * that the operator needs. */
#include "explorer/model/features_impl.h"

/* the ratios are multiplied by this number, so that the logarithms of small ratios differ */
#define RATIO_SCALE 64.0

/* Returns the least number of vector multiply-adds that the operator needs. */
static double least_vectors(const struct func *f, int lanes)
{
    return fmax(f->graph->flops / 2 / (lanes > 0 ? lanes : 8), 1);
}

void feature_work_columns(const struct func *f, const struct feature_opts *o, float *row)
{
    const struct gen_work *w = o->code;
    const double ratio[] = { w->vector, w->scalar, w->loads, w->broadcasts, w->stores,
                             w->scalar_stores, w->moves, w->iterations, w->conditions, w->spills,
                             w->cycles };
    const double number[] = { w->pressure, w->body, w->chain, w->statements };
    double least = least_vectors(f, o->lanes);
    for (int i = 0; i < COUNT_OF(ratio); i++)
        row[FEATURE_WORK_VECTOR + i] = feature_scale(RATIO_SCALE * ratio[i] / least);
    for (int i = 0; i < COUNT_OF(number); i++)
        row[FEATURE_WORK_PRESSURE + i] = feature_scale(number[i]);
}
