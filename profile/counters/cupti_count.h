/* Counts on a GPU: metrics by CUPTI's range profiler, times of kernels by its records of activity.
 * Everything happens in the process that has the device, a child that may hang or die. */
#ifndef TS_COUNTERS_CUPTI_COUNT_H
#define TS_COUNTERS_CUPTI_COUNT_H
#include "kernels/base/err.h"
#include "profile/counters/counting.h"

/* What is counted.  context: the driver's current one; device: its number.  run launches all
 * kernels of the program once and waits for them; it is called once for each pass, and must
 * compute the same each time. */
struct cupti_work {
    void *context;
    int device;
    bool (*run)(void *arg, struct err *e);
    void *arg;
};

/* Counts n events (cupti_metrics.h) for one run of the work: the sums over all of its kernels.
 * Events of which the chip has none are listed in out->missing; if nothing can be counted, *out
 * has the reason.  *seconds: of one run on the device, or of the clock where there are no records
 * of activity.  False: the work itself failed. */
bool cupti_count(const struct cupti_work *w, const struct event *event, int n, struct counts *out,
                 double *seconds, struct err *e);

/* The kernels of one run, by their records of activity. registers: the most of any. */
struct cupti_kernels { int launches, registers; double ns; };
/* ERR_ENV: CUPTI has no records; other errors are those of the work. */
bool cupti_kernels(const struct cupti_work *w, struct cupti_kernels *out, struct err *e);
#endif
