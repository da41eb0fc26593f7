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

/* --- By the clock of a device ----------------------------------------------------------------*/

/* A device whose calls take as long as is written here, whatever this machine does.  seconds: of
 * the first calls, one for each request; call_s: of each call after them.  It notes the progress
 * that it sees. */
struct scripted {
    double call_s, seconds[4];
    int n_seconds, requests, fails_at, n_seen, seen[8];
    int64_t calls;
    struct shared *sh;
};

static bool run_scripted(void *ctx, long n, double *seconds)
{
    struct scripted *d = ctx;
    bool first = d->requests < d->n_seconds;
    str_add_char(&happened, 'd');
    *seconds = first ? d->seconds[d->requests] : d->call_s * (double)n;
    d->requests++;
    d->calls += n;
    if (d->sh && d->n_seen < COUNT_OF(d->seen))
        d->seen[d->n_seen++] = atomic_load(&d->sh->permille);
    return d->requests != d->fails_at;
}

static void poison_scripted(void *ctx, int contender, bool all)
{
    (void)ctx;
    (void)contender;
    str_add_char(&happened, all ? 'P' : 'p');
}

static bool ceiling_scripted(void *ctx, int team, long batch, double *seconds)
{
    *seconds = team == 2 && batch > 0 ? 1e-5 : -1;
    str_add_char(&happened, 'c');
    return ctx == NULL;
}

static struct shared of_device;

/* Samples n scripted contenders; the samples before are kept if q->append. */
static void sample_scripted(struct scripted *d, int n, const struct request *q,
                            struct work work[SERIES_COUNT])
{
    static const struct sampling_hooks hooks = {
        .renew = renew, .chill = chill, .poison = poison_scripted, .same = same,
        .ceiling = ceiling_scripted,
    };
    of_device.threads = 1;
    str_clear(&happened);
    for (int i = 0; i < n; i++) {
        work[i].run_device = run_scripted;
        work[i].device = &d[i];
    }
    sampling_run(work, q, &hooks, &of_device);
}

/* A sample of a device has at least 0.7 of a millisecond; one that is known, a millisecond. */
static void batches_are_long_enough(void **state)
{
    struct request q = { .min_runs = 5, .most_s = 10 };
    struct work work[SERIES_COUNT] = {0};
    struct scripted d = { .call_s = 1e-4 };
    (void)state;
    sample_scripted(&d, 1, &q, work);
    assert_int_equal(work[0].batch, 8);
    assert_int_equal(of_device.n_samples[0], 5);
    assert_int_equal(of_device.n_samples[1], 0);
    assert_int_equal(of_device.n_epochs, 1);
    for (int i = 0; i < 5; i++)
        assert_float_equal(of_device.sample[0][i], 1e-4, 1e-12);
    assert_true(work[0].calls == d.calls && d.calls > 5 * 8);
    of_device.sample[0][0] = of_device.sample[0][4] = 3e-4;       /* the shortest counts */
    q.append = true;
    sample_scripted(&d, 1, &q, work);
    assert_int_equal(work[0].batch, 16);
    assert_int_equal(of_device.n_samples[0], 10);
    assert_int_equal(of_device.n_epochs, 2);
    assert_int_equal(of_device.epoch[1], 5);
    q.append = false;
    sample_scripted(&d, 1, &q, work);
    assert_int_equal(of_device.n_samples[0], 5);
    assert_int_equal(of_device.n_epochs, 1);
    assert_int_equal(of_device.epoch[0], 0);
}

/* Sampling goes on while one contender is worth it. */
static void slow_contenders_are_given_up(void **state)
{
    static const struct { double a, b; int samples; } row[] = {
        { 10e-3, 12e-3, 3 }, { 25e-3, 30e-3, 1 }, { 10e-3, 0.5e-3, 10 }, { 1e-3, 1e-3, 10 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct request q = { .min_runs = 10, .most_s = 10, .give_up_s = 1e-3 };
        struct work work[SERIES_COUNT] = {0};
        struct scripted d[] = { { .call_s = row[i].a }, { .call_s = row[i].b } };
        sample_scripted(d, 2, &q, work);
        if (of_device.n_samples[0] != row[i].samples || of_device.n_samples[1] != row[i].samples)
            fail_msg("row %d: %d samples", i, of_device.n_samples[0]);
    }
}

/* One alone, far slower than what is worth it, has its fastest first call for a sample. */
static void a_hopeless_kernel_is_hardly_called(void **state)
{
    struct request q = { .min_runs = 10, .most_s = 10, .give_up_s = 1e-3 };
    struct work work[SERIES_COUNT] = {0};
    struct scripted slow = { .call_s = 1, .seconds = { 5e-3, 4e-3, 6e-3 }, .n_seconds = 3 };
    (void)state;
    sample_scripted(&slow, 1, &q, work);
    assert_int_equal(of_device.n_samples[0], 1);
    assert_float_equal(of_device.sample[0][0], 4e-3, 1e-12);
    assert_true(of_device.n_epochs == 1 && of_device.epoch[0] == 0);
    assert_int_equal(slow.calls, 3);
    slow = (struct scripted){ .call_s = 1, .seconds = { 25e-3 }, .n_seconds = 1 };
    sample_scripted(&slow, 1, &q, work);
    assert_int_equal(slow.calls, 1);
    assert_int_equal(of_device.n_samples[0], 1);
    slow = (struct scripted){ .call_s = 4e-3, .seconds = { 5e-3, 1.5e-3 }, .n_seconds = 2 };
    sample_scripted(&slow, 1, &q, work);                 /* waited at first: not hopeless */
    assert_int_equal(of_device.n_samples[0], 3);
    slow = (struct scripted){ .call_s = 4e-3 };
    q.give_up_s = 0;
    sample_scripted(&slow, 1, &q, work);
    assert_int_equal(of_device.n_samples[0], 10);
}

/* What a hook refuses ends the sampling; full arrays do, too. */
static void refusals_end_the_sampling(void **state)
{
    struct request q = { .min_runs = 10, .most_s = 10 };
    struct work work[SERIES_COUNT] = {0};
    struct scripted d = { .call_s = 1e-2, .fails_at = 7 };
    (void)state;
    sample_scripted(&d, 1, &q, work);
    assert_int_equal(d.requests, 7);
    d = (struct scripted){ .call_s = 1e-2 };
    for (int i = 0; i < 1 + PROTOCOL_MAX_SAMPLES - 4; i++)
        of_device.sample[0][i] = 1e-2;
    of_device.n_samples[0] = PROTOCOL_MAX_SAMPLES - 4;
    q.append = true;
    sample_scripted(&d, 1, &q, work);
    assert_int_equal(of_device.n_samples[0], PROTOCOL_MAX_SAMPLES);
    q = (struct request){ .min_runs = 10, .most_s = 1e-9, .time_s = 1 };
    sample_scripted(&d, 1, &q, work);                    /* all its time is over */
    assert_int_equal(of_device.n_samples[0], 1);
}

static void progress_counts_rounds(void **state)
{
    struct request q = { .min_runs = 4, .most_s = 10, .cold = true };
    struct work work[SERIES_COUNT] = {0};
    struct scripted d = { .call_s = 1e-2, .sh = &of_device };
    static const int want[] = { 7, 7, 250, 500, 750 };
    (void)state;
    atomic_store(&of_device.permille, 7);
    sample_scripted(&d, 1, &q, work);
    assert_int_equal(d.n_seen, COUNT_OF(want));          /* the first call warms up */
    assert_memory_equal(d.seen, want, sizeof want);
    assert_int_equal(atomic_load(&of_device.permille), 999);
    assert_string_equal(str_text(&happened), "dAdAdAdAd");
    assert_float_equal(of_device.sample[0][3], 1e-2, 1e-12);      /* the device reads its clock */
}

/* The team of the ceiling has a sample for each of the kernel's; cold samples have no ceiling. */
static void the_ceiling_takes_its_turns(void **state)
{
    struct request q = { .min_runs = 6, .most_s = 10 };
    struct work work[SERIES_COUNT] = { [SERIES_CEILING] = { .team = 2 } };
    struct scripted d = { .call_s = 1e-3 };
    (void)state;
    sample_scripted(&d, 1, &q, work);
    assert_true(of_device.n_samples[0] == 6 && of_device.n_samples[SERIES_CEILING] == 6);
    assert_int_equal(of_device.n_samples[SERIES_ONE_CORE], 0);
    for (int i = 0; i < 6; i++)
        assert_float_equal(of_device.sample[SERIES_CEILING][i], 1e-5, 1e-12);
    q.cold = true;
    sample_scripted(&d, 1, &q, work);
    assert_true(of_device.n_samples[0] == 6 && of_device.n_samples[SERIES_CEILING] == 0);
    assert_null(strchr(str_text(&happened), 'c'));
}

/* First the result that is there, then results of calls after all or a few elements were
 * overwritten, in turns. */
static void first_calls_are_checked(void **state)
{
    static const struct { double first_s, time_s; const char *first; bool append; } row[] = {
        { 1e-3, 1, "=Pd=pd=Pd=", false }, { 25e-3, 1, "=d", false }, { 10e-3, 30e-3, "d", false },
        { 10e-3, 50e-3, "=Pd=d", false }, { 1e-3, 1, "d", true },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct request q = { .min_runs = 1, .most_s = 1e-9, .time_s = row[i].time_s,
                             .append = row[i].append };
        struct work work[SERIES_COUNT] = { { .steady = true, .first_s = row[i].first_s } };
        struct scripted d = { .call_s = 1e-3 };
        of_device.n_samples[0] = 1;
        of_device.sample[0][0] = 1e-3;
        sample_scripted(&d, 1, &q, work);
        if (!str_starts(str_text(&happened), row[i].first))
            fail_msg("row %d: %.40s", i, str_text(&happened));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cold_sample_is_chilled),
        cmocka_unit_test(one_alone_is_heated_once_a_sitting),
        cmocka_unit_test(several_are_heated_before_each_sample),
        cmocka_unit_test(one_is_heated_after_an_inspection),
        cmocka_unit_test(batches_are_long_enough),
        cmocka_unit_test(slow_contenders_are_given_up),
        cmocka_unit_test(a_hopeless_kernel_is_hardly_called),
        cmocka_unit_test(refusals_end_the_sampling),
        cmocka_unit_test(progress_counts_rounds),
        cmocka_unit_test(the_ceiling_takes_its_turns),
        cmocka_unit_test(first_calls_are_checked),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    str_free(&happened);
    return rc;
}
