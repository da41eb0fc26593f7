/* The share of the machine that other programs use.  A process that spins is counted, and is not
 * when it belongs to the measurement.  Other work on the machine only adds to the share. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "profile/host/busy.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static pid_t spinner(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        alarm(10);                        /* it ends also when the test is killed */
        for (volatile unsigned long n = 0;;)
            n++;
    }
    return pid;
}

static double share(const struct busy *from, const struct busy *to)
{
    struct busy_sum s = {0};
    busy_add(&s, from, to);
    return busy_share(&s);
}

static void spinning_counts_unless_it_is_own(void **state)
{
    (void)state;
    pid_t pid = spinner();
    struct busy others = busy_now(NULL, 0), own = busy_now(&pid, 1);
    usleep(600000);
    struct busy others_end = busy_now(NULL, 0), own_end = busy_now(&pid, 1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    double all = share(&others, &others_end), rest = share(&own, &own_end);
    if (isnan(all))
        skip();                           /* no /proc/stat here */
    double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
    assert_true(all * cpus > 0.3);
    assert_true(rest >= 0 && rest * cpus < all * cpus - 0.1);
}

static void too_short_or_gone_is_unknown(void **state)
{
    (void)state;
    pid_t gone = 0;
    struct busy a = busy_now(&gone, 1), b = a;
    assert_true(a.own_s == 0);
    b.at_s += 0.05;
    assert_true(isnan(share(&a, &b)));
    b.at_s += 1;
    a.all_s = 10;
    b.all_s = 12;
    double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
    assert_true(fabs(share(&a, &b) - 2 / 1.05 / cpus) < 1e-9);
    b.own_s = 3;                                          /* a tick more than was seen in all */
    assert_true(share(&a, &b) == 0);
    b.all_s = a.all_s;                                    /* nothing is counted at all */
    assert_true(isnan(share(&a, &b)));
    b.all_s = NAN;
    assert_true(isnan(share(&a, &b)));
    struct busy_sum many = {0};                           /* short intervals add up */
    for (int i = 0; i < 30; i++)
        busy_add(&many, &(struct busy){ i, 0, i }, &(struct busy){ i + 0.01, 0, i + 0.02 });
    assert_true(fabs(busy_share(&many) - 0.5 / cpus) < 1e-9);
}

/* The CPU time of the measurement itself is no work of others, in each of two intervals. */
static void own_work_is_left_out(void **state)
{
    struct busy_sum s = {0};
    (void)state;
    busy_add(&s, &(struct busy){ 10, 1, 5 }, &(struct busy){ 12, 1.5, 6 });
    busy_add(&s, &(struct busy){ 20, 3, 7 }, &(struct busy){ 21, 3.25, 7.5 });
    assert_true(s.all_s == 3 && s.others_s == 2.25 && s.clock_s == 1.5);
    double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
    assert_true(fabs(busy_share(&s) - 2.25 / (1.5 * cpus)) < 1e-9);
    s.clock_s = 0.1;                                      /* long enough, and just not */
    assert_false(isnan(busy_share(&s)));
    s.clock_s = 0.0999;
    assert_true(isnan(busy_share(&s)));
}

/* This process uses one CPU, at most as long as the clock runs. All programs use at least that. */
static void this_process_has_ticks(void **state)
{
    pid_t self = getpid();
    struct busy from = busy_now(&self, 1), to;
    (void)state;
    do
        to = busy_now(&self, 1);
    while (to.own_s - from.own_s < 0.05 && to.at_s - from.at_s < 5);
    if (to.own_s == 0)
        skip();                           /* no times in /proc here */
    assert_true(to.own_s - from.own_s >= 0.05 && to.own_s - from.own_s < to.at_s - from.at_s + 0.1);
    if (from.all_s > 0)
        assert_true(to.all_s - from.all_s >= 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spinning_counts_unless_it_is_own),
        cmocka_unit_test(too_short_or_gone_is_unknown),
        cmocka_unit_test(own_work_is_left_out), cmocka_unit_test(this_process_has_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
