/* Studies: the strict reader, expansion, verdicts, findings; reports on scripted measurements. */
#include <math.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "kernels/base/file.h"
#include "profile/measure/meters.h"
#include "sessions/report/report.h"
#include "sessions/study/study_impl.h"
#include "tests/unit/golden.h"
#include "tests/unit/svg_check.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* Two cases, three variants of which one is searched. */
static const char demo[] =
    "study: 1\n"
    "id: demo\n"
    "title: three loop orders\n"
    "paper: {title: A Paper, item: Table 9, machine: an Abacus}\n"
    "prose: |\n"
    "  What they did.\n"
    "\n"
    "  What we assume.\n"
    "operator: gmm m={M} k=8 n={2*M}\n"
    "cases:\n"
    "- {id: \"m{M}\", title: \"{M} rows\", for: {M: [8, 16]}}\n"
    "variants:\n"
    "- {id: plain}\n"
    "- {id: \"wide_{w}\", title: \"lanes of {w}\", for: {w: 4}, steps: [\"loop split C N {w}\"]}\n"
    "- id: best\n"
    "  search: {a: [2, 3, 4], b: [parallel, unroll]}\n"
    "  steps: [\"loop {b} C K\", \"loop split C M {a}\"]\n"
    "metrics:\n"
    "- id: latency\n"
    "  unit: ms\n"
    "  value: latency_ms.min\n"
    "  spread: latency_ms.spread\n"
    "  base: plain\n"
    "  paper: {plain: 8, wide_4: {m8: 4, m16: 10}, best: 1}\n"
    "- {id: misses, title: L1 misses, value: counters.sim.l1_misses}\n"
    "findings:\n"
    "- {text: the best is faster, each: best.latency < plain.latency}\n"
    "- {text: how much, each: plain.latency / best.latency, combine: geomean, unit: x, paper: 8}\n"
    "- {text: rows, each: M + misses_of, combine: mean}\n";

static struct study *must_parse(const char *text)
{
    struct study *s = NULL;
    struct err e = {0};
    if (!study_parse("demo.yaml", text, strlen(text), &s, &e)) {
        struct str out = {0};
        err_print(&out, &e);
        fail_msg("%s", str_text(&out));
    }
    return s;
}

/* demo without its last line, which is wrong on purpose. */
static char *good_demo(void)
{
    char *text = xstrdup(demo);
    char *last = strstr(text, "- {text: rows");
    *last = '\0';
    return text;
}

/* the reader */

/* Replaces the first `from` of the good study; prints the error that comes of it. */
static void try_edit(struct str *out, const char *from, const char *to)
{
    char *text = good_demo(), *at = strstr(text, from);
    struct str edited = {0};
    struct study *s;
    struct err e = {0};
    if (!at)
        fail_msg("the study has no \"%s\"", from);
    str_add_n(&edited, text, (size_t)(at - text));
    str_add(&edited, to);
    str_add(&edited, at + strlen(from));
    if (study_parse("bad.yaml", str_text(&edited), edited.len, &s, &e)) {
        str_printf(out, "accepted: %s -> %s\n", from, to);
        study_free(s);
    } else {
        err_print(out, &e);
    }
    str_add(out, "\n");
    str_free(&edited);
    free(text);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct { const char *from, *to; } edits[] = {
        { "study: 1\n", "" }, { "study: 1", "study: 2" }, { "study: 1", "study: one" },
        { "title: three", "titel: three" }, { "id: demo", "id: [demo]" },
        { "id: demo", "id: ../../demo" },
        { "id: demo\n", "id: demo\nid: demo\n" }, { "item: Table 9", "table: 9" },
        { "cases:\n- {id: \"m{M}\", title: \"{M} rows\", for: {M: [8, 16]}}\n", "" },
        { "cases:\n- {id: \"m{M}\", title: \"{M} rows\", for: {M: [8, 16]}}\n", "cases: []\n" },
        { "m{M}\"", "m\"" }, { "m{M}\"", "{M}\"" }, { "m{M}\"", "m{N}\"" },
        { "for: {M: [8, 16]}",
          "for: {M: [8, 9], N: [1, 2, 3, 4, 5, 6, 7, 8, 9], O: [1, 2, 3, 4, 5, 6, 7, 8, 9], "
          "P: [1, 2, 3, 4, 5, 6, 7, 8, 9], Q: [1, 2, 3, 4, 5, 6, 7, 8, 9]}" },
        { "for: {M: [8, 16]}", "for: {M: []}" }, { "for: {M: [8, 16]}", "for: [8, 16]" },
        { "for: {M: [8, 16]}", "for: {M-1: 8}" }, { "for: {M: [8, 16]}", "for: {M: 8, M: 9}" },
        { "n={2*M}", "n={2*}" }, { "n={2*M}", "n={2*M" }, { "n={2*M}", "n={2*K}" },
        { "gmm m={M}", "gemm m={M}" }, { "k=8", "k=0" },
        { "- {id: plain}", "- {id: plain, step: []}" }, { "- {id: plain}", "- {title: plain}" },
        { "- {id: plain}", "- {id: plain, session: nowhere.yaml}" },
        { "- {id: plain}", "- {id: plain, session: x.yaml, steps: []}" },
        { "- {id: plain}", "- {id: plain, cache: 33K/8}" },
        { "- {id: plain}", "- {id: wide_4}" },
        { "[\"loop split C N {w}\"]", "[\"loop split D N {w}\"]" },
        { "[\"loop split C N {w}\"]", "[\"loop splt C N {w}\"]" },
        { "[\"loop split C N {w}\"]", "[\"loop parallel C K\"]" },
        { "[\"loop split C N {w}\"]", "[\"loop split C N {v}\"]" },
        { "b: [parallel, unroll]", "b: [parallel]" }, { "C M {a}", "C M {c}" },
        { "metrics:\n", "metrics: []\nmetric:\n" },
        { "value: latency_ms.min", "value: latency_ms.mim" },
        { "value: latency_ms.min", "value: latency_ms.min +" },
        { "base: plain", "base: plane" }, { "{plain: 8, ", "{plane: 8, " },
        { "m16: 10", "m17: 10" }, { "m16: 10", "m16: ten" },
        { "id: misses", "id: latency" }, { "id: misses", "id: l1-misses" },
        { "best.latency < ", "best.latencies < " }, { "best.latency < ", "best.latency + " },
        { "combine: geomean", "combine: median" }, { "paper: 8}", "paper: -8}" },
        { "findings:", "measure: {meters: clock, sim: 1}\nfindings:" },
        { "findings:", "measure: {meters: clok}\nfindings:" },
        { "findings:", "measure: {time: fast}\nfindings:" },
        { "findings:", "measure: {time: 1e300}\nfindings:" },
        { "findings:", "measure: {time: nan}\nfindings:" },
        { "findings:", "measure: {search_time: 601}\nfindings:" },
        { "findings:", "measure: {limit: 1e300}\nfindings:" },
        { "findings:", "measure: {budget: 1e300}\nfindings:" },
        { "findings:", "measure: {threads: 2000000}\nfindings:" },
        { "findings:", "scale: {time: 1e300}\nfindings:" },
        { "findings:", "scale: {casse: 1}\nfindings:" },
    };
    struct str out = {0};
    struct study *s;
    struct err e = {0};
    for (int i = 0; i < COUNT_OF(edits); i++)
        try_edit(&out, edits[i].from, edits[i].to);
    assert_null(strstr(str_text(&out), "accepted"));
    assert_false(study_parse("demo.yaml", demo, strlen(demo), &s, &e));
    err_print(&out, &e);
    assert_false(study_parse("empty.yaml", "", 0, &s, &e));
    err_print(&out, &e);
    golden_check("tests/golden/study-errors.txt", str_text(&out));
    str_free(&out);
}

/* parameters */

static void test_expand(void **state)
{
    (void)state;
    static const struct param_value item[] = { { "T", "16" }, { "word", "abc" }, { "x", "2.5" } };
    static const struct param_set set = { COUNT_OF(item), item };
    static const struct { const char *text, *want; } table[] = {
        { "plain", "plain" }, { "", "" }, { "{T}", "16" }, { "a{T}b{word}c", "a16babcc" },
        { "{T/4}", "4" }, { "{ceil(1000/T)}", "63" }, { "{floor(T/5)*2}", "6" }, { "{x}", "2.5" },
        { "{x*T}", "40" }, { "{x/2}", "1.25" }, { "{min(T, 4, 9)}", "4" }, { "{-T}", "-16" },
        { "{", NULL }, { "{T", NULL }, { "{U}", NULL }, { "{T+}", NULL }, { "{}", NULL },
        { "{word+1}", NULL }, { "{T/0}", NULL }, { "{T < 1}", NULL },
    };
    struct arena *a = arena_new();
    for (int i = 0; i < COUNT_OF(table); i++) {
        const char *got = NULL;
        struct err e = {0};
        bool ok = param_expand(a, table[i].text, &set, &got, &e);
        if (ok != (table[i].want != NULL) || (ok && !streq(got, table[i].want)))
            fail_msg("%s -> %s, not %s", table[i].text, ok ? got : e.text,
                     table[i].want ? table[i].want : "an error");
        if (!ok)
            assert_true(e.text[0] && e.at.col >= 1);
    }
    arena_free(a);
}

static void test_grid(void **state)
{
    (void)state;
    static const char *const two[] = { "1", "2" }, *const three[] = { "a", "b", "c" };
    static const struct param_axis axis[] = { { "x", 2, two }, { "y", 3, three } };
    static const struct param_grid grid = { 2, axis }, none = {0};
    struct arena *a = arena_new();
    assert_int_equal(param_grid_size(&grid), 6);
    assert_int_equal(param_grid_size(&none), 1);
    assert_int_equal(param_grid_at(a, &none, 0).n, 0);
    struct param_set s = param_grid_at(a, &grid, 0), t = param_grid_at(a, &grid, 4);
    assert_string_equal(param_text(a, &s), "x=1, y=a");
    assert_string_equal(param_text(a, &t), "x=2, y=b");
    arena_free(a);
}

/* A stranger's study names files of ours: it neither waits for a pipe nor shows what is in them. */
static void test_files_of_a_stranger(void **state)
{
    (void)state;
    static const char secret[] = "root:$6$secret:20000:0:99999:7:::\n";
    char path[300], edit[400];
    struct str out = {0};
    struct err e;
    snprintf(path, sizeof path, "%s/x", temp_dir(NULL));
    snprintf(edit, sizeof edit, "- {id: plain, session: %s}", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(20);
    try_edit(&out, "- {id: plain}", edit);
    alarm(0);
    assert_non_null(strstr(str_text(&out), "is a pipe or a device, not a file"));
    assert_int_equal(unlink(path), 0);
    assert_true(file_write_atomic(path, "", 0, &e));
    str_clear(&out);
    try_edit(&out, "- {id: plain}", edit);
    assert_non_null(strstr(str_text(&out), "is not a session for this tilescope ["));
    static const char *const before[] = { "", "tilescope: 1\noperator: ", "tilescope: ", "- ",
                                          "tilescope: 1\noperator: gmm m=1 k=1 n=1\nsteps:\n- " };
    for (int i = 0; i < COUNT_OF(before); i++) {
        struct str text = {0};
        str_printf(&text, "%s%s", before[i], secret);
        assert_true(file_write_atomic(path, str_text(&text), text.len, &e));
        str_clear(&out);
        try_edit(&out, "- {id: plain}", edit);
        assert_non_null(strstr(str_text(&out), "is not a session for this tilescope, from line"));
        assert_null(strstr(str_text(&out), "secret"));
        assert_null(strstr(str_text(&out), "root"));
        str_free(&text);
    }
    str_free(&out);
}

/* SPEC I's rule. */
static void test_verdict(void **state)
{
    (void)state;
    static const struct { double measured, paper; enum agreement want; } table[] = {
        { 2, 2, AGREE_TWICE }, { 4, 2, AGREE_TWICE }, { 4.01, 2, AGREE_SIGN },
        { 1.415, 2, AGREE_TWICE }, { 1.41, 2, AGREE_SIGN }, { 0.99, 2, AGREE_NOT },
        { 1, 2, AGREE_NOT }, { 0.5, 0.25, AGREE_TWICE }, { 0.51, 0.25, AGREE_SIGN },
        { 1.1, 0.9, AGREE_NOT }, { 1.04, 1, AGREE_TWICE }, { 0.96, 1, AGREE_TWICE },
        { 1.06, 1, AGREE_NOT }, { NAN, 2, AGREE_UNKNOWN },
        { 2, NAN, AGREE_UNKNOWN }, { 0, 2, AGREE_UNKNOWN },
    };
    for (int i = 0; i < COUNT_OF(table); i++)
        if (study_verdict(table[i].measured, table[i].paper) != table[i].want)
            fail_msg("%g against %g", table[i].measured, table[i].paper);
}

static void test_functions(void **state)
{
    (void)state;
    static const char json[] = "{\"a\": 2, \"b\": 8, \"n\": null, \"t\": \"x\"}";
    static const struct { const char *expr; double want; } table[] = {
        { "min(a, b)", 2 }, { "max(a,b,5)", 8 }, { "mean(a, b)", 5 }, { "geomean(a, b)", 4 },
        { "geomean(b)", 8 }, { "floor(2.7) + ceil(2.2)", 5 }, { "abs(-3)", 3 }, { "log(1)", 0 },
        { "min(a, max(b, 1) / 4) * 10", 20 }, { "mean(1, 2, 3, 6)", 3 }, { "min(-1)", -1 },
        { "geomean(a)", 2 }, { "a", 2 }, { "max(a)", 2 },
        { "min()", NAN }, { "min(a", NAN }, { "floor(1, 2)", NAN }, { "geomean(0)", NAN },
        { "log(-1)", NAN }, { "min(n)", NAN }, { "min(t)", NAN }, { "sqrt(2)", NAN },
        { "a < b", NAN }, { "min(a < b)", NAN }, { "min (a)", NAN }, { "", NAN },
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        double got = NAN;
        struct err e = {0};
        bool ok = report_number(json, table[i].expr, &got, &e);
        if (ok == isnan(table[i].want) || (ok && fabs(got - table[i].want) > 1e-12))
            fail_msg("%s is %g, not %g: %s", table[i].expr, got, table[i].want, e.text);
    }
}

/* scripted measurements */

struct script { int calls, searched; int cancel_at; struct cancel cancel; bool broken; };

/* The latency of a program is 8 ms over what its last step splits by, squared. */
static bool measured_so(void *ctx, const struct program *p, const struct measure_opts *o,
                        const struct cancel *c, struct measurement *m, struct err *e)
{
    struct script *script = ctx;
    const char *last = p->n_steps ? strrchr(p->steps[p->n_steps - 1], ' ') : NULL;
    double factor = last ? atof(last) : 1;
    script->calls++;
    script->searched += o->meters == METER_CLOCK;
    assert_ptr_equal(c, &script->cancel);
    if (script->calls == script->cancel_at) {
        atomic_store(&script->cancel.raised, 1);
        return err_set(e, ERR_CANCEL, "cancelled");
    }
    if (script->broken)
        return err_set(e, ERR_ENV, "no compiler");
    *m = (struct measurement){ .outcome = OUTCOME_OK, .verified = true, .threads = o->threads,
                               .seed = o->seed, .compiler = "scripted 1.0" };
    m->latency = (struct latency){ .median_ms = 9 / factor / factor,
                                   .min_ms = 8 / factor / factor, .max_ms = 10, .spread = 0.03,
                                   .runs = 11 };
    if (factor == 3)
        m->outcome = OUTCOME_WRONG;
    if (o->meters & METER_SIM)
        m->sim = (struct sim_result){ .available = factor > 1, .reason = "too long ago",
                                      .l1_misses = 100 };
    return true;
}

static struct study_report *run_script(const struct study *s, struct script *script,
                                       double scale, const char *reuse)
{
    struct study_opts o = { .scale = scale, .meters = METER_CLOCK | METER_SIM, .ctx = script,
                            .measure = measured_so, .date = "2026-01-02T03:04:05Z",
                            .host = "an Abacus | wood", .reuse_json = reuse };
    struct study_report *r = NULL;
    struct err e = {0};
    if (!study_run(s, &o, NULL, &script->cancel, &r, &e))
        fail_msg("%s", e.text);
    r->seconds = 1.5;
    r->n_meters = 2;
    r->meter[0] = (struct meter_info){ "clock", "", true, "" };
    r->meter[1] = (struct meter_info){ "sim", "", false, "no such beads" };
    return r;
}

/* Without the run JSON of the cells, which has a golden file of its own, and their keys, which hang
 * on the compiler. */
static void check_json_golden(const char *report)
{
    json_t *root = json_loads(report, JSON_REJECT_DUPLICATES, NULL), *cell;
    size_t i;
    json_array_foreach(json_object_get(root, "cells"), i, cell) {
        const json_t *run = json_object_get(cell, "run");
        assert_string_equal(json_string_value(json_object_get(run, "operator")), "gmm");
        json_object_set_new(cell, "run", json_null());
        json_object_set_new(cell, "key", json_string("KEY"));
    }
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(8));
    golden_check("tests/golden/study.json", text);
    free(text);
    json_decref(root);
}

/* A name is the same whether it stands alone or in an expression: of two, the last. */
static void test_names(void **state)
{
    struct arena *a = arena_new();
    struct param_value outer = { "x", "1" }, inner = { "x", "2" };
    struct param_set first = { 1, &outer }, more = { 1, &inner };
    struct param_set both = param_join(a, &first, &more);
    const char *text;
    struct err e = {0};
    (void)state;
    assert_true(param_expand(a, "{x} {x + 0}", &both, &text, &e));
    assert_string_equal(text, "2 2");
    arena_free(a);
}

static void test_reuse(void **state)
{
    struct arena *a = arena_new();
    struct study_cell cell = { .key = "k" };
    (void)state;
    json_t *none = json_array();
    json_t *one = json_loads("{\"cells\": [{\"key\": \"k\", \"run\": {},"
                             " \"search\": {\"best\": {\"a\": 1234567}}}]}", 0, NULL);
    assert_false(study_reuse(none, a, &cell));
    assert_true(study_reuse(one, a, &cell));
    assert_string_equal(param_get(&cell.chosen, "a"), "1234567");
    json_decref(none);
    json_decref(one);
    arena_free(a);
}

static void test_report(void **state)
{
    (void)state;
    char *text = good_demo();
    struct study *s = must_parse(text);
    struct script script = {0};
    struct study_report *r = run_script(s, &script, 1, NULL);
    struct str out = {0}, json = {0};
    assert_int_equal(script.searched, 2 * 3);            /* lanes of K are illegal three times */
    assert_false(r->partial);
    const struct study_cell *best = study_cell(r, 1, 2);
    assert_int_equal(best->illegal, 3);
    assert_int_equal(best->failed, 1);                   /* a factor of 3 computes wrong values */
    assert_string_equal(param_get(&best->chosen, "a"), "4");
    assert_string_equal(best->step[1], "loop split C M 4");
    assert_true(study_ratio(r, 1, 2, 0) == 1.0 / 16);
    assert_int_equal(study_cell_verdict(r, 0, 0, 0), AGREE_BASE);
    assert_int_equal(study_cell_verdict(r, 0, 1, 0), AGREE_SIGN);       /* 1/16 and 1/2 */
    assert_int_equal(study_cell_verdict(r, 1, 1, 0), AGREE_NOT);  /* 1/16 and 10/8 */
    assert_int_equal(study_cell_verdict(r, 1, 2, 0), AGREE_TWICE);     /* 1/16 and 1/8 */
    assert_int_equal(study_cell_verdict(r, 1, 2, 1), AGREE_NONE);
    assert_true(r->result[0].holds);
    assert_true(fabs(r->result[1].value - 16) < 1e-9);
    study_text(&out, r);
    golden_check("tests/golden/study.txt", str_text(&out));
    study_json(&json, r);
    check_json_golden(str_text(&json));
    study_report_free(r);

    /* The same again from that report: nothing is measured, and the numbers are the same. */
    struct script again = {0};
    r = run_script(s, &again, 1, str_text(&json));
    assert_int_equal(again.calls, 0);
    assert_true(study_ratio(r, 1, 2, 0) == 1.0 / 16);
    assert_string_equal(param_get(&study_cell(r, 1, 2)->chosen, "a"), "4");
    assert_int_equal(study_cell(r, 1, 2)->state, CELL_REUSED);
    study_report_free(r);
    str_free(&out);
    str_free(&json);
    study_free(s);
    free(text);
}

/* Where in the report its prose begins, which is this one word behind these blanks. */
static size_t prose_at(const char *blanks, const char *word)
{
    static const char old[] = "What they did.\n\n  What we assume.";
    char *text = good_demo();
    const char *at = strstr(text, old);
    struct str other = {0}, out = {0};
    struct script script = {0};
    assert_non_null(at);
    str_add_n(&other, text, (size_t)(at - text));
    str_printf(&other, "%s%s%s", blanks, word, at + strlen(old));
    struct study *s = must_parse(str_text(&other));
    struct study_report *r = run_script(s, &script, 1, NULL);
    study_text(&out, r);
    at = strstr(str_text(&out), word);
    assert_non_null(at);
    size_t n = (size_t)(at - str_text(&out));
    study_report_free(r);
    study_free(s);
    str_free(&other);
    str_free(&out);
    free(text);
    return n;
}

/* A word that no line has room for begins no line before its own. */
static void test_long_words(void **state)
{
    char word[121];
    (void)state;
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_int_equal(prose_at("", word), prose_at("", "wwwww"));
    assert_int_equal(prose_at("\n\n  ", "wwwww"), prose_at("", "wwwww"));
}

/* Bars over cases in the colours of variants; of one case, over variants, the paper's in grey. */
static void test_charts(void **state)
{
    (void)state;
    char *text = good_demo();
    struct study *s = must_parse(text);
    static const struct { const char *cases, *path; } row[] = {
        { NULL, "tests/golden/chart/study-cases.gp" },
        { "m8", "tests/golden/chart/study-variants.gp" },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct script script = {0};
        struct study_opts o = { .scale = 1, .cases = row[i].cases, .meters = METER_CLOCK,
                                .ctx = &script, .measure = measured_so, .host = "an Abacus",
                                .date = "2026-01-02T03:04:05Z" };
        struct study_report *r = NULL;
        struct str svg = {0}, script_text = {0};
        struct err e;
        assert_true(study_run(s, &o, NULL, &script.cancel, &r, &e));
        assert_true(study_chart(&script_text, r, 0, CHART_SCRIPT, &e));
        golden_check(row[i].path, str_text(&script_text));
        assert_true(study_chart(&svg, r, 0, CHART_SVG, &e));
        svg_check(str_text(&svg));
        str_free(&svg);
        str_free(&script_text);
        study_report_free(r);
    }
    study_free(s);
    free(text);
}

/* --resume takes a cell only when all that its numbers hang on is as it was. */
static void test_keys(void **state)
{
    (void)state;
    static const struct { const char *measure, *flags; bool plain, best; } row[] = {
        { "", NULL, true, true }, { "", "-fno-inline", false, false },
        { "measure: {search_time: 0.03}\n", NULL, true, true },             /* the default */
        { "measure: {search_time: 0.5}\n", NULL, true, false },
        { "measure: {budget: 9}\n", NULL, true, false },
        { "measure: {limit: 3}\n", NULL, false, false },
        { "measure: {time: 2}\n", NULL, false, false },
    };
    char plain[32], best[32];
    for (int i = 0; i < COUNT_OF(row); i++) {
        char *text = good_demo();
        struct str with = {0};
        str_printf(&with, "%s%s", text, row[i].measure);
        struct study *s = must_parse(str_text(&with));
        struct script script = {0};
        if (row[i].flags)
            setenv("TILESCOPE_CFLAGS", row[i].flags, 1);
        struct study_report *r = run_script(s, &script, 1, NULL);
        unsetenv("TILESCOPE_CFLAGS");
        const char *key = study_cell(r, 0, 0)->key, *searched = study_cell(r, 0, 2)->key;
        if (i == 0) {
            snprintf(plain, sizeof plain, "%s", key);
            snprintf(best, sizeof best, "%s", searched);
        }
        if (streq(plain, key) != row[i].plain || streq(best, searched) != row[i].best)
            fail_msg("%s: %s %s, not %s %s", row[i].measure, key, searched, plain, best);
        study_report_free(r);
        study_free(s);
        str_free(&with);
        free(text);
    }
}

/* A parameter that is only in the steps of a searched variant is part of its key as well. */
static void test_keys_of_searched_variants(void **state)
{
    static const char text[] =
        "study: 1\nid: demo\ntitle: two of a kind\noperator: gmm m=16 k=8 n=16\n"
        "cases:\n- {id: only}\n"
        "variants:\n- {id: \"v{T}\", for: {T: [2, 16]}, search: {U: [2, 4]},\n"
        "   steps: ['loop split C M {T}', 'loop split C N {U}']}\n"
        "metrics:\n- {id: latency, value: latency_ms.min}\n";
    (void)state;
    struct study *s = must_parse(text);
    struct script script = {0};
    struct study_report *r = run_script(s, &script, 1, NULL);
    assert_int_equal(s->n_variants, 2);
    assert_string_not_equal(study_cell(r, 0, 0)->key, study_cell(r, 0, 1)->key);
    study_report_free(r);
    study_free(s);
}

/* A part of a study: what is left is as it was, and what spoke of the rest is gone. */
static void test_variants(void **state)
{
    static const struct { const char *names, *left_out, *error; int n, base, findings; } row[] = {
        { "plain", "wide_4, best", NULL, 1, 0, 0 }, { "BEST", "plain, wide_4", NULL, 1, -1, 0 },
        { "best,pl*", "wide_4", NULL, 2, 0, 3 }, { "lanes of ?", "plain, best", NULL, 1, -1, 0 },
        { "*", "", NULL, 3, 0, 3 }, { "bets", NULL, "did you mean \"best\"?", 0, 0, 0 },
        { "best,", NULL, "it has plain, wide_4, best; * and ? match any letters", 0, 0, 0 },
        { "", NULL, "it has plain, wide_4, best; * and ? match any letters", 0, 0, 0 },
    };
    (void)state;
    char *good = good_demo();
    struct str text = {0};
    str_printf(&text, "%s- {text: gap, each: plain.latency-best.latency, combine: mean}\n", good);
    free(good);
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct study *s = must_parse(str_text(&text));
        struct err e = {0};
        bool ok = study_pick_variants(s, row[i].names, &e);
        if (ok == (row[i].error != NULL) || (!ok && !streq(e.fix, row[i].error)))
            fail_msg("%s: %s", row[i].names, e.fix);
        if (ok) {
            struct script script = {0};
            assert_string_equal(s->left_out ? s->left_out : "", row[i].left_out);
            assert_int_equal(s->n_variants, row[i].n);
            assert_int_equal(s->metric[0].base, row[i].base);
            assert_int_equal(s->n_findings, row[i].findings);
            struct study_report *r = run_script(s, &script, 1, NULL);
            for (int v = 0; v < s->n_variants; v++)
                if (streq(s->variant[v].id, "wide_4"))
                    assert_true(study_paper(r, 1, v, 0) == 10);
            study_report_free(r);
        }
        study_free(s);
    }
    str_free(&text);
}

static void test_cases(void **state)
{
    static const struct { const char *names; int n, first; const char *error; } row[] = {
        { "m8", 1, 0, NULL }, { "M16", 1, 1, NULL }, { "m*", 2, 0, NULL },
        { "16 rows,m8", 2, 0, NULL }, { "m17", 0, 0, "did you mean \"m16\"?" },
    };
    (void)state;
    char *text = good_demo();
    struct study *s = must_parse(text);
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct study_opts o = { .scale = 1, .cases = row[i].names, .meters = METER_CLOCK,
                                .measure = measured_so, .host = "an Abacus | wood" };
        struct script script = {0};
        struct study_report *r = NULL;
        struct err e = {0};
        o.ctx = &script;
        bool ok = study_run(s, &o, NULL, &script.cancel, &r, &e);
        if (ok == (row[i].error != NULL) || (!ok && !streq(e.fix, row[i].error)))
            fail_msg("%s: %s, %s", row[i].names, e.text, e.fix);
        if (!ok)
            continue;
        assert_int_equal(r->n_cases, row[i].n);
        assert_int_equal(r->cases[0], row[i].first);
        study_report_free(r);
    }
    study_free(s);
    free(text);
}

static void test_scale(void **state)
{
    (void)state;
    char *text = good_demo();
    struct study *s = must_parse(text);
    struct script script = {0};
    struct study_report *r = run_script(s, &script, 0.01, NULL);
    assert_int_equal(r->n_cases, 1);
    assert_int_equal(study_cell(r, 0, 2)->tried, 1);
    assert_true(r->scale == 0.01);
    assert_string_equal(study_cell(r, 0, 2)->ended, "scale");
    study_report_free(r);
    study_free(s);
    free(text);
}

/* Told of any cell, the first and the last, whose samples differ by more than its ratio. */
static void test_within_spread(void **state)
{
    (void)state;
    char *text = good_demo();
    struct study *s = must_parse(text);
    struct script script = {0};
    struct study_report *r = run_script(s, &script, 1, NULL);
    struct str out = {0};
    int n = r->n_cases * s->n_variants;
    for (int i = -1; i < n; i++) {
        double spread = i < 0 ? 0 : r->cell[i].spread[0];
        bool base = i >= 0 && i % s->n_variants == 0;
        if (i >= 0)
            r->cell[i].spread[0] = 20;
        str_clear(&out);
        study_text(&out, r);
        if ((strstr(str_text(&out), "~ the ratio is within the spread") != NULL) != (i >= 0))
            fail_msg("cell %d:\n%s", i, str_text(&out));
        int marks = 0;
        for (const char *at = str_text(&out); (at = strstr(at, " ~\n")); at++)
            marks++;
        assert_int_equal(marks, i < 0 ? 0 : base ? s->n_variants - 1 : 1);
        if (i >= 0)
            r->cell[i].spread[0] = spread;
    }
    str_free(&out);
    study_report_free(r);
    study_free(s);
    free(text);
}

/* A search that runs out of time has tried one, and says so: the best may be another. */
static void test_budget(void **state)
{
    (void)state;
    char *text = good_demo();
    struct str with = {0}, out = {0};
    str_printf(&with, "%smeasure: {budget: 1e-9}\n", text);
    struct study *s = must_parse(str_text(&with));
    struct script script = {0};
    struct study_report *r = run_script(s, &script, 1, NULL);
    assert_string_equal(study_cell(r, 0, 2)->ended, "budget");
    assert_true(study_cell(r, 0, 2)->tried < 3);
    study_text(&out, r);
    assert_non_null(strstr(str_text(&out), " budget "));
    assert_non_null(strstr(str_text(&out), "may have missed the best"));
    study_report_free(r);
    study_free(s);
    str_free(&with);
    str_free(&out);
    free(text);
}

/* A cancel leaves what was measured, and says so. */
static void test_cancel(void **state)
{
    (void)state;
    char *text = good_demo();
    struct study *s = must_parse(text);
    struct script script = { .cancel_at = 8 };    /* in the search of the second case */
    struct study_report *r = run_script(s, &script, 1, NULL);
    struct str out = {0};
    assert_true(r->partial);
    assert_int_equal(script.calls, 8);
    for (int v = 0; v < 3; v++) {
        assert_int_equal(study_cell(r, 0, v)->state, CELL_MEASURED);
        assert_int_equal(study_cell(r, 1, v)->state, CELL_LEFT);
    }
    assert_true(isnan(study_cell(r, 1, 0)->value[0]));
    assert_int_equal(study_cell_verdict(r, 1, 1, 0), AGREE_UNKNOWN);
    assert_true(r->result[0].known && r->result[0].n_missing == 1);
    study_text(&out, r);
    assert_non_null(strstr(str_text(&out), "PARTIAL"));
    assert_non_null(strstr(str_text(&out), "left out: cancelled"));
    str_free(&out);
    study_report_free(r);
    study_free(s);
    free(text);
}

/* After each case the report so far can be kept, and what it has is taken from it, before anything
 * is measured. */
struct keeper { int n; struct str first; };
static void keep_first(void *ctx, const struct study_report *r)
{
    struct keeper *k = ctx;
    if (k->n++ > 0) {
        assert_false(r->partial);
        return;
    }
    assert_true(r->partial && r->result[0].n_missing == 1);
    assert_string_equal(study_cell(r, 1, 0)->reason, "not reached");
    study_json(&k->first, r);
}

static void test_keep(void **state)
{
    (void)state;
    char *text = good_demo();
    struct study *s = must_parse(text);
    struct keeper k = {0};
    struct script script = {0}, again = {0};
    struct study_opts o = { .scale = 1, .measure = measured_so, .ctx = &script, .keep = keep_first,
                            .keep_ctx = &k, .host = "h" };
    struct study_report *r = NULL;
    struct err e = {0};
    assert_true(study_run(s, &o, NULL, &script.cancel, &r, &e));
    assert_int_equal(k.n, 2);
    study_report_free(r);
    assert_true(study_report_check(s, "r.json", str_text(&k.first), &e));
    o.reuse_json = str_text(&k.first);
    o.ctx = &again;
    o.keep = NULL;
    atomic_store(&again.cancel.raised, 1);      /* nothing of the earlier report is lost by it */
    assert_true(study_run(s, &o, NULL, &again.cancel, &r, &e));
    assert_int_equal(again.calls, 0);
    assert_true(r->partial);
    for (int v = 0; v < 3; v++) {
        assert_int_equal(study_cell(r, 0, v)->state, CELL_REUSED);
        assert_int_equal(study_cell(r, 1, v)->state, CELL_LEFT);
    }
    assert_true(study_cell(r, 0, 0)->value[0] > 0);
    assert_null(study_cell(r, 0, 0)->missing[0]);
    study_report_free(r);
    str_free(&k.first);
    study_free(s);
    free(text);
}

static void test_no_report(void **state)
{
    static const struct { const char *json, *want; enum err_code code; } row[] = {
        { "{\"study\": \"de", "r.json:1:13: no JSON: ", ERR_SYNTAX },
        { "[]", "r.json is not a report of a study", ERR_SYNTAX },
        { "{\"study\": \"demo\"}", "r.json is not a report of a study", ERR_SYNTAX },
        { "{\"study\": \"other\", \"cells\": []}", "r.json is a report of other, not",
          ERR_NAME },
    };
    char *text = good_demo();
    struct study *s = must_parse(text);
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct err e = {0};
        assert_false(study_report_check(s, "r.json", row[i].json, &e));
        if (!str_starts(e.text, row[i].want))
            fail_msg("%s", e.text);
        assert_int_equal(e.code, row[i].code);
    }
    study_free(s);
    free(text);
}

static void test_environment(void **state)
{
    (void)state;
    char *text = good_demo();
    struct study *s = must_parse(text);
    struct script script = { .broken = true };
    struct study_opts o = { .scale = 1, .measure = measured_so, .ctx = &script };
    struct study_report *r = NULL;
    struct err e = {0};
    assert_false(study_run(s, &o, NULL, &script.cancel, &r, &e));
    assert_int_equal(e.code, ERR_ENV);
    assert_null(r);
    study_free(s);
    free(text);
}

/* what is shipped, and what is documented */

static void test_shipped(void **state)
{
    (void)state;
    struct study *s[50];
    struct err e = {0};
    int n = 0;
    setenv("TILESCOPE_HOME", ".", 1);
    if (!study_list(s, COUNT_OF(s), &n, &e))
        fail_msg("%s:%d: %s", e.at.file, e.at.line, e.text);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        const char *base = strrchr(s[i]->path, '/') + 1;
        assert_true(str_starts(base, s[i]->id));
        assert_true(s[i]->title[0] && s[i]->paper[0] && s[i]->item[0] && s[i]->prose[0]);
        assert_true(s[i]->n_findings > 0);               /* a claim, and whether it holds */
        study_free(s[i]);
    }
}

static void check_keys(const json_t *node, const char *schema)
{
    const char *key;
    json_t *child;
    size_t i;
    json_array_foreach(node, i, child)
        check_keys(child, schema);
    json_object_foreach((json_t *)node, key, child) {
        static const char *const free_names[] = { "parameters", "metrics", "best", "run" };
        char quoted[64];
        bool free_below = false;
        snprintf(quoted, sizeof quoted, "`%s`", key);
        if (!strstr(schema, quoted))
            fail_msg("sessions/schema.md says nothing about %s", quoted);
        for (int k = 0; k < COUNT_OF(free_names); k++)
            free_below = free_below || streq(key, free_names[k]);
        if (streq(key, "metrics") && json_is_object(child))
            check_keys(json_object_iter_value(json_object_iter(child)), schema);
        else if (!free_below || json_is_array(child))
            check_keys(child, schema);
    }
}

static void test_schema(void **state)
{
    (void)state;
    struct str schema = {0}, json = {0};
    struct err e;
    assert_true(file_read("sessions/schema.md", 1 << 20, &schema, &e));
    assert_true(file_read("tests/golden/study.json", 1 << 20, &json, &e));
    json_t *root = json_loads(str_text(&json), 0, NULL);
    assert_non_null(root);
    check_keys(root, str_text(&schema));
    json_decref(root);
    char *text = good_demo();
    struct study *s = must_parse(text);
    str_clear(&json);
    study_list_json(&json, &s, 1);
    root = json_loads(str_text(&json), 0, NULL);
    check_keys(root, str_text(&schema));
    json_decref(root);
    study_free(s);
    free(text);
    str_free(&schema);
    str_free(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_of_a_stranger),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_expand),
        cmocka_unit_test(test_grid),     cmocka_unit_test(test_verdict),
        cmocka_unit_test(test_functions), cmocka_unit_test(test_report),
        cmocka_unit_test(test_charts), cmocka_unit_test(test_long_words),
        cmocka_unit_test(test_keys), cmocka_unit_test(test_variants), cmocka_unit_test(test_cases),
        cmocka_unit_test(test_keys_of_searched_variants),
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_within_spread),
        cmocka_unit_test(test_budget),    cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_environment), cmocka_unit_test(test_shipped),
        cmocka_unit_test(test_schema),   cmocka_unit_test(test_names),
        cmocka_unit_test(test_reuse), cmocka_unit_test(test_keep), cmocka_unit_test(test_no_report),
    };
    return cmocka_run_group_tests_name("study", tests, NULL, NULL);
}
