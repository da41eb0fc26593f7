#include "profile/counters/cupti_count.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/str.h"
#include "kernels/base/subprocess.h"
#include "profile/counters/cupti_metrics.h"

#define MOST_PASSES 200  /* enough for EVENTS_MAX metrics; a need of more is a fault of CUPTI */

/* The state of cupti_count: the device's metrics, and the session of the range profiler. */
struct range_session {
    const struct cupti *c;
    const struct cupti_work *work;
    struct cupti_metrics metrics;
    uint8_t *availability, *data;         /* owned */
    size_t data_bytes;
    void *object;                         /* the range profiler; NULL: not enabled */
    int runs;                             /* number of passes begun */
};

/* --- The device's metrics --------------------------------------------------------------------- */

static bool read_availability(struct range_session *s, struct err *e)
{
    struct cupti_availability ask = { .size = CUPTI_SIZE(struct cupti_availability, image),
                                      .context = s->work->context };
    if (!cupti_ok(s->c, s->c->availability(&ask), "cuptiProfilerGetCounterAvailability", e))
        return false;
    if (ask.bytes == 0 || ask.bytes > (size_t)64 << 20)
        return err_set(e, ERR_ENV, "CUPTI describes the counters of the GPU in %zu bytes",
                       ask.bytes);
    ask.image = s->availability = xcalloc(ask.bytes, 1);
    return cupti_ok(s->c, s->c->availability(&ask), "cuptiProfilerGetCounterAvailability", e);
}

static bool open_metrics(struct range_session *s, struct err *e)
{
    struct cupti_plain start = { .size = CUPTI_SIZE(struct cupti_plain, reserved) };
    struct cupti_chip chip = { .size = CUPTI_SIZE(struct cupti_chip, name),
                               .device = (size_t)s->work->device };
    if (!cupti_ok(s->c, s->c->initialize(&start), "cuptiProfilerInitialize", e)
        || !cupti_ok(s->c, s->c->chip_name(&chip), "cuptiDeviceGetChipName", e)
        || !read_availability(s, e))
        return false;
    return cupti_metrics_open(s->c, chip.name ? chip.name : "", s->availability, &s->metrics, e);
}

/* --- The range profiler ----------------------------------------------------------------------- */

static bool make_data(struct range_session *s, struct err *e)
{
    struct cupti_range_data_size ask = {
        .size = CUPTI_SIZE(struct cupti_range_data_size, bytes), .object = s->object,
        .metric = s->metrics.metric, .n = (size_t)s->metrics.n, .most_ranges = 1, .most_nodes = 1,
    };
    if (!cupti_ok(s->c, s->c->range_data_size(&ask), "cuptiRangeProfilerGetCounterDataSize", e))
        return false;
    if (ask.bytes == 0 || ask.bytes > (size_t)256 << 20)
        return err_set(e, ERR_ENV, "CUPTI asks for %zu bytes of counter data", ask.bytes);
    s->data_bytes = ask.bytes;
    s->data = xcalloc(ask.bytes, 1);
    struct cupti_range_data clear = { .size = CUPTI_SIZE(struct cupti_range_data, data),
                                      .object = s->object, .bytes = s->data_bytes,
                                      .data = s->data };
    return cupti_ok(s->c, s->c->range_data_clear(&clear),
                    "cuptiRangeProfilerCounterDataImageInitialize", e);
}

/* Configures the profiler to count the whole work as one range, which tilescope itself repeats for
 * each pass. So the counts of several kernels are summed, and CUPTI need not save and restore
 * memory. */
static bool configure(struct range_session *s, struct err *e)
{
    struct cupti_range_enable enable = { .size = CUPTI_SIZE(struct cupti_range_enable, object),
                                         .context = s->work->context };
    if (!cupti_ok(s->c, s->c->range_enable(&enable), "cuptiRangeProfilerEnable", e))
        return false;
    s->object = enable.object;
    if (!make_data(s, e))
        return false;
    struct cupti_range_config set = {
        .size = CUPTI_SIZE(struct cupti_range_config, level), .object = s->object,
        .config_bytes = s->metrics.bytes, .config = s->metrics.config,
        .data_bytes = s->data_bytes, .data = s->data, .range = CUPTI_USER_RANGE,
        .replay = CUPTI_USER_REPLAY, .most_ranges = 1, .levels = 1, .least_level = 1, .level = 1,
    };
    return cupti_ok(s->c, s->c->range_config(&set), "cuptiRangeProfilerSetConfig", e);
}

/* Runs the work once as one range.  *all: whether all passes are done now. */
static bool run_pass(struct range_session *s, bool *all, struct err *e)
{
    struct cupti_range plain = { .size = CUPTI_SIZE(struct cupti_range, object),
                                 .object = s->object };
    struct cupti_range_push push = { .size = CUPTI_SIZE(struct cupti_range_push, name),
                                     .object = s->object, .name = "run" };
    struct cupti_range_stop stop = { .size = CUPTI_SIZE(struct cupti_range_stop, all_passes),
                                     .object = s->object };
    if (!cupti_ok(s->c, s->c->range_start(&plain), "cuptiRangeProfilerStart", e)
        || !cupti_ok(s->c, s->c->range_push(&push), "cuptiRangeProfilerPushRange", e))
        return false;
    s->runs++;
    if (!s->work->run(s->work->arg, e)
        || !cupti_ok(s->c, s->c->range_pop(&plain), "cuptiRangeProfilerPopRange", e)
        || !cupti_ok(s->c, s->c->range_stop(&stop), "cuptiRangeProfilerStop", e))
        return false;
    *all = stop.all_passes != 0;
    return true;
}

static bool run_passes(struct range_session *s, double *value, struct err *e)
{
    struct cupti_range_decode decode = { .size = CUPTI_SIZE(struct cupti_range_decode, dropped),
                                         .object = s->object };
    for (bool all = false; !all;) {
        if (s->runs == MOST_PASSES)
            return err_set(e, ERR_ENV, "CUPTI wants more than %d passes", MOST_PASSES);
        if (!run_pass(s, &all, e))
            return false;
    }
    if (!cupti_ok(s->c, s->c->range_decode(&decode), "cuptiRangeProfilerDecodeData", e))
        return false;
    if (decode.dropped > 0)
        return err_set(e, ERR_ENV, "CUPTI dropped what it counted");
    return cupti_metrics_values(&s->metrics, s->data, s->data_bytes, value, e);
}

static void close_session(struct range_session *s)
{
    struct cupti_range plain = { .size = CUPTI_SIZE(struct cupti_range, object),
                                 .object = s->object };
    if (s->object)
        s->c->range_disable(&plain);
    cupti_metrics_close(&s->metrics);
    free(s->availability);
    free(s->data);
}

/* --- Results ---------------------------------------------------------------------------------- */

static void miss(struct counts *out, const char *name, const char *why)
{
    size_t n = strlen(out->missing);
    snprintf(out->missing + n, sizeof out->missing - n, "%s%s: %s", n ? "; " : "", name, why);
}

/* Adds values in the order of the events. A value that is not a count is left out, with a
 * reason. */
static void add_metrics(const struct range_session *s, const struct event *event, int n,
                        const double *value, struct counts *out)
{
    for (int i = 0, k = 0; i < n; i++) {
        if (k == s->metrics.n || s->metrics.metric[k] != event[i].text)
            continue;
        double v = value[k++];
        if (isfinite(v) && v >= 0)
            counts_add(out, event[i].name, v);
        else
            miss(out, event[i].name, "CUPTI returned no valid value");
    }
}

/* Counts the metrics among the events; unknown ones are listed in out->missing.  Returns false with
 * the reason in *why when CUPTI or the work failed. */
static bool count_metrics(const struct cupti *c, const struct cupti_work *w,
                          const struct event *event, int n, struct counts *out, struct err *why)
{
    struct range_session s = { .c = c, .work = w };
    double value[EVENTS_MAX];
    bool ok = open_metrics(&s, why);
    for (int i = 0; ok && i < n; i++)
        if (!cupti_is_activity(event[i].text)
            && !cupti_metrics_add(&s.metrics, event[i].text, why)) {
            ok = why->code == ERR_NAME;
            if (ok)
                miss(out, event[i].name, why->text);
        }
    for (int i = 0; i < EVENTS_MAX; i++)
        value[i] = NAN;  /* NAN: CUPTI does not write a value that was not counted */
    if (ok && s.metrics.n > 0) {
        ok = cupti_metrics_config(&s.metrics, why) && configure(&s, why)
          && run_passes(&s, value, why);
        if (ok)
            add_metrics(&s, event, n, value, out);
    }
    snprintf(out->source, sizeof out->source, "CUPTI, %d pass%s", s.runs, s.runs == 1 ? "" : "es");
    close_session(&s);
    return ok;
}

static void add_activity(const struct cupti_kernels *k, const struct event *event, int n,
                         struct counts *out)
{
    for (int i = 0; i < n; i++) {
        if (streq(event[i].text, "activity:duration"))
            counts_add(out, event[i].name, k->ns);
        if (streq(event[i].text, "activity:launches"))
            counts_add(out, event[i].name, k->launches);
        if (streq(event[i].text, "activity:registers"))
            counts_add(out, event[i].name, k->registers);
    }
}

/* Lists all events of one kind as missing, with the reason `why`: the events of activity records if
 * `activity` is true, else the metrics. */
static void miss_all(struct counts *out, const struct event *event, int n, bool activity,
                     const char *why)
{
    for (int i = 0; i < n; i++)
        if (cupti_is_activity(event[i].text) == activity)
            miss(out, event[i].name, why);
}

/* The work. seconds: the time of its first successful run by the host's clock; 0: none yet.
 * failed: whether its latest run failed. */
struct timed_work { const struct cupti_work *work; double seconds; bool failed; };

static bool run_timed(void *arg, struct err *e)
{
    struct timed_work *t = arg;
    double start = clock_s();
    t->failed = !t->work->run(t->work->arg, e);
    if (!t->failed && t->seconds == 0)
        t->seconds = clock_s() - start;
    return !t->failed;
}

bool cupti_count(const struct cupti_work *w, const struct event *event, int n, struct counts *out,
                 double *seconds, struct err *e)
{
    struct cupti c;
    struct err why = { .code = ERR_ENV }, no_records;
    struct cupti_kernels kernels = { .launches = 0 };
    struct timed_work timed = { .work = w };
    const struct cupti_work work = { w->context, w->device, run_timed, &timed };
    int n_metrics = 0;
    *out = (struct counts){ .n = 0 };
    if (!cupti_open(&c, &why)) {
        counts_refuse(out, "%.255s", why.text);
        return true;
    }
    bool recorded = cupti_kernels(&work, &kernels, &no_records);
    if (timed.failed) {
        *e = no_records;
        return false;
    }
    for (int i = 0; i < n; i++)
        n_metrics += !cupti_is_activity(event[i].text);
    bool counted = n_metrics == 0 || count_metrics(&c, &work, event, n, out, &why);
    if (timed.failed) {
        *e = why;
        return false;
    }
    *seconds = recorded ? 1e-9 * kernels.ns : timed.seconds;
    if (!counted) {
        out->missing[0] = '\0';
        miss_all(out, event, n, false, why.text);
    }
    if (recorded)
        add_activity(&kernels, event, n, out);
    else
        miss_all(out, event, n, true, no_records.text);
    out->available = out->n > 0;
    char missing[sizeof out->missing];
    memcpy(missing, out->missing, sizeof missing);
    if (!out->available && counted)
        counts_refuse(out, "%.255s", missing);
    else if (!out->available)
        counts_refuse(out, "%.170s%s%.80s", why.text, why.fix[0] ? ": " : "", why.fix);
    return true;
}
