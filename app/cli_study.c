/* `tilescope study` and `tilescope studies`. */
#include <stdio.h>
#include <string.h>

#include "app/cli.h"
#include "kernels/base/file.h"
#include "sessions/study.h"
#include "sessions/study_tune.h"

#define STUDIES_MAX 200
#define REPORT_MAX_BYTES ((size_t)64 << 20)

/* Long titles go on below their column. */
static void put_studies(struct str *out, struct study *const *s, int n)
{
    studies_text(out, s, n);
    const char *title = strstr(str_text(out), "title");
    if (title)
        cli_wrap(out, 0, (int)(title - str_text(out)));
}

int cmd_studies(const struct cli *c)
{
    struct study *s[STUDIES_MAX];
    struct str out = {0};
    struct err e = {0};
    int n;
    bool ok = studies_list(s, STUDIES_MAX, &n, &e);
    if (ok && args_has(c->args, OPT_JSON))
        studies_json(&out, s, n);
    else if (ok)
        put_studies(&out, s, n);
    for (int i = 0; i < n; i++)
        study_free(s[i]);
    cli_put(&out);
    return ok ? EXIT_FINE : cli_fail(c, &e);
}

static bool read_options(const struct args *a, struct study_opts *o, struct str *reuse,
                         struct err *e)
{
    long long threads = 0, seed = 0, budget = 0;
    const char *meters = args_value(a, OPT_METERS), *resume = args_value(a, OPT_RESUME);
    struct target target;
    o->scale = 1;
    if (resume && !resume[0])
        return err_set(e, ERR_SYNTAX, "--resume needs a value: --resume REPORT.json");
    if (!args_double(a, OPT_SCALE, 1e-6, 1, &o->scale, e)
        || !args_int(a, OPT_THREADS, 1, 1024, &threads, e)
        || !args_int(a, OPT_SEED, 1, INT64_MAX, &seed, e)
        || !args_int(a, OPT_BUDGET, 1, 10000000, &budget, e)
        || !args_double(a, OPT_TIME, 0.001, 600, &o->time_s, e)
        || (args_has(a, OPT_ISA) && !target_find(args_value(a, OPT_ISA), &target, e))
        || (meters && !meters_parse(meters, &o->meters, e))
        || (resume && !file_read(resume, REPORT_MAX_BYTES, reuse, e)))
        return false;
    if (meters && o->meters == 0)
        return err_set(e, ERR_RANGE, "--meters none: a study needs at least one");
    o->threads = (int)threads;
    o->seed = (uint64_t)seed;
    o->budget = (int)budget;
    o->compiler = args_value(a, OPT_COMPILER);
    o->isa = args_value(a, OPT_ISA);
    o->fresh = args_has(a, OPT_FRESH);
    o->weights = args_value(a, OPT_WEIGHTS);
    o->cases = args_value(a, OPT_CASES);
    o->reuse_json = resume ? str_text(reuse) : NULL;
    return true;
}

static bool write_file(const char *dir, const char *name, const char *ending,
                       const struct str *text, struct err *e)
{
    char path[1200];
    snprintf(path, sizeof path, "%.800s/%.200s%s", dir, name, ending);
    return file_write_atomic(path, str_text(text), text->len, e);
}

/* A chart for every metric that has values, and for every case that was tuned. */
static bool write_charts(const char *dir, const struct study_report *r, struct err *e)
{
    bool ok = true;
    for (int i = 0; ok && i < r->study->n_metrics; i++) {
        struct str svg = {0};
        char name[200];
        struct err none = {0};
        snprintf(name, sizeof name, "%.90s.%.90s", r->study->id, r->study->metric[i].id);
        if (study_svg(&svg, r, i, &none))
            ok = write_file(dir, name, ".svg", &svg, e);
        str_free(&svg);
    }
    for (int c = 0; ok && c < r->n_cases; c++) {
        struct str svg = {0};
        char name[200];
        struct err none = {0};
        snprintf(name, sizeof name, "%.90s.curve.%.90s", r->study->id,
                 r->study->cases[r->cases[c]].id);
        if (study_curve_svg(&svg, r, c, &none))
            ok = write_file(dir, name, ".svg", &svg, e);
        str_free(&svg);
    }
    return ok;
}

/* -o FILE.json and FILE.txt are one file; anything else is a folder for all of them. */
static bool write_report(const char *to, const struct study_report *r, const struct str *text,
                         const struct str *json, struct err *e)
{
    if (str_ends(to, ".json"))
        return file_write_atomic(to, str_text(json), json->len, e);
    if (str_ends(to, ".txt"))
        return file_write_atomic(to, str_text(text), text->len, e);
    return dir_make(to, e) && write_file(to, r->study->id, ".txt", text, e)
        && write_file(to, r->study->id, ".json", json, e) && write_charts(to, r, e);
}

static int run_study(const struct cli *c, const struct study *s, const struct study_opts *o)
{
    struct err e = {0};
    struct study_report *r = NULL;
    struct progress pr = cli_progress(c);
    struct str text = {0}, json = {0};
    const char *to = args_value(c->args, OPT_OUTPUT);
    bool ok = study_run(s, o, &pr, c->cancel, &r, &e);
    cli_progress_clear(c);
    if (!ok)
        return cli_fail(c, &e);
    study_text(&text, r);
    study_json(&json, r);
    bool stopped = r->partial && cancelled(c->cancel);
    const struct str *shown = args_has(c->args, OPT_JSON) ? &json : &text;
    fwrite(str_text(shown), 1, shown->len, stdout);
    ok = !to || write_report(to, r, &text, &json, &e);
    study_report_free(r);
    str_free(&text);
    str_free(&json);
    if (!ok)
        return cli_fail(c, &e);
    if (to && !args_has(c->args, OPT_JSON))
        fprintf(stderr, "%s: the report\n", to);
    if (stopped)
        fputs("cancelled: the report is partial\n", stderr);
    return stopped ? EXIT_CANCELLED : EXIT_FINE;
}

static bool suits(struct study *s, const struct cli *c, const struct study_opts *o, struct err *e)
{
    const char *variants = args_value(c->args, OPT_VARIANTS);
    if (variants && !study_pick_variants(s, variants, e))
        return false;
    return o->budget == 0 || study_is_tuned(s)
        || err_set(e, ERR_RANGE, "--budget: nothing in study %s is tuned", s->id);
}

int cmd_study(const struct cli *c)
{
    struct study *s = NULL;
    struct study_opts o = {0};
    struct str reuse = {0};
    struct err e = {0};
    if (c->args->word.len != 1)
        return cli_usage(c, "which study? one name or file");
    bool ok = read_options(c->args, &o, &reuse, &e)
           && study_open(c->args->word.data[0], &s, &e) && suits(s, c, &o, &e);
    int code = ok ? run_study(c, s, &o) : cli_fail(c, &e);
    study_free(s);
    str_free(&reuse);
    return code;
}
