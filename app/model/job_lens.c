/* The jobs of the cache lens (its simulation, and predictions of the steps that may cure its
 * misses), and the job that predicts the misses after given steps. */
#include "app/model/job.h"

#include <string.h>

#define FORECAST_BUDGET 5e5               /* most accesses that a forecast simulates */
/* The time limit of a forecast, in seconds.  Most forecasts take 0.003 to 0.015 s. */
#define FORECAST_S 0.05

bool job_run_lens(struct app_job *j, const struct program *p, const struct cancel *c)
{
    struct lens_opts o = { .cache = j->set.cache, .target = j->set.target, .from = j->lens_from };
    if (!lens_open(p, &o, c, &j->lens, &j->e))
        return program_text_is_gpu(p, o.target)
             ? err_fix(&j->e, "view 6 shows the simulated memory of the GPU after a measurement")
             : false;
    j->cure = xcalloc(FORECAST_CURES, sizeof *j->cure);
    j->n_cures = forecast_cures(p, j->lens, j->lens->arena, j->cure);
    return true;
}

void job_want_cures(struct app_job *j, const struct forecast *cure, int n)
{
    for (int i = 0; i < n; i++)
        str_printf(&j->text, "%s" JOB_END_ROW, cure[i].line);
}

/* Fills j->cure with the rows of j->text, each of which ends in JOB_END_ROW. */
static void take_rows(struct app_job *j)
{
    char *rest = arena_strdup(j->mem, str_text(&j->text));
    j->cure = xcalloc(j->text.len + 1, sizeof *j->cure);
    for (char *line = strsep(&rest, JOB_END_ROW); rest; line = strsep(&rest, JOB_END_ROW))
        j->cure[j->n_cures++].line = line;
}

bool job_run_cures(struct app_job *j, const struct program *p, const struct progress *pr,
                   const struct cancel *c)
{
    struct cache_config cache = predict_cache(&j->set.cache);
    take_rows(j);
    return forecast_lens(p, &cache, j->set.target, pr, c, j->cure, j->n_cures, &j->now, &j->e);
}

bool job_run_forecast(struct app_job *j, const struct program *p, const struct program *other,
                      const struct cancel *c)
{
    struct predict_opts o = { .cache = j->set.cache, .target = j->set.target,
                              .budget = FORECAST_BUDGET,
                              .limit_s = j->set.forecast_s > 0 ? j->set.forecast_s : FORECAST_S };
    if (j->patience > 0)
        o.limit_s *= j->patience;
    if (other) {                          /* the program after the only row is known */
        j->cure = xcalloc(1, sizeof *j->cure);
        j->n_cures = 1;
        j->text.data[strcspn(str_text(&j->text), JOB_END_ROW)] = 0;
        j->cure[0].line = arena_strdup(j->mem, str_text(&j->text));
        forecast_program(p, other, &o, c, &j->cure[0], &j->now);
        return !cancelled(c) || err_set(&j->e, ERR_CANCEL, "cancelled");
    }
    take_rows(j);
    return forecast_steps(p, &o, NULL, c, j->cure, j->n_cures, &j->now, &j->e);
}
