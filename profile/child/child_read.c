/* Checks the values that the runner left in shared memory or sent.  A kernel may have overwritten
 * them, so only possible values are accepted. */
#include "profile/child/child_impl.h"

#include <math.h>
#include <string.h>

#define MOST_COUNTED ((int64_t)1 << 50)   /* greatest plausible count */
#define MOST_SUM 4e18                     /* sums of counts below this fit in int64_t */

void child_clean_text(char *text, size_t n)
{
    text[n - 1] = '\0';
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

bool child_overwritten(const char *what, struct err *e)
{
    return err_set(e, ERR_CRASH, "the kernel overwrote %s", what);
}

static bool within(int64_t v, int64_t most)
{
    return v >= 0 && v <= most;
}

bool child_samples_sound(const double *sample, int n, struct err *e)
{
    for (int i = 0; i < n; i++)
        if (!(sample[i] >= 0 && sample[i] < 1e9))
            return child_overwritten("its times", e);
    return true;
}

/* Makes a bool valid.  A kernel may have stored any byte there; every byte except 0 counts as
 * true. */
static void sound_bool(bool *b)
{
    unsigned char byte;
    memcpy(&byte, b, 1);
    *b = byte != 0;
}

bool child_counts_sound(struct counts *c, struct err *e)
{
    sound_bool(&c->available);
    child_clean_text(c->reason, sizeof c->reason);
    child_clean_text(c->missing, sizeof c->missing);
    child_clean_text(c->source, sizeof c->source);
    if (!within(c->n, COUNTS_MAX))
        return child_overwritten("the counts", e);
    for (int i = 0; i < c->n; i++) {
        struct count *one = &c->count[i];
        sound_bool(&one->scaled);
        sound_bool(&one->derived);
        child_clean_text(one->name, sizeof one->name);
        one->unit[0] = '\0';
        if (!isfinite(one->value) || !isfinite(one->running))
            return child_overwritten("the counts", e);
    }
    return true;
}

/* --- The simulator ---------------------------------------------------------------------------- */

static bool level_sound(const struct level_count *c)
{
    return within(c->accesses, MOST_COUNTED) && within(c->misses, MOST_COUNTED)
        && within(c->writebacks, MOST_COUNTED) && within(c->prefetches, MOST_COUNTED)
        && within(c->useful, MOST_COUNTED) && within(c->straddled, MOST_COUNTED);
}

bool child_simulation_sound(const struct trace_table *t, const struct simulation *s,
                            struct err *e)
{
    double misses = 0, accesses = 0;
    bool sound = s->fraction >= 0 && s->fraction <= 1 && !(s->error < 0);
    for (int i = 0; sound && i < t->n_sites; i++)
        for (int k = 0; k < CACHE_LEVELS; k++) {
            sound = sound && within(s->count[i].misses[k], MOST_COUNTED);
            misses += (double)s->count[i].misses[k];
        }
    for (int i = 0; sound && i < t->n_blocks; i++)
        sound = within(s->runs[i], MOST_COUNTED);
    for (int i = 0; sound && i < t->n_uses; i++)
        accesses += (double)t->use[i].n * (double)s->runs[t->use[i].block];
    for (int k = 0; sound && k < CACHE_LEVELS; k++)
        sound = level_sound(&s->level[k]);
    return (sound && misses < MOST_SUM && accesses < MOST_SUM)
        || child_overwritten("the simulator's counts", e);
}

static bool heat_sound(const struct sim_heat *cell, int n)
{
    bool sound = within(n, SIM_CELLS);
    for (int i = 0; sound && i < n; i++)
        sound = within(cell[i].accesses, MOST_COUNTED) && within(cell[i].misses, MOST_COUNTED);
    return sound;
}

static bool classes_sound(const struct sim_classes *c)
{
    return within(c->compulsory, MOST_COUNTED) && within(c->capacity, MOST_COUNTED)
        && within(c->conflict, MOST_COUNTED);
}

static bool reuse_sound(const struct sim_reuse *r)
{
    bool sound = within(r->first, MOST_COUNTED);
    for (int i = 0; i < SIM_REUSE_BUCKETS; i++)
        sound = sound && within(r->bucket[i], MOST_COUNTED);
    return sound;
}

static bool tensors_sound(const struct sim_detail *d)
{
    bool sound = true;
    for (int i = 0; sound && i < d->n_tensors; i++) {
        const struct sim_tensor_detail *t = &d->tensor[i];
        sound = classes_sound(&t->classes) && reuse_sound(&t->reuse)
             && within(t->cell_lines, MOST_COUNTED / SIM_CELLS)
             && heat_sound(t->cell, t->n_cells);
    }
    return sound;
}

static bool moments_sound(const struct sim_detail *d)
{
    bool sound = within(d->n_moments, SIM_CELLS);
    for (int i = 0; sound && i < d->n_moments; i++) {
        const struct sim_moment *m = &d->moment[i];
        sound = m->loop >= 0 && m->loop < d->n_loops && within(m->first, MOST_COUNTED)
             && within(m->n, MOST_COUNTED) && within(m->accesses, MOST_COUNTED)
             && within(m->misses, MOST_COUNTED);
    }
    for (int i = 0; sound && i < d->n_loops; i++)
        sound = within(d->loop[i].iterations, MOST_COUNTED);
    return sound;
}

bool child_detail_sound(struct sim_detail *d, const struct sim_detail *asked, struct err *e)
{
    child_clean_text(d->reason, sizeof d->reason);
    bool sound = d->n_tensors == asked->n_tensors
              && (d->n_loops == asked->n_loops || d->reason[0]);
    d->n_loops = asked->n_loops;
    for (int i = 0; i < asked->n_loops; i++)
        memcpy(d->loop[i].axes, asked->loop[i].axes, sizeof d->loop[i].axes);
    for (int i = 0; i < asked->n_tensors; i++)
        d->tensor[i].bytes = asked->tensor[i].bytes;
    sound = sound && tensors_sound(d) && moments_sound(d) && classes_sound(&d->classes)
         && reuse_sound(&d->reuse) && heat_sound(d->set, d->n_set_cells)
         && within(d->n_sets, MOST_COUNTED) && d->n_sets >= d->n_set_cells;
    return sound || child_overwritten("the simulator's detail", e);
}
