/* Session files: every way to be malformed, round trips, autosave under kill -9, recent files. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "explorer/history/command.h"
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/base/vec.h"
#include "sessions/file/session.h"
#include "tests/unit/fork_child.h"
#include "tests/unit/golden.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define HEAD "tilescope: 1\noperator: gmm m=32 k=16 n=32\n"
#define GMM "gmm m=32 k=16 n=32"

static uint64_t seed = 1;
static const char *state_dir;

static bool parse_text(const char *text, size_t n, struct session **out, struct err *e)
{
    *e = (struct err){0};
    return session_parse("t.yaml", text, n, out, e);
}

static struct session *must_parse(const char *text)
{
    struct session *s = NULL;
    struct err e;
    if (!parse_text(text, strlen(text), &s, &e)) {
        struct str out = {0};
        err_print(&out, &e);
        fail_msg("%s", str_text(&out));
    }
    return s;
}

/* malformed files */

/* A name for the golden file and the text. */
static const struct { const char *name, *text; } malformed[] = {
    { "empty file", "" },
    { "only a comment", "# nothing here\n\n" },
    { "a scalar", "hello\n" },
    { "a list", "- a\n- b\n" },
    { "no version", "operator: gmm m=32 k=16 n=32\n" },
    { "newer version", "tilescope: 2\noperator: gmm m=32 k=16 n=32\nnew: 1\n" },
    { "version 0", "tilescope: 0\n" },
    { "version as text", "tilescope: \"1\"\n" },
    { "version 1.0", "tilescope: 1.0\n" },
    { "no operator", "tilescope: 1\ntitle: x\n" },
    { "unclosed list", HEAD "steps: [loop parallel C M\n" },
    { "unclosed list, more lines", HEAD "steps: [a, b\nbranch: main\n" },
    { "accuracy above 1", HEAD "accuracy: 2\n" },
    { "unclosed quote", HEAD "title: \"abc\nnote: x\n" },
    { "unclosed map", HEAD "branches: {main: {steps: []}\n" },
    { "bad indentation", HEAD "branches:\n  main:\n    steps: []\n   at: 0\n" },
    { "tab", HEAD "branches:\n\tmain:\n" },
    { "no colon", HEAD "title\n" },
    { "two colons", HEAD "title: a: b\n" },
    { "unknown key", HEAD "titel: x\n" },
    { "unknown key, nothing near", HEAD "frobnicate: x\n" },
    { "unknown key in a branch", HEAD "branches: {main: {step: []}}\n" },
    { "duplicate key", HEAD "title: a\ntitle: b\n" },
    { "duplicate branch", HEAD "branches:\n  a: {steps: []}\n  a: {steps: []}\n" },
    { "anchor", HEAD "title: &x abc\n" },
    { "alias", HEAD "title: *x\n" },
    { "cycle", HEAD "steps: &a [*a]\n" },
    { "tag", HEAD "title: !!str abc\n" },
    { "undefined directive", "%FOO bar\n---\n" HEAD },
    { "key that is a list", HEAD "? [a, b]\n: c\n" },
    { "two documents", HEAD "---\ntitle: x\n" },
    { "deep nesting", HEAD "note: [[[[[[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]]]]]\n" },
    { "bad UTF-8", HEAD "title: caf\xe9 x\n" },
    { "overlong UTF-8", HEAD "title: \xc0\xaf\n" },
    { "UTF-16", "\xff\xfet\0i\0" },
    { "control character", HEAD "title: a\x07z\n" },
    { "escaped control character", HEAD "title: \"a\\x1bz\"\n" },
    { "escaped NUL", HEAD "title: \"a\\0z\"\n" },
    { "title of two lines", HEAD "title: |\n  a\n  b\n" },
    { "title as list", HEAD "title: [a]\n" },
    { "title as nothing", HEAD "title:\n" },
    { "title as null", HEAD "title: ~\n" },
    { "operator as number of words", "tilescope: 1\noperator: gmm m=32 k=16 n=zero\n" },
    { "operator, quoted", "tilescope: 1\noperator: 'gmm m=32 k=16 q=32'\n" },
    { "operator of two lines", "tilescope: 1\noperator: gmm m=32\n  k=16 n=32\n" },
    { "operator as map", "tilescope: 1\noperator: {gmm: 1}\n" },
    { "steps as text", HEAD "steps: loop parallel C M\n" },
    { "steps as nothing", HEAD "steps:\n" },
    { "step as map", HEAD "steps:\n  - loop: parallel\n" },
    { "step as list", HEAD "steps:\n  - [loop, parallel]\n" },
    { "step as nothing", HEAD "steps:\n  -\n" },
    { "step of two lines", HEAD "steps:\n  - loop parallel\n    C M\n" },
    { "step as block", HEAD "steps:\n  - |\n    loop parallel C M\n" },
    { "unknown verb", HEAD "steps:\n  - loop parallel C M\n  - loop vectorise C N\n" },
    { "unknown tensor", HEAD "steps:\n  - loop parallel Q M\n" },
    { "unknown loop, in quotes", HEAD "steps:\n  - \"loop parallel C Q\"\n" },
    { "unknown loop, behind an escape", HEAD "steps:\n  - \"loop parallel\\x20C Q\"\n" },
    { "unknown loop, in a flow list", HEAD "steps: [loop parallel C M, 'loop unroll C Q']\n" },
    { "second loop step twice", HEAD "steps: [loop split C M 4, loop split C M 4]\n" },
    { "bad notation", HEAD "steps:\n  - layout set C \"M/4 N 4q\"\n" },
    { "command as step", HEAD "steps: [undo 1]\n" },
    { "comment as step", HEAD "steps: ['# x']\n" },
    { "non-ASCII before the error",
    HEAD "title: \xc3\xa9\nsteps: ['loop \xc3\xa9\xc3\xa9 C Q']\n" },
    { "at too large", HEAD "steps: [loop parallel C M]\nat: 2\n" },
    { "at negative", HEAD "steps: [loop parallel C M]\nat: -1\n" },
    { "at as text", HEAD "at: one\n" },
    { "at as float", HEAD "at: 0.0\n" },
    { "at in octal", HEAD "at: 00\n" },
    { "at beyond 64 bits", HEAD "at: 99999999999999999999\n" },
    { "steps and branches", HEAD "steps: []\nbranches: {main: {}}\n" },
    { "at and branches", HEAD "at: 0\nbranches: {main: {}}\n" },
    { "branches as list", HEAD "branches: [main]\n" },
    { "no branches", HEAD "branches: {}\n" },
    { "branch as list", HEAD "branches: {main: [loop parallel C M]}\n" },
    { "branch name", HEAD "branches: {a/b: {steps: []}}\n" },
    { "first branch from another", HEAD "branches: {a: {from: b}, b: {}}\n" },
    { "branch from a later one", HEAD "branches: {a: {}, b: {from: c}, c: {}}\n" },
    { "branch from itself", HEAD "branches: {a: {}, b: {from: b}}\n" },
    { "after without from", HEAD "branches: {a: {}, b: {after: 0}}\n" },
    { "after too large", HEAD "branches: {a: {}, b: {from: a, after: 1}}\n" },
    { "current branch unknown", HEAD "branch: tield\nbranches: {main: {}, tiled: {}}\n" },
    { "measured as map", HEAD "measured: {a: b}\n" },
    { "measured without a key", HEAD "measured: [{branch: main, step: 0, outcome: ok}]\n" },
    { "measured, unknown outcome",
      HEAD "measured: [{branch: main, step: 0, key: x, outcome: okay}]\n" },
    { "measured, unknown key",
      HEAD "measured: [{branch: main, step: 0, key: x, outcome: ok, gflop: 1}]\n" },
    { "measured, yes for true",
      HEAD "measured: [{branch: main, step: 0, key: x, outcome: ok, verified: yes}]\n" },
    { "measured, quoted number",
      HEAD "measured: [{branch: main, step: 0, key: x, outcome: ok, gflops: '1'}]\n" },
    { "measured, not a number",
      HEAD "measured: [{branch: main, step: 0, key: x, outcome: ok, gflops: .nan}]\n" },
    { "measured, infinite",
      HEAD "measured: [{branch: main, step: 0, key: x, outcome: ok, gflops: 1e999}]\n" },
    { "measured, negative",
      HEAD "measured: [{branch: main, step: 0, key: x, outcome: ok, gflops: -1}]\n" },
    { "measured, runs as float",
      HEAD "measured:\n- {branch: main, step: 0, key: x, outcome: ok, latency_ms: {runs: 1.5}}\n" },
    { "measured, sim as text",
      HEAD "measured: [{branch: main, step: 0, key: x, outcome: ok, sim: none}]\n" },
    { "measured, tensor name too long",
      HEAD "measured:\n- branch: main\n  step: 0\n  key: x\n  outcome: ok\n  sim:\n    by_tensor:\n"
      "      A12345678901234567890123456789012345678901234567890: {loads: 1}\n" },
    { "measured, too many events",
      HEAD "measured:\n- branch: main\n  step: 0\n  key: x\n  outcome: ok\n  perf:\n"
      "    counts: [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},"
      " {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}]\n" },
    { "Windows line ends",
    "tilescope: 1\r\noperator: gmm m=32 k=16 n=32\r\nsteps:\r\n- loop x C\r\n" },
    { "byte order mark", "\xef\xbb\xbftilescope: 1\ntitel: x\n" },
};

static void test_malformed(void **state)
{
    (void)state;
    struct str out = {0};
    for (int i = 0; i < COUNT_OF(malformed); i++) {
        struct session *s = NULL;
        struct err e;
        size_t n = strlen(malformed[i].text);
        if (streq(malformed[i].name, "UTF-16"))
            n = 6;
        if (parse_text(malformed[i].text, n, &s, &e))
            fail_msg("\"%s\" is accepted", malformed[i].name);
        assert_null(s);
        str_printf(&out, "--- %s\n", malformed[i].name);
        err_print(&out, &e);
    }
    golden_check("tests/golden/err/session.txt", str_text(&out));
    str_free(&out);
}

/* Input files that pinned a bug or a class of inputs, each with a comment line that says which. */
static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void test_regress(void **state)
{
    (void)state;
    VEC(char *) names = {0};
    struct str out = {0}, path = {0};
    DIR *d = opendir("tests/regress");
    assert_non_null(d);
    for (struct dirent *entry; (entry = readdir(d)) != NULL;)
        if (str_ends(entry->d_name, ".yaml"))
            vec_push(&names, xstrdup(entry->d_name));
    closedir(d);
    qsort(names.data, (size_t)names.len, sizeof *names.data, by_name);
    for (int i = 0; i < names.len; i++) {
        struct session *s = NULL;
        struct err e;
        str_clear(&path);
        str_printf(&path, "tests/regress/%s", names.data[i]);
        str_printf(&out, "--- %s\n", names.data[i]);
        if (session_load(str_text(&path), &s, &e))
            session_yaml_in(s, NULL, &out);
        else
            err_print(&out, &e);
        session_free(s);
        free(names.data[i]);
    }
    golden_check("tests/golden/err/regress.txt", str_text(&out));
    vec_free(&names);
    str_free(&out);
    str_free(&path);
}

/* Inputs too large to write down: refused, and quickly; with TEST_SLOW (valgrind), in any time. */
static void check_refused_fast(const char *text, size_t n, const char *want)
{
    struct session *s = NULL;
    struct err e;
    double start = clock_s();
    assert_false(parse_text(text, n, &s, &e));
    if (!strstr(e.text, want))
        fail_msg("\"%s\" expected, not \"%s\"", want, e.text);
    assert_true(clock_s() - start < (getenv("TEST_SLOW") ? 1000 : 10));
}

static void test_huge(void **state)
{
    (void)state;
    struct str text = {0};
    str_add(&text, HEAD "note: ");
    str_repeat(&text, '[', 200000);
    check_refused_fast(text.data, text.len, "nested deeper than 16 levels");
    str_clear(&text);
    str_add(&text, HEAD "note: ");
    for (int i = 0; i < 100000; i++)
        str_add(&text, "{a: ");
    check_refused_fast(text.data, text.len, "nested deeper than 16 levels");
    str_clear(&text);
    str_repeat(&text, 'x', (16 << 20) + 1);
    check_refused_fast(text.data, text.len, "bytes; a session has at most");
    str_clear(&text);
    str_add(&text, HEAD "steps: [");
    for (int i = 0; i < 2000001; i++)
        str_add(&text, "a, ");
    check_refused_fast(text.data, text.len, "more than 2000000 values");
    str_clear(&text);
    str_add(&text, HEAD "steps:\n");
    for (int i = 0; i < 1001; i++)
        str_add(&text, "- loop parallel C M\n- loop serial C M\n");
    struct session *s = NULL;
    struct err e;
    if (!parse_text(text.data, text.len, &s, &e) && !strstr(e.text, "more than 2000 steps"))
        assert_int_equal(e.at.line, 4);
    session_free(s);
    str_clear(&text);
    str_add(&text, HEAD "branches:\n");
    for (int i = 0; i < 30000; i++)
        str_printf(&text, "  b%d: {}\n", i);
    check_refused_fast(text.data, text.len, "there must be 1 to 256 branches");
    str_free(&text);
}

/* Random damage to a good file: an error inside the file or a session, never a crash. */
static void test_damage(void **state)
{
    (void)state;
    static const char good[] =
        HEAD "title: \"a b\"\nnote: |\n  x\n  y\nbranch: b\nbranches:\n  main:\n    steps:\n"
        "      - layout set C \"N M/4 4m\"\n      - loop parallel C N\n    at: 1\n"
        "  b: {from: main, after: 1, steps: ['loop unroll C K']}\n"
        "measured: [{branch: b, step: 0, key: x, outcome: ok, latency_ms: {min: 1.5e-3}}]\n";
    static const char bits[] = "\n\t :-#[]{}\"'&*!|>%@`,?0a\x80\xff\x01";
    struct rng r = rng_seed(seed);
    struct session *s = must_parse(good);
    session_free(s);
    for (int i = 0; i < 3000; i++) {
        struct str text = {0};
        struct err e;
        str_add(&text, good);
        for (int64_t k = rng_range(&r, 1, 4); k > 0 && text.len > 0; k--) {
            size_t at = (size_t)rng_range(&r, 0, (int64_t)text.len - 1);
            if (rng_range(&r, 0, 3) == 0)
                text.len = at;
            else
                text.data[at] = bits[rng_range(&r, 0, (int64_t)sizeof bits - 2)];
        }
        s = NULL;
        if (!parse_text(str_text(&text), text.len, &s, &e))
            assert_true(e.text[0] && e.at.line <= 20);
        session_free(s);
        str_free(&text);
    }
}

/* good files */

static void run_lines(struct session *s, const char *const *lines, int n)
{
    for (int i = 0; i < n; i++) {
        enum command_effect effect;
        struct err e;
        if (!command_run(s->history, lines[i], &effect, &e))
            fail_msg("%s: %s", lines[i], e.text);
    }
}

static struct latency some_latency(struct rng *r, double disturbed)
{
    return (struct latency){
        .median_ms = 0.31, .min_ms = 0.3 + rng_unit(r), .max_ms = 0.4, .p10_ms = 0.301,
        .p25_ms = 0.305, .p75_ms = 0.35, .p90_ms = 0.375, .spread = 0.01, .runs = 41,
        .noisy = rng_range(r, 0, 1), .disturbed = disturbed,
        .others = disturbed,
    };
}

static struct measurement some_measurement(struct rng *r)
{
    struct measurement m = {
        .outcome = rng_range(r, 0, 2) ? OUTCOME_OK
                                      : (enum outcome)rng_range(r, 0, OUTCOME_COUNT - 1),
        .verified = rng_range(r, 0, 1), .max_rel_err = rng_unit(r) * 1e-6, .tolerance = 1e-5,
        .gflops = 100 * rng_unit(r), .executed_gflops = 12.5,
        .peak_gflops = 152.25, .peak_fraction = rng_unit(r),
        .compiler = "gcc 12.2.0 \"quoted\": yes", .code = "01234567", .isa = "avx2",
        .threads = 2, .build_s = 0.05, .total_s = 0.4,
        .seed = rng_u64(r),
        .sim = {
            .available = true, .loads = rng_range(r, 0, 1 << 30), .stores = 7, .writebacks = 3,
            .straddled = 2, .streamed_bytes = 640,
            .cache = { .n_levels = 2, .prefetch = PREFETCH_STRIDE, .degree = 3, .confirm = 1,
                       .level = { { { 32768, 8, 64 }, REPLACE_PLRU, false },
                                  { { 1 << 20, 16, 64 }, REPLACE_LRU, true } } },
            .level = { { 70, 12, 3, 5, 4 }, { 12, rng_range(r, 0, 9), 1, 2, 0 } },
            .l1_misses = 12, .n = 2,
            .by_tensor = { { "A", 1, 0, { 5, 4, 0, .sectors = 0 } },
                           { "C", 0, 9, { rng_range(r, 0, 99), 3, 2, .sectors = 0 } } },
            .n_sites = 2,
            .site = { { "C[m] + {1}", 1, true, 9, { 3, 2, 0, .sectors = 0 }, .degree = 0 },
                      { "others", 2, false, 5, { 1, 0, 0, .sectors = 0 }, .degree = 0 } },
            .fraction = 0.25, .error = 0.01, .seconds = 0.125,
        },
        .counts[METER_ID_PERF] = { .available = false,
                                   .reason = "no hardware events: this VM exposes no PMU" },
    };
    if (m.outcome == OUTCOME_OK) {
        m.latency = some_latency(r, rng_range(r, 0, 1) ? NAN : rng_unit(r));
        m.baseline[VENDOR_ONEDNN] = (struct baseline){
            .available = true, .verified = true, .max_rel_err = 1e-6, .ratio = 2 * rng_unit(r),
            .latency = some_latency(r, NAN),
            .implementation = "oneDNN 2.6.3 brgconv:avx512_core", .layout = "nhwc, weights: Ohwi",
        };
        snprintf(m.baseline[VENDOR_OPENBLAS].reason, sizeof m.baseline[0].reason,
                 "OpenBLAS has no operator for convolution 3x3");
    }
    else {
        snprintf(m.reason, sizeof m.reason, "crashed: SIGSEGV\n\ta second line, {[#&*!|>'\"%%@`");
        m.verified = false;
    }
    if (m.outcome == OUTCOME_OK && rng_range(r, 0, 1)) {
        m.cold_latency = some_latency(r, NAN);
        snprintf(m.cold_method, sizeof m.cold_method, "the buffers' lines flushed");
        snprintf(m.threads_note, sizeof m.threads_note, "4 threads take turns on 2 cores");
        m.huge_asked = true;
        m.load = 1.5;
        m.measurements = 3;
        snprintf(m.measured_at, sizeof m.measured_at, "2026-11-23T02:10:00Z");
        m.huge_bytes = rng_range(r, 0, 1) << 21;
        m.huge_of_bytes = 4 << 20;
    }
    if (rng_range(r, 0, 1))
        m.counts[METER_ID_PERF] = (struct counts){
            .available = true, .n = 3, .missing = "l1d_loads: no such event",
            .source = "event set default, 2 threads",
            .count = { { "cycles", 12345, "", true, false, 0.25 },
                       { "l1d_load_misses", 0, "", false, false, 1 },
                       { "clock", 2.5, "GHz", false, true, 0 } },
        };
    return m;
}

static void assert_same_latency(const struct latency *a, const struct latency *b)
{
    assert_int_equal(a->runs, b->runs);
    if (a->runs == 0)
        return;
    assert_true(a->median_ms == b->median_ms && a->min_ms == b->min_ms && a->max_ms == b->max_ms);
    assert_true(a->p10_ms == b->p10_ms && a->p25_ms == b->p25_ms);
    assert_true(a->p75_ms == b->p75_ms && a->p90_ms == b->p90_ms && a->spread == b->spread);
    assert_int_equal(a->noisy, b->noisy);
    assert_true(isnan(a->disturbed) ? isnan(b->disturbed) : a->disturbed == b->disturbed);
    assert_true(isnan(a->others) ? isnan(b->others) : a->others == b->others);
}

static void assert_same_measurement(const struct measurement *a, const struct measurement *b)
{
    assert_int_equal(a->outcome, b->outcome);
    assert_string_equal(a->reason, b->reason);
    assert_string_equal(a->compiler, b->compiler);
    assert_string_equal(a->code, b->code);
    assert_string_equal(a->isa, b->isa);
    assert_int_equal(a->verified, b->verified);
    assert_true(a->max_rel_err == b->max_rel_err && a->tolerance == b->tolerance);
    assert_same_latency(&a->latency, &b->latency);
    assert_same_latency(&a->cold_latency, &b->cold_latency);
    assert_string_equal(a->cold_method, b->cold_method);
    assert_string_equal(a->threads_note, b->threads_note);
    assert_true(a->load == b->load && a->measurements == b->measurements);
    assert_string_equal(a->measured_at, b->measured_at);
    assert_int_equal(a->huge_asked, b->huge_asked);
    assert_true(a->huge_bytes == b->huge_bytes && a->huge_of_bytes == b->huge_of_bytes);
    assert_true(a->executed_gflops == b->executed_gflops);
    for (int i = 0; i < VENDOR_COUNT; i++) {
        const struct baseline *x = &a->baseline[i], *y = &b->baseline[i];
        assert_true(x->available == y->available && x->verified == y->verified);
        assert_true(x->ratio == y->ratio && x->max_rel_err == y->max_rel_err);
        assert_same_latency(&x->latency, &y->latency);
        assert_string_equal(x->reason, y->reason);
        assert_string_equal(x->implementation, y->implementation);
        assert_string_equal(x->layout, y->layout);
    }
    assert_true(a->gflops == b->gflops && a->peak_gflops == b->peak_gflops);
    assert_true(a->peak_fraction == b->peak_fraction && a->seed == b->seed);
    assert_true(a->build_s == b->build_s && a->total_s == b->total_s);
    assert_int_equal(a->threads, b->threads);
    assert_int_equal(a->sim.available, b->sim.available);
    assert_memory_equal(&a->sim.cache, &b->sim.cache, sizeof a->sim.cache);
    assert_memory_equal(&a->sim.level, &b->sim.level, sizeof a->sim.level);
    assert_int_equal(a->sim.straddled, b->sim.straddled);
    assert_int_equal(a->sim.streamed_bytes, b->sim.streamed_bytes);
    assert_true(a->sim.fraction == b->sim.fraction && a->sim.error == b->sim.error);
    assert_int_equal(a->sim.n_sites, b->sim.n_sites);
    for (int i = 0; i < a->sim.n_sites; i++) {
        const struct sim_site *x = &a->sim.site[i], *y = &b->sim.site[i];
        assert_string_equal(x->text, y->text);
        assert_true(x->tensor == y->tensor && x->is_store == y->is_store);
        assert_true(x->accesses == y->accesses && x->cost.l1_misses == y->cost.l1_misses);
        assert_int_equal(x->cost.l2_misses, y->cost.l2_misses);
        assert_int_equal(x->cost.l3_misses, y->cost.l3_misses);
        assert_string_equal(x->into, y->into);
        assert_int_equal(x->operand, y->operand);
    }
    assert_true(a->sim.loads == b->sim.loads && a->sim.stores == b->sim.stores);
    assert_true(a->sim.writebacks == b->sim.writebacks && a->sim.seconds == b->sim.seconds);
    assert_int_equal(a->sim.n, b->sim.n);
    for (int i = 0; i < a->sim.n; i++) {
        assert_string_equal(a->sim.by_tensor[i].tensor, b->sim.by_tensor[i].tensor);
        assert_int_equal(a->sim.by_tensor[i].cost.l1_misses, b->sim.by_tensor[i].cost.l1_misses);
        assert_int_equal(a->sim.by_tensor[i].cost.l2_misses, b->sim.by_tensor[i].cost.l2_misses);
        assert_int_equal(a->sim.by_tensor[i].cost.l3_misses, b->sim.by_tensor[i].cost.l3_misses);
    }
    const struct counts *x = &a->counts[METER_ID_PERF], *y = &b->counts[METER_ID_PERF];
    assert_int_equal(x->available, y->available);
    assert_string_equal(x->reason, y->reason);
    assert_string_equal(x->missing, y->missing);
    assert_string_equal(x->source, y->source);
    assert_int_equal(x->n, y->n);
    for (int i = 0; i < x->n; i++) {
        assert_string_equal(x->count[i].name, y->count[i].name);
        assert_true(x->count[i].value == y->count[i].value);
        assert_int_equal(x->count[i].scaled, y->count[i].scaled);
        assert_int_equal(x->count[i].derived, y->count[i].derived);
        assert_string_equal(x->count[i].unit, y->count[i].unit);
        assert_true(x->count[i].running == y->count[i].running);
    }
}

static void assert_same_session(const struct session *a, const struct session *b)
{
    const struct history *x = a->history, *y = b->history;
    assert_string_equal(history_spec(x), history_spec(y));
    assert_string_equal(a->title, b->title);
    assert_string_equal(a->machine, b->machine);
    assert_string_equal(str_text(&a->note), str_text(&b->note));
    assert_true(a->accuracy == b->accuracy);
    assert_int_equal(history_n_branches(x), history_n_branches(y));
    assert_int_equal(history_branch_index(x), history_branch_index(y));
    for (int i = 0; i < history_n_branches(x); i++) {
        int n, at, m, here;
        const int *p = history_path(x, i, &n, &at), *q = history_path(y, i, &m, &here);
        assert_string_equal(history_branch(x, i)->name, history_branch(y, i)->name);
        assert_int_equal(n, m);
        assert_int_equal(at, here);
        for (int k = 0; k < n; k++) {
            const struct state *s = history_state(x, p[k]), *t = history_state(y, q[k]);
            assert_string_equal(s->step, t->step);
            assert_int_equal(s->measured != NULL, t->measured != NULL);
            if (s->measured)
                assert_same_measurement(s->measured, t->measured);
        }
    }
}

/* Loading what was saved gives the same, and saving that gives the same text. */
static void check_round_trip(const struct session *s)
{
    struct str once = {0}, twice = {0};
    session_yaml_in(s, NULL, &once);
    struct session *again = must_parse(str_text(&once));
    assert_same_session(s, again);
    session_yaml_in(again, NULL, &twice);
    assert_string_equal(str_text(&once), str_text(&twice));
    session_free(again);
    str_free(&once);
    str_free(&twice);
}

/* A wrong result that was not compared (the kernel wrote elsewhere) stays without errors. */
static void test_errors_of_wrong_results(void **state)
{
    (void)state;
    for (int compared = 0; compared < 2; compared++) {
        struct str text = {0};
        struct session *s = must_parse("tilescope: 1\noperator: gmm m=4 k=4 n=4\n");
        struct measurement m = { .outcome = OUTCOME_WRONG };
        m.max_rel_err = m.error_of_bound = compared ? 0.5 : (double)NAN;
        history_set_measured(s->history, 0, &m);
        session_yaml_in(s, NULL, &text);
        session_free(s);
        s = must_parse(str_text(&text));
        assert_int_equal(measurement_compared(history_state(s->history, 0)->measured), compared);
        session_free(s);
        str_free(&text);
    }
}

/* Older versions wrote "verified: true" of a kernel that crashed when it was timed. */
static void test_failures_are_not_verified(void **state)
{
    static const struct { const char *outcome; bool verified; } table[] = {
        { "ok", true }, { "crash", false }, { "timeout", false }, { "wrong result", false },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct str text = {0};
        struct session *s = must_parse("tilescope: 1\noperator: gmm m=4 k=4 n=4\n");
        struct measurement m = { .outcome = OUTCOME_OK, .verified = true, .tolerance = 1e-5 };
        history_set_measured(s->history, 0, &m);
        session_yaml_in(s, NULL, &text);
        session_free(s);
        char *at = strstr(str_text(&text), "outcome: ok");
        assert_non_null(at);
        struct str edited = {0};
        str_add_n(&edited, str_text(&text), (size_t)(at - str_text(&text)));
        str_printf(&edited, "outcome: %s%s", table[i].outcome, at + strlen("outcome: ok"));
        s = must_parse(str_text(&edited));
        assert_int_equal(history_state(s->history, 0)->measured->verified, table[i].verified);
        session_free(s);
        str_free(&edited);
        str_free(&text);
    }
}

/* room: whatever can be made can be saved and opened again */

static void must_run(struct session *s, const char *line)
{
    enum command_effect effect;
    struct err e;
    if (!session_run(s, line, &effect, &e))
        fail_msg("%s: %s", line, e.text);
}

static void must_refuse(struct session *s, const char *line, const char *want)
{
    enum command_effect effect = EFFECT_MEASURE;
    struct err e;
    int states = history_n_states(s->history), branches = history_n_branches(s->history);
    assert_false(session_run(s, line, &effect, &e));
    if (!strstr(e.text, want) || e.code != ERR_RANGE || !e.fix[0])
        fail_msg("%s: \"%s\" expected, not \"%s\"", line, want, e.text);
    assert_int_equal(effect, EFFECT_MEASURE);
    assert_int_equal(history_n_states(s->history), states);
    assert_int_equal(history_n_branches(s->history), branches);
}

/* With n steps on branch main: a loop that is parallel and serial in turns. */
static struct session *long_session(int n)
{
    struct session *s = NULL;
    struct err e;
    assert_true(session_new(GMM, &s, &e));
    for (int i = 0; i < n; i++)
        must_run(s, i % 2 ? "loop serial C M" : "loop parallel C M");
    return s;
}

static void assert_loads(const struct session *s)
{
    struct str yaml = {0};
    struct err e;
    session_yaml_in(s, NULL, &yaml);
    if (!session_fits(s, &yaml, &e))
        fail_msg("%s", e.text);
    session_free(must_parse(str_text(&yaml)));
    str_free(&yaml);
}

static void test_room_for_steps(void **state)
{
    (void)state;
    struct session *s = long_session(SESSION_MAX_STEPS - 10);
    must_run(s, "goto 10");
    must_run(s, "branch short");                          /* shares ten steps */
    for (int i = 0; i < 10; i++)
        must_run(s, i % 2 ? "loop serial C N" : "loop parallel C N");
    assert_loads(s);
    must_refuse(s, "loop parallel C N", "at most 2000 steps");
    must_refuse(s, "pick main 2", "at most 2000 steps");
    must_run(s, "branch another");
    must_run(s, "undo 5");
    must_refuse(s, "loop parallel C K", "at most 2000 steps");
    must_run(s, "measure");
    must_run(s, "delete short");
    must_run(s, "switch main");
    must_run(s, "delete another");
    must_run(s, "undo 5");                 /* what was undone goes when it is typed over */
    assert_loads(s);
    must_run(s, "loop unroll C K");
    assert_int_equal(history_n_branches(s->history), 1);
    assert_loads(s);
    session_free(s);
}

static void test_room_for_branches(void **state)
{
    (void)state;
    static const struct measurement ok = { .outcome = OUTCOME_OK };
    struct session *s = long_session(2);
    char line[32];
    for (int i = 1; i < SESSION_MAX_BRANCHES; i++) {
        snprintf(line, sizeof line, "branch b%d", i);
        must_run(s, line);
    }
    assert_loads(s);
    must_refuse(s, "branch more", "at most 256 branches");
    must_run(s, "loop unroll C K");
    must_run(s, "undo");
    must_run(s, "loop unroll C N");                       /* nothing measured: no branch for it */
    history_set_measured(s->history, history_current(s->history)->id, &ok);
    must_run(s, "undo");
    must_refuse(s, "loop unroll C K", "at most 256 branches");
    must_run(s, "delete b7");
    must_run(s, "loop unroll C K");
    assert_int_equal(history_n_branches(s->history), SESSION_MAX_BRANCHES);
    assert_loads(s);
    session_free(s);
}

/* Made behind the back of session_run: a good file is not written over. */
static void test_too_much_is_not_saved(void **state)
{
    (void)state;
    struct session *s = long_session(1), *t = NULL;
    struct str path = {0};
    struct err e;
    char name[16];
    str_printf(&path, "%s/full.yaml", state_dir);
    assert_true(session_save(s, str_text(&path), &e));
    for (int i = 0; i < SESSION_MAX_BRANCHES; i++) {
        snprintf(name, sizeof name, "b%d", i);
        assert_true(history_branch_new(s->history, name, &e));
    }
    assert_false(session_save(s, str_text(&path), &e));
    assert_int_equal(e.code, ERR_RANGE);
    assert_false(session_autosave(s, &e));
    assert_true(session_load(str_text(&path), &t, &e));
    assert_int_equal(history_n_branches(t->history), 1);
    assert_true(history_branch_delete(s->history, "b3", &e));
    str_repeat(&s->note, 'x', 16 << 20);
    assert_false(session_save(s, str_text(&path), &e));
    assert_non_null(strstr(e.text, "bytes; a session file has at most 16777216"));
    session_free(t);
    session_free(s);
    str_free(&path);
}

/* Every step of the longest session measured, with all that there is to count. */
static void test_much_that_was_measured(void **state)
{
    (void)state;
    struct session *s = long_session(SESSION_MAX_STEPS), *t = NULL;
    struct str yaml = {0};
    struct rng r = rng_seed(seed);
    struct err e;
    for (int i = 0; i < history_n_states(s->history); i++) {
        struct measurement m = some_measurement(&r);
        history_set_measured(s->history, i, &m);
    }
    session_yaml_in(s, NULL, &yaml);
    assert_true(session_fits(s, &yaml, &e));
    if (!parse_text(yaml.data, yaml.len, &t, &e))
        fail_msg("%s", e.text);
    assert_non_null(history_current(t->history)->measured);
    print_message("%zu bytes\n", yaml.len);
    session_free(s);
    session_free(t);
    str_free(&yaml);
}

static void test_round_trip(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "loop parallel C M", "loop unroll C K", "branch true", "layout set C \"N M\"",
        "switch main",
        "undo", "branch 12.5", "set propagate off", "undo 2", "branch null", "loop unroll C N",
        "loop parallel C M", "goto 1", "switch 12.5",
    };
    struct rng r = rng_seed(seed);
    struct session *s = NULL;
    struct err e;
    assert_true(session_new(GMM, &s, &e));
    check_round_trip(s);
    for (int i = 0; i < COUNT_OF(lines); i++) {
        struct measurement m = some_measurement(&r);
        run_lines(s, &lines[i], 1);
        s->accuracy = (double[]){ 0, -1, 1e-5, 0.3 }[i % 4];
        if (rng_range(&r, 0, 2))
            history_set_measured(s->history, history_current(s->history)->id, &m);
        check_round_trip(s);
    }
    session_free(s);
}

static void test_texts_survive(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "plain", "true", "~", "1", "1e5", "- x", "a: b", "a #b", "'", "\"", "\\", "{", "[a",
        "&a", "*a", "!a",
        "|", ">", "%", "@", "`", "?", ":", " leading", "trailing ", "caf\xc3\xa9 \xe2\x9c\x93", "=",
        "a, b", "null", "0x10", "2001-01-01", "y", "on", "\xf0\x9f\x98\x80",
        "a\xe2\x80\xa8" "b", "\xe2\x80\xa9", "next\xc2\x85line",
    };
    static const char *const notes[] = {
        "one line", "two\nlines", "ends\n", "ends\n\n", "\nbegins", "  indented\n more\n", " ",
        "\n", "\ttab\n",
        "trailing blank \nx", "# no comment\n", "--- \n...\n", "long line after "
        "long line after long line after long line after long line after long line, too\nx",
    };
    struct session *s = NULL;
    struct err e;
    assert_true(session_new(GMM, &s, &e));
    for (int i = 0; i < COUNT_OF(texts); i++) {
        snprintf(s->title, sizeof s->title, "%s", texts[i]);
        snprintf(s->machine, sizeof s->machine, "%s", texts[COUNT_OF(texts) - 1 - i]);
        check_round_trip(s);
    }
    for (int i = 0; i < COUNT_OF(notes); i++) {
        str_clear(&s->note);
        str_add(&s->note, notes[i]);
        check_round_trip(s);
    }
    session_free(s);
}

/* Bytes that no session can hold are replaced on saving, so that it can be loaded again. */
static void test_unprintable(void **state)
{
    (void)state;
    struct session *s = NULL;
    struct err e;
    struct str out = {0};
    assert_true(session_new(GMM, &s, &e));
    snprintf(s->title, sizeof s->title, "a\x1b\nb\xff\xfe");
    str_add(&s->note, "x\x07\xc3");
    session_yaml_in(s, NULL, &out);
    session_free(s);
    s = must_parse(str_text(&out));
    assert_string_equal(s->title, "a? b??");
    assert_string_equal(str_text(&s->note), "x??");
    session_free(s);
    str_free(&out);
}

/* Steps edited by hand: what was measured behind them is dropped, without an error. */
static void test_stale_measurements(void **state)
{
    (void)state;
    static const struct { const char *from, *to; const char *kept; } table[] = {
        { "loop parallel C M", "loop parallel C M", "111" },
        { "loop unroll C K", "loop unroll C N", "110" },
        { "loop parallel C M", "loop parallel C N", "100" },
        { "m=32", "m=64", "000" },
        { "branch: main", "branch: mine", "011" },
    };
    static const char *const lines[] = { "loop parallel C M", "loop unroll C K" };
    struct rng r = rng_seed(seed);
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct session *s = NULL;
        struct str text = {0}, edited = {0};
        struct err e;
        assert_true(session_new(GMM, &s, &e));
        for (int k = 0; k < 3; k++) {
            struct measurement m = some_measurement(&r);
            history_set_measured(s->history, history_current(s->history)->id, &m);
            if (k < 2)
                run_lines(s, &lines[k], 1);
        }
        session_yaml_in(s, NULL, &text);
        session_free(s);
        const char *at = strstr(text.data, table[i].from);
        assert_non_null(at);
        str_add_n(&edited, text.data, (size_t)(at - text.data));
        str_printf(&edited, "%s%s", table[i].to, at + strlen(table[i].from));
        s = must_parse(str_text(&edited));
        for (int k = 0; k < 3; k++)
            assert_int_equal(history_state(s->history, k)->measured != NULL,
                table[i].kept[k] == '1');
        session_free(s);
        str_free(&text);
        str_free(&edited);
    }
}

/* The format as session.h documents it, and what it is saved as. */
static void test_format(void **state)
{
    (void)state;
    struct session *s = must_parse(
        "tilescope: 1   # a comment\n"
        "title: R18 first convolution, channels last\n"
        "note: free text\n"
        "operator: c2d n=1 i=3 h=32 w=32 o=16 k=7 s=2 p=3 bias=1 relu=1\n"
        "branch: tiled\n"
        "branches:\n"
        "  main:\n"
        "    steps:\n"
        "      - layout set Conv \"N H W O\"\n"
        "      - loop parallel Conv  N   # twice\n"
        "    at: 1\n"
        "  tiled: {from: main, after: 1, steps: [loop unroll Conv KW]}\n"
        "  bare: {}\n"
        "  all: {from: main}\n"
        "machine: AMD EPYC | avx512\n");
    struct str out = {0};
    session_yaml_in(s, NULL, &out);
    golden_check("tests/golden/session.yaml", str_text(&out));
    assert_string_equal(history_current(s->history)->step, "loop unroll Conv KW");
    check_round_trip(s);
    session_free(s);
    s = must_parse("\xef\xbb\xbf%YAML 1.1\r\n---\r\n{tilescope: 1, operator: " GMM "}\r\n...\r\n");
    assert_int_equal(history_n_states(s->history), 1);
    session_free(s);
    s = must_parse(HEAD "steps: [loop parallel C M, loop unroll C K]\nat: 1\n");
    assert_int_equal(history_current(s->history)->id, 1);
    session_free(s);
    str_free(&out);
}

/* files */

static void test_files(void **state)
{
    (void)state;
    struct session *s = NULL, *t = NULL;
    struct str path = {0};
    struct err e;
    str_printf(&path, "%s/a.yaml", state_dir);
    assert_true(session_new(GMM, &s, &e));
    s->dirty = true;
    assert_false(session_save(s, "/nowhere/a.yaml", &e));
    assert_int_equal(e.code, ERR_IO);
    assert_true(s->dirty && s->path[0] == '\0');
    assert_false(session_save(s, "-", &e));
    assert_true(session_save(s, str_text(&path), &e));
    assert_false(s->dirty);
    assert_string_equal(s->path, str_text(&path));
    assert_true(session_load(str_text(&path), &t, &e));
    assert_string_equal(t->path, str_text(&path));
    assert_false(t->dirty);
    assert_same_session(s, t);
    session_free(t);
    session_free(s);
    assert_false(session_load("/nowhere/a.yaml", &t, &e));
    assert_false(session_load(state_dir, &t, &e));
    str_free(&path);
}

/* Somebody else's save, or an editor, behind the back of an open session. */
static void test_changed_on_disk(void **state)
{
    (void)state;
    struct session *s = NULL, *t = NULL;
    struct str path = {0}, other = {0}, link_name = {0};
    struct err e;
    str_printf(&path, "%s/shared.yaml", state_dir);
    str_printf(&other, "%s/./shared.yaml", state_dir);
    str_printf(&link_name, "%s/link.yaml", state_dir);
    assert_true(session_new(GMM, &s, &e));
    assert_true(session_save(s, str_text(&path), &e));
    assert_int_equal(symlink("shared.yaml", str_text(&link_name)), 0);
    assert_true(session_load(str_text(&path), &t, &e));
    assert_true(session_save(s, str_text(&path), &e));
    assert_true(session_save(t, str_text(&path), &e));
    assert_true(history_apply(s->history, "loop parallel C M", &e));
    assert_true(session_save(s, str_text(&path), &e));
    const char *const name[] = { str_text(&path), str_text(&other), str_text(&link_name) };
    for (int i = 0; i < COUNT_OF(name); i++) {
        assert_false(session_save(t, name[i], &e));
        assert_int_equal(e.code, ERR_CHANGED);
        assert_non_null(strstr(e.text, "changed since it was read"));
    }
    assert_true(session_save_beside(t, str_text(&path), &e));
    assert_true(str_ends(t->path, "/shared-2.yaml"));
    assert_true(session_save_beside(s, str_text(&path), &e));
    assert_true(str_ends(s->path, "/shared-3.yaml"));
    assert_true(session_save_over(t, str_text(&path), FILE_ANYTHING, &e));
    assert_true(session_save(t, str_text(&other), &e));
    unlink(str_text(&path));
    assert_true(session_save(t, t->path, &e));
    str_free(&link_name);
    str_free(&other);
    session_free(s);
    session_free(t);
    str_free(&path);
}

static void test_open(void **state)
{
    (void)state;
    static const struct { const char *arg; enum err_code want; } table[] = {
        { "gmm m=32 k=16 n=zero", ERR_TYPE }, { "gmm", ERR_SYNTAX }, { "gnm m=3", ERR_IO },
        { "/nowhere/x.yaml", ERR_IO }, { "x.yml", ERR_IO }, { "model.onnx", ERR_IO }, { "",
        ERR_IO },
        { "hello world", ERR_IO },
    };
    struct session *s = NULL;
    struct err e;
    assert_true(session_open(GMM, NULL, &s, &e));
    assert_string_equal(history_spec(s->history), GMM);
    session_free(s);
    s = NULL;
    for (int i = 0; i < COUNT_OF(table); i++) {
        assert_false(session_open(table[i].arg, NULL, &s, &e));
        assert_null(s);
        if (e.code != table[i].want && table[i].want == ERR_IO)
            fail_msg("\"%s\": %s, not %s", table[i].arg, err_name(e.code), err_name(table[i].want));
    }
}

static void test_recent(void **state)
{
    (void)state;
    static char recent[32][512];
    struct session *s = NULL;
    struct str path = {0};
    struct err e;
    assert_true(session_new(GMM, &s, &e));
    for (int i = 0; i < 25; i++) {
        str_clear(&path);
        str_printf(&path, "%s/r%d.yaml", state_dir, i % 22);
        assert_true(session_save(s, str_text(&path), &e));
    }
    int n = session_recent(recent, COUNT_OF(recent));
    assert_int_equal(n, 20);
    assert_string_equal(recent[0], str_text(&path));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(recent[i], recent[k]);
    assert_int_equal(session_recent(recent, 3), 3);
    unlink(recent[0]);
    char second[512], third[512];
    snprintf(second, sizeof second, "%s", recent[1]);
    snprintf(third, sizeof third, "%s", recent[2]);
    session_recent(recent, 3);
    assert_string_equal(recent[0], second);
    session_free(s);
    assert_true(session_load(third, &s, &e));
    session_recent(recent, 3);
    assert_string_equal(recent[0], second);
    session_remember(s->path);
    session_recent(recent, 3);
    assert_string_equal(recent[0], third);
    session_free(s);
    str_free(&path);
}

/* autosave */

static void test_autosave(void **state)
{
    (void)state;
    struct autosave found[4];
    struct session *s = NULL;
    struct err e;
    assert_true(session_new(GMM, &s, &e));
    assert_true(session_autosave(s, &e));
    assert_int_equal(session_autosaves(found, COUNT_OF(found)), 0);   /* this process lives */
    session_autosave_drop(s);
    session_autosave_drop(s);
    session_free(s);
}

/* A child applies steps and autosaves until it is killed; everything it reported must be there. */
static void child_works(int report)
{
    static const char *const lines[] = {
        "loop parallel C M", "loop unroll C K", "undo", "branch other", "loop unroll C N", "undo",
    };
    struct session *s = NULL;
    struct rng r = rng_seed(seed);
    struct err e;
    if (!session_new(GMM, &s, &e))
        _exit(1);
    snprintf(s->path, sizeof s->path, "%s/killed.yaml", state_dir);
    snprintf(s->title, sizeof s->title, "to be killed");
    for (int i = 0; i < COUNT_OF(lines); i++) {
        enum command_effect effect;
        struct measurement m = some_measurement(&r);
        if (!command_run(s->history, lines[i], &effect, &e))
            _exit(1);
        history_set_measured(s->history, history_current(s->history)->id, &m);
        if (!session_autosave(s, &e))
            _exit(1);
    }
    if (write(report, "x", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static void test_kill(void **state)
{
    (void)state;
    int end[2];
    char done;
    struct autosave found[4];
    struct session *s = NULL;
    struct rng r = rng_seed(seed);
    struct err e;
    assert_int_equal(pipe(end), 0);
    pid_t child = fork_child();
    if (child == 0)
        child_works(end[1]);
    close(end[1]);
    assert_int_equal(read(end[0], &done, 1), 1);
    close(end[0]);
    assert_int_equal(session_autosaves(found, COUNT_OF(found)), 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(session_autosaves(found, COUNT_OF(found)), 1);
    assert_string_equal(found[0].title, "to be killed");
    assert_true(str_ends(found[0].original, "/killed.yaml"));
    assert_true(found[0].age_s > -1 && found[0].age_s < 60);
    if (!session_recover(&found[0], &s, &e))
        fail_msg("%s", e.text);
    assert_string_equal(s->path, found[0].original);
    assert_true(s->dirty);
    assert_int_equal(history_n_branches(s->history), 2);
    assert_int_equal(history_branch_index(s->history), 1);
    assert_string_equal(history_current(s->history)->step, "loop parallel C M");
    struct measurement last;
    for (int i = 0; i < 6; i++)
        last = some_measurement(&r);
    assert_same_measurement(history_current(s->history)->measured, &last);
    assert_false(file_exists(found[0].path));
    assert_int_equal(session_autosaves(found, COUNT_OF(found)), 0);   /* it is ours now */
    assert_true(session_save(s, s->path, &e));
    session_free(s);
}

/* Kills leave one each: the newest of every work stays, of the others a few, and not forever. */
static void test_kills_do_not_pile_up(void **state)
{
    (void)state;
    static const struct { const char *path; int kills; long days; } work[] = {
        { "/tmp/a.yaml", 20, 0 }, { "/tmp/b.yaml", 1, 400 }, { "", 9, 0 },
        { "/tmp/c.yaml", 3, 100 },
    };
    static struct autosave found[64];
    struct session *s = NULL;
    struct err e;
    assert_int_equal(session_autosaves(found, COUNT_OF(found)), 0);
    for (int i = 0; i < COUNT_OF(work); i++)
        for (int k = 0; k < work[i].kills; k++) {
            pid_t child = fork();
            if (child == 0) {
                bool ok = session_new(GMM, &s, &e);
                bool relative = work[i].path[0] && k % 2;
                snprintf(s->path, sizeof s->path, "%s", work[i].path + (relative ? 5 : 0));
                if (chdir("/tmp") != 0)
                    _exit(2);
                _exit(ok && session_autosave(s, &e) ? 0 : 1);
            }
            int status;
            waitpid(child, &status, 0);
            assert_int_equal(status, 0);
            for (int n = session_autosaves(found, COUNT_OF(found)); work[i].days && n > 0; n--)
                if (streq(found[n - 1].original, work[i].path)) {
                    struct timespec then = { .tv_sec = time(NULL) - work[i].days * 86400 + k };
                    utimensat(AT_FDCWD, found[n - 1].path, (struct timespec[]){ then, then }, 0);
                }
        }
    struct str stray = {0};
    str_printf(&stray, "%s/tilescope/autosave/x.yaml.tilescope-lock", state_dir);
    assert_true(file_write_atomic(str_text(&stray), "half", 4, &e));
    str_clear(&stray);
    str_printf(&stray, "%s/tilescope/autosave/pipe.yaml", state_dir);
    assert_int_equal(mkfifo(str_text(&stray), 0600), 0);
    assert_true(session_new("gmm m=2 k=2 n=2", &s, &e));
    alarm(20);
    assert_true(session_autosave(s, &e));
    int n = session_autosaves(found, COUNT_OF(found)), left[COUNT_OF(work)] = {0};
    alarm(0);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < COUNT_OF(work); k++)
            left[k] += streq(found[i].original, work[k].path);
        unlink(found[i].path);
    }
    assert_int_equal(left[0], 5);
    assert_int_equal(left[1], 1);
    assert_int_equal(left[2], 5);
    assert_int_equal(left[3], 1);
    assert_int_equal(unlink(str_text(&stray)), 0);
    str_clear(&stray);
    str_printf(&stray, "%s/tilescope/autosave/x.yaml.tilescope-lock", state_dir);
    assert_false(file_exists(str_text(&stray)));
    session_autosave_drop(s);
    session_free(s);
    str_free(&stray);
}

/* A folder whose name is longer than a session's may be: it is offered, and has to be named. */
static void test_kill_far_away(void **state)
{
    (void)state;
    char name[221];
    struct autosave found[4];
    struct session *s = NULL;
    struct err e;
    memset(name, 'd', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    pid_t child = fork_child();
    if (child == 0) {
        bool ok = chdir(state_dir) == 0;
        for (int i = 0; i < 6; i++)
            ok = ok && mkdir(name, 0700) == 0 && chdir(name) == 0;
        ok = ok && session_new(GMM, &s, &e);
        if (ok)
            snprintf(s->path, sizeof s->path, "far.yaml");
        _exit(ok && session_autosave(s, &e) ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(session_autosaves(found, COUNT_OF(found)), 1);
    assert_string_equal(found[0].original, "");
    assert_true(session_recover(&found[0], &s, &e));
    assert_string_equal(s->path, "");
    session_autosave_drop(s);
    session_free(s);
}

/* A file names one machine: what another one measured goes when this one measures. */
static void test_measured_here(void **state)
{
    (void)state;
    struct session *s = NULL;
    struct rng r = rng_seed(seed);
    struct measurement m = some_measurement(&r);
    struct err e;
    assert_true(session_new(GMM, &s, &e));
    history_set_measured(s->history, 0, &m);
    assert_int_equal(session_measured_here(s), 0);       /* of nobody knows where */
    assert_true(s->machine[0] != '\0' && history_state(s->history, 0)->measured);
    assert_int_equal(session_measured_here(s), 0);
    snprintf(s->machine, sizeof s->machine, "another one");
    assert_int_equal(session_measured_here(s), 1);
    assert_null(history_state(s->history, 0)->measured);
    assert_string_not_equal(s->machine, "another one");
    session_free(s);
}

/* Two processes that read the same file save it at the same moment: one of them is told. */
static void test_savers_at_once(void **state)
{
    (void)state;
    struct str path = {0};
    struct session *s = NULL;
    struct err e;
    str_printf(&path, "%s/pair.yaml", state_dir);
    for (int i = 0; i < 64; i++) {
        pid_t child[2];
        int start[2], status, told = 0, saved = -1;
        assert_int_equal(pipe(start), 0);
        assert_true(session_new(GMM, &s, &e));
        assert_true(session_save_over(s, str_text(&path), FILE_ANYTHING, &e));
        for (int k = 0; k < 2; k++)
            if ((child[k] = fork()) == 0) {
                char c;
                snprintf(s->title, sizeof s->title, "saver %d", k);
                close(start[1]);
                (void)!read(start[0], &c, 1);            /* until both are there */
                _exit(session_save(s, str_text(&path), &e) ? 0 : e.code == ERR_CHANGED ? 1 : 2);
            }
        close(start[0]);
        close(start[1]);
        session_free(s);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(waitpid(child[k], &status, 0), child[k]);
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
            told += WEXITSTATUS(status);
            saved = WEXITSTATUS(status) ? saved : k;
        }
        assert_int_equal(told, 1);
        assert_true(session_load(str_text(&path), &s, &e));
        assert_int_equal(s->title[6] - '0', saved);
        session_free(s);
    }
    str_free(&path);
}

/* Each of many processes that save at once is among the recent ones. */
static void test_recent_of_many(void **state)
{
    (void)state;
    enum { MANY = 16 };
    static char recent[32][512];
    pid_t child[MANY];
    struct session *s = NULL;
    struct err e;
    int start[2], status, found = 0;
    assert_int_equal(pipe(start), 0);
    for (int i = 0; i < MANY; i++)
        if ((child[i] = fork()) == 0) {
            struct str path = {0};
            char c;
            str_printf(&path, "%s/many-%d.yaml", state_dir, i);
            close(start[1]);
            bool ok = session_new(GMM, &s, &e);
            (void)!read(start[0], &c, 1);
            _exit(ok && session_save(s, str_text(&path), &e) ? 0 : 1);
        }
    close(start[0]);
    close(start[1]);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_int_equal(status, 0);
    }
    int n = session_recent(recent, COUNT_OF(recent));
    for (int i = 0; i < n; i++)
        found += strstr(recent[i], "/many-") != NULL;
    assert_int_equal(found, MANY);
}

/* Killed while it writes: the file is the old one or the new one, never a piece. */
static void test_kill_while_saving(void **state)
{
    (void)state;
    struct str path = {0};
    struct session *s = NULL;
    struct err e;
    str_printf(&path, "%s/busy.yaml", state_dir);
    assert_true(session_new(GMM, &s, &e));
    assert_true(session_save(s, str_text(&path), &e));
    for (int i = 0; i < 10; i++) {
        pid_t child = fork_child();
        if (child == 0)
            for (;;) {
                enum command_effect effect;
                command_run(s->history, "loop parallel C M", &effect, &e);
                command_run(s->history, "undo", &effect, &e);
                if (!session_save_over(s, str_text(&path), FILE_ANYTHING, &e))
                    _exit(1);
            }
        usleep((useconds_t)(3000 + 1000 * i));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        struct session *t = NULL;
        if (!session_load(str_text(&path), &t, &e))
            fail_msg("%s", e.text);
        session_free(t);
    }
    session_free(s);
    str_free(&path);
}

static int setup(void **state)
{
    (void)state;
    state_dir = temp_dir("XDG_STATE_HOME");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_regress),
        cmocka_unit_test(test_huge),
        cmocka_unit_test(test_room_for_steps),
        cmocka_unit_test(test_room_for_branches),
        cmocka_unit_test(test_too_much_is_not_saved),
        cmocka_unit_test(test_much_that_was_measured),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_failures_are_not_verified),
        cmocka_unit_test(test_errors_of_wrong_results),
        cmocka_unit_test(test_texts_survive),
        cmocka_unit_test(test_unprintable),
        cmocka_unit_test(test_stale_measurements),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_changed_on_disk),
        cmocka_unit_test(test_savers_at_once),
        cmocka_unit_test(test_recent_of_many),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_recent),
        cmocka_unit_test(test_autosave),
        cmocka_unit_test(test_kills_do_not_pile_up),
        cmocka_unit_test(test_kill),
        cmocka_unit_test(test_kill_far_away),
        cmocka_unit_test(test_measured_here),
        cmocka_unit_test(test_kill_while_saving),
    };
    if (getenv("TS_SEED"))
        seed = strtoull(getenv("TS_SEED"), NULL, 10);
    printf("# TS_SEED=%llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, setup, NULL);
}
