/* The cachegrind meter: what it reads, what it refuses, and that the simulator agrees with it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/base/arena.h"
#include "kernels/base/file.h"
#include "profile/measure/cachegrind.h"
#include "profile/measure/measure.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct arena *perm;

static void output_files_are_summed(void **state)
{
    static const char text[] =
        "desc: D1 cache: 32768 B, 64 B, 8-way associative\n"
        "cmd: x events: y\n"
        "events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw \n"
        "fl=???\nfn=memset\n0 1000 1 1 0 0 0 500 9 9\n"
        "fl=/tmp/objects/tilescope-kernel.c\nfn=matmul\n"
        "12 10 1 1 4 2 1 3 1 0\n"
        "13 7 0 0 1 0 0 0 0 0\n"
        "fn=ts_entry\n90 5 0 0 2 0 0 1 0 0\n"
        "fl=other.c\nfn=matmul\n12 100 0 0 100 100 100 100 100 100\n"
        "fl=tilescope-kernel.c\nfn=load16\n3 1 0 0 1\n"
        "summary: 1123 2 2 108 102 101 604 110 109\n";
    struct cachegrind_sums s;
    (void)state;
    assert_int_equal(cachegrind_sum(text, "tilescope-kernel.c", &s), 9);
    static const struct { int at; const char *event; double sum; } want[] = {
        { 0, "Ir", 23 }, { 3, "Dr", 8 }, { 4, "D1mr", 2 }, { 5, "DLmr", 1 }, { 6, "Dw", 4 },
        { 7, "D1mw", 1 }, { 8, "DLmw", 0 },
    };
    for (int i = 0; i < COUNT_OF(want); i++) {
        assert_string_equal(s.event[want[i].at], want[i].event);
        assert_true(s.sum[want[i].at] == want[i].sum);
    }
    assert_int_equal(cachegrind_sum(text, "nobody.c", &s), 0);
    assert_int_equal(cachegrind_sum("", "tilescope-kernel.c", &s), 0);
    assert_int_equal(cachegrind_sum("fl=tilescope-kernel.c", "tilescope-kernel.c", &s), 0);
}

static void geometries_are_what_it_can_be(void **state)
{
    static const struct { const char *text; const char *why; } row[] = {
        { "32K/8/64", NULL }, { "4K/2/32", NULL }, { "48K/12/64", NULL }, { "1K/16/64", NULL },
        { "24K/8/64", "cachegrind needs a number of sets that is a power of two, but this L1 has "
          "48" },
        { "48K/8/64", "that is a power of two, but this L1 has 96" },
        { "4K/2/16", "cachegrind cannot simulate lines of 16 bytes; it needs at least 32" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct cache_geometry g;
        struct err e = {0};
        assert_true(cache_geometry_parse(row[i].text, &g, &e));
        bool ok = cachegrind_geometry(&g, &e);
        if (ok != !row[i].why || (row[i].why && !strstr(e.text, row[i].why)))
            fail_msg("%s: %d, %s", row[i].text, ok, e.text);
    }
}

static bool measure(const char *spec, const char *const *steps, const struct measure_opts *o,
                    struct measurement *m)
{
    const struct program *p;
    int n = 0, bad;
    struct err e;
    while (steps[n])
        n++;
    if (!program_replay(perm, spec, steps, n, &p, &bad, &e))
        fail_msg("%s, step %d: %s", spec, bad, e.text);
    if (!measure_program(p, o, NULL, NULL, m, &e))
        fail_msg("%s: %s", spec, e.text);
    if (m->outcome != OUTCOME_OK)
        fail_msg("%s: %s", spec, m->reason);
    return m->counts[METER_ID_CACHEGRIND].available;
}

static void need_valgrind(void)
{
    struct counts c = { .n = 0 };
    cachegrind_probe(&c);
    assert_int_equal(c.available, !c.reason[0]);
    if (!c.available) {
        print_message("# skipped: %s\n", c.reason);
        skip();
    }
}

/* The same code in both: an instruction set that valgrind has.  Two ways show whether the
 * buffers lie at the same addresses in both (with one, the order of the loads of a statement, which
 * is the compiler's, would show too). */
static void simulator_agrees(void **state)
{
    static const struct { const char *spec, *cache; const char *step[8]; } row[] = {
        { "gmm m=64 k=64 n=64", "4K/2/64",
          { "loop split C M 16 4", "loop split C N 8 8", "loop reorder C N.0 M.0 K M.1 N.1",
            "loop cache_write C at=M.0", "loop unroll C M.1", "loop vectorize C N.1" } },
        { "gmm m=96 k=96 n=96", "8K/2/64",
          { "loop reorder C M K N", "loop vectorize C N" } },
        { "c2d n=1 i=8 h=18 w=18 o=16 k=3 p=1", "4K/4/64",
          { "layout set Conv \"N H W O\"", "layout set Ker \"KH KW I O\"",
            "loop reorder Conv N H W I KH KW O", "loop vectorize Conv O" } },
        { "dep n=1 c=16 h=30 w=30 k=3 p=1", "4K/2/64",
          { "layout set Conv \"N H W C\"", "layout set Inp \"N H W C\"",
            "loop reorder Conv N H W KH KW C", "loop vectorize Conv C" } },
    };
    (void)state;
    need_valgrind();
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct measure_opts o = { .meters = METER_SIM | METER_CACHEGRIND, .seed = 3,
                                  .target = target_named("sse") };
        struct measurement m;
        struct err e;
        double misses = 0, loads = 0;
        assert_true(cache_config_parse(row[i].cache, &o.cache, &e));
        if (!o.target->runs_here())
            o.target = NULL;
        bool ok = measure(row[i].spec, row[i].step, &o, &m);
        const struct counts *c = &m.counts[METER_ID_CACHEGRIND];
        if (!ok)
            fail_msg("%s: %s", row[i].spec, c->reason);
        assert_true(counts_get(c, "d1_misses", &misses) && counts_get(c, "loads", &loads));
        assert_true(loads >= misses && misses > 0);
        assert_non_null(strstr(c->source, "valgrind-"));
        double off = misses / (double)m.sim.l1_misses - 1;
        if (fabs(off) > 0.01)
            fail_msg("%s: cachegrind %.0f, simulator %lld", row[i].spec, misses,
                     (long long)m.sim.l1_misses);
    }
}

static void what_it_cannot_be_is_a_reason(void **state)
{
    static const char *const none[] = { NULL };
    struct measure_opts o = { .meters = METER_CACHEGRIND,
                              .cache = { .n_levels = 1,
                                         .level[0].geometry = { 24 << 10, 8, 64 } } };
    struct measurement m;
    (void)state;
    need_valgrind();
    assert_false(measure("gmm m=8 k=8 n=8", none, &o, &m));
    assert_non_null(strstr(m.counts[METER_ID_CACHEGRIND].reason, "power of two"));
    assert_int_equal(m.counts[METER_ID_CACHEGRIND].n, 0);
    o = (struct measure_opts){ .meters = METER_CACHEGRIND, .limit_s = 0.01 };
    assert_false(measure("gmm m=8 k=8 n=8", none, &o, &m));
    assert_non_null(strstr(m.counts[METER_ID_CACHEGRIND].reason, "under valgrind"));
}

/* --- A valgrind of our own -------------------------------------------------------------------- */

/* Puts a program called valgrind first in $PATH.  It stores its arguments in DIR/args, writes
 * counts of a function in $FAKE_FILE, and becomes the process of the kernel.  With $FAKE_SAYS, it
 * only says that and ends with $FAKE_EXIT. */
static void plant_valgrind(const char *dir)
{
    struct str text = {0};
    char path[300];
    struct err e;
    str_printf(&text, "#!/bin/sh\n"
               "[ \"$1\" = --version ] && { echo \"$FAKE_VERSION\"; exit; }\n"
               "echo \"$*\" > %s/args\n"
               "[ -n \"$FAKE_SAYS\" ] && { printf \"$FAKE_SAYS\"; exit $FAKE_EXIT; }\n"
               "for a; do case $a in --cachegrind-out-file=*) out=${a#*=};; esac; done\n"
               "while [ \"${1##*/}\" != tilescope-runner ]; do shift; done\n"
               "printf 'events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw\\nfl=/x/%%s\\n' "
               "\"$FAKE_FILE\" > \"$out\"\n"
               "printf 'fn=matmul\\n12 10 1 1 40 5 2 30 3 1\\n' >> \"$out\"\n"
               "exec \"$@\"\n", dir);
    snprintf(path, sizeof path, "%s/valgrind", dir);
    assert_true(file_write_atomic(path, str_text(&text), text.len, &e));
    assert_int_equal(chmod(path, 0755), 0);
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", dir);
    setenv("PATH", path, 1);
    setenv("FAKE_VERSION", "valgrind-9.9.9", 1);
    setenv("FAKE_FILE", "tilescope-kernel.c", 1);
    str_free(&text);
}

static double value(const struct counts *c, const char *name)
{
    double v = -1;
    return counts_get(c, name, &v) ? v : -1;
}

/* The last level of this machine has 12288 sets, of which cachegrind takes 8192. */
static void check_counts(const char *dir, const struct measure_opts *o)
{
    static const char *const none[] = { NULL };
    static const char *const args[] = { "-q --tool=cachegrind --cache-sim=yes --branch-sim=no ",
                                        " --I1=32768,8,64 ", " --D1=4096,2,64 ",
                                        " --LL=8388608,16,64 " };
    struct measurement m;
    struct str said = {0};
    char path[300];
    struct err e;
    if (!measure("gmm m=64 k=64 n=64", none, o, &m))      /* long enough for a time */
        fail_msg("%s", m.counts[METER_ID_CACHEGRIND].reason);
    const struct counts *c = &m.counts[METER_ID_CACHEGRIND];
    assert_true(value(c, "instructions") == 10 && value(c, "loads") == 40);
    assert_true(value(c, "stores") == 30 && value(c, "d1_load_misses") == 5);
    assert_true(value(c, "d1_store_misses") == 3 && value(c, "d1_misses") == 8);
    assert_true(value(c, "ll_misses") == 3 && value(c, "seconds") > 0 && c->n == 8);
    if (o->target)
        assert_string_equal(c->source, "valgrind-9.9.9, sse variant, 1 thread, D1 4K/2/64, "
                                       "LL 8M/16/64");
    snprintf(path, sizeof path, "%s/args", dir);
    assert_true(file_read(path, 65536, &said, &e));
    for (int i = 0; i < COUNT_OF(args); i++)
        if (!strstr(str_text(&said), args[i]))
            fail_msg("no %s in %s", args[i], str_text(&said));
    str_free(&said);
}

static void check_refusals(const struct measure_opts *o)
{
    static const struct { const char *variable, *value, *reason; } row[] = {
        { "FAKE_FILE", "other.c", "cachegrind's output has nothing about the kernel" },
        { "FAKE_SAYS", "==12== bad news\\nmore\\n", "valgrind failed: bad news" },
        { "FAKE_SAYS", "12\\n", "valgrind ended with signal 0, exit code 3" },
        { "FAKE_VERSION", "nonsense 1",
          "valgrind does not work: signal 0, exit code 0: nonsense 1" },
    };
    static const char *const none[] = { NULL };
    setenv("FAKE_EXIT", "3", 1);
    for (int i = 0; i < COUNT_OF(row); i++) {
        char before[100];
        struct measurement m;
        snprintf(before, sizeof before, "%s", getenv(row[i].variable) ? getenv(row[i].variable)
                                                                      : "");
        setenv(row[i].variable, row[i].value, 1);
        assert_false(measure("gmm m=8 k=8 n=8", none, o, &m));
        assert_string_equal(m.counts[METER_ID_CACHEGRIND].reason, row[i].reason);
        setenv(row[i].variable, before, 1);
    }
}

static void what_valgrind_says_is_taken(void **state)
{
    struct machine here = *machine_this();
    struct measure_opts o = { .meters = METER_CACHEGRIND, .seed = 3, .machine = &here,
                              .target = target_named("sse"),
                              .cache = { .n_levels = 1,
                                         .level[0].geometry = { 4 << 10, 2, 64 } } };
    struct counts c = { .n = 0 };
    const char *dir = temp_dir(NULL);
    char *path = xstrdup(getenv("PATH"));
    (void)state;
    here.l3 = (struct cache_geometry){ 12 << 20, 16, 64 };
    if (!o.target->runs_here())
        o.target = NULL;
    plant_valgrind(dir);
    cachegrind_probe(&c);
    if (c.available) {                    /* not with address sanitizer */
        check_counts(dir, &o);
        check_refusals(&o);
    }
    setenv("PATH", "/nowhere", 1);
    cachegrind_probe(&c);
    assert_string_equal(c.reason, "valgrind is not installed: apt-get install valgrind");
    setenv("PATH", path, 1);
    free(path);
}

static void instruction_sets_are_checked(void **state)
{
    const struct target *t;
    struct err e;
    (void)state;
    assert_true((t = target_find("plain", &e)) && t->vector_bytes == 0);
    assert_ptr_equal(target_find(target_host()->isa, &e), target_host());
    assert_null(target_find("avx3", &e));
    assert_int_equal(e.code, ERR_NAME);
    assert_string_equal(e.fix, "avx2");
#if defined __x86_64__
    assert_null(target_find("neon", &e));
    assert_int_equal(e.code, ERR_ENV);
#endif
}


static int set_up(void **state)
{
    (void)state;
    perm = arena_new();
    temp_dir("XDG_CACHE_HOME");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(perm);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_files_are_summed),
        cmocka_unit_test(geometries_are_what_it_can_be),
        cmocka_unit_test(simulator_agrees),
        cmocka_unit_test(what_it_cannot_be_is_a_reason),
        cmocka_unit_test(what_valgrind_says_is_taken),
        cmocka_unit_test(instruction_sets_are_checked),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
