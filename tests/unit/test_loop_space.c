/* Loop spaces over drawn layouts of every operator: every sound point replays and lowers, a sample
 * of them computes what the operator does. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "explorer/space/layout_space.h"
#include "explorer/space/loop_space.h"
#include "kernels/base/vec.h"
#include "sessions/file/expert_file.h"
#include "tests/unit/run_program.h"
#include "tests/unit/targets.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define LAYOUTS 3                         /* of every operator in the table */
#define POINTS 12                         /* of every layout */
#define RUN_EVERY 3                       /* one in so many is interpreted */

static uint64_t seed;

static const char *const ops[] = {
    "c1d n=2 i=8 w=18 o=16 k=3",
    "c1d i=4 w=15 o=8 k=3 s=2 p=1 bias=1 relu=1",
    "c2d i=4 h=10 w=6 o=8 k=3",
    "c2d i=4 h=9 w=17 o=8 kh=3 kw=5 s=2 ph=1 pw=2 act=relu6",
    "c2d n=2 i=3 h=7 w=7 o=16 k=3 p=1 bias=1 relu=1",
    "c3d i=4 depth=5 h=6 w=6 o=4 kd=2 kh=3 kw=3",
    "c3d i=2 depth=4 h=5 w=5 o=8 k=3 s=2 p=1 bias=1",
    "grp i=8 h=6 o=16 g=4 k=3",
    "grp i=8 h=8 o=24 g=2 k=3 s=2 p=1 relu=1",
    "dep c=16 h=10 w=6 k=3",
    "dep c=24 h=9 w=13 k=3 s=2 p=1 bias=1 relu=1",
    "dil i=4 h=12 w=8 o=8 k=3",
    "dil i=3 h=9 w=9 o=8 k=3 p=2 relu=1",
    "t2d i=4 h=4 w=4 o=8 k=4 s=2 p=1",
    "t2d i=4 h=5 w=4 o=16 k=3 s=2 p=1 bias=1",
    "t3d i=2 depth=2 h=4 w=2 o=4 k=2 s=2",
    "t3d i=2 depth=3 h=2 w=3 o=8 k=3 s=2 p=1 relu=1",
    "gmm m=16 k=32 n=16",
    "gmm m=13 k=24 n=40 bias=1 relu=1",
};

/* A random layout of spec, as lines. */
static int draw_layout(struct arena *a, struct rng *r, const char *spec, const char *const **line)
{
    const struct layout_space *l;
    struct layout_opts o = { .levels = (int)rng_range(r, 1, 2), .split_k = true };
    int64_t factor[LAYOUT_KNOBS];
    struct err e;
    int n;
    if (!layout_space_new(a, spec, NULL, 0, &o, &l, &e))
        fail_msg("%s: %s", spec, e.text);
    if (rng_range(r, 0, 3) == 0)
        layout_space_start(l, START_LAST, 8, factor);
    else
        layout_space_random(l, r, factor);
    if (!layout_space_lines(l, a, factor, line, &n, NULL, &e))
        fail_msg("%s: %s", spec, e.text);
    return n;
}

static const struct loop_space *loops_over(struct arena *a, const char *spec,
                                           const char *const *line, int n,
                                           const struct loop_opts *o)
{
    const struct loop_space *s;
    struct err e;
    if (!loop_space_new(a, spec, line, n, o, &s, &e))
        fail_msg("%s: %s", spec, e.text);
    return s;
}

/* Base lines and the point's, one after the other. */
static const struct program *build(struct arena *a, const struct loop_space *s,
                                   const struct loop_point *p)
{
    const char *const *line, **all;
    const struct program *out;
    struct err e;
    struct str text = { 0 };
    int n, bad;
    if (!loop_point_lines(s, a, p, &line, &n, &e))
        fail_msg("%s: %s", s->spec, e.text);
    all = ARENA_ARRAY(a, const char *, s->n_base + n + 1);
    for (int i = 0; i < s->n_base; i++)
        all[i] = s->base[i];
    for (int i = 0; i < n; i++)
        all[s->n_base + i] = line[i];
    for (int i = 0; i < s->n_base + n; i++)
        str_printf(&text, "%s\n", all[i]);
    if (!program_replay(a, s->spec, all, s->n_base + n, &out, &bad, &e))
        fail_msg("# %s\n%s%s: %s (%s)", s->spec, str_text(&text), bad < 0 ? "spec" : all[bad],
                 e.text, e.fix);
    str_free(&text);
    return out;
}

static void check_runs(const struct loop_space *s, const struct program *p)
{
    double d = program_interpret_of_bound(p, seed);
    if (d <= 1)
        return;
    for (int i = 0; i < p->n_steps; i++)
        print_message("%s\n", p->steps[i]);
    fail_msg("%s: error %g of the bound", s->spec, d);
}

static void drawn_points(void **state)
{
    (void)state;
    struct rng r = rng_seed(seed);
    int n_points = 0;
    for (int i = 0; i < LAYOUTS * COUNT_OF(ops); i++) {
        struct arena *a = arena_new();
        const char *spec = ops[i % COUNT_OF(ops)], *const *line;
        int n = draw_layout(a, &r, spec, &line);
        struct loop_opts o = { .full = i % 5 == 4, .threads = i % 3 ? 1 : 2,
                               .target = target_with(4 << i % 3, 16 << i % 2),
                               .last_cache = i % 2 ? 64 : 0 };
        const struct loop_space *s = loops_over(a, spec, line, n, &o);
        struct loop_point p = { 0 }, q;
        loop_point_start(s, &p);
        for (int k = 0; k < POINTS; k++) {
            struct arena *scratch = arena_new();
            const struct program *x = build(scratch, s, &p);
            if (n_points++ % RUN_EVERY == 0)
                check_runs(s, x);
            arena_free(scratch);
            if (k % 3 == 0) {
                loop_point_random(s, &r, &p);
            } else if (k % 3 == 1) {
                loop_point_mutate(s, &r, &p);
            } else {
                loop_point_random(s, &r, &q);
                loop_point_cross(s, &r, &p, &q, &p);
            }
        }
        arena_free(a);
    }
    print_message("%d points of %d operators\n", n_points, COUNT_OF(ops));
}

/* Shapes of real layers: points replay, and to the same nest without lowering after every line. */
static void large_shapes(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "c2d i=3 h=224 w=224 o=64 k=7 s=2 p=3 bias=1 relu=1",
        "c2d n=16 i=960 h=7 w=7 o=1280 k=3 s=2 p=1",
        "grp n=5 i=512 h=7 w=7 o=960 g=16 k=3 s=1 p=1", "dep c=1280 h=56 w=56 k=5 s=1 p=2 bias=1",
        "t2d n=7 i=64 h=7 w=7 o=1280 k=3 s=2 p=1", "t3d i=64 depth=8 h=7 w=7 o=64 k=3 s=2 p=1",
        "c3d i=32 depth=8 h=14 w=14 o=512 k=5 s=1 p=2", "c1d i=64 w=256 o=1280 k=7 s=2 p=3",
        "gmm m=768 k=768 n=1024 bias=1",
    };
    struct rng r = rng_seed(seed + 2);
    for (int i = 0; i < 8 * COUNT_OF(specs); i++) {
        struct arena *a = arena_new();
        const char *spec = specs[i % COUNT_OF(specs)], *const *line;
        int n = draw_layout(a, &r, spec, &line);
        const struct loop_space *s = loops_over(a, spec, line, n, NULL);
        const struct program *p, *q;
        const struct func *f = NULL;
        struct loop_point x;
        struct err e;
        struct str one = { 0 }, other = { 0 };
        loop_point_random(s, &r, &x);
        p = build(a, s, &x);
        assert_true(program_new(a, spec, &q, &e));
        for (int k = 0; k < p->n_steps; k++)
            if (!program_apply_line(q, p->steps[k], &q, &e) || !program_lower(q, &f, &e))
                fail_msg("%s: %s", spec, e.text);
        func_print(&one, f);
        program_print_nest(&other, p);
        assert_string_equal(str_text(&one), str_text(&other));
        str_free(&one);
        str_free(&other);
        arena_free(a);
    }
}

/* What a point makes of the nest is found again from its lines, and so is that. */
static void found_again(void **state)
{
    (void)state;
    struct rng r = rng_seed(seed + 1);
    int same = 0, n_points = 0;
    for (int i = 0; i < 3 * COUNT_OF(ops); i++) {
        struct arena *a = arena_new();
        const char *spec = ops[i % COUNT_OF(ops)], *const *line, *const *mine, *const *again;
        int n = draw_layout(a, &r, spec, &line), n_mine, n_again;
        const struct loop_space *s = loops_over(a, spec, line, n,
                                                &(struct loop_opts){ .threads = 1 + i % 2 });
        struct loop_point p, q, q2;
        struct err e;
        for (int k = 0; k < 4; k++, n_points++) {
            loop_point_random(s, &r, &p);
            assert_true(loop_point_lines(s, a, &p, &mine, &n_mine, &e));
            bool found = loop_point_from_lines(s, mine, n_mine, &q, NULL);
            for (int j = 0; !found && j < n_mine; j++)
                print_message("%s\n", mine[j]);
            if (!found)
                fail_msg("%s: not found", spec);
            assert_true(loop_point_lines(s, a, &q, &again, &n_again, &e));
            assert_true(loop_point_from_lines(s, again, n_again, &q2, NULL));
            assert_true(loop_point_equal(s, &q, &q2));
            bool equal = n_mine == n_again;
            for (int j = 0; equal && j < n_mine; j++)
                equal = streq(mine[j], again[j]);
            same += equal;
        }
        arena_free(a);
    }
    print_message("%d of %d points give the same lines again\n", same, n_points);
    assert_true(2 * same > n_points);
}

/* The forms of the expert schedules are in the space over their layouts, and those in the layout
 * space. */
static void experts(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "c1d i=16 w=64 o=64 k=3 p=1 bias=1 relu=1", "c1d i=32 w=28 o=32 k=3 s=2",
        "c2d i=3 h=224 w=224 o=64 k=7 s=2 p=3 bias=1 relu=1",
        "c2d i=64 h=56 w=56 o=64 k=3 p=1 bias=1 relu=1", "c2d i=512 h=7 w=7 o=512 k=3 p=1",
        "c2d i=16 h=15 w=13 o=48 k=3", "dil i=64 h=28 w=28 o=64 k=3 p=2",
        "grp i=128 h=28 w=28 o=128 g=32 k=3 p=1", "grp i=64 h=14 w=14 o=128 g=2 k=3 p=1 relu=1",
        "dep c=144 h=28 w=28 k=3 p=1 bias=1 relu=1", "dep c=32 h=112 w=112 k=3 s=2 p=1",
        "c3d i=16 depth=8 h=14 w=14 o=32 k=3 p=1 bias=1", "t2d i=64 h=14 w=14 o=64 k=4 s=2 p=1",
        "t2d i=16 h=28 w=28 o=16 k=3 s=2 p=1 bias=1", "t3d i=16 depth=4 h=7 w=7 o=32 k=4 s=2 p=1",
        "t3d i=32 depth=8 h=7 w=7 o=16 k=3 s=2 p=1", "gmm m=512 k=512 n=512 bias=1 relu=1",
        "gmm m=16 k=1024 n=1024",
    };
    struct arena *a = arena_new();
    struct experts all;
    struct err e;
    assert_true(expert_file_all(a, &all, &e));
    int found = 0, layouts_found = 0, total = 0;
    double most = 0;
    for (int i = 0; i < 2 * COUNT_OF(specs); i++) {
        struct expert_schedule x[8];
        const char *spec = specs[i / 2];
        int n, threads = 1 + i % 2;
        if (!expert_schedules(a, &all, spec, NULL, threads, COUNT_OF(x), x, &n, &e))
            fail_msg("%s: %s", spec, e.text);
        for (int k = 0; k < n; k++) {
            int layouts = 0;
            while (layouts < x[k].n && !str_starts(x[k].step[layouts], "loop "))
                layouts++;
            const struct loop_space *s = loops_over(a, spec, x[k].step, layouts,
                                                    &(struct loop_opts){ .threads = threads });
            struct loop_point p;
            bool there = loop_point_from_lines(s, x[k].step, x[k].n, &p, NULL);
            const struct program *program;
            const struct func *f;
            int bad;
            assert_true(program_replay(a, spec, x[k].step, x[k].n, &program, &bad, &e));
            assert_true(program_lower(program, &f, &e));
            most = fmax(most, func_statements(f, s->lanes));
            assert_true(loop_code_sound(s, f, &e));
            const struct layout_space *l;
            int64_t factor[LAYOUT_KNOBS];
            const struct layout_opts padded = { .pad = true };
            assert_true(layout_space_new(a, spec, NULL, 0, &padded, &l, &e));
            bool laid_out = layout_space_find(l, x[k].step, x[k].n, factor, NULL);
            layouts_found += laid_out;
            if (!laid_out)
                print_message("no template: %s, expert %s, %s\n", spec, x[k].expert->id,
                              expert_chosen_text(a, &x[k]));
            found += there;
            total++;
            if (!there)
                print_message("not in the space: %s, expert %s, %s, %d threads\n", spec,
                              x[k].expert->id, expert_chosen_text(a, &x[k]), threads);
        }
    }
    print_message("%d of %d expert schedules are points, of at most %g statements\n", found, total,
                  most);
    print_message("%d of their layouts are points of the templates\n", layouts_found);
    assert_true(found == total);
    assert_true(layouts_found == total);
    arena_free(a);
}

static const struct loop_space *plain_space(struct arena *a, const char *spec,
                                            const struct loop_opts *o)
{
    return loops_over(a, spec, NULL, 0, o);
}

static int knob_of(const struct loop_space *s, const char *name)
{
    for (int k = 0; k < s->n; k++)
        if (streq(s->knob[k].name, name))
            return k;
    fail_msg("%s has no knob %s", s->spec, name);
    return -1;
}

/* Large results are stored past the caches or not; the lines say so, and lead back. */
static void streams(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *knob, *line; int64_t last_cache; bool there;
    } row[] = {
        { "gmm m=64 k=16 n=64", "stream C", "loop stream C", 65536, true },
        { "gmm m=64 k=16 n=64", "stream C", "loop stream C", 65537 + 3, false },
        { "gmm m=64 k=16 n=64", "stream C", "loop stream C", 0, false },
        { "c2d i=4 h=10 w=10 o=16 k=3 bias=1 relu=1", "stream ReLU", "loop stream ReLU", 64, true },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        const struct loop_space *s = plain_space(a, row[i].spec, &(struct loop_opts){
                                                 .target = target_with(16, 32),
                                                 .last_cache = row[i].last_cache });
        const char *const *line;
        struct loop_point p, q;
        struct err e;
        int n, there = 0;
        for (int k = 0; k < s->n; k++)
            there += s->knob[k].kind == KNOB_STREAM;
        assert_int_equal(there, row[i].there);
        loop_point_start(s, &p);
        if (there)
            p.v[knob_of(s, row[i].knob)][0] = 1;
        assert_true(loop_point_lines(s, a, &p, &line, &n, &e));
        assert_int_equal(streq(line[n - 1], row[i].line), row[i].there);
        check_runs(s, build(a, s, &p));
        assert_true(loop_point_from_lines(s, line, n, &q, NULL));
        if (there)
            assert_int_equal(q.v[knob_of(s, row[i].knob)][0], 1);
        arena_free(a);
    }
    /* sums that are kept in memory */
    struct arena *a = arena_new();
    const struct loop_space *s = plain_space(a, row[0].spec, &(struct loop_opts){
                                             .last_cache = 64 });
    struct loop_point p;
    loop_point_start(s, &p);
    p.v[knob_of(s, "stream C")][0] = 1;
    p.v[knob_of(s, "cache_write")][0] = 0;
    assert_false(loop_point_sound(s, &p, NULL));
    arena_free(a);
}

static int by_bytes(const void *x, const void *y)
{
    return memcmp(x, y, sizeof(struct loop_point));
}

/* In order, every point is there once, tiles that do not divide among them. */
static void in_order(void **state)
{
    static const char *const small[] = {
        "gmm m=13 n=16 k=2", "gmm m=7 n=32 k=3", "dep c=16 h=5 w=3 k=3", "gmm m=130 n=16 k=1",
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(small); i++) {
        struct arena *a = arena_new();
        const struct loop_space *s = loops_over(a, small[i], NULL, 0, NULL);
        VEC(struct loop_point) all = {0};
        struct loop_point p;
        loop_point_first(s, &p);
        do
            vec_push(&all, p);
        while (all.len <= s->size && loop_point_next(s, &p));
        print_message("%s: %.0f points\n", small[i], s->size);
        assert_true(all.len == s->size);
        qsort(all.data, (size_t)all.len, sizeof *all.data, by_bytes);
        for (int k = 1; k < all.len; k++)
            assert_true(by_bytes(&all.data[k - 1], &all.data[k]) != 0);
        vec_free(&all);
        arena_free(a);
    }
}

/* SPEC D.5's counts, and the size as their product. */
static void sizes(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct loop_opts o = { .dividing = true };
    const struct loop_space *s = plain_space(a, "c2d i=512 h=112 w=32 o=64 k=1", &o);
    double size = 1;
    /* 112 into four, less what has 112 innermost; 64 into four; 512 into two, less 128, 256, 512 */
    assert_int_equal((int)s->knob[knob_of(s, "H")].size, 140 - 1);
    assert_int_equal((int)s->knob[knob_of(s, "W")].size, 56);
    assert_int_equal((int)s->knob[knob_of(s, "O")].size, 84);
    assert_int_equal((int)s->knob[knob_of(s, "I")].size, 10 - 3);
    for (int k = 0; k < s->n; k++)
        size *= s->knob[k].size;
    assert_true(size == s->size);
    assert_int_equal((int)s->knob[knob_of(s, "cache_read Inp")].size, 3);     /* off, S2, R1 */
    static const char *const tiled[] = { "layout set Conv \"N H/4 W/16 O/16 4h 16w 16o\"" };
    s = loops_over(a, "c2d i=4 h=112 w=112 o=64 k=1", tiled, 1, &o);
    assert_string_equal(s->knob[knob_of(s, "H.0")].levels, "S1 S2");
    assert_string_equal(s->knob[knob_of(s, "W.1")].levels, "S2 S3 S4");
    o.full = true;
    s = loops_over(a, "c2d i=4 h=112 w=112 o=64 k=1", tiled, 1, &o);
    assert_string_equal(s->knob[knob_of(s, "H.0")].levels, "S1 S2 S3 S4");
    arena_free(a);
}

/* SPEC E.3: (4, 4) moved by (0, 1) is (8, 2), (16, 1) stays; tiles that do not divide are reached
 * by steps of the innermost factor and left again. */
static void moves(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const struct loop_space *s = plain_space(a, "gmm m=13 k=16 n=32", NULL);
    int k = knob_of(s, "K"), m = knob_of(s, "M"), v = knob_of(s, "vectorize");
    struct loop_point p;
    loop_point_start(s, &p);
    p.v[k][0] = p.v[k][1] = 4;
    assert_int_equal(loop_knob_directions(&s->knob[k]), 1 + 2);
    loop_point_move(s, &p, k, 0);
    assert_int_equal(p.v[k][0], 4);
    loop_point_move(s, &p, k, 1);
    assert_int_equal(p.v[k][0], 8);
    assert_int_equal(p.v[k][1], 2);
    loop_point_move(s, &p, k, 1);
    loop_point_move(s, &p, k, 1);
    assert_int_equal(p.v[k][0], 16);
    assert_int_equal(p.v[k][1], 1);
    loop_point_move(s, &p, k, 2);
    assert_int_equal(p.v[k][1], 2);
    assert_int_equal(loop_knob_directions(&s->knob[m]), 1 + 4 * 3 + 2);
    for (int i = 0; i < 4; i++)
        p.v[m][i] = i ? 1 : 13;
    for (int t = 2; t <= 13; t++) {
        loop_point_move(s, &p, m, 13);
        assert_int_equal(p.v[m][3], t);
        assert_int_equal(p.v[m][0], (13 + t - 1) / t);
    }
    loop_point_move(s, &p, m, 14);
    assert_int_equal(p.v[m][3], 12);
    int64_t was = p.v[v][0];
    assert_int_equal(loop_knob_directions(&s->knob[v]), 1 + 2);
    loop_point_move(s, &p, v, 1);
    assert_int_equal(p.v[v][0], !was);
    loop_point_move(s, &p, v, 2);
    assert_int_equal(p.v[v][0], was);
    arena_free(a);
}

/* A stage has at most 64 loops: 16 spatial axes and 4 of the kernel, all in steps of 2, have 65. */
static void too_many_loops(void **state)
{
    (void)state;
    static const char *const tiled[] = {
        "layout set Conv \"N/8192 D/8 H/8 W/8 O/64 16n 8n 8n 8n 8d 8h 8w 8o 8o\"",
        "layout set Ker \"O I/16 KD/16 KH/16 KW/16 2i 2i 2i 2i 2kd 2kd 2kd 2kd 2kh 2kh 2kh 2kh "
        "2kw 2kw 2kw 2kw\"",
    };
    struct arena *a = arena_new();
    const struct loop_space *s =
        loops_over(a, "c3d n=8192 i=64 depth=127 h=127 w=127 o=512 k=64", tiled, 2,
                   &(struct loop_opts){ .full = true });
    struct loop_point p;
    struct err e;
    loop_point_start(s, &p);
    for (int k = 0; k < s->n; k++)
        for (int i = 0; i < s->knob[k].parts; i++)
            p.v[k][i] = i > 0 || s->knob[k].parts == 2 ? 2 : s->knob[k].extent / 8;
    for (int fewer = 0; fewer < 2; fewer++) {
        for (int k = 0; k < s->n; k++)
            if (s->knob[k].parts == 2)
                p.v[k][fewer && streq(s->knob[k].name, "KW") ? 0 : 1] = 32;
        assert_false(loop_point_sound(s, &p, &e));
        assert_int_equal(strstr(e.text, "more than 64 loops") != NULL, !fewer);
    }
    arena_free(a);
}

/* Each is refused for the reason that it says; the start is not. */
static void refusals(void **state)
{
    (void)state;
    static const struct { const char *knob; int64_t v[4]; const char *why; } row[] = {
        { "M", { 2, 1, 1, 32 }, "accumulators" }, { "M", { 64, 1, 1, 2 }, "multiply" },
        { "N", { 8, 1, 1, 8 }, NULL }, { "N", { 2, 1, 16, 2 }, "accumulators" },
        { "N", { 64, 1, 1, 1 }, "vectorized" }, { "K", { 1, 512 }, "64" },
        { "unroll", { 7 }, "choice" }, { "consumers", { 1 }, "S1" },
    };
    struct arena *a = arena_new();
    struct loop_opts o = { .target = target_with(16, 32) };
    const struct loop_space *s = plain_space(a, "gmm m=64 k=512 n=64 bias=1", &o);
    struct loop_point start;
    struct err e;
    loop_point_start(s, &start);
    assert_true(loop_point_sound(s, &start, &e));
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct loop_point p = start;
        int k = knob_of(s, row[i].knob);
        memcpy(p.v[k], row[i].v, sizeof p.v[k]);
        if (loop_point_sound(s, &p, &e) != !row[i].why)
            fail_msg("row %d: %s", i, row[i].why ? "sound" : e.text);
        if (row[i].why && !strstr(e.text, row[i].why))
            fail_msg("row %d: %s", i, e.text);
    }
    s = plain_space(a, "gmm m=64 k=512 n=60", &o);        /* no divisor fills a register */
    loop_point_start(s, &start);
    assert_int_equal(start.v[knob_of(s, "vectorize")][0], 1);
    assert_int_equal(start.v[knob_of(s, "N")][3] % 4, 0);
    arena_free(a);
}

/* A tile of a convolution's data has a border of the kernel's size around the pixels: a copy of
 * 32768 elements is the largest. */
static void windows_of_copies(void **state)
{
    (void)state;
    static const struct { int64_t h[4]; const char *why; } row[] = {
        { { 2, 1, 15, 1 }, "a copied tile of 69632 elements" },       /* 128 x (15+2) x (30+2) */
        { { 5, 1, 2, 3 }, NULL },                                     /* 32768 */
    };
    struct arena *a = arena_new();
    struct loop_opts o = { .target = target_with(16, 32) };
    const struct loop_space *s = plain_space(a, "c2d i=128 h=32 w=32 o=16 k=3", &o);
    struct loop_point p;
    struct err e;
    loop_point_start(s, &p);
    p.v[knob_of(s, "vectorize")][0] = p.v[knob_of(s, "unroll")][0] = 0;
    p.v[knob_of(s, "cache_write")][0] = 0;
    p.v[knob_of(s, "cache_read Inp")][0] = 1;
    memcpy(p.v[knob_of(s, "W")], (int64_t[4]){ 1, 1, 30, 1 }, sizeof p.v[0]);
    for (int i = 0; i < COUNT_OF(row); i++) {
        memcpy(p.v[knob_of(s, "H")], row[i].h, sizeof row[i].h);
        if (loop_point_sound(s, &p, &e) != !row[i].why)
            fail_msg("row %d: %s", i, row[i].why ? "sound" : e.text);
        if (row[i].why && !strstr(e.text, row[i].why))
            fail_msg("row %d: %s", i, e.text);
    }
    arena_free(a);
}

/* The first point has 12 to 28 accumulators, and channels in vectors. */
static void starts(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "c2d i=3 h=224 w=224 o=64 k=7 s=2 p=3 bias=1 relu=1", "c2d i=512 h=7 w=7 o=512 k=3 p=1",
        "c2d i=64 h=56 w=56 o=64 k=3 p=1", "dil i=64 h=28 w=28 o=64 k=3 p=2",
        "gmm m=512 k=64 n=512",
        "c3d i=16 depth=8 h=14 w=14 o=32 k=3 p=1", "t2d i=64 h=28 w=28 o=64 k=4 s=2 p=1",
        "c1d i=64 w=256 o=128 k=3 p=1", "grp i=64 h=14 w=14 o=128 g=2 k=3 p=1",
    };
    for (int i = 0; i < COUNT_OF(specs); i++) {
        struct arena *a = arena_new();
        const struct layout_space *l;
        const char *const *line;
        int64_t factor[LAYOUT_KNOBS], tile = 1;
        struct err e;
        int n;
        assert_true(layout_space_new(a, specs[i], NULL, 0, NULL, &l, &e));
        layout_space_start(l, START_LAST, 8, factor);
        assert_true(layout_space_lines(l, a, factor, &line, &n, NULL, &e));
        struct loop_opts o = { .target = target_with(16, 32) };
        const struct loop_space *s = loops_over(a, specs[i], line, n, &o);
        struct loop_point p;
        loop_point_start(s, &p);
        for (int k = 0; k < s->n; k++)
            if (s->knob[k].kind == KNOB_SPATIAL)
                for (int j = s->knob[k].parts - 2; j < s->knob[k].parts && j > 0; j++)
                    tile *= p.v[k][j];                    /* S3 and S4 */
        if (tile < 12 * 16 || tile > 28 * 16 || !p.v[knob_of(s, "vectorize")][0])
            fail_msg("%s: a tile of %lld", specs[i], (long long)tile);
        arena_free(a);
    }
}

/* Of a pinned nest: every sound point is another schedule, which runs and is found again. */
static void check_places(const struct loop_space *s)
{
    struct arena *a = arena_new();
    const struct program *known[64];
    int n_known = 0, n;
    for (int pad = 0; pad < 4; pad++)
        for (int consumer = 0; consumer < 3; consumer++) {
            struct loop_point p = { 0 }, q;
            const char *const *line;
            struct err e;
            p.v[knob_of(s, "pad Inp")][0] = pad;
            p.v[knob_of(s, "consumers")][0] = consumer;
            if (!loop_point_sound(s, &p, &e))
                continue;
            const struct program *x = build(a, s, &p);
            check_runs(s, x);
            for (int i = 0; i < n_known; i++) {
                bool same = known[i]->n_steps == x->n_steps;
                for (int j = 0; same && j < x->n_steps; j++)
                    same = streq(known[i]->steps[j], x->steps[j]);
                assert_false(same);
            }
            known[n_known++] = x;
            assert_true(loop_point_lines(s, a, &p, &line, &n, &e));
            assert_true(loop_point_from_lines(s, line, n, &q, NULL));
            assert_true(loop_point_equal(s, &p, &q));
        }
    assert_true(n_known >= 6);
    arena_free(a);
}

/* Pinned loops stay; a factored reduction is a base like any other. */
static void pinned_loops(void **state)
{
    (void)state;
    static const char *const nest[] = {
        "layout set Conv \"NHWO\"", "loop split Conv W 2 7", "loop unroll Conv W.1",
    };
    static const char *const one[] = { "loop reorder Conv N O I KH KW H W" };
    static const char *const splits[] = { "layout set Conv \"NHWO\"", "loop split Conv W 2 7" };
    static const char *const factored[] = { "loop rfactor C K 16" };
    struct arena *a = arena_new();
    const char *spec = "c2d i=4 h=14 w=14 o=16 k=3 p=1 bias=1 relu=1";
    struct rng r = rng_seed(seed);
    const struct loop_space *s = loops_over(a, spec, nest, COUNT_OF(nest), NULL);
    struct loop_point p;
    assert_int_equal(s->n, 2);                            /* where the pad and the consumers go */
    check_places(s);
    s = loops_over(a, spec, one, COUNT_OF(one), NULL);
    check_places(s);
    s = loops_over(a, spec, nest, COUNT_OF(nest), NULL);
    for (int i = 0; i < 8; i++) {
        loop_point_random(s, &r, &p);
        check_runs(s, build(a, s, &p));
    }
    s = loops_over(a, spec, splits, COUNT_OF(splits), NULL);
    assert_int_equal(s->knob[knob_of(s, "W.1")].extent, 7);
    loop_point_random(s, &r, &p);
    check_runs(s, build(a, s, &p));
    s = loops_over(a, "gmm m=4 k=64 n=2 bias=1", factored, 1, NULL);
    assert_int_equal(s->knob[knob_of(s, "K.0")].extent, 16);
    for (int i = 0; i < 8; i++) {
        loop_point_random(s, &r, &p);
        check_runs(s, build(a, s, &p));
    }
    arena_free(a);
}

/* In a pinned nest with a tile, nodes are attached at the loop of the tile, and no deeper. */
static void nodes_are_attached_at_the_tile(void **state)
{
    (void)state;
    static const char *const tiled[] = {
        "loop reorder Conv N O H I KH KW W", "loop cache_write Conv at=O",
    };
    struct arena *a = arena_new();
    const struct loop_space *s = loops_over(a, "c2d i=4 h=14 w=14 o=16 k=3 p=1 bias=1 relu=1",
                                            tiled, COUNT_OF(tiled), NULL);
    struct loop_point p = { 0 };
    const char *const *line;
    struct err e;
    int n, at_tile = 0;
    p.v[knob_of(s, "consumers")][0] = 2;
    assert_true(loop_point_lines(s, a, &p, &line, &n, &e));
    for (int i = 0; i < n; i++) {
        at_tile += strstr(line[i], "compute_at") && strstr(line[i], " Conv O");
        assert_null(strstr(line[i], " Conv H"));
    }
    assert_true(at_tile > 0);
    arena_free(a);
}

static void states(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const struct loop_space *s = plain_space(a, "gmm m=16 k=16 n=32", NULL);
    struct loop_point p;
    float x[LOOP_STATE];
    loop_point_start(s, &p);
    for (int i = 0; i < 4; i++)
        p.v[0][i] = i < 2 ? 4 : 1;
    loop_point_state(s, &p, x);
    assert_float_equal(x[0], 2.0 / 16, 1e-6);
    assert_float_equal(x[1], 2.0 / 16, 1e-6);
    assert_float_equal(x[2], 0, 1e-6);
    for (int i = 0; i < LOOP_STATE; i++)
        assert_true(x[i] >= 0 && x[i] <= 1);
    arena_free(a);
}

/* Another instruction set than this machine's best has its own lanes and registers. */
static void instruction_sets(void **state)
{
    static const struct { const char *isa; int lanes, registers; } row[] = {
        { "avx512", 16, 32 }, { "avx2", 8, 16 }, { "sse", 4, 16 }, { "plain", 1, 16 },
    };
    (void)state;
    struct arena *a = arena_new();
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct loop_opts o = { .target = target_named(row[i].isa) };
        const struct loop_space *s = plain_space(a, "gmm m=16 k=16 n=32", &o);
        assert_int_equal(s->lanes, row[i].lanes);
        assert_int_equal(s->opts.target->registers, row[i].registers);
    }
    arena_free(a);
}

int main(void)
{
    const char *given = getenv("TS_SEED");
    setenv("TILESCOPE_HOME", ".", 0);
    seed = given ? strtoull(given, NULL, 10) : 20261121;
    printf("# seed %llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawn_points), cmocka_unit_test(large_shapes),
        cmocka_unit_test(found_again), cmocka_unit_test(experts), cmocka_unit_test(streams),
        cmocka_unit_test(sizes), cmocka_unit_test(in_order),
        cmocka_unit_test(moves), cmocka_unit_test(refusals), cmocka_unit_test(starts),
        cmocka_unit_test(too_many_loops),
        cmocka_unit_test(windows_of_copies),
        cmocka_unit_test(pinned_loops), cmocka_unit_test(nodes_are_attached_at_the_tile),
        cmocka_unit_test(states),
        cmocka_unit_test(instruction_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
