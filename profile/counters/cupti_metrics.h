/* The metrics of a chip and their configuration, by CUPTI's host API, which needs neither a GPU nor
 * a driver.  A chip has a name such as "GH100", which H100 and H200 share. */
#ifndef TS_COUNTERS_CUPTI_METRICS_H
#define TS_COUNTERS_CUPTI_METRICS_H
#include "kernels/base/arena.h"
#include "profile/counters/counting.h"
#include "profile/counters/cupti.h"

#define CUPTI_CHIP "GH100"                /* chip for checking event sets without a GPU */

/* The metrics of a device: names are added, then configured together. */
struct cupti_metrics {
    const struct cupti *cupti;
    void *host;
    int n;
    const char *metric[EVENTS_MAX];
    size_t bytes, passes;  /* bytes: size of config; passes: how often the work must run */
    uint8_t *config;                      /* the configuration of all metrics; owned */
};

/* Prepares *out for the metrics of a chip. availability: the counters of the device; NULL: all
 * counters of the chip. ERR_ENV: CUPTI does not know the chip. */
bool cupti_metrics_open(const struct cupti *c, const char *chip, const uint8_t *availability,
                        struct cupti_metrics *out, struct err *e);
/* Adds a metric, whose name must outlive *m. ERR_NAME: the chip does not have it. */
bool cupti_metrics_add(struct cupti_metrics *m, const char *metric, struct err *e);
/* Makes the configuration of all metrics. */
bool cupti_metrics_config(struct cupti_metrics *m, struct err *e);
/* Stores in value[] the value of each metric, read from the first range of the decoded data. */
bool cupti_metrics_values(const struct cupti_metrics *m, const uint8_t *data, size_t bytes,
                          double *value, struct err *e);
void cupti_metrics_close(struct cupti_metrics *m);

/* Whether an event of an event set is read from activity records ("activity:...") and is not a
 * metric. */
bool cupti_is_activity(const char *event);
/* Whether the text has the form of a metric with its rollup ("unit__name.sum"), or is an existing
 * event of activity records. If not, *e is ERR_NAME, and its fix shows the correct form. */
bool cupti_event_form(const char *text, struct err *e);
/* Asks CUPTI how many passes the metrics of an event set need on CUPTI_CHIP, and which of them this
 * chip does not have. Returns false with ERR_ENV when CUPTI is missing or fails. */
struct cupti_checked { int n_unknown; const char *unknown[EVENTS_MAX]; int passes; };
bool cupti_check(const struct event *event, int n, struct cupti_checked *out, struct err *e);
#endif
