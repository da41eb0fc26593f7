/* Swizzled shared tiles (SPEC N): which place each element has, by brute force, how many conflicts
 * that leaves, and tiles that tensor blocks read and pipelines copy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/measure/measure.h"
#include "tests/unit/programs.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define ROWS 64

/* Applies lines that are separated by ';'. */
static const struct program *with(struct arena *a, const char *spec, const char *list)
{
    const struct program *p = program_bare(a, spec);
    char *rest = NULL, *text = arena_strdup(a, list);
    for (char *l = strtok_r(text, ";", &rest); l; l = strtok_r(NULL, ";", &rest)) {
        struct err e = {0};
        if (!program_apply_line(p, l + strspn(l, " \n"), &p, &e))
            fail_msg("%s: %s: %s", spec, l, e.text);
    }
    return p;
}

static const struct buffer *tile_of(const struct program *p, const char *name)
{
    const struct func *f;
    struct err e;
    assert_true(program_lower(p, &f, &e));
    for (int i = 0; i < f->n_buffers; i++)
        if (streq(f->buffer[i].name, name))
            return &f->buffer[i];
    fail_msg("no buffer %s", name);
    return NULL;
}

static int64_t place(const struct buffer *b, int64_t i)
{
    return i ^ (i >> b->swizzle.shift & b->swizzle.mask);
}

/* Returns the most elements that 128 / keep_bytes threads meet in one group of banks when they read
 * the same group of columns, one row each, from row `first` on. */
static int degree(const struct buffer *b, int64_t row, int64_t keep, int first, int64_t column)
{
    int64_t bytes = b->type->bytes, group = keep * bytes, groups = BANKS_BYTES / group;
    int at[BANKS_BYTES] = { 0 }, most = 0;
    for (int i = first; i < first + groups; i++) {
        int64_t bank = place(b, i * row + column) * bytes % BANKS_BYTES / group;
        at[bank]++;
        most = at[bank] > most ? at[bank] : most;
    }
    return most;
}

/* Each element stays in its row, its column is XORed with a number that only the row decides and
 * that leaves groups of `keep` together, and no two have one place. */
static void check_places(const struct buffer *b, int64_t row, int64_t keep)
{
    bool taken[ROWS * 64] = { false };
    for (int64_t i = 0; i < ROWS; i++) {
        int64_t by = place(b, i * row) % row, lines = BANKS_BYTES / (row * b->type->bytes);
        assert_true(by % keep == 0);
        /* rows that fill all banks together are XORed with one number, the next ones with the
         * next */
        int64_t all = BANKS_BYTES / b->type->bytes, field = row < all ? row : all;
        assert_int_equal(by / keep, i / (lines > 1 ? lines : 1) % (field / keep));
        for (int64_t j = 0; j < row; j++) {
            int64_t at = place(b, i * row + j);
            assert_true(at / row == i && at % row == (j ^ by) && !taken[at]);
            taken[at] = true;
        }
    }
}

static void rows_are_xored_into_columns(void **state)
{
    static const struct { const char *type; int bytes; } type[] = { { "f32", 4 }, { "f16", 2 } };
    int tried = 0;
    (void)state;
    for (int t = 0; t < COUNT_OF(type); t++)
        for (int row = 4; row <= 64; row *= 2)
            for (int keep = 4 / type[t].bytes; keep <= 16 && keep < row; keep *= 2) {
                struct arena *a = arena_new();
                int field = row < 128 / type[t].bytes ? row : 128 / type[t].bytes;
                if (keep >= field)
                    continue;
                const struct program *p = with(
                    a, arena_printf(a, "gmm m=%d k=%d n=4 type=%s", ROWS, row, type[t].type),
                    arena_printf(a, "loop bind C M thread.x; loop cache_write C at=N;"
                                 "loop cache_read C A at=N scope=shared; loop swizzle C A by=%d",
                                 keep));
                const struct buffer *b = tile_of(p, "A_tile");
                assert_true(b->shape[0] == ROWS && b->shape[1] == row);
                check_places(b, row, keep);
                /* a column of groups takes as many turns as rows share a group of banks */
                int groups = 128 / (keep * type[t].bytes), apart = field / keep;
                for (int first = 0; first + groups <= ROWS; first += groups)
                    for (int column = 0; column < row; column += keep)
                        assert_true(degree(b, row, keep, first, column) <= (groups + apart - 1)
                                                                        / apart);
                tried++;
                arena_free(a);
            }
    assert_true(tried > 20);
}

#define WARPS "loop reorder C M.0 N.0 M.1 N.1 K.0 K.1 M.2 N.2 M.3 N.3 K.2;" \
              "loop bind C M.0 block.y; loop bind C N.0 block.x; loop bind C M.1 thread.z;" \
              "loop bind C N.1 thread.y; loop unroll C M.2; loop unroll C N.2;"
#define NARROW "loop split C M 0 2 2 16; loop split C N 0 2 2 16; loop split C K 0 4 16;" WARPS
#define TF32 "set multiply tf32; layout set B \"N K\"; loop split C M 0 2 2 16;" \
             "loop split C N 0 2 2 16; loop split C K 0 4 8;" WARPS
#define TILES "loop cache_read C A at=K.0 scope=shared; loop cache_read C B at=K.0 scope=shared;"
#define SWIZZLED(n) "loop swizzle C A by=" #n "; loop swizzle C B by=" #n ";"
#define BLOCK "loop tensorize C M.3 N.3 K.2;"
#define STAGES "loop pipeline C K.0 stages=3;"
#define CONV "set input_layout given; layout set Inp \"N H W I\"; layout set Ker \"KH KW I O\";" \
             "layout set Conv \"N H W O\"; loop split Conv H 2; loop split Conv W 8;" \
             "loop split Conv O 2 2 16; loop split Conv I 0 16;" \
             "loop reorder Conv N H.0 W.0 O.0 I.0 KH KW O.1 H.1 W.1 O.2 I.1;" \
             "loop fuse Conv H.1 W.1; loop bind Conv N block.z;" \
             "loop bind Conv H.0 block.y; loop bind Conv W.0 block.x;" \
             "loop bind Conv O.0 thread.y; loop unroll Conv O.1;" \
             "loop cache_read Conv Inp at=I.0 scope=shared;" \
             "loop cache_read Conv Ker at=I.0 scope=shared;"
#define CONV_BLOCK "loop tensorize Conv H.1_W.1 O.2 I.1;"
#define CONV_SWIZZLED "loop swizzle Conv Inp by=8; loop swizzle Conv Ker by=8;"

/* conflicts: whether loads of the shared tiles have any. */
static const struct { const char *spec, *steps; bool conflicts; } block[] = {
    { "gmm m=64 k=256 n=64 type=f16", NARROW TILES BLOCK, true },
    { "gmm m=64 k=256 n=64 type=f16", NARROW TILES SWIZZLED(8) BLOCK, false },
    { "gmm m=64 k=256 n=64 type=bf16", NARROW TILES SWIZZLED(8) BLOCK STAGES, false },
    { "gmm m=64 k=256 n=64 type=f16", NARROW TILES SWIZZLED(2) BLOCK, true },
    { "gmm m=64 k=128 n=64", TF32 TILES BLOCK, true },
    { "gmm m=64 k=128 n=64", TF32 TILES SWIZZLED(4) BLOCK, false },
    { "gmm m=64 k=128 n=64", TF32 TILES SWIZZLED(4) BLOCK STAGES, false },
    { "c2d n=1 i=32 h=6 w=10 o=64 k=3 type=f16", CONV CONV_BLOCK, true },
    { "c2d n=1 i=32 h=6 w=10 o=64 k=3 type=f16", CONV CONV_SWIZZLED CONV_BLOCK, false },
};

static void tensor_blocks_read_swizzled_tiles(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(block); i++) {
        struct arena *a = arena_new();
        const struct program *p = with(a, block[i].spec, block[i].steps);
        struct measure_opts o = { .seed = 3, .limit_s = 60, .meters = METER_SIM };
        struct measurement m = {0};
        struct err e = {0};
        int64_t conflicts = 0;
        if (!measure_program(p, &o, NULL, NULL, &m, &e) || !m.verified || !m.sim.available)
            fail_msg("row %d: %s%s%s", i, e.text, m.reason, m.sim.reason);
        for (int k = 0; k < m.sim.n_sites; k++)
            if (streq(m.sim.site[k].memory, "shared") && !m.sim.site[k].is_store)
                conflicts += m.sim.site[k].cost.bank_conflicts;
        print_message("%-45s %8lld conflicts%s\n", block[i].spec, (long long)conflicts,
                      strstr(block[i].steps, "swizzle") ? ", swizzled" : "");
        if ((conflicts > 0) != block[i].conflicts)
            fail_msg("row %d: %lld conflicts", i, (long long)conflicts);
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_xored_into_columns),
        cmocka_unit_test(tensor_blocks_read_swizzled_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
