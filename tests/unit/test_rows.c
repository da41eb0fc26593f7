/* Rows of text from numbers that are made up: measurements, the head of a network, ablations, the
 * bottom line of the steps, and the start screen. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/views/ablation_doc.h"
#include "app/views/measurement_doc.h"
#include "app/views/network_head.h"
#include "app/views/view.h"
#include "kernels/base/file.h"
#include "tests/unit/model_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define GMM "gmm m=64 k=32 n=48"

static void assert_rows(struct doc *d, const char *want)
{
    struct str s = {0};
    for (int i = 0; i < d->lines.len; i++)
        str_printf(&s, "%s\n", d->lines.data[i].text);
    assert_string_equal(str_text(&s), want);
    str_free(&s);
    doc_clear(d);
}

/* --- Measurements ----------------------------------------------------------------------------- */

static void put_measurement(struct doc *d, const struct measurement *m, unsigned meters)
{
    struct session *s = NULL;
    struct err e;
    assert_true(session_new("gmm m=8 k=8 n=8", &s, &e));
    struct measurement_look look = { .width = 300, .exact = true, .meters = meters,
                                     .program = history_current(s->history)->program };
    measurement_doc(d, m, &look);
    session_free(s);
}

/* On a GPU, with a vendor library and counters. */
static void test_everything_measured(void **state)
{
    (void)state;
    struct doc d;
    struct measurement m = {
        .outcome = OUTCOME_OK, .verified = true, .max_rel_err = 3e-7, .error_of_bound = 0.25,
        .threads = 1, .gflops = 90, .measurements = 3, .build_s = 0.004,
        .latency = { .runs = 1, .min_ms = 0.5, .median_ms = 0.5 },
        .device = { .name = "H100", .driver = "13.0", .nvrtc = "13.1", .clock_mhz = 1980,
                    .memory_mhz = 2619 },
        .peak_reason = "no ceiling", .compiler = "NVRTC", .isa = "cuda",
        .baseline = {
            [VENDOR_ONEDNN] = { .available = true, .ratio = 0.5, .implementation = "oneDNN 3",
                                .layout = "nhwc",
                                .latency = { .runs = 9, .min_ms = 0.25, .median_ms = 0.5,
                                             .spread = 0.04 } },
            [VENDOR_OPENBLAS] = { .reason = "not installed" },
        },
        .counts = { [METER_ID_PERF] = {
            .available = true, .source = "event set l1", .missing = "llc_loads: why", .n = 3,
            .count = { { .name = "cycles", .value = 12345, .scaled = true, .running = 0.41 },
                       { .name = "ipc", .value = 1.5, .derived = true },
                       { .name = "l1d", .value = 2, .unit = "B" } } } },
    };
    doc_open(&d);
    put_measurement(&d, &m, METER_CLOCK | 1u << METER_ID_PERF);
    assert_rows(&d,
        "verified: true   max rel err 3.0e-07, 0.25 of the bound\n"
        "latency:  0.500 ms best, 0.500 ms median, spread 0.0 %, 1 run, best of 3 measurements\n"
        "device:   H100, driver for CUDA 13.0, NVRTC 13.1, up to 1980 MHz, memory 2619 MHz\n"
        "speed:    90.0 GFLOP/s at the best; no share of a ceiling: no ceiling\n"
        "onednn:   0.250 ms best, 0.500 ms median, spread 4.0 %; 0.50 times this kernel's minimum "
        "when both were timed in turns\n"
        "          oneDNN 3, nhwc\n"
        "openblas: not available: not installed\n"
        "compiler: NVRTC, cuda\n"
        "contract: as the caller has it\n"
        "perf:     cycles ~12 345 (in 41 % of the time), l1d 2 B (event set l1)\n"
        "          ipc 1.5\n"
        "          not counted: llc_loads: why\n");
    doc_close(&d);
}

static void test_partly_measured(void **state)
{
    (void)state;
    struct doc d;
    struct measurement m = { .outcome = OUTCOME_COMPILE, .max_rel_err = NAN,
                             .reason = "gcc: no" };
    doc_open(&d);
    put_measurement(&d, &m, METER_CLOCK);
    assert_rows(&d, "verified: false\nfailed:   compile error: gcc: no\n");
    m.outcome = OUTCOME_WRONG;
    m.max_rel_err = 1e30;                 /* infinite: no number would help */
    m.reason[0] = 0;
    put_measurement(&d, &m, METER_CLOCK);
    assert_rows(&d, "verified: false\nfailed:   wrong result\n");
    m = (struct measurement){
        .outcome = OUTCOME_OK, .verified = true, .max_rel_err = NAN, .isa = "cuda",
        .device.reason = "no driver", .compiler = "NVRTC", .build_s = 0.006,
        .counts = { [METER_ID_PERF] = { .reason = "no events" } },
    };
    put_measurement(&d, &m, METER_CLOCK | 1u << METER_ID_PERF);
    assert_rows(&d,
        "verified: true\n"
        "latency:  not timed: the kernels are for a GPU, and their host twin was checked; no "
        "driver\n"
        "compiler: NVRTC, cuda, 0.01 s\n"
        "contract: as the caller has it\n"
        "perf:     not available: no events\n");
    m = (struct measurement){
        .outcome = OUTCOME_OK, .verified = true, .max_rel_err = NAN, .threads = 1, .gflops = 8,
        .latency = { .runs = 2, .min_ms = 2000, .median_ms = 2000, .spread = 0.031 },
        .huge_asked = true, .huge_bytes = 3 << 20, .huge_of_bytes = 4 << 20, .compiler = "gcc 12",
    };
    put_measurement(&d, &m, METER_CLOCK);
    assert_rows(&d,
        "verified: true\n"
        "latency:  2.000 s best, 2.000 s median, spread 3.1 %, 2 runs, 1 thread\n"
        "pages:    3.0 of the 4.0 MiB of the buffers are in huge ones\n"
        "speed:    8.0 GFLOP/s at the best\n"
        "compiler: gcc 12\n"
        "contract: as the caller has it\n");
    doc_close(&d);
}

/* --- Networks --------------------------------------------------------------------------------- */

/* network_head_doc only compares the addresses of networks. */
static const struct network *network(int i)
{
    static const char at[2];
    return (const struct network *)(const void *)&at[i];
}

static void test_head_of_a_network(void **state)
{
    (void)state;
    struct doc d;
    struct network_measurement m = {
        .outcome = OUTCOME_OK, .verified = true, .error_of_bound = 0.25,
        .latency = { .runs = 1, .min_ms = 1, .median_ms = 1.02, .spread = 0.04 },
        .first_call_ms = 2, .gflops = 100, .peak_gflops = 200, .peak_fraction = 0.25, .threads = 2,
        .whole_compared = true, .whole = { 0.001, 0.1, "x was not" }, .compared = true,
        .author_abs_err = 0.002, .author_of_bound = 0.2, .build_s = 1.5, .prepare_s = 0.5,
        .check_s = 1, .whole_s = 0.25,
    };
    struct network_look look = { .width = 300, .timed = network(0), .m = &m, .exact = true,
                                 .advice = "; m measures" };
    struct kernel_sums sum = { .s = 0.002, .bound_s = 0.0005, .untimed = 1 };
    doc_open(&d);
    network_head_doc(&d, network(0), &look, &sum);
    assert_rows(&d,
        "latency:  1.00 ms best, 1.02 ms median, spread 4.0 %, 1 run, first run 2.00 ms; kernels' "
        "best times add up to 2.00 ms without 1 kernel that is new; 100.0 GFLOP/s, 50.0 executed; "
        "25 % of peak (200.0); 2 threads\n"
        "bound:    500 µs, the sum of roofline bounds; the network takes 2.00 times that\n"
        "verified: true, every kernel and the whole; the worst error is 0.25 of its bound\n"
        "whole:    outputs are off by at most 0.001, 0.1 of what is allowed; x was not\n"
        "expected: outputs are off by at most 0.002, 0.2 of what is allowed\n"
        "prepared: compiled in 1.5 s, constants in 0.5 s, checked in 1.2 s\n");
    look.exact = false;
    look.width = 89;                      /* too narrow for the speed */
    m.verified = false;
    m.threads = 1;
    sum = (struct kernel_sums){ .s = 0.002, .untimed = 2 };
    network_head_doc(&d, network(0), &look, &sum);
    assert_rows(&d,
        "latency:  1.00 ms best, 1.02 ms median, spread 4.0 %; kernels' best times add up to "
        "2.00 \n"
        "          ms without 2 kernels that are new; 25 % of peak\n"
        "verified: false: kernels were not compared with the reference\n");
    doc_close(&d);
}

static void test_networks_without_numbers(void **state)
{
    (void)state;
    struct doc d;
    struct network_measurement m = {
        .outcome = OUTCOME_OK, .verified = true, .error_of_bound = 0.5,
        .latency = { .runs = 3, .min_ms = 1, .median_ms = 1 }, .threads = 1,
    };
    struct network_look look = { .width = 80, .timed = network(0), .m = &m,
                                 .advice = "; m measures" };
    struct kernel_sums none = {0};
    doc_open(&d);
    network_head_doc(&d, network(0), &look, &none);
    assert_rows(&d, "latency:  1.00 ms best, 1.00 ms median, spread 0.0 %\n"
                    "verified: true, every kernel; the worst error is 0.5 of its bound\n");
    network_head_doc(&d, network(1), &look, &none);
    assert_rows(&d, "latency:  1.00 ms best, 1.00 ms median, spread 0.0 %\n"
                    "stale:    kernels have other steps since it was measured; m measures\n");
    look.outdated = true;
    network_head_doc(&d, network(0), &look, &none);
    assert_rows(&d, "latency:  1.00 ms best (with the steps before), 1.00 ms median, spread 0.0 %\n"
                    "stale:    the shown kernels lack the newest steps; m measures\n");
    look.outdated = false;
    m.outcome = OUTCOME_WRONG;
    m.latency.runs = 0;
    snprintf(m.reason, sizeof m.reason, "call 3");
    network_head_doc(&d, network(0), &look, &none);
    assert_rows(&d, "failed:   wrong result: call 3\n");
    look.m = NULL;
    none.bound_s = 0.002;
    network_head_doc(&d, network(0), &look, &none);
    assert_rows(&d, "bound:    2.00 ms, the sum of roofline bounds\n"
                    "measured: no; m measures\n");
    doc_close(&d);
}

/* --- Ablations -------------------------------------------------------------------------------- */

static struct ablated row_of(const struct program *p, enum verdict verdict, struct ratio ratio)
{
    struct ablated row = { .text = "loop x", .note = "", .program = p };
    row.result.verdict = verdict;
    row.result.ratio = ratio;
    return row;
}

/* What each step does is counted once: nothing at all, nothing with one thread, or nothing that the
 * runs show. */
static void test_ablations(void **state)
{
    (void)state;
    const struct ratio even = { 1, 0.99, 1.01, 1 }, slower = { 2, 1.9, 2.1, 2 };
    struct model *m = model_on(GMM);
    const struct program *p = model_program(m);
    struct ablated row[4] = { row_of(p, VERDICT_SAME, even), row_of(p, VERDICT_SAME, even),
                              row_of(p, VERDICT_NONE, slower), row_of(p, VERDICT_SAME, even) };
    struct ablation a = { .whole = p, .n = 3, .row = row, .threads = 1 };
    struct doc d;
    a.full.m.latency = (struct latency){ .runs = 9, .min_ms = 1, .median_ms = 1.02 };
    row[0].same = row[1].idle = true;
    row[2].result.m.outcome = OUTCOME_LIMIT;
    snprintf(row[2].result.m.reason, sizeof row[2].result.m.reason, "9 GiB");
    row[0].step = 1;
    row[1].step = 2;
    row[2].step = 13;
    row[1].note = "step 3 is renamed";
    doc_open(&d);
    ablation_doc(&d, &a, 100);
    assert_rows(&d,
        "Whole schedule: 1.02 ms median, 3 steps, 1 thread\n"
        "Without a step it is:\n"
        "  1 nothing: the same code          loop x\n"
        "  2 cannot act with one thread      loop x\n"
        "    step 3 is renamed\n"
        " 13 too large                       loop x\n"
        "    9 GiB\n"
        "1 step does nothing: the code is the same without it. 1 step needs more threads to "
        "act.\n");
    row[1].note = "";
    row[2] = row_of(p, VERDICT_SLOWER, slower);
    a.n = 4;
    a.threads = 2;
    ablation_doc(&d, &a, 100);
    const struct line *last = &d.lines.data[d.lines.len - 2];
    assert_string_equal(d.lines.data[0].text, "Whole schedule: 1.02 ms median, 4 steps, 2 threads");
    assert_string_equal(last[0].text, "1 step makes no difference that these runs show: the "
                        "interval contains 1. 1 step does nothing: the ");
    assert_string_equal(last[1].text,
                        "code is the same without it. 1 step needs more threads to act.");
    doc_clear(&d);
    row[2].same = row[3].idle = true;
    ablation_doc(&d, &a, 100);
    assert_string_equal(d.lines.data[d.lines.len - 1].text, "2 steps do nothing: the code is the "
                        "same without them. 2 steps need more threads to act.");
    doc_close(&d);
    model_free(m);
}

/* --- The bottom line of the steps ------------------------------------------------------------- */

static void hint_begins(struct model *m, const struct measurement *r, const char *want)
{
    struct str hint = {0};
    int at = m->pane[DOC_LEDGER].scroll.cursor;
    history_set_measured(m->session->history, at, r);
    m->data_stamp++;
    screen_refresh(m);
    view_ledger_hint(m, &hint);
    if (!str_starts(str_text(&hint), want))
        fail_msg("%s\nis not:\n%s", str_text(&hint), want);
    str_free(&hint);
}

#define ROW "0: gmm m=64 k=32 n=48"

static void test_times_of_steps(void **state)
{
    (void)state;
    static const struct { struct latency l; double load, peak; int threads; const char *says; }
    row[] = {
        { { .runs = 11, .min_ms = 6, .median_ms = 6, .spread = 0.03 }, 0, 0.76, 2,
          ROW " (76 % of the FMA ceiling, best of 11 runs with 2 threads, median 6.00 ms, spread "
          "3 %)" },
        { { .runs = 1, .min_ms = 6, .median_ms = 6, .spread = 0.03 }, 9, 0, 1,
          ROW " (best of 1 run, median 6.00 ms, spread 3 %)" },
        { { .runs = 11, .min_ms = 6, .median_ms = 6, .spread = 0.03, .others = 0.43 }, 9, 0, 1,
          ROW " (~ beside other work on 43 % of the CPUs; best of 11 runs, median 6.00 ms, spread "
          "3 %)" },
        { { .runs = 11, .min_ms = 6, .median_ms = 6, .spread = 0.24 }, 6.5, 0, 1,
          ROW " (~ noisy at load 6.5: spread 24 %, best of 11 runs, median 6.00 ms)" },
        { { .runs = 11, .min_ms = 3, .median_ms = 6, .spread = 0.03 }, 0, 0, 1,
          ROW " (~ noisy: the median is 100 % above the best; best of 11 runs, median 6.00 ms, "
          "spread 3 %)" },
        { { .runs = 11, .min_ms = 6, .median_ms = 6, .spread = 0.24, .others = 0.43 }, 6.5, 0, 1,
          ROW " (~ noisy beside other work on 43 % of the CPUs: spread 24 %, best of 11 runs, "
          "median 6.00 ms)" },
    };
    struct model *m = model_on(GMM);
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct measurement r = { .outcome = OUTCOME_OK, .verified = true, .latency = row[i].l,
                                 .load = row[i].load, .peak_fraction = row[i].peak,
                                 .threads = row[i].threads, .measurements = 1 };
        hint_begins(m, &r, row[i].says);
    }
    struct measurement wrong = { .outcome = OUTCOME_WRONG, .reason = "C differs" };
    hint_begins(m, &wrong, ROW ": C differs");
    type_line(m, "loop parallel C M");
    struct measurement r = { .outcome = OUTCOME_OK, .verified = true, .threads = 1,
                             .latency = row[1].l };
    hint_begins(m, &r, "1: loop parallel C M (best of 1 run with 1 thread, median 6.00 ms");
    press(m, "u");
    m->pane[DOC_LEDGER].scroll.cursor = 1;
    hint_begins(m, &r, "1: loop parallel C M (undone; Enter goes there)");
    model_free(m);
}

/* The column of the time has a word of at most eight letters where there is none. */
static void test_words_for_failures(void **state)
{
    (void)state;
    static const struct { enum outcome outcome; const char *word; } row[] = {
        { OUTCOME_WRONG, "   wrong" }, { OUTCOME_COMPILE, "no build" },
        { OUTCOME_LIMIT, " too big" }, { OUTCOME_ENV, " no env." }, { OUTCOME_CANCEL, " stopped" },
        { OUTCOME_ILL, " unclear" }, { OUTCOME_CRASH, "   crash" }, { OUTCOME_TIMEOUT, " timeout" },
    };
    struct model *m = model_on(GMM);
    type_line(m, "columns best");
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct measurement r = { .outcome = row[i].outcome };
        history_set_measured(m->session->history, 0, &r);
        m->data_stamp++;
        screen_refresh(m);
        const char *text = m->pane[DOC_LEDGER].doc.lines.data[0].text;
        assert_true(str_starts(text, "● 0 as given "));
        if (!str_ends(text, row[i].word))
            fail_msg("%s: %s", row[i].word, text);
    }
    model_free(m);
}

/* --- The start screen ------------------------------------------------------------------------- */

static struct start_entry *add(struct model *m, enum start_kind kind, double age_s)
{
    struct start_entry *e = xcalloc(1, sizeof *e);
    e->kind = kind;
    e->autosave.age_s = age_s;
    snprintf(e->title, sizeof e->title, "T");
    vec_push(&m->start.entry, e);
    return e;
}

static void assert_entry(struct model *m, int i, int width, const char *want)
{
    struct pane_doc *p = &m->pane[DOC_START];
    view_start_build(m, p, width);
    struct str text = {0};
    str_add(&text, p->doc.lines.data[doc_find_id(&p->doc, i)].text);
    while (text.len > 0 && text.data[text.len - 1] == ' ')
        text.data[--text.len] = 0;
    assert_string_equal(str_text(&text), want);
    str_free(&text);
}

static void test_unsaved_entries(void **state)
{
    (void)state;
    static const struct { double age_s; const char *ago; } age[] = {
        { 59, "just now" }, { 61, "1 min ago" }, { 5399, "90 min ago" }, { 5401, "2 h ago" },
        { 129599, "36 h ago" }, { 129601, "2 days ago" },
    };
    struct model *m = model_on(NULL);
    start_free(&m->start);
    for (int i = 0; i < COUNT_OF(age); i++) {
        char want[100];
        add(m, START_AUTOSAVE, age[i].age_s);
        snprintf(want, sizeof want, "  never saved               %s, T", age[i].ago);
        assert_entry(m, i, 80, want);
    }
    int n = m->start.entry.len;
    add(m, START_AUTOSAVE, 1)->autosave.kernel = 7;
    snprintf(add(m, START_AUTOSAVE, 1)->autosave.model, 512, "/x/net.onnx");
    snprintf(add(m, START_AUTOSAVE, 1)->path, 512, "/x/tiled.yaml");
    snprintf(add(m, START_RECENT, 1)->path, 512, "/x/last.yaml");
    m->start.entry.data[n + 1]->kernels = 1;
    m->start.entry.data[n + 2]->kernels = 2;
    assert_entry(m, n, 60, "  kernel of a network       just now, T");
    assert_entry(m, n, 59, "  kernel of a netwo…  just now, T");
    assert_entry(m, n, 40, "  kernel of a netwo…  just now, T");
    assert_entry(m, n, 39, "  kernel of a…  just now, T");
    assert_entry(m, n + 1, 80, "  net.onnx                  just now, 1 kernel changed, T");
    assert_entry(m, n + 2, 80, "  tiled                     just now, 2 kernels changed, T");
    assert_entry(m, n + 3, 80, "  last                      T");
    m->pane[DOC_START].scroll.cursor = doc_find_id(&m->pane[DOC_START].doc, n + 3);
    struct str hint = {0};
    view_start_hint(m, &hint);
    assert_string_equal(str_text(&hint), "Enter opens this session.");
    str_free(&hint);
    model_discard_entry(m);
    assert_string_equal(str_text(&m->message.text), "only unsaved work can be discarded here");
    model_free(m);
}

/* A recent file is listed by its title, or else by its operator; quotes around it are left out. */
static void test_titles_of_files(void **state)
{
    (void)state;
    static const struct { const char *file, *text, *title; } row[] = {
        { "quoted.yaml", "tilescope: 1\ntitle: \"one 'two'\"\noperator: gmm m=8 k=8 n=8\n",
          "one 'two'" },
        { "plain.yaml", "tilescope: 1\noperator: gmm m=8 k=8 n=8", "gmm m=8 k=8 n=8" },
        { "broken.yaml", "title: 'x\"\n", "'x\"" },
        { "short.yaml", "title: \"\n", "\"" },
        { "model.onnx", "title: y\n", "an ONNX model" },
    };
    struct start_list list = {0};
    struct err e;
    for (int i = 0; i < COUNT_OF(row); i++) {
        assert_true(file_write_atomic(row[i].file, row[i].text, strlen(row[i].text), &e));
        session_remember(row[i].file);
    }
    start_read(&list);
    for (int i = 0; i < COUNT_OF(row); i++) {
        const char *title = NULL;
        for (int k = 0; k < list.entry.len; k++)
            if (list.entry.data[k]->kind == START_RECENT
                && str_ends(list.entry.data[k]->path, row[i].file))
                title = list.entry.data[k]->title;
        assert_non_null(title);
        assert_string_equal(title, row[i].title);
    }
    start_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_measured),
        cmocka_unit_test(test_partly_measured),
        cmocka_unit_test(test_head_of_a_network),
        cmocka_unit_test(test_networks_without_numbers),
        cmocka_unit_test(test_ablations),
        cmocka_unit_test(test_times_of_steps),
        cmocka_unit_test(test_words_for_failures),
        cmocka_unit_test(test_unsaved_entries),
        cmocka_unit_test(test_titles_of_files),
    };
    private_folders();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
