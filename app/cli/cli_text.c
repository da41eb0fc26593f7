/* Prints a measurement: the operator, the step, then the same rows as the screen. */
#include "app/cli/cli.h"

#include <string.h>

#include "app/views/measurement_doc.h"
#include "kernels/ops/source.h"

static void put_heading(struct doc *d, const struct session *s, int width)
{
    const struct history *h = s->history;
    int b = history_branch_index(h), n, at;
    history_path(h, b, &n, &at);
    struct str text = {0};
    spec_print_brief(&text, history_spec(h));
    doc_wrap(d, STYLE_STRONG, str_text(&text), width, MEASUREMENT_LABEL);
    str_clear(&text);
    if (s->path[0])
        str_printf(&text, "%s, ", basename(s->path));
    str_printf(&text, "branch %s, step %d", history_branch(h, b)->name, at);
    if (at != n - 1)
        str_printf(&text, " of %d", n - 1);
    measurement_doc_row(d, "session:", STYLE_PLAIN, 0, &text, width);
}

static void put_notes(struct doc *d, const struct program *p, int width)
{
    struct str notes = {0}, text = {0};
    program_print_notes(&notes, p);
    char *rest = NULL, *line = notes.len ? strtok_r(notes.data, "\n", &rest) : NULL;
    for (; line; line = strtok_r(NULL, "\n", &rest)) {
        str_add(&text, line);
        measurement_doc_row(d, "note:", STYLE_PLAIN, 0, &text, width);
    }
    str_free(&notes);
}

/* Adds a row for each step, up to the current one, that is held (has no effect). */
static void put_held(struct doc *d, const struct history *h, int width)
{
    int n, at;
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    for (int i = 1; i <= at; i++) {
        const struct state *s = history_state(h, path[i]);
        struct str text = {0};
        if (!s->held)
            continue;
        str_printf(&text, "step %d has no effect: `%s`: %s", i, s->step, s->held);
        measurement_doc_row(d, "held:", STYLE_BAD, 0, &text, width);
    }
}

static int threads_of(const struct measurement *m)
{
    return m->threads > 1 ? m->threads : 1;
}

/* Adds the latency that the session file has for this step, from an earlier measurement. */
static void put_before(struct doc *d, const struct session *s, const struct measurement *m,
                       int width)
{
    const struct measurement *old = history_current(s->history)->measured;
    struct str text = {0};
    if (!old || old->latency.runs == 0 || m->latency.runs == 0)
        return;
    str_ms(&text, old->latency.min_ms);
    str_add(&text, " min in the session file");
    if (threads_of(old) != threads_of(m))
        str_printf(&text, ", with %d thread%s", threads_of(old), threads_of(old) == 1 ? "" : "s");
    else
        str_printf(&text, ", now %+.1f %%", 100 * (m->latency.min_ms / old->latency.min_ms - 1));
    if (s->machine[0])
        str_printf(&text, " (%s)", s->machine);
    measurement_doc_row(d, "before:", STYLE_PLAIN, 0, &text, width);
}

void cli_text_measurement(struct str *out, const struct cli *c, const struct session *s,
                          const struct measurement *m, unsigned meters,
                          const struct machine_model *model)
{
    const struct program *p = history_current(s->history)->program;
    struct measurement_look look = { .width = cli_columns(80), .exact = true, .meters = meters,
                                     .program = p, .model = model };
    struct doc d;
    doc_open(&d);
    put_heading(&d, s, look.width);
    put_notes(&d, p, look.width);
    put_held(&d, s->history, look.width);
    if (m->verified && meters & METER_CLOCK)
        put_before(&d, s, m, look.width);
    measurement_doc(&d, m, &look);
    cli_add_doc(out, c, &d);
    doc_close(&d);
}

void cli_text_check_line(struct str *out, const struct cli *c, int position, const struct state *st,
                         const struct measurement *m)
{
    bool good = m->verified && m->outcome == OUTCOME_OK;
    str_printf(out, "%4d  ", position);
    cli_paint(out, c->color_out, good ? PAINT_GOOD : PAINT_BAD,
              good ? "ok" : outcome_name[m->outcome]);
    if (measurement_compared(m))
        str_printf(out, "  err %.1e", m->max_rel_err);
    if (m->latency.runs > 0) {
        str_add(out, "  ");
        str_ms(out, m->latency.min_ms);
    }
    str_printf(out, "  %s\n", st->step[0] ? st->step : "(the bare operator)");
    if (!good && m->reason[0])
        str_printf(out, "      %s\n", m->reason);
}
