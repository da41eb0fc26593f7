#include "sessions/file/measured_yaml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "kernels/base/rng.h"
#include "kernels/ops/source.h"
#include "sessions/file/measured_fields.h"

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

/* --- Writing ---------------------------------------------------------------------------------- */

static void write_map(struct ywriter *w, struct fields f, const void *base)
{
    yaml_put_map(w, true);
    yaml_fields_write(w, f, base);
    yaml_put_map_end(w);
}

/* Writes key and a list of n structs of `size` bytes each. */
static void write_maps(struct ywriter *w, const char *key, struct fields f,
                       const void *item, size_t size, int n)
{
    yaml_put_text(w, key);
    yaml_put_seq(w, true);
    for (int i = 0; i < n; i++)
        write_map(w, f, (const char *)item + size * (size_t)i);
    yaml_put_seq_end(w);
}

static void write_sim(struct ywriter *w, const struct sim_result *sim)
{
    yaml_put_text(w, "sim");
    yaml_put_map(w, true);
    yaml_fields_write(w, measured_sim_fields, sim);
    if (sim->cache.n_levels > 0) {
        struct str cache = {0};
        cache_config_print(&cache, &sim->cache);
        yaml_put_text(w, "cache");
        yaml_put_text(w, str_text(&cache));
        str_free(&cache);
    }
    if (sim->available)
        write_maps(w, "levels", measured_level_fields, sim->level, sizeof *sim->level,
                   sim->cache.n_levels);
    if (sim->n_sites > 0)
        write_maps(w, "sites", measured_site_fields, sim->site, sizeof *sim->site, sim->n_sites);
    if (sim->n > 0) {
        yaml_put_text(w, "by_tensor");
        yaml_put_map(w, true);
        for (int i = 0; i < sim->n; i++) {
            yaml_put_text(w, sim->by_tensor[i].tensor);
            write_map(w, measured_tensor_fields, &sim->by_tensor[i]);
        }
        yaml_put_map_end(w);
    }
    yaml_put_map_end(w);
}

static void write_counts(struct ywriter *w, const char *key, const struct counts *c)
{
    yaml_put_text(w, key);
    yaml_put_map(w, true);
    yaml_fields_write(w, measured_counts_fields, c);
    if (c->n > 0)
        write_maps(w, "counts", measured_count_fields, c->count, sizeof *c->count, c->n);
    yaml_put_map_end(w);
}

static void write_latency(struct ywriter *w, const char *key, const struct latency *l)
{
    if (l->runs == 0)
        return;
    yaml_put_text(w, key);
    write_map(w, measured_latency_fields, l);
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
        yaml_fields_write(w, measured_baseline_fields, &m->baseline[i]);
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
    yaml_fields_write(w, measured_fields, m);
    write_baselines(w, m);
    if (m->sim.available || m->sim.reason[0])
        write_sim(w, &m->sim);
    for (int i = METER_ID_PERF; i < METER_COUNT; i++)
        if (m->counts[i].available || m->counts[i].reason[0])
            write_counts(w, meter_name[i], &m->counts[i]);
    yaml_put_map_end(w);
}

/* --- Reading ---------------------------------------------------------------------------------- */

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
    err_near(e, text, outcome_name, OUTCOME_COUNT, "did you mean \"%s\"?", NULL);
    return yaml_at(d, v, e);
}

static bool read_by_tensor(const struct ydoc *d, const struct ynode *map, struct sim_result *sim,
                           struct err *e)
{
    if (!yaml_is(d, map, YNODE_MAP, "by_tensor", e))
        return false;
    if (map->n > MEASURE_MAX_TENSORS)
        return yaml_refuse(d, map, e, ERR_RANGE, "by_tensor: more than %d tensors",
                           MEASURE_MAX_TENSORS);
    for (int i = 0; i < map->n; i++) {
        const struct ynode *key = map->item[2 * i], *counts = map->item[2 * i + 1];
        struct tensor_count *t = &sim->by_tensor[i];
        const char *name;
        if (!yaml_text(d, key, "by_tensor", sizeof t->tensor - 1, false, &name, e)
            || !yaml_fields_read(d, counts, name, measured_tensor_fields, NULL, t, e))
            return false;
        snprintf(t->tensor, sizeof t->tensor, "%s", name);
    }
    sim->n = map->n;
    return true;
}

/* Reads a list of at most `most` structs of `size` bytes each. */
static bool read_maps(const struct ydoc *d, const struct ynode *list, const char *key,
                      struct fields f, void *item, size_t size, int most, struct err *e)
{
    if (!yaml_is(d, list, YNODE_SEQ, key, e))
        return false;
    if (list->n > most)
        return yaml_refuse(d, list, e, ERR_RANGE, "%s: more than %d", key, most);
    for (int i = 0; i < list->n; i++)
        if (!yaml_fields_read(d, list->item[i], key, f, NULL, (char *)item + size * (size_t)i, e))
            return false;
    return true;
}

/* Reads the simulated caches from the key `cache`; older files have `l1`. */
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
    if (!yaml_fields_read(d, l1, "l1", measured_geometry_fields, NULL, &out->level[0].geometry,
                          e))
        return false;
    return cache_config_check(out, e) || yaml_at(d, l1, e);
}

/* Checks that the `tensor` of each site is an index into by_tensor, or sim->n, which means other
 * tensors.  Sets sim->n_sites. */
static bool check_sites(const struct ydoc *d, const struct ynode *list, struct sim_result *sim,
                        struct err *e)
{
    for (int i = 0; i < list->n; i++)
        if (sim->site[i].tensor > sim->n)
            return yaml_refuse(d, list->item[i], e, ERR_RANGE, "sites: there is no tensor %d",
                               sim->site[i].tensor);
    sim->n_sites = list->n;
    return true;
}

static bool read_sim(const struct ydoc *d, const struct ynode *map, struct sim_result *sim,
                     struct err *e)
{
    static const char *const more[] = { "cache", "l1", "by_tensor", "levels", "sites", NULL };
    if (!yaml_fields_read(d, map, "sim", measured_sim_fields, more, sim, e))
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
    return (!levels || read_maps(d, levels, "levels", measured_level_fields, sim->level,
                                 sizeof *sim->level, sim->cache.n_levels, e))
        && (!sites || (read_maps(d, sites, "sites", measured_site_fields, sim->site,
                                 sizeof *sim->site, MEASURE_MAX_SITES, e)
                       && check_sites(d, sites, sim, e)));
}

static bool read_counts(const struct ydoc *d, const struct ynode *map, const char *meter,
                        struct counts *c, struct err *e)
{
    static const char *const more[] = { "counts", NULL };
    if (!yaml_fields_read(d, map, meter, measured_counts_fields, more, c, e))
        return false;
    const struct ynode *counts = yaml_get(map, "counts");
    c->n = counts ? counts->n : 0;
    return !counts || read_maps(d, counts, "counts", measured_count_fields, c->count,
                                sizeof *c->count, COUNTS_MAX, e);
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

/* Reads one latency.  Older files have no `disturbed` and `others`: these become NAN, unknown. */
static bool read_latency(const struct ydoc *d, const struct ynode *measured, const char *key,
                         struct latency *out, struct err *e)
{
    const struct ynode *map = yaml_get(measured, key);
    out->disturbed = out->others = NAN;
    return !map || yaml_fields_read(d, map, key, measured_latency_fields, NULL, out, e);
}

static bool read_baseline(const struct ydoc *d, const struct ynode *map, const char *name,
                          struct baseline *b, struct err *e)
{
    static const char *const more[] = { "latency_ms", NULL };
    return yaml_fields_read(d, map, name, measured_baseline_fields, more, b, e)
        && (!b->available || read_latency(d, map, "latency_ms", &b->latency, e));
}

static bool read_baselines(const struct ydoc *d, const struct ynode *map, struct measurement *m,
                           struct err *e)
{
    const char *more[VENDOR_COUNT + 1] = { NULL };
    memcpy(more, vendor_name, sizeof vendor_name);
    if (!yaml_keys(d, map, "baselines", more, e))
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
    if (!yaml_fields_read(d, node, "a measurement", measured_fields, more, m, e)
        || !read_at(d, node, at, e)
        || !yaml_need(d, node, "outcome", &outcome, e) || !read_outcome(d, outcome, &m->outcome, e))
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
    /* a wrong result has errors above 0, so 0 means that they are unknown and not in the file */
    if (m->outcome == OUTCOME_WRONG && m->max_rel_err == 0)
        m->max_rel_err = m->error_of_bound = NAN;
    /* in older files, other outcomes may have `verified: true` */
    m->verified = m->verified && m->outcome == OUTCOME_OK;
    return true;
}
