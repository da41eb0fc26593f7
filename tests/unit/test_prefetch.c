/* Prefetched operands: which lines the hints of the compiled kernel name, what is refused, and that
 * nothing else changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/vec.h"
#include "kernels/program/program.h"
#include "tests/unit/kernel_run.h"
#include "tests/unit/run_program.h"
#include "tests/unit/unit_check.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define MOST_HINTS (1 << 20)
#define LINE 64                           /* bytes */

/* A tensor that is read once, from its first float to its last, by iterations of `per` floats: the
 * hints must name the lines from `ahead` iterations on.  exact: the turns come out even, so none of
 * these is left out; each is named so often at most. */
struct row {
    const char *spec, *steps, *tensor;
    int64_t per, ahead;
    int lanes;
    bool exact;
    int most;
};

#define C2D_STEPS "set input_layout given;layout set Inp \"N H W I\";" \
    "layout set Ker \"O/16 KH KW I 16o\";layout set Conv \"N H W O\";loop split Conv W 2 8;" \
    "loop split Conv O 1 16;loop reorder Conv O.0 N H W.0 KH KW I W.1 O.1;" \
    "loop cache_write Conv at=W.0;loop unroll Conv W.1;loop vectorize Conv O.1;"
#define GMM_STEPS "layout set B \"N/48 K 48n\";loop split C M 3 4;loop split C N 2 48;" \
    "loop reorder C N.0 M.0 K M.1 N.1;loop cache_write C at=M.0;loop unroll C M.1;" \
    "loop vectorize C N.1;"

static const struct row rows[] = {
    { "c2d n=2 i=32 h=5 w=16 o=16 k=1", C2D_STEPS "loop prefetch Conv Inp at=H", "Inp",
      16 * 32, 1, 16, true, 2 },
    { "c2d n=2 i=32 h=5 w=16 o=16 k=1", C2D_STEPS "loop prefetch Conv Inp at=W.0", "Inp",
      8 * 32, 1, 16, true, 2 },
    { "c2d n=2 i=32 h=5 w=16 o=16 k=1", C2D_STEPS "loop prefetch Conv Inp at=H ahead=2", "Inp",
      16 * 32, 2, 16, true, 2 },
    { "c2d n=2 i=20 h=5 w=16 o=16 k=1", C2D_STEPS "loop prefetch Conv Inp at=H", "Inp",
      16 * 20, 1, 16, false, 4 },
    { "gmm m=12 k=24 n=96", GMM_STEPS "loop prefetch C B at=N.0", "B", 24 * 48, 1, 16, true, 3 },
    { "gmm m=12 k=24 n=96", GMM_STEPS "loop prefetch C B at=N.0", "B", 24 * 48, 1, 4, true, 3 },
    { "gmm m=12 k=24 n=96", GMM_STEPS "loop prefetch C A at=M.0", "A", 4 * 24, 1, 16, false, 32 },
    { "gmm m=6 k=48 n=1", "loop prefetch C A at=M", "A", 48, 1, 1, true, 16 },
    { "gmm m=6 k=48 n=1", "loop prefetch C A at=K ahead=24", "A", 1, 24, 1, true, 16 },
};

static const struct program *program_of(struct arena *a, const char *spec, const char *steps)
{
    const struct program *p;
    struct err e;
    char *text = arena_strdup(a, steps), *rest = NULL;
    if (!program_new(a, spec, &p, &e))
        fail_msg("%s: %s", spec, e.text);
    for (char *s = strtok_r(text, ";", &rest); s; s = strtok_r(NULL, ";", &rest))
        if (!program_apply_line(p, s, &p, &e))
            fail_msg("%s: %s: %s", spec, s, e.text);
    return p;
}

/* The kernel with a function in the place of the hint, that writes down what is asked for. */
static const char *recording(struct arena *a, const struct func *f, int lanes)
{
    struct unit u = { f, lanes, "prefetch" };
    const char *c = unit_c(a, &u), *at = strstr(c, "__builtin_prefetch(");
    assert_non_null(at);
    return arena_printf(a, "static const void **hints;\nstatic long n_hints;\n"
                           "static void note(const void *p)\n{\n    if (n_hints < %d)\n"
                           "        hints[n_hints++] = p;\n}\n%.*snote(%s\n"
                           "long ts_hints(float *const *b, const void **to)\n{\n    hints = to;\n"
                           "    n_hints = 0;\n    ts_entry(b);\n    return n_hints;\n}\n",
                        MOST_HINTS, (int)(at - c), c, at + strlen("__builtin_prefetch("));
}

static void check_row(struct arena *a, const struct row *r, const void *const *hint, long n,
                      const float *data, int64_t elems)
{
    int64_t first = r->ahead * r->per / (LINE / 4), last = (elems - 1) / (LINE / 4);
    int64_t end = (elems - 1 + r->ahead * r->per) / (LINE / 4);
    int *times = ARENA_ARRAY(a, int, end + 1);
    for (long i = 0; i < n; i++) {
        int64_t at = (int64_t)((uintptr_t)hint[i] - (uintptr_t)data) / LINE;
        if (hint[i] < (const void *)data || at < first || at > end)
            fail_msg("%s; %s: hint %ld is line %lld, outside of %lld to %lld", r->spec, r->steps, i,
                     (long long)at, (long long)first, (long long)end);
        times[at]++;
    }
    for (int64_t l = first; l <= last; l++)
        if ((r->exact && times[l] == 0) || times[l] > r->most)
            fail_msg("%s; %s: line %lld is asked for %d times", r->spec, r->steps, (long long)l,
                     times[l]);
}

static void hints_name_what_is_read_next(void **state)
{
    (void)state;
    const struct target *host = target_host();
    const void **hint = xcalloc(MOST_HINTS, sizeof *hint);
    const char *cc = kernel_compiler("gcc");
    for (int i = 0; cc && i < COUNT_OF(rows); i++) {
        struct arena *a = arena_new();
        const struct program *p = program_of(a, rows[i].spec, rows[i].steps);
        const struct func *f;
        struct err e;
        void *symbol;
        long (*run)(void *const *, const void **);
        if (!program_lower(p, &f, &e))
            fail_msg("%s", e.text);
        const char *source = recording(a, f, rows[i].lanes);
        kernel_compile_quick(cc, host, &source, 1, "ts_hints", &symbol);
        memcpy(&run, &symbol, sizeof run);
        void **data = kernel_buffers(a, f, 1);
        int b = 0;
        while (strcmp(f->buffer[b].name, rows[i].tensor) != 0)
            b++;
        long n = run(data, hint);
        assert_true(n > 0 && n < MOST_HINTS);
        check_row(a, &rows[i], hint, n, data[b], f->buffer[b].elems);
        for (int k = 0; k < f->n_params; k++)
            free(data[k]);
        arena_free(a);
    }
    free(hint);
}

/* The same values, by the interpreter and by compilers. */
static void values_do_not_change(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct unit u[COUNT_OF(rows)];
    for (int i = 0; i < COUNT_OF(rows); i++) {
        const struct program *p = program_of(a, rows[i].spec, rows[i].steps);
        struct err e;
        assert_true(program_interpret_of_bound(p, 1) <= 1);
        u[i] = (struct unit){ .lanes = rows[i].lanes, .what = rows[i].steps };
        assert_true(program_lower(p, &u[i].f, &e));
    }
    unit_check_values(a, "gcc", u, COUNT_OF(rows), 1);
    unit_check_traces(a, u, COUNT_OF(rows), 1);
    arena_free(a);
}

/* Another hint for the same operand replaces the first; a split hands it to the inner part. */
static void steps_after_it(void **state)
{
    (void)state;
    static const struct { const char *steps, *line; } table[] = {
        { "loop prefetch C A at=M", "for m, n in range(8, 8):  # prefetch A of m + 1" },
        { "loop prefetch C A at=M;loop prefetch C A at=M ahead=2",
          "for m, n in range(8, 8):  # prefetch A of m + 2" },
        { "loop prefetch C A at=M;loop split C M 4",
          "for m.0, m.1, n in range(2, 4, 8):  # prefetch A of m.1 + 1" },
        { "loop prefetch C A at=M;loop prefetch C B at=N",
          "for m, n in range(8, 8):  # prefetch A of m + 1, B of n + 1" },
        { "loop reorder C N M;loop prefetch C A at=M;loop split C M 3",
          "    for m.0, m.1 in range(2, 3):  # prefetch A of m.1 + 1" },
        { "loop prefetch C A at=M;loop parallel C M",
          "for m in parallel(8):  # prefetch A of m + 1" },
        /* What a tile is copied from, at its loop or outside of it. */
        { "loop cache_read C A at=M;loop prefetch C A at=M",
          "for m in range(8):  # prefetch A of m + 1" },
        { "loop cache_read C A at=N;loop prefetch C A at=M",
          "for m, n in range(8, 8):  # prefetch A of m + 1" },
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        struct str out = { 0 };
        program_print_nest(&out, program_of(a, "gmm m=8 k=8 n=8", table[i].steps));
        if (!strstr(str_text(&out), table[i].line))
            fail_msg("%s: no line \"%s\" in\n%s", table[i].steps, table[i].line, str_text(&out));
        str_free(&out);
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hints_name_what_is_read_next),
        cmocka_unit_test(values_do_not_change),
        cmocka_unit_test(steps_after_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
