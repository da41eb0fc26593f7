/* Caches as text: geometries, levels, options, presets. */
#include <stdio.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "profile/sim/cache_config.h"
#include "profile/sim/gpu_device.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

struct geometry_row { const char *text; int64_t size; int ways, line; const char *print; };

static void geometry_parses(void **state)
{
    static const struct geometry_row good[] = {
        { "32K/8/64", 32768, 8, 64, "32K/8/64" }, { "48k/12/64", 49152, 12, 64, "48K/12/64" },
        { "1M/16/128", 1 << 20, 16, 128, "1M/16/128" },
        { "2G/16/64", 2147483648, 16, 64, "2G/16/64" },
        { "65536/4/64", 65536, 4, 64, "64K/4/64" }, { "1536/3/32", 1536, 3, 32, "1536/3/32" },
        { "1024K/8/64", 1 << 20, 8, 64, "1M/8/64" },
    };
    static const struct { const char *text; enum err_code code; } bad[] = {
        { "", ERR_SYNTAX }, { "32K", ERR_SYNTAX }, { "32K/8", ERR_SYNTAX },
        { "32K/8/64/1", ERR_SYNTAX },
        { "32K/8/64 ", ERR_SYNTAX }, { "K/8/64", ERR_SYNTAX }, { "-1/8/64", ERR_SYNTAX },
        { "32K/8K/64", ERR_SYNTAX }, { "32Q/8/64", ERR_SYNTAX }, { "32K//64", ERR_SYNTAX },
        { "99999999999999999999/8/64", ERR_SYNTAX }, { "9999999999G/8/64", ERR_SYNTAX },
        { "32K/99999999999/64", ERR_SYNTAX }, { "32K/0/64", ERR_RANGE }, { "0/8/64", ERR_RANGE },
        { "32K/8/48", ERR_RANGE }, { "32K/8/2", ERR_RANGE }, { "32K/8/8192", ERR_RANGE },
        { "33000/8/64", ERR_RANGE }, { "32K/2147483647/64", ERR_RANGE }, { "64G/16/64", ERR_RANGE },
    };
    struct err e;
    (void)state;
    for (int i = 0; i < COUNT_OF(good); i++) {
        struct cache_geometry g;
        struct str s = {0};
        assert_true(cache_geometry_parse(good[i].text, &g, &e));
        assert_int_equal(g.size_bytes, good[i].size);
        assert_int_equal(g.ways, good[i].ways);
        assert_int_equal(g.line_bytes, good[i].line);
        cache_geometry_print(&s, &g);
        assert_string_equal(str_text(&s), good[i].print);
        str_free(&s);
    }
    for (int i = 0; i < COUNT_OF(bad); i++) {
        struct cache_geometry g = { 1, 2, 3 };
        if (cache_geometry_parse(bad[i].text, &g, &e) || e.code != bad[i].code)
            fail_msg("\"%s\" was not refused as %s", bad[i].text, err_name(bad[i].code));
        assert_true(e.text[0]);
        assert_int_equal(g.size_bytes, 1);
    }
}

/* --- Whole caches ----------------------------------------------------------------------------- */

static void configs_print_canonically(void **state)
{
    static const char *const table[][2] = {                /* typed, printed */
        { "32K/8/64", "32K/8/64" },
        { "32768/8/64,1024k/16/64", "32K/8/64,1M/16/64" },
        { "32K/8/64/lru", "32K/8/64" },
        { "32K/8/64/PLRU,1M/16/64/inclusive/random", "32K/8/64/plru,1M/16/64/random/inclusive" },
        { "32K/8/64,replace=plru", "32K/8/64/plru" },
        { "32K/8/64,prefetch=next", "32K/8/64,prefetch=next" },
        { "32K/8/64,prefetch=lines:4", "32K/8/64,prefetch=lines:4" },
        { "32K/8/64,prefetch=stride", "32K/8/64,prefetch=stride:1:2" },
        { "32K/8/64,prefetch=stride:3", "32K/8/64,prefetch=stride:3:2" },
        { "32K/8/64,prefetch=stride:3:1", "32K/8/64,prefetch=stride:3:1" },
        { "32K/8/64,prefetch=none,seed=7", "32K/8/64,seed=7" },
        { "host", "host" },
        { "host,levels=1", "host,levels=1" },
        { "host,replace=random,prefetch=next", "host,replace=random,prefetch=next" },
        { "cortex-a76", "64K/4/64,512K/8/64,4M/16/64,prefetch=lines:4" },
        { "Cortex-A76,prefetch=none,levels=1", "64K/4/64" },
        { "zen3", "32K/8/64,512K/8/64/inclusive,32M/16/64" },
        { "xeon-6248", "32K/8/64,1M/16/64,28160K/11/64" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct cache_config c, again;
        struct str text = {0};
        struct err e;
        if (!cache_config_parse(table[i][0], &c, &e))
            fail_msg("%s: %s", table[i][0], e.text);
        cache_config_print(&text, &c);
        assert_string_equal(str_text(&text), table[i][1]);
        assert_true(cache_config_parse(str_text(&text), &again, &e));
        assert_memory_equal(&c, &again, sizeof c);
        str_free(&text);
    }
}

static void wrong_configs_say_where(void **state)
{
    static const struct {
        const char *text; int col; enum err_code code; const char *fix;
    } bad[] = {
        { "", 1, ERR_SYNTAX, "32K/8/64" },
        { "zen4", 1, ERR_NAME, "zen3" },
        { "nonsense", 1, ERR_NAME, "cortex-a76" },
        { "32K/8", 1, ERR_SYNTAX, "32K/8/64" },
        { "32K/8/64,1M/16", 10, ERR_SYNTAX, "1M/16/64" },
        { "32K/8/64,,", 10, ERR_SYNTAX, "SIZE/WAYS/LINE" },
        { "32K/8/64,zen3", 10, ERR_SYNTAX, "SIZE/WAYS/LINE" },
        { "zen3,32K/8/64", 6, ERR_SYNTAX, "levels first" },
        { "32K/8/64,prefetch=next,1M/16/64", 24, ERR_SYNTAX, "levels first" },
        { "1K/8/64,1K/8/64,1K/8/64,1K/8/64", 25, ERR_RANGE, "three" },
        { "32K/8/64/mru", 1, ERR_SYNTAX, "plru" },
        { "32K/8/64x", 1, ERR_SYNTAX, "32K/8/64" },
        { "32K/8/48", 1, ERR_RANGE, "" },
        { "32K/8/64,prefetch=", 10, ERR_SYNTAX, "stride" },
        { "32K/8/64,prefetch=lines", 10, ERR_SYNTAX, "lines:N" },
        { "32K/8/64,prefetch=lines:1", 10, ERR_SYNTAX, "lines:N" },
        { "32K/8/64,prefetch=stride:3:0", 10, ERR_SYNTAX, "stride" },
        { "32K/8/64,prefetch=next:2", 10, ERR_SYNTAX, "next" },
        { "32K/8/64,replace=fifo", 10, ERR_SYNTAX, "plru" },
        { "32K/8/64,levels=2", 10, ERR_RANGE, "levels=" },
        { "32K/8/64,seed=x", 10, ERR_RANGE, "seed" },
        { "32K/8/64,ways=4", 10, ERR_NAME, "prefetch" },
        { "48K/12/64/plru", 0, ERR_RANGE, "lru" },
        { "512K/128/64/plru", 0, ERR_RANGE, "lru" },
        { "32K/8/64,1M/16/128", 0, ERR_RANGE, "" },
        { "32K/8/64,16K/8/64/inclusive", 0, ERR_RANGE, "" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(bad); i++) {
        struct cache_config c = { .seed = 99 };
        struct err e = {0};
        if (cache_config_parse(bad[i].text, &c, &e) || e.code != bad[i].code)
            fail_msg("\"%s\" was not refused as %s", bad[i].text, err_name(bad[i].code));
        assert_int_equal(c.seed, 99);
        if (e.at.col != bad[i].col || !strstr(e.fix, bad[i].fix))
            fail_msg("\"%s\": column %d, fix \"%s\"", bad[i].text, e.at.col, e.fix);
    }
}

static void host_levels_stand_in(void **state)
{
    struct cache_geometry l1 = { 48 << 10, 12, 64 }, l2 = { 2 << 20, 16, 64 }, none = {0};
    struct cache_config c, on;
    struct err e;
    (void)state;
    assert_true(cache_config_parse("host,replace=random", &c, &e));
    on = cache_config_on(&c, &l1, &l2, &none);
    assert_int_equal(on.n_levels, 2);
    assert_int_equal(on.level[1].geometry.size_bytes, 2 << 20);
    assert_int_equal(on.level[1].replace, REPLACE_RANDOM);
    assert_true(cache_config_parse("host,levels=1", &c, &e));
    on = cache_config_on(&c, &l1, &l2, &none);
    assert_int_equal(on.n_levels, 1);
    assert_true(cache_config_check(&on, &e));
    assert_true(cache_config_parse("16K/4/32", &c, &e));
    on = cache_config_on(&c, &l1, &l2, &none);
    assert_memory_equal(&on, &c, sizeof c);
}

/* --- Limits ----------------------------------------------------------------------------------- */

static const struct { const char *text; enum err_code code; const char *says, *fix; } limit[] = {
    { "64/4/4", ERR_NONE, "", "" }, { "32K/8/4096", ERR_NONE, "", "" },
    { "256M/16/4", ERR_NONE, "", "" }, { "512K/64/64/plru", ERR_NONE, "", "" },
    { "32K/8/64,32K/8/64/inclusive", ERR_NONE, "", "" },
    { "32K/8/64,prefetch=lines:2", ERR_NONE, "", "" },
    { "32K/8/64,prefetch=lines:64", ERR_NONE, "", "" },
    { "32K/8/64,prefetch=stride:64:16", ERR_NONE, "", "" },
    { "32K/8/64,seed=2147483647", ERR_NONE, "", "" }, { "host,levels=3", ERR_NONE, "", "" },
    { "32K/8/48", ERR_RANGE, "a cache line of 48 bytes is not possible: it must be a power of two"
      " from 4 to 4096", "" },
    { "32K/0/64", ERR_RANGE, "a cache cannot have 0 ways; it needs at least 1", "" },
    { "0/8/64", ERR_RANGE, "a cache cannot have 0 bytes", "" },
    { "33000/8/64", ERR_RANGE, "a cache of 33000 bytes cannot be divided into sets of 8 ways x 64"
      " bytes", "use a size that is a multiple of 512, like 32768" },
    { "100/8/64", ERR_RANGE, "a cache of 100 bytes cannot be divided into sets of 8 ways x 64"
      " bytes", "use a size that is a multiple of 512, like 512" },
    { "268435520/16/4", ERR_RANGE, "a cache of 67108880 lines is more than can be simulated"
      " (67108864)", "" },
    { "1024G/16/4096", ERR_RANGE, "a cache of 268435456 lines is more than can be simulated"
      " (67108864)", "" },
    { "1025G/16/4096", ERR_SYNTAX, "\"1025G/16/4096\" (column 1 of the cache) is no cache level",
      "SIZE/WAYS/LINE, like 32K/8/64 or 1M/16/64/plru/inclusive; or a preset" },
    { "32K/8/64,48K/12/64/plru", ERR_RANGE, "L2 has 12 ways: tree-PLRU needs a power of two, at"
      " most 64", "use lru, or another number of ways" },
    { "32K/8/64,1M/16/128", ERR_RANGE, "L2 has lines of 128 bytes, but L1 has lines of 64: they"
      " must be equal", "" },
    { "32K/8/64,16K/8/64/inclusive", ERR_RANGE, "L2 is inclusive, but smaller than L1", "" },
    { "32K/8/64,prefetch=lines:65", ERR_SYNTAX, "\"prefetch=lines:65\" (column 10 of the cache) is"
      " no prefetcher", "prefetch=none, next, lines:N (2 to 64), stride[:DEGREE[:CONFIRM]]" },
    { "32K/8/64,prefetch=stride:65", ERR_SYNTAX, "\"prefetch=stride:65\" (column 10 of the cache)"
      " is no prefetcher", "prefetch=none, next, lines:N (2 to 64), stride[:DEGREE[:CONFIRM]]" },
    { "32K/8/64,prefetch=stride:1:17", ERR_SYNTAX, "\"prefetch=stride:1:17\" (column 10 of the"
      " cache) is no prefetcher",
      "prefetch=none, next, lines:N (2 to 64), stride[:DEGREE[:CONFIRM]]" },
    { "32K/8/64,seed=2147483648", ERR_RANGE, "\"seed=2147483648\" (column 10 of the cache) is no"
      " seed", "seed=0 to 2147483647" },
    { "host,levels=4", ERR_RANGE, "\"levels=4\" (column 6 of the cache) is not the number of a"
      " cache level", "levels=1, 2 or 3" },
    { "host,levels=0", ERR_RANGE, "\"levels=0\" (column 6 of the cache) is not the number of a"
      " cache level", "levels=1, 2 or 3" },
};

static void limits_are_told(void **state)
{
    struct err e;
    struct cache_config c;
    (void)state;
    for (int i = 0; i < COUNT_OF(limit); i++) {
        e = (struct err){0};
        bool ok = cache_config_parse(limit[i].text, &c, &e);
        if (ok != (limit[i].code == ERR_NONE) || e.code != limit[i].code
            || strcmp(e.text, limit[i].says) != 0 || strcmp(e.fix, limit[i].fix) != 0)
            fail_msg("%s: %s; %s", limit[i].text, e.text, e.fix);
    }
    c = (struct cache_config){ .n_levels = 0 };
    assert_false(cache_config_check(&c, &e));
    assert_string_equal(e.text, "0 cache levels cannot be simulated; 1 to 3 can");
    c.n_levels = CACHE_LEVELS + 1;
    assert_false(cache_config_check(&c, &e));
    assert_string_equal(e.text, "4 cache levels cannot be simulated; 1 to 3 can");
}

/* The levels of this machine end where one has other lines, and where there is none. */
static void host_levels_have_equal_lines(void **state)
{
    struct cache_geometry l1 = { 32 << 10, 8, 64 }, l2 = { 1 << 20, 16, 64 };
    struct cache_geometry l3 = { 8 << 20, 16, 64 }, wide = { 1 << 20, 16, 128 };
    struct cache_config host = {0}, on;
    (void)state;
    on = cache_config_on(&host, &l1, &l2, &l3);
    assert_int_equal(on.n_levels, 3);
    assert_memory_equal(&on.level[2].geometry, &l3, sizeof l3);
    assert_int_equal(cache_config_on(&host, &l1, &wide, &l3).n_levels, 1);
    assert_int_equal(cache_config_on(&host, &l1, &l2, &wide).n_levels, 2);
    host.most_levels = 2;
    assert_int_equal(cache_config_on(&host, &l1, &l2, &l3).n_levels, 2);
}

/* --- GPUs ------------------------------------------------------------------------------------- */

static void gpus_have_fields(void **state)
{
    struct gpu_device d, usual;
    struct err e;
    (void)state;
    assert_true(gpu_device_parse("a100", &usual, &e));
    assert_true(gpu_device_parse("a100,sms=1,l1=9,shared=3,l2=10,fmas=5,tensor_fmas=6,mhz=7", &d,
                                 &e));
    assert_string_equal(d.name, "a100,sms=1,l1=9,shared=3,l2=10,fmas=5,tensor_fmas=6,mhz=7");
    assert_true(d.sms == 1 && d.l1 == 9 && d.shared == 3 && d.l2 == 10 && d.fmas == 5
                && d.tensor_fmas == 6 && d.mhz == 7);
    assert_true(d.l2_rate == usual.l2_rate && d.dram == usual.dram && d.line == 128
                && d.sector == 32 && d.banks == 32 && d.bank == 4);
    assert_true(gpu_device_parse("a100,l2_rate=8,dram=9,line=64,sector=16,banks=10,bank=8", &d,
                                 &e));
    assert_true(d.l2_rate == 8 && d.dram == 9 && d.line == 64 && d.sector == 16 && d.banks == 10
                && d.bank == 8 && d.sms == usual.sms && d.mhz == usual.mhz);
    assert_true(gpu_device_parse("A100,l1_ways=11,l2_ways=12", &d, &e));
    assert_true(d.l1_ways == 11 && d.l2_ways == 12 && d.l1 == usual.l1);
}

static const struct { const char *text; enum err_code code; const char *says, *fix; } gpu[] = {
    { "h100,sms=1024", ERR_NONE, "", "" }, { "h100,shared=0", ERR_NONE, "", "" },
    { "h100,banks=64", ERR_NONE, "", "" }, { "h100,l1=8", ERR_NONE, "", "" },
    { "h100,l2=2", ERR_NONE, "", "" }, { "h100,line=32", ERR_NONE, "", "" },
    { "h100,sms=1025", ERR_RANGE, "sms of a GPU is a number from 1 to 1024", "" },
    { "h100,banks=65", ERR_RANGE, "banks of a GPU is a number from 1 to 64", "" },
    { "h100,shared=-1", ERR_RANGE, "shared of a GPU is a number from 0 to 1048576", "" },
    { "h100,line=16", ERR_RANGE, "line of a GPU is a number from 32 to 4096", "" },
    { "h100,line=96", ERR_RANGE, "a line of 96 bytes is not 1, 2 or 4 sectors of 32 bytes", "" },
    { "h100,line=256", ERR_RANGE, "a line of 256 bytes is not 1, 2 or 4 sectors of 32 bytes", "" },
    { "h100,line=32,sector=64", ERR_RANGE,
      "a line of 32 bytes is not 1, 2 or 4 sectors of 64 bytes", "" },
    { "h100,l1=7", ERR_RANGE, "a cache of this GPU is too small: it needs at least one line for"
      " each way", "" },
    { "h100,l2=1", ERR_RANGE, "a cache of this GPU is too small: it needs at least one line for"
      " each way", "" },
    { "h10", ERR_NAME, "no GPU named 'h10' is known", "h100" },
    { "zzzzzzzz", ERR_NAME, "no GPU named 'zzzzzzzz' is known",
      "h100, h100-pcie, h200 or a100; fields: h100,sms=114" },
    { "h100,sm=4", ERR_SYNTAX, "a GPU has no field 'sm=4'",
      "sms= l1= shared= l2= (KiB) fmas= tensor_fmas= mhz= l2_rate= dram= line= sector= banks="
      " bank= l1_ways= l2_ways=" },
    { "h100,sms", ERR_SYNTAX, "a GPU has no field 'sms'",
      "sms= l1= shared= l2= (KiB) fmas= tensor_fmas= mhz= l2_rate= dram= line= sector= banks="
      " bank= l1_ways= l2_ways=" },
};

static void wrong_gpus_are_told(void **state)
{
    char text[80] = "h100,sms=";
    struct err e;
    struct gpu_device d;
    (void)state;
    for (int i = 0; i < COUNT_OF(gpu); i++) {
        d = (struct gpu_device){ .sms = 77 };
        e = (struct err){0};
        bool ok = gpu_device_parse(gpu[i].text, &d, &e);
        if (ok != (gpu[i].code == ERR_NONE) || e.code != gpu[i].code
            || strcmp(e.text, gpu[i].says) != 0 || strcmp(e.fix, gpu[i].fix) != 0)
            fail_msg("%s: %s; %s", gpu[i].text, e.text, e.fix);
        assert_int_equal(d.sms == 77, !ok);
    }
    memset(text + 9, '0', 51);                           /* a text of 63 bytes is kept */
    strcpy(text + 60, "132");
    assert_true(gpu_device_parse(text, &d, &e));
    assert_string_equal(d.name, text);
    assert_int_equal(d.sms, 132);
    strcpy(text + 60, "0132");
    assert_false(gpu_device_parse(text, &d, &e));
    assert_int_equal(e.code, ERR_SYNTAX);
    assert_string_equal(e.text, "\"h100,sms=0000000000000000000000000000000...\" is too long for a"
                                " GPU");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(geometry_parses),
        cmocka_unit_test(configs_print_canonically),
        cmocka_unit_test(wrong_configs_say_where),
        cmocka_unit_test(host_levels_stand_in),
        cmocka_unit_test(limits_are_told),
        cmocka_unit_test(host_levels_have_equal_lines),
        cmocka_unit_test(gpus_have_fields),
        cmocka_unit_test(wrong_gpus_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
