#include "profile/counters/cupti_metrics.h"

#include "kernels/base/str.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const activity[] = { "activity:duration", "activity:launches",
                                        "activity:registers" };

bool cupti_is_activity(const char *event)
{
    return str_starts(event, "activity:");
}

bool cupti_event_form(const char *text, struct err *e)
{
    if (cupti_is_activity(text)) {
        for (int i = 0; i < COUNT_OF(activity); i++)
            if (streq(text, activity[i]))
                return true;
        err_set(e, ERR_NAME, "records of activity have no %s", text + strlen("activity:"));
        return err_fix(e, "activity:duration, activity:launches or activity:registers");
    }
    const char *dot = strchr(text, '.');
    const char *unit = strstr(text, "__");
    if (unit && unit > text && dot && dot > unit + 2 && islower((unsigned char)dot[1])
        && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.") == strlen(text))
        return true;
    err_set(e, ERR_NAME, "%s is not the name of a metric", text);
    return err_fix(e, "UNIT__NAME.ROLLUP, for example lts__t_sectors.sum");
}

/* --- The host API ----------------------------------------------------------------------------- */

bool cupti_metrics_open(const struct cupti *c, const char *chip, const uint8_t *availability,
                        struct cupti_metrics *out, struct err *e)
{
    struct cupti_plain start = { .size = CUPTI_SIZE(struct cupti_plain, reserved) };
    struct cupti_host_open open = { .size = CUPTI_SIZE(struct cupti_host_open, host),
                                    .profiler = CUPTI_RANGE_PROFILER, .chip = chip,
                                    .availability = availability };
    *out = (struct cupti_metrics){ .cupti = c };
    c->initialize(&start);  /* this fails without a driver, but the host API works nevertheless */
    if (!cupti_ok(c, c->host_open(&open), "cuptiProfilerHostInitialize", e))
        return err_fix(e, "CUPTI must know the chip %.40s: install a newer CUDA toolkit", chip);
    out->host = open.host;
    return true;
}

bool cupti_metrics_add(struct cupti_metrics *m, const char *metric, struct err *e)
{
    struct cupti_host_metric ask = { .size = CUPTI_SIZE(struct cupti_host_metric, kind),
                                     .host = m->host, .metric = metric };
    int code = m->cupti->host_metric(&ask);
    if (code == CUPTI_NO_METRIC)
        return err_set(e, ERR_NAME, "this GPU has no metric %s", metric);
    if (m->n == EVENTS_MAX)
        return err_set(e, ERR_RANGE, "there are more than %d metrics", EVENTS_MAX);
    if (!cupti_ok(m->cupti, code, "cuptiProfilerHostGetMetricProperties", e))
        return false;
    m->metric[m->n++] = metric;
    return true;
}

bool cupti_metrics_config(struct cupti_metrics *m, struct err *e)
{
    const struct cupti *c = m->cupti;
    struct cupti_host_add add = { .size = CUPTI_SIZE(struct cupti_host_add, n), .host = m->host,
                                  .metric = m->metric, .n = (size_t)m->n };
    struct cupti_host_size size = { .size = CUPTI_SIZE(struct cupti_host_size, bytes),
                                    .host = m->host };
    if (!cupti_ok(c, c->host_add(&add), "cuptiProfilerHostConfigAddMetrics", e)
        || !cupti_ok(c, c->host_config_size(&size), "cuptiProfilerHostGetConfigImageSize", e))
        return false;
    if (size.bytes == 0 || size.bytes > (size_t)64 << 20)
        return err_set(e, ERR_ENV, "CUPTI asks for a configuration of %zu bytes", size.bytes);
    m->bytes = size.bytes;
    m->config = xcalloc(size.bytes, 1);
    struct cupti_host_config get = { .size = CUPTI_SIZE(struct cupti_host_config, image),
                                     .host = m->host, .bytes = m->bytes, .image = m->config };
    struct cupti_host_passes count = { .size = CUPTI_SIZE(struct cupti_host_passes, passes),
                                       .bytes = m->bytes, .image = m->config };
    if (!cupti_ok(c, c->host_config(&get), "cuptiProfilerHostGetConfigImage", e)
        || !cupti_ok(c, c->host_passes(&count), "cuptiProfilerHostGetNumOfPasses", e))
        return false;
    m->passes = count.passes;
    return true;
}

bool cupti_metrics_values(const struct cupti_metrics *m, const uint8_t *data, size_t bytes,
                          double *value, struct err *e)
{
    struct cupti_host_values get = {
        .size = CUPTI_SIZE(struct cupti_host_values, value), .host = m->host, .data = data,
        .bytes = bytes, .metric = m->metric, .n = (size_t)m->n, .value = value,
    };
    return cupti_ok(m->cupti, m->cupti->host_values(&get), "cuptiProfilerHostEvaluateToGpuValues",
                    e);
}

void cupti_metrics_close(struct cupti_metrics *m)
{
    struct cupti_host_close close = { .size = CUPTI_SIZE(struct cupti_host_close, host),
                                      .host = m->host };
    if (m->host)
        m->cupti->host_close(&close);
    free(m->config);
    *m = (struct cupti_metrics){ .n = 0 };
}

bool cupti_check(const struct event *event, int n, struct cupti_checked *out, struct err *e)
{
    struct cupti c;
    struct cupti_metrics m;
    *out = (struct cupti_checked){ .n_unknown = 0 };
    if (!cupti_open(&c, e) || !cupti_metrics_open(&c, CUPTI_CHIP, NULL, &m, e))
        return false;
    bool ok = true;
    for (int i = 0; ok && i < n; i++)
        if (!cupti_is_activity(event[i].text) && !cupti_metrics_add(&m, event[i].text, e)) {
            ok = e->code == ERR_NAME;
            out->unknown[out->n_unknown++] = event[i].text;
        }
    ok = ok && (m.n == 0 || cupti_metrics_config(&m, e));
    out->passes = (int)m.passes;
    cupti_metrics_close(&m);
    return ok;
}
