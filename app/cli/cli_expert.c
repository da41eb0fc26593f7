/* `tilescope expert`: finds a good schedule without tuning. */
#include "app/cli/cli.h"

#include <stdio.h>
#include <stdlib.h>

#include "sessions/file/expert_file.h"
#include "sessions/file/session_network.h"

#define MOST_SCHEDULES 64

struct expert_opts { int measured, threads; double time_s; };

static bool read_options(const struct args *a, struct expert_opts *o, struct err *e)
{
    *o = (struct expert_opts){ .threads = 1, .time_s = 0.1 };
    return args_int(a, OPT_SEARCH, 1, MOST_SCHEDULES, &o->measured, e)
        && args_int(a, OPT_THREADS, 1, 1024, &o->threads, e)
        && args_double(a, OPT_TIME, 0.001, 600, &o->time_s, e);
}

/* Prints a comment and the step lines, a script for `--steps` of other commands. */
static void print_schedule(struct arena *a, const char *spec, const struct expert_schedule *s,
                           const struct measurement *m)
{
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
    for (int i = 0; i < s->n; i++)
        str_printf(&out, "%s\n", s->step[i]);
    cli_put(&out);
}

/* Saves the session with the steps of the schedule after its own.  m belongs to these steps alone:
 * after other steps the program is another one, so m is then not saved. */
static bool write_session(struct session *s, const struct expert_schedule *x, const struct goal *to,
                          const struct measurement *m, struct err *e)
{
    if (history_current(s->history)->program->n_steps > 0)
        m = NULL;
    for (int i = 0; i < x->n; i++)
        if (!history_apply(s->history, x->step[i], e))
            return false;
    if (m && session_measured_here(s) > 0)
        fprintf(stderr, "note: %s has no numbers of another machine\n", to->path);
    if (m)
        history_add_measured(s->history, history_current(s->history)->id, m, false);
    return cli_save(s, to, e);
}

static bool choose(const struct cli *c, struct session *s, const struct expert_opts *o,
                   struct err *e)
{
    struct arena *a = arena_new();
    struct experts all;
    struct expert_schedule list[MOST_SCHEDULES];
    struct measurement *m = calloc(1, sizeof *m);
    const char *spec = history_spec(s->history);
    struct goal to;
    struct progress pr = cli_progress(c);
    struct measure_opts mo = { .meters = METER_CLOCK, .threads = o->threads, .seed = 1,
                               .time_s = o->time_s };
    int n, best = 0, most = o->measured ? o->measured : 1;
    bool ok = cli_goal(s, args_value(c->args, OPT_OUTPUT), &to, e) && expert_file_all(a, &all, e);
    all.accuracy = ok ? session_expert_accuracy(s, NULL) : 0;
    ok = ok && expert_schedules(a, &all, spec, NULL, o->threads, most, list, &n, e)
           && (!o->measured || expert_fastest(spec, list, n, &mo, &pr, c->cancel, &best, m, e));
    cli_progress_clear(c);
    if (ok && to.path)
        ok = write_session(s, &list[best], &to, o->measured ? m : NULL, e);
    else if (ok)
        print_schedule(a, spec, &list[best], o->measured ? m : NULL);
    free(m);
    arena_free(a);
    return ok;
}

int cli_expert(const struct cli *c)
{
    struct expert_opts asked;
    struct err e = {0};
    struct opened o;
    if (!read_options(c->args, &asked, &e))
        return cli_fail(c, &e);
    int code = cli_open(c, &o);
    if (code != EXIT_FINE)
        return code;
    if (!choose(c, o.session, &asked, &e))
        code = cli_fail(c, &e);
    cli_close(&o);
    return code;
}
