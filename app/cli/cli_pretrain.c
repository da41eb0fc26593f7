/* `tilescope pretrain`: trains agents on a list of operators. */
#include "app/cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/base/file.h"
#include "kernels/gen/gen.h"
#include "sessions/file/json.h"
#include "sessions/tuning/pretrain.h"

struct pretrainer {
    const struct cli *cli;
    json_t *visits;
    bool json, quiet;
    double last_s;                       /* when progress was last printed */
};

static bool read_options(const struct args *a, struct pretrain *p, struct pretrain_opts *o,
                         struct err *e)
{
    int budget = p->budget;
    o->threads = 1;
    if (!args_int(a, OPT_BUDGET, 1, 1000000, &budget, e) || !args_seed(a, 0, &p->seed, e) ||
        !args_int(a, OPT_THREADS, 1, 1024, &o->threads, e))
        return false;
    p->measured = p->measured < p->budget && p->measured < budget ? p->measured : budget;
    p->budget = budget;
    o->weights = args_has(a, OPT_OUTPUT) ? args_value(a, OPT_OUTPUT) : "agents.weights";
    o->resume = args_has(a, OPT_RESUME);
    o->fresh = args_has(a, OPT_FRESH);
    o->compiler = args_value(a, OPT_COMPILER);
    return args_target(a, &o->target, e) && file_may_write(o->weights, e);
}

/* --- During the training --------------------------------------------------------------------- */

static void show(void *ctx, const struct pretrain_visit *v, const struct tune_view *t)
{
    struct pretrainer *x = ctx;
    double now = clock_s();
    if (x->quiet || !x->cli->progress || now - x->last_s < 0.2)
        return;
    fprintf(stderr, "\r\033[K%d/%d %.50s  %d/%d %s", v->number, v->of, v->workload, t->done,
            t->budget, t->doing);
    fflush(stderr);
    x->last_s = now;
}

static void keep_json(struct pretrainer *x, const struct pretrain_visit *v)
{
    json_array_append_new(x->visits, json_make(
        "workload", JSON(v->workload), "pass", JSON(v->pass), "trials", JSON(v->trials),
        "measured", JSON(v->measured), "known", JSON(v->known), "expected", JSON(v->expected),
        "failed", JSON(v->failed), "start_ms", JSON(v->start_ms), "best_ms", JSON(v->best_ms),
        "layout_entropy", JSON(v->agents.layout_entropy),
        "loop_entropy", JSON(v->agents.loop_entropy), "seconds", JSON(v->seconds)));
}

/* Adds "entropy 1.31, 0.98", the entropies of the layout agent and of the loop agent; "none" for an
 * agent that had no choice. Adds nothing if no agent was trained yet. */
static void add_entropy(struct str *out, const struct tune_agents *a)
{
    const double of[] = { a->layout_entropy, a->loop_entropy };
    const char *before = "  entropy ";
    for (int i = 0; a->known && i < COUNT_OF(of); i++) {
        str_add(out, before);
        if (isfinite(of[i]))
            str_printf(out, "%.2f", of[i]);
        else
            str_add(out, "none");
        before = ", ";
    }
}

/* Prints " 3/72  gmm m=128 k=768 n=768  4.123 ms -> 0.612 ms  entropy 1.31, 0.98  12 s"; with
 * --json keeps the numbers for the end. */
static void visited(void *ctx, const struct pretrain_visit *v)
{
    struct pretrainer *x = ctx;
    struct str out = {0};
    if (x->json) {
        keep_json(x, v);
        return;
    }
    if (x->quiet)
        return;
    cli_progress_clear(x->cli);
    str_printf(&out, "%3d/%d  %-40s ", v->number, v->of, v->workload);
    if (isfinite(v->start_ms))
        str_ms(&out, v->start_ms);
    str_add(&out, " -> ");
    if (isfinite(v->best_ms))
        str_ms(&out, v->best_ms);
    add_entropy(&out, &v->agents);
    str_printf(&out, "  %.0f s\n", v->seconds);
    cli_put(&out);
    fflush(stdout);
}

/* --- The end of the training ----------------------------------------------------------------- */

static void print_json(const struct pretrainer *x, const struct pretrain *p,
                       const struct pretrain_opts *o, const struct pretrain_done *done)
{
    struct str out = {0};
    json_print(&out, json_make(
        "format", JSON(1), "file", JSON(p->path), "weights", JSON(o->weights),
        "seed", JSON(p->seed), "passes", JSON(p->passes), "budget", JSON(p->budget),
        "measured", JSON(p->measured), "resumed", JSON(done->resumed),
        "visits", JSON(done->visits), "of", JSON(done->of), "finished", JSON(done->finished),
        "searches", json_incref(x->visits)), 6);
    cli_put(&out);
}

static int finish(const struct pretrainer *x, const struct pretrain *p,
                  const struct pretrain_opts *o, const struct pretrain_done *done)
{
    if (x->json)
        print_json(x, p, o, done);
    else if (done->visits > 0)
        printf("%s: %d of %d workloads%s\n", o->weights, done->visits, done->of,
               done->resumed == done->of ? ", nothing was left to do" : "");
    if (done->finished)
        return EXIT_FINE;
    if (!x->quiet && done->visits > 0)
        fputs("stopped: the same command with --resume continues\n", stderr);
    else if (!x->quiet)
        fputs("stopped before the first workload was done: the same command continues from the "
              "records\n", stderr);
    return EXIT_CANCELLED;
}

static int pretrain(struct pretrainer *x, struct arena *a)
{
    const struct cli *c = x->cli;
    const struct pretrain *read;
    struct pretrain_opts o = { .ctx = x, .visited = visited, .view = show };
    struct pretrain_done done;
    struct err e = {0};
    if (c->args->word.len > 1)
        return cli_usage(c, "one file of workloads");
    if (!pretrain_read(a, c->args->word.len ? c->args->word.data[0] : NULL, &read, &e))
        return cli_fail(c, &e);
    struct pretrain p = *read;
    if (!read_options(c->args, &p, &o, &e))
        return cli_fail(c, &e);
    bool ok = pretrain_run(&p, &o, c->cancel, &done, &e);
    cli_progress_clear(c);
    return ok ? finish(x, &p, &o, &done) : cli_fail(c, &e);
}

int cli_pretrain(const struct cli *c)
{
    struct pretrainer x = {
        .cli = c, .visits = json_array(), .json = args_has(c->args, OPT_JSON),
        .quiet = args_has(c->args, OPT_QUIET),
    };
    struct arena *a = arena_new();
    int code = pretrain(&x, a);
    arena_free(a);
    json_decref(x.visits);
    return code;
}
