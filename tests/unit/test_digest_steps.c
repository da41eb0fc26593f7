/* Random lines at the prompt on random operators: what is offered, what each line does or says, and
 * every text that the last program becomes are as recorded (digest.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/expert/draft.h"
#include "explorer/history/blame.h"
#include "explorer/history/command.h"
#include "explorer/model/features.h"
#include "kernels/gen/gen.h"
#include "kernels/gen/walk.h"
#include "kernels/program/contract.h"
#include "profile/measure/predict.h"
#include "sessions/report/graph_report.h"
#include "tests/unit/digest.h"
#include "tests/unit/random_ops.h"
#include "tests/unit/random_steps.h"
#undef fail /* ours; cmocka has its own */
#include <cmocka.h>

#define CASES 1000
#define LINES 14
#define TEXT_MOST (1 << 20)

enum part { PART_LINES, PART_VIEWS, PART_CODE, PART_TRACE, PART_PREDICTED, PARTS };
static const char *const part_name[PARTS] = { "lines", "views", "code", "trace", "predicted" };

static const char *const graphs[] = {
    "x = input n=1 i=4 h=6 w=6; a = c2d(x) o=8 k=3 p=1 relu=1; b = c2d(a) o=8 k=1; c = add(b, x2);"
    " x2 = input n=1 o=8 h=6 w=6",
    "x = input n=1 i=4 h=7 w=7; a = c2d(x) o=8 k=3 p=1 bias=1; b = relu(a); c = c2d(b) o=4 k=1",
    "x = input m=6 k=8; a = gmm(x) n=8 relu=1; b = gmm(a) n=4; c = gmm(a) n=4; output b c",
    "x = input m=4 k=8; a = gmm(x) n=8; s = softmax(a); b = gmm(s) n=4; output b",
    "x = input n=4 c=6; a = mul(x, x); b = add(a, x); c = sigmoid(b)",
    "x = input n=1 c=4 h=8 w=8; p = maxpool(x) k=2 s=2; a = relu(p); g = gpool(a)",
    "gmm m=16 k=16 n=16 type=f16", "gmm m=12 k=16 n=16 type=bf16 bias=1",
    "c2d i=4 h=6 o=8 k=3 p=1 type=f16", "gmm m=8 k=16 n=8 type=i8",
    "c2d i=8 h=12 w=12 o=8 k=3 p=1", "gmm m=64 k=64 n=64",
};

/* Appends words that completion offers there, or numbers. */
static const char *offered_line(struct arena *a, const struct history *h, struct rng *r,
                                struct str *said)
{
    static const char *const numbers[] = { "1", "2", "3", "4", "8", "16" };
    static const char *const first[] = { "loop ", "loop ", "layout ", "layout ", "" };
    struct str line = {0};
    str_add(&line, first[rng_range(r, 0, COUNT_OF(first) - 1)]);
    for (int64_t words = rng_range(r, 2, 5); words > 0; words--) {
        struct completions c = {0};
        command_complete(a, h, str_text(&line), NULL, &c);
        str_printf(said, "  %d offered:", c.n);
        for (int i = 0; i < c.n; i++)
            str_printf(said, " %s (%s)", c.item[i].word, c.item[i].help ? c.item[i].help : "");
        str_add_char(said, '\n');
        if (c.n > 0 && (size_t)c.replace_from <= line.len) {
            const char *word = c.item[rng_range(r, 0, c.n - 1)].word;
            line.len = (size_t)c.replace_from;
            str_add(&line, word);
        }
        if (c.n == 0 || str_ends(str_text(&line), "="))
            str_add(&line, numbers[rng_range(r, 0, COUNT_OF(numbers) - 1)]);
        str_add_char(&line, ' ');
    }
    const char *text = arena_strdup(a, str_text(&line));
    str_free(&line);
    return text;
}

static void print_ledger(struct str *out, const struct history *h)
{
    struct ledger_row row[64];
    int n = history_ledger(h, row, COUNT_OF(row));
    for (int i = 0; i < n; i++)
        str_printf(out, "%s %s%s: held %s, note %s, replaced by %d\n", row[i].step,
                   row[i].here ? "here" : "", row[i].ahead ? "ahead" : "",
                   row[i].held ? row[i].held : "", row[i].note ? row[i].note : "",
                   history_replaced_by(h, i));
    for (int b = 0; b < history_n_branches(h); b++)
        str_printf(out, "branch %s %d %d\n", history_branch(h, b)->name,
                   history_branch(h, b)->tip, history_branch(h, b)->at);
}

static void run_line(struct history *h, const char *line, struct str *said)
{
    enum command_effect effect = EFFECT_NONE;
    struct err e = {0};
    str_printf(said, "> %s\n", line);
    if (command_run(h, line, &effect, &e))
        str_printf(said, "  %d %s\n", (int)effect, history_said(h));
    else
        err_print(said, &e);
}

static void print_lines(struct history *h, struct rng *r, struct str *said)
{
    struct arena *a = arena_new();
    for (int i = 0; i < LINES; i++) {
        const struct program *p = history_current(h)->program;
        int64_t kind = rng_range(r, 0, 5);
        run_line(h, kind == 0 ? random_layout_step(a, r, p) : kind <= 2 ? random_loop_step(a, r, p)
                 : offered_line(a, h, r, said), said);
        if (rng_range(r, 0, 3) == 0)
            print_ledger(said, h);
    }
    print_ledger(said, h);
    arena_free(a);
}

static void print_graph(struct str *out, const struct program *p, const struct program *before)
{
    struct arena *a = arena_new();
    struct graph_rows rows = graph_rows(a, p, before, NULL, NULL);
    graph_report_json(out, p, &rows, NULL);
    for (int t = 0; t < p->graph->n_tensors; t++) {
        graph_layout_origin(out, p, t);
        graph_layout_text(out, p, t);
    }
    arena_free(a);
}

static void print_views(struct str *out, const struct history *h)
{
    const struct state *s = history_current(h);
    const struct program *p = s->program;
    const struct program *bare = history_state(h, 0)->program;
    program_print_nest(out, p);
    program_print_access(out, p);
    program_print_notes(out, p);
    program_print_layouts(out, p, NULL, 80);
    program_print_layouts(out, p, NULL, 37);
    contract_print(out, p);
    contract_print_packed(out, p);
    contract_difference(out, p, bare);
    program_print_algorithms(out, p);
    blame_print(out, h);
    print_graph(out, p, s->parent >= 0 ? history_state(h, s->parent)->program : NULL);
}

static void print_work(struct str *out, const struct gen_work *w)
{
    str_printf(out, "work %.6g %.6g %.6g %.6g %.6g %.6g %.6g %.6g %.6g %.6g %.6g %.6g %.6g\n",
               w->vector, w->scalar, w->loads, w->broadcasts, w->stores, w->scalar_stores,
               w->moves, w->iterations, w->conditions, w->spills, w->cycles,
               w->out_of_order.whole, w->out_of_order.halved);
    str_printf(out, "line %.6g %.6g %.6g %d %.6g %.6g\n", w->pressure, w->body, w->chain, w->tile,
               w->tile_registers, w->statements);
}

static void print_code(struct str *out, const struct func *f)
{
    static const char *const isa[] = { "plain", "sse", "avx2", "avx512", "cuda" };
    struct str text = {0};
    for (int i = 0; i < COUNT_OF(isa); i++) {
        struct gen_work work = {0};
        struct err e = {0};
        struct gen_opts o = { .target = target_named(isa[i]), .openmp = i != 1, .work = &work,
                              .marks = i == 2, .name = i == 3 ? "fn" : NULL };
        str_clear(&text);
        if (!gen_c(f, &o, &text, &e)) {
            err_print(out, &e);
        } else {
            str_add_n(out, str_text(&text), text.len);
            print_work(out, &work);
        }
    }
    struct gen_opts o = { .target = target_named("cuda") };
    struct err e = {0};
    str_clear(&text);
    if (gen_cuda(f, &o, &text, NULL, &e))
        str_add_n(out, str_text(&text), text.len);
    else
        err_print(out, &e);
    str_free(&text);
}

static void print_trace(struct str *out, const struct func *f)
{
    struct trace_table t;
    struct err e = {0};
    struct str text = {0};
    struct gen_opts o = { .target = target_named("avx2") };
    if (gen_trace(f, &o, 64, &text, &t, &e)) {
        str_add_n(out, str_text(&text), text.len);
        for (int i = 0; i < t.n_sites; i++)
            str_printf(out, "site %d %d %s %d %d\n", t.site[i].buffer, t.site[i].is_store,
                       t.site[i].text, t.site[i].into, t.site[i].operand);
        for (int i = 0; i < t.n_uses; i++)
            str_printf(out, "use %d %d %d %d\n", t.use[i].block, t.use[i].site, t.use[i].n,
                       t.use[i].streamed);
        for (int i = 0; i < t.n_marks; i++)
            str_printf(out, "mark %d %s\n", t.mark[i].block, t.mark[i].loops);
    } else {
        err_print(out, &e);
    }
    struct walk *w = NULL;
    if (walk_open(f, &o, &w, &e)) {
        int n;
        const struct walk_loop *l = walk_loops(w, &n);
        for (int i = 0; i < n; i++)
            str_printf(out, "loop %s %d %lld %d %d\n", l[i].axis, l[i].node,
                       (long long)l[i].trips, l[i].parent, l[i].mark);
        walk_sites(w, &n);
        for (int i = 0; i < n; i++)
            str_printf(out, "in %d\n", walk_site_loop(w, i));
        walk_close(w);
    }
    str_free(&text);
}

static void print_features(struct str *out, struct arena *a, const struct func *f,
                           const struct feature_opts *o)
{
    struct features x;
    struct err e = {0};
    if (!features_of(a, f, o, &x, &e)) {
        err_print(out, &e);
        return;
    }
    for (int i = 0; i < x.rows * x.columns; i++)
        if (x.x[i] != 0)
            str_printf(out, "%d %s %.4g\n", i / x.columns, feature_name[i % x.columns],
                       (double)x.x[i]);
}

static void print_predicted(struct str *out, struct arena *a, const struct program *p,
                            const struct func *f)
{
    static const char *const cache[] = { "1K/2/64", "4K/8/64,1M/16/64", "512/4/32/plru" };
    struct prediction r;
    struct err e = {0};
    for (int i = 0; i < COUNT_OF(cache); i++) {
        struct predict_opts o = { .target = target_named(i == 1 ? "avx512" : "avx2"),
                                  .budget = i == 2 ? 20000 : 1e5, .conflicts = i == 0 };
        if (!cache_config_parse(cache[i], &o.cache, &e))
            fail_msg("%s", e.text);
        if (predict_misses(p, &o, NULL, &r, &e))
            str_printf(out, "%lld %lld of %.6g: %.4g %.4g bytes %.6g cycles %.6g %.6g\n",
                       (long long)r.l1_misses, (long long)r.conflicts, r.accesses, r.fraction,
                       r.error, r.miss_bytes, r.cycles.whole, r.cycles.halved);
        else
            err_print(out, &e);
    }
    print_features(out, a, f, &(struct feature_opts){ .literal = true });
    print_features(out, a, f, &(struct feature_opts){ .layout = true, .l1_bytes = 4096 });
}

/* Every third program gets loops for a GPU, or a schedule of those nodes that have none. */
static const char *case_spec(struct arena *a, struct rng *r)
{
    if (rng_range(r, 0, 2) == 0)
        return graphs[rng_range(r, 0, COUNT_OF(graphs) - 1)];
    return random_operator(a, r, random_family(r));
}

static void draft_lines(struct history *h, struct rng *r, struct str *said)
{
    struct draft d = { .a = arena_new(), .p = history_current(h)->program };
    const struct draft_machine m = { .lanes = 8, .registers = 16, .threads = 2,
                                     .gpu = rng_range(r, 0, 1) };
    draft_rest(&d, &m);
    for (int i = 0; i < d.line.len; i++)
        run_line(h, d.line.data[i], said);
    vec_free(&d.line);
    arena_free(d.a);
}

static void digest_case(struct digests *d, int seed)
{
    struct arena *a = arena_new();
    struct rng r = rng_seed((uint64_t)seed + 9000);
    struct str text[PARTS] = {{0}};
    struct history *h;
    const struct func *f;
    struct err e = {0};
    const char *spec = case_spec(a, &r);
    str_printf(&text[PART_LINES], "%s\n", spec);
    if (history_new(spec, &h, &e)) {
        if (seed % 3 == 0)
            draft_lines(h, &r, &text[PART_LINES]);
        print_lines(h, &r, &text[PART_LINES]);
        print_views(&text[PART_VIEWS], h);
        const struct program *p = history_current(h)->program;
        if (program_lower(p, &f, &e)) {
            print_code(&text[PART_CODE], f);
            print_trace(&text[PART_TRACE], f);
            print_predicted(&text[PART_PREDICTED], a, p, f);
        }
        history_free(h);
    } else {
        err_print(&text[PART_LINES], &e);
    }
    digest_add(d, arena_printf(a, "%d", seed), part_name, text, PARTS);
    arena_free(a);
}

static void test_random_lines(void **state)
{
    (void)state;
    struct digests d = {0};
    for (int seed = 0; seed < CASES; seed++)
        digest_case(&d, seed);
    digest_check(&d, "tests/golden/digest/steps.txt");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_lines) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
