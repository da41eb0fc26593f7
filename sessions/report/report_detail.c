/* struct sim_detail as JSON: `counters.sim.detail`. */
#include <string.h>
#include "sessions/report/report_impl.h"

static void set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        fail("the JSON key \"%s\" cannot be set", key);
}

static json_t *classes_json(const struct sim_classes *c)
{
    return json_pack("{s:I, s:I, s:I}", "compulsory", (json_int_t)c->compulsory, "capacity",
                     (json_int_t)c->capacity, "conflict", (json_int_t)c->conflict);
}

/* Up to the last bucket that is not empty. */
static json_t *reuse_json(const struct sim_reuse *r)
{
    json_t *o = json_object(), *list = json_array();
    int n = SIM_REUSE_BUCKETS;
    while (n > 0 && r->bucket[n - 1] == 0)
        n--;
    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_integer(r->bucket[i]));
    set(o, "first", json_integer(r->first));
    set(o, "buckets", list);
    return o;
}

static json_t *heat_json(const struct sim_heat *cell, int n)
{
    json_t *o = json_object(), *accesses = json_array(), *misses = json_array();
    for (int i = 0; i < n; i++) {
        json_array_append_new(accesses, json_integer(cell[i].accesses));
        json_array_append_new(misses, json_integer(cell[i].misses));
    }
    set(o, "accesses", accesses);
    set(o, "misses", misses);
    return o;
}

static json_t *tensors_json(const struct sim_result *s)
{
    json_t *by = json_object();
    for (int i = 0; i < s->detail->n_tensors && i < s->n; i++) {
        const struct sim_tensor_detail *t = &s->detail->tensor[i];
        json_t *o = json_object(), *lines = heat_json(t->cell, t->n_cells);
        set(o, "causes", classes_json(&t->classes));
        set(o, "reuse", reuse_json(&t->reuse));
        set(lines, "cell_lines", json_integer(t->cell_lines));
        set(o, "lines", lines);
        set(by, s->by_tensor[i].tensor, o);
    }
    return by;
}

static json_t *time_json(const struct sim_detail *d)
{
    json_t *list = json_array();
    for (int i = 0; i < d->n_moments; i++) {
        const struct sim_moment *m = &d->moment[i];
        const char *axes = m->loop < d->n_loops ? d->loop[m->loop].axes : "";
        json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I, s:I}", "loops", axes, "first",
                                              (json_int_t)m->first, "iterations",
                                              (json_int_t)m->n, "accesses",
                                              (json_int_t)m->accesses, "misses",
                                              (json_int_t)m->misses));
    }
    return list;
}

json_t *report_detail_json(const struct sim_result *s)
{
    const struct sim_detail *d = s->detail;
    if (!d)
        return json_null();
    json_t *o = json_object();
    set(o, "available", json_boolean(!d->reason[0]));
    if (d->reason[0]) {
        set(o, "reason", json_string(d->reason));
        return o;
    }
    json_t *sets = heat_json(d->set, d->n_set_cells);
    set(o, "causes", classes_json(&d->classes));
    set(o, "reuse", reuse_json(&d->reuse));
    set(o, "tensors", tensors_json(s));
    set(sets, "sets", json_integer(d->n_sets));
    set(o, "sets", sets);
    set(o, "time", time_json(d));
    return o;
}
