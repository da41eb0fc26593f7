/* Runs a study case by case: first the searches of all cells of the case, then the measurements. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/base/version.h"
#include "profile/build/build.h"
#include "profile/measure/meters.h"
#include "sessions/file/measured_fields.h"
#include "sessions/report/report.h"
#include "sessions/study/study_tune.h"

#define SEARCH_TIME_S 0.03               /* seconds per combination */
#define SEARCH_RUNS 3
#define COMPARE_TIME_S 0.3               /* seconds per cell */

const char *const study_state_name[] = { "measured", "reused", "failed", "left out", "ready" };

struct running {
    const struct study *s;
    const struct study_opts *opts;
    struct study_report *r;
    const struct progress *progress;
    struct cancel *cancel;
    struct measure_opts measure;         /* options of every cell */
    double budget_s, spent_s;            /* seconds of all searches: allowed, and spent */
    double search_time_s;                /* seconds per combination */
    int searches_left;
    int done, total;                     /* number of cells */
    bool any;                            /* some cell was measured */
};

/* --- Progress, such as "3/24 timing" ---------------------------------------------------------- */

static void report_cell(void *ctx, const char *what, double fraction)
{
    const struct running *run = ctx;
    char text[64];
    snprintf(text, sizeof text, "%d/%d %.40s", run->done + 1, run->total, what);
    if (run->progress && run->progress->report)
        run->progress->report(run->progress->ctx, text, fraction);
}

static bool measure(struct running *run, const struct program *p, const struct measure_opts *o,
                    struct measurement *m, struct err *e)
{
    struct progress pr = { .report = report_cell, .ctx = run };
    if (run->opts->measure)
        return run->opts->measure(run->opts->ctx, p, o, run->cancel, m, e);
    return measure_program(p, o, &pr, run->cancel, m, e);
}

/* --- The cases and keys ----------------------------------------------------------------------- */

/* Chooses the named cases (names NULL: all); with --scale only a share of them, evenly spread. */
static bool choose_cases(struct study_report *r, const char *names, struct err *e)
{
    const struct study *s = r->study;
    bool *named = ARENA_ARRAY(r->arena, bool, s->n_cases);
    int *cases = ARENA_ARRAY(r->arena, int, s->n_cases), n = 0;
    if (names && !study_pick_cases(s, names, named, e))
        return false;
    for (int i = 0; i < s->n_cases; i++)
        if (!names || named[i])
            cases[n++] = i;
    int keep = n;
    if (r->scale < 1) {
        keep = (int)fmax(ceil(r->scale * n), fmax(1, s->scale.cases));
        keep = keep < n ? keep : n;
    }
    for (int i = 0; i < keep; i++)
        cases[i] = cases[(int64_t)i * n / keep];
    r->cases = cases;
    r->n_cases = keep;
    return true;
}

/* Adds all options of the tuner to the text of a key; for the weights, adds their file's name. */
static void add_tune_key(struct str *text, const struct study_tune *t)
{
    str_printf(text, " %d %s %d %d %d %d %s", t->budget, t->strategy ? t->strategy : "",
               t->loop_only, t->cold, t->experts, t->levels, t->weights ? t->weights : "");
    if (t->variant)
        str_printf(text, " variant %d", (int)t->variant);
    for (int i = 0; i < t->n_seeds; i++)
        str_printf(text, " %llu", (unsigned long long)t->seed[i]);
}

/* Returns a hash of the inputs and options of a cell, including the options of the search, the
 * compiler with its flags, and tilescope's version. */
static const char *cell_key(const struct running *run, const struct study_code *code,
                            const struct study_case *c, const struct study_variant *v,
                            int64_t combinations, const struct study_tune *tune)
{
    const struct study_report *r = run->r;
    struct str text = {0};
    compiler_print(&text, run->opts->compiler);
    str_printf(&text, "%s\n%s\n%u %d %llu %g %s\n%s %s\n", code->spec,
               code->cache ? code->cache : "", r->meters, r->threads, (unsigned long long)r->seed,
               r->time_s, r->host, run->opts->compiler ? run->opts->compiler : "",
               r->isa ? r->isa : "");
    for (int i = 0; i < v->n_steps; i++)
        str_printf(&text, "%s\n", v->search.n ? v->step[i] : code->step[i]);
    if (v->search.n)  /* the steps above still contain {parameters} then */
        str_printf(&text, "%s\n%s\n", param_text(r->arena, &c->params),
                   param_text(r->arena, &v->params));
    for (int i = 0; i < v->search.n; i++)
        for (int k = 0; k < v->search.axis[i].n; k++)
            str_printf(&text, "%s=%s\n", v->search.axis[i].name, v->search.axis[i].value[k]);
    str_printf(&text, "%g " TILESCOPE_VERSION, run->s->limit_s);
    if (run->s->baselines)
        str_printf(&text, " %x", run->s->baselines);
    if (tune->on)
        add_tune_key(&text, tune);
    if (run->s->networks)
        str_printf(&text, " %016llx", (unsigned long long)file_seen(code->spec));
    if (v->search.n)
        str_printf(&text, " %lld %g %g", (long long)combinations, run->budget_s,
                   run->search_time_s);
    const char *key = arena_printf(r->arena, "%016llx",
                                   (unsigned long long)hash_text(str_text(&text)));
    str_free(&text);
    return key;
}

static void take_code(struct study_report *r, struct study_cell *cell,
                      const struct study_code *code)
{
    const char **step = ARENA_ARRAY(r->arena, const char *, code->n + 1);
    for (int i = 0; i < code->n; i++)
        step[i] = arena_strdup(r->arena, code->step[i]);
    cell->spec = arena_strdup(r->arena, code->spec);
    cell->cache = code->cache ? arena_strdup(r->arena, code->cache) : NULL;
    cell->step = step;
    cell->n_steps = code->n;
}

void study_cell_ends(struct study_report *r, struct study_cell *cell, enum cell_state state,
                     const char *reason)
{
    cell->state = state;
    cell->reason = arena_strdup(r->arena, reason);
}

/* --- Search ----------------------------------------------------------------------------------- */

/* Returns 0 .. n-1 in a random order that depends only on the seed.  A search in this order has
 * sampled the whole space even if it ends early. */
static int64_t *shuffled(struct arena *a, int64_t n, uint64_t seed)
{
    int64_t *order = ARENA_ARRAY(a, int64_t, n);
    struct rng rng = rng_seed(seed);
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t k = rng_range(&rng, 0, i), t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
    return order;
}

static int64_t combinations_of(const struct running *run, const struct study_variant *v)
{
    int64_t n = param_grid_size(&v->search);
    if (run->r->scale >= 1)
        return n;
    double keep = fmax(ceil(run->r->scale * (double)n), fmax(1, run->s->scale.search));
    return keep < (double)n ? (int64_t)keep : n;
}

/* Measures one combination.  *ms: its latency, or INFINITY.  Returns false to end the study. */
static bool try_one(struct running *run, struct study_cell *cell, int c, int v,
                    const struct param_set *chosen, double *ms, struct err *e)
{
    struct arena *pass = arena_new();
    struct study_code code;
    const struct program *p;
    struct measurement m = {0};
    struct measure_opts o = run->measure;
    struct err why = {0};
    int bad;
    bool go_on = true;
    *ms = INFINITY;
    o.meters = METER_CLOCK;
    o.min_runs = SEARCH_RUNS;            /* a slow combination cannot win: few samples */
    o.time_s = run->search_time_s;
    if (!study_code(pass, run->s, c, v, chosen, &code, &bad, &why)
        || !program_replay(pass, code.spec, code.step, code.n, &p, &bad, &why)) {
        if (cell->illegal++ == 0)
            cell->first_illegal = arena_printf(run->r->arena, "%s: %.300s",
                                               param_text(pass, chosen), why.text);
    } else {
        go_on = measure(run, p, &o, &m, e);
        cell->tried++;
        if (go_on && m.outcome == OUTCOME_OK && m.latency.runs > 0)
            *ms = m.latency.min_ms;
        else
            cell->failed++;
    }
    arena_free(pass);
    return go_on;
}

/* Sets cell->chosen to the fastest combination, or leaves it empty when none could be timed. */
static bool search(struct running *run, struct study_cell *cell, int c, int v, struct err *e)
{
    const struct study_variant *var = &run->s->variant[v];
    struct arena *pass = arena_new();
    int64_t all = param_grid_size(&var->search), keep = combinations_of(run, var), best = -1;
    int64_t *order = shuffled(pass, all, run->r->seed);
    double fastest = INFINITY, start = clock_s();
    double share = run->budget_s > 0 ? (run->budget_s - run->spent_s) / run->searches_left
                                     : INFINITY;
    bool ok = true;
    cell->combinations = (int)all;
    cell->ended = keep < all ? "scale" : "all";
    for (int64_t i = 0; ok && i < all && cell->tried < keep; i++) {
        if (best >= 0 && clock_s() - start > share) {
            cell->ended = "budget";
            break;
        }
        struct param_set chosen = param_grid_at(pass, &var->search, order[i]);
        double ms;
        ok = try_one(run, cell, c, v, &chosen, &ms, e);
        if (ok && ms < fastest) {
            fastest = ms;
            best = order[i];
        }
    }
    run->spent_s += clock_s() - start;
    run->searches_left--;
    if (best >= 0)
        cell->chosen = param_grid_at(run->r->arena, &var->search, best);
    arena_free(pass);
    return ok;
}

/* --- Progress of the tuner -------------------------------------------------------------------- */

static void show_tuning(void *ctx, const struct tune_view *v)
{
    char text[64];
    snprintf(text, sizeof text, "tuning %d of %d", v->done, v->budget);
    report_cell(ctx, text, v->budget > 0 ? (double)v->done / v->budget : -1);
}

/* --- Cells ------------------------------------------------------------------------------------ */

/* Sets cell->json as `tilescope run --json` would print it, and adds the tuner's numbers. */
static bool keep_json(struct running *run, struct study_cell *cell, const struct measurement *m,
                      struct err *e)
{
    struct session *s = NULL;
    struct str json = {0};
    if (!session_new(cell->spec, &s, e))
        return false;
    bool ok = true;
    for (int i = 0; ok && i < cell->n_steps; i++)
        ok = history_apply(s->history, cell->step[i], e);
    if (ok)
        report_run_json(&json, s, m, run->r->meters, run->r->host, NULL);
    if (ok && cell->tuned)
        study_tune_join(&json, cell->tuned);
    cell->json = ok ? arena_strdup(run->r->arena, str_text(&json)) : NULL;
    str_free(&json);
    session_free(s);
    return ok;
}

/* Copies to *m the times and rates of *timed, which was measured in turns with other cells. */
static void take_timing(struct measurement *m, const struct measurement *timed)
{
    m->latency = timed->latency;
    fields_copy(fields_part(measured_fields, "gflops", "peak_reason"), m, timed);
    m->total_s += timed->total_s;
}

/* Measures a ready cell. timed: its result of time_together; NULL: it was not timed there. */
static bool measure_cell(struct running *run, struct study_cell *cell,
                         const struct measurement *timed, struct err *e)
{
    struct arena *pass = arena_new();
    struct measurement *m = ARENA_NEW(pass, struct measurement);
    struct measure_opts o = run->measure;
    const struct program *p;
    int bad;
    o.baselines = o.meters & METER_CLOCK ? run->s->baselines : 0;
    o.meters &= timed && !o.baselines ? ~(unsigned)METER_CLOCK : ~0u;
    bool ok = program_replay(pass, cell->spec, cell->step, cell->n_steps, &p, &bad, e)
           && (!cell->cache || cache_config_parse(cell->cache, &o.cache, e));
    if (!ok) {
        study_cell_ends(run->r, cell, CELL_FAILED, e->text);
        ok = true;
    } else if (measure(run, p, &o, m, e)) {
        if (timed)
            take_timing(m, timed);
        cell->interleaved = timed != NULL;
        ok = keep_json(run, cell, m, e);
        if (ok && m->outcome != OUTCOME_OK)
            study_cell_ends(run->r, cell, CELL_FAILED,
                       arena_printf(pass, "%s: %s", outcome_name[m->outcome], m->reason));
        if (!run->r->compiler[0])
            run->r->compiler = arena_strdup(run->r->arena, m->compiler);
    } else {
        ok = false;
    }
    arena_free(pass);
    return ok;
}

static const char *no_combination(struct study_report *r, const struct study_cell *cell)
{
    return arena_printf(r->arena, "none of %d combinations could be timed: %d illegal, %d failed"
                        "%s%s", cell->combinations, cell->illegal, cell->failed,
                        cell->first_illegal ? "; " : "",
                        cell->first_illegal ? cell->first_illegal : "");
}

/* Sets the texts and the key of a cell.  If a text is wrong, the cell fails; returns false. */
static bool open_cell(struct running *run, struct study_cell *cell, int c, int v,
                      struct study_code *code, struct study_tune *tune)
{
    const struct study *s = run->s;
    const struct study_variant *var = &s->variant[v];
    struct arena *a = run->r->arena;
    struct param_set first = param_grid_at(a, &var->search, 0);
    struct err why = {0};
    int bad;
    if (!study_code(a, s, c, v, &first, code, &bad, &why)) {
        study_cell_ends(run->r, cell, CELL_FAILED, why.text);
        return false;
    }
    if (s->networks)
        code->spec = study_model_path(a, s, run->opts->models, code->spec);
    take_code(run->r, cell, code);
    *tune = study_tune_scaled(run->r, run->opts, c, v);
    cell->key = cell_key(run, code, &s->cases[c], var, combinations_of(run, var), tune);
    return true;
}

/* Runs before any cell is measured, so that a partial report also has all reused cells. */
static void reuse_cells(struct running *run)
{
    const char *text = run->opts->reuse_json;
    json_t *report = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    struct study_report *r = run->r;
    struct study_code code;
    struct study_tune tune;
    for (int i = 0; report && i < r->n_cases * run->s->n_variants; i++) {
        int v = i % run->s->n_variants;
        struct study_cell *cell = &r->cell[i];
        if (!open_cell(run, cell, r->cases[i / run->s->n_variants], v, &code, &tune)
            || !study_reuse(report, r->arena, cell))
            continue;
        cell->reason = NULL;
        run->searches_left -= run->s->variant[v].search.n > 0;
        study_cell_values(r, cell);
    }
    json_decref(report);
}

/* Searches or tunes a cell's schedule.  The cell is then READY, FAILED or LEFT, or stays REUSED. */
static bool prepare_cell(struct running *run, struct study_cell *cell, int c, int v, struct err *e)
{
    const struct study *s = run->s;
    const struct study_variant *var = &s->variant[v];
    struct study_code code;
    struct study_tune tune;
    struct search_sink sink = { .ctx = run, .view = show_tuning };
    int bad;
    if (cell->state == CELL_REUSED)
        return true;
    cell->reason = NULL;
    if (!open_cell(run, cell, c, v, &code, &tune))
        return true;
    if (var->search.n) {
        if (!search(run, cell, c, v, e))
            return false;
        if (cell->chosen.n == 0) {
            study_cell_ends(run->r, cell, CELL_FAILED, no_combination(run->r, cell));
            return true;
        }
        if (!study_code(run->r->arena, s, c, v, &cell->chosen, &code, &bad, e))
            return false;
        take_code(run->r, cell, &code);
    }
    if (tune.on)
        return study_tune_cell(run->r, run->opts, cell, &tune, &sink, run->cancel, e);
    cell->state = CELL_READY;
    return true;
}

/* Times the ready cells of one case in turns in one child: between separate measurements, the CPU's
 * clock rate could change.  timed[v] stays NULL for a single cell, for a cell that fails, and for
 * cells beyond MEASURE_MAX_COMPARED; these are timed alone later. */
static void time_together(struct running *run, struct study_cell *cell,
                          const struct measurement **timed, struct arena *pass)
{
    const struct program *program[MEASURE_MAX_COMPARED];
    int variant[MEASURE_MAX_COMPARED], n = 0, bad;
    struct progress pr = { .report = report_cell, .ctx = run };
    struct compared *out = ARENA_ARRAY(pass, struct compared, MEASURE_MAX_COMPARED);
    struct comparison how;
    struct measure_opts o = run->measure;
    struct err e = {0};
    if (!(o.meters & METER_CLOCK) || run->opts->measure)
        return;
    for (int v = 0; v < run->s->n_variants && n < MEASURE_MAX_COMPARED; v++)
        if (cell[v].state == CELL_READY
            && program_replay(pass, cell[v].spec, cell[v].step, cell[v].n_steps, &program[n], &bad,
                              &e))
            variant[n++] = v;
    o.time_s = n * (o.time_s > 0 ? o.time_s : COMPARE_TIME_S);
    bool ok = n >= 2 && measure_compare(program, n, &o, &pr, run->cancel, out, &how, &e);
    for (int i = 0; ok && i < n; i++)
        if (out[i].m.outcome == OUTCOME_OK && out[i].m.latency.runs > 0)
            timed[variant[i]] = &out[i].m;
}

/* Ends a cell.  Returns false to end the study: *e is no cancel, and no cell was measured yet. */
static bool settle(struct running *run, struct study_cell *cell, struct err *e)
{
    bool stopped = e->code == ERR_CANCEL;
    if (!stopped && !run->any)
        return false;
    study_cell_ends(run->r, cell, stopped ? CELL_LEFT : CELL_FAILED,
                    stopped ? "cancelled" : e->text);
    *e = (struct err){0};
    return true;
}

/* Measures the ready cells of a case that is a network. */
static bool measure_networks(struct running *run, struct study_cell *cell, struct err *e)
{
    struct progress pr = { .report = report_cell, .ctx = run };
    struct err why = {0};
    bool ok = study_network_measure(run->r, cell, &run->measure, &pr, run->cancel, &why);
    for (int v = 0; !ok && v < run->s->n_variants; v++) {
        *e = why;
        if (cell[v].state == CELL_READY && !settle(run, &cell[v], e))
            return false;
    }
    return true;
}

static bool run_case(struct running *run, int i, struct arena *pass, struct err *e)
{
    int n = run->s->n_variants;
    struct study_cell *cell = &run->r->cell[i * n];
    const struct measurement **timed = ARENA_ARRAY(pass, const struct measurement *, n);
    for (int v = 0; v < n; v++) {
        run->done = i * n + v;
        if (cell[v].state != CELL_REUSED && cancelled(run->cancel))
            study_cell_ends(run->r, &cell[v], CELL_LEFT, "cancelled");
        else if (!prepare_cell(run, &cell[v], run->r->cases[i], v, e)
                 && !settle(run, &cell[v], e))
            return false;
    }
    if (run->s->networks && !measure_networks(run, cell, e))
        return false;
    if (!run->s->networks && !cancelled(run->cancel))
        time_together(run, cell, timed, pass);
    for (int v = 0; v < n; v++) {
        run->done = i * n + v;
        if (cell[v].state == CELL_READY && cancelled(run->cancel)) {
            study_cell_ends(run->r, &cell[v], CELL_LEFT, "cancelled");
        } else if (cell[v].state == CELL_READY) {
            cell[v].state = CELL_MEASURED;
            if (!measure_cell(run, &cell[v], timed[v], e) && !settle(run, &cell[v], e))
                return false;
        }
        run->any = run->any || cell[v].state == CELL_MEASURED;
        study_cell_values(run->r, &cell[v]);
    }
    return true;
}

/* Updates the summary of the report. */
static void sum_up(struct study_report *r, double began)
{
    r->partial = false;
    for (int i = 0; i < r->n_cases * r->study->n_variants; i++)
        r->partial = r->partial || r->cell[i].state == CELL_LEFT;
    r->seconds = clock_s() - began;
    memset(r->result, 0, sizeof *r->result * (size_t)r->study->n_findings);
    study_findings(r);
}

/* Runs all cases, and calls opts->keep after each. */
static bool run_cells(struct running *run, double began, struct err *e)
{
    struct arena *pass = arena_new();
    bool ok = true;
    reuse_cells(run);
    for (int i = 0; ok && i < run->r->n_cases; i++) {
        arena_reset(pass);
        ok = run_case(run, i, pass, e);
        sum_up(run->r, began);
        if (ok && run->opts->keep && !cancelled(run->cancel))
            run->opts->keep(run->opts->keep_ctx, run->r);
    }
    arena_free(pass);
    return ok;
}

/* --- The report ------------------------------------------------------------------------------- */

static const char *now(struct arena *a)
{
    time_t t = time(NULL);
    struct tm tm;
    char text[32];
    gmtime_r(&t, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return arena_strdup(a, text);
}

static const char *this_host(struct arena *a)
{
    struct str text = {0};
    machine_fingerprint_here(&text);
    const char *host = arena_strdup(a, str_text(&text));
    str_free(&text);
    return host;
}

static struct study_report *open_report(const struct study *s, const struct study_opts *o,
                                        struct err *e)
{
    struct arena *a = arena_new();
    struct study_report *r = ARENA_NEW(a, struct study_report);
    *r = (struct study_report){
        .arena = a, .study = s, .compiler = "",
        .scale = o->scale > 0 && o->scale < 1 ? o->scale : 1,
        .meters = o->meters ? o->meters : s->meters, .seed = o->seed ? o->seed : s->seed,
        .threads = o->threads > 0 ? o->threads : s->threads,
        .date = o->date ? arena_strdup(a, o->date) : now(a),
        .isa = o->isa ? arena_strdup(a, o->isa) : s->isa,
        .host = o->host ? arena_strdup(a, o->host) : this_host(a),
    };
    r->time_s = o->time_s > 0 ? o->time_s : s->time_s;
    if (r->scale < 1 && !(o->time_s > 0))
        r->time_s = fmax((s->time_s > 0 ? s->time_s : 0.3) * r->scale, s->scale.time_s);
    if (!choose_cases(r, o->cases, e)) {
        study_report_free(r);
        return NULL;
    }
    r->cell = ARENA_ARRAY(a, struct study_cell, r->n_cases * s->n_variants);
    r->result = ARENA_ARRAY(a, struct study_result, s->n_findings + 1);
    for (int i = 0; i < r->n_cases * s->n_variants; i++) {
        struct study_cell *cell = &r->cell[i];
        cell->value = ARENA_ARRAY(a, double, s->n_metrics);
        cell->spread = ARENA_ARRAY(a, double, s->n_metrics);
        cell->missing = ARENA_ARRAY(a, const char *, s->n_metrics);
        study_cell_ends(r, cell, CELL_LEFT, "not reached");
        study_cell_values(r, cell);
    }
    r->n_meters = meters_probe(r->meter, COUNT_OF(r->meter));
    return r;
}

bool study_run(const struct study *s, const struct study_opts *o, const struct progress *pr,
               struct cancel *c, struct study_report **out, struct err *e)
{
    struct study_report *r = open_report(s, o, e);
    double start = clock_s();
    if (!r)
        return false;
    struct running run = { .s = s, .opts = o, .r = r, .progress = pr, .cancel = c,
                           .budget_s = s->budget_s * r->scale,
                           .search_time_s = s->search_time_s > 0 ? s->search_time_s
                                                                 : SEARCH_TIME_S,
                           .total = r->n_cases * s->n_variants };
    run.measure = (struct measure_opts){ .meters = r->meters, .threads = r->threads,
                                         .seed = r->seed, .time_s = r->time_s,
                                         .limit_s = s->limit_s, .compiler = o->compiler,
                                         .target = r->isa ? target_named(r->isa) : NULL };
    for (int v = 0; v < s->n_variants; v++)
        run.searches_left += s->variant[v].search.n > 0 ? r->n_cases : 0;
    if (!run_cells(&run, start, e)) {
        study_report_free(r);
        return false;
    }
    *out = r;
    return true;
}

void study_report_free(struct study_report *r)
{
    if (r)
        arena_free(r->arena);
}

const struct study_cell *study_cell(const struct study_report *r, int chosen_case, int variant)
{
    return &r->cell[chosen_case * r->study->n_variants + variant];
}
