/* Loop spaces as text: their knobs, start points, drawn points, and what one move away from a start
 * is not sound.  A search must find the spaces of yesterday, since stored points depend on them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/space/loop_space.h"
#include "tests/unit/golden.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define MOST_LINES 8
#define DRAWN 3

struct space_row { const char *spec; struct loop_opts o; const char *line[MOST_LINES]; };

#define TILED "layout set Conv \"N O/8 H/7 W 7h 8o\"", "layout set Ker \"O/8 KH KW I 8o\""

static const struct space_row cpu[] = {
    { "gmm m=48 k=40 n=64 bias=1", { .threads = 2 }, { NULL } },
    { "gmm m=13 k=9 n=20", { .full = true }, { NULL } },
    { "bmm b=3 m=16 k=8 n=24", { .dividing = true, .last_cache = 1024 }, { NULL } },
    { "c2d n=1 i=16 h=14 w=14 o=32 k=3 p=1 bias=1 relu=1", { .threads = 2 }, { NULL } },
    { "c2d n=1 i=16 h=14 w=14 o=32 k=3 p=1 relu=1", { .threads = 2, .last_cache = 32768 },
      { "set input_layout given", TILED } },
    { "c2d n=2 i=8 h=28 w=28 o=16 k=3 s=2 p=1", { 0 },
      { "layout set Conv \"N H W O\"", "loop split Conv H 2 7", "loop split Conv I 2 4" } },
    { "grp n=1 i=16 h=8 w=8 o=32 k=3 g=4 p=1", { .threads = 4 }, { NULL } },
    { "dep n=1 c=32 h=12 w=12 k=3 p=1", { 0 }, { "layout set Conv \"N H W C\"" } },
    { "t2d n=1 i=8 h=6 w=6 o=16 k=4 s=2 p=1", { .threads = 2 }, { NULL } },
    { "c3d n=1 i=4 depth=4 h=6 w=6 o=8 k=3 p=1", { 0 }, { NULL } },
    { "c1d n=1 i=8 w=40 o=24 k=5 p=2 relu=1", { .last_cache = 4096 }, { NULL } },
    { "c2d n=1 i=8 h=10 w=10 o=16 k=3 p=1 relu=1", { .threads = 2 },
      { "loop reorder Conv N H W O I KH KW", "loop unroll Conv KW" } },
};

static const struct space_row gpu[] = {
    { "gmm m=33 k=20 n=17", { 0 }, { NULL } },
    { "gmm m=64 k=64 n=64 bias=1", { .shared = 16384 }, { NULL } },
    { "bmm b=2 m=16 k=8 n=24", { 0 }, { NULL } },
    { "c2d n=1 i=8 h=9 w=9 o=16 k=3 p=1 bias=1 relu=1", { 0 },
      { "set input_layout given", "layout set Ker \"KH KW I O\"", "layout set Conv \"N H W O\"",
        "layout set Inp_in \"N H W I\"" } },
    { "c2d n=2 i=8 h=8 w=8 o=8 k=3 p=1 s=2 type=f16", { 0 }, { NULL } },
    { "dep n=1 c=32 h=9 w=9 k=3 p=1", { 0 }, { NULL } },
    { "t2d n=1 i=4 h=5 w=5 o=8 k=3 s=2 p=1", { 0 }, { NULL } },
};

static void print_knob(struct str *out, const struct loop_knob *k)
{
    str_printf(out, "  %s %s", knob_kind_name[k->kind], k->name);
    if (k->parts > 0)
        str_printf(out, " %lld = %s", (long long)k->extent, k->levels);
    for (int i = 0; i < k->n_tiles; i++)
        str_printf(out, "%s%lld", i ? " " : "; tiles ", (long long)k->tile[i]);
    for (int i = 0; i < k->n_choices; i++)
        str_printf(out, "%s %s", i ? "," : ":", k->choice[i]);
    str_printf(out, " (%.0f; %d)\n", k->size, loop_knob_directions(k));
}

static void print_value(struct str *out, const struct loop_knob *k, const int64_t *v)
{
    for (int i = 0; i < k->parts; i++)
        str_printf(out, "%s%lld", i ? "x" : "", (long long)v[i]);
    if (k->parts == 0)
        str_printf(out, "%lld", (long long)v[0]);
}

static void print_values(struct str *out, const char *what, const struct loop_space *s,
                         const struct loop_point *p)
{
    str_printf(out, "  %s:", what);
    for (int k = 0; k < s->n; k++) {
        str_add_char(out, ' ');
        print_value(out, &s->knob[k], p->v[k]);
    }
    str_add(out, "\n");
}

static void print_lines(struct str *out, const struct loop_space *s, const struct loop_point *p)
{
    struct arena *a = arena_new();
    const char *const *line;
    struct err e = {0};
    int n = 0;
    if (!loop_point_lines(s, a, p, &line, &n, &e))
        str_printf(out, "    %s\n", e.text);
    for (int i = 0; i < n; i++)
        str_printf(out, "    %s\n", line[i]);
    arena_free(a);
}

/* Where each move of each knob leads from a point: ! after a value that makes it unsound, and then
 * why.  Of equal reasons one after the other, the first will do. */
static void print_moves(struct str *out, const struct loop_space *s, const struct loop_point *from)
{
    struct err said = {0};
    for (int k = 0; k < s->n; k++) {
        struct str why = {0};
        str_printf(out, "  moves of %s:", s->knob[k].name);
        for (int d = 0; d < loop_knob_directions(&s->knob[k]); d++) {
            struct loop_point p = *from;
            struct err e = {0};
            loop_point_move(s, &p, k, d);
            bool sound = loop_point_sound(s, &p, &e);
            str_add_char(out, ' ');
            print_value(out, &s->knob[k], p.v[k]);
            str_add(out, sound ? "" : "!");
            if (!sound && !streq(e.text, said.text))
                str_printf(&why, "    %s\n", e.text);
            said = sound ? said : e;
        }
        str_printf(out, "\n%s", str_text(&why));
        str_free(&why);
    }
}

static void print_space(struct str *out, const struct space_row *r, const struct target *target)
{
    struct arena *a = arena_new();
    const struct loop_space *s;
    struct loop_point p[LOOP_STARTS], q, child;
    struct loop_opts o = r->o;
    struct err e = {0};
    struct rng rng = rng_seed(7);
    int n = 0;
    while (n < MOST_LINES && r->line[n])
        n++;
    o.target = target;
    str_printf(out, "%s, %s\n", r->spec, target->isa);
    for (int i = 0; i < n; i++)
        str_printf(out, "  after %s\n", r->line[i]);
    if (!loop_space_new(a, r->spec, r->line, n, &o, &s, &e)) {
        str_printf(out, "  %s\n", e.text);
        arena_free(a);
        return;
    }
    for (int k = 0; k < s->n; k++)
        print_knob(out, &s->knob[k]);
    str_printf(out, "  %.6g points\n", s->size);
    n = loop_point_starts(s, p, LOOP_STARTS);
    for (int i = 0; i < n; i++)
        print_values(out, "start", s, &p[i]);
    print_lines(out, s, &p[0]);
    print_moves(out, s, &p[0]);
    for (int i = 0; i < DRAWN; i++) {
        loop_point_random(s, &rng, &q);
        print_values(out, "drawn", s, &q);
        print_lines(out, s, &q);
    }
    loop_point_mutate(s, &rng, &q);
    print_values(out, "neighbour", s, &q);
    loop_point_cross(s, &rng, &p[0], &q, &child);
    print_values(out, "child", s, &child);
    arena_free(a);
}

static void spaces_of_a_cpu(void **state)
{
    struct str out = {0};
    (void)state;
    for (int i = 0; i < COUNT_OF(cpu); i++)
        print_space(&out, &cpu[i], target_named("avx2"));
    golden_check("tests/golden/knobs.txt", str_text(&out));
    str_free(&out);
}

static void spaces_of_a_gpu(void **state)
{
    struct str out = {0};
    (void)state;
    for (int i = 0; i < COUNT_OF(gpu); i++)
        print_space(&out, &gpu[i], target_named("cuda"));
    golden_check("tests/golden/knobs_cuda.txt", str_text(&out));
    str_free(&out);
}

/* Numbers for agents: log2 of each factor / 16, and choices as a share of the last one. */
static void states_are_the_values(void **state)
{
    struct arena *a = arena_new();
    const struct loop_space *s;
    struct err e = {0};
    struct rng r = rng_seed(3);
    struct loop_opts o = { .target = target_named("avx2"), .threads = 2 };
    (void)state;
    assert_true(loop_space_new(a, cpu[3].spec, NULL, 0, &o, &s, &e));
    for (int round = 0; round < 20; round++) {
        struct loop_point p;
        float x[LOOP_STATE];
        int n = 0;
        loop_point_random(s, &r, &p);
        loop_point_state(s, &p, x);
        for (int k = 0; k < s->n; k++) {
            const struct loop_knob *b = &s->knob[k];
            for (int i = 0; i < b->parts; i++, n++)
                assert_true(fabs((double)x[n] - log2((double)p.v[k][i]) / 16) < 1e-6);
            if (b->parts > 0)
                continue;
            assert_true(fabs((double)x[n] - (double)p.v[k][0] / (b->n_choices - 1)) < 1e-6);
            n++;
        }
        for (; n < LOOP_STATE; n++)
            assert_true(x[n] == 0);
    }
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces_of_a_cpu), cmocka_unit_test(spaces_of_a_gpu),
        cmocka_unit_test(states_are_the_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
