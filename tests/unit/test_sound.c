/* What the runner left in shared memory is taken over only if it is possible: every count of it, at
 * the greatest value and beside it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "profile/child/child_impl.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define MOST ((int64_t)1 << 50)           /* the greatest count that is taken over */

static void texts_have_no_control_characters(void **state)
{
    char text[] = "\x1f \x1b[2J~\x7f\n\xc3\xa9!", short_text[] = "abcdef";
    (void)state;
    child_clean_text(text, sizeof text);
    assert_string_equal(text, "? ?[2J~??\xc3\xa9!");
    child_clean_text(short_text, 4);
    assert_string_equal(short_text, "abc");
}

static void times_are_positive_and_finite(void **state)
{
    static const struct { double s; bool taken; } t[] = {
        { 0, true }, { 999999999, true }, { 1e9, false }, { -1e-9, false }, { NAN, false },
        { INFINITY, false },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        struct err e = {0};
        const double sample[3] = { 1, 1, t[i].s };
        assert_int_equal(child_samples_sound(sample, 3, &e), t[i].taken);
        assert_true(child_samples_sound(sample, 2, &e));     /* the third is not looked at */
        assert_string_equal(e.text, t[i].taken ? "" : "the kernel overwrote its times");
        assert_int_equal(e.code, t[i].taken ? ERR_NONE : ERR_CRASH);
    }
}

static void counts_are_finite(void **state)
{
    static const double bad[] = { NAN, INFINITY };
    static struct counts sound, c;
    struct err e = {0};
    (void)state;
    memset(&sound, 0, sizeof sound);
    sound.n = COUNTS_MAX;
    memset(&sound.available, 0x40, 1);    /* a byte that is neither false nor true */
    memset(&sound.count[1].scaled, 0x80, 1);
    memset(&sound.count[2].derived, 0x02, 1);
    strcpy(sound.reason, "r\a");
    strcpy(sound.missing, "m\a");
    strcpy(sound.source, "s\a");
    strcpy(sound.count[COUNTS_MAX - 1].name, "n\a");
    strcpy(sound.count[3].unit, "GB");
    c = sound;
    assert_true(child_counts_sound(&c, &e));
    assert_true(c.available == true && c.count[1].scaled == true && c.count[2].derived == true);
    assert_false(c.count[2].scaled || c.count[1].derived);
    assert_string_equal(c.reason, "r?");
    assert_string_equal(c.missing, "m?");
    assert_string_equal(c.source, "s?");
    assert_string_equal(c.count[COUNTS_MAX - 1].name, "n?");
    assert_string_equal(c.count[3].unit, "");
    c.n = COUNTS_MAX + 1;
    assert_false(child_counts_sound(&c, &e));
    c.n = -1;
    assert_false(child_counts_sound(&c, &e));
    for (int i = 0; i < 4; i++) {
        c = sound;
        *(i < 2 ? &c.count[4].value : &c.count[4].running) = bad[i % 2];
        assert_false(child_counts_sound(&c, &e));
    }
    assert_string_equal(e.text, "the kernel overwrote the counts");
    assert_int_equal(e.code, ERR_CRASH);
}

/* --- The simulator ---------------------------------------------------------------------------- */

static const struct trace_use use[] = { { .block = 0, .n = 3 }, { .block = 1, .n = 1 } };
static const struct trace_table table = { .n_sites = 2, .n_uses = 2, .use = use, .n_blocks = 2 };

/* A field of a simulation or a detail that has a count. */
struct field { const char *name; int64_t *at; };

static void check_simulation(const struct simulation *s, const struct field *f, int n)
{
    static const struct { int64_t value; bool taken; } t[] = {
        { 0, true }, { MOST, true }, { MOST + 1, false }, { -1, false },
    };
    for (int i = 0; i < n; i++)
        for (int k = 0; k < COUNT_OF(t); k++) {
            struct err e = {0};
            *f[i].at = t[k].value;
            if (child_simulation_sound(&table, s, &e) != t[k].taken)
                fail_msg("%s: %lld", f[i].name, (long long)t[k].value);
            if (!t[k].taken)
                assert_string_equal(e.text, "the kernel overwrote the simulator's counts");
            *f[i].at = 0;
        }
}

static void simulations_have_possible_counts(void **state)
{
    struct site_count site[2] = { 0 };
    int64_t runs[2] = { 0 };
    struct simulation s = { .count = site, .runs = runs, .fraction = 1 };
    const struct field f[] = {
        { "first site", &site[0].misses[0] }, { "last site", &site[1].misses[CACHE_LEVELS - 1] },
        { "first block", &runs[0] }, { "last block", &runs[1] },
        { "accesses", &s.level[0].accesses }, { "misses", &s.level[0].misses },
        { "writebacks", &s.level[1].writebacks }, { "prefetches", &s.level[1].prefetches },
        { "useful", &s.level[CACHE_LEVELS - 1].useful },
        { "straddled", &s.level[CACHE_LEVELS - 1].straddled },
    };
    static const struct { double fraction, error; bool taken; } t[] = {
        { 0, 0, true }, { 1, 0, true }, { 1.001, 0, false }, { -0.001, 0, false },
        { NAN, 0, false }, { 1, -0.001, false }, { 1, 5, true },
    };
    struct err e;
    (void)state;
    check_simulation(&s, f, COUNT_OF(f));
    for (int i = 0; i < COUNT_OF(t); i++) {
        s.fraction = t[i].fraction;
        s.error = t[i].error;
        assert_int_equal(child_simulation_sound(&table, &s, &e), t[i].taken);
    }
}

/* Each count may be possible and their sum not: 4e18 is about 2^61.8. */
static void sums_of_counts_are_possible(void **state)
{
    static struct trace_use wide[] = { { .block = 0, .n = 1 << 12 }, { .block = 1, .n = 1 << 11 } };
    const struct trace_table large = { .n_uses = 2, .use = wide, .n_blocks = 2 };
    enum { SITES = 4096 / CACHE_LEVELS + 1 };
    const struct trace_table many = { .n_sites = SITES };
    static struct site_count site[SITES];
    int64_t runs[2] = { (int64_t)1 << 49, (int64_t)1 << 49 };
    struct simulation s = { .count = site, .runs = runs, .fraction = 1 };
    struct err e;
    (void)state;
    assert_true(child_simulation_sound(&large, &s, &e));         /* 2^61 + 2^60 */
    wide[1].n = 1 << 12;
    assert_false(child_simulation_sound(&large, &s, &e));        /* 2^62 */
    for (int i = 0; i < SITES; i++)
        for (int k = 0; k < CACHE_LEVELS; k++)
            site[i].misses[k] = MOST / 2;
    assert_true(child_simulation_sound(&many, &s, &e));          /* about 2^61 */
    for (int i = 0; i < SITES; i++)
        for (int k = 0; k < CACHE_LEVELS; k++)
            site[i].misses[k] = MOST;
    assert_false(child_simulation_sound(&many, &s, &e));         /* about 2^62 */
}

/* --- Its detail ------------------------------------------------------------------------------- */

static struct sim_detail asked, d;

/* A detail that is taken over: everything that is counted is there, and is 0. */
static void fill_detail(void)
{
    asked = (struct sim_detail){ .n_tensors = 2, .n_loops = 2 };
    asked.tensor[0].bytes = 100;
    asked.tensor[1].bytes = 200;
    strcpy(asked.loop[0].axes, "I");
    strcpy(asked.loop[1].axes, "J K");
    d = (struct sim_detail){ .n_tensors = 2, .n_loops = 2, .n_sets = SIM_CELLS,
                             .n_set_cells = SIM_CELLS, .n_moments = SIM_CELLS };
    d.tensor[0].n_cells = d.tensor[1].n_cells = SIM_CELLS;
    strcpy(d.loop[1].axes, "lie");
    d.tensor[1].bytes = -7;
}

static bool taken(void)
{
    struct err e = {0};
    bool ok = child_detail_sound(&d, &asked, &e);
    assert_string_equal(e.text, ok ? "" : "the kernel overwrote the simulator's detail");
    return ok;
}

static void check_detail(const struct field *f, int n, int64_t most)
{
    for (int i = 0; i < n; i++) {
        const int64_t value[] = { most, most + 1, -1 };
        for (int k = 0; k < COUNT_OF(value); k++) {
            fill_detail();
            *f[i].at = value[k];
            if (taken() != (k == 0))
                fail_msg("%s: %lld", f[i].name, (long long)value[k]);
        }
    }
}

static void details_have_possible_counts(void **state)
{
    const struct field f[] = {
        { "compulsory", &d.classes.compulsory }, { "capacity", &d.classes.capacity },
        { "conflict", &d.classes.conflict }, { "first", &d.reuse.first },
        { "nearest", &d.reuse.bucket[0] }, { "farthest", &d.reuse.bucket[SIM_REUSE_BUCKETS - 1] },
        { "compulsory of a tensor", &d.tensor[1].classes.compulsory },
        { "capacity of a tensor", &d.tensor[0].classes.capacity },
        { "conflict of a tensor", &d.tensor[1].classes.conflict },
        { "first of a tensor", &d.tensor[0].reuse.first },
        { "bucket of a tensor", &d.tensor[1].reuse.bucket[SIM_REUSE_BUCKETS - 1] },
        { "heat", &d.tensor[0].cell[0].accesses },
        { "misses", &d.tensor[1].cell[SIM_CELLS - 1].misses },
        { "set", &d.set[0].accesses }, { "misses of a set", &d.set[SIM_CELLS - 1].misses },
        { "first iteration", &d.moment[0].first }, { "iterations", &d.moment[SIM_CELLS - 1].n },
        { "accesses of a moment", &d.moment[1].accesses },
        { "misses of a moment", &d.moment[SIM_CELLS - 1].misses },
        { "iterations of a loop", &d.loop[1].iterations },
        { "of the first", &d.loop[0].iterations },
    };
    const struct field lines = { "lines of a cell", &d.tensor[1].cell_lines };
    const struct field sets = { "sets", &d.n_sets };
    (void)state;
    check_detail(f, COUNT_OF(f), MOST);
    check_detail(&lines, 1, MOST / SIM_CELLS);
    check_detail(&sets, 1, MOST);
}

/* Numbers of entries, at the most and beyond. */
static void details_have_room(void **state)
{
    int *const number[] = { &d.n_moments, &d.n_set_cells, &d.tensor[0].n_cells,
                            &d.tensor[1].n_cells };
    (void)state;
    for (int i = 0; i < COUNT_OF(number); i++)
        for (int k = 0; k < 4; k++) {
            const int value[] = { 0, SIM_CELLS, SIM_CELLS + 1, -1 };
            fill_detail();
            d.n_sets = 2 * SIM_CELLS;
            *number[i] = value[k];
            assert_int_equal(taken(), k < 2);
        }
    fill_detail();
    d.n_sets = SIM_CELLS - 1;             /* fewer than its cells */
    assert_false(taken());
    for (int loop = -1; loop <= 2; loop++) {
        fill_detail();
        d.moment[SIM_CELLS - 1].loop = loop;
        assert_int_equal(taken(), loop == 0 || loop == 1);
    }
}

/* What was asked for is not taken from the runner. */
static void details_are_what_was_asked_for(void **state)
{
    (void)state;
    fill_detail();
    assert_true(taken());
    assert_string_equal(d.loop[0].axes, "I");
    assert_string_equal(d.loop[1].axes, "J K");
    assert_true(d.tensor[0].bytes == 100 && d.tensor[1].bytes == 200);
    d.n_tensors = 1;
    assert_false(taken());
    fill_detail();
    d.n_loops = 0;
    assert_false(taken());
    fill_detail();
    d = (struct sim_detail){ .n_tensors = 2 };
    strcpy(d.reason, "too\tmany");        /* without a detail no loop was counted */
    assert_true(taken());
    assert_int_equal(d.n_loops, 2);
    assert_string_equal(d.reason, "too?many");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_have_no_control_characters),
        cmocka_unit_test(times_are_positive_and_finite),
        cmocka_unit_test(counts_are_finite),
        cmocka_unit_test(simulations_have_possible_counts),
        cmocka_unit_test(sums_of_counts_are_possible),
        cmocka_unit_test(details_have_possible_counts),
        cmocka_unit_test(details_have_room),
        cmocka_unit_test(details_are_what_was_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
