#include "app/views/measurement_doc.h"

#include <stdio.h>
#include <string.h>

#include "app/ui/text.h"
#include "app/views/roofline_plot.h"
#include "profile/measure/oracle.h"
#include "kernels/program/contract.h"

void measurement_doc_row(struct doc *d, const char *label, enum style s, size_t lead,
                         struct str *text, int width)
{
    doc_put(d, STYLE_DIM, label);
    doc_put(d, STYLE_PLAIN, strlen(label) < MEASUREMENT_LABEL ? "" : " ");
    doc_pad(d, MEASUREMENT_LABEL);
    doc_printf(d, s, "%.*s", (int)lead, str_text(text));
    doc_wrap(d, STYLE_PLAIN, str_text(text) + lead, width, MEASUREMENT_LABEL);
    str_free(text);
}

/* Adds a row whose label is `name` with a colon. */
static void put_named(struct doc *d, const char *name, struct str *text, int width)
{
    char label[32];
    snprintf(label, sizeof label, "%s:", name);
    measurement_doc_row(d, label, STYLE_PLAIN, 0, text, width);
}

static void put_verified(struct doc *d, const struct measurement *m, int width)
{
    struct str text = {0};
    enum style s = m->verified ? STYLE_GOOD : STYLE_BAD;
    str_add(&text, m->verified ? "true" : "false");
    size_t lead = text.len;
    if (measurement_compared(m) && m->max_rel_err < ORACLE_INFINITE)
        str_printf(&text, "   max rel err %.1e, %.2g of the bound", m->max_rel_err,
                   m->error_of_bound);
    measurement_doc_row(d, "verified:", s, lead, &text, width);
    if (m->outcome == OUTCOME_OK)
        return;
    str_add(&text, outcome_name[m->outcome]);
    lead = text.len;
    if (m->reason[0])
        str_printf(&text, ": %s", m->reason);
    measurement_doc_row(d, "failed:", STYLE_BAD, lead, &text, width);
}

bool measurement_doc_noise(struct str *out, const struct latency *l)
{
    bool noisy = latency_noisy(l);
    if (noisy && latency_spreads(l))
        str_printf(out, "the middle half spreads over %.0f %%", 100 * l->spread);
    else if (noisy)
        str_printf(out, "the median is %.0f %% above the best time",
                   100 * (l->median_ms / l->min_ms - 1));
    if (noisy && l->noisy)
        str_add(out, ", however often it was sampled");
    return noisy;
}

void measurement_doc_others(struct str *out, const struct latency *l)
{
    if (latency_beside_others(l))
        str_printf(out, "%sother work used %.0f %% of the CPUs meanwhile", out->len > 0 ? "; " : "",
                   100 * l->others);
}

void measurement_doc_noisy(struct doc *d, const struct latency *l, double load, int width)
{
    struct str text = {0};
    measurement_doc_noise(&text, l);
    measurement_doc_others(&text, l);
    if (text.len == 0)
        return;
    if (load > 0)
        str_printf(&text, "; the load of the machine was %.1f", load);
    if (l->disturbed > 0)
        str_printf(&text, "; the ceiling was slow beside %.0f %% of the samples",
                   100 * l->disturbed);
    measurement_doc_row(d, "noisy:", STYLE_PLAIN, 0, &text, width);
}

/* Adds remarks on the latency: noise, more threads than cores, huge pages. */
static void put_doubts(struct doc *d, const struct measurement *m, int width)
{
    struct str text = {0};
    measurement_doc_noisy(d, &m->latency, m->load, width);
    if (m->threads_note[0]) {
        str_add(&text, m->threads_note);
        measurement_doc_row(d, "threads:", STYLE_PLAIN, 0, &text, width);
    }
    if (m->huge_asked) {
        str_printf(&text, "%.1f of the %.1f MiB of the buffers are in huge ones",
                   (double)m->huge_bytes / (1 << 20), (double)m->huge_of_bytes / (1 << 20));
        measurement_doc_row(d, "pages:", STYLE_PLAIN, 0, &text, width);
    }
}

/* Appends "1.047 ms best, 1.076 ms median, spread 3.2 %" to *out, which must be empty. Returns the
 * length of the best time in bytes. */
static size_t add_latency(struct str *out, const struct latency *l, bool exact)
{
    void (*add_ms)(struct str *out, double ms) = exact ? str_ms : text_ms;
    add_ms(out, l->min_ms);
    size_t lead = out->len;
    str_add(out, " best, ");
    add_ms(out, l->median_ms);
    str_printf(out, " median, spread %.1f %%", 100 * l->spread);
    return lead;
}

static void put_latency(struct doc *d, const struct measurement *m,
                        const struct measurement_look *k)
{
    struct str text = {0};
    size_t lead = add_latency(&text, &m->latency, k->exact);
    str_printf(&text, ", %d run%s", m->latency.runs, m->latency.runs == 1 ? "" : "s");
    if (!m->device.name[0])
        str_printf(&text, ", %d thread%s", m->threads, m->threads == 1 ? "" : "s");
    if (m->measurements > 1)
        str_printf(&text, ", best of %d measurements", m->measurements);
    measurement_doc_row(d, "latency:", STYLE_STRONG, lead, &text, k->width);
    put_doubts(d, m, k->width);
    if (m->cold_latency.runs == 0)
        return;
    add_latency(&text, &m->cold_latency, k->exact);
    str_printf(&text, ", %d single calls, %s before each", m->cold_latency.runs, m->cold_method);
    measurement_doc_row(d, "cold:", STYLE_PLAIN, 0, &text, k->width);
}

static void put_no_latency(struct doc *d, const struct measurement *m, int width)
{
    struct str text = {0};
    str_add(&text, "not timed");
    if (target_named(m->isa)->gpu)
        str_add(&text, ": the kernels are for a GPU, and their host twin was checked");
    if (m->device.reason[0])
        str_printf(&text, "; %s", m->device.reason);
    measurement_doc_row(d, "latency:", STYLE_PLAIN, 0, &text, width);
}

/* Adds "NVIDIA H100 80GB HBM3, driver for CUDA 13.0, NVRTC 13.0, up to 1980 MHz, memory 2619
 * MHz". */
static void put_device(struct doc *d, const struct measured_device *g, int width)
{
    struct str text = {0};
    str_printf(&text, "%s, driver for CUDA %s, NVRTC %s", g->name, g->driver, g->nvrtc);
    if (g->clock_mhz > 0)
        str_printf(&text, ", up to %d MHz", g->clock_mhz);
    if (g->memory_mhz > 0)
        str_printf(&text, ", memory %d MHz", g->memory_mhz);
    measurement_doc_row(d, "device:", STYLE_PLAIN, 0, &text, width);
}

/* Appends ", 76 % of this run's FMA ceiling (94.4)", if the ceiling is known. */
static void add_ceiling(struct str *out, const struct measurement *m)
{
    if (!(m->peak_fraction > 0))
        return;
    str_printf(out, ", %.0f %% of this run's FMA ceiling (%.1f", 100 * m->peak_fraction,
               m->peak_gflops);
    if (m->threads > 1)
        str_printf(out, " with %s on %d threads", m->isa, m->threads);
    str_add_char(out, ')');
}

static void put_speed(struct doc *d, const struct measurement *m, const struct measurement_look *k)
{
    struct str text = {0};
    str_printf(&text, "%.1f GFLOP/s at the best", m->gflops);
    if (m->executed_gflops > 0 && m->executed_gflops < SOME_SKIPPED * m->gflops)
        str_printf(&text, " (%.1f executed: %s)", m->executed_gflops,
                   k->program->n_algorithms ? "the algorithm needs fewer" : "padding is skipped");
    add_ceiling(&text, m);
    if (m->peak_fraction >= 1.005)
        str_printf(&text, "; above 100 %%: %s", k->program->n_algorithms ? ROOFLINE_BESIDE
                   : "the ceiling was measured while the machine was slower");
    if (!(m->peak_fraction > 0) && m->peak_reason[0])
        str_printf(&text, "; no share of a ceiling: %s", m->peak_reason);
    measurement_doc_row(d, "speed:", STYLE_PLAIN, 0, &text, k->width);
    if (k->exact || !(m->peak_fraction > 0))
        return;
    int bar = k->width - MEASUREMENT_LABEL;
    doc_pad(d, MEASUREMENT_LABEL);
    doc_bar(d, STYLE_GOOD, m->peak_fraction, bar > 50 ? 50 : bar);
    doc_end(d);
}

/* Adds the roofline bound of the speed, the level of memory or the ceiling that sets this bound,
 * and doubts about the machine model. Adds nothing if the bound is unknown. */
static void put_roofline(struct doc *d, const struct measurement *m,
                         const struct measurement_look *k)
{
    const struct graph *g = k->program->base;
    struct roof_step here = { .algorithm = k->program->n_algorithms > 0 };
    struct str text = {0}, doubts = {0};
    roofline_of(k->model, g->flops, g->bytes, m, &here.r);
    if (here.r.bound <= 0 || here.r.gflops <= 0)
        return;
    roofline_plot_remark(&text, &here);
    measurement_doc_row(d, "roofline:", STYLE_PLAIN, 0, &text, k->width);
    roofline_doubts(k->model, m, &doubts);
    if (doubts.len > 0) {
        str_printf(&text, "the machine model of %s: %s; tilescope machine --measure",
                   k->model->date, str_text(&doubts));
        measurement_doc_row(d, "doubtful:", STYLE_BAD, 0, &text, k->width);
    }
    str_free(&doubts);
}

/* Adds for each vendor library its times and its implementation, or why it was not timed. */
static void put_baselines(struct doc *d, const struct measurement *m,
                          const struct measurement_look *k)
{
    for (int i = 0; i < VENDOR_COUNT; i++) {
        const struct baseline *b = &m->baseline[i];
        struct str text = {0};
        if (!b->available && !b->reason[0])
            continue;
        if (b->available) {
            add_latency(&text, &b->latency, k->exact);
            str_printf(&text, "; %.2f times this kernel's minimum when both were timed in turns",
                       b->ratio);
        } else {
            str_printf(&text, "not available: %s", b->reason);
        }
        put_named(d, vendor_name[i], &text, k->width);
        if (!b->available)
            continue;
        str_printf(&text, "%s, %s", b->implementation, b->layout);
        measurement_doc_row(d, "", STYLE_PLAIN, 0, &text, k->width);
    }
}

static void put_compiler(struct doc *d, const struct measurement *m, int width)
{
    struct str text = {0};
    str_add(&text, m->compiler);
    if (m->isa[0])
        str_printf(&text, ", %s", m->isa);
    if (m->build_s >= 0.005)
        str_printf(&text, ", %.2f s", m->build_s);
    measurement_doc_row(d, "compiler:", STYLE_PLAIN, 0, &text, width);
}

/* Appends "cycles ~12 345 (in 41 % of the time), ...", where ~ marks an extrapolated count.
 * derived: true: appends only the derived counts; false: only the counts that are not derived. */
static void add_counts(struct str *out, const struct counts *p, bool derived)
{
    size_t start = out->len;
    for (int i = 0; i < p->n; i++) {
        const struct count *c = &p->count[i];
        if (c->derived != derived)
            continue;
        str_printf(out, "%s%s %s", out->len > start ? ", " : "", c->name, c->scaled ? "~" : "");
        str_quantity(out, c->value);
        if (c->unit[0])
            str_printf(out, " %s", c->unit);
        if (c->scaled && c->running > 0)
            str_printf(out, " (in %.0f %% of the time)", 100 * c->running);
    }
}

static void put_counts(struct doc *d, const char *meter, const struct counts *p, int width)
{
    struct str text = {0};
    if (p->available)
        add_counts(&text, p, false);
    else
        str_printf(&text, "not available: %s", p->reason);
    if (p->available && p->source[0])
        str_printf(&text, " (%s)", p->source);
    put_named(d, meter, &text, width);
    add_counts(&text, p, true);
    if (p->available && text.len > 0)
        measurement_doc_row(d, "", STYLE_PLAIN, 0, &text, width);
    if (p->available && p->missing[0]) {
        str_printf(&text, "not counted: %s", p->missing);
        measurement_doc_row(d, "", STYLE_PLAIN, 0, &text, width);
    }
    str_free(&text);
}

static void put_contract(struct doc *d, const struct program *p, int width)
{
    struct str text = {0};
    contract_print(&text, p);
    contract_print_packed(&text, p);
    measurement_doc_row(d, "contract:", STYLE_PLAIN, 0, &text, width);
}

void measurement_doc(struct doc *d, const struct measurement *m, const struct measurement_look *k)
{
    put_verified(d, m, k->width);
    if (k->program->form != k->program->base) {
        struct str text = {0};
        program_print_algorithms(&text, k->program);
        measurement_doc_row(d, "method:", STYLE_PLAIN, 0, &text, k->width);
    }
    if (!m->verified)
        return;
    if (k->meters & METER_CLOCK && m->latency.runs == 0) {
        put_no_latency(d, m, k->width);
    } else if (k->meters & METER_CLOCK) {
        put_latency(d, m, k);
        if (m->device.name[0])
            put_device(d, &m->device, k->width);
        put_speed(d, m, k);
        put_roofline(d, m, k);
    }
    put_baselines(d, m, k);
    put_compiler(d, m, k->width);
    put_contract(d, k->program, k->width);
    for (int i = METER_ID_PERF; i < METER_COUNT; i++)
        if (k->meters & 1u << i && (m->counts[i].available || m->counts[i].reason[0]))
            put_counts(d, meter_name[i], &m->counts[i], k->width);
    if (k->meters & METER_SIM)
        sim_doc(d, &m->sim, k);
}

const struct sim_result *measurement_before(const struct history *h, const struct sim_result *now)
{
    for (int id = history_current(h)->parent; id >= 0; id = history_state(h, id)->parent) {
        const struct measurement *r = history_state(h, id)->measured;
        if (r && r->sim.available && cache_config_same_l1(&r->sim.cache, &now->cache))
            return &r->sim;
    }
    return NULL;
}
