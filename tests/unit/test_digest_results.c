/* Random results of measuring, and random accesses of simulated caches: what reports, files,
 * comparisons and charts make of them, and what the cache lens says, as recorded (digest.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/views/lens_doc.h"
#include "app/views/measurement_doc.h"
#include "profile/measure/measure.h"
#include "profile/sim/cachesim.h"
#include "profile/sim/gpusim.h"
#include "sessions/report/compare.h"
#include "sessions/report/lens_report.h"
#include "sessions/report/report.h"
#include "sessions/report/roofline_steps.h"
#include "tests/unit/digest.h"
#include "tests/unit/random_results.h"
#include "tests/unit/random_steps.h"
#include "tests/unit/roof_model.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define CASES 200
#define STEPS 8

enum part { PART_REPORTS, PART_FILE, PART_DOCS, PART_COMPARED, PART_LENS, PART_CACHES, PART_STATS,
            PARTS };
static const char *const part_name[PARTS] = { "reports", "file", "docs", "compared", "lens",
                                              "caches", "stats" };

static const char *const specs[] = {
    "gmm m=64 k=32 n=48", "gmm m=24 k=64 n=128", "c2d i=8 h=14 w=14 o=16 k=3 p=1 bias=1 relu=1",
    "transpose n=64 c=32 perm=21", "softmax m=16 n=64", "dep c=8 h=12 k=3 p=1",
    "x = input n=1 i=4 h=8 w=8; a = c2d(x) o=8 k=3 p=1 relu=1; b = c2d(a) o=8 k=1",
    "gmm m=16 k=16 n=16 type=f16", "bmm b=4 m=16 k=64 n=16",
};

/* --- What is made of results ------------------------------------------------------------------ */

static const struct sim_result *sim_of(const struct state *s)
{
    return s->measured ? &s->measured->sim : NULL;
}

/* A session with steps, most of which were measured, some twice. */
static struct session *measured_session(struct rng *r, struct sim_detail *detail)
{
    struct session *s;
    struct err e;
    struct arena *a = arena_new();
    struct measurement m;
    if (!session_new(specs[rng_range(r, 0, COUNT_OF(specs) - 1)], &s, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < STEPS; i++) {
        const struct program *p = history_current(s->history)->program;
        int64_t kind = rng_range(r, 0, 3);
        history_apply(s->history, kind == 0 ? random_layout_step(a, r, p)
                                            : random_loop_step(a, r, p), &e);
        for (int64_t n = rng_range(r, 0, 2); n > 0; n--) {
            random_measurement(r, p, detail, &m);
            history_add_measured(s->history, history_current(s->history)->id, &m,
                                 rng_range(r, 0, 4) == 0);
        }
    }
    arena_free(a);
    return s;
}

static void print_reports(struct str *out, const struct session *s, const struct machine_model *m)
{
    const struct state *now = history_current(s->history);
    struct ledger_row row[STEPS + 2];
    int n = history_ledger(s->history, row, COUNT_OF(row));
    report_run_json(out, s, now->measured, METER_CLOCK | METER_SIM, "a machine", m);
    report_run_json(out, s, now->measured, METER_PERF, NULL, NULL);
    for (int i = 0; i < n; i++)
        str_printf(out, "%s %d %.6g %d %d %lld\n", row[i].step, row[i].has_change, row[i].change,
                   row[i].other_contract, row[i].has_misses_change,
                   (long long)row[i].misses_change);
}

static void print_roofs(struct str *out, const struct session *s, const struct machine_model *m)
{
    struct roof_step step[STEPS + 2];
    struct err e;
    int n = roofline_steps(s->history, m, step, COUNT_OF(step));
    for (int i = 0; i < n; i++) {
        const struct roofline *x = &step[i].r;
        str_printf(out, "%d %s %d %d: %.6g %.6g %d %.6g %.6g %.6g %s %.6g\n", step[i].position,
                   step[i].step, step[i].here, step[i].threads, x->compulsory, x->intensity,
                   x->simulated, x->gflops, x->peak, x->bound, roofline_by_name(x->by),
                   x->fraction);
        for (int k = 0; k < x->n; k++)
            str_printf(out, "  %d %.6g %.6g %.6g\n", (int)x->roof[k].from, x->roof[k].bytes,
                       x->roof[k].intensity, x->roof[k].gflops);
    }
    if (!roofline_steps_chart(s->history, m, CHART_SCRIPT, NULL, out, &e))
        err_print(out, &e);
}

/* The file, and the file that is written after reading it. */
static void print_files(struct str *out, const struct session *s)
{
    struct session *back;
    struct err e;
    size_t begin = out->len;
    session_yaml_in(s, NULL, out);
    size_t n = out->len - begin;
    if (!session_parse("s.yaml", str_text(out) + begin, n, &back, &e))
        fail_msg("%s", e.text);
    session_yaml_in(back, NULL, out);
    session_free(back);
}

static void print_doc(struct str *out, const struct doc *d)
{
    for (int i = 0; i < d->lines.len; i++) {
        const struct line *l = &d->lines.data[i];
        str_printf(out, "%d %s %s|%s\n", l->id, l->stage ? l->stage : "", l->loop ? l->loop : "",
                   l->text);
        for (const char *t = l->text; *t; t++)
            str_add_char(out, (char)('a' + l->style[t - l->text]));
        str_add_char(out, '\n');
    }
}

static void print_docs(struct str *out, const struct session *s, const struct machine_model *m)
{
    static const int width[] = { 46, 78, 130 };
    const struct state *now = history_current(s->history);
    struct doc d;
    if (!now->measured)
        return;
    doc_open(&d);
    for (int i = 0; i < COUNT_OF(width); i++) {
        struct measurement_look k = {
            .width = width[i], .exact = i == 2, .meters = i == 0 ? METER_CLOCK : ~0u,
            .program = now->program, .model = i == 1 ? m : NULL,
            .simulates = i == 1 ? "; m simulates it" : NULL,
            .before = measurement_before(s->history, &now->measured->sim),
        };
        doc_clear(&d);
        measurement_doc(&d, now->measured, &k);
        print_doc(out, &d);
    }
    doc_close(&d);
}

static void print_misses(struct str *out, const struct compare_misses *x, int n)
{
    for (int i = 0; i < n; i++)
        str_printf(out, "%s %s %d %d %d %lld %lld %lld %lld\n", x[i].name,
                   x[i].now ? x[i].now : "", x[i].store, x[i].n[0], x[i].n[1],
                   (long long)x[i].l1[0], (long long)x[i].l1[1], (long long)x[i].l2[0],
                   (long long)x[i].l2[1]);
}

/* Two of the states side by side. */
static void print_compared(struct str *out, const struct session *s, struct rng *r)
{
    static struct compare_misses misses[COMPARE_MOST_MISSES];
    struct compare_side side[2] = {{0}};
    struct str text[2] = {{0}};
    double ns[2];
    int n = history_n_states(s->history);
    for (int i = 0; i < 2; i++) {
        const struct state *x = history_state(s->history, (int)rng_range(r, 0, n - 1));
        program_print_nest(&text[i], x->program);
        side[i] = (struct compare_side){ i ? "main@2" : "main@1", str_text(&text[i]), x->program,
                                         sim_of(x) };
    }
    compare_json(out, side, COMPARE_NEST);
    print_misses(out, misses, compare_tensors(side, misses));
    print_misses(out, misses, compare_sites(side, misses));
    if (compare_simulated(side, ns))
        str_printf(out, "%.6g %.6g\n", ns[0], ns[1]);
    str_free(&text[0]);
    str_free(&text[1]);
}

/* --- The cache lens --------------------------------------------------------------------------- */

static void print_lens_doc(struct str *out, const struct lens *l, const struct forecast *now,
                           const struct forecast *cure, int n, const struct machine_model *m)
{
    struct doc d;
    doc_open(&d);
    for (int i = 0; i < 3; i++) {
        struct lens_look k = {
            .width = i ? 100 : 60, .rows = 6 + i, .at = (l->n_touches - 1) / (1 + i),
            .loop = i == 1 && l->n_loops > 0 ? 0 : -1, .cure = cure, .n_cures = n,
            .now = i == 2 ? NULL : now, .predicted = i != 2, .stopped = false, .keys = i == 1,
            .counted = i ? 12345 : -1, .model = m, .target = target_named("avx512"),
        };
        doc_clear(&d);
        lens_doc(&d, l, &k);
        print_doc(out, &d);
    }
    doc_close(&d);
}

static void print_lens(struct str *out, const struct program *p, const struct machine_model *m,
                       struct rng *r)
{
    static const char *const cache[] = { "1K/2/64", "2K/4/32", "4K/8/64,64K/8/64", "1K/16/64" };
    struct lens_opts o = { .target = target_named("avx512"), .from = -1 };
    struct forecast cure[FORECAST_CURES] = {{0}}, now = {0};
    struct arena *a = arena_new();
    struct lens *l;
    struct err e;
    if (!cache_config_parse(cache[rng_range(r, 0, 3)], &o.cache, &e)
        || !lens_open(p, &o, NULL, &l, &e)) {
        err_print(out, &e);
        arena_free(a);
        return;
    }
    int n = forecast_cures(p, l, a, cure);
    n = n > 6 ? 6 : n;                    /* the first ones, as each is simulated */
    if (!forecast_lens(p, &o.cache, o.target, NULL, NULL, cure, n, &now, &e))
        err_print(out, &e);
    lens_report_json(out, l, &now, cure, n);
    print_lens_doc(out, l, &now, cure, n, m);
    lens_free(l);
    arena_free(a);
}

/* --- Simulated caches ------------------------------------------------------------------------- */

static void print_caches(struct str *out, struct rng *r)
{
    static const char *const replace[] = { "lru", "plru", "random" };
    static const char *const fetch[] = { "none", "next", "lines:4", "stride", "stride:3:2" };
    static const char *const below[] = { "", ",4K/8/64", ",4K/4/64/inclusive,32K/8/64" };
    struct str text = {0};
    struct cache_config c;
    struct cachesim *s = NULL;
    struct err e;
    str_printf(&text, "1K/%d/64", 1 << rng_range(r, 0, 4));
    str_add(&text, below[rng_range(r, 0, 2)]);
    str_printf(&text, ",replace=%s", replace[rng_range(r, 0, 2)]);
    str_printf(&text, ",prefetch=%s", fetch[rng_range(r, 0, 4)]);
    if (!cache_config_parse(str_text(&text), &c, &e) || !cachesim_open(&c, 4, &s, &e))
        fail_msg("%s", e.text);
    cachesim_store_site(s, 3);
    for (int i = 0; i < 3000; i++) {
        unsigned site = (unsigned)rng_range(r, 0, 3);
        uint64_t addr = site < 2 ? 4096 * site + (uint64_t)(12 * i) % 2000
                                 : (uint64_t)rng_range(r, 4096, 16000);
        cachesim_access(s, addr, site, 1 + (unsigned)rng_range(r, 0, 80));
        if (i == 2500)
            cachesim_flush(s);
    }
    struct level_count level[CACHE_LEVELS];
    cachesim_levels(s, level);
    str_printf(out, "%s\n", str_text(&text));
    for (int k = 0; k < c.n_levels; k++) {
        str_printf(out, "%lld %lld %lld %lld %lld %lld:", (long long)level[k].accesses,
                   (long long)level[k].misses, (long long)level[k].writebacks,
                   (long long)level[k].prefetches, (long long)level[k].useful,
                   (long long)level[k].straddled);
        for (int i = 0; i < 4; i++)
            str_printf(out, " %lld", (long long)cachesim_counts(s)[i].misses[k]);
        str_add_char(out, '\n');
    }
    cachesim_close(s);
    str_free(&text);
}

static void print_gpu_counts(struct str *out, const struct gpusim *g, int n)
{
    for (int i = 0; i < n; i++) {
        const struct gpu_count *x = &gpusim_counts(g)[i];
        str_printf(out, "%.6g %.6g %.6g %.6g %.6g %.6g %.6g %d %d %d %lld\n", x->requests,
                   x->sectors, x->ideal, x->turns, x->conflicts, x->l1_misses, x->l2_misses,
                   x->degree, x->run, x->seen, (long long)x->stride);
    }
    const struct gpu_traffic *t = gpusim_traffic(g);
    str_printf(out, "%.6g %.6g %.6g %.6g %.6g %.6g %.6g\n", t->l1_asked, t->l1_misses, t->written,
               t->l2_asked, t->l2_misses, t->back, t->cycles);
}

/* Warps whose threads go on in strides, or anywhere. */
static void print_gpu(struct str *out, struct rng *r)
{
    static const struct gpu_site site[] = {
        { MEMORY_GLOBAL, false, 1 << 20, 0 }, { MEMORY_GLOBAL, true, 1 << 21, 0 },
        { MEMORY_LOCAL, true, 3 << 20, 256 }, { MEMORY_SHARED, false, 0, 0 },
        { MEMORY_LOCAL, false, 3 << 20, 256 },
    };
    struct gpu_device d;
    struct gpusim *g;
    struct err e;
    if (!gpu_device_parse("h100,sms=4,l1=8,shared=4,l2=16", &d, &e)
        || !gpusim_open(&d, COUNT_OF(site), site, 1 << 20, 1 << 23, &g, &e)) {
        err_print(out, &e);
        return;
    }
    gpusim_kernel(g, 4, 1024);
    for (int i = 0; i < 400; i++) {
        unsigned at = (unsigned)rng_range(r, 0, COUNT_OF(site) - 1);
        uint64_t most = site[at].memory == MEMORY_GLOBAL ? 1 << 16
                      : site[at].memory == MEMORY_SHARED ? 900 : 200;
        uint64_t stride = 4 * (uint64_t)rng_range(r, 0, 9), first = (uint64_t)rng_range(r, 0, 50);
        unsigned long long addr[GPU_WARP];
        for (int t = 0; t < GPU_WARP; t++)
            addr[t] = site[at].base + (4 * first + (uint64_t)t * stride) % most / 16 * 16;
        if (i % 20 == 0)
            gpusim_block(g, i / 20, i % 3 ? 1 : 2.5);
        uint32_t active = i % 4 ? ~0u : (uint32_t)rng_u64(r);
        gpusim_access(g, i % 4, active, addr, at, 4u << rng_range(r, 0, 2));
    }
    print_gpu_counts(out, g, COUNT_OF(site));
    gpusim_close(g);
}

/* --- Statistics ------------------------------------------------------------------------------- */

#define SAMPLES 60

static void print_stats(struct str *out, struct rng *r)
{
    double a[SAMPLES], b[SAMPLES];
    int block[SAMPLES], n = (int)rng_range(r, 1, SAMPLES), n_blocks = 0;
    random_samples(r, 1, a, n);
    random_samples(r, 0.9 + 0.2 * rng_unit(r), b, n);
    for (int i = 0; i < n; i += (int)rng_range(r, 1, 9))
        block[n_blocks++] = i;
    struct summary s = stats_summary(a, n);
    struct ratio x = stats_ratio(a, b, n, block, n_blocks, 7), y = ratio_inverse(&x);
    str_printf(out, "%.6g %.6g %.6g %.6g %.6g %.6g %.6g %.6g, disturbed %.6g\n", s.min, s.p10,
               s.p25, s.median, s.p75, s.p90, s.max, s.spread, stats_disturbed(a, n));
    str_printf(out, "%.5g %.5g %.5g %.5g %s, %.5g %.5g %.5g %.5g %s\n", x.ratio, x.low, x.high,
               x.best, verdict_name[stats_verdict(&x)], y.ratio, y.low, y.high, y.best,
               verdict_name[stats_verdict(&y)]);
    ratio_print(out, &x);
    ratio_print_times(out, &x);
    ratio_print_ends(out, &y);
    stats_print_undecided(out, &x);
}

/* A model of a machine, some of whose rates are doubtful. */
static struct machine_model random_model(struct rng *r, struct str *out)
{
    struct machine_model m = roof_model(), before = m;
    struct rate *rate[] = { &m.isa[0].gflops.one, &m.isa[1].gflops.all, &m.level[0].load.one,
                            &m.level[1].load.all, &m.level[2].load.one, &m.level[3].copy.one };
    for (int i = 0; i < COUNT_OF(rate); i++)
        if (rng_range(r, 0, 2) == 0) {
            rate[i]->best *= 0.3 + 1.4 * rng_unit(r);
            rate[i]->median = rate[i]->best * (0.4 + 0.6 * rng_unit(r));
            rate[i]->spread = rng_unit(r) * 0.3;
        }
    str_printf(out, "%d ", machine_model_doubts(&m, rng_range(r, 0, 1) ? &before : NULL, out));
    str_printf(out, "%d\n", machine_model_less(&m, &before, out));
    if (rng_range(r, 0, 1))
        machine_model_merge(&m, &before);
    for (int threads = 1; threads <= 5; threads += 2)
        str_printf(out, "%.6g\n", machine_model_peak(&m, threads));
    return m;
}

static void digest_case(struct digests *d, int seed)
{
    static struct sim_detail detail;
    struct rng r = rng_seed((uint64_t)seed + 3000);
    struct str text[PARTS] = {{0}};
    char name[20];
    struct machine_model m = random_model(&r, &text[PART_STATS]);
    struct session *s = measured_session(&r, &detail);
    const struct measurement *now = history_current(s->history)->measured;
    print_reports(&text[PART_REPORTS], s, &m);
    print_roofs(&text[PART_REPORTS], s, &m);
    if (now)
        roofline_doubts(&m, now, &text[PART_REPORTS]);
    print_files(&text[PART_FILE], s);
    print_docs(&text[PART_DOCS], s, &m);
    print_compared(&text[PART_COMPARED], s, &r);
    print_lens(&text[PART_LENS], history_current(s->history)->program, &m, &r);
    print_caches(&text[PART_CACHES], &r);
    print_gpu(&text[PART_CACHES], &r);
    print_stats(&text[PART_STATS], &r);
    snprintf(name, sizeof name, "%d", seed);
    digest_add(d, name, part_name, text, PARTS);
    session_free(s);
}

static void test_results(void **state)
{
    (void)state;
    struct digests d = {0};
    for (int seed = 0; seed < CASES; seed++)
        digest_case(&d, seed);
    digest_check(&d, "tests/golden/digest/results.txt");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_results) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
