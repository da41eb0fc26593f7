#include "profile/counters/eventset.h"

#include "kernels/base/file.h"
#include "kernels/base/formula.h"
#include "kernels/base/str.h"
#include "profile/host/machine.h"
#include "profile/counters/cupti_metrics.h"
#include "profile/counters/perfevent.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { SET_MAX_BYTES = 64 << 10 };

/* The sections of a file. */
enum section { IN_HEAD, IN_EVENTS, IN_METRICS, IN_PROSE };

/* The state of reading a file, a line at a time. */
struct reader {
    struct arena *arena;
    const char *file;
    struct event_set *set;
    enum section section;
    int number;                                      /* number of the line, from 1 */
    const char *line;
    struct str prose;
    struct err *e;
};

/* --- Errors ---------------------------------------------------------------------------------- */

static bool wrong_at(struct reader *r, const char *at, size_t n)
{
    err_where(r->e, r->file, r->number, 1 + (int)(at - r->line), r->line);
    r->e->at.len = (int)n;
    return false;
}

static bool too_long(struct reader *r, const char *at, size_t n, size_t most)
{
    err_set(r->e, ERR_RANGE, "%zu bytes are more than the %zu that a name may have", n, most);
    return wrong_at(r, at, n);
}

/* --- Lines ----------------------------------------------------------------------------------- */

static bool is_name(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!islower((unsigned char)s[i]) && s[i] != '_'
            && !(i > 0 && isdigit((unsigned char)s[i])))
            return false;
    return n > 0;
}

/* Returns the text after the key in a line such as "SHORT the text"; NULL: the line has another
 * key. */
static const char *after_key(const char *line, const char *key)
{
    size_t n = strlen(key);
    if (strncmp(line, key, n) != 0 || (line[n] && line[n] != ' ' && line[n] != '\t'))
        return NULL;
    return line + n + strspn(line + n, " \t");
}

static bool meter_counts_events(const char *meter)
{
    return streq(meter, meter_name[METER_ID_PERF]) || streq(meter, meter_name[METER_ID_PERF_SW])
        || streq(meter, meter_name[METER_ID_PAPI]) || streq(meter, meter_name[METER_ID_CUPTI]);
}

static bool read_head(struct reader *r)
{
    const char *text;
    if ((text = after_key(r->line, "SHORT"))) {
        r->set->summary = text;
    } else if ((text = after_key(r->line, "METER"))) {
        r->set->meter = text;
        if (!meter_counts_events(text)) {
            err_set(r->e, ERR_NAME, "there is no meter '%.60s' that counts events", text);
            err_fix(r->e, "use METER perf, perf-sw, papi or cupti");
            return wrong_at(r, text, strlen(text));
        }
    } else if ((text = after_key(r->line, "CPU"))) {
        r->set->cpu = text;
    } else {
        err_set(r->e, ERR_SYNTAX, "SHORT, METER, CPU, EVENTSET, METRICS or LONG was expected");
        return wrong_at(r, r->line, strcspn(r->line, " \t"));
    }
    return text[0] || (err_set(r->e, ERR_SYNTAX, "this key needs a text after it"),
                       wrong_at(r, r->line, strlen(r->line)));
}

/* Makes "perf_page_faults" of "perf::PAGE-FAULTS". */
static void name_of(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (; *text && n + 1 < size; text++) {
        bool kept = isalnum((unsigned char)*text);
        if (kept || (n > 0 && out[n - 1] != '_'))
            out[n++] = kept ? (char)tolower((unsigned char)*text) : '_';
    }
    out[n] = '\0';
}

static bool event_known(struct reader *r, const char *at, const char *text)
{
    struct perf_name name;
    char candidate[256][PERF_NAME_BYTES];
    const char *list[256];
    int n = 0;
    const char *meter = r->set->meter;
    if (!meter[0]) {
        err_set(r->e, ERR_SYNTAX, "METER must stand above the events");
        return wrong_at(r, at, strlen(text));
    }
    if (streq(meter, meter_name[METER_ID_PAPI]))
        return true;                                 /* only PAPI can check its own names */
    /* only the form is checked, because only the chip knows its metrics */
    if (streq(meter, meter_name[METER_ID_CUPTI]))
        return cupti_event_form(text, r->e) || wrong_at(r, at, strlen(text));
    if (perf_find(text, &name)
        && (name.type == PERF_SOFTWARE) == streq(meter, meter_name[METER_ID_PERF_SW]))
        return true;
    bool other = perf_find(text, &name);
    err_set(r->e, ERR_NAME, other ? "%s is not an event of the meter %s"
                                  : "there is no event %s for the meter %s", text, meter);
    for (; n < COUNT_OF(list) && perf_name_at(n, candidate[n]); n++)
        list[n] = candidate[n];
    const char *near = str_nearest(text, list, n);
    if (near && !other)
        err_fix(r->e, "%s", near);
    return wrong_at(r, at, strlen(text));
}

static int find_event(const struct event_set *s, const char *name, size_t n)
{
    for (int i = 0; i < s->n; i++)
        if (strlen(s->event[i].name) == n && memcmp(s->event[i].name, name, n) == 0)
            return i;
    return -1;
}

static const char *const known_name[] = { "time_s", "flops", "bytes", "threads" };

/* Returns the index of a name in known_name, or -1. */
static int find_known(const char *name)
{
    for (int i = 0; i < COUNT_OF(known_name); i++)
        if (streq(name, known_name[i]))
            return i;
    return -1;
}

/* Whether an event must not have this name: the name belongs to a value of formulas (known_name),
 * or to a member that reports print beside the counts. */
static bool is_reserved(const char *name)
{
    static const char *const member[] = { "available", "reason", "scaled", "running", "metrics",
                                          "missing", "source" };
    bool found = find_known(name) >= 0;
    for (int i = 0; i < COUNT_OF(member); i++)
        found = found || streq(name, member[i]);
    return found;
}

/* Reads EVENT, or NAME EVENT. */
static bool read_event(struct reader *r)
{
    const char *first = r->line + strspn(r->line, " \t"), *at = first;
    size_t n = strcspn(first, " \t"), n_text = n;
    const char *second = first + n + strspn(first + n, " \t");
    struct event *ev = &r->set->event[r->set->n];
    if (r->set->n == EVENTS_MAX) {
        err_set(r->e, ERR_RANGE, "there are more than %d events", EVENTS_MAX);
        return wrong_at(r, first, n);
    }
    if (*second) {
        at = second;
        n_text = strcspn(second, " \t");
        const char *more = second + n_text + strspn(second + n_text, " \t");
        if (*more) {
            err_set(r->e, ERR_SYNTAX, "a line must have one event: EVENT, or NAME EVENT");
            return wrong_at(r, more, strlen(more));
        }
        if (n >= sizeof ev->name || !is_name(first, n)) {
            err_set(r->e, ERR_SYNTAX, "a name has lower-case letters, digits and _, at most %d",
                    (int)sizeof ev->name - 1);
            return wrong_at(r, first, n);
        }
    }
    if (n_text >= sizeof ev->text)
        return too_long(r, at, n_text, sizeof ev->text - 1);
    memcpy(ev->text, at, n_text);
    ev->text[n_text] = '\0';
    if (*second)
        memcpy(ev->name, first, n), ev->name[n] = '\0';
    else
        name_of(ev->text, ev->name, sizeof ev->name);
    bool reserved = is_reserved(ev->name);
    if (reserved || find_event(r->set, ev->name, strlen(ev->name)) >= 0) {
        err_set(r->e, ERR_NAME, reserved ? "%s is already the name of another value"
                                         : "%s is defined twice", ev->name);
        return wrong_at(r, first, n);
    }
    if (!event_known(r, at, ev->text))
        return false;
    r->set->n++;
    return true;
}

static bool check_name(void *ctx, const char *name, struct formula_value *out, struct err *e)
{
    out->number = 1;
    return find_known(name) >= 0 || find_event(ctx, name, strlen(name)) >= 0
        || err_set(e, ERR_NAME, "no event of this set, and no other value, is called %.60s", name);
}

/* Reads NAME [UNIT] = FORMULA. */
static bool read_metric(struct reader *r)
{
    const char *at = r->line + strspn(r->line, " \t");
    size_t n = strcspn(at, " \t=[");
    struct metric *m = &r->set->metric[r->set->n_metrics];
    if (r->set->n_metrics == METRICS_MAX) {
        err_set(r->e, ERR_RANGE, "there are more than %d metrics", METRICS_MAX);
        return wrong_at(r, at, n);
    }
    bool taken = find_event(r->set, at, n) >= 0;
    for (int i = 0; i < r->set->n_metrics; i++)
        taken |= strlen(r->set->metric[i].name) == n && !memcmp(r->set->metric[i].name, at, n);
    if (n >= sizeof m->name || !is_name(at, n) || taken) {
        err_set(r->e, taken ? ERR_NAME : ERR_SYNTAX,
                taken ? "%.*s is defined twice" : "NAME [UNIT] = FORMULA was expected%.*s",
                taken ? (int)n : 0, at);
        return wrong_at(r, at, n ? n : 1);
    }
    memcpy(m->name, at, n);
    const char *rest = at + n + strspn(at + n, " \t");
    if (*rest == '[') {
        size_t unit = strcspn(++rest, "]");
        if (rest[unit] != ']' || unit == 0 || unit >= sizeof m->unit) {
            err_set(r->e, ERR_SYNTAX, "a unit of 1 to %d bytes and a ] were expected",
                    (int)sizeof m->unit - 1);
            return wrong_at(r, rest, unit);
        }
        memcpy(m->unit, rest, unit);
        rest += unit + 1 + strspn(rest + unit + 1, " \t");
    }
    if (*rest != '=') {
        err_set(r->e, ERR_SYNTAX, "a = was expected");
        return wrong_at(r, rest, 1);
    }
    m->formula = rest + 1 + strspn(rest + 1, " \t");
    double ignored;                      /* value with 1 for every name (check_name) */
    if (!formula_check(m->formula, check_name, r->set, r->e)
        || (!formula_number(m->formula, check_name, r->set, &ignored, r->e)
            && r->e->code != ERR_RANGE))
        return wrong_at(r, m->formula + r->e->at.col - 1, (size_t)r->e->at.len);
    r->set->n_metrics++;
    return true;
}

/* Reads a line: one that begins a section, or one inside a section. */
static bool read_line(struct reader *r)
{
    const char *line = r->line;
    if (r->section == IN_PROSE) {
        str_printf(&r->prose, "%s\n", line);
        return true;
    }
    if (line[strspn(line, " \t")] == '\0' || line[0] == '#')
        return true;
    if (streq(line, "EVENTSET"))
        r->section = IN_EVENTS;
    else if (streq(line, "METRICS"))
        r->section = IN_METRICS;
    else if (streq(line, "LONG"))
        r->section = IN_PROSE;
    else if (r->section == IN_HEAD)
        return read_head(r);
    else
        return r->section == IN_EVENTS ? read_event(r) : read_metric(r);
    return true;
}

static bool is_complete(struct reader *r)
{
    const struct event_set *s = r->set;
    const char *lacks = !s->summary[0] ? "SHORT" : !s->meter[0] ? "METER"
                      : s->n == 0 ? "EVENTSET" : r->prose.len == 0 ? "LONG" : NULL;
    if (!lacks)
        return true;
    err_set(r->e, ERR_SYNTAX, "%s is missing, or there is nothing after it", lacks);
    return err_where(r->e, r->file, r->number, 1, "");
}

static bool read_all(struct reader *r, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n"), kept = n;
        while (kept > 0 && strchr(" \t\r", text[kept - 1]))
            kept--;
        r->line = arena_strndup(r->arena, text, kept);
        r->number++;
        if (!read_line(r))
            return false;
        text += n + (text[n] == '\n');
    }
    return is_complete(r);
}

bool event_set_parse(struct arena *a, const char *name, const char *path, const char *text,
                     const struct event_set **out, struct err *e)
{
    struct event_set *s = ARENA_NEW(a, struct event_set);
    struct reader r = { .arena = a, .file = path[0] ? path : name, .set = s, .e = e };
    *s = (struct event_set){ .name = arena_strdup(a, name), .summary = "", .prose = "",
                             .meter = "", .cpu = "", .path = arena_strdup(a, path) };
    bool ok = read_all(&r, text);
    s->prose = arena_strdup(a, str_text(&r.prose));
    str_free(&r.prose);
    if (ok)
        *out = s;
    return ok;
}

/* --- Finding --------------------------------------------------------------------------------- */

/* Stores $XDG_CONFIG_HOME/tilescope/events; false when it is unknown. */
static bool user_folder(struct str *out)
{
    bool known = dir_config(out);
    str_add(out, known ? "/events" : "");
    return known;
}

static bool parse_file(struct arena *a, const char *name, const char *path,
                       const struct event_set **out, struct err *e)
{
    struct str text = {0};
    size_t bad;
    bool ok = file_read(path, SET_MAX_BYTES, &text, e);
    if (ok && (!utf8_valid(str_text(&text), text.len, &bad)
               || memchr(str_text(&text), '\0', text.len)))
        ok = err_set(e, ERR_SYNTAX, "%.200s is not UTF-8 text", path);
    ok = ok && event_set_parse(a, name, path, str_text(&text), out, e);
    str_free(&text);
    return ok;
}

static void put_set(struct event_sets *all, const struct event_set *s)
{
    for (int i = 0; i < all->n; i++)
        if (streq(all->set[i]->name, s->name)) {
            all->set[i] = s;
            return;
        }
    all->set[all->n++] = s;
}

static int builtin_count(void)
{
    int n = 0;
    while (builtin_set[n].name)
        n++;
    return n;
}

struct event_sets event_sets_load(struct arena *a, struct str *broken)
{
    struct str folder = {0};
    int n = 0;
    const char **name = user_folder(&folder) ? dir_list(a, str_text(&folder), ".txt", &n) : NULL;
    struct event_sets all = { .set = ARENA_ARRAY(a, const struct event_set *,
                                                 builtin_count() + n) };
    const struct event_set *s;
    struct err e;
    for (int i = 0; builtin_set[i].name; i++) {
        if (!event_set_parse(a, builtin_set[i].name, "", builtin_set[i].text, &s, &e))
            fail("the built-in event set %s: line %d: %s", builtin_set[i].name, e.at.line, e.text);
        put_set(&all, s);
    }
    for (int i = 0; i < n; i++) {
        const char *path = arena_printf(a, "%s/%s.txt", str_text(&folder), name[i]);
        if (parse_file(a, name[i], path, &s, &e))
            put_set(&all, s);
        else if (broken)
            err_print(broken, &e);
    }
    str_free(&folder);
    return all;
}

static bool unknown_set(struct arena *a, const char *name, struct err *e)
{
    struct event_sets all = event_sets_load(a, NULL);
    const char **list = ARENA_ARRAY(a, const char *, all.n);
    for (int i = 0; i < all.n; i++)
        list[i] = all.set[i]->name;
    const char *near = str_nearest(name, list, all.n);
    err_set(e, ERR_NAME, "there is no event set '%.60s'", name);
    return near ? err_fix(e, "--events %s", near) : err_fix(e, "tilescope meters --events");
}

bool event_set_find(struct arena *a, const char *name, const struct event_set **out,
                    struct err *e)
{
    struct str folder = {0};
    const char *path = NULL;
    if (name[0] && !strchr(name, '/') && user_folder(&folder))
        path = arena_printf(a, "%s/%s.txt", str_text(&folder), name);
    str_free(&folder);
    if (path && file_exists(path))
        return parse_file(a, name, path, out, e);
    for (int i = 0; builtin_set[i].name; i++)
        if (streq(builtin_set[i].name, name))
            return event_set_parse(a, name, "", builtin_set[i].text, out, e);
    return unknown_set(a, name, e);
}

const char *event_set_default(const char *meter)
{
    return streq(meter, meter_name[METER_ID_PERF_SW]) ? "sw"
         : streq(meter, meter_name[METER_ID_PAPI]) ? "papi"
         : streq(meter, meter_name[METER_ID_CUPTI]) ? "gpu" : "default";
}

bool event_set_fits(const struct event_set *s, struct counts *why)
{
    char vendor[64];
    if (!s->cpu[0] || (machine_cpu_vendor(vendor, sizeof vendor) && streq(vendor, s->cpu)))
        return true;
    counts_refuse(why, "the event set %.40s is only for %.40s CPUs, but this CPU is %s: choose"
                       " another set (tilescope meters --events)", s->name, s->cpu,
                  vendor[0] ? vendor : "unknown");
    return false;
}

/* --- Metrics --------------------------------------------------------------------------------- */

struct derivation { const struct known *known; const struct counts *counts; int n; };

/* Looks up a name of a formula. Fails for an event that was not counted, and for another value that
 * is unknown. */
static bool look_up(void *ctx, const char *name, struct formula_value *out, struct err *e)
{
    const struct derivation *d = ctx;
    const double known[] = { d->known->time_s, d->known->flops, d->known->bytes,
                             d->known->threads };
    int k = find_known(name);
    out->number = k >= 0 ? known[k] : 0;
    if (k >= 0 && known[k] > 0)
        return true;
    for (int i = 0; k < 0 && i < d->n; i++)
        if (streq(d->counts->count[i].name, name)) {
            out->number = d->counts->count[i].value;
            return true;
        }
    return err_set(e, ERR_TYPE, "%s has no value: it was not counted", name);
}

void event_set_derive(const struct event_set *s, const struct known *k, struct counts *c)
{
    struct derivation d = { k, c, c->n };
    for (int i = 0; i < s->n_metrics; i++) {
        struct err e;
        double v;
        if (!formula_number(s->metric[i].formula, look_up, &d, &v, &e)
            || !counts_add(c, s->metric[i].name, v))
            continue;
        struct count *to = &c->count[c->n - 1];
        to->derived = true;
        memcpy(to->unit, s->metric[i].unit, sizeof to->unit);
    }
}
