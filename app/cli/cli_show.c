/* `tilescope show`: prints views of a session's current step as text. */
#include "app/cli/cli_network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/views/graph_doc.h"
#include "app/views/network_doc.h"
#include "app/views/roofline_plot.h"
#include "explorer/history/blame.h"
#include "kernels/base/file.h"
#include "kernels/module/simplify.h"
#include "kernels/program/contract.h"
#include "kernels/ops/source.h"
#include "profile/measure/port_pressure.h"
#include "profile/measure/program_text.h"
#include "sessions/file/machine_file.h"
#include "sessions/file/session_network.h"
#include "sessions/report/report.h"
#include "sessions/report/space_report.h"

static int columns(void)
{
    return cli_columns(100);
}

static const struct program *current(const struct opened *o)
{
    return history_current(o->session->history)->program;
}

static bool show_nest(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    (void)c, (void)e;
    program_print_nest(out, current(o));
    return true;
}

static bool show_graph(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    const struct state *s = history_current(o->session->history);
    const struct program *before = s->parent < 0 ? NULL
                                 : history_state(o->session->history, s->parent)->program;
    struct arena *a = arena_new();
    struct machine here;
    struct machine_model model;
    struct err none;
    struct doc d;
    (void)e;
    machine_read(&here);
    bool known = machine_file_load(&here, &model, &none);
    struct graph_rows rows = graph_rows(a, s->program, before, known ? &model : NULL, s->measured);
    if (args_has(c->args, OPT_JSON)) {
        graph_report_json(out, s->program, &rows, s->measured);
    } else {
        doc_open(&d);
        graph_doc(&d, s->program, &rows, s->measured, columns());
        cli_add_doc(out, c, &d);
        doc_close(&d);
    }
    arena_free(a);
    return true;
}

static bool show_access(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    (void)c, (void)e;
    program_print_access(out, current(o));
    return true;
}

static bool show_layout(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    const char *tensor = args_value(c->args, OPT_TENSOR);
    const struct graph *g = current(o)->graph;
    if (tensor && graph_tensor(g, tensor) < 0) {
        VEC(const char *) name = {0};
        for (int i = 0; i < g->n_tensors; i++)
            vec_push(&name, g->tensor[i].name);
        const char *near = str_nearest(tensor, name.data, name.len);
        vec_free(&name);
        err_set(e, ERR_NAME, "no tensor named '%s' in this program", tensor);
        return near ? err_fix(e, "--tensor %s", near) : false;
    }
    program_print_layouts(out, current(o), tensor, columns());
    return true;
}

/* Prints the kernels of a network; if `code` is set, prints its C instead. */
static bool show_network(const struct cli *c, struct opened *o, bool code, struct str *out,
                         struct err *e)
{
    struct arena *a = arena_new();
    struct gen_opts g = { .openmp = true };
    const struct network *net;
    int threads = 1;
    bool ok = args_int(c->args, OPT_THREADS, 1, 1024, &threads, e)
           && args_target(c->args, &g.target, e)
           && cli_network_open(a, o, g.target, threads, &net, e);
    g.target = target_or_host(g.target);
    if (ok && code)
        ok = module_c(net->module, &g, out, e);
    else if (ok)
        network_print(net, out);
    arena_free(a);
    return ok;
}

static bool show_kernels(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    struct arena *a = arena_new();
    struct network_look look = { .width = columns(), .advice = "; tilescope run measures it",
                                 .chosen = str_text(&o->session->kernels) };
    const struct network *net;
    struct machine here;
    struct machine_model model;
    struct err none;
    struct doc d;
    int threads = 1;
    machine_read(&here);
    look.model = machine_file_load(&here, &model, &none) ? &model : NULL;
    bool ok = current(o)->base->n_statements > 0
           || err_set(e, ERR_RANGE, "--what network: this is one operator, and not a network");
    ok = ok && args_int(c->args, OPT_THREADS, 1, 1024, &threads, e)
      && cli_network_open(a, o, NULL, threads, &net, e);
    if (ok) {
        doc_open(&d);
        network_doc(&d, net, &look);
        cli_add_doc(out, c, &d);
        doc_close(&d);
    }
    arena_free(a);
    return ok;
}

static bool show_module(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    const struct module *m;
    if (session_opens_as_network(o->session))
        return show_network(c, o, false, out, e);
    if (!program_text_module(current(o), &m, e))
        return false;
    module_print(m, out);
    return true;
}

/* Prints how much each pass of kernels/module/simplify.h changes in the graph, and the statements
 * after all passes. */
static bool show_simplified(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    struct arena *a = arena_new();
    const struct graph *g, *simple;
    int counts[SIMPLIFY_MAX_PASSES];
    (void)c;
    bool ok = graph_from_spec(a, history_spec(o->session->history), &g, e) &&
              simplify_graph(a, g, simplify_default(), &simple, counts, e);
    for (int i = 0; ok && i < simplify_n_passes(); i++)
        if (counts[i] > 0)
            str_printf(out, "# %-12s %5d  %s\n", simplify_pass(i)->name, counts[i],
                       simplify_pass(i)->help);
    for (const char *s = ok ? simple->spec : ""; *s;) {
        size_t n = strcspn(s, ";");
        str_add_n(out, s, n);
        str_add_char(out, '\n');
        s += n;
        s += strspn(s, "; ");
    }
    if (ok && g->n_statements > 0)
        str_printf(out, "# statements: %d, before %d\n", simple->n_statements, g->n_statements);
    arena_free(a);
    return ok;
}

static bool show_c(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    const struct target *t = NULL;
    if (session_opens_as_network(o->session))
        return show_network(c, o, true, out, e);
    return args_target(c->args, &t, e) && program_text_c(current(o), t, out, e);
}

/* Prints as JSON the assembly, and how busy its hottest loop keeps the execution ports of the
 * CPU. */
static bool show_asm_json(const struct cli *c, struct opened *o, const struct target *t,
                          struct str *out, struct err *e)
{
    struct arena *a = arena_new();
    struct code_lines lines;
    struct port_pressure ports;
    struct str text = {0};
    bool ok = program_text_asm_lines(a, current(o), t, args_value(c->args, OPT_COMPILER),
                                     c->cancel, &text, &lines, e);
    if (ok) {
        port_pressure_read(str_text(&text), &lines, NULL, c->cancel, &ports);
        report_asm_json(out, current(o), str_text(&text), &lines, &ports);
    }
    str_free(&text);
    arena_free(a);
    return ok;
}

static bool show_asm(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    const struct target *t = NULL;
    if (args_has(c->args, OPT_JSON))
        return args_target(c->args, &t, e) && show_asm_json(c, o, t, out, e);
    return args_target(c->args, &t, e)
        && program_text_asm(current(o), t, args_value(c->args, OPT_COMPILER), c->cancel, out, e);
}

static bool show_cuda(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    (void)c;
    return program_text_cuda(current(o), out, e);
}

static bool show_ptx(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    (void)c;
    return program_text_ptx(current(o), out, e);
}

static bool show_sass(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    struct arena *a = arena_new();
    struct code_lines lines;
    bool ok = program_text_sass(a, current(o), c->cancel, out, &lines, e);
    arena_free(a);
    return ok;
}

static bool show_yaml(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    const char *to = args_value(c->args, OPT_OUTPUT);
    session_yaml_in(o->session, to && !streq(to, "-") ? to : NULL, out);
    return session_fits(o->session, out, e);
}

static bool show_blame(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    (void)c, (void)e;
    blame_print(out, o->session->history);
    return true;
}

static void add_step_row(struct str *out, int position, const struct ledger_row *row)
{
    str_printf(out, " %s%3d  %-60s", row->here ? ">" : " ", position,
               row->step[0] ? row->step : "(the bare operator)");
    const struct measurement *m = row->m;
    if (m && m->outcome != OUTCOME_OK)
        str_printf(out, "  %s", outcome_name[m->outcome]);
    else if (m && m->latency.runs > 0) {
        str_add(out, "  ");
        str_ms(out, m->latency.min_ms);
        if (m->threads > 1)
            str_printf(out, " %dt", m->threads);
        if (row->has_change)
            str_printf(out, "  %+.1f %%%s", 100 * row->change,
                       row->other_contract >= 0 ? " (other contract)" : "");
    }
    if (row->held)
        str_printf(out, "  (held: %s)", row->held);
    while (out->len > 0 && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
    str_add(out, row->ahead ? "  (undone)\n" : "\n");
}

static void add_branch(struct str *out, const struct history *h, bool is_current)
{
    int n = history_ledger(h, NULL, 0);
    struct ledger_row *row = xcalloc((size_t)n, sizeof *row);
    history_ledger(h, row, n);
    str_printf(out, "branch %s%s", history_branch(h, history_branch_index(h))->name,
               is_current ? " (current)" : "");
    if (!contract_is_plain(history_current(h)->program)) {
        str_add(out, ": ");
        contract_print(out, history_current(h)->program);
    }
    str_add_char(out, '\n');
    for (int i = 0; i < n; i++)
        add_step_row(out, i, &row[i]);
    free(row);
}

/* Prints the steps of every branch; with --branch, only those of that branch. */
static bool show_steps(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    struct history *h = o->session->history;
    int here = history_branch_index(h);
    spec_print_brief(out, history_spec(h));
    str_add_char(out, '\n');
    for (int b = 0; b < history_n_branches(h); b++) {
        if (args_has(c->args, OPT_BRANCH) && b != here)
            continue;
        str_add(out, "\n");
        if (!history_branch_switch(h, history_branch(h, b)->name, e))
            return false;
        add_branch(out, h, b == here);
    }
    return history_branch_switch(h, history_branch(h, here)->name, e);
}

/* Refuses a path whose ending is no format for a roofline. path NULL: refuses nothing. */
static bool check_roofline_path(const char *path, struct err *e)
{
    enum chart_form form;
    if (!path || streq(path, "-") || str_ends(path, ".txt") || str_starts(path, "/dev/"))
        return true;
    if (chart_form_of(path, &form))
        return chart_ready(form, e);
    err_set(e, ERR_SYNTAX, "%.200s: a roofline is written as .svg or .png (a picture), .gp (its"
            " script for gnuplot) or .txt", path);
    return err_fix(e, "-o roofline.svg");
}

/* Prints the roofline as text; for -o FILE.svg, .png or .gp, appends a chart instead. */
static bool show_roofline(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    const struct history *h = o->session->history;
    struct machine here;
    struct machine_model model;
    if (!check_roofline_path(args_value(c->args, OPT_OUTPUT), e))
        return false;
    machine_read(&here);
    if (!machine_file_load(&here, &model, e))
        return false;
    int n = roofline_steps(h, &model, NULL, 0);
    if (n == 0) {
        err_set(e, ERR_RANGE, "no step of this branch has a measured time");
        return err_fix(e, "tilescope run SESSION.yaml --save");
    }
    const char *path = args_value(c->args, OPT_OUTPUT);
    enum chart_form form;
    if (path && chart_form_of(path, &form))
        return roofline_steps_chart(h, &model, form, c->cancel, out, e);
    struct roof_step *step = xcalloc((size_t)n, sizeof *step);
    struct canvas canvas;
    int width = columns();
    roofline_steps(h, &model, step, n);
    canvas_open(&canvas, width < 110 ? width : 110, width < 60 ? 16 : 24);
    roofline_plot(&canvas, &model, step, n);
    roofline_plot_remark(out, &step[n - 1]);
    str_add(out, "\n\n");
    canvas_print(&canvas, out, cli_has_unicode(c));
    str_add(out, "\n");
    roofline_plot_heading(out);
    for (int i = 0; i < n; i++) {
        struct str row = {0};
        roofline_plot_row(&row, &step[i], width);
        str_printf(out, "\n%s", str_text(&row));
        str_free(&row);
    }
    const char *star = roofline_plot_star(step, n);
    str_printf(out, "%s%s\n\n%s\n", star[0] ? "\n" : "", star, roofline_plot_legend);
    canvas_close(&canvas);
    free(step);
    return true;
}

static bool show_space(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    struct arena *a = arena_new();
    struct spaces s;
    int threads = 1;
    bool ok = args_int(c->args, OPT_THREADS, 1, 1024, &threads, e) &&
              space_report(a, current(o), threads, &s, e);
    if (ok && args_has(c->args, OPT_JSON))
        space_report_json(out, &s, current(o));
    else if (ok)
        space_report_text(out, &s);
    arena_free(a);
    return ok;
}

static const struct {
    const char *name;
    bool (*show)(const struct cli *c, struct opened *o, struct str *out, struct err *e);
    bool single;                          /* whether networks do not have this view */
} view[] = {
    { "nest", show_nest, false },     { "access", show_access, false },
    { "graph", show_graph, false },   { "network", show_kernels, false },
    { "layout", show_layout, false }, { "c", show_c, false },
    { "asm", show_asm, true },        { "steps", show_steps, false },
    { "blame", show_blame, false },
    { "yaml", show_yaml, false },     { "cuda", show_cuda, true },
    { "ptx", show_ptx, true },        { "sass", show_sass, true },
    { "roofline", show_roofline, true }, { "space", show_space, true },
    { "lens", cli_lens, true },       { "profile", cli_profile, true },
    { "module", show_module, false }, { "simplified", show_simplified, false },
};

static int find_view(const char *name)
{
    for (int i = 0; i < COUNT_OF(view); i++)
        if (streq(view[i].name, name))
            return i;
    return -1;
}

/* Refuses a view that shows one kernel if the session is a network. */
static bool is_for(int v, const struct session *s, struct err *e)
{
    if (!view[v].single || !session_opens_as_network(s))
        return true;
    err_set(e, ERR_SYNTAX, "--what %s shows one kernel, but this is a network", view[v].name);
    return err_fix(e, "--kernel K --what %s", view[v].name);
}

static void note_spill(const struct cli *c, const struct opened *o, int v)
{
    const struct target *t = NULL;
    struct err ignored;
    bool code = view[v].show == show_nest || view[v].show == show_c || view[v].show == show_asm;
    if (code && !session_opens_as_network(o->session) && args_target(c->args, &t, &ignored))
        cli_note_spill(current(o), t);
}

int cli_show(const struct cli *c)
{
    struct opened o;
    struct str out = {0};
    struct err e = {0};
    const char *what = args_value(c->args, OPT_WHAT);
    if (what && streq(what, "compare"))
        return cli_compare(c);
    if (args_has(c->args, OPT_OF))
        return cli_usage(c, "--of goes with --what compare");
    /* The default is "nest"; once the session is open, "network" replaces it for a network. */
    int v = find_view(what ? what : "nest");
    if (v < 0)
        return cli_usage(c,
                         "--what %s: expected nest, access, graph, network, layout, module, c, asm,"
                         " cuda, ptx, sass, steps, blame, profile, roofline, lens, simplified,"
                         " space, compare or yaml",
                         what);
    bool lens = view[v].show == cli_lens;
    if (args_has(c->args, OPT_JSON) && view[v].show != show_space && view[v].show != show_asm
        && view[v].show != show_graph && view[v].show != cli_profile && !lens)
        return cli_usage(c, "--json goes with --what asm, graph, lens, profile, space and compare");
    if (args_has(c->args, OPT_CACHE) && !lens)
        return cli_usage(c, "--cache goes with --what lens");
    if (args_has(c->args, OPT_TENSOR) && view[v].show != show_layout)
        return cli_usage(c, "--tensor goes with --what layout");
    if (args_has(c->args, OPT_ISA) && view[v].show != show_c && view[v].show != show_asm && !lens)
        return cli_usage(c, "--isa goes with --what c, --what asm and --what lens");
    int code = view[v].show == show_graph ? cli_open_or_list(c, &o) : cli_open(c, &o);
    if (!o.session)
        return code;
    if (!what && session_opens_as_network(o.session))
        v = find_view("network");
    const char *path = args_value(c->args, OPT_OUTPUT);
    bool ok = is_for(v, o.session, &e)
           && (view[v].show == show_roofline || cli_check_picture(path, &e))
           && view[v].show(c, &o, &out, &e);
    if (ok && path && str_ends(path, ".svg") && view[v].show != show_roofline) {
        struct str svg = {0};
        cli_view_svg(c, &o, view[v].name, columns(), &out, &svg);
        str_free(&out);
        out = svg;
    }
    if (!ok)
        code = cli_fail(c, &e);
    else if (!path || streq(path, "-"))
        cli_put(&out);
    else if (!file_write_atomic(path, str_text(&out), out.len, &e))
        code = cli_fail(c, &e);
    if (ok && o.session)                 /* NULL if cli_view_svg has taken the session */
        note_spill(c, &o, v);
    str_free(&out);
    cli_close(&o);
    return code;
}
