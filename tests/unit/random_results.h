/* Made-up results of measuring a program: every field that is printed gets some value. */
#ifndef TS_TESTS_RANDOM_RESULTS_H
#define TS_TESTS_RANDOM_RESULTS_H
#include "kernels/base/rng.h"
#include "profile/measure/measurement.h"

/* detail: gets the detail of the simulation, to which the result points; NULL: there is none. */
void random_measurement(struct rng *r, const struct program *p, struct sim_detail *detail,
                        struct measurement *out);
/* n samples around `ms`, some of them disturbed. */
void random_samples(struct rng *r, double ms, double *sample, int n);
#endif
