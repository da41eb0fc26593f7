/* The meters behind one interface: probe() says whether a meter works here or why not, and
 * count() or count_apart() fills the meter's part of a measurement.  The clock and the simulator
 * have their own stages in measure.c. */
#include "profile/measure/meters.h"
#include "profile/measure/cachegrind.h"
#include "profile/counters/eventset.h"
#include "profile/measure/instructions.h"
#include "profile/child/child.h"
#include "profile/child/nvidia.h"
#include "profile/counters/papi_meter.h"
#include "profile/cuda/driver.h"
#include "profile/counters/perfevent.h"

#include <stdio.h>
#include <string.h>

static const char *const meter_what[METER_COUNT] = {
#define METER(id, name, on, what) [METER_ID_##id] = what,
#include "profile/counters/meters.def"
};

struct meter {
    /* Tries the meter. If it cannot count here, out->reason has what is missing and the fix. */
    void (*probe)(struct counts *out);
    /* Counts per call of the kernel; a missing count has a reason in *out.  False when the kernel
     * failed, and on a cancel. */
    bool (*count)(struct measure_job *j, struct counts *out, struct err *e);
    /* Counts in another process.  False with *e when that process fails; count_one then stores this
     * error as the reason. */
    bool (*count_apart)(struct measure_job *j, struct counts *out, struct err *e);
};

/* The probe of meters that need only a compiler and tilescope-runner. */
static void probe_built_in(struct counts *out)
{
    struct compiler cc;
    struct err e;
    char runner[600];
    out->available = compiler_find(NULL, &cc, &e)
                  && child_find_runner(NULL, runner, sizeof runner, &e);
    if (!out->available)
        counts_refuse(out, "%.255s", e.text);
}

static void probe_perf(struct counts *out)
{
    perf_probe(true, out);
}

static void probe_perf_sw(struct counts *out)
{
    perf_probe(false, out);
}

/* Counts the events of the set while the kernel runs, and computes the metrics of the set. */
static bool count_set(struct measure_job *j, enum meter_id meter, const struct event_set *s,
                      struct counts *out, struct err *e)
{
    struct known known = { .flops = j->program->base->flops, .bytes = j->program->base->bytes,
                           .threads = j->opts.threads };
    char how[sizeof out->source];
    if (!event_set_fits(s, out))
        return true;
    if (!runner_count(j->runner, (int)meter, s->event, s->n, out, &known.time_s, e))
        return false;
    snprintf(how, sizeof how, "event set %.32s, %.80s", s->name, out->source);
    if (out->available) {
        memcpy(out->source, how, sizeof how);
        event_set_derive(s, &known, out);
    }
    return true;
}

static bool count_events(struct measure_job *j, enum meter_id meter, struct counts *out,
                         struct err *e)
{
    const struct event_set *s = j->opts.set[meter];
    struct arena *a = arena_new();
    struct err why;
    bool ok = true;
    if (!s && !event_set_find(a, event_set_default(meter_name[meter]), &s, &why))
        counts_refuse(out, "%.255s", why.text);
    else
        ok = count_set(j, meter, s, out, e);
    arena_free(a);
    return ok;
}

static bool count_perf(struct measure_job *j, struct counts *out, struct err *e)
{
    return count_events(j, METER_ID_PERF, out, e);
}

static bool count_perf_sw(struct measure_job *j, struct counts *out, struct err *e)
{
    return count_events(j, METER_ID_PERF_SW, out, e);
}

static bool count_papi(struct measure_job *j, struct counts *out, struct err *e)
{
    return count_events(j, METER_ID_PAPI, out, e);
}

static void probe_papi(struct counts *out)
{
    papi_probe(out);
}

static bool count_cupti(struct measure_job *j, struct counts *out, struct err *e)
{
    if (j->target->gpu)
        return count_events(j, METER_ID_CUPTI, out, e);
    counts_refuse(out, "CUPTI counts on a GPU, and this kernel is for the CPU: --target cuda");
    return true;
}

/* Asks for the driver and for CUPTI, and stops at the first that is missing. */
static void probe_cupti(struct counts *out)
{
    static const enum nvidia_part needed[] = { NVIDIA_DRIVER, NVIDIA_CUPTI };
    struct err e;
    if (!cuda_driver_there(&e)) {
        counts_refuse(out, "%.254s", e.text);
        return;
    }
    for (int i = 0; i < COUNT_OF(needed); i++) {
        struct nvidia_info x;
        nvidia_ask(needed[i], NVIDIA_LIMIT_S, &x);
        if (!x.available) {
            counts_refuse(out, "%s: %.230s", x.name, x.reason);
            return;
        }
    }
    out->available = true;
}

/* By enum meter_id.  The clock and the simulator have no function that counts, because phases of
 * the measurement itself do their work. */
static const struct meter meter[METER_COUNT] = {
    [METER_ID_CLOCK] = { .probe = probe_built_in },
    [METER_ID_SIM] = { .probe = probe_built_in },
    [METER_ID_PERF] = { .probe = probe_perf, .count = count_perf },
    [METER_ID_PERF_SW] = { .probe = probe_perf_sw, .count = count_perf_sw },
    [METER_ID_PAPI] = { .probe = probe_papi, .count = count_papi },
    [METER_ID_CACHEGRIND] = { .probe = cachegrind_probe, .count_apart = cachegrind_count },
    [METER_ID_INSTRUCTIONS] = { .probe = instructions_probe, .count_apart = instructions_count },
    [METER_ID_CUPTI] = { .probe = probe_cupti, .count = count_cupti },
};

int meters_probe(struct meter_info *out, int max)
{
    int n = 0;
    for (; n < METER_COUNT && n < max; n++) {
        struct counts c = { .n = 0 };
        meter[n].probe(&c);
        out[n] = (struct meter_info){ .name = meter_name[n], .what = meter_what[n],
                                      .available = c.available };
        if (!c.available)
            snprintf(out[n].reason, sizeof out[n].reason, "%s", c.reason);
    }
    return n;
}

unsigned meters_default(void)
{
    unsigned bits = 0;
#define METER(id, name, on, what) bits |= (on) ? METER_##id : 0;
#include "profile/counters/meters.def"
    return bits;
}

bool meters_parse(const char *text, unsigned *bits, struct err *e)
{
    *bits = 0;
    for (const char *p = text;; p++) {
        char word[32];
        size_t n = strcspn(p, ",");
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        int known = METER_COUNT;
        for (int i = 0; i < METER_COUNT; i++)
            if (streq(word, meter_name[i]))
                known = i;
        if (known == METER_COUNT && !streq(word, "none")) {
            const char *near = str_nearest(word, meter_name, METER_COUNT);
            char all[160] = "";
            for (int i = 0; i < METER_COUNT; i++)
                snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? "," : "",
                         meter_name[i]);
            err_set(e, ERR_NAME, "no meter named '%s'", word);
            return near ? err_fix(e, "--meters %s", near)
                        : err_fix(e, "any of %s, or none (tilescope meters)", all);
        }
        if (known < METER_COUNT)
            *bits |= 1u << known;
        p += n;
        if (!*p)
            return true;
    }
}

bool meters_events(struct arena *a, const char *text, struct measure_opts *o, struct err *e)
{
    const struct event_set *taken[METER_COUNT] = { NULL };
    for (const char *p = text;; p++) {
        const struct event_set *s;
        size_t n = strcspn(p, ",");
        int m = METER_ID_PERF;
        if (!event_set_find(a, arena_strndup(a, p, n), &s, e))
            return false;
        while (!streq(meter_name[m], s->meter))
            m++;
        if (taken[m]) {
            err_set(e, ERR_RANGE, "%.60s and %.60s are both counted by the meter %s",
                    taken[m]->name, s->name, s->meter);
            return err_fix(e, "use one of them, and a second run for the other");
        }
        taken[m] = o->set[m] = s;
        o->meters |= 1u << m;
        p += n;
        if (!*p)
            return true;
    }
}

static bool count_one(struct measure_job *j, const struct meter *m, struct counts *out,
                      struct err *e)
{
    if (m->count)
        return m->count(j, out, e);
    m->probe(out);
    if (!out->available || !m->count_apart)
        return true;
    *out = (struct counts){ .n = 0 };
    out->available = m->count_apart(j, out, e);
    if (!out->available)
        counts_refuse(out, "%.255s", e->text);
    return out->available || e->code != ERR_CANCEL;
}

bool meters_count(struct measure_job *j, struct err *e)
{
    for (int i = METER_ID_PERF; i < METER_COUNT; i++) {
        struct counts *out = &j->m->counts[i];
        char doing[40];
        if (!(j->opts.meters & 1u << i))
            continue;
        snprintf(doing, sizeof doing, "counting (%s)", meter_name[i]);
        measure_begin(j, doing);
        if (!count_one(j, &meter[i], out, e))
            return false;
    }
    return true;
}
