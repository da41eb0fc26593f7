/* The decision of a batch, from a candidate's times, to sample it longer. */
#include <math.h>

#include "profile/measure/batch_impl.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* Near is within 5 %, or within 25 % when the samples are noisy.  The first call counts from 20 ms
 * on. */
static void near_ones_are_sampled_longer(void **state)
{
    static const struct { double best_s, first_s, min_s, spread; bool near; } row[] = {
        { 10e-3, 15e-3, 10.4e-3, 0.01, true },  { 10e-3, 15e-3, 10.6e-3, 0.01, false },
        { 10e-3, 15e-3, 12.4e-3, 0.99, true },  { 10e-3, 15e-3, 12.6e-3, 0.99, false },
        { 10e-3, 15e-3, 12.4e-3, 0.01, false }, { 10e-3, 15e-3, 9e-3, 0.01, true },
        /* the first call of a long kernel was faster than the samples */
        { 40e-3, 41e-3, 60e-3, 0.01, true },    { 40e-3, 43e-3, 60e-3, 0.01, false },
        { 40e-3, 49e-3, 60e-3, 0.99, true },    { 40e-3, 60e-3, 41e-3, 0.01, true },
        { 20e-3, 20e-3, 30e-3, 0.01, true },    { 20e-3, 19.9e-3, 30e-3, 0.01, false },
        { 10e-3, 10e-3, 12e-3, 0.01, false },   /* that of a short one tells nothing */
        { INFINITY, 5, 5, 0.99, true },         /* nothing was measured before */
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct summary s = { .min = row[i].min_s, .spread = row[i].spread };
        if (batch_is_near(row[i].best_s, row[i].first_s, &s) != row[i].near)
            fail_msg("row %d", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(near_ones_are_sampled_longer) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
