/* Writes struct sim_detail as JSON, the object `counters.sim.detail`. */
#include "sessions/file/json.h"
#include "sessions/report/report_impl.h"

static json_t *classes_json(const struct sim_classes *c)
{
    return json_make("compulsory", JSON(c->compulsory), "capacity", JSON(c->capacity),
                     "conflict", JSON(c->conflict));
}

/* Writes the buckets, without the empty ones at the end. */
static json_t *reuse_json(const struct sim_reuse *r)
{
    int n = SIM_REUSE_BUCKETS;
    while (n > 0 && r->bucket[n - 1] == 0)
        n--;
    return json_make("first", JSON(r->first), "buckets", json_ints(r->bucket, n));
}

static json_t *heat_json(const struct sim_heat *cell, int n)
{
    json_t *accesses = json_array(), *misses = json_array();
    for (int i = 0; i < n; i++) {
        json_array_append_new(accesses, json_integer(cell[i].accesses));
        json_array_append_new(misses, json_integer(cell[i].misses));
    }
    return json_make("accesses", accesses, "misses", misses);
}

static json_t *tensors_json(const struct sim_result *s)
{
    json_t *by = json_object();
    for (int i = 0; i < s->detail->n_tensors && i < s->n; i++) {
        const struct sim_tensor_detail *t = &s->detail->tensor[i];
        json_put(by, s->by_tensor[i].tensor, json_make(
            "causes", classes_json(&t->classes), "reuse", reuse_json(&t->reuse), "lines",
            json_put(heat_json(t->cell, t->n_cells), "cell_lines", JSON(t->cell_lines))));
    }
    return by;
}

static json_t *time_json(const struct sim_detail *d)
{
    json_t *list = json_array();
    for (int i = 0; i < d->n_moments; i++) {
        const struct sim_moment *m = &d->moment[i];
        json_array_append_new(list, json_make(
            "loops", JSON(m->loop < d->n_loops ? d->loop[m->loop].axes : ""),
            "first", JSON(m->first), "iterations", JSON(m->n), "accesses", JSON(m->accesses),
            "misses", JSON(m->misses)));
    }
    return list;
}

json_t *report_detail_json(const struct sim_result *s)
{
    const struct sim_detail *d = s->detail;
    if (!d)
        return json_null();
    if (d->reason[0])
        return json_make("available", json_false(), "reason", JSON(d->reason));
    return json_make("available", json_true(), "causes", classes_json(&d->classes),
                     "reuse", reuse_json(&d->reuse), "tensors", tensors_json(s), "sets",
                     json_put(heat_json(d->set, d->n_set_cells), "sets", JSON(d->n_sets)),
                     "time", time_json(d));
}
