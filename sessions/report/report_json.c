/* Results as JSON.  schema.md documents every key; whoever changes one changes both. */
#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "profile/counters/eventset.h"
#include "profile/measure/meters.h"
#include "profile/measure/oracle.h"
#include "profile/machine/roofline.h"
#include "sessions/file/json_text.h"
#include "sessions/file/machine_file.h"
#include "sessions/report/report.h"
#include "sessions/report/report_impl.h"

/* values: what was not measured is null */

static json_t *real_if(bool known, double v)
{
    return json_text_real(known ? v : NAN);
}

/* Beyond the 64 bits with sign that readers agree on, as text. */
static json_t *unsigned_of(uint64_t v)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)v);
    return v <= INT64_MAX ? json_integer((json_int_t)v) : json_string(text);
}

static json_t *integer_if(bool known, int64_t v)
{
    return known ? json_integer(v) : json_null();
}

static void put(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        fail("the JSON key \"%s\" cannot be set", key);
}

static json_t *unavailable(const char *reason)
{
    json_t *o = json_object();
    put(o, "available", json_false());
    put(o, "reason", json_text(reason));
    return o;
}

/* run */

static json_t *geometry_json(const struct cache_geometry *g)
{
    json_t *o = json_object();
    put(o, "size_bytes", json_integer(g->size_bytes));
    put(o, "ways", json_integer(g->ways));
    put(o, "line_bytes", json_integer(g->line_bytes));
    return o;
}

/* l1_misses, and l2_misses and l3_misses where there are such levels. */
static void put_misses(json_t *o, const struct sim_result *s, int64_t l1, int64_t l2, int64_t l3)
{
    put(o, "l1_misses", json_integer(l1));
    if (s->cache.n_levels > 1)
        put(o, "l2_misses", json_integer(l2));
    if (s->cache.n_levels > 2)
        put(o, "l3_misses", json_integer(l3));
}

static json_t *levels_json(const struct sim_result *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->cache.n_levels; i++) {
        const struct sim_level *v = &s->level[i];
        json_t *o = geometry_json(&s->cache.level[i].geometry);
        put(o, "level", json_integer(i + 1));
        put(o, "accesses", json_integer(v->accesses));
        put(o, "misses", json_integer(v->misses));
        put(o, "writebacks", json_integer(v->writebacks));
        put(o, "prefetches", json_integer(v->prefetches));
        put(o, "useful", integer_if(i == 0, v->useful));
        put(o, "bytes_below", json_integer(sim_bytes_below(s, i)));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *sites_json(const struct sim_result *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->n_sites; i++) {
        const struct sim_site *t = &s->site[i];
        json_t *o = json_object();
        put(o, "site", json_text(t->text));
        put(o, "tensor", t->tensor >= s->n ? json_null()
                                           : json_text(s->by_tensor[t->tensor].tensor));
        put(o, "store", t->tensor >= s->n ? json_null() : json_boolean(t->is_store));
        put(o, "accesses", json_integer(t->accesses));
        put_misses(o, s, t->l1_misses, t->l2_misses, t->l3_misses);
        json_array_append_new(list, o);
    }
    return list;
}

/* What a roofline asks for: bytes between L1 and L2, L2 and L3, the last level and memory. */
static void put_bytes(json_t *o, const struct sim_result *s)
{
    static const char *const below[] = { "l2_bytes", "l3_bytes" };
    int last = s->cache.n_levels - 1;
    for (int i = 0; i < last && i < COUNT_OF(below); i++)
        put(o, below[i], json_integer(sim_bytes_below(s, i)));
    if (last > 0)
        put(o, "dram_bytes", json_integer(sim_bytes_below(s, last)));
}

static json_t *sampled_json(const struct sim_result *s)
{
    if (!(s->fraction < 1))
        return json_null();
    json_t *o = json_object();
    put(o, "fraction", real_if(true, s->fraction));
    put(o, "error", real_if(true, s->error));
    return o;
}

/* Why --sim-budget was exceeded, or null. */
static json_t *how_json(const struct sim_result *s)
{
    return s->how[0] ? json_string(s->how) : json_null();
}

static json_t *by_tensor_json(const struct sim_result *s)
{
    json_t *by = json_object();
    for (int i = 0; i < s->n; i++) {
        const struct tensor_count *t = &s->by_tensor[i];
        json_t *counts = json_object();
        put(counts, "loads", json_integer(t->loads));
        put(counts, "stores", json_integer(t->stores));
        put_misses(counts, s, t->l1_misses, t->l2_misses, t->l3_misses);
        put(by, t->tensor, counts);
    }
    return by;
}

static json_t *sim_json(const struct sim_result *s, bool asked)
{
    if (!asked)
        return unavailable("not asked for (--meters sim)");
    if (!s->available)
        return unavailable(s->reason[0] ? s->reason : "not measured");
    json_t *o = json_object();
    struct str cache = {0};
    cache_config_print(&cache, &s->cache);
    put(o, "available", json_true());
    put(o, "loads", json_integer(s->loads));
    put(o, "stores", json_integer(s->stores));
    put_misses(o, s, s->l1_misses, s->level[1].misses, s->level[2].misses);
    put(o, "writebacks", json_integer(s->writebacks));
    put(o, "straddled", json_integer(s->straddled));
    put(o, "streamed_bytes", json_integer(s->streamed_bytes));
    put(o, "by_tensor", by_tensor_json(s));
    put(o, "l1", geometry_json(&s->cache.level[0].geometry));
    put(o, "cache", json_text(str_text(&cache)));
    put(o, "levels", levels_json(s));
    put_bytes(o, s);
    put(o, "sites", sites_json(s));
    put(o, "sampled", sampled_json(s));
    put(o, "beyond_budget", how_json(s));
    put(o, "detail", report_detail_json(s));
    put(o, "seconds", real_if(true, s->seconds));
    str_free(&cache);
    return o;
}

/* "L1d load misses" -> "l1d_load_misses": a name that an assertion can say. */
static void event_key(char *out, size_t size, const char *name)
{
    size_t n = 0;
    for (; name[n] && n + 1 < size; n++)
        out[n] = isalnum((unsigned char)name[n]) ? (char)tolower((unsigned char)name[n]) : '_';
    out[n] = '\0';
}

/* A count is an integer, unless it is a rate. */
static json_t *count_json(double v)
{
    bool whole = v == floor(v) && fabs(v) < 9e15;
    return whole ? json_integer((json_int_t)v) : real_if(true, v);
}

static json_t *metric_json(const struct count *c)
{
    json_t *o = json_object();
    put(o, "value", real_if(true, c->value));
    put(o, "unit", json_text_or_null(c->unit));
    return o;
}

/* Counts by name; derived ones under metrics; the share of the time of those that took turns. */
static void put_counts(json_t *o, const struct counts *p)
{
    json_t *metrics = json_object(), *running = json_object();
    for (int i = 0; i < p->n; i++) {
        const struct count *c = &p->count[i];
        char key[sizeof c->name];
        event_key(key, sizeof key, c->name);
        put(c->derived ? metrics : o, key, c->derived ? metric_json(c) : count_json(c->value));
        if (c->scaled)
            put(running, key, real_if(c->running > 0, c->running));
    }
    put(o, "scaled", json_boolean(json_object_size(running) > 0));
    if (json_object_size(running) > 0)
        put(o, "running", running);
    else
        json_decref(running);
    put(o, "metrics", metrics);
}

static json_t *counts_json(const struct counts *p, bool asked, const char *meter)
{
    char why[64];
    snprintf(why, sizeof why, "not asked for (--meters %s)", meter);
    if (!asked)
        return unavailable(why);
    if (!p->available)
        return unavailable(p->reason[0] ? p->reason : "not measured");
    json_t *o = json_object();
    put(o, "available", json_true());
    put_counts(o, p);
    if (p->missing[0])
        put(o, "missing", json_text(p->missing));
    if (p->source[0])
        put(o, "source", json_text(p->source));
    return o;
}

static json_t *latency_json(const struct latency *l)
{
    if (l->runs == 0)
        return json_null();
    json_t *o = json_object();
    put(o, "median", real_if(true, l->median_ms));
    put(o, "min", real_if(true, l->min_ms));
    put(o, "max", real_if(true, l->max_ms));
    put(o, "p10", real_if(l->p10_ms > 0, l->p10_ms));
    put(o, "p25", real_if(l->p25_ms > 0, l->p25_ms));
    put(o, "p75", real_if(l->p75_ms > 0, l->p75_ms));
    put(o, "p90", real_if(l->p90_ms > 0, l->p90_ms));
    put(o, "spread", real_if(true, l->spread));
    put(o, "runs", json_integer(l->runs));
    put(o, "noisy", json_boolean(l->noisy));
    put(o, "disturbed", real_if(!isnan(l->disturbed), l->disturbed));
    return o;
}

static void put_timing(json_t *o, const struct measurement *m)
{
    put(o, "latency_ms", latency_json(&m->latency));
    put(o, "cold_latency_ms", latency_json(&m->cold_latency));
    put(o, "cold_method", json_text_or_null(m->cold_method));
    json_t *huge = m->huge_asked ? json_object() : json_null();
    if (m->huge_asked) {
        put(huge, "bytes", json_integer(m->huge_bytes));
        put(huge, "of_bytes", json_integer(m->huge_of_bytes));
    }
    put(o, "huge_pages", huge);
    put(o, "threads_note", json_text_or_null(m->threads_note));
}

static json_t *baseline_json(const struct baseline *b)
{
    if (!b->available)
        return unavailable(b->reason);
    json_t *o = latency_json(&b->latency);
    if (json_is_null(o)) {
        json_decref(o);
        return unavailable("not timed");
    }
    put(o, "available", json_true());
    put(o, "ratio", real_if(b->ratio > 0, b->ratio));
    put(o, "verified", json_boolean(b->verified));
    put(o, "max_rel_err", real_if(b->max_rel_err < ORACLE_INFINITE, b->max_rel_err));
    put(o, "implementation", json_text(b->implementation));
    put(o, "layout", json_text(b->layout));
    return o;
}

/* Those that were asked for. */
static json_t *baselines_json(const struct measurement *m)
{
    json_t *o = json_object();
    for (int i = 0; i < VENDOR_COUNT; i++)
        if (m->baseline[i].available || m->baseline[i].reason[0])
            put(o, vendor_name[i], baseline_json(&m->baseline[i]));
    return o;
}

static json_t *steps_json(const struct program *p)
{
    json_t *list = json_array();
    for (int i = 0; i < p->n_steps; i++)
        json_array_append_new(list, json_text(p->steps[i]));
    return list;
}

/* A text per line. */
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

/* How it was checked, and what the clock says. */
static void put_clock(json_t *o, const struct measurement *m)
{
    bool compared = measurement_compared(m);
    put(o, "outcome", json_text(outcome_name[m->outcome]));
    put(o, "reason", json_text_or_null(m->reason));
    put(o, "verified", json_boolean(m->verified));
    put(o, "max_rel_err", real_if(compared && m->max_rel_err < ORACLE_INFINITE, m->max_rel_err));
    put(o, "error_of_bound",
        real_if(compared && m->error_of_bound < ORACLE_INFINITE, m->error_of_bound));
    put(o, "tolerance", real_if(m->tolerance > 0, m->tolerance));
    put_timing(o, m);
    put(o, "gflops", real_if(m->gflops > 0, m->gflops));
    put(o, "executed_gflops", real_if(m->executed_gflops > 0, m->executed_gflops));
    put(o, "peak_gflops", real_if(m->peak_gflops > 0, m->peak_gflops));
    put(o, "peak_fraction", real_if(m->peak_fraction > 0, m->peak_fraction));
    put(o, "peak_reason", json_text_or_null(m->peak_reason));
}

static void put_result(json_t *o, const struct measurement *m, unsigned meters)
{
    json_t *counters = json_object();
    put_clock(o, m);
    put(o, "baselines", baselines_json(m));
    put(counters, "sim", sim_json(&m->sim, meters & METER_SIM));
    for (int i = METER_ID_PERF; i < METER_COUNT; i++)
        if (i <= METER_ID_PERF_SW || (meters & 1u << i))
            put(counters, meter_name[i],
                counts_json(&m->counts[i], meters & 1u << i, meter_name[i]));
    put(o, "counters", counters);
}

static json_t *edges_json(const struct roofline *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n; i++) {
        json_t *o = json_object();
        put(o, "from", json_text(model_level_name[r->roof[i].from]));
        put(o, "bytes", real_if(true, r->roof[i].bytes));
        put(o, "intensity", real_if(true, r->roof[i].intensity));
        put(o, "gflops", real_if(true, r->roof[i].gflops));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *roofline_json(const struct graph *g, const struct measurement *m,
                             const struct machine_model *model)
{
    struct roofline r;
    json_t *o = json_object();
    roofline_of(model, g->flops, g->bytes, m, &r);
    put(o, "intensity", real_if(r.intensity > 0, r.intensity));
    put(o, "intensity_of", json_text(r.simulated ? "simulated" : "compulsory"));
    put(o, "compulsory_intensity", real_if(r.compulsory > 0, r.compulsory));
    put(o, "home", r.bound > 0 ? json_text(model_level_name[r.home]) : json_null());
    put(o, "edges", edges_json(&r));
    put(o, "bound_gflops", real_if(r.bound > 0, r.bound));
    put(o, "bound_by", r.bound > 0 ? json_text(roofline_by_name(r.by)) : json_null());
    put(o, "bound_fraction", real_if(r.fraction > 0, r.fraction));
    put(o, "model_date", json_text_or_null(model ? model->date : ""));
    struct str doubts = {0};
    if (model)
        roofline_doubts(model, m, &doubts);
    put(o, "model_doubts", json_text_or_null(str_text(&doubts)));
    str_free(&doubts);
    put(o, "reason", json_text_or_null(model ? ""
                                             : "no machine model: tilescope machine measures it"));
    return o;
}

void report_run_json(struct str *out, const struct session *s, const struct measurement *m,
                     unsigned meters, const char *machine, const struct machine_model *model)
{
    static const struct measurement nothing;
    const struct program *p = history_current(s->history)->program;
    json_t *o = json_object();
    m = m ? m : &nothing;
    put(o, "format", json_integer(1));
    put(o, "operator", json_text(p->base->op));
    put(o, "spec", json_text(p->base->spec));
    put(o, "title", json_text_or_null(s->title));
    put(o, "branch", json_text(history_branch(s->history, history_branch_index(s->history))->name));
    put(o, "steps", steps_json(p));
    put(o, "notes", notes_json(p));
    put_result(o, m, meters);
    put(o, "roofline", roofline_json(p->base, m, model));
    put(o, "machine", json_text_or_null(machine ? machine : ""));
    put(o, "isa", json_text_or_null(m->isa));
    put(o, "compiler", json_text_or_null(m->compiler));
    put(o, "threads", integer_if(m->threads > 0, m->threads));
    put(o, "seed", m->outcome == OUTCOME_NONE ? json_null() : unsigned_of(m->seed));
    put(o, "build_s", real_if(m->build_s > 0, m->build_s));
    put(o, "total_s", real_if(m->total_s > 0, m->total_s));
    json_text_print(out, o, 8);
}

/* The branch and step that it stands at. */
static json_t *entry_json(const struct bench_entry *b)
{
    const struct history *h = b->session->history;
    const struct program *p = history_current(h)->program;
    const struct compared *r = b->result;
    json_t *o = json_object(), *ratio = r->verdict ? json_object() : json_null();
    put(o, "name", json_text(b->name));
    put(o, "operator", json_text(p->base->op));
    put(o, "spec", json_text(p->base->spec));
    put(o, "branch", json_text(history_branch(h, history_branch_index(h))->name));
    put(o, "steps", steps_json(p));
    put_clock(o, &r->m);
    if (r->verdict) {
        put(ratio, "value", real_if(true, r->ratio.ratio));
        put(ratio, "low", real_if(true, r->ratio.low));
        put(ratio, "high", real_if(true, r->ratio.high));
    }
    put(o, "ratio", ratio);
    put(o, "verdict", json_text_or_null(verdict_name[r->verdict]));
    return o;
}

void report_bench_json(struct str *out, const struct bench_entry *entry, int n,
                       const struct comparison *how, const char *machine)
{
    const struct measurement *m = &entry[0].result->m;
    json_t *o = json_object(), *contenders = json_object();
    put(o, "format", json_integer(1));
    put(o, "rounds", integer_if(how->rounds > 0, how->rounds));
    put(o, "sittings", integer_if(how->sittings > 0, how->sittings));
    put(o, "disturbed", real_if(!isnan(how->disturbed), how->disturbed));
    for (int i = 0; i < n; i++)
        put(contenders, (char[]){ (char)('A' + i), '\0' }, entry_json(&entry[i]));
    put(o, "contenders", contenders);
    put(o, "machine", json_text_or_null(machine));
    put(o, "isa", json_text_or_null(m->isa));
    put(o, "compiler", json_text_or_null(m->compiler));
    put(o, "threads", json_integer(m->threads));
    put(o, "seed", unsigned_of(m->seed));
    put(o, "total_s", real_if(true, m->total_s));
    json_text_print(out, o, 8);
}

/* lists */

static json_t *cache_or_null(const struct cache_geometry *g)
{
    return g->size_bytes > 0 ? geometry_json(g) : json_null();
}

void report_machine_json(struct str *out, const struct machine *m,
                         const struct machine_model *model)
{
    json_t *o = json_object();
    struct str fingerprint = {0};
    machine_fingerprint(&fingerprint, m);
    put(o, "fingerprint", json_text(str_text(&fingerprint)));
    put(o, "cpu", json_text_or_null(m->cpu));
    put(o, "isa", json_text_or_null(m->isa));
    put(o, "vector_floats", json_integer(m->vector_floats));
    put(o, "cores", json_integer(m->cores));
    put(o, "l1d", cache_or_null(&m->l1d));
    put(o, "l1d_assumed", json_boolean(m->l1d_assumed));
    put(o, "l2", cache_or_null(&m->l2));
    put(o, "l3", cache_or_null(&m->l3));
    put(o, "memory_bytes", integer_if(m->memory_bytes > 0, m->memory_bytes));
    put(o, "os", json_text_or_null(m->os));
    put(o, "has_pmu", json_boolean(m->has_pmu));
    put(o, "peak_gflops", model ? json_real(machine_model_peak(model, 1)) : json_null());
    struct str doubts = {0};
    if (model)
        machine_model_doubts(model, NULL, &doubts);
    put(o, "doubts", json_text_or_null(str_text(&doubts)));
    str_free(&doubts);
    put(o, "model", model ? machine_file_json(model) : json_null());
    str_free(&fingerprint);
    json_text_print(out, o, 8);
}

static json_t *set_json(const struct event_set *s)
{
    json_t *o = json_object(), *events = json_array(), *metrics = json_array();
    for (int i = 0; i < s->n; i++) {
        json_t *ev = json_object();
        put(ev, "name", json_text(s->event[i].name));
        put(ev, "event", json_text(s->event[i].text));
        json_array_append_new(events, ev);
    }
    for (int i = 0; i < s->n_metrics; i++) {
        json_t *metric = json_object();
        put(metric, "name", json_text(s->metric[i].name));
        put(metric, "unit", json_text_or_null(s->metric[i].unit));
        put(metric, "formula", json_text(s->metric[i].formula));
        json_array_append_new(metrics, metric);
    }
    put(o, "name", json_text(s->name));
    put(o, "meter", json_text(s->meter));
    put(o, "summary", json_text(s->summary));
    put(o, "cpu", json_text_or_null(s->cpu));
    put(o, "path", json_text_or_null(s->path));
    put(o, "events", events);
    put(o, "metrics", metrics);
    put(o, "prose", json_text(s->prose));
    return o;
}

void report_meters_json(struct str *out, const struct meter_info *m, int n,
                        const struct event_sets *sets)
{
    json_t *o = json_object(), *list = json_array();
    for (int i = 0; i < n; i++) {
        json_t *meter = json_object();
        put(meter, "name", json_text(m[i].name));
        put(meter, "what", json_text(m[i].what));
        put(meter, "available", json_boolean(m[i].available));
        put(meter, "reason", json_text_or_null(m[i].reason));
        json_array_append_new(list, meter);
    }
    put(o, "meters", list);
    json_t *all = json_array();
    for (int i = 0; i < sets->n; i++)
        json_array_append_new(all, set_json(sets->set[i]));
    put(o, "sets", all);
    json_text_print(out, o, 8);
}

static json_t *param_json(const struct op_param *p)
{
    json_t *o = json_object();
    bool known = p->def != OP_REQUIRED && p->def != OP_UNSET;
    put(o, "name", json_text(p->name));
    put(o, "required", json_boolean(p->def == OP_REQUIRED));
    put(o, "default", integer_if(known, p->def));
    put(o, "min", json_integer(p->min));
    put(o, "max", json_integer(p->max));
    put(o, "help", json_text(p->help ? p->help : ""));
    if (p->words) {
        json_t *words = json_array();
        for (int i = 0; p->words[i]; i++)
            json_array_append_new(words, json_text(p->words[i]));
        put(o, "words", words);
    }
    return o;
}

void report_ops_json(struct str *out)
{
    json_t *o = json_object(), *list = json_array();
    for (int i = 0; i < ops_count(); i++) {
        const struct op_family *f = ops_get(i);
        json_t *family = json_object(), *params = json_array();
        put(family, "name", json_text(f->name));
        put(family, "title", json_text(f->title));
        put(family, "example", json_text(f->example));
        put(family, "help", json_text(f->help));
        for (int k = 0; k < f->n_params; k++)
            json_array_append_new(params, param_json(&f->params[k]));
        put(family, "params", params);
        json_array_append_new(list, family);
    }
    put(o, "operators", list);
    json_text_print(out, o, 8);
}
