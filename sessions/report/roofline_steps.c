#include "sessions/report/roofline_steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/vec.h"

#define DECADES_DOWN 4.0  /* the chart shows at most so many decades below the highest speed */

int roofline_steps(const struct history *h, const struct machine_model *model,
                   struct roof_step *out, int max)
{
    int n = history_ledger(h, NULL, 0), kept = 0;
    struct ledger_row *row = xcalloc((size_t)n, sizeof *row);
    history_ledger(h, row, n);
    for (int i = 0; i < n && !row[i].ahead; i++) {
        const struct program *p = history_state(h, row[i].state)->program;
        const struct graph *g = p->base;
        struct roof_step s = { .position = i, .step = row[i].step, .here = row[i].here,
                               .algorithm = p->n_algorithms > 0 };
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

/* The ranges cover the points, and the places where the roof of each level meets the highest peak,
 * but at most DECADES_DOWN decades of speed. */
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
        double rate = machine_model_rates(&model->level[i].load, threads, model->cores);
        cover(rate > 0 ? peak / rate : 0, &s.x_lo, &s.x_hi);
    }
    cover(peak, &s.y_lo, &s.y_hi);
    s.y_lo = fmax(s.y_lo, s.y_hi / pow(10, DECADES_DOWN));
    return (struct roof_span){ s.x_lo / 2.5, s.x_hi * 2.5, s.y_lo / 2, s.y_hi * 1.6 };
}

/* --- The chart -------------------------------------------------------------------------------- */

#define MOST_STEPS 512

struct roofline_picture {
    struct arena *a;
    const struct machine_model *model;
    struct roof_span span;
    int threads;
    VEC(struct chart_series) series;
};

static void add_roof(struct roofline_picture *p, const char *name, double x0, double y0, double x1,
                     double y1, enum chart_dash dash, bool strong)
{
    double *x = ARENA_ARRAY(p->a, double, 2), *y = ARENA_ARRAY(p->a, double, 2);
    x[0] = x0;
    x[1] = x1;
    y[0] = y0;
    y[1] = y1;
    vec_push(&p->series, (struct chart_series){ .name = name, .mark = CHART_LINE, .n = 2, .x = x,
                                                .y = y, .along = true, .dash = dash,
                                                .strong = strong,
                                                .colour = strong ? CHART_COLOURS : 0 });
}

/* Adds the slope of each memory level, up to the highest peak; and the peak of each instruction
 * set, from the steepest slope on, unless the peak of the set before is nearly the same. */
static void add_roofs(struct roofline_picture *p)
{
    const struct machine_model *m = p->model;
    double peak = machine_model_peak(m, p->threads), steepest = 0, last = 0;
    for (int i = 0; i < MODEL_LEVELS; i++) {
        double rate = machine_model_rates(&m->level[i].load, p->threads, m->cores);
        if (rate <= 0)
            continue;
        steepest = fmax(steepest, rate);
        add_roof(p, arena_printf(p->a, "%s %.3g GB/s", model_level_name[i], rate), p->span.x_lo,
                 rate * p->span.x_lo, peak / rate, peak, i == MODEL_DRAM ? DASH_LONG : DASH_NONE,
                 false);
    }
    for (int i = 0; i < m->n_isa; i++) {
        double rate = machine_model_rates(&m->isa[i].gflops, p->threads, m->cores);
        bool same = rate < 1.03 * last && rate > 0.97 * last;
        last = rate;
        if (same || rate <= 0)
            continue;
        add_roof(p, arena_printf(p->a, "%s %.3g GFLOP/s", m->isa[i].isa, rate),
                 steepest > 0 ? rate / steepest : p->span.x_lo, rate, p->span.x_hi, rate,
                 rate < 0.97 * peak ? DASH_DOTS : DASH_NONE, true);
    }
}

static void add_points(struct roofline_picture *p, const char *name, const struct roof_step *step,
                       int n, int colour, bool strong)
{
    if (n == 0)
        return;
    double *x = ARENA_ARRAY(p->a, double, n), *y = ARENA_ARRAY(p->a, double, n);
    const char **label = ARENA_ARRAY(p->a, const char *, n);
    for (int i = 0; i < n; i++) {
        x[i] = step[i].r.intensity;
        y[i] = step[i].r.gflops;
        label[i] = arena_printf(p->a, "%d", step[i].position);
    }
    vec_push(&p->series, (struct chart_series){ .name = name, .mark = CHART_POINTS, .n = n,
                                                .x = x, .y = y, .label = label,
                                                .colour = colour, .strong = strong });
}

bool roofline_steps_chart(const struct history *h, const struct machine_model *model,
                          enum chart_form form, const struct cancel *cancel, struct str *out,
                          struct err *e)
{
    struct roofline_picture p = { .a = arena_new(), .model = model };
    struct roof_step *step = ARENA_ARRAY(p.a, struct roof_step, MOST_STEPS);
    int n = roofline_steps(h, model, step, MOST_STEPS);
    n = n < MOST_STEPS ? n : MOST_STEPS;
    const struct roof_step *last = n > 0 ? &step[n - 1] : NULL;
    p.threads = last ? last->threads : 1;
    p.span = roofline_steps_span(model, p.threads, step, n);
    add_roofs(&p);
    add_points(&p, "steps before", step, last && last->here ? n - 1 : n, 6, false);
    add_points(&p, "current step", last, last && last->here, 2, true);
    struct chart c = {
        .title = history_spec(h),
        .caption = arena_printf(p.a, "Numbers are steps of the session. Bytes are %s. Roofs: best"
                                " samples of %d thread%s on %.*s, %s.", last && last->r.simulated
                                ? "what the simulated L1 exchanges with the next level"
                                : "inputs read and outputs written once", p.threads,
                                p.threads == 1 ? "" : "s",
                                (int)strcspn(model->fingerprint, "|") - 1, model->fingerprint,
                                model->date),
        .n_series = p.series.len, .series = p.series.data,
        .x = { "arithmetic intensity (FLOP/byte)", true, p.span.x_lo, p.span.x_hi },
        .y = { "speed (GFLOP/s)", true, p.span.y_lo, p.span.y_hi },
    };
    bool ok = n > 0 ? chart_draw(&c, form, cancel, out, e)
                    : err_set(e, ERR_RANGE, "no step of this branch was timed yet");
    vec_free(&p.series);
    arena_free(p.a);
    return ok;
}
