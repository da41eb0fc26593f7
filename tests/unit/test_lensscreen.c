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

static void do_job(struct model *m)
{
    struct desired_job w;
    struct cancel c = {0};
    screen_refresh(m);
    assert_true(model_desired_job(m, LANE_TEXT, &w));
    assert_int_equal(w.kind, JOB_LENS);
    struct app_job *j = model_job(m, &w);
    job_run(j, &c, NULL);
    model_done(m, j);
    job_free(j);
    screen_refresh(m);
    assert_false(model_desired_job(m, LANE_TEXT, &w));
}

static struct model *with_lens(void)
{
    struct model *m = model_on("gmm m=16 k=64 n=64");
    type_line(m, "cache 4K/4/64");
    press(m, "L");
    assert_shows(m, "Simulating the cache ...");
    do_job(m);
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
    type_line(m, "lens fly");
    assert_shows(m, "lens knows no such word");
    type_line(m, "lens from x");
    assert_shows(m, "lens from takes the number of an iteration");
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
    model_free(m);
}

static void a_cure_is_applied(void **state)
{
    struct model *m = with_lens();
    (void)state;
    assert_shows(m, "conflict misses 1056 to 0");
    press(m, "g Enter");
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
    press(m, "g");
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
    assert_true(str_starts(str_text(&text), " name  …9012345"));
    press(m, "<");
    assert_int_equal(p->scroll.left, 0);
    grid_close(&g);
    str_free(&text);
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(playback), cmocka_unit_test(simulated_again),
        cmocka_unit_test(a_cure_is_applied), cmocka_unit_test(narrow_lens),
        cmocka_unit_test(scrolls_sideways),
    };
    if (!getcwd(root, sizeof root))
        return 1;
    private_folders();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
