/* Which tiles need more vector registers than a target has, by hand-counted cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "kernels/gen/tile_registers.h"
#include "kernels/program/program.h"
#include "tests/unit/model_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define GMM "gmm m=64 k=32 n=128"
#define TILED(m, n) "loop split C M " #m, "loop split C N " #n, \
    "loop reorder C M.0 N.0 K M.1 N.1", "loop cache_write C at=N.0", "loop vectorize C N.1"

static const struct { const char *step[7], *isa; int64_t needs; bool spills; } rows[] = {
    { { TILED(4, 16), "loop unroll C M.1" }, "avx512", 4, false },
    { { TILED(4, 16), "loop unroll C M.1" }, "avx2", 8, false },
    { { TILED(8, 16), "loop unroll C M.1" }, "avx2", 16, true },
    { { TILED(8, 16), "loop unroll C M.1" }, "avx512", 8, false },
    { { TILED(32, 16), "loop unroll C M.1" }, "avx512", 32, true },
    { { TILED(32, 16) }, "avx512", 0, false },            /* indexed by a loop: in memory */
    { { "loop cache_write C at=N" }, "avx2", 1, false },
    { { "loop unroll C N" }, "avx2", 0, false },          /* no tile */
};

static void check_registers(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct arena *a = arena_new();
        const struct program *p;
        const struct func *f;
        struct err e;
        int64_t needs = 0, most = 0;
        const struct target *t = target_named(rows[i].isa);
        assert_true(program_new(a, GMM, &p, &e));
        for (int k = 0; k < COUNT_OF(rows[i].step) && rows[i].step[k]; k++)
            if (!program_apply_line(p, rows[i].step[k], &p, &e))
                fail_msg("%s: %s", rows[i].step[k], e.text);
        assert_true(program_lower(p, &f, &e));
        for (int b = f->n_params; b < f->n_buffers; b++)
            most = tile_registers(f, b, t) > most ? tile_registers(f, b, t) : most;
        assert_int_equal(most, rows[i].needs);
        assert_int_equal(tile_that_spills(f, t, &needs) >= 0, rows[i].spills);
        arena_free(a);
    }
}

/* The nest and the ledger say it. */
static void is_shown(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    type_line(m, "isa avx2");
    for (int k = 0; k < 6; k++)
        type_line(m, rows[2].step[k]);
    assert_shows(m, "C_acc = tile[8][16]");
    assert_shows(m, "# spills: takes 16 of 16 vector registers, and operands need two");
    model_resize(m, 150, 24);
    press(m, ": focus Space steps Enter k j");
    assert_shows(m, "the tile C_acc spills: takes 16 of 16 vector registers, and operands");
    type_line(m, "isa sse");
    press(m, "k j");
    assert_shows(m, "the tile C_acc spills: takes 32 of 16 vector registers");
    assert_shows(m, "# spills: takes 32 of 16 vector registers");
    type_line(m, "goto 0");
    assert_hides(m, "spills");
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_registers), cmocka_unit_test(is_shown),
    };
    private_folders();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
