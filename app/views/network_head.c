#include "app/views/network_head.h"

#include "app/ui/text.h"
#include "app/views/measurement_doc.h"
#include "sessions/report/network_report.h"

#define ROOM_FOR_SPEED 90  /* columns from which the row "latency:" also has the speed */

/* Appends the share of the peak that the executed operations reach.  wide: first appends the
 * GFLOP/s of the operations in the definition; if clearly fewer operations are executed, also
 * appends the GFLOP/s of the executed ones. */
static void put_speed(struct str *out, const struct network_measurement *m, bool wide)
{
    double executed = m->peak_fraction * m->peak_gflops;
    bool skipped = wide && executed > 0 && executed < SOME_SKIPPED * m->gflops;
    if (wide)
        str_printf(out, "; %.1f GFLOP/s", m->gflops);
    if (skipped)
        str_printf(out, ", %.1f executed; %.0f %% of peak (%.1f)", executed,
                   100 * m->peak_fraction, m->peak_gflops);
    else if (executed > 0)
        str_printf(out, "; %.0f %% of peak", 100 * m->peak_fraction);
}

static void put_latency(struct doc *d, const struct network_look *k, const struct kernel_sums *sum)
{
    const struct network_measurement *m = k->m;
    struct str text = {0};
    text_ms(&text, m->latency.min_ms);
    size_t lead = text.len;
    str_add(&text, k->outdated ? " best (with the steps before), " : " best, ");
    text_ms(&text, m->latency.median_ms);
    str_printf(&text, " median, spread %.1f %%", 100 * m->latency.spread);
    if (k->exact) {
        str_printf(&text, ", %d run%s, first run ", m->latency.runs,
                   m->latency.runs == 1 ? "" : "s");
        text_ms(&text, m->first_call_ms);
    }
    if (sum->s > 0) {
        str_add(&text, "; kernels' best times add up to ");
        text_ms(&text, 1e3 * sum->s);
    }
    if (sum->s > 0 && sum->untimed > 0)
        str_printf(&text, " without %d kernel%s that %s new", sum->untimed,
                   sum->untimed == 1 ? "" : "s", sum->untimed == 1 ? "is" : "are");
    put_speed(&text, m, k->width >= ROOM_FOR_SPEED);
    if (m->threads > 1)
        str_printf(&text, "; %d threads", m->threads);
    measurement_doc_row(d, "latency:", k->outdated ? STYLE_PLAIN : STYLE_STRONG, lead, &text,
                        k->width);
    measurement_doc_noisy(d, &m->latency, m->load, k->width);
}

/* Adds how far the outputs are from an evaluation of the whole graph. */
static void put_whole(struct doc *d, const struct network_look *k)
{
    const struct network_measurement *m = k->m;
    struct str text = {0};
    str_printf(&text, "outputs are off by at most %.2g, %.2g of what is allowed", m->whole.abs_err,
               m->whole.of_allowed);
    if (m->whole.reason[0])
        str_printf(&text, "; %s", m->whole.reason);
    measurement_doc_row(d, "whole:", STYLE_PLAIN, 0, &text, k->width);
}

/* Adds the sum of the bounds: a time that no schedules can beat. */
static void put_bound(struct doc *d, const struct network_look *k, double bound_s)
{
    struct str text = {0};
    bool timed = k->m && k->m->latency.runs > 0;
    if (bound_s > 0) {
        text_ms(&text, 1e3 * bound_s);
        str_add(&text, ", the sum of roofline bounds");
        if (timed)
            str_printf(&text, "; the network takes %.2f times that",
                       1e-3 * k->m->latency.min_ms / bound_s);
    } else if (k->exact && timed) {
        str_add(&text, "unknown; tilescope machine measures the roofs of this machine");
    }
    if (text.len)
        measurement_doc_row(d, "bound:", STYLE_PLAIN, 0, &text, k->width);
}

/* Adds the counts of a meter, summed over all calls of the network. If the meter could not count in
 * some kernel, adds the reason instead. */
static void put_counts(struct doc *d, const struct network *net, const struct measurement *kernel,
                       enum meter_id meter, int width)
{
    struct counts sum = kernel[0].counts[meter];
    const char *why = NULL;
    struct str text = {0}, label = {0};
    for (int i = 0; i < net->n_tasks && !why; i++) {
        const struct counts *c = &kernel[i].counts[meter];
        why = kernel[i].outcome != OUTCOME_OK ? kernel[i].reason
            : !c->available                   ? c->reason
                                              : NULL;
        for (int n = 0; n < sum.n; n++)
            sum.count[n].value = (i ? sum.count[n].value : 0)
                               + net->task[i].count * c->count[n].value;
    }
    for (int n = 0; n < sum.n && !why; n++) {
        if (sum.count[n].derived)
            continue;
        str_printf(&text, "%s%s ", text.len ? ", " : "", sum.count[n].name);
        str_quantity(&text, sum.count[n].value);
    }
    if (why)
        str_printf(&text, "not available: %s", why);
    str_printf(&label, "%s:", meter_name[meter]);
    measurement_doc_row(d, str_text(&label), STYLE_PLAIN, 0, &text, width);
    str_free(&label);
}

/* Adds the simulated misses, summed over all calls, and names the first kernel that could not be
 * simulated. */
static void put_misses(struct doc *d, const struct network *net, const struct measurement *kernel,
                       int width)
{
    struct str text = {0};
    double sum = 0;
    int failed = -1;
    for (int i = net->n_tasks - 1; i >= 0; i--) {
        const struct sim_result *s = &kernel[i].sim;
        sum += s->available ? (double)s->l1_misses * net->task[i].count : 0;
        failed = s->available ? failed : i;
    }
    str_quantity(&text, sum);
    str_add(&text, " L1 misses of all calls, each kernel simulated by itself");
    if (failed >= 0)
        str_printf(&text, "; not kernel %d: %s", failed,
                   kernel[failed].outcome != OUTCOME_OK ? kernel[failed].reason
                                                        : kernel[failed].sim.reason);
    measurement_doc_row(d, "sim:", STYLE_PLAIN, 0, &text, width);
}

static void put_meters(struct doc *d, const struct network *net, const struct network_look *k)
{
    if (!k->m || !k->m->kernel)
        return;
    for (int i = METER_ID_PERF; i < METER_COUNT; i++)
        if (k->meters & 1u << i)
            put_counts(d, net, k->m->kernel, (enum meter_id)i, k->width);
    if (k->meters & METER_SIM)
        put_misses(d, net, k->m->kernel, k->width);
}

/* Adds the lines that only reports have: the errors against the whole graph and against the
 * author's outputs, and how long the preparation took. */
static void put_exact(struct doc *d, const struct network_look *k)
{
    const struct network_measurement *m = k->m;
    struct str text = {0};
    if (m->whole_compared)
        put_whole(d, k);
    if (m->compared) {
        str_printf(&text, "outputs are off by at most %.2g, %.2g of what is allowed",
                   m->author_abs_err, m->author_of_bound);
        measurement_doc_row(d, "expected:", STYLE_PLAIN, 0, &text, k->width);
    }
    str_printf(&text, "compiled in %.1f s, constants in %.1f s, checked in %.1f s", m->build_s,
               m->prepare_s, m->check_s + m->whole_s);
    measurement_doc_row(d, "prepared:", STYLE_PLAIN, 0, &text, k->width);
}

static void put_verdict(struct doc *d, const struct network *net, const struct network_look *k)
{
    struct str text = {0};
    const struct network_measurement *m = k->m;
    if (k->outdated) {
        str_printf(&text, "the shown kernels lack the newest steps%s", k->advice);
        measurement_doc_row(d, "stale:", STYLE_BAD, 0, &text, k->width);
    } else if (!m) {
        str_printf(&text, "no%s", k->advice);
        measurement_doc_row(d, "measured:", STYLE_PLAIN, 0, &text, k->width);
    } else if (m->outcome != OUTCOME_OK) {
        str_printf(&text, "%s", outcome_name[m->outcome]);
        size_t lead = text.len;
        str_printf(&text, ": %s", m->reason);
        measurement_doc_row(d, "failed:", STYLE_BAD, lead, &text, k->width);
    } else if (k->timed != net) {
        str_printf(&text, "kernels have other steps since it was measured%s", k->advice);
        measurement_doc_row(d, "stale:", STYLE_BAD, 0, &text, k->width);
    } else {
        str_add(&text, m->verified ? "true" : "false");
        size_t lead = text.len;
        if (m->verified)
            str_printf(&text, ", every kernel%s; the worst error is %.2g of its bound",
                       m->whole_compared ? " and the whole" : "", m->error_of_bound);
        else
            str_add(&text, ": kernels were not compared with the reference");
        measurement_doc_row(d, "verified:", m->verified ? STYLE_GOOD : STYLE_BAD, lead, &text,
                            k->width);
    }
}

void network_head_doc(struct doc *d, const struct network *net, const struct network_look *k,
                      const struct kernel_sums *sum)
{
    if (k->m && k->m->latency.runs > 0)
        put_latency(d, k, sum);
    put_bound(d, k, sum->bound_s);
    put_verdict(d, net, k);
    if (k->m && k->exact)
        put_exact(d, k);
}

void network_facts_doc(struct doc *d, const struct network *net, const struct network_look *k,
                       const struct kernel_sums *sum)
{
    struct str text = {0};
    const struct module_plan *plan = net->module->plan;
    str_printf(&text, "%d kernel%s, %d call%s, ", net->n_tasks, net->n_tasks == 1 ? "" : "s",
               net->module->n_calls, net->module->n_calls == 1 ? "" : "s");
    if (net->n_conversions) {
        str_printf(&text, "%d conversion%s (", net->n_conversions,
                   net->n_conversions == 1 ? "" : "s");
        text_bytes(&text, (double)net->conversion_bytes);
        str_add_char(&text, ')');
    } else {
        str_add(&text, "no conversions");
    }
    int other = 0;
    for (int i = 0; i < net->n_tasks; i++)
        other += net->task[i].program->n_algorithms > 0;
    if (other)
        str_printf(&text, "; %d kernel%s by winograd", other, other == 1 ? "" : "s");
    if (sum->chosen)
        str_printf(&text, "; * %d with chosen steps", sum->chosen);
    if (sum->idle)
        str_printf(&text, "; %d kernel%s with chosen steps %s no longer in the network", sum->idle,
                   sum->idle == 1 ? "" : "s", sum->idle == 1 ? "is" : "are");
    measurement_doc_row(d, "network:", STYLE_PLAIN, 0, &text, k->width);
    for (int i = 0; i < net->parts.n_steps; i++)
        str_printf(&text, "%s%s", i ? "; " : "", net->parts.step[i]);
    if (net->parts.n_steps > 0)
        measurement_doc_row(d, "steps:", STYLE_PLAIN, 0, &text, k->width);
    text_bytes(&text, (double)plan->bytes);
    str_add(&text, " of intermediates (at least ");
    text_bytes(&text, (double)plan->least);
    str_add(&text, "), ");
    text_bytes(&text, (double)network_report_constant_bytes(net));
    str_add(&text, " of constants");
    measurement_doc_row(d, "memory:", STYLE_PLAIN, 0, &text, k->width);
    put_meters(d, net, k);
}
