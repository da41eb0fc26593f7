/* `tilescope ops`, `meters` and `machine`. */
#include "app/cli.h"

#include <stdio.h>
#include <string.h>

#include "kernels/ops/graph.h"
#include "sessions/report.h"

/* "i" required, "s=1" with its default, "[kh]" derived when absent. */
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

int cmd_ops(const struct cli *c)
{
    struct str out = {0};
    if (args_has(c->args, OPT_JSON)) {
        report_ops_json(&out);
        cli_put(&out);
        return EXIT_FINE;
    }
    for (int i = 0; i < ops_count(); i++) {
        const struct op_family *op = ops_get(i);
        str_paint(&out, c->color_out, PAINT_BOLD, op->name);
        str_printf(&out, "%*s%s\n      parameters", (int)(10 - strlen(op->name)), "",
                   op->title);
        add_params(&out, op);
        str_printf(&out, "\n      example    %s\n", op->example);
    }
    cli_put(&out);
    return EXIT_FINE;
}

int cmd_meters(const struct cli *c)
{
    struct str out = {0};
    struct meter_info meter[16];
    int n = meters_probe(meter, COUNT_OF(meter));
    if (args_has(c->args, OPT_JSON))
        report_meters_json(&out, meter, n);
    for (int i = 0; i < n && !args_has(c->args, OPT_JSON); i++) {
        const struct meter_info *m = &meter[i];
        str_printf(&out, "%-10s ", m->name);
        str_paint(&out, c->color_out, m->available ? PAINT_GOOD : PAINT_BAD,
                  m->available ? "yes" : "no ");
        str_printf(&out, "  %s%s%s\n", m->what, m->reason[0] ? "; " : "", m->reason);
    }
    cli_put(&out);
    return EXIT_FINE;
}

static void add_cache(struct str *out, const char *name, const struct cache_geometry *g,
                      const char *remark)
{
    str_printf(out, "%-13s", name);
    if (g->size_bytes > 0)
        cache_geometry_print(out, g);
    else
        str_add(out, "unknown");
    str_printf(out, "%s\n", remark);
}

static void add_machine(struct str *out, const struct machine *m)
{
    str_printf(out, "%-13s%s\n", "processor:", m->cpu);
    str_printf(out, "%-13s%s, %d floats in a vector\n", "vectors:", m->isa, m->vector_floats);
    str_printf(out, "%-13s%d\n", "cores:", m->cores);
    add_cache(out, "L1 data:", &m->l1d, m->l1d_assumed ? " (assumed: nobody says)" : "");
    add_cache(out, "L2:", &m->l2, "");
    add_cache(out, "L3:", &m->l3, "");
    str_printf(out, "%-13s%.1f GiB\n", "memory:", (double)m->memory_bytes / (1 << 30));
    str_printf(out, "%-13s%s\n", "system:", m->os);
    str_printf(out, "%-13s%s\n", "counters:", m->has_pmu ? "yes" : "no PMU is visible");
}

int cmd_machine(const struct cli *c)
{
    struct machine m;
    struct compiler cc;
    struct peak peak = {0};
    struct err e = {0};
    struct str out = {0};
    double seconds = 0.5;
    if (!args_double(c->args, OPT_TIME, 0.001, 600, &seconds, &e))
        return cli_fail(c, &e);
    machine_read(&m);
    bool has_compiler = compiler_find(args_value(c->args, OPT_COMPILER), &cc, &e);
    bool has_peak = has_compiler && machine_peak(&cc, seconds, c->cancel, &peak, &e);
    if (args_has(c->args, OPT_JSON)) {
        report_machine_json(&out, &m, has_peak ? &peak : NULL);
    } else {
        add_machine(&out, &m);
        if (has_compiler)
            str_printf(&out, "%-13s%s\n", "compiler:", cc.version);
        if (has_peak)
            str_printf(&out, "%-13s%.1f GFLOP/s on one core (median %.1f)\n", "FMA ceiling:",
                       peak.gflops_max, peak.gflops_median);
        str_printf(&out, "%-13s", "fingerprint:");
        machine_fingerprint(&out, &m);
        str_add(&out, "\n");
    }
    cli_put(&out);
    return has_peak ? EXIT_FINE : cli_fail(c, &e);
}
