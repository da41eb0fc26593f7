/* The cache lens: windows, sets over time, pairs in conflict, the accesses that miss, and the cures
 * that are proposed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/views/lens_doc.h"
#include "kernels/gen/target.h"
#include "sessions/report/lens_report.h"
#include "tests/unit/golden.h"
#include "tests/unit/roof_model.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const struct program *replayed(struct arena *a, const char *spec, const char *const *steps,
                                      int n)
{
    const struct program *p;
    struct err e;
    int bad;
    if (!program_replay(a, spec, steps, n, &p, &bad, &e))
        fail_msg("%s", e.text);
    return p;
}

/* The counts depend on the vectors of the target: this one is the same on every machine. */
static const struct target *fixed_target(void)
{
    return target_named("avx512");
}

static struct lens *lens_of(const struct program *p, const char *cache, int64_t from, int touches)
{
    struct lens_opts o = { .target = fixed_target(), .from = from, .touches = touches };
    struct lens *l = NULL;
    struct err e;
    if (!cache_config_parse(cache, &o.cache, &e) || !lens_open(p, &o, NULL, &l, &e))
        fail_msg("%s", e.text);
    return l;
}

/* B is read along k: with each k one row of 2048 bytes, 32 lines, further. */
static void partners(void **state)
{
    struct arena *a = arena_new();
    struct lens *l = lens_of(replayed(a, "gmm m=64 k=128 n=512", NULL, 0), "32K/8/64", -1, 0);
    (void)state;
    assert_int_equal(l->n_sets, 64);
    assert_true(l->n_touches == LENS_TOUCHES && l->from > 0 && l->from < l->iterations);
    assert_true(l->conflicts > l->misses * 9 / 10 && l->n_pairs > 0);
    const struct lens_pair *p = &l->pair[0];
    assert_string_equal(l->site[p->site].text, "B[k][n]");
    assert_string_equal(l->site[p->by].text, "B[k][n]");
    assert_int_equal(lens_set_of(l, p->line), lens_set_of(l, p->other));
    assert_int_equal(lens_set_of(l, p->line), p->set);
    assert_int_equal(p->held, 8);
    assert_string_equal(l->loop[p->loop].axis, "K");
    assert_int_equal(p->stride, 2048);
    assert_int_equal(p->trips, 128);
    assert_int_equal(p->sets, 2);
    lens_free(l);
    arena_free(a);
}

/* A line hits if it is resident by the touches alone; resident lines never exceed the cache. */
static void touches_are_consistent(void **state)
{
    static const char *const cache[] = { "4K/4/64", "4K/4/64,prefetch=next", "3K/4/64" };
    (void)state;
    for (int k = 0; k < 3; k++) {
        struct arena *a = arena_new();
        struct lens *l = lens_of(replayed(a, "c2d n=1 i=8 h=12 w=12 o=16 k=3 p=1", NULL, 0),
                                 cache[k], 0, 20000);
        bool *held = xcalloc((size_t)l->n_lines, 1), *then = xcalloc((size_t)l->n_lines, 1);
        int n = 0;
        for (int i = 0; i < l->n_touches; i++) {
            const struct lens_touch *t = &l->touch[i];
            assert_true(t->site == LENS_PREFETCH || held[t->line] == !t->missed);
            n += !held[t->line];
            held[t->line] = true;
            if (t->evicted >= 0) {
                assert_true(held[t->evicted]);
                assert_int_equal(lens_set_of(l, t->evicted), lens_set_of(l, t->line));
                held[t->evicted] = false;
                n--;
            }
            assert_true(n <= l->n_sets * l->ways);
        }
        lens_held(l, l->n_touches - 1, then);
        assert_memory_equal(held, then, (size_t)l->n_lines);
        free(held);
        free(then);
        double cell[4 * 10], sum = 0;
        lens_grid(l, false, 4, 10, cell);
        for (int i = 0; i < 40; i++)
            sum += cell[i];
        assert_true(sum == (double)l->misses);
        lens_free(l);
        arena_free(a);
    }
}

static void iterations(void **state)
{
    struct arena *a = arena_new();
    struct lens *l = lens_of(replayed(a, "gmm m=4 k=8 n=4", NULL, 0), "4K/4/64", 0, 0);
    int k = l->n_loops - 1, from = 0, n = 0;
    (void)state;
    assert_string_equal(l->loop[k].axis, "K");
    for (; lens_next(l, k, from, 1) > 0; n++) {
        int to = lens_next(l, k, from, 1);
        assert_int_equal(lens_next(l, k, to, -1), from);
        assert_int_equal(lens_value(l, k, to), (lens_value(l, k, from) + 1) % 8);
        from = to;
    }
    assert_int_equal(n, 4 * 4 * 8 - 1);
    lens_free(l);
    arena_free(a);
}

static double run_misses(const struct lens *l)
{
    double sum = 0;
    for (int i = 0; i < l->n_sets * l->n_columns; i++)
        sum += l->cell[i];
    return sum;
}

/* A short run counts every miss, a long one about as many as a simulation from end to end. */
static void whole_run(void **state)
{
    static const struct { const char *spec; int64_t misses; } run[] = {
        { "gmm m=4 k=8 n=4", 0 }, { "c2d n=1 i=2 h=6 w=6 o=4 k=3 p=1", 0 },
        { "gmm m=64 k=128 n=512", 4000000 }, { "gmm m=128 k=512 n=128", 8000000 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(run); i++) {
        struct arena *a = arena_new();
        const struct program *p = replayed(a, run[i].spec, NULL, 0);
        struct lens *l = lens_of(p, "32K/8/64", 0, 0);
        assert_int_equal(l->n_columns, 64);
        if (run[i].misses == 0) {
            assert_true(l->n_touches < LENS_TOUCHES && l->misses > 0);
            if (run_misses(l) != (double)l->misses || l->simulated != 1)
                fail_msg("%g of %lld misses, %g", run_misses(l), (long long)l->misses,
                         l->simulated);
        } else {
            struct predict_opts o = { .cache = l->cache };
            struct prediction all;
            struct err e;
            assert_true(predict_misses(p, &o, NULL, &all, &e));
            assert_true(l->simulated < 0.3 && l->simulated > 0);
            double of = run_misses(l) / (double)all.l1_misses;
            if (!(of > 0.93 && of < 1.07))
                fail_msg("%s: %g of %lld misses", run[i].spec, of, (long long)all.l1_misses);
            double cell[64], least = INFINITY;
            lens_grid(l, true, 1, 64, cell);
            for (int x = 4; x < 64; x++)
                least = fmin(least, cell[x]);
            assert_true(least > 0.5 * run_misses(l) / 64);       /* it misses all the time */
        }
        lens_free(l);
        arena_free(a);
    }
}

/* Every set misses alike, and a column is 8 rows of the output long: samples that all ended with a
 * row would only see the last columns of B. */
static void samples_see_all_sets(void **state)
{
    struct arena *a = arena_new();
    struct lens *l = lens_of(replayed(a, "gmm m=128 k=256 n=512", NULL, 0), "32K/8/64", -1, 0);
    double mean = run_misses(l) / l->n_sets;
    (void)state;
    assert_true(l->simulated < 0.1);
    for (int set = 0; set < l->n_sets; set++) {
        double n = 0;
        for (int x = 0; x < l->n_columns; x++)
            n += l->cell[set * l->n_columns + x];
        if (n < 0.6 * mean || n > 1.6 * mean)
            fail_msg("set %d has %.2f of the mean of all sets", set, n / mean);
    }
    lens_free(l);
    arena_free(a);
}

/* Much reuse fills the cache slowly: a sample that is not warm counts three times the misses.  The
 * whole run has 242,621, as `run --meters sim` counts them. */
static void samples_are_warm(void **state)
{
    struct arena *a = arena_new();
    const char *spec = "c2d n=1 i=64 h=28 w=28 o=64 k=3 p=1";
    struct lens *l = lens_of(replayed(a, spec, NULL, 0), "32K/8/64", -1, 0);
    (void)state;
    assert_true(l->simulated < 0.1);
    assert_true(l->all.misses > 0.85 * 242621 && l->all.misses < 1.15 * 242621);
    lens_free(l);
    arena_free(a);
}

/* Weights whose output channels are innermost in the loops, but outermost in memory, are offered in
 * blocks. */
static void weights_in_blocks(void **state)
{
    struct arena *a = arena_new();
    static const char *const steps[] = { "loop reorder Conv N H W I KH KW O" };
    const struct program *p = replayed(a, "c2d n=1 i=32 h=6 w=6 o=1024 k=1", steps, 1), *with;
    struct predict_opts o = { .conflicts = true };
    struct forecast row[FORECAST_CURES], now;
    struct err e;
    bool offered = false;
    (void)state;
    assert_true(cache_config_parse("32K/8/64", &o.cache, &e));
    struct lens *l = lens_of(p, "32K/8/64", -1, 0);
    int n = forecast_cures(p, l, a, row);
    assert_true(forecast_steps(p, &o, NULL, NULL, row, n, &now, &e));
    for (int i = 0; i < n; i++) {
        if (!str_starts(row[i].line, "layout set Ker "))
            continue;
        assert_true(program_apply_line(p, row[i].line, &with, &e));
        assert_false(row[i].other_contract);
        offered = offered || (streq(row[i].line, "layout set Ker \"O/16 I KH KW 16o\"")
                              && forecast_helps(&row[i], &now));
    }
    assert_true(offered);
    lens_free(l);
    arena_free(a);
}

/* There is room for the cures of an operator with many loops: none is left out. */
static void no_cure_is_left_out(void **state)
{
    struct arena *a = arena_new();
    const struct program *p = replayed(a, "c3d n=1 i=32 depth=8 h=14 w=14 o=64 k=3 p=1", NULL, 0);
    struct forecast row[FORECAST_CURES];
    bool inlined = false, tiled = false;
    (void)state;
    struct lens *l = lens_of(p, "32K/8/64", -1, 0);
    int n = forecast_cures(p, l, a, row);
    assert_true(n > 0 && n < FORECAST_CURES);
    for (int i = 0; i < n; i++) {
        inlined = inlined || streq(row[i].line, "loop inline Inp");
        tiled = tiled || str_starts(row[i].line, "loop split Conv ");
    }
    assert_true(inlined && tiled);
    lens_free(l);
    arena_free(a);
}

static void cures(void **state)
{
    struct arena *a = arena_new();
    static const char *const steps[] = { "loop split C M 4" };
    const struct program *p = replayed(a, "gmm m=64 k=128 n=512", steps, 1);
    struct predict_opts o = { .conflicts = true };
    struct forecast row[FORECAST_CURES], none;
    struct err e;
    bool padded = false;
    (void)state;
    assert_true(cache_config_parse("32K/8/64", &o.cache, &e));
    struct lens *l = lens_of(p, "32K/8/64", -1, 0);
    int n = forecast_cures(p, l, a, row);
    assert_true(n > 3 && forecast_steps(p, &o, NULL, NULL, row, n, &none, &e));
    forecast_rank(row, n, &none);
    assert_true(none.ok && none.misses.conflicts > 3000000 && row[0].ok);
    assert_true(row[0].misses.l1_misses < none.misses.l1_misses / 10);
    for (int i = 0; i < n; i++)
        if (streq(row[i].line, "layout pad B N after=16"))
            padded = row[i].ok && row[i].misses.conflicts < 50000;      /* before the split */
    assert_true(padded);
    lens_free(l);
    arena_free(a);
}

/* --- What misses, and what cures it ----------------------------------------------------------- */

#define RELU "act n=1 c=64 h=56 w=56 f=relu"
#define DEPTHWISE "dep n=1 c=64 h=56 w=56 k=3 p=1"
#define TRANSPOSED "transpose n=1 c=512 h=512 w=1 perm=1324"

/* An L1 of 32 KiB has 512 lines.  B moves by a row with each k.  In the first case it needs all 512
 * lines for the next n, and A and C need others. In the second one, 256 lines share two sets. */
static void causes(void **state)
{
    static const struct {
        const char *spec, *site; enum miss_kind kind;
        double misses, error;
        const char *moves, *again; int64_t stride, lines, touched;
        bool before;
    } row[] = {
        { "gmm m=512 k=512 n=512", "B[k][n]", MISS_CAPACITY, 512.0 * 512 * 512, 0.02,
          "K", "N", 2048, 512, 545, false },
        { "gmm m=128 k=256 n=512", "B[k][n]", MISS_CONFLICT, 128.0 * 256 * 512, 0.05,
          "K", "M", 2048, 8192, 8240, false },
        { RELU, "Inp[n][c][h][w]", MISS_COMPULSORY, 12544, 0, "H", NULL, 224, 0, 0, false },
        { DEPTHWISE, "Inp[n][c][h + kh][w + kw]", MISS_CAPACITY, 13456, 0.05,
          "KH", NULL, 232, 0, 0, true },
        { TRANSPOSED, "Inp[n][c][h][w]", MISS_CAPACITY, 512.0 * 512, 0, "C", "H", 2048, 512, 544,
          false },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        struct lens *l = lens_of(replayed(a, row[i].spec, NULL, 0), "32K/8/64", -1, 0);
        const struct lens_cause *c = &l->cause[0];
        assert_string_equal(l->site[c->site].text, row[i].site);
        assert_int_equal(lens_kind(c), row[i].kind);
        if (fabs(c->misses / row[i].misses - 1) > row[i].error)
            fail_msg("%s: %g misses", row[i].spec, c->misses);
        assert_string_equal(l->loop[c->moves].axis, row[i].moves);
        assert_int_equal(c->stride, row[i].stride);
        assert_true((c->again < 0) == !row[i].again);
        if (row[i].again)
            assert_string_equal(l->loop[c->again].axis, row[i].again);
        assert_int_equal(c->lines, row[i].lines);
        assert_int_equal(c->touched, row[i].touched);
        assert_int_equal(c->before, row[i].before);
        lens_free(l);
        arena_free(a);
    }
}

/* The kinds of a run that is simulated from end to end: gmm 4 x 8 x 4 has no line twice in L1. */
static void kinds_are_exact(void **state)
{
    struct arena *a = arena_new();
    struct lens *l = lens_of(replayed(a, RELU, NULL, 0), "32K/8/64", 0, 0);
    (void)state;
    assert_true(l->all.misses == 2 * 12544 && l->all.compulsory == l->all.misses);
    assert_true(l->all.conflict == 0);
    lens_free(l);
    l = lens_of(replayed(a, "gmm m=16 k=64 n=64", NULL, 0), "4K/4/64", 0, 0);
    struct predict_opts o = { .cache = l->cache, .conflicts = true, .target = fixed_target() };
    struct prediction all;
    struct err e;
    assert_true(predict_misses(replayed(a, "gmm m=16 k=64 n=64", NULL, 0), &o, NULL, &all, &e));
    assert_true(l->all.misses == (double)all.l1_misses);
    assert_true(l->all.conflict == (double)all.conflicts);
    assert_true(l->all.compulsory == 64 + 256 + 64);         /* the lines of A, B and C */
    lens_free(l);
    arena_free(a);
}

/* h and kh move the input alike; a row of 58 elements, 232 bytes, does not end with a line. */
static void footprints(void **state)
{
    struct arena *a = arena_new();
    struct lens *l = lens_of(replayed(a, DEPTHWISE, NULL, 0), "32K/8/64", 0, 0);
    int site = 0, loop;
    (void)state;
    while (!streq(l->site[site].text, "Inp[n][c][h + kh][w + kw]"))
        site++;
    loop = l->site[site].loop;
    for (const char *const *axis = (const char *[]){ "KW", "KH", "W", "H", NULL }; *axis; axis++) {
        static const int64_t lines[] = { 1, 1, 1, 3 * 232 / 64 + 1 };
        int at = (int)(streq(*axis, "KW") ? 0 : streq(*axis, "KH") ? 1 : streq(*axis, "W") ? 2 : 3);
        assert_string_equal(l->loop[loop].axis, *axis);
        if (at != 2)
            assert_int_equal(lens_lines(l, site, loop, 1, NULL), lines[at]);
        loop = l->loop[loop].parent;
    }
    assert_int_equal(lens_lines(l, site, -1, 1, NULL), 13456);
    assert_int_equal(lens_sets(l, 2048), 2);
    assert_int_equal(lens_sets(l, -4096), 1);
    assert_int_equal(lens_sets(l, 2112), 64);
    assert_int_equal(lens_sets(l, 4), 64);
    lens_free(l);
    arena_free(a);
}

/* Unrolled and vectorized loops are no loops of the code: an iteration of K reads four rows of A,
 * and two vectors of B that lie side by side. */
static void straight_code_counts(void **state)
{
    static const char *const steps[] = {
        "loop split C M 4", "loop split C N 32", "loop reorder C M.0 N.0 K M.1 N.1",
        "loop vectorize C N.1", "loop unroll C M.1", "loop cache_write C at=N.0",
    };
    struct arena *a = arena_new();
    struct lens *l = lens_of(replayed(a, "gmm m=64 k=64 n=64", steps, COUNT_OF(steps)), "32K/8/64",
                             0, 0);
    int rows = 0, vectors = 0;
    (void)state;
    for (int i = 0; i < l->n_sites; i++) {
        const struct lens_site *s = &l->site[i];
        if (!s->is_store && s->text[0] == 'A') {
            assert_true(s->pieces == 4 && s->bytes == 1);
            assert_int_equal(lens_lines(l, i, l->loop[s->loop].parent, 1, NULL), 4 * 4);
            rows++;
        }
        if (!s->is_store && s->text[0] == 'B') {
            assert_true(s->pieces == 1 && s->bytes == 128);
            assert_int_equal(lens_lines(l, i, l->loop[s->loop].parent, 1, NULL), 64 * 2);
            vectors++;
        }
    }
    assert_true(rows == 1 && vectors == 1);
    lens_free(l);
    arena_free(a);
}

/* A 4 x 16 tile that reads B in rows of 128 bytes, or halves of them. */
#define TILED(notation) \
    "layout set B \"" notation "\"", "loop split C M 128 4", "loop split C N 32 16", \
    "loop reorder C M.0 N.0 K M.1 N.1", "loop cache_write C at=N.0", "loop unroll C M.1", \
    "loop vectorize C N.1"

static void assert_way(const struct lens *l, const char *text, const char *axis,
                       const struct walk_part *part, int n)
{
    int site = 0, loop = 0;
    while (l->site[site].is_store || !str_starts(l->site[site].text, text))
        site++;
    while (!streq(l->loop[loop].axis, axis))
        loop++;
    const struct walk_way *way = lens_way(l, site, loop);
    assert_int_equal(way->n, n);
    for (int i = 0; i < n; i++)
        if (way->part[i].stride != part[i].stride || way->part[i].trips != part[i].trips)
            fail_msg("%s along %s: part %d moves by %lld, %lld times", text, axis, i,
                     (long long)way->part[i].stride, (long long)way->part[i].trips);
}

/* N.0 moves B to the other half of its rows and then to other rows: it is not the loop that needs
 * the same lines again.  Both layouts have the same reason, and a cure. */
static void halves_of_rows(void **state)
{
    static const char *const steps[][7] = { { TILED("N/32 K 32n") }, { TILED("N/16 K 16n") } };
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct arena *a = arena_new();
        const struct program *p = replayed(a, "gmm m=512 k=512 n=512", steps[i], 7);
        struct lens *l = lens_of(p, "32K/8/64", -1, 0);
        struct forecast row[FORECAST_CURES], now;
        struct err e;
        const struct lens_cause *c = &l->cause[0];
        assert_true(str_starts(l->site[c->site].text, "B["));
        assert_string_equal(l->loop[c->again].axis, "M.0");
        assert_true(c->again_after == 1 && c->lines == 16384 && c->touched == 16640);
        assert_string_equal(l->loop[c->moves].axis, "K");
        assert_true(c->moves_every == 1 && c->stride == (i ? 64 : 128));
        if (i == 0)
            assert_way(l, "B[", "N.0", (struct walk_part[]){ { 64, 2 }, { 65536, 16 } }, 2);
        int n = forecast_cures(p, l, a, row), tiles = 0;
        for (int k = 0; k < n; k++)
            if (str_starts(row[k].line, "loop split C N.0 "))
                row[tiles++] = row[k];
        assert_true(forecast_lens(p, &l->cache, fixed_target(), NULL, NULL, row, tiles, &now, &e));
        assert_true(forecast_least(row, tiles)->misses.l1_misses < now.misses.l1_misses / 5);
        assert_int_equal(forecast_result(l, &now, row, tiles), CURE_HELPS);
        lens_free(l);
        arena_free(a);
    }
}

/* A fused loop stays in a row of A for 512 iterations.  Its next iteration needs the column of B
 * again; only every 512th one needs other lines of A. */
static void fused_loops(void **state)
{
    static const char *const steps[] = { "loop fuse C M N" };
    struct arena *a = arena_new();
    struct lens *l = lens_of(replayed(a, "gmm m=512 k=512 n=512", steps, 1), "32K/8/64", -1, 0);
    const struct lens_cause *c = &l->cause[0];
    struct str text = {0};
    int loop = l->site[c->site].loop;
    (void)state;
    assert_way(l, "A[", "M_N", (struct walk_part[]){ { 0, 512 }, { 2048, 512 } }, 2);
    assert_way(l, "B[", "M_N", (struct walk_part[]){ { 4, 512 }, { 0, 512 } }, 2);
    assert_string_equal(l->loop[c->again].axis, "M_N");
    assert_true(c->lines == 512 && c->touched == 545);
    loop = l->loop[loop].parent;
    assert_int_equal(lens_lines(l, c->site, loop, 512, NULL), 512 * 32);
    assert_int_equal(lens_lines(l, c->site, -1, 1, NULL), 512 * 32);
    struct lens_cause late = *c;
    late.again_after = 512;
    late.moves = loop;
    late.moves_every = 512;
    lens_reason_print(&text, l, &late);
    assert_string_equal(str_text(&text), "M_N moves it by 2 048 bytes every 512 iterations. After "
                        "512 iterations, M_N needs its 512 lines again, but by then 545 lines were "
                        "touched, and L1 holds 512.");
    str_free(&text);
    lens_free(l);
    arena_free(a);
}

/* A cure that takes a tile out of its registers, or makes one that does not fit, comes last. */
static void registers_come_first(void **state)
{
    static const char *const steps[] = {
        "loop split Conv W 7 4", "loop split Conv O 2 16",
        "loop reorder Conv N H W.0 O.0 I KH KW W.1 O.1", "loop cache_write Conv at=O.0",
        "loop unroll Conv W.1", "loop vectorize Conv O.1",
    };
    static const enum tile_fate want[] = { TILE_STAYS, TILE_STAYS, TILE_LEAVES, TILE_SPILLS };
    struct forecast now, row[] = {
        { .line = "loop reorder Conv O.0 I KH KW W.0" },
        { .line = "loop reorder Conv O.0 I KH KW W.0\nloop unroll Conv W.0" },
        { .line = "loop split Conv I 4\nloop reorder Conv I.0 O.0 I.1" },
        { .line = "layout reorder Inp N H W I" },
    };
    struct arena *a = arena_new();
    struct cache_config cache;
    struct err e;
    (void)state;
    assert_true(cache_config_parse("4K/4/64", &cache, &e));
    assert_true(forecast_lens(replayed(a, "c2d n=1 i=16 h=7 w=28 o=32 k=3 p=1", steps, 6), &cache,
                              target_named("avx2"), NULL, NULL, row, 4, &now, &e));
    for (int i = 0; i < 4; i++)
        if (!row[i].ok || row[i].tile != want[i])
            fail_msg("%s: the tile %s", row[i].line, tile_fate_name[row[i].tile]);
    arena_free(a);
}

/* The tiles of a row are three loops, because taps in the padding are left out: the first and the
 * last tile, and six between them, which run most often. */
static void pieces_of_a_loop(void **state)
{
    static const char *const steps[] = {
        "set input_layout given", "layout set Inp_in \"N H W I\"",
        "layout set Ker \"O/64 KH KW I 64o\"", "layout set Conv \"N H W O\"",
        "loop inline Inp", "loop split Conv W 8 7",
        "loop split Conv O 1 64", "loop reorder Conv O.0 N H W.0 KH KW I W.1 O.1",
        "loop cache_write Conv at=W.0", "loop unroll Conv W.1", "loop vectorize Conv O.1",
    };
    struct arena *a = arena_new();
    struct lens *l = lens_of(replayed(a, "c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1", steps,
                                      COUNT_OF(steps)), "32K/8/64", -1, 0);
    const struct lens_cause *c = &l->cause[0];
    (void)state;
    assert_true(str_starts(l->site[c->site].text, "Ker[") && c->again >= 0);
    assert_string_equal(l->loop[c->again].axis, "W.0");
    assert_int_equal(l->loop[c->again].trips, 6);
    assert_int_equal(c->lines, 64 * 64 * 9 / 16);
    lens_free(l);
    arena_free(a);
}

struct cured { struct arena *a; struct lens *l; struct forecast row[FORECAST_CURES], now; int n; };

static void cure(const char *spec, struct cured *out)
{
    struct err e;
    out->a = arena_new();
    const struct program *p = replayed(out->a, spec, NULL, 0);
    out->l = lens_of(p, "32K/8/64", -1, 0);
    out->n = forecast_cures(p, out->l, out->a, out->row);
    assert_true(forecast_lens(p, &out->l->cache, fixed_target(), NULL, NULL, out->row, out->n,
                              &out->now, &e));
}

static void cured_free(struct cured *c)
{
    lens_free(c->l);
    arena_free(c->a);
}

/* The row of a cure, whose misses must be `misses` within 2 %. */
static int assert_cures(const struct cured *c, const char *line, double misses)
{
    for (int i = 0; i < c->n; i++) {
        double got = (double)c->row[i].misses.l1_misses;
        if (!streq(c->row[i].line, line))
            continue;
        if (!forecast_helps(&c->row[i], &c->now) || fabs(got / misses - 1) > 0.02)
            fail_msg("%s: %g misses, not %g", line, got, misses);
        return i;
    }
    fail_msg("no %s", line);
    return -1;
}

/* Along a line, B misses once in 16 accesses.  A tile of 8 rows of B stays in L1. */
static void cures_capacity(void **state)
{
    struct cured c;
    double lines = 512.0 * 512 * 512 / 16;
    (void)state;
    cure("gmm m=512 k=512 n=512", &c);
    assert_true(c.l->conflicts == 0);
    assert_int_equal(assert_cures(&c, "loop reorder C K N", lines), 0);
    /* K outermost also loads the column of A for each k: 3 % more.  As K N, it has no sums that
     * wait for each other, so it comes before another layout. */
    assert_int_equal(assert_cures(&c, "loop reorder C K M N", lines + 512 * 512), 1);
    assert_int_equal(assert_cures(&c, "layout reorder B N K", lines), 2);
    int tile = assert_cures(&c, "loop split C K 8\nloop reorder C K.0 M N K.1", 1.098e6);
    assert_true(forecast_is_long(&c.row[tile]) && !forecast_is_long(&c.row[0]));
    for (int i = 0; i < tile; i++)
        assert_false(c.row[i].ok && forecast_is_long(&c.row[i])
                     && c.row[i].misses.l1_misses > c.row[tile].misses.l1_misses);
    cured_free(&c);
    cure("c2d n=1 i=3 h=224 w=224 o=64 k=7 s=2 p=3", &c);  /* seven rows of Inp serve all of O */
    assert_string_equal(c.row[0].line, "loop reorder Conv H O");
    assert_true(c.row[0].misses.l1_misses < c.now.misses.l1_misses / 3);
    cured_free(&c);
    cure(TRANSPOSED, &c);
    assert_cures(&c, "loop split Transpose C 8\nloop reorder Transpose C.0 H C.1", 3 * 16384.0);
    cured_free(&c);
}

static const struct measurement *was;     /* the measurement of the state */

/* Whether the document says `text`; model: NULL, or what predicts times. */
static bool document_says(const struct cured *c, const struct machine_model *model,
                          const char *text)
{
    struct lens_look look = { .width = 100, .rows = 16, .loop = -1, .cure = c->row,
                              .now = &c->now, .n_cures = c->n, .predicted = true, .counted = -1,
                              .timed = was, .model = model, .target = fixed_target() };
    struct doc d;
    bool found = false;
    doc_open(&d);
    lens_doc(&d, c->l, &look);
    for (int i = 0; i < d.lines.len; i++)
        found = found || strstr(d.lines.data[i].text, text);
    doc_close(&d);
    return found;
}

/* If the machine is known, cures say their time. */
static void cures_have_times(void **state)
{
    struct machine_model model = roof_model();
    struct cured c;
    (void)state;
    cure("gmm m=512 k=512 n=512", &c);
    assert_true(document_says(&c, &model, "  time about -75 %"));
    assert_true(document_says(&c, &model, ", misses 135M to 8.4"));
    assert_false(document_says(&c, &model, "L2 not counted"));  /* few misses are conflicts */
    c.now.misses.conflicts = 100000000;
    c.row[0].misses.conflicts = c.row[1].misses.conflicts = 0;
    assert_true(document_says(&c, &model, " (L2 not counted), misses 135M to 8.4"));
    struct measurement m = { .peak_fraction = 0.78, .threads = 1, .isa = "avx512" };
    was = &m;                             /* no step gains more than 22 % */
    assert_true(document_says(&c, &model, "  time about -22 %, misses 135M to 8.4"));
    m.threads = 2;
    assert_true(document_says(&c, &model, " (L2 not counted), misses 135M to 8.4"));
    was = NULL;
    assert_false(document_says(&c, NULL, "time about"));
    model.n_isa = 0;
    assert_false(document_says(&c, &model, "time about"));
    c.now.misses.cycles.whole = 0;
    model.n_isa = 2;
    assert_false(document_says(&c, &model, "time about"));
    cured_free(&c);
}

/* Of cures that leave as many misses, those in whose code no sums wait for each other come first,
 * and then what changes the least, padding. */
static void pads_come_after_orders(void **state)
{
    struct cured c;
    (void)state;
    cure("gmm m=128 k=256 n=512", &c);
    assert_int_equal(assert_cures(&c, "loop reorder C K N", 1.054e6), 0);
    int pad = assert_cures(&c, "layout pad B N after=16", 1.054e6);
    assert_int_equal(c.row[pad].misses.conflicts, 0);
    assert_true(pad < assert_cures(&c, "layout reorder B N K", 1.054e6));
    assert_true(c.row[0].misses.cycles.whole < 0.5 * c.row[pad].misses.cycles.whole);
    cured_free(&c);
}

/* The pad is computed where it is read, so that its result never leaves L1. */
static void nests_are_joined(void **state)
{
    struct cured c;
    (void)state;
    cure(DEPTHWISE, &c);
    assert_int_equal(assert_cures(&c, "loop inline Inp", 25100), 0);
    assert_cures(&c, "loop compute_at Inp Conv H", 25100);
    cured_free(&c);
}

static void assert_says(struct str *text, const char *want)
{
    assert_string_equal(str_text(text), want);
    str_clear(text);
}

static struct lens *lens_on(struct arena *a, const char *spec)
{
    return lens_of(replayed(a, spec, NULL, 0), "32K/8/64", -1, 0);
}

static void assert_reason(const struct lens *l, const char *want)
{
    struct str text = {0};
    lens_reason_print(&text, l, &l->cause[0]);
    assert_says(&text, want);
    str_free(&text);
}

/* The lanes of a load that lie in different rows: a loop goes on where they end, or does not. */
static void lanes_in_few_sets(void **state)
{
    struct arena *a = arena_new();
    struct cured c;
    (void)state;
    struct lens *l = lens_on(a, "transpose n=256 c=256 perm=21");
    assert_reason(l, "Inp[64*n.v + n][c] moves by 1 024 bytes with each N: 256 iterations use 4 of "
                     "64 sets, which hold 32 lines.");
    lens_free(l);
    l = lens_on(a, "transpose n=1024 c=1024 perm=21");
    assert_reason(l, "N, the innermost loop, moves it by 4 096 bytes: every iteration needs "
                     "another line. The next iteration of C needs its 1 024 lines again, but by "
                     "then 1 088 lines were touched, and L1 holds 512. Moves of 4 096 bytes reach "
                     "only 1 of 64 sets, which hold 8 lines: one more would conflict even in "
                     "an otherwise empty L1.");
    lens_free(l);
    l = lens_on(a, "transpose n=64 c=256 perm=21");
    assert_reason(l, "In each iteration of C, Inp[n][c] touches 64 lines that are 1 024 bytes "
                     "apart: they lie in 4 of 64 sets, which hold 32 lines.");
    lens_free(l);
    cure("transpose n=256 c=256 perm=21", &c);
    assert_cures(&c, "loop split Transpose C 16\nloop split Transpose N 16\n"
                 "loop reorder Transpose C.0 N.0 C.1 N.1", 8192);
    cured_free(&c);
    cure("transpose n=64 c=256 perm=21", &c);
    assert_cures(&c, "loop split Transpose C 16\nloop split Transpose N 16\n"
                 "loop reorder Transpose C.0 N.0 C.1 N.1", 2048);
    cured_free(&c);
    arena_free(a);
}

/* Eight rows fill a set, and the lines of another operand take a way of it: the loop of the rows is
 * the reason, and not an outer one that would take as few sets. */
static void rows_that_fill_a_set(void **state)
{
    static const char *const tile[] = {
        "loop split C M 8", "loop split C N 32", "loop reorder C M.0 N.0 K M.1 N.1",
        "loop cache_write C at=N.0", "loop unroll C M.1", "loop vectorize C N.1",
    };
    (void)state;
    struct arena *a = arena_new();
    struct str text = {0};
    const struct program *p = replayed(a, "gmm m=64 k=1024 n=256", tile, COUNT_OF(tile));
    struct lens *l = lens_of(p, "32K/8/64", -1, 0);
    int i = 0;
    while (i < l->n_sites && lens_kind(&l->cause[i]) != MISS_CONFLICT)
        i++;
    assert_true(i < l->n_sites);
    lens_reason_print(&text, l, &l->cause[i]);
    assert_says(&text, "In each iteration of K, A[8*m.0 + m.1][k] touches 8 lines that are 4 096 "
                       "bytes apart: they lie in 1 of 64 sets, which holds 8 lines.");
    lens_free(l);
    str_free(&text);
    arena_free(a);
}

/* A load of A in the loop M around N, which it does not depend on. */
static void loops_of_hoisted_loads(void **state)
{
    static const char *const step[] = { "loop reorder C K M N", "loop unroll C N" };
    static const char *const begins[] = { "M, the innermost loop around it, moves it by 256 bytes:",
                                          "M, the innermost loop, moves it by 256 bytes:" };
    struct arena *a = arena_new();
    struct str text = {0};
    (void)state;
    for (int n = 1; n <= COUNT_OF(step); n++) {
        struct lens *l = lens_of(replayed(a, "gmm m=1024 k=64 n=4", step, n), "32K/8/64", -1, 0);
        int i = 0;
        while (l->site[l->cause[i].site].text[0] != 'A')
            i++;
        lens_reason_print(&text, l, &l->cause[i]);
        assert_memory_equal(str_text(&text), begins[n - 1], strlen(begins[n - 1]));
        str_clear(&text);
        lens_free(l);
    }
    str_free(&text);
    arena_free(a);
}

static void sentences(void **state)
{
    struct arena *a = arena_new();
    struct str text = {0};
    (void)state;
    struct lens *l = lens_on(a, "gmm m=512 k=512 n=512");
    lens_cause_print(&text, l, &l->cause[0]);
    assert_says(&text, "Load B[k][n] has 134M of the 135M misses in L1, nearly all of them "
                       "capacity misses.");
    assert_reason(l, "K, the innermost loop, moves it by 2 048 bytes: every iteration needs "
                     "another line. The next iteration of N needs its 512 lines again, but by "
                     "then 545 lines were touched, and L1 holds 512. Moves of 2 048 bytes "
                     "reach only 2 of 64 sets, which hold 16 lines: one more would conflict "
                     "even in an otherwise empty L1.");
    struct lens_cause once = l->cause[0];
    once.misses = l->all.misses = 1;
    once.compulsory = once.conflict = 0;
    lens_cause_print(&text, l, &once);
    assert_says(&text, "Load B[k][n] has the only miss in L1, a capacity miss.");
    l->all.misses = 3;
    lens_cause_print(&text, l, &once);
    assert_says(&text, "Load B[k][n] has 1 of the 3 misses in L1, a capacity miss.");
    lens_free(l);
    l = lens_on(a, "gmm m=128 k=256 n=512");
    assert_reason(l, "B[k][n] moves by 2 048 bytes with each K: 256 iterations use 2 of 64 sets, "
                     "which hold 16 lines.");
    lens_free(l);
    l = lens_on(a, DEPTHWISE);
    assert_reason(l, "An earlier nest has touched its 13 456 lines, but L1 holds 512.");
    lens_free(l);
    l = lens_on(a, RELU);
    lens_cause_print(&text, l, &l->cause[0]);
    assert_says(&text, "Load Inp[n][c][h][w] has 12.5k of the 25.1k misses in L1, all of them "
                       "compulsory misses.");
    assert_reason(l, "Inp has 12 544 lines, and the first touch of each one misses.");
    lens_free(l);
    str_free(&text);
    arena_free(a);
}

/* Nothing is tried against compulsory misses.  When no candidate helps, the best one is named. */
static void says_why_nothing_helps(void **state)
{
    struct arena *a = arena_new();
    struct str text = {0};
    struct forecast row[FORECAST_CURES], now = { .ok = true, .misses = { .l1_misses = 1000 } };
    struct lens_look look = { .cure = row, .now = &now, .predicted = true, .counted = -1 };
    (void)state;
    struct lens *l = lens_on(a, RELU);
    look.n_cures = forecast_cures(replayed(a, RELU, NULL, 0), l, a, row);
    assert_int_equal(look.n_cures, 0);
    assert_int_equal(forecast_result(l, &now, row, 0), CURE_COMPULSORY);
    lens_no_cure_print(&text, l, &look);
    assert_says(&text, "Nearly all misses are compulsory: each line is touched for the first time, "
                       "once. No order of loops or dimensions avoids that.");
    lens_free(l);
    l = lens_on(a, TRANSPOSED);
    lens_no_cure_print(&text, l, &look);
    assert_true(str_starts(str_text(&text), "There is no candidate"));
    str_clear(&text);
    row[0] = (struct forecast){ .line = "loop split C M 4\nloop serial C M.0" };
    look.n_cures = 1;
    lens_no_cure_print(&text, l, &look);
    assert_says(&text, "No candidate is legal here; 1 were tried.");
    row[0].ok = true;
    row[0].misses.l1_misses = 990;
    lens_no_cure_print(&text, l, &look);
    assert_says(&text, "No candidate leaves clearly fewer misses: the best of 1, loop split C M 4; "
                       "loop serial C M.0, leaves 99 %. 32.8k of the 279k misses are "
                       "compulsory. Steps that the lens does not try may avoid others.");
    row[0].misses.l1_misses = 890;
    assert_int_equal(forecast_result(l, &now, row, 1), CURE_HELPS);
    lens_no_cure_print(&text, l, &look);
    assert_says(&text, "");
    lens_free(l);
    str_free(&text);
    arena_free(a);
}

/* One step before several, and those that cost a tile or many cycles last; then the misses; what a
 * sample cannot tell apart keeps its order, but a contract that stays comes first. */
static void ranking(void **state)
{
    struct forecast row[] = {
        { "a\nb", true, false, 0, { .l1_misses = 10 }, TILE_STAYS, "" },
        { "refused", false, false, 0, { .l1_misses = 0 }, TILE_STAYS, "" },
        { "c", true, false, 0, { .l1_misses = 300 }, TILE_STAYS, "" },
        { "other", true, true, 0, { .l1_misses = 100 }, TILE_STAYS, "" },
        { "d", true, false, 0, { .l1_misses = 104 }, TILE_STAYS, "" },
        { "e", true, false, 0, { .l1_misses = 101 }, TILE_STAYS, "" },
        { "tile", true, false, 0, { .l1_misses = 5 }, TILE_LEAVES, "" },
        { "f", true, false, 0, { .l1_misses = 106 }, TILE_STAYS, "" },
        { "g", true, false, 0, { .l1_misses = 2000, .cycles.whole = 100 }, TILE_STAYS, "" },
        { "h", true, false, 0, { .l1_misses = 2010, .cycles.whole = 96 }, TILE_STAYS, "" },
        { "i", true, false, 0, { .l1_misses = 2030, .cycles.whole = 50 }, TILE_STAYS, "" },
        { "unknown", true, false, 0, { .l1_misses = 2000 }, TILE_STAYS, "" },
        { "slow", true, false, 0, { .l1_misses = 9, .cycles.whole = 301 }, TILE_STAYS, "" },
    };
    static const char *const want[] = { "d", "e", "other", "f", "c", "i", "g", "h", "unknown",
                                        "a\nb", "tile", "slow", "refused" };
    const struct forecast now = { .ok = true, .misses = { .cycles.whole = 200 } };
    (void)state;
    forecast_rank(row, COUNT_OF(row), &now);
    for (int i = 0; i < COUNT_OF(row); i++)
        assert_string_equal(row[i].line, want[i]);
}

/* As text, in ASCII as on the poorest terminal, and as JSON. */
static void golden(void **state)
{
    struct arena *a = arena_new();
    const struct program *p = replayed(a, "gmm m=16 k=64 n=64", NULL, 0);
    struct predict_opts o = { .target = fixed_target(), .conflicts = true };
    struct forecast cure[FORECAST_CURES], now;
    struct err e;
    struct doc d;
    struct grid g;
    struct str text = {0}, json = {0};
    (void)state;
    assert_true(cache_config_parse("4K/4/64", &o.cache, &e));
    struct lens *l = lens_of(p, "4K/4/64", -1, 6000);
    int n = forecast_cures(p, l, a, cure);
    assert_true(forecast_steps(p, &o, NULL, NULL, cure, n, &now, &e));
    forecast_rank(cure, n, &now);
    struct lens_look look = { .width = 78, .rows = 16, .loop = 2, .cure = cure, .now = &now,
                              .n_cures = n, .predicted = true, .keys = true, .counted = -1,
                              .at = lens_first_conflict(l, 0) };
    doc_open(&d);
    lens_doc(&d, l, &look);
    grid_open(&g, 80, d.lines.len, false);
    doc_draw(&d, &(struct scroll){ .cursor = -1 }, &g, (struct rect){ 0, 0, 80, d.lines.len },
             (struct doc_look){ .focused = false });
    grid_dump(&g, &text);
    golden_check("tests/golden/lens.txt", str_text(&text));
    lens_report_json(&json, l, &now, cure, n);
    golden_check("tests/golden/lens.json", str_text(&json));
    grid_close(&g);
    doc_close(&d);
    str_free(&text);
    str_free(&json);
    lens_free(l);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partners), cmocka_unit_test(touches_are_consistent),
        cmocka_unit_test(iterations), cmocka_unit_test(whole_run),
        cmocka_unit_test(samples_see_all_sets), cmocka_unit_test(samples_are_warm),
        cmocka_unit_test(weights_in_blocks),
        cmocka_unit_test(no_cure_is_left_out), cmocka_unit_test(cures),
        cmocka_unit_test(causes), cmocka_unit_test(kinds_are_exact), cmocka_unit_test(footprints),
        cmocka_unit_test(straight_code_counts), cmocka_unit_test(pieces_of_a_loop),
        cmocka_unit_test(halves_of_rows), cmocka_unit_test(fused_loops),
        cmocka_unit_test(registers_come_first), cmocka_unit_test(cures_capacity),
        cmocka_unit_test(pads_come_after_orders),
        cmocka_unit_test(cures_have_times),
        cmocka_unit_test(nests_are_joined), cmocka_unit_test(lanes_in_few_sets),
        cmocka_unit_test(rows_that_fill_a_set), cmocka_unit_test(loops_of_hoisted_loads),
        cmocka_unit_test(sentences),
        cmocka_unit_test(says_why_nothing_helps), cmocka_unit_test(ranking),
        cmocka_unit_test(golden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
