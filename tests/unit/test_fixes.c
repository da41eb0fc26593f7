/* Operators that are not understood: what is said, where, and what is proposed instead. */
#include <string.h>

#include "kernels/program/program.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void axes_by_name_are_told_as_numbers(void **state)
{
    static const struct { const char *spec, *fix; } table[] = {
        { "x = input n=4 m=8; y = slice(x) axis=m from=0 to=2", "axis=1 is dimension M" },
        { "a = input n=4; x = input p=3 q=5; y = slice(x) axis=q from=0 to=2",
          "axis=1 is dimension Q" },
        { "a = input n=4; x = input p=3 q=5; y = softmax(x) axis=r", "0 for P, 1 for Q" },
        { "a = input n=4; b = input p=2 q=3; c = input r=2 s=5; y = concat(b, c) axis=q",
          "axis=1 is dimension Q" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        const struct program *p;
        struct err e = {0};
        if (program_new(a, table[i].spec, &p, &e))
            fail_msg("%s is taken", table[i].spec);
        if (strcmp(e.fix, table[i].fix) != 0 || !strstr(e.text, "is not a whole number"))
            fail_msg("%s: %s (fix: %s)", table[i].spec, e.text, e.fix);
        const char *word = e.source + e.at.col - 1;
        assert_true(e.at.col > 0 && strncmp(word, "axis=", 5) == 0);
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(axes_by_name_are_told_as_numbers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
