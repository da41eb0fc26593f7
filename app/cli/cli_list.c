/* `tilescope ops`, `tilescope meters` and `tilescope settings`: list operators, meters, event sets
 * and the user's settings. */
#include "app/cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "app/model/settings.h"
#include "kernels/ops/graph.h"
#include "profile/child/nvidia.h"
#include "profile/counters/cupti_metrics.h"
#include "profile/counters/eventset.h"
#include "profile/measure/meters.h"
#include "sessions/report/report.h"

/* Adds the parameters of an operator: "i" is required, "s=1" has a default, and "[kh]" is derived
 * from others if it is not given. */
static void add_params(struct str *out, const struct op_family *op)
{
    for (int i = 0; i < op->n_params; i++) {
        const struct op_param *p = &op->params[i];
        if (p->def == OP_REQUIRED) {
            str_printf(out, " %s", p->name);
        } else if (p->def == OP_UNSET) {
            str_printf(out, " [%s]", p->name);
        } else {
            str_printf(out, " %s=", p->name);
            op_param_print(out, p, p->def);
        }
    }
}

int cli_ops(const struct cli *c)
{
    struct str out = {0};
    if (args_has(c->args, OPT_JSON)) {
        report_ops_json(&out);
        cli_put(&out);
        return EXIT_FINE;
    }
    for (int i = 0; i < ops_count(); i++) {
        const struct op_family *op = ops_get(i);
        cli_paint(&out, c->color_out, PAINT_BOLD, op->name);
        str_printf(&out, "%*s%s\n", (int)(10 - strlen(op->name)), "", op->title);
        size_t start = out.len;
        str_add(&out, "      parameters");
        add_params(&out, op);
        str_add(&out, "\n");
        cli_wrap(&out, start, 17);
        str_printf(&out, "      example    %s\n", op->example);
    }
    cli_put(&out);
    return EXIT_FINE;
}

static void add_meters(struct str *out, const struct cli *c, const struct meter_info *meter, int n)
{
    for (int i = 0; i < n; i++) {
        const struct meter_info *m = &meter[i];
        str_printf(out, "%-12s ", m->name);
        cli_paint(out, c->color_out, m->available ? PAINT_GOOD : PAINT_BAD,
                  m->available ? "yes" : "no ");
        str_printf(out, "  %s%s%s\n", m->what, m->reason[0] ? "; " : "", m->reason);
    }
}

static void ask_nvidia(struct nvidia_info *out)
{
    for (int i = 0; i < NVIDIA_COUNT; i++)
        nvidia_ask((enum nvidia_part)i, NVIDIA_LIMIT_S, &out[i]);
}

/* Adds the version, file and devices of each NVIDIA library. If the library is missing, adds why,
 * and how to get it. */
static void add_nvidia(struct str *out, const struct cli *c, const struct nvidia_info *part)
{
    cli_paint(out, c->color_out, PAINT_BOLD,
              "\nNVIDIA, for --target cuda (each is loaded only when it is needed)\n");
    for (int i = 0; i < NVIDIA_COUNT; i++) {
        const struct nvidia_info *x = &part[i];
        str_printf(out, "%-12s ", x->name);
        cli_paint(out, c->color_out, x->available ? PAINT_GOOD : PAINT_BAD,
                  x->available ? "yes" : "no ");
        str_printf(out, "  %s%s%s%s%s\n", x->version, x->version[0] ? ", " : "", x->what,
                   x->path[0] ? "; " : "", x->path);
        if (x->detail[0])
            str_printf(out, "%18s%s\n", "", x->detail);
        if (x->reason[0])
            str_printf(out, "%18s%s\n", "", x->reason);
        if (x->fix[0])
            str_printf(out, "%18sfix: %s\n", "", x->fix);
    }
}

static void add_sets(struct str *out, const struct cli *c, const struct event_sets *sets)
{
    cli_paint(out, c->color_out, PAINT_BOLD,
              "\nEvent sets (run --events SET; meters --events SET explains one)\n");
    for (int i = 0; i < sets->n; i++) {
        const struct event_set *s = sets->set[i];
        str_printf(out, "%-12s %-8s %s%s\n", s->name, s->meter, s->summary,
                   s->path[0] ? " (yours)" : "");
    }
}

static void add_metric(struct str *out, const struct metric *m)
{
    struct str name = {0};
    str_add(&name, m->name);
    if (m->unit[0])
        str_printf(&name, " [%s]", m->unit);
    str_printf(out, "    %-28s = %s\n", str_text(&name), m->formula);
    str_free(&name);
}

/* Adds the events of a set that the GPU CUPTI_CHIP does not have. If it has all of them, adds the
 * number of runs of the kernel in which it counts them. CUPTI knows this without a GPU. */
static void add_chip(struct str *out, const struct event_set *s)
{
    struct cupti_checked c;
    struct err e;
    if (!cupti_check(s->event, s->n, &c, &e)) {
        str_printf(out, "  not checked: %s\n", e.text);
        return;
    }
    for (int i = 0; i < c.n_unknown; i++)
        str_printf(out, "  %s has no %s\n", CUPTI_CHIP, c.unknown[i]);
    if (c.n_unknown == 0)
        str_printf(out, "  %s counts all of these events, in %d run%s of the kernel%s\n",
                   CUPTI_CHIP, c.passes ? c.passes : 1, c.passes > 1 ? "s" : "",
                   c.passes ? " and one more for the times" : "");
}

/* Adds the description, the events and the formulas of an event set. */
static void add_set(struct str *out, const struct cli *c, const struct event_set *s)
{
    cli_paint(out, c->color_out, PAINT_BOLD, s->name);
    str_printf(out, "  %s\n", s->summary);
    str_printf(out, "  meter %s%s%s%s%s\n\n", s->meter, s->cpu[0] ? ", only on " : "", s->cpu,
               s->path[0] ? ", from " : "", s->path);
    for (const char *line = s->prose; *line; line += line[0] == '\n') {
        size_t n = strcspn(line, "\n");
        str_printf(out, "%s%.*s\n", n ? "  " : "", (int)n, line);
        line += n;
    }
    str_add(out, "\n  events\n");
    for (int i = 0; i < s->n; i++) {
        const struct event *ev = &s->event[i];
        bool plain = streq(ev->name, ev->text);
        str_printf(out, plain ? "    %s\n" : "    %-28s   %s\n", ev->name, ev->text);
    }
    if (streq(s->meter, meter_name[METER_ID_CUPTI]))
        add_chip(out, s);
    str_add(out, s->n_metrics ? "  metrics\n" : "");
    for (int i = 0; i < s->n_metrics; i++)
        add_metric(out, &s->metric[i]);
}

/* Finds the event set that --events names. Without a name, finds all sets, and lists on stderr the
 * user's files of event sets that cannot be read. */
static bool choose_sets(const struct cli *c, struct arena *a, struct event_sets *out,
                        struct err *e)
{
    const char *name = args_value(c->args, OPT_EVENTS);
    struct str broken = {0};
    if (name && name[0]) {
        out->n = 1;
        out->set = ARENA_NEW(a, const struct event_set *);
        return event_set_find(a, name, out->set, e);
    }
    *out = event_sets_load(a, &broken);
    cli_note(&broken);
    return true;
}

static int print_meters(const struct cli *c, struct arena *a)
{
    struct str out = {0};
    struct event_sets sets;
    struct err e;
    struct meter_info meter[METER_COUNT];
    struct nvidia_info nvidia[NVIDIA_COUNT];
    bool explain = args_has(c->args, OPT_EVENTS);
    if (!choose_sets(c, a, &sets, &e))
        return cli_fail(c, &e);
    if (args_has(c->args, OPT_JSON)) {
        ask_nvidia(nvidia);
        report_meters_json(&out, meter, meters_probe(meter, METER_COUNT), nvidia, &sets);
    } else if (explain) {
        for (int i = 0; i < sets.n; i++) {
            str_add(&out, i ? "\n" : "");
            add_set(&out, c, sets.set[i]);
        }
    } else {
        ask_nvidia(nvidia);
        add_meters(&out, c, meter, meters_probe(meter, METER_COUNT));
        add_nvidia(&out, c, nvidia);
        add_sets(&out, c, &sets);
    }
    cli_put(&out);
    return EXIT_FINE;
}

int cli_meters(const struct cli *c)
{
    struct arena *a = arena_new();
    int code = print_meters(c, a);
    arena_free(a);
    return code;
}

int cli_settings(const struct cli *c)
{
    struct app_settings set;
    struct str out = {0};
    struct err e;
    bool ok = settings_read(&set, &e);
    if (ok && args_has(c->args, OPT_JSON))
        settings_print_json(&set, &out);
    else if (ok)
        settings_print(&set, &out);
    cli_put(&out);
    settings_free(&set);
    return ok ? EXIT_FINE : cli_fail(c, &e);
}
