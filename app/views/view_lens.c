/* The cache lens of the current state (lens_doc.c). */
#include "app/views/lens_doc.h"
#include "app/views/view.h"

#define FEWEST_ROWS 8
#define MOST_ROWS 24

void view_lens_build(struct model *m, struct pane_doc *p, int width)
{
    const struct lensing *k = &m->lensing;
    struct doc *d = &p->doc;
    int rows = p->height / 2;
    struct lens_look look = {
        .width = width - 2, .at = k->at, .loop = k->loop, .cure = k->cure, .n_cures = k->n_cures,
        .now = &k->now, .predicted = k->predicted, .stopped = model_lens_stopped(m), .keys = true,
        .rows = rows < FEWEST_ROWS ? FEWEST_ROWS : rows > MOST_ROWS ? MOST_ROWS : rows,
    };
    doc_clear(d);
    if (!model_lens_fits(m))
        doc_wrap(d, STYLE_DIM, look.stopped ? "The simulation was cancelled; :lens starts it again."
                     : model_wants_measuring(m) ? "The cache is simulated after the measurement ..."
                     : "Simulating the cache ...", width - 2, 0);
    else if (!k->lens)
        doc_wrap(d, STYLE_BAD, str_text(&k->why), width - 2, 0);
    else
        lens_doc(d, k->lens, &look);
}
