#include "sessions/report/roofline_steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECADES_DOWN 4.0                  /* of speed at most, below the highest peak */

int roofline_steps(const struct history *h, const struct machine_model *model,
                   struct roof_step *out, int max)
{
    int n = history_ledger(h, NULL, 0), kept = 0;
    struct ledger_row *row = xcalloc((size_t)n, sizeof *row);
    history_ledger(h, row, n);
    for (int i = 0; i < n && !row[i].ahead; i++) {
        const struct graph *g = history_state(h, row[i].state)->program->base;
        struct roof_step s = { .position = i, .step = row[i].step, .here = row[i].here };
        roofline_of(model, g->flops, g->bytes, row[i].m, &s.r);
        s.threads = row[i].m && row[i].m->threads > 1 ? row[i].m->threads : 1;
        if (s.r.gflops <= 0 || s.r.intensity <= 0)
            continue;
        if (kept < max)
            out[kept] = s;
        kept++;
    }
    free(row);
    return kept;
}

static void cover(double v, double *lo, double *hi)
{
    if (v > 0 && isfinite(v)) {
        *lo = fmin(*lo, v);
        *hi = fmax(*hi, v);
    }
}

/* Points, and where each level's roof meets the highest peak. */
struct roof_span roofline_steps_span(const struct machine_model *model, int threads,
                                     const struct roof_step *step, int n)
{
    struct roof_span s = { INFINITY, 0, INFINITY, 0 };
    double peak = machine_model_peak(model, threads);
    for (int i = 0; i < n; i++) {
        cover(step[i].r.intensity, &s.x_lo, &s.x_hi);
        cover(step[i].r.gflops, &s.y_lo, &s.y_hi);
    }
    for (int i = 0; i < MODEL_LEVELS; i++) {
        double rate = rates_of(&model->level[i].load, threads, model->cores);
        cover(rate > 0 ? peak / rate : 0, &s.x_lo, &s.x_hi);
    }
    cover(peak, &s.y_lo, &s.y_hi);
    s.y_lo = fmax(s.y_lo, s.y_hi / pow(10, DECADES_DOWN));
    return (struct roof_span){ s.x_lo / 2.5, s.x_hi * 2.5, s.y_lo / 2, s.y_hi * 1.6 };
}

/* --- Its picture ------------------------------------------------------------------------------ */

#define MOST_STEPS 512

struct roofline_picture {
    const struct machine_model *model;
    struct roof_span span;
    int threads, n_steps;
    struct roof_step *step;
    int n;
    struct chart_series series[MODEL_LEVELS + MODEL_ISAS + 2];
    double x[MODEL_LEVELS + MODEL_ISAS][2], y[MODEL_LEVELS + MODEL_ISAS][2];
    char name[MODEL_LEVELS + MODEL_ISAS][64];
    double px[MOST_STEPS], py[MOST_STEPS];
    char text[MOST_STEPS][32];
    const char *label[MOST_STEPS];
};

static void add_roof_line(struct roofline_picture *p, double x0, double y0, double x1, double y1,
                          enum chart_dash dash, bool strong)
{
    int i = p->n++;
    p->x[i][0] = x0;
    p->x[i][1] = x1;
    p->y[i][0] = y0;
    p->y[i][1] = y1;
    p->series[i] = (struct chart_series){ .name = p->name[i], .mark = CHART_LINE, .n = 2,
                                          .x = p->x[i], .y = p->y[i], .along = true,
                                          .dash = dash, .strong = strong,
                                          .colour = strong ? CHART_COLOURS : 0 };
}

/* Slopes up to the highest peak; peaks from where the steepest slope meets them. */
static void add_roofs(struct roofline_picture *p)
{
    const struct machine_model *m = p->model;
    double peak = machine_model_peak(m, p->threads), steepest = 0;
    for (int i = 0; i < MODEL_LEVELS; i++) {
        double rate = rates_of(&m->level[i].load, p->threads, m->cores);
        if (rate <= 0)
            continue;
        steepest = fmax(steepest, rate);
        snprintf(p->name[p->n], sizeof p->name[0], "%s %.3g GB/s", model_level_name[i], rate);
        add_roof_line(p, p->span.x_lo, rate * p->span.x_lo, peak / rate, peak,
                      i == MODEL_DRAM ? DASH_LONG : DASH_NONE, false);
    }
    for (int i = 0; i < m->n_isa; i++) {
        double rate = rates_of(&m->isa[i].gflops, p->threads, m->cores);
        bool same = i > 0 && rate < 1.03 * rates_of(&m->isa[i - 1].gflops, p->threads, m->cores)
                 && rate > 0.97 * rates_of(&m->isa[i - 1].gflops, p->threads, m->cores);
        if (same || rate <= 0)
            continue;
        snprintf(p->name[p->n], sizeof p->name[0], "%s %.3g GFLOP/s", m->isa[i].isa, rate);
        add_roof_line(p, steepest > 0 ? rate / steepest : p->span.x_lo, rate, p->span.x_hi, rate,
                      rate < 0.97 * peak ? DASH_DOTS : DASH_NONE, true);
    }
}

static void add_points(struct roofline_picture *p)
{
    int earlier = 0;
    for (int i = 0; i < p->n_steps; i++) {
        const struct roof_step *s = &p->step[i];
        p->px[i] = s->r.intensity;
        p->py[i] = s->r.gflops;
        snprintf(p->text[i], sizeof p->text[i], "%d", s->position);
        p->label[i] = p->text[i];
        earlier += !s->here;
    }
    if (earlier > 0)
        p->series[p->n++] = (struct chart_series){ .name = "steps before", .mark = CHART_POINTS,
                                                   .n = earlier, .x = p->px, .y = p->py,
                                                   .label = p->label, .colour = 6 };
    if (earlier < p->n_steps)
        p->series[p->n++] = (struct chart_series){ .name = "current step", .mark = CHART_POINTS,
                                                   .n = 1, .x = p->px + earlier,
                                                   .y = p->py + earlier,
                                                   .label = p->label + earlier, .colour = 2,
                                                   .strong = true };
}

bool roofline_steps_chart(const struct history *h, const struct machine_model *model,
                          enum chart_form form, const struct cancel *cancel, struct str *out,
                          struct err *e)
{
    struct roofline_picture *p = xcalloc(1, sizeof *p);
    struct str caption = {0};
    p->step = xcalloc(MOST_STEPS, sizeof *p->step);
    int n = roofline_steps(h, model, p->step, MOST_STEPS);
    p->n_steps = n < MOST_STEPS ? n : MOST_STEPS;
    p->model = model;
    p->threads = n > 0 ? p->step[p->n_steps - 1].threads : 1;
    p->span = roofline_steps_span(model, p->threads, p->step, p->n_steps);
    bool simulated = n > 0 && p->step[p->n_steps - 1].r.simulated;
    add_roofs(p);
    add_points(p);
    str_printf(&caption, "Numbers are steps of the session. Bytes are %s. Roofs: best samples of %d"
               " thread%s on %.*s, %s.", simulated ? "what the simulated L1 exchanges with the next"
               " level" : "inputs read and outputs written once", p->threads,
               p->threads == 1 ? "" : "s", (int)strcspn(model->fingerprint, "|") - 1,
               model->fingerprint, model->date);
    struct chart c = {
        .title = history_spec(h), .caption = str_text(&caption), .n_series = p->n,
        .series = p->series,
        .x = { "arithmetic intensity (FLOP/byte)", true, p->span.x_lo, p->span.x_hi },
        .y = { "speed (GFLOP/s)", true, p->span.y_lo, p->span.y_hi },
    };
    bool ok = n > 0 ? chart_draw(&c, form, cancel, out, e)
                    : err_set(e, ERR_RANGE, "no step of this branch was timed yet");
    str_free(&caption);
    free(p->step);
    free(p);
    return ok;
}
