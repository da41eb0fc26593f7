#include "sessions/report/network_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sessions/file/json.h"
#include "sessions/file/measured_fields.h"

/* The time of all calls of a task. */
struct task_time { int task; double seconds, flops; };

static int by_time(const void *p, const void *q)
{
    const struct task_time *x = p, *y = q;
    return x->seconds < y->seconds ? 1 : x->seconds > y->seconds ? -1 : x->task - y->task;
}

/* Returns the times per task, slowest first; NULL when calls were not timed.  The caller frees. */
static struct task_time *task_times(const struct network *net, const struct network_measurement *m,
                                    double *sum)
{
    struct task_time *t = xcalloc((size_t)net->n_tasks + 1, sizeof *t);
    *sum = 0;
    for (int i = 0; i < net->n_tasks; i++)
        t[i].task = i;
    for (int i = 0; i < net->module->n_calls; i++) {
        struct task_time *at = &t[net->call[i].task];
        double s = m->call_s ? m->call_s[i] : 0;
        at->seconds += s;
        at->flops += net->task[net->call[i].task].program->base->flops;
        *sum += s;
    }
    qsort(t, (size_t)net->n_tasks, sizeof *t, by_time);
    return t;
}

static int64_t constant_bytes(const struct network *net)
{
    int64_t bytes = 0;
    for (int b = 0; b < net->module->n_buffers; b++)
        if (net->buffer[b].role == NETWORK_CONST)
            bytes += buffer_bytes(net->module->buffer[b].is);
    return bytes;
}

/* Prints the shape of a tensor without its first sizes of 1: "64x56x56". */
static void print_shape(struct str *out, const struct tensor *t)
{
    int d = 0;
    while (d + 1 < t->rank && t->shape[d] == 1)
        d++;
    for (const char *sep = " "; d < t->rank; d++, sep = "x")
        str_printf(out, "%s%lld", sep, (long long)t->shape[d]);
}

void network_report_brief(struct str *out, const struct network_task *t)
{
    const struct graph *g = t->program->base;
    const struct graph_statement *first = g->statement;
    if (g->n_statements == 0) {
        str_add(out, t->spec);
        return;
    }
    for (int i = 0; i < g->n_statements; i++)
        str_printf(out, "%s%s", i ? "+" : "", t->conversion ? "conversion" : g->statement[i].op);
    if (first->n_args > 0)
        print_shape(out, &g->tensor[first->arg[0]]);
    str_printf(out, "%s%s", first->params[0] ? " " : "", first->params);
}

static void print_brief(struct str *out, const struct network_task *t, int width)
{
    struct str brief = {0};
    network_report_brief(&brief, t);
    if ((int)brief.len > width && width > 3)
        str_printf(out, "%.*s...", width - 3, str_text(&brief));
    else
        str_add(out, str_text(&brief));
    str_free(&brief);
}

static void print_tasks(struct str *out, const struct network *net,
                        const struct network_measurement *m, int width)
{
    double sum;
    struct task_time *t = task_times(net, m, &sum);
    str_printf(out, "\n%9s %6s %6s %9s %6s  %s\n", "ms", "share", "calls", "GFLOP/s", "peak",
               "kernel");
    for (int i = 0; i < net->n_tasks; i++) {
        const struct network_task *task = &net->task[t[i].task];
        double gflops = 1e-9 * t[i].flops / t[i].seconds;
        str_printf(out, "%9.4f %5.1f%% %6d %9.1f ", 1e3 * t[i].seconds, 100 * t[i].seconds / sum,
                   task->count, gflops);
        if (m->peak_gflops > 0)
            str_printf(out, "%5.0f%%  ", 100 * gflops / m->peak_gflops);
        else
            str_printf(out, "%6s  ", "");
        print_brief(out, task, width - 42);
        str_add(out, "\n");
    }
    str_printf(out, "%9.4f  sum of the kernels\n", 1e3 * sum);
    free(t);
}

void network_report_text(struct str *out, const struct network *net,
                         const struct network_measurement *m, int width)
{
    const struct module_plan *plan = net->module->plan;
    str_printf(out, "network    %d kernels, %d calls, %d conversion%s\n", net->n_tasks,
               net->module->n_calls, net->n_conversions, net->n_conversions == 1 ? "" : "s");
    if (m->outcome != OUTCOME_OK)
        str_printf(out, "%-10s %s\n", outcome_name[m->outcome], m->reason);
    else if (m->verified)
        str_printf(out, "verified   every kernel; the worst error is %.2g of its bound\n",
                   m->error_of_bound);
    else
        str_add(out, "unchecked  kernels were not compared with the reference\n");
    if (m->compared)
        str_printf(out, "expected   outputs are off by at most %.2g, %.2g of what is allowed\n",
                   m->author_abs_err, m->author_of_bound);
    if (m->latency.runs > 0) {
        str_add(out, "latency    ");
        str_ms(out, m->latency.median_ms);
        str_add(out, " median, ");
        str_ms(out, m->latency.min_ms);
        str_printf(out, " least of %d, spread %.1f %%; first run ", m->latency.runs,
                   100 * m->latency.spread);
        str_ms(out, m->first_call_ms);
        str_printf(out, "\nspeed      %.1f GFLOP/s", m->gflops);
        if (m->peak_gflops > 0)
            str_printf(out, ", %.0f %% of the FMA ceiling (%.1f)", 100 * m->peak_fraction,
                       m->peak_gflops);
        str_add_char(out, '\n');
    }
    str_printf(out, "memory     %.1f MiB of intermediates (at least %.1f; %.1f without sharing), "
               "%.1f MiB of constants\n", (double)plan->bytes / (1 << 20),
               (double)plan->least / (1 << 20), (double)plan->apart / (1 << 20),
               (double)constant_bytes(net) / (1 << 20));
    str_printf(out, "prepared   compiled in %.1f s, constants in %.1f s, checked in %.1f s\n",
               m->build_s, m->prepare_s, m->check_s);
    if (m->call_s)
        print_tasks(out, net, m, width);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *json_of_calls(const struct network *net, const struct network_measurement *m)
{
    json_t *list = json_array();
    for (int i = 0; i < net->module->n_calls; i++) {
        const struct network_call *c = &net->call[i];
        const struct network_task *t = &net->task[c->task];
        const char *tensor = c->part < 0
                                 ? NULL
                                 : net->graph->tensor[net->parts.part[c->part].out].name;
        json_array_append_new(
            list, json_make("kernel", JSON(c->task), "result", json_text_or_null(tensor),
                            "conversion", json_boolean(t->conversion), "ms",
                            JSON_IF(m->call_s != NULL, m->call_s ? 1e3 * m->call_s[i] : 0.0)));
    }
    return list;
}

static json_t *json_of_tasks(const struct network *net)
{
    json_t *list = json_array();
    for (int i = 0; i < net->n_tasks; i++) {
        const struct network_task *t = &net->task[i];
        json_array_append_new(list, json_make("operator", JSON(t->spec), "calls", JSON(t->count),
                                              "conversion", json_boolean(t->conversion), "flops",
                                              JSON(t->program->base->flops), "steps",
                                              json_texts(t->line, t->n_lines)));
    }
    return list;
}

void network_report_json(struct str *out, const struct session *s, const struct network *net,
                         const struct network_measurement *m)
{
    const struct module_plan *plan = net->module->plan;
    bool timed = m->latency.runs > 0;
    json_t *latency = !timed ? json_null()
                             : json_make("median", JSON(m->latency.median_ms), "min",
                                         JSON(m->latency.min_ms), "spread",
                                         JSON(m->latency.spread), "runs", JSON(m->latency.runs));
    json_t *memory = json_make("intermediate_bytes", JSON(plan->bytes), "least_bytes",
                               JSON(plan->least), "unshared_bytes", JSON(plan->apart),
                               "constant_bytes", JSON(constant_bytes(net)));
    json_t *expected = !m->compared ? json_null()
                                    : json_make("max_abs_err", JSON(m->author_abs_err),
                                                "of_bound", JSON(m->author_of_bound));
    json_print(out,
               json_make("network", json_text(s->title), "outcome",
                         JSON(outcome_name[m->outcome]), "reason", JSON_OR_NULL(m->reason),
                         "verified", json_boolean(m->verified), "max_rel_err",
                         JSON(m->max_rel_err), "error_of_bound", JSON(m->error_of_bound),
                         "expected", expected, "latency_ms", latency, "first_run_ms",
                         JSON_IF(timed, m->first_call_ms), "flops", JSON(m->flops), "gflops",
                         JSON_IF(timed, m->gflops), "peak_fraction",
                         JSON_OR_NULL(m->peak_fraction), "conversions", JSON(net->n_conversions),
                         "conversion_bytes", JSON(net->conversion_bytes), "memory", memory,
                         "threads", JSON(m->threads), "isa", JSON(m->isa), "compiler",
                         JSON(m->compiler), "seed", JSON(m->seed), "build_s", JSON(m->build_s),
                         "prepare_s", JSON(m->prepare_s), "check_s", JSON(m->check_s),
                         "kernels", json_of_tasks(net), "calls", json_of_calls(net, m)),
               8);
}
