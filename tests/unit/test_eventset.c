/* The names of events, formulas, and event sets as text files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/base/str.h"
#include "profile/counters/eventset.h"
#include "kernels/base/formula.h"
#include "profile/counters/perfevent.h"
#include "profile/host/machine.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define assert_contains(text, part) \
    do { \
        if (!strstr((text), (part))) \
            fail_msg("\"%s\" is not in \"%s\"", (part), (text)); \
    } while (0)

static struct arena *perm;

/* --- Names of events -------------------------------------------------------------------------- */

static void names_stand_for_configs(void **state)
{
    static const struct { const char *text; int type; uint64_t config; } table[] = {
        { "cycles", PERF_HARDWARE, 0 },         { "instructions", PERF_HARDWARE, 1 },
        { "ref_cycles", PERF_HARDWARE, 9 },     { "page_faults", PERF_SOFTWARE, 2 },
        { "l1d_loads", PERF_CACHE, 0 },         { "l1d_load_misses", PERF_CACHE, 0x10000 },
        { "l1d_stores", PERF_CACHE, 0x100 },    { "llc_store_misses", PERF_CACHE, 0x10102 },
        { "dtlb_load_misses", PERF_CACHE, 0x10003 },
        { "itlb_load_misses", PERF_CACHE, 0x10004 },
        { "node_prefetch_misses", PERF_CACHE, 0x10206 },
        { "raw:0x151", PERF_RAW, 0x151 },       { "raw:0xFFFFFFFFFFFFFFFF", PERF_RAW, UINT64_MAX },
    };
    static const char *const wrong[] = { "", "cycle", "raw:", "raw:0x", "raw:151", "raw:0x1g",
                                         "raw:0x-1", "raw:0x10000000000000000", "l1d",
                                         "L1D_LOADS" };
    struct perf_name got;
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        if (!perf_find(table[i].text, &got))
            fail_msg("%s is not known", table[i].text);
        assert_int_equal(got.type, table[i].type);
        assert_true(got.config == table[i].config);
    }
    for (int i = 0; i < COUNT_OF(wrong); i++)
        if (perf_find(wrong[i], &got))
            fail_msg("'%s' is known", wrong[i]);
}

/* --- Formulas --------------------------------------------------------------------------------- */

static bool letters(void *ctx, const char *name, struct formula_value *v, struct err *e)
{
    (void)ctx;
    v->number = name[0] - 'a' + 1;                   /* a = 1, b = 2... */
    return strlen(name) > 1 ? err_set(e, ERR_NAME, "no letter") :
           name[0] != 'z' || err_set(e, ERR_TYPE, "not counted");
}

static bool exist(void *ctx, const char *name, struct formula_value *v, struct err *e)
{
    return letters(ctx, name, v, e) || name[0] == 'z';
}

enum outcome_of { VALUE, ABSENT, WRONG };

/* As event sets do it: the form and the names when they are read, the values later. */
static void formulas_follow_arithmetic(void **state)
{
    static const struct { const char *text; enum outcome_of is; double value; int col; } t[] = {
        { "1 + 2 * 3", VALUE, 7, 0 },      { "(1 + 2) * 3", VALUE, 9, 0 },
        { "10 - 4 - 3", VALUE, 3, 0 },     { "24 / 4 / 2", VALUE, 3, 0 },
        { "-b * c", VALUE, -6, 0 },        { "- -b", VALUE, 2, 0 },
        { "1e-9 * d", VALUE, 4e-9, 0 },    { ".5*b", VALUE, 1, 0 },
        { "100*a/(b+c)", VALUE, 20, 0 },   { "a/(b-2)", ABSENT, 0, 0 },
        { "0 * z", ABSENT, 0, 0 },         { "1e300 * 1e300", ABSENT, 0, 0 },
        { "", WRONG, 0, 1 },               { "a +", WRONG, 0, 4 },
        { "a b", WRONG, 0, 3 },            { "(a", WRONG, 0, 1 },
        { "a)", WRONG, 0, 2 },             { "a ^ b", WRONG, 0, 3 },
        { "2x", WRONG, 0, 1 },             { "0x10", WRONG, 0, 1 },
        { "1e999", WRONG, 0, 1 },
        { "a + name", WRONG, 0, 5 },       { "z / 0 +", WRONG, 0, 8 },
        { "max(a, c)", VALUE, 3, 0 },      { "a.b", WRONG, 0, 1 },
    };
    struct str deep = {0};
    struct err e;
    double v;
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        bool form = formula_check(t[i].text, exist, NULL, &e);
        int col = form ? 0 : e.at.col;
        enum outcome_of is = !form ? WRONG
                           : formula_number(t[i].text, letters, NULL, &v, &e) ? VALUE : ABSENT;
        if (is != t[i].is || (is == VALUE && fabs(v - t[i].value) > 1e-12))
            fail_msg("%s: %d, %g", t[i].text, (int)is, v);
        if (col != t[i].col)
            fail_msg("%s: column %d (%s)", t[i].text, col, e.text);
    }
    str_repeat(&deep, '(', 101);
    assert_false(formula_check(str_text(&deep), exist, NULL, &e));
    assert_int_equal(e.at.col, 101);
    str_free(&deep);
}

/* --- Event sets ------------------------------------------------------------------------------- */

#define HEAD "SHORT  s\nMETER perf\n"

static void malformed_sets_are_pointed_at(void **state)
{
    static const struct { const char *text; int line, col; const char *says; } t[] = {
        { "", 0, 1, "SHORT is missing" },
        { HEAD "EVENTSET\ncycles\n", 4, 1, "LONG is missing" },
        { HEAD "LONG\nx\n", 4, 1, "EVENTSET is missing" },
        { "SHORT\n", 1, 1, "this key needs a text after it" },
        { "SHRT s\n", 1, 1, "was expected" },
        { "METER clock\n", 1, 7, "there is no meter" },
        { "EVENTSET\ncycles\n", 2, 1, "METER must stand above" },
        { HEAD "EVENTSET\n\n  cycels\n", 5, 3, "no event cycels" },
        { HEAD "EVENTSET\npage_faults\n", 4, 1, "not an event of the meter perf" },
        { HEAD "EVENTSET\ncycles\ncycles\n", 5, 1, "is defined twice" },
        { HEAD "EVENTSET\nflops cycles\n", 4, 1, "flops is already the name of another value" },
        { HEAD "EVENTSET\nmetrics cycles\n", 4, 1, "metrics is already the name of another value" },
        { HEAD "EVENTSET\nMy cycles\n", 4, 1, "lower-case" },
        { HEAD "EVENTSET\na cycles b\n", 4, 10, "a line must have one event" },
        { HEAD "EVENTSET\nraw:0xzz\n", 4, 1, "no event raw:0xzz" },
        { HEAD "EVENTSET\ncycles\nMETRICS\nx = cycles / 0 +\n", 6, 17, "ends where a value" },
        { HEAD "EVENTSET\ncycles\nMETRICS\nx = 2 * instructions\n", 6, 9, "no event of this set" },
        { HEAD "EVENTSET\ncycles\nMETRICS\nx = cycles < 2\n", 6, 5, "a number is expected" },
        { HEAD "EVENTSET\ncycles\nMETRICS\nx [%] 2\n", 6, 7, "a = was expected" },
        { HEAD "EVENTSET\ncycles\nMETRICS\nx [much too long] = 2\n", 6, 4, "a unit of 1 to" },
        { HEAD "EVENTSET\ncycles\nMETRICS\ncycles = 2\n", 6, 1, "is defined twice" },
        { HEAD "EVENTSET\ncycles\nMETRICS\n= 2\n", 6, 1, "was expected" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        const struct event_set *s;
        struct err e = {0};
        struct str out = {0};
        if (event_set_parse(perm, "x", "/tmp/x.txt", t[i].text, &s, &e))
            fail_msg("accepted:\n%s", t[i].text);
        err_print(&out, &e);
        if (e.at.line != t[i].line || e.at.col != t[i].col || !strstr(e.text, t[i].says))
            fail_msg("\"%s\" at %d:%d was expected\n%s", t[i].says, t[i].line, t[i].col,
                     str_text(&out));
        assert_contains(str_text(&out), "/tmp/x.txt");
        str_free(&out);
    }
}

/* Any text at all: a set, or an error that points into it. */
static void random_texts_are_refused_with_a_place(void **state)
{
    enum { SEED = 4, ROUNDS = 3000 };
    static const char letter[] = "\n =[]/*()#1aZ\t:\xc3";
    struct rng r = rng_seed(SEED);
    int refused = 0;
    (void)state;
    printf("# seed %d\n", SEED);
    for (int round = 0; round < ROUNDS; round++) {
        struct arena *a = arena_new();
        const struct event_set *s;
        struct err e = {0};
        int n = 0, lines = 0;
        while (builtin_set[n].name)
            n++;
        char *text = arena_strdup(a, builtin_set[rng_range(&r, 0, n - 1)].text);
        size_t size = strlen(text);
        for (int64_t k = rng_range(&r, 1, 4); k > 0; k--)
            text[rng_range(&r, 0, (int64_t)size - 1)] = letter[rng_range(&r, 0, 15)];
        for (size_t i = 0; i < size; i++)
            lines += text[i] == '\n';
        if (!event_set_parse(a, "x", "", text, &s, &e)) {
            refused++;
            assert_true(e.text[0] && e.at.line >= 1 && e.at.line <= lines + 1 && e.at.col >= 1);
            assert_true((size_t)e.at.col <= strlen(e.source) + 1 || strlen(e.source) == 255);
        }
        arena_free(a);
    }
    assert_in_range(refused, ROUNDS / 10, ROUNDS - 1);
}

/* What is built in is what the files say. */
static void every_file_is_built_in(void **state)
{
    int n = 0;
    (void)state;
    for (; builtin_set[n].name; n++) {
        struct str path = {0}, text = {0};
        struct err e;
        str_printf(&path, "profile/counters/events/%s.txt", builtin_set[n].name);
        if (!file_read(str_text(&path), 65536, &text, &e))
            fail_msg("%s", e.text);
        assert_string_equal(str_text(&text), builtin_set[n].text);
        str_free(&path);
        str_free(&text);
    }
    assert_true(n >= 10);
}

/* Every event counts 2^k for the k-th: then every formula has a value that is finite, and with an
 * event left out exactly those with it are absent. */
static void every_formula_of_every_set_is_evaluated(void **state)
{
    static const struct known known = { 0.001, 2e6, 3e4, 2 };
    struct str broken = {0};
    struct event_sets all = event_sets_load(perm, &broken);
    (void)state;
    assert_string_equal(str_text(&broken), "");
    for (int i = 0; i < all.n; i++) {
        const struct event_set *s = all.set[i];
        assert_true(s->n > 0 && s->n_metrics > 0 && s->summary[0] && s->prose[0]);
        for (int without = -1; without < s->n; without++) {
            struct counts c = { .available = true };
            int metrics = 0;
            for (int k = 0; k < s->n; k++)
                if (k != without)
                    assert_true(counts_add(&c, s->event[k].name, (double)(1 << k) * 1000));
            int counted = c.n;
            event_set_derive(s, &known, &c);
            for (int k = 0; k < s->n_metrics; k++)
                metrics += without < 0 || !strstr(s->metric[k].formula, s->event[without].name);
            if (c.n != counted + metrics && without < 0)
                fail_msg("set %s: %d metrics of %d", s->name, c.n - counted, metrics);
            assert_true(c.n <= counted + s->n_metrics && c.n - counted >= metrics);
            for (int k = counted; k < c.n; k++)
                assert_true(c.count[k].derived && isfinite(c.count[k].value));
        }
    }
    str_free(&broken);
}

static void metrics_of_known_counts(void **state)
{
    static const struct known known = { 0.002, 8e6, 4e5, 2 };
    const struct event_set *s;
    struct counts c = { .available = true };
    struct err e;
    double v;
    (void)state;
    assert_true(event_set_find(perm, "default", &s, &e));
    counts_add(&c, "cycles", 4e6);
    counts_add(&c, "instructions", 6e6);
    counts_add(&c, "l1d_loads", 0);
    counts_add(&c, "l1d_load_misses", 0);
    event_set_derive(s, &known, &c);
    assert_true(counts_get(&c, "ipc", &v) && v == 1.5);
    assert_true(counts_get(&c, "flops_per_cycle", &v) && v == 2);
    assert_true(counts_get(&c, "clock", &v) && fabs(v - 1) < 1e-12);
    assert_false(counts_get(&c, "l1_miss_rate", &v));            /* 0 / 0 */
}

/* What lies under the working directory is not the user's. */
static void only_an_absolute_home(const char *folder, const char *set)
{
    const struct event_set *s;
    struct err e;
    struct str path = {0};
    char *home = getenv("HOME"), *here = getcwd(NULL, 0);
    home = home ? xstrdup(home) : NULL;
    str_printf(&path, "%s/.config/tilescope/events", folder);
    assert_true(dir_make(str_text(&path), &e));
    str_add(&path, "/mine.txt");
    assert_true(file_write_atomic(str_text(&path), set, strlen(set), &e));
    setenv("HOME", folder, 1);
    assert_true(event_set_find(perm, "mine", &s, &e));
    assert_string_equal(s->path, str_text(&path));
    assert_int_equal(chdir(folder), 0);
    setenv("HOME", ".", 1);
    assert_false(event_set_find(perm, "mine", &s, &e));
    assert_int_equal(chdir(here), 0);
    if (home)
        setenv("HOME", home, 1);
    else
        unsetenv("HOME");
    free(home);
    free(here);
    str_free(&path);
}

static void sets_are_found_by_name(void **state)
{
    const struct event_set *s;
    struct err e;
    struct str path = {0}, broken = {0};
    static const char mine[] = HEAD "EVENTSET\nlines_in raw:0x151\nMETRICS\n"
                                    "traffic [B/FLOP] = 64 * lines_in / flops\nLONG\nMine.\n";
    (void)state;
    assert_false(event_set_find(perm, "defualt", &s, &e));
    assert_int_equal(e.code, ERR_NAME);
    assert_contains(e.fix, "default");
    assert_false(event_set_find(perm, "../../etc/passwd", &s, &e));

    char *old = getenv("XDG_CONFIG_HOME");
    old = old ? xstrdup(old) : NULL;
    const char *folder = temp_dir("XDG_CONFIG_HOME");
    str_printf(&path, "%s/tilescope/events", folder);
    assert_true(dir_make(str_text(&path), &e));
    size_t n = path.len;
    str_add(&path, "/mine.txt");
    assert_true(file_write_atomic(str_text(&path), mine, strlen(mine), &e));
    assert_true(event_set_find(perm, "mine", &s, &e));
    assert_string_equal(s->event[0].text, "raw:0x151");
    assert_string_equal(s->path, str_text(&path));
    path.len = n;
    str_add(&path, "/l1.txt");           /* broken: hides the built-in one */
    assert_true(file_write_atomic(str_text(&path), "SHORT x\nnonsense\n", 17, &e));
    assert_false(event_set_find(perm, "l1", &s, &e));
    assert_int_equal(e.at.line, 2);
    struct event_sets all = event_sets_load(perm, &broken);
    assert_string_equal(all.set[all.n - 1]->name, "mine");
    assert_contains(str_text(&broken), "l1.txt:2:1: error");
    unsetenv("XDG_CONFIG_HOME");
    only_an_absolute_home(folder, mine);
    if (old)
        setenv("XDG_CONFIG_HOME", old, 1);
    else
        unsetenv("XDG_CONFIG_HOME");
    free(old);
    str_free(&path);
    str_free(&broken);
}

/* --- Whole messages --------------------------------------------------------------------------- */

#define LETTERS39 "abcdefghijklmnopqrstuvwxyzabcdefghijklm"
#define HEX57 "123456789abcdef0123456789abcdef0123456789abcdef0123456789"
#define CUPTI "SHORT s\nMETER cupti\n"

/* at: what the error marks in its line. */
static void messages_name_the_problem(void **state)
{
    static const struct { const char *text, *says, *fix, *at; } t[] = {
        { "METER clock\n", "there is no meter 'clock' that counts events",
          "use METER perf, perf-sw, papi or cupti", "clock" },
        { "SHRT s\n", "SHORT, METER, CPU, EVENTSET, METRICS or LONG was expected", "", "SHRT" },
        { "SHORTS s\n", "SHORT, METER, CPU, EVENTSET, METRICS or LONG was expected", "",
          "SHORTS" },
        { "CPU  \n", "this key needs a text after it", "", "CPU" },
        { HEAD "LONG\nx\n", "EVENTSET is missing, or there is nothing after it", "", "" },
        { "SHORT s\n", "METER is missing, or there is nothing after it", "", "" },
        { "EVENTSET\ncycles\n", "METER must stand above the events", "", "cycles" },
        { HEAD "EVENTSET\nn cycels\n", "there is no event cycels for the meter perf", "cycles",
          "cycels" },
        { HEAD "EVENTSET\nnothing_alike\n", "there is no event nothing_alike for the meter perf",
          "", "nothing_alike" },
        { HEAD "EVENTSET\npage_faults\n", "page_faults is not an event of the meter perf", "",
          "page_faults" },
        { "METER perf-sw\nEVENTSET\ncycles\n", "cycles is not an event of the meter perf-sw", "",
          "cycles" },
        { HEAD "EVENTSET\na cycles b c\n", "a line must have one event: EVENT, or NAME EVENT", "",
          "b c" },
        { HEAD "EVENTSET\n1a cycles\n",
          "a name has lower-case letters, digits and _, at most 39", "", "1a" },
        { HEAD "EVENTSET\na" LETTERS39 " cycles\n",
          "a name has lower-case letters, digits and _, at most 39", "", "a" LETTERS39 },
        { HEAD "EVENTSET\n" LETTERS39 " raw:0x" HEX57 "1\n",
          "64 bytes are more than the 63 that a name may have", "", "raw:0x" HEX57 "1" },
        { HEAD "EVENTSET\n" LETTERS39 " raw:0x" HEX57 "\n",
          "there is no event raw:0x" HEX57 " for the meter perf", "", "raw:0x" HEX57 },
        { HEAD "EVENTSET\ncycles\nx1 cycles\ncycles instructions\n", "cycles is defined twice",
          "", "cycles" },
        { HEAD "EVENTSET\ncycles\nMETRICS\n= 2\n", "NAME [UNIT] = FORMULA was expected", "",
          "=" },
        { HEAD "EVENTSET\ncycles\nMETRICS\na" LETTERS39 " = 2\n",
          "NAME [UNIT] = FORMULA was expected", "", "a" LETTERS39 },
        { HEAD "EVENTSET\ncycles\nMETRICS\nx = 1\nx = 2\n", "x is defined twice", "", "x" },
        { HEAD "EVENTSET\ncycles\nMETRICS\nx [123456789012] = 2\n",
          "a unit of 1 to 11 bytes and a ] were expected", "", "123456789012" },
        { HEAD "EVENTSET\ncycles\nMETRICS\nx [] = 2\n",
          "a unit of 1 to 11 bytes and a ] were expected", "", "" },
        { HEAD "EVENTSET\ncycles\nMETRICS\nx = 2 * nobody\n",
          "no event of this set, and no other value, is called nobody", "", "nobody" },
        { CUPTI "EVENTSET\nactivity:time\n", "records of activity have no time",
          "activity:duration, activity:launches or activity:registers", "activity:time" },
        { CUPTI "EVENTSET\nd dram\n", "dram is not the name of a metric",
          "UNIT__NAME.ROLLUP, for example lts__t_sectors.sum", "dram" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        const struct event_set *s;
        struct err e = {0};
        char at[100] = "";
        assert_false(event_set_parse(perm, "x", "", t[i].text, &s, &e));
        if (e.at.len > 0)
            snprintf(at, sizeof at, "%.*s", e.at.len, e.source + e.at.col - 1);
        if (strcmp(e.text, t[i].says) != 0 || strcmp(e.fix, t[i].fix) != 0
            || strcmp(at, t[i].at) != 0)
            fail_msg("row %d: %s; fix: %s; at '%s'", i, e.text, e.fix, at);
    }
}

/* A set with every part, at the longest names, and lines that are skipped. */
static void parts_are_read(void **state)
{
    static const char text[] =
        "# about\nSHORT\tone line \r\n  \nMETER perf\nCPU intel\n\nEVENTSET\n"
        "\tcycles\n" LETTERS39 "\tinstructions  \n# none\nMETRICS\n"
        "ipc = " LETTERS39 " / cycles\nx[12345678901]=  2 * cycles\n"
        "LONG\nWords.\n\n# More.\n";
    const struct event_set *s;
    struct err e = {0};
    (void)state;
    if (!event_set_parse(perm, "name", "path", text, &s, &e))
        fail_msg("%s", e.text);
    assert_string_equal(s->name, "name");
    assert_string_equal(s->path, "path");
    assert_string_equal(s->summary, "one line");
    assert_string_equal(s->meter, "perf");
    assert_string_equal(s->cpu, "intel");
    assert_string_equal(s->prose, "Words.\n\n# More.\n");
    assert_int_equal(s->n, 2);
    assert_string_equal(s->event[0].name, "cycles");
    assert_string_equal(s->event[1].name, LETTERS39);
    assert_string_equal(s->event[1].text, "instructions");
    assert_int_equal(s->n_metrics, 2);
    assert_string_equal(s->metric[0].name, "ipc");
    assert_string_equal(s->metric[0].unit, "");
    assert_string_equal(s->metric[0].formula, LETTERS39 " / cycles");
    assert_string_equal(s->metric[1].unit, "12345678901");
    assert_string_equal(s->metric[1].formula, "2 * cycles");
}

/* As many events and metrics as there is room for, and one more. */
static void sets_have_room(void **state)
{
    struct str text = {0};
    const struct event_set *s;
    struct err e = {0};
    (void)state;
    for (int more = 0; more < 4; more++) {
        int events = EVENTS_MAX + (more == 1), metrics = METRICS_MAX + (more == 2);
        str_clear(&text);
        str_add(&text, HEAD "EVENTSET\n");
        for (int i = 0; i < events; i++)
            str_printf(&text, "e%d raw:0x%x\n", i, i);
        str_add(&text, "METRICS\n");
        for (int i = 0; i < metrics; i++)
            str_printf(&text, "m%d = e0 + %d\n", i, i);
        str_add(&text, more == 3 ? "" : "LONG\nx\n");
        assert_int_equal(event_set_parse(perm, "x", "", str_text(&text), &s, &e), more == 0);
        const char *const says[] = { "", "there are more than 16 events",
                                     "there are more than 16 metrics",
                                     "LONG is missing, or there is nothing after it" };
        assert_string_equal(e.text, says[more]);
    }
    str_free(&text);
}

/* PAPI's names make names without doubled or leading underscores. */
static void names_are_made_of_events(void **state)
{
    static const struct { const char *event, *name; } t[] = {
        { "perf::PAGE-FAULTS", "perf_page_faults" }, { "::A--B:", "a_b_" },
        { "PAPI_L1_DCM", "papi_l1_dcm" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        const struct event_set *s;
        struct err e;
        char text[200];
        snprintf(text, sizeof text, "SHORT s\nMETER papi\nEVENTSET\n%s\nLONG\nx\n", t[i].event);
        assert_true(event_set_parse(perm, "x", "", text, &s, &e));
        assert_string_equal(s->event[0].name, t[i].name);
        assert_string_equal(s->event[0].text, t[i].event);
    }
}

static void sets_fit_meters_and_cpus(void **state)
{
    static const struct { const char *meter, *set; } t[] = {
        { "perf", "default" }, { "perf-sw", "sw" }, { "papi", "papi" }, { "cupti", "gpu" },
    };
    struct event_set s = { .name = "mine", .cpu = "" };
    struct counts why = { .n = 3 };
    char vendor[64] = "";
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++)
        assert_string_equal(event_set_default(t[i].meter), t[i].set);
    assert_true(event_set_fits(&s, &why));
    s.cpu = machine_cpu_vendor(vendor, sizeof vendor) ? vendor : "";
    assert_true(event_set_fits(&s, &why));
    assert_int_equal(why.n, 3);           /* only a refusal changes it */
    s.cpu = "nobody";
    assert_false(event_set_fits(&s, &why));
    char text[300];
    snprintf(text, sizeof text, "the event set mine is only for nobody CPUs, but this CPU is %s: "
             "choose another set (tilescope meters --events)", vendor[0] ? vendor : "unknown");
    assert_string_equal(why.reason, text);
    assert_int_equal(why.n, 0);
}

/* A value that is not known leaves out the metrics with it; known ones count as they are. */
static void metrics_need_their_values(void **state)
{
    static const char text[] = "SHORT s\nMETER perf\nEVENTSET\ncycles\nMETRICS\n"
        "a [x] = time_s + 1\nb = flops + 1\nc = bytes + 1\nd = threads + 1\ne = cycles + 1\n"
        "LONG\nx\n";
    const struct event_set *s;
    struct err e = {0};
    (void)state;
    assert_true(event_set_parse(perm, "x", "", text, &s, &e));
    for (int without = -1; without < 4; without++) {
        const struct known k = { without == 0 ? 0 : 10, without == 1 ? 0 : 20,
                                 without == 2 ? 0 : 30, without == 3 ? 0 : 40 };
        struct counts c = { .available = true };
        struct str got = {0}, want = {0};
        counts_add(&c, "cycles", 50);
        event_set_derive(s, &k, &c);
        for (int i = 0; i < c.n; i++)
            str_printf(&got, "%s=%g%s%s ", c.count[i].name, c.count[i].value, c.count[i].unit,
                       c.count[i].derived ? "" : "!");
        static const char *const part[] = { "a=11x ", "b=21 ", "c=31 ", "d=41 " };
        str_add(&want, "cycles=50! ");
        for (int i = 0; i < 4; i++)
            str_add(&want, i == without ? "" : part[i]);
        str_add(&want, "e=51 ");
        assert_string_equal(str_text(&got), str_text(&want));
        str_free(&got);
        str_free(&want);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stand_for_configs),
        cmocka_unit_test(formulas_follow_arithmetic),
        cmocka_unit_test(malformed_sets_are_pointed_at),
        cmocka_unit_test(random_texts_are_refused_with_a_place),
        cmocka_unit_test(every_file_is_built_in),
        cmocka_unit_test(every_formula_of_every_set_is_evaluated),
        cmocka_unit_test(metrics_of_known_counts),
        cmocka_unit_test(sets_are_found_by_name),
        cmocka_unit_test(messages_name_the_problem),
        cmocka_unit_test(parts_are_read),
        cmocka_unit_test(sets_have_room),
        cmocka_unit_test(names_are_made_of_events),
        cmocka_unit_test(sets_fit_meters_and_cpus),
        cmocka_unit_test(metrics_need_their_values),
    };
    perm = arena_new();
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    arena_free(perm);
    return rc;
}
