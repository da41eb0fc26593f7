/* Walks through accesses, as text: loops, sites, how loops move them, counts, and every access. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gen/walk.h"
#include "tests/unit/golden.h"
#include "tests/unit/programs.h"
#include "tests/unit/tree_text.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define MOST_BUFFERS 16
#define APART (1ull << 20)                /* buffer b lies at (b + 1) * APART */

static unsigned long long base[MOST_BUFFERS];

/* What a walk appends to a text; skip: the iteration of the first marked loop that is left out. */
struct listing { struct str *out; const struct func *f; int marked, skip; };

static void add_place(const struct listing *l, unsigned long long addr)
{
    str_printf(l->out, "%s+%llu", l->f->buffer[addr / APART - 1].name, addr % APART);
}

static void list_access(void *ctx, unsigned long long addr, unsigned site, unsigned bytes)
{
    struct listing *l = ctx;
    str_add_char(l->out, ' ');
    add_place(l, addr);
    str_printf(l->out, ":%u@%u", bytes, site);
}

static int list_mark(void *ctx, int mark)
{
    struct listing *l = ctx;
    bool skipped = mark == 0 && l->marked++ == l->skip;
    if (mark < 0 || skipped)
        str_add(l->out, skipped ? " skipped" : " |");
    return skipped;
}

static void list_iteration(void *ctx, int loop, int64_t value)
{
    struct listing *l = ctx;
    str_printf(l->out, " [%d=%lld]", loop, (long long)value);
}

/* Appends what is known of the walk without walking. */
static void add_facts(struct str *out, struct walk *w)
{
    int n_loops, n_sites;
    const struct walk_loop *loop = walk_loops(w, &n_loops);
    const struct site *site = walk_sites(w, &n_sites);
    for (int i = 0; i < n_loops; i++)
        str_printf(out, "loop %d: %s of node %d, %lld trips, in %d, mark %d\n", i, loop[i].axis,
                   loop[i].node, (long long)loop[i].trips, loop[i].parent, loop[i].mark);
    for (int i = 0; i < n_sites; i++) {
        int64_t bytes, lines;
        walk_site_reach(w, i, 64, &bytes, &lines);
        str_printf(out, "site %d: %s%s in loop %d, %lld bytes, %lld lines;", i, site[i].text,
                   site[i].is_store ? " stored" : "", walk_site_loop(w, i), (long long)bytes,
                   (long long)lines);
        for (int k = 0; k < n_loops; k++) {
            struct walk_way way = walk_way(w, i, k);
            str_printf(out, " %d:", k);
            for (int p = 0; p < way.n; p++)
                str_printf(out, "%s%lld*%lld", p ? "," : "", (long long)way.part[p].stride,
                           (long long)way.part[p].trips);
        }
        str_add(out, "\n");
    }
}

static struct walk *open_walk(const struct func *f, const char *target)
{
    struct gen_opts o = { .target = target_named(target) };
    struct walk *w;
    struct err e;
    if (!walk_open(f, &o, &w, &e))
        fail_msg("%s", e.text);
    assert_true(f->n_buffers <= MOST_BUFFERS);
    for (int b = 0; b < MOST_BUFFERS; b++)
        base[b] = APART * (unsigned)(b + 1);
    return w;
}

static void add_walk(struct str *out, const struct func *f, int skip)
{
    struct walk *w = open_walk(f, "avx512");
    struct listing l = { out, f, 0, skip };
    struct walk_calls calls = { &l, list_access, list_mark, list_iteration };
    double iterations[GEN_MAX_MARKS], accesses[GEN_MAX_MARKS], all;
    add_facts(out, w);
    assert_true(walk_count(w, iterations, accesses, &all));
    str_printf(out, "%g accesses along \"%s\"", all, walk_along(w));
    for (int i = 0; i < walk_n_marks(w); i++)
        str_printf(out, ", mark %d: %g in %g iterations", i, accesses[i], iterations[i]);
    str_add(out, "\n");
    walk_run(w, base, &calls);
    str_add(out, "\n\n");
    walk_close(w);
}

/* skip: see struct listing; -1: none. */
static const struct { int skip; const char *tree; } trees[] = {
    { 1, "in A[3][4]\nout C[3]\nfor m 3\n  C[m] = 0\n  for k 4 reduce\n    C[m] += A[m][k]\n" },
    { -1, "in A[4]\nout C[3][4]\nfor m 3\n  for n 4 from m to 4\n"
          "    C[m][n] = select(n < 2, A[n], A[3])\n" },
    { 0, "in A[2][20]\nout C[2][20]\nstream D[2][16]\nfor m 2\n  for n 20 vectorize\n"
         "    C[m][n] = A[m][n]\n  for n 16 vectorize\n    D[m][n] = A[m][n]\n" },
    { -1, "in A[6][2][4]\nout C[12]\nfor m 12\n  if m < 7: C[m] = A[m / 2][m % 2][3]\n" },
    { -1, "in A[2][3][2][5]\nout C[2][6]\nfor n 2\n  for m 6\n"
          "    C[n][m] = A[m % 2][m / 2][n][4] + A[0][0][1 - n][m / 2]\n" },
    { -1, "in A[2][2][2][2]\nout C[16]\nfor m 16\n"
          "  C[m] = A[m % 2][m / 2 % 2][m / 4 % 2][m / 8]\n" },
    { -1, "in A[40]\nout C[4][2]\nfor n 4\n  for m 2 unroll\n"
          "    C[n][m] = A[20 - 20*m + n]\n" },
    { -1, "in A[6]\nout C[2]\nfor m 2 unroll\n  for k 6 from 0 to 2 + 4*m\n    C[m] = A[k]\n" },
    { -1, "in A[4]\nout C[8]\nfor m 8 from 3 to 8\n  C[m] = A[m / 2]\n" },
    { -1, "in A[2][2][2][2][2]\nout C\nfor m 32\n"
          "  C = A[m % 2][m / 2 % 2][m / 4 % 2][m / 8 % 2][m / 16]\n" },
    { -1, "in A[4][32]\nout C[4][3][16]\nfor n 4\n  for m 3 unroll\n"
          "    for k 16 vectorize\n      C[n][m][k] = A[n][8*m + k]\n" },
    { -1, "in A[5][3]\nout C[5]\nfor m.0 2\n  for m.1 3\n"
          "    if 3*m.0 + m.1 < 5: C[3*m.0 + m.1] = 0\n    for k 3 reduce\n"
          "      if 3*m.0 + m.1 < 5: C[3*m.0 + m.1] += A[3*m.0 + m.1][k]\n" },
    { -1, "in A[5]\ninout C[3]\nfor h 3\n  for k 2 reduce from min(h, 2) to 2\n"
          "    C[h] += A[h + k]\n" },
    { -1, "in A[40]\nout C[2]\nfor m 2 unroll\n  for k 2\n"
          "    C[m] = A[18*m + k] + A[k + 20]\n" },
};

static void walks_are_as_before(void **state)
{
    static const char *const gather[] = { "loop split e N 2", "loop parallel e N.0" };
    (void)state;
    struct arena *a = arena_new();
    struct str out = { 0 };
    const struct func *f;
    struct err e;
    for (int i = 0; i < COUNT_OF(trees); i++) {
        str_add(&out, trees[i].tree);
        add_walk(&out, tree_from_text(a, trees[i].tree), trees[i].skip);
    }
    const struct program *p = program_with(a, "t = const v=5 k=2; i = input n=4; e = gather(t, i)",
                                           gather, COUNT_OF(gather));
    assert_true(program_lower(p, &f, &e));
    str_printf(&out, "%s\n", p->graph->spec);
    add_walk(&out, f, -1);
    golden_check("tests/golden/walks.txt", str_text(&out));
    str_free(&out);
    arena_free(a);
}

/* --- Blocks of a GPU -------------------------------------------------------------------------- */

/* Appends an access of a warp: which threads are active, the first place, and where the distance
 * from one active thread to the next changes, which is 0 at first. */
static void list_warp(void *ctx, int warp, uint32_t active, const unsigned long long *addr,
                      unsigned site, unsigned bytes)
{
    struct listing *l = ctx;
    int last = __builtin_ctz(active);
    long long apart = 0;
    str_printf(l->out, "warp %d %08x site %u, %u bytes: ", warp, active, site, bytes);
    add_place(l, addr[last]);
    for (int t = last + 1; t < WALK_WARP; t++) {
        if (!(active >> t & 1))
            continue;
        if ((long long)(addr[t] - addr[last]) != apart) {
            apart = (long long)(addr[t] - addr[last]);
            str_printf(l->out, " %d:%+lld", t, apart);
        }
        last = t;
    }
    str_add(l->out, "\n");
}

static const struct { const char *spec, *step[12]; int64_t block; } programs[] = {
    { "x = input m=3 n=50; z = exp(x); y = relu(z)",
      { "loop bind z M block.x", "loop bind z N thread.x", "loop split y N 0 5 8",
        "loop bind y M block.x", "loop bind y N.0 block.y",
        "loop bind y N.1 thread.y", "loop bind y N.2 thread.x" }, 5 },
    { "gmm m=4 k=4 n=64",
      { "loop split C K 2", "loop reorder C M N K.0 K.1", "loop bind C M block.x",
        "loop bind C N thread.x", "loop cache_read C B at=K.0 scope=shared",
        "loop swizzle C B by=2" }, 1 },
    { "c1d n=1 i=1 w=5 o=2 k=3 p=1",
      { "set input_layout given", "loop inline Inp", "loop reorder Conv N O W I KW",
        "loop bind Conv N block.y", "loop bind Conv O thread.y", "loop bind Conv W thread.x" },
      0 },
    { "gmm m=8 k=8 n=4",
      { "loop split C K 4", "loop reorder C M N K.0 K.1", "loop bind C M thread.y",
        "loop bind C N thread.x", "loop cache_read C A at=K.0 scope=shared pad=1" }, 0 },
    { "x = input a=2 b=3 c=2 d=40; y = relu(x)",
      { "loop split y D 0 2 4", "loop bind y A block.z", "loop bind y B block.y",
        "loop bind y C block.x", "loop bind y D.0 thread.z", "loop bind y D.1 thread.y",
        "loop bind y D.2 thread.x" }, 7 },
    { "t = const v=3 k=4; i = input n=2; e = gather(t, i)",
      { "loop bind e N block.x", "loop bind e K thread.x" }, 1 },
};

static void blocks_are_as_before(void **state)
{
    (void)state;
    struct str out = { 0 };
    for (int i = 0; i < COUNT_OF(programs); i++) {
        struct arena *a = arena_new();
        int n = 0;
        while (n < COUNT_OF(programs[i].step) && programs[i].step[n])
            n++;
        const struct program *p = program_with(a, programs[i].spec, programs[i].step, n);
        const struct func *f;
        struct err e;
        assert_true(program_lower(p, &f, &e));
        struct walk *w = open_walk(f, "cuda");
        struct listing l = { &out, f, 0, -1 };
        str_printf(&out, "%s\n", programs[i].spec);
        add_facts(&out, w);
        for (int kernel = 0; kernel < walk_n_kernels(w); kernel++) {
            const int64_t *x = walk_launch(w, kernel);
            for (int k = 0; k < 6; k++)
                str_printf(&out, "%lld%s", (long long)x[k], k < 5 ? "," : " blocks and threads\n");
            int64_t last = x[0] * x[1] * x[2] - 1;
            walk_block(w, kernel, last < programs[i].block ? last : programs[i].block, base,
                       list_warp, &l);
        }
        str_add(&out, "\n");
        walk_close(w);
        arena_free(a);
    }
    golden_check("tests/golden/blocks.txt", str_text(&out));
    str_free(&out);
}

/* --- Early ends ------------------------------------------------------------------------------- */

struct count { struct walk *w; int n; };

static void stop_at_three(void *ctx, unsigned long long addr, unsigned site, unsigned bytes)
{
    struct count *c = ctx;
    (void)addr;
    (void)site;
    (void)bytes;
    if (++c->n == 3)
        walk_stop(c->w);
}

static int go_on(void *ctx, int mark)
{
    (void)ctx;
    (void)mark;
    return 0;
}

static void walks_can_end_early(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct walk *w = open_walk(tree_from_text(a, trees[0].tree), "avx512");
    struct count c = { w, 0 };
    const struct walk_calls calls = { .ctx = &c, .access = stop_at_three, .mark = go_on };
    double iterations[GEN_MAX_MARKS], accesses[GEN_MAX_MARKS], all;
    walk_run(w, base, &calls);
    assert_int_equal(c.n, 3);
    assert_true(walk_ended_early(w));
    assert_true(walk_count(w, iterations, accesses, &all));
    assert_true(all == 15 && !walk_ended_early(w));
    walk_close(w);
    arena_free(a);
}

/* Long walks look whether they shall end.  Of 100,000 = 7142 * 14 + 12 numbers, 7142 * 7 + 7 have
 * an even seventh; each is a load and a store. */
static void walks_look_at_the_clock(void **state)
{
    static const char tree[] = "in A[100000]\nout C[100000]\nfor m 100000\n"
                               "  if m / 7 % 2 == 0: C[m] = A[m]\n";
    const struct cancel raised = { .raised = 1 }, not = { .raised = 0 };
    static const struct { double deadline; bool raised, ends; } rows[] = {
        { 0, false, false }, { 1e18, false, false }, { 1e-9, false, true }, { 0, true, true },
    };
    (void)state;
    struct arena *a = arena_new();
    struct walk *w = open_walk(tree_from_text(a, tree), "avx512");
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct count c = { w, 3 };                        /* does not stop */
        const struct walk_calls calls = { .ctx = &c, .access = stop_at_three, .mark = go_on };
        double iterations[GEN_MAX_MARKS], accesses[GEN_MAX_MARKS], all;
        walk_limit(w, rows[i].deadline, rows[i].raised ? &raised : &not);
        assert_true(walk_count(w, iterations, accesses, &all) == !rows[i].ends);
        assert_true(rows[i].ends ? all < 100002 : all == 100002);
        walk_run(w, base, &calls);
        assert_true(walk_ended_early(w) == rows[i].ends);
        assert_true(rows[i].ends ? c.n < 100002 : c.n == 100002 + 3);
    }
    walk_close(w);
    arena_free(a);
}

/* What has no code has no walk. */
static void large_bodies_are_refused(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct gen_opts o = { .target = target_named("avx512") };
    struct walk *w = NULL;
    struct err e;
    assert_false(walk_open(tree_from_text(a, "out C[17][241]\nfor m 17 unroll\n"
                                             "  for n 241 unroll\n    C[m][n] = 0\n"), &o, &w, &e));
    assert_int_equal(e.code, ERR_STEP);
    assert_null(w);
    walk_close(w);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_are_as_before), cmocka_unit_test(blocks_are_as_before),
        cmocka_unit_test(walks_can_end_early), cmocka_unit_test(walks_look_at_the_clock),
        cmocka_unit_test(large_bodies_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
