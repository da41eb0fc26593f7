/* Experts on the screen: the command and its key, branches, hints, completion, help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "explorer/expert/expert.h"
#include "tests/unit/model_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define GMM "gmm m=64 k=32 n=64 bias=1"
#define SOFTMAX "softmax m=4 n=8"

/* The current branch is the bare operator and then the number-th schedule, and stands at its
 * end. */
static void assert_is_schedule(struct model *m, int number)
{
    struct arena *a = arena_new();
    const struct history *h = m->session->history;
    struct expert_schedule s[EXPERTS_MOST];
    const struct program *p;
    struct err e;
    int n, bad, len, at;
    if (!model_experts(m, a, number, s, &n, &e))
        fail_msg("%s", e.text);
    assert_int_equal(n, number);
    assert_true(program_replay(a, GMM, s[number - 1].step, s[number - 1].n, &p, &bad, &e));
    const int *path = history_path(h, history_branch_index(h), &len, &at);
    assert_int_equal(at, len - 1);
    assert_int_equal(at, p->n_steps);
    assert_true(at > 3);
    for (int i = 0; i < at; i++)
        assert_string_equal(history_state(h, path[i + 1])->step, p->steps[i]);
    arena_free(a);
}

static const char *branch_of(const struct model *m)
{
    const struct history *h = m->session->history;
    return history_branch(h, history_branch_index(h))->name;
}

/* A schedule without steps is a branch without steps, also beside a branch with some. */
static void a_plain_schedule_has_a_branch(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct history *h = m->session->history;
    struct arena *a = arena_new();
    const struct program *plain;
    struct err e;
    int bad, n, at;
    assert_true(program_replay(a, GMM, NULL, 0, &plain, &bad, &e));
    type_line(m, "loop unroll C M");
    assert_true(model_enter(m, plain, "trial-1", false, &e));
    assert_string_equal(branch_of(m), "trial-1");
    history_path(h, history_branch_index(h), &n, &at);
    assert_true(n == 1 && at == 0);
    type_line(m, "switch main");
    history_path(h, history_branch_index(h), &n, &at);
    assert_true(n == 2 && at == 1);
    assert_true(model_enter(m, plain, "trial-1", false, &e));
    assert_string_equal(branch_of(m), "trial-1");        /* no second one */
    assert_int_equal(history_n_branches(h), 2);
    arena_free(a);
    model_free(m);
}

static void steps_one_by_one(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "X");
    assert_string_equal(branch_of(m), "main");
    assert_shows(m, "steps on branch main");
    assert_shows(m, "(not saved)");
    assert_is_schedule(m, 1);
    int states = history_n_states(m->session->history), undone = 0;
    int end = history_current(m->session->history)->id;
    for (; history_current(m->session->history)->id != 0; undone++)
        press(m, "u");
    assert_int_equal(undone, states - 1);
    press(m, "X");                        /* the steps are there: nothing new */
    assert_int_equal(history_current(m->session->history)->id, end);
    assert_int_equal(history_n_states(m->session->history), states);
    press(m, "u u X");
    assert_int_equal(history_current(m->session->history)->id, end);
    assert_int_equal(history_n_branches(m->session->history), 1);
    model_free(m);
}

static void own_work_stays(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    const struct history *h = m->session->history;
    press(m, "p");
    int mine = history_current(h)->id;
    press(m, "X");
    assert_string_equal(branch_of(m), "expert");
    assert_shows(m, "Steps: expert");
    assert_is_schedule(m, 1);
    press(m, "02X");
    assert_string_equal(branch_of(m), "expert-2");
    assert_is_schedule(m, 2);
    press(m, ": expert Enter");
    assert_string_equal(branch_of(m), "expert");
    assert_int_equal(history_n_branches(h), 3);
    press(m, ": switch Space main Enter");
    assert_int_equal(history_current(h)->id, mine);
    model_free(m);
}

/* Bare by undoing: measured steps are kept as behind any step that is typed there. */
static void measured_steps_stay(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    const struct history *h = m->session->history;
    struct measurement r = { .outcome = OUTCOME_OK, .verified = true, .threads = 1,
                             .latency = { .median_ms = 2, .min_ms = 1, .max_ms = 3, .runs = 5 } };
    press(m, "p");
    int mine = history_current(h)->id;
    history_set_measured(m->session->history, mine, &r);
    press(m, "u X");
    assert_string_equal(branch_of(m), "main");
    assert_is_schedule(m, 1);
    assert_int_equal(history_n_branches(h), 2);
    assert_int_equal(history_branch(h, 1)->tip, mine);
    model_free(m);
}

static bool has_parallel(const struct model *m)
{
    const struct program *p = model_program(m);
    for (int i = 0; i < p->n_steps; i++)
        if (str_starts(p->steps[i], "loop parallel"))
            return true;
    return false;
}

static void threads_of_the_session(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "X");
    assert_false(has_parallel(m));
    press(m, ": threads Space 2 Enter X");
    assert_true(has_parallel(m));
    assert_is_schedule(m, 1);
    model_free(m);
}

static bool has_algorithm(const struct model *m)
{
    return model_program(m)->n_algorithms > 0;
}

/* Whether one of the schedules that X offers computes the convolution by another algorithm. */
static bool offers_algorithm(const struct model *m, int *number)
{
    struct arena *a = arena_new();
    struct expert_schedule s[EXPERTS_MOST];
    struct err e;
    int n;
    bool offers = false;
    assert_true(model_experts(m, a, EXPERTS_MOST, s, &n, &e));
    for (int i = 0; i < n && !offers; i++) {
        for (int k = 0; k < s[i].n; k++)
            offers = offers || str_starts(s[i].step[k], "algorithm");
        *number = i + 1;
    }
    arena_free(a);
    return offers;
}

static void accuracy_of_the_session(void **state)
{
    (void)state;
    struct model *m = model_on("c2d n=1 i=64 h=28 w=28 o=64 k=3 p=1");
    char line[32];
    int number;
    assert_false(offers_algorithm(m, &number));
    m->session->accuracy = 1e-5;
    assert_true(offers_algorithm(m, &number));
    m->session->accuracy = 0;
    press(m, ": set Space accuracy Space 1e-5 Enter");
    assert_true(offers_algorithm(m, &number));
    snprintf(line, sizeof line, "expert %d", number);
    assert_true(model_run(m, line));
    assert_true(has_algorithm(m));
    assert_true(offers_algorithm(m, &number));           /* the new branch has the setting, too */
    press(m, "Esc : set Space accuracy Space 1e-9 Enter");
    assert_int_equal(m->message.kind, MESSAGE_ERROR);
    struct desired_job w;
    press(m, "Esc t");
    assert_shows(m, "searching direct loops, which are seldom");
    assert_true(m->tuner.out);
    assert_true(model_desired_job(m, LANE_TUNE, &w));
    struct app_job *j = model_job(m, &w);
    assert_true(j->accuracy > 0 && j->tune.experts > TUNING_EXPERTS);
    job_free(j);
    model_free(m);
    m = model_on("c2d n=1 i=64 h=28 w=28 o=64 k=3 p=1");
    press(m, ": set Space accuracy Space 1e-6 Enter");
    assert_false(model_run(m, "algorithm Conv winograd m=4"));
    assert_shows(m, "use m=2, or apply: set accuracy");
    assert_false(model_run(m, "algorithm"));
    assert_shows(m, "algorithm T winograd m=2|4");
    model_free(m);
}

static const struct { const char *spec, *keys, *says; } refused[] = {
    { SOFTMAX, ": expert Space 2 Enter", "there is only 1 expert schedule" },
    { GMM, ": expert Space 0 Enter", "an expert schedule has a number" },
    { GMM, ": expert Space 65 Enter", "an expert schedule has a number" },
    { GMM, ": expert Space best Enter", "an expert schedule has a number" },
    { "gmm m=1 k=2 n=32", ": expert Space 64 Enter", "there are only" },
    { NULL, ": expert Enter", "no operator is open yet" },
};

static void refusals_change_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(refused); i++) {
        struct model *m = model_on(refused[i].spec);
        press(m, refused[i].keys);
        assert_shows(m, refused[i].says);
        assert_int_equal(m->message.kind, MESSAGE_ERROR);
        if (m->session) {
            assert_int_equal(history_n_states(m->session->history), 1);
            assert_false(m->session->dirty);
        }
        model_free(m);
    }
}

static void an_installation_without_experts_says_so(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    char *home = xstrdup(getenv("TILESCOPE_HOME"));
    setenv("TILESCOPE_HOME", "/nowhere", 1);
    assert_false(model_run(m, "expert"));
    setenv("TILESCOPE_HOME", home, 1);
    assert_int_equal(m->message.kind, MESSAGE_ERROR);
    assert_string_equal(str_text(&m->message.text), "the folder of the experts is missing from "
                                                    "the installation");
    assert_int_equal(history_n_states(m->session->history), 1);
    assert_true(model_run(m, "expert"));
    free(home);
    model_free(m);
}

static void hints_where_there_is_one(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    assert_shows(m, "X (:expert) gives a good schedule");
    press(m, ": new Space softmax Space m=4 Space n=8 Enter");
    assert_hides(m, ":expert");
    assert_shows(m, "press : and type a step");
    model_free(m);
    m = model_on(NULL);
    int with = 0, without = 0;
    for (int i = 0; i < 80; i++) {
        const struct line *l = doc_at(&m->pane[DOC_START].doc, &m->pane[DOC_START].scroll);
        bool said = strstr(screen_of(m), "Then X: a good schedule.");
        with += said && strstr(l->text, "convolution");
        without += !said && strstr(l->text, "softmax");
        press(m, "j");
    }
    assert_true(with >= 5 && without >= 1);
    model_free(m);
}

static void prompt_and_help_know_it(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, ": exper Tab");
    assert_shows(m, ":expert");
    press(m, "Space Tab");
    assert_shows(m, "matmul, nv=");
    press(m, "Esc Esc ? sched");
    assert_shows(m, "apply an expert schedule as steps");
    press(m, "Esc : help Space experts Enter");
    assert_shows(m, "Help: experts");
    assert_shows(m, "conv1d, for c1d");
    press(m, "End");
    assert_shows(m, "Transposed 3-D");
    model_free(m);
}

static int set_up(void **state)
{
    (void)state;
    char here[4096];
    if (!getcwd(here, sizeof here))
        return -1;
    setenv("TILESCOPE_HOME", here, 0);
    private_folders();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_schedule_has_a_branch),
        cmocka_unit_test(steps_one_by_one), cmocka_unit_test(own_work_stays),
        cmocka_unit_test(measured_steps_stay), cmocka_unit_test(threads_of_the_session),
        cmocka_unit_test(accuracy_of_the_session),
        cmocka_unit_test(refusals_change_nothing),
        cmocka_unit_test(an_installation_without_experts_says_so),
        cmocka_unit_test(hints_where_there_is_one),
        cmocka_unit_test(prompt_and_help_know_it),
    };
    return cmocka_run_group_tests_name("expertscreen", tests, set_up, NULL);
}
