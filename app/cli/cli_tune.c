/* `tilescope tune`: searches the fastest schedule for a session. */
#include "app/cli/cli_follow.h"
#include "app/cli/cli_network.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "explorer/tune/strategies.h"
#include "kernels/gen/target.h"
#include "kernels/base/file.h"
#include "kernels/ops/source.h"
#include "profile/host/machine.h"
#include "sessions/file/session_network.h"
#include "sessions/tuning/pretrain.h"
#include "sessions/tuning/tuning.h"

#define LINE_EVERY_S 5.0                 /* seconds between lines, when stderr is not a terminal */
#define QUIET_AT_MOST_S 30.0             /* seconds between lines while nothing better is found */
#define DRAW_EVERY_S 0.2

struct tune_call {
    const struct cli *cli;
    struct tuning_opts opts;
    VEC(const char *) pin;
    struct str weights;
    struct goal to;                      /* the file of -o */
    struct follow follow;                /* the schedule of --follow */
    struct session *followed;            /* the session of that schedule, or NULL */
    struct gpu_device gpu;               /* the GPU of --gpu */
    bool json, quiet;
    double last_s;                       /* when progress was last printed */
    int last_best;                       /* the best trial at that time */
    enum tune_stage last_stage;          /* the stage at that time */
};

static bool read_weights(struct tune_call *t, struct err *e)
{
    const char *file = args_value(t->cli->args, OPT_WEIGHTS);
    struct arena *a = arena_new();
    bool ok = !file || pretrain_weights_bytes(a, file, true, &t->weights, NULL, e);
    if (ok && file) {
        t->opts.weights = t->weights.data;
        t->opts.weights_bytes = t->weights.len;
    }
    arena_free(a);
    return ok;
}

/* Refuses options that contradict each other or would have no effect. */
static bool agree(const struct args *a, const struct tuning_opts *o, struct err *e)
{
    if (o->fresh && o->resume) {
        err_set(e, ERR_SYNTAX,
                "--fresh and --resume exclude each other: one starts again, the other continues");
        return err_fix(e, "leave out one of the two");
    }
    if (args_has(a, OPT_WEIGHTS) && o->strategy && !streq(o->strategy, "ppo")) {
        err_set(e, ERR_SYNTAX, "--weights is only for the agents of ppo; strategy %s has none",
                o->strategy);
        return err_fix(e, "use --strategy ppo, or leave --weights out");
    }
    return true;
}

/* Warns if there are more threads than cores: the threads then take turns, which distorts times. */
static void warn_threads(const struct tune_call *t)
{
    struct machine m;
    machine_read(&m);
    if (m.cores > 0 && t->opts.measure.threads > m.cores && !t->quiet)
        fprintf(stderr, "note: %d threads on %d core%s: they wait for each other\n",
                t->opts.measure.threads, m.cores, m.cores == 1 ? "" : "s");
}

/* Reads --objective (whether candidates are timed or simulated) and --gpu (the simulated GPU). */
static bool read_objective(struct tune_call *t, struct err *e)
{
    const struct args *a = t->cli->args;
    const char *objective = args_value(a, OPT_OBJECTIVE), *gpu = args_value(a, OPT_GPU);
    t->opts.simulated = objective && streq(objective, "simulated");
    if (objective && !t->opts.simulated && !streq(objective, "measured"))
        return err_set(e, ERR_SYNTAX, "--objective %.40s: expected measured or simulated",
                       objective);
    if (gpu && !t->opts.simulated) {
        err_set(e, ERR_SYNTAX, "--gpu names a GPU to simulate, but without --objective "
                "simulated the candidates are timed");
        return err_fix(e, "--objective simulated --gpu %s", gpu);
    }
    if (gpu && !gpu_device_parse(gpu, &t->gpu, e))
        return false;
    t->opts.measure.gpu = gpu ? &t->gpu : NULL;
    return true;
}

static bool read_options(struct tune_call *t, struct err *e)
{
    const struct args *a = t->cli->args;
    struct tuning_opts *o = &t->opts;
    o->strategy = args_value(a, OPT_STRATEGY);
    o->measure.threads = o->levels = 1;
    o->seed = o->measure.seed = 1;
    o->experts = TUNING_EXPERTS;
    o->baselines = 1u << VENDOR_ONEDNN;
    if (!args_int(a, OPT_BUDGET, 1, 10000000, &o->budget, e) ||
        !args_int(a, OPT_THREADS, 1, 1024, &o->measure.threads, e) ||
        !args_seed(a, 0, &o->seed, e) || !args_int(a, OPT_LEVELS, 1, 2, &o->levels, e) ||
        !args_int(a, OPT_EXPERTS, 0, 64, &o->experts, e) ||
        !args_double(a, OPT_TIME, 0.1, 1e7, &o->time_s, e) ||
        (o->strategy && !strategy_find(o->strategy, e)) ||
        !args_baselines(a, &o->baselines, e))
        return false;
    o->seed_given = args_has(a, OPT_SEED);
    o->experts = o->experts > 0 ? o->experts : -1;
    o->loop_only = args_has(a, OPT_LOOP_ONLY);
    o->resume = args_has(a, OPT_RESUME);
    o->fresh = args_has(a, OPT_FRESH);
    o->no_ledger = !args_has(a, OPT_OUTPUT);
    o->measure.compiler = args_value(a, OPT_COMPILER);
    for (int i = 0; i < a->given.len; i++)
        if (a->given.data[i].opt == OPT_PIN)
            vec_push(&t->pin, a->given.data[i].value);
    o->pin = t->pin.data;
    o->n_pins = t->pin.len;
    t->json = args_has(a, OPT_JSON);
    t->quiet = args_has(a, OPT_QUIET);
    return agree(a, o, e) && read_weights(t, e) && read_objective(t, e) &&
           args_target(a, &o->measure.target, e);
}

/* --- During the search ----------------------------------------------------------------------- */

static void add_failures(struct str *out, const int *failed, const char *between)
{
    for (int i = 0, n = 0; i < OUTCOME_COUNT; i++)
        if (failed[i] > 0)
            str_printf(out, "%s%d %s", n++ ? between : "", failed[i], outcome_name[i]);
}

static void add_duration(struct str *out, double s)
{
    if (s >= 90)
        str_printf(out, "%d:%02d min", (int)s / 60, (int)s % 60);
    else
        str_printf(out, "%.0f s", s);
}

/* Adds " 312/1000 loops  best 0.213 ms (about 8.10x as fast as the start)  2.4/s  failed 7  4:12
 * min left". */
static void add_progress(struct str *out, const struct tune_view *v)
{
    int failed = 0;
    for (int i = 0; i < TUNE_OUTCOMES; i++)
        failed += v->failed[i];
    str_printf(out, "%4d/%d %-6s", v->done, v->budget, stage_name[v->stage]);
    if (v->best >= 0) {
        str_add(out, " best ");
        str_ms(out, v->best_ms);
        if (isfinite(v->start_ms))
            str_printf(out, " (%s%.2fx as fast as the start)",
                       v->simulated[0] ? "" : "about ", v->start_ms / v->best_ms);
    }
    if (v->simulated[0])
        str_printf(out, "  simulated on %s", v->simulated);
    int fresh = v->done - v->replayed;
    if (v->replayed > 0 && fresh == 0)
        str_add(out, "  replaying");
    else if (v->times.elapsed > 1)
        str_printf(out, "  %.1f/s", fresh / v->times.elapsed);
    if (failed > 0)
        str_printf(out, "  failed %d", failed);
    if (isfinite(v->left_s) && v->stage != STAGE_DONE) {
        str_add(out, "  ");
        add_duration(out, v->left_s);
        str_add(out, " left");
    }
}

/* Prints progress. On a terminal, overwrites one line. Elsewhere, prints a new line when a stage
 * begins, when the best trial has changed (after LINE_EVERY_S seconds at the earliest), and after
 * QUIET_AT_MOST_S seconds. */
static void show(void *ctx, const struct tune_view *v)
{
    struct tune_call *t = ctx;
    double now = clock_s(), since = now - t->last_s;
    bool terminal = t->cli->progress, stage = v->stage != t->last_stage;
    double every = terminal ? DRAW_EVERY_S : v->best != t->last_best ? LINE_EVERY_S
                                                                     : QUIET_AT_MOST_S;
    bool final = terminal && v->stage == STAGE_DONE;  /* the final has few steps: each is shown */
    if (t->quiet || v->done == 0 || (!stage && !final && since < every))
        return;
    struct str line = {0};
    add_progress(&line, v);
    if (terminal)
        fprintf(stderr, "\r\033[K%.*s  %s", 100, str_text(&line), v->doing);
    else if (v->stage != STAGE_DONE)
        fprintf(stderr, "%s\n", str_text(&line));
    str_free(&line);
    fflush(stderr);
    t->last_s = now;
    t->last_best = v->best;
    t->last_stage = v->stage;
}

static void clear_line(const struct tune_call *t)
{
    if (t->cli->progress && !t->quiet)
        fputs("\r\033[K", stderr);
}

/* --- The report ------------------------------------------------------------------------------ */

static void label(struct str *out, const char *name)
{
    str_printf(out, "%-10s", name);
}

/* If the best candidate of the search was not the fastest in the final, says so, because the
 * progress has shown the time of that candidate. */
static void add_lost(struct str *out, const struct tune_result *r)
{
    struct tuning_timed timed[TUNING_MOST_TIMED];
    const struct tuning_timed *lost = tuning_lost(timed, tuning_timed(r, timed), r->view);
    if (!lost)
        return;
    label(out, "final:");
    tuning_print_lost(out, lost, r->view, str_ms);
    str_add(out, "\n");
}

/* Adds the times of the winner and of the session. Times of the final are taken if there are any,
 * because times of separate measurements also differ by noise. */
static void add_best(struct str *out, const struct tune_call *u, const struct tuning *t)
{
    bool timed = t->measured && !t->simulated;
    const struct measurement *m = t->final_best ? t->final_best : timed ? &t->m : NULL;
    double best_ms = m ? m->latency.min_ms : t->best_ms;
    double start_ms = t->is_start ? best_ms : t->final_start ? t->final_start->latency.min_ms
                                                             : t->start_ms;
    label(out, "start:");
    if (isfinite(start_ms))
        str_ms(out, start_ms);
    else
        str_add(out, "not measured");
    str_add(out, "\n");
    label(out, "best:");
    if (isinf(t->best_ms)) {
        str_add(out, "none: no measured candidate is right\n");
        return;
    }
    str_ms(out, best_ms);
    if (t->is_start)
        str_add(out, ", unchanged: nothing is shown to be faster");
    else
        tuning_print_speedup(t, "", out);
    if (m ? m->gflops > 0 : t->gflops > 0)
        str_printf(out, ", %.1f GFLOP/s", m ? m->gflops : t->gflops);
    if (m && m->peak_fraction > 0)
        str_printf(out, ", %.0f %% of the FMA ceiling", 100 * m->peak_fraction);
    str_add(out, "\n");
    if (t->result)
        add_lost(out, t->result);
    if (t->other_contract[0]) {
        label(out, "contract:");
        str_printf(out, "%s\n", t->other_contract);
    }
    label(out, "verified:");
    cli_paint(out, u->cli->color_out, PAINT_GOOD, "true");
    str_add(out, "\n");
}

static void add_baselines(struct str *out, const struct tuning *t)
{
    for (int i = 0; t->measured && !t->simulated && i < VENDOR_COUNT; i++) {
        const struct baseline *b = &t->m.baseline[i];
        if (!b->available && !b->reason[0])
            continue;
        str_printf(out, "%s:%*s", vendor_name[i], (int)(9 - strlen(vendor_name[i])), " ");
        if (b->available) {
            str_ms(out, b->latency.min_ms);
            str_printf(out, ", %.2fx the time of this\n", b->ratio);
        } else {
            str_printf(out, "%s\n", b->reason);
        }
    }
}

/* Adds how long the search took, and what it spent the time on, in percent. */
static void add_times(struct str *out, const struct tune_result *r)
{
    const struct tune_times *t = &r->view->times;
    double all = t->elapsed + r->final_s;
    label(out, "time:");
    add_duration(out, all);
    str_printf(out, ": compiling %.0f %%, measuring %.0f %%, model %.0f %%, search %.0f %%, "
               "final %.0f %%\n", 100 * t->compile / all, 100 * t->measure / all,
               100 * t->model / all, 100 * t->search / all, 100 * r->final_s / all);
}

/* Adds the schedules from which the search started. */
static void add_seeds(struct str *out, const struct tune_call *u, const struct tuning *t)
{
    int n = tuning_experts(t);
    label(out, "seeds:");
    if (n > 0)
        str_printf(out, "the session and %d expert schedule%s\n", n, n == 1 ? "" : "s");
    else if (u->opts.experts < 0)
        str_add(out, "the session alone, by --experts 0\n");
    else
        str_add(out, "the session alone: no program started from an expert\n");
}

static void add_search(struct str *out, const struct tuning *t)
{
    const struct tune_result *r = t->result;
    int from = plan_layouts_from();
    label(out, "spaces:");
    str_printf(out, "%.3g layouts, %d tried; %.3g loop schedules of the best one\n", r->layouts,
               r->view->layouts_tried, r->points);
    if (r->layouts > TUNE_FEW_LAYOUTS && r->view->layouts_tried < TUNE_FEW_LAYOUTS
        && t->budget < from) {
        label(out, "");
        str_printf(out, "the budget is too small to search layouts, which takes about %d trials\n",
                   (from + 9) / 10 * 10);
    }
    if (r->view->accuracy.known) {
        const struct tune_accuracy *m = &r->view->accuracy;
        label(out, "model:");
        str_printf(out, "ordered %.0f %% of the pairs of the last %d trials as measured; found "
                   "%.0f of their best 8\n", 100 * m->pair_order, m->n, 8 * m->recall8);
    }
    if (r->view->agents.known) {
        label(out, "agents:");
        int n = r->view->agents.episodes;
        str_printf(out, "%d episode%s", n, n == 1 ? "" : "s");
        if (isfinite(r->view->agents.loop_entropy))
            str_printf(out, ", entropy %.2f of loops", r->view->agents.loop_entropy);
        str_add(out, "\n");
    }
    add_times(out, r);
}

/* Marks every line that is not empty as simulated. In a step line the mark is a comment, so that
 * the line can still be read as a step. */
static void mark_simulated(struct str *out, const struct tuning *t)
{
    struct str marked = {0};
    for (const char *at = str_text(out); *at;) {
        size_t n = strcspn(at, "\n");
        bool step = str_starts(at, "loop ") || str_starts(at, "layout ") || str_starts(at, "set ")
                 || str_starts(at, "algorithm ");
        str_add_n(&marked, at, n);
        if (n > 0)
            str_printf(&marked, step ? "  # simulated on %s" : " (simulated on %s)", t->simulated);
        str_add(&marked, at[n] ? "\n" : "");
        at += n + (at[n] != 0);
    }
    str_free(out);
    *out = marked;
}

static void add_text(struct str *out, const struct tune_call *u, const struct tuning *t)
{
    struct str spec = {0};
    spec_print_brief(&spec, t->spec);
    cli_paint(out, u->cli->color_out, PAINT_BOLD, str_text(&spec));
    str_free(&spec);
    str_printf(out, "\n");
    label(out, "trials:");
    str_printf(out, "%d of %d, %s (%s, seed %llu)", t->trials, t->budget, search_end_name[t->end],
               t->strategy, (unsigned long long)t->seed);
    if (t->answered)
        str_printf(out, "; from the records of %s", t->answered_date);
    else if (t->resumed >= 0)
        str_printf(out, "; %d of them were in the records", t->resumed);
    struct str failed = {0};
    add_failures(&failed, t->failed, ", ");
    str_printf(out, "\n%s%s%s", failed.len ? "failed:   " : "", str_text(&failed),
               failed.len ? "\n" : "");
    str_free(&failed);
    if (t->note[0]) {
        label(out, "note:");
        str_printf(out, "%s\n", t->note);
    }
    if (t->result)
        add_seeds(out, u, t);
    add_best(out, u, t);
    add_baselines(out, t);
    if (t->result)
        add_search(out, t);
    if (t->result && u->followed)
        cli_follow_text(out, &u->follow);
    label(out, "run:");
    str_printf(out, "%s in %s\n", t->run, t->records_file);
    for (int i = 0; i < t->n_lines; i++)
        str_printf(out, "%s%s\n", i == 0 ? "\n" : "", t->line[i]);
}

/* Prints remarks on stderr that are about this call, and not part of its result. */
static void say_more(const struct tune_call *u, const struct tuning *t)
{
    if (u->opts.resume && t->resumed < 0 && !t->answered)
        fputs("there was nothing to resume: this was a new run\n", stderr);
    if (u->quiet)
        return;
    if (t->end == SEARCH_SETTLED)
        fprintf(stderr, "the last %d trials gained less than %.0f %%; the same command with "
                "--resume continues from %d of %d\n", SETTLE_TRIALS, 100 * SETTLE_GAIN,
                t->trials, t->budget);
    else if (t->end == SEARCH_CANCELLED || t->end == SEARCH_TIME)
        fprintf(stderr, "nothing is lost: the same command with --resume continues from %d of %d\n",
                t->trials, t->budget);
    else if (t->answered)
        fputs("measured before; --fresh measures again\n", stderr);
    else if (t->could_resume)
        fprintf(stderr, "run %s of the same task ended early; --resume continues it\n",
                t->could_resume);
}

static bool write_session(const struct tune_call *u, const struct tuning *t, struct opened *o,
                          struct err *e)
{
    const char *to = u->to.path;
    if (!to)
        return true;
    if (isinf(t->best_ms)) {
        fprintf(stderr, "%s is not written: there is nothing to write\n", to);
        return true;
    }
    int other = t->measured ? session_measured_here(o->session) : 0;
    if (!tuning_apply(t, o->session, true, e))
        return false;
    if (!cli_save(o->session, &u->to, e))
        return false;
    if (!u->quiet && !u->json)
        fprintf(stderr, "%s: saved the session with these steps%s\n", to,
                other ? ", without the numbers of another machine" : "");
    return true;
}

static int finish(const struct tune_call *u, const struct tuning *t, struct opened *o)
{
    struct str fingerprint = {0}, out = {0};
    struct err e = {0};
    machine_fingerprint_here(&fingerprint);
    if (u->json)
        tuning_json(&out, t, str_text(&fingerprint));
    else
        add_text(&out, u, t);
    if (t->simulated && !u->json)
        mark_simulated(&out, t);
    cli_put(&out);
    fflush(stdout);
    say_more(u, t);
    bool written = write_session(u, t, o, &e);
    str_free(&fingerprint);
    if (!written)
        return cli_fail(u->cli, &e);
    return t->end == SEARCH_CANCELLED ? EXIT_CANCELLED : isinf(t->best_ms) ? EXIT_CHECK
                                                                            : EXIT_FINE;
}

/* Whether a network would be tuned for a GPU, which is not supported; *e then says so. */
static bool refuse_gpu(const struct tune_call *u, struct err *e)
{
    const struct target *t = u->opts.measure.target;
    if (!u->opts.simulated && !(t && t->gpu))
        return false;
    err_set(e, ERR_STEP, "networks are tuned for CPUs, not for a GPU");
    err_fix(e, "--kernel K tunes one kernel of it alone");
    return true;
}

static int tune(struct tune_call *u)
{
    struct opened o;
    struct err e = {0};
    struct tuning *t;
    struct search_sink view = { .ctx = u, .view = show };
    if (!read_options(u, &e))
        return cli_fail(u->cli, &e);
    int code = cli_open(u->cli, &o);
    if (code != EXIT_FINE)
        return code;
    warn_threads(u);
    if (session_opens_as_network(o.session) && refuse_gpu(u, &e)) {
        cli_close(&o);
        return cli_fail(u->cli, &e);
    }
    if (session_opens_as_network(o.session)) {
        code = cli_goal(o.session, args_value(u->cli->args, OPT_OUTPUT), &u->to, &e)
                   ? cli_network_tune(u->cli, &o, &u->opts, &view, &u->to)
                   : cli_fail(u->cli, &e);
        cli_close(&o);
        return code;
    }
    u->opts.follow = args_has(u->cli->args, OPT_FOLLOW) ? &u->follow : NULL;
    bool ok = !args_has(u->cli->args, OPT_VARIANT)
           || (err_set(&e, ERR_SYNTAX, "--variant is for networks, and this is one operator"),
               err_fix(&e, "--loop-only leaves its layouts as they are"));
    ok = ok && cli_goal(o.session, args_value(u->cli->args, OPT_OUTPUT), &u->to, &e)
           && cli_follow_open(u->cli->args, o.session, &u->follow, &u->followed, &e)
           && tuning_run(o.session, &u->opts, &view, u->cli->cancel, &t, &e);
    clear_line(u);
    code = ok ? finish(u, t, &o) : cli_fail(u->cli, &e);
    if (ok)
        tuning_free(t);
    cli_close(&o);
    return code;
}

int cli_tune(const struct cli *c)
{
    struct tune_call u = { .cli = c, .last_best = -1, .last_stage = STAGE_COUNT };
    int code = tune(&u);
    vec_free(&u.pin);
    cli_follow_close(&u.follow, u.followed);
    str_free(&u.weights);
    return code;
}
