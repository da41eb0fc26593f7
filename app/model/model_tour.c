/* The guided tour: says which key to press, and continues when the user has done so. */
#include "app/model/model.h"

#include <stdio.h>

enum tour_check { TOUR_STEP, TOUR_MEASURED, TOUR_VIEW, TOUR_AUTO };

static const struct { enum tour_check check; const char *arg, *line, *text; } tour[] = {
#define TOUR(check, arg, line, text) { TOUR_##check, arg, line, text },
#include "app/model/tour.def"
#undef TOUR
};

static bool has_step(const struct history *h, const char *begin)
{
    int n, at;
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    for (int i = 0; i <= at; i++)
        if (str_starts(history_state(h, path[i])->step, begin) && !history_state(h, path[i])->held)
            return true;
    return false;
}

static bool is_done(const struct model *m, int i)
{
    const struct history *h = m->session->history;
    switch (tour[i].check) {
    case TOUR_STEP:     return has_step(h, tour[i].arg);
    case TOUR_MEASURED: return history_current(h)->measured != NULL;
    case TOUR_VIEW:     return streq(model_view[m->view[m->last_view]].name, tour[i].arg);
    case TOUR_AUTO:     return m->autorun;
    }
    UNREACHABLE();
}

/* Goes on to the first step of the tour that is not done.  Without a session the tour ends. */
void model_tour_update(struct model *m)
{
    if (m->tour > 0 && !m->session)
        m->tour = 0;
    while (m->tour > 0 && m->tour <= COUNT_OF(tour) && is_done(m, m->tour - 1))
        m->tour++;
}

void model_tour_title(const struct model *m, struct str *out)
{
    if (m->tour <= COUNT_OF(tour))
        str_printf(out, " tour: %d of %d ", m->tour, COUNT_OF(tour));
    else
        str_add(out, " tour: done ");
}

const char *model_tour_text(const struct model *m)
{
    if (m->tour == 0)
        return "";
    if (m->tour <= COUNT_OF(tour))
        return tour[m->tour - 1].text;
    return "From plain loops to a tuned kernel. What next? s saves it, X applies an expert's "
           "schedule, t lets the auto-tuner search, ? lists every key. Esc closes the tour.";
}

bool model_tour(struct model *m, const char *arg)
{
    if (streq(arg, "end")) {
        m->tour = 0;
        return true;
    }
    if (streq(arg, "do") && m->tour > 0 && m->tour <= COUNT_OF(tour))
        return model_run(m, tour[m->tour - 1].line);
    if (streq(arg, "do"))
        return model_say_error(m, "there is no step of the tour to do", "tour");
    if (arg[0])
        return model_say_error(m, "tour takes do or end", "tour do");
    m->tour = m->session ? 1 : 0;
    return m->session || model_say_error(m, "the tour needs its operator", "tilescope tour");
}
