#include "profile/measure/batch_impl.h"

#include "kernels/base/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TIME_S 0.02
#define DEFAULT_MIN_RUNS 3
#define DEFAULT_PER_CALL 8
#define DEFAULT_COMPILE_CPU_S 5
#define DEFAULT_GIVE_UP_RATIO 3
#define MOST_PART 1024
#define MOST_KILLED 3
#define BESIDE_PART 2  /* most candidates per compiler in a part if compilers run beside timing */

static struct batch_opts with_defaults(const struct batch_opts *o)
{
    struct batch_opts d = *o;
    d.measure.meters = METER_CLOCK;
    d.measure.baselines = 0;
    d.measure.cold = false;
    d.measure.detail = NULL;
    d.measure.time_s = o->measure.time_s > 0 ? o->measure.time_s : DEFAULT_TIME_S;
    d.measure.min_runs = o->measure.min_runs > 0 ? o->measure.min_runs : DEFAULT_MIN_RUNS;
    d.per_call = o->per_call > 0 ? o->per_call : DEFAULT_PER_CALL;
    d.compile_cpu_s = o->compile_cpu_s > 0 ? o->compile_cpu_s : DEFAULT_COMPILE_CPU_S;
    d.give_up_ratio = o->give_up_ratio != 0 ? o->give_up_ratio : DEFAULT_GIVE_UP_RATIO;
    return d;
}

bool batch_new(const struct program *p, const struct batch_opts *o, const struct cancel *c,
               struct batch **out, struct err *e)
{
    const struct oracle *oracle;
    if (!oracle_acquire(p->base, o->measure.seed, c, &oracle, e))
        return false;
    struct batch *b = xcalloc(1, sizeof *b);
    *b = (struct batch){ .opts = with_defaults(o), .spec = xstrdup(p->base->spec),
                         .oracle = oracle, .best_s = INFINITY };
    *out = b;
    return true;
}

void batch_free(struct batch *b)
{
    if (!b)
        return;
    runner_close(b->runner);
    oracle_release(b->oracle);
    free(b->spec);
    free(b);
}

void batch_expect(struct batch *b, double best_ms)
{
    if (best_ms > 0 && 1e-3 * best_ms < b->best_s)
        b->best_s = 1e-3 * best_ms;
}

struct batch_stats batch_stats(const struct batch *b)
{
    return b->stats;
}

/* --- A run ------------------------------------------------------------------------------------ */

bool batch_killed(int *in_a_row, bool killed, struct err *e)
{
    *in_a_row = killed ? *in_a_row + 1 : 0;
    if (*in_a_row < MOST_KILLED)
        return true;
    struct err last = *e;
    err_set(e, ERR_ENV, "the last %d candidates all ended like this: %s", *in_a_row, last.text);
    return err_fix(e, "%s", last.fix);
}

void batch_end(struct batch_run *r, struct candidate *x, bool ok, const struct err *e)
{
    struct batch *b = r->batch;
    struct measurement *m = &x->item->m;
    measure_end(&x->job, ok, e);
    m->build_s = x->item->compile_s;
    m->total_s = x->item->compile_s + x->item->measure_s;
    x->final = true;
    b->stats.of[m->outcome]++;
    b->stats.given_up += x->item->given_up;
    if (ok)
        batch_expect(b, m->latency.min_ms);
    if (b->opts.measured && m->outcome != OUTCOME_CANCEL)
        b->opts.measured(b->opts.ctx, x->item);
}

/* Opens a job for every item, even if one fails. *e has the first error. */
static bool open_jobs(struct batch_run *r, struct batch_item *item, struct err *e)
{
    bool ok = true;
    for (int i = 0; i < r->n; i++) {
        struct candidate *x = &r->candidate[i];
        const struct batch_item *given = &item[i];
        const struct program *p = given->p;
        struct err why;
        x->item = &item[i];
        item[i] = (struct batch_item){ .p = p, .code = given->code, .openmp = given->openmp };
        bool started = measure_start(&x->job, p, &r->batch->opts.measure, &item[i].m, &why);
        if (started && !streq(p->base->spec, r->batch->spec))
            started = err_set(&why, ERR_BUG, "a candidate of %.200s in a batch of %.200s",
                              p->base->spec, r->batch->spec);
        x->job.cancel = r->cancel;
        x->job.oracle = r->batch->oracle;
        if (ok && !started)
            *e = why;
        ok = ok && started;
    }
    return ok;
}

static bool measure_all(struct batch_run *r, struct err *e)
{
    const struct measure_job reporter = { .progress = r->progress };
    for (int i = 0; i < r->n; i++) {
        struct candidate *x = &r->candidate[i];
        measure_report(&reporter, "measuring", (double)(r->before + i) / r->all);
        if (x->refused)
            batch_end(r, x, false, &x->why);
        else if (!batch_measure(r, x, e))
            return false;
    }
    return true;
}

/* Returns how many of the `left` remaining candidates the next part has. beside: number of
 * compilers that run while a part is measured. If there are such compilers, parts are small, so
 * that measuring begins soon: nothing can be measured while the first part is compiled. */
static int next_part(const struct batch_run *r, int left, int beside)
{
    struct batch *b = r->batch;
    int jobs = batch_jobs(r), most = beside > 0 ? BESIDE_PART * jobs : MOST_PART;
    if (!b->opts.soon)
        return left;
    b->part = b->part == 0 ? jobs : 2 * b->part;
    b->part = b->part > most ? most : b->part;
    return left < b->part ? left : b->part;
}

/* Sets *part to the next part, which begins at candidate `at`, and writes the C sources of its
 * candidates. beside: as in next_part. */
static bool write_part(const struct batch_run *r, int at, int beside, struct batch_run *part,
                       struct err *e)
{
    *part = *r;
    part->before = at;
    part->candidate += at;
    part->n = next_part(r, r->n - at, beside);
    r->batch->parts++;
    return batch_write(part, e);
}

/* Compiles and measures part after part. If cores are idle, the next part is compiled while a part
 * is measured. The first part of a batch is measured without compilers beside it, so that even a
 * search that is killed early has measured something. */
static bool run(struct batch_run *r, struct batch_item *item, struct err *e)
{
    struct batch_stats *s = &r->batch->stats;
    struct batch_run part[2];
    bool ok = open_jobs(r, item, e);
    int beside = batch_jobs_beside(r);
    double start = clock_s();
    ok = ok && write_part(r, 0, beside, &part[0], e);
    struct shop *next = ok ? batch_build_begin(&part[0], batch_jobs(r)) : NULL;
    for (int i = 0, at = 0; next; i = !i) {
        ok = batch_build_end(next, ok, e);
        next = NULL;
        at += part[i].n;
        bool more = ok && at < r->n && (ok = write_part(r, at, beside, &part[!i], e));
        if (more && beside > 0 && r->batch->parts > 2)
            next = batch_build_begin(&part[!i], beside);
        part[i].beside = next != NULL;
        double built = clock_s();
        s->compile_s += built - start;
        ok = ok && measure_all(&part[i], e);
        start = clock_s();
        s->measure_s += start - built;
        if (more && ok && !next)
            next = batch_build_begin(&part[!i], batch_jobs(r));
    }
    s->compile_s += clock_s() - start;
    return ok;
}

bool batch_run(struct batch *b, struct batch_item *item, int n, const struct progress *pr,
               const struct cancel *c, struct err *e)
{
    struct batch_run r = { .batch = b, .n = n, .all = n, .progress = pr, .cancel = c,
                           .candidate = xcalloc((size_t)n + 1, sizeof *r.candidate) };
    bool ok = run(&r, item, e);
    for (int i = 0; i < n; i++) {
        if (!r.candidate[i].final)
            batch_end(&r, &r.candidate[i], false, e);
        str_free(&r.candidate[i].text);
    }
    free(r.candidate);
    return ok;
}
