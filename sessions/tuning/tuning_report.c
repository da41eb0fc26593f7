/* Reports the result of tuning: as steps of the session, and as JSON. */
#include <math.h>
#include <stdlib.h>

#include "sessions/file/json.h"
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

/* Stores the ledger's measurement of the winner's first `step` steps in the current state.  Does
 * nothing if the ledger has no measurement of them, or a wrong result. */
static void set_ledger(const struct tuning *t, struct history *h, int step)
{
    if (t->ledger && step < t->n_lines && t->ledger[step].outcome == OUTCOME_OK)
        history_add_measured(h, history_current(h)->id, &t->ledger[step], false);
}

/* Goes through the winner's steps from state 0 and stores their measurements.  Uses the branch that
 * has exactly these steps.  If there is none, applies the steps to the current branch if `here` is
 * true and the branch has no steps, else to a new branch. */
static bool walk_winner(const struct tuning *t, struct session *s, bool here, struct err *e)
{
    struct history *h = s->history;
    int n, at, same = history_branch_with(h, t->line, t->n_lines);
    history_path(h, history_branch_index(h), &n, &at);
    bool branch = !here || n > 1;
    bool ok = same >= 0 ? history_branch_switch(h, history_branch(h, same)->name, e)
                          && history_goto(h, 0, e)
            : session_room(s, t->n_lines, branch, e) && (!branch || new_branch(h, e));
    if (ok)
        set_ledger(t, h, 0);
    for (int i = 0; ok && i < t->n_lines; i++) {
        ok = same >= 0 ? history_goto(h, i + 1, e) : history_apply(h, t->line[i], e);
        if (ok)
            set_ledger(t, h, i + 1);
    }
    return ok;
}

bool tuning_apply(const struct tuning *t, struct session *s, bool here, struct err *e)
{
    struct history *h = s->history;
    bool none = !t->is_start && t->n_lines == 0;         /* the operator without steps won */
    if (none && here && !history_goto(h, 0, e))
        return false;
    if (!t->is_start && t->n_lines > 0 && !walk_winner(t, s, here, e))
        return false;
    if (t->measured)
        history_add_measured(h, none ? 0 : history_current(h)->id, &t->m, false);
    s->dirty = true;
    return true;
}

/* --- The final ------------------------------------------------------------------------------- */

int tuning_trial(const struct tune_result *r, const struct tune_candidate *c)
{
    for (int i = 0; c && i < r->view->n_trials; i++)
        if (r->view->trial[i] == c)
            return i;
    return -1;
}

static int by_time(const void *a, const void *b)
{
    const struct tuning_timed *x = a, *y = b;
    double p = isnan(x->ms) ? INFINITY : x->ms, q = isnan(y->ms) ? INFINITY : y->ms;
    return p != q ? (p < q ? -1 : 1) : (x->trial > y->trial) - (x->trial < y->trial);
}

/* Appends a candidate, unless the list has it already.  The winner of the final can be timed twice:
 * in the final, and in turns with a start that was too slow for the final. */
static void add_timed(const struct tune_result *r, const struct tune_candidate *c,
                      const struct measurement *m, struct tuning_timed *out, int *n)
{
    struct ratio gain = { .ratio = NAN };
    int trial = tuning_trial(r, c);
    bool ok = m->outcome == OUTCOME_OK && m->latency.runs > 0;
    for (int i = 0; i < *n; i++)
        if (out[i].trial == trial)
            return;
    tuning_gain(r, c, &gain);
    if (trial >= 0)
        out[(*n)++] = (struct tuning_timed){
            trial, ok ? m->latency.median_ms : NAN, ok && c == r->start ? 1 : gain.ratio,
        };
}

int tuning_timed(const struct tune_result *r, struct tuning_timed out[TUNING_MOST_TIMED])
{
    int n = 0, best = tuning_trial(r, r->best);
    for (int i = 0; r->compared && i < r->n_finalists; i++)
        add_timed(r, r->finalist[i].c, &r->finalist[i].compared.m, out, &n);
    for (int i = 0; r->gained && i < 2; i++)
        add_timed(r, i == 0 ? r->start : r->best, &r->gain[i].m, out, &n);
    qsort(out, (size_t)n, sizeof *out, by_time);
    for (int i = 1; i < n; i++)
        if (out[i].trial == best) {
            struct tuning_timed won = out[i];
            memmove(out + 1, out, (size_t)i * sizeof *out);
            out[0] = won;
        }
    return n;
}

const struct tuning_timed *tuning_lost(const struct tuning_timed *timed, int n,
                                       const struct tune_view *v)
{
    for (int i = 1; i < n; i++)
        if (timed[i].trial == v->best)
            return &timed[i];
    return NULL;
}

void tuning_print_lost(struct str *out, const struct tuning_timed *lost, const struct tune_view *v,
                       void (*add_ms)(struct str *out, double ms))
{
    str_printf(out, "trial %d was faster in the search (", lost->trial + 1);
    add_ms(out, v->best_ms);
    if (isfinite(lost->ms)) {
        str_add(out, "), ");
        add_ms(out, lost->ms);
        str_add(out, " in turns");
    } else {
        str_add(out, ") and failed when it was timed again");
    }
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *failures(const struct tuning *t)
{
    json_t *j = json_object();
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (t->failed[i] > 0)
            json_put(j, outcome_name[i], JSON(t->failed[i]));
    return j;
}

static json_t *best_of(const struct tuning *t)
{
    if (isinf(t->best_ms))
        return json_null();
    bool full = t->measured;
    return json_make("steps", json_texts(t->line, t->n_lines), "ms", JSON(t->best_ms),
                     "is_start", JSON(t->is_start),
                     "other_contract", JSON_OR_NULL(t->other_contract),
                     "verified", json_boolean(!full || t->m.verified),
                     "gflops", JSON_OR_NULL(t->gflops),
                     "peak_fraction", JSON_OR_NULL(full ? t->m.peak_fraction : 0),
                     "spread", JSON(t->spread));
}

static json_t *baselines_of(const struct tuning *t)
{
    json_t *all = json_object();
    for (int i = 0; t->measured && i < VENDOR_COUNT; i++) {
        const struct baseline *b = &t->m.baseline[i];
        if (b->available)
            json_put(all, vendor_name[i], json_make("available", json_true(),
                     "min", JSON(b->latency.min_ms), "ratio", JSON(b->ratio)));
        else if (b->reason[0])
            json_put(all, vendor_name[i], json_make("available", json_false(),
                     "reason", JSON(b->reason)));
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
        json_array_append_new(list, json_make(
            "trial", JSON(f->c->trial + 1), "start", json_boolean(f->c == r->start),
            "winner", json_boolean(f->c == r->best), "search_ms", JSON(f->c->ms),
            "ms", JSON_IF(timed, f->compared.m.latency.min_ms), "ratio", JSON_IF(known, x->ratio),
            "low", JSON_IF(sure, x->low), "high", JSON_IF(sure, x->high)));
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
    return json_make("total", JSON(t->elapsed + r->final_s), "compile", JSON(t->compile),
                     "measure", JSON(t->measure), "model", JSON(t->model),
                     "search", JSON(t->search), "final", JSON(r->final_s));
}

void tuning_print_speedup(const struct tuning *t, const char *than, struct str *out)
{
    if (!isfinite(t->speedup))
        return;
    str_printf(out, ", %s%.*fx as fast%s", t->speedup_low > 0 || t->simulated ? "" : "about ",
               t->speedup >= 100 ? 0 : 2, t->speedup, than);
    if (t->speedup_low > 0)
        str_printf(out, " (%.2f to %.2f)", t->speedup_low, t->speedup_high);
}

int tuning_experts(const struct tuning *t)
{
    const struct tune_view *v = t->result->view;
    int n = 0;
    for (int i = 1; i < v->n_trials; i++)                /* trial 0 is the session's schedule */
        n += v->trial[i]->seed;
    return n;
}

/* Adds the members that exist only if this call searched. */
static void add_search(json_t *j, const struct tune_result *r)
{
    const struct tune_view *v = r->view;
    int joint = 0;
    for (int i = 0; i < v->n_trials; i++)
        joint += v->trial[i]->stage == STAGE_JOINT;
    const struct tune_agents *agents = &v->agents;
    json_put(j, "seconds", times_of(r), "joint_trials", JSON(joint),
             "layouts", json_make("size", JSON(r->layouts), "tried", JSON(v->layouts_tried),
                                  "from", JSON(plan_layouts_from())),
             "loops", json_make("size", JSON(r->points)), "illegal", JSON(v->illegal),
             "model", !v->accuracy.known ? json_null()
                      : json_make("pair_order", JSON(v->accuracy.pair_order),
                                  "recall8", JSON(v->accuracy.recall8)),
             "agents", !agents->known ? json_null()
                       : json_make("layout_entropy", JSON(agents->layout_entropy),
                                   "loop_entropy", JSON(agents->loop_entropy),
                                   "value_loss", JSON(agents->value_loss),
                                   "episodes", JSON(agents->episodes)),
             "curve", curve_of(v), "finalists", finalists_of(r));
}

void tuning_json(struct str *out, const struct tuning *t, const char *machine)
{
    json_t *j = json_make("format", JSON(1), "spec", JSON(t->spec), "isa", JSON(t->isa),
                          "objective", JSON(t->simulated ? "simulated" : "measured"),
                          "gpu", JSON_OR_NULL(t->simulated ? t->simulated : ""),
                          "run", JSON(t->run), "threads", JSON(t->threads),
                          "strategy", JSON(t->strategy), "seed", JSON(t->seed),
                          "budget", JSON(t->budget), "trials", JSON(t->trials),
                          "replayed", JSON(t->replayed), "answered", JSON(t->answered),
                          "end", JSON(search_end_name[t->end]), "note", JSON_OR_NULL(t->note),
                          "resumed", JSON_IF(t->resumed >= 0, t->resumed),
                          "start_ms", JSON(t->start_ms), "best", best_of(t),
                          "speedup", JSON(t->speedup),
                          "speedup_low", JSON_IF(t->speedup_low > 0, t->speedup_low),
                          "speedup_high", JSON_IF(t->speedup_low > 0, t->speedup_high),
                          "baselines", baselines_of(t),
                          "failures", failures(t),
                          "experts", JSON_IF(t->result, tuning_experts(t)));
    if (t->result)
        add_search(j, t->result);
    json_put(j, "machine", JSON_OR_NULL(machine), "records", JSON_OR_NULL(t->records_file));
    json_print(out, j, 6);
}
