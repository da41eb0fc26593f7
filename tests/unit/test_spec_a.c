/* SPEC A and B: the checked numbers that the layout tests do not have, and the worked examples from
 * end to end: step lines -> program -> lowered tree -> interpreter -> physical memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/nest/lower.h"
#include "tests/unit/interp.h"
#include "tests/unit/layout_util.h"
#include "tests/unit/run_program.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define GOLDEN "c2d n=1 i=2 h=6 w=6 o=4 k=3"
#define R18 "c2d n=1 i=3 h=224 w=224 o=64 k=7 s=2 p=3 bias=1 relu=1"

static struct arena *arena;               /* fresh for each test */

static int setup(void **state)
{
    *state = arena = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

/* --- programs from step lines ----------------------------------------------------------------- */

/* Steps are separated by semicolons; a refused one ends the test. */
static const struct program *with_steps(const struct program *p, const char *steps)
{
    struct err e;
    char *copy = arena_strdup(p->arena, steps), *rest = NULL;
    for (char *s = strtok_r(copy, ";", &rest); s; s = strtok_r(NULL, ";", &rest))
        if (!program_apply_line(p, s, &p, &e))
            fail_msg("%s: %s: %s (%s)", p->base->spec, s, e.text, e.fix);
    return p;
}

static const struct program *program_of(struct arena *a, const char *spec, const char *steps)
{
    const struct program *p = NULL;
    struct err e;
    if (!program_new(a, spec, &p, &e))
        fail_msg("%s: %s", spec, e.text);
    return with_steps(p, steps);
}

static const struct layout *layout_in(const struct program *p, const char *tensor)
{
    const int t = graph_tensor(p->graph, tensor);
    if (t < 0)
        fail_msg("%s has no tensor %s", p->base->spec, tensor);
    return p->layout[t];
}

static void assert_affine(const struct program *p, const char *what)
{
    struct str s = {0};
    program_print_nest(&s, p);
    if (strpbrk(str_text(&s), "/%"))
        fail_msg("%s: a / or %% is left in\n%s", what, str_text(&s));
    str_free(&s);
}

/* --- running them on whole numbers ------------------------------------------------------------ */

struct run { const struct program *p; const struct func *f; void *phys[64]; };

/* The value of element i of a given tensor. */
typedef int (*fill_fn)(const char *tensor, int64_t i);

static void fill_param(struct run *r, int b, fill_fn fill)
{
    const struct tensor *t = &r->p->graph->tensor[r->f->buffer[b].tensor];
    const int64_t n = tensor_elems(t);
    float *logical = xcalloc((size_t)n, sizeof *logical);
    for (int64_t i = 0; i < n; i++)
        logical[i] = (float)fill(t->name, i);
    layout_pack(r->p->layout[r->f->buffer[b].tensor], logical, r->phys[b]);
    free(logical);
}

/* Everything that is not given starts as NaN. */
static struct run run_program(const struct program *p, fill_fn fill)
{
    struct run r = { .p = p };
    struct err e;
    if (!program_lower(p, &r.f, &e))
        fail_msg("%s", e.text);
    for (int b = 0; b < r.f->n_params; b++) {
        const size_t bytes = (size_t)buffer_bytes(&r.f->buffer[b]);
        r.phys[b] = xmalloc(bytes);
        memset(r.phys[b], 0xff, bytes);
        if (p->graph->tensor[r.f->buffer[b].tensor].producer < 0)
            fill_param(&r, b, fill);
    }
    func_interpret(r.f, r.phys);
    return r;
}

static void run_free(struct run *r)
{
    for (int b = 0; b < r->f->n_params; b++)
        free(r->phys[b]);
}

/* The physical memory of a tensor, and how many elements it has. */
static const float *memory_of(const struct run *r, const char *tensor, int64_t *n)
{
    const int t = graph_tensor(r->p->graph, tensor);
    for (int b = 0; b < r->f->n_params; b++)
        if (r->f->buffer[b].tensor == t) {
            *n = r->f->buffer[b].elems;
            return r->phys[b];
        }
    fail_msg("%s is not in memory", tensor);
    return NULL;
}

static void assert_values(const float *got, const int *want, int n, const char *what)
{
    for (int i = 0; i < n; i++)
        if (!(got[i] == (float)want[i]))
            fail_msg("%s: element %d is %g, expected %d", what, i, (double)got[i], want[i]);
}

/* --- A.1 to A.6 by steps: the whole memory of one tensor -------------------------------------- */

/* A counts 1, 2, 3... and B is 1, so C = A; Conv[o][h][w] = (o + 1) * 10^(2h + w). */
static int small_fill(const char *tensor, int64_t i)
{
    static const int powers[] = { 1, 10, 100, 1000 };
    if (str_starts(tensor, "Inp"))
        return powers[i];
    return streq(tensor, "B") ? 1 : (int)i + 1;
}

#define PIXELS "c2d n=1 i=1 h=2 w=2 o=8 k=1"
#define PACKED_PIXELS \
    "1 2 3 4 10 20 30 40 100 200 300 400 1000 2000 3000 4000 " \
    "5 6 7 8 50 60 70 80 500 600 700 800 5000 6000 7000 8000"

static const struct { const char *where, *spec, *steps, *tensor, *memory; } memory_rows[] = {
    { "A.1 padded", "gmm m=10 k=1 n=1", "layout split C M 3 4 allow_pad=1", "C",
      "1 2 3 4 5 6 7 8 9 10 0 0" },
    { "A.1 inferred", "gmm m=10 k=1 n=1", "layout split C M 0 4 allow_pad=1", "C",
      "1 2 3 4 5 6 7 8 9 10 0 0" },
    { "A.1 N/F x F", "gmm m=6 k=1 n=1", "layout split C M 2; layout reorder C M.1 M.0 N", "C",
      "1 3 5 2 4 6" },
    { "A.2", PIXELS, "layout split Conv O 2 4; layout reorder Conv N O.0 H W O.1", "Conv",
      PACKED_PIXELS },
    { "A.3 fuse moves nothing", PIXELS, "layout fuse Conv H W", "Conv",
      "1 10 100 1000 2 20 200 2000 3 30 300 3000 4 40 400 4000 "
      "5 50 500 5000 6 60 600 6000 7 70 700 7000 8 80 800 8000" },
    { "A.3.1 as the paper has it", PIXELS,
      "layout set Conv NHWO; layout fuse Conv H W O; layout split Conv H_W_O 2 4 4; "
      "layout reorder Conv N H_W_O.0 H_W_O.2 H_W_O.1", "Conv",
      "1 5 10 50 2 6 20 60 3 7 30 70 4 8 40 80 "
      "100 500 1000 5000 200 600 2000 6000 300 700 3000 7000 400 800 4000 8000" },
    { "A.3.1 NC4HW4", PIXELS,
      "layout set Conv NHWO; layout split Conv O 2 4; layout reorder Conv N O.0 H W O.1; "
      "layout fuse Conv H W", "Conv", PACKED_PIXELS },
    { "A.4 {1..5}, read", "gmm m=5 k=1 n=1", "layout unfold A M tile=3 stride=2", "A",
      "1 2 3 3 4 5" },
    { "A.4 {1..6}, read", "gmm m=6 k=1 n=1", "layout unfold A M tile=3 stride=2", "A",
      "1 2 3 3 4 5 5 6 0" },
    { "A.4, A.8 {1..6}, written", "gmm m=6 k=1 n=1", "layout unfold C M tile=3 stride=2", "C",
      "1 2 3 3 4 5 5 6 0" },
    { "A.4 D <= B", "gmm m=3 k=1 n=1", "layout unfold C M tile=5 stride=1", "C", "1 2 3 0 0" },
    { "A.5", "gmm m=6 k=1 n=1",
      "layout unfold C M tile=3 stride=2; layout fold C M.0 M.1", "C", "1 2 3 4 5 6" },
    { "A.6 pad", "gmm m=3 k=1 n=1", "layout pad C M after=1", "C", "1 2 3 0" },
    { "A.6 before", "gmm m=3 k=1 n=1", "layout pad A M before=2 after=1", "A", "0 0 1 2 3 0" },
    { "A.6 unpad", "gmm m=3 k=1 n=1", "layout pad C M before=1 after=2; layout unpad C M after=1",
      "C", "0 1 2 3 0" },
};

static void memory_by_steps(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(memory_rows); i++) {
        const struct program *p = program_of(arena, memory_rows[i].spec, memory_rows[i].steps);
        struct run r = run_program(p, small_fill);
        struct str s = {0};
        int64_t n;
        const float *m = memory_of(&r, memory_rows[i].tensor, &n);
        for (int64_t k = 0; k < n; k++)
            str_printf(&s, "%s%g", k ? " " : "", (double)m[k]);
        if (!streq(str_text(&s), memory_rows[i].memory))
            fail_msg("SPEC %s: %s, expected %s", memory_rows[i].where, str_text(&s),
                     memory_rows[i].memory);
        str_free(&s);
        run_free(&r);
    }
}

/* A.6: banks that a walk down one column of a 32 x 32 tile of floats touches. */
static void padded_column_touches_every_bank(void **state)
{
    (void)state;
    static const struct { const char *text; int banks; } rows[] = {
        { "", 1 }, { "pad W after=1", 32 },
    };
    struct exprs *pool = exprs_new(arena);
    for (int i = 0; i < COUNT_OF(rows); i++) {
        const struct layout *l = layout_of(pool, "T H=32 W=32", rows[i].text);
        bool seen[32] = { false };
        int banks = 0;
        for (int64_t h = 0; h < 32; h++)
            seen[rho_at(pool, l, (int64_t[]){ h, 5 }, NULL) % 32] = true;
        for (int b = 0; b < 32; b++)
            banks += seen[b];
        assert_int_equal(banks, rows[i].banks);
    }
}

/* --- A.4: formula (1) and its precondition ---------------------------------------------------- */

struct window { int v, delta, k, tile, stride; };    /* accesses V*i + delta*r; B, S */

/* M */
static int window_span(const struct window *w)
{
    return w->delta * (w->k - 1) + 1;
}

/* P_w */
static int windows_per_tile(const struct window *w)
{
    return (w->tile - window_span(w)) / w->v + 1;
}

/* S = V * P_w and B >= M (ERR-5) */
static bool is_aligned(const struct window *w)
{
    return w->tile >= window_span(w) && w->stride == w->v * windows_per_tile(w);
}

/* V*i + r - S*t as the paper has it, r up to M - 1 */
static int literal_offset(const struct window *w, int i, int r)
{
    return w->v * i + r - w->stride * (i / windows_per_tile(w));
}

static bool literal_in_bounds(const struct window *w, int n)
{
    for (int i = 0; i < n; i++)
        if (literal_offset(w, i, 0) < 0 || literal_offset(w, i, window_span(w) - 1) >= w->tile)
            return false;
    return true;
}

/* The rewritten access reads the right element at every point; formula (1) where it applies. */
static void check_rewritten(struct exprs *pool, const struct window *w, int tiles)
{
    const int size = w->stride * (tiles - 1) + w->tile, n = (size - window_span(w)) / w->v + 1;
    char tensor[32], prim[64];
    snprintf(tensor, sizeof tensor, "X D=%d", size);
    snprintf(prim, sizeof prim, "unfold D tile=%d stride=%d", w->tile, w->stride);
    const struct layout *l = layout_of(pool, tensor, prim);
    const struct expr *i = expr_var(pool, "i", 0, n - 1), *r = expr_var(pool, "r", 0, w->k - 1);
    const struct expr *at = expr_add(pool, expr_mulc(pool, i, w->v), expr_mulc(pool, r, w->delta));
    const struct expr *out[MAX_DIMS];
    layout_rewrite(pool, l, &at, &r, 1, out);
    int64_t *env = xcalloc((size_t)exprs_n_vars(pool), sizeof *env);
    for (int64_t pi = 0; pi < n; pi++)
        for (int64_t pr = 0; pr < w->k; pr++) {
            env[i->var] = pi;
            env[r->var] = pr;
            const int64_t t = expr_eval(out[0], env), b = expr_eval(out[1], env);
            if (t < 0 || t >= l->shape[0] || b < 0 || b >= w->tile
                || w->stride * t + b != w->v * pi + w->delta * pr
                || (is_aligned(w) && t != pi / windows_per_tile(w)))
                fail_msg("V=%d delta=%d K=%d B=%d S=%d: i=%d r=%d is at tile %d, offset %d", w->v,
                         w->delta, w->k, w->tile, w->stride, (int)pi, (int)pr, (int)t, (int)b);
        }
    free(env);
}

static void formula_one(void **state)
{
    (void)state;
    static const struct { const char *where; struct window w; bool aligned; int i, r, offset; }
    rows[] = {
        { "A.4 ERR-5, B=9 S=3", { 2, 1, 7, 9, 3 }, false, 3, 6, 9 },
        { "A.4 ERR-5, the array", { 1, 1, 1, 3, 2 }, false, 5, 0, 3 },
        { "A.4 valid, M=2", { 1, 1, 2, 3, 2 }, true, 3, 1, 2 },
        { "A.4 valid, M=3", { 1, 1, 3, 6, 4 }, true, 7, 2, 5 },
        { "A.4 ERR-6, h_t=4", { 2, 1, 7, 10, 4 }, true, 3, 6, 8 },
        { "A.4 ERR-7, R18", { 2, 1, 7, 13, 8 }, true, 3, 6, 12 },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        const struct window *w = &rows[i].w;
        if (is_aligned(w) != rows[i].aligned || literal_in_bounds(w, 40) != rows[i].aligned
            || literal_offset(w, rows[i].i, rows[i].r) != rows[i].offset)
            fail_msg("SPEC %s: offset %d", rows[i].where,
                     literal_offset(w, rows[i].i, rows[i].r));
        check_rewritten(exprs_new(arena), w, 7);
    }
    /* ERR-6: the literal tiles at h_t=4 hold 2 output rows each, 56 of them for 28. */
    assert_int_equal(windows_per_tile(&rows[4].w), 2);
    assert_shape(layout_of(exprs_new(arena), "X H=230", "unfold H tile=10 stride=4 size=229"),
                 "56x10");
}

/* ERR-5: in bounds for any number of tiles if and only if S = V * P_w. */
static void formula_one_precondition(void **state)
{
    (void)state;
    int n_aligned = 0;
    for (int code = 0; code < 3 * 2 * 4 * 6; code++) {
        struct window w = { .v = 1 + code % 3, .delta = 1 + code / 3 % 2, .k = 1 + code / 6 % 4 };
        w.tile = window_span(&w) + code / 24;
        for (w.stride = 1; w.stride <= w.tile; w.stride++) {
            arena_reset(arena);
            assert_int_equal(literal_in_bounds(&w, 60 * windows_per_tile(&w)), is_aligned(&w));
            check_rewritten(exprs_new(arena), &w, 4);
            n_aligned += is_aligned(&w);
        }
    }
    assert_true(n_aligned > 50);
}

/* ERR-6: B = V(h_t - 1) + M, S = V h_t make P_w = h_t and S = V P_w. */
static void template_parameters(void **state)
{
    (void)state;
    for (int code = 0; code < 3 * 3 * 7 * 8; code++) {
        struct window w = { .v = 1 + code % 3, .delta = 1 + code / 3 % 3, .k = 1 + code / 9 % 7 };
        const int h_t = 1 + code / 63;
        w.tile = w.v * (h_t - 1) + window_span(&w);
        w.stride = w.v * h_t;
        if (w.stride > w.tile)
            continue;                     /* 1 x 1 with a stride: not an unfold (GAP-2) */
        assert_int_equal(windows_per_tile(&w), h_t);
        assert_true(is_aligned(&w));
    }
}

/* SPEC's model coverage: conv + formula (1) + trimmed unfold for (V, delta, K), 6 x 6 outputs. */
static void unfolded_convolutions(void **state)
{
    (void)state;
    static const struct { int v, delta, k; } rows[] = {
        { 1, 1, 3 }, { 2, 1, 3 }, { 2, 1, 7 }, { 1, 2, 3 }, { 2, 2, 3 },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        const int v = rows[i].v, m = rows[i].delta * (rows[i].k - 1) + 1;
        for (int pad = 0; pad < 2; pad++) {
            /* V - 1 rows are never read: natural tiling would have a surplus tile (ERR-7). */
            const char *spec = arena_printf(arena, "c2d n=1 i=2 h=%d w=%d o=4 k=%d s=%d d=%d p=%d",
                                            5 * v + m + v - 1 - 2 * pad, 5 * v + m - 2 * pad,
                                            rows[i].k, v, rows[i].delta, pad);
            const char *steps = arena_printf(
                arena, "layout set Conv \"N H/3 W/2 O/2 3h 2w 2o\"; "
                "layout set Inp \"N H/%d:2 W/%d:3 I %dh %dw\"; layout set Ker \"O/2 I KH KW 2o\"",
                3 * v, 2 * v, 2 * v + m, v + m);
            const struct program *p = program_of(arena, spec, steps);
            assert_int_equal(layout_in(p, "Inp")->shape[1], 2);
            assert_int_equal(layout_in(p, "Inp")->shape[2], 3);
            assert_int_equal(p->n_conversions, 1 - pad);
            assert_affine(with_steps(p, "set input_layout given"), spec);
            if (!(program_interpret_of_bound(p, 7) <= 1))
                fail_msg("%s: wrong values", spec);
        }
    }
}

/* --- A.10: the golden convolution ------------------------------------------------------------- */

static int golden_fill(const char *tensor, int64_t i)
{
    return streq(tensor, "Ker") ? (int)(i % 5) - 2 : (int)(i % 7) - 3;
}

static int golden_y(int o, int h, int w)
{
    int sum = 0;
    for (int t = 0; t < 18; t++)
        sum += golden_fill("Inp", t / 9 * 36 + (h + t / 3 % 3) * 6 + w + t % 3)
               * golden_fill("Ker", o * 18 + t);
    return sum;
}

/* Everything of Conv, unpacked. */
static void assert_golden(const struct run *r, const char *what)
{
    int64_t n;
    float y[64];
    int want[64];
    const float *phys = memory_of(r, "Conv", &n);
    for (int i = 0; i < 64; i++)
        want[i] = golden_y(i / 16, i / 4 % 4, i % 4);
    layout_unpack(layout_in(r->p, "Conv"), phys, y);
    assert_values(y, want, 64, what);
}

static void assert_unfolded_input(const struct run *r, const char *what)
{
    static const int first[] = { -3, -2, -1, 0, 3, -3, -2, -1, 2, 3, -3, -2, 1, 2, 3, -3 };
    static const int from_32[] = { -1, 0, 1, 2, -2, -1, 0, 1, -3, -2, -1, 0, 3, -3, -2, -1 };
    int64_t n;
    float sum = 0;
    const float *x = memory_of(r, "Inp", &n);
    assert_int_equal(n, 128);
    assert_true(layout_in(r->p, "Inp")->expansion == 128.0 / 72.0);
    for (int i = 0; i < 128; i++)
        sum += x[i];
    assert_true(sum == -26);
    assert_values(x, first, 16, what);
    assert_values(x + 32, from_32, 16, what);
}

#define UNFOLDED \
    "layout unfold Inp H tile=4 stride=2; layout unfold Inp W tile=4 stride=2; " \
    "layout reorder Inp N H.0 W.0 I H.1 W.1"

static const struct { const char *name, *steps; bool unfolded; int conversions; }
golden_inputs[] = {
    { "plain input", "", false, 0 },
    { "unfolded by a conversion", UNFOLDED, true, 1 },
    { "given unfolded", UNFOLDED "; set input_layout given", true, 0 },
};

/* `loops` line the output's loops up with the tiles of the input. */
static const struct { const char *where, *layout, *loops; int first[16]; } golden_rows[] = {
    { "A.10 NOHW", "layout set Conv NOHW", "loop split Conv H 2 2; loop split Conv W 2 2",
      { -5, -1, 3, 0, -2, -5, -1, 3, 1, -2, -5, -1, 4, 1, -2, -5 } },
    { "A.10 NHWO", "layout set Conv NHWO",
      "loop split Conv H 2 2; loop split Conv W 2 2; loop reorder Conv I KH KW O; "
      "loop vectorize Conv O; loop cache_write Conv at=W.1",
      { -5, -1, 8, -3, -1, 14, -6, -11, 3, 1, -6, 2, 0, 2, -6, 1 } },
    { "A.10 N O/2 H W 2o", "layout set Conv \"N O/2 H W 2o\"; layout set Ker \"O/2 I KH KW 2o\"",
      "loop split Conv H 2 2; loop split Conv W 2 2; loop reorder Conv KH KW I O.1",
      { -5, -1, -1, 14, 3, 1, 0, 2, -2, -2, -5, -1, -1, 14, 3, 1 } },
    { "A.10 N H/2 W/2 O/2 2h 2w 2o",
      "layout set Conv \"N H/2 W/2 O/2 2h 2w 2o\"; layout set Ker \"O/2 I KH KW 2o\"",
      "loop reorder Conv H.1 I KH KW W.1 O.1; loop cache_write Conv at=H.1; loop unroll Conv W.1; "
      "loop vectorize Conv O.1",
      { -5, -1, -1, 14, -2, -2, -5, -1, 8, -3, -6, -11, 8, -2, 8, -3 } },
};

static void check_golden(const struct program *p, int row, int input)
{
    const char *what = arena_printf(arena, "SPEC %s, %s, %d steps", golden_rows[row].where,
                                    golden_inputs[input].name, p->n_steps);
    struct run r = run_program(p, golden_fill);
    int64_t n;
    const float *y = memory_of(&r, "Conv", &n);
    assert_int_equal(n, 64);
    assert_values(y, golden_rows[row].first, 16, what);
    assert_golden(&r, what);
    if (golden_inputs[input].unfolded)
        assert_unfolded_input(&r, what);
    run_free(&r);
}

static void golden_convolution(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(golden_rows); i++)
        for (int k = 0; k < COUNT_OF(golden_inputs); k++) {
            const struct program *p = program_of(arena, GOLDEN, golden_inputs[k].steps);
            p = with_steps(p, golden_rows[i].layout);
            assert_int_equal(p->n_conversions, golden_inputs[k].conversions);
            check_golden(p, i, k);
            p = with_steps(p, golden_rows[i].loops);
            check_golden(p, i, k);
            if (golden_inputs[k].conversions == 0)      /* a conversion has loops of its own */
                assert_affine(p, golden_rows[i].where);
        }
}

/* A.8, GAP-7: with output_layout original the last thing that runs writes the caller's layout. */
static void golden_for_the_caller(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(golden_rows); i++) {
        const struct program *p = program_of(arena, GOLDEN, golden_rows[i].layout);
        p = with_steps(p, "set output_layout original");
        const bool plain = layout_in(p, "Conv")->n_prims == 0;
        assert_int_equal(p->n_conversions, plain ? 0 : 1);
        struct run r = run_program(p, golden_fill);
        int64_t n;
        const float *y = memory_of(&r, plain ? "Conv" : "Conv_out", &n);
        assert_int_equal(n, 64);
        assert_values(y, golden_rows[0].first, 16, golden_rows[i].where);
        run_free(&r);
    }
}

/* A template point of D.2. */
struct point { int h, w, o, i, ker_o, ker_i; };

/* Splits that line loops over O up with weights in other blocks than the output. */
static const char *blocked_loops(const struct point *t)
{
    if (t->ker_o < t->o)
        return arena_printf(arena, "loop split Conv O.1 %d", t->ker_o);
    if (t->ker_o > t->o)
        return arena_printf(arena, "loop split Conv O.0 %d", t->ker_o / t->o);
    return "";
}

static void check_point(const struct point *t, bool given)
{
    const char *steps = arena_printf(
        arena, "layout set Conv \"N H/%d W/%d O/%d %dh %dw %do\"; "
        "layout set Inp \"N H/%d W/%d I/%d %dh %dw %di\"; "
        "layout set Ker \"O/%d I/%d KH KW %di %do\"; %s", t->h, t->w, t->o, t->h, t->w, t->o, t->h,
        t->w, t->i, t->h + 2, t->w + 2, t->i, t->ker_o, t->ker_i, t->ker_i, t->ker_o,
        given ? "set input_layout given" : "set propagate on");
    const struct program *p = program_of(arena, GOLDEN, steps);
    struct run r = run_program(p, golden_fill);
    int64_t n;
    const float *y = memory_of(&r, "Conv", &n);
    const int64_t wide = 4 / t->w, deep = 4 / t->o;
    for (int i = 0; i < 64; i++) {
        const int o = i / 16, h = i / 4 % 4, w = i % 4;
        const int64_t tile = (h / t->h * wide + w / t->w) * deep + o / t->o;
        const int64_t at = ((tile * t->h + h % t->h) * t->w + w % t->w) * t->o + o % t->o;
        if (y[at] != (float)golden_y(o, h, w))
            fail_msg("%s: element %d", steps, i);
    }
    run_free(&r);
    if (given)
        assert_affine(with_steps(p, blocked_loops(t)), steps);
}

/* B, K.2: every divisor-only point of the template, by value and by text. */
static void golden_template_points(void **state)
{
    (void)state;
    for (int code = 0; code < 27 * 12; code++) {
        arena_reset(arena);
        const struct point t = { 1 << code % 3, 1 << code / 3 % 3, 1 << code / 9 % 3,
                                 1 << code / 27 % 2, 1 << code / 54 % 3, 1 << code / 162 % 2 };
        check_point(&t, true);
        if (code % 5 == 0)
            check_point(&t, false);
    }
}

/* A.10: odd extents by a padded split; the last tile is half empty. */
static void odd_overlapped_tiles(void **state)
{
    (void)state;
    const struct program *p = program_of(
        arena, "c2d n=1 i=2 h=7 w=7 o=4 k=3",
        "layout split Conv H 2 3 allow_pad=1; layout split Conv W 2 3 allow_pad=1; "
        "layout split Conv O 2 2; layout reorder Conv N H.0 W.0 O.0 H.1 W.1 O.1; "
        "layout unfold Inp H tile=5 stride=3; layout unfold Inp W tile=5 stride=3; "
        "layout reorder Inp N H.0 W.0 I H.1 W.1; set input_layout given");
    assert_shape(layout_in(p, "Conv"), "1x2x2x2x3x3x2");
    assert_shape(layout_in(p, "Inp"), "1x2x2x2x5x5");
    assert_affine(p, "odd tiles");
    assert_true(program_interpret_of_bound(p, 3) <= 1);
}

/* --- D.2: ALT Table 3 on the first convolution of ResNet-18 ----------------------------------- */

static const struct { const char *where, *steps; } table3_rows[] = {
    { "D.2 by primitives",
      "layout split Conv W 7 16; layout split Conv H 28 4; layout split Conv O 4 16; "
      "layout reorder Conv N H.0 W.0 O.0 H.1 W.1 O.1; "
      "layout unfold Inp W tile=37 stride=32 size=229; "
      "layout unfold Inp H tile=13 stride=8 size=229; layout split Inp I 3 1; "
      "layout reorder Inp N H.0 W.0 I.0 H.1 W.1 I.1; "
      "layout split Ker I 3 1; layout split Ker O 4 16; layout reorder Ker O.0 I.0 KH KW I.1 O.1" },
    { "D.2 by notation",
      "layout set Conv \"N H/4 W/16 O/16 4h 16w 16o\"; "
      "layout set Inp \"N H/8:28 W/32:7 I/1 13h 37w 1i\"; "
      "layout set Ker \"O/16 I/1 KH KW 1i 16o\"" },
};

static const struct { const char *tensor, *shape; int64_t elems; } table3_tensors[] = {
    { "Conv", "1x28x7x4x4x16x16", 802816 },
    { "ReLU", "1x28x7x4x4x16x16", 802816 },
    { "Inp", "1x28x7x3x13x37x1", 282828 },
    { "Ker", "4x3x7x7x1x16", 9408 },
};

static void table3(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(table3_rows); i++) {
        const struct program *p = program_of(arena, R18, table3_rows[i].steps);
        assert_int_equal(p->n_conversions, 0);          /* the padding operator absorbs Inp's */
        for (int k = 0; k < COUNT_OF(table3_tensors); k++) {
            const struct layout *l = layout_in(p, table3_tensors[k].tensor);
            assert_shape(l, table3_tensors[k].shape);
            assert_int_equal(l->elems, table3_tensors[k].elems);
        }
        assert_affine(p, table3_rows[i].where);
        p = with_steps(p, "loop reorder Conv N H.0 W.0 O.0 H.1 I KH KW W.1 O.1; "
                          "loop cache_write Conv at=H.1; loop unroll Conv W.1; "
                          "loop vectorize Conv O.1; loop compute_at BiasAdd Conv H.1; "
                          "loop compute_at ReLU Conv H.1; loop parallel Conv H.0");
        assert_affine(p, table3_rows[i].where);
        const struct func *f;
        struct err e;
        assert_true(program_lower(p, &f, &e));
        for (int b = 0; b < f->n_params; b++)
            for (int k = 0; k < COUNT_OF(table3_tensors); k++)
                if (streq(f->buffer[b].name, table3_tensors[k].tensor))
                    assert_int_equal(f->buffer[b].elems, table3_tensors[k].elems);
    }
}

/* The same template and schedule, small enough to interpret. */
static void table3_in_small(void **state)
{
    (void)state;
    const struct program *p = program_of(
        arena, "c2d n=1 i=3 h=16 w=16 o=8 k=7 s=2 p=3 bias=1 relu=1",
        "layout set Conv \"N H/4 W/4 O/4 4h 4w 4o\"; "
        "layout set Inp \"N H/8:2 W/8:2 I/1 13h 13w 1i\"; layout set Ker \"O/4 I/1 KH KW 1i 4o\"; "
        "loop reorder Conv N H.0 W.0 O.0 H.1 I KH KW W.1 O.1; loop cache_write Conv at=H.1; "
        "loop unroll Conv W.1; loop vectorize Conv O.1; loop compute_at BiasAdd Conv H.1; "
        "loop compute_at ReLU Conv H.1; loop parallel Conv H.0");
    assert_affine(p, "table 3 in small");
    assert_true(program_interpret_of_bound(p, 11) <= 1);
}

/* --- B: Fig. 6 and 7 -------------------------------------------------------------------------- */

struct load_of { int tensor; const struct val *load; };

static void remember_load(void *ctx, const struct val *load)
{
    struct load_of *l = ctx;
    if (load->source == l->tensor)
        l->load = load;
}

/* Common outer loops of a consumer and its producer: equal extents, and the access at these
 * positions is the loop variable itself. */
static int alignable_loops(const struct program *p, const char *producer, const char *consumer)
{
    const struct lowering in = { .pool = p->pool, .graph = p->graph, .layout = p->layout,
                                 .stage = p->stage };
    struct load_of found = { graph_tensor(p->graph, producer), NULL };
    const int node = graph_node_of(p->graph, consumer);
    const struct stage *own = p->stage[node], *other = p->stage[program_stage(p, producer)];
    const struct expr *guard;
    val_each_load(lower_access(&in, node, own, &guard), remember_load, &found);
    assert_non_null(found.load);
    int n = 0;
    while (n < found.load->rank && n < own->rank && own->axis[n].extent == other->axis[n].extent
           && found.load->idx[n] == own->axis[n].var)
        n++;
    return n;
}

#define FIG_CONV "c2d n=2 i=4 h=10 w=10 o=8 k=3 relu=1"
#define FIG_LAYOUT "layout split Conv H 2 4; layout reorder Conv N H.0 W O H.1"

static void fusion_conflict(void **state)
{
    (void)state;
    static const struct { const char *where, *steps; int loops; } rows[] = {
        { "B, no layouts", "", 4 },
        { "B Fig. 6", "set propagate off; " FIG_LAYOUT, 1 },
        { "B Fig. 7", FIG_LAYOUT, 5 },
        { "B, given by hand", "set propagate off; " FIG_LAYOUT
          "; layout split ReLU H 2 4; layout reorder ReLU N H.0 W O H.1", 5 },
        { "C.5 (vi), NHWO", "set propagate off; layout set Conv NHWO", 1 },
        { "C.5 (i), NHWO", "layout set Conv NHWO", 4 },
        { "C.2, padding stops it", "layout pad Conv O after=8", 1 },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        const int n = alignable_loops(program_of(arena, FIG_CONV, rows[i].steps), "Conv", "ReLU");
        if (n != rows[i].loops)
            fail_msg("SPEC %s: %d alignable loops, expected %d", rows[i].where, n, rows[i].loops);
    }
}

/* Fig. 7: compute_at is legal at each of the five loops; Fig. 6: at none beyond N. */
static void compute_at_follows_alignment(void **state)
{
    (void)state;
    static const char *const loops[] = { "N", "H.0", "W", "O", "H.1" };
    const struct program *fig7 = program_of(arena, FIG_CONV, FIG_LAYOUT), *after = NULL;
    const struct program *fig6 = program_of(arena, FIG_CONV, "set propagate off; " FIG_LAYOUT);
    struct err e;
    for (int i = 0; i < COUNT_OF(loops); i++) {
        const char *line = arena_printf(arena, "loop compute_at ReLU Conv %s", loops[i]);
        const struct program *p = with_steps(fig7, line);
        assert_affine(p, line);
        assert_true(program_interpret_of_bound(p, 5) <= 1);
        if (i > 0 && program_apply_line(fig6, line, &after, &e))
            fail_msg("Fig. 6: %s is accepted", line);
    }
    assert_true(program_interpret_of_bound(fig6, 5) <= 1);
}

/* --- A.0: every error by a step line ---------------------------------------------------------- */

/* What step lines cannot say, and test_layout.c has: a dim by number (E_DIM out of range, E_PERM
 * with a dim that does not exist; a wrong name is E_NAME), fuse of one dim and fold of the last
 * (E_SYNTAX), fold with another size or stride (E_NOINV).  E_ATTACH comes with store_at (A.7). */
static const struct { const char *where, *spec, *before, *bad; enum err_code code; } errors[] = {
    { "A.3 not adjacent", GOLDEN, "", "layout fuse Conv N H", ERR_DIM },
    { "A.3 not increasing", GOLDEN, "", "layout fuse Conv W H", ERR_DIM },
    { "A.3 twice", GOLDEN, "", "layout fuse Conv H H", ERR_DIM },
    { "A.5 not adjacent", GOLDEN, "layout unfold Inp H tile=4 stride=2",
      "layout fold Inp H.0 W", ERR_DIM },
    { "A.0 25 dims", GOLDEN,
      "layout split Conv O 1 1 1 1 1 1 1 1 1 1 4; layout split Conv H 1 1 1 1 1 1 1 1 1 1 4",
      "layout split Conv W 2 2", ERR_RANK },
    { "A.0 25 dims, unfold", GOLDEN,
      "layout split Conv O 1 1 1 1 1 1 1 1 1 1 4; layout split Conv H 1 1 1 1 1 1 1 1 1 1 4",
      "layout unfold Conv W tile=2 stride=1", ERR_RANK },
    { "A.0 25 dims at once", GOLDEN, "",
      "layout split Conv O 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 4", ERR_RANK },
    { "A.0 30 factors", GOLDEN, "",
      "layout split Conv O 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 4", ERR_RANK },
    { "A.1 ✔ [2,4] of 10", "gmm m=10 k=2 n=3", "", "layout split C M 2 4", ERR_FACTOR },
    { "A.1 [2,4] of 10", "gmm m=10 k=2 n=3", "", "layout split C M 2 4 allow_pad=1", ERR_FACTOR },
    { "A.1 factor 0", GOLDEN, "", "layout split Conv O 4 0", ERR_FACTOR },
    { "A.1 N/0 x 0", GOLDEN, "", "layout split Conv O 0", ERR_FACTOR },
    { "A.1 factor -2", GOLDEN, "", "layout split Conv O 2 -2", ERR_FACTOR },
    { "A.1 GAP-1", "gmm m=10 k=2 n=3", "", "layout split C M 3 4", ERR_NONDIV },
    { "A.1 N/F x F", GOLDEN, "", "layout split Conv O 3", ERR_NONDIV },
    { "A.1 by notation", GOLDEN, "", "layout set Conv \"N O/3 H W 3o\"", ERR_NONDIV },
    { "A.1 ✔ [4,4] of 10", "gmm m=10 k=2 n=3", "", "layout split C M 4 4 allow_pad=1", ERR_EMPTY },
    { "A.2 too few", GOLDEN, "", "layout reorder Conv N H W", ERR_PERM },
    { "A.2 too many", GOLDEN, "", "layout reorder Conv N O H W W", ERR_PERM },
    { "A.2 twice", GOLDEN, "", "layout reorder Conv N H W W", ERR_PERM },
    { "A.4 ✔ B=2 S=3", "gmm m=6 k=2 n=3", "", "layout unfold A M tile=2 stride=3", ERR_UNFOLD },
    { "A.4 B=0", GOLDEN, "", "layout unfold Inp H tile=0 stride=1", ERR_UNFOLD },
    { "A.4 S=0", GOLDEN, "", "layout unfold Inp H tile=4 stride=0", ERR_UNFOLD },
    { "A.4 size > D", GOLDEN, "", "layout unfold Inp H tile=4 stride=2 size=7", ERR_UNFOLD },
    { "A.4 a row that is read is trimmed", GOLDEN, "",
      "layout unfold Inp H tile=4 stride=2 size=4", ERR_UNFOLD },
    { "A.4 by notation", GOLDEN, "", "layout set Inp \"N H/2:9 W I 4h\"", ERR_UNFOLD },
    { "A.6 after < 0", GOLDEN, "", "layout pad Conv O after=-1", ERR_PAD },
    { "A.6 before < 0", GOLDEN, "", "layout pad Conv O before=-1 after=2", ERR_PAD },
    { "A.6 unpad < 0", GOLDEN, "layout pad Conv O after=1", "layout unpad Conv O after=-1",
      ERR_PAD },
    { "A.6 unpad drops data", GOLDEN, "layout pad Conv O after=1", "layout unpad Conv O after=2",
      ERR_NOINV },
    { "A.5 no unfold", GOLDEN, "", "layout fold Inp H W", ERR_NOINV },
    { "A.5 another unfold", GOLDEN, "layout unfold Inp W tile=4 stride=2; "
      "layout unfold Inp H tile=4 stride=2; layout reorder Inp N I H.0 W.1 W.0 H.1",
      "layout fold Inp H.0 W.1", ERR_NOINV },
    { "A.0 2^40 by pad", GOLDEN, "", "layout pad Conv O after=1099511627776", ERR_OVERFLOW },
    { "A.0 2^40 by unfold", GOLDEN, "", "layout unfold Inp H tile=1099511627776 stride=1",
      ERR_OVERFLOW },
    { "A.0 2^40 by split", GOLDEN, "", "layout split Conv O 1 1099511627777 allow_pad=1",
      ERR_OVERFLOW },
    { "A.0 2^63 by split", GOLDEN, "", "layout split Conv O 9223372036854775807 2 allow_pad=1",
      ERR_OVERFLOW },
};

/* Everything that can be seen of a program. */
static void print_program(struct str *s, const struct program *p)
{
    for (int i = 0; i < p->n_steps; i++)
        str_printf(s, "%s\n", p->steps[i]);
    program_print_nest(s, p);
    program_print_access(s, p);
    program_print_layouts(s, p, NULL, 80);
    str_printf(s, "%d conversions, %d choices\n", p->n_conversions, p->n_choices);
}

static void check_refused(const struct program *p, int row)
{
    const struct program *after = NULL;
    struct str before = {0}, now = {0};
    struct err e = { .code = ERR_NONE };
    print_program(&before, p);
    if (program_apply_line(p, errors[row].bad, &after, &e))
        fail_msg("SPEC %s: `%s` is accepted", errors[row].where, errors[row].bad);
    if (e.code != errors[row].code)
        fail_msg("SPEC %s: `%s` is %s, expected %s: %s", errors[row].where, errors[row].bad,
                 err_name(e.code), err_name(errors[row].code), e.text);
    const int end = e.at.col + (e.at.len ? e.at.len : 1);
    if (!e.text[0] || e.at.col < 1 || end > (int)strlen(errors[row].bad) + 1
        || !streq(e.source, errors[row].bad))
        fail_msg("SPEC %s: `%s` says \"%s\" at column %d of `%s`", errors[row].where,
                 errors[row].bad, e.text, e.at.col, e.source);
    print_program(&now, p);
    assert_null(after);
    assert_string_equal(str_text(&now), str_text(&before));
    str_free(&before);
    str_free(&now);
}

static void errors_by_steps(void **state)
{
    (void)state;
    bool seen[ERR_COUNT] = { false };
    for (int i = 0; i < COUNT_OF(errors); i++) {
        const struct program *p = program_of(arena, errors[i].spec, errors[i].before);
        check_refused(p, i);
        seen[errors[i].code] = true;
        const bool is_gmm = str_starts(errors[i].spec, "gmm");
        with_steps(p, is_gmm ? "layout pad C M after=2" : "layout pad Conv N after=1");
    }
    for (int code = ERR_DIM; code <= ERR_OVERFLOW; code++)
        if (!seen[code] && code != ERR_ATTACH)
            fail_msg("no step line ends in %s", err_name((enum err_code)code));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(memory_by_steps), TEST(padded_column_touches_every_bank), TEST(formula_one),
        TEST(formula_one_precondition), TEST(template_parameters), TEST(unfolded_convolutions),
        TEST(golden_convolution), TEST(golden_for_the_caller), TEST(golden_template_points),
        TEST(odd_overlapped_tiles), TEST(table3), TEST(table3_in_small), TEST(fusion_conflict),
        TEST(compute_at_follows_alignment), TEST(errors_by_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
