#include "sessions/report/network_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sessions/file/json.h"
#include "sessions/file/measured_fields.h"
#include "sessions/report/report_impl.h"

int64_t network_report_constant_bytes(const struct network *net)
{
    int64_t bytes = 0;
    for (int b = 0; b < net->module->n_buffers; b++)
        if (net->buffer[b].role == NETWORK_CONST)
            bytes += buffer_bytes(net->module->buffer[b].is);
    return bytes;
}

/* Prints a blank and the shape of a tensor without leading extents of 1: " 64x56x56". */
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

/* Returns the seconds that all calls of a task take in a run; 0: they were not timed. */
static double seconds_of(const struct network *net, const struct network_measurement *m, int task)
{
    double sum = 0;
    for (int i = 0; i < net->module->n_calls && m->call_s; i++)
        sum += net->call[i].task == task ? m->call_s[i] : 0;
    return sum;
}

/* Adds the counts of one kernel. */
static void put_counted(json_t *o, const struct measurement *m, unsigned meters)
{
    json_put(o, "counters", report_counters_json(m, meters), "counters_reason",
             JSON_IF(m->outcome != OUTCOME_OK, m->reason));
}

static json_t *json_of_tasks(const struct network *net, const struct network_measurement *m,
                             unsigned meters, const struct kernel_profile *profile)
{
    json_t *list = json_array();
    double all = 0;
    for (int i = 0; i < net->n_tasks; i++)
        all += seconds_of(net, m, i);
    for (int i = 0; i < net->n_tasks; i++) {
        const struct network_task *t = &net->task[i];
        const struct kernel_profile *p = &profile[i];
        double s = seconds_of(net, m, i);
        struct str brief = {0};
        network_report_brief(&brief, t);
        json_t *o = json_make("operator", JSON(t->spec), "name", JSON(str_text(&brief)), "calls",
                              JSON(t->count), "conversion", json_boolean(t->conversion), "flops",
                              JSON(t->program->base->flops), "bytes",
                              JSON(t->program->base->bytes), "ms", JSON_OR_NULL(1e3 * s),
                              "share", JSON_IF(s > 0, s / all), "gflops",
                              JSON_IF(s > 0, 1e-9 * p->flops / s), "bound_ms",
                              JSON_OR_NULL(1e3 * p->bound_s), "bound_by",
                              JSON_IF(p->bound_s > 0, roofline_by_name(p->by)), "bound_fraction",
                              JSON_IF(p->bound_s > 0 && s > 0, p->bound_s / s), "algorithms",
                              report_algorithms(t->program), "steps",
                              json_texts(t->line, t->n_lines));
        if (m->kernel)
            put_counted(o, &m->kernel[i], meters);
        json_array_append_new(list, o);
        str_free(&brief);
    }
    return list;
}

void network_report_json(struct str *out, const struct session *s, const struct network *net,
                         const struct network_measurement *m, unsigned meters,
                         const struct machine_model *model)
{
    struct kernel_profile *profile = xcalloc((size_t)net->n_tasks, sizeof *profile);
    network_profile(model, net, m->threads, m->isa, profile);
    double bound_ms = 1e3 * network_profile_bound(net, profile);
    const struct module_plan *plan = net->module->plan;
    bool timed = m->latency.runs > 0;
    json_t *memory = json_make("intermediate_bytes", JSON(plan->bytes), "least_bytes",
                               JSON(plan->least), "unshared_bytes", JSON(plan->apart),
                               "constant_bytes", JSON(network_report_constant_bytes(net)));
    json_t *whole = !m->whole_compared ? json_null()
                                       : json_make("max_abs_err", JSON(m->whole.abs_err),
                                                   "of_allowed", JSON(m->whole.of_allowed),
                                                   "not_compared", JSON_OR_NULL(m->whole.reason));
    json_t *expected = !m->compared ? json_null()
                                    : json_make("max_abs_err", JSON(m->author_abs_err),
                                                "of_bound", JSON(m->author_of_bound));
    json_print(out,
               json_make("network", json_text(s->title), "outcome",
                         JSON(outcome_name[m->outcome]), "reason", JSON_OR_NULL(m->reason),
                         "verified", json_boolean(m->verified), "max_rel_err",
                         JSON(m->max_rel_err), "error_of_bound", JSON(m->error_of_bound),
                         "whole", whole, "expected", expected, "latency_ms",
                         report_latency_json(&m->latency), "load", JSON_OR_NULL(m->load),
                         "first_run_ms", JSON_IF(timed, m->first_call_ms), "flops",
                         JSON(m->flops), "gflops", JSON_IF(timed, m->gflops), "peak_fraction",
                         JSON_OR_NULL(m->peak_fraction), "conversions", JSON(net->n_conversions),
                         "conversion_bytes", JSON(net->conversion_bytes), "memory", memory,
                         "bound_ms", JSON_OR_NULL(bound_ms), "bound_fraction",
                         JSON_IF(timed && bound_ms > 0, bound_ms / m->latency.min_ms),
                         "threads", JSON(m->threads), "isa", JSON(m->isa), "compiler",
                         JSON(m->compiler), "seed", JSON(m->seed), "build_s", JSON(m->build_s),
                         "prepare_s", JSON(m->prepare_s), "check_s", JSON(m->check_s), "whole_s",
                         JSON_IF(m->whole_compared, m->whole_s), "kernels",
                         json_of_tasks(net, m, meters, profile), "calls",
                         json_of_calls(net, m)),
               8);
    free(profile);
}
