/* A CUPTI without a GPU, for the tests.  $FAKE_CUPTI scripts it: nothing, it answers and insists
 * on the order of calls; "hang", "die", "privilege", "nan", "negative", "endless", "empty" (sizes
 * of 0), "dropped", "silent" (no record of a kernel), "backwards" (a kernel that ends before it
 * starts), "unrecorded" (it cannot record kernels), "crash" (when it counts), "nameless" (errors
 * without a text), "chip" (it knows no chip). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/counters/cupti.h"

enum { OK = 0, INVALID = 1, WRONG_ORDER = 7, UNKNOWN = 999, PASSES = 3 };

static int is(const char *script)
{
    const char *own = getenv("FAKE_CUPTI");
    return own && strcmp(own, script) == 0;
}

static struct { int initialized, enabled, configured, started, pushed, passes, decoded; } state;
static char object, host;
static cupti_give_buffer *give;
static cupti_take_buffer *take;
static int recording;

int cuptiGetVersion(uint32_t *version)
{
    if (is("hang"))
        sleep(1000);
    if (is("die"))
        abort();
    *version = 130001;
    return OK;
}

int cuptiGetResultString(int result, const char **text)
{
    if (is("nameless"))
        return INVALID;
    *text = result == CUPTI_NO_PRIVILEGE ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
          : result == WRONG_ORDER ? "CUPTI_ERROR_INVALID_OPERATION" : "CUPTI_ERROR_UNKNOWN";
    return OK;
}

int cuptiProfilerInitialize(struct cupti_plain *p)
{
    state.initialized = 1;
    return p->size == 16 ? OK : INVALID;
}
int cuptiProfilerDeInitialize(struct cupti_plain *p) { return p->size == 16 ? OK : INVALID; }

int cuptiDeviceGetChipName(struct cupti_chip *p)
{
    p->name = "GH100";
    return p->size == 32 ? OK : INVALID;
}

int cuptiProfilerGetCounterAvailability(struct cupti_availability *p)
{
    if (!p->image)
        p->bytes = is("empty") ? 0 : 100;
    return p->context ? OK : INVALID;
}

int cuptiProfilerHostInitialize(struct cupti_host_open *p)
{
    if (is("chip") || strcmp(p->chip, "GH100") != 0)
        return UNKNOWN;
    p->host = &host;
    return p->size == 48 ? OK : INVALID;
}
int cuptiProfilerHostDeinitialize(struct cupti_host_close *p)
{
    return p->host == &host ? OK : INVALID;
}
int cuptiProfilerHostGetMetricProperties(struct cupti_host_metric *p)
{
    return strstr(p->metric, "nosuch") ? CUPTI_NO_METRIC : OK;
}
int cuptiProfilerHostConfigAddMetrics(struct cupti_host_add *p)
{
    return p->n > 0 ? OK : INVALID;
}
int cuptiProfilerHostGetConfigImageSize(struct cupti_host_size *p)
{
    p->bytes = 64;
    return OK;
}
int cuptiProfilerHostGetConfigImage(struct cupti_host_config *p)
{
    memset(p->image, 7, p->bytes);
    return OK;
}
int cuptiProfilerHostGetNumOfPasses(struct cupti_host_passes *p)
{
    p->passes = PASSES;
    return p->image[63] == 7 ? OK : INVALID;
}

/* Metric i counts 1000 * (i + 1). */
int cuptiProfilerHostEvaluateToGpuValues(struct cupti_host_values *p)
{
    if (!state.decoded || p->data[0] != 9)
        return WRONG_ORDER;
    for (size_t i = 0; i < p->n; i++)
        p->value[i] = is("nan") ? (double)NAN : is("negative") ? -1 : 1000 * (double)(i + 1);
    return OK;
}

int cuptiRangeProfilerEnable(struct cupti_range_enable *p)
{
    if (is("crash"))
        abort();
    if (is("privilege"))
        return CUPTI_NO_PRIVILEGE;
    if (!state.initialized || state.enabled)
        return WRONG_ORDER;
    memset(&state, 0, sizeof state);
    state.initialized = state.enabled = 1;
    p->object = &object;
    return OK;
}
int cuptiRangeProfilerDisable(struct cupti_range *p)
{
    state.enabled = 0;
    return p->object == &object ? OK : INVALID;
}
int cuptiRangeProfilerGetCounterDataSize(struct cupti_range_data_size *p)
{
    p->bytes = 128;
    bool sized = p->size == CUPTI_SIZE(struct cupti_range_data_size, bytes);
    return state.enabled && p->n > 0 && sized ? OK : WRONG_ORDER;
}
int cuptiRangeProfilerCounterDataImageInitialize(struct cupti_range_data *p)
{
    p->data[0] = 9;
    return OK;
}
int cuptiRangeProfilerSetConfig(struct cupti_range_config *p)
{
    state.configured = p->config[0] == 7 && p->data[0] == 9 && p->range == CUPTI_USER_RANGE
                    && p->replay == CUPTI_USER_REPLAY && p->least_level == 1;
    return state.configured ? OK : INVALID;
}
int cuptiRangeProfilerStart(struct cupti_range *p)
{
    if (!state.configured || state.started || p->object != &object)
        return WRONG_ORDER;
    state.started = 1;
    return OK;
}
int cuptiRangeProfilerPushRange(struct cupti_range_push *p)
{
    if (!state.started || state.pushed || !p->name)
        return WRONG_ORDER;
    state.pushed = 1;
    return OK;
}
int cuptiRangeProfilerPopRange(struct cupti_range *p)
{
    if (!state.pushed || p->object != &object)
        return WRONG_ORDER;
    state.pushed = 0;
    return OK;
}
int cuptiRangeProfilerStop(struct cupti_range_stop *p)
{
    if (!state.started || state.pushed)
        return WRONG_ORDER;
    state.started = 0;
    state.passes++;
    p->all_passes = !is("endless") && state.passes >= PASSES;
    return OK;
}
int cuptiRangeProfilerDecodeData(struct cupti_range_decode *p)
{
    if (state.passes < PASSES)
        return WRONG_ORDER;
    state.decoded = 1;
    p->dropped = is("dropped");
    return OK;
}

/* --- Records of activity ---------------------------------------------------------------------- */

int cuptiActivityRegisterCallbacks(cupti_give_buffer *g, cupti_take_buffer *t)
{
    give = g;
    take = t;
    return OK;
}
int cuptiActivityEnable(int kind)
{
    if (is("unrecorded"))
        return UNKNOWN;
    recording = 1;
    return kind == CUPTI_CONCURRENT_KERNEL ? OK : INVALID;
}
int cuptiActivityDisable(int kind)
{
    recording = 0;
    return kind == CUPTI_CONCURRENT_KERNEL ? OK : INVALID;
}

/* Two kernels, of 1000 and 500 ns, with another record between them. */
static const struct cupti_kernel_record record[] = {
    { .kind = CUPTI_CONCURRENT_KERNEL, .registers = 32, .start = 100, .end = 1100 },
    { .kind = 1 },
    { .kind = CUPTI_CONCURRENT_KERNEL, .registers = 64, .start = 2000, .end = 2500 },
};

int cuptiActivityFlushAll(uint32_t flags)
{
    uint8_t *buffer;
    size_t bytes, most, valid = is("silent") ? 0 : sizeof record;
    if (!recording || flags != CUPTI_FLUSH_FORCED)
        return WRONG_ORDER;
    give(&buffer, &bytes, &most);
    memcpy(buffer, record, valid);
    if (is("backwards") && valid)
        ((struct cupti_kernel_record *)(void *)buffer)[2].end = 10;
    take(NULL, 0, buffer, bytes, valid);
    return OK;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t bytes, void **at)
{
    uint8_t *next = *at ? (uint8_t *)*at + sizeof *record : buffer;
    if (next >= buffer + bytes)
        return CUPTI_QUEUE_EMPTY;
    *at = next;
    return OK;
}
