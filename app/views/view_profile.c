/* The view `profile`: what the current state costs. Its time, its share of the machine's ceiling,
 * the cache misses of each tensor, and counters. */
#include "app/views/measurement_doc.h"
#include "app/views/view.h"

#include <stdio.h>

static void empty(struct model *m, struct doc *d, int width)
{
    if (m->measure_wanted) {
        doc_line(d, STYLE_PLAIN, "Measuring the current state ...");
        doc_line(d, STYLE_PLAIN, "");
        doc_wrap(d, STYLE_DIM, "The kernel is compiled, compared with a reference, timed, and run "
                 "through the cache simulator. Esc cancels.", width - 2, 0);
        return;
    }
    doc_line(d, STYLE_PLAIN, "Not measured yet.");
    doc_line(d, STYLE_PLAIN, "");
    doc_wrap(d, STYLE_DIM, "Press m to compile the kernel, check its result, time it and count its "
             "cache misses. Press A to do so after every step.", width - 2, 0);
}

/* The subject of a row: a tensor, or if `site` is not "" an access site of the tensor. If both are
 * "", the row is about neither. */
struct profile_row { char tensor[64], site[256]; };

static struct profile_row row_of(const struct pane_doc *p)
{
    const struct line *l = doc_at(&p->doc, &p->scroll);
    struct profile_row row = {0};
    snprintf(row.tensor, sizeof row.tensor, "%s", l && l->stage ? l->stage : "");
    snprintf(row.site, sizeof row.site, "%s", l && l->loop ? l->loop : "");
    return row;
}

/* Puts the cursor back on the row about the same tensor or site, which new numbers may have
 * moved. */
static void restore_row(struct pane_doc *p, const struct profile_row *row)
{
    for (int i = 0; row->tensor[0] && i < p->doc.lines.len; i++) {
        const struct line *l = &p->doc.lines.data[i];
        if (!l->stage || !streq(l->stage, row->tensor) || !streq(l->loop ? l->loop : "", row->site))
            continue;
        p->scroll.top += i - p->scroll.cursor;
        p->scroll.cursor = i;
        return;
    }
}

/* If the numbers were measured with other settings than the present ones, adds a remark. */
static void put_settings(const struct model *m, struct doc *d, int width)
{
    struct str with = {0}, text = {0};
    view_ledger_settings(m, &with);
    if (with.len > 2)
        str_printf(&text, "Measured before the settings were changed: %s. m measures again.",
                   str_text(&with) + 2);
    if (text.len > 0)
        doc_wrap(d, STYLE_NOTE, str_text(&text), width - 2, 0);
    str_free(&with);
    str_free(&text);
}

static void build(struct model *m, struct pane_doc *p, int width)
{
    const struct measurement *r = history_current(m->session->history)->measured;
    struct doc *d = &p->doc;
    doc_clear(d);
    if (!r) {
        empty(m, d, width);
        return;
    }
    put_settings(m, d, width);
    model_find_roofs(m);
    struct measurement_look look = { .width = width - 2, .meters = ~0u,
        .simulates = "; m simulates it",
        .program = model_program(m), .model = m->roofs.model,
        .before = measurement_before(m->session->history, &r->sim) };
    measurement_doc(d, r, &look);
    if (r->verified)
        return;
    bool bare = history_current(m->session->history)->parent < 0;
    doc_line(d, STYLE_PLAIN, "");
    doc_wrap(d, STYLE_DIM, bare ? "Press m to measure again."
                                : "Press u to undo the step, m to measure again.", width - 2, 0);
}

void view_profile_build(struct model *m, struct pane_doc *p, int width)
{
    struct profile_row row = row_of(p);
    build(m, p, width);
    restore_row(p, &row);
}
