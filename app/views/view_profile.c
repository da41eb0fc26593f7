/* The cost of the current state: time, share of the machine's ceiling, cache misses of each tensor,
 * counters. */
#include "app/views/measurement_doc.h"
#include "app/views/view.h"

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

void view_profile_build(struct model *m, struct pane_doc *p, int width)
{
    const struct measurement *r = history_current(m->session->history)->measured;
    struct doc *d = &p->doc;
    doc_clear(d);
    if (!r) {
        empty(m, d, width);
        return;
    }
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
