/* The loop space of a GPU: points are legal programs with the sizes that they say, the host twin
 * finds them right and free of races, and the experts' schedules are points.  $GPU_SPACE is how
 * many random points of each operator are verified (make test-cuda). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/space/gpu_space.h"
#include "profile/measure/measure.h"
#include "sessions/file/expert_file.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define CHANNELS_LAST "set input_layout given", "layout set Ker \"KH KW I O\"", \
                      "layout set Conv \"N H W O\""

static const struct row { const char *spec; int n; const char *line[4]; } row[] = {
    { "gmm m=33 k=20 n=17", 0, { NULL } }, { "gmm m=64 k=64 n=64 bias=1", 0, { NULL } },
    { "bmm b=2 m=16 k=8 n=24", 0, { NULL } },
    { "c2d n=1 i=8 h=9 w=9 o=16 k=3 p=1 bias=1 relu=1", 4,
      { CHANNELS_LAST, "layout set Inp_in \"N H W I\"" } },
    { "c2d n=1 i=6 h=7 w=8 o=12 k=1", 0, { NULL } },
    { "c2d n=2 i=8 h=8 w=8 o=8 k=3 p=1 s=2 type=f16", 0, { NULL } },
    { "grp n=1 i=8 h=7 w=7 o=8 k=3 p=1 g=2", 0, { NULL } },
    { "dep n=1 c=32 h=9 w=9 k=3 p=1", 0, { NULL } },
    { "c1d n=2 i=4 w=19 o=16 k=3 s=2 p=1", 0, { NULL } },
    { "c3d n=1 i=3 depth=4 h=5 w=5 o=8 k=3 p=1", 0, { NULL } },
    { "t2d n=1 i=4 h=5 w=5 o=8 k=3 s=2 p=1", 0, { NULL } },
    { "bmm b=1 m=1 k=24 n=1", 0, { NULL } }, { "gmm m=1 k=64 n=1", 0, { NULL } },
};

static const struct loop_space *space_of(struct arena *a, const struct row *r)
{
    struct loop_opts o = { .target = target_named("cuda") };
    const struct loop_space *s;
    struct err e = {0};
    if (!loop_space_new(a, r->spec, r->line, r->n, &o, &s, &e))
        fail_msg("%s: %s", r->spec, e.text);
    assert_true(s->gpu && s->n > 0 && s->size > 1);
    return s;
}

/* Makes the program of a point.  False: a step is not legal. */
static bool make(struct arena *a, const struct loop_space *s, const struct loop_point *p,
                 const struct program **out, struct err *e)
{
    const char *const *line;
    int n, bad;
    assert_true(loop_point_lines(s, a, p, &line, &n, e));
    const char **all = ARENA_ARRAY(a, const char *, s->n_base + n);
    memcpy(all, s->base, (size_t)s->n_base * sizeof *all);
    for (int i = 0; i < n; i++)
        all[s->n_base + i] = line[i];
    const struct func *f;
    return program_replay(a, s->spec, all, s->n_base + n, out, &bad, e)
        && program_lower(*out, &f, e);
}

static void verify(const struct program *p, const struct loop_space *s)
{
    struct measure_opts o = { .seed = 3, .limit_s = 60, .target = target_named("cuda") };
    struct measurement m;
    struct err e = {0};
    if (measure_program(p, &o, NULL, NULL, &m, &e) && m.verified)
        return;
    struct str text = {0};
    for (int i = 0; i < p->n_steps; i++)
        str_printf(&text, "%s\n", p->steps[i]);
    fail_msg("%s: %s%s\n%s", s->spec, e.text, m.reason, str_text(&text));
}

/* Most sound points are legal, all of them within the limits of a GPU. */
static void sound_points_are_programs(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        int legal = 0, all = 40;
        struct rng r = rng_seed(7);
        struct err e = {0};
        for (int k = 0; k < all; k++) {
            struct arena *a = arena_new();
            const struct loop_space *s = space_of(a, &row[i]);
            const struct program *p;
            struct loop_point point;
            loop_point_random(s, &r, &point);
            struct gpu_need need = gpu_need_of(s->gpu, &point);
            assert_true(need.threads <= 1024 && need.shared <= SHARED_MOST
                        && need.registers <= 255);
            bool ok = make(a, s, &point, &p, &e);
            legal += ok;
            assert_true(!ok || program_is_bound(p));
            arena_free(a);
        }
        print_message("%-50s %d of %d sound points are legal%s%s\n", row[i].spec, legal, all,
                      legal < all ? "; last: " : "", legal < all ? e.text : "");
        assert_true(legal >= all * 3 / 4);
    }
}

/* The tile of an operand that a sum makes is a copy of what is stored: 2 bytes for each f16. */
static void tiles_of_sums_are_counted_as_they_are_stored(void **state)
{
    static const struct row pair = { "x = input m=64 k=64 r=3 type=f16;"
                                     " q = reduce_sum(x) axes=2 keep=0;"
                                     " y = gmm(q) n=64", 0, { NULL } };
    struct rng r = rng_seed(5);
    int seen = 0;
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct arena *a = arena_new();
        const struct loop_space *s = space_of(a, &pair);
        const struct program *p;
        const struct func *f;
        struct loop_point point;
        struct err e = {0};
        loop_point_random(s, &r, &point);
        struct gpu_need need = gpu_need_of(s->gpu, &point);
        bool ok = make(a, s, &point, &p, &e) && program_lower(p, &f, &e);
        int64_t is = ok ? func_shared_bytes(f) : 0;
        if (ok && is != need.shared)
            fail_msg("%lld bytes, not %lld", (long long)is, (long long)need.shared);
        seen += ok && need.shared > 0;
        arena_free(a);
    }
    assert_true(seen > 20);
}

/* Stages are of tiles that are copies of what is stored: not of padded data, and not of weights
 * whose places are no sums of multiples of the loops. */
static void copies_of_stored_tiles_have_stages(void **state)
{
#define MIXED { "layout fuse Ker O I", "layout split Ker O_I 9 8" }
    static const struct { struct row of; bool unroll, stages; } table[] = {
        { { "c2d n=1 i=6 h=7 w=8 o=12 k=3 p=1", 2, MIXED }, true, false },
        { { "c2d n=1 i=6 h=7 w=8 o=12 k=3 p=1", 0, { NULL } }, true, true },
        { { "c2d n=1 i=6 h=7 w=8 o=12 k=1", 2, MIXED }, true, true },
        { { "gmm m=16 k=2 n=16", 0, { NULL } }, true, true },
        { { "gmm m=16 k=1 n=16", 0, { NULL } }, false, false },       /* there is no sum */
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        const struct gpu_nest *g = space_of(a, &table[i].of)->gpu;
        assert_int_equal(g->k_unroll >= 0, table[i].unroll);
        assert_int_equal(g->k_stages >= 0, table[i].stages);
        arena_free(a);
    }
}

static void twins_find_points_right(void **state)
{
    const char *asked = getenv("GPU_SPACE");
    int most = asked ? atoi(asked) : 0;
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i += most > 0 ? 1 : 2) {
        struct rng r = rng_seed(11);
        for (int k = 0; k <= most; k++) {
            struct arena *a = arena_new();
            const struct loop_space *s = space_of(a, &row[i]);
            const struct program *p;
            struct loop_point point;
            struct err e = {0};
            if (k == 0)
                loop_point_start(s, &point);
            else
                loop_point_random(s, &r, &point);
            bool ok = make(a, s, &point, &p, &e);
            if (k == 0 && !ok)
                fail_msg("the start of %s: %s", row[i].spec, e.text);
            if (ok)
                verify(p, s);
            arena_free(a);
        }
    }
}

/* Points with more shared memory than a kernel declares, with stages, and with both: three of each
 * are right.  A smaller GPU has none that exceed its blocks. */
static void large_and_pipelined_points_are_right(void **state)
{
    static const struct row product[] = {
        { "gmm m=256 k=256 n=256", 0, { NULL } }, { "gmm m=256 k=512 n=128 type=f16", 0, { NULL } },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(product); i++) {
        int left[2][2] = { { 0, 3 }, { 3, 3 } };
        struct rng r = rng_seed(13);
        for (int k = 0; k < 3000 && left[0][1] + left[1][0] + left[1][1] > 0; k++) {
            struct arena *a = arena_new();
            const struct loop_space *s = space_of(a, &product[i]);
            const struct program *p;
            struct loop_point point;
            struct err e = {0};
            loop_point_random(s, &r, &point);
            struct gpu_need need = gpu_need_of(s->gpu, &point);
            bool large = need.shared > SHARED_BYTES, stages = gpu_stages(s->gpu, &point) > 1;
            if (left[large][stages] > 0) {
                const struct func *f;
                left[large][stages]--;
                if (!make(a, s, &point, &p, &e) || !program_lower(p, &f, &e))
                    fail_msg("%s: %s", product[i].spec, e.text);
                if (func_shared_bytes(f) != need.shared)
                    fail_msg("%s: %lld bytes, not %lld", product[i].spec,
                             (long long)func_shared_bytes(f), (long long)need.shared);
                verify(p, s);
            }
            struct loop_space small = *s;
            small.opts.shared = 163 << 10;
            assert_true(loop_point_sound(&small, &point, &e) == (need.shared <= 163 << 10));
            arena_free(a);
        }
        assert_int_equal(left[0][1] + left[1][0] + left[1][1], 0);
    }
}

static void lines_lead_back_to_their_point(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        const struct loop_space *s = space_of(a, &row[i]);
        struct rng r = rng_seed(5);
        for (int k = 0; k < 30; k++) {
            struct loop_point point, back;
            struct point_why why;
            struct err e;
            const char *const *line, *const *again;
            int n, m;
            loop_point_random(s, &r, &point);
            if (gpu_need_of(s->gpu, &point).shared == 0)
                continue;        /* without copies, nothing tells outer from inner reductions */
            assert_true(loop_point_lines(s, a, &point, &line, &n, &e));
            if (!loop_point_from_lines(s, line, n, &back, &why))
                fail_msg("%s: %s (%s)", row[i].spec, why.text, why.step);
            assert_true(loop_point_lines(s, a, &back, &again, &m, &e));
            assert_int_equal(n, m);
            for (int l = 0; l < n; l++)
                assert_string_equal(line[l], again[l]);
        }
        arena_free(a);
    }
}

/* A pipelined loop is the one at which tiles are copied; a schedule with another is no point. */
static void pipelines_of_other_loops_are_no_points(void **state)
{
    static const struct { const char *loop, *why; } t[] = {
        { "K.0", NULL }, { "k.0", NULL },
        { "M.0", "loop M.0 is pipelined, and the tiles are copied at loop K.0" },
        { "K.1", "loop K.1 is pipelined, and the tiles are copied at loop K.0" },
        { "nowhere", "loop nowhere is pipelined, and the tiles are copied at loop K.0" },
    };
    static const struct row product = { "gmm m=64 k=64 n=64", 0, { NULL } };
    (void)state;
    struct arena *a = arena_new();
    const struct loop_space *s = space_of(a, &product);
    struct rng r = rng_seed(5);
    struct loop_point point, back;
    struct point_why why;
    struct err e;
    const char *const *line;
    int n;
    do
        loop_point_random(s, &r, &point);
    while (gpu_stages(s->gpu, &point) < 2);
    assert_true(loop_point_lines(s, a, &point, &line, &n, &e));
    for (int i = 0; i < COUNT_OF(t); i++) {
        const char **changed = ARENA_DUP(a, line, n);
        int found = 0;
        for (int k = 0; k < n; k++)
            if (str_starts(line[k], "loop pipeline C K.0 ")) {
                changed[k] = arena_printf(a, "loop pipeline C %s %s", t[i].loop,
                                          strstr(line[k], "stages="));
                found++;
            }
        assert_int_equal(found, 1);
        if (loop_point_from_lines(s, changed, n, &back, &why) != !t[i].why)
            fail_msg("%s: %s", t[i].loop, why.text);
        assert_string_equal(t[i].why ? t[i].why : "", why.text);
        assert_string_equal(t[i].why ? "pipeline" : "", why.step);
    }
    arena_free(a);
}

/* Every loop of an axis counts for the part that it became. "": the lines are a point, in which
 * axis M, of 64 elements, has these sizes. */
static void parts_are_what_loops_became(void **state)
{
#define COLUMNS "loop split C N 2 32", "loop bind C N.0 block.x", "loop bind C N.1 thread.x"
    static const struct { struct gpu_sizes m; const char *why, *line[9]; } t[] = {
        { { 8, 1, 4, 2 }, "", { COLUMNS, "loop split C M 8 4 2", "loop bind C M.0 block.y",
                                "loop bind C M.1 thread.y" } },
        { { 1, 1, 32, 2 }, "", { COLUMNS, "loop split C M 2", "loop bind C M.0 thread.y" } },
        { { 16, 4, 1, 1 }, "", { COLUMNS, "loop split C M 16", "loop vthread C M.0",
                                 "loop bind C M.1 block.y" } },
        { { 1, 1, 8, 8 }, "", { COLUMNS, "loop split C M 0 8", "loop bind C m.0 thread.y" } },
        { { 4, 1, 4, 4 }, "", { COLUMNS, "loop split C M 4", "loop split C M.0 4",
                                "loop bind C M.0.0 block.y", "loop bind C M.0.1 thread.y" } },
        { { 0 }, "loop M has a part of 64 iterations", { COLUMNS, "loop vthread C M" } },
        { { 0 }, "loop M is not bound",
          { COLUMNS, "loop bind C M block.y", "loop serial C M" } },
        { { 0 }, "loop M_N is fused and then split",
          { "loop fuse C M N", "loop split C M_N 0 128", "loop bind C M_N.0 block.x",
            "loop bind C M_N.1 thread.x" } },
        { { 0 }, "loop M.1 is fused into a loop that is not bound",
          { COLUMNS, "loop split C M 16 4", "loop fuse C M.0 M.1", "loop bind C M block.y" } },
    };
#undef COLUMNS
    static const struct row product = { "gmm m=64 k=64 n=64", 0, { NULL } };
    (void)state;
    struct arena *a = arena_new();
    const struct loop_space *s = space_of(a, &product);
    for (int i = 0; i < COUNT_OF(t); i++) {
        struct loop_point point;
        struct point_why why;
        int n = 0;
        while (n < COUNT_OF(t[i].line) && t[i].line[n])
            n++;
        bool found = loop_point_from_lines(s, t[i].line, n, &point, &why);
        if (found != !*t[i].why || !str_starts(why.text, t[i].why))
            fail_msg("row %d: %s (%s)", i, why.text, why.step);
        if (!found)
            continue;
        struct gpu_sizes m = gpu_sizes_of(s->gpu, &point, 0);
        if (m.outer != t[i].m.outer || m.vthread != t[i].m.vthread || m.thread != t[i].m.thread
            || m.tile != t[i].m.tile)
            fail_msg("row %d: %lld blocks, %lld vthreads, %lld threads of %lld elements", i,
                     (long long)m.outer, (long long)m.vthread, (long long)m.thread,
                     (long long)m.tile);
    }
    arena_free(a);
}

static void experts_are_points(void **state)
{
    static const char *const spec[] = { "gmm m=1024 k=1024 n=1024",
                                        "c2d n=1 i=128 h=28 w=28 o=128 k=3 p=1" };
    (void)state;
    for (int i = 0; i < COUNT_OF(spec); i++) {
        struct arena *a = arena_new();
        struct loop_opts o = { .target = target_named("cuda") };
        struct experts all;
        struct expert_schedule x[7];
        const struct loop_space *s;
        struct err e = {0};
        int n;
        assert_true(expert_file_all(a, &all, &e));
        assert_true(expert_schedules(a, &all, spec[i], o.target, 1, COUNT_OF(x), x, &n, &e));
        for (int k = 0; k < n; k++) {
            struct loop_point point;
            struct point_why why;
            int n_base = 0;
            while (!str_starts(x[k].step[n_base], "loop "))
                n_base++;
            assert_true(loop_space_new(a, spec[i], x[k].step, n_base, &o, &s, &e));
            if (!loop_point_from_lines(s, x[k].step, x[k].n, &point, &why))
                fail_msg("%s: %s (%s)", expert_chosen_text(a, &x[k]), why.text, why.step);
        }
        arena_free(a);
    }
}

/* A point that is too large is refused with its reason. */
static void limits_have_reasons(void **state)
{
    struct arena *a = arena_new();
    const struct row product = { "gmm m=4096 k=64 n=4096", 0, { NULL } };
    const struct loop_space *s = space_of(a, &product);
    static const char *const reason[] = { "less than a warp", "more than 1024",
                                          "more than 255", "more than a block has",
                                          "that can be pipelined" };
    bool seen[COUNT_OF(reason)] = { false };
    struct rng r = rng_seed(3);
    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct loop_point p = {0};
        struct err e = {0};
        for (int k = 0; k < s->n; k++)
            p.v[k][0] = rng_range(&r, 0, s->knob[k].n_choices - 1);
        if (!loop_point_sound(s, &p, &e))
            for (int k = 0; k < COUNT_OF(reason); k++)
                seen[k] = seen[k] || strstr(e.text, reason[k]);
    }
    for (int k = 0; k < COUNT_OF(reason); k++)
        if (!seen[k])
            fail_msg("no point was refused for \"%s\"", reason[k]);
    arena_free(a);
}

int main(void)
{
    setenv("TILESCOPE_HOME", ".", 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_points_are_programs),
        cmocka_unit_test(copies_of_stored_tiles_have_stages),
        cmocka_unit_test(twins_find_points_right),
        cmocka_unit_test(tiles_of_sums_are_counted_as_they_are_stored),
        cmocka_unit_test(large_and_pipelined_points_are_right),
        cmocka_unit_test(pipelines_of_other_loops_are_no_points),
        cmocka_unit_test(parts_are_what_loops_became),
        cmocka_unit_test(lines_lead_back_to_their_point), cmocka_unit_test(experts_are_points),
        cmocka_unit_test(limits_have_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
