/* The view `tune`: a search as a document (tune_doc.c), or why there is none. */
#include "app/views/view.h"

#include <math.h>
#include "app/ui/text.h"
#include "app/views/tune_doc.h"

/* If an earlier session has left a search unfinished, adds how far it came. Returns whether there
 * is such a search. */
static bool put_stopped(struct model *m, struct doc *d, int width)
{
    const struct tuner *t = &m->tuner;
    struct str text = {0};
    if (!model_tune_has_old(m))
        return false;
    str_printf(&text, "Tuning this ended early, after %d of %d trials", t->old.trials,
               t->old.budget);
    if (t->old.best_ms > 0) {
        str_add(&text, ", the best at ");
        text_ms(&text, t->old.best_ms);
    }
    str_add(&text, ": t goes on with it.");
    doc_wrap(d, STYLE_PLAIN, str_text(&text), width - 2, 0);
    str_free(&text);
    return true;
}

static void put_nothing(struct model *m, struct doc *d, int width)
{
    if (!put_stopped(m, d, width))
        doc_wrap(d, STYLE_PLAIN, "Nothing has been tuned since this session was opened.",
                 width - 2, 0);
    doc_line(d, STYLE_PLAIN, "");
    doc_wrap(d, STYLE_DIM, "t searches layouts and loops together for a faster schedule, from "
             "where the session is. t makes 1000 trials, 0300t makes 300. The search runs in the "
             "background; at the end the best schedule is the session, or a branch when there "
             "are steps already. Everything measured is kept: after a stop, t continues. At the "
             "step where an earlier search began, t with its number of trials shows it again.",
             width - 2, 0);
    doc_line(d, STYLE_PLAIN, "");
    doc_wrap(d, STYLE_DIM, ":tune 300 time=60 strategy=evo has the choices, :help tune says how "
             "it works.", width - 2, 0);
}

static void put_end(struct model *m, struct doc *d, int width)
{
    const struct tuner *t = &m->tuner;
    struct str note = {0};
    model_tune_note(m, &note);
    if (t->failed)
        doc_line(d, STYLE_STRONG, "Nothing was tuned.");
    doc_wrap(d, t->failed ? STYLE_BAD : STYLE_PLAIN, str_text(&t->end), width - 2, 0);
    if (note.len > 0)
        doc_wrap(d, STYLE_DIM, str_text(&note), width - 2, 0);
    str_free(&note);
}

/* Returns the trial under the cursor. Returns -1 if the cursor is on the first trial, because the
 * cursor then stays on the first row when another trial becomes the best. */
static int chosen_trial(const struct pane_doc *p)
{
    const struct line *l = doc_at(&p->doc, &p->scroll);
    for (int i = 0; i < p->doc.lines.len; i++)
        if (p->doc.lines.data[i].id >= 0)
            return i == p->scroll.cursor || !l ? -1 : l->id;
    return -1;
}

static int first_trial(const struct doc *d)
{
    int i = 0;
    while (i < d->lines.len && d->lines.data[i].id < 0)
        i++;
    return i;
}

static void put_view(struct model *m, struct pane_doc *p, const struct tune_view *v,
                     bool waits, int width)
{
    const struct tuner *t = &m->tuner;
    int chosen = chosen_trial(p);
    struct str note = {0};
    model_tune_note(m, &note);
    struct tune_look look = {
        .phase = model_tune_phase(m, v, waits), .end = str_text(&t->end),
        .winner = t->winner, .start_before_ms = t->start_before_ms,
        .note = str_text(&note), .width = width, .height = p->height,
        .letters = m->letters || !m->unicode,
        .selected = chosen >= 0 ? chosen
                  : t->winner.known && t->winner.trial >= 0 ? t->winner.trial : v->best,
    };
    doc_clear(&p->doc);
    tune_doc_write(&p->doc, v, &look);
    str_free(&note);
    p->doc.head = first_trial(&p->doc);
    p->scroll.cursor = chosen >= 0 ? doc_find_id(&p->doc, chosen) : p->doc.head;
}

void view_tune_build(struct model *m, struct pane_doc *p, int width)
{
    struct tuner *t = &m->tuner;
    struct tune_view none = {
        .budget = t->opts.budget > 0 ? t->opts.budget : TUNING_BUDGET, .best = -1, .doing = "",
        .best_ms = INFINITY, .start_ms = INFINITY, .left_s = NAN,
    };
    bool waits = model_tune_waits(m);
    if (!t->snapshot) {
        doc_clear(&p->doc);
        put_nothing(m, &p->doc, width);
        return;
    }
    const struct tune_view *v = tune_snapshot_lock(t->snapshot);
    if (v || t->out) {
        put_view(m, p, v ? v : &none, waits, width);
    } else {
        doc_clear(&p->doc);
        put_end(m, &p->doc, width);
    }
    tune_snapshot_unlock(t->snapshot);
}

void view_tune_hint(const struct model *m, struct str *out)
{
    if (!m->tuner.snapshot)
        return;
    const struct tune_view *v = tune_snapshot_lock(m->tuner.snapshot);
    if (v)
        tune_doc_hint(out, v, &m->tuner.winner, model_tune_selected(m));
    tune_snapshot_unlock(m->tuner.snapshot);
}

void view_tune_status(const struct model *m, struct str *out)
{
    const struct tuner *t = &m->tuner;
    bool waits = model_tune_waits(m);
    if (!t->out)
        return;
    const struct tune_view *v = tune_snapshot_lock(t->snapshot);
    str_add(out, "tuning: ");
    if (v)
        tune_doc_status(out, v, model_tune_phase(m, v, waits));
    else
        str_add(out, t->wanted ? "preparing" : "stopping");
    tune_snapshot_unlock(t->snapshot);
}
