#include "profile/sim/simdetail.h"

#include "kernels/base/arena.h"
#include "profile/sim/reuse.h"

#include <stdlib.h>

struct simdetail {
    struct sim_detail *d;
    struct detail_opts o;
    struct reuse *reuse;
    int shift;
    int64_t lines;                        /* lines of L1 */
    uint64_t sets, first_line, end_line;
    double per_moment;                    /* iterations per cell of the time line */
    double iteration;                     /* iterations of all loops so far */
    int64_t of_loop[SIM_MAX_LOOPS];       /* iterations of each loop so far */
    int within;                           /* the current loop, or -1 */
};

/* --- One touch -------------------------------------------------------------------------------- */

static int bucket_of(int64_t distance)
{
    int b = distance > 0 ? 64 - __builtin_clzll((unsigned long long)distance) : 0;
    return b < SIM_REUSE_BUCKETS ? b : SIM_REUSE_BUCKETS - 1;
}

static void count_reuse(struct sim_reuse *r, int64_t distance)
{
    if (distance < 0)
        r->first++;
    else
        r->bucket[bucket_of(distance)]++;
}

static void count_class(const struct simdetail *w, struct sim_classes *c, int64_t distance)
{
    *(distance < 0 ? &c->compulsory : distance >= w->lines ? &c->capacity : &c->conflict) += 1;
}

static void count_heat(struct sim_heat *cell, bool missed)
{
    cell->accesses++;
    cell->misses += missed;
}

static void touched(void *ctx, uint64_t line, unsigned site, bool missed)
{
    struct simdetail *w = ctx;
    struct sim_detail *d = w->d;
    if (line < w->first_line || line >= w->end_line)
        return;
    int64_t distance = reuse_touch(w->reuse, (int64_t)(line - w->first_line));
    struct sim_tensor_detail *t = &d->tensor[w->o.tensor[site]];
    count_reuse(&d->reuse, distance);
    count_reuse(&t->reuse, distance);
    if (missed) {
        count_class(w, &d->classes, distance);
        count_class(w, &t->classes, distance);
    }
    count_heat(&d->set[line % w->sets * (uint64_t)d->n_set_cells / w->sets], missed);
    uint64_t in = (line << w->shift) - w->o.heat[w->o.tensor[site]];
    if (in < (uint64_t)t->bytes)
        count_heat(&t->cell[(in >> w->shift) / (uint64_t)t->cell_lines], missed);
    struct sim_moment *m = &d->moment[d->n_moments - 1];
    m->accesses++;
    m->misses += missed;
}

/* --- Time ------------------------------------------------------------------------------------- */

void simdetail_mark(struct simdetail *w, int loop)
{
    struct sim_detail *d = w->d;
    loop = loop >= SIM_MAX_LOOPS ? SIM_MAX_LOOPS - 1 : loop;
    if (loop < 0)
        return;
    struct sim_moment *m = &d->moment[d->n_moments - 1];
    bool new_part = (int64_t)(w->iteration / w->per_moment)
                 != (int64_t)((w->iteration - 1) / w->per_moment);
    if (m->n == 0) {
        m->loop = loop;
        m->first = w->of_loop[loop];
    } else if ((m->loop != loop || new_part) && d->n_moments < SIM_CELLS) {
        m = &d->moment[d->n_moments++];
        *m = (struct sim_moment){ .loop = loop, .first = w->of_loop[loop] };
    }
    m->n++;
    w->of_loop[loop]++;
    w->iteration++;
}

/* --- Start and end ---------------------------------------------------------------------------- */

static void clear(struct sim_detail *d, int shift)
{
    struct sim_detail was = *d;
    *d = (struct sim_detail){ .n_tensors = was.n_tensors, .n_loops = was.n_loops, .n_moments = 1 };
    for (int i = 0; i < was.n_loops; i++)
        d->loop[i] = was.loop[i];
    for (int i = 0; i < was.n_tensors; i++) {
        struct sim_tensor_detail *t = &d->tensor[i];
        int64_t lines = ((was.tensor[i].bytes - 1) >> shift) + 1;
        t->bytes = was.tensor[i].bytes;
        t->cell_lines = (lines + SIM_CELLS - 1) / SIM_CELLS;
        t->cell_lines += t->cell_lines == 0;
        t->n_cells = (int)((lines + t->cell_lines - 1) / t->cell_lines);
    }
}

struct simdetail *simdetail_open(struct cachesim *s, const struct detail_opts *o,
                                 struct sim_detail *d)
{
    const struct cache_geometry *g = &o->l1->geometry;
    struct simdetail *w = xcalloc(1, sizeof *w);
    w->d = d;
    w->o = *o;
    w->shift = __builtin_ctz((unsigned)g->line_bytes);
    w->lines = g->size_bytes / g->line_bytes;
    w->sets = (uint64_t)(w->lines / g->ways);
    w->first_line = o->first >> w->shift;
    w->end_line = ((o->end - 1) >> w->shift) + 1;
    w->reuse = reuse_open((int64_t)(w->end_line - w->first_line));
    clear(d, w->shift);
    d->n_sets = (int64_t)w->sets;
    d->n_set_cells = w->sets < SIM_CELLS ? (int)w->sets : SIM_CELLS;
    double parts = SIM_CELLS - SIM_MAX_LOOPS;
    w->per_moment = o->iterations > parts ? o->iterations / parts : 1;
    cachesim_watch(s, touched, w);
    return w;
}

void simdetail_close(struct simdetail *w)
{
    if (!w)
        return;
    struct sim_detail *d = w->d;
    /* without marked loops, or if nothing happened, there is nothing to show over time */
    bool idle = d->n_moments == 1 && d->moment[0].n == 0 && d->moment[0].accesses == 0;
    if (d->n_loops == 0 || idle)
        d->n_moments = 0;
    reuse_close(w->reuse);
    free(w);
}
