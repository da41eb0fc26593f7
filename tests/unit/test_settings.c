/* The settings of the user: reading, errors with their place, keys, columns and files of lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "app/views/view.h"
#include "tests/unit/model_help.h"
#include "tests/unit/tty.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define GMM "gmm m=64 k=32 n=48"

static const char whole[] =
    "theme: dark\n"
    "columns: [median, gflops, ok]\n"
    "auto: false\n"
    "threads: 3\n"
    "compiler: gcc\n"
    "isa: plain\n"
    "cache: 32K/8/64\n"
    "sim_budget: 2e6\n"
    "baselines: none\n"
    "mouse: false\n"
    "unicode: false\n"
    "keys:\n"
    "  F5: threads 7\n"
    "  nest:\n"
    "    z: \"loop split %T %D 8\"\n"
    "    C-t: \"loop split %T %D \"\n"
    "    m: as l\n";

static void parse(const char *text, struct app_settings *s)
{
    struct err e = {0};
    bool ok = settings_parse("settings.yaml", text, strlen(text), s, &e);
    if (!ok)
        fail_msg("%s", e.text);
}

static void test_every_setting(void **state)
{
    struct app_settings s;
    struct str out = {0};
    (void)state;
    parse(whole, &s);
    assert_int_equal(s.theme, THEME_DARK);
    assert_int_equal(s.columns.n, 3);
    assert_int_equal(s.columns.at[1], COLUMN_GFLOPS);
    assert_false(s.automatic || s.mouse || s.unicode);
    assert_int_equal(s.threads, 3);
    assert_string_equal(s.set.compiler, "gcc");
    assert_string_equal(s.set.target->isa, "plain");
    assert_int_equal(s.set.cache.n_levels, 1);
    assert_true(s.set.sim_budget == 2e6);
    assert_int_equal(s.n_keys, 4);
    settings_print(&s, &out);
    assert_non_null(strstr(str_text(&out), "threads     3                        line 4\n"));
    assert_non_null(strstr(str_text(&out), "columns     median, gflops, ok       line 2\n"));
    assert_non_null(strstr(str_text(&out), "  z      nest     loop split %T %D 8\n"));
    str_clear(&out);
    settings_print_json(&s, &out);
    assert_non_null(strstr(str_text(&out), "\"key\": \"F5\""));
    str_free(&out);
    settings_free(&s);
    parse("", &s);
    assert_true(s.automatic && s.mouse && s.unicode && s.threads == 0 && s.n_keys == 0);
    settings_free(&s);
}

/* The place, the message and the fix; and the defaults. */
static void test_errors(void **state)
{
    static const struct { const char *text; int line, col; const char *says, *fix; } table[] = {
        {"theme: pink\n", 1, 8, "no such theme", "theme: dark, light, mono or auto"},
        {"threads: 2\nthread: 3\n", 2, 1, "unknown key \"thread\"", "did you mean \"threads\"?"},
        {"threads: many\n", 1, 10, "threads", ""},
        {"threads: 0\n", 1, 10, "out of range", "1 to 1024"},
        {"columns: best\n", 1, 10, "columns", "columns: [best, change, misses, ok]"},
        {"columns: [best, gflop]\n", 1, 17, "no column \"gflop\"", "did you mean gflops?"},
        {"columns: [best, best]\n", 1, 17, "twice", ""},
        {"cache: 7 lines\n", 1, 8, "", ""},
        {"isa: avx9\n", 1, 6, "avx9", ""},
        {"compiler: no-such-cc\n", 1, 11, "no-such-cc", ""},
        {"sim_budget: 0.5\n", 1, 13, "1 to 1e15", "sim_budget: 5e9"},
        {"auto: 7\n", 1, 7, "auto", ""},
        {"keys: {F13: measure}\n", 1, 8, "\"F13\" is no key", "z, F5"},
        {"keys: {Esc: measure}\n", 1, 8, "Esc keeps its meaning", ""},
        {"keys:\n  F5: meazure\n", 2, 7, "no step or command \"meazure\"", "did you mean measure?"},
        {"keys: {F5: undo %V}\n", 1, 12, "%V stands for nothing", "%T is the stage"},
        {"keys: {F5: drop %W}\n", 1, 12, "%W stands for nothing", "%T is the stage"},
        {"keys: {F5: \"\"}\n", 1, 12, "", ""},
        {"keys: {F5: as F13}\n", 1, 12, "\"F13\" does nothing here", "as j"},
        {"keys: {F5: as S}\n", 1, 12, "\"S\" does nothing here", "under its name"},
        {"keys: {nest: 3}\n", 1, 14, "nest", ""},
        {"keys: {z: undo, z: redo}\n", 1, 17, "z", ""},
        {"keys: [z]\n", 1, 7, "keys", ""},
        {"- theme\n", 1, 1, "", ""},
        {"theme: [\n", 2, 1, "", ""},
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct app_settings s;
        struct err e = {0};
        const char *text = table[i].text;
        if (settings_parse("settings.yaml", text, strlen(text), &s, &e))
            fail_msg("accepted: %s", text);
        assert_string_equal(e.at.file, "settings.yaml");
        if (e.at.line != table[i].line || e.at.col != table[i].col)
            fail_msg("%s: %d:%d", text, e.at.line, e.at.col);
        if (!strstr(e.text, table[i].says) || !strstr(e.fix, table[i].fix))
            fail_msg("%s: %s; %s", text, e.text, e.fix);
        assert_true(s.theme == THEME_AUTO && s.columns.n == 0 && s.threads == 0 && s.n_keys == 0);
        settings_free(&s);
    }
}

/* A byte of a right file changed at random: an error with a place, or other settings. */
static void test_damaged_files(void **state)
{
    struct rng r = rng_seed(7);
    (void)state;
    for (int i = 0; i < 5000; i++) {
        char text[sizeof whole];
        struct app_settings s;
        struct err e = {0};
        memcpy(text, whole, sizeof whole);
        for (int n = (int)rng_range(&r, 1, 4); n > 0; n--)
            text[rng_range(&r, 0, sizeof whole - 2)] = (char)rng_range(&r, 0, 255);
        if (!settings_parse("settings.yaml", text, sizeof whole - 1, &s, &e) && e.text[0] == 0)
            fail_msg("an error without a text");
        settings_free(&s);
    }
}

static struct model *model_with(const struct app_settings *s)
{
    struct session *session;
    struct err e;
    assert_true(session_new(GMM, &session, &e));
    return model_new(session, &(struct model_opts){ .no_auto = true, .settings = s }, true);
}

static void test_keys(void **state)
{
    struct app_settings s;
    (void)state;
    parse(whole, &s);
    struct model *m = model_with(&s);
    assert_int_equal(m->threads, 3);
    press(m, "F5");
    assert_int_equal(m->threads, 7);
    assert_string_equal(loop_of(m), "M");
    press(m, "z");
    assert_string_equal(step_of(m), "loop split C M 8");
    press(m, "u C-t");
    assert_shows(m, ":loop split C M");
    press(m, "Esc m");
    assert_false(m->measure_wanted);
    assert_string_equal(loop_of(m), "N");
    press(m, "Tab m");                   /* on the Steps it is what it was */
    assert_true(m->measure_wanted);
    press(m, "Tab 1 ? s p l i t Space % T");
    assert_shows(m, "loop split %T %D 8 (settings)");
    press(m, "Enter");                   /* the selected line is run */
    assert_shows(m, "loop split C N 8");
    model_free(m);
    key_bindings_add(NULL, 0);
    settings_free(&s);
}

/* A user's key takes the place of the shipped one in the menu, which is as high as before. */
static void test_menu_of_keys(void **state)
{
    struct app_settings s;
    int rows[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        parse(i ? "keys: {nest: {v: \"loop split %T %D 8\"}}\n" : "threads: 1\n", &s);
        struct model *m = model_with(&s);
        press(m, "Enter");
        rows[i] = view_help_rows(m);
        model_free(m);
        key_bindings_add(NULL, 0);
        settings_free(&s);
    }
    assert_true(rows[0] > 3);
    assert_int_equal(rows[1], rows[0]);
}

/* `--baselines none` overrides the libraries of the settings. */
static void test_no_baselines_override(void **state)
{
    struct app_settings s;
    (void)state;
    parse("baselines: onednn\n", &s);
    for (int given = 0; given < 2; given++) {
        struct model_opts o = { .no_auto = true, .settings = &s, .baselines_given = given };
        struct model *m = model_new(NULL, &o, true);
        assert_int_equal(m->baselines, given ? 0 : 1u << VENDOR_ONEDNN);
        model_free(m);
    }
    settings_free(&s);
}

/* A search times oneDNN, unless the user has chosen other libraries, or none. */
static void test_baselines_of_a_search(void **state)
{
    static const struct { const char *settings; bool given; const char *line; unsigned want; }
        row[] = {
        { "", false, NULL, 1u << VENDOR_ONEDNN },
        { "", true, NULL, 0 },
        { "baselines: none\n", false, NULL, 0 },
        { "baselines: openblas\n", false, NULL, 1u << VENDOR_OPENBLAS },
        { "", false, "baselines none", 0 },
        { "", false, "baselines openblas", 1u << VENDOR_OPENBLAS },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct app_settings s;
        struct session *session;
        struct app_job job = {0};
        struct err e;
        parse(row[i].settings, &s);
        assert_true(session_new(GMM, &session, &e));
        struct model_opts o = { .no_auto = true, .settings = &s, .baselines_given = row[i].given };
        struct model *m = model_new(session, &o, true);
        if (row[i].line)
            type_line(m, row[i].line);
        model_stopped_job(m, &job);
        assert_int_equal(job.tune.baselines, row[i].want);
        model_free(m);
        settings_free(&s);
    }
}

/* A key with a placeholder does nothing where no operator is open. */
static void test_keys_on_the_start_screen(void **state)
{
    struct app_settings s;
    (void)state;
    parse("keys: {F5: \"loop split %T %D 8\", F6: \"edit %S %I\", F7: \"tune open %K\"}\n", &s);
    struct model *m = model_new(NULL, &(struct model_opts){ .settings = &s }, true);
    press(m, "F5");
    assert_shows(m, "this key needs an operator that is open");
    press(m, "F6 F7");
    model_free(m);
    m = model_with(&s);
    press(m, "F5 F6 Esc F7");
    assert_shows(m, "the cursor is not on a trial");
    model_free(m);
    key_bindings_add(NULL, 0);
    settings_free(&s);
}

static void test_columns(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct measurement r = { .outcome = OUTCOME_OK, .verified = true, .gflops = 12.25 };
    r.latency = (struct latency){ .median_ms = 6, .min_ms = 5, .max_ms = 7, .runs = 11 };
    history_set_measured(m->session->history, 0, &r);
    press(m, ": columns Space median Space gflops Enter");
    assert_shows(m, "median  gflops");
    assert_shows(m, "6.00 ms    12.2");
    press(m, ": columns Space missed Enter");
    assert_shows(m, "there is no column \"missed\"");
    assert_shows(m, "did you mean misses?");
    press(m, "Esc : columns Space auto Enter");
    assert_shows(m, "5.00 ms");
    model_resize(m, 40, 24);             /* the step stays legible */
    press(m, ": columns Space best Space median Space gflops Space change Space misses Enter");
    assert_shows(m, "as given");
    model_free(m);
}

static void write_lines(const char *path, const char *text)
{
    struct err e;
    assert_true(file_write_atomic(path, text, strlen(text), &e));
}

static void test_files_of_lines(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    write_lines("tile.steps", "# a tile\nloop split C M 8\n\n  loop split C N 16\r\n");
    press(m, ": source Space tile.steps Enter");
    assert_string_equal(step_of(m), "loop split C N 16");
    press(m, "u u");
    assert_string_equal(step_of(m), "");
    write_lines("bad.steps", "loop split C M 8\n# no such loop:\n\nloop split C Q 8\nundo\n");
    press(m, ": source Space bad.steps Enter");
    assert_shows(m, "line 4 of bad.steps: ");
    assert_shows(m, ":loop split C Q 8");
    press(m, "Esc");
    assert_string_equal(step_of(m), "loop split C M 8");
    write_lines("again.steps", "source again.steps\n");
    press(m, ": source Space again.steps Enter");
    assert_shows(m, "line 1 of again.steps: a file of lines cannot run another one");
    press(m, "Esc : source Space none.steps Enter");
    assert_shows(m, "none.steps");
    press(m, "Esc : source Enter");
    assert_shows(m, "a file name is missing");
    model_free(m);
}

/* The program starts with the defaults, says what is wrong and takes keys. */
static void test_a_bad_file(void **state)
{
    static const char *const argv[] = { "--no-auto", GMM, NULL };
    (void)state;
    struct str dir = {0};
    struct err e;
    assert_true(dir_config(&dir) && dir_make(str_text(&dir), &e));
    str_add(&dir, "/settings.yaml");
    write_lines(str_text(&dir), "threads: 4\nthemes: dark\n");
    struct tty *t = tty_start(&(struct tty_opts){ .w = 120, .h = 24, .argv = argv });
    tty_assert_shows(t, "settings.yaml:2:1: unknown key \"themes\"");
    tty_assert_shows(t, "did you mean \"theme\"?");
    tty_press(t, "2");
    tty_send(t, ": q Enter");
    assert_int_equal(tty_end(t), 0);
    write_lines(str_text(&dir), "theme: mono\nunicode: false\nkeys: {F5: view C}\n");
    t = tty_start(&(struct tty_opts){ .w = 120, .h = 24, .argv = argv });
    tty_press(t, "F5");
    tty_assert_shows(t, "- Steps ---");
    tty_assert_shows(t, "void matmul(");
    tty_send(t, ": q Enter");
    assert_int_equal(tty_end(t), 0);
    str_free(&dir);
}

/* Every setting with its line, or its default; then the keys, first of parts of the screen. */
static void test_printing(void **state)
{
    static const char text[] = "threads: 3\n\ntheme: mono\nkeys:\n  F5: undo\n  nest:\n"
                               "    z: \"loop split %T %D \"\n    m: as l\n";
    struct app_settings s;
    struct str out = {0};
    (void)state;
    parse(text, &s);
    settings_print(&s, &out);
    assert_string_equal(str_text(&out),
        "settings.yaml\n"
        "  theme       mono                     line 3\n"
        "  columns     auto                     default\n"
        "  auto        true                     default\n"
        "  threads     3                        line 1\n"
        "  compiler    $CC, gcc or clang        default\n"
        "  isa         the best here            default\n"
        "  cache       as this machine          default\n"
        "  sim_budget  5e8                      default\n"
        "  baselines   none                     default\n"
        "  mouse       true                     default\n"
        "  unicode     true                     default\n"
        "keys\n"
        "  z      nest     loop split %T %D \n"
        "  m      nest     as l\n"
        "  F5              undo\n");
    assert_int_equal(s.key_line[0], 7);
    assert_int_equal(s.key_line[2], 5);
    assert_int_equal(s.key[0].action, ACTION_ASK);
    assert_string_equal(s.key[0].help, "loop split %T %D  (settings)");
    assert_int_equal(s.key[1].action, ACTION_ITEM_NEXT);
    assert_string_equal(s.key[1].help, "go to the next loop or access (settings)");
    assert_int_equal(s.key[2].action, ACTION_RUN);
    assert_int_equal(s.key[2].context, KEYS_ANY);
    str_clear(&out);
    settings_print_json(&s, &out);
    assert_non_null(strstr(str_text(&out), "\"name\": \"threads\",\n      \"value\": \"3\",\n"
                           "      \"line\": 1\n"));
    assert_non_null(strstr(str_text(&out), "\"name\": \"isa\",\n      \"value\": \"the best here"
                           "\",\n      \"line\": null\n"));
    assert_non_null(strstr(str_text(&out), "\"key\": \"z\",\n      \"where\": \"nest\",\n"
                           "      \"command\": \"loop split %T %D \",\n      \"line\": 7\n"));
    s.exists = false;
    str_clear(&out);
    settings_print(&s, &out);
    assert_true(str_starts(str_text(&out),
                           "settings.yaml (not there: these are the defaults)\n"));
    str_free(&out);
    settings_free(&s);
}

/* The limits themselves are accepted. */
static void test_limits(void **state)
{
    static const struct { const char *text; int threads; double budget; } row[] = {
        { "threads: 1\n", 1, 0 }, { "threads: 1024\n", 1024, 0 }, { "sim_budget: 1\n", 0, 1 },
        { "sim_budget: 1e15\n", 0, 1e15 },
    };
    static const char *const beyond[] = { "threads: 1025\n", "sim_budget: 1.1e15\n",
                                          "sim_budget: 0.9\n" };
    struct app_settings s;
    struct str text = {0};
    struct err e = {0};
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        parse(row[i].text, &s);
        assert_int_equal(s.threads, row[i].threads);
        assert_true(s.set.sim_budget == row[i].budget);
        settings_free(&s);
    }
    for (int i = 0; i < COUNT_OF(beyond); i++) {
        assert_false(settings_parse("s", beyond[i], strlen(beyond[i]), &s, &e));
        settings_free(&s);
    }
    str_add(&text, "keys:\n");
    for (int i = 0; i < 200; i++)
        str_printf(&text, "  \"%c%c\": undo\n", 0xC4 + i / 64, 0x80 + i % 64);
    parse(str_text(&text), &s);           /* 200 letters from U+0100 on */
    assert_int_equal(s.n_keys, 200);
    settings_free(&s);
    str_add(&text, "  x: undo\n");
    assert_false(settings_parse("s", str_text(&text), text.len, &s, &e));
    assert_string_equal(e.text, "at most 200 keys");
    assert_int_equal(e.at.line, 202);
    settings_free(&s);
    str_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_setting),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_printing),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_keys_on_the_start_screen),
        cmocka_unit_test(test_menu_of_keys), cmocka_unit_test(test_no_baselines_override),
        cmocka_unit_test(test_baselines_of_a_search),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_files_of_lines),
        cmocka_unit_test(test_a_bad_file),
    };
    private_folders();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
