/* The cache lens of the current state (lens_doc.c). */
#include "app/views/lens_doc.h"
#include "app/views/view.h"

#define FEWEST_ROWS 8
#define MOST_ROWS 24

/* Returns the L1 misses in the measurement of the current state, if the measurement has simulated
 * the whole run with the L1 of the lens; else -1. */
static int64_t counted(const struct model *m)
{
    const struct measurement *r = history_current(m->session->history)->measured;
    bool whole = r && r->sim.available && r->sim.fraction == 1;
    bool same = whole && cache_config_same_l1(&r->sim.cache, &m->lensing.lens->cache);
    return same ? r->sim.l1_misses : -1;
}

/* After a key of the playback, scrolls to the playback, unless it is in the upper part of the pane
 * already. */
static void follow_playback(struct model *m, struct pane_doc *p)
{
    int at = doc_find_id(&p->doc, LENS_PLAYBACK), last = p->doc.lines.len - p->height;
    if (m->lensing.to_playback && at >= 0
        && (at < p->scroll.top || at > p->scroll.top + p->height / 3)) {
        p->scroll.top = at > last && last > 0 ? last : at;
        p->scroll.cursor = at;
    }
    m->lensing.to_playback = false;
}

void view_lens_build(struct model *m, struct pane_doc *p, int width)
{
    const struct lensing *k = &m->lensing;
    struct doc *d = &p->doc;
    int rows = p->height / 2;
    model_find_roofs(m);
    struct lens_look look = {
        .width = width - 2, .at = k->at, .loop = k->loop, .cure = k->cure, .n_cures = k->n_cures,
        .counted = model_lens_fits(m) && k->lens ? counted(m) : -1, .now = &k->now,
        .timed = history_current(m->session->history)->measured,
        .predicted = k->predicted, .stopped = model_lens_stopped(m), .keys = true,
        .model = model_forecast_has_time(m) ? m->roofs.model : NULL, .target = m->set.target,
        .rows = rows < FEWEST_ROWS ? FEWEST_ROWS : rows > MOST_ROWS ? MOST_ROWS : rows,
    };
    doc_clear(d);
    if (!model_lens_fits(m))
        doc_wrap(d, STYLE_DIM, look.stopped ? "The simulation was cancelled; :lens starts it again."
                     : model_wants_roofs(m) ? "The cache is simulated after the machine is "
                                              "measured for the roofline; the top line shows how "
                                              "far that is."
                     : model_wants_measuring(m) ? "The cache is simulated after the measurement ..."
                     : "Simulating the cache ...", width - 2, 0);
    else if (!k->lens)
        doc_wrap(d, STYLE_BAD, str_text(&k->why), width - 2, 0);
    else
        lens_doc(d, k->lens, &look);
    follow_playback(m, p);
}
