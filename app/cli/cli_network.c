#include "app/cli/cli_network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/views/network_doc.h"
#include "kernels/base/arena.h"
#include "kernels/base/file.h"
#include "profile/measure/measure_network.h"
#include "sessions/export/export_command.h"
#include "sessions/export/network_export.h"
#include "sessions/file/arrays.h"
#include "sessions/file/kernels_text.h"
#include "sessions/file/session_network.h"
#include "sessions/report/network_report.h"

bool cli_network_open(struct arena *a, const struct opened *o, const struct target *target,
                      int threads, const struct network **out, struct err *e)
{
    const struct graph *g = history_current(o->session->history)->program->base;
    return network_of_graph(a, g, str_text(&o->session->kernels), o->session->accuracy, target,
                            threads, out, e);
}

/* Finds the array of a tensor by the tensor's name in the model. */
static const struct named_array *array_of(const struct opened *o, const struct arrays *all,
                                          const char *tensor)
{
    return arrays_find(all, session_port_name(o->session, tensor));
}

/* Removes the arrays that are named like inputs, because a file of outputs may contain the inputs,
 * too. */
static void without_inputs(struct arena *a, const struct opened *o, const struct graph *g,
                           struct arrays *all)
{
    struct named_array *list = ARENA_ARRAY(a, struct named_array, all->n);
    int n = 0;
    for (int i = 0; i < all->n; i++) {
        const struct arrays one = { 1, &all->array[i] };
        bool input = false;
        for (int t = 0; t < g->n_tensors; t++)
            input |= g->tensor[t].role == TENSOR_INPUT && array_of(o, &one, g->tensor[t].name);
        if (!input)
            list[n++] = all->array[i];
    }
    *all = (struct arrays){ n, list };
}

/* Reads the file that `opt` names: --inputs for the tensors of role TENSOR_INPUT, --expect for
 * those of role TENSOR_OUTPUT. Refuses a file that lacks an input or has no output, and an array
 * whose number of elements is not that of its tensor. */
static bool read_given(struct arena *a, const struct cli *c, const struct opened *o, enum opt opt,
                       enum tensor_role role, int *n, const struct network_given **out,
                       struct err *e)
{
    const char *path = args_value(c->args, opt);
    const struct graph *g = history_current(o->session->history)->program->base;
    struct arrays all;
    int have = 0, named = 0, i = 0;
    *n = 0;
    if (!path)
        return true;
    if (!arrays_read(a, path, role == TENSOR_INPUT ? "input" : "output", &all, e))
        return false;
    if (role == TENSOR_OUTPUT)
        without_inputs(a, o, g, &all);
    for (int t = 0; t < g->n_tensors; t++) {
        bool mine = g->tensor[t].role == role;
        have += mine;
        named += mine && array_of(o, &all, g->tensor[t].name);
    }
    /* If no name matches, but the number of arrays does, the arrays are taken in order. */
    bool by_place = named == 0 && all.n == have;
    struct network_given *list = ARENA_ARRAY(a, struct network_given, have);
    for (int t = 0; t < g->n_tensors; t++) {
        const struct tensor *x = &g->tensor[t];
        if (x->role != role)
            continue;
        const char *name = session_port_name(o->session, x->name);
        const struct named_array *found = by_place ? &all.array[i++]
                                                    : array_of(o, &all, x->name);
        if (found && found->elems != tensor_elems(x))
            return err_set(e, ERR_RANGE, "%.200s: %s has %lld elements, but %s of the network has "
                           "%lld", path, found->name, (long long)found->elems, name,
                           (long long)tensor_elems(x));
        if (found)
            list[(*n)++] = (struct network_given){ x->name, found->data };
        else if (role == TENSOR_INPUT)
            return err_set(e, ERR_NAME, "%.200s has no array %s, which is an input of the network",
                           path, name);
    }
    *out = list;
    return *n > 0 || err_set(e, ERR_NAME, "%.200s has no array named like an output of the network",
                             path);
}

/* Warns on stderr about schedules in the session that no kernel uses. */
static void say_unused(const struct opened *o, const struct network *net, struct arena *a)
{
    const char *at = str_text(&o->session->kernels), *spec;
    const char *const *line;
    int n;
    while (kernels_next(&at, a, &spec, &n, &line)) {
        bool used = streq(spec, KERNELS_MODULE);
        for (int i = 0; i < net->n_tasks; i++)
            used |= streq(net->task[i].spec, spec);
        if (!used)
            fprintf(stderr, "note: kernels: the network has no kernel %.100s\n", spec);
    }
}

static void add_text(struct str *out, const struct cli *c, const struct session *s,
                     const struct network *net,
                     const struct network_measurement *m, unsigned meters,
                     const struct machine_model *model)
{
    struct network_look look = { .width = cli_columns(100), .timed = net, .m = m, .exact = true,
                                 .meters = meters, .model = model,
                                 .chosen = str_text(&s->kernels) };
    struct doc d;
    doc_open(&d);
    network_doc(&d, net, &look);
    cli_add_doc(out, c, &d);
    doc_close(&d);
}

/* Returns the meters for a network: those of --meters; else the clock, and those that other options
 * ask for. The rest is left out, because it takes long to count every kernel. */
static unsigned meters_of(const struct cli *c, const struct measure_opts *mo)
{
    unsigned meters = mo->meters & METER_CLOCK;
    if (args_has(c->args, OPT_METERS))
        return mo->meters;
    if (args_has(c->args, OPT_CACHE) || args_has(c->args, OPT_SIM_BUDGET))
        meters |= METER_SIM;
    for (int i = 0; i < METER_COUNT; i++)
        meters |= mo->set[i] ? 1u << i : 0;
    return meters;
}

/* Checks the names in every --assert before the network is measured. */
static bool check_names(const struct cli *c, const struct opened *o, const struct network *net,
                        unsigned meters, struct err *e)
{
    struct network_measurement empty = { .latency = { .runs = 1 }, .threads = 1,
                                         .whole_compared = true, .compared = true };
    struct str json = {0};
    network_report_json(&json, o->session, net, &empty, meters, NULL);
    return cli_asserts_named(c->args, &json, e);
}

/* Builds the network, measures it on the arrays of --inputs (else on random data), and compares its
 * outputs with the arrays of --expect. */
static bool measure(struct arena *a, const struct cli *c, const struct opened *o,
                    const struct measure_opts *mo, struct network_values *values,
                    const struct network **net, struct network_measurement *m, struct err *e)
{
    struct network_opts opts = { .measure = mo, .values = values };
    struct progress pr = cli_progress(c);
    int threads = mo->threads > 0 ? mo->threads : 1;
    bool ok = read_given(a, c, o, OPT_INPUTS, TENSOR_INPUT, &opts.n_inputs, &opts.input, e)
           && read_given(a, c, o, OPT_EXPECT, TENSOR_OUTPUT, &opts.n_expected, &opts.expected, e)
           && cli_network_open(a, o, mo->target, threads, net, e)
           && check_names(c, o, *net, mo->meters, e);
    if (ok && opts.n_expected > 0 && opts.n_inputs == 0)
        fputs("note: without --inputs the inputs are random\n", stderr);
    ok = ok && measure_network(a, *net, &opts, &pr, c->cancel, m, e);
    cli_progress_clear(c);
    return ok;
}

/* Saves the session as a network file, even if it chooses no schedule. */
static bool save(struct session *s, const struct goal *to, struct err *e)
{
    if (!to->path)
        return true;
    s->network = true;
    if (!cli_save(s, to, e))
        return false;
    fprintf(stderr, "%s: saved the network; its measurements are not in the file (--json prints"
            " them)\n", to->path);
    return true;
}

int cli_network_run(const struct cli *c, struct opened *o, const struct measure_opts *given,
                    const struct machine_model *model, const struct goal *to)
{
    struct arena *a = arena_new();
    struct measure_opts mo = *given;
    struct err e = {0};
    const struct network *net;
    struct network_measurement m;
    int code = EXIT_FINE;
    mo.meters = meters_of(c, given);
    if (measure(a, c, o, &mo, NULL, &net, &m, &e)) {
        say_unused(o, net, a);
        struct str json = {0}, text = {0};
        network_report_json(&json, o->session, net, &m, mo.meters, model);
        if (args_has(c->args, OPT_JSON))
            str_add(&text, str_text(&json));
        else
            add_text(&text, c, o->session, net, &m, mo.meters, model);
        cli_put(&text);
        code = cli_asserts(c, &json, m.verified);
        code = m.verified                      ? code
             : m.outcome == OUTCOME_LIMIT ? EXIT_LACKS
                                          : EXIT_CHECK;
        str_free(&json);
        if (m.verified && !save(o->session, to, &e))
            code = cli_fail(c, &e);
    } else {
        code = cli_fail(c, &e);
    }
    arena_free(a);
    return code;
}

/* Checks the network and exports it; `values` receives its data. If nothing is exported, a new
 * folder is removed. */
static bool export_to(const struct cli *c, const struct opened *o, const char *folder,
                      struct network_values *values, struct str *out, struct err *e)
{
    struct arena *a = arena_new();
    struct measure_opts mo = {0};
    const struct network *net;
    struct network_measurement m;
    bool made = false;
    bool ok = args_measure(c->args, &mo, e) && network_export_folder(folder, &made, e)
           && measure(a, c, o, &mo, values, &net, &m, e);
    if (ok) {
        const struct network_export_opts x = {
            .name = network_export_name(a, c->args->word.data[0]), .session = o->session,
            .target = target_or_host(mo.target), .threads = mo.threads,
        };
        ok = network_export_measured(net, &m, values, &x, folder, "\n", out, e);
        str_add_char(out, '\n');
    }
    if (!ok && made)
        rmdir(folder);                    /* does nothing unless the folder is empty */
    arena_free(a);
    return ok;
}

int cli_network_export(const struct cli *c, const struct opened *o)
{
    const char *folder = args_value(c->args, OPT_OUTPUT);
    struct network_values values = {0};
    struct str out = {0};
    struct err e = {0};
    int code = EXIT_FINE;
    if (!folder || streq(folder, "-"))
        return cli_usage(c, "a network becomes a folder with a C library: -o FOLDER");
    if (export_to(c, o, folder, &values, &out, &e))
        cli_put(&out);
    else
        code = cli_fail(c, &e);
    network_values_free(&values);
    str_free(&out);
    return code;
}
