/* The cache lens on the screen: its job, the playback by keys, and applying a cure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/ui/text.h"
#include "tests/unit/golden.h"
#include "tests/unit/model_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static char root[512];

/* Does the desired job, which must be of this kind. */
static void do_one_job(struct model *m, enum job_kind kind)
{
    struct desired_job w;
    struct cancel c = {0};
    screen_refresh(m);
    assert_true(model_desired_job(m, LANE_TEXT, &w));
    assert_int_equal(w.kind, kind);
    struct app_job *j = model_job(m, &w);
    job_run(j, &c, NULL);
    model_done(m, j);
    job_free(j);
    screen_refresh(m);
}

/* Simulates, and predicts the cures. */
static void do_job(struct model *m)
{
    struct desired_job w;
    do_one_job(m, JOB_LENS);
    do_one_job(m, JOB_CURES);
    assert_false(model_desired_job(m, LANE_TEXT, &w));
}

static struct model *with_simulation(void)
{
    struct model *m = model_on("gmm m=16 k=64 n=64");
    type_line(m, "cache 4K/4/64");
    press(m, "L");
    assert_shows(m, "Simulating the cache ...");
    do_one_job(m, JOB_LENS);
    return m;
}

static struct model *with_lens(void)
{
    struct model *m = with_simulation();
    do_one_job(m, JOB_CURES);
    return m;
}

static void playback(void **state)
{
    struct model *m = with_lens();
    const struct lensing *k = &m->lensing;
    char path[600];
    (void)state;
    model_resize(m, 120, 60);
    screen_refresh(m);
    snprintf(path, sizeof path, "%s/tests/golden/screen/lens-120x60.txt", root);
    golden_check(path, screen_of(m));
    int at = k->at;
    assert_true(k->lens->touch[at].conflict);
    press(m, "l l Right h");
    assert_int_equal(k->at, at + 2);
    assert_string_equal(k->lens->loop[k->loop].axis, "K");
    press(m, ".");
    assert_int_equal(k->at, lens_next(k->lens, k->loop, at + 2, 1));
    press(m, ",");
    assert_int_equal(k->at, at + 2);
    press(m, "o .");
    assert_string_equal(k->lens->loop[k->loop].axis, "M");
    assert_int_equal(k->at, lens_next(k->lens, k->loop, at + 2, 1));
    press(m, "z");
    assert_true(k->lens->touch[k->at].conflict);
    type_line(m, "lens prev 65536");
    assert_shows(m, "the window ends here");
    type_line(m, "lens next 65537");
    assert_shows(m, "Fix: lens next 100");
    type_line(m, "lens fly");
    assert_shows(m, "lens knows no such word");
    type_line(m, "lens from x");
    assert_shows(m, "lens from takes the number of an iteration");
    model_free(m);
}

/* o goes through the loops that the playback shows, not those of other nests, and says which one
 * is chosen. */
static void loops_around_a_touch(void **state)
{
    static const char *const axis[] = { "H", "W", "I", "KH", "KW", "N", "O" };
    (void)state;
    struct model *m = model_on("c2d n=1 i=4 h=8 w=8 o=8 k=3 p=1");
    type_line(m, "cache 4K/4/64");
    press(m, "L");
    do_one_job(m, JOB_LENS);
    const struct lensing *k = &m->lensing;
    int around[LENS_DEEPEST], n = lens_around(k->lens, k->at, around), seen[COUNT_OF(axis)] = {0};
    assert_true(n > 2 && n < k->lens->n_loops && k->loop == around[n - 1]);
    for (int i = 0; i < 2 * n; i++) {
        char text[64];
        press(m, "o");
        const char *name = k->lens->loop[k->loop].axis;
        assert_int_equal(k->loop, around[i % n]);
        snprintf(text, sizeof text, ". and , play iterations of %s", name);
        assert_shows(m, text);
        for (int j = 0; j < COUNT_OF(axis); j++)
            seen[j] += streq(axis[j], name);
    }
    for (int j = 0; j < COUNT_OF(axis); j++)
        assert_true(seen[j] == 0 || seen[j] == 2);
    model_free(m);
}

/* A loop that has ended before a touch is not around it. */
static void loops_that_ended_are_not_around(void **state)
{
    (void)state;
    struct model *m = model_on("gmm m=8 k=8 n=8");
    int stores = 0;
    type_line(m, "loop cache_write C at=N");
    press(m, "L");
    do_one_job(m, JOB_LENS);
    const struct lens *l = m->lensing.lens;
    for (int i = 0; i < l->n_touches; i++) {
        int around[LENS_DEEPEST], n = lens_around(l, i, around);
        if (l->touch[i].site == LENS_PREFETCH)
            continue;
        assert_true(n > 0 && around[n - 1] == l->site[l->touch[i].site].loop);
        stores += l->site[l->touch[i].site].is_store && streq(l->loop[around[n - 1]].axis, "N");
    }
    assert_true(stores > 0);
    model_free(m);
}

/* A kernel for a GPU has no such lens; the view says where the simulated GPU is. */
static void not_for_a_gpu(void **state)
{
    (void)state;
    struct model *m = model_on("gmm m=16 k=16 n=16");
    model_resize(m, 120, 40);
    type_line(m, "loop bind C M block.x");
    press(m, "L");
    do_one_job(m, JOB_LENS);
    assert_shows(m, "the lens shows the L1 of a CPU, and this kernel is for a GPU");
    assert_shows(m, "6 shows the simulated memory of the GPU");
    model_free(m);
}

/* Where no miss of the run is by a conflict, z says so, and no fix promises to find one. */
static void no_conflict_to_find(void **state)
{
    (void)state;
    struct model *m = model_on("gmm m=16 k=16 n=16");
    type_line(m, "cache 32K/8/64");
    press(m, "L");
    do_one_job(m, JOB_LENS);
    press(m, "z");
    assert_shows(m, "no miss of the run is by a conflict");
    assert_hides(m, "Fix:");
    press(m, "Esc : lens Space from Space 0 Enter");
    do_one_job(m, JOB_LENS);
    type_line(m, "lens prev 1000");
    assert_shows(m, "the window ends here");
    assert_hides(m, "lens from 0 begins");               /* it begins there */
    model_free(m);
}

/* Keys that play scroll to the playback on a small screen. The lens says which of its numbers are
 * estimates, and names the one that the steps have counted. */
static void small_screen(void **state)
{
    struct model *m = with_lens();
    struct measurement r = { .outcome = OUTCOME_OK, .verified = true };
    (void)state;
    model_resize(m, 80, 24);
    type_line(m, "lens");
    press(m, "g");
    assert_shows(m, "Right or l goes to the playback");
    assert_hides(m, "Playback  ");
    press(m, "l");
    assert_shows(m, "Playback  ");
    assert_shows(m, "touch ");
    assert_shows(m, "H hit   M missed");
    press(m, "g");
    assert_hides(m, "H hit   M missed");
    model_resize(m, 80, 60);
    ((struct lens *)m->lensing.lens)->simulated = 0.03;  /* as if it had been longer */
    r.sim.available = true;
    r.sim.fraction = 1;
    r.sim.l1_misses = 12345;
    r.sim.cache = m->lensing.lens->cache;
    r.sim.cache.level[r.sim.cache.n_levels++] = (struct cache_level){
        .geometry = { 1 << 20, 16, 64 },
    };
    history_set_measured(m->session->history, 0, &r);
    m->data_stamp++;
    assert_shows(m, "estimated from 3 % of it");
    assert_shows(m, "has simulated the whole run: 12.3k misses");
    model_free(m);
}

/* Another window, cache or state asks for another simulation; a late result is not shown. */
static void simulated_again(void **state)
{
    struct model *m = with_lens();
    struct desired_job w;
    struct cancel c = {0};
    (void)state;
    type_line(m, "lens from 0");
    assert_true(model_desired_job(m, LANE_TEXT, &w));
    struct app_job *j = model_job(m, &w);
    job_run(j, &c, NULL);
    type_line(m, "lens from 3");
    model_done(m, j);
    job_free(j);
    assert_false(model_lens_fits(m));
    do_job(m);
    assert_int_equal(m->lensing.lens->from, 3);
    type_line(m, "cache 2K/2/64");
    do_job(m);
    assert_int_equal(m->lensing.lens->ways, 2);
    type_line(m, "loop split C M 4");
    assert_shows(m, "Simulating the cache ...");
    press(m, "m");
    assert_shows(m, "The cache is simulated after the measurement");
    assert_false(model_desired_job(m, LANE_TEXT, &w));
    m->roofs.wanted = m->roofs.looked = true;            /* as after a look at the roofline */
    struct measurement timed = { .outcome = OUTCOME_OK, .verified = true, .gflops = 1,
                                 .latency = { .min_ms = 1, .median_ms = 1, .runs = 9 } };
    history_set_measured(m->session->history, history_current(m->session->history)->id, &timed);
    m->measure_wanted = false;
    m->data_stamp++;
    assert_shows(m, "The cache is simulated after the machine is measured for the");
    press(m, "z");
    assert_shows(m, "wait: first the machine is measured for the roofline");
    model_free(m);
}

/* Puts the cursor on the last line of a cure. */
static void go_to_cure(struct model *m, int cure)
{
    struct pane_doc *p = &m->pane[VIEW_LENS];
    int at = doc_find_id(&p->doc, cure);
    assert_true(at >= 0);
    while (at + 1 < p->doc.lines.len && p->doc.lines.data[at + 1].id == cure)
        at++;
    doc_scroll_to(&p->doc, &p->scroll, at, p->height);
    assert_true(model_lens_on_cure(m));
}

/* The lens opens at its top, and stays there when the cures come. */
static void opens_at_the_top(void **state)
{
    struct model *m = with_simulation();
    const struct scroll *at = &m->pane[VIEW_LENS].scroll;
    (void)state;
    assert_true(at->top == 0 && at->cursor == 0);
    assert_shows(m, "Load B[k][n] has 65.5k of the 67.7k misses in L1");
    assert_shows(m, "Predicting the misses after each of ");
    assert_false(model_lens_on_cure(m));
    do_one_job(m, JOB_CURES);
    assert_true(at->top == 0 && at->cursor == 0);
    model_resize(m, 80, 60);
    assert_shows(m, "loop reorder C K N");
    model_free(m);
}

/* Counts reports of progress, and cancels at the third. */
struct counted { struct cancel c; int n; char last[32]; };

static void count(void *ctx, const char *what, double fraction)
{
    struct counted *k = ctx;
    assert_true(fraction >= 0 && fraction < 1);
    snprintf(k->last, sizeof k->last, "%s", what);
    if (++k->n == 3)
        k->c.raised = 1;
}

/* Esc cancels the predictions, `lens` starts them again.  Late ones of another lens are not
 * taken. */
static void predictions_are_cancelled(void **state)
{
    struct model *m = with_simulation();
    struct desired_job w;
    struct counted k = {0};
    const struct progress pr = { count, &k };
    char want[64];
    (void)state;
    assert_true(model_desired_job(m, LANE_TEXT, &w));
    struct app_job *j = model_job(m, &w);
    snprintf(want, sizeof want, "predicting 3 of %d", m->lensing.n_cures);
    job_run(j, &k.c, &pr);
    assert_true(!j->ok && j->e.code == ERR_CANCEL && k.n == 3);
    assert_string_equal(k.last, want);
    model_done(m, j);
    job_free(j);
    assert_false(m->lensing.predicted);
    model_desired_job(m, LANE_TEXT, &w);
    j = model_job(m, &w);
    job_run(j, &(struct cancel){0}, NULL);
    press(m, "Esc");
    assert_shows(m, "The predictions were cancelled; :lens starts them again");
    assert_shows(m, "cancelled; :lens goes on");
    assert_false(model_desired_job(m, LANE_TEXT, &w));
    type_line(m, "lens from 3");
    do_one_job(m, JOB_LENS);
    model_done(m, j);                     /* of the lens before */
    job_free(j);
    assert_false(m->lensing.predicted);
    do_one_job(m, JOB_CURES);
    assert_true(m->lensing.predicted && m->lensing.now.ok);
    type_line(m, "lens from 4");
    press(m, "Esc");
    assert_shows(m, "The simulation was cancelled; :lens starts it again.");
    type_line(m, "lens");
    do_job(m);
    model_free(m);
}

/* A cure of several steps is applied at once; one line takes it back. */
static void several_steps_are_applied(void **state)
{
    struct model *m = with_lens();
    const struct lensing *k = &m->lensing;
    int i = 0;
    (void)state;
    while (!forecast_is_long(&k->cure[i]))
        i++;
    assert_string_equal(k->cure[i].line, "loop split C K 8\nloop reorder C K.0 M N K.1");
    go_to_cure(m, i);
    press(m, "Enter");
    assert_string_equal(step_of(m), "loop reorder C K.0 M N K.1");
    assert_int_equal(model_program(m)->n_steps, 2);
    assert_shows(m, "2 steps are applied; undo 2 takes them back");
    type_line(m, "undo 2");
    assert_string_equal(step_of(m), "");
    assert_true(model_lens_fits(m));
    m->lensing.cure[i].line = "loop split C K 8\nloop reorder C K.0 M N Q";
    go_to_cure(m, i);
    press(m, "Enter");
    assert_int_equal(model_program(m)->n_steps, 0);       /* all of them or none */
    model_free(m);
}

/* Down and Up go from cure to cure, however many rows one takes. */
static void the_cursor_goes_from_cure_to_cure(void **state)
{
    struct model *m = with_lens();
    struct pane_doc *p = &m->pane[VIEW_LENS];
    int rows = 0, cures = 0;
    (void)state;
    doc_scroll_to(&p->doc, &p->scroll, doc_find_id(&p->doc, 0), p->height);
    for (int i = 0; i < p->doc.lines.len; i++)
        rows += p->doc.lines.data[i].id >= 0;
    for (int last = -1; model_lens_on_cure(m); cures++) {
        int now = doc_at(&p->doc, &p->scroll)->id;
        assert_int_not_equal(now, last);
        last = now;
        press(m, "j");
        while (doc_at(&p->doc, &p->scroll)->heading || !doc_at(&p->doc, &p->scroll)->text[0])
            press(m, "j");
    }
    assert_true(cures > 2 && rows > cures);
    model_free(m);
}

static void a_cure_is_applied(void **state)
{
    struct model *m = with_lens();
    (void)state;
    assert_shows(m, "misses 67.7k to 4224");
    go_to_cure(m, 0);
    press(m, "Enter");
    assert_string_equal(step_of(m), m->lensing.cure[0].line);
    assert_false(model_lens_fits(m));
    press(m, "u");
    assert_true(model_lens_fits(m));
    press(m, "G Enter");
    assert_shows(m, "there is no cure on this line");
    model_free(m);
}

/* Nothing is cut that can be broken; what is wider scrolls. Enter is offered on a cure only. */
static void narrow_lens(void **state)
{
    struct model *m = with_lens();
    (void)state;
    go_to_cure(m, 0);
    assert_shows(m, "Enter apply");
    press(m, "G");
    assert_hides(m, "Enter apply");
    for (int w = 40; w <= 120; w += 16) {
        model_resize(m, w, 60);
        type_line(m, "focus view");
        screen_refresh(m);
        const struct pane_doc *p = &m->pane[VIEW_LENS];
        for (int i = 0; i < p->doc.lines.len; i++)
            if (text_width(p->doc.lines.data[i].text) > p->width - 1
                && !strstr(p->doc.lines.data[i].text, "loops:"))
                fail_msg("at %d columns cut: %s", w, p->doc.lines.data[i].text);
    }
    model_free(m);
}

/* `>` scrolls a list that is wider than its pane; the names of rows stay. */
static void scrolls_sideways(void **state)
{
    struct model *m = with_lens();
    struct pane_doc *p = &m->pane[VIEW_LENS];
    (void)state;
    model_resize(m, 60, 40);
    screen_refresh(m);
    struct line *l = &p->doc.lines.data[0];
    l->text = "name  0123456789012345678901234567890123456789012345678901234567890123456789";
    l->style = arena_alloc(p->doc.arena, strlen(l->text));
    memset((unsigned char *)l->style, STYLE_PLAIN, strlen(l->text));
    l->stays = 6;
    press(m, "> g");
    assert_int_equal(p->scroll.left, 8);
    struct grid g;
    struct str text = {0};
    grid_open(&g, 60, 4, true);
    doc_draw(&p->doc, &p->scroll, &g, (struct rect){0, 0, 60, 4}, (struct doc_look){0});
    grid_dump(&g, &text);
    assert_non_null(strstr(str_text(&text), "name  …9012345"));
    press(m, "<");
    assert_int_equal(p->scroll.left, 0);
    grid_close(&g);
    str_free(&text);
    model_free(m);
}

/* The lens covers a view, and q or Esc shows that again. */
static void the_lens_is_closed(void **state)
{
    (void)state;
    struct model *m = model_on("gmm m=64 k=32 n=48");
    press(m, "6 L");
    assert_shows(m, "q close");
    press(m, "q");
    assert_false(m->out.quit);
    assert_int_equal(m->view[PANE_SIDE], VIEW_PROFILE);
    press(m, "1 L : compare Enter");                     /* one covers what the other did */
    press(m, "q");
    assert_int_equal(m->view[PANE_SIDE], VIEW_PROFILE);
    assert_int_equal(m->focus, PANE_MAIN);
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lens_is_closed),
        cmocka_unit_test(playback),
        cmocka_unit_test(loops_around_a_touch),
        cmocka_unit_test(loops_that_ended_are_not_around), cmocka_unit_test(not_for_a_gpu),
        cmocka_unit_test(no_conflict_to_find), cmocka_unit_test(small_screen),
        cmocka_unit_test(simulated_again),
        cmocka_unit_test(opens_at_the_top), cmocka_unit_test(predictions_are_cancelled),
        cmocka_unit_test(several_steps_are_applied),
        cmocka_unit_test(a_cure_is_applied),
        cmocka_unit_test(the_cursor_goes_from_cure_to_cure), cmocka_unit_test(narrow_lens),
        cmocka_unit_test(scrolls_sideways),
    };
    if (!getcwd(root, sizeof root))
        return 1;
    private_folders();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
