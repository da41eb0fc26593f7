#include "app/cli/cli_network.h"

#include <stdio.h>
#include <stdlib.h>

#include "explorer/expert/instant.h"
#include "profile/measure/measure_network.h"
#include "sessions/file/expert_file.h"
#include "sessions/report/network_report.h"

bool cli_is_network(const struct cli *c, const struct opened *o)
{
    const struct program *p = history_current(o->session->history)->program;
    return c->args->word.len == 1 && str_ends(c->args->word.data[0], ".onnx") && p->n_steps == 0
        && p->base->n_statements > 1;
}

bool cli_network_open(struct arena *a, const struct opened *o, const struct target *target,
                      int threads, const struct network **out, struct err *e)
{
    struct experts all;
    const struct graph *g = history_current(o->session->history)->program->base;
    if (!expert_file_all(a, &all, e))
        return false;
    struct instant x = { &all, target, threads };
    return network_build(a, g, instant_choose, &x, out, e);
}

static void print_result(const struct cli *c, const struct network *net,
                         const struct network_measurement *m, const struct str *json)
{
    struct str out = {0};
    if (args_has(c->args, OPT_JSON))
        str_add(&out, str_text(json));
    else
        network_report_text(&out, net, m, cli_columns(100));
    cli_put(&out);
}

int cli_network_run(const struct cli *c, const struct opened *o, const struct measure_opts *mo)
{
    struct arena *a = arena_new();
    struct err e = {0};
    const struct network *net;
    struct network_measurement m;
    struct network_opts opts = { .measure = mo };
    struct progress pr = cli_progress(c);
    int threads = mo->threads > 0 ? mo->threads : 1;
    bool ok = cli_network_open(a, o, mo->target, threads, &net, &e)
           && measure_network(a, net, &opts, &pr, c->cancel, &m, &e);
    cli_progress_clear(c);
    int code = EXIT_FINE;
    if (ok) {
        struct str json = {0};
        network_report_json(&json, o->session, net, &m);
        print_result(c, net, &m, &json);
        code = cli_asserts(c, &json, m.verified);
        code = m.verified ? code : EXIT_CHECK;
        str_free(&json);
    } else {
        code = cli_fail(c, &e);
    }
    arena_free(a);
    return code;
}
