/* Which tiles need more vector registers than a target has, by hand-counted cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "kernels/gen/tile_registers.h"
#include "kernels/program/program.h"
#include "profile/build/build.h"
#include "tests/unit/model_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define GMM "gmm m=64 k=32 n=128"
#define WHOLE "gmm m=13020 k=32 n=96"     /* divided by all tiles of rows 9 on */
#define TILED(m, n) "loop split C M " #m, "loop split C N " #n, \
    "loop reorder C M.0 N.0 K M.1 N.1", "loop cache_write C at=N.0", "loop vectorize C N.1"

/* operands: registers besides those of the tile. */
static const struct {
    const char *step[7], *isa;
    int64_t needs;
    bool spills;
    int64_t operands;
} rows[] = {
    { { TILED(4, 16), "loop unroll C M.1" }, "avx512", 4, false, 0 },
    { { TILED(4, 16), "loop unroll C M.1" }, "avx2", 8, false, 0 },
    { { TILED(8, 16), "loop unroll C M.1" }, "avx2", 16, true, 3 },
    { { TILED(8, 16), "loop unroll C M.1" }, "avx512", 8, false, 0 },
    { { TILED(32, 16), "loop unroll C M.1" }, "avx512", 32, true, 1 },
    { { TILED(64, 16), "loop unroll C M.1" }, "avx512", 64, true, 0 },
    { { TILED(32, 16) }, "avx512", 0, false, 0 },         /* indexed by a loop: in memory */
    { { "loop cache_write C at=N" }, "avx2", 1, false, 0 },
    { { "loop unroll C N" }, "avx2", 0, false, 0 },       /* no tile */
    /* two vectors of B and one broadcast of A */
    { { TILED(6, 16), "loop unroll C M.1" }, "avx2", 12, false, 0 },
    { { TILED(7, 16), "loop unroll C M.1" }, "avx2", 14, true, 3 },
    { { TILED(4, 24), "loop unroll C M.1" }, "avx2", 12, false, 0 },
    /* one vector of B; AVX-512 broadcasts A as it multiplies, AVX2 needs a register for it */
    { { TILED(14, 8), "loop unroll C M.1" }, "avx2", 14, false, 0 },
    { { TILED(15, 8), "loop unroll C M.1" }, "avx2", 15, true, 2 },
    { { TILED(31, 16), "loop unroll C M.1" }, "avx512", 31, false, 0 },
    { { TILED(14, 32), "loop unroll C M.1" }, "avx512", 28, false, 0 },
    { { TILED(15, 32), "loop unroll C M.1" }, "avx512", 30, true, 3 },
};

static const struct func *lowered(struct arena *a, int row)
{
    const struct program *p;
    const struct func *f;
    struct err e;
    assert_true(program_new(a, row < 9 ? GMM : WHOLE, &p, &e));
    for (int k = 0; k < COUNT_OF(rows[row].step) && rows[row].step[k]; k++)
        if (!program_apply_line(p, rows[row].step[k], &p, &e))
            fail_msg("%s: %s", rows[row].step[k], e.text);
    assert_true(program_lower(p, &f, &e));
    return f;
}

static void check_registers(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct arena *a = arena_new();
        const struct func *f = lowered(a, i);
        const struct target *t = target_named(rows[i].isa);
        struct tile_spill s = {0};
        int64_t most = 0;
        for (int b = f->n_params; b < f->n_buffers; b++)
            most = tile_registers(f, b, t) > most ? tile_registers(f, b, t) : most;
        assert_int_equal(most, rows[i].needs);
        if (tile_that_spills(f, t, &s) != rows[i].spills)
            fail_msg("row %d: spills %d", i, rows[i].spills);
        if (rows[i].spills)
            assert_true(s.registers == rows[i].needs && s.operands == rows[i].operands);
        arena_free(a);
    }
}

/* Lowers a tile of m by 16 whose cache_write is at the loop `at`. */
static const struct func *tile_at(struct arena *a, int m, const char *at, bool unroll)
{
    const struct program *p;
    const struct func *f;
    struct err e;
    assert_true(program_new(a, "gmm m=64 k=32 n=128", &p, &e));
    const char *line[] = { arena_printf(a, "loop split C M %d", m), "loop split C N 16",
                           "loop reorder C M.0 N.0 K M.1 N.1",
                           arena_printf(a, "loop cache_write C at=%s", at),
                           "loop vectorize C N.1", "loop unroll C M.1" };
    for (int i = 0; i < COUNT_OF(line) - !unroll; i++)
        if (!program_apply_line(p, line[i], &p, &e))
            fail_msg("%s: %s", line[i], e.text);
    assert_true(program_lower(p, &f, &e));
    return f;
}

/* Of a tile that is written back outside of N.0, the loop over K keeps the part of its N.0 in
 * registers: it leaves them only if the loops over this part are no straight code. */
static void a_part_stays_in_registers(void **state)
{
    static const struct { int m; const char *isa; int64_t registers, operands; } row[] = {
        { 8, "avx512", 0, 0 }, { 4, "avx2", 0, 0 }, { 8, "avx2", 16, 3 }, { 8, "sse", 32, 0 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        const struct target *t = target_named(row[i].isa);
        const struct func *f = tile_at(a, row[i].m, "M.0", true);
        struct tile_spill s = {0};
        bool spills = tile_that_spills(f, t, &s);
        if (spills != (row[i].registers > 0) || s.registers != row[i].registers
            || (row[i].operands && s.operands != row[i].operands))
            fail_msg("row %d: %lld of them, %lld operands", i, (long long)s.registers,
                     (long long)s.operands);
        const struct func *whole = tile_at(a, 4, "N.0", true);
        const struct func *small = tile_at(a, 4, "M.0", true);
        const struct func *rolled = tile_at(a, 4, "M.0", false);
        if (streq(row[i].isa, "avx2")) {
            assert_null(tile_that_leaves(small, whole, t));
            assert_string_equal(tile_that_leaves(rolled, whole, t), "C_acc");
        }
        arena_free(a);
    }
}

/* Lowers two products, each with a tile of 4 by 16; the tile of the first is written back at
 * `at`. */
static const struct func *two_tiles(struct arena *a, const char *at)
{
    const struct program *p;
    const struct func *f;
    struct err e;
    assert_true(program_new(a, "x = input m=16 k=32; w = input k=32 n=32; v = input n=32 o=512;"
                               " y = matmul(x, w); z = matmul(y, v)", &p, &e));
    for (int i = 0; i < 2; i++) {
        const char *c = i ? "z" : "y", *line[] = {
            arena_printf(a, "loop split %s M 4", c), arena_printf(a, "loop split %s N 16", c),
            arena_printf(a, "loop reorder %s M.0 N.0 K M.1 N.1", c),
            arena_printf(a, "loop cache_write %s at=%s", c, i ? "N.0" : at),
            arena_printf(a, "loop vectorize %s N.1", c), arena_printf(a, "loop unroll %s M.1", c) };
        for (int k = 0; k < COUNT_OF(line); k++)
            if (!program_apply_line(p, line[k], &p, &e))
                fail_msg("%s: %s", line[k], e.text);
    }
    assert_true(program_lower(p, &f, &e));
    return f;
}

/* A part of a tile is in registers in its own loop, even if another loop takes more cycles. */
static void each_tile_has_its_own_loop(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const struct target *t = target_named("avx2");
    const struct func *whole = two_tiles(a, "N.0"), *part = two_tiles(a, "M.0");
    assert_null(tile_that_leaves(part, whole, t));
    arena_free(a);
}

/* Whether compiled code loads or stores vectors of 32 bytes through the stack pointer. */
static bool uses_stack(const char *assembly)
{
    bool found = false;
    while (*assembly && !found) {
        size_t n = strcspn(assembly, "\n");
        char line[200];
        snprintf(line, sizeof line, "%.*s", (int)n, assembly);
        found = strstr(line, "(%rsp)") && strstr(line, "%ymm");
        assembly += n + (assembly[n] != 0);
    }
    return found;
}

/* The notes on tiles agree with the code that the compiler makes for AVX2. */
static void compilers_agree(void **state)
{
    (void)state;
    struct compiler cc;
    struct err e;
    if (!target_named("avx2")->runs_here() || !compiler_find("gcc", &cc, &e))
        skip();
    for (int i = 9; i < COUNT_OF(rows); i++) {
        struct arena *a = arena_new();
        const struct target *t = target_named(rows[i].isa);
        const struct gen_opts o = { .target = t };
        struct str text = {0}, assembly = {0};
        if (streq(t->isa, "avx2")) {
            assert_true(gen_c(lowered(a, i), &o, &text, &e));
            assert_true(build_assembly(&cc, str_text(&text), t, NULL, &assembly, &e));
            if (uses_stack(str_text(&assembly)) != rows[i].spills)
                fail_msg("row %d: spills %d", i, rows[i].spills);
        }
        str_free(&text);
        str_free(&assembly);
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
    assert_shows(m, "C_acc spills: takes 16 of 16 vec");  /* the message of the last step */
    assert_shows(m, "C_acc = tile[8][16]");
    assert_shows(m, "# spills: takes 16 of 16 vector registers, and operands need 3");
    model_resize(m, 150, 24);
    press(m, ": focus Space steps Enter k j");
    assert_shows(m, "the tile C_acc spills: takes 16 of 16 vector registers, and operands need 3");
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
        cmocka_unit_test(check_registers), cmocka_unit_test(compilers_agree),
        cmocka_unit_test(a_part_stays_in_registers),
        cmocka_unit_test(each_tile_has_its_own_loop),
        cmocka_unit_test(is_shown),
    };
    private_folders();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
