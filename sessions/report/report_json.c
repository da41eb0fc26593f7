/* Prints results as JSON.  sessions/schema.md documents every key; whoever changes keys here must
 * change that file, too. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "profile/child/nvidia.h"
#include "profile/counters/eventset.h"
#include "profile/measure/gpu_memory.h"
#include "profile/measure/meters.h"
#include "profile/measure/oracle.h"
#include "profile/machine/roofline.h"
#include "sessions/file/json.h"
#include "sessions/file/machine_file.h"
#include "sessions/file/measured_fields.h"
#include "sessions/report/report.h"
#include "sessions/report/report_impl.h"
#include "explorer/history/ablation.h"
#include "kernels/program/contract.h"

static json_t *unavailable(const char *reason)
{
    return json_make("available", json_false(), "reason", json_text(reason));
}

/* --- Run -------------------------------------------------------------------------------------- */

static json_t *geometry_json(const struct cache_geometry *g)
{
    return json_of_fields(measured_geometry_fields, g);
}

/* Removes the misses of cache levels that were not simulated, and for a CPU the members that only a
 * GPU has. Returns o. */
static json_t *of_levels(json_t *o, const struct sim_result *s)
{
    static const char *const of_gpu[] = { "sectors", "ideal_sectors", "bank_conflicts", "memory",
                                          "degree", "bytes", "run", "stride" };
    for (int i = 0; i < COUNT_OF(of_gpu) && !s->gpu[0]; i++)
        json_object_del(o, of_gpu[i]);
    if (s->cache.n_levels < 2)
        json_object_del(o, "l2_misses");
    if (s->cache.n_levels < 3)
        json_object_del(o, "l3_misses");
    return o;
}

static json_t *levels_json(const struct sim_result *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->cache.n_levels; i++) {
        const struct sim_level *v = &s->level[i];
        json_t *o = json_put(geometry_json(&s->cache.level[i].geometry), "level", JSON(i + 1));
        json_put_fields(o, measured_level_fields, v);
        json_put(o, "useful", JSON_IF(i == 0, v->useful), "bytes_below",
                 JSON(sim_bytes_below(s, i)));
        json_array_append_new(list, o);
    }
    return list;
}

/* For a GPU: adds `says`, a text on how the threads of a warp access memory at a site; null:
 * nothing can be improved. */
static void put_words(json_t *o, const struct sim_result *s, const struct sim_site *t)
{
    struct str text = {0};
    if (s->gpu[0]) {
        gpu_memory_say(t, &text);
        json_put(o, "says", JSON_OR_NULL(str_text(&text)));
    }
    str_free(&text);
}

static json_t *sites_json(const struct sim_result *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->n_sites; i++) {
        const struct sim_site *t = &s->site[i];
        bool others = t->tensor >= s->n;
        json_t *o = json_make("site", json_text(t->text),
                              "tensor", JSON_IF(!others, s->by_tensor[t->tensor].tensor),
                              "store", JSON_IF(!others, t->is_store));
        json_put_fields(o, fields_part(measured_site_fields, "accesses", NULL), t);
        put_words(o, s, t);
        json_array_append_new(list, of_levels(o, s));
    }
    return list;
}

/* Adds the bytes between L1 and L2, between L2 and L3, and between the last level and memory, for
 * rooflines; nothing if only one level was simulated. */
static void put_bytes(json_t *o, const struct sim_result *s)
{
    static const char *const below[] = { "l2_bytes", "l3_bytes" };
    int last = s->cache.n_levels - 1;
    for (int i = 0; i < last && i < COUNT_OF(below); i++)
        json_put(o, below[i], JSON(sim_bytes_below(s, i)));
    if (last > 0)
        json_put(o, "dram_bytes", JSON(sim_bytes_below(s, last)));
}

static json_t *sampled_json(const struct sim_result *s)
{
    return s->fraction < 1 ? json_make("fraction", JSON(s->fraction), "error", JSON(s->error))
                           : json_null();
}

static json_t *by_tensor_json(const struct sim_result *s)
{
    json_t *by = json_object();
    for (int i = 0; i < s->n; i++)
        json_put(by, s->by_tensor[i].tensor,
                 of_levels(json_of_fields(measured_tensor_fields, &s->by_tensor[i]), s));
    return by;
}

static json_t *sim_json(const struct sim_result *s, bool asked)
{
    if (!asked)
        return unavailable("not asked for (--meters sim)");
    if (!s->available)
        return unavailable(s->reason[0] ? s->reason : "not measured");
    json_t *o = json_make("available", json_true());
    struct str cache = {0};
    cache_config_print(&cache, &s->cache);
    json_put_fields(o, fields_part(measured_sim_fields, "loads", "l1_misses"), s);
    json_put(o, "l2_misses", JSON(s->level[1].misses), "l3_misses", JSON(s->level[2].misses));
    json_put_fields(of_levels(o, s),
                    fields_part(measured_sim_fields, "writebacks", "streamed_bytes"), s);
    json_put(o, "by_tensor", by_tensor_json(s), "l1", geometry_json(&s->cache.level[0].geometry),
             "cache", JSON(str_text(&cache)), "levels", levels_json(s));
    put_bytes(o, s);
    if (s->gpu[0])
        json_put_fields(o, fields_part(measured_sim_fields, "gpu", NULL), s);
    json_put(o, "sites", sites_json(s), "sampled", sampled_json(s),
             "beyond_budget", JSON_OR_NULL(s->how), "of_source", JSON(s->of_source),
             "skips_prefetches", JSON(s->skips_prefetches), "detail", report_detail_json(s),
             "seconds", JSON(s->seconds));
    str_free(&cache);
    return o;
}

/* Turns "L1d load misses" into "l1d_load_misses", a name that assertions can use. */
static void event_key(char *out, size_t size, const char *name)
{
    size_t n = 0;
    for (; name[n] && n + 1 < size; n++)
        out[n] = isalnum((unsigned char)name[n]) ? (char)tolower((unsigned char)name[n]) : '_';
    out[n] = '\0';
}

/* Adds counts by name, and the metrics computed from them.  For each event that was counted in
 * turns with others, also adds the share of the time in which it was counted. */
static void put_counts(json_t *o, const struct counts *p)
{
    json_t *metrics = json_object(), *running = json_object();
    for (int i = 0; i < p->n; i++) {
        const struct count *c = &p->count[i];
        char key[sizeof c->name];
        event_key(key, sizeof key, c->name);
        if (c->derived)
            json_put(metrics, key, json_make("value", JSON(c->value),
                                             "unit", JSON_OR_NULL(c->unit)));
        else
            json_put(o, key, json_of_count(c->value));
        if (c->scaled)
            json_put(running, key, JSON_OR_NULL(c->running));
    }
    json_put(o, "scaled", json_boolean(json_object_size(running) > 0));
    if (json_object_size(running) > 0)
        json_put(o, "running", json_incref(running));
    json_decref(running);
    json_put(o, "metrics", metrics);
}

static json_t *counts_json(const struct counts *p, bool asked, const char *meter)
{
    char why[64];
    snprintf(why, sizeof why, "not asked for (--meters %s)", meter);
    if (!asked)
        return unavailable(why);
    if (!p->available)
        return unavailable(p->reason[0] ? p->reason : "not measured");
    json_t *o = json_make("available", json_true());
    put_counts(o, p);
    if (p->missing[0])
        json_put(o, "missing", JSON(p->missing));
    if (p->source[0])
        json_put(o, "source", JSON(p->source));
    return o;
}

json_t *report_latency_json(const struct latency *l)
{
    if (l->runs == 0)
        return json_null();
    return json_put(json_of_fields(measured_latency_fields, l), "noisy", JSON(latency_doubtful(l)));
}

/* Sets `key` to an error x, or to null if x is not known or infinite.  0 is an ordinary error, so
 * `known` must say whether x is known. */
static void put_error(json_t *o, const char *key, bool known, double x)
{
    json_put(o, key, JSON_IF(known && x < ORACLE_INFINITE, x));
}

static json_t *baseline_json(const struct baseline *b)
{
    if (!b->available || b->latency.runs == 0)
        return unavailable(b->available ? "not timed" : b->reason);
    json_t *o = json_put(report_latency_json(&b->latency), "available", json_true());
    json_put_fields(o, fields_part(measured_baseline_fields, "ratio", NULL), b);
    put_error(o, "max_rel_err", true, b->max_rel_err);
    return o;
}

/* Returns the baselines that have a result or a reason for having none. */
static json_t *baselines_json(const struct measurement *m)
{
    json_t *o = json_object();
    for (int i = 0; i < VENDOR_COUNT; i++)
        if (m->baseline[i].available || m->baseline[i].reason[0])
            json_put(o, vendor_name[i], baseline_json(&m->baseline[i]));
    return o;
}

static json_t *steps_json(const struct program *p)
{
    return json_texts(p->steps, p->n_steps);
}

static json_t *contract_json(const struct program *p)
{
    struct str text = {0};
    contract_print(&text, p);
    json_t *o = json_text(str_text(&text));
    str_free(&text);
    return o;
}

json_t *report_algorithms(const struct program *p)
{
    struct str text = {0};
    program_print_algorithms(&text, p);
    json_t *o = text.len ? json_text(str_text(&text)) : json_null();
    str_free(&text);
    return o;
}

/* Returns the notes of p as a list, one text per line. */
static json_t *notes_json(const struct program *p)
{
    json_t *list = json_array();
    struct str notes = {0};
    program_print_notes(&notes, p);
    char *rest = NULL, *line = notes.len ? strtok_r(notes.data, "\n", &rest) : NULL;
    for (; line; line = strtok_r(NULL, "\n", &rest))
        json_array_append_new(list, json_text(line));
    str_free(&notes);
    return list;
}

/* Adds the result of the check, the times and the rates. */
static void put_clock(json_t *o, const struct measurement *m)
{
    bool compared = measurement_compared(m);
    json_put(o, "outcome", JSON(outcome_name[m->outcome]));
    json_put_fields(o, fields_part(measured_fields, "reason", "tolerance"), m);
    put_error(o, "max_rel_err", compared, m->max_rel_err);
    put_error(o, "error_of_bound", compared, m->error_of_bound);
    json_put(o, "latency_ms", report_latency_json(&m->latency),
             "cold_latency_ms", report_latency_json(&m->cold_latency),
             "cold_method", JSON_OR_NULL(m->cold_method),
             "huge_pages", m->huge_asked ? json_make("bytes", JSON(m->huge_bytes), "of_bytes",
                                                     JSON(m->huge_of_bytes)) : json_null(),
             "threads_note", JSON_OR_NULL(m->threads_note));
    if (target_named(m->isa)->gpu)
        json_put(o, "device", json_of_fields(measured_device_fields, &m->device));
    json_put_fields(o, fields_part(measured_fields, "gflops", "measured_at"), m);
}

json_t *report_counters_json(const struct measurement *m, unsigned meters)
{
    json_t *counters = json_make("sim", sim_json(&m->sim, meters & METER_SIM));
    for (int i = METER_ID_PERF; i < METER_COUNT; i++)
        if (i <= METER_ID_PERF_SW || (meters & 1u << i))
            json_put(counters, meter_name[i],
                     counts_json(&m->counts[i], meters & 1u << i, meter_name[i]));
    return counters;
}

static void put_result(json_t *o, const struct measurement *m, unsigned meters)
{
    put_clock(o, m);
    json_put(o, "baselines", baselines_json(m), "counters", report_counters_json(m, meters));
}

static json_t *edges_json(const struct roofline *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n; i++)
        json_array_append_new(list, json_make("from", JSON(model_level_name[r->roof[i].from]),
                                              "bytes", JSON(r->roof[i].bytes),
                                              "intensity", JSON(r->roof[i].intensity),
                                              "gflops", JSON(r->roof[i].gflops)));
    return list;
}

static json_t *roofline_json(const struct graph *g, const struct measurement *m,
                             const struct machine_model *model)
{
    struct roofline r;
    struct str doubts = {0};
    roofline_of(model, g->flops, g->bytes, m, &r);
    if (model)
        roofline_doubts(model, m, &doubts);
    json_t *o = json_make("intensity", JSON_OR_NULL(r.intensity),
                          "intensity_of", JSON(r.simulated ? "simulated" : "compulsory"),
                          "compulsory_intensity", JSON_OR_NULL(r.compulsory),
                          "home", JSON_IF(r.bound > 0, model_level_name[r.home]),
                          "edges", edges_json(&r), "bound_gflops", JSON_OR_NULL(r.bound),
                          "bound_by", JSON_IF(r.bound > 0, roofline_by_name(r.by)),
                          "bound_fraction", JSON_OR_NULL(r.fraction),
                          "model_date", JSON_OR_NULL(model ? model->date : ""),
                          "model_doubts", JSON_OR_NULL(str_text(&doubts)), "reason",
                          JSON_IF(!model, "no machine model: tilescope machine measures it"));
    str_free(&doubts);
    return o;
}

/* Returns a list of the element types of the operator's tensors. */
static json_t *types_json(const struct graph *g)
{
    json_t *list = json_array();
    for (int t = 0; t < g->n_tensors; t++)
        json_array_append_new(list, json_make("tensor", JSON(g->tensor[t].name),
                                              "type", JSON(g->tensor[t].type->name)));
    return list;
}

void report_run_json(struct str *out, const struct session *s, const struct measurement *m,
                     unsigned meters, const char *machine, const struct machine_model *model)
{
    static const struct measurement nothing;
    const struct program *p = history_current(s->history)->program;
    const char *branch = history_branch(s->history, history_branch_index(s->history))->name;
    m = m ? m : &nothing;
    json_t *o = json_make("format", JSON(1), "operator", JSON(p->base->op),
                          "spec", JSON(p->base->spec), "title", JSON_OR_NULL(s->title),
                          "branch", JSON(branch), "steps", steps_json(p),
                          "algorithms", report_algorithms(p), "contract", contract_json(p),
                          "types", types_json(p->base), "notes", notes_json(p),
                          "conversions", JSON(p->n_conversions));
    put_result(o, m, meters);
    json_put(o, "roofline", roofline_json(p->base, m, model), "machine", JSON_OR_NULL(machine),
             "isa", json_null());        /* its place; the next call sets it */
    json_put_fields(o, fields_part(measured_fields, "compiler", NULL), m);
    json_put(o, "seed", JSON_IF(m->outcome != OUTCOME_NONE, m->seed));
    json_print(out, o, 8);
}

/* Returns a ratio of times with its 95 % interval; null: it is unknown. */
static json_t *ratio_json(const struct compared *r)
{
    return r->verdict ? json_make("value", JSON(r->ratio.ratio), "low", JSON(r->ratio.low),
                                  "high", JSON(r->ratio.high),
                                  "best", JSON_IF(r->ratio.best > 0, r->ratio.best)) : json_null();
}

void report_ablation_json(struct str *out, const char *name, const struct ablation *a)
{
    json_t *list = json_array();
    for (int i = 0; i < a->n; i++) {
        const struct ablated *row = &a->row[i];
        const struct compared *r = &row->result;
        json_t *o = json_make("step", JSON(row->step), "text", JSON(row->text),
                              "note", JSON_OR_NULL(row->note), "same_code", JSON(row->same),
                              "outcome", JSON(outcome_name[r->m.outcome]),
                              "reason", JSON_OR_NULL(r->m.reason),
                              "latency_ms", report_latency_json(&r->m.latency), "ratio",
                              ratio_json(r),
                              "verdict", JSON_OR_NULL(verdict_name[r->verdict]));
        json_array_append_new(list, o);
    }
    json_print(out, json_make("format", JSON(1), "name", JSON(name), "spec",
                              JSON(a->whole->base->spec), "steps", steps_json(a->whole),
                              "contract", contract_json(a->whole),
                              "latency_ms", report_latency_json(&a->full.m.latency),
                              "without", list), 8);
}

static json_t *put_ratio(json_t *o, const struct compared *r)
{
    return json_put(o, "ratio", ratio_json(r), "verdict", JSON_OR_NULL(verdict_name[r->verdict]));
}

/* Returns a contender of `bench --json` that is an external program. */
static json_t *outside_json(const struct bench_entry *b)
{
    const struct measurement *m = &b->result->m;
    json_t *o = json_make("name", JSON(b->name), "command", JSON(b->command),
                          "outcome", JSON(outcome_name[m->outcome]),
                          "reason", JSON_OR_NULL(m->reason),
                          "latency_ms", report_latency_json(&m->latency));
    return put_ratio(o, b->result);
}

/* Returns a contender of `bench --json`, at the current step of its session. */
static json_t *entry_json(const struct bench_entry *b)
{
    if (b->command)
        return outside_json(b);
    const struct history *h = b->session->history;
    const struct program *p = history_current(h)->program;
    const struct compared *r = b->result;
    json_t *o = json_make("name", JSON(b->name), "operator", JSON(p->base->op),
                          "spec", JSON(p->base->spec),
                          "branch", JSON(history_branch(h, history_branch_index(h))->name),
                          "steps", steps_json(p), "contract", contract_json(p));
    put_clock(o, &r->m);
    if (b->gpu)
        json_put(o, "simulated_ms", JSON(b->simulated_ms), "gpu", JSON(b->gpu));
    return put_ratio(o, r);
}

void report_bench_json(struct str *out, const struct bench_entry *entry, int n,
                       const struct comparison *how, const char *machine)
{
    const struct measurement *m = &entry[0].result->m;
    json_t *contenders = json_object();
    for (int i = 0; i < n; i++)
        json_put(contenders, ((char[]){ (char)('A' + i), '\0' }), entry_json(&entry[i]));
    json_print(out, json_make("format", JSON(1), "rounds", JSON_OR_NULL(how->rounds),
                              "sittings", JSON_OR_NULL(how->epochs),
                              "disturbed", JSON(how->disturbed), "contenders", contenders,
                              "machine", JSON_OR_NULL(machine), "isa", JSON_OR_NULL(m->isa),
                              "compiler", JSON_OR_NULL(m->compiler), "threads", JSON(m->threads),
                              "seed", JSON(m->seed), "total_s", JSON(m->total_s)), 8);
}

/* --- Lists ------------------------------------------------------------------------------------ */

static json_t *cache_or_null(const struct cache_geometry *g)
{
    return g->size_bytes > 0 ? geometry_json(g) : json_null();
}

void report_machine_json(struct str *out, const struct machine *m,
                         const struct machine_model *model)
{
    struct str fingerprint = {0}, doubts = {0};
    machine_fingerprint(&fingerprint, m);
    if (model)
        machine_model_doubts(model, NULL, &doubts);
    json_t *o = json_make("fingerprint", JSON(str_text(&fingerprint)), "cpu", JSON_OR_NULL(m->cpu),
                          "isa", JSON_OR_NULL(m->isa), "vector_floats", JSON(m->vector_floats),
                          "cores", JSON(m->cores), "l1d", cache_or_null(&m->l1d),
                          "l1d_assumed", JSON(m->l1d_assumed), "l2", cache_or_null(&m->l2),
                          "l3", cache_or_null(&m->l3),
                          "memory_bytes", JSON_OR_NULL(m->memory_bytes),
                          "os", JSON_OR_NULL(m->os), "has_pmu", JSON(m->has_pmu),
                          "peak_gflops", JSON_IF(model, machine_model_peak(model, 1)),
                          "doubts", JSON_OR_NULL(str_text(&doubts)),
                          "model", model ? machine_file_json(model) : json_null());
    str_free(&doubts);
    str_free(&fingerprint);
    json_print(out, o, 8);
}

#define EVENT(key, member) FIELD_AS(key, event, member, ZERO_KEPT)
static const struct fields event_fields = FIELDS(EVENT("name", name), EVENT("event", text));
static const struct fields metric_fields = FIELDS(
    FIELD(metric, name, ZERO_KEPT), FIELD(metric, unit, ZERO_UNKNOWN),
    FIELD(metric, formula, ZERO_KEPT));
static const struct fields set_fields = FIELDS(
    FIELD(event_set, name, ZERO_KEPT), FIELD(event_set, meter, ZERO_KEPT),
    FIELD(event_set, summary, ZERO_KEPT), FIELD(event_set, cpu, ZERO_UNKNOWN),
    FIELD(event_set, path, ZERO_UNKNOWN));
static const struct fields meter_fields = FIELDS(
    FIELD(meter_info, name, ZERO_KEPT), FIELD(meter_info, what, ZERO_KEPT),
    FIELD(meter_info, available, ZERO_KEPT), FIELD(meter_info, reason, ZERO_UNKNOWN));

static const struct fields nvidia_fields = FIELDS(
    FIELD(nvidia_info, name, ZERO_KEPT), FIELD(nvidia_info, what, ZERO_KEPT),
    FIELD(nvidia_info, available, ZERO_KEPT), FIELD(nvidia_info, version, ZERO_UNKNOWN),
    FIELD(nvidia_info, path, ZERO_UNKNOWN), FIELD(nvidia_info, detail, ZERO_UNKNOWN),
    FIELD(nvidia_info, reason, ZERO_UNKNOWN), FIELD(nvidia_info, fix, ZERO_UNKNOWN));

void report_meters_json(struct str *out, const struct meter_info *m, int n,
                        const struct nvidia_info *nvidia, const struct event_sets *sets)
{
    json_t *all = json_array();
    for (int i = 0; i < sets->n; i++) {
        const struct event_set *s = sets->set[i];
        json_array_append_new(all, json_put(
            json_of_fields(set_fields, s),
            "events", json_list(event_fields, s->event, sizeof *s->event, s->n),
            "metrics", json_list(metric_fields, s->metric, sizeof *s->metric, s->n_metrics),
            "prose", JSON(s->prose)));
    }
    json_print(out, json_make("meters", json_list(meter_fields, m, sizeof *m, n), "nvidia",
                              json_list(nvidia_fields, nvidia, sizeof *nvidia, NVIDIA_COUNT),
                              "sets", all), 8);
}

static json_t *param_json(const struct op_param *p)
{
    bool known = p->def != OP_REQUIRED && p->def != OP_UNSET;
    int n = 0;
    json_t *o = json_make("name", JSON(p->name), "required", json_boolean(p->def == OP_REQUIRED),
                          "default", JSON_IF(known, p->def), "min", JSON(p->min),
                          "max", JSON(p->max), "help", JSON(p->help ? p->help : ""));
    while (p->words && p->words[n])
        n++;
    return p->words ? json_put(o, "words", json_texts(p->words, n)) : o;
}

void report_ops_json(struct str *out)
{
    json_t *list = json_array();
    for (int i = 0; i < ops_count(); i++) {
        const struct op_family *f = ops_get(i);
        json_t *params = json_array();
        for (int k = 0; k < f->n_params; k++)
            json_array_append_new(params, param_json(&f->params[k]));
        json_array_append_new(list, json_make("name", JSON(f->name), "title", JSON(f->title),
                                              "example", JSON(f->example), "help", JSON(f->help),
                                              "params", params));
    }
    json_print(out, json_make("operators", list), 8);
}
