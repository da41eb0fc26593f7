/* Operators that are not understood: what is said, where, and what is proposed instead.  And which
 * earlier step is to be changed so that a refused one applies. */
#include <string.h>

#include "kernels/program/program.h"
#include "tests/unit/history_help.h"

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

#define TILED "loop split C N 3 16; loop reorder C M N.0 K N.1; "

/* Each row ends with a refused line, because the tile of c is at N.1.  The step to edit is the
 * one that made this tile: not a held step, a step of another tensor, or one after the new step.
 * Tensors are named in any case. */
static void the_step_of_a_tile_is_named(void **state)
{
    static const struct { const char *lines, *refused, *fix; } table[] = {
        { TILED "loop cache_write C at=N.1; loop parallel C M; loop unroll C K",
          "loop vectorize C N.1", "edit 3 loop cache_write C at=N.0 puts its tile there" },
        { "loop parallel C M; " TILED "loop cache_write C at=N.0; loop cache_write C at=N.1",
          "loop vectorize C N.1", "edit 5 loop cache_write C at=N.0 puts its tile there" },
        { TILED "loop cache_write C at=N.1; loop cache_write C at=M; insert 4 loop split C M 8",
          "loop vectorize C N.1", "edit 3 loop cache_write C at=N.0 puts its tile there" },
        { TILED "loop cache_write C at=N.1; loop cache_write E at=M", "loop vectorize C N.1",
          "edit 3 loop cache_write C at=N.0 puts its tile there" },
        { TILED "loop cache_write C at=N.1; loop parallel C M; loop cache_write C at=N.0",
          "edit 4 loop vectorize C N.1", "edit 3 loop cache_write C at=N.0 puts its tile there" },
        { TILED "loop cache_write C at=N.1; loop cache_write C at=N.0",
          "insert 4 loop vectorize C N.1", "edit 3 loop cache_write C at=N.0 puts its tile there" },
        { TILED "loop cache_write C at=N.1; loop cache_write C at=N.0; loop vectorize C N.1",
          "move 4 5", "put the tile at N.0; a move must leave every other step legal; use e (edit) "
          "or d (drop) instead" },
        { TILED "loop cache_write C at=N.0; loop vectorize C N.1", "loop cache_write C at=N.1",
          "put the tile at N.0" },
        { TILED "loop cache_write C at=N.1; branch x; switch main; undo; "
          "loop cache_write C at=N.0; loop vectorize C N.1", "pick x 3", "put the tile at N.0" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct history *h = history_after("a = input m=64 k=32; b = input k=32 n=48; "
                                          "c = matmul(a, b); d = input n=48 p=16; "
                                          "e = matmul(c, d)", table[i].lines);
        enum command_effect effect;
        struct err e = {0};
        assert_false(command_run(h, table[i].refused, &effect, &e));
        if (!strstr(e.text, "the tile of cache_write at loop N.1 of c would be inside")
            || !streq(e.fix, table[i].fix))
            fail_msg("row %d: %s (fix: %s)", i, e.text, e.fix);
        history_free(h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_by_name_are_told_as_numbers),
        cmocka_unit_test(the_step_of_a_tile_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
