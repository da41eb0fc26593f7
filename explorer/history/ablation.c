#include "explorer/history/ablation.h"

#include <math.h>
#include <stdlib.h>
#include "explorer/history/rebase.h"
#include "kernels/base/arena.h"
#include "kernels/gen/gen.h"

/* --- Leaving steps out ------------------------------------------------------------------------ */

/* Describes what happened to the steps after step `left`, which was left out. */
static char *note_of(const struct history *h, int left)
{
    struct str s = {0};
    int n, at;
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    for (int i = left; i < n; i++) {
        const struct state *st = history_state(h, path[i]);
        if (st->held)
            str_printf(&s, "%sstep %d is dropped: %s", s.len ? "; " : "", i + 1, st->held);
        else if (st->origin)
            str_printf(&s, "%sstep %d is then `%s`", s.len ? "; " : "", i + 1, st->step);
    }
    char *note = xstrdup(str_text(&s));
    str_free(&s);
    return note;
}

static bool leave_out(struct ablation *a, int step, struct err *e)
{
    struct history *h = a->history;
    struct ablated *row = &a->row[step - 1];
    *row = (struct ablated){ .step = step, .text = a->whole->steps[step - 1] };
    if (!history_rebase(h, &(struct rebase){ .kind = REBASE_DROP, .at = step }, e))
        return false;
    row->note = note_of(h, step);
    row->program = history_current(h)->program;
    a->n++;
    return history_undo(h, 1, e);
}

bool ablation_plan(const struct program *p, struct ablation **out, struct err *e)
{
    if (p->n_steps == 0) {
        err_set(e, ERR_RANGE, "there is no step to leave out");
        return err_fix(e, "apply steps first");
    }
    struct ablation *a = xcalloc(1, sizeof *a);
    a->row = xcalloc((size_t)p->n_steps, sizeof *a->row);
    bool ok = history_new(p->base->spec, &a->history, e);
    for (int i = 0; ok && i < p->n_steps; i++)
        ok = history_apply(a->history, p->steps[i], e);
    if (ok)
        a->whole = history_current(a->history)->program;
    for (int i = 1; ok && i <= p->n_steps; i++)
        ok = leave_out(a, i, e);
    if (ok)
        *out = a;
    else
        ablation_free(a);
    return ok;
}

void ablation_free(struct ablation *a)
{
    if (!a)
        return;
    for (int i = 0; i < a->n; i++)
        free((char *)a->row[i].note);
    free(a->row);
    history_free(a->history);
    free(a);
}

/* Appends the C code of a program, which also shows its layouts.  False: it cannot be generated. */
static bool code_of(const struct program *p, const struct target *target, struct str *out)
{
    const struct gen_opts o = { .target = target_or_host(target), .openmp = true };
    const struct func *f;
    struct err ignored;
    return program_lower(p, &f, &ignored) && gen_c(f, &o, out, &ignored);
}

/* Marks the steps that can be left out without changing the generated code. */
static void find_same(struct ablation *a, const struct target *target)
{
    struct str whole = {0}, code = {0};
    bool ok = code_of(a->whole, target, &whole);
    for (int i = 0; ok && i < a->n; i++) {
        str_clear(&code);
        a->row[i].same = code_of(a->row[i].program, target, &code)
                      && streq(str_text(&whole), str_text(&code));
    }
    str_free(&whole);
    str_free(&code);
}

bool ablation_measure(struct ablation *a, const struct measure_opts *o, const struct progress *pr,
                      const struct cancel *c, struct err *e)
{
    int n = a->n + 1;
    const struct program **p = xcalloc((size_t)n, sizeof *p);
    struct compared *result = xcalloc((size_t)n, sizeof *result);
    int timed = 1;
    p[0] = a->whole;
    find_same(a, o->target);
    for (int i = 0; i < a->n; i++)
        if (!a->row[i].same)
            p[timed++] = a->row[i].program;
    bool ok = measure_compare_each(p, timed, o, pr, c, result, &a->how, e);
    a->full = result[0];
    a->threads = o->threads > 1 ? o->threads : 1;
    for (int i = 0, k = 1; i < a->n; i++) {
        a->row[i].result = a->row[i].same ? result[0] : result[k++];
        if (a->row[i].same && ok) {
            a->row[i].result.ratio = (struct ratio){ .ratio = 1, .low = 1, .high = 1 };
            a->row[i].result.verdict = VERDICT_SAME;
        }
        a->row[i].idle = a->threads == 1 && str_begins(a->row[i].text, "loop parallel");
    }
    free(p);
    free(result);
    return ok;
}

void ablation_print(struct str *out, const struct ablated *row)
{
    const struct ratio *r = &row->result.ratio;
    const struct measurement *m = &row->result.m;
    if (row->same) {
        str_add(out, "nothing: the same code");
    } else if (row->idle && row->result.verdict == VERDICT_SAME) {
        str_add(out, "cannot act with one thread");
    } else if (row->result.verdict == VERDICT_SAME || row->result.verdict == VERDICT_UNDECIDED) {
        str_add(out, stats_undecided(r) ? "undecided (" : "no difference (");
        ratio_print_ends(out, r);
        str_add(out, ")");
    } else if (row->result.verdict != VERDICT_NONE) {
        ratio_print_times(out, r);
    } else if (m->outcome != OUTCOME_OK) {
        str_add(out, outcome_name[m->outcome]);
    } else {
        str_add(out, "too few samples");
    }
}

/* --- Bisecting -------------------------------------------------------------------------------- */

struct bisecting {
    struct arena *arena;
    const struct program *p;
    const struct measure_opts *opts;
    const struct progress *progress;
    const struct cancel *cancel;
    struct bisection *out;
};

/* Times the programs after steps at[0], ..., at[n - 1].  ratio[i]: time after step at[i] / time
 * after step at[0]. */
static bool compare_states(struct bisecting *b, const int *at, int n, struct ratio *ratio,
                           struct err *e)
{
    const struct program *p[MEASURE_MAX_COMPARED];
    struct compared *result = xcalloc((size_t)n, sizeof *result);
    struct comparison how;
    int bad;
    bool ok = true;
    for (int i = 0; ok && i < n; i++)
        ok = program_replay(b->arena, b->p->base->spec, b->p->steps, at[i], &p[i], &bad, e);
    ok = ok && measure_compare(p, n, b->opts, b->progress, b->cancel, result, &how, e);
    for (int i = 0; ok && i < n; i++) {
        const struct measurement *m = &result[i].m;
        ratio[i] = result[i].ratio;
        if (m->outcome != OUTCOME_OK || (i > 0 && ratio[i].ratio <= 0))
            ok = err_set(e, ERR_RANGE, "the state after step %d has no time: %s", at[i],
                         m->reason[0] ? m->reason : outcome_name[m->outcome]);
    }
    b->out->timings++;
    free(result);
    return ok;
}

static bool bisect_between(struct bisecting *b, int from, int to, struct err *e)
{
    struct ratio r[3] = { { 0 } };
    bool ok = true, first = true;
    while (ok && to - from > 1) {
        int at[] = { from, from + (to - from) / 2, to };
        ok = compare_states(b, at, 3, r, e);
        if (!ok)
            return false;
        if (first)
            b->out->whole = r[2];
        first = false;
        bool left = fabs(log(r[1].ratio)) >= fabs(log(r[2].ratio / r[1].ratio));
        from = left ? from : at[1];
        to = left ? at[1] : to;
    }
    ok = compare_states(b, (int[]){ from, to }, 2, r, e);
    if (first)
        b->out->whole = r[1];
    b->out->ratio = r[1];
    b->out->step = to;
    b->out->text = b->p->steps[to - 1];
    return ok;
}

bool bisect_steps(const struct program *p, int from, int to, const struct measure_opts *o,
                  const struct progress *pr, const struct cancel *c, struct bisection *out,
                  struct err *e)
{
    *out = (struct bisection){ 0 };
    if (from < 0 || to > p->n_steps || from >= to)
        return err_set(e, ERR_RANGE, "there is no step between the two states");
    struct bisecting b = { arena_new(), p, o, pr, c, out };
    bool ok = bisect_between(&b, from, to, e);
    arena_free(b.arena);
    return ok;
}

void bisect_print(struct str *out, const struct bisection *b)
{
    struct ratio r = b->ratio;
    enum verdict v = stats_verdict(&r);
    str_printf(out, "step %d `%s` ", b->step, b->text);
    if (v != VERDICT_SAME && v != VERDICT_UNDECIDED) {
        str_add(out, "makes it ");
        ratio_print_times(out, &r);
        return;
    }
    str_add(out, v == VERDICT_SAME
            ? "changes the time most, but by less than these runs can show (time x "
            : "changes the time most, but whether it is faster is undecided (time x ");
    ratio_print_ends(out, &r);
    if (v == VERDICT_UNDECIDED) {
        str_add(out, "; ");
        stats_print_undecided(out, &r);
    }
    str_add(out, ")");
}

int ablation_step_number(const struct history *h, int state, int k)
{
    int number = 0;
    while (history_state(h, state)->held || history_state(h, state)->program->n_steps > k)
        state = history_state(h, state)->parent;
    for (; history_state(h, state)->parent >= 0; state = history_state(h, state)->parent)
        number++;
    return number;
}
