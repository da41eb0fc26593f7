/* Reports the tuned cells of a study: a table, and curves of the best time so far. */
#include <jansson.h>
#include <math.h>

#include "sessions/study/study_tune.h"
#include "sessions/report/text_table.h"

enum { CURVE_POINTS = 40 };

static double number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void ms(struct str *row, const json_t *o, const char *key)
{
    double x = number(o, key);
    str_printf(row, isnan(x) ? "\t-" : "\t%.4g", x);
}

/* Returns the number of searches that a finished run in the records has answered. */
static int answered(const json_t *o)
{
    const json_t *s;
    size_t i;
    int n = 0;
    json_array_foreach(json_object_get(o, "searches"), i, s)
        n += json_is_true(json_object_get(s, "answered"));
    return n;
}

static void row(struct text_table *t, const json_t *o, const char *of, const char *variant)
{
    static const char *const time[] = { "start_ms", "eighth_ms", "quarter_ms", "half_ms",
                                        "best_ms" };
    struct str s = {0};
    str_printf(&s, "%s\t%s\t%s%s\t%.0f x %.0f\t%.0f", of, variant,
               json_string_value(json_object_get(o, "strategy")),
               json_is_true(json_object_get(o, "loop_only")) ? ", loops" : "", number(o, "seeds"),
               number(o, "budget"), number(o, "failed"));
    for (int i = 0; i < COUNT_OF(time); i++)
        ms(&s, o, time[i]);
    if (number(o, "seeds") > 1)
        str_printf(&s, "\t%.4g .. %.4g", number(o, "fastest_ms"), number(o, "slowest_ms"));
    text_table_row(t, number(o, "seeds") > 1 ? "%s\t%.0f" : "%s\t\t%.0f", str_text(&s),
                   number(o, "seconds"));
    str_free(&s);
}

void study_tune_text(struct str *out, const struct study_report *r)
{
    const struct study *s = r->study;
    struct text_table t = { .align = "lllrrrrrrrlr" };
    int n = 0, known = 0, last = -1;
    for (int i = 0; i < r->n_cases * s->n_variants; i++) {
        int c = i / s->n_variants, v = i % s->n_variants;
        json_t *o = r->cell[i].tuned ? json_loads(r->cell[i].tuned, 0, NULL) : NULL;
        if (!o)
            continue;
        if (n == 0)
            text_table_row(&t, "case\tvariant\tstrategy\tseeds x trials\tfailed\tstart\t1/8\t1/4"
                           "\t1/2\tall\tof the seeds\ts");
        n++;
        known += answered(o);
        row(&t, o, c == last ? "" : s->cases[r->cases[c]].title, s->variant[v].title);
        last = c;
        json_decref(o);
    }
    if (n == 0)
        return;
    str_add(out, "\nauto-tuner: the best so far in ms after a share of the trials, geometric mean"
            " over seeds\n");
    text_table_print(out, &t);
    if (known > 0)
        str_printf(out, "    %d searches are from the records; --fresh searches again\n", known);
}

/* --- Curves -------------------------------------------------------------------------------- */

struct curve { struct chart_series series; double budget; };

static double at(const json_t *search, double trial)
{
    const json_t *point;
    size_t i;
    double best = NAN;
    json_array_foreach(json_object_get(search, "curve"), i, point)
        if (json_number_value(json_array_get(point, 0)) <= trial)
            best = json_number_value(json_array_get(point, 1));
    return best;
}

/* Sets *mean, *lo and *hi to the geometric mean, the least and the greatest of the seeds' best
 * times after `trial` trials. */
static void mean_at(const json_t *o, double trial, double *mean, double *lo, double *hi)
{
    const json_t *list = json_object_get(o, "searches"), *s;
    double sum = 0;
    size_t i;
    *lo = INFINITY;
    *hi = -INFINITY;
    json_array_foreach(list, i, s) {
        double x = at(s, trial);
        sum += log(x);
        *lo = fmin(*lo, x);
        *hi = fmax(*hi, x);
    }
    *mean = exp(sum / (double)json_array_size(list));
    if (isnan(*mean))
        *lo = *hi = NAN;
}

static struct chart_series curve_of(struct arena *a, const json_t *o, const char *name, int colour)
{
    double *x = ARENA_ARRAY(a, double, CURVE_POINTS), *y = ARENA_ARRAY(a, double, CURVE_POINTS);
    double *lo = ARENA_ARRAY(a, double, CURVE_POINTS), *hi = ARENA_ARRAY(a, double, CURVE_POINTS);
    double budget = number(o, "budget");
    int n = budget < CURVE_POINTS ? (int)budget : CURVE_POINTS;
    for (int i = 0; i < n; i++) {
        x[i] = ceil(budget * (i + 1) / n);
        mean_at(o, x[i], &y[i], &lo[i], &hi[i]);
    }
    bool spread = number(o, "seeds") > 1;
    return (struct chart_series){
        .name = name, .mark = CHART_LINE, .n = n, .x = x, .y = y, .lo = spread ? lo : NULL,
        .hi = spread ? hi : NULL, .colour = colour % (CHART_COLOURS - 1) + 1,
    };
}

bool study_curve_chart(struct str *out, const struct study_report *r, int c, enum chart_form form,
                       struct err *e)
{
    const struct study *s = r->study;
    struct arena *a = arena_new();
    struct chart_series *list = ARENA_ARRAY(a, struct chart_series, s->n_variants);
    int n = 0;
    for (int v = 0; v < s->n_variants; v++) {
        const char *tuned = study_cell(r, c, v)->tuned;
        json_t *o = tuned ? json_loads(tuned, 0, NULL) : NULL;
        if (o)
            list[n++] = curve_of(a, o, s->variant[v].title, v);
        json_decref(o);
    }
    struct chart chart = {
        .title = arena_printf(a, "%s: %s", s->id, s->cases[r->cases[c]].title),
        .caption = arena_printf(a, "The best so far; geometric mean over seeds, a band from"
                                " the fastest to the slowest of them. Measured on %s, %s.", r->host,
                                r->date),
        .x = { .label = "trials" }, .y = { .label = "best so far (ms)", .log = true },
        .n_series = n, .series = list,
    };
    bool ok = n > 0 ? chart_draw(&chart, form, NULL, out, e)
                    : err_set(e, ERR_RANGE, "nothing was tuned in %s", s->cases[r->cases[c]].id);
    arena_free(a);
    return ok;
}
