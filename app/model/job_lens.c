/* The job of the cache lens: its window, and predictions of the steps that may cure conflicts. */
#include "app/model/job.h"

bool job_run_lens(struct app_job *j, const struct program *p, const struct cancel *c)
{
    struct lens_opts o = { .cache = j->set.cache, .target = j->set.target, .from = j->lens_from };
    if (!lens_open(p, &o, c, &j->lens, &j->e))
        return false;
    struct predict_opts predict = { .cache = j->lens->cache, .target = o.target,
                                    .conflicts = true };
    j->cure = xcalloc(FORECAST_CURES, sizeof *j->cure);
    if (j->lens->conflicts > 0)
        j->n_cures = forecast_cures(p, j->lens, j->lens->arena, j->cure);
    bool ok = forecast_steps(p, &predict, c, j->cure, j->n_cures, &j->now, &j->e);
    forecast_rank(j->cure, j->n_cures);
    return ok;
}
