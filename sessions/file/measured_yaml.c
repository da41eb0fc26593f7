#include "sessions/file/measured_yaml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "kernels/base/rng.h"
#include "kernels/ops/source.h"

#define M(type, member, zero) FIELD(type, measurement, member, zero)

static const struct field result_fields[] = {
    M(TEXT, reason, ZERO_LEFT_OUT),
    M(BOOL, verified, ZERO_KEPT),
    M(DOUBLE, max_rel_err, ZERO_LEFT_OUT),
    M(DOUBLE, error_of_bound, ZERO_LEFT_OUT),
    M(DOUBLE, tolerance, ZERO_LEFT_OUT),
    M(DOUBLE, gflops, ZERO_LEFT_OUT),
    M(DOUBLE, executed_gflops, ZERO_LEFT_OUT),
    M(DOUBLE, peak_gflops, ZERO_LEFT_OUT),
    M(DOUBLE, peak_fraction, ZERO_LEFT_OUT),
    M(TEXT, peak_reason, ZERO_LEFT_OUT),
    M(TEXT, cold_method, ZERO_LEFT_OUT),
    M(BOOL, huge_asked, ZERO_LEFT_OUT),
    M(INT64, huge_bytes, ZERO_LEFT_OUT),
    M(INT64, huge_of_bytes, ZERO_LEFT_OUT),
    M(TEXT, threads_note, ZERO_LEFT_OUT),
    M(TEXT, compiler, ZERO_LEFT_OUT),
    M(TEXT, isa, ZERO_LEFT_OUT),
    M(INT, threads, ZERO_LEFT_OUT),
    M(UINT64, seed, ZERO_KEPT),
    M(DOUBLE, build_s, ZERO_LEFT_OUT),
    M(DOUBLE, total_s, ZERO_LEFT_OUT),
};

static const struct field latency_fields[] = {
    { "median", FIELD_DOUBLE, ZERO_KEPT, offsetof(struct latency, median_ms), sizeof(double) },
    { "min", FIELD_DOUBLE, ZERO_KEPT, offsetof(struct latency, min_ms), sizeof(double) },
    { "max", FIELD_DOUBLE, ZERO_KEPT, offsetof(struct latency, max_ms), sizeof(double) },
#define MS(key) \
    { #key, FIELD_DOUBLE, ZERO_LEFT_OUT, offsetof(struct latency, key##_ms), sizeof(double) }
    MS(p10), MS(p25), MS(p75), MS(p90),
    FIELD(DOUBLE, latency, spread, ZERO_KEPT),
    FIELD(INT, latency, runs, ZERO_KEPT),
    FIELD(BOOL, latency, noisy, ZERO_LEFT_OUT),
    FIELD(DOUBLE, latency, disturbed, ZERO_KEPT),
};

static const struct field sim_fields[] = {
    FIELD(BOOL, sim_result, available, ZERO_KEPT),
    FIELD(TEXT, sim_result, reason, ZERO_LEFT_OUT),
    FIELD(INT64, sim_result, loads, ZERO_LEFT_OUT),
    FIELD(INT64, sim_result, stores, ZERO_LEFT_OUT),
    FIELD(INT64, sim_result, l1_misses, ZERO_LEFT_OUT),
    FIELD(INT64, sim_result, writebacks, ZERO_LEFT_OUT),
    FIELD(INT64, sim_result, straddled, ZERO_LEFT_OUT),
    FIELD(INT64, sim_result, streamed_bytes, ZERO_LEFT_OUT),
    FIELD(DOUBLE, sim_result, fraction, ZERO_LEFT_OUT),
    FIELD(DOUBLE, sim_result, error, ZERO_LEFT_OUT),
    FIELD(TEXT, sim_result, how, ZERO_LEFT_OUT),
    FIELD(DOUBLE, sim_result, seconds, ZERO_LEFT_OUT),
};

static const struct field level_fields[] = {
    FIELD(INT64, sim_level, accesses, ZERO_KEPT),
    FIELD(INT64, sim_level, misses, ZERO_KEPT),
    FIELD(INT64, sim_level, writebacks, ZERO_KEPT),
    FIELD(INT64, sim_level, prefetches, ZERO_LEFT_OUT),
    FIELD(INT64, sim_level, useful, ZERO_LEFT_OUT),
};

static const struct field site_fields[] = {
    FIELD(TEXT, sim_site, text, ZERO_KEPT),
    FIELD(INT, sim_site, tensor, ZERO_KEPT),
    FIELD(BOOL, sim_site, is_store, ZERO_LEFT_OUT),
    FIELD(INT64, sim_site, accesses, ZERO_KEPT),
    FIELD(INT64, sim_site, l1_misses, ZERO_LEFT_OUT),
    FIELD(INT64, sim_site, l2_misses, ZERO_LEFT_OUT),
    FIELD(INT64, sim_site, l3_misses, ZERO_LEFT_OUT),
};

/* Of versions that had one level only. */
static const struct field geometry_fields[] = {
    FIELD(INT64, cache_geometry, size_bytes, ZERO_KEPT),
    FIELD(INT, cache_geometry, ways, ZERO_KEPT),
    FIELD(INT, cache_geometry, line_bytes, ZERO_KEPT),
};

static const struct field tensor_fields[] = {
    FIELD(INT64, tensor_count, loads, ZERO_KEPT),
    FIELD(INT64, tensor_count, stores, ZERO_KEPT),
    FIELD(INT64, tensor_count, l1_misses, ZERO_KEPT),
    FIELD(INT64, tensor_count, l2_misses, ZERO_LEFT_OUT),
    FIELD(INT64, tensor_count, l3_misses, ZERO_LEFT_OUT),
};

static const struct field baseline_fields[] = {
    FIELD(BOOL, baseline, available, ZERO_KEPT),
    FIELD(TEXT, baseline, reason, ZERO_LEFT_OUT),
    FIELD(DOUBLE, baseline, ratio, ZERO_LEFT_OUT),
    FIELD(BOOL, baseline, verified, ZERO_LEFT_OUT),
    FIELD(DOUBLE, baseline, max_rel_err, ZERO_LEFT_OUT),
    FIELD(TEXT, baseline, implementation, ZERO_LEFT_OUT),
    FIELD(TEXT, baseline, layout, ZERO_LEFT_OUT),
};

static const struct field counts_fields[] = {
    FIELD(BOOL, counts, available, ZERO_KEPT),
    FIELD(TEXT, counts, reason, ZERO_LEFT_OUT),
    FIELD(TEXT, counts, missing, ZERO_LEFT_OUT),
    FIELD(TEXT, counts, source, ZERO_LEFT_OUT),
};

static const struct field count_fields[] = {
    FIELD(TEXT, count, name, ZERO_KEPT),
    FIELD(DOUBLE, count, value, ZERO_KEPT),
    FIELD(BOOL, count, scaled, ZERO_KEPT),
    FIELD(BOOL, count, derived, ZERO_LEFT_OUT),
    FIELD(TEXT, count, unit, ZERO_LEFT_OUT),
    FIELD(DOUBLE, count, running, ZERO_LEFT_OUT),
};

#define WITH_COUNT(fields) fields, COUNT_OF(fields)

static void no_path(void *ctx, const char *path, struct str *out)
{
    (void)ctx, (void)path, (void)out;
}

void measured_key(char out[20], const char *spec, const char *const *steps, int n)
{
    struct str nameless = {0};
    spec_map_files(&nameless, spec, no_path, NULL);
    uint64_t hash = hash_text(str_text(&nameless));
    str_free(&nameless);
    for (int i = 0; i < n; i++)
        hash = hash_bytes(steps[i], strlen(steps[i]) + 1, hash);
    snprintf(out, 20, "%016llx", (unsigned long long)hash);
}

/* writing */

/* A list of n structs, size bytes each. */
static void write_maps(struct ywriter *w, const char *key, const struct field *field, int n_fields,
                       const void *item, size_t size, int n)
{
    yaml_put_text(w, key);
    yaml_put_seq(w, true);
    for (int i = 0; i < n; i++) {
        yaml_put_map(w, true);
        yaml_fields_write(w, field, n_fields, (const char *)item + size * (size_t)i);
        yaml_put_map_end(w);
    }
    yaml_put_seq_end(w);
}

static void write_sim(struct ywriter *w, const struct sim_result *sim)
{
    yaml_put_text(w, "sim");
    yaml_put_map(w, true);
    yaml_fields_write(w, WITH_COUNT(sim_fields), sim);
    if (sim->cache.n_levels > 0) {
        struct str cache = {0};
        cache_config_print(&cache, &sim->cache);
        yaml_put_text(w, "cache");
        yaml_put_text(w, str_text(&cache));
        str_free(&cache);
    }
    if (sim->available)
        write_maps(w, "levels", WITH_COUNT(level_fields), sim->level, sizeof *sim->level,
                   sim->cache.n_levels);
    if (sim->n_sites > 0)
        write_maps(w, "sites", WITH_COUNT(site_fields), sim->site, sizeof *sim->site,
                   sim->n_sites);
    if (sim->n > 0) {
        yaml_put_text(w, "by_tensor");
        yaml_put_map(w, true);
        for (int i = 0; i < sim->n; i++) {
            yaml_put_text(w, sim->by_tensor[i].tensor);
            yaml_put_map(w, true);
            yaml_fields_write(w, WITH_COUNT(tensor_fields), &sim->by_tensor[i]);
            yaml_put_map_end(w);
        }
        yaml_put_map_end(w);
    }
    yaml_put_map_end(w);
}

static void write_counts(struct ywriter *w, const char *key, const struct counts *c)
{
    yaml_put_text(w, key);
    yaml_put_map(w, true);
    yaml_fields_write(w, WITH_COUNT(counts_fields), c);
    if (c->n > 0) {
        yaml_put_text(w, "counts");
        yaml_put_seq(w, true);
        for (int i = 0; i < c->n; i++) {
            yaml_put_map(w, true);
            yaml_fields_write(w, WITH_COUNT(count_fields), &c->count[i]);
            yaml_put_map_end(w);
        }
        yaml_put_seq_end(w);
    }
    yaml_put_map_end(w);
}

static void write_latency(struct ywriter *w, const char *key, const struct latency *l)
{
    if (l->runs == 0)
        return;
    yaml_put_text(w, key);
    yaml_put_map(w, true);
    yaml_fields_write(w, WITH_COUNT(latency_fields), l);
    yaml_put_map_end(w);
}

static bool has_baseline(const struct baseline *b)
{
    return b->available || b->reason[0];
}

static void write_baselines(struct ywriter *w, const struct measurement *m)
{
    bool any = false;
    for (int i = 0; i < VENDOR_COUNT; i++)
        any = any || has_baseline(&m->baseline[i]);
    if (!any)
        return;
    yaml_put_text(w, "baselines");
    yaml_put_map(w, true);
    for (int i = 0; i < VENDOR_COUNT; i++) {
        if (!has_baseline(&m->baseline[i]))
            continue;
        yaml_put_text(w, vendor_name[i]);
        yaml_put_map(w, true);
        yaml_fields_write(w, WITH_COUNT(baseline_fields), &m->baseline[i]);
        write_latency(w, "latency_ms", &m->baseline[i].latency);
        yaml_put_map_end(w);
    }
    yaml_put_map_end(w);
}

void measured_write(struct ywriter *w, const struct measured_at *at, const struct measurement *m)
{
    yaml_put_map(w, true);
    yaml_put_text(w, "branch");
    yaml_put_text(w, at->branch);
    yaml_put_text(w, "step");
    yaml_put_int(w, at->step);
    yaml_put_text(w, "key");
    yaml_put_text(w, at->key);
    yaml_put_text(w, "outcome");
    yaml_put_text(w, outcome_name[m->outcome]);
    write_latency(w, "latency_ms", &m->latency);
    write_latency(w, "cold_latency_ms", &m->cold_latency);
    yaml_fields_write(w, WITH_COUNT(result_fields), m);
    write_baselines(w, m);
    if (m->sim.available || m->sim.reason[0])
        write_sim(w, &m->sim);
    for (int i = METER_ID_PERF; i < METER_COUNT; i++)
        if (m->counts[i].available || m->counts[i].reason[0])
            write_counts(w, meter_name[i], &m->counts[i]);
    yaml_put_map_end(w);
}

/* reading */

static bool read_outcome(const struct ydoc *d, const struct ynode *v, enum outcome *out,
                         struct err *e)
{
    const char *text;
    if (!yaml_text(d, v, "outcome", 64, false, &text, e))
        return false;
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (streq(outcome_name[i], text)) {
            *out = (enum outcome)i;
            return true;
        }
    err_set(e, ERR_RANGE, "outcome: unknown value \"%s\"", text);
    const char *near = str_nearest(text, outcome_name, OUTCOME_COUNT);
    if (near)
        err_fix(e, "did you mean \"%s\"?", near);
    return yaml_at(d, v, e);
}

static bool read_by_tensor(const struct ydoc *d, const struct ynode *map, struct sim_result *sim,
                           struct err *e)
{
    if (!yaml_is(d, map, YNODE_MAP, "by_tensor", e))
        return false;
    if (map->n > MEASURE_MAX_TENSORS) {
        err_set(e, ERR_RANGE, "by_tensor: more than %d tensors", MEASURE_MAX_TENSORS);
        return yaml_at(d, map, e);
    }
    for (int i = 0; i < map->n; i++) {
        const struct ynode *key = map->item[2 * i], *counts = map->item[2 * i + 1];
        struct tensor_count *t = &sim->by_tensor[i];
        const char *name;
        if (!yaml_text(d, key, "by_tensor", sizeof t->tensor - 1, false, &name, e)
            || !yaml_keys(d, counts, name, WITH_COUNT(tensor_fields), NULL, e)
            || !yaml_fields_read(d, counts, WITH_COUNT(tensor_fields), t, e))
            return false;
        snprintf(t->tensor, sizeof t->tensor, "%s", name);
    }
    sim->n = map->n;
    return true;
}

/* A list of at most `most` structs, size bytes each. */
static bool read_maps(const struct ydoc *d, const struct ynode *list, const char *key,
                      const struct field *field, int n_fields, void *item, size_t size, int most,
                      struct err *e)
{
    if (!yaml_is(d, list, YNODE_SEQ, key, e))
        return false;
    if (list->n > most) {
        err_set(e, ERR_RANGE, "%s: more than %d", key, most);
        return yaml_at(d, list, e);
    }
    for (int i = 0; i < list->n; i++)
        if (!yaml_keys(d, list->item[i], key, field, n_fields, NULL, e)
            || !yaml_fields_read(d, list->item[i], field, n_fields,
                                 (char *)item + size * (size_t)i, e))
            return false;
    return true;
}

/* `cache`, or the `l1` of older files. */
static bool read_cache(const struct ydoc *d, const struct ynode *map, struct cache_config *out,
                       struct err *e)
{
    const struct ynode *cache = yaml_get(map, "cache"), *l1 = yaml_get(map, "l1");
    const char *text;
    if (cache && !yaml_text(d, cache, "cache", 255, false, &text, e))
        return false;
    if (cache && !cache_config_parse(text, out, e))
        return yaml_at(d, cache, e);
    if (!l1 || cache)
        return true;
    out->n_levels = 1;
    if (!yaml_keys(d, l1, "l1", WITH_COUNT(geometry_fields), NULL, e)
        || !yaml_fields_read(d, l1, WITH_COUNT(geometry_fields), &out->level[0].geometry, e))
        return false;
    return cache_config_check(out, e) || yaml_at(d, l1, e);
}

/* Sites name their tensor by its position. */
static bool check_sites(const struct ydoc *d, const struct ynode *list, struct sim_result *sim,
                        struct err *e)
{
    for (int i = 0; i < list->n; i++)
        if (sim->site[i].tensor > sim->n) {
            err_set(e, ERR_RANGE, "sites: there is no tensor %d", sim->site[i].tensor);
            return yaml_at(d, list->item[i], e);
        }
    sim->n_sites = list->n;
    return true;
}

static bool read_sim(const struct ydoc *d, const struct ynode *map, struct sim_result *sim,
                     struct err *e)
{
    static const char *const more[] = { "cache", "l1", "by_tensor", "levels", "sites", NULL };
    if (!yaml_keys(d, map, "sim", WITH_COUNT(sim_fields), more, e)
        || !yaml_fields_read(d, map, WITH_COUNT(sim_fields), sim, e))
        return false;
    const struct ynode *tensors = yaml_get(map, "by_tensor"), *levels = yaml_get(map, "levels");
    const struct ynode *sites = yaml_get(map, "sites");
    if (!read_cache(d, map, &sim->cache, e) || (tensors && !read_by_tensor(d, tensors, sim, e)))
        return false;
    sim->level[0].accesses = sim->loads + sim->stores;
    sim->level[0].misses = sim->l1_misses;
    sim->level[0].writebacks = sim->writebacks;
    if (!(sim->fraction > 0))
        sim->fraction = 1;
    return (!levels || read_maps(d, levels, "levels", WITH_COUNT(level_fields), sim->level,
                                 sizeof *sim->level, sim->cache.n_levels, e))
        && (!sites || (read_maps(d, sites, "sites", WITH_COUNT(site_fields), sim->site,
                                 sizeof *sim->site, MEASURE_MAX_SITES, e)
                       && check_sites(d, sites, sim, e)));
}

static bool read_counts(const struct ydoc *d, const struct ynode *map, const char *meter,
                        struct counts *c, struct err *e)
{
    static const char *const more[] = { "counts", NULL };
    if (!yaml_keys(d, map, meter, WITH_COUNT(counts_fields), more, e)
        || !yaml_fields_read(d, map, WITH_COUNT(counts_fields), c, e))
        return false;
    const struct ynode *counts = yaml_get(map, "counts");
    if (!counts)
        return true;
    if (!yaml_is(d, counts, YNODE_SEQ, "counts", e))
        return false;
    if (counts->n > COUNTS_MAX) {
        err_set(e, ERR_RANGE, "counts: more than %d events", COUNTS_MAX);
        return yaml_at(d, counts, e);
    }
    for (int i = 0; i < counts->n; i++)
        if (!yaml_keys(d, counts->item[i], "counts", WITH_COUNT(count_fields), NULL, e)
            || !yaml_fields_read(d, counts->item[i], WITH_COUNT(count_fields), &c->count[i], e))
            return false;
    c->n = counts->n;
    return true;
}

static bool read_at(const struct ydoc *d, const struct ynode *map, struct measured_at *at,
                    struct err *e)
{
    const struct ynode *branch, *step, *key;
    const char *text;
    if (!yaml_need(d, map, "branch", &branch, e) || !yaml_need(d, map, "step", &step, e)
        || !yaml_need(d, map, "key", &key, e)
        || !yaml_text(d, branch, "branch", 255, false, &at->branch, e)
        || !yaml_int(d, step, "step", 0, INT32_MAX, &at->step, e)
        || !yaml_text(d, key, "key", sizeof at->key - 1, false, &text, e))
        return false;
    snprintf(at->key, sizeof at->key, "%s", text);
    return true;
}

/* What an older version did not write stays unknown. */
static bool read_latency(const struct ydoc *d, const struct ynode *measured, const char *key,
                         struct latency *out, struct err *e)
{
    const struct ynode *map = yaml_get(measured, key);
    out->disturbed = NAN;
    return !map || (yaml_keys(d, map, key, WITH_COUNT(latency_fields), NULL, e)
                    && yaml_fields_read(d, map, WITH_COUNT(latency_fields), out, e));
}

static bool read_baseline(const struct ydoc *d, const struct ynode *map, const char *name,
                          struct baseline *b, struct err *e)
{
    static const char *const more[] = { "latency_ms", NULL };
    return yaml_keys(d, map, name, WITH_COUNT(baseline_fields), more, e)
        && yaml_fields_read(d, map, WITH_COUNT(baseline_fields), b, e)
        && (!b->available || read_latency(d, map, "latency_ms", &b->latency, e));
}

static bool read_baselines(const struct ydoc *d, const struct ynode *map, struct measurement *m,
                           struct err *e)
{
    const char *more[VENDOR_COUNT + 1] = { NULL };
    memcpy(more, vendor_name, sizeof vendor_name);
    if (!yaml_keys(d, map, "baselines", NULL, 0, more, e))
        return false;
    for (int i = 0; i < VENDOR_COUNT; i++) {
        const struct ynode *v = yaml_get(map, vendor_name[i]);
        if (v && !read_baseline(d, v, vendor_name[i], &m->baseline[i], e))
            return false;
    }
    return true;
}

bool measured_read(const struct ydoc *d, const struct ynode *node, struct measured_at *at,
                   struct measurement *m, struct err *e)
{
    const char *more[8 + METER_COUNT + 1] = { "branch", "step", "key", "outcome", "latency_ms",
                                              "cold_latency_ms", "baselines", "sim" };
    const struct ynode *outcome;
    *m = (struct measurement){0};
    for (int i = METER_ID_PERF; i < METER_COUNT; i++)
        more[8 + i - METER_ID_PERF] = meter_name[i];
    if (!yaml_keys(d, node, "a measurement", WITH_COUNT(result_fields), more, e)
        || !read_at(d, node, at, e)
        || !yaml_need(d, node, "outcome", &outcome, e) || !read_outcome(d, outcome, &m->outcome, e)
        || !yaml_fields_read(d, node, WITH_COUNT(result_fields), m, e))
        return false;
    const struct ynode *sim = yaml_get(node, "sim");
    if (!read_latency(d, node, "latency_ms", &m->latency, e)
        || !read_latency(d, node, "cold_latency_ms", &m->cold_latency, e))
        return false;
    if (sim && !read_sim(d, sim, &m->sim, e))
        return false;
    const struct ynode *baselines = yaml_get(node, "baselines");
    if (baselines && !read_baselines(d, baselines, m, e))
        return false;
    for (int i = METER_ID_PERF; i < METER_COUNT; i++) {
        const struct ynode *counts = yaml_get(node, meter_name[i]);
        if (counts && !read_counts(d, counts, meter_name[i], &m->counts[i], e))
            return false;
    }
    m->verified = m->verified && m->outcome == OUTCOME_OK;    /* older files claim more */
    return true;
}
