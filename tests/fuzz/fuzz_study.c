#include <stdlib.h>
#include "sessions/study/study.h"
#include "tests/fuzz/fuzz.h"

#define MOST_CELLS 12

/* Numbers without a kernel. */
static bool measured(void *ctx, const struct program *p, const struct measure_opts *o,
                     const struct cancel *c, struct measurement *m, struct err *e)
{
    (void)ctx, (void)o, (void)c, (void)e;
    double ms = 1 + 1e-3 * (double)(p->n_steps % 7);
    *m = (struct measurement){
        .outcome = OUTCOME_OK, .verified = true, .threads = 1, .gflops = 1,
        .latency = { .median_ms = ms, .min_ms = ms, .max_ms = ms, .runs = 9 },
    };
    return true;
}

static bool is_small(const struct study *s)
{
    bool small = (int64_t)s->n_cases * s->n_variants <= MOST_CELLS && s->n_cases <= MOST_CELLS;
    for (int i = 0; i < s->n_variants; i++)
        small = small && !s->variant[i].tune.on && s->variant[i].search.n == 0;
    return small;
}

static void report(const struct study *s)
{
    struct study_opts o = { .scale = 1, .host = "a machine", .date = "2026-01-01",
                            .measure = measured };
    struct study_report *r = NULL;
    struct str text = {0}, json = {0}, svg = {0};
    struct err e = {0};
    if (!study_run(s, &o, NULL, NULL, &r, &e)) {
        fuzz_error(&e);
        return;
    }
    r->seconds = r->n_meters = 0;        /* what remains is the same on every machine */
    study_text(&text, r);
    study_json(&json, r);
    for (int m = 0; m < s->n_metrics; m++)
        if (!study_chart(&svg, r, m, CHART_SCRIPT, &e))
            fuzz_error(&e);
    FUZZ_CHECK(text.len > 0, "a report without a text");
    fuzz_say(str_text(&text));
    fuzz_say(str_text(&json));
    fuzz_say(str_text(&svg));
    FUZZ_CHECK(study_report_check(s, "report.json", str_text(&json), &e),
               "a study does not take its own report: %s\n%s", e.text, str_text(&json));
    str_free(&text);
    str_free(&json);
    str_free(&svg);
    study_report_free(r);
}

int fuzz_study(const uint8_t *data, size_t n)
{
    struct study *s = NULL;
    struct str list = {0};
    struct err e = {0};
    char *text = fuzz_text(data, n);
    if (study_parse("fuzz.yaml", text, n, &s, &e)) {
        study_list_text(&list, &s, 1, 80);
        study_list_json(&list, &s, 1);
        fuzz_say(str_text(&list));
        if (is_small(s))
            report(s);
        study_free(s);
    } else {
        FUZZ_CHECK(!s, "a study with an error");
        fuzz_error(&e);
    }
    str_free(&list);
    free(text);
    return 0;
}
