/* The list of branches. */
#include "app/ui/text.h"
#include "app/views/view.h"

/* The best measured time on branch b; false when nothing on it was measured. */
static bool best_ms(const struct history *h, int b, double *out)
{
    int n, at;
    bool found = false;
    const int *path = history_path(h, b, &n, &at);
    for (int i = 0; i < n; i++) {
        const struct measurement *r = history_state(h, path[i])->measured;
        if (!r || !r->verified || r->latency.runs == 0 || (found && r->latency.median_ms >= *out))
            continue;
        *out = r->latency.median_ms;
        found = true;
    }
    return found;
}

void view_branches_build(struct model *m, struct pane_doc *p, int width)
{
    const struct history *h = m->session->history;
    struct doc *d = &p->doc;
    int name_width = width > 60 ? 28 : width - 32 > 8 ? width - 32 : 8;
    bool first = d->lines.len == 0;      /* the cursor begins on the current branch */
    doc_clear(d);
    doc_printf(d, STYLE_DIM, "  %-*s%6s%12s", name_width, "branch", "steps", "best time");
    doc_end(d);
    for (int b = 0; b < history_n_branches(h); b++) {
        int n, at;
        double ms = 0;
        struct str name = {0}, time = {0}, cell = {0};
        history_path(h, b, &n, &at);
        text_fit(&name, history_branch(h, b)->name, name_width);
        if (best_ms(h, b, &ms))
            text_ms(&time, ms);
        text_right(&cell, time.len ? str_text(&time) : "-", 12);
        doc_put(d, STYLE_TITLE, b == history_branch_index(h) ? "● " : "  ");
        doc_put(d, STYLE_PLAIN, str_text(&name));
        doc_printf(d, STYLE_PLAIN, "%6d%s", n - 1, str_text(&cell));
        doc_end(d)->id = b;
        if (first && b == history_branch_index(h))
            p->scroll.cursor = d->lines.len - 1;
        str_free(&name);
        str_free(&time);
        str_free(&cell);
    }
}
