/* Layout templates against every number of SPEC D.1 to D.4, and against brute force. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "explorer/space/layout_space.h"
#include "tests/unit/run_program.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static const struct layout_space *space_of(struct arena *a, const char *spec,
                                           const char *const *pinned, int n,
                                           const struct layout_opts *o)
{
    const struct layout_space *s;
    struct err e;
    if (!layout_space_new(a, spec, pinned, n, o, &s, &e))
        fail_msg("%s: %s", spec, e.text);
    return s;
}

/* "o_t=16 h_t=4": sets factors by name. */
static void set_factors(const struct layout_space *s, const char *text, int64_t *factor)
{
    layout_space_start(s, START_LAST, 8, factor);
    for (int k = 0; k < s->n; k++) {
        char word[32];
        snprintf(word, sizeof word, " %s=", s->knob[k].name);
        const char *at = strstr(text, word);
        if (at)
            factor[k] = atoll(at + strlen(word));
    }
}

static const struct program *build(struct arena *a, const struct layout_space *s,
                                   const char *const *pinned, int n_pinned, const int64_t *factor,
                                   uint64_t *key)
{
    const char *const *line, *all[40];
    const struct program *p;
    struct err e;
    int n, bad;
    if (!layout_space_lines(s, a, factor, &line, &n, key, &e))
        fail_msg("%s: %s", s->spec, e.text);
    for (int i = 0; i < n_pinned; i++)
        all[i] = pinned[i];
    for (int i = 0; i < n; i++)
        all[n_pinned + i] = line[i];
    if (!program_replay(a, s->spec, all, n_pinned + n, &p, &bad, &e))
        fail_msg("%s: %s: %s", s->spec, bad < 0 ? "" : all[bad], e.text);
    return p;
}

static const struct layout *layout_of(const struct program *p, const char *tensor)
{
    return p->layout[graph_tensor(p->graph, tensor)];
}

static void check_shape(const struct program *p, const char *tensor, const char *want)
{
    const struct layout *l = layout_of(p, tensor);
    struct str s = { 0 };
    for (int d = 0; d < l->rank; d++)
        str_printf(&s, "%s%lld", d ? "x" : "", (long long)l->shape[d]);
    assert_string_equal(str_text(&s), want);
    str_free(&s);
}

/* --- D.1 --- */

/* R(x; extent) of SPEC D.1. */
static int64_t nearest_divisor(double x, int64_t extent)
{
    struct arena *a = arena_new();
    int n;
    const int64_t *list = factor_divisors(a, extent, &n);
    int64_t nearest = factor_nearest(list, n, x);
    arena_free(a);
    return nearest;
}

static void rounding(void **state)
{
    (void)state;
    static const struct { int64_t d; double a; int64_t f; } row[] = {
        { 32, .5, 16 }, { 112, .3, 28 }, { 7, .5, 1 }, { 3, .7, 3 }, { 64, .01, 1 },
        { 64, .99, 64 }, { 512, .3, 128 }, { 6, .75, 6 }, { 12, 5.0 / 12, 6 }, { 224, .07, 16 },
        { 1280, .05, 64 },
    };
    for (int i = 0; i < COUNT_OF(row); i++)
        assert_int_equal(nearest_divisor((double)row[i].d * row[i].a, row[i].d), row[i].f);
    assert_int_equal(nearest_divisor(10, 4 * 16 * 1), 8);
    assert_int_equal(nearest_divisor(3.5, 1 * 49), 1);
}

static void factorizations(void **state)
{
    (void)state;
    assert_int_equal((int)factor_count(32, 4), 56);
    assert_int_equal((int)factor_count(112, 4), 140);
    assert_int_equal((int)factor_count(64, 2), 7);
    assert_int_equal((int)factor_count(512, 4), 220);
    for (int64_t n = 1; n <= 96; n++) {
        int64_t three = 0;
        for (int64_t x = 1; x <= n; x++)
            three += n % x == 0 ? factor_count_divisors(n / x) : 0;
        assert_int_equal((int)factor_count(n, 3), three);
        assert_int_equal((int)factor_count(n, 2), factor_count_divisors(n));
    }
}

/* --- D.2 --- */

static void sizes(void **state)
{
    (void)state;
    static const struct { const char *spec; int n; double size; } row[] = {
        { "c2d i=3 h=230 w=230 o=64 k=7 s=2", 6, 19600 },
        { "c2d i=3 h=224 w=224 o=64 k=7 s=2 p=3 bias=1 relu=1", 6, 19600 },
        { "c2d i=512 h=28 w=28 o=512 k=3 p=1", 6, 360000 },
        { "c1d i=8 w=16 o=4 k=3 p=1", 5, 5 * 3 * 4 * 4 * 3 },
        { "c3d i=4 depth=4 h=4 w=4 o=4 k=3 p=1", 7, 2187 },
        { "grp i=8 h=4 w=4 o=12 g=2 k=3 p=1", 6, 3 * 3 * 5 * 4 * 3 * 5 },
        { "dep c=16 h=8 w=8 k=3 p=1", 4, 4 * 4 * 5 * 5 },
        { "dil i=4 h=8 w=8 o=4 k=3 p=2", 6, 4 * 4 * 3 * 3 * 3 * 3 },
        { "t2d i=4 h=4 w=4 o=4 k=4 s=2 p=1", 6, 3 * 3 * 3 * 3 * 3 * 3 },
        { "t3d i=2 depth=2 h=2 w=2 o=2 k=2 s=2", 7, 2 * 2 * 2 * 2 * 2 * 2 * 2 },
        { "gmm m=8 k=4 n=2", 3, 4 * 3 * 2 },
        { "bmm b=3 m=8 k=4 n=2", 3, 4 * 3 * 2 },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        const struct layout_space *s = space_of(a, row[i].spec, NULL, 0, NULL);
        int64_t factor[LAYOUT_KNOBS];
        double n = 1;
        if (s->n != row[i].n || s->size != row[i].size)
            fail_msg("%s: %d knobs, %g points", s->spec, s->n, s->size);
        for (layout_space_first(s, factor); n < 20000 && layout_space_next(s, factor);)
            n++;
        assert_true(n == (s->size < 20000 ? s->size : 20000));
        arena_free(a);
    }
    struct arena *a = arena_new();
    assert_int_equal((int)space_of(a, "gmm m=8 k=4 n=2", NULL, 0,
                                   &(struct layout_opts){ .split_k = true })->size,
                     4 * 3 * 2 * 3 * 2);
    arena_free(a);
}

static void table3(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const struct layout_space *s = space_of(a, "c2d i=3 h=230 w=230 o=64 k=7 s=2", NULL, 0, NULL);
    int64_t factor[LAYOUT_KNOBS];
    set_factors(s, " h_t=4 w_t=16 o_t=16 i_t=1 i_t'=1 o_t'=16", factor);
    const struct program *p = build(a, s, NULL, 0, factor, NULL);
    /* dims of one element are left out of 1x28x7x4x4x16x16, 1x28x7x3x13x37x1 and 4x3x7x7x1x16 */
    check_shape(p, "Conv", "1x28x7x4x4x16x16");
    check_shape(p, "Inp", "1x28x7x3x13x37");
    check_shape(p, "Ker", "4x3x7x7x16");
    assert_int_equal(layout_of(p, "Conv")->elems, 802816);
    assert_int_equal(layout_of(p, "Inp")->elems, 282828);
    assert_int_equal(layout_of(p, "Ker")->elems, 9408);
    assert_string_equal(layout_space_family(s, a, factor), "N H/4 W/16 O/16 4h 16w 16o");
    arena_free(a);
}

static const struct layout *from_notation(const struct program *p, const char *tensor,
                                          const char *text)
{
    struct prim prims[MAX_NOTATION_PRIMS];
    const struct tensor *t = layout_of(p, tensor)->tensor;
    const struct layout *l;
    struct err e;
    int n;
    assert_true(layout_from_notation(p->pool, t, text, prims, &n, &e));
    assert_true(layout_apply_all(p->pool, t, prims, n, &l, &e));
    return l;
}

/* O=4 H=6 W=4: 8 of 36 points are NHWO, one is NOHW, one N O/2 H W 2o, none HWON; points that
 * are memory-equal have one key. */
static void known_layouts(void **state)
{
    (void)state;
    static const char *const pinned[] = { "set input_layout given", "layout set Inp \"NHWI\"",
                                          "layout set Ker \"KH KW I O\"" };
    static const struct { const char *text; int points; } known[] = {
        { "NHWO", 8 }, { "NOHW", 1 }, { "N O/2 H W 2o", 1 }, { "N W H O", 1 }, { "H W O N", 0 },
    };
    struct arena *a = arena_new();
    const struct layout_space *s = space_of(a, "c2d n=2 i=2 h=8 w=6 o=4 k=3", pinned,
                                            COUNT_OF(pinned), NULL);
    int64_t factor[LAYOUT_KNOBS];
    int count[COUNT_OF(known)] = { 0 }, points = 0;
    uint64_t of_known[COUNT_OF(known)] = { 0 };
    assert_int_equal(s->n, 3);
    layout_space_first(s, factor);
    do {
        uint64_t key;
        const struct program *p = build(a, s, pinned, COUNT_OF(pinned), factor, &key);
        points++;
        for (int i = 0; i < COUNT_OF(known); i++) {
            bool equal = layout_memory_equal(p->pool, layout_of(p, "Conv"),
                                             from_notation(p, "Conv", known[i].text));
            of_known[i] = equal && !count[i] ? key : of_known[i];
            count[i] += equal;
            assert_true(!count[i] || equal == (key == of_known[i]));
        }
    } while (layout_space_next(s, factor));
    assert_int_equal(points, 36);
    for (int i = 0; i < COUNT_OF(known); i++)
        if (count[i] != known[i].points)
            fail_msg("%s: %d points", known[i].text, count[i]);
    arena_free(a);
}

/* --- keys against brute force --- */

/* Where every element is, and what is at every place. */
static uint64_t memory_of(const struct program *p, const char *tensor, uint64_t seed)
{
    const struct layout *l = layout_of(p, tensor);
    int64_t n = tensor_elems(l->tensor);
    float *logical = xcalloc((size_t)n, sizeof *logical), *phys = xcalloc((size_t)l->elems, 4);
    for (int64_t i = 0; i < n; i++)
        logical[i] = (float)(i + 1);
    layout_pack(l, logical, phys);
    seed = hash_bytes(phys, (uint64_t)l->elems * 4, seed);
    free(logical);
    free(phys);
    return seed;
}

/* Keys are equal exactly when what memory holds is. */
static void check_keys(const char *spec, const char *const *tensors, int n_tensors,
                       const struct layout_opts *o, int most)
{
    struct arena *a = arena_new();
    const struct layout_space *s = space_of(a, spec, NULL, 0, o);
    int64_t factor[LAYOUT_KNOBS];
    uint64_t *key = xcalloc((size_t)most, sizeof *key), *memory = xcalloc((size_t)most, 8);
    int n = 0, distinct = 0;
    layout_space_first(s, factor);
    do {
        struct arena *scratch = arena_new();
        const struct program *p = build(scratch, s, NULL, 0, factor, &key[n]);
        for (int t = 0; t < n_tensors; t++)
            memory[n] = memory_of(p, tensors[t], memory[n]);
        arena_free(scratch);
        n++;
    } while (n < most && layout_space_next(s, factor));
    for (int i = 0; i < n; i++) {
        bool seen = false;
        for (int j = 0; j < i; j++) {
            seen = seen || memory[i] == memory[j];
            if ((key[i] == key[j]) != (memory[i] == memory[j]))
                fail_msg("%s: points %d and %d", spec, i, j);
        }
        distinct += !seen;
    }
    print_message("%s: %d of %d points distinct\n", spec, distinct, n);
    assert_true(distinct > 1 && distinct <= n);
    free(key);
    free(memory);
    arena_free(a);
}

static void keys(void **state)
{
    (void)state;
    static const char *const plain[] = { "Conv", "Inp", "Ker" };
    static const char *const padded[] = { "Conv", "Inp", "Ker", "Inp_in" };
    static const char *const product[] = { "A", "B", "C" };
    struct layout_opts two = { .levels = 2 }, split = { .split_k = true }, pad = { .pad = true };
    check_keys("c2d i=2 h=6 w=5 o=2 k=3", plain, 3, NULL, 600);
    check_keys("c2d i=4 h=3 w=3 o=2 k=1", plain, 3, NULL, 600);
    check_keys("c2d i=2 h=5 w=8 o=4 k=3 s=2 p=1", padded, 4, NULL, 600);
    check_keys("grp i=4 h=4 w=2 o=8 g=2 k=1 s=2", plain, 3, NULL, 600);
    check_keys("dep c=4 h=6 w=4 k=3", plain, 3, NULL, 600);
    check_keys("t2d i=2 h=2 w=2 o=2 k=4 s=2 p=1", padded, 4, NULL, 600);
    check_keys("gmm m=4 k=6 n=4", product, 3, &split, 600);
    check_keys("c1d i=1 w=6 o=4 k=3", plain, 3, &two, 900);
    check_keys("gmm m=3 k=2 n=20", product, 3, &pad, 600);
    check_keys("gmm m=20 k=2 n=22", product, 3, &pad, 600);
    check_keys("c1d i=2 w=3 o=22 k=1", plain, 3, &pad, 600);
}

/* Blocks that do not divide: of weights only, and only where the caller asks for them. */
static void padded_blocks(void **state)
{
    (void)state;
    static const struct { const char *spec, *set, *line[3]; } row[] = {
        { "gmm m=6 k=8 n=200", " m_t=6 k_t=8 n_t=24",
          { "layout set B \"N/24:9 K 24n\"", "layout set A \"M K\"", "layout set C \"M N\"" } },
        { "gmm m=6 k=8 n=200", " m_t=3 k_t=8 n_t=64",
          { "layout set B \"N/64:4 K 64n\"", "layout set A \"M K\"", "layout set C \"M N\"" } },
        { "c2d i=8 h=4 w=4 o=40 k=3", " h_t=2 w_t=2 o_t=40 i_t=8 i_t'=8 o_t'=16",
          { "layout set Ker \"O/16:3 KH KW I 16o\"" } },
    };
    const struct layout_opts pad = { .pad = true };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        const struct layout_space *s = space_of(a, row[i].spec, NULL, 0, &pad);
        const char *const *line;
        int64_t factor[LAYOUT_KNOBS];
        int n;
        struct err e;
        set_factors(s, row[i].set, factor);
        if (!layout_space_lines(s, a, factor, &line, &n, NULL, &e))
            fail_msg("%s: %s (%s)", row[i].spec, e.text, e.fix);
        for (int k = 0; k < 3 && row[i].line[k]; k++)
            assert_string_equal(line[k + 1], row[i].line[k]);
        const struct program *p = build(a, s, NULL, 0, factor, NULL);
        assert_true(program_interpret_of_bound(p, 3) <= 1);
        assert_false(layout_space_lines(space_of(a, row[i].spec, NULL, 0, NULL), a, factor, &line,
                                        &n, NULL, &e));
        assert_int_equal(e.code, ERR_FACTOR);
        arena_free(a);
    }
}

/* --- D.3 and D.4 --- */

/* Tiles of transposed operands: B, S and their number. */
static void transposed_windows(void **state)
{
    (void)state;
    static const struct { const char *spec, *set, *inp; int64_t tiles, b; } row[] = {
        { "t2d i=1 h=4 w=4 o=1 k=4 s=2 p=1", " h_t=4 w_t=8", "N H/2 I W 4h", 2, 4 },
        { "t2d i=1 h=16 w=16 o=1 k=4 s=2 p=1", " h_t=8 w_t=32", "N H/4 I W 6h", 4, 6 },
        { "t2d i=1 h=8 w=8 o=1 k=3 s=2 p=1 op=1", " h_t=2 w_t=16", "N H/1 I W 3h", 8, 3 },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        const struct layout_space *s = space_of(a, row[i].spec, NULL, 0, NULL);
        int64_t factor[LAYOUT_KNOBS];
        set_factors(s, row[i].set, factor);
        const struct program *p = build(a, s, NULL, 0, factor, NULL);
        const struct layout *l = layout_of(p, "Inp");
        assert_int_equal(l->shape[layout_dim(l, "H.0")], row[i].tiles);
        assert_int_equal(l->shape[layout_dim(l, "H.1")], row[i].b);
        arena_free(a);
    }
}

/* With middle parts of 1 the two-level template stores what the one-level template does. */
static void levels(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "c2d i=8 h=12 w=10 o=16 k=3 p=1", "c2d i=4 h=17 w=9 o=8 k=5 s=2", "dep c=8 h=8 w=8 k=3 p=1",
        "t2d i=4 h=4 w=4 o=8 k=4 s=2 p=1", "gmm m=8 k=12 n=16", "c3d i=2 depth=4 h=4 w=4 o=4 k=1",
    };
    struct rng r = rng_seed(7);
    for (int i = 0; i < COUNT_OF(specs); i++) {
        struct arena *a = arena_new();
        struct layout_opts two = { .levels = 2 };
        const struct layout_space *s1 = space_of(a, specs[i], NULL, 0, NULL);
        const struct layout_space *s2 = space_of(a, specs[i], NULL, 0, &two);
        int64_t f1[LAYOUT_KNOBS], f2[LAYOUT_KNOBS];
        assert_int_equal(s2->n, 2 * s1->n);
        for (int n = 0; n < 20; n++) {
            layout_space_random(s1, &r, f1);
            for (int k = 0; k < s2->n; k++)
                f2[k] = s2->knob[k].inner >= 0 ? 1 : f1[k / 2];
            uint64_t k1, k2;
            const struct program *p1 = build(a, s1, NULL, 0, f1, &k1);
            const struct program *p2 = build(a, s2, NULL, 0, f2, &k2);
            assert_true(k1 == k2);
            for (int t = 0; t < p1->graph->n_tensors; t++)
                assert_true(memory_of(p1, p1->graph->tensor[t].name, 1) ==
                            memory_of(p2, p1->graph->tensor[t].name, 1));
        }
        arena_free(a);
    }
}

/* One unfold, then a split of the tile number; never nested unfolds. */
static void two_levels(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct layout_opts two = { .levels = 2 };
    const struct layout_space *s = space_of(a, "c2d i=8 h=18 w=18 o=32 k=3", NULL, 0, &two);
    int64_t factor[LAYOUT_KNOBS];
    set_factors(s, " h_t=2 h_m=4 w_t=4 w_m=2 o_t=8 o_m=2 i_t=2 i_m=2 i_t'=4 i_m'=2 o_t'=16 o_m'=1",
                factor);
    const struct program *p = build(a, s, NULL, 0, factor, NULL);
    check_shape(p, "Conv", "1x2x2x2x4x2x2x2x4x8");
    check_shape(p, "Inp", "1x2x2x2x4x2x2x4x6x2");
    check_shape(p, "Ker", "2x2x3x3x4x16");
    assert_string_equal(layout_space_family(s, a, factor), "N H/8 W/8 O/16 4h 2w 2o 2h 4w 8o");
    arena_free(a);
}

/* Tensors that pinned lines lay out have no knobs; the operand's tiles follow a pinned output. */
static void pins(void **state)
{
    (void)state;
    static const char *const out[] = { "layout set Conv \"N H/4 W O/8 4h 8o\"" };
    struct arena *a = arena_new();
    const struct layout_space *s = space_of(a, "c2d i=4 h=10 w=10 o=16 k=3", out, 1, NULL);
    int64_t factor[LAYOUT_KNOBS];
    assert_int_equal(s->n, 3);
    assert_string_equal(s->knob[0].name, "i_t");
    set_factors(s, " i_t=2", factor);
    const struct program *p = build(a, s, out, 1, factor, NULL);
    check_shape(p, "Inp", "1x2x2x6x10x2");
    assert_true(p->input_given);
    static const char *const inp[] = { "set input_layout original", "layout set Inp \"NHWI\"",
                                       "layout set Ker \"KH KW I O\"" };
    s = space_of(a, "c2d i=4 h=10 w=10 o=16 k=3 p=1", inp, 3, NULL);
    assert_int_equal(s->n, 3);
    set_factors(s, " h_t=5", factor);
    p = build(a, s, inp, 3, factor, NULL);
    check_shape(p, "Inp", "1x12x12x4");
    assert_false(p->input_given);
    arena_free(a);
}

/* A point is found again from its lines, or one that stores all tensors alike. */
static void found_again(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "c2d i=4 h=9 w=9 o=8 k=3 s=2 p=1", "grp i=8 h=6 o=16 g=4 k=3", "gmm m=16 k=32 n=16",
        "dep c=16 h=10 w=6 k=3 p=1",
    };
    struct rng r = rng_seed(11);
    for (int i = 0; i < 8 * COUNT_OF(specs); i++) {
        struct arena *a = arena_new();
        const struct layout_space *s = space_of(a, specs[i % COUNT_OF(specs)], NULL, 0, NULL);
        int64_t factor[LAYOUT_KNOBS], found[LAYOUT_KNOBS];
        const char *const *line, *const *again;
        uint64_t key, key2;
        struct err e;
        int n, n2;
        layout_space_random(s, &r, factor);
        assert_true(layout_space_lines(s, a, factor, &line, &n, &key, &e));
        assert_true(layout_space_find(s, line, n, found, NULL));
        assert_true(layout_space_lines(s, a, found, &again, &n2, &key2, &e));
        assert_true(key == key2);
        arena_free(a);
    }
}

static void refusals(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const struct layout_space *s;
    const char *const *line;
    struct err e;
    int n;
    assert_false(layout_space_new(a, "softmax m=4 n=4", NULL, 0, NULL, &s, &e));
    assert_int_equal(e.code, ERR_NAME);
    s = space_of(a, "c2d i=3 h=8 w=8 o=16 k=3 p=1", NULL, 0, NULL);
    int64_t factor[LAYOUT_KNOBS];
    set_factors(s, " h_t=3", factor);
    assert_false(layout_space_lines(s, a, factor, &line, &n, NULL, &e));
    assert_int_equal(e.code, ERR_FACTOR);
    assert_non_null(strstr(e.text, "h_t=3"));
    assert_string_equal(e.fix, "it may be 1 2 4 8");
    arena_free(a);
}

/* Tensors of a graph have axes without the operator's names: its space is the operator's own. */
static void graph_tensors(void **state)
{
    static const char *const spec[][2] = {
        { "c2d n=1 i=4 o=8 h=8 w=8 k=3 p=1", "x = input n=1 i=4 h=8 w=8; W = input d0=8 d1=4 d2=3 "
          "d3=3; y = c2d(x, W) o=8 k=3 p=1" },
        { "c2d n=1 i=4 o=8 h=8 w=8 k=3", "x = input d0=1 d1=4 d2=8 d3=8; W = const d0=8 d1=4 d2=3 "
          "d3=3; y = c2d(x, W) o=8 k=3" },
        { "c2d n=1 i=4 o=8 h=8 w=8 k=3", "x = input n=1 i=4 h=8 w=8; V = input d0=8 d1=4 d2=3 "
          "d3=3; W = relu(V); y = c2d(x, W) o=8 k=3" },
        { "dep n=1 c=4 h=8 w=8 k=3", "x = input n=1 i=4 h=8 w=8; W = input d0=4 d1=3 d2=3; "
          "y = dep(x, W) k=3" },
        { "dep n=1 c=4 h=8 w=8 k=3", "x = input n=1 i=4 h=8 w=8; W = input a=4 b=3 c=3; "
          "y = dep(x, W) k=3" },
        { "c2d n=1 i=4 o=8 h=8 w=8 k=3", "x = input n=1 i=4 h=8 w=8; W = input i=8 o=4 h=3 w=3; "
          "y = c2d(x, W) o=8 k=3" },
        { "t2d n=1 i=4 o=8 h=8 w=8 k=3", "x = input d0=1 d1=4 d2=8 d3=8; W = input d0=4 d1=8 d2=3 "
          "d3=3; y = t2d(x, W) o=8 k=3" },
    };
    (void)state;
    for (int i = 0; i < (int)(sizeof spec / sizeof *spec); i++) {
        struct arena *a = arena_new();
        const struct layout_space *want = space_of(a, spec[i][0], NULL, 0, NULL);
        const struct layout_space *s = space_of(a, spec[i][1], NULL, 0, NULL);
        int64_t factor[LAYOUT_KNOBS], again[LAYOUT_KNOBS];
        const char *const *line;
        struct err e;
        int n;
        assert_int_equal(s->n, want->n);
        for (int k = 0; k < s->n; k++) {
            assert_string_equal(s->knob[k].name, want->knob[k].name);
            assert_int_equal(s->knob[k].n_divisors, want->knob[k].n_divisors);
        }
        layout_space_start(s, START_LAST, 8, factor);
        build(a, s, NULL, 0, factor, NULL);
        assert_true(layout_space_lines(s, a, factor, &line, &n, NULL, &e));
        assert_true(layout_space_find(s, line, n, again, NULL));
        assert_memory_equal(factor, again, (size_t)s->n * sizeof *factor);
        arena_free(a);
    }
}

/* What a person would try first; parts that lie next to each other are one dim. */
static void start_layouts(void **state)
{
    (void)state;
    static const struct { const char *spec; enum start_layout which; const char *lines; } row[] = {
        { "c2d i=16 h=18 w=18 o=64 k=3", START_LAST,
          "Ker O/32 KH KW I 32o; Inp N H W I; Conv N H W O" },
        { "c2d i=16 h=18 w=18 o=64 k=3", START_BLOCKS,
          "Ker O/32 KH KW I 32o; Inp N I/8 H W 8i; Conv N O/8 H W 8o" },
        { "c2d i=16 h=18 w=18 o=64 k=3", START_PLANES, NULL },
        { "c2d i=16 h=18 w=18 o=4 k=3", START_PLANES, "Ker I KH KW O; Inp N I H W; Conv N O H W" },
        { "grp i=32 h=30 w=30 o=64 g=16 k=3", START_PLANES,
          "Ker O/4 I KH KW 4o; Inp N I H W; Conv N O H W" },
        { "dep c=144 h=58 w=58 k=3", START_BLOCKS,
          "Ker C/8 KH KW 8c; Inp N C/8 H W 8c; Conv N C/8 H W 8c" },
        { "dep c=144 h=58 w=58 k=3", START_PLANES, "Ker C KH KW; Inp N C H W; Conv N C H W" },
        { "gmm m=32 k=32 n=64", START_LAST, "B N/32 K 32n; A M K; C M N" },
        { "gmm m=32 k=32 n=64", START_BLOCKS, NULL },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        const struct layout_space *s = space_of(a, row[i].spec, NULL, 0, NULL);
        int64_t factor[LAYOUT_KNOBS];
        const char *const *line;
        struct str got = { 0 };
        struct err e;
        int n;
        bool there = layout_space_start(s, row[i].which, 8, factor);
        assert_int_equal(there, row[i].lines != NULL);
        assert_true(layout_space_lines(s, a, factor, &line, &n, NULL, &e));
        for (int k = 1; k < n; k++) {
            const char *from = line[k] + strlen("layout set "), *quote = strchr(from, '"');
            str_printf(&got, "%s%.*s%.*s", k > 1 ? "; " : "", (int)(quote - from), from,
                       (int)strcspn(quote + 1, "\""), quote + 1);
        }
        if (there && !streq(str_text(&got), row[i].lines))
            fail_msg("row %d: %s", i, str_text(&got));
        str_free(&got);
        arena_free(a);
    }
}

static void states(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const struct layout_space *s = space_of(a, "c2d i=16 h=18 w=18 o=32 k=3", NULL, 0, NULL);
    int64_t factor[LAYOUT_KNOBS] = { 0 };
    float x[LAYOUT_STATE];
    /* nothing is chosen: [1, extent]; the operand's axes are whole */
    static const double none[] = { 1, 16, 1, 16, 1, 32, 1, 18, 1, 18, 1, 16, 1, 16, 1, 32, 1 };
    layout_space_state(s, factor, x);
    for (int i = 0; i < COUNT_OF(none); i++)
        assert_float_equal(x[i], log2(none[i]) / 16, 1e-6);
    /* ALT 5.2.1: H in two parts is [2, H/2], what it reads [2, H/2 + KH - 1] */
    static const double half[] = { 2, 8, 1, 16, 2, 16, 2, 10, 1, 18, 4, 4, 1, 16, 4, 8 };
    set_factors(s, " h_t=8 w_t=16 o_t=16 i_t=4 i_t'=16 o_t'=8", factor);
    layout_space_state(s, factor, x);
    for (int i = 0; i < COUNT_OF(half); i++)
        assert_float_equal(x[i], log2(half[i]) / 16, 1e-6);
    assert_float_equal(s->op[1], 4, 1e-6);
    assert_float_equal(s->op[2], 5, 1e-6);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding), cmocka_unit_test(factorizations), cmocka_unit_test(sizes),
        cmocka_unit_test(table3), cmocka_unit_test(known_layouts), cmocka_unit_test(keys),
        cmocka_unit_test(padded_blocks),
        cmocka_unit_test(transposed_windows), cmocka_unit_test(levels),
        cmocka_unit_test(two_levels), cmocka_unit_test(pins), cmocka_unit_test(found_again),
        cmocka_unit_test(refusals), cmocka_unit_test(states),
        cmocka_unit_test(start_layouts),
        cmocka_unit_test(graph_tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
