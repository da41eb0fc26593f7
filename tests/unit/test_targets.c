/* A target is a row and a printer: here one that target.def does not have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "explorer/tune/tidy.h"
#include "kernels/gen/gen_impl.h"
#include "profile/measure/measure.h"
#include "profile/measure/program_text.h"
#include "tests/unit/run_program.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* Its code is C with a line of its own above. */
static void print_scalar(struct unit *u, struct str *out)
{
    str_add(out, "/* For the scalar target. */\n");
    code_print_c(u, out);
}

/* Plain C on one core: no vectors, no threads. */
static struct target scalar(void)
{
    struct target t = *target_named("plain");
    t.isa = "scalar";
    t.annotations = 1u << LOOP_SERIAL | 1u << LOOP_UNROLL;
    t.print = print_scalar;
    return t;
}

static const char spec[] = "gmm m=12 k=20 n=16";
static const char *const serial[] = {
    "loop split C M 3 4", "loop reorder C M.0 N K M.1", "loop unroll C M.1",
};

static void a_kernel_for_it_is_right(void **state)
{
    const struct target t = scalar();
    struct measure_opts o = { .meters = METER_CLOCK | METER_SIM, .time_s = 0.01, .seed = 3,
                              .target = &t };
    struct arena *a = arena_new();
    const struct program *p;
    struct measurement m;
    struct str c = {0};
    struct err e = {0};
    int bad;
    (void)state;
    assert_true(program_replay(a, spec, serial, COUNT_OF(serial), &p, &bad, &e));
    if (!measure_program(p, &o, NULL, NULL, &m, &e))
        fail_msg("%s", e.text);
    assert_true(m.verified && m.sim.available && m.latency.runs > 0);
    assert_string_equal(m.isa, "scalar");
    assert_true(program_text_c(p, &t, &c, &e));
    assert_non_null(strstr(str_text(&c), "For the scalar target."));
    assert_null(strstr(str_text(&c), "vector_size"));
    str_free(&c);
    arena_free(a);
}

static void what_its_loops_cannot_be_is_refused(void **state)
{
    static const struct { const char *step, *text; } row[] = {
        { "loop parallel C M", "loop M is marked parallel, and scalar code has no such loops" },
        { "loop vectorize C N", "loop N is marked vectorize, and scalar code has no such loops" },
    };
    const struct target t = scalar();
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        const struct program *p;
        struct measure_opts o = { .target = &t };
        struct measurement m;
        struct str c = {0};
        struct err e = {0};
        int bad;
        const char *reorder[] = { "loop reorder C M K N", row[i].step };
        assert_true(program_replay(a, spec, reorder, 2, &p, &bad, &e));
        assert_false(program_text_c(p, &t, &c, &e));
        assert_int_equal(e.code, ERR_STEP);
        assert_string_equal(e.text, row[i].text);
        assert_true(measure_program(p, &o, NULL, NULL, &m, &e));
        assert_int_equal(m.outcome, OUTCOME_LIMIT);
        assert_false(m.verified);
        str_free(&c);
        arena_free(a);
    }
}

/* Without vectors, vectorizing changes nothing. */
static void schedules_are_tidied_for_their_target(void **state)
{
    static const char *const line[] = { "loop reorder C M K N", "loop vectorize C N" };
    static const struct { const char *isa; int n; } row[] = { { "plain", 1 }, { "sse", 2 } };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        const struct target *t = target_named(row[i].isa);
        const char *const *kept;
        struct err e;
        int n;
        assert_true(tidy_lines(a, spec, t, line, 2, &kept, &n, &e));
        assert_int_equal(n, row[i].n);
        assert_int_equal(tidy_same(spec, t, line, 2, line, 1), row[i].n == 1);
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_for_it_is_right),
        cmocka_unit_test(what_its_loops_cannot_be_is_refused),
        cmocka_unit_test(schedules_are_tidied_for_their_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
