/* `tilescope ops` and `meters`. */
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
