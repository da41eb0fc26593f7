/* Counts on a GPU: metrics by CUPTI's range profiler, and times of kernels by CUPTI's records of
 * activity. Only the process that has the device calls these functions: a child that may hang or
 * die. */
#ifndef TS_COUNTERS_CUPTI_COUNT_H
#define TS_COUNTERS_CUPTI_COUNT_H
#include "kernels/base/err.h"
#include "profile/counters/counting.h"

/* The work to be counted. context: the driver's current context; device: number of the device. run:
 * launches all kernels of the program once and waits for them. cupti_count calls `run` once for the
 * records of activity and once for each pass; each call must do the same work. */
struct cupti_work {
    void *context;
    int device;
    bool (*run)(void *arg, struct err *e);
    void *arg;
};

/* Counts n events (cupti_metrics.h) for one run of the work with all of its kernels. Events that
 * the chip lacks are listed in out->missing; if nothing can be counted, *out has the reason.
 * *seconds: the device's time for the kernels of one run. Without records of activity it is the
 * time of the first run by the host's clock, or 0 if CUPTI failed before any run. False: the work
 * itself failed. *seconds is not set if the work failed or CUPTI cannot be loaded. */
bool cupti_count(const struct cupti_work *w, const struct event *event, int n, struct counts *out,
                 double *seconds, struct err *e);

/* The kernels of one run, by their records of activity. registers: the most that a thread of any
 * kernel has; ns: sum of the times of all launches. */
struct cupti_kernels { int launches, registers; double ns; };
/* Runs the work once and records its kernels. ERR_ENV: CUPTI failed or has no valid records, or the
 * work failed with ERR_ENV. Other errors come from the work. */
bool cupti_kernels(const struct cupti_work *w, struct cupti_kernels *out, struct err *e);
#endif
