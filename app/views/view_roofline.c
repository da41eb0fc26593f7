/* The roofline: the current state and the steps before it under the roofs of this machine. */
#include "app/views/view.h"

#include <stdlib.h>
#include "app/views/roofline_plot.h"
#include "app/ui/text.h"
#include "profile/measure/gpu_memory.h"

/* The pane leaves room for the table and the legend if this many rows remain for the plot. */
#define ENOUGH_ROWS 16
#define MOST_PLOT_ROWS 30
#define MOST_PLOT_COLS 110

static void say(struct doc *d, const char *first, const char *then, int width)
{
    doc_wrap(d, STYLE_PLAIN, first, width - 2, 0);
    doc_line(d, STYLE_PLAIN, "");
    doc_wrap(d, STYLE_DIM, then, width - 2, 0);
}

static void without_model(struct model *m, struct doc *d, int width)
{
    if (m->roofs.failed)
        say(d, "This machine's roofs could not be measured.", m->roofs.why, width);
    else if (m->roofs.stopped)
        say(d, "Measuring this machine's roofs was cancelled.", "8 measures them. So does the "
            "command `tilescope machine`.", width);
    else
        say(d, "Measuring this machine's roofs ...", "What its vector units and the levels of its "
            "memory can do at best. It takes some seconds, once, and is kept.", width);
}

static void put_table(struct doc *d, const struct roof_step *step, int n, int width)
{
    struct str row = {0};
    roofline_plot_heading(&row);
    doc_line(d, STYLE_DIM, str_text(&row));
    for (int i = n - 1; i >= 0; i--) {
        str_clear(&row);
        roofline_plot_row(&row, &step[i], width - 2);
        doc_line(d, step[i].here ? STYLE_STRONG : STYLE_PLAIN, str_text(&row));
    }
    doc_wrap(d, STYLE_DIM, roofline_plot_star(step, n), width - 2, 0);
    str_free(&row);
}

/* Adds the plot, the table and the legend. If the pane has room for table, legend and ENOUGH_ROWS
 * of the plot, all are visible at once; else the plot takes the pane, and scrolling shows table and
 * legend. */
static void put_plot(const struct model *m, struct pane_doc *p, const struct roof_step *step, int n,
                     int width)
{
    struct canvas c;
    struct str remark = {0};
    struct doc *d = &p->doc;
    roofline_plot_remark(&remark, &step[n - 1]);
    doc_wrap(d, STYLE_PLAIN, str_text(&remark), width - 2, 2);
    str_clear(&remark);
    machine_model_doubts(m->roofs.model, NULL, &remark);
    if (remark.len > 0) {
        struct str line = {0};
        str_printf(&line, "The machine model is doubtful: %s. tilescope machine --measure measures "
                   "it again.",
                   str_text(&remark));
        doc_wrap(d, STYLE_BAD, str_text(&line), width - 2, 2);
        str_free(&line);
    }
    int rows = p->height - d->lines.len, legend = width < 100 ? 3 : 2;
    legend += roofline_plot_star(step, n)[0] != '\0';
    if (rows - n - 2 - legend >= ENOUGH_ROWS)
        rows -= n + 2 + legend;
    rows = rows > MOST_PLOT_ROWS ? MOST_PLOT_ROWS : rows < ROOF_PLOT_MIN_H ? ROOF_PLOT_MIN_H : rows;
    canvas_open(&c, width - 2 > MOST_PLOT_COLS ? MOST_PLOT_COLS : width - 2, rows);
    roofline_plot(&c, m->roofs.model, step, n);
    canvas_doc(&c, d);
    canvas_close(&c);
    doc_line(d, STYLE_PLAIN, "");
    put_table(d, step, n, width);
    doc_line(d, STYLE_PLAIN, "");
    doc_wrap(d, STYLE_DIM, roofline_plot_legend, width - 2, 0);
    str_free(&remark);
}

void view_roofline_build(struct model *m, struct pane_doc *p, int width)
{
    const struct history *h = m->session->history;
    doc_clear(&p->doc);
    model_find_roofs(m);
    m->roofs.wanted = true;  /* it stays set, so that the roofs are measured to the end */
    int n = roofline_steps(h, m->roofs.model, NULL, 0);
    struct roof_step *step = xcalloc((size_t)n + 1, sizeof *step);
    roofline_steps(h, m->roofs.model, step, n);
    const struct measurement *r = history_current(h)->measured;
    if (n == 0 && r && gpu_memory_untimed_ms(r) > 0)
        say(&p->doc, "No times: this schedule is for a GPU, and none is here.", "A roofline needs "
            "a time. View 6 has what the simulated GPU needs at the least, part by part.", width);
    else if (n == 0)
        say(&p->doc, m->measure_wanted ? "Measuring the current state ..." : "Nothing timed yet.",
            "A point per step: how many FLOPs it executes a second, and how many for each byte "
            "that it moves. Press m to measure.", width);
    else if (!m->roofs.model)
        without_model(m, &p->doc, width);
    else
        put_plot(m, p, step, n, width);
    if (n > 0 && !m->roofs.model) {
        doc_line(&p->doc, STYLE_PLAIN, "");
        put_table(&p->doc, step, n, width);
    }
    free(step);
}
