/* The machine model: sizes of its buffers, rates of some threads, a measurement of this machine,
 * and the file that keeps it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/arena.h"
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "profile/build/build.h"
#include "sessions/file/machine_file.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define KIB ((int64_t)1 << 10)
#define MIB ((int64_t)1 << 20)


/* --- Arithmetic ------------------------------------------------------------------------------- */

/* Every buffer lies in its level and well outside the one before. */
static void sizes(void **state)
{
    (void)state;
    static const struct {
        int cores; int64_t l2, l3, memory, want[MODEL_LEVELS];
    } row[] = {
        { 2, MIB, 32 * MIB, 16384 * MIB, { 16 * KIB, 512 * KIB, 8 * MIB, 128 * MIB } },
        { 1, MIB, 32 * MIB, 16384 * MIB, { 16 * KIB, 512 * KIB, 16 * MIB, 128 * MIB } },
        { 16, MIB, 32 * MIB, 65536 * MIB, { 16 * KIB, 512 * KIB, 2 * MIB, 128 * MIB } },
        { 2, 2 * MIB, 4 * MIB, 16384 * MIB, { 16 * KIB, MIB, 0, 16 * MIB } },
        { 2, 0, 0, 16384 * MIB, { 16 * KIB, 0, 0, 128 * MIB } },
        { 2, MIB, 32 * MIB, 640 * MIB, { 16 * KIB, 512 * KIB, 8 * MIB, 64 * MIB } },
        { 2, MIB, 32 * MIB, 256 * MIB, { 16 * KIB, 512 * KIB, 8 * MIB, 0 } },
        /* at the ends: twice the L2 is half of the L3; a quarter of the memory for two buffers */
        { 2, MIB, 4 * MIB, 16384 * MIB, { 16 * KIB, 512 * KIB, 2 * MIB, 16 * MIB } },
        { 2, 64 * MIB, 0, 16384 * MIB, { 16 * KIB, 32 * MIB, 0, 256 * MIB } },
        { 2, 32 * MIB, 0, 16384 * MIB, { 16 * KIB, 16 * MIB, 0, 128 * MIB } },
        { 2, MIB, 32 * MIB, 1024 * MIB, { 16 * KIB, 512 * KIB, 8 * MIB, 128 * MIB } },
        { 2, MIB, 32 * MIB, 1023 * MIB, { 16 * KIB, 512 * KIB, 8 * MIB, 64 * MIB } },
        { 2, MIB, 32 * MIB, 512 * MIB, { 16 * KIB, 512 * KIB, 8 * MIB, 64 * MIB } },
        { 2, MIB, 32 * MIB, 511 * MIB, { 16 * KIB, 512 * KIB, 8 * MIB, 0 } },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct machine m = { .cores = row[i].cores, .l1d = { 32 * KIB, 8, 64 },
                             .l2 = { row[i].l2, 8, 64 }, .l3 = { row[i].l3, 16, 64 } };
        for (int l = 0; l < MODEL_LEVELS; l++) {
            char reason[96];
            int64_t got = machine_model_bytes(&m, (enum model_level)l, row[i].memory, reason,
                                              sizeof reason);
            if (got != row[i].want[l] || (got == 0) != (reason[0] != '\0'))
                fail_msg("row %d, %s: %lld, expected %lld (%s)", i, model_level_name[l],
                         (long long)got, (long long)row[i].want[l], reason);
            int64_t size = l == MODEL_L3 ? row[i].l3 : row[i].l2;
            if (got == 0)
                assert_string_equal(reason, l == MODEL_DRAM
                                    ? "measuring DRAM needs 512 MiB of free memory"
                                    : size > 0 ? "not much larger than the L2"
                                    : "this machine does not report such a cache");
        }
    }
}

static void rates(void **state)
{
    (void)state;
    static const struct { double one, all; int threads, cores; double want; } row[] = {
        { 10, 35, 1, 4, 10 }, { 10, 35, 2, 4, 20 }, { 10, 35, 3, 4, 30 }, { 10, 35, 4, 4, 35 },
        { 10, 35, 9, 4, 35 }, { 10, 15, 2, 4, 15 }, { 10, 8, 4, 4, 10 }, { 10, 0, 4, 4, 10 },
        { 0, 0, 1, 4, 0 },    { 0, 0, 4, 4, 0 },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct rates r = { { row[i].one, row[i].one, 0, row[i].one > 0 },
                           { row[i].all, row[i].all, 0, row[i].all > 0 } };
        assert_true(machine_model_rates(&r, row[i].threads, row[i].cores) == row[i].want);
    }
}

/* The lines of the first CPU are read, however many CPUs follow. */
static void many_cpus(void **state)
{
    (void)state;
    struct str all = {0}, text = {0};
    char path[300];
    struct err e;
    for (int i = 0; i < 1000; i++)
        str_printf(&all, "processor\t: %d\nmodel name\t: CPU of number %d\nflags\t\t: %01500d\n\n",
                   i, i, 0);
    snprintf(path, sizeof path, "%s/cpuinfo", temp_dir(NULL));
    assert_true(all.len > MIB && file_write_atomic(path, all.data, all.len, &e));
    assert_true(machine_cpu_text(path, &text) && text.len >= 16384 && text.len < all.len);
    assert_true(strncmp(text.data, all.data, text.len) == 0);
    assert_false(machine_cpu_text("/nowhere/cpuinfo", &text));
    str_free(&all);
    str_free(&text);
}

/* --- Measuring -------------------------------------------------------------------------------- */

static void check_rate(const struct rate *r)
{
    assert_true(r->runs >= 3);
    assert_true(r->best > 0 && r->median > 0 && r->median <= r->best * 1.0000001);
    assert_true(r->spread >= 0);
}

/* What a model says of the machine, and what must have been measured beside the loads. */
static void assert_measured_as(const struct machine_model *model, const struct machine *m,
                               const struct compiler *cc)
{
    const struct cache_geometry *cache[] = { &m->l1d, &m->l2, &m->l3 };
    struct str print = {0};
    machine_model_fingerprint(&print, m);
    assert_string_equal(model->fingerprint, str_text(&print));
    str_free(&print);
    assert_string_equal(model->compiler, cc->version);
    assert_true(model->seconds > 0 && model->isa[0].vector_floats == m->vector_floats);
    for (int i = 0; i < MODEL_LEVELS; i++) {
        const struct level_bandwidth *l = &model->level[i];
        assert_true(l->capacity == (i < MODEL_DRAM ? cache[i]->size_bytes : 0));
        bool alone = i == MODEL_L3 && l->bytes * m->cores > m->l3.size_bytes;
        assert_int_equal(l->load.all.runs > 0, l->bytes > 0 && (!alone || m->cores == 1));
        assert_int_equal(l->copy.one.runs > 0, i == MODEL_DRAM && l->bytes > 0);
        assert_int_equal(l->copy.all.runs > 0, i == MODEL_DRAM && l->bytes > 0);
    }
}

/* The share of all loops that is done, one after the other. */
struct heard { int n; double last; };

static void hear(void *ctx, const char *what, double fraction)
{
    struct heard *h = ctx;
    assert_string_equal(what, "measuring this machine");
    assert_true(fraction >= h->last && fraction < 1 && (h->n > 0 || fraction == 0));
    h->last = fraction;
    h->n++;
}

/* Nothing is said of how fast: only of what must be there. */
static void measured_here(void **state)
{
    (void)state;
    struct compiler cc;
    struct machine m;
    struct machine_model model, again;
    struct err e;
    machine_read(&m);
    m.l3.size_bytes = m.l3.size_bytes > 4 * MIB ? 4 * MIB : m.l3.size_bytes;   /* a short test */
    if (!compiler_find(NULL, &cc, &e))
        fail_msg("%s", e.text);
    struct heard heard = {0};
    struct progress pr = { hear, &heard };
    if (!machine_model_measure(&cc, &m, 0.05, &pr, NULL, &model, &e))
        fail_msg("%s", e.text);
    assert_true(heard.n > model.n_isa && heard.last > 0.5);
    assert_in_range(model.n_isa, 1, MODEL_ISAS);
    assert_string_equal(model.isa[0].isa, m.isa);
    assert_string_equal(model.isa[model.n_isa - 1].isa, "plain");
    for (int i = 0; i < model.n_isa; i++) {
        check_rate(&model.isa[i].gflops.one);
        check_rate(&model.isa[i].gflops.all);
    }
    for (int i = 0; i < MODEL_LEVELS; i++)
        if (model.level[i].bytes > 0)
            check_rate(&model.level[i].load.one);
        else
            assert_true(model.level[i].reason[0] && model.level[i].load.one.runs == 0);
    assert_true(model.level[MODEL_L1].bytes > 0 && model.cores == m.cores);
    assert_int_equal(strlen(model.date), 20);
    assert_measured_as(&model, &m, &cc);
    struct cancel now = { .raised = 1 };
    assert_false(machine_model_measure(&cc, &m, 0.05, NULL, &now, &again, &e));
    assert_int_equal(e.code, ERR_CANCEL);
}

/* --- The file --------------------------------------------------------------------------------- */

static struct machine_model some_model(const struct machine *m)
{
    struct machine_model model = {
        .date = "2026-11-21T02:00:00Z", .compiler = "gcc \"12\"", .cores = 2, .seconds = 3.25,
        .n_isa = 2,
        .isa = { { "avx2", 8, { { 100.5, 90, 0.1, 7 }, { 190, 150, 0.25, 7 } } },
                 { "plain", 1, { { 12, 11, 0, 3 }, { 0 } } } },
        .level = { { 32768, 16384, .load = { { 400, 390, 0.5, 9 }, { 800, 1, 2, 3 } } },
                   { 1 << 20, 524288, .load = { { 50, 45, 0.125, 7 }, { 0 } } },
                   { 2 << 20, .reason = "not much larger than the L2" },
                   { 0, 1 << 27, .load = { { 15, 12, 0.5, 3 }, { 20, 18, 0.5, 3 } },
                     .copy = { { 14, 12, 0.5, 3 }, { 0 } } } },
    };
    struct str print = {0};
    machine_model_fingerprint(&print, m);
    snprintf(model.fingerprint, sizeof model.fingerprint, "%s", str_text(&print));
    str_free(&print);
    return model;
}

static void assert_same(const struct machine_model *a, const struct machine_model *b)
{
    struct str one = {0}, two = {0};
    machine_file_print(&one, a);
    machine_file_print(&two, b);
    assert_string_equal(str_text(&one), str_text(&two));
    str_free(&one);
    str_free(&two);
}

static void put_file(const char *text)
{
    struct str path = {0};
    struct err e;
    assert_true(dir_cache(&path, &e));
    str_add(&path, "/machine.json");
    assert_true(file_write_atomic(str_text(&path), text, strlen(text), &e));
    str_free(&path);
}

static void kept(void **state)
{
    (void)state;
    struct machine here, other;
    struct machine_model model, found;
    struct err e = {0};
    machine_read(&here);
    assert_false(machine_file_load(&here, &found, &e));
    assert_int_equal(e.code, ERR_ENV);
    assert_string_equal(e.text, "no machine model: it was not measured yet");
    assert_string_equal(e.fix, "tilescope machine measures it");
    model = some_model(&here);
    assert_true(machine_file_save(&model, FILE_ANYTHING, &e));
    assert_true(machine_file_load(&here, &found, &e));
    assert_same(&model, &found);
    other = here;
    other.cores++;
    assert_false(machine_file_load(&other, &found, &e));
    assert_non_null(strstr(e.text, "of another machine"));
    put_file("{}\n");
    assert_false(machine_file_load(&here, &found, &e));
    assert_non_null(strstr(e.text, "its file is damaged"));
    char large[70000];
    memset(large, ' ', sizeof large);
    large[sizeof large - 1] = '\0';
    put_file(large);
    assert_false(machine_file_load(&here, &found, &e));
    assert_non_null(strstr(e.text, "machine.json is larger than 65536 bytes"));
    put_file("{}\n");
}

/* --- Disturbed -------------------------------------------------------------------------------- */

static void slow_together(struct machine_model *m) { m->isa[0].gflops.all.best = 70; }
static void slow_all_together(struct machine_model *m)
{
    slow_together(m);
    m->level[MODEL_L1].load.all.best = 100;
}
static void slow_inside(struct machine_model *m)
{
    m->level[MODEL_L1].load = (struct rates){ .one = { 40, 40, 0, 3 } };
}
static void slow_outside(struct machine_model *m)
{
    m->level[MODEL_L2].load.one = (struct rate){ 12, 12, 0, 3 };
}
static void odd_l2(struct machine_model *m)
{
    m->level[MODEL_L2].load.one = (struct rate){ 14, 13, 0, 3 };          /* DRAM has 15 */
}
static void slow_wide(struct machine_model *m) { m->isa[0].gflops.one.best = 10; }
static void uneven(struct machine_model *m) { m->level[MODEL_DRAM].load.one.median = 8; }
static void slow_day(struct machine_model *m)
{
    m->isa[0].gflops = (struct rates){ { 80, 80, 0, 7 }, { 150, 150, 0, 7 } };
}
static void slow_one(struct machine_model *m)
{
    m->isa[0].gflops.one = (struct rate){ 80, 80, 0, 7 };
}
static void slow_all(struct machine_model *m)
{
    m->isa[0].gflops.all = (struct rate){ 150, 150, 0, 7 };
}
static void slow_copy(struct machine_model *m)
{
    m->level[MODEL_DRAM].copy.one = (struct rate){ 10, 10, 0, 3 };
}
static void slow_day_and_copy(struct machine_model *m)
{
    slow_day(m);
    slow_copy(m);
}
static void all_slow_inside(struct machine_model *m)
{
    m->level[MODEL_L1].load.all = (struct rate){ 400, 400, 0, 3 };
    m->level[MODEL_L2].load.all = (struct rate){ 410, 410, 0, 3 };
}
/* Each at the end of what is no doubt yet. */
static void at_the_limits(struct machine_model *m)
{
    m->isa[1].gflops.one = (struct rate){ 20, 20, 0, 3 };
    m->isa[0].gflops = (struct rates){ { 18, 18, 0, 7 }, { 14.5, 14.5, 0, 7 } };
    m->level[MODEL_L2].load.one = m->level[MODEL_DRAM].load.one;
    m->level[MODEL_DRAM].load.one.median = 9.1;
}
static void unknown_rates(struct machine_model *m)
{
    m->isa[0].gflops = (struct rates){ { 1, 1, 0, 0 }, { 1, 1, 0, 0 } };
    m->level[MODEL_L1].load = (struct rates){ { 1, 0.1, 0, 0 }, { 0.1, 0.1, 0, 0 } };
}
static void fine(struct machine_model *m) { (void)m; }

static void doubts_are_told(void **state)
{
    (void)state;
    static const struct {
        void (*disturb)(struct machine_model *m); bool before; int n; const char *want;
    } row[] = {
        { fine, false, 0, "" }, { fine, true, 0, "" },
        { slow_together, false, 1, "2 cores together slower than one (avx2)" },
        { slow_all_together, false, 2, "2 cores together slower than one (avx2, L1)" },
        { slow_inside, false, 1, "L1 slower than L2" },
        { slow_outside, false, 1, "L2 slower than DRAM" },       /* there is no L3 between them */
        { odd_l2, false, 1, "L2 slower than DRAM" },
        { slow_wide, false, 1, "avx2 slower than plain" },
        { uneven, false, 1, "most samples far below the best (DRAM)" },
        { slow_day, false, 0, "" },
        { slow_day, true, 1, "less than on 2026-11-21T02:00:00Z (avx2)" },
        { slow_one, true, 1, "less than on 2026-11-21T02:00:00Z (avx2)" },
        { slow_all, true, 1, "less than on 2026-11-21T02:00:00Z (avx2)" },
        { slow_copy, false, 0, "" },
        { slow_copy, true, 1, "less than on 2026-11-21T02:00:00Z (DRAM, copy)" },
        { slow_day_and_copy, true, 2, "less than on 2026-11-21T02:00:00Z (avx2, DRAM, copy)" },
        { all_slow_inside, false, 1, "L1 slower than L2" },
        { at_the_limits, false, 0, "" }, { unknown_rates, true, 0, "" },
    };
    struct machine here;
    machine_read(&here);
    struct machine_model before = some_model(&here);
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct machine_model m = before;
        struct str out = {0};
        row[i].disturb(&m);
        if (row[i].disturb == slow_wide)
            m.isa[0].gflops.one.median = 10;
        int n = machine_model_doubts(&m, row[i].before ? &before : NULL, &out);
        if (n != row[i].n || strcmp(str_text(&out), row[i].want) != 0)
            fail_msg("row %d: %d: %s", i, n, str_text(&out));
        str_free(&out);
    }
}

/* Measurements as they were scripted, one after the other. */
struct tries {
    const struct machine *here; void (*const *disturb)(struct machine_model *m); int n;
};

static bool scripted(void *ctx, struct machine_model *out, struct err *e)
{
    struct tries *t = ctx;
    if (!t->disturb[t->n])
        return err_set(e, ERR_CANCEL, "cancelled");
    *out = some_model(t->here);
    t->disturb[t->n++](out);
    snprintf(out->date, sizeof out->date, "2027-01-0%dT00:00:00Z", t->n);
    return true;
}

static void higher(struct machine_model *m)
{
    m->isa[0].gflops.one.best = 110;
    m->level[MODEL_DRAM].load.one.best = 16;
}

/* The file has the higher of each rate afterwards, whichever model was doubtful. */
static void the_higher_roofs_stay(void **state)
{
    (void)state;
    static const struct {
        void (*stored)(struct machine_model *m), (*disturb[4])(struct machine_model *m);
        int tries; const char *doubts, *less; double avx2, l2, dram;
    } row[] = {
        { NULL, { fine }, 1, "", "", 100.5, 50, 15 },
        { NULL, { slow_inside, fine }, 2, "", "", 100.5, 50, 15 },
        { NULL, { slow_wide, slow_wide, slow_wide }, 3, "avx2 slower than plain", "", 10, 50, 15 },
        { NULL, { odd_l2, odd_l2, odd_l2 }, 3, "L2 slower than DRAM", "", 100.5, 14, 15 },
        { fine, { slow_wide, slow_wide, slow_wide }, 3, "", "avx2", 100.5, 50, 15 },
        { fine, { slow_day, slow_day, slow_day }, 3, "", "avx2", 100.5, 50, 15 },
        { fine, { slow_day, fine }, 2, "", "", 100.5, 50, 15 },
        { fine, { higher }, 1, "", "", 110, 50, 16 },
        { higher, { fine }, 1, "", "", 110, 50, 16 },
        { slow_day, { fine }, 1, "", "", 100.5, 50, 15 },
        { slow_wide, { slow_day }, 1, "", "avx2", 80, 50, 15 },
        { odd_l2, { fine }, 1, "", "", 100.5, 50, 15 },
        { odd_l2, { higher }, 1, "", "", 110, 50, 16 },
        { slow_wide, { slow_inside, slow_inside, slow_inside }, 3, "", "L1", 100.5, 50, 15 },
        { fine, { slow_wide, NULL }, 0, "", "", 100.5, 50, 15 },
    };
    struct machine here;
    struct err e;
    machine_read(&here);
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct tries tries = { .here = &here, .disturb = row[i].disturb };
        struct machine_model stored = some_model(&here), found;
        static struct machine_fresh fresh;
        put_file("{}\n");
        if (row[i].stored) {
            row[i].stored(&stored);
            assert_true(machine_file_save(&stored, FILE_ANYTHING, &e));
        }
        bool ok = machine_file_measure(&here, scripted, &tries, 3, &fresh, &e);
        assert_true(machine_file_load(&here, &found, &e));
        if (ok != (row[i].tries > 0) || fresh.tries != row[i].tries
            || !streq(fresh.doubts, row[i].doubts) || !streq(fresh.less, row[i].less)
            || found.isa[0].gflops.one.best != row[i].avx2
            || found.level[MODEL_L2].load.one.best != row[i].l2
            || found.level[MODEL_DRAM].load.one.best != row[i].dram)
            fail_msg("row %d: %d tries, doubts: %s, less: %s, avx2 %g", i, fresh.tries,
                     fresh.doubts, fresh.less, found.isa[0].gflops.one.best);
        assert_true(strncmp(found.date, ok ? "2027-01-01" : "2026-11-21", 10) == 0);
    }
}

/* A best among disturbed samples stays doubtful only until there are calmer samples. */
static void calm_samples_end_the_doubt(void **state)
{
    (void)state;
    struct machine here;
    machine_read(&here);
    struct machine_model old = some_model(&here), calm = old;
    struct rate *rate = &old.level[MODEL_DRAM].load.one;
    struct str doubts = {0};
    *rate = (struct rate){ 15, 8, 0.9, 3 };
    calm.level[MODEL_DRAM].load.one = (struct rate){ 14.5, 13, 0.1, 5 };
    assert_int_equal(machine_model_doubts(&old, NULL, &doubts), 1);
    machine_model_merge(&old, &calm);
    assert_true(rate->best == 15 && rate->median == 13 && rate->spread == 0.1 && rate->runs == 5);
    assert_int_equal(machine_model_doubts(&old, NULL, &doubts), 0);
    str_free(&doubts);
}

/* A level that could not be measured at first has rates later, and then its size and no reason. */
static void a_level_that_is_measured_later_is_whole(void **state)
{
    (void)state;
    struct machine here;
    machine_read(&here);
    struct machine_model old = some_model(&here), later = old;
    const struct level_bandwidth *l = &old.level[MODEL_L3];
    later.level[MODEL_L3] = (struct level_bandwidth){
        4 << 20, 2 << 20, .load = { { 30, 28, 0.1, 5 }, { 55, 50, 0.1, 5 } },
    };
    assert_true(l->reason[0] && l->load.one.runs == 0);
    machine_model_merge(&old, &later);
    assert_true(l->load.one.best == 30 && l->load.all.best == 55);
    assert_true(l->bytes == 2 << 20 && l->capacity == 4 << 20 && !l->reason[0]);
    later.level[MODEL_L3] = some_model(&here).level[MODEL_L3];  /* and it stays whole */
    machine_model_merge(&old, &later);
    assert_true(l->load.one.best == 30 && l->bytes == 2 << 20 && !l->reason[0]);
}

/* Rates are merged by name; one that was not measured changes nothing. */
static void rates_are_merged_by_name(void **state)
{
    (void)state;
    struct machine here;
    machine_read(&here);
    struct machine_model to = some_model(&here), from = to;
    from.n_isa = 3;
    from.isa[0] = (struct isa_peak){ "avx9", 99, { { 999, 999, 0, 3 }, { 999, 999, 0, 3 } } };
    from.isa[1] = (struct isa_peak){ "plain", 1, { { 13, 10, 0.5, 4 }, { 24, 22, 0.5, 5 } } };
    from.isa[2] = (struct isa_peak){ "avx2", 8, { { 900, 900, 0, 0 }, { 180, 160, 0.5, 9 } } };
    machine_model_merge(&to, &from);
    assert_int_equal(to.n_isa, 2);
    const struct rates *avx2 = &to.isa[0].gflops, *plain = &to.isa[1].gflops;
    assert_true(avx2->one.best == 100.5 && avx2->one.median == 90 && avx2->one.runs == 7);
    assert_true(avx2->all.best == 190 && avx2->all.median == 160 && avx2->all.runs == 9);
    assert_true(plain->one.best == 13 && plain->one.median == 11 && plain->one.runs == 3);
    assert_true(plain->all.best == 24 && plain->all.median == 22 && plain->all.runs == 5);
}

/* Another process measures as well, and is done first. */
static bool overtaken(void *ctx, struct machine_model *out, struct err *e)
{
    const struct machine *here = ctx;
    struct machine_model better = some_model(here);
    *out = better;
    slow_wide(out);
    return machine_file_save(&better, FILE_ANYTHING, e);
}

static void one_that_came_meanwhile_stays(void **state)
{
    (void)state;
    static struct machine_fresh fresh;
    struct machine_model found;
    struct machine here;
    struct str doubts = {0};
    struct err e;
    machine_read(&here);
    put_file("{}\n");
    assert_true(machine_file_measure(&here, overtaken, &here, 1, &fresh, &e));
    assert_string_equal(fresh.less, "avx2");
    assert_true(machine_file_load(&here, &found, &e));
    assert_int_equal(machine_model_doubts(&found, NULL, &doubts), 0);
    str_free(&doubts);
}

/* Whatever byte is lost or changed: the model is the same, or it is refused; never half of one. */
static void damaged(void **state)
{
    (void)state;
    struct machine here;
    machine_read(&here);
    struct machine_model model = some_model(&here), found;
    struct str whole = {0};
    struct err e;
    machine_file_print(&whole, &model);
    for (size_t cut = 0; cut + 2 < whole.len; cut++) {
        struct str part = {0};
        str_add_n(&part, whole.data, cut);
        if (machine_file_parse(str_text(&part), &found, &e))
            fail_msg("a file of %d bytes of %d was taken", (int)cut, (int)whole.len);
        str_free(&part);
    }
    uint64_t seed = 4711;
    struct rng r = rng_seed(seed);
    for (int i = 0; i < 3000; i++) {
        struct str text = {0};
        str_add(&text, str_text(&whole));
        size_t at = (size_t)rng_range(&r, 0, (int64_t)whole.len - 1);
        text.data[at] = "{}[]\",:0-9eanul "[rng_range(&r, 0, 15)];
        if (machine_file_parse(str_text(&text), &found, &e)) {
            assert_in_range(found.n_isa, 1, MODEL_ISAS);
            for (int k = 0; k < found.n_isa; k++)
                assert_true(found.isa[k].gflops.one.best > 0);
        } else if (e.code != ERR_SYNTAX && e.code != ERR_TYPE) {
            fail_msg("seed %llu: error %d", (unsigned long long)seed, (int)e.code);
        }
        str_free(&text);
    }
    str_free(&whole);
}

static int set_up(void **state)
{
    (void)state;
    temp_dir("XDG_CACHE_HOME");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),   cmocka_unit_test(rates), cmocka_unit_test(many_cpus),
        cmocka_unit_test(measured_here),
        cmocka_unit_test(kept),    cmocka_unit_test(damaged),
        cmocka_unit_test(doubts_are_told), cmocka_unit_test(the_higher_roofs_stay),
        cmocka_unit_test(calm_samples_end_the_doubt),
        cmocka_unit_test(a_level_that_is_measured_later_is_whole),
        cmocka_unit_test(rates_are_merged_by_name),
        cmocka_unit_test(one_that_came_meanwhile_stays),
    };
    return cmocka_run_group_tests_name("machine", tests, set_up, NULL);
}
