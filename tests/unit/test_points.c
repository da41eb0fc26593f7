/* Schedules as points of the tuner's spaces: those of the experts for the 46 cases of SPEC Appendix
 * 1 are, over the layouts that the search itself would write; and why others are not. */
#include <stdlib.h>
#include <string.h>

#include "explorer/space/layout_space.h"
#include "explorer/space/loop_space.h"
#include "explorer/tune/tidy.h"
#include "profile/host/machine.h"
#include "sessions/file/expert_file.h"
#include "sessions/study/study.h"
#include "tests/unit/targets.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define MOST_LINES 64
#define BEST 4                            /* schedules of each case, best first */

static int layout_lines(const char *const *line, int n)
{
    int i = 0;
    while (i < n && !str_starts(line[i], "loop "))
        i++;
    return i;
}

/* Finds the schedule in the layout templates, and its loops over the lines that the template writes
 * for it.  all: these lines and those of the point. */
static bool find_point(struct arena *a, const char *spec, const struct expert_schedule *x,
                       const struct loop_opts *o, const char **all, int *n_all,
                       struct point_why *why)
{
    const struct layout_space *layouts;
    const struct loop_space *loops;
    const char *const *line;
    int64_t factor[LAYOUT_KNOBS];
    struct loop_point p;
    int n = layout_lines(x->step, x->n), m;
    struct err e;
    assert_true(layout_space_new(a, spec, NULL, 0, &(struct layout_opts){ .pad = true }, &layouts,
                                 &e));
    if (!layout_space_find(layouts, x->step, x->n, factor, why))
        return false;
    assert_true(layout_space_lines(layouts, a, factor, &line, n_all, NULL, &e));
    memcpy(all, line, (size_t)*n_all * sizeof *all);
    assert_true(loop_space_new(a, spec, all, *n_all, o, &loops, &e));
    if (!loop_point_from_lines(loops, x->step + n, x->n - n, &p, why))
        return false;
    assert_true(loop_point_lines(loops, a, &p, &line, &m, &e));
    assert_in_range(*n_all + m, 1, MOST_LINES);
    memcpy(all + *n_all, line, (size_t)m * sizeof *all);
    *n_all += m;
    return true;
}

struct tally { int best, found, total, same; };

static void check_case(const struct experts *all, const char *spec, const struct loop_opts *o,
                       struct tally *t)
{
    struct arena *a = arena_new();
    struct expert_schedule x[BEST];
    const char *line[MOST_LINES];
    struct err e;
    int n;
    if (!expert_schedules(a, all, spec, o->target, o->threads, BEST, x, &n, &e))
        fail_msg("%s: %s", spec, e.text);
    for (int i = 0; i < n; i++) {
        struct point_why why;
        int m;
        bool found = find_point(a, spec, &x[i], o, line, &m, &why);
        t->total++;
        t->found += found;
        t->best += found && i == 0;
        t->same += found && tidy_same(spec, o->target, x[i].step, x[i].n, line, m);
        if (!found)
            print_message("%s: expert %s, %s: %s (%s)\n", spec, x[i].expert->id,
                          expert_chosen_text(a, &x[i]), why.text, why.step);
    }
    arena_free(a);
}

/* Same C: but for loops of one iteration, which an expert writes and a point does not. */
static void experts_are_points(void **state)
{
    (void)state;
    static const struct { int lanes, registers, threads; } row[] = {
        { 8, 16, 1 }, { 16, 32, 2 },
    };
    struct arena *a = arena_new();
    struct machine m;
    struct experts all;
    struct study *study;
    struct err e;
    machine_read(&m);
    assert_true(expert_file_all(a, &all, &e));
    if (!study_open("alt.fig9", &study, &e))
        fail_msg("%s", e.text);
    assert_int_equal(study->n_cases, 46);
    for (int r = 0; r < COUNT_OF(row); r++) {
        struct tally t = { 0 };
        struct loop_opts o = { .target = target_with(row[r].lanes, row[r].registers),
                               .threads = row[r].threads, .last_cache = machine_last_cache(&m) };
        for (int i = 0; i < study->n_cases; i++)
            check_case(&all, study->cases[i].spec, &o, &t);
        print_message("%d lanes: %d of 46 best expert schedules are points, %d of the best %d, "
                      "%d with the same C\n", row[r].lanes, t.best, t.found, t.total, t.same);
        assert_int_equal(t.best, 46);
        assert_int_equal(t.found, t.total);
        assert_true(2 * t.same > t.total);
    }
    study_free(study);
    arena_free(a);
}

/* What a space lacks is named: the step, and the loop or tensor. */
static void reasons(void **state)
{
    (void)state;
    static const struct { const char *spec, *step, *text; const char *line[8]; } row[] = {
        { "gmm m=16 k=32 n=16", "fuse", "loop M_N is",
          { "loop fuse C M N" } },
        { "gmm m=16 k=32 n=16", "reorder", "alternate more",
          { "loop split C M 2 2 4", "loop split C K 2 2 8", "loop split C N 2 8",
            "loop reorder C M.0 K.0 M.1 K.1 N.0 K.2 M.2 N.1" } },
        { "c2d n=2 i=3 h=8 w=8 o=16 k=3", "reorder", "of O has another place",
          { "loop reorder Conv W H O N I KH KW" } },
        { "c2d n=2 i=3 h=8 w=8 o=16 k=3", "unroll", "3 iterations of KH is not marked unroll",
          { "loop unroll Conv I" } },
        { "gmm m=16 k=32 n=16", "prefetch", "B is prefetched in K, 4 ahead",
          { "loop prefetch C B at=K ahead=4" } },
        { "gmm m=16 k=32 n=16", "layout", "do not apply", { "loop split C X 4" } },
        { "gmm m=16 k=32 n=128", "limit", "innermost factor of 128",
          { "loop reorder C M K N", "loop vectorize C N" } },
        { "c2d n=4 i=3 h=8 w=8 o=16 k=3", "split", "N has no loop at level S4",
          { "loop split Conv N 2 2", "loop reorder Conv N.0 H W I KH KW O N.1" } },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        struct loop_opts o = { .target = target_with(8, 16) };
        const struct loop_space *s;
        struct point_why why;
        struct loop_point p;
        struct err e;
        int n = 0;
        while (n < COUNT_OF(row[i].line) && row[i].line[n])
            n++;
        assert_true(loop_space_new(a, row[i].spec, NULL, 0, &o, &s, &e));
        if (loop_point_from_lines(s, row[i].line, n, &p, &why))
            fail_msg("row %d is a point", i);
        if (!streq(why.step, row[i].step) || !strstr(why.text, row[i].text))
            fail_msg("row %d: %s (%s)", i, why.text, why.step);
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experts_are_points),
        cmocka_unit_test(reasons),
    };
    setenv("TILESCOPE_HOME", ".", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
