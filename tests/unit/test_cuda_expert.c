/* Experts for CUDA: of every operator one compiles without stack, and the host twin finds it right
 * and free of races.  A table is printed.  $CUDA_EXPERTS is how many schedules of each operator the
 * suite tries, on the larger sizes as well (make test-cuda). */
/* tests/run.sh: takes 15 s */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/expert/simulated.h"
#include "profile/build/nvrtc.h"
#include "sessions/file/expert_file.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define MOST 16

/* LARGE: only with $CUDA_EXPERTS.  TF32: with an accuracy that suffices for it. */
enum { SMALL, LARGE, TF32 };
static const struct { const char *spec; unsigned how; } row[] = {
    /* Sizes that no tile divides. */
    { "gmm m=33 k=20 n=17", SMALL }, { "gmm m=1 k=16 n=32 bias=1", SMALL },
    { "c2d n=1 i=5 h=9 w=9 o=10 k=3 s=2 p=1 bias=1 relu=1", SMALL },
    { "c2d n=1 i=6 h=7 w=8 o=12 k=1", SMALL }, { "grp n=1 i=8 h=7 w=7 o=8 k=3 p=1 g=2", SMALL },
    { "grp n=2 i=12 h=6 w=6 o=60 k=3 s=2 p=1 g=3", SMALL },
    { "dil n=1 i=4 h=9 w=9 o=6 k=3 p=2 d=2", SMALL },
    { "dep n=1 c=6 h=9 w=9 k=3 p=1 relu=1", SMALL }, { "dep n=2 c=40 h=9 w=9 k=3 s=2 p=1", SMALL },
    { "c1d n=2 i=4 w=19 o=6 k=3 s=2 p=1", SMALL },
    { "c3d n=1 i=3 depth=4 h=5 w=5 o=6 k=3 p=1", SMALL },
    { "t2d n=1 i=4 h=5 w=5 o=6 k=3 s=2 p=1", SMALL },
    { "t3d n=1 i=2 depth=3 h=4 w=4 o=4 k=3 s=2 p=1", SMALL },
    /* As in Appendix 1 of ALT, in every type that sums in float32. */
    { "gmm m=512 k=64 n=256", LARGE }, { "gmm m=256 k=64 n=256 type=f16", SMALL },
    { "gmm m=256 k=64 n=256 type=bf16", LARGE },
    { "c2d n=1 i=16 h=14 w=14 o=64 k=3 p=1", LARGE },
    { "c2d n=1 i=16 h=14 w=14 o=64 k=3 p=1 type=f16", LARGE },
    { "c2d n=1 i=16 h=14 w=14 o=64 k=3 p=1 type=bf16", LARGE },
    { "grp n=1 i=64 h=14 w=14 o=128 k=3 p=1 g=4", LARGE },
    { "grp n=1 i=64 h=14 w=14 o=128 k=3 p=1 g=4 type=f16", LARGE },
    { "grp n=1 i=64 h=14 w=14 o=128 k=3 p=1 g=4 type=bf16", SMALL },
    { "dep n=1 c=64 h=28 w=28 k=3 p=1", LARGE },
    { "dep n=1 c=64 h=28 w=28 k=3 p=1 type=f16", SMALL },
    { "dep n=1 c=64 h=28 w=28 k=3 p=1 type=bf16", SMALL },
    { "dil n=1 i=16 h=14 w=14 o=64 k=3 p=2 d=2", LARGE },
    { "c1d n=1 i=16 w=128 o=512 k=3 s=2 p=1", LARGE },
    { "c3d n=1 i=16 depth=4 h=7 w=7 o=32 k=3 p=1", LARGE },
    { "t2d n=1 i=16 h=7 w=7 o=64 k=4 s=2 p=1", SMALL },
    { "t3d n=1 i=8 depth=4 h=7 w=7 o=16 k=3 s=2 p=1", LARGE },
    /* On tensor cores. */
    { "gmm m=64 k=32 n=128 bias=1 relu=1 type=bf16", SMALL },
    { "bmm b=3 m=64 k=32 n=32 type=f16", SMALL }, { "bmm b=2 m=32 k=64 n=64 type=bf16", SMALL },
    { "c2d n=1 i=32 h=8 w=16 o=64 k=3 p=1 bias=1 type=f16", SMALL },
    { "c2d n=1 i=16 h=15 w=15 o=32 k=3 s=2 p=1 type=bf16", SMALL },
    { "grp n=1 i=64 h=8 w=8 o=64 k=3 p=1 g=4 type=f16", SMALL },
    { "dil n=2 i=16 h=8 w=8 o=32 k=3 p=2 d=2 type=f16", SMALL },
    { "c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1 type=f16", LARGE },
    { "gmm m=512 k=512 n=512 type=f16", LARGE },
    /* The same in tf32. */
    { "gmm m=64 k=32 n=128 bias=1 relu=1", TF32 },
    { "gmm m=128 k=256 n=128", TF32 }, { "bmm b=3 m=64 k=32 n=32", TF32 },
    { "c2d n=1 i=32 h=8 w=16 o=64 k=3 p=1 bias=1", TF32 },
    { "c2d n=1 i=8 h=15 w=15 o=32 k=3 s=2 p=1", TF32 },
    { "grp n=1 i=32 h=8 w=8 o=64 k=3 p=1 g=4", TF32 },
    { "dil n=2 i=16 h=8 w=8 o=32 k=3 p=2 d=2", TF32 },
    { "c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1", LARGE | TF32 },
    { "gmm m=512 k=512 n=512", LARGE | TF32 },
    /* Blocks that overrun. */
    { "gmm m=33 k=20 n=17 bias=1 type=f16", SMALL }, { "gmm m=130 k=72 n=200", TF32 },
    { "c2d n=1 i=64 h=7 w=7 o=64 k=3 p=1 relu=1 type=f16", SMALL },
    { "c2d n=2 i=16 h=7 w=9 o=32 k=1 type=bf16", SMALL },
    { "grp n=1 i=64 h=9 w=9 o=64 k=3 p=1 g=2", TF32 },
    { "c2d n=1 i=16 h=7 w=7 o=512 k=3 s=2 p=1", LARGE }, { "gmm m=512 k=256 n=256", LARGE },
    { "grp n=1 i=512 h=28 w=28 o=1280 g=4 k=5 s=2 p=2", LARGE },
    { "dep n=1 c=1280 h=56 w=56 k=1 s=2", LARGE },
    { "dil n=16 i=16 h=7 w=7 o=16 k=5 s=2 p=6 d=3", LARGE },
    { "c1d n=1 i=64 w=256 o=1280 k=7 s=2 p=3", LARGE },
    { "c3d n=1 i=32 depth=8 h=14 w=14 o=64 k=5 s=1 p=2", LARGE },
    { "t2d n=1 i=16 h=7 w=7 o=512 k=4 s=2 p=1", LARGE },
    { "t3d n=1 i=32 depth=8 h=7 w=7 o=16 k=3 s=2 p=1", LARGE },
};

static int asked(void)
{
    const char *n = getenv("CUDA_EXPERTS");
    return n ? atoi(n) : 0;
}

/* All nine operators have a row in f32, GEMM and three convolutions in f16 and bf16 too, and what
 * tensor cores multiply in tf32, that runs without being asked for. */
static void the_table_is_complete(void **state)
{
    static const struct { const char *op, *types; } of[] = {
        { "gmm", " f32 f16 bf16 tf32" }, { "c2d", " f32 f16 bf16 tf32" },
        { "grp", " f32 f16 bf16 tf32" }, { "dep", " f32 f16 bf16" }, { "dil", " f32 tf32" },
        { "c1d", " f32" }, { "c3d", " f32" }, { "t2d", " f32" }, { "t3d", " f32" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(of); i++) {
        struct arena *a = arena_new();
        for (const char *t = of[i].types; *t; t += strcspn(t + 1, " ") + 1) {
            const char *type = arena_printf(a, "%.*s", (int)strcspn(t + 1, " "), t + 1);
            bool tf32 = streq(type, "tf32"), found = false;
            for (int k = 0; k < COUNT_OF(row) && !found; k++) {
                const char *of_row = strstr(row[k].spec, "type=");
                found = !(row[k].how & LARGE) && str_starts(row[k].spec, of[i].op)
                     && streq(of_row ? of_row + 5 : "f32", tf32 ? "f32" : type)
                     && tf32 == ((row[k].how & TF32) > 0);
            }
            if (!found)
                fail_msg("no row for %s in %s", of[i].op, type);
        }
        arena_free(a);
    }
}

/* Adds up what the simulator counts at the sites of global and shared memory. */
static void print_row(const char *spec, bool tf32, const struct expert_schedule *s,
                      const struct expert_rating *r, const struct sim_result *sim)
{
    double sectors = 0, conflicts = 0;
    for (int i = 0; i < sim->n_sites; i++) {
        sectors += (double)sim->site[i].cost.sectors;
        conflicts += (double)sim->site[i].cost.bank_conflicts;
    }
    print_message("%-52s %-4s %-18s %3d %6lld %4.0f%% %3lld %9.3g %9.3g\n", spec,
                  tf32 ? "tf32" : "", s->expert->id, r->registers, (long long)r->shared,
                  100 * r->occupancy, (long long)r->stack, sectors, conflicts);
}

/* Compiles, simulates and verifies a schedule. */
static void check(const char *spec, const struct expert_schedule *s)
{
    struct arena *a = arena_new();
    const struct program *p;
    struct measure_opts o = { .meters = METER_CLOCK | METER_SIM, .seed = 3, .limit_s = 60,
                              .sim_budget = 1e5 };
    struct gpu_memory_opts go = { .budget = 1e5 };
    struct expert_rating r;
    struct measurement m;
    struct err e = {0};
    int bad;
    if (!s->expert->target)
        fail_msg("%s: no expert for CUDA", spec);
    assert_string_equal(s->expert->target, "cuda");
    if (!program_replay(a, spec, s->step, s->n, &p, &bad, &e))
        fail_msg("%s, expert %s, step %d: %s", spec, s->expert->id, bad, e.text);
    assert_true(program_is_bound(p));
    if (!expert_rate(p, &go, NULL, &r, &e))
        fail_msg("%s, %s: %s", spec, expert_chosen_text(a, s), e.text);
    if (!measure_program(p, &o, NULL, NULL, &m, &e) || !m.verified)
        fail_msg("%s, expert %s, %s: %s%s", spec, s->expert->id, expert_chosen_text(a, s), e.text,
                 m.reason);
    print_row(spec, p->tf32, s, &r, &m.sim);
    if (r.stack != 0)
        fail_msg("%s, %s: %lld bytes of stack", spec, expert_chosen_text(a, s), (long long)r.stack);
    assert_true(r.cost.ns > 0 && (!r.compiled || (r.registers > 0 && r.occupancy > 0)));
    assert_true(m.latency.runs == 0 && m.sim.available);
    arena_free(a);
}

static void every_operator_has_one_that_is_right(void **state)
{
    (void)state;
    struct err e;
    int most = asked();
    print_message("%-52s %-4s %-18s %3s %6s %5s %3s %9s %9s (simulated)\n", "operator", "",
                  "expert", "reg", "shared", "occup", "stk", "sectors", "conflicts");
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct experts all;
        struct expert_schedule s[MOST];
        int n;
        if ((row[i].how & LARGE) && most == 0)
            continue;
        struct arena *a = arena_new();
        assert_true(expert_file_all(a, &all, &e));
        all.accuracy = row[i].how & TF32 ? 1e-3 : 0;
        if (!expert_schedules(a, &all, row[i].spec, target_named("cuda"), 1,
                              most > 0 && most < MOST ? most : 1, s, &n, &e))
            fail_msg("%s: %s (%s)", row[i].spec, e.text, e.fix);
        assert_true(n > 0);
        for (int k = 0; k < n; k++)
            check(row[i].spec, &s[k]);
        arena_free(a);
    }
}

/* Tensor cores are chosen where the channels divide and the type or the accuracy allows it, and
 * nowhere else. */
static void tensor_cores_are_chosen(void **state)
{
    static const struct { const char *spec; bool tensor; double accuracy; } of[] = {
        { "gmm m=256 k=64 n=256 type=f16", true, 0 }, { "gmm m=256 k=64 n=256", false, 0 },
        { "gmm m=256 k=64 n=256", false, 1e-4 }, { "gmm m=256 k=64 n=256", true, 1e-3 },
        { "gmm m=250 k=64 n=256 type=f16", true, 0 },
        { "bmm b=2 m=32 k=16 n=16 type=bf16", true, 0 },
        { "c2d n=1 i=16 h=8 w=8 o=16 k=3 p=1 type=bf16", true, 0 },
        { "c2d n=1 i=8 h=8 w=8 o=16 k=3 p=1 type=bf16", false, 0 },
        { "c2d n=1 i=8 h=8 w=8 o=16 k=3 p=1", true, 1e-3 },
        { "c2d n=1 i=16 h=7 w=7 o=16 k=3 p=1 type=bf16", true, 0 },
        { "grp n=1 i=64 h=8 w=8 o=64 k=3 p=1 g=8 type=f16", false, 0 },
        { "dep n=1 c=64 h=16 w=16 k=3 p=1 type=f16", false, 1e-3 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(of); i++) {
        struct arena *a = arena_new();
        struct experts all;
        struct expert_schedule s;
        struct err e;
        bool tensor = false;
        int n;
        assert_true(expert_file_all(a, &all, &e));
        all.accuracy = of[i].accuracy;
        assert_true(expert_schedules(a, &all, of[i].spec, target_named("cuda"), 1, 1, &s, &n, &e));
        for (int k = 0; k < s.n; k++)
            tensor = tensor || str_starts(s.step[k], "loop tensorize");
        if (tensor != of[i].tensor)
            fail_msg("%s: expert %s", of[i].spec, s.expert ? s.expert->id : "none");
        arena_free(a);
    }
}

/* A CPU is offered no expert for CUDA, and a GPU none for CPUs. */
static void the_target_decides(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct experts all;
    struct expert_schedule s[MOST];
    struct err e;
    int n;
    assert_true(expert_file_all(a, &all, &e));
    assert_true(experts_for(&all, "gmm", NULL) && experts_for(&all, "gmm", target_named("cuda")));
    assert_true(experts_for(&all, "maxpool", NULL));
    assert_false(experts_for(&all, "maxpool", target_named("cuda")));
    assert_true(expert_schedules(a, &all, "gmm m=64 k=64 n=64", NULL, 1, MOST, s, &n, &e));
    for (int i = 0; i < n; i++)
        assert_null(s[i].expert->target);
    assert_true(n > 0);
    arena_free(a);
}

/* What no expert knows has a thread for each element. */
static void the_rest_is_bound_as_well(void **state)
{
    static const char *const spec[] = {
        "softmax m=5 n=40", "maxpool n=1 c=20 h=9 w=9 k=3 p=1",
        "A = input m=6 k=5; B = const k=5 n=32; C = gmm(A, B) n=32; S = softmax(C) axis=1",
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(spec); i++) {
        struct arena *a = arena_new();
        struct experts all;
        struct expert_schedule s;
        const struct program *p;
        struct measure_opts o = { .meters = METER_CLOCK, .seed = 3 };
        struct measurement m;
        struct err e = {0};
        int n, bad;
        assert_true(expert_file_all(a, &all, &e));
        if (!expert_schedules(a, &all, spec[i], target_named("cuda"), 1, 1, &s, &n, &e))
            fail_msg("%s: %s", spec[i], e.text);
        assert_true(program_replay(a, spec[i], s.step, s.n, &p, &bad, &e));
        assert_true(program_is_bound(p));
        for (int k = 0; k < p->graph->n_nodes; k++)
            assert_true(p->stage[k]->inlined || p->stage[k]->attach >= 0
                        || loop_is_bound(p->stage[k]->axis[0].ann));
        if (!measure_program(p, &o, NULL, NULL, &m, &e) || !m.verified)
            fail_msg("%s: %s%s", spec[i], e.text, m.reason);
        arena_free(a);
    }
}

/* The least of simulated times wins, whatever the order. */
static void the_search_takes_the_least(void **state)
{
    static const char spec[] = "gmm m=256 k=64 n=256";
    (void)state;
    struct arena *a = arena_new();
    struct experts all;
    struct expert_schedule s[4];
    struct gpu_memory_opts o = { .budget = 1e5 };
    struct expert_rating best, one;
    struct err e = {0};
    int n, at;
    assert_true(expert_file_all(a, &all, &e));
    assert_true(expert_schedules(a, &all, spec, target_named("cuda"), 1, 4, s, &n, &e));
    assert_true(n == 4 && expert_least_simulated(spec, s, n, &o, NULL, NULL, &at, &best, &e));
    for (int i = 0; i < n; i++) {
        const struct program *p;
        int bad;
        assert_true(program_replay(a, spec, s[i].step, s[i].n, &p, &bad, &e));
        assert_true(expert_rate(p, &o, NULL, &one, &e));
        assert_true(i == at ? one.ns == best.ns
                            : one.stack > 0 || one.ns >= best.ns);
    }
    const struct cancel stop = { .raised = 1 };
    assert_false(expert_least_simulated(spec, s, n, &o, NULL, &stop, &at, &best, &e));
    assert_int_equal(e.code, ERR_CANCEL);
    arena_free(a);
}

int main(void)
{
    setenv("TILESCOPE_CFLAGS", "-O0", 0);  /* what is checked does not depend on gcc's work */
    setenv("TILESCOPE_HOME", ".", 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_complete),
        cmocka_unit_test(every_operator_has_one_that_is_right),
        cmocka_unit_test(tensor_cores_are_chosen), cmocka_unit_test(the_target_decides),
        cmocka_unit_test(the_rest_is_bound_as_well), cmocka_unit_test(the_search_takes_the_least),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
