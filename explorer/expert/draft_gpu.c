/* The plain schedule of a node on a GPU: one thread for each element. */
#include "explorer/expert/draft.h"

#include "kernels/base/str.h"

#define DRAFT_THREADS 128

/* Returns the names of the output loops of a stage, each after a blank.  *n: their number.  *trips:
 * the product of their trip counts. */
static const char *output_loops(struct arena *a, const struct stage *s, int *n, int64_t *trips)
{
    const char *list = "";
    *n = 0;
    *trips = 1;
    for (int i = 0; i < s->n_axes; i++)
        if (!s->axis[i].reduce) {
            list = arena_printf(a, "%s %s", list, s->axis[i].name);
            *trips *= s->axis[i].extent;
            ++*n;
        }
    return list;
}

bool draft_bind(struct draft *d, int node, struct err *e)
{
    const struct stage *s = d->p->stage[node];
    const struct draft before = *d;
    int n, lines = d->line.len;
    int64_t trips;
    const char *list = output_loops(d->a, s, &n, &trips);
    const char *fused = s->n_axes > 0 ? s->axis[0].name : "";
    bool ok = n > 0 || err_set(e, ERR_STEP, "%s has no loop to bind", s->name);
    if (ok && n > 1) {
        ok = draft_line(d, arena_printf(d->a, "loop fuse %s%s", s->name, list), e);
        fused = ok ? d->p->stage[node]->axis[0].name : fused;
    }
    const char *line[] = {
        arena_printf(d->a, "loop split %s %s 0 %d", s->name, fused,
                     trips < DRAFT_THREADS ? (int)trips : DRAFT_THREADS),
        arena_printf(d->a, "loop bind %s %s.0 block.x", s->name, fused),
        arena_printf(d->a, "loop bind %s %s.1 thread.x", s->name, fused),
    };
    for (int i = 0; ok && i < COUNT_OF(line); i++)
        ok = draft_line(d, line[i], e);
    if (!ok) {
        d->p = before.p;
        d->line.len = lines;
    }
    return ok;
}
