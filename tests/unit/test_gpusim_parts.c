/* The simulated caches of a GPU: how much of L1 a kernel leaves, which blocks share one, and by how
 * much addresses move from thread to thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "profile/sim/gpusim.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define ALL UINT32_MAX
#define LINE 128

static const struct gpu_site load = { MEMORY_GLOBAL, false, 0, 0 };

static struct gpusim *open_gpu(const char *text, uint64_t bytes)
{
    struct gpu_device d;
    struct gpusim *s = NULL;
    struct err e;
    if (!gpu_device_parse(text, &d, &e) || !gpusim_open(&d, 1, &load, 0, bytes, &s, &e))
        fail_msg("%s", e.text);
    return s;
}

/* Loads one byte of each of n lines, and returns how many sectors L1 lacked. */
static double misses(struct gpusim *s, int n)
{
    double before = gpusim_traffic(s)->l1_misses;
    for (int i = 0; i < n; i++) {
        unsigned long long addr[GPU_WARP] = { (unsigned long long)i * LINE };
        gpusim_access(s, 0, 1, addr, 0, 1);
    }
    return gpusim_traffic(s)->l1_misses - before;
}

/* L1 and shared memory are one memory of 256 KiB, of which blocks may share 228.  Each block takes
 * its shared memory and 1 KiB of the system.  A multiprocessor holds 64 warps, and 32 blocks. */
static void shared_memory_is_taken_from_l1(void **state)
{
    static const struct { int warps, shared_kib, l1_kib; } t[] = {
        { 8, 0, 256 },
        { 8, 31, 256 - 7 * 32 },          /* 228 / 32 blocks */
        { 32, 31, 256 - 2 * 32 },         /* 64 / 32 blocks */
        { 64, 31, 256 - 32 },
        { 1, 3, 256 - 32 * 4 },           /* no more than 32 blocks */
        { 1, 227, 28 },
        { 1, 240, 28 },                   /* a block that does not fit counts as one */
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++)
        for (int more = 0; more < 2; more++) {
            struct gpusim *s = open_gpu("h100,sms=1,l1=256,l1_ways=4", 1 << 20);
            int n = t[i].l1_kib * 1024 / LINE + more;
            gpusim_kernel(s, t[i].warps, (int64_t)t[i].shared_kib * 1024);
            assert_true(misses(s, n) == n);
            if ((misses(s, n) > 0) != more)
                fail_msg("row %d: %d lines", i, n);
            gpusim_close(s);
        }
}

/* Blocks 0 and 2 run on the first of two multiprocessors. */
static void blocks_of_a_multiprocessor_share_its_l1(void **state)
{
    static const struct { int block; double weight, l1, l2; } t[] = {
        { 0, 1, 1, 1 }, { 2, 1, 0, 0 }, { 1, 2.5, 2.5, 0 }, { 3, 1, 0, 0 }, { 4, 1, 0, 0 },
    };
    struct gpusim *s = open_gpu("h100,sms=2", 1 << 20);
    (void)state;
    gpusim_kernel(s, 1, 0);
    for (int i = 0; i < COUNT_OF(t); i++) {
        double l2 = gpusim_traffic(s)->l2_misses, asked = gpusim_traffic(s)->l1_asked;
        gpusim_block(s, t[i].block, t[i].weight);
        double l1 = misses(s, 1);
        if (l1 != t[i].l1 || gpusim_traffic(s)->l2_misses - l2 != t[i].l2)
            fail_msg("row %d: %g misses of L1", i, l1);
        assert_true(gpusim_traffic(s)->l1_asked - asked == t[i].weight);
    }
    assert_true(gpusim_counts(s)[0].requests == 6.5 && gpusim_counts(s)[0].sectors == 6.5);
    assert_true(gpusim_counts(s)[0].l1_misses == 3.5 && gpusim_counts(s)[0].l2_misses == 1);
    gpusim_close(s);
}

/* An access: the threads below `jump` lie `stride` bytes apart, the others 1000 bytes further. */
struct jump { uint32_t active; int stride, jump; };

static void strides_are_found(void **state)
{
    static const struct { struct jump access[2]; bool seen; int run; int64_t stride; } t[] = {
        { { { ALL, 4, 32 } }, true, GPU_WARP, 4 },
        { { { ALL, 4, 16 } }, true, 16, 4 },
        { { { ALL, 8, 31 } }, true, 31, 8 },
        { { { ALL, 0, 32 } }, true, GPU_WARP, 0 },
        { { { ALL, -4, 32 } }, true, GPU_WARP, -4 },
        { { { 0xff, 4, 32 } }, true, GPU_WARP, 4 },         /* the rest does nothing: no jump */
        { { { 0xffff0000, 4, 24 } }, true, 8, 4 },
        { { { 0x55555555, 4, 32 } }, false, 0, 0 },         /* no two neighbours */
        { { { 0xc0000000, 4, 32 } }, true, GPU_WARP, 4 },
        { { { ALL, 4, 16 }, { ALL, 4, 16 } }, true, 16, 4 },
        { { { ALL, 4, 16 }, { ALL, 4, 8 } }, true, 0, 4 },
        { { { ALL, 4, 16 }, { ALL, 8, 16 } }, true, 0, 8 },
        { { { 0x55555555, 4, 32 }, { ALL, 4, 16 } }, true, 16, 4 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        struct gpusim *s = open_gpu("h100,sms=1", 1 << 20);
        gpusim_kernel(s, 1, 0);
        for (int k = 0; k < 2 && t[i].access[k].active; k++) {
            const struct jump *x = &t[i].access[k];
            unsigned long long addr[GPU_WARP];
            for (int n = 0; n < GPU_WARP; n++)
                addr[n] = (unsigned long long)(4096 + n * x->stride + (n < x->jump ? 0 : 1000));
            gpusim_access(s, 0, x->active, addr, 0, 4);
        }
        const struct gpu_count *c = gpusim_counts(s);
        if (c->seen != t[i].seen || c->run != t[i].run || c->stride != t[i].stride)
            fail_msg("row %d: run %d, stride %lld", i, c->run, (long long)c->stride);
        gpusim_close(s);
    }
}

static void large_buffers_are_refused(void **state)
{
    struct gpusim *s = NULL;
    struct err e = {0};
    (void)state;
    assert_false(gpusim_open(gpu_device_default(), 1, &load, 1 << 20,
                             ((uint64_t)1 << 40) + (1 << 20), &s, &e));
    assert_string_equal(e.text, "the buffers have 1.02e+03 GiB, too much for the simulated caches"
                                " of a GPU");
    assert_int_equal(e.code, ERR_RANGE);
    gpusim_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_memory_is_taken_from_l1),
        cmocka_unit_test(blocks_of_a_multiprocessor_share_its_l1),
        cmocka_unit_test(strides_are_found),
        cmocka_unit_test(large_buffers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
