/* `tilescope tune` of a network. */
#include "app/cli/cli_network.h"

#include <math.h>
#include <stdio.h>

#include "kernels/base/arena.h"
#include "sessions/file/json.h"
#include "sessions/tuning/network_tuning.h"

struct saving { const struct cli *cli; struct goal *to; bool saved; };

/* Prints on stderr, at the beginning of a round, which kernel it tunes and how far the network
 * is. */
static void show(void *ctx, const struct network_tuning_view *v)
{
    const struct saving *k = ctx;
    struct str line = {0};
    if (args_has(k->cli->args, OPT_QUIET))
        return;
    str_printf(&line, "round %d: ", v->round + 1);
    if (v->current < 0)
        str_add(&line, "the searches are done; measuring the network before and after");
    else
        str_printf(&line, "%s", v->kernel[v->current].brief);
    if (v->budget > 0)
        str_printf(&line, ", %d of %d", v->spent, v->budget);
    else
        str_printf(&line, ", %.0f of %.0f s", v->spent_s, v->time_s);
    if (v->now_ms > 0)
        str_printf(&line, ", network %.2fx as fast as before", v->before_ms / v->now_ms);
    if (v->current >= 0 && v->kernel[v->current].expected_ms > 0)
        str_printf(&line, ", this kernel may gain at most %.3g ms",
                   v->kernel[v->current].expected_ms);
    fprintf(stderr, "%s%s\n", k->cli->progress ? "\r\033[K" : "", str_text(&line));
    str_free(&line);
}

static bool save(void *ctx, struct session *s, struct err *e)
{
    struct saving *k = ctx;
    if (!k->to->path)
        return true;
    bool ok = k->saved ? session_save(s, s->path, e) : cli_save(s, k->to, e);
    k->saved |= ok;
    return ok;
}

static void print_text(const struct network_tuning *t, const struct goal *to, double time_s,
                       struct str *out)
{
    str_printf(out, "%5s %9s %9s %9s %7s %7s %4s  %s\n", "calls", "before ms", "after ms",
               "bound ms", "gain", "trials", "#", "kernel");
    for (int i = 0; i < t->n; i++) {
        const struct tuned_kernel *k = &t->kernel[i];
        str_printf(out, "%5d %9.4f %9.4f %9.4f %6.2fx ", k->count, k->before_ms, k->after_ms,
                   k->bound_ms, k->before_ms / k->after_ms);
        if (k->why)
            str_printf(out, "%7s %4d  %s (%s)\n", "-", i, k->brief, k->why);
        else
            str_printf(out, "%7d %4d  %s%s\n", k->trials, i, k->brief,
                       k->kept ? "" : " (unchanged: nothing is faster in the network)");
    }
    double fixed = 0, all = 0;
    int trials = 0, late = 0;
    for (int i = 0; i < t->n; i++) {
        fixed += t->kernel[i].why ? t->kernel[i].before_ms : 0;
        all += t->kernel[i].before_ms;
        trials += t->kernel[i].trials;
        late += t->kernel[i].late || !t->kernel[i].why;
    }
    if (trials == 0 && late > 0 && time_s > 0 && !t->cancelled)
        str_printf(out, "nothing was searched: measuring this network takes %.0f s of --time; "
                   "try --time %.0f\n", ceil(t->measuring_s), 10 * ceil(t->measuring_s / 5));
    else if (fixed > 0.2 * all)
        str_printf(out, "%.0f %% of the time is in kernels that were not searched\n",
                   100 * fixed / all);
    str_printf(out, "network   %.4f ms before, %.4f ms after, %.2fx as fast\n", t->before_ms,
               t->after_ms, t->before_ms / t->after_ms);
    str_printf(out, "verified: %s", t->verified ? "true" : "false");
    if (t->unchecked_s > 0)
        str_printf(out, ": checking the network takes about %.0f s, too much of --time; "
                   "`tilescope run %s` does it", ceil(t->unchecked_s),
                   to->path ? to->path : "MODEL");
    str_add_char(out, '\n');
    if (t->cancelled)
        str_add(out, "cancelled: the same command continues it; measurements are in the records\n");
    else if (!to->path)
        str_add(out, "not saved: -o FILE.yaml keeps the schedules\n");
    else
        str_printf(out, "wrote %s: the network with these schedules\n", to->path);
}

static void print_json(const struct network_tuning *t, struct str *out)
{
    json_t *list = json_array();
    for (int i = 0; i < t->n; i++) {
        const struct tuned_kernel *k = &t->kernel[i];
        json_array_append_new(
            list, json_make("operator", JSON(k->spec), "name", JSON(k->brief), "calls",
                            JSON(k->count), "before_ms", JSON(k->before_ms), "after_ms",
                            JSON(k->after_ms), "bound_ms", JSON_OR_NULL(k->bound_ms), "trials",
                            JSON(k->trials), "rounds", JSON(k->rounds), "kept",
                            json_boolean(k->kept), "not_searched", json_text_or_null(k->why)));
    }
    json_print(out,
               json_make("before_ms", JSON(t->before_ms), "after_ms", JSON(t->after_ms),
                         "verified", json_boolean(t->verified), "unchecked_s",
                         JSON_OR_NULL(t->unchecked_s), "cancelled",
                         json_boolean(t->cancelled), "kernels", list),
               8);
}

int cli_network_tune(const struct cli *c, struct opened *o, const struct tuning_opts *each,
                     const struct search_sink *view, struct goal *to)
{
    struct arena *a = arena_new();
    struct saving saving = { c, to, false };
    struct progress pr = cli_progress(c);
    struct network_tuning_opts opts = { .each = *each, .budget = each->budget,
                                        .time_s = each->time_s, .save = save, .show = show,
                                        .ctx = &saving, .progress = &pr, .view = view };
    struct network_tuning t;
    struct err e = {0};
    struct str out = {0};
    const char *variant = args_value(c->args, OPT_VARIANT);
    bool ok = (!variant || network_variant_find(variant, &opts.variant, &e))
           && network_tuning_run(a, o->session, &opts, c->cancel, &t, &e);
    cli_progress_clear(c);
    if (ok && args_has(c->args, OPT_JSON))
        print_json(&t, &out);
    else if (ok)
        print_text(&t, to, each->time_s, &out);
    cli_put(&out);
    arena_free(a);
    if (!ok)
        return cli_fail(c, &e);
    return t.cancelled ? EXIT_CANCELLED : EXIT_FINE;
}
