/* Jobs that time several states of a history in turns. */
#include "app/model/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profile/measure/meters.h"
#include "profile/measure/program_text.h"

char *job_recipe(const struct program *p)
{
    struct str s = {0};
    str_add(&s, p->base->spec);
    for (int i = 0; i < p->n_steps; i++)
        str_printf(&s, "\n%s", p->steps[i]);
    char *text = xstrdup(str_text(&s));
    str_free(&s);
    return text;
}

void job_pair_free(struct job_pair *pair)
{
    for (int i = 0; pair && i < 2; i++) {
        str_free(&pair->c[i]);
        str_free(&pair->assembly[i]);
    }
    free(pair);
}

/* Writes source and machine code of side i: C and assembly, or for a GPU CUDA C and PTX.  Without
 * NVRTC, the text says why there is no PTX. */
static bool write_texts(const struct program *p, int i, struct app_job *j, const struct cancel *c)
{
    struct measure_opts o = job_measure_opts(j);
    struct str *machine = &j->pair->assembly[i];
    struct arena *a = arena_new();
    struct code_lines lines;
    bool ok = program_text_source(a, p, o.target, &j->pair->c[i], &lines, &j->e);
    if (ok && !program_text_machine(a, p, o.target, o.compiler, c, machine, &lines, &j->e)) {
        ok = program_text_is_gpu(p, o.target) && j->e.code == ERR_ENV;
        if (ok)
            str_printf(machine, "%s\n", j->e.text);
    }
    arena_free(a);
    return ok;
}

/* Fills in the texts and the simulated misses of side i. */
static bool look_at(const struct program *p, int i, struct app_job *j, const struct progress *pr,
                    const struct cancel *c)
{
    struct measure_opts o = job_measure_opts(j);
    o.meters = METER_SIM;
    struct measurement *m = xcalloc(1, sizeof *m);
    bool ok = write_texts(p, i, j, c) && measure_program(p, &o, pr, c, m, &j->e);
    j->pair->sim[i] = m->sim;
    if (ok && m->outcome == OUTCOME_CANCEL)
        ok = err_set(&j->e, ERR_CANCEL, "cancelled");
    free(m);
    return ok;
}

static bool pair(struct app_job *j, const struct program *const p[2], const struct progress *pr,
                 const struct cancel *c)
{
    struct measure_opts o = job_measure_opts(j);
    struct comparison how;
    j->pair = xcalloc(1, sizeof *j->pair);
    struct compared *time = j->pair->time;
    bool ok = look_at(p[0], 0, j, pr, c) && look_at(p[1], 1, j, pr, c);
    bool timed = ok && measure_compare(p, 2, &o, pr, c, time, &how, &j->e);
    /* ERR_RANGE: one program is for a GPU and the other for a CPU, so there are no times */
    if (ok && !timed && j->e.code == ERR_RANGE) {
        time[0] = (struct compared){ .m.outcome = OUTCOME_LIMIT };
        snprintf(time[0].m.reason, sizeof time[0].m.reason, "%.300s", j->e.text);
        timed = true;
    }
    return timed;
}

bool job_run_compare(struct app_job *j, const struct program *p, const struct program *other,
                     const struct progress *pr, const struct cancel *c)
{
    struct measure_opts o = job_measure_opts(j);
    if (j->kind == JOB_COMPARE)
        return pair(j, (const struct program *[]){ other, p }, pr, c);
    if (j->kind == JOB_BISECT) {
        bool ok = bisect_steps(p, j->from, p->n_steps, &o, pr, c, &j->bisection, &j->e);
        if (ok) {
            /* a copy, because job_run frees the program to which this text belongs */
            str_add(&j->text, j->bisection.text);
            j->bisection.text = str_text(&j->text);
        }
        return ok;
    }
    return ablation_plan(p, &j->ablation, &j->e) && ablation_measure(j->ablation, &o, pr, c, &j->e);
}
