/* Predicted misses on the screen: of the typed line, of the menu's entries, of a step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/machine/roofline.h"
#include "profile/measure/predict.h"
#include "tests/unit/model_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* Does the forecasts that the model wants; returns how many jobs that took. */
static int do_jobs(struct model *m)
{
    struct desired_job w;
    struct cancel c = {0};
    int n = 0;
    screen_refresh(m);
    for (; model_desired_job(m, LANE_TEXT, &w); n++) {
        assert_int_equal(w.kind, JOB_FORECAST);
        struct app_job *j = model_job(m, &w);
        j->set.forecast_s = 60;                          /* however busy the machine is */
        job_run(j, &c, NULL);
        assert_true(j->ok);
        model_done(m, j);
        job_free(j);
        screen_refresh(m);
    }
    return n;
}

static struct model *on_gmm(void)
{
    struct model *m = model_on("gmm m=16 k=64 n=64");
    press(m, ": cache Space 4K/4/64 Enter");
    return m;
}

static void of_the_typed_line(void **state)
{
    struct model *m = on_gmm();
    (void)state;
    press(m, ": loop Space reorder Space C Space K Space N");
    screen_refresh(m);
    assert_shows(m, "predicted …");
    assert_int_equal(do_jobs(m), 1);
    assert_shows(m, "predicted 4224 L1 misses, -94 %");
    assert_int_equal(do_jobs(m), 0);
    struct foreseen *row = &m->foreseen.rows.data[m->foreseen.rows.len - 1];
    row->after.misses.error = 0.5;        /* of a small sample */
    m->data_stamp++;
    assert_shows(m, "predicted roughly 4224 L1 misses, about -94 %");
    row->after.misses.l1_misses = row->now.misses.l1_misses * 9 / 10;
    m->data_stamp++;
    assert_shows(m, " L1 misses");
    assert_hides(m, " L1 misses, ");      /* the sample does not even show the sign */
    row->after.misses.error = 0;
    m->data_stamp++;
    assert_shows(m, " L1 misses, -10 %");
    struct measurement is = { .outcome = OUTCOME_OK };     /* its misses are on the screen */
    is.sim = (struct sim_result){ .available = true, .cache = predict_cache(&m->set.cache) };
    is.sim.l1_misses = row->after.misses.l1_misses / 2;
    history_set_measured(m->session->history, 0, &is);
    m->data_stamp++;
    assert_shows(m, " L1 misses, +100 %");
    press(m, "Esc");
    assert_hides(m, "predicted 4224");
    model_free(m);
}

/* A machine of 0.125 GHz, by its 8 GFLOP/s, that loads 64 GB/s from L2. */
static struct machine_model *give_rates(struct model *m)
{
    struct machine_model *r = m->roofs.model = xcalloc(1, sizeof *r);
    r->n_isa = 1;
    r->isa[0] = (struct isa_peak){ .vector_floats = 16,
                                   .gflops.one = { .best = 8, .median = 8, .runs = 1 } };
    snprintf(r->isa[0].isa, sizeof r->isa[0].isa, "%s", target_or_host(NULL)->isa);
    r->level[MODEL_L2].load.one = (struct rate){ .best = 64, .median = 64, .runs = 1 };
    return r;
}

/* With the rates of the machine also a time: the sums of a plain nest wait for each other. */
static void of_the_time(void **state)
{
    struct model *m = on_gmm();
    struct machine_model *r = give_rates(m);
    (void)state;
    press(m, ": loop Space reorder Space C Space K Space N");
    do_jobs(m);
    assert_shows(m, "predicted 4224 L1 misses, -94 %");
    assert_hides(m, "; time about");                     /* of this machine with other caches */
    m->set.cache = (struct cache_config){0};
    m->data_stamp++;
    assert_shows(m, "; time about -");
    struct measurement near = { .outcome = OUTCOME_OK, .verified = true, .peak_fraction = 0.95,
                                .latency = { .min_ms = 1, .runs = 9 }, .threads = 1 };
    snprintf(near.isa, sizeof near.isa, "%s", target_or_host(NULL)->isa);
    history_set_measured(m->session->history, 0, &near);
    m->data_stamp++;
    assert_shows(m, "; time about -5 %");              /* no more than the ceiling leaves */
    history_forget_measured(m->session->history, 0);
    m->data_stamp++;
    struct foreseen *row = &m->foreseen.rows.data[m->foreseen.rows.len - 1];
    row->after.tile = TILE_SPILLS;
    m->data_stamp++;
    assert_shows(m, "-94 %; no time is predicted, since a tile spills");
    assert_hides(m, "; time about");
    row->after.tile = TILE_STAYS;
    const struct gen_cycles cycles = { 0.25e6, 0 };
    assert_true(roofline_predict_ms(r, r->isa[0].isa, cycles, 96e6) == 2.5);
    assert_true(roofline_predict_ms(r, "none", cycles, 96e6) == 0);
    m->threads = 2;                                      /* it is of one thread */
    m->data_stamp++;
    assert_hides(m, "; time ");
    m->threads = 1;
    press(m, "Enter Tab k j");                           /* without a comparison */
    do_jobs(m);
    assert_shows(m, " L1 misses; about ");
    m->threads = 2;
    m->data_stamp++;
    assert_hides(m, "; about ");
    m->threads = 1;
    m->data_stamp++;
    assert_shows(m, " L1 misses; about ");
    type_line(m, "set autovectorize on");                /* the compiler changes the loops then */
    press(m, "k j");
    do_jobs(m);
    assert_shows(m, " L1 misses");
    assert_hides(m, "; about ");
    model_free(m);
}

/* A change of a past step, whose later steps are replayed, is predicted like a new step: also that
 * a tile spills, and that there would be too much code. */
static void of_a_past_step(void **state)
{
    struct model *m = model_on("gmm m=128 k=64 n=64");
    (void)state;
    give_rates(m);
    m->roofs.looked = true;
    type_line(m, "split C M 16 8");
    type_line(m, "split C N 4 16");
    type_line(m, "reorder C M.0 N.0 K M.1 N.1");
    type_line(m, "cache_write C at=N.0");
    type_line(m, "unroll C M.1");
    type_line(m, "vectorize C N.1");
    press(m, ": edit Space 1 Space split Space C Space M Space 16");
    do_jobs(m);
    assert_shows(m, "; time about ");
    press(m, "C-u C-u edit Space 1 Space split Space C Space M Space 2 Space 64");
    do_jobs(m);
    assert_shows(m, "; no time is predicted, since a tile spills");
    model_free(m);
    m = model_on("gmm m=128 k=64 n=64");
    type_line(m, "reorder C K M N");
    type_line(m, "unroll C M");
    type_line(m, "vectorize C N");
    press(m, ": layout Space set Space C Space \"N Space M\"");
    do_jobs(m);
    assert_shows(m, "not predicted: the unrolled body of C has more than 4096 statements");
    model_free(m);
}

static void of_a_step(void **state)
{
    struct model *m = on_gmm();
    (void)state;
    press(m, ": loop Space reorder Space C Space K Space N Enter");
    press(m, "Tab k j");
    do_jobs(m);
    assert_shows(m, "predicted 4224 L1 misses");
    press(m, "k");
    assert_int_equal(do_jobs(m), 1);
    assert_shows(m, "predicted 67.7k L1 misses");
    model_free(m);
}

static void of_the_menu(void **state)
{
    struct model *m = on_gmm();
    (void)state;
    model_resize(m, 140, 40);
    press(m, "1 g");
    press(m, "Down Down Enter");
    assert_shows(m, "misses …");
    assert_int_equal(do_jobs(m), 1);
    assert_hides(m, "misses …");
    assert_shows(m, "misses -94 %");
    const struct doc *d = &m->pane[DOC_HELP].doc;
    int first = d->lines.data[0].id;
    press(m, "Tab");
    assert_int_not_equal(d->lines.data[0].id, first);
    assert_non_null(strstr(d->lines.data[0].text, "misses -94 %"));
    press(m, "Tab");
    assert_int_equal(d->lines.data[0].id, first);
    press(m, "Esc");
    model_free(m);
}

/* A prediction that takes too long is tried once more; then the menu says that it is not known,
 * and the one of the current state decides whether there is a change. */
static void of_the_menu_when_late(void **state)
{
    struct model *m = on_gmm();
    (void)state;
    model_resize(m, 140, 40);
    press(m, "1 g Down Down Enter");
    for (int k = 0; k < 2; k++) {
        struct desired_job w;
        assert_shows(m, "misses …");
        assert_true(model_desired_job(m, LANE_TEXT, &w) && w.kind == JOB_FORECAST);
        struct app_job *j = model_job(m, &w);
        assert_true(j->patience == (k ? 10 : 1));
        j->ok = true;
        for (char *line = strtok(j->text.data, JOB_END_ROW); line;
             line = strtok(NULL, JOB_END_ROW)) {
            j->cure = xrealloc(j->cure, sizeof *j->cure * (size_t)(j->n_cures + 1));
            j->cure[j->n_cures] = (struct forecast){ .line = line, .ok = j->n_cures == 0 };
            j->cure[j->n_cures++].misses.l1_misses = 1234567;
        }
        model_done(m, j);
        job_free(j);
        screen_refresh(m);
    }
    assert_int_equal(do_jobs(m), 0);
    assert_hides(m, "misses …");
    assert_shows(m, "not predicted");
    assert_shows(m, "1.23M misses");
    model_free(m);
}

/* With the rates of the machine Tab ranks the entries by time, and the misses stay beside it. */
static void of_the_menu_by_time(void **state)
{
    struct model *m = on_gmm();
    const struct doc *d = &m->pane[DOC_HELP].doc;
    double before = -100;
    int times = 0;
    (void)state;
    m->set.cache = (struct cache_config){0};
    give_rates(m);
    m->roofs.looked = true;
    model_resize(m, 140, 40);
    press(m, "1 g Down Down Enter");
    assert_shows(m, "least time first");
    do_jobs(m);
    press(m, "Tab");
    assert_shows(m, "Loop K of C, least predicted time first");
    assert_shows(m, "in their order");
    for (int i = 0; i < d->lines.len; i++) {
        const char *at = strstr(d->lines.data[i].text, " time ");
        if (!at || !strstr(at, ", misses "))
            continue;
        assert_int_equal(times, i);                      /* those without a time come last */
        assert_true(atof(at + 6) >= before);             /* "same" is 0 */
        before = atof(at + 6);
        times++;
    }
    assert_true(times >= 3);
    m->threads = 2;
    m->data_stamp++;
    assert_shows(m, "fewest predicted misses first");
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_the_typed_line), cmocka_unit_test(of_a_step),
        cmocka_unit_test(of_the_time), cmocka_unit_test(of_a_past_step),
        cmocka_unit_test(of_the_menu), cmocka_unit_test(of_the_menu_by_time),
        cmocka_unit_test(of_the_menu_when_late),
    };
    private_folders();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
