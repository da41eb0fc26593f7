/* The vendor baselines of one measurement are contenders in the child of the kernel.  Each has
 * its own row-major buffers with the same data, and is compared with the reference before it is
 * timed. */
#include "profile/measure/job.h"

#include "profile/child/child.h"
#include "profile/measure/oracle.h"

#include <stdio.h>
#include <string.h>


static void refuse(struct measure_job *j, enum vendor_library library, const char *reason)
{
    struct baseline *b = &j->m->baseline[library];
    b->available = false;
    snprintf(b->reason, sizeof b->reason, "%.255s", reason);
}

/* Removes the i-th baseline; the later ones move up. */
static void drop(struct measure_job *j, int i, const char *reason)
{
    struct libraries *x = &j->libraries;
    refuse(j, x->library[i], reason);
    for (x->n--; i < x->n; i++) {
        x->library[i] = x->library[i + 1];
        memcpy(x->plugin[i], x->plugin[i + 1], sizeof x->plugin[i]);
    }
}

static bool can_enter(struct measure_job *j, enum vendor_library library, const char *runner,
                      struct err *why)
{
    struct libraries *x = &j->libraries;
    if (!(j->opts.meters & METER_CLOCK))
        return err_set(why, ERR_ENV,
                       "a baseline needs the meter clock, which was not requested");
    if (vendor_on_gpu(library) != j->target->gpu)
        return err_set(why, ERR_ENV, j->target->gpu
                       ? "it runs on the CPU, and this kernel on a GPU: --baselines cublas,cudnn"
                       : "it runs on a GPU, but this kernel runs on the CPU: use --target cuda");
    return vendor_match(j->program->base, &x->problem, why)
        && vendor_offers(library, &x->problem, why)
        && vendor_find(runner, library, x->plugin[x->n], sizeof x->plugin[0], why);
}

bool measure_vendor_match(struct measure_job *j, struct err *e)
{
    struct libraries *x = &j->libraries;
    char runner[600];
    if (!j->opts.baselines)
        return true;
    if (!child_find_runner(j->opts.runner_path, runner, sizeof runner, e))
        return false;
    for (int i = 0; i < VENDOR_COUNT; i++) {
        struct err why;
        if (!(j->opts.baselines & 1u << i))
            continue;
        if (can_enter(j, (enum vendor_library)i, runner, &why))
            x->library[x->n++] = (enum vendor_library)i;
        else
            refuse(j, (enum vendor_library)i, why.text);
    }
    if (x->n == 0)
        return true;
    x->arena = arena_new();
    return program_new(x->arena, j->program->base->spec, &x->plain, e);
}

void measure_vendor_finish(struct measure_job *j)
{
    arena_free(j->libraries.arena);
    j->libraries.arena = NULL;
}

/* --- In the child ----------------------------------------------------------------------------- */

void measure_vendor_buffers(struct measure_job *j, int contenders, struct runner_buffer *buffer,
                            int *n)
{
    struct libraries *x = &j->libraries;
    x->contender = contenders;
    for (int i = 0; i < x->n; i++) {
        x->first[i] = *n;
        for (int k = 0; k < x->problem.n_tensors; k++) {
            const struct vendor_tensor *t = &x->problem.tensor[k];
            const struct tensor *of = &x->plain->base->tensor[t->tensor];
            buffer[(*n)++] = (struct runner_buffer){ of->name, of->type, of->type->bytes * t->elems,
                                                    t->role == ROLE_OUT };
        }
    }
}

int64_t measure_vendor_bytes(const struct measure_job *j)
{
    const struct libraries *x = &j->libraries;
    return x->n > 0 ? x->n * vendor_bytes(&x->problem, j->opts.threads) : 0;
}

static bool fill(struct measure_job *j, int i, struct err *e)
{
    const struct libraries *x = &j->libraries;
    const struct oracle *o = oracle_kept(x->plain->base, j->opts.seed);
    bool ok = true;
    for (int k = 0; k < x->problem.n_tensors && ok; k++) {
        const struct vendor_tensor *t = &x->problem.tensor[k];
        ok = oracle_fill(o, x->plain, t->tensor, j->opts.seed, t->elems,
                         runner_data(j->runner, x->first[i] + k), e);
    }
    oracle_release(o);
    return ok;
}

/* Whether the result of baseline i, the last tensor of its problem, agrees with the reference. */
static bool is_right(struct measure_job *j, int i, struct err *e)
{
    const struct libraries *x = &j->libraries;
    const struct oracle *o = NULL;
    struct baseline *b = &j->m->baseline[x->library[i]];
    int out = x->problem.n_tensors - 1;
    struct deviation worst = { 0 };
    if (!oracle_acquire(x->plain->base, j->opts.seed, j->cancel, &o, e))
        return false;
    b->verified = oracle_compare(o, x->plain, x->problem.tensor[out].tensor,
                                 runner_data(j->runner, x->first[i] + out), j->cancel, &worst, e);
    b->max_rel_err = worst.rel_err;
    oracle_release(o);
    if (!b->verified && e->code == ERR_WRONG)
        err_prefix(e, "it computes something else: ");
    return b->verified;
}

/* Loads baseline i, runs it once and checks its result. *lives: whether the child can still be
 * used, even if this library failed. */
static bool enter(struct measure_job *j, int i, bool *lives, struct err *e)
{
    const struct libraries *x = &j->libraries;
    struct baseline *b = &j->m->baseline[x->library[i]];
    struct vendor_choice choice;
    double seconds;
    *lives = true;
    if (!fill(j, i, e))
        return false;
    if (!runner_load_vendor(j->runner, x->contender + i, x->plugin[i], x->library[i], &x->problem,
                           &choice, e)) {
        *lives = e->code == ERR_ENV;
        return false;
    }
    if (!runner_run(j->runner, x->contender + i, &seconds, e)) {
        *lives = false;
        return false;
    }
    snprintf(b->implementation, sizeof b->implementation, "%.95s", choice.implementation);
    snprintf(b->layout, sizeof b->layout, "%s", choice.layout);
    return is_right(j, i, e);
}

/* Loads the baselines.  Contenders keep their numbers once the child is open; the number of a
 * refused baseline remains unused. */
bool measure_vendor_load(struct measure_job *j, struct err *e)
{
    struct libraries *x = &j->libraries;
    for (int i = 0; i < x->n; i++) {
        bool lives;
        struct baseline *b = &j->m->baseline[x->library[i]];
        *b = (struct baseline){ 0 };
        measure_begin(j, "checking a baseline");
        if (enter(j, i, &lives, e)) {
            b->available = true;
            continue;
        }
        if (e->code == ERR_CANCEL)
            return false;
        if (!lives) {
            if (e->code != ERR_KILLED || x->killed++)
                drop(j, i, e->text);
            return false;
        }
        refuse(j, x->library[i], e->text);
    }
    return true;
}

/* --- The clock -------------------------------------------------------------------------------- */

unsigned measure_vendor_contenders(const struct measure_job *j)
{
    unsigned set = 0;
    for (int i = 0; i < j->libraries.n; i++)
        if (j->m->baseline[j->libraries.library[i]].available)
            set |= 1u << (j->libraries.contender + i);
    return set;
}

void measure_vendor_take(struct measure_job *j, const struct samples *s)
{
    for (int i = 0; i < j->libraries.n; i++) {
        struct baseline *b = &j->m->baseline[j->libraries.library[i]];
        int series = SERIES_KERNEL + j->libraries.contender + i;
        if (!b->available)
            continue;
        b->latency = measure_latency(s, series);
        b->ratio = s->of[series].min / s->of[SERIES_KERNEL].min;
    }
}
