#include "tests/unit/gradient.h"

#include <math.h>
#include <stdio.h>

#define STEP 1e-6

static void name_parameter(const struct mlp *net, int i, char text[64])
{
    if (i >= net->extra) {
        snprintf(text, 64, "extra [%d]", i - net->extra);
        return;
    }
    int k = 0;
    while (k + 1 < net->n_layers && i >= net->layer[k + 1].weight)
        k++;
    const struct mlp_layer *l = &net->layer[k];
    bool norm = l->gain < l->shift;
    const char *kind = i < l->bias ? "weight" : i < l->gain || !norm ? "bias"
                     : i < l->shift ? "gain" : "shift";
    int from = i < l->bias ? l->weight : i < l->gain || !norm ? l->bias
             : i < l->shift ? l->gain : l->shift;
    snprintf(text, 64, "%s %d [%d]", kind, k, i - from);
}

double gradient_check(struct mlp *net, gradient_loss *loss, void *context, char worst[64])
{
    double most = 0, scale = 0;
    int at = 0;
    for (int i = 0; i < net->n; i++)
        scale = fmax(scale, fabs(net->grad[i]));
    for (int i = 0; i < net->n; i++) {
        double was = net->param[i];
        net->param[i] = was + STEP;
        double up = loss(context);
        net->param[i] = was - STEP;
        double down = loss(context);
        net->param[i] = was;
        double off = fabs((up - down) / (2 * STEP) - net->grad[i]) / scale;
        if (!(off <= most)) {
            most = off;
            at = i;
        }
    }
    name_parameter(net, at, worst);
    return scale > 0 ? most : INFINITY;
}
