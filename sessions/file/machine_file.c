#include "sessions/file/machine_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/file.h"
#include "sessions/file/json.h"

#define MOST_BYTES 65536

/* --- Writing ---------------------------------------------------------------------------------- */

static json_t *rate_json(const struct rate *r)
{
    return r->runs == 0 ? json_null()
         : json_make("best", JSON(r->best), "median", JSON(r->median), "spread", JSON(r->spread),
                     "runs", JSON(r->runs));
}

static json_t *peaks_json(const struct machine_model *m)
{
    json_t *list = json_array();
    for (int i = 0; i < m->n_isa; i++)
        json_array_append_new(list, json_make(
            "isa", JSON(m->isa[i].isa), "vector_floats", JSON(m->isa[i].vector_floats),
            "one_core", rate_json(&m->isa[i].gflops.one),
            "all_cores", rate_json(&m->isa[i].gflops.all)));
    return list;
}

static json_t *levels_json(const struct machine_model *m)
{
    json_t *list = json_array();
    for (int i = 0; i < MODEL_LEVELS; i++) {
        const struct level_bandwidth *l = &m->level[i];
        json_array_append_new(list, json_make(
            "level", JSON(model_level_name[i]), "capacity_bytes", JSON_OR_NULL(l->capacity),
            "bytes_per_core", JSON_OR_NULL(l->bytes), "load_one_core", rate_json(&l->load.one),
            "load_all_cores", rate_json(&l->load.all), "copy_one_core", rate_json(&l->copy.one),
            "copy_all_cores", rate_json(&l->copy.all), "reason", JSON_OR_NULL(l->reason)));
    }
    return list;
}

json_t *machine_file_json(const struct machine_model *m)
{
    return json_make("format", JSON(1), "fingerprint", JSON(m->fingerprint),
                     "date", JSON(m->date), "compiler", JSON(m->compiler), "cores", JSON(m->cores),
                     "seconds", JSON(m->seconds), "gflops", peaks_json(m),
                     "bandwidth_gb_s", levels_json(m));
}

void machine_file_print(struct str *out, const struct machine_model *m)
{
    json_t *o = machine_file_json(m);
    char *text = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    str_add(out, text ? text : "");
    str_add_char(out, '\n');
    free(text);
    json_decref(o);
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* A reader of the file.  If `bad` is set, *e is the first error, and later errors are ignored. */
struct machine_reader { struct err *e; bool bad; };

static void refuse(struct machine_reader *r, const char *key, const char *want)
{
    if (!r->bad)
        err_set(r->e, ERR_TYPE, "'%s' is not %s", key, want);
    r->bad = true;
}

/* Returns a number in [lo, hi] even after an error, because callers convert it to an integer. */
static double read_number(struct machine_reader *r, const json_t *o, const char *key, double lo,
                          double hi)
{
    const json_t *v = json_object_get(o, key);
    double d = json_is_number(v) ? json_number_value(v) : NAN;
    if (d >= lo && d <= hi)
        return d;
    refuse(r, key, "a number that makes sense");
    return lo;
}

static void read_text(struct machine_reader *r, const json_t *o, const char *key, char *to,
                      size_t n)
{
    const char *s = json_string_value(json_object_get(o, key));
    if (!s || strlen(s) >= n)
        refuse(r, key, "a text");
    else
        memcpy(to, s, strlen(s) + 1);
}

static void read_rate(struct machine_reader *r, const json_t *o, const char *key, struct rate *to)
{
    const json_t *v = json_object_get(o, key);
    if (json_is_null(v) || r->bad)
        return;
    if (!json_is_object(v)) {
        refuse(r, key, "a rate or null");
        return;
    }
    to->best = read_number(r, v, "best", 1e-9, 1e9);
    to->median = read_number(r, v, "median", 1e-9, 1e9);
    to->spread = read_number(r, v, "spread", 0, 1e9);
    to->runs = (int)read_number(r, v, "runs", 1, 1e9);
}

static void read_rates(struct machine_reader *r, const json_t *o, const char *one, const char *all,
                       struct rates *to)
{
    read_rate(r, o, one, &to->one);
    read_rate(r, o, all, &to->all);
}

static void read_peaks(struct machine_reader *r, const json_t *list, struct machine_model *m)
{
    size_t n = json_array_size(list);
    if (!json_is_array(list) || n < 1 || n > MODEL_ISAS) {
        refuse(r, "gflops", "a list of instruction sets");
        return;
    }
    m->n_isa = (int)n;
    for (size_t i = 0; i < n && !r->bad; i++) {
        const json_t *o = json_array_get(list, i);
        struct isa_peak *p = &m->isa[i];
        read_text(r, o, "isa", p->isa, sizeof p->isa);
        p->vector_floats = (int)read_number(r, o, "vector_floats", 1, 1024);
        read_rates(r, o, "one_core", "all_cores", &p->gflops);
        if (p->gflops.one.runs == 0)
            refuse(r, "one_core", "measured");
    }
}

static void read_levels(struct machine_reader *r, const json_t *list, struct machine_model *m)
{
    if (!json_is_array(list) || json_array_size(list) != MODEL_LEVELS) {
        refuse(r, "bandwidth_gb_s", "a list of four levels");
        return;
    }
    for (size_t i = 0; i < MODEL_LEVELS && !r->bad; i++) {
        const json_t *o = json_array_get(list, i);
        struct level_bandwidth *l = &m->level[i];
        char name[8];
        read_text(r, o, "level", name, sizeof name);
        if (!r->bad && !streq(name, model_level_name[i]))
            refuse(r, "level", model_level_name[i]);
        if (!json_is_null(json_object_get(o, "capacity_bytes")))
            l->capacity = (int64_t)read_number(r, o, "capacity_bytes", 1, 1e15);
        if (!json_is_null(json_object_get(o, "bytes_per_core")))
            l->bytes = (int64_t)read_number(r, o, "bytes_per_core", 1, 1e15);
        if (!json_is_null(json_object_get(o, "reason")))
            read_text(r, o, "reason", l->reason, sizeof l->reason);
        read_rates(r, o, "load_one_core", "load_all_cores", &l->load);
        read_rates(r, o, "copy_one_core", "copy_all_cores", &l->copy);
    }
}

bool machine_file_parse(const char *text, struct machine_model *out, struct err *e)
{
    json_error_t bad;
    struct machine_model m = {0};
    struct machine_reader r = { .e = e };
    json_t *o = json_loads(text, JSON_REJECT_DUPLICATES, &bad);
    if (!o)
        return err_set(e, ERR_SYNTAX, "line %d: %s", bad.line, bad.text);
    if (!json_is_object(o))
        refuse(&r, "the file", "an object");
    else if (read_number(&r, o, "format", 1, 1) != 1)
        refuse(&r, "format", "1");
    read_text(&r, o, "fingerprint", m.fingerprint, sizeof m.fingerprint);
    read_text(&r, o, "date", m.date, sizeof m.date);
    read_text(&r, o, "compiler", m.compiler, sizeof m.compiler);
    m.cores = r.bad ? 1 : (int)read_number(&r, o, "cores", 1, 1 << 20);
    m.seconds = read_number(&r, o, "seconds", 0, 1e9);
    read_peaks(&r, json_object_get(o, "gflops"), &m);
    read_levels(&r, json_object_get(o, "bandwidth_gb_s"), &m);
    json_decref(o);
    if (!r.bad)
        *out = m;
    return !r.bad;
}

/* --- The file --------------------------------------------------------------------------------- */

bool machine_file_path(struct str *path, struct err *e)
{
    if (!dir_cache(path, e))
        return false;
    str_add(path, "/machine.json");
    return true;
}

static bool none(struct err *why, const char *reason)
{
    err_set(why, ERR_ENV, "no machine model: %s", reason);
    return err_fix(why, "tilescope machine measures it");
}

bool machine_file_load(const struct machine *m, struct machine_model *out, struct err *why)
{
    struct str path = {0}, text = {0}, print = {0};
    struct machine_model found;
    struct err e;
    bool known = machine_file_path(&path, &e), missing = known && !file_exists(str_text(&path));
    bool read = known && !missing && file_read_regular(str_text(&path), MOST_BYTES, &text, &e);
    bool sound = read && machine_file_parse(str_text(&text), &found, &e);
    machine_model_fingerprint(&print, m);
    bool ours = sound && streq(found.fingerprint, str_text(&print));
    str_free(&path);
    str_free(&text);
    str_free(&print);
    if (!ours)
        return none(why, missing ? "it was not measured yet" : !read ? e.text
                       : !sound ? "its file is damaged" : "the one on disk is of another machine");
    *out = found;
    return true;
}

bool machine_file_save(const struct machine_model *m, uint64_t seen, struct err *e)
{
    struct str path = {0}, text = {0};
    machine_file_print(&text, m);
    bool ok = machine_file_path(&path, e)
           && file_replace(str_text(&path), seen, str_text(&text), text.len, e);
    str_free(&path);
    str_free(&text);
    return ok;
}

/* --- Measuring -------------------------------------------------------------------------------- */

static int doubts(const struct machine_model *m, const struct machine_model *before,
                  char *text, size_t n)
{
    struct str out = {0};
    int found = machine_model_doubts(m, before, &out);
    snprintf(text, n, "%s", str_text(&out));
    str_free(&out);
    return found;
}

/* Checks that the file can be written.  Otherwise this error would come after a minute of
 * measuring. */
static bool may_store(struct err *e)
{
    struct str path = {0};
    bool ok = machine_file_path(&path, e) && file_may_write(str_text(&path), e);
    str_free(&path);
    return ok;
}

/* Merges the measured model with the model in the file, and saves the result.  Tries again when
 * another process has changed the file in the meantime. */
static bool store(const struct machine *m, const struct machine_model *measured,
                  struct machine_fresh *out, struct err *e)
{
    struct str path = {0}, less = {0};
    struct err why;
    bool done = false;
    for (int i = 0; !done && i < 10; i++) {
        uint64_t seen = machine_file_path(&path, &why) ? file_seen(str_text(&path)) : FILE_ANYTHING;
        str_clear(&less);
        out->model = *measured;
        if (machine_file_load(m, &out->before, &why)) {
            machine_model_less(measured, &out->before, &less);
            machine_model_merge(&out->model, &out->before);
        }
        done = machine_file_save(&out->model, seen, e);
        if (!done && e->code != ERR_CHANGED)
            break;
    }
    snprintf(out->less, sizeof out->less, "%s", str_text(&less));
    doubts(&out->model, NULL, out->doubts, sizeof out->doubts);
    str_free(&path);
    str_free(&less);
    return done;
}

bool machine_file_measure(const struct machine *m, machine_measure_fn *measure, void *ctx,
                          int tries, struct machine_fresh *out, struct err *e)
{
    char ignored[512];
    struct err why;
    struct machine_model all = {0};
    *out = (struct machine_fresh){ .tries = 0 };
    if (!may_store(e))
        return false;
    bool stored = machine_file_load(m, &out->before, &why);
    bool sound = stored && doubts(&out->before, NULL, ignored, sizeof ignored) == 0;
    const struct machine_model *good = sound ? &out->before : NULL;
    int of_this = 1;
    for (int i = 0; i < tries && of_this > 0; i++) {
        struct machine_model again;
        if (!measure(ctx, &again, e)) {
            out->tries = 0;
            return false;
        }
        if (out->tries++ == 0) {
            all = again;
        } else {
            machine_model_merge(&all, &again);
            all.seconds += again.seconds;
        }
        of_this = doubts(&all, good, ignored, sizeof ignored);
    }
    return store(m, &all, out, e);
}
