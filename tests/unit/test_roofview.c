/* The braille canvas, and the roofline on a fixed machine model: as a view of the screen, as text
 * and as SVG. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "app/ui/canvas.h"
#include "app/ui/plot.h"
#include "app/views/roofline_plot.h"
#include "kernels/base/rng.h"
#include "sessions/report/roofline_steps.h"
#include "tests/unit/golden.h"
#include "tests/unit/model_help.h"
#include "tests/unit/roof_model.h"
#include "tests/unit/svg_check.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static char root[512];                    /* golden files are named from here */

static void golden(const char *name, const char *text)
{
    char path[600], was[512];
    assert_non_null(getcwd(was, sizeof was));
    assert_int_equal(chdir(root), 0);
    snprintf(path, sizeof path, "tests/golden/%s", name);
    golden_check(path, text);
    assert_int_equal(chdir(was), 0);
}

static void why_above_the_roof(void **state)
{
    (void)state;
    static const struct { double fraction; bool algorithm; const char *end; } row[] = {
        { 1.03, false, "machine model allows" }, { 1.03, true, "machine model allows" },
        { 1.04, false, "allows; more than the model: tilescope machine --measure" },
        { 1.04, true, "allows; Winograd's additions can run beside multiply-adds" },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct roof_step s = { .algorithm = row[i].algorithm,
                               .r = { .gflops = row[i].fraction * 100, .bound = 100, .by = ROOF_FMA,
                                      .fraction = row[i].fraction } };
        struct str out = {0};
        roofline_plot_remark(&out, &s);
        assert_true(strlen(str_text(&out)) > strlen(row[i].end));
        assert_string_equal(str_text(&out) + out.len - strlen(row[i].end), row[i].end);
        str_free(&out);
    }
}

/* --- Canvas ----------------------------------------------------------------------------------- */

static void canvas_shapes(void **state)
{
    (void)state;
    struct canvas c;
    struct str out = {0};
    canvas_open(&c, 24, 6);
    canvas_line(&c, 0, 0, 47, 23, STYLE_PLAIN, 0);
    canvas_line(&c, 0, 23, 47, 0, STYLE_PLAIN, 4);
    canvas_line(&c, 10, -5, 10, 99, STYLE_PLAIN, 0);
    canvas_line(&c, 0, 12, NAN, 5, STYLE_PLAIN, 0);
    canvas_line(&c, 30, 12, 30, 12, STYLE_PLAIN, 0);
    canvas_text(&c, 21, 2, STYLE_KEY, "µ12x");
    canvas_text(&c, -1, 5, STYLE_KEY, "ab");
    canvas_print(&c, &out, true);
    canvas_print(&c, &out, false);
    assert_int_equal(canvas_used(&c, 22, 2, 4), 4);
    assert_true(canvas_written(&c, 20, 2, 2) && !canvas_written(&c, 18, 2, 3));
    golden("screen/canvas.txt", str_text(&out));
    canvas_close(&c);
    str_free(&out);
}

/* Every dot is where a matrix of booleans has it: the code point's bits, decoded by Unicode's own
 * numbering of the dots. */
static void canvas_dots(void **state)
{
    (void)state;
    enum { W = 5, H = 3 };
    static const int number[8][2] = { { 0, 0 }, { 0, 1 }, { 0, 2 }, { 1, 0 }, { 1, 1 }, { 1, 2 },
                                      { 0, 3 }, { 1, 3 } };             /* dot n + 1: x, y */
    struct rng r = rng_seed(99);
    for (int turn = 0; turn < 200; turn++) {
        bool on[4 * H][2 * W] = { { false } };
        struct canvas c;
        struct doc d;
        canvas_open(&c, W, H);
        for (int i = 0; i < turn % 60; i++) {
            int x = (int)rng_range(&r, -2, 2 * W + 1), y = (int)rng_range(&r, -2, 4 * H + 1);
            canvas_dot(&c, x, y, STYLE_GOOD);
            if (x >= 0 && x < 2 * W && y >= 0 && y < 4 * H)
                on[y][x] = true;
        }
        doc_open(&d);
        canvas_doc(&c, &d);
        assert_int_equal(d.lines.len, H);
        for (int row = 0; row < H; row++) {
            const char *p = d.lines.data[row].text;
            for (int col = 0; col < W; col++) {
                unsigned want = 0;
                for (int k = 0; k < 8; k++)
                    want |= (unsigned)on[4 * row + number[k][1]][2 * col + number[k][0]] << k;
                unsigned ch = (unsigned char)*p == ' ' ? 0x2800
                            : ((unsigned char)p[0] & 15u) << 12 | ((unsigned char)p[1] & 63u) << 6
                                  | ((unsigned char)p[2] & 63u);
                assert_int_equal(ch, 0x2800 + want);
                p += want ? 3 : 1;
            }
        }
        doc_close(&d);
        canvas_close(&c);
    }
}

/* --- Roofline --------------------------------------------------------------------------------- */

/* Of a million FLOPs: gflops, simulated misses. */
static struct measurement measured(double gflops, long misses, int threads)
{
    struct measurement m = {
        .outcome = OUTCOME_OK, .verified = true, .threads = threads, .gflops = gflops,
        .latency = { .min_ms = 1, .median_ms = 1, .max_ms = 2, .runs = 9 }, .isa = "avx512",
    };
    roof_simulated(&m, 1, (long[]){ misses }, (long[]){ misses / 4 });
    return m;
}

/* gmm 256^3: 33.5 MFLOP, 768 KiB of data.  Five steps, the last one undone. */
static struct model *session(int w, int h)
{
    static const struct { const char *step; double gflops; long misses; } row[] = {
        { NULL, 1.4, 900000 }, { "layout set B \"N/16 K 16n\"", 2.5, 300000 },
        { "loop split C N 16", 2.45, 290000 }, { "loop reorder C M N.0 K N.1", 48, 120000 },
        { "loop vectorize C N.1", 170, 40000 }, { "loop unroll C N.0", 150, 40000 },
    };
    struct model *m = model_on("gmm m=256 k=256 n=256");
    struct err e;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct measurement got = measured(row[i].gflops, row[i].misses, 1);
        if (row[i].step && !history_apply(m->session->history, row[i].step, &e))
            fail_msg("%s: %s", row[i].step, e.text);
        if (i != 2)                       /* one was not measured */
            history_set_measured(m->session->history,
                                 history_current(m->session->history)->id, &got);
    }
    assert_true(history_undo(m->session->history, 1, &e));
    m->roofs.model = xmalloc(sizeof *m->roofs.model);
    *m->roofs.model = roof_model();
    m->roofs.looked = true;
    model_changed(m);
    model_resize(m, w, h);
    screen_refresh(m);
    return m;
}

static void views(void **state)
{
    (void)state;
    static const struct { int w, h; bool unicode; const char *keys, *golden; } row[] = {
        { 80, 24, true, "8", "screen/roofline-80x24.txt" },
        { 80, 24, true, "8 + G", "screen/roofline-80x24-zoom.txt" },
        { 160, 48, true, "8", "screen/roofline-160x48.txt" },
        { 100, 30, false, "8 +", "screen/roofline-ascii.txt" },
        { 40, 12, true, "8", "screen/roofline-40x12.txt" },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct model *m = session(row[i].w, row[i].h);
        m->unicode = row[i].unicode;
        press(m, row[i].keys);
        golden(row[i].golden, screen_of(m));
        model_free(m);
    }
}

/* No step is written over the name of a roof, and no name over a step. */
static void names_of_roofs_are_whole(void **state)
{
    (void)state;
    struct machine_model model = roof_model();
    for (int i = 0; i < 400; i++) {
        struct roof_step step[] = { { .position = 77, .here = true, .threads = 1,
                                      .r = { .intensity = 0.2 * pow(1.25, i % 20),
                                             .gflops = 2 * pow(1.25, (double)(i / 20)) } } };
        struct canvas c;
        struct str out = {0};
        canvas_open(&c, 60, 16);
        roofline_plot(&c, &model, step, 1);
        canvas_print(&c, &out, true);
        static const char *const text[] = { "L2 100", "L3 40", "DRAM 10", "avx512 200", "77" };
        for (int k = 0; k < COUNT_OF(text); k++)
            if (!strstr(str_text(&out), text[k]))
                fail_msg("%s is not in %d:\n%s", text[k], i, str_text(&out));
        str_free(&out);
        canvas_close(&c);
    }
}

/* Returns the row of a name in a plot of h rows; -1: it is not there. */
static int row_of_name(const struct machine_model *model, int h, const char *name)
{
    struct roof_step step[] = { { .position = 0, .threads = 1,
                                  .r = { .intensity = 0.01, .gflops = 1 } } };
    struct canvas c;
    struct str out = {0};
    canvas_open(&c, 60, h);
    roofline_plot(&c, model, step, 1);
    canvas_print(&c, &out, true);
    const char *text = str_text(&out), *at = strstr(text, name);
    int row = at ? 0 : -1;
    for (; at && text < at; text++)
        row += *text == '\n';
    str_free(&out);
    canvas_close(&c);
    return row;
}

/* At any height the name of a lower peak is below that of a higher one. */
static void names_of_near_peaks_keep_their_order(void **state)
{
    (void)state;
    for (int h = 8; h <= 24; h++)
        for (double sse = 60; sse < 190; sse += 10) {
            struct machine_model model = roof_model();
            snprintf(model.isa[1].isa, sizeof model.isa[1].isa, "sse");
            model.isa[1].gflops.one.best = sse;
            int high = row_of_name(&model, h, "avx512"), low = row_of_name(&model, h, "sse");
            if (high >= 0 && low >= 0 && low < high)
                fail_msg("%d rows, sse %g: names in rows %d and %d", h, sse, high, low);
        }
}

/* Made to the height of the pane: another height is another plot. */
static void fits_its_pane(void **state)
{
    (void)state;
    struct model *m = session(80, 24);
    press(m, "8 +");
    model_resize(m, 80, 40);
    screen_refresh(m);
    int tall = m->pane[VIEW_ROOFLINE].doc.lines.len;
    assert_shows(m, ">  4 ");
    model_resize(m, 80, 24);
    screen_refresh(m);
    assert_true(m->pane[VIEW_ROOFLINE].doc.lines.len < tall);
    assert_hides(m, ">  4 ");
    model_free(m);
}

static void text_and_svg(void **state)
{
    (void)state;
    struct machine_model model = roof_model();
    struct model *m = session(80, 24);
    struct roof_step step[8];
    struct str out = {0}, svg = {0};
    struct err e;
    int n = roofline_steps(m->session->history, &model, step, COUNT_OF(step));
    assert_int_equal(n, 4);
    assert_true(step[3].here && step[3].position == 4 && step[2].position == 3);
    assert_int_equal(roofline_steps(m->session->history, &model, step, 2), 4);
    roofline_plot_heading(&out);
    for (int i = 0; i < 2; i++) {
        str_add(&out, "\n");
        roofline_plot_row(&out, &step[i], 200);
    }
    assert_string_equal(str_text(&out), "   # FLOP/byte GFLOP/s   bound    by share  step\n"
                        "   0     0.466     1.4    46.6    L2   3 %  as given\n"
                        "   1       1.4     2.5   139.8    L2   2 %  layout set B \"N/16 K 16n\"");
    assert_string_equal(roofline_plot_star(step, n), "");
    step[1].r.simulated = false;
    str_clear(&out);
    roofline_plot_row(&out, &step[1], 50);
    assert_non_null(strstr(str_text(&out), "   1      *1.4     2.5"));
    assert_non_null(strstr(roofline_plot_star(step, n), "*: not simulated"));
    const struct history *h = m->session->history;
    str_clear(&out);
    if (!roofline_steps_chart(h, &model, CHART_SCRIPT, NULL, &out, &e)
        || !roofline_steps_chart(h, &model, CHART_SVG, NULL, &svg, &e))
        fail_msg("%s", e.text);
    golden("chart/roofline.gp", str_text(&out));
    svg_check(str_text(&svg));
    str_free(&out);
    str_free(&svg);
    model_free(m);
    m = model_on("gmm m=16 k=16 n=16");
    assert_false(roofline_steps_chart(m->session->history, &model, CHART_SVG, NULL, &svg, &e));
    assert_int_equal(e.code, ERR_RANGE);
    model_free(m);
}

static void numbers(void **state)
{
    (void)state;
    static const struct { double v; const char *text; } row[] = {
        { 0, "0" }, { 0.25, "0.25" }, { 1, "1" }, { 9999, "9999" }, { 12500, "12.5k" },
        { 3e6, "3M" }, { 2.5e9, "2.5G" }, { 2e-5, "2e-05" }, { -20000, "-20k" }, { 1e-17, "0" },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str s = {0};
        plot_number(&s, row[i].v);
        assert_string_equal(str_text(&s), row[i].text);
        str_free(&s);
    }
}

/* The machine is measured once the view was shown with something to show, to the end. */
static void measures_the_machine(void **state)
{
    (void)state;
    struct model *m = session(80, 24);
    struct desired_job w;
    free(m->roofs.model);
    m->roofs.model = NULL;
    assert_false(model_desired_job(m, LANE_MEASURE, &w));
    press(m, "8");
    assert_true(model_desired_job(m, LANE_MEASURE, &w));
    assert_int_equal(w.kind, JOB_MACHINE);
    assert_int_equal(model_measuring(m), -1);
    assert_shows(m, "Measuring this machine's roofs");
    assert_shows(m, "FLOP/byte GFLOP/s");
    vec_push(&m->late, 2);               /* a step that is measured later by itself waits */
    m->autorun = true;
    assert_true(model_desired_job(m, LANE_MEASURE, &w) && w.kind == JOB_MACHINE);
    press(m, "1");
    assert_true(model_desired_job(m, LANE_MEASURE, &w) && w.kind == JOB_MACHINE);
    press(m, "8");
    m->autorun = false;
    m->late.len = 0;
    assert_true(model_desired_job(m, LANE_MEASURE, &w));
    struct app_job *j = model_job(m, &w);
    j->ok = false;
    err_set(&j->e, ERR_ENV, "there is no compiler");
    model_done(m, j);
    job_free(j);
    assert_false(model_desired_job(m, LANE_MEASURE, &w));
    assert_shows(m, "there is no compiler");
    m->roofs.failed = false;
    assert_true(model_desired_job(m, LANE_MEASURE, &w));
    press(m, "Esc");
    assert_false(model_desired_job(m, LANE_MEASURE, &w));
    assert_shows(m, "Measuring this machine's roofs was cancelled.");
    press(m, "1");
    assert_false(model_desired_job(m, LANE_MEASURE, &w));
    press(m, "8");                        /* asks for them again */
    assert_shows(m, "Measuring this machine's roofs ...");
    assert_true(model_desired_job(m, LANE_MEASURE, &w) && w.kind == JOB_MACHINE);
    j = model_job(m, &w);
    j->ok = true;
    j->model = xmalloc(sizeof *j->model);
    *j->model = roof_model();
    model_done(m, j);
    job_free(j);
    assert_false(model_desired_job(m, LANE_MEASURE, &w));
    assert_shows(m, "avx512 200");
    press(m, "1");
    assert_hides(m, "avx512 200");
    model_free(m);
}

static int set_up(void **state)
{
    (void)state;
    bool known = getcwd(root, sizeof root) != NULL;
    private_folders();
    return known ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canvas_shapes), cmocka_unit_test(canvas_dots),
        cmocka_unit_test(why_above_the_roof), cmocka_unit_test(views),
        cmocka_unit_test(fits_its_pane), cmocka_unit_test(text_and_svg),
        cmocka_unit_test(measures_the_machine), cmocka_unit_test(numbers),
        cmocka_unit_test(names_of_near_peaks_keep_their_order),
        cmocka_unit_test(names_of_roofs_are_whole),
    };
    return cmocka_run_group_tests_name("roofview", tests, set_up, NULL);
}
