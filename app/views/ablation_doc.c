#include "app/views/ablation_doc.h"

#include "app/ui/text.h"
#include "app/views/measurement_doc.h"
#include "kernels/program/contract.h"

#define WORTH 32                          /* columns for "no difference (0.998 to 1.021)" */

static void put_row(struct doc *d, const struct ablation *a, const struct ablated *row, int width)
{
    struct str worth = {0}, note = {0};
    enum verdict v = row->result.verdict;
    bool other = contract_difference(&note, row->program, a->whole);
    ablation_print(&worth, row);
    bool beside = text_width(row->text) <= width - WORTH - 4
               && text_width(str_text(&worth)) < WORTH;
    enum style style = v == VERDICT_SAME ? STYLE_DIM : STYLE_PLAIN;
    doc_printf(d, STYLE_DIM, "%3d ", row->step);
    if (beside) {
        doc_fit(d, style, str_text(&worth), WORTH);
    } else {                              /* the step gets rows of its own, below */
        doc_wrap(d, style, str_text(&worth), width, 4);
        doc_pad(d, 4);
    }
    doc_wrap(d, STYLE_PLAIN, row->text, width, beside ? WORTH + 4 : 6);
    if (row->note[0]) {
        doc_pad(d, 4);
        doc_wrap(d, STYLE_DIM, row->note, width, 6);
    }
    if (v == VERDICT_NONE && row->result.m.reason[0]) {
        doc_pad(d, 4);
        doc_wrap(d, STYLE_BAD, row->result.m.reason, width, 6);
    }
    if (v == VERDICT_UNDECIDED) {
        struct str why = {0};
        stats_print_undecided(&why, &row->result.ratio);
        doc_pad(d, 4);
        doc_wrap(d, STYLE_NOTE, str_text(&why), width, 6);
        str_free(&why);
    }
    if (other) {
        doc_pad(d, 4);
        doc_printf(d, STYLE_NOTE, "other contract: ");
        doc_wrap(d, STYLE_NOTE, str_text(&note), width, 6);
    }
    str_free(&worth);
    str_free(&note);
}

void ablation_doc(struct doc *d, const struct ablation *a, int width)
{
    int nothing = 0, undecided = 0, idle = 0, dead = 0, unknown = 0;
    struct str text = {0};
    str_add(&text, "Whole schedule: ");
    text_ms(&text, a->full.m.latency.median_ms);
    str_printf(&text, " median, %d step%s, %d thread%s", a->n, a->n == 1 ? "" : "s", a->threads,
               a->threads == 1 ? "" : "s");
    doc_wrap(d, STYLE_STRONG, str_text(&text), width, 0);
    measurement_doc_noisy(d, &a->full.m.latency, a->full.m.load, width);
    doc_line(d, STYLE_STRONG, "Without a step it is:");
    for (int i = 0; i < a->n; i++) {
        put_row(d, a, &a->row[i], width);
        bool same = a->row[i].result.verdict == VERDICT_SAME, acts = !same || !a->row[i].idle;
        dead += a->row[i].same;
        if (a->row[i].same)
            continue;
        bool wide = acts && stats_undecided(&a->row[i].result.ratio);
        idle += !acts;
        undecided += wide;
        unknown += a->row[i].result.verdict == VERDICT_NONE;
        nothing += same && acts && !wide;
    }
    str_clear(&text);
    if (undecided > 0) {
        str_printf(&text, "%d step%s undecided: the interval contains 1 and is wider than 10 %%, "
                   "or the best times say the opposite. The machine was too busy; time again when "
                   "it is quiet.", undecided, undecided == 1 ? " is" : "s are");
        doc_wrap(d, STYLE_NOTE, str_text(&text), width, 0);
        str_clear(&text);
    }
    if (nothing > 0)
        str_printf(&text, "%d step%s no difference that these runs show: the interval contains 1.",
                   nothing, nothing == 1 ? " makes" : "s make");
    else if (undecided + unknown == 0 && idle + dead < a->n)
        str_printf(&text, "Every %sstep makes a difference.", idle + dead > 0 ? "other " : "");
    if (dead > 0)
        str_printf(&text, "%s%d step%s: the code is the same without %s.", text.len ? " " : "",
                   dead, dead == 1 ? " does nothing" : "s do nothing", dead == 1 ? "it" : "them");
    if (idle > 0)
        str_printf(&text, "%s%d step%s more threads to act.", text.len ? " " : "", idle,
                   idle == 1 ? " needs" : "s need");
    if (text.len)
        doc_wrap(d, STYLE_DIM, str_text(&text), width, 0);
    str_free(&text);
}
