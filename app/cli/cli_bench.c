/* `tilescope bench`: compares the times of sessions. */
#include "app/cli/cli_network.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/views/ablation_doc.h"
#include "app/views/measurement_doc.h"
#include "kernels/base/arena.h"
#include "kernels/gen/target.h"
#include "kernels/program/contract.h"
#include "profile/measure/gpu_memory.h"
#include "profile/measure/network_compare.h"
#include "profile/measure/outside.h"
#include "profile/measure/program_text.h"
#include "sessions/file/model_path.h"
#include "sessions/file/session_network.h"
#include "sessions/file/session_place.h"
#include "sessions/report/report.h"

enum { NAME_WIDTH = 36 };
#define SIMULATED_ACCESSES 1e7            /* a kernel whose threads make more accesses than this is
                                           * simulated for a sample of its blocks */

struct bench_call {
    const struct cli *cli;
    struct measure_opts opts;
    struct gpu_device gpu;               /* the GPU of --gpu */
    int n, n_networks;  /* n: number of sessions; n_networks: networks among them (n or 0) */
    int n_all;  /* number of contenders: first the sessions, then the programs of --against */
    char outside[MEASURE_MAX_COMPARED][NAME_WIDTH + 1];  /* names of the programs of --against */
    struct bench_entry entry[MEASURE_MAX_COMPARED];
    struct session *session[MEASURE_MAX_COMPARED];
    struct compared result[MEASURE_MAX_COMPARED];
    struct comparison how;
};

static bool read_options(struct bench_call *b, struct err *e)
{
    const char *gpu = args_value(b->cli->args, OPT_GPU);
    b->gpu = *gpu_device_default();
    return args_measure(b->cli->args, &b->opts, e) && cli_asserts_check(b->cli->args, e)
        && (!gpu || gpu_device_parse(gpu, &b->gpu, e));
}

/* Opens operand i as contender i.  Adds 1 to *n_kernels if the contender is a kernel that --kernel
 * took out of a network. */
static bool open_contender(struct bench_call *b, int i, int *n_kernels, struct err *e)
{
    const char *name = b->cli->args->word.data[i];
    struct str list = { 0 };
    bool ok = session_place_open(name, args_joined(b->cli->args, OPT_DIM, &list), &b->session[i],
                                 e);
    b->n += ok;
    str_free(&list);
    if (ok && args_has(b->cli->args, OPT_KERNEL) && session_is_network(b->session[i])) {
        ++*n_kernels;
        return cli_open_kernel(b->cli, &b->session[i], e);
    }
    if (ok && session_opens_as_network(b->session[i])) {
        ok = cli_takes(b->cli, b->session[i], e);
        b->n_networks++;
    }
    return ok;
}

/* Whether all sessions are networks, or none is. */
static bool one_kind(const struct bench_call *b, struct err *e)
{
    int network = 0, kernel = 0;
    if (b->n_networks == 0 || b->n_networks == b->n)
        return true;
    while (!session_opens_as_network(b->session[network]))
        network++;
    while (session_opens_as_network(b->session[kernel]))
        kernel++;
    err_set(e, ERR_SYNTAX, "%.120s is a network, and %.120s is a single kernel",
            b->cli->args->word.data[network], b->cli->args->word.data[kernel]);
    return err_fix(e, "compare networks with each other; --kernel K takes one kernel of a network");
}

/* Refuses --against without a session, and with options that are for single kernels. */
static bool check_against(const struct args *a, struct err *e)
{
    static const enum opt other[] = { OPT_KERNEL, OPT_ABLATE };
    if (!args_has(a, OPT_AGAINST))
        return true;
    for (int i = 0; i < COUNT_OF(other); i++) {
        if (!args_has(a, other[i]))
            continue;
        err_set(e, ERR_SYNTAX, "--against and --%s exclude each other", args_opt[other[i]].name);
        return err_fix(e, "only whole networks are compared with other programs");
    }
    if (a->word.len > 0)
        return true;
    err_set(e, ERR_SYNTAX, "--against needs a network to compare with");
    return err_fix(e, "tilescope bench MODEL.onnx --against COMMAND");
}

/* Whether there are 2 to MEASURE_MAX_COMPARED contenders. */
static bool count_contenders(const struct args *a, struct err *e)
{
    int n = a->word.len;
    for (int i = 0; i < a->given.len; i++)
        n += a->given.data[i].opt == OPT_AGAINST;
    if (n >= 2 && n <= MEASURE_MAX_COMPARED)
        return true;
    err_set(e, ERR_SYNTAX, "bench compares 2 to %d contenders, but there %s %d",
            MEASURE_MAX_COMPARED, n == 1 ? "is" : "are", n);
    return err_fix(e, "tilescope bench A.yaml 'gmm m=64 k=64 n=64'");
}

static bool no_command(struct err *e)
{
    err_set(e, ERR_SYNTAX, "--against: no command");
    return err_fix(e, "--against 'ort: python3 serve.py MODEL.onnx' (help networks)");
}

/* Adds the programs of --against as contenders, after the sessions. */
static bool add_outside(struct bench_call *b, struct err *e)
{
    const struct args *a = b->cli->args;
    b->n_all = b->n;
    for (int i = 0; i < a->given.len; i++) {
        if (a->given.data[i].opt != OPT_AGAINST)
            continue;
        char *name = b->outside[b->n_all];
        const char *command = outside_name(a->given.data[i].value, name, NAME_WIDTH + 1);
        if (b->n_networks == 0) {
            err_set(e, ERR_SYNTAX, "--against: %.120s is a single kernel", a->word.data[0]);
            return err_fix(e, "only networks are compared with other programs");
        }
        if (command[strspn(command, " \t")] == '\0')
            return no_command(e);
        b->entry[b->n_all] = (struct bench_entry){ .name = name, .command = command,
                                                   .result = &b->result[b->n_all] };
        b->n_all++;
    }
    return true;
}

static bool open_sessions(struct bench_call *b, struct err *e)
{
    const struct args *a = b->cli->args;
    bool ok = count_contenders(a, e);
    int n_kernels = 0;
    for (int i = 0; ok && i < a->word.len; i++) {
        ok = open_contender(b, i, &n_kernels, e);
        b->entry[i] = (struct bench_entry){ .name = a->word.data[i], .session = b->session[i],
                                            .result = &b->result[i] };
    }
    if (ok && args_has(a, OPT_KERNEL) && n_kernels == 0)
        ok = err_set(e, ERR_RANGE, "--kernel: none of the sessions is a network");
    return ok && one_kind(b, e) && add_outside(b, e);
}

/* --- Text ------------------------------------------------------------------------------------ */

/* Returns the base name of a file; an operator's text stays as it is. */
static const char *short_name(const char *name)
{
    return strchr(name, ' ') ? name : basename(name);
}

static int name_width(const struct bench_call *b)
{
    int width = 7;
    for (int i = 0; i < b->n_all; i++) {
        int n = (int)strlen(short_name(b->entry[i].name));
        width = n > width ? n : width;
    }
    return width < NAME_WIDTH ? width : NAME_WIDTH;
}

static void add_name(struct str *out, const struct bench_call *b, int i, int width)
{
    str_printf(out, "%c  %-*.*s", 'A' + i, width, width, short_name(b->entry[i].name));
}

static void add_ms(struct str *out, double ms)
{
    struct str text = {0};
    str_ms(&text, ms);
    str_printf(out, " %10s", str_text(&text));
    str_free(&text);
}

static void add_latency(struct str *out, const struct latency *l)
{
    add_ms(out, l->min_ms);
    add_ms(out, l->median_ms);
    str_printf(out, "  %5.1f %%%c", 100 * l->spread, latency_noisy(l) ? '!' : ' ');
}

static void add_ratio(struct str *out, const struct ratio *r)
{
    str_add(out, "   ");
    ratio_print(out, r);
    str_add(out, "  ");
}

/* Adds the simulated time of a kernel that no GPU could time. */
static void add_simulated(struct str *out, const struct bench_call *b, int i)
{
    double ms = b->entry[i].simulated_ms, first = b->entry[0].simulated_ms;
    add_ms(out, ms);
    str_printf(out, "  simulated on %s, at the least", b->entry[i].gpu);
    if (i > 0 && first > 0)
        str_printf(out, "; simulated time / A: %.3f", ms / first);
    str_add_char(out, '\n');
}

static void add_row(struct str *out, const struct bench_call *b, int i, int width)
{
    const struct compared *r = &b->result[i];
    const struct measurement *m = &r->m;
    add_name(out, b, i, width);
    if (b->entry[i].gpu) {
        add_simulated(out, b, i);
        return;
    }
    if (m->latency.runs == 0) {
        str_printf(out, "  %s", m->outcome == OUTCOME_OK ? "not timed" : outcome_name[m->outcome]);
        str_printf(out, "%s%s\n", m->reason[0] ? ": " : "", m->reason);
        return;
    }
    add_latency(out, &m->latency);
    if (m->gflops > 0)
        str_printf(out, " %8.1f", m->gflops);
    else
        str_printf(out, " %8s", "-");
    if (m->peak_fraction > 0)
        str_printf(out, "  %3.0f %%", 100 * m->peak_fraction);
    else
        str_add(out, "      -");
    if (r->verdict) {
        bool undecided = stats_undecided(&r->ratio);
        const char *color = r->verdict == VERDICT_FASTER ? PAINT_GOOD
                          : r->verdict == VERDICT_SLOWER ? PAINT_BAD : PAINT_DIM;
        add_ratio(out, &r->ratio);
        cli_paint(out, b->cli->color_out, color, r->same_code ? "the same code"
                  : verdict_name[undecided ? VERDICT_UNDECIDED : r->verdict]);
    }
    str_add(out, "\n");
}

static void add_cold(struct str *out, const struct bench_call *b, int width)
{
    bool first = true;
    for (int i = 0; i < b->n; i++) {
        const struct measurement *m = &b->result[i].m;
        if (m->cold_latency.runs == 0)
            continue;
        if (first)
            str_printf(out, "\nSingle calls with cold caches (%s before each):\n", m->cold_method);
        first = false;
        add_name(out, b, i, width);
        add_latency(out, &m->cold_latency);
        str_add(out, "\n");
    }
}

/* Returns the contender to whose time the ratios refer: the first one that was timed; 0 if none was
 * timed, or if the times are simulated. */
static int reference_of(const struct bench_call *b)
{
    int i = 0;
    if (b->entry[0].gpu)                  /* simulated: then no contender was timed */
        return 0;
    while (i < b->n_all && b->result[i].m.latency.runs == 0)
        i++;
    return i < b->n_all ? i : 0;
}

/* Adds a note for each undecided ratio that says why it is undecided. */
static void add_undecided(struct str *out, const struct bench_call *b)
{
    for (int i = 1; i < b->n_all; i++) {
        struct str why = {0};
        const struct compared *r = &b->result[i];
        if (r->verdict && !r->same_code && stats_print_undecided(&why, &r->ratio))
            str_printf(out, "note: %c is undecided: %s\n", 'A' + i, str_text(&why));
        str_free(&why);
    }
}

/* Adds notes on what limits the comparison. For example, a ratio between two different operators
 * says nothing about their schedules. */
static void add_warnings(struct str *out, const struct bench_call *b)
{
    const struct bench_entry *first = &b->entry[0];
    const struct graph *g = history_current(first->session->history)->program->base;
    const char *what = b->n_networks > 0 ? "network" : "operator";
    bool noisy = false;
    for (int i = 0; i < b->n_all; i++)
        noisy = noisy || latency_noisy(&b->result[i].m.latency);
    for (int i = 0; i < b->n; i++) {
        const struct graph *other = history_current(b->session[i]->history)->program->base;
        if (!model_specs_same(other->spec, g->spec))
            str_printf(out, "note: %c is another %s than A (%.4g and %.4g MFLOP), so the ratio"
                       " does not compare schedules of one %s\n", 'A' + i, what,
                       1e-6 * other->flops, 1e-6 * g->flops, what);
    }
    for (int i = 1; i < b->n; i++) {
        struct str text = {0};
        const struct program *p = history_current(b->session[i]->history)->program;
        if (contract_difference(&text, p, history_current(first->session->history)->program))
            str_printf(out, "note: %c has another contract than A: %s\n", 'A' + i,
                       str_text(&text));
        str_free(&text);
    }
    add_undecided(out, b);
    if (noisy)
        str_printf(out, "note: ! the spread, or the median above the best time, is over 10 %%%s\n",
                   b->n_networks > 0 ? "" : " even after repeated sampling");
    if (b->n_all > b->n)
        str_printf(out, "note: what other programs compute is not checked here\n");
    const struct measurement *m = &b->result[reference_of(b)].m;
    if (first->gpu)
        str_printf(out, "note: the times above are simulated, because no GPU was available: %s\n",
                   m->device.reason);
    struct str others = {0};
    measurement_doc_others(&others, &m->latency);
    if (others.len > 0)
        str_printf(out, "note: %s: on a quiet machine the ratios may differ by more than the"
                   " intervals say\n", str_text(&others));
    str_free(&others);
    if (m->threads_note[0])
        str_printf(out, "note: %s\n", m->threads_note);
    if (m->huge_asked)
        str_printf(out, "note: %.1f of the %.1f MiB of the buffers are in huge pages\n",
                   (double)m->huge_bytes / (1 << 20), (double)m->huge_of_bytes / (1 << 20));
}

static void add_text(struct str *out, const struct bench_call *b)
{
    int width = name_width(b);
    struct str head = {0};
    str_printf(&head, "   %-*s %10s %10s  %7s  GFLOP/s  ceiling  time / %c (95 %%)", width,
               "session", "best", "median", "spread", 'A' + reference_of(b));
    cli_paint(out, b->cli->color_out, PAINT_BOLD, str_text(&head));
    str_add(out, "\n");
    str_free(&head);
    for (int i = 0; i < b->n_all; i++)
        add_row(out, b, i, width);
    add_cold(out, b, width);
    if (b->how.rounds > 0) {
        str_printf(out, "\n%d rounds", b->how.rounds);
        if (b->n_networks == 0)
            str_printf(out, " in %d epochs", b->how.epochs);
        str_printf(out, ", %d thread%s", b->result[0].m.threads,
                   b->result[0].m.threads == 1 ? "" : "s");
        if (!isnan(b->how.disturbed))
            str_printf(out, "; the ceiling was slow in %.0f %% of them", 100 * b->how.disturbed);
        str_add(out, "\n");
    }
    add_warnings(out, b);
}

/* --- The command ----------------------------------------------------------------------------- */

/* Simulates the GPU kernels that were verified but that no GPU could time. */
static bool simulate(struct bench_call *b, const struct program *const *p, struct err *e)
{
    struct progress pr = cli_progress(b->cli);
    struct gpu_memory_opts o = { .device = &b->gpu, .budget = SIMULATED_ACCESSES,
                                 .progress = &pr };
    for (int i = 0; i < b->n; i++) {
        const struct measurement *m = &b->result[i].m;
        struct gpu_cost cost;
        if (!target_named(m->isa)->gpu || m->device.name[0] || m->outcome != OUTCOME_OK)
            continue;
        if (!gpu_memory_rate(p[i], &o, b->cli->cancel, &cost, e))
            return false;
        b->entry[i].gpu = b->gpu.name;
        b->entry[i].simulated_ms = cost.ns * 1e-6;
    }
    return true;
}

/* Checks the names in every --assert before anything is timed. */
static bool check_names(struct bench_call *b, const struct program *const *p, struct err *e)
{
    struct str json = {0};
    for (int i = 0; i < b->n; i++) {
        const struct target *t = program_text_target(p[i], b->opts.target);
        b->result[i].m = report_empty(t->isa);
        b->entry[i].gpu = t->gpu ? b->gpu.name : NULL;
    }
    for (int i = b->n; i < b->n_all; i++)
        b->result[i].m = report_empty(b->result[0].m.isa);
    report_bench_json(&json, b->entry, b->n_all, &b->how, "");
    for (int i = 0; i < b->n_all; i++) {
        b->result[i] = (struct compared){0};
        b->entry[i].gpu = NULL;
    }
    return cli_asserts_named(b->cli->args, &json, e);
}

/* Whether --gpu, --isa and --target fit the programs. */
static bool check_options(const struct bench_call *b, const struct program *const *p,
                          struct err *e)
{
    bool gpu = false;
    for (int i = 0; i < b->n; i++)
        gpu = gpu || program_text_is_gpu(p[i], b->opts.target);
    if (args_has(b->cli->args, OPT_GPU) && !gpu) {
        err_set(e, ERR_SYNTAX, "--gpu: no session is for a GPU");
        return err_fix(e, "--target cuda --gpu %s", b->gpu.name);
    }
    for (int i = 0; i < b->n; i++)
        if (!cli_target_fits(p[i], b->entry[i].name, b->opts.target, e))
            return false;
    return true;
}

static bool compare_networks(struct bench_call *b, const struct progress *pr, struct err *e)
{
    const struct network *net[MEASURE_MAX_COMPARED];
    const char *command[MEASURE_MAX_COMPARED];
    struct arena *a = arena_new();
    bool ok = true;
    for (int i = b->n; i < b->n_all; i++)
        command[i - b->n] = b->entry[i].command;
    for (int i = 0; ok && i < b->n; i++) {
        const struct opened o = { .session = b->session[i] };
        ok = cli_network_open(a, &o, b->opts.target, b->opts.threads, &net[i], e);
    }
    ok = ok && measure_compare_networks(net, b->n, command, b->n_all - b->n, &b->opts, pr,
                                        b->cli->cancel, b->result, &b->how, e);
    arena_free(a);
    return ok;
}

static bool measure(struct bench_call *b, const struct program *const *p, struct err *e)
{
    struct progress pr = cli_progress(b->cli);
    bool ok = b->n_networks > 0
            ? compare_networks(b, &pr, e)
            : measure_compare(p, b->n, &b->opts, &pr, b->cli->cancel, b->result, &b->how, e)
              && simulate(b, p, e);
    cli_progress_clear(b->cli);
    return ok;
}

static int run(struct bench_call *b)
{
    struct err e = {0};
    const struct program *p[MEASURE_MAX_COMPARED];
    for (int i = 0; i < b->n; i++)
        p[i] = history_current(b->session[i]->history)->program;
    if (!check_options(b, p, &e) || !check_names(b, p, &e) || !measure(b, p, &e))
        return cli_fail(b->cli, &e);
    struct str json = {0}, text = {0}, fingerprint = {0};
    machine_fingerprint_here(&fingerprint);
    report_bench_json(&json, b->entry, b->n_all, &b->how, str_text(&fingerprint));
    bool good = true;
    for (int i = 0; i < b->n_all; i++)
        good = good && b->result[i].m.outcome == OUTCOME_OK;
    if (args_has(b->cli->args, OPT_JSON))
        str_add(&text, str_text(&json));
    else
        add_text(&text, b);
    cli_put(&text);
    int code = cli_asserts(b->cli, &json, good);
    str_free(&json);
    str_free(&fingerprint);
    return good ? code : EXIT_CHECK;
}

/* Opens the one session of --ablate. */
static bool open_one(struct bench_call *b, struct err *e)
{
    if (b->cli->args->word.len != 1)
        return err_set(e, ERR_SYNTAX, "bench --ablate takes one session");
    int n_kernels = 0;
    if (!open_contender(b, 0, &n_kernels, e))
        return false;
    if (b->n_networks == 0)
        return true;
    err_set(e, ERR_SYNTAX, "--ablate: a network has no steps of its own");
    return err_fix(e, "--ablate --kernel K takes one of its kernels");
}

static bool check_ablation_names(const struct bench_call *b, const struct ablation *a,
                                 struct err *e)
{
    struct ablation empty = *a;
    struct str json = {0};
    empty.full.m = report_empty("");
    report_ablation_json(&json, b->cli->args->word.data[0], &empty);
    return cli_asserts_named(b->cli->args, &json, e);
}

/* Times the session with each of its steps left out. */
static int ablate(struct bench_call *b)
{
    struct err e = {0};
    struct str out = {0}, json = {0};
    struct ablation *a = NULL;
    struct progress pr = cli_progress(b->cli);
    const struct history *h = b->session[0]->history;
    bool ok = ablation_plan(history_current(h)->program, &a, &e)
           && check_ablation_names(b, a, &e)
           && ablation_measure(a, &b->opts, &pr, b->cli->cancel, &e);
    cli_progress_clear(b->cli);
    for (int i = 0; ok && i < a->n; i++)
        a->row[i].step = ablation_step_number(h, history_current(h)->id, i + 1);
    if (ok)
        report_ablation_json(&json, b->cli->args->word.data[0], a);
    if (ok && args_has(b->cli->args, OPT_JSON)) {
        str_add(&out, str_text(&json));
    } else if (ok) {
        struct doc d;
        doc_open(&d);
        ablation_doc(&d, a, cli_columns(100));
        cli_add_doc(&out, b->cli, &d);
        doc_close(&d);
    }
    ablation_free(a);
    cli_put(&out);
    int code = ok ? cli_asserts(b->cli, &json, true) : cli_fail(b->cli, &e);
    str_free(&json);
    return code;
}

int cli_bench(const struct cli *c)
{
    static struct bench_call b;
    struct err e = {0};
    b = (struct bench_call){ .cli = c };
    bool ablates = args_has(c->args, OPT_ABLATE);
    bool ok = read_options(&b, &e) && check_against(c->args, &e)
           && (ablates ? open_one(&b, &e) : open_sessions(&b, &e));
    int code = !ok ? cli_fail(c, &e) : ablates ? ablate(&b) : run(&b);
    for (int i = 0; i < b.n; i++)
        session_free(b.session[i]);
    return code;
}
