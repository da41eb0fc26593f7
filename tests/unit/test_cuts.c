/* Where layouts cut the loops of a space: an index (.. + coef x + ..) / c or % c becomes a sum of
 * multiples if x is cut at c / gcd(c, coef). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/space/loop_space_impl.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define GEMM "gmm m=24 k=8 n=8"
#define STRIDED "c1d n=1 i=4 w=24 o=8 k=5 s=2"           /* w = 0..9, kw = 0..4 */

static void cuts_lie_inside_an_axis(void **state)
{
    static const struct { const char *spec, *line[3], *want; } table[] = {
        { GEMM, { NULL }, "" }, { GEMM, { "layout split C M 4 6" }, "" },
        { GEMM, { "layout split A M 8 3" }, "M 3" }, { GEMM, { "layout split A M 24 1" }, "" },
        { GEMM, { "layout split A M 2 3 4" }, "M 4 12" },
        /* m = 6 m.0 + m.1 */
        { GEMM, { "layout split C M 4 6", "layout split A M 8 3" }, "M.1 3" },
        { GEMM, { "layout split C M 4 6", "layout split A M 2 12" }, "M.0 2" },
        /* the input is 2 w + kw */
        { STRIDED, { NULL }, "" }, { STRIDED, { "layout split Inp W 12 2" }, "KW 2" },
        { STRIDED, { "layout split Inp W 6 4" }, "W 2, KW 4" },
        { STRIDED, { "layout split Inp W 3 8" }, "W 4" },
        { STRIDED, { "layout split Inp W 8 3" }, "W 3, KW 3" },
        { STRIDED, { "layout split Inp W 2 12", "layout split Conv W 5 2" }, "W.0 3" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        struct loop_opts o = { .target = target_named("avx2") };
        const struct loop_space *s;
        struct str got = {0};
        struct err e;
        int n = 0;
        while (n < 3 && table[i].line[n])
            n++;
        if (!loop_space_new(a, table[i].spec, table[i].line, n, &o, &s, &e))
            fail_msg("%s: %s", table[i].spec, e.text);
        for (int x = 0; x < s->nest->n_axes; x++) {
            const struct loop_axis *axis = &s->nest->axis[x];
            if (axis->n_cuts > 0)
                str_printf(&got, "%s%s", got.len ? ", " : "", axis->name);
            for (int c = 0; c < axis->n_cuts; c++)
                str_printf(&got, " %lld", (long long)axis->cut[c]);
        }
        if (!streq(str_text(&got), table[i].want))
            fail_msg("row %d: %s, not %s", i, str_text(&got), table[i].want);
        str_free(&got);
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(cuts_lie_inside_an_axis) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
