/* The guided tour: says which key to press, and goes on when the user has done what it asks for. */
#include "app/model/model.h"

#include <string.h>
#include "kernels/gen/target.h"

#define TILE_CHANNELS 16                  /* columns of the tile, as in the steps of tour.def */

enum tour_check { TOUR_STEP, TOUR_MEASURED, TOUR_VIEW, TOUR_AUTO };

static const struct { enum tour_check check; const char *arg, *line, *text; } tour[] = {
#define TOUR(check, arg, line, text) { TOUR_##check, arg, line, text },
#include "app/model/tour.def"
#undef TOUR
};

/* Returns the number of rows of a tile that fills half of the vector registers. */
static int tile_rows(const struct model *m)
{
    const struct target *t = target_or_host(m->set.target);
    const struct elem_type *type = history_current(m->session->history)->program->base->type;
    int rows = t->registers / 2 * target_lanes(t, type) / TILE_CHANNELS;
    return rows < 2 ? 2 : rows;
}

static void put_text(struct str *out, const struct model *m, const char *text)
{
    for (; *text; text++)
        if (*text == '@')
            str_printf(out, "%d", tile_rows(m));
        else
            str_add_char(out, *text);
}

/* Whether `step` is the step that step i of the tour asks for; both must begin alike.  For a split,
 * only the inner factor is compared, because the outer factor can be left out. */
static bool is_asked(const struct model *m, int i, const char *step)
{
    struct str line = {0};
    put_text(&line, m, tour[i].line);
    const char *inner = strrchr(str_text(&line), ' '), *last = strrchr(step, ' ');
    bool split = str_starts(step, "loop split");
    bool same = split ? last && streq(last, inner) : streq(step, str_text(&line));
    str_free(&line);
    return same;
}

/* Returns the last applied step that begins with the text tour[i].arg; NULL: there is none. */
static const char *begun(const struct model *m, int i)
{
    const struct history *h = m->session->history;
    int n, at;
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    for (; at > 0; at--) {
        const struct state *s = history_state(h, path[at]);
        if (str_starts(s->step, tour[i].arg) && !s->held)
            return s->step;
    }
    return NULL;
}

static bool has_step(const struct model *m, int i)
{
    const char *step = begun(m, i);
    return step && is_asked(m, i, step);
}

static bool is_done(const struct model *m, int i)
{
    const struct history *h = m->session->history;
    switch (tour[i].check) {
    case TOUR_STEP:     return has_step(m, i);
    case TOUR_MEASURED: return history_current(h)->measured != NULL;
    case TOUR_VIEW:     return streq(model_view[m->view[m->last_view]].name, tour[i].arg);
    case TOUR_AUTO:     return m->autorun;
    }
    UNREACHABLE();
}

/* Goes on to the next step of the tour that is not done.  Ends the tour if no session is open. */
void model_tour_update(struct model *m)
{
    if (m->tour > 0 && !m->session)
        m->tour = 0;
    while (m->tour > 0 && m->tour <= COUNT_OF(tour) && is_done(m, m->tour - 1))
        m->tour++;
}

bool model_tour_over(const struct model *m)
{
    return m->tour > COUNT_OF(tour);
}

void model_tour_title(const struct model *m, struct str *out)
{
    if (!model_tour_over(m))
        str_printf(out, " tour: %d of %d ", m->tour, COUNT_OF(tour));
    else
        str_add(out, " tour: done ");
}

/* Appends what to do in step i of the tour.  If the user has applied a similar step, but not the
 * one that the tour asks for, appends how to correct that. */
static void put_step(struct str *out, const struct model *m, int i)
{
    const char *other = tour[i].check == TOUR_STEP ? begun(m, i) : NULL;
    if (!other) {
        put_text(out, m, tour[i].text);
        return;
    }
    str_printf(out, "You have  %s , and the tour goes on with  ", other);
    put_text(out, m, tour[i].line);
    str_add(out, " . Press u to take your step back, then try again; or type  :tour do  after u.");
}

void model_tour_text(const struct model *m, struct str *out)
{
    if (model_tour_over(m))
        str_add(out, "From plain loops to a tuned kernel. What next? s saves it, X applies an "
                     "expert's schedule, t lets the auto-tuner search, ? lists every key. Esc "
                     "closes the tour.");
    else if (m->tour > 0)
        put_step(out, m, m->tour - 1);
}

/* Runs the line of the present step of the tour.  If it is a step of the schedule, shows the
 * nest. */
static bool do_step(struct model *m)
{
    struct str line = {0};
    put_text(&line, m, tour[m->tour - 1].line);
    if (tour[m->tour - 1].check == TOUR_STEP)
        model_show_view(m, VIEW_NEST);
    bool ok = model_run(m, str_text(&line));
    str_free(&line);
    return ok;
}

bool model_tour(struct model *m, const char *arg)
{
    if (streq(arg, "end")) {
        m->tour = 0;
        return true;
    }
    if (streq(arg, "do") && m->tour > 0 && !model_tour_over(m))
        return do_step(m);
    if (streq(arg, "do"))
        return model_say_error(m, "there is no step of the tour to do", "tour");
    if (arg[0])
        return model_say_error(m, "tour takes do or end", "tour do");
    m->tour = 1;
    return true;
}
