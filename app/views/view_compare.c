/* The marked state beside the current one; and the ablation: what each step contributes. */
#include "app/ui/text.h"
#include "app/views/ablation_doc.h"
#include "app/views/compare_doc.h"
#include "app/views/view.h"

/* If two times of one state differ by at least this factor, the machine was busier in one of
 * them. */
#define FAR 1.25

/* Adds the names of the texts, then the key that shows the next text, then `hint`. hint: how to see
 * the texts side by side, as "; ..."; or "". If there is no room, key and hint get a line of their
 * own. */
static void put_what(struct doc *d, const struct marking *k, int width, const char *hint)
{
    static const char *const name[] = { "nest", "C", "assembly", "ablation" };
    if (k->state < 0) {
        doc_line(d, STYLE_STRONG, name[MARKING_ABLATION]);
        return;                           /* there is nothing to compare */
    }
    for (int i = 0; i < COUNT_OF(name) - (k->ablation ? 0 : 1); i++)
        doc_printf(d, k->what == i ? STYLE_STRONG : STYLE_DIM, "%s%s", i ? "  " : "",
                   name[i]);
    struct str keys = {0};
    str_printf(&keys, "(Space: next%s)", k->what == MARKING_ABLATION ? "" : hint);
    if (doc_col(d) + 3 + text_width(str_text(&keys)) <= width)
        doc_put(d, STYLE_DIM, "   ");
    else
        doc_end(d);
    doc_wrap(d, STYLE_DIM, str_text(&keys), width, 1);
    str_free(&keys);
}

/* Appends "tiled, step 3 of 7: loop vectorize C N". */
static void name_state(const struct model *m, int state, bool marked, struct str *out)
{
    model_state_name(m, state, marked, out);
    if (history_state(m->session->history, state)->step[0])
        str_printf(out, ": %s", history_state(m->session->history, state)->step);
}

static void put_advice(struct doc *d, int width)
{
    doc_line(d, STYLE_PLAIN, "No state is marked.");
    doc_line(d, STYLE_PLAIN, "");
    doc_wrap(d, STYLE_DIM, "Space on a step marks it, and in the list of branches (B) the step "
             "where a branch stands. Then = shows it beside the current step: nest, C, assembly, "
             "cache misses, and both timed in turns. :bisect finds the step between two "
             "steps of one branch that matters most. :ablate needs no mark: it times the current "
             "schedule without each of its steps.",
             width, 0);
}

static const struct sim_result *sim_of(const struct model *m, int i, int state)
{
    const struct measurement *r = history_state(m->session->history, state)->measured;
    if (model_pair_fits(m))
        return &m->marking.pair->sim[i];
    return r && r->sim.available ? &r->sim : NULL;
}

/* Adds the result of the last bisection. If the bisection was between other states than the two
 * that are compared, names the states of the bisection. */
static void put_found(struct model *m, struct doc *d, int width)
{
    const struct marking *k = &m->marking;
    const struct history *h = m->session->history;
    int now = history_current(h)->id, first = k->found_of[0], last = k->found_of[1];
    struct str text = {0};
    if (k->found.len == 0)
        return;
    if ((first != k->state || last != now) && (first != now || last != k->state)) {
        str_add(&text, "The last :bisect was of other states, from ");
        name_state(m, first, first == k->state, &text);
        str_add(&text, " to ");
        name_state(m, last, last == k->state, &text);
        str_add(&text, ": ");
    }
    str_add(&text, str_text(&k->found));
    doc_wrap(d, STYLE_NOTE, str_text(&text), width, 3);
    str_free(&text);
}

/* The list of steps shows the time of a state's own measurement. If the time `now` of the state is
 * far from that time, adds a remark. what: the name of the state in the remark. */
static void put_far(struct model *m, struct doc *d, const char *what, int state,
                    const struct measurement *now, int width)
{
    const struct measurement *then = history_state(m->session->history, state)->measured;
    struct str text = {0};
    if (!then || then->latency.runs == 0 || now->latency.runs == 0
        || !measurement_same_way(now, then))
        return;
    double ratio = now->latency.median_ms / then->latency.median_ms;
    if (ratio < FAR && ratio > 1 / FAR)
        return;
    str_printf(&text, "%s takes ", what);
    text_ms(&text, now->latency.median_ms);
    str_add(&text, " here, and took ");
    text_ms(&text, then->latency.median_ms);
    str_add(&text, " (medians) when it was measured by itself: the machine was busier in one of "
            "the two");
    if (now->load > 0)
        str_printf(&text, "; its load was %.1f here", now->load);
    doc_wrap(d, STYLE_NOTE, str_text(&text), width, 3);
    str_free(&text);
}

static void put_pair(struct model *m, struct doc *d, int width)
{
    const struct marking *k = &m->marking;
    const struct history *h = m->session->history;
    const int state[2] = { k->state, history_current(h)->id };
    bool fits = model_pair_fits(m);
    struct str name[2] = { { 0 }, { 0 } }, nest[2] = { { 0 }, { 0 } };
    struct compare_side side[2];
    for (int i = 0; i < 2; i++) {
        const struct program *p = history_state(h, state[i])->program;
        name_state(m, state[i], i == 0, &name[i]);
        program_print_nest(&nest[i], p);
        side[i] = (struct compare_side){ str_text(&name[i]), str_text(&nest[i]), p,
                                         sim_of(m, i, state[i]) };
        if (fits && k->what != COMPARE_NEST)
            side[i].text = str_text(k->what == COMPARE_C ? &k->pair->c[i] : &k->pair->assembly[i]);
    }
    compare_doc_head(d, side, fits ? k->pair->time : NULL, width);
    for (int i = 0; i < 2 && fits; i++)
        put_far(m, d, i ? "B" : "A", state[i], &k->pair->time[i].m, width);
    if (state[0] == state[1])
        doc_line(d, STYLE_DIM, "This is the marked state itself.");
    else
        doc_wrap(d, STYLE_DIM, k->wanted && k->job == JOB_BISECT ? "bisecting ... (Esc cancels)"
                 : k->wanted && k->job == JOB_ABLATE ? "ablating ... (Esc cancels)"
                 : k->wanted ? "timing both in turns ... (Esc cancels)"
                 : fits ? "= times both again" : "= times both in turns", width, 0);
    put_found(m, d, width);
    doc_line(d, STYLE_PLAIN, "");
    if (fits || k->what == COMPARE_NEST)
        compare_doc_lines(d, side, (enum compare_of)k->what, k->what == COMPARE_NEST, width);
    else if (state[0] != state[1])
        doc_line(d, STYLE_DIM, k->what == COMPARE_C ? "The C of both comes with their times."
                               : "The assembly of both comes with their times.");
    compare_doc_misses(d, side, width);
    for (int i = 0; i < 2; i++) {
        str_free(&name[i]);
        str_free(&nest[i]);
    }
}

/* Adds the table of the last ablation. If the schedule has changed since then, first names the
 * schedule that was ablated. */
static void put_ablation(struct model *m, struct doc *d, int width)
{
    const struct history *h = m->session->history;
    struct str text = {0};
    if (m->marking.ablated != history_current(h)->id) {
        str_add(&text, "Not the current state, but ");
        name_state(m, m->marking.ablated, false, &text);
        str_add(&text, ". :ablate times the current one.");
        doc_wrap(d, STYLE_NOTE, str_text(&text), width, 0);
        str_free(&text);
    }
    put_far(m, d, "The whole schedule", m->marking.ablated, &m->marking.ablation->full.m, width);
    ablation_doc(d, m->marking.ablation, width);
    doc_wrap(d, STYLE_DIM, ":ablate times all again.", width, 0);
}

void view_compare_build(struct model *m, struct pane_doc *p, int width)
{
    const struct marking *k = &m->marking;
    struct doc *d = &p->doc;
    doc_clear(d);
    if (k->what != MARKING_ABLATION && k->state < 0) {
        put_advice(d, width - 2);
        return;
    }
    bool narrow = width - 2 < COMPARE_SIDE_BY_SIDE;
    put_what(d, k, width - 2, !narrow ? "" : m->w - 2 >= COMPARE_SIDE_BY_SIDE
             ? "; + shows them side by side" : "; + shows them side by side from 90 columns");
    if (k->what != MARKING_ABLATION)
        put_pair(m, d, width - 2);
    else if (k->wanted && k->job == JOB_ABLATE)
        doc_wrap(d, STYLE_DIM, "Timing the schedule without each of its steps ... (Esc cancels)",
                 width - 2, 0);
    else if (k->ablation)
        put_ablation(m, d, width - 2);
    else
        doc_line(d, STYLE_DIM, ":ablate times the schedule without each of its steps");
}
