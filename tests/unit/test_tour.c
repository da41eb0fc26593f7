/* Where the texts of the guided tour stand on the screen, for panes of every width. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/ui/text.h"
#include "tests/unit/model_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define HELP " :tour do does it, Esc leaves "
enum { STEPS = 10 };

/* Returns a row of the screen; valid until the next call. */
static const char *row_of(struct model *m, int row)
{
    static char text[1000];
    const char *p = screen_of(m);
    for (; row > 0; row--)
        p = strchr(p, '\n') + 1;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(p, "\n"), p);
    return text;
}

static void add_letters(struct str *out, const char *text)
{
    for (; *text; text++)
        if (*text != ' ')
            str_add_char(out, *text);
}

/* The rule has the title behind one column, and, where at least three columns of it stay between
 * them, the help before one column. */
static void check_rule(struct model *m)
{
    struct rect r = m->frame.tour;
    struct str title = {0};
    model_tour_title(m, &title);
    const char *row = row_of(m, r.y), *help = strstr(row, HELP);
    int between = r.w - 2 - text_width(str_text(&title)) - text_width(HELP);
    bool wanted = between >= 3 && m->tour <= STEPS;
    assert_true(str_starts(row, "─"));
    assert_true(str_starts(row + strlen("─"), str_text(&title)));
    assert_int_equal(text_width(row), r.w);
    assert_true(str_ends(row, "─"));
    if ((help != NULL) != wanted)
        fail_msg("step %d, %d columns: %s", m->tour, r.w, row);
    if (help)
        assert_string_equal(help + strlen(HELP), "─");
    str_free(&title);
}

/* The rows below have the whole text, and a free column at either side. */
static void check_text(struct model *m)
{
    struct rect r = m->frame.tour;
    struct str text = {0}, want = {0}, got = {0};
    model_tour_text(m, &text);
    add_letters(&want, str_text(&text));
    for (int y = r.y + 1; y < r.y + r.h; y++) {
        const char *row = row_of(m, y);
        if (row[0] != ' ' || row[1] == ' ' || text_width(row) > r.w - 1)
            fail_msg("step %d, %d columns: %s", m->tour, r.w, row);
        add_letters(&got, row);
    }
    assert_string_equal(str_text(&got), str_text(&want));
    str_free(&text);
    str_free(&want);
    str_free(&got);
}

static void texts_have_free_columns(void **state)
{
    (void)state;
    struct model *m = model_on("c2d n=1 i=3 h=224 w=224 o=64 k=7 s=2 p=3 bias=1 relu=1");
    for (int step = 1; step <= STEPS + 1; step += 2)
        for (int w = 40; w < 120; w++) {
            m->tour = step;
            model_resize(m, w, 60);
            screen_of(m);
            assert_int_equal(m->tour, step);
            check_rule(m);
            check_text(m);
        }
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(texts_have_free_columns) };
    return cmocka_run_group_tests(tests, set_up_folders, NULL);
}
