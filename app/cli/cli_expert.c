/* `tilescope expert`: finds a good schedule without tuning. */
#include "app/cli/cli.h"

#include <stdio.h>
#include <stdlib.h>

#include "explorer/expert/simulated.h"
#include "sessions/file/expert_file.h"
#include "sessions/file/session_network.h"

#define MOST_SCHEDULES 64
#define MOST_COMPILED 8  /* most schedules that are compiled to find one without register spills */

/* measured: how many candidates --search measures or simulates; 0: no search. gpu: the GPU of
 * --gpu; NULL: the default device. */
struct expert_opts {
    int measured, threads;
    double time_s;
    const struct target *target;
    const struct gpu_device *gpu;
};

static bool read_options(const struct args *a, struct expert_opts *o, struct gpu_device *gpu,
                         struct err *e)
{
    const char *device = args_value(a, OPT_GPU);
    *o = (struct expert_opts){ .threads = 1, .time_s = 0.1 };
    if (!args_target(a, &o->target, e) || (device && !gpu_device_parse(device, gpu, e)))
        return false;
    o->gpu = device ? gpu : NULL;
    if (device && (!o->target || !o->target->gpu)) {
        err_set(e, ERR_SYNTAX, "--gpu: the schedule is for a CPU");
        return err_fix(e, "--target cuda --gpu %s", device);
    }
    return args_int(a, OPT_SEARCH, 1, MOST_SCHEDULES, &o->measured, e)
        && args_int(a, OPT_THREADS, 1, 1024, &o->threads, e)
        && args_double(a, OPT_TIME, 0.001, 600, &o->time_s, e);
}

/* What the search found about its best schedule: the measurement m, or for a GPU the simulated
 * rating r. The other one is NULL; both are NULL without a search. */
struct found { const struct measurement *m; const struct expert_rating *r; };

static void add_rating(struct str *out, const struct expert_rating *r)
{
    str_printf(out, "# simulated: %.4g us at the least, bound by %s", r->ns / 1e3,
               gpu_bound_name[r->cost.bound]);
    if (r->compiled)
        str_printf(out, "; %d registers, %lld bytes of shared memory, occupancy %.0f %%",
                   r->registers, (long long)r->shared, 100 * r->occupancy);
    str_add_char(out, '\n');
}

/* Prints a comment and the step lines. The text is a script for `--steps` of other commands. */
static void print_schedule(struct arena *a, const char *spec, const struct expert_schedule *s,
                           const struct found *f)
{
    const struct measurement *m = f->m;
    struct str out = {0};
    str_printf(&out, "# %s\n# expert %s: %s\n", spec, s->expert->id, s->expert->title);
    str_printf(&out, "# %s\n", expert_chosen_text(a, s));
    if (m) {
        str_add(&out, "# ");
        str_ms(&out, m->latency.min_ms);
        str_printf(&out, ", %.1f GFLOP/s", m->gflops);
        if (m->peak_fraction > 0)
            str_printf(&out, ", %.0f %% of the FMA ceiling", 100 * m->peak_fraction);
        str_add_char(&out, '\n');
    }
    if (f->r)
        add_rating(&out, f->r);
    for (int i = 0; i < s->n; i++)
        str_printf(&out, "%s\n", s->step[i]);
    cli_put(&out);
}

/* Appends the steps of schedule x to the session, and saves the session with measurement m. If the
 * session already had steps, its program is not the measured one, so m is not saved. */
static bool write_session(struct session *s, const struct expert_schedule *x, const struct goal *to,
                          const struct measurement *m, struct err *e)
{
    if (history_current(s->history)->program->n_steps > 0)
        m = NULL;
    for (int i = 0; i < x->n; i++)
        if (!history_apply(s->history, x->step[i], e))
            return false;
    if (m && session_measured_here(s) > 0)
        fprintf(stderr, "note: %s is saved without the numbers that another machine measured\n",
                to->path);
    if (m)
        history_add_measured(s->history, history_current(s->history)->id, m, false);
    return cli_save(s, to, e);
}

/* Measures n schedules, or simulates them for a GPU, and stores the index of the best one in *best,
 * and its result in *m or *r. */
static bool search(const struct cli *c, const char *spec, const struct expert_opts *o,
                   const struct expert_schedule *list, int n, int *best, struct measurement *m,
                   struct expert_rating *r, struct err *e)
{
    struct progress pr = cli_progress(c);
    struct measure_opts mo = { .meters = METER_CLOCK, .threads = o->threads, .seed = 1,
                               .time_s = o->time_s };
    struct gpu_memory_opts go = { .device = o->gpu, .budget = EXPERT_RATED_ACCESSES };
    bool ok = o->target && o->target->gpu
                ? expert_least_simulated(spec, list, n, &go, &pr, c->cancel, best, r, e)
                : expert_fastest(spec, list, n, &mo, &pr, c->cancel, best, m, e);
    cli_progress_clear(c);
    return ok;
}

static bool choose(const struct cli *c, struct session *s, const struct expert_opts *o,
                   struct err *e)
{
    struct arena *a = arena_new();
    struct experts all;
    struct expert_schedule list[MOST_SCHEDULES];
    struct measurement *m = xcalloc(1, sizeof *m);
    struct expert_rating rating;
    const char *spec = history_spec(s->history);
    struct goal to;
    bool gpu = o->target && o->target->gpu;
    int n, best = 0, most = o->measured ? o->measured : gpu ? MOST_COMPILED : 1;
    bool ok = cli_goal(s, args_value(c->args, OPT_OUTPUT), &to, e) && expert_file_all(a, &all, e);
    all.accuracy = ok ? session_expert_accuracy(s, NULL) : 0;
    ok = ok && expert_schedules(a, &all, spec, o->target, o->threads, most, list, &n, e)
      && (o->measured ? search(c, spec, o, list, n, &best, m, &rating, e)
          : !gpu || expert_first_without_stack(spec, list, n, c->cancel, &best, e));
    const struct found found = { o->measured && !gpu ? m : NULL,
                                 o->measured && gpu ? &rating : NULL };
    if (ok && to.path)
        ok = write_session(s, &list[best], &to, found.m, e);
    else if (ok)
        print_schedule(a, spec, &list[best], &found);
    free(m);
    arena_free(a);
    return ok;
}

int cli_expert(const struct cli *c)
{
    struct expert_opts asked;
    struct err e = {0};
    struct opened o;
    struct gpu_device gpu;
    if (!read_options(c->args, &asked, &gpu, &e))
        return cli_fail(c, &e);
    int code = cli_open(c, &o);
    if (code != EXIT_FINE)
        return code;
    if (!choose(c, o.session, &asked, &e))
        code = cli_fail(c, &e);
    cli_close(&o);
    return code;
}
