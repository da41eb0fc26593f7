/* What is asked of a cache lens, on lenses made by hand: lines and sets, the window and its loops,
 * how many lines an access touches, and what its misses are blamed on. */
#include <stdio.h>
#include <string.h>

#include "profile/measure/lens.h"
#include "profile/measure/lens_whole.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* --- Lines ------------------------------------------------------------------------------------ */

static void lines_have_sets_and_buffers(void **state)
{
    static const struct lens_buffer buffer[] = { { .first = 0, .lines = 3 },
                                                 { .first = 4, .lines = 2 } };
    static const int of[] = { -1, 0, 0, 0, -1, 1, 1, -1 };               /* of lines -1 to 6 */
    const struct lens l = { .n_sets = 4, .first_set = 1, .n_buffers = 2, .buffer = buffer };
    (void)state;
    for (int line = -1; line <= 6; line++) {
        assert_int_equal(lens_buffer_of(&l, line), of[line + 1]);
        assert_int_equal(lens_set_of(&l, line), (line + 1) % 4);
    }
}

/* Eight touches of five lines, of which 0 and 3 are in L1 before.  Two loops around each other, and
 * one after them; a turn after the last touch. */
static const bool resident[] = { true, false, false, true, false };
static const struct lens_touch touch[] = {
    { 1, 0, 0, true, false },  { 2, -1, LENS_PREFETCH, false, false }, { 0, 3, 1, true, true },
    { 0, -1, 1, false, false }, { 3, 1, 0, true, true },  { 3, -1, 2, false, false },
    { 4, 2, 2, true, false },  { 4, -1, 2, false, false },
};
static const struct lens_turn turn[] = {
    { 0, 0, 0 }, { 0, 1, 0 }, { 2, 1, 1 }, { 4, 0, 1 }, { 4, 1, 0 }, { 6, 2, 5 }, { 9, 1, 7 },
};
static const struct lens_loop loops[] = { { "M", 0, -1, 10 }, { "K", 0, 0, 4 }, { "N", 1, -1, 6 } };
static const struct lens_site sites[] = { { .loop = 1 }, { .loop = 0 }, { .loop = 2 } };
static const struct lens window = {
    .n_sets = 4, .n_lines = 5, .resident = resident, .n_touches = 8, .touch = touch, .n_turns = 7,
    .turn = turn, .n_loops = 3, .loop = loops, .n_sites = 3, .site = sites,
};

static void lines_come_and_go(void **state)
{
    static const struct { int at; const char *held; } row[] = {
        { -1, "10010" }, { 0, "01010" }, { 1, "01110" }, { 2, "11100" }, { 3, "11100" },
        { 4, "10110" }, { 6, "10011" }, { 7, "10011" }, { 99, "10011" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        bool held[5];
        char text[6] = "";
        lens_held(&window, row[i].at, held);
        for (int k = 0; k < 5; k++)
            text[k] = held[k] ? '1' : '0';
        assert_string_equal(text, row[i].held);
    }
}

static void conflicts_are_found(void **state)
{
    static const int first[] = { 2, 2, 2, 4, 4, -1, -1, -1, -1 };
    (void)state;
    for (int at = 0; at < COUNT_OF(first); at++)
        assert_int_equal(lens_first_conflict(&window, at), first[at]);
}

/* The window has no touch for the last iteration of K. */
static void iterations_are_found(void **state)
{
    static const struct { int loop, at, next, previous; int64_t value; } row[] = {
        { 0, 0, 4, -1, 0 }, { 0, 3, 4, 0, 0 }, { 0, 4, -1, 0, 1 },  { 0, 7, -1, 4, 1 },
        { 1, 0, 2, -1, 0 }, { 1, 1, 2, 0, 0 }, { 1, 2, 4, 0, 1 },   { 1, 3, 4, 2, 1 },
        { 1, 4, -1, 2, 0 }, { 2, 0, 6, -1, -1 }, { 2, 5, 6, -1, -1 }, { 2, 6, -1, -1, 5 },
        { 2, 7, -1, 6, 5 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        int next = lens_next(&window, row[i].loop, row[i].at, 1);
        int previous = lens_next(&window, row[i].loop, row[i].at, -1);
        int64_t value = lens_value(&window, row[i].loop, row[i].at);
        if (next != row[i].next || previous != row[i].previous || value != row[i].value)
            fail_msg("row %d: next %d, previous %d, value %lld", i, next, previous,
                     (long long)value);
    }
}

/* A touch of site 1, which is in M only, comes after an iteration of K; touch 5 of site 2 comes
 * before the first iteration of N. */
static void touches_are_in_loops(void **state)
{
    static const char *const want[] = { "MK", "MK", "M", "M", "MK", "", "N", "N" };
    (void)state;
    for (int at = 0; at < COUNT_OF(want); at++) {
        int loop[LENS_DEEPEST], n = lens_around(&window, at, loop);
        char text[8] = "";
        for (int i = 0; i < n; i++)
            strcat(text, loops[loop[i]].axis);
        assert_string_equal(text, want[at]);
    }
}

/* The misses are of lines 1, 0, 3 and 4, the touches 0, 2, 4 and 6: sets 1, 0, 3 and 0. */
static void misses_have_sets_and_times(void **state)
{
    static const double whole[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
    static const double want[] = { 1, 1, 0, 1, 0, 0, 1, 0 };
    struct lens l = window;
    double cell[8];
    (void)state;
    lens_grid(&l, false, 2, 4, cell);
    for (int i = 0; i < 8; i++)
        assert_true(cell[i] == want[i]);
    lens_grid(&l, false, 4, 1, cell);
    assert_true(cell[0] == 2 && cell[1] == 1 && cell[2] == 0 && cell[3] == 1);
    l.n_columns = 4;
    l.cell = whole;
    lens_grid(&l, true, 2, 2, cell);
    assert_true(cell[0] == 1 + 2 + 5 + 6 && cell[1] == 3 + 4 + 7 + 8);
    assert_true(cell[2] == 9 + 10 + 13 + 14 && cell[3] == 11 + 12 + 15 + 16);
}

/* Five accesses of the run for each touch of the window; a run has no fewer than the window. A line
 * that a prefetcher brings is no access. */
static void windows_are_scaled(void **state)
{
    static const struct { double accesses, scale; } row[] = { { 40, 5 }, { 8, 1 }, { 3, 1 } };
    struct lens_touch brought[COUNT_OF(touch)];
    struct lens l = window;
    (void)state;
    memcpy(brought, touch, sizeof touch);
    brought[1].missed = true;
    l.touch = brought;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct lens_site_count of[3] = { { 0 } };
        double scale = row[i].scale;
        l.accesses = row[i].accesses;
        lens_scale_window(&l, of);
        assert_true(of[0].misses == 2 * scale && of[0].conflict == scale);
        assert_true(of[1].misses == scale && of[1].conflict == scale);
        assert_true(of[2].misses == scale && of[2].conflict == 0);
        l.n_touches = 0;                  /* nothing was touched */
        lens_scale_window(&l, of);
        l.n_touches = COUNT_OF(touch);
        assert_true(of[0].misses == 2 * scale);
        assert_true(of[0].first == 0 && of[1].first == 0 && of[2].first == 0);
    }
}

/* --- How many lines --------------------------------------------------------------------------- */

#define WAY(...) { COUNT_OF(((struct walk_part[]){ __VA_ARGS__ })), { __VA_ARGS__ } }

/* An access of `bytes` bytes, `pieces` times, in K (4 iterations) in M (10 iterations).  k, m: how
 * they move it. */
struct access { int64_t bytes, pieces; struct walk_way k, m; };

static int64_t lines_of(const struct access *x, int32_t most, int around, int64_t n,
                        const int64_t *trips)
{
    const struct walk_way way[] = { x->m, x->k };
    const struct lens_buffer buffer = { .lines = most };
    const struct lens_site site = { .loop = 1, .bytes = x->bytes, .pieces = x->pieces };
    const struct lens l = { .line_bytes = 64, .n_sites = 1, .site = &site, .n_loops = 2,
                            .loop = loops, .way = way, .n_buffers = 1, .buffer = &buffer };
    int64_t lines = lens_lines(&l, 0, around, n, trips);
    assert_int_equal(lens_touched(&l, around, n, trips), lines);
    return lines;
}

static void accesses_touch_lines(void **state)
{
    static const int64_t few[] = { 5, 2 };
    static const struct access one = { 4, 1, WAY({ 64, 4 }), WAY({ 1024, 10 }) };
    static const struct access down = { 4, 1, WAY({ -64, 4 }), WAY({ -1024, 10 }) };
    /* h and kh move it alike: 4 + 10 - 1 steps */
    static const struct access alike = { 4, 1, WAY({ 64, 4 }), WAY({ 64, 10 }) };
    /* its own 100 bytes are joined with those of the next iterations, or lie apart */
    static const struct access joined = { 100, 1, WAY({ 100, 3 }), WAY({ 0, 10 }) };
    static const struct access apart = { 100, 1, WAY({ 101, 3 }), WAY({ 0, 10 }) };
    static const struct access pieces = { 1, 3, WAY({ 4, 4 }), WAY({ 4096, 10 }) };
    /* 16 elements of a line, and then other lines */
    static const struct access folded = { 4, 1, WAY({ 4, 16 }, { 4096, 3 }), WAY({ 0, 10 }) };
    static const struct {
        const struct access *x; int32_t most; int around; int64_t n; const int64_t *trips;
        int64_t want;
    } row[] = {
        { &one, 999, 1, 1, NULL, 1 }, { &one, 999, 1, 3, NULL, 3 }, { &one, 999, 0, 1, NULL, 4 },
        { &one, 999, 0, 2, NULL, 8 }, { &one, 999, -1, 1, NULL, 40 }, { &one, 30, -1, 1, NULL, 30 },
        { &one, 999, -1, 1, few, 10 }, { &one, 999, 0, 3, few, 6 }, { &down, 999, -1, 1, NULL, 40 },
        { &alike, 999, -1, 1, NULL, 13 }, { &joined, 999, 1, 3, NULL, 5 },
        { &apart, 999, 1, 3, NULL, 6 }, { &pieces, 999, 1, 4, NULL, 3 },
        { &pieces, 999, -1, 1, NULL, 30 }, { &folded, 999, 1, 8, NULL, 1 },
        { &folded, 999, 1, 16, NULL, 1 }, { &folded, 999, 1, 17, NULL, 2 },
        { &folded, 999, 1, 48, NULL, 3 }, { &folded, 999, 1, 64, NULL, 4 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        int64_t lines = lines_of(row[i].x, row[i].most, row[i].around, row[i].n, row[i].trips);
        if (lines != row[i].want)
            fail_msg("row %d: %lld lines, not %lld", i, (long long)lines, (long long)row[i].want);
    }
}

/* --- Causes ----------------------------------------------------------------------------------- */

static void kinds_of_misses(void **state)
{
    static const struct { double misses, compulsory, conflict; enum miss_kind want; } row[] = {
        { 10, 6, 0, MISS_COMPULSORY }, { 10, 2, 0, MISS_CAPACITY }, { 10, 2, 5, MISS_CONFLICT },
        { 10, 5, 5, MISS_COMPULSORY }, { 10, 0, 5, MISS_CAPACITY }, { 10, 5, 0, MISS_COMPULSORY },
        { 10, 3, 4, MISS_CONFLICT },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct lens_cause c = { .misses = row[i].misses, .compulsory = row[i].compulsory,
                                .conflict = row[i].conflict };
        assert_int_equal(lens_kind(&c), row[i].want);
    }
}

static void few_accesses_are_blamed(void **state)
{
    static const struct { double misses[4]; int n; } row[] = {
        { { 50, 30, 10, 10 }, 3 }, { { 30, 25, 25, 20 }, 3 }, { { 85, 10, 5, 0 }, 2 },
        { { 81, 9, 5, 5 }, 1 }, { { 0, 0, 0, 0 }, 0 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct lens_cause c[4];
        struct lens l = { .n_sites = 4, .cause = c };
        for (int k = 0; k < 4; k++) {
            c[k] = (struct lens_cause){ .misses = row[i].misses[k] };
            l.all.misses += c[k].misses;
        }
        assert_int_equal(lens_n_culprits(&l), row[i].n);
    }
    assert_int_equal(lens_n_culprits(&(struct lens){ .n_sites = 0 }), 0);
}

/* Four sites of two buffers: 0 and 1 in K in M, where M needs the lines of one K again; 2 in N,
 * which is a nest of its own; 3 in M only.  trips: iterations of K. */
struct scene {
    struct lens l;
    struct lens_loop loop[3];
    struct lens_site site[4];
    struct lens_buffer buffer[2];
    struct walk_way way[4][3];
};

static void scene_open(struct scene *s, int64_t trips)
{
    static const struct walk_way stays = WAY({ 0, 10 });
    memset(s, 0, sizeof *s);
    memcpy(s->loop, loops, sizeof loops);
    s->loop[1].trips = trips;
    for (int i = 0; i < 4; i++)
        s->site[i] = (struct lens_site){ .loop = i < 2 ? 1 : i == 2 ? 2 : 0, .node = i == 2,
                                         .buffer = i == 1, .bytes = 4, .pieces = 1 };
    s->buffer[0] = (struct lens_buffer){ .lines = 40 };
    s->buffer[1] = (struct lens_buffer){ .lines = 100 };
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++)
            s->way[i][k] = stays;
    s->way[0][1] = (struct walk_way)WAY({ 128, trips });
    s->way[1][1] = (struct walk_way)WAY({ 0, trips });
    s->way[1][0] = (struct walk_way)WAY({ 0, 2 }, { -256, 5 });
    s->way[2][2] = (struct walk_way)WAY({ 64, 1 });       /* one iteration moves nothing */
    s->way[3][0] = (struct walk_way)WAY({ 64, 10 });
    s->l = (struct lens){ .arena = arena_new(), .n_sets = 4, .ways = 2, .line_bytes = 64,
                          .n_sites = 4, .site = s->site, .n_loops = 3, .loop = s->loop,
                          .n_buffers = 2, .buffer = s->buffer, .way = s->way[0] };
}

static const struct lens_site_count counts[] = { { 50, 3, 20 }, { 30, 0, 1 }, { 50, 10, 9 },
                                                 { 5, 0, 5 } };

static void assert_cause(const struct lens_cause *c, int site, double misses, double compulsory,
                         double conflict, bool before)
{
    assert_int_equal(c->site, site);
    assert_true(c->misses == misses && c->compulsory == compulsory && c->conflict == conflict);
    assert_int_equal(c->before, before);
}

/* Of equal misses the first site comes first.  Site 2 has another node than site 0 and its buffer;
 * site 3 comes after site 2. */
static void causes_are_sorted(void **state)
{
    struct scene s;
    (void)state;
    scene_open(&s, 8);
    lens_find_causes(&s.l, counts, true);
    assert_cause(&s.l.cause[0], 0, 50, 20, 3, false);
    assert_cause(&s.l.cause[1], 2, 50, 9, 10, true);
    assert_cause(&s.l.cause[2], 1, 30, 1, 0, false);
    assert_cause(&s.l.cause[3], 3, 5, 5, 0, true);
    assert_true(s.l.all.misses == 135 && s.l.all.compulsory == 35 && s.l.all.conflict == 13);
    lens_free(&s.l);
}

/* The first buffer has 60 first touches for sites 0, 2 and 3, the second one more than site 1 has
 * misses. */
static void first_touches_are_shared(void **state)
{
    struct scene s;
    (void)state;
    scene_open(&s, 8);
    s.buffer[0].lines = 60;
    lens_find_causes(&s.l, counts, false);
    assert_cause(&s.l.cause[0], 0, 50, 47, 3, false);     /* 50 less 3 conflicts */
    assert_cause(&s.l.cause[1], 2, 50, 13, 10, true);     /* what is left of 60 */
    assert_cause(&s.l.cause[2], 1, 30, 30, 0, false);
    assert_cause(&s.l.cause[3], 3, 5, 0, 0, true);
    lens_free(&s.l);
}

/* L1 holds 8 lines.  An iteration of M touches a line for each k of the first buffer, and one of
 * the second. */
static void loops_are_blamed(void **state)
{
    (void)state;
    for (int64_t trips = 7; trips <= 8; trips++) {
        struct scene s;
        scene_open(&s, trips);
        lens_find_causes(&s.l, counts, true);
        const struct lens_cause *zero = &s.l.cause[0], *two = &s.l.cause[1];
        const struct lens_cause *one = &s.l.cause[2], *three = &s.l.cause[3];
        assert_true(zero->moves == 1 && zero->stride == 128 && zero->moves_every == 1);
        assert_int_equal(zero->again, trips == 8 ? 0 : -1);
        if (trips == 8)
            assert_true(zero->again_after == 1 && zero->lines == 8 && zero->touched == 9);
        else
            assert_true(zero->lines == 0 && zero->touched == 0);
        /* site 1 stays at its line for two iterations of M, then goes back by 256 bytes */
        if (trips == 7)
            assert_true(one->again < 0 && one->moves == 0 && one->stride == -256
                        && one->moves_every == 2);
        else
            assert_true(one->again == 0 && one->again_after == 1 && one->moves < 0
                        && one->lines == 1 && one->touched == 9);
        assert_true(two->moves < 0 && two->again < 0);
        assert_true(three->moves == 0 && three->stride == 64 && three->again < 0);
        lens_free(&s.l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_have_sets_and_buffers), cmocka_unit_test(lines_come_and_go),
        cmocka_unit_test(conflicts_are_found), cmocka_unit_test(iterations_are_found),
        cmocka_unit_test(touches_are_in_loops), cmocka_unit_test(misses_have_sets_and_times),
        cmocka_unit_test(windows_are_scaled),
        cmocka_unit_test(accesses_touch_lines), cmocka_unit_test(kinds_of_misses),
        cmocka_unit_test(few_accesses_are_blamed), cmocka_unit_test(causes_are_sorted),
        cmocka_unit_test(first_touches_are_shared), cmocka_unit_test(loops_are_blamed),
    };
    return cmocka_run_group_tests_name("lens_parts", tests, NULL, NULL);
}
