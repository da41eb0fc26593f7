/* Generated C of randomly scheduled programs: equal to the interpreter, and its trace equal to
 * its accesses.  TS_SEED chooses the programs, TS_COUNT how many. */
/* tests/run.sh: takes 17 s */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/rng.h"
#include "kernels/base/vec.h"
#include "kernels/nest/lower.h"
#include "kernels/program/program.h"
#include "tests/unit/kernel_run.h"
#include "tests/unit/unit_check.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static uint64_t seed;
static int count;

static const char *const specs[] = {
    "gmm m=12 k=10 n=16",
    "gmm m=6 k=7 n=33",
    "c2d n=1 i=3 h=9 w=11 o=8 k=3 p=1 bias=1 relu=1",
    "c2d n=2 i=4 h=8 w=8 o=6 k=3 s=2 p=1 relu=1",
    "c2d n=1 i=2 h=6 w=6 o=16 k=1 bias=1",
    "t2d n=1 i=2 h=4 w=4 o=8 k=3 s=2 p=1",
    "grp n=1 i=4 h=6 w=6 o=8 g=2 k=3 p=1 relu=1",
    "dep n=1 c=8 h=7 w=8 k=3 p=1 bias=1",
    "c1d n=2 i=3 w=13 o=8 k=3 s=2 p=1",
    "maxpool n=1 c=4 h=7 w=7 k=3 p=1",
    "avgpool n=1 c=4 h=6 w=6 k=3 p=1 count_pad=0",
    "concat n=1 c=2 h=3 w=8 c2=3 c3=1",
    "softmax m=6 n=16",
};
/* Accesses that depend on data.  Some conditions and selects lie around their indices. */
static const char *const picks[] = {
    "t = const v=9 k=20; i = input n=2 m=3; C = gather(t, i); b = input k=20; D = add(C, b)",
    "t = input m=3 v=9; i = input n=5; C = gather(t, i) axis=1; D = relu(C)",
    "x = input m=4 n=6; i = input m=4 n=6; e = exp(x); C = gather_elements(e, i) axis=1",
    "t = input n=12; i = input m=9; j = input k=7 n=2; a = gather(t, i); C = gather(a, j)",
    "x = input m=4 n=20; y = input n=20; l = lessequal(x, y); C = where(l, x, y); D = relu(C)",
    "A = input m=5 k=8; t = const v=9 k=8; i = input n=6; g = gather(t, i); B = transpose(g); "
    "C = matmul(A, B)",
    "t = const v=9 k=4; i = input n=5; g = gather(t, i); C = pad(g) before=1,2 after=1,1; "
    "x = input n=3 k=7; D = concat(C, x) axis=0",
};
static const char *const layouts[] = {
    "layout set Conv \"N H W O\"", "layout set Inp \"N H W I\"", "layout set Conv \"N O/2 H W 2o\"",
    "layout set Ker \"KH KW I O\"", "layout set A \"K M\"", "layout set C \"N M\"",
    "layout set B \"N K\"", "layout pad Conv O after=3", "layout split C N 4 allow_pad=1",
    "layout set C \"M/3 N 3m\"", "set propagate off", "set input_layout given",
    "layout split Conv W 4 allow_pad=1", "layout unfold Inp W tile=5 stride=3",
};

/* A random primitive of a random stage; many are refused. */
static void random_step(struct rng *r, const struct program *p, struct str *line)
{
    int node = (int)rng_range(r, 0, p->graph->n_nodes - 1);
    if (rng_range(r, 0, 2))
        node = p->graph->main_node;
    const struct stage *s = p->stage[node];
    const struct axis *last = &s->axis[s->n_axes - 1];
    const struct axis *x = &s->axis[rng_range(r, 0, s->n_axes - 1)];
    const char *other = p->stage[rng_range(r, 0, p->graph->n_nodes - 1)]->name;
    switch (rng_range(r, 0, 9)) {
    case 0: case 1:
        str_printf(line, "loop split %s %s %d", s->name, x->name, (int)rng_range(r, 2, 16));
        return;
    case 2: case 3:
        str_printf(line, "loop reorder %s", s->name);
        for (int i = 0, first = (int)rng_range(r, 0, s->n_axes - 1); i < s->n_axes; i++)
            str_printf(line, " %s", s->axis[(first + i * (s->n_axes - 1)) % s->n_axes].name);
        return;
    case 4:
        str_printf(line, "loop vectorize %s %s", s->name, last->name);
        return;
    case 5: case 6:
        str_printf(line, "loop unroll %s %s", s->name, x->name);
        return;
    case 7:
        str_printf(line, "loop parallel %s %s", s->name, s->axis[0].name);
        return;
    case 8:
        str_printf(line, "loop cache_write %s at=%s", s->name, x->name);
        return;
    default:
        str_printf(line, "loop compute_at %s %s %s", other, s->name, x->name);
    }
}

static const struct program *random_program(struct rng *r, const char *spec, struct arena *a,
                                            struct str *text)
{
    const struct program *p;
    struct err e;
    if (!program_new(a, spec, &p, &e))
        fail_msg("%s", e.text);
    str_printf(text, "%s\n", spec);
    int n_layouts = (int)rng_range(r, 0, 3), n_steps = n_layouts + (int)rng_range(r, 0, 14);
    for (int i = 0; i < n_steps; i++) {
        struct str line = { 0 };
        if (i < n_layouts)
            str_add(&line, layouts[rng_range(r, 0, COUNT_OF(layouts) - 1)]);
        else
            random_step(r, p, &line);
        if (program_apply_line(p, str_text(&line), &p, &e))
            str_printf(text, "%s\n", str_text(&line));
        str_free(&line);
    }
    return p;
}

/* Programs whose unrolled body is too large have no code. */
static bool has_code(const struct func *f, int lanes)
{
    struct gen_opts o = unit_options(lanes);
    struct str out = { 0 };
    struct err e;
    bool ok = gen_c(f, &o, &out, &e);
    if (!ok)
        assert_int_equal(e.code, ERR_STEP);
    str_free(&out);
    return ok;
}

static void check_random(const char *const *from, int n_from)
{
    static const int lanes[] = { 16, 8, 4, 1 };
    if (!kernel_compiler("gcc") || !kernel_compiler("g++"))
        skip();
    struct arena *a = arena_new();
    struct rng r = rng_seed(seed);
    VEC(struct unit) units = { 0 };
    for (int i = 0; units.len < count && i < 10 * count; i++) {
        struct str text = { 0 };
        const char *spec = from[rng_range(&r, 0, n_from - 1)];
        const struct program *p = random_program(&r, spec, a, &text);
        const struct func *f;
        struct err e;
        if (!program_lower(p, &f, &e))
            fail_msg("%s\n%s", e.text, str_text(&text));
        int l = lanes[rng_range(&r, 0, COUNT_OF(lanes) - 1)];
        str_printf(&text, "at %d lanes", l);
        if (has_code(f, l))
            vec_push(&units, (struct unit){ f, l, arena_strdup(a, str_text(&text)) });
        str_free(&text);
    }
    unit_check_values(a, "gcc", units.data, units.len, seed);
    unit_check_traces(a, units.data, units.len, seed);
    vec_free(&units);
    arena_free(a);
}

static void random_programs(void **state)
{
    (void)state;
    check_random(specs, COUNT_OF(specs));
}

static void random_picks(void **state)
{
    (void)state;
    check_random(picks, COUNT_OF(picks));
}

/* --- Replays: what they lower, and that it makes no difference ------------------------------ */

/* Tiles of these are often too large. */
static const char *const large[] = {
    "gmm m=1024 k=1024 n=1024",
    "c2d n=1 i=64 h=130 w=130 o=64 k=3 p=1 relu=1",
};

/* Lines with one program after each, lowered at once as nobody does; refused: the first line that
 * has none, and why. */
struct one_by_one {
    VEC(const char *) line;
    const struct program *p;
    int refused;
    struct err why;
};

static void add_line(struct arena *a, struct one_by_one *x, const char *line)
{
    const struct func *f;
    struct err e = { 0 };
    bool ok = program_apply_line(x->p, line, &x->p, &e);
    if (ok && !program_lower(x->p, &f, &e))
        fail_msg("%s was taken: %s", line, e.text);
    if (!ok && x->refused < 0) {
        x->refused = x->line.len;
        x->why = e;
    }
    vec_push(&x->line, arena_strdup(a, line));
}

static void random_line(struct rng *r, const struct program *p, struct str *line)
{
    const struct graph *g = p->graph;
    const struct stage *s = p->stage[g->main_node];
    if (rng_range(r, 0, 9) == 0)
        str_add(line, layouts[rng_range(r, 0, COUNT_OF(layouts) - 1)]);
    else if (rng_range(r, 0, 3) == 0)
        str_printf(line, "loop cache_read %s %s at=%s", s->name,
                   g->tensor[rng_range(r, 0, g->n_tensors - 1)].name,
                   s->axis[rng_range(r, 0, s->n_axes - 1)].name);
    else
        random_step(r, p, line);
}

static void assert_same_code(const struct program *p, const struct program *q)
{
    struct gen_opts o = unit_options(16);
    const struct func *f, *g;
    struct str nest[2] = { { 0 } }, code[2] = { { 0 } };
    struct err e;
    assert_true(program_lower(p, &f, &e) && program_lower(q, &g, &e));
    func_print(&nest[0], f);
    func_print(&nest[1], g);
    assert_string_equal(str_text(&nest[0]), str_text(&nest[1]));
    assert_int_equal(gen_c(f, &o, &code[0], &e), gen_c(g, &o, &code[1], &e));
    assert_string_equal(str_text(&code[0]), str_text(&code[1]));
    for (int i = 0; i < 2; i++) {
        str_free(&nest[i]);
        str_free(&code[i]);
    }
}

static const char *lines_text(struct arena *a, const struct one_by_one *x)
{
    const char *text = "";
    for (int i = 0; i < x->line.len; i++)
        text = arena_printf(a, "%s%s\n", text, x->line.data[i]);
    return text;
}

static void replay_is_one_by_one(const struct one_by_one *x, int *n_refused)
{
    struct arena *a = arena_new();
    const struct program *p;
    struct err e = { 0 };
    int bad;
    bool ok = program_replay(a, x->p->base->spec, x->line.data, x->line.len, &p, &bad, &e);
    if (ok && x->refused >= 0)
        fail_msg("line %d was taken: %s\n%s\n%s", x->refused, x->why.text, x->p->base->spec,
                 lines_text(a, x));
    assert_int_equal(ok, x->refused < 0);
    if (ok) {
        assert_same_code(p, x->p);
    } else {
        assert_int_equal(bad, x->refused);
        assert_string_equal(e.text, x->why.text);
        assert_string_equal(e.fix, x->why.fix);
        assert_string_equal(e.source, x->why.source);
        assert_int_equal(e.at.col, x->why.at.col);
        assert_int_equal(e.at.len, x->why.at.len);
        ++*n_refused;
    }
    arena_free(a);
}

/* A refused line stays in some of them, and others follow: it may not be forgiven. */
static void replays_are_one_by_one(void **state)
{
    (void)state;
    struct rng r = rng_seed(seed + 1);
    int n_refused = 0, n = 10 * count;
    for (int i = 0; i < n; i++) {
        struct arena *a = arena_new();
        struct one_by_one x = { .refused = -1 };
        struct err e;
        const char *spec = i % 2 ? large[rng_range(&r, 0, COUNT_OF(large) - 1)]
                                 : specs[rng_range(&r, 0, COUNT_OF(specs) - 1)];
        assert_true(program_new(a, spec, &x.p, &e));
        for (int k = (int)rng_range(&r, 0, 16); k > 0; k--) {
            struct str line = { 0 };
            const struct program *ignored;
            random_line(&r, x.p, &line);
            if (rng_range(&r, 0, 9) == 0 ||
                program_apply_line(x.p, str_text(&line), &ignored, &e))
                add_line(a, &x, str_text(&line));
            str_free(&line);
        }
        replay_is_one_by_one(&x, &n_refused);
        vec_free(&x.line);
        arena_free(a);
    }
    print_message("%d replays, %d of them refused\n", n, n_refused);
    assert_true(n_refused > n / 10 && n_refused < n / 2);
}

/* A tile is refused, though a later line makes it small, or replaces its swizzle. */
static void a_later_line_does_not_help(void **state)
{
    static const struct { const char *line[4]; int refused; const char *why; } rows[] = {
        { { "loop parallel C M", "loop cache_read C B at=M", "loop serial C M",
            "loop reorder C N M K" }, 1, "needs a tile of 1048576 elements" },
        { { "loop cache_read C B at=M", "loop vthread C M" }, 0,
          "needs a tile of 1048576 elements" },
        { { "loop bind C M thread.x", "loop cache_read C A at=M scope=shared",
            "loop unroll C M" }, 1, "needs a tile of 1048576 elements" },
        { { "loop split C K 8", "loop cache_read C A at=K.0 scope=shared",
            "loop swizzle C A by=8", "loop swizzle C A by=4" }, 2, "would move nothing" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct arena *a = arena_new();
        struct one_by_one x = { .refused = -1 };
        struct err e;
        int n_refused = 0;
        assert_true(program_new(a, large[0], &x.p, &e));
        for (int k = 0; k < COUNT_OF(rows[i].line) && rows[i].line[k]; k++)
            add_line(a, &x, rows[i].line[k]);
        assert_int_equal(x.refused, rows[i].refused);
        if (!strstr(x.why.text, rows[i].why))
            fail_msg("row %d: %s", i, x.why.text);
        replay_is_one_by_one(&x, &n_refused);
        vec_free(&x.line);
        arena_free(a);
    }
}

/* One lowering for a replay and whoever looks at its result, one for a step and its view. */
static void nothing_is_lowered_twice(void **state)
{
    (void)state;
    static const struct { const char *line; int lowered; } rows[] = {
        { "loop split C M 8", 0 },         { "loop split C N 16", 0 },
        { "loop reorder C M.0 N.0 K M.1 N.1", 0 },
        { "loop cache_read C A at=K", 1 }, { "loop unroll C M.1", 1 },
        { "loop vectorize C N.1", 1 },     { "loop cache_write C", 1 },
    };
    struct arena *a = arena_new();
    const char *line[COUNT_OF(rows)];
    const struct program *p, *q;
    const struct func *f;
    struct err e;
    int bad;
    assert_true(program_new(a, large[0], &p, &e));
    for (int i = 0; i < COUNT_OF(rows); i++) {
        long before = lower_calls();
        line[i] = rows[i].line;
        assert_true(program_apply_line(p, line[i], &p, &e));
        assert_int_equal(lower_calls() - before, rows[i].lowered);
        assert_true(program_lower(p, &f, &e) && program_lower(p, &f, &e));
        assert_int_equal(lower_calls() - before, 1);
    }
    long before = lower_calls();
    assert_true(program_replay(a, large[0], line, COUNT_OF(rows), &q, &bad, &e) &&
                program_lower(q, &f, &e));
    assert_int_equal(lower_calls() - before, 1);
    assert_same_code(p, q);
    arena_free(a);
}

int main(void)
{
    const char *given = getenv("TS_SEED"), *n = getenv("TS_COUNT");
    seed = given ? strtoull(given, NULL, 0) : 20261101;
    count = n ? atoi(n) : 24;
    printf("# seed %llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs), cmocka_unit_test(random_picks),
        cmocka_unit_test(replays_are_one_by_one),
        cmocka_unit_test(a_later_line_does_not_help),
        cmocka_unit_test(nothing_is_lowered_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
