/* What is said about the place of the cursor, and offered there: completions, hints of the nest,
 * rows of help, questions; and the tables of the simulator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/model/help.h"
#include "app/views/measurement_doc.h"
#include "app/views/view.h"
#include "tests/unit/model_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define GMM "gmm m=64 k=32 n=48"

/* --- Completions ------------------------------------------------------------------------------ */

/* A line, where its last word begins, and the words that can stand there. */
struct line_offers { const char *line; int from; const char *words; };

static void offers(struct model *m, const struct line_offers *row, int n)
{
    for (int i = 0; i < n; i++) {
        struct arena *a = arena_new();
        struct completions c = {0};
        struct str words = {0};
        model_complete(m, a, row[i].line, &c);
        for (int k = 0; k < c.n; k++)
            str_printf(&words, "%s%s", k ? " " : "", c.item[k].word);
        if (!streq(str_text(&words), row[i].words) || c.replace_from != row[i].from)
            fail_msg("\"%s\": %d: %s", row[i].line, c.replace_from, str_text(&words));
        str_free(&words);
        arena_free(a);
    }
}

static void test_arguments(void **state)
{
    (void)state;
    static const struct line_offers row[] = {
        { "view ", 5, "nest access layout C asm profile graph roofline tune compare lens sass" },
        { "view pr", 5, "profile" }, { "  focus ", 8, "next prev steps view" },
        { "lens ", 5, "next prev forward back conflict loop from apply" },
        { "lens f", 5, "forward from" },
        { "compare ", 8, "nest c asm ablation next difference back" },
        { "auto ", 5, "on off" }, { "theme ", 6, "auto dark light mono" },
        { "columns ", 8, "best median gflops peak threads change vendor misses ok auto" },
        { "columns best m", 13, "median misses" }, { "threads ", 8, "default" },
        { "sim_budget d", 11, "default" }, { "compiler ", 9, "gcc clang default" },
        { "mark ", 5, "main" }, { "tune p", 5, "pause pin=layout pin=all-layouts" },
        { "tune strategy=ev", 5, "strategy=evo" }, { "new gmm m", 8, "m=" },
        { "new gmm m=", 8, "m=" }, { "new gmm m=8 m", 12, "" },
        { "new gmm m=8 ", 12, "k= n= bias= relu= act= type=" }, { "redraw ", 7, "" },
        { "module ", 7, "" },
    };
    struct model *m = model_on(GMM);
    m->prompt.mark = ':';
    offers(m, row, COUNT_OF(row));
    m->prompt.mark = '/';
    struct completions none = {0};
    struct arena *a = arena_new();
    model_complete(m, a, "view ", &none);
    assert_int_equal(none.n, 0);
    arena_free(a);
    model_free(m);
}

/* Where no operator is open, only the commands that need none. */
static void test_commands_of_the_start_screen(void **state)
{
    (void)state;
    static const struct line_offers row[] = {
        { "", 0, "q q! e new start network tune_all zoom auto threads cache compiler isa "
                 "sim_budget baselines columns theme source dump snapshot copy help redraw "
                 "suspend" },
        { "th", 0, "threads theme" }, { " su", 1, "suspend" }, { "mark ", 5, "" },
        { "nosuch x", 7, "" }, { "vi", 0, "" },
    };
    struct model *m = model_on(NULL);
    m->prompt.mark = ':';
    offers(m, row, COUNT_OF(row));
    struct completions c = {0};
    struct arena *a = arena_new();
    model_complete(m, a, "thr", &c);
    assert_string_equal(c.item[0].help, "set the number of threads of a measurement");
    arena_free(a);
    model_free(m);
}

/* --- The nest --------------------------------------------------------------------------------- */

static void test_hints_of_loops(void **state)
{
    (void)state;
    static const struct { const char *spec, *step, *hint; } row[] = {
        { GMM, NULL, "loop M of C: 64 iterations. " },
        { GMM, "loop parallel C M", "loop M of C: 64 iterations, shared among threads. " },
        { GMM, "loop unroll C M", "loop M of C: 64 iterations, written out. " },
        { GMM, "loop bind C M block.x", "loop M of C: 64 iterations, blocks along x. " },
        { GMM, "loop bind C M block.y", "loop M of C: 64 iterations, blocks along y. " },
        { GMM, "loop bind C M block.z", "loop M of C: 64 iterations, blocks along z. " },
        { GMM, "loop bind C M thread.x", "loop M of C: 64 iterations, threads along x. " },
        { GMM, "loop bind C M thread.y", "loop M of C: 64 iterations, threads along y. " },
        { "x = input i=16; y = relu(x)", "loop vectorize y I",
          "loop I of y: 16 iterations, in vector lanes. " },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct model *m = model_on(row[i].spec);
        struct str hint = {0}, want = {0};
        if (row[i].step)
            type_line(m, row[i].step);
        assert_string_equal(step_of(m), row[i].step ? row[i].step : "");
        str_printf(&want, "%sEnter lists what can be done.", row[i].hint);
        view_nest_hint(m, &hint);
        assert_string_equal(str_text(&hint), str_text(&want));
        str_free(&hint);
        str_free(&want);
        session_autosave_drop(m->session);
        model_free(m);
    }
    struct model *m = model_on(GMM);
    struct str hint = {0};
    press(m, "j");
    view_nest_hint(m, &hint);
    assert_string_equal(str_text(&hint), "access C[m][n]. Enter goes to its misses.");
    str_free(&hint);
    model_free(m);
}

/* --- Help ------------------------------------------------------------------------------------- */

static void test_help_of_an_operator(void **state)
{
    (void)state;
    struct str text = {0}, tune = {0}, evo = {0}, none = {0};
    assert_true(help_topic(&text, "gmm"));
    assert_true(str_starts(str_text(&text), "gmm: matrix multiplication\n\nC[m][n] = sum over"));
    assert_non_null(strstr(str_text(&text), "\n\nparameters:\n  m     rows of A and C; required (1 "
                           "to "));
    assert_non_null(strstr(str_text(&text),
                           "\n  bias  1: add a bias per column; default 0 (0 to 1)\n"));
    assert_true(str_ends(str_text(&text), "\nexample: tilescope run 'gmm m=512 k=512 n=512'\n"));
    assert_true(help_topic(&tune, "tune") && help_topic(&evo, "evo"));
    assert_string_equal(str_text(&tune), str_text(&evo));           /* a strategy of the tuner */
    assert_false(help_topic(&none, "nosuch"));
    assert_int_equal(none.len, 0);
    str_free(&text);
    str_free(&tune);
    str_free(&evo);
}

static void test_rows_of_help(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "3 Enter");
    assert_shows(m, "Layout of C");
    press(m, "Esc 1 ? /");
    assert_string_equal(str_text(&m->message.text),
                        "type the word: the list is filtered as you type");
    assert_int_equal(m->filter.len, 0);
    press(m, "s e t Space t h e Space p l a i n Space row-major Enter");
    assert_string_equal(str_text(&m->message.text),
                        "Backspace works here: On a tensor's layout");
    assert_int_equal(m->overlay, OVERLAY_NONE);
    press(m, "? extrapolates");
    assert_shows(m, "Topics whose text has it");
    press(m, "Enter");
    assert_string_equal(m->topic, "meters");
    assert_shows(m, "extrapolates");
    press(m, "Backspace C-u zzzzzz");
    assert_shows(m, "nothing matches; Backspace widens the filter");
    press(m, "Esc");
    assert_int_equal(m->overlay, OVERLAY_NONE);
    model_free(m);
}

/* --- Questions, and what a screen advises ----------------------------------------------------- */

static struct unsaved_work *offer_work(struct model *m)
{
    free(m->recover);
    m->recover = xcalloc(1, sizeof *m->recover);
    m->overlay = OVERLAY_ASK;
    return m->recover;
}

static void assert_question(struct model *m, const char *want)
{
    struct str asked = {0};
    model_question(m, &asked);
    assert_string_equal(str_text(&asked), want);
    str_free(&asked);
}

static void test_offers_of_unsaved_work(void **state)
{
    (void)state;
    static const char asks[] = "Open the unsaved changes of an earlier run, ";
    char want[200];
    struct model *m = model_on(GMM);
    struct unsaved_work *r = offer_work(m);
    r->own = true;
    r->found.age_s = 338;
    snprintf(r->found.title, sizeof r->found.title, "A product");
    snprintf(want, sizeof want, "%s5:38 min ago? A product", asks);
    assert_question(m, want);
    snprintf(r->found.original, sizeof r->found.original, "/a/x.yaml");
    r->n = 1;
    snprintf(want, sizeof want, "%s5:38 min ago? x.yaml, with those of 1 kernel", asks);
    assert_question(m, want);
    r->n = 2;
    snprintf(want, sizeof want, "%s5:38 min ago? x.yaml, with those of 2 kernels", asks);
    assert_question(m, want);
    assert_shows(m, " y Enter open them  n open without them  d discard them");
    r->n = 0;
    press(m, "x");                        /* is no answer */
    assert_ptr_equal(m->recover, r);
    press(m, "n");
    assert_null(m->recover);
    assert_int_equal(m->overlay, OVERLAY_NONE);
    assert_string_equal(str_text(&m->message.text),
                        "this is what was saved; the start screen keeps the changes");
    offer_work(m)->own = true;
    press(m, "d");
    assert_null(m->recover);
    assert_string_equal(str_text(&m->message.text), "forgotten; this is what was saved");
    model_free(m);
}

static void test_advice(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct measurement wrong = { .outcome = OUTCOME_WRONG, .reason = "C differs" };
    history_set_measured(m->session->history, 0, &wrong);
    m->data_stamp++;
    press(m, "6 +");
    assert_shows(m, "wrong result: C differs");
    assert_shows(m, "Press m to measure again.");
    type_line(m, "loop parallel C M");
    history_set_measured(m->session->history, 1, &wrong);
    m->data_stamp++;
    assert_shows(m, "Press u to undo the step, m to measure again.");
    model_resize(m, 120, 30);
    m->tuner.has_old = true;
    m->tuner.asked = model_tag(m) + 1;
    m->tuner.old = (struct tuning_stopped){ .trials = 40, .budget = 100, .best_ms = 3.05 };
    press(m, "9");
    assert_shows(m, "Tuning this ended early, after 40 of 100 trials, the best at 3.05 ms: t goes "
                 "on with it.");
    assert_hides(m, "Nothing has been tuned");
    m->tuner.old.best_ms = 0;
    m->data_stamp++;
    assert_shows(m, "Tuning this ended early, after 40 of 100 trials: t goes on with it.");
    m->tuner.has_old = false;
    m->data_stamp++;
    assert_shows(m, "Nothing has been tuned since this session was opened.");
    assert_hides(m, "Tuning this ended early");
    type_line(m, "bogus");
    assert_shows(m, ":bogus");
    assert_shows(m, " refused: change it, or Esc leaves it");
    press(m, "Esc");
    type_line(m, "tour");
    assert_shows(m, " tour: ");
    assert_shows(m, " :tour do does it, Esc leaves ");
    session_autosave_drop(m->session);
    model_free(m);
}

/* --- Tables of the simulator ------------------------------------------------------------------ */

/* The text of a document behind `from`; runs of blanks and line ends are one blank. */
static const char *words_of(struct doc *d, const char *from)
{
    static char words[4000];
    size_t n = 0;
    for (int i = 0; i < d->lines.len; i++) {
        for (const char *p = d->lines.data[i].text; *p && n + 2 < sizeof words; p++)
            if (*p != ' ' || (n > 0 && words[n - 1] != ' '))
                words[n++] = *p;
        if (n > 0 && words[n - 1] != ' ')
            words[n++] = ' ';
    }
    words[n] = 0;
    const char *at = strstr(words, from);
    if (!at)
        fail_msg("\"%s\" is not in: %s", from, words);
    return at;
}

/* The tensor with most misses first; rates are shares of the accesses. */
static void test_tables_of_a_cpu(void **state)
{
    (void)state;
    static struct sim_result s = {
        .available = true, .fraction = 1, .n = 2, .loads = 1500, .stores = 20, .l1_misses = 310,
        .by_tensor = { { "A", 1000, 0, { .l1_misses = 10 } },
                       { "B", 500, 20, { .l1_misses = 300 } } },
        .cache = { .n_levels = 2, .level = { { { 32768, 8, 64 }, REPLACE_LRU, false },
                                             { { 1 << 20, 16, 64 }, REPLACE_LRU, false } } },
        .level = { { .accesses = 1520, .misses = 310, .writebacks = 7, .prefetches = 30,
                     .useful = 20 },
                   { .accesses = 310, .misses = 5, .writebacks = 1, .prefetches = 8 } },
    };
    struct measurement_look look = { .width = 200, .exact = true };
    struct doc d;
    doc_open(&d);
    sim_doc(&d, &s, &look);
    assert_string_equal(words_of(&d, "tensor "),
        "tensor loads stores L1 misses rate B 500 20 300 57.69 % A 1 000 0 10 1.00 % "
        "total 1 500 20 310 20.39 % level accesses written back misses rate "
        "L1 1 520 7 310 20.39 % 30 lines prefetched, used 20 "
        "L2 310 1 5 1.61 % 8 lines prefetched ");
    doc_close(&d);
}

static void test_tables_of_a_gpu(void **state)
{
    (void)state;
    static struct sim_result s = {
        .available = true, .gpu = "h100", .sector_bytes = 32, .fraction = 1, .n = 1,
        .loads = 100, .stores = 50, .sectors = 1100, .ideal_sectors = 550, .bank_conflicts = 4,
        .l1_misses = 44, .level = { [1] = { .misses = 9 } }, .cache = { .n_levels = 2 },
        .shared_bytes = 66048,
        .by_tensor = { { "A", 100, 20, { .l1_misses = 40, .l2_misses = 7, .sectors = 1000,
                                         .ideal_sectors = 500, .bank_conflicts = 3 } } },
        .n_sites = 2,
        .site = { { .text = "A[m]", .accesses = 120, .memory = "global",
                    .cost = { .l1_misses = 5, .l2_misses = 2, .sectors = 64,
                              .ideal_sectors = 64 } },
                  { .text = "S[i]", .accesses = 10, .memory = "shared", .is_store = true } },
    };
    struct measurement_look look = { .width = 200, .exact = true };
    struct doc d;
    doc_open(&d);
    gpu_sim_doc(&d, &s, &look);
    assert_string_equal(words_of(&d, "shared: "),
        "shared: 66048 bytes of a block, dynamic "
        "tensor requests sectors ideal eff. conflicts L1 misses L2 misses "
        "A 120 1000 500 50 % 3 40 7 total 150 1100 550 50 % 4 44 9 "
        "place requests sectors ideal eff. conflicts L1 misses L2 misses "
        "load 120 64 64 100 % 0 5 2 A[m] shared st 10 0 0 0 0 0 S[i] ");
    doc_clear(&d);
    s.shared_bytes = 1024;
    s.cache.n_levels = 1;                 /* no column for L2 */
    s.n_sites = 0;
    gpu_sim_doc(&d, &s, &look);
    assert_string_equal(words_of(&d, "shared: "),
        "shared: 1024 bytes of a block tensor requests sectors ideal eff. conflicts L1 misses "
        "A 120 1000 500 50 % 3 40 total 150 1100 550 50 % 4 44 "
        "place requests sectors ideal eff. conflicts L1 misses ");
    doc_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_commands_of_the_start_screen),
        cmocka_unit_test(test_hints_of_loops),
        cmocka_unit_test(test_help_of_an_operator),
        cmocka_unit_test(test_rows_of_help),
        cmocka_unit_test(test_offers_of_unsaved_work),
        cmocka_unit_test(test_advice),
        cmocka_unit_test(test_tables_of_a_cpu),
        cmocka_unit_test(test_tables_of_a_gpu),
    };
    private_folders();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
