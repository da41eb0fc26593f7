/* Caches as text: geometries, levels, options, presets. */
#include <stdio.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "profile/sim/cache_config.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(geometry_parses),
        cmocka_unit_test(configs_print_canonically),
        cmocka_unit_test(wrong_configs_say_where),
        cmocka_unit_test(host_levels_stand_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
