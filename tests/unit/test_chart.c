/* Charts: golden scripts, and what gnuplot draws of them: well-formed XML whatever goes in. */
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/arena.h"
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "sessions/report/chart.h"
#include "tests/unit/golden.h"
#include "tests/unit/svg_check.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        n++;
    return n;
}

/* Every name of a series and every category is a text of the picture, once or more. */
static void has_names(const char *svg, const struct chart *c)
{
    for (int i = 0; i < c->n_series + c->n_categories; i++) {
        const char *name = i < c->n_series ? c->series[i].name : c->category[i - c->n_series];
        char text[200];
        snprintf(text, sizeof text, "<text>%s</text>", name);
        if (!strstr(svg, text))
            fail_msg("%s is missing:\n%s", name, svg);
    }
}

/* Appends the picture. */
static void drawn(const struct chart *c, const char *golden, struct str *svg)
{
    struct str script = {0}, png = {0};
    struct err e;
    if (!chart_draw(c, CHART_SCRIPT, NULL, &script, &e) || !chart_draw(c, CHART_SVG, NULL, svg, &e)
        || !chart_draw(c, CHART_PNG, NULL, &png, &e))
        fail_msg("%s", e.text);
    golden_check(golden, str_text(&script));
    svg_check(str_text(svg));
    has_names(str_text(svg), c);
    assert_true(png.len > 1000 && memcmp(png.data, "\x89PNG", 4) == 0);
    str_free(&script);
    str_free(&png);
}

/* Roofs as named lines, points with labels that keep out of each other's way. */
static void lines_and_points(void **state)
{
    (void)state;
    static const double rx[] = { 0.1, 4, 100 }, l2[] = { 10, 400, 400 }, dram[] = { 1.5, 60, 1500 };
    static const double peak_x[] = { 0.1, 100 }, peak[] = { 200, 200 };
    static const double px[] = { 1.1, 1.15, 1.2, 9, 40 }, py[] = { 12, 12.5, 12, 80, 190 };
    static const char *const label[] = { "0", "1", "2", "3", "4 reorder" };
    static const struct chart_series series[] = {
        { .name = "L2 100 GB/s", .mark = CHART_LINE, .n = 3, .x = rx, .y = l2, .along = true },
        { .name = "DRAM 15 GB/s", .mark = CHART_LINE, .n = 3, .x = rx, .y = dram, .along = true,
          .dash = DASH_LONG },
        { .name = "avx512 200 GFLOP/s", .mark = CHART_LINE, .n = 2, .x = peak_x, .y = peak,
          .along = true, .colour = 8, .strong = true },
        { .name = "steps", .mark = CHART_POINTS, .n = 4, .x = px, .y = py, .label = label },
        { .name = "now", .mark = CHART_POINTS, .n = 1, .x = px + 4, .y = py + 4,
          .label = label + 4, .strong = true },
    };
    static const struct chart c = {
        .title = "c2d n=1 <roofline>", .caption = "One core & \"all\" of it.  Bandwidths are the"
        " best of many short samples; what a longer caption says is broken at blanks, as here.",
        .x = { .label = "arithmetic intensity (FLOP/byte)", .log = true, .lo = 0.1, .hi = 100 },
        .y = { .label = "speed (GFLOP/s)", .log = true },
        .n_series = COUNT_OF(series), .series = series,
    };
    struct str svg = {0};
    drawn(&c, "tests/golden/chart/lines.gp", &svg);
    assert_int_equal(count(str_text(&svg), "<use xlink:href='#gpPt12'"), 4 + 1);   /* legend */
    assert_int_equal(count(str_text(&svg), "<use xlink:href='#gpPt6'"), 1 + 1);
    str_free(&svg);
}

/* Measured values beside a paper's, one of which is missing; whiskers; names that do not fit. */
static void grouped_bars(void **state)
{
    (void)state;
    static const char *const category[] = {
        "N H W O", "N O H W", "N O/16 H W 16o", "N H/4 W/16 O/16 4h 16w 16o", "a very long name",
    };
    static const double here[] = { 1.0, 1.84, 0.99, 1.12, 0.2 };
    static const double low[] = { 0.95, 1.7, 0.98, 1.1, NAN }, high[] = { 1.2, 2, 1, 1.3, NAN };
    static const double paper[] = { 1.0, 1.44, NAN, 0.74, 0.5 };
    static const double limit[] = { 1, 1, 1, 1, 1 };
    static const char *const label[] = { "1.00", "1.84", "0.99", "1.12", NULL };
    static const struct chart_series series[] = {
        { .name = "measured here", .mark = CHART_BARS, .n = 5, .y = here, .lo = low, .hi = high,
          .label = label },
        { .name = "in the paper", .mark = CHART_BARS, .n = 5, .y = paper },
        { .name = "N H W O", .mark = CHART_LINE, .n = 5, .y = limit, .dash = DASH_DOTS,
          .colour = 8 },
    };
    static const struct chart c = {
        .title = "Layouts alone", .y = { .label = "latency (ratio)" }, .x = { .label = "layout" },
        .n_categories = 5, .category = category, .n_series = 3, .series = series,
        .width = 600, .height = 420,
    };
    struct str svg = {0};
    drawn(&c, "tests/golden/chart/bars.gp", &svg);
    assert_int_equal(count(str_text(&svg), "<text>n/a</text>"), 1);
    str_free(&svg);
}

/* A zero cannot stand on a logarithmic axis: its number does. */
static void log_bars(void **state)
{
    (void)state;
    static const char *const category[] = { "512x4", "512x16" };
    static const double a[] = { 32, 2048 }, b[] = { 0, 2352 };
    static const struct chart_series series[] = {
        { .name = "tiled", .mark = CHART_BARS, .n = 2, .y = a },
        { .name = "row by row", .mark = CHART_BARS, .n = 2, .y = b },
    };
    static const struct chart c = {
        .y = { .label = "L1 misses", .log = true }, .n_categories = 2, .category = category,
        .n_series = 2, .series = series, .width = 360, .height = 240,
    };
    struct str svg = {0};
    drawn(&c, "tests/golden/chart/log-bars.gp", &svg);
    assert_int_equal(count(str_text(&svg), "<text>0</text>"), 1);
    str_free(&svg);
}

/* What nobody measured is a gap of the line and of its band; a missing end is the value. */
static void gaps_and_bands(void **state)
{
    (void)state;
    static const double x[] = { 1, 2, 3, 4, 5 }, y[] = { 8, 6, NAN, 3, 2 };
    static const double lo[] = { 7, 5, 4, NAN, 1 }, hi[] = { 9, 8, 6, 4, 3 };
    static const struct chart_series s = { .name = "best", .mark = CHART_LINE, .n = 5, .x = x,
                                           .y = y, .lo = lo, .hi = hi };
    static const struct chart c = { .y.log = true, .n_series = 1, .series = &s };
    struct str script = {0}, svg = {0};
    struct err e;
    assert_true(chart_draw(&c, CHART_SCRIPT, NULL, &script, &e));
    assert_true(chart_draw(&c, CHART_SVG, NULL, &svg, &e));
    assert_non_null(strstr(str_text(&script), "$values0 << end\n1 8 7 9\n2 6 5 8\n\n4 3 3 4\n"
                                              "5 2 1 3\nend\n"));
    assert_int_equal(count(str_text(&svg), "<polygon"), 2);
    svg_check(str_text(&svg));
    str_free(&script);
    str_free(&svg);
}

static void refusals(void **state)
{
    (void)state;
    static const double none[] = { NAN, NAN }, one[] = { 1, 2 };
    static const struct chart_series empty = { .mark = CHART_LINE, .n = 2, .x = one, .y = none };
    static const struct chart_series bars = { .mark = CHART_BARS, .n = 2, .y = one };
    static const struct { struct chart c; const char *text; } row[] = {
        { { .n_series = 1, .series = &empty }, "no value" },
        { { .n_series = 0 }, "no value" },
        { { .n_series = 1, .series = &bars }, "2 values for 0 categories" },
        { { .n_series = 1, .series = &empty, .y = { .log = true, .lo = 0, .hi = 5 } },
          "cannot go from 0 to 5" },
        { { .n_series = 1, .series = &empty, .x = { .lo = 6, .hi = 5 } }, "cannot go from 6 to 5" },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str out = {0};
        struct err e = {0};
        assert_false(chart_draw(&row[i].c, CHART_SVG, NULL, &out, &e));
        assert_int_equal(e.code, ERR_RANGE);
        assert_non_null(strstr(e.text, row[i].text));
        assert_int_equal(out.len, 0);
        str_free(&out);
    }
}

/* --- Whatever goes in ------------------------------------------------------------------------ */

static int up_to(struct rng *r, int most)
{
    return (int)rng_range(r, 0, most);
}

static double some_value(struct rng *r)
{
    static const double odd[] = { 0, -1, NAN, INFINITY, 1e300, 1e-300, 5, 5 };
    int k = up_to(r, 15);
    return k < COUNT_OF(odd) ? odd[k] : pow(10, 12 * rng_unit(r) - 6);
}

static void random_charts_are_sound(void **state)
{
    (void)state;
    static const char *const text[] = { "", "a", "<&\">", "\x01\xff", "\xef\xbf\xbe!", "µs", NULL,
                                        "several words that may be broken into lines here" };
    uint64_t seed = 20261121;
    struct rng r = rng_seed(seed);
    int made = 0;
    for (int i = 0; i < 200; i++) {
        double v[4][6];
        const char *name[6];
        struct chart_series s[3] = {0};
        for (int k = 0; k < 6; k++) {
            for (int j = 0; j < 4; j++)
                v[j][k] = some_value(&r);
            name[k] = text[up_to(&r, 5)];
        }
        struct chart c = { .title = text[up_to(&r, 7)], .caption = text[up_to(&r, 7)],
                           .series = s, .n_series = up_to(&r, 3), .category = name,
                           .n_categories = up_to(&r, 1) * 6, .x.log = up_to(&r, 1) == 1,
                           .y.log = up_to(&r, 1) == 1, .y.label = text[up_to(&r, 7)],
                           .width = up_to(&r, 1) * 200, .height = up_to(&r, 1) * 100 };
        for (int k = 0; k < 3; k++)
            s[k] = (struct chart_series){
                .name = text[up_to(&r, 7)], .mark = (enum chart_mark)up_to(&r, 2),
                .n = up_to(&r, 6), .x = up_to(&r, 2) || !c.n_categories ? v[0] : NULL,
                .y = v[1 + up_to(&r, 1)], .label = up_to(&r, 1) ? name : NULL,
                .lo = up_to(&r, 1) ? v[2] : NULL, .hi = v[3],
                .along = up_to(&r, 1) == 1, .strong = up_to(&r, 1) == 1,
            };
        struct str out = {0};
        struct err e;
        if (chart_draw(&c, CHART_SVG, NULL, &out, &e)) {
            made++;
            svg_check(str_text(&out));
        } else if (e.code != ERR_RANGE) {
            fail_msg("chart %d (seed %llu): %s", i, (unsigned long long)seed, e.text);
        }
        str_free(&out);
    }
    if (made < 60)
        fail_msg("only %d of 200 charts were drawn (seed %llu)", made, (unsigned long long)seed);
}

/* Whatever a text says, it is one text for gnuplot and says the same in the picture. */
static void texts_stay_texts(void **state)
{
    static const char *const text[] = {
        "it's", "a\\", "it's `touch build/chart-broke-out`", "a_b^2 {/Bold c}", "@x # no comment",
        "100% %d %s", "<&\"> @GPVAL_TERM", "\"; system('touch build/chart-broke-out'); \"",
    };
    static const double y[COUNT_OF(text)] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    struct chart_series s[COUNT_OF(text)];
    struct str svg = {0};
    struct err e;
    (void)state;
    for (int i = 0; i < COUNT_OF(text); i++)
        s[i] = (struct chart_series){ .name = text[i], .mark = CHART_BARS, .n = COUNT_OF(text),
                                      .y = y, .label = text };
    struct chart c = { .title = text[0], .caption = text[1], .x.label = text[2],
                       .y.label = text[3], .n_categories = COUNT_OF(text), .category = text,
                       .n_series = COUNT_OF(text), .series = s };
    if (!chart_draw(&c, CHART_SVG, NULL, &svg, &e))
        fail_msg("%s", e.text);
    svg_check(str_text(&svg));
    for (int i = 0; i < COUNT_OF(text); i++) {
        struct str want = {0};
        str_add(&want, "<text>");
        for (const char *q = text[i]; *q; q++)
            if (*q == '<' || *q == '&')
                str_add(&want, *q == '<' ? "&lt;" : "&amp;");
            else
                str_add_char(&want, *q);
        str_add(&want, "</text>");
        if (count(str_text(&svg), str_text(&want)) < 2 + COUNT_OF(text))
            fail_msg("%s is missing:\n%s", str_text(&want), str_text(&svg));
        str_free(&want);
    }
    assert_false(file_exists("build/chart-broke-out"));
    str_free(&svg);
}

static void forms(void **state)
{
    static const double y[] = { 1 };
    static const char *const category[] = { "a" };
    static const struct chart_series s = { .mark = CHART_BARS, .n = 1, .y = y };
    static const struct chart c = { .n_categories = 1, .category = category, .n_series = 1,
                                    .series = &s };
    struct cancel cancel = { .raised = 1 };
    struct str out = {0}, path = {0};
    struct err e = {0};
    enum chart_form form;
    (void)state;
    assert_true(chart_form_of("a.svg", &form) && form == CHART_SVG);
    assert_true(chart_form_of("a.svg.png", &form) && form == CHART_PNG);
    assert_true(chart_form_of("x/a.gp", &form) && form == CHART_SCRIPT);
    assert_false(chart_form_of("svg", &form) || chart_form_of("a.pdf", &form));
    assert_false(chart_draw(&c, CHART_SVG, &cancel, &out, &e));
    assert_int_equal(e.code, ERR_CANCEL);
    str_add(&path, getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    assert_false(chart_ready(CHART_PNG, &e) || chart_draw(&c, CHART_PNG, NULL, &out, &e));
    assert_int_equal(e.code, ERR_ENV);
    assert_string_equal(e.text, "gnuplot is not installed, so no chart can be drawn");
    assert_string_equal(e.fix, "apt-get install gnuplot-nox");
    assert_int_equal(out.len, 0);
    assert_true(chart_ready(CHART_SCRIPT, &e) && chart_draw(&c, CHART_SCRIPT, NULL, &out, &e));
    setenv("PATH", str_text(&path), 1);
    assert_true(out.len > 0);
    str_free(&out);
    str_free(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_and_points), cmocka_unit_test(grouped_bars),
        cmocka_unit_test(log_bars), cmocka_unit_test(gaps_and_bands),
        cmocka_unit_test(refusals),
        cmocka_unit_test(random_charts_are_sound), cmocka_unit_test(texts_stay_texts),
        cmocka_unit_test(forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
