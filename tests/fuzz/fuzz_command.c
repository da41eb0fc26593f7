#include <stdlib.h>
#include "explorer/history/command.h"
#include "kernels/gen/gen.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/run_program.h"

#define LINES_MAX 40
#define SMALL_ELEMS 4000

static const char *const operators[] = {
    "gmm m=4 k=6 n=8",
    "gmm m=6 k=4 n=16 bias=1 relu=1",
    "c2d i=2 h=6 o=8 k=3 p=1 relu=1",
    "c2d n=2 i=3 h=9 w=7 o=4 k=3 s=2 p=1 bias=1",
    "c2d i=4 h=8 o=16 k=1",
    "x = input n=1 i=4 h=5 w=5; c1 = c2d(x) o=4 k=1 relu=1; c2 = c2d(c1) o=4 k=1",
    "x = input n=1 i=4 h=7 w=7; c1 = c2d(x) o=8 k=3 p=1; c2 = c2d(c1) o=4 k=1",
    "x = input m=4 k=8; a = gmm(x) n=8 relu=1; b = gmm(a) n=4; c = gmm(a) n=4; output b c",
};

static void complete(const struct history *h, const char *line)
{
    static const char *const extra[] = { "save", "quit", NULL };
    struct arena *a = arena_new();
    struct completions c = {0};
    command_complete(a, h, line, extra, &c);
    arena_free(a);
}

static void run_lines(struct history *h, const uint8_t *data, size_t n)
{
    char *line;
    for (int i = 0; i < LINES_MAX && (line = fuzz_line(&data, &n)) != NULL; i++) {
        enum command_effect effect;
        struct err e = {0};
        const struct state *before = history_current(h);
        complete(h, line);
        if (!command_run(h, line, &effect, &e)) {
            FUZZ_CHECK(history_current(h) == before, "a refused line changes the state");
            fuzz_error(&e);
        }
        free(line);
    }
}

static void print_views(const struct program *p)
{
    struct str out = {0};
    program_print_nest(&out, p);
    program_print_access(&out, p);
    program_print_layouts(&out, p, NULL, 80);
    FUZZ_CHECK(out.len > 0, "no views");
    str_free(&out);
}

/* The nest, interpreted, computes what the operator is. */
static void compute(const struct program *p, const struct func *f)
{
    for (int b = 0; b < f->n_buffers; b++)
        if (f->buffer[b].elems > SMALL_ELEMS)
            return;
    double error = program_interpret_of_bound(p, 1);
    FUZZ_CHECK(error <= 1, "the nest computes something else, by %g of the bound", error);
}

static void generate(const struct program *p, const char *isa)
{
    const struct func *f;
    struct trace_table table;
    struct gen_opts o = { .target = target_named(isa), .openmp = true };
    struct str c = {0}, trace = {0};
    struct err e = {0};
    if (!program_lower(p, &f, &e)) {
        fuzz_error(&e);
        return;
    }
    compute(p, f);
    if (!gen_c(f, &o, &c, &e) || !gen_trace(f, &o, 64, &trace, &table, &e))
        fuzz_error(&e);
    str_free(&c);
    str_free(&trace);
}

/* The steps of a state, typed again, make the same program. */
static void replay(const struct history *h)
{
    const struct program *p = history_current(h)->program, *again;
    struct arena *a = arena_new();
    struct str nest = {0}, nest_again = {0};
    struct err e = {0};
    int bad;
    if (!program_replay(a, history_spec(h), p->steps, p->n_steps, &again, &bad, &e))
        fail("\"%s\" is refused the second time: %s", bad < 0 ? "" : p->steps[bad], e.text);
    program_print_nest(&nest, p);
    program_print_nest(&nest_again, again);
    FUZZ_CHECK(streq(str_text(&nest), str_text(&nest_again)), "replayed, the nest is another:\n%s"
               "\n%s", str_text(&nest), str_text(&nest_again));
    str_free(&nest);
    str_free(&nest_again);
    arena_free(a);
}

struct history *fuzz_command_history(uint8_t letter)
{
    unsigned pick = (unsigned)(letter - 'a') & 0xffu;
    struct history *h;
    struct err e = {0};
    if (!history_new(operators[pick % COUNT_OF(operators)], &h, &e))
        fail("%s", e.text);
    return h;
}

int fuzz_command(const uint8_t *data, size_t n)
{
    static const char *const isas[] = { "plain", "sse", "avx2", "avx512" };
    if (n < 1)
        return 0;
    struct history *h = fuzz_command_history(data[0]);
    run_lines(h, data + 1, n - 1);
    print_views(history_current(h)->program);
    generate(history_current(h)->program, isas[n % COUNT_OF(isas)]);
    replay(h);
    history_free(h);
    return 0;
}
