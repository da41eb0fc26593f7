/* Merges several measurements of the same program into one. */
#include <string.h>
#include "profile/measure/measurement.h"

static bool same_device(const struct measured_device *a, const struct measured_device *b)
{
    return streq(a->name, b->name) && streq(a->driver, b->driver) && streq(a->nvrtc, b->nvrtc);
}

bool measurement_same_way(const struct measurement *a, const struct measurement *b)
{
    int threads_a = a->threads > 1 ? a->threads : 1, threads_b = b->threads > 1 ? b->threads : 1;
    return threads_a == threads_b && streq(a->isa, b->isa) && streq(a->compiler, b->compiler)
        && streq(a->code, b->code)
        && (a->latency.runs == 0 || b->latency.runs == 0 || same_device(&a->device, &b->device));
}

/* Copies the time and the members that depend on it: speeds, and how the time was measured.
 * baselines: whether to copy the baselines too, which were timed in turns with the kernel. */
static void take_clock(struct measurement *m, const struct measurement *from, bool baselines)
{
    m->latency = from->latency;
    m->huge_asked = from->huge_asked;
    m->huge_bytes = from->huge_bytes;
    m->huge_of_bytes = from->huge_of_bytes;
    memcpy(m->threads_note, from->threads_note, sizeof m->threads_note);
    m->gflops = from->gflops;
    m->executed_gflops = from->executed_gflops;
    m->peak_gflops = from->peak_gflops;
    m->peak_fraction = from->peak_fraction;
    memcpy(m->peak_reason, from->peak_reason, sizeof m->peak_reason);
    m->load = from->load;
    memcpy(m->measured_at, from->measured_at, sizeof m->measured_at);
    if (baselines)
        memcpy(m->baseline, from->baseline, sizeof m->baseline);
    m->device = from->device;
}

static void take_cold(struct measurement *m, const struct measurement *from)
{
    m->cold_latency = from->cold_latency;
    memcpy(m->cold_method, from->cold_method, sizeof m->cold_method);
}

static bool has_baseline(const struct measurement *m)
{
    for (int i = 0; i < VENDOR_COUNT; i++)
        if (m->baseline[i].available)
            return true;
    return false;
}

/* Returns how often the program was timed. Older files do not store this number, and then it is 1
 * if there is a time. */
static int times_of(const struct measurement *m)
{
    return m->latency.runs == 0 ? 0 : m->measurements > 1 ? m->measurements : 1;
}

bool measurement_merge(struct measurement *m, const struct measurement *old, bool newest)
{
    if (!old || m->outcome != OUTCOME_OK || old->outcome != OUTCOME_OK
        || !measurement_same_way(m, old))
        return false;
    bool timed = m->latency.runs > 0;
    bool stays = old->latency.runs > 0
              && (!timed || (!newest && old->latency.min_ms < m->latency.min_ms));
    m->measurements = times_of(m) + times_of(old);
    if (stays)
        take_clock(m, old, has_baseline(old) || !has_baseline(m));
    else if (!newest && !has_baseline(m) && has_baseline(old))
        memcpy(m->baseline, old->baseline, sizeof m->baseline);
    if (m->cold_latency.runs == 0)
        take_cold(m, old);
    if (!m->sim.available && old->sim.available)
        m->sim = old->sim;
    for (int i = METER_ID_PERF; i < METER_COUNT; i++)
        if (!m->counts[i].available && old->counts[i].available)
            m->counts[i] = old->counts[i];
    return stays && timed;
}
