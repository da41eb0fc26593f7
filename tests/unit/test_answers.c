/* The answers of the screen to keys without a meaning and to refused rows of a menu; its signs and
 * help pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vterm.h>
#include "app/model/help.h"
#include "app/ui/reflow.h"
#include "app/ui/text.h"
#include "tests/unit/model_help.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/tty.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define GMM "gmm m=64 k=32 n=48"
#define NET "x = input n=1 i=4 h=6 w=6; a = c2d(x) o=8 k=1 relu=1; y = c2d(a) o=4 k=1"

static void test_views_from_the_steps(void **state)
{
    (void)state;
    static const int width[] = { 80, 120, 200 };
    for (int i = 0; i < COUNT_OF(width); i++) {
        struct model *m = model_on(GMM);
        model_resize(m, width[i], 30);
        type_line(m, "focus steps");
        press(m, "3");
        assert_int_equal(m->focus, PANE_LEDGER);
        assert_int_equal(m->view[PANE_SIDE], VIEW_LAYOUT);
        const char *key = width[i] < FRAME_WIDE ? "Tab" : "S-Tab";
        char says[80];
        snprintf(says, sizeof says, "the cursor stays in the steps; %s goes to the view layout",
                 key);
        assert_shows(m, says);
        press(m, key);
        assert_int_equal(m->view[m->focus], VIEW_LAYOUT);
        type_line(m, "focus steps");
        press(m, "1");
        assert_int_equal(m->focus, PANE_LEDGER);
        press(m, "]");
        assert_int_equal(m->focus, PANE_LEDGER);
        assert_int_equal(m->last_view, PANE_SIDE);
        press(m, "+ 4");                                 /* only the steps were shown */
        assert_int_equal(m->focus, PANE_SIDE);
        assert_int_equal(m->view[m->focus], VIEW_C);
        model_free(m);
    }
}

/* Every printable key, on every pane, changes something or says something. */
static void test_no_key_is_silent(void **state)
{
    (void)state;
    static const char *const where[] = { "1", "2", "3", "4", "5", "6", "7", "8", "9",
                                         ": focus Space steps Enter", "B" };
    for (int i = 0; i < COUNT_OF(where); i++)
        for (int key = '!'; key < 127; key++) {
            struct model *m = model_on(GMM);
            press(m, where[i]);
            model_clear_message(m);
            enum key_context chain[KEYS_COUNT];
            int n = model_contexts(m, chain);
            bool bound = key_binding_find(chain, n, key) || (key >= '0' && key <= '9');
            screen_key(m, key);
            if (!bound && !strstr(str_text(&m->message.text), " does nothing "))
                fail_msg("%s: %c is silent", where[i], key);
            model_free(m);
        }
}

static void test_keys_of_other_places(void **state)
{
    (void)state;
    struct model *m = model_on(NULL);
    press(m, "v");
    assert_shows(m, "v does nothing here. On a loop: run this loop (at most 256) in vector lanes");
    assert_shows(m, "Enter opens the selected line first.");
    model_free(m);
    m = model_on(NET);
    model_resize(m, 100, 30);
    run_jobs(m);
    assert_true(m->network && !m->session);
    press(m, "c");
    assert_shows(m, "c does nothing here. On a loop: inside this loop, accumulate in a local tile");
    assert_shows(m, "selected kernel first.");
    press(m, "Z");
    assert_shows(m, "Z does nothing on this screen; ? lists the keys");
    model_free(m);
    m = model_on(GMM);
    press(m, "2 v");
    assert_shows(m, "1 shows the nest: move to a line that begins with `for`.");
    press(m, "h");
    assert_shows(m, "nothing to scroll sideways");
    press(m, "1 e");
    assert_shows(m, "e does nothing here. On a tensor's layout: ");
    assert_shows(m, "On a step: edit this step;");
    press(m, "Esc");
    assert_shows(m, "nothing is open or running that Esc could end; q leaves");
    press(m, "B v");
    assert_shows(m, "q closes this list first.");
    model_free(m);
}

/* Enter on each row of a menu that it refuses says why, and what helps. */
static int refused_rows(struct model *m, const char *where)
{
    int n = 0;
    press(m, "Enter");
    assert_true(m->overlay == OVERLAY_HELP && m->help_menu);
    for (int i = 0; i < m->pane[DOC_HELP].doc.lines.len; i++) {
        int id = m->pane[DOC_HELP].doc.lines.data[i].id;
        m->pane[DOC_HELP].scroll.cursor = i;
        if (!m->menu.data[id].why)
            continue;
        screen_of(m);
        press(m, "Enter");
        assert_int_equal(m->overlay, OVERLAY_HELP);
        assert_int_equal(m->message.kind, MESSAGE_ERROR);
        if (m->message.fix.len == 0)
            fail_msg("%s: no fix for: %s", where, str_text(&m->message.text));
        assert_shows(m, "Fix:");
        n++;
    }
    press(m, "Esc");
    return n;
}

static void test_refused_rows_say_what_helps(void **state)
{
    (void)state;
    static const char *const spec[] = { GMM, "c2d n=1 i=4 h=8 w=8 o=8 k=3 p=1 bias=1 relu=1" };
    for (int i = 0; i < COUNT_OF(spec); i++) {
        struct model *m = model_on(spec[i]);
        int n = 0;
        for (int at = -1; m->pane[VIEW_NEST].scroll.cursor != at; press(m, "j")) {
            at = m->pane[VIEW_NEST].scroll.cursor;
            n += model_subject(m).kind == SUBJECT_LOOP ? refused_rows(m, "nest") : 0;
        }
        assert_true(n > 6);
        press(m, "3 g");
        n = 0;
        for (int at = -1; m->pane[VIEW_LAYOUT].scroll.cursor != at; press(m, "j")) {
            at = m->pane[VIEW_LAYOUT].scroll.cursor;
            n += refused_rows(m, "layout");
        }
        assert_true(n > 2);
        model_free(m);
    }
}

/* The help of the steps begins with their signs; Enter on one explains all of them. */
static void test_signs(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    type_line(m, "focus steps");
    press(m, "?");
    assert_shows(m, "Signs in the list of steps");
    assert_shows(m, "~              noisy: the times");
    assert_shows(m, "!              held: the step does not apply here");
    press(m, "Down Down Enter");
    assert_shows(m, "Help: signs");
    assert_shows(m, "Behind a change: the caller sees");
    press(m, "PgDn");
    assert_shows(m, "The bottom line explains the signs");
    model_free(m);
    struct str topic = {0};
    assert_true(help_topic(&topic, "signs"));
    for (int i = 0; help_sign(i); i++) {
        struct str row = {0};
        str_printf(&row, "\n  %s ", help_sign(i)->sign);   /* a blank, however long the sign is */
        if (!strstr(str_text(&topic), str_text(&row)))
            fail_msg("%s", str_text(&row));
        str_free(&row);
    }
    str_free(&topic);
}

static void test_search_in_a_help_page(void **state)
{
    (void)state;
    static const char *const argv[] = { "--no-auto", GMM, NULL };
    struct tty *t = tty_start(&(struct tty_opts){ .w = 80, .h = 24, .argv = argv });
    tty_press(t, ": help Space loops Enter");
    assert_null(strstr(tty_screen(t), "This order usually works"));
    tty_press(t, "/ usually Enter");
    tty_assert_shows(t, "This order usually works");
    tty_press(t, "Home / loop Space cache_ Enter");
    tty_assert_shows(t, "cache_write Conv");
    tty_press(t, "/ refused Enter n");
    tty_assert_shows(t, "A step that is not legal is refused");
    tty_press(t, "/ nowhere Enter");
    tty_assert_shows(t, "not found in this page");
    tty_press(t, "x");
    tty_assert_shows(t, "a help page is read with Up, Down and Space");
    tty_press(t, "q");
    tty_assert_shows(t, "Steps");
    tty_send(t, ": q! Enter");
    assert_int_equal(tty_end(t), 0);
}

/* At 120 columns, no column of the GPU's table is cut. */
static void test_gpu_table_at_120(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct measurement r = { .outcome = OUTCOME_OK, .verified = true };
    r.sim.available = true;
    r.sim.fraction = 1;
    strcpy(r.sim.gpu, "h100");
    r.sim.sector_bytes = 32;
    r.sim.cache.n_levels = 2;
    r.sim.sectors = 1024000;
    r.sim.ideal_sectors = 512000;
    r.sim.l1_misses = 12345678;
    r.sim.level[1].misses = 123456;
    model_resize(m, 120, 40);
    history_set_measured(m->session->history, 0, &r);
    m->data_stamp++;
    press(m, "6");
    assert_shows(m, "L1mis L2mis");
    assert_shows(m, "12.3M  123k");
    model_resize(m, 200, 40);
    press(m, "+");
    assert_shows(m, "L2 misses");
    model_free(m);
}

static void test_share_above_the_ceiling(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct measurement r = { .outcome = OUTCOME_OK, .verified = true, .gflops = 150,
                             .peak_gflops = 100, .peak_fraction = 1.5 };
    r.latency = (struct latency){ .median_ms = 1, .min_ms = 1, .max_ms = 1, .runs = 9 };
    model_resize(m, 200, 40);
    history_set_measured(m->session->history, 0, &r);
    m->data_stamp++;
    press(m, "6 +");
    assert_shows(m, "150 % of this run's FMA ceiling (100.0); above 100 %: the ceiling was");
    assert_hides(m, "Winograd");
    model_free(m);
    m = model_on("c2d n=1 i=4 h=8 w=8 o=4 k=3 p=1");
    type_line(m, "algorithm Conv winograd m=4");
    model_resize(m, 200, 40);
    history_set_measured(m->session->history, 1, &r);
    m->data_stamp++;
    press(m, "6 +");
    assert_shows(m, "above 100 %: Winograd's additions can run beside multiply-adds");
    assert_hides(m, "machine was slower");
    model_free(m);
}

/* The list of branches is as wide as the screen allows. */
static void test_branches_at_120(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    model_resize(m, 120, 40);
    type_line(m, "layout set C \"N M\"");
    type_line(m, "branch a_branch_with_a_name_as_long_as_this");
    type_line(m, "undo");
    press(m, "B");
    assert_shows(m, "  other contract");
    model_free(m);
}

/* The prediction of a step stays in sight, however far down its first changed line is. */
static void test_prediction_stays(void **state)
{
    (void)state;
    struct model *m = model_on("c2d n=1 i=8 h=8 w=8 o=8 k=3 p=1 bias=1 relu=1");
    struct desired_job w;
    model_resize(m, 80, 24);
    press(m, ":");
    for (const char *c = "loop unroll ReLU W"; *c; c++)
        screen_key(m, *c);
    assert_shows(m, "preview: the nest after this step");
    assert_true(m->pane[DOC_PREVIEW].scroll.top > 3);
    while (model_desired_job(m, LANE_TEXT, &w)) {
        struct app_job *j = model_job(m, &w);
        job_run(j, &(struct cancel){0}, NULL);
        model_done(m, j);
        job_free(j);
    }
    assert_shows(m, "L1 misses");
    assert_shows(m, "in unroll(8)");
    for (int h = 12; h < 24; h++) {                      /* in a low pane, too */
        model_resize(m, 80, h);
        m->pane[DOC_PREVIEW].stamp = 0;
        assert_shows(m, "in unroll(8)");
    }
    model_free(m);
}

static int title_colour(struct tty *t)
{
    VTermScreenCell c;
    assert_true(vterm_screen_get_cell(t->screen, (VTermPos){ 0, 1 }, &c));
    return VTERM_COLOR_IS_INDEXED(&c.fg) ? c.fg.indexed.idx : -1;
}

static void test_themes(void **state)
{
    (void)state;
    static const char *const argv[] = { "--no-auto", GMM, NULL };
    static const struct { const char *name; int colour; } row[] = {
        { "dark", 80 }, { "light", 24 }, { "mono", -1 }, { "auto", 31 },
    };
    const char *no_color = getenv("NO_COLOR");
    char *kept = no_color ? xstrdup(no_color) : NULL;
    unsetenv("NO_COLOR");
    struct tty *t = tty_start(&(struct tty_opts){ .w = 80, .h = 24, .argv = argv });
    for (int i = 0; i < COUNT_OF(row); i++) {
        tty_press(t, ": theme Space");
        tty_press(t, row[i].name);
        tty_press(t, "Enter");
        tty_assert_shows(t, "in settings.yaml keeps it");
        assert_int_equal(title_colour(t), row[i].colour);
    }
    tty_press(t, ": theme Space pink Enter");
    tty_assert_shows(t, "there is no such theme");
    tty_press(t, "Esc");
    tty_send(t, ": q! Enter");
    assert_int_equal(tty_end(t), 0);
    if (kept)
        setenv("NO_COLOR", kept, 1);
    free(kept);
}

static void test_reflow(void **state)
{
    (void)state;
    static const struct { int width; const char *text, *is; } row[] = {
        { 20, "one two three four\nfive six\n\nseven\n",
              "one two three four\nfive six\n\nseven\n" },
        { 12, "one two three four\nfive six\n\nseven\n",
              "one two\nthree four\nfive six\n\nseven\n" },
        { 40, "  f32    float32, the type unless\n         another one is given\n  f16    half\n",
              "  f32    float32, the type unless\n         another one is given\n"
              "  f16    half\n" },
        { 60, "  f32    float32, the type unless\n         another one is given\n  f16    half\n",
              "  f32    float32, the type unless another one is given\n  f16    half\n" },
        { 60, "An example:\n  loop split C M 16\n  loop split C N 16\nand so on\n",
              "An example:\n  loop split C M 16\n  loop split C N 16\nand so on\n" },
        { 60, "  budget: 200   # trials\n                # of each\n",
              "  budget: 200   # trials\n                # of each\n" },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str out = {0};
        text_reflow(&out, row[i].text, row[i].width);
        assert_string_equal(str_text(&out), row[i].is);
        str_free(&out);
    }
}

/* No line of a page's prose ends where the next word would have fitted. */
static void test_pages_fill_their_width(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    for (int i = 0; help_topic_name(i); i++) {
        model_open_help(m, help_topic_name(i));
        screen_refresh(m);
        const struct doc *d = &m->pane[DOC_HELP].doc;
        for (int k = 0; k + 1 < d->lines.len; k++) {
            const char *a = d->lines.data[k].text, *b = d->lines.data[k + 1].text;
            assert_true(text_width(a) <= 76);
            bool prose = *a && *b && *a != ' ' && *b != ' ' && !strstr(a, "  ") && !strstr(b, "  ");
            if (prose && text_width(a) + 1 + (int)strcspn(b, " ") <= 75)
                fail_msg("%s: this line is short: %s", help_topic_name(i), a);
        }
    }
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views_from_the_steps),
        cmocka_unit_test(test_no_key_is_silent),
        cmocka_unit_test(test_keys_of_other_places),
        cmocka_unit_test(test_refused_rows_say_what_helps),
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_search_in_a_help_page),
        cmocka_unit_test(test_gpu_table_at_120),
        cmocka_unit_test(test_share_above_the_ceiling),
        cmocka_unit_test(test_branches_at_120),
        cmocka_unit_test(test_prediction_stays),
        cmocka_unit_test(test_themes),
        cmocka_unit_test(test_reflow),
        cmocka_unit_test(test_pages_fill_their_width),
    };
    private_folders();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
