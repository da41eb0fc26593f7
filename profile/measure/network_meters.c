#include "profile/measure/network_meters.h"

#include <stdio.h>

#include "profile/measure/measure.h"

/* The kernel that is being counted, for the progress over all kernels. */
struct kernel_meter { const struct progress *progress; int kernel, of; };

static void report(void *ctx, const char *what, double done)
{
    const struct kernel_meter *k = ctx;
    char text[96];
    double part = done < 0 ? 0 : done;
    snprintf(text, sizeof text, "kernel %d of %d: %.60s", k->kernel + 1, k->of, what);
    k->progress->report(k->progress->ctx, text, (k->kernel + part) / k->of);
}

bool network_meters(struct arena *a, const struct network *net, const struct measure_opts *o,
                    const struct progress *pr, const struct cancel *c,
                    const struct measurement **out, struct err *e)
{
    struct measurement *m = ARENA_ARRAY(a, struct measurement, net->n_tasks);
    struct measure_opts opts = *o;
    struct kernel_meter k = { .progress = pr, .of = net->n_tasks };
    struct progress each = { report, &k };
    opts.meters &= ~(unsigned)METER_CLOCK;
    *out = m;
    for (; k.kernel < k.of; k.kernel++) {
        const struct program *p = net->task[k.kernel].program;
        if (!measure_program(p, &opts, pr && pr->report ? &each : NULL, c, &m[k.kernel], e)
            && e->code == ERR_CANCEL)
            return false;
    }
    return true;
}
