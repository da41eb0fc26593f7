/* The message on the screen when a measurement of another state arrives.  It stays, unless it is
 * the result of the current state: the change in that result can be another one now. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/model_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* Returns the wanted measurement of the current state, which found this time. */
static struct app_job *wanted(struct model *m, double ms)
{
    struct desired_job w;
    assert_true(model_desired_job(m, LANE_MEASURE, &w));
    struct app_job *j = model_job(m, &w);
    j->ok = j->m.verified = true;
    j->m.outcome = OUTCOME_OK;
    j->m.latency = (struct latency){ .median_ms = ms, .min_ms = ms, .max_ms = ms, .runs = 9 };
    return j;
}

static struct app_job *timed(struct model *m, double ms)
{
    press(m, "m");
    return wanted(m, ms);
}

static void deliver(struct model *m, struct app_job *j)
{
    model_done(m, j);
    job_free(j);
}

#define SAID "measured: best 4.00 ms; the result is correct"

static void others_change_only_the_change(void **state)
{
    static const struct { bool here; const char *said, *then; } row[] = {
        { true, NULL, "measured: best 4.00 ms, change -60 %; the result is correct" },
        { true, SAID, "measured: best 4.00 ms, change -60 %; the result is correct" },
        { true, "saved x.yaml", "saved x.yaml" },
        { true, "all measured: best 4.00 ms", "all measured: best 4.00 ms" },
        { true, "", "" },
        { false, "saved x.yaml", "saved x.yaml" },
        { false, SAID, SAID },            /* of a state that was left */
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct model *m = model_on("gmm m=64 k=32 n=48");
        struct app_job *before = timed(m, 10);
        type_line(m, "loop reorder C M K N");
        if (row[i].here)
            deliver(m, timed(m, 4));
        if (row[i].here && !row[i].said)
            assert_string_equal(str_text(&m->message.text), SAID);
        if (row[i].said)
            model_info(m, "%s", row[i].said);
        deliver(m, before);
        assert_string_equal(str_text(&m->message.text), row[i].then);
        assert_true(history_state(m->session->history, 0)->measured->latency.min_ms == 10);
        model_free(m);
    }
}

/* An error keeps its place, even if it reads like a result. */
static void errors_stay(void **state)
{
    (void)state;
    struct model *m = model_on("gmm m=64 k=32 n=48");
    struct app_job *before = timed(m, 10);
    type_line(m, "loop reorder C M K N");
    deliver(m, timed(m, 4));
    model_say_error(m, "measured: best of all", "");
    deliver(m, before);
    assert_string_equal(str_text(&m->message.text), "measured: best of all");
    model_free(m);
}

/* A message on a changed step stays when a result comes: the result is added to it.  A later result
 * replaces the first, also when the time of another state changes it. */
static void results_follow_what_a_change_did(void **state)
{
    static const char *const result[] = {
        "; the result is correct; not timed: there is no time without the clock",
        "; measured: best 4.00 ms; the result is correct",
        "; measured: best 4.00 ms, change -60 %; the result is correct",
    };
    (void)state;
    struct model *m = model_on("gmm m=64 k=32 n=48");
    struct app_job *before = timed(m, 10);
    type_line(m, "loop unroll C K");
    type_line(m, "loop unroll C N");
    type_line(m, "move 1 down");
    char *did = xstrdup(str_text(&m->message.text));
    assert_string_equal(did, "1 other step replayed; u undoes this change");
    for (int i = 0; i < COUNT_OF(result); i++) {
        m->measure_wanted = m->numbers_asked = true;     /* as measuring by itself does */
        struct app_job *j = i < 2 ? wanted(m, 4) : before;
        if (i == 0)
            j->m.latency = (struct latency){0};
        deliver(m, j);
        assert_memory_equal(str_text(&m->message.text), did, strlen(did));
        assert_string_equal(str_text(&m->message.text) + strlen(did), result[i]);
    }
    free(did);
    model_free(m);
}

/* Its time is compared with the time before the change, and not with the step above. */
static void changes_are_against_what_they_changed(void **state)
{
    (void)state;
    struct model *m = model_on("gmm m=64 k=32 n=48");
    deliver(m, timed(m, 10));
    type_line(m, "loop unroll C K");
    deliver(m, timed(m, 5));
    assert_string_equal(str_text(&m->message.text),
                        "measured: best 5.00 ms, change -50 %; the result is correct");
    type_line(m, "edit 1 loop unroll C N");
    m->measure_wanted = m->numbers_asked = true;
    deliver(m, wanted(m, 4));
    assert_non_null(strstr(str_text(&m->message.text),
                           "; measured: best 4.00 ms, by this change -20 %; the result is"));
    press(m, "m");                                       /* a message of its own: the step above */
    deliver(m, wanted(m, 3.9));
    assert_non_null(strstr(str_text(&m->message.text), "best 3.90 ms, change -61 %"));
    model_free(m);
}

/* The note on another contract compares with the state that the user left. */
static void contracts_are_against_what_was_left(void **state)
{
    (void)state;
    static const struct { const char *line, *contract; } rows[] = {
        { "layout set C \"N M\"", "other contract: C leaves as NM" }, { "branch other", NULL },
        { "switch main", NULL }, { "loop unroll C K", NULL }, { "undo", NULL },
        { "goto 0", "other contract: C leaves as MN" },
        { "goto 1", "other contract: C leaves as NM" },
    };
    struct model *m = model_on("gmm m=64 k=32 n=48");
    for (int i = 0; i < COUNT_OF(rows); i++) {
        type_line(m, rows[i].line);
        const char *said = strstr(str_text(&m->message.text), "other contract");
        if (rows[i].contract ? !said || !str_starts(said, rows[i].contract) : said != NULL)
            fail_msg("%s says %s", rows[i].line, str_text(&m->message.text));
    }
    deliver(m, timed(m, 4));                             /* measuring moves nowhere */
    assert_non_null(strstr(str_text(&m->message.text), "other contract: C leaves as NM"));
    model_free(m);
}

/* A step that changes nothing says so before it is run, and when it is run again. */
static void steps_without_effect_say_so(void **state)
{
    (void)state;
    struct model *m = model_on("gmm m=64 k=32 n=48");
    for (int i = 0; i < 2; i++) {
        press(m, ": set Space input_layout Space given");
        assert_shows(m, "So far the setting changes nothing:");
        press(m, "Enter");
        assert_non_null(strstr(str_text(&m->message.text), "so far the setting changes nothing"));
        type_line(m, "undo");
    }
    type_line(m, "loop unroll C K");
    type_line(m, "loop unroll C K");
    assert_non_null(strstr(str_text(&m->message.text), "the step changes nothing"));
    type_line(m, "branch other");
    type_line(m, "switch main");
    type_line(m, "undo");
    type_line(m, "switch other");                        /* is no step */
    assert_null(strstr(str_text(&m->message.text), "changes nothing"));
    press(m, ": loop Space unroll Space C Space N");
    assert_hides(m, "changes nothing");
    model_free(m);
    m = model_on("c2d n=1 i=8 h=8 w=8 o=8 k=3 p=1 relu=1");
    type_line(m, "layout set Conv \"N H W O\"");
    press(m, ": layout Space reset Space ReLU");
    assert_shows(m, "ReLU takes the layout of Conv");
    model_free(m);
}

/* And what else there is to say about the new state. */
static void changes_have_their_notes(void **state)
{
    (void)state;
    struct model *m = model_on("c2d i=4 h=8 w=8 o=4 k=3");
    m->cores = 2;
    type_line(m, "loop unroll Conv KW");
    type_line(m, "edit 1 loop parallel Conv O");
    assert_non_null(strstr(str_text(&m->message.text), "parallel, but measuring with 1 thread"));
    type_line(m, "edit 1 layout unfold Conv H tile=4 stride=2");
    assert_non_null(strstr(str_text(&m->message.text), "times: tiles overlap"));
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_change_only_the_change), cmocka_unit_test(errors_stay),
        cmocka_unit_test(results_follow_what_a_change_did),
        cmocka_unit_test(changes_are_against_what_they_changed),
        cmocka_unit_test(contracts_are_against_what_was_left),
        cmocka_unit_test(steps_without_effect_say_so), cmocka_unit_test(changes_have_their_notes),
    };
    return cmocka_run_group_tests(tests, set_up_folders, NULL);
}
