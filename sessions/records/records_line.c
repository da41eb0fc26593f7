/* Reads a line of the exchange format strictly.  Printing a record (records_print.c), reading the
 * text and printing it again gives the same text, so a hash of the text identifies the record. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/vec.h"
#include "kernels/ops/graph.h"
#include "sessions/records/records_impl.h"

struct line_reader {
    struct arena *scratch;
    struct str spec;                     /* the spec that get_spec accepted last */
    /* file: name of the file.  The next members belong to the current line: its text, its number,
     * the arena for its texts, its JSON object. */
    const char *file, *line; int number;
    struct arena *a;
    const json_t *o;
    struct err *e;
    bool bad;
    VEC(const char *) known;             /* keys that value_of has looked up */
};

struct line_reader *records_line_reader_new(void)
{
    struct line_reader *lr = xcalloc(1, sizeof *lr);
    lr->scratch = arena_new();
    return lr;
}

void records_line_reader_free(struct line_reader *lr)
{
    arena_free(lr->scratch);
    str_free(&lr->spec);
    vec_free(&lr->known);
    free(lr);
}

/* Returns the column (from 1) of a key at the outermost level of line, or 1 when it is missing. */
static int column_of(const char *line, const char *key)
{
    int depth = 0;
    size_t n = strlen(key);
    for (const char *c = line; *c; c++) {
        depth += *c == '{' || *c == '[';
        depth -= *c == '}' || *c == ']';
        if (*c != '"')
            continue;
        const char *text = ++c;
        for (; *c && *c != '"'; c++)
            c += *c == '\\' && c[1];
        if (!*c)
            break;
        bool is_key = c[1 + strspn(c + 1, " \t")] == ':';
        if (depth == 1 && is_key && (size_t)(c - text) == n && memcmp(text, key, n) == 0)
            return (int)(text - line);
    }
    return 1;
}

/* Lines are long, so the error shows at most SHOWN bytes of the line.  If column col is among the
 * first SHOWN bytes, it shows these.  Else it shows "..." and the bytes from col on, but at least
 * the last LEAST bytes of the line, and err_print draws no caret. */
bool records_line_error(struct err *e, const char *file, int number, int col, const char *line)
{
    enum { SHOWN = 72, LEAST = 30 };
    char part[SHOWN + 1];
    int n = (int)strlen(line), start = col - 1 < n - LEAST ? col - 1 : n - LEAST;
    if (col <= SHOWN)
        snprintf(part, sizeof part, "%s", line);
    else
        snprintf(part, sizeof part - 4, "...%s", line + (start > 0 ? start : 0));
    return err_where(e, file, number, col, part);
}

/* Sets the error of the line and the flag `bad`.  Later errors of the line are ignored. */
__attribute__((format(printf, 4, 5)))
static void refuse(struct line_reader *lr, const char *key, enum err_code code, const char *fmt,
                   ...)
{
    char text[512];
    va_list ap;
    if (lr->bad)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    lr->bad = true;
    err_set(lr->e, code, "%s", text);
    records_line_error(lr->e, lr->file, lr->number, key ? column_of(lr->line, key) : 1, lr->line);
    lr->e->at.len = key ? (int)strlen(key) + 2 : 1;
}

/* Returns the value of a required key, which may be a JSON null.  Returns NULL when the line is
 * refused, by this call or before. */
static const json_t *value_of(struct line_reader *lr, const char *key)
{
    const json_t *v = json_object_get(lr->o, key);
    vec_push(&lr->known, key);
    if (!v)
        refuse(lr, NULL, ERR_SYNTAX, "the key \"%s\" is missing", key);
    return lr->bad ? NULL : v;
}

static const char *get_text(struct line_reader *lr, const char *key, size_t most, bool nullable)
{
    const json_t *v = value_of(lr, key);
    const char *text = json_string_value(v);
    if (!v || (nullable && json_is_null(v)))
        return "";
    if (!text || !*text || strlen(text) > most)
        refuse(lr, key, ERR_TYPE, "\"%s\" is not a text of 1 to %zu bytes%s", key, most,
               nullable ? ", or null" : "");
    return lr->bad ? "" : arena_strdup(lr->a, text);
}

static int64_t get_int(struct line_reader *lr, const char *key, int64_t lo, int64_t hi)
{
    const json_t *v = value_of(lr, key);
    if (v && !json_is_integer(v))
        refuse(lr, key, ERR_TYPE, "\"%s\" is not a whole number", key);
    else if (v && (json_integer_value(v) < lo || json_integer_value(v) > hi))
        refuse(lr, key, ERR_RANGE, "\"%s\" is not in %lld..%lld", key, (long long)lo,
               (long long)hi);
    return lr->bad ? lo : json_integer_value(v);
}

/* Returns the number v; refuses v if it is not finite or below lo.  Returns `none` after an
 * earlier error, and for a JSON null if `nullable` is set. */
static double number_in(struct line_reader *lr, const json_t *v, const char *key, double lo,
                        bool nullable, double none)
{
    if (lr->bad || (nullable && json_is_null(v)))
        return none;
    double d = json_is_number(v) ? json_number_value(v) : (double)NAN;
    if (!json_is_number(v))
        refuse(lr, key, ERR_TYPE, "\"%s\" is not a number%s", key, nullable ? " or null" : "");
    else if (!(d >= lo) || !isfinite(d))
        refuse(lr, key, ERR_RANGE, "\"%s\" is below %g", key, lo);
    return d;
}

static double get_number(struct line_reader *lr, const char *key, double lo, double none)
{
    return number_in(lr, value_of(lr, key), key, lo, true, none);
}

static bool get_truth(struct line_reader *lr, const char *key)
{
    const json_t *v = value_of(lr, key);
    if (v && !json_is_boolean(v))
        refuse(lr, key, ERR_TYPE, "\"%s\" is neither true nor false", key);
    return json_is_true(v);
}

/* Reads "seed": an integer, or, if it is above 2^63 - 1, a text with its digits. */
static uint64_t get_seed(struct line_reader *lr)
{
    const json_t *v = value_of(lr, "seed");
    const char *text = json_string_value(v);
    char again[24];
    if (json_is_integer(v) && json_integer_value(v) >= 0)
        return (uint64_t)json_integer_value(v);
    uint64_t seed = text ? strtoull(text, NULL, 10) : 0;
    snprintf(again, sizeof again, "%llu", (unsigned long long)seed);
    if (v && (!text || !streq(again, text) || seed <= INT64_MAX))
        refuse(lr, "seed", ERR_TYPE, "\"seed\" is neither a whole number from 0, nor the digits"
                                     " of one above 2^63 - 1");
    return seed;
}

static bool all_hex(const char *text)
{
    return strlen(text) == 16 && strspn(text, "0123456789abcdef") == 16;
}

static const char *get_run(struct line_reader *lr)
{
    const char *id = get_text(lr, "run", 16, false);
    if (!lr->bad && !all_hex(id))
        refuse(lr, "run", ERR_SYNTAX, "\"run\" is not 16 hexadecimal digits");
    return id;
}

static uint64_t get_features(struct line_reader *lr)
{
    const char *text = get_text(lr, "features", 16, true);
    if (!lr->bad && *text && (!all_hex(text) || strspn(text, "0") == 16))
        refuse(lr, "features", ERR_SYNTAX, "\"features\" is not 16 hexadecimal digits, or null");
    return lr->bad || !*text ? 0 : strtoull(text, NULL, 16);
}

/* Reads a date of the form "2026-11-21T06:19:47Z". */
static const char *get_date(struct line_reader *lr, const char *key, bool nullable)
{
    static const char form[] = "0000-00-00T00:00:00Z";
    const char *text = get_text(lr, key, sizeof form - 1, nullable);
    bool fits = strlen(text) == sizeof form - 1 || (nullable && !*text);
    for (int i = 0; fits && text[i]; i++)
        fits = form[i] == '0' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i];
    int month = 1, day = 1, hour = 0, minute = 0, second = 0;
    if (fits && *text)
        sscanf(text, "%*4d-%2d-%2dT%2d:%2d:%2d", &month, &day, &hour, &minute, &second);
    if (!fits || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59
        || second > 60)
        refuse(lr, key, ERR_SYNTAX, "\"%s\" is not a date as 2026-11-21T06:19:47Z", key);
    return text;
}

/* Reads "spec".  Refuses a text that is not the canonical text of an operator. */
static const char *get_spec(struct line_reader *lr)
{
    const struct graph *g = NULL;
    struct err e;
    const char *spec = get_text(lr, "spec", 1 << 20, false);
    if (lr->bad || streq(spec, str_text(&lr->spec)))
        return spec;
    arena_reset(lr->scratch);
    if (!graph_from_spec(lr->scratch, spec, &g, &e)) {
        refuse(lr, "spec", ERR_SYNTAX, "\"spec\" is no operator: %s", e.text);
    } else if (!streq(g->spec, spec)) {
        refuse(lr, "spec", ERR_SYNTAX, "\"spec\" is not as tilescope writes it");
        err_fix(lr->e, "%.300s", g->spec);
    } else {
        str_clear(&lr->spec);
        str_add(&lr->spec, spec);
    }
    arena_reset(lr->scratch);
    return spec;
}

static const char *get_steps(struct line_reader *lr)
{
    const json_t *v = value_of(lr, "steps");
    size_t n = json_array_size(v);
    const char **line = ARENA_ARRAY(lr->a, const char *, n + 1);
    if (v && (!json_is_array(v) || n > 2000))
        refuse(lr, "steps", ERR_TYPE, "\"steps\" is not a list of at most 2000 steps");
    arena_reset(lr->scratch);
    for (size_t i = 0; i < n && !lr->bad; i++) {
        const struct step *s;
        struct err e;
        line[i] = json_string_value(json_array_get(v, i));
        if (!line[i] || strchr(line[i], '\n'))
            refuse(lr, "steps", ERR_TYPE, "step %zu is not a text of one line", i + 1);
        else if (!step_parse(lr->scratch, line[i], &s, &e))
            refuse(lr, "steps", ERR_SYNTAX, "step %zu, \"%.200s\": %s", i + 1, line[i], e.text);
        else if (!streq(s->text, line[i])) {
            refuse(lr, "steps", ERR_SYNTAX, "step %zu, \"%.200s\", is not as tilescope writes it",
                   i + 1, line[i]);
            err_fix(lr->e, "%.300s", s->text);
        }
    }
    return lr->bad ? "" : records_steps(lr->a, line, (int)n);
}

static enum outcome get_outcome(struct line_reader *lr)
{
    const char *name = get_text(lr, "outcome", 40, false);
    for (int i = OUTCOME_OK; i < OUTCOME_COUNT; i++)
        if (streq(outcome_name[i], name))
            return (enum outcome)i;
    refuse(lr, "outcome", ERR_NAME, "\"outcome\" is \"%s\", which this version does not know",
           name);
    return OUTCOME_NONE;
}

static void get_times(struct line_reader *lr, struct record *rec)
{
    static const char *const key[] = { "median", "min", "spread", "runs" };
    const json_t *v = value_of(lr, "latency_ms");
    if (!v || json_is_null(v))
        return;
    bool whole = json_is_object(v) && json_object_size(v) == COUNT_OF(key);
    for (int i = 0; whole && i < COUNT_OF(key); i++)
        whole = json_object_get(v, key[i]) != NULL;
    if (!whole) {
        refuse(lr, "latency_ms", ERR_TYPE, "\"latency_ms\" is neither null nor an object of"
                                           " median, min, spread and runs");
        return;
    }
    const json_t *runs = json_object_get(v, "runs");
    rec->median_ms = number_in(lr, json_object_get(v, "median"), "latency_ms", 0, false, 0);
    rec->min_ms = number_in(lr, json_object_get(v, "min"), "latency_ms", 0, false, 0);
    rec->spread = number_in(lr, json_object_get(v, "spread"), "latency_ms", 0, false, 0);
    if (!json_is_integer(runs) || json_integer_value(runs) < 1
        || json_integer_value(runs) > INT32_MAX)
        refuse(lr, "latency_ms", ERR_RANGE, "runs in \"latency_ms\" is not a whole number from 1");
    else
        rec->runs = (int)json_integer_value(runs);
    if (!lr->bad && (rec->min_ms <= 0 || rec->min_ms > rec->median_ms))
        refuse(lr, "latency_ms", ERR_RANGE, "min in \"latency_ms\" is not above 0 and at most the"
                                            " median");
}

static void read_record(struct line_reader *lr, struct record *rec)
{
    *rec = (struct record){
        .run = get_run(lr), .trial = (int)get_int(lr, "trial", 1, INT32_MAX),
        .strategy = get_text(lr, "strategy", 40, false), .seed = get_seed(lr),
        .spec = get_spec(lr), .threads = (int)get_int(lr, "threads", 1, 1024),
        .isa = get_text(lr, "isa", 31, false), .machine = get_text(lr, "machine", 1000, false),
        .steps = get_steps(lr), .outcome = get_outcome(lr),
        .reason = get_text(lr, "reason", 4000, true),
        .gflops = get_number(lr, "gflops", 0, 0), .verified = get_truth(lr, "verified"),
        .max_rel_err = get_number(lr, "max_rel_err", 0, (double)NAN),
        .compile_s = get_number(lr, "compile_s", 0, (double)NAN),
        .measure_s = get_number(lr, "measure_s", 0, (double)NAN),
        .features = get_features(lr), .version = get_text(lr, "version", 40, false),
        .date = get_date(lr, "date", false),
    };
    get_times(lr, rec);
    if (json_object_get(lr->o, "simulated_ms"))
        rec->simulated_ms = get_number(lr, "simulated_ms", 0, 0);
    if (!lr->bad && rec->runs > 0 && rec->simulated_ms > 0)
        refuse(lr, "simulated_ms", ERR_RANGE, "it has a simulated time and a measured one");
    if (!lr->bad && rec->runs > 0 && !rec->verified)
        refuse(lr, "verified", ERR_RANGE, "the record has a time, but `verified` is false; only"
                                          " verified kernels are timed");
}

static const char *get_options(struct line_reader *lr)
{
    const json_t *v = value_of(lr, "options");
    if (!v || json_is_null(v))
        return "";
    if (!json_is_object(v)) {
        refuse(lr, "options", ERR_TYPE, "\"options\" is neither an object nor null");
        return "";
    }
    char *text = json_dumps(v, JSON_COMPACT);
    const char *copy = arena_strdup(lr->a, text ? text : "");
    free(text);
    return copy;
}

static enum run_state get_state(struct line_reader *lr)
{
    const char *name = get_text(lr, "state", 40, false);
    enum run_state state;
    if (records_state_find(name, &state))
        return state;
    refuse(lr, "state", ERR_NAME, "\"state\" is none of running, finished, stopped, settled, "
           "killed");
    return RUN_STOPPED;
}

static void read_run(struct line_reader *lr, struct record_run *run)
{
    *run = (struct record_run){
        .id = get_run(lr), .spec = get_spec(lr), .threads = (int)get_int(lr, "threads", 1, 1024),
        .isa = get_text(lr, "isa", 31, false), .machine = get_text(lr, "machine", 1000, false),
        .strategy = get_text(lr, "strategy", 40, false), .seed = get_seed(lr),
        .budget = get_int(lr, "budget", 0, INT64_MAX), .options = get_options(lr),
        .started = get_date(lr, "started", false), .ended = get_date(lr, "ended", true),
        .state = get_state(lr),
    };
}

/* Refuses keys that value_of has not looked up. */
static void check_unknown(struct line_reader *lr)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)lr->o, key, v) {
        bool found = false;
        for (int i = 0; i < lr->known.len && !found; i++)
            found = streq(lr->known.data[i], key);
        if (!found && !lr->bad) {
            const char *near = str_nearest(key, lr->known.data, lr->known.len);
            refuse(lr, key, ERR_NAME, "unknown key \"%.60s\"", key);
            if (near)
                err_fix(lr->e, "did you mean \"%s\"?", near);
        }
    }
}

static void read_line(struct line_reader *lr, bool *is_run, struct record *rec,
                      struct record_run *run)
{
    const char *kind;
    if (!json_is_object(lr->o)) {
        refuse(lr, NULL, ERR_TYPE, "the line is not an object");
        return;
    }
    int64_t format = get_int(lr, "format", 1, INT64_MAX);
    if (!lr->bad && format > RECORD_FORMAT) {
        refuse(lr, "format", ERR_RANGE, "the line is of format %lld; this version knows %d",
               (long long)format, RECORD_FORMAT);
        err_fix(lr->e, "update tilescope");
    }
    kind = get_text(lr, "kind", 40, false);
    *is_run = streq(kind, "run");
    if (!lr->bad && !*is_run && !streq(kind, "record"))
        refuse(lr, "kind", ERR_NAME, "\"kind\" is neither \"run\" nor \"record\"");
    if (lr->bad)
        return;
    if (*is_run)
        read_run(lr, run);
    else
        read_record(lr, rec);
    check_unknown(lr);
}

bool records_line_read(struct line_reader *lr, struct arena *a, const char *file, int number,
                       const char *line, size_t n, bool *is_run, struct record *rec,
                       struct record_run *run, struct err *e)
{
    json_error_t bad;
    lr->file = file;
    lr->number = number;
    lr->line = line;
    lr->a = a;
    lr->e = e;
    lr->bad = false;
    vec_clear(&lr->known);
    json_t *o = json_loadb(line, n, JSON_REJECT_DUPLICATES, &bad);
    if (!o) {
        err_set(e, ERR_SYNTAX, "not JSON: %s", bad.text);
        size_t most = strlen(line), col = bad.column > 1 ? (size_t)bad.column : 1;
        return records_line_error(e, file, number, (int)(col < most ? col : most > 0 ? most : 1),
                                  line);
    }
    lr->o = o;
    read_line(lr, is_run, rec, run);
    json_decref(o);
    return !lr->bad;
}
