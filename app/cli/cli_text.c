/* Prints a measurement as text. */
#include "app/cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "app/views/roofline_plot.h"
#include "kernels/ops/source.h"
#include "profile/host/machine.h"
#include "profile/measure/oracle.h"

enum { LABEL_WIDTH = 10 };
#define SOME_SKIPPED 0.995                /* executed / all FLOPs below this are reported */

static void label(struct str *out, const char *name)
{
    str_printf(out, "%-*s%s", LABEL_WIDTH, name, strlen(name) < LABEL_WIDTH ? "" : " ");
}

static void add_heading(struct str *out, const struct cli *c, const struct session *s)
{
    const struct history *h = s->history;
    int b = history_branch_index(h), n, at;
    history_path(h, b, &n, &at);
    struct str spec = {0};
    spec_print_brief(&spec, history_spec(h));
    cli_paint(out, c->color_out, PAINT_BOLD, str_text(&spec));
    str_free(&spec);
    str_add(out, "\n");
    label(out, "session:");
    if (s->path[0])
        str_printf(out, "%s, ", basename(s->path));
    str_printf(out, "branch %s, step %d", history_branch(h, b)->name, at);
    if (at != n - 1)
        str_printf(out, " of %d", n - 1);
    str_add(out, "\n");
}

static void add_notes(struct str *out, const struct program *p)
{
    struct str notes = {0};
    program_print_notes(&notes, p);
    char *rest = NULL, *line = notes.len ? strtok_r(notes.data, "\n", &rest) : NULL;
    for (; line; line = strtok_r(NULL, "\n", &rest)) {
        label(out, "note:");
        str_printf(out, "%s\n", line);
    }
    str_free(&notes);
}

static void add_verified(struct str *out, const struct cli *c, const struct measurement *m)
{
    label(out, "verified:");
    cli_paint(out, c->color_out, m->verified ? PAINT_GOOD : PAINT_BAD,
              m->verified ? "true" : "false");
    if (measurement_compared(m) && m->max_rel_err < ORACLE_INFINITE)
        str_printf(out, "   max rel err %.1e, %.2g of the bound", m->max_rel_err,
                   m->error_of_bound);
    str_add(out, "\n");
    if (m->outcome == OUTCOME_OK)
        return;
    label(out, "failed:");
    cli_paint(out, c->color_out, PAINT_BAD, outcome_name[m->outcome]);
    if (m->reason[0])
        str_printf(out, ": %s", m->reason);
    str_add(out, "\n");
}

/* Adds reasons to doubt the latency. */
static void add_doubts(struct str *out, const struct measurement *m)
{
    const struct latency *l = &m->latency;
    if (l->noisy) {
        label(out, "noisy:");
        str_add(out, "the middle half spreads over more than 10 %, however often it was sampled");
        if (l->disturbed > 0)
            str_printf(out, "; the ceiling was slow beside %.0f %% of the samples",
                       100 * l->disturbed);
        str_add(out, "\n");
    }
    if (m->threads_note[0]) {
        label(out, "threads:");
        str_printf(out, "%s\n", m->threads_note);
    }
    if (m->huge_asked) {
        label(out, "pages:");
        str_printf(out, "%.1f of the %.1f MiB of the buffers are in huge ones",
                   (double)m->huge_bytes / (1 << 20), (double)m->huge_of_bytes / (1 << 20));
        str_add(out, "\n");
    }
}

static void add_cold(struct str *out, const struct measurement *m)
{
    if (m->cold_latency.runs == 0)
        return;
    label(out, "cold:");
    str_ms(out, m->cold_latency.median_ms);
    str_add(out, " median, ");
    str_ms(out, m->cold_latency.min_ms);
    str_printf(out, " min, spread %.1f %%, %d single calls, %s before each\n",
               100 * m->cold_latency.spread, m->cold_latency.runs, m->cold_method);
}

static void add_clock(struct str *out, const struct measurement *m)
{
    label(out, "latency:");
    if (m->latency.runs == 0) {
        str_add(out, "not timed\n");
        return;
    }
    str_ms(out, m->latency.median_ms);
    str_add(out, " median, ");
    str_ms(out, m->latency.min_ms);
    str_printf(out, " min, spread %.1f %%, %d runs, %d thread%s\n", 100 * m->latency.spread,
               m->latency.runs, m->threads, m->threads == 1 ? "" : "s");
    add_doubts(out, m);
    add_cold(out, m);
    label(out, "speed:");
    str_printf(out, "%.1f GFLOP/s at the minimum", m->gflops);
    if (m->executed_gflops > 0 && m->executed_gflops < SOME_SKIPPED * m->gflops)
        str_printf(out, " (%.1f executed: padding is skipped)", m->executed_gflops);
    if (m->peak_fraction > 0)
        str_printf(out, ", %.0f %% of this run's FMA ceiling (%.1f)", 100 * m->peak_fraction,
                   m->peak_gflops);
    else if (m->peak_reason[0])
        str_printf(out, "; no share of a ceiling: %s", m->peak_reason);
    str_add(out, "\n");
}

static void add_baselines(struct str *out, const struct measurement *m)
{
    for (int i = 0; i < VENDOR_COUNT; i++) {
        const struct baseline *b = &m->baseline[i];
        char name[32];
        if (!b->available && !b->reason[0])
            continue;
        snprintf(name, sizeof name, "%s:", vendor_name[i]);
        label(out, name);
        if (!b->available) {
            str_printf(out, "not available: %s\n", b->reason);
            continue;
        }
        str_ms(out, b->latency.median_ms);
        str_add(out, " median, ");
        str_ms(out, b->latency.min_ms);
        str_printf(out, " min, spread %.1f %%; %.2f times this kernel's minimum\n",
                   100 * b->latency.spread, b->ratio);
        str_printf(out, "%*s%s, %s\n", LABEL_WIDTH, "", b->implementation, b->layout);
    }
}

static int threads_of(const struct measurement *m)
{
    return m->threads > 1 ? m->threads : 1;
}

/* Adds the comparison with the session's earlier measurement of this step. */
static void add_before(struct str *out, const struct session *s, const struct measurement *m)
{
    const struct measurement *old = history_current(s->history)->measured;
    if (!old || old->latency.runs == 0 || m->latency.runs == 0)
        return;
    label(out, "before:");
    str_ms(out, old->latency.min_ms);
    str_add(out, " min in the session file");
    if (threads_of(old) != threads_of(m))
        str_printf(out, ", with %d thread%s", threads_of(old), threads_of(old) == 1 ? "" : "s");
    else
        str_printf(out, ", now %+.1f %%", 100 * (m->latency.min_ms / old->latency.min_ms - 1));
    if (s->machine[0])
        str_printf(out, " (%s)", s->machine);
    str_add(out, "\n");
}

static int by_misses(const void *a, const void *b)
{
    const struct tensor_count *x = a, *y = b;
    return (x->l1_misses < y->l1_misses) - (x->l1_misses > y->l1_misses);
}

void cli_text_count(struct str *out, int width, int64_t n)
{
    struct str text = {0};
    str_count(&text, n);
    str_printf(out, "%*s", width, str_text(&text));
    str_free(&text);
}

static void add_rate(struct str *out, int64_t misses, int64_t accesses)
{
    if (accesses > 0)
        str_printf(out, "%8.2f %%", 100.0 * (double)misses / (double)accesses);
    str_add(out, "\n");
}

void cli_text_head(struct str *out, const struct cli *c, const char *text)
{
    struct str head = {0};
    str_printf(&head, "%*s%s\n", LABEL_WIDTH, "", text);
    cli_paint(out, c->color_out, PAINT_DIM, str_text(&head));
    str_free(&head);
}

static void add_count_row(struct str *out, const char *name, int64_t loads, int64_t stores,
                          int64_t misses)
{
    str_printf(out, "%*s%-12s", LABEL_WIDTH, "", name);
    cli_text_count(out, 16, loads);
    cli_text_count(out, 16, stores);
    cli_text_count(out, 15, misses);
    add_rate(out, misses, loads + stores);
}

static void add_levels(struct str *out, const struct cli *c, const struct sim_result *sim)
{
    char head[128];
    snprintf(head, sizeof head, "%-12s%16s%16s%15s%10s", "level", "accesses", "written back",
             "misses", "rate");
    cli_text_head(out, c, head);
    for (int i = 0; i < sim->cache.n_levels; i++) {
        const struct sim_level *v = &sim->level[i];
        str_printf(out, "%*sL%-11d", LABEL_WIDTH, "", i + 1);
        cli_text_count(out, 16, v->accesses);
        cli_text_count(out, 16, v->writebacks);
        cli_text_count(out, 15, v->misses);
        add_rate(out, v->misses, v->accesses);
        if (v->prefetches == 0)
            continue;
        str_printf(out, "%*s%-12s", LABEL_WIDTH, "", "");
        cli_text_count(out, 16, v->prefetches);
        str_add(out, " lines prefetched");
        if (i == 0) {
            str_add(out, ", used ");
            str_count(out, v->useful);
        }
        str_add(out, "\n");
    }
}

static void add_sim_line(struct str *out, const struct sim_result *sim)
{
    cache_config_print(out, &sim->cache);
    str_printf(out, "; %.2f s", sim->seconds);
    if (sim->fraction < 1)
        str_printf(out, "; %.2g %% simulated, misses within %.2g %%",
                   100 * sim->fraction, 100 * sim->error);
    if (sim->how[0])
        str_printf(out, "; %s", sim->how);
    str_add(out, "\n");
}

static void add_sim(struct str *out, const struct cli *c, const struct sim_result *sim)
{
    size_t start = out->len;
    label(out, "sim:");
    if (!sim->available) {
        str_printf(out, "not available: %s\n", sim->reason);
        cli_wrap(out, start, LABEL_WIDTH);
        return;
    }
    add_sim_line(out, sim);
    cli_wrap(out, start, LABEL_WIDTH);
    char head[128];
    snprintf(head, sizeof head, "%-12s%16s%16s%15s%10s", "tensor", "loads", "stores",
             "L1 misses", "rate");
    cli_text_head(out, c, head);
    struct tensor_count row[MEASURE_MAX_TENSORS];
    memcpy(row, sim->by_tensor, sizeof row);
    qsort(row, (size_t)sim->n, sizeof row[0], by_misses);
    for (int i = 0; i < sim->n; i++)
        add_count_row(out, row[i].tensor, row[i].loads, row[i].stores, row[i].l1_misses);
    add_count_row(out, "total", sim->loads, sim->stores, sim->l1_misses);
    add_levels(out, c, sim);
    if (sim->detail)
        cli_text_detail(out, c, sim);
}

/* Adds "cycles ~12 345 (41 % of the time)"; ~ marks an extrapolated count. */
static void add_one_count(struct str *out, const struct count *c, int before)
{
    str_printf(out, "%s%s %s", before ? ", " : "", c->name, c->scaled ? "~" : "");
    str_quantity(out, c->value);
    if (c->unit[0])
        str_printf(out, " %s", c->unit);
    if (c->scaled && c->running > 0)
        str_printf(out, " (in %.0f %% of the time)", 100 * c->running);
}

static void add_counts(struct str *out, const char *meter, const struct counts *p)
{
    char name[32];
    snprintf(name, sizeof name, "%s:", meter);
    label(out, name);
    if (!p->available) {
        str_printf(out, "not available: %s\n", p->reason);
        return;
    }
    for (int i = 0, n = 0; i < p->n; i++)
        if (!p->count[i].derived)
            add_one_count(out, &p->count[i], n++);
    str_printf(out, p->source[0] ? " (%s)\n" : "\n", p->source);
    for (int i = 0, n = 0; i < p->n; i++)
        if (p->count[i].derived)
            str_printf(out, "%*s", n ? 0 : LABEL_WIDTH, ""), add_one_count(out, &p->count[i], n++);
    if (p->n > 0 && p->count[p->n - 1].derived)
        str_add(out, "\n");
    if (p->missing[0])
        str_printf(out, "%*snot counted: %s\n", LABEL_WIDTH, "", p->missing);
}

/* Adds the roofline's bound and what sets it; nothing without a machine model. */
static void add_roofline(struct str *out, const struct session *s, const struct measurement *m,
                         const struct machine_model *model)
{
    const struct graph *g = history_current(s->history)->program->base;
    struct roof_step here = {0};
    roofline_of(model, g->flops, g->bytes, m, &here.r);
    if (here.r.bound <= 0 || here.r.gflops <= 0)
        return;
    label(out, "roofline:");
    roofline_plot_remark(out, &here);
    str_add(out, "\n");
    struct str doubts = {0};
    roofline_doubts(model, m, &doubts);
    if (doubts.len > 0) {
        label(out, "doubtful:");
        str_printf(out, "the machine model of %s: %s; tilescope machine --measure\n", model->date,
                   str_text(&doubts));
    }
    str_free(&doubts);
}

/* Adds compiler, times and baselines. */
static void add_times(struct str *out, const struct session *s, const struct measurement *m,
                      unsigned meters, const struct machine_model *model)
{
    label(out, "compiler:");
    str_add(out, m->compiler);
    if (m->isa[0])
        str_printf(out, ", %s", m->isa);
    if (m->build_s >= 0.005)
        str_printf(out, ", %.2f s", m->build_s);
    str_add(out, "\n");
    if (meters & METER_CLOCK) {
        add_clock(out, m);
        add_roofline(out, s, m, model);
        add_before(out, s, m);
    }
    add_baselines(out, m);
}

void cli_text_measurement(struct str *out, const struct cli *c, const struct session *s,
                          const struct measurement *m, unsigned meters,
                          const struct machine_model *model)
{
    size_t start = out->len;
    add_heading(out, c, s);
    add_notes(out, history_current(s->history)->program);
    add_verified(out, c, m);
    if (m->verified)
        add_times(out, s, m, meters, model);
    cli_wrap(out, start, LABEL_WIDTH);
    if (!m->verified)
        return;
    if (meters & METER_SIM)
        add_sim(out, c, &m->sim);
    start = out->len;
    for (int i = METER_ID_PERF; i < METER_COUNT; i++)
        if (meters & 1u << i)
            add_counts(out, meter_name[i], &m->counts[i]);
    cli_wrap(out, start, LABEL_WIDTH);
}

void cli_text_check_line(struct str *out, const struct cli *c, int position, const struct state *st,
                         const struct measurement *m)
{
    bool good = m->verified && m->outcome == OUTCOME_OK;
    str_printf(out, "%4d  ", position);
    cli_paint(out, c->color_out, good ? PAINT_GOOD : PAINT_BAD,
              good ? "ok" : outcome_name[m->outcome]);
    str_printf(out, "  err %.1e", m->max_rel_err);
    if (m->latency.runs > 0) {
        str_add(out, "  ");
        str_ms(out, m->latency.min_ms);
    }
    str_printf(out, "  %s\n", st->step[0] ? st->step : "(the bare operator)");
    if (!good && m->reason[0])
        str_printf(out, "      %s\n", m->reason);
}
