/* Random operators: the schedules of the experts, points of the spaces of layouts and loops, the
 * network of a graph, and the exported file, as recorded (digest.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/expert/expert.h"
#include "explorer/space/layout_space.h"
#include "explorer/space/loop_space.h"
#include "profile/measure/program_text.h"
#include "sessions/export/export.h"
#include "sessions/file/expert_file.h"
#include "sessions/file/session_network.h"
#include "sessions/report/network_report.h"
#include "sessions/report/report.h"
#include "tests/unit/digest.h"
#include "tests/unit/random_ops.h"
#undef fail /* ours; cmocka has its own */
#include <cmocka.h>

#define CASES 100
#define POINTS 6

enum part { PART_EXPERTS, PART_LAYOUTS, PART_LOOPS, PART_GPU, PART_SESSION, PARTS };
static const char *const part_name[PARTS] = { "experts", "layouts", "loops", "gpu", "session" };

static const char *const specs[] = {
    "gmm m=64 k=64 n=64", "gmm m=48 k=96 n=40 bias=1 relu=1", "gmm m=32 k=64 n=64 type=f16",
    "c2d i=16 h=14 w=14 o=32 k=3 p=1", "c2d i=3 h=20 w=20 o=16 k=7 s=2 p=3 bias=1 relu=1",
    "bmm b=4 m=16 k=16 n=16", "dep c=32 h=14 w=14 k=3 p=1", "t2d i=8 h=7 w=7 o=16 k=4 s=2 p=1",
    "grp g=4 i=16 h=10 w=10 o=16 k=3 p=1", "c1d i=8 w=64 o=16 k=5 p=2",
    "c3d i=4 depth=4 h=8 w=8 o=8 k=3 p=1", "dil i=8 h=14 o=16 k=3 p=2 d=2",
    "x = input n=1 i=8 h=8 w=8; a = c2d(x) o=16 k=3 p=1 relu=1; b = c2d(a) o=8 k=1; c = add(b, x)",
    "x = input m=8 k=16; a = gmm(x) n=16 relu=1; b = gmm(a) n=8; s = softmax(b); output s b",
    "x = input n=1 i=4 h=8 w=8; a = c2d(x) o=4 k=3 p=1; m = maxpool(a) k=2 s=2; r = relu(m);"
    " g = gpool(r)",
};

static void print_lines(struct str *out, const char *const *line, int n)
{
    for (int i = 0; i < n; i++)
        str_printf(out, "  %s\n", line[i]);
}

static void print_experts(struct str *out, const struct experts *all, const char *spec)
{
    static const char *const isa[] = { "avx2", "avx512", "cuda" };
    for (int i = 0; i < COUNT_OF(isa); i++) {
        struct arena *a = arena_new();
        struct expert_schedule s[3];
        struct err e = {0};
        int n = 0;
        if (!expert_schedules(a, all, spec, target_named(isa[i]), 1 + i % 2, COUNT_OF(s), s, &n,
                              &e))
            err_print(out, &e);
        for (int k = 0; k < n; k++) {
            str_printf(out, "%s %s %.6g\n", s[k].expert->id, expert_chosen_text(a, &s[k]),
                       s[k].score);
            print_lines(out, s[k].step, s[k].n);
        }
        arena_free(a);
    }
}

static void print_layouts(struct str *out, struct arena *a, const char *spec, struct rng *r)
{
    const struct layout_space *s;
    struct err e = {0};
    struct layout_opts o = { .levels = (int)rng_range(r, 1, 2) };
    o.split_k = rng_range(r, 0, 1);
    o.pad = rng_range(r, 0, 1);
    if (!layout_space_new(a, spec, NULL, 0, &o, &s, &e)) {
        err_print(out, &e);
        return;
    }
    for (int i = 0; i < s->n; i++)
        str_printf(out, "%s %s %lld %lld %d %lld %d %d\n", s->knob[i].name, s->knob[i].tensor,
                   (long long)s->knob[i].extent, (long long)s->knob[i].multiple, s->knob[i].pads,
                   (long long)s->knob[i].group, s->knob[i].inner, s->knob[i].n_divisors);
    for (int k = 0; k < POINTS; k++) {
        int64_t factor[LAYOUT_KNOBS], found[LAYOUT_KNOBS];
        float state[LAYOUT_STATE];
        const char *const *line;
        struct point_why why = {0};
        uint64_t key;
        int n;
        for (int i = 0; i < s->n; i++)
            factor[i] = layout_factor(s, i, factor, 0.01 + 0.98 * rng_unit(r));
        layout_space_state(s, factor, state);
        for (int i = 0; i < LAYOUT_STATE; i++)
            str_printf(out, "%.4g ", (double)state[i]);
        if (!layout_space_lines(s, a, factor, &line, &n, &key, &e)) {
            err_print(out, &e);
            continue;
        }
        str_printf(out, "%s\n", layout_space_family(s, a, factor));
        print_lines(out, line, n);
        str_printf(out, "%d\n", layout_space_find(s, line, n, found, &why));
    }
}

static void print_point(struct str *out, struct arena *a, const struct loop_space *s,
                        const struct loop_point *p)
{
    float state[LOOP_STATE];
    const char *const *line;
    struct loop_point found;
    struct point_why why = {0};
    struct err e = {0};
    int n;
    loop_point_state(s, p, state);
    for (int i = 0; i < LOOP_STATE; i++)
        str_printf(out, "%.4g ", (double)state[i]);
    if (!loop_point_lines(s, a, p, &line, &n, &e)) {
        err_print(out, &e);
        return;
    }
    print_lines(out, line, n);
    bool back = loop_point_from_lines(s, line, n, &found, &why);
    str_printf(out, "%d %d\n", back, back && loop_point_equal(s, p, &found));
}

static void print_loops(struct str *out, struct arena *a, const char *spec, const char *isa,
                        struct rng *r)
{
    const struct loop_space *s;
    struct loop_point p[LOOP_STARTS], x, y;
    struct err e = {0};
    struct loop_opts o = { .target = target_named(isa) };
    o.full = rng_range(r, 0, 3) == 0;     /* compilers evaluate initializers in any order */
    o.dividing = rng_range(r, 0, 3) == 0;
    o.threads = (int)rng_range(r, 1, 2);
    o.last_cache = rng_range(r, 0, 1) ? 16384 : 0;
    if (!loop_space_new(a, spec, NULL, 0, &o, &s, &e)) {
        err_print(out, &e);
        return;
    }
    for (int i = 0; i < s->n; i++)
        str_printf(out, "%s %s %lld %d %s %d %d %.6g %d\n", knob_kind_name[s->knob[i].kind],
                   s->knob[i].name, (long long)s->knob[i].extent, s->knob[i].parts,
                   s->knob[i].levels ? s->knob[i].levels : "", s->knob[i].n_tiles,
                   s->knob[i].n_choices, s->knob[i].size, loop_knob_directions(&s->knob[i]));
    int n = loop_point_starts(s, p, LOOP_STARTS);
    for (int i = 0; i < n; i++)
        print_point(out, a, s, &p[i]);
    loop_point_random(s, r, &x);
    y = p[0];
    for (int i = 0; i < POINTS; i++) {
        struct loop_point child;
        print_point(out, a, s, &x);
        loop_point_mutate(s, r, &x);
        loop_point_cross(s, r, &x, &y, &child);
        str_printf(out, "apart %d %d\n", loop_point_apart(s, &x, &y),
                   loop_point_apart(s, &x, &child));
        int knob = (int)rng_range(r, 0, s->n - 1);
        y = child;
        loop_point_move(s, &y, knob,
                        (int)rng_range(r, 0, loop_knob_directions(&s->knob[knob]) - 1));
        struct err why = {0};
        if (!loop_point_sound(s, &y, &why)) {
            err_print(out, &why);
            y = x;
        }
    }
}

static void print_session(struct str *out, struct arena *a, const char *spec)
{
    struct session *s;
    struct err e = {0};
    const struct network *net;
    const struct module *m;
    struct export_opts o = { .file = "k.c", .target = target_named("avx2") };
    if (!session_new(spec, &s, &e)) {
        err_print(out, &e);
        return;
    }
    const struct program *p = history_current(s->history)->program;
    struct measurement one = {
        .outcome = OUTCOME_OK, .verified = true, .threads = 1, .gflops = 3,
        .latency = { .median_ms = 1.5, .min_ms = 1.25, .max_ms = 2, .runs = 9 },
    };
    report_run_json(out, s, &one, METER_CLOCK, "a machine", NULL);
    if (export_c(s, &o, out, &e))
        export_command(s, &o, out, &e);
    else
        err_print(out, &e);
    if (program_text_module(p, &m, &e))
        module_print(m, out);
    if (session_is_network(s)
        && network_of_graph(a, p->base, "", 0, target_named("avx2"), 1, &net, &e))
        network_print(net, out);
    session_free(s);
}

static void digest_case(struct digests *d, const struct experts *all, int seed)
{
    struct arena *a = arena_new();
    struct rng r = rng_seed((uint64_t)seed + 500);
    struct str text[PARTS] = {{0}};
    const char *spec = seed % 4 ? random_operator(a, &r, random_family(&r))
                                : specs[rng_range(&r, 0, COUNT_OF(specs) - 1)];
    str_printf(&text[PART_SESSION], "%s\n", spec);
    print_experts(&text[PART_EXPERTS], all, spec);
    print_layouts(&text[PART_LAYOUTS], a, spec, &r);
    print_loops(&text[PART_LOOPS], a, spec, rng_range(&r, 0, 1) ? "avx2" : "avx512", &r);
    print_loops(&text[PART_GPU], a, spec, "cuda", &r);
    print_session(&text[PART_SESSION], a, spec);
    digest_add(d, arena_printf(a, "%d", seed), part_name, text, PARTS);
    arena_free(a);
}

static void test_spaces(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct digests d = {0};
    struct experts all;
    struct err e;
    if (!expert_file_all(a, &all, &e))
        fail_msg("%s", e.text);
    for (int seed = 0; seed < CASES; seed++)
        digest_case(&d, &all, seed);
    arena_free(a);
    digest_check(&d, "tests/golden/digest/spaces.txt");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_spaces) };
    setenv("TILESCOPE_HOME", ".", 0);     /* the experts of the tree */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
