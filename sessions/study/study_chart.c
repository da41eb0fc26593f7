/* Draws a metric of a study as bars.  The paper's values are points, or bars if there is only one
 * case. */
#include <math.h>
#include <stdio.h>
#include "sessions/study/study_impl.h"

static double shown(const struct study_report *r, int c, int v, int metric, bool paper)
{
    if (r->study->metric[metric].base < 0)
        return paper ? study_paper(r, c, v, metric) : study_cell(r, c, v)->value[metric];
    return paper ? study_paper_ratio(r, c, v, metric) : study_ratio(r, c, v, metric);
}

/* The data of the chart.  Each variant is a series with a bar per case; with a single case
 * (by_variant), one series has a bar per variant. */
struct bars { struct arena *a; const struct study_report *r; int metric; bool by_variant; };

static int n_bars(const struct bars *b)
{
    return b->by_variant ? b->r->study->n_variants : b->r->n_cases;
}

static struct chart_series series(const struct bars *b, int v, bool paper)
{
    double *y = ARENA_ARRAY(b->a, double, n_bars(b));
    for (int i = 0; i < n_bars(b); i++)
        y[i] = b->by_variant ? shown(b->r, 0, i, b->metric, paper)
                             : shown(b->r, i, v, b->metric, paper);
    const char *of = b->by_variant ? "" : b->r->study->variant[v].title;
    const char *what = !paper ? b->by_variant ? "measured here" : "" : "the paper";
    return (struct chart_series){
        .name = arena_printf(b->a, "%s%s%s", of, of[0] && what[0] ? ": " : "", what),
        .mark = b->by_variant || !paper ? CHART_BARS : CHART_POINTS, .n = n_bars(b), .y = y,
        .colour = b->by_variant ? paper ? CHART_COLOURS : 1 : v % (CHART_COLOURS - 1) + 1,
    };
}

static bool any_value(const struct chart_series *s)
{
    bool any = false;
    for (int i = 0; i < s->n; i++)
        any = any || !isnan(s->y[i]);
    return any;
}

bool study_chart(struct str *out, const struct study_report *r, int metric, enum chart_form form,
                 struct err *e)
{
    const struct study *s = r->study;
    const struct study_metric *m = &s->metric[metric];
    struct arena *a = arena_new();
    struct bars b = { a, r, metric, r->n_cases == 1 };
    struct chart_series *list = ARENA_ARRAY(a, struct chart_series, 2 * s->n_variants + 2);
    const char **category = ARENA_ARRAY(a, const char *, n_bars(&b));
    int n = 0, measured = 0;
    for (int i = 0; i < n_bars(&b); i++)
        category[i] = b.by_variant ? s->variant[i].title : s->cases[r->cases[i]].title;
    for (int v = 0; v < (b.by_variant ? 1 : s->n_variants); v++)
        for (int paper = 0; paper <= m->has_paper; paper++) {
            list[n] = series(&b, v, paper);
            bool base = !b.by_variant && v == m->base;
            measured += !base && !paper && any_value(&list[n]);
            n += !base && any_value(&list[n]);
        }
    const char *unit = m->base < 0 ? m->unit
                     : arena_printf(a, "ratio to %s", s->variant[m->base].title);
    struct chart chart = {
        .title = arena_printf(a, "%s: %s", s->id, m->title),
        .caption = arena_printf(a, "%s%s%s. Measured on %s, %s.", s->paper, s->item[0] ? ", " : "",
                                s->item, r->host, r->date),
        .y = { .label = unit, .log = m->base >= 0 },
        .n_categories = n_bars(&b), .category = category, .n_series = n, .series = list,
        .width = n_bars(&b) > 12 ? 60 * n_bars(&b) : 0,
    };
    bool ok = measured > 0 ? chart_draw(&chart, form, NULL, out, e)
                    : err_set(e, ERR_RANGE, "%s has no values to draw", m->id);
    arena_free(a);
    return ok;
}
