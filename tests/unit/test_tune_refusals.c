/* What the tuner refuses before anything is compiled or measured: an error, and no result. */
#include <string.h>

#include "explorer/tune/tune.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void nothing_comes_of_wrong_options(void **state)
{
    static const struct { const char *spec, *strategy, *says; } table[] = {
        { "gmm m=8 k=8 n=8", "genetic", "genetic" },
        { "gmmm m=8 k=8 n=8", "evo", "gmmm" },
    };
    static const struct tune_lines start = { "session", 0, NULL };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct tune_opts o = {
            .kernels = { .spec = table[i].spec, .n_seeds = 1, .schedule = &start,
                         .measure = { .seed = 1 }, .seed = 3 },
            .budget = 1, .seed = 3, .strategy = table[i].strategy,
        };
        struct search_sink sink = {0};
        struct tune_result *r = NULL;
        struct err e = {0};
        if (tune_run(&o, &sink, NULL, &r, &e))
            fail_msg("%s by %s is taken", table[i].spec, table[i].strategy);
        assert_null(r);
        if (!strstr(e.text, table[i].says))
            fail_msg("%s by %s: %s", table[i].spec, table[i].strategy, e.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(nothing_comes_of_wrong_options) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
