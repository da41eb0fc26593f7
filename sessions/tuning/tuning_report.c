/* What came of tuning: as steps of the session, and as JSON. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "sessions/file/json_text.h"
#include "sessions/tuning/tuning.h"

/* --- The session ----------------------------------------------------------------------------- */

static bool new_branch(struct history *h, struct err *e)
{
    char name[24] = "tuned";
    for (int i = 2; i < 1000; i++) {
        bool taken = false;
        for (int b = 0; b < history_n_branches(h); b++)
            taken = taken || streq(history_branch(h, b)->name, name);
        if (!taken)
            break;
        snprintf(name, sizeof name, "tuned%d", i);
    }
    return history_branch_new(h, name, e) && history_goto(h, 0, e);
}

/* A step that took longer than a candidate may has no json_text_real. */
static void set_ledger(const struct tuning *t, struct history *h, int step)
{
    if (t->ledger && step < t->n_lines && t->ledger[step].outcome == OUTCOME_OK)
        history_set_measured(h, history_current(h)->id, &t->ledger[step]);
}

bool tuning_apply(const struct tuning *t, struct session *s, bool here, struct err *e)
{
    struct history *h = s->history;
    int n, at;
    bool none = !t->is_start && t->n_lines == 0;         /* the bare operator is the best */
    history_path(h, history_branch_index(h), &n, &at);
    if (none && here && !history_goto(h, 0, e))
        return false;
    if (!t->is_start && t->n_lines > 0) {
        bool branch = !here || n > 1;
        if (!session_room(s, t->n_lines, branch, e) || (branch && !new_branch(h, e)))
            return false;
        set_ledger(t, h, 0);
        for (int i = 0; i < t->n_lines; i++) {
            if (!history_apply(h, t->line[i], e))
                return false;
            set_ledger(t, h, i + 1);
        }
    }
    if (t->measured)
        history_set_measured(h, none ? 0 : history_current(h)->id, &t->m);
    s->dirty = true;
    return true;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *failures(const struct tuning *t)
{
    json_t *j = json_object();
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (t->failed[i] > 0)
            json_object_set_new(j, outcome_name[i], json_integer(t->failed[i]));
    return j;
}

static json_t *lines_of(const struct tuning *t)
{
    json_t *j = json_array();
    for (int i = 0; i < t->n_lines; i++)
        json_array_append_new(j, json_string(t->line[i]));
    return j;
}

static json_t *best_of(const struct tuning *t)
{
    if (isinf(t->best_ms))
        return json_null();
    json_t *j = json_pack("{s:o, s:o, s:b}", "steps", lines_of(t), "ms", json_text_real(t->best_ms),
                          "is_start", t->is_start);
    bool full = t->measured;
    json_object_set_new(j, "verified", full ? json_boolean(t->m.verified) : json_true());
    json_object_set_new(j, "gflops", t->gflops > 0 ? json_text_real(t->gflops) : json_null());
    json_object_set_new(j, "peak_fraction", json_text_real(full && t->m.peak_fraction > 0
                                                               ? t->m.peak_fraction : NAN));
    json_object_set_new(j, "spread", json_text_real(t->spread));
    return j;
}

static json_t *baselines_of(const struct tuning *t)
{
    json_t *all = json_object();
    for (int i = 0; t->measured && i < VENDOR_COUNT; i++) {
        const struct baseline *b = &t->m.baseline[i];
        if (b->available)
            json_object_set_new(all, vendor_name[i], json_pack("{s:b, s:o, s:o}", "available", 1,
                                "min", json_text_real(b->latency.min_ms), "ratio",
                                json_text_real(b->ratio)));
        else if (b->reason[0])
            json_object_set_new(all, vendor_name[i], json_pack("{s:b, s:s}", "available", 0,
                                "reason", b->reason));
    }
    return all;
}

static json_t *finalists_of(const struct tune_result *r)
{
    json_t *list = json_array();
    for (int i = 0; r->compared && i < r->n_finalists; i++) {
        const struct tune_finalist *f = &r->finalist[i];
        const struct ratio *x = &f->compared.ratio;
        bool timed = f->compared.m.outcome == OUTCOME_OK && f->compared.m.latency.runs > 0;
        bool known = i > 0 && x->ratio > 0, sure = known && f->compared.verdict != VERDICT_NONE;
        json_array_append_new(list, json_pack(
            "{s:i, s:b, s:b, s:o, s:o, s:o, s:o}", "trial", f->c->trial + 1,
            "start", f->c == r->start, "winner", f->c == r->best, "ms",
            timed ? json_text_real(f->compared.m.latency.min_ms) : json_null(),
            "ratio", known ? json_text_real(x->ratio) : json_null(),
            "low", sure ? json_text_real(x->low) : json_null(),
            "high", sure ? json_text_real(x->high) : json_null()));
    }
    return list;
}

static json_t *curve_of(const struct tune_view *v)
{
    json_t *list = json_array();
    double best = INFINITY;
    for (int i = 0; i < v->n_trials; i++) {
        if (!(v->trial[i]->best_ms < best))
            continue;
        best = v->trial[i]->best_ms;
        json_array_append_new(list, json_pack("[i, f]", i + 1, best));
    }
    return list;
}

static json_t *times_of(const struct tune_result *r)
{
    const struct tune_times *t = &r->view->times;
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "total", t->elapsed + r->final_s,
                     "compile", t->compile, "measure", t->measure, "model", t->model, "search",
                     t->search, "final", r->final_s);
}

int tuning_experts(const struct tuning *t)
{
    const struct tune_view *v = t->result->view;
    int n = 0;
    for (int i = 1; i < v->n_trials; i++)                /* the first is the session */
        n += v->trial[i]->seed;
    return n;
}

/* What only a search can say. */
static void add_search(json_t *j, const struct tune_result *r)
{
    const struct tune_view *v = r->view;
    int joint = 0;
    for (int i = 0; i < v->n_trials; i++)
        joint += v->trial[i]->stage == STAGE_JOINT;
    json_object_set_new(j, "seconds", times_of(r));
    json_object_set_new(j, "joint_trials", json_integer(joint));
    json_object_set_new(j, "layouts", json_pack("{s:f, s:i, s:i}", "size", r->layouts, "tried",
                                                v->layouts_tried, "from", plan_layouts_from()));
    json_object_set_new(j, "loops", json_pack("{s:f}", "size", r->points));
    json_object_set_new(j, "illegal", json_integer(v->illegal));
    json_object_set_new(j, "model", v->accuracy.known ?
        json_pack("{s:o, s:o}", "pair_order", json_text_real(v->accuracy.pair_order), "recall8",
                  json_text_real(v->accuracy.recall8)) : json_null());
    json_object_set_new(j, "agents", v->agents.known ?
        json_pack("{s:o, s:o, s:o, s:i}", "layout_entropy",
                  json_text_real(v->agents.layout_entropy), "loop_entropy",
                  json_text_real(v->agents.loop_entropy), "value_loss",
                  json_text_real(v->agents.value_loss), "episodes", v->agents.episodes)
        : json_null());
    json_object_set_new(j, "curve", curve_of(v));
    json_object_set_new(j, "finalists", finalists_of(r));
}

void tuning_json(struct str *out, const struct tuning *t, const char *machine)
{
    json_t *j = json_pack("{s:i, s:s, s:s, s:s, s:i, s:s, s:I, s:i, s:i, s:i, s:b, s:s}",
                          "format", 1, "spec", t->spec, "isa", t->isa, "run", t->run, "threads",
                          t->threads, "strategy", t->strategy, "seed", (json_int_t)t->seed,
                          "budget", t->budget, "trials", t->trials, "replayed", t->replayed,
                          "answered", t->answered, "end", search_end_name[t->end]);
    json_object_set_new(j, "note", json_text_or_null(t->note));
    json_object_set_new(j, "resumed", t->resumed >= 0 ? json_integer(t->resumed) : json_null());
    json_object_set_new(j, "start_ms", json_text_real(t->start_ms));
    json_object_set_new(j, "best", best_of(t));
    json_object_set_new(j, "speedup", json_text_real(t->speedup));
    json_object_set_new(j, "baselines", baselines_of(t));
    json_object_set_new(j, "failures", failures(t));
    json_object_set_new(j, "experts", t->result ? json_integer(tuning_experts(t)) : json_null());
    if (t->result)
        add_search(j, t->result);
    json_object_set_new(j, "machine", json_text_or_null(machine));
    json_object_set_new(j, "records", json_text_or_null(t->records_file));
    json_text_print(out, j, 6);
}
