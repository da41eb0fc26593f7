/* Sampling in turns, on works and hooks that write down when they are called: what is hot was
 * called just before, what is cold was chilled just before. */
#include <string.h>
#include <unistd.h>

#include "profile/child/sampling.h"
#include "kernels/base/arena.h"
#include "kernels/base/str.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* What happened, in order: 'a' and 'b' ran, 'A' and 'B' were chilled, '|' renewed; '!' a result was
 * spoilt, '=' looked at. */
static struct str happened;

static void run_a(void *const *buffers)
{
    (void)buffers;
    str_add_char(&happened, 'a');
}

static void run_b(void *const *buffers)
{
    (void)buffers;
    str_add_char(&happened, 'b');
}

static bool renew(void *ctx)
{
    (void)ctx;
    str_add_char(&happened, '|');
    return true;
}

static void chill(void *ctx, int contender)
{
    (void)ctx;
    str_add_char(&happened, (char)('A' + contender));
}

static void poison(void *ctx, int contender, bool all)
{
    (void)ctx;
    (void)contender;
    (void)all;
    str_add_char(&happened, '!');
}

static bool same(void *ctx, int contender)
{
    (void)ctx;
    (void)contender;
    str_add_char(&happened, '=');
    return true;
}

/* Samples n contenders; the batches of hot ones are of one call, as these had samples of 1 ms. */
static struct shared *sampled(const struct request *q, int n)
{
    static struct shared sh;
    struct work work[SERIES_COUNT] = { { .run = run_a }, { .run = n > 1 ? run_b : NULL } };
    for (int i = 0; i < n; i++) {
        sh.n_samples[i] = 1;
        sh.sample[i][0] = 1e-3;
    }
    sh.n_epochs = 0;
    str_clear(&happened);
    sampling_run(work, q, &(struct sampling_hooks){ .renew = renew, .chill = chill }, &sh);
    return &sh;
}

static void each_cold_sample_is_chilled(void **state)
{
    struct request q = { .cold = true, .min_runs = 6, .most_s = 10 };
    (void)state;
    struct shared *sh = sampled(&q, 1);
    assert_int_equal(sh->n_samples[0], 6);
    assert_string_equal(str_text(&happened), "aAaAaAaAaAaAa");
    sampled(&q, 2);
    assert_int_equal(happened.len, 2 + 2 * 2 * 6);
    for (size_t i = 2; i < happened.len; i += 2)         /* one is chilled, and that one runs */
        assert_int_equal(happened.data[i] - 'A', happened.data[i + 1] - 'a');
}

/* Alone it has the caches for itself: one call after its pages are new, none between samples. */
static void one_alone_is_heated_once_a_sitting(void **state)
{
    struct request q = { .append = true, .min_runs = 5, .most_s = 10 };
    (void)state;
    struct shared *sh = sampled(&q, 1);
    assert_int_equal(sh->n_samples[0], 1 + 5);
    assert_string_equal(str_text(&happened), "aaaaaa");
    q.epochs = 3;
    sh = sampled(&q, 1);
    assert_int_equal(sh->n_epochs, 5);                 /* no time at all: each is due at once */
    assert_string_equal(str_text(&happened), "aa|aa|aa|aa|aa");
}

/* Each drives out what the other had. */
static void several_are_heated_before_each_sample(void **state)
{
    struct request q = { .append = true, .min_runs = 20, .most_s = 10 };
    int first[2] = {0};
    (void)state;
    sampled(&q, 2);
    assert_int_equal(happened.len, 2 * 2 * 20);
    for (size_t i = 0; i < happened.len; i += 4) {
        const char *round = happened.data + i;
        assert_true(round[0] == round[1] && round[2] == round[3] && round[0] != round[2]);
        first[round[0] - 'a']++;
    }
    assert_true(first[0] > 0 && first[1] > 0);           /* no one always follows the other */
}

static void run_slowly(void *const *buffers)
{
    run_a(buffers);
    usleep(200);
}

/* Whoever looks at a result, and writes over it, takes the caches.  On a busy machine a call can be
 * as long as one that heats itself: then again. */
static void one_is_heated_after_an_inspection(void **state)
{
    static struct shared sh;
    struct request q = { .append = true, .time_s = 40e-3, .most_s = 10 };
    struct work work[SERIES_COUNT] = { { .run = run_slowly, .steady = true, .first_s = 200e-6 } };
    (void)state;
    double longest = 1;
    for (int i = 0; i < 50 && longest > 5e-3; i++) {
        sh.n_samples[0] = 1;
        sh.sample[0][0] = 1e-3;
        str_clear(&happened);
        sampling_run(work, &q, &(struct sampling_hooks){ .poison = poison, .same = same }, &sh);
        longest = stats_summary(sh.sample[0], sh.n_samples[0]).max;
    }
    assert_true(str_starts(str_text(&happened), "aa"));
    assert_non_null(strstr(str_text(&happened), "!a=aa"));
    assert_null(strstr(str_text(&happened), "!a=a="));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cold_sample_is_chilled),
        cmocka_unit_test(one_alone_is_heated_once_a_sitting),
        cmocka_unit_test(several_are_heated_before_each_sample),
        cmocka_unit_test(one_is_heated_after_an_inspection),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    str_free(&happened);
    return rc;
}
