/* Where the view of the nest is scrolled to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/model_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* The pane shows as much as fits of the nest under the cursor, also from its first line. */
static void the_nest_under_the_cursor_is_shown(void **state)
{
    (void)state;
    struct model *m = model_on("c2d n=1 i=8 h=12 w=12 o=16 k=3 p=1 bias=1 relu=1");
    struct pane_doc *p = &m->pane[VIEW_NEST];
    press(m, "1");
    for (int h = 12; h < 40; h++) {
        model_resize(m, 120, h);
        screen_refresh(m);
        const int n = p->doc.lines.len, rows = m->frame.pane[PANE_MAIN].h - 1;
        for (int at = 0; at < n; at++) {
            int first = at, end = at + 1;
            p->scroll.top = 0;
            p->scroll.cursor = at;
            m->stamp++;
            screen_refresh(m);
            assert_int_equal(p->scroll.cursor, at);
            while (first > 0 && p->doc.lines.data[first].text[0] == ' ')
                first--;
            while (end < n && p->doc.lines.data[end].text[0] == ' ')
                end++;
            int last = p->scroll.top + rows;
            if (!(first >= p->scroll.top && end <= last) && !(end - first > rows && at < last))
                fail_msg("%d rows, line %d: %d to %d, but the nest has %d to %d", rows, at,
                         p->scroll.top, last, first, end);
        }
    }
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_nest_under_the_cursor_is_shown) };
    return cmocka_run_group_tests(tests, set_up_folders, NULL);
}
