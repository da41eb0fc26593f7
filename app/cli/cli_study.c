/* `tilescope study` and `tilescope studies`. */
#include "app/cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "profile/measure/meters.h"
#include "sessions/study/study.h"
#include "sessions/study/study_tune.h"

#define STUDIES_MAX 200
#define REPORT_MAX_BYTES ((size_t)64 << 20)

int cli_studies(const struct cli *c)
{
    struct study *s[STUDIES_MAX];
    struct str out = {0};
    struct err e = {0};
    int n;
    bool ok = study_list(s, STUDIES_MAX, &n, &e);
    if (ok && args_has(c->args, OPT_JSON))
        study_list_json(&out, s, n);
    else if (ok)
        study_list_text(&out, s, n, cli_columns(80));
    for (int i = 0; i < n; i++)
        study_free(s[i]);
    cli_put(&out);
    return ok ? EXIT_FINE : cli_fail(c, &e);
}

static bool read_options(const struct args *a, struct study_opts *o, struct err *e)
{
    const char *meters = args_value(a, OPT_METERS);
    const struct target *target = NULL;
    o->scale = 1;
    if (!args_double(a, OPT_SCALE, 1e-6, 1, &o->scale, e)
        || !args_int(a, OPT_THREADS, 1, 1024, &o->threads, e) || !args_seed(a, 1, &o->seed, e)
        || !args_int(a, OPT_BUDGET, 1, 10000000, &o->budget, e)
        || !args_double(a, OPT_TIME, 0.001, 600, &o->time_s, e)
        || !args_target(a, &target, e)
        || (meters && !meters_parse(meters, &o->meters, e)))
        return false;
    if (meters && o->meters == 0)
        return err_set(e, ERR_RANGE, "--meters none: a study needs at least one meter");
    o->compiler = args_value(a, OPT_COMPILER);
    o->isa = target ? target->isa : NULL;
    o->fresh = args_has(a, OPT_FRESH);
    o->weights = args_value(a, OPT_WEIGHTS);
    o->cases = args_value(a, OPT_CASES);
    o->models = args_value(a, OPT_MODELS);
    return true;
}

/* --- The partial report -----------------------------------------------------------------------
 *
 * After every case the report so far is written to a file in the state folder, so that a kill loses
 * at most one case. --resume without a file name reads that file; the end of the study deletes the
 * file. Each choice of cases, variants and options has a file of its own, because the keys of the
 * cells differ. */

/* The file of the partial report. mine: whether this run wrote it, or resumes it. */
struct report_file { struct str path; bool mine; };

/* Whether an option changes only how the study is reported, and not what is measured. */
static bool says_how(enum opt o)
{
    return o == OPT_RESUME || o == OPT_OUTPUT || o == OPT_JSON || o == OPT_NO_COLOR;
}

/* Sets k->path.  The name has a hash of the options, which does not depend on their order. */
static bool kept_path(const struct args *a, const struct study *s, struct report_file *k,
                      struct err *e)
{
    uint64_t hash = 0;
    if (!dir_state(&k->path, e))
        return false;
    for (int o = 0; o < OPT_COUNT; o++) {
        const char *value = args_value(a, (enum opt)o);
        if (value && !says_how((enum opt)o))
            hash = hash_bytes(value, strlen(value), hash ^ (uint64_t)(o + 1));
    }
    str_printf(&k->path, "/study-%s-%08llx.json", s->id, (unsigned long long)(hash & 0xffffffff));
    return true;
}

/* Writes the partial report. If the file has a report that this run does not resume, renames that
 * file first. Errors are ignored, because only --resume needs the file. */
static void keep(void *ctx, const struct study_report *r)
{
    struct report_file *k = ctx;
    struct str json = {0}, before = {0};
    struct err ignored;
    str_printf(&before, "%s.before", str_text(&k->path));
    if (!k->mine)
        rename(str_text(&k->path), str_text(&before));
    k->mine = true;
    study_json(&json, r);
    file_write_atomic(str_text(&k->path), str_text(&json), json.len, &ignored);
    str_free(&json);
    str_free(&before);
}

/* Checks that `to`, the value of -o, can be written, and stores it with the state of its file in
 * *out. ".json" and ".txt" are single files; any other name is a folder for the report and its
 * charts. Call this before measuring, so that hours of measurements are not lost. */
static bool may_write(const char *to, const char *id, struct goal *out, struct err *e)
{
    bool file = to && (str_ends(to, ".json") || str_ends(to, ".txt"));
    *out = (struct goal){ .path = to, .seen = file ? file_seen(to) : FILE_ANYTHING };
    if (!to || file)
        return !to || file_may_write(to, e);
    if (!chart_ready(CHART_SVG, e))
        return err_fix(e, "apt-get install gnuplot-nox, or -o REPORT.txt or .json: one file"
                       " without charts");
    struct str first = {0};
    str_printf(&first, "%s/%s.txt", to, id);
    bool ok = dir_make(to, e) && file_may_write(str_text(&first), e);
    str_free(&first);
    return ok;
}

static bool read_earlier(const struct args *a, const struct study *s, struct report_file *k,
                         struct study_opts *o, struct str *text, struct err *e)
{
    const char *from = args_value(a, OPT_RESUME);
    if (!from && file_exists(str_text(&k->path)))
        fprintf(stderr, "note: this study was stopped before its end; --resume would go on with"
                        " it\n");
    if (!from)
        return true;
    bool named = from[0] != '\0';
    from = named ? from : str_text(&k->path);
    if (!named && !file_exists(from)) {
        err_set(e, ERR_IO, "there is nothing to resume: %.300s does not exist", from);
        return err_fix(e,
                       "leave --resume out to start the study, or name another report: --resume "
                       "REPORT.json");
    }
    if (!file_read(from, REPORT_MAX_BYTES, text, e)
        || !study_report_check(s, from, str_text(text), e))
        return false;
    o->reuse_json = str_text(text);
    k->mine = !named;
    return true;
}

/* --- Writing reports -------------------------------------------------------------------------- */

static bool write_file(const char *dir, const char *name, const char *ending,
                       const struct str *text, struct err *e)
{
    char path[1200];
    snprintf(path, sizeof path, "%.800s/%.200s%s", dir, name, ending);
    return file_write_atomic(path, str_text(text), text->len, e);
}

/* Writes a chart for every metric that has values, and one for every case that was tuned. */
static bool write_charts(const char *dir, const struct study_report *r, struct err *e)
{
    const struct study *s = r->study;
    bool ok = true;
    for (int i = 0; ok && i < s->n_metrics + r->n_cases; i++) {
        struct str svg = {0};
        char name[200];
        int c = i - s->n_metrics;
        snprintf(name, sizeof name, "%.90s.%s%.90s", s->id, c < 0 ? "" : "curve.",
                 c < 0 ? s->metric[i].id : s->cases[r->cases[c]].id);
        bool drawn = c < 0 ? study_chart(&svg, r, i, CHART_SVG, e)
                           : study_curve_chart(&svg, r, c, CHART_SVG, e);
        ok = drawn ? write_file(dir, name, ".svg", &svg, e) : e->code == ERR_RANGE;
        str_free(&svg);
    }
    return ok;
}

static bool write_one(const struct goal *to, const struct str *text, struct err *e)
{
    struct str where = {0};
    bool ok = file_replace(to->path, to->seen, str_text(text), text->len, e);
    if (!ok && e->code == ERR_CHANGED
        && file_write_beside(to->path, str_text(text), text->len, &where, e))
        cli_says_beside(to->path, str_text(&where), e);
    str_free(&where);
    return ok;
}

static bool write_report(const struct goal *goal, const struct study_report *r,
                         const struct str *text, const struct str *json, struct err *e)
{
    const char *to = goal->path;
    if (str_ends(to, ".json"))
        return write_one(goal, json, e);
    if (str_ends(to, ".txt"))
        return write_one(goal, text, e);
    return dir_make(to, e) && write_file(to, r->study->id, ".txt", text, e)
        && write_file(to, r->study->id, ".json", json, e) && write_charts(to, r, e);
}

static bool measured_any(const struct study_report *r)
{
    bool any = false;
    for (int i = 0; i < r->n_cases * r->study->n_variants; i++)
        any = any || r->cell[i].state == CELL_MEASURED;
    return any;
}

static int end_study(const struct cli *c, const struct study_report *r, const struct goal *goal,
                     struct report_file *k)
{
    struct err e = {0};
    struct str text = {0}, json = {0};
    const char *to = goal->path;
    study_text(&text, r);
    study_json(&json, r);
    bool stopped = r->partial && cancelled(c->cancel);
    bool ok = !to || write_report(goal, r, &text, &json, &e);
    if (stopped && measured_any(r))
        keep(k, r);
    else if (!stopped && ok && k->mine)
        unlink(str_text(&k->path));
    cli_put(args_has(c->args, OPT_JSON) ? &json : &text);
    str_free(&text);
    str_free(&json);
    if (!ok)
        return cli_fail(c, &e);
    if (to && !args_has(c->args, OPT_JSON))
        fprintf(stderr, "%s: the report\n", to);
    if (stopped)
        fprintf(stderr, "cancelled: the report is partial%s\n",
                file_exists(str_text(&k->path)) ? "; the same command with --resume continues"
                                                : "");
    return stopped ? EXIT_CANCELLED : EXIT_FINE;
}

static int run_study(const struct cli *c, const struct study *s, struct study_opts *o)
{
    struct err e = {0};
    struct study_report *r = NULL;
    struct progress pr = cli_progress(c);
    struct report_file k = {0};
    struct goal to;
    struct str earlier = {0};
    bool ok = kept_path(c->args, s, &k, &e)
           && may_write(args_value(c->args, OPT_OUTPUT), s->id, &to, &e)
           && read_earlier(c->args, s, &k, o, &earlier, &e);
    o->keep = keep;
    o->keep_ctx = &k;
    ok = ok && study_run(s, o, &pr, c->cancel, &r, &e);
    cli_progress_clear(c);
    int code = ok ? end_study(c, r, &to, &k) : cli_fail(c, &e);
    study_report_free(r);
    str_free(&earlier);
    str_free(&k.path);
    return code;
}

static bool suits(struct study *s, const struct cli *c, const struct study_opts *o, struct err *e)
{
    const char *variants = args_value(c->args, OPT_VARIANTS);
    if (variants && !study_pick_variants(s, variants, e))
        return false;
    return o->budget == 0 || study_is_tuned(s)
        || err_set(e, ERR_RANGE, "--budget: study %s has no variant that is tuned", s->id);
}

int cli_study(const struct cli *c)
{
    struct study *s = NULL;
    struct study_opts o = {0};
    struct err e = {0};
    if (c->args->word.len != 1)
        return cli_usage(c, "which study? one name or file");
    bool ok = read_options(c->args, &o, &e)
           && study_open(c->args->word.data[0], &s, &e) && suits(s, c, &o, &e);
    int code = ok ? run_study(c, s, &o) : cli_fail(c, &e);
    study_free(s);
    return code;
}
