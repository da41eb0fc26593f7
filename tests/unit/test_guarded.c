/* The buffers of the runner between their guard pages, without a runner; and which numbers the
 * parent takes from memory that a kernel could have overwritten. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/arena.h"
#include "profile/child/child_impl.h"
#include "profile/child/guarded.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* --- Buffers ---------------------------------------------------------------------------------- */

/* A (100 bytes) is only read; B, 96 bytes less than a page, is a result; C has two pages. */
enum { A, B, C, N };
static struct shared *sh;
static struct guarded *g;
static size_t page, size[N];
static unsigned char *copy[N];            /* in the file */

static void fill(int i, int from)
{
    for (size_t k = 0; k < size[i]; k++)
        copy[i][k] = (unsigned char)(from + (int)k % 100);
}

static int set_up(void **state)
{
    struct err e;
    (void)state;
    page = (size_t)sysconf(_SC_PAGESIZE);
    size[A] = 100;
    size[B] = page - 96;
    size[C] = 2 * page;
    sh = xcalloc(1, sizeof *sh + N * sizeof(struct shared_buffer) + 4 * page);
    sh->n_buffers = N;
    sh->buffer_at = sizeof *sh;
    int64_t at = sh->buffer_at + N * (int64_t)sizeof(struct shared_buffer);
    for (int i = 0; i < N; i++, at += (int64_t)size[i - 1]) {
        shared_buffers(sh)[i] = (struct shared_buffer){ at, (int64_t)size[i], i != A, i == B };
        copy[i] = (unsigned char *)sh + at;
        fill(i, i + 1);
    }
    return guarded_open(sh, &g, &e) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    guarded_close(g);
    guarded_close(NULL);
    free(sh);
    return 0;
}

static unsigned char *data(int i)
{
    return guarded_data(g)[i];
}

static void place(bool at_end)
{
    struct err e;
    if (!guarded_place(g, 0, N, at_end, &e))
        fail_msg("%s", e.text);
}

/* At the end: the next multiple of 64 bytes that leaves room for the data. */
static void buffers_are_placed(void **state)
{
    (void)state;
    place(false);
    assert_true(guarded_in_place(g, 0, N));
    for (int i = 0; i < N; i++) {
        assert_int_equal((uintptr_t)data(i) % page, 0);
        assert_memory_equal(data(i), copy[i], size[i]);
    }
    assert_memory_equal(data(A) + size[A], "\xfd\x7f\xfd\x7f", 4);
    assert_memory_equal(data(A) + page - 4, "\xfd\x7f\xfd\x7f", 4);
    copy[A][0] = 77;                      /* one that is only read keeps what it got */
    copy[C][0] = 78;
    place(false);
    assert_int_equal(data(A)[0], 1);
    assert_int_equal(data(C)[0], 78);
    place(true);
    assert_false(guarded_in_place(g, 0, N) || guarded_in_place(g, A, 1));
    assert_true(guarded_in_place(g, C, 1));              /* its pages are full */
    assert_int_equal((uintptr_t)data(A) % page, page - 128);
    assert_int_equal((uintptr_t)data(B) % page, 64);
    assert_int_equal(data(A)[0], 77);
    for (int i = 0; i < N; i++)
        assert_memory_equal(data(i), copy[i], size[i]);
    assert_memory_equal(data(B) - 64, "\xfd\x7f\xfd\x7f", 4);
    assert_memory_equal(data(B) - 4, "\xfd\x7f\xfd\x7f", 4);
    assert_true(guarded_whole(g, &(struct fault){0}));
    int64_t bytes = 0, huge = 1;
    guarded_pages(g, &bytes, &huge);
    assert_int_equal(bytes, 4 * page);
    assert_int_equal(huge, 0);
#if defined __x86_64__
    assert_true(guarded_flush(g, 0, N));
#endif
}

/* from, bytes: what is overwritten, relative to the start (before) or the end of B. */
static void damage_is_found(void **state)
{
    static const struct { enum fault_where where; int from, bytes; int64_t distance; } row[] = {
        { FAULT_BEHIND, 0, 4, 0 }, { FAULT_BEHIND, 4, 4, 4 }, { FAULT_BEHIND, 6, 2, 6 },
        { FAULT_BEHIND, 30, 2, 30 }, { FAULT_BEFORE, -8, 4, 8 }, { FAULT_BEFORE, -6, 2, 6 },
        { FAULT_BEFORE, -4, 2, 4 }, { FAULT_BEFORE, -2, 2, 2 }, { FAULT_BEFORE, -4, 4, 4 },
        { FAULT_BEFORE, -64, 2, 64 }, { FAULT_BEFORE, -64, 64, 4 },
    };
    struct fault f;
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        place(true);
        memset(data(B) + (row[i].where == FAULT_BEHIND ? size[B] : 0) + row[i].from, 5,
               (size_t)row[i].bytes);
        f = (struct fault){ .signal = 9 };
        if (guarded_whole(g, &f) || f.where != (int)row[i].where || f.buffer != B
            || f.distance != row[i].distance || f.access != ACCESS_WRITE || f.signal != 0)
            fail_msg("row %d: %d, %d, %lld", i, f.where, f.buffer, (long long)f.distance);
    }
    place(true);
    memset(data(B) - 8, 5, 4);                           /* behind comes before before */
    memset(data(B) + size[B] + 4, 5, 4);
    assert_false(guarded_whole(g, &f));
    assert_true(f.where == FAULT_BEHIND && f.distance == 4);
    place(false);                                        /* now 96 bytes are behind */
    memset(data(B) + page - 2, 5, 2);
    assert_false(guarded_whole(g, &f));
    assert_int_equal(f.distance, 94);
    place(false);
    assert_true(guarded_whole(g, &f));
}

static void results_go_back_to_the_file(void **state)
{
    (void)state;
    place(false);
    assert_true(guarded_same(g, 0, N));
    data(C)[9] ^= 1;                                     /* not compared: no result */
    assert_true(guarded_same(g, 0, N));
    data(B)[size[B] - 1] ^= 1;
    assert_false(guarded_same(g, 0, N));
    assert_true(guarded_same(g, A, 1) && guarded_same(g, C, 1));
    copy[A][5] = 99;
    guarded_collect(g, B, 1);
    assert_memory_equal(copy[B], data(B), size[B]);
    assert_int_not_equal(copy[C][9], data(C)[9]);
    assert_true(guarded_same(g, 0, N));
    guarded_collect(g, 0, N);
    assert_memory_equal(copy[C], data(C), size[C]);
    assert_int_equal(copy[A][5], 99);
}

static int changed_words(int i, uint32_t to)
{
    int n = 0;
    for (size_t k = 0; k + 4 <= size[i]; k += 4) {
        uint32_t now, was;
        memcpy(&now, data(i) + k, 4);
        memcpy(&was, copy[i] + k, 4);
        if (now != was && now != to)
            fail_msg("buffer %d, byte %zu: %x", i, k, now);
        n += now != was;
    }
    return n;
}

static void poison_is_all_or_a_little(void **state)
{
    static const uint32_t poison = BUFFER_POISON;
    struct rng few = rng_seed(3);
    (void)state;
    place(false);
    guarded_poison(g, 0, N, NULL);
    assert_int_equal(changed_words(A, 0), 0);
    assert_int_equal(changed_words(B, poison), (int)size[B] / 4);
    assert_int_equal(changed_words(C, poison), (int)size[C] / 4);
    place(false);
    guarded_poison(g, B, 1, NULL);
    assert_int_equal(changed_words(C, poison), 0);
    for (size_t k = 0; k < size[C]; k += 4)              /* the kernel never writes C */
        memcpy(copy[C] + k, &poison, 4);
    place(false);
    memcpy(data(C), "\1\2\3\4", 4);
    for (int i = 0; i < 20; i++)
        guarded_poison(g, 0, N, &few);
    assert_int_equal(changed_words(A, 0), 0);
    assert_in_range(changed_words(B, poison), 64, 20 * 64);
    assert_memory_equal(data(C), "\1\2\3\4", 4);
    place(false);
    guarded_poison(g, B, 1, &few);
    assert_in_range(changed_words(B, poison), 32, 64);
}

/* A dropped buffer is filled again; one that moves stays in its 16 MiB. */
static void dropped_buffers_move(void **state)
{
    struct rng move = rng_seed(1);
    struct err e;
    uintptr_t first[N];
    int moved = 0;
    (void)state;
    place(false);
    for (int i = 0; i < N; i++)
        first[i] = (uintptr_t)data(i);
    assert_true(guarded_drop(g, 0, N, NULL, &e));
    assert_false(guarded_in_place(g, 0, N));
    assert_true(guarded_whole(g, &(struct fault){0}));   /* there is nothing to be damaged */
    copy[A][0] = 44;
    place(false);
    assert_int_equal(data(A)[0], 44);
    for (int i = 0; i < N; i++)
        assert_int_equal((uintptr_t)data(i), first[i]);
    for (int round = 0; round < 10; round++) {
        assert_true(guarded_drop(g, 0, N, &move, &e));
        place(false);
        for (int i = 0; i < N; i++) {
            assert_in_range((uintptr_t)data(i) - first[i], 0, 4 << 20);
            moved += (uintptr_t)data(i) != first[i];
            assert_memory_equal(data(i), copy[i], size[i]);
        }
    }
    assert_in_range(moved, 20, 30);
}

static void other_buffers_of_the_same_pages_fit(void **state)
{
    (void)state;
    struct shared_buffer *listed = shared_buffers(sh);
    place(false);
    listed[C].bytes = (int64_t)page + 8;
    listed[C].written = 0;
    assert_true(guarded_reopen(g, sh));
    assert_false(guarded_in_place(g, 0, N));
    place(true);
    assert_int_equal((uintptr_t)data(C) % page, (page - 8) / 64 * 64);
    assert_memory_equal(data(C), copy[C], page + 8);
    listed[C].bytes = (int64_t)page;
    assert_false(guarded_reopen(g, sh));
    listed[C].bytes = (int64_t)(2 * page) + 1;
    assert_false(guarded_reopen(g, sh));
    listed[C].bytes = (int64_t)(2 * page);
    sh->n_buffers = N - 1;
    assert_false(guarded_reopen(g, sh));
    sh->n_buffers = N;
    assert_true(guarded_reopen(g, sh));
}

static void located(uint64_t address, enum fault_where where, int buffer, int64_t distance)
{
    struct fault f = { .buffer = -1, .distance = -1 };
    guarded_locate(g, address, &f);
    if (f.where != (int)where || f.buffer != buffer || f.distance != distance)
        fail_msg("%llx: %d, %d, %lld", (unsigned long long)address, f.where, f.buffer,
                 (long long)f.distance);
}

static void addresses_are_near_a_buffer(void **state)
{
    (void)state;
    place(false);
    uint64_t b = (uint64_t)(uintptr_t)data(B), a = (uint64_t)(uintptr_t)data(A);
    located(0, FAULT_NULL, -1, -1);
    located(65535, FAULT_NULL, -1, -1);
    located(65536, FAULT_ELSEWHERE, -1, -1);
    located(UINT64_MAX, FAULT_ELSEWHERE, -1, -1);
    located(b, FAULT_INSIDE, B, 0);
    located(b + 17, FAULT_INSIDE, B, 17);
    located(b + size[B] - 1, FAULT_INSIDE, B, (int64_t)size[B] - 1);
    located(b + size[B], FAULT_BEHIND, B, 0);
    located(b + size[B] + 40, FAULT_BEHIND, B, 40);
    located(b - 1, FAULT_BEFORE, B, 1);
    located(a + size[A] + 1000, FAULT_BEHIND, A, 1000);
    located(a - 5000, FAULT_BEFORE, A, 5000);
}

/* --- What the parent takes -------------------------------------------------------------------- */

static void texts_have_no_controls(void **state)
{
    char text[] = "a\x1b\x7f\tb\xc3\xa4\nend";
    struct err e;
    (void)state;
    child_clean_text(text, sizeof text - 1);             /* which cuts the last letter */
    assert_string_equal(text, "a???b\xc3\xa4?en");
    assert_false(child_overwritten("its times", &e));
    assert_int_equal(e.code, ERR_CRASH);
    assert_string_equal(e.text, "the kernel overwrote its times");
}

static void samples_are_times(void **state)
{
    static const double good[] = { 0, 1e-9, 999999999 };
    static const double bad[] = { -1e-9, 1e9, NAN, INFINITY };
    struct err e;
    (void)state;
    assert_true(child_samples_sound(good, COUNT_OF(good), &e));
    for (int i = 0; i < COUNT_OF(bad); i++) {
        double sample[] = { 1, bad[i] };
        assert_true(child_samples_sound(sample, 1, &e));
        assert_false(child_samples_sound(sample, 2, &e));
        assert_string_equal(e.text, "the kernel overwrote its times");
    }
}

static void counts_are_numbers(void **state)
{
    struct counts c = { .n = 2, .count = { { .name = "a\n", .unit = "x", .value = 3 } } };
    struct err e;
    (void)state;
    memset(&c.available, 7, 1);
    memset(&c.count[1].scaled, 2, 1);
    memset(&c.count[1].derived, 4, 1);
    strcpy(c.reason, "\r");
    strcpy(c.missing, "\r");
    strcpy(c.source, "\r");
    assert_true(child_counts_sound(&c, &e));
    assert_memory_equal(&c.available, "\1", 1);
    assert_memory_equal(&c.count[1].scaled, "\1", 1);
    assert_memory_equal(&c.count[1].derived, "\1", 1);
    assert_false(c.count[0].scaled || c.count[0].derived);
    assert_string_equal(c.count[0].name, "a?");
    assert_string_equal(c.count[0].unit, "");
    assert_true(streq(c.reason, "?") && streq(c.missing, "?") && streq(c.source, "?"));
    c.n = COUNTS_MAX;
    assert_true(child_counts_sound(&c, &e));
    c.count[COUNTS_MAX - 1].value = NAN;
    assert_false(child_counts_sound(&c, &e));
    assert_string_equal(e.text, "the kernel overwrote the counts");
    c.count[COUNTS_MAX - 1].value = 0;
    c.count[1].running = INFINITY;
    assert_false(child_counts_sound(&c, &e));
    c.count[1].running = 0;
    c.n = COUNTS_MAX + 1;
    assert_false(child_counts_sound(&c, &e));
    assert_string_equal(e.text, "the kernel overwrote the counts");
    c.n = -1;
    assert_false(child_counts_sound(&c, &e));
}

#define MOST ((int64_t)1 << 50)

/* Up to 2^50 of anything; and sums that an int64_t holds. */
static void simulated_counts_are_possible(void **state)
{
    enum { SITES = 1200 };
    static struct site_count count[SITES];
    static int64_t runs[2];
    struct trace_use use[] = { { .block = 1, .n = 3000 } };
    struct trace_table t = { .n_sites = 2, .n_blocks = 2, .n_uses = 1, .use = use };
    struct simulation s = { .count = count, .runs = runs, .fraction = 1 };
    int64_t *const field[] = {
        &count[0].misses[0], &count[1].misses[CACHE_LEVELS - 1], &runs[0], &runs[1],
        &s.level[0].accesses, &s.level[0].misses, &s.level[0].writebacks, &s.level[0].prefetches,
        &s.level[0].useful, &s.level[0].straddled, &s.level[CACHE_LEVELS - 1].misses,
    };
    struct err e;
    (void)state;
    for (int i = 0; i < COUNT_OF(field); i++) {
        *field[i] = MOST;
        assert_true(child_simulation_sound(&t, &s, &e));
        *field[i] = MOST + 1;
        if (child_simulation_sound(&t, &s, &e))
            fail_msg("field %d is too large", i);
        assert_string_equal(e.text, "the kernel overwrote the simulator's counts");
        *field[i] = -1;
        if (child_simulation_sound(&t, &s, &e))
            fail_msg("field %d is negative", i);
        *field[i] = 0;
    }
    static const struct { double fraction, error; bool sound; } share[] = {
        { 0, 0, true }, { 1, 0.1, true }, { 1.01, 0, false }, { -0.01, 0, false },
        { NAN, 0, false }, { 0.5, -0.1, false }, { 0.5, NAN, true },
    };
    for (int i = 0; i < COUNT_OF(share); i++) {
        s.fraction = share[i].fraction;
        s.error = share[i].error;
        assert_int_equal(child_simulation_sound(&t, &s, &e), share[i].sound);
    }
    s.error = 0;
    runs[1] = MOST;                                      /* 3.4e18 of 4e18 */
    assert_true(child_simulation_sound(&t, &s, &e));
    use[0].n = 4000;
    assert_false(child_simulation_sound(&t, &s, &e));
    use[0].n = 0;
    for (int i = 0; i < SITES; i++)
        count[i] = (struct site_count){ { MOST, MOST, MOST } };
    t.n_sites = 1000;                                    /* 3.4e18 again */
    assert_true(child_simulation_sound(&t, &s, &e));
    t.n_sites = SITES;
    assert_false(child_simulation_sound(&t, &s, &e));
}

static struct sim_detail d, asked;

static void fresh_detail(void)
{
    d = (struct sim_detail){ .n_tensors = 2, .n_loops = 2, .n_moments = 1, .n_sets = 64,
                             .n_set_cells = 64 };
    asked = (struct sim_detail){ .n_tensors = 2, .n_loops = 2 };
    strcpy(asked.loop[1].axes, "M K");
    asked.tensor[1].bytes = 4096;
}

static void details_are_possible(void **state)
{
    int64_t *const field[] = {
        &d.classes.compulsory, &d.classes.capacity, &d.classes.conflict, &d.reuse.first,
        &d.reuse.bucket[0], &d.reuse.bucket[SIM_REUSE_BUCKETS - 1], &d.tensor[0].classes.capacity,
        &d.tensor[1].reuse.first, &d.tensor[1].cell[3].accesses, &d.tensor[1].cell[0].misses,
        &d.set[63].accesses, &d.set[0].misses, &d.moment[0].first, &d.moment[0].n,
        &d.moment[0].accesses, &d.moment[0].misses, &d.loop[1].iterations,
    };
    struct err e;
    (void)state;
    for (int i = 0; i < COUNT_OF(field); i++)
        for (int k = 0; k < 3; k++) {
            fresh_detail();
            d.tensor[1].n_cells = 4;
            *field[i] = k == 0 ? MOST : k == 1 ? MOST + 1 : -1;
            if (child_detail_sound(&d, &asked, &e) != (k == 0))
                fail_msg("field %d is %lld", i, (long long)*field[i]);
            if (k > 0)
                assert_string_equal(e.text, "the kernel overwrote the simulator's detail");
        }
    fresh_detail();
    d.tensor[0].cell_lines = MOST / SIM_CELLS;
    d.tensor[0].bytes = d.tensor[1].bytes = 1;
    strcpy(d.loop[1].axes, "liar");
    strcpy(d.reason, "a\n");
    assert_true(child_detail_sound(&d, &asked, &e));
    assert_string_equal(d.reason, "a?");
    assert_string_equal(d.loop[1].axes, "M K");
    assert_true(d.tensor[0].bytes == 0 && d.tensor[1].bytes == 4096);
    d.tensor[0].cell_lines++;
    assert_false(child_detail_sound(&d, &asked, &e));
}

static void numbers_of_parts_have_limits(void **state)
{
    int *const number[] = { &d.n_moments, &d.n_set_cells, &d.tensor[1].n_cells, &d.moment[0].loop,
                            &d.n_tensors, &d.n_loops };
    static const struct { int which, value; bool sound; } row[] = {
        { 0, 0, true }, { 0, SIM_CELLS, true }, { 0, SIM_CELLS + 1, false }, { 0, -1, false },
        { 1, SIM_CELLS, true }, { 1, SIM_CELLS + 1, false }, { 1, -1, false },
        { 2, SIM_CELLS, true }, { 2, SIM_CELLS + 1, false }, { 2, -1, false },
        { 3, 1, true }, { 3, 2, false }, { 3, -1, false },
        { 4, 1, false }, { 4, 3, false }, { 5, 1, false }, { 5, 3, false },
    };
    struct err e;
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        fresh_detail();
        d.n_sets = 1000;
        *number[row[i].which] = row[i].value;
        if (child_detail_sound(&d, &asked, &e) != row[i].sound)
            fail_msg("row %d", i);
    }
    fresh_detail();
    d.n_sets = 63;                                       /* fewer sets than parts of them */
    assert_false(child_detail_sound(&d, &asked, &e));
    fresh_detail();
    d.n_sets = MOST + 1;
    assert_false(child_detail_sound(&d, &asked, &e));
    fresh_detail();
    d.n_loops = 0;                                       /* where a reason stands instead */
    strcpy(d.reason, "too many");
    assert_true(child_detail_sound(&d, &asked, &e));
    assert_int_equal(d.n_loops, 2);
}

int main(void)
{
#define BUFFERS(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        BUFFERS(buffers_are_placed), BUFFERS(damage_is_found),
        BUFFERS(results_go_back_to_the_file), BUFFERS(poison_is_all_or_a_little),
        BUFFERS(dropped_buffers_move), BUFFERS(other_buffers_of_the_same_pages_fit),
        BUFFERS(addresses_are_near_a_buffer),
        cmocka_unit_test(texts_have_no_controls), cmocka_unit_test(samples_are_times),
        cmocka_unit_test(counts_are_numbers), cmocka_unit_test(simulated_counts_are_possible),
        cmocka_unit_test(details_are_possible), cmocka_unit_test(numbers_of_parts_have_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
