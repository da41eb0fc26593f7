/* What the profile shows of the simulator, on a result with round numbers; and on random ones:
 * no line is wider than its pane, and no stack longer than its bar. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "app/ui/text.h"
#include "app/views/measurement_doc.h"
#include "app/views/view.h"
#include "kernels/base/rng.h"
#include "tests/unit/golden.h"
#include "tests/unit/model_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static char root[512];

static void golden(const char *name, const char *text)
{
    char path[600], was[512];
    assert_non_null(getcwd(was, sizeof was));
    assert_int_equal(chdir(root), 0);
    snprintf(path, sizeof path, "tests/golden/screen/%s", name);
    golden_check(path, text);
    assert_int_equal(chdir(was), 0);
}

/* Half of the reuses at distance 3, some at 300 and 3000; B misses in a few sets, late. */
static void fill_detail(struct sim_detail *d)
{
    *d = (struct sim_detail){
        .classes = { 8192, 520000, 7930000 },
        .reuse = { .first = 8192,
                   .bucket = { 4000000, 0, 8000000, [9] = 3000000, [12] = 1000000 } },
        .n_tensors = 2, .n_sets = 64, .n_set_cells = 64, .n_loops = 2, .n_moments = 128,
        .loop = { { "M N.0", 256 }, { "N", 64 } },
        .tensor = { { .classes = { 4096, 20000, 0 }, .bytes = 131072, .cell_lines = 16,
                      .n_cells = 128 },
                    { .classes = { 4096, 500000, 7930000 }, .bytes = 65536, .cell_lines = 64,
                      .n_cells = 16 } },
    };
    for (int i = 0; i < 128; i++) {
        d->tensor[0].cell[i] = (struct sim_heat){ 400, 188 };
        d->tensor[1].cell[i % 16] = (struct sim_heat){ 900, i % 16 * 10 };
        d->set[i % 64] = (struct sim_heat){ 1000, i % 64 < 8 ? 900 : 10 };
        d->moment[i] = (struct sim_moment){ i >= 64, i % 64 * 4, 4, 5000, i < 64 ? i * i : 7 };
    }
}

static void fill_result(struct sim_result *s, struct sim_detail *d)
{
    *s = (struct sim_result){
        .available = true, .loads = 16777216, .stores = 32768, .l1_misses = 8458192,
        .writebacks = 32768, .n = 2, .n_sites = 3, .fraction = 1, .detail = d,
        .cache = { .n_levels = 3, .level = { { { 32768, 8, 64 }, REPLACE_LRU, false },
                                             { { 1 << 20, 16, 64 }, REPLACE_LRU, false },
                                             { { 32 << 20, 16, 64 }, REPLACE_LRU, false } } },
        .level = { { .accesses = 16809984, .misses = 8458192, .writebacks = 32768 },
                   { .accesses = 8458192, .misses = 8192 }, { .accesses = 8192, .misses = 8192 } },
        .by_tensor = { { "A", 8388608, 0, { 24096, 2048, 2048, .sectors = 0 } },
                       { "a_long_name", 8388608, 32768, { 8434096, 4096, 4096, .sectors = 0 } } },
        .site = { { "B[k][16*n.0 + n.1]", 1, false, 8388608, { 8434096, 4096, 4096, .sectors = 0 },
                    .degree = 0 },
                  { "A[m][k]", 0, false, 8388608, { 24096, 2048, 2048, .sectors = 0 },
                    .degree = 0 },
                  { "C[m][16*n.0 + n.1]", 0, true, 32768, { 0, 0, 0, .sectors = 0 },
                    .degree = 0 } },
    };
}

/* A model on a state measured so, in the profile view alone. */
static struct model *profile(const struct sim_result *s, int w, int h)
{
    struct model *m = model_on("gmm m=128 k=256 n=256");
    struct measurement r = {
        .outcome = OUTCOME_OK, .verified = true, .threads = 1, .gflops = 34.8,
        .peak_gflops = 118, .peak_fraction = 0.295, .max_rel_err = 1e-6,
        .tolerance = 1e-4, .error_of_bound = 0.2,
        .latency = { .min_ms = 0.48, .median_ms = 0.485, .max_ms = 0.65, .spread = 0.03,
                     .runs = 365 }, .compiler = "gcc 12.2.0", .isa = "avx512", .sim = *s,
    };
    history_set_measured(m->session->history, 0, &r);
    model_changed(m);
    model_resize(m, w, h);
    press(m, "6 +");
    return m;
}

/* A change to none is apart from the number of misses. */
static void change_to_nothing(void **state)
{
    struct sim_result s;
    (void)state;
    fill_result(&s, NULL);
    struct model *m = profile(&s, 100, 40);
    struct measurement r = *history_state(m->session->history, 0)->measured;
    type_line(m, "loop split C N 16");
    r.sim.by_tensor[0].cost.l1_misses = 0;
    history_set_measured(m->session->history, 1, &r);
    model_changed(m);
    assert_shows(m, " 0 -100.0 %");
    model_free(m);
}

static void views(void **state)
{
    (void)state;
    static const struct { int w, h; bool unicode; const char *keys, *golden; } row[] = {
        { 80, 62, true, "", "profile-80.txt" }, { 80, 24, true, "PgDn PgDn", "profile-80x24.txt" },
        { 130, 62, false, "", "profile-ascii.txt" }, { 48, 66, true, "", "profile-48.txt" },
    };
    struct sim_detail *d = xcalloc(1, sizeof *d);
    struct sim_result s;
    fill_detail(d);
    fill_result(&s, d);
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct model *m = profile(&s, row[i].w, row[i].h);
        m->unicode = row[i].unicode;
        press(m, row[i].keys);
        golden(row[i].golden, screen_of(m));
        model_free(m);
    }
    free(d);
}

/* What is not there leaves no heading; a sample says that it is one. */
static void parts(void **state)
{
    (void)state;
    struct sim_detail *d = xcalloc(1, sizeof *d);
    struct sim_result s;
    fill_result(&s, NULL);
    s.fraction = 0.25;
    s.error = 0.015;
    struct model *m = profile(&s, 80, 60);
    assert_shows(m, "; 25 % simulated, misses within");
    assert_shows(m, "Where in the code");
    assert_hides(m, "Why L1 missed");
    assert_hides(m, "no detail");
    model_free(m);
    fill_result(&s, d);
    snprintf(d->reason, sizeof d->reason, "too many to record one by one");
    m = profile(&s, 80, 60);
    assert_shows(m, "too many to record one by one");
    assert_hides(m, "Why L1 missed");
    assert_hides(m, "simulated");
    model_free(m);
    fill_result(&s, NULL);
    s.available = false;
    m = profile(&s, 80, 60);
    assert_hides(m, "level ");
    assert_hides(m, "sim:");
    model_free(m);
    free(d);
}

/* A tensor has a row in the table, one of causes and one of places; each leads to its accesses. */
static void rows_name_their_tensor(void **state)
{
    (void)state;
    struct sim_detail *d = xcalloc(1, sizeof *d);
    struct sim_result s;
    fill_result(&s, d);
    fill_detail(d);
    struct model *m = profile(&s, 80, 60);
    int rows = 0;
    for (int i = 0; i < m->pane[VIEW_PROFILE].doc.lines.len; i++) {
        const struct line *l = &m->pane[VIEW_PROFILE].doc.lines.data[i];
        rows += l->stage && streq(l->stage, "A") && !l->loop && strstr(l->text, " A ");
    }
    assert_int_equal(rows, 3);
    model_free(m);
    free(d);
}

/* Misses that are even over the sets can be conflicts all the same. */
static void even_conflicts(void **state)
{
    (void)state;
    struct sim_detail *d = xcalloc(1, sizeof *d);
    struct sim_result s;
    fill_detail(d);
    fill_result(&s, d);
    for (int i = 0; i < 64; i++)
        d->set[i].misses = 100;
    struct model *m = profile(&s, 130, 62);
    assert_shows(m, "7.93M conflict misses, 7.93M of a_long_name; all sets miss alike");
    model_free(m);
    d->classes.conflict = 100;
    m = profile(&s, 130, 62);
    assert_hides(m, "conflict misses");
    model_free(m);
    free(d);
}

/* A cell has a quarter, half, three quarters or all of the misses of the fullest cell, or less. */
static void fuller_cells_are_darker(void **state)
{
    static const struct { int64_t misses; const char *shade; enum style style; } row[] = {
        { 0, "·", STYLE_DIM }, { 1, "░", STYLE_DIM }, { 25, "░", STYLE_DIM },
        { 26, "▒", STYLE_NOTE }, { 50, "▒", STYLE_NOTE }, { 51, "▓", STYLE_NOTE },
        { 75, "▓", STYLE_NOTE }, { 76, "█", STYLE_BAD }, { 100, "█", STYLE_BAD },
    };
    struct measurement_look look = { .width = 100 };
    struct sim_detail *d = xcalloc(1, sizeof *d);
    struct sim_result s;
    struct doc doc;
    int found = 0;
    (void)state;
    fill_detail(d);
    fill_result(&s, d);
    d->n_sets = d->n_set_cells = COUNT_OF(row);
    for (int i = 0; i < COUNT_OF(row); i++)
        d->set[i].misses = row[i].misses;
    doc_open(&doc);
    sim_doc(&doc, &s, &look);
    for (int i = 0; i < doc.lines.len; i++) {
        const struct line *line = &doc.lines.data[i];
        const char *at = strstr(line->text, "(sets)") ? strstr(line->text, row[0].shade) : NULL;
        found += at != NULL;
        for (int k = 0; at && k < COUNT_OF(row); at += strlen(row[k++].shade)) {
            assert_true(str_starts(at, row[k].shade));
            assert_int_equal(line->style[at - line->text], row[k].style);
        }
        if (at)
            assert_string_equal(at, "  most 100 in 1 set");
    }
    assert_int_equal(found, 1);
    doc_close(&doc);
    free(d);
}

static int64_t some(struct rng *r)
{
    int64_t large = (int64_t)1 << rng_range(r, 0, 44);
    return rng_range(r, 0, 3) == 0 ? 0 : rng_range(r, 0, large);
}

static void random_results(void **state)
{
    (void)state;
    struct sim_detail *d = xcalloc(1, sizeof *d);
    uint64_t seed = 321;
    struct rng r = rng_seed(seed);
    for (int turn = 0; turn < 300; turn++) {
        struct sim_result s;
        struct doc doc;
        fill_detail(d);
        fill_result(&s, d);
        d->n_tensors = (int)rng_range(&r, 0, 2);
        d->n_moments = (int)rng_range(&r, 0, SIM_CELLS);
        d->n_set_cells = (int)rng_range(&r, 0, SIM_CELLS);
        d->reuse.first = some(&r);
        for (int i = 0; i < SIM_REUSE_BUCKETS; i++)
            d->reuse.bucket[i] = some(&r) * (rng_range(&r, 0, 3) == 0);
        for (int i = 0; i < SIM_CELLS; i++) {
            d->set[i].misses = some(&r) >> 12;
            d->moment[i] = (struct sim_moment){ .loop = i >= 100, .misses = some(&r) >> 12 };
        }
        for (int t = 0; t < 2; t++) {
            d->tensor[t].n_cells = (int)rng_range(&r, 0, SIM_CELLS);
            d->tensor[t].classes = (struct sim_classes){ some(&r), some(&r), some(&r) };
        }
        s.cache.n_levels = (int)rng_range(&r, 1, 3);
        int width = (int)rng_range(&r, 30, 170);
        struct measurement_look look = { .width = width - 2, .exact = turn % 4 == 3,
                                         .before = turn % 2 ? &s : NULL };
        doc_open(&doc);
        sim_doc(&doc, &s, &look);
        for (int i = 0; i < doc.lines.len; i++)
            if (width >= 64 && !look.exact && text_width(doc.lines.data[i].text) > width - 1)
                fail_msg("seed %llu, turn %d, width %d: %s", (unsigned long long)seed, turn, width,
                         doc.lines.data[i].text);
        doc_close(&doc);
    }
    free(d);
}

static int set_up(void **state)
{
    (void)state;
    bool known = getcwd(root, sizeof root) != NULL;
    private_folders();
    return known ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(change_to_nothing),
        cmocka_unit_test(views), cmocka_unit_test(parts),
        cmocka_unit_test(rows_name_their_tensor), cmocka_unit_test(even_conflicts),
        cmocka_unit_test(fuller_cells_are_darker),
        cmocka_unit_test(random_results),
    };
    return cmocka_run_group_tests_name("simview", tests, set_up, NULL);
}
