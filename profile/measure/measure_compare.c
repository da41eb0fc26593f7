/* Compares programs in one child. */
#include "profile/measure/measure.h"
#include "profile/measure/job.h"

#include <math.h>
#include <stdlib.h>

#define SITTINGS 20
#define ALONE_S 0.05

_Static_assert(MEASURE_MAX_COMPARED <= PROTOCOL_MAX_CONTENDERS, "each is a contender");

struct contest {
    struct measure_job job[MEASURE_MAX_COMPARED];
    /* the jobs that no error has dropped so far */
    struct measure_job *alive[MEASURE_MAX_COMPARED];
    int n, n_alive;
    struct runner *runner;
    bool died;  /* another process has killed a child of this comparison once */
    struct samples samples;                               /* hot times; owned by the child */
};

static void drop(struct contest *c, int which, const struct err *e)
{
    measure_end(c->alive[which], false, e);
    c->n_alive--;
    for (int i = which; i < c->n_alive; i++)
        c->alive[i] = c->alive[i + 1];
}

static void close_runner(struct contest *c)
{
    runner_close(c->runner);
    c->runner = NULL;
    for (int i = 0; i < c->n; i++)
        c->job[i].runner = NULL;
}

/* Returns the index of the program that needs too much memory, cannot be loaded, or whose results
 * or times were found wrong while it was timed; -1: no such program. */
static int find_refused(const struct contest *c)
{
    for (int i = 0; i < c->n_alive; i++)
        if (c->alive[i]->refused)
            return i;
    return -1;
}

/* Checks all programs.  Returns the index of the first that needs too much memory, cannot be loaded
 * or fails; -1: none fails; -2: the child cannot be opened. */
static int check_all(struct contest *c, struct err *e)
{
    bool open = measure_open_runner(c->alive, c->n_alive, e);
    c->runner = c->alive[0]->runner;
    if (!open) {
        int bad = measure_is_result(e) ? find_refused(c) : -1;
        return bad < 0 ? -2 : bad;
    }
    for (int i = 0; i < c->n_alive; i++)
        if (!measure_check(c->alive[i], e))
            return i;
    return -1;
}

/* Checks all programs. When one fails, the others start again in a new child, since the old one may
 * be damaged. When another process kills the child, all start again, but only once. A program whose
 * child is killed twice counts as crashed. */
static bool check(struct contest *c, struct err *e)
{
    const struct measure_job *killed = NULL;
    while (c->n_alive > 0) {
        int bad = check_all(c, e);
        if (bad == -1)
            return true;
        close_runner(c);
        if (e->code == ERR_KILLED && !c->died) {
            killed = bad < 0 ? NULL : c->alive[bad];
            c->died = true;
            continue;
        }
        if (bad >= 0 && c->alive[bad] == killed)
            measure_blame(e);
        if (bad < 0 || !measure_is_result(e))
            return false;
        drop(c, bad, e);
    }
    return true;
}

static void take_back(struct compared *out)
{
    out->ratio = (struct ratio){ 0 };
    out->verdict = VERDICT_NONE;
    out->same_code = false;
}

static void compare(const struct contest *c, struct compared *out, struct comparison *how)
{
    const struct samples *s = &c->samples;
    const double *ceiling = s->sample[SERIES_CEILING], *first = s->sample[SERIES_KERNEL];
    *how = (struct comparison){ s->rounds, s->n_blocks,
                                ceiling ? stats_disturbed(ceiling, s->rounds) : NAN };
    for (int i = 1; i < c->n_alive; i++) {
        struct compared *to = &out[c->alive[i] - c->job];
        to->ratio = stats_ratio(first, s->sample[SERIES_KERNEL + i], s->rounds, s->block,
                                s->n_blocks, MEASURE_BOOTSTRAP_SEED);
        to->same_code = c->alive[i]->source && c->alive[i]->source == c->alive[0]->source;
        to->verdict = stats_verdict(&to->ratio);
        if (to->same_code && to->verdict != VERDICT_NONE)
            to->verdict = VERDICT_SAME;
    }
}

static bool time_once(struct contest *c, struct compared *out, struct comparison *how,
                      struct err *e)
{
    if (!measure_time(c->alive, c->n_alive, SITTINGS, &c->samples, e))
        return false;
    compare(c, out, how);
    return !c->alive[0]->opts.cold || measure_time_cold(c->alive, c->n_alive, e);
}

static bool time_all(struct contest *c, struct compared *out, struct comparison *how,
                     struct err *e)
{
    if (c->n_alive == 0 || time_once(c, out, how, e))
        return true;
    if (e->code != ERR_KILLED || c->died)
        return false;
    c->died = true;
    close_runner(c);
    return check(c, e) && (c->n_alive == 0 || time_once(c, out, how, e));
}

/* Finds the program that ended the child: times each program alone for a moment. Returns the index
 * of the first that fails, with its error in *e. Returns -1 if none fails, which leaves *e alone,
 * or on a cancel, which is then in *e. */
static int find_failing(struct contest *c, struct err *e)
{
    for (int i = 0; i < c->n_alive && c->n_alive > 1; i++) {
        struct measure_job *j = c->alive[i];
        struct sampled what = { .time_s = ALONE_S, .min_runs = j->opts.min_runs, .as_is = true };
        struct samples s;
        struct err why;
        close_runner(c);
        bool ok = measure_open_runner(&j, 1, &why) && measure_check(j, &why)
               && measure_sample(&j, 1, &what, &s, &why);
        c->runner = j->runner;
        if (!ok && why.code == ERR_CANCEL) {
            *e = why;
            return -1;
        }
        if (!ok && measure_is_result(&why)) {
            *e = why;
            return i;
        }
    }
    return -1;
}

/* Checks and times.  A program that turns out to be wrong is removed, and the others start again
 * in a new child. */
static bool check_and_time(struct contest *c, struct compared *out, struct comparison *how,
                           bool *checked, struct err *e)
{
    for (;;) {
        for (int i = 0; i < c->n; i++)
            take_back(&out[i]);
        *checked = check(c, e);
        if (!*checked)
            return false;
        if (time_all(c, out, how, e))
            return true;
        int bad = measure_is_result(e) ? find_refused(c) : -1;
        if (bad < 0 && e->code != ERR_TIMEOUT && measure_is_result(e))
            bad = find_failing(c, e);
        if (bad < 0)
            return false;
        close_runner(c);
        drop(c, bad, e);
    }
}

/* Starts the jobs.  A program that cannot be lowered is dropped.  Returns false when nothing can be
 * measured here, or on a cancel. */
static bool start(struct contest *c, const struct program *const *p, const struct measure_opts *o,
                  const struct progress *pr, const struct cancel *cancel, struct compared *out,
                  struct err *e)
{
    for (int i = 0; i < c->n; i++) {
        struct measure_job *j = &c->job[i];
        bool ok = measure_start(j, p[i], o, &out[i].m, e);
        j->progress = pr;
        j->cancel = cancel;
        c->alive[c->n_alive++] = j;
        if (ok && measure_lower(j, e))
            continue;
        if (!measure_is_result(e))
            return false;
        drop(c, c->n_alive - 1, e);
    }
    return true;
}

/* Checks the host twin, and builds the kernel for the device if there is one. */
static bool build_for_gpu(struct measure_job *j, struct err *e)
{
    measure_find_device(j);
    return measure_twin(j, e) && (!j->device || measure_move_to_device(j, e));
}

/* Builds the programs; one that cannot be built, or whose twin is wrong, is dropped. */
static bool build(struct contest *c, bool gpu, struct err *e)
{
    for (int i = 0; i < c->n_alive;) {
        if ((gpu ? build_for_gpu : measure_build)(c->alive[i], e)) {
            i++;
            continue;
        }
        if (!measure_is_result(e))
            return false;
        drop(c, i, e);
    }
    return true;
}

/* Whether a GPU can time the programs.  Call it after build(), which looks for the GPU. */
static bool has_device(const struct contest *c)
{
    bool has = false;
    for (int i = 0; i < c->n; i++)
        has = has || c->job[i].device;
    return has;
}

/* Whether all programs are for a GPU, or none is: times on a GPU and on a CPU have no common
 * clock. */
static bool one_kind(const struct contest *c, bool *gpu, struct err *e)
{
    *gpu = c->n_alive > 0 && c->alive[0]->target->gpu;
    for (int i = 1; i < c->n_alive; i++)
        if (c->alive[i]->target->gpu != *gpu) {
            err_set(e, ERR_RANGE, "some of the programs are for a GPU and some for a CPU, and no "
                    "clock times both");
            return err_fix(e, "compare schedules for one target");
        }
    return true;
}

bool measure_compare(const struct program *const *p, int n, const struct measure_opts *o,
                     const struct progress *pr, const struct cancel *c, struct compared *out,
                     struct comparison *how, struct err *e)
{
    double began = clock_s();
    struct contest x = { .n = n };
    struct measure_opts opts = *o;
    if (n < 1 || n > MEASURE_MAX_COMPARED)
        return err_set(e, ERR_RANGE, "%d programs: from 1 to %d can be compared", n,
                       MEASURE_MAX_COMPARED);
    opts.meters = METER_CLOCK;
    opts.time_s = o->time_s > 0 ? o->time_s : MEASURE_COMPARE_S;
    *how = (struct comparison){ .disturbed = NAN };
    for (int i = 0; i < n; i++)
        out[i] = (struct compared){ .verdict = VERDICT_NONE };
    bool ok = false, gpu = false;
    bool built = start(&x, p, &opts, pr, c, out, e) && one_kind(&x, &gpu, e)
              && build(&x, gpu, e);
    bool untimed = gpu && !has_device(&x);
    bool timed = built && (untimed || check_and_time(&x, out, how, &ok, e));
    close_runner(&x);
    for (int i = 0; i < x.n_alive; i++)
        measure_end(x.alive[i], timed, e);
    for (int i = 0; i < n; i++) {
        out[i].m.total_s = clock_s() - began;
        if (out[i].m.outcome != OUTCOME_OK)
            take_back(&out[i]);
    }
    return timed || (ok && measure_is_result(e));
}

/* Progress over all groups. In each phase, earlier groups count as done. Numbers of programs,
 * without the first program: done: in the earlier groups; now: in the current group; n: in all. */
struct whole { const struct progress *to; int done, now, n; };

static void report_whole(void *ctx, const char *what, double fraction)
{
    const struct whole *w = ctx;
    double part = fraction > 0 ? fraction * w->now : 0;
    w->to->report(w->to->ctx, what, (w->done + part) / w->n);
}

bool measure_compare_each(const struct program *const *p, int n, const struct measure_opts *o,
                          const struct progress *pr, const struct cancel *c, struct compared *out,
                          struct comparison *how, struct err *e)
{
    struct whole w = { .to = pr, .n = n - 1 };
    struct progress all = { report_whole, &w };
    struct compared *group = xcalloc(MEASURE_MAX_COMPARED, sizeof *group);
    bool ok = n > 1 || err_set(e, ERR_RANGE, "there is nothing to compare with");
    for (int from = 1; ok && from < n; from += w.now) {
        const struct program *member[MEASURE_MAX_COMPARED] = { p[0] };
        int most = MEASURE_MAX_COMPARED - 1;
        w.done = from - 1;
        w.now = n - from < most ? n - from : most;
        for (int i = 0; i < w.now; i++)
            member[i + 1] = p[from + i];
        ok = measure_compare(member, w.now + 1, o, pr && pr->report ? &all : NULL, c, group, how,
                             e);
        /* If the first program failed, the ratios of the group would refer to another program. */
        if (ok && group[0].m.outcome != OUTCOME_OK)
            ok = err_set(e, ERR_RANGE, "the first program has no time: %.300s",
                         group[0].m.reason[0] ? group[0].m.reason
                                              : outcome_name[group[0].m.outcome]);
        out[0] = group[0];
        for (int i = 0; ok && i < w.now; i++)
            out[from + i] = group[i + 1];
    }
    free(group);
    return ok;
}
