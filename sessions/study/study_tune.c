/* Runs the searches of the variants that the auto-tuner completes, and writes them as JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sessions/file/json.h"
#include "sessions/study/study_tune.h"
#include "sessions/tuning/pretrain.h"

/* --- One search ---------------------------------------------------------------------------- */

/* Reads the curve of a run from its records, because an earlier call can have measured trials. */
static bool curve_of_records(struct arena *a, const struct tuning *t, const char *file,
                             struct study_search *out, struct err *e)
{
    struct record_filter f = { .run = t->run };
    struct records *records;
    const struct record *r;
    double best = INFINITY;
    int n;
    if (!records_open_reading(file, &records, e))
        return false;
    bool ok = records_list(records, &f, a, &r, &n, e);
    struct study_point *point = ARENA_ARRAY(a, struct study_point, ok ? n + 1 : 1);
    for (int i = 0; ok && i < n; i++) {
        bool right = r[i].outcome == OUTCOME_OK && r[i].runs > 0;
        if (streq(r[i].strategy, "final"))
            continue;
        if (right && r[i].trial == 1)
            out->start_ms = r[i].min_ms;
        if (!right || r[i].min_ms >= best)
            continue;
        best = r[i].min_ms;
        point[out->n_curve++] = (struct study_point){ r[i].trial, best };
    }
    out->curve = point;
    records_close(records);
    return ok;
}

static void take_tuning(struct arena *a, const struct tuning *t, struct study_search *out)
{
    const char **line = ARENA_ARRAY(a, const char *, t->n_lines + 1);
    for (int i = 0; i < t->n_lines; i++)
        line[i] = arena_strdup(a, t->line[i]);
    *out = (struct study_search){
        .run = arena_strdup(a, t->run), .answered = t->answered,
        .stopped = t->end == SEARCH_CANCELLED, .trials = t->trials, .start_ms = INFINITY,
        .n_lines = isinf(t->best_ms) ? -1 : t->n_lines, .line = line,
    };
    if (t->result)
        out->seconds = t->result->view->times.elapsed + t->result->final_s;
    for (int i = 0; i < TUNE_OUTCOMES; i++)
        out->failed += t->failed[i];
}

/* The default of study_opts.tune: calls tuning_run and reads the curve from the records. */
static bool tune_search(void *ctx, struct arena *a, const char *spec, const char *const *step,
                        int n, const struct tuning_opts *o, const struct search_sink *view,
                        struct cancel *c, struct study_search *out, struct err *e)
{
    struct session *s = NULL;
    struct tuning *t = NULL;
    (void)ctx;
    bool ok = session_new(spec, &s, e);
    for (int i = 0; ok && i < n; i++)
        ok = history_apply(s->history, step[i], e);
    ok = ok && tuning_run(s, o, view, c, &t, e);
    if (ok) {
        take_tuning(a, t, out);
        ok = curve_of_records(a, t, o->records, out, e);
        tuning_free(t);
    }
    session_free(s);
    return ok;
}

double study_search_at(const struct study_search *s, int trial)
{
    double ms = NAN;
    for (int i = 0; i < s->n_curve && s->curve[i].trial <= trial; i++)
        ms = s->curve[i].ms;
    return ms;
}

/* --- A cell -------------------------------------------------------------------------------- */

static int scaled(double scale, int whole, double least)
{
    int n = (int)fmax(ceil(scale * whole), fmax(1, least));
    return n < whole ? n : whole;
}

struct study_tune study_tune_scaled(const struct study_report *r, const struct study_opts *o,
                                    int c, int v)
{
    struct study_tune t = study_tune_of(r->study, c, v);
    const struct study_scale *least = &r->study->scale;
    if (o->weights && t.weights)
        t.weights = o->weights;
    if (o->budget > 0)
        t.budget = o->budget;
    else if (r->scale < 1)
        t.budget = scaled(r->scale, t.budget, least->budget);
    if (r->scale < 1)
        t.n_seeds = scaled(r->scale, t.n_seeds, least->seeds);
    return t;
}

/* Returns the options of a search.  Unless o->fresh is set, the search takes the result of a
 * finished run from the records, or resumes a stopped run. */
static struct tuning_opts question(const struct study_report *r, const struct study_opts *o,
                                   const struct study_tune *t, uint64_t seed,
                                   const struct str *weights)
{
    return (struct tuning_opts){
        .budget = t->budget, .seed_given = true, .seed = seed,
        .strategy = tune_strategy(t->strategy, t->weights != NULL), .levels = t->levels,
        .loop_only = t->loop_only, .cold = t->cold,
        .experts = t->experts > 0 ? t->experts : -1, .study = true,
        .resume = !o->fresh, .fresh = o->fresh, .records = o->records,
        .measure = { .threads = r->threads, .seed = r->seed, .limit_s = r->study->limit_s,
                     .compiler = o->compiler, .target = target_named(r->isa) },
        .weights = weights->len ? weights->data : NULL, .weights_bytes = weights->len,
    };
}

/* Returns the index of the search with the fastest schedule, or -1 when no schedule was correct. */
static int fastest_search(const struct study_tune *t, const struct study_search *search)
{
    int best = -1;
    for (int i = 0; i < t->n_seeds; i++)
        if (search[i].n_lines >= 0 &&
            (best < 0 || study_search_at(&search[i], t->budget)
                         < study_search_at(&search[best], t->budget)))
            best = i;
    return best;
}

static void take_searches(struct study_report *r, struct study_cell *cell,
                          const struct study_tune *t, const char *trained,
                          const struct study_search *search)
{
    int best = fastest_search(t, search);
    struct str json = {0};
    if (best < 0) {
        study_cell_ends(r, cell, CELL_FAILED, "nothing that the tuner measured is right");
        return;
    }
    study_tune_json(&json, t, trained, search);
    cell->tuned = arena_strdup(r->arena, str_text(&json));
    cell->step = search[best].line;
    cell->n_steps = search[best].n_lines;
    cell->kernels = search[best].kernels;
    cell->state = CELL_READY;
    str_free(&json);
}

bool study_tune_cell(struct study_report *r, const struct study_opts *o, struct study_cell *cell,
                     const struct study_tune *t, const struct search_sink *view, struct cancel *c,
                     struct err *e)
{
    struct study_search *search = ARENA_ARRAY(r->arena, struct study_search, t->n_seeds);
    study_tune_fn *tune = o->tune ? o->tune : tune_search;
    struct str weights = {0};
    struct err why = {0};
    const char *trained = "";
    bool ok = true, stopped = false;
    bool typed = o->weights != NULL, network = r->study->networks;
    bool parts = !network && study_has_parts(r->arena, cell->spec);
    if (t->weights
        && !pretrain_weights_bytes(r->arena, t->weights, typed, &weights, &trained, &why)) {
        study_cell_ends(r, cell, CELL_FAILED,
                        arena_printf(r->arena, "%s; `tilescope pretrain` makes weights", why.text));
        str_free(&weights);
        return true;
    }
    for (int i = 0; ok && !stopped && i < t->n_seeds; i++) {
        struct tuning_opts to = question(r, o, t, t->seed[i], &weights);
        struct study_part_search how = { tune, o->ctx, &to, cell->n_steps, cell->step, view, c };
        ok = network ? study_network_search(r->arena, cell->spec, t->variant, &how, &search[i], e)
           : parts   ? study_search_parts(r->arena, cell->spec, &how, &search[i], e)
                     : tune(o->ctx, r->arena, cell->spec, cell->step, cell->n_steps, &to, view, c,
                            &search[i], e);
        stopped = ok && search[i].stopped;
    }
    if (!ok && e->code == ERR_ENV && target_named(r->isa)->gpu)
        (void)err_fix(e, "run this study where a GPU is, or leave --target cuda out");
    str_free(&weights);
    if (ok && stopped)
        study_cell_ends(r, cell, CELL_LEFT, "cancelled");
    else if (ok)
        take_searches(r, cell, t, trained, search);
    return ok;
}

/* --- As JSON ------------------------------------------------------------------------------- */

/* Returns the geometric mean over the seeds of the best time up to `trial`, or NAN when some seed
 * has no correct trial yet. */
static double mean_at(const struct study_tune *t, const struct study_search *s, int trial)
{
    double sum = 0;
    for (int i = 0; i < t->n_seeds; i++)
        sum += log(study_search_at(&s[i], trial));
    return exp(sum / t->n_seeds);
}

static double mean_start(const struct study_tune *t, const struct study_search *s)
{
    double sum = 0;
    for (int i = 0; i < t->n_seeds; i++)
        sum += log(s[i].start_ms);
    return exp(sum / t->n_seeds);
}

/* Returns the least of the seeds' final times if `least` is set, else the greatest. */
static double extreme(const struct study_tune *t, const struct study_search *s, bool least)
{
    double x = study_search_at(&s[0], t->budget);
    for (int i = 1; i < t->n_seeds; i++) {
        double y = study_search_at(&s[i], t->budget);
        x = least ? fmin(x, y) : fmax(x, y);
    }
    return x;
}

static json_t *search_json(const struct study_tune *t, const struct study_search *s, uint64_t seed)
{
    json_t *curve = json_array();
    for (int i = 0; i < s->n_curve; i++)
        json_array_append_new(curve, json_pack("[i, f]", s->curve[i].trial, s->curve[i].ms));
    return json_make("seed", JSON(seed), "run", JSON(s->run),
                     "answered", JSON(s->answered), "trials", JSON(s->trials),
                     "failed", JSON(s->failed), "start_ms", JSON(s->start_ms),
                     "best_ms", JSON(study_search_at(s, t->budget)), "seconds", JSON(s->seconds),
                     "curve", curve);
}

static void add_numbers(json_t *o, const struct study_tune *t, const struct study_search *s)
{
    static const struct { const char *key; int part; } share[] = {
        { "eighth_ms", 8 }, { "quarter_ms", 4 }, { "half_ms", 2 }, { "best_ms", 1 },
    };
    int trials = 0, failed = 0;
    double seconds = 0;
    for (int i = 0; i < COUNT_OF(share); i++) {
        int part = (t->budget + share[i].part - 1) / share[i].part;
        json_put(o, share[i].key, JSON(mean_at(t, s, part)));
    }
    for (int i = 0; i < t->n_seeds; i++) {
        trials += s[i].trials;
        failed += s[i].failed;
        seconds += s[i].seconds;
    }
    json_put(o, "fastest_ms", JSON(extreme(t, s, true)), "slowest_ms", JSON(extreme(t, s, false)),
             "start_ms", JSON(mean_start(t, s)), "trials", JSON(trials), "failed", JSON(failed),
             "seconds", JSON(seconds));
}

void study_tune_json(struct str *out, const struct study_tune *t, const char *trained,
                     const struct study_search *search)
{
    const char *strategy = tune_strategy(t->strategy, t->weights != NULL);
    json_t *o = json_make("strategy", JSON(strategy), "budget", JSON(t->budget),
                          "loop_only", JSON(t->loop_only), "cold", JSON(t->cold),
                          "experts", JSON(t->experts), "levels", JSON(t->levels),
                          "seeds", JSON(t->n_seeds), "trained", JSON_OR_NULL(trained));
    json_t *list = json_array();
    add_numbers(o, t, search);
    for (int i = 0; i < t->n_seeds; i++)
        json_array_append_new(list, search_json(t, &search[i], t->seed[i]));
    json_put(o, "searches", list);
    char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(8));
    str_add(out, text);
    free(text);
    json_decref(o);
}

void study_tune_join(struct str *json, const char *tuned)
{
    while (json->len > 0 && json->data[json->len - 1] != '}')
        json->data[--json->len] = '\0';
    if (json->len == 0)
        return;
    json->data[--json->len] = '\0';
    str_printf(json, ", \"tune\": %s}\n", tuned);
}

void study_tune_example(struct str *json)
{
    static const struct study_point point = { 1, 1 };
    static const struct study_search one = { .run = "", .trials = 8, .start_ms = 1, .n_curve = 1,
                                             .curve = &point };
    static const struct study_tune t = { .on = true, .budget = 8, .n_seeds = 1, .seed = { 1 } };
    struct str text = {0};
    study_tune_json(&text, &t, "", &one);
    study_tune_join(json, str_text(&text));
    str_free(&text);
}
