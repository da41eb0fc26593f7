/* Golden screens of every view and list: as text at three sizes and with the styles of one, and one
 * screen as terminals of 256 colours, 8 colours, no colours and no UTF-8 show it.
 *
 * The network, the tuner and the comparison have theirs where their results are made
 * (test_networkscreen.c, test_tunescreen.c, test_comparescreen.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vterm.h>
#include "kernels/base/file.h"
#include "tests/unit/golden.h"
#include "tests/unit/model_help.h"
#include "tests/unit/roof_model.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/tty.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define SESSION "tests/golden/views/session.yaml"

/* Keys on the session that lead to a screen, or on the start screen.  Lists have two sizes. */
static const struct { const char *name; bool start, list; const char *keys; } row[] = {
    {"start", true, false, ""},
    {"nest", false, false, ""},
    {"access", false, false, "2"},
    {"layout", false, false, "3"},
    {"c", false, false, "4"},
    {"asm", false, false, "5"},
    {"profile", false, false, "6"},
    {"graph", false, false, "7"},
    {"roofline", false, false, "8"},
    {"tune", false, false, "9"},
    {"sass", false, false, "%"},
    {"zoom", false, false, "6 +"},
    {"steps", false, true, "Tab k k"},
    {"branches", false, true, "b wide Enter B"},
    {"menu", false, true, "Enter"},
    {"help", false, true, "?"},
    {"topic", false, true, ": help Space loops Enter"},
    {"completion", false, true, ": loop Space Tab"},
    {"error", false, true, ": loop Space split Space Conv Space Q Space 4 Enter"},
    {"question", false, true, ": loop Space serial Space Conv Space H Enter : q Enter"},
};

static const char code[] =
    "void conv2d(const float *restrict Inp, float *restrict Conv)\n{\n"
    "    /* for n in range(1) */\n    for (long h = 0; h < 112; h++) {\n"
    "        Conv[64*h] = Inp[2*h]; // the first\n    }\n}\n";
static const char assembly[] =
    "conv2d:\n    xor    eax,eax\n.L1:\n    vmovss xmm0,DWORD PTR [rdi+rax*8]\n"
    "    vmovss DWORD PTR [rsi],xmm0\n    add    rsi,0x100\n    inc    rax\n"
    "    cmp    rax,0x70\n    jne    .L1\n    ret\n";

static const char sass[] =
    "// sm_90 by NVRTC 13.0, disassembled by nvdisasm\n\nkernel_0:\n"
    "  0000        LDC R1, c[0x0][0x28]\n.L1:\n  0010  @!UP1 LDG.E R4, desc[UR6][R2.64]\n"
    "  0020        FFMA R4, R4, R8, R9\n  0030        BAR.SYNC.DEFER_BLOCKING 0x0\n"
    "  0040    @P0 BRA .L1\n  0050        EXIT\n";

static void take_text(struct model *m, enum job_kind kind, const char *text)
{
    struct app_job *j = job_new(kind, "", model_tag(m), 1);
    j->ok = true;
    str_add(&j->text, text);
    model_done(m, j);
    job_free(j);
}

static struct model *open_row(int i)
{
    struct session *s = NULL;
    struct err e;
    if (!row[i].start && !session_load(SESSION, &s, &e))
        fail_msg("%s", e.text);
    struct model *m = model_new(s, &(struct model_opts){ .no_auto = true }, true);
    m->roofs.looked = true;
    m->roofs.model = xmalloc(sizeof *m->roofs.model);
    *m->roofs.model = roof_model();
    if (streq(row[i].name, "menu"))       /* which sorts by time where the model has this machine */
        snprintf(m->roofs.model->isa[0].isa, sizeof m->roofs.model->isa[0].isa, "%s",
                 target_host()->isa);
    if (s) {
        take_text(m, JOB_C, code);
        take_text(m, JOB_ASM, assembly);
        take_text(m, JOB_SASS, sass);
    }
    screen_refresh(m);
    press(m, row[i].keys);
    return m;
}

/* One letter a style; a plain cell is a blank. */
static void put_styles(struct str *out, const struct grid *g)
{
    static const char letter[] = " drhTtkgbwnm12345";
    for (int y = 0; y < g->h; y++) {
        size_t end = out->len;
        for (int x = 0; x < g->w; x++) {
            unsigned char style = grid_at(g, x, y)->style;
            char c = letter[style & ~STYLE_REVERSE];
            str_add_char(out, style & STYLE_REVERSE ? (c == ' ' ? '#' : (char)(c | 0x20)) : c);
            end = c != ' ' || style ? out->len : end;
        }
        out->len = end;
        out->data[end] = 0;
        str_add_char(out, '\n');
    }
}

/* The screen in ASCII has in each cell what stands for the other one. */
static void check_ascii(struct model *m, const struct grid *rich)
{
    struct grid poor;
    grid_open(&poor, m->w, m->h, false);
    screen_draw(m, &poor);
    for (int y = 0; y < m->h; y++)
        for (int x = 0; x < m->w; x++) {
            uint32_t want = grid_at(rich, x, y)->ch, have = grid_at(&poor, x, y)->ch;
            if (have != (want < 128 ? want : (uint32_t)grid_ascii(want)))
                fail_msg("row %d, column %d: %c", y, x, (int)have);
        }
    grid_close(&poor);
}

static void test_views(void **state)
{
    static const struct { int w, h; } size[] = { {80, 24}, {120, 40}, {200, 60} };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str out = {0};
        char path[100];
        struct model *m = open_row(i);
        for (int k = 0; k < COUNT_OF(size) - row[i].list; k++) {
            struct grid g;
            model_resize(m, size[k].w, size[k].h);
            screen_refresh(m);
            grid_open(&g, m->w, m->h, true);
            screen_draw(m, &g);
            str_printf(&out, "%s%dx%d\n", k ? "\n" : "", m->w, m->h);
            grid_dump(&g, &out);
            if (k == 0)
                str_add(&out, "\nstyles\n");
            if (k == 0)
                put_styles(&out, &g);
            check_ascii(m, &g);
            grid_close(&g);
        }
        snprintf(path, sizeof path, "tests/golden/views/%s.txt", row[i].name);
        golden_check(path, str_text(&out));
        str_free(&out);
        model_free(m);
    }
}

/* A list that is wrapped in another way keeps its cursor on the same entry. */
static void test_the_cursor_stays_on_its_entry(void **state)
{
    (void)state;
    struct model *m = open_row(0);
    press(m, "Down Down");
    for (int w = 80; w < 200; w += 7) {
        model_resize(m, w, 40);
        assert_shows(m, "▸  c1d");
    }
    model_free(m);
}

/* The start screen shows the steps of unsaved work first, not the process that has left it. */
static void test_unsaved_work_is_shown_as_steps(void **state)
{
    (void)state;
    static const char text[] =
        "# autosave of process 1 1\n# original: \n# title: gmm m=8 k=8 n=8\n"
        "# file: 0000000000000000\ntilescope: 1\noperator: gmm m=8 k=8 n=8\n"
        "steps:\n- loop parallel C M\nmeasured:\n- {branch: main, step: 1}\n";
    struct str file = {0};
    struct err e;
    assert_true(dir_state(&file, &e));
    str_add(&file, "/autosave");
    assert_true(dir_make(str_text(&file), &e));
    str_add(&file, "/gmm-1.yaml");
    assert_true(file_write_atomic(str_text(&file), text, sizeof text - 1, &e));
    struct model *m = model_new(NULL, &(struct model_opts){ .no_auto = true }, true);
    model_resize(m, 160, 40);
    assert_shows(m, "│ tilescope: 1");
    assert_shows(m, "│ - loop parallel C M");
    assert_shows(m, "│ It has measurements, too.");
    assert_hides(m, "autosave of process");
    assert_hides(m, "step: 1");
    model_free(m);
    unlink(str_text(&file));
    str_free(&file);
}

static void put_colour(struct str *out, const char *name, const VTermColor *c, bool is_default)
{
    if (!is_default && VTERM_COLOR_IS_INDEXED(c))
        str_printf(out, " %s%d", name, c->indexed.idx);
    else if (!is_default)
        str_printf(out, " %s#%02x%02x%02x", name, c->rgb.red, c->rgb.green, c->rgb.blue);
}

static void put_look(struct str *out, const VTermScreenCell *c)
{
    put_colour(out, "", &c->fg, VTERM_COLOR_IS_DEFAULT_FG(&c->fg));
    put_colour(out, "on ", &c->bg, VTERM_COLOR_IS_DEFAULT_BG(&c->bg));
    str_add(out, c->attrs.bold ? " bold" : "");
    str_add(out, c->attrs.underline ? " underlined" : "");
    str_add(out, c->attrs.reverse ? " reverse" : "");
}

/* Lists the parts of each row that do not look plain: first and last column, then the look. */
static void put_looks(struct str *out, const struct tty *t)
{
    for (int y = 0; y < t->h; y++) {
        struct str before = {0}, look = {0};
        int from = 0;
        for (int x = 0; x <= t->w; x++) {
            VTermScreenCell c;
            str_clear(&look);
            if (x < t->w && vterm_screen_get_cell(t->screen, (VTermPos){y, x}, &c))
                put_look(&look, &c);
            if (x < t->w && streq(str_text(&look), str_text(&before)))
                continue;
            if (before.len > 0)
                str_printf(out, "%2d: %d-%d%s\n", y, from, x - 1, str_text(&before));
            from = x;
            str_clear(&before);
            str_add(&before, str_text(&look));
        }
        str_free(&before);
        str_free(&look);
    }
}

/* On the profile, with a search: most styles are there. */
static void test_terminals(void **state)
{
    static const struct { const char *term, *locale, *theme, *name; } table[] = {
        {"xterm-256color", "C.UTF-8", "auto", "256-colours"},
        {"xterm-256color", "C.UTF-8", "dark", "256-dark"},
        {"xterm-256color", "C.UTF-8", "light", "256-light"},
        {"xterm", "C.UTF-8", "auto", "8-colours"},
        {"xterm", "C.UTF-8", "light", "8-light"},
        {"xterm-256color", "C.UTF-8", "mono", "mono"},
        {"vt100", "C", "auto", "vt100-ascii"},
    };
    static const char *const argv[] = { "--no-auto", SESSION, NULL };
    (void)state;
    struct str file = {0};
    struct err e;
    assert_true(dir_config(&file) && dir_make(str_text(&file), &e));
    str_add(&file, "/settings.yaml");
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct str out = {0};
        char path[100], text[40];
        snprintf(text, sizeof text, "theme: %s\n", table[i].theme);
        assert_true(file_write_atomic(str_text(&file), text, strlen(text), &e));
        struct tty *t = tty_start(&(struct tty_opts){ .w = 80, .h = 24, .argv = argv,
                                                      .term = table[i].term,
                                                      .locale = table[i].locale });
        tty_press(t, "4 / float Enter 1");
        str_printf(&out, "%s\n", tty_screen(t));
        put_looks(&out, t);
        snprintf(path, sizeof path, "tests/golden/views/on-%s.txt", table[i].name);
        golden_check(path, str_text(&out));
        str_free(&out);
        tty_send(t, ": q! Enter");
        assert_int_equal(tty_end(t), 0);
    }
    unlink(str_text(&file));
    str_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_the_cursor_stays_on_its_entry),
        cmocka_unit_test(test_unsaved_work_is_shown_as_steps),
        cmocka_unit_test(test_terminals),
    };
    setenv("TILESCOPE_HOME", "/nonexistent", 1);         /* the examples are not listed */
    temp_dir("XDG_CONFIG_HOME");
    temp_dir("XDG_STATE_HOME");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
