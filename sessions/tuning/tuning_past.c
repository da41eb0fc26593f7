/* Restores the final view of a finished run from its records. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "explorer/tune/strategies.h"
#include "kernels/base/vec.h"
#include "kernels/layout/layout.h"
#include "sessions/tuning/tuning.h"

struct past {
    struct arena *mem;
    const struct tuning *t;
    struct tune_view *v;
    VEC(struct tune_candidate *) trial;
    VEC(struct tune_arm) arm;
    VEC(const char *) layouts;           /* per arm: its layout lines, as in the record */
};

/* Returns the notation of the layout of the output after these layout lines; "": unknown. */
static const char *family_of(struct past *p, const char *layouts)
{
    struct arena *a = arena_new();
    struct str text = {0};
    const struct program *program;
    struct err e;
    int n, bad;
    const char *const *line = records_lines(a, layouts, &n);
    const char *family = "";
    if (program_replay(a, p->t->spec, line, n, &program, &bad, &e)) {
        int out = program->graph->node[program->graph->main_node].out;
        if (layout_notation(program->layout[out], &text))
            family = arena_strdup(p->mem, str_text(&text));
    }
    str_free(&text);
    arena_free(a);
    return family;
}

/* Returns the index of the arm whose layouts are the lines before the first loop step; adds a new
 * arm when there is none. */
static int arm_of(struct past *p, const char *steps)
{
    struct str layouts = {0};
    int found = -1;
    for (const char *line = steps; *line && !str_starts(line, "loop ");) {
        size_t n = strcspn(line, "\n");
        str_add(&layouts, layouts.len > 0 ? "\n" : "");
        str_add_n(&layouts, line, n);
        line += n + (line[n] != 0);
    }
    for (int i = 0; i < p->layouts.len && found < 0; i++)
        if (streq(p->layouts.data[i], str_text(&layouts)))
            found = i;
    if (found < 0) {
        found = p->arm.len;
        vec_push(&p->layouts, arena_strdup(p->mem, str_text(&layouts)));
        vec_push(&p->arm, (struct tune_arm){ .family = family_of(p, str_text(&layouts)),
                                             .best = -1, .best_ms = INFINITY });
    }
    str_free(&layouts);
    return found;
}

static void add(struct past *p, const struct record *r)
{
    struct tune_view *v = p->v;
    int place = p->trial.len;
    struct tune_candidate c = {
        .arm = arm_of(p, r->steps), .trial = place, .replayed = true,
        .outcome = r->outcome, .spread = r->spread,
        .ms = r->outcome != OUTCOME_OK ? INFINITY
            : r->simulated_ms > 0 ? r->simulated_ms : r->min_ms,
        .seed = streq(r->strategy, "session") || streq(r->strategy, "expert"),
        .compile_s = r->compile_s, .measure_s = r->measure_s, .features = r->features,
        .reason = r->reason ? arena_strdup(p->mem, r->reason) : "",
    };
    c.line = records_lines(p->mem, r->steps, &c.n_lines);
    c.text = search_text(p->mem, c.line, c.n_lines);
    struct tune_arm *arm = &p->arm.data[c.arm];
    arm->trials++;
    arm->ok += c.outcome == OUTCOME_OK;
    v->failed[c.outcome] += c.outcome != OUTCOME_OK;
    if (c.ms < arm->best_ms) {
        arm->best_ms = c.ms;
        arm->best = place;
    }
    if (c.ms < v->best_ms) {
        v->best_ms = c.ms;
        v->best = place;
    }
    c.best_ms = v->best_ms;
    vec_push(&p->trial, ARENA_DUP(p->mem, &c, 1));
}

/* Computes the plan of the run from its options (JSON): whether its layouts were fixed, and how
 * many trials were for layouts. */
static struct plan plan_of_run(const struct past *p, struct arena *a, const char *options)
{
    json_error_t ignored;
    json_t *j = json_loads(options, 0, &ignored), *pins = json_object_get(j, "pins");
    int n = (int)json_array_size(pins);
    const char **pin = ARENA_ARRAY(a, const char *, n + 1);
    const struct layout_space *space;
    const struct strategy *strategy = strategy_find(p->t->strategy, &(struct err){0});
    struct err e;
    for (int i = 0; i < n; i++)
        pin[i] = json_string_value(json_array_get(pins, (size_t)i));
    bool fixed = json_is_true(json_object_get(j, "fixed")) ||
                 !layout_space_new(a, p->t->spec, pin, n, &(struct layout_opts){0}, &space, &e) ||
                 space->n == 0;
    int joint = (int)json_integer_value(json_object_get(j, "joint"));
    json_decref(j);
    if (strategy && strategy->ordered && !fixed)
        return plan_with(p->t->budget, p->t->budget);
    if (joint > 0 && !fixed)
        return plan_with(p->t->budget, joint);
    return plan_of(p->t->budget, fixed);
}

static void set_stages(struct past *p, const char *options)
{
    struct arena *a = arena_new();
    struct plan plan = plan_of_run(p, a, options);
    for (int i = 0; i < p->trial.len; i++) {
        struct tune_candidate *c = p->trial.data[i];
        c->stage = c->seed ? STAGE_SEEDS : i < plan.joint ? STAGE_JOINT : STAGE_LOOPS;
    }
    arena_free(a);
}

static void fill(struct past *p, const struct record *rec, int n)
{
    struct tune_view *v = p->v;
    for (int i = 0; i < n; i++)
        if (!streq(rec[i].strategy, "final"))
            add(p, &rec[i]);
    v->n_trials = v->done = v->replayed = p->trial.len;
    const struct tune_candidate **trial = ARENA_ARRAY(p->mem, const struct tune_candidate *,
                                                      p->trial.len + 1);
    for (int i = 0; i < p->trial.len; i++)
        trial[i] = p->trial.data[i];
    v->trial = trial;
    v->n_arms = p->arm.len;
    v->arm = p->arm.len > 0 ? ARENA_DUP(p->mem, p->arm.data, p->arm.len) : NULL;
    v->layouts_tried = v->n_arms;
    v->start_ms = p->trial.len > 0 && p->trial.data[0]->seed ? p->trial.data[0]->ms : INFINITY;
}

bool tuning_past(const struct tuning *t, struct arena *a, struct tune_view *out, struct err *e)
{
    struct past p = { .mem = a, .t = t, .v = out };
    struct record_filter f = { .run = t->run };
    const struct record *rec;
    const struct record_run *run;
    struct records *r;
    int n, n_runs;
    if (!records_open_reading(t->records_file, &r, e))
        return false;
    bool ok = records_list(r, &f, a, &rec, &n, e) && records_runs(r, &f, a, &run, &n_runs, e);
    records_close(r);
    if (!ok)
        return false;
    *out = (struct tune_view){
        .strategy = t->strategy, .seed = t->seed, .stage = STAGE_DONE, .doing = "done",
        .budget = t->budget, .best = -1, .best_ms = INFINITY, .left_s = NAN,
    };
    snprintf(out->simulated, sizeof out->simulated, "%s", t->simulated ? t->simulated : "");
    fill(&p, rec, n);
    set_stages(&p, n_runs > 0 ? run[0].options : "");
    vec_free(&p.trial);
    vec_free(&p.arm);
    vec_free(&p.layouts);
    return true;
}
