/* The file of training workloads, and the file of weights. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "sessions/tuning/pretrain.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define COUNT(a) ((int)(sizeof (a) / sizeof *(a)))
#define HEAD "pretrain: 1\nbudget: 8\n"

static void the_shipped_file_is_sound(void **state)
{
    struct arena *a = arena_new();
    const struct pretrain *p;
    struct err e;
    int c2d = 0, gmm = 0;
    (void)state;
    setenv("TILESCOPE_HOME", ".", 0);
    if (!pretrain_read(a, NULL, &p, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < p->n; i++) {
        c2d += str_starts(p->workload[i], "c2d ");
        gmm += str_starts(p->workload[i], "gmm ");
        assert_null(strstr(p->workload[i], " k=7 "));     /* alt.fig11 tests on it */
    }
    assert_int_equal(c2d, 12);
    assert_int_equal(gmm, 12);
    assert_int_equal(p->n, 24);
    assert_true(p->passes > 0 && p->budget > 0 && p->title[0] && p->note[0]);
    arena_free(a);
}

static void keys_are_read(void **state)
{
    static const char text[] = "pretrain: 1\nseed: 7\npasses: 2\nbudget: 30\ntitle: some\n"
                               "workloads:\n- gmm m=8 k=8 n=8\n- t2d i=8 h=8 o=8 k=4 s=2 p=1\n";
    struct arena *a = arena_new();
    const struct pretrain *p;
    struct err e;
    (void)state;
    if (!pretrain_parse(a, "some/where.yaml", text, strlen(text), &p, &e))
        fail_msg("%s", e.text);
    assert_int_equal(p->n, 2);
    assert_string_equal(p->workload[1], "t2d i=8 h=8 o=8 k=4 s=2 p=1");
    assert_string_equal(p->title, "some");
    const char *summary = pretrain_summary(a, p);
    assert_ptr_equal(strstr(summary, "where.yaml, 2 workloads, 2 passes of 30, seed 7, content "),
                     summary);
    struct pretrain other = *p;
    const char *workload[] = { p->workload[0], "gmm m=8 k=8 n=9" };
    other.entropy = 0.5;
    assert_string_not_equal(pretrain_summary(a, &other), summary);
    other = *p;
    other.workload = workload;
    assert_string_not_equal(pretrain_summary(a, &other), summary);
    arena_free(a);
}

static const struct { const char *text, *says; int line; } wrong[] = {
    { "", "empty", 0 },
    { "pretrain: 2\nbudget: 8\nworkloads: [gmm m=8 k=8 n=8]\n", "pretrain", 1 },
    { "pretrain: 1\nworkloads: [gmm m=8 k=8 n=8]\n", "budget", 1 },
    { HEAD, "workloads", 1 },
    { HEAD "workloads: []\n", "there are 0", 3 },
    { HEAD "workloads: gmm\n", "workloads", 3 },
    { HEAD "workload: [gmm m=8 k=8 n=8]\n", "workload", 3 },
    { HEAD "workloads:\n- gmm m=8 k=8 n=8\n- gmmm m=8 k=8 n=8\n", "gmmm", 5 },
    { HEAD "workloads:\n- gmm m=8 k=8\n", "n", 4 },
    { HEAD "workloads:\n- gmm m=8 k=8 n=8\n- gmm m=8 k=8 n=8\n", "twice", 5 },
    { HEAD "seed: -1\nworkloads: [gmm m=8 k=8 n=8]\n", "seed", 3 },
    { HEAD "measured: 39\nworkloads: [gmm m=8 k=8 n=8]\n", "measured", 3 },
    { HEAD "entropy: 0\nworkloads: [gmm m=8 k=8 n=8]\n", "entropy", 3 },
    { HEAD "entropy: much\nworkloads: [gmm m=8 k=8 n=8]\n", "entropy", 3 },
    { HEAD "passes: 0\nworkloads: [gmm m=8 k=8 n=8]\n", "passes", 3 },
};

static void nonsense_is_refused_at_its_place(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(wrong); i++) {
        struct arena *a = arena_new();
        const struct pretrain *p = NULL;
        struct err e = {0};
        if (pretrain_parse(a, "t.yaml", wrong[i].text, strlen(wrong[i].text), &p, &e))
            fail_msg("accepted:\n%s", wrong[i].text);
        if (!strstr(e.text, wrong[i].says) || (wrong[i].line && e.at.line != wrong[i].line))
            fail_msg("%s, line %d, of:\n%s", e.text, e.at.line, wrong[i].text);
        assert_null(p);
        arena_free(a);
    }
}

static void all_bytes_are_read(void **state)
{
    static const char text[] = HEAD "note: a\0\xff\n";
    struct arena *a = arena_new();
    const struct pretrain *p;
    struct err e = {0};
    (void)state;
    assert_false(pretrain_parse(a, "t.yaml", text, sizeof text - 1, &p, &e));
    assert_non_null(strstr(e.text, "not UTF-8 text (byte 0xff)"));
    arena_free(a);
}

static void weights_go_through_a_file(void **state)
{
    char path[300];
    uint64_t seen = FILE_ANYTHING;
    struct agents *g = agents_new(1, NULL), *h = agents_new(2, NULL);
    struct str x = {0}, y = {0};
    const char *trained;
    struct err e;
    (void)state;
    snprintf(path, sizeof path, "%s/w", temp_dir(NULL));
    if (!pretrain_weights_write(g, path, &seen, "nothing", &e)
        || !pretrain_weights_read(h, path, &trained, &e))
        fail_msg("%s", e.text);
    assert_string_equal(trained, "nothing");
    agents_save(g, "", &x);
    agents_save(h, "", &y);
    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.data, y.data, x.len);
    assert_int_equal(truncate(path, 0), 0);
    struct arena *a = arena_new();
    struct str bytes = {0};
    assert_false(pretrain_weights_bytes(a, path, true, &bytes, NULL, &e));
    assert_int_equal(e.code, ERR_SYNTAX);
    seen = file_seen(path);
    assert_true(file_write_atomic(path, "somebody else", 13, &e));
    assert_false(pretrain_weights_write(g, path, &seen, "nothing", &e));
    assert_int_equal(e.code, ERR_CHANGED);
    seen = FILE_ANYTHING;
    assert_true(pretrain_weights_write(g, path, &seen, "nothing", &e));
    assert_true(pretrain_weights_write(g, path, &seen, "something", &e));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(20);
    assert_false(pretrain_weights_bytes(a, path, false, &bytes, NULL, &e));
    alarm(0);
    assert_int_equal(unlink(path), 0);
    assert_true(pretrain_weights_write(g, path, &seen, "nothing", &e));
    str_free(&bytes);
    arena_free(a);
    assert_int_equal(truncate(path, 5000), 0);
    assert_false(pretrain_weights_read(h, path, NULL, &e));
    assert_int_equal(e.code, ERR_SYNTAX);
    assert_string_equal(e.at.file, path);
    assert_int_equal(unlink(path), 0);
    assert_false(pretrain_weights_read(h, path, NULL, &e));
    assert_int_equal(e.code, ERR_IO);
    str_free(&x);
    str_free(&y);
    agents_free(g);
    agents_free(h);
}

/* --- Training, on latencies that follow from the text of a schedule --------------------------- */

static const char small[] = "pretrain: 1\nbudget: 56\nmeasured: 40\nworkloads:\n"
                            "- gmm m=16 k=8 n=32\n- gmm m=32 k=8 n=16\n";

struct watched { int measured, expected, visits, stop_after; struct cancel cancel; };

static void made_up(void *ctx, const char *workload, struct tune_candidate *c)
{
    struct watched *w = ctx;
    assert_true(str_starts(workload, "gmm "));
    c->outcome = OUTCOME_OK;
    c->ms = 1 + (double)(c->hash % 1000) / 100;
    c->reason = "";
    w->measured++;
}

static void counted(void *ctx, const char *workload, struct tune_candidate *c)
{
    struct watched w = {0};
    (void)ctx;
    made_up(&w, workload, c);
}

static void visited(void *ctx, const struct pretrain_visit *v)
{
    struct watched *w = ctx;
    assert_int_equal(v->trials, 56);
    assert_int_equal(v->measured + v->expected, 56);
    assert_true(v->best_ms >= 1 && v->best_ms < 11);
    /* the first trial is the operator without steps */
    assert_true(v->start_ms >= v->best_ms && v->start_ms < 11);
    w->expected += v->expected;
    if (++w->visits == w->stop_after)
        atomic_store(&w->cancel.raised, 1);
}

/* The bytes that come of training, from path and at path. */
static void train(struct str *out, const char *path, bool resume, int stop_after,
                  struct watched *w, uint64_t seed)
{
    struct arena *a = arena_new();
    const struct pretrain *p;
    struct pretrain_done done;
    struct err e;
    *w = (struct watched){ .stop_after = stop_after };
    struct pretrain_opts o = { .weights = path, .resume = resume, .measure = made_up,
                               .visited = visited, .ctx = w };
    if (!pretrain_parse(a, "small.yaml", small, strlen(small), &p, &e))
        fail_msg("%s", e.text);
    struct pretrain own = *p;
    own.seed = seed;
    if (!pretrain_run(&own, &o, &w->cancel, &done, &e))
        fail_msg("%s", e.text);
    assert_int_equal(done.of, 2);
    assert_int_equal(done.visits, stop_after ? stop_after : 2);
    assert_int_equal(done.finished, !stop_after);
    assert_true(file_read(path, 64 << 20, out, &e));
    arena_free(a);
}

static bool same(const struct str *x, const struct str *y)
{
    return x->len == y->len && memcmp(x->data, y->data, x->len) == 0;
}

static void a_stopped_training_goes_on_to_the_same_weights(void **state)
{
    char path[300];
    struct str whole = {0}, half = {0}, resumed = {0}, other = {0}, again = {0};
    struct watched w;
    (void)state;
    snprintf(path, sizeof path, "%s/w", temp_dir(NULL));
    train(&whole, path, false, 0, &w, 1);
    assert_int_equal(w.visits, 2);
    assert_true(w.expected > 0 && w.measured >= 80);
    assert_non_null(strstr(whole.data, "trained small.yaml, 2 workloads, 1 passes of 56 "
                                       "(40 measured), seed 1, content "));
    train(&again, path, true, 0, &w, 1);                 /* nothing is left to do */
    assert_int_equal(w.visits, 0);
    assert_true(same(&whole, &again));
    assert_int_equal(unlink(path), 0);
    train(&half, path, true, 1, &w, 1);
    assert_non_null(strstr(half.data, "; 1 of 2 done\n"));
    assert_false(same(&whole, &half));
    train(&resumed, path, true, 0, &w, 1);
    assert_int_equal(w.visits, 1);
    assert_true(same(&whole, &resumed));
    train(&other, path, false, 0, &w, 2);
    assert_false(same(&whole, &other));
    unlink(path);
    str_free(&whole);
    str_free(&half);
    str_free(&resumed);
    str_free(&other);
    str_free(&again);
}

/* Somebody else writes the file while the second workload is trained on. */
static void written_over(void *ctx, const struct pretrain_visit *v)
{
    struct err e;
    (void)v;
    assert_true(file_write_atomic(ctx, "somebody else's", 15, &e));
}

static void weights_of_others_stay(void **state)
{
    char path[300];
    struct watched w = {0};
    struct arena *a = arena_new();
    const struct pretrain *p;
    struct pretrain_done done;
    struct err e;
    (void)state;
    snprintf(path, sizeof path, "%s/w", temp_dir(NULL));
    struct pretrain_opts o = { .weights = path, .measure = counted, .visited = written_over,
                               .ctx = path };
    assert_true(pretrain_parse(a, "small.yaml", small, strlen(small), &p, &e));
    assert_false(pretrain_run(p, &o, &w.cancel, &done, &e));
    assert_int_equal(e.code, ERR_CHANGED);
    assert_int_equal(file_seen(path), file_content("somebody else's", 15));
    unlink(path);
    arena_free(a);
}

static void another_training_is_not_resumed(void **state)
{
    char path[300];
    uint64_t seen = FILE_ANYTHING;
    struct agents *g = agents_new(1, NULL);
    struct arena *a = arena_new();
    const struct pretrain *p;
    struct pretrain_done done;
    struct cancel cancel = {0};
    struct err e;
    (void)state;
    snprintf(path, sizeof path, "%s/w", temp_dir(NULL));
    struct pretrain_opts o = { .weights = path, .resume = true, .measure = made_up };
    assert_true(pretrain_weights_write(g, path, &seen, "something else", &e));
    assert_true(pretrain_parse(a, "small.yaml", small, strlen(small), &p, &e));
    assert_false(pretrain_run(p, &o, &cancel, &done, &e));
    assert_int_equal(e.code, ERR_NAME);
    assert_non_null(strstr(e.text, "something else"));
    assert_string_equal(e.at.file, path);
    unlink(path);
    arena_free(a);
    agents_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shipped_file_is_sound),
        cmocka_unit_test(keys_are_read),
        cmocka_unit_test(nonsense_is_refused_at_its_place),
        cmocka_unit_test(all_bytes_are_read),
        cmocka_unit_test(weights_go_through_a_file),
        cmocka_unit_test(a_stopped_training_goes_on_to_the_same_weights),
        cmocka_unit_test(weights_of_others_stay),
        cmocka_unit_test(another_training_is_not_resumed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
